//! How a cell holds an entry and the number of its copies: pure functions.
//!
//! A cell holds an entry in one word if the entry fits. In most tables nearly every entry fits. Otherwise the cell is
//! *wide*: it has a second word. The uppermost bit of the first word says whether the cell is wide.
//!
//! | first word | bits | meaning |
//! |---|---|---|
//! | not wide | 0 to s - 1 | the entry as a slot holds it, in s bits; in a growing table without its ring |
//! | | s to s + p - 1 | its even position, in p bits; in a growing table [`MOST_KNOWN`] bits, which are all that is known |
//! | | s + p to 62 | the number of copies; 0 in a cell without an entry |
//! | wide | 0 to 31 | the entry as a slot holds it, in a growing table without its ring |
//! | | 32 to 37 | the number of known bits of the position; 0 in a table of fixed size |
//! | | 38 to 62 | the number of copies; 0 in a cell without an entry |
//!
//! The second word has the even position, as far as it is known.
//!
//! In a growing table these entries do not fit: those that know fewer bits of their position than `MOST_KNOWN`, which
//! come from merges; those with more copies than there is room for; and all entries of a maplet whose values are so
//! long that nothing is left for the copies.

use super::{COPIES, CellWords, KNOWN, LENGTH, NAME, Stashed};
use crate::table::placing::entry::{Entry, MOST_KNOWN};
use crate::table::placing::geometry::Place;

/// The bit of a first word that says that there is a second one.
const WIDE: u64 = 1 << 63;
/// The lowest bit of the number of copies in the first word of a wide cell.
const WIDE_COPIES: u32 = 38;
/// The most copies that a cell counts.
pub(crate) const MAX_COPIES: usize = ((WIDE - 1) >> WIDE_COPIES) as usize;

/// The positions of the parts of a first word.
#[derive(Clone, Copy, Debug)]
pub(in crate::table) struct Packing {
    /// The number of known bits of the position of an entry that fits into one word; 0 in a table of fixed size.
    known: u32,
    /// The number of bits of the ring of a slot; 0 in a table of fixed size.
    ring: u32,
    /// In a cell that is not wide: the lowest bit of the position, which is also the number of bits of the entry.
    position: u32,
    /// In a cell that is not wide: the lowest bit of the number of copies; 63 if no entry fits into one word.
    copies: u32,
}

/// A pattern for first words: those of one entry, or of all entries that differ from it only in bits that a mask leaves
/// out.
#[derive(Clone, Copy)]
pub(super) struct Sought {
    wide: u64,
    wide_mask: u64,
    one: u64,
    one_mask: u64,
}

impl Sought {
    /// Returns whether a first word matches. If the cell is wide, the caller must also compare the position with the
    /// second word.
    #[inline]
    pub(super) fn is_named_by(self, first: u64) -> bool {
        let (bits, mask) =
            if is_wide(first) { (self.wide, self.wide_mask) } else { (self.one, self.one_mask) };
        (first ^ bits) & mask == 0
    }
}

/// Returns whether the cell with this first word is wide.
#[inline]
pub(super) fn is_wide(first: u64) -> bool {
    first & WIDE != 0
}

/// Returns where the number of copies begins in a cell of one word, behind the other parts; 63 if there is no room for
/// it.
#[cfg(not(coucal_model))]
fn copies_in_one_word(behind: u32) -> u32 {
    behind.min(63)
}

/// Returns the number that the model has set, or 63 if there is no room for it.
#[cfg(coucal_model)]
fn copies_in_one_word(behind: u32) -> u32 {
    let copies = crate::sync::machine::copies_in_one_word();
    if behind <= copies { copies } else { 63 }
}

impl Packing {
    /// Returns the packing for slots of `slot` bits in a table of fixed size with this number of buckets.
    pub(in crate::table) fn fixed(slot: u32, buckets: u64) -> Self {
        let bits = u64::BITS - buckets.saturating_sub(1).leading_zeros();
        let copies = copies_in_one_word(slot + bits);
        Self { known: 0, ring: 0, position: slot, copies }
    }

    /// Returns the packing for slots of `slot` bits, of which `ring` are the ring, in a growing table.
    pub(in crate::table) fn growing(slot: u32, ring: u32) -> Self {
        let position = slot - ring;
        let copies = copies_in_one_word(position + MOST_KNOWN);
        Self { known: MOST_KNOWN, ring, position, copies }
    }

