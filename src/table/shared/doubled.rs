//! Doubled entries: the entries that splits and merges have added, and that are not items of their own. They are
//! counted for each value and in all.
//!
//! There are two numbers. The number of *copies* gives the number of items: all copies, in slots and in the stash, less
//! the doubled copies. The number of *entries* (slots in use and entries of the stash, each counted once) says how full
//! the table is, and whether it goes on growing. A split adds one to both. A merge may add a million copies to one
//! entry.
//!
//! The number of copies is exact if only items are removed that were inserted. The number of entries is an estimate: a
//! merge adds to it according to where its entries found room, and the table does not count which of these entries are
//! removed again.
//!
//! **Invariant:** a value is in one of two lists at most. Each list is in ascending order. The first list has room for
//! all values of the second. No value has more entries than copies.
//!
//! The first doubled entry of a value adds an element to a list. In a long list that would move half of the elements.
//! So there is a short list for new values. It is merged into the long one when its length is more than the square root
//! of the length of the long one.

use core::mem;
use core::ops::{AddAssign, SubAssign};

use crate::sync::memory::{NoMemory, TryBox, try_reserve};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The length of the first list up to which new values go there.
const FEW: usize = 1 << 10;

#[cfg(test)]
std::thread_local! {
    /// How often this thread has waited for the growth mutex.
    pub(in crate::table) static LOCKED: core::cell::Cell<usize> = const { core::cell::Cell::new(0) };
}

/// Numbers of entries and of their copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slots in use, and the copies of each entry in the stash.
    pub(crate) copies: u64,
    /// Slots in use, and entries in the stash.
    pub(crate) entries: u64,
}

impl Counts {
    /// Returns the counts of slots in use, or of entries with one copy each.
    pub(crate) fn of_slots(slots: u64) -> Self {
        Self { copies: slots, entries: slots }
    }

    pub(crate) fn min(self, other: Self) -> Self {
        let (copies, entries) = (self.copies.min(other.copies), self.entries.min(other.entries));
        Self { copies, entries }
    }

    pub(crate) fn max(self, other: Self) -> Self {
        let (copies, entries) = (self.copies.max(other.copies), self.entries.max(other.entries));
        Self { copies, entries }
    }

    /// Subtracts each number of `other`, saturating at 0.
    pub(crate) fn beyond(self, other: Self) -> Self {
        let copies = self.copies.saturating_sub(other.copies);
        Self { copies, entries: self.entries.saturating_sub(other.entries) }
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, more: Self) {
        self.copies += more.copies;
        self.entries += more.entries;
    }
}

impl SubAssign for Counts {
    fn sub_assign(&mut self, less: Self) {
        self.copies -= less.copies;
        self.entries -= less.entries;
    }
}

/// A value, and the counts of its doubled entries.
pub(crate) type Counted = (u32, Counts);

/// The counts of doubled entries for each value; in a filter all entries have the value 0. When an item gets another
/// value, one copy gets that value, too. So the number of doubled copies of a value is always the number of copies with
/// this value, minus the number of items with it.
#[derive(Default)]
pub(crate) struct DoubledOf {
    sorted: Vec<Counted>,
    new: Vec<Counted>,
}

/// The doubled entries of a table. A table of fixed size has none, and allocates nothing for them.
///
/// In a box of its own: the cache line of [`Shared`](super::Shared) is full.
pub(in crate::table) struct Doubled(Option<TryBox<Numbers>>);

struct Numbers {
    /// The sums over all values, for figures: exact when no thread writes, and stored while the mutex is held.
    copies: AtomicU64,
    entries: AtomicU64,
    /// The growth mutex, which is held by the thread that splits. It is taken before any stripe.
    of_values: Mutex<DoubledOf>,
}

/// The growth mutex, held. RAII guard. A table of fixed size has no such mutex, and nothing to count.
pub(in crate::table) struct Splitting<'a>(Option<(&'a Numbers, MutexGuard<'a, DoubledOf>)>);

