//! The methods that only the builder of maplets has, and constructors with few parameters.
//!
//! **Invariant:** a constructor builds the same maplet as the builder with the same options.

use super::{CuckooMaplet, GrowableCuckooMaplet, Maplet};
use crate::error::Error;
use crate::hasher::DefaultHashBuilder;
use crate::kinds::builder::{Builder, Figures, built};
use crate::layout::{Fp16x4, Fp21x3, Layout};
use crate::sizing::Request;
use crate::storage::{Fixed, Growable, Storage};
use crate::table::placing::entry::ValueBits;

/// The type argument `T` of a [`Builder`] of [`CuckooMaplet`]s: see [`MapletBuilder`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Maplets {}

/// Builds a [`CuckooMaplet`] step by step. [`CuckooMaplet::builder`] returns one. For a maplet that grows, begin with
/// [`GrowableCuckooMaplet::builder`]: it has another default layout.
///
/// It is the [`Builder`] of filters, with the [length of the values](Builder::value_bits). Where a method speaks of the
/// items of a filter, read pairs of a key and a value. Where it speaks of the rate of false positives, read the mean
/// number of [candidates](crate::Candidates) for an absent key.
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

/// Returns the builder that [`CuckooMaplet::builder`] returns.
// Not written with the alias: the record of the interface would omit it.
impl Default for Builder<Fixed<Fp16x4>, DefaultHashBuilder, Maplets> {
    fn default() -> Self {
        Self::with_request(unset())
    }
}

/// Zero is not a valid length: the caller must set the length of the values.
fn unset() -> Request {
    Request { value_bits: Some(0), ..Request::default() }
}

/// The steps that only maplets have.
impl<L: Storage, S> MapletBuilder<L, S> {
    /// Sets the number of bits of each value: from 1 up to the limit of the [layout](crate::CuckooMaplet#layouts).
    /// Every maplet needs this call.
    ///
    /// Each bit of a value takes one bit of the fingerprint, and so doubles the mean number of false candidates.
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
    /// Those of a [filter](Builder::build), with [`values_per_key`](Self::values_per_key) in place of
    /// `copies_per_item`. [`Error::ValueBitsOutOfRange`] if the [value bits](Self::value_bits) are not set or do not
    /// fit into the layout.
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

    /// Returns the figures of the maplet that [`build`](Self::build) would build, when it holds `pairs` pairs. It
    /// allocates nothing.
    ///
    /// # Errors
    ///
    /// Those of [`build`](Self::build), except [`Error::OutOfMemory`]. [`Error::AboveCapacity`] if `pairs` is more than
    /// the maplet holds, or [`Error::AboveMaxCapacity`] if the maplet grows.
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
    /// Sets how many values a key has: from 1, the default, up to four times the slots of a bucket of the
    /// [layout](crate::Layout).
    ///
    /// The two buckets of a key must have room for all its values. So for keys with several values, a table needs more
    /// free slots. Otherwise many pairs are [stashed](crate#the-stash), and a stashed pair costs more memory
    /// and time than free slots. The [capacity](Self::capacity) still counts pairs. With this call, the maplet gets the
    /// load at which its table and its stash together take the least memory for this capacity. In the default layout,
    /// with values of 6 bits:
    ///
    /// | values per key | load | bits per pair | bits per pair without the call | stashed pairs | stashed pairs without the call |
    /// |---|---|---|---|---|---|
    /// | 1 | 96 % | 16.8 | 16.8 | 0 | 0 |
    /// | 2 | 87 % | 18.5 | 22 | 0 | 4.2 % |
    /// | 3 | 68 % | 24 | 27 | 0.1 % | 11 % |
    /// | 4 | 59 % | 29 | 37 | 1.3 % | 15 % |
    /// | 8 | 46 % | 55 | 57 | 20 % | 36 % |
    ///
    /// (The loads are those of [`figures`](Self::figures). The rest was measured with 2^18 and 2^22 slots:
    /// `docs/performance/crowds.csv` in the repository.)
    ///
    /// If a key has no more values than a bucket has slots, few pairs are stashed. With more values, a layout with more
    /// slots stashes fewer pairs. If a key has more values than its two buckets have slots, the others are always
    /// stashed. [`figures`](Self::figures) says how many pairs are stashed.
    ///
    /// If keys have different numbers of values, choose a number that few keys exceed. The call does not help if a few
    /// keys have most of the pairs: their pairs are stashed at any load. A growing maplet has no such setting, but a
    /// [target load](Builder::target_load).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, Error};
    ///
    /// // Which three of 64 runs have a key?
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
    /// # Ok::<(), Error>(())
    /// ```
    pub fn values_per_key(mut self, values: u32) -> Self {
        self.request.values_per_key = Some(values);
        self
    }
}

