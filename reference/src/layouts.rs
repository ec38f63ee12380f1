//! The layouts by name.

use std::fmt;

use coucal::{
    AnyLayout, Builder, CuckooFilter, CuckooMaplet, Growable, MapletBuilder, StableHashBuilder,
};

use crate::format::{self, Geometry};
use crate::subject::{Filter, HASHER, Maplet, Subject};

/// What the documentation says of a layout.
#[derive(Clone, Copy, PartialEq)]
pub struct Layout {
    pub name: &'static str,
    /// The number of the encoding in snapshots.
    pub encoding: u8,
    /// Bits of a slot.
    pub bits: u32,
    /// Slots of a bucket.
    pub slots: usize,
    /// The share of slots in use at the first failed insert, on average, in percent.
    pub full: f64,
    /// The share of the slots that a large table of fixed size is made for.
    pub load: f64,
    /// Slots beyond that for each square root of an item.
    pub scatter: f64,
    /// Bits of the core of an entry in a growing table at the most; 0 if it does not grow.
    pub core_bits: u32,
    /// The share of slots in use that a growing table keeps, in thousandths.
    pub target: u32,
    /// The highest that the builder of a filter may ask for, in thousandths.
    pub highest_target: u32,
}

/// The buckets that a growing table begins with at the least.
pub const LEAST_BUCKETS: usize = 32;

const FIXED: Layout = Layout {
    name: "",
    encoding: 0,
    bits: 0,
    slots: 0,
    full: 0.0,
    load: 0.0,
    scatter: 2.5,
    core_bits: 0,
    target: 0,
    highest_target: 0,
};

/// In the order of fingerprint lengths.
pub const LAYOUTS: [Layout; 9] = [
    Layout { name: "Fp8x8", bits: 8, slots: 8, full: 99.7, load: 0.985, ..FIXED },
    Layout { name: "Fp9x7", bits: 9, slots: 7, full: 99.5, load: 0.985, ..FIXED },
    Layout { name: "Fp10x6", bits: 10, slots: 6, full: 99.2, load: 0.98, ..FIXED },
    Layout {
        name: "Fp12x5",
        bits: 12,
        slots: 5,
        full: 98.6,
        load: 0.975,
        core_bits: 6,
        target: 815,
        highest_target: 885,
        ..FIXED
    },
    Layout {
        name: "SemiSorted14x5",
        encoding: 1,
        bits: 14,
        slots: 5,
        full: 98.6,
        load: 0.975,
        ..FIXED
    },
    Layout {
        name: "Fp16x4",
        bits: 16,
        slots: 4,
        full: 97.5,
        load: 0.96,
        core_bits: 6,
        target: 750,
        highest_target: 870,
        ..FIXED
    },
    Layout {
        name: "SemiSorted17x4",
        encoding: 1,
        bits: 17,
        slots: 4,
        full: 97.5,
        load: 0.96,
        ..FIXED
    },
    Layout {
        name: "Fp21x3",
        bits: 21,
        slots: 3,
        full: 95.1,
        load: 0.935,
        core_bits: 8,
        target: 760,
        highest_target: 830,
        ..FIXED
    },
    Layout {
        name: "Fp32x2",
        bits: 32,
        slots: 2,
        full: 88.3,
        load: 0.865,
        scatter: 3.0,
        core_bits: 12,
        target: 690,
        highest_target: 750,
        ..FIXED
    },
];

