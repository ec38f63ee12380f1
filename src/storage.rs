//! The storage of a filter: a table of a layout known at compile time, or chosen at run time.

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::candidates::Candidates;
use crate::error::{BuildError, InsertError, InsertManyError, SnapshotError};
use crate::layout::{self, Layout, LayoutId};
use crate::reading::Masked;
use crate::sizing::{self, Request, Sizing};
use crate::table::{Buckets, Fixed, Growing, Image, NoMemory, Table, WithValues};
use sealed::Tables;

/// The storage of a [`CuckooFilter`](crate::CuckooFilter): a [`Layout`] or [`AnyLayout`], for a filter
/// of fixed size, or [`Growable`] of a [layout that can grow](GrowingLayout).
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
pub trait Storage: sealed::Sealed {}

impl<L: Layout> Storage for L {}

/// A [`Storage`] of fixed size: a [`Layout`], or [`AnyLayout`].
///
/// The trait is sealed.
///
/// # Examples
///
/// ```
/// use coucal::{BuildError, CuckooFilter, FixedStorage};
///
/// fn made_for_a_thousand<L: FixedStorage>() -> Result<CuckooFilter<L>, BuildError> {
///     CuckooFilter::builder().layout::<L>().capacity(1000).build()
/// }
///
/// assert!(made_for_a_thousand::<coucal::Fp16x4>()?.is_empty());
/// # Ok::<(), BuildError>(())
/// ```
pub trait FixedStorage: Storage + sealed::SealedFixed {}

impl<L: Layout> FixedStorage for L {}

/// A layout whose tables can grow: what [`Growable`] takes. These are [`Fp12x5`](crate::Fp12x5),
/// [`Fp16x4`](crate::Fp16x4), [`Fp21x3`](crate::Fp21x3), [`Fp32x2`](crate::Fp32x2), and [`AnyLayout`],
/// which chooses among them.
///
/// A slot of a growing table has a bit for each doubling, and six bits or more that never change. In slots
/// of 8 to 10 bits, one to three bits would be left for doublings, so these layouts would gain nothing.
/// A semi-sorted bucket compares whole fingerprints, and a growing table compares parts of them.
///
/// The trait is sealed.
///
/// # Examples
///
/// ```
/// use coucal::{BuildError, CuckooFilter, Growable, GrowingLayout};
///
/// /// From a thousand items to a million, in any layout that grows.
/// fn grows<L: GrowingLayout>() -> Result<CuckooFilter<Growable<L>>, BuildError> {
///     let builder = CuckooFilter::builder().capacity(1000).max_capacity(1_000_000);
///     builder.layout::<L>().build()
/// }
///
/// assert!(grows::<coucal::Fp21x3>()?.is_empty());
/// # Ok::<(), BuildError>(())
/// ```
///
/// The other layouts are for filters of fixed size:
///
/// ```compile_fail,E0277
/// type Filter = coucal::CuckooFilter<coucal::Growable<coucal::Fp8x8>>;
/// fn grows(filter: &Filter) {}
/// ```
#[diagnostic::on_unimplemented(
    message = "a filter with the layout `{Self}` cannot grow",
    label = "this layout is for filters of fixed size",
    note = "filters grow with the layouts `Fp12x5`, `Fp16x4`, `Fp21x3` and `Fp32x2`, and with \
            `AnyLayout`, which chooses among them",
    note = "the slots of `Fp8x8`, `Fp9x7` and `Fp10x6` have no bits to spare for growth, and the \
            semi-sorted layouts only compare whole fingerprints"
)]
pub trait GrowingLayout: FixedStorage + sealed::SealedGrowing {}

macro_rules! let_grow {
    ($($layout:ident)*) => { $(impl GrowingLayout for layout::$layout {})* };
}

crate::__for_each_growing_layout!(let_grow);

/// The smallest layout that reaches a rate of false positives, chosen at run time, when the filter
/// is built.
///
/// The filter has all operations and guarantees of a filter whose layout is known at compile time;
/// the choice costs one predictable branch per operation: up to 8 % of the time of a lookup, and in
/// cache of an insert or a removal; nothing measurable of those out of it. Where the rate is known
/// when the program is written, name the layout in the type instead:
/// `CuckooFilter::builder().layout::<Fp12x5>()`.
///
/// The layout for a million items in a filter of fixed size, and the memory of the whole filter:
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
/// default layout, [`Fp16x4`](crate::Fp16x4). For a filter that grows, it is one of the layouts that
/// [can grow](GrowingLayout), and reaches the rate at the maximum capacity.
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

