//! A command-line tool: prints each line of its input the first time it is seen.
//!
//! It is like `sort -u`, but it neither sorts the lines nor keeps them: a filter, which grows, remembers what was
//! printed. All processors look up lines, a batch at a time. The price: now and then a new line is taken for a repeat,
//! and is not printed. `--rate` sets how often.
//!
//! ```text
//! cargo run --release --example dedup -- --summary access.log > distinct
//! cargo run --release --example dedup -- --state seen.coucal today.log > new-today
//! ```
//!
//! # The state
//!
//! With `--state FILE` the filter is kept from one run to the next. It is saved after all lines are printed: a run that
//! ends earlier leaves the old state, and the next run prints its lines again. The new state is written to
//! `FILE.PID.new`, where `PID` is the number of the process. This file is then renamed to `FILE`. Of two runs at the
//! same time, the state of the one that ends last remains. A run that is killed while it saves leaves `FILE.PID.new`
//! behind.

use std::error::Error;
use std::fs::{self, File};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{self, ExitCode};

use clap::{CommandFactory, Parser, error::ErrorKind::ValueValidation};
use coucal::{AnyLayout, GrowableCuckooFilter, StableHashBuilder};
use rayon::prelude::*;

/// Print each line the first time it is seen.
///
/// Lines are bytes: they need not be UTF-8, and a carriage return is a part of its line. Every printed line ends with a
/// newline, and a last line without one equals the same line with one. Of equal lines less than 65,536 lines apart, any
/// may be the one that is printed.
///
/// Exit status: 0 if all went well, or if the reader of the output went away and there is no state; 1 if a file could
/// not be read or written; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "dedup")]
struct Options {
    /// The highest acceptable probability that a new line is withheld, when the filter has a thousand million lines;
    /// until then it is lower. 0.0025 takes 21 bits for each line, the default 28, and 1e-5 takes 46.
    #[arg(long, default_value_t = 0.000_125)]
    rate: f64,

    /// Keep the filter in FILE: load it, if FILE exists, and save it at the end. Give the same --rate in each run. The
    /// hash is the same in every run, so a sender who knows it can write lines that are taken for others.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,

    /// Say at the end, on standard error, how many lines there were, and what the filter takes.
    #[arg(long)]
    summary: bool,

    /// The files to read; `-` is standard input.
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
}

type Filter = GrowableCuckooFilter<AnyLayout, StableHashBuilder>;
type Result<T, E = Box<dyn Error>> = std::result::Result<T, E>;

/// A state is of use only with the hasher of its filter.
const STATE_HASHER: StableHashBuilder = StableHashBuilder::new(0x6465_6475_7000_0001);

/// The lines that are in memory at a time, and those that a thread takes at a time.
const BATCH: usize = 1 << 16;
const CHUNK: usize = 1 << 10;

fn main() -> ExitCode {
    let options = Options::parse();
    // Without a state, each run may withhold other lines.
    let is_kept = options.state.is_some();
    let hasher =
        if is_kept { STATE_HASHER } else { StableHashBuilder::new(RandomState::new().hash_one(0)) };
    let builder = GrowableCuckooFilter::builder().false_positive_rate(options.rate).any_layout();
    let builder = builder.capacity(1_000_000).max_capacity(1_000_000_000).hasher(hasher);
    let new = builder.build().unwrap_or_else(|error| {
        let message = format!("--rate {}: {error}", options.rate);
        Options::command().error(ValueValidation, message).exit()
    });
    let Err(error) = run(&options, new) else { return ExitCode::SUCCESS };
    // A reader that has seen enough (`head`). With a state it is an error: this one was not saved.
    if !is_kept && error.downcast_ref().map(io::Error::kind) == Some(ErrorKind::BrokenPipe) {
        return ExitCode::SUCCESS;
    }
    eprintln!("dedup: {error}");
    ExitCode::FAILURE
}

fn run(options: &Options, new: Filter) -> Result<()> {
    let filter = match &options.state {
        Some(path) if path.exists() => load(path, &new)
            .map_err(|error| format!("the state {} cannot be used: {error}", path.display()))?,
        _ => new,
    };
    let mut output = BufWriter::new(io::stdout().lock());
    let (mut read, before) = (0, filter.len());
    for path in &options.files {
        let named = |error| format!("{}: {error}", path.display());
        let mut lines = open(path).map_err(named)?.split(b'\n');
        loop {
            let batch: Vec<_> =
                lines.by_ref().take(BATCH).collect::<io::Result<_>>().map_err(named)?;
            if batch.is_empty() {
                break;
            }
            // One thread stores a line, and gets `true`. All others that have the same line get `false`.
            let mut new = vec![false; batch.len()];
            let chunks = batch.par_chunks(CHUNK).zip(new.par_chunks_mut(CHUNK));
            chunks
                .try_for_each(|(lines, new)| filter.insert_if_absent_many(lines, new).map(drop))?;
            for (line, _) in batch.iter().zip(new).filter(|(_, is_new)| *is_new) {
                output.write_all(line)?;
                output.write_all(b"\n")?;
            }
            read += batch.len();
        }
    }
    output.flush()?;
    if let Some(path) = &options.state {
        save(path, &filter)
            .map_err(|error| format!("the state {} cannot be saved: {error}", path.display()))?;
    }
    if options.summary {
        let (printed, rate) = (filter.len() - before, filter.false_positive_rate());
        eprintln!("{read} lines read, {printed} printed, {} bytes", filter.memory_bytes());
        eprintln!("the next new line is withheld with a probability of {rate:.1e}");
    }
    Ok(())
}

fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    if path == Path::new("-") {
        return Ok(Box::new(io::stdin().lock()));
    }
    Ok(Box::new(BufReader::new(File::open(path)?)))
}

fn load(path: &Path, like: &Filter) -> Result<Filter> {
    let filter = Filter::restore(File::open(path)?, STATE_HASHER)?;
    if filter.layout_name() != like.layout_name() {
        return Err("it was made with another --rate: give the same".into());
    }
    Ok(filter)
}

/// Replaces the state. After an error, the old state is there, and nothing else.
fn save(path: &Path, filter: &Filter) -> Result<()> {
    let mut new = path.to_owned().into_os_string();
    new.push(format!(".{}.new", process::id())); // a run at the same time writes another file
    let saved = write(new.as_ref(), filter).and_then(|()| Ok(fs::rename(&new, path)?));
    if saved.is_err() {
        _ = fs::remove_file(new); // it may not be there
    }
    saved
}

fn write(path: &Path, filter: &Filter) -> Result<()> {
    let mut file = File::create(path)?;
    file.write_all(filter.snapshot()?.as_bytes())?;
    Ok(file.sync_all()?) // the bytes before the name
}
