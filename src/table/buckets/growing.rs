//! The words of a growing table, the stripes and versions that guard them, and the extent of the table.
//!
//! **Invariant:** no extent is published before the words that it reaches are allocated.

use core::iter;

use crossbeam_utils::CachePadded;

use super::control::Control;
use super::stripes::Stripes;
use super::versions::Versions;
use crate::arch;
use crate::layout::{Encoding, Properties};
use crate::sizing::share;
use crate::sync::array::PieceArray;
use crate::sync::memory::{NoMemory, TryBox};
use crate::sync::retained::{Link, Retained};
use crate::sync::{AtomicU64, Ordering};
use crate::table::buckets::Buckets;
use crate::table::placing::entry::{NoValues, Shape, Values};
use crate::table::placing::geometry::{Geometry, Key};
use crate::table::placing::{Extent, GrowingPlacing, OUT_OF_CACHE_BUCKETS, Sizes, common_mask};

/// The number of buckets in a piece, as an exponent of 2: a piece has 8 KiB. (For 16 KiB, jemalloc takes 20.) One
/// bucket in models, so that a model's table gets pieces while it grows.
const PIECE_SHIFT: u32 = if cfg!(coucal_model) { 0 } else { 10 };

/// Words in pieces, which are allocated as growth reaches them and never move. Before the first piece is whole, a
/// longer array replaces the words.
pub(in crate::table) type Pieces = PieceArray<PIECE_SHIFT>;

/// A short array of words is replaced by one that is longer by this factor, or by a power of it if many buckets come at
/// once. If the new array would be longer than half a piece, it is a whole piece instead.
const LENGTHENING: u64 = 4;
/// The next slab has the words of the table, divided by this number. So a table with slabs of several pieces has about
/// a 64th more words than it needs, at most. A table of fewer than `SLABS * SHORTEST_SLAB` words gets one
/// piece at a time.
const SLABS: u64 = 64;
/// Words in the shortest slab of several pieces: 128 KiB. For a slab of this length, allocators get memory from the
/// system for this slab alone, and give it back when the slab is freed.
const SHORTEST_SLAB: u64 = 1 << 14;
/// Words in the longest slab that is added for growth: 32 MiB. glibc maps a slab of this length whatever was freed
/// before. The places of its pieces are written in some microseconds.
const LONGEST_SLAB: u64 = 1 << 22;

/// Buckets whose number can grow.
pub struct GrowingBuckets<V = NoValues> {
    /// The number of buckets at the end of growth.
    max_buckets: u64,
    /// The sizes with which the table was made.
    pub(in crate::table) sizes: Sizes,
    /// Bits of a ring.
    pub(in crate::table) ring: u32,
    /// Mask of the bits of a position that all entries know.
    common: u64,
    values: V,
    /// In a box, for the reason given at `shared` in `State`.
    pub(in crate::table) changing: TryBox<GrowthState>,
}

/// The data that growth changes.
pub(in crate::table) struct GrowthState {
    /// On a cache line of its own.
    pub(in crate::table) read: CachePadded<ReadByLookups>,
    /// The number of load checks that found the growth mutex taken since a thread last made up for such checks.
    missed: AtomicU64,
    /// The bits of an `f64`: see [`merged_weight`](GrowingBuckets::merged_weight).
    merged_weight: AtomicU64,
}

pub(in crate::table) struct ReadByLookups {
    extent: AtomicU64,
    pub(in crate::table) stripes: Retained<Stripes>,
    pub(in crate::table) versions: Retained<Versions>,
    /// A word is added before the extent that reaches it is published, so no thread reads a missing word.
    words: Pieces,
}

impl<V: Values> GrowingBuckets<V> {
    /// Returns the present extent.
    #[inline]
    pub(in crate::table) fn extent(&self) -> Extent {
        // SeqCst: pairs with the store in `publish`. A thread that reads an old extent comes before all inserts by a
        // newer one. As an Acquire load it makes the copies of the splits visible.
        Extent::from_bits(self.changing.read.extent.load(Ordering::SeqCst))
    }

    #[inline]
    pub(in crate::table) fn pieces(&self) -> &Pieces {
        &self.changing.read.words
    }

    /// Returns the placement by this extent.
    #[inline]
    pub(in crate::table) fn placement_by(&self, extent: Extent) -> GrowingPlacing<V> {
        GrowingPlacing { extent, values: self.values }
    }

