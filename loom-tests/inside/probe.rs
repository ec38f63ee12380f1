//! The view that models have of a table: functions that users do not have. Under `--cfg coucal_model` it is a module of
//! `coucal`, below `table`, so it can use the private items there.

// Models report failure by a panic.
#![allow(clippy::missing_panics_doc)]

use core::marker::PhantomData;
use core::time::Duration;

use super::buckets::control::Control;
use super::buckets::stripes::stripes_of;
use super::placing::entry::{Entry, NoValues, SPARE_SOURCE_BITS, Shape, ValueBits, Values};
use super::whole::generations::{Clock, Generations, Stamping};
use super::{Buckets, Geometry, Key, Place, Stashed, State, Table};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::expiring::ExpiringFilter;
use crate::kinds::expiring::timer::Timer;
use crate::kinds::filter::Filter;
use crate::kinds::maplet;
use crate::layout::{Encoding, Layout, Slot};
use crate::sizing::{self, Sizing};
use crate::storage::operations::Inner;
use crate::storage::{Fixed, Growable, GrowingLayout, Storage};
use crate::sync::Ordering;
pub use crate::sync::array::PieceArray;
pub use crate::sync::lock::Lock;
pub use crate::sync::machine::{
    Step, after_each_step, set_cells_of_two_words, set_seq_cst_is_exact,
};
use crate::sync::machine::{moving, try_zeroed};
use crate::sync::retained::Link;
use crate::table::prefix;

/// The type by which a model names a storage: a layout for one of fixed size, or [`Growable`].
pub trait IntoStorage: Sized + 'static {
    /// The storage.
    type Storage: Storage;
}

impl<L: Layout> IntoStorage for L {
    type Storage = Fixed<L>;
}

impl<L: GrowingLayout> IntoStorage for Growable<L> {
    type Storage = Self;
}

/// The subject of a model: the filter of a storage, or a [`Maplet`].
pub trait Subject: Sized + 'static {
    /// Its storage.
    type Storage: Storage;
    /// The values in its slots.
    type Values: Values;
    /// Its public type.
    type Shared: Send + Sync + 'static;

    /// Bits of a value; 0 in a filter.
    const VALUE_BITS: u32;
    /// Slots of a bucket.
    const SLOTS: usize = <EncodingOf<Self>>::SLOTS;

    #[doc(hidden)]
    fn from_inner(inner: InnerOf<Self>) -> Self::Shared;

    #[doc(hidden)]
    fn inner(shared: &Self::Shared) -> &InnerOf<Self>;
}

type EncodingOf<M> = crate::storage::operations::EncodingOf<<M as Subject>::Storage>;
type BucketsOf<M> = <<M as Subject>::Storage as Storage>::Buckets<<M as Subject>::Values>;
type InnerOf<M> = Inner<<M as Subject>::Storage, <M as Subject>::Values, DefaultHashBuilder>;

impl<L: IntoStorage> Subject for L {
    type Storage = L::Storage;
    type Values = NoValues;
    type Shared = Filter<L::Storage>;

    const VALUE_BITS: u32 = 0;

    fn from_inner(inner: InnerOf<Self>) -> Self::Shared {
        Filter { inner }
    }

    fn inner(filter: &Self::Shared) -> &InnerOf<Self> {
        &filter.inner
    }
}

/// The maplet of a storage, with values of two bits; or a [`ShortRing`].
pub struct Maplet<L, const SHORT_RING: bool = false>(PhantomData<L>);

/// A growing table whose entries know one bit more than their buckets tell: so one level later they are void. The
/// values of a maplet take all bits except those and a core of four; all items of a model have the same core.
pub type ShortRing<L> = Maplet<L, true>;

impl<L: IntoStorage, const SHORT_RING: bool> Subject for Maplet<L, SHORT_RING> {
    type Storage = L::Storage;
    type Values = ValueBits;
    type Shared = maplet::Maplet<L::Storage>;

