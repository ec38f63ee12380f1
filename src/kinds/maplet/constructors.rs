//! What the builder of maplets has beside what all builders have; and the constructors for those who choose little of it.
//!
//! **Invariant:** a constructor makes what the builder makes of the same choices.

use super::{CuckooMaplet, GrowableCuckooMaplet, Maplet};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Figures, built};
use crate::layout::{Fp16x4, Layout};
use crate::sizing::Request;
use crate::storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
use crate::table::placing::entry::ValueBits;

/// What a [`MapletBuilder`] builds: a [`CuckooMaplet`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maplets {}

/// Builds a [`CuckooMaplet`] step by step; made by [`CuckooMaplet::builder`].
///
/// It is the [`Builder`] of filters, with the [length of the values](Builder::value_bits). Where the
/// documentation of a method speaks of items of a filter, these are the pairs of a key and a value; where
/// it speaks of the rate of false positives, it is the mean number of [candidates](crate::Candidates) for
/// an absent key.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooMaplet, MapletBuilder};
///
/// let builder: MapletBuilder = CuckooMaplet::builder().capacity(10_000).value_bits(6);
/// let maplet = builder.false_positive_rate(0.01).build()?;
/// assert_eq!((maplet.capacity(), maplet.value_bits()), (10_000, 6));
/// # Ok::<(), coucal::Error>(())
/// ```
pub type MapletBuilder<L = Fixed<Fp16x4>, S = DefaultHashBuilder> = Builder<L, S, Maplets>;

/// As [`CuckooMaplet::builder`].
impl Default for MapletBuilder {
    fn default() -> Self {
        // None that can be built: whoever calls the builder says how long the values are.
        Self::with_request(Request { value_bits: Some(0), ..Request::default() })
    }
}

/// What is built: a maplet.
impl<L: Storage, S> MapletBuilder<L, S> {
    /// The bits of each value: from 1 to as many as the [layout](crate::CuckooMaplet#layouts) has room for.
    /// A maplet needs it.
    ///
    /// Each bit of a value is one bit less of the fingerprint, so it doubles the mean number of false
    /// candidates.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, CuckooMaplet};
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.insert("egg", 63).is_ok());
    /// assert!(maplet.insert("egg", 64).is_err());
    ///
    /// assert!(CuckooMaplet::builder().capacity(1000).build().is_err());
    /// let error = CuckooMaplet::builder().capacity(1000).value_bits(12).build().unwrap_err();
    /// assert!(matches!(error, Error::ValueBitsOutOfRange { other: Some("Fp21x3"), .. }));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn value_bits(mut self, bits: u32) -> Self {
        self.request.value_bits = Some(bits);
        self
    }

    /// Builds an empty maplet.
    ///
    /// # Errors
    ///
    /// Those of a [filter](Builder::build), and [`Error::ValueBitsOutOfRange`] for [value bits](Self::value_bits) that
    /// are not given or do not fit into the layout. [`Error::ValuesPerKeyOutOfRange`] is that of
    /// [`values_per_key`](Self::values_per_key).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert!(maplet.is_empty());
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn build(self) -> Result<Maplet<L, S>, Error> {
        self.build_inner(size_of::<Maplet<L, S>>()).map(|inner| Maplet { inner })
    }

    /// What [`build`](Self::build) would build, when it holds this number of pairs. It allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except [`Error::OutOfMemory`]; and [`Error::AboveCapacity`], or
    /// [`Error::AboveMaxCapacity`] if it grows, for more pairs than the maplet holds.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let builder = GrowableCuckooMaplet::builder().value_bits(6);
    /// let figures = builder.figures(1_000_000)?;
    /// assert_eq!(figures.layout_name, "Fp21x3");
    /// assert!(figures.bits_per_item < 31.0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn figures(&self, pairs: usize) -> Result<Figures, Error> {
        self.figures_of::<ValueBits>(pairs, size_of::<Maplet<L, S>>())
    }
}

