//! The main job of a filter: worker threads of a server share one in front of a database on disk.
//!
//! Half of the requests are for keys that do not exist. Without the filter each of them searches
//! the database; with it, all but about one in ten thousand are answered from memory. Meanwhile the
//! workers insert and remove keys, and no key that exists may ever be reported absent: every answer
//! is checked, and a single wrong one makes the program exit with status 1.
//!
//! The same requests are served twice, without the filter and with it.
//!
//! # Keeping filter and database together
//!
//! The filter must always hold at least what a reader can find in the database. So a key goes into
//! the filter before the transaction that inserts it is committed, and out of the filter after the
//! transaction that removes it. In between, the filter says "maybe" for a key that is not there,
//! which costs one read.
//!
//! Each key that comes and goes is written by one worker only, which therefore knows whether it is in
//! the database, and what answers are right. Where any thread may write any key, ask the database which
//! insert has created a row and which removal has removed one: then no lock on a key is needed. The
//! cookbook shows it ("A negative cache in front of a database").

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use coucal::{CuckooFilter, Storage};
use indicatif::{ProgressBar, ProgressIterator, ProgressStyle};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
};

/// Serve lookups, inserts and removals from an embedded database on several threads, without and
/// with a shared filter in front of it, and compare.
///
/// The database is a file in the directory for temporary files (TMPDIR), up to 260 bytes per key. It
/// is gone when the program ends, however it ends.
///
/// Exit status: 0 if every answer was right; 1 if one was wrong or the database failed; 2 for wrong
/// arguments.
#[derive(Parser)]
#[command(name = "shared_cache")]
struct Options {
    /// How many keys the database holds all the time. A tenth more come and go.
    #[arg(long, default_value_t = 500_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    keys: u64,

    /// How many worker threads serve requests [default: one per processor].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// How many requests are served, first without the filter and then with it.
    #[arg(long, default_value_t = 2_000_000)]
    requests: u64,

    /// Start with a filter that has room for a hundredth of the keys, and let it grow. At the end it has
    /// about fourteen times the false positives of a filter that was made for all keys.
    #[arg(long)]
    grow: bool,
}

/// A worker serves this many lookups, and then writes this many keys in one transaction.
const LOOKUPS: u64 = 2000;
const WRITES: u64 = 40;

/// The percentages of lookups for keys that never existed, and for keys that come and go.
const ABSENT_PERCENT: u32 = 50;
const CHURN_PERCENT: u32 = 10;

/// How skewed the popularity of keys is: the exponent of Zipf's law, as in the YCSB benchmark.
const SKEW: f64 = 0.99;

/// How many absent keys there are for one that is present. Clients ask for these.
const ABSENT_KEYS: u64 = 10;

/// How many other absent keys measure the false-positive rate at the end, each asked for once.
const PROBES: u64 = 10_000_000;

/// What the database stores for a key: the key itself, to check the answers, and padding.
const RECORD_BYTES: usize = 100;

/// Smaller than the database, as on a server whose data does not fit in memory. The page cache of
/// the system holds the rest.
const DATABASE_CACHE_BYTES: usize = 16 << 20;

const RECORDS: TableDefinition<u64, &[u8]> = TableDefinition::new("records");

const SEED: u64 = 0x000c_0ca1;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => return ExitCode::SUCCESS,
        Ok(wrong) => eprintln!("shared_cache: {wrong} wrong answers"),
        Err(error) => eprintln!("shared_cache: {error}"),
    }
    ExitCode::FAILURE
}

/// Does everything and returns the number of wrong answers.
fn run(options: &Options) -> Result<u64> {
    let threads = options.threads.map_or_else(
        || thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
        u64::from,
    );
    // Enough that a worker never writes one twice in a transaction.
    let churn = (options.keys / 10 / threads).max(WRITES) * threads;
    let rounds = options.requests.div_ceil((LOOKUPS + WRITES) * threads);
    let keys = Keys { settled: options.keys, churn, threads, rounds };

    // Room for every key that may exist at one time.
    let items = keys.absent() as usize;
    if options.grow {
        let builder = CuckooFilter::builder().capacity(items / 100).max_capacity(items);
        compare(&keys, &builder.build()?)
    } else {
        compare(&keys, &CuckooFilter::try_with_capacity(items)?)
    }
}

/// Serves the requests without and with the filter, which is empty yet.
fn compare<L: Storage>(keys: &Keys, filter: &CuckooFilter<L>) -> Result<u64> {
    let plain = serve::<L>("serving without the filter", keys, &populate(keys)?, None)?;

    // What a server does when it starts: the filter is in memory only and is built from the
    // database.
    let database = populate(keys)?;
    let at_first = filter.memory_bytes();
    for entry in database.begin_read()?.open_table(RECORDS)?.iter()? {
        filter.insert(&entry?.0.value())?;
    }
    let mut filtered = serve("serving with the filter", keys, &database, Some(filter))?;

    // As many items as keys: a copy left behind would not give a wrong answer yet.
    let table = database.begin_read()?.open_table(RECORDS)?;
    filtered.wrong += table.len()?.abs_diff(filter.len() as u64);
    for entry in table.iter()? {
        filtered.wrong += u64::from(!filter.contains(&entry?.0.value()));
    }
    match report(&plain, &filtered, filter, at_first, keys) {
        // The reader of the table is gone; the exit status still tells the result.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(plain.wrong + filtered.wrong),
    }
}

