//! A filter that survives its process, with inserts and removals: a journal, and a snapshot with its position.
//!
//! For each of several places, the program starts itself as a process that writes, and that ends there. Then it opens
//! the store again, and checks that the filter has exactly the items of the journal.
//!
//! ```text
//! cargo run --release --example restart
//! ```

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::{env, thread};

use coucal::{Fp16x4, GrowableCuckooFilter, StableHashBuilder};
use parking_lot::Mutex;

type Filter = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// The same in each run: a snapshot is of use only with the hasher of its filter.
const HASHER: StableHashBuilder = StableHashBuilder::new(7);

/// A change of the filter, an entry of the journal.
#[derive(Clone, Copy)]
enum Change {
    Insert(u64),
    Remove(u64),
}

const ENTRY_LEN: usize = 9;

impl Change {
    fn encode(self) -> [u8; ENTRY_LEN] {
        let (Self::Insert(key) | Self::Remove(key)) = self;
        let mut entry = [u8::from(matches!(self, Self::Remove(_))); ENTRY_LEN];
        entry[1..].copy_from_slice(&key.to_le_bytes());
        entry
    }

    fn decode([kind, key @ ..]: [u8; ENTRY_LEN]) -> Self {
        let key = u64::from_le_bytes(key);
        if kind == 0 { Self::Insert(key) } else { Self::Remove(key) }
    }

    fn apply(self, filter: &Filter) -> Result<()> {
        match self {
            Self::Insert(key) => Ok(filter.insert(&key)?),
            Self::Remove(key) if filter.remove(&key) => Ok(()),
            Self::Remove(key) => Err(format!("{key} is not in the filter").into()),
        }
    }
}

struct Store {
    folder: PathBuf,
    filter: Filter,
    /// A change of the filter holds this from its first step to its last.
    journal: Mutex<Journal>,
}

struct Journal {
    file: File,
    /// How many entries it has. The filter has all of them.
    len: u64,
}

impl Store {
    fn change(&self, next: impl FnOnce(u64) -> Change) -> Result<()> {
        let mut journal = self.journal.lock();
        let change = next(journal.len);
        change.apply(&self.filter)?;
        // To survive a loss of power, call `sync_data` as well, and treat its errors in the same way.
        if let Err(error) = journal.file.write_all(&change.encode()) {
            // Another thread must not write behind an entry that was cut. The next process starts from the journal,
            // which may have this change or not.
            eprintln!("the journal: {error}");
            process::exit(1);
        }
        journal.len += 1;
        Ok(())
    }

    fn save(&self) -> Result<()> {
        let (position, snapshot) = {
            let journal = self.journal.lock(); // so the snapshot has these entries, and no others
            journal.file.sync_data()?; // the journal on the disk is never behind the snapshot
            (journal.len, self.filter.snapshot()?)
        };
        // From here on, other threads may write.
        let new = self.folder.join("filter.new");
        let mut file = File::create(&new)?;
        let position = position.to_le_bytes();
        file.write_all(&position)?;
        file.write_all(&HASHER.hash_one(position).to_le_bytes())?; // a snapshot has its own checksums
        file.write_all(snapshot.as_bytes())?;
        file.sync_all()?; // the bytes before the name
        fs::rename(new, self.folder.join("filter"))?;
        Ok(())
    }

    fn open(folder: &Path) -> Result<Self> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(folder.join("journal"))?;
        let len = file.metadata()?.len() / ENTRY_LEN as u64;
        file.set_len(len * ENTRY_LEN as u64)?; // without an entry that was cut

