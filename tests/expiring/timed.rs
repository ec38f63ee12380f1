//! Generations that end by a clock: to the letter, by a clock of the test; and beside other threads, by that of the
//! machine.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex};
use std::thread;
use std::time::Duration;

use coucal::{Error, Prehashed};
use coucal_reference::{HASHER, LAYOUTS, Layout, hashes, random};
use rand::RngExt;

use super::{Seen, builder};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock of this thread alone, in nanoseconds.
fn now() -> Duration {
    Duration::from_nanos(NOW.get())
}

const PERIOD: u64 = 1000;

fn wide() -> Layout {
    Layout::named("Fp32x2")
}

/// Begins at this moment.
fn timed(generations: u32) -> Seen {
    let builder = builder(wide(), generations).capacity(2000).clock(now);
    builder.every(Duration::from_nanos(PERIOD)).build().unwrap()
}

#[test]
fn a_generation_ends_when_its_time_has_passed() {
    for start in [0, 7, 1 << 40] {
        NOW.set(start);
        let seen = timed(4);
        assert_eq!(seen.period(), Some(Duration::from_nanos(PERIOD)));
        assert_eq!(seen.insert(&0), Ok(true));
        NOW.set(start + PERIOD - 1);
        assert_eq!(seen.insert(&0), Ok(false));
        assert_eq!((seen.generation(), seen.advance_if_due()), (0, 0));
        NOW.set(start + PERIOD);
        assert!(seen.contains(&0));
        assert_eq!((seen.generation(), seen.age(&0)), (0, Some(0)), "lookups do not look at it");
        assert_eq!(seen.insert_if_absent(&0), Ok(false));
        assert_eq!((seen.generation(), seen.age(&0)), (1, Some(1)));
        assert_eq!(seen.insert(&0), Ok(false));
        assert_eq!(seen.age(&0), Some(0));
    }
}

/// After a pause, as many generations end at once as have passed: what is left is as old as it is, and the next one is
/// due when it would have been.
#[test]
fn a_pause_is_made_up_for() {
    for generations in [2, 3, 4, 7] {
        for passed in 0..=u64::from(3 * generations) {
            for late in [0, 1, PERIOD - 1] {
                NOW.set(0);
                let seen = timed(generations);
                for generation in 0..u64::from(generations) {
                    NOW.set(generation * PERIOD);
                    assert_eq!(seen.insert(&generation), Ok(true));
                }
                let before = seen.generation();
                assert_eq!(before, u64::from(generations) - 1);
                NOW.set((before + passed) * PERIOD + late);
                let gone = seen.advance_if_due();
                assert_eq!(seen.generation(), before + passed);
                for generation in 0..u64::from(generations) {
                    let age = (before + passed - generation) as u32;
                    assert_eq!(seen.age(&generation), (age < generations).then_some(age));
                }
                assert_eq!(gone + seen.len(), generations as usize);
                NOW.set((before + passed + 1) * PERIOD - 1);
                assert_eq!((seen.advance_if_due(), seen.generation()), (0, before + passed));
                NOW.set((before + passed + 1) * PERIOD);
                seen.insert(&100).unwrap();
                assert_eq!((seen.generation(), seen.age(&100)), (before + passed + 1, Some(0)));
            }
        }
    }
}

/// Random inserts at random times: by each of them, what is remembered is what was inserted in this period or in the N - 1
/// before it. Half of the filters are saved and restored again and again, with the time that the generation had lasted
/// and the time that nobody had them: they go on as one that was never saved, whatever the clock of the new process says.
#[test]
fn what_is_remembered_at_each_time() {
    let mut random = random(1);
    let each = [2, 3, 10].into_iter().flat_map(|generations| [(generations, 0), (generations, 3)]);
    for (generations, restarts) in each {
        let (mut began, mut time) = (0, 0);
        NOW.set(0);
        let mut seen = timed(generations);
        let mut last = BTreeMap::new();
        for _ in 0..20_000 {
            let step = if random.random_ratio(1, 50) { 20 * PERIOD } else { PERIOD / 3 };
            time += random.random_range(0..step);
            NOW.set(time - began);
            let item = random.random_range(0..100_u64);
            let is_new = |last: Option<&u64>| {
                last.is_none_or(|&last| last + u64::from(generations) <= time / PERIOD)
            };
            let (expected, restamps) = (is_new(last.get(&item)), random.random());
            let stored = if restamps { seen.insert(&item) } else { seen.insert_if_absent(&item) };
            assert_eq!(stored, Ok(expected), "at {time}: {seen:?}");
            if restamps || expected {
                last.insert(item, time / PERIOD);
            }
            for other in 0..100 {
                assert_eq!(seen.contains(&other), !is_new(last.get(&other)), "{other} {seen:?}");
            }
            assert_eq!(seen.elapsed(), Some(Duration::from_nanos(time % PERIOD)));
            if random.random_ratio(restarts, 10) {
                let (snapshot, elapsed) = (seen.snapshot().unwrap(), seen.elapsed().unwrap());
                let most = if random.random_ratio(1, 9) { 5 * PERIOD } else { 9 };
                let away = random.random_range(0..most);
                time += away;
                // A clock that has just begun, or that is ahead of all that was before.
                began = if random.random() { time } else { 0 };
                NOW.set(time - began);
                seen = Seen::from_snapshot(&snapshot, HASHER).unwrap();
                assert_eq!(seen.elapsed(), None);
                let elapsed = elapsed + Duration::from_nanos(away);
                seen.set_every_by(Duration::from_nanos(PERIOD), elapsed, now).unwrap();
                assert_eq!(seen.elapsed(), Some(elapsed));
            }
        }
        assert!(seen.generation() > 100);
    }
}

