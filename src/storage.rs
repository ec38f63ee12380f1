//! The type parameter for the table of a filter: its layout is known at compile time or chosen at run time, and its
//! size is fixed or grows.

pub(crate) mod operations;

use core::convert::Infallible;
use core::marker::PhantomData;

use crate::layout::{Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, LayoutId};
use crate::table::placing::entry::{NoValues, Values};
use crate::table::{Buckets, FixedBuckets, GrowingBuckets};

/// The kind of table in a filter, a maplet or an expiring filter: a table of [`Fixed`] size, or a [`Growable`] one.
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
/// let by_rate = CuckooFilter::builder().capacity(1000).false_positive_rate(0.001).any_layout();
/// let growing_by_rate = GrowableCuckooFilter::builder().false_positive_rate(0.001).any_layout();
/// let filters = Filters {
///     fixed: CuckooFilter::with_capacity(1000),
///     with_hasher: CuckooFilter::with_capacity_and_hasher(1000, RandomState::new()),
///     growing: GrowableCuckooFilter::new(),
///     growing_with_hasher: GrowableCuckooFilter::with_hasher(RandomState::new()),
///     for_a_rate: by_rate.clone().build()?,
///     for_a_rate_with_hasher: by_rate.hasher(RandomState::new()).build()?,
///     for_a_rate_and_growing: growing_by_rate.build()?,
///     any_of_them: CuckooFilter::builder().layout::<SemiSorted17x4>().capacity(9).build()?,
/// };
/// # filters.growing.insert("egg")?;
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// A storage is known at compile time: there is no `dyn Storage`. To choose only the layout at run time, use
/// [`AnyLayout`].
///
/// The items are not a type parameter: see [how to name the type of a filter](crate#the-type-of-a-filter).
///
/// ```compile_fail,E0277
/// struct Seen {
///     words: coucal::CuckooFilter<String>, // write CuckooFilter
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a storage: one is `Fixed<Fp16x4>` or `Growable<Fp16x4>`",
    note = "the type of the items is not a parameter of a filter or a maplet",
    note = "in generic code: `Filter<L, S>` with `L: Storage, S: BuildHasher`"
)]
pub trait Storage: Sized + Send + Sync + 'static {
    /// The layout of the buckets of its tables.
    #[doc(hidden)]
    type Layout: Layout;

    /// The buckets of its tables, of fixed size or growing.
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

/// A storage of fixed size, with a [`Layout`] or [`AnyLayout`].
///
/// `Filter<Fixed<L>, S>` is [`CuckooFilter<L, S>`](crate::CuckooFilter). Maplets and expiring filters have such names,
/// too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fixed<L: Layout>(PhantomData<L>, Infallible);

/// A layout whose tables can grow: the parameter of [`Growable`]. These layouts are [`Fp12x5`](crate::Fp12x5),
/// [`Fp16x4`](crate::Fp16x4), [`Fp21x3`](crate::Fp21x3), [`Fp32x2`](crate::Fp32x2), and [`AnyLayout`], which chooses
/// among them.
///
/// The other layouts cannot grow, for two reasons. A slot of a growing table has some bits for growth, and at least
/// four bits that never change: slots of 8 to 10 bits have too few bits left for growth, which would soon end. And a
/// growing table compares parts of fingerprints, but a semi-sorted bucket compares whole fingerprints.
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
            semi-sorted layouts compare only whole fingerprints"
)]
pub trait GrowingLayout: Layout {}

impl GrowingLayout for Fp12x5 {}
impl GrowingLayout for Fp16x4 {}
impl GrowingLayout for Fp21x3 {}
impl GrowingLayout for Fp32x2 {}

