//! Filters in long use: ten thousand generations.

use std::collections::VecDeque;

use coucal::{Prehashed, Storage};
use coucal_reference::{LAYOUTS, hashes};

use super::{Seen, builder, growing_builder};

const GENERATIONS: u32 = 4;
const PER_GENERATION: usize = 100;

/// The memory does not change after the first window. Items seen within the window are found; items seen before it are
/// found at the rate that the filter states.
fn ten_thousand_generations<L: Storage>(seen: &Seen<L>) {
    let mut window: VecDeque<Vec<Prehashed>> = VecDeque::new();
    let mut items = hashes(5).map(Prehashed);
    let (mut memory, mut slots) = (0, 0);
    let (mut found, mut expected, mut asked) = (0, 0.0, 0);
    for generation in 0..10_000_u64 {
        let new: Vec<_> = items.by_ref().take(PER_GENERATION).collect();
        let mut answers = vec![false; new.len()];
        seen.insert_many(&new, &mut answers).unwrap();
        window.push_back(new);
        if generation == 20 {
            (memory, slots) = (seen.memory_bytes(), seen.slots());
        }
        if generation > 20 {
            assert_eq!(seen.slots(), slots, "{generation}");
            assert!(seen.memory_bytes() <= memory + memory / 4, "{generation} {seen:?}");
        }
        if generation % 64 == 0 {
            assert!(window.iter().flatten().all(|item| seen.contains(item)), "{generation}");
        }
        if window.len() == GENERATIONS as usize {
            let old = window.pop_front().unwrap();
            seen.advance();
            if generation > 20 {
                found += old.iter().filter(|&item| seen.contains(item)).count();
                asked += old.len();
                expected += old.len() as f64 * seen.false_positive_rate();
            }
            assert!(seen.len() <= PER_GENERATION * (GENERATIONS as usize - 1));
        } else {
            seen.advance();
        }
    }
    assert_eq!(seen.generation(), 10_000);
    // Several standard deviations, since items come in groups.
    let most = 1.2 * expected + 10.0 * expected.sqrt() + 10.0;
    assert!((found as f64) < most, "{found} of {asked}, in place of {expected}: {seen:?}");
}

#[test]
fn fixed() {
    for name in ["Fp8x8", "SemiSorted14x5", "Fp16x4"] {
        let layout = LAYOUTS.into_iter().find(|layout| layout.name == name).unwrap();
        let capacity = GENERATIONS as usize * PER_GENERATION;
        ten_thousand_generations(&builder(layout, GENERATIONS).capacity(capacity).build().unwrap());
    }
}

/// Single inserts let a filter grow as its load says (the load of a small filter varies more), and to the rate that it
/// stated in advance.
#[test]
fn the_load_of_a_growing_filter() {
    let layout = LAYOUTS.into_iter().find(|layout| layout.name == "Fp32x2").unwrap();
    let seen = growing_builder(layout, GENERATIONS).build().unwrap();
    let most = layout.target() + 0.05;
    let stated = seen.false_positive_rate_at(20_000);
    for (number, item) in hashes(7).take(20_000).enumerate() {
        seen.insert(&Prehashed(item)).unwrap();
        assert!(number < 10_000 || seen.load_factor() < most, "{number} {seen:?}");
    }
    let rate = seen.false_positive_rate();
    assert!((rate / stated - 1.0).abs() < 0.1, "{rate}, {stated} stated: {seen:?}");
}

#[test]
fn growing() {
    for name in ["Fp16x4", "Fp21x3"] {
        let layout = LAYOUTS.into_iter().find(|layout| layout.name == name).unwrap();
        let builder = growing_builder(layout, GENERATIONS).capacity(1).max_capacity(10_000);
        ten_thousand_generations(&builder.build().unwrap());
    }
}
