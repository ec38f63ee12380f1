//! Random operations of one thread on two filters, or on two maplets, against an exact model.

use std::fmt::Debug;

use coucal_reference::format::Geometry;
use coucal_reference::{Grows, LAYOUTS, Layout, Modelled, Op, Subject};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

/// Entries that the cells of the stash hold before they become more: then its ways are the longest.
const FIRST_CELLS: usize = 56;

/// Runs a test with random cases: as many as take seconds, or with `COUCAL_LONG` fifty times as many.
fn check<S: Strategy<Value: Debug>>(cases: u32, strategy: S, test: impl Fn(S::Value)) {
    let long = std::env::var_os("COUCAL_LONG").is_some();
    let cases = cases * if long { 50 } else { 1 };
    let mut runner = TestRunner::new(ProptestConfig { cases, ..coucal_reference::cases() });
    let outcome = runner.run(&strategy, |case| {
        test(case);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

fn ops(merges: u32) -> impl Strategy<Value = Vec<Op>> {
    let key = any::<u16>;
    let keys = || (key(), 0..80_u8);
    let op = prop_oneof![
        200 => key().prop_map(Op::Insert),
        80 => key().prop_map(Op::InsertUniqueOrReplace),
        80 => key().prop_map(Op::Remove),
        20 => key().prop_map(Op::Look),
        200 => keys().prop_map(|(first, count)| Op::InsertMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::InsertUniqueOrReplaceMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::RemoveMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::LookMany(first, count)),
        2 => prop_oneof![Just(Op::Clear(0)), Just(Op::Clear(4))],
        10 => (0..300_u16).prop_map(Op::Reserve),
        10 => Just(Op::Restore),
        merges => Just(Op::Merge),
        merges => Just(Op::Swap),
    ];
    prop::collection::vec(op, 1..300)
}

fn apply_all<S: Subject>([mut this, mut other]: [Modelled<S>; 2], ops: &[Op]) {
    for (step, &op) in ops.iter().enumerate() {
        this.apply(op, &mut other);
        if step % 16 == 0 {
            this.finds_all();
        }
    }
    this.check();
    other.check();
}

/// Which items there are.
#[derive(Clone, Copy, Debug)]
struct Items {
    seed: u64,
    /// So many hashes,
    distinct: usize,
    /// of so many pairs of buckets, or of any if there are 0.
    pairs: usize,
    fill: Fill,
}

/// How many items there are most of the time.
#[derive(Clone, Copy, Debug)]
enum Fill {
    /// In percent of the capacity.
    Percent(usize),
    /// As many as fill the buckets of the pairs and the first cells of the stash, and some more.
    Stash(usize),
}

fn items() -> impl Strategy<Value = Items> {
    let general = (
        prop_oneof![1..30_usize, 30..500_usize],
        prop_oneof![Just(0), 1..4_usize],
        (20..105_usize).prop_map(Fill::Percent),
    );
    let crowds = (10..200_usize, 1..3_usize, (0..=11_usize).prop_map(Fill::Stash));
    (any::<u64>(), prop_oneof![2 => general, 1 => crowds])
        .prop_map(|(seed, (distinct, pairs, fill))| Items { seed, distinct, pairs, fill })
}

impl Items {
    fn hashes(self, geometry: Geometry, slots: usize) -> Vec<u64> {
        let mut state = self.seed;
        let hashes: Vec<u64> = std::iter::repeat_with(|| {
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let mut z = state;
            z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
            z ^ z >> 31
        })
        .take(20_000)
        .collect();
        let buckets = |hash: &u64| geometry.buckets(*hash, slots);
        let pairs: Vec<_> = hashes[..self.pairs].iter().map(buckets).collect();
        let of_pairs =
            hashes.iter().filter(|hash| pairs.is_empty() || pairs.contains(&buckets(hash)));
        of_pairs.copied().take(self.distinct).collect()
    }

    fn fill(self, capacity: usize, slots: usize) -> usize {
        match self.fill {
            Fill::Percent(percent) => capacity * percent / 100,
            Fill::Stash(more) => 2 * self.pairs * slots + FIRST_CELLS + more,
        }
    }

    fn of<S: Subject>(self, modelled: Modelled<S>, capacity: usize) -> Modelled<S> {
        let geometry = modelled.model().geometry();
        let hashes = self.hashes(geometry, modelled.subject().slots());
        modelled.with_hashes(hashes).with_fill(self.fill(capacity, geometry.slots()))
    }
}

/// Sizes down to two buckets.
fn capacities() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 1..30_usize, 3 => 30..200_usize]
}

/// One of these layouts, and how long values are, from 1 bit to this many.
fn layouts(longest: fn(Layout) -> u32, grows: bool) -> impl Strategy<Value = (Layout, u32)> {
    let layouts = LAYOUTS.into_iter().filter(|layout| layout.grows() || !grows);
    let layout = prop::sample::select(layouts.collect::<Vec<_>>());
    // The longer, the fewer bits are left for the rest.
    let below_longest = prop_oneof![0..3_u32, 0..20_u32];
    (layout, below_longest).prop_map(move |(layout, below)| {
        let longest = longest(layout);
        (layout, longest - below % longest)
    })
}

fn fixed<S: Subject>(n: u32, longest: fn(Layout) -> u32, new: impl Fn(Layout, usize, u32) -> S) {
    let cases = (layouts(longest, false), capacities(), items(), items(), ops(8));
    check(270 * n, cases, |((layout, bits), capacity, one, other, ops)| {
        let capacity = capacity.max(one.fill(capacity, layout.slots));
        let new = |items: Items| items.of(Modelled::new(new(layout, capacity, bits)), capacity);
        apply_all([new(one), new(Items { seed: one.seed, ..other })], &ops);
    });
}

fn growing<S: Grows>(
    n: u32,
    longest: fn(Layout) -> u32,
    new: impl Fn(Layout, usize, usize, u32) -> S,
) {
    let sizes = || prop_oneof![(1..60_usize, 0..100_usize), (1..60_usize, 100..700_usize)];
    let cases = (layouts(longest, true), sizes(), sizes(), items(), items(), ops(40));
    check(150 * n, cases, |((layout, bits), one, other, items, of_other, ops)| {
        let new = |(first, more): (usize, usize), items: Items| {
            items.of(Modelled::doubling(new(layout, first, first + more, bits)), first + more)
        };
        apply_all([new(one, items), new(other, Items { seed: items.seed, ..of_other })], &ops);
    });
}

#[test]
fn filters() {
    fixed(1, |_| 1, |layout, capacity, _| layout.filter(capacity));
}

#[test]
fn maplets() {
    fixed(1, Layout::longest_values, Layout::maplet);
}

#[test]
fn growing_filters() {
    growing(1, |_| 1, |layout, first, most, _| layout.growing(first, most));
}

#[test]
fn growing_maplets() {
    growing(1, Layout::longest_values_that_grow, Layout::growing_maplet);
}
