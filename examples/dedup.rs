//! Prints each line of its input the first time it is seen.
//!
//! Like `sort -u`, but without sorting and without keeping the lines in memory: a filter that all
//! threads share remembers what was printed. The price: now and then a new line is mistaken for a
//! repeat and withheld. `--rate` sets how often, `--summary` says how many lines to expect, and
//! `--withheld` lists them.
//!
//! ```text
//! cargo run --release --example dedup -- --summary access.log
//! zcat logs/*.gz | cargo run --release --example dedup -- --capacity 50M --rate 1e-6 > distinct
//! cargo run --release --example dedup -- --state seen.coucal today.log > new-today
//! ```
//!
//! `examples/README.md` compares its speed, memory and lost lines with those of other tools.

use std::error::Error;
use std::fmt::Display;
use std::fs::{self, File, TryLockError};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::ops::Range;
use std::path::{self, Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::{thread, vec};

use bstr::ByteSlice;
use clap::{CommandFactory, Parser};
use coucal::{
    BuildError, CuckooFilter, InsertError, RestoreError, Snapshot, StableHashBuilder, Storage,
};
use parking_lot::{Condvar, Mutex};

/// Print each line the first time it is seen.
///
/// Lines are bytes: they need not be UTF-8. Every printed line ends with a newline, and a last line
/// without a newline equals the same line with one.
///
/// A filter remembers the lines, and grows with them: 28 bits for each distinct line, or 17 with
/// --capacity. It prints no line twice. But it takes some new lines for recorded ones and withholds
/// them: see --rate and --withheld. Use an exact tool when no line may be lost, or when the distinct
/// lines fit in memory anyway.
///
/// The output keeps the order of the input. With more than one thread, any of several equal lines
/// less than a few chunks (of 256 KiB) apart may be the one printed.
///
/// Exit status: 0 if all went well or the reader of the output went away; 1 if a file, the output or
/// the state could not be read or written, or the filter was too small; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "dedup")]
struct Options {
    /// Take a filter of fixed size, with room for this many distinct lines: a number, such as 250000,
    /// 250k, 10M, 2G (decimal) or 1e6 [default: a filter that grows from room for a million lines or
    /// more to room for a thousand million].
    ///
    /// If there are more distinct lines, those that it cannot record are printed each time they occur
    /// (no line is lost), a message says so, and the exit status is 1.
    #[arg(long, value_name = "LINES", value_parser = parse_capacity)]
    capacity: Option<usize>,

    /// The highest acceptable probability that a new line is withheld by mistake, between 0 and 1.
    ///
    /// It applies when the filter is full; until then the probability is lower. In a filter that grows,
    /// 0.0025 takes 21 bits per line, the default 28, and 1e-5 takes 46. With --capacity, 0.1 takes 8 bits
    /// per line of the capacity, 0.001 takes 13, the default 17, 1e-5 takes 23, and 1e-6 takes 37.
    #[arg(long, default_value_t = 0.000_125)]
    rate: f64,

    /// Write to FILE new lines that were withheld by mistake, found by a second filter.
    ///
    /// The second filter is as large as the first, and hashes with a seed of its own. A line that the
    /// first takes for a repeat, and that the second has not seen, is written to FILE, once. A line on
    /// which both are mistaken is not; --summary says how many to expect.
    #[arg(long, value_name = "FILE")]
    withheld: Option<PathBuf>,

    /// Keep the filter in FILE: load it, if FILE exists, print only lines that no earlier run has
    /// recorded, and save it at the end.
    ///
    /// Give the same --capacity and --rate in each run. A FILE that cannot be used is an error, and
    /// stays as it is. The new state is written to FILE.new, which then takes the place of FILE;
    /// FILE.lock keeps two runs from using FILE at the same time. To save takes as much memory again
    /// as the filter. A run that ends before all lines are printed leaves FILE as it was.
    ///
    /// The hash is the same in every run, so whoever knows it can write lines that are taken for
    /// others.
    #[arg(long, value_name = "FILE", conflicts_with = "withheld")]
    state: Option<PathBuf>,

    /// How many threads examine lines [default: one per processor].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Print on standard error, at the end, how many lines were read and printed, how many new
    /// lines were probably withheld by mistake, the probability for the next new line, and how large
    /// and how full the filter is.
    #[arg(long)]
    summary: bool,

    /// The files to read; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
}

/// A whole number with an optional decimal suffix or exponent.
fn parse_capacity(text: &str) -> Result<usize, &'static str> {
    // As an exponent, the suffix is part of the number that is parsed: 1.1M is exactly 1100000.
    let number = text.replace(['k', 'K'], "e3").replace(['m', 'M'], "e6").replace(['g', 'G'], "e9");
    match number.parse::<f64>() {
        Ok(lines) if (0.0..1e18).contains(&lines) && lines.fract() == 0.0 => Ok(lines as usize),
        _ => Err("expected a whole number of lines, such as 250000, 250k, 10M, 2G or 1e6"),
    }
}

