//! Every request for memory fails in turn: the call returns an error, nothing is lost, and the call succeeds
//! when there is memory again.
//!
//! A request that may not fail aborts the process. So a test runs its cases in a child process, which is its
//! own executable, and reads there how many requests have failed.

use std::env;
use std::process::Command;

use coucal::{
    AnyCuckooFilter, CuckooFilter, DefaultHashBuilder, Error, Prehashed, Snapshot, Storage,
};
use coucal_reference::{Grows, Item, Subject, format};

use super::allocator::{live_bytes, peak_of, with_requests};
use crate::common::{
    Filter, Growing, GrowingMaplet, HASHER, Maplet, default_layout, hashes, stopped,
};

/// Set for a child process.
const IS_CHILD: &str = "COUCAL_TEST_REQUESTS";
/// What a child prints before the number of requests that it let fail one by one.
const TRIED: &str = "requests that failed in turn: ";

/// Runs the cases of the test with this name in a child process, where at least this number of requests
/// fail.
fn in_a_child(test: &str, least: usize, cases: impl FnOnce() -> usize) {
    if env::var_os(IS_CHILD).is_some() {
        println!("\n{TRIED}{}", cases());
        return;
    }
    let mut child = Command::new(env::current_exe().expect("the path of this test"));
    child.args([&format!("memory::requests::{test}"), "--exact", "--nocapture"]).env(IS_CHILD, "1");
    let output = child.output().expect("a child process");
    let [told, errors] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    let last = told.lines().next_back();
    assert!(output.status.success(), "{}, {last:?}: {errors}", output.status);
    let tried = told.lines().find_map(|line| line.strip_prefix(TRIED)).expect("the test was run");
    let tried: usize = tried.parse().expect("a number");
    assert!(tried >= least, "{tried} requests, not {least}");
}

/// An allocator that grants some requests and then fails.
struct Memory {
    granted: usize,
    /// Whether it fails from then on, and not just once.
    for_good: bool,
    /// How many requests it has refused.
    refused: usize,
}

impl Memory {
    /// `call` with this allocator.
    fn with<T>(&mut self, call: impl FnOnce() -> T) -> T {
        let (made, refused) = with_requests(self.granted, self.for_good, call);
        self.refused = refused;
        made
    }

    fn has_failed(&self) -> bool {
        self.refused > 0
    }
}

/// Runs a case with allocators of which the first request fails, the second, and so on, until none does.
/// Returns the number of requests.
fn in_turn(what: &str, mut case: impl FnMut(&mut Memory)) -> usize {
    let mut tried = 0;
    for for_good in [false, true] {
        for granted in 0.. {
            println!("{what}: {granted} requests, then failure, for good: {for_good}");
            let mut memory = Memory { granted, for_good, refused: 0 };
            let live = live_bytes();
            case(&mut memory);
            assert_eq!(live_bytes(), live, "nothing is kept");
            if !memory.has_failed() {
                break;
            }
            tried += 1;
        }
    }
    tried
}

/// A size of a filter, and what is done with it.
struct Setup {
    capacity: usize,
    max_capacity: usize,
    /// Items that it holds.
    items: usize,
    /// Items that a batch or a merge adds, or that it is to have room for.
    more: usize,
}

const FIXED: [Setup; 2] = [
    Setup { capacity: 10, max_capacity: 10, items: 5, more: 5 },
    Setup { capacity: 30_000, max_capacity: 30_000, items: 2000, more: 1000 },
];

/// One chunk, several of them, and so many that the directory grows.
const GROWING: [Setup; 3] = [
    Setup { capacity: 1, max_capacity: 100, items: 20, more: 70 },
    Setup { capacity: 2500, max_capacity: 10_000, items: 2000, more: 7000 },
    Setup { capacity: 1, max_capacity: 10_000_000, items: 2000, more: 12_000 },
];

