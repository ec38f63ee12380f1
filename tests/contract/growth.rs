//! What a filter that grows promises: it needs no size, nothing is lost, it is never full below the greatest
//! capacity, its load is high at every size, and it tells its rate of false positives.
//!
//! No other thread takes part, so what a test does depends on its seed alone.

use std::collections::HashSet;

use coucal::{AnyLayout, CuckooFilter, Error, Fp32x2, Growable, GrowableCuckooFilter, Prehashed};
use coucal_reference::format::Geometry;
use rand::RngExt;

use super::Holders;
use crate::common::{
    Growing, Kind, LEAST_BUCKETS, Layout, Subject, default_layout, fill, hashes, is_expected,
    load_above, random, scatter, usually, widths,
};

/// The bytes that a filter has besides its words: locks, counters and versions, and itself.
const MOST_BESIDES: usize = 48 << 10;
/// A part of the table that growth allocates at once.
const PART: usize = 16 << 10;
/// The buckets that a filter begins with of which no size is said.
const FIRST_BUCKETS: usize = 128;

of_each_growing_layout! {
    no_size_is_needed
    what_a_maplet_can_reach
    small_filters_reach_their_greatest_capacity
    large_filters_reach_their_greatest_capacity
    the_load_stays_at_the_target
    reserved_room_is_enough
    reserved_room_is_enough_after_many_doublings
    the_first_capacity_is_enough
}

/// A filter of which no size is said.
fn endless(layout: Layout) -> Growing {
    layout.filters().growable().build().expect("memory for a test")
}

/// Every item is found, all are counted, and the rate is that of the formula, at each size from the first to
/// a million items.
fn no_size_is_needed(layout: Layout) {
    let filter = endless(layout);
    assert_eq!(filter.slots(), FIRST_BUCKETS * layout.slots);
    let most = filter.max_capacity();
    assert!(most as u64 > 1 << 43 || most == usize::MAX, "{filter:?}");
    let mut items = hashes(1);
    for wanted in [20_000, 100_000, usually(400_000, 4_000_000)] {
        let batch: Vec<u64> = items.by_ref().take(wanted - filter.len()).collect();
        assert_eq!(filter.insert_many(Prehashed::slice(&batch)), Ok(()), "{filter:?}");
        assert_eq!(filter.len(), wanted);
        let held: Vec<u64> = hashes(1).take(wanted).collect();
        let found = filter.contains_each(Prehashed::slice(&held));
        assert!(found.iter().all(|&found| found), "{filter:?}");
        let load = filter.load_factor();
        let least = layout.target() - allowance(layout, filter.slots());
        assert!((least..0.92).contains(&load), "{load}: {filter:?}");
        is_estimated(layout, &filter, filter.false_positive_rate_at(wanted));
    }
    // What splits have doubled goes with nothing else, and stays.
    let held: Vec<u64> = hashes(1).take(filter.len()).collect();
    let mut removed = vec![false; held.len()];
    assert_eq!(filter.remove_many(Prehashed::slice(&held), &mut removed), Ok(held.len()));
    assert!(filter.is_empty());
    filter.clear();
    assert_eq!((filter.len(), filter.load_factor()), (0, 0.0));
}

/// By each of its constructors.
#[test]
fn a_filter_without_a_size() {
    let new = GrowableCuckooFilter::new();
    let default: GrowableCuckooFilter<Fp32x2> = GrowableCuckooFilter::default();
    let hashed = GrowableCuckooFilter::with_hasher(());
    assert_eq!([new.slots(), default.slots(), hashed.slots()], [512, 256, 512]);
    for item in 0..20_000 {
        assert!(new.insert(&item).is_ok() && hashed.insert(&Prehashed(item)).is_ok());
        assert!(default.insert(&item).is_ok());
    }
    assert!((0..20_000_u64).all(|item| new.contains(&item) && default.contains(&item)));
    assert!((0..20_000).all(|hash| hashed.contains(&Prehashed(hash))));
    assert_eq!([new.len(), default.len(), hashed.len()], [20_000; 3]);
    let builder = CuckooFilter::builder().growable().hasher(()).build().expect("memory for a test");
    assert_eq!((builder.slots(), builder.max_capacity()), (512, hashed.max_capacity()));
}

