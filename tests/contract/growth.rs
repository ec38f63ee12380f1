//! What a filter that grows promises: nothing is lost, never full below the greatest capacity, a high
//! load at every size, and a rate of false positives that it tells.
//!
//! Hashes come from seeds and no other thread takes part, so each test does the same in every run.

use std::collections::HashSet;
use std::ops::Range;

use coucal::{
    AnyLayout, BuildError, CuckooFilter, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Growable, GrowingLayout,
    ReserveError,
};
use coucal_reference::LAYOUTS;
use coucal_reference::format::{Class, Geometry};
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashMap;

use crate::common::{Growing, LEAST_ROWS, Layout, default_layout, fill, hashes, usually};

/// The bytes that a filter has besides its words: locks, counters and versions, and itself.
const MOST_BESIDES: usize = 48 << 10;
/// A part of the table that growth allocates at once.
const MOST_OF_A_PART: usize = 8 << 10;

of_each_growing_layout! {
    small_filters_reach_their_greatest_capacity
    large_filters_reach_their_greatest_capacity
    the_load_is_high_at_every_size
    every_insert_lets_it_grow
    reserved_room_is_enough
    the_first_size
}

/// Fills the filter up to its greatest capacity, and beyond it until an insert fails; says how many
/// went in.
fn fill_to_the_greatest(layout: Layout, filter: &Growing, seed: u64) -> usize {
    let most = filter.max_capacity();
    let items = || hashes(seed);
    assert_eq!(fill(filter, items().take(most)), most, "{filter:?}, seed {seed}");
    assert_eq!(filter.len(), most);
    let stored = most + fill(filter, items().skip(most));
    // It has grown as far as it may, and is full now.
    let (slots, memory) = (filter.slots(), filter.memory_bytes());
    assert_eq!(slots, layout.growing(most, most).slots());
    let more = items().skip(stored).take(20);
    let refused = more.filter(|&hash| filter.insert_hash(hash).is_err()).count();
    assert!(refused > 0);
    assert_eq!(filter.len(), stored + 20 - refused, "what fails changes nothing");
    assert_eq!((filter.slots(), filter.memory_bytes()), (slots, memory));
    assert!(items().take(stored).all(|hash| filter.contains_hash(hash)));
    stored
}

/// Of several thousand small filters, from any first capacity to any greatest one, none is full before its
/// time.
fn small_filters_reach_their_greatest_capacity(layout: Layout) {
    let mut random = SmallRng::seed_from_u64(layout.bits.into());
    for seed in 0..usually(120, 1200) {
        let first = random.random_range(0..300);
        let most = first + random.random_range(0..1500);
        let filter = layout.growing(first, most);
        let stored = fill_to_the_greatest(layout, &filter, seed);
        if filter.slots() >= 1 << 10 {
            let load = stored as f64 / filter.slots() as f64;
            assert!(load >= layout.target(), "{load}: {filter:?}");
        }
    }
}

/// In large filters, too; and full means full.
fn large_filters_reach_their_greatest_capacity(layout: Layout) {
    for (first, most) in [(0, 70_000), (1000, 40_000)] {
        let filter = layout.growing(first, most);
        let stored = fill_to_the_greatest(layout, &filter, most as u64);
        let load = stored as f64 / filter.slots() as f64;
        println!("{} is full at {load:.4}: {filter:?}", layout.name);
        // What it grows with, and some points more: then the searches go far.
        assert!(load >= layout.target() + 0.04, "{load}: {filter:?}");
    }
    // Without the last items, which take a long time: a table that doubles twelve times, or as often.
    let most = usually(100_000, 500_000);
    let filter = layout.growing(0, most);
    assert_eq!(fill(&filter, hashes(1).take(most)), most, "{filter:?}");
    assert!(hashes(1).take(most).all(|hash| filter.contains_hash(hash)));
}

