//! The promises that hold for one thread, each for every layout where it makes sense.

use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use coucal::{CuckooFilter, Prehashed, Storage};

use crate::common::{Filter, HASHER, Kind, Layout, Subject, default_layout, fill, hashes, usually};

of_each_layout! {
    holds_the_items_it_was_made_for
    figures_are_exact
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

#[test]
fn small_in_memory() {
    assert!(default_layout().filter(100).memory_bytes() < 1024);
    for capacity in [100_000, 131_072, 250_000, 999_999, 1_000_000, 10_000_000] {
        let filter = default_layout().filter(capacity);
        let bits = filter.memory_bytes() as f64 * 8.0 / capacity as f64;
        assert!(bits <= 17.2, "{bits} bits per item at {capacity}");
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
