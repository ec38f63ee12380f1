//! Threads that are stopped, or overtaken, at the worst step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::probe::{self, Step};
use coucal::{Growable, GrowingLayout, Layout};
use loom::sync::{Condvar, Mutex};
use loom_tests::model::*;

use crate::{Growing, With, adding, scripted, storing, two_hops, with};

models! {
    // Two hops, each with two locks, two words stored, and a version bumped.
    writer_stopped_at_each_step_of_a_kick = stopped_at_each_step(10, STEPS, || {
        let hops = two_hops::<L>((3, 0), (2, 3));
        adding(hops, |_, [near, far, new, low, high]| [near, far, low, high, new])
    }, |t, new| assert!(t.insert(new)));
    // Two locks, the flags, the lengths and the copies, a cell, the head of its line and the version.
    writer_stopped_at_each_step_of_an_insert_into_the_stash = stopped_at_each_step(
        8, STEPS_WITH_STASH, beside_what_is_stashed::<L>, |t, x| assert!(t.insert(x)),
    );
    // Two locks, the version, the cell, the copies, the flags and the head of its line.
    writer_stopped_at_each_step_of_a_removal_from_the_stash = stopped_at_each_step(
        7, STEPS_WITH_STASH, || storing(beside_what_is_stashed::<L>(), |s, [.., x]| s.stash(&[x])),
        |t, x| assert!(t.remove(x)),
    );
    // The words of the mirror, two stripes for their flags, two words, and two stripes again.
    snapshot_stopped_at_each_step = stopped_at_each_step(
        7, STEPS, || two_items(Setup::<L>::new(2)), |t, _| _ = t.snapshot(),
    );
    lookup_overtaken_in_every_round
    lookups_beside_a_removal_from_the_stash
    lookups_beside_an_insert_into_the_stash
}

growing_models! {
    // It moves two of three items: a piece allocated, two locks of stripes, two words and the extent stored, two
    // versions bumped.
    splitter_stopped_at_each_step = stopped_at_each_step(8, STEPS_IF_GROWING, || {
        let buckets = [(2, 1), (2, 1), (1, 0), (0, 1)];
        let prepared = with(Growing::<L>::growable(2, 4), buckets, |s, [goes, goes_too, stays, _]| {
            s.store(0, &[goes, goes_too]).store(1, &[stays])
        });
        adding(prepared, |_, [x, y, z, absent]| [x, y.swapped(), z, absent])
    }, |t, _| assert_eq!(t.split(1), 1));
    // Versions and words allocated, two locks of stripes, four versions and two words stored, two versions retired.
    // Lookups need no more than one round beside that.
    widening_stopped_at_each_step = stopped_at_each_step(
        12, STEPS_IF_GROWING, || two_items(Growing::<L>::growable(2, 4).narrow()), |t, _| t.widen(),
    );
    // As above, with four stripes.
    snapshot_of_a_growing_filter_stopped_at_each_step = stopped_at_each_step(
        11, STEPS_IF_GROWING, || two_items(Growing::<L>::growable(2, 4)), |t, _| _ = t.snapshot(),
    );
    lookup_of_what_goes_overtaken_in_two_rounds
    insert_beside_a_snapshot_and_an_allocation
}

/// The number of rounds of a lookup. In each it reads a version, two words, and the version again. The first round
/// reads the version once more, after a look in the stash.
const ROUNDS: usize = 8;
const STEPS: usize = 4;
/// The number of steps in a growing table, where a lookup also reads the extent.
const STEPS_IF_GROWING: usize = STEPS + 1;

/// Blocks the threads that wait for it until it is opened.
pub struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    pub fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::new(false), opened: Condvar::new() })
    }

    pub fn wait(&self) {
        let mut open = self.open.lock().expect("nobody panics here");
        while !*open {
            open = self.opened.wait(open).expect("nobody panics here");
        }
    }

    pub fn open(&self) {
        *self.open.lock().expect("nobody panics here") = true;
        self.opened.notify_all();
    }
}

/// The number of steps of a round that reads the stash: the flags twice; for the marks the number of lines twice and a
/// head; and for the cells the number of lines twice, and at most two heads and four cells.
const STEPS_WITH_STASH: usize = STEPS + 2 + 3 + 8;

/// Two full buckets. There is no slot for `x`, beside the stashed entries.
///
/// `[stashed, low, x]`.
fn beside_what_is_stashed<L: Layout>() -> With<L, 3> {
    let prepared = with(Setup::new(4), [(0, 1); 3], |s, [_, stashed, low]| {
        s.fill(0, low).fill(1, low).stash(&[stashed])
    });
    adding(prepared, |_, [x, stashed, low]| [stashed, low, x])
}

