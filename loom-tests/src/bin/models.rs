//! Runs the models with a mended loom, which explores what the published one leaves out.
//!
//! ```text
//! cargo run --release -p loom-tests --bin models [-- arguments of `cargo test`]
//! ```
//!
//! Such arguments are a part of a model's name, or `--features every-layout`.

use std::env;
use std::process::ExitCode;

use loom_tests::mended::Loom;
use loom_tests::source::Result;

fn main() -> Result<ExitCode> {
    let status = Loom::mended()?
        .cargo()
        .args(["test", "--release", "--package", "loom-tests", "--test", "models"])
        .args(["--no-default-features", "--features", "mended-loom"])
        .args(env::args_os().skip(1))
        .status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
