//! The word of a bucket.

use core::array;
use core::marker::PhantomData;

use super::sealed::Encoding;
use super::{Layout, MAX_SLOTS};
use crate::entry::{Entry, Pattern};

/// The 64 bits of a bucket: a multiset of entries, as a layout encodes it. All zeros are the empty
/// bucket.
#[derive(Clone, Copy)]
pub struct Word<L> {
    bits: u64,
    layout: PhantomData<L>,
}

impl<L: Layout> Word<L> {
    pub(crate) const EMPTY: Self = Self::from_bits(0);

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self { bits, layout: PhantomData }
    }

    #[inline]
    pub(crate) fn bits(self) -> u64 {
        self.bits
    }

    /// What each slot holds, 0 for a free one; the first `SLOTS` count.
    #[inline]
    fn slots(self) -> [u64; MAX_SLOTS] {
        L::Encoding::slots(self.bits)
    }

    /// The entries, in no order that has a meaning.
    #[inline]
    pub(crate) fn entries(self) -> impl Iterator<Item = Entry> {
        self.slots().into_iter().filter(|&bits| bits != 0).map(Entry::in_slot)
    }

    /// The entries of a full word, of which the first `SLOTS` count, or `None` if a slot is free.
    #[inline]
    pub(crate) fn entries_if_full(self) -> Option<[Entry; MAX_SLOTS]> {
        let slots = (!self.has_room()).then(|| self.slots())?;
        let entry =
            |slot| if slot < L::SLOTS { Entry::in_slot(slots[slot]) } else { Entry::default() };
        Some(array::from_fn(entry))
    }

    /// How many slots are in use.
    #[inline]
    pub(crate) fn in_use(self) -> usize {
        L::SLOTS - L::Encoding::free(self.bits)
    }

    /// Whether a slot is free.
    #[inline]
    pub(crate) fn has_room(self) -> bool {
        L::Encoding::has_room(self.bits)
    }

    /// Whether it has fewer free slots than `other`. If they have as many, any answer is right.
    #[inline]
    pub(crate) fn is_fuller(self, other: Self) -> bool {
        L::Encoding::fuller(self.bits, other.bits)
    }

    /// Whether an entry matches.
    #[inline]
    pub(crate) fn holds(self, pattern: Pattern) -> bool {
        L::Encoding::holds(self.bits, pattern)
    }

    /// Whether an entry of one word or the other matches: the heart of a lookup.
    #[inline]
    pub(crate) fn either_holds([a, b]: [Self; 2], pattern: Pattern) -> bool {
        L::Encoding::either_holds(a.bits, b.bits, pattern)
    }

    /// How many entries match.
    #[inline]
    pub(crate) fn copies(self, pattern: Pattern) -> usize {
        L::Encoding::copies(self.bits, pattern)
    }

    /// With one entry more, or `None` if no slot is free.
    #[inline]
    pub(crate) fn with(self, entry: Entry) -> Option<Self> {
        L::Encoding::with(self.bits, entry).map(Self::from_bits)
    }

    /// Without one such entry, or `None` if there is none.
    #[inline]
    pub(crate) fn without(self, entry: Entry) -> Option<Self> {
        L::Encoding::without(self.bits, entry).map(Self::from_bits)
    }

    /// The entries that `goes` says no to, and the others.
    pub(crate) fn partition(self, goes: impl Fn(Entry) -> bool) -> [Self; 2] {
        self.entries().fold([Self::EMPTY; 2], |mut parts, entry| {
            let part = &mut parts[usize::from(goes(entry))];
            *part = part.with(entry).expect("a part of a bucket fits");
            parts
        })
    }

    /// Whether an entry differs from `value` in one of the bits of `mask`. Both are no longer than an entry.
    #[inline]
    pub(crate) fn any_differs(self, value: u64, mask: u64) -> bool {
        L::Encoding::any_differs(self.bits, value, mask)
    }

    /// Whether the words that are made from [`EMPTY`](Self::EMPTY) by `with` and `without` include this
    /// one.
    #[inline]
    pub(crate) fn is_canonical(self) -> bool {
        L::Encoding::is_canonical(self.bits)
    }
}
