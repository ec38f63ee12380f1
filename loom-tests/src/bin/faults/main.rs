//! Breaks the crate on purpose, one rule at a time, and reports which models notice.
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults [phrase...]
//! ```
//!
//! Applies each fault to a copy of the workspace in the temporary directory and runs the models of the
//! default layout. The faults are those of the list, and each atomic ordering of the sources made
//! weaker. With phrases, tries only the faults whose description contains one of them.
//!
//! The exit status is 0 if every fault was caught, and no exception from that, and if every phrase is
//! in some description.

mod list;
mod orderings;
mod source;

use std::collections::BTreeMap;
use std::error::Error;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use list::{Edit, FAULTS, Fault};
use loom_tests::WITHOUT_FLOORS;
use source::Source;

/// The layout whose models are run: the rules are the same for all.
const LAYOUT: &str = "Fp16x4";

/// How long the models may run on one fault: some faults make a model loop for ever.
const MODEL_TIMEOUT: Duration = Duration::from_secs(300);
/// How long the others may go on when one has failed.
const AFTER_A_FAILURE: Duration = Duration::from_secs(2);

/// Faults that are tried at a time, at most: each needs a copy of the workspace and of its build.
const MAX_WORKERS: usize = 4;

/// How the harness ends the line of a test that fails.
const FAILED: &str = " ... FAILED";

