//! Runs the models with a mended loom, which explores the interleavings that the published loom leaves out.
//!
//! ```text
//! cargo run --release -p loom-tests --bin models [-- arguments of `cargo test`]
//! ```
//!
//! The arguments are a part of a model's name, or `--features every-layout`. With `--published` the program tests the
//! published loom by random programs, and succeeds if that fails: the published loom misses outcomes, and the test
//! notices.

use std::env;
use std::process::ExitCode;

use loom_tests::mended::Loom;
use loom_tests::source::Result;

fn main() -> Result<ExitCode> {
    let published = env::args().nth(1).is_some_and(|argument| argument == "--published");
    let loom = if published { Loom::published()? } else { Loom::mended()? };
    let mut cargo = loom.cargo();
    cargo.args(["test", "--release", "--package", "loom-tests", "--test", "schedules"]).args([
        "--no-default-features",
        "--features",
        "mended-loom",
    ]);
    if published {
        let test = cargo.arg("random_programs").output()?;
        let says = String::from_utf8_lossy(&test.stdout);
        let missed = says.lines().find(|line| line.starts_with("loom misses"));
        println!("{}", missed.unwrap_or(&says));
        return Ok(if missed.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE });
    }
    let status = cargo.args(["--test", "models"]).args(env::args_os().skip(1)).status()?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
