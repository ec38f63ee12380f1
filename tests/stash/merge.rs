//! The union of two tables that have stashed entries, or nothing.

use coucal::{CuckooFilter, Error};

use super::{build, empties, holds, items, kinds, zipf};
use crate::common::{HASHER, Item, Kind, Layout, Subject, check_merge, entries};

of_each_layout! {
    the_union_of_both
    what_does_not_fit_changes_nothing
}

const CAPACITY: usize = 3000;

fn filled(kind: Kind, items: &[Item]) -> Box<dyn Subject> {
    let subject = build(kind, CAPACITY);
    for &item in items {
        assert_eq!(subject.insert(item), Ok(()), "{subject:?}");
    }
    assert!(subject.stashed().0 > 0, "{subject:?}");
    subject
}

/// Copies of what is stashed take no room, also if there are as many as slots.
#[test]
fn of_more_copies_than_slots() {
    let [one, other] = [0; 2].map(|_| CuckooFilter::with_capacity_and_hasher(1000, HASHER));
    let copies = || (0..100_u32).flat_map(|key| std::iter::repeat_n(key, 9));
    for filter in [&one, &other] {
        filter.insert_all(copies()).unwrap();
    }
    assert_eq!(one.merge(&other), Ok(()));
    assert!((0..100_u32).all(|key| one.count(&key) >= 18));
    assert!(one.len() == 1800 && one.len() > one.slots());
}

/// Both have items of their own, and items in common; of those that grow, the one has grown further than the other.
fn the_union_of_both(layout: Layout) {
    let all = kinds(layout).into_iter();
    for (kind, factor) in
        all.flat_map(|kind| [Some((kind, 1)), kind.grows.then_some((kind, 8))]).flatten()
    {
        let all = items(CAPACITY, kind, |random| zipf(random, 200));
        let (of_one, of_other) = all.split_at(CAPACITY / (1 + factor));
        // The items in common are the last ones of the first. Of one item there are more than two buckets hold, as in
        // the first.
        let in_common = &of_one[of_one.len() / 2..];
        let of_other = [in_common, &of_other[..CAPACITY / (2 + factor)], &[(1, 0); 20]].concat();
        for [into, from] in [[of_one, &of_other], [&of_other, of_one]] {
            let (one, other) = (filled(kind, into), filled(kind, from));
            check_merge(&*one, &*other);
            let all = [into, from].concat();
            holds(&*one, &all);
            empties(&*one, &all);
        }
    }
}

/// Both are nearly full of different items, and have copies in common that would find room.
fn what_does_not_fit_changes_nothing(layout: Layout) {
    for kind in kinds(layout) {
        let all = items(2 * CAPACITY, kind, |random| zipf(random, 12));
        let copies = [(1, 0); 100];
        let of = |half: &[Item]| [&copies[..], &half[..CAPACITY - copies.len()]].concat();
        let (of_one, of_other) = (of(&all[..CAPACITY]), of(&all[CAPACITY..]));
        let (one, other) = (filled(kind, &of_one), filled(kind, &of_other));
        let (before, of_other_before) = (entries(&*one), other.bytes());
        for _ in 0..2 {
            assert_eq!(one.merge(&*other), Err(Error::Full), "{one:?}, {other:?}");
            assert_eq!(entries(&*one), before);
            assert!(other.bytes() == of_other_before, "the other is as it was");
            holds(&*one, &of_one);
        }
        empties(&*one, &of_one);
    }
}
