//! `insert` and `insert_unique`; removals, which are not timed, keep the load constant.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};

use crate::{KEYS, SLOTS, filled, group, keys};

pub fn benches(criterion: &mut Criterion) {
    let mut group = group(criterion, "insert");
    for slots in SLOTS {
        for load in [0.25, 0.7, 0.92] {
            let (filter, items) = filled(slots, load - KEYS as f64 / slots as f64 / 2.0);
            let name = format!("at {:.0} %", load * 100.0);
            group.bench_function(BenchmarkId::new(name, slots), |bencher| {
                let (mut oldest, mut next) = (0, items);
                bencher.iter_custom(|iterations| {
                    let mut spent = Duration::ZERO;
                    for _ in 0..iterations {
                        let new: Vec<_> = (next..next + KEYS).map(|i| keys().key(i)).collect();
                        let begun = Instant::now();
                        for key in &new {
                            filter.insert(key).expect("the load is below what fits");
                        }
                        spent += begun.elapsed();
                        for index in oldest..oldest + KEYS {
                            filter.remove(&keys().key(index));
                        }
                        (oldest, next) = (oldest + KEYS, next + KEYS);
                    }
                    spent
                });
                // The next sample starts with the same items.
                for index in oldest..next {
                    filter.remove(&keys().key(index));
                }
                for index in 0..items {
                    filter.insert(&keys().key(index)).expect("as before");
                }
            });
        }
        let (filter, items) = filled(slots, 0.5);
        group.bench_function(BenchmarkId::new("unique, present", slots), |bencher| {
            let present: Vec<_> = (0..KEYS).map(|index| keys().key(index % items)).collect();
            bencher.iter(|| {
                present.iter().filter(|key| filter.insert_unique(*key) == Ok(true)).count()
            });
        });
    }
    group.finish();
}
