//! The models: they run the crate itself, in every order of events that loom explores.
//!
//! In the comments, an item (0, 3) is one whose lookups read bucket 0 first and bucket 3 second. In a table of 4
//! buckets the pairs are {0, 1}, {2, 3}, {0, 3} and {1, 2}.
//!
//! Each model is one test per layout that is modelled, for example `kicks::opposite_kicks::Fp16x4`.
#![cfg(coucal_model)]

/// Declares the models of a module: one test of each for the default layout. With the feature `some-layouts` also for
/// the layout with the most slots, the one with the fewest, and one with an encoding of its own; with `every-layout`
/// for all.
///
/// A model is a row: its items and its setup, what the threads do beside each other, the minimum number of executions,
/// and the bound of preemptions. `L` is the layout. Modes of the setup may follow. Steps of the main thread at the end
/// may follow the threads: then the threads are not recorded.
///
/// ```text
/// name: [x, y] = setup::<L>() => [insert(x), remove(y)] || [contains(x)], 120, 3;
/// another: [x] = setup::<L>() => [stamp(x)] || [advance()] => [contains(x)], 120, 3, by_every_schedule;
/// ```
///
/// Or a row is a function: `name` calls the function of this name, and `name = function::<L>(arguments);` another one.
macro_rules! models {
    ($($models:tt)*) => {
        of_layouts! {
            [Fp16x4] [Fp8x8 SemiSorted14x5 Fp32x2] [Fp9x7 Fp10x6 Fp12x5 SemiSorted17x4 Fp21x3]
            $($models)*
        }
    };
}

/// As `models`, for models of growth, in growing layouts; with `some-layouts` in two of them.
macro_rules! growing_models {
    ($($models:tt)*) => { of_layouts! { [Fp16x4] [Fp32x2] [Fp12x5 Fp21x3] $($models)* } };
}

/// As `models`, for models of maplets and of the stash: a packed layout has all that they show; one of the others has
/// an encoding of its own, and one has two slots.
macro_rules! models_of_three {
    ($($models:tt)*) => { of_layouts! { [Fp16x4] [SemiSorted14x5 Fp32x2] [] $($models)* } };
}

/// Makes tests of the default layout, of some others, and of all others.
macro_rules! of_layouts {
    (@tests $model:tt [$($layout:ident)*]) => {
        $(#[test]
        fn $layout() {
            type L = coucal::$layout;
            of_layouts!(@run $model);
        })*
    };
    (@run [$model:ident]) => { super::$model::<L>() };
    (@run [$model:ident = $call:expr]) => { $call };
    (@run [$model:ident: $items:pat = $setup:expr => $($steps:tt)||+ $(=> $end:tt)?, $floor:expr,
        $preemptions:expr $(, $mode:ident)*]) => {
        let (setup, $items) = $setup;
        let setup = setup$(.$mode())*$(.thread($steps))+$(.at_the_end($end))?;
        setup.check($floor, $preemptions);
    };
    ($default:tt $some:tt $every:tt $($model:ident
        $(= $call:expr;)?
        $(: $items:pat = $setup:expr => $($steps:tt)||+ $(=> $end:tt)?, $floor:expr,
            $preemptions:expr $(, $mode:ident)*;)?
    )*) => {
        $(#[allow(non_snake_case, reason = "named after the layouts")]
        mod $model {
            #[allow(unused_imports, reason = "a row may need some")]
            use super::*;

            of_layouts!(@each [$model $(= $call)? $(: $items = $setup => $($steps)||+ $(=> $end)?,
                $floor, $preemptions $(, $mode)*)?] $default $some $every);
        })*
    };
    (@each $model:tt $default:tt $some:tt $every:tt) => {
        of_layouts!(@tests $model $default);
        #[cfg(feature = "some-layouts")]
        of_layouts!(@tests $model $some);
        #[cfg(feature = "every-layout")]
        of_layouts!(@tests $model $every);
    };
}

/// Returns the bound of preemptions: with all layouts the next larger one, by which the model takes minutes.
const fn usually(bound: usize) -> usize {
    if cfg!(feature = "every-layout") { bound + 1 } else { bound }
}

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
mod one_stripe;
mod order;
mod quota;
mod races;
mod sets;
mod snapshots;
mod stash;
mod stopped;
mod timer;
mod unique;
mod voids;
mod widening;

use std::env;
use std::sync::Arc;

use coucal::probe::Maplet;
use coucal::{Growable, Layout};
use loom::thread;
use loom_tests::model::{Execution, Item, Setup, Subject, Thread, explore};

/// A setup, and items of it.
type With<M, const N: usize> = (Setup<M>, [Item; N]);
type Growing<L> = Setup<Growable<L>>;
type Maplets<L> = Setup<Maplet<L>>;

/// Adds items with these buckets to a setup.
fn items<M: Subject, const N: usize>(
    mut setup: Setup<M>,
    buckets: [(usize, usize); N],
) -> With<M, N> {
    let items = setup.items(buckets);
    (setup, items)
}