    const VALUE_BITS: u32 = if SHORT_RING { <EncodingOf<Self>>::BITS - 6 } else { 2 };

    fn from_inner(inner: InnerOf<Self>) -> Self::Shared {
        maplet::Maplet { inner }
    }

    fn inner(maplet: &Self::Shared) -> &InnerOf<Self> {
        &maplet.inner
    }
}

/// The expiring filter of a storage, with stamps of two bits. A generation ends after `ITEMS` new items; with 0, by the
/// time of the model.
pub struct Expiring<L, const ITEMS: usize = 0>(PhantomData<L>);

impl<L: IntoStorage, const ITEMS: usize> Subject for Expiring<L, ITEMS> {
    type Storage = L::Storage;
    type Values = ValueBits;
    type Shared = ExpiringFilter<L::Storage>;

    const VALUE_BITS: u32 = 2;

    fn from_inner(inner: InnerOf<Self>) -> Self::Shared {
        let mut filter = ExpiringFilter::from_inner(inner);
        if ITEMS > 0 {
            filter.set_every_items(ITEMS).expect("one or more");
            return filter;
        }
        let now = || Duration::from_nanos(time());
        let timer = Timer::new(Duration::from_nanos(PERIOD), Duration::ZERO, now);
        filter.timer = Some(timer.expect("a period"));
        filter
    }

    fn inner(filter: &Self::Shared) -> &InnerOf<Self> {
        &filter.inner
    }
}

/// The length of a generation in a model with time.
pub const PERIOD: u64 = 10;

loom::lazy_static! {
    /// The time of an execution.
    static ref TIME: loom::sync::atomic::AtomicU64 = loom::sync::atomic::AtomicU64::new(0);
}

/// Returns the time of a model. It goes back for no thread, nor from one thread to another that knows what the first
/// one did. Other threads may see an earlier time, as if they had stopped since they looked.
#[must_use]
pub fn time() -> u64 {
    // Relaxed: a look at a clock orders nothing.
    TIME.load(Ordering::Relaxed)
}

/// Lets time pass until at least this time.
pub fn pass_until(time: u64) {
    // Relaxed: that time passes orders nothing.
    TIME.fetch_max(time, Ordering::Relaxed);
}

/// Returns the state of a filter or a maplet.
fn state<M: Subject>(shared: &M::Shared) -> &State<BucketsOf<M>> {
    &M::inner(shared).state
}

/// Returns its table.
fn table<M: Subject>(shared: &M::Shared) -> Table<'_, EncodingOf<M>, BucketsOf<M>> {
    Table::new(state::<M>(shared))
}

/// The maximum number of version groups of a small table.
const MAX_GROUPS: usize = 8;

/// The number of the lowest bits of its positions that a [`Home`] gives: more than any entry of a small table knows.
const SAID_BITS: u32 = 40;

/// Where an item lives in a table that began with some number of buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// The number of buckets that the table began with.
    pub began_with: usize,
    /// Its fingerprint, or in a growing table its core.
    pub core: u64,
    /// The position of the bucket that lookups read first: in a table of fixed size, the bucket.
    pub first: usize,
    /// The other position.
    pub second: usize,
    /// Its value: 0 in a filter.
    pub value: u32,
}

impl Home {
    /// Returns the item with this core, this first position and the maximum value; `None` if there are no more such
    /// cores.
    #[must_use]
    pub fn new<M: Subject>(began_with: usize, first: usize, core: u64) -> Option<Self> {
        if core > shape::<M>().cores() {
            return None;
        }
        let value = (1 << M::VALUE_BITS) - 1;
        let home = Self { began_with, core, first, second: 0, value };
        let entry = home.entry::<M>(SAID_BITS);
        let second = geometry::<M>(began_with).alternate(first as u64, entry) as usize;
        Some(Self { second, ..home })
    }

