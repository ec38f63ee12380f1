//! Both hashers on keys that are typical of programs: no two keys have the same hash, and a filter reports absent keys
//! at the stated rate. Every filter has a seed of its own. The stable hash is the one that docs/format.md defines, and
//! the keyed one is SipHash-1-3.
//!
//! The seeds are random, so each test bounds the odds that it fails by chance.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hasher};
use std::thread;

use coucal::{
    CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, DefaultHashBuilder, Error,
    Fp16x4, Fp21x3, GrowableCuckooFilter, GrowableExpiringCuckooFilter, KeyedHashBuilder, NoHasher,
    Prehashed, StableHashBuilder,
};
use coucal_reference::format;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::families::families;
use crate::common::{Layout, hashes, is_expected, random, usually};

type Seed = DefaultHashBuilder;

/// Counts pairs that agree in all 64 bits. Sorts only hashes that share their lowest bits with another.
fn equal_pairs(hashes: &[u64]) -> usize {
    const BITS: usize = 1 << 22;
    let [mut once, mut again] = [0; 2].map(|_| vec![0_u64; BITS / 64]);
    let bit = |hash: u64| (hash as usize % BITS / 64, 1 << (hash % 64));
    for (at, mask) in hashes.iter().map(|&hash| bit(hash)) {
        again[at] |= once[at] & mask;
        once[at] |= mask;
    }
    let meets = |hash: &u64| again[bit(*hash).0] & bit(*hash).1 != 0;
    let mut few: Vec<u64> = hashes.iter().copied().filter(meets).collect();
    few.sort_unstable();
    few.chunk_by(|a, b| a == b).map(|equal| equal.len() * (equal.len() - 1) / 2).sum()
}

/// No two keys of a family have the same hash. A quarter of each family is stored, and the others are looked up: they
/// are reported at the stated rate.
///
/// A family is hashed under one seed; those of 2^16 keys under four; in a long run under four times as many. By chance,
/// a good hasher gives two keys of the largest family the same hash, under ten seeds, once in 5 * 10^7 runs; two such
/// pairs once in 10^15. So one pair passes, and two do not.
#[test]
fn keys_are_told_apart_and_absent_ones_reported_at_the_stated_rate() {
    of_families(Seed::default);
    let mut random = random(43);
    of_families(|| StableHashBuilder::new(random.random()));
}

fn of_families<S: BuildHasher + 'static>(mut hasher: impl FnMut() -> S) {
    for (name, hashes) in families::<S>() {
        let (mut looked_up, mut alike, mut reported, mut expected) = (0, 0, 0, 0.0);
        while looked_up < usually(1, 4) * (3 << 16) {
            let hasher = hasher();
            let mut hashes = hashes(&hasher);
            hashes.shuffle(&mut random(41));
            alike += equal_pairs(&hashes);
            let (present, absent) = hashes.split_at(hashes.len() / 4);
            let filter = Layout::named("Fp10x6").filter(present.len());
            filter.insert_many(Prehashed::slice(present)).expect(name);
            reported += absent.iter().filter(|&&hash| filter.contains(&Prehashed(hash))).count();
            expected += filter.false_positive_rate() * absent.len() as f64;
            looked_up += absent.len();
        }
        assert!(alike <= 1, "{name}: {alike} pairs hash alike");
        is_expected(reported, expected, 0.0, name);
    }
}

/// Hashes bytes of every length, under several seeds.
#[test]
fn the_stable_hash_is_that_of_the_page() {
    let mut random = random(47);
    for len in (0..100).chain([1000, 4096]) {
        let bytes: Vec<u8> = (0..len).map(|_| random.random()).collect();
        for seed in [0, 7, random.random()] {
            let hash = StableHashBuilder::new(seed).hash_bytes(&bytes);
            assert_eq!(hash, format::stable_hash(seed, &bytes), "{len} bytes, seed {seed}");
        }
    }
}

/// Hashes bytes of every length, in two parts, under several keys.
#[test]
fn the_keyed_hash_is_siphash_1_3() {
    let mut random = random(53);
    for len in (0..100).chain([255, 256, 1000]) {
        let bytes: Vec<u8> = (0..len).map(|_| random.random()).collect();
        for key in [[0; 16], random.random()] {
            let builder = KeyedHashBuilder::new(key);
            let expected = format::keyed_hash(key, &bytes);
            assert_eq!(builder.hash_bytes(&bytes), expected, "{len} bytes, key {key:x?}");
            let mut hasher = builder.build_hasher();
            let (first, second) = bytes.split_at(random.random_range(0..=len));
            hasher.write(first);
            hasher.write(second);
            assert_eq!(hasher.finish(), expected, "{} of {len} bytes", first.len());
        }
    }
}

