//! A hash table of entries and how many copies there are of each, which many threads read while one writes.
//!
//! **Invariant:** an entry is in one cell only, and a reader that looks for it while it stays there finds it, whatever
//! comes and goes beside it.
//!
//! Open addressing with linear probing (Knuth, "The Art of Computer Programming", volume 3, section 6.4), by *lines* of
//! eight cells: an entry is in the first line that had room, from that of its hash on. [`packing`] says how a *cell* holds
//! an entry: in one word in tables of fixed size, in two in growing tables.
//!
//! A line has one more word, its *head*:
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 to 55 | marks | a Bloom filter of the entries whose ways begin at the line, wherever their cells are. Each entry has three bits, which its hash names (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", JEA 2009) |
//! | 56 to 63 | passing | which ways *pass* the line: those of entries that found no cell there. One bit for an eighth of all ways, as in Boost's flat maps. A way ends at the first line that it does not pass |
//!
//! A lookup of an entry reads the marks first. If the entry is not there, they mostly say so: 97 % of the time where the
//! cells are as full as they get, and 99 % where they are half as full.
//!
//! The way of an entry, line by line, depends on its core and its position, not on its value: so all values of a key
//! are met on one way. Entries of different lengths are on different ways, the longest of which is looked at first.
//!
//! **Readers take no lock.** The cell of an entry does not change while the entry is in the stash, unless the
//! number of lines is doubled or halved. Then each entry is copied to where it will be found, the new number is stored,
//! and the first copy is taken out. A reader that used the old number compares it with the new one, and how often it
//! has changed: so it also sees that the number has become the old one again.

pub(in crate::table) mod packing;

use core::{iter, mem};

pub(crate) use self::packing::MAX_COPIES;
use self::packing::{Packing, Sought, is_wide};
use crate::error::InsertError;
use crate::layout::Slot;
use crate::sync::array::{PieceArray, Words};
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::{AtomicU64, Count, Mutex, MutexGuard, Ordering};
use crate::table::placing::Found;
use crate::table::placing::entry::Entry;
use crate::table::placing::geometry::{self, Place};

/// Cells in a line: one for each byte of a word. Two in models.
const LINE: usize = if cfg!(coucal_model) { 2 } else { 8 };
/// Cells of a piece, as a power of two: 512 bytes. Two lines in models.
const SHIFT: u32 = if cfg!(coucal_model) { 2 } else { 6 };
/// Lines in a piece, as a power of two.
const LINES_SHIFT: u32 = SHIFT - LINE.ilog2();
/// The least number of lines, but for none.
const FEWEST_LINES: usize = 1 << LINES_SHIFT;

/// The bits of a head that are marks.
const MARKS: u64 = (1 << PASSING) - 1;
/// Where the bits of a head begin that say which ways pass the line.
const PASSING: u32 = 56;

/// Where the parts of the first of the words that name an entry begin.
const KNOWN: u32 = 32;
const COPIES: u32 = 39;
/// Mask of the length of an entry.
const LENGTH: u64 = (1 << COPIES) - (1 << KNOWN);
/// Mask of the entry and its length.
const NAME: u64 = (1 << COPIES) - 1;

/// An entry with its copies, as the format of snapshots has it: bits 0 to 31 of the first word are the entry as a slot
/// holds it, in a growing table without its ring; bits 32 to 38 how many of the lowest bits of the position are known; the
/// others the number of copies. The second word is what is known of the even position.
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
pub(in crate::table) struct StashQuery {
    /// The item at its even position.
    pub(in crate::table) item: Place,
    /// Mask of the bits of an entry that must be equal: all of them, or all but those of the value.
    pub(in crate::table) mask: u32,
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(in crate::table) struct Match {
    at: usize,
    /// Its slot is what one would hold of it, in a growing table without the ring.
    pub(in crate::table) entry: Found,
    pub(in crate::table) copies: usize,
}

pub(in crate::table) struct Cells {
    /// The number of lines in use, 0 or a power of two, in the lower half; and in the upper one how often it has changed.
    lines: AtomicU64,
    /// The head of each line.
    heads: PieceArray<LINES_SHIFT>,
    /// The first word of each cell.
    words: PieceArray<SHIFT>,
    /// The second word of each cell. There are none while each entry fits into one word.
    seconds: PieceArray<SHIFT>,
    packing: Packing,
    /// Bit n is set if there may be entries that know n + 1 bits, or in a table of fixed size bit 0.
    lengths: AtomicU64,
    /// The number of entries.
    entries: Count,
    /// The number of their copies.
    copies: AtomicU64,
    /// The bits of an entry that are not its value.
    key: u32,
    owned: Mutex<WriterState>,
}

/// What only the writer uses.
struct WriterState {
    /// How many changes there were.
    changes: u64,
    /// The number of entries of each group of versions.
    of_groups: Box<[u32]>,
}

/// How many cells were seen one after the other, of so many lines. Only where that number changes do entries get to
/// other cells.
#[derive(Default)]
pub(in crate::table) struct Progress {
    cells: usize,
    lines: u64,
}

/// The lines of the way that begins here, in order.
#[inline]
fn way(home: usize, lines: usize) -> impl Iterator<Item = usize> {
    (0..lines).map(move |step| home.wrapping_add(step) & (lines - 1))
}

/// The cells of a line.
fn cells_of(line: usize) -> impl Iterator<Item = usize> + Clone {
    line * LINE..(line + 1) * LINE
}

/// The cells as the writer sees them.
#[derive(Clone, Copy)]
struct Array<'a> {
    heads: Words<'a, LINES_SHIFT>,
    words: Words<'a, SHIFT>,
    seconds: Words<'a, SHIFT>,
    packing: Packing,
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
        self.words.word(at).load(Ordering::Relaxed)
    }

    fn second(self, at: usize) -> u64 {
        self.seconds.word(at).load(Ordering::Relaxed)
    }

    /// The entry in a cell, or the one that was there last, with no copies.
    fn last(self, at: usize) -> CellWords {
        self.packing.unpack(self.first(at), || self.second(at))
    }

    /// The number of copies of the entry in a cell; 0 if there is no entry.
    fn copies(self, at: usize) -> usize {
        self.packing.copies(self.first(at))
    }

    /// The entry in a cell, if there is one.
    fn held(self, at: usize) -> Option<CellWords> {
        (self.copies(at) > 0).then(|| self.last(at))
    }

    /// Whether a cell holds the entry that is sought, at this position.
    fn holds(self, at: usize, sought: Sought, position: u64) -> bool {
        let first = self.first(at);
        sought.is_named_by(first)
            && self.packing.copies(first) > 0
            && (!is_wide(first) || self.second(at) == position)
    }

    fn head(self, line: usize) -> u64 {
        self.heads.word(line).load(Ordering::Relaxed)
    }

    /// Stores the head of a line. Its marks are at each instant those of all entries whose ways begin there, and maybe others.
    fn set_head(self, line: usize, head: u64) {
        // Release: pairs with the loads in `is_unmarked` and `scan`.
        self.heads.word(line).store(head, Ordering::Release);
    }

    fn set_first(self, at: usize, first: u64, order: Ordering) {
        self.words.word(at).store(first, order);
    }

    /// Stores the number of copies of an entry: fewer than there are.
    fn set_fewer_copies(self, at: usize, copies: usize, order: Ordering) {
        let first = self.packing.with_copies(self.first(at), copies);
        self.set_first(at, first.expect("fewer fit"), order);
    }

    /// Stores an entry in a cell that has none, or that one with other copies.
    fn store(self, at: usize, words: CellWords) {
        // Release, all: they pair with the loads in `scan`.
        let first = self.packing.in_one_word(words).unwrap_or_else(|| {
            self.seconds.word(at).store(words[1], Ordering::Release);
            Packing::wide(words)
        });
        self.set_first(at, first, Ordering::Release);
    }

    /// The lines from this one on to the first that no way passes: all that the ways that begin here may meet.
    fn run(self, home: usize) -> impl Iterator<Item = usize> {
        let mut is_passed = true;
        way(home, self.lines)
            .take_while(move |&line| mem::replace(&mut is_passed, self.head(line) > MARKS))
    }

    /// Stores the marks of all lines.
    fn set_all_marks(self, marks: Vec<u64>) {
        marks.into_iter().enumerate().for_each(|(line, marks)| self.set_marks(line, marks));
    }

    /// Stores the marks of a line.
    fn set_marks(self, line: usize, marks: u64) {
        self.set_head(line, self.head(line) & !MARKS | marks);
    }

    /// Stores which eighths of all ways pass a line.
    fn set_passing(self, line: usize, passing: u64) {
        let head = self.head(line);
        if head & !MARKS != passing {
            self.set_head(line, head & MARKS | passing);
        }
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

/// The hash of an entry, by its name without the value: names the line at which its way begins, the eighth of all ways
/// and its marks. Who cannot predict the hashes of items cannot choose entries that have the same.
#[inline]
fn hash(key: u64, position: u64) -> u64 {
    geometry::mix(position ^ key.rotate_left(KNOWN))
}

/// Which eighth of all ways that of an entry with this hash is in.
#[inline]
fn eighth(hash: u64) -> usize {
    (hash >> 54 & 7) as usize
}

/// The bit of a head that says that ways of this eighth pass the line.
#[inline]
fn passing_of(eighth: usize) -> u64 {
    1 << PASSING << eighth
}

/// The same of the way of an entry with this hash.
#[inline]
fn passing(hash: u64) -> u64 {
    passing_of(eighth(hash))
}

/// The marks of an entry with this hash.
#[inline]
fn marks_of(hash: u64) -> u64 {
    let mark = |byte: u32| 1_u64 << (((hash >> byte & 0xff) * u64::from(PASSING)) >> 8);
    mark(32) | mark(40) | mark(48)
}

/// The number of copies in the first of the words of an entry.
#[inline]
fn copies_in(first: u64) -> usize {
    (first >> COPIES) as usize
}

/// The bits of a position that an entry knows of which so many are known; 0 in a table of fixed size, where a position
/// is a bucket: all of them. (Bytes that nobody has checked may say more than 64.)
#[inline]
pub(crate) fn prefix(position: u64, known: u32) -> u64 {
    position & u64::MAX >> (u64::BITS.wrapping_sub(known) % u64::BITS)
}

impl Stashed {
    /// As the words of a cell.
    pub(crate) fn words(self) -> CellWords {
        let Self { place: Place { position, entry }, copies } = self;
        [name(entry) | (copies as u64) << COPIES, prefix(position, entry.known())]
    }

    /// That of the words of a cell.
    pub(crate) fn of_words([first, second]: CellWords) -> Self {
        let known = (first & LENGTH) >> KNOWN;
        let entry = Entry::knowing(first & u64::from(u32::MAX), known as u32);
        Self { place: Place { position: second, entry }, copies: copies_in(first) }
    }

    /// By which entries are told apart, and put in order: all of one length follow each other.
    pub(crate) fn order([first, second]: CellWords) -> (u64, u64, u64) {
        (first & LENGTH, second, first & !LENGTH & NAME)
    }
}

impl Cells {
    /// For the entries of this number of groups, of which the bits `key` are not the value.
    pub(in crate::table) fn try_new(
        groups: usize,
        key: u32,
        packing: Packing,
    ) -> Result<Self, NoMemory> {
        let mut of_groups = try_with_capacity(groups)?;
        of_groups.resize(groups, 0);
        Ok(Self {
            lines: AtomicU64::new(0),
            heads: PieceArray::new(),
            words: PieceArray::new(),
            seconds: PieceArray::new(),
            packing,
            lengths: AtomicU64::new(0),
            entries: Count::new(0),
            copies: AtomicU64::new(0),
            key,
            owned: Mutex::new(WriterState { changes: 0, of_groups: of_groups.into_boxed_slice() }),
        })
    }

    /// The hash of an entry, by its name with the value.
    #[inline]
    fn hash(&self, name: u64, position: u64) -> u64 {
        hash(name & (u64::from(self.key) | LENGTH), position)
    }

    /// Returns the item with each length of which there may be entries that are query, the longest first.
    #[inline(always)]
    fn of_each_length(&self, item: Entry) -> impl Iterator<Item = Entry> {
        let known = item.known();
        let mut lengths = if known == 0 {
            1
        } else {
            // Relaxed: stored before the version was bumped that let the caller look here, or under the mutex.
            self.lengths.load(Ordering::Relaxed) & (u64::MAX >> (u64::BITS - known))
        };
        iter::from_fn(move || {
            let length = lengths.checked_ilog2()?;
            lengths ^= 1 << length;
            Some(Entry::knowing(item.bits().into(), known.min(length + 1)))
        })
    }

    /// Whether the marks say that no entry of a key is there, which then is certain. The key is an item whose bits of the
    /// value are 0. `false`: there may be one, or the number of lines has changed meanwhile. Takes no lock.
    #[inline(always)]
    pub(in crate::table) fn marks_lack(&self, key: Place) -> bool {
        // Acquire and Relaxed, as in `read`.
        let lines = self.lines.load(Ordering::Acquire);
        let lacks = |entry| self.is_unmarked(lines, entry, key.position);
        // A table of fixed size has no loop.
        let lacks = if key.entry.known() == 0 {
            lacks(key.entry)
        } else {
            self.of_each_length(key.entry).all(lacks)
        };
        lacks && self.lines.load(Ordering::Relaxed) == lines
    }

    /// Whether the line at which the way of this entry begins lacks one of its marks.
    #[inline(always)]
    fn is_unmarked(&self, lines: u64, entry: Entry, position: u64) -> bool {
        let hash = hash(name(entry), prefix(position, entry.known()));
        let line = (hash as u32 & (lines as u32).wrapping_sub(1)) as usize;
        // Not there: there are no lines. (After `clear` there may be marks without lines, of no entry.)
        let Some(head) = self.heads.view().get(line) else {
            return true;
        };
        // Acquire: pairs with the store of `set_head`. Who misses marks since they were taken back sees the version that
        // was bumped before, or the new number of lines.
        marks_of(hash) & !head.load(Ordering::Acquire) != 0
    }

    /// As `marks_lack`. Looks at the cells where the marks do not tell.
    #[inline(always)]
    pub(in crate::table) fn lacks(&self, key: Place) -> bool {
        self.marks_lack(key) || self.cells_lack(key.position, key.entry)
    }

    #[cold]
    #[inline(never)]
    fn cells_lack(&self, position: u64, entry: Entry) -> bool {
        let mut holds = false;
        let query = StashQuery { item: Place { position, entry }, mask: self.key };
        self.read(query, |_| holds = true) && !holds
    }

    /// Calls `found` with each entry that is query, the longest first.
    fn scan(&self, lines: u64, query: StashQuery, mut found: impl FnMut(Match)) {
        for entry in self.of_each_length(query.item.entry) {
            self.scan_length(lines, entry, query, &mut found);
        }
    }

    /// As `scan`, of the length of `entry`.
    #[inline]
    fn scan_length(
        &self,
        lines: u64,
        entry: Entry,
        StashQuery { item, mask }: StashQuery,
        mut found: impl FnMut(Match),
    ) {
        let position = prefix(item.position, entry.known());
        let (hash, sought) =
            (self.hash(name(entry), position), self.packing.sought(entry, position, mask));
        let (heads, words, mut marks) = (self.heads.view(), self.words.view(), marks_of(hash));
        for line in way(hash as usize, lines as u32 as usize) {
            // Acquire, as all loads here: they pair with the stores of the writer. Who misses an entry since it was
            // taken out sees the version that was bumped before, or the new number of lines.
            let head = heads.word(line).load(Ordering::Acquire);
            // Of the first line: the marks say that there is no such entry.
            if mem::take(&mut marks) & !head != 0 {
                break;
            }
            for at in cells_of(line) {
                // SeqCst: pairs with the store of `take`.
                let first = words.word(at).load(Ordering::SeqCst);
                let copies = self.packing.copies(first);
                if sought.is_named_by(first)
                    && copies > 0
                    && (!is_wide(first) || self.second(at) == position)
                {
                    let slot = Slot::new(self.packing.bits(first).into());
                    found(Match { at, entry: Found { slot, known: entry.known() }, copies });
                }
            }
            if head & passing(hash) == 0 {
                break;
            }
        }
    }

    /// The second word of a cell whose first one says that there is one.
    #[inline]
    fn second(&self, at: usize) -> u64 {
        // Acquire: pairs with the store of `store`. The array is looked up after the first word was read, so it has it.
        self.seconds.view().word(at).load(Ordering::Acquire)
    }

    /// Calls `found` with each entry that is query. `false`: the number of lines has changed meanwhile, so some may have
    /// been missed. Takes no lock.
    pub(in crate::table) fn read(&self, query: StashQuery, found: impl FnMut(Match)) -> bool {
        // Acquire: pairs with the store of `set_lines`. Whoever sees the number sees the lines.
        let lines = self.lines.load(Ordering::Acquire);
        self.scan(lines, query, found);
        // Relaxed: the loads of the cells keep it behind them.
        self.lines.load(Ordering::Relaxed) == lines
    }

    /// The number of entries: for a decision that is right either way.
    pub(in crate::table) fn entries(&self) -> usize {
        self.entries.hint() as usize
    }

    /// The number of copies: exact when no thread writes.
    pub(in crate::table) fn copies(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.copies.load(Ordering::Relaxed)
    }

    pub(in crate::table) fn heap_bytes(&self, groups: usize) -> usize {
        let words = self.words.heap_bytes() + self.seconds.heap_bytes();
        self.heads.heap_bytes() + words + groups * size_of::<u32>()
    }

    /// Waits while another thread writes.
    pub(in crate::table) fn lock(&self) -> Writer<'_> {
        Writer { cells: self, owned: self.owned.lock() }
    }
}

/// The right to change the cells. RAII guard: gives it back on drop.
pub(in crate::table) struct Writer<'a> {
    cells: &'a Cells,
    owned: MutexGuard<'a, WriterState>,
}

