//! The load at which a table of fixed size has room for keys with several values, or for items with several copies.
//!
//! All values of a key go into its two buckets, and other keys use parts of these buckets. A value that finds no room
//! is stashed, and an entry of the stash takes several times the memory of a slot. At the best load, slots and stash
//! together take the least memory. At a lower load, less is stashed. So for each number of slots and each number of
//! values per key, the tables below contain the lowest load at which slots and stash together take at most 1 % more
//! memory than at the best load. `benches/evaluation/crowds.rs` measures the loads with filters that it fills, and a
//! test there compares them with those of a builder.

use super::share;
use crate::layout::{LayoutId, Properties};

/// The bits of memory that count for a stashed entry. An entry takes 91 to 183 bits, depending on how full the cells
/// are. The number is above the mean, since stashed entries also cost time.
const STASHED_BITS: u128 = 160;

/// The number of slots per bucket of the first row of each table.
const FEWEST_SLOTS: usize = 2;

/// The loads, in percent: one row for each number of slots, from 2 values per key to four times the number of slots.
const LOADS: [&[u8]; 7] = [
    &[70, 67, 70, 83, 89, 91, 92],
    &[76, 64, 56, 55, 55, 62, 69, 76, 81, 84, 86],
    &[87, 68, 59, 51, 48, 47, 46, 50, 55, 59, 63, 67, 72, 76, 78],
    &[91, 79, 64, 56, 50, 45, 44, 42, 40, 43, 46, 49, 52, 55, 58, 61, 64, 67, 69],
    &[94, 86, 74, 61, 55, 47, 43, 40, 39, 38, 37, 40, 42, 44, 47, 49, 51, 53, 55, 58, 60, 62, 64],
    &[
        96, 89, 80, 69, 60, 55, 47, 42, 38, 37, 35, 34, 33, 35, 37, 39, 40, 42, 44, 45, 47, 49, 50,
        52, 54, 55, 57,
    ],
    &[
        97, 92, 85, 75, 66, 58, 55, 46, 41, 39, 35, 34, 33, 32, 32, 34, 35, 36, 38, 39, 41, 42, 43,
        44, 46, 47, 48, 49, 51, 52, 53,
    ],
];

/// The shares of the pairs that are stashed at these loads, in thousandths.
const STASHED: [&[u16]; 7] = [
    &[35, 173, 279, 414, 496, 553, 598],
    &[0, 21, 95, 174, 231, 335, 415, 477, 525, 562, 594],
    &[0, 1, 11, 59, 108, 165, 199, 282, 353, 409, 455, 496, 531, 562, 586],
    &[0, 0, 2, 5, 44, 77, 121, 155, 174, 246, 306, 358, 402, 441, 475, 505, 532, 556, 577],
    &[
        0, 0, 1, 2, 6, 30, 54, 80, 119, 145, 163, 227, 280, 325, 368, 403, 435, 463, 489, 513, 535,
        554, 572,
    ],
    &[
        0, 0, 0, 1, 3, 6, 24, 44, 63, 92, 116, 135, 149, 204, 253, 296, 332, 367, 398, 424, 450,
        474, 494, 514, 533, 549, 565,
    ],
    &[
        0, 0, 0, 0, 2, 3, 7, 20, 34, 55, 66, 94, 115, 129, 144, 194, 237, 274, 311, 341, 372, 397,
        421, 442, 464, 483, 500, 517, 533, 547, 561,
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
