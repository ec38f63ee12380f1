//! What users of any collection expect: defaults, copies, iterators, and panics that are caught.

use std::hash::{BuildHasher, Hash, Hasher};
use std::panic::catch_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coucal::{
    AnyLayout, Builder, CuckooFilter, CuckooMaplet, Error, ExpiringCuckooFilter, Fp16x4,
    GrowableCuckooMaplet, MapletBuilder, Prehashed, Snapshot, StableHashBuilder, StableHasher,
    Stats,
};

use crate::common::{LAYOUTS, stopped};

const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;

fn filter(capacity: usize) -> Filter {
    CuckooFilter::with_capacity_and_hasher(capacity, HASHER)
}

fn maplet(capacity: usize) -> CuckooMaplet {
    CuckooMaplet::builder().capacity(capacity).value_bits(6).build().unwrap()
}

#[test]
fn a_default_builder_is_that_of_the_type() {
    let printed = format!("{:?}", CuckooFilter::builder());
    assert_eq!(format!("{:?}", <Builder>::default()), printed);
    let printed = format!("{:?}", CuckooMaplet::builder());
    assert_eq!(format!("{:?}", <MapletBuilder>::default()), printed);
    assert_eq!(Stats::default(), filter(1).stats());
}

#[test]
fn a_clone_of_a_snapshot_has_the_same_bytes_and_restores() {
    let filter = filter(1000);
    filter.insert_all(0..900).unwrap();
    let snapshot: Snapshot = filter.snapshot().unwrap();
    let clone = snapshot.clone();
    assert_eq!(clone, snapshot);
    let copies = [snapshot, clone].map(|taken| Filter::from_snapshot(&taken, HASHER).unwrap());
    assert!(copies[0].remove(&7));
    assert!(copies.iter().all(|copy| (100..900).all(|item| copy.contains(&item))));
    assert!(copies[1].contains(&7) && filter.contains(&7));
    assert_eq!(copies.map(|copy| copy.len()), [899, 900]);
}

/// The constructors that return no error panic with its message.
#[test]
fn what_cannot_be_built_is_a_panic() {
    fn panics<T>(build: impl FnOnce() -> T + std::panic::UnwindSafe, expected: &Error) {
        let Err(payload) = catch_unwind(build) else { panic!("{expected}") };
        assert_eq!(payload.downcast_ref::<String>(), Some(&expected.to_string()));
    }
    let too_large = CuckooFilter::builder().capacity(usize::MAX).build().expect_err("too large");
    panics(|| CuckooFilter::with_capacity(usize::MAX), &too_large);
    panics(|| CuckooFilter::with_capacity_and_hasher(usize::MAX, HASHER), &too_large);
    panics(|| CuckooMaplet::with_capacity(usize::MAX, 6), &too_large);
    let bits = CuckooMaplet::builder().value_bits(11).build().expect_err("too many");
    panics(|| CuckooMaplet::with_capacity_and_hasher(100, 11, HASHER), &bits);
    let bits = CuckooMaplet::builder().growable().value_bits(21).build().expect_err("too many");
    panics(|| GrowableCuckooMaplet::new(21), &bits);
    panics(|| GrowableCuckooMaplet::with_hasher(21, HASHER), &bits);
}

#[test]
fn constructors_do_as_the_builder() {
    let maplet = CuckooMaplet::with_capacity_and_hasher(1000, 6, HASHER);
    let built = CuckooMaplet::builder().capacity(1000).value_bits(6).hasher(HASHER).build();
    assert_eq!(format!("{maplet:?}"), format!("{:?}", built.expect("memory")));
    assert_eq!(maplet.hash_of("egg"), HASHER.hash_one("egg"));
    let maplet = GrowableCuckooMaplet::with_hasher(3, HASHER);
    let built = CuckooMaplet::builder().growable().value_bits(3).hasher(HASHER).build();
    assert_eq!(format!("{maplet:?}"), format!("{:?}", built.expect("memory")));
}