/// An empty filter is small, and smaller if its maximum is.
#[test]
fn an_empty_filter_is_small() {
    assert!(GrowableCuckooFilter::new().memory_bytes() <= 2 << 10);
    for most in [0, 100, 1000, 10_000] {
        let filter = default_layout().growing(0, most);
        assert!(filter.memory_bytes() <= 2 << 10, "{most}: {}", filter.memory_bytes());
    }
}

/// A filter of so many items of a seed, which has grown to hold them.
fn filled(layout: Layout, seed: u64, items: usize) -> Growing {
    let filter = endless(layout);
    assert_eq!(fill(&filter, hashes(seed).take(items)), items);
    filter
}

/// Fills the filter up to its greatest capacity, and beyond it until an insert fails.
fn fill_to_the_greatest(layout: Layout, filter: &Growing, seed: u64) {
    let most = filter.max_capacity();
    let items = || hashes(seed);
    assert_eq!(fill(filter, items().take(most)), most, "{filter:?}, seed {seed}");
    assert_eq!(filter.len(), most);
    let stored = most + fill(filter, items().skip(most));
    // It has grown as far as it may, and is full now.
    let (slots, memory) = (filter.slots(), filter.memory_bytes());
    // With room for what splits have doubled.
    let least = layout.growing(most, most).slots();
    assert!((least..=least * 7 / 6).contains(&slots), "{least}: {filter:?}");
    let more = items().skip(stored).take(20);
    let refused = more.filter(|&hash| filter.insert(&Prehashed(hash)).is_err()).count();
    assert!(refused > 0);
    assert_eq!(filter.len(), stored + 20 - refused, "what fails changes nothing");
    assert_eq!((filter.slots(), filter.memory_bytes()), (slots, memory));
    assert!(items().take(stored).all(|hash| filter.contains(&Prehashed(hash))));
}

/// Of several thousand small filters, from any first capacity to any greatest one, none is full before its
/// time.
fn small_filters_reach_their_greatest_capacity(layout: Layout) {
    let mut random = random(layout.bits.into());
    for seed in 0..usually(120, 1200) {
        let first = random.random_range(0..300);
        let most = first + random.random_range(0..1500);
        let filter = layout.growing(first, most);
        fill_to_the_greatest(layout, &filter, seed);
        if filter.slots() >= 1 << 10 {
            let load = filter.load_factor();
            assert!(load >= layout.target(), "{load}: {filter:?}");
        }
    }
}

/// In large filters, too; and full means full.
fn large_filters_reach_their_greatest_capacity(layout: Layout) {
    for (first, most) in [(0, 70_000), (1000, 40_000)] {
        let filter = layout.growing(first, most);
        fill_to_the_greatest(layout, &filter, most as u64);
        let load = filter.load_factor();
        println!("{} is full at {load:.4}: {filter:?}", layout.name);
        // What it grows with, and some points more: then the searches go far.
        let stashed = filter.stats().stashed_entries as f64 / filter.slots() as f64;
        assert!(load + stashed >= layout.target() + 0.04, "{load}: {filter:?}");
    }
    // Without the last items, which take a long time.
    let most = usually(100_000, 500_000);
    let filter = layout.growing(0, most);
    assert_eq!(fill(&filter, hashes(1).take(most)), most, "{filter:?}");
    assert!(hashes(1).take(most).all(|hash| filter.contains(&Prehashed(hash))));
}

/// By how much the load may be below the target in a table of so many slots: growth goes by the load of the whole table
/// at every 64th of its size at the least, and in a small table at every bucket.
fn allowance(layout: Layout, slots: usize) -> f64 {
    layout.target() / (slots / layout.slots).min(64) as f64
}

/// However an item is stored, at every insert: not below the target from the first growth on, nor far above it while it
/// may grow. (A search for room that fails would let it grow later, by thirteen points or more.) Maplets, whatever is
/// left of the extra bits, by which inserts take turns to look at the load.
fn the_load_stays_at_the_target(layout: Layout) {
    let kinds = Kind::all(layout, widths).into_iter();
    // With one extra bit it begins with a table that can come so far.
    for kind in kinds.filter(|kind| kind.grows && layout.extra_bits(kind.value_bits) > 1) {
        let is_filter = kind.value_bits == 0;
        // From 32 buckets on, or as far as short rings go.
        let (first, most) = if is_filter { (1, 100_000) } else { (40_000, 79_800) };
        let subject = kind.build(first, most);
        let first = subject.slots() + if is_filter { 0 } else { 100 * layout.slots };
        let mut grown = 0;
        for (before, hash) in hashes(kind.value_bits.into()).take(most).enumerate() {
            let item = (hash, 1 & kind.top());
            if is_filter && before % 2 == 1 {
                subject.insert_unique(item).expect("below the maximum");
            } else {
                subject.insert(item).expect("below the maximum");
            }
            let slots = subject.slots();
            if slots <= first {
                continue;
            }
            grown += 1;
            // Without those that splits have doubled, and else with them.
            let (items, load) = (subject.len() as f64 / slots as f64, subject.load_factor());
            let least = layout.target() - allowance(layout, slots);
            assert!(items.max(load) >= least, "{load}, less than {least}: {subject:?}");
            let above = if slots < 1024 * layout.slots { 1.0 } else { load_above(slots) };
            assert!(load < layout.target() + above, "{load}: {subject:?}");
        }
        assert!(grown * 4 > most, "most of it after the first growth");
    }
}

