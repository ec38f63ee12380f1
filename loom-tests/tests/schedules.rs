//! Tests of loom itself, as `--bin models` mends it: small programs, whose outcomes are compared with those of every
//! schedule within the bound of preemptions.
//!
//! `COUCAL_PROGRAMS` sets the number of random programs.
#![cfg(all(coucal_model, feature = "mended-loom"))]

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as Collected};
use std::{env, mem};

use Step::*;
use loom::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::atomic::{AtomicU32, fence};
use loom::sync::{Mutex, RwLock};
use loom::thread;
use rand::rngs::Xoshiro256PlusPlus as Random;
use rand::{RngExt, SeedableRng};

/// A step of a thread of a program. The first number is that of a word, or of a mutex.
#[derive(Clone, Debug)]
enum Step {
    Load(usize, Ordering),
    Store(usize, u32, Ordering),
    Add(usize, u32, Ordering),
    /// Stores the second value if the word has the first.
    Exchange(usize, u32, u32, Ordering),
    Fence(Ordering),
    Yield,
    /// Does these steps under a lock.
    Lock(usize, Vec<Step>),
    TryLock(usize, Vec<Step>),
    Read(Vec<Step>),
    Write(Vec<Step>),
}

/// What the threads share. The words are 0 at the start.
struct Shared {
    words: [AtomicU32; 2],
    mutexes: [Mutex<()>; 2],
    rwlock: RwLock<()>,
}

/// The results of each thread, and the words at the end.
type Outcome = Vec<Vec<u32>>;

fn run(steps: &[Step], shared: &Shared, results: &mut Vec<u32>) {
    let Shared { words, mutexes, rwlock } = shared;
    for step in steps {
        match *step {
            Load(word, order) => results.push(words[word].load(order)),
            Store(word, value, order) => words[word].store(value, order),
            Add(word, value, order) => results.push(words[word].fetch_add(value, order)),
            Exchange(word, old, new, order) => {
                let before = words[word].compare_exchange(old, new, order, Relaxed);
                results.push(before.unwrap_or_else(|before| before));
            }
            Fence(order) => fence(order),
            Yield => thread::yield_now(),
            Lock(mutex, ref steps) => {
                let _guard = mutexes[mutex].lock();
                run(steps, shared, results);
            }
            TryLock(mutex, ref steps) => {
                let guard = mutexes[mutex].try_lock();
                results.push(guard.is_ok().into());
                if guard.is_ok() {
                    run(steps, shared, results);
                }
            }
            Read(ref steps) => {
                let _guard = rwlock.read();
                run(steps, shared, results);
            }
            Write(ref steps) => {
                let _guard = rwlock.write();
                run(steps, shared, results);
            }
        }
    }
}

#[derive(Clone, Debug)]
struct Program {
    threads: Vec<Vec<Step>>,
    preemptions: usize,
    /// Whether the first of the threads starts the others.
    main: bool,
}

impl Program {
    fn outcomes(&self, every_schedule: bool) -> BTreeSet<Outcome> {
        let outcomes = Arc::new(Collected::<BTreeSet<_>>::default());
        let (collected, program) = (Arc::clone(&outcomes), self.clone());
        let mut builder = loom::model::Builder::new();
        builder.preemption_bound = Some(self.preemptions);
        builder.every_schedule = every_schedule;
        builder.check(move || {
            let outcome = program.execute();
            collected.lock().expect("no panic").insert(outcome);
        });
        mem::take(&mut outcomes.lock().expect("no panic"))
    }

    fn execute(&self) -> Outcome {
        let shared = Arc::new(Shared {
            words: [0; 2].map(AtomicU32::new),
            mutexes: [(); 2].map(Mutex::new),
            rwlock: RwLock::new(()),
        });
        let body = |steps: &Vec<Step>| {
            let (steps, shared) = (steps.clone(), Arc::clone(&shared));
            move || {
                let mut results = Vec::new();
                run(&steps, &shared, &mut results);
                results
            }
        };
        let (main, others) = self.threads.split_at(self.main.into());
        let others: Vec<_> = others.iter().map(|steps| thread::spawn(body(steps))).collect();
        let mut outcome: Outcome = main.iter().map(|steps| body(steps)()).collect();
        outcome.extend(others.into_iter().map(|thread| thread.join().expect("no panic")));
        outcome.push(shared.words.iter().map(|word| word.load(Relaxed)).collect());
        outcome
    }
}

