//! The errors, and what to do about each of them.

use core::error;
use core::fmt;
use std::io;

use crate::sync::memory::NoMemory;

/// Why an insert stored nothing.
///
/// The filter holds exactly what it held before.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(100);
/// let refused = (0..).find_map(|n: u32| filter.insert(&n).err());
/// assert_eq!(refused, Some(InsertError::Full));
/// assert!(filter.len() >= 100);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InsertError {
    /// The filter holds what it was made for: its slots in use and its
    /// [stashed entries](crate::Stats::stashed_entries) together have reached the load at which tables of its
    /// [layout](crate::Layout) are full, a short search found no free slot, and the filter does not grow, or has its
    /// maximum size.
    ///
    /// Remove items, or build a filter with a larger capacity, or a filter that grows
    /// ([`Builder::max_capacity`](crate::Builder::max_capacity)). Whether an insert fails depends on
    /// the contents of the table, not on inserts that failed before. While other threads write, it may count items
    /// that they remove during the call.
    ///
    /// One item, or one pair of a maplet, can have 2^25 - 1 copies in the [stash](crate#what-finds-no-room): the next one
    /// returns this error, too.
    Full,
    /// The item needs memory that the allocator could not provide: for the growth of a growing filter, or for the
    /// [stash](crate#what-finds-no-room).
    ///
    /// Free memory and insert the item again, or remove items. Inserts that find room go on.
    /// [`reserve`](crate::CuckooFilter::reserve) takes the memory for growth ahead of time.
    OutOfMemory,
    /// The value has more bits than the maplet stores.
    ///
    /// Build the maplet with more [value bits](crate::Builder::value_bits).
    ValueTooLarge,
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the filter is full: remove items, or build one with a larger capacity",
            Self::OutOfMemory => {
                "the allocator could not provide the memory for the item: \
                 free memory and insert the item again, or remove items"
            }
            Self::ValueTooLarge => {
                "the value has more bits than this maplet stores: build one with more value bits"
            }
        })
    }
}

impl error::Error for InsertError {}

/// A batch of inserts, or of replacements, that stopped at an item that it could not store.
///
/// The items before [`index`](Self::index) are in the filter. The insert of the item at that index
/// failed, and the items after it were not tried.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, InsertError};
///
/// let filter = CuckooFilter::with_capacity(100);
/// let items: Vec<u32> = (0..1000).collect();
/// let failed = filter.insert_many(&items).unwrap_err();
/// assert!(failed.stored() >= 100);
/// assert_eq!(failed.cause(), InsertError::Full);
/// assert_eq!(filter.len(), failed.stored());
/// assert_eq!(failed.index(), failed.stored());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InsertManyError {
    index: usize,
    stored: usize,
    cause: InsertError,
}

impl InsertManyError {
    /// Of the items before `index`, `stored` were stored.
    pub(crate) fn new(index: usize, stored: usize, cause: InsertError) -> Self {
        Self { index, stored, cause }
    }

    /// The same of a batch that begins after `index` items of which `stored` were stored.
    pub(crate) fn after(self, index: usize, stored: usize) -> Self {
        Self { index: index + self.index, stored: stored + self.stored, ..self }
    }

    /// The index of the item that could not be stored. To go on with the batch, begin with this item.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// The number of items that were stored. It is the [`index`](Self::index), except in two batches: of
    /// [`insert_unique`](crate::CuckooFilter::insert_unique) it is the number of the items before the index that were
    /// new, and of [`replace`](crate::CuckooMaplet::replace) of those that were there.
    #[must_use]
    pub fn stored(&self) -> usize {
        self.stored
    }

    /// Why the item at the [`index`](Self::index) was not stored.
    #[must_use]
    pub fn cause(&self) -> InsertError {
        self.cause
    }
}

impl fmt::Display for InsertManyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { index, stored, cause } = self;
        if stored == index {
            write!(f, "stored the first {index} items and no more: {cause}")
        } else {
            write!(
                f,
                "stored the {stored} new ones of the first {index} items and no more: {cause}"
            )
        }
    }
}

// No source: the message says the cause already, and `cause` returns it.
impl error::Error for InsertManyError {}

