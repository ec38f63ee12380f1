//! Tables for the unit tests of the modules below `table`. They live until the process ends.

mod weak_memory;

use super::*;
use crate::layout::{LayoutId, Properties};
use crate::sizing;

impl<F: Encoding, B: Buckets> Table<'static, F, B> {
    /// Allocates an empty table that begins with `first` buckets, even and at least 2, and has at most `max_buckets`,
    /// with the target load of its layout.
    pub(crate) fn try_new(first: usize, max_buckets: usize) -> Result<Self, NoMemory> {
        Self::try_sized(Sizing::of_table(F::ID, first as u64, max_buckets as u64))
    }

    pub(crate) fn try_sized(sizing: Sizing) -> Result<Self, NoMemory> {
        State::try_new(sizing).map(|state| Self::new(Box::leak(Box::new(state))))
    }

    /// Returns another table, restored from an image of this one.
    pub(crate) fn restored(self) -> Result<Self, NoMemory> {
        let image = self.image().expect("memory for a test");
        let (max_buckets, value_bits) = (self.max_buckets(), self.value_bits());
        let (words, doubled_of) = (image.words(), image.doubled_of.clone());
        let state =
            State::with_words(F::ID, image.sizes, max_buckets, value_bits, words, doubled_of)?;
        let table = Self::new(Box::leak(Box::new(state)));
        table.recount();
        Ok(table)
    }
}

impl Sizing {
    /// Returns the sizing of a table of these sizes, with the target load of its layout.
    pub(crate) fn of_table(layout: LayoutId, initial: u64, buckets: u64) -> Self {
        let target_load = sizing::thousandths(layout.properties().target_load());
        Self { layout, initial, buckets, target_load, value_bits: 0, max_capacity: 0 }
    }
}

impl Properties {
    /// Returns the load that a growing table keeps unless its builder says otherwise; 0 if tables of this layout do not
    /// grow.
    pub(crate) fn target_load(&self) -> f64 {
        self.growth.map_or(0.0, |growth| growth.target_load)
    }
}
