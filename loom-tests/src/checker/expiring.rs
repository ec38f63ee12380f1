//! Decides whether a filter that forgets could have given the results of a recorded history.
//!
//! As in [`checker`](super), each class is checked by itself. It is absent, or it has an *age*: how many generations
//! have begun since the one whose stamp it has. Of N generations, N - 1 is the greatest age.
//!
//! * `insert`, `insert_if_absent`, `contains` and `age` each take effect at one instant between call and return.
//! * What an insert stores is of the generation that is present at this instant; or of the one before, if that ended
//!   during the call: the stamp is read before it is stored. No later `advance` has forgotten anything of the class in
//!   between.
//! * An `advance` has two instants between call and return. At the first one it forgets the class, if that has the
//!   greatest age: each class has an instant of its own. At the second one the next generation begins. Calls of
//!   `advance` come one after the other.

use std::collections::HashSet;

use super::{Event, Outcome, Unexplained};

/// The operations of all threads on a filter that forgets, with their results.
#[derive(Clone, Debug)]
pub struct History {
    /// How many generations are remembered: N.
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
            let search = Search { generations: self.generations, threads: self.steps_of(class) };
            if !search.succeeds(age) {
                return Err(Unexplained::NoOrder { class });
            }
        }
        Ok(())
    }

    /// The steps of each thread that concern a class.
    fn steps_of<'a>(&'a self, class: usize) -> Vec<Vec<Step<'a>>> {
        // At index i, how many steps the first i events of the thread have.
        let mut ranks = Vec::new();
        for events in &self.threads {
            let counts = events.iter().map(|event| instants(event, class).count());
            let mut of_thread = vec![0];
            of_thread.extend(counts.scan(0, |rank, count| {
                *rank += count;
                Some(*rank)
            }));
            ranks.push(of_thread);
        }
        let steps = |event: &'a Event| {
            let after = ranks.iter().zip(&event.known);
            let after: Vec<_> = after.map(|(ranks, &known)| ranks[known]).collect();
            instants(event, class).map(move |instant| Step { instant, after: after.clone() })
        };
        self.threads.iter().map(|events| events.iter().flat_map(steps).collect()).collect()
    }
}

/// What an operation does to a class, one instant after the other.
fn instants(event: &Event, class: usize) -> impl Iterator<Item = Instant<'_>> {
    let [first, second] = match &event.outcome {
        Outcome::Advanced => [Some(Instant::Forgets), Some(Instant::Begins)],
        outcome => [(event.class == class).then_some(Instant::Operation(outcome)), None],
    };
    first.into_iter().chain(second)
}

/// What happens at one instant.
enum Instant<'a> {
    /// An `advance` forgets the class, if that has the greatest age.
    Forgets,
    /// The next generation begins.
    Begins,
    Operation(&'a Outcome),
}

struct Step<'a> {
    instant: Instant<'a>,
    /// For each thread, how many of its steps come before this one.
    after: Vec<usize>,
}

/// A search for an order of the steps.
struct Search<'a> {
    generations: u32,
    threads: Vec<Vec<Step<'a>>>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// How many steps of each thread are done.
    done: Vec<usize>,
    age: Option<u32>,
    /// Whether an `advance` is between its two steps.
    is_advancing: bool,
    /// The thread, and its step, that began the present generation; `None` as soon as the next `advance` forgets.
    began: Option<(usize, usize)>,
}

impl Search<'_> {
    /// Depth-first search that visits each state once.
    fn succeeds(&self, age: Option<u32>) -> bool {
        let done = vec![0; self.threads.len()];
        let mut open = vec![State { done, age, is_advancing: false, began: None }];
        let mut seen = HashSet::new();
        while let Some(state) = open.pop() {
            if state.done.iter().zip(&self.threads).all(|(&done, steps)| done == steps.len()) {
                return true;
            }
            if !seen.insert(state.clone()) {
                continue;
            }
            for thread in 0..self.threads.len() {
                self.take(&state, thread, &mut open);
            }
        }
        false
    }

    /// The states that the next step of a thread leads to.
    fn take(&self, state: &State, thread: usize, states: &mut Vec<State>) {
        let at = state.done[thread];
        let Some(Step { instant, after }) = self.threads[thread].get(at) else { return };
        if after.iter().zip(&state.done).any(|(after, done)| after > done) {
            return;
        }
        let mut next = state.clone();
        next.done[thread] += 1;
        let greatest = Some(self.generations - 1);
        match instant {
            Instant::Forgets if state.is_advancing => return,
            Instant::Forgets => {
                next.age = state.age.filter(|_| state.age != greatest);
                (next.is_advancing, next.began) = (true, None);
            }
            Instant::Begins => {
                next.age = state.age.map(|age| age + 1);
                (next.is_advancing, next.began) = (false, Some((thread, at)));
            }
            Instant::Operation(outcome) => {
                let Some(stamps) = stamps(outcome, state.age) else { return };
                if stamps {
                    // The stamp of the generation before is not younger than one that is there.
                    let overlaps =
                        |(began_by, began_at): (usize, usize)| after[began_by] <= began_at;
                    if state.began.is_some_and(overlaps) && state.age != Some(0) {
                        states.push(State { age: Some(1), ..next.clone() });
                    }
                    next.age = Some(0);
                }
            }
        }
        states.push(next);
    }
}

