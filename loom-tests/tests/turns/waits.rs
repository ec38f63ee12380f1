//! Operations that wait for each other: each model ends, and soon.
//!
//! loom runs all threads on one. An operation that waited for a lock of the machine, held by a thread that has no turn,
//! would wait for ever. An operation that waited in a loop of turns would have executions without end.

use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use coucal::{ExpiringCuckooFilter, GrowableExpiringCuckooFilter};

use super::*;

/// A model of three operations must have fewer executions than this.
const TOO_MANY: usize = 2000;

/// A table, and another one for merges.
struct Tables<T> {
    table: T,
    other: T,
}

type Operation<T> = (&'static str, fn(&Tables<T>));

macro_rules! operations {
    ($($name:ident: $operation:expr;)*) => { vec![$((stringify!($name), $operation)),*] };
}

/// Returns the number of executions of a model in which each thread has one operation; or the reason why the model
/// fails.
fn executions<T: Send + Sync + 'static>(
    new: fn() -> Tables<T>,
    operations: &[Operation<T>],
) -> Result<usize, String> {
    let count = Arc::new(AtomicUsize::new(0));
    let (counter, operations) = (Arc::clone(&count), operations.to_vec());
    // A thread of its own, so that everything that loom leaves behind after a panic goes with it.
    let checked = std::thread::spawn(move || {
        loom::model::Builder::new().check(move || {
            let executions = counter.fetch_add(1, Relaxed);
            assert!(executions < TOO_MANY, "{TOO_MANY} executions");
            let tables = Arc::new(new());
            let start = |&(_, operation): &Operation<T>| {
                let tables = Arc::clone(&tables);
                thread::spawn(move || operation(&tables))
            };
            let threads: Vec<_> = operations.iter().map(start).collect();
            for thread in threads {
                thread.join().unwrap();
            }
        });
    });
    match checked.join() {
        Ok(()) => Ok(count.load(Relaxed)),
        Err(panic) => Err(panic.downcast_ref::<&str>().map_or_else(
            || panic.downcast_ref::<String>().cloned().unwrap_or_default(),
            |message| (*message).to_owned(),
        )),
    }
}

/// Checks that each of these models ends after a few executions, and that all of them have at least `floor` executions
/// together: an operation that loses a turn has fewer.
#[track_caller]
fn end<T: Send + Sync + 'static>(
    new: fn() -> Tables<T>,
    models: impl IntoIterator<Item = Vec<Operation<T>>>,
    floor: usize,
) {
    let mut failed = Vec::new();
    let (mut models_in_all, mut executions_in_all, mut most) = (0, 0, (0, Vec::new()));
    for operations in models {
        let names: Vec<_> = operations.iter().map(|(name, _)| *name).collect();
        match executions(new, &operations) {
            Ok(count) => {
                println!("{count} executions: {names:?}");
                models_in_all += 1;
                executions_in_all += count;
                most = most.max((count, names));
            }
            Err(why) => failed.push(format!("{names:?}: {why}")),
        }
    }
    let in_all = models_in_all + failed.len();
    println!("{in_all} models, {executions_in_all} executions; most: {most:?}");
    assert!(failed.is_empty(), "{} of {in_all} fail:\n{}", failed.len(), failed.join("\n"));
    assert!(executions_in_all >= floor, "{executions_in_all} executions, fewer than {floor}");
}

/// Returns all pairs of operations, also of an operation with itself.
fn pairs<T>(operations: &[Operation<T>]) -> Vec<Vec<Operation<T>>> {
    let after = |first: usize| operations[first..].iter().map(move |second| (first, second));
    let pairs = (0..operations.len()).flat_map(after);
    pairs.map(|(first, &second)| vec![operations[first], second]).collect()
}

