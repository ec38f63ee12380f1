//! What a lookup in a maplet returns.

use core::fmt;
use core::iter::FusedIterator;

use crate::layout::MAX_SLOTS;

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
    values: [u32; 2 * MAX_SLOTS],
    /// How many were taken.
    taken: u8,
    /// How many there are, those that were taken included.
    len: u8,
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
        Self { values: [0; 2 * MAX_SLOTS], taken: 0, len: 0 }
    }

    /// One value more, of at most as many as two buckets have slots.
    #[inline]
    pub(crate) fn add(&mut self, value: u32) {
        self.values[usize::from(self.len)] = value;
        self.len += 1;
    }

    /// Those that were not taken yet.
    #[inline]
    fn rest(&self) -> &[u32] {
        &self.values[usize::from(self.taken)..usize::from(self.len)]
    }
}

impl Iterator for Candidates {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        let next = self.rest().first().copied();
        self.taken += u8::from(next.is_some());
        next
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        let len = self.rest().len();
        (len, Some(len))
    }
}

impl ExactSizeIterator for Candidates {}

impl FusedIterator for Candidates {}

impl fmt::Debug for Candidates {
    /// Prints the values that were not taken yet.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rest()).finish()
    }
}
