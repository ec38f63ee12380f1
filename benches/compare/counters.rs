//! A counter for each key: a maplet beside a count-min sketch, a concurrent map and a map behind a lock.

use std::collections::HashMap;
use std::hint::black_box;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

use coucal::{
    CuckooMaplet, Fp21x3, Fp32x2, GrowableCuckooMaplet, GrowingLayout, Layout, Maplet, Storage,
};
use coucal_benches::keys::{CHUNK, Keys, Which, mix};
use coucal_benches::text::Table;
use dashmap::DashMap;
use parking_lot::Mutex;

use crate::hash::KeyHash;
use crate::output::all_figures;
use crate::results::{Results, median};
use crate::{Plan, Topic, allocated};

pub const TOPIC: Topic = Topic {
    name: "counters",
    slots: &[1 << 20],
    subjects: || SUBJECTS.map(|subject| subject.0).to_vec(),
    measure,
    tables,
    plots: |_| Vec::new(),
};

/// The mean number of times that a key is counted.
const MEAN: u64 = 5;

const BYTES: &str = "bytes per key";
const WRONG: &str = "keys counted wrong, %";
const ABOVE: &str = "mean error";
const COUNT: &str = "count one, ns";
const READ: &str = "read, ns";
const HALVE: &str = "halve all, ns per key";
const FIGURES: [&str; 6] = [BYTES, WRONG, ABOVE, COUNT, READ, HALVE];
/// The number of times that all counts are halved. Then most of them are 0.
const HALVINGS: u32 = 3;

/// Counts up to 255.
trait Counts {
    fn count(&self, key: u64);
    fn read(&self, key: u64) -> u8;
    /// Halves all counts, so that the counters age.
    fn halve(&mut self);
}

impl<L: Storage> Counts for Maplet<L, KeyHash> {
    fn count(&self, key: u64) {
        let add = |count| (count < 255).then_some(count + 1);
        self.update_or_insert(&key, 1, add).expect("what it was made for");
    }
    fn read(&self, key: u64) -> u8 {
        // Keys that collide may have several values. None of them is too low.
        self.get(&key).map(|count| count as u8).min().unwrap_or(0)
    }
    fn halve(&mut self) {
        self.update_values(|count| Some(count / 2)).expect("no value needs more memory");
    }
}

/// Cormode and Muthukrishnan, "An Improved Data Stream Summary" (2005), with the conservative update of Estan and
/// Varghese (2002), as far as threads allow it.
struct CountMin {
    cells: Vec<AtomicU8>,
}

const ROWS: u64 = 4;

impl CountMin {
    fn cells(&self, key: u64) -> impl Iterator<Item = &AtomicU8> {
        let row = self.cells.len() as u64 / ROWS;
        (0..ROWS).map(move |at| {
            let hash = mix(key ^ mix(at));
            &self.cells[(at * row + ((u128::from(hash) * u128::from(row)) >> 64) as u64) as usize]
        })
    }
}

impl Counts for CountMin {
    fn count(&self, key: u64) {
        let least = self.read(key);
        for cell in self.cells(key) {
            cell.fetch_max(least.saturating_add(1), Ordering::Relaxed);
        }
    }
    fn read(&self, key: u64) -> u8 {
        self.cells(key).map(|cell| cell.load(Ordering::Relaxed)).min().unwrap_or(0)
    }
    fn halve(&mut self) {
        self.cells.iter_mut().for_each(|cell| *cell.get_mut() /= 2);
    }
}

impl Counts for DashMap<u64, u8, KeyHash> {
    fn count(&self, key: u64) {
        let mut count = self.entry(key).or_default();
        *count = count.saturating_add(1);
    }
    fn read(&self, key: u64) -> u8 {
        self.get(&key).map_or(0, |count| *count)
    }
    fn halve(&mut self) {
        self.iter_mut().for_each(|mut count| *count /= 2);
    }
}

impl Counts for Mutex<HashMap<u64, u8, KeyHash>> {
    fn count(&self, key: u64) {
        let mut map = self.lock();
        let count = map.entry(key).or_default();
        *count = count.saturating_add(1);
    }
    fn read(&self, key: u64) -> u8 {
        self.lock().get(&key).copied().unwrap_or(0)
    }
    fn halve(&mut self) {
        self.lock().values_mut().for_each(|count| *count /= 2);
    }
}

type Make = fn(usize) -> Box<dyn Counts>;

