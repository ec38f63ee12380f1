//! Sweeps: `remove_value` and `update_values`, and what they must know of entries that splits have doubled.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use coucal::Error;
use coucal_reference::format::{ReadError, at, forged, number, put};
use coucal_reference::judged;
use rand::RngExt;

use super::largest;
use crate::common::{Item, Kind, Layout, Stop, Stopped, Subject, hashes, random, turn, usually};

of_each_layout! {
    values_leave_beside_writers
    values_change_beside_writers
}

of_each_growing_layout! {
    doubled_entries_of_each_value_are_counted
    a_doubled_pair_is_taken_for_another_pair
    values_leave_beside_writers_while_it_grows
    values_change_beside_writers_while_it_grows
    hostile_numbers_of_doubled_entries
}

/// Makes pairs, each with a value of its own among `0..values`; of the first key, more than two buckets have slots for.
fn pairs(seed: u64, keys: usize, values: u32) -> Vec<Item> {
    let crowd = std::iter::repeat_n(hashes(seed).next().expect("a hash"), 30);
    crowd.chain(hashes(seed).take(keys)).zip((0..values).cycle()).collect()
}

/// Removes value by value, from the last one on: as many pairs as were inserted are removed, and all others stay.
fn leave_one_by_one(maplet: &dyn Subject, mut pairs: Vec<Item>) {
    assert_eq!(maplet.remove_value(1 << maplet.value_bits()), 0, "no key has it");
    // All values that any test has.
    for value in (0..=largest(maplet.value_bits()).min(9)).rev() {
        let number = pairs.iter().filter(|&&(_, its)| its == value).count();
        assert_eq!(maplet.remove_value(value), number, "{value}: {maplet:?}");
        pairs.retain(|&(_, its)| its != value);
        assert_eq!(maplet.len(), pairs.len());
        assert!(pairs.iter().all(|&(hash, its)| maplet.values(hash).contains(&its)));
        assert_eq!(maplet.remove_value(value), 0);
    }
    assert_eq!((maplet.load_factor(), maplet.stashed()), (0.0, (0, 0)));
}

/// Tests a table that has grown until splits have doubled entries, one that is restored from it, one with replaced
/// values, and one that two were merged into.
fn doubled_entries_of_each_value_are_counted(layout: Layout) {
    let mut most_values = 0;
    for value_bits in 1..=layout.longest_values().min(4) {
        let all = pairs(2, 600 * layout.slots, largest(value_bits).min(5) + 1);
        let maplet = || Kind { layout, grows: true, value_bits }.build(1, all.len() * 6 / 5);
        let whole = maplet();
        whole.insert_many(&all).unwrap();
        most_values = most_values.max(whole.contents().doubled_of.len());
        let restored = whole.restored(&whole.bytes()).unwrap();
        leave_one_by_one(&*whole, all.clone());
        leave_one_by_one(&*restored, all.clone());
        // A replacement takes the doubled entries along: each of the two values has as many as there are pairs.
        let replaced = maplet();
        replaced.insert_many(&all).unwrap();
        let changed: Vec<Item> = all.iter().map(|&(hash, value)| (hash, value / 2)).collect();
        for (&old, &(_, new)) in all.iter().zip(&changed) {
            assert!(replaced.replace(old, new));
        }
        leave_one_by_one(&*replaced, changed);
        // The parts of the merge have different sizes.
        let [large, small] = [maplet(), maplet()];
        let (most, rest) = all.split_at(all.len() - all.len() / 9);
        large.insert_many(most).unwrap();
        small.insert_many(rest).unwrap();
        large.merge(&*small).unwrap();
        leave_one_by_one(&*large, all);
    }
    assert!(layout.name != "Fp12x5" || most_values == 6, "{most_values}");
}

fn values_leave_beside_writers(layout: Layout) {
    for pairs in [60, 3000] {
        let value_bits = 3.min(layout.longest_values());
        beside_writers(&*Kind { layout, grows: false, value_bits }.build(0, pairs), pairs);
    }
}

fn values_leave_beside_writers_while_it_grows(layout: Layout) {
    let most = (layout.slots << 8) as f64 * layout.target();
    let maplet = Kind { layout, grows: true, value_bits: 2 }.build(1, most as usize);
    beside_writers(&*maplet, most as usize);
}