/// The default layout in large tables, from a million items on: not a hundredth of a point below the
/// target, and 21.9 bits per item or less, for which 22 are promised; besides the words the locks and versions,
/// one part of the table that is not in use yet, and the list of the parts.
#[test]
fn bits_per_item_in_large_filters() {
    const BATCH: usize = 64;
    let (layout, greatest) = (default_layout(), usually(1_400_000, 16_000_000));
    let filter = endless(layout);
    let (mut lowest_load, mut most_bits) = (1.0_f64, 0.0_f64);
    let mut items = hashes(1);
    for before in (0..greatest).step_by(BATCH) {
        let batch: Vec<u64> = items.by_ref().take(BATCH).collect();
        filter.insert_many(Prehashed::slice(&batch)).expect("below the greatest capacity");
        let items = before + BATCH;
        if items >= 1_000_000 {
            lowest_load = lowest_load.min(items as f64 / filter.slots() as f64);
            most_bits = most_bits.max(filter.memory_bytes() as f64 * 8.0 / items as f64);
        }
    }
    assert_eq!(filter.len(), greatest);
    println!(
        "from a million to {greatest} items: load {lowest_load:.5}, bits per item {most_bits:.3}"
    );
    assert!(lowest_load >= layout.target() - 0.0001, "{lowest_load}");
    assert!(most_bits <= 21.9, "{most_bits}");
    let words = 8 * (filter.slots() / 4);
    let besides = filter.memory_bytes() - words;
    assert!(besides <= MOST_BESIDES + PART + words / 64 + words / 512, "{besides}");
}

/// By how much the present rate may be misjudged: `stated` is the rate by the formula.
///
/// It is estimated from 2^14 buckets. Of the entries there as many weigh most as there were items at the first size,
/// and of each doubling twice as many weigh half. In proportion to the sum, where each doubling has one share, the
/// variance is three of the oldest entries' and the greatest term one of them (see `scatter`).
fn is_estimated(layout: Layout, filter: &Growing, stated: f64) {
    let buckets = (filter.slots() / layout.slots) as f64;
    let sampled = (16_384.0 / buckets).min(1.0);
    let oldest = FIRST_BUCKETS as f64 * layout.slots as f64 * layout.target() * sampled;
    let shares = 1.0 + (buckets / FIRST_BUCKETS as f64).log2();
    let chance = if sampled < 1.0 { scatter(3.0 * oldest, 1.0) / (oldest * shares) } else { 0.0 };
    let now = filter.false_positive_rate();
    println!(
        "{now:.3e}, by the formula {stated:.3e}, {:.1} % by chance: {filter:?}",
        100.0 * chance
    );
    assert!((now / stated - 1.0).abs() < 0.03 + chance, "{now}, not {stated}: {filter:?}");
}

/// As many absent keys are found as by the rate.
fn is_as_stated(filter: &Growing, rate: f64) {
    let expected = usually(1500.0, 10_000.0);
    let absent = hashes(5).take((expected / rate) as usize);
    let found = absent.filter(|&hash| filter.contains(&Prehashed(hash))).count();
    is_expected(found, expected, 0.03, &format!("{filter:?}"));
}

/// The formula of the documentation for a table that has doubled this number of times.
fn by_the_formula(layout: Layout, load: f64, doublings: f64) -> f64 {
    let matches = 2.0 * layout.slots as f64 * load * 0.5_f64.powi(layout.bits.cast_signed() - 1);
    -(-matches * (1.0 + doublings)).exp_m1()
}