        // If nothing was saved, or the file is damaged, all entries are applied.
        let (position, filter) = match Self::load(folder) {
            Ok((position, filter)) if position <= len => (position, filter),
            _ => (0, Filter::with_hasher(HASHER)),
        };
        file.seek(SeekFrom::Start(position * ENTRY_LEN as u64))?;
        let mut entries = BufReader::new(&file);
        for _ in position..len {
            let mut entry = [0; ENTRY_LEN];
            entries.read_exact(&mut entry)?;
            Change::decode(entry).apply(&filter)?;
        }
        let journal = Mutex::new(Journal { file, len });
        Ok(Self { folder: folder.to_owned(), filter, journal })
    }

    fn load(folder: &Path) -> Result<(u64, Filter)> {
        let mut file = File::open(folder.join("filter"))?;
        let (mut position, mut checksum) = ([0; 8], [0; 8]);
        file.read_exact(&mut position)?;
        file.read_exact(&mut checksum)?;
        if HASHER.hash_one(position) != u64::from_le_bytes(checksum) {
            return Err("the position is damaged".into());
        }
        Ok((u64::from_le_bytes(position), Filter::restore(file, HASHER)?))
    }
}

/// Of three changes, two insert the next keys, and one removes the oldest key.
fn next(position: u64) -> Change {
    let removed = position / 3;
    if position % 3 == 2 { Change::Remove(removed) } else { Change::Insert(position - removed) }
}

/// Returns the keys that are left after `len` changes.
fn keys(len: u64) -> Range<u64> {
    len / 3..len - len / 3
}

/// Where the process that writes ends.
const PLACES: [&str; 4] = ["before a save", "in a save", "after a save", "in an entry"];
const ENDED: i32 = 3;

/// Two threads write, a third one saves, until the process ends.
fn write(folder: &Path, place: &str) -> Result<()> {
    let store = Store::open(folder)?;
    let write_some = || (0..5000).try_for_each(|_| store.change(next));
    write_some()?; // so the snapshot has entries, however early it is taken
    thread::scope(|scope| {
        let writers = [scope.spawn(write_some), scope.spawn(write_some)];
        if place != "before a save" {
            store.save()?;
        }
        if place == "in a save" {
            fs::write(folder.join("filter.new"), "half of a snapshot")?;
            process::exit(ENDED); // while the others write
        }
        writers.into_iter().try_for_each(|writer| writer.join().expect("no panic"))
    })?;
    if place == "in an entry" {
        store.journal.lock().file.write_all(&[1, 2, 3])?;
    }
    process::exit(ENDED)
}

/// Opens the store, and checks that it has the items of the journal, and no others.
fn check(folder: &Path, place: &str) -> Result<()> {
    let position = Store::load(folder).map_or(0, |(position, _)| position);
    Store::open(folder)?.change(next)?; // the journal can be continued, and then opened again
    let store = Store::open(folder)?;
    let len = store.journal.lock().len;
    // Each item can be removed, and then nothing is left.
    if !(keys(len).all(|key| store.filter.remove(&key)) && store.filter.is_empty()) {
        return Err(format!("ended {place}: the filter differs from the journal").into());
    }
    let from = if position > 0 { "snapshot and journal" } else { "journal alone" };
    Ok(writeln!(io::stdout(), "ended {place}: exact, from {from}")?)
}

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    match &arguments[..] {
        [] => {}
        [folder, place] if PLACES.contains(&place.as_str()) => {
            return write(Path::new(folder), place);
        }
        _ => return Err("restart takes no arguments: call it without any".into()),
    }
    let folder = tempfile::tempdir()?;
    for place in PLACES {
        let path = folder.path().join(place);
        fs::create_dir(&path)?;
        let status = Command::new(env::current_exe()?).arg(&path).arg(place).status()?;
        if status.code() != Some(ENDED) {
            return Err(format!("{place}: {status}").into());
        }
        check(&path, place)?;
        if place == "after a save" {
            let whole = fs::read(path.join("filter"))?;
            for (at, part) in [(0, "position"), (100, "snapshot")] {
                let mut bytes = whole.clone();
                bytes[at] ^= 4;
                fs::write(path.join("filter"), bytes)?;
                check(&path, &format!("and the {part} was damaged"))?;
            }
        }
    }
    Ok(())
}
