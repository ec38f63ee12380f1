//! The items of a filter, and the keys of a maplet.
//!
//! **Invariant:** an item is its hash: items with the same hash are the same item.

use core::hash::{BuildHasher, Hash};
use core::ptr;

/// An item of a filter, or a key of a maplet, with the hasher `S`: every type that implements [`Hash`], and
/// [`Prehashed`].
///
/// Implement `Item` for a type that does not implement `Hash`, but knows its own 64-bit hash. Any hash that tells items
/// apart is good enough, even consecutive integers: the filter mixes its bits. To use iterators and slices of
/// references to the type, also implement `Item` for `&YourType`: the crate implements it only for references to types
/// with `Hash`.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Item};
///
/// struct Page {
///     checksum: u64,
///     bytes: Vec<u8>,
/// }
///
/// impl<S> Item<S> for Page {
///     fn hash_with(&self, _: &S) -> u64 {
///         self.checksum
///     }
/// }
///
/// let filter = CuckooFilter::with_capacity(100);
/// filter.insert(&Page { checksum: 7, bytes: vec![1, 2, 3] })?;
/// assert!(filter.contains(&Page { checksum: 7, bytes: vec![1, 2, 3] }));
/// # Ok::<(), coucal::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be hashed by `{S}`",
    label = "this item or key needs `Hash`, and the hasher of the filter `BuildHasher`",
    note = "derive `Hash` for `{Self}`, or implement `coucal::Item` for it",
    note = "a filter with `NoHasher` takes hashes: `&Prehashed(hash)`",
    note = "in generic code: `S: BuildHasher`"
)]
pub trait Item<S> {
    /// Returns the hash of this item.
    #[must_use]
    fn hash_with(&self, hasher: &S) -> u64;
}

#[diagnostic::do_not_recommend]
impl<T: Hash + ?Sized, S: BuildHasher> Item<S> for T {
    #[inline]
    fn hash_with(&self, hasher: &S) -> u64 {
        hasher.hash_one(self)
    }
}

/// The hash of an item or a key, in place of the item. Use it to hash an item once for many filters, or on another
/// machine.
///
/// For a filter with a hasher, [`hash_of`](crate::CuckooFilter::hash_of) returns the hash of an item. A filter that
/// takes only hashes has the hasher [`NoHasher`](crate::NoHasher). Any hash that tells items apart is good enough, even
/// consecutive integers: the filter mixes its bits.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, NoHasher, Prehashed};
///
/// let filter = CuckooFilter::with_capacity(100);
/// filter.insert("egg")?;
/// assert!(filter.contains(&Prehashed(filter.hash_of("egg"))));
///
/// // A filter without a hasher, for hashes that others have computed.
/// let filter = CuckooFilter::builder().capacity(100).hasher(NoHasher).build()?;
/// filter.insert_many(Prehashed::slice(&[7, 8, 9]))?;
/// assert!(filter.contains(&Prehashed(8)));
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(transparent)]
pub struct Prehashed(pub u64);

impl Prehashed {
    /// Converts a slice of hashes to a slice of items, for batches, in the same memory.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Prehashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let hashes: Vec<u64> = (0..100).collect();
    /// filter.insert_many(Prehashed::slice(&hashes))?;
    /// assert_eq!(filter.len(), 100);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[allow(
        unsafe_code,
        reason = "the standard library has no safe way from a slice to one of a wrapper"
    )]
    #[inline]
    #[must_use]
    pub fn slice(hashes: &[u64]) -> &[Self] {
        // SAFETY: `repr(transparent)`, and every number is valid.
        unsafe { &*(ptr::from_ref(hashes) as *const [Self]) }
    }
}

impl<S> Item<S> for Prehashed {
    #[inline]
    fn hash_with(&self, _: &S) -> u64 {
        self.0
    }
}

/// For iterators of references.
impl<S> Item<S> for &Prehashed {
    #[inline]
    fn hash_with(&self, _: &S) -> u64 {
        self.0
    }
}