/// The same; `store` stores some of them.
fn with<M: Subject, const N: usize>(
    setup: Setup<M>,
    buckets: [(usize, usize); N],
    store: impl FnOnce(&mut Setup<M>, [Item; N]) -> &mut Setup<M>,
) -> With<M, N> {
    storing(items(setup, buckets), store)
}

/// The same, with this number of generations.
fn of_generations<M: Subject, const N: usize>(
    generations: u32,
    (setup, items): With<M, N>,
) -> With<M, N> {
    (setup.generations(generations), items)
}

/// Stores more of the items.
fn storing<M: Subject, const N: usize>(
    (mut setup, items): With<M, N>,
    store: impl FnOnce(&mut Setup<M>, [Item; N]) -> &mut Setup<M>,
) -> With<M, N> {
    store(&mut setup, items);
    (setup, items)
}

/// Adds other items; `add` returns those of the new setup.
fn adding<M: Subject, const N: usize, const K: usize>(
    (mut setup, items): With<M, N>,
    add: impl FnOnce(&mut Setup<M>, [Item; N]) -> [Item; K],
) -> With<M, K> {
    let items = add(&mut setup, items);
    (setup, items)
}

/// Four buckets: 0 and 1 are full, 2 and 3 are empty. An insert of `new` (0, 1) moves `moved` from 0 to 3. No other
/// item in 0 and 1 can be moved: all others there are `filler`.
///
/// `[moved, new, filler]`.
fn one_hop<M: Subject>(first: usize, second: usize) -> With<M, 3> {
    with(Setup::new(4), [(first, second), (0, 1), (0, 1)], |s, [moved, _, filler]| {
        s.store(0, &[moved]).fill(0, filler).fill(1, filler)
    })
}

/// Four buckets: 0, 1 and 3 are full, 2 is empty. An insert of `new` (0, 1) moves `far` from 3 to 2, then `near` from 0
/// to 3. No other path exists, whatever the order in which a layout stores the items of a bucket. All other items in 0
/// and 1 are `low`, and all others in 3 are `high`.
///
/// `[near, far, new, low, high]`.
fn two_hops<M: Subject>(near: (usize, usize), far: (usize, usize)) -> With<M, 5> {
    with(Setup::new(4), [near, far, (0, 1), (0, 1), (3, 0)], |s, [near, far, _, low, high]| {
        s.store(0, &[near]).fill(0, low).fill(1, low).store(3, &[far]).fill(3, high)
    })
}

/// Four buckets with one free slot, in 3. An insert of `new` (0, 1) moves `moved` from 0 to 3. When 3 is full and 0 has
/// a free slot, an insert of `back` (2, 3) moves it from 3 to 0. All items in 2 and 3 at the start are `high`.
///
/// `[moved, new, back, low, high]`.
fn last_slot<M: Subject>(first: usize, second: usize) -> With<M, 5> {
    last_slot_in(Setup::new(4), (first, second))
}

/// The same in another setup, in which `moved` has these buckets.
fn last_slot_in<M: Subject>(setup: Setup<M>, moved: (usize, usize)) -> With<M, 5> {
    with(setup, [moved, (0, 1), (2, 3), (0, 1), (2, 3)], |s, [moved, _, _, low, high]| {
        s.store(0, &[moved]).fill(0, low).fill(1, low);
        s.fill(2, high).fill_but_one(3, high)
    })
}

/// Two buckets, and an item (0, 1) with a copy in each bucket of `stored`.
fn one_item<M: Subject, const N: usize>(stored: [usize; N]) -> With<M, 1> {
    with(Setup::new(2), [(0, 1)], |s, [x]| {
        stored.into_iter().fold(s, |s, bucket| s.store(bucket, &[x]))
    })
}

/// A model of one thread, whose script runs all other operations between two of its steps: one execution.
fn scripted<M: Subject>(
    setup: Setup<M>,
    script: impl Fn(&mut Thread<M>) + Clone + Send + Sync + 'static,
) {
    setup.check_with(1, 2, move |model| model.thread(script.clone()));
}

/// A model without a filter: these threads share a value that is new in each execution. The last function runs at the
/// end.
fn together<S: Send + Sync + 'static, const N: usize>(
    floor: usize,
    preemptions: usize,
    new: fn() -> S,
    threads: [fn(&S); N],
    at_the_end: fn(&S),
) {
    let execution: Execution = Arc::new(move || {
        let shared = Arc::new(new());
        let handles = threads.map(|body| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || body(&shared))
        });
        for handle in handles {
            handle.join().expect("no thread panics");
        }
        at_the_end(&shared);
    });
    explore(floor, preemptions, &execution);
}

/// Moves an item there and back again, while a script runs: an insert of `new` moves it there, an insert of `back`
/// moves it back.
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

/// The preemption bound of a model whose inserts search the whole table. Each slot that they visit is one more load,
/// and the executions grow faster than the slots. So layouts of seven and eight slots get one preemption less, unless
/// `COUCAL_STRESS_MODELS` is set.
fn fewer_if_wide<L: Layout>(preemptions: usize) -> usize {
    let fewer = L::SLOTS > 6 && env::var_os("COUCAL_STRESS_MODELS").is_none();
    preemptions - usize::from(fewer)
}
