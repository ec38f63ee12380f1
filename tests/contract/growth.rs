//! The promises of a growing filter: it needs no size, nothing is lost, it is never full below its maximum capacity,
//! its load is high at every size, and it states its rate of false positives.
//!
//! Each test has one thread, so what it does depends on its seed alone.

use coucal::{Error, Prehashed};
use rand::RngExt;

use crate::common::{
    Growing, Item, Kind, Layout, Subject, default_layout, fill, hashes, load_above, random,
    scatter, usually, widths,
};

/// The maximum number of bytes that a filter has besides its words: locks, counters, versions, and itself.
const MOST_BESIDES: usize = 48 << 10;
/// Room for two slabs of the table.
const SLABS: usize = 16 << 10;
/// The number of buckets with which a filter begins if no size is given.
const FIRST_BUCKETS: usize = 128;

of_each_growing_layout! {
    no_size_is_needed
    sizes_that_a_maplet_can_reach
    the_maximum_capacity_is_reached
    the_load_stays_at_the_target
    reserved_room_is_enough
    reserved_room_is_enough_beside_a_crowd
}

/// Makes a filter without a given size.
fn endless(layout: Layout) -> Growing {
    layout.growing_filters().build().expect("memory for a test")
}

/// At each size from the first to many thousands of items, every item is found, all are counted, and the rate is the
/// one that was stated in advance for this number. After the filter was cleared, it knows more of new items, and its
/// rate says so.
fn no_size_is_needed(layout: Layout) {
    let filter = endless(layout);
    assert_eq!(filter.slots(), FIRST_BUCKETS * layout.slots);
    let most = filter.max_capacity();
    assert!(most as u64 > 1 << 43 || most == usize::MAX, "{filter:?}");
    let items: Vec<u64> = hashes(1).take(usually(400_000, 4_000_000)).collect();
    let mut rate = 0.0;
    for wanted in [300, 20_000, 100_000, items.len()] {
        let stated = filter.false_positive_rate_at(wanted);
        let more = &items[filter.len()..wanted];
        assert_eq!(filter.insert_many(Prehashed::slice(more)), Ok(()), "{filter:?}");
        assert_eq!(filter.len(), wanted);
        let found = filter.contains_each(Prehashed::slice(&items[..wanted]));
        assert!(found.iter().all(|&found| found), "{filter:?}");
        rate = filter.contents().rate();
        assert!(wanted < 20_000 || (rate / stated - 1.0).abs() < 0.03, "{rate}, not {stated}");
        is_estimated(layout, &filter, rate);
    }
    // Entries that splits have doubled are removed with no other item, and stay.
    let mut removed = vec![false; items.len()];
    assert_eq!(filter.remove_many(Prehashed::slice(&items), &mut removed), Ok(items.len()));
    assert!(filter.is_empty());
    filter.clear();
    assert_eq!((filter.len(), filter.load_factor()), (0, 0.0));
    assert_eq!(filter.insert_many(Prehashed::slice(&items)), Ok(()), "{filter:?}");
    let again = filter.contents().rate();
    assert!(again < 0.25 * rate, "{again}, {rate} when it grew");
    is_estimated(layout, &filter, again);
}

/// Checks the present rate against the exact one, within the error of its estimate, which is from 2^14 buckets.
///
/// The oldest entries weigh most: there are as many as there were items at the first size. Each doubling has twice as
/// many entries, which weigh half. If an oldest entry weighs 1, each doubling adds the same to the sum, the variance is
/// three times that of the oldest entries, and the largest term is 1 (see `scatter`).
fn is_estimated(layout: Layout, filter: &Growing, exact: f64) {
    let buckets = (filter.slots() / layout.slots) as f64;
    let sampled = (16_384.0 / buckets).min(1.0);
    let oldest = FIRST_BUCKETS as f64 * layout.slots as f64 * layout.target() * sampled;
    let shares = 1.0 + (buckets / FIRST_BUCKETS as f64).log2();
    let chance = if sampled < 1.0 { scatter(3.0 * oldest, 1.0) / (oldest * shares) } else { 0.0 };
    let now = filter.false_positive_rate();
    println!("{now:.3e}, exactly {exact:.3e}, {:.1} % by chance: {filter:?}", 100.0 * chance);
    assert!((now / exact - 1.0).abs() < 0.001 + chance, "{now}, not {exact}: {filter:?}");
}

