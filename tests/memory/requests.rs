//! Every request for memory fails in turn: the call returns an error, nothing is lost, and the call succeeds
//! when there is memory again.
//!
//! A request that may not fail aborts the process. So a test runs its cases in a child process, which is its
//! own executable, and reads there how many requests have failed.

use std::env;
use std::process::Command;

use coucal::{AnyCuckooFilter, CuckooFilter, DefaultHashBuilder, Error, Snapshot};

use super::allocator::{live_bytes, peak_of, with_requests};
use crate::common::{HASHER, Item, Kind, Subject, default_layout, stopped};

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
        self.with_more(0, call)
    }

    /// `call` with this allocator, which grants so many requests besides.
    fn with_more<T>(&mut self, besides: usize, call: impl FnOnce() -> T) -> T {
        let (made, refused) = with_requests(self.granted + besides, self.for_good, call);
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

/// Filters or maplets, a size of them, and what is done with one.
struct Setup {
    kind: Kind,
    /// The first capacity, and the greatest.
    sizes: [usize; 2],
    /// Items that it holds.
    items: usize,
    /// Items that a batch or a merge adds, or that it is to have room for.
    more: usize,
}

/// The default layout, with values of three bits. Where it grows: one chunk, several of them, and so many that the
/// directory grows.
fn setups() -> impl Iterator<Item = Setup> {
    Kind::each(default_layout(), 3).into_iter().flat_map(|kind| {
        let sizes: &[_] = if kind.grows {
            &[([1, 100], 20, 70), ([2500, 10_000], 2000, 7000), ([1, 10_000_000], 2000, 12_000)]
        } else {
            &[([10; 2], 5, 5), ([30_000; 2], 2000, 1000)]
        };
        sizes.iter().map(move |&(sizes, items, more)| Setup { kind, sizes, items, more })
    })
}

impl Setup {
    fn build(&self) -> Result<Box<dyn Subject>, Error> {
        let [first, most] = self.sizes;
        self.kind.try_build(first, most)
    }

    /// The items that it holds, and then the others.
    fn items(&self, seed: u64) -> Vec<Item> {
        self.kind.items(seed, self.items + self.more)
    }

    /// One that holds these items.
    fn with_items(&self, items: &[Item]) -> Box<dyn Subject> {
        let subject = self.build().expect("memory for a test");
        subject.insert_many(items).expect("fewer than its capacity");
        subject
    }
}

/// The requests of a case for each setup, in a child.
fn of_each_setup(test: &str, least: usize, case: impl Fn(Setup) -> usize) {
    in_a_child(test, least, || setups().map(case).sum());
}

/// Bytes that live beside those that it says it has: the same as long as nothing is leaked.
fn bytes_besides(subject: &dyn Subject) -> isize {
    live_bytes() - subject.heap_bytes().cast_signed()
}

/// It has these items, and no other; and nothing is leaked.
fn assert_holds(subject: &dyn Subject, items: &[Item], besides: isize) {
    assert_eq!(bytes_besides(subject), besides, "leaked");
    assert_eq!(subject.len(), items.len());
    assert!(items.iter().all(|&(hash, value)| subject.values(hash).contains(&value)));
}

/// What is made, with so many boxes that are granted besides, is right; or there is an error that says that a request
/// for memory failed.
fn of_making<T>(
    what: &str,
    boxes: usize,
    make: impl Fn() -> Result<T, Error>,
    check: impl Fn(T),
) -> usize {
    in_turn(what, |memory| match memory.with_more(boxes, &make) {
        Ok(made) => {
            assert!(!memory.has_failed());
            check(made);
        }
        Err(Error::OutOfMemory { bytes }) => assert!(memory.has_failed() && bytes > 0),
        Err(error) => panic!("{error}"),
    })
}

#[test]
fn of_building() {
    in_a_child("of_building", 140, || {
        let by_rate = || AnyCuckooFilter::with_capacity_and_rate(1000, 0.001);
        let build = |setup: Setup| of_making("build", 1, || setup.build(), drop);
        of_making("by rate", 0, by_rate, drop) + setups().map(build).sum::<usize>()
    });
}

/// They are taken, read, and restored in each way.
#[test]
fn of_snapshots() {
    of_each_setup("of_snapshots", 610, |setup| {
        let items = &setup.items(79)[..setup.items];
        let subject = setup.with_items(items);
        let snapshot = subject.snapshot().expect("memory for a test");
        let (bytes, besides) = (snapshot.as_bytes(), bytes_besides(&*subject));
        let is_same = |taken: Snapshot| assert!(taken.as_bytes() == bytes);
        let is_restored = |restored: Box<dyn Subject>| {
            assert_holds(&*restored, items, bytes_besides(&*restored));
            assert!(restored.bytes() == bytes);
        };
        let tried = of_making("snapshot", 0, || subject.snapshot(), is_same)
            + of_making("read", 0, || Snapshot::from_bytes(bytes), is_same)
            + of_making("read from a reader", 0, || Snapshot::read_from(bytes), is_same)
            + of_making("restore", 1, || subject.restored(bytes), is_restored)
            + of_making("restore from a reader", 1, || subject.read(&mut &*bytes), is_restored)
            + of_making("of a snapshot", 1, || subject.of_snapshot(&snapshot), is_restored);
        assert!(subject.bytes() == bytes, "as it was");
        assert_holds(&*subject, items, besides);
        tried
    });
}

/// A merge that grows the filter, or does not: all items of the other one, or none.
#[test]
fn of_merging() {
    of_each_setup("of_merging", 180, |setup| {
        let both = setup.items(97);
        let (own, others) = both.split_at(setup.items);
        let bytes = setup.with_items(own).bytes();
        let other = setup.with_items(others);
        let of_other = other.bytes();
        in_turn("merge", |memory| {
            let subject = other.restored(&bytes).expect("memory for a test");
            let besides = bytes_besides(&*subject);
            match memory.with(|| subject.merge(&*other)) {
                // Without room that growth would make.
                Ok(()) => assert!(!memory.has_failed() || setup.kind.grows),
                Err(Error::OutOfMemory { .. } | Error::NoMemoryToStore) => {
                    assert!(memory.has_failed());
                    assert_holds(&*subject, own, besides);
                    subject.merge(&*other).expect("memory again");
                }
                Err(error) => panic!("{error}"),
            }
            assert_holds(&*subject, &both, besides);
            assert!(other.bytes() == of_other);
        })
    });
}

#[test]
fn of_reserving() {
    let case = |setup: Setup| {
        let own = &setup.items(103)[..setup.items];
        let whole = setup.with_items(own);
        let bytes = whole.bytes();
        // As those below: one that has grown keeps what was replaced.
        let whole = whole.restored(&bytes).expect("memory for a test");
        whole.reserve(setup.more).expect("memory for a test");
        let reserved = whole.heap_bytes();
        in_turn("reserve", |memory| {
            let subject = whole.restored(&bytes).expect("memory for a test");
            let besides = bytes_besides(&*subject);
            match memory.with(|| subject.reserve(setup.more)) {
                Ok(()) => assert!(!memory.has_failed() || !memory.for_good),
                Err(Error::OutOfMemory { bytes }) => {
                    assert!(memory.has_failed() && bytes > 0);
                    assert!(subject.heap_bytes() < reserved);
                    assert_holds(&*subject, own, besides);
                    subject.reserve(setup.more).expect("memory again");
                }
                Err(error) => panic!("{error}"),
            }
            assert_holds(&*subject, own, besides);
            assert_eq!(subject.heap_bytes(), reserved);
        })
    };
    in_a_child("of_reserving", 55, || setups().filter(|setup| setup.kind.grows).map(case).sum());
}

/// Each insert on its own: an item whose insert fails is not stored, and is stored with memory.
#[test]
fn of_inserting() {
    of_each_setup("of_inserting", 700, |setup| {
        let mut tried = 0;
        for for_good in [false, true] {
            let all = setup.items(107);
            let subject = setup.build().expect("memory for a test");
            let besides = bytes_besides(&*subject);
            for (at, &item) in all.iter().enumerate() {
                for granted in 0.. {
                    let mut memory = Memory { granted, for_good, refused: 0 };
                    let inserted = memory.with(|| subject.insert(item));
                    tried += usize::from(memory.has_failed());
                    if inserted.is_ok() {
                        break;
                    }
                    assert!(memory.has_failed() && inserted == Err(Error::NoMemoryToStore));
                    assert_holds(&*subject, &all[..at], besides);
                }
                assert_eq!(bytes_besides(&*subject), besides, "leaked");
            }
            assert_holds(&*subject, &all, besides);
        }
        tried
    });
}

/// A batch ends at the first item for which there is no memory.
#[test]
fn of_inserting_batches() {
    of_each_setup("of_inserting_batches", 100, |setup| {
        let all = setup.items(109);
        let (own, new) = all.split_at(setup.items);
        let empty = setup.build().expect("memory for a test");
        let bytes = setup.with_items(own).bytes();
        let of_batch = |is_slice: bool| {
            in_turn("a batch", |memory| {
                let subject = empty.restored(&bytes).expect("memory for a test");
                let besides = bytes_besides(&*subject);
                let failed = {
                    let batch = subject.batch(new);
                    memory.with(|| if is_slice { batch() } else { subject.insert_all(new) }).err()
                };
                if let Some(error) = failed {
                    let stored = error.stored();
                    assert_eq!(stopped(error), (stored, stored, Error::NoMemoryToStore));
                    assert!(memory.has_failed());
                    assert_holds(&*subject, &all[..setup.items + stored], besides);
                    subject.insert_many(&new[stored..]).expect("memory again");
                } else {
                    // Without room that growth would make.
                    assert!(!memory.has_failed() || setup.kind.grows);
                }
                assert_holds(&*subject, &all, besides);
            })
        };
        of_batch(true) + of_batch(false)
    });
}

/// A value in the stash is replaced, where the new one needs a cell more than there are.
#[test]
fn of_replacing() {
    const STASHED: usize = 56;

    let case = |kind: Kind| {
        let full = kind.build(1, 100);
        while full.stashed().0 < STASHED {
            full.insert((42, full.len() as u32)).expect("room");
        }
        let (bytes, last) = (full.bytes(), full.len() as u32 - 1);
        let before: Vec<u32> = (0..=last).collect();
        in_turn("replace", |memory| {
            let maplet = full.restored(&bytes).expect("memory for a test");
            match memory.with(|| maplet.try_replace((42, last), 200)) {
                Ok(replaced) => assert!(replaced && !memory.has_failed()),
                Err(error) => {
                    assert!(memory.has_failed() && error == Error::NoMemoryToStore);
                    assert_eq!(maplet.values(42), before);
                    assert!(maplet.replace((42, last), 200), "memory again");
                }
            }
            assert_eq!(maplet.values(42), [&before[..last as usize], &[200]].concat());
        })
    };
    let kinds = Kind::each(default_layout(), 8).into_iter().filter(|kind| kind.value_bits > 0);
    in_a_child("of_replacing", 4, || kinds.map(case).sum());
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