/// One thread removes the values 0 and 1 by turns. Two others insert pairs with these values. They also insert, replace
/// and remove pairs with other values, and find all that they have.
fn beside_writers(maplet: &dyn Subject, most: usize) {
    let _turn = turn();
    let top = largest(maplet.value_bits());
    let (rounds, writing) = (usually(20_000, 200_000), AtomicUsize::new(2));
    let [stored, removed] = [0; 2].map(AtomicUsize::new);
    let left = thread::scope(|scope| {
        let (writing, stored, removed) = (&writing, &stored, &removed);
        scope.spawn(move || {
            let mut value = 0;
            while writing.load(Ordering::SeqCst) > 0 {
                removed.fetch_add(maplet.remove_value(value), Ordering::SeqCst);
                value ^= 1;
            }
        });
        let writers = [0, 1].map(|number| {
            scope.spawn(move || {
                let _stopped = Stopped(writing);
                let (mut random, mut held) = (random(number), Vec::<Item>::new());
                let mut new = hashes(10 + number);
                for _ in 0..rounds {
                    let hash = new.next().expect("a hash");
                    if held.len() < most / 4 {
                        let value = random.random_range(0..=top);
                        while maplet.insert((hash, value)).is_err() {
                            // Counts pairs with the removed values; these are not in `held`.
                            let gone = maplet.remove_value(0) + maplet.remove_value(1);
                            removed.fetch_add(gone, Ordering::SeqCst);
                        }
                        if value > 1 {
                            held.push((hash, value));
                        } else {
                            stored.fetch_add(1, Ordering::SeqCst);
                        }
                    } else {
                        let at = random.random_range(0..held.len());
                        let item = held.swap_remove(at);
                        if random.random_range(0..2) == 0 {
                            assert!(maplet.remove(item), "{maplet:?}");
                        } else {
                            let leaving = random.random_range(0..2);
                            assert!(maplet.replace(item, leaving), "{maplet:?}");
                            stored.fetch_add(1, Ordering::SeqCst);
                        }
                    }
                    if !held.is_empty() {
                        let (hash, value) = held[random.random_range(0..held.len())];
                        assert!(maplet.values(hash).contains(&value));
                        assert!(maplet.contains(hash));
                    }
                }
                held
            })
        });
        writers.map(|writer| writer.join().expect("no assertion")).concat()
    });
    let gone = removed.load(Ordering::SeqCst) + maplet.remove_value(0) + maplet.remove_value(1);
    assert_eq!(gone, stored.load(Ordering::SeqCst), "{maplet:?}");
    assert_eq!(maplet.len(), left.len(), "{maplet:?}");
    for item in left {
        assert!(maplet.remove(item), "a pair is lost: {maplet:?}");
    }
    assert!(maplet.is_empty());
}

fn values_change_beside_writers(layout: Layout) {
    for pairs in [60, 3000] {
        let value_bits = 3.min(layout.longest_values());
        changed_once(&*Kind { layout, grows: false, value_bits }.build(0, pairs), pairs);
    }
}

fn values_change_beside_writers_while_it_grows(layout: Layout) {
    let most = ((layout.slots << 8) as f64 * layout.target()) as usize;
    changed_once(&*Kind { layout, grows: true, value_bits: 2 }.build(1, most), most);
}

