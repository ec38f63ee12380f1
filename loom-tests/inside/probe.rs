//! What the models may see and do that a user may not. Under `--cfg coucal_model` a module of `coucal`, below `table`: so
//! it reaches what is private there.

// Models report failure by a panic.
#![allow(clippy::missing_panics_doc)]

use core::marker::PhantomData;

use crate::error::Error;
use crate::filter::CuckooFilter;
use crate::hasher::DefaultHashBuilder;
use crate::item::Prehashed;
use crate::layout::Slot;
use crate::layout::sealed::Sealed;
use crate::layout::{Format, Layout, Word};
use crate::maplet::CuckooMaplet;
use crate::storage::operations::Inner;
use crate::storage::{Growable, GrowingLayout, Storage, sealed};
use crate::sync::Ordering;
pub use crate::sync::array::PieceArray;
pub use crate::sync::lock::Lock;
use crate::sync::machine::moving;
pub use crate::sync::machine::{Step, after_each_step, set_seq_cst_is_exact};
use crate::table::entry::{Entry, NoValues, Pair, SPARE_SOURCE_BITS, Shape, ValueBits, Values};
use crate::table::sizing::Sizing;
use crate::table::{
    self, Buckets, Fixed, Geometry, Growing, ItemOf, Key, Place, Stashed, State, Table,
};

type FormatOf<L> = <L as Sealed>::Format;

/// What a model runs: the filter of a storage of one layout, or a [`Maplet`].
pub trait Modelled: Sized + 'static {
    /// Its layout.
    type Layout: Layout;
    /// Its buckets.
    type ItsBuckets: Buckets;
    /// Its public type.
    type Shared: Send + Sync + 'static;

    /// Bits of a value; 0 in a filter.
    const VALUE_BITS: u32;

    /// Stores an item unless it is there; in a maplet, unless its key is. `Ok(false)`: it was.
    ///
    /// # Errors
    ///
    /// Why it was not stored.
    fn insert_unique(shared: &Self::Shared, hash: u64, value: u32) -> Result<bool, Error>;

    #[doc(hidden)]
    fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared;

    #[doc(hidden)]
    fn state(shared: &Self::Shared) -> &State<Self::ItsBuckets>;
}

/// The maplet of a storage of one layout, with values of two bits.
pub struct Maplet<M>(PhantomData<M>);

/// A growing table of one layout whose entries know one bit more than their buckets tell: so one level later they
/// are void. The values of a maplet take all other bits; all items of a model have the same one.
pub struct ShortRing<M>(PhantomData<M>);

macro_rules! subjects {
    ($(<$layout:ident: $bound:ident> $storage:ty, $buckets:ident;)*) => {$(
        impl<$layout: $bound + Layout> Modelled for $storage {
            type Layout = $layout;
            type ItsBuckets = $buckets<NoValues>;
            type Shared = CuckooFilter<Self>;

            const VALUE_BITS: u32 = 0;

            fn insert_unique(
                filter: &Self::Shared,
                hash: u64,
                _: u32,
            ) -> Result<bool, Error> {
                filter.insert_unique(&Prehashed(hash))
            }

            fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared {
                filter_of(state)
            }

            fn state(filter: &Self::Shared) -> &State<Self::ItsBuckets> {
                state_of_filter(filter)
            }
        }

        impl<$layout: $bound + Layout> Modelled for Maplet<$storage> {
            type Layout = $layout;
            type ItsBuckets = $buckets<ValueBits>;
            type Shared = CuckooMaplet<$storage>;

            const VALUE_BITS: u32 = 2;

            fn insert_unique(
                maplet: &Self::Shared,
                hash: u64,
                value: u32,
            ) -> Result<bool, Error> {
                insert_unique::<Self>(maplet, Pair { hash, value })
            }

            fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared {
                maplet_of(state)
            }

            fn state(maplet: &Self::Shared) -> &State<Self::ItsBuckets> {
                state_of_maplet(maplet)
            }
        }
    )*};
}

impl<L: GrowingLayout + Layout> Modelled for ShortRing<Growable<L>> {
    type Layout = L;
    type ItsBuckets = Growing<ValueBits>;
    type Shared = CuckooMaplet<Growable<L>>;

    const VALUE_BITS: u32 = <FormatOf<L>>::EXTRA_BITS - 1;

    fn insert_unique(maplet: &Self::Shared, hash: u64, value: u32) -> Result<bool, Error> {
        insert_unique::<Self>(maplet, Pair { hash, value })
    }

    fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared {
        maplet_of(state)
    }

    fn state(maplet: &Self::Shared) -> &State<Self::ItsBuckets> {
        state_of_maplet(maplet)
    }
}

