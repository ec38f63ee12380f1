//! The cost of a hash with a secret key beside the default one: the hash alone, and lookups in a loop and in batches,
//! in a small table and in tables that are larger than a cache.

use std::hash::{BuildHasher, Hash, RandomState};
use std::hint::black_box;
use std::time::Instant;

use coucal::{CuckooFilter, DefaultHashBuilder, KeyedHashBuilder};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::text::{Table, power};

use crate::output::table;
use crate::results::{Results, View, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "keyed",
    slots: &[1 << 15, 1 << 22, 1 << 24],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

const NUMBERS: &str = "`u64`";
const STRINGS: &str = "string of 25 bytes";

/// The nanoseconds of the default hasher, and how many more the others take, chunk by chunk.
const HASHERS: [&str; 3] = ["default", "keyed, more", "`RandomState`, more"];

#[derive(Clone, Copy)]
enum Work {
    Hash,
    Loop,
    Batch,
}

const WORKS: [(Work, &str); 3] =
    [(Work::Hash, "`hash_one`"), (Work::Loop, "`contains`"), (Work::Batch, "`contains_many`")];

fn figure(work: &str, hasher: &str) -> String {
    format!("{work}, {hasher}")
}

/// A filter, whatever its hasher.
trait Subject<K> {
    fn insert(&self, keys: &[K]);
    fn run(&self, work: Work, keys: &[K]) -> u64;
}

impl<K: Hash, S: BuildHasher> Subject<K> for CuckooFilter<coucal::Fp16x4, S> {
    fn insert(&self, keys: &[K]) {
        self.insert_many(keys).expect("room");
    }

    fn run(&self, work: Work, keys: &[K]) -> u64 {
        match work {
            Work::Hash => keys.iter().fold(0, |hashes, key| hashes ^ self.hash_of(key)),
            Work::Loop => keys.iter().filter(|key| self.contains(*key)).count() as u64,
            Work::Batch => {
                let mut found = [false; CHUNK];
                let found = &mut found[..keys.len()];
                self.contains_many(keys, found).expect("as many answers as keys");
                found.iter().map(|&found| u64::from(found)).sum()
            }
        }
    }
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let keys = Keys::new(1 + round as u64);
        of_keys(plan, slots, keys, NUMBERS, |key| key, results);
        of_keys(plan, slots, keys, STRINGS, |key| format!("{key:025x}"), results);
    }
}

/// Measures all hashers by turns. Half of the keys are present, at a load of 75 %.
fn of_keys<K: Hash>(
    plan: &Plan,
    slots: u64,
    keys: Keys,
    name: &str,
    key: impl Fn(u64) -> K,
    results: &mut Results,
) {
    fn subject<K: Hash>(slots: u64, hasher: impl BuildHasher + 'static) -> Box<dyn Subject<K>> {
        let builder = CuckooFilter::builder().capacity(slots as usize * 15 / 16);
        Box::new(builder.hasher(hasher).build().expect("enough memory"))
    }
    let subjects = [
        subject(slots, DefaultHashBuilder::default()),
        subject(slots, KeyedHashBuilder::new(black_box([7; 16]))),
        subject(slots, RandomState::new()),
    ];
    let items = slots * 3 / 4;
    let chunk = |which, from: u64, to: u64| -> Vec<K> {
        keys.collect(which, from..to).into_iter().map(&key).collect()
    };
    for from in (0..items).step_by(CHUNK) {
        let chunk = chunk(Which::InOrder, from, items.min(from + CHUNK as u64));
        for subject in &subjects {
            subject.insert(&chunk);
        }
    }
    let mut nanos = [(); 3].map(|()| [(); 3].map(|()| Vec::new()));
    for (index, from) in (0..plan.operations).step_by(CHUNK).enumerate() {
        // The keys of the loop are in a cache, so the batch gets other keys.
        for ((work, _), nanos) in WORKS.iter().zip(&mut nanos) {
            let from = 3 * from + *work as u64 * CHUNK as u64;
            let chunk = chunk(Which::Half { items }, from, from + CHUNK as u64);
            let mut took = [0.0; 3];
            for turn in 0..subjects.len() {
                let at = (index + turn) % subjects.len();
                let started = Instant::now();
                black_box(subjects[at].run(*work, black_box(&chunk)));
                took[at] = started.elapsed().as_nanos() as f64 / CHUNK as f64;
            }
            let [of_default, others @ ..] = took;
            nanos[0].push(of_default);
            for (nanos, took) in nanos[1..].iter_mut().zip(others) {
                nanos.push(took - of_default);
            }
        }
    }
    for ((_, work), nanos) in WORKS.iter().zip(&nanos) {
        for (hasher, nanos) in HASHERS.iter().zip(nanos) {
            let nanos = median(nanos).unwrap_or(f64::NAN);
            results.push((slots, 1), name, &figure(work, hasher), nanos);
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let columns = [NUMBERS, STRINGS].map(|name| HASHERS.map(|hasher| format!("{name}: {hasher}")));
    let mut costs = table("keyed", columns.concat());
    let cells = |view: View, work: &str| {
        [NUMBERS, STRINGS]
            .map(|name| HASHERS.map(|hasher| view.median(name, &figure(work, hasher))))
    };
    let [(_, hash), lookups @ ..] = WORKS;
    let sizes = results.slots_with(&figure(hash, HASHERS[0]));
    if let Some(&slots) = sizes.first() {
        costs.row(hash, cells(results.at(slots, 1), hash).concat());
    }
    for &slots in &sizes {
        for (_, work) in lookups {
            let label = format!("{work}, {} slots", power(slots));
            costs.row(&label, cells(results.at(slots, 1), work).concat());
        }
    }
    vec![costs]
}