/// One thread changes all values again and again: each value except the largest becomes the next one. Some pairs stay
/// all the time, a few of them in the stash: they are always found, and each of them is changed once by each call. The
/// other threads move them: they insert and remove pairs with the largest value, which does not change. They do so
/// during some of the calls.
fn changed_once(maplet: &dyn Subject, most: usize) {
    let _turn = turn();
    let top = largest(maplet.value_bits());
    let (stop, moves) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut sweeps, mut met) = (0, 0);
    let next = move |value: u32| Some(if value == top { top } else { (value + 1) % top });
    let settled: Vec<Item> = hashes(1).take(most / 4).map(|hash| (hash, 0)).collect();
    let crowd = settled[0];
    maplet.insert_many(&settled).unwrap();
    (0..12).for_each(|_| maplet.insert(crowd).unwrap());
    // In short layouts, other keys may be of the same class.
    let copies = maplet.count(crowd);
    assert!(copies >= 13, "{copies}");
    thread::scope(|scope| {
        let (stop, settled, moves) = (&stop, &settled, &moves);
        let _stop = Stop(stop);
        for number in 0..2 {
            scope.spawn(move || {
                let _stop = Stop(stop);
                let (mut random, mut held) = (random(number), Vec::<Item>::new());
                let mut new = hashes(10 + number);
                while !stop.load(Ordering::SeqCst) {
                    if held.len() < most * 3 / 10 {
                        let item = (new.next().expect("a hash"), top);
                        maplet.insert(item).unwrap();
                        held.push(item);
                    } else {
                        let item = held.swap_remove(random.random_range(0..held.len()));
                        assert!(maplet.remove(item), "{maplet:?}");
                    }
                    moves.fetch_add(1, Ordering::Relaxed);
                    let (hash, _) = settled[random.random_range(0..settled.len())];
                    assert!(maplet.contains(hash), "{maplet:?}");
                }
                for item in held {
                    assert!(maplet.remove(item), "a pair is lost: {maplet:?}");
                }
            });
        }
        let (least, least_met) = usually((200, 20), (2000, 200));
        while (sweeps < least || met < least_met) && !stop.load(Ordering::SeqCst) {
            let before = moves.load(Ordering::Relaxed);
            assert_eq!(maplet.update_values(&next), 0);
            sweeps += 1;
            // The first move of each of the two threads may have begun before the call.
            met += usize::from(moves.load(Ordering::Relaxed) >= before + 3);
        }
    });
    println!("{sweeps} sweeps, {met} of them beside others");
    let value = sweeps % top;
    assert_eq!(maplet.len(), settled.len() + 12, "{maplet:?}");
    assert_eq!(maplet.count((crowd.0, value)), copies);
    for &(hash, _) in &settled {
        assert!(maplet.remove((hash, value)), "{maplet:?}");
    }
    assert_eq!(maplet.update_values(&|_| None), 12);
    assert!(maplet.is_empty() && maplet.stashed() == (0, 0));
}

/// When all values are removed, no doubled entry is counted any more, whether or not the table was restored on the way.
fn is_exact_without_values(maplet: &dyn Subject, is_saved: bool) {
    for value in 0..=largest(maplet.value_bits()).min(9) {
        maplet.remove_value(value);
        if !is_saved {
            continue;
        }
        let restored = maplet.restored(&maplet.bytes()).expect("what it is");
        assert_eq!(
            (restored.len(), restored.snapshot().unwrap().len()),
            (maplet.len(), maplet.len())
        );
    }
    assert_eq!((maplet.len(), maplet.load_factor()), (0, 0.0), "{maplet:?}");
    maplet.insert((7, 1)).unwrap();
    assert_eq!((maplet.len(), maplet.contents().doubled_of.len()), (1, 0));
}

/// A doubled entry is removed, or gets another value, as a false positive: the table cannot know that the entry is not
/// an item of its own. Then it counts too few pairs. But its snapshot can be restored, and it is exact again when these
/// values are removed.
fn a_doubled_pair_is_taken_for_another_pair(layout: Layout) {
    // The values are so long that a new entry knows four bits beyond its bucket.
    let value_bits = layout.bits - 9;
    for (is_removed, is_restored) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut maplet = Kind { layout, grows: true, value_bits }.build(40, 20_000);
        for hash in hashes(4).take(100) {
            maplet.insert((hash, 5)).unwrap();
        }
        maplet.reserve(19_000).unwrap();
        let slots = (maplet.load_factor() * maplet.slots() as f64).round() as usize;
        assert!(maplet.len() == 100 && slots > 150, "{slots} slots: {maplet:?}");
        let mut others = 0;
        for hash in hashes(5).take(300_000) {
            while maplet.values(hash).contains(&5) {
                let changed = if is_removed {
                    maplet.remove((hash, 5))
                } else {
                    maplet.replace((hash, 5), 6)
                };
                assert!(changed);
                others += 1;
            }
        }
        assert!(others > slots / 2 && maplet.len() <= 100, "{others} of {slots}: {maplet:?}");
        if is_restored {
            maplet = maplet.restored(&maplet.bytes()).unwrap();
        } else if !is_removed {
            // The doubled entries are gone before their count.
            maplet.remove_value(6);
            maplet.insert((7, 1)).unwrap();
            assert!(!maplet.is_empty(), "{maplet:?}");
        }
        is_exact_without_values(&*maplet, is_restored);
    }
}

