//! Random operations of one thread beside an exact model, which knows when each class of items was inserted last.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use coucal::{AnyLayout, Error, Fixed, Growable, Prehashed, Storage};
use coucal_reference::format::{self, Class, Contents, Geometry};
use coucal_reference::{HASHER, LAYOUTS, Random, cases, hashes, run_cases};
use proptest::prelude::*;
use rand::{RngExt, SeedableRng};

use super::{GrowingSeen, Seen, builder, growing_builder, most_generations};

/// How items are inserted.
#[derive(Clone, Copy, Debug)]
enum By {
    Single,
    Slice,
    Iterator,
}

/// Operations. Keys are numbers of hashes.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// Inserts `count` keys from `first` on. With `restamps`, keys that are there are seen again.
    Insert {
        by: By,
        restamps: bool,
        first: u16,
        count: u8,
    },
    Look(u16, u8),
    Advance(u8),
    Clear,
    Reserve(u16),
    /// Replaces the filter by a clone, or by a restored one.
    Replace(u8),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let by = prop_oneof![
        150 => Just((By::Single, 1)),
        140 => (Just(By::Slice), 0..60_u8),
        30 => (Just(By::Iterator), 0..60_u8),
    ];
    let insert = (by, prop::bool::weighted(0.7), any::<u16>());
    let op = prop_oneof![
        320 => insert.prop_map(|((by, count), restamps, first)| Op::Insert { by, restamps, first, count }),
        40 => (any::<u16>(), 0..60_u8).prop_map(|(first, count)| Op::Look(first, count)),
        40 => (1..4_u8).prop_map(Op::Advance),
        2 => Just(Op::Clear),
        5 => (0..200_u16).prop_map(Op::Reserve),
        10 => (0..4_u8).prop_map(Op::Replace),
    ];
    prop::collection::vec(op, 1..300)
}

/// A filter beside its model.
struct Modelled<L: Storage> {
    seen: Seen<L>,
    geometry: Geometry,
    hashes: Vec<u64>,
    /// The generation in which each class was inserted last.
    last: BTreeMap<Class, u64>,
    generation: u64,
    /// Whether splits have doubled entries: then there may be more entries than items.
    has_doubled: bool,
    forgets_oldest: bool,
    reserve: fn(&Seen<L>, usize),
}

impl<L: Storage> Modelled<L> {
    fn hash(&self, key: u16) -> u64 {
        self.hashes[usize::from(key) % self.hashes.len()]
    }

    fn keys(&self, first: u16, count: u8) -> Vec<Prehashed> {
        (0..u16::from(count)).map(|n| Prehashed(self.hash(first.wrapping_add(n)))).collect()
    }

    fn age(&self, hash: u64) -> Option<u32> {
        let last = self.last.get(&self.geometry.class(hash));
        last.map(|last| (self.generation - last) as u32)
    }

    fn advance(&mut self) -> usize {
        self.generation += 1;
        let before = self.last.len();
        let count = u64::from(self.seen.generations());
        let generation = self.generation;
        self.last.retain(|_, last| *last + count > generation);
        before - self.last.len()
    }

    /// Inserts into the model. Returns whether the hash is new.
    fn insert(&mut self, hash: u64, restamps: bool) -> bool {
        let is_new = self.age(hash).is_none();
        if is_new || restamps {
            self.last.insert(self.geometry.class(hash), self.generation);
        }
        is_new
    }

    /// Checks the error of a failed insert of this item.
    fn is_full(&self, hash: u64, error: &Error) {
        assert_eq!(error, &Error::WindowFull);
        assert!(!self.forgets_oldest && self.seen.fullness() >= 1.0, "{:?}", self.seen);
        // If the item had been there with an older stamp, the insert would have needed no slot.
        assert_eq!(self.age(hash), None);
    }

    fn insert_one(&mut self, item: Prehashed, restamps: bool) {
        let result =
            if restamps { self.seen.insert(&item) } else { self.seen.insert_if_absent(&item) };
        while self.generation < self.seen.generation() {
            assert!(self.forgets_oldest);
            self.advance();
        }
        match result {
            Ok(is_new) => assert_eq!(is_new, self.insert(item.0, restamps), "{:?}", self.seen),
            Err(error) => self.is_full(item.0, &error),
        }
    }

    fn insert_many(&mut self, by: By, items: &[Prehashed], restamps: bool) {
        let mut new = vec![false; items.len()];
        let result = match by {
            // A batch does not say which of its items has made room.
            _ if self.forgets_oldest || matches!(by, By::Single) => {
                return items.iter().for_each(|&item| self.insert_one(item, restamps));
            }
            By::Slice if restamps => self.seen.insert_many(items, &mut new),
            By::Slice => self.seen.insert_if_absent_many(items, &mut new),
            _ if restamps => self.seen.insert_all(items),
            _ => self.seen.insert_if_absent_all(items),
        };
        let (tried, count) = match &result {
            Ok(count) => (items.len(), *count),
            Err(Error::Stopped { index, stored, .. }) => (*index, *stored),
            Err(error) => panic!("{error}"),
        };
        let expected: Vec<bool> =
            items[..tried].iter().map(|item| self.insert(item.0, restamps)).collect();
        assert_eq!(count, expected.iter().filter(|&&is_new| is_new).count());
        assert!(matches!(by, By::Iterator) || new[..tried] == expected, "{:?}", self.seen);
        if let Err(Error::Stopped { cause, .. }) = result {
            self.is_full(items[tried].0, cause);
        }
    }

