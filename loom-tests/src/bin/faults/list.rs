//! The faults, each of which breaks one rule of the protocol. Those of single orderings are found by
//! `orderings`; here are only the exceptions from them.

/// A deliberate fault: a small change of one function.
pub struct Fault {
    /// In a few words.
    pub what: &'static str,
    /// The file, from the root of the workspace.
    pub file: &'static str,
    pub function: &'static str,
    pub edit: Edit,
    /// Models that fail. They are run first; the others only if all of these pass.
    pub caught_by: &'static [&'static str],
}

/// What is changed. Each text occurs once in the function; a blank in it stands for any white space and
/// comments.
pub enum Edit {
    /// The second in place of the first.
    Replace(&'static str, &'static str),
    Swap(&'static str, &'static str),
    /// The first is moved, to just before the second.
    Before(&'static str, &'static str),
    /// The first is moved, to just behind the second.
    After(&'static str, &'static str),
}

macro_rules! faults {
    ($($file:ident $function:ident: $what:literal
        $verb:ident $one:literal $($word:ident $other:literal)? => $models:expr;)*) => {
        &[$(Fault {
            what: $what,
            file: $file,
            function: stringify!($function),
            edit: edit!($verb $one $($word $other)?),
            caught_by: $models,
        },)*]
    };
}

macro_rules! edit {
    (replace $old:literal with $new:literal) => {
        Edit::Replace($old, $new)
    };
    (without $old:literal) => {
        Edit::Replace($old, "")
    };
    (swap $one:literal and $other:literal) => {
        Edit::Swap($one, $other)
    };
    (put $moved:literal before $place:literal) => {
        Edit::Before($moved, $place)
    };
    (put $moved:literal after $place:literal) => {
        Edit::After($moved, $place)
    };
}

const ARRAY: &str = "src/sync/array.rs";
const BATCH: &str = "src/table/batch.rs";
const BUCKETS: &str = "src/table/buckets.rs";
const FIGURES: &str = "src/table/figures.rs";
const GROWING: &str = "src/table/growing.rs";
const GEOMETRY: &str = "src/table/geometry.rs";
const GROW: &str = "src/table/grow.rs";
const INSERT: &str = "src/table/insert.rs";
const LOCK: &str = "src/sync/lock.rs";
const LOOKUP: &str = "src/table/lookup.rs";
const MERGE: &str = "src/table/merge.rs";
const MIRROR: &str = "src/table/mirror.rs";
const PACKED: &str = "src/layout/packed.rs";
const PATH: &str = "src/table/path.rs";
const REMOVE: &str = "src/table/remove.rs";
const CELLS: &str = "src/table/stash/cells.rs";
const STASH: &str = "src/table/stash.rs";
const STRIPES: &str = "src/table/stripes.rs";
const TABLE: &str = "src/table.rs";
const VERSIONS: &str = "src/table/versions.rs";

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
const PIECES: &[&str] =
    &["array::one_thread_adds", "array::two_threads_add", "array::a_new_directory"];
const CLEAR: &[&str] = &["batches::clear_against_lookups"];
const COPIES: &[&str] = &["races::copy_in_and_copy_out_against_lookup"];
const STASH_AND_LOOKUP: &[&str] = &[
    "stash::going_back_against_lookup",
    "stash::insert_known_to_a_lookup",
    "stash::doubling_against_lookup",
    "stash::cell_used_again_against_lookup",
    "stash::going_back_from_a_passed_line_against_lookup",
];
const ORDER_IN_STASH: &[&str] = &[
    "order::stashed_inserts_then_lookups",
    "order::stashed_removals_then_lookups",
    "order::stashed_insert_and_insert_then_lookups",
    "order::stashed_removal_and_insert_then_lookups",
];
const GOING_BACK: &[&str] = &["stash::going_back_against_lookup"];
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
const VOIDS: &[&str] = &[
    "voids::void_entry_against_lookup_in_the_old_bucket",
    "voids::void_entry_against_lookup_in_the_new_bucket",
];
const VOID_KICKS: &[&str] =
    &["voids::kick_that_passes_a_void_entry_by", "voids::kick_into_the_bucket_that_is_split"];
const NO_ROOM: &[&str] = &["growth::two_inserts_that_find_no_room"];

const SNAPSHOT_AND_INSERT: &[&str] = &["snapshots::insert_beside_a_snapshot"];
const FRONTIER: &[&str] =
    &["snapshots::kick_across_the_frontier", "snapshots::kick_across_the_frontier_the_other_way"];
const SNAPSHOT_AND_SPLIT: &[&str] =
    &["snapshots::split_beside_a_snapshot", "snapshots::end_of_level_beside_a_snapshot"];
const MERGE_FAILS: &[&str] = &["snapshots::merge_that_fails_against_lookups"];

const GETS: &[&str] =
    &["maplets::get_beside_a_kick_in_its_direction", "maplets::get_beside_a_kick_the_other_way"];
const OVERTAKEN_GET: &[&str] = &["maplets::get_overtaken_in_every_round"];
const REPLACEMENTS: &[&str] = &[
    "maplets::replacement_of_what_is_kicked_in_its_direction",
    "maplets::replacement_of_what_is_kicked_the_other_way",
];

const KICKS: &[&str] =
    &["kicks::kick_and_removal_against_lookup", "kicks::kick_removal_and_insert_against_lookup"];
const ORDER: &[&str] = &[
    "order::inserts_then_lookups",
    "order::kick_and_insert_then_lookups",
    "order::removals_then_lookups",
    "order::insert_and_removal_then_lookups",
];

/// Models that notice weaker orderings of a file, most likely. They are run first.
pub const LIKELY: &[(&str, &[&[&str]])] = &[
    (ARRAY, &[PIECES]),
    (LOCK, &[EXCLUSION]),
    (TABLE, &[LOOKUPS, TWO_HOPS, CLEAR, DUPLICATE_THAT_GOES, KICKS, ORDER]),
    (GROWING, &[SPLITS, SPLIT_THEN_LOOKUPS]),
    (GROW, &[SPLITS, SPLIT_THEN_LOOKUPS]),
    (LOOKUP, &[LOOKUPS, ORDER]),
    (REMOVE, &[ORDER]),
    (MIRROR, &[SNAPSHOT_AND_INSERT]),
    (VERSIONS, &[LOOKUPS, CLEAR, STASH_AND_LOOKUP, ORDER_IN_STASH]),
    (CELLS, &[STASH_AND_LOOKUP, ORDER_IN_STASH]),
];

/// Where the sources have a stronger ordering than any model needs.
pub struct Exception {
    pub file: &'static str,
    /// The line of the source, without the blanks around it.
    pub line: &'static str,
    /// As the description of a fault says it: "Relaxed, not Release".
    pub how: &'static str,
    pub reason: &'static str,
}

pub const EXCEPTIONS: &[Exception] = &[
    Exception {
        file: TABLE,
        line: "fence(Ordering::SeqCst);",
        how: "AcqRel, not SeqCst",
        reason: NO_FENCE_OF_LOOM,
    },
    Exception {
        file: TABLE,
        line: "fence(Ordering::SeqCst);",
        how: "no fence",
        reason: NO_FENCE_OF_LOOM,
    },
    Exception {
        file: CELLS,
        line: "let first = words.word(2 * at).load(Ordering::SeqCst);",
        how: "Acquire, not SeqCst",
        reason: SEQ_CST_OF_LOOM,
    },
    Exception {
        file: CELLS,
        line: "array.set_first(at, first - ((copies as u64) << COPIES), Ordering::SeqCst);",
        how: "Release, not SeqCst",
        reason: SEQ_CST_OF_LOOM,
    },
    Exception {
        file: CELLS,
        line: "let tags = self.tags.view().word((hash & (lines - 1)) as usize).load(Ordering::Acquire);",
        how: "Relaxed, not Acquire",
        reason: "argued there; no model has an entry that takes the cell of another, with another tag, in its first line",
    },
    Exception {
        file: CELLS,
        line: "array.set_first(at, array.first(at) + copies, Ordering::Release);",
        how: "Relaxed, not Release",
        reason: "the entry is there before: who must see it has seen the version of its first copy",
    },
    Exception {
        file: CELLS,
        line: "(0..array.len()).for_each(|at| array.set_first(at, 0, Ordering::Release));",
        how: "Relaxed, not Release",
        reason: "a lookup that misses what is cleared comes after the clear",
    },
];