/// Returns all triples of operations whose first one is of `holders`, which hold locks for several turns.
fn beside<T>(
    holders: &[&str],
    operations: &[Operation<T>],
    others: &[&str],
) -> Vec<Vec<Operation<T>>> {
    let named = |name: &&str| *operations.iter().find(|of| of.0 == *name).expect("an operation");
    let others: Vec<_> = others.iter().map(named).collect();
    let with =
        |holder: Operation<T>| move |pair: Vec<Operation<T>>| [&[holder], &pair[..]].concat();
    holders.iter().flat_map(|holder| pairs(&others).into_iter().map(with(named(holder)))).collect()
}

fn triples<T>(operations: &[Operation<T>]) -> Vec<Vec<Operation<T>>> {
    let with_first = |first: usize| {
        pairs(&operations[first..])
            .into_iter()
            .map(move |pair| [&operations[first..=first], &pair[..]].concat())
    };
    (0..operations.len()).flat_map(with_first).collect()
}

/// Drops an answer, which these models are not about.
fn ignore<T>(_: T) {}

fn stable() -> StableHashBuilder {
    StableHashBuilder::default()
}

mod filters {
    use super::*;

    type Filter<L> = coucal::Filter<L, StableHashBuilder>;

    fn of<L: Storage>(filter: Filter<L>, other: Filter<L>) -> Tables<Filter<L>> {
        filter.insert_all([1, 1, 2]).unwrap();
        other.insert(&3).unwrap();
        Tables { table: filter, other }
    }

    fn fixed() -> Tables<Filter<Fixed<Fp16x4>>> {
        of(filter_of(&[]), filter_of(&[]))
    }

    fn growing() -> Tables<Filter<Growable<Fp16x4>>> {
        let [filter, other] = [(); 2].map(|()| GrowableCuckooFilter::with_hasher(stable()));
        of(filter, other)
    }

    fn operations<L: Storage + 'static>() -> Vec<Operation<Filter<L>>> {
        operations! {
            insert: |of| of.table.insert(&3).unwrap();
            insert_if_absent: |of| ignore(of.table.insert_if_absent(&1).unwrap());
            insert_all: |of| of.table.insert_all([3]).unwrap();
            insert_if_absent_all: |of| ignore(of.table.insert_if_absent_all([1]).unwrap());
            remove: |of| ignore(of.table.remove(&1));
            remove_many: |of| ignore(of.table.remove_many(&[1], &mut [false]).unwrap());
            contains: |of| ignore(of.table.contains(&1));
            contains_each: |of| ignore(of.table.contains_each(&[1]));
            count: |of| ignore(of.table.count(&1));
            clear: |of| of.table.clear();
            merge: |of| of.table.merge(&of.other).unwrap();
            merge_into: |of| of.other.merge(&of.table).unwrap();
            unmerge: |of| ignore(of.table.unmerge(&of.other).unwrap());
            intersect: |of| ignore(of.table.intersect(&of.other).unwrap());
            overlap: |of| ignore(of.table.overlap(&of.other).unwrap());
            snapshot: |of| ignore(of.table.snapshot().unwrap());
            try_clone: |of| ignore(of.table.try_clone().unwrap());
            figures: |of| ignore(of.table.stats());
        }
    }

    fn growing_operations() -> Vec<Operation<Filter<Growable<Fp16x4>>>> {
        let mut operations = operations();
        operations.push(("reserve", |of| of.table.reserve(2000).unwrap()));
        operations
    }

    const HOLDERS: [&str; 3] = ["clear", "snapshot", "merge_into"];
    const WAITING: [&str; 8] = [
        "clear",
        "snapshot",
        "merge_into",
        "insert",
        "merge",
        "insert_if_absent",
        "remove",
        "count",
    ];

    #[test]
    fn pairs_of_operations_end() {
        end(fixed, pairs(&operations()), 1300);
        end(growing, pairs(&growing_operations()), 1434);
    }

    #[test]
    fn two_that_wait_end() {
        end(fixed, beside(&HOLDERS, &operations(), &WAITING), 31_216);
        end(growing, beside(&HOLDERS, &growing_operations(), &WAITING[..3]), 5516);
    }

    #[test]
    #[ignore = "takes minutes"]
    fn all_triples() {
        end(fixed, triples(&operations()), 0);
        end(growing, triples(&growing_operations()), 0);
    }
}