impl Doubled {
    /// Allocates these counts for a table that grows; allocates nothing for one of fixed size.
    pub(in crate::table) fn try_new(grows: bool, of_values: DoubledOf) -> Result<Self, NoMemory> {
        if !grows {
            return Ok(Self(None));
        }
        let Counts { copies, entries } = sum(&of_values.sorted);
        let (copies, entries) = (AtomicU64::new(copies), AtomicU64::new(entries));
        TryBox::try_new(Numbers { copies, entries, of_values: Mutex::new(of_values) })
            .map(|numbers| Self(Some(numbers)))
    }

    /// Returns the counts of all values together.
    pub(in crate::table) fn all(&self) -> Counts {
        self.0.as_deref().map_or(Counts::default(), Numbers::all)
    }

    pub(in crate::table) fn lock(&self) -> Splitting<'_> {
        #[cfg(test)]
        LOCKED.set(LOCKED.get() + 1);
        Splitting(self.0.as_deref().map(|numbers| (numbers, numbers.of_values.lock())))
    }

    pub(in crate::table) fn try_lock(&self) -> Option<Splitting<'_>> {
        let Some(numbers) = self.0.as_deref() else {
            return Some(Splitting(None));
        };
        let of_values = numbers.of_values.try_lock()?;
        Some(Splitting(Some((numbers, of_values))))
    }

    /// Returns the bytes on the heap, without the lists while another thread splits: figures do not wait.
    pub(in crate::table) fn heap_bytes(&self) -> usize {
        let of_lists = |numbers: &Numbers| {
            numbers.of_values.try_lock().map_or(0, |of_values| of_values.heap_bytes())
        };
        self.0.as_deref().map_or(0, |numbers| size_of_val(numbers) + of_lists(numbers))
    }

    /// Returns the bytes on the heap while no value is counted.
    pub(in crate::table) fn bytes_for(grows: bool) -> usize {
        if grows { size_of::<Numbers>() } else { 0 }
    }
}

impl Numbers {
    fn all(&self) -> Counts {
        // Relaxed, here and below: numbers that order nothing.
        let [copies, entries] =
            [&self.copies, &self.entries].map(|number| number.load(Ordering::Relaxed));
        Counts { copies, entries }
    }

    /// Stores the sums. The caller holds the mutex.
    fn store(&self, Counts { copies, entries }: Counts) {
        self.copies.store(copies, Ordering::Relaxed);
        self.entries.store(entries, Ordering::Relaxed);
    }
}

