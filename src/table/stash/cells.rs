//! A hash table of entries and how many copies there are of each, which many threads read while one writes.
//!
//! Open addressing with linear probing (Knuth, "The Art of Computer Programming", volume 3, section 6.4), by *lines* of
//! eight cells: an entry is in the first line that had room, from that of its hash on. A *cell* is two words:
//!
//! | word | bits | meaning |
//! |---|---|---|
//! | first | 0 to 31 | the entry as a slot holds it, in a growing table without its ring |
//! | | 32 to 38 | how many of the lowest bits of the position are known; 0 in a table of fixed size |
//! | | 39 to 63 | the number of copies; 0 in a cell without an entry |
//! | second | | what is known of the even one of the two positions |
//!
//! A word for each line has a *tag* for each cell, seven bits of the hash of its entry, as in Abseil's Swiss tables. The
//! eighth bits say which ways *pass* the line, those of entries that found no cell there: one bit for an eighth of all
//! ways, as in Boost's flat maps. A way ends at the first line that it does not pass. So most lookups of an
//! entry that is not there read one word of tags, and branch as the last one did.
//!
//! The way of an entry, line by line, depends on its core and its position, not on its value: so all values of a key
//! are met on one way. Entries of different lengths are on different ways, the longest of which is looked at first.
//!
//! **Readers take no lock.** The cell of an entry does not change while the entry is in the stash, unless the
//! number of lines is doubled. Then each entry is copied to where it will be found, the new number is stored, and the
//! first copy is taken out. A reader that used the old number compares it with the new one.

use super::super::geometry::{self, Place};
use crate::sync::array::{PieceArray, View};
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::{self, AtomicU64, Count, Mutex, MutexGuard, Ordering};
use crate::table::entry::Entry;

/// Cells in a line: one for each byte of a word. Two under loom.
const LINE: usize = if cfg!(loom) { 2 } else { 8 };
/// Words of a piece of the cells, as a power of two: 1 KiB. Two lines under loom.
const SHIFT: u32 = if cfg!(loom) { 3 } else { 7 };
/// Lines in a piece, as a power of two.
const LINES_SHIFT: u32 = SHIFT - 1 - LINE.ilog2();

/// The lowest bit of each byte.
const ONES: u64 = u64::MAX / 0xff;
/// The highest bit of each byte: above a tag.
const HIGHS: u64 = ONES << 7;
/// The highest bit of the byte of each cell of a line.
const CELLS: u64 = HIGHS >> (u64::BITS as usize - 8 * LINE);

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
    /// The number of lines in use: 0, or a power of two.
    lines: AtomicU64,
    /// A word for each line.
    tags: PieceArray<LINES_SHIFT>,
    /// Two words for each cell.
    words: PieceArray<SHIFT>,
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
    /// The cell at which the hand goes on.
    hand: usize,
    /// How many changes there were.
    changes: u64,
    /// The number of entries of each group of versions.
    of_groups: Box<[u32]>,
}

/// The highest bit of the byte of each cell of a line with this tag.
#[inline]
fn with_tag(tags: u64, tag: u64) -> u64 {
    let others = (tags ^ (ONES * tag)) | HIGHS;
    !(others - ONES) & CELLS
}

/// The lines of the way that begins here, in order.
#[inline]
fn way(home: usize, lines: usize) -> impl Iterator<Item = usize> {
    (0..lines).map(move |step| (home + step) & (lines - 1))
}

/// The cells of a line.
fn cells_of(line: usize) -> impl Iterator<Item = usize> + Clone {
    line * LINE..(line + 1) * LINE
}

/// The cells as the writer sees them.
#[derive(Clone, Copy)]
struct Array<'a> {
    tags: View<'a, LINES_SHIFT>,
    words: View<'a, SHIFT>,
    /// The number of lines.
    lines: usize,
}

impl Array<'_> {
    /// The number of cells.
    fn len(self) -> usize {
        self.lines * LINE
    }

    /// The first word of a cell: an entry, unless the number of copies is 0.
    fn first(self, at: usize) -> u64 {
        // Relaxed, here and below: stored under the mutex.
        self.words.word(2 * at).load(Ordering::Relaxed)
    }

    fn second(self, at: usize) -> u64 {
        self.words.word(2 * at + 1).load(Ordering::Relaxed)
    }

    /// The entry in a cell, if there is one.
    fn held(self, at: usize) -> Option<CellWords> {
        let first = self.first(at);
        (copies_in(first) > 0).then(|| [first, self.second(at)])
    }

    fn tags(self, line: usize) -> u64 {
        self.tags.word(line).load(Ordering::Relaxed)
    }

    fn set_first(self, at: usize, first: u64, order: Ordering) {
        self.words.word(2 * at).store(first, order);
    }

    /// Release, as in `put`.
    fn set_tags(self, line: usize, tags: u64) {
        self.tags.word(line).store(tags, Ordering::Release);
    }

    fn mask(self) -> usize {
        self.lines.wrapping_sub(1)
    }

    /// How many lines after another one this line is.
    fn distance(self, from: usize, line: usize) -> usize {
        line.wrapping_sub(from) & self.mask()
    }
}

