//! A hash table that maps an entry to the number of its copies. Many threads read it while one thread writes.
//!
//! **Invariant:** an entry is in only one cell. A reader that looks for the entry while it stays there finds it,
//! whichever other entries come and go meanwhile.
//!
//! The table uses open addressing with linear probing (Knuth, "The Art of Computer Programming", volume 3, section
//! 6.4), by *lines* of eight *cells*. A search for an entry follows the *way* of the entry: it begins at the line that
//! the hash of the entry names, and continues line by line. An entry is stored in the first line of its way that has a
//! free cell, and its way ends there. [`packing`] says how a cell holds an entry: mostly in one word.
//!
//! Each line also has one word of its own, its *head*:
//!
//! | bits | name | meaning |
//! |---|---|---|
//! | 0 to 55 | marks | a Bloom filter of the entries whose ways begin at the line, wherever their cells are. The hash of an entry names its three bits (Putze, Sanders, Singler, "Cache-, Hash- and Space-Efficient Bloom Filters", JEA 2009) |
//! | 56 to 63 | passing | which ways *pass* the line: those of entries that found no free cell there. There is one bit for each *eighth* of all ways, as in Boost's flat maps: bit n for the ways whose hash is n modulo 8. With eight lines or more, these begin at the lines 8i + n. A search ends at the first line that the ways of its eighth do not pass |
//!
//! A lookup of an entry reads the marks first. If the entry is absent, the marks mostly prove it: in 96 % of the
//! lookups when the cells are as full as they get, and in 99 % when they are half as full.
//!
//! The way of an entry depends on its core and its position, not on its value: so one way leads to all values of a key.
//! An entry that knows more bits of its position is *longer*. Entries of different lengths have different ways, and a
//! search takes the way of the longest entries first.
//!
//! **Readers take no lock.** While an entry is in the stash, it stays in its cell, unless the number of lines is
//! doubled or halved. Then each entry that has to move is copied to its new cell, the new number of lines is stored,
//! and the old copy is taken out. After a search, a reader compares the number of lines with the one that it has used.
//! The word of this number also counts its changes: so a reader notices a change even if the number has become the old
//! one again.

pub(in crate::table) mod packing;

use core::ops::ControlFlow;
use core::{iter, mem};

pub(crate) use self::packing::MAX_COPIES;
use self::packing::{Packing, Sought, is_wide};
use crate::error::InsertError;
use crate::layout::Slot;
use crate::sync::array::{PieceArray, Words};
use crate::sync::memory::{NoMemory, try_with_capacity};
use crate::sync::{AtomicU64, Count, Mutex, MutexGuard, Ordering, load_locked};
use crate::table::placing::Found;
use crate::table::placing::entry::Entry;
use crate::table::placing::geometry::{self, Place};

/// The number of cells in a line. Two in models.
const LINE: usize = if cfg!(coucal_model) { 2 } else { 8 };
/// The number of cells in a piece, as an exponent of 2: a piece has 512 bytes. Two lines in models.
const SHIFT: u32 = if cfg!(coucal_model) { 2 } else { 6 };
/// The number of lines in a piece, as an exponent of 2.
const LINES_SHIFT: u32 = SHIFT - LINE.ilog2();
/// The number of parts of all ways that a head tells apart.
const EIGHTHS: usize = 8;
/// With more lines than this, new marks of all of them take memory on the heap.
const MANY_LINES: usize = 64;
/// The least number of lines, except 0.
const FEWEST_LINES: usize = 1 << LINES_SHIFT;

/// Mask of the marks in a head.
const MARKS: u64 = (1 << PASSING) - 1;
/// The lowest bit of a head that says which ways pass the line.
const PASSING: u32 = 56;

/// The lowest bits of the parts of the first word of [`CellWords`]: the number of known bits, and the number of copies.
const KNOWN: u32 = 32;
const COPIES: u32 = 39;
/// Mask of the length of an entry: the number of known bits.
const LENGTH: u64 = (1 << COPIES) - (1 << KNOWN);
/// Mask of the entry and its length.
const NAME: u64 = (1 << COPIES) - 1;

/// An entry with the number of its copies, in the format of snapshots.
///
/// | word | bits | meaning |
/// |---|---|---|
/// | first | 0 to 31 | the entry as a slot holds it; in a growing table without the ring |
/// | | 32 to 38 | how many of the lowest bits of the position are known |
/// | | 39 to 63 | the number of copies |
/// | second | all | the known bits of the even position |
pub(crate) type CellWords = [u64; 2];

/// An entry at its even position, with the number of its copies. All bits of the position that are not known are 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stashed {
    pub(crate) place: Place,
    pub(crate) copies: usize,
}

/// A query for the entries of an item. They may know fewer bits of the position than the item does; the bits that they
/// know agree with it.
#[derive(Clone, Copy)]
pub(in crate::table) struct StashQuery {
    /// The item at its even position.
    pub(in crate::table) item: Place,
    /// Mask of the bits of an entry that must be equal: all, or all except those of the value.
    pub(in crate::table) mask: u32,
}

/// An entry that was found.
#[derive(Clone, Copy)]
pub(in crate::table) struct Match {
    at: usize,
    /// The entry. Its `slot` has the bits that a slot would hold; in a growing table without the ring.
    pub(in crate::table) entry: Found,
    pub(in crate::table) copies: usize,
}

/// The content of a cell after a change of all values.
pub(in crate::table) struct Changed {
    pub(in crate::table) at: usize,
    /// The entry, as in [`CellWords`] without the number of copies.
    name: CellWords,
    copies: usize,
}

impl Changed {
    fn words(&self) -> CellWords {
        let [first, second] = self.name;
        [first | (self.copies as u64) << COPIES, second]
    }
}

