//! What a filter stands on: a table of a layout known at compile time, or of one chosen at run time.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::error::{BuildError, InsertError, InsertManyError, SnapshotError};
use crate::layout::{self, Layout, LayoutId};
use crate::sizing::{self, Fit, Wanted};
use crate::table::{Buckets, Fixed, Growing, Image, Table};
use sealed::{Backend, Operations, Tables};

/// What a [`CuckooFilter`](crate::CuckooFilter) stands on: a [`Layout`] or [`AnyLayout`], for a filter
/// of fixed size, or [`Growable`] of one of these.
///
/// The trait is sealed. Code that is generic over the filter it is given has it as a bound:
///
/// ```
/// use std::hash::BuildHasher;
/// use coucal::{CuckooFilter, Storage};
///
/// fn first_seen<L: Storage, S: BuildHasher>(filter: &CuckooFilter<L, S>, line: &str) -> bool {
///     filter.insert_unique(line).unwrap_or(true)
/// }
///
/// assert!(first_seen(&CuckooFilter::with_capacity(100), "egg"));
/// assert!(first_seen(&CuckooFilter::with_capacity_and_rate(100, 0.01)?, "egg"));
/// # Ok::<(), coucal::BuildError>(())
/// ```
pub trait Storage: Backend {}

impl<L: Layout> Storage for L {}

/// A [`Storage`] of fixed size: a [`Layout`], or [`AnyLayout`]. [`Growable`] makes one of each that
/// grows.
///
/// The trait is sealed.
///
/// # Examples
///
/// ```
/// use coucal::{BuildError, CuckooFilter, FixedStorage, Growable};
///
/// /// From a thousand items to a million, whatever the layout.
/// fn grows<L: FixedStorage>() -> Result<CuckooFilter<Growable<L>>, BuildError> {
///     let builder = CuckooFilter::builder().capacity(1000).max_capacity(1_000_000);
///     builder.layout::<L>().build()
/// }
///
/// assert!(grows::<coucal::Fp16x4>()?.is_empty());
/// # Ok::<(), BuildError>(())
/// ```
pub trait FixedStorage: Storage + Tables {}

impl<L: Layout> FixedStorage for L {}

/// The smallest layout that reaches a rate of false positives, chosen at run time, when the filter
/// is built.
///
/// The filter does all that one of a layout known at compile time does, with the same guarantees;
/// the choice costs one predictable branch per operation: up to 8 % of the time of a lookup, and in
/// cache of an insert or a removal; nothing measurable of those out of it. Where the rate is known
/// when the program is written, name the layout in the type instead:
/// `CuckooFilter::builder().layout::<Fp12x5>()`.
///
/// What it chooses for a million items, and all the memory it takes then:
///
/// | rate | layout | bits per item |
/// |---|---|---|
/// | 0.1 | `Fp8x8` | 8.2 |
/// | 0.03 | `Fp9x7` | 9.4 |
/// | 0.02 | `Fp10x6` | 11.0 |
/// | 0.01 | `Fp12x5` | 13.3 |
/// | 0.001 | `SemiSorted14x5` | 13.3 |
/// | 0.0005 | `Fp16x4` | 16.8 |
/// | 0.0001 | `SemiSorted17x4` | 16.8 |
/// | 0.00001 | `Fp21x3` | 23.1 |
/// | 0.000001 | `Fp32x2` | 37.4 |
///
/// For a rate between two lines, the line with the lower rate holds. Without a rate it is the
/// default layout, [`Fp16x4`](crate::Fp16x4).
///
/// # Examples
///
/// ```
/// use coucal::CuckooFilter;
///
/// let builder = CuckooFilter::builder().capacity(1000).false_positive_rate(0.001);
/// let filter = builder.any_layout().build()?;
/// assert_eq!(filter.layout_name(), "SemiSorted14x5");
/// # Ok::<(), coucal::BuildError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyLayout {}

impl Storage for AnyLayout {}

impl FixedStorage for AnyLayout {}