/// Filters or maplets, of fixed size or growing.
struct Kind<S> {
    grows: bool,
    /// The largest value; 0 of filters.
    top: u32,
    setups: &'static [Setup],
    build: fn(&Setup) -> Result<S, Error>,
}

impl<S: Subject> Kind<S> {
    fn items(&self, seed: u64, count: usize) -> Vec<Item> {
        hashes(seed).take(count).map(|hash| (hash, hash as u32 & self.top)).collect()
    }

    /// One that holds these items.
    fn with_items(&self, setup: &Setup, items: &[Item]) -> S {
        let subject = (self.build)(setup).expect("memory for a test");
        subject.insert_many(items).expect("fewer than its capacity");
        subject
    }

    fn of_each_size(&self, case: impl FnMut(&Setup) -> usize) -> usize {
        self.setups.iter().map(case).sum()
    }
}

fn filters() -> Kind<Filter> {
    let build = |setup: &Setup| default_layout().filters().capacity(setup.capacity).build();
    Kind { grows: false, top: 0, setups: &FIXED, build }
}

fn maplets() -> Kind<Maplet> {
    let build = |setup: &Setup| default_layout().maplets(3).capacity(setup.capacity).build();
    Kind { grows: false, top: 7, setups: &FIXED, build }
}

fn growing_filters() -> Kind<Growing> {
    let build = |&Setup { capacity, max_capacity, .. }: &Setup| {
        default_layout().filters().capacity(capacity).max_capacity(max_capacity).build()
    };
    Kind { grows: true, top: 0, setups: &GROWING, build }
}

fn growing_maplets() -> Kind<GrowingMaplet> {
    let build = |&Setup { capacity, max_capacity, .. }: &Setup| {
        default_layout().maplets(3).capacity(capacity).max_capacity(max_capacity).build()
    };
    Kind { grows: true, top: 7, setups: &GROWING, build }
}

/// Bytes that live beside those that it says it has: the same as long as nothing is leaked.
fn bytes_besides(subject: &impl Subject) -> isize {
    live_bytes() - subject.memory_bytes().cast_signed()
}

/// It has these items, and no other.
fn assert_holds(subject: &impl Subject, items: &[Item]) {
    assert_eq!(subject.len(), items.len());
    assert!(items.iter().all(|&(hash, value)| subject.values(hash).contains(&value)));
}

/// The sum of a function over all kinds of subjects.
macro_rules! of_each_kind {
    ($case:ident) => {
        $case(&filters())
            + $case(&maplets())
            + $case(&growing_filters())
            + $case(&growing_maplets())
    };
}

#[test]
fn of_building() {
    /// What is built without memory is an error, and has no other cause.
    fn check<T>(what: &str, build: impl Fn() -> Result<T, Error>) -> usize {
        in_turn(what, |memory| match memory.with(&build) {
            Ok(_) => assert!(!memory.has_failed()),
            Err(error) => assert!(
                memory.has_failed() && matches!(error, Error::OutOfMemory { bytes } if bytes > 0)
            ),
        })
    }

    fn builders<S: Subject>(kind: &Kind<S>) -> usize {
        kind.of_each_size(|setup| check("build", || (kind.build)(setup)))
    }

    in_a_child("of_building", 140, || {
        let constructors = check("with_capacity_and_rate", || {
            AnyCuckooFilter::with_capacity_and_rate(1000, 0.001)
        });
        constructors + of_each_kind!(builders)
    });
}

#[test]
fn of_snapshots() {
    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            let items = kind.items(79, setup.items);
            let subject = kind.with_items(setup, &items);
            let before = subject.bytes();
            in_turn("snapshot", |memory| {
                match memory.with(|| subject.snapshot()) {
                    Ok(snapshot) => {
                        assert!(!memory.has_failed() && snapshot.as_bytes() == before);
                    }
                    Err(Error::OutOfMemory { bytes }) => {
                        assert!(memory.has_failed() && bytes > 0);
                    }
                    Err(error) => panic!("{error}"),
                }
                assert!(subject.bytes() == before, "as it was, and there is memory again");
                assert_holds(&subject, &items);
            })
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_snapshots", 90, || of_each_kind!(case));
}

