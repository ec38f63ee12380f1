//! Which table a type parameter stands for: of a layout known at compile time or chosen at run time, of fixed
//! size or growing.

pub(crate) mod operations;

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::layout::{Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, LayoutId};
use crate::table::placing::entry::{NoValues, Values};
use crate::table::{Buckets, FixedBuckets, GrowingBuckets};

/// What keeps the items of a filter, a maplet or an expiring filter: a table of [`Fixed`] size, or one that is
/// [`Growable`].
///
/// The trait is sealed. [`Filter`](crate::Filter) has an example of code that is generic over storages.
///
/// The types of filters in a struct:
///
/// ```
/// use std::hash::RandomState;
/// use coucal::*;
///
/// struct Filters<L: Storage, S> {
///     fixed: CuckooFilter,
///     with_hasher: CuckooFilter<Fp16x4, RandomState>,
///     growing: GrowableCuckooFilter,
///     growing_with_hasher: GrowableCuckooFilter<Fp16x4, RandomState>,
///     for_a_rate: AnyCuckooFilter,
///     for_a_rate_with_hasher: AnyCuckooFilter<RandomState>,
///     for_a_rate_and_growing: GrowableCuckooFilter<AnyLayout>,
///     any_of_them: Filter<L, S>,
/// }
///
/// let by_rate = CuckooFilter::builder().capacity(1000).false_positive_rate(0.001);
/// let filters = Filters {
///     fixed: CuckooFilter::with_capacity(1000),
///     with_hasher: CuckooFilter::with_capacity_and_hasher(1000, RandomState::new()),
///     growing: GrowableCuckooFilter::new(),
///     growing_with_hasher: GrowableCuckooFilter::with_hasher(RandomState::new()),
///     for_a_rate: by_rate.clone().any_layout().build()?,
///     for_a_rate_with_hasher: by_rate.clone().any_layout().hasher(RandomState::new()).build()?,
///     for_a_rate_and_growing: by_rate.growable().any_layout().build()?,
///     any_of_them: CuckooFilter::builder().layout::<SemiSorted17x4>().capacity(9).build()?,
/// };
/// # filters.growing.insert("egg")?;
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// A storage is known at compile time, and there is no `dyn Storage`: where only the layout is to be chosen at run
/// time, use [`AnyLayout`].
///
/// Items are no type parameter: see [how to name the type of a filter](crate#the-type-of-a-filter).
///
/// ```compile_fail,E0277
/// struct Seen {
///     words: coucal::CuckooFilter<String>, // write CuckooFilter
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a storage: one is `Fixed<Fp16x4>` or `Growable<Fp16x4>`",
    note = "the type of the items is no parameter of a filter or a maplet",
    note = "in generic code: `Filter<L, S>` with `L: Storage, S: BuildHasher`"
)]
pub trait Storage: Sized + Send + Sync + 'static {
    /// The layout of its buckets.
    #[doc(hidden)]
    type Layout: Layout;

    /// The buckets of its tables: of fixed size, or growing.
    #[doc(hidden)]
    type Buckets<V: Values>: Buckets<Values = V>;

    #[doc(hidden)]
    const ONLY: Option<LayoutId> = Self::Layout::ID;

    #[doc(hidden)]
    const GROWS: bool = <Self::Buckets<NoValues> as Buckets>::GROWS;
}

impl<L: Layout> Storage for Fixed<L> {
    #[doc(hidden)]
    type Layout = L;
    #[doc(hidden)]
    type Buckets<V: Values> = FixedBuckets<V>;
}

/// A storage of fixed size: of a [`Layout`], or of [`AnyLayout`].
///
/// `Filter<Fixed<L>, S>` is [`CuckooFilter<L, S>`](crate::CuckooFilter), and so with maplets and expiring filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<L: Layout>(PhantomData<L>, Infallible);

/// A layout whose tables can grow: what [`Growable`] takes. These are [`Fp12x5`](crate::Fp12x5),
/// [`Fp16x4`](crate::Fp16x4), [`Fp21x3`](crate::Fp21x3), [`Fp32x2`](crate::Fp32x2), and [`AnyLayout`],
/// which chooses among them.
///
/// A slot of a growing table has some bits for growth, and four bits or more that never change. In slots
/// of 8 to 10 bits so few would be left for growth that it would soon end.
/// A semi-sorted bucket compares whole fingerprints, and a growing table compares parts of them.
///
/// The trait is sealed.
///
/// # Examples
///
/// ```
/// use coucal::{Error, GrowableCuckooFilter, GrowingLayout};
///
/// /// From a thousand items to a million, in any layout that grows.
/// fn grows<L: GrowingLayout>() -> Result<GrowableCuckooFilter<L>, Error> {
///     let builder = GrowableCuckooFilter::builder().capacity(1000).max_capacity(1_000_000);
///     builder.layout::<L>().build()
/// }
///
/// assert!(grows::<coucal::Fp21x3>()?.is_empty());
/// # Ok::<(), Error>(())
/// ```
///
/// The other layouts are for filters of fixed size:
///
/// ```compile_fail,E0277
/// type Grows = coucal::GrowableCuckooFilter<coucal::Fp8x8>;
/// fn grows(filter: &Grows) {}
/// ```
#[diagnostic::on_unimplemented(
    message = "no filter or maplet with the layout `{Self}` can grow",
    label = "not one of the layouts that grow",
    note = "the first parameter is the layout, not the type of the items: `GrowableCuckooFilter` and \
            `GrowableCuckooMaplet` without parameters take items and keys of any type",
    note = "filters grow with the layouts `Fp12x5`, `Fp16x4`, `Fp21x3` and `Fp32x2`, and with \
            `AnyLayout`, which chooses among them",
    note = "the slots of `Fp8x8`, `Fp9x7` and `Fp10x6` have too few bits for growth, and the \
            semi-sorted layouts only compare whole fingerprints"
)]
pub trait GrowingLayout: Layout {}