    /// Returns the only word of a cell that is not wide, if the entry and its copies fit.
    pub(super) fn in_one_word(self, words: CellWords) -> Option<u64> {
        let Stashed { place: Place { position, entry }, copies } = Stashed::of_words(words);
        let bits = u64::from(entry.bits()) >> self.ring;
        let fits = entry.known() == self.known
            && bits >> self.position == 0
            && position >> (self.copies - self.position) == 0
            && copies as u64 >> (63 - self.copies) == 0;
        fits.then(|| bits | position << self.position | (copies as u64) << self.copies)
    }

    /// Returns the first word of a wide cell.
    pub(super) fn wide([first, _]: CellWords) -> u64 {
        let copies = super::copies_in(first) as u64;
        debug_assert!((first & LENGTH) >> KNOWN <= MOST_KNOWN.into());
        WIDE | first & NAME | copies << WIDE_COPIES
    }

    /// Returns the entry in a cell, with its copies. Calls `second` for the second word if the cell is wide.
    #[inline]
    pub(super) fn unpack(self, first: u64, second: impl FnOnce() -> u64) -> CellWords {
        let copies = (self.copies(first) as u64) << COPIES;
        if is_wide(first) {
            return [first & !(u64::MAX << WIDE_COPIES) | copies, second()];
        }
        let name = u64::from(self.bits(first)) | u64::from(self.known) << KNOWN;
        [name | copies, (first & !(u64::MAX << self.copies)) >> self.position]
    }

    /// Returns the number of copies in a first word.
    #[inline]
    pub(super) fn copies(self, first: u64) -> usize {
        ((first & !WIDE) >> self.copies_of(first)) as usize
    }

    /// Returns a first word with another number of copies, if the number fits.
    pub(super) fn with_copies(self, first: u64, copies: usize) -> Option<u64> {
        let shift = self.copies_of(first);
        let fits = copies as u64 >> (63 - shift) == 0;
        fits.then(|| first & (WIDE | !(u64::MAX << shift)) | (copies as u64) << shift)
    }

    /// Returns the entry in a first word as a slot holds it; in a growing table without the ring.
    #[inline]
    pub(super) fn bits(self, first: u64) -> u32 {
        if is_wide(first) {
            first as u32
        } else {
            ((first & !(u64::MAX << self.position)) as u32) << self.ring
        }
    }

    #[inline]
    fn copies_of(self, first: u64) -> u32 {
        if is_wide(first) { WIDE_COPIES } else { self.copies }
    }

