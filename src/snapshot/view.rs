//! Views: lookups in the bytes of a snapshot, which are not copied.
//!
//! **Invariant:** whatever the bytes are, a lookup reads nothing else, and ends after at most two words, 256 binary
//! searches (two for each length of entry) and one look at each stashed entry.

use core::fmt;

#[cfg(feature = "serde")]
use serde_core::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::format::{self, Header, PAIR_BYTES};
use crate::error::{Error, check_lengths};
use crate::hasher::{ComparedHasher, Item, StableHashBuilder};
use crate::layout::{Candidates, Encoding, Fp16x4, Layout, LayoutId, both, by_layout};
use crate::sizing;
use crate::table::placing::entry::{NoValues, Pair, ValueBits, Values};
use crate::table::placing::rates;
use crate::table::{
    Bucket, FixedPlacing, GrowingPlacing, Key, Placing, Read, Sizes, Stashed, prefix,
};

/// A read-only [`CuckooFilter`](crate::CuckooFilter) in the bytes of its snapshot. The bytes stay where they are: in a
/// mapped file, in a block cache, in a message, in a `static`.
///
/// A view copies and decodes nothing. One type reads all layouts, and filters of fixed size and growing filters. The
/// bytes may have any alignment. `B` owns or borrows the bytes: `&[u8]`, `Vec<u8>`, `Arc<[u8]>`, `Bytes`, `Mmap`, a
/// [`Snapshot`](crate::Snapshot).
///
/// * **Lookups are wait-free**: they only read the bytes, and any number of threads may do so at the same time. They
///   answer as the filter did at the instant of its snapshot, with the same false positives.
/// * **Time**: a lookup reads two words of the bytes, as in a filter. If entries are
///   [stashed](crate#the-stash), it also does two binary searches among them for each length of entry that
///   occurs: one length in the snapshot of a filter of fixed size, mostly one in that of a growing filter. A filter has
///   a hash table for stashed entries, so if there are many, a view is slower than a filter.
/// * **Bytes that change** while a view is open, as those of a mapped file can, make answers wrong. They do no other
///   harm: whatever the bytes are, no lookup panics, or reads beyond them.
///
/// The hasher must be that of the filter. For bytes from another process this is a [`StableHashBuilder`], which is the
/// default here.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, CuckooFilterView, StableHashBuilder};
///
/// let hasher = StableHashBuilder::default();
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, hasher);
/// filter.insert("egg")?;
/// let bytes: Vec<u8> = filter.snapshot()?.into_bytes();
///
/// // In another process, with the bytes from a file:
/// let view = CuckooFilterView::from_bytes(&bytes, hasher)?;
/// assert!(view.contains("egg"));
/// assert_eq!(view.len(), 1);
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone)]
pub struct CuckooFilterView<B, S = StableHashBuilder> {
    view: View<B, NoValues>,
    hasher: S,
}

/// A read-only [`CuckooMaplet`](crate::CuckooMaplet) in the bytes of its snapshot, which stay where they are.
///
/// The documentation of [`CuckooFilterView`] says what a view reads, and what a lookup costs.
///
/// This type also reads the snapshot of an [`ExpiringCuckooFilter`](crate::ExpiringCuckooFilter). Then
/// [`contains_key`](Self::contains_key) returns whether the filter remembered an item. The values of such a snapshot
/// are marks of generations, not ages.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooMaplet, CuckooMapletView, StableHashBuilder};
///
/// let hasher = StableHashBuilder::default();
/// let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).hasher(hasher).build()?;
/// maplet.insert("egg", 7)?;
/// let bytes = maplet.snapshot()?.into_bytes();
///
/// let view = CuckooMapletView::from_bytes(&bytes, hasher)?;
/// assert!(view.get("egg").any(|value| value == 7));
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone)]
pub struct CuckooMapletView<B, S = StableHashBuilder> {
    view: View<B, ValueBits>,
    hasher: S,
}

/// A view of bytes whose header was checked: the bytes, and the parts of the header that lookups and figures need.
#[derive(Clone)]
struct View<B, V> {
    bytes: B,
    layout: LayoutId,
    grows: bool,
    value_bits: u32,
    values: V,
    sizes: Sizes,
    /// The number of slots in use.
    occupied: usize,
    /// The number of entries in the stash.
    stashed: usize,
    items: u64,
}