/// The seed of a filter with a state. Another one would make every state useless.
const STATE_SEED: u64 = 0x6465_6475_7000_0001;

/// Room at first, and at the most, for a filter that grows.
const FIRST_LINES: usize = 1_000_000;
const MAX_LINES: usize = 1_000_000_000;

fn main() -> ExitCode {
    let options = Options::parse();
    let builder = || CuckooFilter::builder().false_positive_rate(options.rate).any_layout();
    match options.capacity {
        Some(lines) => run(
            &options,
            |hasher| builder().capacity(lines).hasher(hasher).build(),
            // In proportion to the load.
            |filter, lines| {
                filter.false_positive_rate() * lines as f64 / filter.len().max(1) as f64
            },
        ),
        None => run(
            &options,
            |hasher| builder().capacity(FIRST_LINES).max_capacity(MAX_LINES).hasher(hasher).build(),
            CuckooFilter::false_positive_rate_at,
        ),
    }
}

type Filter<L> = CuckooFilter<L, StableHashBuilder>;

/// `build` makes a filter for the options. `rate_at` is the false-positive rate that a filter had, or will
/// have, with this number of lines.
fn run<L: Storage>(
    options: &Options,
    build: impl Fn(StableHashBuilder) -> Result<Filter<L>, BuildError>,
    rate_at: impl Fn(&Filter<L>, usize) -> f64,
) -> ExitCode {
    let seed = || if options.state.is_some() { STATE_SEED } else { RandomState::new().hash_one(0) };
    let new = || build(StableHashBuilder::new(seed())).unwrap_or_else(|error| refuse(&error));
    let state = options.state.as_deref().map(State::open);
    let loaded = state.as_ref().and_then(|state| state.load(options, &build));
    let before = loaded.as_ref().map_or(0, CuckooFilter::len);
    let audit = options.withheld.as_ref().map(|path| {
        let file = File::create(path);
        let file = file.unwrap_or_else(|error| fail(format_args!("{}: {error}", path.display())));
        Audit { filter: new(), file, lock: Mutex::new(()), listed: AtomicUsize::new(0) }
    });
    let threads = options
        .threads
        .map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    let dedup = Dedup {
        filter: loaded.unwrap_or_else(new),
        audit,
        input: Mutex::new(Input {
            files: options.files.clone().into_iter(),
            open: None,
            chunks: 0,
            failed: false,
        }),
        has_state: state.is_some(),
        turn: Mutex::new(0),
        passed: Condvar::new(),
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
        dedup.summarize(before, rate_at);
    }
    let failed = dedup.overflowed.into_inner() || dedup.input.into_inner().failed;
    ExitCode::from(u8::from(failed))
}

