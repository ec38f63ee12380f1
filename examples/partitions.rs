//! Which partitions hold a key? A store of 64 time partitions, each a database file of its own, and one
//! maplet for all of them.
//!
//! A row has a key and a time, and lies in the partition of its time; most keys have rows in a few
//! partitions. A lookup wants all rows of its key. The same lookups are served three ways: all partitions
//! are asked; one filter for each partition says which; the maplet says which. Then partitions are merged
//! while lookups go on, and a process that merges is killed and its store opened again. Every answer is
//! checked, and a single wrong one makes the program exit with status 1.
//!
//! # Merging while lookups go on
//!
//! Rows move from one partition into another in this order, so that no lookup ever misses one:
//!
//! 1. **Copy**: the rows are committed in the new partition. From here on, both have them.
//! 2. **Replace**: each pair (key, old) of the maplet becomes (key, new), in one store: a lookup meets the
//!    old partition or the new one, and both are right. (If the new partition had the key before, the pair
//!    (key, old) is removed: (key, new) is there already.)
//! 3. **Drop**: no pair leads to the old partition any more, so its file is deleted. A lookup that took its
//!    candidates before step 2 may come to the partition after step 3: it starts again, and then finds the
//!    new one.
//!
//! A new row goes the other way round: into the maplet, then into the partition. In between, the maplet
//! leads to a partition without the row, which costs one read.
//!
//! # After a crash
//!
//! A transaction that changes which keys a partition has also records, in a table of the partition, the
//! changes that it means for the maplet, each with a number. There is one writer at a time; it takes a
//! snapshot of the maplet between two transactions and saves it with the number of the last change. To
//! open the store is to restore the snapshot and to apply, in order, the changes with higher numbers: the
//! maplet is then as it was after the last transaction. If a merge was committed whose old file is still
//! there, it is deleted. (A store that runs for long deletes the changes that the last snapshot has.)

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use clap::Parser;
use coucal::{CuckooFilter, CuckooMaplet, Fp16x4, StableHashBuilder};
use indicatif::{ProgressBar, ProgressIterator, ProgressStyle};
use parking_lot::{Mutex, RwLock};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};

/// Look up keys in 64 partitions, each a database file, with and without a maplet that says which
/// partitions may hold a key.
///
/// Serves the same lookups three ways: all partitions are asked, one filter for each, one maplet. Then
/// merges partitions while lookups go on, kills a process that merges, and opens its store again.
///
/// Exit status: 0 if every answer was right; 1 if one was wrong or a file failed; 2 for wrong arguments.
#[derive(Parser)]
#[command(name = "partitions")]
struct Options {
    /// How many keys the store holds, each in one to three partitions. A twentieth more comes at the end.
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    keys: u64,

    /// How many lookups are served each way; half of them are for keys that do not exist.
    #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    lookups: u64,

    /// How many threads look up [default: one per processor].
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,

    /// Put the files into this folder, which is made, or must be empty, and keep them [default: a
    /// temporary folder (TMPDIR), which is gone at the end].
    #[arg(long, value_name = "FOLDER")]
    folder: Option<PathBuf>,

    /// Be the process that is killed: open the store in the folder, write, and wait for the end in the
    /// middle of a merge.
    #[arg(long, hide = true, requires = "folder")]
    crash: bool,
}

const PARTITIONS: u8 = 64;
const VALUE_BITS: u32 = PARTITIONS.ilog2();

/// New rows go into the newest partition.
const NEWEST: u8 = PARTITIONS - 1;

/// While lookups go on: 0 into 1, 2 into 3, and so on.
const MERGES: u8 = 8;

/// A row: the key and the time, and what is stored of them.
const ROWS: TableDefinition<(u64, u8), &[u8]> = TableDefinition::new("rows");

/// What transactions changed in the maplet, by number.
const CHANGES: TableDefinition<u64, Change> = TableDefinition::new("changes");

/// The key, the partition that does not hold it any more, and the one that does now.
type Change = (u64, Option<u8>, Option<u8>);

type Maplet = CuckooMaplet<Fp16x4, StableHashBuilder>;

/// Of each of the 64 databases.
const CACHE_BYTES: usize = 1 << 20;

