//! Instructions of each operation, counted under callgrind: a guard against slipping back that
//! needs no quiet machine.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin instructions              # compare with the record
//! cargo run --release -p coucal-benches --bin instructions -- --record  # renew the record
//! ```
//!
//! The work is fixed: fixed hashes, no seed, one thread. The program runs itself under valgrind
//! with so much work and with twice as much; the difference is free of start-up and preparation.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use clap::{Parser, ValueEnum};
use coucal::CuckooFilter;
use coucal_benches::keys::mix;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions/record.csv");
/// The table of all work, in items that it is made for.
const CAPACITY: u64 = 60_000;
/// Operations of one unit of work, but for the fills.
const OPERATIONS: u64 = 20_000;
/// What may be lost before the guard cries, and gained before the record is to be renewed.
const TOLERANCE: f64 = 0.05;

/// Counts instructions under callgrind and compares them with the record.
#[derive(Parser)]
struct Arguments {
    /// Writes the record instead.
    #[arg(long)]
    record: bool,
    /// Only the work, so many units of it; what runs under valgrind.
    #[arg(long, num_args = 2, value_names = ["WORK", "UNITS"], hide = true)]
    work: Option<Vec<String>>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Work {
    Miss,
    Hit,
    ContainsMany,
    FillToHalf,
    FillTo95,
    InsertMany,
    UniquePresent,
    Remove,
}

impl Work {
    fn name(self) -> String {
        self.to_possible_value().expect("none is hidden").get_name().to_owned()
    }

    /// Does so many units. How many operations one is.
    fn run(self, units: u64) -> u64 {
        match self {
            Self::Miss => each(units, |filter, index| filter.contains_hash(mix(!index))),
            Self::Hit => each(units, |filter, index| filter.contains_hash(mix(index))),
            Self::Remove => each(units, |filter, index| filter.remove_hash(mix(index))),
            Self::UniquePresent => {
                each(units, |filter, index| filter.insert_unique_hash(mix(index)) == Ok(true))
            }
            Self::ContainsMany => {
                let filter = filled(0.95);
                let hashes = hashes(units * OPERATIONS);
                let mut found = vec![false; hashes.len()];
                filter.contains_many_hashes(&hashes, &mut found).expect("as many answers");
                black_box(found);
                OPERATIONS
            }
            Self::FillToHalf => fills(units, 0.5),
            Self::FillTo95 => fills(units, 0.95),
            Self::InsertMany => {
                let filters: Vec<_> = (0..units).map(|_| filled(0.0)).collect();
                // The same list for one unit and for two.
                let hashes = hashes(OPERATIONS);
                for filter in &filters {
                    filter.insert_many_hashes(&hashes).expect("it is made for more");
                }
                OPERATIONS
            }
        }
    }
}

type Filter = CuckooFilter<coucal::Fp16x4, ()>;

fn hashes(count: u64) -> Vec<u64> {
    (0..count).map(mix).collect()
}

/// At this load. It needs no hasher: the work is given by hashes.
fn filled(load: f64) -> Filter {
    let filter = CuckooFilter::with_capacity_and_hasher(CAPACITY as usize, ());
    for index in 0..(filter.slots() as f64 * load) as u64 {
        filter.insert_hash(mix(index)).expect("the load is below what fits");
    }
    filter
}

fn fills(units: u64, load: f64) -> u64 {
    let filters = (0..units).map(|_| black_box(filled(load)));
    filters.fold(0, |_, filter| filter.len() as u64)
}

fn each(units: u64, operation: impl Fn(&Filter, u64) -> bool) -> u64 {
    let filter = filled(0.95);
    let yes = (0..units * OPERATIONS).filter(|index| operation(&filter, *index)).count();
    black_box(yes);
    OPERATIONS
}

/// Instructions of the program with so many units of work.
fn count(work: Work, units: u64) -> Result<u64, Box<dyn Error>> {
    let out = env::temp_dir().join(format!("coucal-callgrind-{}", std::process::id()));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe()?)
        .args(["--work", &work.name(), &units.to_string()])
        .stdout(Stdio::null())
        .status()?;
    let counts = fs::read_to_string(&out)?;
    fs::remove_file(&out)?;
    if !status.success() {
        return Err(format!("{} failed under valgrind", work.name()).into());
    }
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.ok_or("callgrind wrote no total")?.trim().parse()?)
}

/// Instructions an operation.
fn measure(work: Work) -> Result<f64, Box<dyn Error>> {
    let operations = work.run(1);
    let (one, two) = (count(work, 1)?, count(work, 2)?);
    Ok((two.saturating_sub(one)) as f64 / operations as f64)
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let version = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    version.unwrap_or_default()
}

fn recorded(record: &str, work: Work) -> Option<f64> {
    let lines = record.lines().filter_map(|line| line.split_once(','));
    lines.filter(|line| line.0 == work.name()).find_map(|line| line.1.parse().ok())
}

/// Whether nothing has become slower than the tolerance allows.
fn check(record: &str) -> Result<bool, Box<dyn Error>> {
    let (mut slower, mut faster) = (false, false);
    println!("{:<16} {:>8} {:>8} {:>8}", "instructions", "recorded", "now", "change");
    for work in Work::value_variants() {
        let now = measure(*work)?;
        let Some(then) = recorded(record, *work) else {
            println!("{:<16} {:>8} {now:>8.1}", work.name(), "none");
            faster = true;
            continue;
        };
        let change = now / then - 1.0;
        slower |= change > TOLERANCE;
        faster |= change < -TOLERANCE;
        let note = if change > TOLERANCE { "  too many" } else { "" };
        println!("{:<16} {then:>8.1} {now:>8.1} {:>+7.1} %{note}", work.name(), change * 100.0);
    }
    let compiler = compiler();
    if (slower || faster) && !record.contains(&compiler) {
        println!("The record was made by another compiler; this is {compiler}.");
    }
    if slower {
        println!("An operation takes over 5 % more instructions than recorded.");
    } else if faster {
        println!("Fewer instructions than recorded: renew the record with --record.");
    }
    Ok(!slower)
}

fn record() -> Result<(), Box<dyn Error>> {
    let mut text = format!("# instructions an operation, as callgrind counts; {}\n", compiler());
    for work in Work::value_variants() {
        let _ = writeln!(text, "{},{:.1}", work.name(), measure(*work)?);
    }
    print!("{text}");
    Ok(fs::write(RECORD, text)?)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some([work, units]) = arguments.work.as_deref() {
        Work::from_str(work, false)?.run(units.parse()?);
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        println!("Skipped: valgrind is not installed, so no instructions can be counted.");
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.record {
        record()?;
        return Ok(ExitCode::SUCCESS);
    }
    let kept = fs::read_to_string(RECORD).unwrap_or_default();
    Ok(if check(&kept)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
