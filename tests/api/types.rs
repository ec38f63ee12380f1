//! What depends on the type that names a layout: the other tests are compiled for the layout that is chosen
//! at run time, and run for each.

use coucal::{
    AnyLayout, CuckooFilter, CuckooMaplet, Error, FixedStorage, Growable, GrowingLayout, Snapshot,
    Storage,
};
use coucal_reference::Held;

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
    fn stated<L: coucal::Layout>() -> (&'static str, u32, usize) {
        (L::NAME, L::FINGERPRINT_BITS, L::SLOTS)
    }
    macro_rules! all {
        ($($layout:ident)*) => { [$(stated::<coucal::$layout>()),*] };
    }
    let known = |layout: Layout| (layout.name, layout.bits, layout.slots);
    assert_eq!(coucal_reference::for_each_layout!(all), LAYOUTS.map(known));
    let growing = LAYOUTS.into_iter().filter(|layout| layout.grows()).map(known);
    assert!(growing.eq(coucal_reference::for_each_layout!(that grows: all)));
}

fn it_is_that_of_the_layout(layout: Layout) {
    fn check<L: Held + FixedStorage>(layout: Layout) {
        let filter = CuckooFilter::builder().layout::<L>().hasher(HASHER).capacity(1000);
        does_the_same(&filter.build().expect("memory"), &layout.filter(1000));
        let maplet = CuckooMaplet::builder().layout::<L>().hasher(HASHER).capacity(1000);
        does_the_same(&maplet.value_bits(3).build().expect("memory"), &layout.maplet(1000, 3));
    }
    coucal_reference::for_each_layout!(with_type [layout check]);
}

fn what_grows_is_that_of_the_layout(layout: Layout) {
    fn check<L: GrowingLayout + 'static>(layout: Layout) {
        let filter = CuckooFilter::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        does_the_same(&filter.build().expect("memory"), &layout.growing(0, 1500));
        let maplet = CuckooMaplet::builder().max_capacity(1500).hasher(HASHER).layout::<L>();
        let maplet = maplet.value_bits(3).build().expect("memory");
        does_the_same(&maplet, &layout.growing_maplet(0, 1500, 3));
    }
    coucal_reference::for_each_layout!(that grows: with_type [layout check]);
}

/// The operations give the same answers, and leave the same tables word by word.
fn does_the_same(of_type: &dyn Subject, chosen: &dyn Subject) {
    let largest = ((1_u64 << of_type.value_bits()) - 1) as u32;
    for n in 0..1500_u64 {
        let item = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15), n as u32 & largest);
        assert_eq!(of_type.insert(item), chosen.insert(item));
        match n % 5 {
            0 => assert_eq!(of_type.remove(item), chosen.remove(item)),
            1 if largest > 0 => {
                let new = largest - item.1;
                assert_eq!(of_type.replace(item, new), chosen.replace(item, new));
            }
            1 => assert_eq!(of_type.insert_unique(item), chosen.insert_unique(item)),
            _ => {}
        }
        let other = item.0 ^ 1 << 40;
        for hash in [item.0, other] {
            assert_eq!(of_type.contains(hash), chosen.contains(hash));
            assert_eq!(of_type.values(hash), chosen.values(hash));
        }
    }
    let bytes = chosen.bytes();
    assert!(of_type.len() > 900 && of_type.bytes() == bytes);
    assert!(of_type.restored(&bytes).expect("a snapshot of this type").bytes() == bytes);
    assert_eq!((of_type.len(), of_type.slots()), (chosen.len(), chosen.slots()));
    assert_eq!(of_type.capacity(), chosen.capacity());
    let [rate, expected] = [of_type.false_positive_rate(), chosen.false_positive_rate()];
    assert_eq!(rate.to_bits(), expected.to_bits());
    assert_eq!(of_type.heap_bytes(), chosen.heap_bytes());
}

/// The error names the shortest layout that does store them, if there is one.
fn values_that_no_maplet_stores(layout: Layout) {
    fn build<L: FixedStorage>(bits: u32) -> Result<CuckooMaplet<L>, Error> {
        CuckooMaplet::builder().layout::<L>().capacity(100).value_bits(bits).build()
    }
    fn check<L: FixedStorage>(layout: Layout) {
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
    let builder = || CuckooMaplet::builder().hasher(HASHER).value_bits(6);
    assert_eq!(where_is(&builder().build().unwrap(), "egg"), [3]);
    assert_eq!(where_is(&builder().any_layout().build().unwrap(), "egg"), [3]);
    let growing = || builder().max_capacity(1000);
    assert_eq!(where_is(&growing().build().unwrap(), "egg"), [3]);
    assert_eq!(where_is(&growing().any_layout().build().unwrap(), "egg"), [3]);
}
