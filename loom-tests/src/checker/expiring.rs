//! Decides whether an expiring filter could have given the results of a recorded history.
//!
//! As in [`checker`](super), each class is checked by itself. It is absent, or it has an *age*: the number of
//! generations that have begun since that of its stamp. With N generations, the maximum age is N - 1.
//!
//! * `insert`, `insert_if_absent`, `contains` and `age` each take effect at one instant between call and return.
//! * An insert stores the stamp of the generation that is present at this instant; or that of the generation before, if
//!   that one ended during the call: the stamp is read before it is stored. No later `advance` has forgotten anything
//!   of the class in between.
//! * An `advance` has two instants between call and return. At the first one it forgets the class if its age is the
//!   maximum; each class has an instant of its own for this. At the second one the next generation begins. Calls of
//!   `advance` come one after the other.

use super::search::{Search, Step};
use super::{Event, Outcome, Unexplained};

/// The operations of all threads on an expiring filter, with their results.
#[derive(Clone, Debug)]
pub struct History {
    /// The number of generations that the filter remembers: N.
    pub generations: u32,
    /// The age of each class at the start.
    pub initial: Vec<Option<u32>>,
    /// The operations of each thread, in program order.
    pub threads: Vec<Vec<Event>>,
}

impl History {
    /// Checks every result.
    ///
    /// # Errors
    ///
    /// [`Unexplained::NoOrder`] if no order of the operations on a class gives these results.
    pub fn explain(&self) -> Result<(), Unexplained> {
        for (class, &age) in self.initial.iter().enumerate() {
            let search = Search::new(&self.threads, |event| match &event.outcome {
                Outcome::Advanced => vec![Instant::Forgets, Instant::Begins],
                outcome if event.class == class => vec![Instant::Operation(outcome)],
                _ => Vec::new(),
            });
            let start = State { age, is_advancing: false, began: None };
            let next = |state: &State, step: &Step<_>, at| self.next(*state, step, at);
            if !search.succeeds(start, next) {
                return Err(Unexplained::NoOrder { class });
            }
        }
        Ok(())
    }

    /// Returns the states to which a step leads.
    fn next(&self, state: State, step: &Step<Instant>, at: (usize, usize)) -> Vec<State> {
        match step.what {
            Instant::Forgets if state.is_advancing => Vec::new(),
            Instant::Forgets => {
                let age = state.age.filter(|&age| age + 1 < self.generations);
                vec![State { age, is_advancing: true, began: None }]
            }
            Instant::Begins => {
                let age = state.age.map(|age| age + 1);
                vec![State { age, is_advancing: false, began: Some(at) }]
            }
            Instant::Operation(outcome) => match stamps(outcome, state.age) {
                None => Vec::new(),
                Some(false) => vec![state],
                Some(true) => {
                    let mut states = vec![State { age: Some(0), ..state }];
                    // The stamp of the generation before is not younger than a stamp that is there.
                    let overlaps = |(thread, at): (usize, usize)| step.after[thread] <= at;
                    if state.began.is_some_and(overlaps) && state.age != Some(0) {
                        states.push(State { age: Some(1), ..state });
                    }
                    states
                }
            },
        }
    }
}

/// The effect on the class at one instant.
enum Instant<'a> {
    /// An `advance` forgets the class if its age is the maximum.
    Forgets,
    /// The next generation begins.
    Begins,
    Operation(&'a Outcome),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct State {
    age: Option<u32>,
    /// Whether an `advance` is between its two steps.
    is_advancing: bool,
    /// The thread that began the present generation, and its step; `None` as soon as the next `advance` forgets.
    began: Option<(usize, usize)>,
}