impl Splitting<'_> {
    /// Returns the number of values that are counted.
    pub(in crate::table) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, of_values)| of_values.len())
    }

    /// Returns the counts of all values together.
    pub(in crate::table) fn all(&self) -> Counts {
        self.0.as_ref().map_or(Counts::default(), |(numbers, _)| numbers.all())
    }

    /// Allocates memory to count `values` more values, of `value_bits` bits each. Called while no stripe is held.
    pub(in crate::table) fn reserve(
        &mut self,
        values: usize,
        value_bits: u32,
    ) -> Result<(), NoMemory> {
        let missing = (1 << value_bits) - self.len();
        let of_values = self.0.as_mut().map(|(_, of_values)| of_values);
        of_values.map_or(Ok(()), |of_values| of_values.reserve(values.min(missing)))
    }

    /// Adds values, as [`DoubledOf::name`] does.
    pub(in crate::table) fn name(&mut self, values: &[Counted]) {
        if let Some((_, of_values)) = &mut self.0 {
            of_values.name(values);
        }
    }

    /// Returns the values that have doubled copies, with their counts, in ascending order.
    pub(in crate::table) fn counted(&mut self) -> impl Iterator<Item = Counted> {
        let lists = self.0.as_mut().map(|(_, of_values)| of_values.in_order());
        lists.into_iter().flatten().map(|&mut counted| counted).filter(|(_, of)| of.copies > 0)
    }

    /// Adds to the counts of this value. There is memory to count it.
    pub(in crate::table) fn add(&mut self, value: u32, more: Counts) {
        self.change(|of_values, all| {
            *of_values.of_value(value) += more;
            *all += more;
        });
    }

    /// Subtracts from the counts of this value, but no more than is counted.
    pub(in crate::table) fn subtract(&mut self, value: u32, less: Counts) {
        self.change(|of_values, all| {
            if let Some(of_value) = of_values.counted(value) {
                take(of_value, less, all);
            }
        });
    }

    /// Gives the doubled entries of each value the value that `changed` returns, or forgets them if it returns `None`.
    /// Returns the counts that were forgotten.
    pub(in crate::table) fn change_values(
        &mut self,
        changed: impl Fn(u32) -> Option<u32>,
    ) -> Counts {
        self.change(|of_values, all| {
            let forgotten = of_values.change_values(changed);
            *all -= forgotten;
            forgotten
        })
    }

    /// Limits the counts to `most`, the entries and copies that the table has. Returns whether more was counted: as a
    /// false positive, a doubled entry may be removed or get another value, and the table cannot know it.
    pub(in crate::table) fn limit(&mut self, most: Counts) -> bool {
        let excess = self.all().beyond(most);
        if excess == Counts::default() {
            return false;
        }
        self.change(|of_values, all| {
            for (_, of_value) in of_values.in_order() {
                take(of_value, all.beyond(most), all);
            }
        });
        true
    }

    /// Sets all counts to 0: no slot is in use any more.
    pub(in crate::table) fn clear(&mut self) {
        self.change(|of_values, all| {
            of_values.clear();
            *all = Counts::default();
        });
    }

    /// Changes the counts of values, and their sum with them.
    fn change<R: Default>(&mut self, change: impl FnOnce(&mut DoubledOf, &mut Counts) -> R) -> R {
        let Some((numbers, of_values)) = &mut self.0 else {
            return R::default();
        };
        let mut all = numbers.all();
        let changed = change(of_values, &mut all);
        numbers.store(all);
        changed
    }
}

/// Subtracts `less` from the counts of a value, and from the sum, as far as possible. Also subtracts the entries beyond
/// the copies.
fn take(of_value: &mut Counts, less: Counts, all: &mut Counts) {
    let mut left = of_value.beyond(less);
    left.entries = left.entries.min(left.copies);
    *all -= of_value.beyond(left);
    *of_value = left;
}

/// Returns the sum of the counts of all these values.
pub(in crate::table) fn sum(counted: &[Counted]) -> Counts {
    let mut all = Counts::default();
    for &(_, of_value) in counted {
        all += of_value;
    }
    all
}

fn search(list: &[Counted], value: u32) -> Result<usize, usize> {
    list.binary_search_by_key(&value, |&(value, _)| value)
}

/// Adds values to a list that has room for them, in ascending order. Leaves out those that the list has.
fn merge(list: &mut Vec<Counted>, more: impl DoubleEndedIterator<Item = Counted> + Clone) {
    let is_missing = |&(value, _): &Counted| search(list, value).is_err();
    let (mut old, mut missing) = (list.len(), more.clone().filter(is_missing).count());
    list.resize(old + missing, (0, Counts::default()));
    // From the end: the elements of the list make room for those that come before them.
    for (value, of_value) in more.rev() {
        while missing > 0 && old > 0 && list[old - 1].0 > value {
            old -= 1;
            list[old + missing] = list[old];
        }
        if missing > 0 && (old == 0 || list[old - 1].0 < value) {
            missing -= 1;
            list[old + missing] = (value, of_value);
        }
    }
}

impl DoubledOf {
    /// Makes the lists from these counts, in ascending order of their values.
    pub(crate) fn of(sorted: Vec<Counted>) -> Self {
        Self { sorted, new: Vec::new() }
    }

