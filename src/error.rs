//! The one error of this crate: what happened, and what to do about it.

use core::error;
use core::fmt;
use core::iter;
use std::io;

/// What happened, and what to do about it: the error of every operation.
///
/// An operation that fails changes nothing, with two exceptions: a batch that [stopped](Self::Stopped); and an insert
/// into a filter that [forgets](crate::ExpiringCuckooFilter), which first ends the generations that are due. Each method
/// lists the errors that it returns.
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
    /// The filter holds what it was made for: its slots in use and its
    /// [stashed entries](crate::Stats::stashed_entries) together have reached the load at which tables of its
    /// [layout](crate::Layout), or growing ones of its [target](crate::growth), are full, a short search found no free
    /// slot, and the filter does not grow, or has its maximum size. Of a merge: it has no room for the items of both.
    ///
    /// Remove items, or build a filter with a larger capacity, or a filter that grows
    /// ([`Builder::max_capacity`](crate::Builder::max_capacity)). Whether an insert fails depends on
    /// the contents of the table, not on inserts that failed before. While other threads write, it may count items
    /// that they remove during the call.
    ///
    /// One item, or one pair of a maplet, can have 2^25 - 1 copies in the [stash](crate#what-finds-no-room): the next
    /// one returns this error, too.
    Full,
    /// As [`Full`](Self::Full), of an [expiring filter](crate::ExpiringCuckooFilter): the items of its window are more
    /// than it was made for.
    ///
    /// [Advance](crate::ExpiringCuckooFilter::advance) it: the oldest generation makes room. Or let it [forget the oldest
    /// items](crate::Builder::forget_oldest_when_full) by itself; or build one with a larger capacity.
    WindowFull,
    /// What was to be stored needs memory that the allocator could not provide: for the growth of a growing filter, or
    /// for the [stash](crate#what-finds-no-room).
    ///
    /// Free memory and try again, or make room in the filter. Inserts that find room go on.
    /// [`reserve`](crate::CuckooFilter::reserve) takes the memory for growth ahead of time.
    NoMemoryToStore,
    /// The value has more bits than the maplet stores.
    ///
    /// Build the maplet with more [value bits](crate::Builder::value_bits).
    ValueTooLarge,
    /// A batch of inserts, or of replacements, stopped at an item that it could not store.
    ///
    /// The items before it are in the filter, and those after it were not tried. To go on with the batch, begin with
    /// the item at `index`. A batch returns this error in place of [`Full`](Self::Full): code that treats `Full` in its
    /// own way must look at the `cause`, too.
    Stopped {
        /// The index of the item that could not be stored.
        index: usize,
        /// How many of the items before the index changed the number of items, or a pair. It is the `index`, except in
        /// batches of [`insert_if_absent`](crate::CuckooFilter::insert_if_absent) and of filters that
        /// [forget](crate::ExpiringCuckooFilter), where it is the number of those that were new, and of
        /// [`replace`](crate::CuckooMaplet::replace), where it is that of those that were there.
        stored: usize,
        /// Why the item was not stored: [`Full`](Self::Full), [`NoMemoryToStore`](Self::NoMemoryToStore) or
        /// [`ValueTooLarge`](Self::ValueTooLarge).
        cause: &'static Error,
    },
    /// The numbers of items and of answers of a batch differ; nothing was done.
    LengthMismatch {
        /// The length of the slice of items.
        items: usize,
        /// The length of the slice for the answers.
        answers: usize,
    },
    /// The allocator could not provide the memory for a table, or for a snapshot.
    ///
    /// Free memory, or build a smaller filter.
    OutOfMemory {
        /// The size of what could not be allocated, in bytes: of a table, of the part of it that was to be added or
        /// read, or of a snapshot, mostly without what is [stashed](crate::Stats::stashed_entries).
        bytes: usize,
    },
    /// What is to be built needs more memory than it [may take](crate::Builder::memory_bytes), or its snapshot has more
    /// bytes than it [may have](crate::Builder::snapshot_bytes).
    BudgetTooSmall {
        /// The bytes that it may take.
        bytes: usize,
        /// What it needs: without a number of items, for the fewest that there can be.
        needed: usize,
    },
    /// The items need more than 2^44 slots, which no table has.
    CapacityOverflow {
        /// The requested number of items.
        capacity: usize,
    },
    /// A filter of fixed size needs to know for how many items it is: call [`capacity`](crate::Builder::capacity) or
    /// [`memory_bytes`](crate::Builder::memory_bytes), or let it [grow](crate::Builder::growable).
    NoCapacity,
    /// The false-positive rate is not between 0 and 1, both excluded.
    InvalidRate,
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
        /// The lowest target load, in thousandths.
        min: u32,
        /// The highest target load of this layout, in thousandths: 870 for a load of 0.87.
        max: u32,
    },
    /// The fingerprints of the layout are too short for the requested rate.
    ///
    /// Build the filter with the layout `other`, or an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which chooses it. A filter that grows has a lower rate
    /// at its maximum capacity if its initial capacity is larger: it doubles less often.
    RateOutOfReach {
        /// One in so many absent items is a false positive of this layout, rounded down, when the filter is full; if no
        /// layout reaches the requested rate, of the layout with the lowest rate. A filter of fixed size is full at its
        /// capacity, and one that grows at its maximum capacity, or with 2^40 items if it has none.
        one_in: u64,
        /// The smallest layout that reaches the rate, if any does.
        other: Option<&'static str>,
    },
    /// The layout has no room for values of this length, or their length was not said.
    ///
    /// Request between 1 and `max` [value bits](crate::Builder::value_bits), or build the maplet with the
    /// layout `other`. A maplet that grows, without a capacity and a maximum, stores only values with which
    /// [growth does not end](crate::CuckooMaplet#layouts): with one of them it stores longer ones.
    ValueBitsOutOfRange {
        /// The layout.
        layout: &'static str,
        /// The requested bits of a value; 0 if none were requested.
        value_bits: u32,
        /// The most bits of a value in this layout; 0 if it stores none.
        max: u32,
        /// The most bits of a value in this layout in a maplet with a capacity or a maximum; it is above `max` only
        /// where growth has no end.
        max_with_end: u32,
        /// The layout with the shortest fingerprints that stores such values, if any does.
        other: Option<&'static str>,
    },
    /// A table of this layout is not built for so many [values per key](crate::Builder::values_per_key), or [copies per
    /// item](crate::Builder::copies_per_item); or it grows, and then it goes by its [target
    /// load](crate::Builder::target_load).
    ///
    /// Request between 1 and `max`, or build it with the layout `other`. Where the number is larger, two buckets have room
    /// for less than half of the values of a key: store the values elsewhere, and their place as the value.
    ValuesPerKeyOutOfRange {
        /// The layout.
        layout: &'static str,
        /// The requested number.
        values_per_key: u32,
        /// The greatest number in this layout; 1 if the table grows.
        max: u32,
        /// The layout with the longest fingerprints that can be built for so many, if any can.
        other: Option<&'static str>,
    },
    /// The number of generations was not said, or is out of range, or the layout has no room for it.
    ///
    /// Request between 2 and `max` [generations](crate::Builder::generations), or build the filter with the layout
    /// `other`.
    GenerationsOutOfRange {
        /// The requested number; 0 if none was requested.
        generations: u32,
        /// The greatest number in this layout, of a filter that may grow as the one that was requested.
        max: u32,
        /// The layout with the shortest fingerprints that has room for so many, if it is another one.
        other: Option<&'static str>,
    },
    /// The time of a generation is zero, or there is a [clock](crate::Builder::clock) and no such time.
    ///
    /// Request a [longer one](crate::Builder::every).
    NoTime,
    /// A generation would end before it has an item; or the last generations would be more than the filter holds, which
    /// [forgets the oldest one](crate::Builder::forget_oldest_when_full) when it is full.
    ///
    /// Request [a number of items](crate::Builder::every_items) from 1 to `max`.
    ItemsPerGenerationOutOfRange {
        /// The requested number of new items of a generation.
        items: usize,
        /// The largest number that is possible.
        max: usize,
    },
    /// No layout has the requested name; of a filter that grows: none that can grow.
    ///
    /// The message lists the names, and so does [`AnyLayout::NAMES`](crate::AnyLayout::NAMES).
    NoSuchLayout {
        /// Whether it is a filter that grows.
        grows: bool,
        /// The names of the layouts of such filters.
        names: Vec<&'static str>,
    },
    /// The [figures](crate::Builder::figures) of a filter of fixed size were requested for more items than it holds.
    ///
    /// Request a larger [`capacity`](crate::Builder::capacity), or more
    /// [`memory_bytes`](crate::Builder::memory_bytes).
    AboveCapacity {
        /// The requested number of items.
        wanted: usize,
        /// The capacity of the filter.
        capacity: usize,
    },
    /// The growing filter would hold more items than its maximum capacity; nothing has changed.
    ///
    /// Build one with a larger [`max_capacity`](crate::Builder::max_capacity).
    AboveMaxCapacity {
        /// The requested number of items: those in the filter and the additional ones.
        wanted: usize,
        /// The maximum capacity of the filter.
        max_capacity: usize,
    },
    /// The reader of a snapshot failed.
    Io {
        /// The kind of its error.
        kind: io::ErrorKind,
        /// What its error says, and the errors that caused it.
        message: Box<str>,
    },
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
        /// and 3 (the same of maplets), 4 and 5 (of expiring filters), 8 and 10 (a filter and a maplet of fixed size
        /// that were built for several [values per key](crate::Builder::values_per_key)).
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
    /// An entry of the [stash](crate#what-finds-no-room), or of the list of what is [doubled](crate#growth), which
    /// follows it, is none that the table can have, or is not in order; or what follows these in the snapshot of a
    /// filter that [forgets](crate::ExpiringCuckooFilter), its generations, is impossible.
    InvalidEntry {
        /// How many entries are before it. The generations come last.
        entry: usize,
    },
    /// The number of slots in use, of copies in the stash, or of [doubled](crate#growth) entries, is not the number in
    /// the header.
    WrongLen {
        /// The number in the header.
        stated: usize,
        /// The number that was found.
        found: usize,
    },
    /// There are bytes after the snapshot. [`restore`](crate::CuckooFilter::restore) leaves such
    /// bytes in the reader.
    TrailingBytes {
        /// The number of these bytes.
        bytes: usize,
    },
    /// The snapshot is of another type: of a filter, a maplet or an expiring filter, of fixed size or growable.
    ///
    /// Restore one of the type that is named.
    OtherType {
        /// The name of the type of the snapshot, whatever its layout: `GrowableCuckooMaplet`, for example.
        name: &'static str,
    },
    /// The snapshot is not of the kind that the view reads: of a filter in place of a maplet, or the other way round.
    ///
    /// Open it with the view that is named.
    OtherView {
        /// The name of the type of the snapshot, whatever its layout.
        name: &'static str,
        /// The name of the view that reads it.
        view: &'static str,
    },
    /// What is to be restored, or merged into this filter, has another layout.
    ///
    /// Name its layout in the type of what you restore, or restore an
    /// [`AnyCuckooFilter`](crate::AnyCuckooFilter), which accepts every layout. Only filters of one layout can be
    /// merged.
    OtherLayout {
        /// The layout of the snapshot, or of the filter that is to be merged.
        other: &'static str,
        /// The layout of this filter.
        filter: &'static str,
    },
    /// What is to be restored, viewed, or merged into this filter, had a hasher with other hashes: its items would be
    /// missed.
    ///
    /// Use the hasher of that filter, or a clone of it. A default hasher has a random seed and cannot be made again in
    /// another process; a [`StableHashBuilder`](crate::StableHashBuilder) can, and so can a
    /// [`KeyedHashBuilder`](crate::KeyedHashBuilder) with the same key. Items that were hashed elsewhere have
    /// [`NoHasher`](crate::NoHasher).
    OtherHasher,
    /// The two filters to be merged are of fixed size, and have different numbers of slots. Filters that grow may have
    /// any sizes.
    ///
    /// Build both for the same capacity, and the same [values per key](crate::Builder::values_per_key), if they are told.
    OtherSize {
        /// The slots of this filter.
        slots: usize,
        /// The slots of the other filter.
        other: usize,
    },
    /// The filter to be merged into this one grows, as this one does, and had so few items when most of its entries
    /// were stored that they know too little: each of them would take many slots here, and more with each level, until
    /// this filter could not grow any more.
    ///
    /// Build filters that are to be merged with the [capacity](crate::Builder::capacity) of all of them together.
    OtherTooSmall,
    /// The builder of this filter was given a [rate](crate::Builder::false_positive_rate), and with the items to be merged
    /// its rate would be higher when it is full; nothing has changed.
    ///
    /// Build filters that are to be merged with the [capacity](crate::Builder::capacity) of all of them together: those
    /// that grow then know enough of each item, and one of fixed size has no more items than it was built for.
    MergedRateTooHigh {
        /// One in so many absent items would be a false positive, rounded down, when the filter is full.
        one_in: u64,
    },
    /// The two maplets to be merged have values of different lengths.
    ///
    /// Build both with the same [value bits](crate::Builder::value_bits).
    OtherValueBits {
        /// The bits of a value in this maplet.
        value_bits: u32,
        /// The bits of a value in the other maplet.
        other: u32,
    },
}