/// From any first capacity to any maximum, no filter is full too early; beyond the maximum, it is full at some time.
fn the_maximum_capacity_is_reached(layout: Layout) {
    let mut random = random(layout.bits.into());
    let mut small = || {
        let first = random.random_range(0..300);
        (first, first + random.random_range(0..1500))
    };
    let small: Vec<_> = (0..usually(120, 1200)).map(|_| small()).collect();
    for (seed, (first, most)) in (0..).zip(small.into_iter().chain([(0, 70_000), (1000, 40_000)])) {
        let filter = layout.growing(first, most);
        let items = || hashes(seed);
        assert_eq!(fill(&filter, items().take(most)), most, "{filter:?}, seed {seed}");
        assert_eq!(filter.len(), most);
        let stored = most + fill(&filter, items().skip(most));
        // The filter has grown as far as it may, and is full now.
        let (slots, memory) = (filter.slots(), filter.memory_bytes());
        // With free slots for the entries that splits have doubled.
        let least = layout.growing(most, most).slots();
        assert!((least..=least * 7 / 6).contains(&slots), "{least}: {filter:?}");
        let more = items().skip(stored).take(20);
        let refused = more.filter(|&hash| filter.insert(&Prehashed(hash)).is_err()).count();
        assert!(refused > 0);
        assert_eq!(filter.len(), stored + 20 - refused, "what fails changes nothing");
        assert_eq!((filter.slots(), filter.memory_bytes()), (slots, memory));
        assert!(items().take(stored).all(|hash| filter.contains(&Prehashed(hash))));
        // The load with which it grows, and in a large table some points more: then the searches go far.
        let load = filter.load_factor() + filter.stats().stashed_entries as f64 / slots as f64;
        let more = if most >= 40_000 { 0.04 } else { 0.0 };
        assert!(slots < 1 << 10 || load >= layout.target() + more, "{load}: {filter:?}");
    }
}

/// At every insert, however an item is stored, the load is not below the target from the first growth on, nor far above
/// it while the filter may grow. (If only a failed search for a free slot made the table grow, it would grow later, by
/// thirteen points or more.) Tested with maplets of any number of extra bits, by which inserts take turns to look at
/// the load, and with filters that have the builder's target.
fn the_load_stays_at_the_target(layout: Layout) {
    let kinds = Kind::all(layout, widths).into_iter();
    // With one extra bit, a maplet begins with a table that can grow as far as this.
    for kind in kinds.filter(|kind| kind.grows && layout.extra_bits(kind.value_bits) > 1) {
        // From 32 buckets on, or as far as short rings allow.
        let (first, most, beyond) =
            if kind.value_bits == 0 { (1, 100_000, 0) } else { (40_000, 79_800, 100) };
        let subject = kind.build(first, most);
        stays_at(layout, layout.target(), &*subject, subject.slots() + beyond * layout.slots);
    }
    for target in [500, 660, layout.highest_target].map(|target| f64::from(target) / 1000.0) {
        let builder = layout.growing_filters().capacity(1000).max_capacity(100_000);
        let filter = builder.target_load(target).build().expect("memory for a test");
        stays_at(layout, target, &filter, 4 * filter.slots());
    }
}

/// Checks the load from more than `from` slots on, to the maximum.
fn stays_at(layout: Layout, target: f64, subject: &dyn Subject, from: usize) {
    let (most, top) = (subject.max_capacity(), subject.value_bits().min(1));
    let mut grown = 0;
    for (before, hash) in hashes(subject.value_bits().into()).take(most).enumerate() {
        if top == 0 && before % 2 == 1 {
            subject.insert_if_absent((hash, 0)).expect("below the maximum");
        } else {
            subject.insert((hash, top)).expect("below the maximum");
        }
        let slots = subject.slots();
        if slots <= from {
            continue;
        }
        grown += 1;
        // First without the entries that splits have doubled, then with them.
        let (items, load) = (subject.len() as f64 / slots as f64, subject.load_factor());
        // Growth follows the load of the whole table, at least at every 64th of its size, and at every bucket in a
        // small table. A stashed entry counts as 16 slots.
        let least = target * (1.0 - 1.0 / (slots / layout.slots).min(64) as f64);
        let load_with_stash = items.max(load) + 16.0 * subject.stashed().0 as f64 / slots as f64;
        assert!(load_with_stash >= least, "{load}, less than {least}: {subject:?}");
        let above = if slots < 1024 * layout.slots { 1.0 } else { load_above(slots) };
        assert!(load < target + above, "{load}: {subject:?}");
    }
    assert!(grown * 4 > most, "most of it after the first growth");
}

