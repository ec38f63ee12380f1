//! Merging one filter into another: the union of multisets, or nothing. Random merges are in `operations` and in
//! `exact`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use coucal::{
    CuckooFilter, CuckooMaplet, DefaultHashBuilder, Error, Fp8x8, Fp12x5, Fp16x4, Growable,
    GrowableCuckooFilter, GrowableCuckooMaplet, StableHashBuilder, Storage,
};

use crate::common::{
    Filter, Growing, HASHER, Item, Kind, Layout, check_merge, default_layout, hashes, usually,
    widths,
};

of_each_layout!(to_the_last_slot);

of_each_growing_layout!(the_union_of_any_sizes);

of_each_growing_layout!(rates_add_up);

fn fill<L: Storage>(filter: &Filter<L>, items: impl Iterator<Item = u64>) {
    items.for_each(|item| filter.insert(&item).expect("room for the items of a test"));
}

/// If a whole is merged from many small parts, a part is refused before the whole can no longer hold what it was built
/// for. A part that is built for the whole is never refused.
#[test]
fn parts_of_a_whole() {
    const PARTS: u64 = 400;
    let builder = || GrowableCuckooFilter::builder().hasher(HASHER);
    let items = |part: u64| part * 300..(part + 1) * 300;
    let merged = |whole: &Filter<Growable<Fp16x4>>, part: u64, capacity: usize| {
        let filter = builder().capacity(capacity).build().expect("a part");
        filter.insert_all(items(part)).expect("room in a part");
        whole.merge(&filter)
    };
    let least = items(PARTS).end as usize;
    for max_capacity in [None, Some(least), Some(8 * least)] {
        let build =
            || max_capacity.map_or(builder(), |items| builder().max_capacity(items)).build();
        let whole = build().expect("the whole");
        let parts = (0..PARTS).take_while(|&part| match merged(&whole, part, 0) {
            Ok(()) => true,
            Err(error) => {
                assert_eq!(
                    (error, whole.len()),
                    (Error::OtherTooSmall, items(part).start as usize)
                );
                false
            }
        });
        let parts = parts.count() as u64;
        // The parts with the smallest maximum know enough.
        assert_eq!(
            parts == PARTS,
            max_capacity == Some(least),
            "{parts} of at most {max_capacity:?}"
        );
        whole
            .insert_all(items(parts).start..max_capacity.unwrap_or(8 * least) as u64)
            .expect("room");
        let whole = build().expect("the whole");
        whole.reserve(least).expect("room");
        assert!((0..PARTS).all(|part| merged(&whole, part, least) == Ok(())));
    }
}

/// Some twenty filters of one size that grew from the smallest one can be merged.
#[test]
fn parts_that_grew() {
    const ITEMS: u64 = 30_000;
    let build = || GrowableCuckooFilter::builder().hasher(HASHER).build().expect("a filter");
    let whole = build();
    let parts = (0..100).take_while(|part| {
        let filter = build();
        filter.insert_all(part * ITEMS..(part + 1) * ITEMS).expect("room in a part");
        whole.merge(&filter).is_ok()
    });
    let parts = parts.count();
    assert!((18..36).contains(&parts), "{parts} parts");
}

/// The prediction includes what was merged: right after merges it is the rate of the words, and from then on it rises
/// as much as without them.
fn rates_add_up(layout: Layout) {
    const PARTS: u64 = 12;
    // Of larger filters with 12 bits per slot, fewer can be merged.
    let items = if layout.bits == 12 { 5_000 } else { usually(5_000, 50_000) };
    let build = || layout.growing_filters().build().expect("a filter");
    let (whole, one_filter) = (build(), build());
    for part in 0..PARTS {
        let filter = build();
        fill(&filter, part * items..(part + 1) * items);
        fill(&one_filter, part * items..(part + 1) * items);
        whole.merge(&filter).expect("few parts");
    }
    let all = (PARTS * items) as usize;
    assert_eq!(whole.len(), all);
    let [said, merged, inserted] = [
        whole.false_positive_rate_at(all),
        whole.false_positive_rate(),
        one_filter.false_positive_rate_at(all),
    ];
    assert!((said / merged - 1.0).abs() < 0.1, "{said}, {merged}");
    assert!(said > 4.0 * inserted, "{said}, {inserted}");
    let grown = |filter: &Growing| {
        let rate = |items| (1.0 - filter.false_positive_rate_at(items)).ln();
        rate(all) - rate(8 * all)
    };
    assert!((grown(&whole) / grown(&one_filter) - 1.0).abs() < 1e-6);
    let copy = whole.try_clone().expect("memory");
    assert_eq!(copy.false_positive_rate_at(all).to_bits(), said.to_bits());
    whole.clear();
    assert_eq!(whole.false_positive_rate_at(all).to_bits(), inserted.to_bits());
}

