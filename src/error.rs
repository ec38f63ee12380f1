//! The error type of this crate: each error says what happened, and what to do about it.

use core::error;
use core::fmt;
use core::iter;
use std::io;

/// The error of every operation: what happened, and what to do about it.
///
/// An operation that fails leaves the contents of the filter unchanged, with two exceptions: a batch that
/// [stopped](Self::Stopped), and an insert into an [expiring filter](crate::ExpiringCuckooFilter), which first ends the
/// generations that are due, or ends some to make room. The table of a growing filter may have grown, for example if
/// [`reserve`](crate::CuckooFilter::reserve) fails. Each method lists the errors that it returns.
///
/// A release may add errors, and fields to errors: end a `match` with `_`, and the fields of an error with `..`. (Only
/// [`Stopped`](Self::Stopped) and [`LengthMismatch`](Self::LengthMismatch) keep the fields that they have.)
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Error};
///
/// fn remember(items: &[&str], rate: f64) -> Result<(), Error> {
///     let filter = CuckooFilter::with_capacity_and_rate(items.len(), rate)?;
///     filter.insert_many(items)
/// }
/// assert_eq!(remember(&["egg", "nest"], 0.01), Ok(()));
/// assert_eq!(remember(&["egg", "nest"], 2.0), Err(Error::InvalidRate));
///
/// let filter = CuckooFilter::with_capacity(100);
/// let refused = (0..).find_map(|n: u32| filter.insert(&n).err());
/// assert_eq!(refused, Some(Error::Full));
/// assert!(filter.len() >= 100);
/// ```
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Error {
    /// The filter is full. An insert returns this error if all of the following hold:
    ///
    /// * The filter has a fixed size, or its growth has [ended](crate::growth#first-size-and-end-of-growth).
    /// * Its slots in use and its [stashed entries](crate::Stats::stashed_entries) together reach the load at which
    ///   tables of its [layout](crate::Layout) are full. In a growing filter, a lower load may be enough: its [target
    ///   load](crate::growth#when-it-is-full) plus four percentage points.
    /// * A short search found no free slot.
    ///
    /// An item, or a pair of a maplet, can have 2^25 - 1 copies in the [stash](crate#the-stash). An insert of
    /// the next copy also returns this error. A merge returns this error if the filter has no room for the items of
    /// both.
    ///
    /// Remove items that are stored, or build a filter with a larger [`capacity`](crate::Builder::capacity) or
    /// [`max_capacity`](crate::Builder::max_capacity), or a filter that [grows](crate#growth). Never remove
    /// the item that was refused: this may remove the copy of another item. The cookbook says [what lookups should
    /// answer from then on](crate::cookbook#when-the-filter-is-full).
    ///
    /// Whether an insert fails depends on the contents of the table, not on earlier inserts that failed. While other
    /// threads write, an insert may count items that they remove during the call.
    Full,
    /// An [expiring filter](crate::ExpiringCuckooFilter) is full, as in [`Full`](Self::Full): its window has more items
    /// than the filter was built for.
    ///
    /// [Advance](crate::ExpiringCuckooFilter::advance) it, so that the oldest generation makes room. Or let the filter
    /// [forget the oldest items](crate::Builder::forget_oldest_when_full) when it is full, or build one with a larger
    /// capacity.
    WindowFull,
    /// The allocator could not provide the memory to store an item: memory for the growth of a growing filter, or for
    /// the [stash](crate#the-stash).
    ///
    /// Free memory and try again, or make room in the filter. Inserts that find room still succeed.
    /// [`reserve`](crate::CuckooFilter::reserve) allocates the memory for growth in advance.
    NoMemoryToStore,
    /// The value has more bits than the maplet stores.
    ///
    /// Pass a smaller value, or build the maplet with more [value bits](crate::Builder::value_bits).
    ValueTooLarge,
    /// A batch of inserts or replacements stopped at an item that it could not store.
    ///
    /// The items before this item are done. The items after it were not tried. To continue the batch, begin with the
    /// item at `index`. A batch returns this error in place of [`Full`](Self::Full): code that handles `Full` must also
    /// look at the `cause`.
    Stopped {
        /// The index of the item that could not be stored.
        index: usize,
        /// The number of items before the index that were stored. It is equal to `index`, with two exceptions. In
        /// batches of [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) and of [expiring
        /// filters](crate::ExpiringCuckooFilter), it is the number of items that were new. In batches of
        /// [`replace`](crate::CuckooMaplet::replace), it is the number of pairs that were replaced.
        stored: usize,
        /// The reason: [`Full`](Self::Full), [`WindowFull`](Self::WindowFull),
        /// [`NoMemoryToStore`](Self::NoMemoryToStore) or [`ValueTooLarge`](Self::ValueTooLarge).
        cause: &'static Error,
    },
    /// The number of items of a batch and the number of answers differ. Nothing was done.
    ///
    /// Pass two slices of the same length.
    LengthMismatch {
        /// The length of the slice of items.
        items: usize,
        /// The length of the slice for the answers.
        answers: usize,
    },
    /// The allocator could not provide the memory for a table or a snapshot.
    ///
    /// Free memory and try again, or build a smaller filter.
    #[non_exhaustive]
    OutOfMemory {
        /// The size of the memory that could not be allocated, in bytes: that of a table, of a slab of a table that was
        /// to be added or read, or of a snapshot. It mostly does not include the
        /// [stashed](crate::Stats::stashed_entries) entries.
        bytes: usize,
    },
    /// The filter needs more memory than its [maximum](crate::Builder::memory_bytes), or its snapshot has more bytes
    /// than the [maximum](crate::Builder::snapshot_bytes).
    ///
    /// Raise the maximum. If you also gave a number of items, you can request fewer.
    #[non_exhaustive]
    BudgetTooSmall {
        /// The method of the builder that set the maximum: `memory_bytes` or `snapshot_bytes`. If both are too small:
        /// `memory_bytes`.
        budget: &'static str,
        /// The maximum number of bytes.
        bytes: usize,
        /// The number of bytes that the filter needs for the requested number of items. If no number was requested, the
        /// number of bytes that the smallest filter needs.
        needed: usize,
    },
    /// The items need more than 2^44 slots, and no table has more.
    #[non_exhaustive]
    CapacityOverflow {
        /// The requested number of items.
        capacity: usize,
    },
    /// A filter of fixed size needs a number of items: call [`capacity`](crate::Builder::capacity),
    /// [`memory_bytes`](crate::Builder::memory_bytes) or [`snapshot_bytes`](crate::Builder::snapshot_bytes), or build
    /// a filter that [grows](crate#growth).
    NoCapacity,
    /// The requested false-positive rate is not between 0 and 1, both excluded.
    InvalidRate,
    /// The maximum capacity of a growing filter is less than its initial capacity.
    #[non_exhaustive]
    MaxCapacityTooLow {
        /// The requested initial number of items.
        capacity: usize,
        /// The requested maximum number of items.
        max_capacity: usize,
    },
    /// The target load of a growing filter is too low or too high for its layout.
    #[non_exhaustive]
    TargetLoadOutOfRange {
        /// The layout. If it is chosen at run time, a layout that could be chosen with another target load.
        layout: &'static str,
        /// The lowest target load, in thousandths.
        min: u32,
        /// The highest target load of this layout, in thousandths: 870 stands for a load of 0.87.
        max: u32,
    },
    /// The fingerprints of the layout are too short for the requested rate.
    ///
    /// Build the filter with the layout `other`, or let [`any_layout`](crate::Builder::any_layout) choose it. A growing
    /// filter has a lower rate at its maximum capacity if its initial capacity is larger, because it doubles less
    /// often.
    #[non_exhaustive]
    RateOutOfReach {
        /// The layout. If no layout reaches the requested rate: the layout with the lowest rate.
        layout: &'static str,
        /// When the filter is full, one in `one_in` absent items is a false positive of this layout, rounded down. A
        /// filter of fixed size is full at its capacity. A growing filter is full at its maximum capacity. Without one,
        /// it is full with 2^40 items, or where growth ends because of long values.
        one_in: u64,
        /// The smallest layout that reaches the rate, if any does.
        other: Option<&'static str>,
    },
    /// The layout has no room for values of this length, or the length was not set.
    ///
    /// Request between 1 and `max` [value bits](crate::Builder::value_bits), or build the maplet with the layout
    /// `other`. A growing maplet with neither a capacity nor a maximum stores only values with which [growth does not
    /// end early](crate::CuckooMaplet#layouts). With a capacity or a maximum, it stores longer values.
    #[non_exhaustive]
    ValueBitsOutOfRange {
        /// The layout.
        layout: &'static str,
        /// The requested number of bits per value. 0 if none was requested.
        value_bits: u32,
        /// The maximum number of bits per value in this layout. 0 if the layout stores no values in a maplet that grows
        /// with neither a capacity nor a maximum.
        max: u32,
        /// The maximum number of bits per value in this layout, for a maplet with a capacity or a maximum. It is above
        /// `max` only if the requested maplet grows and has neither a capacity nor a maximum.
        max_with_end: u32,
        /// The layout with the shortest fingerprints that stores such values, if any does.
        other: Option<&'static str>,
    },
    /// The number of [values per key](crate::Builder::values_per_key), or of [copies per
    /// item](crate::Builder::copies_per_item), is out of range for this layout.
    ///
    /// Request between 1 and `max`, or use the layout `other`. For larger numbers, the two buckets of a key have room
    /// for less than half of its values: store the values elsewhere, and their location in the maplet.
    #[non_exhaustive]
    ValuesPerKeyOutOfRange {
        /// The layout.
        layout: &'static str,
        /// The requested number.
        values_per_key: u32,
        /// The greatest number in this layout.
        max: u32,
        /// The layout with the longest fingerprints that has room for the requested number, if there is one.
        other: Option<&'static str>,
    },
    /// The number of generations was not set, or is out of range, or the layout has no room for it.
    ///
    /// Request between 2 and `max` [generations](crate::Builder::generations), or build the filter with the layout
    /// `other`. A growing filter with neither a capacity nor a maximum has room only for numbers of generations with
    /// which growth does not end early.
    #[non_exhaustive]
    GenerationsOutOfRange {
        /// The layout. `AnyLayout` if the layout would be chosen by the builder, and the requested number is not between
        /// 2 and 256.
        layout: &'static str,
        /// The requested number. 0 if none was requested.
        generations: u32,
        /// The greatest number in this layout, for a filter that grows or has a fixed size, as requested. 0 if the
        /// layout has no room for generations in a filter that grows with neither a capacity nor a maximum. If the
        /// requested number is not between 2 and 256: 256, whatever the layout.
        max: u32,
        /// The layout with the shortest fingerprints that has room for the requested number, if it is another layout.
        other: Option<&'static str>,
    },
    /// The period of a generation is zero, or the builder has a [clock](crate::Builder::clock) but no period.
    ///
    /// Set a [period](crate::Builder::every) longer than zero.
    NoTime,
    /// The number of new items after which a generation ends is 0. Or it is too large for a filter that [forgets the
    /// oldest generation](crate::Builder::forget_oldest_when_full) when it is full: such a filter must have room for
    /// N - 1 of its N generations.
    ///
    /// Request [a number of items](crate::Builder::every_items) from 1 to `max`, which is at least 1.
    #[non_exhaustive]
    ItemsPerGenerationOutOfRange {
        /// The requested number of new items of a generation.
        items: usize,
        /// The largest number for this filter.
        max: usize,
    },
    /// No layout has the requested name. Or the filter grows, and the layout of this name cannot grow.
    ///
    /// Use one of the `names`, which the message lists, too.
    #[non_exhaustive]
    NoSuchLayout {
        /// Whether the filter grows.
        grows: bool,
        /// The names that are allowed for such a filter: [`AnyLayout::NAMES`](crate::AnyLayout::NAMES), or
        /// [`AnyLayout::GROWING_NAMES`](crate::AnyLayout::GROWING_NAMES) if it grows.
        names: &'static [&'static str],
    },
    /// The [figures](crate::Builder::figures) of a filter of fixed size were requested for more items than it holds.
    ///
    /// Request a larger [`capacity`](crate::Builder::capacity), or more [`memory_bytes`](crate::Builder::memory_bytes).
    #[non_exhaustive]
    AboveCapacity {
        /// The requested number of items.
        wanted: usize,
        /// The capacity of the filter.
        capacity: usize,
    },
    /// The growing filter would hold more items than its maximum capacity. Nothing has changed.
    ///
    /// Build a filter with a larger [`max_capacity`](crate::Builder::max_capacity).
    #[non_exhaustive]
    AboveMaxCapacity {
        /// The requested number of items. For [`reserve`](crate::CuckooFilter::reserve), those in the filter are
        /// included; all copies of an item in the stash count as one.
        wanted: usize,
        /// The maximum capacity of the filter.
        max_capacity: usize,
    },
    /// The reader of a snapshot failed.
    #[non_exhaustive]
    Io {
        /// The kind of the reader's error.
        kind: io::ErrorKind,
        /// The message of the reader's error, and of up to 16 errors that caused it.
        message: Box<str>,
    },
    /// The bytes end before the end of the snapshot, or there are none.
    ///
    /// Take another copy of the snapshot: this one was not written or sent completely.
    Truncated,
    /// The bytes do not begin with the 8 bytes with which every snapshot begins. (If there are fewer than 8 bytes, only
    /// these are compared.)
    ///
    /// Pass the bytes that [`Snapshot::as_bytes`](crate::Snapshot::as_bytes) returned, from their first byte on.
    NotASnapshot,
    /// The snapshot has a version that this release does not read. It reads version 1.
    ///
    /// Read the snapshot with the release that wrote it, or with a newer release.
    #[non_exhaustive]
    UnknownVersion {
        /// The version of the snapshot.
        version: u32,
    },
    /// The snapshot is of a kind of filter that this release does not have.
    ///
    /// Read it with a newer release.
    #[non_exhaustive]
    UnknownKind {
        /// The number of the kind. This release has the kinds 0 (a filter of fixed size), 1 (a growing filter), 2 and 3
        /// (the same two of maplets), 4 and 5 (the same two of expiring filters), 8 and 10 (a filter and a maplet of
        /// fixed size that were built for several [values per key](crate::Builder::values_per_key)).
        kind: u8,
    },
    /// The snapshot is of a layout that this release does not have for filters of this kind.
    ///
    /// Read it with a newer release.
    #[non_exhaustive]
    UnknownLayout {
        /// The number of the encoding of a word. This release has 0 (packed) and 1 (semi-sorted).
        encoding: u8,
        /// The number of bits of a fingerprint.
        fingerprint_bits: u8,
        /// The number of slots of a bucket.
        slots: u8,
    },
    /// A checksum is wrong: bytes have changed since the snapshot was written.
    ///
    /// Take another copy of the snapshot.
    Damaged,
    /// The sizes in the header contradict each other, or no table has these sizes.
    ///
    /// This error, [`InvalidWord`](Self::InvalidWord), [`InvalidEntry`](Self::InvalidEntry) and
    /// [`WrongLen`](Self::WrongLen) mean that the checksums are right: the error is in the program that wrote the
    /// bytes, and another copy of the bytes does not help.
    #[non_exhaustive]
    ImpossibleTable {
        /// The number of words that the header states.
        words: u64,
    },
    /// A bucket contains a word that is impossible in this bucket.
    #[non_exhaustive]
    InvalidWord {
        /// The number of the bucket.
        bucket: usize,
    },
    /// An entry after the words is impossible in this table, or is not in order. The entries after the words are those
    /// of the [stash](crate#the-stash), then the list of [doubled](crate::growth#doubled-entries) entries, and
    /// last, in the snapshot of an [expiring filter](crate::ExpiringCuckooFilter), the generations.
    #[non_exhaustive]
    InvalidEntry {
        /// The number of entries before it. The generations count as the last entry.
        entry: usize,
    },
    /// The header does not state the right number of slots in use, of copies in the stash, or of
    /// [doubled](crate::growth#doubled-entries) entries.
    #[non_exhaustive]
    WrongLen {
        /// The number in the header.
        stated: usize,
        /// The number that was found.
        found: usize,
    },
    /// There are bytes after the end of the snapshot. ([`restore`](crate::CuckooFilter::restore) does not return this
    /// error: it leaves such bytes in the reader.)
    #[non_exhaustive]
    TrailingBytes {
        /// The number of these bytes.
        bytes: usize,
    },
    /// The snapshot is of another type. (A filter, a maplet and an expiring filter are different types, and so are
    /// those of fixed size and those that grow.)
    ///
    /// Restore it as the type `name`.
    #[non_exhaustive]
    OtherType {
        /// The name of the type of the snapshot, whatever its layout: `GrowableCuckooMaplet`, for example.
        name: &'static str,
    },
    /// The view does not read snapshots of this type: a view of filters reads those of filters, and a view of maplets
    /// those of maplets and expiring filters.
    ///
    /// Open it with the view `view`.
    #[non_exhaustive]
    OtherView {
        /// The name of the type of the snapshot, whatever its layout.
        name: &'static str,
        /// The name of the view that reads it.
        view: &'static str,
    },
    /// The snapshot to be restored, or the other filter of a merge or another set operation, has another layout.
    ///
    /// To restore it, name its layout in the type of the filter, or restore an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which accepts every layout. Filters of different layouts have no
    /// merge, and no other set operation.
    #[non_exhaustive]
    OtherLayout {
        /// The layout of this filter.
        layout: &'static str,
        /// The layout of the snapshot, or of the other filter.
        other: &'static str,
    },
    /// The items of the snapshot, or of the other filter, were hashed by another hasher, so lookups would miss them.
    ///
    /// Use the hasher of that filter, or a clone of this hasher. A default hasher has a random seed, and another
    /// process cannot make the same hasher again. A [`StableHashBuilder`](crate::StableHashBuilder) with the same seed
    /// is the same hasher, and so is a [`KeyedHashBuilder`](crate::KeyedHashBuilder) with the same key. For items that
    /// were hashed elsewhere, use [`NoHasher`](crate::NoHasher).
    OtherHasher,
    /// The two filters of a merge, or of another set operation, are of fixed size, and have different numbers of slots.
    /// (Growing filters may have any sizes.)
    ///
    /// Build both for the same capacity, and for the same [values per key](crate::Builder::values_per_key) or [copies
    /// per item](crate::Builder::copies_per_item), if set.
    #[non_exhaustive]
    OtherSize {
        /// The number of slots of this filter.
        slots: usize,
        /// The number of slots of the other filter.
        other: usize,
    },
    /// Both filters grow, and the filter to be merged was too small when it stored most of its entries: these entries
    /// have too few bits of the hash. Each of them would take many slots in this filter, and more after each doubling,
    /// until this filter could no longer grow.
    ///
    /// If you want to merge filters, build each of them with the [capacity](crate::Builder::capacity) of all of them
    /// together.
    OtherTooSmall,
    /// The builder of this filter was given a [rate](crate::Builder::false_positive_rate), and the merge would make the
    /// rate of the full filter higher. Nothing has changed.
    ///
    /// If you want to merge filters, build each of them with the [capacity](crate::Builder::capacity) of all of them
    /// together. Then growing filters store enough bits of each item, and a filter of fixed size holds no more items
    /// than it was built for.
    #[non_exhaustive]
    MergedRateTooHigh {
        /// When the filter is full, one in `one_in` absent items would be a false positive, rounded down.
        one_in: u64,
    },
    /// The two maplets to be merged have values of different lengths.
    ///
    /// Build both with the same [value bits](crate::Builder::value_bits).
    #[non_exhaustive]
    OtherValueBits {
        /// The number of bits per value in this maplet.
        value_bits: u32,
        /// The number of bits per value in the other maplet.
        other: u32,
    },
}