/// Two buckets with one item each, and an item that is absent.
fn two_items<M: Subject>(setup: Setup<M>) -> With<M, 3> {
    let prepared =
        with(setup, [(0, 1), (1, 0), (0, 1)], |s, [x, y, _]| s.store(0, &[x]).store(1, &[y]));
    adding(prepared, |_, [x, y, absent]| [x, y.swapped(), absent])
}

/// A writer stops for good at one of its steps (a lock taken, a word stored, a version bumped, words allocated), with
/// the locks that it holds there. This is tried once at each step, and there are `steps` of them. All lookups still end
/// within a bounded number of steps and find every stored item, except the last one, which the writer may be changing.
/// After them the writer goes on, but only since loom wants every thread to end.
fn stopped_at_each_step<M: IntoStorage, const N: usize>(
    steps: usize,
    steps_of_a_round: usize,
    prepare: impl Fn() -> With<M, N>,
    write: fn(&mut Thread<M>, Item),
) {
    let stopped_at = |&stop: &usize| looked_up_around(stop, steps_of_a_round, prepare(), write);
    let stops = (1..100).take_while(stopped_at).count();
    assert_eq!(stops, steps, "the writer was stopped at each of its steps");
}

/// Runs the model in which the writer stops at step `stop`. Returns whether the writer has such a step.
fn looked_up_around<M: IntoStorage, const N: usize>(
    stop: usize,
    steps_of_a_round: usize,
    (setup, items): With<M, N>,
    write: fn(&mut Thread<M>, Item),
) -> bool {
    let stood_still = Arc::new(AtomicUsize::new(0));
    let reached = Arc::new(AtomicBool::new(false));
    let (counter, stop_reached) = (Arc::clone(&stood_still), Arc::clone(&reached));
    setup.check_with(8, 2, move |model| {
        let gate = Gate::new();
        let stopped = Arc::new(AtomicBool::new(false));
        let (writer_gate, seen) = (Arc::clone(&gate), Arc::clone(&stopped));
        let stop_reached = Arc::clone(&stop_reached);
        model.thread(move |t| {
            let mut steps = 0;
            probe::after_each_step(move |step| {
                steps += usize::from(step != Step::Load);
                if step != Step::Load && steps == stop {
                    stop_reached.store(true, Ordering::Relaxed);
                    stopped.store(true, Ordering::Relaxed);
                    writer_gate.wait();
                }
            });
            write(t, items[N - 1]);
        });
        let counter = Arc::clone(&counter);
        model.thread(move |t| {
            let stands_still = seen.load(Ordering::Relaxed);
            for (at, item) in items.into_iter().enumerate() {
                let found = bounded_lookup(t, item, steps_of_a_round);
                assert!(found || at == N - 1);
            }
            assert_eq!(t.filter().stats().inconclusive_lookups, 0);
            counter.fetch_add(usize::from(stands_still), Ordering::Relaxed);
            gate.open();
        });
    });
    let reached = reached.load(Ordering::Relaxed);
    assert_eq!(
        reached,
        stood_still.load(Ordering::Relaxed) > 0,
        "no lookup ran while the writer was stopped"
    );
    reached
}

