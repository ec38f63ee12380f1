//! Snapshots: a filter or a maplet as bytes, and back.
//!
//! **Invariant:** no filter comes of bytes before all of them were validated: it is one that this crate could have
//! made, or there is an error.

pub(crate) mod format;
#[cfg(feature = "serde")]
pub(crate) mod serde;
pub(crate) mod view;

use core::fmt;
use std::borrow::Cow;
use std::io::Read;

pub(crate) use self::format::Content;
use self::format::{HEADER_BYTES, Header};
use crate::error::Error;
use crate::hasher::ComparedHasher;
use crate::layout::Layout;
use crate::sizing;
use crate::storage::Storage;
use crate::storage::operations::{Inner, by_encoding};
use crate::sync::memory::{NoMemory, try_reserve, try_with_capacity};
use crate::table::placing::entry::Values;
use crate::table::{Stashed, State};

/// Bytes that a reader is asked for at first.
const FIRST_READ: usize = 1 << 13;

/// A [`CuckooFilter`](crate::CuckooFilter), a [`CuckooMaplet`](crate::CuckooMaplet), or an
/// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter), as it was at one instant; made by its method
/// [`snapshot`](crate::CuckooFilter::snapshot), or read from bytes. What is said of filters here holds for the others,
/// too.
///
/// It is its bytes, and nothing else: the entries of the filter, and a check of the hasher, not the hasher.
/// [`as_bytes`](Self::as_bytes) are what a file, a message or a page of a database keeps. A
/// [`CuckooFilterView`](crate::CuckooFilterView) answers from them where they lie.
///
/// * **Bytes**: 8 for each bucket, 16 for each stashed entry, 24 for each value of which entries are
///   [doubled](crate#growth) (of a filter, if any is), and 128 more, or 144 of an expiring filter, the same on every
///   machine. `docs/format.md` in the repository describes each of them. The checksums find damage. They are no
///   signature: whoever can change the bytes can make a valid filter of other items.
/// * **Memory**: that of its bytes. While one is taken, 8 bytes more for each bucket and 16 for each stashed entry.
/// * **Serde**: with the feature `serde`, it is `Serialize` and `Deserialize`, as its bytes. So a filter goes into any
///   format through its snapshot:
///
#[cfg_attr(feature = "serde", doc = " ```")]
#[cfg_attr(not(feature = "serde"), doc = " ```ignore")]
/// # use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
/// # let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
/// # filter.insert("egg")?;
/// let bytes = rmp_serde::to_vec(&filter.snapshot()?)?;
/// let snapshot = rmp_serde::from_slice(&bytes)?;
/// let restored = CuckooFilter::<Fp16x4, _>::from_snapshot(&snapshot, StableHashBuilder::new(7))?;
/// # assert!(restored.contains("egg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
///
/// let hasher = StableHashBuilder::default();
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, hasher);
/// filter.insert("egg")?;
/// let snapshot = filter.snapshot()?;
/// assert!(filter.remove("egg"));
///
/// assert_eq!(snapshot.len(), 1);
/// let restored: CuckooFilter<Fp16x4, _> = CuckooFilter::from_bytes(snapshot.as_bytes(), hasher)?;
/// assert!(restored.contains("egg"));
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// Two snapshots are equal if their bytes are. A clone aborts, as that of a `Vec` does, if the allocator fails.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    header: Header,
    bytes: Vec<u8>,
}

