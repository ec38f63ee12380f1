//! Entries of different lengths, and the end of a level, after which entries are read by the next bit.
//!
//! Two relatives differ in the first bit of their positions that not every entry knows. An entry that one of them got
//! before the table doubled is an entry of both.

use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::{Growing, With, adding, items, storing, usually, with};

growing_models! {
    // The removal sees both entries, and takes the long one.
    removal_beside_a_relative_with_a_short_entry: [long, short] = storing(
        relatives::<L>(0), |s, [long, short]| s.store_as_of(0, 1, &[short]).store(0, &[long]),
    ) => [remove(long)] || [contains(short), !insert_if_absent(short)], 110, 3;
    removal_beside_a_relative_with_a_short_entry_in_the_first_bucket: [long, short] = storing(
        relatives::<L>(1), |s, [long, short]| s.store_as_of(0, 1, &[short]).store(0, &[long]),
    ) => [remove(long)] || [contains(short), !insert_if_absent(short)], 110, 3;
    removal_of_the_longest_of_one_bucket: [long, short] = storing(
        relatives::<L>(0), |s, [long, short]| s.store_as_of(0, 0, &[short]).store(0, &[long]),
    ) => [remove(long)] || [contains(short)], 14, 3;
    removal_of_a_short_entry_beside_a_long_one: [long, short] = storing(
        relatives::<L>(0), |s, [long, short]| s.store_as_of(0, 0, &[short]).store(1, &[long]),
    ) => [remove(short)] || [contains(long)] || [contains(long.swapped())], 490, 3;
    // From 0 to 3, where the short entry of a relative is. A removal that looks meanwhile may see only that entry.
    removal_of_a_long_entry_that_is_kicked_to_a_short_one: [long, new, short] = kick::<L>(3)
        => [insert(new)] || [remove(long.swapped())] || [contains(short)], 5700, 2;
    // The kick has planned to move the long entry, which is then gone. The short one beside it is another entry.
    kick_of_what_is_removed_beside_a_short_entry: [long, new, short] = kick::<L>(0)
        => [insert(new)] || [remove(long)] || [contains(short)], 6400, 2;
    // Bucket 1 is split, the last of its level. Then the item is stored by the next level; another `insert_if_absent`
    // has seen only the last level.
    inserts_if_absent_at_the_end_of_a_level: [x] = items(last_of_level::<L>(), [(1, 0)])
        => [split(1), maybe(insert_if_absent(x.swapped()))] || [maybe(insert_if_absent(x))], 10_000, 3;
    insert_if_absent_of_what_goes_at_the_end_of_a_level: [goes] = goes_at_the_end::<L>()
        => [split(1)] || [!insert_if_absent(goes)], 840, 3;
    // An entry that goes, read by the next level before it is cleared, would look like an entry of an item that is not
    // there.
    insert_if_absent_beside_what_goes_at_the_end_of_a_level: [absent] = adding(
        goes_at_the_end::<L>(), |s, [goes]| [s.variant(goes, 1, 1)],
    ) => [split(1)] || [insert_if_absent(absent)], 3400, 3;
    // An entry of the next level, read by the level before, would look like an entry of an item that is not there.
    insert_if_absent_beside_an_entry_of_the_next_level:
        [absent, new] = entry_of_the_next_level(last_of_level::<L>())
        => [split(1), insert(new)] || [insert_if_absent(absent)], 3500, 3;
    // The item has an entry; another one is stored by the next level, and both are counted before one is removed.
    removal_beside_an_entry_of_the_next_level: [x] = with(
        last_of_level::<L>(), [(0, 1)], |s, items| s.store(0, &items),
    ) => [remove(x)]
        || [split(1), insert(x), maybe(count(x, 1))]
        || [maybe(contains(x.swapped()))], 54_000, 1;
    // A table that began with four buckets and has doubled once. An insert kicks an entry from 3 to 0; then 0 is split,
    // and the entry is in 8. A removal that has seen the long entry in 3 finds the short one there, and must find the
    // long one where it is.
    kick_and_split_of_what_is_removed: [long, new, _] = with(
        Growing::<L>::growable(4, 16).split(4), [(8, 3), (6, 3), (6, 3)], |s, [long, _, high]| {
            let short = s.variant(long, 0, 1);
            s.store(3, &[long]).store_as_of(0, 3, &[short]).fill(3, high).fill(6, high)
        },
    ) => [insert(new), split(1)] || [remove(long)], 10_000, usually(2);
    // An insert kicks the long entry from 0 to 5, and the level ends. A removal that has seen it in 0 finds the short
    // one there. The long one is longer by any level, and it is the one that is removed.
    removal_of_what_is_kicked_at_the_end_of_a_level: [long, new, _] = with(
        Growing::<L>::growable(2, 8).split(5), [(0, 5), (0, 1), (0, 1)], |s, [long, _, low]| {
            let short = s.variant(long, 0, 1);
            s.store(0, &[long]).store_as_of(0, 0, &[short]).fill(0, low).fill(1, low)
        },
    ) => [insert(new), split(1)] || [remove(long)], 6000, 2;
    // The second level: two buckets are split at once, each with an entry of either level that goes.
    run_that_splits_entries_of_two_levels: [even, odd, stays] = with(
        Growing::<L>::growable(2, 8).split(2), [(4, 1), (5, 0), (0, 1)],
        |s, [even, odd, stays]| s.store_as_of(0, 0, &[even]).store(0, &[stays]).store(1, &[odd]),
    ) => [split(2)] || [contains(odd), contains(even), remove(stays)], 10_000, usually(2);
    clear_beside_a_split_of_entries_of_two_levels: [long, short, new] = with(
        Growing::<L>::growable(2, 8).split(3), [(5, 0), (5, 0), (1, 0)],
        |s, [long, short, _]| s.store(1, &[long]).store_as_of(0, 1, &[short]),
    ) => [split(1), insert(new)] || [clear(), !contains(long), !contains(short)], 10_000, 3;
    // The last bucket of a level is split, and an item is stored by the next level, beside a snapshot.
    snapshot_beside_an_entry_of_the_next_level: [goes, new] = with(
        last_of_level::<L>(), [(3, 0), (1, 0)], |s, [goes, _]| s.store(1, &[goes]),
    ) => [split(1), insert(new)] || [snapshot([goes])], 11_000, 3;
    batch_of_removals_beside_a_relative: [long, short] = adding(
        items(last_of_level::<L>(), [(1, 0)]), |s, [long]| {
            let short = s.variant(long, 0, 1);
            s.store(1, &[short]);
            [long, short]
        },
    ) => [split(1)]
        || [does(move |t| t.insert_many(&[long]) == 1 && t.remove_many(&[long]) == [true]),
            contains(short)], 5100, 2;
    // The duplicate rule: the item has a long entry in bucket 1. A short one, from an image of a smaller table, comes
    // into bucket 0, and then the long one is removed. A lookup may have read bucket 0 before all this.
    short_copy_and_removal_of_the_long_one: [x] = short_copy::<L>()
        => [merge(0), remove(x)] || [contains(x)], 200, 3;
    short_copy_and_removal_of_the_long_one_the_other_way: [x] = short_copy::<L>()
        => [merge(0), remove(x)] || [contains(x.swapped())], 200, 3;
}

