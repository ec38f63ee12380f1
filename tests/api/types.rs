//! What depends on the type that names a layout: the other tests are compiled for the layout that is chosen
//! at run time, and run for each.

use coucal::{
    AnyLayout, CuckooFilter, CuckooMaplet, Error, Growable, GrowingLayout, Prehashed, Snapshot,
    Storage,
};

use crate::common::{Filter, HASHER, LAYOUTS, Layout, Maplet, Subject};

/// Runs a function that is generic over the layout for the layout of this name.
macro_rules! with_type {
    ([$layout:ident $run:ident] $($name:ident)*) => {
        match $layout.name {
            $(stringify!($name) => $run::<coucal::$name>($layout),)*
            name => panic!("no type has the name {name}"),
        }
    };
}

of_each_layout! {
    it_is_that_of_the_layout
    values_that_no_maplet_stores
}

of_each_growing_layout! {
    what_grows_is_that_of_the_layout
    values_that_no_growing_maplet_stores
    snapshots_of_other_types
}

#[test]
fn the_layouts_of_the_crate() {
    macro_rules! all {
        ($($layout:ident)*) => {
            [$((
                <coucal::$layout as coucal::Layout>::NAME,
                coucal::$layout::FINGERPRINT_BITS,
                coucal::$layout::SLOTS,
            )),*]
        };
    }
    let known = |layout: Layout| (layout.name, layout.bits, layout.slots);
    assert_eq!(coucal_reference::for_each_layout!(all), LAYOUTS.map(known));
    let growing = LAYOUTS.into_iter().filter(|layout| layout.grows()).map(known);
    assert!(growing.eq(coucal_reference::for_each_layout!(that grows: all)));
}

fn it_is_that_of_the_layout(layout: Layout) {
    fn check<L: coucal::Layout>(layout: Layout) {
        let filter = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(1000);
        filters_are_alike(&filter.build().expect("memory"), &layout.filter(1000));
        let maplet = CuckooMaplet::builder().layout::<L>().hasher(HASHER).capacity(1000);
        let maplet = maplet.value_bits(VALUE_BITS).build().expect("memory");
        maplets_are_alike(&maplet, &layout.maplet(1000, VALUE_BITS));
    }
    coucal_reference::for_each_layout!(with_type [layout check]);
}

fn what_grows_is_that_of_the_layout(layout: Layout) {
    fn check<L: GrowingLayout>(layout: Layout) {
        let filter = CuckooFilter::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        filters_are_alike(&filter.build().expect("memory"), &layout.growing(0, 1500));
        let maplet = CuckooMaplet::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        let maplet = maplet.value_bits(VALUE_BITS).build().expect("memory");
        maplets_are_alike(&maplet, &layout.growing_maplet(0, 1500, VALUE_BITS));
    }
    coucal_reference::for_each_layout!(that grows: with_type [layout check]);
}

const VALUE_BITS: u32 = 3;

