//! Snapshots: a filter as bytes, and back.

mod format;
#[cfg(feature = "serde")]
mod serde;

use core::fmt;
use core::hash::{BuildHasher, Hasher};
use std::io::{self, Read, Write};

use twox_hash::XxHash3_64;

use self::format::{CHECKSUM_BYTES, HEADER_BYTES, Header};
use crate::error::{MergeError, RestoreError, SnapshotError};
use crate::filter::CuckooFilter;
use crate::hasher;
use crate::storage::Storage;
use crate::storage::sealed::Operations;
use crate::sync::{AtomicU64, Ordering};
use crate::table::Image;

/// Bytes that are read or written at once, a multiple of a word.
const CHUNK: usize = 1 << 16;

/// A [`CuckooFilter`] as it was at one instant; made by [`CuckooFilter::snapshot`], or read from
/// bytes.
///
/// It holds what the filter held, and no hasher. To write it takes no lock: the filter it was made of
/// is in use meanwhile. The bytes are the same on every machine, and `docs/format.md` in the
/// repository says what each of them means.
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
/// let mut file = Vec::new();
/// snapshot.write_to(&mut file)?;
/// let restored: CuckooFilter<Fp16x4, _> = CuckooFilter::restore(&file[..], hasher)?;
/// assert!(restored.contains("egg"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Snapshot {
    header: Header,
    /// Those of all buckets, or more of them: then the others are zeros.
    words: Box<[AtomicU64]>,
}

