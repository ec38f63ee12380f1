//! Sequences of random operations against an exact model, down to the tiniest table.
//!
//! A filter of fixed size cannot tell apart items of one class: one fingerprint with one pair of buckets.
//! Which hashes share a class is learned from the filter itself, one hash inserted at a time. Of a filter
//! that grows, a reference tells the entries.

use std::collections::HashMap;

use coucal::{GrowingLayout, InsertError, Layout, Storage};
use proptest::prelude::*;

use crate::common::prefixes::{Prefixes, twins};
use crate::common::{Filter, Growing, LEAST_ROWS, growing, hashes, with_slots};

#[derive(Clone, Debug)]
enum Op {
    Insert(usize),
    InsertUnique(usize),
    Remove(usize),
    Contains(usize),
    Count(usize),
    InsertMany(Vec<usize>),
    ContainsMany(Vec<usize>),
    Clear,
    /// Of a filter that grows: room for so many more.
    Reserve(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = || 0..1000_usize;
    let batch = || prop::collection::vec(key(), 0..40);
    let op = prop_oneof![
        8 => key().prop_map(Op::Insert),
        4 => key().prop_map(Op::InsertUnique),
        5 => key().prop_map(Op::Remove),
        4 => key().prop_map(Op::Contains),
        2 => key().prop_map(Op::Count),
        1 => batch().prop_map(Op::InsertMany),
        1 => batch().prop_map(Op::ContainsMany),
        1 => Just(Op::Clear),
        1 => (0..300_usize).prop_map(Op::Reserve),
    ];
    prop::collection::vec(op, 1..300)
}

/// Keys for a table, each a hash and the number of its class.
fn keys<L: Storage>(filter: &Filter<L>, seed: u64, distinct: usize) -> Vec<(u64, usize)> {
    let mut keys: Vec<(u64, usize)> = Vec::new();
    for hash in hashes(seed).take(distinct) {
        filter.insert_hash(hash).expect("an empty filter");
        let class = keys
            .iter()
            .find(|&&(known, _)| filter.contains_hash(known))
            .map_or(keys.len(), |&(_, class)| class);
        assert!(filter.remove_hash(hash));
        keys.push((hash, class));
    }
    keys
}

fn agrees_with_a_multiset<L: Layout>(
    filter: &Filter<L>,
    seed: u64,
    distinct: usize,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let keys = keys(filter, seed, distinct);
    let key = |i: usize| keys[i % keys.len()];
    let mut model: HashMap<usize, usize> = HashMap::new();
    let copies = |model: &HashMap<usize, usize>, class| model.get(&class).copied().unwrap_or(0);
    let most = 2 * L::SLOTS;
    // Two buckets hold what they have slots for.
    let may_be_full = || filter.slots() > most || filter.len() == filter.slots();

    for op in ops {
        match op {
            &Op::Insert(i) => {
                let (hash, class) = key(i);
                let held = copies(&model, class);
                match filter.insert_hash(hash) {
                    Ok(()) => *model.entry(class).or_default() += 1,
                    Err(InsertError::TooManyCopies) => prop_assert_eq!(held, most),
                    Err(_) => {
                        prop_assert!(held < most);
                        prop_assert!(may_be_full());
                    }
                }
            }
            &Op::InsertUnique(i) => {
                let (hash, class) = key(i);
                let held = copies(&model, class);
                match filter.insert_unique_hash(hash) {
                    Ok(inserted) => {
                        prop_assert_eq!(inserted, held == 0);
                        model.insert(class, held.max(1));
                    }
                    Err(error) => {
                        prop_assert_eq!((error, held), (InsertError::Full, 0));
                    }
                }
            }
            &Op::Remove(i) => {
                let (hash, class) = key(i);
                let held = copies(&model, class);
                prop_assert_eq!(filter.remove_hash(hash), held > 0);
                model.insert(class, held.saturating_sub(1));
            }
            &Op::Contains(i) => {
                let (hash, class) = key(i);
                prop_assert_eq!(filter.contains_hash(hash), copies(&model, class) > 0);
            }
            &Op::Count(i) => {
                let (hash, class) = key(i);
                prop_assert_eq!(filter.count_hash(hash), copies(&model, class));
            }
            Op::InsertMany(batch) => {
                let hashes: Vec<u64> = batch.iter().map(|&i| key(i).0).collect();
                let stored = match filter.insert_hash_many(&hashes) {
                    Ok(()) => batch.len(),
                    Err(error) => error.stored(),
                };
                for &i in &batch[..stored] {
                    *model.entry(key(i).1).or_default() += 1;
                }
            }
            Op::ContainsMany(batch) => {
                let hashes: Vec<u64> = batch.iter().map(|&i| key(i).0).collect();
                let mut found = vec![false; batch.len()];
                filter.contains_hash_many(&hashes, &mut found).expect("equal lengths");
                for (&i, found) in batch.iter().zip(found) {
                    prop_assert_eq!(found, copies(&model, key(i).1) > 0);
                }
            }
            Op::Clear => {
                filter.clear();
                model.clear();
            }
            Op::Reserve(_) => {}
        }
        prop_assert_eq!(filter.len(), model.values().sum::<usize>());
    }
    for &(hash, class) in &keys {
        prop_assert_eq!(filter.count_hash(hash), copies(&model, class));
    }
    Ok(())
}

of_each_layout!(fixed_size);

of_each_growing_layout!(growth);

fn fixed_size<L: Layout>() {
    let buckets = prop_oneof![Just(2), Just(4), Just(6), (4..40_usize).prop_map(|n| 2 * n)];
    let config = ProptestConfig::with_cases(1500);
    proptest!(config, |(n in buckets, seed: u64, distinct in 1..120_usize, ops in ops())| {
        agrees_with_a_multiset(&with_slots::<L>(n * L::SLOTS), seed, distinct, &ops)?;
    });
}

/// The greatest capacity of a filter that grows from the fewest rows.
const MOST: usize = 3000;

fn agrees_with_a_reference<L: GrowingLayout + Layout>(
    filter: &Growing<L>,
    keys: &[u64],
    most_slots: usize,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let mut model = Prefixes::of(filter);
    let key = |i: usize| keys[i % keys.len()];
    let keys_of = |batch: &[usize]| batch.iter().map(|&i| key(i)).collect::<Vec<u64>>();
    for op in ops {
        let level = model.level(filter);
        match op {
            &Op::Insert(i) => match model.insert(filter, key(i)) {
                Ok(()) => {}
                Err(InsertError::TooManyCopies) => {
                    prop_assert_eq!(model.of_class(key(i)), 2 * L::SLOTS);
                }
                Err(_) => prop_assert_eq!(filter.slots(), most_slots),
            },
            &Op::InsertUnique(i) => match filter.insert_unique_hash(key(i)) {
                Ok(inserted) => {
                    prop_assert_eq!(inserted, model.count(key(i)) == 0);
                    if inserted {
                        model.stored(filter, level, &[key(i)]);
                    }
                }
                Err(InsertError::TooManyCopies) => {
                    let (of_class, copies) = (model.of_class(key(i)), model.count(key(i)));
                    prop_assert_eq!((of_class, copies), (2 * L::SLOTS, 0));
                }
                Err(_) => {
                    prop_assert_eq!((filter.slots(), model.count(key(i))), (most_slots, 0));
                }
            },
            &Op::Remove(i) => prop_assert_eq!(filter.remove_hash(key(i)), model.remove(key(i))),
            &Op::Contains(i) => {
                prop_assert_eq!(filter.contains_hash(key(i)), model.count(key(i)) > 0);
            }
            &Op::Count(i) => prop_assert_eq!(filter.count_hash(key(i)), model.count(key(i))),
            Op::InsertMany(batch) => {
                let hashes = keys_of(batch);
                let stored = match filter.insert_hash_many(&hashes) {
                    Ok(()) => hashes.len(),
                    Err(error) => error.stored(),
                };
                model.stored(filter, level, &hashes[..stored]);
            }
            Op::ContainsMany(batch) => {
                let expected: Vec<bool> =
                    keys_of(batch).into_iter().map(|hash| model.count(hash) > 0).collect();
                prop_assert_eq!(filter.contains_hash_each(&keys_of(batch)), expected);
            }
            Op::Clear => {
                filter.clear();
                model.clear();
            }
            &Op::Reserve(additional) => {
                let (slots, wanted) = (filter.slots(), filter.len() + additional);
                filter.reserve(additional).expect("within the greatest capacity");
                prop_assert!(filter.capacity() >= wanted && filter.slots() >= slots);
            }
        }
        prop_assert_eq!(filter.len(), model.len());
    }
    for &hash in keys {
        prop_assert_eq!(filter.count_hash(hash), model.count(hash));
    }
    Ok(())
}

/// Half of the keys are of the class of another.
fn growth<L: GrowingLayout + Layout>() {
    let twins = twins::<L>(LEAST_ROWS, 60);
    let largest = growing::<L>(0, MOST);
    assert_eq!(largest.slots(), LEAST_ROWS * L::SLOTS);
    largest.reserve(MOST).expect("the greatest capacity");
    let config = ProptestConfig::with_cases(500);
    proptest!(config, |(seed: u64, distinct in 1..60_usize, ops in ops())| {
        let siblings = twins[..distinct].as_flattened().iter().copied();
        let keys: Vec<u64> = siblings.chain(hashes(seed).take(2 * distinct)).collect();
        agrees_with_a_reference(&growing::<L>(0, MOST), &keys, largest.slots(), &ops)?;
    });
}
