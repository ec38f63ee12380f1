//! Breaks the crate on purpose, one rule at a time, and reports which models notice.
//!
//! ```text
//! cargo run --release -p loom-tests --bin faults [--exceptions | phrase...]
//! ```
//!
//! Puts all faults into a copy of the workspace in the temporary directory, each with a switch, and compiles the copy
//! once. Then it runs the models of the default layout with one fault after another switched on. The faults are those
//! of the list, and each atomic ordering of the sources made weaker. With phrases, it tries only the faults whose
//! description contains one of them. With `--exceptions`, it tries the weaker orderings that no model can notice, all
//! together: every model runs.
//!
//! The exit status is 0 if every fault was caught, no exception was caught, and every phrase is in some description.

mod list;
mod orderings;

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufRead, BufReader, Write};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use list::{FAULTS, Fault};
use loom_tests::WITHOUT_FLOORS;
use loom_tests::mended::{Loom, RUSTFLAGS, copy};
use loom_tests::source::{Edit, Result, Source};

/// The maximum time of the likely models for one fault: some faults make a model loop for ever.
const MODEL_TIMEOUT: Duration = Duration::from_secs(300);

/// The maximum time of all models.
const ALL_MODELS_TIMEOUT: Duration = Duration::from_secs(1500);

/// An environment variable: the numbers of the faults that are switched on.
const SWITCHED_ON: &str = "COUCAL_FAULTS";

/// Added to the copy of `src/sync.rs`.
const SWITCH: &str = r#"
pub(crate) fn has_fault(number: usize) -> bool {
    static SWITCHED_ON: OnceLock<Vec<usize>> = OnceLock::new();
    let numbers = || std::env::var("COUCAL_FAULTS").unwrap_or_default();
    let parsed = || numbers().split_whitespace().map(|number| number.parse().unwrap()).collect();
    SWITCHED_ON.get_or_init(parsed).contains(&number)
}
"#;

/// The end of the line that the harness prints for a test that fails.
const FAILED: &str = " ... FAILED";

