//! What the models of `loom-tests` may see and do that a user may not. Exists under `--cfg loom`.

use crate::entry::{CORE_SOURCE_BITS, Core, Entry, Shape, Slot};
use crate::error::InsertError;
use crate::extent::Extent;
use crate::filter::CuckooFilter;
use crate::geometry::{Geometry, Place};
use crate::hasher::DefaultHashBuilder;
use crate::keyed::Keyed;
use crate::layout::sealed::Sealed;
use crate::layout::{Layout, Word};
use crate::reading::Reading;
use crate::storage::{Growable, GrowingLayout, Storage, sealed};
use crate::sync::Ordering;
pub use crate::sync::probe::{
    Guard, Lock, PieceArray, Step, after_each_step, moving, set_seq_cst_is_exact,
};
use crate::table::{self, Buckets, Fixed, Growing, Table};

/// A storage of one layout, of fixed size or growing.
pub trait Modelled: Storage
    + sealed::Storage<Layouts = <Self as Modelled>::Layout, Buckets = <Self as Modelled>::ItsBuckets>
    + 'static
{
    /// Its layout.
    type Layout: Layout;
    /// Its buckets.
    type ItsBuckets: Buckets;
}

impl<L: Layout> Modelled for L {
    type Layout = L;
    type ItsBuckets = Fixed;
}

impl<L: GrowingLayout + Layout> Modelled for Growable<L> {
    type Layout = L;
    type ItsBuckets = Growing;
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
}

impl Home {
    /// The item with this core and this first row. `None`: there are no more such cores.
    #[must_use]
    pub fn new<M: Modelled>(
        rows: usize,
        first: usize,
        core: u64,
        chain: usize,
        extra: u64,
    ) -> Option<Self> {
        let (bits, doublings) = lengths::<M>();
        let core_bits = if doublings > 0 { bits - doublings - 1 } else { bits };
        if core >> core_bits != 0 {
            return None;
        }
        let mut home = Self { rows, core, first, second: 0, chain, extra };
        home.second = geometry::<M>(rows).alternate(first, Core::new(core));
        Some(home)
    }

    /// The same item with its rows exchanged.
    #[must_use]
    pub fn swapped<M: Modelled>(self) -> Self {
        let [_, other] = self.places::<M>();
        let chain = (other.entry.whole() >> 1) as usize & ((1 << lengths::<M>().1) - 1);
        Self { first: self.second, second: self.first, chain, ..self }
    }

    /// The number of its version group in a small table that has at most this number of buckets.
    #[must_use]
    pub fn group<M: Modelled>(self, max_buckets: usize) -> usize {
        let [place, _] = self.places::<M>();
        let geometry = geometry::<M>(self.rows);
        geometry.class(geometry.key_of(place)) % max_buckets.min(MAX_GROUPS)
    }

    /// Its buckets in a table that has grown to this number of buckets.
    #[must_use]
    pub fn buckets<M: Modelled>(self, buckets: usize) -> [usize; 2] {
        let extent = extent(self.rows, buckets);
        self.places::<M>()
            .map(|place| if M::ItsBuckets::GROWS { extent.bucket(place).number } else { place.row })
    }

    /// A hash of the item.
    #[must_use]
    pub fn hash<M: Modelled>(self) -> u64 {
        let (bits, doublings) = lengths::<M>();
        let start = ((self.first as u128) << 64).div_ceil(self.rows as u128) as u64;
        // Above all but the row.
        let (fixed, next) = if doublings > 0 {
            let cores = (1 << (bits - doublings - 1)) - 1;
            let source = ((self.core - 1) << CORE_SOURCE_BITS).div_ceil(cores);
            (source << (doublings + 1) | (self.chain as u64) << 1, doublings + 1 + CORE_SOURCE_BITS)
        } else {
            (self.core, bits)
        };
        let above = start.next_multiple_of(1 << next);
        let mut hashes = (0..).map(|n: u64| above + (n << next) + fixed);
        let geometry = geometry::<M>(self.rows);
        let [place, _] = self.places::<M>();
        hashes.find(|&hash| geometry.key(hash) == geometry.key_of(place)).expect("a hash")
    }