    /// Returns the same item with its positions exchanged.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { first: self.second, second: self.first, ..self }
    }

    /// Returns the same item, except for these bits of its positions.
    #[must_use]
    pub fn differing_in(self, bits: usize) -> Self {
        Self { first: self.first ^ bits, second: self.second ^ bits, ..self }
    }

    /// Returns the number of its version group in a small table that has at most this number of buckets.
    #[must_use]
    pub fn group<M: Subject>(self, max_buckets: usize) -> usize {
        let geometry = geometry::<M>(self.began_with);
        let [place, _] = self.places::<M>(SAID_BITS);
        geometry.version_group(geometry.key_of(place)) % max_buckets.min(MAX_GROUPS)
    }

    /// Returns its buckets in a table that has grown to this number of buckets.
    #[must_use]
    pub fn buckets<M: Subject>(self, buckets: usize) -> [usize; 2] {
        let positions = [self.first, self.second];
        if !<BucketsOf<M>>::GROWS {
            return positions;
        }
        positions.map(|position| {
            let split = position % (2 << buckets.ilog2());
            if split < buckets { split } else { position % (1 << buckets.ilog2()) }
        })
    }

    /// Returns a hash of the item.
    #[must_use]
    pub fn hash<M: Subject>(self) -> u64 {
        let geometry = geometry::<M>(self.began_with);
        let entry = Self { value: 0, ..self }.entry::<M>(SAID_BITS);
        let is_its = |&hash: &u64| geometry.key(hash).entry.bits() == entry.bits();
        if <BucketsOf<M>>::GROWS {
            // The hash is the position. Bits that no bucket uses decide about the core.
            let mut hashes = (0..1 << (u64::BITS - SAID_BITS)).map(|n: u64| n << SAID_BITS);
            return hashes
                .find_map(|above| Some(above | self.first as u64).filter(is_its))
                .expect("a hash");
        }
        let start = ((self.first as u128) << 64).div_ceil(self.began_with as u128) as u64;
        // Above all bits except those of the bucket.
        let cores = shape::<M>().cores();
        let (fixed, next) = if M::VALUE_BITS > 0 {
            let source_bits = shape::<M>().core_bits() + SPARE_SOURCE_BITS;
            (((self.core - 1) << source_bits).div_ceil(cores), source_bits)
        } else {
            (self.core, shape::<M>().core_bits())
        };
        let above = start.next_multiple_of(1 << next);
        let mut hashes = (0..).map(|n: u64| above + (n << next) + fixed);
        let is_there = |hash: &u64| geometry.key(*hash).first == self.first as u64 && is_its(hash);
        hashes.find(is_there).expect("a hash")
    }

    /// Returns an entry of the item that knows this number of bits of its position.
    fn entry<M: Subject>(self, known: u32) -> Entry {
        let entry = if <BucketsOf<M>>::GROWS {
            Entry::knowing(self.core << ring::<M>(), known)
        } else {
            Entry::fingerprint(self.core)
        };
        shape::<M>().with_value(entry, self.value)
    }

    fn places<M: Subject>(self, known: u32) -> [Place; 2] {
        let entry = self.entry::<M>(known);
        [self.first, self.second].map(|position| Place { position: position as u64, entry })
    }

    /// Returns whether a slot of this bucket holds an entry of the item, in a table that has grown to this number of
    /// buckets. Computed by the documentation of growing tables, and not as lookups do it.
    #[must_use]
    pub fn is_in<M: Subject>(self, buckets: usize, bucket: usize, slot: u64) -> bool {
        let Some(at) = self.buckets::<M>(buckets).iter().position(|&its| its == bucket) else {
            return false;
        };
        if !<BucketsOf<M>>::GROWS {
            return slot == u64::from(self.entry::<M>(SAID_BITS).bits());
        }
        let (ring, level) = (ring::<M>(), buckets.ilog2());
        let of_bit = |bit: u32| slot >> (bit % ring) & 1;
        // The last 1 from the head on ends the known bits.
        let Some(known) = (level..level + ring).rev().find(|&bit| of_bit(bit) == 1) else {
            return false;
        };
        let position = [self.first, self.second][at] as u64;
        let agrees = |bit: u32| of_bit(bit) == position >> bit & 1;
        let is_split = bucket < buckets - (1 << level) || bucket >= 1 << level;
        slot >> ring == u64::from(self.entry::<M>(known).bits()) >> ring
            && (level..known).all(|bit| {
                // In a bucket that tells this bit, it is stored as 0.
                if bit == level && is_split { of_bit(bit) == 0 } else { agrees(bit) }
            })
    }
}