/// Whether an operation with this result stores a stamp. `None`: it cannot have this result where the class has this
/// age.
fn stamps(outcome: &Outcome, age: Option<u32>) -> Option<bool> {
    let (is_possible, stamps) = match outcome {
        Outcome::Stamped(is_new) => (*is_new == age.is_none(), true),
        Outcome::Unique => (age.is_none(), true),
        Outcome::Duplicate | Outcome::Found => (age.is_some(), false),
        Outcome::Missing => (age.is_none(), false),
        Outcome::Aged(found) => (*found == age, false),
        _ => unreachable!("no operation of a filter that forgets"),
    };
    is_possible.then_some(stamps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Outcome::*;

    const NO_ORDER: Result<(), Unexplained> = Err(Unexplained::NoOrder { class: 0 });

    /// One class, and two generations; no order between the threads is known.
    fn apart(initial: Option<u32>, threads: &[&[Outcome]]) -> History {
        let event = |thread: usize, index: usize, outcome: &Outcome| {
            let mut known = vec![0; threads.len()];
            known[thread] = index;
            Event { class: 0, outcome: outcome.clone(), known }
        };
        let events = |(thread, outcomes): (usize, &&[Outcome])| {
            outcomes.iter().enumerate().map(|(at, outcome)| event(thread, at, outcome)).collect()
        };
        let threads = threads.iter().enumerate().map(events).collect();
        History { generations: 2, initial: vec![initial], threads }
    }

    fn explained(initial: Option<u32>, threads: &[&[Outcome]]) -> Result<(), Unexplained> {
        apart(initial, threads).explain()
    }

    #[test]
    fn an_item_is_remembered_for_a_window() {
        let ends = [Stamped(true), Advanced, Found, Aged(Some(1)), Stamped(false), Advanced, Found];
        assert_eq!(explained(None, &[&ends]), Ok(()));
        let old = [Unique, Advanced, Duplicate, Advanced, Missing, Aged(None), Stamped(true)];
        assert_eq!(explained(None, &[&old]), Ok(()));
        for wrong in [Missing, Stamped(true), Unique, Aged(None), Aged(Some(0))] {
            assert_eq!(
                explained(None, &[&[Unique, Advanced, wrong.clone()]]),
                NO_ORDER,
                "{wrong:?}"
            );
        }
        for wrong in [Found, Stamped(false), Duplicate, Aged(Some(0)), Aged(Some(1))] {
            let forgotten = [Unique, Advanced, Advanced, wrong.clone()];
            assert_eq!(explained(None, &[&forgotten]), NO_ORDER, "{wrong:?}");
        }
        // An insert of what is there counts from then on, but for `insert_if_absent`.
        assert_eq!(explained(Some(1), &[&[Stamped(false), Aged(Some(0))]]), Ok(()));
        assert_eq!(explained(Some(1), &[&[Duplicate, Aged(Some(0))]]), NO_ORDER);
    }

    #[test]
    fn of_two_inserts_one_is_new() {
        for [one, other] in [[Stamped(true), Stamped(false)], [Stamped(true), Duplicate]] {
            assert_eq!(explained(None, &[&[one], &[other]]), Ok(()));
        }
        for [one, other] in [[Stamped(true), Unique], [Stamped(false), Duplicate]] {
            assert_eq!(explained(None, &[&[one], &[other]]), NO_ORDER);
        }
        // The item is forgotten once.
        let both = [&[Stamped(true)][..], &[Stamped(true)], &[Advanced]];
        assert_eq!(explained(Some(1), &both), NO_ORDER);
        let one = [&[Stamped(true)][..], &[Stamped(false), Found], &[Advanced]];
        assert_eq!(explained(Some(1), &one), Ok(()));
    }

    /// Between its two instants the class is forgotten, and the generation is the one before.
    #[test]
    fn an_advance_has_two_instants() {
        let looks = [Missing, Stamped(true), Aged(Some(0)), Aged(Some(1))];
        assert_eq!(explained(Some(1), &[&[Advanced], &looks]), Ok(()));
        assert_eq!(explained(Some(1), &[&[Advanced], &[Missing, Found]]), NO_ORDER);
        assert_eq!(explained(Some(0), &[&[Advanced], &[Aged(Some(1)), Aged(Some(0))]]), NO_ORDER);
        // One comes after the other: what both forget is two generations.
        let both =
            History { generations: 3, ..apart(Some(1), &[&[Advanced], &[Advanced], &[Missing]]) };
        assert_eq!(both.explain(), Ok(()));
        let one = History { generations: 3, ..apart(Some(1), &[&[Advanced], &[Missing]]) };
        assert_eq!(one.explain(), NO_ORDER);
    }

    /// It may be found only afterwards, and has the stamp of before.
    #[test]
    fn a_stamp_is_of_a_generation_of_the_call() {
        let looks = [Advanced, Missing, Advanced, Missing];
        let mut history = apart(None, &[&[Unique], &looks, &[Missing]]);
        // The last one is known to come after all.
        history.threads[2][0].known = vec![1, 4, 0];
        assert_eq!(history.explain(), Ok(()));
        // The insert is called when the first `advance` has returned.
        history.threads[0][0].known[1] = 1;
        assert_eq!(history.explain(), NO_ORDER);
        // What is there has the younger of two stamps.
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
