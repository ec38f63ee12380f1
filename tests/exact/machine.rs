//! Random operations on two filters, or on two maplets, beside exact models: code that is shared by the tests of one
//! layout, which are compiled in seconds, and by those of all layouts.

use std::fmt::Debug;
use std::iter;

use coucal::Error;
use coucal_reference::format::Geometry;
use coucal_reference::{Layout, Modelled, Op, Random, Subject, cases, run_cases};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

/// The number of entries in the first cells of the stash. With more entries it becomes longer, and its probes are
/// longest just before.
const FIRST_CELLS: usize = 56;

/// Builds a subject for a first and a maximum number of items, with values of this length.
pub type New<'a> = &'a dyn Fn(usize, usize, u32) -> Result<Box<dyn Subject>, Error>;

/// Runs a test with `count` random cases, or ten times as many with `COUCAL_LONG`.
pub fn check<S: Strategy<Value: Debug>>(count: u32, strategy: S, test: impl Fn(S::Value)) {
    let times = if std::env::var_os("COUCAL_LONG").is_some() { 10 } else { 1 };
    run_cases(ProptestConfig { cases: count * times, ..cases() }, &strategy, &test);
}

/// Generates up to `most` operations. `merges` is the weight of merges among them, and of other operations on two
/// filters.
pub fn ops(most: usize, merges: u32) -> impl Strategy<Value = Vec<Op>> {
    let key = any::<u16>;
    let keys = || (key(), 0..80_u8);
    let op = prop_oneof![
        200 => key().prop_map(Op::Insert),
        80 => key().prop_map(Op::InsertIfAbsentOrReplace),
        80 => key().prop_map(Op::Remove),
        20 => key().prop_map(Op::Look),
        200 => keys().prop_map(|(first, count)| Op::InsertMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::InsertIfAbsentOrReplaceMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::RemoveMany(first, count)),
        20 => keys().prop_map(|(first, count)| Op::LookMany(first, count)),
        2 => prop_oneof![Just(Op::Clear(0)), Just(Op::Clear(4))],
        10 => (0..300_u16).prop_map(Op::Reserve),
        20 => Just(Op::Restore),
        5 => key().prop_map(Op::RemoveValue),
        10 => key().prop_map(Op::UpdateValues),
        20 => key().prop_map(Op::InsertIfAbsent),
        20 => key().prop_map(Op::InsertPairIfAbsent),
        40 => key().prop_map(Op::Update),
        merges => Just(Op::Merge),
        merges => keys().prop_map(|(first, count)| Op::MergeAndBack(first, count)),
        merges.div_ceil(4) => Just(Op::Intersect),
        merges.div_ceil(4) => any::<u8>().prop_map(Op::IntersectWithSome),
        merges => Just(Op::Overlap),
        merges => Just(Op::Swap),
    ];
    prop::collection::vec(op, 1..most)
}

pub fn apply_all([mut this, mut other]: [Modelled; 2], ops: &[Op]) {
    for (step, &op) in ops.iter().enumerate() {
        this.apply(op, &mut other);
        if step % 16 == 0 {
            this.finds_all();
        }
    }
    this.check();
    other.check();
}

/// The items of a test.
#[derive(Clone, Copy, Debug)]
struct Items {
    seed: u64,
    /// The number of hashes.
    distinct: usize,
    /// The number of pairs of buckets that they have, or 0 for any.
    pairs: usize,
    /// How often each hash comes.
    crowd: Crowd,
    fill: Fill,
}

/// How many items of each hash there are, most of the time: copies in a filter, values in a maplet.
#[derive(Clone, Copy, Debug)]
enum Crowd {
    /// As many of each as fill the table with all hashes.
    Any,
    /// This number.
    Each(usize),
    /// Of the n-th hash one n-th as many as of the first.
    Zipf,
}

/// How many items there are most of the time.
#[derive(Clone, Copy, Debug)]
enum Fill {
    /// In percent of the capacity.
    Percent(usize),
    /// Enough to fill the buckets of the pairs and the first cells of the stash, and some more.
    Stash(usize),
}

fn items(general: u32, crowds: u32) -> impl Strategy<Value = Items> {
    let usual = (
        prop_oneof![1 => 1..30_usize, 4 => 30..300_usize],
        prop_oneof![3 => Just(0), 1 => 1..4_usize],
        prop_oneof![
            2 => Just(Crowd::Any),
            1 => (1..=12_usize).prop_map(Crowd::Each),
            1 => Just(Crowd::Zipf),
        ],
        (40..100_usize).prop_map(Fill::Percent),
    );
    let more = prop_oneof![2 => Just(0), 1 => 0..12_usize];
    let crowd = (10..200_usize, 1..3_usize, Just(Crowd::Any), more.prop_map(Fill::Stash));
    (any::<u64>(), prop_oneof![general => usual, crowds => crowd]).prop_map(
        |(seed, (distinct, pairs, crowd, fill))| Items { seed, distinct, pairs, crowd, fill },
    )
}

