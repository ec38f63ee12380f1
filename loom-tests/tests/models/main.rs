//! The models: the crate itself, under every order of events that loom knows of.
//!
//! In the names of items and in the comments, an item (0, 3) is one whose lookups read bucket 0
//! first and bucket 3 second. In a table of 4 buckets the pairs are {0, 1}, {2, 3}, {0, 3}, {1, 2}.
//!
//! Each model is a test for each layout: `kicks::opposite_kicks::Fp16x4`, say.
#![cfg(loom)]

/// Names the models of a module: each is a test for every layout.
#[cfg(feature = "every-layout")]
macro_rules! models {
    ($($model:ident)*) => {
        $(coucal::__for_each_layout!(of_each_layout $model);)*
    };
}

#[cfg(not(feature = "every-layout"))]
macro_rules! models {
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

mod batches;
mod kicks;
mod lock;
mod races;
mod stopped;
mod unique;

use std::env;

use coucal::Layout;
use loom_tests::stage::{Cast, Item};

/// Four buckets, of which 0 and 1 are full. Nothing in them but `moved`, in 0, has anywhere else
/// to go: to bucket 3, which is empty, as is 2. An insert of `new` moves it there.
struct OneHop<L> {
    cast: Cast<L>,
    moved: Item,
    new: Item,
    /// All else in 0 and 1.
    filler: Item,
}

impl<L: Layout> OneHop<L> {
    fn new(first: usize, second: usize) -> Self {
        let mut cast = Cast::new(4);
        let moved = cast.item(first, second);
        let new = cast.item(0, 1);
        let filler = cast.item(0, 1);
        cast.store(0, &[moved]).fill(0, filler).fill(1, filler);
        Self { cast, moved, new, filler }
    }
}

/// Four buckets, of which 0, 1 and 3 are full. An insert of `new` moves `far` from 3 to 2, which is
/// empty, then `near` from 0 to 3. That is the only way, whichever slot a layout looks at first.
struct TwoHops<L> {
    cast: Cast<L>,
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
        let mut cast = Cast::new(4);
        let near = cast.item(near.0, near.1);
        let far = cast.item(far.0, far.1);
        let new = cast.item(0, 1);
        let low = cast.item(0, 1);
        let high = cast.item(3, 0);
        cast.store(0, &[near]).fill(0, low).fill(1, low);
        cast.store(3, &[far]).fill(3, high);
        Self { cast, near, far, new, low, high }
    }
}

/// Four buckets with one free slot, in 3. An insert of `new` (0, 1) moves `moved` from 0 to 3; when
/// there is a free slot in 0 and none in 3, one of `back` (2, 3) moves it from 3 to 0.
struct LastSlot<L> {
    cast: Cast<L>,
    moved: Item,
    new: Item,
    back: Item,
    /// All there is in 2 and 3.
    high: Item,
}

impl<L: Layout> LastSlot<L> {
    fn new(first: usize, second: usize) -> Self {
        let mut cast = Cast::new(4);
        let moved = cast.item(first, second);
        let new = cast.item(0, 1);
        let back = cast.item(2, 3);
        let low = cast.item(0, 1);
        let high = cast.item(2, 3);
        cast.store(0, &[moved]).fill(0, low).fill(1, low);
        cast.fill(2, high).fill_but_one(3, high);
        Self { cast, moved, new, back, high }
    }
}

/// Of these values the one for layouts of so many slots: of 2, of 3, and so on to 8.
fn by_slots<L: Layout>(values: [usize; 7]) -> usize {
    values[L::SLOTS - 2]
}

/// Preemptions of a model whose inserts search the whole table. Each slot on their way is one more
/// load, and the executions grow faster than the slots: layouts of seven and eight are allowed one
/// preemption less, unless `COUCAL_STRESS_MODELS` is set.
fn fewer_if_wide<L: Layout>(preemptions: usize) -> usize {
    let fewer = L::SLOTS > 6 && env::var_os("COUCAL_STRESS_MODELS").is_none();
    preemptions - usize::from(fewer)
}
