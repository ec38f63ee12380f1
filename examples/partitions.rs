//! Which partitions hold a key? A store of 64 time partitions, each a database file of its own, and one maplet that
//! says which of them to read.
//!
//! A key has rows at one to three times. Each row lies in the partition of its time, and a lookup wants all rows of its
//! key. The same lookups are served three ways: all partitions are read; 64 filters say which; the maplet says which.
//! Then partitions are merged while lookups go on, a process ends in the middle of a merge, and its store is opened
//! again. Every answer is checked, and a single wrong one makes the program exit with status 1.
//!
//! # A merge
//!
//! 1. **Copy** the rows into the target, and commit. Now both partitions have them.
//! 2. **Replace** each pair (key, old) of the maplet by (key, target), in one store: a lookup gets one of the two, and
//!    both are right. If the target had the key before, (key, target) is there already: remove (key, old).
//! 3. **Drop** the old partition. No pair leads to it any more. A lookup that took its candidates before step 2, and
//!    finds the partition gone, takes them again.
//!
//! New rows go the other way round: first into the maplet, then into the partition. In between, the maplet leads to a
//! partition without the row, which costs one read.
//!
//! # A crash
//!
//! Each transaction also records, in a table of its partition, how it changes the maplet. Each change has a number. A
//! snapshot of the maplet is taken between two transactions, and saved with the number of the last change. Whoever
//! opens the store restores the snapshot, applies in order the recorded changes with higher numbers, and drops the
//! partitions whose merge was committed. A merge also copies the record of the partition that it drops. (A store that
//! runs for long deletes the changes that the snapshot has.)

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

use clap::Parser;
use coucal::{CuckooFilter, CuckooMaplet, Fp16x4, StableHashBuilder};
use indicatif::{ProgressBar, ProgressIterator, ProgressStyle};
use parking_lot::{MappedRwLockReadGuard, Mutex, RwLock, RwLockReadGuard};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

/// Look up keys in 64 partitions, each a database file, with and without a maplet that says which partitions to read.
///
/// Serves the same lookups three ways: all partitions are read, one filter for each, one maplet. Then merges
/// partitions while lookups go on, lets a process end in the middle of a merge, and opens its store again. The files
/// are in the directory for temporary files (TMPDIR), and gone at the end.
///
/// Exit status: 0 if every answer was right; 1 if one was wrong or a file failed; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "partitions")]
struct Options {
    /// How many keys the store holds, each in one to three partitions. A twentieth more comes at the end.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    keys: u64,

    /// How many lookups each thread serves each way; half of them are for keys that do not exist.
    #[arg(long, default_value_t = 5_000, value_parser = clap::value_parser!(u64).range(1..))]
    lookups: u64,

    /// Be the process that ends in the middle of a merge, with the store in this folder.
    #[arg(long, hide = true)]
    crash: Option<PathBuf>,
}

const PARTITIONS: u32 = 64;
const VALUE_BITS: u32 = PARTITIONS.ilog2();

/// While lookups go on: 0 into 1, then 1 into 2, and so on.
const MERGES: u32 = 8;

/// New rows go into the newest partition.
const NEWEST: u32 = PARTITIONS - 1;

/// The exit status of the process that ends in the middle of a merge.
const CRASHED: i32 = 3;

/// A row: the key, the time, and what else is stored.
const ROWS: TableDefinition<(u64, u32), [u8; 64]> = TableDefinition::new("rows");

/// How transactions change the maplet, by number.
const CHANGES: TableDefinition<u64, Change> = TableDefinition::new("changes");

/// The key, the partition that does not hold it any more, and the one that does now.
type Change = (u64, Option<u32>, Option<u32>);

type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;
type Maplet = CuckooMaplet<Fp16x4, StableHashBuilder>;

/// A snapshot is of use only with the hasher of the maplet.
const HASHER: StableHashBuilder = StableHashBuilder::new(0x7061_7274);

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    match run(&Options::parse()) {
        Ok(0) => return ExitCode::SUCCESS,
        Ok(wrong) => eprintln!("partitions: {wrong} wrong answers"),
        Err(error) => eprintln!("partitions: {error}"),
    }
    ExitCode::FAILURE
}

