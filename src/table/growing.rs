//! The growing table: linear hashing (Litwin, "Linear Hashing", VLDB 1980), with entries of variable length.
//!
//! **Invariant:** by the extent of every instant, each entry is in the bucket of one of its positions; and what its
//! bucket and its ring say of the position is true, but for one of the two that a split makes of a void entry.
//!
//! A split takes the bucket at the *cursor* and moves some of its entries to a new bucket at the end. So there is
//! no pause in which everything is rebuilt, and the table is never half empty.
//!
//! **Buckets.** At level L there are 2^L to 2^(L+1) buckets. The bucket of a position is its lowest L + 1 bits; if
//! there is no such bucket yet, its lowest L bits. So the lowest L + 1 bits of a position are told by a bucket that
//! is split in this level, and by the new one of its split; the lowest L bits by the others.
//!
//! ```text
//! n = position mod 2^(L+1)
//! if n >= buckets:  n = position mod 2^L
//! ```
//!
//! The initial size may be any number of buckets; of those that it has beyond a power of two, the buckets that would
//! be split for them count as split.
//!
//! **Slots.** A slot has the core, and below it a *ring* of T + 1 bits. Bit j of the position has its place at
//! j mod (T + 1) of the ring, for ever. Read from the place of bit L, the *head*, around: the bits of the position
//! that are known, then a 1, then zeros. In a bucket that tells bit L too, this bit stands as 0. A new entry knows
//! the lowest L + T bits of its position. So the longer a table grows,
//! the more it knows of new items: the rate of false positives hardly changes. (It is the idea of the
//! Taffy cuckoo filter, 2022, of `InfiniFilter`, SIGMOD 2023, and of the Aleph filter, VLDB 2024.)
//!
//! Turned by the head to the right, the ring is a number v below a leading 1. An item with the position p is
//! compared with u = (p XOR bucket) >> L, in which all bits that the bucket tells are 0: an entry is one of the item
//! if the cores are equal, and v and u agree below the leading 1 of v.
//!
//! **Splits** go by the bit at the head: 0 stays and does not change, 1 goes, and becomes 0. An entry whose ring is
//! the head alone knows nothing beyond its bucket (a *void* entry, as `InfiniFilter` calls it). It is doubled:
//! it is in both buckets then, with the next place of the ring set. So there is no end to growth.
//!
//! Doubling adds no item: the table counts the entries that it has doubled. One that is still there when its item
//! has been removed, since the removal took the other, is a false positive like any other, and it is split again with
//! each level; so a table whose rings are short must stop when too many entries are such ones.
//!
//! A level ends in two steps: (L, all buckets split), and then (L + 1, none). Both extents name
//! the same buckets, but entries are read by the level.

use core::hint::select_unpredictable;

use crossbeam_utils::CachePadded;

use super::Buckets;
use super::bucket::{Bucket, Grown, Longest, OUT_OF_CACHE_BUCKETS, Placement, Read};
use super::control::Control;
use super::doubled::DoubledOf;
use super::entry::{Entry, NoValues, Shape, Values};
use super::geometry::{Geometry, Key, Place};
use super::stripes::Stripes;
use super::versions::Versions;
use crate::arch::{self, Query, Ring};
use crate::layout::sizing::share;
use crate::layout::{Format, MatchingValues, Properties, Slot, both};
use crate::sync::array::PieceArray;
use crate::sync::kept::{Kept, Node};
use crate::sync::memory::{NoMemory, TryBox};
use crate::sync::{AtomicU64, Mutex, Ordering};

/// Buckets of a chunk, as a power of two: 8 KiB. (For 16 KiB jemalloc takes 20.) One bucket under loom, so that a
/// model's table gets chunks while it grows.
const CHUNK_SHIFT: u32 = if cfg!(coucal_model) { 0 } else { 10 };

/// Words in chunks that are allocated as growth reaches them, and never move. Before the first chunk is whole, they are
/// replaced by a longer array.
pub(super) type Chunks = PieceArray<CHUNK_SHIFT>;

/// How many times as long the words are that replace others; or up to eight times, where this makes them a whole chunk.
const LENGTHENING: u64 = 4;
/// A table as large as this many slabs gets one more at a time: so it has a 64th more words than it needs, at the
/// most.
const SLABS: u64 = 64;
/// Words in the shortest slab of several chunks: 128 KiB. Allocators have so much from the system for this slab alone,
/// and give it back when it is freed.
const SHORTEST_SLAB: u64 = 1 << 14;
/// Words in the longest one that is added for growth: 32 MiB. That is mapped by glibc whatever was freed before, and
/// its places are written in some microseconds.
const LONGEST_SLAB: u64 = 1 << 22;

