//! When a filter is full: what two threads and a `clear` leave behind.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use coucal::Prehashed;

use crate::common::{Filter, default_layout, fill, hashes, repetitions, turn};

/// Runs `loads` with small and large filters: it returns the loads at which the first insert was refused, for a filter
/// and a number of rounds. No insert is refused too early.
///
/// If each search goes as far as possible, the small filter refuses the first insert at 97.9 % of the slots on average,
/// with a standard deviation of 0.43 %; the earliest of 20,000 fills was at 96.05 %. 94.5 % is 7.8 deviations below.
/// The large filter has 131,000 slots: it refuses the first insert at 97.6 % on average, with a standard deviation of
/// 0.07 %; 97 % is 8 deviations below.
fn none_is_early(loads: impl Fn(&Filter, u64) -> Vec<f64>, [small, large]: [u64; 2]) {
    let _turn = turn();
    for (capacity, rounds, least) in [(2000, small, 0.945), (125_000, large, 0.97)] {
        let loads = loads(&default_layout().filter(capacity), rounds);
        let low: Vec<&f64> = loads.iter().filter(|&&load| load < least).collect();
        assert!(!loads.is_empty() && low.is_empty(), "below {least} of {}: {low:?}", loads.len());
    }
}

/// Two threads fill a filter until inserts fail, while a third one clears it repeatedly. A search that fails during a
/// clear must not leave anything behind: the next inserts fail at the usual load.
fn clear_beside(filter: &Filter, rounds: u64) -> Vec<f64> {
    // Odd while the filter is being cleared.
    let epoch = AtomicU64::new(0);
    // The last epoch in which an insert has failed that began and ended within it.
    let failed = AtomicU64::new(u64::MAX);
    let (failures, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let insert = |seed| {
        let mut loads = Vec::new();
        for hash in hashes(seed) {
            // SeqCst, here and below: this test is not about these orderings.
            let before = epoch.load(Ordering::SeqCst);
            if filter.insert(&Prehashed(hash)).is_err() {
                failures.fetch_add(1, Ordering::SeqCst);
                let load = filter.load_factor();
                let within = before.is_multiple_of(2) && epoch.load(Ordering::SeqCst) == before;
                if within && failed.swap(before, Ordering::SeqCst) != before {
                    loads.push(load);
                }
            }
            if stop.load(Ordering::SeqCst) {
                break;
            }
        }
        loads
    };
    thread::scope(|scope| {
        let inserting = [1, 2].map(|seed| {
            let insert = &insert;
            scope.spawn(move || insert(seed))
        });
        for round in 0..rounds {
            // As many failures as shorten the searches to the minimum.
            let enough = failures.load(Ordering::SeqCst) + 8;
            while failed.load(Ordering::SeqCst) != 2 * round
                || failures.load(Ordering::SeqCst) < enough
            {
                thread::yield_now();
            }
            epoch.fetch_add(1, Ordering::SeqCst);
            filter.clear();
            epoch.fetch_add(1, Ordering::SeqCst);
        }
        stop.store(true, Ordering::SeqCst);
        inserting.map(|thread| thread.join().expect("no insert panics")).concat()
    })
}

/// One thread inserts into a full filter while another removes all earlier items. Afterwards, without other threads,
/// the filter takes new items up to the usual load.
fn removals_beside(filter: &Filter, rounds: u64) -> Vec<f64> {
    let load = |round| {
        filter.clear();
        let seed = 3 * round;
        let stored = fill(filter, hashes(seed));
        let (failures, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| {
                for hash in hashes(seed + 1) {
                    if stop.load(Ordering::SeqCst) {
                        break;
                    }
                    let failed = filter.insert(&Prehashed(hash)).is_err();
                    failures.fetch_add(failed.into(), Ordering::SeqCst);
                }
            });
            while failures.load(Ordering::SeqCst) < 8 {
                thread::yield_now();
            }
            for hash in hashes(seed).take(stored) {
                assert!(filter.remove(&Prehashed(hash)), "a stored item is lost");
            }
            stop.store(true, Ordering::SeqCst);
        });
        fill(filter, hashes(seed + 2));
        filter.load_factor()
    };
    (0..rounds).map(load).collect()
}

#[test]
fn clear_against_failing_inserts() {
    none_is_early(clear_beside, [repetitions(200, 3000), repetitions(5, 100)]);
}

#[test]
fn removals_against_failing_inserts() {
    none_is_early(removals_beside, [repetitions(100, 1000), repetitions(3, 30)]);
}