/// Constructors. For all other choices, use the [builder](CuckooMaplet::builder).
impl CuckooMaplet {
    /// Builds an empty maplet that holds `pairs` pairs, copies included, with values of `value_bits` bits and with the
    /// default layout and hasher.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 10, or if the pairs need more than 2^44 slots. It aborts, as `Vec` does, if
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

    /// Returns a builder. It needs the [length of the values](MapletBuilder::value_bits).
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
    /// Builds a maplet as [`with_capacity`](CuckooMaplet::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`with_capacity`](CuckooMaplet::with_capacity).
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
    /// Builds an empty maplet that grows with its pairs, with values of `value_bits` bits and with the default hasher.
    /// It needs no size. The layout is [`Fp21x3`], whose values have up to 9 bits: [for longer
    /// values](GrowableCuckooMaplet#layouts), name another one.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 9. It aborts, as `Vec` does, if the allocator fails.
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

    /// Returns an empty maplet that has room for `pairs` pairs, with values of `value_bits` bits, before it grows. It
    /// has the default hasher.
    ///
    /// # Panics
    ///
    /// If `value_bits` is not between 1 and 14 (for 0 pairs, between 1 and 9, as in [`new`](Self::new)), or if the
    /// pairs need more than 2^44 slots. (With more than 9 bits, growth ends at the
    /// [`max_capacity`](Self::max_capacity).) It aborts, as `Vec` does, if the allocator fails.
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

    /// Returns a builder of growing maplets: use it to set a maximum, a false-positive rate, another layout or another
    /// hasher, or to get an error in place of a panic.
    ///
    /// The layout is [`Fp21x3`], unless you name another one. If it cannot store the values, or keep the
    /// [rate](MapletBuilder::false_positive_rate) that you set, `build` returns an error that names a layout that can.
    /// With [`any_layout`](MapletBuilder::any_layout), `build` chooses this layout.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Error, GrowableCuckooMaplet};
    ///
    /// let builder = GrowableCuckooMaplet::builder();
    /// let maplet = builder.clone().value_bits(6).max_capacity(1_000_000).build()?;
    /// assert_eq!((maplet.max_capacity(), maplet.layout_name()), (1_000_000, "Fp21x3"));
    ///
    /// let builder = builder.value_bits(12);
    /// let error = builder.clone().build().unwrap_err();
    /// assert!(matches!(error, Error::ValueBitsOutOfRange { other: Some("Fp32x2"), .. }));
    /// assert_eq!(builder.any_layout().build()?.layout_name(), "Fp32x2");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn builder() -> MapletBuilder<Growable<Fp21x3>> {
        MapletBuilder::with_request(unset())
    }
}

impl<S> GrowableCuckooMaplet<Fp21x3, S> {
    /// Builds a maplet as [`new`](GrowableCuckooMaplet::new) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`new`](GrowableCuckooMaplet::new).
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

    /// Builds a maplet as [`with_capacity`](GrowableCuckooMaplet::with_capacity) does, with this hasher.
    ///
    /// # Panics
    ///
    /// In the cases of [`with_capacity`](GrowableCuckooMaplet::with_capacity).
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
