//! Tables of generations: inserts that give stamps, beside operations that move and remove entries.
//!
//! The operations are recorded, and checked by age: which insert is new, and how old items are. Where inserts that give
//! no stamps move entries, nothing is recorded: these models assert what they are about.
//!
//! In the comments, x is an item, and x1 is x with the stamp 1. The generation with the stamp 0 is present at first.
//! With N generations, N - 1 is the stamp of the generation before, and 1 that of the oldest, which is forgotten first.
//! Entries that a model does not mention have the stamp 3.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::probe::{self, Maplet, Step};
use coucal::{Growable, GrowingLayout, Layout};
use loom_tests::model::*;

use crate::entries::entry_of_the_next_level;
use crate::expiry::{goes_back, one_kick};
use crate::stopped::{Gate, stop_at};
use crate::{Maplets, With, adding, items, of_generations};

models_of_three! {
    // At most one of the inserts is new.
    two_inserts_of_what_is_swept: [x] = one_old::<L>(2, 1)
        => [maybe(stamp(x))] || [maybe(stamp(x.swapped()))] || [advance()], 115_000, 1, by_age;
    // An item that is missing was forgotten, and then comes back.
    insert_of_what_is_swept_against_lookups: [x] = one_old::<L>(2, 1)
        => [maybe(stamp(x)), age(x)]
        || [maybe(contains(x.swapped())), maybe(contains(x))]
        || [advance()], 32_000, 1, by_age;
    // The item is there afterwards.
    stamp_of_what_is_swept: [x] = one_old::<L>(2, 1)
        => [advance()] || [maybe(stamp(x)), contains(x)], 7600, 3, by_age, by_every_schedule;
    // The item is there with its old stamp, or it is removed and stored anew: it is never lost.
    stamp_if_absent_beside_an_advance: [x] = one_old::<L>(2, 1)
        => [does(|t| t.advance() == 1)] || [maybe(stamp_if_absent(x))],
        120, 3, by_age, by_every_schedule;
    two_stamps_of_an_old_item: [x] = one_old::<L>(4, 3)
        => [!stamp(x)] || [!stamp(x.swapped())], 380, 3, by_age, by_every_schedule;
    two_stamps_of_a_new_item: [x] = none::<L>(2)
        => [maybe(stamp(x))] || [maybe(stamp(x.swapped()))], 120, 3, by_age, by_every_schedule;
    stamp_and_stamp_if_absent_of_a_new_item: [x] = none::<L>(2)
        => [maybe(stamp(x))] || [maybe(stamp_if_absent(x.swapped()))],
        120, 3, by_age, by_every_schedule;
    // The insert may take effect in the generation that an `advance` has begun, with the stamp of the generation
    // before: the lookup finds nothing, and the item is as old as if it had been there. But if a lookup after the
    // second `advance` misses the item, its stamp is not that of before the first `advance`.
    insert_beside_two_advances: [x] = none::<L>(3)
        => [stamp(x)]
        || [advance(), maybe(contains(x)), advance(), maybe(contains(x))], 2200, 3, by_age;
    two_inserts_beside_an_advance: [x] = none::<L>(3)
        => [maybe(stamp(x))] || [maybe(stamp_if_absent(x.swapped())), age(x)] || [advance()],
        16_000, 2, by_age;
    // The item is never older than one generation.
    age_beside_an_advance: [x] = one_old::<L>(3, 0)
        => [advance(), !stamp(x)] || [age(x)], 310, 3, by_age, by_every_schedule;
    // An entry that the thread of the kick sweeps is counted by the `advance`.
    kick_beside_an_advance: [_, new] = of_generations(4, one_kick::<L>(0, 1, 3))
        => [insert(new)]
        || [does(|t| t.advance() == 1)]
        => [does(|t| t.entries() == 2 * L::SLOTS)], 800, 3, by_every_schedule;
    stamp_of_what_is_kicked_against_lookup:
        [x1, new] = of_generations(4, one_kick::<L>(0, 1, 3))
        => [!stamp(x1)]
        || [insert(new)]
        || [contains(x1)]
        => [has_stamps(x1, &[0], 2 * L::SLOTS + 1)], 65_000, 2;
    // The stamp of an entry is that of the generation that has just begun. The thread of a kick must not take it for
    // the stamp that is being removed, and remove the entry.
    stamp_and_kick_beside_the_end_of_a_sweep: [x, new, high] = of_generations(2, adding(
        items(Maplets::<L>::new(4), [(0, 3), (0, 1), (0, 1), (2, 3)]), |s, [x, filler, new, high]| {
            // So that x comes into bucket 0, and can be kicked from there.
            s.fill_but_one(0, filler).fill(1, filler).fill(3, high);
            [x, new, high]
        },
    )) => [advance()]
        || [stamp(x), remove(high), insert(new), contains(x)]
        => [contains(x)], 340, 2;
    stamp_in_the_stash_against_lookup: [x1, _] = of_generations(4, goes_back::<L>())
        => [!stamp(x1)]
        || [contains(x1)]
        => [has_stamps(x1, &[0], 2 * L::SLOTS + 1)], 2000, 3;
    stamp_of_what_is_swept_from_the_stash: [x1, _] = of_generations(4, goes_back::<L>())
        => [advance()]
        || [maybe(stamp(x1)), contains(x1)]
        => [is_young(x1, 2 * L::SLOTS + 1)], 2400, 2;
    // A bucket has room: the entry goes there with its new stamp.
    stamp_goes_back_against_lookup: [x1] = of_generations(4, may_go_back::<L>())
        => [!stamp(x1)]
        || [contains(x1), contains(x1)]
        => [has_stamps(x1, &[0], 2 * L::SLOTS), does(|t| t.stashed() == 0)], 1000, 3;
    stamp_goes_back_beside_a_sweep: [x1] = of_generations(4, may_go_back::<L>())
        => [advance()]
        || [maybe(stamp(x1)), contains(x1)]
        => [is_young(x1, 2 * L::SLOTS), does(|t| t.stashed() == 0)], 1000, 2;
    // A new item whose buckets are full is stashed, with the stamp of the generation that is present then. The fillers
    // have the stamp of the generation before. The second thread ends one, too, so that an entry without a stamp would
    // look different.
    stamp_without_room_beside_an_advance: [x] = of_generations(4, adding(
        items(Maplets::<L>::new(4), [(0, 1)]), |s, [low]| {
            s.fill(0, low).fill(1, low);
            [s.item_of_group(0, 1, low)]
        },
    )) => [advance()]
        || [advance(), stamp(x), contains(x)]
        => [does(|t| t.stashed() == 1), is_young(x, 2 * L::SLOTS + 1)], 330, 2;
    // One after the other: no generation is passed over, and none is removed early.
    two_that_advance: [x] = stamped::<L, 3>(3, [(0, 0), (1, 1), (2, 0)])
        => [does(|t| t.advance() == 1)]
        || [does(|t| t.advance() == 1)]
        => [has_stamps(x, &[0], 1), does(|t| t.image() == (2, 1))], 24, 2, by_every_schedule;
    // The image is that of one generation, with all that it remembers and nothing else.
    snapshot_beside_an_advance: [_] = stamped::<L, 3>(3, [(0, 0), (1, 0), (2, 1)])
        => [does(|t| t.advance() == 1)]
        || [does(|t| [(0, 3), (1, 2)].contains(&t.image()))]
        => [does(|t| t.image() == (1, 2))], 36, 1;
    // An image with the later one of two stamps has the first, too: in a bucket that is copied first, and in the last
    // one.
    stamps_beside_a_snapshot: [x, x0, y, y0] = of_generations(4, adding(
        items(Maplets::<L>::new(4), [(0, 3), (3, 0)]), |s, [x, y]| {
            s.store(0, &[x]).store(3, &[y]);
            [x, s.with_value(x, 0), y, s.with_value(y, 0)]
        },
    )) => [!stamp(x), !stamp(y)]
        || [does(move |t| {
            let counts = t.snapshot();
            counts.of(y0) <= counts.of(x0)
        })]
        => [has_stamps(x, &[0], 2), has_stamps(y, &[0], 2)], 4200, 3;
    // A whole window ends at once: an item that is stored meanwhile is forgotten with it, or has the new stamp.
    stamp_beside_the_end_of_a_whole_window: [x] = none::<L>(3)
        => [does(|t| t.advance_by(5) <= 1)]
        || [stamp(x)]
        => [does(move |t| [None, Some(0)].contains(&t.age(x)))], 360, 3;
    stamp_overtaken_by_a_whole_window
    stamp_in_the_stash_overtaken_by_a_whole_window
    stamp_without_room_beside_two_advances
    two_that_make_room
}