/// All that tells one entry at a position from others, as the first word of its cell has it.
#[inline]
fn name(entry: Entry) -> u64 {
    u64::from(entry.bits()) | u64::from(entry.known()) << KNOWN
}

/// The tag of an entry with this hash.
#[inline]
fn tag(hash: u64) -> u64 {
    hash >> 57
}

/// What says that the way of an entry with this hash passes a line, in the word of its tags.
#[inline]
fn passing(hash: u64) -> u64 {
    1 << 7 << (8 * (hash >> 54 & 7))
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
            lines: AtomicU64::new(0),
            tags: PieceArray::try_new()?,
            words: PieceArray::try_new()?,
            lengths: AtomicU64::new(0),
            entries: Count::new(0),
            copies: AtomicU64::new(0),
            key,
            seed: sync::random_seed(),
            owned: Mutex::new(Owned {
                hand: 0,
                changes: 0,
                of_groups: of_groups.into_boxed_slice(),
            }),
        })
    }

    /// By which the line is chosen at which the way of an entry begins, and its tag.
    #[inline]
    fn hash(&self, name: u64, position: u64) -> u64 {
        let key = name & (u64::from(self.key) | LENGTH);
        geometry::mix(position ^ key.rotate_left(KNOWN) ^ self.seed)
    }

    /// Calls `look` with an item of each length of which there may be entries that are wanted, the longest first, until it
    /// says no. Says whether it never did.
    #[inline]
    fn of_each_length(&self, item: Entry, mut look: impl FnMut(Entry) -> bool) -> bool {
        if item.known() == 0 {
            return look(item);
        }
        // Relaxed: stored before the version was bumped that let the caller look here, or under the mutex.
        let mut lengths = self.lengths.load(Ordering::Relaxed);
        while let Some(length) = lengths.checked_ilog2() {
            lengths ^= 1 << length;
            if length < item.known() && !look(Entry::knowing(item.bits().into(), length + 1)) {
                return false;
            }
        }
        true
    }

    /// Whether certainly no entry is there that is wanted. `false`: there is one, or the number of lines was doubled
    /// meanwhile. Takes no lock.
    #[expect(clippy::inline_always, reason = "as for `stash_lacks`")]
    #[inline(always)]
    pub(super) fn lacks(&self, wanted: Wanted) -> bool {
        // Acquire and Relaxed, as in `read`.
        let lines = self.lines.load(Ordering::Acquire);
        let item = wanted.item.entry;
        let lacks = if item.known() == 0 {
            self.lacks_length(lines, item, wanted)
        } else {
            self.of_each_length(item, |entry| self.lacks_length(lines, entry, wanted))
        };
        lacks && self.lines.load(Ordering::Relaxed) == lines
    }

    /// As `lacks`, of the length of `entry`: mostly by the tags of one line.
    #[expect(clippy::inline_always, reason = "as for `stash_lacks`")]
    #[inline(always)]
    fn lacks_length(&self, lines: u64, entry: Entry, wanted: Wanted) -> bool {
        if lines == 0 {
            return true;
        }
        let hash = self.hash(name(entry), prefix(wanted.item.position, entry));
        // Acquire, as in `scan`.
        let tags = self.tags.view().word((hash & (lines - 1)) as usize).load(Ordering::Acquire);
        (with_tag(tags, tag(hash)) | tags & passing(hash)) == 0 || !self.holds(lines, entry, wanted)
    }

    #[cold]
    #[inline(never)]
    fn holds(&self, lines: u64, entry: Entry, wanted: Wanted) -> bool {
        let mut holds = false;
        self.scan_length(lines, entry, wanted, |_| holds = true);
        holds
    }

    /// Calls `found` with each entry that is wanted, the longest first.
    fn scan(&self, lines: u64, wanted: Wanted, mut found: impl FnMut(Found)) {
        self.of_each_length(wanted.item.entry, |entry| {
            self.scan_length(lines, entry, wanted, &mut found);
            true
        });
    }

    /// As `scan`, of the length of `entry`.
    #[inline]
    fn scan_length(
        &self,
        lines: u64,
        entry: Entry,
        Wanted { item, mask }: Wanted,
        mut found: impl FnMut(Found),
    ) {
        let (name, position) = (name(entry), prefix(item.position, entry));
        let (hash, mask) = (self.hash(name, position), u64::from(mask) | LENGTH);
        let (tags, words) = (self.tags.view(), self.words.view());
        for line in way(hash as usize, lines as usize) {
            // Acquire, as all loads here: they pair with the stores of the writer. Who misses an entry since it was
            // taken out sees the version that was bumped before, or the new number of lines.
            let tags = tags.word(line).load(Ordering::Acquire);
            let mut equal = with_tag(tags, tag(hash));
            while equal != 0 {
                let at = line * LINE + equal.trailing_zeros() as usize / 8;
                equal &= equal - 1;
                // SeqCst: pairs with the store of `take`.
                let first = words.word(2 * at).load(Ordering::SeqCst);
                if (first ^ name) & mask == 0
                    && first >> COPIES != 0
                    && words.word(2 * at + 1).load(Ordering::Acquire) == position
                {
                    let (bits, known, copies) = (first as u32, entry.known(), copies_in(first));
                    found(Found { at, bits, known, copies });
                }
            }
            if tags & passing(hash) == 0 {
                break;
            }
        }
    }

    /// Calls `found` with each entry that is wanted. `false`: the number of lines was doubled meanwhile, so some may
    /// have been missed. Takes no lock.
    pub(super) fn read(&self, wanted: Wanted, found: impl FnMut(Found)) -> bool {
        // Acquire: pairs with the store of `grow`. Whoever sees the number sees the lines.
        let lines = self.lines.load(Ordering::Acquire);
        self.scan(lines, wanted, found);
        // Relaxed: the loads of the cells keep it behind them.
        self.lines.load(Ordering::Relaxed) == lines
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
        self.tags.heap_bytes() + self.words.heap_bytes() + groups * size_of::<u32>()
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
    fn lines(&self) -> u64 {
        // Relaxed: stored under the mutex.
        self.cells.lines.load(Ordering::Relaxed)
    }

    fn array(&self) -> Array<'a> {
        self.cells.array(self.lines())
    }

    /// Calls `found` with each entry that is wanted, the longest first.
    pub(super) fn each(&self, wanted: Wanted, found: impl FnMut(Found)) {
        self.cells.scan(self.lines(), wanted, found);
    }

    /// The longest of the entries that are wanted.
    pub(super) fn longest(&self, wanted: Wanted) -> Option<Found> {
        let mut longest = None;
        self.each(wanted, |found| {
            longest.get_or_insert(found);
        });
        longest
    }

    /// The number of copies of this entry.
    pub(super) fn copies_of(&self, place: Place) -> usize {
        let (array, wanted) = (self.array(), Stashed { place, copies: 0 }.words());
        self.cells.find(array, wanted).map_or(0, |at| copies_in(array.first(at)))
    }

    /// Whether there is room for one more entry.
    pub(super) fn has_room(&self) -> bool {
        8 * (self.len() + 1) <= 7 * self.array().len()
    }

    /// Makes room for one more entry.
    pub(super) fn reserve(&mut self) -> Result<(), NoMemory> {
        if self.has_room() { Ok(()) } else { self.grow() }
    }

    /// Some copies more of an entry, of the group with this number. If it is a new one, there is room. Says whether it
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
        if let Some(at) = self.cells.find(array, new.words()) {
            // Release, as in `put`.
            array.set_first(at, array.first(at) + ((copies as u64) << COPIES), Ordering::Release);
            return false;
        }
        self.cells.put(array, new.words());
        self.cells.entries.set(self.cells.entries.get() + 1);
        self.owned.of_groups[group] += 1;
        self.owned.of_groups[group] == 1
    }

    /// Whether nothing of its group is left when one copy of this entry is taken out.
    pub(super) fn is_last(&self, group: usize, found: Found) -> bool {
        self.owned.of_groups[group] == 1 && found.copies == 1
    }

    /// Takes one copy of an entry out.
    pub(super) fn take(&mut self, group: usize, Found { at, copies, .. }: Found) {
        let array = self.array();
        self.owned.changes += 1;
        let words @ [first, _] = [array.first(at), array.second(at)];
        // SeqCst: the removal takes effect here, as that from a word does by its store. Pairs with the load of `scan`.
        array.set_first(at, first - (1 << COPIES), Ordering::SeqCst);
        // Relaxed, both: a number that orders nothing, stored under the mutex.
        let left = self.cells.copies.load(Ordering::Relaxed) - 1;
        self.cells.copies.store(left, Ordering::Relaxed);
        if copies == 1 {
            self.cells.entries.set(self.cells.entries.get() - 1);
            self.owned.of_groups[group] -= 1;
            self.cells.forget_way(array, words, at / LINE);
        }
    }

    /// Takes everything out.
    pub(super) fn clear(&mut self) {
        let array = self.array();
        (0..array.len()).for_each(|at| array.set_first(at, 0, Ordering::Release));
        (0..array.lines).for_each(|line| array.set_tags(line, 0));
        self.owned.changes += 1;
        self.owned.of_groups.fill(0);
        self.cells.entries.set(0);
        // Relaxed: a number that orders nothing.
        self.cells.copies.store(0, Ordering::Relaxed);
    }

    /// All entries.
    pub(super) fn entries(&self) -> impl Iterator<Item = Stashed> {
        let array = self.array();
        (0..array.len()).filter_map(move |at| array.held(at)).map(Stashed::of_words)
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
        let array = self.array();
        (0..array.len().min(HAND_STEPS)).find_map(|_| {
            let at = self.owned.hand % array.len();
            self.owned.hand = at + 1;
            array.held(at).map(|words| Stashed::of_words(words).place)
        })
    }

    /// Doubles the number of lines. Copy, publish, take out: a reader finds each entry by either number, or sees that
    /// the number is another one.
    fn grow(&mut self) -> Result<(), NoMemory> {
        let (cells, old) = (self.cells, self.array());
        let lines = if old.lines == 0 { 1 << LINES_SHIFT } else { 2 * old.lines };
        cells.tags.try_reach(lines)?;
        cells.words.try_reach(2 * LINE * lines)?;
        let new = cells.array(lines as u64);
        cells.copy_moved(new, old.len());
        // Release: pairs with the load in `read`.
        cells.lines.store(lines as u64, Ordering::Release);
        cells.take_moved_out(new);
        Ok(())
    }
}