#[test]
fn batches_look_at_the_clock() {
    NOW.set(0);
    let seen = timed(3);
    assert_eq!(seen.insert_all(0..1000), Ok(1000));
    NOW.set(PERIOD);
    assert_eq!(seen.insert_if_absent_all(0..1000), Ok(0));
    assert_eq!(seen.generation(), 1);
    NOW.set(2 * PERIOD);
    let items: Vec<_> = (500..1500).collect();
    let mut new = vec![false; 1000];
    assert_eq!(seen.insert_many(&items, &mut new), Ok(500));
    assert_eq!((seen.generation(), seen.len()), (2, 1500));
    NOW.set(3 * PERIOD);
    assert_eq!(seen.insert_if_absent_many(&items, &mut new), Ok(0));
    assert_eq!((seen.generation(), seen.len()), (3, 1000));
    assert_eq!(seen.insert_many::<u32>(&[], &mut []), Ok(0));
}

/// Times at both ends of what a number holds.
#[test]
fn times_without_end() {
    NOW.set(0);
    let seen = builder(wide(), 2).capacity(100).clock(now).every(Duration::MAX).build().unwrap();
    seen.insert(&1).unwrap();
    NOW.set(u64::MAX - 1);
    assert_eq!((seen.insert(&1), seen.generation()), (Ok(false), 0));
    let seen = builder(wide(), 2)
        .capacity(100)
        .clock(|| Duration::MAX)
        .every(Duration::from_nanos(1))
        .build();
    assert_eq!(seen.unwrap().insert(&1), Ok(true));
    NOW.set(0);
    let seen =
        builder(wide(), 2).capacity(100).clock(now).every(Duration::from_nanos(1)).build().unwrap();
    seen.insert(&1).unwrap();
    NOW.set(u64::MAX);
    assert_eq!(seen.insert(&1), Ok(true));
    // A clock that goes back ends nothing.
    NOW.set(0);
    assert_eq!(seen.insert(&1), Ok(false));
    assert_eq!(seen.elapsed(), Some(Duration::ZERO));
    let mut seen = seen;
    for elapsed in [Duration::MAX, Duration::from_nanos(u64::MAX - 1)] {
        NOW.set(3);
        seen.set_every_by(Duration::from_nanos(1), elapsed, now).unwrap();
        assert_eq!((seen.insert(&1), seen.insert(&1)), (Ok(true), Ok(false)));
        NOW.set(1000);
        assert_eq!(seen.insert(&1), Ok(true), "time goes on");
    }
    let builder = builder(wide(), 2).capacity(100);
    for builder in [builder.clone().every(Duration::ZERO), builder.clock(now)] {
        assert_eq!(builder.build().unwrap_err(), Error::NoTime);
    }
}

/// A copy goes on by the same time; what is restored has none until it gets one.
#[test]
fn copies_and_the_clock() {
    NOW.set(0);
    let seen = timed(4);
    seen.insert(&1).unwrap();
    NOW.set(PERIOD / 2);
    let copy = seen.try_clone().unwrap();
    let mut restored = Seen::from_snapshot(&seen.snapshot().unwrap(), HASHER).unwrap();
    assert_eq!((copy.period(), restored.period()), (seen.period(), None));
    NOW.set(PERIOD);
    assert!([&copy, &restored].into_iter().all(|seen| seen.insert(&2) == Ok(true)));
    assert_eq!([&seen, &copy, &restored].map(Seen::generation), [0, 1, 0]);
    let printed = format!("{:?}", builder(wide(), 4).every(Duration::from_secs(7)));
    assert!(printed.contains("generations: 4, period: Some(7s)"), "{printed}");
    assert_eq!(restored.set_every(Duration::ZERO, Duration::ZERO), Err(Error::NoTime));
    restored.set_every(Duration::from_nanos(1), Duration::ZERO).unwrap();
    thread::sleep(Duration::from_millis(1));
    assert_eq!(restored.insert(&1), Ok(true), "by the clock of the machine");
    assert!(restored.generation() > 4);
}

