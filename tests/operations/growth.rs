//! Nothing is lost over all doublings.

use coucal_reference::Modelled;
use rand::RngExt;
use rand::seq::{IndexedRandom, SliceRandom};

use super::twins;
use crate::common::{
    Item, Kind, LEAST_BUCKETS, Layout, Random, Subject, default_layout, hashes, random, usually,
    widths,
};

of_each_growing_layout! {
    filters
    maplets
}

/// A filter or a maplet beside its model, and the items that it must hold.
struct Checked {
    modelled: Modelled,
    kind: Kind,
    held: Vec<Item>,
    random: Random,
}

impl Checked {
    fn subject(&self) -> &dyn Subject {
        self.modelled.subject()
    }

    fn value(&mut self) -> u32 {
        self.random.random_range(0..=self.kind.top())
    }

    /// Inserts, which is never refused below the maximum.
    fn insert(&mut self, item: Item) {
        assert_eq!(self.modelled.insert(item), Ok(()));
        self.held.push(item);
    }

    /// All items are found, by as many entries as must match them; others by as many as do.
    fn agrees(&self, others: impl Iterator<Item = u64>) -> usize {
        assert_eq!(self.subject().len(), self.held.len());
        for &(hash, value) in &self.held {
            assert!(self.modelled.look(hash) > 0, "an item is lost");
            assert!(self.modelled.model().values(hash).contains(&value));
        }
        self.modelled.check();
        others.map(|hash| self.modelled.look(hash)).sum()
    }

    /// Of a maplet, a quarter of the items get another value.
    fn replace_some(&mut self) {
        if self.kind.value_bits == 0 {
            return;
        }
        self.held.shuffle(&mut self.random);
        for at in 0..self.held.len() / 4 {
            let (item, new) = (self.held[at], self.value());
            self.modelled.replace(item, new);
            self.held[at].1 = new;
        }
    }

    /// Half of the items are removed and put back.
    fn remove_half_and_put_it_back(&mut self) {
        self.held.shuffle(&mut self.random);
        let removed = self.held.split_off(self.held.len() / 2);
        for &item in &removed {
            assert!(self.modelled.remove(item), "an item is lost");
        }
        for &(hash, _) in self.held.iter().chain(&removed) {
            self.modelled.look(hash);
        }
        for item in removed {
            self.insert(item);
        }
    }

    /// One item, more often than two buckets have slots.
    fn more_copies_than_two_buckets_hold(&mut self, new: &mut impl Iterator<Item = u64>) {
        // None that shares both its buckets with another: that one could not make way.
        let (geometry, slots) = (self.modelled.model().geometry(), self.subject().slots());
        let buckets = |hash| geometry.buckets(hash, slots);
        let is_alone =
            |&item: &u64| self.held.iter().all(|&(hash, _)| buckets(hash) != buckets(item));
        let item = (new.take(1000).find(is_alone).expect("two buckets of no item"), 0);
        let copies = 2 * self.kind.layout.slots + 30;
        for _ in 0..copies {
            self.insert(item);
        }
        assert!(self.subject().stashed().1 >= 30);
        self.held.truncate(self.held.len() - copies);
        for _ in 0..copies {
            assert!(self.modelled.remove(item));
        }
    }
}

/// Items one by one up to the greatest capacity, against exact entries; one in 16 is there already. At the first size
/// and at every doubling some more twins are inserted, which differ in few bits of their positions: one that knows few
/// of them and, at the next doubling, its sibling that knows more. Then all is checked, values are replaced, half of
/// the items are removed and put back, and one is inserted as often as it can be.
///
/// Says how many entries the absent items had that were looked up.
fn nothing_is_lost(kind: Kind, first: usize, most: usize, twins: &[[u64; 2]]) -> usize {
    let Kind { layout, .. } = kind;
    let subject = kind.build(first, most);
    let first = subject.slots();
    let random = random(first as u64);
    let mut checked = Checked { modelled: Modelled::new(subject), kind, held: Vec::new(), random };
    let mut new = hashes(first as u64);
    let (mut next_size, mut false_entries) = (first, 0);
    let mut twins = twins.chunks(10);
    let mut siblings: Vec<Item> = Vec::new();
    loop {
        // With room for some more, of one item.
        let is_last = checked.held.len() + 40 + 4 * layout.slots >= most;
        if is_last {
            let subject = checked.subject();
            assert_eq!(subject.reserve(most - subject.len()), Ok(()));
        }
        if checked.subject().slots() >= next_size {
            next_size *= 2;
            for sibling in std::mem::take(&mut siblings) {
                checked.insert(sibling);
            }
            for &[one, other] in twins.next().unwrap_or_default() {
                let value = checked.value();
                checked.insert((one, value));
                siblings.push((other, value));
            }
            checked.replace_some();
            checked.remove_half_and_put_it_back();
            checked.more_copies_than_two_buckets_hold(&mut new);
            let subject = checked.subject();
            let lookups = (20.0 / subject.false_positive_rate()).min(usually(3e3, 5e5)) as usize;
            let absent = siblings.iter().map(|&(hash, _)| hash);
            false_entries += checked.agrees(absent.chain(hashes(11).take(lookups)));
        }
        if is_last {
            break;
        }
        let any = checked.held.choose(&mut checked.random).copied();
        // Two of an item, and no more: as many as two buckets have slots would let no other item in.
        let has_few = |&(hash, _): &Item| checked.modelled.model().values(hash).len() == 1;
        let again = any.filter(has_few).filter(|_| checked.random.random_ratio(1, 16));
        let hash = again.map_or_else(|| new.next().expect("endless"), |(hash, _)| hash);
        let value = checked.value();
        checked.insert((hash, value));
        assert!(checked.subject().contains(hash), "an item is lost");
        let &(any, _) = checked.held.choose(&mut checked.random).expect("an item");
        assert!(checked.subject().contains(any), "a settled item is lost");
    }
    println!("{kind:?}: {false_entries} entries of absent items in {:?}", checked.subject());
    // In another order than that of the inserts.
    checked.held.shuffle(&mut checked.random);
    for item in std::mem::take(&mut checked.held) {
        assert!(checked.modelled.remove(item), "an item is lost");
    }
    assert!(checked.subject().is_empty());
    false_entries
}

/// From the smallest table to the largest without doubled entries that has so many items, or fewer.
fn from_the_smallest(layout: Layout, most: usize, value_bits: u32) -> usize {
    let kind = Kind { layout, grows: true, value_bits };
    let most = kind.greatest_exact(1, most);
    assert_eq!(kind.build(1, most).slots(), LEAST_BUCKETS * layout.slots);
    nothing_is_lost(kind, 1, most, &twins(layout, value_bits, 60))
}

/// To 2^14 slots; on a long run to 2^20.
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

/// From a larger table.
#[test]
fn a_filter_from_2_11_slots_on() {
    let (layout, most) = (default_layout(), usually(14, 19));
    let [first, most] =
        [11, most].map(|bits| (f64::from(1 << bits) * (layout.target() - 0.04)) as usize);
    assert!(layout.growing(first, most).slots() <= 1 << 11);
    nothing_is_lost(Kind { layout, grows: true, value_bits: 0 }, first, most, &[]);
}
