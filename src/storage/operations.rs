//! What a filter and a maplet are: a table, the hasher of its keys, and what it was built for; and their operations,
//! each by the format of the layout. The public types add what differs, and the documentation.

use core::fmt;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;

use super::sealed::Sealed;
use crate::error::{InsertError, InsertManyError, ReserveError};
use crate::layout::{Candidates, Format, Visitor};
use crate::sync::memory::NoMemory;
use crate::table::entry::{Pair, ValueBits, Values};
use crate::table::{Buckets, CellWords, Image, ItemOf, State, Table, sizing};

/// Figures for watching a filter; returned by [`CuckooFilter::stats`](crate::CuckooFilter::stats).
///
/// # Examples
///
/// ```
/// let filter = coucal::CuckooFilter::with_capacity(100);
/// let coucal::Stats { inconclusive_lookups, .. } = filter.stats();
/// assert_eq!(inconclusive_lookups, 0);
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Since the filter was built: lookups ([`contains`](crate::CuckooFilter::contains) and its variants) that returned `true` because
    /// the version of their fingerprint changed in every round, and not because they found it.
    pub inconclusive_lookups: u64,
    /// Entries in the [stash](crate#what-finds-no-room), each once. In a maplet a key with another value is another
    /// entry.
    pub stashed_entries: usize,
    /// Their copies, which are part of [`len`](crate::CuckooFilter::len).
    pub stashed_copies: usize,
}

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
        stored += insert_many(&batch[..len]).map_err(|error| error.after(index, stored))?;
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
    pub(crate) fn contains(&self, hash: u64) -> bool {
        self.state.turns.take();
        let found = self.run(Contains(hash));
        self.state.turns.acquire_if(|| found);
        found
    }

    pub(crate) fn count(&self, hash: u64) -> usize {
        self.state.turns.take_locked();
        let copies = self.run(Count(hash));
        self.state.turns.acquire_if(|| copies > 0);
        copies
    }

    #[inline]
    pub(crate) fn insert(&self, item: ItemOf<B>) -> Result<(), InsertError> {
        let storing = self.state.turns.take_to_store();
        let inserted = self.run(Insert(item));
        storing.release_if(|| inserted.is_ok());
        inserted
    }

    #[inline]
    pub(crate) fn insert_unique(&self, item: ItemOf<B>) -> Result<bool, InsertError> {
        let storing = self.state.turns.take_to_store();
        let new = self.run(InsertUnique(item));
        self.state.turns.acquire_if(|| new == Ok(false));
        storing.release_if(|| new == Ok(true));
        new
    }

    #[inline]
    pub(crate) fn remove(&self, item: ItemOf<B>) -> bool {
        self.state.turns.take_locked();
        let removed = self.run(Remove(item));
        self.state.turns.acquire_if(|| removed);
        removed
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Candidates
    where
        B: Buckets<Values = ValueBits>,
    {
        self.state.turns.take();
        let found = self.run(Get(hash));
        self.state.turns.acquire_if(|| found.len() > 0);
        found
    }

    #[inline]
    pub(crate) fn replace(&self, old: ItemOf<B>, new: u32) -> Result<bool, InsertError>
    where
        B: Buckets<Values = ValueBits>,
    {
        let storing = self.state.turns.take_to_store();
        let replaced = self.run(Replace { old, new });
        self.state.turns.acquire_if(|| replaced == Ok(true));
        storing.release_if(|| replaced == Ok(true));
        replaced
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
    ) -> Result<usize, InsertManyError>
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

    /// The state, for figures of it.
    pub(crate) fn figures(&self) -> &State<B> {
        self.state.turns.take();
        &self.state
    }

    pub(crate) fn len(&self) -> usize {
        self.figures().len()
    }

    pub(crate) fn capacity(&self) -> usize {
        let state = self.figures();
        // What splits have doubled takes slots, too.
        let doubled = state.grown().doubled;
        let of_this_size = state.target_items().saturating_sub(doubled).min(self.max_capacity);
        of_this_size.max(self.capacity).max(self.len())
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.figures();
        Stats {
            inconclusive_lookups: state.inconclusive(),
            stashed_entries: state.stashed_entries(),
            stashed_copies: state.stashed_copies(),
        }
    }

    pub(crate) fn fullness(&self) -> f64 {
        // A table for no items has room for some.
        self.figures().entries() as f64 / self.max_capacity.max(1) as f64
    }

    pub(crate) fn false_positive_rate(&self) -> f64 {
        self.state.turns.take();
        self.run(FalsePositiveRate)
    }

    pub(crate) fn load_factor(&self) -> f64 {
        let state = self.figures();
        sizing::load(state.occupied(), state.slots())
    }

    pub(crate) fn reserve(&self, additional: usize) -> Result<(), ReserveError> {
        self.state.turns.take_locked();
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
            .field("false_positive_rate", &self.false_positive_rate())
            .field("memory_bytes", &bytes)
            .finish_non_exhaustive()
    }
}

pub struct Contains(pub(crate) u64);

impl<B: Buckets> Visitor<&State<B>> for Contains {
    type Output = bool;

    #[expect(clippy::inline_always, reason = "as a call it costs a third more out of cache")]
    #[inline(always)]
    fn visit<F: Format>(self, state: &State<B>) -> bool {
        let table = Table::<F, B>::new(state);
        table.contains(table.key(self.0))
    }
}

pub struct Count(pub(crate) u64);

impl<B: Buckets> Visitor<&State<B>> for Count {
    type Output = usize;