/// A table that does not fit in the memory of this machine may fit on another; every other error is
/// a wrong argument.
fn refuse(error: &BuildError) -> ! {
    if let BuildError::OutOfMemory { .. } = error {
        fail(format_args!("{error}; try a smaller --capacity"))
    }
    let message = format!("no filter has this --capacity and --rate: {error}");
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

/// The file that keeps the filter from one run to the next: a snapshot, and nothing else.
struct State {
    path: PathBuf,
    lock: File,
}

impl State {
    /// Keeps other runs away from this file, which need not be there yet.
    fn open(path: &Path) -> Self {
        let try_open = || -> Result<Self, Box<dyn Error>> {
            // A link stays where it is: what it points to is replaced.
            let path = fs::canonicalize(path).or_else(|_| path::absolute(path))?;
            if path.exists() && !path.is_file() {
                return Err("it is no regular file".into());
            }
            let lock = File::options().create(true).append(true).open(beside(&path, ".lock"))?;
            match lock.try_lock() {
                Ok(()) => Ok(Self { path, lock }),
                Err(TryLockError::WouldBlock) => Err("another run uses it".into()),
                Err(TryLockError::Error(error)) => Err(error.into()),
            }
        };
        try_open().unwrap_or_else(|error| {
            fail(format_args!("the state {} cannot be used: {error}", path.display()))
        })
    }

    /// The filter that was saved; `None` if nothing was.
    fn load<L: Storage>(
        &self,
        options: &Options,
        build: impl Fn(StableHashBuilder) -> Result<Filter<L>, BuildError>,
    ) -> Option<Filter<L>> {
        let load = || -> Result<Option<Filter<L>>, Box<dyn Error>> {
            if !self.path.exists() {
                return Ok(None);
            }
            let mut file = File::open(&self.path)?;
            let snapshot = Snapshot::read_from(&mut file)?;
            if file.read(&mut [0])? > 0 {
                return Err("bytes follow the snapshot".into());
            }
            let capacity = snapshot.capacity();
            let hasher = StableHashBuilder::new(STATE_SEED);
            let filter =
                Filter::<L>::from_snapshot(snapshot, hasher).map_err(|error| match error {
                    RestoreError::OtherKind { grows: true } => {
                        "it was made without --capacity: leave it out".into()
                    }
                    RestoreError::OtherKind { grows: false } => {
                        format!("it was made with --capacity {capacity}: give the same")
                    }
                    error => error.to_string(),
                })?;
            if options.capacity.is_some_and(|lines| lines != capacity) {
                return Err(format!("it was made with --capacity {capacity}: give the same").into());
            }
            // What these options make.
            match build(hasher) {
                Ok(like) if filter.layout_name() != like.layout_name() => {
                    Err("it was made with another --rate: give the same".into())
                }
                Ok(_) | Err(BuildError::OutOfMemory { .. }) => Ok(Some(filter)),
                Err(error) => Err(error.into()),
            }
        };
        load().unwrap_or_else(|error| {
            fail(format_args!(
                "the state {} cannot be loaded, and is left as it is: {error}; to begin anew, \
                 remove it or name another file",
                self.path.display()
            ))
        })
    }

    /// Saves the filter, all of whose lines have been printed.
    fn save<L: Storage>(&self, filter: &Filter<L>) {
        if let Err(error) = self.try_save(filter) {
            fail(format_args!("the state {} cannot be saved: {error}", self.path.display()));
        }
    }

    fn try_save<L: Storage>(&self, filter: &Filter<L>) -> Result<(), Box<dyn Error>> {
        sync_stdout()?;
        let snapshot = filter.snapshot()?;
        let new = beside(&self.path, ".new");
        let file = File::create(&new)?;
        if let Ok(old) = fs::metadata(&self.path) {
            file.set_permissions(old.permissions())?;
        }
        snapshot.write_to(&file)?;
        // Before the name: otherwise a crash could leave it with a part of the bytes.
        file.sync_all()?;
        fs::rename(&new, &self.path)?;
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
struct Dedup<L: Storage> {
    filter: Filter<L>,
    audit: Option<Audit<L>>,
    input: Mutex<Input>,
    has_state: bool,
    /// The chunk whose lines are printed next.
    turn: Mutex<u64>,
    passed: Condvar,
    read: AtomicUsize,
    printed: AtomicUsize,
    overflowed: AtomicBool,
}

/// The second filter, which finds lines that the first withheld by mistake.
struct Audit<L: Storage> {
    filter: Filter<L>,
    file: File,
    /// Held while a line passes through both filters. Otherwise, of two threads with the same new
    /// line, one could be first in one filter and the other in the other, and a printed line would be
    /// listed as withheld.
    lock: Mutex<()>,
    listed: AtomicUsize,
}

impl<L: Storage> Dedup<L> {
    /// Takes one chunk after the other from the input and prints the new lines in it.
    fn work(&self) {
        let (mut chunk, mut fresh, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            // The lock is released before the chunk is examined.
            let taken = self.input.lock().next_chunk(&mut chunk);
            let Some(turn) = taken else { return };
            fresh.clear();
            lost.clear();
            let (mut read, mut printed) = (0, 0);
            // The last line of a file may lack its newline.
            let lines = chunk.strip_suffix(b"\n").unwrap_or(&chunk);
            for line in lines.split_str("\n") {
                read += 1;
                // Nothing needs to be agreed between threads: of several that come with the same
                // line, exactly one is told that it is new.
                let (new, mistaken) = match &self.audit {
                    None => (self.is_new(&self.filter, line), false),
                    Some(audit) => {
                        let _lock = audit.lock.lock();
                        let new = self.is_new(&self.filter, line);
                        let unseen = self.is_new(&audit.filter, line);
                        // A line that found no room may be recorded when it comes again, so "unseen"
                        // is certain only while there was room for every line.
                        (new, unseen && !new && !self.overflowed.load(Ordering::Relaxed))
                    }
                };
                printed += usize::from(new);
                for (into, is_in) in [(&mut fresh, new), (&mut lost, mistaken)] {
                    if is_in {
                        into.extend_from_slice(line);
                        into.push(b'\n');
                    }
                }
                if let (true, Some(audit)) = (mistaken, &self.audit) {
                    audit.listed.fetch_add(1, Ordering::Relaxed);
                }
            }
            // Relaxed: read when the threads have been joined.
            self.read.fetch_add(read, Ordering::Relaxed);
            self.printed.fetch_add(printed, Ordering::Relaxed);
            self.write(turn, &fresh, &lost);
        }
    }

    /// Records the line, and says once, and as soon as it happens, that a filter is too small.
    fn is_new(&self, filter: &Filter<L>, line: &[u8]) -> bool {
        filter.insert_unique(line).unwrap_or_else(|error| {
            if !self.overflowed.swap(true, Ordering::Relaxed) {
                let why = match error {
                    InsertError::Full => format!(
                        "the filter is full: it holds {} distinct lines and there are more; \
                         use a larger --capacity{}",
                        filter.len(),
                        if self.has_state { " and a new --state" } else { "" }
                    ),
                    error => error.to_string(),
                };
                complain(format_args!(
                    "{why}; lines that cannot be recorded are printed each time they occur, and \
                     none is listed as withheld any more"
                ));
            }
            true
        })
    }

    /// Writes the new lines of chunk number `turn`, and the listed ones, once all chunks before it
    /// are written.
    ///
    /// Every thread comes here with its chunk before it takes another. So the thread whose turn it
    /// is always arrives, and there are never more chunks in memory than threads.
    fn write(&self, turn: u64, fresh: &[u8], lost: &[u8]) {
        let mut current = self.turn.lock();
        self.passed.wait_while(&mut current, |current| *current != turn);
        if let Some(Err(error)) = self.audit.as_ref().map(|audit| (&audit.file).write_all(lost)) {
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

    fn summarize(&self, before: usize, rate_at: impl Fn(&Filter<L>, usize) -> f64) {
        let printed = self.printed.load(Ordering::Relaxed);
        // A line that was recorded met the rate of that moment, and a line that found no room met the
        // rate of now.
        let recorded = before..self.filter.len();
        let unrecorded = printed as f64 - recorded.len() as f64;
        let rate = self.filter.false_positive_rate();
        let withheld =
            sum(recorded.clone(), |lines| rate_at(&self.filter, lines)) + unrecorded * rate;
        let mut rows = vec![
            ("lines read", self.read.load(Ordering::Relaxed).to_string()),
            ("lines printed", printed.to_string()),
            ("expected new lines withheld", format!("{withheld:.2}")),
        ];
        if self.has_state {
            rows.push(("lines in the state, loaded", before.to_string()));
            rows.push(("lines in the state, saved", self.filter.len().to_string()));
        }
        if let Some(Audit { filter, listed, .. }) = &self.audit {
            // Both filters must be mistaken.
            let both_at = |lines| rate_at(&self.filter, lines) * rate_at(filter, lines);
            let both = sum(recorded, both_at) + unrecorded * rate * filter.false_positive_rate();
            let listed = listed.load(Ordering::Relaxed).to_string();
            rows.push(("new lines withheld, listed", listed));
            rows.push(("expected, not listed", format!("{both:.2}")));
        }
        rows.extend([
            ("false-positive rate", format!("{rate:.2e}")),
            ("slots", self.filter.slots().to_string()),
            ("load factor", format!("{:.4}", self.filter.load_factor())),
            ("bytes of the filter", self.filter.memory_bytes().to_string()),
        ]);
        for (label, value) in rows {
            let _ = writeln!(io::stderr(), "{label:<28} {value:>14}");
        }
    }
}

/// The sum over a range, from a sample of it.
fn sum(range: Range<usize>, of: impl Fn(usize) -> f64) -> f64 {
    const SAMPLE: usize = 1000;
    let middle = |step| range.start + range.len() * (2 * step + 1) / (2 * SAMPLE);
    (0..SAMPLE).map(|step| of(middle(step))).sum::<f64>() * range.len() as f64 / SAMPLE as f64
}

/// The most bytes of a chunk, but for the rest of its last line.
const CHUNK: usize = 256 << 10;

/// The files, one after the other, cut into chunks of whole lines.
struct Input {
    files: vec::IntoIter<PathBuf>,
    open: Option<(PathBuf, BufReader<Box<dyn Read + Send>>)>,
    chunks: u64,
    failed: bool,
}

impl Input {
    /// Puts the next whole lines into `chunk` and returns the chunk's number, or nothing when all
    /// files have been read. Lines that arrive slowly through a pipe are passed on as they come.
    fn next_chunk(&mut self, chunk: &mut Vec<u8>) -> Option<u64> {
        chunk.clear();
        while chunk.is_empty() {
            if self.open.is_none() {
                let path = self.files.next()?;
                let file: io::Result<Box<dyn Read + Send>> = if path == Path::new("-") {
                    Ok(Box::new(io::stdin()))
                } else {
                    File::open(&path).map(|file| Box::new(file) as _)
                };
                match file {
                    Ok(file) => self.open = Some((path, BufReader::with_capacity(CHUNK, file))),
                    Err(error) => self.skip(&path, &error),
                }
            }
            let Some((path, file)) = &mut self.open else { continue };
            match read_lines(file, chunk) {
                Ok(()) if !chunk.is_empty() => {}
                Ok(()) => self.open = None,
                // What was read before is a part of the file all the same.
                Err(error) => {
                    let path = path.clone();
                    self.open = None;
                    self.skip(&path, &error);
                }
            }
        }
        self.chunks += 1;
        Some(self.chunks - 1)
    }

    fn skip(&mut self, path: &Path, error: &io::Error) {
        self.failed = true;
        complain(format_args!("{}: {error}", path.display()));
    }
}

/// Reads what is there, and the rest of the last line.
fn read_lines(file: &mut impl BufRead, chunk: &mut Vec<u8>) -> io::Result<()> {
    chunk.extend_from_slice(file.fill_buf()?);
    file.consume(chunk.len());
    if chunk.last().is_some_and(|&byte| byte != b'\n') {
        file.read_until(b'\n', chunk)?;
    }
    Ok(())
}
