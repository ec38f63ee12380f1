//! A filter whose layout is chosen as the program runs: the API of `CuckooFilter`, dispatched.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::builder::{self, Fit};
use crate::error::{BuildError, InsertError, InsertManyError, LengthMismatch};
use crate::filter::Stats;
use crate::for_each_layout;
use crate::hasher::DefaultHashBuilder;
use crate::layout::{self, Layout};
use crate::table::Table;

/// A [`CuckooFilter`](crate::CuckooFilter) of the smallest layout that reaches a rate of false
/// positives, chosen as the program runs.
///
/// It does all that a `CuckooFilter` does, with the same guarantees; the choice costs one
/// predictable branch an operation: up to 8 % of the time of a lookup, and in cache of an insert or
/// a removal; nothing that shows of those out of it. Where the rate is known when the program is
/// written, name the layout in the type instead: `CuckooFilter::builder().layout::<Fp12x5>()`.
///
/// What it chooses for a million items, and all the memory it takes then:
///
/// | rate | layout | bits an item |
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
/// Between two lines, the one with the lower rate holds.
///
/// # Examples
///
/// ```
/// use coucal::AnyCuckooFilter;
///
/// let filter = AnyCuckooFilter::with_capacity_and_rate(10_000, 0.001)?;
/// filter.insert("egg")?;
/// assert!(filter.contains("egg"));
/// assert_eq!(filter.layout_name(), "SemiSorted14x5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AnyCuckooFilter<S = DefaultHashBuilder> {
    table: AnyTable,
    hasher: S,
    capacity: usize,
}

/// A layout, what it comes to for some number of items, and how its table is built.
pub(crate) struct Choice {
    pub(crate) fit: Fit,
    build: fn(buckets: usize) -> Result<AnyTable, BuildError>,
}

macro_rules! define {
    ($($layout:ident)*) => {
        /// A table of any layout.
        enum AnyTable {
            $($layout(Table<layout::$layout>),)*
        }

        /// All layouts whose tables can be addressed, from the shortest fingerprint to the longest.
        fn choices(items: usize) -> impl Iterator<Item = Choice> {
            let choices = [$(Fit::of::<layout::$layout>(items).map(|fit| Choice {
                fit,
                build: |buckets| builder::table(buckets).map(AnyTable::$layout),
            }),)*];
            choices.into_iter().flatten()
        }
    };
}

for_each_layout!(define);

/// The smallest layout that reaches `rate` with so many items. Of equally small ones it is the one
/// with the shortest fingerprints: the others are no faster.
pub(crate) fn smallest(items: usize, rate: f64) -> Result<Choice, BuildError> {
    builder::check(rate)?;
    choices(items)
        .filter(|choice| choice.fit.rate <= rate)
        .min_by_key(|choice| choice.fit.buckets)
        .ok_or_else(|| match choices(items).map(|choice| choice.fit.rate).reduce(f64::min) {
            Some(reached) => BuildError::RateOutOfReach { rate, reached, layout: None },
            None => BuildError::CapacityOverflow { capacity: items },
        })
}

/// Evaluates an expression on the table, whatever its layout.
macro_rules! with_table {
    ($filter:ident, $table:ident => $value:expr) => {
        for_each_layout!(of_each_layout [$filter $table $value])
    };
}

macro_rules! of_each_layout {
    ([$filter:ident $table:ident $value:expr] $($layout:ident)*) => {
        match &$filter.table {
            $(AnyTable::$layout($table) => $value,)*
        }
    };
}

fn name_of<L: Layout>(_: &Table<L>) -> &'static str {
    L::NAME
}

fn rate_of<L: Layout>(_: &Table<L>, load: f64) -> f64 {
    builder::false_positive_rate::<L>(load)
}

impl AnyCuckooFilter {
    /// An empty filter that holds `items` distinct items and, when it does, reports no more than
    /// the share `rate` (between 0 and 1) of absent items as present.
    ///
    /// # Errors
    ///
    /// [`BuildError`]: for a rate that is none, or lower than any layout's; and for a capacity whose
    /// table cannot be addressed or allocated.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(10_000, 0.01)?;
    /// assert_eq!(filter.capacity(), 10_000);
    /// assert!(AnyCuckooFilter::with_capacity_and_rate(10_000, 1e-12).is_err());
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn with_capacity_and_rate(items: usize, rate: f64) -> Result<Self, BuildError> {
        Self::with_capacity_rate_and_hasher(items, rate, DefaultHashBuilder::default())
    }
}

