//! Prints each line of its input the first time it is seen.
//!
//! Like `sort -u`, but without sorting and without keeping the lines in memory: a filter of some
//! five bytes per distinct line, shared by all threads, remembers what was printed, and grows with
//! them; of about two bytes, if it is told how many distinct lines there are. The price: now and then
//! a new line is mistaken for a repeat and withheld. `--rate` sets how often, `--summary` says how
//! many lines to expect, and `--withheld` lists them.
//!
//! ```text
//! cargo run --release --example dedup -- --summary access.log
//! zcat logs/*.gz | cargo run --release --example dedup -- --capacity 50M --rate 1e-6 > distinct
//! cargo run --release --example dedup -- --state seen.coucal today.log > new-today
//! ```
//!
//! `examples/README.md` compares its speed, memory and lost lines with those of other tools.

use std::collections::VecDeque;
use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File, TryLockError};
use std::hash::BuildHasher;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{self, Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use clap::{CommandFactory, Parser};
use coucal::{
    AnyCuckooFilter, AnyLayout, BuildError, CuckooFilter, DefaultHashBuilder, GrowableCuckooFilter,
    RestoreError, StableHashBuilder, Storage,
};
use memchr::{memchr, memrchr};

/// Print each line the first time it is seen.
///
/// Lines are bytes: they need not be UTF-8. Every printed line ends with a newline, and a last line
/// without a newline equals the same line with one.
///
/// A filter remembers the lines, and grows with them: 43 bits for each distinct line, or 17 with
/// --capacity. It never takes a recorded line for a
/// new one, so it prints no line twice. But it takes some new lines for recorded ones and withholds
/// them, and these are lost from the output: see --rate and --withheld.
///
/// Use an exact tool when no line may be lost, or when the distinct lines fit in memory anyway:
/// `sort -u` works for any size but needs disk space and sorts; `awk '!seen[$0]++'` keeps the order
/// of the input and every distinct line in memory; `huniq` and `runiq` keep a 64-bit hash of each.
/// dedup is for more distinct lines than these have memory for.
///
/// The output keeps the order of the input. With one thread the first of several equal lines is the
/// one printed. With more, equal lines less than a few chunks (of 256 KiB) apart are examined at the
/// same time, and any one of them may be the one printed.
///
/// Exit status: 0 if all went well or the reader of the output went away; 1 if a file could not be
/// read, the output could not be written, the state could not be loaded or saved, or the filter was
/// too small; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "dedup")]
struct Options {
    /// Take a filter of fixed size, with room for so many distinct lines: a number, such as 250000,
    /// 250k, 10M, 2G (decimal: a thousand, a million, a billion) or 1e6 [default: a filter that grows
    /// from room for a million lines to room for a thousand million, or for as many as the system
    /// lets it reserve memory for].
    ///
    /// It is faster than one that grows, and takes less than half of the memory for each line. If
    /// there are more distinct lines, those that it cannot record are printed each time they occur
    /// (no line is lost), a message says so, and the exit status is 1.
    #[arg(long, value_name = "LINES", value_parser = parse_capacity)]
    capacity: Option<usize>,

    /// The highest acceptable probability that a new line is withheld by mistake, between 0 and 1
    /// [default: 0.000125, that is 1 in 8,000].
    ///
    /// It applies when the filter holds as many lines as it has room for at the most. Before that, the
    /// probability grows in proportion to the lines recorded, so over a whole run it is half of that
    /// or less. A filter that grows takes 43 bits per line at any rate down to 7e-7. With --capacity,
    /// the filter with the shortest fingerprints for the rate is chosen: 0.1 takes 8 bits per line of
    /// the capacity, 0.001 takes 13, the default 17, 1e-5 takes 23, and 1e-6 takes 37.
    #[arg(long, default_value_t = 0.000_125, hide_default_value = true, value_parser = parse_rate)]
    rate: f64,

    /// Write to FILE new lines that were withheld by mistake, found by a second filter.
    ///
    /// The second filter is as large as the first, hashes with a seed of its own, and records every
    /// line. A line that the first filter takes for a repeat, and that the second has certainly not
    /// seen, was withheld by mistake and is written to FILE, once. So every line in FILE is missing
    /// from the output. But not every missing line is in FILE: a line on which both filters are
    /// mistaken is neither in FILE nor in the output. Of the missing lines these are at most a share
    /// of RATE on average (with the default, 1 in 8,000); --summary says how many to expect. For the
    /// complete list, compare with an exact tool, where that is possible: `dedup INPUT > OUTPUT`,
    /// and then `LC_ALL=C; comm -13 <(sort OUTPUT) <(sort -u INPUT)`.
    ///
    /// This is a check of what the filter loses on your data. To lose fewer lines, use a lower
    /// --rate: it takes less memory than a second filter. If more distinct lines come than the
    /// second filter has room for, the list ends there, a message says so, and the exit status is 1.
    #[arg(long, value_name = "FILE")]
    withheld: Option<PathBuf>,

    /// Keep the filter in FILE: load it, if FILE exists, print only lines that no earlier run has
    /// recorded, and save it at the end.
    ///
    /// Give the same --capacity and --rate in each run. FILE that cannot be used (damaged, of other
    /// options, of another program) is an error, and stays as it is. The new state is written to
    /// FILE.new, which then takes the place of FILE, so that a crash leaves the old state or the new
    /// one; FILE.lock, which stays empty, keeps two runs from using FILE at the same time. To save
    /// takes as much memory again as the filter.
    ///
    /// The state is saved when all lines have been printed. A run that ends before (by a signal, or
    /// because the output cannot be written or its reader went away) leaves FILE as it was: the next
    /// run prints its lines again, and none is lost. So to stop a run that waits for more input, end
    /// the input.
    ///
    /// The hash is the same in every run, so whoever knows it can write lines that are taken for
    /// others. Cannot be used with --withheld: the second filter would not know the lines of earlier
    /// runs.
    #[arg(long, value_name = "FILE", conflicts_with = "withheld")]
    state: Option<PathBuf>,

    /// How many threads examine lines [default: one per processor].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print on standard error, at the end, how many lines were read and printed, how many new
    /// lines were probably withheld by mistake, and how large and how full the filter is.
    #[arg(long)]
    summary: bool,

    /// The files to read; `-` is standard input, which is also the default.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// A whole number with an optional decimal suffix or exponent.
fn parse_capacity(text: &str) -> Result<usize, String> {
    const EXPECTED: &str = "expected a whole number of lines, such as 250000, 250k, 10M, 2G or 1e6";
    if let Ok(lines) = text.parse() {
        return Ok(lines);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    // As an exponent, the suffix is part of the number that is parsed: 1.1M is exactly 1100000.
    let number = match &text[digits.len()..] {
        "" => text.to_owned(),
        "k" | "K" => format!("{digits}e3"),
        "m" | "M" => format!("{digits}e6"),
        "g" | "G" => format!("{digits}e9"),
        _ => return Err(EXPECTED.into()),
    };
    let lines: f64 = number.parse().map_err(|_| EXPECTED)?;
    if lines >= usize::MAX as f64 {
        return Err("more lines than can be counted".into());
    }
    if lines < 0.0 || lines.fract() != 0.0 {
        return Err(EXPECTED.into());
    }
    Ok(lines as usize)
}

fn parse_rate(text: &str) -> Result<f64, &'static str> {
    text.parse()
        .ok()
        .filter(|rate| 0.0 < *rate && *rate < 1.0)
        .ok_or("expected a number between 0 and 1, both excluded, such as 0.001 or 1e-6")
}

/// Which standard streams were closed when the process started.
///
/// This must be known before `main`: there, Rust's runtime has already replaced a closed stream by
/// `/dev/null`, so that all output would vanish without an error. Afterwards the replacement looks
/// like a `/dev/null` that the caller chose (Python's `subprocess.DEVNULL` is opened for reading
/// and writing, too), which must keep working.
#[cfg(unix)]
mod closed_streams {
    use std::sync::atomic::{AtomicBool, Ordering};

    use rustix::io::fcntl_getfd;
    use rustix::stdio;

    static STDIN: AtomicBool = AtomicBool::new(false);
    static STDOUT: AtomicBool = AtomicBool::new(false);

    /// Runs before `main` and does nothing but system calls, so it needs no runtime.
    #[ctor::ctor(unsafe)]
    fn detect() {
        // Relaxed: no other thread exists yet.
        STDIN.store(fcntl_getfd(stdio::stdin()).is_err(), Ordering::Relaxed);
        STDOUT.store(fcntl_getfd(stdio::stdout()).is_err(), Ordering::Relaxed);
    }

    pub fn stdin() -> bool {
        STDIN.load(Ordering::Relaxed)
    }

    pub fn stdout() -> bool {
        STDOUT.load(Ordering::Relaxed)
    }
}

#[cfg(not(unix))]
mod closed_streams {
    pub fn stdin() -> bool {
        false
    }

    pub fn stdout() -> bool {
        false
    }
}

fn main() -> ExitCode {
    let options = Options::parse();
    if closed_streams::stdout() {
        complain("cannot write to standard output: it is closed");
        return ExitCode::FAILURE;
    }
    let (rate, capacity) = (options.rate, options.capacity);
    let (random, stable) = (DefaultHashBuilder::default, || STATE_HASHER);
    match (capacity, options.state.is_some()) {
        (None, false) => {
            run(options, |most| growable(most, rate, random()), CuckooFilter::max_capacity)
        }
        (None, true) => {
            run(options, |most| growable(most, rate, stable()), CuckooFilter::max_capacity)
        }
        (Some(lines), false) => {
            run(options, |_| fixed(lines, rate, random()), CuckooFilter::capacity)
        }
        (Some(lines), true) => {
            run(options, |_| fixed(lines, rate, stable()), CuckooFilter::capacity)
        }
    }
}

/// Room for so many lines at first, and for so many at the most.
const LINES: (usize, usize) = (1_000_000, 1_000_000_000);

/// The hasher of a filter with a state. Another one would make every state useless.
const STATE_HASHER: StableHashBuilder = StableHashBuilder::new(0x6465_6475_7000_0001);

fn growable<S>(
    most: usize,
    rate: f64,
    hasher: S,
) -> Result<GrowableCuckooFilter<AnyLayout, S>, BuildError> {
    let builder = CuckooFilter::builder().capacity(LINES.0).max_capacity(most);
    builder.false_positive_rate(rate).any_layout().hasher(hasher).build()
}

fn fixed<S>(lines: usize, rate: f64, hasher: S) -> Result<AnyCuckooFilter<S>, BuildError> {
    let builder = CuckooFilter::builder().capacity(lines).false_positive_rate(rate);
    builder.any_layout().hasher(hasher).build()
}

/// A new filter; one that grows does so as far as memory can be reserved for it.
fn build_new<F>(build: impl Fn(usize) -> Result<F, BuildError>) -> F {
    let (first, mut most) = LINES;
    loop {
        match build(most) {
            Ok(filter) => return filter,
            Err(BuildError::OutOfMemory { .. }) if most / 2 >= first => most /= 2,
            Err(error) => refuse(error),
        }
    }
}

/// `build` makes a filter for the options; one that grows, up to so many lines. `most` says how many
/// one was made for.
fn run<L: Storage, S: BuildHasher + Clone + Send + Sync>(
    mut options: Options,
    build: impl Fn(usize) -> Result<CuckooFilter<L, S>, BuildError>,
    most: impl Fn(&CuckooFilter<L, S>) -> usize,
) -> ExitCode {
    let state = options.state.as_deref().map(State::open);
    let loaded = state.as_ref().and_then(|state| state.load(&build, most));
    let before = loaded.as_ref().map_or(0, CuckooFilter::len);
    let rate_before = loaded.as_ref().map_or(0.0, CuckooFilter::false_positive_rate);
    let filter = loaded.unwrap_or_else(|| build_new(&build));
    let audit = options.withheld.as_ref().map(|path| {
        let filter = build_new(&build);
        match File::create(path) {
            Ok(file) => Audit::new(filter, file),
            Err(error) => fail(format_args!("{}: {error}", path.display())),
        }
    });
    let threads = options
        .threads
        .map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    if options.files.is_empty() {
        options.files.push(PathBuf::from("-"));
    }

    let dedup = Dedup {
        filter,
        before,
        rate_before,
        audit,
        input: Mutex::new(Input::new(options.files)),
        output: Output { has_state: state.is_some(), ..Output::default() },
        read: AtomicUsize::new(0),
        printed: AtomicUsize::new(0),
        overflowed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| dedup.work());
        }
    });
    if let Some(state) = &state {
        state.save(&dedup.filter);
    }
    if options.summary {
        dedup.summarize(state.is_some());
    }
    let failed = dedup.overflowed.into_inner()
        || dedup.audit.is_some_and(|audit| audit.overflowed.into_inner())
        || dedup.input.into_inner().expect(UNPOISONED).failed;
    ExitCode::from(u8::from(failed))
}