    /// Returns the load that growth keeps.
    pub(in crate::table) fn target_load(&self) -> f64 {
        share(self.sizes.target_load)
    }

    /// Publishes this extent, whose words are stored: lookups and writers see its buckets from now on.
    pub(in crate::table) fn publish(&self, extent: Extent) {
        // SeqCst: pairs with the load in `extent`, for which it publishes the words.
        self.changing.read.extent.store(extent.bits(), Ordering::SeqCst);
    }

    /// Counts a load check that was in vain, because another thread holds the growth mutex.
    pub(in crate::table) fn miss(&self) {
        // Relaxed, here and below: a number that orders nothing.
        self.changing.missed.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the weight that merges have added: the difference between the weight of all entries and the weight that
    /// they would have if inserts had stored them. (`weight` in [`crate::sizing`] says how much an entry weighs.)
    pub(in crate::table) fn merged_weight(&self) -> f64 {
        // Relaxed, here and below: a number that orders nothing.
        f64::from_bits(self.changing.merged_weight.load(Ordering::Relaxed))
    }

    /// Sets the merged weight. The caller holds the removal mutex.
    pub(in crate::table) fn set_merged_weight(&self, weight: f64) {
        self.changing.merged_weight.store(weight.to_bits(), Ordering::Relaxed);
    }

    /// Returns the number of load checks that were in vain since the last call. A check that is counted during the call
    /// may be lost.
    pub(in crate::table) fn take_missed(&self) -> usize {
        let missed = self.changing.missed.load(Ordering::Relaxed);
        if missed > 0 {
            self.changing.missed.store(0, Ordering::Relaxed);
        }
        missed as usize
    }
}

impl<V: Values> Buckets for GrowingBuckets<V> {
    type Values = V;
    type Placing = GrowingPlacing<V>;