impl<'a> Writer<'a> {
    fn lines(&self) -> u64 {
        // Relaxed: stored under the mutex.
        self.cells.lines.load(Ordering::Relaxed)
    }

    fn array(&self) -> Array<'a> {
        self.cells.array(self.lines())
    }

    /// Calls `found` with each entry that is query, the longest first.
    pub(in crate::table) fn each(&self, query: StashQuery, found: impl FnMut(Match)) {
        self.cells.scan(self.lines(), query, found);
    }

    /// The longest of the entries that are query.
    pub(in crate::table) fn longest(&self, query: StashQuery) -> Option<Match> {
        let mut longest = None;
        self.each(query, |found| {
            longest.get_or_insert(found);
        });
        longest
    }

    /// The number of copies of this entry.
    pub(in crate::table) fn copies_of(&self, place: Place) -> usize {
        let (array, query) = (self.array(), Stashed { place, copies: 0 }.words());
        self.cells.find(array, query).map_or(0, |at| array.copies(at))
    }

    /// Whether there is room for some more entries.
    pub(in crate::table) fn has_room(&self, more: usize) -> bool {
        8 * (self.len() + more) <= 7 * self.array().len()
    }

    /// Makes room for some more entries.
    pub(in crate::table) fn reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        while !self.has_room(more) {
            self.resize((2 * self.array().lines).max(FEWEST_LINES))?;
        }
        Ok(())
    }

    /// Makes room for the second word of this entry, if it needs one.
    fn make_room_for(&self, words: CellWords) -> Result<(), NoMemory> {
        let cells = self.cells;
        if cells.packing.in_one_word(words).is_some() {
            return Ok(());
        }
        cells.seconds.try_reach(self.array().len())
    }

    /// Some copies more of an entry, of the group with this number. Says whether it is a new one. If it fails, nothing
    /// has changed.
    pub(in crate::table) fn add(
        &mut self,
        group: usize,
        new: Stashed,
    ) -> Result<bool, InsertError> {
        let no_memory = |_| InsertError::NoMemoryToStore;
        let Some(at) = self.cells.find(self.array(), new.words()) else {
            self.reserve(1).map_err(no_memory)?;
            self.make_room_for(new.words()).map_err(no_memory)?;
            self.cells.put_in_order(self.array(), iter::once(new.words()));
            self.count(group, new);
            return Ok(true);
        };
        let copies = self.array().copies(at) + new.copies;
        if copies > MAX_COPIES {
            return Err(InsertError::Full);
        }
        let words = Stashed { copies, ..new }.words();
        self.make_room_for(words).map_err(no_memory)?;
        self.count_copies(new.copies);
        self.array().store(at, words);
        Ok(false)
    }

    /// The number of entries of the groups that share a version with this one: each has the same remainder by
    /// `versions`.
    pub(in crate::table) fn beside(&self, group: usize, versions: usize) -> u32 {
        self.owned.of_groups.iter().skip(group % versions).step_by(versions).sum()
    }

    /// The number of entries of this group.
    pub(in crate::table) fn of_group(&self, group: usize) -> u32 {
        self.owned.of_groups[group]
    }

    /// Stores these entries, none of which is there, each with the number of its group. Takes time in proportion to
    /// their number, also where all are on one way. No other thread looks meanwhile.
    pub(in crate::table) fn fill(
        &mut self,
        entries: &mut [(usize, CellWords)],
    ) -> Result<(), NoMemory> {
        self.reserve(entries.len())?;
        entries.iter().try_for_each(|&(_, words)| self.make_room_for(words))?;
        let (cells, array) = (self.cells, self.array());
        entries.sort_unstable_by_key(|&(_, words)| cells.home(array, words));
        cells.put_in_order(array, entries.iter().map(|&(_, words)| words));
        for &mut (group, words) in entries {
            self.count(group, Stashed::of_words(words));
        }
        Ok(())
    }

    /// Counts one entry more.
    fn count(&mut self, group: usize, Stashed { place, copies }: Stashed) {
        // Relaxed, both: stored under the mutex.
        let lengths = self.cells.lengths.load(Ordering::Relaxed);
        let length = 1 << place.entry.known().saturating_sub(1);
        self.cells.lengths.store(lengths | length, Ordering::Relaxed);
        self.cells.entries.set(self.cells.entries.get() + 1);
        self.owned.of_groups[group] += 1;
        self.count_copies(copies);
    }

    fn count_copies(&mut self, more: usize) {
        self.owned.changes += 1;
        // Relaxed, both: a number that orders nothing, stored under the mutex.
        let copies = self.cells.copies.load(Ordering::Relaxed);
        self.cells.copies.store(copies + more as u64, Ordering::Relaxed);
    }

    /// Takes some copies of an entry out. If there is none any more, its way has to be forgotten, sooner or later.
    pub(in crate::table) fn take(&mut self, group: usize, found: Match, copies: usize) {
        let (array, at) = (self.array(), found.at);
        self.owned.changes += 1;
        // SeqCst: the removal takes effect here, as that from a word does by its store. Pairs with the load of `scan`.
        array.set_fewer_copies(at, found.copies - copies, Ordering::SeqCst);
        // Relaxed, both: a number that orders nothing, stored under the mutex.
        let left = self.cells.copies.load(Ordering::Relaxed) - copies as u64;
        self.cells.copies.store(left, Ordering::Relaxed);
        if found.copies == copies {
            self.cells.entries.set(self.cells.entries.get() - 1);
            self.owned.of_groups[group] -= 1;
        }
    }

    /// After an entry was taken out: finds out again whose ways pass the lines that it had passed, and which marks the
    /// line has at which its way begins.
    pub(in crate::table) fn forget_way(&mut self, found: Match) {
        let array = self.array();
        // Its name is still in its cell.
        let home = self.cells.home(array, array.last(found.at));
        let passed = array.distance(home, found.at / LINE);
        if passed > 0 {
            self.cells.update_passing(array, home, passed);
        }
        array.set_marks(home, self.cells.marks_from(array, home));
        self.shrink();
    }

    /// The same, after any number of entries were taken out. Without memory for that, marks stay.
    pub(in crate::table) fn forget_ways(&mut self) {
        let array = self.array();
        self.cells.update_passing(array, 0, array.lines);
        if let Ok(marks) = self.cells.all_marks(array, array.lines) {
            array.set_all_marks(marks);
        }
        self.shrink();
    }

    /// Halves the number of lines while less than a quarter of the cells have entries: so what was large once is not for
    /// ever. Without memory for that, lines stay.
    fn shrink(&mut self) {
        let mut lines = self.array().lines;
        while lines > FEWEST_LINES
            && 4 * self.len() < LINE * lines
            && self.resize(lines / 2).is_ok()
        {
            lines /= 2;
        }
    }

    /// Takes everything out, and begins with no lines again.
    pub(in crate::table) fn clear(&mut self) {
        let array = self.array();
        (0..array.len()).for_each(|at| array.set_first(at, 0, Ordering::Release));
        (0..array.lines).for_each(|line| array.set_head(line, 0));
        self.set_lines(0);
        self.owned.changes += 1;
        self.owned.of_groups.fill(0);
        self.cells.entries.set(0);
        // Relaxed: a number that orders nothing.
        self.cells.copies.store(0, Ordering::Relaxed);
    }

    /// All entries.
    pub(in crate::table) fn entries(&self) -> impl Iterator<Item = Stashed> {
        let array = self.array();
        (0..array.len()).filter_map(move |at| array.held(at)).map(Stashed::of_words)
    }

    /// The next entry whose bits are wanted, if there is one among the cells that were not seen yet; and its cell.
    pub(in crate::table) fn next(
        &self,
        seen: &mut Progress,
        wanted: impl Fn(u32) -> bool,
    ) -> Option<(usize, Place)> {
        let (lines, array) = (self.lines(), self.array());
        if seen.lines != lines {
            *seen = Progress { cells: 0, lines };
        }
        while seen.cells < array.len() {
            let (at, held) = (seen.cells, array.held(seen.cells));
            seen.cells += 1;
            if let Some(words) = held.filter(|&[first, _]| wanted(first as u32)) {
                return Some((at, Stashed::of_words(words).place));
            }
        }
        None
    }

    /// What a cell holds, if that is still this entry.
    pub(in crate::table) fn held_at(&self, at: usize, place: Place) -> Option<Match> {
        let held = Stashed::of_words(self.array().held(at)?);
        let (bits, known) = (place.entry.bits(), place.entry.known());
        (held.place == place).then_some(Match {
            at,
            entry: Found { slot: Slot::new(bits.into()), known },
            copies: held.copies,
        })
    }

    /// The number of entries.
    pub(in crate::table) fn len(&self) -> usize {
        self.cells.entries.get() as usize
    }

    /// How many changes there were.
    pub(in crate::table) fn changes(&self) -> u64 {
        self.owned.changes
    }

    /// Of about `N` entries that a number chooses, each with the same chance, returns those that are wanted, up to `N`. They
    /// and their order depend on the entries alone, and not on the cells that they are in: hashes are divided into classes
    /// by their lowest bits, and the number names a class, and an order in it.
    pub(in crate::table) fn choose<const N: usize>(
        &self,
        number: u64,
        wanted: impl Fn(Place) -> bool,
    ) -> [Option<Place>; N] {
        let (cells, array) = (self.cells, self.array());
        let classes = self.len().div_ceil(N).next_power_of_two();
        let class = number as usize % classes;
        let of_class = |&words: &CellWords| cells.hash_of(words) as usize % classes == class;
        let homes = (class & array.mask()..array.lines).step_by(classes);
        let lines = homes.flat_map(|home| array.run(home));
        let entries = lines.flat_map(cells_of).filter_map(|at| array.held(at)).filter(of_class);
        let mut chosen: [Option<(u64, CellWords)>; N] = [None; N];
        for words @ [first, second] in entries {
            if !wanted(Stashed::of_words(words).place) {
                continue;
            }
            let rank = geometry::mix(second ^ (first & NAME).rotate_left(KNOWN) ^ number);
            let mut next = Some((rank, words));
            for held in &mut chosen {
                // It was met before: a line may be in the runs of two others.
                if next.is_none() || *held == next {
                    break;
                }
                if held.is_none_or(|held| next.is_some_and(|next| next.0 < held.0)) {
                    mem::swap(held, &mut next);
                }
            }
        }
        chosen.map(|chosen| chosen.map(|(_, words)| Stashed::of_words(words).place))
    }

    /// Another number of lines: twice as many, the first, or half. Copy, publish, take out: a reader finds each entry by
    /// either number, or sees that the number has changed. Takes time in proportion to the number of cells.
    pub(in crate::table) fn resize(&mut self, lines: usize) -> Result<(), NoMemory> {
        let (cells, old) = (self.cells, self.array());
        // Half of a word counts them.
        u32::try_from(lines).map_err(|_| NoMemory { bytes: usize::MAX })?;
        cells.heads.try_reach(lines)?;
        cells.words.try_reach(LINE * lines)?;
        if cells.seconds.len() > 0 {
            cells.seconds.try_reach(LINE * lines)?;
        }
        let new = cells.array(lines as u64);
        // The cells of the entries that move, each with the place in this list of another one whose way begins at the
        // same line; and of each line the last of them. (To sort them would add 12 KB to each program.)
        let mut moved: Vec<(usize, Option<usize>)> = try_with_capacity(self.len())?;
        let mut last = try_with_capacity(lines)?;
        last.resize(lines, None);
        let marks = cells.all_marks(old, lines)?;
        for at in 0..old.len() {
            let Some(words) = old.held(at) else { continue };
            // The others are behind the beginning of their ways, which pass all lines up to them, and their marks are there.
            let (home, line) = (cells.home(new, words), at / LINE);
            if home > line || line >= lines || home != cells.home(old, words) {
                let before = last[home].replace(moved.len());
                moved.push((at, before));
            }
        }
        let of_line = |&last: &Option<usize>| iter::successors(last, |&place| moved[place].1);
        let words = |place: usize| old.last(moved[place].0);
        cells.put_in_order(new, last.iter().flat_map(of_line).map(words));
        // Release, as in `store`.
        let take_out = |(at, _)| old.set_fewer_copies(at, 0, Ordering::Release);
        self.set_lines(lines);
        moved.into_iter().for_each(take_out);
        cells.update_passing(new, 0, lines);
        // Last: who still reads by the old number needs the marks that now go.
        new.set_all_marks(marks);
        Ok(())
    }

    /// Stores the number of lines, and that it has changed.
    fn set_lines(&self, lines: usize) {
        let changes = (self.lines() >> u32::BITS) + 1;
        // Release: pairs with the load in `read`.
        self.cells.lines.store(changes << u32::BITS | lines as u64, Ordering::Release);
    }
}