/// A filter of which no size was said. When it has doubled 0, 4 and 9 times, the rate is that of the formula, which
/// is what the filter says for now, and what it said at first for this number of items. When it was cleared
/// and is filled again, its items are known better, and it says so.
fn false_positives_are_as_stated(layout: Layout) {
    let filter = endless(layout);
    let first = filter.slots() as f64 * layout.target();
    let all = usually(vec![0, 4, 9], (0..10).collect());
    let sizes: Vec<(i32, usize, f64)> = all
        .into_iter()
        .map(|doublings| {
            let items = ((first * 2_f64.powi(doublings)) as usize).min(filter.max_capacity());
            (doublings, items, filter.false_positive_rate_at(items))
        })
        .collect();
    let mut items = hashes(3);
    for &(doublings, wanted, before) in &sizes {
        let batch: Vec<u64> = items.by_ref().take(wanted - filter.len()).collect();
        filter.insert_many(Prehashed::slice(&batch)).expect("memory for a test");
        is_as_stated(&filter, before);
        is_estimated(layout, &filter, before);
        let formula = by_the_formula(layout, layout.target(), doublings.into());
        // Which counts the core 0, and no item has it.
        let off = 0.05 + 1.0 / filter.geometry().cores() as f64;
        assert!((before / formula - 1.0).abs() < off, "{doublings}: {before}, {formula}");
    }
    let &(_, most, at_last) = sizes.last().expect("several sizes");
    filter.clear();
    let batch: Vec<u64> = items.take(most).collect();
    filter.insert_many(Prehashed::slice(&batch)).expect("memory for a test");
    let now = filter.false_positive_rate();
    assert!(now < 0.25 * at_last, "{now}, {at_last} when it grew");
    is_as_stated(&filter, now);
}

#[test]
fn false_positives_of_12_bits() {
    false_positives_are_as_stated(Layout::named("Fp12x5"));
}

#[test]
fn false_positives_of_16_bits() {
    false_positives_are_as_stated(Layout::named("Fp16x4"));
}

/// A filter, and what a test knows of its entries.
struct Grown {
    filter: Growing,
    seed: u64,
    /// The sum of 2^-n over all entries, where n is how many bits of its position an entry knew when it came.
    weight: f64,
}

/// Filters of different items, which grow together.
struct Filters {
    layout: Layout,
    geometry: Geometry,
    grown: Vec<Grown>,
}

impl Filters {
    /// Each begins with room for this number of items.
    fn new(layout: Layout, number: u64, first: usize) -> Self {
        let build = |seed| {
            let filter = layout.filters().capacity(first).max_capacity(first.max(64) << 10).build();
            let filter = filter.expect("memory for a test");
            Grown { filter, seed: 1000 + seed, weight: 0.0 }
        };
        let grown: Vec<Grown> = (0..number).map(build).collect();
        Self { layout, geometry: grown[0].filter.geometry(), grown }
    }

    /// Inserts until each filter is as full as it gets at this multiple of its first size, no more filters than
    /// have `most` items together; the others go. `inserted` is told of each item, with the number of
    /// its filter.
    fn grow(&mut self, times: f64, most: usize, mut inserted: impl FnMut(u32, u64)) {
        let slots = (self.geometry.first as f64 * times) as usize * self.layout.slots;
        let items = slots as f64 * self.layout.target();
        self.grown.truncate((most / items as usize).max(1));
        for (number, Grown { filter, seed, weight }) in (0..).zip(&mut self.grown) {
            for hash in hashes(*seed).skip(filter.len()) {
                if filter.slots() >= slots && filter.len() >= items as usize {
                    break;
                }
                *weight += (-f64::from(self.geometry.known_at(filter.slots()))).exp2();
                filter.insert(&Prehashed(hash)).expect("memory for a test");
                inserted(number, hash);
            }
        }
    }

    /// How many entries match an item that is not theirs, on average: of each entry the core, and all bits of
    /// one of its two positions that it knows.
    fn expected(&self) -> f64 {
        let weight: f64 = self.grown.iter().map(|grown| grown.weight).sum();
        2.0 * weight / self.geometry.cores() as f64 / self.grown.len() as f64
    }