/// The numbers of items and of answers of a batch differ; nothing was done.
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
            "{} items need a slice of {} answers, and it has {}: nothing was done",
            self.items, self.items, self.answers
        )
    }
}

impl error::Error for LengthMismatch {}

/// Why a filter or a maplet could not be built.
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
    /// The items need more than 2^44 slots, which no table has.
    CapacityOverflow {
        /// The requested number of items.
        capacity: usize,
    },
    /// The allocator could not provide the memory.
    OutOfMemory {
        /// The size of the table, in bytes.
        bytes: usize,
    },
    /// The false-positive rate is not between 0 and 1, both excluded.
    InvalidRate {
        /// The requested rate.
        rate: f64,
    },
    /// The maximum capacity of a growable filter is less than its initial capacity.
    MaxCapacityTooLow {
        /// The requested initial number of items.
        capacity: usize,
        /// The requested maximum number of items.
        max_capacity: usize,
    },
    /// The target load of a growing filter is too low or too high for its layout.
    TargetLoadOutOfRange {
        /// The layout; if it is chosen at run time, one that could otherwise be chosen.
        layout: &'static str,
        /// The lowest target load.
        min: f64,
        /// The highest target load of this layout.
        max: f64,
    },
    /// The fingerprints of the layout are too short for the requested rate.
    ///
    /// Build the filter with the `layout` of this error, or an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which chooses it. A filter that grows has a lower rate
    /// at its maximum capacity if its initial capacity is larger: it doubles less often.
    RateOutOfReach {
        /// The requested rate.
        rate: f64,
        /// The rate of this layout at the requested capacity, which is the maximum capacity of a filter
        /// that grows; if no layout reaches the requested rate, the lowest rate of all layouts.
        reached: f64,
        /// The smallest layout that reaches the rate, if any does.
        layout: Option<&'static str>,
    },
    /// The layout has no room for values of this length, or their length was not said.
    ///
    /// Request between 1 and `max` [value bits](crate::Builder::value_bits), or build the maplet with the
    /// layout `other`. In a maplet that grows the bits of a value take the place of bits that
    /// keep the rate low.
    ValueBitsOutOfRange {
        /// The layout.
        layout: &'static str,
        /// The requested bits of a value; 0 if none were requested.
        value_bits: u32,
        /// The most bits of a value in this layout; 0 if it stores none.
        max: u32,
        /// The layout with the shortest fingerprints that stores such values, if any does.
        other: Option<&'static str>,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CapacityOverflow { capacity } => {
                write!(
                    f,
                    "a filter for {capacity} items is too large: no table has more than 2^44 slots"
                )
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "the allocator could not provide the {bytes} bytes of the table")
            }
            Self::InvalidRate { rate } => {
                write!(f, "a false-positive rate lies between 0 and 1, both excluded: {rate}")
            }
            Self::MaxCapacityTooLow { capacity, max_capacity } => write!(
                f,
                "a filter cannot grow from {capacity} items to {max_capacity}: \
                 max_capacity must not be below capacity"
            ),
            Self::TargetLoadOutOfRange { layout, min, max } => {
                write!(
                    f,
                    "the target load of a growing filter in {layout} lies between {min} and {max}"
                )
            }
            Self::RateOutOfReach { rate, reached, layout: Some(layout) } => write!(
                f,
                "this layout has a false-positive rate of {reached:.3e} at that capacity, \
                 above the requested {rate:.3e}: {layout} reaches it"
            ),
            Self::RateOutOfReach { rate, reached, layout: None } => write!(
                f,
                "no layout has a false-positive rate below {reached:.3e} at that capacity, \
                 and {rate:.3e} was requested"
            ),
            Self::ValueBitsOutOfRange { value_bits: 0, .. } => {
                f.write_str("a maplet needs the length of its values: call `value_bits`")
            }
            Self::ValueBitsOutOfRange { layout, value_bits, max, other } => {
                write!(
                    f,
                    "such a maplet in {layout} stores values of at most {max} bits, and {value_bits} \
                     were requested"
                )?;
                match other {
                    Some(other) => write!(f, ": {other} stores them"),
                    None => f.write_str(", which no layout stores"),
                }
            }
        }
    }
}