subjects! {
    <L: Layout> L, Fixed;
    <L: GrowingLayout> Growable<L>, Growing;
}

// For these, a storage is no more than its buckets: of a layout that grows, the compiler
// would not know its table.

fn filter_of<M, B: Buckets>(state: State<B>) -> CuckooFilter<M>
where
    M: Storage + sealed::Sealed<Buckets<NoValues> = B>,
{
    CuckooFilter::from_inner(inner(state))
}

fn state_of_filter<M, B: Buckets>(filter: &CuckooFilter<M>) -> &State<B>
where
    M: Storage + sealed::Sealed<Buckets<NoValues> = B>,
{
    filter.state()
}

fn maplet_of<M, B: Buckets>(state: State<B>) -> CuckooMaplet<M>
where
    M: Storage + sealed::Sealed<Buckets<ValueBits> = B>,
{
    CuckooMaplet::from_inner(inner(state))
}

fn state_of_maplet<M, B: Buckets>(maplet: &CuckooMaplet<M>) -> &State<B>
where
    M: Storage + sealed::Sealed<Buckets<ValueBits> = B>,
{
    maplet.state()
}

fn inner<M, B: Buckets>(state: State<B>) -> Inner<M, B, DefaultHashBuilder> {
    let hasher = DefaultHashBuilder::default();
    Inner { storage: PhantomData, state, hasher, capacity: 0, max_capacity: 0 }
}

/// No user can do this with a maplet. Models of tables whose slots have values for the sake of short rings do.
fn insert_unique<M: Modelled>(
    shared: &M::Shared,
    item: ItemOf<M::ItsBuckets>,
) -> Result<bool, Error> {
    let table = table::<M>(shared);
    Ok(table.insert_unique(table.key_of(item))?)
}

/// The table of a filter or a maplet.
fn table<M: Modelled>(shared: &M::Shared) -> Table<'_, FormatOf<M::Layout>, M::ItsBuckets> {
    Table::new(M::state(shared))
}

/// The most version groups of a small table.
const MAX_GROUPS: usize = 8;

/// How many of the lowest bits of its positions a [`Home`] says: more than any entry of a small table knows.
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
    /// The item with this core, this first position and the greatest value. `None`: there are no more such cores.
    #[must_use]
    pub fn new<M: Modelled>(began_with: usize, first: usize, core: u64) -> Option<Self> {
        if core > shape::<M>().cores() {
            return None;
        }
        let value = (1 << M::VALUE_BITS) - 1;
        let home = Self { began_with, core, first, second: 0, value };
        let entry = home.entry::<M>(SAID_BITS);
        let second = geometry::<M>(began_with).alternate(first as u64, entry) as usize;
        Some(Self { second, ..home })
    }

    /// The same item with its positions exchanged.
    #[must_use]
    pub fn swapped(self) -> Self {
        Self { first: self.second, second: self.first, ..self }
    }

    /// The same item, but for these bits of its positions.
    #[must_use]
    pub fn differing_in(self, bits: usize) -> Self {
        Self { first: self.first ^ bits, second: self.second ^ bits, ..self }
    }

    /// The number of its version group in a small table that has at most this number of buckets.
    #[must_use]
    pub fn group<M: Modelled>(self, max_buckets: usize) -> usize {
        let geometry = geometry::<M>(self.began_with);
        let [place, _] = self.places::<M>(SAID_BITS);
        geometry.version_group(geometry.key_of(place)) % max_buckets.min(MAX_GROUPS)
    }

    /// Its buckets in a table that has grown to this number of buckets.
    #[must_use]
    pub fn buckets<M: Modelled>(self, buckets: usize) -> [usize; 2] {
        let positions = [self.first, self.second];
        if !M::ItsBuckets::GROWS {
            return positions;
        }
        positions.map(|position| {
            let split = position % (2 << buckets.ilog2());
            if split < buckets { split } else { position % (1 << buckets.ilog2()) }
        })
    }

    /// A hash of the item.
    #[must_use]
    pub fn hash<M: Modelled>(self) -> u64 {
        let geometry = geometry::<M>(self.began_with);
        let entry = Self { value: 0, ..self }.entry::<M>(SAID_BITS);
        let is_its = |&hash: &u64| geometry.key(hash).entry.bits() == entry.bits();
        if M::ItsBuckets::GROWS {
            // The hash is the position. Bits that nobody looks at decide about the core.
            let mut hashes = (0..1 << (u64::BITS - SAID_BITS)).map(|n: u64| n << SAID_BITS);
            return hashes
                .find_map(|above| Some(above | self.first as u64).filter(is_its))
                .expect("a hash");
        }
        let start = ((self.first as u128) << 64).div_ceil(self.began_with as u128) as u64;
        // Above all but the bucket.
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

    /// An entry of the item that knows this number of bits of its position.
    fn entry<M: Modelled>(self, known: u32) -> Entry {
        let entry = if M::ItsBuckets::GROWS {
            Entry::knowing(self.core << ring::<M>(), known)
        } else {
            Entry::fingerprint(self.core)
        };
        shape::<M>().with_value(entry, self.value)
    }

    fn places<M: Modelled>(self, known: u32) -> [Place; 2] {
        let entry = self.entry::<M>(known);
        [self.first, self.second].map(|position| Place { position: position as u64, entry })
    }

    /// Whether a slot of this bucket holds an entry of the item, in a table that has grown to this number of
    /// buckets. Not as lookups find out, but as the documentation of growing tables says.
    fn is_in<M: Modelled>(self, buckets: usize, bucket: usize, slot: u64) -> bool {
        let Some(at) = self.buckets::<M>(buckets).iter().position(|&its| its == bucket) else {
            return false;
        };
        if !M::ItsBuckets::GROWS {
            return slot == u64::from(self.entry::<M>(SAID_BITS).bits());
        }
        let (ring, level) = (ring::<M>(), buckets.ilog2());
        let of_bit = |bit: u32| slot >> (bit % ring) & 1;
        // The last 1 from the head on ends what is known.
        let Some(known) = (level..level + ring).rev().find(|&bit| of_bit(bit) == 1) else {
            return false;
        };
        let position = [self.first, self.second][at] as u64;
        let agrees = |bit: u32| of_bit(bit) == position >> bit & 1;
        let is_split = bucket < buckets - (1 << level) || bucket >= 1 << level;
        slot >> ring == u64::from(self.entry::<M>(known).bits()) >> ring
            && (level..known).all(|bit| {
                // In a bucket that tells the bit it stands as 0.
                if bit == level && is_split { of_bit(bit) == 0 } else { agrees(bit) }
            })
    }
}