    /// The same where the load is that of the first filter all the time: with 2^L to 2^(L+1) buckets it is in
    /// proportion to the number of levels before, and the buckets by 2^L.
    fn by_the_formula(&self) -> f64 {
        let Grown { filter, .. } = &self.grown[0];
        let (buckets, first) = ((filter.slots() / self.layout.slots) as u64, self.geometry.first);
        let levels = f64::from(buckets.ilog2() - first.ilog2());
        let doublings = levels + buckets as f64 / f64::from(buckets.ilog2()).exp2() - 1.0;
        // One core of 2^k is not drawn.
        let drawn = (self.geometry.cores() + 1) as f64 / self.geometry.cores() as f64;
        by_the_formula(self.layout, filter.load_factor(), doublings) * drawn
    }
}

fn is_about(measured: f64, expected: f64, tolerance: f64, what: &str) {
    println!("{what}: {measured:.3e}, {expected:.3e} expected");
    assert!((measured / expected - 1.0).abs() < tolerance, "{what}: {measured}, not {expected}");
}

/// `count` of items that are present finds as many entries of others as are found for an absent item: 1,200 and more,
/// some of them for each other.
fn false_copies(layout: Layout, first: usize, doublings: &[i32], most: usize) {
    let mut filters = Filters::new(layout, (most / first) as u64, first);
    for &doublings in doublings {
        filters.grow(2_f64.powi(doublings), most, |_, _| {});
        let (mut items, mut copies) = (0, 0);
        for Grown { filter, seed, .. } in &filters.grown {
            items += filter.len();
            copies += hashes(*seed)
                .take(filter.len())
                .map(|h| filter.count(&Prehashed(h)))
                .sum::<usize>();
        }
        let expected = filters.expected() * items as f64;
        assert!(expected > usually(1200.0, 4500.0), "too few");
        let off = scatter(expected, 2.0) / expected;
        let what = format!("{}, {doublings} doublings", layout.name);
        is_about((copies - items) as f64, expected, off, &what);
        is_about(filters.by_the_formula(), filters.expected(), 0.06, "by the formula");
    }
}

#[test]
fn false_copies_of_12_bits() {
    let most = usually(400_000, 1_400_000);
    false_copies(Layout::named("Fp12x5"), 700, &[0, 4, 8], most);
}

#[test]
fn false_copies_of_16_bits() {
    let most = usually(1_600_000, 4_000_000);
    false_copies(Layout::named("Fp16x4"), usually(700, 1500), &[5, 9], most);
}

/// Absent items are looked up in many filters. One is not found where no item has its class: so it is
/// looked up only where one has, but for some lookups that show just that. The share that is found is one
/// of all lookups, made or not: so many as find `wanted`.
fn planted(layout: Layout, wanted: f64, number: u64, doublings: &[i32], most: usize) {
    let mut filters = Filters::new(layout, number, 1);
    let geometry = filters.geometry;
    assert_eq!(geometry.first, LEAST_BUCKETS as u64);
    let class = |hash| geometry.class(hash);
    let mut holders = Holders::new();
    for &doublings in doublings {
        let before = filters.grown.len();
        filters.grow(2_f64.powi(doublings), most, |number, hash| {
            holders.add(class(hash), number);
        });
        let (expected, grown) = (filters.expected(), &filters.grown);
        if grown.len() < before {
            // Without those that went.
            holders = Holders::new();
            for (number, Grown { filter, seed, .. }) in (0..).zip(grown) {
                hashes(*seed).take(filter.len()).for_each(|hash| holders.add(class(hash), number));
            }
        }
        let lookups = (wanted / expected / grown.len() as f64) as usize;
        let found_by = |hash: u64| {
            let numbers = holders.of(class(hash)).iter();
            numbers
                .filter(|&&number| grown[number as usize].filter.contains(&Prehashed(hash)))
                .count()
        };
        let found: usize = hashes(5).take(lookups).map(found_by).sum();
        is_expected(found, wanted, 0.01, &format!("{layout:?}, {doublings} doublings"));
        is_about(filters.by_the_formula(), expected, 0.1, "by the formula");
        for hash in hashes(6).take(1000).filter(|&hash| holders.of(class(hash)).is_empty()) {
            assert!(!grown.iter().take(100).any(|grown| grown.filter.contains(&Prehashed(hash))));
        }
    }
}

#[test]
fn false_positives_of_21_bits() {
    let wanted = usually(600.0, 3000.0);
    planted(Layout::named("Fp21x3"), wanted, 256, &[0, 4, 9], usually(60_000, 300_000));
}

