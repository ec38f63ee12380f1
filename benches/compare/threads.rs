//! Throughput by the number of threads, up to the number of cores, beside the limit of the machine and peers to which
//! several threads can write. And lookups beside a writer.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{array, iter};

use coucal_benches::keys::{CHUNK, Keys, Which, mix};
use coucal_benches::plot::{Plot, Scale, Series, Style};
use coucal_benches::text::{Table, power};

use crate::beside::{self, Lookups, churn};
use crate::machine;
use crate::output::{scaling, table};
use crate::peers::{ATOMIC, BLOOM, COUCAL, GROWING, LIMIT, SHARDS, removes, shared};
use crate::pieces::{self, Counted, count};
use crate::results::{Results, View};
use crate::subject::{Operation, Step, Subject, Window, Work};
use crate::{Plan, Topic};

/// A subject of several threads at once.
type Shared = dyn Subject + Sync;

pub const TOPIC: Topic = Topic {
    name: "threads",
    slots: &[1 << 18, 1 << 27],
    subjects: || SUBJECTS.to_vec(),
    measure,
    tables,
    plots,
};

const SUBJECTS: [&str; 6] = [LIMIT, COUCAL, GROWING, ATOMIC, BLOOM, SHARDS];

/// The number of the set of its keys.
const KEYS: u64 = 300;

const TO_HALF: &str = "inserts to half load";
const TO_MOST: &str = "inserts, 50–90 %";
const LOOKUPS: &str = "lookups";
const REMOVALS: &str = "removals";
/// All threads insert one item and remove it, in turn.
const HOT: &str = "one hot item";
/// Mixtures at half load, by the percentage of writes.
const MIXTURES: [(u64, &str); 6] = [
    (0, "lookups at half load"),
    (5, "a twentieth writes"),
    (10, "a tenth writes"),
    (25, "a quarter writes"),
    (50, "half writes"),
    (100, "all write"),
];
/// The workloads with a table for each number of threads.
const EACH: [&str; 2] = [MIXTURES[0].1, TO_HALF];
/// The workloads in the table.
const WORKLOADS: [&str; 7] =
    [LOOKUPS, TO_HALF, TO_MOST, REMOVALS, MIXTURES[2].1, MIXTURES[4].1, HOT];

/// The subjects with lookups beside a writer.
const SHARED: [&str; 3] = [COUCAL, ATOMIC, SHARDS];
const SCENES: [&str; 2] = ["no writer", "writer in this table"];

fn measure(plan: &Plan, results: &mut Results) {
    let cores = machine::cores().max(2);
    let counts: Vec<_> =
        iter::successors(Some(1), |count| Some(2 * count)).take_while(|n| *n <= cores).collect();
    let most = counts[counts.len() - 1];
    for &slots in &plan.slots {
        let scripts = Scripts::new(plan, slots, most);
        // A small table is filled before there are enough pieces.
        let tables = (32 * plan.operations / slots).max(1);
        for round in 0..plan.rounds(slots) {
            for name in SUBJECTS.into_iter().filter(|name| plan.includes(name)) {
                plan.say(&format!("{slots} slots, round {}: {name}", round + 1));
                for &threads in &counts {
                    let tables: Vec<_> =
                        (0..tables).map(|_| shared(name, slots as usize)).collect();
                    scripts.run(&tables, removes(name), threads, &mut |workload, counted| {
                        results.push_counted((slots, threads), name, workload, counted);
                    });
                    if threads == most && slots == plan.last_slots() && SHARED.contains(&name) {
                        beside_a_writer(plan, slots, name, &*tables[0], results);
                    }
                }
            }
        }
    }
}

/// Measures lookups of items that stay, in a table as all workloads have left it, while a second thread removes and
/// inserts other items.
fn beside_a_writer(plan: &Plan, slots: u64, name: &str, table: &Shared, results: &mut Results) {
    let (keys, settled) = (Keys::new(KEYS), slots / 2);
    let lookups = keys.collect(Which::Present { items: settled }, 0..plan.operations);
    let lookups = Lookups { place: (slots, 2), name, table, keys: &lookups };
    lookups.measure(plan, SCENES[0], None, results);
    let mut window = Window { keys, oldest: settled, next: slots * 9 / 10 };
    lookups.measure(plan, SCENES[1], Some(&mut churn(table, &mut window)), results);
}

/// Returns the part of a list that belongs to one thread.
pub fn part<T>(list: &[T], thread: usize, threads: usize) -> &[T] {
    &list[list.len() * thread / threads..list.len() * (thread + 1) / threads]
}

/// The keys and steps, the same for every subject and number of threads.
struct Scripts {
    /// The items of a table that is as full as it gets.
    items: Vec<u64>,
    /// The number of items at half load.
    half: usize,
    lookups: Vec<u64>,
    /// For each mixture, the steps of each thread.
    mixtures: [Vec<Vec<Step>>; MIXTURES.len()],
    hot: Vec<Step>,
    /// The duration of work that does not end by itself.
    duration: Duration,
}