/// Returns how many of the lowest bits of its position every entry of a growing table knows.
#[must_use]
pub fn common_bits<M: Subject>(began_with: usize) -> u32 {
    if <BucketsOf<M>>::GROWS { began_with.ilog2() + ring::<M>() - 1 } else { 0 }
}

/// Returns the number of bits of the ring of a slot in a growing table.
fn ring<M: Subject>() -> u32 {
    <EncodingOf<M>>::ID.properties().ring_bits(M::VALUE_BITS)
}

fn shape<M: Subject>() -> Shape {
    // The same for any size.
    geometry::<M>(2).shape
}

fn geometry<M: Subject>(began_with: usize) -> Geometry {
    let values = M::Values::new(<EncodingOf<M>>::ID.properties(), M::VALUE_BITS);
    let (size, ring) = if <BucketsOf<M>>::GROWS {
        ((1 << common_bits::<M>(began_with)) - 1, ring::<M>())
    } else {
        (began_with as u64, 0)
    };
    Geometry::new(size, Shape::new(<EncodingOf<M>>::BITS, ring, values))
}

/// Makes an empty filter, or maplet, that begins with this number of buckets, and has at most `max_buckets`: also small
/// tables that no capacity leads to. It has generations if their number is not 0.
#[must_use]
pub fn empty<M: Subject>(began_with: usize, max_buckets: usize, generations: u32) -> M::Shared {
    let layout = <EncodingOf<M>>::ID;
    let growth = layout.properties().growth;
    let sizing = Sizing {
        layout,
        initial: began_with as u64,
        buckets: max_buckets as u64,
        target_load: growth.map_or(0, |growth| sizing::thousandths(growth.target_load)),
        value_bits: M::VALUE_BITS,
        max_capacity: 0,
    };
    let state = State::try_new(sizing).expect("a small table");
    store_zeros(&state);
    let state = state.with_generations(Generations { count: generations, clock: Clock::default() });
    let hasher = DefaultHashBuilder::default();
    M::from_inner(Inner { state, hasher, capacity: 0, max_capacity: 0 })
}

/// Stores each word, each version, and the extent. The published loom keeps a `SeqCst` load from reading an old value
/// only if that value was stored `SeqCst`, and an initial value was not stored at all.
fn store_zeros<B: Buckets>(state: &State<B>) {
    let words = (0..state.buckets.reached()).map(state.buckets.words());
    words.chain(&*state.versions().groups).for_each(|word| word.store(0, Ordering::SeqCst));
    if let Some(growing) = state.buckets.growing() {
        growing.publish(growing.extent());
    }
}

/// All bits that a slot can know of a position.
pub const ALL: u32 = SAID_BITS;

/// Stores an entry of the item in a bucket, as inserts and kicks could have done. In a growing table the entry knows
/// this number of the lowest bits of its position, or all that a slot can know if that is less. Returns `false` if the
/// bucket is full.
#[must_use]
pub fn put<M: Subject>(shared: &M::Shared, bucket: usize, home: Home, known: u32) -> bool {
    let buckets = home.buckets::<M>(slots::<M>(shared) / M::SLOTS);
    let at = buckets.iter().position(|&its| its == bucket).expect("a bucket of the item");
    let (table, place) = (table::<M>(shared), home.places::<M>(known)[at]);
    let (locked, [bucket]) = table.lock([place], table.locate([place]));
    table.store_in(&locked, bucket, place)
}

