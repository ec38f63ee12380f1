//! Every request for memory fails in turn: the call returns an error, nothing is lost, and the call succeeds when there
//! is memory again.
//!
//! A request that must not fail aborts the process. So a test runs its cases in a child process, which runs the same
//! executable, and reads there how many requests have failed.

use std::env;
use std::process::Command;
#[cfg(feature = "serde")]
use std::{error, fmt};

use coucal::{
    AnyCuckooFilter, AnyLayout, CuckooFilter, DefaultHashBuilder, Error, ExpiringBuilder,
    ExpiringCuckooFilter, Fixed, Fp16x4, Growable, GrowableExpiringCuckooFilter, Prehashed,
    Snapshot, StableHashBuilder, Storage,
};
use coucal_reference::format;
#[cfg(feature = "serde")]
use serde_core::de::{self, Deserialize, value::SeqDeserializer};

use super::allocator::{live_bytes, peak_of, with_requests};
use crate::common::{HASHER, Item, Kind, Subject, default_layout, hashes, stopped};

/// The variable that is set for a child process.
const IS_CHILD: &str = "COUCAL_TEST_REQUESTS";
/// The text that a child prints before the number of requests that it let fail one by one.
const TRIED: &str = "requests that failed in turn: ";

/// Runs the cases of the test with this name in a child process, in which at least `least` requests must fail.
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
    /// Whether all later requests fail, too, and not just one.
    for_good: bool,
    /// The number of requests that it has refused.
    refused: usize,
}

impl Memory {
    /// Calls `call` with this allocator.
    fn with<T>(&mut self, call: impl FnOnce() -> T) -> T {
        self.with_more(0, call)
    }

    /// Calls `call` with this allocator, which grants `besides` more requests.
    fn with_more<T>(&mut self, besides: usize, call: impl FnOnce() -> T) -> T {
        let (made, refused) = with_requests(self.granted + besides, self.for_good, call);
        self.refused = refused;
        made
    }

    fn has_failed(&self) -> bool {
        self.refused > 0
    }
}

/// Runs a case with an allocator whose first request fails, then with one whose second fails, and so on, until none
/// does. Returns the number of requests.
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

/// Filters or maplets of one size, and what is done with one.
struct Setup {
    kind: Kind,
    /// The first capacity, and the maximum.
    sizes: [usize; 2],
    /// The number of items that it holds.
    items: usize,
    /// The number of items that a batch or a merge adds, or for which room is reserved.
    more: usize,
}

/// Returns setups of the default layout, with values of three bits. Growing tables have one chunk, several chunks, or
/// enough to make the directory grow.
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

    /// Returns the items that it holds, and then the others.
    fn items(&self, seed: u64) -> Vec<Item> {
        self.kind.items(seed, self.items + self.more)
    }

    /// Builds one that holds these items.
    fn with_items(&self, items: &[Item]) -> Box<dyn Subject> {
        let subject = self.build().expect("memory for a test");
        subject.insert_many(items).expect("fewer than its capacity");
        subject
    }
}

/// Runs a case for each setup, in a child process, and adds up the requests.
fn of_each_setup(test: &str, least: usize, case: impl Fn(Setup) -> usize) {
    in_a_child(test, least, || setups().map(case).sum());
}

/// Returns the bytes on the heap that it does not count as its own: always the same, as long as nothing is leaked.
fn bytes_besides(subject: &dyn Subject) -> isize {
    live_bytes() - subject.heap_bytes().cast_signed()
}

/// Checks that it has these items and no others, and that nothing is leaked.
fn assert_holds(subject: &dyn Subject, items: &[Item], besides: isize) {
    assert_eq!(bytes_besides(subject), besides, "leaked");
    assert_eq!(subject.len(), items.len());
    assert!(items.iter().all(|&(hash, value)| subject.values(hash).contains(&value)));
}

/// Checks that the result, made with `boxes` more granted requests, is right; or that the error says that a request for
/// memory failed.
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
        Err(Error::OutOfMemory { bytes, .. }) => assert!(memory.has_failed() && bytes > 0),
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

/// Snapshots are taken, read, and restored in each way.
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