/// How far a table has grown.
///
/// One word holds all parts, so that they are read at once, and compared at once:
///
/// | bits | meaning |
/// |---|---|
/// | 0 to 5 | the level |
/// | 6 to 10 | the head: the place of bit L of a position in the ring, which is L modulo the length of the ring |
/// | 11 to 63 | the number of buckets |
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent(u64);

impl Extent {
    const HEAD: u32 = 6;
    const BUCKETS: u32 = 11;

    /// That of a table with this number of buckets, at least 2, and rings of this length.
    pub(crate) fn of(buckets: usize, ring: u32) -> Self {
        let level = buckets.ilog2();
        Self::new(buckets, level % ring, level)
    }

    fn new(buckets: usize, head: u32, level: u32) -> Self {
        Self((buckets as u64) << Self::BUCKETS | u64::from(head << Self::HEAD | level))
    }

    #[inline]
    fn level(self) -> u32 {
        self.0 as u32 & ((1 << Self::HEAD) - 1)
    }

    #[inline]
    fn head(self) -> u32 {
        self.0 as u32 >> Self::HEAD & ((1 << (Self::BUCKETS - Self::HEAD)) - 1)
    }

    /// The bucket that is split next.
    #[inline]
    pub(crate) fn cursor(self) -> usize {
        self.buckets() - self.stride()
    }

    /// The number of buckets at the start of the level: from each bucket to the new one of its split it is
    /// this far.
    #[inline]
    pub(crate) fn stride(self) -> usize {
        1 << self.level()
    }

    /// The number of buckets.
    #[inline]
    pub(crate) fn buckets(self) -> usize {
        (self.0 >> Self::BUCKETS) as usize
    }

    /// The extent after this number of splits, no more than are left in the level.
    pub(crate) fn after(self, splits: usize) -> Self {
        let buckets = self.buckets() + splits;
        debug_assert!(buckets <= 2 * self.stride());
        Self::new(buckets, self.head(), self.level())
    }

    /// The start of the next level, if this one has ended.
    pub(crate) fn next_level(self, ring: u32) -> Option<Self> {
        let buckets = self.buckets();
        (buckets == 2 * self.stride()).then(|| Self::of(buckets, ring))
    }

    /// Whether the bucket tells one bit more: it is split in this level, or new.
    #[inline]
    fn is_split(self, bucket: usize) -> bool {
        bucket < self.cursor() || bucket >= self.stride()
    }

    /// The number of the bucket of a position.
    #[inline]
    pub(super) fn bucket(self, position: u64) -> usize {
        let stride = self.stride();
        let split = position as usize & (2 * stride - 1);
        // There is no such bucket only if the uppermost of these bits is a 1.
        select_unpredictable(split < self.buckets(), split, split.wrapping_sub(stride))
    }
}

/// In a growing table a slot holds an entry of variable length.
impl<V: Values> Bucket<Growing<V>> {
    #[inline]
    fn level(self) -> u32 {
        self.placement.extent.level()
    }

    /// Whether the bucket tells bit L of a position.
    #[inline]
    fn is_split(self) -> bool {
        self.placement.extent.is_split(self.number)
    }

    #[inline]
    fn ring<F: Format>(self) -> Ring {
        let bits = self.placement.values.ring_bits(F::RING_BITS);
        Ring { bits, head: self.placement.extent.head() }
    }

    /// The bits of a position that the bucket does not tell, from bit L on.
    #[inline]
    fn untold(self, position: u64) -> u64 {
        (position ^ self.number as u64) >> self.level()
    }

    /// What is looked for in two words, by the bits of the mask, if there is one.
    #[inline]
    fn sought<F: Format>(read: Read<F, Self>, mask: Option<u64>) -> Query {
        let Read { key, buckets: [first, second], .. } = read;
        Query {
            ring: first.ring::<F>(),
            core: key.entry.bits().into(),
            untold: [first.untold(key.first), second.untold(key.second)],
            mask,
        }
    }

    /// What is known of a position beyond bit L, below a leading 1: the ring of a slot, turned. It is not 0.
    #[inline]
    fn beyond<F: Format>(self, slot: Slot) -> u64 {
        let ring = self.ring::<F>();
        slot.turned(ring).bits() & ring.mask()
    }

    /// Bits of a position that the bucket tells.
    #[inline]
    fn told_bits(self) -> u32 {
        self.level() + u32::from(self.is_split())
    }

    /// What a split of the bucket makes of what a slot holds: what stays, and what goes. Both, if nothing is known
    /// beyond the bucket.
    pub(crate) fn split<F: Format>(self, slot: Slot) -> [Option<Slot>; 2] {
        let ring = self.ring::<F>();
        let [at_head, next] = [1 << ring.head, 1 << ((ring.head + 1) % ring.bits)];
        let bits = slot.bits();
        if bits & ring.mask() == at_head {
            [Some(Slot::new(bits ^ at_head | next)); 2]
        } else if bits & at_head == 0 {
            [Some(slot), None]
        } else {
            [None, Some(Slot::new(bits ^ at_head))]
        }
    }