pub(in crate::table) struct Cells {
    /// In the lower half: the number of lines in use, 0 or a power of two. In the upper half: how often it has changed.
    lines: AtomicU64,
    /// The head of each line.
    heads: PieceArray<LINES_SHIFT>,
    /// The first word of each cell.
    words: PieceArray<SHIFT>,
    /// The second word of each cell. Empty as long as each entry fits into one word.
    seconds: PieceArray<SHIFT>,
    packing: Packing,
    /// Bit n is set if there may be entries that know n + 1 bits of their position. A table of fixed size uses only bit
    /// 0.
    lengths: AtomicU64,
    /// The number of entries.
    entries: Count,
    /// The number of copies of all entries.
    copies: AtomicU64,
    /// Mask of the bits of an entry that are not its value.
    key: u32,
    owned: Mutex<WriterState>,
}

/// Data that only the writer uses.
struct WriterState {
    /// The number of changes so far.
    changes: u64,
    /// The number of entries of each version group.
    of_groups: Box<[u32]>,
}

/// The progress of a sweep: the first `cells` cells were visited while the word of the number of lines was `lines`.
/// Entries move to other cells only when this word changes.
#[derive(Default)]
pub(in crate::table) struct Progress {
    cells: usize,
    lines: u64,
}

/// Returns the lines of the way that begins at `home`, in order: each line once.
#[inline]
fn way(home: usize, lines: usize) -> impl Iterator<Item = usize> {
    (0..lines).map(move |step| home.wrapping_add(step) & (lines - 1))
}

/// Returns the cells of a line.
fn cells_of(line: usize) -> impl Iterator<Item = usize> + Clone {
    line * LINE..(line + 1) * LINE
}

/// The cells as the writer uses them.
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
    /// Returns the number of cells.
    fn len(self) -> usize {
        self.lines * LINE
    }

    /// Returns the first word of a cell. The cell holds an entry unless the number of copies is 0.
    #[inline]
    fn first(self, at: usize) -> u64 {
        load_locked(self.words.word(at))
    }

    fn second(self, at: usize) -> u64 {
        load_locked(self.seconds.word(at))
    }

    /// Returns the entry in a cell. If the cell holds none: the last entry that it held, with 0 copies.
    #[inline]
    fn last(self, at: usize) -> CellWords {
        self.packing.unpack(self.first(at), || self.second(at))
    }

    /// Returns the number of copies of the entry in a cell; 0 if there is no entry.
    #[inline]
    fn copies(self, at: usize) -> usize {
        self.packing.copies(self.first(at))
    }

    /// Returns the entry in a cell, if there is one.
    #[inline]
    fn held(self, at: usize) -> Option<CellWords> {
        (self.copies(at) > 0).then(|| self.last(at))
    }

    /// Returns whether a cell holds the sought entry at this position.
    #[inline]
    fn holds(self, at: usize, sought: Sought, position: u64) -> bool {
        let first = self.first(at);
        sought.is_named_by(first)
            && self.packing.copies(first) > 0
            && (!is_wide(first) || self.second(at) == position)
    }

    fn head(self, line: usize) -> u64 {
        load_locked(self.heads.word(line))
    }

    /// Adds bits to the head of a line, for a new entry: its marks, or that its way passes the line.
    fn add_to_head(self, line: usize, bits: u64) {
        // SeqCst: pairs with the loads in `is_unmarked` and `scan_length`. A lookup that has found the entry loads the
        // version after that: in the one order of all SeqCst accesses, this store comes before that load.
        self.heads.word(line).store(self.head(line) | bits, Ordering::SeqCst);
    }

    /// Stores the head of a line. Its marks include those of all entries whose ways begin at the line, and may include
    /// others.
    fn set_head(self, line: usize, head: u64) {
        // Release: pairs with the loads in `is_unmarked` and `scan_length`.
        self.heads.word(line).store(head, Ordering::Release);
    }

    fn set_first(self, at: usize, first: u64, order: Ordering) {
        self.words.word(at).store(first, order);
    }

    /// Lowers the number of copies of the entry in a cell to `copies`.
    fn set_fewer_copies(self, at: usize, copies: usize, order: Ordering) {
        let first = self.packing.with_copies(self.first(at), copies);
        self.set_first(at, first.expect("a smaller number of copies fits"), order);
    }

    /// Stores an entry in a cell that holds none, or that holds the same entry with another number of copies or
    /// another value.
    fn store(self, at: usize, words: CellWords) {
        // Release, both stores: they pair with the loads in `scan_length` and `second`.
        let first = self.packing.in_one_word(words).unwrap_or_else(|| {
            self.seconds.word(at).store(words[1], Ordering::Release);
            Packing::wide(words)
        });
        self.set_first(at, first, Ordering::Release);
    }

    /// Returns the lines to which ways lead that begin at `home`: those from `home` to the first line that no way of
    /// their eighth passes, and this line, too. Returns none if no way begins at `home`.
    fn run(self, home: usize) -> impl Iterator<Item = usize> {
        let (passing, mut goes_on) = (self.passing_from(home), self.head(home) & MARKS != 0);
        way(home, self.lines)
            .take_while(move |&line| mem::replace(&mut goes_on, self.head(line) & passing != 0))
    }

    /// Returns the bits of a head that say that ways which begin at `home` may pass the line: one bit, unless there are
    /// fewer lines than eighths, as in models.
    fn passing_from(self, home: usize) -> u64 {
        let lines = self.lines.min(EIGHTHS);
        (home & (lines - 1)..EIGHTHS).step_by(lines).map(passing_of).sum()
    }

    /// Stores the marks of all lines.
    fn set_all_marks(self, marks: &[u64]) {
        marks.iter().enumerate().for_each(|(line, &marks)| self.set_marks(line, marks));
    }

    /// Stores the marks of a line.
    fn set_marks(self, line: usize, marks: u64) {
        self.set_head(line, self.head(line) & !MARKS | marks);
    }

    /// Stores the eighths of all ways that pass a line.
    fn set_passing(self, line: usize, passing: u64) {
        let head = self.head(line);
        if head & !MARKS != passing {
            self.set_head(line, head & MARKS | passing);
        }
    }

    fn mask(self) -> usize {
        self.lines.wrapping_sub(1)
    }

    /// Returns the number of steps from the line `from` to `line`, around the end of the array.
    fn distance(self, from: usize, line: usize) -> usize {
        line.wrapping_sub(from) & self.mask()
    }
}