/// A layout by its name, in each order of calls; and what cannot be.
#[test]
fn a_layout_by_its_name() {
    let builder = || CuckooFilter::builder().hasher(HASHER);
    for name in ["Fp8x8", "Fp12x5", "SemiSorted17x4", "Fp32x2"] {
        let filter = builder().layout_named(name).unwrap().capacity(1000).build().unwrap();
        assert_eq!((filter.layout_name(), filter.capacity()), (name, 1000));
        let filter = builder().capacity(1000).layout_named(name).unwrap();
        let rate = filter.clone().false_positive_rate(1e-12).build().unwrap_err();
        assert!(matches!(rate, Error::RateOutOfReach { other: None, .. }));
        // The last choice counts.
        let any = filter.clone().any_layout().false_positive_rate(0.01).build().unwrap();
        assert_eq!(any.layout_name(), "Fp12x5");
        assert_eq!(filter.layout::<Fp16x4>().build().unwrap().layout_name(), "Fp16x4");
    }
    let growing = builder().layout_named("Fp21x3").unwrap().growable().build().unwrap();
    assert_eq!(growing.layout_name(), "Fp21x3");
    let cannot_grow = builder().layout_named("Fp8x8").unwrap().growable().build();
    assert_eq!(cannot_grow.unwrap_err(), Error::NoSuchLayout { grows: true });
    for name in ["", "fp16x4", "AnyLayout", "Fp16x4 "] {
        let error = builder().layout_named(name).unwrap_err();
        assert_eq!(error, Error::NoSuchLayout { grows: false });
        let error = builder().growable().layout_named(name).unwrap_err();
        assert_eq!(error, Error::NoSuchLayout { grows: true });
    }
    assert_eq!(AnyLayout::NAMES, LAYOUTS.map(|layout| layout.name));
    for layout in LAYOUTS {
        let maplets = CuckooMaplet::builder().value_bits(3).max_capacity(1000);
        let expiring = ExpiringCuckooFilter::builder().generations(4).max_capacity(1000);
        let names = [
            builder()
                .growable()
                .layout_named(layout.name)
                .map(|b| b.build().unwrap().layout_name()),
            maplets.layout_named(layout.name).map(|b| b.build().unwrap().layout_name()),
            expiring.layout_named(layout.name).map(|b| b.build().unwrap().layout_name()),
        ];
        let expected = layout.grows().then_some(layout.name);
        let expected = expected.ok_or(Error::NoSuchLayout { grows: true });
        assert!(names.iter().all(|name| *name == expected), "{names:?}");
    }
    assert!(format!("{:?}", builder().layout_named("Fp21x3").unwrap()).contains("Fp21x3"));
    let short = CuckooMaplet::builder().layout_named("Fp8x8").unwrap().value_bits(6).build();
    assert!(matches!(short, Err(Error::ValueBitsOutOfRange { other: Some("Fp12x5"), .. })));
}

/// In a filter of fixed size, which holds more than it was built for, and in one that grows.
#[test]
fn the_capacity_is_never_below_the_length_nor_below_what_was_asked_for() {
    for asked in [0, 1, 7, 100, 3000] {
        let fixed = filter(asked);
        let grows = CuckooFilter::builder().capacity(asked).max_capacity(asked).hasher(HASHER);
        let grows = grows.build().unwrap();
        let maplet = maplet(asked);
        assert_eq!([fixed.capacity(), maplet.capacity()], [asked; 2]);
        // Of the first item there are more copies than its two buckets hold.
        for item in [0; 20].into_iter().chain(1..asked as u64 * 2 + 100) {
            let _ = fixed.insert(&item);
            let _ = grows.insert(&item);
            let _ = maplet.insert(&item, 1);
            assert!(fixed.capacity() >= fixed.len().max(asked));
            assert!(grows.capacity() >= grows.len().max(asked));
            assert!(maplet.capacity() >= maplet.len().max(asked));
        }
        let stashed = [fixed.stats(), grows.stats(), maplet.stats()];
        // Two buckets alone are full of them.
        assert!(asked < 100 || stashed.iter().all(|of| of.stashed_copies >= 12), "{stashed:?}");
        assert!([fixed.len(), grows.len(), maplet.len()].iter().all(|&len| len > asked));
    }
}