/// By how much the load may be below the target in a table of so many slots.
///
/// An insert that finds no path at a load above the target lets the table grow by a 64th, and by no more
/// than eight buckets, several times in a row if one is crowded. So it is not much at all in tables of
/// 2^10 slots and more; in the smallest ones it may be some of their 32 rows.
fn allowance(slots: usize, slots_a_bucket: usize) -> f64 {
    let four_runs = (4 * 8 * slots_a_bucket) as f64 / slots as f64;
    match slots {
        ..512 => 0.10,
        512..1024 => 0.05,
        _ => four_runs.min(0.015),
    }
}

/// The load at or above the target, at every insert from the first growth to the greatest size.
fn the_load_is_high_at_every_size(layout: Layout) {
    let (mut items, mut seed, mut grown) = (0, 0, 0);
    while items < usually(100_000, 600_000) {
        let most = layout.greatest_from(0, 100_000);
        let filter = layout.growing(0, most);
        let first = filter.slots();
        for (before, hash) in hashes(seed).take(most).enumerate() {
            filter.insert_hash(hash).expect("below the greatest capacity");
            let slots = filter.slots();
            if slots == first {
                continue;
            }
            grown += 1;
            let load = (before + 1) as f64 / slots as f64;
            let least = layout.target() - allowance(slots, layout.slots);
            assert!(load >= least, "{load}, less than {least}, in {slots} slots, seed {seed}");
        }
        items += most;
        seed += 1;
    }
    assert!(grown * 10 > items * 7, "most of it after the first growth");
}

