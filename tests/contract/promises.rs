//! The promises that hold for one thread, each for every layout where it makes sense.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use coucal::{CuckooFilter, Error, Prehashed, Storage};
use coucal_reference::format::Value;

use super::Holders;
use crate::common::{
    Filter, HASHER, Kind, Layout, Subject, default_layout, fill, hashes, is_expected, stopped,
    usually,
};

of_each_layout! {
    holds_the_items_it_was_made_for
    failed_insert_changes_nothing
    figures_are_exact
    insert_many_says_what_was_stored
    absent_items_are_reported_at_the_stated_rate
}

fn holds_the_items_it_was_made_for(layout: Layout) {
    let small = (0..200).map(|n| (n, usually(10, 200)));
    let large = [(500, 4), (1000, 4), (2000, 4), (5000, 4), (10_000, 2), (20_000, 1), (100_000, 1)];
    let large = large.into_iter().map(|(n, seeds)| (n, usually(1, 10) * seeds));
    let largest = usually(None, Some((1_000_000, 2)));
    let all = small.chain(large).chain(largest);
    for (n, seed) in all.flat_map(|(n, seeds)| (0..seeds).map(move |seed| (n, seed))) {
        let filter = layout.filter(n);
        let items = || hashes(seed ^ (n as u64) << 20).take(n);
        assert_eq!(fill(&filter, items()), n, "capacity {n}, seed {seed}");
        assert_eq!((filter.len(), filter.capacity()), (n, n));
        assert!(items().all(|hash| filter.contains(&Prehashed(hash))));
        assert!(items().all(|hash| filter.remove(&Prehashed(hash))));
        assert!(filter.is_empty());
    }
}

/// A full filter refuses many times, and so does a maplet, and each class has the same copies before and after.
fn failed_insert_changes_nothing(layout: Layout) {
    for (buckets, seed) in [(2, 1), (4, 2), (6, 3), (128, 4), (usually(512, 4096), 5)] {
        refuses(&layout.filter_of_slots(buckets * layout.slots), seed);
    }
    for (buckets, bits) in [(2, 1), (6, layout.longest_values()), (128, 1)] {
        refuses(&layout.maplet_of_slots(buckets * layout.slots, bits), buckets as u64);
    }
}

fn refuses(subject: &dyn Subject, seed: u64) {
    let top = subject.value_bits().min(1);
    let mut candidates = hashes(seed).map(|hash| (hash, hash as u32 & top));
    let mut until_refused = |times: usize| {
        let (mut stored, mut refused) = (Vec::new(), 0);
        let len = subject.len();
        while refused < times {
            let item = candidates.next().expect("endless");
            if subject.insert(item).is_ok() {
                stored.push(item);
            } else {
                refused += 1;
                assert_eq!(subject.len(), len + stored.len());
            }
        }
        stored
    };
    let stored = until_refused(50);
    let dump = || stored.iter().map(|&(hash, _)| subject.values(hash)).collect::<Vec<Vec<Value>>>();
    let before = dump();
    let others = until_refused(50);
    assert!(others.into_iter().all(|item| subject.remove(item)));
    assert_eq!(dump(), before, "{subject:?}");
    assert!(stored.into_iter().all(|item| subject.remove(item)) && subject.is_empty());
}