/// Hashes must be those of the process that saved the maplet.
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
fn run(options: &Options) -> Result<u64> {
    let data = Data { keys: options.keys, new: options.keys / 20 };
    if let (Some(folder), true) = (&options.folder, options.crash) {
        return write_until_killed(folder, data);
    }
    let threads = options.threads.map_or_else(
        || thread::available_parallelism().map_or(1, |threads| threads.get() as u64),
        u64::from,
    );
    let temporary;
    let folder = if let Some(folder) = &options.folder {
        let is_empty = fs::create_dir_all(folder)
            .and_then(|()| Ok(fs::read_dir(folder)?.next().is_none()))
            .map_err(|error| format!("cannot use the folder {}: {error}", folder.display()))?;
        if !is_empty {
            return Err(format!("the folder {} is not empty", folder.display()).into());
        }
        folder.as_path()
    } else {
        temporary = tempfile::tempdir().map_err(|error| {
            format!("cannot create a folder in {}: {error}", std::env::temp_dir().display())
        })?;
        temporary.path()
    };

    let (store, filters) = Store::create(folder, data)?;
    let by_filters = |key: u64| -> u64 {
        let hash = filters[0].hash_of(&key);
        let may_hold = |&partition: &u8| filters[usize::from(partition)].contains_hash(hash);
        (0..PARTITIONS).filter(may_hold).fold(0, |set, partition| set | 1 << partition)
    };
    let each = options.lookups.div_ceil(threads);
    let serve = |label, choose: Choose| {
        let bar = progress_bar(label, each * threads);
        store.serve(data.keys, threads, choose, |done| {
            bar.inc(u64::from(done < each));
            done < each
        })
    };
    let all = serve("asking all partitions", &|_| u64::MAX)?;
    let mut filtered = serve("asking the filters", &by_filters)?;
    let mut mapped = serve("asking the maplet", &|key| store.candidates(key))?;
    filtered.bytes = filters.iter().map(CuckooFilter::memory_bytes).sum();
    filtered.expected = filters.iter().map(CuckooFilter::false_positive_rate).sum();
    (mapped.bytes, mapped.expected) =
        (store.maplet.memory_bytes(), store.maplet.false_positive_rate());

    // Lookups go on until all merges are done.
    let is_done = AtomicBool::new(false);
    let merging = thread::scope(|scope| {
        let lookups = scope.spawn(|| {
            let choose = |key| store.candidates(key);
            store.serve(data.keys, threads, &choose, |_| !is_done.load(Ordering::Relaxed))
        });
        let mut merges =
            (0..MERGES).progress_with(progress_bar("merging partitions", u64::from(MERGES)));
        let merged = merges.try_for_each(|n| store.merge(2 * n, 2 * n + 1, || {}));
        is_done.store(true, Ordering::Relaxed);
        merged.and(lookups.join().expect("no panic"))
    });
    let mut merging = merging?;
    merging.wrong += store.check()?;
    store.save()?;
    drop(store);

    crash(folder, data)?;
    let start = Instant::now();
    let (store, replayed) = Store::open(folder, data)?;
    let restart = start.elapsed();
    let choose = |key| store.candidates(key);
    let mut restarted = store.serve(data.keys + data.new, threads, &choose, |done| done < each)?;
    restarted.wrong += store.check()?;

    let tallies = [all, filtered, mapped, merging, restarted];
    match report(&tallies, replayed, restart) {
        // The reader of the table is gone; the exit status still tells the result.
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(tallies.iter().map(|tally| tally.wrong).sum()),
    }
}

/// Which keys there are, by number: first those of the beginning, then those that come at the end.
#[derive(Clone, Copy)]
struct Data {
    keys: u64,
    new: u64,
}

impl Data {
    /// The times of a key, a bit for each: one to three.
    fn times(self, number: u64) -> u64 {
        if number >= self.keys {
            return 1 << NEWEST;
        }
        let random = key(!number);
        (0..=random % 3).fold(0, |times, n| times | 1 << (random >> (8 + 8 * n) & 63))
    }
}