/// For the writer.
impl Cells {
    fn array(&self, lines: u64) -> Array<'_> {
        Array {
            heads: self.heads.view(),
            words: self.words.view(),
            seconds: self.seconds.view(),
            packing: self.packing,
            lines: lines as u32 as usize,
        }
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
    fn find(&self, array: Array<'_>, query: CellWords) -> Option<usize> {
        let hash = self.hash_of(query);
        let Place { position, entry } = Stashed::of_words(query).place;
        let sought = self.packing.sought(entry, position, u32::MAX);
        let mut marks = marks_of(hash);
        for line in way(hash as usize, array.lines) {
            if mem::take(&mut marks) & !array.head(line) != 0 {
                return None;
            }
            let found = cells_of(line).find(|&at| array.holds(at, sought, position));
            if found.is_some() || array.head(line) & passing(hash) == 0 {
                return found;
            }
        }
        None
    }

    /// The marks of all entries whose ways begin at this line.
    fn marks_from(&self, array: Array<'_>, home: usize) -> u64 {
        let held = array.run(home).flat_map(cells_of).filter_map(|at| array.held(at));
        held.filter(|&words| self.home(array, words) == home)
            .fold(0, |marks, words| marks | marks_of(self.hash_of(words)))
    }

    /// The marks that each line has for the entries of `array` if there are `lines` of them.
    fn all_marks(&self, array: Array<'_>, lines: usize) -> Result<Vec<u64>, NoMemory> {
        let mut marks = try_with_capacity(lines)?;
        marks.resize(lines, 0);
        for hash in (0..array.len()).filter_map(|at| array.held(at)).map(|it| self.hash_of(it)) {
            marks[hash as usize & (lines - 1)] |= marks_of(hash);
        }
        Ok(marks)
    }