fn figures_are_exact(layout: Layout) {
    let kinds = Kind::each(layout, 1).into_iter().filter(|kind| !kind.grows);
    let capacities = [0, 1, 50, 10_000];
    for (kind, capacity) in kinds.flat_map(|kind| capacities.map(|capacity| (kind, capacity))) {
        let subject = kind.build(0, capacity);
        assert_eq!((subject.capacity(), subject.value_bits()), (capacity, kind.value_bits));
        let words = subject.slots() / layout.slots * 8;
        let beside = subject.heap_bytes() - words;
        // Stripes and versions, each a power of two of 8-byte entries.
        assert!(beside.is_multiple_of(8) && beside >= 16, "{beside}");
        let items = || hashes(11).take(capacity);
        for (inserted, hash) in items().enumerate() {
            assert_eq!((subject.len(), subject.is_empty()), (inserted, inserted == 0));
            assert_eq!(subject.insert((hash, kind.top())), Ok(()));
        }
        // By chance, something is in the stash.
        let in_slots = (subject.len() - subject.stashed().1) as f64;
        let load = in_slots / subject.slots() as f64;
        assert_eq!(subject.load_factor().to_bits(), load.to_bits());
        assert_eq!(subject.inconclusive(), 0);
        let bits = if kind.value_bits > 0 { "value_bits: 1, " } else { "" };
        let printed = format!("layout: \"{}\", {bits}len: {capacity}, ", layout.name);
        assert!(format!("{subject:?}").contains(&printed), "{subject:?}");
        subject.clear();
        assert_eq!((subject.len(), subject.is_empty()), (0, true));
        assert!(items().all(|hash| !subject.contains(hash)));
    }
    let filter = layout.filter(100_000);
    let words = filter.slots() / layout.slots * 8;
    let beside = filter.heap_bytes() - words;
    assert!(beside as f64 <= 0.02 * words as f64, "{beside} of {words}");
    assert_eq!(layout.maplet(100_000, 1).heap_bytes(), words + beside);
}

fn insert_many_says_what_was_stored(layout: Layout) {
    let items: Vec<u64> = hashes(13).take(5000).collect();
    let filter = layout.filter(3000);
    let failed = filter.insert_many(Prehashed::slice(&items)).expect_err("more items than slots");
    let stored = filter.len();
    assert!(stored >= 3000);
    assert_eq!(stopped(failed), (stored, stored, Error::Full));
    // Exactly the first ones: removing those leaves nothing.
    assert!(items[..stored].iter().all(|&hash| filter.remove(&Prehashed(hash))));
    assert!(filter.is_empty());
}

/// As `rate_is_as_stated`. Of the longest fingerprints, most lookups are known to find nothing, and left
/// out.
fn absent_items_are_reported_at_the_stated_rate(layout: Layout) {
    if layout.bits > usually(14, 17) {
        planted(layout);
    } else {
        rate_is_as_stated(layout, usually(0, 100_000_000));
    }
}

/// On `least` lookups, or on as many as give 3,000 expected false positives.
fn rate_is_as_stated(layout: Layout, least: u64) {
    let filter = layout.filter(usually(1 << 14, 1 << 17));
    let stored = fill(&filter, hashes(19));
    let rate = filter.false_positive_rate();
    assert_is_near_the_papers_bound(layout, &filter);
    let lookups = least.max((3000.0 / rate) as u64);
    assert!(stored >= filter.capacity());
    let reported =
        hashes(23).take(lookups as usize).filter(|&h| filter.contains(&Prehashed(h))).count();
    is_expected(reported, rate * lookups as f64, 0.02, layout.name);
}

fn assert_is_near_the_papers_bound(layout: Layout, filter: &Filter) {
    let rate = filter.false_positive_rate();
    let predicted =
        2.0 * layout.slots as f64 * filter.load_factor() / f64::from(layout.bits).exp2();
    assert!((rate / predicted - 1.0).abs() < 0.07, "stated {rate}, the paper's bound {predicted}");
}

