//! The work: from an empty table to a full one and back, divided among any number of threads.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use coucal_measure::keys::{CHUNK, Keys, Which, mix};
use coucal_measure::subject::{SharedSubject, Step, Window};
use coucal_measure::timing::{million_ops, together};
use parking_lot::Mutex;

use super::Part;
use crate::concurrent::{MAX_RUN, part};

/// Something that all threads do at once.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub name: &'static str,
    pub what: &'static str,
    pub part: Part,
}

impl Workload {
    const fn new(part: Part, name: &'static str, what: &'static str) -> Self {
        Self { name, what, part }
    }

    /// The name of its throughput, in million operations per second.
    pub fn figure(self) -> String {
        format!("{} Mops/s", self.name)
    }

    /// Its name with a capital letter.
    pub fn title(self) -> String {
        self.name[..1].to_uppercase() + &self.name[1..]
    }
}

pub const TO_HALF: Workload =
    Workload::new(Part::Inserts, "inserts to half load", "From empty to half of the slots.");
pub const TO_MOST: Workload = Workload::new(
    Part::Inserts,
    "inserts from half load on",
    "From half of the slots to 90 %, where many inserts kick.",
);
pub const LOOKUPS: Workload = Workload::new(
    Part::Lookups,
    "lookups",
    "Half of the keys are present, in random order; items for 90 % of the slots.",
);
pub const BESIDE: Workload = Workload::new(
    Part::Lookups,
    "lookups beside a writer",
    "The same; one of the threads removes its oldest item and inserts a new one, again and again, and \
     the others look up. Lookups alone are counted. With one thread there is no writer.",
);
pub const REMOVALS: Workload =
    Workload::new(Part::Removals, "removals", "From 90 % of the slots to 52 %.");
pub const FEW_WRITES: Workload = Workload::new(
    Part::Mixed,
    "mixed, a tenth writes",
    "90 % lookups, 5 % inserts and 5 % removals, at half load.",
);
pub const MANY_WRITES: Workload = Workload::new(
    Part::Mixed,
    "mixed, half writes",
    "50 % lookups, 25 % inserts and 25 % removals, at half load.",
);

/// In the order in which they are done.
pub const WORKLOADS: [Workload; 7] =
    [TO_HALF, TO_MOST, LOOKUPS, BESIDE, REMOVALS, FEW_WRITES, MANY_WRITES];

/// The keys and steps, the same for every subject and number of threads.
pub struct Work {
    keys: Keys,
    /// Those of a table that is as full as it gets.
    items: Vec<u64>,
    /// How many of them there are at half load.
    half: usize,
    /// How many the writer beside the lookups leaves alone.
    settled: usize,
    lookups: Vec<u64>,
    few_writes: Vec<Vec<Step>>,
    many_writes: Vec<Vec<Step>>,
}

impl Work {
    pub fn new(slots: u64, operations: u64, most_threads: usize) -> Self {
        let keys = Keys::new(300);
        let (half, settled, most) = (slots / 2, slots * 22 / 25, slots * 9 / 10);
        // Several for each thread: about as many for each of them, whatever their number.
        let scripts = 4 * most_threads as u64;
        let mixed = |first: u64, writes: u64| {
            let script = |number| {
                let steps = operations / scripts;
                script(keys, first + number * steps, steps, writes, half)
            };
            (0..scripts).map(script).collect()
        };
        Self {
            keys,
            items: keys.collect(Which::InOrder, 0..most),
            half: half as usize,
            settled: settled as usize,
            lookups: keys.collect(Which::Half { items: settled }, 0..operations),
            few_writes: mixed(1 << 33, 10),
            many_writes: mixed(1 << 34, 50),
        }
    }

    /// All workloads in their order. `tables` are empty: inserts and removals go through all of them,
    /// the rest happens in the first. Passes on the throughput: NaN if an insert or a removal failed.
    pub fn run(
        &self,
        tables: &[&dyn SharedSubject],
        removes: bool,
        threads: usize,
        done: &mut dyn FnMut(Workload, f64),
    ) {
        let first = tables[0];
        let (half, rest) = self.items.split_at(self.half);
        let each =
            |keys: &[u64], operation: &(dyn Fn(&dyn SharedSubject, &[u64]) -> u64 + Sync)| {
                rate(threads, keys.len() * tables.len(), |thread| {
                    let keys = part(keys, thread, threads);
                    tables.iter().map(|table| operation(*table, keys)).sum()
                })
            };
        done(TO_HALF, each(half, &|table, keys| table.insert(keys)));
        done(TO_MOST, each(rest, &|table, keys| table.insert(keys)));
        done(LOOKUPS, self.lookups(first, threads));
        if removes {
            done(BESIDE, self.beside_writer(first, threads));
            let removed = &self.items[self.half..self.settled];
            done(REMOVALS, each(removed, &|table, keys| table.remove(keys)));
            done(FEW_WRITES, mixed(&self.few_writes, first, threads));
            done(MANY_WRITES, mixed(&self.many_writes, first, threads));
        }
    }

    fn lookups(&self, table: &dyn SharedSubject, threads: usize) -> f64 {
        rate(threads, self.lookups.len(), |thread| {
            let keys = part(&self.lookups, thread, threads);
            black_box(table.look(keys));
            keys.len() as u64
        })
    }

    /// One of the threads writes, unless there is only one.
    fn beside_writer(&self, table: &dyn SharedSubject, threads: usize) -> f64 {
        let (oldest, next) = (self.settled as u64, self.items.len() as u64);
        let window = Mutex::new(Window { keys: self.keys, oldest, next });
        let readers = (threads - 1).max(1);
        let (stop, reading) = (AtomicBool::new(false), AtomicUsize::new(readers));
        let work = |thread| {
            if thread == readers {
                table.churn(&mut window.lock(), &stop);
                return 0;
            }
            let (started, mut looked) = (Instant::now(), 0);
            for chunk in part(&self.lookups, thread, readers).chunks(CHUNK) {
                black_box(table.look(chunk));
                looked += chunk.len();
                // Behind some locks readers hardly get a turn.
                if started.elapsed() > MAX_RUN {
                    break;
                }
            }
            if reading.fetch_sub(1, Ordering::Relaxed) == 1 {
                stop.store(true, Ordering::Relaxed);
            }
            looked
        };
        let (elapsed, looked) = together((0..threads).collect(), work);
        million_ops(looked.into_iter().sum(), elapsed)
    }
}

/// Million operations per second of all threads together; NaN unless they did as many as are due.
fn rate(threads: usize, due: usize, work: impl Fn(usize) -> u64 + Sync) -> f64 {
    let (elapsed, done) = together((0..threads).collect(), work);
    if done.iter().sum::<u64>() == due as u64 { million_ops(due, elapsed) } else { f64::NAN }
}

fn mixed(scripts: &[Vec<Step>], table: &dyn SharedSubject, threads: usize) -> f64 {
    let steps = scripts.iter().map(Vec::len).sum();
    rate(threads, steps, |thread| {
        let scripts = part(scripts, thread, threads);
        let run = |script: &Vec<Step>| {
            black_box(table.run(script));
            script.len() as u64
        };
        scripts.iter().map(run).sum()
    })
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
}
