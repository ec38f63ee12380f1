//! The faults, each of which breaks one rule of the protocol. `orderings` finds those of single orderings; this file
//! only has the exceptions from them.

/// A deliberate fault: a small change of one function.
pub struct Fault {
    /// The description, in a few words.
    pub what: &'static str,
    /// The function with the texts that are changed: one function below `src` has this name.
    pub function: &'static str,
    /// The texts that are replaced, and their replacements. Each text occurs once in the function; a blank in it stands
    /// for any white space and comments.
    pub edits: &'static [(&'static str, &'static str)],
    /// Parts of the names of models, some of which must fail. These models run first; the others run only if all of
    /// these pass.
    pub caught_by: &'static str,
}

macro_rules! faults {
    ($($function:ident: $what:literal
        $verb:ident $one:literal $($word:ident $other:literal)? => $models:expr;)*) => {
        &[$(Fault {
            what: $what,
            function: stringify!($function),
            edits: edits!($verb $one $($word $other)?),
            caught_by: $models,
        },)*]
    };
}

macro_rules! edits {
    (replace $old:literal with $new:literal) => {
        &[($old, $new)]
    };
    (without $old:literal) => {
        &[($old, "")]
    };
    (swap $one:literal and $other:literal) => {
        &[($one, $other), ($other, $one)]
    };
    (put $moved:literal before $place:literal) => {
        &[($moved, ""), ($place, concat!($moved, " ", $place))]
    };
    (put $moved:literal after $place:literal) => {
        &[($moved, ""), ($place, concat!($place, " ", $moved))]
    };
}

const LOOKUPS: &str = "kicks::kick_against_lookup";
const REMOVALS: &str = "races::removal_of_what_is_kicked";
const WRITERS_BESIDE_WIDENING: &str =
    "widening::inserts_into_one_bucket widening::removal_beside_widening";
const STASH_AND_WIDENING: &str =
    "widening::lookup_of_what widening::insert_into_the_stash widening::going_back";
const OVERTAKEN_LOOKUP: &str = "stopped::lookup_overtaken_in_every_round";
const SPLITS: &str = "growth::split_against_lookups";
const SNAPSHOT_AND_INSERT: &str = "snapshots::insert_beside_a_snapshot";
const SNAPSHOT_AND_SPLIT: &str = "snapshots::split_beside_a_snapshot snapshots::end_of_level";
const SWEEP_AND_KICK: &str = "expiry::kick_beside_a_sweep";
const SWEEP_AND_SPLIT: &str = "expiry::split_beside_a_sweep expiry::end_of_level";
const STAMP_AND_WINDOW: &str = "expiring::stamp_overtaken_by_a_whole_window";

/// For each beginning of a path, the models that most likely notice weaker orderings in that file. They run first.
pub const LIKELY: &[(&str, &str)] = &[
    ("src/kinds/expiring/timer.rs", "timer::"),
    ("src/kinds/expiring/quota.rs", "quota::"),
    ("src/sync/array.rs", "array:: order::removal_beside_widening"),
    ("src/sync/retained.rs", "widening::split_after_widening widening::lookup_that_a_flag_orders"),
    ("src/sync/lock.rs", "lock::"),
    (
        "src/table/shared/shards.rs",
        "stash::going_back_against_lookup stash::cell_used_again stash::insert_known that_a_lookup_has_seen",
    ),
    (
        "src/table.rs",
        "kicks::kick_against_lookup kicks::kick_removal kicks::two_hops_against_lookups batches::clear_against_lookups \
            growth::duplicate_that_goes order::inserts_then_lookups order::removals_then_lookups \
            order::kick_and_insert order::insert_and_removal",
    ),
    (
        "src/table/whole/sweep.rs",
        "expiry::kick_beside_a_sweep expiry::split_beside_a_sweep expiry::end_of_level expiry::sweep_and \
            expiry::removed_by expiring::kick_beside_an_advance order::advance",
    ),
    (
        "src/table/whole/generations.rs",
        "expiring::stamp_of_what expiring::stamp_if expiring::insert_of_what expiring::insert_beside_two expiring::stamp_and",
    ),
    ("src/table/growth/", "growth::split_against_lookups order::insert_and_split"),
    ("src/table/buckets/growing.rs", "growth::split_against_lookups order::insert_and_split"),
    (
        "src/table/items/lookup.rs",
        "kicks::kick_against_lookup order::inserts_then_lookups order::removals_then_lookups",
    ),
    ("src/table/whole/image.rs", "snapshots::insert_beside_a_snapshot"),
    (
        "src/table/items/remove.rs",
        "order::inserts_then_lookups order::removals_then_lookups order::insert_and_removal",
    ),
    (
        "src/table/shared/cells.rs",
        "stash::going_back_against_lookup stash::insert_known stash::doubling_against_lookup \
            stash::cell_used_again stash::cell_of_two_words stash::going_back_from \
            order::stashed_inserts_then_lookups order::stashed_removals_then_lookups order::stashed_insert_and \
            order::stashed_removal_ that_a_lookup_has_seen",
    ),
    (
        "src/table/buckets/versions.rs",
        "kicks::kick_against_lookup batches::clear_against_lookups widening::split_after widening::lookup_ \
            stopped::widening stash::going_back_against_lookup stash::insert_known stash::cell_used_again \
            stash::insert_under_way order::stashed_insert_and order::stashed_removal_and",
    ),
];

/// A place where the sources have a stronger ordering than any model needs.
pub struct Exception {
    pub function: &'static str,
    /// One of its lines, without the blanks around it.
    pub line: &'static str,
    /// The change, as in the description of a fault: "Relaxed, not Release".
    pub how: &'static str,
    pub reason: &'static str,
}

macro_rules! exceptions {
    ($($function:ident $line:literal: $how:literal, $reason:expr;)*) => {
        &[$(Exception {
            function: stringify!($function),
            line: $line,
            how: $how,
            reason: $reason,
        },)*]
    };
}