/// The default layout in large tables, from a million items on: the load is at most a hundredth of a percentage point
/// below the target, and an item takes at most 21.9 bits, where 22 are promised. The bytes besides the words are the
/// locks and versions, one slab of the table that is not in use yet, and the list of addresses.
#[test]
fn bits_per_item_in_large_filters() {
    const BATCH: usize = 64;
    let (layout, most) = (default_layout(), usually(1_400_000, 16_000_000));
    let filter = endless(layout);
    let (mut lowest_load, mut most_bits) = (1.0_f64, 0.0_f64);
    let mut items = hashes(1);
    for before in (0..most).step_by(BATCH) {
        let batch: Vec<u64> = items.by_ref().take(BATCH).collect();
        filter.insert_many(Prehashed::slice(&batch)).expect("below the maximum capacity");
        let items = before + BATCH;
        if items >= 1_000_000 {
            lowest_load = lowest_load.min(items as f64 / filter.slots() as f64);
            most_bits = most_bits.max(filter.memory_bytes() as f64 * 8.0 / items as f64);
        }
    }
    assert_eq!(filter.len(), most);
    println!("from a million to {most} items: load {lowest_load:.5}, bits per item {most_bits:.3}");
    assert!(lowest_load >= layout.target() - 0.0001, "{lowest_load}");
    assert!(most_bits <= 21.9, "{most_bits}");
    let words = 8 * (filter.slots() / 4);
    let besides = filter.memory_bytes() - words;
    assert!(besides <= MOST_BESIDES + SLABS + words / 64 + words / 512, "{besides}");
}

/// From nothing to 2^24 items in a long run, with the shortest cores or nearly so: no insert is refused, at most one
/// item in 10^5 is stashed (in smaller tables more), and the rate is the one that was stated for this number before the
/// filter grew.
#[test]
fn short_cores_grow_on_at_every_target() {
    let items = usually(1 << 16, 1 << 24);
    for (name, value_bits) in [("Fp12x5", 0), ("Fp16x4", 4), ("Fp21x3", 6)] {
        let kind = Kind { layout: Layout::named(name), grows: true, value_bits };
        let highest = kind.layout.highest_target(value_bits > 0);
        for target in [kind.layout.target, highest].map(|target| f64::from(target) / 1000.0) {
            let (stated, subject): (f64, Box<dyn Subject>) = if value_bits == 0 {
                let filter = kind.layout.growing_filters().target_load(target).build().unwrap();
                (filter.false_positive_rate_at(items), Box::new(filter))
            } else {
                let maplets = kind.layout.growing_maplets(value_bits).target_load(target);
                let maplet = maplets.build().unwrap();
                (maplet.false_positive_rate_at(items), Box::new(maplet))
            };
            for batch in kind.items(1, items).chunks(1 << 12) {
                assert_eq!(subject.insert_many(batch), Ok(()), "{subject:?}");
            }
            let (stashed, _) = subject.stashed();
            assert!(stashed * usually(1000, 100_000) <= items, "{stashed}: {subject:?}");
            for rate in [subject.contents().rate(), subject.false_positive_rate()] {
                assert!((rate / stated - 1.0).abs() < 0.1, "{rate}, {stated} stated: {subject:?}");
            }
        }
    }
}

