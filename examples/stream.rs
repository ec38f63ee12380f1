//! Prints each line of standard input the first time it is seen: all processors look, and the memory stays small.
//!
//! ```text
//! cargo run --release --example stream < access.log > distinct
//! ```
//!
//! Lines are bytes, which end with a newline: they need not be UTF-8, and a carriage return is part of its line. The
//! lines of a batch are looked up side by side. Of equal lines in one batch any may be the one that is printed. A
//! line that was printed is never printed again; of a thousand million new lines, a few dozen are taken for old ones.
//! If the reader of the output goes away, the program ends.
//! `dedup` is a tool for the same purpose, with options and without rayon.

use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};

use coucal::{CuckooFilter, StableHashBuilder};
use indicatif::{HumanBytes, HumanCount, ProgressBar, ProgressStyle};
use rayon::prelude::*;

/// What is in memory at a time, besides the filter.
const BATCH: usize = 1 << 16;
/// What a thread takes at a time.
const CHUNK: usize = 1 << 10;

fn main() -> Result<(), Box<dyn Error>> {
    let hasher = StableHashBuilder::new(7); // or the default one, if each run may lose other lines
    let filter =
        CuckooFilter::builder().growable().layout::<coucal::Fp32x2>().hasher(hasher).build()?;
    let bar = ProgressBar::new_spinner();
    bar.set_style(ProgressStyle::with_template("{human_pos} lines, {per_sec}, {msg}")?);

    let (mut input, mut output) = (io::stdin().lock().split(b'\n'), io::stdout().lock());
    loop {
        let lines = input.by_ref().take(BATCH).collect::<Result<Vec<_>, _>>()?;
        if lines.is_empty() {
            break;
        }
        // One thread stores a line, and gets `true`. All others that have the same line get `false`.
        let mut new = vec![false; lines.len()];
        let chunks = lines.par_chunks(CHUNK).zip(new.par_chunks_mut(CHUNK));
        chunks.try_for_each(|(lines, new)| filter.insert_unique_many(lines, new).map(drop))?;
        let mut printed = Vec::new();
        for (line, _) in lines.iter().zip(new).filter(|(_, is_new)| *is_new) {
            printed.extend_from_slice(line);
            printed.push(b'\n');
        }
        match output.write_all(&printed) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()), // nobody reads on
            written => written?,
        }
        bar.inc(lines.len() as u64);
        let (distinct, bytes) = (filter.len() as u64, filter.memory_bytes() as u64);
        bar.set_message(format!("{} distinct in {}", HumanCount(distinct), HumanBytes(bytes)));
    }
    bar.finish();
    let rate = filter.false_positive_rate();
    eprintln!(
        "{} distinct lines in {} bytes; the next new line is lost with a probability of {rate:.0e}",
        filter.len(),
        filter.memory_bytes()
    );
    Ok(())
}