pub const EXCEPTIONS: &[Exception] = exceptions! {
    clear_locked "fence(Ordering::SeqCst);": "AcqRel, not SeqCst", NO_FENCE_OF_LOOM;
    clear_locked "fence(Ordering::SeqCst);": "no fence", NO_FENCE_OF_LOOM;
    set_lines "self.cells.lines.store(changes << u32::BITS | lines as u64, Ordering::SeqCst);":
        "Release, not SeqCst", LOADS_IN_LOOM;
    lengthen "self.newest.store(directory.cast(), Ordering::SeqCst);": "Release, not SeqCst", LOADED_AGAIN;
    publish "self.changing.read.extent.store(extent.bits(), Ordering::SeqCst);":
        "Release, not SeqCst", LOADED_AGAIN;
    lengths_in_use "self.lengths.load(Ordering::SeqCst)": "Acquire, not SeqCst", LOADS_IN_LOOM;
    lengths_in_use "self.lengths.load(Ordering::SeqCst)": "Relaxed, not SeqCst", LOADS_IN_LOOM;
    marks_lack "let lines = self.lines.load(Ordering::SeqCst);": "Acquire, not SeqCst", LOADS_IN_LOOM;
    scan_length "let head = heads.word(line).load(Ordering::SeqCst);": "Acquire, not SeqCst", LOADS_IN_LOOM;
    read_until "let lines = self.lines.load(Ordering::SeqCst);": "Acquire, not SeqCst", LOADS_IN_LOOM;
    is_still_stashed "let now = self.counter.load(Ordering::SeqCst);": "Acquire, not SeqCst", LOADS_IN_LOOM;
    is_still_stashed "let now = self.counter.load(Ordering::SeqCst);": "Relaxed, not SeqCst", LOADS_IN_LOOM;
    unstash "self.counter(group).fetch_add(ONE - u64::from(is_last), Ordering::SeqCst);":
        "AcqRel, not SeqCst", TAKEN_BEHIND;
    clear "(0..array.len()).for_each(|at| array.set_first(at, 0, Ordering::Release));":
        "Relaxed, not Release", "a lookup that misses what is cleared comes after the clear";
    begin_update "fence(Ordering::SeqCst);": "AcqRel, not SeqCst", NO_FENCE_OF_LOOM;
    begin_update "fence(Ordering::SeqCst);": "no fence", NO_FENCE_OF_LOOM;
    clock "Clock(self.shared.present.load(Ordering::SeqCst))":
        "Acquire, not SeqCst", ORDER_OF_CALLS;
    set_clock "self.shared.present.store(clock.bits(), Ordering::SeqCst);":
        "Release, not SeqCst", ORDER_OF_CALLS;
};

const ORDER_OF_CALLS: &str = "it adds an order of calls of which one returns before another one begins, and in a \
    model only memory shows this";

const LOADED_AGAIN: &str =
    "each later operation of the thread loads the word again, SeqCst: this load orders the store";

const TAKEN_BEHIND: &str = "SeqCst loads of the version agree, and a lookup that still looks in the stash comes \
    before the SeqCst store that takes the entry out";

const LOADS_IN_LOOM: &str = "in loom, a SeqCst load takes effect when it is executed, after all earlier loads of its \
    thread, and no model needs more";

const NO_FENCE_OF_LOOM: &str = "in loom, a fence orders no SeqCst load, so no model can show that `clear` and \
    `update_values` need one";