/// Calls `contains`, and checks that it takes no lock and stores nothing except the count of an inconclusive answer.
fn bounded_lookup<M: IntoStorage>(
    thread: &mut Thread<M>,
    item: Item,
    steps_of_a_round: usize,
) -> bool {
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&steps);
    probe::after_each_step(move |step| {
        assert!(matches!(step, Step::Load | Step::Add), "a lookup did {step:?}");
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let found = thread.contains(item);
    assert!(steps.load(Ordering::Relaxed) <= ROUNDS * steps_of_a_round + 1);
    found
}

/// A removal from the stash is stopped at each of its steps. A lookup that then misses the item comes after the
/// removal, so the next lookup of this thread misses it, too. Another removal bumps the version after the first step of
/// that lookup. At one of its later steps, the first removal goes on, and its thread puts another item of the group
/// into the stash.
fn lookups_beside_a_removal_from_the_stash<L: Layout>() {
    overtaken_at_each_step(7, 20, look_twice_beside_a_removal::<L>);
}

/// A lookup begins its second round while the bit of the group is set. At a later step, that bit is cleared, and then
/// an insert into the stash is stopped at each of its steps. If the lookup finds the item, the next lookup finds it,
/// too.
fn lookups_beside_an_insert_into_the_stash<L: Layout>() {
    overtaken_at_each_step(8, 20, look_twice_beside_an_insert::<L>);
}

/// Runs a model for each step at which a writer stops (there are `stops` of them) and each step of a lookup at which
/// the writer overtakes it. The model returns whether the writer has such a step, and counts the lookups that have such
/// a step: there must be at least `least`.
fn overtaken_at_each_step(
    stops: usize,
    least: usize,
    model: fn(usize, usize, &Arc<AtomicUsize>) -> bool,
) {
    let overtaken = Arc::new(AtomicUsize::new(0));
    let stops_at = |&stop: &usize| {
        (0..2 * STEPS_WITH_STASH).filter(|&at| model(stop, at, &overtaken)).count() > 0
    };
    assert_eq!((1..100).take_while(stops_at).count(), stops, "each step of the writer");
    let overtaken = overtaken.load(Ordering::Relaxed);
    println!("{overtaken} lookups were overtaken");
    assert!(overtaken >= least, "{overtaken}");
}

/// Three items of one group. The buckets of x and z are full. y is in both of its buckets, so a removal of y bumps the
/// version.
///
/// `[x, y, z]`.
fn three_of_a_group<L: Layout>() -> With<L, 3> {
    let full = with(Setup::new(4), [(0, 1); 2], |s, [_, low]| s.fill(0, low).fill(1, low));
    adding(full, |s, [x, _]| {
        let [y, z] = [s.item_of_group(2, 3, x), s.item_of_group(0, 1, x)];
        s.store(2, &[y]).store(3, &[y]);
        [x, y, z]
    })
}

/// Stops this thread at its step `stop`, of those that `counts` accepts: it opens the first gate, and waits for the
/// second one.
pub fn stop_at(
    stop: usize,
    mut counts: impl FnMut(Step) -> bool + 'static,
    reached: &Arc<AtomicBool>,
    [stopped, resumed]: [&Arc<Gate>; 2],
) {
    let (reached, stopped, resumed) = (reached.clone(), stopped.clone(), resumed.clone());
    let mut steps = 0;
    probe::after_each_step(move |step| {
        let is_counted = counts(step);
        steps += usize::from(is_counted);
        if is_counted && steps == stop {
            reached.store(true, Ordering::Relaxed);
            stopped.open();
            resumed.wait();
        }
    });
}

/// After the first step of this thread, `other` removes the item. At step `step`, counted from 0, this thread opens the
/// first gate, and waits for the second one.
fn overtaken_at<M: IntoStorage>(
    step: usize,
    mut other: Thread<M>,
    removed: Item,
    overtaken: &Arc<AtomicUsize>,
    [open, wait]: [&Arc<Gate>; 2],
) {
    let (overtaken, open, wait) = (overtaken.clone(), open.clone(), wait.clone());
    let mut steps = 0;
    probe::after_each_step(move |_| {
        if steps == 0 {
            assert!(other.remove(removed));
        }
        if steps == step {
            overtaken.fetch_add(1, Ordering::Relaxed);
            open.open();
            wait.wait();
        }
        steps += 1;
    });
}

/// Runs the model in which the removal stops at step `stop`, and the second lookup at step `step`. Returns whether the
/// removal has such a step.
fn look_twice_beside_a_removal<L: Layout>(
    stop: usize,
    step: usize,
    overtaken: &Arc<AtomicUsize>,
) -> bool {
    let (setup, [x, y, z]) = storing(three_of_a_group::<L>(), |s, [x, ..]| s.stash(&[x]));
    let reached = Arc::new(AtomicBool::new(false));
    let (stop_reached, counter) = (Arc::clone(&reached), Arc::clone(overtaken));
    setup.check_asserted(1, 0, move |model| {
        let [stopped, resumed, over] = [(); 3].map(|()| Gate::new());
        let [is_stopped, resume, is_over] = [&stopped, &resumed, &over].map(Arc::clone);
        let reached = Arc::clone(&stop_reached);
        model.thread(move |t| {
            stop_at(stop, |step| step != Step::Load, &reached, [&stopped, &resumed]);
            assert!(t.remove(x));
            probe::after_each_step(|_| ());
            stopped.open();
            assert!(t.insert(z));
            over.open();
        });
        let overtaken = Arc::clone(&counter);
        model.thread(move |t| {
            is_stopped.wait();
            if t.contains(x) {
                resume.open();
                return;
            }
            overtaken_at(step, t.unrecorded(), y, &overtaken, [&resume, &is_over]);
            assert!(!t.contains(x), "the item was found after it had been missed");
            resume.open();
        });
        |_| ()
    });
    reached.load(Ordering::Relaxed)
}

/// Runs the model in which the insert stops at step `stop`, and begins at step `step` of the first lookup. Returns
/// whether the insert has such a step.
fn look_twice_beside_an_insert<L: Layout>(
    stop: usize,
    step: usize,
    overtaken: &Arc<AtomicUsize>,
) -> bool {
    let (setup, [x, y, z]) = storing(three_of_a_group::<L>(), |s, [.., z]| s.stash(&[z]));
    let reached = Arc::new(AtomicBool::new(false));
    let (stop_reached, counter) = (Arc::clone(&reached), Arc::clone(overtaken));
    setup.check_asserted(1, 0, move |model| {
        let [started, stopped, resumed] = [(); 3].map(|()| Gate::new());
        let [start, is_stopped, resume] = [&started, &stopped, &resumed].map(Arc::clone);
        let reached = Arc::clone(&stop_reached);
        model.thread(move |t| {
            started.wait();
            assert!(t.remove(z));
            stop_at(stop, |step| step != Step::Load, &reached, [&stopped, &resumed]);
            assert!(t.insert(x));
            stopped.open();
        });
        let overtaken = Arc::clone(&counter);
        model.thread(move |t| {
            overtaken_at(step, t.unrecorded(), y, &overtaken, [&start, &is_stopped]);
            let is_found = t.contains(x);
            probe::after_each_step(|_| ());
            assert!(!is_found || t.contains(x), "the item was missed after it had been found");
            start.open();
            resume.open();
        });
        |_| ()
    });
    reached.load(Ordering::Relaxed)
}

/// A lookup that is overtaken in each of its rounds: the item is moved from the bucket that is read second to the one
/// that was read first, and back again before the next round. The lookup misses the item in every round and must answer
/// true. The order is scripted: the operations of the other threads run between two steps of the lookup.
fn lookup_overtaken_in_every_round<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [moved, new, low] = setup.items([(0, 3), (0, 1), (0, 1)]);
    let [back, high] = setup.items([(2, 3); 2]);
    setup.fill_but_one(0, low).fill(1, low);
    setup.fill(2, high).store(3, &[moved]).fill(3, high);
    scripted(setup, move |t| {
        let mut others = t.unrecorded();
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&steps);
        probe::after_each_step(move |_| {
            let step = counter.fetch_add(1, Ordering::Relaxed);
            // The first round has one step more, which nothing follows.
            let step = if step < STEPS { step } else { step - 1 };
            match step % STEPS {
                _ if step >= ROUNDS * STEPS => {}
                // The first bucket is read: now the item is moved there.
                1 => assert!(others.insert(back)),
                // The second bucket is read: now the item is moved back.
                2 => {
                    assert!(others.remove(back));
                    assert!(others.insert(new));
                    assert!(others.remove(new));
                }
                _ => {}
            }
        });
        assert!(t.contains(moved), "an inconclusive lookup answers true");
        assert_eq!(steps.load(Ordering::Relaxed), ROUNDS * STEPS + 2);
        assert_eq!(t.filter().stats().inconclusive_lookups, 1);
    });
}