/// Calls `$method` with the encoding of the layout and the kind of the table as type arguments.
macro_rules! by_kind {
    ($view:expr, $method:ident($($argument:expr),*)) => {
        by_layout!($view.layout, F => {
            // If the layout does not grow, the compiler drops this branch: no header says that such a table grows.
            if const { <F as Encoding>::GROWS } && $view.grows {
                $view.$method::<F, GrowingPlacing<_>>($($argument),*)
            } else {
                $view.$method::<F, FixedPlacing<_>>($($argument),*)
            }
        })
    };
}

impl<B: AsRef<[u8]>, V: Values> View<B, V> {
    /// Creates a view. `IS_TRUSTED` says whether the caller trusts the bytes. It is a constant, so that a program
    /// contains only the checks that it uses.
    fn new<const IS_TRUSTED: bool>(bytes: B, hasher: &impl ComparedHasher) -> Result<Self, Error> {
        let all = bytes.as_ref();
        let header = if IS_TRUSTED { Header::decode_trusted(all) } else { Header::decode(all) }?;
        // Lookups in an expiring filter are those of a maplet.
        if V::ANY != header.content.has_values() {
            return Err(header.other_view());
        }
        header.check_hasher(hasher)?;
        if IS_TRUSTED {
            header.check_len(all)?;
        } else {
            header.validate_all(all)?;
        }
        let items = header.items();
        let Header { layout, grows, value_bits, sizes, occupied, stashed, .. } = header;
        let values = V::new(layout.properties(), value_bits);
        Ok(Self { bytes, layout, grows, value_bits, values, sizes, occupied, stashed, items })
    }

    /// Returns a function from the number of a bucket to its word. A bucket that has no bytes is empty.
    #[inline]
    fn words<F: Encoding>(&self) -> impl Fn(usize) -> F {
        let words = format::words(self.sizes, self.bytes.as_ref());
        |number| F::from_bits(words.get(number).map_or(0, |&word| u64::from_le_bytes(word)))
    }

    /// Returns whether there is an entry of the item: with its value, or with any value.
    #[inline]
    fn holds<const WITH_VALUE: bool>(&self, item: V::Item) -> bool {
        // A shortcut for the most frequent layout.
        if self.layout == LayoutId::Fp16x4 && !self.grows {
            type Likely = <Fp16x4 as Layout>::Encoding;
            return self.holds_in::<Likely, FixedPlacing<V>>(item, WITH_VALUE);
        }
        self.holds_in_any(item, WITH_VALUE)
    }

    #[inline(never)]
    fn holds_in_any(&self, item: V::Item, with_value: bool) -> bool {
        by_kind!(self, holds_in(item, with_value))
    }

    /// Returns the number of copies of the item, with its value.
    fn count(&self, item: V::Item) -> usize {
        by_kind!(self, count_in(item))
    }

    /// Returns the values of the key.
    fn values(&self, item: V::Item) -> Candidates {
        by_kind!(self, values_in(item))
    }

    // Always inlined: a call takes more instructions.
    #[inline(always)]
    fn holds_in<F: Encoding, K: Placing<Values = V>>(
        &self,
        item: V::Item,
        with_value: bool,
    ) -> bool {
        let read = self.read::<F, K>(item);
        if read.holds_item(with_value) {
            return true;
        }
        let mut found = false;
        self.each_stashed(read.key, with_value, |_| found = true);
        found
    }

    /// Returns the key of an item, its buckets, and their words.
    // Always inlined: the result does not fit into the registers that a call can return.
    #[inline(always)]
    fn read<F: Encoding, K: Placing<Values = V>>(&self, item: V::Item) -> Read<F, K> {
        let (geometry, placement) = K::placed::<F>(self.sizes, self.values);
        let key = geometry.key_of_item::<V>(item);
        let buckets = both(key.places(), |place| Bucket::of(placement, place));
        Read { key, buckets, words: both(buckets, |bucket| self.words()(bucket.number())) }
    }

    fn count_in<F: Encoding, K: Placing<Values = V>>(&self, item: V::Item) -> usize {
        let Read { key, buckets, words } = self.read::<F, K>(item);
        let copies = |at: usize| buckets[at].copies(words[at], key.places()[at], None);
        let mut count = copies(0) + copies(1);
        // Saturating, since trusted bytes may state anything.
        self.each_stashed(key, true, |stashed| count = count.saturating_add(stashed.copies));
        count
    }

    #[inline]
    fn values_in<F: Encoding, K: Placing<Values = V>>(&self, item: V::Item) -> Candidates {
        let read = self.read::<F, K>(item);
        let mut candidates = read.values();
        let shift = F::BITS - self.value_bits;
        self.each_stashed(read.key, false, |stashed| {
            candidates.add(stashed.place.entry.bits() >> shift);
        });
        candidates.sort_added();
        candidates
    }