/// A table that does not fit in the memory of this machine may fit on another; every other error is
/// a wrong argument.
fn refuse(error: BuildError) -> ! {
    match error {
        BuildError::OutOfMemory { .. } => {
            fail(format_args!("{error}; try a smaller --capacity"));
        }
        BuildError::CapacityOverflow { .. } => wrong_argument(format_args!("--capacity: {error}")),
        BuildError::GrowthOutOfReach { .. } => wrong_argument(format_args!(
            "--rate: {error}; or say how many lines there are, by --capacity"
        )),
        _ => wrong_argument(format_args!("--rate: {error}")),
    }
}

fn wrong_argument(message: impl Display) -> ! {
    Options::command().error(clap::error::ErrorKind::ValueValidation, message).exit()
}

fn fail(message: impl Display) -> ! {
    complain(message);
    process::exit(1)
}

fn complain(message: impl Display) {
    // If standard error is closed as well, nobody can be told.
    let _ = writeln!(io::stderr(), "dedup: {message}");
}

const UNPOISONED: &str = "no thread panics while it holds a lock";

/// The file that keeps the filter from one run to the next: a snapshot, and nothing else.
struct State {
    path: PathBuf,
    lock: File,
}

impl State {
    /// Keeps other runs away from this file, which need not be there yet.
    fn open(path: &Path) -> Self {
        let named = |error: &dyn Display| -> ! {
            fail(format_args!("the state {} cannot be used: {error}", path.display()))
        };
        match fs::metadata(path) {
            Ok(metadata) if !metadata.is_file() => named(&"it is no regular file"),
            Err(error) if error.kind() != ErrorKind::NotFound => named(&error),
            _ => {}
        }
        // A link stays where it is: what it points to is replaced.
        let real = fs::canonicalize(path).or_else(|_| path::absolute(path));
        let real = real.unwrap_or_else(|error| named(&error));
        let lock = beside(&real, ".lock");
        let lock = match File::options().create(true).append(true).open(&lock) {
            Ok(file) => file,
            Err(error) => named(&format_args!("{}: {error}", lock.display())),
        };
        match lock.try_lock() {
            Ok(()) => Self { path: real, lock },
            Err(TryLockError::WouldBlock) => named(&"another run uses it"),
            Err(TryLockError::Error(error)) => named(&error),
        }
    }

