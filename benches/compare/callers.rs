//! The same operations from two callers: loops that are functions of their own, and one large function that also uses
//! four filters of other types. The cost of an operation must not depend on its caller.

use std::hint::black_box;
use std::time::Instant;

use crate::hash::KeyHash;
use coucal::{
    AnyCuckooFilter, CuckooFilter, CuckooMaplet, Fp12x5, Fp16x4, Fp32x2, GrowableCuckooFilter,
};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::text::{Table, power};

use crate::results::{Results, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "callers",
    slots: &[1 << 16, 1 << 22],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

const LOOP: &str = "a loop";
const LARGE: &str = "a large function";

type Filter = CuckooFilter<Fp16x4, KeyHash>;
type Growing = GrowableCuckooFilter<Fp16x4, KeyHash>;
type Maplet = CuckooMaplet<Fp16x4, KeyHash>;

/// Titles of figures, and the measurements of that name.
const FIGURES: [(&str, &str); 10] = [
    ("`insert`", "insert"),
    ("`insert_if_absent`", "insert_if_absent"),
    ("`contains`", "contains"),
    ("`remove`", "remove"),
    ("growing: `insert`", "grow-insert"),
    ("growing: `remove`", "grow-remove"),
    ("maplet: `insert`", "maplet-insert"),
    ("maplet: `get`", "maplet-get"),
    ("maplet: `replace`", "maplet-replace"),
    ("maplet: `remove`", "maplet-remove"),
];

/// The value of a key, and the value that replaces it.
fn values(key: u64) -> [u32; 2] {
    [key as u32 % 32, 32 + key as u32 % 32]
}

/// The measured tables: filled by `insert` and by `insert_if_absent`, growing, and a maplet.
struct Tables(Filter, Filter, Growing, Maplet);

impl Tables {
    fn new(slots: u64) -> Self {
        let capacity = slots as usize * 15 / 16;
        let filter = || CuckooFilter::with_capacity_and_hasher(capacity, KeyHash::default());
        let maplet = CuckooMaplet::builder().capacity(capacity).value_bits(6);
        let maplet = maplet.hasher(KeyHash::default()).build().expect("memory");
        let tables = Self(filter(), filter(), Growing::with_hasher(KeyHash::default()), maplet);
        // Makes the system provide the pages now.
        tables.0.clear();
        tables.1.clear();
        tables.3.clear();
        tables
    }
}

/// Defines a function of its own, whose loop counts the keys for which an operation answers yes.
macro_rules! in_a_loop {
    ($($name:ident($table:ident: $type:ty, $key:ident) $operation:expr;)*) => {
        $(#[inline(never)]
        fn $name($table: &$type, keys: &[u64]) -> usize {
            keys.iter().filter(|&$key| $operation).count()
        })*
    };
}

in_a_loop! {
    insert(filter: Filter, key) filter.insert(key).is_ok();
    insert_if_absent(filter: Filter, key) filter.insert_if_absent(key) == Ok(true);
    contains(filter: Filter, key) filter.contains(key);
    remove(filter: Filter, key) filter.remove(key);
    grow_insert(filter: Growing, key) filter.insert(key).is_ok();
    grow_remove(filter: Growing, key) filter.remove(key);
    maplet_insert(maplet: Maplet, key) maplet.insert(key, values(*key)[0]).is_ok();
    maplet_get(maplet: Maplet, key) maplet.get(key).next().is_some();
    maplet_replace(maplet: Maplet, key)
        maplet.replace(key, values(*key)[0], values(*key)[1]) == Ok(true);
    maplet_remove(maplet: Maplet, key) maplet.remove(key, values(*key)[1]);
}

/// The times of both callers, chunk by chunk.
#[derive(Default)]
struct Times(Vec<(&'static str, [Vec<f64>; 2])>);

impl Times {
    #[inline(never)]
    fn push(&mut self, figure: &'static str, caller: usize, started: Instant) {
        let nanos = started.elapsed().as_nanos() as f64 / CHUNK as f64;
        let at = self.0.iter().position(|times| times.0 == figure).unwrap_or_else(|| {
            self.0.push((figure, <[Vec<f64>; 2]>::default()));
            self.0.len() - 1
        });
        self.0[at].1[caller].push(nanos);
    }
}

fn measure(plan: &Plan, results: &mut Results) {
    for &slots in &plan.slots {
        for round in 0..plan.rounds(slots) {
            plan.say(&format!("{slots} slots, round {}", round + 1));
            let mut times = Times::default();
            large_function(slots, Keys::new(1 + round as u64), &mut times);
            for (figure, of_callers) in times.0 {
                for (caller, nanos) in [LOOP, LARGE].into_iter().zip(of_callers) {
                    results.push((slots, 1), caller, figure, median(&nanos).unwrap_or(f64::NAN));
                }
            }
        }
    }
}

/// Calls the loops and does the same itself, by turns. `others` are for the compiler: they are used once.
#[inline(never)]
fn large_function(slots: u64, keys: Keys, times: &mut Times) {
    let in_loops = Tables::new(slots);
    let Tables(filter, unique, growing, maplet) = Tables::new(slots);
    let others = (
        CuckooFilter::builder().layout::<Fp12x5>().capacity(CHUNK).build().expect("memory"),
        CuckooFilter::builder().layout::<Fp32x2>().capacity(CHUNK).build().expect("memory"),
        GrowableCuckooFilter::builder().layout::<Fp12x5>().build().expect("memory"),
        AnyCuckooFilter::with_capacity_and_rate(CHUNK, 0.001).expect("memory"),
    );
    // Counts chunks. If it counted figures, those of a chunk with four of them would always have the same turn.
    let mut turn = 0;
    /// Measures a chunk in a loop of its own, and here. Even turns begin with the loop; odd ones end with it.
    macro_rules! both {
        ($figure:literal, $chunk:ident, $in_loop:ident($table:expr), |$key:ident| $here:expr) => {
            let mut counts = [0; 2];
            for part in 0..3 {
                let started = Instant::now();
                if part == 1 {
                    counts[1] = black_box($chunk.iter().filter(|&$key| $here).count());
                    times.push($figure, 1, started);
                } else if part / 2 == turn % 2 {
                    counts[0] = black_box($in_loop($table, $chunk));
                    times.push($figure, 0, started);
                }
            }
            assert_eq!(counts[0], counts[1], "the same tables");
        };
    }
    macro_rules! with_others {
        ($chunk:ident, |$other:ident, $key:ident| $operation:expr) => {
            for $key in $chunk {
                let answers = (
                    {
                        let $other = &others.0;
                        $operation
                    },
                    {
                        let $other = &others.1;
                        $operation
                    },
                    {
                        let $other = &others.2;
                        $operation
                    },
                    {
                        let $other = &others.3;
                        $operation
                    },
                );
                black_box(answers);
            }
        };
    }
    let chunks = |items: u64| {
        let chunk = move |at| keys.collect(Which::InOrder, at..at + CHUNK as u64);
        (0..items).step_by(CHUNK).map(chunk)
    };
    let first = &keys.collect(Which::InOrder, 0..CHUNK as u64 / 2)[..];
    with_others!(first, |other, key| other.insert(key).is_ok());
    for chunk in chunks(slots * 3 / 4) {
        let chunk = &chunk[..];
        turn += 1;
        both!("insert", chunk, insert(&in_loops.0), |key| filter.insert(key).is_ok());
        both!("insert_if_absent", chunk, insert_if_absent(&in_loops.1), |key| {
            unique.insert_if_absent(key) == Ok(true)
        });
        both!("grow-insert", chunk, grow_insert(&in_loops.2), |key| growing.insert(key).is_ok());
        both!("maplet-insert", chunk, maplet_insert(&in_loops.3), |key| {
            maplet.insert(key, values(*key)[0]).is_ok()
        });
    }
    with_others!(first, |other, key| other.insert_if_absent(key).is_ok() && other.contains(key));
    for chunk in chunks(slots / 2) {
        let chunk = &chunk[..];
        turn += 1;
        both!("contains", chunk, contains(&in_loops.0), |key| filter.contains(key));
        both!("maplet-get", chunk, maplet_get(&in_loops.3), |key| {
            maplet.get(key).next().is_some()
        });
        both!("maplet-replace", chunk, maplet_replace(&in_loops.3), |key| {
            maplet.replace(key, values(*key)[0], values(*key)[1]) == Ok(true)
        });
    }
    for chunk in chunks(slots / 2) {
        let chunk = &chunk[..];
        turn += 1;
        both!("remove", chunk, remove(&in_loops.0), |key| filter.remove(key));
        both!("grow-remove", chunk, grow_remove(&in_loops.2), |key| growing.remove(key));
        both!("maplet-remove", chunk, maplet_remove(&in_loops.3), |key| {
            maplet.remove(key, values(*key)[1])
        });
    }
    with_others!(first, |other, key| other.remove(key));
}

fn tables(results: &Results) -> Vec<Table> {
    let sizes = results.slots_with(FIGURES[0].1);
    let titles = sizes.iter().flat_map(|&slots| {
        let slots = power(slots);
        [format!("{LOOP}, {slots}, ns"), format!("{LARGE}, {slots}, ns"), "times".into()]
    });
    let mut table = Table::new("callers", titles);
    for (title, figure) in FIGURES {
        let cells = sizes.iter().flat_map(|&slots| {
            let view = results.at(slots, 1);
            let [alone, large] = [LOOP, LARGE].map(|caller| view.median(caller, figure));
            [alone, large, view.ratio((LARGE, figure), (LOOP, figure))]
        });
        table.row(title, cells);
    }
    vec![table]
}
