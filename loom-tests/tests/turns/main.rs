//! What a user's model sees of a filter: each operation as one step, with the order of memory that its answer promises,
//! and no more.
//!
//! ```text
//! RUSTFLAGS="--cfg loom" cargo test -p loom-tests --test turns
//! ```
#![cfg(all(loom, not(coucal_model)))]

mod repeats;
mod waits;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use coucal::{
    AnyCuckooFilter, Candidates, CuckooFilter, CuckooFilterView, CuckooMaplet,
    ExpiringCuckooFilter, Fixed, Fp8x8, Fp16x4, Growable, GrowableCuckooFilter,
    GrowableCuckooMaplet, GrowableExpiringCuckooFilter, SemiSorted14x5, Snapshot,
    StableHashBuilder, Storage,
};
use loom::sync::atomic::AtomicBool;
use loom::sync::atomic::Ordering::{Relaxed, Release};
use loom::thread;

type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;
type Maplet = CuckooMaplet;
type Expiring = ExpiringCuckooFilter;

/// Returns the outcomes of all executions of a model.
fn outcomes<T: Ord + Send + 'static>(model: impl Fn() -> T + Send + Sync + 'static) -> BTreeSet<T> {
    let outcomes = Arc::new(Mutex::new(BTreeSet::new()));
    let seen = Arc::clone(&outcomes);
    loom::model(move || {
        let outcome = model();
        seen.lock().unwrap().insert(outcome);
    });
    Arc::into_inner(outcomes).unwrap().into_inner().unwrap()
}

/// Runs two threads at once, and returns their results.
fn together<S: Send + Sync + 'static, A: 'static, B: 'static>(
    shared: &Arc<S>,
    first: impl FnOnce(&S) -> A + 'static,
    second: impl FnOnce(&S) -> B + 'static,
) -> (A, B) {
    let [for_first, for_second] = [Arc::clone(shared), Arc::clone(shared)];
    let first = thread::spawn(move || first(&for_first));
    let second = thread::spawn(move || second(&for_second));
    (first.join().unwrap(), second.join().unwrap())
}

fn filter_of(items: &[u32]) -> Filter {
    let filter = Filter::with_capacity_and_hasher(100, StableHashBuilder::default());
    filter.insert_many(items).unwrap();
    filter
}

fn maplet_of(pairs: &[(u32, u32)]) -> Maplet {
    let maplet = CuckooMaplet::builder().capacity(100).value_bits(4).build().unwrap();
    maplet.insert_many(pairs).unwrap();
    maplet
}

/// Makes an expiring filter, which has these items from the generation before the present one.
fn expiring_of(items: &[u32]) -> Expiring {
    let seen = Expiring::with_capacity(100, 3);
    seen.insert_all(items).unwrap();
    seen.advance();
    seen
}

mod steps {
    use super::*;

