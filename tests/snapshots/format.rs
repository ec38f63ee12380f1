//! The bytes of snapshots do not change: golden files of every layout, and the examples of docs/format.md.
//!
//! `COUCAL_WRITE_GOLDEN=1 cargo test --test tests golden_files` writes the files that do not exist yet.

use std::collections::BTreeMap;
use std::fs;
use std::hash::BuildHasher;
use std::path::PathBuf;

use coucal_reference::format::{MOST_SLOTS, at, number};

use crate::common::{self, HASHER, Item, Kind, Layout, Subject, default_layout};

of_each_layout!(golden_files);
of_each_growing_layout! {
    golden_files_of_what_grows
    golden_files_without_an_end
}

/// The steps that made a golden filter or maplet: each item, and whether it was inserted or removed.
type Steps = Vec<(Item, bool)>;

fn hash(number: u64) -> u64 {
    HASHER.hash_one(number)
}

/// Returns steps that insert every tenth item twice, one item more often than two buckets have slots, and for each item
/// another one that is removed again.
fn of_filter(count: u64) -> Steps {
    let copies = |item| match item {
        7 => 20,
        _ if item % 10 == 0 => 2,
        _ => 1,
    };
    let steps = (0..count).flat_map(|item| {
        let gone = (hash(item + count), 0);
        let there = std::iter::repeat_n(((hash(item), 0), true), copies(item));
        there.chain([(gone, true), (gone, false)])
    });
    steps.collect()
}

/// Returns steps that give every second key two values, and one key a value more often than two buckets have slots.
fn of_maplet(keys: u64, top: u32) -> Steps {
    let pairs = (0..keys).flat_map(|key| {
        let two = (hash(key), top);
        [(hash(key), 1)].into_iter().chain(key.is_multiple_of(2).then_some(two))
    });
    pairs.chain([(hash(keys), 1); 20]).map(|pair| (pair, true)).collect()
}

/// Restores the golden file with this name, which these steps made of the empty one. Checks that its bytes are those of
/// a new snapshot, and that all saved items are there and can be removed.
fn golden(layout: Layout, name: &str, empty: &dyn Subject, steps: &Steps) -> Box<dyn Subject> {
    let file = format!("{}{name}.coucal", layout.name);
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(file);
    if std::env::var_os("COUCAL_WRITE_GOLDEN").is_some() && !path.exists() {
        for &(item, is_inserted) in steps {
            assert!(if is_inserted { empty.insert(item).is_ok() } else { empty.remove(item) });
        }
        fs::write(&path, empty.bytes()).unwrap();
    }
    let bytes = fs::read(path).unwrap();
    let [restored, emptied] = [0; 2].map(|_| empty.restored(&bytes).unwrap());
    assert_eq!(restored.bytes(), bytes);
    let value_bits = empty.value_bits();
    assert_eq!(restored.value_bits(), value_bits);
    // On 32 bits, a larger maximum is reported as the largest number.
    let max_capacity = number(&bytes, at::MAX_CAPACITY).min(usize::MAX as u64);
    assert_eq!(restored.max_capacity() as u64, max_capacity);
    let printed = format!("{restored:?}");
    assert!(printed.contains(&format!("\"{}\"", layout.name)), "{printed}");
    let mut held: BTreeMap<Item, usize> = BTreeMap::new();
    for &(item, is_inserted) in steps {
        let copies = held.entry(item).or_default();
        *copies = if is_inserted { *copies + 1 } else { *copies - 1 };
    }
    assert_eq!(restored.len(), held.values().sum::<usize>());
    for (&(hash, value), &copies) in held.iter().filter(|&(_, &copies)| copies > 0) {
        let found = restored.values(hash);
        assert!(found.contains(&value) && (value_bits > 0 || found.len() >= copies));
    }
    if value_bits == 0 {
        let others = (1 << 40..).map(hash).take(10_000);
        let found = others.filter(|&hash| restored.contains(hash)).count() as f64;
        let expected = 10_000.0 * restored.contents().rate();
        let most = 2.0 * expected + 6.0 * expected.sqrt() + 6.0;
        assert!(found <= most, "{found} of 10,000 others, {expected:.1} expected");
    }
    for (&item, &copies) in &held {
        (0..copies).for_each(|_| assert!(emptied.remove(item)));
    }
    assert!(emptied.is_empty());
    restored
}

fn golden_files(layout: Layout) {
    let filter = Kind { layout, grows: false, value_bits: 0 };
    let maplet = Kind { value_bits: 3, ..filter };
    let [filter, maplet] = [filter.build(40, 40), maplet.build(60, 60)];
    assert!(golden(layout, "", &*filter, &of_filter(20)).stashed().1 > 0);
    assert!(golden(layout, "-maplet", &*maplet, &of_maplet(20, 7)).stashed().1 > 0);
    // For items with several copies, and keys with several values.
    let filter = layout.filters().copies_per_item(layout.slots as u32).capacity(40).build();
    let maplet = layout.maplets(3).values_per_key(layout.slots as u32).capacity(60).build();
    golden(layout, "-copies", &filter.unwrap(), &of_filter(20));
    golden(layout, "-values", &maplet.unwrap(), &of_maplet(20, 7));
}