const SEQ_CST_OF_LOOM: &str = "in loom, the SeqCst loads of the version and of the words before it see all that \
    SeqCst stores have told, and so hide this";

const NO_FENCE_OF_LOOM: &str =
    "in loom, a fence orders no SeqCst load, so no model can show that `clear` needs one";

pub const FAULTS: &[Fault] = faults! {
    // Orderings of one of two reads: `orderings` weakens both together.
    LOOKUP words_in: "a lookup reads its first bucket Relaxed"
        replace "words.map(|word| Word::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::Relaxed, Ordering::SeqCst].into_iter().cycle();
            words.map(|word| Word::from_bits(word.load(orders.next().unwrap())))"
        => LOOKUPS;
    LOOKUP words_in: "a lookup reads its second bucket Relaxed"
        replace "words.map(|word| Word::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::SeqCst, Ordering::Relaxed].into_iter().cycle();
            words.map(|word| Word::from_bits(word.load(orders.next().unwrap())))"
        => LOOKUPS;
    REMOVE change_seen: "a removal reads its first bucket Relaxed"
        replace "let words = self.words_in(buckets);"
        with "use crate::sync::Ordering::{Relaxed, SeqCst};
            let words: [Word<F>; 2] = [(buckets[0], Relaxed), (buckets[1], SeqCst)]
                .map(|(bucket, order)| Word::from_bits(self.buckets.word(bucket.number).load(order)));"
        => REMOVALS;
    REMOVE change_seen: "a removal reads its second bucket Relaxed"
        replace "let words = self.words_in(buckets);"
        with "use crate::sync::Ordering::{Relaxed, SeqCst};
            let words: [Word<F>; 2] = [(buckets[0], SeqCst), (buckets[1], Relaxed)]
                .map(|(bucket, order)| Word::from_bits(self.buckets.word(bucket.number).load(order)));"
        => REMOVALS;
    LOOKUP words_in: "a lookup reads its first bucket Acquire, not SeqCst"
        replace "words.map(|word| Word::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::Acquire, Ordering::SeqCst].into_iter().cycle();
            words.map(|word| Word::from_bits(word.load(orders.next().unwrap())))"
        => &["order::inserts_then_lookups"];
    LOOKUP words_in: "a lookup reads its second bucket Acquire, not SeqCst"
        replace "words.map(|word| Word::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::SeqCst, Ordering::Acquire].into_iter().cycle();
            words.map(|word| Word::from_bits(word.load(orders.next().unwrap())))"
        => &["order::inserts_then_lookups"];

    // The version: bumped, at the right step, and validated.
    TABLE relocate: "a kick bumps no version"
        without "self.versions.bump(self.geometry().version_group(hop.key()));"
        => LOOKUPS;
    TABLE relocate: "a kick bumps the version of another entry"
        replace "version_group(hop.key())" with "version_group(hop.key()) ^ 1"
        => LOOKUPS;
    TABLE relocate: "a kick bumps the version before it copies"
        swap "self.store_word(locked, to.number, copied, Ordering::Release);"
        and "self.versions.bump(self.geometry().version_group(hop.key()));"
        => LOOKUPS;
    TABLE relocate: "a kick bumps the version after it clears"
        put "self.versions.bump(self.geometry().version_group(hop.key()));" after "locked.vacate(from.number); }"
        => LOOKUPS;
    TABLE relocate: "a kick clears before it copies"
        put "self.store_word(locked, to.number, copied, Ordering::Release);" after "locked.vacate(from.number); }"
        => LOOKUPS;
    TABLE clear: "clear bumps no version"
        without "self.versions.bump_all();"
        => CLEAR;
    REMOVE store_changed: "a removal of a duplicate bumps no version"
        without "self.versions.bump(self.geometry().version_group(key));"
        => COPIES;
    REMOVE store_changed: "a removal of a duplicate bumps the version after it clears"
        put "self.store_word(locked, bucket, changed, Ordering::SeqCst);"
        before "if in_other.may_be_missed()"
        => COPIES;
    LOOKUP contains: "a lookup reads its version after its buckets"
        swap "let version = self.versions.read(self.geometry().version_group(key));"
        and "let found = self.either_holds(key);"
        => LOOKUPS;
    LOOKUP contains: "the first round of a lookup does not validate the version"
        replace "version.validate()" with "version.validate() | true"
        => LOOKUPS;
    LOOKUP contains_slow: "the end of the first round of a lookup does not validate the version"
        replace "version.validate_with_stash()" with "version.validate_with_stash() | true"
        => &["races::failed_insert_against_kick"];
    LOOKUP look_once: "a later round of a lookup does not validate the version"
        replace "version.validate_with_stash()" with "version.validate_with_stash() | true"
        => OVERTAKEN_LOOKUP;
    REMOVE change: "a removal that finds no copy at first does not look again with the version"
        replace "self.change_slow(entry, first, second, change)" with "Ok(false)"
        => REMOVALS;
    VERSIONS counter: "all fingerprints share one version"
        replace "group & (self.groups.len() - 1)" with "group & 0"
        => &["costs::lookup_beside_a_kick_of_another_version_group"];

    // The stash.
    STASH take: "an entry is taken out of the stash before the version is bumped"
        swap "self.versions.unstash(group, writer.is_last(self.in_shard(group), found, copies));"
        and "writer.take(self.in_shard(group), found, copies);"
        => GOING_BACK;
    VERSIONS unstash: "no version is bumped when an entry is taken out of the stash"
        replace "ONE - u64::from(last)" with "0_u64.wrapping_sub(u64::from(last))"
        => GOING_BACK;
    STASH put_in_stash: "the version does not say that something is stashed"
        without "self.versions.stashed(group, first);"
        => &["stash::insert_known_to_a_lookup"];
    STASH try_stash: "an entry goes into the stash after its stripes are given back"
        replace "Ok(()) => self.put_in_stash(&mut self.lock_cells(key), key, 1),"
        with "Ok(()) => {
                drop(locked);
                self.put_in_stash(&mut self.lock_cells(key), key, 1)
            }"
        => &["stash::two_unique_inserts_of_one_item"];
    CELLS grow: "the number of lines is stored before entries are copied"
        swap "cells.copy_moved(new, old.len());"
        and "cells.lines.store(lines as u64, Ordering::Release);"
        => &["stash::doubling_against_lookup"];
    CELLS grow: "entries are taken out before the number of lines is stored"
        swap "cells.lines.store(lines as u64, Ordering::Release);"
        and "cells.take_moved_out(new);"
        => &["stash::doubling_against_lookup"];
    CELLS lacks: "a lookup does not look again at the number of lines"
        replace "lacks && self.lines.load(Ordering::Relaxed) == lines" with "lacks"
        => &["stash::doubling_against_lookup"];
    CELLS forget_way: "one entry less, and no way passes the line"
        replace "self.update_passing(array, home, passed);"
        with "(0..passed).for_each(|way| array.set_passing((home + way) & array.mask(), 0));"
        => &["stash::passed_line_against_lookup"];
    CELLS is_last: "the last copy of an entry clears the bit of its group"
        replace "self.owned.of_groups[group] == 1 && found.copies == copies" with "found.copies == copies"
        => &["stash::removal_beside_another_item_of_the_group"];
    STASH unstash_one: "an entry goes back after it is taken out of the stash"
        replace "&& self.try_place_locked(&locked, buckets, key, Duplicates::Allow) == Attempt::Stored
            { self.take_from_stash(key, stashed); }"
        with "{
            self.take_from_stash(key, stashed);
            self.try_place_locked(&locked, buckets, key, Duplicates::Allow);
        }"
        => GOING_BACK;
    INSERT try_place_locked: "an insert_unique does not look in the stash under its stripes"
        without "_ if duplicates == Duplicates::Reject && self.is_stashed(key) => Attempt::Duplicate,"
        => &["stash::two_unique_inserts_of_one_item"];
    REMOVE change_seen: "a removal does not look for stashed entries under its stripe"
        without "if self.versions.any_stashed(self.geometry().version_group(key)) { return Some(false); }"
        => &["stash::removal_of_a_shorter_entry_in_a_bucket"];
    VERSIONS validate: "a lookup compares the version with the bit of the stash"
        replace "self.number()" with "self.version"
        => &["stash::insert_known_to_a_lookup"];

    // The bound of a lookup.
    LOOKUP contains_inconclusive: "an inconclusive lookup answers false"
        replace "Ordering::Relaxed); true" with "Ordering::Relaxed); false"
        => OVERTAKEN_LOOKUP;
    LOOKUP contains_inconclusive: "an inconclusive lookup is not counted"
        without "self.changing.inconclusive.fetch_add(1, Ordering::Relaxed);"
        => OVERTAKEN_LOOKUP;
    LOOKUP contains_inconclusive: "a lookup makes one round too many"
        replace "MAX_LOOKUP_ROUNDS - 1" with "MAX_LOOKUP_ROUNDS"
        => OVERTAKEN_LOOKUP;
    LOOKUP contains_inconclusive: "a lookup whose version changed locks its stripes"
        replace "match self.look_up("
        with "let _locked = self.stripes.lock([first, second]); match self.look_up("
        => &["stopped::writer_stopped_at_each_step_of_a_kick"];

    // The stripes, and what is checked under them.
    STRIPES lock: "stripes are locked out of order"
        replace "order.sort_unstable();" with "order.reverse();"
        => UNIQUE;
    STRIPES lock: "a stripe that two buckets share is locked twice"
        replace "at == 0 || order[at] != order[at - 1]" with "at < N"
        => &["unique::kick_within_shared_stripes"];
    INSERT store: "an insert locks no stripe"
        replace "self.stripes.lock_one(bucket.number, stripe)" with "self.stripes.lock([0; 0])"
        => &["races::two_inserts_for_the_last_slot"];
    INSERT store_unique: "an insert_unique into a free slot locks one of its stripes"
        replace "self.stripes.lock(buckets.map(|bucket| bucket.number));"
        with "self.stripes.lock([buckets[usize::from(!first)].number]);"
        => UNIQUE;
    INSERT store_unique: "an insert_unique into a free slot does not compare the words again"
        replace "&& (0..2).all(|at| self.locked_word(buckets[at].number).bits() == words[at].bits());"
        with ";"
        => UNIQUE;
    INSERT store_unique: "an insert_unique into a free slot does not look whether something is stashed"
        without "&& !self.versions.any_stashed(self.geometry().version_group(key))"
        => &["stash::going_back_against_unique_insert"];
    INSERT try_place: "an insert_unique locks one of its stripes"
        replace "let (locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.stripes.lock([buckets[0].number]);"
        => &["entries::kick_and_split_of_what_is_removed"];
    INSERT last_hop: "an insert_unique that kicks locks only the stripes of the hop"
        replace "let places = [first, second, hop.to]; let (locked, [_, _, to]) ="
        with "let own = Place::select(hop.from.is_beside(key.first), [first, second]);
                    let places = [own, hop.to];
                    let (locked, [_, to]) ="
        => &["unique::two_of_one_item_that_kick"];
    INSERT last_hop_locked: "an insert_unique that kicks does not look again"
        replace "self.either_holds(key)" with "false"
        => &["unique::two_of_one_item_that_kick"];
    INSERT hop: "a middle hop locks only the bucket that it leaves"
        replace "let (locked, buckets) = self.lock(places, buckets);"
        with "let locked = self.stripes.lock([buckets[0].number]);"
        => &["races::two_hops_into_a_bucket_that_others_use"];
    INSERT hop: "a middle hop locks only the bucket that it fills"
        replace "let (locked, buckets) = self.lock(places, buckets);"
        with "let locked = self.stripes.lock([buckets[1].number]);"
        => &["races::two_hops_into_a_bucket_that_others_use"];
    INSERT last_hop: "the last hop locks only the bucket that it leaves"
        replace "let (locked, buckets) = self.lock(hop_places, buckets);"
        with "let locked = self.stripes.lock([buckets[0].number]);"
        => LAST_SLOT;
    INSERT last_hop: "the last hop locks only the bucket that it fills"
        replace "let (locked, buckets) = self.lock(hop_places, buckets);"
        with "let locked = self.stripes.lock([buckets[1].number]);"
        => REMOVALS;
    REMOVE change_seen: "a removal locks no stripe"
        replace "self.lock([place], [bucket]);" with "(self.stripes.lock([0; 0]), self.locate([place]));"
        => &["races::two_removals_of_one_copy"];
    LOOKUP count: "count locks no stripe"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);"
        => &["batches::count_of_what_is_kicked", "batches::count_against_kick"];
    LOOKUP count: "count locks one of its stripes"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let _locked = self.stripes.lock([buckets[0].number]);"
        => &["races::copy_in_counted_and_copy_out_against_lookup"];
    LOOKUP count: "count takes an inconclusive look for an absent item"
        replace "== Lookup::Absent" with "!= Lookup::Present"
        => &["batches::count_of_what_is_kicked"];
    STRIPES lock_all: "clear locks no stripe"
        replace "Guards::lock(&self.stripes)" with "Guards::lock(&self.stripes[..0])"
        => &["batches::clear_against_insert_and_removal"];
    TABLE relocate: "a hop does not check that its entry is still there"
        replace "let Some(cleared) = self.locked_word(from.number).without(planned) else { return false; };"
        with "let in_from = self.locked_word(from.number);
            let cleared = in_from.without(planned).unwrap_or(in_from);"
        => REMOVALS;
    TABLE relocate: "a hop does not check that there is still room"
        replace "let Some(copied) = self.locked_word(to.number).with(copy) else { return false; };"
        with "let in_to = self.locked_word(to.number);
            let copied = in_to.with(copy).unwrap_or(in_to);"
        => LAST_SLOT;
    TABLE relocate: "a stale hop loses its entry"
        replace "with(copy) else {"
        with "with(copy) else {
                self.store_word(locked, from.number, cleared, Ordering::Release);"
        => LAST_SLOT;
    TABLE relocate: "a stale hop leaves its copy behind"
        replace "without(planned) else {"
        with "without(planned) else {
                if let Some(early) = self.locked_word(to.number).with(copy) {
                    self.store_word(locked, to.number, early, Ordering::Release);
                }"
        => REMOVALS;

    // What an attempt that fails, or that finds no room, means for the operation.
    INSERT last_hop_locked: "a kick makes room and does not store the new item"
        replace "[from, to], Some(new)" with "[from, to], None"
        => LOOKUPS;
    STASH try_stash: "an insert says full without a look under the stripes"
        replace "let reserved = self.reserve_in_stash(key).map(drop);"
        with "let reserved = self.reserve_in_stash(key).map(drop);
            if let Err(refused) = reserved { return refused; }"
        => &["unique::overtaken_in_a_full_table"];
    PATH run: "a search goes on past a slot that was freed"
        replace "return Found::Freed;" with "next += 1; continue;"
        => &["races::slot_freed_deeper_in_a_search"];
    INSERT insert_as_it_is: "an insert whose path is stale says full"
        replace "backoff.snooze()" with "return Attempt::NoRoom"
        => REMOVALS;
    REMOVE change: "a removal whose copy is gone says that there is none"
        replace "if self.change_seen(key, change) == Some(true) { return Ok(true); }"
        with "if let Some(removed) = self.change_seen(key, change) { return Ok(removed); }"
        => REMOVALS;
    INSERT emptier: "an insert takes the first bucket with room, not the emptier one"
        replace "first.is_fuller(second)" with "!first.has_room()"
        => &["costs::insert_into_the_emptier_second_bucket"];
    INSERT emptier: "an insert takes the second bucket if it has room, not the emptier one"
        replace "first.is_fuller(second)" with "second.has_room()"
        => &["costs::insert_into_the_emptier_first_bucket"];

    // The last resort, after too many optimistic attempts.
    REMOVE change_slow: "the last resort of a removal looks only at the first bucket"
        replace "self.change_longest(&locked, buckets[1], [b, a], in_reverse, key, change)"
        with "false"
        => OVERTAKEN_REMOVALS;
    REMOVE change_slow: "the last resort of a removal looks only at the second bucket"
        replace "Some(true) => self.change_longest(&locked, buckets[0], [a, b], seen, key, change),"
        with "Some(true) => false,"
        => OVERTAKEN_REMOVALS;
    REMOVE change_slow: "the last resort of a removal takes an entry of the first bucket first"
        replace "let changed = match Reading::holder_of_longest(seen, places) {"
        with "let word = self.locked_word(buckets[0].number);
            let found = buckets[0].reading.longest_anew(word, places[0]).is_some().then_some(true);
            let changed = match found.or(Reading::holder_of_longest(seen, places)) {"
        => &["last_resort::removal_of_the_longer_of_two_entries"];
    REMOVE change_slow: "the last resort of a removal takes an entry of the second bucket first"
        replace "let changed = match Reading::holder_of_longest(seen, places) {"
        with "let word = self.locked_word(buckets[1].number);
            let found = buckets[1].reading.longest_anew(word, places[1]).is_some().then_some(false);
            let changed = match found.or(Reading::holder_of_longest(seen, places)) {"
        => &["last_resort::removal_of_the_longer_of_two_entries_the_other_way"];
    REMOVE change_slow: "the last resort of a removal locks one of its stripes"
        replace "let (locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.stripes.lock([buckets[0].number]);"
        => OVERTAKEN_REMOVALS;
    INSERT insert_exclusive: "the last resort of an insert goes on to kick after it has stored"
        replace "if attempt == Attempt::NoRoom { attempt = self.kick"
        with "if matches!(attempt, Attempt::NoRoom | Attempt::Stored) { attempt = self.kick"
        => &["last_resort::insert_that_finds_room_in_the_end"];
    INSERT insert_exclusive: "the last resort of an insert does not kick"
        without "attempt = self.kick(key, duplicates, Some(&all));"
        => &["last_resort::insert_overtaken_in_every_attempt"];
    INSERT insert_as_it_is: "the last resort of an insert_unique allows duplicates"
        replace "self.insert_exclusive(key, duplicates)"
        with "self.insert_exclusive(key, Duplicates::Allow)"
        => &["last_resort::insert_unique_of_an_item_that_turns_up"];

    // The counts of slots in use.
    TABLE relocate: "a kick does not count the slot that it fills"
        without "locked.occupy(to.number);"
        => LOOKUPS;
    TABLE relocate: "a middle hop still counts the slot that it leaves"
        without "locked.vacate(from.number);"
        => TWO_HOPS;
    TABLE clear: "clear still counts the slots that it empties"
        without "locked.vacate_all();"
        => CLEAR;

    // Growth: the order of the steps of a split.
    GROW split_run: "a split publishes the extent before it copies"
        swap "self.copy_what_goes(&locked, &splits);" and "growing.publish(extent);"
        => SPLITS;
    GROW split_run: "a split clears before it publishes the extent"
        put "self.clear_what_goes(&locked, &splits);" after "self.copy_what_goes(&locked, &splits);"
        => SPLITS;
    GROW split_run: "a split clears before it copies"
        put "self.clear_what_goes(&locked, &splits);" before "self.copy_what_goes(&locked, &splits);"
        => SPLITS;
    GROW split_run: "a split bumps no version"
        without "self.bump_what_goes(growing, extent, &splits);"
        => SPLITS;
    GROW split_run: "a split bumps the versions before it copies"
        put "self.bump_what_goes(growing, extent, &splits);" before "self.copy_what_goes(&locked, &splits);"
        => SPLITS;
    GROW split_run: "a split bumps the versions before it publishes the extent"
        swap "growing.publish(extent);" and "self.bump_what_goes(growing, extent, &splits);"
        => SPLITS;
    GROW split_run: "a split bumps the versions after it clears"
        swap "self.bump_what_goes(growing, extent, &splits);" and "self.clear_what_goes(&locked, &splits);"
        => SPLITS;
    GROW split_run: "a split publishes the extent when it has given back its stripes"
        replace "growing.publish(extent); self.bump_what_goes(growing, extent, &splits);
            self.clear_what_goes(&locked, &splits);"
        with "self.bump_what_goes(growing, extent, &splits);
            self.clear_what_goes(&locked, &splits);
            drop(locked);
            growing.publish(extent);"
        => &["growth::insert_of_what_goes"];
    GROW copy_what_goes: "a split does not move the counts"
        without "locked.vacate_several(split.old, goes - split.doubled); locked.occupy_several(split.new, goes);"
        => &["growth::removal_of_what_goes_in_its_direction"];
    GROW bump_what_goes: "a split bumps the version of the first entry that goes"
        replace "split.goes.slots_in_use()" with "split.goes.slots_in_use().take(1)"
        => &["growth::split_of_several_against_lookups"];
    LOOKUP contains: "a lookup reads the extent before its version"
        replace
        "let version = self.versions.read(self.geometry().version_group(key)); let found = self.either_holds(key);"
        with "let places = key.places();
            let buckets = self.locate(places);
            let version = self.versions.read(self.geometry().version_group(key));
            let readings = buckets.map(|bucket| bucket.reading);
            let found = Reading::either_holds(readings, self.words_in(buckets), places);"
        => SPLITS;
    LOOKUP look_up: "a lookup keeps the extent from one round to the next"
        replace "let mut looks = iter::repeat_with(|| self.look_once(key)).take(rounds);"
        with "let places = key.places();
            let buckets = self.locate(places);
            let readings = buckets.map(|bucket| bucket.reading);
            let mut looks = iter::repeat_with(|| {
                let version = self.versions.read(self.geometry().version_group(key));
                if Reading::either_holds(readings, self.words_in(buckets), places) {
                    Lookup::Present
                } else if version.validate_with_stash() {
                    Lookup::Absent
                } else {
                    Lookup::Inconclusive
                }
            }).take(rounds);"
        => &[
            "stopped::lookup_of_what_goes_overtaken_in_two_rounds",
            "growth::two_splits_of_one_group_against_lookup",
        ];
    GROW lock_run: "a split locks only the new bucket"
        replace "if is_new {" with "if is_new | true {"
        => &["growth::insert_into_both_buckets_of_a_split"];
    GROW lock_run: "a split locks only the old bucket"
        replace "if is_new {" with "if is_new & false {"
        => &["snapshots::split_and_insert_beside_a_snapshot"];
    GROW split_if_loaded: "an insert above the target splits beside others"
        replace "growing.splitting().try_lock()" with "Some(())"
        => &["growth::two_inserts_above_the_target"];
    GROW make_room: "an insert without room splits beside others"
        without "let _splitting = growing.splitting().lock();"
        => NO_ROOM;
    GROWING bucket: "the bucket that the next split makes is taken for one that is there"
        replace "split < self.buckets" with "split <= self.buckets"
        => &["growth::end_of_level_against_lookups_in_its_direction"];
    INSERT store: "an insert does not compute its bucket again"
        replace "if B::GROWS {" with "if false {"
        => &["growth::insert_of_what_goes"];
    INSERT store_unique: "an insert_unique into a free slot does not compute its buckets again"
        replace "(!B::GROWS || self.locate(places) == buckets)" with "true"
        => &["growth::unique_inserts_of_what_goes"];
    INSERT try_place: "an insert_unique does not compute its buckets again"
        replace "let (locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.stripes.lock(buckets.map(|bucket| bucket.number));"
        => &["growth::unique_inserts_of_what_goes"];
    LOOKUP count: "count does not compute its buckets again"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let _locked = self.stripes.lock(buckets.map(|bucket| bucket.number));"
        => &["growth::count_of_what_goes"];
    INSERT hop: "a middle hop does not compute the bucket again that it fills"
        replace "let (locked, buckets) = self.lock(places, buckets);"
        with "let (locked, [from, _]) = self.lock(places, buckets);
                let buckets = [from, buckets[1]];"
        => &["growth::middle_hop_into_the_bucket_that_is_split"];
    INSERT last_hop: "the last hop does not compute the bucket again that it fills"
        replace "let (locked, buckets) = self.lock(hop_places, buckets);"
        with "let (locked, [from, _]) = self.lock(hop_places, buckets);
                    let buckets = [from, buckets[1]];"
        => &["growth::kick_into_the_bucket_that_is_split"];
    INSERT last_hop_locked: "the last hop does not compute the bucket of the new item again"
        replace "B::GROWS && !from" with "false && !from"
        => &["growth::kick_of_what_stays_for_what_goes"];
    REMOVE change_seen: "a removal looks at the other bucket before it has its stripe"
        replace "let (locked, [bucket]) = self.lock([place], [bucket]);
            if self.versions.any_stashed(self.geometry().version_group(key)) { return Some(false); }
            Some(self.change_longest(&locked, bucket, [place, other], seen, key, change))"
        with "let in_other = self.in_other(other, seen[1], change);
            let (locked, [bucket]) = self.lock([place], [bucket]);
            let word = self.locked_word(bucket.number);
            let Some(longest) = bucket.reading.longest_anew(word, place) else {
                return Some(false);
            };
            if in_other.longest.is_some_and(|other| other.known > longest.known) {
                return Some(false);
            }
            let Some(changed) = self.changed(word, longest.slot, change) else {
                return Some(false);
            };
            self.store_changed(&locked, bucket.number, changed, key, change, &in_other);
            Some(true)"
        => &["growth::removal_beside_a_copy_into_the_new_bucket"];
    GROWING bucket: "a place has its bucket by an extent that is read Relaxed"
        replace "self.bucket_at(extent, extent.bucket(place.position))"
        with "let _ = extent;
            let extent = Extent(self.changing.extent.load(Ordering::Relaxed));
            self.bucket_at(extent, extent.bucket(place.position))"
        => DUPLICATE_THAT_GOES;
    TABLE clear: "clear looks how large the table is before it has the stripes"
        replace "let locked = self.stripes.lock_all(); self.versions.bump_all();
            for bucket in 0..self.present() {"
        with "let present = self.present();
            let locked = self.stripes.lock_all();
            self.versions.bump_all();
            for bucket in 0..present {"
        => &["growth::clear_against_split"];
    INSERT insert_slow: "an insert that finds no room says full before the table has grown"
        replace "match self.make_room(searched) {"
        with "match self.make_room(searched).map(|room| room & !B::GROWS) {"
        => NO_ROOM;
    GROW make_room: "an insert says full if another has made room meanwhile"
        replace "!= self.buckets.count(searched) ||" with "== self.buckets.count(searched) &&"
        => NO_ROOM;

    // Entries of different lengths, and the levels that they are read by.
    GEOMETRY version_group: "the version of an item depends on which of its positions is the first"
        replace "first.wrapping_mul(second)" with "first"
        => &["growth::split_against_lookups_the_other_way"];
    TABLE relocate: "a kick writes the bits of the position that it leaves"
        replace "to.reading.slot::<F>(hop.to)" with "to.reading.slot::<F>(hop.from)"
        => &["growth::kick_of_what_stays_for_what_goes"];
    TABLE relocate: "a kick takes out any entry of the item that it moves"
        replace "without(planned) else {"
        with "without(match from.reading.longest_anew(self.locked_word(from.number), hop.from) {
                Some(longest) => longest.slot,
                None => return false,
            }) else {"
        => &["entries::kick_of_what_is_removed_beside_a_short_entry"];
    TABLE lock: "a writer reads words by the extent that it has planned with"
        replace "return (locked, now);" with "return (locked, buckets);"
        => &["growth::kick_of_what_stays_for_what_goes"];
    GROWING is_found_by: "words are read by whatever extent they were found by"
        replace "bucket.reading.extent == extent" with "bucket.reading.extent == extent || true"
        => &["entries::insert_unique_beside_an_entry_of_the_next_level"];
    GROW split_run: "a split begins the next level before it clears"
        put "if let Some(next_level) = extent.next_level(growing.ring()) { growing.publish(next_level); }"
        before "self.clear_what_goes(&locked, &splits);"
        => &["voids::void_entry_at_the_end_of_a_level_of_which_the_next_bit_is_set"];
    GROW split_run: "a split begins the next level before it clears, and doubles nothing"
        put "if let Some(next_level) = extent.next_level(growing.ring()) { growing.publish(next_level); }"
        before "self.clear_what_goes(&locked, &splits);"
        => &["entries::insert_unique_beside_what_goes_at_the_end_of_a_level"];
    INSERT insert_unique: "an insert_unique does not look at the extent again"
        replace "let (buckets, words) = self.read_valid(places);"
        with "let buckets = self.locate(places);
            let words = self.words_in(buckets);"
        => &["entries::insert_unique_beside_an_entry_of_the_next_level"];
    LOOKUP read_valid_from: "words are read by an old level if their buckets are the same"
        replace "now[at].reading.reads_as(buckets[at].reading)"
        with "now[at].number == buckets[at].number"
        => &["maplets::removal_beside_a_value_of_the_next_level"];
    LOOKUP read_valid_from: "the extent is looked at again before the words are read"
        replace "let words = self.words_in(buckets);
            if !B::GROWS { return (buckets, words); } let extent = self.buckets.extent();"
        with "let extent = self.buckets.extent();
            let words = self.words_in(buckets);
            if !B::GROWS {
                return (buckets, words);
            }"
        => &[
            "entries::insert_unique_beside_an_entry_of_the_next_level",
            "maplets::get_beside_an_entry_of_the_next_level",
        ];
    PACKED longest_of: "a removal takes any entry of the item"
        replace "longest.is_none_or(|(_, longest)| longest < known)" with "longest.is_none()"
        => &["entries::removal_of_the_longest_of_one_bucket"];
    BUCKETS holder_of_longest: "a removal takes the shorter of two entries"
        replace "first >= second" with "first.is_some_and(|first| second.is_none_or(|second| first <= second))"
        => &["entries::removal_beside_a_relative_with_a_short_entry"];
    REMOVE change_longest: "a removal does not look for a longer entry when it has its stripe"
        replace "other.known > longest.known" with "other.known > u32::MAX - 1"
        => &[
            "entries::kick_of_what_is_removed_beside_a_short_entry",
            "entries::kick_and_split_of_what_is_removed",
        ];
    BUCKETS longest_again: "a removal keeps what it saw in words that have changed"
        replace "seen.word.bits() == word.bits()" with "true"
        => &["entries::kick_and_split_of_what_is_removed"];
    BUCKETS longest_again: "a removal keeps what it saw by another extent"
        replace "seen.bucket.reading == self" with "true"
        => &["entries::removal_beside_an_entry_of_the_next_level"];
    REMOVE in_other: "a removal does not look at the extent of the other bucket again"
        replace "self.read_valid_from([place], [seen.bucket])"
        with "{
                let buckets = self.locate([place]);
                (buckets, self.words_in(buckets))
            }"
        => &[
            "entries::kick_and_split_of_what_is_removed",
            "maplets::removal_beside_a_value_of_the_next_level",
        ];
    REMOVE change_longest: "a removal bumps the version for an entry as long as its own only"
        replace "if in_other.longest.is_some_and(|other| other.known > longest.known) { return false; }"
        with "if in_other.longest.is_some_and(|other| other.known > longest.known) {
                return false;
            }
            let as_long = in_other.longest.filter(|other| other.known == longest.known);
            let in_other = InOther { longest: as_long, ..in_other };"
        => &["entries::short_copy_and_removal_of_the_long_one"];
    GROWING longest: "the lengths of entries are counted from the level"
        replace "known: level + known" with "known"
        => &["entries::removal_of_what_is_kicked_at_the_end_of_a_level"];

    // Void entries.
    GROWING split: "a split doubles a void entry into the new bucket only"
        replace "[Some(Slot::new(bits ^ at_head | next)); 2]" with "[None, Some(Slot::new(bits ^ at_head | next))]"
        => &["voids::void_entry_against_lookup_in_the_old_bucket"];
    GROWING split: "a split doubles a void entry into the old bucket only"
        replace "[Some(Slot::new(bits ^ at_head | next)); 2]" with "[Some(Slot::new(bits ^ at_head | next)), None]"
        => &["voids::void_entry_against_lookup_in_the_new_bucket"];
    GROWING split: "a doubled entry keeps its head"
        replace "Slot::new(bits ^ at_head | next)" with "Slot::new(bits | next)"
        => VOIDS;
    GROW bump_what_goes: "a split bumps no version for a void entry"
        replace "split.goes.slots_in_use()"
        with "split.goes.slots_in_use().filter(|goes| split.stays.slots_in_use().all(|stays| stays != *goes))"
        => VOIDS;
    GROWING slot: "a void entry is kicked to a bucket that tells more than it knows"
        replace "if known < self.told_bits() { return None; }" with "let known = known.max(self.level());"
        => VOID_KICKS;
    GROWING other_bucket: "a search takes a void entry for one that can go to a bucket that is split"
        replace "(!extent.is_split(other)).then_some(other)" with "Some(other)"
        => VOID_KICKS;
    GEOMETRY version_group: "the version of an item depends on bits that not every entry knows"
        replace "product & self.size as usize" with "product & (2 * self.size as usize + 1)"
        => &["voids::kick_against_lookup_the_other_way"];
    FIGURES len: "what is doubled counts as items"
        replace ".saturating_sub(doubled)" with ".saturating_sub(0 * doubled)"
        => VOIDS;
    GROW split_run: "a split does not count what it doubles"
        without "growing.add_doubled(doubled.cast_signed());"
        => VOIDS;
    GROW copy_what_goes: "a split does not count the slots of what it doubles"
        replace "locked.occupy_several(split.new, goes);"
        with "locked.occupy_several(split.new, goes - split.doubled);"
        => VOIDS;
    TABLE clear: "clear still counts what was doubled"
        without "growing.add_doubled(-growing.doubled().cast_signed());"
        => &["voids::clear_beside_a_split"];

    // Growth beside the last resorts.
    REMOVE change_slow: "the last resort of a removal does not compute its buckets again"
        replace "let (locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.stripes.lock(buckets.map(|bucket| bucket.number));"
        => &[
            "last_resort::removal_whose_bucket_is_split",
            "last_resort::removal_whose_bucket_is_split_the_other_way",
        ];
    INSERT insert_exclusive:
        "the last resort of an insert computes its buckets before it has the stripes"
        replace "let all = self.stripes.lock_all();
            let mut attempt = self.try_place_locked(&all, self.locate(key.places()), key, duplicates);"
        with "let buckets = self.locate(key.places());
            let all = self.stripes.lock_all();
            let mut attempt = self.try_place_locked(&all, buckets, key, duplicates);"
        => &[
            "last_resort::insert_whose_bucket_is_split",
            "last_resort::insert_whose_bucket_is_split_and_full",
        ];

    // Snapshots: what is mirrored.
    TABLE store_in: "an insert does not mirror its word"
        replace "self.store_word(locked, number, copied, Ordering::SeqCst)"
        with "self.buckets.word(number).store(copied.bits(), Ordering::SeqCst)"
        => SNAPSHOT_AND_INSERT;
    TABLE relocate: "a kick does not mirror the word that it fills"
        replace "self.store_word(locked, to.number, copied, Ordering::Release)"
        with "self.buckets.word(to.number).store(copied.bits(), Ordering::Release)"
        => FRONTIER;
    TABLE relocate: "the last hop of a kick does not mirror the word that it leaves"
        replace "self.store_word(locked, from.number, replaced, Ordering::SeqCst)"
        with "self.buckets.word(from.number).store(replaced.bits(), Ordering::SeqCst)"
        => FRONTIER;
    TABLE relocate: "a middle hop does not mirror the word that it leaves"
        replace "self.store_word(locked, from.number, cleared, Ordering::Release)"
        with "self.buckets.word(from.number).store(cleared.bits(), Ordering::Release)"
        => &[
            "snapshots::two_hops_across_the_frontier",
            "snapshots::two_hops_across_the_frontier_the_other_way",
        ];
    REMOVE store_changed: "a removal does not mirror its word"
        replace "self.store_word(locked, bucket, changed, Ordering::SeqCst)"
        with "self.buckets.word(bucket).store(changed.bits(), Ordering::SeqCst)"
        => &["snapshots::removal_beside_a_snapshot"];
    TABLE clear: "clear does not mirror its words"
        replace "self.store_bits(&locked, bucket, 0, Ordering::Release)"
        with "self.buckets.word(bucket).store(0, Ordering::Release)"
        => &["snapshots::clear_beside_a_snapshot"];
    GROW copy_what_goes: "a split does not mirror the new word"
        replace "self.store_word(locked, split.new, split.goes, Ordering::Release)"
        with "self.buckets.word(split.new).store(split.goes.bits(), Ordering::Release)"
        => SNAPSHOT_AND_SPLIT;
    GROW clear_what_goes: "a split does not mirror the old word"
        replace "self.store_word(locked, split.old, split.stays, Ordering::Release)"
        with "self.buckets.word(split.old).store(split.stays.bits(), Ordering::Release)"
        => SNAPSHOT_AND_SPLIT;
    TABLE store_bits: "a writer copies to the mirror before it stores"
        swap "self.buckets.word(bucket).store(bits, order);"
        and "if locked.is_recorded(bucket) { self.copy_to_mirror(bucket); }"
        => SNAPSHOT_AND_INSERT;

    // Snapshots: the copy.
    MIRROR try_image: "the flags are set after the copy"
        swap "self.stripes.start_recording();"
        and "self.with_mirror(|mirror| self.copy_into(mirror));"
        => SNAPSHOT_AND_INSERT;
    MIRROR try_image: "a word is copied before all flags are set, under another lock"
        replace
        "self.stripes.start_recording(); self.with_mirror(|mirror| self.copy_into(mirror));"
        with "for bucket in 0..self.present() {
                let locked = self.stripes.lock([bucket]);
                self.with_mirror(|mirror| copy(self.buckets.word(bucket), mirror.word(bucket)));
                drop(locked);
                self.stripes.start_recording();
            }"
        => &[
            "snapshots::insert_and_removal_beside_a_snapshot",
            "snapshots::kick_across_the_frontier",
        ];
    MIRROR copy_into: "words are copied and not compared"
        replace "now != copied.load(Ordering::Relaxed)"
        with "now != copied.load(Ordering::Relaxed) && false"
        => SNAPSHOT_AND_INSERT;
    MIRROR copy_into: "the fence comes before the copy"
        swap "for (word, copied) in words.iter().zip(copies) { copy(word, copied); }"
        and "fence(Ordering::SeqCst);"
        => SNAPSHOT_AND_INSERT;
    MIRROR copy_into: "a word that has changed is copied again without its stripe"
        without "let _locked = self.stripes.lock([bucket]);"
        => SNAPSHOT_AND_INSERT;
    MIRROR copy_into: "a word that has changed is copied again when its stripe is given back"
        replace "let _locked = self.stripes.lock([bucket]);" with "drop(self.stripes.lock([bucket]));"
        => &["snapshots::two_hops_across_the_frontier"];
    MIRROR copy_into: "a block is copied without its last word"
        replace "words.chunks(BLOCK)" with "words[..words.len() - 1].chunks(BLOCK)"
        => SNAPSHOT_AND_INSERT;
    MIRROR try_image: "the buckets to copy are counted before the flags are set"
        replace
        "self.stripes.start_recording(); self.with_mirror(|mirror| self.copy_into(mirror));"
        with "let buckets = self.present();
            self.stripes.start_recording();
            for bucket in 0..buckets {
                let _locked = self.stripes.lock([bucket]);
                self.with_mirror(|mirror| copy(self.buckets.word(bucket), mirror.word(bucket)));
            }"
        => SNAPSHOT_AND_SPLIT;
    STRIPES start_recording: "the flags are set without their stripes"
        without "let _locked = stripe.lock.lock();"
        => SNAPSHOT_AND_INSERT;

    // Snapshots: the instant.
    MIRROR stop: "the extent of a snapshot is read before any lock is taken"
        replace "let _splitting = table.lock_splitting(); let locked = table.stripes.lock_all();
            let image = Image { grown: table.grown(),"
        with "let grown = table.grown();
            let _splitting = table.lock_splitting();
            let locked = table.stripes.lock_all();
            let image = Image { grown,"
        => SNAPSHOT_AND_SPLIT;
    MIRROR stop: "all stripes are held while another thread adds a chunk to the mirror"
        without "let _splitting = table.lock_splitting();"
        => &["stopped::insert_beside_a_snapshot_and_an_allocation"];
    MIRROR publish_mirror: "a mirror is published while another thread adds a chunk"
        replace "let splitting = self.lock_splitting();"
        with "let splitting = None::<MutexGuard<'_, ()>>;"
        => SNAPSHOT_AND_SPLIT;
    MIRROR publish_mirror: "a chunk is added after the mirror's are counted and before it is published"
        put "drop(splitting);" before "*self.mirror().buckets.write() = Some(mirror);"
        => SNAPSHOT_AND_SPLIT;
    MIRROR publish_mirror: "a mirror lacks the chunks that the table had before it"
        without "mirror.try_reach(reached)?;"
        => SNAPSHOT_AND_SPLIT;
    GROW try_reach: "a chunk is added to the table and not to the mirror"
        without "self.reach_in_mirror(buckets)?;"
        => SNAPSHOT_AND_SPLIT;
    MIRROR try_image: "the items of a snapshot are counted before all stripes are locked"
        replace "let (mut image, mirror) = recording.stop(|| again = self.copy_stash(&mut stash));"
        with "let occupied = self.stripes.occupied();
            let (mut image, mirror) = recording.stop(|| again = self.copy_stash(&mut stash));
            image.occupied = occupied;"
        => SNAPSHOT_AND_INSERT;
    MIRROR stop: "the items of a snapshot are counted when the stripes are given back"
        replace "locked.stop_recording();"
        with "locked.stop_recording();
            drop(locked);
            let image = Image { occupied: table.stripes.occupied(), ..image };"
        => &["snapshots::clear_beside_a_snapshot"];
    MIRROR stop: "the mirror is taken away before all stripes are locked"
        replace "let locked = table.stripes.lock_all();"
        with "let mirror = table.mirror().buckets.write().take();
            let locked = table.stripes.lock_all();
            *table.mirror().buckets.write() = mirror;"
        => SNAPSHOT_AND_INSERT;
    STRIPES lock_all: "the stripes are not held together at the end of a snapshot"
        replace "Guards::lock(&self.stripes)"
        with "{
                self.stripes.iter().for_each(|stripe| drop(stripe.lock.lock()));
                Guards::lock(&self.stripes[..0])
            }"
        => &[
            "snapshots::two_hops_across_the_frontier_the_other_way",
            "snapshots::split_beside_a_snapshot",
        ];
    MIRROR stop: "the flags stay set at the end of a snapshot"
        without "locked.stop_recording();"
        => SNAPSHOT_AND_INSERT;
    STRIPES stop_recording: "a flag stays set at the end of a snapshot"
        replace "stripe.recording.set(false);" with "stripe.recording.set(false); break;"
        => SNAPSHOT_AND_INSERT;
    STRIPES start_recording: "a flag is not set for a snapshot"
        replace "in &self.stripes" with "in self.stripes.iter().skip(1)"
        => &[
            "snapshots::insert_and_removal_beside_a_snapshot",
            "snapshots::kick_across_the_frontier",
        ];
    MIRROR try_image: "two threads take snapshots at once"
        without "let _taking = self.mirror().taking.lock();"
        => &[
            "snapshots::two_snapshots_beside_a_kick",
            "snapshots::two_snapshots_beside_a_split",
        ];
    MIRROR drop: "a snapshot that ends early leaves its mirror behind"
        replace "is_some()" with "is_none()"
        => &["snapshots::abandoned_snapshot_beside_a_kick"];
    MIRROR drop: "a snapshot that ends early takes its mirror away before it locks the stripes"
        replace "self.stop("
        with "self.table.mirror().buckets.write().take();
                self.stop("
        => &["snapshots::abandoned_snapshot_beside_a_kick"];

    // Merges.
    MERGE merge: "a merge that fails takes nothing back"
        without "self.take_parts_back(entry, least);"
        => MERGE_FAILS;
    MERGE merge: "a merge that fails takes back what it could not store"
        replace "take(at)" with "take(at + 1)"
        => MERGE_FAILS;
    MERGE merge: "a merge that fails says that it has not"
        replace "return Err(error);" with "let _ = error; break;"
        => MERGE_FAILS;

    // Values: what a lookup of them returns.
    LOOKUP try_get: "a hit ends the round of a get"
        replace "version.validate().then("
        with "let readings = buckets.map(|bucket| bucket.reading);
            let found = Reading::either_holds(readings, words, places);
            (found || version.validate()).then("
        => GETS;
    LOOKUP try_get: "a get does not validate the version"
        replace "version.validate()" with "(version.validate() | true)"
        => GETS;
    LOOKUP try_get: "a get reads the words before its version"
        put "let version = self.versions.read(self.geometry().version_group(key));"
        after "let (buckets, words) = self.turns.read_each(|| self.read_valid(places));"
        => GETS;
    LOOKUP try_get: "a get does not look at the extent again"
        replace "let (buckets, words) = self.turns.read_each(|| self.read_valid(places));"
        with "let buckets = self.locate(places);
            let words = self.words_in(buckets);"
        => &["maplets::get_beside_an_entry_of_the_next_level"];
    LOOKUP candidates: "a get leaves out the second word if the first has a value"
        replace "Reading::values(buckets.map(|bucket| bucket.reading), words, places)"
        with "let readings = buckets.map(|bucket| bucket.reading);
            let one = [words[0], Word::EMPTY];
            let first = Reading::either_holds([readings[0]; 2], one, [places[0]; 2]);
            Reading::values(readings, if first { one } else { words }, places)"
        => GETS;
    LOOKUP get_slow: "a get makes one round too many"
        replace "MAX_LOOKUP_ROUNDS - 1" with "MAX_LOOKUP_ROUNDS"
        => OVERTAKEN_GET;
    LOOKUP get_slow: "the last resort of a get locks no stripe"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);"
        => OVERTAKEN_GET;
    LOOKUP get_slow: "the last resort of a get locks one of its stripes"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let _locked = self.stripes.lock([buckets[0].number]);"
        => OVERTAKEN_GET;
    LOOKUP get_slow: "the last resort of a get does not compute its buckets again"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let _locked = self.stripes.lock(buckets.map(|bucket| bucket.number));"
        => &["maplets::get_whose_bucket_is_split"];

    BATCH insert_unique_many: "a batch of unique inserts looks without a lock, and then inserts"
        replace "self.insert_unique(key)?"
        with "!self.contains(key) && self.insert(key).map(|()| true)?"
        => &["batches::two_batches_of_the_same_new_items"];
    BATCH replace_many: "a batch of replacements removes each pair, and inserts the new one"
        replace "pair, |_| {}, |at, key| { let storing = self.turns.take_to_store();
            replaced[at] = self.replace(key, new(&pairs[at]))?;"
        with "&pair, |_| {}, |at, key| {
            let storing = self.turns.take_to_store();
            let new = Pair { value: new(&pairs[at]), ..pair(&pairs[at]) };
            replaced[at] = self.remove(key) && self.insert(self.key_of(new)).is_ok();"
        => &["maplets::batch_of_replacements_against_get"];
    // Values: replacements and removals.
    REMOVE change_seen: "a replacement stores the word that it saw before it had the stripe"
        replace "Some(self.change_longest(&locked, bucket, [place, other], seen, key, change))"
        with "if change != Change::Remove && !B::GROWS {
                let seen = if first { words[0] } else { words[1] };
                let changed = self.changed(seen, bucket.reading.slot::<F>(place)?, change)?;
                self.store_word(&locked, bucket.number, changed, Ordering::SeqCst);
                return Some(true);
            }
            Some(self.change_longest(&locked, bucket, [place, other], seen, key, change))"
        => REPLACEMENTS;
    REMOVE change_longest: "a replacement takes the old value out before it stores the new one"
        replace "let slot = reading.slot::<F>(place);"
        with "let slot = reading.slot::<F>(place);
            let replaced = slot.filter(|_| change != Change::Remove);
            if let Some(without) = replaced.and_then(|slot| word.without(slot)) {
                self.store_word(locked, bucket.number, without, Ordering::SeqCst);
            }"
        => &["maplets::there_and_back_against_get"];
    REMOVE store_changed: "a replacement of a duplicate bumps no version"
        replace "if in_other.may_be_missed()" with "if change == Change::Remove && in_other.may_be_missed()"
        => &[
            "maplets::copy_in_and_replacement_of_the_other",
            "maplets::copy_in_and_replacement_of_the_other_the_other_way",
        ];
    REMOVE store_changed: "a replacement frees a slot"
        replace "if change == Change::Remove" with "if true"
        => &["maplets::there_and_back_against_get"];
    REMOVE in_other: "a removal bumps no version for an entry with another value"
        replace "reading.holds_key(word, place)" with "reading.holds_key(word, place) & false"
        => &["maplets::value_in_and_value_out_against_lookup"];
    REMOVE store_changed:
        "a removal from a growing maplet bumps no version for an entry with another value"
        replace "in_other.may_be_missed()" with "in_other.longest.is_some()"
        => &["maplets::value_in_and_value_out_of_what_grows"];
    REMOVE change_longest: "a removal takes an entry of the key with any value"
        replace "let slot = reading.slot::<F>(place);"
        with "let alike = |slot: &Slot| {
                let one = Word::<F>::EMPTY.with(*slot);
                one.is_some_and(|one| reading.holds_key(one, place))
            };
            let any = word.slots_in_use().find(alike);
            let slot = any.or_else(|| reading.slot::<F>(place));"
        => &["maplets::get_beside_a_kick_and_a_removal"];
    GROWING longest: "in a growing table a removal takes an entry of the key with any value"
        replace "Word::longest(words, sought, most)"
        with "{
                let by_key = Sought { mask: first.values.below(), ..sought };
                let longest = Word::longest(words, sought, most);
                [0, 1].map(|at| {
                    let alike = |slot: &Slot| {
                        let mut one = [Word::<F>::EMPTY; 2];
                        one[at] = one[at].with(*slot).unwrap_or(Word::EMPTY);
                        Word::either_matches(one, by_key)
                    };
                    let any = longest[at].and_then(|_| words[at].slots_in_use().filter(alike).last());
                    any.map(|slot| (slot, slot.known(by_key.ring)))
                })
            }"
        => &["maplets::split_against_replacement"];

    // Values: what moves.
    TABLE relocate: "a kick loses the value"
        replace "with(copy)"
        with "with(crate::layout::Slot::new(
                copy.bits() & ((1 << (F::BITS - self.value_bits())) - 1),
            ))"
        => GETS;
    TABLE relocate: "a kick takes out an entry of the key with any value"
        replace "without(planned) else {"
        with "without({
                let alike = |slot: &crate::layout::Slot| {
                    let one = Word::<F>::EMPTY.with(*slot);
                    one.is_some_and(|one| from.reading.holds_key(one, hop.from))
                };
                self.locked_word(from.number).slots_in_use().find(alike).unwrap_or(planned)
            }) else {"
        => &["maplets::kick_of_what_is_removed_beside_another_value"];
    GEOMETRY version_group: "the version of an entry depends on its value"
        replace "let core = self.shape.core(entry).bits() as usize;"
        with "let core = self.shape.core(entry).bits() as usize + (entry.bits() >> 14) as usize;"
        => GETS;
    GROW partition: "a split loses the values of what goes"
        replace "*split = Some("
        with "let mask = (1 << (F::BITS - self.value_bits())) - 1;
            let goes = goes.slots_in_use().fold(Word::<F>::EMPTY, |word, slot| {
                word.with(crate::layout::Slot::new(slot.bits() & mask)).unwrap_or(word)
            });
            *split = Some("
        => &["maplets::split_against_get_in_its_direction"];

    // The lock of a stripe.
    LOCK lock_slow: "a waiter takes a stripe that another thread holds"
        replace "!self.held.load(Ordering::Relaxed) && self.try_acquire()"
        with "self.held.load(Ordering::Relaxed) || self.try_acquire()"
        => EXCLUSION;

    // The array of words.
    ARRAY try_add: "two threads add pieces at once"
        replace "let at = self.shared.pieces.load(Ordering::Relaxed);"
        with "let at = self.shared.pieces.load(Ordering::Relaxed);
            drop(directories);
            directories = self.shared.directories.lock();"
        => PIECES;
    ARRAY try_add: "a piece counts before it is there"
        put "self.shared.pieces.store(at + 1, Ordering::Release);"
        before "let place = unsafe"
        => PIECES;
    ARRAY try_add_directory: "a new directory has the places of the old one in another order"
        replace "(0..view.pieces).map(|at| Place::new(view.start(at)))"
        with "(0..view.pieces).map(|at| Place::new(view.start(view.pieces - 1 - at)))"
        => &["array::a_new_directory"];
};