    /// Looks a hash up, and returns its age.
    fn look(&self, hash: u64) -> Option<u32> {
        let age = self.age(hash);
        let found = (self.seen.contains(&Prehashed(hash)), self.seen.age(&Prehashed(hash)));
        assert_eq!(found, (age.is_some(), age), "{:?}", self.seen);
        age
    }

    /// Looks up one in `of` hashes.
    fn finds_all(&self, of: usize) {
        for &hash in self.hashes.iter().step_by(of) {
            self.look(hash);
        }
    }

    fn apply(&mut self, op: Op) {
        match op {
            Op::Insert { by, restamps, first, count } => {
                self.insert_many(by, &self.keys(first, count), restamps);
            }
            Op::Look(first, count) => {
                let keys = self.keys(first, count);
                let ages: Vec<_> = keys.iter().map(|key| self.look(key.0)).collect();
                assert_eq!(self.seen.age_each(&keys), ages);
                let found: Vec<_> = ages.iter().map(Option::is_some).collect();
                assert_eq!(self.seen.contains_each(&keys), found);
            }
            Op::Advance(times) => {
                for _ in 0..times {
                    let (gone, due) = (self.seen.advance(), self.advance());
                    assert!(gone == due || self.has_doubled, "{gone} in place of {due}");
                }
            }
            Op::Clear => {
                self.seen.clear();
                self.last.clear();
            }
            Op::Reserve(more) => (self.reserve)(&self.seen, more.into()),
            Op::Replace(how) => self.replace(how),
        }
    }

    fn replace(&mut self, how: u8) {
        let snapshot = self.seen.snapshot().unwrap();
        assert_eq!(snapshot.len(), self.seen.len());
        self.seen = match how {
            0 => self.seen.try_clone(),
            1 => Seen::from_snapshot(&snapshot, HASHER),
            2 => Seen::from_bytes(snapshot.as_bytes(), HASHER),
            _ => Seen::restore(snapshot.as_bytes(), HASHER),
        }
        .unwrap();
        forget_oldest_when_full(&mut self.seen, self.forgets_oldest);
        assert_eq!(self.seen.snapshot().unwrap(), snapshot);
    }

    /// Checks all figures of the filter, and each entry of it.
    fn check(&mut self) {
        let bytes = self.seen.snapshot().unwrap().into_bytes();
        let contents = format::read(&bytes).unwrap();
        let generations = contents.generations.expect("an expiring filter");
        let count = u64::from(generations.count);
        assert_eq!(
            (generations.number, generations.count),
            (self.generation, self.seen.generations())
        );
        assert_eq!(u64::from(generations.stamp), self.generation % count);
        is_said(&self.seen, &contents);
        self.has_doubled |= contents.doubled > 0;
        let mut entries = BTreeMap::new();
        for (&(class, stamp, _), &copies) in &contents.copies {
            assert!(copies == 1 || self.has_doubled, "{copies} copies");
            let age = (self.generation + count - u64::from(stamp)) % count;
            entries.entry(class).or_insert_with(Vec::new).push(self.generation.wrapping_sub(age));
        }
        if self.has_doubled {
            assert!(self.seen.len() >= self.last.len() || contents.doubled > 0);
        } else {
            assert_eq!(self.seen.len(), self.last.len());
            assert_eq!(entries.len(), self.last.len());
        }
        for (class, last) in &self.last {
            let found = &entries[class];
            assert!(found.contains(last), "{found:?} in place of {last}");
            assert!(found.len() == 1 || self.has_doubled, "{found:?}");
        }
    }
}

/// Checks that the figures of a filter follow from its contents.
fn is_said<L: Storage>(seen: &Seen<L>, contents: &Contents) {
    let load = contents.occupied as f64 / seen.slots() as f64;
    assert_eq!(seen.load_factor().to_bits(), load.to_bits());
    let entries = contents.occupied + contents.stashed - contents.doubled_entries();
    let fullness = entries as f64 / contents.max_capacity.max(1) as f64;
    assert_eq!(seen.fullness().to_bits(), fullness.to_bits(), "{seen:?}");
    let (rate, expected) = (seen.false_positive_rate(), contents.rate());
    assert!(rate <= expected * (1.0 + 1e-5), "{rate}, {expected}");
    // A growing filter does not count what is stashed.
    let is_counted = contents.stashed == 0 || !contents.geometry.grows;
    assert!(!is_counted || rate >= expected * (1.0 - 1e-5), "{rate}, {expected}");
}

/// The items of a test.
#[derive(Clone, Copy, Debug)]
struct Items {
    seed: u64,
    distinct: usize,
    /// The number of pairs of buckets that they have, or 0 for any.
    pairs: usize,
}

