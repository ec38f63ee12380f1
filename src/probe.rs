//! What the models of `loom-tests` may see and do that a user may not. Exists under `--cfg loom`.

use core::marker::PhantomData;

use crate::entry::{
    CORE_SOURCE_BITS, Core, Entry, NoValues, SPARE_SOURCE_BITS, Shape, Slot, ValueBits, Values,
};
use crate::error::InsertError;
use crate::filter::CuckooFilter;

use crate::hasher::DefaultHashBuilder;
use crate::inner::Inner;
use crate::layout::sealed::Sealed;
use crate::layout::{Format, Layout, Layouts, Word};
use crate::maplet::CuckooMaplet;
use crate::sizing::Sizing;
use crate::storage::{Growable, GrowingLayout, Storage, sealed};
use crate::sync::Ordering;
pub use crate::sync::probe::{
    Guard, Lock, PieceArray, Step, after_each_step, moving, set_seq_cst_is_exact,
};
use crate::table::{self, Buckets, Extent, Fixed, Geometry, Growing, Place, Reading, State, Table};

type FormatOf<L> = <L as Sealed>::Format;

/// What a model runs: the filter of a storage of one layout, or a [`Maplet`].
pub trait Subject: Sized + 'static {
    /// Its layout.
    type Layout: Layout;
    /// Its buckets.
    type ItsBuckets: Buckets;
    /// Its public type.
    type Shared: Shared;

    /// Bits of a value; 0 in a filter.
    const VALUE_BITS: u32;

    #[doc(hidden)]
    fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared;

    #[doc(hidden)]
    fn state(shared: &Self::Shared) -> &State<Self::ItsBuckets>;
}

/// A storage of one layout, of fixed size or growing.
pub trait Modelled: Subject<Shared = CuckooFilter<Self>> + Storage {}

impl<M: Subject<Shared = CuckooFilter<M>> + Storage> Modelled for M {}

/// The maplet of a storage of one layout.
pub struct Maplet<M>(PhantomData<M>);

macro_rules! subjects {
    ($(<$layout:ident: $bound:ident> $storage:ty, $buckets:ident;)*) => {$(
        impl<$layout: $bound + Layout> Subject for $storage {
            type Layout = $layout;
            type ItsBuckets = $buckets<NoValues>;
            type Shared = CuckooFilter<Self>;

            const VALUE_BITS: u32 = 0;

            fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared {
                filter_of(state)
            }

            fn state(filter: &Self::Shared) -> &State<Self::ItsBuckets> {
                state_of_filter(filter)
            }
        }

        impl<$layout: $bound + Layout> Subject for Maplet<$storage> {
            type Layout = $layout;
            type ItsBuckets = $buckets<ValueBits>;
            type Shared = CuckooMaplet<$storage>;

            const VALUE_BITS: u32 = 2;

            fn of_state(state: State<Self::ItsBuckets>) -> Self::Shared {
                maplet_of(state)
            }

            fn state(maplet: &Self::Shared) -> &State<Self::ItsBuckets> {
                state_of_maplet(maplet)
            }
        }
    )*};
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

fn inner<C: Layouts, B: Buckets>(state: State<B>) -> Inner<C, B, DefaultHashBuilder> {
    let layouts = C::of(state.layout()).expect("one of the storage's layouts");
    let hasher = DefaultHashBuilder::default();
    Inner { layouts, state, hasher, capacity: 0, max_capacity: 0 }
}

/// The table of a filter or a maplet.
fn table<M: Subject>(shared: &M::Shared) -> Table<'_, FormatOf<M::Layout>, M::ItsBuckets> {
    Table::new(M::state(shared))
}

/// What filters and maplets have in common. The value of an item of a filter has no meaning.
pub trait Shared: Send + Sync + 'static {
    /// One more copy of an item.
    ///
    /// # Errors
    ///
    /// Why there is none.
    fn insert(&self, hash: u64, value: u32) -> Result<(), InsertError>;

    /// One copy less. `false`: there was none.
    fn remove(&self, hash: u64, value: u32) -> bool;

    /// How many copies there are: a maplet may count some of them twice while another thread moves them.
    fn copies(&self, hash: u64, value: u32) -> usize;
}

impl<M: Storage + 'static> Shared for CuckooFilter<M> {
    fn insert(&self, hash: u64, _: u32) -> Result<(), InsertError> {
        self.insert_hash(hash)
    }

    fn remove(&self, hash: u64, _: u32) -> bool {
        self.remove_hash(hash)
    }

    fn copies(&self, hash: u64, _: u32) -> usize {
        self.count_hash(hash)
    }
}

impl<M: Storage + 'static> Shared for CuckooMaplet<M> {
    fn insert(&self, hash: u64, value: u32) -> Result<(), InsertError> {
        self.insert_hash(hash, value)
    }

    fn remove(&self, hash: u64, value: u32) -> bool {
        self.remove_hash(hash, value)
    }

    fn copies(&self, hash: u64, value: u32) -> usize {
        self.get_hash(hash).filter(|&candidate| candidate == value).count()
    }
}

