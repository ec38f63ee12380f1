//! The bytes of snapshots stay what they are: golden files of every layout, and the example of
//! docs/format.md.
//!
//! `COUCAL_WRITE_GOLDEN=1 cargo test --test tests golden_files` writes the files anew.

use std::fs;
use std::path::PathBuf;

use coucal::{AnyLayout, Growable, Storage};
use coucal_reference::format::{at, number};

use crate::common::{self, Filter, HASHER, Layout, default_layout};

/// The items of a golden filter, and how many copies it has of each: of one more than two buckets have slots.
fn items(count: u64) -> impl Iterator<Item = (u64, usize)> {
    let copies = |item| match item {
        7 => 20,
        _ if item % 10 == 0 => 2,
        _ => 1,
    };
    (0..count).map(move |item| (item, copies(item)))
}

fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name)
}

fn fill<L: Storage>(filter: &Filter<L>, count: u64) {
    for (item, copies) in items(count) {
        (0..copies).for_each(|_| filter.insert(&item).unwrap());
        // One that is there no more.
        filter.insert(&(item + count)).unwrap();
        assert!(filter.remove(&(item + count)));
    }
}

/// The file restores to what was saved, and a new snapshot of that is the file, byte by byte.
fn holds<L: Storage>(filter: &Filter<L>, bytes: &[u8], count: u64) {
    let len: usize = items(count).map(|(_, copies)| copies).sum();
    assert_eq!(filter.len(), len);
    assert!(filter.stats().stashed_copies > 0);
    for (item, copies) in items(count) {
        // Two items may share a class.
        assert!(filter.count(&item) >= copies, "{item}");
    }
    let found = (count..count + 10_000).filter(|item| filter.contains(item)).count();
    assert!(found < 1500, "{found} of 10,000 others");
    let snapshot = filter.snapshot().unwrap();
    assert_eq!(snapshot.to_bytes(), bytes);
    assert_eq!(snapshot.encoded_len(), bytes.len());
    // What was read can be used.
    for (item, copies) in items(count) {
        (0..copies).for_each(|_| assert!(filter.remove(&item)));
    }
    assert!(filter.is_empty());
}

fn check<L: Storage>(name: &str, new: impl FnOnce() -> Filter<L>, count: u64) -> Vec<u8> {
    if std::env::var_os("COUCAL_WRITE_GOLDEN").is_some() {
        fs::write(golden(name), new().snapshot().unwrap().to_bytes()).unwrap();
    }
    let bytes = fs::read(golden(name)).unwrap();
    holds(&Filter::<L>::from_bytes(&bytes, HASHER).unwrap(), &bytes, count);
    bytes
}

fn golden_files(layout: Layout) {
    let name = format!("{}.coucal", layout.name);
    let new = || {
        let filter = layout.filter(40);
        fill(&filter, 20);
        filter
    };
    let bytes = check::<AnyLayout>(&name, new, 20);
    let any = Filter::<AnyLayout>::from_bytes(&bytes, HASHER).unwrap();
    assert_eq!((any.layout_name(), any.snapshot().unwrap().capacity()), (layout.name, 40));
}

/// Before the first split, in the middle of the second level, and after three doublings: in each of them
/// one item in five is removed again.
fn golden_files_of_what_grows(layout: Layout) {
    for (name, buckets, level) in [("new", 16, 0), ("grown", 58, 1), ("doubled", 240, 3)] {
        let name = format!("{}-{name}.coucal", layout.name);
        let (count, most) = (buckets * layout.slots as u64, 400 * layout.slots);
        // 32 buckets at first.
        let new = || {
            let filter = layout.growing(layout.slots, most);
            let passing = 2 * count..2 * count + count / 4;
            passing.clone().for_each(|item| filter.insert(&item).unwrap());
            fill(&filter, count);
            passing.for_each(|item| assert!(filter.remove(&item)));
            filter
        };
        let bytes = check::<Growable<AnyLayout>>(&name, new, count);
        let any = Filter::<Growable<AnyLayout>>::from_bytes(&bytes, HASHER).unwrap();
        assert_eq!((any.layout_name(), any.max_capacity()), (layout.name, most));
        let words = number(&bytes, at::WORDS);
        let split = words - (1 << words.ilog2());
        assert_eq!(words.ilog2(), 5 + level);
        assert!(split < 28 << level && (level == 0 || split >= 4), "{split} are split");
        // It grows on.
        any.reserve(most - any.len()).unwrap();
        assert!(any.slots() as u64 > words * layout.slots as u64);
        holds(&any, &any.snapshot().unwrap().to_bytes(), count);
    }
}

of_each_layout!(golden_files);

of_each_growing_layout!(golden_files_of_what_grows);

/// The example that docs/format.md works out by hand, which is made by these lines.
#[test]
fn the_example_of_the_page() {
    let filter = default_layout().filter(9);
    filter.insert("egg").unwrap();
    filter.insert("nest").unwrap();
    filter.insert("nest").unwrap();
    common::is_on_the_page("<!-- example -->", &filter.snapshot().unwrap().to_bytes());
}

/// The same of a filter that grows.
#[test]
fn the_growing_example_of_the_page() {
    let filter = default_layout().growing(9, 1000);
    filter.insert("nest").unwrap();
    filter.reserve(200).unwrap();
    filter.insert("egg").unwrap();
    filter.insert("egg").unwrap();
    assert!(!filter.contains("owl"));
    common::is_on_the_page("<!-- growing example -->", &filter.snapshot().unwrap().to_bytes());
}