    /// Stores entries for which there is room, each in the first cell of its way that has none. They come in the order
    /// of the lines at which their ways begin.
    fn put_in_order(&self, array: Array<'_>, entries: impl Iterator<Item = CellWords>) {
        // For each eighth of all ways, the line up to which they are said to pass.
        let (mut next, mut said) = (0, [0; 8]);
        for words in entries {
            let (home, hash) = (self.home(array, words), self.hash_of(words));
            next = next.max(LINE * home);
            // At the end of the array it begins again.
            while array.held(next % array.len()).is_some() {
                next += 1;
            }
            array.store(next % array.len(), words);
            array.set_head(home, array.head(home) | marks_of(hash));
            let said = &mut said[eighth(hash)];
            for line in (home.max(*said)..next / LINE).map(|line| line & array.mask()) {
                array.set_head(line, array.head(line) | passing(hash));
            }
            *said = next / LINE;
        }
    }

    /// Says of each of `count` lines from `first` on whose ways pass it, and of no others; before, each of the ways
    /// that pass a line must be among those that it names.
    ///
    /// Lines are counted from `first` on, and those that come again once more: a way may go around the end of the
    /// array. Of the ways of an eighth that end behind a line, one passes it if the first of them begins there or
    /// before.
    fn update_passing(&self, array: Array<'_>, first: usize, count: usize) {
        let mut begins = [usize::MAX; 8];
        let line_at = |distance: usize| (first + distance) & array.mask();
        let meet = |begins: &mut [usize; 8], distance: usize| {
            for words in cells_of(line_at(distance)).filter_map(|at| array.held(at)) {
                let passed = array.distance(self.home(array, words), line_at(distance));
                let begin = &mut begins[eighth(self.hash_of(words))];
                *begin = distance.saturating_sub(passed).min(*begin);
            }
        };
        for distance in count..count + array.lines {
            meet(&mut begins, distance);
            if array.head(line_at(distance)) <= MARKS {
                break;
            }
        }
        for distance in (0..count).rev() {
            let passing = (0..8).filter(|&eighth| begins[eighth] <= distance).map(passing_of).sum();
            array.set_passing(line_at(distance), passing);
            meet(&mut begins, distance);
        }
    }
}

