//! The array of words of a growing table by itself. The models of growth use it, too.

use coucal::probe::PieceArray;
use loom::sync::atomic::Ordering::Relaxed;

use crate::together;

type Array = PieceArray<1>;

/// Reads all words twice.
fn read(array: &Array, is_right: fn(&[u64]) -> bool) {
    for _ in 0..2 {
        let view = array.view();
        let words: Vec<u64> = (0..view.len()).map(|at| view.word(at).load(Relaxed)).collect();
        assert!(is_right(&words), "{words:?}");
    }
}

/// Reads an array of pieces of two words. Each word of a piece was stored before the piece was added, and nothing else
/// orders the two.
fn read_pieces(array: &Array) {
    read(array, |words| words.chunks(2).all(|piece| piece[0] > 0 && piece[0] == piece[1]));
}

fn pieces(array: &Array) -> usize {
    array.view().len() / 2
}

#[test]
fn one_thread_adds() {
    let add: fn(&Array) = |array| array.push([1, 1]);
    together(92, 3, Array::empty, [add, read_pieces], |array| {
        assert_eq!(pieces(array), 1);
    });
}

/// One of the two threads may find that the other is adding a piece, and adds none.
#[test]
fn two_threads_add() {
    let threads: [fn(&Array); 3] =
        [|array| array.push([1, 1]), |array| array.push([2, 2]), read_pieces];
    together(5000, 2, Array::empty, threads, |array| assert!((1..=2).contains(&pieces(array))));
}

/// One thread reads words that were there before, while another adds a piece and with it a new directory: each word is
/// found in both directories.
#[test]
fn a_new_directory() {
    let new = || {
        let array = Array::empty();
        array.push([0, 1]);
        array.push([2, 3]);
        array
    };
    let threads: [fn(&Array); 2] = [
        |array| read(array, |words| words.iter().zip(0..).all(|(&word, at)| word == at)),
        |array| array.push([4, 5]),
    ];
    together(92, 3, new, threads, |_| ());
}

/// One thread reads words while another moves them, and stores more.
#[test]
fn longer_words() {
    let new = || {
        let array = Array::empty();
        array.push([0, 1]);
        array
    };
    let threads: [fn(&Array); 2] = [
        |array| {
            read(array, |words| {
                words.iter().zip(0..).all(|(&word, at)| word == at || at >= 2 && word == 0)
            });
        },
        |array| {
            array.lengthen_to(4);
            (2..4).for_each(|at| array.view().word(at).store(at as u64, Relaxed));
        },
    ];
    together(960, 3, new, threads, |_| ());
}