/// A snapshot is deserialized from a list of numbers.
#[cfg(feature = "serde")]
#[test]
fn of_deserializing() {
    /// An error that takes no memory.
    #[derive(Debug)]
    struct Failed;

    impl fmt::Display for Failed {
        fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
            Ok(())
        }
    }

    impl error::Error for Failed {}

    impl de::Error for Failed {
        fn custom<T: fmt::Display>(_: T) -> Self {
            Self
        }
    }

    in_a_child("of_deserializing", 8, || {
        let snapshot = default_layout().filter(50_000).snapshot().expect("memory for a test");
        in_turn("deserialize", |memory| {
            let list = snapshot.as_bytes().iter().copied();
            let list = SeqDeserializer::<_, Failed>::new(list);
            match memory.with(|| Snapshot::deserialize(list)) {
                Ok(read) => assert!(!memory.has_failed() && read == snapshot),
                Err(Failed) => assert!(memory.has_failed()),
            }
        })
    });
}

/// A merge, whether or not the filter grows for it, adds all items of the other filter, or none.
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
                // A growing table may succeed although it could not grow.
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
        // As the filters below: one that has grown keeps what was replaced.
        let whole = whole.restored(&bytes).expect("memory for a test");
        whole.reserve(setup.more).expect("memory for a test");
        let reserved = whole.heap_bytes();
        in_turn("reserve", |memory| {
            let subject = whole.restored(&bytes).expect("memory for a test");
            let besides = bytes_besides(&*subject);
            match memory.with(|| subject.reserve(setup.more)) {
                Ok(()) => assert!(!memory.has_failed() || !memory.for_good),
                Err(Error::OutOfMemory { bytes, .. }) => {
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

/// Single inserts: an item whose insert fails is not stored, and is stored when there is memory.
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
                    // A growing table may succeed although it could not grow.
                    assert!(!memory.has_failed() || setup.kind.grows);
                }
                assert_holds(&*subject, &all, besides);
            })
        };
        of_batch(true) + of_batch(false)
    });
}

/// Replaces a value in the stash, where the new value needs one more cell than there is.
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