impl Error {
    /// Returns the number of items that the failed call stored: 0, except for a batch that [stopped](Self::Stopped).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let items: Vec<u32> = (0..1000).collect();
    /// let failed = filter.insert_many(&items).unwrap_err();
    /// assert_eq!(failed.stored(), filter.len());
    /// ```
    #[must_use]
    pub fn stored(&self) -> usize {
        if let Self::Stopped { stored, .. } = *self { stored } else { 0 }
    }

    /// Converts the error of the reader of a snapshot.
    pub(crate) fn of_reader(error: &io::Error) -> Self {
        let kind = error.kind();
        if kind == io::ErrorKind::UnexpectedEof {
            return Self::Truncated;
        }
        let causes = iter::successors(error::Error::source(error), |cause| cause.source());
        // An error may be its own cause.
        let causes = causes.take(MAX_CAUSES);
        let message = causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"));
        Self::Io { kind, message: message.into() }
    }
}

/// The maximum number of causes that the message of a reader's error states.
const MAX_CAUSES: usize = 16;

/// The advice for bytes with right checksums and impossible contents.
const DO_NOT_TRUST: &str =
    "the checksums match, so it was written like this; do not trust its writer";

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "a table of messages")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(
                "the filter is full: remove items, or build it with a larger `capacity`, or `max_capacity` if it grows",
            ),
            Self::WindowFull => f.write_str(
                "the expiring filter is full: call `advance`, or build it with `forget_oldest_when_full`, or with a \
                 larger `capacity`, or `max_capacity` if it grows",
            ),
            Self::NoMemoryToStore => f.write_str(
                "the allocator could not provide the memory to store an item: free memory and try again, or make room \
                 in the filter",
            ),
            Self::ValueTooLarge => f.write_str(
                "the value has more bits than this maplet stores: pass a smaller value, or build it with more \
                 `value_bits`",
            ),
            Self::Stopped { index, stored, cause } if stored == index => {
                write!(f, "stored the first {index} items and no more: {cause}")
            }
            Self::Stopped { index, stored, cause } => {
                write!(
                    f,
                    "stopped at index {index}, after {stored} of the items before it were stored: {cause}"
                )
            }
            Self::LengthMismatch { items, answers } => write!(
                f,
                "{items} items need a slice of {items} answers, but it has {answers}: pass slices of the same length"
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "the allocator could not provide {bytes} bytes: free memory and try again, or build a smaller filter"
            ),
            Self::BudgetTooSmall { budget, bytes, needed } => {
                let what = if *budget == "snapshot_bytes" { "a snapshot of this filter" } else { "this filter" };
                write!(
                    f,
                    "a budget of {bytes} bytes is too small: {what} needs {needed}, so raise `{budget}`"
                )
            }
            Self::CapacityOverflow { capacity } => write!(
                f,
                "a filter for {capacity} items is too large: request fewer, since a table has at most 2^44 slots"
            ),
            Self::NoCapacity => f.write_str(
                "a filter of fixed size needs a number of items: call `capacity`, `memory_bytes` or `snapshot_bytes`, or \
                 build a filter that grows",
            ),
            Self::InvalidRate => {
                f.write_str("a false-positive rate must be greater than 0 and less than 1, for example 0.001")
            }
            Self::MaxCapacityTooLow { capacity, max_capacity } => write!(
                f,
                "a filter cannot grow from {capacity} items to {max_capacity}: \
                 raise `max_capacity`, or lower `capacity`"
            ),
            Self::TargetLoadOutOfRange { layout, min, max } => write!(
                f,
                "the `target_load` of a growing filter in {layout} must lie between 0.{min:03} and 0.{max:03}"
            ),
            Self::RateOutOfReach { layout, one_in, other: Some(other) } => write!(
                f,
                "{layout} has a false-positive rate of 1 in {one_in} when the filter is full, more than was \
                 requested: {other} reaches the rate, so call `layout::<{other}>` or `any_layout`"
            ),
            Self::RateOutOfReach { one_in, other: None, .. } => write!(
                f,
                "no layout has a lower false-positive rate than 1 in {one_in} when the filter is full, and a lower \
                 rate was requested: request 1 in {one_in}, or a smaller filter"
            ),
            Self::ValueBitsOutOfRange { value_bits: 0, .. } => {
                f.write_str("a maplet needs the length of its values: call `value_bits`")
            }
            Self::ValueBitsOutOfRange { layout, value_bits, max, max_with_end, other } => {
                let is_endless = max < max_with_end;
                let without_end = if is_endless { "that grows without an end " } else { "" };
                write!(
                    f,
                    "a maplet {without_end}in {layout} stores values of at most {max} bits, and {value_bits} were \
                     requested: "
                )?;
                match other {
                    Some(other) => {
                        write!(f, "{other} stores them, so call `layout::<{other}>` or `any_layout`")
                    }
                    None if value_bits <= max_with_end => write!(
                        f,
                        "with a `capacity` or a `max_capacity`, {layout} stores up to {max_with_end}"
                    ),
                    None => f.write_str("no layout stores them, so request fewer `value_bits`"),
                }
            }
            Self::ValuesPerKeyOutOfRange { layout, values_per_key, max, other } => {
                write!(
                    f,
                    "a table in {layout} has room for 1 to {max} values per key, or copies per item, and \
                     {values_per_key} were requested: "
                )?;
                match other {
                    Some(other) => {
                        write!(f, "{other} has room for them, so call `layout::<{other}>`")
                    }
                    None => f.write_str("request a number in this range"),
                }
            }
            Self::GenerationsOutOfRange { generations: 0, .. } => f.write_str(
                "an expiring filter needs the number of its generations: call `generations`",
            ),
            Self::GenerationsOutOfRange { layout, generations, max, other } => {
                match (max, other) {
                    (0, _) => write!(
                        f,
                        "without a `capacity` or a `max_capacity`, {layout} has no room for generations: "
                    )?,
                    (_, None) => write!(
                        f,
                        "an expiring filter may have 2 to {max} generations, and {generations} were requested: "
                    )?,
                    _ => write!(
                        f,
                        "an expiring filter in {layout} may have 2 to {max} generations, and {generations} were \
                         requested: "
                    )?,
                }
                match other {
                    Some(other) => {
                        write!(f, "{other} has room for them, so call `layout::<{other}>` or `any_layout`")
                    }
                    None => f.write_str("call `generations` with a number in this range"),
                }
            }
            Self::NoTime => f.write_str(
                "the period of a generation must be longer than zero: pass a longer period to `every` or `set_every`",
            ),
            Self::ItemsPerGenerationOutOfRange { items, max } => {
                write!(f, "a generation of this filter cannot end after {items} new items: ")?;
                write!(f, "call `every_items` with 1 to {max}")
            }
            Self::NoSuchLayout { grows, names } => {
                let kind = if *grows { "growing filter" } else { "filter" };
                write!(f, "no {kind} has a layout of this name: the names are {}", names.join(", "))
            }
            Self::AboveCapacity { wanted, capacity } => write!(
                f,
                "a filter of fixed size for {capacity} items has no figures for {wanted}: request a larger \
                 `capacity`, or more `memory_bytes`"
            ),
            Self::AboveMaxCapacity { wanted, max_capacity } => write!(
                f,
                "the filter grows to {max_capacity} items, and room for {wanted} was requested: \
                 build one with a larger `max_capacity`"
            ),
            Self::Io { message, .. } => write!(f, "the snapshot could not be read: {message}"),
            Self::Truncated => {
                f.write_str("the bytes end before the end of the snapshot: read another copy of them")
            }
            Self::NotASnapshot => f.write_str(
                "the bytes are not a snapshot of a filter: they do not begin with the 8 bytes that \
                 every snapshot begins with; pass the bytes that `Snapshot::as_bytes` returned",
            ),
            Self::UnknownVersion { version } => write!(
                f,
                "the snapshot has version {version}, and this release reads version 1: read it with the \
                 release that wrote it, or with a newer release"
            ),
            Self::UnknownKind { kind } => write!(
                f,
                "the snapshot is of a filter of kind {kind}, which this release does not have: \
                 read it with a newer release"
            ),
            Self::UnknownLayout { encoding, fingerprint_bits, slots } => write!(
                f,
                "the snapshot has {slots} fingerprints of {fingerprint_bits} bits in a bucket, in \
                 encoding {encoding}, a layout that this release does not have for filters of this \
                 kind: read it with a newer release"
            ),
            Self::Damaged => {
                f.write_str("the snapshot is damaged, because a checksum is wrong: read another copy of it")
            }
            Self::ImpossibleTable { words } => write!(
                f,
                "the header of the snapshot states {words} words, and sizes that are impossible: \
                 {DO_NOT_TRUST}"
            ),
            Self::InvalidEntry { entry } => write!(
                f,
                "the snapshot is invalid: entry {entry} after the words is impossible: {DO_NOT_TRUST}"
            ),
            Self::InvalidWord { bucket } => write!(
                f,
                "the snapshot is invalid: bucket {bucket} holds an impossible word: {DO_NOT_TRUST}"
            ),
            Self::WrongLen { stated, found } => write!(
                f,
                "a count in the header of the snapshot (slots in use, stashed copies, or doubled entries) is {stated}, \
                 but {found} were found: {DO_NOT_TRUST}"
            ),
            Self::TrailingBytes { bytes } => {
                write!(
                    f,
                    "{bytes} bytes follow the snapshot: pass only the bytes of the snapshot (the `restore` of a \
                     filter leaves the others in its reader)"
                )
            }
            Self::OtherType { name } => write!(
                f,
                "the snapshot is of type {name}: restore it as this type, with its layout or with AnyLayout"
            ),
            Self::OtherView { name, view } => {
                write!(f, "the snapshot is of type {name}: open it with a {view}")
            }
            Self::OtherLayout { layout, other } => write!(
                f,
                "the layout is {other} and not {layout}: to restore it, name {other} or AnyLayout in the type \
                 (filters of different layouts cannot be merged or compared)"
            ),
            Self::OtherHasher => f.write_str(
                "the items were hashed by another hasher, or with another seed or key: pass the hasher with which \
                 they were inserted, or a clone of it (in another process, a StableHashBuilder with the same seed, or \
                 a KeyedHashBuilder with the same key; for items that were hashed elsewhere, NoHasher)",
            ),
            Self::OtherTooSmall => f.write_str(
                "the other filter was so small that its entries would take too many slots here: build filters that \
                 are to be merged with the `capacity` of all of them together",
            ),
            Self::MergedRateTooHigh { one_in } => write!(
                f,
                "with these items the false-positive rate would be 1 in {one_in} when the filter is full, more than \
                 its builder was given: build filters that are to be merged with the `capacity` of all of them together"
            ),
            Self::OtherSize { slots, other } => write!(
                f,
                "filters of fixed size with {slots} and {other} slots cannot be merged or compared: \
                 build both with the same `capacity`, or let both grow"
            ),
            Self::OtherValueBits { value_bits, other } => write!(
                f,
                "maplets with values of {value_bits} and of {other} bits cannot be merged: \
                 build both with the same `value_bits`"
            ),
        }
    }
}