pub const FAULTS: &[Fault] = faults! {
    // Orderings of one of two reads: `orderings` weakens both together.
    words_in: "a lookup reads its first bucket Relaxed"
        replace "words.map(|word| F::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::Relaxed, Ordering::SeqCst].into_iter().cycle();
            words.map(|word| F::from_bits(word.load(orders.next().unwrap())))"
        => LOOKUPS;
    words_in: "a lookup reads its second bucket Relaxed"
        replace "words.map(|word| F::from_bits(word.load(Ordering::SeqCst)))"
        with "let mut orders = [Ordering::SeqCst, Ordering::Relaxed].into_iter().cycle();
            words.map(|word| F::from_bits(word.load(orders.next().unwrap())))"
        => LOOKUPS;

    // The version: bumped, at the right step, and validated.
    relocate: "a kick bumps the version before it copies"
        swap "self.store_word(locked, to.number(), copied, Ordering::Release);"
        and "self.versions().bump(self.geometry().version_group(hop));" => LOOKUPS;
    relocate: "a kick bumps the version after it clears"
        put "self.versions().bump(self.geometry().version_group(hop));" after "locked.vacate(from.number(), 1); }"
        => LOOKUPS;
    relocate: "a kick clears before it copies"
        put "self.store_word(locked, to.number(), copied, Ordering::Release);" after "locked.vacate(from.number(), 1); }"
        => LOOKUPS;
    clear_locked: "clear bumps no version"
        without "self.versions().bump_all();" => "batches::clear_against_lookups";
    store_changed: "a removal of a duplicate bumps no version"
        without "self.versions().bump(self.geometry().version_group(key));"
        => "races::copy_in_and_copy_out_against_lookup";
    contains_now: "a lookup reads its version after its buckets"
        swap "let version = self.versions().read(self.geometry().version_group(key));"
        and "let mut found = self.in_buckets(key, WITH_VALUE);" => LOOKUPS;
    contains_now: "the first round of a lookup does not validate the version"
        replace "!version.validate()" with "!(version.validate() | true)" => LOOKUPS;
    end_round: "a later round of a lookup does not validate the version"
        replace "version.validate_with_stash()" with "(version.validate_with_stash() | true)"
        => OVERTAKEN_LOOKUP;
    end_round: "a lookup accepts a stashed entry before its insert has bumped the version"
        replace "version.is_still_stashed()" with "true" => "stopped::lookups_beside_an_insert_into_the_stash";
    end_round: "a lookup that begins without the bit of the stash looks there"
        replace "version.any_stashed() && self.stash_holds(key, with_value)?"
        with "self.stash_holds(key, with_value)?" => "stopped::lookups_beside_a_removal_from_the_stash";
    contains_inconclusive: "the first round of a lookup that began without the bit of the stash looks there"
        replace "if before.validate_with_stash() {" with "if before.validate_with_stash() | true {"
        => "stopped::lookups_beside_a_removal_from_the_stash";
    insert_without_kicks: "an insert reads its stamp before it holds the mutex of the stash"
        swap "let mut writer = self.lock_cells(key);" and "let stamped = self.stamped(key, duplicates);"
        => "expiring::stamp_without_room_beside_two_advances";
    change: "a removal that finds no copy at first does not look again with the version"
        replace "self.change_slow(key.places()[0], change)" with "Ok(false)" => REMOVALS;
    counter: "all fingerprints share one version"
        replace "self.groups.at(group)" with "self.groups.at(group & 0)"
        => "costs::lookup_beside_a_kick_of_another_version_group";

    // The stash.
    take_but_its_way: "an entry is taken out of the stash before the version is bumped"
        swap "self.versions().unstash(group, is_last);"
        and "writer.take(self.in_shard(group), found, copies);"
        => "stash::going_back_against_lookup";
    put_in_stash: "the version does not say that something is stashed"
        without "self.versions().stashed(group, is_new && self.stashed_beside(writer, group) == 1);"
        => "stash::insert_known_to_a_lookup";
    put_in_stash: "an entry is stashed without its flag"
        without "self.state.shared.stash.set_flag(group, self.geometry().flag(key));"
        => "stash::insert_known_to_a_lookup";
    take_but_its_way: "the flags of a group are cleared before the version is bumped"
        replace "self.versions().unstash(group, is_last);"
        with "if is_last { self.state.shared.stash.clear_flags(group); }
            self.versions().unstash(group, is_last);"
        => "stash::going_back_against_lookup";
    take_but_its_way: "the last copy of an entry clears the flags of its group"
        replace "writer.of_group(self.in_shard(group)) == 0" with "found.copies == copies"
        => "stash::removal_beside_another_item_of_the_group";
    is_complete: "a get that asks the flags of the stash does not validate the version"
        replace "version.validate_with_stash()" with "(version.validate_with_stash() | true)"
        => "stash::own_value_going_back_against_get";
    is_complete: "a get does not ask the stash"
        replace "self.cells_lack(entry, first, second)" with "true"
        => "expiring::stamp_of_what_is_swept_from_the_stash";
    insert_without_kicks: "an entry goes into the stash after its stripes are given back"
        replace "let stamped = self.stamped(key, duplicates);"
        with "let stamped = self.stamped(key, duplicates);
            drop(locked);"
        => "stash::two_inserts_if_absent_of_one_item";
    resize: "the number of lines is stored before entries are copied"
        swap "cells.put_in_order(new, last.iter().flat_map(of_line).map(words));"
        and "self.set_lines(lines);" => "stash::doubling_against_lookup";
    resize: "entries are taken out before the number of lines is stored"
        swap "self.set_lines(lines);"
        and "moved.into_iter().for_each(take_out);" => "stash::doubling_against_lookup";
    resize: "half of the lines are given up with the entries that they have"
        without "|| line >= lines || home != cells.home(old, words)"
        => "stash::halving_against_lookup";
    set_lines: "the number of lines comes back as it was"
        replace "(self.lines() >> u32::BITS) + 1" with "self.lines() >> u32::BITS"
        => "stash::halving_and_doubling_against_lookup";
    marks_lack: "a lookup does not look again at the number of lines"
        replace "lacks && self.lines.load(Ordering::Relaxed) == lines" with "lacks"
        => "stash::doubling_against_lookup";
    put_in_order: "an entry is stashed without its marks"
        without "array.add_to_head(home, marks_of(hash));"
        => "stash::insert_known_to_a_lookup";
    put_in_order: "an entry is stashed before its marks"
        swap "array.add_to_head(home, marks_of(hash));"
        and "array.store(next % array.len(), words);"
        => "stash::words_of_two_entries_against_lookups";
    scan_length: "a lookup loads the first word of a wide cell only before the second word"
        replace "let mut first = load();"
        with "let mut first = load(); let loaded = first; let load = || loaded;"
        => "stash::words_of_two_entries_against_lookups";
    forget_way: "one entry less, and its line has no marks"
        replace "self.cells.marks_from(array, home)" with "0" => "stash::passed_line_against_lookup";
    marks_from: "the marks of a line leave out entries that found no cell there"
        replace "array.run(home)" with "[home].into_iter()" => "stash::passed_line_against_lookup";
    resize: "lines lose marks before the number of lines is stored"
        put "new.set_all_marks(&marks);" before "self.set_lines(lines);" => "stash::doubling_against_lookup";
    contains_slow: "a lookup does not ask the flags of the stash"
        without "self.flags_lack(key) &&" => "stash::insert_known_to_a_lookup";
    contains_slow: "a lookup that asks the flags of the stash does not validate the version"
        replace "before.validate_with_stash()" with "(before.validate_with_stash() | true)"
        => "stash::kick_in_the_group_against_lookup";
    contains_flagged: "a lookup does not ask the marks of the stash"
        without "self.marks_lack(key) &&" => "stash::insert_known_to_a_lookup";
    contains_flagged: "a lookup that asks the marks of the stash does not validate the version"
        replace "before.validate_with_stash()" with "(before.validate_with_stash() | true)"
        => "stash::cell_used_again_against_lookup";
    store_absent: "an insert_if_absent does not ask whether the item is stashed"
        without "&& !may_be_stashed()"
        => "stash::insert_if_absent_of_a_stashed_item_beside_a_free_slot";
    read_until: "a search of the cells does not look again at the number of lines"
        replace "self.lines.load(Ordering::Relaxed) == lines).then_some" with "true).then_some"
        => "stash::get_beside_doubling";
    forget_way: "one entry less, and no way passes the line"
        replace "self.cells.update_passing(array, home, passed);"
        with "(0..passed).for_each(|way| array.set_passing((home + way) & array.mask(), 0));"
        => "stash::passed_line_against_lookup";
    take_but_its_way: "the last copy of an entry clears the bit of its group"
        replace "found.copies == copies && self.stashed_beside(writer, group) == 1" with "found.copies == copies"
        => "stash::removal_beside_another_item_of_the_group";
    try_place_locked: "an insert_if_absent does not look in the stash under its stripes"
        without "|| self.is_stashed(key, with_value)" => "stash::two_inserts_if_absent_of_one_item";
    change_seen: "a removal does not look for stashed entries under its stripe"
        without "if any_stashed && !(ASKS_STASH && self.stash_lacks(key)) { return Tried::MayBeStashed; }"
        => "stash::removal_of_a_shorter_entry_in_a_bucket";
    change_unchanged: "a removal of the only entry does not look for stashed entries under its stripe"
        without "if any_stashed && (!ASKS_STASH || self.may_be_in_cells(entry, first, second)) { return false; }"
        => "stash::removal_of_a_shorter_entry_in_a_bucket";
    passing_from: "a search for the ways of a line follows those of one eighth"
        replace "(home & (lines - 1)..EIGHTHS).step_by(lines).map(passing_of).sum()"
        with "passing_of(home & (lines - 1))" => "stash::doubling_against_removal";
    put_in_bucket: "a value leaves the stash before it is in its bucket"
        replace "self.try_place_locked(locked, buckets, key, Duplicates::Allow) == Attempt::Stored"
        with "{
            self.take_from_stash(key, writer, found, 1);
            self.try_place_locked(locked, buckets, key, Duplicates::Allow) == Attempt::NoRoom
        }"
        => "stash::own_value_going_back_against_";

    // The bound of a lookup.
    contains_inconclusive: "an inconclusive lookup answers false"
        replace "Ordering::Relaxed); true" with "Ordering::Relaxed); false" => OVERTAKEN_LOOKUP;
    contains_inconclusive: "a lookup whose version changed locks its stripes"
        replace "(1..MAX_LOOKUP_ROUNDS)" with "let places = key.places();
            let _locked = self.lock(places, self.locate(places)); (1..MAX_LOOKUP_ROUNDS)"
        => "stopped::writer_stopped_at_each_step_of_a_kick";

    // The stripes, and what is checked under them.
    lock: "stripes are locked out of order"
        replace "order.sort_unstable();" with "order.reverse();" => "unique::two_of_one_item";
    store: "an insert locks no stripe"
        replace "of.lock_one(bucket.number(), stripe)" with "of.lock([0; 0])"
        => "races::two_inserts_for_the_last_slot";
    try_place: "an insert_if_absent locks one of its stripes"
        replace "let (locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.lock_stripes([buckets[0].number()]);"
        => "entries::kick_and_split_of_what_is_removed";
    last_hop_locked: "an insert_if_absent that kicks does not look again"
        replace "self.in_buckets(key, with_value)" with "false" => "unique::two_of_one_item_that_kick";
    hop: "a middle hop locks only the bucket that it leaves"
        replace "let (locked, buckets) = self.lock_to_move(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.lock_stripes([buckets[0].number()]);"
        => "races::two_hops_into_a_bucket_that_others_use";
    last_hop: "the last hop locks only the bucket that it fills"
        replace "let (locked, buckets) = self.lock_to_move(hop_places, buckets);"
        with "let locked = self.lock_stripes([buckets[1].number()]);" => REMOVALS;
    change_seen: "a removal locks no stripe"
        replace "self.lock([place], [seen.bucket]);" with "(self.lock_stripes([0; 0]), self.locate([place]));"
        => "races::two_removals_of_one_copy";
    count: "count locks one of its stripes"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let _locked = self.lock_stripes([buckets[0].number()]);"
        => "races::copy_in_counted_and_copy_out_against_lookup";
    lock_all: "clear locks no stripe"
        replace "Guards::lock(&self.stripes)" with "Guards::lock(&self.stripes[..0])"
        => "batches::clear_against_insert_and_removal";
    relocate: "a hop does not check that its entry is still there"
        replace "let Some(cleared) = self.locked_word(from.number()).without(planned) else { return false; };"
        with "let in_from = self.locked_word(from.number());
            let cleared = in_from.without(planned).unwrap_or(in_from);"
        => REMOVALS;
    relocate: "a hop does not check that there is still room"
        replace "let Some(copied) = self.locked_word(to.number()).with(copy) else { return false; };"
        with "let in_to = self.locked_word(to.number());
            let copied = in_to.with(copy).unwrap_or(in_to);"
        => "races::insert_and_kick_for_the_last_slot";

    // What a failed attempt, or one without a free slot, means for the operation.
    insert_as_it_is: "an insert whose path is stale says full"
        replace "backoff.snooze()" with "return Attempt::NoRoom" => REMOVALS;
    change: "a removal whose copy is gone says that there is none"
        replace "self.change_at_once::<IN_MODEL>(key, change)"
        with "match self.change_seen::<IN_MODEL>(key, change) {
                Tried::Unsure => return Ok(false),
                tried => tried == Tried::Changed,
            }"
        => REMOVALS;

    // The last resort, after too many optimistic attempts.
    try_change_slow: "the last resort of a removal locks one of its stripes"
        replace "let (locked, buckets) = self.lock_to_move(places, self.locate(places));"
        with "let buckets = self.locate(places);
            let locked = self.lock_stripes([buckets[0].number()]);"
        => "last_resort::removal_overtaken_in_every_attempt";
    insert_as_it_is: "the last resort of an insert does not stash"
        replace "self.insert_without_kicks(key, duplicates)" with "self.try_place(key, duplicates)"
        => "last_resort::insert_overtaken_in_every_attempt";
    insert_without_kicks: "the last resort of an insert locks one of its stripes"
        replace "let (locked, buckets) = self.lock(places, buckets);"
        with "let locked = self.lock_stripes([buckets[0].number()]);"
        => "last_resort::insert_whose_bucket_is_split";
    insert_as_it_is: "the last resort of an insert_if_absent allows duplicates"
        replace "self.insert_without_kicks(key, duplicates)"
        with "self.insert_without_kicks(key, Duplicates::Allow)"
        => "last_resort::insert_if_absent_of_an_item_that_turns_up";

    // The counts of slots in use.
    relocate: "a kick does not count the slot that it fills"
        without "locked.occupy(to.number(), 1);" => LOOKUPS;

    // Growth: the order of the steps of a split.
    split_run: "a split publishes the extent before it copies"
        swap "self.copy_what_goes(&locked, &splits);" and "growing.publish(extent);" => SPLITS;
    split_run: "a split clears before it publishes the extent"
        put "self.clear_what_goes(&locked, &splits);" after "self.copy_what_goes(&locked, &splits);"
        => SPLITS;
    split_run: "a split bumps the versions before it publishes the extent"
        swap "growing.publish(extent);" and "self.bump_what_goes(&groups);" => SPLITS;
    split_run: "a split bumps the versions after it clears"
        swap "self.bump_what_goes(&groups);" and "self.clear_what_goes(&locked, &splits);"
        => SPLITS;
    split_run: "a split publishes the extent when it has given back its stripes"
        replace "growing.publish(extent); self.bump_what_goes(&groups);
            self.clear_what_goes(&locked, &splits);"
        with "self.bump_what_goes(&groups);
            self.clear_what_goes(&locked, &splits);
            drop(locked);
            growing.publish(extent);"
        => "growth::insert_of_what_goes";
    lock_run: "a split locks only the new bucket"
        replace "if is_new {" with "if is_new | true {"
        => "growth::insert_into_both_buckets_of_a_split";
    lock_run: "a split locks only the old bucket"
        replace "if is_new {" with "if is_new & false {"
        => "snapshots::split_and_insert_beside_a_snapshot";
    make_room: "an insert without room splits beside others"
        replace "let mut splitting = self.shared.doubled.lock();"
        with "let own = crate::table::shared::doubled::Doubled::try_new(true, Default::default())?; let mut splitting = own.lock();"
        => "growth::two_inserts_that_find_no_room";
    store: "an insert does not compute its bucket again"
        replace "if B::GROWS {" with "if false {" => "growth::insert_of_what_goes";
    last_hop: "the last hop does not compute the bucket again that it fills"
        replace "let (locked, buckets) = self.lock_to_move(hop_places, buckets);"
        with "let (locked, [from, _]) = self.lock_to_move(hop_places, buckets);
                    let buckets = [from, buckets[1]];"
        => "growth::kick_into_the_bucket_that_is_split";

    // Entries of different lengths, and the levels by which they are read.
    relocate: "a kick writes the bits of the position that it leaves"
        replace "to.slot::<F>(arrives)" with "to.slot::<F>(leaves)"
        => "growth::kick_of_what_stays_for_what_goes";
    is_of: "words are used although the extent has changed since they were read"
        replace "self.placement.is_same(placement)"
        with "self.placement.is_same(placement) || true"
        => "entries::insert_if_absent_beside_an_entry_of_the_next_level";
    split_run: "a split begins the next level before it clears"
        put "if let Some(next_level) = extent.next_level(growing.ring) { growing.publish(next_level); }"
        before "self.clear_what_goes(&locked, &splits);"
        => "voids::void_entry_at_the_end_of_a_level_of_which_the_next_bit_is_set";
    insert_absent: "an insert_if_absent does not look at the extent again"
        replace "let read = self.read_valid(key);"
        with "let read = self.read(key, self.locate(key.places()));"
        => "entries::insert_if_absent_beside_an_entry_of_the_next_level";
    holder_of_longest: "a removal takes the shorter of two entries"
        replace "first >= second" with "first.is_some_and(|first| second.is_none_or(|second| first <= second))"
        => "entries::removal_beside_a_relative_with_a_short_entry";
    change_longest: "a removal does not look for a longer entry when it has its stripe"
        replace "other.known > longest.known" with "other.known > u32::MAX - 1"
        => "entries::kick_of_what_is_removed_beside_a_short_entry entries::kick_and_split_of_what_is_removed";
    change_unchanged: "a removal does not look again whether its entry is the only one"
        replace "both(now, F::bits) == both(words, F::bits)"
        with "now[usize::from(!in_first)].bits() == words[usize::from(!in_first)].bits()"
        => "entries::kick_of_what_is_removed_beside_a_short_entry entries::kick_and_split_of_what_is_removed";
    change_unchanged: "a removal of the only entry does not look at the extent again"
        replace "at.is_of(self.buckets.placement())" with "true"
        => "entries::kick_and_split_of_what_is_removed";

    // Void entries.
    groups_of_what_goes: "a split bumps no version for a void entry"
        replace "split.goes.slots_in_use()"
        with "split.goes.slots_in_use().take(split.goes.in_use() - split.doubled.in_use())"
        => "voids::void_entry_against_lookup";
    slot: "a void entry is kicked to a bucket that tells more than it knows"
        replace "if known < bucket.told_bits() { return None; }" with "let known = known.max(bucket.level());"
        => "voids::kick_that voids::kick_into";

    // Snapshots: the stores that are mirrored.
    store_in: "an insert does not mirror its word"
        replace "self.store_word(locked, number, copied, Ordering::SeqCst)"
        with "self.buckets.word(number).store(copied.bits(), Ordering::SeqCst)"
        => SNAPSHOT_AND_INSERT;
    copy_what_goes: "a split does not mirror the new word"
        replace "self.store_word(locked, split.new, split.goes, Ordering::Relaxed)"
        with "self.buckets.word(split.new).store(split.goes.bits(), Ordering::Relaxed)"
        => SNAPSHOT_AND_SPLIT;
    store_bits: "a writer copies to the mirror before it stores"
        swap "self.buckets.word(bucket).store(bits, order);"
        and "if locked.is_recorded(bucket) { self.copy_to_mirror(bucket); }" => SNAPSHOT_AND_INSERT;

    store_changed: "a replacement does not mirror its word"
        replace "self.store_word(locked, bucket, changed, Ordering::SeqCst);"
        with "if matches!(change, Change::Replace(_)) {
                self.buckets.word(bucket).store(changed.bits(), Ordering::SeqCst);
            } else {
                self.store_word(locked, bucket, changed, Ordering::SeqCst);
            }"
        => "maplets::replacement_and_insert_beside_a_snapshot";
    store_changed: "a stamp does not mirror its word"
        replace "self.store_word(locked, bucket, changed, Ordering::SeqCst);"
        with "if change == Change::Stamp {
                self.buckets.word(bucket).store(changed.bits(), Ordering::SeqCst);
            } else {
                self.store_word(locked, bucket, changed, Ordering::SeqCst);
            }"
        => "expiring::stamps_beside_a_snapshot";

    // Snapshots: the copy.
    try_image: "the flags are set after the copy"
        swap "self.stripes().start_recording();"
        and "self.with_mirror(|mirror| self.copy_into(mirror));" => SNAPSHOT_AND_INSERT;
    copy_into: "words are copied and not compared"
        replace "now != copied.load(Ordering::Relaxed)"
        with "now != copied.load(Ordering::Relaxed) && false" => SNAPSHOT_AND_INSERT;
    start_recording: "the flags are set without their stripes"
        replace "stripe.lock.lock()" with "Some(())" => SNAPSHOT_AND_INSERT;

    // Snapshots: the instant.
    stop: "all stripes are held while another thread adds a piece to the mirror"
        replace "self.held.take().unwrap_or_else(|| table.hold())"
        with "self.held.take().unwrap_or_else(|| { \
            let own = crate::table::shared::doubled::Doubled::try_new(true, Default::default()).ok().unwrap(); \
            (table.lock_removing(), Box::leak(Box::new(own)).lock()) })"
        => "stopped::insert_beside_a_snapshot_and_an_allocation";
    try_reach: "a piece is added to the table and not to the mirror"
        without "self.reach_in_mirror(reach)?;" => SNAPSHOT_AND_SPLIT;
    stop: "the flags stay set at the end of a snapshot"
        without "locked.stop_recording();" => SNAPSHOT_AND_INSERT;
    try_image: "two threads take snapshots at once"
        without "let _taking = self.turns.lock(&self.shared.mirror.taking);"
        => "snapshots::two_snapshots_beside_a_kick snapshots::two_snapshots_beside_a_split";

    // Merges.
    merge: "a merge that fails takes nothing back"
        without "self.take_parts_back(entry, least);"
        => "snapshots::merge_that_fails_against_lookups";
    merge: "a merge beside others that need what is doubled"
        without "let _removing = self.lock_removing();" => "voids::merge_beside";
    insert_parts: "a merge counts an entry as stored that was split meanwhile"
        replace "self.insert_copies(entry, least, steps)?" with "self.insert_copies(entry, least, steps)?.or(Some(1))"
        => "voids::merge_beside_a_split";

    // Values: the answers of a lookup.
    try_get: "a get does not validate the version"
        replace "self.is_complete(key, version)" with "(self.is_complete(key, version) | true)"
        => "maplets::get_beside_a_kick";
    get_slow: "the last resort of a get locks no stripe"
        replace "let (_locked, buckets) = self.lock(places, self.locate(places));"
        with "let buckets = self.locate(places);" => "maplets::get_overtaken_in_every_round";

    insert_if_absent_batch: "a batch of inserts of absent items looks without a lock, and then inserts"
        replace "table.insert_if_absent(key)?"
        with "!table.contains(key) && table.insert(key).map(|()| true)?"
        => "batches::two_batches_of_the_same_new_items";
    // Values: replacements and removals.
    store_changed: "a replacement of a duplicate bumps no version"
        replace "if may_be_missed {" with "if change == Change::Remove && may_be_missed {"
        => "maplets::copy_in_and_replacement_of_the_other maplets::copy_in_and_replacement_of_the_other_the_other_way";
    in_other: "a removal bumps no version for an entry with another value"
        replace "bucket.holds_key(word, place)" with "bucket.holds_key(word, place) & false"
        => "maplets::value_in_and_value_out_against_lookup";

    // The lock of a stripe.
    lock_slow: "a waiter takes a stripe that another thread holds"
        replace "FREE if self.try_acquire() => return true," with "FREE | HELD => return true,"
        => "lock::";
    lock_slow: "a waiter waits for a retired stripe"
        replace "RETIRED => return false," with "RETIRED if false => return false," => "lock::";
    retire: "a thread that gets a retired stripe holds it"
        replace "store(RETIRED, Ordering::Release)" with "store(FREE, Ordering::Release)"
        => "lock::";

    // The array of words.
    add: "two threads add slabs at once"
        replace "let len = self.len.load(Ordering::Relaxed);"
        with "let len = self.len.load(Ordering::Relaxed);
            drop(owned);
            owned = self.owned.lock();"
        => "array::";
    try_add: "a slab counts before it is there"
        put "self.len.store(longer, Ordering::Release);"
        before "let newest = self.newest.load(Ordering::Relaxed);" => "array::";
    lengthen: "words are replaced by zeros"
        without "new.store(view.word(at).load(Ordering::Relaxed), Ordering::Relaxed);" => "array::";

    // Stripes, versions and words that are replaced.
    try_widen: "versions are retired before there are others"
        put "old.retire();" before "read.versions.replace(versions);"
        => "stopped::widening_stopped_at_each_step";
    try_widen: "a writer gets a new stripe before the old versions are retired"
        put "read.stripes.replace(stripes);" before "old.retire();"
        => "widening::kick_beside_widening_against_lookup";
    try_widen: "a writer gets a stripe that was replaced"
        replace "locked.retire();" with "drop(locked);" => WRITERS_BESIDE_WIDENING;
    try_widen: "stripes are replaced while writers hold them"
        replace "self.count_in(&stripes.value);" with "drop(locked); self.count_in(&stripes.value); let locked = self.lock_all();"
        => WRITERS_BESIDE_WIDENING;
    try_widen: "new stripes count nothing"
        without "self.count_in(&stripes.value);" => WRITERS_BESIDE_WIDENING;
    widen_late: "stripes are replaced while another snapshot begins"
        without "let _splitting = self.shared.doubled.lock();"
        => "widening::widening_at_the_end_of_a_snapshot";
    try_widen: "stripes are replaced while a snapshot uses their flags"
        replace "self.is_recorded()" with "false" => "widening::snapshot_beside_widening";
    try_widen: "new stripes have the color of no sweep"
        without "stripes.value.take_colors(self.stripes());" => "widening::change_beside_widening";
    sweep_all: "a sweep leaves out the stripes that have replaced others"
        replace "while swept != self.stripes().len()" with "while swept == 0"
        => "widening::change_beside_widening";
    take_over: "new versions do not know of stashed entries"
        replace "version | u64::from(any_stashed(group))" with "version" => STASH_AND_WIDENING;
    take_over: "new versions begin at 0"
        replace "old.counter(group).load(Ordering::Relaxed) & !STASHED" with "old.counter(group).load(Ordering::Relaxed) & 0"
        => "widening::kick_after_widening_with_something_stashed";
    validate_with_stash: "a later round of a lookup validates a version that was replaced"
        without "self.version != RETIRED &&" => "widening::kick_after_widening_with_something_stashed_against_get";

    // Sweeps.
    hop: "a hop in the middle of a path does not look whether its stripes are swept"
        replace "self.lock_to_move(" with "self.lock(" => "expiry::first_of_two_hops_beside_a";
    last_hop: "a kick does not look whether its stripes are swept"
        replace "self.lock_to_move(hop_places, buckets)" with "self.lock(hop_places, buckets)"
        => SWEEP_AND_KICK;
    last_hop: "a kick of an insert_if_absent does not look whether its stripes are swept"
        replace "self.lock_to_move(places, self.locate(places))" with "self.lock(places, self.locate(places))"
        => "expiry::insert_if_absent_beside_a_change";
    lock_run: "a split does not look whether its stripes are swept"
        replace "self.not_swept(&locked, buckets)" with "self.not_swept(&locked, [0; 0])"
        => SWEEP_AND_SPLIT;
    put_back: "an entry goes from the stash back to a bucket that is not swept"
        replace "self.lock_to_move(" with "self.lock(" => "expiry::going_back_beside_a_change";
    try_change_slow: "a value goes from the stash back to a bucket of its key that is not swept"
        replace "self.lock_to_move(" with "self.lock(" => "expiry::own_value_going_back_beside_a_change";
    sweep_stripe: "a stripe that was swept is swept again"
        without "if self.not_swept(&locked, [first]).is_none() { return; }"
        => "expiry::kick_beside_a_change";
    sweep_stripe: "a sweep locks no stripe"
        replace "self.lock_stripes([first])" with "self.lock_stripes([0; 0])"
        => "expiry::sweep_beside_a_kick_of_another";
    sweep_segment: "entries that a sweep removes are not counted"
        without "self.shared.sweeping.latest().removed.fetch_add(removed as u64, Ordering::Relaxed);"
        => SWEEP_AND_KICK;
    sweep_stripe: "a change of values unlocks its stripe in between"
        replace "else { usize::MAX }" with "else { SEGMENTS_AT_ONCE }" => "expiry::kick_beside_a_change_of_two_stripes";
    sweep_bucket: "a sweep bumps no version where it removes"
        replace "if new != Some(slot)" with "if new.is_some_and(|new| new != slot)"
        => "expiry::sweep_and_another_value";
    sweep_bucket: "a sweep bumps no version where it changes a value"
        replace "if new != Some(slot)" with "if new.is_none()"
        => "expiry::two_equal_pairs_beside_a_change";
    change_stashed: "stashed values change without a bump"
        replace "writer.change(&change, bump);" with "writer.change(&change, || _ = &bump);"
        => "expiry::two_equal_pairs_of_which_one_is_stashed";
    change_stashed: "the second of two stashed values changes without a bump"
        replace "writer.change(&change, bump);"
        with "writer.change(&change, || if self.value_in(place.entry.bits().into()) == 1 { bump() });"
        => "expiry::pair_that_takes_the_place_of_another";
    change_stashed: "a shard is unlocked between the plan and the changes"
        replace "planned.push((writer, changes));"
        with "drop(writer); planned.push((cells.lock(), changes));"
        => "expiry::change_of_the_stash_beside_other_numbers_of_lines";
    begin_update: "stashed values change while others write"
        replace "let locked = self.lock_all();" with "let locked = self.lock_stripes([0; 0]);"
        => "expiry::going_back_beside_a_change";
    remove_value_locked: "doubled entries are not forgotten"
        replace "splitting.change_values(others)" with "splitting.change_values(Some)"
        => "expiry::doubled_entries_are_swept";
    begin_update: "doubled entries keep their values"
        replace "splitting.change_values(|value| change.of(value))" with "splitting.change_values(Some)"
        => "expiry::doubled_entries_are_changed";
    remove_value_locked: "a sweep leaves the stash out"
        replace "self.sweep_stash(|bits| self.value_in(bits.into()) == value, |_| true)" with "0"
        => "expiry::stashed_value_beside_a_removal_of_another";
    remove_value_locked: "the color changes before the stash is swept"
        swap "let stashed = self.sweep_stash(|bits| self.value_in(bits.into()) == value, |_| true);"
        and "self.change_color();" => "expiry::going_back_beside_a_sweep";
    update_values: "the color changes before the change is stored"
        swap "*self.shared.sweeping.latest().change.write() = NewValues::Each(new);"
        and "let begun = self.begin_update();" => "expiry::kick_beside_a_change";
    next: "a sweep of the stash goes on after the lines were replaced"
        replace "if seen.lines != lines" with "if seen.lines != lines && seen.lines == 0"
        => "expiry::sweep_of_the_stash_beside_other_numbers_of_lines";
    held_at: "a sweep of the stash takes what is in the cell by now"
        replace "(held.place == place)" with "(held.place == place || true)"
        => "expiry::sweep_of_the_stash_beside_a_cell_used_again";
    remove_value: "two values are removed at a time"
        without "let _removing = self.lock_removing();" => "expiry::two_sweeps";
    update_values: "two sweeps run at a time"
        without "let _removing = self.lock_removing();" => "expiry::two_changes";
    clear: "a clear runs beside a merge"
        without "let _removing = self.lock_removing();" => "voids::merge_beside_a_clear";
    hold: "a snapshot ends in the middle of a sweep"
        replace "self.lock_removing()" with "Box::leak(Box::new(crate::sync::Mutex::new(()))).lock()"
        => "expiry::snapshot_beside_a_sweep_of_doubled_entries";

    // Generations.
    insert_stamped: "an insert that finds the present stamp does not look at the clock again"
        replace "self.clock() == clock" with "true" => STAMP_AND_WINDOW;
    insert_stamped: "an insert reads the clock after the words"
        put "let clock = self.clock();" after "let read = self.read_valid(key);"
        => STAMP_AND_WINDOW;
    insert_stamped_slow: "an insert that finds the present stamp in the stash does not look at the clock again"
        replace "if self.clock() == clock { return Ok(false); }" with "return Ok(false);"
        => "expiring::stamp_in_the_stash_overtaken_by_a_whole_window";
    advance_locked: "a generation begins before the oldest is removed"
        swap "let removed = self.remove_value_locked(next.stamp());" and "self.set_clock(next);"
        => "expiring::stamp_of_what_is_swept expiring::stamp_if expiring::insert_of_what";
    advance_by: "two generations end at a time"
        without "let _removing = self.lock_removing();" => "expiring::two_that_advance";
    advance_by: "a whole window ends when others may store again"
        replace "self.clear_locked(|| self.set_clock(self.clock().after(generations, self.generations)));"
        with "self.clear_locked(|| {});
            self.set_clock(self.clock().after(generations, self.generations));"
        => "expiring::stamp_beside_the_end_of_a_whole_window";
    insert_stamped: "an insert does not look at the extent again"
        replace "let read = self.read_valid(key);"
        with "let read = self.read(key, self.locate(key.places()));"
        => "expiring::stamp_beside_an_entry_of_the_next_level";
    advance_from: "two threads make room for one insert each"
        replace "self.clock() == clock" with "self.clock() == clock || true"
        => "expiring::two_that_make_room";
    age: "an age is told by the generation before the words"
        replace "if self.clock() == clock { break; }" with "break;"
        => "expiring::age_beside_an_advance expiring::two_inserts_beside_an_advance";
    insert_stamped_slow: "an insert leaves an older stamp as it is"
        replace "self.restamp(self.with_value(key, older))?" with "self.replace(self.with_value(key, older), older)?"
        => "expiring::two_stamps_of_an_old_item expiring::two_inserts_of_what_is_swept";
    lacks_each: "an intersection does not validate the version of what it did not find"
        without "&& version.validate()"
        => "sets::growing::entry_that_is_kicked";
    count: "two threads end generations by the number of their items at once"
        without "before < self.items &&" => "quota::three_new_items_where_two_end_a_generation";
    count: "items that others store while a generation ends count for the next one"
        replace "let _left = Left { count: &self.new, items: now - self.items }; end();"
        with "end(); self.new.fetch_add(self.items.wrapping_neg(), Ordering::Relaxed);"
        => "quota::two_new_items_of_two_generations";
    store_absent: "a stamp is read before the stripe is taken"
        put "let place = Place::select(in_first, self.stamped(key, duplicates).places());"
        before "let locked = self.lock_stripes(both(buckets, Bucket::number));"
        => "expiring::insert_beside_two_advances";
    store_absent: "a new item is stored though its buckets have changed since they were read"
        replace "let is_same =" with "let is_same = true ||"
        => "expiring::two_inserts_beside_an_advance";
    insert_without_kicks: "a stashed entry has no stamp"
        replace "self.stamped(key, duplicates)" with "key"
        => "expiring::stamp_without_room_beside_an_advance last_resort::stamp_overtaken_in_every_attempt";

    // Counters.
    update: "a count that another thread began is taken for one's own"
        replace "self.insert_absent_in_turn(|| self.contains(key), insert)?"
        with "self.insert_absent_in_turn(|| self.contains(key), insert).is_ok()"
        => "counters::two_count_a_new_key";
    update: "an update that finds no value does not validate the version"
        replace "!self.is_complete(key, version)" with "!(self.is_complete(key, version) | true)"
        => "counters::update_beside_a_kick counters::update_beside_the_way_back";
    update: "an update does not look at the extent again"
        replace "let read = self.read_valid(key);"
        with "let read = self.read(key, self.locate(key.places()));"
        => "counters::update_beside_an_entry_of_the_next_level";
    change_unchanged: "an update does not look again at the words that it has read"
        replace "if !is_same {" with "if !(is_same | true) {" => "counters::two_updates";

    // Time.
    insert_and_advance: "an insert looks at the time when it has stored its item"
        replace "self.advance_if_due();
        match by_encoding!(self.inner, table => table.insert_stamped_item(hash, stamping)) {"
        with "let ended = by_encoding!(self.inner, table => table.insert_stamped_item(hash, stamping));
            self.advance_if_due();
            match ended {"
        => "timer::";
    advance_due: "an insert that goes on does not say so"
        replace "self.phase.fetch_or(OVERLAPPED, Ordering::AcqRel)" with "self.phase.load(Ordering::Acquire)"
        => "timer::";
    advance_due: "an insert that goes on does not tell its time"
        replace "Ordering::AcqRel" with "Ordering::Acquire" => "timer::";
    advance_due: "an insert that goes on does not know the generation that ends"
        replace "Ordering::AcqRel" with "Ordering::Release" => "timer::";
    advance_due: "an insert goes on though two generations are due"
        replace "if due > 1 { ADVANCING_BY_SEVERAL } else { ADVANCING }" with "ADVANCING" => "timer::";
    advance_due: "an insert goes on though nobody advances yet, or any more"
        replace "_ => backoff.sleep()," with "_ => return 0," => "timer::";
    advance_due: "the next generation begins when it was due though an insert went on"
        replace "if phase == ADVANCING | OVERLAPPED { self.period } else { rest }" with "0"
        => "timer::";
    began_and_now: "a copy has the time of the generation before"
        replace "if phase == IDLE { self.began() } else { now }" with "began" => "timer::";
    advance_due: "a copy has the time of the generation before while the next one is noted"
        replace "self.phase.swap(ENDING, Ordering::Acquire)" with "self.phase.swap(IDLE, Ordering::Acquire)"
        => "timer::copy_beside_an_advance";
    advance_due: "two threads end the generations that are due"
        replace "self.began() != began" with "false" => "timer::";
    advance_due: "the next generation begins before it is published"
        put "let result = advance(due);" after "drop(ending);"
        => "timer::";
};
