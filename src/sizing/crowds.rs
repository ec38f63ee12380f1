//! The load at which a table of fixed size has room for keys with several values, or for items with several copies.
//!
//! All values of a key go into its two buckets, and other keys use parts of these buckets. A value that finds no room
//! is stashed, and an entry of the stash takes several times the memory of a slot. For each number of slots and each
//! number of values per key, the tables below contain the load at which slots and stash together take the least memory,
//! or one per cent more than the least if less is stashed then. The loads come from a simulation,
//! `benches/evaluation/crowds.rs`, and a test there compares them with what a builder does.

use super::share;
use crate::layout::{LayoutId, Properties};

/// The memory of a stashed entry, in bits: about what an entry takes at half of all sizes of a stash.
const STASHED_BITS: u128 = 160;

/// The number of slots per bucket of the first row of each table.
const FEWEST_SLOTS: usize = 2;

/// The loads, in percent: one row for each number of slots, from 2 values per key to four times the number of slots.
const LOADS: [&[u8]; 7] = [
    &[69, 67, 70, 85, 89, 91, 92],
    &[76, 65, 56, 56, 54, 61, 68, 75, 81, 84, 86],
    &[87, 69, 63, 52, 48, 49, 46, 50, 55, 59, 63, 67, 72, 76, 79],
    &[91, 79, 65, 59, 50, 46, 43, 41, 39, 42, 45, 48, 51, 54, 57, 60, 63, 66, 69],
    &[94, 86, 74, 63, 59, 48, 43, 39, 39, 38, 38, 39, 41, 43, 46, 48, 50, 52, 54, 56, 58, 60, 62],
    &[
        96, 89, 80, 70, 62, 56, 46, 44, 38, 37, 37, 36, 34, 36, 38, 40, 42, 42, 44, 46, 48, 49, 51,
        53, 54, 56, 58,
    ],
    &[
        97, 92, 86, 76, 67, 59, 57, 47, 43, 39, 36, 34, 34, 33, 33, 35, 35, 37, 37, 39, 41, 41, 43,
        44, 46, 47, 49, 50, 51, 53, 54,
    ],
];

/// The shares of the pairs that are stashed at these loads, in thousandths.
const STASHED: [&[u16]; 7] = [
    &[29, 174, 281, 420, 497, 555, 600],
    &[1, 18, 94, 178, 226, 331, 411, 475, 524, 561, 593],
    &[0, 2, 15, 61, 107, 172, 199, 283, 353, 409, 456, 496, 532, 562, 587],
    &[0, 0, 3, 9, 43, 83, 119, 152, 170, 243, 303, 355, 400, 439, 473, 503, 530, 555, 576],
    &[
        0, 0, 1, 4, 10, 30, 55, 77, 120, 146, 168, 225, 277, 322, 365, 401, 433, 461, 487, 511,
        532, 551, 570,
    ],
    &[
        0, 0, 0, 1, 5, 6, 21, 47, 62, 89, 122, 143, 152, 208, 256, 299, 338, 366, 397, 426, 451,
        474, 496, 516, 533, 550, 566,
    ],
    &[
        0, 0, 0, 1, 1, 4, 8, 18, 36, 51, 63, 88, 112, 129, 145, 194, 233, 273, 304, 338, 368, 391,
        417, 440, 461, 481, 499, 515, 531, 547, 560,
    ],
];

/// The room that a table of fixed size has for the values of a key.
#[derive(Clone, Copy)]
pub(crate) struct Room {
    pub(crate) values_per_key: u32,
    /// The load of the table when it holds its capacity.
    pub(crate) load: f64,
    /// The share of the pairs that is stashed at this load.
    pub(crate) stashed: f64,
}

impl Room {
    /// Returns the maximum number of values per key that a table of this layout can be built for.
    pub(super) fn most_values(layout: LayoutId) -> u32 {
        4 * layout.properties().slots as u32
    }

    /// Returns the room for `values_per_key` values, from 1 to [`most_values`](Self::most_values).
    pub(super) fn of(layout: LayoutId, values_per_key: u32) -> Self {
        let &Properties { slots, load, .. } = layout.properties();
        let Some(at) = (values_per_key as usize).checked_sub(2) else {
            return Self { values_per_key, load, stashed: 0.0 };
        };
        let row = slots - FEWEST_SLOTS;
        let with_values = f64::from(LOADS[row][at]) / 100.0;
        Self {
            values_per_key,
            load: load.min(with_values),
            stashed: share(STASHED[row][at].into()),
        }
    }

    /// Returns the memory of the stashed entries of `pairs` pairs, in bits.
    pub(super) fn stashed_bits(self, pairs: u64) -> u128 {
        (pairs as f64 * self.stashed) as u128 * STASHED_BITS
    }
}
