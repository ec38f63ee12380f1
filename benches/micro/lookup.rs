//! `contains` at 95 % load.

use coucal_measure::keys::Which;
use criterion::{BatchSize, BenchmarkId, Criterion};

use crate::{SLOTS, filled, group, rounds};

pub fn benches(criterion: &mut Criterion) {
    let mut group = group(criterion, "lookup");
    for slots in SLOTS {
        let (filter, items) = filled(slots, 0.95);
        for (name, which) in [
            ("miss", Which::Absent),
            ("hit", Which::Present { items }),
            ("half", Which::Half { items }),
        ] {
            let look = |keys: Vec<u64>| keys.iter().filter(|key| filter.contains(*key)).count();
            group.bench_function(BenchmarkId::new(name, slots), |bencher| {
                bencher.iter_batched(rounds(|| which), look, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}
