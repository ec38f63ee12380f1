//! The cost of the stable hasher beside the default one: the hash alone, and a lookup that hashes its key; in loops
//! that are functions of their own, and in one large function.

use std::hash::{BuildHasher, Hash};
use std::hint::black_box;
use std::iter;
use std::time::Instant;

use coucal::{CuckooFilter, DefaultHashBuilder, Fp16x4, StableHashBuilder};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::text::Table;

use crate::output::table;
use crate::results::{Place, Results, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "hashers",
    slots: &[1 << 16],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

/// The lengths of the strings, in bytes.
const LENGTHS: [usize; 6] = [5, 12, 25, 32, 100, 1000];

const NUMBERS: &str = "`u64`";
const PAIRS: &str = "strings of 12 and 9 bytes";

/// The figures of the default hasher and of the stable one: the hash, a lookup, and both in the large function.
const FIGURES: [[&str; 2]; 4] = [
    ["hash", "hash, stable"],
    ["lookup", "lookup, stable"],
    ["hash, large", "hash, stable, large"],
    ["lookup, large", "lookup, stable, large"],
];

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let keys = Keys::new(1 + round as u64).collect(Which::InOrder, 0..CHUNK as u64);
        let string =
            |key: u64, len: usize| format!("{key:016x}").repeat(len.div_ceil(16))[..len].to_owned();
        let strings = |len| keys.iter().map(|&key| string(key, len)).collect::<Vec<_>>();
        of_keys(plan, slots, NUMBERS, &keys, results);
        for len in LENGTHS {
            of_keys(plan, slots, &of_length(len), &strings(len), results);
        }
        let pairs: Vec<_> = strings(12).into_iter().zip(strings(9)).collect();
        of_keys(plan, slots, PAIRS, &pairs, results);
    }
}

fn of_length(len: usize) -> String {
    format!("string of {len} bytes")
}

#[inline(never)]
fn hash<S: BuildHasher, K: Hash>(hasher: &S, keys: &[K]) -> u64 {
    keys.iter().fold(0, |hashes, key| hashes ^ hasher.hash_one(key))
}

#[inline(never)]
fn contains<S: BuildHasher, K: Hash>(filter: &CuckooFilter<Fp16x4, S>, keys: &[K]) -> usize {
    keys.iter().filter(|key| filter.contains(*key)).count()
}

/// Measures all by turns. Half of the keys are present.
#[inline(never)]
fn of_keys<K: Hash>(plan: &Plan, slots: u64, name: &str, keys: &[K], results: &mut Results) {
    let capacity = slots as usize * 15 / 16;
    let (default, stable) = (DefaultHashBuilder::default(), StableHashBuilder::new(black_box(7)));
    let filter = CuckooFilter::with_capacity_and_hasher(capacity, default.clone());
    let of_stable = CuckooFilter::with_capacity_and_hasher(capacity, stable);
    for key in &keys[..keys.len() / 2] {
        filter.insert(key).and_then(|()| of_stable.insert(key)).expect("room");
    }
    let mut nanos = FIGURES.map(|figures| figures.map(|_| Vec::new()));
    for _ in (0..plan.operations).step_by(keys.len()) {
        let keys = black_box(keys);
        macro_rules! time {
            ($($figure:literal $hasher:literal: $work:expr;)*) => {$(
                let started = Instant::now();
                black_box($work);
                let took = started.elapsed().as_nanos() as f64 / keys.len() as f64;
                nanos[$figure][$hasher].push(took);
            )*};
        }
        time! {
            0 0: hash(&default, keys);
            0 1: hash(&stable, keys);
            1 0: contains(&filter, keys);
            1 1: contains(&of_stable, keys);
            2 0: keys.iter().fold(0, |hashes, key| hashes ^ default.hash_one(key));
            2 1: keys.iter().fold(0, |hashes, key| hashes ^ stable.hash_one(key));
            3 0: keys.iter().filter(|key| filter.contains(*key)).count();
            3 1: keys.iter().filter(|key| of_stable.contains(*key)).count();
        }
    }
    for (figure, nanos) in FIGURES.iter().flatten().zip(nanos.iter().flatten()) {
        let place: Place = (slots, 1);
        results.push(place, name, figure, median(nanos).unwrap_or(f64::NAN));
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let columns = "`hash_one`, default, ns|stable, ns|times|`contains`, default, ns|stable, ns|times|\
                   in a large function: `hash_one`, times|`contains`, times";
    let mut costs = table("hashers", columns.split('|'));
    for slots in results.slots_with(FIGURES[0][0]) {
        let view = results.at(slots, 1);
        let strings = LENGTHS.map(of_length);
        let names = strings.iter().map(String::as_str);
        for name in iter::once(NUMBERS).chain(names).chain([PAIRS]) {
            let times = |[of_default, of_stable]: [&str; 2]| {
                view.ratio((name, of_stable), (name, of_default))
            };
            let [hash, lookup, hash_large, lookup_large] = FIGURES;
            let cells = [hash, lookup].into_iter().flat_map(|figures| {
                let [of_default, of_stable] = figures.map(|figure| view.median(name, figure));
                [of_default, of_stable, times(figures)]
            });
            costs.row(name, cells.chain([hash_large, lookup_large].map(times)));
        }
    }
    vec![costs]
}