/// For the writer.
impl Cells {
    fn array(&self, lines: u64) -> Array<'_> {
        Array { tags: self.tags.view(), words: self.words.view(), lines: lines as usize }
    }

    /// The hash of an entry with these words.
    fn hash_of(&self, [first, second]: CellWords) -> u64 {
        self.hash(first & NAME, second)
    }

    /// The line at which its way begins.
    fn home(&self, array: Array<'_>, words: CellWords) -> usize {
        self.hash_of(words) as usize & array.mask()
    }

    /// The cell at which the way of an entry meets it.
    fn find(&self, array: Array<'_>, wanted: CellWords) -> Option<usize> {
        let hash = self.hash_of(wanted);
        for line in way(hash as usize, array.lines) {
            let is_wanted = |at: &usize| {
                let first = array.first(*at);
                (first ^ wanted[0]) & NAME == 0
                    && copies_in(first) > 0
                    && array.second(*at) == wanted[1]
            };
            let found = cells_of(line).find(is_wanted);
            if found.is_some() || array.tags(line) & passing(hash) == 0 {
                return found;
            }
        }
        None
    }

    /// Copies the entries of the first `cells` cells that are not on their way any more.
    fn copy_moved(&self, array: Array<'_>, cells: usize) {
        for words in (0..cells).filter_map(|at| array.held(at)) {
            if self.find(array, words).is_none() {
                self.put(array, words);
            }
        }
    }

    /// Takes all copies out but those that are met on the ways of entries. (A copy may lie behind the first one: if the
    /// lines between had no room, and only the copy on its way passed them.)
    fn take_moved_out(&self, array: Array<'_>) {
        for at in 0..array.len() {
            if let Some(words) = array.held(at)
                && self.find(array, words) != Some(at)
            {
                // Release, as in `put`.
                array.set_first(at, words[0] & NAME, Ordering::Release);
            }
        }
        (0..array.lines).for_each(|line| self.update_passing(array, line));
    }

    /// Stores an entry in the first cell of its way that has none.
    fn put(&self, array: Array<'_>, words @ [first, second]: CellWords) {
        let hash = self.hash_of(words);
        for line in way(hash as usize, array.lines) {
            let tags = array.tags(line);
            let mut cells = cells_of(line);
            let Some(at) = cells.find(|at| copies_in(array.first(*at)) == 0) else {
                array.set_tags(line, tags | passing(hash));
                continue;
            };
            // Release, all: they pair with the loads in `scan`.
            array.words.word(2 * at + 1).store(second, Ordering::Release);
            array.set_first(at, first, Ordering::Release);
            let shift = 8 * (at % LINE);
            array.set_tags(line, tags & !(0x7f << shift) | tag(hash) << shift);
            return;
        }
        unreachable!("an eighth of the cells is free");
    }

    /// After an entry with these words was taken out of this line: says of the lines that it passed whether the ways of
    /// others of its eighth pass them.
    fn forget_way(&self, array: Array<'_>, words: CellWords, line: usize) {
        let (hash, home) = (self.hash_of(words), self.home(array, words));
        let bit = passing(hash);
        let nth = |distance: usize| (home + distance) & array.mask();
        // How far behind `home` the first of these ways begins that come to a line.
        let first_way = |distance: usize| {
            let begin = |words: CellWords| {
                let way = array.distance(self.home(array, words), nth(distance));
                (passing(self.hash_of(words)) == bit).then(|| distance.saturating_sub(way))
            };
            cells_of(nth(distance)).filter_map(|at| array.held(at)).filter_map(begin).min()
        };
        let passed = array.distance(home, line);
        if passed == 0 {
            return;
        }
        let mut begin = usize::MAX;
        for distance in passed..array.lines {
            begin = begin.min(first_way(distance).unwrap_or(usize::MAX));
            if begin == 0 || array.tags(nth(distance)) & bit == 0 {
                break;
            }
        }
        for distance in (0..passed).rev() {
            if begin == 0 {
                break;
            }
            if begin > distance {
                array.set_tags(nth(distance), array.tags(nth(distance)) & !bit);
            }
            begin = begin.min(first_way(distance).unwrap_or(usize::MAX));
        }
    }

    /// Finds out again whose ways pass a line, after entries were taken out.
    fn update_passing(&self, array: Array<'_>, line: usize) {
        let mut passes = 0;
        for distance in 1..array.lines {
            let next = (line + distance) & array.mask();
            for words in cells_of(next).filter_map(|at| array.held(at)) {
                let hash = self.hash_of(words);
                if array.distance(hash as usize & array.mask(), next) >= distance {
                    passes |= passing(hash);
                }
            }
            if array.tags(next) & HIGHS == 0 {
                break;
            }
        }
        let tags = array.tags(line);
        if tags & HIGHS != passes {
            array.set_tags(line, tags & !HIGHS | passes);
        }
    }
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
                assert_eq!(writer.entries().count(), model.len());
                assert_eq!(cells.copies(), model.values().sum::<usize>());
                assert_eq!(writer.copies_of(item), *model.get(&name(item)).unwrap_or(&0));
                if step % 3000 == 2999 {
                    drop(writer);
                    cells.lock().clear();
                    model.clear();
                }
            }
        }
    }

    /// Keys with several values, or with so many that their ways go all around.
    #[test]
    fn each_entry_has_one_cell() {
        for seed in 0..20 {
            let mut random = SmallRng::seed_from_u64(seed);
            let cells = Cells::try_new(GROUPS, KEY).unwrap();
            let mut writer = cells.lock();
            let mut items = BTreeMap::new();
            let (keys, values) = if seed % 2 == 0 { (300, 16) } else { (4, 400) };
            for step in 0..3000 {
                if random.random_bool(if step < 1500 { 0.8 } else { 0.3 }) {
                    let value = random.random_range(0..values) << 12;
                    let item = place(2 * random.random_range(0..keys), 1 | value, 0);
                    writer.reserve().unwrap();
                    writer.add(0, Stashed { place: item, copies: 1 });
                    *items.entry(Stashed { place: item, copies: 0 }.words()).or_insert(0) += 1;
                } else if let Some((&words, _)) = items.iter().nth(items.len() / 2) {
                    let item = Stashed::of_words(words).place;
                    let found = writer.longest(Wanted { item, mask: u32::MAX });
                    writer.take(0, found.expect("it is there"));
                    items.entry(words).and_modify(|copies| *copies -= 1);
                    items.retain(|_, copies| *copies > 0);
                }
                assert_eq!(writer.entries().count(), items.len(), "seed {seed}, step {step}");
                if step % 10 == 0 {
                    let held: BTreeMap<_, _> = writer
                        .entries()
                        .map(|held| (Stashed { copies: 0, ..held }.words(), held.copies))
                        .collect();
                    assert_eq!(held, items, "seed {seed}, step {step}");
                }
                if step % 50 == 0 {
                    for (&words, &copies) in &items {
                        assert_eq!(writer.copies_of(Stashed::of_words(words).place), copies);
                    }
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
