//! The lock of the stripes. All other models use a mutex of loom in its place.

use coucal::probe::Lock;
use loom::sync::atomic::AtomicU32;
use loom::sync::atomic::Ordering::Relaxed;

use crate::together;

/// Increments by a load and a store: only a lock keeps one thread from overwriting the increment of another.
fn increment(number: &AtomicU32) {
    number.store(number.load(Relaxed) + 1, Relaxed);
}

/// Each thread increments the number `TIMES` times.
fn additions<const THREADS: usize, const TIMES: usize>(floor: usize, preemptions: usize) {
    let add = |(lock, number): &(Lock, AtomicU32)| {
        for _ in 0..TIMES {
            let _guard = lock.lock().expect("nobody retires it");
            increment(number);
        }
    };
    let new = || (Lock::new(), AtomicU32::new(0));
    together(floor, preemptions, new, [add; THREADS], |(_, number)| {
        assert_eq!(number.load(Relaxed) as usize, THREADS * TIMES);
    });
}

#[test]
fn two_threads_that_come_back() {
    additions::<2, 3>(260, 3);
}

#[test]
fn three_threads() {
    additions::<3, 1>(36, 1);
}

/// A thread retires the lock after it has put another one in its place. The other thread adds under the lock that it
/// gets.
#[test]
fn a_retired_lock() {
    type Shared = ([Lock; 2], [AtomicU32; 2]);
    let new = || ([(); 2].map(|()| Lock::new()), [0; 2].map(AtomicU32::new));
    let retires = |([old, _], [number, place]): &Shared| {
        let guard = old.lock().expect("nobody else retires it");
        increment(number);
        place.store(1, Relaxed);
        guard.retire();
    };
    let waits = |(locks, [number, place]): &Shared| {
        let _guard = locks[0].lock().or_else(|| {
            assert_eq!(place.load(Relaxed), 1);
            locks[1].lock()
        });
        increment(number);
    };
    together(35, 3, new, [retires, waits as fn(&Shared)], |([old, new], [number, _])| {
        assert_eq!(number.load(Relaxed), 2);
        assert!(old.lock().is_none() && new.lock().is_some());
    });
}
