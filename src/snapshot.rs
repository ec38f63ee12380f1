//! Snapshots: a filter or a maplet as bytes, and back.
//!
//! **Invariant:** all bytes are validated before a filter is made of them. Bytes that are not a valid snapshot are an
//! error.

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
use crate::storage::operations::{Inner, Overlap, by_encoding};
use crate::sync::memory::{NoMemory, try_reserve, try_with_capacity};
use crate::table::placing::entry::Values;
use crate::table::whole::image::Image;
use crate::table::{Stashed, State, Table};

/// The maximum number of bytes that the first read after the header asks for.
const FIRST_READ: usize = 1 << 13;

/// A [`CuckooFilter`](crate::CuckooFilter), a [`CuckooMaplet`](crate::CuckooMaplet), or an
/// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter), as it was at one instant. The method
/// [`snapshot`](crate::CuckooFilter::snapshot) of each of these types takes a snapshot.
/// [`from_bytes`](Self::from_bytes) and [`read_from`](Self::read_from) read one from bytes. On this page, "filter"
/// stands for all of these types.
///
/// A snapshot consists of its bytes: the entries of the filter, and a check of the hasher, but not the hasher itself.
/// Store [`as_bytes`](Self::as_bytes) in a file, a message or a page of a database. A
/// [`CuckooFilterView`](crate::CuckooFilterView) looks items up in these bytes where they lie, without a copy.
///
/// * **Bytes**: 8 for each bucket, 16 for each stashed entry, and 128 more, or 144 for an expiring filter. If entries
///   are [doubled](crate::growth#doubled-entries), a `CuckooFilter` takes 24 more, and the other types 24 for each
///   value or generation that a doubled entry has. The order of bytes is the same on every machine. `docs/format.md` in
///   the repository describes each byte. The checksums find damage, but they are not a signature: anybody who can
///   change the bytes can make a valid filter of other items.
/// * **Memory**: that of its bytes. Taking a snapshot needs another 8 bytes for each bucket and 16 for each stashed
///   entry, until it is done.
/// * **Serde**: with the feature `serde`, a snapshot implements `Serialize` and `Deserialize`, as its bytes. So do
///   filters of all kinds, with `StableHashBuilder::default()` or [`NoHasher`](crate::NoHasher). Another seed is an
///   error, and so is an expiring filter that ends generations by itself: serialize the snapshot. Views are
///   `Serialize`; a view of a `&[u8]` is also `Deserialize`, with the hasher `H::default()`. Any filter can be stored
///   through its snapshot:
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
/// Two snapshots are equal if their bytes are equal. Cloning a snapshot aborts if the allocator fails, like cloning a
/// `Vec`.
#[derive(Clone, PartialEq, Eq)]
pub struct Snapshot {
    header: Header,
    bytes: Vec<u8>,
}

impl Snapshot {
    /// Returns the bytes, for example to write them to a file.
    ///
    /// To be able to restore the filter after a crash, write the bytes to a file other than that of the last snapshot,
    /// call [`sync_all`](std::fs::File::sync_all), and then rename the file: see the
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

    /// Returns the bytes, without a copy.
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

    /// Reads a snapshot of a filter of any layout, and no byte beyond its end.
    /// [`CuckooFilter::from_snapshot`](crate::CuckooFilter::from_snapshot) restores a filter from this snapshot.
    /// [`CuckooFilter::restore`](crate::CuckooFilter::restore) does both.
    ///
    /// # Errors
    ///
    /// The errors of `restore` that do not depend on the type, the layout or the hasher of a filter.
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

    /// Reads a snapshot as [`read_from`](Self::read_from) does, from bytes that are one snapshot and nothing else.
    ///
    /// # Errors
    ///
    /// The same (except [`Error::Io`]), and [`Error::TrailingBytes`] if other bytes follow the snapshot.
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
        let header = Header::decode(&bytes)?;
        header.validate_all(&bytes).map(|()| Self { header, bytes })
    }

    /// Reads a snapshot if `accept` accepts its header.
    ///
    /// Never allocates more than [`FIRST_READ`] plus twice the number of bytes that were read, however many words the
    /// header promises.
    fn read(
        mut reader: impl Read,
        accept: impl FnOnce(&Header) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let failed = |error| Error::of_reader(&error);
        // Not `read_exact`: if the reader has only a few bytes that are not a header, the first of them tell what is
        // wrong.
        let mut bytes = try_with_capacity(HEADER_BYTES)?;
        reader.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut bytes).map_err(failed)?;
        let header = Header::decode(&bytes)?;
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

    /// Returns the number of items in the snapshot. Each copy of an item counts.
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

    /// Returns whether the snapshot contains no item.
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

    /// Returns the number of items for which the filter was built; for a growing filter, the number that it holds before
    /// it grows, or 0 if it was built without a capacity. (The [capacity](crate::CuckooFilter::capacity) of a growing
    /// filter is that of its present size.)
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// assert_eq!(snapshot.initial_capacity(), 100);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn initial_capacity(&self) -> usize {
        self.header.capacity
    }

    /// Returns the number of items to which the filter can grow; for a filter of fixed size, its
    /// [initial capacity](Self::initial_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooFilter;
    ///
    /// let filter = GrowableCuckooFilter::builder().capacity(100).max_capacity(10_000).build()?;
    /// assert_eq!(filter.snapshot()?.max_capacity(), 10_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn max_capacity(&self) -> usize {
        sizing::in_address_space(self.header.max_capacity)
    }

    /// Returns whether this is a snapshot of a [growing](crate::Growable) filter. It can be restored only as a growing
    /// filter.
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

    /// Returns the bits of each value if this is a snapshot of a [`CuckooMaplet`](crate::CuckooMaplet), and `None`
    /// otherwise.
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

    /// Returns the number of generations that the filter remembers if this is a snapshot of an
    /// [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter), and `None` otherwise.
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

    /// Returns the name of the layout: the [`Layout::NAME`](crate::Layout::NAME) of the layout that the filter has.
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
            .field("initial_capacity", &self.header.capacity)
            .field("max_capacity", &self.header.max_capacity)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// Snapshots of a filter, and filters made of snapshots.