#[cfg(test)]
mod tests {
    mod random_operations;

    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Values are in the upper bits of 20.
    const KEY: u32 = (1 << 12) - 1;
    const GROUPS: usize = 4;

    fn place(position: u64, bits: u64, known: u32) -> Place {
        let entry = Entry::knowing(bits, known);
        Place { position: prefix(position, entry.known()), entry }
    }

    /// An item without its value.
    fn key_of(Place { position, entry }: Place) -> Place {
        place(position, (entry.bits() & KEY).into(), entry.known())
    }

    /// Whether each line has the marks of the entries whose ways begin there, and no others.
    fn has_exact_marks(writer: &Writer<'_>) -> bool {
        let array = writer.array();
        let marks = writer.cells.all_marks(array, array.lines).unwrap();
        (0..array.lines).all(|line| array.head(line) & MARKS == marks[line])
    }

    /// Entries that differ in core, position or length, and not those that differ in value, are spread over lines,
    /// marks and eighths.
    #[test]
    fn entries_are_spread() {
        let cells = Cells::try_new(GROUPS, KEY, Packing::growing()).unwrap();
        let families: [fn(u64) -> Place; 3] = [
            |n| place(2 * n, 1, 64),
            |n| place(2, 1 + n, 64),
            |n| place(2 * (n >> 6) + (1 << 40), 1 + (n & 1), 1 + (n as u32 >> 1) % 32 + 32),
        ];
        for family in families {
            let mut counts = [const { [0; 128] }; 2];
            let entries = 1 << 11;
            for n in 0..entries {
                let words = Stashed { place: family(n), copies: 1 }.words();
                let hash = cells.hash_of(words);
                let other_value = [words[0] | 1 << 12, words[1]];
                assert_eq!(cells.hash_of(other_value), hash);
                counts[0][16 * eighth(hash)] += 1;
                counts[1][hash as usize % 128] += 1;
            }
            let most = counts.map(|counts| counts.into_iter().max().unwrap());
            // 256 each, or sixteen each.
            assert!(most[0] < 512 && most[1] < 64, "{most:?}");
        }
    }