/// Which keys there are, by number: first those that always exist, then those that come and go,
/// then those that never exist; and what is done with them.
///
/// Every worker owns every `threads`-th of the keys that come and go, and nobody else writes them.
struct Keys {
    settled: u64,
    churn: u64,
    threads: u64,
    rounds: u64,
}

impl Keys {
    /// The first of the keys that never exist.
    fn absent(&self) -> u64 {
        self.settled + self.churn
    }
}

/// The key of a number: a permutation of the 64-bit numbers, so that keys with popular numbers lie
/// all over the database (the finalizer of `SplitMix64`).
fn key(number: u64) -> u64 {
    let x = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

fn record(key: u64) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&key.to_le_bytes());
    record
}

/// A database with the keys that always exist, in a file without a name: it is deleted with its last
/// handle, however the program ends.
fn populate(keys: &Keys) -> Result<Database> {
    let file = tempfile::tempfile().map_err(|error| {
        format!("cannot create a file in {}: {error}", std::env::temp_dir().display())
    })?;
    let database = Database::builder().set_cache_size(DATABASE_CACHE_BYTES).create_file(file)?;
    let mut sorted: Vec<u64> = (0..keys.settled).map(key).collect();
    sorted.sort_unstable();
    let transaction = database.begin_write()?;
    let mut table = transaction.open_table(RECORDS)?;
    let bar = progress_bar("filling the database", keys.settled);
    for key in sorted.into_iter().progress_with(bar) {
        table.insert(key, record(key).as_slice())?;
    }
    drop(table);
    transaction.commit()?;
    Ok(database)
}

/// Of a step on standard error, if that is a terminal.
fn progress_bar(label: &'static str, steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent:>3} %");
    ProgressBar::new(steps).with_style(style.expect("a valid template")).with_message(label)
}

#[derive(Default)]
struct Tally {
    lookups: u64,
    /// Reads of the database.
    reads: u64,
    wrong: u64,
    elapsed: Duration,
}

impl Tally {
    /// Counts a lookup, and a wrong answer unless it is the one that is right, if only one is.
    fn count(&mut self, (found, reads): (bool, u64), right: Option<bool>) {
        self.lookups += 1;
        self.reads += reads;
        self.wrong += u64::from(right.is_some_and(|right| found != right));
    }
}

/// Lets the workers serve their requests.
fn serve<L: Storage>(
    label: &'static str,
    keys: &Keys,
    database: &Database,
    filter: Option<&CuckooFilter<L>>,
) -> Result<Tally> {
    let counts: Vec<_> = (0..keys.churn).map(|_| AtomicU32::new(0)).collect();
    let bar = progress_bar(label, keys.rounds * keys.threads);
    let (counts, bar) = (&counts, &bar);
    let start = Instant::now();
    let mut total = Tally::default();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..keys.threads)
            .map(|index| {
                scope.spawn(move || Worker { index, keys, database, filter, bar, counts }.serve())
            })
            .collect();
        for worker in workers {
            let tally = worker.join().expect("a worker returns its errors")?;
            total.lookups += tally.lookups;
            total.reads += tally.reads;
            total.wrong += tally.wrong;
        }
        total.elapsed = start.elapsed();
        Ok(total)
    })
}

struct Worker<'a, L: Storage> {
    index: u64,
    keys: &'a Keys,
    database: &'a Database,
    filter: Option<&'a CuckooFilter<L>>,
    bar: &'a ProgressBar,
    /// Of each key that comes and goes: how often it came and went. Its owner raises the count after
    /// the commit that inserts the key and before the transaction that removes it. So if the count is
    /// odd before a lookup and the same after it, the key was there all the time.
    counts: &'a [AtomicU32],
}