/// One type serves for filters that grow and for filters of fixed size.
#[test]
fn a_growable_filter_with_equal_capacities_keeps_its_size() {
    let builder = CuckooFilter::builder().capacity(10_000).max_capacity(10_000).hasher(HASHER);
    let filter = builder.build().unwrap();
    let slots = filter.slots();
    filter.insert_all(0..10_000).unwrap();
    assert_eq!((filter.len(), filter.slots()), (10_000, slots));
}

#[test]
fn an_iterator_of_any_length_is_inserted_in_order() {
    for length in [0, 1, 255, 256, 257, 511, 512, 1000] {
        let filter = filter(2000);
        filter.insert_all((0..length).filter(|_| true)).unwrap();
        assert_eq!(filter.len(), length);
        assert!((0..length).all(|item| filter.contains(&item)));
        let more = (0..length + 300).filter(|_| true);
        assert_eq!(filter.insert_unique_all(more.chain(0..length)), Ok(300));
        assert_eq!(filter.len(), length + 300);
        let maplet = maplet(2000);
        maplet.insert_all((0..length).map(|key| (key, key as u32 % 64))).unwrap();
        assert_eq!(maplet.len(), length);
        assert!((0..length).all(|key| maplet.get(&key).any(|value| value == key as u32 % 64)));
    }
}

#[test]
fn an_iterator_that_does_not_fit_says_how_many_were_stored() {
    let filter = filter(1000);
    let failed = filter.insert_all((0..).map(Prehashed)).unwrap_err();
    let stored = filter.len();
    assert_eq!(failed.stored(), stored);
    assert_eq!(stopped(failed), (stored, stored, Error::Full));
    assert!(stored >= 1000);
    assert!((0..stored as u64).all(|hash| filter.remove(&Prehashed(hash))));
    assert!(filter.is_empty());

    let maplet = maplet(1000);
    let failed = maplet.insert_all((0..900).map(|key| (key, if key < 700 { 1 } else { 64 })));
    assert_eq!(stopped(failed.unwrap_err()), (700, 700, Error::ValueTooLarge));
    assert_eq!(maplet.len(), 700);
}

/// No lock is held while the iterator runs, and the batch before is in the filter.
#[test]
fn an_iterator_may_use_the_filter() {
    let filter = filter(2000);
    let items = (0..1000_u32).inspect(|item| {
        if let Some(long_ago) = item.checked_sub(256) {
            assert!(filter.remove(&long_ago));
        }
    });
    filter.insert_all(items).unwrap();
    assert_eq!(filter.len(), 256);
}

/// An item whose hash panics.
struct Bad(bool);

impl Hash for Bad {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(!self.0, "no hash");
        state.write_u8(1);
    }
}

/// A hasher that panics when it is told to.
#[derive(Clone, Default)]
struct Moody(Arc<AtomicBool>);

impl BuildHasher for Moody {
    type Hasher = StableHasher;

    fn build_hasher(&self) -> StableHasher {
        assert!(!self.0.load(Ordering::Relaxed), "no hasher");
        HASHER.build_hasher()
    }
}

#[test]
fn shared_filters_and_maplets_go_through_catch_unwind() {
    let (filter, maplet) = (Arc::new(CuckooFilter::with_capacity(100)), Arc::new(maplet(100)));
    let (other, of_other) = (Arc::clone(&filter), Arc::clone(&maplet));
    let panicked = catch_unwind(move || {
        other.insert("egg").unwrap();
        of_other.insert("egg", 7).unwrap();
        panic!("after the inserts");
    });
    assert!(panicked.is_err());
    assert!(filter.contains("egg") && maplet.get("egg").eq([7]));
    assert!(catch_unwind(|| filter.snapshot().unwrap()).is_ok_and(|taken| taken.len() == 1));
    assert!(catch_unwind(|| maplet.snapshot().unwrap()).is_ok_and(|taken| taken.len() == 1));
}

