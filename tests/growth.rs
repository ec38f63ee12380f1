//! What a filter that grows promises: nothing is lost, never full below the greatest capacity, a high
//! load at every size, false positives in proportion to the items.
//!
//! Hashes come from seeds and no other thread takes part, so each test does the same in every run.

#[macro_use]
mod common;

use std::collections::HashSet;

use coucal::{
    AnyLayout, BuildError, CuckooFilter, Fp8x8, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2,
    InsertError, Layout, ReserveError, internals,
};
use rand::rngs::SmallRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rustc_hash::FxHashMap;

use common::{Growing, LEAST_ROWS, fill, greatest, greatest_slots, growing, hashes, target};

/// The bytes that a filter has besides its words: locks, counters and versions, and itself.
const MOST_BESIDES: usize = 48 << 10;

of_each_layout! {
    nothing_is_lost_from_the_smallest_table_on
    small_filters_reach_their_greatest_capacity
    the_load_is_high_at_every_size
    every_insert_lets_it_grow
    reserved_room_is_enough
}

/// One fingerprint with one pair of rows: all that a filter knows of an item. It is the same for ever.
type Class = (u64, usize, usize);

/// What a filter must hold.
struct Multiset {
    rows: usize,
    bits: u32,
    held: Vec<u64>,
    copies: FxHashMap<Class, usize>,
}

impl Multiset {
    /// That of a filter that has not grown yet.
    fn of<L: Layout>(filter: &Growing<L>) -> Self {
        let rows = filter.slots() / L::SLOTS;
        Self { rows, bits: L::FINGERPRINT_BITS, held: Vec::new(), copies: FxHashMap::default() }
    }

    fn class(&self, hash: u64) -> Class {
        let (fingerprint, first, second) = internals::key(self.rows, hash, self.bits);
        (fingerprint, first.min(second), first.max(second))
    }

    fn copies(&self, hash: u64) -> usize {
        self.copies.get(&self.class(hash)).copied().unwrap_or(0)
    }

    fn add(&mut self, hash: u64) {
        *self.copies.entry(self.class(hash)).or_default() += 1;
    }

    fn take(&mut self, hash: u64) {
        *self.copies.get_mut(&self.class(hash)).expect("a class that is held") -= 1;
    }

    /// Inserts into both. `false`: the filter holds as many copies of the class as it can.
    fn insert<L: Layout>(&mut self, filter: &Growing<L>, hash: u64) -> bool {
        match filter.insert_hash(hash) {
            Ok(()) => {
                self.add(hash);
                self.held.push(hash);
                true
            }
            Err(error) => {
                let expected = (InsertError::TooManyCopies, 2 * L::SLOTS);
                assert_eq!((error, self.copies(hash)), expected, "at {filter:?}");
                false
            }
        }
    }

    /// The filter holds exactly the items of the multiset, and of the classes of `others` as many
    /// copies.
    fn agrees<L: Layout>(&self, filter: &Growing<L>, others: &[u64]) {
        assert_eq!(filter.len(), self.held.len());
        for &hash in self.held.iter().chain(others) {
            let copies = self.copies(hash);
            assert_eq!(filter.count_hash(hash), copies, "{filter:?}");
            assert_eq!(filter.contains_hash(hash), copies > 0, "{filter:?}");
        }
    }

    /// Half of the items are removed and put back.
    fn remove_half_and_put_it_back<L: Layout>(
        &mut self,
        filter: &Growing<L>,
        random: &mut SmallRng,
    ) {
        self.held.shuffle(random);
        let removed = self.held.split_off(self.held.len() / 2);
        for &hash in &removed {
            assert!(filter.remove_hash(hash), "a stored item is lost");
            self.take(hash);
        }
        assert!(self.held.iter().all(|&hash| filter.contains_hash(hash)), "a kept item is lost");
        for &hash in &removed {
            assert_eq!(filter.contains_hash(hash), self.copies(hash) > 0, "{filter:?}");
        }
        for &hash in &removed {
            assert!(self.insert(filter, hash), "there were as many copies before");
        }
    }

