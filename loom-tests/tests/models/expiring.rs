//! Tables of generations: inserts that give stamps, beside what moves and removes entries.
//!
//! Nothing is recorded: the models assert what they are about. In the comments, x is an item, and x1 is x with the
//! stamp 1. The generation with the stamp 0 is present at first: of N generations, N - 1 is the stamp of the one before
//! it, and 1 that of the oldest, which goes first. What a model says nothing of has the stamp 3.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::probe::{self, Maplet, Step, Subject};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::{Item, Setup};

use crate::expiry::{goes_back, one_kick};

models_of_three! {
    kick_beside_an_advance
    stamp_of_what_is_swept
    stamp_of_what_is_kicked_against_lookup
    two_stamps_of_a_new_item = two_inserts_of_a_new_item::<L>([true, true]);
    two_stamps_of_an_old_item
    stamp_and_kick_beside_the_end_of_a_sweep
    stamp_beside_two_advances
    stamp_overtaken_by_a_whole_window
    stamp_in_the_stash_against_lookup
    stamp_of_what_is_swept_from_the_stash
    stamp_without_room_beside_an_advance
    stamp_if_absent_beside_an_advance
    stamp_and_stamp_if_absent_of_a_new_item = two_inserts_of_a_new_item::<L>([true, false]);
    age_beside_an_advance
    two_that_advance
    two_that_make_room
    snapshot_beside_an_advance
}

growing_models! {
    stamp_of_what_goes
    split_beside_an_advance
}

/// Two buckets; x is in bucket 0, with this stamp.
pub fn one_old<M: Subject>(stamp: u32) -> (Setup<M>, Item) {
    let mut setup = Setup::new(2);
    let x = setup.item(0, 1);
    let stamped = setup.with_value(x, stamp);
    setup.store(0, &[stamped]);
    (setup, x)
}

/// A stamp beside the sweep of the generation that the item had: it is there afterwards, once.
fn stamp_of_what_is_swept<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(1);
    setup.generations(2).by_every_schedule().check_asserted(7600, 3, move |model| {
        model.thread(|t| _ = t.advance());
        model.thread(move |t| {
            t.stamp(x);
            assert!(t.is_remembered(x), "it is removed within its window");
        });
        move |t| {
            assert_eq!((t.generation(), t.stamps(x).len(), t.entries()), (1, 1, 1));
            assert!(t.age(x) <= Some(1));
        }
    });
}

/// What a kick drops is counted by the advance whose sweep sees that it is gone. (`remove_value` waits for late ones.)
fn kick_beside_an_advance<L: Layout>() {
    let (setup, [_, new]) = one_kick::<L>(0, 1, 3);
    setup.generations(4).by_every_schedule().check_asserted(800, 3, move |model| {
        model.thread(move |t| t.add(new));
        model.thread(move |t| assert_eq!(t.advance(), 1));
        move |t| assert_eq!(t.entries(), 2 * L::SLOTS)
    });
}

/// A lookup finds it all the time.
fn stamp_of_what_is_kicked_against_lookup<L: Layout>() {
    let (setup, [x1, new]) = one_kick::<L>(0, 1, 3);
    setup.generations(4).check_asserted(65_000, 2, move |model| {
        model.thread(move |t| assert!(!t.stamp(x1)));
        model.thread(move |t| t.add(new));
        model.thread(move |t| assert!(t.is_remembered(x1)));
        move |t| assert_eq!((t.stamps(x1), t.entries()), (vec![0], 2 * L::SLOTS + 1))
    });
}

/// One of two gets `true`, and there is one entry.
fn two_inserts_of_a_new_item<L: Layout>(is_always: [bool; 2]) {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    setup.generations(2).by_every_schedule().check_asserted(120, 3, move |model| {
        let new = Arc::new(AtomicUsize::new(0));
        for (item, is_always) in [x, x.swapped()].into_iter().zip(is_always) {
            let new = Arc::clone(&new);
            model.thread(move |t| {
                let is_new = if is_always { t.stamp(item) } else { t.stamp_if_absent(item) };
                new.fetch_add(is_new.into(), Ordering::Relaxed);
            });
        }
        move |t| assert_eq!((new.load(Ordering::Relaxed), t.stamps(x)), (1, vec![0]))
    });
}

/// Neither is told that it is new, and there is one entry.
fn two_stamps_of_an_old_item<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    setup.store(0, &[x]);
    setup.generations(4).by_every_schedule().check_asserted(380, 3, move |model| {
        for item in [x, x.swapped()] {
            model.thread(move |t| assert!(!t.stamp(item)));
        }
        move |t| assert_eq!((t.stamps(x), t.entries()), (vec![0], 1))
    });
}