    fn places<M: Modelled>(self) -> [Place; 2] {
        let (_, doublings) = lengths::<M>();
        let entry = if doublings > 0 {
            let whole = self.core << (doublings + 1) | (self.chain as u64) << 1;
            Entry::from_parts(whole as u32, (self.extra | 1 << doublings) as u32)
        } else {
            Entry::fingerprint(self.core)
        };
        let geometry = geometry::<M>(self.rows);
        geometry.places(geometry.key_of(Place { row: self.first, entry }))
    }
}

/// Bits of a slot, and how often a table can double.
fn lengths<M: Modelled>() -> (u32, u32) {
    let bits = M::Layout::FINGERPRINT_BITS;
    (bits, if M::ItsBuckets::GROWS { M::Layout::MAX_LEVEL } else { 0 })
}

fn geometry<M: Modelled>(rows: usize) -> Geometry {
    let (bits, doublings) = lengths::<M>();
    let shape = if doublings > 0 { Shape::growing(bits, doublings) } else { Shape::fixed(bits) };
    Geometry::new(rows, shape)
}

/// The extent of a table that has grown to this number of buckets.
fn extent(rows: usize, buckets: usize) -> Extent {
    (rows..buckets).fold(Extent::start(rows), |extent, _| {
        let extent = extent.after(1);
        extent.next_level().unwrap_or(extent)
    })
}

/// An empty filter with this number of rows, and at most `max_buckets` buckets: also small tables that
/// no capacity leads to.
#[must_use]
pub fn filter<M: Modelled>(rows: usize, max_buckets: usize) -> CuckooFilter<M> {
    let table = Table::try_new(rows, max_buckets).expect("a small table");
    table.store_zeros();
    let hasher = DefaultHashBuilder::default();
    CuckooFilter::from_keyed(Keyed { table, hasher, capacity: 0, max_capacity: 0 })
}

/// Stores an entry of the item in a bucket, as inserts and kicks could have done; in a growing table
/// with this number of extra bits, or as many as the table has doubled if that is fewer.
/// `false`: the bucket is full.
#[must_use]
pub fn put<M: Modelled>(
    filter: &CuckooFilter<M>,
    bucket: usize,
    home: Home,
    extra_bits: u32,
) -> bool {
    let buckets = home.buckets::<M>(filter.slots() / M::Layout::SLOTS);
    let at = buckets.iter().position(|&its| its == bucket).expect("a bucket of the item");
    let mut place = home.places::<M>()[at];
    let (_, doublings) = lengths::<M>();
    if extra_bits < doublings {
        let known = place.entry.extra() & ((1 << extra_bits) - 1) | 1 << extra_bits;
        place.entry = Entry::from_parts(place.entry.whole(), known);
    }
    filter.table().put(place)
}

/// Splits up to `most` buckets, neighbours at once. Returns how many were split.
pub fn split<M: Modelled>(filter: &CuckooFilter<M>, most: usize) -> usize {
    moving(|| filter.table().split_next(most))
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
    pub fn is_of<M: Modelled>(&self, bucket: usize, slot: u64, home: Home) -> bool {
        let buckets = home.buckets::<M>(self.buckets.len());
        let word = Word::<M::Layout>::EMPTY.with(Slot::new(slot)).expect("an empty bucket");
        let reading =
            M::ItsBuckets::reading::<M::Layout>(self.taken.extent, bucket, self.taken.value_bits);
        let places = home.places::<M>();
        (0..2).any(|at| buckets[at] == bucket && reading.copies(word, places[at].entry) == 1)
    }
}

/// The filter at one instant during the call.
#[must_use]
pub fn image<M: Modelled>(filter: &CuckooFilter<M>) -> Image {
    let image = filter.table().image().expect("memory for a model");
    let slots = |word| Word::<M::Layout>::from_bits(word).slots_in_use().map(Slot::bits).collect();
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
pub fn merge<M: Modelled>(filter: &CuckooFilter<M>, image: &Image) -> Result<(), InsertError> {
    filter.table().merge(&image.taken)
}

/// Begins to take an image, and gives up when the flag of every stripe is set.
pub fn abandon_image<M: Modelled>(filter: &CuckooFilter<M>) {
    filter.table().abandon_image();
}

/// Whether there is a mirror, in which writers repeat their stores.
#[must_use]
pub fn has_mirror<M: Modelled>(filter: &CuckooFilter<M>) -> bool {
    filter.table().has_mirror()
}