    /// The filter that was saved; `None` if nothing was.
    fn load<L: Storage, S: BuildHasher + Clone>(
        &self,
        build: impl Fn(usize) -> Result<CuckooFilter<L, S>, BuildError>,
        most: impl Fn(&CuckooFilter<L, S>) -> usize,
    ) -> Option<CuckooFilter<L, S>> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return None,
            Err(error) => self.is_damaged(error),
        };
        // One without lines, for its hasher.
        let hasher = build(LINES.0).unwrap_or_else(|error| refuse(error)).hasher().clone();
        let filter = match CuckooFilter::<L, S>::restore(&mut file, hasher) {
            Ok(filter) => filter,
            Err(RestoreError::OtherKind { grows: true }) => {
                self.is_of_other_options("without --capacity: leave it out")
            }
            Err(RestoreError::OtherKind { grows: false }) => {
                self.is_of_other_options("with a --capacity: give the same")
            }
            Err(RestoreError::OtherHasher) => self
                .is_damaged("it is a filter with another hasher, and not one that dedup has saved"),
            Err(error) => self.is_damaged(error),
        };
        match file.read(&mut [0]) {
            Ok(0) => {}
            Ok(_) => self.is_damaged("bytes follow the snapshot"),
            Err(error) => self.is_damaged(error),
        }
        // What these options make, for as many lines: one that grows does so as far as there was
        // memory for when it was made.
        match build(most(&filter)) {
            Ok(like) if most(&filter) != most(&like) => {
                let made = format!("with --capacity {}: give the same", most(&filter));
                self.is_of_other_options(&made)
            }
            Ok(like) if filter.layout_name() != like.layout_name() => {
                self.is_of_other_options("with another --rate: give the same")
            }
            Ok(_) | Err(BuildError::OutOfMemory { .. }) => Some(filter),
            Err(error) => refuse(error),
        }
    }

    fn is_damaged(&self, error: impl Display) -> ! {
        fail(format_args!(
            "the state {} cannot be loaded, and is left as it is: {error}; to begin anew, remove it \
             or name another file",
            self.path.display()
        ))
    }

    fn is_of_other_options(&self, made: &str) -> ! {
        wrong_argument(format_args!(
            "the state {} was made {made}, or name another file to begin anew",
            self.path.display()
        ))
    }

    /// Saves the filter, all of whose lines have been printed.
    fn save<L: Storage, S: BuildHasher>(&self, filter: &CuckooFilter<L, S>) {
        if let Err(error) = self.try_save(filter) {
            fail(format_args!(
                "the state {} cannot be saved, and is left as it was: {error}",
                self.path.display()
            ));
        }
    }

    fn try_save<L: Storage, S: BuildHasher>(
        &self,
        filter: &CuckooFilter<L, S>,
    ) -> Result<(), Box<dyn Error>> {
        sync_stdout()?;
        let snapshot = filter.snapshot()?;
        let new = beside(&self.path, ".new");
        let write = || {
            let file = File::create(&new)?;
            if let Ok(old) = fs::metadata(&self.path) {
                file.set_permissions(old.permissions())?;
            }
            snapshot.write_to(&file)?;
            // Before the name: otherwise a crash could leave it with a part of the bytes.
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        if let Err(error) = write() {
            let _ = fs::remove_file(&new);
            return Err(error.into());
        }
        // The name is part of the folder. Elsewhere a folder is no file.
        #[cfg(unix)]
        File::open(self.path.parent().unwrap_or(Path::new("/")))?.sync_all()?;
        // To close the file is not enough in a program that starts others: they inherit the file, and
        // with it the lock.
        Ok(self.lock.unlock()?)
    }
}