impl GrowingLayout for AnyLayout {}

/// A storage that grows with its items: of a [layout that can grow](GrowingLayout), or of [`AnyLayout`].
///
/// The filter has all operations and guarantees of a filter of fixed size, also while it grows. It is
/// never rebuilt: an insert that leaves the load above a target splits a few buckets, so that the load
/// stays near the target from the initial to the maximum size. The
/// [documentation of the crate](crate#growth) says what this gives and costs.
///
/// | layout | target load | highest target load | doubles at most |
/// |---|---|---|---|
/// | [`Fp12x5`](crate::Fp12x5) | 81.5 % | 88.5 % | 5 times |
/// | [`Fp16x4`](crate::Fp16x4) | 80 % | 87 % | 9 times |
/// | [`Fp21x3`](crate::Fp21x3) | 76 % | 83 % | 12 times |
/// | [`Fp32x2`](crate::Fp32x2) | 69 % | 75 % | 19 times |
///
/// [`Builder::target_load`](crate::Builder::target_load) sets another target. A table that doubles nine
/// times at most starts with a 512th of its maximum size, or with what its initial capacity needs if that
/// is more.
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
/// assert!(filter.load_factor() > 0.79);
/// # Ok::<(), coucal::Error>(())
/// ```
pub struct Growable<L: GrowingLayout>(PhantomData<L>, Infallible);

impl<L: GrowingLayout> Storage for Growable<L> {}

pub(crate) mod sealed {
    use super::{
        Buckets, BuildError, Fixed, Growing, Image, LayoutId, Masked, Operations, Request,
        WithValues,
    };

    /// A choice of layouts and a choice of buckets.
    pub trait Sealed {
        /// One layout, or all of them.
        type Layouts: Tables<Self::Buckets> + Tables<WithValues<Self::Buckets>>;
        /// Of fixed size, or growing; those of a filter.
        type Buckets: Buckets<Item = u64, Reading: Masked>;
    }

    /// Tables of fixed size, of filters and of maplets.
    pub trait SealedFixed: Tables<Fixed> + Tables<WithValues<Fixed>> {}

    impl<C: Tables<Fixed> + Tables<WithValues<Fixed>>> SealedFixed for C {}

    /// Tables that grow, of filters and of maplets.
    pub trait SealedGrowing: Tables<Growing> + Tables<WithValues<Growing>> {}

    impl<C: Tables<Growing> + Tables<WithValues<Growing>>> SealedGrowing for C {}

    /// A choice of layouts, one or several, of which tables with these buckets can be built.
    pub trait Tables<B: Buckets> {
        /// A table of one of these layouts.
        type Table: Operations<B::Item>;

        /// The name of the choice, printed by a builder. (It is not called `NAME` for the sake of users
        /// whose bounds are `Layout` and `GrowingLayout`.)
        const CHOICE: &'static str;

        /// An empty table for a request.
        fn try_build(request: Request) -> Result<Self::Table, BuildError>;

        /// Whether the choice includes this layout.
        fn has(layout: LayoutId) -> bool;

        /// The table of an image. The choice must include the layout. `None` if the allocator could not
        /// provide the memory.
        fn from_image(layout: LayoutId, image: Image) -> Option<Self::Table>;
    }
}

/// The layouts to choose from.
pub(crate) type LayoutsOf<S> = <S as sealed::Sealed>::Layouts;

/// The buckets of a storage.
pub(crate) type BucketsOf<S> = <S as sealed::Sealed>::Buckets;

impl<L: Layout> sealed::Sealed for L {
    type Layouts = L;
    type Buckets = Fixed;
}

impl sealed::Sealed for AnyLayout {
    type Layouts = Self;
    type Buckets = Fixed;
}

impl<L: GrowingLayout> sealed::Sealed for Growable<L> {
    type Layouts = L;
    type Buckets = Growing;
}

impl<L: Layout, B: Buckets> Tables<B> for L {
    type Table = Table<L, B>;

    const CHOICE: &'static str = L::NAME;

