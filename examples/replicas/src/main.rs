//! A set of keys on many machines. Writers append inserts and removals to a log in Redis. Each replica holds the whole
//! set, or some shards of it, in a filter in its own memory. `README.md` of this folder shows how to use it.

mod log;
mod replica;

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Stdin, Write};
use std::process::ExitCode;
use std::sync::Arc;
use std::{process, thread};

use clap::{Parser, Subcommand, value_parser};

use crate::log::{Change, Result, Set};
use crate::replica::Follower;

/// A set of keys on many machines, which follow one log in Redis.
#[derive(Parser)]
struct Arguments {
    /// The server, as redis://NAME:PASSWORD@HOST:PORT
    #[arg(long, global = true, default_value = "redis://127.0.0.1:6379")]
    server: String,
    /// The server is a node of a Redis Cluster
    #[arg(long, global = true)]
    cluster: bool,
    /// The name of the set
    #[arg(long, global = true, default_value = "replicas")]
    set: String,
    /// The number of shards, from 1 to 65536; all writers and replicas say the same
    #[arg(long, global = true, default_value_t = 1, value_parser = value_parser!(u64).range(1..=65536))]
    shards: u64,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Appends changes to the log: lines `+ KEY` or `- KEY` of standard input
    ///
    /// Prints the number of lines that are stored, again and again. A writer that was killed is started again with the
    /// same name and the same lines, and goes on behind those that are stored. A last line without a line feed is an
    /// error: it may be cut.
    Write {
        /// The name of this writer: no other one has it
        name: String,
        /// The largest number of lines that are stored at a time
        #[arg(long, default_value_t = 1000, value_parser = value_parser!(u16).range(1..=3000))]
        batch: u16,
    },
    /// Follows the log, and looks up each line of standard input
    ///
    /// Prints `yes` or `no` for it, and the entry of the log up to which this answer has all changes.
    Follow {
        /// Only these shards, as in 0,2
        #[arg(long, value_delimiter = ',')]
        only: Vec<usize>,
        /// Stores a snapshot after this number of changes of a shard, up to twice that
        #[arg(long, default_value_t = 1_000_000, value_parser = value_parser!(u32).range(1..))]
        every: u32,
    },
}

fn main() -> ExitCode {
    let Arguments { server, cluster, set, shards, command } = Arguments::parse();
    let result = Set::open(&server, cluster, &set, shards).and_then(|set| match command {
        Command::Write { name, batch } => write(&set, &name, batch.into()),
        Command::Follow { only, every } => follow(&set, &only, every as usize),
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Waits for a line, and returns it with the lines that are there already, up to `max` lines. Returns none at the end
/// of the input. Each line keeps its line feed. A line without one is returned alone: it is the last.
fn next_lines(input: &mut BufReader<Stdin>, max: usize) -> io::Result<Vec<String>> {
    let mut lines = Vec::new();
    while lines.len() < max && (lines.is_empty() || input.buffer().contains(&b'\n')) {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            break;
        }
        lines.push(line);
    }
    Ok(lines)
}

fn parse(line: &str) -> Result<Change> {
    // If the process that sends the lines was killed, this may be a part of a key.
    let line = line.strip_suffix('\n').ok_or_else(|| {
        format!("{line:?} does not end with a line feed, so it is not stored: start again with whole lines")
    })?;
    let line = line.trim_end();
    let (sign, key) =
        line.split_once(' ').ok_or_else(|| format!("{line:?} is neither `+ KEY` nor `- KEY`"))?;
    Ok((sign.parse()?, key.to_owned()))
}

fn write(set: &Set, name: &str, batch: usize) -> Result<()> {
    let mut shards = set.shards();
    let mut stored =
        shards.iter_mut().map(|shard| shard.last_of(name)).collect::<Result<Vec<_>>>()?;
    let (mut input, mut number) = (BufReader::with_capacity(1 << 20, io::stdin()), 0);
    loop {
        let lines = next_lines(&mut input, batch)?;
        if lines.is_empty() {
            return Ok(());
        }
        let mut entries = vec![(0, Vec::new()); shards.len()];
        for line in lines {
            number += 1;
            let change = parse(&line).map_err(|error| format!("line {number}: {error}"))?;
            let shard = set.shard_of(&change.1);
            if number > stored[shard] {
                entries[shard].0 = number;
                entries[shard].1.push(change);
            }
        }
        for ((shard, stored), (last, changes)) in shards.iter_mut().zip(&mut stored).zip(entries) {
            if !changes.is_empty() {
                shard.append(name, *stored, last, &changes)?;
                *stored = last;
            }
        }
        writeln!(io::stdout(), "{number}")?;
    }
}

fn follow(set: &Set, only: &[usize], every: usize) -> Result<()> {
    let (mut followers, mut ends) = (BTreeMap::new(), Vec::new());
    let shards = set.shards();
    if let Some(missing) = only.iter().find(|&&number| number >= shards.len()) {
        return Err(format!("there is no shard {missing}: the set has {}", shards.len()).into());
    }
    for (number, mut shard) in shards.into_iter().enumerate() {
        if !only.is_empty() && !only.contains(&number) {
            continue;
        }
        let (end, follower) = (shard.end()?, Arc::new(Follower::load(&mut shard)?));
        followers.insert(number, Arc::clone(&follower));
        ends.push((Arc::clone(&follower), end));
        thread::spawn(move || {
            if let Err(error) = follower.follow(&mut shard, every) {
                eprintln!("{shard}: {error}");
                process::exit(1);
            }
        });
    }
    // The first answer includes all entries that were in the log at the start.
    for (follower, end) in ends {
        follower.wait_for(end);
    }
    let mut input = BufReader::with_capacity(1 << 20, io::stdin());
    loop {
        let keys = next_lines(&mut input, 1000)?;
        if keys.is_empty() {
            return Ok(());
        }
        let mut answers = Vec::new();
        for key in keys {
            let key = key.trim_end();
            let number = set.shard_of(key);
            match followers.get(&number).map(|follower| follower.look_up(key)) {
                Some((id, true)) => writeln!(answers, "yes\t{id}\t{key}")?,
                Some((id, false)) => writeln!(answers, "no\t{id}\t{key}")?,
                None => writeln!(answers, "shard {number}\t-\t{key}")?,
            }
        }
        io::stdout().write_all(&answers)?;
    }
}