/// A path with this at its end.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// What was printed outlives a crash, if it went to a file: a state must not know lines that nobody
/// has.
#[cfg(unix)]
fn sync_stdout() -> io::Result<()> {
    use std::os::fd::AsFd;

    match File::from(io::stdout().as_fd().try_clone_to_owned()?).sync_all() {
        // A pipe or a terminal.
        Err(error) if error.kind() == ErrorKind::InvalidInput => Ok(()),
        result => result,
    }
}

#[cfg(not(unix))]
fn sync_stdout() -> io::Result<()> {
    Ok(())
}

/// What the threads share.
struct Dedup<L: Storage, S> {
    filter: CuckooFilter<L, S>,
    /// The lines that the filter held at first, and its rate then.
    before: usize,
    rate_before: f64,
    audit: Option<Audit<L, S>>,
    input: Mutex<Input>,
    output: Output,
    read: AtomicUsize,
    printed: AtomicUsize,
    overflowed: AtomicBool,
}

/// The second filter, which finds lines that the first withheld by mistake.
struct Audit<L: Storage, S> {
    filter: CuckooFilter<L, S>,
    file: File,
    /// The lock of a line is held while it passes through both filters. Otherwise, of two threads
    /// with the same new line, one could be first in one filter and the other in the other, and a
    /// printed line would be listed as withheld.
    locks: [Mutex<()>; 64],
    listed: AtomicUsize,
    overflowed: AtomicBool,
}

