//! The common part of filters and maplets: a table, the hasher of its keys, and its capacities. The public types call
//! the operations of the table from here, with the encoding of the layout as a type. They add their own operations and
//! the documentation.

use core::fmt;
use core::time::Duration;
use std::panic::{RefUnwindSafe, UnwindSafe};

use super::Storage;
use crate::error::{Error, InsertError, Stopped};
use crate::layout::{Candidates, Encoding, Layout};
use crate::sizing;
use crate::table::placing::entry::{Pair, ValueBits, Values};
use crate::table::whole::generations::{Generations, Stamping};
use crate::table::{Buckets, ItemOf, NewValue, State, Table};

/// The estimated number of items that two filters have in common.
/// [`CuckooFilter::overlap`](crate::CuckooFilter::overlap) returns it.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The number of common items, at least 0.
    pub items: f64,
    /// The standard error of `items`: the estimate is within twice this number 95 times in 100. If nothing is known,
    /// `items` is 0, and this is the number of all entries.
    pub standard_error: f64,
}

impl Overlap {
    /// Estimates from three numbers of entries: `all`; those found in the other filter (`held`); and those expected
    /// there `by_chance`.
    pub(crate) fn estimated(all: u64, held: u64, by_chance: f64) -> Self {
        let (all, held) = (all as f64, held as f64);
        let rate = by_chance / all.max(1.0);
        let items = ((held - rate * all) / (1.0 - rate)).max(0.0);
        let others = (all - items).max(0.0);
        // The number of false positives is binomial, and so is the count of those by chance. The variance is at least
        // 1, since a small count says little. No more entries can be common than there are.
        let standard_error = (2.0 * others * rate / (1.0 - rate)).max(1.0).sqrt();
        Self { items, standard_error: standard_error.min(all.max(1.0)) }
    }
}

#[cfg(test)]
#[test]
fn an_overlap_is_estimated_with_its_error() {
    let close = |a: f64, b: f64| (a - b).abs() < 0.01;
    let Overlap { items, standard_error } = Overlap::estimated(10_000, 600, 100.0);
    assert!(close(items, 505.05) && close(standard_error, 13.85), "{items} {standard_error}");
    // Every entry is there by chance, too.
    assert_eq!(Overlap::estimated(10, 10, 10.0), Overlap { items: 0.0, standard_error: 10.0 });
    assert_eq!(Overlap::estimated(0, 0, 0.0), Overlap { items: 0.0, standard_error: 1.0 });
}

/// Figures for monitoring a filter. [`CuckooFilter::stats`](crate::CuckooFilter::stats) returns them.
///
/// # Examples
///
/// ```
/// let filter = coucal::CuckooFilter::with_capacity(100);
/// let coucal::Stats { inconclusive_lookups, .. } = filter.stats();
/// assert_eq!(inconclusive_lookups, 0);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stats {
    /// The number of lookups ([`contains`](crate::CuckooFilter::contains) and its variants) that did not find the item
    /// and returned `true`, because the version of its fingerprint changed in every round. Counted since the filter was
    /// built.
    pub inconclusive_lookups: u64,
    /// The number of entries in the [stash](crate#the-stash). An entry with several copies counts once. In a maplet,
    /// each stashed value of a key is an entry of its own.
    pub stashed_entries: usize,
    /// The number of copies of these entries. [`len`](crate::CuckooFilter::len) includes them.
    pub stashed_copies: usize,
    /// The number of generations, since an [expiring filter](crate::ExpiringCuckooFilter) was built, that [ended
    /// early](crate::Builder::forget_oldest_when_full) to make room for an insert. 0 in all other filters.
    pub early_advances: u64,
    /// The number of generations, since an expiring filter was built, that ended by their [number of new
    /// items](crate::Builder::every_items). 0 in all other filters.
    pub counted_advances: u64,
    /// The number of generations, since an expiring filter was built, that ended by the
    /// [clock](crate::Builder::every). 0 in all other filters. (In a restored or cloned filter, this number,
    /// `early_advances` and `counted_advances` begin at 0. In any other filter, the generations before the [present
    /// one](crate::ExpiringCuckooFilter::generation) that these three do not count ended by calls of `advance`.)
    pub timed_advances: u64,
    /// The duration of the longest [advance](crate::ExpiringCuckooFilter::advance) since an expiring filter got its
    /// [clock](crate::Builder::every). It is measured by that clock, and includes waits. Zero without a clock, and in
    /// all other filters.
    pub longest_sweep: Duration,
}

/// The number of items of an iterator that are inserted as one batch: many times the prefetch distance, but few enough
/// for the stack.
pub const BATCH: usize = 256;

