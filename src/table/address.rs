//! Where the word of a bucket lies, and which bucket an entry in a row has.
//!
//! In a table of fixed size a row is a bucket, and all of this costs nothing. In a growing table, the
//! bucket depends on the extent, which each operation reads anew.

use core::iter;

use crossbeam_utils::CachePadded;

use super::chunks::Chunks;
use super::path::Queued;
use crate::arch;
use crate::entry::{Entry, Shape, ValueBits};
use crate::extent::{Bucket, Extent};
use crate::geometry::{Geometry, Key, Place};
use crate::layout::Layout;
use crate::reading::{Masked, Reading, Valued, Variable, Whole};
use crate::sync::{self, AtomicU64, Mutex, Ordering};

/// Buckets from which on a table does not fit well into a core's own cache: 1 MiB of words.
pub(super) const OUT_OF_CACHE_BUCKETS: usize = 1 << 17;

/// The allocator could not provide this many bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMemory {
    pub(crate) bytes: usize,
}

/// The words of a table, or of a second place for each of them: in one piece, or in chunks.
pub trait Words: Sized + Send + Sync {
    /// Zeros for at most this number of buckets, as far as they do not wait for `try_reach`; `None`
    /// if the allocator has no memory for it.
    fn try_new(max_buckets: usize) -> Option<Self>;

    /// Words of which the first are in these pieces; `None` as for `try_new`.
    fn from_pieces(max_buckets: usize, pieces: Vec<Box<[AtomicU64]>>) -> Option<Self>;

    /// The pieces that hold the words of the first `buckets` buckets; `None` as for `try_new`.
    fn into_pieces(self, buckets: usize) -> Option<Vec<Box<[AtomicU64]>>>;

    /// Allocates what is missing of the words of the first `buckets` buckets. One thread at a time.
    fn try_reach(&self, buckets: usize) -> Result<(), NoMemory>;

    /// The number of buckets whose words are allocated.
    fn reached(&self) -> usize;

    /// The number of buckets that there may ever be.
    fn max_buckets(&self) -> usize;

    /// The word of a bucket, which is allocated.
    fn word(&self, bucket: usize) -> &AtomicU64;

    /// The word of a bucket, if it is allocated.
    fn get(&self, bucket: usize) -> Option<&AtomicU64>;

    /// The words of the first `buckets` buckets, which are allocated, piece by piece.
    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]>;

    /// What is allocated.
    fn heap_bytes(&self) -> usize;
}

impl Words for Box<[AtomicU64]> {
    fn try_new(max_buckets: usize) -> Option<Self> {
        sync::try_zeroed(max_buckets)
    }

    fn from_pieces(_: usize, pieces: Vec<Self>) -> Option<Self> {
        debug_assert_eq!(pieces.len(), 1);
        pieces.into_iter().next()
    }

    fn into_pieces(self, _: usize) -> Option<Vec<Self>> {
        Some(vec![self])
    }

    fn try_reach(&self, _: usize) -> Result<(), NoMemory> {
        Ok(())
    }

    fn reached(&self) -> usize {
        self.len()
    }

    #[inline]
    fn max_buckets(&self) -> usize {
        self.len()
    }

    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        &self[bucket]
    }

    #[expect(clippy::inline_always, reason = "a batch has few registers to spare")]
    #[inline(always)]
    fn get(&self, bucket: usize) -> Option<&AtomicU64> {
        <[AtomicU64]>::get(self, bucket)
    }

    fn pieces(&self, buckets: usize) -> impl Iterator<Item = &[AtomicU64]> {
        iter::once(&self[..buckets])
    }

    fn heap_bytes(&self) -> usize {
        size_of_val(&**self)
    }
}

/// The buckets of a table.
pub trait Buckets: Sized + Send + Sync {
    /// What names an item: its hash; in a maplet the hash of a key, and a value.
    type Item: Copy;

    /// What a row's buckets depend on.
    type Extent: Copy;

    /// How the slots of a bucket are read.
    type Reading: Reading + Copy;

    /// An entry in the queue of a search.
    type Entry: Queued;
    /// How the words are stored.
    type Words: Words;

    /// Whether the number of buckets can grow.
    const GROWS: bool;

    /// Whether slots have values, as those of a maplet do.
    const HAS_VALUES: bool = false;

    /// Buckets with these words, of which those of the extent are allocated. The rows are an even number
    /// and at least 2. The target load, in thousandths, is that of buckets that grow; the bits of a value
    /// are those of a maplet.
    fn new<L: Layout>(
        extent: Extent,
        load_thousandths: u32,
        value_bits: u32,
        words: Self::Words,
    ) -> Self;