    /// Whether what a slot holds can be in this bucket, of a table whose entries know at least this number of bits of
    /// their position.
    fn is_valid_slot<F: Format>(self, slot: Slot, least: u32) -> bool {
        let below = self.below().unwrap_or(u64::MAX);
        let (core, beyond) =
            (slot.bits() & below & !self.ring::<F>().mask(), self.beyond::<F>(slot));
        let told = self.told_bits();
        core != 0
            && beyond != 0
            && (!self.is_split() || beyond & 1 == 0)
            && Growing::place::<F>(self, slot).entry.known() >= told.max(least)
    }
}

/// Buckets that can become more.
pub struct Growing<V = NoValues> {
    /// The number of buckets at the end of growth.
    max_buckets: u64,
    /// The sizes with which it was made.
    pub(super) grown: Grown,
    /// Bits of a ring.
    pub(super) ring: u32,
    /// Mask of the bits of a position that all entries know.
    common: u64,
    values: V,
    /// In a box as the count of inconclusive lookups is.
    pub(super) changing: TryBox<GrowthState>,
}

/// What growth changes.
pub(super) struct GrowthState {
    /// On a line of its own.
    pub(super) read: CachePadded<ReadByLookups>,
    /// Slots in use that splits and merges have added. Exact when nobody writes.
    doubled: AtomicU64,
    /// Held by whoever splits. It is taken before any stripe.
    splitting: Mutex<DoubledOf>,
    /// Checks of the load that found the mutex taken, since somebody made up for such ones.
    missed: AtomicU64,
}

pub(super) struct ReadByLookups {
    extent: AtomicU64,
    pub(super) stripes: Kept<Stripes>,
    pub(super) versions: Kept<Versions>,
    /// Nobody reads a word that is missing: it is added before the extent that reaches it is published.
    words: Chunks,
}

impl<V: Values> Growing<V> {
    /// How far the table has grown by now.
    #[inline]
    pub(super) fn extent(&self) -> Extent {
        // SeqCst: pairs with the store in `publish`. Whoever reads an old extent comes before all
        // that was inserted by a newer one. As an Acquire load it makes the copies of the splits
        // visible.
        Extent(self.changing.read.extent.load(Ordering::SeqCst))
    }

    #[inline]
    pub(super) fn chunks(&self) -> &Chunks {
        &self.changing.read.words
    }

    /// Where items are by this extent.
    #[inline]
    pub(super) fn placement_by(&self, extent: Extent) -> Placement<Extent, V> {
        Placement { extent, values: self.values }
    }

    /// The load that growth keeps.
    pub(super) fn target_load(&self) -> f64 {
        share(self.grown.target_load)
    }

    /// How many of the lowest bits of its position every entry knows.
    pub(super) fn common_bits(&self) -> u32 {
        self.common.count_ones()
    }

    /// How many of the lowest bits of its position a new entry knows now.
    pub(super) fn known_bits(&self) -> u32 {
        self.extent().level() + self.ring - 1
    }

    /// Slots in use that are no items of their own.
    pub(super) fn doubled(&self) -> u64 {
        // Relaxed: a number that orders nothing.
        self.changing.doubled.load(Ordering::Relaxed)
    }

    /// Memory to count those of some more values. Called while no stripe is held.
    pub(super) fn reserve_doubled(
        &self,
        doubled_of: &mut DoubledOf,
        values: usize,
    ) -> Result<(), NoMemory> {
        doubled_of.reserve(values.min((1 << self.values.bits()) - doubled_of.len()))
    }

    /// Some slots more with this value are in use that are no items of their own, or less. There is memory to count
    /// them.
    pub(super) fn add_doubled(&self, doubled_of: &mut DoubledOf, value: u32, slots: i64) {
        let doubled = doubled_of.of_value(value);
        *doubled = doubled.wrapping_add_signed(slots);
        // Relaxed: a number that orders nothing.
        self.changing.doubled.fetch_add(slots.cast_unsigned(), Ordering::Relaxed);
    }

    /// No slot with this value is in use any more. Says how many of those that were are no items of their own.
    pub(super) fn forget_doubled(&self, doubled_of: &mut DoubledOf, value: u32) -> u64 {
        let doubled = doubled_of.remove(value);
        self.changing.doubled.fetch_add(doubled.wrapping_neg(), Ordering::Relaxed);
        doubled
    }

