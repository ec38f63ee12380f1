//! The storage of a filter: a table of a layout known at compile time, or chosen at run time.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::error::{BuildError, InsertError, InsertManyError, SnapshotError};
use crate::layout::{self, Layout, LayoutId};
use crate::sizing::{self, Request, Sizing};
use crate::table::{Buckets, Fixed, Growing, Image, NoMemory, Table};
use sealed::Layouts;

/// The storage of a [`CuckooFilter`](crate::CuckooFilter): a [`Layout`] or [`AnyLayout`], for a filter
/// of fixed size, or [`Growable`] of one of these.
///
/// The trait is sealed. Code that is generic over filters has it as a bound:
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
pub trait Storage: sealed::Storage {}

impl<L: Layout> Storage for L {}

/// A [`Storage`] of fixed size: a [`Layout`], or [`AnyLayout`]. [`Growable`] makes a growing storage of
/// each.
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
pub trait FixedStorage: Storage + Layouts {}

impl<L: Layout> FixedStorage for L {}

/// The smallest layout that reaches a rate of false positives, chosen at run time, when the filter
/// is built.
///
/// The filter has all operations and guarantees of a filter whose layout is known at compile time;
/// the choice costs one predictable branch per operation: up to 8 % of the time of a lookup, and in
/// cache of an insert or a removal; nothing measurable of those out of it. Where the rate is known
/// when the program is written, name the layout in the type instead:
/// `CuckooFilter::builder().layout::<Fp12x5>()`.
///
/// The layout for a million items, and the memory of the whole filter:
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
/// The filter has all operations and guarantees of a filter of fixed size, also while it grows. It is
/// never rebuilt: an insert that leaves the load above a target splits a few buckets, so that the load
/// stays near the target from the initial to the maximum size. The
/// [documentation of the crate](crate#growth) says what this costs.
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
    use super::{Buckets, BuildError, Image, LayoutId, Operations, Request};

    /// A choice of layouts and a choice of buckets.
    pub trait Storage {
        /// One layout, or all of them.
        type Layouts: Layouts;
        /// Of fixed size, or growing.
        type Buckets: Buckets;
    }

    /// A choice of layouts: one, or all of them.
    pub trait Layouts {
        /// A table of one of these layouts.
        type Table<B: Buckets>: Operations;

        /// The name of the choice, printed by a builder.
        const NAME: &'static str;

        /// An empty table for a request.
        fn try_build<B: Buckets>(request: Request) -> Result<Self::Table<B>, BuildError>;

        /// Whether the choice includes this layout.
        fn has(layout: LayoutId) -> bool;

        /// The table of an image. The choice must include the layout. `None` if the allocator could not
        /// provide the memory.
        fn from_image<B: Buckets>(layout: LayoutId, image: Image) -> Option<Self::Table<B>>;
    }
}

/// The layouts to choose from.
pub(crate) type LayoutsOf<S> = <S as sealed::Storage>::Layouts;

/// The buckets of a storage.
pub(crate) type BucketsOf<S> = <S as sealed::Storage>::Buckets;

/// The table of a storage.
pub(crate) type TableOf<S> = <LayoutsOf<S> as Layouts>::Table<BucketsOf<S>>;

impl<L: Layout> sealed::Storage for L {
    type Layouts = L;
    type Buckets = Fixed;
}

impl sealed::Storage for AnyLayout {
    type Layouts = Self;
    type Buckets = Fixed;
}

impl<L: FixedStorage> sealed::Storage for Growable<L> {
    type Layouts = L;
    type Buckets = Growing;
}

impl<L: Layout> Layouts for L {
    type Table<B: Buckets> = Table<L, B>;

    const NAME: &'static str = L::NAME;

    fn try_build<B: Buckets>(request: Request) -> Result<Table<L, B>, BuildError> {
        let sizing = Sizing::within::<L>(request)?;
        Table::try_new(sizing.rows, sizing.buckets).ok_or(sizing.out_of_memory())
    }

    fn has(layout: LayoutId) -> bool {
        layout == L::ID
    }

    fn from_image<B: Buckets>(_: LayoutId, image: Image) -> Option<Table<L, B>> {
        Table::from_image(image)
    }
}

impl Layouts for AnyLayout {
    type Table<B: Buckets> = AnyTable<B>;

    const NAME: &'static str = "AnyLayout";

    fn try_build<B: Buckets>(request: Request) -> Result<AnyTable<B>, BuildError> {
        let sizing = Sizing::smallest(request)?;
        AnyTable::try_new(sizing).ok_or(sizing.out_of_memory())
    }

    fn has(_: LayoutId) -> bool {
        true
    }

