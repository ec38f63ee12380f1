//! The models: they run the crate itself, in every order of events that loom explores.
//!
//! In the comments, an item (0, 3) is one whose lookups read bucket 0 first and bucket 3 second. In
//! a table of 4 buckets the pairs are {0, 1}, {2, 3}, {0, 3} and {1, 2}.
//!
//! Each model is one test per layout that is modelled, for example `kicks::opposite_kicks::Fp16x4`.
#![cfg(coucal_model)]

/// Declares the models of a module: one test of each model for every layout. Usually not for every one, but for the
/// default layout, the one with the most slots, the one with the fewest, and one with an encoding of its own.
#[cfg(feature = "every-layout")]
macro_rules! models {
    ($($model:ident)*) => {
        $(coucal::__for_each_layout!(of_each_layout $model);)*
    };
}

#[cfg(all(feature = "some-layouts", not(feature = "every-layout")))]
macro_rules! models {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp8x8 Fp16x4 SemiSorted14x5 Fp32x2);)*
    };
}

#[cfg(not(feature = "some-layouts"))]
macro_rules! models {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp16x4);)*
    };
}

/// The same of models of growth, for every layout that grows. Usually for two of them.
#[cfg(feature = "every-layout")]
macro_rules! growing_models {
    ($($model:ident)*) => {
        $(coucal::__for_each_layout!(that grows: of_each_layout $model);)*
    };
}

#[cfg(all(feature = "some-layouts", not(feature = "every-layout")))]
macro_rules! growing_models {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp16x4 Fp32x2);)*
    };
}

#[cfg(not(feature = "some-layouts"))]
macro_rules! growing_models {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp16x4);)*
    };
}

/// The same of models of maplets and of the stash: a packed layout has all that they show, one of the others has an
/// encoding of its own, and one has two slots.
#[cfg(feature = "some-layouts")]
macro_rules! models_of_three {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp16x4 SemiSorted14x5 Fp32x2);)*
    };
}

#[cfg(not(feature = "some-layouts"))]
macro_rules! models_of_three {
    ($($model:ident)*) => {
        $(of_each_layout!($model Fp16x4);)*
    };
}

macro_rules! of_each_layout {
    ($model:ident $($layout:ident)*) => {
        mod $model {
            $(#[test]
            #[allow(non_snake_case)]
            fn $layout() {
                super::$model::<coucal::$layout>();
            }
            )*
        }
    };
}

mod array;
mod batches;
mod costs;
mod entries;
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
mod unique;
mod voids;

use std::env;

use coucal::Layout;
use loom_tests::model::{Item, Setup, Subject};

/// Four buckets: 0 and 1 are full, 2 and 3 are empty. An insert of `new` (0, 1) moves `moved` from 0
/// to 3. No other item in 0 and 1 can be moved.
struct OneHop<M> {
    setup: Setup<M>,
    moved: Item,
    new: Item,
    /// All else in 0 and 1.
    filler: Item,
}

impl<M: Subject> OneHop<M> {
    fn new(first: usize, second: usize) -> Self {
        let mut setup = Setup::new(4);
        let moved = setup.item(first, second);
        let new = setup.item(0, 1);
        let filler = setup.item(0, 1);
        setup.store(0, &[moved]).fill(0, filler).fill(1, filler);
        Self { setup, moved, new, filler }
    }
}

/// Four buckets: 0, 1 and 3 are full, 2 is empty. An insert of `new` (0, 1) moves `far` from 3 to 2,
/// then `near` from 0 to 3. No other path exists, whatever the order in which a layout stores the
/// items of a bucket.
struct TwoHops<L> {
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
        let near = setup.item(near.0, near.1);
        let far = setup.item(far.0, far.1);
        let new = setup.item(0, 1);
        let low = setup.item(0, 1);
        let high = setup.item(3, 0);
        setup.store(0, &[near]).fill(0, low).fill(1, low);
        setup.store(3, &[far]).fill(3, high);
        Self { setup, near, far, new, low, high }
    }
}

/// Four buckets with one free slot, in 3. An insert of `new` (0, 1) moves `moved` from 0 to 3. When 3
/// is full and 0 has a free slot, an insert of `back` (2, 3) moves it from 3 to 0.
struct LastSlot<M> {
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
        let moved = setup.item(first, second);
        let new = setup.item(0, 1);
        let back = setup.item(2, 3);
        let low = setup.item(0, 1);
        let high = setup.item(2, 3);
        setup.store(0, &[moved]).fill(0, low).fill(1, low);
        setup.fill(2, high).fill_but_one(3, high);
        Self { setup, moved, new, back, high }
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
