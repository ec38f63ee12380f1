//! A store of sorted runs that are merged (an LSM tree), and a maplet that says which runs hold a key.
//!
//! The value of a pair is the number of a run. The list of runs alone determines the maplet: one pair for each key of
//! each run. So a snapshot of the maplet is saved with its list, and after a crash this list is compared with the
//! present one: pairs of runs that are only in the saved list are removed by their number, and pairs of runs that are
//! only in the present list are inserted.
//!
//! A file of a run has two blocks: its rows, and a filter of their keys. A process that only reads has no maplet: it
//! keeps these blocks in a cache, and looks keys up in the bytes of each filter, without a copy.
//!
//! The program starts itself as a process that writes and looks up, and ends this process at each step. Every answer is
//! checked at the step, and again when the store is opened after it, with the number of pairs. A file that is cut, or
//! has a wrong bit, is an error that names it.
//!
//! ```text
//! cargo run --release --example lsm
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs::{self, File};
use std::hash::BuildHasher;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Arc, OnceLock};
use std::{env, io, iter, mem, thread};

use coucal::{CuckooFilter, CuckooFilterView, Fp21x3, GrowableCuckooMaplet, StableHashBuilder};
use parking_lot::{Mutex, RwLock};

type Maplet = GrowableCuckooMaplet<Fp21x3, StableHashBuilder>;
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

const HASHER: StableHashBuilder = StableHashBuilder::new(7);
const VALUE_BITS: u32 = 6;

/// A version, and the row; `None` if this version deleted it.
type Row = (u64, Option<String>);
/// A file, sorted by key. Here all of it is in memory as well, in place of reads of the file.
type Run = BTreeMap<u64, Row>;
type Runs = BTreeMap<u32, Arc<Run>>;

struct Store {
    folder: PathBuf,
    maplet: Maplet,
    /// Locked for a moment at a time. A reader that has the list keeps it as it is.
    runs: RwLock<Arc<Runs>>,
    /// The numbers of the runs in the saved maplet. Each change of the store holds this.
    saved: Mutex<BTreeSet<u32>>,
    /// The step at which the process ends, to show what a crash leaves.
    end: OnceLock<String>,
}

impl Store {
    fn get(&self, key: u64) -> Option<String> {
        loop {
            let runs = self.runs();
            let candidates = self.maplet.get(&key);
            let newest = candidates.filter_map(|number| runs.get(&number)?.get(&key)).max();
            let row = newest.and_then(|(_, row)| row.clone());
            if Arc::ptr_eq(&runs, &self.runs()) {
                return row;
            } // otherwise a run was added or dropped: ask again
        }
    }

    fn flush(&self, rows: Run) -> Result<()> {
        let saved = self.saved.lock();
        let number = self.unused(&saved).next().ok_or("all numbers are in use")?;
        self.write(&file_name(number), &encode(&rows)?)?;
        let pairs: Vec<(u64, u32)> = rows.keys().map(|&key| (key, number)).collect();
        let mut runs = self.runs();
        Arc::make_mut(&mut runs).insert(number, Arc::new(rows));
        let inserted = self.maplet.insert_many(&pairs).map_err(Into::into);
        if let Err(failed) = inserted.and_then(|()| self.commit(&runs)) {
            self.maplet.remove_value(number);
            return Err(failed); // its rows are in the journal
        }
        *self.runs.write() = runs;
        Ok(())
    }

    /// Merges two runs into a new one. After an error in step 3, the maplet lacks pairs of the new run: do not save or
    /// change the store any more, but open it again.
    fn compact(&self, newer: u32, older: u32) -> Result<()> {
        let saved = self.saved.lock();
        let mut runs = self.runs();
        let merged = self.unused(&saved).next().ok_or("all numbers are in use")?;
        let [upper, lower] = [newer, older].map(|number| Arc::clone(&runs[&number]));

        // 1. Write the new run: of each key the newer version, and no deletion of a key that no other run has.
        let mut rows = Run::clone(&lower);
        rows.extend(upper.iter().map(|(&key, row)| (key, row.clone())));
        let has_other =
            |key: &u64| self.maplet.get(key).any(|number| ![newer, older].contains(&number));
        rows.retain(|key, (_, row)| row.is_some() || has_other(key));
        self.write(&file_name(merged), &encode(&rows)?)?;
        self.reach("a compaction, before its commit");

        // 2. Commit: on disk in place of the old runs, for readers beside them.
        let rows = Arc::new(rows);
        let all = Arc::make_mut(&mut runs);
        all.insert(merged, Arc::clone(&rows));
        let before = mem::replace(&mut *self.runs.write(), Arc::new(all.clone()));
        all.retain(|number, _| ![newer, older].contains(number));
        if let Err(failed) = self.commit(&runs) {
            *self.runs.write() = before;
            return Err(failed);
        }
        self.reach("a compaction, before its pairs are replaced");

        // 3. Replace the pairs: one for each key of the new run.
        let replace = |key: &u64, old: u32| -> Result<()> {
            let is_replaced = self.maplet.replace(key, old, merged)?;
            if is_replaced { Ok(()) } else { Err(format!("{key} has no pair with {old}").into()) }
        };
        for key in upper.keys().filter(|key| rows.contains_key(key)) {
            replace(key, newer)?;
        }
        self.reach("a compaction, when some pairs are replaced");
        for key in lower.keys().filter(|key| rows.contains_key(key) && !upper.contains_key(key)) {
            replace(key, older)?;
        }

        // 4. Drop the old runs, then what is left of their pairs.
        *self.runs.write() = runs;
        for number in [newer, older] {
            self.maplet.remove_value(number);
        }
        self.delete_files()
    }