    /// No more than so many slots are in use. One that a split has added may be removed, or get another value, as a
    /// false positive; the table cannot know it. Says whether it counted more.
    pub(super) fn limit_doubled(&self, doubled_of: &mut DoubledOf, slots: u64) -> bool {
        let mut excess = self.doubled().saturating_sub(slots);
        if excess == 0 {
            return false;
        }
        // Relaxed: a number that orders nothing.
        self.changing.doubled.fetch_add(excess.wrapping_neg(), Ordering::Relaxed);
        for (_, doubled) in doubled_of.in_order() {
            let less = excess.min(*doubled);
            (*doubled, excess) = (*doubled - less, excess - less);
        }
        true
    }

    /// No slot is in use any more.
    pub(super) fn clear_doubled(&self, doubled_of: &mut DoubledOf) {
        doubled_of.clear();
        self.changing.doubled.fetch_add(self.doubled().wrapping_neg(), Ordering::Relaxed);
    }

    /// Lets lookups and writers see the buckets of this extent, whose words are stored.
    pub(super) fn publish(&self, extent: Extent) {
        // SeqCst: pairs with the load in `extent`, for which it publishes the words.
        self.changing.read.extent.store(extent.0, Ordering::SeqCst);
    }

    /// A check of the load was in vain: another thread splits.
    pub(super) fn miss(&self) {
        // Relaxed, here and below: a number that orders nothing.
        self.changing.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// How many checks were in vain since this was asked. One in the meantime may be lost.
    pub(super) fn take_missed(&self) -> usize {
        let missed = self.changing.missed.load(Ordering::Relaxed);
        if missed > 0 {
            self.changing.missed.store(0, Ordering::Relaxed);
        }
        missed as usize
    }

    /// The mutex of those who split.
    pub(super) fn splitting(&self) -> &Mutex<DoubledOf> {
        &self.changing.splitting
    }
}

impl<V: Values> Buckets for Growing<V> {
    const GROWS: bool = true;

    type Values = V;
    type Extent = Extent;

    fn try_new(
        grown: Grown,
        max_buckets: u64,
        layout: &Properties,
        values: V,
    ) -> Result<Self, NoMemory> {
        let stripes = Control::stripes(grown.buckets as u64, max_buckets);
        let control = Control::try_new(stripes, max_buckets)?;
        let words = Chunks::new();
        words.try_reach(grown.buckets)?;
        let ring = layout.ring_bits(values.bits());
        let changing = TryBox::try_new(GrowthState {
            read: CachePadded::new(ReadByLookups {
                extent: AtomicU64::new(Extent::of(grown.buckets, ring).0),
                stripes: Kept::new(Node::try_new(control.stripes)?),
                versions: Kept::new(Node::try_new(control.versions)?),
                words,
            }),
            doubled: AtomicU64::new(grown.doubled),
            splitting: Mutex::new(DoubledOf::default()),
            missed: AtomicU64::new(0),
        })?;
        Ok(Self {
            max_buckets,
            grown,
            ring,
            common: common_mask(grown.initial, ring),
            values,
            changing,
        })
    }

    #[inline]
    fn stripes(&self) -> &Stripes {
        self.changing.read.stripes.get()
    }

    #[inline]
    fn versions(&self) -> &Versions {
        self.changing.read.versions.get()
    }

    #[inline]
    fn values(&self) -> V {
        self.values
    }

    #[inline]
    fn geometry<F: Format>(&self) -> Geometry {
        Geometry::new(self.common, Shape::new(F::BITS, F::RING_BITS, self.values))
    }

    #[inline]
    fn placement(&self) -> Placement<Extent, V> {
        self.placement_by(self.extent())
    }

    fn max_buckets(&self) -> u64 {
        self.max_buckets
    }

    #[inline]
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy {
        let words = self.chunks().view();
        move |bucket| words.word(bucket)
    }

    #[inline]
    fn words_at<const N: usize>(&self, buckets: [usize; N]) -> [&AtomicU64; N] {
        self.chunks().view().words(buckets)
    }

    /// Not in small tables: to find the buckets twice would cost more than it gains.
    #[inline]
    fn prefetch(&self, key: Key) {
        let extent = self.extent();
        if extent.buckets() < OUT_OF_CACHE_BUCKETS {
            return;
        }
        let words = self.chunks().view();
        for position in [key.first, key.second] {
            let bucket = extent.bucket(position);
            // Always there; a check that cannot panic leaves a batch more registers.
            if bucket < words.len() {
                arch::prefetch(words.word(bucket));
            }
        }
    }

    #[inline]
    fn count(&self, extent: Extent) -> usize {
        extent.buckets()
    }

    fn reached(&self) -> usize {
        self.chunks().len()
    }

    fn heap_bytes(&self) -> usize {
        // Not while another thread splits: figures wait for nobody.
        let doubled_of =
            self.splitting().try_lock().map_or(0, |doubled_of| doubled_of.heap_bytes());
        let read = &self.changing.read;
        read.words.heap_bytes()
            + read.stripes.heap_bytes(|stripes| Stripes::bytes_for(stripes.len()) as usize)
            + read.versions.heap_bytes(|versions| Versions::bytes_for(versions.len()) as usize)
            + size_of_val(&*self.changing)
            + doubled_of
    }

