//! Several threads: within the window no item is missed, and after it items are found only at the rate. (The models
//! `expiring` of `loom-tests` show that exactly one of several threads is told that an item is new.)

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use coucal::{AnyLayout, Growable, Prehashed, Storage};
use coucal_reference::{Layout, hashes};

use super::{Seen, builder, growing_builder};

const GENERATIONS: u32 = 4;

/// How many calls of advance have begun, and how many have returned.
#[derive(Default)]
struct Advances {
    called: AtomicU64,
    returned: AtomicU64,
}

/// Writers keep the items of the last windows, and look for them. Another thread advances, and another one takes
/// snapshots.
fn beside_each_other<L: Storage>(seen: &Seen<L>, writers: u64) {
    let (advances, stop) = (&Advances::default(), &AtomicBool::new(false));
    let [within, after, wrong] = &[const { AtomicU64::new(0) }; 3];
    let count = u64::from(GENERATIONS);
    thread::scope(|scope| {
        for number in 0..writers {
            scope.spawn(move || {
                let mut items = hashes(100 + number).map(Prehashed);
                let mut recent = Vec::new();
                while !stop.load(Ordering::Relaxed) {
                    for item in items.by_ref().take(20) {
                        let n = advances.returned.load(Ordering::SeqCst);
                        seen.insert(&item).unwrap();
                        let called = advances.called.load(Ordering::SeqCst);
                        recent.push((item, n, called));
                    }
                    // Inserts some of them once more.
                    for (item, n, called) in recent.iter_mut().step_by(7) {
                        let before = advances.returned.load(Ordering::SeqCst);
                        seen.insert(item).unwrap();
                        (*n, *called) = (before, advances.called.load(Ordering::SeqCst));
                    }
                    recent.retain(|&(item, n, called)| {
                        let returned = advances.returned.load(Ordering::SeqCst);
                        let found = seen.contains(&item);
                        if advances.called.load(Ordering::SeqCst) < n + count {
                            assert!(found, "an item is missed within its window");
                            within.fetch_add(1, Ordering::Relaxed);
                        }
                        let is_over = returned >= called + count;
                        if is_over {
                            after.fetch_add(1, Ordering::Relaxed);
                            wrong.fetch_add(u64::from(found), Ordering::Relaxed);
                        }
                        !is_over
                    });
                }
            });
        }
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                advances.called.fetch_add(1, Ordering::SeqCst);
                seen.advance();
                advances.returned.fetch_add(1, Ordering::SeqCst);
                thread::sleep(Duration::from_micros(200));
            }
        });
        scope.spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                let snapshot = seen.snapshot().unwrap();
                assert_eq!(snapshot.generations(), Some(GENERATIONS));
                let copy = Seen::<L>::from_snapshot(&snapshot, coucal_reference::HASHER).unwrap();
                for _ in 0..GENERATIONS {
                    copy.advance();
                }
                assert!(copy.is_empty(), "{copy:?}");
            }
        });
        thread::sleep(Duration::from_millis(400));
        stop.store(true, Ordering::Relaxed);
    });
    let [within, after, wrong] = [within, after, wrong].map(|n| n.load(Ordering::Relaxed));
    assert!(within > 1000 && after > 1000, "{within} checks within the window, {after} after it");
    // An Fp32x2 filter has a rate of some 10^-9.
    assert_eq!(wrong, 0, "of {after} items found after their windows");
    for _ in 0..GENERATIONS {
        seen.advance();
    }
    assert_eq!((seen.len(), seen.stats().stashed_entries), (0, 0), "{seen:?}");
}

#[test]
fn fixed() {
    let layout = Layout::named("Fp32x2");
    let seen: Seen = builder(layout, GENERATIONS).capacity(200_000).build().unwrap();
    beside_each_other(&seen, 3);
}

#[test]
fn growing() {
    let layout = Layout::named("Fp32x2");
    let builder = growing_builder(layout, GENERATIONS).capacity(1).max_capacity(1_000_000);
    let seen: Seen<Growable<AnyLayout>> = builder.build().unwrap();
    let first = seen.slots();
    beside_each_other(&seen, 3);
    assert!(seen.slots() > first, "{seen:?}");
}

/// In a small table that is always full, the inserts of several threads at once make room by advancing.
#[test]
fn room_is_made_by_several_threads() {
    let builder = builder(Layout::named("Fp32x2"), GENERATIONS).capacity(300);
    // By a clock that stands still, so not by the number of items.
    let builder = builder.every(Duration::from_secs(1)).clock(|| Duration::ZERO);
    let seen = &builder.forget_oldest_when_full().build().unwrap();
    let end = Instant::now() + Duration::from_millis(200);
    thread::scope(|scope| {
        for number in 0..4 {
            scope.spawn(move || {
                for hash in hashes(200 + number) {
                    seen.insert(&Prehashed(hash)).expect("it makes room");
                    if Instant::now() > end {
                        break;
                    }
                }
            });
        }
    });
    assert_eq!(seen.generation(), seen.stats().early_advances);
    assert!(seen.generation() > 10 && seen.len() <= seen.slots(), "{seen:?}");
}