/// A storage that grows with its items: of a [`Layout`], or of [`AnyLayout`].
///
/// The filter does all that one of fixed size does, with the same guarantees, while it grows, too. It
/// is never rebuilt: an insert that leaves the load above a target splits a few buckets, so that the
/// load stays near the target from the first size to the greatest. See
/// [the documentation of the crate](crate#growth) for what it costs.
///
/// | slots of a bucket | 8 | 7 | 6 | 5 | 4 | 3 | 2 |
/// |---|---|---|---|---|---|---|---|
/// | load while it grows | 91 % | 90.5 % | 90 % | 88.5 % | 87 % | 83 % | 75 % |
///
/// # Examples
///
/// ```
/// use coucal::{Fp16x4, CuckooFilter, Growable};
///
/// let builder = CuckooFilter::builder().capacity(1000).max_capacity(1_000_000);
/// let filter: CuckooFilter<Growable<Fp16x4>> = builder.build()?;
/// for item in 0..100_000 {
///     filter.insert(&item)?;
/// }
/// assert!(filter.load_factor() > 0.86);
/// # Ok::<(), coucal::Error>(())
/// ```
pub struct Growable<L>(PhantomData<L>, Infallible);

impl<L: FixedStorage> Storage for Growable<L> {}

pub(crate) mod sealed {
    use super::{
        Buckets, BuildError, Image, InsertError, InsertManyError, LayoutId, SnapshotError, Wanted,
    };

    /// What a builder asks of a storage.
    pub trait Backend {
        /// The table of the storage.
        type Table: Operations;

        /// The name of its layout, for what a builder prints.
        const LAYOUT: &'static str;

        /// Whether the table grows.
        const GROWS: bool;

        /// An empty table that holds what is wanted.
        fn try_build(wanted: Wanted) -> Result<Self::Table, BuildError>;

        /// As [`Tables::has`].
        fn has(layout: LayoutId) -> bool;

        /// As [`Tables::from_image`].
        fn from_image(layout: LayoutId, image: Image) -> Option<Self::Table>;
    }

    /// The tables of a layout, or of one chosen at run time.
    pub trait Tables {
        type Of<B: Buckets>: Operations;

        /// As [`Backend::LAYOUT`].
        const NAME: &'static str;

        /// As [`Backend::try_build`].
        fn try_build<B: Buckets>(wanted: Wanted) -> Result<Self::Of<B>, BuildError>;

        /// Whether there are tables of this layout among them.
        fn has(layout: LayoutId) -> bool;

        /// The table of an image, which may grow to as many buckets as the image has words. The layout is
        /// one of those that there are. `None` if the memory cannot be had.
        fn from_image<B: Buckets>(layout: LayoutId, image: Image) -> Option<Self::Of<B>>;
    }

    /// What a filter asks of a table: the operations, each on the hash of an item.
    pub trait Operations: Send + Sync {
        fn insert(&self, hash: u64) -> Result<(), InsertError>;
        fn insert_unique(&self, hash: u64) -> Result<bool, InsertError>;
        fn contains(&self, hash: u64) -> bool;
        fn remove(&self, hash: u64) -> bool;
        fn count(&self, hash: u64) -> usize;
        fn contains_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64, found: &mut [bool]);
        fn insert_many<Q>(
            &self,
            items: &[Q],
            hash: impl Fn(&Q) -> u64,
        ) -> Result<(), InsertManyError>;
        fn remove_many<Q>(
            &self,
            items: &[Q],
            hash: impl Fn(&Q) -> u64,
            removed: &mut [bool],
        ) -> usize;
        fn clear(&self);
        /// Slots in use.
        fn occupied(&self) -> usize;
        /// Slots in all.
        fn slots(&self) -> usize;
        /// Lookups that gave up on a certain answer.
        fn inconclusive(&self) -> u64;
        fn heap_bytes(&self) -> usize;
        fn reserved_bytes(&self) -> usize;
        /// The items that a table which grows is to hold at its present size; 0 for any other.
        fn grown_for(&self) -> usize;
        /// Grows to the size of one that was made for so many items, or to the greatest: then
        /// `grown_for` gives so many, and there is some slack, so that their inserts need not grow it.
        fn grow_for(&self, items: usize);
        /// The share of absent items that are reported as present.
        fn false_positive_rate(&self) -> f64;
        fn layout(&self) -> LayoutId;
        /// The buckets that each row had at first: one.
        fn rows(&self) -> usize;
        /// The table at one instant; `None` if the memory cannot be had.
        fn image(&self) -> Result<Image, SnapshotError>;
        /// All that an image of another table with as many rows holds, or nothing of it.
        fn merge(&self, image: &Image) -> Result<(), InsertError>;
    }
}

impl<L: Layout> Tables for L {
    type Of<B: Buckets> = Table<L, B>;

    const NAME: &'static str = L::NAME;