/// How many of the lowest bits of its position every entry of a growing table knows.
#[must_use]
pub fn common_bits<M: Modelled>(began_with: usize) -> u32 {
    if M::ItsBuckets::GROWS { began_with.ilog2() + ring::<M>() - 1 } else { 0 }
}

/// Bits of the ring of a slot in a growing table.
fn ring<M: Modelled>() -> u32 {
    <FormatOf<M::Layout>>::EXTRA_BITS + 1 - M::VALUE_BITS
}

fn shape<M: Modelled>() -> Shape {
    let bits = M::Layout::FINGERPRINT_BITS;
    let shape = if M::ItsBuckets::GROWS {
        Shape::growing(bits, <FormatOf<M::Layout>>::EXTRA_BITS)
    } else {
        Shape::fixed(bits)
    };
    if M::VALUE_BITS == 0 { shape } else { shape.with_values(values::<M>()) }
}

fn values<M: Modelled>() -> ValueBits {
    <ValueBits as Values>::new(M::Layout::FINGERPRINT_BITS, M::VALUE_BITS)
}

fn geometry<M: Modelled>(began_with: usize) -> Geometry {
    let bits = M::Layout::FINGERPRINT_BITS;
    let geometry = if M::ItsBuckets::GROWS {
        let common = (1 << common_bits::<M>(began_with)) - 1;
        Geometry::growing(common, bits, <FormatOf<M::Layout>>::EXTRA_BITS)
    } else {
        Geometry::fixed(began_with, bits)
    };
    if M::VALUE_BITS == 0 { geometry } else { geometry.with_values(values::<M>()) }
}

/// An empty filter, or maplet, that begins with this number of buckets, and has at most `max_buckets`: also small
/// tables that no capacity leads to.
#[must_use]
pub fn empty<M: Modelled>(began_with: usize, max_buckets: usize) -> M::Shared {
    let [first, most] = [began_with, max_buckets].map(|n| n as u64);
    let sizing = Sizing::of_table(<FormatOf<M::Layout>>::ID, first, most);
    let sizing = Sizing { value_bits: M::VALUE_BITS, ..sizing };
    let state = State::try_new(sizing).expect("a small table");
    state.store_zeros();
    M::of_state(state)
}

/// All that a slot can know of a position.
pub const ALL: u32 = SAID_BITS;