    /// Each of two threads inserts an item, and then looks up the item of the other. Either thread may miss it, or
    /// none; never both.
    fn announce_and_check<L: Storage + 'static>(new: fn() -> coucal::Filter<L, StableHashBuilder>) {
        let outcomes = outcomes(move || {
            let announce_and_check = |mine: u32, other: u32| {
                move |filter: &coucal::Filter<L, _>| {
                    filter.insert(&mine).unwrap();
                    filter.contains(&other)
                }
            };
            together(&Arc::new(new()), announce_and_check(1, 2), announce_and_check(2, 1))
        });
        assert_eq!(outcomes, [(false, true), (true, false), (true, true)].into());
    }

    #[test]
    fn operations_are_linearizable() {
        announce_and_check(|| filter_of(&[]));
        announce_and_check::<Fixed<Fp8x8>>(|| builder().layout().build().unwrap());
        announce_and_check::<Fixed<SemiSorted14x5>>(|| builder().layout().build().unwrap());
        announce_and_check(|| builder().false_positive_rate(0.01).any_layout().build().unwrap());
        announce_and_check(|| GrowableCuckooFilter::<Fp16x4, _>::with_hasher(stable()));
        announce_and_check(|| growing().any_layout().build().unwrap());
        // A restored filter and a clone have steps of their own.
        announce_and_check(|| Filter::restore(snapshot().as_bytes(), stable()).unwrap());
        announce_and_check(|| Filter::from_snapshot(&snapshot(), stable()).unwrap());
        announce_and_check(|| {
            AnyCuckooFilter::from_bytes(snapshot().as_bytes(), stable()).unwrap()
        });
    }

    #[test]
    fn operations_of_an_expiring_filter_are_linearizable() {
        let finds: [fn(&Expiring, u32) -> bool; 2] =
            [|seen, item| seen.contains(&item), |seen, item| seen.age(&item) == Some(0)];
        // The first item is absent, or it has another age.
        for (find, present) in [(finds[0], &[][..]), (finds[1], &[][..]), (finds[1], &[1])] {
            let outcomes = outcomes(move || {
                let announce_and_check = |mine: u32, other: u32| {
                    move |seen: &Expiring| {
                        seen.insert(&mine).unwrap();
                        find(seen, other)
                    }
                };
                let seen = Arc::new(expiring_of(present));
                together(&seen, announce_and_check(1, 2), announce_and_check(2, 1))
            });
            assert_eq!(outcomes, [(false, true), (true, false), (true, true)].into());
        }
    }

    /// An insert of an item that is there with another age is a step, between the others that see the age.
    #[test]
    fn an_insert_gives_an_item_the_present_age() {
        let ages = outcomes(|| {
            let insert = |seen: &Expiring| assert!(!seen.insert(&1).unwrap());
            let look = |seen: &Expiring| {
                assert_eq!(seen.advance(), 0);
                seen.age(&1)
            };
            together(&Arc::new(expiring_of(&[1])), insert, look).1
        });
        assert_eq!(ages, [Some(0), Some(1), Some(2)].into());
    }

    fn stable() -> StableHashBuilder {
        StableHashBuilder::default()
    }

    fn snapshot() -> Snapshot {
        filter_of(&[3]).snapshot().unwrap()
    }

    fn builder() -> coucal::Builder<Fixed<Fp16x4>, StableHashBuilder> {
        CuckooFilter::builder().capacity(100).hasher(stable())
    }

    fn growing() -> coucal::Builder<Growable<Fp16x4>, StableHashBuilder> {
        GrowableCuckooFilter::builder().capacity(100).hasher(stable())
    }

    #[test]
    fn a_batch_is_one_operation_for_each_item() {
        let both_ways = outcomes(|| {
            let insert = |filter: &Filter| filter.insert_many(&[1, 2]).unwrap();
            let look = |filter: &Filter| filter.contains_each(&[2, 1]);
            together(&Arc::new(filter_of(&[])), insert, look).1
        });
        // 2 is there only if 1 is, which is inserted before and looked up later.
        assert_eq!(both_ways, [vec![false, false], vec![false, true], vec![true, true]].into());

        let all = BTreeSet::from([(false, false), (false, true), (true, false), (true, true)]);
        let found = |filter: &Filter| (filter.contains(&1), filter.contains(&2));
        let unique = outcomes(move || {
            let insert = |filter: &Filter| {
                assert_eq!(filter.insert_if_absent_many(&[1, 2], &mut [false; 2]).unwrap(), 2);
            };
            together(&Arc::new(filter_of(&[])), insert, found).1
        });
        assert_eq!(unique, all);
        let removed = outcomes(move || {
            let remove = |filter: &Filter| {
                assert_eq!(filter.remove_many(&[1, 2], &mut [false; 2]), Ok(2));
            };
            together(&Arc::new(filter_of(&[1, 2])), remove, found).1
        });
        assert_eq!(removed, all);
    }

    #[test]
    fn a_batch_of_a_maplet_is_one_operation_for_each_pair() {
        let replaced = outcomes(|| {
            let replace = |maplet: &Maplet| {
                let pairs = [(1, 3, 4), (2, 3, 4)];
                assert_eq!(maplet.replace_many(&pairs, &mut [false; 2]).unwrap(), 2);
            };
            let get = |maplet: &Maplet| {
                let mut found = [const { Candidates::new() }; 2];
                maplet.get_many(&[1, 2], &mut found).unwrap();
                found.map(|mut values| values.next().unwrap())
            };
            together(&Arc::new(maplet_of(&[(1, 3), (2, 3)])), replace, get).1
        });
        assert_eq!(replaced, [[3, 3], [3, 4], [4, 3], [4, 4]].into());
    }

    /// Whether a thread that looked for 1, for 2 and for 1 again has seen that they came, or were removed, one by one.
    fn one_by_one(found: [bool; 3]) -> bool {
        found[0] != found[1] && found[1] != found[2]
    }

    /// Lookups meanwhile find some items and miss others; an insert meanwhile waits.
    #[test]
    fn a_clear_is_atomic_for_each_item() {
        let outcomes = outcomes(|| {
            let filter = Arc::new(filter_of(&[1, 2]));
            let look = |filter: &Filter| {
                let found = [1, 2, 1].map(|item| filter.contains(&item));
                filter.insert(&3).unwrap();
                (found, filter.contains(&1) || filter.contains(&2))
            };
            let ((), (found, is_later)) = together(&filter, CuckooFilter::clear, look);
            (found, is_later, filter.contains(&3))
        });
        assert!(outcomes.iter().any(|(found, ..)| one_by_one(*found)), "{outcomes:?}");
        let of_the_insert: BTreeSet<_> =
            outcomes.iter().map(|(_, is_later, is_kept)| (*is_later, *is_kept)).collect();
        // If the insert comes before the clear, its item is cleared like those that are still there.
        assert_eq!(of_the_insert, [(false, false), (false, true), (true, false)].into());
    }

    /// Lookups and inserts go on between the pairs that are removed. Another `remove_value`, a `clear` and a snapshot
    /// wait.
    #[test]
    fn a_value_is_removed_pair_by_pair() {
        let outcomes = outcomes(|| {
            let maplet = Arc::new(maplet_of(&[(1, 3), (2, 3)]));
            let look = |maplet: &Maplet| {
                let found = [1, 2, 1].map(|key| maplet.contains_key(&key));
                maplet.insert(&1, 4).unwrap();
                found
            };
            let (removed, found) = together(&maplet, |maplet| maplet.remove_value(3), look);
            assert_eq!((removed, maplet.len()), (2, 1));
            found
        });
        assert!(outcomes.iter().any(|found| one_by_one(*found)), "{outcomes:?}");
        let others: [fn(&Maplet); 3] = [
            |maplet| assert_eq!(maplet.remove_value(4), 1),
            |maplet| assert!(maplet.snapshot().unwrap().len() < 3),
            CuckooMaplet::clear,
        ];
        for other in others {
            self::outcomes(move || {
                let remove = |maplet: &Maplet| maplet.remove_value(3);
                together(&Arc::new(maplet_of(&[(1, 3), (2, 4)])), remove, other);
            });
        }
    }

    /// Of two updates, one may be overtaken by the other: then it calls its function again.
    #[test]
    fn an_update_may_be_overtaken() {
        let calls = outcomes(|| {
            let maplet = Arc::new(maplet_of(&[(1, 3)]));
            let update = |maplet: &Maplet| {
                let mut calls = 0;
                let new = |count| {
                    calls += 1;
                    Some(count + 1)
                };
                maplet.update(&1, new).unwrap();
                calls
            };
            let (first, second) = together(&maplet, update, update);
            assert_eq!(maplet.get(&1).collect::<Vec<_>>(), [5]);
            (first, second)
        });
        assert_eq!(calls, [(1, 1), (1, 2), (2, 1)].into());
    }

    /// Each thread adds 1 twice, also if the other one changes the count meanwhile.
    #[test]
    fn counters_are_exact() {
        let counts = outcomes(|| {
            let count = |maplet: &Maplet| {
                for _ in 0..2 {
                    if !maplet.insert_if_absent(&1, 1).unwrap() {
                        maplet.update(&1, |count| Some(count + 1)).unwrap();
                    }
                }
            };
            let maplet = Arc::new(maplet_of(&[]));
            together(&maplet, count, count);
            maplet.get(&1).collect::<Vec<_>>()
        });
        assert_eq!(counts, [vec![4]].into());
    }

    /// A snapshot is one instant: an item that was inserted later is in it only with those that were inserted before.
    #[test]
    fn a_snapshot_is_one_step() {
        let outcomes = outcomes(|| {
            let insert = |filter: &Filter| filter.insert_many(&[1, 2]).unwrap();
            let copy = |filter: &Filter| {
                let copy = Filter::from_snapshot(&filter.snapshot().unwrap(), stable()).unwrap();
                [1, 2].map(|item| copy.contains(&item))
            };
            together(&Arc::new(filter_of(&[])), insert, copy).1
        });
        assert_eq!(outcomes, [[false, false], [true, false], [true, true]].into());
    }

    #[test]
    fn a_merge_is_a_snapshot_and_one_insert_after_the_other() {
        let outcomes = outcomes(|| {
            let filters = Arc::new([filter_of(&[]), filter_of(&[1, 2])]);
            let merge = |[to, from]: &[Filter; 2]| to.merge(from).unwrap();
            let look = |[to, from]: &[Filter; 2]| {
                let found = [1, 2, 1].map(|item| to.contains(&item));
                from.insert(&3).unwrap();
                (found, to.contains(&3))
            };
            let ((), (found, is_there)) = together(&filters, merge, look);
            (found, is_there, filters[0].contains(&3))
        });
        assert!(outcomes.iter().any(|(found, ..)| one_by_one(*found)), "{outcomes:?}");
        // An item that is inserted into the other filter is merged, or comes too late.
        let of_the_insert: BTreeSet<_> =
            outcomes.iter().map(|(_, is_there, is_merged)| (*is_there, *is_merged)).collect();
        assert_eq!(of_the_insert, [(false, false), (false, true), (true, true)].into());
    }

    #[test]
    fn an_intersection_is_one_step() {
        let outcomes = outcomes(|| {
            let filters = Arc::new([filter_of(&[1, 2]), filter_of(&[])]);
            let intersect = |[of, with]: &[Filter; 2]| assert_eq!(of.intersect(with), Ok(2));
            let look = |[of, _]: &[Filter; 2]| [1, 2, 1].map(|item| of.contains(&item));
            together(&filters, intersect, look).1
        });
        let expected = [[true; 3], [true, true, false], [true, false, false], [false; 3]];
        assert_eq!(outcomes, expected.into());
    }

    #[test]
    fn an_intersection_sees_what_is_inserted_into_the_other_filter() {
        let outcomes = outcomes(|| {
            let filters = Arc::new([filter_of(&[1]), filter_of(&[])]);
            let insert = |[_, with]: &[Filter; 2]| with.insert(&1).unwrap();
            let intersect = |[of, with]: &[Filter; 2]| of.intersect(with).unwrap();
            together(&filters, insert, intersect).1
        });
        assert_eq!(outcomes, [0, 1].into());
    }

    #[test]
    fn an_unmerge_is_one_removal_after_the_other() {
        let outcomes = outcomes(|| {
            let filters = Arc::new([filter_of(&[1, 2]), filter_of(&[1, 2])]);
            let unmerge = |[from, out]: &[Filter; 2]| assert_eq!(from.unmerge(out), Ok(0));
            let look = |[from, _]: &[Filter; 2]| [1, 2, 1].map(|item| from.contains(&item));
            together(&filters, unmerge, look).1
        });
        assert!(outcomes.iter().any(|found| one_by_one(*found)), "{outcomes:?}");
    }

    /// Another operation may come between two overlaps.
    #[test]
    fn an_overlap_is_one_step() {
        let outcomes = outcomes(|| {
            let filters = Arc::new([filter_of(&[1, 2]), filter_of(&[])]);
            let insert = |[_, with]: &[Filter; 2]| with.insert(&1).unwrap();
            let count = |[of, with]: &[Filter; 2]| {
                [0; 2].map(|_| of.overlap(with).unwrap().items.round() as u32)
            };
            together(&filters, insert, count).1
        });
        assert_eq!(outcomes, [[0, 0], [0, 1], [1, 1]].into());
    }

    /// "Pairs are independent of each other: no order is promised." So a lookup may see a value that was inserted after
    /// one that it misses. But it sees one of the two values of a replacement.
    #[test]
    fn the_values_of_a_key_are_not_read_at_one_instant() {
        fn values(change: fn(&Maplet)) -> BTreeSet<Vec<u32>> {
            outcomes(move || {
                let get = |maplet: &Maplet| {
                    let mut values: Vec<_> = maplet.get(&1).collect();
                    values.sort_unstable();
                    values
                };
                together(&Arc::new(maplet_of(&[(1, 3)])), change, get).1
            })
        }
        let inserted = values(|maplet| maplet.insert_all([(1, 4), (1, 5)]).unwrap());
        assert_eq!(inserted, [vec![3], vec![3, 4], vec![3, 5], vec![3, 4, 5]].into());
        let replaced = values(|maplet| assert!(maplet.replace(&1, 3, 4).unwrap()));
        assert_eq!(replaced, [vec![3], vec![4]].into());
    }

    #[test]
    fn a_table_grows_within_a_step() {
        let outcomes = outcomes(|| {
            let filter = GrowableCuckooFilter::<Fp16x4, _>::with_hasher(stable());
            let reserve = |filter: &GrowableCuckooFilter<_, _>| filter.reserve(10_000).unwrap();
            let insert = |filter: &GrowableCuckooFilter<_, _>| {
                let before = filter.slots();
                filter.insert(&1).unwrap();
                (before < filter.slots(), filter.contains(&1), filter.len())
            };
            together(&Arc::new(filter), reserve, insert).1
        });
        assert_eq!(outcomes, [(false, true, 1), (true, true, 1)].into());
        announce_and_check(|| growing().max_capacity(10_000).build().unwrap());
    }

    pub fn executions(model: impl Fn() + Send + Sync + 'static) -> usize {
        let executions = Arc::new(Mutex::new(0));
        let counter = Arc::clone(&executions);
        loom::model(move || {
            *counter.lock().unwrap() += 1;
            model();
        });
        *executions.lock().unwrap()
    }

    #[test]
    fn many_entries_have_no_more_executions() {
        let operations: [fn(&Maplet); 2] =
            [|maplet| assert!(maplet.remove_value(3) > 0), CuckooMaplet::clear];
        let with = |pairs: u32, operation: fn(&Maplet)| {
            executions(move || {
                let pairs: Vec<_> = (0..pairs).map(|key| (key, 3)).collect();
                together(&Arc::new(maplet_of(&pairs)), operation, CuckooMaplet::len);
            })
        };
        for operation in operations {
            assert_eq!(with(3, operation), with(60, operation));
        }
        let merging = |pairs: u32| {
            executions(move || {
                let pairs: Vec<_> = (0..pairs).map(|key| (key, 3)).collect();
                let maplets = Arc::new([maplet_of(&[]), maplet_of(&pairs)]);
                let merge = |[to, from]: &[Maplet; 2]| to.merge(from).unwrap();
                together(&maplets, merge, |[to, _]| to.len());
            })
        };
        assert_eq!(merging(3), merging(60));
    }

    /// The number of executions does not depend on the size, nor on a hasher with a random seed.
    #[test]
    fn a_large_filter_has_no_more_executions() {
        let executions = |capacity| {
            executions(move || {
                let filter = Arc::new(CuckooFilter::with_capacity(capacity));
                let insert_and_remove = |item: u32| {
                    move |filter: &CuckooFilter| {
                        filter.insert(&item).unwrap();
                        filter.contains(&1) && filter.remove(&item)
                    }
                };
                together(&filter, insert_and_remove(1), insert_and_remove(2));
            })
        };
        let small = executions(10);
        assert!((20..200).contains(&small), "{small}");
        assert_eq!(small, executions(1_000_000));
        assert_eq!(outcomes(|| CuckooFilter::with_capacity(1).hash_of("egg")).len(), 1);
    }

    /// loom gives each thread a stack of 32 KiB.
    #[test]
    fn every_operation_fits_on_the_stack() {
        let model = || {
            let filter = GrowableCuckooFilter::<Fp16x4, _>::with_hasher(stable());
            filter.insert_all(0..1500_u32).unwrap();
            let snapshot = filter.snapshot().unwrap();
            let read = GrowableCuckooFilter::restore(snapshot.as_bytes(), stable()).unwrap();
            read.merge(&filter).unwrap();
            assert_eq!(read.count(&7), 2);
            filter.reserve(100).unwrap();
            assert!(filter.overlap(&read).unwrap().items > 0.0);
            filter.intersect(&read).unwrap();
            read.unmerge(&filter).unwrap();
            assert!(read.remove(&7) && read.try_clone().unwrap().insert_if_absent(&7).unwrap());
            let view = CuckooFilterView::from_bytes(snapshot.as_bytes(), stable()).unwrap();
            assert!(view.contains(&7));
            println!("{read:?}");
            let full = filter_of(&[7; 50]);
            let end = (0..200_u32).find(|item| full.insert(item).is_err());
            assert!(end.is_some() && full.stats().stashed_copies > 0);
            let maplet: GrowableCuckooMaplet =
                GrowableCuckooMaplet::builder().value_bits(4).build().unwrap();
            maplet.insert_all((0..1500_u32).map(|at| (at % 700, at % 16))).unwrap();
            assert!(maplet.get(&7).len() > 0 && maplet.contains_key(&7));
            assert!(maplet.replace(&7, 7, 8).unwrap() && maplet.remove(&7, 8));
            maplet.insert_pair_if_absent(&7, 9).unwrap();
            maplet.update(&8, |value| Some(value ^ 1)).unwrap();
            maplet.update_or_insert(&9, 3, |value| Some(value ^ 1)).unwrap();
            assert!(maplet.remove_value(5) > 0);
            maplet.update_values(|value| Some(value / 2)).unwrap();
            let seen = GrowableExpiringCuckooFilter::builder().generations(3).build().unwrap();
            seen.insert_all(0..500_u32).unwrap();
            assert_eq!((seen.age(&7), seen.advance()), (Some(0), 0));
            assert!(seen.advance() + seen.advance() >= 500);
        };
        let mut builder = loom::model::Builder::new();
        builder.max_branches = 100_000;
        builder.check(move || thread::spawn(model).join().unwrap());
    }
}

