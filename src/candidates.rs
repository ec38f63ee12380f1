//! What a lookup in a maplet returns.

use core::fmt;
use core::iter::FusedIterator;

/// The values that a key may have: an iterator, returned by [`CuckooMaplet::get`].
///
/// It has all values of the key, in no order, and few others: those of keys that cannot be told from it.
/// A value that the key has several times comes as often; one that another thread is moving may come
/// twice. There are at most as many as two buckets have slots, 8 in the default layout, and they are in
/// the iterator itself: nothing is allocated, and nothing of the maplet is borrowed.
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
    /// Those that were not taken yet, of each of the two buckets.
    rest: [Values; 2],
    /// Bits of a value.
    bits: u32,
}

/// The values of the slots of a bucket that match.
#[derive(Clone, Copy, Debug, Default)]
pub struct Values {
    /// The values side by side, with other bits between them.
    pub(crate) word: u64,
    /// The highest bit of each value.
    pub(crate) marks: u64,
}

impl Candidates {
    /// No values: what a batch of lookups overwrites.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(coucal::Candidates::new().next(), None);
    /// ```
    #[inline]
    pub const fn new() -> Self {
        Self { rest: [Values { word: 0, marks: 0 }; 2], bits: 0 }
    }

    /// Values of this many bits.
    #[inline]
    pub(crate) fn of(values: [Values; 2], bits: u32) -> Self {
        Self { rest: values, bits }
    }
}

impl Iterator for Candidates {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let [first, second] = &mut self.rest;
        // One test for both: a key that is absent mostly has none.
        if first.marks | second.marks == 0 {
            return None;
        }
        let rest = if first.marks != 0 { first } else { second };
        let value = rest.word >> (rest.marks.trailing_zeros() + 1 - self.bits);
        rest.marks &= rest.marks - 1;
        Some(value as u32 & ((1 << self.bits) - 1))
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let [first, second] = self.rest.map(|values| values.marks.count_ones() as usize);
        (first + second, Some(first + second))
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