/// The default layout in large tables, from a million items on: not a hundredth of a point below the
/// target, and 20.6 bits per item or less; besides the words the locks and versions, one part of the table
/// that is not in use yet, and the list of the parts.
#[test]
fn bits_per_item_in_large_filters() {
    const BATCH: usize = 64;
    let (layout, greatest) = (default_layout(), usually(1_400_000, 16_000_000));
    let filter = layout.growing(20_000, greatest);
    let (mut lowest_load, mut most_bits) = (1.0_f64, 0.0_f64);
    let mut items = hashes(1);
    for before in (0..greatest).step_by(BATCH) {
        let batch: Vec<u64> = items.by_ref().take(BATCH).collect();
        filter.insert_hash_many(&batch).expect("below the greatest capacity");
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
    assert!(most_bits <= 20.6, "{most_bits}");
    assert_eq!(filter.reserve(0), Ok(()));
    assert_eq!(filter.slots(), layout.growing(greatest, greatest).slots());
    let words = 8 * (filter.slots() / 4);
    let besides = filter.memory_bytes() - words;
    assert!(besides <= MOST_BESIDES + MOST_OF_A_PART + words / 256, "{besides}");
}

/// The share of absent keys that are found, in so many lookups that some 1,500 are: one standard deviation
/// is 2.6 % of that number, and 2 % of 2,500.
fn measured_rate(filter: &Growing, expected: f64) -> f64 {
    let lookups = (usually(1500.0, 2500.0) / expected) as usize;
    let found = hashes(5).take(lookups).filter(|&hash| filter.contains_hash(hash)).count();
    found as f64 / lookups as f64
}

fn is_within_10_percent(filter: &Growing, before: f64) {
    let (items, now) = (filter.len(), filter.false_positive_rate());
    let measured = measured_rate(filter, before);
    println!("{items:>9} items: {measured:.6}, now {now:.6}, before {before:.6}");
    for stated in [now, before] {
        assert!((measured / stated - 1.0).abs() < 0.1, "{measured}, {stated} stated, {filter:?}");
    }
}

/// Grows as often as the layout can. At each doubling, and on a long run in each quarter of it, the rate is what the filter says for
/// now, and what it said at first for this number of items. When it was cleared and is filled again, at
/// its greatest size, its items have more extra bits, and it says so.
fn false_positives_are_as_stated(layout: Layout, first: usize) {
    let first_slots = layout.growing(first, first).slots();
    let items_at = |slots: f64| (slots * layout.target()) as usize;
    // A little less than it could, as a table has some slots to spare.
    let most = items_at((first_slots << layout.doublings) as f64 * 0.98);
    let filter = layout.growing(first, most);
    assert_eq!(filter.slots(), first_slots);
    let sizes = (0..=4 * layout.doublings).step_by(usually(4, 1)).map(|quarter| {
        let level = (first_slots << (quarter / 4)) as f64;
        items_at(level + level * f64::from(quarter % 4) / 4.0).min(most)
    });
    let before: Vec<(usize, f64)> =
        sizes.map(|items| (items, filter.false_positive_rate_at(items))).collect();
    let mut items = hashes(3);
    for &(wanted, rate) in &before {
        let batch: Vec<u64> = items.by_ref().take(wanted - filter.len()).collect();
        filter.insert_hash_many(&batch).expect("below the greatest capacity");
        is_within_10_percent(&filter, rate);
    }
    let [(_, at_first), .., (_, at_last)] = before[..] else { panic!("several sizes") };
    let times = at_last / at_first;
    let levels = f64::from(1 + layout.doublings);
    assert!((times / levels - 1.0).abs() < 0.05, "{times}");

    filter.clear();
    let batch: Vec<u64> = items.take(most).collect();
    filter.insert_hash_many(&batch).expect("below the greatest capacity");
    // All have the extra bits of the last level, but the table has grown a part of that level beyond its start.
    let (now, start) = (filter.false_positive_rate(), first_slots << (layout.doublings - 1));
    let due = at_first * filter.slots() as f64 / start as f64;
    assert!((now / due - 1.0).abs() < 0.1, "{now}, {at_first} at first");
    is_within_10_percent(&filter, now);
}

#[test]
fn false_positives_of_12_bits() {
    false_positives_are_as_stated(Layout::named("Fp12x5"), 4000);
}

#[test]
fn false_positives_of_16_bits() {
    false_positives_are_as_stated(Layout::named("Fp16x4"), 1000);
}

/// A filter, and what a test knows of its entries.
struct Grown {
    filter: Growing,
    seed: u64,
    /// The sum of 2^-a over all entries, where a is how often the table had doubled when an entry came.
    weight: f64,
}

/// Filters of different items, which grow together.
struct Filters {
    layout: Layout,
    geometry: Geometry,
    grown: Vec<Grown>,
}

impl Filters {
    /// Each of this first capacity, to double as often as this at the most.
    fn new(layout: Layout, number: u64, first: usize, doublings: u32) -> Self {
        let slots = layout.growing(first, first).slots() << doublings;
        let most = layout.greatest_from(first, (slots as f64 * layout.target()) as usize);
        let build =
            |seed| Grown { filter: layout.growing(first, most), seed: 1000 + seed, weight: 0.0 };
        let grown: Vec<Grown> = (0..number).map(build).collect();
        let rows = grown[0].filter.slots() / layout.slots;
        Self { layout, geometry: layout.growing_geometry(rows, 0), grown }
    }

    fn rows(&self) -> f64 {
        self.geometry.rows as f64
    }

    /// Inserts until each filter is as full as it gets in so many buckets in a row, no more filters than
    /// have `most` items together; the others go. `inserted` is told of each item, with the number of
    /// its filter.
    fn grow(&mut self, in_a_row: f64, most: usize, mut inserted: impl FnMut(u32, u64)) {
        let buckets = (self.rows() * in_a_row) as usize;
        let slots = buckets * self.layout.slots;
        let items = slots as f64 * self.layout.target();
        self.grown.truncate((most / items as usize).max(1));
        for (number, Grown { filter, seed, weight }) in (0..).zip(&mut self.grown) {
            for hash in hashes(*seed).skip(filter.len()) {
                if filter.slots() >= slots && filter.len() >= items as usize {
                    break;
                }
                *weight += 1.0 / f64::from(1_u32 << self.geometry.level(filter.slots()));
                filter.insert_hash(hash).expect("below the greatest capacity");
                inserted(number, hash);
            }
        }
    }

    /// How many entries match an item that is not theirs, on average: of each entry one of its two rows,
    /// the core, and all bits of the chain, and as many extra bits as it has.
    fn expected(&self) -> f64 {
        let equal = 1.0 / self.geometry.cores() as f64 / f64::from(self.layout.doublings).exp2();
        let weight: f64 = self.grown.iter().map(|grown| grown.weight).sum();
        2.0 / self.rows() * equal * weight / self.grown.len() as f64
    }

    /// The same where the load is that of the first filter all the time: at level L with the cursor at c
    /// it is in proportion to 1 + L + c / (m 2^L).
    fn by_the_formula(&self) -> f64 {
        let Grown { filter, .. } = &self.grown[0];
        let in_a_row = (filter.slots() / self.layout.slots) as f64 / self.rows();
        let level = f64::from(in_a_row.log2() as u32);
        let levels = 1.0 + level + (in_a_row / level.exp2() - 1.0);
        let slots = 2.0 * self.layout.slots as f64 * filter.load_factor();
        let bits = (self.layout.bits - 1).cast_signed();
        // One core of 2^k is not drawn.
        let drawn = (self.geometry.cores() + 1) as f64 / self.geometry.cores() as f64;
        slots * 0.5_f64.powi(bits) * levels * drawn
    }
}

fn is_about(measured: f64, expected: f64, tolerance: f64, what: &str) {
    println!("{what}: {measured:.3e}, {expected:.3e} expected");
    assert!((measured / expected - 1.0).abs() < tolerance, "{what}: {measured}, not {expected}");
}

/// How many buckets a row has at the beginning of each of these levels, in its middle, and shortly before
/// the end of the last.
fn sizes(levels: Range<u32>) -> impl Iterator<Item = f64> {
    let end = f64::from(levels.end).exp2();
    levels
        .flat_map(|level| [1.0, 1.5].map(|part| f64::from(level).exp2() * part))
        .chain([0.98 * end])
}

/// `count` of items that are present finds as many entries of others as are found for an absent item.
///
/// 1,500 and more: one standard deviation is no more than 4 %, as two items of one level are found for each
/// other. On a long run 5,000, for 2 %.
fn false_copies(layout: Layout, first: usize, levels: Range<u32>, most: usize) {
    let mut filters = Filters::new(layout, (most / first) as u64, first, layout.doublings);
    for size in sizes(levels) {
        filters.grow(size, most, |_, _| {});
        let (mut items, mut copies) = (0, 0);
        for Grown { filter, seed, .. } in &filters.grown {
            items += filter.len();
            copies += hashes(*seed).take(filter.len()).map(|h| filter.count_hash(h)).sum::<usize>();
        }
        let (expected, measured) = (filters.expected(), (copies - items) as f64 / items as f64);
        assert!(expected * items as f64 > usually(1200.0, 4500.0), "too few");
        is_about(measured, expected, 0.1, &format!("{}, {size} in a row", layout.name));
        is_about(filters.by_the_formula(), expected, 0.05, "by the formula");
    }
}

#[test]
fn false_copies_of_12_bits() {
    false_copies(Layout::named("Fp12x5"), 2000, 0..5, usually(400_000, 1_400_000));
}

#[test]
fn false_copies_of_16_bits() {
    false_copies(Layout::named("Fp16x4"), usually(1000, 4000), 5..8, usually(1_000_000, 4_000_000));
}

/// Which of several filters hold an item of a class.
struct Holders {
    numbers: FxHashMap<Class, Vec<u32>>,
    /// A bit for many classes, which are faster to ask.
    held: Vec<u64>,
}

impl Holders {
    const BITS: u32 = 23;

    fn new() -> Self {
        Self { numbers: FxHashMap::default(), held: vec![0; 1 << (Self::BITS - 6)] }
    }

    fn bit((core, row, _, chain): Class) -> (usize, u64) {
        let class = (core << 32 | row << 20) ^ chain;
        let at = class.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS);
        (at as usize / 64, 1 << (at % 64))
    }

    fn add(&mut self, class: Class, number: u32) {
        let (at, mask) = Self::bit(class);
        self.held[at] |= mask;
        let numbers = self.numbers.entry(class).or_default();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }

    fn of(&self, class: Class) -> &[u32] {
        let (at, mask) = Self::bit(class);
        let numbers = (self.held[at] & mask != 0).then(|| self.numbers.get(&class)).flatten();
        numbers.map_or(&[], Vec::as_slice)
    }
}

