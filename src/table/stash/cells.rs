//! A hash table of entries and how many copies there are of each, which many threads read while one writes.
//!
//! Open addressing with linear probing (Knuth, "The Art of Computer Programming", volume 3, section 6.4). A *cell*
//! is two words:
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | first | 0 to 31 | the entry as a slot holds it, in a growing table without its ring; 0 in a cell that was never used |
//! | | 32 to 38 | how many of the lowest bits of the position are known; 0 in a table of fixed size |
//! | | 39 to 63 | the number of copies; 0 in a cell whose entry was taken out |
//! | second | | what is known of the even one of the two positions |
//!
//! The cell of an entry depends on its core and its position, not on its value: so all values of a key are met on one
//! way. Entries of different lengths are on different ways, the longest of which is looked at first.
//!
//! **Readers take no lock.** What a cell is for never changes, but for the value, as long as its array is in use. When
//! three quarters of the cells were used, the entries are copied into a second array, and one store makes that the
//! *current* one; the next time they come back into the first. A reader that is late may be in an array that is
//! being filled again: it compares `current` before and after.

use super::super::geometry::{self, Place};
use crate::entry::Entry;
use crate::memory::{NoMemory, try_with_capacity};
use crate::sync::array::{PieceArray, View};
use crate::sync::{self, AtomicU64, Count, Mutex, MutexGuard, Ordering};

/// Words of a piece of an array, as a power of two: 1 KiB. Four cells under loom.
const SHIFT: u32 = if cfg!(loom) { 3 } else { 7 };
/// The fewest cells, as a power of two: those of one piece.
const LEAST: u32 = SHIFT - 1;

/// Cells at which the hand looks for an entry.
const HAND_STEPS: usize = 16;

/// Where the parts of the first word of a cell begin.
const KNOWN: u32 = 32;
const COPIES: u32 = 39;
/// Mask of the length of an entry.
const LENGTH: u64 = (1 << COPIES) - (1 << KNOWN);
/// Mask of the entry and its length.
const NAME: u64 = (1 << COPIES) - 1;
/// The most copies that a cell counts.
pub(crate) const MAX_COPIES: usize = usize::MAX >> COPIES;

/// An entry as the words of its cell.
pub(crate) type CellWords = [u64; 2];

/// An entry at the even one of its two positions, of which no more is told than is known; and how many copies
/// of it there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stashed {
    pub(crate) place: Place,
    pub(crate) copies: usize,
}

/// What is looked for: the entries of an item, which are prefixes of it.
#[derive(Clone, Copy)]
pub(super) struct Wanted {
    /// The item at its even position.
    pub(super) item: Place,
    /// Mask of the bits of an entry that must be equal: all of them, or all but those of the value.
    pub(super) mask: u32,
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(super) struct Found {
    at: usize,
    pub(super) bits: u32,
    pub(super) known: u32,
    pub(super) copies: usize,
}

pub(super) struct Cells {
    /// The number of the array in use, counted on with each replacement, above the number of its cells as a power of
    /// two. 0: there is none yet.
    current: AtomicU64,
    /// By turns.
    arrays: [PieceArray<SHIFT>; 2],
    /// Bit n is set if there may be entries that know n + 1 bits, or in a table of fixed size bit 0.
    lengths: AtomicU64,
    /// The number of entries.
    entries: Count,
    /// The number of their copies.
    copies: AtomicU64,
    /// The bits of an entry that are not its value.
    key: u32,
    /// So that nobody can choose entries that have the same cell.
    seed: u64,
    owned: Mutex<Owned>,
}

/// What only the writer uses.
struct Owned {
    /// Cells that are not empty, those of entries that were taken out included.
    used: usize,
    /// The cell at which the hand goes on.
    hand: usize,
    /// How many changes there were.
    changes: u64,
    /// The number of entries of each group of versions.
    of_groups: Box<[u32]>,
}

/// Where the current number of an array begins.
const NUMBER: u32 = 6;

/// An array of cells at one time.
#[derive(Clone, Copy)]
struct Array<'a> {
    words: View<'a, SHIFT>,
    /// The number of cells, a power of two.
    len: usize,
}