impl<L: Storage, S: BuildHasher> Audit<L, S> {
    fn new(filter: CuckooFilter<L, S>, file: File) -> Self {
        Self {
            filter,
            file,
            locks: [const { Mutex::new(()) }; 64],
            listed: AtomicUsize::new(0),
            overflowed: AtomicBool::new(false),
        }
    }

    /// Calls `is_new`, which passes the line through the first filter. Returns its answer, and
    /// whether that answer is certainly a mistake.
    fn check(&self, line: &[u8], is_new: impl FnOnce() -> bool) -> (bool, bool) {
        let hash = self.filter.hash_of(line);
        let _lock = self.locks[hash as usize % self.locks.len()].lock().expect(UNPOISONED);
        let new = is_new();
        let unseen = self.filter.insert_unique_hash(hash).unwrap_or_else(|_| {
            if !self.overflowed.swap(true, Ordering::Relaxed) {
                complain(format_args!(
                    "the filter of --withheld is full: it was made for {} distinct lines and there \
                     are more; from here on no line is listed; use a larger --capacity",
                    self.filter.capacity()
                ));
            }
            false
        });
        // A line that the second filter had no room for may be recorded when it comes again, so
        // "unseen" is certain only while it had room for every line. Relaxed: equal lines come here
        // one after the other, under the lock.
        (new, unseen && !new && !self.overflowed.load(Ordering::Relaxed))
    }
}

