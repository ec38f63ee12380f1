//! `remove` of present items, which are inserted again before the next iteration.

use std::time::{Duration, Instant};

use criterion::{BenchmarkId, Criterion};

use crate::{KEYS, SLOTS, filled, group, keys};

pub fn benches(criterion: &mut Criterion) {
    let mut group = group(criterion, "remove");
    for slots in SLOTS {
        let (filter, items) = filled(slots, 0.9);
        group.bench_function(BenchmarkId::new("present", slots), |bencher| {
            let mut from = 0;
            bencher.iter_custom(|iterations| {
                let mut spent = Duration::ZERO;
                for _ in 0..iterations {
                    from = (from + KEYS) % (items - KEYS);
                    let old: Vec<_> = (from..from + KEYS).map(|i| keys().key(i)).collect();
                    let begun = Instant::now();
                    for key in &old {
                        assert!(filter.remove(key));
                    }
                    spent += begun.elapsed();
                    filter.insert_many(&old).expect("they have just made room");
                }
                spent
            });
        });
    }
    group.finish();
}