impl GrowingLayout for Fp12x5 {}
impl GrowingLayout for Fp16x4 {}
impl GrowingLayout for Fp21x3 {}
impl GrowingLayout for Fp32x2 {}

/// The smallest layout that reaches a rate of false positives, chosen at run time, when the filter
/// is built.
///
/// The filter has all operations and guarantees of a filter whose layout is known at compile time;
/// the choice costs one predictable branch and a call per operation: up to 45 instructions. Where the rate
/// is known when the program is written, name the layout in the type instead:
/// `CuckooFilter::builder().layout::<Fp12x5>()`. The code of all layouts is compiled into a program that uses it (growing
/// maplets do by default): a release build takes some seconds longer. Name a layout where that matters.
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
/// Of the layouts that reach the rate at the capacity, the one with the smallest table is chosen; of two
/// tables of the same size, the one with the shorter fingerprints. So a rate between two lines gets the
/// layout of the upper line if that reaches it, and else that of the lower line: 0.012 gets `Fp10x6`, and
/// 0.011 gets `Fp12x5`. For a filter that grows, the choice is among the layouts that
/// [can grow](GrowingLayout), and the rate is that at the maximum capacity, or at 2<sup>40</sup> items if there is no
/// maximum.
/// Without a rate the layout is the default, [`Fp16x4`](crate::Fp16x4); for a maplet with values that are
/// too long for it, the smallest that stores them, or the one in which it [grows](crate::MapletBuilder::growable).
///
/// # Examples
///
/// ```
/// use coucal::CuckooFilter;
///
/// let builder = CuckooFilter::builder().capacity(1000).false_positive_rate(0.001);
/// let filter = builder.any_layout().build()?;
/// assert_eq!(filter.layout_name(), "SemiSorted14x5");
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyLayout {}

impl AnyLayout {
    /// The names of all layouts, in the order of the table of [`Layout`]: what
    /// [`layout_named`](crate::Builder::layout_named) takes, for the help of a program, say. A filter that grows takes
    /// those that [can grow](GrowingLayout).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{AnyLayout, CuckooFilter};
    ///
    /// assert_eq!(AnyLayout::NAMES[..4], ["Fp8x8", "Fp9x7", "Fp10x6", "Fp12x5"]);
    /// for name in AnyLayout::NAMES {
    ///     assert!(CuckooFilter::builder().layout_named(name).is_ok());
    /// }
    /// ```
    pub const NAMES: &'static [&'static str] = LayoutId::NAMES;
}

impl Layout for AnyLayout {
    const NAME: &'static str = "AnyLayout";
    const ID: Option<LayoutId> = None;

    type Encoding = <Fp16x4 as Layout>::Encoding;
}

impl GrowingLayout for AnyLayout {}

/// A storage that grows with its items: of a [layout that can grow](GrowingLayout), or of [`AnyLayout`].
///
/// The filter has all operations and guarantees of a filter of fixed size, also while it grows. It is
/// never rebuilt: an insert that leaves the load above a target splits a few buckets, so that the load
/// stays near the target from the first size on. The
/// [documentation of the crate](crate#growth) says what this gives and costs.
///
/// | layout | target load | highest target load |
/// |---|---|---|
/// | [`Fp12x5`](crate::Fp12x5) | 81.5 % | 88.5 % |
/// | [`Fp16x4`](crate::Fp16x4) | 75 % | 87 % |
/// | [`Fp21x3`](crate::Fp21x3) | 76 % | 83 % |
/// | [`Fp32x2`](crate::Fp32x2) | 69 % | 75 % |
///
/// [`Builder::target_load`](crate::Builder::target_load) sets another target, and
/// [`Builder::max_capacity`](crate::Builder::max_capacity) a maximum. Without one, growth ends at 2<sup>44</sup> slots.
///
/// # Examples
///
/// ```
/// use coucal::{Filter, Fp16x4, Growable, GrowableCuckooFilter};
///
/// let filter: Filter<Growable<Fp16x4>> = GrowableCuckooFilter::new();
/// for item in 0..100_000 {
///     filter.insert(&item)?;
/// }
/// assert!(filter.load_factor() > 0.74);
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Growable<L: GrowingLayout>(PhantomData<L>, Infallible);

impl<L: GrowingLayout> Storage for Growable<L> {
    #[doc(hidden)]
    type Layout = L;
    #[doc(hidden)]
    type Buckets<V: Values> = GrowingBuckets<V>;
}