impl Error {
    /// The number of items that were stored by the call that failed: 0, except by a batch that
    /// [stopped](Self::Stopped).
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

    /// Of the reader of a snapshot.
    pub(crate) fn of_reader(error: &io::Error) -> Self {
        let kind = error.kind();
        if kind == io::ErrorKind::UnexpectedEof {
            return Self::Truncated;
        }
        let causes = iter::successors(error::Error::source(error), |cause| cause.source());
        let message = causes.fold(error.to_string(), |said, cause| format!("{said}: {cause}"));
        Self::Io { kind, message: message.into() }
    }
}

/// The advice for bytes with right checksums and impossible contents.
const DO_NOT_TRUST: &str =
    "the checksums match, so it was written this way: do not trust the writer";

impl fmt::Display for Error {
    #[expect(clippy::too_many_lines, reason = "a table of messages")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full => f.write_str(
                "the filter is full: remove items, or build one with a larger capacity",
            ),
            Self::WindowFull => f.write_str(
                "the expiring filter is full: call `advance`, build one that forgets the oldest items when it is \
                 full, or one with a larger capacity",
            ),
            Self::NoMemoryToStore => f.write_str(
                "the allocator could not provide the memory to store an item: free memory and try again, or make room in \
                 the filter",
            ),
            Self::ValueTooLarge => f.write_str(
                "the value has more bits than this maplet stores: build one with more value bits",
            ),
            Self::Stopped { index, stored, cause } if stored == index => {
                write!(f, "stored the first {index} items and no more: {cause}")
            }
            Self::Stopped { index, stored, cause } => {
                write!(f, "stored {stored} of the first {index} items and no more: {cause}")
            }
            Self::LengthMismatch { items, answers } => write!(
                f,
                "{items} items need a slice of {items} answers, and it has {answers}: nothing was done"
            ),
            Self::OutOfMemory { bytes } => write!(
                f,
                "the allocator could not provide {bytes} bytes: free memory and try again, or use a smaller filter"
            ),
            Self::BudgetTooSmall { bytes, needed } => {
                write!(f, "a budget of {bytes} bytes is too small: this filter needs {needed}")
            }
            Self::CapacityOverflow { capacity } => write!(
                f,
                "a filter for {capacity} items is too large: no table has more than 2^44 slots"
            ),
            Self::NoCapacity => f.write_str(
                "a filter of fixed size needs a number of items: call `capacity`, `memory_bytes`, `snapshot_bytes` or `growable`",
            ),
            Self::InvalidRate => {
                f.write_str("a false-positive rate lies between 0 and 1, both excluded")
            }
            Self::MaxCapacityTooLow { capacity, max_capacity } => write!(
                f,
                "a filter cannot grow from {capacity} items to {max_capacity}: \
                 max_capacity must not be below capacity"
            ),
            Self::TargetLoadOutOfRange { layout, min, max } => write!(
                f,
                "the target load of a growing filter in {layout} lies between 0.{min:03} and 0.{max:03}"
            ),
            Self::RateOutOfReach { one_in, other: Some(other) } => write!(
                f,
                "this layout has a false-positive rate of 1 in {one_in} when the filter is full, more than was \
                 requested: {other} reaches the rate"
            ),
            Self::RateOutOfReach { one_in, other: None } => write!(
                f,
                "no layout has a lower false-positive rate than 1 in {one_in} when the filter is full, and a lower \
                 one was requested: request that one, or a smaller filter"
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
                    Some(other) => write!(f, "{other} stores them"),
                    None if value_bits <= max_with_end => write!(
                        f,
                        "with a `capacity` or a `max_capacity`, {layout} stores up to {max_with_end}"
                    ),
                    None => f.write_str("no layout stores them"),
                }
            }
            Self::ValuesPerKeyOutOfRange { values_per_key, max: 1, .. } => write!(
                f,
                "a table that grows is not built for {values_per_key} values per key, or copies per item: leave the call \
                 out, or request a lower target load"
            ),
            Self::ValuesPerKeyOutOfRange { layout, values_per_key, max, other } => {
                write!(
                    f,
                    "a table in {layout} is built for 1 to {max} values per key, or copies per item, and \
                     {values_per_key} were requested"
                )?;
                other.map_or(Ok(()), |other| write!(f, ": one in {other} is built for so many"))
            }
            Self::GenerationsOutOfRange { generations: 0, .. } => f.write_str(
                "an expiring filter needs the number of its generations: call `generations`",
            ),
            Self::GenerationsOutOfRange { generations, max, other } => {
                match max {
                    0 => f.write_str("this layout has no room for the generations of such a filter")?,
                    _ => write!(
                        f,
                        "such an expiring filter has 2 to {max} generations, and {generations} were requested"
                    )?,
                }
                other.map_or(Ok(()), |other| write!(f, ": one in {other} has so many"))
            }
            Self::NoTime => f.write_str(
                "the period of a generation must be longer than zero: call `every` with such a one",
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
                 capacity, or more memory_bytes"
            ),
            Self::AboveMaxCapacity { wanted, max_capacity } => write!(
                f,
                "the filter grows to {max_capacity} items, and {wanted} need room: \
                 build one with a larger max_capacity"
            ),
            Self::Io { message, .. } => write!(f, "the snapshot could not be read: {message}"),
            Self::Truncated => {
                f.write_str("the bytes end before the end of the snapshot: read another copy of it")
            }
            Self::NotASnapshot => f.write_str(
                "the bytes are not a snapshot of a filter: they do not begin with the 8 bytes that \
                 every snapshot begins with",
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
            Self::InvalidEntry { entry } => write!(
                f,
                "the snapshot is invalid: entry {entry} after the words is impossible; {DO_NOT_TRUST}"
            ),
            Self::InvalidWord { bucket } => write!(
                f,
                "the snapshot is invalid: bucket {bucket} holds an impossible word; {DO_NOT_TRUST}"
            ),
            Self::WrongLen { stated, found } => write!(
                f,
                "the header of the snapshot counts {stated} slots in use, stashed copies, or doubled entries, and \
                 there are {found}: {DO_NOT_TRUST}"
            ),
            Self::TrailingBytes { bytes } => {
                write!(
                    f,
                    "{bytes} bytes follow the snapshot: pass the bytes without them (the `restore` of a filter \
                     leaves them in its reader)"
                )
            }
            Self::OtherType { name } => write!(
                f,
                "the snapshot is of another type: restore it as {name}, of its layout or of AnyLayout"
            ),
            Self::OtherView { name, view } => {
                write!(f, "the snapshot is of a {name}: open it with a {view}")
            }
            Self::OtherLayout { other, filter } => write!(
                f,
                "the layout is {other} and not {filter}: to restore it, name {other} or AnyLayout in the type; \
                 filters of two layouts cannot be merged"
            ),
            Self::OtherHasher => f.write_str(
                "the items were hashed by another hasher, or with another seed or key: pass the hasher with which they \
                 were inserted, or a clone of it (in another process, a StableHashBuilder with the same seed, or a \
                 KeyedHashBuilder with the same key; NoHasher, if they were hashed elsewhere)",
            ),
            Self::OtherTooSmall => f.write_str(
                "the other filter was built for so few items that its entries would take too many slots: build \
                 filters that are to be merged with the capacity of all of them together",
            ),
            Self::MergedRateTooHigh { one_in } => write!(
                f,
                "with these items the false-positive rate would be 1 in {one_in} when the filter is full, more than \
                 its builder was given: build filters that are to be merged with the capacity of all of them together"
            ),
            Self::OtherSize { slots, other } => write!(
                f,
                "filters of fixed size with {slots} and {other} slots cannot be merged: \
                 build both with the same capacity, or filters that grow"
            ),
            Self::OtherValueBits { value_bits, other } => write!(
                f,
                "maplets with values of {value_bits} and of {other} bits cannot be merged: \
                 build both with the same value bits"
            ),
        }
    }
}