/// Returns the name of an entry: all that tells it from other entries at the same position, as in the first word of
/// [`CellWords`].
#[inline]
fn name(entry: Entry) -> u64 {
    u64::from(entry.bits()) | u64::from(entry.known()) << KNOWN
}

/// Returns the hash of an entry, by its name without the value, and its position. The hash gives the line at which the
/// way of the entry begins, the eighth of all ways that this way belongs to, and the marks of the entry. An attacker
/// who cannot predict the hashes of items cannot choose entries with equal hashes.
#[inline]
fn hash(key: u64, position: u64) -> u64 {
    geometry::mix(position ^ key.rotate_left(KNOWN))
}

/// Returns the number of the eighth that the way of an entry with this hash belongs to.
#[inline]
fn eighth(hash: u64) -> usize {
    hash as usize % EIGHTHS
}

/// Returns the bit of a head that says that ways of this eighth pass the line.
#[inline]
fn passing_of(eighth: usize) -> u64 {
    1 << PASSING << eighth
}

/// Returns the bit of a head that says that the way of an entry with this hash may pass the line.
#[inline]
fn passing(hash: u64) -> u64 {
    passing_of(eighth(hash))
}

/// Returns the marks of an entry with this hash.
#[inline]
fn marks_of(hash: u64) -> u64 {
    let mark = |byte: u32| 1_u64 << (((hash >> byte & 0xff) * u64::from(PASSING)) >> 8);
    mark(32) | mark(40) | mark(48)
}

/// Returns the number of copies in the first word of [`CellWords`].
#[inline]
fn copies_in(first: u64) -> usize {
    (first >> COPIES) as usize
}

/// Returns the lowest `known` bits of a position. In a table of fixed size, where a position is the number of a bucket,
/// `known` is 0: then it returns the whole position. (`known` may be above 64 if it comes from bytes that were not
/// checked yet.)
#[inline]
pub(crate) fn prefix(position: u64, known: u32) -> u64 {
    position & u64::MAX >> (u64::BITS.wrapping_sub(known) % u64::BITS)
}

impl Stashed {
    /// Encodes the entry and its copies in the format of snapshots.
    pub(crate) fn words(self) -> CellWords {
        let Self { place: Place { position, entry }, copies } = self;
        [name(entry) | (copies as u64) << COPIES, prefix(position, entry.known())]
    }

    /// Decodes an entry and its copies.
    pub(crate) fn of_words([first, second]: CellWords) -> Self {
        let known = (first & LENGTH) >> KNOWN;
        let entry = Entry::knowing(first & u64::from(u32::MAX), known as u32);
        Self { place: Place { position: second, entry }, copies: copies_in(first) }
    }

    /// Returns the key by which entries are compared and sorted. Entries of one length follow each other.
    pub(crate) fn order([first, second]: CellWords) -> (u64, u64, u64) {
        (first & LENGTH, second, first & !LENGTH & NAME)
    }
}

impl Cells {
    /// Returns cells without lines, for the entries of `groups` version groups. `key` masks the bits of an entry that
    /// are not its value.
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

    /// Returns the hash of an entry. `name` may include the value, which does not count.
    #[inline]
    fn hash(&self, name: u64, position: u64) -> u64 {
        hash(name & (u64::from(self.key) | LENGTH), position)
    }

    /// Returns which lengths an entry of the shard may have: the lowest bit stands for 1.
    #[inline(always)]
    fn lengths_in_use(&self) -> u64 {
        // SeqCst: as in `scan_length`. (To find each entry, Relaxed would do: the store came before the bump of the
        // version that made the caller look here, or under the mutex, or under a stripe of the item.)
        self.lengths.load(Ordering::SeqCst)
    }

    /// Returns the item shortened to each length that a matching entry may have, the longest first.
    #[inline(always)]
    fn of_each_length(&self, item: Entry) -> impl Iterator<Item = Entry> {
        let known = item.known();
        let mut lengths =
            if known == 0 { 1 } else { self.lengths_in_use() & (u64::MAX >> (u64::BITS - known)) };
        iter::from_fn(move || {
            let length = lengths.checked_ilog2()?;
            lengths ^= 1 << length;
            Some(Entry::knowing(item.bits().into(), known.min(length + 1)))
        })
    }

    /// Returns whether the marks prove that there is no entry of a key. `key` is an item whose value bits are 0.
    /// `false`: there may be an entry, or the number of lines has changed meanwhile. Takes no lock.
    #[inline(always)]
    pub(in crate::table) fn marks_lack(&self, key: Place) -> bool {
        // SeqCst and Relaxed, as in `read_until`.
        let lines = self.lines.load(Ordering::SeqCst);
        let lacks = |entry| self.is_unmarked(lines, entry, key.position);
        // A table of fixed size has no loop.
        let lacks = if key.entry.known() == 0 {
            lacks(key.entry)
        } else {
            self.of_each_length(key.entry).all(lacks)
        };
        lacks && self.lines.load(Ordering::Relaxed) == lines
    }

    /// Returns whether the line at which the way of this entry begins lacks a mark of the entry.
    #[inline(always)]
    fn is_unmarked(&self, lines: u64, entry: Entry, position: u64) -> bool {
        let hash = hash(name(entry), prefix(position, entry.known()));
        let line = (hash as u32 & (lines as u32).wrapping_sub(1)) as usize;
        // No head: there are no lines. (After `clear` there may be heads without lines. Their marks belong to no
        // entry.)
        let Some(head) = self.heads.view().get(line) else {
            return true;
        };
        // SeqCst: as in `scan_length`. It pairs with the stores of `set_head` and `add_to_head`. A lookup that misses
        // marks because they were cleared also sees the version that was bumped before, or the new number of lines.
        marks_of(hash) & !head.load(Ordering::SeqCst) != 0
    }

