//! The executions that loom skips only repeat others: each program has the same outcomes as with a set whose turns are
//! plain steps of loom.

use std::hash::BuildHasher;

use loom::sync::atomic::AtomicU64;

use super::*;

/// A step of a thread of a program; each step has an answer.
#[derive(Clone, Copy, Debug)]
enum Step {
    Insert(usize),
    InsertIfAbsent(usize),
    Remove(usize),
    Contains(usize),
    Count(usize),
    Len,
    Snapshot,
    Clear,
    /// Uses an atomic of the user.
    Add(usize),
}

trait Subject: Send + Sync + 'static {
    fn answer(&self, step: Step) -> usize;
}

/// The two items that programs use.
const ITEMS: [usize; 2] = [0, 1];

impl Subject for CuckooFilter<Fp16x4, StableHashBuilder> {
    fn answer(&self, step: Step) -> usize {
        match step {
            Step::Insert(item) => usize::from(self.insert(&item).is_ok()),
            Step::InsertIfAbsent(item) => usize::from(self.insert_if_absent(&item).unwrap()),
            Step::Remove(item) => usize::from(self.remove(&item)),
            Step::Contains(item) => usize::from(self.contains(&item)),
            Step::Count(item) => self.count(&item),
            Step::Len => self.len(),
            Step::Snapshot => self.snapshot().unwrap().len(),
            Step::Clear => {
                self.clear();
                0
            }
            Step::Add(_) => unreachable!("not of a filter"),
        }
    }
}

struct Plain {
    turn: AtomicU64,
    /// Held by a thread that writes.
    writing: loom::sync::Mutex<()>,
    counts: Mutex<[usize; 2]>,
    /// A `clear` changes it with the last item.
    len: Mutex<usize>,
    /// The order in which a `clear` reaches the items.
    cleared: [usize; 2],
}

impl Plain {
    fn new(cleared: [usize; 2]) -> Self {
        let (turn, writing) = (AtomicU64::new(0), loom::sync::Mutex::new(()));
        Self { turn, writing, counts: Mutex::new([0; 2]), len: Mutex::new(0), cleared }
    }

    fn in_turn<R>(&self, step: impl FnOnce(&mut [usize; 2]) -> R) -> R {
        self.turn.fetch_add(1, Relaxed);
        step(&mut self.counts.lock().unwrap())
    }

    fn set_len(&self, counts: [usize; 2]) {
        *self.len.lock().unwrap() = counts.iter().sum();
    }
}

impl Subject for Plain {
    fn answer(&self, step: Step) -> usize {
        if let Step::Contains(item) = step {
            return self.in_turn(|counts| usize::from(counts[item] > 0));
        }
        if let Step::Len = step {
            return self.in_turn(|_| *self.len.lock().unwrap());
        }
        let _writing = self.writing.lock().unwrap();
        if let Step::Clear = step {
            let [first, last] = self.cleared;
            self.in_turn(|counts| counts[first] = 0);
            self.in_turn(|counts| {
                counts[last] = 0;
                self.set_len(*counts);
            });
            return 0;
        }
        self.in_turn(|counts| {
            let answer = Self::answer_alone(counts, step);
            self.set_len(*counts);
            answer
        })
    }
}

impl Plain {
    fn answer_alone(counts: &mut [usize; 2], step: Step) -> usize {
        match step {
            Step::Insert(item) => {
                counts[item] += 1;
                1
            }
            Step::InsertIfAbsent(item) => {
                let is_new = counts[item] == 0;
                counts[item] += usize::from(is_new);
                usize::from(is_new)
            }
            Step::Remove(item) => {
                let is_there = counts[item] > 0;
                counts[item] -= usize::from(is_there);
                usize::from(is_there)
            }
            Step::Count(item) => counts[item],
            Step::Snapshot => counts.iter().sum(),
            Step::Contains(_) | Step::Len | Step::Clear | Step::Add(_) => unreachable!("elsewhere"),
        }
    }
}

/// Returns all that the threads of a program may see, and what is there at the end.
fn answers<S: Subject>(
    new: impl Fn() -> S + Send + Sync + 'static,
    program: &[Vec<Step>],
) -> BTreeSet<Vec<Vec<usize>>> {
    let program = program.to_vec();
    outcomes(move || {
        let shared = Arc::new((new(), [(); 2].map(|()| AtomicU64::new(0))));
        shared.0.answer(Step::Insert(0));
        let run = |steps: Vec<Step>| {
            let shared = Arc::clone(&shared);
            thread::spawn(move || {
                let (subject, atomics) = &*shared;
                let answer = |step| match step {
                    Step::Add(to) => atomics[to].fetch_add(1, Relaxed) as usize,
                    step => subject.answer(step),
                };
                steps.into_iter().map(answer).collect()
            })
        };
        let threads: Vec<_> = program.iter().cloned().map(run).collect();
        let mut answers: Vec<Vec<usize>> =
            threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        answers.push(ITEMS.map(|item| shared.0.answer(Step::Count(item))).to_vec());
        answers
    })
}

#[test]
fn every_outcome_is_explored() {
    let seed = std::env::var("COUCAL_SEED").map_or(1, |seed| seed.parse().expect("a number"));
    let mut drawn = 0_u64;
    let mut below = |end: usize| {
        drawn += 1;
        (StableHashBuilder::new(seed).hash_one(drawn) % end as u64) as usize
    };
    let mut with_clears = 0;
    for number in 0..40 {
        // Two threads of three steps, or three of one or two.
        let lengths: &[usize] = if number % 2 == 0 { &[3, 3] } else { &[1 + number / 2 % 2, 1, 1] };
        let mut steps = |&length: &usize| -> Vec<_> {
            let of: [fn(usize) -> Step; 9] = [
                Step::Insert,
                Step::InsertIfAbsent,
                Step::Remove,
                Step::Contains,
                Step::Count,
                Step::Add,
                |_| Step::Len,
                |_| Step::Snapshot,
                |_| Step::Clear,
            ];
            (0..length).map(|_| of[below(of.len())](ITEMS[below(2)])).collect()
        };
        let program: Vec<_> = lengths.iter().map(&mut steps).collect();
        let found = answers(
            || Filter::with_capacity_and_hasher(100, StableHashBuilder::default()),
            &program,
        );
        let is_cleared = program.iter().flatten().any(|step| matches!(step, Step::Clear));
        with_clears += usize::from(is_cleared);
        let expected =
            [[0, 1], [1, 0]].map(|cleared| answers(move || Plain::new(cleared), &program));
        assert!(expected.contains(&found), "{program:?}: {found:?}, and not {expected:?}");
    }
    assert!((10..40).contains(&with_clears), "{with_clears} programs with a `clear`");
}