    /// Saves the maplet, and the list of runs that it is for. Lookups go on; changes wait.
    fn save(&self) -> Result<()> {
        let mut saved = self.saved.lock();
        let numbers: BTreeSet<u32> = self.runs().keys().copied().collect();
        let mut bytes = vec![numbers.len() as u8];
        bytes.extend(numbers.iter().map(|&number| number as u8));
        bytes.extend(self.maplet.snapshot()?.as_bytes());
        self.write("maplet", &bytes)?;
        self.reach("a save, when its file is written");
        *saved = numbers;
        Ok(())
    }

    fn open(folder: &Path) -> Result<Self> {
        let live = live(folder)?;
        // If nothing was saved, or the file cannot be used now, all pairs are inserted.
        let (saved, maplet) = if let Ok(loaded) = Self::load(folder) {
            loaded
        } else {
            // New runs may get numbers of its list. So no later process may read this list.
            File::create(folder.join("maplet"))?.sync_all()?;
            (BTreeSet::new(), Self::new_maplet()?)
        };
        for &number in saved.difference(&live) {
            maplet.remove_value(number);
        }
        let mut runs = Runs::new();
        for &number in &live {
            let run = read(folder, number)?;
            if !saved.contains(&number) {
                maplet.insert_all(run.keys().map(|&key| (key, number)))?;
            }
            runs.insert(number, Arc::new(run));
        }
        let runs = RwLock::new(Arc::new(runs));
        let (folder, saved, end) = (folder.to_owned(), Mutex::new(saved), OnceLock::new());
        let store = Self { folder, maplet, runs, saved, end };
        store.delete_files()?; // of runs that were not committed
        Ok(store)
    }

    fn load(folder: &Path) -> Result<(BTreeSet<u32>, Maplet)> {
        let file = whole(folder, "maplet")?;
        let (len, rest) = file.split_first().ok_or("no list")?;
        let (numbers, snapshot) = rest.split_at_checked((*len).into()).ok_or("a part of a list")?;
        let numbers = numbers.iter().map(|&number| number.into()).collect();
        Ok((numbers, Maplet::from_bytes(snapshot, HASHER)?))
    }

    fn new_maplet() -> Result<Maplet> {
        Ok(GrowableCuckooMaplet::builder().value_bits(VALUE_BITS).hasher(HASHER).build()?)
    }

    fn runs(&self) -> Arc<Runs> {
        Arc::clone(&self.runs.read())
    }

    /// The numbers that neither the list of runs nor the saved one has.
    fn unused(&self, saved: &BTreeSet<u32>) -> impl Iterator<Item = u32> {
        let runs = self.runs();
        (0..1 << VALUE_BITS)
            .filter(move |number| !runs.contains_key(number) && !saved.contains(number))
    }

    /// Writes the list of runs: what it names is in the store after a crash.
    fn commit(&self, runs: &Runs) -> Result<()> {
        let numbers: Vec<u8> = runs.keys().map(|&number| number as u8).collect();
        self.write("runs", &numbers)
    }

    /// Writes a whole file, with a checksum, in place of an old one: after a crash it is the old one or the new one.
    fn write(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let new = self.folder.join(format!("{name}.new"));
        let mut file = File::create(&new)?;
        file.write_all(bytes)?;
        file.write_all(&HASHER.hash_one(bytes).to_le_bytes())?;
        file.sync_all()?;
        Ok(fs::rename(new, self.folder.join(name))?)
    }