/// Calls `insert_many` for one batch of items after the other, until it fails. Both functions return how many items
/// they stored.
pub fn insert_in_batches<T: Copy + Default>(
    items: impl IntoIterator<Item = T>,
    insert_many: impl Fn(&[T]) -> Result<usize, Stopped>,
) -> Result<usize, Stopped> {
    let mut items = items.into_iter().fuse();
    let mut batch = [T::default(); BATCH];
    let (mut index, mut stored) = (0, 0);
    loop {
        let mut len = 0;
        for (place, item) in batch.iter_mut().zip(&mut items) {
            *place = item;
            len += 1;
        }
        if len == 0 {
            return Ok(stored);
        }
        stored += insert_many(&batch[..len]).map_err(|error| error.after(index, stored))?;
        index += len;
    }
}

/// The encoding of the layout of a storage.
pub type EncodingOf<L> = <<L as Storage>::Layout as Layout>::Encoding;

/// Evaluates `$result`, where `$table` is the table with the encoding of its layout as a type. If the layout is known
/// at compile time, no code for the choice remains. Otherwise `$result` becomes an outlined function for each layout,
/// because the code of nine layouts at each call would be too much. But with `lookup:`, the code of the default layout,
/// which is the most likely one, is inlined.
macro_rules! by_encoding {
    ($inner:expr, $table:ident => $result:expr) => {
        by_encoding!($inner, const { L::ONLY.is_some() }, $table => $result)
    };
    (lookup: $inner:expr, $table:ident => $result:expr) => {{
        let default = <crate::storage::operations::EncodingOf<L> as crate::layout::Encoding>::ID;
        let is_likely = const { L::ONLY.is_some() } || $inner.state.layout() == default;
        by_encoding!($inner, is_likely, $table => $result)
    }};
    ($inner:expr, $is_here:expr, $table:ident => $result:expr) => {
        if $is_here {
            type Known<L> = crate::storage::operations::EncodingOf<L>;
            let $table = crate::table::Table::<Known<L>, _>::new(&$inner.state);
            $result
        } else {
            crate::layout::by_layout!($inner.state.layout(), F => {
                // Only compiled for the layouts that grow.
                if const { L::GROWS && !<F as crate::layout::Encoding>::GROWS } {
                    unreachable!("a table of this layout does not grow");
                }
                let $table = crate::table::Table::<F, _>::new(&$inner.state);
                crate::storage::operations::apart(move || $result)
            })
        }
    };
}
pub(crate) use by_encoding;

/// Calls `operation` in an outlined function.
#[inline(never)]
pub fn apart<R>(operation: impl FnOnce() -> R) -> R {
    operation()
}