/// An item goes while the first round of a lookup reads it, and once more in the second round: each round must find it
/// by the extent as it is then. Scripted.
fn lookup_of_what_goes_overtaken_in_two_rounds<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 8);
    let item = setup.item(6, 1);
    setup.store(0, &[item]);
    scripted(setup, move |t| {
        let others = t.unrecorded();
        let steps = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&steps);
        probe::after_each_step(move |_| {
            // The extent is read.
            match counter.fetch_add(1, Ordering::Relaxed) {
                1 => assert_eq!(others.split(2), 2),
                7 => assert_eq!(others.split(3), 3),
                _ => {}
            }
        });
        assert!(t.contains(item));
        assert_eq!(steps.load(Ordering::Relaxed), 3 * STEPS_IF_GROWING);
        assert_eq!(t.filter().stats().inconclusive_lookups, 0);
    });
}

/// A piece takes long to be allocated, for the table or for the mirror of a snapshot. The snapshot may wait for it, but
/// not with all stripes locked: an insert does not wait.
fn insert_beside_a_snapshot_and_an_allocation<L: GrowingLayout + Layout>() {
    let mut setup = Setup::<Growable<L>>::growable(2, 4);
    let new = setup.item(0, 1);
    setup.check_with(27_000, 2, move |model| {
        let gate = Gate::new();
        let allocated = Arc::clone(&gate);
        model.thread(move |t| {
            let wait = move |step| {
                if step == Step::Allocate {
                    allocated.wait();
                }
            };
            probe::after_each_step(wait);
            assert_eq!(t.split(1), 1);
        });
        model.thread(move |t| {
            t.snapshot();
        });
        model.thread(move |t| {
            assert!(t.insert(new));
            gate.open();
        });
    });
}