impl Scripts {
    fn new(plan: &Plan, slots: u64, most_threads: usize) -> Self {
        let keys = Keys::new(KEYS);
        let (half, most, operations) = (slots / 2, slots * 9 / 10, 4 * plan.operations);
        // The same number for each thread, however many threads there are.
        let scripts = most_threads as u64;
        let mixture = |(number, (writes, _)): (u64, (u64, &str))| {
            let (first, steps) = ((33 + number) << 32, operations / scripts);
            (0..scripts).map(|n| script(keys, first + n * steps, steps, writes, half)).collect()
        };
        let hot = keys.key(1 << 32);
        let numbered = array::from_fn(|number| (number as u64, MIXTURES[number]));
        Self {
            items: keys.collect(Which::InOrder, 0..most),
            half: half as usize,
            lookups: keys.collect(Which::Half { items: most }, 0..operations),
            mixtures: numbered.map(mixture),
            hot: [Step::Insert(hot), Step::Remove(hot)].repeat(CHUNK / 2),
            duration: Duration::from_micros(plan.operations / 3),
        }
    }

    /// Runs all workloads in their order. `tables` are empty: inserts and removals go through all of them; the rest
    /// happens in the first one.
    fn run(
        &self,
        tables: &[Box<Shared>],
        removes: bool,
        threads: usize,
        done: &mut dyn FnMut(&str, Counted),
    ) {
        let (half, rest) = self.items.split_at(self.half);
        done(TO_HALF, through_all(tables, half, threads, Operation::Insert));
        if removes {
            for ((_, name), scripts) in MIXTURES.iter().zip(&self.mixtures) {
                let steps = |thread: usize| scripts[thread].chunks(CHUNK);
                done(name, self.again(threads, steps, |steps| tables[0].work(Work::Steps(steps))));
            }
            let hot = |_| iter::once(&self.hot[..]);
            done(HOT, self.again(threads, hot, |steps| tables[0].work(Work::Steps(steps))));
        }
        done(TO_MOST, through_all(tables, rest, threads, Operation::Insert));
        let lookups = |thread| part(&self.lookups, thread, threads).chunks(CHUNK);
        done(
            LOOKUPS,
            self.again(threads, lookups, |keys| tables[0].run(Operation::Contains, keys)),
        );
        if removes {
            let removed = &rest[rest.len().saturating_sub(self.lookups.len())..];
            done(REMOVALS, through_all(tables, removed, threads, Operation::Remove));
        }
    }

    fn again<'a, T: 'a, C: Iterator<Item = &'a [T]> + Clone>(
        &self,
        threads: usize,
        chunks: impl Fn(usize) -> C + Sync,
        work: impl Fn(&[T]) -> u64 + Sync,
    ) -> Counted {
        again(self.duration, threads, chunks, work)
    }
}

/// Makes each thread go through its list repeatedly.
pub fn again<'a, T: 'a, C: Iterator<Item = &'a [T]> + Clone>(
    duration: Duration,
    threads: usize,
    chunks: impl Fn(usize) -> C + Sync,
    work: impl Fn(&[T]) -> u64 + Sync,
) -> Counted {
    let pieces = pieces::run((0..threads).collect(), |thread, meter| {
        let started = Instant::now();
        for chunk in chunks(thread).cycle() {
            black_box(work(chunk));
            meter.add(chunk.len());
            if started.elapsed() > duration {
                break;
            }
        }
    });
    Counted::together(&count(&pieces))
}

/// Makes each thread do its part of the keys in one table after the other. Returns NaN if something failed.
///
/// There is no barrier between the tables. In a small table, a thread has less work than a piece is long, so waiting at
/// a barrier would be a large share of a piece, or pieces would be so short that few of them overlap enough to count.
fn through_all(
    tables: &[Box<Shared>],
    keys: &[u64],
    threads: usize,
    operation: Operation,
) -> Counted {
    let done = AtomicU64::new(0);
    let pieces = pieces::run((0..threads).collect(), |thread, meter| {
        for table in tables {
            for chunk in part(keys, thread, threads).chunks(CHUNK) {
                done.fetch_add(table.run(operation, chunk), Ordering::Relaxed);
                meter.add(chunk.len());
            }
        }
    });
    if done.into_inner() == (keys.len() * tables.len()) as u64 {
        Counted::together(&count(&pieces))
    } else {
        Counted { rate: f64::NAN, pieces: 0 }
    }
}

