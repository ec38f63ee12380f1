//! The values that a lookup in a maplet returns.

use core::fmt;
use core::iter::FusedIterator;

use crate::arch::Marks;
use crate::backports::select_unpredictable;

/// The values that a key may have: an iterator, returned by [`CuckooMaplet::get`].
///
/// It returns all values of the key, in unspecified order, and few others: values of keys that the maplet cannot tell
/// from this one. A value may occur more than once:
/// * A value that is stored several times may be returned that many times. (Its copies in the
///   [stash](crate#the-stash) are returned once.)
/// * A value that another thread is moving may be returned twice.
///
/// The iterator does not borrow the maplet. It holds the values of the two buckets itself, without an allocation;
/// values from the stash are in a vector.
///
/// # Aborts
///
/// `get` and a clone abort, as `Vec` does, if the allocator has no memory for values from the stash.
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
    /// The values of the two buckets that were not returned yet.
    rest: MatchingValues,
    /// 64 minus the number of bits of a value.
    shorter: u32,
    more: More,
}

/// The values that were found in the stash. They are in a box, so that the field takes one word where there are none.
/// It has a type of its own, so that the compiler does not suggest this field where a caller takes the candidates for
/// an `Option`.
#[derive(Clone, Default)]
#[expect(clippy::box_collection, reason = "one word in place of three")]
struct More(Option<Box<Vec<u32>>>);

/// The values of the slots of two buckets that match.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchingValues {
    /// The values of each bucket side by side, with other bits below each value.
    pub(crate) words: [u64; 2],
    /// Marks the values that match.
    pub(crate) marks: Marks,
}

impl Candidates {
    /// Creates an iterator without values: an element of the slice that
    /// [`CuckooMaplet::get_many`](crate::CuckooMaplet::get_many) writes to.
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
            more: More(None),
        }
    }

    /// Creates an iterator over values of `bits` bits.
    #[inline]
    pub(crate) fn of(values: MatchingValues, bits: u32) -> Self {
        Self { rest: values, shorter: u64::BITS - bits, more: More(None) }
    }

    /// Adds a value from the stash.
    pub(crate) fn add(&mut self, value: u32) {
        self.more.0.get_or_insert_default().push(value);
    }

    /// Sorts the added values, so that their order does not tell in which cells of the stash they were.
    pub(crate) fn sort_added(&mut self) {
        if let Some(more) = &mut self.more.0 {
            more.sort_unstable();
        }
    }
}

impl Iterator for Candidates {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let MatchingValues { words: [first, second], marks } = &mut self.rest;
        if marks.both == 0 {
            return self.more.0.as_mut()?.pop();
        }
        let mark = marks.both.trailing_zeros();
        marks.both &= marks.both - 1;
        // Without a branch, which no processor could predict.
        let in_second = marks.second >> mark & 1 != 0;
        let word = select_unpredictable(in_second, *second, *first);
        let above = u64::BITS - 1 - mark - u32::from(!in_second);
        Some((word << above >> self.shorter) as u32)
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let more = self.more.0.as_ref().map_or(0, |more| more.len());
        let rest = self.rest.marks.both.count_ones() as usize + more;
        (rest, Some(rest))
    }
}

impl ExactSizeIterator for Candidates {}

impl FusedIterator for Candidates {}

impl fmt::Debug for Candidates {
    /// Prints the values that were not returned yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