    /// Bits of the value in each slot; 0 in a filter.
    #[inline]
    fn value_bits(&self) -> u32 {
        0
    }

    /// The item in a table with this geometry.
    fn key(geometry: Geometry, item: Self::Item) -> Key;

    /// The words of the buckets of now, and then those of later ones.
    fn words(&self) -> &Self::Words;

    fn rows(&self) -> usize;

    /// How far the table has grown by now.
    fn extent(&self) -> Self::Extent;

    /// How often the table has doubled by now.
    fn level(&self) -> u32;

    /// The number of buckets.
    fn count(&self, extent: Self::Extent) -> usize;

    /// The bucket of a place.
    fn bucket(&self, place: Place, extent: Self::Extent) -> Bucket<Self::Reading>;

    /// How the slots of the bucket with this number are read in a table of this extent.
    fn reading<L: Layout>(extent: Extent, bucket: usize, value_bits: u32) -> Self::Reading;

    /// The buckets themselves, if they can grow.
    fn growing(&self) -> Option<&Growing>;

    /// Where the items of a table with this layout are.
    #[inline]
    fn geometry<L: Layout>(&self) -> Geometry {
        let shape = const {
            if Self::GROWS {
                Shape::growing(L::FINGERPRINT_BITS, L::MAX_LEVEL)
            } else {
                Shape::fixed(L::FINGERPRINT_BITS)
            }
        };
        Geometry::new(self.rows(), shape)
    }

    #[inline]
    fn word(&self, bucket: usize) -> &AtomicU64 {
        self.words().word(bucket)
    }

    /// Requests both words of an item that are needed soon. Not in small growing tables: to find the
    /// buckets twice would cost more than it gains.
    #[inline]
    fn prefetch(&self, places: impl FnOnce() -> [Place; 2]) {
        let extent = self.extent();
        if Self::GROWS && self.count(extent) < OUT_OF_CACHE_BUCKETS {
            return;
        }
        let words = self.words();
        for bucket in places().map(|place| self.bucket(place, extent).number) {
            // Always there; a check that cannot panic leaves a batch more registers.
            if let Some(word) = words.get(bucket) {
                arch::prefetch(word);
            }
        }
    }
}

/// As many buckets as rows, for ever.
pub struct Fixed {
    words: Box<[AtomicU64]>,
}

impl Buckets for Fixed {
    type Item = u64;
    type Extent = ();
    type Reading = Whole;
    type Entry = u32;
    type Words = Box<[AtomicU64]>;

    const GROWS: bool = false;

    fn new<L: Layout>(extent: Extent, _: u32, _: u32, words: Box<[AtomicU64]>) -> Self {
        debug_assert_eq!(extent, Extent::start(words.len()));
        Self { words }
    }

    #[expect(clippy::inline_always, reason = "as for `Geometry::key`")]
    #[inline(always)]
    fn key(geometry: Geometry, hash: u64) -> Key {
        geometry.key(hash)
    }

    #[inline]
    fn words(&self) -> &Box<[AtomicU64]> {
        &self.words
    }

    #[inline]
    fn rows(&self) -> usize {
        self.words.len()
    }

    #[inline]
    fn extent(&self) {}

    #[inline]
    fn level(&self) -> u32 {
        0
    }

    #[inline]
    fn count(&self, (): ()) -> usize {
        self.words.len()
    }

    #[inline]
    fn bucket(&self, place: Place, (): ()) -> Bucket<Whole> {
        Bucket { number: place.row, reading: Whole }
    }

    #[inline]
    fn reading<L: Layout>(_: Extent, _: usize, _: u32) -> Whole {
        Whole
    }

    #[inline]
    fn growing(&self) -> Option<&Growing> {
        None
    }
}

/// Buckets that can become more.
pub struct Growing {
    words: Chunks,
    rows: usize,
    load_thousandths: u32,
    /// On a line of its own, and in a box as the count of inconclusive lookups is.
    extent: Box<CachePadded<AtomicU64>>,
    /// Held by whoever splits. It is taken before any stripe. In a box for the same reason.
    pub(super) splitting: Box<Mutex>,
}

impl Growing {
    /// The number of buckets at the end of growth.
    pub(super) fn max_buckets(&self) -> usize {
        self.words.max_buckets()
    }

    /// The load that growth keeps, in thousandths.
    pub(super) fn target_load(&self) -> u32 {
        self.load_thousandths
    }

    /// Lets lookups and writers see the buckets of this extent, whose words are stored.
    pub(super) fn publish(&self, extent: Extent) {
        // SeqCst: pairs with the load in `extent`, for which it publishes the words.
        self.extent.store(extent.bits(), Ordering::SeqCst);
    }