impl error::Error for BuildError {}

/// Why a filter could not grow to hold the reserved items. It holds the items that it held.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, ReserveError};
///
/// let filter = CuckooFilter::builder().capacity(100).max_capacity(1000).build()?;
/// assert!(filter.reserve(500).is_ok());
/// let error = filter.reserve(5000).unwrap_err();
/// assert_eq!(error, ReserveError::AboveMaxCapacity { wanted: 5000, max_capacity: 1000 });
/// # Ok::<(), coucal::BuildError>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReserveError {
    /// The filter would hold more items than its maximum capacity; nothing has changed.
    ///
    /// Build one with a larger [`max_capacity`](crate::Builder::max_capacity).
    AboveMaxCapacity {
        /// The requested number of items: those in the filter and the additional ones.
        wanted: usize,
        /// The maximum capacity of the filter.
        max_capacity: usize,
    },
    /// The allocator could not provide the memory. The filter has grown as far as there was memory.
    ///
    /// Free memory and call [`reserve`](crate::CuckooFilter::reserve) again, or reserve less.
    OutOfMemory {
        /// The size in bytes of the part of the table that could not be added.
        bytes: usize,
    },
}

impl ReserveError {
    pub(crate) fn check(wanted: usize, max_capacity: usize) -> Result<(), Self> {
        if wanted <= max_capacity {
            Ok(())
        } else {
            Err(Self::AboveMaxCapacity { wanted, max_capacity })
        }
    }
}

impl fmt::Display for ReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AboveMaxCapacity { wanted, max_capacity } => write!(
                f,
                "the filter grows to {max_capacity} items, and {wanted} need room: \
                 build one with a larger max_capacity"
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "the allocator could not provide {bytes} bytes for the filter to grow: \
                 free memory, or reserve less"
            ),
        }
    }
}

impl error::Error for ReserveError {}

/// Why a snapshot could not be taken; the filter is unchanged.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, SnapshotError};
///
/// match CuckooFilter::with_capacity(100).snapshot() {
///     Ok(snapshot) => assert!(snapshot.is_empty()),
///     Err(SnapshotError::OutOfMemory { bytes }) => println!("{bytes} bytes cannot be had"),
///     Err(error) => println!("{error}"),
/// }
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotError {
    /// The allocator could not provide the memory: as much as the buckets of the filter take, and 32 bytes for each
    /// [stashed entry](crate::Stats::stashed_entries).
    OutOfMemory {
        /// The size of these buckets in bytes.
        bytes: usize,
    },
}

impl fmt::Display for SnapshotError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfMemory { bytes } => {
                write!(f, "the allocator could not provide the {bytes} bytes of a snapshot")
            }
        }
    }
}

impl error::Error for SnapshotError {}

