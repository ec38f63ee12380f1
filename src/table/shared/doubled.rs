//! Entries that are no items of their own: those that splits and merges have added, in all and of each value.
//!
//! Two numbers. The number of items is that of all *copies*, in slots and in the stash, less the copies that are no items.
//! How full the table is, and whether it grows on, goes by *entries*: slots in use and entries of the stash, each once.
//! A split adds a slot to both. A merge may add a million copies to one entry.
//!
//! The number of copies is exact. That of entries is an estimate: what a merge has added goes by where its entries found
//! room, and nobody counts which of them are removed again.
//!
//! **Invariant:** a value is in one of two lists at most; each is in ascending order; and the first has room for all that
//! is in the second. Of each value there are no more entries than copies.
//!
//! The first entry of some value that is doubled adds a number. In a long list that would move half of all others: so
//! there is a short list for new values, which is merged into the long one when it has the square root of its length.

use core::mem;
use core::ops::{AddAssign, SubAssign};

use crate::sync::memory::{NoMemory, TryBox, try_reserve};
use crate::sync::{AtomicU64, Mutex, MutexGuard, Ordering};

/// The numbers in the first list up to which new values go there.
const FEW: usize = 1 << 10;

/// Numbers of entries and of their copies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Slots in use, and the copies of each entry in the stash.
    pub(crate) copies: u64,
    /// Slots in use, and entries in the stash.
    pub(crate) entries: u64,
}

impl Counts {
    /// That of slots in use, or of entries with one copy each.
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

    /// What is more than in `other`.
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

/// A value, and what is counted of it.
pub(crate) type Counted = (u32, Counts);

/// In a filter all entries are of the value 0. Where an entry gets another value, so does one copy of each: so what is
/// counted are the copies with a value, less items with it.
#[derive(Default)]
pub(crate) struct DoubledOf {
    sorted: Vec<Counted>,
    new: Vec<Counted>,
}

/// What the entries of a table are that are no items of their own: nothing in a table of fixed size, for which nothing is
/// allocated.
///
/// In a box of its own: the line of [`Changing`](super::Changing) is full.
pub(in crate::table) struct Doubled(Option<TryBox<Numbers>>);

struct Numbers {
    /// The sums of all values, for figures: exact when nobody writes, and stored while the mutex is held.
    copies: AtomicU64,
    entries: AtomicU64,
    /// Held by whoever splits. It is taken before any stripe.
    of_values: Mutex<DoubledOf>,
}

/// The mutex of those who split, held. RAII guard. In a table of fixed size there is none, and nothing to count.
pub(in crate::table) struct Splitting<'a>(Option<(&'a Numbers, MutexGuard<'a, DoubledOf>)>);

impl Doubled {
    /// Of a table that grows, with these numbers; or of one of fixed size.
    pub(in crate::table) fn try_new(grows: bool, of_values: DoubledOf) -> Result<Self, NoMemory> {
        if !grows {
            return Ok(Self(None));
        }
        let Counts { copies, entries } = sum(&of_values.sorted);
        let (copies, entries) = (AtomicU64::new(copies), AtomicU64::new(entries));
        TryBox::try_new(Numbers { copies, entries, of_values: Mutex::new(of_values) })
            .map(|numbers| Self(Some(numbers)))
    }

    /// Of all values together.
    pub(in crate::table) fn all(&self) -> Counts {
        self.0.as_deref().map_or(Counts::default(), Numbers::all)
    }

    pub(in crate::table) fn lock(&self) -> Splitting<'_> {
        Splitting(self.0.as_deref().map(|numbers| (numbers, numbers.of_values.lock())))
    }

    pub(in crate::table) fn try_lock(&self) -> Option<Splitting<'_>> {
        let Some(numbers) = self.0.as_deref() else {
            return Some(Splitting(None));
        };
        let of_values = numbers.of_values.try_lock()?;
        Some(Splitting(Some((numbers, of_values))))
    }

    /// Without the lists while another thread splits: figures wait for nobody.
    pub(in crate::table) fn heap_bytes(&self) -> usize {
        let of_lists = |numbers: &Numbers| {
            numbers.of_values.try_lock().map_or(0, |of_values| of_values.heap_bytes())
        };
        self.0.as_deref().map_or(0, |numbers| size_of_val(numbers) + of_lists(numbers))
    }

    /// What is allocated without a value that is counted.
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

    /// Stores the sums, while the mutex is held.
    fn store(&self, Counts { copies, entries }: Counts) {
        self.copies.store(copies, Ordering::Relaxed);
        self.entries.store(entries, Ordering::Relaxed);
    }
}