    fn bytes_for(initial: u64, buckets: u64, max_buckets: u64) -> u64 {
        // As growth goes on.
        let mut reached = Chunks::len_for(initial);
        let (mut words, mut slabs) = (reached, 1);
        let mut stripes = Control::stripes(initial, max_buckets);
        let mut of_control = of_kept_control(stripes, max_buckets);
        while reached < buckets {
            // From here on all slabs are of one length.
            let far = reached / SLABS >= LONGEST_SLAB;
            let missing = if far { (buckets - reached).next_multiple_of(LONGEST_SLAB) } else { 1 };
            let next = next_reach(reached, reached + missing, max_buckets);
            let next_stripes = Control::stripes(next, max_buckets);
            if is_short(reached) || next_stripes > stripes {
                stripes = next_stripes;
                of_control += of_kept_control(stripes, max_buckets);
            }
            // What is replaced is kept.
            let kept = if is_short(reached) { 0 } else { reached };
            reached = Chunks::len_for(next);
            words += reached - kept;
            slabs += missing.div_ceil(LONGEST_SLAB);
        }
        let of_words = words.saturating_mul(8).saturating_add(Chunks::bytes_beside(reached, slabs));
        of_words.saturating_add(of_control + size_of::<GrowthState>() as u64)
    }

    #[inline]
    fn growing(&self) -> Option<&Growing<V>> {
        Some(self)
    }

    #[inline]
    fn placed<F: Format>(grown: Grown, values: V) -> (Geometry, Placement<Extent, V>) {
        let shape = Shape::new(F::BITS, F::RING_BITS, values);
        let extent = Extent::of(grown.buckets, shape.ring);
        let common = common_mask(grown.initial, shape.ring);
        (Geometry::new(common, shape), Placement { extent, values })
    }

    #[inline]
    fn bucket_of(extent: Extent, position: u64) -> usize {
        extent.bucket(position)
    }

    #[inline]
    fn other<F: Format>(&self, bucket: Bucket<Self>, slot: Slot) -> Option<Bucket<Self>> {
        let Bucket { number, placement } = bucket;
        let (ring, extent) = (bucket.ring::<F>(), placement.extent);
        let shape = Shape::new(F::BITS, F::RING_BITS, placement.values);
        let difference = shape.core(Entry::fingerprint(slot.bits())).difference();
        // Bits 0 to L of a position name its bucket. This bucket tells them, but for bit L if it is not split: then
        // that is at the head of the ring, where a 0 stands otherwise.
        let head = slot.bits() >> ring.head & 1;
        let position = number as u64 | head << extent.level();
        if slot.bits() & ring.mask() == 1 << ring.head {
            // A void entry: bit L is not known. It has one other bucket, unless that is split already.
            let other = (number ^ difference as usize) & (extent.stride() - 1);
            return (!extent.is_split(other)).then_some(Bucket::at(placement, other));
        }
        Some(Bucket::at(placement, extent.bucket(position ^ difference)))
    }

    #[inline]
    fn has(bucket: Bucket<Self>, place: Place) -> bool {
        (place.position ^ bucket.number as u64) & ((1 << bucket.told_bits()) - 1) == 0
    }

    /// By another extent of the same level, slots of a bucket are read alike if the bucket tells as much.
    #[inline]
    fn read_alike(a: Bucket<Self>, b: Bucket<Self>) -> bool {
        let read = |by: Bucket<Self>| (by.number, by.level(), by.told_bits());
        read(a) == read(b)
    }

    #[inline]
    fn slot<F: Format>(bucket: Bucket<Self>, Place { position, entry }: Place) -> Option<Slot> {
        let known = entry.known();
        if known < bucket.told_bits() {
            return None;
        }
        let ring = bucket.ring::<F>();
        let beyond = (known - bucket.level()).min(ring.bits - 1);
        let turned = bucket.untold(position) & ((1 << beyond) - 1) | 1 << beyond;
        Some(Slot::new(u64::from(entry.bits()) | turned).turned_back(ring))
    }

    #[inline]
    fn place<F: Format>(bucket: Bucket<Self>, slot: Slot) -> Place {
        // Never 0: the default is for words that are read while they change.
        let beyond = bucket.beyond::<F>(slot);
        let known = beyond.checked_ilog2().unwrap_or(0);
        let untold = (beyond & !(1 << known)) << bucket.level();
        let core = slot.bits() & !bucket.ring::<F>().mask();
        Place {
            position: bucket.number as u64 ^ untold,
            entry: Entry::knowing(core, bucket.level() + known),
        }
    }