growing_models! {
    // Two buckets at first, of which the first one is split next. x1 is there, and goes; the other item stays.
    stamp_of_what_goes: [x] = one_split::<L>()
        => [split(1)] || [!stamp(x), contains(x)] || [contains(x)], 39_000, 1, by_age;
    // An entry of the next level, read by the level before, would look like one of an item that is not there: that one
    // would get the stamp, and the item would not.
    stamp_beside_an_entry_of_the_next_level: [absent, new] = entry_of_the_next_level(
        Maplets::<Growable<L>>::growable(2, 4).split(1).generations(4),
    ) => [split(1), stamp(new)] || [stamp(absent)], 4100, 3, by_age;
    // Beside the sweep of the generation of the item.
    split_beside_an_advance: [x] = one_split::<L>()
        => [split(1)] || [advance()] || [maybe(stamp(x)), contains(x)], 230_000, 1, by_age;
}

/// Two buckets, and an item that is not there.
fn none<L: Layout>(generations: u32) -> With<Maplet<L>, 1> {
    of_generations(generations, items(Setup::new(2), [(0, 1)]))
}

/// The same with entries of the item that have these stamps and buckets.
fn stamped<L: Layout, const N: usize>(
    generations: u32,
    entries: [(u32, usize); N],
) -> With<Maplet<L>, 1> {
    adding(none(generations), |s, [x]| {
        for (stamp, bucket) in entries {
            let stamped = s.with_value(x, stamp);
            s.store(bucket, &[stamped]);
        }
        [x]
    })
}

