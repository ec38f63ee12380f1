//! Snapshots in the data formats of `serde`, with the feature of that name.

use std::time::Duration;

use coucal::{
    CuckooFilter, CuckooFilterView, CuckooMaplet, CuckooMapletView, ExpiringCuckooFilter, Fp16x4,
    Fp21x3, GrowableExpiringCuckooFilter, NoHasher, Prehashed, Snapshot, StableHashBuilder,
};
use serde_core::Deserialize;

use crate::common::{Filter, default_layout};

fn filter() -> Filter {
    let filter = default_layout().filter(1000);
    (0..500).for_each(|item| filter.insert(&item).expect("room for a thousand"));
    filter
}

/// Returns the snapshots that four formats read: each from a slice, whose bytes the format may lend, and from a reader.
fn in_each_format(snapshot: &Snapshot) -> [Snapshot; 8] {
    let postcard = postcard::to_allocvec(snapshot).unwrap();
    let json = serde_json::to_vec(snapshot).unwrap();
    let mut cbor = Vec::new();
    ciborium::into_writer(snapshot, &mut cbor).unwrap();
    let message_pack = rmp_serde::to_vec(snapshot).unwrap();
    let mut buffer = vec![0; postcard.len()];
    [
        postcard::from_bytes(&postcard).unwrap(),
        postcard::from_io((&postcard[..], &mut buffer)).unwrap().0,
        serde_json::from_slice(&json).unwrap(),
        serde_json::from_reader(&json[..]).unwrap(),
        ciborium::from_reader(&cbor[..]).unwrap(),
        // As a value of the format in memory.
        ciborium::Value::serialized(snapshot).unwrap().deserialized().unwrap(),
        rmp_serde::from_slice(&message_pack).unwrap(),
        rmp_serde::from_read(&message_pack[..]).unwrap(),
    ]
}

/// Formats read bytes in another way if they are longer than some buffer.
#[test]
fn small_and_large_in_each_format() {
    let layout = default_layout();
    for (items, lens) in [(500, 0..4_096), (5_000, 4_097..65_536), (50_000, 65_537..1 << 20)] {
        let (filter, maplet) = (layout.filter(items), layout.maplet(items, 6));
        for item in 0..items as u64 {
            filter.insert(&item).unwrap();
            maplet.insert(&item, item as u32 % 64).unwrap();
        }
        for (snapshot, value_bits) in
            [(filter.snapshot().unwrap(), None), (maplet.snapshot().unwrap(), Some(6))]
        {
            let bytes = snapshot.as_bytes();
            assert!(lens.contains(&bytes.len()), "{} bytes", bytes.len());
            for read in in_each_format(&snapshot) {
                assert_eq!(read.value_bits(), value_bits);
                assert!(read.as_bytes() == bytes, "{items} items: not what was written");
            }
        }
    }
}

#[test]
fn bytes_in_a_binary_format_and_numbers_in_a_text_format() {
    let snapshot = filter().snapshot().unwrap();
    let written = postcard::to_allocvec(&snapshot).unwrap();
    // A length of two bytes, and the snapshot as it is.
    assert_eq!(&written[2..], snapshot.as_bytes());
    let written = serde_json::to_string(&snapshot).unwrap();
    assert!(written.starts_with("[137,99,111,117,99,97,108,10,1,"), "{}", &written[..40]);
}

/// The bytes are validated, as by `from_bytes`.
#[test]
fn damaged_bytes_are_an_error() {
    let mut bytes = filter().snapshot().unwrap().into_bytes();
    let written = postcard::to_allocvec(&bytes).unwrap();
    assert!(postcard::from_bytes::<Snapshot>(&written).is_ok());
    bytes[50] ^= 1;
    let json = serde_json::to_string(&bytes).unwrap();
    let error = serde_json::from_str::<Snapshot>(&json).unwrap_err().to_string();
    assert!(error.contains("the snapshot is damaged"), "{error}");
    assert!(serde_json::from_str::<Snapshot>("[1, 2, 300]").is_err());
    // The head of a list of 2^63 - 1 elements, and one of them.
    let endless = [0x9b, 0x7f, 255, 255, 255, 255, 255, 255, 255, 7];
    assert!(ciborium::from_reader::<Snapshot, _>(&endless[..]).is_err());
    let error = serde_json::from_str::<Snapshot>("7").unwrap_err().to_string();
    assert!(error.contains("the bytes of a snapshot"), "{error}");
}