/// A clock may read an atomic of the model: then another thread has a turn while a thread ends a generation.
mod clock {
    use std::time::Duration;

    use loom::sync::atomic::AtomicU64;
    use loom::sync::atomic::Ordering::SeqCst;

    use super::steps::executions;
    use super::*;

    loom::lazy_static! { static ref SECONDS: AtomicU64 = AtomicU64::new(0); }

    fn now() -> Duration {
        Duration::from_secs(SECONDS.load(SeqCst))
    }

    #[test]
    fn that_is_a_step_of_the_model() {
        for due in [11, 21] {
            let executions = executions(move || {
                SECONDS.store(0, SeqCst);
                let builder = ExpiringCuckooFilter::builder().capacity(8).generations(4);
                let seen = builder.every(Duration::from_secs(10)).clock(now).build().unwrap();
                let seen = Arc::new(seen);
                let insert = |item: u64| {
                    let seen = Arc::clone(&seen);
                    thread::spawn(move || seen.insert(&item).unwrap())
                };
                let threads = [insert(1), insert(2)];
                SECONDS.store(due, SeqCst);
                SECONDS.store(due + 1, SeqCst);
                assert!(threads.into_iter().all(|thread| thread.join().unwrap()));
            });
            assert!(executions > 20, "{executions}");
        }
    }
}

