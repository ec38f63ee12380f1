//! Threads on the real machine, more than it has cores: settled pairs are always among the candidates, while
//! others insert, replace, remove, kick and let the maplet grow.

use std::sync::Barrier;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use coucal::{Candidates, Error, Prehashed, Storage};
use rand::{Rng, RngExt};

use crate::common::{Layout, Maplet, Stopped, hashes, random, turn, usually};

of_each_layout!(settled_pairs_are_found);

of_each_growing_layout!(settled_pairs_are_found_while_it_grows);

const WRITERS: u64 = 4;
const READERS: usize = 4;

/// Nearly full, so that inserts kick.
fn settled_pairs_are_found(layout: Layout) {
    for (pairs, bits, operations) in [(20, 1, 30_000), (500, 3, 30_000), (20_000, 2, 60_000)] {
        let operations = operations / usually(5, 1);
        let maplet = layout.maplet(pairs, bits);
        // Some slots of a small table may be out of reach of the last inserts.
        beside_writers(&maplet, pairs / 2, pairs, operations);
    }
}

/// From the smallest table to twice its size.
fn settled_pairs_are_found_while_it_grows(layout: Layout) {
    for round in 0..usually(3, 10) {
        let bits = 1 + round % 3;
        let maplet = layout.growing_maplet(1, 1, bits);
        let most = (maplet.slots() << 1) as f64 * layout.target();
        let maplet = layout.growing_maplet(1, most as usize, bits);
        let slots = maplet.slots();
        beside_writers(&maplet, slots / 4, most as usize, 10_000);
        assert!(maplet.slots() > slots, "{maplet:?}");
    }
}

/// The largest value of this length.
fn largest(value_bits: u32) -> u32 {
    (1 << value_bits) - 1
}

/// Half of the settled pairs are those of keys whose other value is replaced all the time: a lookup finds
/// the settled value, and the old value or the new one of the other.
fn beside_writers<L: Storage>(maplet: &Maplet<L>, settle: usize, most: usize, operations: usize) {
    let _turn = turn();
    let top = largest(maplet.value_bits());
    let settled: Vec<u64> = hashes(1).take(settle / 2).collect();
    // All of these have the value 0, and the second one from time to time another.
    for &hash in &settled {
        maplet.insert(&Prehashed(hash), 0).expect("half full");
    }
    let replaced: Vec<u64> = settled.iter().copied().step_by(4).collect();
    for &hash in &replaced {
        maplet.insert(&Prehashed(hash), top).expect("half full");
    }
    let start = Barrier::new(WRITERS as usize + READERS);
    let writing = AtomicUsize::new(WRITERS as usize);
    let held: Vec<(u64, u32)> = thread::scope(|scope| {
        let (settled, replaced, start, writing) = (&settled, &replaced, &start, &writing);
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                scope.spawn(move || {
                    let _stopped = Stopped(writing);
                    start.wait();
                    let share =
                        most.saturating_sub(settled.len() + replaced.len()) / WRITERS as usize;
                    write(maplet, replaced, number, share, operations)
                })
            })
            .collect();
        for reader in 0..READERS {
            scope.spawn(move || {
                start.wait();
                while writing.load(Ordering::SeqCst) > 0 {
                    look(maplet, settled, reader, top);
                }
            });
        }
        writers
            .into_iter()
            .flat_map(|writer| writer.join().expect("a writer's assertion"))
            .collect()
    });
    let all = settled.len() + replaced.len() + held.len();
    assert_eq!(maplet.len(), all, "{maplet:?}");
    for (hash, value) in held {
        assert!(maplet.get(&Prehashed(hash)).any(|found| found == value), "{maplet:?}");
        assert!(maplet.remove(&Prehashed(hash), value), "a pair is lost: {maplet:?}");
    }
    for hash in replaced {
        let is_there = maplet.remove(&Prehashed(hash), top) || maplet.remove(&Prehashed(hash), 1);
        assert!(is_there, "a replaced pair is lost: {maplet:?}");
    }
    for hash in settled {
        assert!(maplet.remove(&Prehashed(hash), 0), "a settled pair is lost: {maplet:?}");
    }
    assert!(maplet.is_empty());
}

/// Inserts, replaces and removes pairs of its own, and replaces values of its share of the other keys.
fn write<L: Storage>(
    maplet: &Maplet<L>,
    replaced: &[u64],
    number: u64,
    share: usize,
    operations: usize,
) -> Vec<(u64, u32)> {
    let mut random = random(number);
    let top = largest(maplet.value_bits());
    let mut held: Vec<(u64, u32)> = Vec::new();
    // A value of its own keys: none that a settled key of the same class loses.
    let mut mine: Vec<(u64, bool)> = replaced
        .iter()
        .enumerate()
        .filter(|(at, _)| *at as u64 % WRITERS == number)
        .map(|(_, &hash)| (hash, false))
        .collect();
    for _ in 0..operations {
        match random.random_range(0..8) {
            0..4 if held.len() < share => {
                let (hash, value) = (random.next_u64(), random.random_range(0..=top));
                match maplet.insert(&Prehashed(hash), value) {
                    Ok(()) => {
                        held.push((hash, value));
                        let mut found = maplet.get(&Prehashed(hash));
                        assert!(found.any(|found| found == value), "an own insert is missed");
                    }
                    Err(error) => {
                        assert_eq!(error, Error::Full);
                    }
                }
            }
            4 if !mine.is_empty() => {
                let at = random.random_range(0..mine.len());
                let (hash, is_new) = mine[at];
                let (old, new) = if is_new { (1, top) } else { (top, 1) };
                assert_eq!(maplet.replace(&Prehashed(hash), old, new), Ok(true), "a pair is lost");
                mine[at].1 = !is_new;
            }
            5 if !held.is_empty() => {
                let at = random.random_range(0..held.len());
                let ((hash, old), new) = (held[at], random.random_range(0..=top));
                assert_eq!(maplet.replace(&Prehashed(hash), old, new), Ok(true), "a pair is lost");
                held[at].1 = new;
            }
            _ if !held.is_empty() => {
                let at = random.random_range(0..held.len());
                let (hash, value) = held.swap_remove(at);
                assert!(maplet.remove(&Prehashed(hash), value), "a pair is lost");
            }
            _ => {}
        }
    }
    held
}

/// Each settled key has its value, and those with another have that or the one that replaces it.
fn look<L: Storage>(maplet: &Maplet<L>, settled: &[u64], reader: usize, top: u32) {
    let check = |at: usize, found: Candidates| {
        let values: Vec<u32> = found.collect();
        assert!(values.contains(&0), "a settled value is missed: {values:?}");
        let has_other = values.contains(&top) || values.contains(&1);
        assert!(
            !at.is_multiple_of(4) || has_other,
            "neither the old nor the new value: {values:?}"
        );
    };
    if reader.is_multiple_of(2) {
        for (at, &hash) in settled.iter().enumerate() {
            check(at, maplet.get(&Prehashed(hash)));
            assert!(maplet.contains_key(&Prehashed(hash)), "a settled key is missed");
        }
    } else {
        let found = maplet.get_each(Prehashed::slice(settled));
        found.into_iter().enumerate().for_each(|(at, found)| check(at, found));
    }
}