/// Why a filter could not be restored. No filter is made, and all memory is freed.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Fp12x5, Fp16x4, RestoreError, StableHashBuilder};
///
/// let filter = CuckooFilter::with_capacity_and_hasher(100, StableHashBuilder::new(7));
/// let bytes = filter.snapshot()?.to_bytes();
///
/// let error = CuckooFilter::<Fp12x5, _>::from_bytes(&bytes, StableHashBuilder::new(7)).unwrap_err();
/// assert!(matches!(error, RestoreError::OtherLayout { snapshot: "Fp16x4", filter: "Fp12x5" }));
/// let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, StableHashBuilder::new(8)).unwrap_err();
/// assert!(matches!(error, RestoreError::OtherHasher));
/// let error = CuckooFilter::<Fp16x4, _>::from_bytes(b"\x89PNG", StableHashBuilder::new(7)).unwrap_err();
/// assert!(matches!(error, RestoreError::NotASnapshot));
/// let error = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes[..4], StableHashBuilder::new(7)).unwrap_err();
/// assert!(matches!(error, RestoreError::Truncated));
/// # Ok::<(), coucal::Error>(())
/// ```
#[non_exhaustive]
#[derive(Debug)]
pub enum RestoreError {
    /// The reader failed.
    Io(io::Error),
    /// The bytes end before the snapshot does, or there are none.
    ///
    /// Take another copy of it: this copy was not written or not sent to its end.
    Truncated,
    /// The bytes do not begin as a snapshot does, however few they are.
    NotASnapshot,
    /// The snapshot has a version that this release does not read. It reads version 1.
    UnknownVersion {
        /// The version of the snapshot.
        version: u32,
    },
    /// The snapshot is of a kind of filter that this release does not have.
    UnknownKind {
        /// The number of the kind. This release has 0 (a filter of fixed size), 1 (a growable filter), 2
        /// and 3 (the same of maplets).
        kind: u8,
    },
    /// The snapshot is of a layout that this release does not have for filters of this kind.
    UnknownLayout {
        /// The number of the encoding of a word. This release has 0 (packed) and 1 (semi-sorted).
        encoding: u8,
        /// Bits of its fingerprints.
        fingerprint_bits: u8,
        /// Slots of its buckets.
        slots: u8,
    },
    /// A checksum is wrong: bytes were changed since the snapshot was written.
    ///
    /// Take another copy of it.
    Damaged,
    /// The sizes in the header contradict each other, or no table has them.
    ///
    /// For this and the next three errors, the checksums are right: the program that wrote the bytes
    /// is at fault, and another copy of the bytes does not help.
    ImpossibleTable {
        /// The number of words that the header promises.
        words: u64,
    },
    /// A word is none that its bucket can hold.
    InvalidWord {
        /// The bucket.
        bucket: usize,
    },
    /// An entry of the [stash](crate#what-finds-no-room) is none that the table can have, or is not in order.
    InvalidEntry {
        /// How many entries of the stash are before it.
        entry: usize,
    },
    /// The number of slots in use, or of copies in the stash, is not the number in the header.
    WrongLen {
        /// The number in the header.
        stated: usize,
        /// The number that was found.
        found: usize,
    },
    /// The snapshot is of a growable filter and the type of the filter is of fixed size, or the other
    /// way round.
    ///
    /// For the snapshot of a growable filter, restore a
    /// [`GrowableCuckooFilter`](crate::GrowableCuckooFilter), and of a growable maplet a
    /// [`GrowableCuckooMaplet`](crate::GrowableCuckooMaplet).
    OtherKind {
        /// Whether the filter of the snapshot grows.
        grows: bool,
    },
    /// The snapshot is of a maplet and is to be restored as a filter, or the other way round.
    ///
    /// Restore a [`CuckooMaplet`](crate::CuckooMaplet) of the snapshot of a maplet.
    OtherType {
        /// Whether the snapshot is of a maplet.
        is_maplet: bool,
    },
    /// The snapshot is of another layout.
    ///
    /// Name that layout in the type of the filter, or restore an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which accepts every layout.
    OtherLayout {
        /// The layout of the snapshot.
        snapshot: &'static str,
        /// The layout of the filter.
        filter: &'static str,
    },
    /// The filter of the snapshot had a hasher with other hashes: the restored filter would miss its
    /// items.
    ///
    /// Use the hasher of that filter. A default hasher has a random seed and cannot be made again in
    /// another process; a [`StableHashBuilder`](crate::StableHashBuilder) can.
    OtherHasher,
    /// There are bytes after the snapshot. [`restore`](crate::CuckooFilter::restore) leaves such
    /// bytes in the reader.
    TrailingBytes {
        /// The number of these bytes.
        bytes: usize,
    },
    /// The allocator could not provide the memory.
    OutOfMemory {
        /// The size of the table in bytes, or of the part of it that was to be read.
        bytes: usize,
    },
}

/// The advice for bytes with right checksums and impossible contents.
const DO_NOT_TRUST: &str =
    "the checksums match, so it was written this way: do not trust the writer";

