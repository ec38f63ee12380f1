//! No item is lost over all doublings.

use coucal_reference::Modelled;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};

use super::twins;
use crate::common::{
    Item, Kind, LEAST_BUCKETS, Layout, default_layout, hashes, random, usually, widths,
};

of_each_growing_layout! {
    filters
    maplets
}

/// Inserts items one by one up to the maximum capacity, and compares with exact entries; one item in 16 is there
/// already. At the first size and at every doubling, more twins are inserted. Twins differ in few bits of their
/// positions: first comes one that knows few of them and, at the next doubling, its sibling that knows more. Then
/// everything is checked, values are replaced, half of the items are removed and inserted again, and one item is
/// inserted as often as possible.
///
/// Returns the number of entries of those absent items that were looked up.
fn nothing_is_lost(kind: Kind, first: usize, most: usize, twins: &[[u64; 2]]) -> usize {
    let subject = kind.build(first, most);
    let first = subject.slots();
    let (mut random, mut new) = (random(first as u64), hashes(first as u64));
    let mut modelled = Modelled::new(subject);
    let mut held: Vec<Item> = Vec::new();
    let (mut next_size, mut false_entries) = (first, 0);
    let mut twins = twins.chunks(10);
    let mut siblings: Vec<Item> = Vec::new();
    // Copies of one item, which need room, too.
    let copies = 2 * kind.layout.slots + 30;
    loop {
        let is_last = held.len() + copies + 10 + 2 * kind.layout.slots >= most;
        if is_last {
            assert_eq!(modelled.subject().reserve(most - held.len()), Ok(()));
        }
        if modelled.subject().slots() >= next_size {
            next_size *= 2;
            let mut more = std::mem::take(&mut siblings);
            for &[one, other] in twins.next().unwrap_or_default() {
                let value = random.random_range(0..=kind.top());
                more.push((one, value));
                siblings.push((other, value));
            }
            insert_all(&mut modelled, &mut held, &more);
            held.shuffle(&mut random);
            // In a maplet, a quarter of the items get another value.
            let replaced = if kind.value_bits > 0 { held.len() / 4 } else { 0 };
            for item in &mut held[..replaced] {
                let value = random.random_range(0..=kind.top());
                modelled.replace(*item, value);
                item.1 = value;
            }
            held.shuffle(&mut random);
            let removed = held.split_off(held.len() / 2);
            remove_all(&mut modelled, &removed);
            insert_all(&mut modelled, &mut held, &removed);
            more_copies_than_two_buckets_hold(&mut modelled, &held, copies, &mut new);
            modelled.check();
            let rate = modelled.subject().false_positive_rate();
            let lookups = (20.0 / rate).min(usually(3e3, 5e5)) as usize;
            let absent = siblings.iter().map(|&(hash, _)| hash).chain(hashes(11).take(lookups));
            false_entries += absent.map(|hash| modelled.look(hash)).sum::<usize>();
        }
        if is_last {
            break;
        }
        // At most two copies of an item: as many as two buckets have slots would let no other item in.
        let again = random.random_ratio(1, 16).then(|| held.choose(&mut random)).flatten();
        let again = again.map(|&(hash, _)| hash);
        let again = again.filter(|&hash| modelled.model().values(hash).len() == 1);
        let hash = again.unwrap_or_else(|| new.next().expect("endless"));
        let item = (hash, random.random_range(0..=kind.top()));
        insert_all(&mut modelled, &mut held, &[item]);
        assert!(modelled.subject().contains(hash), "an item is lost");
    }
    // In another order than that of the inserts.
    held.shuffle(&mut random);
    remove_all(&mut modelled, &held);
    assert!(modelled.subject().is_empty());
    false_entries
}

/// Inserts items, which is never refused below the maximum.
fn insert_all(modelled: &mut Modelled, held: &mut Vec<Item>, items: &[Item]) {
    for &item in items {
        assert_eq!(modelled.insert(item), Ok(()));
        held.push(item);
    }
}

fn remove_all(modelled: &mut Modelled, items: &[Item]) {
    for &item in items {
        assert!(modelled.remove(item), "an item is lost");
    }
}

/// Inserts many copies of one item, and removes them again.
fn more_copies_than_two_buckets_hold(
    modelled: &mut Modelled,
    held: &[Item],
    copies: usize,
    new: &mut impl Iterator<Item = u64>,
) {
    // An item that shares both its buckets with no other: another item in the same two buckets could not make way.
    let (geometry, slots) = (modelled.model().geometry(), modelled.subject().slots());
    let buckets = |hash| geometry.buckets(hash, slots);
    let is_alone = |&item: &u64| held.iter().all(|&(hash, _)| buckets(hash) != buckets(item));
    let item = (new.take(1000).find(is_alone).expect("two buckets of no item"), 0);
    let copies = vec![item; copies];
    insert_all(modelled, &mut Vec::new(), &copies);
    assert!(modelled.subject().stashed().1 >= 30);
    remove_all(modelled, &copies);
}

/// Grows from the smallest table to the largest without doubled entries that has at most `most` items.
fn from_the_smallest(layout: Layout, most: usize, value_bits: u32) -> usize {
    let kind = Kind { layout, grows: true, value_bits };
    let most = kind.greatest_exact(1, most);
    assert_eq!(kind.build(1, most).slots(), LEAST_BUCKETS * layout.slots);
    nothing_is_lost(kind, 1, most, &twins(layout, value_bits, 60))
}

/// To 2^14 slots; in a long run to 2^20.
fn filters(layout: Layout) {
    let slots = usually(1 << 14, 1 << 20);
    let found = from_the_smallest(layout, (f64::from(slots) * layout.target()) as usize, 0);
    // At the first size, each of ten siblings is taken for its twin.
    assert!(found >= 10, "{found}");
}

/// The same for each length of values.
fn maplets(layout: Layout) {
    for bits in widths(layout.longest_values()) {
        from_the_smallest(layout, usually(4000, 20_000), bits);
    }
}

/// Grows from a larger table.
#[test]
fn a_filter_from_2_11_slots_on() {
    let (layout, most) = (default_layout(), usually(14, 19));
    let [first, most] =
        [11, most].map(|bits| (f64::from(1 << bits) * (layout.target() - 0.04)) as usize);
    assert!(layout.growing(first, most).slots() <= 1 << 11);
    nothing_is_lost(Kind { layout, grows: true, value_bits: 0 }, first, most, &[]);
}