/// Keys with several values, in a maplet of fixed size.
impl<L: Layout, S> MapletBuilder<Fixed<L>, S> {
    /// How many values a key has, for keys with several: from 1, which is the default, to four times the slots of a
    /// bucket of the [layout](crate::Layout).
    ///
    /// The two buckets of a key must have room for all its values. So for keys with several values a table needs more
    /// free slots, or it [stashes](crate#what-finds-no-room) many pairs, and these cost more memory and time than free
    /// slots do. With this number, the [capacity](Self::capacity) is still that of pairs, and is met at the load at which
    /// the maplet with its stash is smallest. In the default layout, with values of 6 bits:
    ///
    /// | values per key | load | bits per pair | without the call | pairs that are stashed | without the call |
    /// |---|---|---|---|---|---|
    /// | 1 | 96 % | 16.8 | 16.8 | 0 | 0 |
    /// | 2 | 87 % | 18.6 | 26 | 0 | 4.1 % |
    /// | 3 | 69 % | 23.7 | 37 | 0.2 % | 11 % |
    /// | 4 | 63 % | 30 | 54 | 1.5 % | 14 % |
    /// | 8 | 46 % | 73 | 91 | 20 % | 36 % |
    ///
    /// Up to as many values as a bucket has slots, few pairs are stashed. Beyond that, a layout with more slots stashes
    /// fewer; and with more than two buckets have slots, the others of each key are always stashed.
    /// [`figures`](Self::figures) says how many are.
    ///
    /// If keys have different numbers of values, take one that few of them exceed. It is of no use where some keys have
    /// most of the pairs: what these have is stashed at any load. A maplet that grows goes by its
    /// [target load](Self::target_load) and not by a capacity: for it, this is an error.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Error};
    ///
    /// // In which three of 64 runs is a key?
    /// let builder = CuckooMaplet::builder().capacity(30_000).value_bits(6).values_per_key(3);
    /// let runs = builder.clone().build()?;
    /// for key in 0..10_000 {
    ///     for run in [key % 61, key % 61 + 1, key % 61 + 2] {
    ///         runs.insert(&key, run)?;
    ///     }
    /// }
    /// let stashed = runs.stats().stashed_entries as f64 / 30_000.0;
    /// assert!(stashed < 0.01 && builder.figures(30_000)?.stashed_share < 0.01);
    ///
    /// let error = builder.clone().values_per_key(17).build().unwrap_err();
    /// assert!(matches!(error, Error::ValuesPerKeyOutOfRange { max: 16, .. }));
    /// assert!(builder.growable().build().is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values_per_key(mut self, values: u32) -> Self {
        self.request.values_per_key = Some(values);
        self
    }
}

/// Growth of a maplet.
impl<L: GrowingLayout, S> MapletBuilder<Fixed<L>, S> {
    /// A maplet that [grows](crate#growth) with its pairs, as one that is [`growable`](Self::growable), but only
    /// up to this number of pairs, which is at least the [`capacity`](Self::capacity).
    ///
    /// The capacity may be left out. Then a maplet begins with 128 buckets, or with what this maximum needs if that
    /// is less; or, with [long values](crate::CuckooMaplet#layouts), with what it needs to reach the maximum.
    ///
    /// A layout that is named before is kept, and chosen at run time; with `layout::<Fp21x3>()` after this call, it is in
    /// the type.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().max_capacity(1_000_000).value_bits(6).build()?;
    /// assert_eq!(maplet.max_capacity(), 1_000_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn max_capacity(self, pairs: usize) -> MapletBuilder<Growable<AnyLayout>, S> {
        self.with_growth(Some(pairs))
    }

    /// A maplet that [grows](crate#growth) with its pairs, as far as memory goes, or to 2^44 slots.
    ///
    /// Neither a size nor a layout needs to be said. [`build`](Builder::build) chooses the layout by the
    /// [`value_bits`](Builder::value_bits): the smallest in which growth does not end, and in which at most 2 % of
    /// absent keys have a candidate when the maplet has doubled ten times (or when it is as large as its
    /// [`max_capacity`](Self::max_capacity); or at most the [rate](Self::false_positive_rate) that it is given). With 1
    /// to 3 bits that is [`Fp16x4`], with 4 to 8 [`Fp21x3`](crate::Fp21x3), with more [`Fp32x2`](crate::Fp32x2).
    ///
    /// A layout that is named before is kept, and chosen at run time. To have it in the type, name it after this call:
    /// `.growable().layout::<Fp21x3>()`.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, GrowableCuckooMaplet};
    ///
    /// let maplet: GrowableCuckooMaplet = CuckooMaplet::builder().growable().value_bits(6).build()?;
    /// for key in 0..100_000 {
    ///     maplet.insert(&key, key % 64)?;
    /// }
    /// assert_eq!((maplet.len(), maplet.layout_name()), (100_000, "Fp21x3"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn growable(self) -> MapletBuilder<Growable<AnyLayout>, S> {
        self.with_growth(None)
    }
}

