//! Throughput by the number of threads, up to the number of cores, beside what the machine does at best
//! and peers that several threads can write to. More threads than cores are a matter of `contention`.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use coucal_measure::keys::{CHUNK, Keys, Which, mix};
use coucal_measure::machine;
use coucal_measure::pieces::{self, Counted, count};
use coucal_measure::subject::{SharedSubject, Step};
use coucal_measure::text::figures;

use crate::contenders::{
    ATOMIC, BLOOM, COUCAL, GROWING, LIMIT, MUTEX, SHARDS, build, removes, shared,
};
use crate::output::{Table, of_size};
use crate::results::{Results, View};
use crate::{Plan, Topic};

pub const TOPIC: Topic = Topic {
    name: "threads",
    slots: &[1 << 18, 1 << 24],
    rounds: 3,
    measure,
    tables,
    plots: |_| Vec::new(),
};

const SUBJECTS: [&str; 7] = [LIMIT, COUCAL, GROWING, ATOMIC, BLOOM, MUTEX, SHARDS];

const TO_HALF: &str = "inserts to half load";
const TO_MOST: &str = "inserts, 50–90 %";
const LOOKUPS: &str = "lookups";
const REMOVALS: &str = "removals";
const FEW_WRITES: &str = "a tenth writes";
const MANY_WRITES: &str = "half writes";
/// In the order in which they are done.
const WORKLOADS: [&str; 6] = [TO_HALF, TO_MOST, LOOKUPS, REMOVALS, FEW_WRITES, MANY_WRITES];

fn measure(plan: &Plan, results: &mut Results) {
    let counts = machine::thread_counts(machine::cores().max(2));
    for &slots in &plan.slots {
        let work = Work::new(plan, slots, counts[counts.len() - 1]);
        // A small table is filled before there are enough pieces.
        let tables = (32 * plan.operations / slots).max(1);
        for round in 0..plan.rounds {
            for name in SUBJECTS.into_iter().filter(|name| plan.includes(name)) {
                plan.say(&format!("{slots} slots, round {}: {name}", round + 1));
                for &threads in &counts {
                    let tables: Vec<_> = (0..tables).map(|_| build(name, slots as usize)).collect();
                    let tables: Vec<_> = tables.iter().map(|table| shared(&**table)).collect();
                    work.run(&tables, removes(name), threads, &mut |workload, counted| {
                        results.push_counted((slots, threads), name, workload, counted);
                    });
                }
            }
        }
    }
}

/// The part of a list that belongs to one thread.
fn part<T>(list: &[T], thread: usize, threads: usize) -> &[T] {
    &list[list.len() * thread / threads..list.len() * (thread + 1) / threads]
}

/// The keys and steps, the same for every subject and number of threads.
struct Work {
    /// The items of a table that is as full as it gets.
    items: Vec<u64>,
    /// How many of them there are at half load.
    half: usize,
    lookups: Vec<u64>,
    few_writes: Vec<Vec<Step>>,
    many_writes: Vec<Vec<Step>>,
    /// How long all that is not over by itself goes on.
    duration: Duration,
}

impl Work {
    fn new(plan: &Plan, slots: u64, most_threads: usize) -> Self {
        let keys = Keys::new(300);
        let (half, most, operations) = (slots / 2, slots * 9 / 10, 4 * plan.operations);
        // As many for each thread, whatever their number.
        let scripts = most_threads as u64;
        let mixed = |first: u64, writes: u64| {
            let steps = operations / scripts;
            (0..scripts).map(|n| script(keys, first + n * steps, steps, writes, half)).collect()
        };
        Self {
            items: keys.collect(Which::InOrder, 0..most),
            half: half as usize,
            lookups: keys.collect(Which::Half { items: most }, 0..operations),
            few_writes: mixed(1 << 33, 10),
            many_writes: mixed(1 << 34, 50),
            duration: Duration::from_micros(plan.operations / 3),
        }
    }

    /// All workloads in their order. `tables` are empty: inserts and removals go through all of them,
    /// the rest happens in the first.
    fn run(
        &self,
        tables: &[&dyn SharedSubject],
        removes: bool,
        threads: usize,
        done: &mut dyn FnMut(&str, Counted),
    ) {
        let (half, rest) = self.items.split_at(self.half);
        let insert = |table: &dyn SharedSubject, keys: &[u64]| table.insert(keys);
        done(TO_HALF, through_all(tables, half, threads, insert));
        done(TO_MOST, through_all(tables, rest, threads, insert));
        let lookups = |thread| part(&self.lookups, thread, threads).chunks(CHUNK);
        done(LOOKUPS, self.again(threads, lookups, |keys| tables[0].look(keys)));
        if removes {
            done(REMOVALS, through_all(tables, rest, threads, |table, keys| table.remove(keys)));
            for (name, scripts) in
                [(FEW_WRITES, &self.few_writes), (MANY_WRITES, &self.many_writes)]
            {
                let steps = |thread: usize| scripts[thread].chunks(CHUNK);
                done(name, self.again(threads, steps, |steps| tables[0].run(steps)));
            }
        }
    }