impl Array<'_> {
    #[inline]
    fn first(&self, at: usize) -> &AtomicU64 {
        self.words.word(2 * at)
    }

    #[inline]
    fn second(&self, at: usize) -> &AtomicU64 {
        self.words.word(2 * at + 1)
    }
}

/// All that tells one entry at a position from others, as the first word of its cell has it.
#[inline]
fn name(entry: Entry) -> u64 {
    u64::from(entry.bits()) | u64::from(entry.known()) << KNOWN
}

/// The number of copies in the first word of a cell.
#[inline]
fn copies_in(first: u64) -> usize {
    (first >> COPIES) as usize
}

/// The bits of a position that are known of this entry. In a table of fixed size a position is a bucket: all of them.
#[inline]
fn prefix(position: usize, entry: Entry) -> u64 {
    position as u64 & u64::MAX >> ((u64::BITS - entry.known()) % u64::BITS)
}

impl Stashed {
    /// As the words of a cell.
    pub(crate) fn words(self) -> CellWords {
        let Self { place: Place { position, entry }, copies } = self;
        [name(entry) | (copies as u64) << COPIES, prefix(position, entry)]
    }

    /// That of the words of a cell.
    pub(crate) fn of_words([first, second]: CellWords) -> Self {
        let known = (first & LENGTH) >> KNOWN;
        let entry = Entry::knowing(first & u64::from(u32::MAX), known as u32);
        Self { place: Place { position: second as usize, entry }, copies: copies_in(first) }
    }

    /// By which entries are told apart, and put in order.
    pub(crate) fn order([first, second]: CellWords) -> (u64, u64) {
        (second, first & NAME)
    }
}

impl Cells {
    /// For the entries of this number of groups, of which these bits are not the value.
    pub(super) fn try_new(groups: usize, key: u32) -> Result<Self, NoMemory> {
        let mut of_groups = try_with_capacity(groups)?;
        of_groups.resize(groups, 0);
        Ok(Self {
            current: AtomicU64::new(0),
            arrays: [PieceArray::try_new()?, PieceArray::try_new()?],
            lengths: AtomicU64::new(0),
            entries: Count::new(0),
            copies: AtomicU64::new(0),
            key,
            seed: sync::random_seed(),
            owned: Mutex::new(Owned {
                used: 0,
                hand: 0,
                changes: 0,
                of_groups: of_groups.into_boxed_slice(),
            }),
        })
    }