/// A filter that has grown already does not lose the room for its maximum to entries that were doubled when they were
/// merged, or before.
#[test]
fn merges_into_a_grown_filter_leave_room() {
    const ALL: usize = 200_000;
    type Part = Filter<Growable<Fp12x5>>;
    let build = || -> Part {
        let builder = GrowableCuckooFilter::builder().max_capacity(ALL).layout::<Fp12x5>();
        builder.hasher(HASHER).build().expect("a filter")
    };
    let part = |number: u64| -> Part {
        let builder = GrowableCuckooFilter::builder().layout::<Fp12x5>();
        let filter = builder.hasher(HASHER).build().expect("a filter");
        fill(&filter, (1 << 40) + number * 100..(1 << 40) + (number + 1) * 100);
        filter
    };
    let grown = |number: u64| {
        let filter = build();
        filter.reserve(ALL).expect("room");
        let merged = (0..10).take_while(|at| filter.merge(&part(number * 10 + at)).is_ok());
        assert_eq!(merged.count(), 10);
        filter
    };
    let check = |name: &str, number: u64, part: &dyn Fn(u64) -> Part| {
        let whole = build();
        whole.reserve(ALL).expect("room");
        let merged = (0..number).filter(|&number| whole.merge(&part(number)).is_ok()).count();
        assert!((1..number as usize).contains(&merged), "{merged} {name}");
        let left = ALL - whole.len();
        fill(&whole, 0..left as u64);
        assert_eq!(whole.len(), ALL, "{name}");
        merged
    };
    let (small, grown) = (check("small parts", 60, &part), check("grown parts", 6, &grown));
    assert!(10 * grown <= small, "{grown} parts of ten, and {small} of one");
}

/// Entries that know many bits, and that are removed again, do not let later merges exceed the rate.
#[test]
fn a_rate_is_kept_after_a_merge_that_was_taken_back() {
    const ALL: usize = 100_000;
    let builder = || GrowableCuckooFilter::builder().max_capacity(ALL).hasher(HASHER);
    let small = || builder().capacity(100);
    let rate = 1.05 * small().figures(ALL).expect("figures").false_positive_rate;
    let part = |number: u64| {
        let filter = small().build().expect("a filter");
        fill(&filter, number * 10_000..(number + 1) * 10_000);
        filter
    };
    let light = builder().capacity(ALL).build().expect("a filter");
    fill(&light, 1_000_000..1_060_000);
    let merged = [false, true].map(|with_light| {
        let whole = small().false_positive_rate(rate).build().expect("a filter");
        if with_light {
            whole.merge(&light).expect("few bits");
            assert_eq!(whole.unmerge(&light), Ok(0));
            assert!(whole.is_empty());
        }
        (1..4).filter(|&number| whole.merge(&part(number)).is_ok()).count()
    });
    assert!(merged[0] > 0 && merged[1] <= merged[0], "{merged:?}");
}

