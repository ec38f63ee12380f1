//! `contains_many` and `insert_many`.

use coucal::DefaultHashBuilder;
use coucal_measure::keys::{CHUNK, Which};
use coucal_measure::peers::coucal_with_slots;
use criterion::{BatchSize, BenchmarkId, Criterion};

use crate::{KEYS, SLOTS, filled, group, keys, rounds};

pub fn benches(criterion: &mut Criterion) {
    let mut group = group(criterion, "batch");
    for slots in SLOTS {
        let (filter, items) = filled(slots, 0.95);
        group.bench_function(BenchmarkId::new("contains_many", slots), |bencher| {
            let mut found = [false; CHUNK];
            let look = |keys: Vec<u64>| {
                for keys in keys.chunks(CHUNK) {
                    filter.contains_many(keys, &mut found[..keys.len()]).expect("as many");
                }
                found[0]
            };
            let half = rounds(|| Which::Half { items });
            bencher.iter_batched(half, look, BatchSize::LargeInput);
        });
        let filter = coucal_with_slots::<DefaultHashBuilder>(slots as usize);
        group.bench_function(BenchmarkId::new("insert_many", slots), |bencher| {
            let mut next = 0;
            let batch = || {
                // Up to 75 % load, then from empty again.
                if filter.len() as u64 + KEYS > slots * 3 / 4 {
                    filter.clear();
                }
                next += KEYS;
                keys().collect(Which::InOrder, next - KEYS..next)
            };
            let insert = |keys: Vec<u64>| filter.insert_many(&keys).is_ok();
            bencher.iter_batched(batch, insert, BatchSize::PerIteration);
        });
    }
    group.finish();
}
