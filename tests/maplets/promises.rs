//! Other promises to one thread.

use coucal::{Error, Fp32x2, GrowableCuckooMaplet, Prehashed};

use super::largest;
use crate::common::{Kind, Layout, Subject, default_layout, hashes, prehashed, stopped};

of_each_layout! {
    copies_that_become_pairs_of_their_own
    values_of_each_length
}

/// Many copies of one pair take one entry of the stash. When they get other values, they become entries of their own:
/// nearly as many as there are slots, and no more; so a snapshot of the maplet can be read.
fn copies_that_become_pairs_of_their_own(layout: Layout) {
    let value_bits = layout.longest_values().min(8);
    let maplet = Kind { layout, grows: false, value_bits }.build(0, 24);
    let largest = largest(value_bits);
    for _ in 0..=largest {
        maplet.insert((1, 0)).unwrap();
    }
    let refused = (1..=largest).find_map(|value| maplet.try_replace((1, 0), value).err());
    assert_eq!(refused.is_some(), largest as usize > maplet.slots(), "{maplet:?}");
    let most = maplet.slots() * 7 / 8;
    assert!(refused.is_none_or(|error| error == Error::Full && maplet.stashed().0 > most - 1));
    assert!(maplet.stashed().0 <= most + 1);
    // One more copy of a pair that is stashed is not another entry.
    assert_eq!(maplet.try_replace((1, 0), 1), Ok(true), "{maplet:?}");
    assert_eq!(maplet.len(), 1 + largest as usize);
    let restored = maplet.restored(&maplet.bytes()).expect("what was saved");
    assert_eq!(restored.bytes(), maplet.bytes());
}

/// A value that fits is stored. A value that does not fit is refused, or no key has it.
fn values_of_each_length(layout: Layout) {
    for bits in 1..=layout.longest_values() {
        let maplet = layout.maplet(100, bits);
        let largest = largest(bits);
        assert_eq!(maplet.insert(&Prehashed(1), largest), Ok(()));
        for value in [largest + 1, 2 * largest + 1, u32::MAX] {
            assert_eq!(maplet.insert(&Prehashed(1), value), Err(Error::ValueTooLarge));
            assert_eq!(maplet.replace(&Prehashed(1), largest, value), Err(Error::ValueTooLarge));
            // No key has this value, whatever its lower bits are.
            assert_eq!(maplet.replace(&Prehashed(1), value, 0), Ok(false));
            assert!(!maplet.remove(&Prehashed(1), value));
            let mut removed = [true; 3];
            let pairs = prehashed(&[(1, value), (1, value ^ 1), (2, largest)]);
            assert_eq!(maplet.remove_many(&pairs, &mut removed), Ok(0));
            assert_eq!(removed, [false; 3]);
            let mut replaced = [true; 3];
            let [one, two] = [1, 2].map(Prehashed);
            let pairs = [(one, value, 0), (one, value ^ 1, 0), (two, largest, 0)];
            assert_eq!(maplet.replace_many(&pairs, &mut replaced), Ok(0));
            assert_eq!(replaced, [false; 3]);
            // As `insert_many`: the pairs before the error are replaced.
            let pairs = [(one, largest, 0), (two, 0, value), (one, 0, largest)];
            let error = maplet.replace_many(&pairs, &mut [true; 3]).unwrap_err();
            assert_eq!(stopped(error), (1, 1, Error::ValueTooLarge));
            assert_eq!(maplet.values(1), vec![0]);
            assert_eq!(maplet.replace_many(&pairs[2..], &mut [false]), Ok(1));
            let error = maplet.insert_many(&prehashed(&[(3, 0), (3, value), (3, 1)])).unwrap_err();
            assert_eq!(stopped(error), (1, 1, Error::ValueTooLarge));
            assert!(maplet.remove(&Prehashed(3), 0));
            assert_eq!((maplet.len(), maplet.values(1)), (1, vec![largest]));
        }
    }
}

/// Iterates over the remaining values, in buckets and in the stash.
#[test]
fn candidates_are_an_iterator() {
    for most in [5, 15] {
        let maplet = Layout::named("Fp12x5").maplet(100, 4);
        (1..=most).for_each(|value| maplet.insert(&Prehashed(1), value).unwrap());
        assert_eq!(maplet.stats().stashed_entries > 0, most > 10);
        let mut found = maplet.get(&Prehashed(1));
        let (whole, first) = (found.clone(), found.next().unwrap());
        let left = most as usize - 1;
        let lengths = (found.len(), found.size_hint(), found.clone().count());
        assert_eq!(lengths, (left, (left, Some(left)), left));
        let mut all: Vec<u32> = found.by_ref().chain([first]).collect();
        all.sort_unstable();
        assert!(all.into_iter().eq(1..=most));
        assert_eq!((found.next(), found.next(), found.len()), (None, None, 0));
        assert_eq!((format!("{found:?}"), whole.len()), ("[]".into(), left + 1));
    }
}

