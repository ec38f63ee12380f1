//! Equal operations give equal filters, also where one of two was restored in between: so replicas that apply one log
//! agree on every answer and every byte.

use coucal_reference::{Item, Subject};
use rand::RngExt;
use rand::seq::SliceRandom;

use super::{items, zipf};
use crate::common::{Layout, random};

of_each_layout!(replicas_agree);

const CAPACITY: usize = 1000;

/// As many items come as go, at a load at which many of them are stashed.
fn are_equal<S: Subject>(new: impl Fn() -> S, bits: u32) {
    let mut random = random(13);
    let (one, mut other) = (new(), new());
    let mut absent: Vec<Item> = items(2 * CAPACITY, bits, |random| zipf(random, 30));
    absent.shuffle(&mut random);
    let mut held: Vec<Item> = Vec::new();
    let mut most_stashed = 0;
    for step in 0..6000 {
        let inserts = held.len() < CAPACITY / 2 || (step / 500 % 2 == 0 && !absent.is_empty());
        let from = if inserts { &mut absent } else { &mut held };
        let item = from.swap_remove(random.random_range(0..from.len()));
        if inserts {
            let stored = one.insert(item);
            assert_eq!(other.insert(item), stored, "step {step}");
            if stored.is_ok() { &mut held } else { &mut absent }.push(item);
        } else if bits > 0 && step % 3 == 0 {
            let new = (item.1 + 1) % (1 << bits);
            assert!(one.replace(item, new) && other.replace(item, new), "step {step}");
            held.push((item.0, new));
        } else {
            assert!(one.remove(item) && other.remove(item), "step {step}");
            absent.push(item);
        }
        most_stashed = one.stashed().0.max(most_stashed);
        if step % 100 == 0 {
            let bytes = one.bytes();
            assert!(other.bytes() == bytes, "step {step}: {one:?}, {other:?}");
            if step % 300 == 0 {
                other = S::restored(&bytes).expect("a snapshot");
            }
        }
    }
    assert!(most_stashed > 20, "{most_stashed}: {one:?}");
}

fn replicas_agree(layout: Layout) {
    of_each_kind!(layout, CAPACITY, |new, bits| are_equal(new, bits));
}