// No `source`: each message contains its cause.
impl error::Error for Error {}

/// The reason why an item was not stored: the one-byte error of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    Full,
    NoMemoryToStore,
    ValueTooLarge,
    WindowFull,
}

impl InsertError {
    /// Converts the error for an expiring filter.
    pub(crate) fn of_window(self) -> Self {
        if self == Self::Full { Self::WindowFull } else { self }
    }
}

impl From<InsertError> for Error {
    #[inline]
    fn from(refusal: InsertError) -> Self {
        match refusal {
            InsertError::Full => Self::Full,
            InsertError::NoMemoryToStore => Self::NoMemoryToStore,
            InsertError::ValueTooLarge => Self::ValueTooLarge,
            InsertError::WindowFull => Self::WindowFull,
        }
    }
}

/// The error of a batch that stopped: see [`Error::Stopped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub(crate) index: usize,
    pub(crate) stored: usize,
    pub(crate) cause: InsertError,
}

impl Stopped {
    /// Converts the error for a batch that began `index` items earlier, of which `stored` were stored.
    pub(crate) fn after(self, index: usize, stored: usize) -> Self {
        Self { index: index + self.index, stored: stored + self.stored, ..self }
    }
}

impl From<Stopped> for Error {
    fn from(Stopped { index, stored, cause }: Stopped) -> Self {
        // An `Error` may own memory, so the compiler does not promote a constant to a static by itself.
        static CAUSES: [Error; 4] =
            [Error::Full, Error::NoMemoryToStore, Error::ValueTooLarge, Error::WindowFull];
        Self::Stopped { index, stored, cause: &CAUSES[cause as usize] }
    }
}