mod maplets {
    use super::*;

    type Maplet<L> = coucal::Maplet<L, StableHashBuilder>;

    fn of<L: Storage>(maplet: Maplet<L>, other: Maplet<L>) -> Tables<Maplet<L>> {
        maplet.insert_all([(1, 3), (2, 3), (2, 4)]).unwrap();
        other.insert(&3, 3).unwrap();
        Tables { table: maplet, other }
    }

    fn fixed() -> Tables<Maplet<Fixed<Fp16x4>>> {
        let builder = CuckooMaplet::builder().capacity(100).value_bits(4).hasher(stable());
        of(builder.clone().build().unwrap(), builder.build().unwrap())
    }

    fn growing() -> Tables<Maplet<Growable<coucal::Fp21x3>>> {
        let builder = GrowableCuckooMaplet::builder().value_bits(4).hasher(stable());
        of(builder.clone().build().unwrap(), builder.build().unwrap())
    }

    fn operations<L: Storage + 'static>() -> Vec<Operation<Maplet<L>>> {
        operations! {
            insert: |of| of.table.insert(&3, 3).unwrap();
            insert_if_absent: |of| ignore(of.table.insert_if_absent(&1, 4).unwrap());
            insert_all: |of| of.table.insert_all([(3, 4)]).unwrap();
            remove: |of| ignore(of.table.remove(&1, 3));
            remove_many: |of| ignore(of.table.remove_many(&[(1, 3)], &mut [false]).unwrap());
            replace: |of| ignore(of.table.replace(&1, 3, 4).unwrap());
            replace_many: |of| ignore(of.table.replace_many(&[(1, 3, 4)], &mut [false]).unwrap());
            insert_pair_if_absent: |of| ignore(of.table.insert_pair_if_absent(&1, 4).unwrap());
            update: |of| ignore(of.table.update(&2, |value| Some(value + 1)).unwrap());
            update_or_insert: |of| ignore(of.table.update_or_insert(&3, 1, |_| Some(2)).unwrap());
            count: |of| ignore(of.table.count(&1, 3));
            contains_key: |of| ignore(of.table.contains_key(&1));
            get: |of| ignore(of.table.get(&1));
            get_each: |of| ignore(of.table.get_each(&[1]));
            remove_value: |of| ignore(of.table.remove_value(3));
            update_values: |of| ignore(of.table.update_values(|value| Some(value | 1)).unwrap());
            clear: |of| of.table.clear();
            merge: |of| of.table.merge(&of.other).unwrap();
            merge_into: |of| of.other.merge(&of.table).unwrap();
            snapshot: |of| ignore(of.table.snapshot().unwrap());
            try_clone: |of| ignore(of.table.try_clone().unwrap());
            figures: |of| ignore(of.table.stats());
        }
    }

    fn growing_operations() -> Vec<Operation<Maplet<Growable<coucal::Fp21x3>>>> {
        let mut operations = operations();
        operations.push(("reserve", |of| of.table.reserve(2000).unwrap()));
        operations
    }

    const HOLDERS: [&str; 5] = ["remove_value", "update_values", "clear", "snapshot", "merge_into"];
    const WAITING: [&str; 9] = [
        "remove_value",
        "update_values",
        "snapshot",
        "insert",
        "clear",
        "merge",
        "merge_into",
        "insert_if_absent",
        "replace",
    ];

    #[test]
    fn pairs_of_operations_end() {
        end(fixed, pairs(&operations()), 2125);
        end(growing, pairs(&growing_operations()), 2299);
    }

    #[test]
    fn two_that_wait_end() {
        end(fixed, beside(&HOLDERS, &operations(), &WAITING), 66_217);
        end(growing, beside(&HOLDERS, &growing_operations(), &WAITING[..3]), 6551);
    }

    /// Some models with two or three updates have more executions: the message lists them.
    #[test]
    #[ignore = "takes minutes"]
    fn all_triples() {
        end(fixed, triples(&operations()), 0);
        end(growing, triples(&growing_operations()), 0);
    }
}