fn key(n: u64) -> Prehashed {
    Prehashed(n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// What it answers to the same operations, and its figures and its bytes after them.
type Outcome = (Vec<usize>, [usize; 4], u64, Vec<u8>);

fn filters_are_alike<L: Storage, M: Storage>(of_type: &Filter<L>, chosen: &Filter<M>) {
    fn outcome<L: Storage>(filter: &Filter<L>) -> Outcome {
        let batch: Vec<Prehashed> = (1500..1600).map(key).collect();
        let mut answers =
            vec![filter.insert_many(&batch).map_or_else(|error| error.stored(), |()| 100)];
        for n in 0..1500 {
            let (item, other) = (key(n), Prehashed(key(n).0 ^ 1 << 40));
            answers.push(filter.insert(&item).is_ok().into());
            match n % 5 {
                0 => answers.push(filter.remove(&item).into()),
                1 => answers.push((filter.insert_unique(&item) == Ok(true)).into()),
                _ => {}
            }
            let found = [filter.contains(&item), filter.contains(&other)].map(usize::from);
            answers.extend(found.into_iter().chain([filter.count(&item), filter.count(&other)]));
        }
        answers.extend(filter.contains_each(&batch).into_iter().map(usize::from));
        let heap = filter.memory_bytes() - size_of_val(filter);
        let figures = [filter.len(), filter.slots(), filter.capacity(), heap];
        let bytes = filter.snapshot().expect("memory").into_bytes();
        (answers, figures, filter.false_positive_rate().to_bits(), bytes)
    }
    let outcome_of_type = outcome(of_type);
    assert!(outcome_of_type == outcome(chosen), "{of_type:?}, {chosen:?}");
    assert!(of_type.len() > 900 && of_type.stats() == chosen.stats());
    let bytes = outcome_of_type.3;
    let restored = Filter::<L>::from_bytes(&bytes, HASHER).expect("a snapshot of this type");
    assert!(restored.snapshot().expect("memory").into_bytes() == bytes);
    of_type.clear();
    assert!(of_type.is_empty());
}

fn maplets_are_alike<L: Storage, M: Storage>(of_type: &Maplet<L>, chosen: &Maplet<M>) {
    fn outcome<L: Storage>(maplet: &Maplet<L>) -> Outcome {
        let largest = (1 << VALUE_BITS) - 1;
        let mut answers = Vec::new();
        for n in 0..1500 {
            let (item, other) = (key(n), Prehashed(key(n).0 ^ 1 << 40));
            let value = n as u32 & largest;
            answers.push(maplet.insert(&item, value).is_ok().into());
            match n % 5 {
                0 => answers.push(maplet.remove(&item, value).into()),
                1 => {
                    answers
                        .push((maplet.replace(&item, value, largest - value) == Ok(true)).into());
                }
                _ => {}
            }
            for key in [item, other] {
                answers.push(maplet.contains_key(&key).into());
                let mut values: Vec<usize> = maplet.get(&key).map(|value| value as usize).collect();
                values.sort_unstable();
                answers.extend(values);
            }
        }
        let heap = maplet.memory_bytes() - size_of_val(maplet);
        let figures = [maplet.len(), maplet.slots(), maplet.capacity(), heap];
        let bytes = maplet.snapshot().expect("memory").into_bytes();
        (answers, figures, maplet.false_positive_rate().to_bits(), bytes)
    }
    let outcome_of_type = outcome(of_type);
    assert!(outcome_of_type == outcome(chosen), "{of_type:?}, {chosen:?}");
    assert!(of_type.len() > 900);
    let bytes = outcome_of_type.3;
    let restored = Maplet::<L>::from_bytes(&bytes, HASHER).expect("a snapshot of this type");
    assert!(restored.snapshot().expect("memory").into_bytes() == bytes);
}

/// The error names the shortest layout that does store them, if there is one.
fn values_that_no_maplet_stores(layout: Layout) {
    fn build<L: coucal::Layout>(bits: u32) -> Result<CuckooMaplet<L>, Error> {
        CuckooMaplet::builder().layout::<L>().capacity(100).value_bits(bits).build()
    }
    fn check<L: coucal::Layout>(layout: Layout) {
        let max = layout.longest_values();
        assert!((1..=max).all(|bits| build::<L>(bits).is_ok()));
        for value_bits in [0, max + 1, layout.bits, 24, 31, 32, 33, u32::MAX] {
            if (1..=max).contains(&value_bits) {
                continue;
            }
            let stores = |other: &&Layout| (1..=other.longest_values()).contains(&value_bits);
            let other = LAYOUTS.iter().find(stores).map(|other| other.name);
            let (layout, fits) = (layout.name, other.is_some());
            let expected = Error::ValueBitsOutOfRange { layout, value_bits, max, other };
            assert_eq!(build::<L>(value_bits).map(|_| ()), Err(expected));
            assert_eq!(build::<coucal::Fp32x2>(value_bits).is_ok(), fits);
            assert_eq!(build::<AnyLayout>(value_bits).is_ok(), fits);
        }
    }
    coucal_reference::for_each_layout!(with_type [layout check]);
}

fn values_that_no_growing_maplet_stores(layout: Layout) {
    fn check<L: GrowingLayout>(layout: Layout) {
        let build = |bits| -> Result<CuckooMaplet<Growable<L>>, Error> {
            CuckooMaplet::builder().max_capacity(1000).layout::<L>().value_bits(bits).build()
        };
        let max = layout.longest_values();
        assert!((1..=max).all(|bits| build(bits).is_ok()));
        for value_bits in [0, max + 1, max + 2, 32] {
            let stores = |other: &&Layout| {
                other.grows() && (1..=other.longest_values()).contains(&value_bits)
            };
            let other = LAYOUTS.iter().find(stores).map(|other| other.name);
            let layout = layout.name;
            let expected = Error::ValueBitsOutOfRange { layout, value_bits, max, other };
            assert_eq!(build(value_bits).map(|_| ()), Err(expected));
        }
    }
    coucal_reference::for_each_layout!(that grows: with_type [layout check]);
}

/// A valid snapshot, and a type that it is not for.
fn snapshots_of_other_types(layout: Layout) {
    fn refused<L: Storage>(bytes: &[u8]) -> Error {
        let error = Filter::<L>::from_bytes(bytes, HASHER).unwrap_err();
        let snapshot = Snapshot::from_bytes(bytes).unwrap();
        let of_snapshot = Filter::<L>::from_snapshot(&snapshot, HASHER).unwrap_err();
        assert_eq!(format!("{of_snapshot:?}"), format!("{error:?}"));
        error
    }
    fn check<L: GrowingLayout>(layout: Layout) {
        for each in LAYOUTS.into_iter().filter(|layout| layout.grows()) {
            let [fixed, grows] = [each.filter(16).bytes(), each.growing(0, 60).bytes()];
            if each == layout {
                assert!(Filter::<L>::from_bytes(&fixed, HASHER).is_ok());
                assert!(Filter::<Growable<L>>::from_bytes(&grows, HASHER).is_ok());
                let error = refused::<L>(&grows);
                assert_eq!(error, Error::OtherType { name: "GrowableCuckooFilter" });
                let error = refused::<Growable<L>>(&fixed);
                assert_eq!(error, Error::OtherType { name: "CuckooFilter" });
                continue;
            }
            for error in [refused::<L>(&fixed), refused::<Growable<L>>(&grows)] {
                let expected = Error::OtherLayout { other: each.name, filter: layout.name };
                assert_eq!(error, expected);
            }
        }
    }
    coucal_reference::for_each_layout!(that grows: with_type [layout check]);
}

/// Both kinds, and a layout that is chosen at run time, behind one bound.
#[test]
fn any_storage_will_do() {
    fn where_is<L: Storage>(maplet: &Maplet<L>, key: &str) -> Vec<u32> {
        maplet.insert(key, 3).expect("room");
        maplet.get(key).collect()
    }
    let builder = || CuckooMaplet::builder().hasher(HASHER).value_bits(6).capacity(10);
    assert_eq!(where_is(&builder().build().unwrap(), "egg"), [3]);
    assert_eq!(where_is(&builder().any_layout().build().unwrap(), "egg"), [3]);
    let growing = || builder().max_capacity(1000);
    assert_eq!(where_is(&growing().build().unwrap(), "egg"), [3]);
    assert_eq!(where_is(&growing().any_layout().build().unwrap(), "egg"), [3]);
}