    /// Returns `true` as `marks_lack` does, and also where the cells prove it.
    #[inline(always)]
    pub(in crate::table) fn lacks(&self, key: Place) -> bool {
        self.marks_lack(key) || self.cells_lack(key.position, key.entry)
    }

    #[cold]
    #[inline(never)]
    fn cells_lack(&self, position: u64, entry: Entry) -> bool {
        let query = StashQuery { item: Place { position, entry }, mask: self.key };
        self.holds(query) == Some(false)
    }

    /// Calls `found` with each entry that matches the query, the longest first, until it returns `Break`.
    fn scan(
        &self,
        lines: u64,
        query: StashQuery,
        mut found: impl FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let mut lengths = self.of_each_length(query.item.entry);
        lengths.try_for_each(|entry| self.scan_length(lines, entry, query, &mut found))
    }

    /// Scans as `scan` does, but only entries as long as `entry`.
    #[inline]
    fn scan_length(
        &self,
        lines: u64,
        entry: Entry,
        StashQuery { item, mask }: StashQuery,
        mut found: impl FnMut(Match) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let position = prefix(item.position, entry.known());
        let (hash, sought) =
            (self.hash(name(entry), position), self.packing.sought(entry, position, mask));
        let (heads, words, mut marks) = (self.heads.view(), self.words.view(), marks_of(hash));
        for line in way(hash as usize, lines as u32 as usize) {
            // SeqCst, as all loads that decide what a search finds: searches of several threads agree on the order of
            // what they find, also before the version is bumped. They pair with the stores of the writer. A lookup that
            // misses an entry because it was taken out also sees the version that was bumped before, or the new number
            // of lines.
            let head = heads.word(line).load(Ordering::SeqCst);
            // Only at the first line: its marks prove that there is no such entry.
            if mem::take(&mut marks) & !head != 0 {
                break;
            }
            for at in cells_of(line) {
                // SeqCst: pairs with the store of `take`.
                let load = || words.word(at).load(Ordering::SeqCst);
                let is_held = |first| sought.is_named_by(first) && self.packing.copies(first) > 0;
                let mut first = load();
                if is_held(first) && is_wide(first) {
                    if self.second(at) != position {
                        continue;
                    }
                    // The cell may have been used again between the two loads. A writer takes the entry out before it
                    // stores another second word: so now the first word has no copies, or is that of the new entry.
                    first = load();
                }
                if is_held(first) {
                    let copies = self.packing.copies(first);
                    let slot = Slot::new(self.packing.bits(first).into());
                    found(Match { at, entry: Found { slot, known: entry.known() }, copies })?;
                }
            }
            if head & passing(hash) == 0 {
                break;
            }
        }
        ControlFlow::Continue(())
    }

    /// Returns the second word of a wide cell.
    #[inline]
    fn second(&self, at: usize) -> u64 {
        // Acquire: pairs with the store in `store`. The array is loaded after the first word was read, so it has the
        // second word.
        self.seconds.view().word(at).load(Ordering::Acquire)
    }

    /// Returns whether an entry matches the query. Returns `None` if it has found no entry, and the number of lines has
    /// changed meanwhile: then it may have missed one. Takes no lock.
    pub(in crate::table) fn holds(&self, query: StashQuery) -> Option<bool> {
        self.read_until(query, |_| ControlFlow::Break(())).map(|held| held.is_break())
    }

    /// Calls `found` with each entry that matches the query. Returns `false` if the number of lines has changed
    /// meanwhile: then it may have missed some. Takes no lock.
    pub(in crate::table) fn read(&self, query: StashQuery, mut found: impl FnMut(Match)) -> bool {
        let found = |each| {
            found(each);
            ControlFlow::Continue(())
        };
        self.read_until(query, found).is_some()
    }

    /// Calls `found` with each entry that matches the query, until it returns `Break`. Returns `None` if it has not
    /// returned `Break`, and the number of lines has changed meanwhile: then the call may have missed an entry.
    fn read_until(
        &self,
        query: StashQuery,
        found: impl FnMut(Match) -> ControlFlow<()>,
    ) -> Option<ControlFlow<()>> {
        // SeqCst: as in `scan_length`. It pairs with the store of `set_lines`. A thread that sees the number also sees
        // the lines.
        let lines = self.lines.load(Ordering::SeqCst);
        let ended = self.scan(lines, query, found);
        // Relaxed: the loads of heads and cells keep this load behind them.
        (ended.is_break() || self.lines.load(Ordering::Relaxed) == lines).then_some(ended)
    }

    /// Returns the number of entries. May be stale: only for decisions that are right either way.
    pub(in crate::table) fn entries(&self) -> usize {
        self.entries.hint() as usize
    }

    /// Returns the number of copies of all entries. It is exact if no thread writes.
    pub(in crate::table) fn copies(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.copies.load(Ordering::Relaxed)
    }

    pub(in crate::table) fn heap_bytes(&self, groups: usize) -> usize {
        let words = self.words.heap_bytes() + self.seconds.heap_bytes();
        self.heads.heap_bytes() + words + groups * size_of::<u32>()
    }

    /// Locks the cells. Waits while another thread writes.
    pub(in crate::table) fn lock(&self) -> Writer<'_> {
        Writer { cells: self, owned: self.owned.lock() }
    }
}

/// RAII guard of the cells, with the functions that change them: unlocks on drop.
pub(in crate::table) struct Writer<'a> {
    cells: &'a Cells,
    owned: MutexGuard<'a, WriterState>,
}

impl<'a> Writer<'a> {
    fn lines(&self) -> u64 {
        load_locked(&self.cells.lines)
    }

