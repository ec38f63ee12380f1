//! `count`, `clear`, `len` and the batches: each against its promise.

use loom_tests::model::*;

use crate::{adding, items, last_slot, one_hop, one_item, storing, two_hops, with};

models! {
    // Two copies of one item, one of which is kicked: the count is always two.
    count_against_kick: [moved, new, _] = storing(
        one_hop::<L>(3, 0), |s, [moved, ..]| s.store(3, &[moved]),
    ) => [insert(new)] || [count(moved, 2)], 180, 3;
    count_against_insert_and_removal: [x] = one_item::<L, 1>([0])
        => [insert(x), remove(x)] || [maybe(count(x.swapped(), 1))], 210, 3;
    // `clear` stores bucket by bucket. For each item it is still one atomic step.
    clear_against_lookups: [x] = one_item::<L, 1>([0])
        => [insert(x), clear()] || [maybe(contains(x.swapped())), maybe(contains(x.swapped()))],
        2000, 3;
    clear_against_insert_and_removal: [x, y] = with(
        Setup::<L>::new(2), [(0, 1), (1, 0)], |s, [x, y]| s.store(0, &[x, y]).store(1, &[x]),
    ) => [clear()] || [insert(x), maybe(contains(x))] || [maybe(remove(y)), maybe(count(x, 1))],
        16_000, 2;
    clear_against_kick: [moved, new, ..] = last_slot::<L>(3, 0)
        => [insert(new)]
        || [clear(), !contains(moved)]
        || [maybe(contains(moved)), maybe(contains(moved))], 6400, 1;
    // `len` takes no lock and may be wrong by one for each item that is moved meanwhile: one too many if it counts the
    // item in both buckets, one too few if in neither.
    len_against_a_kick_of_two_hops: [_, _, new, ..] = two_hops::<L>((3, 0), (2, 3))
        => [insert(new)] || [does(|t| (3 * L::SLOTS).abs_diff(t.filter().len()) <= 1)], 150, 3;
    batch_of_inserts_against_lookups: [moved, new, last] = adding(
        last_slot::<L>(3, 0), |s, [moved, new, ..]| [moved, new, s.item(2, 1)],
    ) => [maybe(does(move |t| t.insert_many(&[new, last]) == 2))]
        || [maybe(contains(last)), contains(moved)], 270, 3;
    // The items are stored one by one, in order: a thread that sees the second one sees the first.
    batch_of_inserts_in_order: [x, y] = items(Setup::<L>::new(4), [(0, 1), (2, 3)])
        => [does(move |t| t.insert_many(&[x, y]) == 2)]
        || [does(move |t| !t.contains(y) || t.contains(x))], 17, 3;
    // Each item is new in one of the batches, as the checker knows. One of the batches names an item twice.
    two_batches_of_the_same_new_items: [x, y] = items(Setup::<L>::new(4), [(0, 1), (2, 3)])
        => [does(move |t| t.insert_if_absent_many(&[x, y, x]).len() == 3)]
        || [does(move |t| t.insert_if_absent_many(&[y.swapped(), x.swapped()]).len() == 2)], 650, 3;
    batch_of_lookups_against_kick: [moved, new, filler] = one_hop::<L>(3, 0)
        => [insert(new)]
        || [does(move |t| matches!(t.contains_many(&[moved, new, filler])[..], [true, _, true]))],
        490, 3;
    // The items are removed one by one, in order: a thread that misses the second one misses the first.
    batch_of_removals_in_order: [x, y] = with(
        Setup::<L>::new(4), [(0, 1), (2, 3)], |s, [x, y]| s.store(0, &[x]).store(2, &[y]),
    ) => [does(move |t| t.remove_many(&[x, y]) == [true, true])]
        || [does(move |t| t.contains(y) || !t.contains(x))], 17, 3;
}
