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
//! ```
//!
//! `examples/README.md` compares its speed, memory and lost lines with those of other tools.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use clap::{CommandFactory, Parser};
use coucal::{AnyLayout, BuildError, CuckooFilter, Growable, Storage};
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
/// read, the output could not be written, or the filter was too small; 2 for wrong arguments.
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
    let rate = options.rate;
    match options.capacity {
        Some(lines) => run(options, || CuckooFilter::with_capacity_and_rate(lines, rate)),
        None => run(options, || growable(rate)),
    }
}

/// Room for so many lines at first, and for so many at the most.
const LINES: (usize, usize) = (1_000_000, 1_000_000_000);

/// A filter that grows as far as memory can be reserved for it.
fn growable(rate: f64) -> Result<CuckooFilter<Growable<AnyLayout>>, BuildError> {
    let (first, mut most) = LINES;
    loop {
        let builder = CuckooFilter::builder().capacity(first).max_capacity(most);
        match builder.false_positive_rate(rate).any_layout().build() {
            Err(BuildError::OutOfMemory { .. }) if most / 2 >= first => most /= 2,
            result => return result,
        }
    }
}

fn run<L: Storage>(
    mut options: Options,
    build: impl Fn() -> Result<CuckooFilter<L>, BuildError>,
) -> ExitCode {
    let filter = build().unwrap_or_else(|error| refuse(error));
    let audit = options.withheld.as_ref().map(|path| {
        let filter = build().unwrap_or_else(|error| refuse(error));
        match File::create(path) {
            Ok(file) => Audit::new(filter, file),
            Err(error) => {
                complain(format_args!("{}: {error}", path.display()));
                process::exit(1)
            }
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
        audit,
        input: Mutex::new(Input::new(options.files)),
        output: Output::default(),
        read: AtomicUsize::new(0),
        printed: AtomicUsize::new(0),
        overflowed: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| dedup.work());
        }
    });
    if options.summary {
        dedup.summarize();
    }
    let failed = dedup.overflowed.into_inner()
        || dedup.audit.is_some_and(|audit| audit.overflowed.into_inner())
        || dedup.input.into_inner().expect(UNPOISONED).failed;
    ExitCode::from(u8::from(failed))
}

/// A table that does not fit in the memory of this machine may fit on another; every other error is
/// a wrong argument.
fn refuse(error: BuildError) -> ! {
    let option = match error {
        BuildError::OutOfMemory { .. } => {
            complain(format_args!("{error}; try a smaller --capacity"));
            process::exit(1)
        }
        BuildError::CapacityOverflow { .. } => "--capacity",
        BuildError::GrowthOutOfReach { .. } => {
            let message =
                format!("--rate: {error}; or say how many lines there are, by --capacity");
            Options::command().error(clap::error::ErrorKind::ValueValidation, message).exit()
        }
        _ => "--rate",
    };
    let message = format!("{option}: {error}");
    Options::command().error(clap::error::ErrorKind::ValueValidation, message).exit()
}

fn complain(message: impl std::fmt::Display) {
    // If standard error is closed as well, nobody can be told.
    let _ = writeln!(io::stderr(), "dedup: {message}");
}

const UNPOISONED: &str = "no thread panics while it holds a lock";

/// What the threads share.
struct Dedup<L: Storage> {
    filter: CuckooFilter<L>,
    audit: Option<Audit<L>>,
    input: Mutex<Input>,
    output: Output,
    read: AtomicUsize,
    printed: AtomicUsize,
    overflowed: AtomicBool,
}

/// The second filter, which finds lines that the first withheld by mistake.
struct Audit<L: Storage> {
    filter: CuckooFilter<L>,
    file: File,
    /// The lock of a line is held while it passes through both filters. Otherwise, of two threads
    /// with the same new line, one could be first in one filter and the other in the other, and a
    /// printed line would be listed as withheld.
    locks: [Mutex<()>; 64],
    listed: AtomicUsize,
    overflowed: AtomicBool,
}

impl<L: Storage> Audit<L> {
    fn new(filter: CuckooFilter<L>, file: File) -> Self {
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

impl<L: Storage> Dedup<L> {
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
            complain(format_args!(
                "the filter is full: it was made for {} distinct lines and there are more; those \
                 it cannot record are printed each time they occur; use a larger --capacity",
                self.filter.capacity()
            ));
        }
    }

    fn summarize(&self) {
        let printed = self.printed.load(Ordering::Relaxed);
        // The rate grew in proportion to the load, from zero to what it is now: a line that was
        // recorded met half of it on average, and a line that found no room met all of it.
        let recorded = self.filter.len() as f64;
        let unrecorded = printed as f64 - recorded;
        let rate = self.filter.false_positive_rate();
        let withheld = (recorded / 2.0 + unrecorded) * rate;
        let mut rows = vec![
            ("lines read", self.read.load(Ordering::Relaxed).to_string()),
            ("lines printed", printed.to_string()),
            ("expected new lines withheld", format!("{withheld:.2}")),
        ];
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
            complain(format_args!("cannot write to the file of --withheld: {error}"));
            process::exit(1);
        }
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(fresh).and_then(|()| stdout.flush()) {
            // Ends the process from here, as another thread may be waiting for input that is no
            // longer needed. A reader that has seen enough (`head`) is no error.
            if error.kind() == ErrorKind::BrokenPipe {
                process::exit(0);
            }
            complain(format_args!("cannot write to standard output: {error}"));
            process::exit(1);
        }
        *current += 1;
        self.passed.notify_all();
    }
}