impl<L: Storage> Worker<'_, L> {
    fn serve(&self) -> Result<Tally> {
        // A fixed seed: the same requests in every run.
        let mut random = SmallRng::seed_from_u64(SEED + self.index);
        let Keys { settled, churn, rounds, .. } = *self.keys;
        let popular_settled = Zipf::new(settled as f64, SKEW)?;
        let popular_absent = Zipf::new((settled * ABSENT_KEYS) as f64, SKEW)?;
        // Ranks begin with 1.
        let rank = |zipf: Zipf<f64>, random: &mut SmallRng| zipf.sample(random) as u64 - 1;

        let mut tally = Tally::default();
        for round in 0..rounds {
            for _ in 0..LOOKUPS {
                let percent = random.random_range(0..100);
                if percent < ABSENT_PERCENT {
                    let number = self.keys.absent() + rank(popular_absent, &mut random);
                    tally.count(self.look_up(key(number))?, Some(false));
                } else if percent < ABSENT_PERCENT + CHURN_PERCENT {
                    let number = random.random_range(0..churn);
                    let count = &self.counts[number as usize];
                    // Acquire: pairs with the Release in `write`; whoever sees the count finds the key.
                    let before = count.load(Ordering::Acquire);
                    let found = self.look_up(key(settled + number))?;
                    // Acquire: the lookup's loads come before the second load of the count.
                    fence(Ordering::Acquire);
                    let was_there = before % 2 == 1 && before == count.load(Ordering::Relaxed);
                    tally.count(found, was_there.then_some(true));
                } else {
                    let number = rank(popular_settled, &mut random);
                    tally.count(self.look_up(key(number))?, Some(true));
                }
            }
            tally.wrong += self.write(round)?;
            self.bar.inc(1);
        }
        Ok(tally)
    }

    /// One request: whether the key exists, and how many reads of the database it took to tell.
    fn look_up(&self, key: u64) -> Result<(bool, u64)> {
        if self.filter.is_some_and(|filter| !filter.contains(&key)) {
            return Ok((false, 0));
        }
        let table = self.database.begin_read()?.open_table(RECORDS)?;
        let record = table.get(key)?;
        Ok((record.is_some_and(|record| record.value().starts_with(&key.to_le_bytes())), 1))
    }

    /// Inserts those of the worker's next keys that are not there, and removes the others. Returns
    /// how many of those removed were missing from the filter.
    fn write(&self, round: u64) -> Result<u64> {
        let Keys { settled, churn, threads, .. } = *self.keys;
        let next = (round * WRITES..(round + 1) * WRITES)
            .map(|n| n % (churn / threads) * threads + self.index);
        let count = |number: u64| &self.counts[number as usize];
        let (leaving, arriving): (Vec<u64>, Vec<u64>) =
            next.partition(|&number| count(number).load(Ordering::Relaxed) % 2 == 1);
        // Relaxed: what the removal does next is Release, in the filter and in the database; a lookup
        // that sees it sees this, too.
        for &number in &leaving {
            count(number).fetch_add(1, Ordering::Relaxed);
        }
        let keys = |numbers: &[u64]| -> Vec<u64> {
            numbers.iter().map(|number| key(settled + number)).collect()
        };
        let (leaving, new) = (keys(&leaving), keys(&arriving));
        if let Some(filter) = self.filter {
            filter.insert_many(&new)?;
        }
        let mut transaction = self.database.begin_write()?;
        // Readers see the commit, and it costs no fsync, which would measure the disk. Nor does the
        // filter depend on it: after a crash it is built again from whatever the database has.
        transaction.set_durability(Durability::None)?;
        let mut table = transaction.open_table(RECORDS)?;
        for key in &leaving {
            table.remove(key)?;
        }
        for &key in &new {
            table.insert(key, record(key).as_slice())?;
        }
        drop(table);
        transaction.commit()?;
        for number in arriving {
            count(number).fetch_add(1, Ordering::Release);
        }
        let unknown =
            |filter: &CuckooFilter<L>| leaving.iter().filter(|key| !filter.remove(*key)).count();
        Ok(self.filter.map_or(0, unknown) as u64)
    }
}

fn report<L: Storage>(
    plain: &Tally,
    filtered: &Tally,
    filter: &CuckooFilter<L>,
    bytes_at_first: usize,
    keys: &Keys,
) -> io::Result<()> {
    let first = keys.absent() + keys.settled * ABSENT_KEYS;
    let positives = (first..first + PROBES).filter(|&probe| filter.contains(&key(probe))).count();
    let percent = |share: f64| format!("{:.4} %", share * 100.0);
    let per_second = |tally: &Tally| {
        let operations = tally.lookups / LOOKUPS * (LOOKUPS + WRITES);
        format!("{:.0}", operations as f64 / tally.elapsed.as_secs_f64())
    };
    let bits = filter.memory_bytes() as f64 * 8.0 / filter.capacity() as f64;
    let both = |figure: fn(&Tally) -> u64| [plain, filtered].map(|tally| figure(tally).to_string());
    let only = |figure: String| [String::new(), figure];
    let mut stdout = io::stdout().lock();
    for (label, [without, with]) in [
        ("", ["without filter", "with filter"].map(String::from)),
        ("operations per second", [plain, filtered].map(per_second)),
        ("lookups", both(|tally| tally.lookups)),
        ("database reads", both(|tally| tally.reads)),
        ("false-positive rate, measured", only(percent(positives as f64 / PROBES as f64))),
        ("false-positive rate, expected", only(percent(filter.false_positive_rate()))),
        ("items present", only(filter.len().to_string())),
        ("capacity of the filter, items", only(filter.capacity().to_string())),
        ("bits per item of the capacity", only(format!("{bits:.2}"))),
        ("bytes of the empty filter", only(bytes_at_first.to_string())),
        ("bytes of the filter", only(filter.memory_bytes().to_string())),
        ("wrong answers", both(|tally| tally.wrong)),
    ] {
        writeln!(stdout, "{label:<30}{without:>16}{with:>16}")?;
    }
    Ok(())
}
