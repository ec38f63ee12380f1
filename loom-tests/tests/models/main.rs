//! The models: they run the crate itself, in every order of events that loom explores.
//!
//! In the comments, an item (0, 3) is one whose lookups read bucket 0 first and bucket 3 second. In
//! a table of 4 buckets the pairs are {0, 1}, {2, 3}, {0, 3} and {1, 2}.
//!
//! Each model is one test per layout that is modelled, for example `kicks::opposite_kicks::Fp16x4`.
#![cfg(coucal_model)]

/// Declares the models of a module: one test of each model for every layout. Usually not for every one, but for the
/// default layout, the one with the most slots, the one with the fewest, and one with an encoding of its own.
///
/// `name = function(arguments)` is the model of this name that a function makes of arguments.
macro_rules! models {
    ($($models:tt)*) => {
        of_layouts! {
            [Fp16x4] [Fp8x8 SemiSorted14x5 Fp32x2] [Fp9x7 Fp10x6 Fp12x5 SemiSorted17x4 Fp21x3]
            $($models)*
        }
    };
}

/// The same of models of growth, for every layout that grows. Usually for two of them.
macro_rules! growing_models {
    ($($models:tt)*) => { of_layouts! { [Fp16x4] [Fp32x2] [Fp12x5 Fp21x3] $($models)* } };
}

/// The same of models of maplets and of the stash: a packed layout has all that they show, one of the others has an
/// encoding of its own, and one has two slots.
macro_rules! models_of_three {
    ($($models:tt)*) => { of_layouts! { [Fp16x4] [SemiSorted14x5 Fp32x2] [] $($models)* } };
}

/// Tests of the default layout, of some others, and of all others.
macro_rules! of_layouts {
    ($default:tt $some:tt $every:tt $($model:ident $(= $of:ident $arguments:tt)?)*) => {
        $(#[allow(non_snake_case, reason = "named after the layouts")]
        mod $model {
            #[allow(unused_imports, reason = "arguments may need some")]
            use super::*;

            of_layouts!(@call [$model $($of $arguments)?] $default);
            #[cfg(feature = "some-layouts")]
            of_layouts!(@call [$model $($of $arguments)?] $some);
            #[cfg(feature = "every-layout")]
            of_layouts!(@call [$model $($of $arguments)?] $every);
        })*
    };
    (@call [$model:ident] [$($layout:ident)*]) => {
        $(#[test]
        fn $layout() {
            super::$model::<coucal::$layout>();
        })*
    };
    (@call [$model:ident $of:ident $arguments:tt] [$($layout:ident)*]) => {
        $(#[test]
        fn $layout() {
            $of::<coucal::$layout> $arguments;
        })*
    };
}

mod ages;
mod array;
mod batches;
mod costs;
mod counters;
mod entries;
mod expiring;
mod expiry;
mod growth;
mod kicks;
mod last_resort;
mod lock;
mod maplets;
mod order;
mod races;
mod snapshots;
mod stash;
mod stopped;
mod timer;
mod unique;
mod voids;
mod widening;

use std::env;

use coucal::Layout;
use loom_tests::model::{Item, Setup, Subject, Thread};

/// Four buckets: 0 and 1 are full, 2 and 3 are empty. An insert of `new` (0, 1) moves `moved` from 0
/// to 3. No other item in 0 and 1 can be moved.
struct OneHop<M: Subject> {
    setup: Setup<M>,
    moved: Item,
    new: Item,
    /// All else in 0 and 1.
    filler: Item,
}

impl<M: Subject> OneHop<M> {
    fn new(first: usize, second: usize) -> Self {
        let mut setup = Setup::new(4);
        let [moved, new, filler] = setup.items([(first, second), (0, 1), (0, 1)]);
        setup.store(0, &[moved]).fill(0, filler).fill(1, filler);
        Self { setup, moved, new, filler }
    }
}

/// Four buckets: 0, 1 and 3 are full, 2 is empty. An insert of `new` (0, 1) moves `far` from 3 to 2,
/// then `near` from 0 to 3. No other path exists, whatever the order in which a layout stores the
/// items of a bucket.
struct TwoHops<L: Layout> {
    setup: Setup<L>,
    near: Item,
    far: Item,
    new: Item,
    /// All else in 0 and 1.
    low: Item,
    /// All else in 3.
    high: Item,
}

impl<L: Layout> TwoHops<L> {
    fn new(near: (usize, usize), far: (usize, usize)) -> Self {
        let mut setup = Setup::new(4);
        let [near, far, new, low, high] = setup.items([near, far, (0, 1), (0, 1), (3, 0)]);
        setup.store(0, &[near]).fill(0, low).fill(1, low);
        setup.store(3, &[far]).fill(3, high);
        Self { setup, near, far, new, low, high }
    }
}

/// Four buckets with one free slot, in 3. An insert of `new` (0, 1) moves `moved` from 0 to 3. When 3
/// is full and 0 has a free slot, an insert of `back` (2, 3) moves it from 3 to 0.
struct LastSlot<M: Subject> {
    setup: Setup<M>,
    moved: Item,
    new: Item,
    back: Item,
    /// All items in 2 and 3 at the start.
    high: Item,
}

impl<M: Subject> LastSlot<M> {
    fn new(first: usize, second: usize) -> Self {
        let mut setup = Setup::new(4);
        let [moved, new, back, low, high] =
            setup.items([(first, second), (0, 1), (2, 3), (0, 1), (2, 3)]);
        setup.store(0, &[moved]).fill(0, low).fill(1, low);
        setup.fill(2, high).fill_but_one(3, high);
        Self { setup, moved, new, back, high }
    }
}

/// Two buckets, and an item (0, 1) with a copy in each of these.
fn one_item<M: Subject>(stored: &[usize]) -> (Setup<M>, Item) {
    let mut setup = Setup::new(2);
    let x = setup.item(0, 1);
    for &bucket in stored {
        setup.store(bucket, &[x]);
    }
    (setup, x)
}

/// Moves an item there and back again, while a script runs: an insert of `new` moves it there, one of `back` moves it
/// back.
struct ThereAndBack<M: Subject> {
    others: Thread<M>,
    kicks: [Item; 2],
    moves: usize,
}

impl<M: Subject> ThereAndBack<M> {
    fn new(thread: &Thread<M>, new: Item, back: Item) -> Self {
        Self { others: thread.unrecorded(), kicks: [new, back], moves: 0 }
    }

    fn go(&mut self) {
        let kicks = self.kicks[self.moves % 2];
        assert!(self.others.insert(kicks) && self.others.remove(kicks));
        self.moves += 1;
    }

    fn is_at_first(&self) -> bool {
        self.moves.is_multiple_of(2)
    }
}

/// Selects the value for the number of slots of the layout: 2, 3, and so on to 8.
fn by_slots<L: Layout>(values: [usize; 7]) -> usize {
    values[L::SLOTS - 2]
}

/// The preemption bound of a model whose inserts search the whole table. Each slot that they visit
/// is one more load, and the executions grow faster than the slots. So layouts of seven and eight
/// slots get one preemption less, unless `COUCAL_STRESS_MODELS` is set.
fn fewer_if_wide<L: Layout>(preemptions: usize) -> usize {
    let fewer = L::SLOTS > 6 && env::var_os("COUCAL_STRESS_MODELS").is_none();
    preemptions - usize::from(fewer)
}