    /// One item as often as two buckets have slots. One copy more is refused, and the filter does not
    /// grow for it.
    fn as_many_copies_as_there_can_be<L: Layout>(
        &mut self,
        filter: &Growing<L>,
        mut new: impl FnMut() -> u64,
    ) {
        // None that shares both its rows with another: that one could not make way.
        let rows = |hash| {
            let (_, first, second) = self.class(hash);
            (first, second)
        };
        let is_alone = |item: &u64| self.held.iter().all(|&hash| rows(hash) != rows(*item));
        let free = (0..100).map(|_| new()).find(is_alone);
        let Some(item) = free else { return };
        let copies = (self.copies(item)..2 * L::SLOTS).count();
        for _ in 0..copies {
            assert!(self.insert(filter, item));
        }
        let slots = filter.slots();
        for _ in 0..3 {
            assert!(!self.insert(filter, item));
            assert_eq!(filter.insert_unique_hash(item), Ok(false));
        }
        assert_eq!((filter.slots(), filter.len()), (slots, self.held.len()));
        self.held.truncate(self.held.len() - copies);
        for _ in 0..copies {
            assert!(filter.remove_hash(item));
            self.take(item);
        }
    }
}

/// Items one by one up to the greatest capacity, against an exact multiset: at every doubling all of it
/// is checked, half of the items removed and put back, and one item inserted as often as it can be.
fn nothing_is_lost<L: Layout>(filter: &Growing<L>, most_slots: usize) {
    let mut random = SmallRng::seed_from_u64(filter.slots() as u64);
    let mut model = Multiset::of(filter);
    let mut new = hashes(filter.slots() as u64);
    let mut new = || new.next().expect("endless");
    let first = filter.slots();
    let mut checked = first;
    while model.held.len() < filter.max_capacity() && filter.slots() < most_slots {
        let hash = new();
        let stored = model.insert(filter, hash);
        assert!(filter.contains_hash(hash), "an item is lost: inserted {stored}");
        let any = model.held[random.random_range(0..model.held.len())];
        assert!(filter.contains_hash(any), "a settled item is lost");

        if filter.slots() >= 2 * checked {
            checked *= 2;
            model.remove_half_and_put_it_back(filter, &mut random);
            model.as_many_copies_as_there_can_be(filter, &mut new);
            let absent: Vec<u64> = (0..1000).map(|_| new()).collect();
            model.agrees(filter, &absent);
        }
    }
    assert!(filter.slots() > first && checked > first, "{filter:?}");
    model.agrees(filter, &[]);
    for &hash in &model.held {
        assert!(filter.remove_hash(hash), "a stored item is lost");
    }
    assert!(filter.is_empty());
}

/// As far as the fingerprints allow, or to 2^17 slots.
fn nothing_is_lost_from_the_smallest_table_on<L: Layout>() {
    let filter = growing::<L>(0, greatest::<L>(0, 1 << 18));
    assert_eq!(filter.slots(), LEAST_ROWS * L::SLOTS);
    nothing_is_lost(&filter, 1 << 17);
}

/// The first capacity of a filter that begins with some 2^12 slots, and one that it grows to when it
/// has 2^22.
fn from_12_to_22<L: Layout>() -> [usize; 2] {
    [12, 22].map(|bits| ((1_u64 << bits) as f64 * (target::<L>() - 0.04)) as usize)
}

#[test]
fn nothing_is_lost_to_2_22_slots() {
    fn check<L: Layout>() {
        let [first, most] = from_12_to_22::<L>();
        let filter = growing::<L>(first, most);
        assert!(filter.slots() <= 1 << 12);
        nothing_is_lost(&filter, usize::MAX);
        assert!(filter.slots() > 1 << 21, "{filter:?}");
    }
    check::<Fp16x4>();
}

#[test]
fn nothing_is_lost_to_2_21_slots_of_two_a_bucket() {
    let [first, most] = from_12_to_22::<Fp32x2>();
    let filter = growing::<Fp32x2>(first, most / 2);
    nothing_is_lost(&filter, usize::MAX);
    assert!(filter.slots() > 1 << 20, "{filter:?}");
}

/// Fills the filter up to its greatest capacity, and beyond it until an insert fails; says how many
/// went in.
fn fill_to_the_greatest<L: Layout>(filter: &Growing<L>, seed: u64) -> usize {
    let most = filter.max_capacity();
    let items = || hashes(seed);
    assert_eq!(fill(filter, items().take(most)), most, "{filter:?}, seed {seed}");
    assert_eq!(filter.len(), most);
    let stored = most + fill(filter, items().skip(most));
    // It has grown as far as it may, and is full now.
    let (slots, memory) = (filter.slots(), filter.memory_bytes());
    assert_eq!(slots, greatest_slots::<L>(most));
    let more = items().skip(stored).take(20);
    let refused = more.filter(|&hash| filter.insert_hash(hash).is_err()).count();
    assert!(refused > 0);
    assert_eq!(filter.len(), stored + 20 - refused, "what fails changes nothing");
    assert_eq!((filter.slots(), filter.memory_bytes()), (slots, memory));
    assert!(items().take(stored).all(|hash| filter.contains_hash(hash)));
    stored
}