/// Makes steps of which `writes` in a hundred are writes: inserts of new keys, from the index `first` on, and as many
/// removals of the oldest of them. The others are lookups. At the end the remaining keys are removed: so the script can
/// be run repeatedly, and no item gets more copies each time.
fn script(keys: Keys, first: u64, steps: u64, writes: u64, items: u64) -> Vec<Step> {
    let (mut oldest, mut next) = (first, first);
    let mut step = |index: u64| {
        // The keys that are looked up are other keys.
        let draw = mix(index ^ 0xd1ce << 40) % 100;
        if draw >= writes {
            Step::Look(keys.pick(Which::Half { items }, index))
        } else if draw.is_multiple_of(2) || oldest == next {
            next += 1;
            Step::Insert(keys.key(next - 1))
        } else {
            oldest += 1;
            Step::Remove(keys.key(oldest - 1))
        }
    };
    let mut steps: Vec<_> = (first..first + steps).map(&mut step).collect();
    steps.extend((oldest..next).map(|index| Step::Remove(keys.key(index))));
    steps
}

/// Makes tables: in each cell the throughput of one thread, that of as many as there are cores, and their ratio; then
/// lookups beside a writer, and the throughput of each number of threads.
fn tables(results: &Results) -> Vec<Table> {
    let Some(slots) = results.slots_with(TO_HALF).pop() else { return Vec::new() };
    let (one, all) = (results.at(slots, 1), with_all_threads(results, slots));
    let mut all_workloads = table("threads", WORKLOADS);
    for name in SUBJECTS {
        if WORKLOADS.iter().any(|workload| !one.runs(name, workload).is_empty()) {
            all_workloads
                .cells(name, WORKLOADS.map(|workload| scaling((one, all), name, workload)));
        }
    }
    let mut beside = table("threads-beside", beside::COLUMNS);
    for (name, scene) in SHARED.into_iter().flat_map(|name| SCENES.map(|scene| (name, scene))) {
        beside.row(&format!("{name}, {scene}"), beside::values(results.at(slots, 2), name, scene));
    }
    let counts = results.threads_with(slots, TO_HALF);
    let head = iter::once("threads".to_owned()).chain(counts.iter().map(usize::to_string));
    let mut each = Table::new("threads-each", head);
    for (name, workload) in SUBJECTS.iter().flat_map(|name| EACH.map(|workload| (name, workload))) {
        let rates = counts.iter().map(|&count| results.at(slots, count).median(name, workload));
        each.row(&format!("{name}, {workload}"), rates);
    }
    vec![all_workloads, beside, each]
}

/// Returns the figures of as many threads as there are cores.
fn with_all_threads(results: &Results, slots: u64) -> View<'_> {
    results.at(slots, results.threads_with(slots, TO_HALF).pop().unwrap_or(1))
}

fn plots(results: &Results) -> Vec<Plot> {
    let Some(slots) = results.slots_with(TO_HALF).pop() else { return Vec::new() };
    let view = with_all_threads(results, slots);
    let points = |name| {
        let point =
            |(writes, workload): &(u64, &str)| Some((*writes as f64, view.median(name, workload)?));
        MIXTURES.iter().filter_map(point).collect()
    };
    let line = |name| {
        let style = if name == GROWING { Style::Dashed } else { Style::Line };
        Series::new(name, points(name)).style(style)
    };
    vec![Plot {
        file: "threads".into(),
        title: format!(
            "{} threads over the share of writes, {} slots",
            view.threads(),
            power(slots)
        ),
        x: ("writes, % of the operations", Scale::FromZero),
        y: ("million ops/s of all threads", Scale::Log),
        series: SUBJECTS.map(line).into(),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_removes_what_it_has_inserted() {
        let steps = script(Keys::new(1), 1 << 33, 10_000, 50, 1000);
        let mut inserted = Vec::new();
        let mut counts = [0; 3];
        for step in &steps {
            match *step {
                Step::Look(_) => counts[0] += 1,
                Step::Insert(key) => {
                    counts[1] += 1;
                    inserted.push(key);
                }
                Step::Remove(key) => {
                    assert_eq!(key, inserted[counts[2]], "the oldest one");
                    counts[2] += 1;
                }
            }
        }
        let near = |count: usize, due: usize| count.abs_diff(due) < 300;
        assert!(near(counts[0], 5000) && near(counts[1], 2500));
        assert_eq!(counts[1], counts[2], "nothing is left");
    }

    #[test]
    fn a_cell_has_both_throughputs_and_no_ratio_of_few_pieces() {
        let mut results = Results::default();
        for (threads, rate) in [(1, 10.0), (2, 19.0)] {
            for (workload, pieces) in [(TO_HALF, 20), (REMOVALS, 3)] {
                let counted = Counted { rate, pieces };
                results.push_counted((1 << 18, threads), COUCAL, workload, counted);
            }
        }
        let table = tables(&results)[0].markdown();
        for cell in [" 10.0 → 19.0 (1.90) |", " 10.0 → 19.0 (too few pieces) |"] {
            assert!(table.contains(cell), "{table}");
        }
    }
}
