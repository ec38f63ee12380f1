//! Instructions of each operation, counted under callgrind: a guard against regressions that needs no
//! quiet machine. Each operation is counted twice: with the layout in the type of the filter, and (names
//! that begin with `any-`) with the layout chosen at run time. Some are counted a third time (`grow-`):
//! in a filter that grows, after some doublings, and inserts while it does. Those of a maplet begin with
//! `maplet-`: lookups there are `get`.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin instructions              # compare with the record
//! cargo run --release -p coucal-benches --bin instructions -- --record  # renew the record
//! ```
//!
//! The work is fixed: fixed hashes, no seed, one thread. The program runs itself under valgrind with
//! one unit of work and with two; the difference leaves out start-up and preparation.

use std::error::Error;
use std::fmt::Write as _;
use std::hint::black_box;
use std::process::{Command, ExitCode, Stdio};
use std::{env, fs};

use clap::{Parser, ValueEnum};
use coucal::{
    AnyCuckooFilter, CuckooFilter, CuckooMaplet, Fp16x4, GrowableCuckooFilter, Layout, Prehashed,
};
use coucal_measure::keys::mix;
use coucal_measure::machine::compiler;

const RECORD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/instructions/record.csv");
/// The capacity of every table, in items.
const CAPACITY: u64 = 60_000;
/// Operations of one unit of work, except for the fills.
const OPERATIONS: u64 = 20_000;
/// The relative change that the guard accepts: more fails, less asks for a new record.
const TOLERANCE: f64 = 0.05;

/// Of the values of a maplet.
const VALUE_BITS: u32 = 6;

/// A rate for which the layout chosen at run time is the default one.
const RATE: f64 = 0.0005;

/// Counts instructions under callgrind and compares them with the record.
#[derive(Parser)]
struct Arguments {
    /// Writes the record instead.
    #[arg(long)]
    record: bool,
    /// Succeeds without counting anything where valgrind is not installed.
    #[arg(long)]
    skip_without_valgrind: bool,
    /// Only the work, this many units of it: what runs under valgrind.
    #[arg(long, num_args = 2, value_names = ["NAME", "UNITS"], hide = true)]
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
    RemoveMany,
    /// Inserts with which the filter grows.
    Insert,
}

/// What filter does the work.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Fixed,
    AtRunTime,
    Growing,
    Maplet,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Fixed, Self::AtRunTime, Self::Growing, Self::Maplet];

    /// What the names of its tasks begin with.
    fn prefix(self) -> &'static str {
        match self {
            Self::Fixed => "",
            Self::AtRunTime => "any-",
            Self::Growing => "grow-",
            Self::Maplet => "maplet-",
        }
    }

    fn does(self, work: Work) -> bool {
        match work {
            Work::Miss | Work::Hit | Work::Remove => true,
            Work::Insert => self == Self::Growing,
            _ => matches!(self, Self::Fixed | Self::AtRunTime),
        }
    }
}

/// A filter whose work is counted.
trait Guarded: Sized {
    /// Empty, without a hasher: the work is given by hashes.
    fn empty() -> Self;
    fn slots(&self) -> usize;
    fn len(&self) -> usize;
    fn contains(&self, hash: u64) -> bool;
    fn contains_many(&self, hashes: &[u64], found: &mut [bool]);
    fn insert(&self, hash: u64);
    fn insert_many(&self, hashes: &[u64]);
    fn insert_unique(&self, hash: u64) -> bool;
    fn remove(&self, hash: u64) -> bool;
    fn remove_many(&self, hashes: &[u64], removed: &mut [bool]);
}

/// Both types have the same methods.
macro_rules! guarded {
    ($type:ty, $empty:expr) => {
        impl Guarded for $type {
            fn empty() -> Self {
                $empty
            }

            fn slots(&self) -> usize {
                self.slots()
            }

            fn len(&self) -> usize {
                self.len()
            }

            #[inline]
            fn contains(&self, hash: u64) -> bool {
                self.contains(&Prehashed(hash))
            }

            #[inline]
            fn contains_many(&self, hashes: &[u64], found: &mut [bool]) {
                self.contains_many(Prehashed::slice(hashes), found)
                    .expect("as many answers as hashes");
            }

            #[inline]
            fn insert(&self, hash: u64) {
                self.insert(&Prehashed(hash)).expect("the load is below the first failure");
            }

            #[inline]
            fn insert_many(&self, hashes: &[u64]) {
                self.insert_many(Prehashed::slice(hashes)).expect("there is room for all");
            }

            #[inline]
            fn insert_unique(&self, hash: u64) -> bool {
                self.insert_unique(&Prehashed(hash)) == Ok(true)
            }

            #[inline]
            fn remove(&self, hash: u64) -> bool {
                self.remove(&Prehashed(hash))
            }

            #[inline]
            fn remove_many(&self, hashes: &[u64], removed: &mut [bool]) {
                self.remove_many(Prehashed::slice(hashes), removed)
                    .expect("as many answers as hashes");
            }
        }
    };
}