/// Absent items are looked up in many filters. One is not reported by a filter where no item has its class: so it is
/// looked up only where one has, but for some lookups that show just that. The share that is reported is one of all
/// lookups, made or not.
///
/// 3,000 false positives are expected, and 200 of the longest fingerprints.
fn planted(layout: Layout) {
    // The longer the fingerprints, the more filters for as many false positives; the smallest there are, or
    // on a long run larger ones.
    let number = usually(1 << (layout.bits - 9).min(17), 1 << 16);
    let items_of_each = usually(2 * layout.slots, 30);
    let filters: Vec<Filter> = (0..number).map(|_| layout.filter(items_of_each)).collect();
    let geometry = filters[0].geometry();
    let mut holders = Holders::new();
    let mut items = hashes(19);
    let mut stated = 0.0;
    for (number, filter) in (0..).zip(&filters) {
        for hash in items.by_ref().take(items_of_each) {
            filter.insert(&Prehashed(hash)).expect("within the capacity");
            holders.add(geometry.class(hash), number);
        }
        stated += filter.false_positive_rate();
    }
    assert_is_near_the_papers_bound(layout, &filters[0]);

    let expected = if layout.bits > 21 { usually(200.0, 3000.0) } else { 3000.0 };
    let lookups = (expected / stated) as usize;
    let found_by = |hash: u64| {
        let numbers = holders.of(geometry.class(hash)).iter();
        numbers.filter(|&&at| filters[at as usize].contains(&Prehashed(hash))).count()
    };
    let reported: usize = hashes(23).take(lookups).map(found_by).sum();
    let what = format!("{} in {} filters, {lookups} lookups", layout.name, filters.len());
    is_expected(reported, expected, 0.02, &what);

    for hash in hashes(29).take(20) {
        let holders = holders.of(geometry.class(hash));
        for (at, filter) in (0..).zip(&filters) {
            let is_found = filter.contains(&Prehashed(hash));
            assert!(!is_found || holders.contains(&at), "reported, although its class is another");
        }
    }
}

#[test]
fn small_in_memory() {
    assert!(default_layout().filter(100).memory_bytes() < 1024);
    for capacity in [100_000, 131_072, 250_000, 999_999, 1_000_000, 10_000_000] {
        let filter = default_layout().filter(capacity);
        let bits = filter.memory_bytes() as f64 * 8.0 / capacity as f64;
        assert!(bits <= 17.2, "{bits} bits per item at {capacity}");
    }
}

#[test]
fn a_table_of_any_size_and_none() {
    for capacity in 0..=8 {
        let filter = CuckooFilter::with_capacity(capacity);
        assert_eq!(filter.slots(), 8, "two buckets, the smallest table");
        assert_eq!(fill(&filter, hashes(29)), 8);
        assert_eq!(filter.insert(&1), Err(Error::Full));
    }
}

/// It is the share of what the filter was built for, and no insert is refused before that is reached.
#[test]
fn fullness_says_how_near_the_first_refusal_is() {
    fn check<L: Storage>(filter: &Filter<L>, built_for: f64) {
        assert_eq!(filter.fullness().to_bits(), 0.0_f64.to_bits());
        for hash in hashes(31) {
            let before = filter.fullness();
            if filter.insert(&Prehashed(hash)).is_err() {
                let every_slot = filter.slots() as f64 / built_for;
                assert!((1.0..=every_slot).contains(&before), "refused at {before}: {filter:?}");
                break;
            }
            let expected = filter.len() as f64 / built_for;
            assert_eq!(filter.fullness().to_bits(), expected.to_bits(), "{filter:?}");
        }
        // Copies of one item are one entry.
        filter.clear();
        let slots = default_layout().slots;
        (0..1000).for_each(|_| filter.insert(&Prehashed(1)).expect("any number of copies"));
        assert!(filter.fullness() * built_for < 2.0 * slots as f64 + 1.5, "{filter:?}");
    }

    let layout = default_layout();
    check(&layout.filter(1000), 1000.0);
    check(&layout.growing(0, 1000), 1000.0);
    check(&layout.growing(500, 2000), 2000.0);
}