    fn try_build<B: Buckets>(wanted: Wanted) -> Result<Table<L, B>, BuildError> {
        let fit = Fit::within::<L>(wanted)?;
        Table::try_new(fit.rows, fit.buckets).ok_or(fit.out_of_memory())
    }

    fn has(layout: LayoutId) -> bool {
        layout == L::ID
    }

    fn from_image<B: Buckets>(_: LayoutId, image: Image) -> Option<Table<L, B>> {
        Table::from_image(image)
    }
}

impl Tables for AnyLayout {
    type Of<B: Buckets> = AnyTable<B>;

    const NAME: &'static str = "AnyLayout";

    fn try_build<B: Buckets>(wanted: Wanted) -> Result<AnyTable<B>, BuildError> {
        let fit = Fit::smallest(wanted)?;
        AnyTable::try_new(fit).ok_or(fit.out_of_memory())
    }

    fn has(_: LayoutId) -> bool {
        true
    }

    fn from_image<B: Buckets>(layout: LayoutId, image: Image) -> Option<AnyTable<B>> {
        AnyTable::from_image(layout, image)
    }
}

impl<L: Layout> Backend for L {
    type Table = Table<L, Fixed>;

    const LAYOUT: &'static str = <L as Layout>::NAME;

    const GROWS: bool = false;

    fn try_build(wanted: Wanted) -> Result<Self::Table, BuildError> {
        <L as Tables>::try_build(wanted)
    }

    fn has(layout: LayoutId) -> bool {
        <L as Tables>::has(layout)
    }

    fn from_image(layout: LayoutId, image: Image) -> Option<Self::Table> {
        <L as Tables>::from_image(layout, image)
    }
}

impl Backend for AnyLayout {
    type Table = AnyTable<Fixed>;

    const LAYOUT: &'static str = Self::NAME;

    const GROWS: bool = false;

    fn try_build(wanted: Wanted) -> Result<Self::Table, BuildError> {
        <Self as Tables>::try_build(wanted)
    }

    fn has(layout: LayoutId) -> bool {
        <Self as Tables>::has(layout)
    }

    fn from_image(layout: LayoutId, image: Image) -> Option<Self::Table> {
        <Self as Tables>::from_image(layout, image)
    }
}

impl<L: FixedStorage> Backend for Growable<L> {
    type Table = L::Of<Growing>;

    const LAYOUT: &'static str = L::NAME;

    const GROWS: bool = true;

    fn try_build(wanted: Wanted) -> Result<Self::Table, BuildError> {
        <L as Tables>::try_build(wanted)
    }

    fn has(layout: LayoutId) -> bool {
        <L as Tables>::has(layout)
    }

    fn from_image(layout: LayoutId, image: Image) -> Option<Self::Table> {
        <L as Tables>::from_image(layout, image)
    }
}

impl<L: Layout, B: Buckets> Operations for Table<L, B> {
    #[inline]
    fn insert(&self, hash: u64) -> Result<(), InsertError> {
        self.insert(self.key(hash))
    }

    #[inline]
    fn insert_unique(&self, hash: u64) -> Result<bool, InsertError> {
        self.insert_unique(self.key(hash))
    }

    #[inline]
    fn contains(&self, hash: u64) -> bool {
        self.contains(self.key(hash))
    }

    #[inline]
    fn remove(&self, hash: u64) -> bool {
        self.remove(self.key(hash))
    }

    fn count(&self, hash: u64) -> usize {
        self.count(self.key(hash))
    }

    #[inline]
    fn contains_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64, found: &mut [bool]) {
        self.contains_many(items, hash, found);
    }

    #[inline]
    fn insert_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64) -> Result<(), InsertManyError> {
        self.insert_many(items, hash)
    }

    #[inline]
    fn remove_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64, removed: &mut [bool]) -> usize {
        self.remove_many(items, hash, removed)
    }

    fn clear(&self) {
        self.clear();
    }

    fn occupied(&self) -> usize {
        self.occupied()
    }

    fn slots(&self) -> usize {
        self.slots()
    }

    fn inconclusive(&self) -> u64 {
        self.inconclusive()
    }

    fn heap_bytes(&self) -> usize {
        self.heap_bytes()
    }

    fn reserved_bytes(&self) -> usize {
        self.reserved_bytes()
    }

    fn grown_for(&self) -> usize {
        self.grown_for()
    }

    fn grow_for(&self, items: usize) {
        if let Ok(buckets) = sizing::buckets_for::<L>(items, L::GROWN) {
            self.grow_to(buckets);
        }
    }

    fn false_positive_rate(&self) -> f64 {
        sizing::false_positive_rate::<L>(self.occupied() as f64 / self.rows() as f64)
    }

    fn layout(&self) -> LayoutId {
        L::ID
    }

    fn rows(&self) -> usize {
        self.rows()
    }

    fn image(&self) -> Result<Image, SnapshotError> {
        self.image()
    }

    fn merge(&self, image: &Image) -> Result<(), InsertError> {
        self.merge(image)
    }
}