    fn array(&self) -> Array<'a> {
        self.cells.array(self.lines())
    }

    /// Calls `found` with each entry that matches the query, the longest first.
    pub(in crate::table) fn each(&self, query: StashQuery, mut found: impl FnMut(Match)) {
        _ = self.cells.scan(self.lines(), query, |each| {
            found(each);
            ControlFlow::Continue(())
        });
    }

    /// Returns the longest entry that matches the query.
    pub(in crate::table) fn longest(&self, query: StashQuery) -> Option<Match> {
        let mut longest = None;
        _ = self.cells.scan(self.lines(), query, |found| {
            longest = Some(found);
            ControlFlow::Break(())
        });
        longest
    }

    /// Returns the number of copies of this entry; 0 if it is absent.
    pub(in crate::table) fn copies_of(&self, place: Place) -> usize {
        let (array, query) = (self.array(), Stashed { place, copies: 0 }.words());
        self.cells.find(array, query).map_or(0, |at| array.copies(at))
    }

    /// Returns whether there is room for `more` further entries.
    pub(in crate::table) fn has_room(&self, more: usize) -> bool {
        8 * (self.len() + more) <= 7 * self.array().len()
    }

    /// Makes room for `more` further entries: doubles the number of lines if necessary.
    pub(in crate::table) fn reserve(&mut self, more: usize) -> Result<(), NoMemory> {
        while !self.has_room(more) {
            self.resize((2 * self.array().lines).max(FEWEST_LINES))?;
        }
        Ok(())
    }

    /// Allocates the second words of the cells if this entry needs one.
    fn make_room_for(&self, words: CellWords) -> Result<(), NoMemory> {
        let cells = self.cells;
        if cells.packing.in_one_word(words).is_some() {
            return Ok(());
        }
        cells.seconds.try_reach(self.array().len())
    }

    /// Adds `new.copies` copies of an entry of the group with this number. Returns whether the entry is new. An error
    /// leaves all entries unchanged.
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

    /// Returns the number of entries of all groups that share a version with this one: the groups whose numbers have
    /// the same remainder modulo `versions`.
    pub(in crate::table) fn beside(&self, group: usize, versions: usize) -> u32 {
        self.owned.of_groups.iter().skip(group % versions).step_by(versions).sum()
    }

    /// Returns the number of entries of this group.
    pub(in crate::table) fn of_group(&self, group: usize) -> u32 {
        self.owned.of_groups[group]
    }

    /// Stores new entries, each given with the number of its group. Takes time in proportion to their number, even if
    /// all have the same way. No other thread reads meanwhile.
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

    /// Counts a new entry and its copies.
    fn count(&mut self, group: usize, Stashed { place, copies }: Stashed) {
        let lengths = load_locked(&self.cells.lengths);
        let length = 1 << place.entry.known().saturating_sub(1);
        // Relaxed: a reader that needs the length was told of the entry by another word.
        self.cells.lengths.store(lengths | length, Ordering::Relaxed);
        self.cells.entries.set(self.cells.entries.get() + 1);
        self.owned.of_groups[group] += 1;
        self.count_copies(copies);
    }

    fn count_copies(&mut self, more: usize) {
        self.owned.changes += 1;
        let copies = load_locked(&self.cells.copies);
        // Relaxed: a number that orders nothing.
        self.cells.copies.store(copies + more as u64, Ordering::Relaxed);
    }

    /// Takes copies of an entry out. If no copy is left, the caller must call `forget_way` or `forget_ways` later.
    pub(in crate::table) fn take(&mut self, group: usize, found: Match, copies: usize) {
        let (array, at) = (self.array(), found.at);
        self.owned.changes += 1;
        // SeqCst: the removal takes effect here, as a removal from a bucket does by the store of its word. Pairs with
        // the load in `scan_length`.
        array.set_fewer_copies(at, found.copies - copies, Ordering::SeqCst);
        let left = load_locked(&self.cells.copies) - copies as u64;
        // Relaxed: a number that orders nothing.
        self.cells.copies.store(left, Ordering::Relaxed);
        if found.copies == copies {
            self.cells.entries.set(self.cells.entries.get() - 1);
            self.owned.of_groups[group] -= 1;
        }
    }

    /// Updates the heads after an entry was taken out: recomputes which ways pass the lines that its way has
    /// passed, and the marks of the line where its way begins. Skips both if another entry of its key and length lies
    /// in its line or behind it: that entry needs the same marks, and its way passes the same lines.
    pub(in crate::table) fn forget_way(&mut self, found: Match) {
        let array = self.array();
        // The name of the entry is still in its cell.
        let words = array.last(found.at);
        let home = self.cells.home(array, words);
        let passed = array.distance(home, found.at / LINE);
        if !self.cells.is_followed(array, words, passed) {
            if passed > 0 {
                self.cells.update_passing(array, home, passed);
            }
            array.set_marks(home, self.cells.marks_from(array, home));
        }
        self.shrink();
    }

    /// Updates all lines as `forget_way` does one, after any number of entries were taken out. If there is not enough
    /// memory, marks stay that are no longer needed.
    pub(in crate::table) fn forget_ways(&mut self) {
        let array = self.array();
        self.cells.update_passing(array, 0, array.lines);
        let (mut few, mut many) = ([0; MANY_LINES], Vec::new());
        let marks = if let Some(marks) = few.get_mut(..array.lines) {
            self.cells.add_marks(array, marks);
            Some(&*marks)
        } else {
            many = self.cells.all_marks(array, array.lines).unwrap_or(many);
            (many.len() == array.lines).then_some(&many[..])
        };
        if let Some(marks) = marks {
            array.set_all_marks(marks);
        }
        self.shrink();
    }

    /// Halves the number of lines while less than a quarter of the cells hold entries: so an array that was large once
    /// does not stay large. If there is not enough memory, the number of lines stays.
    fn shrink(&mut self) {
        let mut lines = self.array().lines;
        while lines > FEWEST_LINES
            && 4 * self.len() < LINE * lines
            && self.resize(lines / 2).is_ok()
        {
            lines /= 2;
        }
    }

    /// Takes all entries out, and sets the number of lines to 0.
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

    /// Returns all entries.
    pub(in crate::table) fn entries(&self) -> impl Iterator<Item = Stashed> {
        let array = self.array();
        (0..array.len()).filter_map(move |at| array.held(at)).map(Stashed::of_words)
    }

    /// Returns the next entry with wanted bits among the cells that were not visited yet, and its cell.
    pub(in crate::table) fn next(
        &self,
        seen: &mut Progress,
        wanted: impl Fn(u32) -> bool,
    ) -> Option<(usize, Stashed)> {
        let (lines, array) = (self.lines(), self.array());
        if seen.lines != lines {
            *seen = Progress { cells: 0, lines };
        }
        while seen.cells < array.len() {
            let (at, held) = (seen.cells, array.held(seen.cells));
            seen.cells += 1;
            if let Some(words) = held.filter(|&[first, _]| wanted(first as u32)) {
                return Some((at, Stashed::of_words(words)));
            }
        }
        None
    }

    /// Returns the entry in a cell if it is still this one.
    pub(in crate::table) fn held_at(&self, at: usize, place: Place) -> Option<Match> {
        let held = Stashed::of_words(self.array().held(at)?);
        let (bits, known) = (place.entry.bits(), place.entry.known());
        (held.place == place).then_some(Match {
            at,
            entry: Found { slot: Slot::new(bits.into()), known },
            copies: held.copies,
        })
    }

    /// Returns the new contents of the cells for a change of all values, in the order of the cells. `changed` returns
    /// the new bits of an entry, or `None` if the entry is taken out. If entries become equal, the first one gets the
    /// copies of all, and the others are left out. Allocates all memory that [`change`](Self::change) needs. Returns
    /// `Full` if an entry would have more than [`MAX_COPIES`].
    pub(in crate::table) fn plan_changes(
        &self,
        changed: impl Fn(u32) -> Option<u32>,
    ) -> Result<Vec<Changed>, InsertError> {
        let no_memory = |_| InsertError::NoMemoryToStore;
        let array = self.array();
        let mut all = try_with_capacity(self.len()).map_err(no_memory)?;
        for at in 0..array.len() {
            let Some([first, second]) = array.held(at) else { continue };
            if let Some(bits) = changed(first as u32) {
                let name = [u64::from(bits) | first & LENGTH, second];
                all.push(Changed { at, name, copies: copies_in(first) });
            }
        }
        all.sort_unstable_by_key(|change: &Changed| (change.name, change.at));
        all.dedup_by(|next, first| {
            let is_equal = next.name == first.name;
            if is_equal {
                // With 32 bits, the copies of many entries may be more than fit.
                first.copies = first.copies.saturating_add(next.copies);
            }
            is_equal
        });
        for change in &all {
            if change.copies > MAX_COPIES {
                return Err(InsertError::Full);
            }
            self.make_room_for(change.words()).map_err(no_memory)?;
        }
        all.sort_unstable_by_key(|change| change.at);
        Ok(all)
    }

    /// Makes a change that `plan_changes` has returned: the cells have been locked since then. Calls `before` before it
    /// stores anything.
    pub(in crate::table) fn change(&mut self, change: &Changed, before: impl FnOnce()) {
        let (array, at) = (self.array(), change.at);
        let more = change.copies - array.copies(at);
        if array.held(at) != Some(change.words()) {
            before();
            array.store(at, change.words());
            self.count_copies(more);
        }
    }

    /// Returns the number of entries.
    pub(in crate::table) fn len(&self) -> usize {
        self.cells.entries.get() as usize
    }

    /// Returns the number of changes so far.
    pub(in crate::table) fn changes(&self) -> u64 {
        self.owned.changes
    }

    /// Chooses about `N` entries by a number. Returns those of them whose keys are wanted, at most `N`. Each key has
    /// the same chance. (All values of a key have one hash: if there are more than `N`, each of them has a smaller
    /// chance.) The answer and its order depend on the number and the entries alone, not on the cells that hold them:
    /// hashes are divided into classes by their lowest bits, and the number names a class and an order in it.
    pub(in crate::table) fn choose<const N: usize>(
        &self,
        number: u64,
        wanted: impl Fn(Place) -> bool,
    ) -> [Option<Place>; N] {
        let (cells, array) = (self.cells, self.array());
        let classes = self.len().div_ceil(N).next_power_of_two();
        let class = number as usize & (classes - 1);
        let mut chosen: [Option<(u64, CellWords)>; N] = [None; N];
        // The pattern of the key that was met last, its position, and whether it is chosen. The values of a key mostly
        // lie side by side.
        let (mut met, mut is_chosen) = (None, false);
        let homes = (class & array.mask()..array.lines).step_by(classes);
        for at in homes.flat_map(|home| array.run(home)).flat_map(cells_of) {
            let is_met = met.is_some_and(|(key, position)| array.holds(at, key, position));
            if array.copies(at) == 0 || is_met && !is_chosen {
                continue;
            }
            let words @ [first, second] = array.last(at);
            if !is_met {
                let place = Stashed::of_words(words).place;
                met = Some((cells.packing.sought(place.entry, second, cells.key), second));
                let is_of_class = (cells.hash_of(words) as usize ^ class) & (classes - 1) == 0;
                is_chosen = is_of_class && wanted(place);
            }
            if !is_chosen {
                continue;
            }
            let rank = geometry::mix(second ^ geometry::mix(first & NAME ^ number));
            let mut next = Some((rank, words));
            for held in &mut chosen {
                // This entry was met before: a line may be in the runs of two lines.
                if next.is_none() || *held == next {
                    break;
                }
                if held.is_none_or(|held| next.is_some_and(|next| next < held)) {
                    mem::swap(held, &mut next);
                }
            }
        }
        chosen.map(|chosen| chosen.map(|(_, words)| Stashed::of_words(words).place))
    }

    /// Changes the number of lines: allocates the first ones, doubles the number, or halves it. The order is copy,
    /// publish, take out. So a reader with either number finds each entry, or sees that the number has changed. Takes
    /// time in proportion to the number of cells.
    pub(in crate::table) fn resize(&mut self, lines: usize) -> Result<(), NoMemory> {
        let (cells, old) = (self.cells, self.array());
        // The number of lines must fit into half a word, and the number of entries into a `Count`.
        u32::try_from(LINE as u64 * lines as u64).map_err(|_| NoMemory { bytes: usize::MAX })?;
        cells.heads.try_reach(lines)?;
        cells.words.try_reach(LINE * lines)?;
        if cells.seconds.len() > 0 {
            cells.seconds.try_reach(LINE * lines)?;
        }
        let new = cells.array(lines as u64);
        // `moved` has the cells of the entries that move. Those whose ways begin at the same line form a chain: each
        // has the index in `moved` of the one before, and `last` has the index of the last one for each line. (Sorting
        // them instead would add 12 KB to each program.)
        let mut moved: Vec<(usize, Option<usize>)> = try_with_capacity(self.len())?;
        let mut last = try_with_capacity(lines)?;
        last.resize(lines, None);
        let marks = cells.all_marks(old, lines)?;
        for at in 0..old.len() {
            let Some(words) = old.held(at) else { continue };
            // All other entries stay in their cells. Their ways begin at the same line as before, which is the line of
            // the cell or one before it. So the heads already say that these ways pass the lines in between, and the
            // marks are there.
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
        // Last: a reader that still uses the old number needs the marks that go now.
        new.set_all_marks(&marks);
        Ok(())
    }

    /// Stores the number of lines, and counts the change.
    fn set_lines(&self, lines: usize) {
        let changes = (self.lines() >> u32::BITS) + 1;
        // SeqCst: pairs with the loads in `read_until` and `marks_lack`. A lookup that has found an entry which was
        // stored after this loads the version then: in the one order of all SeqCst accesses, this store comes before
        // that load. So later lookups use this number or a later one.
        self.cells.lines.store(changes << u32::BITS | lines as u64, Ordering::SeqCst);
    }
}