    fn try_new(
        sizes: Sizes,
        max_buckets: u64,
        layout: &Properties,
        values: V,
    ) -> Result<Self, NoMemory> {
        // A copy of a small table gets as many words as growth gives a table of this size. So growth goes on alike.
        let [initial, buckets] = [sizes.initial, sizes.buckets].map(|buckets| buckets as u64);
        let grew_short = is_short(initial) && initial < buckets;
        let reach = if grew_short { next_reach(initial, buckets, max_buckets) } else { buckets };
        let control = Control::try_new(stripes_with(reach, max_buckets), max_buckets)?;
        let words = Pieces::new();
        words.try_reach(reach as usize)?;
        let ring = layout.ring_bits(values.bits());
        let changing = TryBox::try_new(GrowthState {
            read: CachePadded::new(ReadByLookups {
                extent: AtomicU64::new(Extent::of(sizes.buckets, ring).bits()),
                stripes: Retained::new(Link::try_new(control.stripes)?),
                versions: Retained::new(Link::try_new(control.versions)?),
                words,
            }),
            missed: AtomicU64::new(0),
            merged_weight: AtomicU64::new(0),
        })?;
        Ok(Self {
            max_buckets,
            sizes,
            ring,
            common: common_mask(sizes.initial, ring),
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
    fn geometry<F: Encoding>(&self) -> Geometry {
        Geometry::new(self.common, Shape::new(F::BITS, F::RING_BITS, self.values))
    }

    #[inline]
    fn placement(&self) -> GrowingPlacing<V> {
        self.placement_by(self.extent())
    }

    fn max_buckets(&self) -> u64 {
        self.max_buckets
    }

    #[inline]
    fn words<'a>(&'a self) -> impl Fn(usize) -> &'a AtomicU64 + Copy {
        let words = self.pieces().view();
        move |bucket| words.word(bucket)
    }

    #[inline]
    fn words_at<const N: usize>(&self, buckets: [usize; N]) -> [&AtomicU64; N] {
        self.pieces().view().words(buckets)
    }

    /// Requests nothing in small tables: finding the buckets twice would cost more than it gains.
    #[inline]
    fn prefetch(&self, key: Key) {
        let extent = self.extent();
        if extent.buckets() < OUT_OF_CACHE_BUCKETS {
            return;
        }
        let words = self.pieces().view();
        for position in [key.first, key.second] {
            let bucket = extent.bucket(position);
            // Always true. A check that cannot panic leaves a batch more registers.
            if bucket < words.len() {
                arch::prefetch(words.word(bucket));
            }
        }
    }

    #[inline]
    fn count(&self, placement: GrowingPlacing<V>) -> usize {
        placement.extent.buckets()
    }

    fn reached(&self) -> usize {
        self.pieces().len()
    }

    fn heap_bytes(&self) -> usize {
        let read = &self.changing.read;
        read.words.heap_bytes()
            + read.stripes.heap_bytes(|stripes| Stripes::bytes_for(stripes.len()) as usize)
            + read.versions.heap_bytes(|versions| Versions::bytes_for(versions.len()) as usize)
            + size_of_val(&*self.changing)
    }

    fn bytes_for(initial: u64, buckets: u64, max_buckets: u64) -> u64 {
        // Follows growth step by step.
        let mut reached = Pieces::len_for(initial);
        let (mut words, mut slabs) = (reached, 1);
        let mut stripes = stripes_with(initial, max_buckets);
        let mut of_control = of_kept_control(stripes, max_buckets);
        while reached < buckets {
            // From here on all slabs are of one length.
            let far = reached / SLABS >= LONGEST_SLAB;
            let missing = if far { (buckets - reached).next_multiple_of(LONGEST_SLAB) } else { 1 };
            let next = next_reach(reached, reached + missing, max_buckets);
            let next_stripes = stripes_with(next, max_buckets);
            if is_short(reached) || next_stripes > stripes {
                stripes = next_stripes;
                of_control += of_kept_control(stripes, max_buckets);
            }
            // Short words that are replaced stay allocated.
            let kept = if is_short(reached) { 0 } else { reached };
            reached = Pieces::len_for(next);
            words += reached - kept;
            slabs += missing.div_ceil(LONGEST_SLAB);
        }
        let of_words = words.saturating_mul(8).saturating_add(Pieces::bytes_beside(reached, slabs));
        of_words.saturating_add(of_control + size_of::<GrowthState>() as u64)
    }

    fn begun(&self) -> Sizes {
        self.sizes
    }

    fn full(&self, full: f64) -> f64 {
        let extent = self.extent();
        let even = extent.cursor() == 0 && extent.buckets() as u64 == self.max_buckets();
        if even { full } else { self.full_load() }
    }

    fn common_bits(&self) -> u32 {
        self.common.count_ones()
    }

    fn known_bits(&self) -> u32 {
        self.extent().level() + self.ring - 1
    }

    fn is_short(&self) -> bool {
        self.pieces().is_short()
    }

    #[inline]
    fn growing(&self) -> Option<&GrowingBuckets<V>> {
        Some(self)
    }
}

/// Returns whether this number of words is a short array, which longer words replace.
fn is_short(words: u64) -> bool {
    words < Pieces::PIECE_LEN as u64
}

/// Returns the number of buckets to allocate words for, when `reached` buckets have words and `buckets` buckets need
/// them.
pub(in crate::table) fn next_reach(reached: u64, buckets: u64, max_buckets: u64) -> u64 {
    let piece = Pieces::PIECE_LEN as u64;
    let more = if is_short(reached) {
        // A table that gets many buckets at once has one of the lengths of a table that gets them one by one.
        let lengths =
            iter::successors(Some(LENGTHENING * reached), |&words| Some(LENGTHENING * words));
        let mut short = lengths.take_while(|words| 2 * words <= piece);
        short.find(|&words| words >= buckets).unwrap_or(piece)
    } else if reached / SLABS < SHORTEST_SLAB {
        0
    } else {
        reached + (reached / SLABS).min(LONGEST_SLAB)
    };
    max_buckets.min(buckets.max(more))
}

/// Returns the number of stripes of a table with memory for `buckets` buckets: it has memory for whole pieces.
pub(in crate::table) fn stripes_with(buckets: u64, max_buckets: u64) -> usize {
    Control::stripes(Pieces::len_for(buckets), max_buckets)
}

/// Returns the bytes of `stripes` stripes and their versions, as retained values.
fn of_kept_control(stripes: usize, max_buckets: u64) -> u64 {
    let of_nodes = Retained::<Stripes>::LINK_BYTES + Retained::<Versions>::LINK_BYTES;
    Control::bytes_for(stripes, max_buckets) + of_nodes as u64
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use rand::RngExt;

    use super::*;
    use crate::layout::{Encoding, Packed};
    use crate::random::random;
    use crate::sizing::Sizing;
    use crate::table::Table;
    use crate::table::placing::entry::{Pair, ValueBits};

    type Fp16x4 = Packed<16, 4>;

    /// Returns the number of value bits with which a new entry knows `extra_bits` bits beyond its bucket, and no more:
    /// the core is the shortest.
    fn value_bits(extra_bits: u32) -> u32 {
        let value_bits = Fp16x4::BITS - 5 - extra_bits;
        assert_eq!(Fp16x4::ID.properties().extra_bits(value_bits), extra_bits);
        value_bits
    }

    /// Random operations on tables with short rings, in which most entries are void after some doublings. After each
    /// operation, every item of the table is found, with its value, and the number of items is exact.
    fn every_item_is_found(seed: u64, extra_bits: u32, buckets: usize) {
        let mut random = random(seed);
        let value_bits = value_bits(extra_bits);
        let sizing = Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, 2, buckets as u64) };
        let table = Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
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
                    table.split_buckets(&mut table.shared.doubled.lock(), most).unwrap();
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