mod order {
    use super::*;

    /// A filter or a maplet, beside some memory of the user.
    struct Shared<T> {
        table: T,
        row: AtomicBool,
        flag: AtomicBool,
    }

    impl<T> Shared<T> {
        fn new(table: T) -> Arc<Self> {
            let [row, flag] = [(); 2].map(|()| AtomicBool::new(false));
            Arc::new(Self { table, row, flag })
        }
    }

    /// One thread stores a row and then does something; another thread does something else. Returns the answer of the
    /// second one, and whether the row is seen then.
    fn seen<T: Send + Sync + 'static>(
        new: fn() -> T,
        first: impl Fn(&Shared<T>) + Copy + Send + Sync + 'static,
        second: impl Fn(&Shared<T>) -> bool + Copy + Send + Sync + 'static,
    ) -> BTreeSet<(bool, bool)> {
        outcomes(move || {
            let first = move |shared: &Shared<T>| {
                shared.row.store(true, Relaxed);
                first(shared);
            };
            let second = move |shared: &Shared<T>| (second(shared), shared.row.load(Relaxed));
            together(&Shared::new(new()), first, second).1
        })
    }

    /// When the second of two threads uses the table.
    #[derive(Clone, Copy, PartialEq)]
    enum When {
        Ever,
        /// After it knows from a flag that the first one has finished. The flag orders nothing.
        After,
    }
    use When::*;

    /// The outcomes that are possible, in order.
    type Outcomes = &'static [(bool, bool)];

    const ORDERED: Outcomes = &[(false, false), (false, true), (true, true)];
    const UNORDERED: Outcomes = &[(false, false), (false, true), (true, false), (true, true)];

    /// Runs each operation of one thread with each operation of another thread. The first part of an outcome is whether
    /// the second thread has found something; for `After`, whether it comes after the first thread, and then it must
    /// find something. The second part is whether it sees the row.
    #[track_caller]
    fn hand_over<T: Send + Sync + 'static>(
        new: fn() -> T,
        firsts: &[fn(&T)],
        when: When,
        seconds: &[fn(&T) -> bool],
        expected: Outcomes,
    ) {
        for (number, &first) in firsts.iter().enumerate() {
            for (second_number, &second) in seconds.iter().enumerate() {
                let first = move |shared: &Shared<T>| {
                    first(&shared.table);
                    if when == After {
                        shared.flag.store(true, Relaxed);
                    }
                };
                let second = move |shared: &Shared<T>| {
                    if when == After {
                        return shared.flag.load(Relaxed) && {
                            assert!(second(&shared.table));
                            true
                        };
                    }
                    second(&shared.table)
                };
                let outcomes = seen(new, first, second);
                let is_it = outcomes.iter().eq(expected);
                assert!(is_it, "{outcomes:?} of first {number}, second {second_number}");
            }
        }
    }

    #[test]
    fn a_thread_that_finds_an_item_sees_what_was_done_before_its_insert() {
        let inserts: [fn(&Filter); 5] = [
            |filter| filter.insert(&1).unwrap(),
            |filter| filter.insert_all([1]).unwrap(),
            |filter| assert!(filter.insert_if_absent(&1).unwrap()),
            |filter| assert_eq!(filter.insert_if_absent_all([1]).unwrap(), 1),
            |filter| filter.merge(&filter_of(&[1])).unwrap(),
        ];
        let finds: [fn(&Filter) -> bool; 9] = [
            |filter| filter.contains(&1),
            |filter| filter.contains_each(&[1]) == [true],
            |filter| filter.count(&1) > 0,
            |filter| filter.remove(&1),
            |filter| filter.remove_many(&[1], &mut [false]).unwrap() > 0,
            |filter| !filter.insert_if_absent(&1).unwrap(),
            |filter| filter.insert_if_absent_all([1]).unwrap() == 0,
            |filter| !filter.snapshot().unwrap().is_empty(),
            |filter| {
                let copy = filter_of(&[]);
                copy.merge(filter).unwrap();
                copy.contains(&1)
            },
        ];
        hand_over(|| filter_of(&[]), &inserts, Ever, &finds[..1], ORDERED);
        hand_over(|| filter_of(&[]), &inserts[..1], Ever, &finds, ORDERED);
    }

    #[test]
    fn a_thread_that_finds_a_pair_sees_what_was_done_before_its_insert() {
        let stores: [fn(&Maplet); 7] = [
            |maplet| maplet.insert(&1, 4).unwrap(),
            |maplet| maplet.insert_all([(1, 4)]).unwrap(),
            |maplet| assert!(maplet.replace(&1, 3, 4).unwrap()),
            |maplet| assert_eq!(maplet.replace_many(&[(1, 3, 4)], &mut [false]).unwrap(), 1),
            |maplet| assert!(maplet.insert_pair_if_absent(&1, 4).unwrap()),
            |maplet| assert_eq!(maplet.update(&1, |_| Some(4)).unwrap(), Some(3)),
            |maplet| assert_eq!(maplet.update_or_insert(&1, 0, |_| Some(4)).unwrap(), Some(3)),
        ];
        let found: fn(&Maplet) -> bool = |maplet| maplet.get(&1).any(|value| value == 4);
        hand_over(|| maplet_of(&[(1, 3)]), &stores, Ever, &[found], ORDERED);
        let finds: [fn(&Maplet) -> bool; 10] = [
            |maplet| maplet.contains_key(&1),
            |maplet| maplet.get_each(&[1])[0].len() > 0,
            |maplet| maplet.remove(&1, 4),
            |maplet| maplet.replace(&1, 4, 5).unwrap(),
            |maplet| maplet.replace_many(&[(1, 4, 5)], &mut [false]).unwrap() > 0,
            |maplet| maplet.contains(&1, 4),
            |maplet| maplet.count(&1, 4) > 0,
            |maplet| !maplet.insert_pair_if_absent(&1, 4).unwrap(),
            |maplet| maplet.update(&1, |_| None).unwrap().is_some(),
            |maplet| maplet.update_or_insert(&1, 5, |_| None).unwrap().is_some(),
        ];
        hand_over(|| maplet_of(&[]), &stores[..1], Ever, &finds, ORDERED);
        // Of several values, an update gets the least one.
        let updates: fn(&Maplet) -> bool = |maplet| maplet.update(&1, |_| None).unwrap() == Some(4);
        hand_over(|| maplet_of(&[(1, 5)]), &stores[..1], Ever, &[updates], ORDERED);
    }

    #[test]
    fn a_thread_that_finds_an_item_of_a_generation_sees_what_was_done_before_its_insert() {
        let inserts: [fn(&Expiring); 4] = [
            |seen| _ = seen.insert(&1).unwrap(),
            |seen| _ = seen.insert_if_absent(&1).unwrap(),
            |seen| _ = seen.insert_all([1]).unwrap(),
            |seen| _ = seen.insert_if_absent_all([1]).unwrap(),
        ];
        let finds: [fn(&Expiring) -> bool; 6] = [
            |seen| seen.contains(&1),
            |seen| seen.age(&1) == Some(0),
            |seen| seen.age_each(&[1]) == [Some(0)],
            |seen| !seen.insert(&1).unwrap(),
            |seen| !seen.insert_if_absent(&1).unwrap(),
            |seen| seen.insert_all([1]).unwrap() == 0,
        ];
        hand_over(|| expiring_of(&[]), &inserts, Ever, &finds, ORDERED);
    }

    /// Through a third thread: a thread that replaces a value has found it.
    #[test]
    fn a_replacement_hands_on_what_it_found() {
        let outcomes = outcomes(|| {
            let shared = Shared::new(maplet_of(&[]));
            let replacing = Arc::clone(&shared);
            let third = thread::spawn(move || replacing.table.replace(&1, 3, 4).unwrap());
            let first = |shared: &Shared<Maplet>| {
                shared.row.store(true, Relaxed);
                shared.table.insert(&1, 3).unwrap();
            };
            let second = |shared: &Shared<Maplet>| {
                let found = shared.table.get(&1).any(|value| value == 4);
                (found, shared.row.load(Relaxed))
            };
            let ((), seen) = together(&shared, first, second);
            third.join().unwrap();
            seen
        });
        assert!(outcomes.iter().eq(ORDERED), "{outcomes:?}");
    }

    /// These are mistakes of a user, and a model must show them.
    #[test]
    fn a_row_that_is_stored_after_its_insert_may_be_missed() {
        let outcomes = outcomes(|| {
            let first = |shared: &Shared<Filter>| {
                shared.table.insert(&1).unwrap();
                shared.row.store(true, Relaxed);
            };
            let second =
                |shared: &Shared<Filter>| (shared.table.contains(&1), shared.row.load(Relaxed));
            together(&Shared::new(filter_of(&[])), first, second).1
        });
        assert!(outcomes.iter().eq(UNORDERED), "{outcomes:?}");
    }

    #[test]
    fn the_answer_that_something_is_absent_orders_nothing() {
        let removals: [fn(&Filter); 2] = [|filter| assert!(filter.remove(&1)), Filter::clear];
        // Nor does another item that is found then.
        let other: fn(&Filter) -> bool = |filter| !filter.contains(&1) && filter.contains(&2);
        hand_over(|| filter_of(&[1]), &removals, Ever, &[|filter| !filter.contains(&1)], UNORDERED);
        hand_over(|| filter_of(&[1, 2]), &removals[..1], Ever, &[other], UNORDERED);
    }

    #[test]
    fn an_operation_that_stores_nothing_orders_nothing_after_it() {
        fn full() -> Filter {
            let filter = Filter::with_capacity_and_hasher(1, StableHashBuilder::default());
            (0..100_u32).find(|item| filter.insert(item).is_err()).expect("it is full at last");
            filter
        }
        let firsts: [fn(&Filter); 10] = [
            |filter| assert!(filter.contains(&1)),
            |filter| assert!(filter.count(&1) > 0),
            |filter| assert!(!filter.insert_if_absent(&1).unwrap()),
            |filter| assert!(filter.insert(&1000).is_err()),
            |filter| assert!(filter.insert_many(&[1000]).is_err()),
            |filter| assert!(filter.remove(&2)),
            |filter| assert!(!filter.remove(&1000)),
            |filter| assert!(filter.len() > 1),
            |filter| assert!(!filter.snapshot().unwrap().is_empty()),
            |filter| assert!(filter.merge(filter).is_err()),
        ];
        hand_over(full, &firsts, After, &[|filter| filter.contains(&1)], UNORDERED);
        let reserve: fn(&GrowableCuckooFilter) = |filter| filter.reserve(1).unwrap();
        let inserts: fn(&GrowableCuckooFilter) -> bool = |filter| filter.insert(&1).is_ok();
        hand_over(GrowableCuckooFilter::new, &[reserve], After, &[inserts], UNORDERED);
    }

    #[test]
    fn a_lookup_that_finds_nothing_is_ordered_after_nothing() {
        let seconds: [fn(&Filter) -> bool; 7] = [
            |filter| !filter.contains(&2),
            |filter| filter.count(&2) == 0,
            |filter| !filter.remove(&2),
            |filter| filter.insert(&2).is_ok(),
            |filter| filter.insert_if_absent(&2).unwrap(),
            |filter| filter.len() == 1,
            |filter| {
                filter.clear();
                true
            },
        ];
        let insert: fn(&Filter) = |filter| filter.insert(&1).unwrap();
        hand_over(|| filter_of(&[]), &[insert], After, &seconds, UNORDERED);
        // A lookup that finds it shows that the others could have failed.
        hand_over(|| filter_of(&[]), &[insert], After, &[|filter| filter.contains(&1)], ORDERED);
    }

    /// A fence would do so, and a lookup does not.
    #[test]
    fn a_lookup_strengthens_no_load_before_it() {
        let second = |shared: &Shared<Filter>| {
            let is_through = shared.flag.load(Relaxed);
            assert!(shared.table.contains(&1));
            is_through
        };
        let outcomes = seen(|| filter_of(&[1]), |shared| shared.flag.store(true, Release), second);
        assert!(outcomes.iter().eq(UNORDERED), "{outcomes:?}");
    }
}