/// Changes each number of the list of doubled entries: the crate and the reference name the same error.
fn hostile_numbers_of_doubled_entries(layout: Layout) {
    let value_bits = layout.longest_values().min(3);
    let maplet = Kind { layout, grows: true, value_bits }.build(1, 100 * layout.slots);
    // As if some of its entries were doubled.
    maplet.insert_many(&pairs(3, 40, 2)).unwrap();
    let saved = maplet.bytes();
    let start = saved.len() - 8;
    let held = number(&saved, at::OCCUPIED) + number(&saved, at::STASHED);
    let with = |list: &[(u64, u64, u64)], doubled: u64| {
        forged(&saved, |bytes| {
            let numbers =
                list.iter().flat_map(|&(value, copies, entries)| [value, copies, entries]);
            let checksum = bytes.split_off(start);
            bytes.extend(numbers.flat_map(u64::to_le_bytes));
            bytes.extend(checksum);
            put(bytes, at::DOUBLED, doubled);
            put(bytes, at::DOUBLED_VALUES, list.len() as u64);
        })
    };
    let stashed = number(&saved, at::STASHED) as usize;
    let top = u64::from(largest(value_bits));
    let is_invalid = |at: usize| Some(ReadError::InvalidEntry { entry: stashed + at });
    let impossible = || Some(ReadError::ImpossibleTable { words: number(&saved, at::WORDS) });
    let wrong = |stated, found| Some(ReadError::WrongLen { stated, found });
    for (list, doubled, expected) in [
        (&[][..], 0, None),
        (
            &[(0, 2, 1), (1, 1, 1), (top.max(2), 3, 0)],
            6,
            if value_bits > 1 { None } else { is_invalid(2) },
        ),
        (&[(top, 5, 5)], 5, None),
        (&[(top, 5, 0)], 5, None),
        (&[(top, 5, 6)], 5, is_invalid(0)),
        (&[(top + 1, 5, 5)], 5, is_invalid(0)),
        (&[(1 << 32, 5, 5)], 5, is_invalid(0)),
        (&[(u64::MAX, 5, 5)], 5, is_invalid(0)),
        (&[(1, 2, 2), (0, 3, 3)], 5, is_invalid(1)),
        (&[(1, 2, 2), (1, 3, 3)], 5, is_invalid(1)),
        (&[(0, 0, 0), (1, 5, 5)], 5, is_invalid(0)),
        (&[(0, 2, 2), (1, 2, 2)], 5, wrong(5, 4)),
        (&[(0, 2, 2), (1, 4, 4)], 5, wrong(5, 6)),
        (&[(0, u64::MAX, 1), (1, 4, 1)], 5, wrong(5, usize::MAX)),
        (&[(0, u64::MAX, u64::MAX), (1, 4, 4)], 5, is_invalid(0)),
        // There must not be more entries than in the slots and in the stash; there may be more copies.
        (&[(0, held + 1, held)], held + 1, None),
        (&[(0, held + 1, held + 1)], held + 1, is_invalid(0)),
        (&[(0, held, held), (1, 1, 1)], held + 1, is_invalid(1)),
        (&[], 5, wrong(5, 0)),
        (&[], u64::MAX, impossible()),
        (&[(0, 1, 1), (1, 1, 1)], 1, impossible()),
    ] {
        let bytes = with(list, doubled);
        assert_eq!(judged(&bytes).err(), expected, "{list:?}");
        if let Ok(restored) = maplet.restored(&bytes) {
            is_exact_without_values(&*restored, false);
        }
    }
    // All its entries are doubled: it does not grow any more, and says so. A million copies in few entries are not a
    // reason.
    let items: Vec<Item> = hashes(3).take(50 * layout.slots).zip(std::iter::repeat(0)).collect();
    maplet.clear();
    maplet.insert_many(&items).unwrap();
    let contents = maplet.contents();
    let held = contents.occupied + contents.stashed;
    for (entries, expected) in [(held, Err(Error::Full)), (held / 9, Ok(()))] {
        let forged = forged(&maplet.bytes(), |bytes| {
            let checksum = bytes.split_off(bytes.len() - 8);
            bytes.extend([0, held, entries].map(u64::to_le_bytes).as_flattened());
            bytes.extend(checksum);
            put(bytes, at::DOUBLED, held);
            put(bytes, at::DOUBLED_VALUES, 1);
        });
        let restored = maplet.restored(&forged).expect("possible numbers");
        let additional = 90 * layout.slots - (held - entries) as usize;
        assert_eq!(restored.reserve(additional), expected, "{restored:?}");
        assert_eq!(restored.slots() > maplet.slots(), expected.is_ok());
    }
}