/// Returns whether an operation with this result stores a stamp; `None` if it cannot have this result when the class
/// has this age.
fn stamps(outcome: &Outcome, age: Option<u32>) -> Option<bool> {
    let (is_possible, stamps) = match outcome {
        Outcome::Stamped(is_new) => (*is_new == age.is_none(), true),
        Outcome::Unique => (age.is_none(), true),
        Outcome::Duplicate | Outcome::Found => (age.is_some(), false),
        Outcome::Missing => (age.is_none(), false),
        Outcome::Aged(found) => (*found == age, false),
        _ => unreachable!("no operation of an expiring filter"),
    };
    is_possible.then_some(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checker::tests::one;
    use Outcome::*;

    const NO_ORDER: Result<(), Unexplained> = Err(Unexplained::NoOrder { class: 0 });

    /// Makes a history of one class and two generations, without a known order between the threads.
    fn apart(initial: Option<u32>, threads: &[&[Outcome]]) -> History {
        History { generations: 2, initial: vec![initial], threads: one(0, threads).threads }
    }

    fn explained(initial: Option<u32>, threads: &[&[Outcome]]) -> Result<(), Unexplained> {
        apart(initial, threads).explain()
    }

    #[test]
    fn an_item_is_remembered_for_a_window() {
        let ends = [Stamped(true), Advanced, Found, Aged(Some(1)), Stamped(false), Advanced, Found];
        let old = [Unique, Advanced, Duplicate, Advanced, Missing, Aged(None), Stamped(true)];
        for ops in [ends, old] {
            assert_eq!(explained(None, &[&ops]), Ok(()));
        }
        for wrong in [Missing, Stamped(true), Unique, Aged(None), Aged(Some(0))] {
            let remembered = [Unique, Advanced, wrong];
            assert_eq!(explained(None, &[&remembered]), NO_ORDER, "{remembered:?}");
        }
        for wrong in [Found, Stamped(false), Duplicate, Aged(Some(0)), Aged(Some(1))] {
            let forgotten = [Unique, Advanced, Advanced, wrong];
            assert_eq!(explained(None, &[&forgotten]), NO_ORDER, "{forgotten:?}");
        }
        // An insert of an item that is there gives it the present stamp; `insert_if_absent` does not.
        assert_eq!(explained(Some(1), &[&[Stamped(false), Aged(Some(0))]]), Ok(()));
        assert_eq!(explained(Some(1), &[&[Duplicate, Aged(Some(0))]]), NO_ORDER);
    }

    #[test]
    fn of_two_inserts_one_is_new() {
        let cases: [(_, &[&[Outcome]], _); _] = [
            (None, &[&[Stamped(true)], &[Stamped(false)]], Ok(())),
            (None, &[&[Stamped(true)], &[Duplicate]], Ok(())),
            (None, &[&[Stamped(true)], &[Unique]], NO_ORDER),
            (None, &[&[Stamped(false)], &[Duplicate]], NO_ORDER),
            // The item is forgotten once.
            (Some(1), &[&[Stamped(true)], &[Stamped(true)], &[Advanced]], NO_ORDER),
            (Some(1), &[&[Stamped(true)], &[Stamped(false), Found], &[Advanced]], Ok(())),
        ];
        for (initial, threads, expected) in cases {
            assert_eq!(explained(initial, threads), expected, "{threads:?}");
        }
    }

    /// Between the two instants of an `advance`, the class is forgotten, and the generation is still the one before.
    #[test]
    fn an_advance_has_two_instants() {
        let looks = [Missing, Stamped(true), Aged(Some(0)), Aged(Some(1))];
        assert_eq!(explained(Some(1), &[&[Advanced], &looks]), Ok(()));
        assert_eq!(explained(Some(1), &[&[Advanced], &[Missing, Found]]), NO_ORDER);
        assert_eq!(explained(Some(0), &[&[Advanced], &[Aged(Some(1)), Aged(Some(0))]]), NO_ORDER);
        // One comes after the other: together they forget two generations.
        let both =
            History { generations: 3, ..apart(Some(1), &[&[Advanced], &[Advanced], &[Missing]]) };
        assert_eq!(both.explain(), Ok(()));
        let one = History { generations: 3, ..apart(Some(1), &[&[Advanced], &[Missing]]) };
        assert_eq!(one.explain(), NO_ORDER);
        // Not even its first instant comes before the second instant of the other.
        let mut after_both = apart(Some(0), &[&[Advanced], &[Advanced], &[Found]]);
        after_both.threads[2][0].known = vec![1, 1, 0];
        assert_eq!(after_both.explain(), NO_ORDER);
    }

    /// The item may be found only after the `advance`, and has the stamp of the generation before.
    #[test]
    fn a_stamp_is_of_a_generation_of_the_call() {
        let looks = [Advanced, Missing, Advanced, Missing];
        let mut history = apart(None, &[&[Unique], &looks, &[Missing]]);
        // The last one is known to come after all others.
        history.threads[2][0].known = vec![1, 4, 0];
        assert_eq!(history.explain(), Ok(()));
        // The insert is called when the first `advance` has returned.
        history.threads[0][0].known[1] = 1;
        assert_eq!(history.explain(), NO_ORDER);
        // A stamp that the second `advance` forgets is not stored after that.
        assert_eq!(explained(None, &[&[Unique], &[Advanced, Advanced, Aged(Some(2))]]), NO_ORDER);
        // An item that is there has the younger of two stamps.
        let older = [Advanced, Stamped(false), Aged(Some(0))];
        let mut history = apart(Some(0), &[&[Stamped(false)], &older, &[Aged(Some(1))]]);
        history.threads[2][0].known = vec![1, 3, 0];
        assert_eq!(history.explain(), NO_ORDER);
    }

    #[test]
    fn each_class_is_forgotten_at_an_instant_of_its_own() {
        let looks = [Missing, Found];
        let mut history = apart(Some(1), &[&[Advanced], &looks]);
        history.initial.push(Some(1));
        history.threads[1][1].class = 1;
        assert_eq!(history.explain(), Ok(()));
        history.threads[1][1].known[0] = 1;
        assert_eq!(history.explain(), Err(Unexplained::NoOrder { class: 1 }));
    }
}
