//! A complete copy of one shard in the memory of this machine.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use coucal::{Fp16x4, GrowableCuckooFilter, StableHashBuilder};
use parking_lot::{Mutex, RwLock};

use crate::log::{Entry, Id, Operation, Result, Shard};

/// All replicas must agree on the hashes, and so must a snapshot and the replica that loads it. If others choose the
/// keys, use a `KeyedHashBuilder` with a secret that all machines have.
type Filter = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;
const HASHER: StableHashBuilder = StableHashBuilder::new(7);

/// A filter, and the last entry of the log that is in it.
struct Replica {
    filter: Filter,
    applied: Mutex<Id>,
}

impl Replica {
    /// Loads the newest snapshot, or begins with an empty filter.
    fn load(shard: &mut Shard) -> Result<Self> {
        let (id, filter) = match shard.snapshot()? {
            Some((id, image)) => (id, Filter::from_bytes(&image, HASHER)?),
            None => (Id::default(), Filter::with_hasher(HASHER)),
        };
        eprintln!("{shard} is read from {id} on: {} keys are in the snapshot", filter.len());
        Ok(Self { filter, applied: Mutex::new(id) })
    }

    /// Applies an entry, unless it was applied before. Only one thread calls this.
    fn apply(&self, (id, changes): &Entry) -> Result<()> {
        if *id <= *self.applied.lock() {
            return Ok(());
        }
        for (operation, key) in changes {
            match operation {
                Operation::Insert => self.filter.insert(key)?,
                Operation::Remove if self.filter.remove(key) => {}
                Operation::Remove => eprintln!("entry {id} removes {key}, which is not in the set"),
            }
        }
        *self.applied.lock() = *id;
        Ok(())
    }
}

/// The replica of a shard, which is replaced if it is too far behind. Lookups go on meanwhile.
pub struct Follower {
    /// A filter and its id, which are replaced together. The lock is held only to clone or to replace the `Arc`.
    replica: RwLock<Arc<Replica>>,
}

impl Follower {
    pub fn load(shard: &mut Shard) -> Result<Self> {
        Ok(Self { replica: RwLock::new(Arc::new(Replica::load(shard)?)) })
    }

    /// Waits until it has all entries up to this one.
    pub fn wait_for(&self, id: Id) {
        while *self.replica.read().applied.lock() < id {
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Returns an entry of the log, and whether the key is in the set after it, or after one that followed meanwhile.
    pub fn look_up(&self, key: &str) -> (Id, bool) {
        let replica = Arc::clone(&self.replica.read());
        let id = *replica.applied.lock(); // before the lookup: the filter has all entries up to this one
        (id, replica.filter.contains(key))
    }

    /// Applies the entries of the log as they come, and stores a snapshot after each `every` changes or more.
    pub fn follow(&self, shard: &mut Shard, every: usize) -> Result<()> {
        let mut replica = Arc::clone(&self.replica.read());
        // All replicas wait for different numbers of changes. So mostly one of them stores, and the others see that.
        let random = || rand::random_range(every..=2 * every);
        let (mut snapshot, mut changes, mut due) = (Id::default(), 0, random());
        loop {
            let applied = *replica.applied.lock();
            let Some(read) = shard.read(applied)? else {
                replica = Arc::new(Replica::load(shard)?);
                *self.replica.write() = Arc::clone(&replica);
                changes = 0; // it reads all entries after its snapshot
                continue;
            };
            if read.snapshot != snapshot {
                (snapshot, changes) = (read.snapshot, 0);
            }
            for entry in &read.entries {
                replica.apply(entry)?;
                if entry.0 > snapshot {
                    changes += entry.1.len();
                }
            }
            if changes >= due {
                let applied = *replica.applied.lock();
                let stored =
                    replica.filter.snapshot().map_err(Into::into).and_then(|image| {
                        shard.store_snapshot(snapshot, applied, image.as_bytes())
                    });
                if let Err(error) = stored {
                    eprintln!("{shard}: no snapshot: {error}"); // the log still has all changes
                    changes = 0;
                }
                due = random();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_is_delivered_twice_is_applied_once() {
        let replica = Replica { filter: Filter::with_hasher(HASHER), applied: Mutex::default() };
        let entry = |id: &str, operation, key: &str| {
            (id.parse().expect("an id"), vec![(operation, key.to_owned())])
        };
        let entries = [
            entry("9-1", Operation::Insert, "egg"),
            entry("9-2", Operation::Insert, "egg"),
            entry("10-0", Operation::Remove, "egg"),
        ];
        for delivered in [0, 0, 1, 0, 1, 2, 1, 2, 0] {
            replica.apply(&entries[delivered]).expect("enough memory");
        }
        assert_eq!((replica.filter.len(), replica.filter.contains("egg")), (1, true));
    }

    #[test]
    fn an_answer_has_the_entry_that_it_names() {
        let id = |entry: u64| format!("{entry}-0").parse::<Id>().expect("an id");
        let key = |entry, number| format!("{entry} {number}");
        // Long entries test an id that comes before its changes; short ones test an id that is read after the lookup.
        for (entries, changes) in [(100, 1000), (100_000, 1)] {
            let replica =
                Replica { filter: Filter::with_hasher(HASHER), applied: Mutex::default() };
            let follower = Follower { replica: RwLock::new(Arc::new(replica)) };
            let apply = |entry| {
                let keys = (0..changes).map(|number| (Operation::Insert, key(entry, number)));
                let entry = (id(entry), keys.collect());
                follower.replica.read().apply(&entry).expect("enough memory");
            };
            thread::scope(|scope| {
                scope.spawn(|| (1..=entries).for_each(apply));
                let (mut applied, mut ahead) = (0, 0);
                while applied < entries {
                    // Some entries ahead: the entry may come while the key is looked up.
                    ahead = ahead % 16 + 1;
                    let entry = (applied + ahead).min(entries);
                    let (expected, last) = (id(entry), key(entry, changes - 1));
                    let (after, is_present) = follower.look_up(&last);
                    assert!(after < expected || is_present, "{last} is missed after {after}");
                    let after = after.to_string();
                    applied = after.trim_end_matches("-0").parse().expect("an entry");
                }
            });
        }
    }
}