/// The most version groups of a small table.
const MAX_GROUPS: usize = 8;

/// What a table with some number of rows knows of an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// The rows of the table.
    pub rows: usize,
    /// Its fingerprint, or in a growing table its core.
    pub core: u64,
    /// The row that lookups read first.
    pub first: usize,
    /// The other row.
    pub second: usize,
    /// Its chain relative to the first row: none in a table of fixed size.
    pub chain: usize,
    /// Its extra bits: none in a table of fixed size.
    pub extra: u64,
    /// Its value: 0 in a filter.
    pub value: u32,
}

impl Home {
    /// The item with this core, this first row and the greatest value. `None`: there are no more such cores.
    #[must_use]
    pub fn new<M: Subject>(
        rows: usize,
        first: usize,
        core: u64,
        chain: usize,
        extra: u64,
    ) -> Option<Self> {
        let (core_bits, _) = lengths::<M>();
        if core >> core_bits != 0 {
            return None;
        }
        let value = (1 << M::VALUE_BITS) - 1;
        let mut home = Self { rows, core, first, second: 0, chain, extra, value };
        home.second = geometry::<M>(rows).alternate(first, Core::new(core));
        Some(home)
    }

    /// The same item with its rows exchanged.
    #[must_use]
    pub fn swapped<M: Subject>(self) -> Self {
        let [_, other] = self.places::<M>();
        let chain = (other.entry.whole() >> 1) as usize & ((1 << lengths::<M>().1) - 1);
        Self { first: self.second, second: self.first, chain, ..self }
    }

    /// The number of its version group in a small table that has at most this number of buckets.
    #[must_use]
    pub fn group<M: Subject>(self, max_buckets: usize) -> usize {
        let [place, _] = self.places::<M>();
        let geometry = geometry::<M>(self.rows);
        geometry.version_group(geometry.key_of(place)) % max_buckets.min(MAX_GROUPS)
    }

    /// Its buckets in a table that has grown to this number of buckets.
    #[must_use]
    pub fn buckets<M: Subject>(self, buckets: usize) -> [usize; 2] {
        let extent = extent(self.rows, buckets);
        self.places::<M>().map(|place| {
            if M::ItsBuckets::GROWS { extent.bucket(place, NoValues).number } else { place.row }
        })
    }

    /// A hash of the item.
    #[must_use]
    pub fn hash<M: Subject>(self) -> u64 {
        let (core_bits, doublings) = lengths::<M>();
        let start = ((self.first as u128) << 64).div_ceil(self.rows as u128) as u64;
        let cores = (1 << core_bits) - 1;
        let source_of = |bits: u32| ((self.core - 1) << bits).div_ceil(cores);
        // Above all but the row.
        let (fixed, next) = if doublings > 0 {
            let chain = (self.chain as u64) << 1;
            (
                source_of(CORE_SOURCE_BITS) << (doublings + 1) | chain,
                doublings + 1 + CORE_SOURCE_BITS,
            )
        } else if M::VALUE_BITS > 0 {
            let source_bits = core_bits + SPARE_SOURCE_BITS;
            (source_of(source_bits), source_bits)
        } else {
            (self.core, core_bits)
        };
        let above = start.next_multiple_of(1 << next);
        let mut hashes = (0..).map(|n: u64| above + (n << next) + fixed);
        let geometry = geometry::<M>(self.rows);
        let [place, _] = Self { value: 0, ..self }.places::<M>();
        hashes.find(|&hash| geometry.key(hash) == geometry.key_of(place)).expect("a hash")
    }

    fn places<M: Subject>(self) -> [Place; 2] {
        let (_, doublings) = lengths::<M>();
        let entry = if doublings > 0 {
            let whole = self.core << (doublings + 1) | (self.chain as u64) << 1;
            Entry::from_parts(whole as u32, (self.extra | 1 << doublings) as u32)
        } else {
            Entry::fingerprint(self.core)
        };
        let geometry = geometry::<M>(self.rows);
        let entry = geometry.with_value(entry, self.value);
        geometry.places(geometry.key_of(Place { row: self.first, entry }))
    }
}

/// Bits of a core, and how often a table can double.
fn lengths<M: Subject>() -> (u32, u32) {
    let bits = M::Layout::FINGERPRINT_BITS - M::VALUE_BITS;
    if !M::ItsBuckets::GROWS {
        return (bits, 0);
    }
    let doublings = <FormatOf<M::Layout>>::DOUBLINGS - M::VALUE_BITS;
    (bits - doublings - 1, doublings)
}

fn geometry<M: Subject>(rows: usize) -> Geometry {
    let bits = M::Layout::FINGERPRINT_BITS;
    let shape = if M::ItsBuckets::GROWS {
        Shape::growing(bits, <FormatOf<M::Layout>>::DOUBLINGS)
    } else {
        Shape::fixed(bits)
    };
    let geometry = Geometry::new(rows, shape);
    if M::VALUE_BITS == 0 {
        return geometry;
    }
    geometry.with_values(ValueBits::new(bits, M::VALUE_BITS))
}