macro_rules! define_any_table {
    ($($layout:ident)*) => {
        /// A table of any layout.
        pub enum AnyTable<B> {
            $($layout(Table<layout::$layout, B>),)*
        }

        impl<B: Buckets> AnyTable<B> {
            /// As [`Table::try_new`].
            fn try_new(fit: Fit) -> Option<Self> {
                match fit.layout {
                    $(LayoutId::$layout => {
                        Table::try_new(fit.rows, fit.buckets).map(Self::$layout)
                    })*
                }
            }

            /// As [`Table::from_image`].
            fn from_image(layout: LayoutId, image: Image) -> Option<Self> {
                match layout {
                    $(LayoutId::$layout => {
                        Table::from_image(image).map(Self::$layout)
                    })*
                }
            }
        }
    };
}

crate::__for_each_layout!(define_any_table);

/// Evaluates an expression on the table, whatever its layout.
macro_rules! dispatch {
    ($any:ident, $table:ident => $value:expr) => {
        crate::__for_each_layout!(match_each_layout [$any $table $value])
    };
}

macro_rules! match_each_layout {
    ([$any:ident $table:ident $value:expr] $($layout:ident)*) => {
        match $any {
            $(AnyTable::$layout($table) => $value,)*
        }
    };
}

impl<B: Buckets> Operations for AnyTable<B> {
    #[inline]
    fn insert(&self, hash: u64) -> Result<(), InsertError> {
        dispatch!(self, table => Operations::insert(table, hash))
    }

    #[inline]
    fn insert_unique(&self, hash: u64) -> Result<bool, InsertError> {
        dispatch!(self, table => Operations::insert_unique(table, hash))
    }

    #[expect(clippy::inline_always, reason = "as a call it costs a third more out of cache")]
    #[inline(always)]
    fn contains(&self, hash: u64) -> bool {
        dispatch!(self, table => Operations::contains(table, hash))
    }

    #[inline]
    fn remove(&self, hash: u64) -> bool {
        dispatch!(self, table => Operations::remove(table, hash))
    }

    fn count(&self, hash: u64) -> usize {
        dispatch!(self, table => Operations::count(table, hash))
    }

    fn contains_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64, found: &mut [bool]) {
        dispatch!(self, table => table.contains_many(items, hash, found));
    }

    fn insert_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64) -> Result<(), InsertManyError> {
        dispatch!(self, table => table.insert_many(items, hash))
    }

    fn remove_many<Q>(&self, items: &[Q], hash: impl Fn(&Q) -> u64, removed: &mut [bool]) -> usize {
        dispatch!(self, table => table.remove_many(items, hash, removed))
    }

    fn clear(&self) {
        dispatch!(self, table => table.clear());
    }

    fn occupied(&self) -> usize {
        dispatch!(self, table => table.occupied())
    }

    fn slots(&self) -> usize {
        dispatch!(self, table => table.slots())
    }

    fn inconclusive(&self) -> u64 {
        dispatch!(self, table => table.inconclusive())
    }

    fn heap_bytes(&self) -> usize {
        dispatch!(self, table => table.heap_bytes())
    }

    fn reserved_bytes(&self) -> usize {
        dispatch!(self, table => table.reserved_bytes())
    }

    fn grown_for(&self) -> usize {
        dispatch!(self, table => table.grown_for())
    }

    fn grow_for(&self, items: usize) {
        dispatch!(self, table => table.grow_for(items));
    }

    fn false_positive_rate(&self) -> f64 {
        dispatch!(self, table => table.false_positive_rate())
    }

    fn layout(&self) -> LayoutId {
        dispatch!(self, table => table.layout())
    }

    fn rows(&self) -> usize {
        dispatch!(self, table => table.rows())
    }

    fn image(&self) -> Result<Image, SnapshotError> {
        dispatch!(self, table => table.image())
    }

    fn merge(&self, image: &Image) -> Result<(), InsertError> {
        dispatch!(self, table => table.merge(image))
    }
}
