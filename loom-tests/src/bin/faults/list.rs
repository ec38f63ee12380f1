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
const EXTENT: &str = "src/extent.rs";
const GROW: &str = "src/table/grow.rs";
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

const SPLITS: &[&str] = &[
    "growth::split_against_lookups_in_its_direction",
    "growth::split_against_lookups_the_other_way",
];
const DUPLICATE_THAT_GOES: &[&str] = &["growth::duplicate_that_goes_and_removal_of_the_other"];
const SPLIT_THEN_LOOKUPS: &[&str] = &["order::insert_and_split_with_insert_then_lookups"];
const NEW_BUCKET: &[&str] = &["growth::split_and_removal_beside_an_insert"];
const NO_ROOM: &[&str] = &["growth::two_inserts_that_find_no_room"];

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
        old: "let [in_first, in_second] = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [one, other] = self.locate(key.places());\n        \
              let [in_first, in_second] = [(one, Relaxed), (other, SeqCst)]\n            \
              .map(|(bucket, order)| self.buckets.word(bucket).load(order))",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal reads its second bucket Relaxed",
        file: REMOVE,
        old: "let [in_first, in_second] = self.words(key)",
        new: "use crate::sync::Ordering::{Relaxed, SeqCst};\n        \
              let [one, other] = self.locate(key.places());\n        \
              let [in_first, in_second] = [(one, SeqCst), (other, Relaxed)]\n            \
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
            "            let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);\n",
            "            if self.remove_from(&locked, bucket, Place { row: other, fingerprint }) {\n",
        ),
        new: concat!(
            "            use crate::sync::Ordering::{Acquire, Relaxed, SeqCst};\n",
            "            let [in_other] = self.locate([Place { row: other, fingerprint }]);\n",
            "            let (locked, [bucket]) = self.lock([Place { row, fingerprint }]);\n",
            "            let word = self.buckets.word(bucket);\n",
            "            if let Some(cleared) = L::Word::without(word.load(Relaxed), fingerprint) {\n",
            "                if L::Word::holds(self.buckets.word(in_other).load(Acquire), fingerprint) {\n",
            "                    self.versions.bump(fingerprint);\n",
            "                }\n",
            "                word.store(cleared, SeqCst);\n",
            "                locked.vacate(bucket);\n",
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
            "        for word in self.present() {\n",
        ),
        new: concat!(
            "        let present = self.present();\n",
            "        let locked = self.stripes.lock_all();\n",
            "        self.versions.bump_all();\n",
            "        for word in present {\n",
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

/// All that a split does under its stripes.
const SPLIT: &str = concat!(
    "        let mut partitions = [Partition::NONE; RUN];\n",
    "        for (partition, old) in partitions.iter_mut().zip(run.clone()) {\n",
    "            *partition = self.partition(extent, old);\n",
    "            // Release: not needed by itself, the store of the extent publishes it. A lookup reads it\n",
    "            // only by the new extent.\n",
    "            self.buckets.word(old + stride).store(partition.goes, Ordering::Release);\n",
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
    "            self.buckets.word(old).store(partition.stays, Ordering::Release);\n",
    "        }\n",
);
