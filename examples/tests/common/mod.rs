//! What the tests share.

use std::borrow::Cow;
use std::env;
use std::process::Command;

/// The example of this name, as built by the `cargo test` that runs this.
pub fn example(name: &str) -> Command {
    let test = env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("tests are built in target/<profile>/deps");
    let path = profile.join("examples").join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(
        path.exists(),
        "{} is not built; `cargo test` builds it, before `cargo test --test` use `cargo build --examples`",
        path.display()
    );
    Command::new(path)
}

pub fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}
