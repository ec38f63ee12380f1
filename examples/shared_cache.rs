//! The main job of a filter: worker threads of a server share one in front of a database on disk.
//!
//! Half of the requests are for keys that do not exist. Without the filter each of them searches
//! the database; with it, all but about one in ten thousand are answered from memory. Meanwhile the
//! workers insert and remove keys, and no key that exists may ever be reported absent: every answer
//! is checked, and a single wrong one makes the program exit with status 1.
//!
//! The same requests are served twice, without the filter and with it.
//!
//! ```text
//! cargo run --release --example shared_cache
//! cargo run --release --example shared_cache -- --keys 2000000 --threads 8 --seconds 20
//! cargo run --release --example shared_cache -- --grow
//! ```
//!
//! # Memory
//!
//! The table at the end shows the size of the filter in two ways. *Bits per item of the capacity* is
//! what the filter was built for, and what the README of the crate states: 17.2 or fewer. *Bits per
//! item present* is larger, because the filter has room for all keys that come and go, and only half
//! of these exist at one time.
//!
//! With `--grow` the filter starts with room for a hundredth of the keys, and grows while it is
//! filled and while it serves. It takes longer fingerprints, of 21 bits, since growth uses up some of
//! them.
//!
//! # Keeping filter and database together
//!
//! The filter must always hold at least what a reader can find in the database. So a key goes into
//! the filter before the transaction that inserts it is committed, and out of the filter after the
//! transaction that removes it. In between, the filter says "maybe" for a key that is not there,
//! which costs one read. A key is written by one worker only (a real server would hold a lock on the
//! key, or write from one thread): otherwise one worker's removal could overtake another's insert.

mod terminal;

use std::error::Error;
use std::fs::File;
use std::io::{self, Seek, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use coucal::{CuckooFilter, Fp21x3, Storage};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Zipf};
use redb::{
    Database, Durability, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition,
};
use terminal::{Progress, grouped};