fn main() -> Result<ExitCode> {
    let mut phrases: Vec<_> = env::args().skip(1).collect();
    let with_exceptions = phrases == ["--exceptions"];
    if with_exceptions {
        phrases.clear();
    }
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).parent().ok_or("no workspace")?;
    let [mut faults, mut exceptions] = all(source)?;
    for phrase in &phrases {
        if !faults.iter().chain(&exceptions).any(|change| change.what.contains(phrase)) {
            return Err(format!("no fault is described by this phrase: {phrase}").into());
        }
    }
    if phrases.is_empty() {
        (if with_exceptions { &mut faults } else { &mut exceptions }).clear();
    } else {
        let wanted = |change: &Change| phrases.iter().any(|phrase| change.what.contains(phrase));
        faults.retain(wanted);
        exceptions.retain(wanted);
    }
    let joined = joined(&exceptions);
    let models = Models::with_faults(source, faults.iter().chain(&exceptions).chain(&joined))?;
    println!("| fault | caught by | seconds |\n|---|---|---|");
    let next = Mutex::new(faults.iter().enumerate());
    let work = || -> Result<usize> {
        let mut survivors = 0;
        loop {
            let fault = next.lock().expect("no worker panics").next();
            let Some((number, fault)) = fault else { return Ok(survivors) };
            survivors += usize::from(!try_fault(&models, number, fault)?);
        }
    };
    let survivors = thread::scope(|scope| {
        let workers = thread::available_parallelism().map_or(1, NonZero::get);
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let survivors = workers.into_iter().map(|worker| worker.join().expect("no worker panics"));
        survivors.sum::<Result<usize>>()
    })?;
    // The models that notice a fault must pass without it.
    let likely: Vec<_> = faults.iter().map(|fault| &*fault.caught_by).collect();
    if !phrases.is_empty() && !faults.is_empty() {
        let verdict = models.run([], &likely.join(" "))?;
        if verdict != Verdict::Passed {
            return Err(format!("without any fault: {verdict:?}").into());
        }
    }
    let noticed = if exceptions.is_empty() {
        0
    } else {
        try_exceptions(&models, faults.len(), &exceptions, joined.len())?
    };
    println!(
        "\n{} faults, {survivors} survived; {} exceptions, {noticed} noticed",
        faults.len(),
        exceptions.len(),
    );
    Ok(if survivors + noticed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns all faults, and the orderings that are stronger than any model needs.
fn all(workspace: &Path) -> Result<[Vec<Change>; 2]> {
    let sources = orderings::sources(workspace)?;
    let [weakenings, exceptions] = orderings::weakenings(&sources)?;
    let listed = FAULTS.iter().map(|fault| fault.change(&sources));
    Ok([listed.chain(weakenings.into_iter().map(Ok)).collect::<Result<_>>()?, exceptions])
}

/// Returns a change for each file, with the edits of all its exceptions. (Where two single changes of one function are
/// switched on, only the first one is in effect.)
fn joined(exceptions: &[Change]) -> Vec<Change> {
    let mut by_file: BTreeMap<&str, Vec<Edit>> = BTreeMap::new();
    for Change { file, edits, .. } in exceptions {
        by_file.entry(file).or_default().extend_from_slice(edits);
    }
    let of_file = |(file, edits): (&str, _)| Change {
        what: format!("{file}: all exceptions"),
        file: file.into(),
        edits,
        caught_by: String::new(),
    };
    by_file.into_iter().map(of_file).collect()
}

/// Runs the models with all exceptions together: if no model notices them, none notices one of them alone. Returns how
/// many of them a model notices. The exceptions have the numbers from `first` on. The `joined` changes with the edits
/// of all exceptions have the numbers after these.
fn try_exceptions(
    models: &Models,
    first: usize,
    exceptions: &[Change],
    joined: usize,
) -> Result<usize> {
    let numbers = first..first + exceptions.len();
    let together = models.run(numbers.end..numbers.end + joined, "")?;
    if together == Verdict::Passed {
        return Ok(0);
    }
    println!("the exceptions together: {together:?}");
    let mut noticed = 0;
    for (exception, number) in exceptions.iter().zip(numbers) {
        let verdict = models.run([number], "")?;
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

/// Returns whether a model notices the fault.
fn try_fault(models: &Models, number: usize, fault: &Change) -> Result<bool> {
    let started = Instant::now();
    let verdict = match models.run([number], &fault.caught_by)? {
        // None of the likely models notices it. Tries all others.
        Verdict::Passed if !fault.caught_by.is_empty() => models.run([number], "")?,
        verdict => verdict,
    };
    let (caught, caught_by) = match verdict {
        Verdict::Failed(model) => (true, model),
        Verdict::Passed => (false, "NOTHING".into()),
        Verdict::Endless => (false, "nothing, before the timeout".into()),
    };
    let what = fault.what.replace('|', "\\|");
    println!("| {what} | {caught_by} | {:.0} |", started.elapsed().as_secs_f64());
    Ok(caught)
}

/// A fault, ready to be applied.
struct Change {
    /// The description, in a few words.
    what: String,
    /// The path of the file, from the root of the workspace.
    file: String,
    edits: Vec<Edit>,
    /// Parts of the names of models, some of which must fail. These models run first; the others run only if all of
    /// these pass.
    caught_by: String,
}

impl Fault {
    /// Finds the texts of the fault in the one file that has all of them.
    fn change(&self, sources: &[(String, Source)]) -> Result<Change> {
        let edits = |source: &Source| -> Result<Vec<Edit>> {
            let place = |text| source.find(self.function, text);
            self.edits.iter().map(|(old, new)| Ok((place(old)?, (*new).into()))).collect()
        };
        let mut found =
            sources.iter().filter_map(|(file, source)| Some((file, edits(source).ok()?)));
        let (Some((file, edits)), None) = (found.next(), found.next()) else {
            let Self { what, function, edits, .. } = self;
            return Err(format!("{what}: not in one {function}, once each: {edits:?}").into());
        };
        Ok(Change {
            what: self.what.into(),
            file: file.clone(),
            edits,
            caught_by: self.caught_by.into(),
        })
    }
}

/// The result of the models for a fault.
#[derive(Debug, PartialEq)]
enum Verdict {
    Passed,
    /// The first model that failed; the others were stopped then.
    Failed(String),
    /// The models were still running at the timeout, and none had failed.
    Endless,
}

/// The compiled models of a copy of the workspace that has all faults.
struct Models {
    executable: PathBuf,
}

impl Models {
    fn with_faults<'a>(source: &Path, changes: impl Iterator<Item = &'a Change>) -> Result<Self> {
        // Each checkout has a copy of its own: a run in another one must not find its copy replaced.
        let mut checkout = DefaultHasher::new();
        source.canonicalize()?.hash(&mut checkout);
        let root = env::temp_dir().join(format!("coucal-faults-{:016x}", checkout.finish()));
        // The build directory is kept from one run to the next.
        let (workspace, target) = (root.join("workspace"), root.join("target"));
        if workspace.exists() {
            fs::remove_dir_all(&workspace)?;
        }
        copy(source, &workspace, &|_, text| Ok(text))?;
        let mut by_file: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (number, change) in changes.enumerate() {
            let edits = change.edits.iter().map(|edit| (number, edit));
            by_file.entry(&change.file).or_default().extend(edits);
        }
        for (file, edits) in by_file {
            let path = workspace.join(file);
            fs::write(&path, Source::read(&path)?.with_switches(edits)?)?;
        }
        let mut sync = fs::File::options().append(true).open(workspace.join("src/sync.rs"))?;
        sync.write_all(SWITCH.as_bytes())?;
        let mut cargo = Loom::mended()?.cargo();
        cargo
            .args(["test", "--release", "--package", "loom-tests", "--test", "models"])
            .args(["--no-default-features", "--features", "mended-loom"])
            .args(["--no-run", "--color=never"])
            .current_dir(&workspace)
            .env("RUSTFLAGS", format!("{RUSTFLAGS} -Awarnings"))
            .env("CARGO_TARGET_DIR", &target)
            .env("CARGO_PROFILE_RELEASE_DEBUG", "0")
            // With several bodies per function, a higher level takes longer than it saves.
            .env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "2");
        let build = cargo.output()?;
        let messages = String::from_utf8_lossy(&build.stderr);
        if !build.status.success() {
            eprintln!("{messages}");
            return Err("some fault does not compile".into());
        }
        // The line is "Executable tests/models/main.rs (PATH)". The program runs it without cargo, so that it can be
        // killed.
        let executable = messages
            .lines()
            .find_map(|line| line.trim_start().strip_prefix("Executable")?.split_once('('))
            .and_then(|(_, path)| path.strip_suffix(')'))
            .ok_or("cargo does not say where the models are")?;
        Ok(Self { executable: workspace.join(executable) })
    }

    /// Runs the models whose names have one of these parts, or all, with the faults of these numbers.
    fn run(&self, faults: impl IntoIterator<Item = usize>, parts: &str) -> Result<Verdict> {
        let mut command = Command::new(&self.executable);
        command.args(parts.split_whitespace());
        // More threads than processors: so a model that fails at once does not wait for those that take minutes.
        command.args(["--test-threads", "16"]);
        let numbers: Vec<_> = faults.into_iter().map(|number| number.to_string()).collect();
        command.env(SWITCHED_ON, numbers.join(" "));
        command.env("RUST_BACKTRACE", "0").env(WITHOUT_FLOORS, "1");
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let output = BufReader::new(child.stdout.take().ok_or("no output")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            output.lines().map_while(io::Result::ok).try_for_each(|line| sender.send(line))
        });
        let timeout = if parts.is_empty() { ALL_MODELS_TIMEOUT } else { MODEL_TIMEOUT };
        let deadline = Instant::now() + timeout;
        let verdict = loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => {
                    if let Some(test) = line.strip_suffix(FAILED) {
                        break Verdict::Failed(test.trim_start_matches("test ").into());
                    }
                }
                Err(RecvTimeoutError::Timeout) => break Verdict::Endless,
                Err(RecvTimeoutError::Disconnected) if child.wait()?.success() => {
                    break Verdict::Passed;
                }
                // An aborted process does not print which model failed.
                Err(RecvTimeoutError::Disconnected) => break Verdict::Failed("abort".into()),
            }
        };
        child.kill()?;
        child.wait()?;
        Ok(verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each fault quotes the present source, so that a change of it is noticed before the long run. So do the
    /// exceptions.
    #[test]
    fn every_fault_applies() {
        let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a workspace");
        all(workspace).map(drop).expect("each text, and each exception, once");
    }

    /// When all exceptions are switched on together, each of them is in effect, also where one body has several.
    #[test]
    fn two_exceptions_of_one_function_are_switched_on_together() {
        let source = Source::parse("fn f() { a(1); b(2); }".into()).expect("a function");
        let change = |old: &str, new: &str| Change {
            what: old.to_string(),
            file: "f.rs".into(),
            edits: vec![(source.find("f", old).expect("once"), new.into())],
            caught_by: String::new(),
        };
        let joined = joined(&[change("1", "10"), change("2", "20")]);
        let edits = joined
            .iter()
            .enumerate()
            .flat_map(|(number, change)| change.edits.iter().map(move |edit| (number, edit)));
        let switched = source.with_switches(edits).expect("edits in a body");
        assert!(switched.contains("if crate::sync::has_fault(0) { a(10); b(20); }"), "{switched}");
    }
}