impl Snapshot {
    /// The bytes: for a file, say.
    ///
    /// To keep them across a crash, write to another file than the last snapshot's, call
    /// [`sync_all`](std::fs::File::sync_all), and then rename it: see the
    /// [cookbook](crate::cookbook#keep-a-filter-across-restarts).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(1000);
    /// let snapshot = filter.snapshot()?;
    /// let buckets = filter.slots() / 4;
    /// assert_eq!(snapshot.as_bytes().len(), 8 * buckets + 128);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bytes, which are not copied.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let bytes: Vec<u8> = filter.snapshot()?.into_bytes();
    /// let restored: CuckooFilter = CuckooFilter::from_bytes(&bytes, filter.hasher().clone())?;
    /// assert!(restored.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Reads a snapshot, and not a byte more, for a filter of any layout:
    /// [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot) makes one of it.
    /// [`CuckooFilter::restore`](crate::CuckooFilter::restore) does both.
    ///
    /// # Errors
    ///
    /// Those of `restore` that do not depend on the type, the layout or the hasher of a filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Snapshot};
    ///
    /// let filter = CuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// let bytes = filter.snapshot()?.into_bytes();
    /// let snapshot = Snapshot::read_from(&bytes[..])?;
    /// assert_eq!(snapshot.layout_name(), filter.layout_name());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn read_from(reader: impl Read) -> Result<Self, Error> {
        Self::read(reader, |_| Ok(()))
    }

    /// As [`read_from`](Self::read_from), from bytes that are a snapshot and nothing else.
    ///
    /// # Errors
    ///
    /// The same, and [`Error::TrailingBytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Snapshot};
    ///
    /// let bytes = CuckooFilter::with_capacity(100).snapshot()?.into_bytes();
    /// assert!(Snapshot::from_bytes(&bytes).is_ok());
    /// assert!(Snapshot::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_bytes<'a>(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, Error> {
        let bytes = match bytes.into() {
            Cow::Owned(bytes) => bytes,
            Cow::Borrowed(bytes) => {
                let mut copy = try_with_capacity(bytes.len())?;
                copy.extend_from_slice(bytes);
                copy
            }
        };
        let header = Header::decode::<false>(&bytes)?;
        header.validate_all(&bytes).map(|()| Self { header, bytes })
    }

    /// Reads a snapshot if `accept` takes its header.
    ///
    /// Never allocates more than [`FIRST_READ`] and twice the bytes that were read, however many words the header
    /// promises.
    fn read(
        mut reader: impl Read,
        accept: impl FnOnce(&Header) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let failed = |error| Error::of_reader(&error);
        // Not `read_exact`: of a few bytes that are no header, the first ones say what they are not.
        let mut bytes = try_with_capacity(HEADER_BYTES)?;
        reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
        let header = Header::decode::<false>(&bytes)?;
        accept(&header)?;
        while bytes.len() < header.encoded_len() {
            let read = bytes.len();
            let more = (header.encoded_len() - read).min(read.max(FIRST_READ));
            try_reserve(&mut bytes, more)?;
            bytes.resize(read + more, 0);
            reader.read_exact(&mut bytes[read..]).map_err(failed)?;
        }
        header.validate(&bytes).map(|()| Self { header, bytes })
    }

    /// How many items the snapshot holds, copies counted one by one.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "egg", "nest"])?;
    /// assert_eq!(filter.snapshot()?.len(), 3);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        sizing::in_address_space(self.header.items())
    }

    /// Whether it holds no item.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(coucal::CuckooFilter::with_capacity(100).snapshot()?.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of items that the filter was built for; of a growing filter, the initial
    /// capacity.
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// assert_eq!(snapshot.capacity(), 100);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.header.capacity
    }

    /// The number of items to which the filter can grow; the [capacity](Self::capacity) of a
    /// filter of fixed size.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::builder().capacity(100).max_capacity(10_000).build()?;
    /// assert_eq!(filter.snapshot()?.max_capacity(), 10_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        sizing::in_address_space(self.header.max_capacity)
    }

    /// Whether it is a snapshot of a filter that [grows](crate::Growable): then what it is restored as is growable, too.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, GrowableCuckooFilter};
    ///
    /// assert!(GrowableCuckooFilter::new().snapshot()?.grows());
    /// assert!(!CuckooFilter::with_capacity(100).snapshot()?.grows());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn grows(&self) -> bool {
        self.header.grows
    }

    /// The bits of each value, if it is a snapshot of a [`CuckooMaplet`](crate::CuckooMaplet); `None` for
    /// that of a filter.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooMaplet};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).build()?;
    /// assert_eq!(maplet.snapshot()?.value_bits(), Some(6));
    /// assert_eq!(CuckooFilter::with_capacity(100).snapshot()?.value_bits(), None);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn value_bits(&self) -> Option<u32> {
        (self.header.content == Content::Pairs).then_some(self.header.value_bits)
    }

    /// How many generations are remembered, if it is a snapshot of an
    /// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter); `None` for all others.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, ExpiringCuckooFilter};
    ///
    /// let seen = ExpiringCuckooFilter::with_capacity(100, 4);
    /// assert_eq!(seen.snapshot()?.generations(), Some(4));
    /// assert_eq!(CuckooFilter::with_capacity(100).snapshot()?.generations(), None);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn generations(&self) -> Option<u32> {
        format::generations(&self.header, &self.bytes).map(|generations| generations.count)
    }

    /// The name of the layout: [`Layout::NAME`](crate::Layout::NAME) of the one that is in use.
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// assert_eq!(snapshot.layout_name(), "Fp16x4");
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn layout_name(&self) -> &'static str {
        self.header.layout.name()
    }
}

impl AsRef<[u8]> for Snapshot {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl fmt::Debug for Snapshot {
    /// Prints figures, not the bytes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut printed = f.debug_struct("Snapshot");
        printed.field("layout", &self.layout_name());
        if let Some(value_bits) = self.value_bits() {
            printed.field("value_bits", &value_bits);
        }
        if let Some(generations) = self.generations() {
            printed.field("generations", &generations);
        }
        printed
            .field("len", &self.len())
            .field("capacity", &self.header.capacity)
            .field("max_capacity", &self.header.max_capacity)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// A table at one instant, and one like it.
impl<L: Storage, V: Values, S> Inner<L, V, S> {
    /// The filter as it is at one instant, with this check of its hasher.
    fn snapshot_with(&self, hasher: u64) -> Result<Snapshot, Error> {
        let image = by_encoding!(self, table => table.image())?;
        let copies = image.stashed.iter().map(|&words| Stashed::of_words(words).copies as u64);
        let value_bits = self.state.value_bits();
        let header = Header {
            grows: L::GROWS,
            content: match image.generations.count {
                0 if value_bits == 0 => Content::Items,
                0 => Content::Pairs,
                _ => Content::Stamped,
            },
            value_bits,
            layout: self.state.layout(),
            sizes: image.sizes,
            max_buckets: self.state.max_buckets(),
            occupied: image.occupied,
            stashed: image.stashed.len(),
            copies: copies.sum(),
            doubled: image.doubled().copies,
            doubled_values: image.doubled_of.len(),
            capacity: self.capacity,
            max_capacity: self.max_capacity,
            hasher,
        };
        let bytes = format::encode(&header, image);
        let bytes = bytes.map_err(|_| Error::OutOfMemory { bytes: header.encoded_len() })?;
        Ok(Snapshot { header, bytes })
    }