type Fixed = CuckooFilter<Fp16x4, ()>;
type Chosen = AnyCuckooFilter<()>;
type Growing = GrowableCuckooFilter<Fp16x4, ()>;

guarded!(Fixed, CuckooFilter::with_capacity_and_hasher(CAPACITY as usize, ()));
guarded!(Chosen, {
    let filter = {
        let builder = CuckooFilter::builder().capacity(CAPACITY as usize);
        builder.false_positive_rate(RATE).any_layout().hasher(()).build()
    };
    let filter = filter.expect("some layout has this rate");
    assert_eq!(filter.layout_name(), Fp16x4::NAME, "the layouts are the same");
    filter
});

/// A filter that has grown by some doublings, for the first items, and can grow on.
fn grown() -> Growing {
    let (first, greatest) = (CAPACITY as usize / 32, 2 * CAPACITY as usize);
    let builder = CuckooFilter::builder().capacity(first).max_capacity(greatest);
    let filter = builder.hasher(()).build().expect("the layout grows so far");
    for index in 0..CAPACITY {
        filter.insert(&Prehashed(mix(index))).expect("it grows");
    }
    filter
}

/// Work by a filter.
#[derive(Clone, Copy)]
struct Task {
    work: Work,
    kind: Kind,
}

impl Task {
    fn all() -> impl Iterator<Item = Self> {
        Kind::ALL.into_iter().flat_map(|kind| {
            let done = Work::value_variants().iter().filter(move |work| kind.does(**work));
            done.map(move |work| Self { work: *work, kind })
        })
    }

    fn parse(name: &str) -> Result<Self, String> {
        let task = Self::all().find(|task| task.name() == name);
        task.ok_or_else(|| format!("there is no task {name}"))
    }

    fn name(self) -> String {
        let work = self.work.to_possible_value().expect("none is hidden");
        format!("{}{}", self.kind.prefix(), work.get_name())
    }

    /// Does this many units of work. Returns the number of operations of one unit.
    fn run(self, units: u64) -> u64 {
        match self.kind {
            Kind::Fixed => run::<Fixed>(self.work, units),
            Kind::AtRunTime => run::<Chosen>(self.work, units),
            Kind::Growing => run_growing(self.work, units),
            Kind::Maplet => run_maplet(self.work, units),
        }
    }
}

fn run_growing(work: Work, units: u64) -> u64 {
    let filter = grown();
    match work {
        Work::Insert => {
            repeat(units, |index| filter.insert(&Prehashed(mix(CAPACITY + index))).is_ok())
        }
        Work::Miss => repeat(units, |index| filter.contains(&Prehashed(mix(!index)))),
        Work::Hit => repeat(units, |index| filter.contains(&Prehashed(mix(index)))),
        Work::Remove => repeat(units, |index| filter.remove(&Prehashed(mix(index)))),
        _ => unreachable!("not counted for a filter that grows"),
    }
}

fn run_maplet(work: Work, units: u64) -> u64 {
    let builder = CuckooMaplet::builder().capacity(CAPACITY as usize).value_bits(VALUE_BITS);
    let maplet = builder.hasher(()).build().expect("the layout has room for the values");
    let value = |index| (index % (1 << VALUE_BITS)) as u32;
    for index in 0..CAPACITY {
        maplet.insert(&Prehashed(mix(index)), value(index)).expect("within the capacity");
    }
    match work {
        Work::Miss => repeat(units, |index| maplet.get(&Prehashed(mix(!index))).next().is_some()),
        Work::Hit => repeat(units, |index| maplet.get(&Prehashed(mix(index))).next().is_some()),
        Work::Remove => repeat(units, |index| maplet.remove(&Prehashed(mix(index)), value(index))),
        _ => unreachable!("not counted for a maplet"),
    }
}

fn run<F: Guarded>(work: Work, units: u64) -> u64 {
    match work {
        Work::Miss => each::<F>(units, |filter, index| filter.contains(mix(!index))),
        Work::Hit => each::<F>(units, |filter, index| filter.contains(mix(index))),
        Work::Remove => each::<F>(units, |filter, index| filter.remove(mix(index))),
        Work::UniquePresent => each::<F>(units, |filter, index| filter.insert_unique(mix(index))),
        Work::ContainsMany => many::<F>(units, F::contains_many),
        Work::RemoveMany => many::<F>(units, F::remove_many),
        Work::Insert => unreachable!("only counted for a filter that grows"),
        Work::FillToHalf => fills::<F>(units, 0.5),
        Work::FillTo95 => fills::<F>(units, 0.95),
        Work::InsertMany => {
            let filters: Vec<F> = (0..units).map(|_| filled(0.0)).collect();
            // The same list for one unit and for two.
            let hashes = hashes(OPERATIONS);
            for filter in &filters {
                filter.insert_many(&hashes);
            }
            OPERATIONS
        }
    }
}