/// Defines methods of a public type that call the methods of the same name of its [`Inner`]. The public type has the
/// documentation, with examples of this type.
macro_rules! forward_to_inner {
    ($(
        $(#[$doc:meta])*
        pub fn $name:ident(&self $(, $argument:ident: $type:ty)?) -> $result:ty;
    )*) => {$(
        $(#[$doc])*
        #[must_use]
        pub fn $name(&self $(, $argument: $type)?) -> $result {
            self.inner.$name($($argument)?)
        }
    )*};
}
pub(crate) use forward_to_inner;

/// A table of a storage, with or without values in its slots, and the hasher of its keys.
pub struct Inner<L: Storage, V: Values, S> {
    pub(crate) state: State<L::Buckets<V>>,
    pub(crate) hasher: S,
    pub(crate) capacity: usize,
    /// It may exceed `usize` in a filter that comes from another machine.
    pub(crate) max_capacity: u64,
}

// Keys are hashed and iterators are advanced before a lock is taken. So no code of the caller runs while a lock is held
// or a path of kicks is half applied, and a panic in the caller's code leaves the table valid. (There are two
// exceptions. The clock of an expiring filter runs under the mutex of the timer: see `Timer`. A global allocator runs
// under other locks: if it writes to a filter, or counts or copies, it may wait forever.)
impl<L: Storage, V: Values, S: UnwindSafe> UnwindSafe for Inner<L, V, S> {}
impl<L: Storage, V: Values, S: RefUnwindSafe> RefUnwindSafe for Inner<L, V, S> {}

impl<L: Storage, V: Values, S: Unpin> Unpin for Inner<L, V, S> {}

impl<L: Storage, V: Values, S> Inner<L, V, S> {
    // Always inlined: as a call, it takes a third longer in tables larger than the cache.
    #[inline(always)]
    pub(crate) fn contains(&self, hash: u64) -> bool {
        by_encoding!(lookup: self, table => table.contains(table.key(hash)))
    }

    /// Takes a turn (for the models of users), and returns the state, to read figures of it.
    pub(crate) fn figures(&self) -> &State<L::Buckets<V>> {
        let turns = &self.state.turns;
        turns.take(|| turns.changes());
        &self.state
    }

    pub(crate) fn layout_name(&self) -> &'static str {
        self.state.layout().name()
    }

    pub(crate) fn hasher(&self) -> &S {
        &self.hasher
    }

    pub(crate) fn len(&self) -> usize {
        self.figures().len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn slots(&self) -> usize {
        self.figures().slots()
    }

    pub(crate) fn capacity(&self) -> usize {
        let state = self.figures();
        // Entries that splits have doubled take slots, too.
        let of_this_size = (state.target_items() as u64).saturating_sub(state.doubled().entries);
        let reached = sizing::in_address_space(of_this_size.min(self.max_capacity));
        reached.max(self.capacity).max(self.len())
    }

    pub(crate) fn max_capacity(&self) -> usize {
        sizing::in_address_space(self.max_capacity)
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.figures();
        Stats {
            inconclusive_lookups: state.inconclusive(),
            stashed_entries: state.stashed_entries(),
            stashed_copies: sizing::in_address_space(state.stashed_copies()),
            early_advances: 0,
            counted_advances: 0,
            timed_advances: 0,
            longest_sweep: Duration::ZERO,
        }
    }

    pub(crate) fn fullness(&self) -> f64 {
        // A table for 0 items has room for some.
        self.figures().entries() as f64 / self.max_capacity.max(1) as f64
    }

    pub(crate) fn false_positive_rate(&self) -> f64 {
        self.figures();
        by_encoding!(self, table => table.false_positive_rate())
    }

    pub(crate) fn false_positive_rate_at(&self, items: usize) -> f64 {
        self.state.false_positive_rate_at(items as u64)
    }

    pub(crate) fn load_factor(&self) -> f64 {
        let state = self.figures();
        state.occupied() as f64 / state.slots() as f64
    }

    pub(crate) fn reserve(&self, additional: usize) -> Result<(), Error> {
        self.state.turns.take_locked();
        let wanted = self.state.entries().saturating_add(additional);
        let max_capacity = self.max_capacity();
        if wanted > max_capacity {
            return Err(Error::AboveMaxCapacity { wanted, max_capacity });
        }
        let has_room = by_encoding!(self, table => table.grow_for(wanted))?;
        if has_room { Ok(()) } else { Err(Error::Full) }
    }

    /// Prints figures, not the table. `bytes` is the memory of the whole filter, in bytes.
    pub(crate) fn print(
        &self,
        name: &str,
        bytes: usize,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let table = &self.state;
        let mut printed = f.debug_struct(name);
        printed.field("layout", &self.layout_name());
        let Generations { count, clock } = table.generations();
        if count > 0 {
            printed.field("generations", &count).field("generation", &clock.number());
        } else if V::ANY {
            printed.field("value_bits", &table.value_bits());
        }
        printed
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("slots", &table.slots())
            .field("load_factor", &self.load_factor());
        if L::GROWS {
            // The rate is an estimate from a sample of the words, which takes long.
            printed.field("max_capacity", &self.max_capacity);
        } else {
            printed.field("false_positive_rate", &self.false_positive_rate());
        }
        printed.field("memory_bytes", &bytes).finish_non_exhaustive()
    }
}

/// Lookups of maplets.
impl<L: Storage, S> Inner<L, ValueBits, S> {
    #[inline(always)]
    pub(crate) fn get(&self, hash: u64) -> Candidates {
        by_encoding!(lookup: self, table => table.get(table.key(hash)))
    }
}

/// Operations that write, as functions of the hash. Each is compiled once, so it is equally fast from every caller. The
/// code of the user inlines only the hashing and a call.
impl<F: Encoding, B: Buckets> Table<'_, F, B> {
    #[inline(never)]
    pub(crate) fn insert_item(self, item: ItemOf<B>) -> Result<(), InsertError> {
        self.insert(self.key_of(item))
    }

    #[inline(never)]
    pub(crate) fn insert_item_if_absent(self, item: ItemOf<B>) -> Result<bool, InsertError> {
        self.insert_if_absent(self.key_of(item))
    }

    #[inline(never)]
    pub(crate) fn remove_item(self, item: ItemOf<B>) -> bool {
        self.remove(self.key_of(item))
    }
}

/// The same for maplets.
impl<F: Encoding, B: Buckets<Values = ValueBits>> Table<'_, F, B> {
    #[inline(never)]
    pub(crate) fn replace_item(self, old: Pair, new: u32) -> Result<bool, InsertError> {
        self.replace(self.key_of(old), new)
    }

    #[inline(never)]
    pub(crate) fn update_item(
        self,
        hash: u64,
        first: Option<u32>,
        new: NewValue<'_>,
    ) -> Result<Option<u32>, InsertError> {
        self.update(self.key(hash), first, new)
    }

    #[inline(never)]
    pub(crate) fn insert_stamped_item(
        self,
        hash: u64,
        stamping: Stamping,
    ) -> Result<bool, InsertError> {
        self.insert_with(self.key(hash), stamping)
    }
}
