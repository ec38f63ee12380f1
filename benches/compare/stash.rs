//! The cost of lookups when a share of the entries is in the stash.

use std::hint::black_box;

use coucal::{CuckooMaplet, Fp16x4};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::text::{Table, power};

use crate::filters::timed;
use crate::hash::KeyHash;
use crate::output::table;
use crate::results::{Results, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "stash",
    slots: &[1 << 20],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

type Maplet = CuckooMaplet<Fp16x4, KeyHash>;

/// The percentage of the pairs that are in the stash, and its name.
const SHARES: [(f64, &str); 4] = [(0.0, "nothing"), (0.1, "0.1 %"), (1.0, "1 %"), (15.0, "15 %")];

const ABSENT: &str = "absent";
const PRESENT: &str = "present";
const GET: &str = "get, present";
const SHARE: &str = "share in the stash";
const TIMES: [&str; 3] = [ABSENT, PRESENT, GET];

/// The number of values of a key with more values than its buckets hold, and how many of them are in the stash.
const VALUES: u64 = 12;
const STASHED: u64 = VALUES - 8;
/// The number of corrections of the number of such keys.
const TRIES: u32 = 2;

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        measure_round(plan, slots, round, results);
    }
}

/// Fills a maplet with the same number of pairs, whatever the share is. Also returns the number of keys. Keys whose
/// buckets overlap have more pairs in the stash than others, so the number of keys with many values is found by trying.
fn filled(slots: u64, share: f64, keys: Keys) -> (Maplet, u64) {
    let capacity = slots * 19 / 20;
    let pairs = capacity * 9 / 10;
    let mut large = (pairs as f64 * share / 100.0) as u64 / STASHED;
    let mut tries = 0..TRIES;
    loop {
        let builder = CuckooMaplet::builder().layout::<Fp16x4>().hasher(KeyHash::default());
        let maplet = builder.value_bits(6).capacity(capacity as usize).build().expect("memory");
        let items = pairs - large * (VALUES - 1);
        // Keys with many values are spread among the others.
        let step = items.checked_div(large).unwrap_or(u64::MAX);
        for at in 0..items {
            let is_large = at % step == 0 && at / step < large;
            for value in 0..if is_large { VALUES } else { 1 } {
                maplet.insert(&keys.key(at), value as u32).expect("what it was made for");
            }
        }
        if large == 0 || tries.next().is_none() {
            return (maplet, items);
        }
        let found = 100.0 * maplet.stats().stashed_copies as f64 / pairs as f64;
        large = ((large as f64 * share / found) as u64).max(1);
    }
}

/// Measures all by turns, chunk by chunk.
fn measure_round(plan: &Plan, slots: u64, round: usize, results: &mut Results) {
    let keys = Keys::new(1 + round as u64);
    let maplets = SHARES.map(|(share, _)| filled(slots, share, keys));
    for ((maplet, _), (_, name)) in maplets.iter().zip(SHARES) {
        let share = maplet.stats().stashed_copies as f64 / maplet.len() as f64;
        results.push((slots, 1), name, SHARE, 100.0 * share);
    }
    for figure in TIMES {
        let mut nanos = SHARES.map(|_| Vec::new());
        for from in (0..plan.operations).step_by(CHUNK) {
            for ((maplet, items), nanos) in maplets.iter().zip(&mut nanos) {
                let items = *items;
                let which = if figure == ABSENT { Which::Absent } else { Which::Present { items } };
                let chunk = from..from + CHUNK as u64;
                let (of_chunk, found) = timed(keys, which, chunk, |chunk| {
                    let chunk = chunk.iter();
                    let found = if figure == GET {
                        chunk.filter(|key| black_box(maplet.get(key)).next().is_some()).count()
                    } else {
                        chunk.filter(|key| maplet.contains_key(key)).count()
                    };
                    found as u64
                });
                nanos.push(of_chunk);
                assert!(figure == ABSENT || found == CHUNK as u64, "a key is missed");
            }
        }
        for (nanos, (_, name)) in nanos.iter().zip(SHARES) {
            results.push((slots, 1), name, figure, median(nanos).unwrap_or(f64::NAN));
        }
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let columns = "in the stash, %|`contains_key`, absent, ns|times|`contains_key`, present, ns|times|\
                   `get`, present, ns|times";
    let mut shares = table("stash", columns.split('|'));
    for slots in results.slots_with(ABSENT) {
        let view = results.at(slots, 1);
        for (_, name) in SHARES {
            let times = TIMES.into_iter().flat_map(|figure| {
                let times = view.ratio((name, figure), (SHARES[0].1, figure));
                [view.median(name, figure), times]
            });
            let label = format!("{name}, {} slots", power(slots));
            shares.row(&label, [view.median(name, SHARE)].into_iter().chain(times));
        }
    }
    vec![shares]
}
