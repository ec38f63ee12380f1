//! Snapshots in the data formats of `serde`, by the feature of that name.

use std::hash::RandomState;

use coucal::{AnyCuckooFilter, Snapshot};
use serde_core::{Deserialize, Serialize};

use crate::common::{Filter, HASHER, Maplet, default_layout};

fn filter() -> Filter {
    let filter = default_layout().filter(1000);
    (0..500).for_each(|item| filter.insert(&item).expect("room for a thousand"));
    filter
}

fn check(snapshot: Snapshot) {
    let filter: Filter = Filter::from_snapshot(snapshot, HASHER).unwrap();
    assert_eq!(filter.len(), 500);
    assert!((0..500).all(|item| filter.contains(&item)));
}

#[test]
fn bytes_in_a_binary_format() {
    let snapshot = filter().snapshot().unwrap();
    let written = postcard::to_allocvec(&snapshot).unwrap();
    // A length of two bytes, and the snapshot as it is.
    assert_eq!(written[2..], snapshot.to_bytes());
    check(postcard::from_bytes(&written).unwrap());
}

#[test]
fn a_maplet_in_a_binary_format() {
    let maplet = default_layout().maplet(1000, 6);
    let pairs: Vec<(u64, u32)> = (0..500).map(|key| (key, key as u32 % 64)).collect();
    maplet.insert_many(&pairs).unwrap();
    let written = postcard::to_allocvec(&maplet.snapshot().unwrap()).unwrap();
    let snapshot: Snapshot = postcard::from_bytes(&written).unwrap();
    assert_eq!(snapshot.value_bits(), Some(6));
    let restored: Maplet = Maplet::from_snapshot(snapshot, HASHER).unwrap();
    assert!(pairs.iter().all(|(key, _)| restored.get(key).eq(maplet.get(key))));
}

#[test]
fn numbers_in_a_text_format() {
    let snapshot = filter().snapshot().unwrap();
    let written = serde_json::to_string(&snapshot).unwrap();
    assert!(written.starts_with("[137,99,111,117,99,97,108,10,1,"), "{}", &written[..40]);
    check(serde_json::from_str(&written).unwrap());
}

/// What is read is validated, as by `from_bytes`.
#[test]
fn damaged_bytes_are_an_error() {
    let mut bytes = filter().snapshot().unwrap().to_bytes();
    let written = postcard::to_allocvec(&bytes).unwrap();
    assert!(postcard::from_bytes::<Snapshot>(&written).is_ok());
    bytes[50] ^= 1;
    let json = serde_json::to_string(&bytes).unwrap();
    let error = serde_json::from_str::<Snapshot>(&json).unwrap_err().to_string();
    assert!(error.contains("the snapshot is damaged"), "{error}");
    assert!(serde_json::from_str::<Snapshot>("[1, 2, 300]").is_err());
    let error = serde_json::from_str::<Snapshot>("7").unwrap_err().to_string();
    assert!(error.contains("the bytes of a snapshot"), "{error}");
}

#[test]
fn another_hasher_is_an_error() {
    let snapshot = filter().snapshot().unwrap();
    assert!(AnyCuckooFilter::from_snapshot(snapshot, RandomState::new()).is_err());
}

/// As a field of a type of the user's own.
#[test]
fn is_for_any_format() {
    fn both_ways<T: Serialize + for<'de> Deserialize<'de>>() {}
    both_ways::<Snapshot>();
}