impl<L: Storage, S: BuildHasher> Dedup<L, S> {
    /// Takes one chunk after the other from the input and prints the new lines in it.
    fn work(&self) {
        let (mut chunk, mut fresh, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            // The lock is released before the chunk is examined.
            let taken = self.input.lock().expect(UNPOISONED).next_chunk(&mut chunk);
            let Some(turn) = taken else { return };
            fresh.clear();
            lost.clear();
            let (mut read, mut printed) = (0, 0);
            for line in Lines(&chunk) {
                read += 1;
                let (new, mistaken) = match &self.audit {
                    Some(audit) => audit.check(line, || self.is_new(line)),
                    None => (self.is_new(line), false),
                };
                if new {
                    printed += 1;
                    fresh.extend_from_slice(line);
                    fresh.push(b'\n');
                }
                if let (true, Some(audit)) = (mistaken, &self.audit) {
                    audit.listed.fetch_add(1, Ordering::Relaxed);
                    lost.extend_from_slice(line);
                    lost.push(b'\n');
                }
            }
            // Relaxed: read when the threads have been joined.
            self.read.fetch_add(read, Ordering::Relaxed);
            self.printed.fetch_add(printed, Ordering::Relaxed);
            self.output.write(turn, &fresh, self.audit.as_ref().map(|audit| (&audit.file, &*lost)));
        }
    }

    /// Records the line. Nothing else needs to be agreed between threads: of several that come with
    /// the same line, exactly one is told that it is new.
    fn is_new(&self, line: &[u8]) -> bool {
        self.filter.insert_unique(line).unwrap_or_else(|_| {
            self.overflow();
            true
        })
    }

    /// Says once, and as soon as it happens, that the filter is too small.
    fn overflow(&self) {
        if !self.overflowed.swap(true, Ordering::Relaxed) {
            let and = if self.output.has_state { " and a new --state" } else { "" };
            complain(format_args!(
                "the filter is full: it was made for {} distinct lines and there are more; those \
                 it cannot record are printed each time they occur; use a larger --capacity{and}",
                self.filter.capacity()
            ));
        }
    }

    fn summarize(&self, has_state: bool) {
        let printed = self.printed.load(Ordering::Relaxed);
        // The rate grew in proportion to the load, from what it was to what it is now: a line that was
        // recorded met the mean of both, and a line that found no room met all of it.
        let recorded = self.filter.len() as f64 - self.before as f64;
        let unrecorded = printed as f64 - recorded;
        let rate = self.filter.false_positive_rate();
        let withheld = recorded * f64::midpoint(self.rate_before, rate) + unrecorded * rate;
        let mut rows = vec![
            ("lines read", self.read.load(Ordering::Relaxed).to_string()),
            ("lines printed", printed.to_string()),
            ("expected new lines withheld", format!("{withheld:.2}")),
        ];
        if has_state {
            rows.push(("lines in the state, loaded", self.before.to_string()));
            rows.push(("lines in the state, saved", self.filter.len().to_string()));
        }
        if let Some(audit) = &self.audit {
            // Both filters must be mistaken: the mean of the square of a rate that grows so is a
            // third of the square of the last.
            let both = (recorded / 3.0 + unrecorded) * rate * audit.filter.false_positive_rate();
            rows.push((
                "new lines withheld, listed",
                audit.listed.load(Ordering::Relaxed).to_string(),
            ));
            rows.push(("expected, not listed", format!("{both:.2}")));
        }
        rows.extend([
            ("layout", self.filter.layout_name().to_owned()),
            ("slots", self.filter.slots().to_string()),
            ("load factor", format!("{:.4}", self.filter.load_factor())),
            ("bytes of the filter", self.filter.memory_bytes().to_string()),
        ]);
        if let Some(audit) = &self.audit {
            rows.push(("bytes of the second filter", audit.filter.memory_bytes().to_string()));
        }
        let mut stderr = io::stderr().lock();
        for (label, value) in rows {
            let _ = writeln!(stderr, "{label:<28} {value:>14}");
        }
    }
}