    fn rate_in<F: Encoding, K: Placing<Values = V>>(&self) -> f64 {
        let &Self { sizes, value_bits, .. } = self;
        let (_, placement) = K::placed::<F>(sizes, self.values);
        let entries = self.occupied + self.stashed;
        let words = self.words::<F>();
        rates::false_positive_rate::<F, K>(placement, sizes.buckets, value_bits, entries, words)
    }

    /// Calls `found` with each entry of the item in the stash: with its value, or with any value.
    #[inline]
    fn each_stashed(&self, key: Key, with_value: bool, found: impl FnMut(Stashed)) {
        if self.stashed > 0 {
            self.search_stash(key, with_value, found);
        }
    }

    /// Searches the stash. The entries are sorted by length, then by position; each length that occurs is searched.
    #[cold]
    #[inline(never)]
    fn search_stash(&self, key: Key, with_value: bool, mut found: impl FnMut(Stashed)) {
        let item = key.even();
        let below = self.values.below().filter(|_| !with_value);
        let mask = below.map_or(u32::MAX, |below| below as u32);
        let stashed = |entry: &[u8; PAIR_BYTES]| Stashed::of_words(format::cell_words(entry));
        let known = |entry: &[u8; PAIR_BYTES]| stashed(entry).place.entry.known();
        let mut rest = format::stash(self.sizes, self.stashed, self.bytes.as_ref());
        let mut lengths = 0..;
        // Unchecked bytes may be in any order. The loop ends, since each round takes a greater length.
        while let Some(length) = rest.first().map(known).filter(|length| lengths.contains(length)) {
            lengths = length + 1..;
            let (run, others) =
                rest.split_at(rest.partition_point(|entry| known(entry) <= length).max(1));
            rest = others;
            let position = prefix(item.position, length);
            let start = run.partition_point(|entry| stashed(entry).place.position < position);
            let at_position = run[start..].iter().map(stashed);
            at_position
                .take_while(|stashed| stashed.place.position == position)
                .filter(|stashed| (stashed.place.entry.bits() ^ item.entry.bits()) & mask == 0)
                .for_each(&mut found);
        }
    }
}

/// Implements the methods and the traits that both types of views have.
macro_rules! views {
    ($($view:ident: $item:literal, $rate:literal;)*) => {$(
        impl<B: AsRef<[u8]>, S: ComparedHasher> $view<B, S> {
            /// Creates a view of bytes that are one snapshot and nothing else. Checks every byte once. For a filter of
            /// fixed size, this takes about as long as reading the bytes from memory; for a growing one, some ten times
            /// as long.
            ///
            /// # Errors
            ///
            /// Those of [`CuckooFilter::from_bytes`](crate::CuckooFilter::from_bytes), except
            /// [`Error::OtherLayout`] and [`Error::OtherType`]: a view reads all layouts, of fixed size or growing. A
            /// view of filters returns [`Error::OtherView`] for the snapshot of a maplet or an expiring filter, and a
            /// view of maplets for the snapshot of a filter.
            pub fn from_bytes(bytes: B, hasher: S) -> Result<Self, Error> {
                View::new::<false>(bytes, &hasher).map(|view| Self { view, hasher })
            }

            /// Creates a view of bytes that were checked after they were written, for example by a block cache or by a
            /// file system with checksums. Checks only the header and the length: this takes as long as a few lookups,
            /// whatever the size.
            ///
            /// Damaged bytes make answers wrong: a lookup may even miss an item ([other causes of
            /// this](crate#if-a-lookup-misses-what-you-inserted)). They do no other harm: no lookup panics, or reads
            /// beyond the bytes. At worst a lookup reads each stashed entry that the header counts.
            ///
            /// # Errors
            ///
            /// The errors of `from_bytes` that are about the header, [`Error::Truncated`], and
            /// [`Error::TrailingBytes`].
            pub fn from_trusted_bytes(bytes: B, hasher: S) -> Result<Self, Error> {
                View::new::<true>(bytes, &hasher).map(|view| Self { view, hasher })
            }
        }

        impl<B: AsRef<[u8]>, S> $view<B, S> {
            #[doc = concat!("Returns the number of ", $item, "s. Each copy counts.")]
            #[must_use]
            pub fn len(&self) -> usize {
                sizing::in_address_space(self.view.items)
            }

            #[doc = concat!("Returns whether there is no ", $item, ".")]
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns the name of the layout of the snapshot: its [`Layout::NAME`](crate::Layout::NAME).
            #[must_use]
            pub fn layout_name(&self) -> &'static str {
                self.view.layout.name()
            }

            #[doc = $rate]
            ///
            /// For a growing table, it is an estimate from a sample of the words.
            #[must_use]
            pub fn false_positive_rate(&self) -> f64 {
                by_kind!(self.view, rate_in())
            }

            /// Returns the bytes.
            #[must_use]
            pub fn as_bytes(&self) -> &[u8] {
                self.view.bytes.as_ref()
            }

            /// Returns the value that owns or borrows the bytes.
            #[must_use]
            pub fn into_inner(self) -> B {
                self.view.bytes
            }
        }

        impl<B: AsRef<[u8]>, S> fmt::Debug for $view<B, S> {
            /// Prints figures, not the bytes.
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("layout", &self.layout_name())
                    .field("len", &self.len())
                    .field("bytes", &self.as_bytes().len())
                    .finish_non_exhaustive()
            }
        }

        #[cfg(feature = "serde")]
        impl<B: AsRef<[u8]>, H> Serialize for $view<B, H> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_bytes(self.as_bytes())
            }
        }

        /// Deserializes from a format that lends its bytes, with the hasher `H::default()`.
        #[cfg(feature = "serde")]
        impl<'de: 'a, 'a, H: ComparedHasher + Default> Deserialize<'de> for $view<&'a [u8], H> {
            /// Deserializes borrowed bytes, and opens them with the hasher `H::default()`.
            ///
            /// # Errors
            ///
            /// Those of the format, also if it does not lend its bytes; and those of [`from_bytes`](Self::from_bytes),
            /// as an error of the format with their message.
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let bytes = <&[u8]>::deserialize(deserializer)?;
                Self::from_bytes(bytes, H::default()).map_err(de::Error::custom)
            }
        }
    )*};
}

