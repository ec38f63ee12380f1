//! Of each value, how many slots in use are no items of their own: those that splits and merges have added.
//!
//! **Invariant:** a value is in one of two lists at most; each is in ascending order; and the first has room for all that
//! is in the second.
//!
//! The first entry of some value that is doubled adds a number. In a long list that would move half of all others: so
//! there is a short list for new values, which is merged into the long one when it has the square root of its length.

use core::mem;

use crate::sync::memory::{NoMemory, try_reserve};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The numbers in the first list up to which new values go there.
const FEW: usize = 1 << 10;

/// A value, and a number of slots.
pub(crate) type Counted = (u32, u64);

/// In a filter all slots are of the value 0. Where an entry gets another value, so does one slot of each: so what is
/// counted are slots with a value, less items with it.
#[derive(Default)]
pub(crate) struct DoubledOf {
    sorted: Vec<Counted>,
    new: Vec<Counted>,
}

/// Slots in use that are no items of their own: their number, which lookups of figures read, and those of each value.
/// In a table of fixed size there are none.
pub(super) struct Doubled {
    /// Exact when nobody writes.
    slots: AtomicU64,
    /// Held by whoever splits. It is taken before any stripe.
    of_values: Mutex<DoubledOf>,
}

/// The mutex of those who split, held. RAII guard.
pub(super) struct Splitting<'a> {
    slots: &'a AtomicU64,
    of_values: MutexGuard<'a, DoubledOf>,
}

impl Doubled {
    pub(super) fn new(slots: u64, of_values: DoubledOf) -> Self {
        Self { slots: AtomicU64::new(slots), of_values: Mutex::new(of_values) }
    }

    pub(super) fn slots(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.slots.load(Ordering::Relaxed)
    }

    pub(super) fn lock(&self) -> Splitting<'_> {
        Splitting { slots: &self.slots, of_values: self.of_values.lock() }
    }

    pub(super) fn try_lock(&self) -> Option<Splitting<'_>> {
        let of_values = self.of_values.try_lock()?;
        Some(Splitting { slots: &self.slots, of_values })
    }

    /// 0 while another thread splits: figures wait for nobody.
    pub(super) fn heap_bytes(&self) -> usize {
        self.of_values.try_lock().map_or(0, |of_values| of_values.heap_bytes())
    }
}

impl Splitting<'_> {
    /// The number of values that are counted.
    pub(super) fn len(&self) -> usize {
        self.of_values.len()
    }

    /// Memory to count those of some more values, of so many bits. Called while no stripe is held.
    pub(super) fn reserve(&mut self, values: usize, value_bits: u32) -> Result<(), NoMemory> {
        let missing = (1 << value_bits) - self.len();
        self.of_values.reserve(values.min(missing))
    }

    /// As [`DoubledOf::name`].
    pub(super) fn name(&mut self, values: &[Counted]) {
        self.of_values.name(values);
    }

    /// Those that are not 0, in ascending order of their values.
    pub(super) fn counted(&mut self) -> impl Iterator<Item = Counted> {
        self.of_values.in_order().iter().copied().filter(|&(_, slots)| slots > 0)
    }

    /// Some slots more with this value, or less. There is memory to count them.
    pub(super) fn add(&mut self, value: u32, slots: i64) {
        let of_value = self.of_values.of_value(value);
        *of_value = of_value.wrapping_add_signed(slots);
        self.count(slots.cast_unsigned());
    }

    /// No slot with this value is in use any more. Says how many of those that were are no items of their own.
    pub(super) fn forget(&mut self, value: u32) -> u64 {
        let slots = self.of_values.remove(value);
        self.count(slots.wrapping_neg());
        slots
    }

    /// No more than so many slots are in use. One that a split has added may be removed, or get another value, as a
    /// false positive; the table cannot know it. Says whether it counted more.
    pub(super) fn limit(&mut self, slots: u64) -> bool {
        let mut excess = self.slots.load(Ordering::Relaxed).saturating_sub(slots);
        if excess == 0 {
            return false;
        }
        self.count(excess.wrapping_neg());
        for (_, of_value) in self.of_values.in_order() {
            let less = excess.min(*of_value);
            (*of_value, excess) = (*of_value - less, excess - less);
        }
        true
    }

    /// No slot is in use any more.
    pub(super) fn clear(&mut self) {
        self.of_values.clear();
        self.count(self.slots.load(Ordering::Relaxed).wrapping_neg());
    }

    fn count(&self, slots: u64) {
        // Relaxed: a number that orders nothing.
        self.slots.fetch_add(slots, Ordering::Relaxed);
    }
}

fn search(list: &[Counted], value: u32) -> Result<usize, usize> {
    list.binary_search_by_key(&value, |&(value, _)| value)
}

