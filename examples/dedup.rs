//! Prints each line of its input the first time it is seen.
//!
//! Like `sort -u` without the sorting and without memory for the lines: a filter of about two bytes
//! a distinct line, shared by all threads, remembers what was printed. The price is a distinct line
//! withheld by mistake now and then; `--summary` says how many to expect.
//!
//! ```text
//! cargo run --release --example dedup -- --summary access.log
//! zcat logs/*.gz | cargo run --release --example dedup -- --capacity 50000000 > distinct
//! ```

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;

use clap::{CommandFactory, Parser};
use coucal::{BuildError, CuckooFilter};
use memchr::{memchr, memrchr};

/// Print each line the first time it is seen.
///
/// Lines are bytes: they need not be UTF-8. Every line printed ends with a newline, and a last line
/// that has none is the same as one that has.
///
/// A filter remembers the lines in some two bytes each. It never prints a recorded line twice, but
/// about one new line in 8,000 (when it is full; fewer before) is taken for an old one and withheld.
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
    /// How many distinct lines the filter has room for. If there are more, those it cannot record
    /// are printed each time they occur (no line is lost), a message says so, and the exit status
    /// is 1.
    #[arg(long, value_name = "LINES", default_value_t = 10_000_000)]
    capacity: usize,

    /// How many threads examine lines [default: one for each processor].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Say on standard error, at the end, how many lines were read and printed, how many were
    /// probably withheld by mistake, and how large and how full the filter is.
    #[arg(long)]
    summary: bool,

    /// The files to read; `-` is standard input, and so is none at all.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
}

fn main() -> ExitCode {
    let mut options = Options::parse();
    let filter = match CuckooFilter::try_with_capacity(options.capacity) {
        Ok(filter) => filter,
        Err(error) => refuse_capacity(error),
    };
    let threads = options
        .threads
        .map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from);
    if options.files.is_empty() {
        options.files.push(PathBuf::from("-"));
    }

    let dedup = Dedup {
        filter,
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
    let failed =
        dedup.overflowed.into_inner() || dedup.input.into_inner().expect(UNPOISONED).failed;
    ExitCode::from(u8::from(failed))
}

/// A table that cannot be addressed is a wrong argument; one that does not fit into the memory of
/// this machine may be right on another.
fn refuse_capacity(error: BuildError) -> ! {
    if let BuildError::CapacityOverflow { .. } = error {
        let message = format!("--capacity: {error}");
        Options::command().error(clap::error::ErrorKind::ValueValidation, message).exit()
    }
    complain(format_args!("{error}; try a smaller --capacity"));
    process::exit(1)
}

fn complain(message: impl std::fmt::Display) {
    // Where standard error is closed, too, there is nobody left to tell.
    let _ = writeln!(io::stderr(), "dedup: {message}");
}

const UNPOISONED: &str = "no thread panics while it holds a lock";

/// What the threads share.
struct Dedup {
    filter: CuckooFilter,
    input: Mutex<Input>,
    output: Output,
    read: AtomicUsize,
    printed: AtomicUsize,
    overflowed: AtomicBool,
}

impl Dedup {
    /// Takes chunk after chunk from the input and prints what is new in it.
    fn work(&self) {
        let mut chunk = Vec::new();
        let mut fresh = Vec::new();
        loop {
            // The lock is released before the chunk is examined.
            let taken = self.input.lock().expect(UNPOISONED).next_chunk(&mut chunk);
            let Some(turn) = taken else { return };
            fresh.clear();
            let (mut read, mut printed) = (0, 0);
            for line in Lines(&chunk) {
                read += 1;
                // This is all the threads have to agree on: of several that come with the same
                // line, exactly one is told that it was new.
                let new = self.filter.insert_unique(line).unwrap_or_else(|_| {
                    self.overflow();
                    true
                });
                if new {
                    printed += 1;
                    fresh.extend_from_slice(line);
                    fresh.push(b'\n');
                }
            }
            // Relaxed: read when the threads have been joined.
            self.read.fetch_add(read, Ordering::Relaxed);
            self.printed.fetch_add(printed, Ordering::Relaxed);
            self.output.write(turn, &fresh);
        }
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
        // The rate grew in step with the load, from nothing to what it is now: a line that was
        // recorded met half of it on average, and one for which there was no room met all of it.
        let recorded = self.filter.len();
        let met = recorded as f64 / 2.0 + (printed - recorded) as f64;
        let withheld = met * self.filter.false_positive_rate();
        let rows = [
            ("lines read", self.read.load(Ordering::Relaxed).to_string()),
            ("lines printed", printed.to_string()),
            ("expected false positives", format!("{withheld:.2}")),
            ("load factor", format!("{:.4}", self.filter.load_factor())),
            ("bytes of the filter", self.filter.memory_bytes().to_string()),
        ];
        let mut stderr = io::stderr().lock();
        for (label, value) in rows {
            let _ = writeln!(stderr, "{label:<24} {value:>14}");
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

/// How much is asked of a file at a time. A chunk is never larger, unless a line is.
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
    Ok(if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) })
}

/// Standard output, which takes the chunks in the order in which they were read.
#[derive(Default)]
struct Output {
    turn: Mutex<u64>,
    passed: Condvar,
}

impl Output {
    /// Writes the lines of chunk number `turn` once all chunks before it are written.
    ///
    /// Every thread comes here with the chunk it took before it takes another, so the one whose
    /// turn it is always arrives; and so no more chunks are in memory than there are threads.
    fn write(&self, turn: u64, lines: &[u8]) {
        let mut current = self
            .passed
            .wait_while(self.turn.lock().expect(UNPOISONED), |current| *current != turn)
            .expect(UNPOISONED);
        let mut stdout = io::stdout().lock();
        if let Err(error) = stdout.write_all(lines).and_then(|()| stdout.flush()) {
            // Ends the process from here: another thread may be waiting for input that nobody
            // needs any more. A reader that has seen enough (`head`) is no error.
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