    /// Returns the pattern for the first words of an entry at this position. Entries that differ from it only in bits
    /// outside of `mask` match, too.
    #[inline]
    pub(super) fn sought(self, entry: Entry, position: u64, mask: u32) -> Sought {
        let wide = u64::from(entry.bits()) | u64::from(entry.known()) << KNOWN;
        let lengths = (1 << WIDE_COPIES) - (1 << KNOWN);
        let fields = |end: u32| !(u64::MAX << end);
        let bits = u64::from(entry.bits()) >> self.ring;
        let value = u64::from(!mask) >> self.ring & fields(self.position);
        // No cell of one word holds an entry of another length: then the pattern asks for the bit of a wide cell, which
        // such a cell lacks.
        let (one, one_mask) = if entry.known() == self.known {
            (bits | position << self.position, fields(self.copies) & !value)
        } else {
            (WIDE, WIDE)
        };
        Sought { wide, wide_mask: u64::from(mask) | lengths, one, one_mask }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::layout::LayoutId;
    use crate::table::prefix;

    /// Generates entries that fit this packing, with copies.
    fn entries(packing: Packing) -> impl Strategy<Value = Stashed> {
        let grows = packing.known > 0;
        let position = if grows { u64::BITS } else { packing.copies - packing.position };
        let known = if grows {
            prop_oneof![1..=MOST_KNOWN, Just(MOST_KNOWN)].boxed()
        } else {
            Just(0).boxed()
        };
        let copies = prop_oneof![1..=8_usize, 1..=MAX_COPIES, Just(MAX_COPIES)];
        (any::<u64>(), any::<u64>(), known, copies).prop_map(move |(bits, at, known, copies)| {
            let entry =
                Entry::knowing((bits & !(u64::MAX << packing.position)) << packing.ring, known);
            let at = if position == 0 { 0 } else { prefix(at, position) };
            Stashed { place: Place { position: prefix(at, known), entry }, copies }
        })
    }

    fn packings() -> impl Strategy<Value = Packing> {
        prop_oneof![
            (2..=20_u32, 4..=32_u32).prop_filter_map("slots of up to 32 bits", |(ring, entry)| {
                (ring + entry <= 32).then(|| Packing::growing(ring + entry, ring))
            }),
            (4..=32_u32, 0..=40_u32).prop_map(|(slot, bits)| Packing::fixed(slot, 1 << bits)),
        ]
    }

    fn cells() -> impl Strategy<Value = (Packing, Stashed, Stashed)> {
        packings().prop_flat_map(|packing| (Just(packing), entries(packing), entries(packing)))
    }

    proptest! {
        #![proptest_config(crate::random::cases())]

        /// A cell returns the entry that was stored in it, in one word or in two. It matches this entry and no other.
        #[test]
        fn a_cell_holds_its_entry((packing, held, other) in cells()) {
            let words = held.words();
            let one = packing.in_one_word(words);
            let known = held.place.entry.known();
            prop_assert!(one.is_none() || known == packing.known);
            for first in one.into_iter().chain([Packing::wide(words)]) {
                prop_assert_eq!(packing.unpack(first, || words[1]), words);
                prop_assert_eq!(packing.copies(first), held.copies);
                prop_assert_eq!(packing.bits(first), held.place.entry.bits());
                prop_assert_eq!(is_wide(first), Some(first) != one);
                for Stashed { place: Place { position, entry }, copies } in [held, other] {
                    for mask in [u32::MAX, u32::MAX >> 8] {
                        let sought = packing.sought(entry, position, mask);
                        let is_held = (entry.bits() ^ held.place.entry.bits()) & mask == 0
                            && entry.known() == held.place.entry.known()
                            && (is_wide(first) || position == held.place.position);
                        prop_assert_eq!(sought.is_named_by(first), is_held);
                    }
                    let changed = packing.with_copies(first, copies);
                    let changed = changed.map(|first| packing.unpack(first, || words[1]));
                    let expected = Stashed { copies, ..held }.words();
                    let fits = is_wide(first) || packing.in_one_word(expected).is_some();
                    prop_assert_eq!(changed, fits.then_some(expected));
                }
            }
        }
    }

    /// Returns the most copies of this entry that fit into one word.
    fn most_copies(packing: Packing, place: Place) -> usize {
        let fits = |copies: usize| packing.in_one_word(Stashed { place, copies }.words()).is_some();
        (0..25).map(|bits| (1 << bits) - 1).filter(|&copies| fits(copies)).max().unwrap_or(0)
    }

    /// One word is enough for nearly every entry: with 16 bits per slot and 2^30 buckets, it counts up to 131,071
    /// copies.
    #[test]
    fn entries_of_large_tables_fit() {
        let place = Place { position: (1 << 30) - 1, entry: Entry::knowing(0xffff, 0) };
        assert_eq!(most_copies(Packing::fixed(16, 1 << 30), place), (1 << 17) - 1);
    }

    /// What the page about the design says of growing tables.
    #[test]
    fn entries_of_growing_tables_fit() {
        let most = |id: LayoutId, value_bits| {
            let (layout, ring) = (id.properties(), id.properties().ring_bits(value_bits));
            let entry = Entry::knowing(((1 << layout.bits) - 1) >> ring << ring, MOST_KNOWN);
            let place = Place { position: (1 << MOST_KNOWN) - 2, entry };
            most_copies(Packing::growing(layout.bits, ring), place)
        };
        let [of_16, of_21, of_32] = [LayoutId::Fp16x4, LayoutId::Fp21x3, LayoutId::Fp32x2];
        assert_eq!([of_16, of_21, of_32].map(|id| most(id, 0)), [8191, 2047, 127]);
        assert_eq!([14, 15].map(|bits| most(of_21, bits) > 0), [true, false]);
        assert_eq!([6, 7].map(|bits| most(of_32, bits) > 0), [true, false]);
    }
}