    /// What it has besides the words.
    pub(super) fn bytes_besides(&self) -> usize {
        size_of_val(&*self.extent) + size_of_val(&*self.splitting)
    }
}

impl Buckets for Growing {
    type Item = u64;
    type Extent = Extent;
    type Reading = Variable;
    type Entry = Entry;
    type Words = Chunks;

    const GROWS: bool = true;

    fn new<L: Layout>(extent: Extent, load_thousandths: u32, _: u32, words: Chunks) -> Self {
        let rows = extent.rows();
        let extent = Box::new(CachePadded::new(AtomicU64::new(extent.bits())));
        Self { words, rows, load_thousandths, extent, splitting: Box::new(Mutex::new()) }
    }

    #[expect(clippy::inline_always, reason = "as for `Geometry::key`")]
    #[inline(always)]
    fn key(geometry: Geometry, hash: u64) -> Key {
        geometry.key(hash)
    }

    #[inline]
    fn words(&self) -> &Chunks {
        &self.words
    }

    #[inline]
    fn rows(&self) -> usize {
        self.rows
    }

    #[inline]
    fn extent(&self) -> Extent {
        // SeqCst: pairs with the store in `publish`. Whoever reads an old extent comes before all
        // that was inserted by a newer one. As an Acquire load it makes the copies of the splits
        // visible.
        Extent::from_bits(self.rows, self.extent.load(Ordering::SeqCst))
    }

    #[inline]
    fn level(&self) -> u32 {
        self.extent().level()
    }

    #[inline]
    fn count(&self, extent: Extent) -> usize {
        extent.buckets()
    }

    #[inline]
    fn bucket(&self, place: Place, extent: Extent) -> Bucket<Variable> {
        extent.bucket(place)
    }

    #[inline]
    fn reading<L: Layout>(extent: Extent, bucket: usize, _: u32) -> Variable {
        extent.bucket_at(bucket).reading
    }

    #[inline]
    fn growing(&self) -> Option<&Growing> {
        Some(self)
    }
}

/// The hash of a key, and one of its values.
#[derive(Clone, Copy, Debug)]
pub struct Pair {
    pub(crate) hash: u64,
    pub(crate) value: u32,
}

/// The buckets of a maplet: those of a filter, with a value in each slot.
pub struct WithValues<B> {
    buckets: B,
    values: ValueBits,
}

impl<B: Buckets<Reading: Masked>> Buckets for WithValues<B> {
    type Item = Pair;
    type Extent = B::Extent;
    type Reading = Valued<B::Reading>;
    type Entry = B::Entry;
    type Words = B::Words;

    const GROWS: bool = B::GROWS;

    const HAS_VALUES: bool = true;

    fn new<L: Layout>(
        extent: Extent,
        load_thousandths: u32,
        value_bits: u32,
        words: B::Words,
    ) -> Self {
        let buckets = B::new::<L>(extent, load_thousandths, value_bits, words);
        Self { buckets, values: ValueBits::new(L::FINGERPRINT_BITS, value_bits) }
    }

    #[inline]
    fn value_bits(&self) -> u32 {
        self.values.bits()
    }

    #[expect(clippy::inline_always, reason = "as for `Geometry::key`")]
    #[inline(always)]
    fn key(geometry: Geometry, Pair { hash, value }: Pair) -> Key {
        geometry.key_with_value(hash, value)
    }

    #[inline]
    fn words(&self) -> &B::Words {
        self.buckets.words()
    }

    #[inline]
    fn rows(&self) -> usize {
        self.buckets.rows()
    }

    #[inline]
    fn extent(&self) -> B::Extent {
        self.buckets.extent()
    }

    #[inline]
    fn level(&self) -> u32 {
        self.buckets.level()
    }

    #[inline]
    fn count(&self, extent: B::Extent) -> usize {
        self.buckets.count(extent)
    }

    #[inline]
    fn bucket(&self, place: Place, extent: B::Extent) -> Bucket<Self::Reading> {
        let Bucket { number, reading } = self.buckets.bucket(place, extent);
        Bucket { number, reading: Valued { reading, values: self.values } }
    }

    #[inline]
    fn reading<L: Layout>(extent: Extent, bucket: usize, value_bits: u32) -> Self::Reading {
        let values = ValueBits::new(L::FINGERPRINT_BITS, value_bits);
        Valued { reading: B::reading::<L>(extent, bucket, value_bits), values }
    }

    #[inline]
    fn growing(&self) -> Option<&Growing> {
        self.buckets.growing()
    }

    #[inline]
    fn geometry<L: Layout>(&self) -> Geometry {
        self.buckets.geometry::<L>().with_values(self.values)
    }
}