impl Snapshot {
    /// Writes the snapshot, in steps of 64 KiB.
    ///
    /// To keep it across a crash, write to another file than the last snapshot's, call
    /// [`sync_all`](std::fs::File::sync_all), and then rename it: see the
    /// [cookbook](crate::cookbook#keep-a-filter-across-restarts).
    ///
    /// # Errors
    ///
    /// Those of the writer; then part of the bytes may have been written.
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// let mut bytes = Vec::new();
    /// snapshot.write_to(&mut bytes)?;
    /// assert_eq!(bytes.len(), snapshot.encoded_len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn write_to(&self, mut writer: impl Write) -> io::Result<()> {
        let mut checksum = XxHash3_64::new();
        let mut write = |bytes: &[u8]| {
            checksum.write(bytes);
            writer.write_all(bytes)
        };
        write(&self.header.encode())?;
        let mut bytes = vec![0; CHUNK];
        for chunk in self.words[..self.header.extent.buckets()].chunks(CHUNK / size_of::<u64>()) {
            let bytes = &mut bytes[..size_of_val(chunk)];
            for (word, bytes) in chunk.iter().zip(bytes.as_chunks_mut().0) {
                // Relaxed: nobody stores in it any more.
                *bytes = word.load(Ordering::Relaxed).to_le_bytes();
            }
            write(bytes)?;
        }
        writer.write_all(&checksum.finish().to_le_bytes())
    }

    /// The bytes that [`write_to`](Self::write_to) writes.
    ///
    /// # Panics
    ///
    /// If the memory for them cannot be had, as `Vec` does: it aborts.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let bytes = filter.snapshot()?.to_bytes();
    /// let restored: CuckooFilter = CuckooFilter::from_bytes(&bytes, filter.hasher().clone())?;
    /// assert!(restored.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.encoded_len());
        self.write_to(&mut bytes).expect("a vector takes any bytes");
        bytes
    }

    /// Reads a snapshot, and not a byte more, for a filter of any layout:
    /// [`CuckooFilter::from_snapshot`] makes one of it. [`CuckooFilter::restore`] does both.
    ///
    /// # Errors
    ///
    /// [`RestoreError`], as `restore` does.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Snapshot};
    ///
    /// let filter = CuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// let bytes = filter.snapshot()?.to_bytes();
    /// let snapshot = Snapshot::read_from(&bytes[..])?;
    /// assert_eq!(snapshot.layout_name(), filter.layout_name());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn read_from(reader: impl Read) -> Result<Self, RestoreError> {
        Self::read(reader, 0, |_| Ok(()))
    }

    /// As [`read_from`](Self::read_from), from bytes that are a snapshot and nothing else.
    ///
    /// # Errors
    ///
    /// The same, and [`RestoreError::TrailingBytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Snapshot};
    ///
    /// let bytes = CuckooFilter::with_capacity(100).snapshot()?.to_bytes();
    /// assert!(Snapshot::from_bytes(&bytes).is_ok());
    /// assert!(Snapshot::from_bytes(&bytes[1..]).is_err());
    /// # Ok::<(), coucal::SnapshotError>(())
    /// ```
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, RestoreError> {
        Self::read_all(bytes, |_| Ok(()))
    }

    /// Reads bytes that are a snapshot and nothing else, if its header is as wanted.
    fn read_all(
        mut bytes: &[u8],
        wanted: impl FnOnce(&Header) -> Result<(), RestoreError>,
    ) -> Result<Self, RestoreError> {
        let certain = bytes.len();
        let snapshot = Self::read(&mut bytes, certain, wanted)?;
        match bytes.len() {
            0 => Ok(snapshot),
            bytes => Err(RestoreError::TrailingBytes { bytes }),
        }
    }

    /// Reads a snapshot if its header is as wanted. So many bytes are certain to be there.
    fn read(
        reader: impl Read,
        certain: usize,
        wanted: impl FnOnce(&Header) -> Result<(), RestoreError>,
    ) -> Result<Self, RestoreError> {
        let mut source = Source { reader, certain, checksum: XxHash3_64::new() };
        let mut bytes = [0; HEADER_BYTES];
        source.read(&mut bytes)?;
        let header = Header::decode(&bytes)?;
        wanted(&header)?;
        let words = source.read_words(&header)?;
        let checksum = source.checksum.finish();
        let mut bytes = [0; CHECKSUM_BYTES];
        source.read(&mut bytes)?;
        if u64::from_le_bytes(bytes) != checksum {
            return Err(RestoreError::Damaged);
        }
        let words = words?;
        Ok(Self { header, words })
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
        self.header.items
    }

    /// Whether it holds no item.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(coucal::CuckooFilter::with_capacity(100).snapshot()?.is_empty());
    /// # Ok::<(), coucal::SnapshotError>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct items the filter was made for; if it grows, before it does.
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// assert_eq!(snapshot.capacity(), 100);
    /// # Ok::<(), coucal::SnapshotError>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.header.capacity
    }

    /// How many distinct items the filter grows to hold; the [capacity](Self::capacity) if it does not
    /// grow. The filter that is made of the snapshot asks for the address space for so many: where the
    /// bytes come from somebody you do not trust, look at this first.
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
        self.header.max_capacity
    }

    /// How many bytes [`write_to`](Self::write_to) writes: 8 for each bucket, and 104.
    ///
    /// # Examples
    ///
    /// ```
    /// let filter = coucal::CuckooFilter::with_capacity(1_000_000);
    /// let buckets = filter.slots() / 4;
    /// assert_eq!(filter.snapshot()?.encoded_len(), 8 * buckets + 104);
    /// # Ok::<(), coucal::SnapshotError>(())
    /// ```
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        self.header.encoded_len()
    }

    /// The name of the layout: [`Layout::NAME`](crate::Layout::NAME).
    ///
    /// # Examples
    ///
    /// ```
    /// let snapshot = coucal::CuckooFilter::with_capacity(100).snapshot()?;
    /// assert_eq!(snapshot.layout_name(), "Fp16x4");
    /// # Ok::<(), coucal::SnapshotError>(())
    /// ```
    #[must_use]
    pub fn layout_name(&self) -> &'static str {
        self.header.layout.name()
    }
}

impl fmt::Debug for Snapshot {
    /// Prints figures, not the words.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Snapshot")
            .field("layout", &self.layout_name())
            .field("len", &self.len())
            .field("capacity", &self.header.capacity)
            .field("max_capacity", &self.header.max_capacity)
            .field("encoded_len", &self.encoded_len())
            .finish_non_exhaustive()
    }
}