/// They are so rare that nine doublings take long.
#[test]
fn false_positives_of_32_bits() {
    let layout = Layout::named("Fp32x2");
    // Enough to notice that a bit is lost, which doubles the rate.
    let (wanted, doublings) = usually((100.0, &[0, 3][..]), (2500.0, &[0, 4, 9]));
    planted(layout, wanted, 1 << 15, doublings, usually(725_000, 2_900_000));
}

/// The load is the one that the builder was given, from the first growth to the greatest size.
#[test]
fn the_load_is_that_of_the_builder() {
    for target in [0.5, 0.66, 0.75, 0.87] {
        let builder = CuckooFilter::builder().capacity(1000).max_capacity(100_000);
        let filter = builder.target_load(target).build().expect("memory for a test");
        let first = filter.slots();
        for hash in hashes(1).take(100_000) {
            filter.insert(&Prehashed(hash)).expect("below the greatest capacity");
            let most = target + load_above(filter.slots());
            if filter.slots() > 4 * first {
                let load = filter.load_factor();
                let least = target - allowance(default_layout(), filter.slots());
                assert!((least..most).contains(&load), "{load}: {filter:?}");
            }
        }
        assert!(filter.slots() > 50 * first, "{filter:?}");
    }
}

/// From nothing to 2^24 items on a long run, with the shortest cores or nearly so: nothing is refused, at most one in
/// 10^5 is stashed (in smaller tables more), and the rate is what was stated for this number before it grew.
#[test]
fn short_cores_grow_on_at_every_target() {
    let items = usually(1 << 16, 1 << 24);
    for (name, value_bits) in [("Fp12x5", 0), ("Fp16x4", 4), ("Fp21x3", 6)] {
        let layout = Layout::named(name);
        let highest = layout.highest_target(value_bits > 0);
        for target in [layout.target, highest].map(|target| f64::from(target) / 1000.0) {
            let filters = layout.filters().growable().target_load(target);
            let maplets = layout.maplets(value_bits).growable().target_load(target);
            let (subject, stated): (Box<dyn Subject>, _) = if value_bits == 0 {
                let filter = filters.build().expect("memory for a test");
                let stated = filter.false_positive_rate_at(items);
                (Box::new(filter), stated)
            } else {
                let maplet = maplets.build().expect("memory for a test");
                let stated = maplet.false_positive_rate_at(items);
                (Box::new(maplet), stated)
            };
            let kind = Kind { layout, grows: true, value_bits };
            for batch in kind.items(1, items).chunks(1 << 12) {
                assert_eq!(subject.insert_many(batch), Ok(()), "{subject:?}");
            }
            let (stashed, _) = subject.stashed();
            println!("{stashed} are stashed: {subject:?}");
            assert!(stashed * usually(1000, 100_000) <= items, "{stashed}: {subject:?}");
            let expected = usually(1500.0, 10_000.0);
            let absent = hashes(5).take((expected / stated) as usize);
            let found: usize = absent.map(|hash| subject.values(hash).len()).sum();
            is_expected(found, expected, 0.05, &format!("{subject:?}"));
            let rate = subject.false_positive_rate();
            assert!((rate / stated - 1.0).abs() < 0.1, "{rate}, {stated} stated: {subject:?}");
        }
    }
}

/// Room that is asked for is there: the items that it is for do not make the filter grow. What cannot be
/// had changes nothing.
fn reserved_room_is_enough(layout: Layout) {
    for (first, items) in [(0, 100), (0, 1000), (100, 3000), (1000, usually(10_000, 50_000))] {
        let filter = layout.growing(first, 10 * items);
        let most = filter.max_capacity();
        assert_eq!(fill(&filter, hashes(1).take(items / 3)), items / 3);
        let before = format!("{filter:?}");
        for additional in [most - items / 3 + 1, most, usize::MAX] {
            let error = filter.reserve(additional).expect_err("beyond the greatest capacity");
            let wanted = (items / 3).saturating_add(additional);
            assert_eq!(error, Error::AboveMaxCapacity { wanted, max_capacity: most });
            assert!(error.to_string().contains(&most.to_string()), "{error}");
            assert_eq!(format!("{filter:?}"), before, "nothing has changed");
        }

        assert_eq!(filter.reserve(items - items / 3), Ok(()));
        assert!(filter.capacity() >= items && filter.len() == items / 3, "{filter:?}");
        let slots = filter.slots();
        assert_eq!(filter.reserve(0), Ok(()));
        assert!(hashes(1).take(items / 3).all(|hash| filter.contains(&Prehashed(hash))));
        let rest = hashes(1).take(items).skip(items / 3);
        assert_eq!(fill(&filter, rest), items - items / 3);
        assert_eq!(filter.slots(), slots, "{} items in {filter:?}", filter.len());

        assert_eq!(filter.reserve(most - items), Ok(()));
        assert_eq!(filter.capacity(), most);
        assert!(hashes(1).take(items).all(|hash| filter.contains(&Prehashed(hash))));
    }
}

