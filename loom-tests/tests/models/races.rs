//! Writers against writers: the last slot, crossing paths, equal fingerprints, full tables.

use coucal::Layout;
use loom_tests::model::*;

use crate::{LastSlot, OneHop, by_slots, fewer_if_wide, one_item};

models! {
    two_inserts_for_the_last_slot
    insert_and_kick_for_the_last_slot
    two_kicks_for_the_last_slot
    two_kicks_for_two_slots
    two_hops_into_a_bucket_that_others_use
    crossing_paths
    removal_of_what_is_kicked_in_its_direction = removal_of_what_is_kicked(0, 3)
    removal_of_what_is_kicked_the_other_way = removal_of_what_is_kicked(3, 0)
    removal_beside_a_kick
    two_removals_of_one_copy
    three_removals_of_two_copies
    copy_in_and_copy_out_against_lookup
    copy_in_counted_and_copy_out_against_lookup
    insert_removal_and_lookup_of_one_item
    two_writers_of_one_item_against_lookup
    one_copy_too_many_against_removal
    slot_freed_during_a_search
    slot_freed_deeper_in_a_search
    failed_insert_against_everything
    failed_insert_against_kick
}

/// One of the two must get it, and not both, as the checker knows.
fn two_inserts_for_the_last_slot<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y, filler] = setup.items([(0, 1), (1, 0), (0, 1)]);
    setup.fill(0, filler).fill_but_one(1, filler);
    setup.by_every_schedule().thread([maybe(insert(x))]).thread([maybe(insert(y))]).check(51, 3);
}

/// One of them has to kick for it.
fn insert_and_kick_for_the_last_slot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [kicks, low] = setup.items([(0, 1); 2]);
    let [moved, direct, high] = setup.items([(3, 0); 3]);
    setup.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high);
    let floor = by_slots::<L>([150, 570, 2200, 18_000, 38_000, 600, 800]);
    setup
        .thread([maybe(insert(kicks))])
        .thread([maybe(insert(direct))])
        .check(floor, fewer_if_wide::<L>(2));
}

/// Both have to kick, out of the two buckets that they share, and they move different items.
fn two_kicks_for_the_last_slot<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y, low] = setup.items([(0, 1), (1, 0), (0, 1)]);
    let [left, right, high] = setup.items([(0, 3), (2, 1), (2, 3)]);
    setup.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    setup.fill(2, high).fill_but_one(3, high);
    let floor = by_slots::<L>([350, 700, 1000, 1500, 2300, 230, 290]);
    setup.thread([maybe(insert(x))]).thread([maybe(insert(y))]).check(floor, fewer_if_wide::<L>(2));
}

/// There is room for both after one hop each, and each may find its path stale.
fn two_kicks_for_two_slots<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, y, low] = setup.items([(0, 1), (1, 0), (0, 1)]);
    let [left, right, high] = setup.items([(0, 3), (2, 1), (2, 3)]);
    setup.store(0, &[left]).fill(0, low).store(1, &[right]).fill(1, low);
    setup.fill_but_one(2, high).fill_but_one(3, high);
    setup.thread([insert(x)]).thread([insert(y)]).thread([contains(left)]).check(3600, 2);
}

/// The middle hop of a path moves an item from bucket 3 to bucket 2. Another thread writes to both at
/// the same time.
fn two_hops_into_a_bucket_that_others_use<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [new, low] = setup.items([(0, 1); 2]);
    let [near, guest] = setup.items([(3, 0), (2, 1)]);
    let [far, high] = setup.items([(3, 2), (3, 0)]);
    setup.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high);
    setup.thread([insert(new)]).thread([insert(guest), remove(high)]).check(270, 2);
}

/// A path from 0 to 3 and one from 3 to 0 at the same time: when one thread has found its path, the
/// other fills bucket 3, frees a slot of 0 and kicks the other way. There is no deadlock, and nothing
/// is lost.
fn crossing_paths<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [x, gap, low] = setup.items([(0, 1); 3]);
    let [y, high] = setup.items([(2, 3); 2]);
    let [down, up, plug, mid] = setup.items([(3, 0); 4]);
    setup.store(0, &[down, gap]).fill(0, low).fill(1, low);
    setup.fill(2, high).store(3, &[up]).fill_but_one(3, mid);
    let floor = by_slots::<L>([570, 2000, 6200, 16_000, 35_000, 65_000, 95_000]);
    setup
        .thread([maybe(insert(x))])
        .thread([maybe(insert(plug)), remove(gap), maybe(insert(y))])
        .check(floor, 1);
}

/// The removal finds the item in one bucket, and it is moved to the other: the removal must try
/// again.
fn removal_of_what_is_kicked<L: Layout>(first: usize, second: usize) {
    let OneHop { setup, moved, new, .. } = OneHop::<L>::new(first, second);
    setup.thread([insert(new)]).thread([remove(moved), !remove(moved)]).check(310, 3);
}

