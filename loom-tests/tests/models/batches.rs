//! `count`, `clear`, `len` and the batches: each against what it promises.

use coucal::Layout;
use coucal::probe::Subject;
use loom_tests::model::*;

use crate::{LastSlot, OneHop, TwoHops, one_item};

models! {
    count_against_kick
    count_of_what_is_kicked
    count_against_insert_and_removal
    clear_against_lookups
    clear_against_insert_and_removal
    clear_against_kick
    len_against_a_kick_of_two_hops
    batch_of_inserts_against_lookups
    batch_of_inserts_in_order
    two_batches_of_the_same_new_items
    batch_of_unique_inserts_against_kick
    batch_of_lookups_against_kick
    batch_of_removals_against_kick
    batch_of_removals_in_order
}

/// Two copies of one item, one of which is kicked: the count is always two.
fn count_against_kick<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [moved, new, filler] = setup.items([(3, 0), (0, 1), (0, 1)]);
    setup.store(0, &[moved]).fill(0, filler).fill(1, filler).store(3, &[moved]);
    setup.thread([insert(new)]).thread([count(moved, 2)]).check(180, 3);
}

fn count_of_what_is_kicked<L: Layout>() {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(3, 0);
    setup.thread([insert(new)]).thread([count(moved, 1)]).check(180, 3);
}

fn count_against_insert_and_removal<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup.thread([insert(x), remove(x)]).thread([maybe(count(x.swapped(), 1))]).check(210, 3);
}

/// `clear` stores bucket by bucket. For each item it is still one atomic step.
fn clear_against_lookups<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup
        .thread([insert(x), clear()])
        .thread([maybe(contains(x.swapped())), maybe(contains(x.swapped()))])
        .check(2000, 3);
}

fn clear_against_insert_and_removal<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y] = setup.items([(0, 1), (1, 0)]);
    setup.store(0, &[x, y]).store(1, &[x]);
    setup
        .thread([clear()])
        .thread([insert(x), maybe(contains(x))])
        .thread([maybe(remove(y)), maybe(count(x, 1))])
        .check(16_000, 2);
}

fn clear_against_kick<L: Layout>() {
    let LastSlot { setup, moved, new, .. } = LastSlot::<L>::new(3, 0);
    setup
        .thread([insert(new)])
        .thread([clear(), !contains(moved)])
        .thread([maybe(contains(moved)), maybe(contains(moved))])
        .check(6400, 1);
}

/// `len` takes no lock and may be off by one for each item that is moved meanwhile: one too many if
/// it counts the item in both buckets, one too few if in neither.
fn len_against_a_kick_of_two_hops<L: Layout>() {
    let TwoHops { setup, new, .. } = TwoHops::<L>::new((3, 0), (2, 3));
    let len = does(|t| (3 * L::SLOTS).abs_diff(t.filter().len()) <= 1);
    setup.thread([insert(new)]).thread([len]).check(150, 3);
}

fn batch_of_inserts_against_lookups<L: Layout>() {
    let LastSlot { mut setup, moved, new, .. } = LastSlot::<L>::new(3, 0);
    let last = setup.item(2, 1);
    setup
        .thread([maybe(does(move |t| t.insert_many(&[new, last]) == 2))])
        .thread([maybe(contains(last)), contains(moved)])
        .check(270, 3);
}

/// The items are stored one by one, in order: a thread that sees the second sees the first.
fn batch_of_inserts_in_order<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 1), (2, 3)]);
    setup
        .thread([does(move |t| t.insert_many(&[x, y]) == 2)])
        .thread([does(move |t| !t.contains(y) || t.contains(x))])
        .check(17, 3);
}

/// Each item is new in one of them, as the checker knows. One of the batches names an item twice.
fn two_batches_of_the_same_new_items<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 1), (2, 3)]);
    let batches = [vec![x, y, x], vec![y.swapped(), x.swapped()]];
    let [one, other] =
        batches.map(|batch| does(move |t| t.insert_unique_many(&batch).len() == batch.len()));
    setup.thread([one]).thread([other]).check(650, 3);
}

/// An item that is kicked meanwhile is not new.
fn batch_of_unique_inserts_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(0, 3);
    let batch = does(move |t| t.insert_unique_many(&[moved, filler]) == [false, false]);
    setup.thread([insert(new)]).thread([batch]).check(87, 3);
}

fn batch_of_lookups_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    let batch = does(move |t| {
        let found = t.contains_many(&[moved, new, filler]);
        found[0] && found[2]
    });
    setup.thread([insert(new)]).thread([batch]).check(490, 3);
}

/// An item that is kicked meanwhile is removed all the same.
fn batch_of_removals_against_kick<L: Layout>() {
    let OneHop { setup, moved, new, filler } = OneHop::<L>::new(3, 0);
    let batch = does(move |t| t.remove_many(&[moved, filler, moved]) == [true, true, false]);
    setup.thread([insert(new)]).thread([batch]).check(790, 3);
}

/// The items are removed one by one, in order: a thread that misses the second misses the first.
fn batch_of_removals_in_order<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y] = setup.items([(0, 1), (2, 3)]);
    setup.store(0, &[x]).store(2, &[y]);
    setup
        .thread([does(move |t| t.remove_many(&[x, y]) == [true, true])])
        .thread([does(move |t| t.contains(y) || !t.contains(x))])
        .check(17, 3);
}