/// Filters of each type can be read again with their key, and with no other: restored, as a view, and merged.
#[test]
fn a_filter_with_a_key_is_restored_with_this_key_alone() {
    let key: [u8; 16] = random(59).random();
    let (hasher, mut other) = (KeyedHashBuilder::new(key), key);
    other[15] ^= 0x80;
    let other = KeyedHashBuilder::new(other);
    let items: Vec<u64> = (0..500).collect();

    let build = |hasher: &KeyedHashBuilder| {
        GrowableCuckooFilter::builder().hasher(hasher.clone()).build().expect("enough memory")
    };
    let filter = build(&hasher);
    filter.insert_many(&items).expect("enough memory");
    let bytes = filter.snapshot().expect("enough memory").into_bytes();
    let restored =
        GrowableCuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher.clone()).expect("its key");
    assert!(restored.contains_each(&items).iter().all(|&found| found));
    assert!(restored.contains(&Prehashed(hasher.hash_one(7_u64))));
    let refused = GrowableCuckooFilter::<Fp16x4, _>::from_bytes(&bytes, other.clone());
    assert_eq!(refused.err(), Some(Error::OtherHasher));

    let view = CuckooFilterView::from_bytes(&bytes, hasher.clone()).expect("its key");
    assert!(items.iter().all(|item| view.contains(item)));
    assert_eq!(CuckooFilterView::from_bytes(&bytes, other.clone()).err(), Some(Error::OtherHasher));
    let trusted = CuckooFilterView::from_trusted_bytes(&bytes, other.clone());
    assert_eq!(trusted.err(), Some(Error::OtherHasher));

    let all = build(&hasher);
    assert_eq!((all.merge(&filter), all.len()), (Ok(()), 500));
    assert_eq!(build(&other).merge(&filter), Err(Error::OtherHasher));

    let maplet = CuckooMaplet::with_capacity_and_hasher(100, 6, hasher.clone());
    maplet.insert("egg", 7).expect("room");
    let bytes = maplet.snapshot().expect("enough memory").into_bytes();
    let restored = CuckooMaplet::<Fp16x4, _>::from_bytes(&bytes, hasher.clone()).expect("its key");
    assert!(restored.get("egg").eq([7]));
    let refused = CuckooMaplet::<Fp16x4, _>::from_bytes(&bytes, other.clone());
    assert_eq!(refused.err(), Some(Error::OtherHasher));

    let seen = GrowableExpiringCuckooFilter::<Fp21x3, _>::with_hasher(4, hasher.clone());
    seen.insert("egg").expect("enough memory");
    let bytes = seen.snapshot().expect("enough memory").into_bytes();
    let restored = GrowableExpiringCuckooFilter::<Fp21x3, _>::from_bytes(&bytes, hasher);
    assert_eq!(restored.expect("its key").age("egg"), Some(0));
    let refused = GrowableExpiringCuckooFilter::<Fp21x3, _>::from_bytes(&bytes, other);
    assert_eq!(refused.err(), Some(Error::OtherHasher));
}