    /// The array with this number and length.
    #[inline]
    fn array(&self, current: u64) -> Array<'_> {
        let words = self.arrays[(current >> NUMBER) as usize % 2].view();
        let len = if current == 0 { 0 } else { 1 << (current % (1 << NUMBER)) };
        Array { words, len }
    }

    /// The cells at which an entry may be, in order.
    #[inline]
    fn way(&self, len: usize, name: u64, position: u64) -> impl Iterator<Item = usize> {
        let key = name & (u64::from(self.key) | LENGTH);
        let start = geometry::mix(position ^ key.rotate_left(KNOWN) ^ self.seed) as usize;
        (0..len).map(move |step| start.wrapping_add(step) & (len - 1))
    }

    /// Calls `found` with each entry that is wanted, the longest first.
    #[inline]
    fn scan(&self, current: u64, Wanted { item, mask }: Wanted, mut found: impl FnMut(Found)) {
        let array = self.array(current);
        // Relaxed: stored before the version was bumped that let the caller look here, or under the mutex.
        let mut lengths = self.lengths.load(Ordering::Relaxed);
        while let Some(length) = lengths.checked_ilog2() {
            lengths ^= 1 << length;
            let known = if item.entry.known() == 0 { 0 } else { length + 1 };
            if known > item.entry.known() {
                continue;
            }
            let entry = Entry::knowing(item.entry.bits().into(), known);
            let (name, position) = (name(entry), prefix(item.position, entry));
            for at in self.way(array.len, name, position) {
                // SeqCst: pairs with the store of `take`. As an Acquire load, like the one below, it pairs with
                // those of `put` and `replace_array`: who reads what a later use of the array has stored here
                // sees the store of `current` before it.
                let first = array.first(at).load(Ordering::SeqCst);
                if first == 0 {
                    break;
                }
                if (first ^ name) & (u64::from(mask) | LENGTH) == 0
                    && first >> COPIES != 0
                    && array.second(at).load(Ordering::Acquire) == position
                {
                    found(Found { at, bits: first as u32, known, copies: copies_in(first) });
                }
            }
        }
    }

    /// Calls `found` with each entry that is wanted. `false`: the cells were replaced meanwhile, so some may
    /// have been missed. Takes no lock.
    #[inline]
    pub(super) fn read(&self, wanted: Wanted, found: impl FnMut(Found)) -> bool {
        // Acquire: pairs with the store of `replace_array`. Whoever sees the number sees the cells.
        let current = self.current.load(Ordering::Acquire);
        self.scan(current, wanted, found);
        // Relaxed: the loads of the cells keep it behind them.
        self.current.load(Ordering::Relaxed) == current
    }

    /// The number of entries: for a decision that is right either way.
    pub(super) fn entries(&self) -> usize {
        self.entries.hint() as usize
    }

    /// The number of copies: exact when no thread writes.
    pub(super) fn copies(&self) -> usize {
        // Relaxed: a number that orders nothing.
        self.copies.load(Ordering::Relaxed) as usize
    }

    pub(super) fn heap_bytes(&self, groups: usize) -> usize {
        self.arrays.iter().map(PieceArray::heap_bytes).sum::<usize>() + groups * size_of::<u32>()
    }

    /// Waits while another thread writes.
    pub(super) fn lock(&self) -> Writer<'_> {
        Writer { cells: self, owned: self.owned.lock() }
    }
}

/// The right to change the cells. RAII guard: gives it back on drop.
pub(super) struct Writer<'a> {
    cells: &'a Cells,
    owned: MutexGuard<'a, Owned>,
}

impl<'a> Writer<'a> {
    fn current(&self) -> u64 {
        // Relaxed: stored under the mutex.
        self.cells.current.load(Ordering::Relaxed)
    }