#[test]
fn a_rate_that_is_none_or_out_of_reach_is_an_error() {
    for rate in [0.0, 1.0, -0.1, 1.5, f64::NAN, f64::INFINITY] {
        let error = CuckooFilter::builder().false_positive_rate(rate).build().expect_err("no rate");
        assert_eq!(error, Error::InvalidRate, "{rate}");
    }
    let builder = CuckooFilter::builder().capacity(10_000);
    assert!(builder.clone().false_positive_rate(0.000_13).build().is_ok());
    let error = builder.false_positive_rate(0.000_01).build().expect_err("16 bits are too few");
    assert!(matches!(error, Error::RateOutOfReach { .. }), "{error}");
}

/// A filter of the layout that is chosen for a rate holds the requested items at that rate, whatever they are.
#[test]
fn what_is_chosen_holds_its_items_at_the_rate() {
    for items in [0, 1, 4, 10, 100, 1000, 100_000] {
        for rate in (1..90).step_by(3).map(|tenths| 10_f64.powf(-f64::from(tenths) / 10.0)) {
            let builder = CuckooFilter::builder().capacity(items).false_positive_rate(rate);
            let filter = builder.any_layout().hasher(HASHER).build().expect("memory for a test");
            let hashes: Vec<u64> = (0..items as u64).collect();
            filter.insert_many(Prehashed::slice(&hashes)).expect("room");
            assert!(filter.false_positive_rate() <= rate, "{items} items, {rate}");
        }
    }
}

/// Hands an integer on as its own hash.
#[derive(Default)]
struct Identity(u64);

impl Hasher for Identity {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _: &[u8]) {
        unreachable!("integers only");
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

/// Reaches the load and the rate with integers in arithmetic progression.
fn hashes_weakly<S: BuildHasher + Default>(stride: u64) {
    let lookups = usually(1 << 22, 1 << 25);
    let filter = CuckooFilter::with_capacity_and_hasher(1 << 17, S::default());
    let item = |i: u64| i.wrapping_mul(stride);
    let stored = (0..u64::MAX).take_while(|&i| filter.insert(&item(i)).is_ok()).count() as u64;
    let load = stored as f64 / filter.slots() as f64;
    assert!(load >= 0.97, "first failure at {load}, stride {stride:#x}");
    let absent = stored + 1..stored + 1 + lookups;
    let reported = absent.filter(|&i| filter.contains(&item(i))).count();
    let ratio = reported as f64 / lookups as f64 / filter.false_positive_rate();
    assert!(
        (ratio - 1.0).abs() < usually(0.15, 0.1),
        "{ratio} of the stated rate, stride {stride:#x}"
    );
}

#[test]
fn the_identity_is_hash_enough() {
    for stride in [1, 16, 64, 1000, 1 << 16, 1 << 32, u64::MAX] {
        hashes_weakly::<BuildHasherDefault<Identity>>(stride);
    }
}

#[test]
fn fx_is_hash_enough() {
    for stride in [1, 64, 1 << 20] {
        hashes_weakly::<rustc_hash::FxBuildHasher>(stride);
    }
}

#[test]
fn what_it_prints() {
    let filter = CuckooFilter::with_capacity(1_000_000);
    let text = format!("{filter:?} {:?}", filter.hasher());
    assert!(text.contains("Fp16x4") && text.contains("capacity: 1000000") && text.len() < 400);
}

#[test]
fn items_of_many_kinds_by_reference() {
    // The same hashes in every run: under a random seed two of the items share a class once in a
    // million runs, and then one is left.
    let hasher = BuildHasherDefault::<std::hash::DefaultHasher>::default();
    let filter = CuckooFilter::with_capacity_and_hasher(100, hasher);
    filter.insert("egg").unwrap();
    assert!(filter.contains(&String::from("egg")));
    filter.insert(&[1_u8, 2][..]).unwrap();
    assert!(filter.contains(&vec![1_u8, 2]));
    filter.insert(&(1, "two", Some(3))).unwrap();
    assert!(filter.remove(&(1, "two", Some(3))));
    assert_eq!(filter.count(&(1, "two", Some(3))), 0);
}
