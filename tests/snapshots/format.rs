//! The bytes of snapshots stay what they are: golden files of every layout, and the example of
//! docs/format.md.
//!
//! `COUCAL_WRITE_GOLDEN=1 cargo test --test tests golden_files` writes the files anew.

use std::fs;
use std::path::PathBuf;

use coucal::Storage;
use coucal_reference::Subject;
use coucal_reference::format::{at, number};

use crate::common::{self, Filter, Growing, Layout, Maplet, default_layout};

/// The items of a golden filter, and how many copies it has of each: of one more than two buckets have slots.
fn items(count: u64) -> impl Iterator<Item = (u64, usize)> {
    let copies = |item| match item {
        7 => 20,
        _ if item % 10 == 0 => 2,
        _ => 1,
    };
    (0..count).map(move |item| (item, copies(item)))
}

/// What is restored from the golden file of this name: its bytes are those of a new snapshot.
fn golden<S: Subject>(name: &str, new: impl FnOnce() -> S) -> S {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("COUCAL_WRITE_GOLDEN").is_some() {
        fs::write(&path, new().bytes()).unwrap();
    }
    let bytes = fs::read(path).unwrap();
    let restored = S::restored(&bytes).unwrap();
    assert_eq!(restored.bytes(), bytes);
    restored
}

fn fill<L: Storage>(filter: &Filter<L>, count: u64) {
    for (item, copies) in items(count) {
        (0..copies).for_each(|_| filter.insert(&item).unwrap());
        // One that is there no more.
        filter.insert(&(item + count)).unwrap();
        assert!(filter.remove(&(item + count)));
    }
}

/// The file has all that was saved.
fn holds<L: Storage>(filter: &Filter<L>, count: u64) {
    let len: usize = items(count).map(|(_, copies)| copies).sum();
    assert_eq!(filter.len(), len);
    assert!(filter.stats().stashed_copies > 0);
    for (item, copies) in items(count) {
        // Two items may share a class.
        assert!(filter.count(&item) >= copies, "{item}");
    }
    let found = (count..count + 10_000).filter(|item| filter.contains(item)).count();
    assert!(found < 1500, "{found} of 10,000 others");
    // What was read can be used.
    for (item, copies) in items(count) {
        (0..copies).for_each(|_| assert!(filter.remove(&item)));
    }
    assert!(filter.is_empty());
}

fn golden_files(layout: Layout) {
    let name = format!("{}.coucal", layout.name);
    let new = || {
        let filter = layout.filter(40);
        fill(&filter, 20);
        filter
    };
    let any = golden(&name, new);
    assert_eq!((any.layout_name(), any.snapshot().unwrap().capacity()), (layout.name, 40));
    holds(&any, 20);
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
        let any = golden(&name, new);
        let bytes = any.bytes();
        assert_eq!((any.layout_name(), any.max_capacity()), (layout.name, most));
        let words = number(&bytes, at::WORDS);
        let split = words - (1 << words.ilog2());
        assert_eq!(words.ilog2(), 5 + level);
        assert!(split < 28 << level && (level == 0 || split >= 4), "{split} are split");
        // It grows on.
        any.reserve(most - any.len()).unwrap();
        assert!(any.slots() as u64 > words * layout.slots as u64);
        holds(&any, count);
        // It need not grow.
        holds(&Growing::restored(&bytes).unwrap(), count);
    }
}

of_each_layout! {
    golden_files
    golden_files_of_maplets
}

of_each_growing_layout! {
    golden_files_of_what_grows
    golden_files_of_maplets_that_grow
}

/// The example that docs/format.md works out by hand, which is made by these lines.
#[test]
fn the_example_of_the_page() {
    let filter = default_layout().filter(9);
    filter.insert("egg").unwrap();
    filter.insert("nest").unwrap();
    filter.insert("nest").unwrap();
    common::is_on_the_page("<!-- example -->", &filter.bytes());
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
    common::is_on_the_page("<!-- growing example -->", &filter.bytes());
}

/// Every second key has two values, and one has a value more often than two buckets have slots.
fn fill_maplet<L: Storage>(maplet: &Maplet<L>, keys: u64) {
    for key in 0..keys {
        maplet.insert(&key, 1).unwrap();
        if key % 2 == 0 {
            maplet.insert(&key, (1 << maplet.value_bits()) - 1).unwrap();
        }
    }
    (0..COPIES).for_each(|_| maplet.insert(&keys, 1).unwrap());
}

/// Of one pair: for some of them its buckets have no room.
const COPIES: u64 = 20;

fn maplet_holds<L: Storage>(maplet: &Maplet<L>, keys: u64) {
    assert_eq!(maplet.len() as u64, keys + keys.div_ceil(2) + COPIES);
    assert!((0..COPIES).all(|_| maplet.remove(&keys, 1)));
    for key in 0..keys {
        assert!(maplet.remove(&key, 1));
        assert!(key % 2 == 1 || maplet.remove(&key, (1 << maplet.value_bits()) - 1));
    }
    assert!(maplet.is_empty());
}

fn golden_files_of_maplets(layout: Layout) {
    let maplet = golden(&format!("{}-maplet.coucal", layout.name), || {
        let maplet = layout.maplet(60, 3);
        fill_maplet(&maplet, 20);
        maplet
    });
    assert_eq!((maplet.value_bits(), maplet.capacity()), (3, 60));
    maplet_holds(&maplet, 20);
}

/// In the second level.
fn golden_files_of_maplets_that_grow(layout: Layout) {
    let keys = 24 * layout.slots as u64;
    let maplet = golden(&format!("{}-maplet-grown.coucal", layout.name), || {
        let maplet = layout.growing_maplet(1, 90 * layout.slots, 2);
        fill_maplet(&maplet, keys);
        maplet
    });
    assert_eq!((maplet.value_bits(), maplet.max_capacity()), (2, 90 * layout.slots));
    assert!((32 * layout.slots + 1..64 * layout.slots).contains(&maplet.slots()), "{maplet:?}");
    maplet_holds(&maplet, keys);
}

/// In a table whose splits have doubled entries: more often doubled than entries had further bits at first.
#[test]
fn golden_files_with_doubled_entries() {
    let layout = Layout::named("Fp12x5");
    let keys = 500 * layout.slots as u64;
    let maplet = golden("Fp12x5-maplet-doubled.coucal", || {
        let maplet = layout.growing_maplet(1, 600 * layout.slots, 4);
        for key in 0..keys {
            maplet.insert(&key, key as u32 % 16).unwrap();
        }
        maplet
    });
    let bytes = maplet.bytes();
    assert!(number(&bytes, at::DOUBLED) > 0);
    assert_eq!(number(&bytes, at::OCCUPIED) - number(&bytes, at::DOUBLED), keys);
    assert_eq!(maplet.len() as u64, keys);
    for key in 0..keys {
        assert!(maplet.get(&key).any(|value| value == key as u32 % 16));
    }
    for key in 0..keys {
        assert!(maplet.remove(&key, key as u32 % 16));
    }
    assert!(maplet.is_empty());
}

/// The example of docs/format.md, which is made by these lines.
#[test]
fn the_maplet_example_of_the_page() {
    let maplet = default_layout().maplet(9, 6);
    maplet.insert("egg", 7).unwrap();
    maplet.insert("nest", 7).unwrap();
    maplet.insert("nest", 9).unwrap();
    common::is_on_the_page("<!-- maplet example -->", &maplet.bytes());
}