impl<S> AnyCuckooFilter<S> {
    /// As [`with_capacity_and_rate`](AnyCuckooFilter::with_capacity_and_rate), each item hashed by
    /// `hasher`.
    ///
    /// # Errors
    ///
    /// The same.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::RandomState;
    /// use coucal::AnyCuckooFilter;
    ///
    /// let hasher = RandomState::new();
    /// let filter = AnyCuckooFilter::with_capacity_rate_and_hasher(10_000, 0.01, hasher)?;
    /// assert!(filter.insert("egg").is_ok());
    /// # Ok::<(), coucal::BuildError>(())
    /// ```
    pub fn with_capacity_rate_and_hasher(
        items: usize,
        rate: f64,
        hasher: S,
    ) -> Result<Self, BuildError> {
        let Choice { fit, build } = smallest(items, rate)?;
        Ok(Self { table: build(fit.buckets)?, hasher, capacity: items })
    }
}

/// Operations on items: as those of [`CuckooFilter`](crate::CuckooFilter), where each says what it
/// blocks and waits for.
impl<S: BuildHasher> AnyCuckooFilter<S> {
    /// Adds one more copy of `item`. As [`CuckooFilter::insert`](crate::CuckooFilter::insert).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] and [`InsertError::TooManyCopies`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// filter.insert("egg")?;
    /// assert_eq!(filter.count("egg"), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn insert<Q: Hash + ?Sized>(&self, item: &Q) -> Result<(), InsertError> {
        self.insert_hash(self.hash_of(item))
    }

    /// Adds `item` unless it is there: `Ok(true)` if it was inserted, `Ok(false)` if it was there.
    /// As [`CuckooFilter::insert_unique`](crate::CuckooFilter::insert_unique).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.insert_unique("egg"), Ok(true));
    /// assert_eq!(filter.insert_unique("egg"), Ok(false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn insert_unique<Q: Hash + ?Sized>(&self, item: &Q) -> Result<bool, InsertError> {
        self.insert_unique_hash(self.hash_of(item))
    }

    /// Whether `item` is in the filter. `false` is certain; `true` may be wrong, at the rate the
    /// filter was made for. Wait-free. As [`CuckooFilter::contains`](crate::CuckooFilter::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert!(filter.contains("egg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::inline_always, reason = "as a call it costs a third more out of cache")]
    #[inline(always)]
    #[must_use]
    pub fn contains<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.contains_hash(self.hash_of(item))
    }

    /// Takes one copy of `item` away: `true` if there was one. Remove only what was inserted. As
    /// [`CuckooFilter::remove`](crate::CuckooFilter::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert!(filter.remove("egg"));
    /// assert!(!filter.remove("egg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn remove<Q: Hash + ?Sized>(&self, item: &Q) -> bool {
        self.remove_hash(self.hash_of(item))
    }

    /// How many copies of `item` there are: at most as many as two buckets have slots. As
    /// [`CuckooFilter::count`](crate::CuckooFilter::count).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert_eq!(filter.count("egg"), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count<Q: Hash + ?Sized>(&self, item: &Q) -> usize {
        self.count_hash(self.hash_of(item))
    }

    /// For each item, whether it is in the filter. Wait-free. As
    /// [`CuckooFilter::contains_many`](crate::CuckooFilter::contains_many).
    ///
    /// # Errors
    ///
    /// [`LengthMismatch`] if there are not as many answers as items; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// let mut found = [false];
    /// filter.contains_many(&["egg"], &mut found)?;
    /// assert_eq!(found, [true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_many<Q: Hash>(
        &self,
        items: &[Q],
        found: &mut [bool],
    ) -> Result<(), LengthMismatch> {
        LengthMismatch::check(items.len(), found.len())?;
        with_table!(self, table => table.contains_many(items, |item| self.hash_of(item), found));
        Ok(())
    }

    /// Adds one more copy of each item, in order, until one fails. As
    /// [`CuckooFilter::insert_many`](crate::CuckooFilter::insert_many).
    ///
    /// # Errors
    ///
    /// [`InsertManyError`], which says how many items were stored (the first so many), and why the
    /// next one was not.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_many(&["egg", "nest"])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_many<Q: Hash>(&self, items: &[Q]) -> Result<(), InsertManyError> {
        with_table!(self, table => table.insert_many(items, |item| self.hash_of(item)))
    }

    /// The 64-bit hash of `item`, for the methods that take one: hash once, use it often.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert!(filter.contains_hash(filter.hash_of("egg")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn hash_of<Q: Hash + ?Sized>(&self, item: &Q) -> u64 {
        self.hasher.hash_one(item)
    }
}