/// Has the lifetimes of a field of a derived type, which lives no longer than what it borrows.
fn shorter<'de: 'a, 'a>(bytes: &'de [u8]) -> CuckooFilterView<&'a [u8]> {
    let mut from = postcard::Deserializer::from_bytes(bytes);
    CuckooFilterView::<&'a [u8]>::deserialize(&mut from).unwrap()
}

/// A filter and a maplet by themselves, with the default stable hasher; and a view of bytes that a format lends.
#[test]
fn filters_and_views() {
    type Default = StableHashBuilder;

    let filter = CuckooFilter::with_capacity_and_hasher(1000, Default::default());
    (0..500).for_each(|item| filter.insert(&item).expect("room for a thousand"));
    let written = postcard::to_allocvec(&filter).unwrap();
    let restored: CuckooFilter<Fp16x4, Default> = postcard::from_bytes(&written).unwrap();
    assert_eq!(restored.snapshot().unwrap(), filter.snapshot().unwrap());
    let view: CuckooFilterView<&[u8]> = postcard::from_bytes(&written).unwrap();
    assert!((0..500).all(|item| view.contains(&item)) && view.len() == 500);
    assert_eq!(postcard::to_allocvec(&view).unwrap(), written);
    assert!(postcard::from_bytes::<CuckooMapletView<&[u8]>>(&written).is_err());
    assert_eq!(shorter(&written).len(), 500);

    let maplet = CuckooMaplet::builder().capacity(100).value_bits(6).hasher(Default::default());
    let maplet = maplet.build().unwrap();
    maplet.insert("egg", 7).unwrap();
    let written = postcard::to_allocvec(&maplet).unwrap();
    let restored: CuckooMaplet<Fp16x4, Default> = postcard::from_bytes(&written).unwrap();
    let view: CuckooMapletView<&[u8]> = postcard::from_bytes(&written).unwrap();
    assert!(restored.get("egg").eq([7]) && view.get("egg").eq([7]));

    let hashed = CuckooFilter::with_capacity_and_hasher(100, NoHasher);
    hashed.insert(&Prehashed(7)).unwrap();
    let written = postcard::to_allocvec(&hashed).unwrap();
    let restored: CuckooFilter<Fp16x4, NoHasher> = postcard::from_bytes(&written).unwrap();
    let view: CuckooFilterView<&[u8], NoHasher> = postcard::from_bytes(&written).unwrap();
    assert!(restored.contains(&Prehashed(7)) && view.contains(&Prehashed(7)));
    assert!(postcard::from_bytes::<CuckooFilter<Fp16x4, Default>>(&written).is_err());

    // A filter that forgets by itself would come back as one that does not.
    let seen = || ExpiringCuckooFilter::builder().generations(4).hasher(Default::default());
    let growing = GrowableExpiringCuckooFilter::builder().generations(4);
    let mut plain = growing.hasher(Default::default()).build().unwrap();
    plain.insert("egg").unwrap();
    plain.advance();
    let written = postcard::to_allocvec(&plain).unwrap();
    let restored: GrowableExpiringCuckooFilter<Fp21x3, Default> =
        postcard::from_bytes(&written).unwrap();
    assert_eq!(restored.age("egg"), Some(1));
    plain.set_every(Duration::from_secs(60), Duration::ZERO).unwrap();
    let full = seen().capacity(100).forget_oldest_when_full().build().unwrap();
    let counted = seen().capacity(100).every_items(10).build().unwrap();
    let full = serde_json::to_string(&full);
    for error in [serde_json::to_string(&plain), full, serde_json::to_string(&counted)] {
        let error = error.unwrap_err().to_string();
        assert!(error.contains("`set_every`") && error.contains("`snapshot()`"), "{error}");
    }

    // With another seed than the default one, it could not be read.
    let other = CuckooFilter::with_capacity_and_hasher(1000, Default::new(7));
    let error = serde_json::to_string(&other).unwrap_err().to_string();
    assert!(error.contains("default seed") && error.contains("`snapshot()`"), "{error}");
    let written = postcard::to_allocvec(&other.snapshot().unwrap()).unwrap();
    assert!(postcard::from_bytes::<CuckooFilter<Fp16x4, Default>>(&written).is_err());
}