    /// Each thread goes through its list again and again.
    fn again<'a, T: 'a, C: Iterator<Item = &'a [T]> + Clone>(
        &self,
        threads: usize,
        chunks: impl Fn(usize) -> C + Sync,
        work: impl Fn(&[T]) -> u64 + Sync,
    ) -> Counted {
        let pieces = pieces::run((0..threads).collect(), |thread, meter| {
            let started = Instant::now();
            for chunk in chunks(thread).cycle() {
                black_box(work(chunk));
                meter.add(chunk.len());
                if started.elapsed() > self.duration {
                    break;
                }
            }
        });
        Counted::together(&count(&pieces))
    }
}

/// Each thread does its part of the keys in one table after the other. NaN if something failed.
fn through_all(
    tables: &[&dyn SharedSubject],
    keys: &[u64],
    threads: usize,
    work: impl Fn(&dyn SharedSubject, &[u64]) -> u64 + Sync,
) -> Counted {
    let done = AtomicU64::new(0);
    let pieces = pieces::run((0..threads).collect(), |thread, meter| {
        for table in tables {
            for chunk in part(keys, thread, threads).chunks(CHUNK) {
                done.fetch_add(work(*table, chunk), Ordering::Relaxed);
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

/// Of a hundred steps so many are writes: inserts of new keys, from the index `first` on, and as many
/// removals of the oldest of them. The others are lookups.
fn script(keys: Keys, first: u64, steps: u64, writes: u64, items: u64) -> Vec<Step> {
    let (mut oldest, mut next) = (first, first);
    let mut step = |index: u64| {
        // Among the keys that are looked up there are none of these.
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
    (first..first + steps).map(&mut step).collect()
}

/// In each cell the throughput of one thread, that of as many as there are cores, and their ratio.
fn tables(results: &Results) -> Vec<Table> {
    let table = |slots: u64| {
        let counts = results.threads_with(slots, LOOKUPS);
        let (one, most) = (results.at(slots, 1), counts.last().copied().unwrap_or(1));
        let all = results.at(slots, most);
        let columns = WORKLOADS.into_iter().chain(["fewest pieces"]);
        let mut table = Table::new(&of_size("threads", slots), columns);
        for name in SUBJECTS {
            let rate = |view: View, workload: &str| {
                view.median(name, workload).map_or_else(|| "–".into(), figures)
            };
            let cell = |workload: &str| {
                if one.runs(name, workload).is_empty() {
                    return "–".into();
                }
                let times = all.times(name, (one, name), workload).map(figures);
                let times = times.unwrap_or_else(|| "too few pieces".into());
                format!("{} → {} ({times})", rate(one, workload), rate(all, workload))
            };
            let done = WORKLOADS.iter().filter(|workload| !one.runs(name, workload).is_empty());
            let pieces =
                |workload: &&str| one.pieces(name, workload).min(all.pieces(name, workload));
            if let Some(fewest) = done.map(pieces).min() {
                let cells = WORKLOADS.iter().map(|workload| cell(workload));
                table.cells(name, cells.chain([fewest.to_string()]).collect());
            }
        }
        table
    };
    results.slots_with(LOOKUPS).into_iter().map(table).collect()
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
        assert!(near(counts[0], 5000) && near(counts[1], 2500) && near(counts[2], 2500));
    }

    #[test]
    fn a_cell_has_both_throughputs_and_no_ratio_of_few_pieces() {
        let mut results = Results::default();
        for (threads, rate) in [(1, 10.0), (2, 19.0)] {
            for (workload, pieces) in [(LOOKUPS, 20), (REMOVALS, 3)] {
                let counted = Counted { rate, pieces };
                results.push_counted((1 << 18, threads), COUCAL, workload, counted);
            }
        }
        let table = tables(&results)[0].markdown();
        assert!(table.contains("| 10.0 → 19.0 (1.90) | 10.0 → 19.0 (too few pieces) |"), "{table}");
        assert!(table.trim_end().ends_with("|             3 |"), "{table}");
    }
}