    fn try_build(request: Request) -> Result<Table<L, B>, BuildError> {
        let sizing = Sizing::within::<L>(request)?;
        Table::try_sized(sizing).ok_or(sizing.out_of_memory())
    }

    fn has(layout: LayoutId) -> bool {
        layout == L::ID
    }

    fn from_image(_: LayoutId, image: Image) -> Option<Table<L, B>> {
        Table::from_image(image)
    }
}

/// Defines the table of a layout that is chosen at run time among some layouts.
macro_rules! define_any_table {
    ($(#[$doc:meta])* $any:ident $buckets:ident; $($layout:ident)*) => {
        $(#[$doc])*
        pub enum $any<B: Buckets = $buckets> {
            $($layout(Table<layout::$layout, B>),)*
        }

        define_any_table! { @tables $any $buckets; $($layout)* }
        define_any_table! { @tables $any WithValues<$buckets>; $($layout)* }
    };
    (@tables $any:ident $buckets:ty; $($layout:ident)*) => {
        impl Tables<$buckets> for AnyLayout {
            type Table = $any<$buckets>;

            const CHOICE: &'static str = "AnyLayout";

            fn try_build(request: Request) -> Result<$any<$buckets>, BuildError> {
                let sizing = Sizing::smallest(request)?;
                let table = match sizing.layout {
                    $(LayoutId::$layout => Table::try_sized(sizing).map($any::$layout),)*
                    #[allow(unreachable_patterns, reason = "where these are all layouts")]
                    layout => unreachable!("{layout} is not a candidate"),
                };
                table.ok_or(sizing.out_of_memory())
            }

            fn has(layout: LayoutId) -> bool {
                matches!(layout, $(LayoutId::$layout)|*)
            }

            fn from_image(layout: LayoutId, image: Image) -> Option<$any<$buckets>> {
                match layout {
                    $(LayoutId::$layout => Table::from_image(image).map($any::$layout),)*
                    #[allow(unreachable_patterns, reason = "where these are all layouts")]
                    layout => unreachable!("{layout} is not one of the choice"),
                }
            }
        }
    };
}

crate::__for_each_layout! { define_any_table
    /// A table of fixed size, of any layout.
    AnyTable Fixed;
}

crate::__for_each_growing_layout! { define_any_table
    /// A growing table of any layout that grows.
    AnyGrowingTable Growing;
}

/// Evaluates an expression on the table, whatever its layout, which is one of those of `$each`.
macro_rules! dispatch {
    ($each:ident $any:ident $self:ident, $table:ident => $value:expr) => {
        crate::$each!(match_each_layout [$any $self $table $value])
    };
}

macro_rules! match_each_layout {
    ([$any:ident $self:ident $table:ident $value:expr] $($layout:ident)*) => {
        match $self {
            $($any::$layout($table) => $value,)*
        }
    };
}

/// Defines [`Operations`], for a table and for those whose layout was chosen at run time: the operations
/// on an item or on the hash of one, which a table has for a key, and those on many.
macro_rules! operations {
    // For a table whose layout is one of those of `$each`.
    (@any $any:ident $each:ident
        one { $($(#[$on_one:meta])* $one:ident($named:ident: $name:ty $(, $more:ident: $of:ty)?)
            -> $answer:ty = $key:ident;)* }
        many { $($many:ident($by:ident: $by_name:ty $(, $found:ident: $type:ty)?) -> $answers:ty;)* }
    ) => {
        impl<B: Buckets> Operations<B::Item> for $any<B> {
            fn figures(&self) -> &dyn Figures {
                dispatch!($each $any self, table => table)
            }

            $($(#[$on_one])*
            fn $one(&self, $named: operations!(@name $named B), $($more: $of)?) -> $answer {
                dispatch!($each $any self, table => Operations::$one(table, $named, $($more)?))
            })*

            $(fn $many<Q>(
                &self,
                items: &[Q],
                $by: impl Fn(&Q) -> operations!(@name $by B),
                $($found: $type)?
            ) -> $answers {
                dispatch!($each $any self, table => table.$many(items, $by, $($found)?))
            })*
        }
    };
    (@name item $buckets:ident) => { $buckets::Item };
    (@name hash $buckets:ident) => { u64 };
    (
        one { $($(#[$on_one:meta])* $one:ident($named:ident: $name:ty $(, $more:ident: $of:ty)?)
            -> $answer:ty = $key:ident;)* }
        many { $(
            $(#[$on_many:meta])*
            $many:ident($by:ident: $by_name:ty $(, $found:ident: $type:ty)?) -> $answers:ty;
        )* }
    ) => {
        /// The operations whose speed matters. `I` names an item; lookups have the hash of a key.
        pub trait Operations<I>: Send + Sync {
            /// The other operations.
            fn figures(&self) -> &dyn Figures;
            $(fn $one(&self, $named: $name, $($more: $of)?) -> $answer;)*
            $(fn $many<Q>(
                &self,
                items: &[Q],
                $by: impl Fn(&Q) -> $by_name,
                $($found: $type)?
            ) -> $answers;)*
        }

        impl<L: Layout, B: Buckets> Operations<B::Item> for Table<L, B> {
            fn figures(&self) -> &dyn Figures {
                self
            }

            $($(#[$on_one])*
            fn $one(&self, $named: operations!(@name $named B), $($more: $of)?) -> $answer {
                self.$one(self.$key($named), $($more)?)
            })*

            $($(#[$on_many])*
            fn $many<Q>(
                &self,
                items: &[Q],
                $by: impl Fn(&Q) -> operations!(@name $by B),
                $($found: $type)?
            ) -> $answers {
                self.$many(items, $by, $($found)?)
            })*
        }

        operations! { @any AnyTable __for_each_layout
            one { $($(#[$on_one])* $one($named: $name $(, $more: $of)?) -> $answer = $key;)* }
            many { $($many($by: $by_name $(, $found: $type)?) -> $answers;)* }
        }

        operations! { @any AnyGrowingTable __for_each_growing_layout
            one { $($(#[$on_one])* $one($named: $name $(, $more: $of)?) -> $answer = $key;)* }
            many { $($many($by: $by_name $(, $found: $type)?) -> $answers;)* }
        }
    };
}

operations! {
    one {
        #[inline] insert(item: I) -> Result<(), InsertError> = key_of;
        #[inline] insert_unique(item: I) -> Result<bool, InsertError> = key_of;
        // As a call it costs a third more out of cache.
        #[allow(clippy::inline_always)] #[inline(always)] contains(hash: u64) -> bool = key;
        // As a call it would pass its answer through memory.
        #[allow(clippy::inline_always)] #[inline(always)] get(hash: u64) -> Candidates = key;
        #[inline] replace(item: I, value: u32) -> bool = key_of;
        #[inline] remove(item: I) -> bool = key_of;
        count(item: I) -> usize = key_of;
    }
    many {
        #[inline] contains_many(hash: u64, found: &mut [bool]) -> ();
        #[inline] get_many(hash: u64, found: &mut [Candidates]) -> ();
        #[inline] insert_many(item: I) -> Result<(), InsertManyError>;
        #[inline] remove_many(item: I, removed: &mut [bool]) -> usize;
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
    /// The same for a growing table that has grown to hold this number of items.
    fn false_positive_rate_at(&self, items: usize) -> f64;
    fn layout(&self) -> LayoutId;
    /// Bits of the value in each slot; 0 in a filter.
    fn value_bits(&self) -> u32;
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
        match sizing::buckets_for::<L>(items, sizing::share(self.target_load())) {
            Ok(buckets) => self.grow_to(buckets),
            Err(_) => Ok(()),
        }
    }

    fn false_positive_rate(&self) -> f64 {
        let (rows, value_bits) = (self.rows(), self.value_bits());
        if B::GROWS {
            sizing::false_positive_rate_of_grown::<L>(self.weight(), rows, value_bits)
        } else {
            sizing::false_positive_rate::<L>(self.occupied() as f64 / rows as f64, value_bits)
        }
    }

    fn false_positive_rate_at(&self, items: usize) -> f64 {
        let (rows, max_buckets) = (self.rows(), self.max_buckets());
        let value_bits = self.value_bits();
        sizing::false_positive_rate_at::<L>(
            items,
            rows,
            max_buckets,
            self.target_load(),
            value_bits,
        )
    }

    fn layout(&self) -> LayoutId {
        L::ID
    }

    fn value_bits(&self) -> u32 {
        self.value_bits()
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