    /// Deletes the files of runs that the list does not name.
    fn delete_files(&self) -> Result<()> {
        for number in self.unused(&BTreeSet::new()) {
            match fs::remove_file(self.folder.join(file_name(number))) {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error.into()),
                _ => {}
            }
        }
        Ok(())
    }

    fn reach(&self, step: &str) {
        if self.end.get().is_some_and(|end| end == step) {
            let runs = self.runs();
            let versions = runs.values().flat_map(|run| run.values()).map(|row| row.0 + 1).max();
            let wrong = wrong_answers(|key| self.get(key), versions.unwrap_or(0));
            process::exit(if wrong == 0 { ENDED } else { 1 });
        }
    }
}

fn file_name(number: u32) -> String {
    format!("run-{number}")
}

/// The bytes of a file that is whole, without their checksum.
fn whole(folder: &Path, name: &str) -> Result<Vec<u8>> {
    let mut file = fs::read(folder.join(name))?;
    match file.split_last_chunk() {
        Some((bytes, checksum)) if HASHER.hash_one(bytes) == u64::from_le_bytes(*checksum) => {
            file.truncate(bytes.len());
            Ok(file)
        }
        _ => Err(format!("{name} is damaged: take it from a copy").into()),
    }
}

/// The blocks, and the length of the first one.
fn encode(rows: &Run) -> Result<Vec<u8>> {
    let filter = CuckooFilter::with_capacity_and_hasher(rows.len(), HASHER);
    filter.insert_all(rows.keys())?;
    // A line for each row: the key, the version, and the row unless it was deleted.
    let line = |(key, (version, row)): (&u64, &Row)| {
        format!("{key} {version} {}\n", row.as_deref().unwrap_or_default())
    };
    let mut file = rows.iter().map(line).collect::<String>().into_bytes();
    let len = file.len() as u64;
    file.extend(filter.snapshot()?.as_bytes());
    file.extend(len.to_le_bytes());
    Ok(file)
}

/// The two blocks of a file that is whole.
fn blocks(folder: &Path, number: u32) -> Result<[Vec<u8>; 2]> {
    let file = whole(folder, &file_name(number))?;
    let (blocks, len) = file.split_last_chunk().ok_or("no length of a block")?;
    let (rows, filter) = blocks.split_at(u64::from_le_bytes(*len) as usize);
    Ok([rows.to_vec(), filter.to_vec()])
}

fn read(folder: &Path, number: u32) -> Result<Run> {
    let [rows, _] = blocks(folder, number)?;
    decode(&rows)
}

fn decode(rows: &[u8]) -> Result<Run> {
    let row = |line: &str| {
        let mut parts = line.splitn(3, ' ');
        let mut next = || parts.next().ok_or(io::Error::from(ErrorKind::InvalidData));
        let (key, version, row) = (next()?.parse()?, next()?.parse()?, next()?);
        Ok((key, (version, (!row.is_empty()).then(|| row.to_owned()))))
    };
    str::from_utf8(rows)?.lines().map(row).collect()
}

/// The numbers in the list of runs.
fn live(folder: &Path) -> Result<BTreeSet<u32>> {
    if !folder.join("runs").try_exists()? {
        return Ok(BTreeSet::new());
    }
    Ok(whole(folder, "runs")?.into_iter().map(u32::from).collect())
}

/// The blocks of the runs, as a process that only reads has them.
struct Cache(Vec<[Vec<u8>; 2]>);

impl Cache {
    fn open(folder: &Path) -> Result<Self> {
        let blocks = live(folder)?.into_iter().map(|number| blocks(folder, number));
        Ok(Self(blocks.collect::<Result<_>>()?))
    }

    fn get(&self, key: u64) -> Result<Option<String>> {
        let mut newest = None;
        for [rows, filter] in &self.0 {
            // Trusted: the checksum of the file was right when its blocks came into the cache.
            if CuckooFilterView::from_trusted_bytes(filter, HASHER)?.contains(&key) {
                newest = newest.max(decode(rows)?.remove(&key));
            }
        }
        Ok(newest.and_then(|(_, row)| row))
    }
}

const STEPS: [&str; 4] = [
    "a compaction, before its commit",
    "a compaction, before its pairs are replaced",
    "a compaction, when some pairs are replaced",
    "a save, when its file is written",
];
const ENDED: i32 = 3;
const VERSIONS: u64 = 24;

/// The rows of a version: key 0, and keys of which earlier versions have some. Some of these are deleted.
fn rows_of(version: u64) -> Run {
    let first = version * 40;
    let row = |key| (key % 7 != 2 || key >= first + 40).then(|| format!("row {version}"));
    let keys = iter::once(0).chain(first.max(1)..first + 100);
    keys.map(|key| (key, (version, row(key)))).collect()
}