/// The first capacity, and room that was reserved, are there: as many items do not make the filter grow. This also
/// holds after splits have doubled entries, and where the load is that of a sample.
fn reserved_room_is_enough(layout: Layout) {
    // The first capacity, the stored items, and the items for which room is reserved.
    let sizes = [
        (0, 30, 100, 1),
        (0, 300, 1000, 1),
        (100, 1000, 3000, 1),
        (1000, 3000, usually(10_000, 50_000), 1),
        (0, 300_000, 400_000, usually(1, 30)),
        (100, 0, 100, 20),
        (1000, 0, 1000, 10),
        (10_000, 0, 10_000, 4),
        (100_000, 0, 100_000, usually(3, 30)),
    ];
    for (first, stored, items, seeds) in sizes {
        for seed in 0..seeds {
            let filter = layout.growing(first, 10 * items);
            assert_eq!(fill(&filter, hashes(seed).take(stored)), stored);
            let max_capacity = 10 * items;
            let before = format!("{filter:?}");
            for additional in [max_capacity - stored + 1, usize::MAX] {
                let wanted = stored.saturating_add(additional);
                let error = filter.reserve(additional).unwrap_err();
                let Error::AboveMaxCapacity { wanted: all, max_capacity: most, .. } = error else {
                    panic!("{error:?}")
                };
                assert_eq!((all, most), (wanted, max_capacity));
                assert_eq!(format!("{filter:?}"), before, "nothing has changed");
            }
            if items > first {
                assert_eq!(filter.reserve(items - stored), Ok(()));
            }
            assert!(filter.capacity() >= items && filter.len() == stored, "{filter:?}");
            let slots = filter.slots();
            let most = 1.15 * items as f64 / layout.target();
            assert!(items < 400_000 || slots as f64 <= most, "{filter:?}");
            assert_eq!(fill(&filter, hashes(seed).take(items).skip(stored)), items - stored);
            assert_eq!(filter.slots(), slots, "seed {seed}: {filter:?}");
            assert_eq!(filter.reserve(max_capacity - items), Ok(()));
            assert_eq!(filter.capacity(), max_capacity);
            assert!(hashes(seed).take(items).all(|hash| filter.contains(&Prehashed(hash))));
        }
    }
}

/// Reserved room is enough where many values of one key are stashed: stashed entries make a table grow earlier.
fn reserved_room_is_enough_beside_a_crowd(layout: Layout) {
    let value_bits = layout.longest_values().min(10);
    for (values, stored, items) in [(200, 0, 1000), (900, 1000, 5000), (900, 0, 30_000)] {
        let maplet = Kind { layout, grows: true, value_bits }.build(0, 10 * items);
        let crowd = (0..values.min(1 << value_bits)).map(|value| (7, value));
        let of_one_value = |seed| hashes(seed).map(|hash| (hash, 0));
        let before: Vec<Item> = crowd.chain(of_one_value(1).take(stored)).collect();
        maplet.insert_all(&before).unwrap();
        assert!(maplet.stashed().0 > 40, "{maplet:?}");
        let more: Vec<Item> = of_one_value(2).take(items - before.len()).collect();
        maplet.reserve(more.len()).unwrap();
        let slots = maplet.slots();
        maplet.insert_all(&more).unwrap();
        assert_eq!(maplet.slots(), slots, "{maplet:?}");
    }
}

/// A small filter, whose entries know less than the buckets tell, is merged again and again: its items take few slots,
/// however often each is counted. So the filter goes on growing, and holds as many other items as it was built for.
#[test]
fn merges_of_the_same_items_leave_room_for_others() {
    let (layout, most) = (default_layout(), usually(400_000, 1_000_000));
    for (items, merges) in [(12, most / 400), (1, most / 33)] {
        let filter = layout.growing(0, most);
        assert_eq!(filter.reserve(most / 2), Ok(()));
        // It has 32 buckets. So its entries know at least two bits less than the buckets of the other filter tell.
        let small = layout.growing(1, most);
        for hash in hashes(1).take(items) {
            (0..8).for_each(|_| small.insert(&Prehashed(hash)).expect("there is room"));
        }
        (0..merges).for_each(|_| filter.merge(&small).expect("there is room"));
        let copies = 8 * items * merges;
        assert_eq!(filter.len(), copies);
        // Each item takes some 8 slots and an entry of the stash.
        let fullness = (filter.fullness() * most as f64).round() as usize;
        assert!((items..=12 * items).contains(&fullness), "{fullness}: {filter:?}");
        // At this size there are at least twice as many slots.
        let held = filter.slots() as f64 * layout.target() - 200.0 * items as f64;
        assert!(filter.capacity() as f64 >= held.min(most as f64), "{filter:?}");
        assert_eq!(filter.reserve(most * 3 / 4), Ok(()));
        assert!(filter.slots() as f64 * layout.target() >= (most * 3 / 4) as f64, "{filter:?}");
        let others = most - fullness;
        assert_eq!(fill(&filter, hashes(2).take(others)), others, "{filter:?}");
        assert_eq!(filter.len(), copies + others);
    }
}