    fn array(&self) -> Array<'a> {
        self.cells.array(self.current())
    }

    /// Calls `found` with each entry that is wanted, the longest first.
    pub(super) fn each(&self, wanted: Wanted, found: impl FnMut(Found)) {
        self.cells.scan(self.current(), wanted, found);
    }

    /// The longest of the entries that are wanted.
    pub(super) fn longest(&self, wanted: Wanted) -> Option<Found> {
        let mut longest = None;
        self.each(wanted, |found| {
            longest.get_or_insert(found);
        });
        longest
    }

    /// The cell of this entry, if there is one.
    fn cell_of(&self, place: Place) -> Option<usize> {
        let (array, name) = (self.array(), name(place.entry));
        let position = prefix(place.position, place.entry);
        let mut way = self.cells.way(array.len, name, position);
        // Relaxed, here and below: stored under the mutex.
        let first = |at: usize| array.first(at).load(Ordering::Relaxed);
        let found = way.find(|&at| {
            let is_of_name = (first(at) ^ name) & NAME == 0;
            first(at) == 0 || is_of_name && array.second(at).load(Ordering::Relaxed) == position
        });
        found.filter(|&at| first(at) != 0)
    }

    /// The number of copies of this entry, if it has a cell.
    pub(super) fn copies_of(&self, place: Place) -> Option<usize> {
        // Relaxed: stored under the mutex.
        let first = |at| self.array().first(at).load(Ordering::Relaxed);
        self.cell_of(place).map(|at| copies_in(first(at)))
    }

    /// Whether there is room for one more entry.
    pub(super) fn has_room(&self) -> bool {
        4 * (self.owned.used + 1) <= 3 * self.array().len
    }

    /// Makes room for one more entry.
    pub(super) fn reserve(&mut self) -> Result<(), NoMemory> {
        if self.has_room() { Ok(()) } else { self.replace_array() }
    }

    /// Some copies more of an entry, of the group with this number. If it needs a cell, there is room. Says whether it
    /// is the first entry of the group.
    pub(super) fn add(&mut self, group: usize, new: Stashed) -> bool {
        let (array, Stashed { place, copies }) = (self.array(), new);
        self.owned.changes += 1;
        // Relaxed, here and below: stored under the mutex.
        let lengths = self.cells.lengths.load(Ordering::Relaxed);
        let length = 1 << place.entry.known().saturating_sub(1);
        self.cells.lengths.store(lengths | length, Ordering::Relaxed);
        let sum = self.cells.copies.load(Ordering::Relaxed) + copies as u64;
        self.cells.copies.store(sum, Ordering::Relaxed);
        let mut is_entry = true;
        if let Some(at) = self.cell_of(place) {
            let first = array.first(at).load(Ordering::Relaxed);
            is_entry = first >> COPIES == 0;
            // Release, as in `put`.
            array.first(at).store(first + ((copies as u64) << COPIES), Ordering::Release);
        } else {
            put(self.cells, array, new);
            self.owned.used += 1;
        }
        if is_entry {
            self.cells.entries.set(self.cells.entries.get() + 1);
            self.owned.of_groups[group] += 1;
        }
        is_entry && self.owned.of_groups[group] == 1
    }

    /// Whether nothing of its group is left when one copy of this entry is taken out.
    pub(super) fn is_last(&self, group: usize, found: Found) -> bool {
        self.owned.of_groups[group] == 1 && found.copies == 1
    }

    /// Takes one copy of an entry out.
    pub(super) fn take(&mut self, group: usize, Found { at, copies, .. }: Found) {
        let array = self.array();
        self.owned.changes += 1;
        // Relaxed: stored under the mutex.
        let first = array.first(at).load(Ordering::Relaxed) - (1 << COPIES);
        // SeqCst: the removal takes effect here, as that from a word does by its store. Pairs with the load of `scan`.
        array.first(at).store(first, Ordering::SeqCst);
        let left = self.cells.copies.load(Ordering::Relaxed) - 1;
        self.cells.copies.store(left, Ordering::Relaxed);
        if copies == 1 {
            self.cells.entries.set(self.cells.entries.get() - 1);
            self.owned.of_groups[group] -= 1;
        }
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        let array = self.array();
        for at in 0..array.len {
            // Release, as in `put`.
            array.first(at).store(0, Ordering::Release);
        }
        self.owned.used = 0;
        self.owned.changes += 1;
        self.owned.of_groups.fill(0);
        self.cells.entries.set(0);
        // Relaxed: a number that orders nothing.
        self.cells.copies.store(0, Ordering::Relaxed);
    }

    /// What a cell holds.
    fn at(&self, at: usize) -> Option<Stashed> {
        let array = self.array();
        // Relaxed: stored under the mutex.
        let [first, second] =
            [array.first(at), array.second(at)].map(|word| word.load(Ordering::Relaxed));
        (first >> COPIES != 0).then(|| Stashed::of_words([first, second]))
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = Stashed> {
        (0..self.array().len).filter_map(|at| self.at(at))
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.cells.entries.get() as usize
    }

    /// How many changes there were.
    pub(super) fn changes(&self) -> u64 {
        self.owned.changes
    }

    /// The next entry, if it is near: each comes by turns.
    pub(super) fn next(&mut self) -> Option<Place> {
        let len = self.array().len;
        (0..len.min(HAND_STEPS)).find_map(|_| {
            let at = self.owned.hand & (len - 1);
            self.owned.hand = at + 1;
            self.at(at).map(|stashed| stashed.place)
        })
    }

    /// Copies the entries into the other array, one of twice as many cells if more than half of those that may be in
    /// use are.
    fn replace_array(&mut self) -> Result<(), NoMemory> {
        let cells = self.cells;
        let (current, old) = (self.current(), self.array());
        let mut bits = (current % (1 << NUMBER)) as u32;
        if current == 0 {
            bits = LEAST;
        } else if 8 * self.len() > 3 * old.len {
            bits += 1;
        }
        let next = ((current >> NUMBER) + 1) << NUMBER | u64::from(bits);
        cells.arrays[(next >> NUMBER) as usize % 2].try_reach(2 << bits)?;
        let new = cells.array(next);
        for at in 0..new.len {
            // Release: as in `put`.
            new.first(at).store(0, Ordering::Release);
        }
        for entry in self.entries() {
            put(cells, new, entry);
        }
        self.owned.used = self.len();
        self.owned.hand = 0;
        // Release: pairs with the load in `read`.
        cells.current.store(next, Ordering::Release);
        Ok(())
    }
}

