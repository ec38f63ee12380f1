//! The operations of a table whose layout may be known at run time only: each visits the format of the layout.

use super::{Buckets, CellWords, Image, ItemOf, State, Table};
use crate::entry::ValueBits;
use crate::error::{InsertError, InsertManyError};
use crate::layout::{Candidates, Format, Visitor};
use crate::memory::NoMemory;

/// Does something with a table.
pub struct With<'a, B: Buckets, O> {
    pub(crate) state: &'a State<B>,
    pub(crate) operation: O,
}

impl<B: Buckets, O: Operation<B>> Visitor for With<'_, B, O> {
    type Output = O::Output;

    #[expect(clippy::inline_always, reason = "nothing of it is left")]
    #[inline(always)]
    fn visit<F: Format>(self) -> O::Output {
        self.operation.run(Table::<F, B>::new(self.state))
    }
}

/// An operation on a table of any layout.
pub trait Operation<B: Buckets> {
    type Output;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output;
}

pub struct Contains(pub(crate) u64);

impl<B: Buckets> Operation<B> for Contains {
    type Output = bool;

    #[expect(clippy::inline_always, reason = "as a call it costs a third more out of cache")]
    #[inline(always)]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> bool {
        table.contains(table.key(self.0))
    }
}

pub struct Count(pub(crate) u64);

impl<B: Buckets> Operation<B> for Count {
    type Output = usize;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> usize {
        table.count(table.key(self.0))
    }
}

pub struct Insert<I>(pub(crate) I);

impl<B: Buckets> Operation<B> for Insert<ItemOf<B>> {
    type Output = Result<(), InsertError>;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.insert(table.key_of(self.0))
    }
}

pub struct InsertUnique<I>(pub(crate) I);

impl<B: Buckets> Operation<B> for InsertUnique<ItemOf<B>> {
    type Output = Result<bool, InsertError>;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.insert_unique(table.key_of(self.0))
    }
}

pub struct Remove<I>(pub(crate) I);

impl<B: Buckets> Operation<B> for Remove<ItemOf<B>> {
    type Output = bool;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> bool {
        table.remove(table.key_of(self.0))
    }
}

pub struct ContainsMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) hash: H,
    pub(crate) found: &'q mut [bool],
}

impl<B: Buckets, Q, H: Fn(&Q) -> u64> Operation<B> for ContainsMany<'_, Q, H> {
    type Output = ();

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) {
        table.contains_many(self.items, self.hash, self.found);
    }
}

pub struct InsertMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) item: H,
}

impl<B: Buckets, Q, H: Fn(&Q) -> ItemOf<B>> Operation<B> for InsertMany<'_, Q, H> {
    type Output = Result<(), InsertManyError>;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.insert_many(self.items, self.item)
    }
}

pub struct RemoveMany<'q, Q, H> {
    pub(crate) items: &'q [Q],
    pub(crate) item: H,
    pub(crate) removed: &'q mut [bool],
}

impl<B: Buckets, Q, H: Fn(&Q) -> ItemOf<B>> Operation<B> for RemoveMany<'_, Q, H> {
    type Output = usize;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> usize {
        table.remove_many(self.items, self.item, self.removed)
    }
}

pub struct Get(pub(crate) u64);

impl<B: Buckets<Values = ValueBits>> Operation<B> for Get {
    type Output = Candidates;

    #[expect(clippy::inline_always, reason = "as a call it would pass its answer through memory")]
    #[inline(always)]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> Candidates {
        table.get(table.key(self.0))
    }
}

pub struct GetMany<'q, Q, H> {
    pub(crate) keys: &'q [Q],
    pub(crate) hash: H,
    pub(crate) found: &'q mut [Candidates],
}

impl<B: Buckets<Values = ValueBits>, Q, H: Fn(&Q) -> u64> Operation<B> for GetMany<'_, Q, H> {
    type Output = ();

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) {
        table.get_many(self.keys, self.hash, self.found);
    }
}

pub struct Replace<I> {
    pub(crate) old: I,
    pub(crate) new: u32,
}

impl<B: Buckets<Values = ValueBits>> Operation<B> for Replace<ItemOf<B>> {
    type Output = bool;

    #[inline]
    fn run<F: Format>(self, table: Table<'_, F, B>) -> bool {
        table.replace(table.key_of(self.old), self.new)
    }
}

/// Adds all entries of an image of another table, or none.
pub struct Merge<'i>(pub(crate) &'i Image);

impl<B: Buckets> Operation<B> for Merge<'_> {
    type Output = Result<(), InsertError>;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.merge(self.0)
    }
}

/// What is missing in a table with the words of a snapshot: the counts of slots in use, and these entries in the
/// stash.
pub struct Restore<'e>(pub(crate) &'e [CellWords]);

impl<B: Buckets> Operation<B> for Restore<'_> {
    type Output = Result<(), NoMemory>;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.recount()?;
        table.restore_stash(self.0)
    }
}

/// Grows until the table has room for this number of items.
pub struct GrowFor(pub(crate) usize);

impl<B: Buckets> Operation<B> for GrowFor {
    type Output = Result<(), NoMemory>;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> Self::Output {
        table.grow_for(self.0)
    }
}

/// The share of absent items that are reported as present.
pub struct FalsePositiveRate;

impl<B: Buckets> Operation<B> for FalsePositiveRate {
    type Output = f64;

    fn run<F: Format>(self, table: Table<'_, F, B>) -> f64 {
        table.false_positive_rate()
    }
}
