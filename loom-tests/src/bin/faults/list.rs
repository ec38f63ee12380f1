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

const TABLE: &str = "src/table.rs";
const INSERT: &str = "src/table/insert.rs";
const LOOKUP: &str = "src/table/lookup.rs";
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
        old: "[load(key.first), load(key.second)]",
        new: "[self.buckets.word(key.first).load(Ordering::Relaxed), load(key.second)]",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a lookup reads its second bucket Relaxed",
        file: LOOKUP,
        old: "[load(key.first), load(key.second)]",
        new: "[load(key.first), self.buckets.word(key.second).load(Ordering::Relaxed)]",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a removal reads its first bucket Relaxed",
        file: REMOVE,
        old: "let [in_first, in_second] = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [in_first, in_second] = [(first, Relaxed), (second, SeqCst)]\n            \
              .map(|(bucket, order)| self.buckets.word(bucket).load(order))",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal reads its second bucket Relaxed",
        file: REMOVE,
        old: "let [in_first, in_second] = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [in_first, in_second] = [(first, SeqCst), (second, Relaxed)]\n            \
              .map(|(bucket, order)| self.buckets.word(bucket).load(order))",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a kick copies Relaxed",
        file: TABLE,
        old: "to_word.store(copied, Ordering::Release)",
        new: "to_word.store(copied, Ordering::Relaxed)",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "the last hop of a kick replaces Relaxed",
        file: TABLE,
        old: "from_word.store(replaced, Ordering::SeqCst)",
        new: "from_word.store(replaced, Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a middle hop clears Relaxed",
        file: TABLE,
        old: "from_word.store(cleared, Ordering::Release)",
        new: "from_word.store(cleared, Ordering::Relaxed)",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "an insert stores Relaxed",
        file: TABLE,
        old: "        word.store(copied, Ordering::SeqCst)",
        new: "        word.store(copied, Ordering::Relaxed)",
        caught_by: &["kicks::kick_removal_and_insert_against_lookup"],
    },
    Fault {
        what: "a removal clears Relaxed",
        file: TABLE,
        old: "word.store(cleared, Ordering::SeqCst)",
        new: "word.store(cleared, Ordering::Relaxed)",
        caught_by: &["kicks::kick_and_removal_against_lookup"],
    },
    Fault {
        what: "clear clears Relaxed",
        file: TABLE,
        old: "word.store(0, Ordering::Release)",
        new: "word.store(0, Ordering::Relaxed)",
        caught_by: CLEAR,
    },
    // SeqCst, each access weakened alone to what it would otherwise need.
    Fault {
        what: "a lookup reads its first bucket Acquire, not SeqCst",
        file: LOOKUP,
        old: "[load(key.first), load(key.second)]",
        new: "[self.buckets.word(key.first).load(Ordering::Acquire), load(key.second)]",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "a lookup reads its second bucket Acquire, not SeqCst",
        file: LOOKUP,
        old: "[load(key.first), load(key.second)]",
        new: "[load(key.first), self.buckets.word(key.second).load(Ordering::Acquire)]",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "an insert stores Release, not SeqCst",
        file: TABLE,
        old: "        word.store(copied, Ordering::SeqCst)",
        new: "        word.store(copied, Ordering::Release)",
        caught_by: &["order::inserts_then_lookups"],
    },
    Fault {
        what: "the last hop of a kick replaces Release, not SeqCst",
        file: TABLE,
        old: "from_word.store(replaced, Ordering::SeqCst)",
        new: "from_word.store(replaced, Ordering::Release)",
        caught_by: &["order::kick_and_insert_then_lookups"],
    },
    Fault {
        what: "a removal clears Release, not SeqCst",
        file: TABLE,
        old: "word.store(cleared, Ordering::SeqCst)",
        new: "word.store(cleared, Ordering::Release)",
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
        old: "        to_word.store(copied, Ordering::Release);\n        \
              self.versions.bump(fingerprint);\n",
        new: "        self.versions.bump(fingerprint);\n        \
              to_word.store(copied, Ordering::Release);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick bumps the version after it clears",
        file: TABLE,
        old: RELOCATE,
        new: "        to_word.store(copied, Ordering::Release);\n        \
              locked.occupy(to);\n        \
              if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {\n            \
              from_word.store(replaced, Ordering::SeqCst);\n        \
              } else {\n            \
              from_word.store(cleared, Ordering::Release);\n            \
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
              from_word.store(replaced, Ordering::SeqCst);\n        \
              } else {\n            \
              from_word.store(cleared, Ordering::Release);\n            \
              locked.vacate(from);\n        \
              }\n        \
              self.versions.bump(fingerprint);\n        \
              to_word.store(copied, Ordering::Release);\n",
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
        new: "            word.store(cleared, Ordering::SeqCst);\n            \
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
        what: "a removal that finds no copy does not validate the version",
        file: REMOVE,
        old: "} else if version.validate() {",
        new: "} else if version.validate() | true {",
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
        file: INSERT,
        old: "            let locked = self.stripes.lock([bucket]);\n",
        new: "            let locked = self.stripes.lock([0; 0]);\n",
        caught_by: &["races::two_inserts_for_the_last_slot"],
    },
    Fault {
        what: "an insert_unique locks one of its stripes",
        file: INSERT,
        old: "            let locked = self.stripes.lock([key.first, key.second]);\n            \
              match self.try_place_locked",
        new: "            let locked = self.stripes.lock([key.first]);\n            \
              match self.try_place_locked",
        caught_by: UNIQUE,
    },
    Fault {
        what: "an insert_unique that kicks locks only the stripes of the hop",
        file: INSERT,
        old: "self.stripes.lock([key.first, key.second, hop.to])",
        new: "self.stripes.lock([hop.from, hop.to])",
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
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, None)",
        new: "self.relocate(&self.stripes.lock([hop.from]), hop, None)",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "a middle hop locks only the bucket that it fills",
        file: INSERT,
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, None)",
        new: "self.relocate(&self.stripes.lock([hop.to]), hop, None)",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "the last hop locks only the bucket that it leaves",
        file: INSERT,
        old: "let locked = self.stripes.lock([hop.from, hop.to]);",
        new: "let locked = self.stripes.lock([hop.from]);",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "the last hop locks only the bucket that it fills",
        file: INSERT,
        old: "let locked = self.stripes.lock([hop.from, hop.to]);",
        new: "let locked = self.stripes.lock([hop.to]);",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal locks no stripe",
        file: REMOVE,
        old: "            let locked = self.stripes.lock([bucket]);\n",
        new: "            let locked = self.stripes.lock([0; 0]);\n",
        caught_by: &["races::two_removals_of_one_copy"],
    },
    Fault {
        what: "count locks no stripe",
        file: LOOKUP,
        old: "let _locked = self.stripes.lock([key.first, key.second]);",
        new: "let _locked = self.stripes.lock([0; 0]);",
        caught_by: &["batches::count_of_what_is_kicked", "batches::count_against_kick"],
    },
    Fault {
        what: "count locks one of its stripes",
        file: LOOKUP,
        old: "let _locked = self.stripes.lock([key.first, key.second]);",
        new: "let _locked = self.stripes.lock([key.first]);",
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
        old: "let Some(cleared) = L::Word::without(from_word.load(Ordering::Relaxed), fingerprint) \
              else {\n            return false;\n        };\n",
        new: "let from_is = from_word.load(Ordering::Relaxed);\n        \
              let cleared = L::Word::without(from_is, fingerprint).unwrap_or(from_is);\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a hop does not check that there is still room",
        file: TABLE,
        old: "let Some(copied) = L::Word::with(to_word.load(Ordering::Relaxed), fingerprint) \
              else {\n            return false;\n        };\n",
        new: "let to_is = to_word.load(Ordering::Relaxed);\n        \
              let copied = L::Word::with(to_is, fingerprint).unwrap_or(to_is);\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop loses its fingerprint",
        file: TABLE,
        old: "let Some(copied) = L::Word::with(to_word.load(Ordering::Relaxed), fingerprint) \
              else {\n",
        new: "let Some(copied) = L::Word::with(to_word.load(Ordering::Relaxed), fingerprint) \
              else {\n            \
              from_word.store(cleared, Ordering::Release);\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop leaves its copy behind",
        file: TABLE,
        old: "let Some(cleared) = L::Word::without(from_word.load(Ordering::Relaxed), fingerprint) \
              else {\n",
        new: "let Some(cleared) = L::Word::without(from_word.load(Ordering::Relaxed), fingerprint) \
              else {\n            \
              if let Some(early) = L::Word::with(to_word.load(Ordering::Relaxed), fingerprint) {\n                \
              to_word.store(early, Ordering::Release);\n            }\n",
        caught_by: REMOVALS,
    },
    // What an attempt that fails, or that finds no room, means for the operation.
    Fault {
        what: "a kick makes room and does not store the new item",
        file: INSERT,
        old: "self.relocate(locked, hop, Some(key.fingerprint))",
        new: "self.relocate(locked, hop, None)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "an insert says full without a look under the stripes",
        file: INSERT,
        old: "                let locked = self.stripes.lock([key.first, key.second]);\n                \
              self.try_place_locked(&locked, key, duplicates)\n",
        new: "                Attempt::NoRoom\n",
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
        old: "                Attempt::Removed\n            } else {\n                \
              Attempt::Overtaken\n",
        new: "                Attempt::Removed\n            } else {\n                \
              Attempt::Absent\n",
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
        old: "        self.remove_from(&locked, first, second, fingerprint)\n            \
              || self.remove_from(&locked, second, first, fingerprint)\n",
        new: "        self.remove_from(&locked, first, second, fingerprint)\n",
        caught_by: OVERTAKEN_REMOVALS,
    },
    Fault {
        what: "the last resort of a removal looks only at the second bucket",
        file: REMOVE,
        old: "        self.remove_from(&locked, first, second, fingerprint)\n            \
              || self.remove_from(&locked, second, first, fingerprint)\n",
        new: "        self.remove_from(&locked, second, first, fingerprint)\n",
        caught_by: OVERTAKEN_REMOVALS,
    },
    Fault {
        what: "the last resort of a removal locks one of its stripes",
        file: REMOVE,
        old: "let locked = self.stripes.lock([first, second]);",
        new: "let locked = self.stripes.lock([first]);",
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
    "        to_word.store(copied, Ordering::Release);\n",
    "        self.versions.bump(fingerprint);\n",
    "        locked.occupy(to);\n",
    "        if let Some(replaced) = new.and_then(|new| L::Word::with(cleared, new)) {\n",
    "            // SeqCst: the insert of the new one takes effect here.\n",
    "            from_word.store(replaced, Ordering::SeqCst);\n",
    "        } else {\n",
    "            from_word.store(cleared, Ordering::Release);\n",
    "            locked.vacate(from);\n",
    "        }\n",
);
