//! Snapshots of expiring filters: their bytes, and hostile ones.

use coucal::{
    CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, Error, Prehashed, Snapshot,
};
use coucal_reference::format::{self, Fault, PAIR, at, forged, number, put};
use coucal_reference::{HASHER, LAYOUTS, Layout, hashes, random};
use rand::RngExt;

use super::{GrowingSeen, Seen, builder, most_generations};

/// Snapshots with some of everything: three generations, a stash, doubled entries.
fn snapshots() -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for layout in LAYOUTS {
        for generations in [2, 3, most_generations(layout)] {
            let seen = builder(layout, generations).capacity(60).build().unwrap();
            fill(|item| drop(seen.insert(item)), || seen.advance());
            all.push(seen.snapshot().unwrap().into_bytes());
            if layout.grows() {
                let builder = builder(layout, generations).capacity(1).max_capacity(2000);
                let seen: GrowingSeen = builder.build().unwrap();
                fill(|item| drop(seen.insert(item)), || seen.advance());
                all.push(seen.snapshot().unwrap().into_bytes());
            }
        }
    }
    // Short entries of a table that has grown much.
    let layout = Layout::named("Fp12x5");
    let generations = 15;
    let doubling: GrowingSeen =
        builder(layout, generations).capacity(1).max_capacity(3600).build().unwrap();
    for (n, hash) in hashes(4).take(3000).enumerate() {
        doubling.insert(&Prehashed(hash)).unwrap();
        if n % 300 == 299 {
            doubling.advance();
        }
    }
    all.push(doubling.snapshot().unwrap().into_bytes());
    let contents = || all.iter().map(|bytes| format::read(bytes).unwrap());
    assert!(contents().filter(|contents| contents.stashed > 0).count() > 3);
    assert!(contents().filter(|contents| contents.doubled_values > 3).count() > 0);
    all
}

fn fill(insert: impl Fn(&Prehashed), advance: impl Fn() -> usize) {
    for (n, hash) in hashes(4).take(300).enumerate() {
        insert(&Prehashed(hash));
        if n % 130 == 129 {
            advance();
        }
    }
}

/// What the crate makes of bytes is what the independent reader does. What is restored forgets all.
fn compare(bytes: &[u8]) -> Result<(), Fault> {
    let read = format::read(bytes);
    let snapshot = Snapshot::from_bytes(bytes);
    match (&read, &snapshot) {
        (Ok(contents), Ok(snapshot)) => {
            assert_eq!(contents.items(), snapshot.len() as u64);
            let generations = contents.generations.map(|generations| generations.count);
            assert_eq!(snapshot.generations(), generations);
            let Some(generations) = generations else { return Ok(()) };
            let restored: [Result<usize, Error>; 2] = [
                Seen::from_snapshot(snapshot, HASHER).map(|seen: Seen| forget(&seen, generations)),
                GrowingSeen::from_snapshot(snapshot, HASHER)
                    .map(|seen| (0..generations).map(|_| seen.advance()).sum()),
            ];
            let [fixed, growing] = restored;
            match (contents.geometry.grows, &fixed, &growing) {
                (false, Ok(gone), Err(_)) => assert_eq!(*gone, snapshot.len()),
                (true, Err(_), Ok(_))
                | (_, Err(Error::OtherHasher), _)
                | (_, _, Err(Error::OtherHasher)) => {}
                other => panic!("{other:?}"),
            }
        }
        (Err(fault), Err(error)) => assert_eq!(*fault, Fault::of(error)),
        (read, snapshot) => panic!("{:?} and {snapshot:?}", read.as_ref().err()),
    }
    read.map(|_| ())
}

fn forget(seen: &Seen, generations: u32) -> usize {
    let gone = (0..generations).map(|_| seen.advance()).sum();
    assert_eq!((seen.len(), seen.load_factor()), (0, 0.0));
    gone
}

/// The place of the pair with the number of generations and the clock.
fn pair(bytes: &[u8]) -> usize {
    bytes.len() - 8 - PAIR
}

#[test]
fn bytes_go_there_and_back() {
    for bytes in snapshots() {
        assert_eq!(compare(&bytes), Ok(()));
        let contents = format::read(&bytes).unwrap();
        let again = if contents.geometry.grows {
            GrowingSeen::from_bytes(&bytes, HASHER).unwrap().snapshot()
        } else {
            Seen::from_bytes(&bytes, HASHER).map(|seen: Seen| seen.snapshot()).unwrap()
        };
        assert_eq!(again.unwrap().as_bytes(), bytes);
    }
}

/// Each number of the pair at its limits, and beyond them.
#[test]
fn hostile_generations() {
    for bytes in snapshots() {
        let place = pair(&bytes);
        let contents = format::read(&bytes).unwrap();
        let entries = (contents.stashed + contents.doubled_values) as usize;
        let generations = contents.generations.unwrap();
        assert_eq!(number(&bytes, place), u64::from(generations.count));
        let wrong = Err(Fault::InvalidEntry(entries));
        let of_bits = 1_u64 << contents.geometry.value_bits;
        for count in [0, 1, of_bits / 2, of_bits + 1, 257, 1 << 32, (1 << 32) + 2, u64::MAX] {
            let hostile = forged(&bytes, |bytes| put(bytes, place, count));
            let is_other = count != 1 || of_bits != 2;
            assert_eq!(compare(&hostile), wrong, "{count} {is_other}");
        }
        for clock in [generations.count.into(), 255, u64::MAX] {
            let hostile = forged(&bytes, |bytes| put(bytes, place + 8, clock));
            let is_possible = clock % 256 < u64::from(generations.count);
            assert_eq!(compare(&hostile), if is_possible { Ok(()) } else { wrong });
        }
        // The last number there is: the next one is 0.
        let last = forged(&bytes, |bytes| put(bytes, place + 8, u64::MAX << 8));
        assert_eq!(compare(&last), Ok(()));
        if !contents.geometry.grows {
            let seen: Seen = Seen::from_bytes(&last, HASHER).unwrap();
            seen.advance();
            assert_eq!(seen.generation(), 0);
        }
    }
}

