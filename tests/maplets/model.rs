//! Sequences of random operations against the reference, down to the tiniest table.

use coucal::{Candidates, GrowingLayout, InsertError, Layout, Storage};
use proptest::prelude::*;

use crate::common::{LEAST_ROWS, hashes};
use crate::reference::Reference;
use crate::{
    Maplet, candidates, from_the_fewest_rows, growing, largest, widths, widths_that_grow,
    with_slots,
};

/// The number of a key and that of a value.
type Pair = (usize, usize);

#[derive(Clone, Debug)]
enum Op {
    Insert(Pair),
    Remove(Pair),
    Replace(Pair, usize),
    Get(usize),
    InsertMany(Vec<Pair>),
    RemoveMany(Vec<Pair>),
    GetMany(Vec<usize>),
    Clear,
    /// Of a maplet that grows: room for this number of pairs more.
    Reserve(usize),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let key = || 0..1000_usize;
    // Few values, so that pairs meet.
    let value = || 0..4_usize;
    let pair = || (key(), value());
    let pairs = || prop::collection::vec(pair(), 0..40);
    let op = prop_oneof![
        12 => pair().prop_map(Op::Insert),
        5 => pair().prop_map(Op::Remove),
        5 => (pair(), value()).prop_map(|(old, new)| Op::Replace(old, new)),
        4 => key().prop_map(Op::Get),
        1 => pairs().prop_map(Op::InsertMany),
        1 => pairs().prop_map(Op::RemoveMany),
        1 => prop::collection::vec(key(), 0..40).prop_map(Op::GetMany),
        1 => Just(Op::Clear),
        1 => (0..300_usize).prop_map(Op::Reserve),
    ];
    prop::collection::vec(op, 1..300)
}

/// The value with this number: both ends of the range, and what is beside them.
fn value_of<St: Storage>(maplet: &Maplet<St>, number: usize) -> u32 {
    let largest = largest(maplet.value_bits());
    [0, largest, 1, largest - 1][number]
}