impl<L: Storage, V: Values, S> Inner<L, V, S> {
    /// Takes an image of the table at one instant.
    fn image(&self) -> Result<Image, Error> {
        by_encoding!(self, table => table.image())
    }

    /// Makes a snapshot of an image. `hasher` is the check of the hasher.
    fn encoded(&self, image: Image, hasher: u64) -> Result<Snapshot, Error> {
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

    /// Makes a filter of a validated snapshot.
    fn from_valid(header: &Header, bytes: &[u8], hasher: S) -> Result<Self, Error> {
        let Header { layout, sizes, value_bits, max_buckets, capacity, max_capacity, .. } = *header;
        let words = format::words(header.sizes, bytes).iter().copied().map(u64::from_le_bytes);
        let entries = format::stash(header.sizes, header.stashed, bytes);
        let doubled = format::doubled(header, bytes);
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
        // The check of the hasher may be any number here: nothing compares it.
        let image = self.image()?;
        let merged_weight = image.merged_weight;
        let Snapshot { header, bytes } = self.encoded(image, 0)?;
        let copy = Self::from_valid(&header, &bytes, self.hasher.clone())?;
        Ok(Self { state: copy.state.with_rate_of(&self.state, merged_weight), ..copy })
    }
}

impl<L: Storage, V: Values, S: ComparedHasher> Inner<L, V, S> {
    pub(crate) fn snapshot(&self) -> Result<Snapshot, Error> {
        self.encoded(self.image()?, self.hasher.check())
    }

    pub(crate) fn restore(reader: impl Read, hasher: S, content: Content) -> Result<Self, Error> {
        let snapshot = Snapshot::read(reader, |header| Self::check(header, &hasher, content))?;
        Self::from_valid(&snapshot.header, &snapshot.bytes, hasher)
    }

    pub(crate) fn from_bytes(bytes: &[u8], hasher: S, content: Content) -> Result<Self, Error> {
        let header = Header::decode(bytes)?;
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

    /// Checks that a snapshot with this header is one of a table of this type, with this content and this hasher.
    fn check(header: &Header, hasher: &S, content: Content) -> Result<(), Error> {
        if (header.content, header.grows) != (content, L::GROWS) {
            return Err(header.other_type());
        }
        if L::ONLY.is_some_and(|only| only != header.layout) {
            let (layout, other) = (L::Layout::NAME, header.layout.name());
            return Err(Error::OtherLayout { layout, other });
        }
        header.check_hasher(hasher)
    }

    pub(crate) fn merge(&self, other: &Self) -> Result<(), Error> {
        self.check_alike(other)?;
        let image = by_encoding!(other, table => table.image())?;
        by_encoding!(self, table => table.merge(&image, self.max_capacity))
    }

    pub(crate) fn unmerge(&self, other: &Self) -> Result<usize, Error> {
        self.check_alike(other)?;
        let image = by_encoding!(other, table => table.image())?;
        Ok(sizing::in_address_space(by_encoding!(self, table => table.unmerge(&image))))
    }

    pub(crate) fn intersect(&self, other: &Self) -> Result<usize, Error> {
        self.check_alike(other)?;
        let others = &other.state;
        let removed = by_encoding!(self, table => table.intersect(Table::new(others)));
        Ok(sizing::in_address_space(removed))
    }

    pub(crate) fn overlap(&self, other: &Self) -> Result<Overlap, Error> {
        self.check_alike(other)?;
        let others = &other.state;
        let (all, held, by_chance) =
            by_encoding!(self, table => table.overlap(Table::new(others)))?;
        Ok(Overlap::estimated(all, held, by_chance))
    }

    /// Checks that the entries of the other table mean the same in this one.
    fn check_alike(&self, other: &Self) -> Result<(), Error> {
        let [this, others] = [self, other].map(|filter| &filter.state);
        if this.layout() != others.layout() {
            let [layout, other] = [this, others].map(|state| state.layout().name());
            return Err(Error::OtherLayout { layout, other });
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
        Ok(())
    }
}
