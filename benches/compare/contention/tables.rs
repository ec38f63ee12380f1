//! Many threads that write to the same few buckets of a table.

use std::sync::atomic::{AtomicU64, Ordering};

use coucal_measure::keys::Keys;
use coucal_measure::subject::fill;

use super::{Plan, Record, scene_figure};
use crate::concurrent::shared;
use crate::contenders::{ATOMIC, COUCAL, ENTRANTS, MUTEX};
use crate::results::Results;

pub const HOT: &str = "one hot item";
pub const SMALLEST: &str = "a table of eight slots";
pub const SUBJECTS: [&str; 3] = [COUCAL, ATOMIC, MUTEX];
/// Of a hundred inserts, those that found no room.
pub const FAILED: &str = "failed inserts, %";

pub fn measure(plan: &Plan, threads: usize, results: &mut Results) {
    // Half full; or empty, and four items for all threads.
    for (scene, slots, filled, items) in [(HOT, plan.slots, plan.slots / 2, 1), (SMALLEST, 8, 0, 4)]
    {
        for name in SUBJECTS {
            let entrant = ENTRANTS.iter().find(|entrant| entrant.name() == name);
            let mut table = (entrant.expect("it takes part").contender.build)(slots as usize);
            let keys = Keys::new(1000);
            fill(table.as_mut(), keys, filled);
            let table = shared(table.as_ref());
            let failed = AtomicU64::new(0);
            let record = Record::of(plan.duration, threads, &|| (), |thread| {
                let key = [keys.key(filled + thread as u64 % items)];
                let failed = &failed;
                let mut inserts = false;
                move || {
                    inserts = !inserts;
                    if !inserts {
                        table.remove(&key);
                    } else if table.insert(&key) == 0 {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
            record.push((slots, threads), name, scene, results);
            let inserts = record.operations as f64 / 2.0;
            let share = 100.0 * failed.into_inner() as f64 / inserts;
            results.push((slots, threads), name, &scene_figure(scene, FAILED), share);
        }
    }
}
