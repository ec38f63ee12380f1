//! The search budget: failed searches halve it, and nothing that makes room may leave it halved.
//! Scripted, one execution each.

use coucal::Layout;
use coucal::probe::{self, Step};
use loom_tests::model::{Item, Setup, Thread};

use std::cell::Cell;
use std::rc::Rc;

models! {
    clear_during_a_failed_search
    removals_during_a_failed_search
}

/// More failed searches than the budget can be halved.
const FAILED_INSERTS: usize = 8;

/// The buckets of the path, and behind it those that a search visits when the path has no end.
const PATH: [usize; 11] = [0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10];
const BEHIND: [usize; 8] = [13, 12, 15, 14, 17, 16, 19, 18];

/// A full table. With one free slot in the last bucket of `PATH`, an insert of `new` (0, 1) needs a
/// path of ten hops. A search with the whole budget finds it. One with the smallest budget does not,
/// in any layout. While the table is full, every search runs out of budget: in the buckets
/// of `BEHIND` each of the items leads to the next bucket, so their copies in the search queue
/// multiply.
struct LongPath<L> {
    setup: Setup<L>,
    new: Item,
    /// All items in the last bucket of `PATH`.
    end: Item,
}

/// Frees one slot of a full table with these contents: that of a copy of the item.
type MakeRoom<L> = fn(&mut Thread<L>, &[(usize, Item)], Item);

impl<L: Layout> LongPath<L> {
    fn new() -> Self {
        let mut setup = Setup::new(20);
        let [new, low] = [(0, 1); 2].map(|(a, b)| setup.item(a, b));
        setup.fill(1, low);
        let mut before = 1;
        for pair in PATH.windows(2) {
            let next = setup.item(pair[0], pair[1]);
            let back = setup.item(pair[0], before);
            setup.store(pair[0], &[next]).fill(pair[0], back);
            before = pair[0];
        }
        let last = PATH[PATH.len() - 1];
        let end = setup.item(last, BEHIND[0]);
        setup.fill(last, end);
        for pair in BEHIND.windows(2) {
            let next = setup.item(pair[0], pair[1]);
            setup.fill(pair[0], next);
            if pair[1] == BEHIND[BEHIND.len() - 1] {
                setup.fill(pair[1], next);
            }
        }
        Self { setup, new, end }
    }

    /// Inserts fail until the budget is as small as it gets. One more insert fails, and between its
    /// search and its return other threads free a slot by `make_room`. From then on an insert has
    /// to succeed.
    fn check(self, make_room: MakeRoom<L>) {
        let Self { setup, new, end } = self;
        let contents = setup.contents().to_vec();
        setup.check(1, 2, move |model| {
            let contents = contents.clone();
            model.thread(move |t| {
                // All of it together changes nothing, and nothing is recorded.
                let mut t = t.unrecorded();
                for _ in 0..FAILED_INSERTS {
                    assert!(!t.insert(new), "the table is full");
                }
                // A failed insert locks when its search has ended, for an exact look.
                let loads = loads_before_the_first_lock(&mut t, |t| assert!(!t.insert(new)));
                let (mut others, stored) = (t.unrecorded(), contents.clone());
                let mut seen = 0;
                probe::after_each_step(move |step| {
                    seen += usize::from(step == Step::Load);
                    if step == Step::Load && seen == loads {
                        make_room(&mut others, &stored, end);
                    }
                });
                // The slot was freed after the search: either answer is right.
                let stored = t.insert(new);
                probe::after_each_step(|_| {});
                assert!(stored || t.insert(new), "one slot is free, and a path leads there");
                t.clear();
                put_all(&t, &contents);
            });
        });
    }
}

fn put_all<L: Layout>(thread: &Thread<L>, contents: &[(usize, Item)]) {
    for &(bucket, item) in contents {
        thread.put(bucket, item);
    }
}

fn loads_before_the_first_lock<L: Layout>(
    thread: &mut Thread<L>,
    operation: impl FnOnce(&mut Thread<L>),
) -> usize {
    let loads = Rc::new(Cell::new(0));
    let counter = Rc::clone(&loads);
    let mut locked = false;
    probe::after_each_step(move |step| {
        locked |= step == Step::Lock;
        counter.set(counter.get() + usize::from(!locked));
    });
    operation(thread);
    probe::after_each_step(|_| {});
    loads.get()
}

/// The table is cleared, then filled again, except for one slot.
fn clear_during_a_failed_search<L: Layout>() {
    LongPath::<L>::new().check(|others, contents, _| {
        others.clear();
        let slot = contents.iter().position(|stored| stored.0 == PATH[PATH.len() - 1]);
        let slot = slot.expect("the last bucket of the path is full");
        put_all(others, &contents[..slot]);
        put_all(others, &contents[slot + 1..]);
    });
}

/// As many removals as it takes to restore the whole budget; all but the last are undone.
fn removals_during_a_failed_search<L: Layout>() {
    LongPath::<L>::new().check(|others, _, end| {
        for _ in 0..FAILED_INSERTS {
            assert!(others.remove(end));
            others.put(PATH[PATH.len() - 1], end);
        }
        assert!(others.remove(end));
    });
}