/// A table that began with two buckets and has doubled once, and two relatives whose lookups read this bucket first.
///
/// `[long, short]`.
pub fn relatives<L: GrowingLayout + Layout>(first: usize) -> With<Growable<L>, 2> {
    let doubled = Setup::growable(2, 4).split(2);
    adding(items(doubled, [(first, 1 - first)]), |s, [long]| [long, s.variant(long, 0, 1)])
}

/// A table that began with four buckets and has doubled once. Buckets 0 and 1 are full, and nothing in them can be
/// moved except an entry from 0 to 3, by an insert of `new`. The short entry of a relative is in this bucket.
///
/// `[long, new, short]`.
fn kick<L: GrowingLayout + Layout>(of_short: usize) -> With<Growable<L>, 3> {
    let doubled = Setup::growable(4, 8).split(4);
    adding(items(doubled, [(0, 3), (0, 1), (0, 1)]), |s, [long, new, low]| {
        let short = s.variant(long, 0, 1);
        s.store(0, &[long]).store_as_of(0, of_short, &[short]).fill(0, low).fill(1, low);
        [long, new, short]
    })
}

/// Bucket 1 is split next, the last one of its level.
fn last_of_level<L: GrowingLayout + Layout>() -> Growing<L> {
    Setup::growable(2, 4).split(1)
}

/// The same with an item in bucket 1, which goes.
fn goes_at_the_end<L: GrowingLayout + Layout>() -> With<Growable<L>, 1> {
    with(last_of_level(), [(3, 0)], |s, items| s.store(1, &items))
}

/// `new` has more room in bucket 1, which is split next. Its entry there in the next level looks like an entry of
/// `absent` in this level.
///
/// `[absent, new]`.
pub fn entry_of_the_next_level<M: Subject>(setup: Setup<M>) -> With<M, 2> {
    adding(items(setup, [(3, 0)]), |s, [absent]| {
        let new = s.variant(absent, 1, 1);
        let other = s.item(2, 1);
        s.store(2, &[other]);
        [absent, new]
    })
}

/// A table that began with two buckets and has doubled once, with an item in bucket 1. A merge stores a short copy in
/// bucket 0.
fn short_copy<L: GrowingLayout + Layout>() -> With<Growable<L>, 1> {
    with(Growing::<L>::growable(2, 4).split(2), [(0, 1)], |s, x| s.store(1, &x).merged(&x))
}
