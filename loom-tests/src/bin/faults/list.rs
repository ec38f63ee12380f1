//! The faults: what each rule of the protocol is there for.

/// A deliberate fault: a small change of one file.
pub struct Fault {
    /// In a few words.
    pub what: &'static str,
    /// The file, from the root of the workspace.
    pub file: &'static str,
    /// What stands there, once.
    pub old: &'static str,
    /// What the fault makes of it.
    pub new: &'static str,
    /// Models that notice. They are run first, and all the others if they do not.
    pub caught_by: &'static [&'static str],
}

const TABLE: &str = "src/table.rs";
const STRIPES: &str = "src/stripes.rs";
const LOCK: &str = "src/lock.rs";
const VERSIONS: &str = "src/versions.rs";

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

pub const FAULTS: &[Fault] = &[
    // Orderings, each weakened to Relaxed.
    Fault {
        what: "a lookup opens its version Relaxed",
        file: VERSIONS,
        old: "version: group.load(Ordering::Acquire)",
        new: "version: group.load(Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a version is raised Relaxed",
        file: VERSIONS,
        old: "self.group(fingerprint).fetch_add(1, Ordering::Release)",
        new: "self.group(fingerprint).fetch_add(1, Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "clear raises the versions Relaxed",
        file: VERSIONS,
        old: "            group.fetch_add(1, Ordering::Release)",
        new: "            group.fetch_add(1, Ordering::Relaxed)",
        caught_by: CLEAR,
    },
    Fault {
        what: "a lookup reads its first bucket Relaxed",
        file: TABLE,
        old: "let first = self.words[key.first].load(Ordering::Acquire)",
        new: "let first = self.words[key.first].load(Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a lookup reads its second bucket Relaxed",
        file: TABLE,
        old: "let second = self.words[key.second].load(Ordering::Acquire)",
        new: "let second = self.words[key.second].load(Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a removal reads its first bucket Relaxed",
        file: TABLE,
        old: "self.words[first].load(Ordering::Acquire)",
        new: "self.words[first].load(Ordering::Relaxed)",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal reads its second bucket Relaxed",
        file: TABLE,
        old: "self.words[second].load(Ordering::Acquire)",
        new: "self.words[second].load(Ordering::Relaxed)",
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
        what: "a kick clears Relaxed",
        file: TABLE,
        old: "from_word.store(replaced.unwrap_or(cleared), Ordering::Release)",
        new: "from_word.store(replaced.unwrap_or(cleared), Ordering::Relaxed)",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "an insert stores Relaxed",
        file: TABLE,
        old: "        word.store(copied, Ordering::Release)",
        new: "        word.store(copied, Ordering::Relaxed)",
        caught_by: &["kicks::kick_removal_and_insert_against_lookup"],
    },
    Fault {
        what: "a removal clears Relaxed",
        file: TABLE,
        old: "word.store(cleared, Ordering::Release)",
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
    // The version: there, in its place, and looked at.
    Fault {
        what: "a kick raises no version",
        file: TABLE,
        old: "        self.versions.raise(fingerprint);\n        from_word",
        new: "        from_word",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick raises the version of the newcomer",
        file: TABLE,
        old: "        self.versions.raise(fingerprint);\n        from_word",
        new: "        self.versions.raise(new.unwrap_or(fingerprint));\n        from_word",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick raises the version before it copies",
        file: TABLE,
        old: "        to_word.store(copied, Ordering::Release);\n        self.versions.raise(fingerprint);\n",
        new: "        self.versions.raise(fingerprint);\n        to_word.store(copied, Ordering::Release);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick raises the version after it clears",
        file: TABLE,
        old: "        self.versions.raise(fingerprint);\n        \
              from_word.store(replaced.unwrap_or(cleared), Ordering::Release);\n",
        new: "        from_word.store(replaced.unwrap_or(cleared), Ordering::Release);\n        \
              self.versions.raise(fingerprint);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a kick clears before it copies",
        file: TABLE,
        old: "        to_word.store(copied, Ordering::Release);\n        \
              self.versions.raise(fingerprint);\n        \
              from_word.store(replaced.unwrap_or(cleared), Ordering::Release);\n",
        new: "        from_word.store(replaced.unwrap_or(cleared), Ordering::Release);\n        \
              self.versions.raise(fingerprint);\n        \
              to_word.store(copied, Ordering::Release);\n",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "clear raises no version",
        file: TABLE,
        old: "        self.versions.raise_all();\n",
        new: "",
        caught_by: CLEAR,
    },
    Fault {
        what: "a removal raises no version for a duplicate",
        file: TABLE,
        old: "            self.versions.raise(fingerprint);\n        }\n",
        new: "        }\n",
        caught_by: COPIES,
    },
    Fault {
        what: "a removal raises the version for a duplicate too late",
        file: TABLE,
        old: "            self.versions.raise(fingerprint);\n        }\n        \
              word.store(cleared, Ordering::Release);\n",
        new: "            word.store(cleared, Ordering::Release);\n            \
              self.versions.raise(fingerprint);\n        }\n        \
              word.store(cleared, Ordering::Release);\n",
        caught_by: COPIES,
    },
    Fault {
        what: "a removal says no without a look at the version",
        file: TABLE,
        old: "opened.unmoved().then_some(false)",
        new: "Some(opened.unmoved() & false)",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a lookup that is not sure says no",
        file: TABLE,
        old: "                self.counts.inconclusive.fetch_add(1, Ordering::Relaxed);\n                true\n",
        new: "                self.counts.inconclusive.fetch_add(1, Ordering::Relaxed);\n                false\n",
        caught_by: &["stopped::lookup_overtaken_in_every_round"],
    },
    Fault {
        what: "an inconclusive lookup is not counted",
        file: TABLE,
        old: "                self.counts.inconclusive.fetch_add(1, Ordering::Relaxed);\n",
        new: "",
        caught_by: &["stopped::lookup_overtaken_in_every_round"],
    },
    Fault {
        what: "a lookup tries one round too many",
        file: TABLE,
        old: "ROUNDS - 1)",
        new: "ROUNDS)",
        caught_by: &["stopped::lookup_overtaken_in_every_round"],
    },
    Fault {
        what: "a lookup that is overtaken takes the locks",
        file: TABLE,
        old: "        match self.look(Key {",
        new: "        let _held = self.stripes.lock([first, second]);\n        match self.look(Key {",
        caught_by: &["stopped::writer_stopped_at_each_step_of_a_kick"],
    },
    // The locks, and what is checked under them.
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
        what: "an insert_unique locks one of its stripes",
        file: TABLE,
        old: "                let held = self.stripes.lock([key.first, key.second]);\n                \
              if let Some(decided)",
        new: "                let held = self.stripes.lock([key.first]);\n                \
              if let Some(decided)",
        caught_by: UNIQUE,
    },
    Fault {
        what: "an insert_unique that kicks locks no more than the hop",
        file: TABLE,
        old: "self.stripes.lock([key.first, key.second, hop.to])",
        new: "self.stripes.lock([hop.from, hop.to])",
        caught_by: &["unique::two_of_one_item_that_kick"],
    },
    Fault {
        what: "an insert_unique that kicks does not look again",
        file: TABLE,
        old: "if self.verdict(key, Copies::One) == Verdict::Present {",
        new: "if key.fingerprint == 0 {",
        caught_by: &["unique::two_of_one_item_that_kick"],
    },
    Fault {
        what: "a middle hop locks the bucket that it leaves only",
        file: TABLE,
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, None)",
        new: "self.relocate(&self.stripes.lock([hop.from]), hop, None)",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "a middle hop locks the bucket that it fills only",
        file: TABLE,
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, None)",
        new: "self.relocate(&self.stripes.lock([hop.to]), hop, None)",
        caught_by: &["races::two_hops_into_a_bucket_that_others_use"],
    },
    Fault {
        what: "the last hop locks the bucket that it leaves only",
        file: TABLE,
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, new)",
        new: "self.relocate(&self.stripes.lock([hop.from]), hop, new)",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "the last hop locks the bucket that it fills only",
        file: TABLE,
        old: "self.relocate(&self.stripes.lock([hop.from, hop.to]), hop, new)",
        new: "self.relocate(&self.stripes.lock([hop.to]), hop, new)",
        caught_by: REMOVALS,
    },
    Fault {
        what: "an insert takes no lock of its bucket",
        file: TABLE,
        old: "            let held = self.stripes.lock([bucket]);\n",
        new: "            let held = self.stripes.lock([0; 0]);\n",
        caught_by: &["races::two_inserts_for_the_last_slot"],
    },
    Fault {
        what: "count locks nothing",
        file: TABLE,
        old: "let _held = self.stripes.lock([key.first, key.second]);",
        new: "let _held = self.stripes.lock([0; 0]);",
        caught_by: &["batches::count_of_what_is_kicked", "batches::count_against_kick"],
    },
    Fault {
        what: "clear locks nothing",
        file: STRIPES,
        old: "self.stripes.iter().map(|s| s.lock.lock()).collect()",
        new: "Vec::new()",
        caught_by: &["batches::clear_against_insert_and_removal"],
    },
    Fault {
        what: "a hop does not check that its fingerprint is still there",
        file: TABLE,
        old: "let Some(cleared) = L::without(from_word.load(Ordering::Relaxed), fingerprint) else {\n            return false;\n        };\n",
        new: "let from_is = from_word.load(Ordering::Relaxed);\n        \
              let cleared = L::without(from_is, fingerprint).unwrap_or(from_is);\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a hop does not check that there is still room",
        file: TABLE,
        old: "let Some(copied) = L::with(to_word.load(Ordering::Relaxed), fingerprint) else {\n            return false;\n        };\n",
        new: "let to_is = to_word.load(Ordering::Relaxed);\n        \
              let copied = L::with(to_is, fingerprint).unwrap_or(to_is);\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop loses its fingerprint",
        file: TABLE,
        old: "        let Some(copied) = L::with(to_word.load(Ordering::Relaxed), fingerprint) else {\n            return false;\n",
        new: "        let Some(copied) = L::with(to_word.load(Ordering::Relaxed), fingerprint) else {\n            \
              from_word.store(cleared, Ordering::Release);\n            \
              return false;\n",
        caught_by: LAST_SLOT,
    },
    Fault {
        what: "a stale hop leaves its copy behind",
        file: TABLE,
        old: "        let (from_word, to_word) = (&self.words[from], &self.words[to]);\n",
        new: "        let (from_word, to_word) = (&self.words[from], &self.words[to]);\n        \
              if let Some(early) = L::with(to_word.load(Ordering::Relaxed), fingerprint) {\n            \
              if L::copies(from_word.load(Ordering::Relaxed), fingerprint) == 0 {\n                \
              to_word.store(early, Ordering::Release);\n            }\n        }\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a kick leaves the hole that it made and nothing in it",
        file: TABLE,
        old: "let new = Some(key.fingerprint);",
        new: "let new = None;",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "an insert says full without an exact look",
        file: TABLE,
        old: "return self.decide(&held, key, copies).unwrap_or(Err(InsertError::Full));",
        new: "let _ = held; return Err(InsertError::Full);",
        caught_by: &["unique::overtaken_in_a_full_table"],
    },
    Fault {
        what: "a search goes on past a slot that was freed",
        file: "src/path.rs",
        old: "                return Found::Freed;",
        new: "                next += 1;\n                continue;",
        caught_by: &["races::slot_freed_deeper_in_a_search"],
    },
    Fault {
        what: "count locks one of its stripes",
        file: TABLE,
        old: "let _held = self.stripes.lock([key.first, key.second]);",
        new: "let _held = self.stripes.lock([key.first]);",
        caught_by: &["races::copy_in_counted_and_copy_out_against_lookup"],
    },
    Fault {
        what: "a stale path makes the insert fail",
        file: TABLE,
        old: "                Kick::Stale => backoff.wait(),\n",
        new: "                Kick::Stale => return Err(InsertError::Full),\n",
        caught_by: REMOVALS,
    },
    Fault {
        what: "a removal that found its copy gone gives up",
        file: TABLE,
        old: "bucket, other, fingerprint).then_some(true)",
        new: "bucket, other, fingerprint).then_some(true).or(Some(false))",
        caught_by: REMOVALS,
    },
    // The counts.
    Fault {
        what: "a kick does not carry the count to the bucket that it fills",
        file: TABLE,
        old: "        held.occupy(to);\n",
        new: "",
        caught_by: LOOKUPS,
    },
    Fault {
        what: "a middle hop does not carry the count from the bucket that it leaves",
        file: TABLE,
        old: "        if replaced.is_none() {\n            held.vacate(from);\n        }\n",
        new: "",
        caught_by: TWO_HOPS,
    },
    Fault {
        what: "clear forgets the counts",
        file: TABLE,
        old: "        held.vacate_all();\n",
        new: "        let _ = held;\n",
        caught_by: CLEAR,
    },
    // The lock.
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
        what: "a stripe is taken by whoever waited for it once",
        file: LOCK,
        old: "if !self.held.load(Ordering::Relaxed) && self.try_take() {",
        new: "if self.held.load(Ordering::Relaxed) || self.try_take() {",
        caught_by: EXCLUSION,
    },
];
