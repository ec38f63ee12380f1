//! What a lookup in a maplet returns.

use core::fmt;
use core::hint::select_unpredictable;
use core::iter::FusedIterator;

/// The values that a key may have: an iterator, returned by [`CuckooMaplet::get`].
///
/// It returns all values of the key, in unspecified order, and few others: values of keys that the maplet
/// cannot tell from this one. A value that is stored n times is returned n times; one that another thread
/// is moving may be returned twice. There are at most 2b values, for b slots per bucket: 8 in the default
/// layout. They are stored in the iterator itself: nothing is allocated, and the maplet is not borrowed.
///
/// [`CuckooMaplet::get`]: crate::CuckooMaplet::get
///
/// # Examples
///
/// ```
/// use coucal::{Candidates, CuckooMaplet};
///
/// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
/// maplet.insert("egg", 7)?;
/// maplet.insert("egg", 9)?;
/// let candidates: Candidates = maplet.get("egg");
/// assert!(candidates.len() >= 2);
/// let mut values: Vec<u32> = candidates.collect();
/// values.sort_unstable();
/// assert!(values.contains(&7) && values.contains(&9));
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Default)]
#[must_use = "an iterator does nothing unless it is asked for its values"]
pub struct Candidates {
    /// Those that were not taken yet.
    rest: MatchingValues,
    /// The bits of a word that a value does not have.
    shorter: u32,
}

/// The values of the slots of two buckets that match.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchingValues {
    /// The values of each bucket side by side, with other bits below each of them.
    pub(crate) words: [u64; 2],
    /// Which values are meant.
    pub(crate) marks: Marks,
}

/// A mark for each lane of two words that matches.
#[derive(Clone, Copy, Debug, Default)]
pub struct Marks {
    /// The highest bit of the lane, and for a lane of the first word the bit below it: so no two marks are
    /// in the same place.
    pub(crate) both: u64,
    /// Those of the second word.
    pub(crate) second: u64,
}

impl Marks {
    /// Of the highest bits of the lanes of each word.
    #[inline]
    pub(crate) fn of_highest_bits([first, second]: [u64; 2]) -> Self {
        Self { both: first >> 1 | second, second }
    }
}

impl Candidates {
    /// Without values: for the slice that [`CuckooMaplet::get_many`](crate::CuckooMaplet::get_many)
    /// writes to.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(coucal::Candidates::new().next(), None);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self {
            rest: MatchingValues { words: [0; 2], marks: Marks { both: 0, second: 0 } },
            shorter: 0,
        }
    }

    /// Values of this many bits.
    #[inline]
    pub(crate) fn of(values: MatchingValues, bits: u32) -> Self {
        Self { rest: values, shorter: u64::BITS - bits }
    }
}

impl Iterator for Candidates {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let MatchingValues { words: [first, second], marks } = &mut self.rest;
        if marks.both == 0 {
            return None;
        }
        let mark = marks.both.trailing_zeros();
        marks.both &= marks.both - 1;
        // No branch: no processor could predict it.
        let in_second = marks.second >> mark & 1 != 0;
        let word = select_unpredictable(in_second, *second, *first);
        let above = u64::BITS - 1 - mark - u32::from(!in_second);
        Some((word << above >> self.shorter) as u32)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let rest = self.rest.marks.both.count_ones() as usize;
        (rest, Some(rest))
    }
}

impl ExactSizeIterator for Candidates {}

impl FusedIterator for Candidates {}

impl fmt::Debug for Candidates {
    /// Prints the values that were not taken yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
