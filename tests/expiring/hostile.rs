//! Snapshots of expiring filters: the bytes, and hostile snapshots.

use coucal::{CuckooMapletView, Error, Prehashed, Storage};
use coucal_reference::format::{self, HEADER, PAIR, ReadError, forged, number, put};
use coucal_reference::{HASHER, LAYOUTS, Layout, hashes, judged, random};
use rand::RngExt;

use super::{GrowingSeen, Seen, builder, growing_builder, most_generations};

/// Returns snapshots with some of everything: three generations, a stash, doubled entries.
fn snapshots() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for layout in LAYOUTS {
        for generations in [2, 3, most_generations(layout)] {
            let builder = builder(layout, generations).capacity(60);
            all.push(filled(&builder.build().unwrap(), 4, 300, 130));
            if layout.grows() {
                let builder = growing_builder(layout, generations).capacity(1).max_capacity(2000);
                all.push(filled(&builder.build().unwrap(), 4, 300, 130));
            }
        }
    }
    // This one has short entries, in a table that has grown much.
    let doubling = growing_builder(Layout::named("Fp12x5"), 15).capacity(1).max_capacity(3600);
    all.push(filled(&doubling.build().unwrap(), 4, 3000, 300));
    // With every seed, some have stashed entries.
    let is_stashed = |bytes: &Vec<u8>| format::read(bytes).unwrap().stashed > 0;
    let (mut stashed, mut seed) = (all.iter().filter(|bytes| is_stashed(bytes)).count(), 4);
    while stashed < 5 {
        seed += 1;
        let seen = builder(Layout::named("Fp32x2"), 4).capacity(60).build().unwrap();
        all.push(filled(&seen, seed, 300, 130));
        stashed += usize::from(is_stashed(&all[all.len() - 1]));
    }
    let contents = || all.iter().map(|bytes| format::read(bytes).unwrap());
    assert!(contents().filter(|contents| contents.doubled_values > 3).count() > 0);
    all
}

/// Fills a filter with up to `items` items, as far as there are free slots, with an advance after each `part` of them.
fn filled<L: Storage>(seen: &Seen<L>, seed: u64, items: usize, part: usize) -> Vec<u8> {
    for (n, hash) in hashes(seed).take(items).enumerate() {
        drop(seen.insert(&Prehashed(hash)));
        if n % part == part - 1 {
            seen.advance();
        }
    }
    seen.snapshot().unwrap().into_bytes()
}

fn fault(bytes: &[u8]) -> Option<ReadError> {
    judged(bytes).err()
}

/// The offset of the pair of the number of generations and the clock.
fn pair(bytes: &[u8]) -> usize {
    bytes.len() - 8 - PAIR
}

/// Each number of the pair at its limits, and beyond them.
#[test]
fn hostile_generations() {
    for bytes in snapshots() {
        let place = pair(&bytes);
        let contents = judged(&bytes).expect("what was saved");
        let entry = (contents.stashed + contents.doubled_values) as usize;
        let generations = u64::from(contents.generations.unwrap().count);
        assert_eq!(number(&bytes, place), generations);
        let wrong = Some(ReadError::InvalidEntry { entry });
        let of_bits = 1_u64 << contents.geometry.value_bits;
        for count in [0, 1, of_bits / 2, of_bits + 1, 257, 1 << 32, (1 << 32) + 2, u64::MAX] {
            let hostile = forged(&bytes, |bytes| put(bytes, place, count));
            assert_eq!(fault(&hostile), wrong, "{count} in place of {generations}");
        }
        for clock in [generations, 255, u64::MAX] {
            let hostile = forged(&bytes, |bytes| put(bytes, place + 8, clock));
            let is_possible = clock % 256 < generations;
            assert_eq!(fault(&hostile), if is_possible { None } else { wrong.clone() });
        }
        // The largest number: the next one is 0.
        let last = forged(&bytes, |bytes| put(bytes, place + 8, u64::MAX << 8));
        assert_eq!(fault(&last), None);
        if !contents.geometry.grows {
            let seen: Seen = Seen::from_bytes(&last, HASHER).unwrap();
            seen.advance();
            assert_eq!(seen.generation(), 0);
        }
    }
}