// No source: each message says its cause already.
impl error::Error for Error {}

/// Why an item was not stored: what the table returns, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertError {
    Full,
    NoMemoryToStore,
    ValueTooLarge,
    WindowFull,
}

impl InsertError {
    /// The same of an expiring filter.
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

/// A batch that stopped: see [`Error::Stopped`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped {
    pub(crate) index: usize,
    pub(crate) stored: usize,
    pub(crate) cause: InsertError,
}

impl Stopped {
    /// The same of a batch that begins after `index` items of which `stored` were stored.
    pub(crate) fn after(self, index: usize, stored: usize) -> Self {
        Self { index: index + self.index, stored: stored + self.stored, ..self }
    }
}

impl From<Stopped> for Error {
    fn from(Stopped { index, stored, cause }: Stopped) -> Self {
        // An `Error` may own memory, so these are no constants that the compiler would keep for ever by itself.
        static CAUSES: [Error; 4] =
            [Error::Full, Error::NoMemoryToStore, Error::ValueTooLarge, Error::WindowFull];
        Self::Stopped { index, stored, cause: &CAUSES[cause as usize] }
    }
}

/// That a batch has as many answers as items.
pub(crate) fn check_lengths(items: usize, answers: usize) -> Result<(), Error> {
    if items == answers { Ok(()) } else { Err(Error::LengthMismatch { items, answers }) }
}
