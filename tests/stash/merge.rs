//! The union of two tables that have stashed entries, or nothing.

use coucal::Error;
use coucal_reference::{Item, Subject};

use super::{holds, items, value_bits, value_bits_that_grow, zipf};
use crate::common::{Layout, entries};

of_each_layout! {
    the_union_of_both
    what_does_not_fit_changes_nothing
}

of_each_growing_layout! {
    the_union_of_two_that_grow
}

const CAPACITY: usize = 3000;

fn filled<S: Subject>(subject: S, items: &[Item]) -> S {
    for &item in items {
        assert_eq!(subject.insert(item), Ok(()), "{subject:?}");
    }
    subject
}

/// Both have items of their own, and items in common; those of the first are more by `factor`.
fn are_united<S: Subject>(new: impl Fn() -> S, bits: u32, factor: usize) {
    let all = items(CAPACITY, bits, |random| zipf(random, 200));
    let (of_one, of_other) = all.split_at(CAPACITY / (1 + factor));
    // The items in common are the last ones of the first. Of one item there are more than two buckets hold, as in the first.
    let of_other =
        [&of_one[of_one.len() / 2..], &of_other[..CAPACITY / (2 + factor)], &[(1, 0); 20]].concat();
    for [into, from] in [[of_one, &of_other], [&of_other, of_one]] {
        let (one, other) = (filled(new(), into), filled(new(), from));
        assert!(one.stashed().0 > 0 && other.stashed().0 > 0, "{one:?}, {other:?}");
        let mut expected = entries(&one);
        for (entry, copies) in entries(&other) {
            *expected.entry(entry).or_default() += copies;
        }
        let before = other.bytes();
        assert_eq!(one.merge(&other), Ok(()), "{one:?}, {other:?}");
        assert!(other.bytes() == before, "the other is as it was");
        assert_eq!(entries(&one), expected);
        let all = [into, from].concat();
        holds(&one, &all);
        for item in all {
            assert!(one.remove(item), "{item:?} is lost: {one:?}");
        }
        assert!(one.is_empty());
        assert_eq!(one.stashed(), (0, 0));
    }
}

fn the_union_of_both(layout: Layout) {
    let bits = value_bits(layout);
    are_united(|| layout.filter(CAPACITY), 0, 1);
    are_united(|| layout.maplet(CAPACITY, bits), bits, 1);
}

/// The one has grown further than the other.
fn the_union_of_two_that_grow(layout: Layout) {
    let bits = value_bits_that_grow(layout);
    for factor in [1, 8] {
        are_united(|| layout.growing(CAPACITY / 8, CAPACITY), 0, factor);
        are_united(|| layout.growing_maplet(CAPACITY / 8, CAPACITY, bits), bits, factor);
    }
}

/// Both are nearly full of different items, and have copies in common that would find room.
fn is_refused<S: Subject>(new: impl Fn() -> S, bits: u32) {
    let all = items(2 * CAPACITY, bits, |random| zipf(random, 12));
    let copies = [(1, 0); 100];
    let of = |half: &[Item]| [&copies[..], &half[..CAPACITY - copies.len()]].concat();
    let (of_one, of_other) = (of(&all[..CAPACITY]), of(&all[CAPACITY..]));
    let (one, other) = (filled(new(), &of_one), filled(new(), &of_other));
    assert!(one.stashed().0 > 0 && other.stashed().0 > 0, "{one:?}, {other:?}");
    let (before, of_other_before) = (entries(&one), other.bytes());
    for _ in 0..2 {
        assert_eq!(one.merge(&other), Err(Error::Full), "{one:?}, {other:?}");
        assert_eq!(entries(&one), before);
        assert!(other.bytes() == of_other_before, "the other is as it was");
        holds(&one, &of_one);
    }
    for item in of_one {
        assert!(one.remove(item), "{item:?} is lost: {one:?}");
    }
    assert!(one.is_empty());
    assert_eq!(one.stashed(), (0, 0));
}

fn what_does_not_fit_changes_nothing(layout: Layout) {
    of_each_kind!(layout, CAPACITY, |new, bits| is_refused(new, bits));
}