/// Filters of each type that have no hasher can be read again without one, restored and as a view, and not with a
/// hasher; and a filter that has a hasher cannot be read without it.
#[test]
fn a_filter_of_hashes_is_restored_without_a_hasher() {
    let hashes: Vec<u64> = hashes(77).take(500).collect();
    let items = Prehashed::slice(&hashes);
    let (egg, stable) = (Prehashed(7), StableHashBuilder::default());
    let refused = Some(Error::OtherHasher);

    let filter = GrowableCuckooFilter::with_hasher(NoHasher);
    filter.insert_many(items).expect("enough memory");
    let bytes = filter.snapshot().expect("enough memory").into_bytes();
    assert_eq!(bytes[80..88], [0; 8]);
    let restored =
        GrowableCuckooFilter::<Fp16x4, _>::from_bytes(&bytes, NoHasher).expect("its type");
    let view = CuckooFilterView::from_bytes(&bytes, NoHasher).expect("its type");
    let trusted = CuckooFilterView::from_trusted_bytes(&bytes, NoHasher).expect("its type");
    let copy = filter.try_clone().expect("enough memory");
    for item in items {
        assert!(restored.contains(item) && copy.contains(item));
        assert!(view.contains(item) && trusted.contains(item));
    }
    assert_eq!(restored.snapshot().expect("enough memory").into_bytes(), bytes);
    assert_eq!(GrowableCuckooFilter::<Fp16x4, _>::from_bytes(&bytes, stable).err(), refused);
    assert_eq!(CuckooFilterView::from_bytes(&bytes, stable).err(), refused);
    restored.merge(&filter).expect("no hasher either");
    assert!(restored.len() == 1000 && restored.count(&items[0]) == 2);

    let maplet = CuckooMaplet::with_capacity_and_hasher(100, 6, NoHasher);
    maplet.insert(&egg, 7).expect("room");
    let bytes = maplet.snapshot().expect("enough memory").into_bytes();
    let restored = CuckooMaplet::<Fp16x4, _>::from_bytes(&bytes, NoHasher).expect("its type");
    let view = CuckooMapletView::from_bytes(&bytes, NoHasher).expect("its type");
    assert!(restored.get(&egg).eq([7]) && view.get(&egg).eq([7]));

    let seen = GrowableExpiringCuckooFilter::<Fp21x3, _>::with_hasher(4, NoHasher);
    seen.insert(&egg).expect("enough memory");
    let bytes = seen.snapshot().expect("enough memory").into_bytes();
    let restored = GrowableExpiringCuckooFilter::<Fp21x3, _>::from_bytes(&bytes, NoHasher);
    assert_eq!(restored.expect("its type").age(&egg), Some(0));

    let hashed = CuckooFilter::with_capacity_and_hasher(100, stable);
    let bytes = hashed.snapshot().expect("enough memory").into_bytes();
    assert_eq!(CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, NoHasher).err(), refused);
}

/// With a known seed, trials find a key that is taken for another one. With a secret key, the same two keys are told
/// apart.
#[test]
fn items_that_collide_under_a_known_seed_do_not_under_a_secret_key() {
    fn with_item<S: BuildHasher>(hasher: S, item: &str) -> CuckooFilter<Fp16x4, S> {
        let filter = CuckooFilter::with_capacity_and_hasher(1, hasher);
        filter.insert(item).expect("room");
        filter
    }
    let known = with_item(StableHashBuilder::new(7), "order-7");
    let mut keys = (0..10_000_000).map(|n| format!("forged-{n}"));
    let forged = keys.find(|key| known.contains(key)).expect("one in some 30,000");
    assert!(with_item(StableHashBuilder::new(7), &forged).contains("order-7"));
    let secret = KeyedHashBuilder::new(*b"a fixed test key");
    assert!(!with_item(secret.clone(), &forged).contains("order-7"));
    assert!(!with_item(secret, "order-7").contains(&forged));
}

/// Keys of several types have the same hash or not, as the crate's documentation says. (The unit tests of the stable
/// hasher show what it does.)
#[test]
fn the_type_of_a_key_is_part_of_it() {
    let default = Seed::default();
    assert_ne!(default.hash_one("egg"), default.hash_one(b"egg"));
    assert_eq!(default.hash_one(7_u32), default.hash_one(7_u64));
    assert_eq!(default.hash_one("egg"), default.hash_one(String::from("egg")));
}

/// A thousand filters of one thread, a thousand that are each made in a thread of its own, and some of clones of one
/// builder have different seeds. Two seeds are equal by chance once in 10^13 runs.
#[test]
fn every_filter_has_a_seed_of_its_own() {
    let hash = || CuckooFilter::with_capacity(0).hash_of("egg");
    let builder = CuckooFilter::builder().capacity(0);
    let of_clone = |_| builder.clone().build().expect("a small filter").hash_of("egg");
    let of_thread = |_| thread::spawn(hash).join().expect("a filter and a hash");
    let hashes = (0..1000).flat_map(|n| [hash(), of_thread(n), of_clone(n)]);
    assert_eq!(hashes.collect::<HashSet<u64>>().len(), 3000);
}

#[test]
fn filters_given_one_hasher_agree() {
    let hasher = DefaultHashBuilder::default();
    let built = CuckooFilter::builder().capacity(100).hasher(hasher.clone()).build();
    let made = CuckooFilter::with_capacity_and_hasher(10, hasher.clone());
    let from_another = CuckooFilter::with_capacity_and_hasher(10, made.hasher().clone());
    for item in ["egg", "nest", ""] {
        let built = built.as_ref().expect("a small filter").hash_of(item);
        let got = [built, made.hash_of(item), from_another.hash_of(item)];
        assert_eq!(got, [hasher.hash_one(item); 3]);
    }
}
