//! The faults. Each breaks one rule of the protocol.

/// A deliberate fault: a small change of one file.
pub struct Fault {
    /// In a few words.
    pub what: &'static str,
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// A text that occurs once in the file.
    pub old: &'static str,
    /// The text that the fault puts in its place.
    pub new: &'static str,
    /// Models that fail. They are run first; the others only if all of these pass.
    pub caught_by: &'static [&'static str],
}

const ADDRESS: &str = "src/table/address.rs";
const TABLE: &str = "src/table.rs";
const EXTENT: &str = "src/extent.rs";
const GROW: &str = "src/table/grow.rs";
const INSERT: &str = "src/table/insert.rs";
const LOOKUP: &str = "src/table/lookup.rs";
const MERGE: &str = "src/table/merge.rs";
const MIRROR: &str = "src/table/mirror.rs";
const PATH: &str = "src/table/path.rs";
const REMOVE: &str = "src/table/remove.rs";
const STRIPES: &str = "src/table/stripes.rs";
const VERSIONS: &str = "src/table/versions.rs";
const LOCK: &str = "src/sync/lock.rs";

const LOOKUPS: &[&str] =
    &["kicks::kick_against_lookup_in_its_direction", "kicks::kick_against_lookup_the_other_way"];
const REMOVALS: &[&str] = &[
    "races::removal_of_what_is_kicked_in_its_direction",
    "races::removal_of_what_is_kicked_the_other_way",
];
const TWO_HOPS: &[&str] = &[
    "kicks::two_hops_against_lookups_in_their_direction",
    "kicks::two_hops_against_lookups_the_other_way",
];
const EXCLUSION: &[&str] = &["lock::three_threads", "lock::two_threads_that_come_back"];
const CLEAR: &[&str] = &["batches::clear_against_lookups"];
const COPIES: &[&str] = &["races::copy_in_and_copy_out_against_lookup"];
const UNIQUE: &[&str] = &["unique::two_of_one_item"];
const LAST_SLOT: &[&str] = &["races::insert_and_kick_for_the_last_slot"];
const OVERTAKEN_LOOKUP: &[&str] = &["stopped::lookup_overtaken_in_every_round"];
const OVERTAKEN_REMOVALS: &[&str] = &[
    "last_resort::removal_overtaken_in_every_attempt",
    "last_resort::removal_overtaken_in_every_attempt_the_other_way",
];

const SPLITS: &[&str] = &[
    "growth::split_against_lookups_in_its_direction",
    "growth::split_against_lookups_the_other_way",
];
const DUPLICATE_THAT_GOES: &[&str] = &["growth::duplicate_that_goes_and_removal_of_the_other"];
const SPLIT_THEN_LOOKUPS: &[&str] = &["order::insert_and_split_with_insert_then_lookups"];
const NEW_BUCKET: &[&str] = &["growth::split_and_removal_beside_an_insert"];
const NO_ROOM: &[&str] = &["growth::two_inserts_that_find_no_room"];

const SNAPSHOT_AND_INSERT: &[&str] = &["snapshots::insert_beside_a_snapshot"];
const FRONTIER: &[&str] =
    &["snapshots::kick_across_the_frontier", "snapshots::kick_across_the_frontier_the_other_way"];
const SNAPSHOT_AND_SPLIT: &[&str] =
    &["snapshots::split_beside_a_snapshot", "snapshots::end_of_level_beside_a_snapshot"];
const MERGE_FAILS: &[&str] = &["snapshots::merge_that_fails_against_lookups"];

