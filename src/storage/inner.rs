//! What a filter and a maplet are: a table, the hasher of its keys, and what it was built for. The public
//! types add what differs, and the documentation.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;

use super::sealed::Sealed;
use crate::entry::{Pair, ValueBits, Values};
use crate::error::{InsertManyError, ReserveError};
use crate::filter::Stats;
use crate::layout::{Candidates, Visitor};
use crate::sizing;
use crate::table::operations::{
    ContainsMany, FalsePositiveRate, GetMany, GrowFor, InsertMany, InsertUniqueMany, RemoveMany,
    ReplaceMany,
};
use crate::table::{Buckets, ItemOf, State};

/// Items of an iterator that are inserted as one batch: many times as many as are prefetched, few enough
/// for the stack.
pub const BATCH: usize = 256;

/// Calls `insert_many`, which returns how many it stored, for the items of an iterator, a batch at a time, until it
/// fails. Returns how many were stored.
pub fn insert_in_batches<T: Copy + Default>(
    items: impl IntoIterator<Item = T>,
    insert_many: impl Fn(&[T]) -> Result<usize, InsertManyError>,
) -> Result<usize, InsertManyError> {
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
        stored += insert_many(&batch[..len]).map_err(|error| {
            InsertManyError::new(index + error.index(), stored + error.stored(), error.cause())
        })?;
        index += len;
    }
}

/// A table of a storage, and the hasher of its keys.
pub struct Inner<L, B: Buckets, S> {
    pub(crate) storage: PhantomData<fn() -> L>,
    pub(crate) state: State<B>,
    pub(crate) hasher: S,
    pub(crate) capacity: usize,
    pub(crate) max_capacity: usize,
}

impl<L: Sealed, B: Buckets, S> Inner<L, B, S> {
    /// Does something with the table.
    #[expect(clippy::inline_always, reason = "nothing of it is left")]
    #[inline(always)]
    pub(crate) fn run<'a, O: Visitor<&'a State<B>>>(&'a self, operation: O) -> O::Output {
        L::visit(self.state.layout(), operation, &self.state)
    }

    #[inline]
    pub(crate) fn contains_many<Q>(
        &self,
        items: &[Q],
        hash: impl Fn(&Q) -> u64,
        found: &mut [bool],
    ) {
        self.run(ContainsMany { items, hash, found });
    }

    #[inline]
    pub(crate) fn insert_many<Q>(
        &self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
    ) -> Result<(), InsertManyError> {
        self.run(InsertMany { items, item })
    }

    #[inline]
    pub(crate) fn insert_unique_many<Q>(
        &self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        new: &mut [bool],
    ) -> Result<usize, InsertManyError> {
        self.run(InsertUniqueMany { items, item, new })
    }

    #[inline]
    pub(crate) fn remove_many<Q>(
        &self,
        items: &[Q],
        item: impl Fn(&Q) -> ItemOf<B>,
        removed: &mut [bool],
    ) -> usize {
        self.run(RemoveMany { items, item, removed })
    }

    #[inline]
    pub(crate) fn get_many<Q>(&self, keys: &[Q], hash: impl Fn(&Q) -> u64, found: &mut [Candidates])
    where
        B: Buckets<Values = ValueBits>,
    {
        self.run(GetMany { keys, hash, found });
    }

    #[inline]
    pub(crate) fn replace_many<Q>(
        &self,
        pairs: &[Q],
        pair: impl Fn(&Q) -> Pair,
        new: impl Fn(&Q) -> u32,
        replaced: &mut [bool],
    ) -> usize
    where
        B: Buckets<Values = ValueBits>,
    {
        self.run(ReplaceMany { pairs, pair, new, replaced })
    }

    #[inline]
    pub(crate) fn hash_of<Q: Hash + ?Sized>(&self, key: &Q) -> u64
    where
        S: BuildHasher,
    {
        self.hasher.hash_one(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.state.len()
    }

    pub(crate) fn capacity(&self) -> usize {
        // What splits have doubled takes slots, too.
        let doubled = self.state.grown().doubled;
        let of_this_size = self.state.target_items().saturating_sub(doubled).min(self.max_capacity);
        of_this_size.max(self.capacity).max(self.state.entries())
    }

    pub(crate) fn stats(&self) -> Stats {
        Stats {
            inconclusive_lookups: self.state.inconclusive(),
            stashed_entries: self.state.stashed_entries(),
            stashed_copies: self.state.stashed_copies(),
        }
    }

    pub(crate) fn load_factor(&self) -> f64 {
        sizing::load(self.state.occupied(), self.state.slots())
    }

    pub(crate) fn reserve(&self, additional: usize) -> Result<(), ReserveError> {
        let wanted = self.state.entries().saturating_add(additional);
        ReserveError::check(wanted, self.max_capacity)?;
        let grown = self.run(GrowFor(wanted));
        grown.map_err(|error| ReserveError::OutOfMemory { bytes: error.bytes })
    }

    /// Figures, not the table; `bytes` is the memory of it all.
    pub(crate) fn print(
        &self,
        name: &str,
        bytes: usize,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let table = &self.state;
        let mut printed = f.debug_struct(name);
        printed.field("layout", &table.layout().name());
        if B::Values::ANY {
            printed.field("value_bits", &table.value_bits());
        }
        printed
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("slots", &table.slots())
            .field("load_factor", &self.load_factor())
            .field("false_positive_rate", &self.run(FalsePositiveRate))
            .field("memory_bytes", &bytes)
            .finish_non_exhaustive()
    }
}