/// A stamp that no generation has would never be removed.
#[test]
fn hostile_stamps() {
    let seen = builder(Layout::named("Fp16x4"), 3).capacity(10).build().unwrap();
    let crowd = hashes(1).next().unwrap();
    seen.insert(&Prehashed(crowd)).unwrap();
    let bytes = seen.snapshot().unwrap().into_bytes();
    let words = format::HEADER..pair(&bytes);
    let bucket = words.clone().step_by(8).position(|at| number(&bytes, at) != 0).unwrap();
    let place = format::HEADER + 8 * bucket;
    for stamp in 0..4_u64 {
        let word = number(&bytes, place) & 0x3fff | stamp << 14;
        let hostile = forged(&bytes, |bytes| put(bytes, place, word));
        let expected = if stamp < 3 { Ok(()) } else { Err(Fault::InvalidWord(bucket)) };
        assert_eq!(compare(&hostile), expected);
    }
}

/// A change of each byte of the header and of the pair, and random ones anywhere, with checksums that are right.
#[test]
fn changed_bytes() {
    let mut random = random(2);
    for bytes in snapshots() {
        let place = pair(&bytes);
        for at in (0..format::HEADER).chain(place..bytes.len() - 8) {
            for flip in [1, 2, 0x80] {
                let _ = compare(&forged(&bytes, |bytes| bytes[at] ^= flip));
            }
        }
        for _ in 0..150 {
            let (at, flip) =
                (random.random_range(0..bytes.len() - 8), random.random_range(1..=255));
            let _ = compare(&forged(&bytes, |bytes| bytes[at] ^= flip));
            let mut damaged = bytes.clone();
            damaged[at] ^= flip;
            assert!(compare(&damaged).is_err());
        }
        for len in (0..bytes.len()).step_by(31).chain([place, place + 8, bytes.len() - 1]) {
            assert!(compare(&bytes[..len]).is_err());
        }
        let longer = [&bytes[..], &[0]].concat();
        assert_eq!(compare(&longer), Err(Fault::TrailingBytes(1)));
    }
}

type Filter = CuckooFilter<coucal::Fp16x4, coucal::StableHashBuilder>;
type Maplet = CuckooMaplet<coucal::Fp16x4, coucal::StableHashBuilder>;

/// Only an expiring filter is made of them; a view of a maplet reads them.
#[test]
fn other_types() {
    let seen = builder(Layout::named("Fp16x4"), 4).capacity(100).build().unwrap();
    seen.insert("egg").unwrap();
    seen.advance();
    seen.insert("nest").unwrap();
    let bytes = seen.snapshot().unwrap().into_bytes();
    let expires = Error::OtherType { name: "ExpiringCuckooFilter" };
    assert_eq!(Filter::from_bytes(&bytes, HASHER).unwrap_err(), expires);
    assert_eq!(Maplet::from_bytes(&bytes, HASHER).unwrap_err(), expires);
    assert_eq!(CuckooFilterView::from_bytes(&bytes[..], HASHER).unwrap_err(), expires);
    let view = CuckooMapletView::from_bytes(&bytes[..], HASHER).unwrap();
    assert!(view.contains_key("egg") && !view.contains_key("owl"));
    assert!(view.get("egg").eq([0]) && view.get("nest").eq([1]));
    assert_eq!(view.len(), 2);

    let of = |name| Err::<(), _>(Error::OtherType { name });
    let filter = CuckooFilter::with_capacity_and_hasher(100, HASHER).snapshot().unwrap();
    assert_eq!(
        Seen::<coucal::Fp16x4>::from_snapshot(&filter, HASHER).map(drop),
        of("CuckooFilter")
    );
    let maplet = CuckooMaplet::with_capacity_and_hasher(100, 2, HASHER).snapshot().unwrap();
    assert_eq!(
        Seen::<coucal::Fp16x4>::from_snapshot(&maplet, HASHER).map(drop),
        of("CuckooMaplet")
    );
    assert_eq!(GrowingSeen::from_bytes(&bytes, HASHER).map(drop), Err(expires));
    assert_eq!(bytes[at::KIND], 4);
}

/// A filter is its snapshot in any data format: the generations are in it. Bytes of another type are an error.
#[cfg(feature = "serde")]
#[test]
fn as_data_of_serde() {
    use coucal::StableHashBuilder;

    let hasher = StableHashBuilder::default();
    let builder = coucal::ExpiringCuckooFilter::builder().capacity(100).generations(5);
    let seen = builder.hasher(hasher).build().unwrap();
    seen.insert("egg").unwrap();
    seen.advance();
    let bytes = postcard::to_allocvec(&seen).unwrap();
    let back: Seen<coucal::Fp16x4> = postcard::from_bytes(&bytes).unwrap();
    assert_eq!((back.generations(), back.generation(), back.age("egg")), (5, 1, Some(1)));
    let text = serde_json::to_string(&seen).unwrap();
    let back: Seen<coucal::Fp16x4> = serde_json::from_str(&text).unwrap();
    assert_eq!(back.snapshot().unwrap(), seen.snapshot().unwrap());
    assert!(postcard::from_bytes::<Filter>(&bytes).is_err());
    let filter = CuckooFilter::with_capacity_and_hasher(100, hasher);
    let bytes = postcard::to_allocvec(&filter).unwrap();
    assert!(postcard::from_bytes::<Seen<coucal::Fp16x4>>(&bytes).is_err());
}
