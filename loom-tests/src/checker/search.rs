//! The search for an order of the steps of all threads.

use std::collections::HashSet;
use std::hash::Hash;

use super::Event;

/// The effect of an operation at one instant.
pub struct Step<T> {
    /// The effect.
    pub what: T,
    /// For each thread, how many of its steps come before this one.
    pub after: Vec<usize>,
}

/// The steps of each thread.
pub struct Search<T> {
    threads: Vec<Vec<Step<T>>>,
}

impl<T> Search<T> {
    /// Makes a search of the steps that `steps_of` gives to each operation, one after the other.
    pub fn new<'a, I: IntoIterator<Item = T>>(
        threads: &'a [Vec<Event>],
        steps_of: impl Fn(&'a Event) -> I,
    ) -> Self {
        let (mut steps, mut ranks) = (Vec::new(), Vec::new());
        for events in threads {
            let mut of_thread = Vec::new();
            // At index i, the number of steps of the first i events of the thread.
            let mut rank = vec![0];
            for event in events {
                of_thread.extend(steps_of(event).into_iter().map(|what| (event, what)));
                rank.push(of_thread.len());
            }
            steps.push(of_thread);
            ranks.push(rank);
        }
        let step = |(event, what): (&Event, T)| {
            let after = ranks.iter().zip(&event.known).map(|(rank, &known)| rank[known]);
            Step { what, after: after.collect() }
        };
        let steps = steps.into_iter();
        Self { threads: steps.map(|steps| steps.into_iter().map(step).collect()).collect() }
    }

    /// Returns the steps of all threads.
    pub fn steps(&self) -> impl Iterator<Item = &T> {
        self.threads.iter().flatten().map(|step| &step.what)
    }

    /// Returns whether there is an order in which each step is possible. `next` gets a state, a step, and the numbers
    /// of its thread and of the step in it; it returns the states after the step.
    ///
    /// Depth-first search that visits each state once.
    pub fn succeeds<S: Clone + Eq + Hash, I: IntoIterator<Item = S>>(
        &self,
        start: S,
        next: impl Fn(&S, &Step<T>, (usize, usize)) -> I,
    ) -> bool {
        let mut seen = HashSet::new();
        let mut open = vec![(vec![0; self.threads.len()], start)];
        while let Some((done, state)) = open.pop() {
            if done.iter().zip(&self.threads).all(|(&done, steps)| done == steps.len()) {
                return true;
            }
            if !seen.insert((done.clone(), state.clone())) {
                continue;
            }
            for (at, step) in self.ready(&done) {
                let mut done = done.clone();
                done[at.0] += 1;
                open.extend(next(&state, step, at).into_iter().map(|state| (done.clone(), state)));
            }
        }
        false
    }

    /// Returns the next step of each thread, with its place, if all steps before it are done.
    fn ready(&self, done: &[usize]) -> impl Iterator<Item = ((usize, usize), &Step<T>)> {
        self.threads.iter().zip(done).enumerate().filter_map(move |(thread, (steps, &at))| {
            let step = steps.get(at)?;
            let is_ready = step.after.iter().zip(done).all(|(after, done)| after <= done);
            is_ready.then_some(((thread, at), step))
        })
    }
}