/// Functions for the writer.
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

    /// Returns the hash of an entry with these words.
    #[inline]
    fn hash_of(&self, [first, second]: CellWords) -> u64 {
        self.hash(first & NAME, second)
    }

    /// Returns the line at which the way of an entry begins.
    fn home(&self, array: Array<'_>, words: CellWords) -> usize {
        self.hash_of(words) as usize & array.mask()
    }

    /// Returns the cell that holds this entry, if there is one.
    fn find(&self, array: Array<'_>, query: CellWords) -> Option<usize> {
        self.find_behind(array, 0, query, u32::MAX)
    }

    /// Returns whether another entry of this key and length lies in the line of this entry or behind it. The entry was
    /// taken out already, and its way had passed `passed` lines. The other one needs the same marks, and its way passes
    /// the same lines.
    fn is_followed(&self, array: Array<'_>, words: CellWords, passed: usize) -> bool {
        self.find_behind(array, passed, words, self.key).is_some()
    }

    /// Returns the first cell on the way of this entry, behind the first `passed` lines, that holds an entry which
    /// differs from it in no bit of `mask`.
    fn find_behind(
        &self,
        array: Array<'_>,
        passed: usize,
        words: CellWords,
        mask: u32,
    ) -> Option<usize> {
        let hash = self.hash_of(words);
        let Place { position, entry } = Stashed::of_words(words).place;
        let sought = self.packing.sought(entry, position, mask);
        if array.lines == 0 || marks_of(hash) & !array.head(hash as usize & array.mask()) != 0 {
            return None;
        }
        for line in way(hash as usize, array.lines).skip(passed) {
            let found = cells_of(line).find(|&at| array.holds(at, sought, position));
            if found.is_some() || array.head(line) & passing(hash) == 0 {
                return found;
            }
        }
        None
    }

    /// Returns the marks of all entries whose ways begin at this line.
    fn marks_from(&self, array: Array<'_>, home: usize) -> u64 {
        let held = array.run(home).flat_map(cells_of).filter_map(|at| array.held(at));
        held.filter(|&words| self.home(array, words) == home)
            .fold(0, |marks, words| marks | marks_of(self.hash_of(words)))
    }

    /// Returns the marks that each line needs for the entries of `array` if there are `lines` lines.
    fn all_marks(&self, array: Array<'_>, lines: usize) -> Result<Vec<u64>, NoMemory> {
        let mut marks = try_with_capacity(lines)?;
        marks.resize(lines, 0);
        self.add_marks(array, &mut marks);
        Ok(marks)
    }

    /// Adds the marks that each of these lines needs, a power of two, for the entries of `array`.
    fn add_marks(&self, array: Array<'_>, marks: &mut [u64]) {
        let last = marks.len().wrapping_sub(1);
        for hash in (0..array.len()).filter_map(|at| array.held(at)).map(|it| self.hash_of(it)) {
            marks[hash as usize & last] |= marks_of(hash);
        }
    }

    /// Stores entries, each in the first free cell of its way. There is room for them. They come in the order of the
    /// lines at which their ways begin.
    fn put_in_order(&self, array: Array<'_>, entries: impl Iterator<Item = CellWords>) {
        // `next` is the next cell to try. `said` has for each eighth the line before which all heads already say that
        // its ways pass.
        let (mut next, mut said) = (0, [0; EIGHTHS]);
        for words in entries {
            let (home, hash) = (self.home(array, words), self.hash_of(words));
            next = next.max(LINE * home);
            // After the last cell of the array comes the first one.
            while array.held(next % array.len()).is_some() {
                next += 1;
            }
            array.add_to_head(home, marks_of(hash));
            let said = &mut said[eighth(hash)];
            for line in (home.max(*said)..next / LINE).map(|line| line & array.mask()) {
                array.add_to_head(line, passing(hash));
            }
            *said = next / LINE;
            // After the heads: who finds the entry finds it again.
            array.store(next % array.len(), words);
        }
    }

    /// Updates the heads of `count` lines from `first` on, so that each names exactly the ways that pass its line.
    /// Before the call, each head must name at least these ways.
    ///
    /// A line is named by its distance from `first`. A way may go around the end of the array: so a line may be counted
    /// a second time, with a larger distance. The second loop goes through the lines backwards. `begins` has a distance
    /// for each eighth: of the ways that end behind the present line, the least distance at which one begins. If this
    /// distance is not behind the line, a way of the eighth passes the line.
    fn update_passing(&self, array: Array<'_>, first: usize, count: usize) {
        let mut begins = [usize::MAX; EIGHTHS];
        let line_at = |distance: usize| (first + distance) & array.mask();
        let meet = |begins: &mut [usize; EIGHTHS], distance: usize| {
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
            let passing =
                (0..EIGHTHS).filter(|&eighth| begins[eighth] <= distance).map(passing_of).sum();
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
    use crate::table::placing::entry::MOST_KNOWN;

    /// Mask of the key in entries of 20 bits. The upper 8 bits are the value.
    const KEY: u32 = (1 << 12) - 1;
    const GROUPS: usize = 4;

    /// Returns the packing of these entries in a growing table. The lowest 4 bits are the place of the ring. A cell of
    /// one word counts up to 7 copies.
    fn growing() -> Packing {
        Packing::growing(20, 4)
    }

    fn place(position: u64, bits: u64, known: u32) -> Place {
        let entry = Entry::knowing(bits, known);
        Place { position: prefix(position, entry.known()), entry }
    }

    /// Returns an item without its value.
    fn key_of(Place { position, entry }: Place) -> Place {
        place(position, (entry.bits() & KEY).into(), entry.known())
    }

    /// Returns whether each line has exactly the marks of the entries whose ways begin there.
    fn has_exact_marks(writer: &Writer<'_>) -> bool {
        let array = writer.array();
        let marks = writer.cells.all_marks(array, array.lines).unwrap();
        (0..array.lines).all(|line| array.head(line) & MARKS == marks[line])
    }

    /// Entries that differ in core, position or length are spread over lines and eighths. Entries that differ only in
    /// value have the same hash.
    #[test]
    fn entries_are_spread() {
        let cells = Cells::try_new(GROUPS, KEY, growing()).unwrap();
        let families: [fn(u64) -> Place; 3] = [
            |n| place(2 * n, 1 << 4, MOST_KNOWN),
            |n| place(2, 1 + n, MOST_KNOWN),
            |n| place(2 * (n >> 6) + (1 << 40), 1 + (n & 1), 1 + (n as u32 >> 1) % 32 + 12),
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
            // On average 256 in each eighth, and 16 in each line.
            assert!(most[0] < 512 && most[1] < 64, "{most:?}");
        }
    }

    /// Few absent keys have all three marks: about as many as chance gives.
    #[test]
    fn few_absent_keys_have_all_marks() {
        // The lines are as full as they get, and half as full.
        for (entries, one_in) in [(7 * 128, 20), (7 * 64 + 1, 100)] {
            let cells = Cells::try_new(GROUPS, u32::MAX, growing()).unwrap();
            let item = |n: u64| place(2 * n, 1 << 4, MOST_KNOWN);
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

    /// As many entries come as go: the allocated memory stays the same.
    #[test]
    fn a_turnover_takes_no_more_memory() {
        let cells = Cells::try_new(GROUPS, u32::MAX, growing()).unwrap();
        let item = |n: u64| place(2 * n, 1 << 4, MOST_KNOWN);
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

    /// Returns distinct entries. Each has a value, and the first keys have the most values.
    fn crowds(entries: usize) -> Vec<CellWords> {
        let crowd = |n: usize| Stashed {
            place: place(
                2 * (n.isqrt() % 40) as u64,
                1 << 4 | (((n / 3) % 16) as u64) << 12,
                MOST_KNOWN - n as u32 % 3,
            ),
            copies: 1 + n % 9,
        };
        let distinct: BTreeMap<_, _> =
            (0..entries).map(|n| (Stashed::order(crowd(n).words()), crowd(n).words())).collect();
        distinct.into_values().collect()
    }

    /// A choice depends on the entries, and not on how they came there. Each entry is chosen by some number.
    #[test]
    fn a_choice_depends_on_the_entries() {
        for entries in [1, 2, 10, 150] {
            let words = crowds(entries);
            let [one, other] = [0; 2].map(|_| Cells::try_new(GROUPS, KEY, growing()).unwrap());
            let (mut filled, mut grown) = (one.lock(), other.lock());
            filled.fill(&mut words.iter().map(|&words| (0, words)).collect::<Vec<_>>()).unwrap();
            for n in 0..1000 {
                grown
                    .add(1, Stashed { place: place(2 * n, 3 << 4, MOST_KNOWN), copies: 1 })
                    .unwrap();
            }
            for &words in words.iter().rev() {
                grown.add(0, Stashed::of_words(words)).unwrap();
            }
            for n in 0..1000 {
                let found = grown
                    .longest(StashQuery { item: place(2 * n, 3 << 4, MOST_KNOWN), mask: u32::MAX });
                grown.take(1, found.unwrap(), 1);
                grown.forget_way(found.unwrap());
            }
            assert!(grown.array().lines > filled.array().lines || entries < 150);
            let is_wanted = |place: Place| place.position % 3 != 0;
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

    /// Cells that were filled at once hold the given entries, and each of them can be taken out, even if most entries
    /// have the same key.
    #[test]
    fn filled_at_once() {
        for entries in [1, 50, 57, 400, 5000] {
            let words = crowds(entries);
            let cells = Cells::try_new(GROUPS, KEY, growing()).unwrap();
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
            // No way passes a line any more.
            assert!((0..writer.array().lines).all(|line| writer.array().head(line) <= MARKS));
        }
    }
}
