//! The layouts by name: what the documentation says of each.

use std::fmt;

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

/// One that stores fingerprints side by side: name, bits and slots, first failure and load.
const fn packed(name: &'static str, bits: u32, slots: usize, full: f64, load: f64) -> Layout {
    let (core_bits, target, highest_target) = (0, 0, 0);
    let (encoding, scatter) = (0, 2.5);
    Layout { name, encoding, bits, slots, full, load, scatter, core_bits, target, highest_target }
}

/// In the order of fingerprint lengths.
pub const LAYOUTS: [Layout; 9] = [
    packed("Fp8x8", 8, 8, 99.7, 0.985),
    packed("Fp9x7", 9, 7, 99.5, 0.985),
    packed("Fp10x6", 10, 6, 99.2, 0.98),
    packed("Fp12x5", 12, 5, 98.6, 0.975).that_grows(6, 815, 885),
    Layout { encoding: 1, ..packed("SemiSorted14x5", 14, 5, 98.6, 0.975) },
    packed("Fp16x4", 16, 4, 97.5, 0.96).that_grows(6, 750, 870),
    Layout { encoding: 1, ..packed("SemiSorted17x4", 17, 4, 97.5, 0.96) },
    packed("Fp21x3", 21, 3, 95.1, 0.935).that_grows(8, 760, 830),
    Layout { scatter: 3.0, ..packed("Fp32x2", 32, 2, 88.3, 0.865).that_grows(12, 690, 750) },
];

/// By its name: it is in the message of each assertion on a layout.
impl fmt::Debug for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

impl Layout {
    const fn that_grows(self, core_bits: u32, target: u32, highest_target: u32) -> Self {
        Self { core_bits, target, highest_target, ..self }
    }

    /// The layout of this name.
    pub fn named(name: &str) -> Self {
        let found = LAYOUTS.into_iter().find(|layout| layout.name == name);
        found.unwrap_or_else(|| panic!("no layout is named {name}"))
    }

    pub fn grows(self) -> bool {
        self.core_bits > 0
    }

    /// Bits that a new entry of a growing table knows beyond those of the level, beside a value of so many bits: what
    /// is left beside the core and the bit that ends the ring. The core is short where there would be fewer than eight.
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

    fn shape(self) -> [u8; 3] {
        [self.encoding, self.bits as u8, self.slots as u8]
    }

    pub(crate) fn of_shape(shape: [u8; 3]) -> Option<Self> {
        LAYOUTS.into_iter().find(|layout| layout.shape() == shape)
    }
}
