//! Generations that end after a number of new items.

use std::collections::BTreeMap;
use std::hash::{Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use coucal::{Error, Prehashed};
use coucal_reference::{HASHER, Layout, hashes, random};
use rand::RngExt;

use super::{Seen, builder, growing_builder};

/// Ten times as long with `COUCAL_LONG`.
fn runs() -> usize {
    if std::env::var_os("COUCAL_LONG").is_some() { 10 } else { 1 }
}

fn wide() -> Layout {
    Layout::named("Fp32x2")
}

/// The generation of each remembered item. Items have no fingerprints in common.
struct Modelled {
    generations: u64,
    items: usize,
    present: u64,
    new: usize,
    last: BTreeMap<u64, u64>,
}

impl Modelled {
    fn advance(&mut self) {
        self.present += 1;
        self.new = 0;
        let oldest = (self.present + 1).saturating_sub(self.generations);
        self.last.retain(|_, generation| *generation >= oldest);
    }

    /// Inserts an item. Returns whether it is new.
    fn insert(&mut self, item: u64, if_absent: bool) -> bool {
        if let Some(generation) = self.last.get_mut(&item) {
            if !if_absent {
                *generation = self.present;
            }
            return false;
        }
        self.last.insert(item, self.present);
        self.new += 1;
        if self.new == self.items {
            self.advance();
        }
        true
    }
}

/// An item whose hash is a panic if the number is 0.
struct Explosive(u64);

impl Hash for Explosive {
    fn hash<H: Hasher>(&self, state: &mut H) {
        assert!(self.0 > 0, "on purpose");
        self.0.hash(state);
    }
}

/// Batches whose last item panics: all items that are stored have been counted. So generations end, and the filter does
/// not become full.
#[test]
fn a_panic_in_a_batch_leaves_no_item_uncounted() {
    let builder = builder(wide(), 2).capacity(600).every_items(100);
    let seen: Seen = builder.build().unwrap();
    for batch in 0..20 {
        let items = (1..=400).map(|item| Explosive(400 * batch + item)).chain([Explosive(0)]);
        let items: Vec<Explosive> = items.collect();
        let mut new = vec![false; items.len()];
        let insert = || seen.insert_many(&items, &mut new);
        assert!(catch_unwind(AssertUnwindSafe(insert)).is_err());
        assert!(new[..256].iter().all(|&new| new) && new[256..].iter().all(|&new| !new));
        assert!(seen.len() <= 2 * 100, "{}", seen.len());
        assert_eq!(seen.generation(), (batch + 1) * 256 / 100);
    }
}

/// A filter that has room for fewer items than it has generations remembers as many as it has room for.
#[test]
fn fewer_items_than_generations() {
    let builder = builder(wide(), 10).capacity(2).forget_oldest_when_full();
    for builder in [builder.clone(), builder.every_items(1)] {
        let seen: Seen = builder.build().unwrap();
        assert_eq!(seen.items_per_generation(), Some(1));
        assert!((0..100).all(|item| seen.insert(&item) == Ok(true) && seen.contains(&item)));
    }
}

/// Without a number of items, it is that of the maximum capacity. A clone has all settings.
#[test]
fn a_filter_that_forgets_when_full_has_a_number_of_items() {
    let growing = growing_builder(wide(), 4).max_capacity(8000).forget_oldest_when_full();
    assert_eq!(growing.build().unwrap().items_per_generation(), Some(2000));
    let fixed = builder(wide(), 4).capacity(100).forget_oldest_when_full();
    let clone = fixed.clone().build().unwrap().try_clone().unwrap();
    assert_eq!(clone.items_per_generation(), Some(25));
    // With a period there is no such number, and a burst fills the filter.
    let clone = fixed.every(Duration::from_secs(3600)).build().unwrap().try_clone().unwrap();
    assert_eq!(clone.items_per_generation(), None);
    let burst: Vec<u64> = (0..1000).collect();
    assert_eq!(clone.insert_many(&burst, &mut [false; 1000]), Ok(1000));
    assert!(clone.stats().early_advances > 0);
}

/// The error of a batch has the index of the item that found no room.
#[test]
fn a_batch_stops_at_the_item_without_room() {
    for builder in
        [builder(wide(), 200).capacity(600), builder(wide(), 200).capacity(600).every_items(10)]
    {
        let seen: Seen = builder.build().unwrap();
        let items: Vec<u64> = (0..1000).collect();
        let error = seen.insert_many(&items, &mut [false; 1000]).unwrap_err();
        let Error::Stopped { index, stored, .. } = error else { panic!("{error}") };
        assert!(index > 512 && seen.len() == stored && stored == index, "{error}");
        assert!(items[..index].iter().all(|item| seen.contains(item)));
        assert!(!seen.contains(&items[index]));
    }
}

/// Random inserts, one by one and in batches, and advances by hand; some filters go on as a copy, or are restored.
#[test]
fn a_generation_ends_after_its_number_of_new_items() {
    let mut random = random(1);
    let all: Vec<Prehashed> = hashes(3).take(200).map(Prehashed).collect();
    for (generations, items) in [(2, 1), (2, 7), (3, 10), (4, 30), (10, 5), (4, 300)] {
        let builder = builder(wide(), generations).capacity(2000).every_items(items);
        let mut seen: Seen = builder.build().unwrap();
        let mut model = Modelled {
            generations: generations.into(),
            items,
            present: 0,
            new: 0,
            last: BTreeMap::new(),
        };
        for _ in 0..5000 * runs() {
            let if_absent = random.random();
            let at = random.random_range(0..all.len());
            match random.random_range(0..20) {
                0 => {
                    seen.advance();
                    model.advance();
                }
                1..4 => {
                    // As if they were inserted one by one: a generation may end in the middle of the batch.
                    let batch = &all[at..all.len().min(at + random.random_range(0..40))];
                    let mut new = vec![false; batch.len()];
                    let stored = if if_absent {
                        seen.insert_if_absent_many(batch, &mut new).unwrap()
                    } else {
                        seen.insert_many(batch, &mut new).unwrap()
                    };
                    let expected = batch.iter().map(|item| model.insert(item.0, if_absent));
                    let expected: Vec<bool> = expected.collect();
                    assert_eq!(new, expected, "{batch:?}");
                    assert_eq!(stored, new.iter().filter(|&&is_new| is_new).count());
                }
                4 => {
                    seen = if if_absent {
                        seen.try_clone().unwrap()
                    } else {
                        let bytes = seen.snapshot().unwrap().into_bytes();
                        let mut restored = Seen::from_bytes(&bytes, HASHER).unwrap();
                        assert_eq!(restored.items_per_generation(), None);
                        restored.set_every_items(items).unwrap();
                        model.new = 0;
                        restored
                    };
                }
                _ if if_absent => {
                    let is_new = seen.insert_if_absent(&all[at]).unwrap();
                    assert_eq!(is_new, model.insert(all[at].0, true));
                }
                _ => {
                    let is_new = seen.insert(&all[at]).unwrap();
                    assert_eq!(is_new, model.insert(all[at].0, false));
                }
            }
            assert_eq!((seen.len(), seen.generation()), (model.last.len(), model.present));
            let item = all[at];
            let age = model.last.get(&item.0).map(|&generation| model.present - generation);
            assert_eq!(seen.age(&item).map(u64::from), age);
        }
        assert_eq!(seen.items_per_generation(), Some(items));
    }
}

/// A generation gets at least one item. If the oldest one is forgotten when the filter is full, all but one of them
/// have room at once.
#[test]
fn numbers_of_items_that_are_impossible() {
    let numbers = |error| match error {
        Error::ItemsPerGenerationOutOfRange { items, max, .. } => (items, max),
        error => panic!("{error:?}"),
    };
    let builder = || builder(wide(), 3).capacity(900);
    assert_eq!(numbers(builder().every_items(0).build().unwrap_err()), (0, usize::MAX));
    assert!(builder().every_items(901).build().is_ok());
    let mut seen = builder().build().unwrap();
    assert_eq!(numbers(seen.set_every_items(0).unwrap_err()), (0, usize::MAX));
    assert_eq!(seen.items_per_generation(), None);

    let max = builder().build().unwrap().capacity() / 2;
    let forgetting = || builder().forget_oldest_when_full();
    let built = forgetting().every_items(max + 1).build();
    assert_eq!(numbers(built.unwrap_err()), (max + 1, max));
    let mut seen = forgetting().every_items(max).build().unwrap();
    assert_eq!(seen.items_per_generation(), Some(max));
    assert_eq!(numbers(seen.set_every_items(max + 1).unwrap_err()), (max + 1, max));
    seen.set_forget_oldest_when_full(false).unwrap();
    seen.set_every_items(max + 1).unwrap();
    let error = seen.set_forget_oldest_when_full(true).unwrap_err();
    let says = error.to_string();
    assert_eq!(numbers(error), (max + 1, max));
    let expected = format!(
        "a generation of this filter cannot end after {} new items: call `every_items` with 1 to {max}",
        max + 1
    );
    assert_eq!(says, expected);
}

/// A filter that forgets the oldest generation when it is full remembers the present one and the N - 2 before: with as
/// many items as fit into each, with fewer, and without a number, also when it was restored.
#[test]
fn a_full_filter_forgets_the_oldest_generation() {
    for generations in [2, 3, 4, 10] {
        let builder = || builder(wide(), generations).capacity(2000).forget_oldest_when_full();
        let capacity = builder().build().unwrap().capacity();
        let before = generations as usize - 1;
        let restored = {
            let filter = super::builder(wide(), generations).capacity(2000).build().unwrap();
            let bytes = filter.snapshot().unwrap().into_bytes();
            let mut seen = Seen::from_bytes(&bytes, HASHER).unwrap();
            seen.set_forget_oldest_when_full(true).unwrap();
            seen
        };
        let filters = [
            builder().every_items(capacity / before).build().unwrap(),
            builder().every_items(capacity / before / 2).build().unwrap(),
            builder().build().unwrap(),
            restored,
        ];
        for seen in filters {
            let items = seen.items_per_generation().expect("something ends generations");
            let all: Vec<_> = hashes(9).take(20_000 * runs()).map(Prehashed).collect();
            for (at, item) in all.iter().enumerate() {
                assert_eq!(seen.insert(item), Ok(true));
                let remembered = items * (generations as usize - 2);
                if let Some(oldest) = (at + 1).checked_sub(remembered) {
                    let mut last = all[oldest..=at].iter().step_by(37);
                    assert!(last.all(|item| seen.contains(item)), "{generations} of {items}, {at}");
                }
            }
        }
    }
}

/// The last N - 1 generations are remembered, and no more than N of them; a filter with room for these never is full.
#[test]
fn a_window_of_new_items() {
    for generations in [2, 4, 6, 12] {
        let items = 12_000 / generations as usize;
        let seen =
            builder(wide(), generations).capacity(12_000).every_items(items).build().unwrap();
        let all: Vec<_> = hashes(7).take(40_000 * runs()).map(Prehashed).collect();
        for (at, item) in all.iter().enumerate() {
            assert_eq!(seen.insert(item), Ok(true));
            if let Some(oldest) = (at + 1).checked_sub(items * (generations as usize - 1)) {
                assert!(seen.contains(&all[oldest]), "{generations} generations: {oldest} at {at}");
            }
        }
        assert!(seen.len() <= 12_000);
        assert_eq!(seen.stats().stashed_entries, 0);
    }
}

/// Each item comes again after 9,000 other inserts, in a filter with room for 12,000: none is missed.
#[test]
fn a_window_of_ten_thousand_items() {
    for generations in [4, 6, 12] {
        let items = 12_000 / generations as usize;
        let builder = builder(wide(), generations).capacity(12_000).every_items(items);
        let seen = builder.forget_oldest_when_full().build().unwrap();
        let all: Vec<_> = hashes(7).take(40_000 * runs()).map(Prehashed).collect();
        let mut least = usize::MAX;
        for (at, item) in all.iter().enumerate() {
            assert_eq!(seen.insert(item), Ok(true));
            // A new one and an old one take turns.
            if let Some(again) = at.checked_sub(4500) {
                assert_eq!(seen.insert(&all[again]), Ok(false), "{generations}: {again} is missed");
            }
            // Once it has been full.
            if at > 20_000 {
                least = least.min(seen.len());
            }
        }
        println!("{generations} generations: {least} items or more");
        assert!(least >= 9000, "{generations}: {least}");
    }
}

/// For each number of new items at most one generation ends, however many threads insert them.
#[test]
fn threads_end_no_generation_too_many() {
    const EACH: usize = 20_000;
    for (generations, items) in [(4, 50), (8, 1000)] {
        let builder = builder(wide(), generations).capacity(200_000).every_items(items);
        let (seen, stored) = (&builder.build().unwrap(), &AtomicUsize::new(0));
        thread::scope(|scope| {
            for thread in 0..4 {
                scope.spawn(move || {
                    let own: Vec<Prehashed> = hashes(thread).take(EACH).map(Prehashed).collect();
                    for batch in own.chunks(37) {
                        let (first, rest) = batch.split_first().unwrap();
                        let mut new = vec![false; rest.len()];
                        let is_new = seen.insert(first).unwrap();
                        let of_batch =
                            usize::from(is_new) + seen.insert_many(rest, &mut new).unwrap();
                        stored.fetch_add(of_batch, Ordering::Relaxed);
                    }
                });
            }
        });
        let ended = usize::try_from(seen.generation()).unwrap();
        let stored = stored.load(Ordering::Relaxed);
        assert!(ended * items <= stored, "{ended} generations of {items}: {stored} items");
        assert!(ended > 0);
    }
}

/// A generation goes on after `clear`, with its count of new items.
#[test]
fn a_clear_ends_no_generation() {
    let seen: Seen = builder(wide(), 4).capacity(1000).every_items(10).build().unwrap();
    let all: Vec<Prehashed> = hashes(5).take(20).map(Prehashed).collect();
    seen.insert_all(all[..15].iter().copied()).unwrap();
    seen.clear();
    assert_eq!((seen.len(), seen.generation()), (0, 1));
    // As new items, those that the filter had before are counted again.
    for item in &all[11..15] {
        assert_eq!((seen.insert(item), seen.generation()), (Ok(true), 1));
    }
    assert_eq!((seen.insert(&all[15]), seen.generation()), (Ok(true), 2));
}

/// `stats` counts the ends of generations by their cause.
#[test]
fn ends_are_counted_by_their_cause() {
    let all: Vec<Prehashed> = hashes(5).take(36).map(Prehashed).collect();
    let mut seen: Seen = builder(wide(), 4).capacity(1000).every_items(10).build().unwrap();
    let ends = |seen: &Seen| {
        let stats = seen.stats();
        [seen.generation(), stats.counted_advances, stats.timed_advances, stats.early_advances]
    };
    assert_eq!(seen.insert_all(all[..35].iter().copied()), Ok(35));
    assert_eq!(ends(&seen), [3, 3, 0, 0]);
    seen.advance();
    assert_eq!(ends(&seen), [4, 3, 0, 0]);
    let hour = Duration::from_secs(3600);
    seen.set_every(hour, 2 * hour).unwrap();
    assert_eq!(seen.insert(&all[35]), Ok(true));
    assert_eq!(ends(&seen), [6, 3, 2, 0]);
}