/// A generator of random programs. Each store has a value of its own.
struct Chance {
    random: Random,
    value: u32,
    /// The number of steps that are left to the present thread.
    steps: u32,
}

impl Chance {
    /// Generates a program without yields: what loom leaves out after a yield, it leaves out on purpose.
    fn program(seed: u64) -> Program {
        let mut chance = Self { random: Random::seed_from_u64(seed), value: 0, steps: 0 };
        let threads = chance.random.random_range(2..=3);
        let most = if threads == 2 { 7 } else { 4 };
        let thread = |_| {
            chance.steps = chance.random.random_range(1..=most);
            chance.steps_of(most, 0)
        };
        let threads = (0..threads).map(thread).collect();
        Program {
            threads,
            preemptions: chance.random.random_range(0..=2),
            main: chance.random.random(),
        }
    }

    /// Generates up to `most` steps, or as many as are left. Only the mutexes `unlocked..2` may be locked, in this
    /// order.
    fn steps_of(&mut self, most: u32, unlocked: usize) -> Vec<Step> {
        let steps = self.steps.min(most);
        let mut done = Vec::new();
        while self.steps > 0 && done.len() < steps as usize {
            done.push(self.step(unlocked));
        }
        done
    }

    fn step(&mut self, unlocked: usize) -> Step {
        self.steps -= 1;
        self.value += 1;
        let (word, value) = (self.random.random_range(0..2), self.value);
        let kind = self.random.random_range(0..if unlocked < 2 { 9 } else { 5 });
        let mut one_of = |orders: &[Ordering]| orders[self.random.random_range(0..orders.len())];
        match kind {
            0 => Load(word, one_of(&[Relaxed, Acquire, SeqCst])),
            1 => Store(word, value, one_of(&[Relaxed, Release, SeqCst])),
            2 => Add(word, 16 << value, one_of(&[Relaxed, AcqRel, SeqCst])),
            3 => {
                let order = one_of(&[Relaxed, AcqRel, SeqCst]);
                Exchange(word, self.random.random_range(0..value), value, order)
            }
            4 => Fence(one_of(&[Acquire, Release, SeqCst, SeqCst])),
            _ => {
                let mutex = self.random.random_range(unlocked..2);
                let most = self.random.random_range(0..=2);
                let mut under = |unlocked| self.steps_of(most, unlocked);
                match kind {
                    5 => Lock(mutex, under(mutex + 1)),
                    6 => TryLock(mutex, under(mutex + 1)),
                    7 => Read(under(2)),
                    _ => Write(under(2)),
                }
            }
        }
    }
}

#[test]
fn random_programs() {
    let number = |name, usual| {
        env::var(name).map_or(usual, |number| number.parse().expect("a number of 64 bits"))
    };
    let (seed, programs) = (number("COUCAL_SEED", 1), number("COUCAL_PROGRAMS", 200));
    let mut missed = 0;
    for number in 0..programs {
        let program = Chance::program((seed << 32) + number);
        let [explored, all] = [false, true].map(|every| program.outcomes(every));
        if explored != all {
            let outcome = all.symmetric_difference(&explored).next();
            println!("{number}: {program:?}: {outcome:?}");
            missed += 1;
        }
    }
    assert!(
        missed == 0,
        "loom misses outcomes of {missed} of {programs} programs (COUCAL_SEED={seed})"
    );
}

/// Makes a program of threads that another thread starts.
fn program<const N: usize>(preemptions: usize, threads: [Vec<Step>; N]) -> Program {
    Program { threads: threads.into(), preemptions, main: false }
}

#[track_caller]
fn finds<const N: usize>(program: &Program, outcome: [&[u32]; N]) {
    let outcome: Outcome = outcome.map(Into::into).into();
    let outcomes = program.outcomes(false);
    assert!(outcomes.contains(&outcome), "{outcomes:?}");
}

#[test]
fn load_after_a_store_of_a_thread_that_loads_first() {
    let first = vec![Add(1, 16, Relaxed), Load(0, Relaxed)];
    let second = vec![Add(1, 32, Relaxed), Load(0, Relaxed), Store(0, 1, Relaxed)];
    finds(&program(1, [first, second]), [&[0, 1], &[16, 0], &[1, 48]]);
}