impl Items {
    fn hashes(self, geometry: Geometry, slots: usize, fill: usize) -> Vec<u64> {
        let hashes: Vec<u64> =
            Random::seed_from_u64(self.seed).random_iter().take(20_000).collect();
        let buckets = |hash: &u64| geometry.buckets(*hash, slots);
        let pairs: Vec<_> = hashes[..self.pairs].iter().map(buckets).collect();
        let of_pairs =
            hashes.iter().filter(|hash| pairs.is_empty() || pairs.contains(&buckets(hash)));
        let distinct = match self.crowd {
            Crowd::Each(items) => (fill / items).max(1),
            _ => self.distinct,
        };
        let distinct: Vec<u64> = of_pairs.copied().take(distinct).collect();
        let times = |rank: usize| match self.crowd {
            Crowd::Zipf => distinct.len().div_ceil(rank + 1),
            _ => 1,
        };
        let all = distinct.iter().enumerate();
        all.flat_map(|(rank, &hash)| iter::repeat_n(hash, times(rank))).collect()
    }

    fn fill(self, capacity: usize, slots: usize) -> usize {
        match self.fill {
            Fill::Percent(percent) => capacity * percent / 100,
            Fill::Stash(more) => 2 * self.pairs * slots + FIRST_CELLS + more,
        }
    }

    fn of(self, modelled: Modelled, capacity: usize) -> Modelled {
        // Larger tables are mostly empty.
        let capacity = capacity.min(1000);
        let geometry = modelled.model().geometry();
        let fill = self.fill(capacity, geometry.slots());
        let hashes = self.hashes(geometry, modelled.subject().slots(), fill);
        modelled.with_hashes(hashes).with_fill(fill)
    }
}

/// Generates lengths of values, up to this number of bits; mostly the longest, which leave the fewest bits for the
/// rest.
fn value_bits(longest: u32) -> impl Strategy<Value = u32> {
    let below = prop_oneof![3 => 0..2_u32, 1 => 0..20_u32];
    below.prop_map(move |below| longest - below % longest.max(1))
}

/// Tests filters or maplets of fixed size, from two buckets on, with values of up to this length.
pub fn fixed(count: u32, layout: Layout, longest: u32, new: New<'_>) {
    let capacity = prop_oneof![1 => 1..30_usize, 3 => 30..200_usize];
    let cases = (value_bits(longest), capacity, items(1, 3), items(1, 3), ops(300, 2));
    check(count, cases, |(bits, capacity, one, other, ops)| {
        let capacity = capacity.max(one.fill(capacity, layout.slots));
        let new = |items: Items| {
            let built = new(capacity, capacity, bits).expect("memory for a test");
            items.of(Modelled::new(built), capacity)
        };
        apply_all([new(one), new(Items { seed: one.seed, ..other })], &ops);
    });
}

/// Tests growing filters or maplets, with values of up to this length. One of them may grow to several times the size
/// of the other: then a merge doubles entries, and may be refused for that.
pub fn growing(count: u32, longest: u32, new: New<'_>) {
    // Sometimes a large table. Half of these have grown already, so merges double entries in them.
    let most = |least, most: usize| prop_oneof![3 => least..most, 1 => 10_000..60_000_usize];
    let sizes = |least, usual: usize| (1..60_usize, most(least, usual), any::<bool>());
    // Mostly short sequences, since a table grows to its maximum only once.
    let ops = prop_oneof![4 => ops(30, 120), 1 => ops(300, 10)];
    let cases =
        (value_bits(longest), sizes(100, 1000), sizes(0, 150), items(8, 1), items(8, 1), ops);
    check(count, cases, |(bits, one, other, items, of_other, ops)| {
        let new = |(first, more, has_grown): (usize, usize, bool), items: Items| {
            let most = first + more;
            let built = new(first, most, bits).expect("memory for a test");
            if has_grown && most > 1000 {
                built.reserve(most).expect("room");
            }
            items.of(Modelled::doubling(built), most)
        };
        apply_all([new(one, items), new(other, Items { seed: items.seed, ..of_other })], &ops);
    });
}