pub const FAULTS: &[Fault] = &[
    // Orderings, each weakened to Relaxed.
    Fault {
        what: "a lookup reads its version Relaxed",
        file: VERSIONS,
        old: "version: group.load(Ordering::Acquire)",
        new: "version: group.load(Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a version is bumped Relaxed",
        file: VERSIONS,
        old: "self.group(fingerprint).fetch_add(1, Ordering::Release)",
        new: "self.group(fingerprint).fetch_add(1, Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "clear bumps the versions Relaxed",
        file: VERSIONS,
        old: "            group.fetch_add(1, Ordering::Release)",
        new: "            group.fetch_add(1, Ordering::Relaxed)",
        caught_by: CLEAR,
    },
    Fault {
        what: "a lookup reads its first bucket Relaxed",
        file: LOOKUP,
        old: "[load(first), load(second)]",
        new: "[self.buckets.word(first).load(Ordering::Relaxed), load(second)]",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a lookup reads its second bucket Relaxed",
        file: LOOKUP,
        old: "[load(first), load(second)]",
        new: "[load(first), self.buckets.word(second).load(Ordering::Relaxed)]",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a removal reads its first bucket Relaxed",
        file: REMOVE,
        old: "let words = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [one, other] = self.locate(key.places());\n        \
              let words = [(one, Relaxed), (other, SeqCst)]\n            \
              .map(|(bucket, order)| self.buckets.word(bucket).load(order))",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal reads its second bucket Relaxed",
        file: REMOVE,
        old: "let words = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [one, other] = self.locate(key.places());\n        \
              let words = [(one, SeqCst), (other, Relaxed)]\n            \
              .map(|(bucket, order)| self.buckets.word(bucket).load(order))",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a kick copies Relaxed",
        file: TABLE,
        old: "self.put(locked, to, copied, Ordering::Release)",
        new: "self.put(locked, to, copied, Ordering::Relaxed)",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "the last hop of a kick replaces Relaxed",
        file: TABLE,
        old: "self.put(locked, from, replaced, Ordering::SeqCst)",
        new: "self.put(locked, from, replaced, Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a middle hop clears Relaxed",
        file: TABLE,
        old: "self.put(locked, from, cleared, Ordering::Release)",
        new: "self.put(locked, from, cleared, Ordering::Relaxed)",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "an insert stores Relaxed",
        file: TABLE,
        old: "self.put(locked, bucket, copied, Ordering::SeqCst)",
        new: "self.put(locked, bucket, copied, Ordering::Relaxed)",
        caught_by: &["kicks::kick_removal_and_insert_against_lookup"],
    },
    Fault {
        what: "a removal clears Relaxed",
        file: TABLE,
        old: "self.put(locked, bucket, cleared, Ordering::SeqCst)",
        new: "self.put(locked, bucket, cleared, Ordering::Relaxed)",
        caught_by: &["kicks::kick_and_removal_against_lookup"],
    },
    Fault {
        what: "clear clears Relaxed",
        file: TABLE,
        old: "self.put(&locked, bucket, 0, Ordering::Release)",
        new: "self.put(&locked, bucket, 0, Ordering::Relaxed)",
        caught_by: CLEAR,
    },
    // SeqCst, each access weakened alone to what it would otherwise need.
    Fault {
        what: "a lookup reads its first bucket Acquire, not SeqCst",
        file: LOOKUP,
        old: "[load(first), load(second)]",
        new: "[self.buckets.word(first).load(Ordering::Acquire), load(second)]",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "a lookup reads its second bucket Acquire, not SeqCst",
        file: LOOKUP,
        old: "[load(first), load(second)]",
        new: "[load(first), self.buckets.word(second).load(Ordering::Acquire)]",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "an insert stores Release, not SeqCst",
        file: TABLE,
        old: "self.put(locked, bucket, copied, Ordering::SeqCst)",
        new: "self.put(locked, bucket, copied, Ordering::Release)",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "the last hop of a kick replaces Release, not SeqCst",
        file: TABLE,
        old: "self.put(locked, from, replaced, Ordering::SeqCst)",
        new: "self.put(locked, from, replaced, Ordering::Release)",
        caught_by: &["order::kick_and_insert_then_lookups"],
    },
    Fault {
        what: "a removal clears Release, not SeqCst",
        file: TABLE,
        old: "self.put(locked, bucket, cleared, Ordering::SeqCst)",
        new: "self.put(locked, bucket, cleared, Ordering::Release)",
        caught_by: &["order::removals_then_lookups"],
    },
    // The version: bumped, at the right step, and validated.
    Fault {
        what: "a kick bumps no version",
        file: TABLE,
        old: "        self.versions.bump(fingerprint);\n        locked.occupy(to);\n",
        new: "        locked.occupy(to);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick bumps the version of the new fingerprint",
        file: TABLE,
        old: "        self.versions.bump(fingerprint);\n        locked.occupy(to);\n",
        new: "        self.versions.bump(new.unwrap_or(fingerprint));\n        locked.occupy(to);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick bumps the version before it copies",
        file: TABLE,
        old: "        self.put(locked, to, copied, Ordering::Release);\n        \
              self.versions.bump(fingerprint);\n",
        new: "        self.versions.bump(fingerprint);\n        \
              self.put(locked, to, copied, Ordering::Release);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick bumps the version after it clears",
        file: TABLE,
        old: RELOCATE,
        new: "        self.put(locked, to, copied, Ordering::Release);\n        \
              locked.occupy(to);\n        \
              if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {\n            \
              self.put(locked, from, replaced, Ordering::SeqCst);\n        \
              } else {\n            \
              self.put(locked, from, cleared, Ordering::Release);\n            \
              locked.vacate(from);\n        \
              }\n        \
              self.versions.bump(fingerprint);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick clears before it copies",
        file: TABLE,
        old: RELOCATE,
        new: "        locked.occupy(to);\n        \
              if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {\n            \
              self.put(locked, from, replaced, Ordering::SeqCst);\n        \
              } else {\n            \
              self.put(locked, from, cleared, Ordering::Release);\n            \
              locked.vacate(from);\n        \
              }\n        \
              self.versions.bump(fingerprint);\n        \
              self.put(locked, to, copied, Ordering::Release);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "clear bumps no version",
        file: TABLE,
        old: "        self.versions.bump_all();\n",
        new: "",
        caught_by: CLEAR,
    },
    Fault {
        what: "a removal of a duplicate bumps no version",
        file: TABLE,
        old: "            self.versions.bump(fingerprint);\n        }\n",
        new: "        }\n",
        caught_by: COPIES,
    },
    Fault {
        what: "a removal of a duplicate bumps the version after it clears",
        file: TABLE,
        old: "            self.versions.bump(fingerprint);\n        }\n",
        new: "            self.put(locked, bucket, cleared, Ordering::SeqCst);\n            \
              self.versions.bump(fingerprint);\n        }\n",
        caught_by: COPIES,
    },
    Fault {
        what: "a lookup reads its version after its buckets",
        file: LOOKUP,
        old: "        let version = self.versions.read(key.fingerprint);\n        \
              let found = self.either_holds(key);\n",
        new: "        let found = self.either_holds(key);\n        \
              let version = self.versions.read(key.fingerprint);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "the first round of a lookup does not validate the version",
        file: LOOKUP,
        old: "        if version.validate() {\n            found\n",
        new: "        if version.validate() | true {\n            found\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a later round of a lookup does not validate the version",
        file: LOOKUP,
        old: "            if version.validate() {\n                return Lookup::Absent;\n",
        new: "            if version.validate() | true {\n                return Lookup::Absent;\n",
        caught_by: OVERTAKEN_LOOKUP,
    },
    Fault {
        what: "a removal that finds no copy at first does not look again with the version",
        file: REMOVE,
        old: "        let Key { fingerprint, first, second } = key;\n        \
              self.remove_slow(fingerprint, first, second)\n",
        new: "        let Key { fingerprint, first, second } = key;\n        \
              false && self.remove_slow(fingerprint, first, second)\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "all fingerprints share one version",
        file: VERSIONS,
        old: "fingerprint.bits() as usize & (self.groups.len() - 1)",
        new: "fingerprint.bits() as usize & 0",
        caught_by: &["costs::lookup_beside_a_kick_of_another_version_group"],
    },
    // The bound of a lookup.
    Fault {
        what: "an inconclusive lookup answers false",
        file: LOOKUP,
        old: "                self.inconclusive.fetch_add(1, Ordering::Relaxed);\n                true\n",
        new: "                self.inconclusive.fetch_add(1, Ordering::Relaxed);\n                false\n",
        caught_by: OVERTAKEN_LOOKUP,
    },
    Fault {
        what: "an inconclusive lookup is not counted",
        file: LOOKUP,
        old: "                self.inconclusive.fetch_add(1, Ordering::Relaxed);\n",
        new: "",
        caught_by: OVERTAKEN_LOOKUP,
    },
    Fault {
        what: "a lookup makes one round too many",
        file: LOOKUP,
        old: "MAX_LOOKUP_ROUNDS - 1)",
        new: "MAX_LOOKUP_ROUNDS)",
        caught_by: OVERTAKEN_LOOKUP,
    },
    Fault {
        what: "a lookup whose version changed locks its stripes",
        file: LOOKUP,
        old: "        match self.look_up(Key {",
        new: "        let _locked = self.stripes.lock([first, second]);\n        \
              match self.look_up(Key {",
        caught_by: &["stopped::writer_stopped_at_each_step_of_a_kick"],
    },
    // The stripes, and what is checked under them.
    Fault {
        what: "stripes are locked out of order",
        file: STRIPES,
        old: "        order.sort_unstable();\n",
        new: "        order.reverse();\n",
        caught_by: UNIQUE,
    },
    Fault {
        what: "a stripe that two buckets share is locked twice",
        file: STRIPES,
        old: "if at == 0 || order[at] != order[at - 1] {",
        new: "if at < N {",
        caught_by: &["unique::kick_within_shared_stripes"],
    },
    Fault {
        what: "an insert locks no stripe",
        file: TABLE,
        old: "let (locked, [bucket]) = self.lock([place]);",
        new: "let [bucket] = self.locate([place]);\n        \
              let locked = self.stripes.lock([0; 0]);",
        caught_by: &["races::two_inserts_for_the_last_slot"],
    },
    Fault {
        what: "an insert_unique locks one of its stripes",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(key.places());",
        new: "let buckets = self.locate(key.places());\n        \
              let locked = self.stripes.lock([buckets[0]]);",
        caught_by: UNIQUE,
    },
    Fault {
        what: "an insert_unique that kicks locks only the stripes of the hop",
        file: INSERT,
        old: "let (locked, [_, _, to]) = self.lock([first, second, to]);",
        new: "let own = if hop.from == key.first { first } else { second };\n                \
              let (locked, [_, to]) = self.lock([own, to]);",
        caught_by: &["unique::two_of_one_item_that_kick"],
    },
    Fault {
        what: "an insert_unique that kicks does not look again",
        file: INSERT,
        old: "if duplicates == Duplicates::Reject && self.either_holds(key) {",
        new: "if duplicates == Duplicates::Reject && false {",
        caught_by: &["unique::two_of_one_item_that_kick"],
    },
    Fault {
        what: "a middle hop locks only the bucket that it leaves",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(places);",
        new: "let buckets = self.locate(places);\n            \
              let locked = self.stripes.lock([buckets[0]]);",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "a middle hop locks only the bucket that it fills",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(places);",
        new: "let buckets = self.locate(places);\n            \
              let locked = self.stripes.lock([buckets[1]]);",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "the last hop locks only the bucket that it leaves",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(hop.places());",
        new: "let buckets = self.locate(hop.places());\n                \
              let locked = self.stripes.lock([buckets[0]]);",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "the last hop locks only the bucket that it fills",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(hop.places());",
        new: "let buckets = self.locate(hop.places());\n                \
              let locked = self.stripes.lock([buckets[1]]);",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal locks no stripe",
        file: REMOVE,
        old: "let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);",
        new: "let [bucket] = self.locate([Place { row, fingerprint }]);\n            \
              let locked = self.stripes.lock([0; 0]);",
        caught_by: &["races::two_removals_of_one_copy"],
    },
    Fault {
        what: "count locks no stripe",
        file: LOOKUP,
        old: "let (_locked, buckets) = self.lock(key.places());",
        new: "let buckets = self.locate(key.places());",
        caught_by: &["batches::count_of_what_is_kicked", "batches::count_against_kick"],
    },
    Fault {
        what: "count locks one of its stripes",
        file: LOOKUP,
        old: "let (_locked, buckets) = self.lock(key.places());",
        new: "let buckets = self.locate(key.places());\n        \
              let _locked = self.stripes.lock([buckets[0]]);",
        caught_by: &["races::copy_in_counted_and_copy_out_against_lookup"],
    },
    Fault {
        what: "count takes an inconclusive look for an absent item",
        file: LOOKUP,
        old: "if self.look_up(key, 1) == Lookup::Absent {",
        new: "if self.look_up(key, 1) != Lookup::Present {",
        caught_by: &["batches::count_of_what_is_kicked"],
    },
    Fault {
        what: "clear locks no stripe",
        file: STRIPES,
        old: "self.stripes.iter().map(|s| s.lock.lock()).collect()",
        new: "Vec::new()",
        caught_by: &["batches::clear_against_insert_and_removal"],
    },
    Fault {
        what: "a hop does not check that its fingerprint is still there",
        file: TABLE,
        old: "let Some(cleared) = L::Word::without(in_from, fingerprint) else {\n            return false;\n        };\n",
        new: "let cleared = L::Word::without(in_from, fingerprint).unwrap_or(in_from);\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a hop does not check that there is still room",
        file: TABLE,
        old: "let Some(copied) = L::Word::with(in_to, fingerprint) else {\n            return false;\n        };\n",
        new: "let copied = L::Word::with(in_to, fingerprint).unwrap_or(in_to);\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop loses its fingerprint",
        file: TABLE,
        old: "let Some(copied) = L::Word::with(in_to, fingerprint) else {\n",
        new: "let Some(copied) = L::Word::with(in_to, fingerprint) else {\n            \
              self.put(locked, from, cleared, Ordering::Release);\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop leaves its copy behind",
        file: TABLE,
        old: "let Some(cleared) = L::Word::without(in_from, fingerprint) else {\n",
        new: "let Some(cleared) = L::Word::without(in_from, fingerprint) else {\n            \
              if let Some(early) = L::Word::with(in_to, fingerprint) {\n                \
              self.put(locked, to, early, Ordering::Release);\n            }\n",
        caught_by: REMOVALS,
    },
    // What an attempt that fails, or that finds no room, means for the operation.
    Fault {
        what: "a kick makes room and does not store the new item",
        file: INSERT,
        old: "[from, to], Some(key.fingerprint))",
        new: "[from, to], None)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "an insert says full without a look under the stripes",
        file: INSERT,
        old: "Attempt::NoRoom => self.try_place(key, duplicates),",
        new: "Attempt::NoRoom => Attempt::NoRoom,",
        caught_by: &["unique::overtaken_in_a_full_table"],
    },
    Fault {
        what: "a search goes on past a slot that was freed",
        file: PATH,
        old: "                return Found::Freed;",
        new: "                next += 1;\n                continue;",
        caught_by: &["races::slot_freed_deeper_in_a_search"],
    },
    Fault {
        what: "an insert whose path is stale says full",
        file: INSERT,
        old: "                Attempt::Stale => backoff.snooze(),\n",
        new: "                Attempt::Stale => return Err(InsertError::Full),\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal whose copy is gone says that there is none",
        file: REMOVE,
        old: "        if self.remove_seen(key) == Some(true) {\n            return true;\n",
        new: "        if let Some(removed) = self.remove_seen(key) {\n            return removed;\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "an insert takes the first bucket with room, not the emptier one",
        file: INSERT,
        old: "let other = L::Word::fuller(first, second);",
        new: "let other = !L::Word::has_room(first);",
        caught_by: &["costs::insert_into_the_emptier_second_bucket"],
    },
    Fault {
        what: "an insert takes the second bucket if it has room, not the emptier one",
        file: INSERT,
        old: "let other = L::Word::fuller(first, second);",
        new: "let other = L::Word::has_room(second);",
        caught_by: &["costs::insert_into_the_emptier_first_bucket"],
    },
    // The last resort, after too many optimistic attempts.
    Fault {
        what: "the last resort of a removal looks only at the first bucket",
        file: REMOVE,
        old: "        self.remove_from(&locked, buckets[0], places[1])\n            \
              || self.remove_from(&locked, buckets[1], places[0])\n",
        new: "        self.remove_from(&locked, buckets[0], places[1])\n",
        caught_by: OVERTAKEN_REMOVALS,
    },
    Fault {
        what: "the last resort of a removal looks only at the second bucket",
        file: REMOVE,
        old: "        self.remove_from(&locked, buckets[0], places[1])\n            \
              || self.remove_from(&locked, buckets[1], places[0])\n",
        new: "        self.remove_from(&locked, buckets[1], places[0])\n",
        caught_by: OVERTAKEN_REMOVALS,
    },
    Fault {
        what: "the last resort of a removal locks one of its stripes",
        file: REMOVE,
        old: "let (locked, buckets) = self.lock(places);",
        new: "let buckets = self.locate(places);\n        \
              let locked = self.stripes.lock([buckets[0]]);",
        caught_by: OVERTAKEN_REMOVALS,
    },
    Fault {
        what: "the last resort of an insert goes on to kick after it has stored",
        file: INSERT,
        old: "            Attempt::NoRoom => self.kick(key, duplicates, Some(&all)),\n",
        new: "            Attempt::NoRoom | Attempt::Stored => \
              self.kick(key, duplicates, Some(&all)),\n",
        caught_by: &["last_resort::insert_that_finds_room_in_the_end"],
    },
    Fault {
        what: "the last resort of an insert does not kick",
        file: INSERT,
        old: "            Attempt::NoRoom => self.kick(key, duplicates, Some(&all)),\n",
        new: "",
        caught_by: &["last_resort::insert_overtaken_in_every_attempt"],
    },
    Fault {
        what: "the last resort of an insert_unique allows duplicates",
        file: INSERT,
        old: "        self.insert_exclusive(key, duplicates)\n    }\n",
        new: "        self.insert_exclusive(key, Duplicates::Allow)\n    }\n",
        caught_by: &["last_resort::insert_unique_of_an_item_that_turns_up"],
    },
    // The counts of slots in use.
    Fault {
        what: "a kick does not count the slot that it fills",
        file: TABLE,
        old: "        locked.occupy(to);\n",
        new: "",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a middle hop still counts the slot that it leaves",
        file: TABLE,
        old: "            locked.vacate(from);\n",
        new: "",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "clear still counts the slots that it empties",
        file: TABLE,
        old: "        locked.vacate_all();\n",
        new: "        let _ = locked;\n",
        caught_by: CLEAR,
    },
    // Growth: the order of the steps of a split.
    Fault {
        what: "a split stores the extent before it copies",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split clears before it stores the extent",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split clears before it copies",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split bumps no version",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split bumps the versions before it copies",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split bumps the versions before it stores the extent",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split bumps the versions after it clears",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a split stores the extent when it has given back its stripes",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
            "            locked.transfer(old, old + stride, moved);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
            "        drop(locked);\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
        ),
        caught_by: &["growth::insert_of_what_goes"],
    },
    Fault {
        what: "a split does not move the counts",
        file: GROW,
        old: SPLIT,
        new: concat!(
            "        let mut partitions = [Partition::NONE; RUN];\n",
            "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
            "            *partition = self.partition(extent, old);\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
            "        }\n",
            "        growth.extent.store(extent.after(run.len()).bits(), Ordering::SeqCst);\n",
            "        for partition in &partitions {\n",
            "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
            "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
            "            }\n",
            "        }\n",
            "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
            "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
            "        }\n",
            "        drop(locked);\n",
        ),
        caught_by: &["growth::removal_of_what_goes_in_its_direction"],
    },
    Fault {
        what: "a split bumps the version of the first fingerprint that goes",
        file: GROW,
        old: ".filter(|&&bits| bits != 0) {",
        new: ".filter(|&&bits| bits != 0).take(1) {",
        caught_by: &["growth::split_of_several_against_lookups"],
    },
    Fault {
        what: "a split stores the extent Relaxed",
        file: GROW,
        old: "growth.extent.store(after.bits(), Ordering::SeqCst)",
        new: "growth.extent.store(after.bits(), Ordering::Relaxed)",
        caught_by: SPLITS,
    },
    Fault {
        what: "a split stores the extent Release, not SeqCst",
        file: GROW,
        old: "growth.extent.store(after.bits(), Ordering::SeqCst)",
        new: "growth.extent.store(after.bits(), Ordering::Release)",
        caught_by: SPLIT_THEN_LOOKUPS,
    },
    Fault {
        what: "a split clears Relaxed",
        file: GROW,
        old: "partition.stays, Ordering::Release)",
        new: "partition.stays, Ordering::Relaxed)",
        caught_by: SPLITS,
    },
    Fault {
        what: "the extent is read Relaxed",
        file: ADDRESS,
        old: "self.extent.load(Ordering::SeqCst)",
        new: "self.extent.load(Ordering::Relaxed)",
        caught_by: SPLITS,
    },
    Fault {
        what: "the extent is read Acquire, not SeqCst",
        file: ADDRESS,
        old: "self.extent.load(Ordering::SeqCst)",
        new: "self.extent.load(Ordering::Acquire)",
        caught_by: SPLIT_THEN_LOOKUPS,
    },
    Fault {
        what: "a lookup reads the extent before its version",
        file: LOOKUP,
        old: concat!(
            "        let version = self.versions.read(key.fingerprint);\n",
            "        let found = self.either_holds(key);\n",
        ),
        new: concat!(
            "        let extent = self.buckets.extent();\n",
            "        let version = self.versions.read(key.fingerprint);\n",
            "        let [first, second] = self.words_in(self.buckets.both(key, extent));\n",
            "        let found = L::Word::either_holds(first, second, key.fingerprint);\n",
        ),
        caught_by: SPLITS,
    },
    Fault {
        what: "a lookup keeps the extent from one round to the next",
        file: LOOKUP,
        old: concat!(
            "        for _ in 0..rounds {\n",
            "            let version = self.versions.read(key.fingerprint);\n",
            "            if self.either_holds(key) {\n",
        ),
        new: concat!(
            "        let extent = self.buckets.extent();\n",
            "        for _ in 0..rounds {\n",
            "            let version = self.versions.read(key.fingerprint);\n",
            "            let [first, second] = self.words_in(self.buckets.both(key, extent));\n",
            "            if L::Word::either_holds(first, second, key.fingerprint) {\n",
        ),
        caught_by: &[
            "stopped::lookup_of_what_goes_overtaken_in_two_rounds",
            "growth::two_splits_of_one_group_against_lookup",
        ],
    },
    Fault {
        what: "a split locks only the new bucket",
        file: GROW,
        old: "if at < RUN { old(at) } else",
        new: "if at < RUN { old(at) + stride } else",
        caught_by: &["growth::insert_into_both_buckets_of_a_split"],
    },
    Fault {
        what: "a split locks only the old bucket",
        file: GROW,
        old: "else { old(at - RUN) + stride }",
        new: "else { old(at - RUN) }",
        caught_by: NEW_BUCKET,
    },
    Fault {
        what: "an insert above the target splits beside others",
        file: GROW,
        old: "            && let Some(splitting) = growth.splitting.try_lock()\n",
        new: "            && let Some(splitting) = Some(())\n",
        caught_by: &["growth::two_inserts_above_the_target"],
    },
    Fault {
        what: "an insert without room splits beside others",
        file: GROW,
        old: concat!(
            "        let _splitting = growth.splitting.lock();\n",
            "        // In a small",
        ),
        new: "        // In a small",
        caught_by: NO_ROOM,
    },
    Fault {
        what: "the bucket that the next split makes is taken for one that is there",
        file: EXTENT,
        old: "after < self.buckets",
        new: "after <= self.buckets",
        caught_by: &["growth::end_of_level_against_lookups_in_its_direction"],
    },
    Fault {
        what: "an insert does not compute its bucket again",
        file: TABLE,
        old: "let (locked, [bucket]) = self.lock([place]);",
        new: concat!(
            "let [bucket] = self.locate([place]);\n",
            "        let locked = self.stripes.lock([bucket]);",
        ),
        caught_by: &["growth::insert_of_what_goes"],
    },
    Fault {
        what: "an insert_unique does not compute its buckets again",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(key.places());",
        new: concat!(
            "let buckets = self.locate(key.places());\n",
            "        let locked = self.stripes.lock(buckets);",
        ),
        caught_by: &["growth::unique_inserts_of_what_goes"],
    },
    Fault {
        what: "count does not compute its buckets again",
        file: LOOKUP,
        old: "let (_locked, buckets) = self.lock(key.places());",
        new: concat!(
            "let buckets = self.locate(key.places());\n",
            "        let _locked = self.stripes.lock(buckets);",
        ),
        caught_by: &["growth::count_of_what_goes"],
    },
    Fault {
        what: "a middle hop does not compute the bucket again that it fills",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(places);",
        new: concat!(
            "let [_, to] = self.locate(places);\n",
            "            let (locked, [from, _]) = self.lock(places);\n",
            "            let buckets = [from, to];",
        ),
        caught_by: &["growth::middle_hop_into_the_bucket_that_is_split"],
    },
    Fault {
        what: "the last hop does not compute the bucket again that it fills",
        file: INSERT,
        old: "let (locked, buckets) = self.lock(hop.places());",
        new: concat!(
            "let [_, to] = self.locate(hop.places());\n",
            "                let (locked, [from, _]) = self.lock(hop.places());\n",
            "                let buckets = [from, to];",
        ),
        caught_by: &["growth::kick_into_the_bucket_that_is_split"],
    },
    Fault {
        what: "the last hop does not compute the bucket of the new item again",
        file: INSERT,
        old: "if !self.lie_in([newcomer], [from]) {",
        new: "if !self.lie_in([newcomer], [from]) && false {",
        caught_by: &["growth::kick_of_what_stays_for_what_goes"],
    },
    Fault {
        what: "a removal looks at the other bucket by an old extent",
        file: REMOVE,
        old: concat!(
            "        let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);\n",
            "        Some(self.remove_from(&locked, bucket, Place { row: other, fingerprint }))\n",
        ),
        new: concat!(
            "        use crate::sync::Ordering::{Acquire, Relaxed, SeqCst};\n",
            "        let [in_other] = self.locate([Place { row: other, fingerprint }]);\n",
            "        let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);\n",
            "        let word = self.buckets.word(bucket);\n",
            "        let cleared = L::Word::without(word.load(Relaxed), fingerprint);\n",
            "        if let Some(cleared) = cleared {\n",
            "            if L::Word::holds(self.buckets.word(in_other).load(Acquire), fingerprint) {\n",
            "                self.versions.bump(fingerprint);\n",
            "            }\n",
            "            self.put(&locked, bucket, cleared, SeqCst);\n",
            "            locked.vacate(bucket);\n",
            "        }\n",
            "        Some(cleared.is_some())\n",
        ),
        caught_by: &["growth::removal_beside_a_copy_into_the_new_bucket"],
    },
    Fault {
        what: "a removal looks at the other bucket by an extent that it reads Relaxed",
        file: TABLE,
        old: "let [in_other] = self.locate([other]);",
        new: concat!(
            "let bits = |growth: &Growth| growth.extent.load(Ordering::Relaxed);\n",
            "        let in_other = self.buckets.growth().map_or(other.row, |growth| {\n",
            "            crate::extent::Extent::from_bits(self.rows(), bits(growth)).bucket(other)\n",
            "        });",
        ),
        caught_by: DUPLICATE_THAT_GOES,
    },
    Fault {
        what: "a removal looks at the other bucket Relaxed",
        file: TABLE,
        old: "self.buckets.word(in_other).load(Ordering::Acquire)",
        new: "self.buckets.word(in_other).load(Ordering::Relaxed)",
        caught_by: DUPLICATE_THAT_GOES,
    },
    Fault {
        what: "clear looks how large the table is before it has the stripes",
        file: TABLE,
        old: concat!(
            "        let locked = self.stripes.lock_all();\n",
            "        self.versions.bump_all();\n",
            "        for bucket in 0..self.present().len() {\n",
        ),
        new: concat!(
            "        let present = self.present().len();\n",
            "        let locked = self.stripes.lock_all();\n",
            "        self.versions.bump_all();\n",
            "        for bucket in 0..present {\n",
        ),
        caught_by: &["growth::clear_against_split"],
    },
    Fault {
        what: "an insert that finds no room says full before the table has grown",
        file: INSERT,
        old: "Err(InsertError::Full) if self.make_room(extent) => {}",
        new: "Err(InsertError::Full) if extent.is_none() => {}",
        caught_by: NO_ROOM,
    },
    Fault {
        what: "an insert says full if another has made room meanwhile",
        file: GROW,
        old: "growth.extent() != searched || self.split(growth, share.clamp(1, RUN)) > 0",
        new: "growth.extent() == searched && self.split(growth, share.clamp(1, RUN)) > 0",
        caught_by: NO_ROOM,
    },
    // Growth beside the last resorts.
    Fault {
        what: "the last resort of a removal does not compute its buckets again",
        file: REMOVE,
        old: "let (locked, buckets) = self.lock(places);",
        new: concat!(
            "let buckets = self.locate(places);\n",
            "        let locked = self.stripes.lock(buckets);",
        ),
        caught_by: &[
            "last_resort::removal_whose_bucket_is_split",
            "last_resort::removal_whose_bucket_is_split_the_other_way",
        ],
    },
    Fault {
        what: "the last resort of an insert computes its buckets before it has the stripes",
        file: INSERT,
        old: concat!(
            "        let all = self.stripes.lock_all();\n",
            "        let attempt = match self.try_place_locked(&all, self.locate(key.places()), key, duplicates)\n",
        ),
        new: concat!(
            "        let buckets = self.locate(key.places());\n",
            "        let all = self.stripes.lock_all();\n",
            "        let attempt = match self.try_place_locked(&all, buckets, key, duplicates)\n",
        ),
        caught_by: &[
            "last_resort::insert_whose_bucket_is_split",
            "last_resort::insert_whose_bucket_is_split_and_full",
        ],
    },
    // Snapshots: what is mirrored.
    Fault {
        what: "an insert does not mirror its word",
        file: TABLE,
        old: "self.put(locked, bucket, copied, Ordering::SeqCst)",
        new: "self.buckets.word(bucket).store(copied, Ordering::SeqCst)",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a kick does not mirror the word that it fills",
        file: TABLE,
        old: "self.put(locked, to, copied, Ordering::Release)",
        new: "self.buckets.word(to).store(copied, Ordering::Release)",
        caught_by: FRONTIER,
    },
    Fault {
        what: "the last hop of a kick does not mirror the word that it leaves",
        file: TABLE,
        old: "self.put(locked, from, replaced, Ordering::SeqCst)",
        new: "self.buckets.word(from).store(replaced, Ordering::SeqCst)",
        caught_by: FRONTIER,
    },
    Fault {
        what: "a middle hop does not mirror the word that it leaves",
        file: TABLE,
        old: "self.put(locked, from, cleared, Ordering::Release)",
        new: "self.buckets.word(from).store(cleared, Ordering::Release)",
        caught_by: &[
            "snapshots::two_hops_across_the_frontier",
            "snapshots::two_hops_across_the_frontier_the_other_way",
        ],
    },
    Fault {
        what: "a removal does not mirror its word",
        file: TABLE,
        old: "self.put(locked, bucket, cleared, Ordering::SeqCst)",
        new: "self.buckets.word(bucket).store(cleared, Ordering::SeqCst)",
        caught_by: &["snapshots::removal_beside_a_snapshot"],
    },
    Fault {
        what: "clear does not mirror its words",
        file: TABLE,
        old: "self.put(&locked, bucket, 0, Ordering::Release)",
        new: "self.buckets.word(bucket).store(0, Ordering::Release)",
        caught_by: &["snapshots::clear_beside_a_snapshot"],
    },
    Fault {
        what: "a split does not mirror the new word",
        file: GROW,
        old: "self.put(&locked, old + stride, partition.goes, Ordering::Release)",
        new: "self.buckets.word(old + stride).store(partition.goes, Ordering::Release)",
        caught_by: SNAPSHOT_AND_SPLIT,
    },
    Fault {
        what: "a split does not mirror the old word",
        file: GROW,
        old: "self.put(&locked, old, partition.stays, Ordering::Release)",
        new: "self.buckets.word(old).store(partition.stays, Ordering::Release)",
        caught_by: SNAPSHOT_AND_SPLIT,
    },
    Fault {
        what: "a writer asks for the mirror before it stores",
        file: TABLE,
        old: concat!(
            "        self.buckets.word(bucket).store(word, order);\n",
            "        if locked.is_mirrored(bucket) {\n",
            "            self.mirror(bucket);\n",
            "        }\n",
        ),
        new: concat!(
            "        if locked.is_mirrored(bucket) {\n",
            "            self.mirror(bucket);\n",
            "        }\n",
            "        self.buckets.word(bucket).store(word, order);\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    // Snapshots: the copy.
    Fault {
        what: "the flags are set after the copy",
        file: MIRROR,
        old: concat!(
            "        let recording = Recording::start(self, Arc::clone(&words));\n",
            "        self.copy_into(&words);\n",
        ),
        new: concat!(
            "        self.copy_into(&words);\n",
            "        let recording = Recording::start(self, Arc::clone(&words));\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a word is copied before all flags are set, under another lock",
        file: MIRROR,
        old: concat!(
            "        let recording = Recording::start(self, Arc::clone(&words));\n",
            "        self.copy_into(&words);\n",
        ),
        new: concat!(
            "        self.mirror.words.replace(Some(Arc::clone(&words)));\n",
            "        let recording = Recording { table: self };\n",
            "        for bucket in 0..self.present().len() {\n",
            "            let locked = self.stripes.lock([bucket]);\n",
            "            copy(self.buckets.word(bucket), &words[bucket]);\n",
            "            drop(locked);\n",
            "            self.stripes.mirror_each();\n",
            "        }\n",
        ),
        caught_by: &[
            "snapshots::insert_and_removal_beside_a_snapshot",
            "snapshots::kick_across_the_frontier",
        ],
    },
    Fault {
        what: "words are copied and not compared",
        file: MIRROR,
        old: "if now != mirror[bucket].load(Ordering::Relaxed) {",
        new: "if now != mirror[bucket].load(Ordering::Relaxed) && false {",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "words are compared before the fence",
        file: MIRROR,
        old: concat!(
            "            // SeqCst: pairs with the fence of `mirror`.\n",
            "            fence(Ordering::SeqCst);\n",
        ),
        new: "",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "the fence comes before the copy",
        file: MIRROR,
        old: concat!(
            "            for bucket in block.clone() {\n",
            "                copy(&words[bucket], &mirror[bucket]);\n",
            "            }\n",
            "            // SeqCst: pairs with the fence of `mirror`.\n",
            "            fence(Ordering::SeqCst);\n",
        ),
        new: concat!(
            "            fence(Ordering::SeqCst);\n",
            "            for bucket in block.clone() {\n",
            "                copy(&words[bucket], &mirror[bucket]);\n",
            "            }\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a writer has no fence between the table and the mirror",
        file: MIRROR,
        old: concat!(
            "        // SeqCst: pairs with the fence of `copy_into`.\n",
            "        fence(Ordering::SeqCst);\n",
        ),
        new: "",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a word that has changed is copied again without its stripe",
        file: MIRROR,
        old: "                    let _locked = self.stripes.lock([bucket]);\n",
        new: "",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a word that has changed is copied again when its stripe is given back",
        file: MIRROR,
        old: "let _locked = self.stripes.lock([bucket]);\n                    copy",
        new: "drop(self.stripes.lock([bucket]));\n                    copy",
        caught_by: &["snapshots::two_hops_across_the_frontier"],
    },
    Fault {
        what: "a block is copied without its last word",
        file: MIRROR,
        old: "let block = start..words.len().min(start + BLOCK);",
        new: "let block = start..words.len().min(start + BLOCK - 1);",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "the buckets to copy are counted before the flags are set",
        file: MIRROR,
        old: concat!(
            "        let recording = Recording::start(self, Arc::clone(&words));\n",
            "        self.copy_into(&words);\n",
        ),
        new: concat!(
            "        let buckets = self.present().len();\n",
            "        let recording = Recording::start(self, Arc::clone(&words));\n",
            "        for bucket in 0..buckets {\n",
            "            let _locked = self.stripes.lock([bucket]);\n",
            "            copy(self.buckets.word(bucket), &words[bucket]);\n",
            "        }\n",
        ),
        caught_by: SNAPSHOT_AND_SPLIT,
    },
    Fault {
        what: "the flags are set without their stripes",
        file: STRIPES,
        old: concat!(
            "            let _locked = stripe.lock.lock();\n",
            "            stripe.mirrored.set(true);\n",
        ),
        new: "            stripe.mirrored.set(true);\n",
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a writer asks for the flag of a stripe that it does not hold",
        file: STRIPES,
        old: "        self.stripes.stripes[self.stripes.of(bucket)].mirrored.is_set()\n",
        new: concat!(
            "        let _ = bucket;\n",
            "        self.stripes.stripes[0].mirrored.is_set()\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    // Snapshots: the instant.
    Fault {
        what: "the extent of a snapshot is read before all stripes are locked",
        file: MIRROR,
        old: SNAPSHOT_END,
        new: concat!(
            "        let extent = match self.buckets.growth() {\n",
            "            Some(growth) => growth.extent(),\n",
            "            None => Extent::start(self.rows()),\n",
            "        };\n",
            "        let locked = self.stripes.lock_all();\n",
            "        let items = self.stripes.occupied();\n",
            "        let words = recording.stop(&locked).expect(\"nobody else takes the mirror\");\n",
            "        drop(locked);\n",
        ),
        caught_by: SNAPSHOT_AND_SPLIT,
    },
    Fault {
        what: "the extent of a snapshot is read when the stripes are given back",
        file: MIRROR,
        old: SNAPSHOT_END,
        new: concat!(
            "        let locked = self.stripes.lock_all();\n",
            "        let items = self.stripes.occupied();\n",
            "        let words = recording.stop(&locked).expect(\"nobody else takes the mirror\");\n",
            "        drop(locked);\n",
            "        let extent = match self.buckets.growth() {\n",
            "            Some(growth) => growth.extent(),\n",
            "            None => Extent::start(self.rows()),\n",
            "        };\n",
        ),
        caught_by: SNAPSHOT_AND_SPLIT,
    },
    Fault {
        what: "the items of a snapshot are counted before all stripes are locked",
        file: MIRROR,
        old: SNAPSHOT_END,
        new: concat!(
            "        let items = self.stripes.occupied();\n",
            "        let locked = self.stripes.lock_all();\n",
            "        let extent = match self.buckets.growth() {\n",
            "            Some(growth) => growth.extent(),\n",
            "            None => Extent::start(self.rows()),\n",
            "        };\n",
            "        let words = recording.stop(&locked).expect(\"nobody else takes the mirror\");\n",
            "        drop(locked);\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "the items of a snapshot are counted when the stripes are given back",
        file: MIRROR,
        old: SNAPSHOT_END,
        new: concat!(
            "        let locked = self.stripes.lock_all();\n",
            "        let extent = match self.buckets.growth() {\n",
            "            Some(growth) => growth.extent(),\n",
            "            None => Extent::start(self.rows()),\n",
            "        };\n",
            "        let words = recording.stop(&locked).expect(\"nobody else takes the mirror\");\n",
            "        drop(locked);\n",
            "        let items = self.stripes.occupied();\n",
        ),
        caught_by: &["snapshots::clear_beside_a_snapshot"],
    },
    Fault {
        what: "the mirror is taken away before all stripes are locked",
        file: MIRROR,
        old: SNAPSHOT_END,
        new: concat!(
            "        let words = self.mirror.words.replace(None).and_then(Arc::into_inner).expect(\"a mirror\");\n",
            "        let locked = self.stripes.lock_all();\n",
            "        let extent = match self.buckets.growth() {\n",
            "            Some(growth) => growth.extent(),\n",
            "            None => Extent::start(self.rows()),\n",
            "        };\n",
            "        let items = self.stripes.occupied();\n",
            "        locked.mirror_none();\n",
            "        drop(locked);\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "the stripes are not held together at the end of a snapshot",
        file: STRIPES,
        old: "        Locked { stripes: self, _guards: self.stripes.iter().map(|s| s.lock.lock()).collect() }\n",
        new: concat!(
            "        for stripe in &self.stripes {\n",
            "            drop(stripe.lock.lock());\n",
            "        }\n",
            "        Locked { stripes: self, _guards: Vec::new() }\n",
        ),
        caught_by: &[
            "snapshots::two_hops_across_the_frontier_the_other_way",
            "snapshots::split_beside_a_snapshot",
        ],
    },
    Fault {
        what: "the flags stay set at the end of a snapshot",
        file: MIRROR,
        old: concat!("        locked.mirror_none();\n", "        //",),
        new: concat!("        let _ = locked;\n", "        //",),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a flag stays set at the end of a snapshot",
        file: STRIPES,
        old: concat!("            stripe.mirrored.set(false);\n", "        }\n",),
        new: concat!(
            "            stripe.mirrored.set(false);\n",
            "            break;\n",
            "        }\n",
        ),
        caught_by: SNAPSHOT_AND_INSERT,
    },
    Fault {
        what: "a flag is not set for a snapshot",
        file: STRIPES,
        old: concat!(
            "        for stripe in &self.stripes {\n",
            "            let _locked = stripe.lock.lock();\n",
        ),
        new: concat!(
            "        for stripe in self.stripes.iter().skip(1) {\n",
            "            let _locked = stripe.lock.lock();\n",
        ),
        caught_by: &[
            "snapshots::insert_and_removal_beside_a_snapshot",
            "snapshots::kick_across_the_frontier",
        ],
    },
    Fault {
        what: "two threads take snapshots at once",
        file: MIRROR,
        old: concat!(
            "        let _taking = self.mirror.taking.lock();\n",
            "        let greatest = self.buckets.words().len();\n",
        ),
        new: "        let greatest = self.buckets.words().len();\n",
        caught_by: &[
            "snapshots::two_snapshots_beside_a_kick",
            "snapshots::two_snapshots_beside_a_split",
        ],
    },
    Fault {
        what: "a snapshot that ends early leaves its mirror behind",
        file: MIRROR,
        old: concat!(
            "        if self.table.mirror.words.get().is_some() {\n",
            "            self.stop",
        ),
        new: concat!(
            "        if self.table.mirror.words.get().is_none() {\n",
            "            self.stop",
        ),
        caught_by: &["snapshots::abandoned_snapshot_beside_a_kick"],
    },
    Fault {
        what: "a snapshot that ends early takes its mirror away before it locks the stripes",
        file: MIRROR,
        old: "            self.stop(&self.table.stripes.lock_all());\n",
        new: concat!(
            "            self.table.mirror.words.replace(None);\n",
            "            self.stop(&self.table.stripes.lock_all());\n",
        ),
        caught_by: &["snapshots::abandoned_snapshot_beside_a_kick"],
    },
    // Merges.
    Fault {
        what: "a merge that fails takes nothing back",
        file: MERGE,
        old: concat!(
            "                for key in self.keys_of(image).take(stored) {\n",
            "                    self.remove(key);\n",
            "                }\n",
        ),
        new: "                let _ = stored;\n",
        caught_by: MERGE_FAILS,
    },
    Fault {
        what: "a merge that fails takes back what it could not store",
        file: MERGE,
        old: "self.keys_of(image).take(stored)",
        new: "self.keys_of(image).take(stored + 1)",
        caught_by: MERGE_FAILS,
    },
    Fault {
        what: "a merge that fails says that it has not",
        file: MERGE,
        old: "                return Err(error);\n",
        new: concat!("                let _ = error;\n", "                break;\n",),
        caught_by: MERGE_FAILS,
    },
    // The lock of a stripe.
    Fault {
        what: "a stripe is locked Relaxed",
        file: LOCK,
        old: "compare_exchange(false, true, Ordering::Acquire,",
        new: "compare_exchange(false, true, Ordering::Relaxed,",
        caught_by: EXCLUSION,
    },
    Fault {
        what: "a stripe is unlocked Relaxed",
        file: LOCK,
        old: "store(false, Ordering::Release)",
        new: "store(false, Ordering::Relaxed)",
        caught_by: EXCLUSION,
    },
    Fault {
        what: "a waiter takes a stripe that another thread holds",
        file: LOCK,
        old: "if !self.held.load(Ordering::Relaxed) && self.try_acquire() {",
        new: "if self.held.load(Ordering::Relaxed) || self.try_acquire() {",
        caught_by: EXCLUSION,
    },
];

/// The stores of a hop, with the bump between them.
const RELOCATE: &str = concat!(
    "        self.put(locked, to, copied, Ordering::Release);\n",
    "        self.versions.bump(fingerprint);\n",
    "        locked.occupy(to);\n",
    "        if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {\n",
    "            // SeqCst: the insert of the new one takes effect here.\n",
    "            self.put(locked, from, replaced, Ordering::SeqCst);\n",
    "        } else {\n",
    "            self.put(locked, from, cleared, Ordering::Release);\n",
    "            locked.vacate(from);\n",
    "        }\n",
);

/// All that a split does under its stripes.
const SPLIT: &str = concat!(
    "        let mut partitions = [Partition::NONE; RUN];\n",
    "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
    "            *partition = self.partition(extent, old);\n",
    "            // Release: not needed by itself, the store of the extent publishes it. A lookup reads it\n",
    "            // only by the new extent.\n",
    "            self.put(&locked, old + stride, partition.goes, Ordering::Release);\n",
    "        }\n",
    "        // SeqCst: pairs with the loads of the extent, for whom it publishes the copies.\n",
    "        let after = extent.after(run.len());\n",
    "        growth.extent.store(after.bits(), Ordering::SeqCst);\n",
    "        for (partition, old) in partitions.iter().zip(run.clone()) {\n",
    "            for &fingerprint in L::Word::slots(partition.goes).iter().filter(|&&bits| bits != 0) {\n",
    "                self.versions.bump(Fingerprint::in_slot(fingerprint));\n",
    "            }\n",
    "            let moved = L::SLOTS - L::Word::free(partition.goes);\n",
    "            locked.transfer(old, old + stride, moved);\n",
    "        }\n",
    "        for (partition, old) in partitions.iter().zip(run) {\n",
    "            // Release: pairs with the loads of lookups, for whom it publishes the raised versions.\n",
    "            self.put(&locked, old, partition.stays, Ordering::Release);\n",
    "        }\n",
);

/// The instant of a snapshot.
const SNAPSHOT_END: &str = concat!(
    "        let locked = self.stripes.lock_all();\n",
    "        let extent = match self.buckets.growth() {\n",
    "            Some(growth) => growth.extent(),\n",
    "            None => Extent::start(self.rows()),\n",
    "        };\n",
    "        let items = self.stripes.occupied();\n",
    "        let words = recording.stop(&locked).expect(\"nobody else takes the mirror\");\n",
    "        drop(locked);\n",
);
