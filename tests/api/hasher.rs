//! Both hashers on keys as programs have them: no two hash alike, and the filter reports absent ones at the
//! stated rate. Every filter has a seed of its own. The stable hash is the one that docs/format.md defines.
//!
//! The seeds are random, so each test states the odds that it fails by chance.

use std::collections::HashSet;
use std::hash::{BuildHasher, Hash, Hasher};
use std::thread;

use coucal::{CuckooFilter, DefaultHashBuilder, Fp10x6, Fp12x5, Prehashed, StableHashBuilder};
use coucal_reference::format;
use rand::RngExt;
use rand::seq::SliceRandom;

use super::families::families;
use crate::common::{random, usually};

type Seed = DefaultHashBuilder;

/// Pairs that have all 64 bits in common. Only what shares the lowest bits with another is sorted.
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

/// The hashes of a family in an order that has nothing to do with the keys.
fn shuffled(mut hashes: Vec<u64>) -> Vec<u64> {
    hashes.shuffle(&mut random(41));
    hashes
}

/// No two keys of a family hash alike; a quarter of each family is stored and the others are looked up: they are
/// reported at the stated rate.
///
/// Under one seed, or four for the families of 2^16 keys: 1,900 false positives or more. So 16 % are nearly seven
/// standard deviations, less than one failure by chance in 10^9 runs of all families. On a long run there are four
/// times as many, and 10 % are nearly nine. A hasher that tells keys apart has two of the largest family that hash
/// alike, in ten seeds, by chance once in 5 * 10^7 runs, and such a pair twice once in 10^15: so one pair passes, and
/// two do not.
#[test]
fn keys_are_told_apart_and_absent_ones_reported_at_the_stated_rate() {
    of_families(Seed::default);
    let mut random = random(43);
    of_families(|| StableHashBuilder::new(random.random()));
}

fn of_families<S: BuildHasher + 'static>(mut hasher: impl FnMut() -> S) {
    let mut wrong = Vec::new();
    for family in families::<S>() {
        let (stored, seeds) = (family.len / 4, (usually(1, 4_usize) << 18).div_ceil(family.len));
        let (mut alike, mut reported, mut expected) = (0, 0, 0.0);
        for _ in 0..seeds {
            let builder = CuckooFilter::builder().layout::<Fp10x6>().capacity(stored);
            let filter = builder.hasher(hasher()).build().expect("memory for a test");
            let hashes = shuffled(family.hashes(filter.hasher()));
            alike += equal_pairs(&hashes);
            let (present, absent) = hashes.split_at(stored);
            filter.insert_many(Prehashed::slice(present)).expect(family.name);
            reported += absent.iter().filter(|&&hash| filter.contains(&Prehashed(hash))).count();
            expected += filter.false_positive_rate() * absent.len() as f64;
        }
        assert!(expected > usually(1800.0, 7500.0), "{}: {expected} are too few", family.name);
        let ratio = reported as f64 / expected;
        if alike > 1 || (ratio - 1.0).abs() > usually(0.16, 0.1) {
            wrong.push((family.name, alike, ratio));
        }
    }
    assert!(wrong.is_empty(), "pairs that hash alike, and the rate as a multiple: {wrong:?}");
}

/// Bytes of every length, under several seeds.
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

/// One filter for keys of several types: what the recipe of the cookbook says, also of a derived `Hash`.
#[test]
fn keys_of_several_types_with_the_stable_hasher() {
    #[derive(Hash)]
    struct Id(u64);
    let hasher = StableHashBuilder::new(7);
    let of_7 = hasher.hash_one(7_u64);
    let equal = [hasher.hash_one(7_i64), hasher.hash_one(7_usize), hasher.hash_one((7_u32, 0_u32))];
    assert_eq!(equal, [of_7; 3]);
    assert_eq!([hasher.hash_one(Id(7)), hasher.hash_one(Box::new(7_u64))], [of_7; 2]);
    assert_eq!(hasher.hash_one(-1_i64), hasher.hash_one(u64::MAX));
    let widths = [
        hasher.hash_one(7_u8),
        hasher.hash_one(7_u16),
        hasher.hash_one(7_i32),
        of_7,
        hasher.hash_one(7_u128),
        hasher.hash_one((1_u8, 7_u64)),
        hasher.hash_one((2_u8, 7_u64)),
        hasher.hash_one("egg"),
        hasher.hash_one(b"egg"),
    ];
    assert_eq!(HashSet::from(widths).len(), widths.len());
}

/// Those of one million pairs that share a class with an earlier one: some 60 are expected. Twice
/// as many come by chance less than once in 10^9 runs.
#[test]
fn insert_unique_takes_a_million_pairs_of_strings() {
    let words: Vec<String> = (0..1000).map(|i| format!("{i}")).collect();
    let filter = CuckooFilter::with_capacity(1_000_000);
    let (mut taken_for_present, mut expected) = (0, 0.0);
    for first in &words {
        for second in &words {
            taken_for_present += usize::from(filter.insert_unique(&(first, second)) == Ok(false));
        }
        expected += filter.false_positive_rate() * words.len() as f64;
    }
    assert!((40.0..80.0).contains(&expected), "{expected}");
    assert!(taken_for_present as f64 <= 2.0 * expected, "{taken_for_present}, not {expected}");
}

