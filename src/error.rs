//! What can go wrong, and what to do about it.

use core::error::Error;
use core::fmt;

/// Why an insert stored nothing.
///
/// Whatever the reason, the filter holds exactly what it held before.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(100);
/// for _ in 0..8 {
///     filter.insert("nest")?;
/// }
/// assert_eq!(filter.insert("nest"), Err(InsertError::TooManyCopies));
/// assert_eq!(filter.insert("egg"), Ok(()));
/// # Ok::<(), InsertError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InsertError {
    /// No free slot within reach of the item's two buckets.
    ///
    /// Remove items, or build a filter with a larger capacity. After a refusal the filter looks less
    /// far, until something is removed: a larger share of inserts fails then, and each of them fails
    /// sooner.
    ///
    /// While other threads write, the search for a free slot sees no single moment of the table: an
    /// item is refused only if it has no room beside everything that may have been there during the
    /// call, taken at once.
    Full,
    /// Both buckets hold nothing but copies of this very fingerprint: one item (or several that
    /// collide) was inserted as often as a filter can count.
    ///
    /// Use [`insert_unique`](crate::CuckooFilter::insert_unique) where one copy is enough.
    TooManyCopies,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the filter is full: remove items, or build one with a larger capacity",
            Self::TooManyCopies => {
                "the filter holds as many copies of this item as it can count: \
                 insert_unique stores one copy only"
            }
        })
    }
}

impl Error for InsertError {}

/// A batch of inserts that stopped at an item it could not store.
///
/// The items before [`stored`](Self::stored) are in the filter, the item at that index is the one
/// that failed, and the items after it were not tried.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(100);
/// let items = ["nest"; 10];
/// let failed = filter.insert_many(&items).unwrap_err();
/// assert_eq!(failed.stored(), 8);
/// assert_eq!(failed.cause(), InsertError::TooManyCopies);
/// assert_eq!(filter.len(), 8);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InsertManyError {
    stored: usize,
    cause: InsertError,
}

impl InsertManyError {
    pub(crate) fn new(stored: usize, cause: InsertError) -> Self {
        Self { stored, cause }
    }

    /// How many items were stored: exactly the first so many of the batch.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Why the item at index [`stored`](Self::stored) was not stored.
    #[must_use]
    pub fn cause(&self) -> InsertError {
        self.cause
    }
}

impl fmt::Display for InsertManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stored the first {} items and no more: {}", self.stored, self.cause)
    }
}

impl Error for InsertManyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.cause)
    }
}

/// The items and the answers of a batch lookup are not equally many; nothing was looked up.
///
/// # Examples
///
/// ```
/// use coucal::CuckooFilter;
///
/// let filter = CuckooFilter::with_capacity(100);
/// let mut answers = [false; 2];
/// let error = filter.contains_many(&["a", "b", "c"], &mut answers).unwrap_err();
/// assert_eq!((error.items(), error.answers()), (3, 2));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LengthMismatch {
    items: usize,
    answers: usize,
}

impl LengthMismatch {
    pub(crate) fn check(items: usize, answers: usize) -> Result<(), Self> {
        if items == answers { Ok(()) } else { Err(Self { items, answers }) }
    }

    /// The length of the slice of items.
    #[must_use]
    pub fn items(&self) -> usize {
        self.items
    }

    /// The length of the slice for the answers.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.answers
    }
}

impl fmt::Display for LengthMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} items need a slice of {} answers, and it has {}: nothing was looked up",
            self.items, self.items, self.answers
        )
    }
}

impl Error for LengthMismatch {}

/// Why a filter could not be built.
///
/// # Examples
///
/// ```
/// use coucal::{BuildError, CuckooFilter};
///
/// let error = CuckooFilter::try_with_capacity(usize::MAX).unwrap_err();
/// assert_eq!(error, BuildError::CapacityOverflow { capacity: usize::MAX });
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BuildError {
    /// So many items need more memory than can be addressed.
    CapacityOverflow {
        /// The number of items asked for.
        capacity: usize,
    },
    /// The allocator could not provide the memory.
    OutOfMemory {
        /// The size of the table, in bytes.
        bytes: usize,
    },
    /// A false-positive rate lies between 0 and 1, both excluded.
    InvalidRate {
        /// The rate asked for.
        rate: f64,
    },
    /// The fingerprints of the layout are too short for the rate asked for.
    ///
    /// Build the filter with the layout named here, or an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which chooses it.
    RateOutOfReach {
        /// The rate asked for.
        rate: f64,
        /// The rate that this layout has at the capacity asked for; of a filter that chooses its
        /// layout, the lowest that any has.
        reached: f64,
        /// The smallest layout that reaches the rate, if one does.
        layout: Option<&'static str>,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CapacityOverflow { capacity } => {
                write!(f, "a filter for {capacity} items is larger than the address space")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "the allocator could not provide the {bytes} bytes of the table")
            }
            Self::InvalidRate { rate } => {
                write!(f, "a false-positive rate lies between 0 and 1, both excluded: {rate}")
            }
            Self::RateOutOfReach { rate, reached, layout: Some(layout) } => write!(
                f,
                "this layout has a false-positive rate of {reached:.3e} at that capacity, \
                 and {rate:.3e} was asked for: {layout} reaches it"
            ),
            Self::RateOutOfReach { rate, reached, layout: None } => write!(
                f,
                "no layout has a false-positive rate below {reached:.3e} at that capacity, \
                 and {rate:.3e} was asked for"
            ),
        }
    }
}

impl Error for BuildError {}