    fn visit<F: Format>(self, state: &State<B>) -> usize {
        let table = Table::<F, B>::new(state);
        table.count(table.key(self.0))
    }
}

pub struct Insert<I>(pub(crate) I);

impl<B: Buckets> Visitor<&State<B>> for Insert<ItemOf<B>> {
    type Output = Result<(), InsertError>;

    #[inline(never)]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert(table.key_of(self.0))
    }
}

pub struct InsertUnique<I>(pub(crate) I);

impl<B: Buckets> Visitor<&State<B>> for InsertUnique<ItemOf<B>> {
    type Output = Result<bool, InsertError>;

    #[inline(never)]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert_unique(table.key_of(self.0))
    }
}

pub struct Remove<I>(pub(crate) I);

impl<B: Buckets> Visitor<&State<B>> for Remove<ItemOf<B>> {
    type Output = bool;

    #[inline(never)]
    fn visit<F: Format>(self, state: &State<B>) -> bool {
        let table = Table::<F, B>::new(state);
        table.remove(table.key_of(self.0))
    }
}

pub struct ContainsMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) hash: H,
    pub(crate) found: &'q mut [bool],
}

impl<B: Buckets, Q, H: Fn(&Q) -> u64> Visitor<&State<B>> for ContainsMany<'_, Q, H> {
    type Output = ();

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) {
        let table = Table::<F, B>::new(state);
        table.contains_many(self.items, self.hash, self.found);
    }
}

pub struct InsertMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) item: H,
}

impl<B: Buckets, Q, H: Fn(&Q) -> ItemOf<B>> Visitor<&State<B>> for InsertMany<'_, Q, H> {
    type Output = Result<(), InsertManyError>;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert_many(self.items, self.item)
    }
}

pub struct InsertUniqueMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) item: H,
    pub(crate) new: &'q mut [bool],
}

impl<B: Buckets, Q, H: Fn(&Q) -> ItemOf<B>> Visitor<&State<B>> for InsertUniqueMany<'_, Q, H> {
    type Output = Result<usize, InsertManyError>;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert_unique_many(self.items, self.item, self.new)
    }
}

pub struct RemoveMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) item: H,
    pub(crate) removed: &'q mut [bool],
}

impl<B: Buckets, Q, H: Fn(&Q) -> ItemOf<B>> Visitor<&State<B>> for RemoveMany<'_, Q, H> {
    type Output = usize;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> usize {
        let table = Table::<F, B>::new(state);
        table.remove_many(self.items, self.item, self.removed)
    }
}

pub struct Get(pub(crate) u64);

impl<B: Buckets<Values = ValueBits>> Visitor<&State<B>> for Get {
    type Output = Candidates;

    #[expect(clippy::inline_always, reason = "as a call it would pass its answer through memory")]
    #[inline(always)]
    fn visit<F: Format>(self, state: &State<B>) -> Candidates {
        let table = Table::<F, B>::new(state);
        table.get(table.key(self.0))
    }
}

pub struct GetMany<'q, Q, H> {
    pub(crate) keys: &'q [Q],
    pub(crate) hash: H,
    pub(crate) found: &'q mut [Candidates],
}

impl<B: Buckets<Values = ValueBits>, Q, H: Fn(&Q) -> u64> Visitor<&State<B>> for GetMany<'_, Q, H> {
    type Output = ();

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) {
        let table = Table::<F, B>::new(state);
        table.get_many(self.keys, self.hash, self.found);
    }
}

pub struct Replace<I> {
    pub(crate) old: I,
    pub(crate) new: u32,
}

impl<B: Buckets<Values = ValueBits>> Visitor<&State<B>> for Replace<ItemOf<B>> {
    type Output = Result<bool, InsertError>;

    #[inline(never)]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.replace(table.key_of(self.old), self.new)
    }
}

pub struct ReplaceMany<'q, Q, H, N> {
    pub(crate) pairs: &'q [Q],
    pub(crate) pair: H,
    pub(crate) new: N,
    pub(crate) replaced: &'q mut [bool],
}

impl<B, Q, H, N> Visitor<&State<B>> for ReplaceMany<'_, Q, H, N>
where
    B: Buckets<Values = ValueBits>,
    H: Fn(&Q) -> Pair,
    N: Fn(&Q) -> u32,
{
    type Output = Result<usize, InsertManyError>;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.replace_many(self.pairs, self.pair, self.new, self.replaced)
    }
}

/// Adds all entries of an image of another table, or none.
pub struct Merge<'i>(pub(crate) &'i Image);

impl<B: Buckets> Visitor<&State<B>> for Merge<'_> {
    type Output = Result<(), InsertError>;

    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.merge(self.0)
    }
}

/// What is missing in a table with the words of a snapshot: the counts of slots in use, and these entries in the
/// stash.
pub struct Restore<'e>(pub(crate) &'e [CellWords]);

impl<B: Buckets> Visitor<&State<B>> for Restore<'_> {
    type Output = Result<(), NoMemory>;

    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.recount()?;
        table.restore_stash(self.0)
    }
}

/// Grows until the table has room for this number of items.
pub struct GrowFor(pub(crate) usize);

impl<B: Buckets> Visitor<&State<B>> for GrowFor {
    type Output = Result<(), NoMemory>;

    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.grow_for(self.0)
    }
}

/// The share of absent items that are reported as present.
pub struct FalsePositiveRate;

impl<B: Buckets> Visitor<&State<B>> for FalsePositiveRate {
    type Output = f64;

    fn visit<F: Format>(self, state: &State<B>) -> f64 {
        let table = Table::<F, B>::new(state);
        table.false_positive_rate()
    }
}