/// Merges keep a rate that was given to the builder, or they fail and change nothing. Of small filters only some can be
/// merged; of filters that were built for all items, all can.
#[test]
fn a_rate_that_was_given_is_kept() {
    const PARTS: u64 = 100;
    let all = 100 * 200;
    let builder = || GrowableCuckooFilter::builder().max_capacity(all).hasher(HASHER);
    let rate = 1.5 * builder().capacity(all).figures(all).expect("figures").false_positive_rate;
    for (capacity, merges) in [(0, 1..PARTS), (all, PARTS..PARTS + 1)] {
        let whole = builder().capacity(all).false_positive_rate(rate).build().expect("a filter");
        let part = |part: u64| {
            let filter = builder().capacity(capacity).build().expect("a part");
            fill(&filter, part * 200..(part + 1) * 200);
            filter
        };
        let merge = |number: &u64| {
            let before = whole.snapshot().expect("memory").into_bytes();
            let merged = whole.merge(&part(*number));
            assert!(whole.false_positive_rate_at(all) <= rate);
            if let Err(error) = &merged {
                let Error::MergedRateTooHigh { one_in, .. } = *error else { panic!("{error}") };
                assert!(1.0 / (one_in as f64) > rate);
                assert!(whole.snapshot().expect("memory").as_bytes() == before);
            }
            merged.is_ok()
        };
        let merged = (0..PARTS).take_while(merge).count() as u64;
        assert!(merges.contains(&merged), "{merged} parts of {capacity}");
        if merged == PARTS {
            continue;
        }
        // A clone keeps the rate, too. A snapshot does not have it, and a cleared filter has room for the same items
        // again.
        let copy = whole.try_clone().expect("memory");
        let is_broken = Err(whole.merge(&part(merged)).expect_err("too high a rate"));
        assert_eq!(copy.merge(&part(merged)), is_broken);
        let bytes = whole.snapshot().expect("memory").into_bytes();
        let restored = Filter::<Growable<Fp16x4>>::from_bytes(&bytes, HASHER).expect("its bytes");
        assert_eq!(restored.merge(&part(merged)), Ok(()));
        whole.clear();
        assert_eq!((0..PARTS).take_while(merge).count() as u64, merged);
    }
}

/// Growth with long values ends early, and above 2^40 pairs. The rate is checked for as many pairs as a merge checks it
/// for.
#[test]
fn a_rate_that_was_given_admits_the_merge_of_nothing() {
    for (bits, capacity) in [(5, 1_000_000), (6, 1_000_000)] {
        let builder = GrowableCuckooMaplet::builder().layout::<Fp16x4>().value_bits(bits);
        let builder = builder.capacity(capacity).hasher(HASHER);
        let built = |thousandths: u32| {
            let builder = builder.clone().false_positive_rate(f64::from(thousandths) / 1000.0);
            builder.build().ok()
        };
        let maplet = (1..1000).find_map(built).expect("a rate that is reached");
        let nothing = builder.clone().build().expect("no rate");
        assert_eq!(maplet.merge(&nothing), Ok(()), "{bits} bits");
    }
}

/// More answers than lookups are said as one in one.
#[test]
fn a_rate_above_one_is_said_as_one_in_one() {
    let new = || {
        let builder = CuckooMaplet::builder().layout::<Fp8x8>().value_bits(3).hasher(HASHER);
        builder.capacity(10_000).false_positive_rate(0.6).build().expect("a maplet")
    };
    let [ours, theirs] = [new(), new()];
    for (maplet, first) in [(&ours, 0), (&theirs, 10_000)] {
        maplet.insert_all((first..first + 10_000).map(|key| (key, 1))).expect("room");
    }
    let error = ours.merge(&theirs).expect_err("too high a rate");
    assert!(matches!(error, Error::MergedRateTooHigh { one_in: 1, .. }), "{error}");
}

/// A filter of fixed size keeps its rate up to its capacity, and a little beyond if its table is larger than necessary.
#[test]
fn a_rate_that_was_given_is_kept_in_a_fixed_filter() {
    let builder = CuckooFilter::builder().capacity(1000).hasher(HASHER);
    let reached = builder.figures(1000).expect("figures").false_positive_rate;
    let build = |rate, items| {
        let filter = builder.clone().false_positive_rate(rate).build().expect("a filter");
        fill(&filter, items);
        filter
    };
    for (rate, most) in [(reached, 1000), (1.01 * reached, 1010)] {
        let whole = build(rate, 0..500);
        whole.merge(&build(rate, 500..most)).expect("as many as it is for");
        let before = whole.snapshot().expect("memory").into_bytes();
        let error = whole.merge(&build(rate, most..most + 1)).expect_err("one more");
        let is_above = |one_in| 1.0 / one_in as f64 > rate;
        assert!(matches!(error, Error::MergedRateTooHigh { one_in, .. } if is_above(one_in)));
        assert!(whole.snapshot().expect("memory").as_bytes() == before);
        // This builder has promised no rate.
        let other = builder.clone().build().expect("a filter");
        fill(&other, 0..most);
        assert_eq!(other.merge(&build(rate, most..most + 1)), Ok(()));
    }
}

