//! Quick measurements of one function while working on it: `cargo bench -p coucal-benches -- lookup`.
//!
//! In cache and out of cache. The program `compare` compares with the limit of the machine and with
//! peers.

use std::time::Duration;

use coucal::{CuckooFilter, DefaultHashBuilder};
use coucal_measure::keys::{Keys, Which};
use coucal_measure::peers::coucal_with_slots;
use criterion::measurement::WallTime;
use criterion::{BenchmarkGroup, Criterion, Throughput};

mod batch;
mod insert;
mod lookup;
mod remove;

/// Table sizes: one fits in the inner caches, one does not.
const SLOTS: [u64; 2] = [1 << 16, 1 << 24];
/// Keys of one iteration.
const KEYS: u64 = 1 << 14;

fn keys() -> Keys {
    Keys::new(1)
}

/// A filter at this load, and its number of items.
fn filled(slots: u64, load: f64) -> (CuckooFilter, u64) {
    let filter = coucal_with_slots::<DefaultHashBuilder>(slots as usize);
    let items = (slots as f64 * load) as u64;
    for index in 0..items {
        filter.insert(&keys().key(index)).expect("the load is below what fits");
    }
    (filter, items)
}

/// The keys of one iteration after the other; they repeat only after a very long time.
fn rounds(which: impl Fn() -> Which) -> impl FnMut() -> Vec<u64> {
    let mut from = 0;
    move || {
        from += KEYS;
        keys().collect(which(), from - KEYS..from)
    }
}

fn group<'a>(criterion: &'a mut Criterion, subject: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(subject);
    group.throughput(Throughput::Elements(KEYS));
    group.sample_size(20).warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    group
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lookup::benches(&mut criterion);
    insert::benches(&mut criterion);
    remove::benches(&mut criterion);
    batch::benches(&mut criterion);
    criterion.final_summary();
}