views! {
    CuckooFilterView: "item",
        "Returns the expected [share of absent items](crate::CuckooFilter::false_positive_rate) that a lookup reports \
         as present.";
    CuckooMapletView: "pair",
        "Returns the mean number of [false candidates of an absent key](crate::CuckooMaplet::false_positive_rate), \
         which is not a probability: it may be above 1.";
}

impl<B: AsRef<[u8]>, S> CuckooFilterView<B, S> {
    /// Returns whether the item is in the filter, or is a false positive, as
    /// [`CuckooFilter::contains`](crate::CuckooFilter::contains) did.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooFilterView, Prehashed};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let view = CuckooFilterView::from_bytes(filter.snapshot()?, filter.hasher().clone())?;
    /// assert!(view.contains("egg") && view.contains(&Prehashed(filter.hash_of("egg"))));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Item<S> + ?Sized>(&self, item: &Q) -> bool {
        self.view.holds::<false>(item.hash_with(&self.hasher))
    }

    /// Returns the number of copies of the item, including copies of its false positives.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooFilterView};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "egg"])?;
    /// let view = CuckooFilterView::from_bytes(filter.snapshot()?, filter.hasher().clone())?;
    /// assert_eq!(view.count("egg"), 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn count<Q: Item<S> + ?Sized>(&self, item: &Q) -> usize {
        self.view.count(item.hash_with(&self.hasher))
    }

    /// Writes to `counts` the number of copies of each item.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices have different lengths; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooFilterView};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert_many(&["egg", "egg"])?;
    /// let view = CuckooFilterView::from_bytes(filter.snapshot()?, filter.hasher().clone())?;
    /// let mut counts = [0];
    /// view.count_many(&["egg"], &mut counts)?;
    /// assert_eq!(counts, [2]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn count_many<Q: Item<S>>(&self, items: &[Q], counts: &mut [usize]) -> Result<(), Error> {
        check_lengths(items.len(), counts.len())?;
        for (item, count) in items.iter().zip(counts) {
            *count = self.count(item);
        }
        Ok(())
    }

    /// Writes to `found` whether each item is in the filter.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices have different lengths; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, CuckooFilterView};
    ///
    /// let filter = CuckooFilter::with_capacity(100);
    /// filter.insert("egg")?;
    /// let view = CuckooFilterView::from_bytes(filter.snapshot()?, filter.hasher().clone())?;
    /// let mut found = [false; 2];
    /// view.contains_many(&["egg", "nest"], &mut found)?;
    /// assert_eq!(found, [true, filter.contains("nest")]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn contains_many<Q: Item<S>>(&self, items: &[Q], found: &mut [bool]) -> Result<(), Error> {
        check_lengths(items.len(), found.len())?;
        for (item, found) in items.iter().zip(found) {
            *found = self.contains(item);
        }
        Ok(())
    }
}

