//! Breaks the crate on purpose, one rule at a time, and reports which models notice.
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults [name...]
//! ```
//!
//! Applies each fault of the list to a copy of the workspace in the temporary directory and runs the
//! models of the default layout. With names, tries only the faults whose description contains one of
//! them.
//! The exit status is 0 if every fault was caught.

mod list;

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use list::{FAULTS, Fault};
use loom_tests::WITHOUT_FLOORS;

/// The layout whose models are run: the rules are the same for all.
const LAYOUT: &str = "Fp16x4";

/// How long the models may run on one fault: some faults make a model loop for ever.
const MODEL_TIMEOUT: Duration = Duration::from_secs(180);

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<ExitCode> {
    let names: Vec<_> = env::args().skip(1).collect();
    let wanted =
        |fault: &&Fault| names.is_empty() || names.iter().any(|name| fault.what.contains(name));
    let faults: Vec<_> = FAULTS.iter().filter(wanted).collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let scratch = Scratch::new(source)?;

    // First without a fault: each fault applies, and the models of the list pass.
    for fault in &faults {
        fault.apply(&scratch.intact)?;
    }
    let mut models: Vec<_> = faults.iter().flat_map(|fault| fault.caught_by).copied().collect();
    models.sort_unstable();
    models.dedup();
    match scratch.run(&models)? {
        Verdict::Passed => {}
        verdict => return Err(format!("without any fault: {verdict:?}").into()),
    }

    println!("| fault | caught by | seconds |\n|---|---|---|");
    let mut survivors = 0;
    for fault in faults {
        let started = Instant::now();
        let path = scratch.workspace.join(fault.file);
        fs::write(&path, fault.apply(&scratch.intact)?)?;
        let verdict = match scratch.run(fault.caught_by)? {
            // None of the models that the list names notices it. Does any other?
            Verdict::Passed => scratch.run(&[])?,
            verdict => verdict,
        };
        fs::write(&path, fs::read(scratch.intact.join(fault.file))?)?;
        let caught_by = match verdict {
            Verdict::Failed(models) => models.join(", "),
            Verdict::Passed => {
                survivors += 1;
                "NOTHING".into()
            }
            Verdict::Endless => {
                survivors += 1;
                "nothing, before the timeout".into()
            }
            Verdict::Broken(errors) => {
                eprintln!("{errors}");
                survivors += 1;
                "nothing: it does not compile".into()
            }
        };
        println!("| {} | {caught_by} | {:.0} |", fault.what, started.elapsed().as_secs_f64());
    }
    println!("\n{survivors} survived");
    Ok(if survivors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl Fault {
    /// The text of the file with the fault in it.
    fn apply(&self, source: &Path) -> Result<String> {
        let text = fs::read_to_string(source.join(self.file))?;
        match text.matches(self.old).count() {
            1 => Ok(text.replacen(self.old, self.new, 1)),
            n => {
                Err(format!("{}: found {n} times in {}:\n{}", self.what, self.file, self.old)
                    .into())
            }
        }
    }
}

/// What the models said about a fault.
#[derive(Debug)]
enum Verdict {
    Passed,
    Failed(Vec<String>),
    /// They were still running at the timeout, and none had failed.
    Endless,
    /// It does not compile.
    Broken(String),
}

/// Two copies of the workspace: faults are applied to one and undone from the other, so that changes
/// to the original do not matter.
struct Scratch {
    intact: PathBuf,
    workspace: PathBuf,
    target: PathBuf,
}

impl Scratch {
    fn new(source: &Path) -> Result<Self> {
        let root = env::temp_dir().join("coucal-faults");
        let (intact, workspace) = (root.join("intact"), root.join("workspace"));
        for copies in [&intact, &workspace] {
            if copies.exists() {
                fs::remove_dir_all(copies)?;
            }
        }
        copy(source, &intact)?;
        copy(&intact, &workspace)?;
        // The build directory is kept from one run to the next.
        Ok(Self { intact, workspace, target: root.join("target") })
    }

    /// Runs these models; all of them if none is named.
    fn run(&self, models: &[&str]) -> Result<Verdict> {
        let build = self.build().output()?;
        let messages = String::from_utf8_lossy(&build.stderr);
        if !build.status.success() {
            return Ok(Verdict::Broken(messages.into_owned()));
        }
        // "Executable tests/models/main.rs (PATH)". Run without cargo, so that it can be killed.
        let executable = messages
            .lines()
            .find_map(|line| line.trim_start().strip_prefix("Executable")?.split_once('('))
            .and_then(|(_, path)| path.strip_suffix(')'))
            .ok_or("cargo does not say where the models are")?;
        let mut command = Command::new(self.workspace.join(executable));
        // The models of the lock have no layout.
        let tests = models.iter().map(|model| format!("{model}::{LAYOUT}"));
        if !models.is_empty() {
            command.arg("--exact").args(models).args(tests);
        }
        let log = self.target.join("models.log");
        command.env("RUST_BACKTRACE", "0").env(WITHOUT_FLOORS, "1");
        command.stdout(fs::File::create(&log)?).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let started = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if started.elapsed() > MODEL_TIMEOUT {
                child.kill()?;
                child.wait()?;
                break None;
            }
            thread::sleep(Duration::from_millis(20));
        };
        let log = fs::read_to_string(log)?;
        let layout = format!("::{LAYOUT}");
        let failed: Vec<_> = log
            .lines()
            .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"))
            .map(|test| test.trim_end_matches(&*layout).to_owned())
            .collect();
        Ok(match status {
            Some(status) if status.success() => Verdict::Passed,
            None if failed.is_empty() => Verdict::Endless,
            // An aborted process does not print which model failed.
            Some(_) if failed.is_empty() => Verdict::Failed(vec!["abort".into()]),
            _ => Verdict::Failed(failed),
        })
    }

    fn build(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo
            .args(["test", "--release", "--package", "loom-tests", "--test", "models"])
            .args(["--no-default-features", "--no-run", "--color=never"])
            .current_dir(&self.workspace)
            .env("RUSTFLAGS", "--cfg loom")
            .env("CARGO_TARGET_DIR", &self.target)
            // Most of the time is spent on builds.
            .env("CARGO_INCREMENTAL", "1")
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
        cargo
    }
}

/// Copies a directory, without build output and hidden files.
fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        if name == "target" || name.to_string_lossy().starts_with('.') {
            continue;
        }
        let (from, to) = (entry.path(), to.join(&name));
        if entry.file_type()?.is_dir() {
            copy(&from, &to)?;
        } else {
            fs::copy(from, to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fault quotes its source as it is, so a change there is noticed before the long run.
    #[test]
    fn every_fault_applies() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        let failed: Vec<_> = FAULTS.iter().filter_map(|fault| fault.apply(source).err()).collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}
