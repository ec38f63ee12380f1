//! What a lookup in a maplet returns.

use core::fmt;
use core::hint::select_unpredictable;
use core::iter::FusedIterator;

use crate::arch::Marks;

/// The values that a key may have: an iterator, returned by [`CuckooMaplet::get`].
///
/// It returns all values of the key, in unspecified order, and few others: values of keys that the maplet
/// cannot tell from this one. A value that is stored more than once may be returned as often (its copies in the
/// [stash](crate#what-finds-no-room) once); one that another thread is moving may be returned twice.
///
/// The maplet is not borrowed. The values of the two buckets are in the iterator itself, and nothing is allocated.
/// Those of the stash are in a vector.
///
/// # Aborts
///
/// `get`, and a clone, as `Vec` does, if there are values of the stash and the allocator has no memory for them.
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
    more: More,
}

/// The values for which two buckets have no room. In a box: one word for all who have none. A type of its own: who
/// takes the candidates for an `Option` is not sent to this one by the compiler.
#[derive(Clone, Default)]
#[expect(clippy::box_collection, reason = "one word in place of three")]
struct More(Option<Box<Vec<u32>>>);

/// The values of the slots of two buckets that match.
#[derive(Clone, Copy, Debug, Default)]
pub struct MatchingValues {
    /// The values of each bucket side by side, with other bits below each of them.
    pub(crate) words: [u64; 2],
    /// Which values are meant.
    pub(crate) marks: Marks,
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
            more: More(None),
        }
    }

    /// Values of this many bits.
    #[inline]
    pub(crate) fn of(values: MatchingValues, bits: u32) -> Self {
        Self { rest: values, shorter: u64::BITS - bits, more: More(None) }
    }

    /// One value more.
    pub(crate) fn add(&mut self, value: u32) {
        self.more.0.get_or_insert_default().push(value);
    }

    /// In an order that does not tell in which cells of the stash they were.
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
        // No branch: no processor could predict it.
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
    /// Prints the values that were not taken yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.clone()).finish()
    }
}
