//! Views: the cost of opening the bytes of a snapshot and of lookups in them, beside the filter itself; and many small
//! filters whose bytes are in a cache, as in a storage engine.

use std::array;
use std::hint::black_box;
use std::time::Instant;

use coucal::{CuckooFilter, CuckooFilterView, Fp16x4, Storage};
use coucal_benches::keys::{CHUNK, Keys, Which};
use coucal_benches::text::{Table, power};

use crate::growth;
use crate::hash::KeyHash;
use crate::output::table;
use crate::peers::{COUCAL, GROWING, RATE, coucal_with_slots};
use crate::results::{Results, median};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "views",
    slots: &[1 << 12, 1 << 16, 1 << 24],
    subjects: Vec::new,
    measure,
    tables,
    plots: |_| Vec::new(),
};

type View<'a> = CuckooFilterView<&'a [u8], KeyHash>;
type Filter = CuckooFilter<Fp16x4, KeyHash>;
type Quotient<B> = qfilter::Filter<B, KeyHash>;
type Bloom = fastbloom::BloomFilter<KeyHash>;

const TABLES: [&str; 2] = [COUCAL, GROWING];
const LOOKUPS: [&str; 2] = ["absent", "present"];
const WHAT: [&str; 2] = ["filter", "view"];
const OPEN: [&str; 2] = ["from_trusted_bytes", "from_bytes"];

/// The number of filters of a storage engine, each with the keys of a file.
const FILTERS: usize = 1000;
const ITEMS: u64 = 3900;
/// The number of their slots, all together.
const SLOTS: u64 = FILTERS as u64 * 4096;
const NANOS: &str = "absent, ns";
const GOOD: &str = "its bytes are good";
/// The number of lookups in a row, where each takes microseconds.
const SHORT: usize = 512;
const WAYS: [&str; 8] = [
    "coucal, view",
    "coucal, view opened for each lookup",
    "coucal, filter restored for each lookup",
    "coucal, filter",
    "qfilter, decoded for each lookup, bytes borrowed",
    "qfilter, decoded for each lookup",
    "fastbloom, decoded for each lookup",
    "fastbloom, filter",
];

fn of(what: &str, lookup: &str) -> String {
    format!("{what}: {lookup}")
}

fn measure(plan: &Plan, results: &mut Results) {
    for (slots, round) in plan.runs() {
        let run = (plan, slots, round);
        measure_one(COUCAL, &coucal_with_slots(slots as usize), slots * 94 / 100, run, results);
        measure_one(GROWING, &growth::growing(slots), growth::items(slots), run, results);
    }
    for round in 0..plan.rounds(SLOTS) {
        plan.say(&format!("{FILTERS} filters, round {}", round + 1));
        measure_many(plan, round, results);
    }
}

/// Returns the nanoseconds of each call, and the number of times that the answer was yes.
pub fn timed<T>(list: &[T], call: impl Fn(&T) -> bool) -> (f64, usize) {
    let started = Instant::now();
    let yes = list.iter().filter(|one| call(one)).count();
    (started.elapsed().as_nanos() as f64 / list.len() as f64, yes)
}

fn open(bytes: &[u8]) -> View<'_> {
    View::from_trusted_bytes(bytes, KeyHash::default()).expect(GOOD)
}

/// Measures the filter and its view by turns, chunk by chunk.
fn measure_one<L: Storage>(
    name: &str,
    filter: &coucal::Filter<L, KeyHash>,
    items: u64,
    (plan, slots, round): (&Plan, u64, usize),
    results: &mut Results,
) {
    let keys = Keys::new(1 + round as u64);
    let inserted = keys.collect(Which::InOrder, 0..items);
    filter.insert_many(&inserted).expect("what it was made for");
    let snapshot = filter.snapshot().expect("memory for a snapshot");
    let bytes = snapshot.as_bytes();
    let view = open(bytes);
    let mut push = |figure: &str, nanos| results.push((slots, 1), name, figure, nanos);
    for (which, lookup) in [Which::Absent, Which::Present { items }].into_iter().zip(LOOKUPS) {
        let mut nanos = [Vec::new(), Vec::new()];
        for from in (0..plan.operations).step_by(CHUNK) {
            let chunk = keys.collect(which, from..from + CHUNK as u64);
            let of_chunk = [
                timed(&chunk, |key| filter.contains(key)),
                timed(&chunk, |key| view.contains(key)),
            ];
            assert_eq!(of_chunk[0].1, of_chunk[1].1, "a view answers as its filter");
            for (nanos, (of_chunk, _)) in nanos.iter_mut().zip(of_chunk) {
                nanos.push(of_chunk);
            }
        }
        for (what, nanos) in WHAT.into_iter().zip(nanos) {
            push(&of(what, lookup), median(&nanos).unwrap_or(f64::NAN));
        }
    }
    let often = |bytes: Vec<&[u8]>, is_opened: fn(&&[u8]) -> bool| {
        let nanos: Vec<_> = (0..30).map(|_| timed(&bytes, is_opened).0).collect();
        median(&nanos).unwrap_or(f64::NAN)
    };
    let trusted = often(vec![bytes; 1000], |bytes| !black_box(open(bytes)).is_empty());
    let checked =
        often(vec![bytes], |bytes| black_box(View::from_bytes(bytes, KeyHash::default())).is_ok());
    OPEN.into_iter().zip([trusted, checked]).for_each(|(figure, nanos)| push(figure, nanos));
}