    /// Of keys that are not there, few have all three marks nonetheless: about as many as chance gives them.
    #[test]
    fn few_absent_keys_have_all_marks() {
        // As full as lines get, and half as full.
        for (entries, one_in) in [(7 * 128, 20), (7 * 64 + 1, 100)] {
            let cells = Cells::try_new(GROUPS, u32::MAX, Packing::growing()).unwrap();
            let item = |n: u64| place(2 * n, 1, 64);
            for n in 0..entries {
                cells.lock().add(0, Stashed { place: item(n), copies: 1 }).unwrap();
            }
            assert_eq!(cells.lock().array().lines, 128);
            let absent = 100_000;
            let marked =
                (entries..entries + absent).filter(|&n| !cells.marks_lack(item(n))).count();
            assert!(one_in * marked < absent as usize, "{marked} with {entries} entries");
        }
    }

    /// As many entries come as go, for ever: what is allocated stays the same.
    #[test]
    fn a_turnover_takes_no_more_memory() {
        let cells = Cells::try_new(GROUPS, u32::MAX, Packing::growing()).unwrap();
        let item = |n: u64| place(2 * n, 1, 64);
        let mut most = 0;
        for n in 0..100_000_u64 {
            let mut writer = cells.lock();
            writer.add(1, Stashed { place: item(n), copies: 1 }).unwrap();
            if let Some(old) = n.checked_sub(100) {
                let old = writer.longest(StashQuery { item: item(old), mask: u32::MAX }).unwrap();
                writer.take(1, old, 1);
                writer.forget_way(old);
            }
            drop(writer);
            if n == 10_000 {
                most = cells.heap_bytes(GROUPS);
            }
        }
        assert_eq!(cells.heap_bytes(GROUPS), most);
        assert!(most < 100 * 200, "{most} bytes for 100 entries");
    }