impl Splitting<'_> {
    /// The number of values that are counted.
    pub(in crate::table) fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |(_, of_values)| of_values.len())
    }

    /// Of all values together.
    pub(in crate::table) fn all(&self) -> Counts {
        self.0.as_ref().map_or(Counts::default(), |(numbers, _)| numbers.all())
    }

    /// Memory to count those of some more values, of so many bits. Called while no stripe is held.
    pub(in crate::table) fn reserve(
        &mut self,
        values: usize,
        value_bits: u32,
    ) -> Result<(), NoMemory> {
        let missing = (1 << value_bits) - self.len();
        let of_values = self.0.as_mut().map(|(_, of_values)| of_values);
        of_values.map_or(Ok(()), |of_values| of_values.reserve(values.min(missing)))
    }

    /// As [`DoubledOf::name`].
    pub(in crate::table) fn name(&mut self, values: &[Counted]) {
        if let Some((_, of_values)) = &mut self.0 {
            of_values.name(values);
        }
    }

    /// Those of which there are some, in ascending order of their values.
    pub(in crate::table) fn counted(&mut self) -> impl Iterator<Item = Counted> {
        let lists = self.0.as_mut().map(|(_, of_values)| of_values.in_order());
        lists.into_iter().flatten().map(|&mut counted| counted).filter(|(_, of)| of.copies > 0)
    }

    /// Counts more of this value. There is memory to count them.
    pub(in crate::table) fn add(&mut self, value: u32, more: Counts) {
        self.change(|of_values, all| {
            *of_values.of_value(value) += more;
            *all += more;
        });
    }

    /// Counts less of this value, as far as there is so much.
    pub(in crate::table) fn subtract(&mut self, value: u32, less: Counts) {
        self.change(|of_values, all| take(of_values.of_value(value), less, all));
    }

    /// No entry has this value any more. Says what was counted of it.
    pub(in crate::table) fn forget(&mut self, value: u32) -> Counts {
        self.change(|of_values, all| {
            let forgotten = of_values.remove(value);
            *all -= forgotten;
            forgotten
        })
    }

    /// The table has no more than this. What a split has added may be removed, or get another value, as a
    /// false positive; the table cannot know it. Says whether it counted more.
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

    /// No slot is in use any more.
    pub(in crate::table) fn clear(&mut self) {
        self.change(|of_values, all| {
            of_values.clear();
            *all = Counts::default();
        });
    }

    /// Changes the numbers of values, and their sum with them.
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

/// Takes from what is counted of a value, and from the sum, as much as there is; and entries beyond the copies.
fn take(of_value: &mut Counts, less: Counts, all: &mut Counts) {
    let mut left = of_value.beyond(less);
    left.entries = left.entries.min(left.copies);
    *all -= of_value.beyond(left);
    *of_value = left;
}

/// What is counted of all these values.
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

/// Adds numbers to a list that has room for them, in ascending order of their values, but those of values that are there.
fn merge(list: &mut Vec<Counted>, more: impl DoubleEndedIterator<Item = Counted> + Clone) {
    let is_missing = |&(value, _): &Counted| search(list, value).is_err();
    let (mut old, mut missing) = (list.len(), more.clone().filter(is_missing).count());
    list.resize(old + missing, (0, Counts::default()));
    // From the end: what is there makes room for what comes before it.
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
    /// That of these numbers, in ascending order of their values.
    pub(crate) fn of(sorted: Vec<Counted>) -> Self {
        Self { sorted, new: Vec::new() }
    }

    /// The number of values.
    pub(in crate::table) fn len(&self) -> usize {
        self.sorted.len() + self.new.len()
    }

    pub(in crate::table) fn heap_bytes(&self) -> usize {
        (self.sorted.capacity() + self.new.capacity()) * size_of::<Counted>()
    }

    /// Memory for some more values.
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

    /// What is counted of this value: nothing if it was not there. There is memory for it.
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

    /// Counts entries with these values, which are in ascending order, from now on: none yet. There is memory for them.
    pub(in crate::table) fn name(&mut self, values: &[Counted]) {
        if let [(value, _)] = values {
            self.of_value(*value);
            return;
        }
        self.in_order();
        merge(&mut self.sorted, values.iter().map(|&(value, _)| (value, Counts::default())));
    }

    /// All numbers, in ascending order of their values.
    pub(in crate::table) fn in_order(&mut self) -> &mut [Counted] {
        let mut new = mem::take(&mut self.new);
        merge(&mut self.sorted, new.iter().copied());
        new.clear();
        self.new = new;
        &mut self.sorted
    }

    /// Takes the numbers of a value out.
    pub(in crate::table) fn remove(&mut self, value: u32) -> Counts {
        let mut lists = [&mut self.sorted, &mut self.new].into_iter();
        let removed = lists.find_map(|list| search(list, value).ok().map(|at| list.remove(at).1));
        removed.unwrap_or_default()
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
                    1..100 => {
                        let expected = map.remove(&value).unwrap_or_default();
                        assert_eq!(doubled_of.remove(value), expected);
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
            assert_eq!((doubled_of.len(), doubled_of.remove(0)), (0, Counts::default()));
        }
    }

    /// The sums are those of all values, of none of which there are more entries than copies, nor less than nothing.
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
                    let forgotten = splitting.forget(value);
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
