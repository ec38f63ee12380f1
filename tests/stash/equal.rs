//! Equal operations give equal filters, also where one of two was restored in between: so replicas that apply one log
//! agree on every answer and every byte.

use rand::RngExt;
use rand::seq::SliceRandom;

use super::{build, items, kinds, zipf};
use crate::common::{Item, Kind, Layout, random};

of_each_layout!(replicas_agree);

const CAPACITY: usize = 1000;

/// As many items come as go, at a load at which many of them are stashed.
fn are_equal(kind: Kind) {
    let mut random = random(13);
    let (one, mut other) = (build(kind, CAPACITY), build(kind, CAPACITY));
    let mut absent: Vec<Item> = items(2 * CAPACITY, kind, |random| zipf(random, 30));
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
        } else if kind.value_bits > 0 && step % 3 == 0 {
            let new = (item.1 + 1) & kind.top();
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
                other = other.restored(&bytes).expect("a snapshot");
            }
        }
    }
    assert!(most_stashed > 20, "{most_stashed}: {one:?}");
}

fn replicas_agree(layout: Layout) {
    kinds(layout).into_iter().for_each(are_equal);
}
