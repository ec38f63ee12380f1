//! The array of words of a growing table by itself. The models of growth use it, too.

use std::sync::Arc;

use coucal::probe::PieceArray;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use loom_tests::model::{Execution, explore};

/// Threads add pieces of two words while another one reads all words that are there. Each word of a piece
/// was stored before the piece was added, and nothing else orders the two.
fn additions(threads: u64, floor: usize, preemptions: usize) {
    let execution: Execution = Arc::new(move || {
        let array = Arc::new(PieceArray::<1>::empty());
        let mut handles: Vec<_> = (0..threads)
            .map(|thread| {
                let array = Arc::clone(&array);
                thread::spawn(move || array.push([thread + 1, thread + 1]))
            })
            .collect();
        let read = Arc::clone(&array);
        handles.push(thread::spawn(move || {
            for _ in 0..2 {
                let view = read.view();
                let words: Vec<u64> =
                    (0..view.len()).map(|at| view.word(at).load(Relaxed)).collect();
                let are_whole = words.chunks(2).all(|piece| piece[0] > 0 && piece[0] == piece[1]);
                assert!(are_whole, "{words:?}");
            }
        }));
        for handle in handles {
            handle.join().expect("no thread panics");
        }
        let pieces = array.view().len() as u64 / 2;
        assert!((1..=threads).contains(&pieces));
    });
    explore(floor, preemptions, &execution);
}

#[test]
fn one_thread_adds() {
    additions(1, 92, 3);
}

/// One of the two may find that the other is adding a piece, and adds none.
#[test]
fn two_threads_add() {
    additions(2, 5000, 2);
}

/// One thread reads words that were there before, while another adds a piece and with it a new directory:
/// each word is found in either.
#[test]
fn a_new_directory() {
    let execution: Execution = Arc::new(|| {
        let array = Arc::new(PieceArray::<1>::empty());
        array.push([0, 1]);
        array.push([2, 3]);
        let [read, add] = [0; 2].map(|_| Arc::clone(&array));
        let reader = thread::spawn(move || {
            for _ in 0..2 {
                let words = read.view();
                assert!((0..words.len()).all(|at| words.word(at).load(Relaxed) == at as u64));
            }
        });
        let adder = thread::spawn(move || add.push([4, 5]));
        for handle in [reader, adder] {
            handle.join().expect("no thread panics");
        }
    });
    explore(92, 3, &execution);
}

/// One thread reads words while another puts them in another place, and stores more there.
#[test]
fn longer_words() {
    let execution: Execution = Arc::new(|| {
        let array = Arc::new(PieceArray::<1>::empty());
        array.push([0, 1]);
        let [read, lengthen] = [0; 2].map(|_| Arc::clone(&array));
        let reader = thread::spawn(move || {
            for _ in 0..2 {
                let words = read.view();
                let is_right = |at: usize| {
                    let word = words.word(at).load(Relaxed);
                    word == at as u64 || at >= 2 && word == 0
                };
                assert!((0..words.len()).all(is_right));
            }
        });
        let writer = thread::spawn(move || {
            lengthen.lengthen_to(4);
            for at in 2..4 {
                lengthen.view().word(at).store(at as u64, Relaxed);
            }
        });
        for handle in [reader, writer] {
            handle.join().expect("no thread panics");
        }
    });
    explore(1, 3, &execution);
}
