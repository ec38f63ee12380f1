//! What users of any collection expect: defaults, layouts by name, iterators, and panics that can be caught.

use std::cell::RefCell;
use std::hash::BuildHasher;
use std::panic::{AssertUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use coucal::{
    AnyLayout, Builder, CuckooFilter, CuckooMaplet, Error, ExpiringCuckooFilter, Fp16x4, Fp21x3,
    Fp32x2, GrowableCuckooFilter, GrowableCuckooMaplet, GrowableExpiringCuckooFilter,
    MapletBuilder, Prehashed, StableHashBuilder, StableHasher, Stats,
};

use crate::common::{Filter, HASHER, Kind, LAYOUTS, default_layout, stopped};

fn filter(capacity: usize) -> Filter<coucal::Fixed<Fp16x4>> {
    CuckooFilter::with_capacity_and_hasher(capacity, HASHER)
}

#[test]
fn a_default_builder_is_that_of_the_type() {
    let printed = format!("{:?}", CuckooFilter::builder());
    assert_eq!(format!("{:?}", <Builder>::default()), printed);
    let printed = format!("{:?}", CuckooMaplet::builder());
    assert_eq!(format!("{:?}", <MapletBuilder>::default()), printed);
    let printed = format!("{:?}", CuckooMaplet::builder().value_bits(3).capacity(77));
    assert!(printed.contains("value_bits: 3") && printed.contains("Some(77)"), "{printed}");
    assert_eq!(Stats::default(), filter(1).stats());
}

/// A constructor that does not return an error panics with its message.
#[test]
fn a_filter_that_cannot_be_built_is_a_panic() {
    fn panics<T>(build: impl FnOnce() -> T + UnwindSafe, expected: &Error) {
        let Err(payload) = catch_unwind(build) else { panic!("{expected}") };
        assert_eq!(payload.downcast_ref::<String>(), Some(&expected.to_string()));
    }
    let too_large = CuckooFilter::builder().capacity(usize::MAX).build().expect_err("too large");
    panics(|| CuckooFilter::with_capacity(usize::MAX), &too_large);
    panics(|| CuckooFilter::with_capacity_and_hasher(usize::MAX, HASHER), &too_large);
    panics(|| CuckooMaplet::with_capacity(usize::MAX, 6), &too_large);
    let bits = CuckooMaplet::builder().value_bits(11).build().expect_err("too many");
    panics(|| CuckooMaplet::with_capacity_and_hasher(100, 11, HASHER), &bits);
    let bits = GrowableCuckooMaplet::builder().value_bits(10).build().expect_err("too many");
    panics(|| GrowableCuckooMaplet::new(10), &bits);
    panics(|| GrowableCuckooMaplet::with_hasher(10, HASHER), &bits);
}

#[test]
fn constructors_do_as_the_builder() {
    let maplet = CuckooMaplet::with_capacity_and_hasher(1000, 6, HASHER);
    let built = CuckooMaplet::builder().capacity(1000).value_bits(6).hasher(HASHER).build();
    assert_eq!(format!("{maplet:?}"), format!("{:?}", built.expect("memory")));
    assert_eq!((maplet.hash_of("egg"), maplet.hasher()), (HASHER.hash_one("egg"), &HASHER));
    let maplet = GrowableCuckooMaplet::with_hasher(3, HASHER);
    let built = GrowableCuckooMaplet::builder().value_bits(3).hasher(HASHER).build();
    assert_eq!(format!("{maplet:?}"), format!("{:?}", built.expect("memory")));
    let seen = ExpiringCuckooFilter::with_capacity(1000, 5);
    let built = ExpiringCuckooFilter::builder().capacity(1000).generations(5).build();
    assert_eq!(format!("{seen:?}"), format!("{:?}", built.expect("memory")));
    let seen = ExpiringCuckooFilter::with_capacity_and_hasher(1000, 5, HASHER);
    let built = ExpiringCuckooFilter::builder().capacity(1000).generations(5).hasher(HASHER);
    assert_eq!(format!("{seen:?}"), format!("{:?}", built.build().expect("memory")));
    assert_eq!((seen.hash_of("egg"), seen.hasher()), (HASHER.hash_one("egg"), &HASHER));
    let seen = GrowableExpiringCuckooFilter::new(5);
    let built = GrowableExpiringCuckooFilter::builder().generations(5).build();
    assert_eq!(format!("{seen:?}"), format!("{:?}", built.expect("memory")));
    let seen = GrowableExpiringCuckooFilter::with_hasher(5, HASHER);
    let built = GrowableExpiringCuckooFilter::builder().generations(5).hasher(HASHER).build();
    assert_eq!(format!("{seen:?}"), format!("{:?}", built.expect("memory")));
    assert_eq!(seen.hash_of("egg"), HASHER.hash_one("egg"));
    let default: GrowableCuckooFilter<Fp32x2> = GrowableCuckooFilter::default();
    let [new, hashed] =
        [GrowableCuckooFilter::new().slots(), GrowableCuckooFilter::with_hasher(()).slots()];
    assert_eq!([new, default.slots(), hashed], [512, 256, 512]);
}

/// A growing type has a builder and a first capacity of its own.
#[test]
fn types_that_grow_have_all_constructors() {
    const CAPACITY: usize = 100_000;
    let filters = [
        GrowableCuckooFilter::with_capacity_and_hasher(CAPACITY, HASHER),
        GrowableCuckooFilter::builder().capacity(CAPACITY).hasher(HASHER).build().unwrap(),
        GrowableCuckooFilter::builder()
            .layout::<Fp16x4>()
            .capacity(CAPACITY)
            .hasher(HASHER)
            .build()
            .unwrap(),
    ];
    let filters = filters.map(|filter| (format!("{filter:?}"), filter.hash_of("egg")));
    let maplets = [
        GrowableCuckooMaplet::with_capacity_and_hasher(CAPACITY, 6, HASHER),
        GrowableCuckooMaplet::builder()
            .value_bits(6)
            .capacity(CAPACITY)
            .hasher(HASHER)
            .build()
            .unwrap(),
        GrowableCuckooMaplet::builder()
            .value_bits(6)
            .layout::<Fp21x3>()
            .capacity(CAPACITY)
            .hasher(HASHER)
            .build()
            .unwrap(),
    ];
    let maplets = maplets.map(|maplet| (format!("{maplet:?}"), maplet.hash_of("egg")));
    let expiring = [
        GrowableExpiringCuckooFilter::with_capacity_and_hasher(CAPACITY, 5, HASHER),
        GrowableExpiringCuckooFilter::builder()
            .generations(5)
            .capacity(CAPACITY)
            .hasher(HASHER)
            .build()
            .unwrap(),
        GrowableExpiringCuckooFilter::builder()
            .generations(5)
            .layout::<Fp21x3>()
            .capacity(CAPACITY)
            .hasher(HASHER)
            .build()
            .unwrap(),
    ];
    let expiring = expiring.map(|seen| (format!("{seen:?}"), seen.hash_of("egg")));
    for [by_constructor, by_builder, other] in [filters, maplets, expiring] {
        assert_eq!(by_constructor, by_builder);
        assert_eq!(by_constructor, other);
    }
    let slots = |filter: GrowableCuckooFilter| filter.slots();
    assert_eq!(slots(GrowableCuckooFilter::with_capacity(0)), slots(GrowableCuckooFilter::new()));
    assert!(slots(GrowableCuckooFilter::with_capacity(CAPACITY)) >= CAPACITY);
    let slots = [
        GrowableCuckooMaplet::with_capacity(CAPACITY, 6).slots(),
        GrowableExpiringCuckooFilter::with_capacity(CAPACITY, 5).slots(),
    ];
    assert!(slots.iter().all(|&slots| slots >= CAPACITY), "{slots:?}");
}

/// A user's struct with a growing filter as a field derives `Default`.
#[test]
fn default_is_derived() {
    #[derive(Default)]
    struct Seen {
        lines: GrowableCuckooFilter,
        words: GrowableCuckooFilter<Fp32x2, StableHashBuilder>,
    }

    let seen = Seen::default();
    seen.lines.insert("a line").unwrap();
    assert_eq!([seen.lines.len(), seen.words.len()], [1, 0]);
}

#[test]
fn a_layout_by_its_name() {
    for name in ["", "fp16x4", "AnyLayout", "Fp16x4 "] {
        let fixed = CuckooFilter::builder().layout_named(name).err();
        assert!(matches!(fixed, Some(Error::NoSuchLayout { grows: false, .. })));
        let growing = GrowableCuckooFilter::builder().layout_named(name).err();
        assert!(matches!(growing, Some(Error::NoSuchLayout { grows: true, .. })));
    }
    assert_eq!(AnyLayout::NAMES, LAYOUTS.map(|layout| layout.name));
    let growing = LAYOUTS.into_iter().filter(|layout| layout.grows()).map(|layout| layout.name);
    assert!(growing.eq(AnyLayout::GROWING_NAMES.iter().copied()));
    for layout in LAYOUTS {
        let filters = GrowableCuckooFilter::builder();
        let maplets = GrowableCuckooMaplet::builder().value_bits(3).max_capacity(1000);
        let expiring = GrowableExpiringCuckooFilter::builder().generations(4).max_capacity(1000);
        let names = [
            filters.layout_named(layout.name).map(|b| b.build().unwrap().layout_name()),
            maplets.layout_named(layout.name).map(|b| b.build().unwrap().layout_name()),
            expiring.layout_named(layout.name).map(|b| b.build().unwrap().layout_name()),
        ];
        for name in names {
            match name {
                Err(Error::NoSuchLayout { grows: true, .. }) => assert!(!layout.grows()),
                name => assert_eq!(name, Ok(layout.name)),
            }
        }
    }
}

#[test]
fn an_iterator_of_any_length_is_inserted_in_order() {
    for length in [0, 1, 255, 256, 257, 511, 512, 1000] {
        for kind in Kind::each(default_layout(), 6) {
            let (subject, items) = (kind.build(1, 2000), kind.items(1, length));
            assert_eq!(subject.insert_all(&items), Ok(()));
            assert_eq!(subject.len(), length);
            assert!(items.iter().all(|&(hash, value)| subject.values(hash).contains(&value)));
        }
        let filter = filter(2000);
        assert_eq!(filter.insert_if_absent_all((0..length).chain(0..length)), Ok(length));
        assert_eq!(filter.len(), length);
    }
}

#[test]
fn an_iterator_that_does_not_fit_says_how_many_were_stored() {
    let filter = filter(1000);
    let failed = filter.insert_all((0..).map(Prehashed)).unwrap_err();
    let stored = filter.len();
    assert_eq!(stopped(failed), (stored, stored, Error::Full));
    assert!(stored >= 1000);
    assert!((0..stored as u64).all(|hash| filter.remove(&Prehashed(hash))));
    assert!(filter.is_empty());

    let failed = filter.insert_if_absent_all((0..).flat_map(|n| [n, n]).map(Prehashed));
    let (index, stored, cause) = stopped(failed.unwrap_err());
    assert_eq!((stored, cause), (filter.len(), Error::Full));
    assert!(stored >= 1000 && 2 * stored <= index && index < 3 * stored, "{stored} of {index}");

    let maplet = CuckooMaplet::with_capacity(1000, 6);
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

/// After the panic, every operation that takes a lock works, on every stripe (`clear` and `snapshot` take all).
#[test]
fn a_panic_of_the_hasher_or_of_an_iterator_leaves_the_filter_usable() {
    let hasher = Moody::default();
    let [one, other] = [0, 1].map(|_| CuckooFilter::with_capacity_and_hasher(1000, hasher.clone()));
    one.insert_all(0..500).unwrap();
    other.insert("nest").unwrap();
    let calls: [&dyn Fn(); 13] = [
        &|| assert!(one.insert(&7).is_ok()),
        &|| assert!(one.insert_if_absent(&7).is_ok()),
        &|| assert!(one.contains(&7)),
        &|| assert!(one.count(&7) > 0),
        &|| assert!(one.remove(&7)),
        &|| assert!(one.insert_many(&[7]).is_ok()),
        &|| assert!(one.insert_if_absent_many(&[7], &mut [false]).is_ok()),
        &|| assert!(one.insert_all([7]).is_ok()),
        &|| assert!(one.insert_if_absent_all([7]).is_ok()),
        &|| assert!(one.merge(&other).is_ok()),
        &|| assert!(other.merge(&one).is_ok()),
        &|| assert!(one.snapshot().is_ok()),
        &|| assert!(one.insert_all((0..9).inspect(|n| assert!(*n < 8))).is_ok()),
    ];
    hasher.0.store(true, Ordering::Relaxed);
    for (number, call) in calls.iter().enumerate() {
        let panic = catch_unwind(AssertUnwindSafe(call)).unwrap_err();
        assert_eq!(panic.downcast_ref(), Some(&"no hasher"), "call {number}");
    }
    hasher.0.store(false, Ordering::Relaxed);
    assert!(catch_unwind(AssertUnwindSafe(calls[12])).is_err(), "the iterator panics");

    assert_eq!([one.len(), other.len()], [500, 1]);
    assert_eq!(one.snapshot().unwrap().len(), 500);
    one.merge(&other).unwrap();
    assert!((0..500).all(|item| one.remove(&item)) && one.remove("nest"));
    one.insert("egg").unwrap();
    one.clear();
    other.clear();
    assert!(one.is_empty() && other.is_empty());
}

/// Each constructor in the table of the crate's documentation is a line of the documentation test.
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

thread_local! {
    /// Runs when the hasher is cloned: in the middle of a `try_clone`, after the image of the table.
    static IN_CLONE: RefCell<Option<Box<dyn FnOnce()>>> = const { RefCell::new(None) };
}

/// A hasher that runs [`IN_CLONE`] when it is cloned.
struct Interrupted;

impl Clone for Interrupted {
    fn clone(&self) -> Self {
        let run = IN_CLONE.take().expect("a closure for each clone");
        run();
        Self
    }
}

impl BuildHasher for Interrupted {
    type Hasher = <StableHashBuilder as BuildHasher>::Hasher;

    fn build_hasher(&self) -> Self::Hasher {
        HASHER.build_hasher()
    }
}

/// A clone counts the new items of its generation that it has, and no others.
#[test]
fn a_clone_does_not_count_later_items() {
    let builder = ExpiringCuckooFilter::builder().capacity(100).generations(2).every_items(10);
    let seen = Arc::new(builder.hasher(Interrupted).build().unwrap());
    seen.insert_all(0..13).unwrap();
    let beside = Arc::clone(&seen);
    IN_CLONE.set(Some(Box::new(move || assert_eq!(beside.insert_all(20..26), Ok(6)))));
    let clone = seen.try_clone().unwrap();
    assert_eq!((clone.len(), clone.generation(), seen.len()), (13, 1, 19));
    clone.insert_all(30..36).unwrap();
    assert!(clone.generation() == 1 && clone.contains(&0));
    clone.insert(&36).unwrap();
    assert!(clone.generation() == 2 && !clone.contains(&0));
    // A generation of the original ends meanwhile.
    let beside = Arc::clone(&seen);
    IN_CLONE.set(Some(Box::new(move || assert_eq!(beside.insert_all(40..41), Ok(1)))));
    let clone = seen.try_clone().unwrap();
    assert_eq!((clone.generation(), seen.generation()), (1, 2));
    clone.insert(&40).unwrap();
    assert_eq!(clone.generation(), 2);
}

/// A clone has the rate of what was merged before the instant of its image, also if the filter is cleared meanwhile.
#[test]
fn a_clone_keeps_the_rate_of_its_items() {
    let whole = Arc::new(GrowableCuckooFilter::with_hasher(Interrupted));
    let part = GrowableCuckooFilter::with_hasher(Interrupted);
    part.insert_all(0..1000).unwrap();
    whole.insert_all(1000..3000).unwrap();
    whole.merge(&part).unwrap();
    let said = whole.false_positive_rate_at(3000);
    let beside = Arc::clone(&whole);
    IN_CLONE.set(Some(Box::new(move || beside.clear())));
    let clone = whole.try_clone().unwrap();
    assert_eq!((clone.len(), whole.len()), (3000, 0));
    assert_eq!(clone.false_positive_rate_at(3000).to_bits(), said.to_bits());
    assert!(whole.false_positive_rate_at(3000) < said);
}