/// Snapshots.
impl<L: Storage, S: BuildHasher> CuckooFilter<L, S> {
    /// The filter as it is at one instant between the call and its return: every operation on an item
    /// is in it as a whole, or not at all.
    ///
    /// Other threads go on meanwhile. Lookups never wait. A writer waits for a few
    /// instructions at a time, and once, at the end, while every lock is taken: for a fraction of a
    /// millisecond, whatever the size. Another call of `snapshot` waits until this one has ended.
    ///
    /// It takes as much memory as the table has in use, and out of cache about three times as long as a
    /// copy of it to new memory: 0.06 s for a table of 2^24 slots. (Of a filter that grows, the address
    /// space for the greatest size is asked for.)
    ///
    /// The hasher is not in it: whoever restores the filter needs one that hashes alike. The default
    /// one has a random seed that dies with the process; take a
    /// [`StableHashBuilder`](crate::StableHashBuilder) for filters that outlive it. A filter that has
    /// `()` as its hasher has no snapshots, since nothing would tell how its hashes were made.
    ///
    /// # Errors
    ///
    /// [`SnapshotError::OutOfMemory`]; the filter is as it was.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
    /// filter.insert("egg")?;
    /// let bytes = filter.snapshot()?.to_bytes();
    ///
    /// // In another process:
    /// let filter: CuckooFilter<Fp16x4, _> =
    ///     CuckooFilter::from_bytes(&bytes, StableHashBuilder::new(7))?;
    /// assert!(filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn snapshot(&self) -> Result<Snapshot, SnapshotError> {
        let reserved = self.table().reserved_bytes();
        let image = self.table().image().ok_or(SnapshotError::OutOfMemory { bytes: reserved })?;
        let [capacity, max_capacity] = self.capacities();
        let Image { extent, items, words } = image;
        let header = Header {
            grows: L::GROWS,
            layout: self.table().layout(),
            extent,
            greatest: words.len(),
            items,
            capacity,
            max_capacity,
            hasher: hasher::check_of(self.hasher()),
        };
        Ok(Snapshot { header, words })
    }

    /// The filter of a snapshot that [`Snapshot::write_to`] has written: it answers as the one that was
    /// saved did, and goes on from there. Reads the snapshot in steps of 64 KiB, and not a byte more.
    ///
    /// Every byte is validated: a filter that is restored is one that this crate could have made. But
    /// the checksum is no signature: whoever can change the bytes can make a valid filter of other
    /// items.
    ///
    /// # Errors
    ///
    /// [`RestoreError`]: of the reader, for bytes that are no valid snapshot of this version, and for
    /// one of another layout or hasher. Until the snapshot is read to its end, no more memory is asked
    /// for than twice the bytes that were read, and 128 KiB.
    ///
    /// # Examples
    ///
    /// ```no_run
    /// use std::fs::File;
    /// use coucal::{AnyCuckooFilter, CuckooFilter, StableHashBuilder};
    ///
    /// let file = File::open("seen.coucal")?;
    /// let filter: AnyCuckooFilter<_> = CuckooFilter::restore(file, StableHashBuilder::new(7))?;
    /// println!("{} items", filter.len());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn restore(reader: impl Read, hasher: S) -> Result<Self, RestoreError> {
        let snapshot = Snapshot::read(reader, 0, |header| Self::check(header, &hasher))?;
        Self::from_valid(snapshot, hasher)
    }

    /// As [`restore`](Self::restore), from bytes that are a snapshot and nothing else.
    ///
    /// # Errors
    ///
    /// The same, and [`RestoreError::TrailingBytes`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, RestoreError};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// let mut bytes = filter.snapshot()?.to_bytes();
    /// bytes[20] ^= 1;
    /// let restored = CuckooFilter::<coucal::Fp16x4, _>::from_bytes(&bytes, filter.hasher().clone());
    /// assert!(matches!(restored, Err(RestoreError::Damaged)));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_bytes(bytes: &[u8], hasher: S) -> Result<Self, RestoreError> {
        let snapshot = Snapshot::read_all(bytes, |header| Self::check(header, &hasher))?;
        Self::from_valid(snapshot, hasher)
    }

    /// The filter of a snapshot.
    ///
    /// # Errors
    ///
    /// [`RestoreError`] for a snapshot of another layout or hasher, and if the memory cannot be had.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// // A copy that goes its own way.
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let hasher = filter.hasher().clone();
    /// let copy: CuckooFilter = CuckooFilter::from_snapshot(filter.snapshot()?, hasher)?;
    /// assert!(copy.remove("egg") && filter.contains("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn from_snapshot(snapshot: Snapshot, hasher: S) -> Result<Self, RestoreError> {
        Self::check(&snapshot.header, &hasher)?;
        Self::from_valid(snapshot, hasher)
    }

    /// Whether a snapshot with this header is one of such a filter.
    fn check(header: &Header, hasher: &S) -> Result<(), RestoreError> {
        if header.grows != L::GROWS {
            return Err(RestoreError::OtherKind { grows: header.grows });
        }
        if !L::has(header.layout) {
            let (snapshot, filter) = (header.layout.name(), L::LAYOUT);
            return Err(RestoreError::OtherLayout { snapshot, filter });
        }
        if header.hasher != hasher::check_of(hasher) {
            return Err(RestoreError::OtherHasher);
        }
        Ok(())
    }

    fn from_valid(snapshot: Snapshot, hasher: S) -> Result<Self, RestoreError> {
        let Snapshot { header, words } = snapshot;
        let Header { layout, extent, greatest, items, capacity, max_capacity, .. } = header;
        let bytes = greatest * size_of::<u64>();
        let table = L::from_image(layout, Image { extent, items, words }, greatest)
            .ok_or(RestoreError::OutOfMemory { bytes })?;
        Ok(Self::from_parts(table, hasher, [capacity, max_capacity]))
    }

    /// Adds all that `other` holds, copy by copy: afterwards the filter answers for both. All of it is
    /// added, or nothing.
    ///
    /// Both must have been built for the same first capacity (so that they have the same number of
    /// buckets at first), in the same layout, with the same hasher. A filter that grows does so to hold
    /// both.
    ///
    /// Other threads may use both filters meanwhile. What is added is a [`snapshot`](Self::snapshot) of
    /// `other`; it is added by one insert after the other, so other threads see some of its items
    /// earlier than others, in no order. If one of them finds no room, those that were added are
    /// removed again: until `merge` has returned, do not remove items of `other` from this filter; and
    /// where a merge may fail, do not rely on an [`insert_unique`](Self::insert_unique) beside it that
    /// returned `Ok(false)`: it may have seen an item that is removed again.
    ///
    /// Blocks as `snapshot` and [`insert`](Self::insert) do.
    ///
    /// # Errors
    ///
    /// [`MergeError`]; then the filter holds what it held before.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooFilter;
    ///
    /// let today = CuckooFilter::with_capacity(100);
    /// let hasher = today.hasher().clone();
    /// let yesterday = CuckooFilter::with_capacity_and_hasher(100, hasher);
    /// today.insert("egg")?;
    /// yesterday.insert("nest")?;
    /// today.merge(&yesterday)?;
    /// assert!(today.contains("egg") && today.contains("nest"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn merge(&self, other: &Self) -> Result<(), MergeError> {
        let [this, others] = [self, other].map(CuckooFilter::table);
        if this.layout() != others.layout() {
            return Err(MergeError::OtherLayout);
        }
        if this.rows() != others.rows() {
            return Err(MergeError::OtherRows { rows: this.rows(), other: others.rows() });
        }
        if hasher::check_of(self.hasher()) != hasher::check_of(other.hasher()) {
            return Err(MergeError::OtherHasher);
        }
        let bytes = others.reserved_bytes();
        let image = others.image().ok_or(MergeError::OutOfMemory { bytes })?;
        Ok(this.merge(&image)?)
    }
}