    /// Returns the number of values.
    pub(in crate::table) fn len(&self) -> usize {
        self.sorted.len() + self.new.len()
    }

    pub(in crate::table) fn heap_bytes(&self) -> usize {
        (self.sorted.capacity() + self.new.capacity()) * size_of::<Counted>()
    }

    /// Allocates memory for `values` more values.
    pub(in crate::table) fn reserve(&mut self, values: usize) -> Result<(), NoMemory> {
        let all = self.new.len() + values;
        let reserve = |list: &mut Vec<Counted>, more: usize| {
            let has_room = list.capacity() - list.len() >= more;
            if has_room { Ok(()) } else { try_reserve(list, more.max(list.len())) }
        };
        reserve(&mut self.sorted, all)?;
        let are_few = self.new.is_empty() && self.sorted.len() + values <= FEW;
        if are_few { Ok(()) } else { reserve(&mut self.new, values) }
    }

    /// Returns the counts of this value: 0 if it was not there. There is memory for it.
    pub(in crate::table) fn of_value(&mut self, value: u32) -> &mut Counts {
        if self.new.len().pow(2) > self.sorted.len() {
            self.in_order();
        }
        let are_few = self.new.is_empty() && self.sorted.len() < FEW;
        let is_old = are_few || search(&self.sorted, value).is_ok();
        let list = if is_old { &mut self.sorted } else { &mut self.new };
        let at = search(list, value).unwrap_or_else(|at| {
            debug_assert!(
                list.len() < list.capacity(),
                "memory is reserved while no stripe is held"
            );
            list.insert(at, (value, Counts::default()));
            at
        });
        &mut list[at].1
    }

    /// Returns the counts of this value, if it has some.
    fn counted(&mut self, value: u32) -> Option<&mut Counts> {
        let is_old = search(&self.sorted, value).is_ok();
        let list = if is_old { &mut self.sorted } else { &mut self.new };
        search(list, value).ok().map(|at| &mut list[at].1)
    }

    /// Adds these values, which are in ascending order, with the counts 0. There is memory for them.
    pub(in crate::table) fn name(&mut self, values: &[Counted]) {
        if let [(value, _)] = values {
            self.of_value(*value);
            return;
        }
        self.in_order();
        merge(&mut self.sorted, values.iter().map(|&(value, _)| (value, Counts::default())));
    }

    /// Merges the lists. Returns all counts, in ascending order of their values.
    pub(in crate::table) fn in_order(&mut self) -> &mut [Counted] {
        let mut new = mem::take(&mut self.new);
        merge(&mut self.sorted, new.iter().copied());
        new.clear();
        self.new = new;
        &mut self.sorted
    }

    /// Changes the values as [`Splitting::change_values`] does. Allocates nothing.
    fn change_values(&mut self, changed: impl Fn(u32) -> Option<u32>) -> Counts {
        let mut forgotten = Counts::default();
        self.in_order();
        self.sorted.retain_mut(|(value, of_value)| {
            let new = changed(*value);
            match new {
                Some(new) => *value = new,
                None => forgotten += *of_value,
            }
            new.is_some()
        });
        self.sorted.sort_unstable_by_key(|&(value, _)| value);
        self.sorted.dedup_by(|(value, more), (before, of_value)| {
            let is_equal = value == before;
            if is_equal {
                *of_value += *more;
            }
            is_equal
        });
        forgotten
    }