/// Absent items are looked up in many filters. One is not found where no item has its class: so it is
/// looked up only where one has, but for some lookups that show just that. The share that is found is one
/// of all lookups, made or not: 250 of them, so that one standard deviation is 6 %; on a long run 2,500.
fn planted(layout: Layout, number: u64, levels: u32, most: usize) {
    let mut filters = Filters::new(layout, number, 0, layout.doublings.min(levels + 1));
    let geometry = filters.geometry;
    let class = |hash| geometry.class(hash);
    let mut holders = Holders::new();
    for size in sizes(0..levels) {
        let before = filters.grown.len();
        filters.grow(size, most, |number, hash| {
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
        let lookups = (usually(250.0, 2500.0) / expected / grown.len() as f64) as usize;
        let found_by = |hash: u64| {
            let numbers = holders.of(class(hash)).iter();
            numbers.filter(|&&number| grown[number as usize].filter.contains_hash(hash)).count()
        };
        let found: usize = hashes(5).take(lookups).map(found_by).sum();
        let measured = found as f64 / lookups as f64 / grown.len() as f64;
        let what = format!("{layout:?}, {size} in a row");
        is_about(measured, expected, usually(0.15, 0.1), &what);
        is_about(filters.by_the_formula(), expected, 0.1, "by the formula");
        for hash in hashes(6).take(1000).filter(|&hash| holders.of(class(hash)).is_empty()) {
            assert!(!grown.iter().take(100).any(|grown| grown.filter.contains_hash(hash)));
        }
    }
}

#[test]
fn false_positives_of_21_bits() {
    planted(Layout::named("Fp21x3"), 256, usually(4, 12), usually(60_000, 300_000));
}

/// Two doublings: they are so rare that more of them would take long.
#[test]
fn false_positives_of_32_bits() {
    planted(
        Layout::named("Fp32x2"),
        1 << usually(15, 16),
        usually(1, 2),
        usually(1_450_000, 2_900_000),
    );
}

/// The load is the one that the builder was given, from the first growth to the greatest size.
#[test]
fn the_load_is_that_of_the_builder() {
    for target in [0.5, 0.66, 0.75, 0.87] {
        let builder = CuckooFilter::builder().capacity(1000).max_capacity(100_000);
        let filter = builder.target_load(target).build().expect("memory for a test");
        let first = filter.slots();
        for hash in hashes(1).take(100_000) {
            filter.insert_hash(hash).expect("below the greatest capacity");
            // In smaller tables, one search in vain makes more of a difference.
            if filter.slots() > 4 * first {
                let load = filter.load_factor();
                assert!((target - 0.01..target + 0.05).contains(&load), "{load}: {filter:?}");
            }
        }
        assert!(filter.slots() > 50 * first, "{filter:?}");
    }
}

/// However an item is stored, the load does not get far above the target while the filter may grow: a
/// search for room that fails would let it grow later.
fn every_insert_lets_it_grow(layout: Layout) {
    let inserts: [fn(&Growing, u64); 2] = [
        |filter, hash| filter.insert_hash(hash).expect("below the greatest capacity"),
        |filter, hash| {
            filter.insert_unique_hash(hash).expect("below the greatest capacity");
        },
    ];
    for insert in inserts {
        let filter = layout.growing(4000, 50_000);
        let mut highest = 0.0_f64;
        for hash in hashes(9).take(filter.max_capacity() * 9 / 10) {
            insert(&filter, hash);
            highest = highest.max(filter.load_factor());
        }
        // In a small table the margin may be more than the four points of a large one; without growth by the
        // load it would be thirteen or more.
        assert!(highest < layout.target() + 0.09, "{highest}: {filter:?}");
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
            assert_eq!(error, ReserveError::AboveMaxCapacity { wanted, max_capacity: most });
            assert!(error.to_string().contains(&most.to_string()), "{error}");
            assert_eq!(format!("{filter:?}"), before, "nothing has changed");
        }

        assert_eq!(filter.reserve(items - items / 3), Ok(()));
        assert!(filter.capacity() >= items && filter.len() == items / 3, "{filter:?}");
        let slots = filter.slots();
        assert_eq!(filter.reserve(0), Ok(()));
        assert!(hashes(1).take(items / 3).all(|hash| filter.contains_hash(hash)));
        let rest = hashes(1).take(items).skip(items / 3);
        assert_eq!(fill(&filter, rest), items - items / 3);
        assert_eq!(filter.slots(), slots, "{} items in {filter:?}", filter.len());

        assert_eq!(filter.reserve(most - items), Ok(()));
        assert_eq!(filter.capacity(), most);
        assert!(hashes(1).take(items).all(|hash| filter.contains_hash(hash)));
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
        filter.insert_hash(hash).expect("below the greatest capacity");
        let capacity = filter.capacity();
        assert!(before <= capacity && capacity <= 20_000);
        let held = 0.99 * filter.slots() as f64 * layout.target();
        assert!(capacity as f64 >= held.min(20_000.0), "{place}: {filter:?}");
        seen.insert(capacity);
        before = capacity;
    }
    assert!(before > 19_500, "{before}");
    assert!(seen.len() > 500, "it grows in small steps: {}", seen.len());

    let figures = |f: &Growing| (f.slots(), f.memory_bytes());
    let grown = figures(&filter);
    filter.clear();
    assert!(filter.is_empty());
    assert_eq!(figures(&filter), grown);
    assert!(filter.capacity() > 19_500 && filter.capacity() <= 20_000, "{filter:?}");
    assert!(filter.false_positive_rate().abs() < f64::EPSILON);
    assert!(hashes(1).take(20_000).all(|hash| !filter.contains_hash(hash)));
    // A little less: where exactly it grows depends on the items.
    assert_eq!(fill(&filter, hashes(2).take(19_000)), 19_000);
    assert_eq!(figures(&filter), grown);
}

/// Nobody grows for an item that is there already, and a removal makes nothing smaller.
#[test]
fn what_stores_nothing_lets_nothing_grow() {
    let filter = default_layout().growing(100, 10_000);
    let items: Vec<u64> = hashes(1).take(5000).collect();
    let stored: Vec<u64> =
        items.iter().copied().filter(|&hash| filter.insert_unique_hash(hash) == Ok(true)).collect();
    let slots = filter.slots();
    assert!(stored.len() > 4900 && slots > 5000);
    for &hash in &items {
        assert_eq!(filter.insert_unique_hash(hash), Ok(false));
        assert_eq!(filter.count_hash(hash), 1);
    }
    assert_eq!((filter.slots(), filter.len()), (slots, stored.len()));
    assert!(stored.iter().all(|&hash| filter.remove_hash(hash)));
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
        ["AnyLayout", "capacity: 100", "max_capacity: Some(1000)", "target_load: Some(0.75)"]
    {
        assert!(printed.contains(part), "{printed}");
    }
}

/// The greatest size in bytes of a filter of the layout with this name, if it can be built.
fn build_named(
    name: &str,
    first: usize,
    most: usize,
    rate: Option<f64>,
) -> Result<usize, BuildError> {
    fn build<L: GrowingLayout>(
        first: usize,
        most: usize,
        rate: Option<f64>,
    ) -> Result<usize, BuildError> {
        let builder = CuckooFilter::builder().capacity(first).max_capacity(most).layout::<L>();
        let builder = match rate {
            Some(rate) => builder.false_positive_rate(rate),
            None => builder,
        };
        builder.clone().build()?;
        Ok(builder.capacity(most).build()?.memory_bytes())
    }
    // By type: only a builder of one layout says which others there are.
    match name {
        "Fp12x5" => build::<Fp12x5>(first, most, rate),
        "Fp16x4" => build::<Fp16x4>(first, most, rate),
        "Fp21x3" => build::<Fp21x3>(first, most, rate),
        "Fp32x2" => build::<Fp32x2>(first, most, rate),
        "AnyLayout" => build::<AnyLayout>(first, most, rate),
        _ => panic!("no layout that grows is named {name}"),
    }
}

fn each_name() -> impl Iterator<Item = &'static str> {
    LAYOUTS.into_iter().filter(|layout| layout.grows()).map(|layout| layout.name)
}