/// Returns the key of the item with this hash, and its value.
fn key<M: Subject>(hash: u64, home: Home) -> Key {
    let key = geometry::<M>(home.began_with).key(hash);
    Key { entry: shape::<M>().with_value(key.entry, home.value), ..key }
}

/// Puts a copy of the item, which has this hash, into the stash, however full the table is.
pub fn stash<M: Subject>(shared: &M::Shared, hash: u64, home: Home) {
    let [place, other] = key::<M>(hash, home).places();
    let place = if place.position % 2 == 0 { place } else { other };
    let words = Stashed { place, copies: 1 }.words();
    table::<M>(shared).restore_stash(&[words]).expect("memory for a model");
}

/// Gives the stash, which holds this item, another number of lines, however many it needs.
pub fn resize_stash<M: Subject>(shared: &M::Shared, hash: u64, home: Home, lines: usize) {
    let mut cells = table::<M>(shared).lock_cells(key::<M>(hash, home));
    cells.resize(lines).expect("memory for a model");
}

/// Stores one more copy of the item, which has this hash.
///
/// # Errors
///
/// The error of the insert.
pub fn insert<M: Subject>(shared: &M::Shared, hash: u64, home: Home) -> Result<(), Error> {
    Ok(table::<M>(shared).insert(key::<M>(hash, home))?)
}

/// Stores one copy of the item unless it is there; in a maplet, unless its key is. Returns `Ok(false)` if it was.
///
/// # Errors
///
/// The error of the insert.
pub fn insert_if_absent<M: Subject>(
    shared: &M::Shared,
    hash: u64,
    home: Home,
) -> Result<bool, Error> {
    Ok(table::<M>(shared).insert_if_absent(key::<M>(hash, home))?)
}

/// Stores the item, unless it is there; in a maplet, with its value.
///
/// # Errors
///
/// As `insert`.
pub fn insert_pair_if_absent<M: Subject>(
    shared: &M::Shared,
    hash: u64,
    home: Home,
) -> Result<bool, Error> {
    Ok(table::<M>(shared).insert_pair_if_absent(key::<M>(hash, home))?)
}

/// Returns whether the item is there; in a maplet, with its value.
pub fn contains_pair<M: Subject>(shared: &M::Shared, hash: u64, home: Home) -> bool {
    table::<M>(shared).contains_pair(key::<M>(hash, home))
}

/// Removes one copy of the item. Returns whether there was one.
pub fn remove<M: Subject>(shared: &M::Shared, hash: u64, home: Home) -> bool {
    table::<M>(shared).remove(key::<M>(hash, home))
}

/// Returns whether the item with this hash is there; in a maplet, its key.
pub fn contains<M: Subject>(shared: &M::Shared, hash: u64) -> bool {
    M::inner(shared).contains(hash)
}

/// Empties the table.
pub fn clear<M: Subject>(shared: &M::Shared) {
    state::<M>(shared).clear();
}

/// Returns the number of copies of the item, which has this hash.
pub fn copies<M: Subject>(shared: &M::Shared, hash: u64, home: Home) -> usize {
    table::<M>(shared).count(key::<M>(hash, home))
}

/// Returns the number of entries in the stash.
pub fn stashed<M: Subject>(shared: &M::Shared) -> usize {
    state::<M>(shared).stashed_entries()
}

/// Returns the number of items: slots in use, except those that splits have doubled, and copies in the stash.
pub fn len<M: Subject>(shared: &M::Shared) -> usize {
    state::<M>(shared).len()
}

/// Returns the number of slots.
pub fn slots<M: Subject>(shared: &M::Shared) -> usize {
    state::<M>(shared).slots()
}