/// What has the stamp of the generation that has just begun is not dropped by a kick that takes it for the stamp that
/// leaves.
fn stamp_and_kick_beside_the_end_of_a_sweep<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let x = setup.item(0, 3);
    let [filler, new] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
    let high = setup.item(2, 3);
    // So that x comes into bucket 0, and can be kicked from there.
    setup.fill_but_one(0, filler).fill(1, filler).fill(3, high);
    setup.generations(2).check_asserted(340, 2, move |model| {
        model.thread(|t| _ = t.advance());
        model.thread(move |t| {
            assert!(t.stamp(x));
            t.take(high);
            t.add(new);
            assert!(t.is_remembered(x), "it was dropped");
        });
        move |t| assert!(t.is_remembered(x))
    });
}

/// What is stored after two advances has not the stamp of before the first one.
fn stamp_beside_two_advances<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    setup.generations(3).check_asserted(1600, 3, move |model| {
        let late = Arc::new(AtomicBool::new(false));
        let is_late = Arc::clone(&late);
        model.thread(move |t| assert!(t.stamp(x)));
        model.thread(move |t| {
            t.advance();
            t.advance();
            late.store(!t.is_remembered(x), Ordering::SeqCst);
        });
        move |t| {
            assert_eq!((t.generation(), t.entries()), (2, 1));
            let oldest = if is_late.load(Ordering::SeqCst) { 1 } else { 2 };
            assert!(t.age(x) <= Some(oldest), "{:?}", t.age(x));
        }
    });
}

/// A whole window passes after each load of an insert that finds the present stamp. It takes effect where it reads the
/// clock for the last time, or later under the stripe: the item has the stamp of the generation that is present then.
/// What passes behind the last load passes when the insert has taken effect.
fn stamp_overtaken_by_a_whole_window<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(0);
    setup.generations(2).check_asserted(1, 1, move |model| {
        model.thread(move |t| {
            // The clock, two words, the clock.
            const LOADS: usize = 4;
            for after in 1..=LOADS {
                t.stamp(x);
                let mut other = t.unrecorded();
                let (mut loads, mut passed) = (0, false);
                probe::after_each_step(move |step| {
                    loads += usize::from(step == Step::Load);
                    if loads == after && !passed {
                        passed = true;
                        other.advance();
                        other.advance();
                    }
                });
                let is_new = t.stamp(x);
                probe::after_each_step(|_| {});
                let is_gone = after == LOADS;
                assert_eq!(t.age(x), (!is_gone).then_some(0), "after {after} loads");
                assert!(!is_gone || !is_new, "it was there");
            }
        });
        move |t| assert_eq!(t.entries(), 0)
    });
}

/// A lookup finds it all the time.
fn stamp_in_the_stash_against_lookup<L: Layout>() {
    let (setup, [x1, _]) = goes_back::<L>();
    setup.generations(4).check_asserted(8000, 3, move |model| {
        model.thread(move |t| assert!(!t.stamp(x1)));
        model.thread(move |t| assert!(t.is_remembered(x1)));
        move |t| assert_eq!((t.stamps(x1), t.entries()), (vec![0], 2 * L::SLOTS + 1))
    });
}

/// As `stamp_of_what_is_swept`, in the stash.
fn stamp_of_what_is_swept_from_the_stash<L: Layout>() {
    let (setup, [x1, _]) = goes_back::<L>();
    setup.generations(4).check_asserted(2400, 2, move |model| {
        model.thread(|t| _ = t.advance());
        model.thread(move |t| {
            t.stamp(x1);
            assert!(t.is_remembered(x1), "it is removed within its window");
        });
        move |t| {
            assert_eq!((t.stamps(x1).len(), t.entries()), (1, 2 * L::SLOTS + 1));
            assert!(t.age(x1) <= Some(1));
        }
    });
}

/// A new item for which its buckets have no room is stashed, with the stamp of the generation that is present when it
/// is.
fn stamp_without_room_beside_an_advance<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(4);
    let low = setup.item(0, 1);
    let x = setup.item_of_group(0, 1, low);
    setup.fill(0, low).fill(1, low);
    // The fillers have the stamp of the generation before the present one.
    setup.generations(4).check_asserted(330, 2, move |model| {
        model.thread(|t| _ = t.advance());
        model.thread(move |t| {
            // So that no stamp at all is another one.
            t.advance();
            assert!(t.stamp(x));
            assert!(t.is_remembered(x));
        });
        move |t| {
            assert_eq!((t.stashed(), t.entries()), (1, 2 * L::SLOTS + 1));
            assert!(t.age(x) <= Some(1), "{:?}", t.age(x));
        }
    });
}