/// `most_slots` is the number of slots that the maplet has at its maximum size.
fn agrees_with_the_reference<St: Storage>(
    maplet: &Maplet<St>,
    mut model: Reference,
    slots_of_bucket: usize,
    most_slots: usize,
    reserve: impl Fn(usize),
    keys: &[u64],
    ops: &[Op],
) -> Result<(), TestCaseError> {
    let pair = |&(key, value): &Pair| (keys[key % keys.len()], value_of(maplet, value));
    let most = 2 * slots_of_bucket;
    for op in ops {
        let level = model.level(maplet);
        match op {
            Op::Insert(inserted) => {
                let (hash, value) = pair(inserted);
                let held = model.of_class(hash);
                match model.insert(maplet, hash, value) {
                    Ok(()) => {}
                    Err(InsertError::TooManyCopies) => prop_assert_eq!(held, most),
                    Err(error) => {
                        prop_assert_eq!((error, maplet.slots()), (InsertError::Full, most_slots));
                        prop_assert!(held < most);
                        // Two buckets hold what they have slots for.
                        prop_assert!(most_slots > most || maplet.len() == most_slots);
                    }
                }
            }
            Op::Remove(removed) => {
                let (hash, value) = pair(removed);
                prop_assert_eq!(maplet.remove_hash(hash, value), model.remove(hash, value));
            }
            Op::Replace(old, new) => {
                let ((hash, old), new) = (pair(old), value_of(maplet, *new));
                let replaced = model.replace(hash, old, new);
                prop_assert_eq!(maplet.replace_hash(hash, old, new), Ok(replaced));
            }
            Op::Get(key) => {
                let hash = keys[key % keys.len()];
                model.agrees_on(maplet, hash);
            }
            Op::InsertMany(batch) => {
                let pairs: Vec<(u64, u32)> = batch.iter().map(pair).collect();
                let stored = match maplet.insert_hash_many(&pairs) {
                    Ok(()) => pairs.len(),
                    Err(error) => error.stored(),
                };
                model.stored(maplet, level, &pairs[..stored]);
            }
            Op::RemoveMany(batch) => {
                let pairs: Vec<(u64, u32)> = batch.iter().map(pair).collect();
                let expected: Vec<bool> =
                    pairs.iter().map(|&(hash, value)| model.remove(hash, value)).collect();
                let mut removed = vec![true; pairs.len()];
                let count = maplet.remove_hash_many(&pairs, &mut removed).expect("as long");
                prop_assert_eq!(count, expected.iter().filter(|&&removed| removed).count());
                prop_assert_eq!(removed, expected);
            }
            Op::GetMany(batch) => {
                let hashes: Vec<u64> = batch.iter().map(|key| keys[key % keys.len()]).collect();
                // What they held before does not matter.
                let mut found =
                    vec![maplet.get_hash(hashes.first().copied().unwrap_or(0)); batch.len()];
                maplet.get_hash_many(&hashes, &mut found).expect("as long");
                let sorted = |candidates: Candidates| {
                    let mut values: Vec<u32> = candidates.collect();
                    values.sort_unstable();
                    values
                };
                let found: Vec<Vec<u32>> = found.into_iter().map(sorted).collect();
                let expected: Vec<Vec<u32>> =
                    hashes.iter().map(|&hash| model.values(hash)).collect();
                prop_assert_eq!(&found, &expected);
                let found: Vec<Vec<u32>> =
                    maplet.get_hash_each(&hashes).into_iter().map(sorted).collect();
                prop_assert_eq!(&found, &expected);
            }
            Op::Clear => {
                maplet.clear();
                model.clear();
            }
            &Op::Reserve(additional) => reserve(additional),
        }
        prop_assert_eq!(maplet.len(), model.len());
    }
    for &hash in keys {
        model.agrees_on(maplet, hash);
        for value in candidates(maplet, hash) {
            prop_assert!(maplet.remove_hash(hash, value) && model.remove(hash, value));
        }
    }
    prop_assert!(maplet.is_empty() && model.len() == 0);
    Ok(())
}

of_each_layout!(fixed_size);

of_each_growing_layout!(growth);

fn fixed_size<L: Layout>() {
    let buckets = prop_oneof![Just(2), Just(4), Just(6), (4..40_usize).prop_map(|n| 2 * n)];
    let widths = prop::sample::select(widths::<L>());
    let config = ProptestConfig::with_cases(300);
    proptest!(config, |(n in buckets, bits in widths, seed: u64, distinct in 1..120_usize, ops in ops())| {
        let maplet = with_slots::<L>(n * L::SLOTS, bits);
        let model = Reference::of::<L, _>(&maplet, false);
        let keys: Vec<u64> = hashes(seed).take(distinct).collect();
        agrees_with_the_reference(&maplet, model, L::SLOTS, maplet.slots(), |_| {}, &keys, &ops)?;
    });
}

/// Half of the keys are of the class of another.
fn growth<L: GrowingLayout + Layout>() {
    let widths = prop::sample::select(widths_that_grow::<L>());
    let config = ProptestConfig::with_cases(200);
    proptest!(config, |(bits in widths, seed: u64, distinct in 1..60_usize, ops in ops())| {
        let most = from_the_fewest_rows::<L>(3000, bits);
        let maplet = growing::<L>(0, most, bits);
        prop_assert_eq!(maplet.slots(), LEAST_ROWS * L::SLOTS);
        let largest = growing::<L>(most, most, bits).slots();
        let model = Reference::of::<L, _>(&maplet, true);
        let keys: Vec<u64> = hashes(seed).take(distinct).collect();
        let reserve = |more: usize| {
            // It may hold a few more than its capacity.
            if let Some(room) = most.checked_sub(maplet.len()) {
                maplet.reserve(more.min(room)).expect("within the maximum");
            }
        };
        agrees_with_the_reference(&maplet, model, L::SLOTS, largest, reserve, &keys, &ops)?;
    });
}