    pub(in crate::table) fn clear(&mut self) {
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
            let (mut doubled_of, mut map) = (DoubledOf::default(), BTreeMap::<_, Counts>::new());
            for step in 0..20_000 {
                let value = random.random_range(0..values);
                match step % 1000 {
                    0 => {
                        let numbers: Vec<_> =
                            map.iter().map(|(&value, &counts)| (value, counts)).collect();
                        assert_eq!(doubled_of.in_order(), numbers);
                    }
                    500 => {
                        let mut more: Vec<u32> =
                            (0..500).map(|_| random.random_range(0..values)).collect();
                        more.sort_unstable();
                        more.dedup();
                        let more: Vec<_> =
                            more.into_iter().map(|value| (value, Counts::of_slots(7))).collect();
                        doubled_of.reserve(more.len()).unwrap();
                        doubled_of.name(&more);
                        for (value, _) in more {
                            map.entry(value).or_default();
                        }
                    }
                    900 => {
                        let half = |value: u32| Some(value / 2);
                        assert_eq!(doubled_of.change_values(half), Counts::default());
                        for (value, counts) in mem::take(&mut map) {
                            *map.entry(value / 2).or_default() += counts;
                        }
                    }
                    1..100 => {
                        let expected = map.remove(&value).unwrap_or_default();
                        let others = |other| (other != value).then_some(other);
                        assert_eq!(doubled_of.change_values(others), expected);
                    }
                    _ => {
                        doubled_of.reserve(1).unwrap();
                        let bytes = doubled_of.heap_bytes();
                        let more = Counts { copies: 2 * step, entries: step };
                        *doubled_of.of_value(value) += more;
                        assert_eq!(doubled_of.heap_bytes(), bytes);
                        *map.entry(value).or_default() += more;
                        let before = doubled_of.new.len().saturating_sub(1);
                        assert!(before.pow(2) <= doubled_of.sorted.len(), "{before} are new");
                    }
                }
                assert_eq!(doubled_of.len(), map.len());
            }
            doubled_of.clear();
            assert_eq!(
                (doubled_of.len(), doubled_of.change_values(|_| None)),
                (0, Counts::default())
            );
        }
    }

    /// The sums are those over all values. No value has more entries than copies, and no count is below 0.
    #[test]
    fn sums_of_all_values() {
        let doubled = Doubled::try_new(true, DoubledOf::default()).unwrap();
        let mut random = crate::random::random(2);
        let mut splitting = doubled.lock();
        splitting.reserve(100, 7).unwrap();
        let mut limited = 0;
        for step in 0..20_000 {
            let value = random.random_range(0..100);
            let copies = random.random_range(0..1000);
            let counts = Counts { copies, entries: random.random_range(0..=copies) };
            match step % 10 {
                0 if step % 100 == 0 => splitting.clear(),
                0 => {
                    let before = splitting.counted().find(|&(its, _)| its == value);
                    let others = |other| (other != value).then_some(other);
                    let forgotten = splitting.change_values(others);
                    assert_eq!(forgotten, before.map_or(Counts::default(), |(_, of)| of));
                }
                1 => {
                    let most = Counts { copies: 9 * copies, entries: 5 * counts.entries };
                    let before = splitting.all();
                    let is_above = before.copies > most.copies || before.entries > most.entries;
                    assert_eq!(splitting.limit(most), is_above);
                    limited += u32::from(is_above);
                    let after = splitting.all();
                    assert_eq!(after.copies, before.copies.min(most.copies));
                    assert!(after.entries <= before.entries.min(most.entries));
                }
                2..5 => splitting.subtract(value, counts),
                _ => splitting.add(value, counts),
            }
            let counted: Vec<_> = splitting.counted().collect();
            assert_eq!(sum(&counted), splitting.all());
            assert!(counted.iter().all(|(_, of)| of.entries <= of.copies), "{counted:?}");
        }
        assert!(limited > 500, "{limited}");
    }

    /// A table of fixed size counts nothing, and takes no memory for it.
    #[test]
    fn nothing_of_fixed_size_is_doubled() {
        let doubled = Doubled::try_new(false, DoubledOf::default()).unwrap();
        let mut splitting = doubled.try_lock().unwrap();
        splitting.reserve(1, 3).unwrap();
        splitting.add(1, Counts::of_slots(1));
        assert_eq!((splitting.len(), doubled.all()), (0, Counts::default()));
        assert_eq!((doubled.heap_bytes(), Doubled::bytes_for(false)), (0, 0));
    }
}