/// Stores an entry of the item in a bucket, as inserts and kicks could have done; in a growing table one that knows
/// this number of the lowest bits of its position, or all that a slot can know if that is less. `false`: the bucket
/// is full.
#[must_use]
pub fn put<M: Modelled>(shared: &M::Shared, bucket: usize, home: Home, known: u32) -> bool {
    let buckets = home.buckets::<M>(slots::<M>(shared) / M::Layout::SLOTS);
    let at = buckets.iter().position(|&its| its == bucket).expect("a bucket of the item");
    table::<M>(shared).put(home.places::<M>(known)[at])
}

/// The item with this hash, and its value.
fn key<M: Modelled>(hash: u64, home: Home) -> Key {
    let key = geometry::<M>(home.began_with).key(hash);
    let has_values = M::VALUE_BITS > 0;
    let entry = if has_values { shape::<M>().with_value(key.entry, home.value) } else { key.entry };
    Key { entry, ..key }
}

/// Puts a copy of the item, which has this hash, into the stash, however full the table is.
pub fn stash<M: Modelled>(shared: &M::Shared, hash: u64, home: Home) {
    let [place, other] = key::<M>(hash, home).places();
    let place = if place.position % 2 == 0 { place } else { other };
    let words = Stashed { place, copies: 1 }.words();
    table::<M>(shared).restore_stash(&[words]).expect("memory for a model");
}

/// The copies of the item, which has this hash.
pub fn copies<M: Modelled>(shared: &M::Shared, hash: u64, home: Home) -> usize {
    table::<M>(shared).count(key::<M>(hash, home))
}

/// The entries in the stash.
pub fn stashed<M: Modelled>(shared: &M::Shared) -> usize {
    table::<M>(shared).stashed_entries()
}

/// Items: slots in use, but for those that splits have doubled; and copies in the stash.
pub fn len<M: Modelled>(shared: &M::Shared) -> usize {
    table::<M>(shared).len()
}

/// Slots in use.
pub fn occupied<M: Modelled>(shared: &M::Shared) -> usize {
    table::<M>(shared).occupied()
}

/// Slots in all.
pub fn slots<M: Modelled>(shared: &M::Shared) -> usize {
    table::<M>(shared).slots()
}

/// Lookups that gave up on a certain answer.
pub fn inconclusive<M: Modelled>(shared: &M::Shared) -> usize {
    table::<M>(shared).inconclusive() as usize
}

/// Splits up to `most` buckets, neighbours at once. Returns how many were split.
pub fn split<M: Modelled>(shared: &M::Shared, most: usize) -> usize {
    moving(|| table::<M>(shared).split_next(most))
}

/// What a snapshot takes of a filter.
pub struct Image {
    taken: table::Image,
    /// What the slots of each bucket hold.
    pub buckets: Vec<Vec<u64>>,
    /// How many items it says that it holds.
    pub items: usize,
    /// Slots in use that it says splits have added.
    pub doubled: u64,
}

impl Image {
    /// Whether what a slot of this bucket holds is an entry of the item.
    #[must_use]
    pub fn is_of<M: Modelled>(&self, bucket: usize, slot: u64, home: Home) -> bool {
        home.is_in::<M>(self.buckets.len(), bucket, slot)
    }

    /// The copies of the item in the stash.
    #[must_use]
    pub fn stashed_of<M: Modelled>(&self, home: Home) -> usize {
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

/// The filter at one instant during the call.
#[must_use]
pub fn image<M: Modelled>(shared: &M::Shared) -> Image {
    let image = table::<M>(shared).image().expect("memory for a model");
    let slots = |word| {
        Word::<FormatOf<M::Layout>>::from_bits(word).slots_in_use().map(Slot::bits).collect()
    };
    let buckets: Vec<_> = image.words().map(slots).collect();
    let mut beyond = image.words.iter().flatten().skip(buckets.len());
    assert!(beyond.all(|word| word.load(Ordering::Relaxed) == 0), "beyond the extent");
    let doubled = image.grown.doubled;
    let stashed = image.stashed.iter().map(|&words| Stashed::of_words(words).copies);
    let items = image.occupied + stashed.sum::<usize>() - doubled as usize;
    Image { items, doubled, buckets, taken: image }
}

/// All that the image holds into a filter, or nothing of it.
///
/// # Errors
///
/// Why it does not fit.
pub fn merge<M: Modelled>(shared: &M::Shared, image: &Image) -> Result<(), Error> {
    Ok(table::<M>(shared).merge(&image.taken)?)
}

/// Begins to take an image, and gives up when the flag of every stripe is set.
pub fn abandon_image<M: Modelled>(shared: &M::Shared) {
    table::<M>(shared).abandon_image();
}

/// Whether there is a mirror, in which writers repeat their stores.
#[must_use]
pub fn has_mirror<M: Modelled>(shared: &M::Shared) -> bool {
    table::<M>(shared).has_mirror()
}