/// Stores an entry in the first empty cell of its way.
fn put(cells: &Cells, array: Array<'_>, new: Stashed) {
    let [first, second] = new.words();
    let mut way = cells.way(array.len, first & NAME, second);
    // Relaxed: stored under the mutex.
    let is_empty = |at: &usize| array.first(*at).load(Ordering::Relaxed) == 0;
    let at = way.find(is_empty).expect("a quarter of the cells is empty");
    // Release, both: they pair with the loads in `scan`.
    array.second(at).store(second, Ordering::Release);
    array.first(at).store(first, Ordering::Release);
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use rand::rngs::SmallRng;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Values are in the upper bits of 16.
    const KEY: u32 = (1 << 12) - 1;
    const GROUPS: usize = 4;

    fn place(position: usize, bits: u64, known: u32) -> Place {
        let entry = Entry::knowing(bits, known);
        Place { position: prefix(position, entry) as usize, entry }
    }

    fn group_of(place: Place) -> usize {
        place.entry.bits() as usize % GROUPS
    }

    /// All entries that are found with this mask, as (bits, known, copies), by a reader and by the writer.
    fn found(cells: &Cells, item: Place, mask: u32) -> Vec<(u32, u32, usize)> {
        let [mut read, mut seen] = [const { Vec::new() }; 2];
        let wanted = Wanted { item, mask };
        assert!(cells.read(wanted, |found| read.push((found.bits, found.known, found.copies))));
        cells.lock().each(wanted, |found| seen.push((found.bits, found.known, found.copies)));
        assert_eq!(read, seen);
        assert!(read.is_sorted_by_key(|&(_, known, _)| core::cmp::Reverse(known)));
        read.sort_unstable();
        read
    }

    /// Entries of all lengths, so few that many are equal and most are prefixes of others, against a map.
    #[test]
    fn random_changes() {
        let mut random = SmallRng::seed_from_u64(47);
        for of_fixed in [false, true] {
            let cells = Cells::try_new(GROUPS, KEY).unwrap();
            let mut model: BTreeMap<CellWords, usize> = BTreeMap::new();
            let name = |place: Place| Stashed { place, copies: 0 }.words();
            for step in 0..8000 {
                // It fills, and empties again.
                let fills = step % 2000 < 1000;
                let known = if of_fixed { 0 } else { [6, 7, 63, 64][random.random_range(0..4)] };
                let position = 2 * random.random_range(0..64);
                let bits = random.random_range(1..8) | random.random_range(0..3) << 12;
                let item = place(position, bits, known);
                let group = group_of(item);
                let mut writer = cells.lock();
                let of_group = |model: &BTreeMap<CellWords, usize>| {
                    let of = model
                        .keys()
                        .filter(|&&words| group_of(Stashed::of_words(words).place) == group);
                    of.count()
                };
                if random.random_bool(if fills { 0.7 } else { 0.2 }) {
                    let copies = random.random_range(1..4);
                    writer.reserve().unwrap();
                    let is_first = of_group(&model) == 0;
                    assert_eq!(writer.add(group, Stashed { place: item, copies }), is_first);
                    *model.entry(name(item)).or_default() += copies;
                } else if let Some(found) = writer.longest(Wanted { item, mask: u32::MAX }) {
                    let words = name(place(position, bits, found.known));
                    assert_eq!(model.get(&words), Some(&found.copies));
                    let is_last = of_group(&model) == 1 && found.copies == 1;
                    assert_eq!(writer.is_last(group, found), is_last);
                    writer.take(group, found);
                    model.entry(words).and_modify(|copies| *copies -= 1);
                    model.retain(|_, copies| *copies > 0);
                }
                drop(writer);
                for mask in [KEY, u32::MAX] {
                    let mut expected: Vec<_> = model
                        .iter()
                        .map(|(&words, &copies)| (Stashed::of_words(words).place, copies))
                        .filter(|(held, _)| {
                            (held.entry.bits() ^ item.entry.bits()) & mask == 0
                                && held.entry.known() <= item.entry.known()
                                && prefix(position, held.entry) == held.position as u64
                        })
                        .map(|(held, copies)| (held.entry.bits(), held.entry.known(), copies))
                        .collect();
                    expected.sort_unstable();
                    assert_eq!(found(&cells, item, mask), expected);
                }
                let writer = cells.lock();
                let entries: BTreeMap<_, _> =
                    writer.entries().map(|held| (name(held.place), held.copies)).collect();
                assert_eq!(entries, model);
                assert_eq!(writer.len(), model.len());
                assert_eq!(cells.copies(), model.values().sum::<usize>());
                assert_eq!(
                    writer.copies_of(item).unwrap_or(0),
                    *model.get(&name(item)).unwrap_or(&0)
                );
                if step % 3000 == 2999 {
                    drop(writer);
                    cells.lock().clear();
                    model.clear();
                }
            }
        }
    }

    /// As many entries come as go, for ever: what is allocated stays the same.
    #[test]
    fn a_turnover_takes_no_more_memory() {
        let cells = Cells::try_new(GROUPS, u32::MAX).unwrap();
        let item = |n: usize| place(2 * n, 1, 64);
        let mut most = 0;
        for n in 0..100_000 {
            let mut writer = cells.lock();
            writer.reserve().unwrap();
            writer.add(1, Stashed { place: item(n), copies: 1 });
            if let Some(old) = n.checked_sub(100) {
                let old = writer.longest(Wanted { item: item(old), mask: u32::MAX }).unwrap();
                writer.take(1, old);
            }
            drop(writer);
            if n == 10_000 {
                most = cells.heap_bytes(GROUPS);
            }
        }
        assert_eq!(cells.heap_bytes(GROUPS), most);
        assert!(most < 100 * 200, "{most} bytes for 100 entries");
    }

    /// Each entry comes under the hand.
    #[test]
    fn the_hand_goes_round() {
        let cells = Cells::try_new(GROUPS, u32::MAX).unwrap();
        let mut writer = cells.lock();
        for n in 0..30 {
            writer.reserve().unwrap();
            writer.add(0, Stashed { place: place(2 * n, 1, 64), copies: 1 });
        }
        let mut met = [false; 30];
        for _ in 0..200 {
            if let Some(next) = writer.next() {
                met[next.position / 2] = true;
            }
        }
        assert_eq!(met, [true; 30]);
    }
}