fn maplet<L: Layout + 'static>(keys: usize) -> Box<dyn Counts> {
    let builder = CuckooMaplet::builder().layout::<L>().hasher(KeyHash::default());
    Box::new(builder.value_bits(8).capacity(keys).build().expect("memory"))
}

fn growing<L: GrowingLayout>(_: usize) -> Box<dyn Counts> {
    let builder = GrowableCuckooMaplet::builder().layout::<L>().hasher(KeyHash::default());
    Box::new(builder.value_bits(8).build().expect("memory"))
}

fn count_min(bytes: usize) -> Box<dyn Counts> {
    let cells = (0..bytes).map(|_| AtomicU8::new(0)).collect();
    Box::new(CountMin { cells })
}

const SUBJECTS: [(&str, Make); 8] = [
    ("coucal maplet, 21 bits", maplet::<Fp21x3>),
    ("coucal maplet, 32 bits", maplet::<Fp32x2>),
    ("the same, growing, 21 bits", growing::<Fp21x3>),
    ("the same, growing, 32 bits", growing::<Fp32x2>),
    ("count-min sketch, 3 bytes per key", |keys| count_min(3 * keys)),
    ("count-min sketch, 8 bytes per key", |keys| count_min(8 * keys)),
    ("dashmap", |_| Box::new(DashMap::<_, _, KeyHash>::default())),
    ("HashMap in a Mutex", |_| Box::new(Mutex::<HashMap<_, _, KeyHash>>::default())),
];

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let keys = Keys::new(1 + round as u64);
        let items = slots * 9 / 10;
        for (name, make) in SUBJECTS {
            if plan.includes(name) {
                let figures = one(keys, items, make);
                for (figure, value) in FIGURES.into_iter().zip(figures) {
                    results.push((slots, 1), name, figure, value);
                }
            }
        }
    }
}

fn one(keys: Keys, items: u64, make: Make) -> [f64; FIGURES.len()] {
    let mut exact = vec![0_u8; items as usize];
    let before = allocated();
    let mut counts = make(items as usize);
    let (mut counting, mut reading) = (Vec::new(), Vec::new());
    for from in (0..MEAN * items).step_by(CHUNK) {
        let drawn: Vec<u64> = (from..from + CHUNK as u64)
            .map(|at| ((u128::from(mix(!at)) * u128::from(items)) >> 64) as u64)
            .collect();
        for &at in &drawn {
            exact[at as usize] = exact[at as usize].saturating_add(1);
        }
        let drawn: Vec<u64> = drawn.into_iter().map(|at| keys.key(at)).collect();
        let started = Instant::now();
        for &key in &drawn {
            counts.count(key);
        }
        counting.push(started.elapsed().as_nanos() as f64 / CHUNK as f64);
    }
    let bytes = allocated() - before;
    let (mut wrong, mut above) = (0, 0);
    for from in (0..items).step_by(CHUNK) {
        let chunk = keys.collect(Which::InOrder, from..items.min(from + CHUNK as u64));
        let started = Instant::now();
        let read: Vec<u8> = chunk.iter().map(|&key| black_box(counts.read(key))).collect();
        reading.push(started.elapsed().as_nanos() as f64 / chunk.len() as f64);
        for (read, &exact) in read.into_iter().zip(&exact[from as usize..]) {
            assert!(read >= exact, "a count is too low");
            wrong += u64::from(read != exact);
            above += u64::from(read - exact);
        }
    }
    let halvings = (1..=HALVINGS).map(|times| {
        let started = Instant::now();
        counts.halve();
        let nanos = started.elapsed().as_nanos() as f64;
        for at in (0..items).step_by(101) {
            let least = exact[at as usize] >> times;
            assert!(counts.read(keys.key(at)) >= least, "a count is too low");
        }
        nanos / items as f64
    });
    let halvings: Vec<f64> = halvings.collect();
    let of_keys = |sum: u64| sum as f64 / items as f64;
    [
        bytes as f64 / items as f64,
        100.0 * of_keys(wrong),
        of_keys(above),
        median(&counting).unwrap_or(f64::NAN),
        median(&reading).unwrap_or(f64::NAN),
        median(&halvings).unwrap_or(f64::NAN),
    ]
}

fn tables(results: &Results) -> Vec<Table> {
    let subjects = SUBJECTS.map(|(name, _)| name);
    vec![all_figures("counters", results, &subjects, &FIGURES)]
}