/// The same with one entry in bucket 0.
fn one_old<L: Layout>(generations: u32, stamp: u32) -> With<Maplet<L>, 1> {
    stamped(generations, [(stamp, 0)])
}

fn one_split<L: GrowingLayout + Layout>() -> With<Maplet<Growable<L>>, 1> {
    let setup = Maplets::<Growable<L>>::growable(2, 4).generations(4);
    adding(items(setup, [(2, 1), (0, 1)]), |s, [x, y]| {
        let x1 = s.with_value(x, 1);
        s.store(0, &[x1, y]);
        [x]
    })
}

/// Checks that the item has these stamps, and that there are `entries` entries.
fn has_stamps<M: IntoStorage>(
    item: Item,
    stamps: &'static [u32],
    entries: usize,
) -> loom_tests::model::Step<Maplet<M>> {
    does(move |t| t.stamps(item) == stamps && t.entries() == entries)
}

/// x1 is stashed, and one slot of its buckets is free.
fn may_go_back<L: Layout>() -> With<Maplet<L>, 1> {
    adding(items(Maplets::<L>::new(4), [(0, 1); 2]), |s, [x, low]| {
        let x1 = s.with_value(x, 1);
        s.fill_but_one(0, low).fill(1, low).stash(&[x1]);
        [x1]
    })
}

/// Checks that the item has one entry, which is not older than one generation, and that there are `entries` entries.
fn is_young<M: IntoStorage>(item: Item, entries: usize) -> loom_tests::model::Step<Maplet<M>> {
    does(move |t| {
        t.stamps(item).len() == 1 && t.entries() == entries && matches!(t.age(item), Some(0..=1))
    })
}