mod outside {
    use super::*;

    fn message(use_of_a_filter: impl FnOnce() + Send + 'static) -> &'static str {
        let panic = std::thread::spawn(use_of_a_filter).join().expect_err("outside of a model");
        panic.downcast_ref::<&str>().expect("a message")
    }

    #[test]
    fn a_filter_outside_of_a_model_says_what_to_do() {
        assert!(message(|| drop(CuckooFilter::with_capacity(1))).contains("inside `loom::model`"));
        let left = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&left);
        loom::model(move || *kept.lock().unwrap() = Some(filter_of(&[1])));
        let filter = left.lock().unwrap().take().expect("the filter of the model");
        assert!(message(move || assert!(filter.contains(&1))).contains("inside `loom::model`"));
    }

    /// Uses a filter when it is dropped: while a panic unwinds, and also when loom has gone.
    struct UsesAFilter(Arc<Filter>);

    impl Drop for UsesAFilter {
        fn drop(&mut self) {
            assert!(self.0.contains(&1) && self.0.remove(&1));
            self.0.insert(&1).unwrap();
            assert!(self.0.try_clone().unwrap().contains(&1));
        }
    }

    #[test]
    fn a_panic_ends_a_model_with_its_own_message() {
        let uses = || UsesAFilter(Arc::new(filter_of(&[1])));
        let models: [fn(UsesAFilter); 2] = [
            // In a thread that never starts.
            |user| {
                thread::spawn(move || drop(user));
                panic!("the first");
            },
            |_user| panic!("the first"),
        ];
        for model in models {
            let panicked = message(move || loom::model(move || model(uses())));
            assert_eq!(panicked, "the first");
        }
    }

    /// Uses a filter when it is dropped, whatever is in it.
    struct InsertsIntoAFilter(Filter);

    impl Drop for InsertsIntoAFilter {
        fn drop(&mut self) {
            self.0.insert(&1).unwrap();
            assert!(self.0.remove(&1));
        }
    }

    #[test]
    fn a_filter_is_usable_after_a_panic_out_of_a_clear() {
        // loom panics at the last branch, which is in another place for each number.
        for max_branches in 10..40 {
            let clears = move || {
                let mut builder = loom::model::Builder::new();
                builder.max_branches = max_branches;
                builder.check(|| {
                    let user = InsertsIntoAFilter(filter_of(&[1, 2]));
                    loop {
                        user.0.clear();
                        user.0.insert(&1).unwrap();
                    }
                });
            };
            std::thread::spawn(clears).join().expect_err("too many branches");
        }
    }
}
