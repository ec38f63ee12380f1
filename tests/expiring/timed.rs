//! Generations that end by a clock of the test. (The models `timer` of `loom-tests` show threads that find one due at
//! the same time.)

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use coucal::{Error, Prehashed};
use coucal_reference::{HASHER, LAYOUTS, Layout, hashes, random};
use rand::RngExt;

use super::{Seen, builder};

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// Returns the time of a clock of this thread alone.
fn now() -> Duration {
    Duration::from_nanos(NOW.get())
}

const PERIOD: u64 = 1000;

fn wide() -> Layout {
    Layout::named("Fp32x2")
}

/// Makes a filter whose first generation begins at this moment.
fn timed(generations: u32) -> Seen {
    let builder = builder(wide(), generations).capacity(2000).clock(now);
    builder.every(Duration::from_nanos(PERIOD)).build().unwrap()
}

/// Random inserts at random times, also after a pause: the filter remembers the items that were inserted in this period
/// or in the N - 1 before it. Half of the filters are saved and restored repeatedly, with the time that the generation
/// had lasted and the time during which nobody had them. They behave as a filter that was never saved, whatever the
/// clock of the new process says.
#[test]
fn items_that_are_remembered_at_each_time() {
    let mut random = random(1);
    let each = [2, 3, 10].into_iter().flat_map(|generations| [(generations, 0), (generations, 3)]);
    for (generations, restarts) in each {
        let (mut began, mut time) = (0, 0);
        NOW.set(0);
        let mut seen = timed(generations);
        let mut last = BTreeMap::new();
        for _ in 0..20_000 {
            let pause = if random.random_ratio(1, 50) { 20 * PERIOD } else { PERIOD / 3 };
            time += random.random_range(0..pause);
            NOW.set(time - began);
            let item = random.random_range(0..100_u64);
            let (generation, len) = (seen.generation(), seen.len());
            let _ = seen.contains(&item); // which does not look at the clock
            assert_eq!(seen.generation(), generation);
            if random.random_ratio(1, 4) {
                assert_eq!(seen.advance_if_due() + seen.len(), len);
            }
            let age = |last: Option<&u64>| {
                let age = last.map(|last| (time / PERIOD - last) as u32);
                age.filter(|&age| age < generations)
            };
            let is_new = age(last.get(&item)).is_none();
            let (one, restamps) = ([item], random.random());
            let stored = match (random.random_range(0..3), restamps) {
                (0, true) => seen.insert(&item),
                (0, false) => seen.insert_if_absent(&item),
                (1, true) => seen.insert_many(&one, &mut [false]).map(|new| new == 1),
                (1, false) => seen.insert_if_absent_many(&one, &mut [false]).map(|new| new == 1),
                (_, true) => seen.insert_all(one).map(|new| new == 1),
                (_, false) => seen.insert_if_absent_all(one).map(|new| new == 1),
            };
            assert_eq!(stored, Ok(is_new), "at {time}: {seen:?}");
            if restamps || is_new {
                last.insert(item, time / PERIOD);
            }
            for other in 0..100 {
                assert_eq!(seen.age(&other), age(last.get(&other)), "{other} {seen:?}");
            }
            assert_eq!(seen.generation(), time / PERIOD);
            assert_eq!(seen.elapsed(), Some(Duration::from_nanos(time % PERIOD)));
            if random.random_ratio(restarts, 10) {
                let (snapshot, elapsed) = (seen.snapshot().unwrap(), seen.elapsed().unwrap());
                let most = if random.random_ratio(1, 9) { 5 * PERIOD } else { 9 };
                let away = random.random_range(0..most);
                time += away;
                // A clock that has just begun, or one that is ahead of all clocks before.
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

/// Times at both ends of the range.
#[test]
fn times_without_end() {
    let builder = builder(wide(), 2).capacity(100);
    let timed = |clock, period| builder.clone().clock(clock).every(period).build().unwrap();
    NOW.set(0);
    let seen = timed(now, Duration::MAX);
    seen.insert(&1).unwrap();
    NOW.set(u64::MAX - 1);
    assert_eq!((seen.insert(&1), seen.generation()), (Ok(false), 0));
    assert_eq!(timed(|| Duration::MAX, Duration::from_nanos(1)).insert(&1), Ok(true));
    NOW.set(0);
    let mut seen = timed(now, Duration::from_nanos(1));
    seen.insert(&1).unwrap();
    NOW.set(u64::MAX);
    assert_eq!(seen.insert(&1), Ok(true));
    // If the clock goes back, no generation ends.
    NOW.set(0);
    assert_eq!(seen.insert(&1), Ok(false));
    assert_eq!(seen.elapsed(), Some(Duration::ZERO));
    for elapsed in [Duration::MAX, Duration::from_nanos(u64::MAX - 1)] {
        NOW.set(3);
        seen.set_every_by(Duration::from_nanos(1), elapsed, now).unwrap();
        assert_eq!((seen.insert(&1), seen.insert(&1)), (Ok(true), Ok(false)));
        NOW.set(1000);
        assert_eq!(seen.insert(&1), Ok(true), "time goes on");
    }
    for builder in [builder.clone().every(Duration::ZERO), builder.clock(now)] {
        assert_eq!(builder.build().unwrap_err(), Error::NoTime);
    }
}

/// A clone goes on with the same clock; a restored filter has none until it gets one.
#[test]
fn copies_and_the_clock() {
    NOW.set(0);
    let seen = timed(4);
    seen.insert(&1).unwrap();
    NOW.set(PERIOD / 2);
    let copy = seen.try_clone().unwrap();
    let mut restored = Seen::from_snapshot(&seen.snapshot().unwrap(), HASHER).unwrap();
    let period = Some(Duration::from_nanos(PERIOD));
    assert_eq!([&seen, &copy, &restored].map(Seen::period), [period, period, None]);
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

/// A clone of a filter whose generation had lasted some time before its clock began behaves as that filter.
#[test]
fn copies_of_what_was_set_ahead() {
    NOW.set(5);
    let mut seen = builder(wide(), 4).capacity(100).build().unwrap();
    let [period, elapsed] = [PERIOD, 3 * PERIOD / 4].map(Duration::from_nanos);
    seen.set_every_by(period, elapsed, now).unwrap();
    seen.insert(&1).unwrap();
    let copy = seen.try_clone().unwrap();
    for time in (5..3 * PERIOD).step_by(50) {
        NOW.set(time);
        for seen in [&seen, &copy] {
            seen.advance_if_due();
            let lasted = time - 5 + 3 * PERIOD / 4;
            assert_eq!(seen.generation(), lasted / PERIOD, "at {time}");
            assert_eq!(seen.elapsed(), Some(Duration::from_nanos(lasted % PERIOD)), "at {time}");
        }
    }
}

/// A number of reads of the clock, and a change that another thread could make at the last of these reads.
type Meddle = (u32, Box<dyn FnOnce()>);

thread_local! {
    static MEDDLE: RefCell<Option<Meddle>> = const { RefCell::new(None) };
}

fn meddle(reads: u32, meddle: impl FnOnce() + 'static) {
    MEDDLE.set(Some((reads, Box::new(meddle))));
}

/// Returns the time of this thread, and makes the change when its read has come.
fn meddling() -> Duration {
    match MEDDLE.take() {
        Some((1, meddle)) => meddle(),
        later => MEDDLE.set(later.map(|(reads, meddle)| (reads - 1, meddle))),
    }
    now()
}

/// An insert that finds no free slot does not end a generation if another thread has ended one since the insert began.
/// It first tries again. The other thread does so at each moment at which the insert reads the clock.
#[test]
fn room_that_others_make_meanwhile() {
    let mut moments = 0;
    for reads in 1.. {
        let mut seen = builder(wide(), 4).capacity(100).build().unwrap();
        let item = (0..1000_u64).find(|item| seen.insert(item) == Err(Error::WindowFull)).unwrap();
        seen.set_every_by(Duration::from_nanos(PERIOD), Duration::ZERO, meddling).unwrap();
        seen.set_forget_oldest_when_full(true).unwrap();
        let seen: &'static Seen = Box::leak(Box::new(seen));
        meddle(reads, || {
            seen.advance();
            seen.clear();
        });
        assert_eq!(seen.insert(&item), Ok(true));
        if MEDDLE.take().is_some() {
            break;
        }
        if seen.stats().early_advances == 0 {
            assert_eq!((seen.generation(), seen.len(), seen.age(&item)), (1, 1, Some(0)));
            moments += 1;
        }
    }
    // When it looks whether a generation is due, twice, and before it ends one.
    assert_eq!(moments, 3);
}

/// Another thread ends a generation before an insert stores its item, or afterwards, before the insert ends it by the
/// count.
#[test]
fn a_generation_that_others_end_meanwhile() {
    for (reads, ended) in [(1, [2, 1]), (2, [1, 0])] {
        let builder = builder(wide(), 4).capacity(100).clock(meddling).every_items(1);
        let seen = builder.every(Duration::from_nanos(PERIOD)).build().unwrap();
        let seen: &'static Seen = Box::leak(Box::new(seen));
        meddle(reads, || assert_eq!(seen.advance(), 0));
        assert_eq!(seen.insert(&1), Ok(true));
        assert!(MEDDLE.take().is_none());
        assert_eq!(
            [seen.generation(), seen.stats().counted_advances],
            ended,
            "after {reads} reads"
        );
    }
}

/// The clock panics at the end of an advance. The generations that have ended are not due once more, and the next one
/// ends when it is due.
#[test]
fn a_clock_that_panics_after_an_advance() {
    NOW.set(0);
    let builder = builder(wide(), 10).capacity(100).clock(meddling);
    let seen = builder.every(Duration::from_nanos(PERIOD)).build().unwrap();
    NOW.set(9 * PERIOD / 10);
    assert_eq!(seen.insert(&1), Ok(true));
    NOW.set(5 * PERIOD + 1);
    // The insert reads the clock, finds generations due, reads it again, and once more when these have ended.
    meddle(3, || panic!("on purpose"));
    catch_unwind(|| seen.insert(&2)).unwrap_err();
    assert_eq!(seen.insert(&3), Ok(true));
    assert_eq!((seen.generation(), seen.age(&1)), (5, Some(5)));
    NOW.set(6 * PERIOD);
    assert_eq!(seen.elapsed(), Some(Duration::from_nanos(PERIOD)));
    assert_eq!((seen.insert(&4), seen.generation()), (Ok(true), 6));
}

/// The clock panics after a sweep. The generation has ended all the same: the count of new items begins again, and the
/// statistics count the generation.
#[test]
fn a_clock_that_panics_after_a_sweep() {
    let hour = Duration::from_secs(3600);
    let panics = |reads, call: &dyn Fn()| {
        meddle(reads, || panic!("on purpose"));
        catch_unwind(AssertUnwindSafe(call)).unwrap_err();
    };
    let builder = builder(wide(), 4).capacity(2000).clock(meddling).every_items(100);
    let seen = builder.every(hour).build().unwrap();
    assert!((0..99).all(|item| seen.insert(&item) == Ok(true)));
    panics(2, &|| _ = seen.advance());
    assert_eq!((seen.insert(&99), seen.generation()), (Ok(true), 1));
    assert!((100..198).all(|item| seen.insert(&item) == Ok(true)));
    // An insert also reads the clock before it stores its item.
    panics(3, &|| _ = seen.insert(&198));
    assert_eq!((seen.generation(), seen.stats().counted_advances), (2, 1));
    assert!((199..298).all(|item| seen.insert(&item) == Ok(true)));
    assert_eq!((seen.generation(), seen.insert(&298), seen.generation()), (2, Ok(true), 3));

    let mut seen = super::builder(wide(), 4).capacity(100).build().unwrap();
    let item = (0..1000_u64).find(|item| seen.insert(item) == Err(Error::WindowFull)).unwrap();
    seen.set_every_by(hour, Duration::ZERO, meddling).unwrap();
    seen.set_forget_oldest_when_full(true).unwrap();
    // It reads the clock once more when it has found the filter full.
    panics(4, &|| _ = seen.insert(&item));
    assert_eq!((seen.generation(), seen.stats().early_advances), (1, 1));
}

/// The count of new items begins again when the clock has ended a generation.
#[test]
fn the_count_begins_again_with_each_period() {
    NOW.set(0);
    let builder = builder(wide(), 4).capacity(2000).clock(now).every_items(10);
    let seen = builder.every(Duration::from_nanos(PERIOD)).build().unwrap();
    assert!((0..9).all(|item| seen.insert(&item) == Ok(true)));
    NOW.set(PERIOD);
    assert!((10..19).all(|item| seen.insert(&item) == Ok(true)));
    assert_eq!(seen.generation(), 1);
    assert_eq!((seen.insert(&20), seen.generation()), (Ok(true), 2));
}

/// Returns a time that is later at each call.
fn running() -> Duration {
    NOW.set(NOW.get() + 1);
    now()
}

/// Whatever ends a generation, its sweep is measured.
#[test]
fn each_sweep_is_measured() {
    let new = || {
        let builder = builder(wide(), 2).capacity(100).clock(running).every_items(50);
        builder.forget_oldest_when_full().every(Duration::from_secs(3600)).build().unwrap()
    };
    let longest = |seen: Seen| seen.stats().longest_sweep;
    let seen = new();
    assert!(seen.insert(&1).is_ok());
    assert_eq!(longest(seen), Duration::ZERO);
    let seen = new();
    seen.advance();
    assert!(longest(seen) > Duration::ZERO);
    let seen = new();
    assert!((0..50).all(|item| seen.insert(&item).is_ok()));
    assert_eq!(seen.stats().counted_advances, 1);
    assert!(longest(seen) > Duration::ZERO);
}

/// Threads that ask at the same time get the same answer.
#[test]
fn each_thread_is_told_the_time() {
    // Within a period, and while generations are due that nobody ends.
    for elapsed in [PERIOD / 2, 3 * PERIOD] {
        let mut seen = builder(wide(), 4).capacity(100).build().unwrap();
        let [period, elapsed] = [PERIOD, elapsed].map(Duration::from_nanos);
        seen.set_every_by(period, elapsed, || Duration::ZERO).unwrap();
        let barrier = Barrier::new(4);
        let ask = || {
            barrier.wait();
            assert!((0..500_000).all(|_| seen.elapsed() == Some(elapsed)));
        };
        thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(ask))));
    }
}

/// An advance by hand ends a generation early; the next generation ends when it would have ended anyway.
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
/// and counts the items that are new.
#[test]
fn room_is_made_for_each_insert() {
    for (layout, generations) in LAYOUTS.into_iter().flat_map(|layout| [(layout, 2), (layout, 4)]) {
        let [batches, singles] = [0; 2].map(|_| {
            let builder = builder(layout, generations).capacity(500);
            // By a clock that stands still, so not by the number of items.
            let builder = builder.every(Duration::from_secs(1)).clock(|| Duration::ZERO);
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