/// Adds numbers to a list that has room for them, in ascending order of their values, but those of values that are there.
fn merge(list: &mut Vec<Counted>, more: impl DoubleEndedIterator<Item = Counted> + Clone) {
    let is_missing = |&(value, _): &Counted| search(list, value).is_err();
    let (mut old, mut missing) = (list.len(), more.clone().filter(is_missing).count());
    list.resize(old + missing, (0, 0));
    // From the end: what is there makes room for what comes before it.
    for (value, slots) in more.rev() {
        while missing > 0 && old > 0 && list[old - 1].0 > value {
            old -= 1;
            list[old + missing] = list[old];
        }
        if missing > 0 && (old == 0 || list[old - 1].0 < value) {
            missing -= 1;
            list[old + missing] = (value, slots);
        }
    }
}

impl DoubledOf {
    /// That of these numbers, in ascending order of their values.
    pub(crate) fn of(sorted: Vec<Counted>) -> Self {
        Self { sorted, new: Vec::new() }
    }

    /// The number of values.
    pub(super) fn len(&self) -> usize {
        self.sorted.len() + self.new.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        (self.sorted.capacity() + self.new.capacity()) * size_of::<Counted>()
    }

    /// Memory for some more values.
    pub(super) fn reserve(&mut self, values: usize) -> Result<(), NoMemory> {
        let all = self.new.len() + values;
        let reserve = |list: &mut Vec<Counted>, more: usize| {
            let has_room = list.capacity() - list.len() >= more;
            if has_room { Ok(()) } else { try_reserve(list, more.max(list.len())) }
        };
        reserve(&mut self.sorted, all)?;
        let are_few = self.new.is_empty() && self.sorted.len() + values <= FEW;
        if are_few { Ok(()) } else { reserve(&mut self.new, values) }
    }

    /// The number of this value, which is 0 if it was not there. There is memory for it.
    pub(super) fn of_value(&mut self, value: u32) -> &mut u64 {
        if self.new.len().pow(2) > self.sorted.len() {
            self.in_order();
        }
        let are_few = self.new.is_empty() && self.sorted.len() < FEW;
        let is_old = are_few || search(&self.sorted, value).is_ok();
        let list = if is_old { &mut self.sorted } else { &mut self.new };
        let at = search(list, value).unwrap_or_else(|at| {
            list.insert(at, (value, 0));
            at
        });
        &mut list[at].1
    }

    /// Counts slots with these values, which are in ascending order, from now on: none yet. There is memory for them.
    pub(super) fn name(&mut self, values: &[Counted]) {
        if let [(value, _)] = values {
            self.of_value(*value);
            return;
        }
        self.in_order();
        merge(&mut self.sorted, values.iter().map(|&(value, _)| (value, 0)));
    }

    /// All numbers, in ascending order of their values.
    pub(super) fn in_order(&mut self) -> &mut [Counted] {
        let mut new = mem::take(&mut self.new);
        merge(&mut self.sorted, new.iter().copied());
        new.clear();
        self.new = new;
        &mut self.sorted
    }

    /// Takes the number of a value out.
    pub(super) fn remove(&mut self, value: u32) -> u64 {
        let lists = [&mut self.sorted, &mut self.new].into_iter();
        lists.filter_map(|list| search(list, value).ok().map(|at| list.remove(at).1)).sum()
    }

    pub(super) fn clear(&mut self) {
        self.sorted.clear();
        self.new.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use rand::RngExt;

    use super::*;

    #[test]
    fn as_a_map() {
        let mut random = crate::random::random(1);
        for values in [1, 10, 1 << 13, 1 << 16] {
            let (mut doubled_of, mut map) = (DoubledOf::default(), BTreeMap::new());
            for step in 0..20_000 {
                let value = random.random_range(0..values);
                match step % 1000 {
                    0 => {
                        let numbers: Vec<_> =
                            map.iter().map(|(&value, &slots)| (value, slots)).collect();
                        assert_eq!(doubled_of.in_order(), numbers);
                    }
                    500 => {
                        let mut more: Vec<u32> =
                            (0..500).map(|_| random.random_range(0..values)).collect();
                        more.sort_unstable();
                        more.dedup();
                        let more: Vec<_> = more.into_iter().map(|value| (value, 7)).collect();
                        doubled_of.reserve(more.len()).unwrap();
                        doubled_of.name(&more);
                        for (value, _) in more {
                            map.entry(value).or_insert(0);
                        }
                    }
                    1..100 => assert_eq!(doubled_of.remove(value), map.remove(&value).unwrap_or(0)),
                    _ => {
                        doubled_of.reserve(1).unwrap();
                        let bytes = doubled_of.heap_bytes();
                        *doubled_of.of_value(value) += step;
                        assert_eq!(doubled_of.heap_bytes(), bytes);
                        *map.entry(value).or_insert(0) += step;
                        let before = doubled_of.new.len().saturating_sub(1);
                        assert!(before.pow(2) <= doubled_of.sorted.len(), "{before} are new");
                    }
                }
                assert_eq!(doubled_of.len(), map.len());
            }
            doubled_of.clear();
            assert_eq!((doubled_of.len(), doubled_of.remove(0)), (0, 0));
        }
    }
}