/// What is asked for at random: a first capacity, a greatest one, a rate or none.
fn wishes() -> impl Iterator<Item = (usize, usize, Option<f64>)> {
    let mut random = SmallRng::seed_from_u64(83);
    std::iter::repeat_with(move || {
        let mut magnitude = |least: f64, most: f64| 10_f64.powf(random.random_range(least..most));
        let first = (magnitude(0.0, 4.0) - 1.0) as usize;
        let most = (first as f64 * magnitude(0.0, 3.0) + magnitude(0.0, 3.0)) as usize;
        let rate = magnitude(-9.5, -1.0);
        (first, most, random.random_bool(0.7).then_some(rate))
    })
}

/// Where a layout does not reach the rate at the greatest capacity, the error names one that does; where
/// none does, it states the lowest rate there is.
#[test]
fn errors_name_ways_out() {
    let (mut layouts, mut rates) = (0, 0);
    for (first, most, rate) in wishes().take(400) {
        for name in each_name() {
            let Err(error) = build_named(name, first, most, rate) else { continue };
            let BuildError::RateOutOfReach { rate: asked, reached, layout } = error else {
                panic!("{name}: {error:?}")
            };
            assert!(Some(asked) == rate && reached > asked, "{error:?}");
            if let Some(layout) = layout {
                let built = build_named(layout, first, most, rate);
                assert!(built.is_ok(), "{name}: {error:?}: {built:?}");
                assert!(build_named(name, first, most, Some(reached * 1.0001)).is_ok());
                layouts += 1;
            } else {
                assert!(each_name().all(|n| build_named(n, first, most, rate).is_err()));
                let better = Some(reached * 1.0001);
                assert!(each_name().any(|n| build_named(n, first, most, better).is_ok()));
                rates += 1;
            }
        }
    }
    assert!(layouts > 100 && rates > 10, "{layouts}, {rates}");
}