/// Constructors: for all else there is the [builder](CuckooMaplet::builder).
impl CuckooMaplet {
    /// An empty maplet that holds `pairs` pairs of a key and a value of this many bits, copies included, with the
    /// default layout and hasher.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 10, or the pairs need more than 2^44 slots. It aborts, as `Vec` does, if
    /// the allocator fails. `CuckooMaplet::builder().capacity(pairs).value_bits(bits).build()` returns an error
    /// instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::with_capacity(1000, 6);
    /// maplet.insert("egg", 63)?;
    /// assert!(maplet.get("egg").any(|value| value == 63));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(pairs: usize, value_bits: u32) -> Self {
        Self::with_capacity_and_hasher(pairs, value_bits, DefaultHashBuilder::default())
    }

    /// A builder, which needs the [length of the values](MapletBuilder::value_bits).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::CuckooMaplet;
    ///
    /// let maplet = CuckooMaplet::builder().capacity(1000).value_bits(6).build()?;
    /// assert_eq!(maplet.len(), 0);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> MapletBuilder {
        MapletBuilder::default()
    }
}

impl<S> CuckooMaplet<Fp16x4, S> {
    /// As [`with_capacity`](CuckooMaplet::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](CuckooMaplet::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, StableHashBuilder};
    ///
    /// let maplet = CuckooMaplet::with_capacity_and_hasher(1000, 6, StableHashBuilder::new(7));
    /// assert!(maplet.insert("egg", 63).is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(pairs: usize, value_bits: u32, hasher: S) -> Self {
        built(CuckooMaplet::builder().capacity(pairs).value_bits(value_bits).hasher(hasher).build())
    }
}

impl GrowableCuckooMaplet {
    /// An empty maplet that grows with its pairs of a key and a value of this many bits, with the default hasher. No
    /// size is needed, and no layout: [`growable`](MapletBuilder::growable) says which one it has.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 20. It aborts, as `Vec` does, if the allocator fails.
    /// `GrowableCuckooMaplet::builder().value_bits(bits).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let maplet = GrowableCuckooMaplet::new(1);
    /// maplet.insert_all((0..10_000).map(|key| (key, u32::from(key % 2 == 0))))?;
    /// assert!(maplet.get(&7).any(|is_even| is_even == 0));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn new(value_bits: u32) -> Self {
        Self::with_hasher(value_bits, DefaultHashBuilder::default())
    }

    /// An empty maplet that has room for `pairs` pairs, with values of this many bits, before it grows, with the default hasher.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 23, or the pairs need more than 2^44 slots. With more than 20 bits, growth ends
    /// at the [`max_capacity`](Self::max_capacity). It aborts, as `Vec` does, if the allocator fails.
    /// `GrowableCuckooMaplet::builder().capacity(pairs).value_bits(bits).build()` returns an error instead.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let maplet = GrowableCuckooMaplet::with_capacity(10_000, 6);
    /// let slots = maplet.slots();
    /// maplet.insert_all((0..10_000).map(|key| (key, 7)))?;
    /// assert_eq!(maplet.slots(), slots);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity(pairs: usize, value_bits: u32) -> Self {
        Self::with_capacity_and_hasher(pairs, value_bits, DefaultHashBuilder::default())
    }

    /// A builder of maplets that grow: for a maximum, a false-positive rate, another layout or another hasher, and for an
    /// error in place of a panic.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::GrowableCuckooMaplet;
    ///
    /// let maplet = GrowableCuckooMaplet::builder().value_bits(6).max_capacity(1_000_000).build()?;
    /// assert_eq!(maplet.max_capacity(), 1_000_000);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn builder() -> MapletBuilder<Growable<AnyLayout>> {
        CuckooMaplet::builder().growable()
    }
}

impl<S> GrowableCuckooMaplet<AnyLayout, S> {
    /// As [`new`](GrowableCuckooMaplet::new), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`new`](GrowableCuckooMaplet::new).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableCuckooMaplet, StableHashBuilder};
    ///
    /// let maplet = GrowableCuckooMaplet::with_hasher(1, StableHashBuilder::new(7));
    /// assert!(maplet.insert("egg", 1).is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_hasher(value_bits: u32, hasher: S) -> Self {
        built(GrowableCuckooMaplet::builder().value_bits(value_bits).hasher(hasher).build())
    }

    /// As [`with_capacity`](GrowableCuckooMaplet::with_capacity), with this hasher.
    ///
    /// # Panics
    ///
    /// As [`with_capacity`](GrowableCuckooMaplet::with_capacity).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{GrowableCuckooMaplet, StableHashBuilder};
    ///
    /// let hasher = StableHashBuilder::new(7);
    /// let maplet = GrowableCuckooMaplet::with_capacity_and_hasher(1000, 1, hasher);
    /// assert!(maplet.insert("egg", 1).is_ok());
    /// ```
    #[must_use]
    #[track_caller]
    pub fn with_capacity_and_hasher(pairs: usize, value_bits: u32, hasher: S) -> Self {
        let builder = GrowableCuckooMaplet::builder().capacity(pairs).value_bits(value_bits);
        built(builder.hasher(hasher).build())
    }
}