/// The lines of a chunk, without their newlines.
struct Lines<'a>(&'a [u8]);

impl<'a> Iterator for Lines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let end = memchr(b'\n', self.0).unwrap_or(self.0.len());
        let line = &self.0[..end];
        self.0 = self.0.get(end + 1..).unwrap_or_default();
        Some(line)
    }
}

/// How many bytes one read asks for. A chunk is larger only if a line is.
const CHUNK: usize = 256 << 10;

/// The files, one after the other, cut into chunks of whole lines.
struct Input {
    files: VecDeque<PathBuf>,
    open: Option<(PathBuf, Box<dyn Read + Send>)>,
    /// The beginning of a line whose end has not been read yet.
    begun: Vec<u8>,
    chunks: u64,
    failed: bool,
}

impl Input {
    fn new(files: Vec<PathBuf>) -> Self {
        Self { files: files.into(), open: None, begun: Vec::new(), chunks: 0, failed: false }
    }

    /// Puts the next whole lines into `chunk` and returns the chunk's number, or nothing when all
    /// files have been read.
    ///
    /// It reads no more than it needs for one line, so lines that arrive slowly through a pipe are
    /// passed on as they come.
    fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> Option<u64> {
        chunk.clear();
        chunk.append(&mut self.begun);
        loop {
            let Some((path, file)) = &mut self.open else {
                let path = self.files.pop_front()?;
                match open(&path) {
                    Ok(file) => self.open = Some((path, file)),
                    Err(error) => self.skip(&path, &error),
                }
                continue;
            };
            let before = chunk.len();
            chunk.resize(before + CHUNK, 0);
            let result = file.read(&mut chunk[before..]);
            chunk.truncate(before + *result.as_ref().unwrap_or(&0));
            match result {
                Ok(1..) => {
                    let Some(end) = memrchr(b'\n', &chunk[before..]) else { continue };
                    self.begun.extend_from_slice(&chunk[before + end + 1..]);
                    chunk.truncate(before + end + 1);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // The end of the file ends its last line, too; so does a read that fails.
                Ok(0) => self.open = None,
                Err(error) => {
                    let path = std::mem::take(path);
                    self.open = None;
                    self.skip(&path, &error);
                }
            }
            if !chunk.is_empty() {
                self.chunks += 1;
                return Some(self.chunks - 1);
            }
        }
    }

    fn skip(&mut self, path: &Path, error: &io::Error) {
        self.failed = true;
        if path == Path::new("-") {
            complain(format_args!("standard input: {error}"));
        } else {
            complain(format_args!("{}: {error}", path.display()));
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    if path != Path::new("-") {
        Ok(Box::new(File::open(path)?))
    } else if closed_streams::stdin() {
        Err(io::Error::other("it is closed"))
    } else {
        Ok(Box::new(io::stdin()))
    }
}

/// Standard output, which takes the chunks in the order in which they were read.
#[derive(Default)]
struct Output {
    has_state: bool,
    turn: Mutex<u64>,
    passed: Condvar,
}

impl Output {
    /// Writes the new lines of chunk number `turn`, and the listed ones, once all chunks before it
    /// are written.
    ///
    /// Every thread comes here with its chunk before it takes another. So the thread whose turn it
    /// is always arrives, and there are never more chunks in memory than threads.
    fn write(&self, turn: u64, fresh: &[u8], lost: Option<(&File, &[u8])>) {
        let mut current = self
            .passed
            .wait_while(self.turn.lock().expect(UNPOISONED), |current| *current != turn)
            .expect(UNPOISONED);
        if let Some((mut file, lost)) = lost
            && let Err(error) = file.write_all(lost)
        {
            fail(format_args!("cannot write to the file of --withheld: {error}"));
        }
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(fresh).and_then(|()| stdout.flush()) {
            // Ends the process from here, as another thread may be waiting for input that is no
            // longer needed. A reader that has seen enough (`head`) is no error, but the filter holds
            // lines that it has not seen.
            match (error.kind(), self.has_state) {
                (ErrorKind::BrokenPipe, false) => process::exit(0),
                (_, false) => fail(format_args!("cannot write to standard output: {error}")),
                (_, true) => fail(format_args!(
                    "cannot write to standard output: {error}; the state is left as it was"
                )),
            }
        }
        *current += 1;
        self.passed.notify_all();
    }
}