/// It is there with its old stamp, or it is gone and stored anew: never lost, and never twice.
fn stamp_if_absent_beside_an_advance<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(1);
    setup.generations(2).by_every_schedule().check_asserted(120, 3, move |model| {
        let new = Arc::new(AtomicBool::new(false));
        let is_new = Arc::clone(&new);
        model.thread(move |t| assert_eq!(t.advance(), 1));
        model.thread(move |t| new.store(t.stamp_if_absent(x), Ordering::Relaxed));
        move |t| {
            let is_new = is_new.load(Ordering::Relaxed);
            assert_eq!(t.entries(), usize::from(is_new));
            assert_eq!(t.age(x).is_some(), is_new);
        }
    });
}

/// The item is never older than one generation.
fn age_beside_an_advance<L: Layout>() {
    let (setup, x) = one_old::<Maplet<L>>(0);
    setup.generations(3).by_every_schedule().check_asserted(310, 3, move |model| {
        model.thread(move |t| {
            t.advance();
            assert!(!t.stamp(x));
        });
        model.thread(move |t| {
            let age = t.age(x).expect("it is there all the time");
            assert!(age <= 1, "{age}");
        });
        move |t| assert_eq!(t.age(x), Some(0))
    });
}

/// One after the other: no generation is passed over, and none is removed early.
fn two_that_advance<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    let [x0, x1, x2] = [0, 1, 2].map(|value| setup.with_value(x, value));
    setup.store(0, &[x0, x2]).store(1, &[x1]);
    setup.generations(3).by_every_schedule().check_asserted(24, 2, move |model| {
        for _ in 0..2 {
            model.thread(move |t| assert_eq!(t.advance(), 1));
        }
        move |t| assert_eq!((t.generation(), t.stamps(x)), (2, vec![0]))
    });
}

/// Two that have found the table full in the same generation: one of them ends it.
fn two_that_make_room<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    let [x1, x2] = [1, 2].map(|value| setup.with_value(x, value));
    setup.store(0, &[x1, x2]);
    setup.generations(4).check_asserted(20, 2, move |model| {
        let made = Arc::new(AtomicUsize::new(0));
        for _ in 0..2 {
            let made = Arc::clone(&made);
            model.thread(move |t| {
                made.fetch_add(t.advance_from_first().into(), Ordering::Relaxed);
                assert_eq!(t.generation(), 1);
            });
        }
        move |t| assert_eq!((made.load(Ordering::Relaxed), t.stamps(x)), (1, vec![2]))
    });
}

/// The image is that of one generation, with all that it remembers and nothing else.
fn snapshot_beside_an_advance<L: Layout>() {
    let mut setup = Setup::<Maplet<L>>::new(2);
    let x = setup.item(0, 1);
    let [x0, x1, x2] = [0, 1, 2].map(|value| setup.with_value(x, value));
    setup.store(0, &[x0, x1]).store(1, &[x2]);
    setup.generations(3).check_asserted(36, 1, move |model| {
        model.thread(move |t| assert_eq!(t.advance(), 1));
        model.thread(move |t| {
            let image = t.image();
            assert!([(0, 3), (1, 2)].contains(&image), "{image:?}");
        });
        move |t| assert_eq!(t.image(), (1, 2))
    });
}

/// Two buckets at first, of which the first one is split next. x1 is there, and goes; y stays.
fn one_split<L: GrowingLayout + Layout>() -> (Setup<Maplet<Growable<L>>>, Item, Item) {
    let mut setup = Setup::growable(2, 4);
    let [x, y] = [(2, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    let x1 = setup.with_value(x, 1);
    setup.store(0, &[x1, y]);
    (setup, x1, y)
}

/// A split beside a stamp of what goes.
fn stamp_of_what_goes<L: GrowingLayout + Layout>() {
    let (setup, x1, _) = one_split::<L>();
    setup.generations(4).check_asserted(39_000, 1, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(move |t| {
            assert!(!t.stamp(x1));
            assert!(t.is_remembered(x1));
        });
        model.thread(move |t| assert!(t.is_remembered(x1)));
        move |t| assert_eq!((t.stamps(x1), t.entries()), (vec![0], 2))
    });
}

/// A split, and a stamp, beside the sweep of the generation that the item had.
fn split_beside_an_advance<L: GrowingLayout + Layout>() {
    let (setup, x1, y) = one_split::<L>();
    setup.generations(4).check_asserted(230_000, 1, move |model| {
        model.thread(move |t| assert_eq!(t.split(1), 1));
        model.thread(|t| _ = t.advance());
        model.thread(move |t| {
            t.stamp(x1);
            assert!(t.is_remembered(x1), "it is removed within its window");
        });
        move |t| {
            assert_eq!((t.stamps(x1).len(), t.stamps(y), t.entries()), (1, vec![3], 2));
        }
    });
}