/// Operations that change pairs, most of them stashed, and operations that read them, with their answers as numbers.
#[test]
fn of_changing_pairs() {
    type Op<'a> = &'a dyn Fn(&dyn Subject) -> Result<Option<u32>, Error>;
    const KEY: u64 = 42;
    const STASHED: usize = 56;

    let case = |kind: Kind| {
        let full = kind.build(1, 100);
        // The smallest values are in the stash.
        let value = |stored: usize| 200 - stored as u32;
        while full.stashed().0 < STASHED {
            full.insert((KEY, value(full.len()))).expect("room");
        }
        let (bytes, stashed) = (full.bytes(), value(full.len() - 1));
        let others: Vec<Item> = hashes(113).map(|hash| (hash, 7)).take(30).collect();
        let done = |done: bool| Some(done.into());
        let ops: [(&str, Op<'_>); 15] = [
            ("insert", &|maplet| maplet.insert((KEY, 7)).map(|()| None)),
            ("insert of a copy", &|maplet| maplet.insert((KEY, stashed)).map(|()| None)),
            ("insert_all", &|maplet| maplet.insert_all(&others).map(|()| None)),
            ("insert_if_absent", &|maplet| maplet.insert_if_absent((KEY, 7)).map(done)),
            ("insert_if_absent of a new key", &|maplet| {
                maplet.insert_if_absent(others[0]).map(done)
            }),
            ("replace", &|maplet| maplet.try_replace((KEY, stashed), 250).map(done)),
            ("replace of no pair", &|maplet| maplet.try_replace((KEY, 251), 250).map(done)),
            ("update", &|maplet| maplet.try_update(KEY, &|value| Some(value ^ 255))),
            ("update of nothing", &|maplet| maplet.try_update(KEY, &|_| None)),
            ("update of no key", &|maplet| maplet.try_update(others[0].0, &|_| Some(7))),
            ("remove", &|maplet| Ok(done(maplet.remove((KEY, stashed))))),
            ("remove_value", &|maplet| Ok(Some(maplet.remove_value(stashed) as u32))),
            ("update_values", &|maplet| {
                let changed = |value: u32| (value != stashed).then_some(value ^ 1);
                maplet.try_update_values(&changed).map(|removed| Some(removed as u32))
            }),
            ("clear", &|maplet| {
                maplet.clear();
                Ok(None)
            }),
            ("contains", &|maplet| {
                Ok(Some(u32::from(maplet.contains(KEY)) + u32::from(maplet.contains(others[0].0))))
            }),
        ];
        let all = |maplet: &dyn Subject| {
            let mut pairs: Vec<(u64, u32)> = Vec::new();
            for key in others.iter().map(|other| other.0).chain([KEY]) {
                pairs.extend(maplet.values(key).into_iter().map(|value| (key, value)));
            }
            (pairs, maplet.len())
        };
        let of_op = |(name, op): (&str, Op<'_>)| {
            let whole = full.restored(&bytes).expect("memory for a test");
            let (expected, before) = (op(&*whole), all(&*full));
            assert!(expected.is_ok(), "{name}: {expected:?}");
            in_turn(name, |memory| {
                let maplet = full.restored(&bytes).expect("memory for a test");
                match memory.with(|| op(&*maplet)) {
                    Err(error) => {
                        assert!(memory.has_failed());
                        let stored = error.stored();
                        assert_eq!(cause(&error), &Error::NoMemoryToStore);
                        if stored == 0 {
                            assert!(all(&*maplet) == before, "{name} has changed something");
                            assert_eq!(op(&*maplet), expected, "memory again");
                        } else {
                            maplet.insert_many(&others[stored..]).expect("memory again");
                        }
                    }
                    answer => assert_eq!(answer, expected, "{name}"),
                }
                assert!(all(&*maplet) == all(&*whole), "{name}");
            })
        };
        ops.into_iter().map(of_op).sum::<usize>()
    };
    let kinds = Kind::each(default_layout(), 8).into_iter().filter(|kind| kind.value_bits > 0);
    in_a_child("of_changing_pairs", 20, || kinds.map(case).sum());
}

type Seen<L> = coucal::ExpiringFilter<L, StableHashBuilder>;
type Insert<L> = fn(&Seen<L>, &[Prehashed]) -> Result<usize, Error>;

/// An expiring filter with some stashed items, and what is done with a clone of it.
struct Expiring<L: Storage> {
    bytes: Vec<u8>,
    /// Items of one pair of buckets. The last of them are stashed. Every other item is of the present generation, the
    /// others of the one before.
    held: Vec<Prehashed>,
    /// Items that are not there; the first of them have the same pair of buckets.
    new: Vec<Prehashed>,
    restored: fn(&[u8]) -> Seen<L>,
}

impl<L: Storage> Expiring<L> {
    const STASHED: usize = 56;

    fn new(empty: &Seen<L>) -> Self {
        let bytes = empty.snapshot().expect("memory for a test").into_bytes();
        let (geometry, slots) = (format::read(&bytes).expect("a snapshot").geometry, empty.slots());
        let pair = |hash| geometry.buckets(hash, slots);
        let of_pair = pair(hashes(127).next().expect("a hash"));
        let mut classes = std::collections::BTreeSet::new();
        let mut crowd = hashes(127).filter(|&hash| pair(hash) == of_pair);
        let mut next = || {
            let hash = crowd.find(|&hash| classes.insert(geometry.class(hash))).expect("another");
            Prehashed(hash)
        };
        let mut held = Vec::new();
        while empty.stats().stashed_entries < Self::STASHED {
            held.push(next());
            assert!(held.len() < 100, "a table that has grown parts them");
            assert_eq!(empty.insert(&held[held.len() - 1]), Ok(true));
        }
        empty.advance();
        for item in held.iter().step_by(2) {
            assert_eq!(empty.insert(item), Ok(false));
        }
        let new = [next()].into_iter().chain(hashes(131).map(Prehashed)).take(300).collect();
        Self {
            bytes: empty.snapshot().expect("memory for a test").into_bytes(),
            held,
            new,
            restored: |bytes| Seen::from_bytes(bytes, HASHER).expect("memory for a test"),
        }
    }

    fn restored(&self) -> Seen<L> {
        (self.restored)(&self.bytes)
    }

    /// Returns all that the filter knows of the items.
    fn ages(&self, seen: &Seen<L>) -> (usize, Vec<Option<u32>>) {
        let items: Vec<_> = self.held.iter().chain(&self.new).copied().collect();
        (seen.len(), seen.age_each(&items))
    }

    /// Returns each way to insert items: its name, whether it restamps items that are there, and a function that
    /// returns how many were new.
    fn inserts() -> [(&'static str, bool, Insert<L>); 6] {
        [
            ("insert", true, |seen, items| {
                let insert = |new, item| Ok(new + usize::from(seen.insert(item)?));
                items.iter().try_fold(0, insert)
            }),
            ("insert_if_absent", false, |seen, items| {
                let insert = |new, item| Ok(new + usize::from(seen.insert_if_absent(item)?));
                items.iter().try_fold(0, insert)
            }),
            ("insert_many", true, |seen, items| {
                seen.insert_many(items, &mut [false; 300][..items.len()])
            }),
            ("insert_if_absent_many", false, |seen, items| {
                seen.insert_if_absent_many(items, &mut [false; 300][..items.len()])
            }),
            ("insert_all", true, |seen, items| seen.insert_all(items.iter().copied())),
            ("insert_if_absent_all", false, |seen, items| {
                seen.insert_if_absent_all(items.iter().copied())
            }),
        ]
    }

    /// Inserting items that have the present stamp takes no memory, and neither does a lookup or an advance. An insert
    /// that must store something fails without memory, and then stores nothing.
    fn requests(&self) -> usize {
        let seen = self.restored();
        let before = self.ages(&seen);
        let present: Vec<_> = self.held.iter().copied().step_by(2).collect();
        for (name, _, insert) in Self::inserts().into_iter().filter(|&(_, restamps, _)| restamps) {
            let (inserted, peak) = peak_of(|| insert(&seen, &present));
            assert_eq!((inserted, peak), (Ok(0), 0), "{name} of what is there");
            assert!(self.ages(&seen) == before, "{name}");
        }
        let tried = Self::inserts().into_iter().map(|(name, restamps, insert)| {
            let of_items = [&self.new[..1], &self.new, &self.held].map(|items| {
                let whole = self.restored();
                let expected = insert(&whole, items).expect("memory for a test");
                in_turn(name, |memory| {
                    let seen = self.restored();
                    match memory.with(|| insert(&seen, items)) {
                        Ok(new) => assert_eq!(new, expected, "{name}"),
                        Err(error) => {
                            assert!(memory.has_failed() && (restamps || expected > 0), "{name}");
                            assert_eq!(cause(&error), &Error::NoMemoryToStore);
                            let stored = seen.len() - before.0;
                            assert!([0, stored].contains(&error.stored()), "{name}: {error}");
                            let again = insert(&seen, items).expect("memory again");
                            assert_eq!(stored + again, expected, "{name}");
                        }
                    }
                    assert!(self.ages(&seen) == self.ages(&whole), "{name}");
                })
            });
            of_items.into_iter().sum::<usize>()
        });
        let is_same = |copy: Seen<L>| assert!(self.ages(&copy) == before);
        let tried = tried.sum::<usize>() + of_making("copy", 0, || seen.try_clone(), is_same);
        let mut ages = [None; 8];
        let ((), peak) = peak_of(|| {
            let items = &self.held[self.held.len() - 8..];
            seen.age_many(items, &mut ages).expect("eight of them");
            assert!(items.iter().all(|item| seen.contains(item)));
            assert!(seen.age(&self.new[0]).is_none() && !seen.contains(&self.new[0]));
            seen.advance();
            seen.advance();
            assert!(items.iter().all(|item| seen.age(item) >= Some(2)));
            seen.advance();
            seen.clear();
        });
        assert_eq!((peak, ages.iter().min(), seen.len()), (0, Some(&Some(0)), 0));
        tried
    }
}

/// Returns the error of the insert that ended a batch.
fn cause(error: &Error) -> &Error {
    if let Error::Stopped { cause, .. } = error { cause } else { error }
}

/// Expiring filters of fixed size, of a layout that is chosen at run time, and growing.
#[test]
fn of_expiring_filters() {
    fn builder() -> ExpiringBuilder<Fixed<Fp16x4>, StableHashBuilder> {
        ExpiringCuckooFilter::builder().hasher(HASHER).generations(4)
    }

    in_a_child("of_expiring_filters", 40, || {
        let fixed: Seen<Fixed<Fp16x4>> =
            builder().capacity(400).build().expect("memory for a test");
        let any = builder().capacity(400).layout_named("Fp21x3").expect("a layout");
        let any: Seen<Fixed<AnyLayout>> = any.build().expect("memory for a test");
        let growing = GrowableExpiringCuckooFilter::builder().hasher(HASHER).generations(4);
        let growing = growing.capacity(200).max_capacity(10_000).layout_named("Fp32x2");
        let growing: Seen<Growable<AnyLayout>> =
            growing.expect("a layout").build().expect("memory for a test");
        Expiring::new(&fixed).requests()
            + Expiring::new(&any).requests()
            + Expiring::new(&growing).requests()
    });
}

/// A lookup takes no memory for stashed values of other keys.
#[test]
fn stashed_values_of_other_keys_take_no_memory() {
    let maplet = default_layout().maplets(8).capacity(100).build().expect("memory for a test");
    let mut values = 0..;
    while maplet.stats().stashed_entries < 5 {
        maplet.insert(&Prehashed(42), values.next().expect("a value")).expect("room");
    }
    let ((), peak) = peak_of(|| {
        for key in hashes(137).take(1000).map(Prehashed) {
            assert!(maplet.contains_key(&key) || maplet.get(&key).len() == 0);
        }
    });
    assert_eq!(peak, 0);
}

/// Inserting a key of any length, looking it up, or removing it does not ask for memory that could be refused.
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