/// Also where splits have doubled entries before, and where the load is that of a sample.
fn reserved_room_is_enough_after_many_doublings(layout: Layout) {
    for seed in 0..usually(1, 30) {
        let filter = filled(layout, seed, 300_000);
        assert_eq!(filter.reserve(100_000), Ok(()));
        assert!(filter.capacity() >= 400_000, "{filter:?}");
        let slots = filter.slots();
        assert!(slots as f64 * layout.target() <= 1.02 * 400_000.0 * 1.125, "{filter:?}");
        assert_eq!(filter.reserve(100_000), Ok(()));
        let more = hashes(seed).skip(300_000).take(100_000);
        assert_eq!(fill(&filter, more), 100_000);
        assert_eq!(filter.slots(), slots, "seed {seed}: {filter:?}");
    }
}

/// What a filter must hold before it grows: as reserved room.
fn the_first_capacity_is_enough(layout: Layout) {
    for (capacity, seeds) in [(100, 20), (1000, 10), (10_000, 4), (100_000, usually(3, 30))] {
        for seed in 0..seeds {
            let filter = layout.growing(capacity, 10 * capacity);
            let slots = filter.slots();
            assert_eq!(fill(&filter, hashes(seed).take(capacity)), capacity);
            assert_eq!(filter.slots(), slots, "seed {seed}: {filter:?}");
        }
    }
}

/// The capacity goes from the first one to the greatest, never down; `clear` leaves it as it is.
#[test]
fn the_capacity_grows_and_stays() {
    let layout = default_layout();
    let filter = layout.growing(500, 20_000);
    let first = filter.capacity();
    assert!((500..600).contains(&first) && filter.max_capacity() == 20_000, "{filter:?}");
    let mut seen = HashSet::new();
    let mut before = first;
    for (place, hash) in hashes(1).take(20_000).enumerate() {
        filter.insert(&Prehashed(hash)).expect("below the greatest capacity");
        let capacity = filter.capacity();
        assert!(before <= capacity && capacity <= 20_000);
        let held = 0.99 * filter.slots() as f64 * layout.target();
        assert!(capacity as f64 >= held.min(20_000.0), "{place}: {filter:?}");
        seen.insert(capacity);
        before = capacity;
    }
    assert!(before > 19_500, "{before}");
    assert!(seen.len() > 500, "it grows in small steps: {}", seen.len());

    let grown = filter.slots();
    filter.clear();
    assert!(filter.is_empty());
    assert_eq!(filter.slots(), grown);
    assert!(filter.capacity() > 19_500 && filter.capacity() <= 20_000, "{filter:?}");
    assert!(filter.false_positive_rate().abs() < f64::EPSILON);
    assert!(hashes(1).take(20_000).all(|hash| !filter.contains(&Prehashed(hash))));
    // A little less: where exactly it grows depends on the items.
    assert_eq!(fill(&filter, hashes(2).take(19_000)), 19_000);
    assert_eq!(filter.slots(), grown);
}

/// Nobody grows for an item that is there already, and a removal makes nothing smaller.
#[test]
fn what_stores_nothing_lets_nothing_grow() {
    let filter = default_layout().growing(100, 10_000);
    let items: Vec<u64> = hashes(1).take(5000).collect();
    let stored: Vec<u64> = items
        .iter()
        .copied()
        .filter(|&hash| filter.insert_unique(&Prehashed(hash)) == Ok(true))
        .collect();
    let slots = filter.slots();
    assert!(stored.len() > 4900 && slots > 5000);
    for &hash in &items {
        assert_eq!(filter.insert_unique(&Prehashed(hash)), Ok(false));
    }
    assert!(stored.iter().all(|&hash| filter.count(&Prehashed(hash)) == 1));
    assert_eq!((filter.slots(), filter.len()), (slots, stored.len()));
    assert!(stored.iter().all(|&hash| filter.remove(&Prehashed(hash))));
    assert_eq!((filter.slots(), filter.len()), (slots, 0));
}