impl fmt::Display for RestoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the snapshot could not be read: {error}"),
            Self::Truncated => {
                f.write_str("the bytes end before the end of the snapshot: read another copy of it")
            }
            Self::NotASnapshot => f.write_str(
                "the bytes are not a snapshot of a filter: they do not begin with the 8 bytes that \
                 `write_to` writes first",
            ),
            Self::UnknownVersion { version } => write!(
                f,
                "the snapshot has version {version}, and this release reads version 1: read it with the \
                 release that wrote it, or a newer one"
            ),
            Self::UnknownKind { kind } => write!(
                f,
                "the snapshot is of a filter of kind {kind}, which this release does not have: \
                 read it with a newer one"
            ),
            Self::UnknownLayout { encoding, fingerprint_bits, slots } => write!(
                f,
                "the snapshot has {slots} fingerprints of {fingerprint_bits} bits in a bucket, in \
                 encoding {encoding}, a layout that this release does not have for filters of this \
                 kind: read it with a newer one"
            ),
            Self::Damaged => {
                f.write_str("the snapshot is damaged, a checksum is wrong: read another copy of it")
            }
            Self::ImpossibleTable { words } => write!(
                f,
                "the header of the snapshot states {words} words, and sizes that no table has: \
                 {DO_NOT_TRUST}"
            ),
            Self::InvalidEntry { entry } => {
                write!(
                    f,
                    "entry {entry} of the stash is none that the filter can have: {DO_NOT_TRUST}"
                )
            }
            Self::InvalidWord { bucket } => write!(
                f,
                "bucket {bucket} of the snapshot holds a word that no such bucket has: {DO_NOT_TRUST}"
            ),
            Self::WrongLen { stated, found } => write!(
                f,
                "the snapshot holds {found} items, and its header says {stated}: {DO_NOT_TRUST}"
            ),
            Self::OtherKind { grows: true } => f.write_str(
                "the snapshot is of a filter that grows: restore a GrowableCuckooFilter",
            ),
            Self::OtherKind { grows: false } => f.write_str(
                "the snapshot is of a filter of fixed size: restore a CuckooFilter of its layout, \
                 or an AnyCuckooFilter",
            ),
            Self::OtherType { is_maplet: true } => {
                f.write_str("the snapshot is of a maplet: restore a CuckooMaplet")
            }
            Self::OtherType { is_maplet: false } => {
                f.write_str("the snapshot is of a filter: restore a CuckooFilter")
            }
            Self::OtherLayout { snapshot, filter } => write!(
                f,
                "the snapshot has the layout {snapshot} and not {filter}: \
                 restore a filter of that layout, or of AnyLayout"
            ),
            Self::OtherHasher => f.write_str(
                "the filter of the snapshot had another hasher, or another seed: \
                 a filter to be restored in another process needs a StableHashBuilder",
            ),
            Self::TrailingBytes { bytes } => {
                write!(f, "{bytes} bytes follow the snapshot: `restore` leaves them to its reader")
            }
            Self::OutOfMemory { bytes } => {
                write!(f, "the allocator could not provide {bytes} bytes for the table")
            }
        }
    }
}

impl From<NoMemory> for RestoreError {
    fn from(NoMemory { bytes }: NoMemory) -> Self {
        Self::OutOfMemory { bytes }
    }
}

impl error::Error for RestoreError {
    fn source(&self) -> Option<&(dyn error::Error + 'static)> {
        match self {
            // The message has that of the reader's error already.
            Self::Io(error) => error.source(),
            _ => None,
        }
    }
}

/// Why one filter could not be merged into another, which is unchanged.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, MergeError};
///
/// // Each has a seed of its own.
/// let [one, other] = [0; 2].map(|_| CuckooFilter::with_capacity(100));
/// assert_eq!(one.merge(&other), Err(MergeError::OtherHasher));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeError {
    /// The other filter has another layout.
    OtherLayout,
    /// The two filters are of fixed size, and have different numbers of slots. Filters that grow may have any
    /// sizes.
    ///
    /// Build both for the same capacity.
    OtherSize {
        /// The slots of this filter.
        slots: usize,
        /// The slots of the other filter.
        other: usize,
    },
    /// The other maplet has values of another length.
    ///
    /// Build both with the same [value bits](crate::Builder::value_bits).
    OtherValueBits {
        /// The bits of a value in this maplet.
        value_bits: u32,
        /// The bits of a value in the other maplet.
        other: u32,
    },
    /// The other filter has a hasher with other hashes.
    ///
    /// Build it with a clone of this filter's hasher.
    OtherHasher,
    /// The items of both filters do not fit into this filter.
    ///
    /// Build it for more items, or let it grow
    /// ([`Builder::max_capacity`](crate::Builder::max_capacity)).
    Full,
    /// The allocator could not provide the memory for this filter to grow, or for its stash: see
    /// [`InsertError::OutOfMemory`].
    NoMemoryToGrow,
    /// The allocator could not provide the memory for a snapshot of the other filter: see
    /// [`SnapshotError::OutOfMemory`].
    OutOfMemory {
        /// The size of this memory in bytes.
        bytes: usize,
    },
}