impl<B: AsRef<[u8]>, S> CuckooMapletView<B, S> {
    /// Returns the values of the key, and few others, as [`CuckooMaplet::get`](crate::CuckooMaplet::get) did.
    ///
    /// # Aborts
    ///
    /// As `CuckooMaplet::get`, which allocates only if values of the key, or of a key that collides with it, are
    /// stashed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// assert!(view.get("egg").eq([7]));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    pub fn get<Q: Item<S> + ?Sized>(&self, key: &Q) -> Candidates {
        self.view.values(self.pair(key, 0))
    }

    /// Returns whether the key has a value, or is a false positive.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// assert!(view.contains_key("egg"));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains_key<Q: Item<S> + ?Sized>(&self, key: &Q) -> bool {
        self.view.holds::<false>(self.pair(key, 0))
    }

    /// Returns whether the key has this value, or the pair is a false positive, as
    /// [`CuckooMaplet::contains`](crate::CuckooMaplet::contains) did.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// assert!(view.contains("egg", 7) && !view.contains("egg", 9));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[inline]
    #[must_use]
    pub fn contains<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> bool {
        self.fits(value) && self.view.holds::<true>(self.pair(key, value))
    }

    /// Writes to `found`, for each pair, whether the key has the value.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices have different lengths; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// let mut found = [false; 2];
    /// view.contains_many(&[("egg", 7), ("egg", 9)], &mut found)?;
    /// assert_eq!(found, [true, false]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn contains_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32)],
        found: &mut [bool],
    ) -> Result<(), Error> {
        check_lengths(pairs.len(), found.len())?;
        for ((key, value), found) in pairs.iter().zip(found) {
            *found = self.contains(key, *value);
        }
        Ok(())
    }

    /// Returns the number of copies of the pair, including copies of its false positives.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert_many(&[("egg", 7), ("egg", 7), ("egg", 9)])?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// assert_eq!(view.count("egg", 7), 2);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn count<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> usize {
        if self.fits(value) { self.view.count(self.pair(key, value)) } else { 0 }
    }

    /// Writes to `counts` the number of copies of each pair.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices have different lengths; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert_many(&[("egg", 7), ("egg", 7)])?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// let mut counts = [0; 2];
    /// view.count_many(&[("egg", 7), ("egg", 9)], &mut counts)?;
    /// assert_eq!(counts, [2, 0]);
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn count_many<Q: Item<S>>(
        &self,
        pairs: &[(Q, u32)],
        counts: &mut [usize],
    ) -> Result<(), Error> {
        check_lengths(pairs.len(), counts.len())?;
        for ((key, value), count) in pairs.iter().zip(counts) {
            *count = self.count(key, *value);
        }
        Ok(())
    }

    /// Writes to `candidates` the values of each key, and few others.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] if the two slices have different lengths; then nothing is written.
    ///
    /// # Aborts
    ///
    /// As [`get`](Self::get).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{Candidates, CuckooMaplet, CuckooMapletView};
    ///
    /// let maplet = CuckooMaplet::with_capacity(100, 6);
    /// maplet.insert("egg", 7)?;
    /// let view = CuckooMapletView::from_bytes(maplet.snapshot()?, maplet.hasher().clone())?;
    /// let mut candidates = [const { Candidates::new() }; 2];
    /// view.get_many(&["egg", "nest"], &mut candidates)?;
    /// assert!(candidates[0].any(|value| value == 7));
    /// # Ok::<(), coucal::Error>(())
    /// ```
    pub fn get_many<Q: Item<S>>(
        &self,
        keys: &[Q],
        candidates: &mut [Candidates],
    ) -> Result<(), Error> {
        check_lengths(keys.len(), candidates.len())?;
        for (key, candidates) in keys.iter().zip(candidates) {
            *candidates = self.get(key);
        }
        Ok(())
    }

    /// Returns the number of bits of each value.
    #[must_use]
    pub fn value_bits(&self) -> u32 {
        self.view.value_bits
    }

    /// Returns whether `value` fits into the value bits.
    #[inline]
    fn fits(&self, value: u32) -> bool {
        value >> self.value_bits() == 0
    }

    #[inline]
    fn pair<Q: Item<S> + ?Sized>(&self, key: &Q, value: u32) -> Pair {
        Pair { hash: key.hash_with(&self.hasher), value }
    }
}