/// A stamp of no generation is refused: it would never be removed.
#[test]
fn hostile_stamps() {
    let seen = builder(Layout::named("Fp16x4"), 3).capacity(10).build().unwrap();
    seen.insert("egg").unwrap();
    let bytes = seen.snapshot().unwrap().into_bytes();
    let mut words = (HEADER..pair(&bytes)).step_by(8);
    let bucket = words.position(|at| number(&bytes, at) != 0).unwrap();
    let place = HEADER + 8 * bucket;
    for stamp in 0..4_u64 {
        let word = number(&bytes, place) & 0x3fff | stamp << 14;
        let hostile = forged(&bytes, |bytes| put(bytes, place, word));
        assert_eq!(fault(&hostile), (stamp == 3).then_some(ReadError::InvalidWord { bucket }));
    }
}

/// Changes each byte of the header and of the pair, and random bytes anywhere, with correct checksums.
#[test]
fn changed_bytes() {
    let mut random = random(2);
    for bytes in snapshots() {
        let place = pair(&bytes);
        for at in (0..HEADER).chain(place..bytes.len() - 8) {
            for flip in [1, 2, 0x80] {
                drop(judged(&forged(&bytes, |bytes| bytes[at] ^= flip)));
            }
        }
        for _ in 0..150 {
            let (at, flip) =
                (random.random_range(0..bytes.len() - 8), random.random_range(1..=255));
            drop(judged(&forged(&bytes, |bytes| bytes[at] ^= flip)));
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            assert!(fault(&damaged).is_some());
        }
        for len in (0..bytes.len()).step_by(31).chain([place, place + 8, bytes.len() - 1]) {
            assert_eq!(fault(&bytes[..len]), Some(ReadError::Truncated));
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(fault(&longer), Some(ReadError::TrailingBytes { bytes: 1 }));
    }
}

/// Only an expiring filter can be restored from them; a view of a maplet reads them.
#[test]
fn as_a_maplet() {
    let seen = builder(Layout::named("Fp16x4"), 4).capacity(100).build().unwrap();
    seen.insert("egg").unwrap();
    seen.advance();
    seen.insert("nest").unwrap();
    let view = CuckooMapletView::from_bytes(seen.snapshot().unwrap(), HASHER).unwrap();
    assert!(view.contains_key("egg") && !view.contains_key("owl"));
    assert!(view.get("egg").eq([0]) && view.get("nest").eq([1]));
    assert_eq!(view.len(), 2);
}

/// A filter in which too many entries are doubled grows no further: no room can be reserved in it.
#[test]
fn no_room_is_reserved_beside_too_many_doubled_entries() {
    const DOUBLED: u64 = 300;
    let builder = growing_builder(Layout::named("Fp16x4"), 4).capacity(1).max_capacity(10_000);
    let seen = builder.build().unwrap();
    assert!(hashes(1).take(400).all(|hash| seen.insert(&Prehashed(hash)).is_ok()));
    let bytes = seen.snapshot().unwrap().into_bytes();
    let hostile = forged(&bytes, |bytes| {
        put(bytes, 48, DOUBLED);
        put(bytes, 104, 1);
        let place = pair(bytes);
        let of_value = [0, DOUBLED, DOUBLED].map(u64::to_le_bytes);
        bytes.splice(place..place, of_value.concat());
    });
    assert_eq!(fault(&hostile), None);
    let full = GrowingSeen::from_bytes(&hostile, HASHER).unwrap();
    let before = (seen.len() - DOUBLED as usize, seen.slots());
    assert_eq!((full.len(), full.slots()), before);
    assert_eq!(full.reserve(9000), Err(Error::WindowFull));
    assert_eq!((full.len(), full.slots()), before);
    // Without more items, the slots in use are enough.
    assert_eq!(full.reserve(0), Ok(()));
    assert_eq!(seen.reserve(9000), Ok(()));
}
