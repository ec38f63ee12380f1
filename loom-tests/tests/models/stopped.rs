//! Threads that are held up where it hurts.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use coucal::Layout;
use coucal::probe::{self, Step};
use loom::sync::{Condvar, Mutex};
use loom_tests::stage::{Actor, Cast, Item};

use crate::TwoHops;

models! {
    writer_stopped_at_each_step_of_a_kick
    lookup_overtaken_in_every_round
}

/// Rounds of a lookup, and its steps in each: it reads a version, two words and the version again.
const ROUNDS: usize = 8;
const STEPS: usize = 4;

/// Holds up whoever waits here until it is opened.
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

/// An insert that moves two items is stopped for good at one of its steps (a lock taken, a word
/// written, a version raised), with the locks that it holds there. All lookups end all the same,
/// in a bounded number of steps, and find what is there. Only then is the writer let go: loom wants
/// every thread to end.
fn writer_stopped_at_each_step_of_a_kick<L: Layout>() {
    let stops = (1..100).take_while(|&stop| looked_up_around::<L>(stop)).count();
    // Two hops, each of two locks, a copy, a version and a clear.
    assert_eq!(stops, 10, "the writer was stopped at each of its steps");
}

/// Whether the writer has such a step at all.
fn looked_up_around<L: Layout>(stop: usize) -> bool {
    let TwoHops { cast, near, far, new, low, high } = TwoHops::<L>::new((3, 0), (2, 3));
    let items = [near, far, low, high];
    let stood_still = Arc::new(AtomicUsize::new(0));
    let reached = Arc::new(AtomicBool::new(false));
    let (counter, at_all) = (Arc::clone(&stood_still), Arc::clone(&reached));
    cast.model(5, 2, move |stage| {
        let gate = Gate::new();
        let stopped = Arc::new(AtomicBool::new(false));
        let (held_up, seen) = (Arc::clone(&gate), Arc::clone(&stopped));
        let at_all = Arc::clone(&at_all);
        stage.actor(move |a| {
            let mut steps = 0;
            probe::after_each_step(move |step| {
                steps += usize::from(step != Step::Load);
                if step != Step::Load && steps == stop {
                    at_all.store(true, Ordering::Relaxed);
                    stopped.store(true, Ordering::Relaxed);
                    held_up.wait();
                }
            });
            assert!(a.insert(new));
        });
        let counter = Arc::clone(&counter);
        stage.actor(move |a| {
            let stands_still = seen.load(Ordering::Relaxed);
            for item in items {
                assert!(bounded_lookup(a, item));
            }
            bounded_lookup(a, new);
            counter.fetch_add(usize::from(stands_still), Ordering::Relaxed);
            gate.open();
        });
    });
    let reached = reached.load(Ordering::Relaxed);
    assert_eq!(reached, stood_still.load(Ordering::Relaxed) > 0, "no lookup met a stopped writer");
    reached
}

/// `contains`, which takes no lock and writes nothing but the count of an inconclusive answer.
fn bounded_lookup<L: Layout>(actor: &mut Actor<L>, item: Item) -> bool {
    let steps = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&steps);
    probe::after_each_step(move |step| {
        assert!(matches!(step, Step::Load | Step::Add), "a lookup did {step:?}");
        counter.fetch_add(1, Ordering::Relaxed);
    });
    let found = actor.contains(item);
    assert!(steps.load(Ordering::Relaxed) <= ROUNDS * STEPS + 1);
    found
}

/// A lookup that is overtaken in each of its rounds: the item is moved from the bucket that is read
/// second to the one that was read first, and back again before the next round. It misses the item
/// every time and must say that it is there. The order is scripted: what the others do is done
/// between two steps of the lookup.
fn lookup_overtaken_in_every_round<L: Layout>() {
    let mut cast = Cast::<L>::new(4);
    let [moved, new, low] = [(0, 3), (0, 1), (0, 1)].map(|(a, b)| cast.item(a, b));
    let [back, high] = [(2, 3); 2].map(|(a, b)| cast.item(a, b));
    cast.fill_but_one(0, low).fill(1, low);
    cast.fill(2, high).store(3, &[moved]).fill(3, high);
    cast.model(1, 2, move |stage| {
        stage.actor(move |a| {
            let mut others = a.unrecorded();
            let steps = Arc::new(AtomicUsize::new(0));
            let counter = Arc::clone(&steps);
            probe::after_each_step(move |_| {
                let step = counter.fetch_add(1, Ordering::Relaxed);
                match step % STEPS {
                    _ if step >= ROUNDS * STEPS => {}
                    // The first bucket was read: now the item goes there.
                    1 => assert!(others.insert(back)),
                    // The second was read: now it goes back.
                    2 => {
                        assert!(others.remove(back));
                        assert!(others.insert(new));
                        assert!(others.remove(new));
                    }
                    _ => {}
                }
            });
            assert!(a.contains(moved), "a lookup that is not sure says that the item is there");
            assert_eq!(steps.load(Ordering::Relaxed), ROUNDS * STEPS + 1);
            assert_eq!(a.filter().stats().inconclusive_lookups, 1);
        });
    });
}