/// Every operation that takes a lock works afterwards, on every stripe (`clear` and `snapshot` take all).
#[test]
fn a_panic_of_a_hash_leaves_the_filter_usable() {
    let filter = filter(1000);
    filter.insert_all(0..500).unwrap();
    let bad = || Bad(true);
    assert!(catch_unwind(|| filter.insert(&bad())).is_err());
    assert!(catch_unwind(|| filter.insert_unique(&bad())).is_err());
    assert!(catch_unwind(|| filter.contains(&bad())).is_err());
    assert!(catch_unwind(|| filter.count(&bad())).is_err());
    assert!(catch_unwind(|| filter.remove(&bad())).is_err());
    assert!(catch_unwind(|| filter.insert_many(&[bad()])).is_err());
    assert!(catch_unwind(|| filter.insert_unique_many(&[bad()], &mut [false])).is_err());
    assert!(catch_unwind(|| filter.insert_all([bad()])).is_err());
    assert!(catch_unwind(|| filter.insert_unique_all([bad()])).is_err());
    assert!(catch_unwind(|| filter.insert_all((0..9).map(|n| Bad(n == 8)))).is_err());
    assert!(catch_unwind(|| filter.insert_all((0..9).inspect(|n| assert!(*n < 8)))).is_err());
    assert_eq!(filter.len(), 500);

    let taken = filter.snapshot().unwrap();
    assert_eq!(taken.len(), 500);
    assert!((0..500).all(|item| filter.remove(&item)));
    filter.insert("egg").unwrap();
    filter.clear();
    assert!(filter.is_empty());
}

#[test]
fn a_panic_of_the_hasher_leaves_both_filters_of_a_merge_usable() {
    let hasher = Moody::default();
    let [one, other] = [0, 1].map(|_| CuckooFilter::with_capacity_and_hasher(1000, hasher.clone()));
    one.insert("egg").unwrap();
    other.insert("nest").unwrap();
    hasher.0.store(true, Ordering::Relaxed);
    assert!(catch_unwind(|| one.merge(&other)).is_err());
    assert!(catch_unwind(|| one.snapshot()).is_err());
    assert!(catch_unwind(|| one.insert("owl")).is_err());
    hasher.0.store(false, Ordering::Relaxed);
    one.insert("owl").unwrap();
    assert_eq!((one.len(), other.len()), (2, 1));
    one.merge(&other).unwrap();
    assert!(["egg", "nest", "owl"].iter().all(|item| one.contains(item)));
    one.clear();
    other.clear();
    assert!(one.is_empty() && other.is_empty());
}

/// As the crate's documentation says of keys of several types.
#[test]
fn the_type_of_a_key_is_part_of_it() {
    assert_ne!(HASHER.hash_one("egg"), HASHER.hash_one(b"egg"));
    assert_ne!(HASHER.hash_one(7_u32), HASHER.hash_one(7_u64));
    let default = coucal::DefaultHashBuilder::default();
    assert_ne!(default.hash_one("egg"), default.hash_one(b"egg"));
    assert_eq!(default.hash_one(7_u32), default.hash_one(7_u64));
    assert_eq!(default.hash_one("egg"), default.hash_one(String::from("egg")));
}

/// Each constructor of the table in the crate's documentation is a line of the documentation test.
#[test]
fn each_constructor_of_the_table_is_compiled() {
    let crate_docs = include_str!("../../src/lib.rs");
    let (_, table) = crate_docs.split_once("//! # Constructors").unwrap();
    let rows = table.lines().skip_while(|line| !line.starts_with("//! |"));
    let rows = rows.take_while(|line| line.starts_with("//! |")).skip(2);
    let constructors: Vec<&str> = rows.map(|row| row.rsplit('`').nth(1).unwrap()).collect();
    let (_, compiled) = crate_docs.split_once("/// The constructors of the table").unwrap();
    let compiled = compiled.lines().filter_map(|line| line.strip_prefix("/// "));
    let compiled: Vec<&str> = compiled
        .filter(|line| !line.starts_with("# ") && !line.starts_with("use "))
        .filter_map(|line| line.strip_suffix(';'))
        .collect();
    assert!(constructors.len() > 10);
    assert_eq!(constructors, compiled);
}