/// Does everything and returns the number of wrong answers.
fn run(&Options { keys, lookups, ref crash }: &Options) -> Result<u64> {
    let end = 2 * (keys + keys / 20);
    if let Some(folder) = crash {
        let store = Store::open(folder, keys)?.0;
        store.append(NEWEST, &(2 * keys..end).step_by(2).collect::<Vec<_>>())?;
        store.merge(NEWEST, NEWEST - 1, || {})?;
        store.merge(NEWEST - 1, NEWEST - 2, || process::exit(CRASHED))?;
        return Ok(0);
    }
    let folder = tempfile::tempdir()?;
    let (store, filters) = Store::create(folder.path(), keys)?;

    // Which partitions to read for a key: a bit for each.
    let by_filters = |key| {
        let hash = filters[0].hash_of(&key);
        let may_hold = |&partition: &u32| filters[partition as usize].contains_hash(hash);
        (0..PARTITIONS).filter(may_hold).fold(0, |set, partition| set | 1 << partition)
    };
    let by_maplet = |key| store.candidates(key);
    let any = |random: &mut SmallRng| random.random_range(0..2 * keys);
    let count = |label| {
        let bar = progress_bar(label, lookups);
        move |done| {
            bar.set_position(done);
            done < lookups
        }
    };
    let all = store.serve(any, |_| u64::MAX, count("reading all partitions"))?;
    let filtered = store.serve(any, by_filters, count("asking the filters"))?;
    let mapped = store.serve(any, by_maplet, count("asking the maplet"))?;
    let filters_ns = nanoseconds(keys, by_filters);
    let maplet_ns = nanoseconds(keys, by_maplet);
    let filters_bytes: usize = filters.iter().map(CuckooFilter::memory_bytes).sum();
    let maplet_bytes = store.maplet.memory_bytes();

    let mut merging = merge_while_serving(&store)?;
    merging.wrong += store.check(2 * keys)?;
    store.save()?;
    drop(store);

    let mut crash = Command::new(std::env::current_exe()?);
    crash.args(["--keys", &keys.to_string(), "--crash"]).arg(folder.path());
    if crash.status()?.code() != Some(CRASHED) {
        return Err("the process did not end in the middle of the merge".into());
    }
    let start = Instant::now();
    let (store, replayed) = Store::open(folder.path(), keys)?;
    let ms = start.elapsed().as_millis();
    let any = |random: &mut SmallRng| random.random_range(0..end);
    let by_maplet = |key| store.candidates(key);
    let mut restarted = store.serve(any, by_maplet, count("looking up after the restart"))?;
    restarted.wrong += store.check(end)?;
    let left = (0..PARTITIONS).filter(|&partition| store.partition(partition).is_some()).count();

    let mut out = io::stdout().lock();
    writeln!(out, "{:12}   lookups  per second     reads   useless     again     wrong", "")?;
    let labels = ["all", "filters", "maplet", "merging", "restarted"];
    let tallies = [all, filtered, mapped, merging, restarted];
    for (label, tally) in labels.iter().zip(&tallies) {
        let Tally { lookups, reads, useless, again, wrong, seconds } = tally;
        let rate = *lookups as f64 / seconds;
        write!(out, "{label:12}{lookups:>10}{rate:>12.0}{reads:>10}")?;
        writeln!(out, "{useless:>10}{again:>10}{wrong:>10}")?;
    }
    writeln!(out, "64 filters: {filters_bytes} bytes, {filters_ns} ns per key")?;
    writeln!(out, "one maplet: {maplet_bytes} bytes, {maplet_ns} ns per key")?;
    writeln!(out, "restart: {replayed} changes replayed, {left} partitions, {ms} ms")?;
    Ok(tallies.iter().map(|tally| tally.wrong).sum())
}

/// Merges partitions. Lookups go on until all merges are done.
fn merge_while_serving(store: &Store) -> Result<Tally> {
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        let lookups = scope.spawn(|| {
            // Half of them are for the key whose pair is replaced just then: if any is missed, it is this one.
            let moving_or_any = |random: &mut SmallRng| {
                if random.random() {
                    store.moving.load(Ordering::Relaxed)
                } else {
                    random.random_range(0..2 * store.keys)
                }
            };
            let goes_on = |_| !is_done.load(Ordering::Relaxed);
            store.serve(moving_or_any, |key| store.candidates(key), goes_on)
        });
        let slow = Mutex::default();
        let bar = progress_bar("merging partitions", u64::from(MERGES));
        let merged = (0..MERGES).progress_with(bar).try_for_each(|old| {
            // A slow lookup: it takes its candidates before the merge, and reads after it.
            let key = keys_of(old, store.keys).next().ok_or("an empty partition")?;
            let mut early = Some(store.candidates(key));
            store.merge(old, old + 1, || {})?;
            store.look_up(key, |key| early.take().unwrap_or_else(|| store.candidates(key)), &slow)
        });
        is_done.store(true, Ordering::Relaxed);
        let (mut tally, slow): (_, Tally) = (lookups.join().expect("no panic")?, slow.into_inner());
        tally.again += slow.again;
        tally.wrong += slow.wrong;
        merged.map(|()| tally)
    })
}