/// Measures all ways by turns, chunk by chunk. Each way has keys of its own: several ways read the same bytes, and one
/// would find in the cache what another has read for the same keys.
fn measure_many(plan: &Plan, round: usize, results: &mut Results) {
    let filters = FILTERS.min((plan.operations >> 10) as usize);
    let keys = |number: usize| Keys::new((1 + round * FILTERS + number) as u64);
    let items = |number| keys(number).collect(Which::InOrder, 0..ITEMS);
    let of_each = || (0..filters).map(items);

    let live: Vec<Filter> = of_each()
        .map(|items| {
            let filter = Filter::with_capacity_and_hasher(items.len(), KeyHash::default());
            filter.insert_many(&items).expect("what it was made for");
            filter
        })
        .collect();
    let bytes: Vec<Vec<u8>> =
        live.iter().map(|filter| filter.snapshot().expect("memory").into_bytes()).collect();
    let kept: Vec<_> = bytes.iter().map(|bytes| open(bytes)).collect();
    let quotients: Vec<Vec<u8>> = of_each()
        .map(|items| {
            let rate = 1.0 / 8192.0;
            let filter = Quotient::<Box<[u8]>>::new_with_hasher(ITEMS, rate, KeyHash::default());
            let mut filter = filter.expect("the size is within its limits");
            for key in items {
                filter.insert_duplicated(key).expect("there is room");
            }
            postcard::to_stdvec(&filter).expect("a filter is serialized")
        })
        .collect();
    let blooms: Vec<Bloom> = of_each()
        .map(|items| {
            let builder = fastbloom::BloomFilter::with_false_pos(RATE).hasher(KeyHash::default());
            builder.items(items.iter())
        })
        .collect();
    // The bytes of a Bloom filter are its words and the number of its hashes.
    let bloom_bytes: Vec<Vec<u8>> = blooms
        .iter()
        .map(|filter| filter.as_slice().iter().flat_map(|word| word.to_le_bytes()).collect())
        .collect();
    let hashes = blooms[0].num_hashes();

    let mut nanos = WAYS.map(|_| Vec::new());
    for from in (0..plan.operations / 16).step_by(SHORT) {
        let filter_of = |key: u64| ((u128::from(key) * filters as u128) >> 64) as usize;
        let absent: [Vec<_>; WAYS.len()] = array::from_fn(|way| {
            let from = from * WAYS.len() as u64 + (way * SHORT) as u64;
            let keys = keys(0).collect(Which::Absent, from..from + SHORT as u64);
            keys.into_iter().map(|key| (filter_of(key), key)).collect()
        });
        let of_chunk = [
            timed(&absent[0], |(at, key)| kept[*at].contains(key)),
            timed(&absent[1], |(at, key)| open(&bytes[*at]).contains(key)),
            timed(&absent[2], |(at, key)| {
                let filter = Filter::from_bytes(&bytes[*at], KeyHash::default());
                filter.expect(GOOD).contains(key)
            }),
            timed(&absent[3], |(at, key)| live[*at].contains(key)),
            timed(&absent[4], |(at, key)| {
                let filter: Quotient<&[u8]> = postcard::from_bytes(&quotients[*at]).expect(GOOD);
                filter.contains(key)
            }),
            timed(&absent[5], |(at, key)| {
                let filter: Quotient<Box<[u8]>> =
                    postcard::from_bytes(&quotients[*at]).expect(GOOD);
                filter.contains(key)
            }),
            timed(&absent[6], |(at, key)| {
                let (words, _) = bloom_bytes[*at].as_chunks();
                let words = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
                let filter = fastbloom::BloomFilter::from_vec(words)
                    .hasher(KeyHash::default())
                    .hashes(hashes);
                filter.contains(key)
            }),
            timed(&absent[7], |(at, key)| blooms[*at].contains(key)),
        ];
        for (nanos, (of_chunk, found)) in nanos.iter_mut().zip(of_chunk) {
            assert!(found < SHORT / 10, "absent keys are found");
            nanos.push(of_chunk);
        }
    }
    for (nanos, name) in nanos.iter().zip(WAYS) {
        results.push((SLOTS, 1), name, NANOS, median(nanos).unwrap_or(f64::NAN));
    }
}

fn tables(results: &Results) -> Vec<Table> {
    let mut columns: Vec<String> = OPEN.iter().map(|open| format!("`{open}`, ns")).collect();
    for lookup in LOOKUPS {
        columns.extend(WHAT.map(|what| format!("{lookup}: {what}, ns")));
        columns.push("times".into());
    }
    let mut views = table("views", columns);
    for slots in results.slots_with(OPEN[0]) {
        let view = results.at(slots, 1);
        for name in TABLES {
            let open = OPEN.map(|figure| view.median(name, figure));
            let lookups = LOOKUPS.into_iter().flat_map(|lookup| {
                let [of_filter, of_view] = WHAT.map(|what| of(what, lookup));
                let times = view.ratio((name, &of_view), (name, &of_filter));
                [view.median(name, &of_filter), view.median(name, &of_view), times]
            });
            views.row(&format!("{name}, {} slots", power(slots)), open.into_iter().chain(lookups));
        }
    }
    let view = results.at(SLOTS, 1);
    let mut many = table("views-many", [NANOS, "times"]);
    for name in WAYS {
        many.row(name, [view.median(name, NANOS), view.ratio((name, NANOS), (WAYS[1], NANOS))]);
    }
    vec![views, many]
}