/// The layout that is chosen at run time reaches the rate at the greatest capacity, and takes no more
/// memory than any other that does. Where none is chosen, none would do.
#[test]
fn any_layout_reaches_the_rate() {
    let (mut chosen, mut refused) = (HashSet::new(), 0);
    for (first, most, rate) in wishes().take(600) {
        let mut others =
            each_name().map(|name| build_named(name, first, most, rate)).collect::<Vec<_>>();
        let builder = CuckooFilter::builder().capacity(first).max_capacity(most).any_layout();
        let built = match rate {
            Some(rate) => builder.false_positive_rate(rate).build(),
            None => builder.build(),
        };
        let Ok(filter) = built else {
            assert!(others.iter().all(Result::is_err), "{built:?}");
            refused += 1;
            continue;
        };
        chosen.insert(filter.layout_name());
        // Without a rate, layouts with shorter fingerprints than the default are not chosen.
        let candidates = others.drain(usize::from(rate.is_none())..).flatten();
        let least = candidates.min().expect("a layout that can be built");
        let chosen_bytes = build_named(filter.layout_name(), first, most, rate);
        let chosen_bytes = chosen_bytes.expect("as `filter`");
        assert!(chosen_bytes <= least + 16_000, "{filter:?}, {most} items");
        assert!(rate.is_none_or(|rate| filter.false_positive_rate_at(most) <= rate), "{filter:?}");
        if most < 20_000 {
            assert_eq!(fill(&filter, hashes(7).take(most)), most, "{filter:?}");
            let expected = filter.false_positive_rate();
            assert!(rate.is_none_or(|rate| expected <= rate), "{rate:?}: {filter:?}");
            assert!(hashes(7).take(most).all(|hash| filter.contains_hash(hash)));
        }
    }
    assert!(chosen.len() == 4 && refused > 10, "{chosen:?}, {refused} refused");
}