fn many<F: Guarded>(units: u64, operation: fn(&F, &[u64], &mut [bool])) -> u64 {
    let filter = filled::<F>(0.95);
    let hashes = hashes(units * OPERATIONS);
    let mut answers = vec![false; hashes.len()];
    operation(&filter, &hashes, &mut answers);
    black_box(answers);
    OPERATIONS
}

fn hashes(count: u64) -> Vec<u64> {
    (0..count).map(mix).collect()
}

fn filled<F: Guarded>(load: f64) -> F {
    let filter = F::empty();
    for index in 0..(filter.slots() as f64 * load) as u64 {
        filter.insert(mix(index));
    }
    filter
}

fn fills<F: Guarded>(units: u64, load: f64) -> u64 {
    let filters = (0..units).map(|_| black_box(filled::<F>(load)));
    filters.fold(0, |_, filter| filter.len() as u64)
}

fn each<F: Guarded>(units: u64, operation: impl Fn(&F, u64) -> bool) -> u64 {
    let filter = filled(0.95);
    repeat(units, |index| operation(&filter, index))
}

fn repeat(units: u64, operation: impl Fn(u64) -> bool) -> u64 {
    let yes = (0..units * OPERATIONS).filter(|index| operation(*index)).count();
    black_box(yes);
    OPERATIONS
}

/// Instructions of the program with this many units of work.
fn count(task: Task, units: u64) -> Result<u64, Box<dyn Error>> {
    let out = env::temp_dir().join(format!("coucal-callgrind-{}", std::process::id()));
    let status = Command::new("valgrind")
        .args(["--quiet", "--tool=callgrind"])
        .arg(format!("--callgrind-out-file={}", out.display()))
        .arg(env::current_exe()?)
        .args(["--work", &task.name(), &units.to_string()])
        .stdout(Stdio::null())
        .status()?;
    let counts = fs::read_to_string(&out)?;
    fs::remove_file(&out)?;
    if !status.success() {
        return Err(format!("{} failed under valgrind", task.name()).into());
    }
    let total = counts.lines().find_map(|line| line.strip_prefix("totals: "));
    Ok(total.ok_or("callgrind wrote no total")?.trim().parse()?)
}

/// Instructions per operation.
fn measure(task: Task) -> Result<f64, Box<dyn Error>> {
    let operations = task.run(1);
    let (one, two) = (count(task, 1)?, count(task, 2)?);
    Ok((two.saturating_sub(one)) as f64 / operations as f64)
}

fn recorded(record: &str, task: Task) -> Option<f64> {
    let lines = record.lines().filter_map(|line| line.split_once(','));
    lines.filter(|line| line.0 == task.name()).find_map(|line| line.1.parse().ok())
}

/// `true` if no operation takes more instructions than the tolerance allows.
fn check(record: &str) -> Result<bool, Box<dyn Error>> {
    let (mut slower, mut faster) = (false, false);
    println!("{:<20} {:>8} {:>8} {:>8}", "instructions", "recorded", "now", "change");
    for task in Task::all() {
        let now = measure(task)?;
        let Some(then) = recorded(record, task) else {
            println!("{:<20} {:>8} {now:>8.1}", task.name(), "none");
            faster = true;
            continue;
        };
        let change = now / then - 1.0;
        slower |= change > TOLERANCE;
        faster |= change < -TOLERANCE;
        let note = if change > TOLERANCE { "  too many" } else { "" };
        println!("{:<20} {then:>8.1} {now:>8.1} {:>+7.1} %{note}", task.name(), change * 100.0);
    }
    let compiler = compiler();
    if (slower || faster) && !record.contains(&compiler) {
        println!("The record was made by another compiler; this is {compiler}.");
    }
    if slower {
        println!("An operation takes more than 5 % more instructions than recorded.");
    } else if faster {
        println!("Fewer instructions than recorded, or no record: renew it with --record.");
    }
    Ok(!slower)
}

fn record() -> Result<(), Box<dyn Error>> {
    let mut text = format!("# instructions per operation, counted by callgrind; {}\n", compiler());
    for task in Task::all() {
        let _ = writeln!(text, "{},{:.1}", task.name(), measure(task)?);
    }
    print!("{text}");
    Ok(fs::write(RECORD, text)?)
}

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments = Arguments::parse();
    if let Some([work, units]) = arguments.work.as_deref() {
        Task::parse(work)?.run(units.parse()?);
        return Ok(ExitCode::SUCCESS);
    }
    if Command::new("valgrind").arg("--version").stdout(Stdio::null()).status().is_err() {
        let why = "valgrind is not installed, so no instructions can be counted";
        if arguments.skip_without_valgrind {
            println!("Skipped: {why}.");
            return Ok(ExitCode::SUCCESS);
        }
        eprintln!("{why}. It is a package of most systems: apt-get install valgrind.");
        eprintln!("Where there is none, --skip-without-valgrind does nothing and succeeds.");
        return Ok(ExitCode::FAILURE);
    }
    if arguments.record {
        record()?;
        return Ok(ExitCode::SUCCESS);
    }
    let kept = fs::read_to_string(RECORD).unwrap_or_default();
    Ok(if check(&kept)? { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