/// How long it takes to choose the partitions of a key.
fn nanoseconds(keys: u64, choose: impl Fn(u64) -> u64) -> u128 {
    let start = Instant::now();
    for key in 0..2 * keys {
        black_box(choose(black_box(key)));
    }
    start.elapsed().as_nanos() / u128::from(2 * keys)
}

/// The times of the rows of a key, a bit for each. Odd keys have none; keys that come at the end have the last one.
fn times(key: u64, keys: u64) -> u64 {
    if key % 2 == 1 {
        return 0;
    }
    if key >= 2 * keys {
        return 1 << NEWEST;
    }
    let mut random = SmallRng::seed_from_u64(key);
    let rows = random.random_range(1..=3);
    (0..rows).fold(0, |times, _| times | 1 << random.random_range(0..PARTITIONS))
}

/// The keys that a partition has at first.
fn keys_of(partition: u32, keys: u64) -> impl Iterator<Item = u64> {
    (0..2 * keys).filter(move |&key| times(key, keys) >> partition & 1 == 1)
}

struct Store {
    folder: PathBuf,
    /// By number; `None` if merged into another one.
    partitions: Vec<RwLock<Option<Database>>>,
    maplet: Maplet,
    /// How many keys there are at first: the even ones below twice this number.
    keys: u64,
    /// The number of the last change. Whoever writes holds this lock.
    last_change: Mutex<u64>,
    /// The key whose pair is changed just now.
    moving: AtomicU64,
}

impl Store {
    /// A store without partitions.
    fn new(folder: &Path, keys: u64, maplet: Maplet, last_change: u64) -> Self {
        let partitions = (0..PARTITIONS).map(|_| RwLock::new(None)).collect();
        let (last_change, moving) = (Mutex::new(last_change), AtomicU64::new(0));
        Self { folder: folder.to_owned(), partitions, maplet, keys, last_change, moving }
    }

    /// A store with the first keys, and the filters that the maplet is compared with.
    fn create(folder: &Path, keys: u64) -> Result<(Self, Vec<Filter>)> {
        let pairs: u32 = (0..2 * keys).map(|key| times(key, keys).count_ones()).sum();
        // With those that come at the end. And a quarter more: else one pair in twenty finds no room in the two
        // buckets of its key, and is stashed.
        let capacity = (u64::from(pairs) + keys / 20) * 5 / 4;
        let builder = CuckooMaplet::builder().capacity(capacity as usize).value_bits(VALUE_BITS);
        let store = Self::new(folder, keys, builder.hasher(HASHER).build()?, 0);
        let mut filters = Vec::new();
        let bar = progress_bar("filling the partitions", u64::from(PARTITIONS));
        for partition in (0..PARTITIONS).progress_with(bar) {
            store.open_partition(partition)?;
            let keys: Vec<u64> = keys_of(partition, keys).collect();
            store.append(partition, &keys)?;
            let filter = CuckooFilter::builder().capacity(keys.len()).hasher(HASHER).build()?;
            filter.insert_many(&keys)?;
            filters.push(filter);
        }
        store.save()?;
        Ok((store, filters))
    }

    /// Saves the maplet, with the number of the last change that it has.
    fn save(&self) -> Result<()> {
        let last_change = self.last_change.lock();
        let new = self.folder.join("maplet.new");
        let mut file = File::create(&new)?;
        file.write_all(&last_change.to_le_bytes())?;
        self.maplet.snapshot()?.write_to(&file)?;
        file.sync_all()?;
        Ok(fs::rename(new, self.folder.join("maplet"))?)
    }