    fn from_image<B: Buckets>(layout: LayoutId, image: Image) -> Option<AnyTable<B>> {
        AnyTable::from_image(layout, image)
    }
}

macro_rules! define_any_table {
    ($($layout:ident)*) => {
        /// A table of any layout.
        pub enum AnyTable<B: Buckets> {
            $($layout(Table<layout::$layout, B>),)*
        }

        impl<B: Buckets> AnyTable<B> {
            /// As [`Table::try_new`].
            fn try_new(sizing: Sizing) -> Option<Self> {
                match sizing.layout {
                    $(LayoutId::$layout => {
                        Table::try_new(sizing.rows, sizing.buckets).map(Self::$layout)
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

/// Defines [`Operations`], for a table and for one whose layout was chosen at run time: those on the
/// hash of an item, which a table has for a key, and those on many items.
macro_rules! operations {
    (
        item { $($(#[$on_item:meta])* $item:ident -> $answer:ty;)* }
        items { $(
            $(#[$on_items:meta])* $items:ident($($argument:ident: $type:ty),*) -> $answers:ty;
        )* }
    ) => {
        /// The operations of a filter whose speed matters.
        pub trait Operations: Send + Sync {
            /// The other operations.
            fn figures(&self) -> &dyn Figures;
            $(fn $item(&self, hash: u64) -> $answer;)*
            $(fn $items<Q>(
                &self,
                items: &[Q],
                hash: impl Fn(&Q) -> u64,
                $($argument: $type),*
            ) -> $answers;)*
        }

        impl<L: Layout, B: Buckets> Operations for Table<L, B> {
            fn figures(&self) -> &dyn Figures {
                self
            }

            $($(#[$on_item])*
            fn $item(&self, hash: u64) -> $answer {
                self.$item(self.key(hash))
            })*

            $($(#[$on_items])*
            fn $items<Q>(
                &self,
                items: &[Q],
                hash: impl Fn(&Q) -> u64,
                $($argument: $type),*
            ) -> $answers {
                self.$items(items, hash, $($argument),*)
            })*
        }

        impl<B: Buckets> Operations for AnyTable<B> {
            fn figures(&self) -> &dyn Figures {
                dispatch!(self, table => table)
            }

            $($(#[$on_item])*
            fn $item(&self, hash: u64) -> $answer {
                dispatch!(self, table => Operations::$item(table, hash))
            })*

            $(fn $items<Q>(
                &self,
                items: &[Q],
                hash: impl Fn(&Q) -> u64,
                $($argument: $type),*
            ) -> $answers {
                dispatch!(self, table => table.$items(items, hash, $($argument),*))
            })*
        }
    };
}

operations! {
    item {
        #[inline] insert -> Result<(), InsertError>;
        #[inline] insert_unique -> Result<bool, InsertError>;
        // As a call it costs a third more out of cache.
        #[allow(clippy::inline_always)] #[inline(always)] contains -> bool;
        #[inline] remove -> bool;
        count -> usize;
    }
    items {
        #[inline] contains_many(found: &mut [bool]) -> ();
        #[inline] insert_many() -> Result<(), InsertManyError>;
        #[inline] remove_many(removed: &mut [bool]) -> usize;
    }
}

/// The other operations: the figures of a table, and operations on the whole table.
pub trait Figures: Send + Sync {
    fn clear(&self);
    /// Slots in use.
    fn occupied(&self) -> usize;
    /// The number of slots.
    fn slots(&self) -> usize;
    /// Lookups that gave up on a certain answer.
    fn inconclusive(&self) -> u64;
    fn heap_bytes(&self) -> usize;
    /// The number of items at which the present size of a growing table reaches its target load; 0 for
    /// a table of fixed size.
    fn target_items(&self) -> usize;
    /// Grows until the table has room for `items`, or to its maximum. Inserting up to `items` then
    /// splits nothing.
    fn grow_for(&self, items: usize) -> Result<(), NoMemory>;
    /// The share of absent items that are reported as present.
    fn false_positive_rate(&self) -> f64;
    fn layout(&self) -> LayoutId;
    /// The number of rows, each of which has one bucket at first.
    fn rows(&self) -> usize;
    /// The table at one instant.
    fn image(&self) -> Result<Image, SnapshotError>;
    /// Adds all entries of an image of another table with the same number of rows, or none.
    fn merge(&self, image: &Image) -> Result<(), InsertError>;
}

impl<L: Layout, B: Buckets> Figures for Table<L, B> {
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

    fn target_items(&self) -> usize {
        self.target_items()
    }

    fn grow_for(&self, items: usize) -> Result<(), NoMemory> {
        match sizing::buckets_for::<L>(items, L::TARGET_LOAD) {
            Ok(buckets) => self.grow_to(buckets),
            Err(_) => Ok(()),
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