/// The key of a number: a permutation of the 64-bit numbers (the finalizer of `SplitMix64`).
fn key(number: u64) -> u64 {
    let x = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// What is stored of a row.
fn record(key: u64) -> [u8; 64] {
    [key.to_le_bytes(); 8].concat().try_into().expect("64 bytes")
}

/// The numbers whose bits are set.
fn members(set: u64) -> impl Iterator<Item = u8> {
    (0..PARTITIONS).filter(move |member| set >> member & 1 == 1)
}

/// Which partitions to ask for a key: a bit for each.
type Choose<'a> = &'a (dyn Fn(u64) -> u64 + Sync);

struct Store {
    folder: PathBuf,
    /// By number; `None` when merged into another one.
    partitions: Vec<RwLock<Option<Database>>>,
    maplet: Maplet,
    data: Data,
    /// The number of the last change. Whoever writes holds this lock.
    last_change: Mutex<u64>,
}

impl Store {
    fn path(folder: &Path, partition: u8) -> PathBuf {
        folder.join(format!("{partition:02}.redb"))
    }

    /// A store with the first keys, and the filters that the maplet is compared with.
    fn create(
        folder: &Path,
        data: Data,
    ) -> Result<(Self, Vec<CuckooFilter<Fp16x4, StableHashBuilder>>)> {
        let mut keys = vec![Vec::new(); usize::from(PARTITIONS)];
        for number in 0..data.keys {
            members(data.times(number)).for_each(|time| keys[usize::from(time)].push(key(number)));
        }
        let pairs = keys.iter().map(Vec::len).sum::<usize>() + data.new as usize;
        // A key with several values uses up slots of its two buckets: with no room to spare, inserts fail.
        let builder = CuckooMaplet::builder().capacity(pairs + pairs / 4).value_bits(VALUE_BITS);
        let maplet = builder.hasher(HASHER).build()?;
        let mut filters = Vec::new();
        let mut partitions = Vec::new();
        let bar = progress_bar("filling the partitions", u64::from(PARTITIONS));
        for (partition, mut keys) in (0..PARTITIONS).zip(keys).progress_with(bar) {
            keys.sort_unstable();
            let filter = CuckooFilter::builder().capacity(keys.len()).hasher(HASHER).build()?;
            let database = database().create(Self::path(folder, partition))?;
            let transaction = database.begin_write()?;
            let mut rows = transaction.open_table(ROWS)?;
            for key in keys {
                maplet.insert(&key, partition.into())?;
                filter.insert(&key)?;
                rows.insert((key, partition), record(key).as_slice())?;
            }
            drop(rows);
            transaction.open_table(CHANGES)?;
            transaction.commit()?;
            filters.push(filter);
            partitions.push(RwLock::new(Some(database)));
        }
        let folder = folder.to_owned();
        Ok((Self { folder, partitions, maplet, data, last_change: Mutex::new(0) }, filters))
    }

    /// The store as it was after the last transaction, and how many changes the snapshot did not have.
    fn open(folder: &Path, data: Data) -> Result<(Self, usize)> {
        let mut file = File::open(folder.join("maplet"))?;
        let mut saved = [0; 8];
        file.read_exact(&mut saved)?;
        let saved = u64::from_le_bytes(saved);
        let maplet = Maplet::restore(file, HASHER)?;

        let mut partitions = Vec::new();
        // A merge copies the changes of the old partition, too: each of them is applied once.
        let mut newer = BTreeMap::new();
        for partition in 0..PARTITIONS {
            let path = Self::path(folder, partition);
            let database = path.exists().then(|| database().open(path)).transpose()?;
            if let Some(database) = &database {
                for change in database.begin_read()?.open_table(CHANGES)?.range(saved + 1..)? {
                    let (number, change) = change?;
                    newer.insert(number.value(), change.value());
                }
            }
            partitions.push(RwLock::new(database));
        }
        let last_change = Mutex::new(newer.keys().next_back().copied().unwrap_or(saved));
        let store = Self { folder: folder.to_owned(), partitions, maplet, data, last_change };
        for change in newer.values() {
            store.apply(*change)?;
        }
        for merged in newer.values().filter_map(|change| change.1) {
            store.drop_partition(merged)?;
        }
        Ok((store, newer.len()))
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

    /// The partitions that may hold a key.
    fn candidates(&self, key: u64) -> u64 {
        self.maplet.get(&key).fold(0, |set, partition| set | 1 << partition)
    }

    /// The times of the rows of a key. Counts what it takes.
    fn look_up(&self, key: u64, choose: Choose, tally: &mut Tally) -> Result<u64> {
        // Again after a merge, and no two merges end within one lookup: each takes far longer.
        const ROUNDS: usize = 3;
        let mut found = 0;
        for _ in 0..ROUNDS {
            let mut is_gone = false;
            for partition in members(choose(key)) {
                match self.read(partition, key)? {
                    Some(times) => {
                        tally.reads += 1;
                        tally.useless += u64::from(times == 0);
                        found |= times;
                    }
                    None => is_gone = true,
                }
            }
            if !is_gone {
                break;
            }
            tally.again += 1;
        }
        Ok(found)
    }

    /// The times of the rows that a key has in a partition; `None` if the partition is gone.
    fn read(&self, partition: u8, key: u64) -> Result<Option<u64>> {
        let partition = self.partitions[usize::from(partition)].read();
        let Some(database) = &*partition else { return Ok(None) };
        let mut times = 0;
        for row in database.begin_read()?.open_table(ROWS)?.range((key, 0)..=(key, u8::MAX))? {
            times |= 1 << row?.0.value().1;
        }
        Ok(Some(times))
    }

    /// Adds rows to the newest partition: into the maplet before the commit.
    fn append(&self, keys: impl Iterator<Item = u64>) -> Result<()> {
        let mut last_change = self.last_change.lock();
        let partition = self.partitions[usize::from(NEWEST)].read();
        let transaction =
            partition.as_ref().ok_or("the newest partition is gone")?.begin_write()?;
        let mut rows = transaction.open_table(ROWS)?;
        let mut changes = transaction.open_table(CHANGES)?;
        for key in keys {
            let change = (key, None, Some(NEWEST));
            self.apply(change)?;
            *last_change += 1;
            changes.insert(*last_change, change)?;
            rows.insert((key, NEWEST), record(key).as_slice())?;
        }
        drop((rows, changes));
        Ok(transaction.commit()?)
    }

    /// Moves all rows of a partition into another one. Calls `halfway` when half of the pairs of the maplet
    /// are replaced.
    fn merge(&self, old: u8, new: u8, halfway: impl FnOnce()) -> Result<()> {
        let mut last_change = self.last_change.lock();
        // Copy.
        let changes = {
            let partitions =
                [old, new].map(|partition| self.partitions[usize::from(partition)].read());
            let [Some(from), Some(into)] =
                partitions.each_ref().map(|partition| partition.as_ref())
            else {
                return Err("a partition is gone already".into());
            };
            let (reading, transaction) = (from.begin_read()?, into.begin_write()?);
            let mut rows = transaction.open_table(ROWS)?;
            let mut recorded = transaction.open_table(CHANGES)?;
            let mut changes: Vec<Change> = Vec::new();
            for row in reading.open_table(ROWS)?.iter()? {
                let (name, record) = row?;
                let (key, _) = name.value();
                if changes.last().is_none_or(|&(last, ..)| last != key) {
                    let is_there = rows.range((key, 0)..=(key, u8::MAX))?.next().is_some();
                    changes.push((key, Some(old), (!is_there).then_some(new)));
                }
                rows.insert(name.value(), record.value())?;
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
            changes
        };
        // Replace.
        let (first, second) = changes.split_at(changes.len() / 2);
        first.iter().try_for_each(|&change| self.apply(change))?;
        halfway();
        second.iter().try_for_each(|&change| self.apply(change))?;
        self.drop_partition(old)
    }

    /// Makes a change in the maplet.
    fn apply(&self, (key, old, new): Change) -> Result<()> {
        let is_done = match (old, new) {
            (None, Some(new)) => self.maplet.insert(&key, new.into()).map(|()| true)?,
            (Some(old), Some(new)) => self.maplet.replace(&key, old.into(), new.into())?,
            (Some(old), None) => self.maplet.remove(&key, old.into()),
            (None, None) => false,
        };
        if is_done { Ok(()) } else { Err("the maplet lacks a pair of the store".into()) }
    }

    /// Deletes the file of a partition, if it is still there. Waits for lookups that read it.
    fn drop_partition(&self, partition: u8) -> Result<()> {
        match self.partitions[usize::from(partition)].write().take() {
            Some(database) => {
                drop(database);
                Ok(fs::remove_file(Self::path(&self.folder, partition))?)
            }
            None => Ok(()),
        }
    }

    /// How many pairs of the partitions the maplet lacks, or has in excess.
    fn check(&self) -> Result<u64> {
        let (mut pairs, mut missing) = (0_u64, 0);
        for (partition, database) in self.partitions.iter().enumerate() {
            let database = database.read();
            let Some(database) = &*database else { continue };
            let mut last = None;
            for row in database.begin_read()?.open_table(ROWS)?.iter()? {
                let (key, _) = row?.0.value();
                if last.replace(key) != Some(key) {
                    pairs += 1;
                    missing += u64::from(self.candidates(key) >> partition & 1 == 0);
                }
            }
        }
        Ok(missing + pairs.abs_diff(self.maplet.len() as u64))
    }

    /// Lets threads look up keys, half of which do not exist, while `goes_on` of the lookups that a thread
    /// has done.
    fn serve(
        &self,
        present: u64,
        threads: u64,
        choose: Choose,
        goes_on: impl Fn(u64) -> bool + Sync,
    ) -> Result<Tally> {
        let start = Instant::now();
        let work = |thread| -> Result<Tally> {
            let mut random = SmallRng::seed_from_u64(thread);
            let mut tally = Tally::default();
            while goes_on(tally.lookups) {
                let number = random.random_range(0..2 * present);
                let right = if number < present { self.data.times(number) } else { 0 };
                let found = self.look_up(key(number), choose, &mut tally)?;
                tally.lookups += 1;
                tally.wrong += u64::from(found != right);
            }
            Ok(tally)
        };
        thread::scope(|scope| {
            let work = &work;
            let workers: Vec<_> =
                (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
            let mut sum = Tally::default();
            for worker in workers {
                let tally = worker.join().expect("no panic")?;
                sum.lookups += tally.lookups;
                sum.reads += tally.reads;
                sum.useless += tally.useless;
                sum.again += tally.again;
                sum.wrong += tally.wrong;
            }
            sum.elapsed = start.elapsed();
            Ok(sum)
        })
    }
}

fn database() -> redb::Builder {
    let mut builder = Database::builder();
    builder.set_cache_size(CACHE_BYTES);
    builder
}

/// Of a step on standard error, if that is a terminal.
fn progress_bar(label: &'static str, steps: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} [{wide_bar}] {percent:>3} %");
    ProgressBar::new(steps).with_style(style.expect("a valid template")).with_message(label)
}

/// Starts a process that opens the store and writes, and kills it in the middle of a merge.
fn crash(folder: &Path, data: Data) -> Result<()> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--crash", "--keys", &data.keys.to_string(), "--folder"])
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let stdout = child.stdout.as_mut().expect("a pipe");
    let is_ready = stdout.read_exact(&mut [0]);
    child.kill()?;
    child.wait()?;
    is_ready.map_err(|_| "the process to be killed ended by itself".into())
}

/// Adds the new keys, merges two partitions, and merges the result until it is killed.
fn write_until_killed(folder: &Path, data: Data) -> Result<u64> {
    let (store, _) = Store::open(folder, data)?;
    store.append((data.keys..data.keys + data.new).map(key))?;
    store.merge(1, 3, || {})?;
    store.merge(3, 5, || {
        println!();
        // Ends when the other process does, if that fails to kill it.
        let _ = io::stdin().read(&mut [0]);
        process::exit(1);
    })?;
    Ok(0)
}

#[derive(Default)]
struct Tally {
    lookups: u64,
    /// Partitions asked.
    reads: u64,
    /// Those that did not have the key.
    useless: u64,
    /// Lookups that started again, because a partition was gone.
    again: u64,
    wrong: u64,
    elapsed: Duration,
    /// What the filters, or the maplet, take, and how many useless reads per lookup they promise.
    bytes: usize,
    expected: f64,
}

type Figure = fn(&Tally) -> String;

fn report(tallies: &[Tally; 5], replayed: usize, restart: Duration) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    let labels = ["all", "filters", "maplet", "merging", "restarted"];
    write!(stdout, "{:<26}", "")?;
    labels.iter().try_for_each(|label| write!(stdout, "{label:>11}"))?;
    let rows: [(&str, Figure); 8] = [
        ("lookups", |tally| tally.lookups.to_string()),
        ("lookups per second", |tally| {
            format!("{:.0}", tally.lookups as f64 / tally.elapsed.as_secs_f64())
        }),
        ("partitions read", |tally| tally.reads.to_string()),
        ("useless reads", |tally| tally.useless.to_string()),
        ("useless reads, expected", |tally| match tally.bytes {
            0 => "-".into(),
            _ => format!("{:.0}", tally.expected * tally.lookups as f64),
        }),
        ("lookups started again", |tally| tally.again.to_string()),
        ("bytes in memory", |tally| tally.bytes.to_string()),
        ("wrong answers", |tally| tally.wrong.to_string()),
    ];
    for (label, figure) in rows {
        write!(stdout, "\n{label:<26}")?;
        tallies.iter().try_for_each(|tally| write!(stdout, "{:>11}", figure(tally)))?;
    }
    writeln!(stdout, "\n{:<26}{:>11}", "partitions merged", MERGES)?;
    writeln!(stdout, "{:<26}{replayed:>11}", "restart: changes replayed")?;
    writeln!(stdout, "{:<26}{:>11}", "restart: ms", restart.as_millis())
}