    /// The store as it was after the last transaction, and how many changes the snapshot did not have.
    fn open(folder: &Path, keys: u64) -> Result<(Self, usize)> {
        let mut file = File::open(folder.join("maplet"))?;
        let mut saved = [0; 8];
        file.read_exact(&mut saved)?;
        let saved = u64::from_le_bytes(saved);
        let store = Self::new(folder, keys, Maplet::restore(file, HASHER)?, saved);

        // A change may be recorded twice, by its transaction and by a merge: apply it once.
        let mut newer = BTreeMap::new();
        for partition in (0..PARTITIONS).filter(|&partition| store.path(partition).exists()) {
            store.open_partition(partition)?;
            let database = store.partition(partition).expect("just opened");
            for change in database.begin_read()?.open_table(CHANGES)?.range(saved + 1..)? {
                let (number, change) = change?;
                newer.insert(number.value(), change.value());
            }
        }
        if let Some((&last, _)) = newer.last_key_value() {
            *store.last_change.lock() = last;
        }
        newer.values().try_for_each(|&change| store.apply(change))?;
        newer
            .values()
            .filter_map(|&(_, old, _)| old)
            .try_for_each(|old| store.drop_partition(old))?;
        Ok((store, newer.len()))
    }

    fn path(&self, partition: u32) -> PathBuf {
        self.folder.join(format!("{partition:02}.redb"))
    }

    fn open_partition(&self, partition: u32) -> Result<()> {
        // A small cache: there are 64 databases.
        let database = Database::builder().set_cache_size(1 << 20).create(self.path(partition))?;
        *self.partitions[partition as usize].write() = Some(database);
        Ok(())
    }