/// If the value has changed since it was read, the update is repeated with the new value.
#[test]
fn an_update_that_was_overtaken_tries_again() {
    let maplet = default_layout().maplet(100, 4);
    maplet.insert("egg", 1).unwrap();
    let mut seen = Vec::new();
    let updated = maplet.update("egg", |value| {
        if seen.is_empty() {
            assert_eq!(maplet.replace("egg", 1, 5), Ok(true));
        }
        seen.push(value);
        Some(value + 1)
    });
    assert_eq!((updated, seen), (Ok(Some(5)), vec![1, 5]));
    assert_eq!(maplet.get("egg").collect::<Vec<_>>(), [6]);
}

/// A count begins with the first value, whatever comes between a look at the key and the insert.
#[test]
fn a_count_that_was_overtaken_tries_again() {
    let maplet = default_layout().maplet(100, 4);
    let add = |value: u32| Some(value + 1);
    assert_eq!(maplet.update_or_insert("egg", 3, add), Ok(None));
    assert_eq!(maplet.update_or_insert("egg", 3, add), Ok(Some(3)));
    // Another thread removes the value that was read.
    let updated = maplet.update_or_insert("egg", 7, |value| {
        assert!(maplet.remove("egg", value));
        Some(value + 1)
    });
    assert_eq!(updated, Ok(None));
    assert_eq!(maplet.get("egg").collect::<Vec<_>>(), [7]);
    // No value is changed where there is none to put.
    assert_eq!(maplet.update_or_insert("egg", 1, |_| None), Ok(Some(7)));
    let refused = Err(Error::ValueTooLarge);
    assert_eq!(maplet.update_or_insert("nest", 16, add), refused);
    assert_eq!(maplet.update_or_insert("egg", 1, |_| Some(16)), refused);
    assert_eq!((maplet.len(), maplet.get("egg").next()), (1, Some(7)));
}

/// Copies of one pair get other values, and become more entries than the table has slots: the table grows for them.
#[test]
fn replacements_grow_as_inserts_do() {
    let builder = GrowableCuckooMaplet::builder().layout::<Fp32x2>();
    let maplet = builder.value_bits(10).build().unwrap();
    let slots = maplet.slots();
    (0..1000).for_each(|_| maplet.insert("egg", 0).unwrap());
    for value in 1..1000 {
        assert_eq!(maplet.replace("egg", 0, value), Ok(true));
    }
    assert!(slots < 1000 && maplet.slots() > slots && maplet.len() == 1000);
    assert_eq!(maplet.get("egg").collect::<std::collections::HashSet<_>>().len(), 1000);
    maplet.snapshot().unwrap();
}

/// The figures in the documentation of the type, for keys with one to three values.
#[test]
fn a_quarter_more_capacity_for_keys_with_several_values() {
    let [(stashed, bytes), (hardly_any, fewer)] = [100_000, 125_000].map(|capacity| {
        let maplet = default_layout().maplet(capacity, 6);
        for (key, values) in hashes(1).take(50_000).zip([1, 3, 2].into_iter().cycle()) {
            (0..values).for_each(|value| maplet.insert(&Prehashed(key), value).expect("room"));
        }
        (maplet.stats().stashed_entries, maplet.memory_bytes())
    });
    assert!((5500..6500).contains(&stashed), "{stashed}");
    assert!(hardly_any < 10 && fewer < bytes, "{hardly_any}, {fewer} and {bytes} bytes");
}

/// No call stores a value that does not fit, and then nothing has changed.
#[test]
fn no_call_stores_a_value_that_does_not_fit() {
    for kind in Kind::each(default_layout(), 6).into_iter().filter(|kind| kind.value_bits > 0) {
        let maplet = kind.build(10, 100);
        maplet.insert((1, 5)).unwrap();
        let before = maplet.bytes();
        for value in [64, 127, u32::MAX] {
            assert_eq!(maplet.insert_if_absent((2, value)), Err(Error::ValueTooLarge));
            assert_eq!(maplet.insert_pair_if_absent((2, value)), Err(Error::ValueTooLarge));
            let last = |old: u32| Some(if old == 63 { value } else { old });
            assert_eq!(maplet.try_update_values(&last), Err(Error::ValueTooLarge));
        }
        assert!(maplet.bytes() == before);
    }
}

#[test]
fn candidates_are_printed() {
    let maplet = default_layout().maplet(100, 4);
    maplet.insert(&Prehashed(1), 7).unwrap();
    assert_eq!(format!("{:?}", maplet.get(&Prehashed(1))), "[7]");
}