/// Threads that ask at once are told the same.
#[test]
fn each_thread_is_told_the_time() {
    let mut seen = builder(wide(), 4).capacity(100).build().unwrap();
    let [period, elapsed] = [PERIOD, PERIOD / 2].map(Duration::from_nanos);
    seen.set_every_by(period, elapsed, || Duration::ZERO).unwrap();
    let barrier = Barrier::new(4);
    let ask = || {
        barrier.wait();
        assert!((0..500_000).all(|_| seen.elapsed() == Some(elapsed)));
    };
    thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(ask))));
}

/// An advance by hand ends a generation early; the next one ends when it would have.
#[test]
fn advances_by_hand_beside_the_clock() {
    NOW.set(0);
    let seen = timed(3);
    seen.insert(&1).unwrap();
    NOW.set(PERIOD - 1);
    seen.advance();
    seen.insert(&2).unwrap();
    NOW.set(PERIOD);
    seen.insert(&3).unwrap();
    assert_eq!([1, 2, 3].map(|item| seen.age(&item)), [Some(2), Some(1), Some(0)]);
}

/// A filter that makes room is never full, and forgets the oldest items first. A batch makes room as single inserts do,
/// and counts what is new.
#[test]
fn room_is_made_for_each_insert() {
    for (layout, generations) in LAYOUTS.into_iter().flat_map(|layout| [(layout, 2), (layout, 4)]) {
        let [batches, singles] = [0; 2].map(|_| {
            let builder = builder(layout, generations).capacity(500);
            builder.forget_oldest_when_full().build().unwrap()
        });
        let items: Vec<_> = hashes(4).take(20_000).map(Prehashed).collect();
        let mut advances = 0;
        for (n, batch) in items.chunks(190).enumerate() {
            let mut answers = vec![false; batch.len()];
            let stored = batches.insert_many(batch, &mut answers).unwrap();
            assert_eq!(stored, answers.iter().filter(|&&is_new| is_new).count());
            let expected = batch.iter().map(|item| {
                let is_new = singles.insert(item).unwrap();
                assert_eq!(singles.age(item), Some(0), "{singles:?}");
                is_new
            });
            assert!(expected.eq(answers));
            if n % 4 == 0 {
                assert_eq!(batches.advance(), singles.advance());
                advances += 1;
            }
        }
        let early = singles.stats().early_advances;
        assert!((11..20_000).contains(&early), "{early}");
        assert_eq!(early, batches.stats().early_advances);
        assert_eq!(singles.generation(), advances + early);
        assert_eq!(batches.snapshot().unwrap(), singles.snapshot().unwrap());
    }
}

/// Threads that insert, where each of them may advance: nothing is missed for N - 1 periods. Then all is forgotten.
#[test]
fn nothing_is_missed_beside_the_clock() {
    const GENERATIONS: u32 = 3;
    /// Of the machine, as the filter has it.
    fn machine() -> Duration {
        static START: Mutex<Option<std::time::Instant>> = Mutex::new(None);
        START.lock().unwrap().get_or_insert_with(std::time::Instant::now).elapsed()
    }
    for period in [200, 1000, 5000].map(Duration::from_micros) {
        let builder = builder(wide(), GENERATIONS).capacity(2000).clock(machine);
        let seen = &builder.every(period).build().unwrap();
        let (checked, stop) = (&AtomicU64::new(0), &AtomicBool::new(false));
        thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || {
                    let mut items = hashes(number + 10).zip(0_u64..);
                    // When an insert of it was called last.
                    let mut recent = Vec::new();
                    while !stop.load(Ordering::Relaxed) {
                        let called = machine();
                        let (hash, n) = items.next().unwrap();
                        match seen.insert(&Prehashed(hash)) {
                            Ok(_) => recent.push((hash, called)),
                            Err(error) => assert_eq!(error, Error::Full),
                        }
                        if n % 16 == 0 {
                            recent.retain(|&(hash, called)| {
                                let found = seen.contains(&Prehashed(hash));
                                let is_within = machine() < called + period * (GENERATIONS - 1);
                                assert!(found || !is_within, "an item is missed within its window");
                                checked.fetch_add(u64::from(is_within), Ordering::Relaxed);
                                is_within
                            });
                        }
                        if n % 4096 == 0 {
                            // So that several generations are due for some of them.
                            thread::sleep(period);
                        }
                    }
                });
            }
            thread::sleep(Duration::from_millis(300));
            stop.store(true, Ordering::Relaxed);
        });
        let (checked, passed) = (checked.load(Ordering::Relaxed), seen.generation());
        assert!(checked > 1000 && passed > 5, "{checked} checks in {passed} generations");
        thread::sleep(period * GENERATIONS);
        seen.advance_if_due();
        assert!(seen.is_empty(), "{seen:?}");
    }
}