/// Operations on 64-bit hashes: the twins of those on items. Any hash that tells items apart will
/// do, consecutive integers included: the filter mixes it.
impl<S> AnyCuckooFilter<S> {
    /// Adds one more copy of the item with this hash. See [`insert`](Self::insert).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] and [`InsertError::TooManyCopies`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_hash(42)?;
    /// assert!(filter.contains_hash(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn insert_hash(&self, hash: u64) -> Result<(), InsertError> {
        with_table!(self, table => table.insert(table.key(hash)))
    }

    /// Adds the item with this hash unless it is there. See [`insert_unique`](Self::insert_unique).
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`]; then nothing has changed.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.insert_unique_hash(42), Ok(true));
    /// assert_eq!(filter.insert_unique_hash(42), Ok(false));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn insert_unique_hash(&self, hash: u64) -> Result<bool, InsertError> {
        with_table!(self, table => table.insert_unique(table.key(hash)))
    }

    /// Whether the item with this hash is in the filter. See [`contains`](Self::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert!(!filter.contains_hash(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[expect(clippy::inline_always, reason = "as a call it costs a third more out of cache")]
    #[inline(always)]
    #[must_use]
    pub fn contains_hash(&self, hash: u64) -> bool {
        with_table!(self, table => table.contains(table.key(hash)))
    }

    /// Takes one copy of the item with this hash away. See [`remove`](Self::remove).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_hash(42)?;
    /// assert!(filter.remove_hash(42));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline]
    pub fn remove_hash(&self, hash: u64) -> bool {
        with_table!(self, table => table.remove(table.key(hash)))
    }

    /// How many copies there are of the item with this hash. See [`count`](Self::count).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_hash(42)?;
    /// assert_eq!(filter.count_hash(42), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn count_hash(&self, hash: u64) -> usize {
        with_table!(self, table => table.count(table.key(hash)))
    }

    /// For each hash, whether its item is in the filter. See [`contains_many`](Self::contains_many).
    ///
    /// # Errors
    ///
    /// [`LengthMismatch`] if there are not as many answers as hashes; then nothing is written.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_hash(42)?;
    /// let mut found = [false];
    /// filter.contains_many_hashes(&[42], &mut found)?;
    /// assert_eq!(found, [true]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn contains_many_hashes(
        &self,
        hashes: &[u64],
        found: &mut [bool],
    ) -> Result<(), LengthMismatch> {
        LengthMismatch::check(hashes.len(), found.len())?;
        with_table!(self, table => table.contains_many(hashes, |&hash| hash, found));
        Ok(())
    }

    /// Adds one more copy of the item of each hash, in order, until one fails. See
    /// [`insert_many`](Self::insert_many).
    ///
    /// # Errors
    ///
    /// [`InsertManyError`], which says how many were stored (the first so many), and why the next
    /// one was not.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert_many_hashes(&[42, 43])?;
    /// assert_eq!(filter.len(), 2);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn insert_many_hashes(&self, hashes: &[u64]) -> Result<(), InsertManyError> {
        with_table!(self, table => table.insert_many(hashes, |&hash| hash))
    }
}

/// Figures.
impl<S> AnyCuckooFilter<S> {
    /// The name of the layout that was chosen, as its type is spelt: [`Layout::NAME`].
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.02)?;
    /// assert_eq!(filter.layout_name(), "Fp9x7");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn layout_name(&self) -> &'static str {
        with_table!(self, table => name_of(table))
    }

    /// How many items are stored, copies counted one by one. Exact when no thread writes. As
    /// [`CuckooFilter::len`](crate::CuckooFilter::len).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert_eq!(filter.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        with_table!(self, table => table.occupied())
    }

    /// Whether no item is stored; as exact as [`len`](Self::len).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many distinct items the filter was made for.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.capacity(), 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many slots the table has.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert!(filter.slots() > 100);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn slots(&self) -> usize {
        with_table!(self, table => table.slots())
    }

    /// The share of slots in use, from 0 to 1; as exact as [`len`](Self::len).
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.load_factor(), 0.0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        builder::load(self.len(), self.slots())
    }

    /// The memory of the filter in bytes: itself, its table, its locks, its counters. What the
    /// hasher may own on the heap is not in it.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert!(filter.memory_bytes() < 1024);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        size_of::<Self>() + with_table!(self, table => table.heap_bytes())
    }

    /// The share of absent items, from 0 to 1, that [`contains`](Self::contains) is expected to
    /// report as present at the present load: up to the capacity, no more than the filter was made
    /// for.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// assert!(filter.false_positive_rate() < 0.01);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn false_positive_rate(&self) -> f64 {
        let load = self.load_factor();
        with_table!(self, table => rate_of(table, load))
    }

    /// Removes everything. Blocks as [`CuckooFilter::clear`](crate::CuckooFilter::clear) does.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// filter.insert("egg")?;
    /// filter.clear();
    /// assert!(filter.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clear(&self) {
        with_table!(self, table => table.clear());
    }

    /// The hasher of the items.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::hash::BuildHasher;
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.hasher().hash_one("egg"), filter.hash_of("egg"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn hasher(&self) -> &S {
        &self.hasher
    }

    /// Figures of the filter's life so far. Takes no lock.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::AnyCuckooFilter;
    ///
    /// let filter = AnyCuckooFilter::with_capacity_and_rate(100, 0.01)?;
    /// assert_eq!(filter.stats().inconclusive_lookups, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { inconclusive_lookups: with_table!(self, table => table.inconclusive()) }
    }
}

impl<S> fmt::Debug for AnyCuckooFilter<S> {
    /// Prints figures, not the table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AnyCuckooFilter")
            .field("layout", &self.layout_name())
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("slots", &self.slots())
            .field("load_factor", &self.load_factor())
            .field("false_positive_rate", &self.false_positive_rate())
            .field("memory_bytes", &self.memory_bytes())
            .finish_non_exhaustive()
    }
}

const _: () = {
    const fn shared_between_threads<T: Send + Sync>() {}
    shared_between_threads::<AnyCuckooFilter>();
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builder::Builder;
    use crate::layout::{Fp8x8, Fp16x4, Fp32x2};

    #[test]
    fn the_table_in_the_documentation_is_right() {
        let lines = include_str!("any.rs").lines().filter(|line| line.starts_with("/// | 0."));
        let mut layouts = Vec::new();
        for line in lines {
            let cells: Vec<_> =
                line.trim_matches(['/', ' ', '|']).split('|').map(str::trim).collect();
            let rate = cells[0].parse().unwrap();
            let filter = AnyCuckooFilter::with_capacity_and_rate(1_000_000, rate).unwrap();
            let bits = filter.memory_bytes() as f64 * 8.0 / 1e6;
            let name = filter.layout_name();
            assert_eq!(cells[1..], [format!("`{name}`"), format!("{bits:.1}")], "{line}");
            layouts.push(name);
        }
        macro_rules! names {
            ($($layout:ident)*) => { [$(layout::$layout::NAME),*] };
        }
        assert_eq!(layouts, for_each_layout!(names), "a line for each layout");
    }

    /// Whatever is asked for, the filter that comes reaches it, and no smaller one does.
    #[test]
    fn the_smallest_that_reaches_the_rate() {
        for items in [0, 1, 4, 10, 100, 1000, 100_000] {
            for rate in (1..90).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
                let Choice { fit, build } = smallest(items, rate).unwrap();
                assert!(fit.rate <= rate);
                for other in choices(items).filter(|other| other.fit.buckets < fit.buckets) {
                    assert!(other.fit.rate > rate, "{} for {items}, {rate}", other.fit.layout);
                }
                let filter = AnyCuckooFilter {
                    table: build(fit.buckets).unwrap(),
                    hasher: (),
                    capacity: items,
                };
                assert_eq!(filter.layout_name(), fit.layout);
                let hashes: Vec<u64> = (0..items as u64).collect();
                filter.insert_many_hashes(&hashes).unwrap();
                assert!(filter.false_positive_rate() <= rate);
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_an_error() {
        for rate in [0.0, 1.0, -0.1, f64::NAN, f64::INFINITY] {
            let error = AnyCuckooFilter::with_capacity_and_rate(100, rate).unwrap_err();
            assert!(matches!(error, BuildError::InvalidRate { .. }), "{rate}: {error:?}");
        }
        let error = AnyCuckooFilter::with_capacity_and_rate(usize::MAX, 0.01).unwrap_err();
        assert_eq!(error, BuildError::CapacityOverflow { capacity: usize::MAX });
        let error = AnyCuckooFilter::with_capacity_and_rate(1 << 20, 1e-12).unwrap_err();
        let lowest = Fit::of::<Fp32x2>(1 << 20).unwrap().rate;
        let expected = BuildError::RateOutOfReach { rate: 1e-12, reached: lowest, layout: None };
        assert_eq!(error, expected);
    }

    /// A fixed layout that cannot reach the rate names the one that is chosen for it.
    #[test]
    fn an_error_names_the_layout_that_does() {
        let fixed = || Builder::new().capacity(10_000).false_positive_rate(0.0001);
        let error = fixed().layout::<Fp8x8>().build().unwrap_err();
        let reached = Fit::of::<Fp8x8>(10_000).unwrap().rate;
        let layout = Some("SemiSorted17x4");
        assert_eq!(error, BuildError::RateOutOfReach { rate: 0.0001, reached, layout });
        assert!(error.to_string().ends_with(": SemiSorted17x4 reaches it"), "{error}");
        assert!(fixed().layout::<layout::SemiSorted17x4>().build().is_ok());

        let error = fixed().false_positive_rate(1e-12).layout::<Fp16x4>().build().unwrap_err();
        assert!(matches!(error, BuildError::RateOutOfReach { layout: None, .. }), "{error:?}");
    }

    /// Every method gives what a filter of the same layout gives.
    fn same<L: Layout>(any: &AnyCuckooFilter<DefaultHashBuilder>) {
        assert_eq!(any.layout_name(), L::NAME);
        let fixed = Builder::new().layout::<L>().hasher(any.hasher().clone());
        let fixed = fixed.capacity(any.capacity()).build().unwrap();
        let items: Vec<u32> = (0..1000).collect();
        let hashes: Vec<u64> = items.iter().map(|item| any.hash_of(item)).collect();

        assert_eq!(any.insert_many(&items[..500]), fixed.insert_many(&items[..500]));
        let more = &hashes[500..900];
        assert_eq!(any.insert_many_hashes(more), fixed.insert_many_hashes(more));
        for item in 0..1100_u32 {
            let hash = any.hash_of(&item);
            assert_eq!(hash, fixed.hash_of(&item));
            match item % 8 {
                0 => assert_eq!(any.insert(&item), fixed.insert(&item)),
                1 => assert_eq!(any.insert_hash(hash), fixed.insert_hash(hash)),
                2 => assert_eq!(any.insert_unique(&item), fixed.insert_unique(&item)),
                3 => assert_eq!(any.insert_unique_hash(hash), fixed.insert_unique_hash(hash)),
                4 => assert_eq!(any.remove(&item), fixed.remove(&item)),
                5 => assert_eq!(any.remove_hash(hash), fixed.remove_hash(hash)),
                _ => {}
            }
            assert_eq!(any.contains(&item), fixed.contains(&item));
            assert_eq!(any.contains_hash(hash), fixed.contains_hash(hash));
            assert_eq!(any.count(&item), fixed.count(&item));
            assert_eq!(any.count_hash(hash), fixed.count_hash(hash));
        }
        let [mut a, mut b, mut c] = [(); 3].map(|()| vec![false; items.len()]);
        any.contains_many(&items, &mut a).unwrap();
        any.contains_many_hashes(&hashes, &mut b).unwrap();
        fixed.contains_many(&items, &mut c).unwrap();
        assert!(a == c && b == c);
        assert_eq!(
            any.contains_many(&items, &mut [false]),
            fixed.contains_many(&items, &mut [false])
        );

        assert_eq!(any.len(), fixed.len());
        assert_eq!(any.is_empty(), fixed.is_empty());
        assert_eq!(any.slots(), fixed.slots());
        assert_eq!(any.load_factor().to_bits(), fixed.load_factor().to_bits());
        assert_eq!(any.false_positive_rate().to_bits(), fixed.false_positive_rate().to_bits());
        assert_eq!(any.stats(), fixed.stats());
        assert_eq!(
            any.memory_bytes() - size_of_val(any),
            fixed.memory_bytes() - size_of_val(&fixed)
        );
        assert_eq!(
            format!("{any:?}").replace("AnyCuckooFilter", "CuckooFilter").split("memory").next(),
            format!("{fixed:?}").split("memory").next()
        );
        any.clear();
        assert!(any.is_empty());
    }

    #[test]
    fn a_filter_of_the_same_layout_does_the_same() {
        macro_rules! each {
            ($($layout:ident)*) => {$({
                let rate = Fit::of::<layout::$layout>(1000).unwrap().rate;
                let any = AnyCuckooFilter::with_capacity_and_rate(1000, rate);
                same::<layout::$layout>(&any.unwrap());
            })*};
        }
        for_each_layout!(each);
    }
}