    /// The memory that is stated for a number of buckets is what a table takes that has grown to it, split by split,
    /// except that the most is stated for what is beside the words.
    #[test]
    fn growth_takes_as_many_bytes_as_are_stated() {
        for (initial, most) in [(2, 1 << 16), (16, 3000), (100, 1 << 13), (6000, 30_000)] {
            let sizing = Sizing::of_table(Fp16x4::ID, initial, most);
            let table = Table::<Fp16x4, GrowingBuckets>::try_sized(sizing).unwrap();
            let (mut reached, mut slabs) = (0, 0);
            while table.present() < most as usize {
                slabs += u64::from(table.buckets.reached() > reached);
                reached = table.buckets.reached();
                let present = table.present() as u64;
                let stated = GrowingBuckets::<NoValues>::bytes_for(initial, present, most);
                let least = stated - Pieces::bytes_beside(reached as u64, slabs);
                let taken = table.buckets.heap_bytes() as u64;
                assert!((least..=stated).contains(&taken), "{present}: {taken} of {stated}");
                table.split_buckets(&mut table.shared.doubled.lock(), 1).unwrap();
            }
            assert!(slabs > 4, "{slabs}");
        }
    }

    /// Two tables of any sizes, with short rings: after a merge, the items of both are found.
    #[test]
    fn merged_pairs_are_found() {
        let (mut random, mut merged) = (random(7), 0);
        for round in 0..400 {
            let extra_bits = 1 + round % 3;
            let value_bits = value_bits(extra_bits);
            let mut table = |initial: u64| {
                let sizing =
                    Sizing { value_bits, ..Sizing::of_table(Fp16x4::ID, initial, 1 << 12) };
                let table = Table::<Fp16x4, GrowingBuckets<ValueBits>>::try_sized(sizing).unwrap();
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
                    table.split_buckets(&mut table.shared.doubled.lock(), most).unwrap();
                }
                (table, live)
            };
            let (into, mut live) = table(2 + 2 * (u64::from(round) % 5));
            let (from, more) = table(2 + 2 * (u64::from(round) / 5 % 5));
            if into.merge(&from.image().unwrap(), 0).is_ok() {
                merged += 1;
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
        println!("{merged} of 400 merges");
        assert!(merged > 300, "{merged}");
    }

    /// A table that has doubled D times has 1 + D times the false-positive rate of its first size, also if entries were
    /// doubled.
    #[test]
    fn each_doubling_adds_the_rate_of_the_first_size() {
        for (first, doublings) in [(1 << 10, 4), (64, 9), (16, 13), (2, 18)] {
            let sizing = Sizing::of_table(Fp16x4::ID, first as u64, u64::MAX >> 20);
            let table = Table::<Fp16x4, GrowingBuckets>::try_sized(sizing).unwrap();
            let mut hashes = 0..;
            while table.present() < first << doublings {
                table.insert(table.key(hashes.next().unwrap())).unwrap();
            }
            // Some 1,500 of the absent items are found.
            let absent = 8_000_000 / (1 + doublings as usize);
            let found = hashes.take(absent).filter(|&hash| table.contains(table.key(hash))).count();
            let rate = found as f64 / absent as f64;
            let load = table.len() as f64 / table.slots() as f64;
            let expected = 8.0 * load * 0.5_f64.powi(15) * f64::from(1 + doublings);
            assert!((rate / expected - 1.0).abs() < 0.1, "{doublings}: {rate}, {expected}");
            assert!(table.shared.doubled.all().entries > 0 || doublings < Fp16x4::RING_BITS);
        }
    }
}