    /// Entries with one value of their own each, of keys of which the first have the most.
    fn crowds(entries: usize) -> Vec<CellWords> {
        let crowd = |n: usize| Stashed {
            place: place(
                2 * (n.isqrt() % 40) as u64,
                1 | (((n / 3) % 16) as u64) << 12,
                64 - n as u32 % 3,
            ),
            copies: 1 + n % 5,
        };
        let distinct: BTreeMap<_, _> =
            (0..entries).map(|n| (Stashed::order(crowd(n).words()), crowd(n).words())).collect();
        distinct.into_values().collect()
    }

    /// What is chosen depends on the entries, and not on how they came there; and each is chosen by some number.
    #[test]
    fn a_choice_depends_on_the_entries() {
        for entries in [1, 2, 10, 150] {
            let words = crowds(entries);
            let [one, other] =
                [0; 2].map(|_| Cells::try_new(GROUPS, KEY, Packing::growing()).unwrap());
            let (mut filled, mut grown) = (one.lock(), other.lock());
            filled.fill(&mut words.iter().map(|&words| (0, words)).collect::<Vec<_>>()).unwrap();
            for n in 0..1000 {
                grown.add(1, Stashed { place: place(2 * n, 3, 64), copies: 1 }).unwrap();
            }
            for &words in words.iter().rev() {
                grown.add(0, Stashed::of_words(words)).unwrap();
            }
            for n in 0..1000 {
                let found = grown.longest(StashQuery { item: place(2 * n, 3, 64), mask: u32::MAX });
                grown.take(1, found.unwrap(), 1);
                grown.forget_way(found.unwrap());
            }
            assert!(grown.array().lines > filled.array().lines || entries < 150);
            let is_wanted = |place: Place| !place.entry.bits().is_multiple_of(3);
            let mut chosen = BTreeSet::new();
            for number in (0..100 * words.len() as u64).map(geometry::mix) {
                let [choice] = filled.choose(number, |_| true);
                assert_eq!(grown.choose(number, |_| true), [choice]);
                chosen.extend(choice.map(|place| Stashed { place, copies: 0 }.words()));

                let choice = filled.choose::<4>(number, is_wanted);
                assert_eq!(grown.choose(number, is_wanted), choice);
                assert!(choice.into_iter().flatten().all(is_wanted));
                let mut distinct: Vec<_> =
                    choice.into_iter().flatten().map(random_operations::name_of).collect();
                distinct.sort_unstable();
                distinct.dedup();
                assert_eq!(distinct.len(), choice.into_iter().flatten().count());
            }
            assert_eq!(chosen.len(), words.len());
        }
    }