    /// That of a snapshot that was validated.
    fn from_valid(header: &Header, bytes: &[u8], hasher: S) -> Result<Self, Error> {
        let Header { layout, sizes, value_bits, max_buckets, capacity, max_capacity, .. } = *header;
        let words = format::words(header, bytes).iter().copied().map(u64::from_le_bytes);
        let (entries, doubled) = (format::stash(header, bytes), format::doubled(header, bytes));
        let made = || {
            let mut stashed = try_with_capacity(entries.len())?;
            stashed.extend(entries.iter().map(format::cell_words));
            let mut doubled_of = try_with_capacity(doubled.len())?;
            doubled_of.extend(doubled.iter().map(format::counted));
            let state =
                State::with_words(layout, sizes, max_buckets, value_bits, words, doubled_of)?;
            let generations = format::generations(header, bytes).unwrap_or_default();
            let state = state.with_generations(generations);
            let made = Self { state, hasher, capacity, max_capacity };
            by_encoding!(made, table => {
                table.recount();
                table.restore_stash(&stashed)
            })?;
            Ok::<_, NoMemory>(made)
        };
        made().map_err(|_| Error::OutOfMemory { bytes: bytes.len() })
    }

    pub(crate) fn try_clone(&self) -> Result<Self, Error>
    where
        S: Clone,
    {
        // Nobody compares the hashers.
        let Snapshot { header, bytes } = self.snapshot_with(0)?;
        let copy = Self::from_valid(&header, &bytes, self.hasher.clone())?;
        Ok(Self { state: copy.state.with_rate_of(&self.state), ..copy })
    }
}

impl<L: Storage, V: Values, S: ComparedHasher> Inner<L, V, S> {
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Error> {
        self.snapshot_with(self.hasher.check())
    }

    pub(crate) fn restore(reader: impl Read, hasher: S, content: Content) -> Result<Self, Error> {
        let snapshot = Snapshot::read(reader, |header| Self::check(header, &hasher, content))?;
        Self::from_valid(&snapshot.header, &snapshot.bytes, hasher)
    }

    pub(crate) fn from_bytes(bytes: &[u8], hasher: S, content: Content) -> Result<Self, Error> {
        let header = Header::decode::<false>(bytes)?;
        Self::check(&header, &hasher, content)?;
        header.validate_all(bytes)?;
        Self::from_valid(&header, bytes, hasher)
    }

    pub(crate) fn from_snapshot(
        snapshot: &Snapshot,
        hasher: S,
        content: Content,
    ) -> Result<Self, Error> {
        Self::check(&snapshot.header, &hasher, content)?;
        Self::from_valid(&snapshot.header, &snapshot.bytes, hasher)
    }

    /// Checks that a snapshot with this header is for a table of this type, with this content and this hasher.
    fn check(header: &Header, hasher: &S, content: Content) -> Result<(), Error> {
        if (header.content, header.grows) != (content, L::GROWS) {
            return Err(header.other_type());
        }
        if L::ONLY.is_some_and(|only| only != header.layout) {
            let (other, filter) = (header.layout.name(), L::Layout::NAME);
            return Err(Error::OtherLayout { other, filter });
        }
        header.check_hasher(hasher)
    }

    pub(crate) fn merge(&self, other: &Self) -> Result<(), Error> {
        let [this, others] = [self, other].map(|filter| &filter.state);
        if this.layout() != others.layout() {
            let [filter, other] = [this, others].map(|state| state.layout().name());
            return Err(Error::OtherLayout { other, filter });
        }
        let [value_bits, other_bits] = [this, others].map(State::value_bits);
        if value_bits != other_bits {
            return Err(Error::OtherValueBits { value_bits, other: other_bits });
        }
        let [slots, other_slots] = [this, others].map(State::slots);
        if !L::GROWS && slots != other_slots {
            return Err(Error::OtherSize { slots, other: other_slots });
        }
        if self.hasher.check() != other.hasher.check() {
            return Err(Error::OtherHasher);
        }
        let image = by_encoding!(other, table => table.image())?;
        by_encoding!(self, table => table.merge(&image, self.max_capacity))
    }
}