/// What is read from these bytes, or an error.
fn check_restored<T>(memory: &Memory, restored: Result<T, Error>) -> Option<T> {
    match restored {
        Ok(restored) => {
            assert!(!memory.has_failed());
            Some(restored)
        }
        Err(Error::OutOfMemory { bytes }) => {
            assert!(memory.has_failed() && bytes > 0);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn of_reading_a_snapshot() {
    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            let bytes = kind.with_items(setup, &kind.items(83, setup.items)).bytes();
            let check = |what, read: fn(&[u8]) -> Result<Snapshot, Error>| {
                in_turn(what, |memory| {
                    let read = memory.with(|| read(&bytes));
                    if let Some(snapshot) = check_restored(memory, read) {
                        assert!(snapshot.as_bytes() == bytes);
                    }
                })
            };
            check("Snapshot::from_bytes", |bytes| Snapshot::from_bytes(bytes))
                + check("Snapshot::read_from", |bytes| Snapshot::read_from(bytes))
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_reading_a_snapshot", 60, || of_each_kind!(case));
}

#[test]
fn of_restoring() {
    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            let items = kind.items(89, setup.items);
            let bytes = kind.with_items(setup, &items).bytes();
            let snapshot = Snapshot::from_bytes(&bytes).expect("memory for a test");
            let check = |memory: &Memory, restored| {
                if let Some(restored) = check_restored::<S>(memory, restored) {
                    assert_holds(&restored, &items);
                    assert!(restored.bytes() == bytes);
                }
            };
            in_turn("from_bytes", |memory| {
                let restored = memory.with(|| S::restored(&bytes));
                check(memory, restored);
            }) + in_turn("restore", |memory| {
                let restored = memory.with(|| S::from_reader(&bytes));
                check(memory, restored);
            }) + in_turn("from_snapshot", |memory| {
                let restored = memory.with(|| S::from_snapshot(&snapshot));
                check(memory, restored);
            })
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_restoring", 500, || of_each_kind!(case));
}

/// A merge that grows the filter, or does not: all items of the other one, or none.
#[test]
fn of_merging() {
    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            let own = kind.items(97, setup.items);
            let others = kind.items(101, setup.more);
            let bytes = kind.with_items(setup, &own).bytes();
            let other = kind.with_items(setup, &others);
            let of_other = other.bytes();
            let both = [own.clone(), others].concat();
            in_turn("merge", |memory| {
                let subject = S::restored(&bytes).expect("memory for a test");
                let besides = bytes_besides(&subject);
                match memory.with(|| subject.merge(&other)) {
                    // Without room that growth would make.
                    Ok(()) => {
                        assert!(!memory.has_failed() || kind.grows);
                        assert_holds(&subject, &both);
                    }
                    Err(Error::OutOfMemory { .. } | Error::NoMemoryToGrow) => {
                        assert!(memory.has_failed());
                        assert_holds(&subject, &own);
                        assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
                        subject.merge(&other).expect("memory again");
                        assert_holds(&subject, &both);
                    }
                    Err(error) => panic!("{error}"),
                }
                assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
                assert!(other.bytes() == of_other);
            })
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_merging", 180, || of_each_kind!(case));
}

/// In the larger table the first copy of an entry that was stashed finds room in a bucket, and memory ends for the others.
#[test]
fn of_merging_copies() {
    in_a_child("of_merging_copies", 4, || {
        let layout = default_layout();
        let other = layout.growing(1, 10_000);
        let geometry = format::read(&other.snapshot().expect("memory").into_bytes())
            .expect("a snapshot")
            .geometry;
        let buckets = |hash: &u64| geometry.buckets(*hash, other.slots());
        let mut random = hashes(103);
        let copied = random.next().expect("a hash");
        let beside = random.filter(|hash| buckets(hash) == buckets(&copied));
        let all: Vec<u64> = beside.take(8).chain([copied; 3]).collect();
        assert_eq!(other.insert_many(Prehashed::slice(&all)), Ok(()));
        assert_eq!(other.stats().stashed_copies, 3);
        in_turn("merge", |memory| {
            let one = layout.growing(5000, 10_000);
            match memory.with(|| one.merge(&other)) {
                Ok(()) => assert_eq!((one.len(), one.stats().stashed_copies), (11, 2)),
                Err(Error::OutOfMemory { .. } | Error::NoMemoryToGrow) => {
                    assert!(memory.has_failed());
                    assert!(one.is_empty());
                }
                Err(error) => panic!("{error}"),
            }
        })
    });
}

#[test]
fn of_reserving() {
    fn case<S: Grows>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            let own = kind.items(103, setup.items);
            let bytes = kind.with_items(setup, &own).bytes();
            let whole = S::restored(&bytes).expect("memory for a test");
            whole.try_reserve(setup.more).expect("memory for a test");
            let reserved = whole.memory_bytes();
            in_turn("reserve", |memory| {
                let subject = S::restored(&bytes).expect("memory for a test");
                let besides = bytes_besides(&subject);
                match memory.with(|| subject.try_reserve(setup.more)) {
                    Ok(()) => assert!(!memory.has_failed() || !memory.for_good),
                    Err(Error::OutOfMemory { bytes }) => {
                        assert!(memory.has_failed() && bytes > 0);
                        assert!(subject.memory_bytes() < reserved);
                        assert_holds(&subject, &own);
                        assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
                        subject.try_reserve(setup.more).expect("memory again");
                    }
                    Err(error) => panic!("{error}"),
                }
                assert_holds(&subject, &own);
                assert_eq!(subject.memory_bytes(), reserved);
                assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
            })
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_reserving", 55, || case(&growing_filters()) + case(&growing_maplets()));
}

/// Each insert on its own: an item whose insert fails is not stored, and is stored with memory.
#[test]
fn of_inserting() {
    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let mut tried = 0;
        for (setup, for_good) in
            kind.setups.iter().flat_map(|setup| [(setup, false), (setup, true)])
        {
            let all = kind.items(107, setup.items + setup.more);
            let subject = (kind.build)(setup).expect("memory for a test");
            let besides = bytes_besides(&subject);
            for (at, &item) in all.iter().enumerate() {
                for granted in 0.. {
                    let mut memory = Memory { granted, for_good, refused: 0 };
                    let inserted = memory.with(|| subject.insert(item));
                    tried += usize::from(memory.has_failed());
                    assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
                    match inserted {
                        Ok(()) => break,
                        Err(Error::NoMemoryToGrow) => {
                            assert!(memory.has_failed());
                            assert_holds(&subject, &all[..at]);
                        }
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            assert_holds(&subject, &all);
        }
        tried
    }

    in_a_child("of_inserting", 700, || of_each_kind!(case));
}

/// A batch ends at the first item for which there is no memory.
#[test]
fn of_inserting_batches() {
    fn check<S: Subject, I>(
        kind: &Kind<S>,
        setup: &Setup,
        named: impl Fn(&[Item]) -> Vec<I>,
        insert: fn(&S, &[I]) -> Result<(), Error>,
    ) -> usize {
        let all = kind.items(109, setup.items + setup.more);
        let (own, new) = all.split_at(setup.items);
        let bytes = kind.with_items(setup, own).bytes();
        let new = named(new);
        in_turn("a batch", |memory| {
            let subject = S::restored(&bytes).expect("memory for a test");
            let besides = bytes_besides(&subject);
            if let Err(error) = memory.with(|| insert(&subject, &new)) {
                let stored = error.stored();
                assert_eq!(stopped(error), (stored, stored, Error::NoMemoryToGrow));
                assert!(memory.has_failed());
                assert_holds(&subject, &all[..setup.items + stored]);
                assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
                insert(&subject, &new[stored..]).expect("memory again");
            } else {
                // Without room that growth would make.
                assert!(!memory.has_failed() || kind.grows);
            }
            assert_holds(&subject, &all);
            assert_eq!(bytes_besides(&subject), besides, "nothing is leaked");
        })
    }

    fn case<S: Subject>(kind: &Kind<S>) -> usize {
        let of_size = |setup: &Setup| {
            check(kind, setup, S::all_named, S::insert_named)
                + check(kind, setup, <[Item]>::to_vec, S::insert_all)
        };
        kind.of_each_size(of_size)
    }

    in_a_child("of_inserting_batches", 100, || of_each_kind!(case));
}

/// A value in the stash is replaced, where the new one needs a cell more than there are: by itself, and as the second of a
/// batch.
#[test]
fn of_replacing() {
    const STASHED: usize = 56;

    fn case<L: Storage>(maplet: &Maplet<L>) -> usize {
        while maplet.stats().stashed_entries < STASHED {
            maplet.insert(&Prehashed(42), maplet.len() as u32).expect("room");
        }
        let last = maplet.len() as u32 - 1;
        let bytes = maplet.bytes();
        let values = |maplet: &Maplet<L>| Subject::values(maplet, 42);
        let before: Vec<u32> = (0..=last).collect();
        in_turn("replace", |memory| {
            let maplet = Maplet::<L>::restored(&bytes).expect("memory");
            match memory.with(|| maplet.replace(&Prehashed(42), last, 200)) {
                Ok(replaced) => assert!(replaced && !memory.has_failed()),
                Err(error) => {
                    assert!(memory.has_failed() && error == Error::NoMemoryToGrow);
                    assert_eq!(values(&maplet), before);
                    assert_eq!(maplet.replace(&Prehashed(42), last, 200), Ok(true), "memory again");
                }
            }
            assert_eq!(values(&maplet), [&before[..last as usize], &[200]].concat());
        }) + in_turn("replace_many", |memory| {
            let maplet = Maplet::<L>::restored(&bytes).expect("memory");
            let key = Prehashed(42);
            let (pairs, mut replaced) = ([(key, 0, 0), (key, last, 200)], [false; 2]);
            match memory.with(|| maplet.replace_many(&pairs, &mut replaced)) {
                Ok(count) => assert!(count == 2 && !memory.has_failed()),
                Err(error) => {
                    assert!(memory.has_failed());
                    assert_eq!(stopped(error), (1, 1, Error::NoMemoryToGrow));
                    assert_eq!(values(&maplet), before);
                }
            }
        })
    }

    in_a_child("of_replacing", 8, || {
        let maplets = default_layout().maplets(8);
        case(&maplets.clone().capacity(100).build().expect("memory for a test"))
            + case(&maplets.growable().capacity(1).build().expect("memory for a test"))
    });
}

/// Neither an insert of a key of any length, nor a lookup or a removal, asks for memory that could be refused.
#[test]
fn keys_take_no_memory() {
    fn check<S: std::hash::BuildHasher>(hasher: S) {
        let filter = CuckooFilter::with_capacity_and_hasher(1000, hasher);
        for len in [0, 1, 100, 127, 128, 129, 240, 241, 1000, 100_000] {
            let key = "a".repeat(len);
            let ((), peak) = peak_of(|| {
                filter.insert(&key).expect("few items");
                assert!(filter.contains(&key) && filter.count(&key) == 1 && filter.remove(&key));
            });
            assert_eq!(peak, 0, "bytes for a key of {len}");
        }
    }

    check(HASHER);
    check(DefaultHashBuilder::default());
}