    fn is_valid<F: Format>(geometry: Geometry, bucket: Bucket<Self>, word: F) -> bool {
        let least = geometry.size.count_ones();
        word.slots_in_use().all(|slot| bucket.is_valid_slot::<F>(slot, least))
    }

    fn is_valid_entry(geometry: Geometry, place: Place) -> bool {
        let ring = (1 << geometry.shape.ring) - 1;
        let known = geometry.size.count_ones()..=u64::BITS;
        u64::from(place.entry.bits()) & ring == 0 && known.contains(&place.entry.known())
    }

    #[inline]
    fn either_agrees<F: Format>(read: Read<F, Bucket<Self>>, mask: Option<u64>) -> bool {
        F::either_matches(read.words, Bucket::sought(read, mask))
    }

    #[inline]
    fn values_matching<F: Format>(read: Read<F, Bucket<Self>>, mask: u64) -> MatchingValues {
        F::values_matching(read.words, Bucket::sought(read, Some(mask)))
    }

    /// An item that is itself an entry of which little is known has no entries of which more is.
    #[inline]
    fn longest<F: Format>(read: Read<F, Bucket<Self>>) -> [Option<Longest>; 2] {
        let level = read.buckets[0].level();
        let most = read.key.entry.known().saturating_sub(level);
        let longest = F::longest(read.words, Bucket::sought(read, None), most);
        both(longest, |found| found.map(|(slot, known)| Longest { slot, known: level + known }))
    }
}

/// Whether words of this number are in a part of their own that longer ones replace.
fn is_short(words: u64) -> bool {
    words < Chunks::PIECE_LEN as u64
}

/// How many buckets there should be memory for, when there is memory for `reached`, too little for `buckets`.
pub(super) fn next_reach(reached: u64, buckets: u64, max_buckets: u64) -> u64 {
    let piece = Chunks::PIECE_LEN as u64;
    let more = if is_short(reached) {
        let longer = LENGTHENING * reached;
        if 2 * longer <= piece { longer } else { piece }
    } else if reached / SLABS < SHORTEST_SLAB {
        0
    } else {
        reached + (reached / SLABS).min(LONGEST_SLAB)
    };
    max_buckets.min(buckets.max(more))
}

/// What so many stripes take with their versions, as values that are kept.
fn of_kept_control(stripes: usize, max_buckets: u64) -> u64 {
    let of_nodes = Kept::<Stripes>::NODE_BYTES + Kept::<Versions>::NODE_BYTES;
    Control::bytes_for(stripes, max_buckets) + of_nodes as u64
}

/// Of the level at which a table began, this much counts for what all entries know: enough to tell the groups of
/// versions apart. No more, since a merge doubles entries until they know it, and as long as no bucket tells them
/// apart, all of these are in the same two.
const COMMON_LEVEL: u32 = 5;

/// Mask of the lowest bits of a position that all entries know in a table that began with this number of buckets.
#[inline]
fn common_mask(initial: usize, ring: u32) -> u64 {
    (1 << (initial.ilog2().min(COMMON_LEVEL) + ring - 1)) - 1
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::RngExt;

    use super::super::Table;
    use super::*;
    use crate::layout::sizing::Sizing;
    use crate::layout::{Format, Packed};
    use crate::random::random;
    use crate::table::entry::{Pair, ValueBits};

    type Fp16x4 = Packed<16, 4>;

    /// Of values so long that a new entry knows no more than this number of bits beyond its bucket: the core is the
    /// shortest.
    fn value_bits(extra_bits: u32) -> u32 {
        let value_bits = Fp16x4::BITS - 5 - extra_bits;
        assert_eq!(Fp16x4::ID.properties().extra_bits(value_bits), extra_bits);
        value_bits
    }

    /// Of a maplet with values so long that rings have this number of bits.
    fn bucket_by(extent: Extent, number: usize, ring: u32) -> Bucket<Growing<ValueBits>> {
        let values = ValueBits::new(Fp16x4::ID.properties(), value_bits(ring - 1));
        Bucket::at(Placement { extent, values }, number)
    }

    /// All extents of tables with up to this number of buckets, both at the end of a level included.
    fn extents(buckets: usize, ring: u32) -> impl Iterator<Item = Extent> {
        let first = Extent::of(2, ring);
        core::iter::successors(Some(first), move |extent| {
            (extent.buckets() < buckets)
                .then(|| extent.next_level(ring).unwrap_or_else(|| extent.after(1)))
        })
    }

    /// All rings that a slot of the bucket can have, with the core 1.
    fn slots(bucket: Bucket<Growing<ValueBits>>) -> impl Iterator<Item = Slot> {
        let core = 1 << bucket.ring::<Fp16x4>().bits;
        let slots = (1..core).map(move |ring| Slot::new(core | ring));
        slots.filter(move |&slot| bucket.is_valid_slot::<Fp16x4>(slot, 0))
    }

    fn matches(bucket: Bucket<Growing<ValueBits>>, slot: Slot, position: u64) -> bool {
        let ring = bucket.ring::<Fp16x4>();
        let entry = Entry::knowing(1 << ring.bits, u64::BITS);
        let word = Fp16x4::EMPTY.with(slot).unwrap();
        let item = Place { position, entry };
        let copies = bucket.copies(word, item, None);
        assert_eq!(bucket.holds_key(word, item), copies == 1);
        copies == 1
    }

    /// Every slot of every bucket of tables up to 40 buckets: it is an entry of the items whose positions have what is
    /// known of its own, and of no others; and what it holds of this place is the slot.
    #[test]
    fn a_slot_and_its_bucket_tell_the_place() {
        for ring in 2..=5 {
            for extent in extents(40, ring) {
                assert_eq!(extent.head(), extent.level() % ring);
                for number in 0..extent.buckets() {
                    let bucket = bucket_by(extent, number, ring);
                    for slot in slots(bucket) {
                        let place = Growing::place::<Fp16x4>(bucket, slot);
                        let known = place.entry.known();
                        assert!((bucket.told_bits()..=extent.level() + ring - 1).contains(&known));
                        assert_eq!(extent.bucket(place.position), number);
                        assert_eq!(Growing::slot::<Fp16x4>(bucket, place), Some(slot));
                        for position in 0..1 << (extent.level() + ring + 1) {
                            let is_here = extent.bucket(position) == number;
                            assert_eq!(Growing::has(bucket, Place { position, ..place }), is_here);
                            if !is_here {
                                continue;
                            }
                            let is_known = (position ^ place.position) & ((1 << known) - 1) == 0;
                            assert_eq!(matches(bucket, slot, position), is_known);
                        }
                    }
                }
            }
        }
    }

    /// What a split makes of each slot: each item of the entry finds it in its bucket as before, in neither bucket does
    /// another one, and words are read alike by the two extents at the end of a level.
    #[test]
    fn a_split_loses_no_item() {
        for ring in 2..=5 {
            for extent in extents(40, ring).filter(|extent| extent.next_level(ring).is_none()) {
                let (old, new) = (extent.cursor(), extent.buckets());
                let before = bucket_by(extent, old, ring);
                let after = extent.after(1);
                for slot in slots(before) {
                    let parts = before.split::<Fp16x4>(slot);
                    let is_void =
                        Growing::place::<Fp16x4>(before, slot).entry.known() == extent.level();
                    assert_eq!(parts.iter().flatten().count(), if is_void { 2 } else { 1 });
                    let positions = 0..1 << (extent.level() + ring + 1);
                    for position in positions.filter(|&at| extent.bucket(at) == old) {
                        let found = matches(before, slot, position);
                        let at = usize::from(after.bucket(position) == new);
                        let bucket = bucket_by(after, [old, new][at], ring);
                        let held = parts[at].is_some_and(|part| matches(bucket, part, position));
                        assert_eq!(held, found, "{extent:?} {slot:?} {position}");
                        // What is not cleared yet.
                        let held = found && at == 0;
                        assert!(!held || matches(bucket_by(after, old, ring), slot, position));
                        if let (Some(next), Some(part)) = (after.next_level(ring), parts[at]) {
                            let next = bucket_by(next, bucket.number, ring);
                            assert_eq!(
                                Growing::place::<Fp16x4>(next, part),
                                Growing::place::<Fp16x4>(bucket, part)
                            );
                            assert!(
                                next.is_valid_slot::<Fp16x4>(part, 0)
                                    && bucket.is_valid_slot::<Fp16x4>(part, 0)
                            );
                        }
                    }
                }
            }
        }
    }

    /// Random operations on tables with short rings, in which most entries are void after some doublings: after each
    /// operation every item that is there is found, with its value; and their number is exact.
    fn every_item_is_found(seed: u64, extra_bits: u32, buckets: usize) {
        let mut random = random(seed);
        let value_bits = value_bits(extra_bits);
        let sizing = Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, 2, buckets as u64) };
        let table = Table::<Fp16x4, Growing<ValueBits>>::try_sized(sizing).unwrap();
        let growing = table.buckets.growing().unwrap();
        let mut live = VecDeque::new();
        let mut steps = 0;
        while table.present() < buckets {
            match random.random_range(0..10) {
                0..5 if live.len() < 40 => {
                    let value = random.random_range(0..1 << value_bits);
                    let pair = Pair { hash: random.random(), value };
                    if table.insert(table.key_of(pair)).is_ok() {
                        live.push_back(pair);
                    }
                }
                5..7 => {
                    if let Some(pair) = live.pop_front() {
                        assert!(table.remove(table.key_of(pair)), "{pair:?}");
                    }
                }
                7 if !live.is_empty() => {
                    let pair = live.remove(random.random_range(0..live.len())).unwrap();
                    assert!(table.remove(table.key_of(pair)), "{pair:?}");
                }
                _ => {
                    let most = random.random_range(1..=1 + table.present() / 3);
                    table.split_buckets(growing, &mut growing.splitting().lock(), most).unwrap();
                }
            }
            for &Pair { hash, value } in &live {
                let found = table.get(table.key(hash)).any(|candidate| candidate == value);
                assert!(found, "seed {seed}, T = {extra_bits}, step {steps}: {hash:x}");
            }
            assert_eq!(table.len(), live.len());
            steps += 1;
        }
    }

    #[test]
    fn every_item_is_found_after_many_doublings() {
        for extra_bits in 1..=3 {
            (0..60).for_each(|seed| every_item_is_found(seed, extra_bits, 1 << 10));
            every_item_is_found(100, extra_bits, 1 << 20);
        }
    }

    /// Two tables of any sizes, with short rings: what is merged is found, and what was there.
    #[test]
    fn what_is_merged_is_found() {
        let mut random = random(7);
        for round in 0..400 {
            let extra_bits = 1 + round % 3;
            let value_bits = value_bits(extra_bits);
            let mut table = |initial: u64| {
                let sizing =
                    Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, initial, 1 << 12) };
                let table = Table::<Fp16x4, Growing<ValueBits>>::try_sized(sizing).unwrap();
                let growing = table.buckets.growing().unwrap();
                let mut live = Vec::new();
                for _ in 0..random.random_range(0..6) {
                    for _ in 0..random.random_range(0..8) {
                        let value = random.random_range(0..1 << value_bits);
                        let pair = Pair { hash: random.random(), value };
                        if table.insert(table.key_of(pair)).is_ok() {
                            live.push(pair);
                        }
                    }
                    let most = random.random_range(1..=3 * table.present());
                    let most = most.min((1 << 12) - table.present());
                    table.split_buckets(growing, &mut growing.splitting().lock(), most).unwrap();
                }
                (table, live)
            };
            let (into, mut live) = table(2 + 2 * (u64::from(round) % 5));
            let (from, more) = table(2 + 2 * (u64::from(round) / 5 % 5));
            if into.merge(&from.image().unwrap(), 0).is_ok() {
                live.extend(more);
            }
            for Pair { hash, value } in &live {
                let found = into.get(into.key(*hash)).any(|candidate| candidate == *value);
                assert!(found, "round {round}");
            }
            assert_eq!(into.len(), live.len(), "round {round}");
            for &pair in &live {
                assert!(into.remove(into.key_of(pair)), "round {round}");
            }
        }
    }

    /// A table that has doubled D times has 1 + D times the rate of its first size, also where entries were doubled.
    #[test]
    fn each_doubling_adds_the_rate_of_the_first_size() {
        for (first, doublings) in [(1 << 10, 4), (64, 9), (16, 13), (2, 18)] {
            let sizing = Sizing::of_table(Fp16x4::ID, first as u64, u64::MAX >> 20);
            let table = Table::<Fp16x4, Growing>::try_sized(sizing).unwrap();
            let mut hashes = 0..;
            while table.present() < first << doublings {
                table.insert(table.key(hashes.next().unwrap())).unwrap();
            }
            // Some 1,500 of them are found.
            let absent = 8_000_000 / (1 + doublings as usize);
            let found = hashes.take(absent).filter(|&hash| table.contains(table.key(hash))).count();
            let rate = found as f64 / absent as f64;
            let load = table.len() as f64 / table.slots() as f64;
            let expected = 8.0 * load * 0.5_f64.powi(15) * f64::from(1 + doublings);
            assert!((rate / expected - 1.0).abs() < 0.1, "{doublings}: {rate}, {expected}");
            assert!(table.buckets.doubled() > 0 || doublings < Fp16x4::RING_BITS);
        }
    }

    /// Of the buckets of any size each is the bucket of about as many positions as any other.
    #[test]
    fn positions_fill_all_buckets() {
        let geometry = Geometry::new(u64::MAX, Shape::new(16, 9, NoValues));
        let extent = Extent::of(192, 10);
        let mut held = vec![0_u32; 256];
        for hash in 0..200_000 {
            for place in geometry.key(hash).places() {
                held[extent.bucket(place.position)] += 1;
            }
        }
        // Of 128 buckets 64 are split.
        for (bucket, &held) in held.iter().enumerate() {
            let due = match bucket {
                0..64 | 128..192 => 1562,
                64..128 => 3125,
                _ => 0,
            };
            assert!(held.abs_diff(due) <= due / 8, "bucket {bucket}: {held} of {due}");
        }
    }
}