    /// The database of a partition; `None` if it is gone. The guard keeps it.
    fn partition(&self, partition: u32) -> Option<MappedRwLockReadGuard<'_, Database>> {
        let database = self.partitions[partition as usize].read();
        RwLockReadGuard::try_map(database, Option::as_ref).ok()
    }

    /// Drops a partition and its file, if it is still there. Waits for lookups that read it.
    fn drop_partition(&self, partition: u32) -> Result<()> {
        if let Some(database) = self.partitions[partition as usize].write().take() {
            drop(database);
            fs::remove_file(self.path(partition))?;
        }
        Ok(())
    }

    /// The partitions that may hold a key: a bit for each.
    fn candidates(&self, key: u64) -> u64 {
        self.maplet.get(&key).fold(0, |set, partition| set | 1 << partition)
    }

    /// Looks up the times of all rows of a key, and counts what it takes and whether they are right.
    fn look_up(
        &self,
        key: u64,
        mut choose: impl FnMut(u64) -> u64,
        tally: &Mutex<Tally>,
    ) -> Result<()> {
        let (mut found, mut gone, mut counts) = (0, 0, Tally::default());
        let is_complete = loop {
            let (candidates, gone_before) = (choose(key), gone);
            // No pair leads to a partition that was gone before.
            if candidates & gone != 0 {
                break false;
            }
            for partition in (0..PARTITIONS).filter(|partition| candidates >> partition & 1 == 1) {
                let Some(database) = self.partition(partition) else {
                    gone |= 1 << partition;
                    continue;
                };
                let mut times = 0;
                let rows = database.begin_read()?.open_table(ROWS)?;
                for row in rows.range((key, 0)..=(key, u32::MAX))? {
                    times |= 1 << row?.0.value().1;
                }
                found |= times;
                counts.reads += 1;
                counts.useless += u64::from(times == 0);
            }
            if gone == gone_before {
                break true;
            }
            counts.again += 1;
        };
        let mut tally = tally.lock();
        tally.lookups += 1;
        tally.reads += counts.reads;
        tally.useless += counts.useless;
        tally.again += counts.again;
        tally.wrong += u64::from(!is_complete || found != times(key, self.keys));
        Ok(())
    }

    /// Lets threads look up the keys that `pick` returns in the partitions that `choose` returns, while `goes_on` of
    /// the lookups that a thread has done.
    fn serve(
        &self,
        pick: impl Fn(&mut SmallRng) -> u64 + Sync,
        choose: impl Fn(u64) -> u64 + Sync,
        goes_on: impl Fn(u64) -> bool + Sync,
    ) -> Result<Tally> {
        let tally = Mutex::default();
        let start = Instant::now();
        let work = |seed| -> Result<()> {
            let mut random = SmallRng::seed_from_u64(seed);
            let mut lookups = (0..).take_while(|&done| goes_on(done));
            lookups.try_for_each(|_| self.look_up(pick(&mut random), &choose, &tally))
        };
        let threads = thread::available_parallelism()?.get() as u64;
        thread::scope(|scope| {
            let work = &work;
            let threads: Vec<_> =
                (0..threads).map(|seed| scope.spawn(move || work(seed))).collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("no panic"))
        })?;
        let mut tally: Tally = tally.into_inner();
        tally.seconds = start.elapsed().as_secs_f64();
        Ok(tally)
    }

    /// Adds rows to a partition: into the maplet before the commit.
    fn append(&self, partition: u32, keys: &[u64]) -> Result<()> {
        let mut last_change = self.last_change.lock();
        let database = self.partition(partition).ok_or("the partition is gone")?;
        let transaction = database.begin_write()?;
        let mut rows = transaction.open_table(ROWS)?;
        let mut recorded = transaction.open_table(CHANGES)?;
        for &key in keys {
            let change = (key, None, Some(partition));
            self.apply(change)?;
            *last_change += 1;
            recorded.insert(*last_change, change)?;
            rows.insert((key, partition), [0; 64])?;
        }
        drop((rows, recorded));
        Ok(transaction.commit()?)
    }

    /// Moves all rows of a partition into another one. Calls `halfway` when half of the pairs are replaced.
    fn merge(&self, old: u32, target: u32, halfway: impl Fn()) -> Result<()> {
        let mut last_change = self.last_change.lock();
        let changes = self.copy(old, target, &mut last_change)?;
        for (n, &change) in changes.iter().enumerate() {
            if n == changes.len() / 2 {
                halfway();
            }
            self.apply(change)?;
        }
        self.drop_partition(old)
    }

    /// Copies the rows and the record, and records the changes that follow. Returns these.
    fn copy(&self, old: u32, target: u32, last_change: &mut u64) -> Result<Vec<Change>> {
        let [old_database, database] = [old, target].map(|partition| self.partition(partition));
        let reading = old_database.ok_or("the old partition is gone")?.begin_read()?;
        let transaction = database.as_ref().ok_or("the target is gone")?.begin_write()?;
        let mut rows = transaction.open_table(ROWS)?;
        let mut recorded = transaction.open_table(CHANGES)?;
        let mut changes: Vec<Change> = Vec::new();
        for row in reading.open_table(ROWS)?.iter()? {
            let (row, rest) = row?;
            let (key, _) = row.value();
            if changes.last().is_none_or(|&(last, ..)| last != key) {
                let is_there = rows.range((key, 0)..=(key, u32::MAX))?.next().is_some();
                changes.push((key, Some(old), (!is_there).then_some(target)));
            }
            rows.insert(row.value(), rest.value())?;
        }
        for change in reading.open_table(CHANGES)?.iter()? {
            let (number, change) = change?;
            recorded.insert(number.value(), change.value())?;
        }
        for &change in &changes {
            *last_change += 1;
            recorded.insert(*last_change, change)?;
        }
        drop((rows, recorded));
        transaction.commit()?;
        Ok(changes)
    }

    /// Makes a change in the maplet.
    fn apply(&self, (key, old, new): Change) -> Result<()> {
        self.moving.store(key, Ordering::Relaxed);
        let is_done = match (old, new) {
            (None, Some(new)) => self.maplet.insert(&key, new).map(|()| true)?,
            (Some(old), Some(new)) => self.maplet.replace(&key, old, new)?,
            (Some(old), None) => self.maplet.remove(&key, old),
            (None, None) => false,
        };
        if is_done { Ok(()) } else { Err("the maplet lacks a pair of the store".into()) }
    }

    /// Looks up all keys below `end`, and counts wrong answers, and pairs that the maplet has in excess.
    fn check(&self, end: u64) -> Result<u64> {
        let tally = Mutex::default();
        (0..end).try_for_each(|key| self.look_up(key, |key| self.candidates(key), &tally))?;
        let Tally { reads, useless, wrong, .. } = tally.into_inner();
        Ok(wrong + (reads - useless).abs_diff(self.maplet.len() as u64))
    }
}

#[derive(Default)]
struct Tally {
    lookups: u64,
    /// Partitions read.
    reads: u64,
    /// Those that did not have the key.
    useless: u64,
    /// How often candidates were taken again, because a partition was gone.
    again: u64,
    wrong: u64,
    seconds: f64,
}

/// Of a step on standard error, if that is a terminal.
fn progress_bar(label: &'static str, steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent:>3} %");
    ProgressBar::new(steps).with_style(style.expect("a valid template")).with_message(label)
}
