//! The operations of a table whose layout may be known at run time only.

use super::{Buckets, CellWords, Image, ItemOf, State, Table};
use crate::entry::{Pair, ValueBits};
use crate::error::{InsertError, InsertManyError};
use crate::layout::{Candidates, Format, Visitor};
use crate::memory::NoMemory;

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

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert(table.key_of(self.0))
    }
}

pub struct InsertUnique<I>(pub(crate) I);

impl<B: Buckets> Visitor<&State<B>> for InsertUnique<ItemOf<B>> {
    type Output = Result<bool, InsertError>;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> Self::Output {
        let table = Table::<F, B>::new(state);
        table.insert_unique(table.key_of(self.0))
    }
}

pub struct Remove<I>(pub(crate) I);

impl<B: Buckets> Visitor<&State<B>> for Remove<ItemOf<B>> {
    type Output = bool;

    #[inline]
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
    type Output = bool;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> bool {
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
    type Output = usize;

    #[inline]
    fn visit<F: Format>(self, state: &State<B>) -> usize {
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