/// Whether writes of these values give different states of the hasher, each into a fresh one and after
/// another write. Fewer than 2^16 values each: a chance failure once in 10^9 runs.
fn told_apart(values: &[u128], write: &dyn Fn(&mut <Seed as BuildHasher>::Hasher, u128)) -> bool {
    let builder = Seed::default();
    let hash = |before: Option<u64>, value| {
        let mut hasher = builder.build_hasher();
        if let Some(before) = before {
            hasher.write_u64(before);
        }
        write(&mut hasher, value);
        hasher.finish()
    };
    [None, Some(1)].into_iter().all(|before| {
        let hashes: HashSet<u64> = values.iter().map(|&value| hash(before, value)).collect();
        hashes.len() == values.len()
    })
}

/// Of so many bits: each bit alone, each byte, and runs about zero.
fn values_of(bits: u32) -> Vec<u128> {
    let alone = (0..bits).map(|bit| 1 << bit);
    let bytes = (0..bits).step_by(8).flat_map(|at| (0..=255).map(move |byte| byte << at));
    let run = (0..255_u128).map(|i| i.wrapping_sub(127) & u128::MAX >> (128 - bits));
    let values: HashSet<u128> = alone.chain(bytes).chain(run).collect();
    assert!(values.len() >= 255);
    values.into_iter().collect()
}

/// Every value of 8 bits, and some of the wider integers.
#[test]
#[allow(clippy::cast_possible_wrap, reason = "any value of the type will do")]
fn each_method_of_the_hasher_hashes() {
    macro_rules! check {
        ($($method:ident $type:ident)*) => {$(
            let values = values_of($type::BITS);
            let by_method = told_apart(&values, &|hasher, value| hasher.$method(value as $type));
            let by_type = told_apart(&values, &|hasher, value| (value as $type).hash(hasher));
            assert!(by_method && by_type, "{}, {}", stringify!($method), stringify!($type));
        )*};
    }
    check! {
        write_u8 u8 write_u16 u16 write_u32 u32 write_u64 u64 write_u128 u128 write_usize usize
        write_i8 i8 write_i16 i16 write_i32 i32 write_i64 i64 write_i128 i128 write_isize isize
    }
    let is_true = |value| value > 0;
    let char = |value| char::from_u32(value as u32).expect("a low one");
    assert!(told_apart(&values_of(8), &|hasher, value| hasher.write(&[value as u8])), "write");
    assert!(told_apart(&[0, 1], &|hasher, value| is_true(value).hash(hasher)), "bool");
    let chars: Vec<u128> = (0..0x2000).collect();
    assert!(told_apart(&chars, &|hasher, value| char(value).hash(hasher)), "char");
}

/// A thousand filters, each made in a thread of its own that ends at once: two seeds meet by
/// chance once in 10^13 runs.
#[test]
fn every_filter_has_a_seed_of_its_own() {
    let hash_in_a_thread = |_| {
        let hash = || CuckooFilter::with_capacity(0).hash_of("egg");
        thread::spawn(hash).join().expect("a filter and a hash")
    };
    let hashes: HashSet<u64> = (0..1000).map(hash_in_a_thread).collect();
    assert_eq!(hashes.len(), 1000, "filters of different threads");

    let filters: HashSet<u64> =
        (0..1000).map(|_| CuckooFilter::with_capacity(0).hash_of("egg")).collect();
    assert_eq!(filters.len(), 1000, "filters of one thread");

    let both = hashes.union(&filters).count();
    assert_eq!(both, 2000, "filters of different threads and of one");
}

#[test]
fn clones_of_a_builder_make_filters_with_different_seeds() {
    let builder = CuckooFilter::builder().capacity(100);
    let filters: HashSet<u64> =
        (0..10).map(|_| builder.clone().build().expect("a small filter").hash_of("egg")).collect();
    assert_eq!(filters.len(), 10);
    // The layout changes nothing about that.
    let other = |_| builder.clone().layout::<Fp12x5>().build().expect("a small filter");
    let filters: HashSet<u64> = (0..10).map(other).map(|filter| filter.hash_of("egg")).collect();
    assert_eq!(filters.len(), 10);
}

#[test]
fn filters_given_one_hasher_agree() {
    let hasher = DefaultHashBuilder::default();
    let builder = CuckooFilter::builder().capacity(100).hasher(hasher.clone());
    let built = builder.clone().build().expect("a small filter");
    let again = builder.layout::<Fp12x5>().build().expect("a small filter");
    let made = CuckooFilter::with_capacity_and_hasher(10, hasher.clone());
    let from_another = CuckooFilter::with_capacity_and_hasher(10, made.hasher().clone());
    for item in ["egg", "nest", ""] {
        let expected = hasher.hash_one(item);
        let got = [
            built.hash_of(item),
            again.hash_of(item),
            made.hash_of(item),
            from_another.hash_of(item),
            made.hasher().hash_one(item),
        ];
        assert_eq!(got, [expected; 5]);
    }
}