/// How many rows a filter starts with: the more of what its first capacity needs, and of what its
/// greatest one needs, halved as often as it can double.
fn the_first_size(layout: Layout) {
    let slots = |first: usize, most: usize| {
        let filter = layout.growing(first, most);
        assert!(filter.capacity() >= first && filter.max_capacity() == most, "{filter:?}");
        assert!(filter.capacity() as f64 <= filter.slots() as f64 * layout.target());
        filter.slots()
    };
    let times = 1 << layout.doublings;
    for most in [0, 10, 100, 1000, 10_000, 10_000_000] {
        let needed = slots(most, most);
        let buckets = (needed / layout.slots).div_ceil(times).next_multiple_of(2);
        assert_eq!(slots(0, most), buckets.max(LEAST_ROWS) * layout.slots);
    }
    // A first capacity that needs more decides.
    assert_eq!(slots(10_000, 20_000), slots(10_000, 10_000));
}

/// Two filters of the same items with two target loads: each keeps its load, and what is beyond the range
/// of the layout is an error.
#[test]
fn the_range_of_target_loads() {
    let build = |load: f64| {
        let builder = CuckooFilter::builder().capacity(1000).max_capacity(100_000);
        builder.target_load(load).build()
    };
    let error = BuildError::TargetLoadOutOfRange { layout: "Fp16x4", min: 0.5, max: 0.87 };
    for load in [f64::NAN, f64::INFINITY, -0.7, 0.0, 0.4994, 0.8706, 1.0, 80.0] {
        assert_eq!(build(load).err(), Some(error), "{load}");
    }
    let by_default = default_layout().growing(1000, 100_000);
    assert_eq!(build(0.8).unwrap().slots(), by_default.slots());
    let mut before = usize::MAX;
    for load in [0.5, 0.6, 0.7, 0.8, 0.87] {
        let filter = build(load).unwrap();
        let items = |slots| slots as f64 * load;
        assert!(items(filter.slots()) >= 1000.0 && items(filter.slots()) < 1300.0, "{filter:?}");
        assert!(filter.slots() < before);
        before = filter.slots();
        filter.reserve(100_000).unwrap();
        assert!((100_000.0..102_000.0).contains(&items(filter.slots())), "{filter:?}");
    }
}