#[test]
fn what_is_printed() {
    let filter = default_layout().growing(100, 1000);
    let first = format!("{filter:?}");
    assert!(first.starts_with("CuckooFilter { layout: \"Fp16x4\", len: 0, capacity: 1"), "{first}");
    fill(&filter, hashes(1).take(1000));
    let full = format!("{filter:?}");
    assert!(full.contains("len: 1000, capacity: "), "{full}");
    let builder = CuckooFilter::builder().capacity(100).max_capacity(1000);
    let builder: coucal::Builder<Growable<AnyLayout>> = builder.any_layout().target_load(0.75);
    let printed = format!("{builder:?}");
    for part in
        ["AnyLayout", "capacity: Some(100)", "max_capacity: Some(1000)", "target_load: Some(0.75)"]
    {
        assert!(printed.contains(part), "{printed}");
    }
}

/// What is asked for at random: a first capacity, a greatest one, a rate or none.
fn wishes() -> impl Iterator<Item = (usize, usize, Option<f64>)> {
    let mut random = random(83);
    std::iter::repeat_with(move || {
        let mut magnitude = |least: f64, most: f64| 10_f64.powf(random.random_range(least..most));
        let first = (magnitude(0.0, 4.0) - 1.0) as usize;
        let most = (first as f64 * magnitude(0.0, 3.0) + magnitude(0.0, 3.0)) as usize;
        let rate = magnitude(-9.5, -1.0);
        (first, most, random.random_bool(0.7).then_some(rate))
    })
}

/// The layout that is chosen at run time reaches the rate at the greatest capacity, and holds so many items.
#[test]
fn any_layout_reaches_the_rate() {
    let mut chosen = HashSet::new();
    for (first, most, rate) in wishes().take(300) {
        let builder = CuckooFilter::builder().capacity(first).max_capacity(most).any_layout();
        let built = match rate {
            Some(rate) => builder.false_positive_rate(rate).build(),
            None => builder.build(),
        };
        let Ok(filter) = built else { continue };
        chosen.insert(filter.layout_name());
        assert!(rate.is_none_or(|rate| filter.false_positive_rate_at(most) <= rate), "{filter:?}");
        if most < 20_000 {
            assert_eq!(fill(&filter, hashes(7).take(most)), most, "{filter:?}");
            // In a small table a level may begin late, if no insert looks at the load: of n levels each by a
            // share of 2.3 % or less on average, with odds that fall exponentially.
            let expected = filter.false_positive_rate();
            assert!(rate.is_none_or(|rate| expected <= 1.25 * rate), "{rate:?}: {filter:?}");
            assert!(hashes(7).take(most).all(|hash| filter.contains(&Prehashed(hash))));
        }
    }
    assert_eq!(chosen.len(), 4, "{chosen:?}");
}

/// Maplets with values of any length say what they can reach, and reach it: one in four of their slots in use is
/// doubled then.
fn what_a_maplet_can_reach(layout: Layout) {
    for bits in 1..=layout.longest_values() {
        let builder = layout.maplets(bits).growable().capacity(1);
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
        let most = most.min(usually(30_000, 1_000_000));
        for (place, key) in hashes(1).take(most).enumerate() {
            assert_eq!(maplet.insert(&Prehashed(key), 0), Ok(()), "{place} of {most}: {maplet:?}");
        }
        assert!(hashes(1).take(most).all(|key| maplet.contains_key(&Prehashed(key))));
    }
}

/// At the end a maplet with short rings is full, and with a larger maximum it begins with more.
#[test]
fn a_maplet_with_short_rings_is_full_at_its_end() {
    let layout = Layout::named("Fp12x5");
    let maplet = layout.maplets(4).growable().capacity(1).build().expect("memory for a test");
    let most = maplet.max_capacity();
    let insert = |&hash: &u64| maplet.insert(&Prehashed(hash), 1);
    let items: Vec<u64> = hashes(1).take(2 * most).collect();
    let stored = items.iter().take_while(|&hash| insert(hash).is_ok()).count();
    assert!((most..most * 5 / 4).contains(&stored), "{stored}: {maplet:?}");
    assert_eq!(items[stored..].iter().find_map(|hash| insert(hash).err()), Some(Error::Full));
    assert!(items[..stored].iter().all(|&hash| maplet.contains_key(&Prehashed(hash))));
    let slots = |most| layout.growing_maplet(1, most, 4).slots();
    assert!(slots(10 * most) > slots(most));
}
