//! Quick measurements of one function while working on it: `cargo bench -p coucal-benches -- lookup`.
//!
//! In cache and out of cache. The program `compare` compares with the limit of the machine and with
//! peers.

use std::time::{Duration, Instant};

use coucal::{CuckooFilter, DefaultHashBuilder};
use coucal_measure::keys::{Keys, Which};
use coucal_measure::peers::coucal_with_slots;
use criterion::measurement::WallTime;
use criterion::{BatchSize, BenchmarkGroup, BenchmarkId, Criterion, Throughput};

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

fn group<'a>(criterion: &'a mut Criterion, subject: &str) -> BenchmarkGroup<'a, WallTime> {
    let mut group = criterion.benchmark_group(subject);
    group.throughput(Throughput::Elements(KEYS));
    group.sample_size(20).warm_up_time(Duration::from_millis(300));
    group.measurement_time(Duration::from_secs(1));
    group
}

/// At 95 % load, one by one and in batches.
fn lookups(criterion: &mut Criterion) {
    let mut group = group(criterion, "lookup");
    for slots in SLOTS {
        let (filter, items) = filled(slots, 0.95);
        let half = Which::Half { items };
        for (name, which) in [
            ("miss", Which::Absent),
            ("hit", Which::Present { items }),
            ("half", half),
            ("half, contains_many", half),
        ] {
            let mut from = 0;
            // They repeat only after a very long time.
            let mut next = || {
                from += KEYS;
                keys().collect(which, from - KEYS..from)
            };
            let look = |keys: Vec<u64>| {
                if name.ends_with("many") {
                    filter.contains_each(&keys).iter().filter(|found| **found).count()
                } else {
                    keys.iter().filter(|key| filter.contains(*key)).count()
                }
            };
            group.bench_function(BenchmarkId::new(name, slots), |bencher| {
                bencher.iter_batched(&mut next, look, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

/// Inserts of new items and removals of the oldest ones, in turn, one by one or in batches; one of the two
/// is timed.
fn writes(criterion: &mut Criterion) {
    for (name, batches) in [("insert", false), ("insert_many", true), ("remove", false)] {
        let mut group = group(criterion, name);
        for (slots, load) in
            SLOTS.into_iter().flat_map(|slots| [0.25, 0.7, 0.92].map(|l| (slots, l)))
        {
            let (filter, mut next) = filled(slots, load - KEYS as f64 / slots as f64);
            let mut oldest = 0;
            group.bench_function(BenchmarkId::new(format!("at {load}"), slots), |bencher| {
                bencher.iter_custom(|iterations| {
                    let (mut inserting, mut removing) = (Duration::ZERO, Duration::ZERO);
                    for _ in 0..iterations {
                        let new = keys().collect(Which::InOrder, next..next + KEYS);
                        let old = keys().collect(Which::InOrder, oldest..oldest + KEYS);
                        (oldest, next) = (oldest + KEYS, next + KEYS);
                        let started = Instant::now();
                        if batches {
                            filter.insert_many(&new).expect("the load is below what fits");
                        } else {
                            for key in &new {
                                filter.insert(key).expect("the load is below what fits");
                            }
                        }
                        inserting += started.elapsed();
                        let started = Instant::now();
                        assert!(old.iter().all(|key| filter.remove(key)));
                        removing += started.elapsed();
                    }
                    if name == "remove" { removing } else { inserting }
                });
            });
        }
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    lookups(&mut criterion);
    writes(&mut criterion);
    criterion.final_summary();
}