    /// Cells that were filled at once hold the same as those to which the entries came one by one, also where most of
    /// them are of one key.
    #[test]
    fn filled_at_once() {
        for entries in [1, 50, 57, 400, 5000] {
            let words = crowds(entries);
            let cells = Cells::try_new(GROUPS, KEY, Packing::growing()).unwrap();
            let mut writer = cells.lock();
            writer.fill(&mut words.iter().map(|&words| (0, words)).collect::<Vec<_>>()).unwrap();
            let mut held: Vec<_> = writer.entries().map(Stashed::words).collect();
            held.sort_unstable_by_key(|&words| Stashed::order(words));
            assert_eq!(held, words);
            assert_eq!(
                (writer.len(), writer.owned.of_groups[0] as usize),
                (words.len(), words.len())
            );
            assert_eq!(
                cells.copies(),
                words.iter().map(|&words| Stashed::of_words(words).copies as u64).sum()
            );
            for &words in &words {
                let Stashed { place: item, copies } = Stashed::of_words(words);
                assert_eq!(writer.copies_of(item), copies);
                assert!(!cells.lacks(key_of(item)));
                let found = writer.longest(StashQuery { item, mask: u32::MAX }).unwrap();
                writer.take(0, found, copies);
                writer.forget_way(found);
            }
            // No way is left.
            assert!((0..writer.array().lines).all(|line| writer.array().head(line) <= MARKS));
        }
    }
}
