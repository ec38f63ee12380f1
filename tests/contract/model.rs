//! Sequences of random operations against an exact multiset of classes, down to the tiniest table.
//!
//! A filter cannot tell apart items of one class: one fingerprint with one pair of buckets. Which
//! hashes share a class is learned from the filter itself, one hash inserted at a time.

use std::collections::HashMap;

use coucal::{Growable, GrowingLayout, InsertError, Layout, Storage};
use proptest::prelude::*;

use crate::common::{Filter, greatest_slots, growing, hashes, with_slots};

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

/// Keys for a table, each a hash and the number of its class. Every fourth key repeats the hash
/// or, where one is at hand, the class of another.
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

/// What the model must know of the kind of a filter.
struct Kind<L: Storage> {
    filter: Filter<L>,
    /// Slots of a bucket.
    slots: usize,
    /// Whether an item may be refused although there are fewer copies of it than there can be.
    may_be_full: fn(&Filter<L>) -> bool,
    /// Room for so many items more, if the filter can grow.
    reserve: fn(&Filter<L>, usize),
}

fn fixed<L: Layout>(buckets: usize) -> Kind<L> {
    Kind {
        filter: with_slots::<L>(buckets * L::SLOTS),
        slots: L::SLOTS,
        // Two buckets hold what they have slots for.
        may_be_full: |filter| filter.slots() > 2 * L::SLOTS || filter.len() == filter.slots(),
        reserve: |_, _| {},
    }
}

fn growable<L: GrowingLayout + Layout>(capacity: usize, max_capacity: usize) -> Kind<Growable<L>> {
    Kind {
        filter: growing::<L>(capacity, max_capacity),
        slots: L::SLOTS,
        // At the greatest size only.
        may_be_full: |filter| filter.slots() == greatest_slots::<L>(filter.max_capacity()),
        reserve: |filter, additional| {
            let (slots, wanted) = (filter.slots(), filter.len() + additional);
            if wanted <= filter.max_capacity() {
                filter.reserve(additional).expect("within the greatest capacity");
                assert!(filter.capacity() >= wanted && filter.slots() >= slots);
            } else {
                filter.reserve(additional).expect_err("beyond the greatest capacity");
                assert_eq!(filter.slots(), slots);
            }
        },
    }
}

fn agrees_with_a_multiset<L: Storage>(
    Kind { filter, slots, may_be_full, reserve }: &Kind<L>,
    seed: u64,
    distinct: usize,
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let keys = keys(filter, seed, distinct);
    let key = |i: usize| keys[i % keys.len()];
    let mut model: HashMap<usize, usize> = HashMap::new();
    let copies = |model: &HashMap<usize, usize>, class| model.get(&class).copied().unwrap_or(0);
    let most = 2 * slots;

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
                        prop_assert!(may_be_full(filter));
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
                let stored = match filter.insert_many_hashes(&hashes) {
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
                filter.contains_many_hashes(&hashes, &mut found).expect("equal lengths");
                for (&i, found) in batch.iter().zip(found) {
                    prop_assert_eq!(found, copies(&model, key(i).1) > 0);
                }
            }
            Op::Clear => {
                filter.clear();
                model.clear();
            }
            &Op::Reserve(additional) => reserve(filter, additional),
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
        agrees_with_a_multiset(&fixed::<L>(n), seed, distinct, &ops)?;
    });
}

fn growth<L: GrowingLayout + Layout>() {
    let config = ProptestConfig::with_cases(500);
    proptest!(config, |(first in 0..200_usize, seed: u64, distinct in 1..300_usize, ops in ops())| {
        agrees_with_a_multiset(&growable::<L>(first, 2 * first + 400), seed, distinct, &ops)?;
    });
}