/// Growing filters: one began larger than the other, or has grown further, or has no maximum.
fn the_union_of_any_sizes(layout: Layout) {
    let endless = || layout.growing_filters().build().unwrap();
    let builds: [&dyn Fn() -> Growing; 4] =
        [&|| layout.growing(1, 10_000), &|| layout.growing(300, 20_000), &endless, &|| {
            layout.growing(3000, 3000)
        }];
    let pairs = builds.iter().flat_map(|&one| builds.map(|other| (one, other)));
    let counts = [(10, 2000), (2000, 10), (900, 1100)];
    let small = pairs.flat_map(|pair| counts.map(|counts| (pair, counts)));
    let larger = [0, 1, 3000, usually(10_000, 500_000)];
    let larger = larger.iter().flat_map(|&one| larger.map(|other| (one, other)));
    let large = larger.map(|counts| ((builds[2], builds[2]), counts));
    for ((one, other), (of_one, of_other)) in small.chain(large) {
        let (one, other) = (one(), other());
        let (items, more) = (of_one + of_other, 1_000_000..1_000_300);
        fill(&one, 0..of_one);
        fill(&other, of_one..items);
        let before = other.snapshot().unwrap();
        one.merge(&other).unwrap();
        assert!(other.snapshot().unwrap().as_bytes() == before.as_bytes(), "it is as it was");
        assert_eq!(one.len() as u64, items);
        assert!((0..items).all(|item| one.contains(&item)), "{one:?}");
        let found = (2_000_000..2_010_000_u64).filter(|item| one.contains(item)).count() as f64;
        let stated = 10_000.0 * one.false_positive_rate();
        assert!((found - stated).abs() < 10.0 + 0.3 * stated, "{found}, {stated}");
        // A filter that is restored from it is the same. It grows on, and all items can be removed.
        let bytes = one.snapshot().unwrap().into_bytes();
        let restored = Growing::from_bytes(&bytes, HASHER).unwrap();
        let more = if restored.max_capacity() > 3000 { more } else { 0..0 };
        fill(&restored, more.clone());
        assert!((of_one..items).all(|item| restored.remove(&item)));
        assert!((0..of_one).chain(more.clone()).all(|item| restored.contains(&item)));
        assert!((0..of_one).chain(more).all(|item| restored.remove(&item)));
        assert!(restored.is_empty());
    }
}

/// Two buckets hold any items for which they have slots, and not one more: a merge stores all of them, or nothing.
fn to_the_last_slot(layout: Layout) {
    for kind in Kind::all(layout, widths).into_iter().filter(|kind| !kind.grows) {
        let items: Vec<Item> =
            hashes(1).take(4 * layout.slots).map(|hash| (hash, 1 & kind.top())).collect();
        let [one, other] = [0; 2].map(|_| kind.build(0, 0));
        one.insert_many(&items[..layout.slots]).expect("a slot for each");
        other.insert_many(&items[layout.slots..2 * layout.slots]).expect("a slot for each");
        check_merge(&*one, &*other);
        assert_eq!(one.len(), one.slots());
        let before = one.bytes();
        other.clear();
        other.insert(items[3 * layout.slots]).expect("a slot");
        assert_eq!(one.merge(&*other), Err(Error::Full));
        assert!(one.bytes() == before && other.len() == 1);
    }
}

#[test]
fn into_itself() {
    let filter = default_layout().filter(1000);
    fill(&filter, 0..300);
    filter.merge(&filter).unwrap();
    assert!((0..300_u64).all(|item| filter.count(&item) >= 2));
    assert_eq!(filter.len(), 600);
}

#[test]
fn filters_that_differ_are_not_merged() {
    let filter = default_layout().filter(1000);
    fill(&filter, 0..10);
    let error = filter.merge(&default_layout().filter(2000)).unwrap_err();
    assert!(matches!(error, Error::OtherSize { slots, other, .. } if slots < other), "{error}");
    assert!(error.to_string().contains("build both with the same `capacity`"), "{error}");

    let other_seed = default_layout().filters().capacity(1000).hasher(StableHashBuilder::new(8));
    let error = filter.merge(&other_seed.build().unwrap()).unwrap_err();
    assert_eq!(error, Error::OtherHasher);
    assert!(error.to_string().contains("a clone of"), "{error}");
    let [one, other] =
        [0; 2].map(|_| CuckooFilter::with_capacity_and_hasher(1000, DefaultHashBuilder::default()));
    assert_eq!(one.merge(&other), Err(Error::OtherHasher));

    let [one, other] = [1, 2].map(|bits| default_layout().maplet(100, bits));
    let error = one.merge(&other).unwrap_err();
    assert!(matches!(error, Error::OtherValueBits { value_bits: 1, other: 2, .. }), "{error}");

    let [one, other] = ["Fp12x5", "Fp16x4"].map(|name| Layout::named(name).filter(1000));
    let error = one.merge(&other).unwrap_err();
    let is_named = matches!(error, Error::OtherLayout { layout: "Fp12x5", other: "Fp16x4", .. });
    assert!(is_named, "{error}");
    assert_eq!(filter.len(), 10);
}