/// Checks that a batch has one answer per item.
pub(crate) fn check_lengths(items: usize, answers: usize) -> Result<(), Error> {
    if items == answers { Ok(()) } else { Err(Error::LengthMismatch { items, answers }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Errors with fields: other crates cannot make them.
    #[test]
    fn messages_contain_their_numbers_and_names() {
        let other = Some("Fp21x3");
        let bits = |value_bits, other| Error::ValueBitsOutOfRange {
            layout: "Fp16x4",
            value_bits,
            max: 10,
            max_with_end: 10,
            other,
        };
        let generations = |layout, generations, max, other| Error::GenerationsOutOfRange {
            layout,
            generations,
            max,
            other,
        };
        let per_key = |values_per_key, max, other| {
            let layout = "Fp32x2";
            Error::ValuesPerKeyOutOfRange { layout, values_per_key, max, other }
        };
        let rate = |other| Error::RateOutOfReach { layout: "Fp16x4", one_in: 33, other };
        let budget = |budget| Error::BudgetTooSmall { budget, bytes: 9, needed: 99 };
        let all = [
            (Error::MaxCapacityTooLow { capacity: 9, max_capacity: 8 }, "from 9 items to 8:"),
            (
                Error::TargetLoadOutOfRange { layout: "Fp16x4", min: 90, max: 870 },
                "in Fp16x4 must lie between 0.090 and 0.870",
            ),
            (
                rate(other),
                "Fp16x4 has a false-positive rate of 1 in 33 when the filter is full, more than",
            ),
            (rate(other), ": Fp21x3 reaches the rate, so call `layout::<Fp21x3>` or"),
            (rate(None), "no layout has a lower"),
            (
                bits(12, other),
                "in Fp16x4 stores values of at most 10 bits, and 12 were requested: Fp2",
            ),
            (bits(30, None), "10 bits, and 30 were requested: no layout stores them"),
            (
                Error::ValueBitsOutOfRange {
                    layout: "Fp32x2",
                    value_bits: 21,
                    max: 20,
                    max_with_end: 23,
                    other: None,
                },
                "without an end in Fp32x2 stores values of at most 20 bits, and 21 were requested: with a \
                 `capacity` or a `max_capacity`, Fp32x2 stores up to 23",
            ),
            (
                budget("memory_bytes"),
                "of 9 bytes is too small: this filter needs 99, so raise `memory_bytes`",
            ),
            (
                budget("snapshot_bytes"),
                "a snapshot of this filter needs 99, so raise `snapshot_bytes`",
            ),
            (bits(0, None), "a maplet needs the length of its values"),
            (per_key(9, 8, other), "in Fp32x2 has room for 1 to 8 values per key"),
            (per_key(9, 8, other), "and 9 were requested: Fp21x3 has room for them, so call"),
            (per_key(99, 8, None), "requested: request a number in this range"),
            (generations("AnyLayout", 0, 256, None), "needs the number of its generations"),
            (
                generations("Fp8x8", 16, 8, Some("Fp9x7")),
                "in Fp8x8 may have 2 to 8 generations, and 16 were requested: Fp9x7 has",
            ),
            (
                generations("AnyLayout", 300, 256, None),
                "an expiring filter may have 2 to 256 generations",
            ),
            (
                generations("Fp12x5", 2, 0, Some("Fp16x4")),
                "`max_capacity`, Fp12x5 has no room for generations: Fp16x4 has",
            ),
            (
                Error::AboveMaxCapacity { wanted: 9, max_capacity: 8 },
                "grows to 8 items, and room for 9",
            ),
            (Error::AboveCapacity { wanted: 9, capacity: 8 }, "for 8 items has no figures for 9:"),
            (
                Error::UnknownLayout { encoding: 9, fingerprint_bits: 16, slots: 4 },
                "4 fingerprints of 16 bits in a bucket, in encoding 9",
            ),
            (Error::WrongLen { stated: 9, found: 8 }, "doubled entries) is 9"),
            (Error::WrongLen { stated: 9, found: 8 }, "8 were found: the checksums match"),
            (Error::OtherLayout { layout: "Fp12x5", other: "Fp16x4" }, "is Fp16x4 and not Fp12x5"),
            (Error::OtherSize { slots: 9, other: 8 }, "fixed size with 9 and 8 slots"),
            (Error::MergedRateTooHigh { one_in: 33 }, "would be 1 in 33 when the filter is full"),
            (
                Error::OtherView { name: "CuckooMaplet", view: "CuckooMapletView" },
                "is of type CuckooMaplet: open it with a CuckooMapletView",
            ),
            (Error::OtherValueBits { value_bits: 6, other: 7 }, "values of 6 and of 7 bits"),
        ];
        for (error, part) in all {
            assert!(error.to_string().contains(part), "{error}, without {part:?}");
        }
    }
}
