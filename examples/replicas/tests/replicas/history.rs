//! What the log says, read by code that the program does not have: the exact truth at each of its entries.

use std::collections::HashMap;

use coucal::{Fp16x4, GrowableCuckooFilter, StableHashBuilder};
use redis::{ConnectionLike, cmd};

/// An id, in the order of the log.
pub type Id = (u64, u64);

pub fn id(text: &str) -> Id {
    let (milliseconds, number) = text.split_once('-').expect("two numbers");
    (milliseconds.parse().expect("a number"), number.parse().expect("a number"))
}

/// An entry, as Redis returns it: names and values, one after the other.
type Entry = (String, Vec<String>);

struct Shard {
    /// The name in Redis, without what follows the colon.
    name: String,
    /// The id of the last entry that was read.
    end: String,
    /// All changes: inserts are `true`.
    changes: Vec<(Id, bool, String)>,
    /// A filter that has the first `applied` of the changes.
    filter: GrowableCuckooFilter<Fp16x4, StableHashBuilder>,
    applied: usize,
    images: usize,
}

/// All changes of a set, since its first.
pub struct History {
    shards: Vec<Shard>,
    /// Of each key that ever was in the log, its shard and its changes.
    keys: HashMap<String, (usize, Vec<(Id, bool)>)>,
}

/// What a replica may answer.
#[derive(Debug, PartialEq)]
pub enum Expected {
    Present,
    /// Or it is a false positive.
    Absent,
    /// The key was inserted or removed after the entry that the replica had: maybe before it answered.
    Either,
}

impl History {
    pub fn new(set: &str, shards: usize) -> Self {
        let shard = |number| Shard {
            name: format!("{{{set}:{number}}}"),
            end: "0-0".into(),
            changes: Vec::new(),
            filter: GrowableCuckooFilter::with_hasher(StableHashBuilder::new(7)),
            applied: 0,
            images: 0,
        };
        Self { shards: (0..shards).map(shard).collect(), keys: HashMap::new() }
    }

    /// Reads what was appended since the last call, before any of it is trimmed.
    pub fn read(&mut self, connection: &mut dyn ConnectionLike) {
        for (number, shard) in self.shards.iter_mut().enumerate() {
            let (log, start) = (format!("{}:log", shard.name), shard.end.clone());
            let range = cmd("XRANGE").arg(&log).arg(&start).arg("+").query(connection);
            let mut entries: Vec<Entry> = range.expect("the log");
            if shard.end != "0-0" {
                assert_eq!(entries.remove(0).0, start, "an entry was trimmed too early");
            }
            for (text, pairs) in entries {
                let id = id(&text);
                for pair in pairs.chunks(2) {
                    let [operation, key] = pair else { panic!("{pair:?}") };
                    let is_insert = operation == "+";
                    shard.changes.push((id, is_insert, key.clone()));
                    let (shard, changes) =
                        self.keys.entry(key.clone()).or_insert((number, Vec::new()));
                    assert_eq!(*shard, number, "{key} is in two shards");
                    changes.push((id, is_insert));
                }
                shard.end = text;
            }
        }
    }

    /// Checks that these lines are in the log, each of them once, and nothing else.
    pub fn check_lines<'a>(&self, lines: impl Iterator<Item = &'a String>) {
        let changes = self.shards.iter().flat_map(|shard| &shard.changes);
        let line =
            |(_, is_insert, key): &_| format!("{} {key}", if *is_insert { '+' } else { '-' });
        let mut in_log: Vec<String> = changes.map(line).collect();
        let mut sent: Vec<String> = lines.cloned().collect();
        in_log.sort_unstable();
        sent.sort_unstable();
        assert_eq!(in_log.len(), sent.len(), "changes in the log, and those that were sent");
        assert!(in_log == sent, "another change is in the log than was sent");
    }

    /// Returns what a replica may say of a key, if it has all entries up to `id`, and maybe later ones.
    pub fn expected(&self, key: &str, id: Id) -> Expected {
        let Some((_, changes)) = self.keys.get(key) else { return Expected::Absent };
        let (mut before, mut behind) =
            (changes.iter().filter(|change| change.0 <= id), changes.iter());
        if behind.any(|change| change.0 > id) {
            return Expected::Either;
        }
        let balance =
            before.try_fold(
                0,
                |copies: u32, &(_, is_insert)| {
                    if is_insert { Some(copies + 1) } else { copies.checked_sub(1) }
                },
            );
        match balance.expect("no removal is before its insert") {
            0 => Expected::Absent,
            _ => Expected::Present,
        }
    }

    /// The shard of a key that is in the log.
    pub fn shard_of(&self, key: &str) -> usize {
        self.keys[key].0
    }

    /// The last entry of a shard, and a key that is in the shard.
    pub fn ends(&self) -> impl Iterator<Item = (Id, &String)> {
        self.shards.iter().filter_map(|shard| shard.changes.last().map(|(id, _, key)| (*id, key)))
    }

    /// Compares the newest snapshots with those of filters that got the changes one by one, byte for byte.
    pub fn check_snapshots(&mut self, connection: &mut dyn ConnectionLike) {
        for shard in &mut self.shards {
            let name = format!("{}:snapshot", shard.name);
            let get = cmd("HMGET").arg(name).arg("id").arg("image").query(connection);
            let (Some(text), Some(image)): (Option<String>, Option<Vec<u8>>) = get.expect("a hash")
            else {
                continue;
            };
            if shard.apply_until(id(&text)) {
                let ours = shard.filter.snapshot().expect("enough memory");
                assert!(
                    ours.as_bytes() == image,
                    "{} is not what it should be at {text}",
                    shard.name
                );
                shard.images += 1;
            }
        }
    }

    /// How many snapshots were compared.
    pub fn snapshots(&self) -> usize {
        self.shards.iter().map(|shard| shard.images).sum()
    }

    /// Returns what a replica answers at the end of the log, also a false positive. `None` if that depends on the shard
    /// of a key that never was in the log.
    pub fn answer_at_end(&mut self, key: &str) -> Option<bool> {
        for shard in &mut self.shards {
            shard.apply_until((u64::MAX, 0));
        }
        if let Some((shard, _)) = self.keys.get(key) {
            return Some(self.shards[*shard].filter.contains(key));
        }
        let is_nowhere = self.shards.iter().all(|shard| !shard.filter.contains(key));
        is_nowhere.then_some(false)
    }

    /// All keys that ever were in the log.
    pub fn keys(&self) -> impl Iterator<Item = &String> {
        self.keys.keys()
    }

    pub fn changes(&self) -> usize {
        self.shards.iter().map(|shard| shard.changes.len()).sum()
    }
}

impl Shard {
    /// Returns whether there was something to do.
    fn apply_until(&mut self, id: Id) -> bool {
        let end = self.changes.partition_point(|change| change.0 <= id);
        let changes = &self.changes[self.applied.min(end)..end];
        for (_, is_insert, key) in changes {
            if *is_insert {
                self.filter.insert(key.as_str()).expect("enough memory");
            } else {
                assert!(self.filter.remove(key.as_str()), "{key} is removed, and is not there");
            }
        }
        self.applied += changes.len();
        !changes.is_empty()
    }
}