/// The greatest capacity is not less than the first one; and what is wrong whatever the size is said
/// first.
#[test]
fn capacities_that_cannot_be() {
    for (first, most) in [(1, 0), (100, 99), (usize::MAX, 1)] {
        let low = BuildError::MaxCapacityTooLow { capacity: first, max_capacity: most };
        let text = low.to_string();
        assert!(text.contains(&first.to_string()) && text.contains(&most.to_string()), "{text}");
        for name in each_name().chain(["AnyLayout"]) {
            assert_eq!(build_named(name, first, most, None), Err(low));
            assert_eq!(build_named(name, first, most, Some(0.01)), Err(low));
        }
        // The order of the calls does not matter, and the last one counts.
        let builder = CuckooFilter::builder().max_capacity(most).capacity(first);
        assert_eq!(builder.clone().build().err(), Some(low));
        if first < 1000 {
            assert!(builder.max_capacity(first).build().is_ok());
        }
    }
    for rate in [0.0, 1.0, -1.0, f64::NAN] {
        let error = build_named("Fp16x4", 0, 100, Some(rate));
        assert!(matches!(error, Err(BuildError::InvalidRate { .. })), "{error:?}");
    }
    for name in each_name() {
        let overflow = BuildError::CapacityOverflow { capacity: usize::MAX };
        assert_eq!(build_named(name, 1000, usize::MAX, None), Err(overflow));
    }
}