#[test]
fn any_thread_is_next_when_one_has_ended() {
    let threads = [vec![Load(1, Relaxed)], vec![Load(0, Relaxed)], vec![Store(0, 1, Relaxed)]];
    finds(&program(0, threads), [&[0], &[1], &[], &[1, 0]]);
}

#[test]
fn any_thread_is_first() {
    let threads = [vec![Load(0, Relaxed)], vec![Store(0, 1, Relaxed)]];
    finds(&program(0, threads), [&[1], &[], &[1, 0]]);
}

/// The main thread is preempted while it holds the mutex. It goes on when the other thread waits.
#[test]
fn preemption_of_the_holder_of_a_lock() {
    for lock in [|steps| Lock(0, steps), Write] {
        let main = vec![lock(vec![Load(0, Relaxed)]), Store(1, 1, Relaxed)];
        let other = vec![Add(1, 16, Relaxed), lock(vec![Load(1, Relaxed)])];
        let program = Program { main: true, ..program(1, [main, other]) };
        finds(&program, [&[0], &[0, 1], &[0, 1]]);
    }
}

#[test]
fn try_beside_the_holder_of_a_lock() {
    let threads = [vec![Lock(0, vec![])], vec![TryLock(0, vec![])]];
    finds(&program(1, threads), [&[], &[0], &[0, 0]]);
}

/// The second thread is about to try when the first one locks the mutex.
#[test]
fn who_tries_does_not_wait() {
    let holder = vec![Add(1, 256, Relaxed), Lock(0, vec![])];
    let other = vec![Add(1, 16, Relaxed), TryLock(0, vec![])];
    finds(&program(2, [holder, other]), [&[16], &[0, 0], &[0, 272]]);
}

#[test]
fn two_that_read_under_a_lock_in_no_order() {
    let first = vec![Read(vec![Store(0, 1, Relaxed)]), Add(1, 16, Relaxed)];
    let second = vec![Load(1, Relaxed), Read(vec![Load(0, Relaxed)])];
    finds(&program(1, [first, second]), [&[0], &[16, 0], &[1, 16]]);
}

/// The first thread's fence is the later one, so it orders nothing.
#[test]
fn fences_in_either_order() {
    let first = vec![Store(0, 1, Relaxed), Store(1, 1, Relaxed), Fence(SeqCst)];
    let second = vec![Load(1, Relaxed), Fence(SeqCst), Load(0, Relaxed)];
    finds(&program(1, [first, second]), [&[], &[1, 0], &[1, 1]]);
}

/// The loads of all threads have one order, whatever the ordering of the stores. And a store hides the initial value.
#[test]
fn seq_cst_loads_agree() {
    let threads = [
        vec![Store(0, 1, Relaxed)],
        vec![Store(1, 1, SeqCst)],
        vec![Load(0, SeqCst), Load(1, SeqCst)],
        vec![Load(1, SeqCst), Load(0, SeqCst)],
    ];
    let outcomes = program(2, threads).outcomes(false);
    let looks: BTreeSet<_> = outcomes.iter().map(|outcome| [&*outcome[2], &*outcome[3]]).collect();
    let seen = [[0, 0], [0, 1], [1, 0], [1, 1]];
    let pairs = seen.iter().flat_map(|first| seen.iter().map(move |second| [&first[..], second]));
    assert!(looks.into_iter().eq(pairs.filter(|pair| *pair != [[1, 0], [1, 0]])));
}

/// The second thread reads 3, stores 2, and must not read 3 again: that store is older than its own.
#[test]
fn order_of_stores_is_transitive() {
    let threads = [
        vec![Store(0, 1, Relaxed), Load(0, Relaxed)],
        vec![Load(0, Relaxed), Store(0, 2, Relaxed), Load(0, Relaxed)],
        vec![Store(0, 3, Relaxed)],
    ];
    for outcome in program(2, threads).outcomes(false) {
        assert!(outcome[1] != [3, 3], "{outcome:?}");
    }
}

/// The first thread yields to the third one, and then comes before the second one.
#[test]
fn where_a_thread_has_yielded_all_others_are_tried() {
    let first = vec![Yield, Add(0, 16, Relaxed)];
    let threads = [first, vec![Store(0, 1, Relaxed)], vec![Load(1, Relaxed)]];
    finds(&program(0, threads), [&[0], &[], &[0], &[1, 0]]);
}