/// By its name: it is in the message of each assertion on a layout.
impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Layout {
    /// The layout of this name.
    pub fn named(name: &str) -> Self {
        let found = LAYOUTS.into_iter().find(|layout| layout.name == name);
        found.unwrap_or_else(|| panic!("no layout is named {name}"))
    }

    pub fn grows(self) -> bool {
        self.core_bits > 0
    }

    /// Bits that a new entry of a growing table knows beyond those of the level, beside a value of so many bits: what is left
    /// beside the core and the bit that ends the ring. The core is short where there would be fewer than eight.
    pub fn extra_bits(self, value_bits: u32) -> u32 {
        let core_and_extra = self.bits - value_bits - 1;
        core_and_extra - self.core_bits.min(core_and_extra.saturating_sub(8).max(4))
    }

    /// The share of slots in use that a growing table keeps.
    pub fn target(self) -> f64 {
        f64::from(self.target) / 1000.0
    }

    /// The highest that a builder may ask for, in thousandths.
    pub fn highest_target(self, is_maplet: bool) -> u32 {
        self.highest_target - if is_maplet { 10 } else { 0 }
    }

    /// The longest values in a maplet.
    pub fn longest_values(self) -> u32 {
        let shortest_fingerprint = match self.slots {
            2 => 9,
            3 => 7,
            4 | 5 => 6,
            _ => 5,
        };
        self.bits - shortest_fingerprint
    }

    /// Builds filters of this layout.
    pub fn filters(self) -> Builder<AnyLayout, StableHashBuilder> {
        let builder = CuckooFilter::builder().layout_named(self.name).expect("its name");
        builder.hasher(HASHER)
    }

    /// Builds maplets of this layout.
    pub fn maplets(self, value_bits: u32) -> MapletBuilder<AnyLayout, StableHashBuilder> {
        let builder = CuckooMaplet::builder().layout_named(self.name).expect("its name");
        builder.hasher(HASHER).value_bits(value_bits)
    }

    /// A filter for this number of items.
    pub fn filter(self, capacity: usize) -> Filter {
        self.filters().capacity(capacity).build().expect("memory for a test")
    }

    /// A filter that grows from the first capacity to the greatest.
    pub fn growing(self, first: usize, most: usize) -> Filter<Growable<AnyLayout>> {
        let builder = self.filters().capacity(first).max_capacity(most);
        builder.build().expect("memory for a test")
    }

    /// A maplet for this number of pairs.
    pub fn maplet(self, pairs: usize, value_bits: u32) -> Maplet {
        self.maplets(value_bits).capacity(pairs).build().expect("memory for a test")
    }

    /// A maplet that grows from the first capacity to the greatest.
    pub fn growing_maplet(
        self,
        first: usize,
        most: usize,
        value_bits: u32,
    ) -> Maplet<Growable<AnyLayout>> {
        let builder = self.maplets(value_bits).capacity(first).max_capacity(most);
        builder.build().expect("memory for a test")
    }

    /// The filter with the most slots, of those with at most `slots`.
    pub fn filter_of_slots(self, slots: usize) -> Filter {
        self.filter(greatest(slots + 1, |capacity| self.filter(capacity).slots() <= slots))
    }

    /// The maplet with the most slots, of those with at most `slots`.
    pub fn maplet_of_slots(self, slots: usize, value_bits: u32) -> Maplet {
        let fits = |capacity| self.maplet(capacity, value_bits).slots() <= slots;
        self.maplet(greatest(slots + 1, fits), value_bits)
    }

    /// The greatest maximum of a filter that is built for this capacity at first, up to `most`, with which no split
    /// doubles an entry, and for which it does not begin with more buckets.
    pub fn greatest_exact(self, first: usize, most: usize) -> usize {
        greatest_exact(first, most, |most| self.growing(first, most))
    }

    /// The same of a maplet.
    pub fn greatest_exact_maplet(self, first: usize, most: usize, value_bits: u32) -> usize {
        greatest_exact(first, most, |most| self.growing_maplet(first, most, value_bits))
    }

    /// Where items belong in a table of fixed size with this number of buckets.
    pub fn fixed_geometry(self, buckets: usize, value_bits: u32) -> Geometry {
        Geometry { grows: false, layout: self, value_bits, first: buckets as u64 }
    }

    /// Where items belong in a growing table that began with this number of buckets.
    pub fn growing_geometry(self, first: usize, value_bits: u32) -> Geometry {
        Geometry { grows: true, ..self.fixed_geometry(first, value_bits) }
    }

    fn shape(self) -> [u8; 3] {
        [self.encoding, self.bits as u8, self.slots as u8]
    }

    pub(crate) fn of_shape(shape: [u8; 3]) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.shape() == shape)
    }
}

fn greatest_exact<S: Subject>(first: usize, most: usize, build: impl Fn(usize) -> S) -> usize {
    let slots = build(first).slots();
    let is_within = |most| {
        let built = build(most);
        let contents = format::read(&built.bytes()).expect("a snapshot");
        contents.is_exact() && built.slots() == slots
    };
    if is_within(most) {
        most
    } else {
        first + greatest(most - first, |more| is_within(first + more))
    }
}

/// The greatest number below the bound for which `is_within` says yes; it does so for 0.
fn greatest(bound: usize, is_within: impl Fn(usize) -> bool) -> usize {
    let (mut within, mut beyond) = (0, bound);
    while beyond - within > 1 {
        let middle = usize::midpoint(within, beyond);
        *(if is_within(middle) { &mut within } else { &mut beyond }) = middle;
    }
    within
}