/// Another item is removed from the bucket that a kick fills.
fn removal_beside_a_kick<L: Layout>() {
    let LastSlot { setup, moved, new, high, .. } = LastSlot::<L>::new(0, 3);
    let high = high.swapped();
    setup
        .by_every_schedule()
        .thread([insert(new)])
        .thread([remove(high), contains(moved)])
        .check(120, 2);
}

fn two_removals_of_one_copy<L: Layout>() {
    let (setup, x) = one_item::<L>(&[1]);
    setup
        .by_every_schedule()
        .thread([maybe(remove(x))])
        .thread([maybe(remove(x.swapped()))])
        .check(40, 3);
}

/// Each looks first at the bucket that the next one looks at second.
fn three_removals_of_two_copies<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0, 1]);
    setup
        .thread([maybe(remove(x))])
        .thread([maybe(remove(x.swapped()))])
        .thread([maybe(remove(x))])
        .check(12_000, 2);
}

/// The duplicate rule: a copy is stored in one bucket, then one is removed from the other. The lookup
/// reads the two buckets in the opposite order.
fn copy_in_and_copy_out_against_lookup<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup
        .by_every_schedule()
        .thread([insert(x), remove(x)])
        .thread([contains(x.swapped())])
        .check(180, 3);
}

/// A removal looks at the other bucket, and clears its own; in between a copy is put into that other
/// bucket and both are counted. There always was one, so the lookup must find it.
fn copy_in_counted_and_copy_out_against_lookup<L: Layout>() {
    let (setup, x) = one_item::<L>(&[1]);
    setup
        .thread([remove(x)])
        .thread([insert(x), maybe(count(x, 1))])
        .thread([maybe(contains(x))])
        .check(5200, 2);
}

fn insert_removal_and_lookup_of_one_item<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup
        .thread([insert(x)])
        .thread([remove(x)])
        .thread([maybe(contains(x.swapped())), maybe(contains(x.swapped()))])
        .check(5200, 2);
}

/// Two inserts and two removals of one item, in which the copies change places.
fn two_writers_of_one_item_against_lookup<L: Layout>() {
    let (setup, x) = one_item::<L>(&[0]);
    setup
        .thread([insert(x), remove(x)])
        .thread([insert(x.swapped()), remove(x.swapped())])
        .thread([contains(x.swapped())])
        .check(85_000, 2);
}

/// One copy more than two buckets hold, unless the removal comes first.
fn one_copy_too_many_against_removal<L: Layout>() {
    let (mut setup, x) = one_item::<L>(&[]);
    setup.fill(0, x).fill(1, x);
    setup.thread([maybe(insert(x))]).thread([remove(x)]).check(200, 3);
}

/// The item that a kick would move is removed after the search for a path has begun. There is room at
/// any time: first behind that item, then in its place.
fn slot_freed_during_a_search<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [new, low] = setup.items([(0, 1); 2]);
    let [moved, high, rest] = setup.items([(0, 3), (3, 0), (1, 2)]);
    setup.store(0, &[moved]).fill(0, low).fill_but_one(3, high);
    setup.fill(1, rest).fill(2, rest);
    setup.thread([insert(new)]).thread([remove(moved)]).check(52, 2);
}

/// The same one hop further away.
fn slot_freed_deeper_in_a_search<L: Layout>() {
    let mut setup = Setup::<L>::new(6);
    let [new, near, mid] = setup.items([(0, 1), (0, 3), (3, 0)]);
    let [rest, far] = setup.items([(1, 2), (3, 4)]);
    setup.fill(0, near).store(3, &[far]).fill(3, mid);
    setup.fill(1, rest).fill(2, rest);
    // There is a path at any time.
    let is_not_stashed = does(|t| t.stashed() == 0);
    setup.thread([insert(new), is_not_stashed]).thread([remove(far)]).check(240, 2);
}

/// An insert that finds no room changes nothing that other threads see.
fn failed_insert_against_everything<L: Layout>() {
    let mut setup = Setup::<L>::new(2);
    let [x, y, outsider, new] = setup.items([(0, 1), (1, 0), (0, 1), (1, 0)]);
    setup.store(0, &[y]).fill(0, x).store(1, &[x]).fill(1, y);
    let floor = by_slots::<L>([2000, 4500, 9000, 20_000, 35_000, 65_000, 105_000]);
    setup
        .thread([maybe(insert(outsider))])
        .thread([remove(x), maybe(insert(new))])
        .thread([contains(y), contains(x)])
        .check(floor, 1);
}

/// The same while a kick takes the last slot.
fn failed_insert_against_kick<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [kicks, outsider, low] = setup.items([(0, 1), (1, 0), (0, 1)]);
    let [moved, high] = setup.items([(3, 0); 2]);
    setup.store(0, &[moved]).fill(0, low).fill(1, low).fill_but_one(3, high);
    let floor = by_slots::<L>([1500, 2500, 4000, 5500, 7500, 10_000, 23_000]);
    setup
        .thread([maybe(insert(outsider))])
        .thread([maybe(insert(kicks))])
        .thread([contains(moved)])
        .check(floor, 1);
}
