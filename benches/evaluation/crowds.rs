//! Items with several copies, or keys with several values: the load at which a table with its stash is smallest, and
//! the share of the copies that is stashed at this load. `src/sizing/crowds.rs` of the crate has these figures.

use coucal::{CuckooFilter, Prehashed};
use coucal_benches::keys::Keys;
use coucal_benches::text::{Table, figures, percent};
use rayon::prelude::*;

use crate::Figure;

/// The numbers of slots per bucket.
const SLOTS: std::ops::RangeInclusive<usize> = 2..=8;
/// A layout for each of them.
const LAYOUTS: [&str; 7] = ["Fp32x2", "Fp21x3", "Fp16x4", "Fp12x5", "Fp10x6", "Fp9x7", "Fp8x8"];
/// The loads that are tried, in percent of the slots.
const LOADS: std::ops::RangeInclusive<u32> = 25..=97;
/// The memory of a stashed entry in bits, as in `src/sizing/crowds.rs` of the crate.
const STASHED_BITS: f64 = 160.0;
/// The memory that may be taken, as a multiple of the minimum, to have fewer stashed entries, which also cost time.
const SPARE: f64 = 1.01;

/// The best load for keys with `values` values each in buckets of `slots` slots.
#[derive(Clone, Copy)]
struct Best {
    slots: usize,
    values: usize,
    /// In percent of the slots.
    load: u32,
    /// The share of the pairs that are stashed at this load.
    stashed: f64,
}

/// Returns the bits per pair, in words of 64 bits and in the stash.
fn bits(slots: usize, load: u32, stashed: f64) -> f64 {
    64.0 / slots as f64 / (f64::from(load) / 100.0) + stashed * STASHED_BITS
}

/// Returns the share of stashed copies at each load, the mean of several filters with about `in_all` slots: infinite at
/// loads at which one of them is full.
fn shares(slots: usize, copies: usize, in_all: usize, filters: u64) -> Vec<f64> {
    let filter = |set| {
        let builder = CuckooFilter::builder().layout_named(LAYOUTS[slots - SLOTS.start()]).unwrap();
        let load = builder.clone().capacity(in_all).figures(in_all).unwrap().load_factor;
        (Keys::new(set), builder.capacity((in_all as f64 * load) as usize).build().unwrap(), 0)
    };
    let mut filters: Vec<_> = (1..=filters).map(filter).collect();
    let share = |load: u32| {
        let shares = filters.iter_mut().map(|(keys, filter, stored)| {
            let most = filter.slots() * load as usize / 100;
            while *stored < most {
                if filter.insert(&Prehashed(keys.key((*stored / copies) as u64))).is_err() {
                    return f64::INFINITY;
                }
                *stored += 1;
            }
            filter.stats().stashed_copies as f64 / most as f64
        });
        shares.sum::<f64>() / filters.len() as f64
    };
    LOADS.map(share).collect()
}

impl Best {
    /// Finds the lowest load at which the table takes little more memory than at the best one.
    fn of(slots: usize, values: usize, in_all: usize, filters: u64) -> Self {
        let shares = shares(slots, values, in_all, filters);
        let all =
            LOADS.zip(shares).map(|(load, stashed)| (bits(slots, load, stashed), load, stashed));
        let all: Vec<_> = all.collect();
        let least = all.iter().map(|at| at.0).fold(f64::INFINITY, f64::min);
        let best = all.iter().find(|at| at.0 <= SPARE * least).expect("the least itself");
        Self { slots, values, load: best.1, stashed: best.2 }
    }

    fn bits(self) -> f64 {
        bits(self.slots, self.load, self.stashed)
    }
}

/// Makes the figure with filters of about this number of slots.
pub fn figure(name: &str, in_all: usize) -> Figure {
    let shapes: Vec<_> =
        SLOTS.flat_map(|slots| (2..=4 * slots).map(move |values| (slots, values))).collect();
    let best = |(slots, values)| Best::of(slots, values, in_all, 4);
    let all: Vec<_> = shapes.into_par_iter().map(best).collect();
    let mut csv = vec!["slots,values per key,load,stashed,bits per pair".to_owned()];
    for best in &all {
        let Best { slots, values, load, stashed } = *best;
        csv.push(format!(
            "{slots},{values},{:.2},{stashed:.3},{:.2}",
            f64::from(load) / 100.0,
            best.bits()
        ));
    }
    let columns = [
        "values per key",
        "2 slots",
        "3 slots",
        "4 slots",
        "5 slots",
        "6 slots",
        "7 slots",
        "8 slots",
    ];
    let mut table = Table::new(name, columns);
    for values in [2, 3, 4, 5, 6, 8, 12, 16, 24, 32] {
        let cell = |slots| {
            let best = all.iter().find(|best| (best.slots, best.values) == (slots, values));
            best.map_or("–".into(), |best| {
                let stashed = percent(best.stashed);
                format!("{} %, {stashed}, {}", best.load, figures(best.bits()))
            })
        };
        table.cells(&values.to_string(), SLOTS.map(cell));
    }
    Figure { csv, table, plots: vec![] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use coucal::Figures;

    const ITEMS: usize = 1 << 30;

    /// Returns the figures that a builder makes of this number of copies per item.
    fn figures(slots: usize, copies: usize) -> Figures {
        let builder = CuckooFilter::builder().layout_named(LAYOUTS[slots - SLOTS.start()]).unwrap();
        builder.capacity(ITEMS).copies_per_item(copies as u32).figures(ITEMS).unwrap()
    }

    /// The loads of the crate are those of the file that this program writes.
    #[test]
    fn a_builder_takes_the_loads_of_the_file() {
        let file = include_str!("../../docs/evaluation/crowds.csv");
        let mut rows = 0;
        for row in file.lines().skip(1) {
            let fields: Vec<f64> = row.split(',').map(|field| field.parse().unwrap()).collect();
            let [slots, values, load, stashed, _] = fields[..] else { panic!("{row}") };
            let [of_layout, found] =
                [1, values as usize].map(|copies| figures(slots as usize, copies));
            // At most the load of distinct items.
            let load = load.min(of_layout.load_factor);
            assert!((found.load_factor - load).abs() < 0.001, "{row}: {found:?}");
            assert!((found.stashed_share - stashed).abs() < 1e-9, "{row}: {found:?}");
            rows += 1;
        }
        let due = SLOTS.map(|slots| 4 * slots - 1);
        assert_eq!(rows, due.sum::<usize>());
    }

    /// At these loads a smaller table takes little more memory than at its own best load, and stashes the stated share.
    #[test]
    fn the_loads_are_near_the_best() {
        for slots in SLOTS {
            for values in [2, slots, slots + 1, 2 * slots, 4 * slots] {
                let Figures { load_factor, stashed_share, .. } = figures(slots, values);
                let load = (100.0 * load_factor).round() as u32;
                let shares = shares(slots, values, 1 << 14, 1);
                let at = |load: u32| bits(slots, load, shares[(load - LOADS.start()) as usize]);
                let least = LOADS
                    .filter(|&load| f64::from(load) < 100.0 * figures(slots, 1).load_factor + 1.0);
                let least = least.map(at).fold(f64::INFINITY, f64::min);
                assert!(at(load) < 1.05 * least, "{slots}, {values}: {}, {least}", at(load));
                let found = shares[(load - LOADS.start()) as usize];
                assert!(
                    (found - stashed_share).abs() < 0.02,
                    "{slots}, {values}: {found}, {stashed_share}"
                );
            }
        }
    }
}