/// Returns how many keys have a wrong answer after `versions` versions.
fn wrong_answers(get: impl Fn(u64) -> Option<String>, versions: u64) -> usize {
    let mut expected = Run::new();
    (0..versions).for_each(|version| expected.extend(rows_of(version)));
    let row = |key| expected.get(&key).and_then(|(_, row)| row.clone());
    (0..VERSIONS * 50).filter(|&key| get(key) != row(key)).count()
}

/// Writes versions, and prints the number of each that is in the store, until the process ends at a step.
fn write(folder: &Path, end: &str) -> Result<()> {
    let store = Arc::new(Store::open(folder)?);
    let reading = Arc::clone(&store);
    thread::spawn(move || {
        let version = |key| reading.get(key)?.strip_prefix("row ")?.parse::<u64>().ok();
        let mut newest = None;
        loop {
            // Key 0 is overwritten all the time, and key 1 never.
            let seen = version(0);
            if seen < newest || newest.is_some() && version(1) != Some(0) {
                eprintln!("looked up: {seen:?} after {newest:?}");
                process::exit(1);
            }
            newest = seen;
        }
    });
    for version in 0..VERSIONS {
        store.flush(rows_of(version))?;
        writeln!(io::stdout(), "{version}")?;
        if version == VERSIONS / 2 {
            store.end.get_or_init(|| end.to_owned());
        }
        // The two oldest runs, and the two newest ones, in turn.
        match runs_by_age(&store)[..] {
            [older, newer, _, _, ..] if version % 2 == 0 => store.compact(newer, older)?,
            [_, _, .., older, newer] => store.compact(newer, older)?,
            _ => {}
        }
        if version % 5 == 4 {
            store.save()?;
        }
    }
    Err(format!("there is no step {end:?}").into())
}

fn runs_by_age(store: &Store) -> Vec<u32> {
    let runs = store.runs();
    let mut numbers: Vec<u32> = runs.keys().copied().collect();
    numbers.sort_by_key(|number| runs[number].values().map(|&(version, _)| version).max());
    numbers
}

/// Opens the store, and checks all answers, its own and those from the filters in the files; and the number of pairs.
fn check(folder: &Path, versions: u64) -> Result<usize> {
    let (store, cache) = (Store::open(folder)?, Cache::open(folder)?);
    let from_cache = |key| cache.get(key).expect("whole blocks");
    let wrong = wrong_answers(|key| store.get(key), versions) + wrong_answers(from_cache, versions);
    let pairs = store.runs().values().map(|run| run.len()).sum();
    if wrong > 0 || store.maplet.len() != pairs {
        return Err(format!("{wrong} wrong, {} pairs, not {pairs}", store.maplet.len()).into());
    }
    Ok(pairs)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [] => {}
        [folder, step] if STEPS.contains(&step.as_str()) => return write(Path::new(folder), step),
        _ => return Err("lsm takes no arguments: call it without any".into()),
    }
    let (folder, mut out) = (tempfile::tempdir()?, io::stdout());
    let mut last = (PathBuf::new(), 0);
    for (n, step) in STEPS.into_iter().enumerate() {
        let path = folder.path().join(n.to_string());
        fs::create_dir(&path)?;
        let run = Command::new(env::current_exe()?).arg(&path).arg(step).output()?;
        if run.status.code() != Some(ENDED) {
            return Err(format!("{step}: {} {}", run.status, run.stderr.escape_ascii()).into());
        }
        let versions = run.stdout.split(|&byte| byte == b'\n').count() as u64 - 1;
        let pairs = check(&path, versions).map_err(|error| format!("{step}: {error}"))?;
        writeln!(out, "ended in {step}: {versions} versions, {pairs} pairs, all right")?;
        last = (path, versions);
    }

    let (last, versions) = last;
    let first = live(&last)?.pop_first().ok_or("no run")?;
    for name in [file_name(first), "runs".into()] {
        let path = last.join(&name);
        let whole = fs::read(&path)?;
        let flipped = [&[whole[0] ^ 1], &whole[1..]].concat();
        for damaged in [&whole[..whole.len() - 1], &flipped] {
            fs::write(&path, damaged)?;
            let (Err(error), Err(_)) = (Store::open(&last), Cache::open(&last)) else {
                return Err(format!("{name} was damaged: no error").into());
            };
            writeln!(out, "{error}")?;
        }
        fs::write(&path, whole)?;
    }
    // The maplet is made anew from the runs, and nothing is left of the saved one.
    let path = last.join("maplet");
    let cut = fs::read(&path)?.split_off(1);
    fs::write(&path, cut)?;
    check(&last, versions)?;
    if fs::metadata(path)?.len() > 0 {
        return Err("a list that could not be read was kept".into());
    }
    Ok(())
}