/// Serve lookups, inserts and removals from an embedded database on several threads, without and
/// with a shared filter in front of it, and compare.
///
/// The database is a file in the directory for temporary files (TMPDIR), up to 260 bytes per key,
/// twice. It is gone when the program ends, however it ends.
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

    /// How many seconds of requests are served without the filter. With it the same requests are
    /// served again, for as long as they take.
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,

    /// Start with a filter that has room for a hundredth of the keys, and let it grow.
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
        Ok(0) => ExitCode::SUCCESS,
        Ok(wrong) => {
            eprintln!("shared_cache: {} wrong answers", grouped(wrong));
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("shared_cache: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Does everything and returns the number of wrong answers.
fn run(options: &Options) -> Result<u64> {
    let threads = options.threads.map_or_else(
        || thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
        u64::from,
    );
    let keyspace = KeySpace::new(options.keys, threads);
    // Room for every key that may exist at one time.
    let most = keyspace.absent() as usize;
    if options.grow {
        let builder = CuckooFilter::builder().layout::<Fp21x3>();
        let filter = builder.capacity(most / 100).max_capacity(most).build()?;
        compare(options, &keyspace, &filter)
    } else {
        compare(options, &keyspace, &CuckooFilter::try_with_capacity(most)?)
    }
}

/// Serves the same requests without and with the filter, which is empty yet.
fn compare<L: Storage>(
    options: &Options,
    keyspace: &KeySpace,
    filter: &CuckooFilter<L>,
) -> Result<u64> {
    let slots_at_first = filter.slots();
    let mut pristine = populate(keyspace)?;

    let database = open(copy(&mut pristine)?)?;
    let time = Duration::from_secs(options.seconds);
    let none: Option<&CuckooFilter<L>> = None;
    let plain = serve("without the filter", keyspace, &database, none, &Quota::Time(time))?;
    drop(database);

    let database = open(pristine)?;
    fill(filter, &database)?;
    let quota = Quota::Rounds(plain.rounds.clone());
    let filtered = serve("with the filter", keyspace, &database, Some(filter), &quota)?;

    let audit = audit(keyspace, &database, filter)?;
    let wrong = plain.tally.wrong + filtered.tally.wrong + audit.wrong;
    match report(&plain, &filtered, &audit, filter, slots_at_first, wrong) {
        // The reader of the table is gone; the exit status still tells the result.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(wrong),
        result => result.map(|()| wrong).map_err(Into::into),
    }
}

/// Which keys there are, by number: first those that always exist, then those that come and go,
/// then those that never exist.
///
/// Every worker owns every `threads`-th of the keys that come and go, and nobody else writes them.
struct KeySpace {
    settled: u64,
    churn: u64,
    threads: u64,
}

impl KeySpace {
    fn new(keys: u64, threads: u64) -> Self {
        // Enough that a worker never writes one twice in a transaction.
        let churn_of_each = (keys / 10 / threads).max(WRITES);
        Self { settled: keys, churn: churn_of_each * threads, threads }
    }

    /// The first of the keys that never exist.
    fn absent(&self) -> u64 {
        self.settled + self.churn
    }

    /// The keys that come and go are half there at the beginning: every other one of each worker.
    fn is_there_at_first(&self, churn: u64) -> bool {
        (churn / self.threads).is_multiple_of(2)
    }

    /// The numbers of the keys that are in the database at the beginning.
    fn at_first(&self) -> impl Iterator<Item = u64> {
        let churn = (0..self.churn).filter(|&churn| self.is_there_at_first(churn));
        (0..self.settled).chain(churn.map(|churn| self.settled + churn))
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

/// A file without a name: it is deleted with its last handle, however the program ends.
fn temporary_file() -> Result<File> {
    tempfile::tempfile().map_err(|error| {
        format!("cannot create a file in {}: {error}", std::env::temp_dir().display()).into()
    })
}

/// Fills a database and returns its file.
fn populate(keyspace: &KeySpace) -> Result<File> {
    let mut keys: Vec<u64> = keyspace.at_first().map(key).collect();
    keys.sort_unstable();

    let mut progress = Progress::new("filling the database", keys.len() as u64);
    let mut file = temporary_file()?;
    let database = open(file.try_clone()?)?;
    let transaction = database.begin_write()?;
    {
        let mut table = transaction.open_table(RECORDS)?;
        for (done, &key) in keys.iter().enumerate() {
            table.insert(key, record(key).as_slice())?;
            if done.is_multiple_of(1 << 13) {
                progress.set(done as u64);
            }
        }
    }
    transaction.commit()?;
    drop(database);
    let bytes = file.seek(io::SeekFrom::End(0))?;
    progress.finish(&format!("{} keys, {} bytes", grouped(keys.len() as u64), grouped(bytes)));
    Ok(file)
}

/// A copy of the database for each run, so that both begin with the same.
fn copy(pristine: &mut File) -> Result<File> {
    let mut copy = temporary_file()?;
    pristine.rewind()?;
    io::copy(pristine, &mut copy)?;
    Ok(copy)
}

fn open(file: File) -> Result<Database> {
    Ok(Database::builder().set_cache_size(DATABASE_CACHE_BYTES).create_file(file)?)
}

/// What a server does when it starts: the filter is in memory only and is built from the database.
fn fill<L: Storage>(filter: &CuckooFilter<L>, database: &Database) -> Result<()> {
    let table = database.begin_read()?.open_table(RECORDS)?;
    let mut progress = Progress::new("building the filter", table.len()?);
    for (done, entry) in table.iter()?.enumerate() {
        filter.insert(&entry?.0.value())?;
        if done.is_multiple_of(1 << 13) {
            progress.set(done as u64);
        }
    }
    progress.finish(&format!("{} keys", grouped(filter.len() as u64)));
    Ok(())
}

/// Which of the keys that come and go are certainly in the database: those whose count is odd.
///
/// The owner raises the count after the commit that inserts the key and before the transaction that
/// removes it. So if the count is odd before a lookup and the same after it, the key was there all
/// the time, and "absent" is a wrong answer. This is what makes the
/// check of lookups on other workers' keys exact.
struct Ledger(Vec<AtomicU32>);

impl Ledger {
    fn new(keyspace: &KeySpace) -> Self {
        let counts = (0..keyspace.churn).map(|churn| keyspace.is_there_at_first(churn).into());
        Self(counts.map(AtomicU32::new).collect())
    }

    fn is_there(&self, churn: u64) -> bool {
        self.0[churn as usize].load(Ordering::Relaxed) % 2 == 1
    }

    /// Release: pairs with the Acquire in `watch`; whoever sees the count finds the key.
    fn arrived(&self, churn: u64) {
        self.0[churn as usize].fetch_add(1, Ordering::Release);
    }

    /// What the removal does next is Release, in the filter and in the database; a lookup that sees
    /// it sees this, too.
    fn leaves(&self, churn: u64) {
        self.0[churn as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// What `look` found, and whether the key was there from before it to after it.
    fn watch<T>(&self, churn: u64, look: impl FnOnce() -> T) -> (T, bool) {
        let count = &self.0[churn as usize];
        let before = count.load(Ordering::Acquire);
        let found = look();
        // Acquire: the lookup's loads come before the load of the count.
        fence(Ordering::Acquire);
        let after = count.load(Ordering::Relaxed);
        (found, before % 2 == 1 && before == after)
    }
}

/// How long the workers serve.
enum Quota {
    Time(Duration),
    /// A number of rounds of lookups and writes for each worker.
    Rounds(Vec<u64>),
}

#[derive(Default)]
struct Tally {
    operations: u64,
    lookups: u64,
    reads: u64,
    wrong: u64,
}

impl Tally {
    fn add(&mut self, other: &Tally) {
        self.operations += other.operations;
        self.lookups += other.lookups;
        self.reads += other.reads;
        self.wrong += other.wrong;
    }
}

struct Run {
    tally: Tally,
    rounds: Vec<u64>,
    elapsed: Duration,
}

impl Run {
    fn operations_per_second(&self) -> u64 {
        (self.tally.operations as f64 / self.elapsed.as_secs_f64()) as u64
    }
}

/// Lets the workers serve their requests, and shows how far they are.
fn serve<L: Storage>(
    label: &str,
    keyspace: &KeySpace,
    database: &Database,
    filter: Option<&CuckooFilter<L>>,
    quota: &Quota,
) -> Result<Run> {
    let ledger = Ledger::new(keyspace);
    let rounds_done = AtomicU64::new(0);
    let total = match quota {
        Quota::Time(time) => time.as_millis() as u64,
        Quota::Rounds(rounds) => rounds.iter().sum(),
    };
    let mut progress = Progress::new(&format!("serving {label}"), total);
    let start = Instant::now();
    let outcomes = thread::scope(|scope| {
        let workers: Vec<_> = (0..keyspace.threads)
            .map(|index| {
                let worker = Worker { index, keyspace, database, filter, ledger: &ledger };
                let rounds_done = &rounds_done;
                scope.spawn(move || {
                    let goes_on = |round| match quota {
                        Quota::Time(time) => start.elapsed() < *time,
                        Quota::Rounds(rounds) => round < rounds[index as usize],
                    };
                    worker.serve(goes_on, rounds_done)
                })
            })
            .collect();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            thread::sleep(Duration::from_millis(20));
            progress.set(match quota {
                Quota::Time(_) => start.elapsed().as_millis() as u64,
                Quota::Rounds(_) => rounds_done.load(Ordering::Relaxed),
            });
        }
        workers
            .into_iter()
            .map(|worker| worker.join().expect("a worker returns its errors"))
            .collect::<Result<Vec<_>>>()
    })?;
    let mut run = Run { tally: Tally::default(), rounds: Vec::new(), elapsed: start.elapsed() };
    for (rounds, tally) in outcomes {
        run.tally.add(&tally);
        run.rounds.push(rounds);
    }
    progress.finish(&format!("{} operations", grouped(run.tally.operations)));
    Ok(run)
}

struct Worker<'a, L: Storage> {
    index: u64,
    keyspace: &'a KeySpace,
    database: &'a Database,
    filter: Option<&'a CuckooFilter<L>>,
    ledger: &'a Ledger,
}

impl<L: Storage> Worker<'_, L> {
    /// Serves rounds as long as `goes_on` is true; returns their number and what happened.
    fn serve(
        &self,
        goes_on: impl Fn(u64) -> bool,
        rounds_done: &AtomicU64,
    ) -> Result<(u64, Tally)> {
        // A fixed seed: the same requests in every run.
        let mut random = SmallRng::seed_from_u64(SEED + self.index);
        let KeySpace { settled, churn, .. } = *self.keyspace;
        let popular_settled = Zipf::new(settled as f64, SKEW)?;
        let popular_churn = Zipf::new(churn as f64, SKEW)?;
        let popular_absent = Zipf::new((settled * ABSENT_KEYS) as f64, SKEW)?;
        // Ranks begin with 1.
        let rank = |zipf: Zipf<f64>, random: &mut SmallRng| zipf.sample(random) as u64 - 1;

        let mut tally = Tally::default();
        let mut round = 0;
        while goes_on(round) {
            for _ in 0..LOOKUPS {
                let percent = random.random_range(0..100);
                if percent < ABSENT_PERCENT {
                    let number = self.keyspace.absent() + rank(popular_absent, &mut random);
                    let (found, reads) = self.look_up(key(number))?;
                    tally.reads += reads;
                    tally.wrong += u64::from(found);
                } else if percent < ABSENT_PERCENT + CHURN_PERCENT {
                    let churn = rank(popular_churn, &mut random);
                    let look = || self.look_up(key(settled + churn));
                    let (answer, there) = self.ledger.watch(churn, look);
                    let (found, reads) = answer?;
                    tally.reads += reads;
                    tally.wrong += u64::from(there && !found);
                } else {
                    let (found, reads) = self.look_up(key(rank(popular_settled, &mut random)))?;
                    tally.reads += reads;
                    tally.wrong += u64::from(!found);
                }
            }
            tally.wrong += self.write(round)?;
            tally.lookups += LOOKUPS;
            tally.operations += LOOKUPS + WRITES;
            round += 1;
            rounds_done.fetch_add(1, Ordering::Relaxed);
        }
        Ok((round, tally))
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
        let KeySpace { settled, churn, threads } = *self.keyspace;
        let own = churn / threads;
        let next = (round * WRITES..(round + 1) * WRITES).map(|n| n % own * threads + self.index);
        let (leaving, arriving): (Vec<u64>, Vec<u64>) =
            next.partition(|&churn| self.ledger.is_there(churn));

        for &churn in &leaving {
            self.ledger.leaves(churn);
        }
        if let Some(filter) = self.filter {
            for &churn in &arriving {
                filter.insert(&key(settled + churn))?;
            }
        }

        let mut transaction = self.database.begin_write()?;
        // Readers see the commit, and it costs no fsync. An fsync would measure the disk, which is
        // the same in both runs, and hide the lookups behind it. Nor does the filter depend on it:
        // after a crash it is built again from whatever the database has.
        transaction.set_durability(Durability::None)?;
        {
            let mut table = transaction.open_table(RECORDS)?;
            for &churn in &leaving {
                table.remove(key(settled + churn))?;
            }
            for &churn in &arriving {
                let key = key(settled + churn);
                table.insert(key, record(key).as_slice())?;
            }
        }
        transaction.commit()?;

        for &churn in &arriving {
            self.ledger.arrived(churn);
        }
        let unknown = |filter: &CuckooFilter<L>| {
            leaving.iter().filter(|&&churn| !filter.remove(&key(settled + churn))).count() as u64
        };
        Ok(self.filter.map_or(0, unknown))
    }
}

/// What is found after all workers have finished.
struct Audit {
    wrong: u64,
    false_positives: u64,
}

/// Asks the filter for every key of the database, and for many that were never there.
fn audit<L: Storage>(
    keyspace: &KeySpace,
    database: &Database,
    filter: &CuckooFilter<L>,
) -> Result<Audit> {
    let table = database.begin_read()?.open_table(RECORDS)?;
    let stored = table.len()?;
    let mut progress = Progress::new("checking every key", stored + PROBES);

    // As many items as keys: a copy left behind would not give a wrong answer yet.
    let mut wrong = stored.abs_diff(filter.len() as u64);
    for (done, entry) in table.iter()?.enumerate() {
        wrong += u64::from(!filter.contains(&entry?.0.value()));
        if done.is_multiple_of(1 << 16) {
            progress.set(done as u64);
        }
    }
    let first = keyspace.absent() + keyspace.settled * ABSENT_KEYS;
    let mut false_positives = 0;
    for probe in 0..PROBES {
        false_positives += u64::from(filter.contains(&key(first + probe)));
        if probe.is_multiple_of(1 << 16) {
            progress.set(stored + probe);
        }
    }
    progress.finish(&format!("{} keys, {} absent ones", grouped(stored), grouped(PROBES)));
    Ok(Audit { wrong, false_positives })
}

fn report<L: Storage>(
    plain: &Run,
    filtered: &Run,
    audit: &Audit,
    filter: &CuckooFilter<L>,
    slots_at_first: usize,
    wrong: u64,
) -> io::Result<()> {
    let saved = plain.tally.reads.saturating_sub(filtered.tally.reads);
    let share = saved as f64 / plain.tally.reads.max(1) as f64;
    let bytes = filter.memory_bytes();
    let bits_per = |items: usize| format!("{:.2}", bytes as f64 * 8.0 / items as f64);
    let rows = [
        ["", "without filter", "with filter"].map(String::from),
        row(
            "operations per second",
            grouped(plain.operations_per_second()),
            grouped(filtered.operations_per_second()),
        ),
        row("lookups", grouped(plain.tally.lookups), grouped(filtered.tally.lookups)),
        row("database reads", grouped(plain.tally.reads), grouped(filtered.tally.reads)),
        row("database reads saved", "", grouped(saved)),
        row("", "", format!("{:.1} %", share * 100.0)),
        row(
            "false-positive rate, measured",
            "",
            format!("{:.4} %", audit.false_positives as f64 / PROBES as f64 * 100.0),
        ),
        row(
            "false-positive rate, expected",
            "",
            format!("{:.4} %", filter.false_positive_rate() * 100.0),
        ),
        row("items present", "", grouped(filter.len() as u64)),
        row("capacity of the filter, items", "", grouped(filter.capacity() as u64)),
        row("slots at first", "", grouped(slots_at_first as u64)),
        row("slots now", "", grouped(filter.slots() as u64)),
        row("load factor", "", format!("{:.4}", filter.load_factor())),
        row("bytes", "", grouped(bytes as u64)),
        row("bits per item of the capacity", "", bits_per(filter.capacity())),
        row("bits per item present", "", bits_per(filter.len())),
        row("wrong answers", grouped(plain.tally.wrong), grouped(wrong - plain.tally.wrong)),
    ];
    let mut stdout = io::stdout().lock();
    for [label, without, with] in rows {
        writeln!(stdout, "{label:<30}{without:>16}{with:>16}")?;
    }
    Ok(())
}

fn row(label: &str, without: impl Into<String>, with: impl Into<String>) -> [String; 3] {
    [label.into(), without.into(), with.into()]
}
