//! Filters and maplets of a kind, which a test goes through.

use coucal::Error;

use crate::format::{Contents, Geometry, Value};
use crate::layouts::Layout;
use crate::random::hashes;
use crate::subject::{Item, Subject, boxed, greatest};

/// Filters or maplets, of fixed size or growing.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    pub layout: Layout,
    pub grows: bool,
    /// 0 of filters.
    pub value_bits: u32,
}

impl Kind {
    /// What these are the contents of, but for the generations of an expiring filter.
    pub fn of(contents: &Contents) -> Self {
        let Geometry { grows, layout, value_bits, .. } = contents.geometry;
        Self { layout, grows, value_bits }
    }

    /// All of a layout, with values of each of the lengths that `lengths` says for the longest.
    pub fn all(layout: Layout, lengths: impl Fn(u32) -> Vec<u32>) -> Vec<Self> {
        let mut all = Vec::new();
        for grows in [false, true].into_iter().take(1 + usize::from(layout.grows())) {
            let lengths = lengths(layout.longest_values());
            let lengths = [0].into_iter().chain(lengths);
            all.extend(lengths.map(|value_bits| Self { layout, grows, value_bits }));
        }
        all
    }

    /// The four of a layout that grows, or two, with values of this length or the longest.
    pub fn each(layout: Layout, value_bits: u32) -> Vec<Self> {
        Self::all(layout, |longest| vec![longest.min(value_bits)])
    }

    /// The largest value; 0 of filters.
    pub fn top(self) -> Value {
        ((1_u64 << self.value_bits) - 1) as Value
    }

    /// Items with values by the hash.
    pub fn items(self, seed: u64, count: usize) -> Vec<Item> {
        hashes(seed).take(count).map(|hash| (hash, hash as Value & self.top())).collect()
    }

    /// One for this number of items, or one that grows to it from the first capacity.
    pub fn try_build(self, first: usize, most: usize) -> Result<Box<dyn Subject>, Error> {
        let Self { layout, value_bits, .. } = self;
        match (value_bits, self.grows) {
            (0, false) => boxed(|| layout.filters().capacity(most).build()),
            (0, true) => {
                boxed(|| layout.growing_filters().capacity(first).max_capacity(most).build())
            }
            (_, false) => boxed(|| layout.maplets(value_bits).capacity(most).build()),
            (_, true) => {
                let builder = layout.growing_maplets(value_bits).capacity(first);
                boxed(|| builder.max_capacity(most).build())
            }
        }
    }

    pub fn build(self, first: usize, most: usize) -> Box<dyn Subject> {
        self.try_build(first, most).expect("memory for a test")
    }

    /// The greatest maximum of what is built for this capacity at first, up to `most`, with which no split doubles an
    /// entry, and for which it does not begin with more buckets.
    pub fn greatest_exact(self, first: usize, most: usize) -> usize {
        let at = |most| {
            let subject = self.build(first, most);
            (subject.contents().is_exact(), subject.slots())
        };
        let (_, slots) = at(first);
        if at(most) == (true, slots) {
            most
        } else {
            first + greatest(most - first, |more| at(first + more) == (true, slots))
        }
    }

    pub fn restored(self, bytes: &[u8]) -> Result<Box<dyn Subject>, Error> {
        self.build(0, 0).restored(bytes)
    }
}