/// The smallest layout that reaches a false-positive rate, chosen at run time, when the filter is built.
///
/// The filter has all operations and guarantees of a filter whose layout is known at compile time. The choice costs one
/// predictable branch and one call per operation: up to 48 instructions. It also compiles the code of all layouts into
/// the program, so a release build takes some seconds longer. If you
/// know the rate when you write the program, or if the build time matters, name the layout in the type instead:
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
/// It chooses the layout with the smallest table among those that reach the rate at the capacity. (If keys have
/// [several values](crate::Builder::values_per_key), the entries that are expected in the stash count, too.) If two
/// tables have the same size, it chooses the layout with the shorter fingerprints. So for a rate between two rows, it
/// chooses the layout of the upper row if this layout reaches the rate, and otherwise the layout of the lower row:
/// `Fp10x6` for 0.012, and `Fp12x5` for 0.011.
///
/// For a growing filter, it chooses among the layouts that [can grow](GrowingLayout). The rate is then the rate at the
/// maximum capacity. Without one, it is the rate at 2<sup>40</sup> items, or where growth ends because of long values.
///
/// Without a rate, it chooses the default layout, [`Fp16x4`](crate::Fp16x4). For a maplet with values that are too long
/// for this layout, it chooses the smallest layout that stores them. For growing maplets and expiring filters, see
/// below.
///
/// # Growing maplets and expiring filters
///
/// If a builder of growing maplets or growing expiring filters calls [`any_layout`](crate::Builder::any_layout), it
/// chooses the smallest layout that meets two conditions. (Without a rate, it does not choose [`Fp12x5`].)
///
/// * Growth does not end early (before the [maximum](crate::Builder::max_capacity), if there is one). With a
///   [capacity](crate::Builder::capacity) and no maximum, it may end early.
/// * When the table has doubled ten times, at most 2 % of absent keys have a candidate in a maplet, and at most 0.4 %
///   of the unseen items count as seen in an expiring filter. With a maximum, this holds for the table of that size.
///   With a [rate](crate::Builder::false_positive_rate), this rate takes the place of the 2 % or the 0.4 %.
///
/// If no layout meets them, it chooses [`Fp32x2`]; with a rate, `build` returns an error.
///
/// With neither a maximum nor a rate, the layout of a maplet is [`Fp16x4`] for values of 1 to 3 bits, [`Fp21x3`] for 4
/// to 8 bits, and [`Fp32x2`] for more. That of an expiring filter is [`Fp21x3`] for up to 64 generations, and
/// [`Fp32x2`] for more. With a small maximum, it may be [`Fp16x4`]:
///
/// ```
/// use coucal::{GrowableCuckooMaplet, GrowableExpiringCuckooFilter};
///
/// let builder = GrowableCuckooMaplet::builder().any_layout();
/// for (bits, layout) in [(1, "Fp16x4"), (3, "Fp16x4"), (4, "Fp21x3"), (8, "Fp21x3"), (9, "Fp32x2")] {
///     assert_eq!(builder.clone().value_bits(bits).build()?.layout_name(), layout);
/// }
/// let builder = GrowableExpiringCuckooFilter::builder().any_layout();
/// for (generations, layout) in [(2, "Fp21x3"), (64, "Fp21x3"), (65, "Fp32x2"), (256, "Fp32x2")] {
///     let seen = builder.clone().generations(generations).build()?;
///     assert_eq!(seen.layout_name(), layout);
/// }
/// let small = builder.generations(2).max_capacity(100_000).build()?;
/// assert_eq!(small.layout_name(), "Fp16x4");
/// # Ok::<(), coucal::Error>(())
/// ```
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
    /// The names of all layouts, in the order of the table of [`Layout`].
    /// [`layout_named`](crate::Builder::layout_named) accepts them. (For a growing filter, it accepts only
    /// [`GROWING_NAMES`](Self::GROWING_NAMES).) Use them in the help text of a program, for example.
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

    /// The names of the layouts that [can grow](GrowingLayout), in the order of [`NAMES`](Self::NAMES).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{AnyLayout, GrowableCuckooFilter};
    ///
    /// assert_eq!(AnyLayout::GROWING_NAMES, ["Fp12x5", "Fp16x4", "Fp21x3", "Fp32x2"]);
    /// for name in AnyLayout::GROWING_NAMES {
    ///     assert!(GrowableCuckooFilter::builder().layout_named(name).is_ok());
    /// }
    /// ```
    pub const GROWING_NAMES: &'static [&'static str] = LayoutId::GROWING_NAMES;
}

impl Layout for AnyLayout {
    const NAME: &'static str = "AnyLayout";
    const ID: Option<LayoutId> = None;

    type Encoding = <Fp16x4 as Layout>::Encoding;
}

impl GrowingLayout for AnyLayout {}

/// A storage that grows with its items, with a [layout that can grow](GrowingLayout), or [`AnyLayout`].
///
/// The filter has all operations and guarantees of a filter of fixed size, also while it grows. It is never rebuilt: an
/// insert that leaves the load above a target splits a few buckets, so the load stays near the target from the first
/// size on. The [documentation of the crate](crate#growth) says what growth costs.
///
/// | layout | target load | highest target load |
/// |---|---|---|
/// | [`Fp12x5`](crate::Fp12x5) | 81.5 % | 88.5 % |
/// | [`Fp16x4`](crate::Fp16x4) | 75 % | 87 % |
/// | [`Fp21x3`](crate::Fp21x3) | 76 % | 83 % |
/// | [`Fp32x2`](crate::Fp32x2) | 69 % | 75 % |
///
/// [`Builder::target_load`](crate::Builder::target_load) sets another target, and
/// [`Builder::max_capacity`](crate::Builder::max_capacity) a maximum. Without one, growth ends just below
/// 2<sup>44</sup> slots.
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