/// Of ten thousand small filters, from any first capacity to any greatest one within reach, none is full
/// before its time.
fn small_filters_reach_their_greatest_capacity<L: Layout>() {
    let mut random = SmallRng::seed_from_u64(L::FINGERPRINT_BITS.into());
    let mut seed = 0;
    while seed < 1200 {
        let first = random.random_range(0..300);
        let most = first + random.random_range(0..1500);
        let builder = CuckooFilter::builder().layout::<L>().capacity(first).max_capacity(most);
        let Ok(filter) = builder.build() else { continue };
        seed += 1;
        let stored = fill_to_the_greatest(&filter, seed);
        if filter.slots() >= 1 << 10 {
            let load = stored as f64 / filter.slots() as f64;
            assert!(load >= target::<L>(), "{load}: {filter:?}");
        }
    }
}

/// In large filters, too; and full means full.
#[test]
fn large_filters_reach_their_greatest_capacity() {
    fn check<L: Layout>(first: usize, most: usize) {
        let filter = growing::<L>(first, greatest::<L>(first, most));
        let load = fill_to_the_greatest(&filter, most as u64) as f64 / filter.slots() as f64;
        println!("{} is full at {load:.4}: {filter:?}", L::NAME);
        // What it grows with, and some points more: then the searches go far.
        assert!(load >= target::<L>() + 0.04, "{load}: {filter:?}");
    }
    macro_rules! each {
        ($($layout:ident)*) => { $(
            check::<coucal::$layout>(0, 70_000);
            check::<coucal::$layout>(1000, 40_000);
        )* };
    }
    coucal::__for_each_layout!(each);
    // A layout that doubles fifteen times; without the last items, which take a long time.
    let filter = growing::<Fp21x3>(0, greatest::<Fp21x3>(0, usize::MAX >> 20));
    let most = filter.max_capacity();
    assert!(most > 2_500_000);
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
fn the_load_is_high_at_every_size<L: Layout>() {
    let (mut items, mut seed, mut grown) = (0, 0, 0);
    while items < 600_000 {
        let most = greatest::<L>(0, 100_000);
        let filter = growing::<L>(0, most);
        let first = filter.slots();
        for (before, hash) in hashes(seed).take(most).enumerate() {
            filter.insert_hash(hash).expect("below the greatest capacity");
            let slots = filter.slots();
            if slots == first {
                continue;
            }
            grown += 1;
            let load = (before + 1) as f64 / slots as f64;
            let least = target::<L>() - allowance(slots, L::SLOTS);
            assert!(load >= least, "{load}, less than {least}, in {slots} slots, seed {seed}");
        }
        items += most;
        seed += 1;
    }
    assert!(grown * 10 > items * 7, "most of it after the first growth");
}

/// The default layout in large tables, from a million items on: not a hundredth of a point below the
/// target, and 21.2 bits per item or less, of which a part of the table that is not in use yet takes up
/// to an eighth; and 48 KiB or less besides the words.
#[test]
fn bits_per_item_in_large_filters() {
    const MOST: usize = 16_000_000;
    const BATCH: usize = 64;
    let filter = growing::<Fp16x4>(20_000, MOST);
    let (mut lowest_load, mut most_bits) = (1.0_f64, 0.0_f64);
    let mut items = hashes(1);
    for before in (0..MOST).step_by(BATCH) {
        let batch: Vec<u64> = items.by_ref().take(BATCH).collect();
        filter.insert_many_hashes(&batch).expect("below the greatest capacity");
        let items = before + BATCH;
        if items >= 1_000_000 {
            lowest_load = lowest_load.min(items as f64 / filter.slots() as f64);
            most_bits = most_bits.max(filter.memory_bytes() as f64 * 8.0 / items as f64);
        }
    }
    assert_eq!(filter.len(), MOST);
    println!("from a million to {MOST} items: load {lowest_load:.5}, bits per item {most_bits:.3}");
    assert!(lowest_load >= target::<Fp16x4>() - 0.0001, "{lowest_load}");
    assert!(most_bits <= 21.2, "{most_bits}");
    assert_eq!(filter.reserve(0), Ok(()));
    assert_eq!(filter.slots(), greatest_slots::<Fp16x4>(MOST));
    let besides = filter.memory_bytes() - 8 * (filter.slots() / 4);
    assert!(besides <= MOST_BESIDES, "{besides}");
}

/// The share of absent keys that are found is what the filter states and what `2n / (m 2^f)` says, at
/// each doubling.
///
/// Some 2,500 false positives at each: one standard deviation is 2 % of them, so that odds of a deviation
/// of 10 % by chance are one in 1.7 million.
fn false_positives_come_in_proportion_to_the_items<L: Layout>(first: usize) {
    const EVENTS: f64 = 2500.0;
    let filter = growing::<L>(first, greatest::<L>(first, usize::MAX >> 20));
    let rows = (filter.slots() / L::SLOTS) as f64;
    let values = f64::from(L::FINGERPRINT_BITS).exp2();
    let mut items = hashes(3);
    let (mut sizes, mut size) = (0, filter.slots());
    loop {
        let wanted = (size as f64 * target::<L>()) as usize;
        let wanted = wanted.min(filter.max_capacity());
        let missing = wanted - filter.len();
        let batch: Vec<u64> = items.by_ref().take(missing).collect();
        filter.insert_many_hashes(&batch).expect("below the greatest capacity");

        let per_class = 2.0 * filter.len() as f64 / rows;
        let formula = 1.0 - (1.0 - 1.0 / values).powf(per_class);
        let stated = filter.false_positive_rate();
        assert!((stated / formula - 1.0).abs() < 0.01, "{stated}, {formula} by the formula");
        // Where it is low, it is just as many times the items.
        if formula < 0.02 {
            assert!((stated * values / per_class - 1.0).abs() < 0.02, "{stated}, {filter:?}");
        }

        let lookups = (EVENTS / formula) as usize;
        let found = hashes(5).take(lookups).filter(|&hash| filter.contains_hash(hash)).count();
        let measured = found as f64 / lookups as f64;
        println!("{} {:>9} items: {measured:.6}, {stated:.6} stated", L::NAME, filter.len());
        assert!((measured / stated - 1.0).abs() < 0.1, "{measured}, {stated} stated, {filter:?}");
        if wanted == filter.max_capacity() {
            break;
        }
        (sizes, size) = (sizes + 1, 2 * size);
    }
    assert!(sizes >= L::FINGERPRINT_BITS.min(14) - 6, "only {sizes} doublings");
}

#[test]
fn false_positives_of_8_bits() {
    false_positives_come_in_proportion_to_the_items::<Fp8x8>(10_000);
}

#[test]
fn false_positives_of_10_bits() {
    false_positives_come_in_proportion_to_the_items::<Fp10x6>(10_000);
}

#[test]
fn false_positives_of_12_bits() {
    false_positives_come_in_proportion_to_the_items::<Fp12x5>(4000);
}

#[test]
fn false_positives_of_16_bits() {
    false_positives_come_in_proportion_to_the_items::<Fp16x4>(1000);
}

/// However an item is stored, the load does not get far above the target while the filter may grow: a
/// search for room that fails would let it grow later.
fn every_insert_lets_it_grow<L: Layout>() {
    let inserts: [fn(&Growing<L>, u64); 2] = [
        |filter, hash| filter.insert_hash(hash).expect("below the greatest capacity"),
        |filter, hash| {
            filter.insert_unique_hash(hash).expect("below the greatest capacity");
        },
    ];
    for insert in inserts {
        let filter = growing::<L>(4000, greatest::<L>(4000, 50_000));
        let mut highest = 0.0_f64;
        for hash in hashes(9).take(filter.max_capacity() * 9 / 10) {
            insert(&filter, hash);
            highest = highest.max(filter.load_factor());
        }
        // In a small table the margin may be a little more than the four points of a large one; without
        // growth by the load it would be eight or more.
        assert!(highest < target::<L>() + 0.06, "{highest}: {filter:?}");
    }
}

/// Room that is asked for is there: the items that it is for do not make the filter grow. What cannot be
/// had changes nothing.
fn reserved_room_is_enough<L: Layout>() {
    for (first, items) in [(0, 100), (0, 1000), (100, 3000), (1000, 50_000)] {
        let items = greatest::<L>(first, items);
        let filter = growing::<L>(first, greatest::<L>(first, 10 * items));
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
    let filter = growing::<Fp16x4>(500, 20_000);
    let first = filter.capacity();
    assert!((500..600).contains(&first) && filter.max_capacity() == 20_000, "{filter:?}");
    let mut seen = HashSet::new();
    let mut before = first;
    for (place, hash) in hashes(1).take(20_000).enumerate() {
        filter.insert_hash(hash).expect("below the greatest capacity");
        let capacity = filter.capacity();
        assert!(before <= capacity && capacity <= 20_000);
        let held = 0.99 * filter.slots() as f64 * target::<Fp16x4>();
        assert!(capacity as f64 >= held.min(20_000.0), "{place}: {filter:?}");
        seen.insert(capacity);
        before = capacity;
    }
    assert!(before > 19_500, "{before}");
    assert!(seen.len() > 500, "it grows in small steps: {}", seen.len());

    let figures = |f: &Growing<Fp16x4>| (f.slots(), f.capacity(), f.memory_bytes());
    let grown = figures(&filter);
    filter.clear();
    assert!(filter.is_empty());
    assert_eq!(figures(&filter), grown);
    assert!(filter.false_positive_rate().abs() < f64::EPSILON);
    assert!(hashes(1).take(20_000).all(|hash| !filter.contains_hash(hash)));
    assert_eq!(fill(&filter, hashes(2).take(20_000)), 20_000);
    assert_eq!(figures(&filter), grown);
}

/// Nobody grows for an item that is there already, and a removal makes nothing smaller.
#[test]
fn what_stores_nothing_lets_nothing_grow() {
    let filter = growing::<Fp16x4>(100, 10_000);
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
    let filter = growing::<Fp16x4>(100, 1000);
    let first = format!("{filter:?}");
    assert!(first.starts_with("CuckooFilter { layout: \"Fp16x4\", len: 0, capacity: 1"), "{first}");
    fill(&filter, hashes(1).take(1000));
    let full = format!("{filter:?}");
    assert!(full.contains("len: 1000, capacity: "), "{full}");
    let builder = CuckooFilter::builder().capacity(100).max_capacity(1000);
    let builder: coucal::Builder<coucal::Growable<AnyLayout>> = builder.any_layout();
    let printed = format!("{builder:?}");
    for part in ["AnyLayout", "capacity: 100", "max_capacity: Some(1000)"] {
        assert!(printed.contains(part), "{printed}");
    }
}

/// A filter of the layout with this name, if it can be built.
fn build_named(
    name: &str,
    first: usize,
    most: usize,
    rate: Option<f64>,
) -> Result<usize, BuildError> {
    fn build<L: Layout>(first: usize, most: usize, rate: Option<f64>) -> Result<usize, BuildError> {
        let builder = CuckooFilter::builder().layout::<L>().capacity(first).max_capacity(most);
        let builder = match rate {
            Some(rate) => builder.false_positive_rate(rate),
            None => builder,
        };
        builder.build().map(|_| greatest_slots::<L>(most) / L::SLOTS * 8)
    }
    macro_rules! by_name {
        ($($layout:ident)*) => {
            match name {
                $(stringify!($layout) => build::<coucal::$layout>(first, most, rate),)*
                _ => panic!("no layout is named {name}"),
            }
        };
    }
    coucal::__for_each_layout!(by_name)
}

fn each_name() -> Vec<&'static str> {
    macro_rules! names {
        ($($layout:ident)*) => { vec![$(stringify!($layout)),*] };
    }
    coucal::__for_each_layout!(names)
}

/// What is asked for at random: a first capacity, a greatest one, a rate or none. Some of it is within the
/// reach of some layouts.
fn wishes() -> impl Iterator<Item = (usize, usize, Option<f64>)> {
    let mut random = SmallRng::seed_from_u64(83);
    std::iter::repeat_with(move || {
        let mut magnitude = |least: f64, most: f64| 10_f64.powf(random.random_range(least..most));
        let first = (magnitude(0.0, 4.0) - 1.0) as usize;
        let most = (first as f64 * magnitude(0.0, 3.0) + magnitude(0.0, 3.0)) as usize;
        let rate = magnitude(-9.0, 0.0);
        (first, most, random.random_bool(0.7).then_some(rate))
    })
}

/// Each way out that an error names is one: the layout, and the first capacity, the lowest there is.
#[test]
fn errors_name_ways_out() {
    let (mut layouts, mut firsts, mut neither) = (0, 0, 0);
    for (first, most, rate) in wishes().take(400) {
        for name in each_name() {
            let Err(error) = build_named(name, first, most, rate) else { continue };
            let BuildError::GrowthOutOfReach {
                capacity,
                max_capacity,
                rate: asked,
                layout,
                first_capacity,
            } = error
            else {
                panic!("{name}: {error:?}")
            };
            assert_eq!((capacity, max_capacity, asked), (first, most, rate));
            let text = error.to_string();
            if let Some(layout) = layout {
                let built = build_named(layout, first, most, rate);
                assert!(built.is_ok(), "{name}: {error:?}: {built:?}");
                assert!(text.contains(layout), "{text}");
                layouts += 1;
            } else {
                assert!(each_name().iter().all(|n| build_named(n, first, most, rate).is_err()));
            }
            if let Some(better) = first_capacity {
                let build = |first| build_named(name, first, most, rate);
                assert!(build(better).is_ok(), "{name}: {error:?}");
                assert!(better > first && build(better - 1).is_err(), "{name}: {error:?}");
                assert!(text.contains(&better.to_string()), "{text}");
                firsts += 1;
            } else {
                assert!(build_named(name, most, most, rate).is_err(), "{name}: {error:?}");
                neither += usize::from(layout.is_none());
            }
        }
    }
    assert!(layouts > 100 && firsts > 100 && neither > 10, "{layouts}, {firsts}, {neither}");
}

/// The layout that is chosen at run time grows as far as was asked for, reaches the rate then, and takes
/// no more memory than any other that does. Where none is chosen, none would do.
#[test]
fn any_layout_reaches_rate_and_growth() {
    let (mut chosen, mut refused) = (HashSet::new(), 0);
    for (first, most, rate) in wishes().take(600) {
        let others = || each_name().into_iter().map(|name| build_named(name, first, most, rate));
        let builder = CuckooFilter::builder().capacity(first).max_capacity(most).any_layout();
        let built = match rate {
            Some(rate) => builder.false_positive_rate(rate).build(),
            None => builder.build(),
        };
        let filter = match built {
            Ok(filter) => filter,
            Err(error) => {
                // Without a rate, layouts with shorter fingerprints than the default are not chosen.
                let mut others = each_name()
                    .into_iter()
                    .zip(others())
                    .skip_while(|(name, _)| rate.is_none() && *name != "Fp16x4");
                assert!(others.all(|(_, built)| built.is_err()), "{error:?}");
                if let BuildError::GrowthOutOfReach { first_capacity: Some(better), .. } = error {
                    let better = |name| build_named(name, better, most, rate);
                    assert!(each_name().into_iter().any(|name| better(name).is_ok()), "{error:?}");
                }
                refused += 1;
                continue;
            }
        };
        chosen.insert(filter.layout_name());
        let chosen_bytes = build_named(filter.layout_name(), first, most, rate);
        let chosen_bytes = chosen_bytes.expect("as `filter`");
        let smaller = others().flatten().filter(|&bytes| bytes + 16_000 < chosen_bytes);
        assert!(rate.is_none() || smaller.count() == 0, "{filter:?}, {most} items");
        if most < 20_000 {
            assert_eq!(fill(&filter, hashes(7).take(most)), most, "{filter:?}");
            let expected = filter.false_positive_rate();
            assert!(rate.is_none_or(|rate| expected <= rate), "{rate:?}: {filter:?}");
            assert!(hashes(7).take(most).all(|hash| filter.contains_hash(hash)));
        }
    }
    assert!(chosen.len() >= 7 && refused > 10, "{chosen:?}, {refused} refused");
}

/// The greatest capacity is not less than the first one; and what is wrong whatever the size is said
/// first.
#[test]
fn capacities_that_cannot_be() {
    for (first, most) in [(1, 0), (100, 99), (usize::MAX, 1)] {
        let low = BuildError::MaxCapacityTooLow { capacity: first, max_capacity: most };
        let text = low.to_string();
        assert!(text.contains(&first.to_string()) && text.contains(&most.to_string()), "{text}");
        for name in each_name() {
            assert_eq!(build_named(name, first, most, None), Err(low));
            assert_eq!(build_named(name, first, most, Some(0.01)), Err(low));
        }
        let any = CuckooFilter::builder().capacity(first).max_capacity(most).any_layout();
        assert_eq!(any.build().err(), Some(low));
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
