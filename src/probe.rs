//! What the models of `loom-tests` may see and do that a user may not. Exists under `--cfg loom`.

use crate::entry::Entry;
use crate::error::InsertError;
use crate::extent::Extent;
use crate::filter::CuckooFilter;
use crate::geometry::{Geometry, Place};
use crate::hasher::DefaultHashBuilder;
use crate::layout::{Layout, Word};
use crate::storage::{Growable, GrowingLayout, Storage, sealed};
use crate::sync::Ordering;
pub use crate::sync::probe::{Guard, Lock, Step, after_each_step, moving, set_seq_cst_is_exact};
use crate::table::{self, Table};

/// A storage of one layout, of fixed size or growing.
pub trait Modelled:
    Storage + sealed::Storage<Layouts = <Self as Modelled>::Layout> + 'static
{
    /// Its layout.
    type Layout: Layout;
}

impl<L: Layout> Modelled for L {
    type Layout = L;
}

impl<L: Layout + GrowingLayout> Modelled for Growable<L> {
    type Layout = L;
}

/// Where an item lives in a table whose rows have one bucket each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Home {
    /// What is stored of it.
    pub fingerprint: u64,
    /// The bucket that a lookup reads first.
    pub first: usize,
    /// The bucket that a lookup reads second.
    pub second: usize,
}

/// Where a table with this number of rows keeps the item with this hash before it grows.
#[must_use]
pub fn home<L: Layout>(rows: usize, hash: u64) -> Home {
    let key = Geometry::new(rows).key(hash, L::FINGERPRINT_BITS);
    Home { fingerprint: key.entry.bits(), first: key.first, second: key.second }
}

/// The bucket of a fingerprint in a row, in a table that has grown to this number of buckets.
#[must_use]
pub fn bucket(rows: usize, buckets: usize, row: usize, fingerprint: u64) -> usize {
    let start = Extent::start(rows);
    let extent = (rows..buckets).fold(start, |extent, _| extent.after(1));
    extent.bucket(Place { row, entry: Entry::in_slot(fingerprint) })
}

/// An empty filter with this number of rows, and at most `max_buckets` buckets: also small tables that
/// no capacity leads to.
#[must_use]
pub fn filter<M: Modelled>(rows: usize, max_buckets: usize) -> CuckooFilter<M> {
    let table = Table::try_new(rows, max_buckets).expect("a small table");
    table.store_zeros();
    CuckooFilter::from_parts(table, DefaultHashBuilder::default(), [0, 0])
}

/// Stores a fingerprint, which is not 0, in a bucket, as inserts and kicks could have done.
/// `false`: the bucket is full.
#[must_use]
pub fn put<M: Modelled>(filter: &CuckooFilter<M>, bucket: usize, fingerprint: u64) -> bool {
    filter.table().put(bucket, Entry::in_slot(fingerprint))
}

/// Splits up to `most` buckets, neighbours at once. Returns how many were split.
pub fn split<M: Modelled>(filter: &CuckooFilter<M>, most: usize) -> usize {
    moving(|| filter.table().split_next(most))
}

/// What a snapshot takes of a filter.
pub struct Image {
    taken: table::Image,
    /// The fingerprints in each bucket.
    pub buckets: Vec<Vec<u64>>,
    /// How many items it says that it holds.
    pub items: usize,
}

/// The filter at one instant during the call.
#[must_use]
pub fn image<M: Modelled>(filter: &CuckooFilter<M>) -> Image {
    let image = filter.table().image().expect("memory for a model");
    let fingerprints =
        |word| Word::<M::Layout>::from_bits(word).entries().map(Entry::bits).collect();
    let buckets: Vec<_> = image.words().map(fingerprints).collect();
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