/// Before the first split, in the middle of the second level, and after three doublings: in each case one item in five
/// is removed again.
fn golden_files_of_what_grows(layout: Layout) {
    let filter = Kind { layout, grows: true, value_bits: 0 };
    for (name, buckets, level) in [("-new", 16, 0), ("-grown", 50, 1), ("-doubled", 220, 3)] {
        let (count, most) = (buckets * layout.slots as u64, 400 * layout.slots);
        let passing = || (2 * count..2 * count + count / 4).map(|item| (hash(item), 0));
        let steps = passing().map(|item| (item, true)).chain(of_filter(count));
        let steps = steps.chain(passing().map(|item| (item, false))).collect();
        // 32 buckets at first.
        let grown = golden(layout, name, &*filter.build(layout.slots, most), &steps);
        assert!(grown.stashed().1 > 0);
        let words = number(&grown.bytes(), at::WORDS);
        let split = words - (1 << words.ilog2());
        assert_eq!(words.ilog2(), 5 + level);
        assert!(split < 28 << level && (level == 0 || split >= 4), "{split} are split");
        // The restored filter grows on.
        grown.reserve(most - grown.len()).unwrap();
        assert!(grown.slots() as u64 > words * layout.slots as u64);
        assert!((0..count).all(|item| grown.contains(hash(item))));
    }
    // In the second level.
    let maplet = Kind { value_bits: 2, ..filter };
    let steps = of_maplet(22 * layout.slots as u64, 3);
    let empty = maplet.build(1, 90 * layout.slots);
    let grown = golden(layout, "-maplet-grown", &*empty, &steps);
    assert!((32 * layout.slots + 1..64 * layout.slots).contains(&grown.slots()), "{grown:?}");
}

/// Filters without a capacity and without a maximum, after some splits. The header has the maximum number of buckets
/// that a table can have.
fn golden_files_without_an_end(layout: Layout) {
    let is_endless = |restored: &dyn Subject| {
        let bytes = restored.bytes();
        let [words, most] = [at::WORDS, at::MAX_BUCKETS].map(|field| number(&bytes, field));
        assert_eq!(
            (number(&bytes, at::CAPACITY), most),
            (0, MOST_SLOTS / layout.slots as u64 / 2 * 2)
        );
        assert!(words > number(&bytes, at::FIRST));
    };
    let items = 120 * layout.slots as u64;
    let filter = layout.growing_filters().build().unwrap();
    is_endless(&*golden(layout, "-endless", &filter, &of_filter(items)));
    // In slots of 12 bits, the values leave so few bits that growth ends.
    if layout.bits > 12 {
        let maplet = layout.growing_maplets(2).build().unwrap();
        is_endless(&*golden(layout, "-maplet-endless", &maplet, &of_maplet(items, 3)));
    }
}

/// A table whose splits have doubled entries: it has doubled more often than entries had further bits at first.
#[test]
fn golden_files_with_doubled_entries() {
    let layout = Layout::named("Fp12x5");
    let keys = 500 * layout.slots as u64;
    let steps = (0..keys).map(|key| ((hash(key), key as u32 % 16), true)).collect();
    let kind = Kind { layout, grows: true, value_bits: 4 };
    let empty = kind.build(1, 600 * layout.slots);
    let maplet = golden(layout, "-maplet-doubled", &*empty, &steps);
    let contents = maplet.contents();
    assert!(contents.doubled > 0);
    assert_eq!(contents.occupied - contents.doubled, keys);
}

/// The examples that docs/format.md works out by hand. These lines make them.
#[test]
fn the_examples_of_the_page() {
    let filter = default_layout().filter(9);
    filter.insert("egg").unwrap();
    filter.insert("nest").unwrap();
    filter.insert("nest").unwrap();
    common::is_on_the_page("<!-- example -->", &filter.bytes());

    let filter = default_layout().growing(9, 1000);
    filter.insert("nest").unwrap();
    filter.reserve(200).unwrap();
    filter.insert("shell").unwrap();
    filter.insert("shell").unwrap();
    assert!(!filter.contains("owl"));
    common::is_on_the_page("<!-- growing example -->", &filter.bytes());

    let maplet = default_layout().maplet(9, 6);
    maplet.insert("egg", 7).unwrap();
    maplet.insert("nest", 7).unwrap();
    maplet.insert("nest", 9).unwrap();
    common::is_on_the_page("<!-- maplet example -->", &maplet.bytes());
}