/// Returns the number of lookups that gave up without a certain answer.
pub fn inconclusive<M: Subject>(shared: &M::Shared) -> usize {
    state::<M>(shared).inconclusive() as usize
}

/// Splits up to `most` buckets; neighbours are split at once. Returns how many were split.
pub fn split<M: Subject>(shared: &M::Shared, most: usize) -> usize {
    let table = table::<M>(shared);
    let mut splitting = table.shared.doubled.lock();
    let split = moving(Ordering::Release, || table.split(&mut splitting, most));
    split.expect("memory for a model")
}

/// Gives a growing table this number of stripes and of versions, before anything is stored in it.
pub fn narrow<M: Subject>(shared: &M::Shared, stripes: usize) {
    let table = table::<M>(shared);
    let growing = table.buckets.growing().expect("a table that grows");
    let control = Control::try_new(stripes, table.max_buckets()).expect("memory for a model");
    // The published loom lets a `SeqCst` load read a store that is not `SeqCst`, whatever was stored since. So the
    // directory that threads find is stored in the same way as the one that replaces it.
    let words = growing.pieces().try_longer(table.buckets.reached()).expect("memory for a model");
    growing.pieces().lengthen(words);
    let read = &growing.changing.read;
    read.versions.replace(Link::try_new(control.versions).expect("memory for a model"));
    read.stripes.replace(Link::try_new(control.stripes).expect("memory for a model"));
    store_zeros(table.state);
}

/// Gives the table as many stripes and versions as it may have, and moves its words; not beside a snapshot.
pub fn widen<M: Subject>(shared: &M::Shared) {
    let table = table::<M>(shared);
    let growing = table.buckets.growing().expect("a table that grows");
    let _splitting = table.shared.doubled.lock();
    let (stripes, words) = (stripes_of(table.max_buckets()), table.buckets.reached());
    let widened = moving(Ordering::Relaxed, || table.try_widen(growing, stripes, Some(words)));
    widened.expect("memory for a model");
}

/// Operations of a table of generations.
impl<L: IntoStorage, const SHORT_RING: bool> Maplet<L, SHORT_RING> {
    /// Gives the item with this hash the present stamp: always, or only if it is not there. Returns whether it was not.
    pub fn stamp(shared: &maplet::Maplet<L::Storage>, hash: u64, is_always: bool) -> bool {
        let table = table::<Self>(shared);
        let stamping = if is_always { Stamping::Always } else { Stamping::IfAbsent };
        table.insert_with(table.key(hash), stamping).expect("room")
    }

    /// Returns how many generations ago the item with this hash got its stamp.
    pub fn age(shared: &maplet::Maplet<L::Storage>, hash: u64) -> Option<u32> {
        let table = table::<Self>(shared);
        table.age(table.key(hash))
    }

    /// Ends this number of generations. Returns the number of removed entries.
    pub fn advance_by(shared: &maplet::Maplet<L::Storage>, generations: u64) -> usize {
        table::<Self>(shared).advance_by(generations)
    }

    /// Ends the first generation, if that is the present one. Returns whether it was.
    pub fn advance_from_first(shared: &maplet::Maplet<L::Storage>) -> bool {
        table::<Self>(shared).advance_from(Clock::default())
    }

    /// Returns the number of the present generation.
    #[must_use]
    pub fn generation(shared: &maplet::Maplet<L::Storage>) -> u64 {
        state::<Self>(shared).clock().number()
    }
}

/// The copy of a filter that a snapshot takes.
pub struct Image {
    taken: super::whole::image::Image,
    /// The contents of the slots of each bucket.
    pub buckets: Vec<Vec<u64>>,
    /// The number of items that it states.
    pub items: usize,
    /// The number of slots in use that splits have added, as it states.
    pub doubled: u64,
    /// The number of the present generation, as it states.
    pub generation: u64,
}

