//! The lock of the stripes. All other models use a mutex of loom in its place.

use std::sync::Arc;

use coucal::probe::Lock;
use loom::sync::atomic::{AtomicU32, Ordering};
use loom::thread;
use loom_tests::model::{Execution, explore};

/// Each thread increments a number `times` times, by a Relaxed load and a Relaxed store. Only the
/// lock keeps one thread from overwriting the increment of another.
fn additions(threads: u32, times: u32, floor: usize, preemptions: usize) {
    let execution: Execution = Arc::new(move || {
        let shared = Arc::new((Lock::new(), AtomicU32::new(0)));
        let handles: Vec<_> = (0..threads)
            .map(|_| {
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let (lock, number) = &*shared;
                    for _ in 0..times {
                        let _guard = lock.lock().expect("nobody retires it");
                        number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        for handle in handles {
            handle.join().expect("no thread panics");
        }
        assert_eq!(shared.1.load(Ordering::Relaxed), threads * times);
    });
    explore(floor, preemptions, &execution);
}

#[test]
fn two_threads_that_come_back() {
    additions(2, 3, 260, 3);
}

#[test]
fn three_threads() {
    additions(3, 1, 36, 1);
}

/// A thread retires the lock after it has put another in its place. The other thread adds under the lock that it gets.
#[test]
fn a_retired_lock() {
    let execution: Execution = Arc::new(|| {
        let shared = Arc::new(([0; 2].map(|_| Lock::new()), [0; 2].map(AtomicU32::new)));
        let add = |number: &AtomicU32| {
            number.store(number.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        };
        let (retiring, waiting) = (Arc::clone(&shared), Arc::clone(&shared));
        let retires = thread::spawn(move || {
            let ([old, _], [number, place]) = &*retiring;
            let guard = old.lock().expect("nobody else retires it");
            add(number);
            place.store(1, Ordering::Relaxed);
            guard.retire();
        });
        let waits = thread::spawn(move || {
            let (locks, [number, place]) = &*waiting;
            let guard = locks[0].lock().or_else(|| {
                assert_eq!(place.load(Ordering::Relaxed), 1);
                locks[1].lock()
            });
            add(number);
            drop(guard);
        });
        for handle in [retires, waits] {
            handle.join().expect("no thread panics");
        }
        let ([old, new], [number, _]) = &*shared;
        assert_eq!(number.load(Ordering::Relaxed), 2);
        assert!(old.lock().is_none() && new.lock().is_some());
    });
    explore(1, 3, &execution);
}