/// A merge while other threads use both filters: settled items of this filter are found throughout, items that are
/// inserted and removed meanwhile are counted exactly, and settled items of the other filter are there afterwards.
///
/// A short merge may be over before another thread gets to run. So it is repeated until each of the other threads has
/// begun and ended an operation during ten merges.
#[test]
fn while_others_use_both() {
    let mut overlaps = [0; 3];
    let mut rounds = 0;
    while overlaps.iter().any(|&merges| merges < 10) {
        rounds += 1;
        assert!(rounds < 2000, "the other threads wait for a merge: {overlaps:?}");
        let [one, other] = [0; 2].map(|_| default_layout().growing(1000, 40_000));
        fill(&one, 0..10_000);
        fill(&other, 10_000..20_000);
        let stop = AtomicBool::new(false);
        // The number of operations of each of the other threads.
        let operations = [const { AtomicUsize::new(0) }; 3];
        let count = || operations.each_ref().map(|of| of.load(Ordering::Relaxed));
        thread::scope(|scope| {
            for (filter, operations) in [&one, &other].into_iter().zip(&operations) {
                let stop = &stop;
                scope.spawn(move || {
                    let counted = || operations.fetch_add(1, Ordering::Relaxed);
                    let coming_and_going = 30_000..31_000_u64;
                    while !stop.load(Ordering::Relaxed) {
                        for item in coming_and_going.clone() {
                            filter.insert(&item).expect("there is room");
                            counted();
                        }
                        assert!(coming_and_going.clone().all(|item| filter.contains(&item)));
                        for item in coming_and_going.clone() {
                            assert!(filter.remove(&item), "{item} is lost");
                            counted();
                        }
                    }
                });
            }
            scope.spawn(|| {
                for item in (0..10_000_u64).cycle() {
                    assert!(one.contains(&item), "a settled item is missed");
                    operations[2].fetch_add(1, Ordering::Relaxed);
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            while count().contains(&0) {
                thread::yield_now();
            }
            let before = count();
            one.merge(&other).unwrap();
            let after = count();
            stop.store(true, Ordering::Relaxed);
            // The first of two operations may have begun before the merge.
            for (overlaps, (before, after)) in overlaps.iter_mut().zip(before.iter().zip(after)) {
                *overlaps += usize::from(after >= before + 2);
            }
        });
        assert!((0..20_000_u64).all(|item| one.contains(&item)));
        // The image of the other filter may contain any of the items that were inserted and removed meanwhile.
        assert!((20_000..=21_000).contains(&one.len()), "{}", one.len());
        assert_eq!(other.len(), 10_000);
    }
    println!("{rounds} merges, beside the others {overlaps:?}");
}

/// Without a maximum, a merge checks the rate for as many items as the builder does.
#[test]
fn a_rate_without_a_maximum_admits_a_merge() {
    let builder = || GrowableCuckooFilter::builder().hasher(HASHER);
    let built = |n: u32| builder().false_positive_rate(f64::from(n) / 10_000.0).build().ok();
    let whole = (1..1000).find_map(built).expect("a rate that is reached");
    let part = builder().build().expect("no rate");
    fill(&part, 0..300);
    assert_eq!(whole.merge(&part), Ok(()));
}

/// A merge keeps the rate also beyond the maximum capacity, where there is room.
#[test]
fn a_rate_is_kept_beyond_the_maximum_capacity() {
    const ALL: usize = 20_000;
    let builder = || GrowableCuckooFilter::builder().capacity(ALL).max_capacity(ALL).hasher(HASHER);
    let rate = 1.02 * builder().figures(ALL).expect("figures").false_positive_rate;
    let whole = builder().false_positive_rate(rate).build().expect("a filter");
    let more = builder().build().expect("a filter");
    fill(&whole, 0..ALL as u64);
    fill(&more, 100_000..101_000);
    let error = whole.merge(&more).expect_err("too high a rate");
    assert!(matches!(error, Error::MergedRateTooHigh { .. }), "{error}");
    assert_eq!(whole.len(), ALL);
}
