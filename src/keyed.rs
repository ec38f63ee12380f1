//! What a filter and a maplet are: a table, the hasher of its keys, and what it was built for. The public
//! types add what differs, and the documentation.

use core::fmt;
use core::hash::{BuildHasher, Hash};

use crate::error::{InsertManyError, ReserveError};
use crate::sizing;
use crate::storage::sealed::Tables;
use crate::storage::{Figures, Operations};
use crate::table::Buckets;

/// Items of an iterator that are inserted as one batch: many times as many as are prefetched, few enough
/// for the stack.
const BATCH: usize = 256;

/// Calls `insert_many` for the items of an iterator, a batch at a time, until it fails.
pub fn insert_in_batches<T: Copy + Default>(
    items: impl IntoIterator<Item = T>,
    insert_many: impl Fn(&[T]) -> Result<(), InsertManyError>,
) -> Result<(), InsertManyError> {
    let mut items = items.into_iter().fuse();
    let mut batch = [T::default(); BATCH];
    let mut stored = 0;
    loop {
        let mut len = 0;
        for (place, item) in batch.iter_mut().zip(&mut items) {
            *place = item;
            len += 1;
        }
        if len == 0 {
            return Ok(());
        }
        insert_many(&batch[..len])
            .map_err(|error| InsertManyError::new(stored + error.stored(), error.cause()))?;
        stored += len;
    }
}

/// A table of one of the layouts of `C`, with buckets `B`, and the hasher of its keys.
pub struct Keyed<C: Tables<B>, B: Buckets, S> {
    pub(crate) table: C::Table,
    pub(crate) hasher: S,
    pub(crate) capacity: usize,
    pub(crate) max_capacity: usize,
}

impl<C: Tables<B>, B: Buckets, S> Keyed<C, B, S> {
    pub(crate) fn figures(&self) -> &dyn Figures {
        self.table.figures()
    }

    #[inline]
    pub(crate) fn hash_of<Q: Hash + ?Sized>(&self, key: &Q) -> u64
    where
        S: BuildHasher,
    {
        self.hasher.hash_one(key)
    }

    pub(crate) fn len(&self) -> usize {
        self.figures().occupied()
    }

    pub(crate) fn capacity(&self) -> usize {
        let of_this_size = self.figures().target_items().min(self.max_capacity);
        of_this_size.max(self.capacity).max(self.len())
    }

    pub(crate) fn load_factor(&self) -> f64 {
        sizing::load(self.len(), self.figures().slots())
    }

    pub(crate) fn reserve(&self, additional: usize) -> Result<(), ReserveError> {
        let wanted = self.len().saturating_add(additional);
        ReserveError::check(wanted, self.max_capacity)?;
        let grown = self.figures().grow_for(wanted);
        grown.map_err(|error| ReserveError::OutOfMemory { bytes: error.bytes })
    }

    /// Figures, not the table; `bytes` is the memory of it all.
    pub(crate) fn print(
        &self,
        name: &str,
        bytes: usize,
        f: &mut fmt::Formatter<'_>,
    ) -> fmt::Result {
        let figures = self.figures();
        let mut printed = f.debug_struct(name);
        printed.field("layout", &figures.layout().name());
        if B::HAS_VALUES {
            printed.field("value_bits", &figures.value_bits());
        }
        printed
            .field("len", &self.len())
            .field("capacity", &self.capacity())
            .field("slots", &figures.slots())
            .field("load_factor", &self.load_factor())
            .field("false_positive_rate", &figures.false_positive_rate())
            .field("memory_bytes", &bytes)
            .finish_non_exhaustive()
    }
}