impl Image {
    /// Returns the number of copies of the item in the stash.
    #[must_use]
    pub fn stashed_of<M: Subject>(&self, home: Home) -> usize {
        let stashed = self.taken.stashed.iter().map(|&words| Stashed::of_words(words));
        let is_its = |stashed: &Stashed| {
            let known = stashed.place.entry.known();
            let entry = home.entry::<M>(if known == 0 { SAID_BITS } else { known });
            let mask = if known == 0 { u64::MAX } else { (1 << known) - 1 };
            let positions = [home.first, home.second].map(|position| position as u64 & mask);
            entry.bits() == stashed.place.entry.bits()
                && positions.contains(&stashed.place.position)
        };
        stashed.filter(is_its).map(|stashed| stashed.copies).sum()
    }
}

/// Takes an image of the filter at one instant during the call.
#[must_use]
pub fn image<M: Subject>(shared: &M::Shared) -> Image {
    let image = table::<M>(shared).image().expect("memory for a model");
    let slots = |word| <EncodingOf<M>>::from_bits(word).slots_in_use().map(Slot::bits).collect();
    let buckets: Vec<_> = image.words().map(slots).collect();
    let mut beyond = image.words.iter().flatten().skip(buckets.len());
    assert!(beyond.all(|word| word.load(Ordering::Relaxed) == 0), "beyond the extent");
    let doubled = image.doubled().copies;
    let stashed = image.stashed.iter().map(|&words| Stashed::of_words(words).copies);
    let items = image.occupied + stashed.sum::<usize>() - doubled as usize;
    let generation = image.generations.clock.number();
    Image { items, doubled, generation, buckets, taken: image }
}

/// Adds all that the image holds to a filter, or nothing.
///
/// # Errors
///
/// The reason why it does not fit.
pub fn merge<M: Subject>(shared: &M::Shared, image: &Image) -> Result<(), Error> {
    table::<M>(shared).merge(&image.taken, 0)
}

/// Intersects the filter with another one. Returns the number of removed copies.
pub fn intersect<M: Subject>(shared: &M::Shared, other: &M::Shared) -> u64 {
    table::<M>(shared).intersect(table::<M>(other))
}

/// Returns whether the filter certainly holds none of the items that an entry may stand for. The entry is of this item,
/// and knows this number of the lowest bits of its position.
#[must_use]
pub fn lacks_each<M: Subject>(shared: &M::Shared, home: Home, known: u32) -> bool {
    let [Place { position, entry }, _] = home.places::<M>(known);
    table::<M>(shared).lacks_each(Place { position: prefix(position, entry.known()), entry })
}

/// Begins to take an image, and gives up when the flag of every stripe is set.
pub fn abandon_image<M: Subject>(shared: &M::Shared) {
    let state = state::<M>(shared);
    let _taking = state.shared.mirror.taking.lock();
    let _recording = state.publish_mirror().expect("memory for a model");
    state.stripes().start_recording();
}

/// Returns whether there is a mirror, in which writers repeat their stores.
#[must_use]
pub fn has_mirror<M: Subject>(shared: &M::Shared) -> bool {
    state::<M>(shared).is_recorded()
}

/// Functions for the models of the array itself.
impl<const SHIFT: u32> PieceArray<SHIFT> {
    /// Creates an array without words.
    #[must_use]
    pub fn empty() -> Self {
        Self::new()
    }

    /// Adds words, unless another thread adds some.
    pub fn push<const N: usize>(&self, words: [u64; N]) {
        let slab = try_zeroed(N).expect("memory for a model");
        for (word, value) in slab.iter().zip(words) {
            word.store(value, Ordering::Relaxed);
        }
        self.add(|_| Some(Ok(slab))).expect("memory for a model");
    }

    /// Replaces its words by copies, with zeros behind them.
    pub fn lengthen_to(&self, words: usize) {
        self.lengthen(self.try_longer(words).expect("memory for a model"));
    }
}