/// Bytes that are read, and their checksum so far.
struct Source<R> {
    reader: R,
    /// Bytes that are certain to be there, if any are.
    certain: usize,
    checksum: XxHash3_64,
}

impl<R: Read> Source<R> {
    fn read(&mut self, bytes: &mut [u8]) -> Result<(), RestoreError> {
        self.reader.read_exact(bytes).map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => RestoreError::Truncated,
            _ => RestoreError::Io(error),
        })?;
        self.checksum.write(bytes);
        Ok(())
    }

    /// The words of a table with this header, each validated. The inner error is that of words that
    /// cannot be, or of their number of items: it counts only if the checksum is right, so what follows
    /// them is read all the same.
    ///
    /// Asks for no more memory than twice what has been read, or what is certain to be read, however
    /// many words the header promises.
    fn read_words(
        &mut self,
        header: &Header,
    ) -> Result<Result<Box<[AtomicU64]>, RestoreError>, RestoreError> {
        let promised = header.extent.buckets();
        let mut words: Vec<AtomicU64> = Vec::new();
        let mut items = Ok(0);
        let mut bytes = vec![0; CHUNK.min(promised * size_of::<u64>())];
        let mut missing = promised;
        while missing > 0 {
            bytes.truncate(missing * size_of::<u64>());
            self.read(&mut bytes)?;
            let (chunk, _) = bytes.as_chunks();
            if let Ok(so_far) = items {
                items = header.validate(promised - missing, chunk).map(|more| so_far + more);
                if words.capacity() - words.len() < chunk.len() {
                    let certain = self.certain / size_of::<u64>();
                    let more = missing.min(words.len().max(chunk.len()).max(certain));
                    words.try_reserve_exact(more).map_err(|_| RestoreError::OutOfMemory {
                        bytes: (words.len() + more) * size_of::<u64>(),
                    })?;
                }
                words.extend(chunk.iter().map(|&word| AtomicU64::new(u64::from_le_bytes(word))));
            }
            missing -= chunk.len();
        }
        Ok(items.and_then(|found| match header.items {
            stated if stated == found => Ok(words.into_boxed_slice()),
            stated => Err(RestoreError::WrongLen { stated, found }),
        }))
    }
}
