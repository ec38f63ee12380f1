//! Threads that are stopped, or overtaken, at the worst step.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::Layout;
use coucal::probe::{self, Step};
use loom::sync::{Condvar, Mutex};
use loom_tests::model::{Item, Setup, Thread};

use crate::TwoHops;

models! {
    writer_stopped_at_each_step_of_a_kick
    lookup_overtaken_in_every_round
}

/// Rounds of a lookup, and its steps in each: it reads a version, two words and the version again.
const ROUNDS: usize = 8;
const STEPS: usize = 4;

/// Blocks the threads that wait for it until it is opened.
struct Gate {
    open: Mutex<bool>,
    opened: Condvar,
}

impl Gate {
    fn new() -> Arc<Self> {
        Arc::new(Self { open: Mutex::new(false), opened: Condvar::new() })
    }

    fn wait(&self) {
        let mut open = self.open.lock().expect("nobody panics here");
        while !*open {
            open = self.opened.wait(open).expect("nobody panics here");
        }
    }

    fn open(&self) {
        *self.open.lock().expect("nobody panics here") = true;
        self.opened.notify_all();
    }
}

/// An insert that moves two items stops for good at one of its steps (a lock taken, a word stored, a
/// version bumped), with the locks that it holds there. All lookups still end within a bounded
/// number of steps and find every stored item. After them the writer goes on, but only since loom
/// wants every thread to end.
fn writer_stopped_at_each_step_of_a_kick<L: Layout>() {
    let stops = (1..100).take_while(|&stop| looked_up_around::<L>(stop)).count();
    // Two hops, each with two locks, two words stored and a version bumped.
    assert_eq!(stops, 10, "the writer was stopped at each of its steps");
}

/// Runs the model in which the writer stops at step `stop`. Whether the writer has such a step.
fn looked_up_around<L: Layout>(stop: usize) -> bool {
    let TwoHops { setup, near, far, new, low, high } = TwoHops::<L>::new((3, 0), (2, 3));
    let items = [near, far, low, high];
    let stood_still = Arc::new(AtomicUsize::new(0));
    let reached = Arc::new(AtomicBool::new(false));
    let (counter, stop_reached) = (Arc::clone(&stood_still), Arc::clone(&reached));
    setup.check(5, 2, move |model| {
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
            assert!(t.insert(new));
        });
        let counter = Arc::clone(&counter);
        model.thread(move |t| {
            let stands_still = seen.load(Ordering::Relaxed);
            for item in items {
                assert!(bounded_lookup(t, item));
            }
            bounded_lookup(t, new);
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

/// `contains`, which takes no lock and stores nothing except the count of an inconclusive answer.
fn bounded_lookup<L: Layout>(thread: &mut Thread<L>, item: Item) -> bool {
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&steps);
    probe::after_each_step(move |step| {
        assert!(matches!(step, Step::Load | Step::Add), "a lookup did {step:?}");
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let found = thread.contains(item);
    assert!(steps.load(Ordering::Relaxed) <= ROUNDS * STEPS + 1);
    found
}

/// A lookup that is overtaken in each of its rounds: the item is moved from the bucket that is read
/// second to the one that was read first, and back again before the next round. The lookup misses
/// the item in every round and must answer true. The order is scripted: the operations of the other
/// threads run between two steps of the lookup.
fn lookup_overtaken_in_every_round<L: Layout>() {
    let mut setup = Setup::<L>::new(4);
    let [moved, new, low] = [(0, 3), (0, 1), (0, 1)].map(|(a, b)| setup.item(a, b));
    let [back, high] = [(2, 3); 2].map(|(a, b)| setup.item(a, b));
    setup.fill_but_one(0, low).fill(1, low);
    setup.fill(2, high).store(3, &[moved]).fill(3, high);
    setup.check(1, 2, move |model| {
        model.thread(move |t| {
            let mut others = t.unrecorded();
            let steps = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&steps);
            probe::after_each_step(move |_| {
                let step = counter.fetch_add(1, Ordering::Relaxed);
                match step % STEPS {
                    _ if step >= ROUNDS * STEPS => {}
                    // The first bucket is read: now the item is moved there.
                    1 => assert!(others.insert(back)),
                    // The second is read: now it is moved back.
                    2 => {
                        assert!(others.remove(back));
                        assert!(others.insert(new));
                        assert!(others.remove(new));
                    }
                    _ => {}
                }
            });
            assert!(t.contains(moved), "an inconclusive lookup answers true");
            assert_eq!(steps.load(Ordering::Relaxed), ROUNDS * STEPS + 1);
            assert_eq!(t.filter().stats().inconclusive_lookups, 1);
        });
    });
}