mod expiring {
    use super::*;

    type Filter<L> = coucal::ExpiringFilter<L, StableHashBuilder>;

    /// The clock of the filters, which stands still except for [`later`].
    static NOW: AtomicUsize = AtomicUsize::new(0);

    const PERIOD: Duration = Duration::from_secs(1);

    fn now() -> Duration {
        PERIOD * NOW.load(Relaxed) as u32
    }

    /// Lets time pass until at least `periods` periods after the start.
    fn later(periods: usize) {
        NOW.fetch_max(periods, Relaxed);
    }

    /// 1 and 2 are of the generation before.
    fn of<L: Storage>(build: impl Fn() -> Filter<L>) -> Tables<Filter<L>> {
        NOW.store(0, Relaxed);
        let [table, other] = [(); 2].map(|()| build());
        table.insert_all([1, 2]).unwrap();
        table.advance();
        table.insert(&4).unwrap();
        Tables { table, other }
    }

    fn fixed() -> Tables<Filter<Fixed<Fp16x4>>> {
        let builder = ExpiringCuckooFilter::builder().capacity(100).generations(3).hasher(stable());
        of(move || builder.clone().every(PERIOD).clock(now).build().unwrap())
    }

    fn growing() -> Tables<Filter<Growable<coucal::Fp21x3>>> {
        let builder = GrowableExpiringCuckooFilter::builder().generations(3).hasher(stable());
        of(move || builder.clone().every(PERIOD).clock(now).build().unwrap())
    }

    fn operations<L: Storage + 'static>() -> Vec<Operation<Filter<L>>> {
        operations! {
            insert: |of| ignore(of.table.insert(&3).unwrap());
            insert_again: |of| ignore(of.table.insert(&1).unwrap());
            insert_if_absent: |of| ignore(of.table.insert_if_absent(&1).unwrap());
            insert_all: |of| ignore(of.table.insert_all([3]).unwrap());
            insert_if_absent_all: |of| ignore(of.table.insert_if_absent_all([1]).unwrap());
            contains: |of| ignore(of.table.contains(&1));
            age: |of| ignore(of.table.age(&1));
            age_each: |of| ignore(of.table.age_each(&[1]));
            advance: |of| ignore(of.table.advance());
            clear: |of| of.table.clear();
            insert_later: |of| {
                later(1);
                of.table.insert(&1).unwrap();
            };
            insert_much_later: |of| {
                later(2);
                of.table.insert(&1).unwrap();
            };
            insert_in_another_window: |of| {
                later(10);
                of.table.insert(&1).unwrap();
            };
            snapshot: |of| ignore(of.table.snapshot().unwrap());
            try_clone: |of| ignore(of.table.try_clone().unwrap());
            figures: |of| ignore(of.table.generation());
        }
    }

    fn growing_operations() -> Vec<Operation<Filter<Growable<coucal::Fp21x3>>>> {
        let mut operations = operations();
        operations.push(("reserve", |of| of.table.reserve(2000).unwrap()));
        operations
    }

    const HOLDERS: [&str; 3] = ["advance", "clear", "insert_in_another_window"];
    const WAITING: [&str; 7] = [
        "snapshot",
        "insert_again",
        "advance",
        "clear",
        "insert_if_absent",
        "insert_in_another_window",
        "insert_later",
    ];

    /// One test, since they have one clock.
    #[test]
    fn pairs_of_operations_and_two_that_wait_end() {
        end(fixed, pairs(&operations()), 1299);
        end(growing, pairs(&growing_operations()), 1453);
        end(fixed, beside(&HOLDERS, &operations(), &WAITING), 55_888);
        end(growing, beside(&HOLDERS, &growing_operations(), &WAITING[..3]), 7956);
    }

    /// Some models have more executions, with inserts that each end generations: the message lists them. To be run
    /// alone, since there is one clock.
    #[test]
    #[ignore = "takes minutes"]
    fn all_triples() {
        end(fixed, triples(&operations()), 0);
        end(growing, triples(&growing_operations()), 0);
    }
}
