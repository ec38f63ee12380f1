//! Maplets that grow: nothing is lost over all doublings, against the reference.

use coucal::{GrowingLayout, InsertError, Layout, Storage};
use rand::rngs::SmallRng;
use rand::seq::{IndexedRandom, SliceRandom};
use rand::{RngExt, SeedableRng};

use crate::common::prefixes::{self, twins_of};
use crate::common::{LEAST_ROWS, hashes};
use crate::reference::Reference;
use crate::{Maplet, from_the_fewest_rows, growing, largest, widths_that_grow};

of_each_growing_layout!(nothing_is_lost_over_all_doublings);

/// A maplet, what it must hold, and the pairs that were inserted.
struct Checked<'a, St: Storage> {
    maplet: &'a Maplet<St>,
    reference: Reference,
    held: Vec<(u64, u32)>,
    random: SmallRng,
}

impl<St: Storage> Checked<'_, St> {
    fn value(&mut self) -> u32 {
        self.random.random_range(0..=largest(self.maplet.value_bits()))
    }

    fn insert(&mut self, hash: u64, value: u32) {
        match self.reference.insert(self.maplet, hash, value) {
            Ok(()) => self.held.push((hash, value)),
            // Many share few cores.
            Err(error) => assert_eq!(error, InsertError::TooManyCopies, "{:?}", self.maplet),
        }
    }

    fn remove(&mut self, (hash, value): (u64, u32)) {
        assert!(self.maplet.remove_hash(hash, value), "a pair is lost: {:?}", self.maplet);
        assert!(self.reference.remove(hash, value));
    }

    /// All keys have the candidates that they must have; of `others` some may have some.
    fn agrees(&self, others: impl Iterator<Item = u64>) {
        assert_eq!((self.maplet.len(), self.reference.len()), (self.held.len(), self.held.len()));
        for &(hash, value) in &self.held {
            let values = self.reference.agrees_on(self.maplet, hash);
            assert!(values.contains(&value), "a value is missing");
        }
        for hash in others {
            self.reference.agrees_on(self.maplet, hash);
        }
    }

    /// A quarter of the pairs get another value, and a quarter are removed and put back.
    fn replace_and_remove(&mut self) {
        let mut held = std::mem::take(&mut self.held);
        held.shuffle(&mut self.random);
        let quarter = held.len() / 4;
        for (hash, value) in &mut held[..quarter] {
            let new = self.value();
            assert_eq!(self.maplet.replace_hash(*hash, *value, new), Ok(true), "a pair is lost");
            assert!(self.reference.replace(*hash, *value, new));
            *value = new;
        }
        let removed = held.split_off(held.len() - quarter);
        for &pair in &removed {
            self.remove(pair);
        }
        self.held = held;
        for &(hash, value) in &removed {
            self.insert(hash, value);
        }
    }
}

/// Pairs one by one, from the fewest rows to the maximum size, or to 2^15 slots; one in 16 is a further
/// value of a key. At the first size and at each doubling some more twins are inserted, keys that differ in
/// their extra bits alone: one with few of these bits, and its sibling at the next doubling with more. Then
/// all is checked.
fn nothing_is_lost_over_all_doublings<L: GrowingLayout + Layout>() {
    for bits in widths_that_grow::<L>() {
        let most = from_the_fewest_rows::<L>(20_000, bits);
        let maplet = growing::<L>(0, most, bits);
        assert_eq!(maplet.slots(), LEAST_ROWS * L::SLOTS);
        let mut checked = Checked {
            maplet: &maplet,
            reference: Reference::of::<L, _>(&maplet, true),
            held: Vec::new(),
            random: SmallRng::seed_from_u64(bits.into()),
        };
        let twins = twins_of(prefixes::Shape::with_values::<L>(LEAST_ROWS, bits), 100);
        let mut twins = twins.chunks(10);
        let mut siblings: Vec<(u64, u32)> = Vec::new();
        let mut new = hashes(bits.into());
        let mut next_size = maplet.slots();
        loop {
            let is_last = maplet.len() + 30 >= most;
            if is_last {
                maplet.reserve(most - maplet.len()).expect("the maximum capacity");
            }
            if maplet.slots() >= next_size {
                next_size *= 2;
                for (sibling, value) in std::mem::take(&mut siblings) {
                    checked.insert(sibling, value);
                }
                for &[one, other] in twins.next().unwrap_or_default() {
                    let value = checked.value();
                    checked.insert(one, value);
                    siblings.push((other, value));
                }
                checked.replace_and_remove();
                checked.agrees(siblings.iter().map(|&(hash, _)| hash).chain(hashes(11).take(5000)));
            }
            if is_last {
                break;
            }
            let any = checked.held.choose(&mut checked.random).copied();
            // Two values of a key, and no more: as many as its buckets have slots for would let no other in.
            let has_few = |&(hash, _): &(u64, u32)| checked.reference.values(hash).len() < 2;
            let again = any.filter(has_few).filter(|_| checked.random.random_ratio(1, 16));
            let hash = again.map_or_else(|| new.next().expect("endless"), |(hash, _)| hash);
            let value = checked.value();
            checked.insert(hash, value);
        }
        // In another order than that of the inserts.
        let mut held = std::mem::take(&mut checked.held);
        held.shuffle(&mut checked.random);
        for pair in held {
            checked.remove(pair);
        }
        assert!(maplet.is_empty());
    }
}