type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> Result<ExitCode> {
    let phrases: Vec<_> = env::args().skip(1).collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let [mut faults, mut exceptions] = all(source)?;
    for phrase in &phrases {
        if !faults.iter().chain(&exceptions).any(|change| change.what.contains(phrase)) {
            return Err(format!("no fault is described by this phrase: {phrase}").into());
        }
    }
    for changes in [&mut faults, &mut exceptions] {
        let wanted = |change: &Change| phrases.iter().any(|phrase| change.what.contains(phrase));
        changes.retain(|change| phrases.is_empty() || wanted(change));
    }
    let workers = thread::available_parallelism().map_or(1, NonZero::get).min(MAX_WORKERS);
    let scratches: Vec<_> =
        (0..workers).map(|worker| Scratch::new(source, worker)).collect::<Result<_>>()?;

    let noticed = try_exceptions(&scratches[0], &faults, &exceptions)?;
    println!("| fault | caught by | seconds |\n|---|---|---|");
    let (next, survivors) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        let workers: Vec<_> = scratches
            .iter()
            .map(|scratch| {
                scope.spawn(|| -> Result<()> {
                    while let Some(fault) = faults.get(next.fetch_add(1, Ordering::Relaxed)) {
                        if !try_fault(scratch, fault)? {
                            survivors.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no worker panics"))
    })?;
    let survivors = survivors.into_inner();
    println!(
        "\n{} faults, {survivors} survived; {} exceptions, {noticed} noticed",
        faults.len(),
        exceptions.len(),
    );
    Ok(if survivors + noticed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// All faults, and the orderings that are stronger than any model needs.
fn all(source: &Path) -> Result<[Vec<Change>; 2]> {
    let [weakenings, exceptions] = orderings::weakenings(source)?;
    let listed = FAULTS.iter().map(|fault| fault.change(source));
    Ok([listed.chain(weakenings.into_iter().map(Ok)).collect::<Result<_>>()?, exceptions])
}

/// Runs the models without a fault, but with all exceptions together: if no model notices them, none
/// notices one of them alone. Returns how many of them a model notices.
fn try_exceptions(scratch: &Scratch, faults: &[Change], exceptions: &[Change]) -> Result<usize> {
    if exceptions.is_empty() {
        let mut models: Vec<_> =
            faults.iter().flat_map(|fault| &*fault.caught_by).copied().collect();
        models.sort_unstable();
        models.dedup();
        return match scratch.run(&models)? {
            Verdict::Passed => Ok(0),
            verdict => Err(format!("without any fault: {verdict:?}").into()),
        };
    }
    if scratch.verdict(exceptions, &[])? == Verdict::Passed {
        return Ok(0);
    }
    match scratch.run(&[])? {
        Verdict::Passed => {}
        verdict => return Err(format!("without any fault: {verdict:?}").into()),
    }
    let mut noticed = 0;
    for exception in exceptions {
        let verdict = scratch.verdict(std::slice::from_ref(exception), &[])?;
        if verdict != Verdict::Passed {
            println!("no exception: {}: {verdict:?}", exception.what);
            noticed += 1;
        }
    }
    if noticed == 0 {
        Err("the exceptions are noticed together, none alone".into())
    } else {
        Ok(noticed)
    }
}

/// Whether a model notices the fault.
fn try_fault(scratch: &Scratch, fault: &Change) -> Result<bool> {
    let started = Instant::now();
    let fault_alone = std::slice::from_ref(fault);
    let verdict = match scratch.verdict(fault_alone, &fault.caught_by)? {
        // None of the likely models notices it. Does any other?
        Verdict::Passed if !fault.caught_by.is_empty() => scratch.verdict(fault_alone, &[])?,
        verdict => verdict,
    };
    let (caught, caught_by) = match verdict {
        Verdict::Failed(models) => (true, models.join(", ")),
        Verdict::Passed => (false, "NOTHING".into()),
        Verdict::Endless => (false, "nothing, before the timeout".into()),
        Verdict::Broken(errors) => {
            eprintln!("{errors}");
            (false, "nothing: it does not compile".into())
        }
    };
    let what = fault.what.replace('|', "\\|");
    println!("| {what} | {caught_by} | {:.0} |", started.elapsed().as_secs_f64());
    Ok(caught)
}

/// A fault, ready to be applied.
struct Change {
    /// In a few words.
    what: String,
    /// The file, from the root of the workspace.
    file: String,
    /// What is replaced, and by what.
    edits: Vec<(Range<usize>, String)>,
    /// Models that fail. They are run first; the others only if all of these pass.
    caught_by: Vec<&'static str>,
}

impl Fault {
    fn change(&self, workspace: &Path) -> Result<Change> {
        let source = Source::read(&workspace.join(self.file))?;
        let find = |quote| {
            let found = source.find(self.function, quote);
            found.map_err(|error| format!("{}: {}: {error}", self.what, self.file))
        };
        let text = |range: &Range<usize>| source.text[range.clone()].to_owned();
        let edits = match self.edit {
            Edit::Replace(old, new) => vec![(find(old)?, new.into())],
            Edit::Swap(a, b) => {
                let (a, b) = (find(a)?, find(b)?);
                vec![(a.clone(), text(&b)), (b, text(&a))]
            }
            Edit::Before(moved, place) | Edit::After(moved, place) => {
                let (moved, place) = (find(moved)?, find(place)?);
                let after = matches!(self.edit, Edit::After(..));
                let at = if after { place.end } else { place.start };
                vec![(moved.clone(), String::new()), (at..at, format!(" {} ", text(&moved)))]
            }
        };
        Ok(Change {
            what: self.what.into(),
            file: self.file.into(),
            edits,
            caught_by: self.caught_by.to_vec(),
        })
    }
}

/// What the models said about a fault.
#[derive(Debug, PartialEq)]
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
    fn new(source: &Path, worker: usize) -> Result<Self> {
        // One for each checkout: a run in another one must not find its copies replaced.
        let mut checkout = DefaultHasher::new();
        source.canonicalize()?.hash(&mut checkout);
        let checkout = format!("coucal-faults-{:016x}", checkout.finish());
        let root = env::temp_dir().join(checkout).join(worker.to_string());
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

    /// What these models say, or all if none is named, when all these changes are made.
    fn verdict(&self, changes: &[Change], models: &[&str]) -> Result<Verdict> {
        let mut by_file: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for change in changes {
            by_file.entry(&change.file).or_default().extend(&change.edits);
        }
        for (file, edits) in &mut by_file {
            let mut text = fs::read_to_string(self.intact.join(file))?;
            edits.sort_by_key(|(range, _)| range.end);
            let mut end = text.len();
            for (range, new) in edits.iter().rev() {
                // Where an access has two exceptions, the weaker is the later of them.
                if range.end <= end {
                    text.replace_range(range.clone(), new);
                    end = range.start;
                }
            }
            fs::write(self.workspace.join(file), text)?;
        }
        let verdict = self.run(models);
        for file in by_file.keys() {
            fs::write(self.workspace.join(file), fs::read(self.intact.join(file))?)?;
        }
        verdict
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
        let (started, mut failed_at) = (Instant::now(), None);
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break Some(status);
            }
            if failed_at.is_none() && fs::read_to_string(&log)?.contains(FAILED) {
                failed_at = Some(Instant::now());
            }
            let after_a_failure = failed_at.map_or(Duration::ZERO, |at| at.elapsed());
            if started.elapsed() > MODEL_TIMEOUT || after_a_failure > AFTER_A_FAILURE {
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
            .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(FAILED))
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

    /// Each fault quotes its source as it is, so a change there is noticed before the long run. So it is
    /// with the exceptions.
    #[test]
    fn every_fault_applies() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        let failed: Vec<_> = FAULTS.iter().filter_map(|fault| fault.change(source).err()).collect();
        assert!(failed.is_empty(), "{failed:#?}");
        orderings::weakenings(source).expect("a line for each exception");
    }
}