/// The capacity grows from the first one to the maximum, and never shrinks. `clear` does not change it.
#[test]
fn the_capacity_grows_and_stays() {
    let layout = default_layout();
    let filter = layout.growing(500, 20_000);
    let mut seen = vec![filter.capacity()];
    for hash in hashes(1).take(20_000) {
        filter.insert(&Prehashed(hash)).expect("below the maximum capacity");
        seen.push(filter.capacity());
        let held = 0.99 * filter.slots() as f64 * layout.target();
        assert!(filter.capacity() as f64 >= held.min(20_000.0), "{filter:?}");
    }
    assert!(seen.is_sorted() && (500..600).contains(&seen[0]), "{filter:?}");
    seen.dedup();
    assert!(seen.len() > 500, "it grows in small steps: {}", seen.len());
    assert!((19_500..=20_000).contains(&filter.capacity()), "{filter:?}");

    let grown = filter.slots();
    filter.clear();
    assert_eq!((filter.len(), filter.slots()), (0, grown));
    assert!((19_500..=20_000).contains(&filter.capacity()), "{filter:?}");
    // A little less, since the exact moment of growth depends on the items.
    assert_eq!(fill(&filter, hashes(2).take(19_000)), 19_000);
    assert_eq!(filter.slots(), grown);
}

/// A filter does not grow for an item that it already has, and a removal does not make it smaller.
#[test]
fn inserts_that_store_nothing_do_not_grow_the_table() {
    let filter = default_layout().growing(100, 10_000);
    let insert = |hash: &u64| filter.insert_if_absent(&Prehashed(*hash)) == Ok(true);
    let stored: Vec<u64> = hashes(1).take(5000).filter(insert).collect();
    let slots = filter.slots();
    assert!(stored.len() > 4900 && slots > 5000);
    assert!(!hashes(1).take(5000).any(|hash| insert(&hash)));
    assert_eq!((filter.slots(), filter.len()), (slots, stored.len()));
    assert!(stored.iter().all(|&hash| filter.remove(&Prehashed(hash))));
    assert_eq!((filter.slots(), filter.len()), (slots, 0));
}

/// Maplets with values of any length state the capacity that they can reach, and reach it. At that size one in four of
/// their slots in use is doubled, and they are full soon after.
fn sizes_that_a_maplet_can_reach(layout: Layout) {
    for bits in 1..=layout.longest_values() {
        let builder = layout.growing_maplets(bits).capacity(1);
        let maplet = builder.build().expect("memory for a test");
        let most = maplet.max_capacity();
        let extra_bits = layout.extra_bits(bits);
        if extra_bits >= 7 {
            assert!(most as u64 > 1 << 43 || most == usize::MAX, "{maplet:?}");
            continue;
        }
        let doublings = extra_bits + (1 << extra_bits) / 4;
        let slots = (maplet.slots() << doublings) as f64;
        let doubled = f64::from(doublings - extra_bits) / f64::from(extra_bits).exp2();
        assert_eq!(most, (slots * layout.target() / (1.0 + doubled)) as usize, "{maplet:?}");
        let wanted = most.min(usually(30_000, 1_000_000));
        let items: Vec<u64> = hashes(1).take(wanted + wanted / 2).collect();
        let insert = |key: &u64| maplet.insert(&Prehashed(*key), 0);
        let stored = items.iter().take_while(|key| insert(key).is_ok()).count();
        assert!(stored >= wanted, "{stored} of {most}: {maplet:?}");
        if most == wanted {
            assert!(stored < items.len(), "{stored}: {maplet:?}");
            assert_eq!(items[stored..].iter().find_map(|key| insert(key).err()), Some(Error::Full));
        }
        assert!(items[..stored].iter().all(|&key| maplet.contains_key(&Prehashed(key))));
    }
}