impl From<SnapshotError> for MergeError {
    fn from(error: SnapshotError) -> Self {
        match error {
            SnapshotError::OutOfMemory { bytes } => Self::OutOfMemory { bytes },
        }
    }
}

impl MergeError {
    /// Why an item of one table could not be inserted into another with values of the same length.
    pub(crate) fn of_insert(error: InsertError) -> Self {
        match error {
            InsertError::Full => Self::Full,
            InsertError::OutOfMemory => Self::NoMemoryToGrow,
            InsertError::ValueTooLarge => unreachable!("the values of both have one length"),
        }
    }
}

impl fmt::Display for MergeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherLayout => f.write_str("filters of two layouts cannot be merged"),
            Self::OtherSize { slots, other } => write!(
                f,
                "filters of fixed size with {slots} and {other} slots cannot be merged: \
                 build both with the same capacity"
            ),
            Self::OtherValueBits { value_bits, other } => write!(
                f,
                "maplets with values of {value_bits} and of {other} bits cannot be merged: \
                 build both with the same value bits"
            ),
            Self::OtherHasher => f.write_str(
                "filters with two hashers cannot be merged: build one with a clone of the other's",
            ),
            Self::Full => f.write_str("this filter has no room for the items of both"),
            Self::NoMemoryToGrow => f.write_str(
                "the allocator could not provide the memory for this filter to grow: \
                 free memory and merge again",
            ),
            Self::OutOfMemory { bytes } => {
                write!(f, "the allocator could not provide the {bytes} bytes of a snapshot")
            }
        }
    }
}

impl error::Error for MergeError {}

/// Any error of this crate, for callers who want one type for all errors.
///
/// # Examples
///
/// ```
/// use coucal::CuckooFilter;
///
/// fn remember(items: &[&str], rate: f64) -> Result<(), coucal::Error> {
///     let filter = CuckooFilter::with_capacity_and_rate(items.len(), rate)?;
///     filter.insert_many(items)?;
///     Ok(())
/// }
/// assert!(remember(&["egg", "nest"], 0.01).is_ok());
/// let error = remember(&["egg", "nest"], 2.0).unwrap_err();
/// assert!(matches!(error, coucal::Error::Build(_)));
/// ```
#[non_exhaustive]
#[derive(Debug)]
pub enum Error {
    /// A filter or a maplet could not be built.
    Build(BuildError),
    /// An item could not be inserted.
    Insert(InsertError),
    /// A batch of inserts or of replacements stopped at an item.
    InsertMany(InsertManyError),
    /// The slice for the answers of a batch has the wrong length.
    LengthMismatch(LengthMismatch),
    /// A filter cannot grow to hold the reserved items.
    Reserve(ReserveError),
    /// A snapshot could not be taken.
    Snapshot(SnapshotError),
    /// A filter could not be restored.
    Restore(RestoreError),
    /// A filter could not be merged into another.
    Merge(MergeError),
}

macro_rules! from_each {
    ($($variant:ident($error:ty))*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*

        impl fmt::Display for Error {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$variant(error) => error.fmt(f),)*
                }
            }
        }

        impl error::Error for Error {
            /// The source of the inner error, whose message this error has, too.
            fn source(&self) -> Option<&(dyn error::Error + 'static)> {
                match self {
                    $(Self::$variant(error) => error.source(),)*
                }
            }
        }
    };
}

from_each! {
    Build(BuildError)
    Insert(InsertError)
    InsertMany(InsertManyError)
    LengthMismatch(LengthMismatch)
    Reserve(ReserveError)
    Snapshot(SnapshotError)
    Restore(RestoreError)
    Merge(MergeError)
}
