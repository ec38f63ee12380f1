//! The array of words of a growing table. All other models use boxes in its place.

use std::sync::Arc;

use coucal::probe::PieceArray;
use loom::sync::atomic::Ordering::Relaxed;
use loom::thread;
use loom_tests::model::explore;

const PIECES: usize = 3;

/// Threads add pieces of two words while another one reads all words that are there. Each word of a piece
/// was stored before the piece was added, and nothing else orders the two.
fn additions(threads: u64, floor: usize, preemptions: usize) {
    let execution = move || {
        let array = Arc::new(PieceArray::try_new(1, PIECES).expect("memory for a model"));
        let mut handles: Vec<_> = (0..threads)
            .map(|thread| {
                let array = Arc::clone(&array);
                thread::spawn(move || array.push(PieceArray::piece_of([thread + 1, thread + 1])))
            })
            .collect();
        let read = Arc::clone(&array);
        handles.push(thread::spawn(move || {
            for _ in 0..2 {
                let len = read.len();
                let words: Vec<u64> = (0..len).map(|at| read.word(at).load(Relaxed)).collect();
                let are_whole = words.chunks(2).all(|piece| piece[0] > 0 && piece[0] == piece[1]);
                assert!(are_whole, "{words:?}");
            }
        }));
        for handle in handles {
            handle.join().expect("no thread panics");
        }
        let pieces = array.count() as u64;
        assert!((1..=threads).contains(&pieces) && array.len() as u64 == 2 * pieces);
    };
    explore(floor, preemptions, Box::new(execution));
}

#[test]
fn one_thread_adds() {
    additions(1, 25, 3);
}

/// One of the two may find that the other is adding a piece, and adds none.
#[test]
fn two_threads_add() {
    additions(2, 600, 2);
}
