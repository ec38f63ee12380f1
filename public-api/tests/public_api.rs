//! The public interface of the crate, `public-api.txt`, is a file so that whoever reviews a change sees
//! what it does to the interface.
//!
//! ```text
//! cargo test -p coucal-public-api
//! COUCAL_WRITE_PUBLIC_API=1 cargo test -p coucal-public-api      # writes the file anew
//! ```

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// Traits that no user names: they may change with the compiler.
const OF_THE_COMPILER: [&str; 3] = ["Freeze", "UnsafeUnpin", "StructuralPartialEq"];

/// The crate as rustdoc describes it, with all features.
fn rustdoc_json(root: &Path) -> PathBuf {
    // A folder of its own: cargo holds the lock of the usual one while tests are built.
    let target = root.join("target/public-api");
    let status = Command::new(env!("CARGO"))
        .args(["rustdoc", "--quiet", "-p", "coucal", "--lib", "--all-features", "--target-dir"])
        .arg(&target)
        .args(["--", "-Z", "unstable-options", "--output-format", "json"])
        // The format is not stable yet.
        .env("RUSTC_BOOTSTRAP", "1")
        .current_dir(root)
        .status();
    assert!(status.expect("cargo runs").success());
    target.join("doc/coucal.json")
}

#[test]
fn the_interface_is_the_one_in_the_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let described = rustdoc_json(&root);
    let json = fs::read(&described).expect("what rustdoc has written");
    let json: serde_json::Value = serde_json::from_slice(&json).expect("JSON");
    let (format, known) = (&json["format_version"], rustdoc_types::FORMAT_VERSION);
    if *format != known {
        println!("skipped: this rustdoc writes format {format}; only {known} (Rust 1.95) is read");
        return;
    }
    let api = public_api::Builder::from_rustdoc_json(described)
        .omit_blanket_impls(true)
        .build()
        .expect("a crate in this format");
    let lines = api.items().map(|item| format!("{item}\n"));
    let now: String =
        lines.filter(|line| !OF_THE_COMPILER.iter().any(|name| line.contains(name))).collect();
    let file = root.join("public-api.txt");
    if env::var_os("COUCAL_WRITE_PUBLIC_API").is_some() {
        fs::write(&file, &now).expect("the file is written");
    }
    let listed = fs::read_to_string(file).expect("public-api.txt");
    similar_asserts::assert_eq!(listed: listed, now: now);
}