fn items() -> impl Strategy<Value = Items> {
    let usual = (prop_oneof![1 => 1..30_usize, 4 => 30..400_usize], Just(0));
    let crowd = (10..150_usize, 1..4_usize);
    (any::<u64>(), prop_oneof![2 => usual, 1 => crowd])
        .prop_map(|(seed, (distinct, pairs))| Items { seed, distinct, pairs })
}

impl Items {
    /// In a table of fixed size, some of them may be of one class. In a growing table, where the entries of a class may
    /// differ, none are.
    fn hashes(self, geometry: Geometry, slots: usize) -> Vec<u64> {
        let hashes: Vec<u64> =
            Random::seed_from_u64(self.seed).random_iter().take(10_000).collect();
        let buckets = |hash: u64| geometry.buckets(hash, slots);
        let pairs: Vec<_> = hashes[..self.pairs].iter().map(|&hash| buckets(hash)).collect();
        let mut classes = BTreeSet::new();
        let of_pairs = hashes
            .into_iter()
            .filter(|&hash| pairs.is_empty() || pairs.contains(&buckets(hash)))
            .filter(|&hash| !geometry.grows || classes.insert(geometry.class(hash)));
        of_pairs.take(self.distinct).collect()
    }
}

/// Lets a filter forget the oldest generation when it is full, or not. Its generations end by a clock that stands
/// still, so not by the number of their items.
fn forget_oldest_when_full<L: Storage>(seen: &mut Seen<L>, forgets_oldest: bool) {
    seen.set_every_by(Duration::from_secs(1), Duration::ZERO, || Duration::ZERO).unwrap();
    seen.set_forget_oldest_when_full(forgets_oldest).unwrap();
}

/// Runs `count` cases, or fifty times as many with `COUCAL_LONG`.
fn check<L: Storage>(
    count: u32,
    new: impl Fn(u32, usize) -> Seen<L>,
    most_generations: u32,
    reserve: fn(&Seen<L>, usize),
) {
    let times = if std::env::var_os("COUCAL_LONG").is_some() { 50 } else { 1 };
    let config = ProptestConfig { cases: count * times, ..cases() };
    let generations = prop_oneof![2 => 2..6_u32, 1 => 2..=most_generations];
    let capacity = prop_oneof![1 => 0..30_usize, 2 => 30..300_usize];
    let cases = (generations, capacity, items(), any::<bool>(), ops());
    run_cases(config, &cases, &|(generations, capacity, items, forgets_oldest, ops)| {
        let mut seen = new(generations.min(most_generations), capacity);
        forget_oldest_when_full(&mut seen, forgets_oldest);
        let geometry = format::read(seen.snapshot().unwrap().as_bytes()).unwrap().geometry;
        let hashes = items.hashes(geometry, seen.slots());
        let mut modelled = Modelled {
            seen,
            geometry,
            hashes,
            last: BTreeMap::new(),
            generation: 0,
            has_doubled: false,
            forgets_oldest,
            reserve,
        };
        for (step, op) in ops.into_iter().enumerate() {
            modelled.apply(op);
            if step % 8 == 0 {
                modelled.check();
                modelled.finds_all(3);
            }
        }
        modelled.check();
        modelled.finds_all(1);
    });
}

#[test]
fn fixed() {
    for layout in LAYOUTS {
        let new = |generations, capacity| {
            builder(layout, generations).capacity(capacity).build().unwrap()
        };
        check::<Fixed<AnyLayout>>(80, new, most_generations(layout), |_, _| {});
    }
}

fn reserve(seen: &GrowingSeen, more: usize) {
    match seen.reserve(more) {
        Ok(()) => assert!(seen.capacity() >= seen.len() + more),
        Err(error) => assert!(matches!(error, Error::AboveMaxCapacity { .. }), "{error}"),
    }
}

#[test]
fn growing() {
    for layout in LAYOUTS.into_iter().filter(|layout| layout.grows()) {
        let new = |generations, capacity: usize| {
            let (builder, most) = (growing_builder(layout, generations), capacity.max(20));
            let seen = builder.capacity(capacity / 4).max_capacity(most).build().unwrap();
            assert_eq!(seen.max_capacity(), most);
            seen
        };
        check::<Growable<AnyLayout>>(160, new, most_generations(layout), reserve);
    }
}

/// A snapshot has as many bytes as the builder states in advance, and 16 for each stashed item.
#[test]
fn a_snapshot_is_as_long_as_was_said() {
    for layout in LAYOUTS.into_iter().filter(|layout| layout.longest_values() > 0) {
        let builder = builder(layout, 2).capacity(500);
        let said = builder.figures(500).unwrap().snapshot_bytes;
        let seen = builder.build().unwrap();
        for _ in 0..2 {
            let bytes = seen.snapshot().unwrap().into_bytes().len();
            assert_eq!(bytes, said + 16 * seen.stats().stashed_entries, "{}", layout.name);
            seen.insert_all(hashes(5).take(500).map(Prehashed)).unwrap();
        }
    }
}