/// The extent of a table that has grown to this number of buckets.
fn extent(rows: usize, buckets: usize) -> Extent {
    (rows..buckets).fold(Extent::start(rows), |extent, _| {
        let extent = extent.after(1);
        extent.next_level().unwrap_or(extent)
    })
}

/// An empty filter, or maplet, with this number of rows, and at most `max_buckets` buckets: also small
/// tables that no capacity leads to.
#[must_use]
pub fn empty<M: Subject>(rows: usize, max_buckets: usize) -> M::Shared {
    let sizing = Sizing::of_table(<FormatOf<M::Layout>>::ID, rows, max_buckets);
    let sizing = Sizing { value_bits: M::VALUE_BITS, ..sizing };
    let state = State::try_new(sizing).expect("a small table");
    state.store_zeros();
    M::of_state(state)
}

/// Stores an entry of the item in a bucket, as inserts and kicks could have done; in a growing table
/// with this number of extra bits, or as many as the table has doubled if that is fewer.
/// `false`: the bucket is full.
#[must_use]
pub fn put<M: Subject>(shared: &M::Shared, bucket: usize, home: Home, extra_bits: u32) -> bool {
    let buckets = home.buckets::<M>(slots::<M>(shared) / M::Layout::SLOTS);
    let at = buckets.iter().position(|&its| its == bucket).expect("a bucket of the item");
    let mut place = home.places::<M>()[at];
    let (_, doublings) = lengths::<M>();
    if extra_bits < doublings {
        let known = place.entry.extra() & ((1 << extra_bits) - 1) | 1 << extra_bits;
        place.entry = Entry::from_parts(place.entry.whole(), known);
    }
    table::<M>(shared).put(place)
}

/// Slots in use.
pub fn occupied<M: Subject>(shared: &M::Shared) -> usize {
    table::<M>(shared).occupied()
}

/// Slots in all.
pub fn slots<M: Subject>(shared: &M::Shared) -> usize {
    table::<M>(shared).slots()
}

/// Lookups that gave up on a certain answer.
pub fn inconclusive<M: Subject>(shared: &M::Shared) -> usize {
    table::<M>(shared).inconclusive() as usize
}

/// Splits up to `most` buckets, neighbours at once. Returns how many were split.
pub fn split<M: Subject>(shared: &M::Shared, most: usize) -> usize {
    moving(|| table::<M>(shared).split_next(most))
}

/// What a snapshot takes of a filter.
pub struct Image {
    taken: table::Image,
    /// What the slots of each bucket hold.
    pub buckets: Vec<Vec<u64>>,
    /// How many items it says that it holds.
    pub items: usize,
}

impl Image {
    /// Whether what a slot of this bucket holds is an entry of the item.
    #[must_use]
    pub fn is_of<M: Subject>(&self, bucket: usize, slot: u64, home: Home) -> bool {
        let buckets = home.buckets::<M>(self.buckets.len());
        let word =
            Word::<FormatOf<M::Layout>>::EMPTY.with(Slot::new(slot)).expect("an empty bucket");
        let values = <M::ItsBuckets as Buckets>::Values::new(
            M::Layout::FINGERPRINT_BITS,
            self.taken.value_bits,
        );
        let reading = M::ItsBuckets::reading(self.taken.extent, bucket, values);
        let places = home.places::<M>();
        (0..2).any(|at| buckets[at] == bucket && reading.copies(word, places[at].entry) == 1)
    }
}

/// The filter at one instant during the call.
#[must_use]
pub fn image<M: Subject>(shared: &M::Shared) -> Image {
    let image = table::<M>(shared).image().expect("memory for a model");
    let slots = |word| {
        Word::<FormatOf<M::Layout>>::from_bits(word).slots_in_use().map(Slot::bits).collect()
    };
    let buckets: Vec<_> = image.words().map(slots).collect();
    let mut beyond = image.words.iter().flatten().skip(buckets.len());
    assert!(beyond.all(|word| word.load(Ordering::Relaxed) == 0), "beyond the extent");
    Image { items: image.items, buckets, taken: image }
}

/// All that the image holds into a filter of as many rows, or nothing of it.
///
/// # Errors
///
/// Why it does not fit.
pub fn merge<M: Subject>(shared: &M::Shared, image: &Image) -> Result<(), InsertError> {
    table::<M>(shared).merge(&image.taken)
}

/// Begins to take an image, and gives up when the flag of every stripe is set.
pub fn abandon_image<M: Subject>(shared: &M::Shared) {
    table::<M>(shared).abandon_image();
}

/// Whether there is a mirror, in which writers repeat their stores.
#[must_use]
pub fn has_mirror<M: Subject>(shared: &M::Shared) -> bool {
    table::<M>(shared).has_mirror()
}