/// A whole window passes after each load of an insert that finds the present stamp. The insert takes effect where it
/// reads the clock for the last time, or later under the stripe: the item has the stamp of the generation that is
/// present then. If the window passes after the last load, the insert has taken effect before.
fn stamp_overtaken_by_a_whole_window<L: Layout>() {
    let (setup, [x]) = one_old::<L>(2, 0);
    setup.check_asserted(1, 1, move |model| {
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

/// Two generations end, of two, while an item is stashed: it is not younger later than after its insert. The first
/// `advance` stops before it sets the clock; then the insert stops at each of its steps, from its first lock on, until
/// the second `advance` waits for its stripes.
fn stamp_without_room_beside_two_advances<L: Layout>() {
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&steps);
    let (setup, _) = full_of_the_present_generation::<L>();
    setup.check_asserted(1, 0, move |_| {
        let counter = Arc::clone(&counter);
        move |t: &mut Thread<Maplet<L>>| {
            counter.store(0, Ordering::Relaxed);
            probe::after_each_step(move |_| _ = counter.fetch_add(1, Ordering::Relaxed));
            t.advance();
            probe::after_each_step(|_| ());
        }
    });
    let before_the_clock = steps.load(Ordering::Relaxed) - 1;
    let stops = (1..100).take_while(|&stop| stashed_around::<L>(before_the_clock, stop)).count();
    assert!(stops > 15, "{stops} steps of an insert into the stash");
}

/// Runs the model in which the insert stops at step `stop`. Returns whether it has such a step.
fn stashed_around<L: Layout>(before_the_clock: usize, stop: usize) -> bool {
    let reached = Arc::new(AtomicBool::new(false));
    let stop_reached = Arc::clone(&reached);
    let (setup, [x]) = full_of_the_present_generation::<L>();
    setup.check_asserted(1, 0, move |model| {
        let [started, stopped, resumed] = [(); 3].map(|()| Gate::new());
        let [start, is_stopped, resume] = [&started, &stopped, &resumed].map(Arc::clone);
        let reached = Arc::clone(&stop_reached);
        // An atomic of the standard library: it is no step of the model.
        let young = Arc::new(AtomicBool::new(false));
        let was_young = Arc::clone(&young);
        model.thread(move |t| {
            started.wait();
            let mut has_locked = false;
            let counts = move |step| {
                has_locked |= step == Step::Lock;
                has_locked
            };
            stop_at(stop, counts, &reached, [&stopped, &resumed]);
            assert!(t.stamp(x));
            probe::after_each_step(|_| ());
            stopped.open();
            young.store(t.age(x) == Some(0), Ordering::Relaxed);
        });
        model.thread(move |t| {
            let mut steps = 0;
            probe::after_each_step(move |_| {
                steps += 1;
                if steps == before_the_clock {
                    start.open();
                    is_stopped.wait();
                    resume.open();
                }
            });
            t.advance();
            t.advance();
        });
        move |t: &mut Thread<Maplet<L>>| {
            let is_young = t.age(x) == Some(0);
            assert!(!is_young || was_young.load(Ordering::Relaxed), "an insert became younger");
        }
    });
    reached.load(Ordering::Relaxed)
}

/// Two generations, and an item whose buckets are full of entries of the present generation.
fn full_of_the_present_generation<L: Layout>() -> With<Maplet<L>, 1> {
    of_generations(
        2,
        adding(items(Setup::new(4), [(0, 1)]), |s, [low]| {
            let low0 = s.with_value(low, 0);
            s.fill(0, low0).fill(1, low0);
            [s.item_of_group(0, 1, low)]
        }),
    )
}

/// The same where the item is stashed, and the insert takes the slow path.
fn stamp_in_the_stash_overtaken_by_a_whole_window<L: Layout>() {
    // Until a window passes after the last of all loads.
    for after in 1.. {
        let (setup, [x, _]) = of_generations(4, goes_back::<L>());
        let loads = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&loads);
        setup.check_asserted(1, 1, move |model| {
            let loads = Arc::clone(&counted);
            model.thread(move |t| {
                assert!(!t.stamp(x));
                let of_age = {
                    let of_age = Arc::new(AtomicUsize::new(0));
                    let count = Arc::clone(&of_age);
                    probe::after_each_step(move |step| {
                        count.fetch_add((step == Step::Load).into(), Ordering::Relaxed);
                    });
                    assert_eq!((t.age(x), t.stashed()), (Some(0), 1));
                    of_age.load(Ordering::Relaxed)
                };
                // The clock and two words; and then the loads of `age`, with the clock before and after all others.
                let all = 3 + of_age;
                loads.store(all, Ordering::Relaxed);
                let mut other = t.unrecorded();
                let (mut seen, mut passed) = (0, false);
                probe::after_each_step(move |step| {
                    seen += usize::from(step == Step::Load);
                    if seen == after && !passed {
                        passed = true;
                        for _ in 0..4 {
                            other.advance();
                        }
                    }
                });
                let is_new = t.stamp(x);
                probe::after_each_step(|_| {});
                let is_gone = after == all;
                assert_eq!(t.age(x), (!is_gone).then_some(0), "after {after} loads of {all}");
                assert!(!is_gone || !is_new, "it was there");
            });
            move |_| {}
        });
        if after == loads.load(Ordering::Relaxed) {
            break;
        }
    }
}

/// Two inserts have found the table full in the same generation: one of them ends it.
fn two_that_make_room<L: Layout>() {
    let (setup, [x]) = stamped::<L, 2>(4, [(1, 0), (2, 0)]);
    setup.check_asserted(20, 2, move |model| {
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
