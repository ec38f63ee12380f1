//! Keys with several values, and items with several copies, in tables that are built for them.

use coucal::{CuckooMaplet, Error, Figures};
use coucal_reference::format::{ROOMY, ReadError, at, forged, number, put};
use coucal_reference::judged;

use crate::common::{Item, LAYOUTS, Layout, Subject, default_layout, hashes, scatter, usually};

of_each_layout! {
    no_more_is_stashed_than_is_said
    a_table_for_several_values_is_restored
}

/// Builds a table for keys with `per_key` values: a filter, or a maplet with values of `value_bits` bits.
fn built(
    layout: Layout,
    pairs: usize,
    per_key: u32,
    value_bits: u32,
) -> Result<(Box<dyn Subject>, Figures), Error> {
    if value_bits == 0 {
        let builder = layout.filters().copies_per_item(per_key).capacity(pairs);
        let figures = builder.figures(pairs)?;
        return Ok((Box::new(builder.build()?), figures));
    }
    let builder = layout.maplets(value_bits).values_per_key(per_key).capacity(pairs);
    let figures = builder.figures(pairs)?;
    Ok((Box::new(builder.build()?), figures))
}

/// Makes `count` pairs, with `per_key` pairs for each key. Their values differ, as far as there are different values.
fn pairs(count: usize, per_key: u32, value_bits: u32) -> Vec<Item> {
    let top = (1 << value_bits) - 1;
    let values = |hash| (0..per_key).map(move |n| (hash, n & top));
    hashes(3).flat_map(values).take(count).collect()
}

/// At the capacity, if keys have as many values as the builder was told, no more is stashed than `figures` states. A
/// table that was not told stashes several times as much.
fn no_more_is_stashed_than_is_said(layout: Layout) {
    let (slots, count) = (layout.slots as u32, usually(20_000, 200_000));
    let of_maplet = layout.longest_values().min(5);
    for per_key in [1, 2, 3, slots, slots + 1, 2 * slots, 4 * slots] {
        for value_bits in [0, of_maplet] {
            let share = |hint: u32| {
                let (subject, figures) = built(layout, count, hint, value_bits).unwrap();
                assert_eq!(subject.insert_many(&pairs(count, per_key, value_bits)), Ok(()));
                (subject.stashed().1 as f64, figures)
            };
            let (stashed, figures) = share(per_key);
            let Figures { stashed_share, load_factor, .. } = figures;
            assert_eq!(figures.values_per_key, per_key);
            let expected = stashed_share * count as f64;
            // The share was measured without values. They leave shorter fingerprints.
            let more = match layout.bits - value_bits {
                _ if value_bits == 0 => 0.001,
                ..=8 => 0.01,
                _ => 0.005,
            };
            let most = 1.05 * expected + more * count as f64 + scatter(expected, per_key.into());
            println!(
                "{layout:?}, {per_key} of {value_bits} bits: load {load_factor:.3}, {stashed} of {expected:.0}"
            );
            assert!(
                stashed <= most,
                "{layout:?}, {per_key} of {value_bits} bits: {stashed}, {most} at most"
            );
            if (2..=slots).contains(&per_key) && load_factor < layout.load - 0.1 {
                let (without, _) = share(1);
                assert!(without > 2.5 * stashed, "{layout:?}, {per_key}: {without} and {stashed}");
            }
        }
    }
    for value_bits in [0, of_maplet] {
        for values_per_key in [0, 4 * slots + 1, u32::MAX] {
            let error = built(layout, count, values_per_key, value_bits).err().unwrap();
            let Error::ValuesPerKeyOutOfRange { max, other, .. } = error else { panic!("{error}") };
            assert_eq!(max, 4 * slots);
            // The error names a layout that can be built, if there is one.
            let can = |name| built(Layout::named(name), count, values_per_key, value_bits).is_ok();
            assert_eq!(
                other,
                LAYOUTS.iter().rev().map(|layout| layout.name).find(|&name| can(name))
            );
        }
    }
}

/// Such a table is restored with its capacity and its size, and with no other: neither one of this kind, nor one of the
/// kind of a table for distinct keys.
fn a_table_for_several_values_is_restored(layout: Layout) {
    for value_bits in [0, 2] {
        let per_key = layout.slots as u32;
        let (subject, _) = built(layout, 300, per_key, value_bits).unwrap();
        subject.insert_many(&pairs(300, per_key, value_bits)).unwrap();
        let bytes = subject.bytes();
        let restored = subject.restored(&bytes).unwrap();
        assert!(restored.bytes() == bytes);
        assert_eq!((restored.capacity(), restored.slots()), (300, subject.slots()));
        let read = judged(&bytes).unwrap();
        assert_eq!((read.capacity, read.items()), (300, 300));
        assert!(number(&bytes, at::WORDS) as usize * layout.slots > 400);
        // A capacity that is too small for the size, one that is too large, and two that differ.
        for capacities in [[30, 30], [100_000, 100_000], [300, 301]] {
            let other = forged(&bytes, |bytes| {
                put(bytes, at::CAPACITY, capacities[0]);
                put(bytes, at::MAX_CAPACITY, capacities[1]);
            });
            let error = judged(&other).err();
            assert!(matches!(error, Some(ReadError::ImpossibleTable { .. })), "{error:?}");
        }
        for kind in 0..=u8::MAX {
            let other = forged(&bytes, |bytes| bytes[at::KIND] = kind);
            let is_its = kind == ROOMY + 2 * u8::from(value_bits > 0);
            assert_eq!(judged(&other).is_ok(), is_its, "{kind}");
        }
    }
}

/// The documentation of the builder says so: in the default layout, with values of 6 bits, for a million pairs.
#[test]
fn figures_of_keys_with_several_values() {
    for (values_per_key, expected) in [
        (1, "16.8 bits, load 0.958, 0.000 stashed"),
        (2, "18.6 bits, load 0.868, 0.000 stashed"),
        (3, "23.8 bits, load 0.679, 0.001 stashed"),
        (4, "27.4 bits, load 0.589, 0.011 stashed"),
        (8, "35.2 bits, load 0.459, 0.199 stashed"),
    ] {
        let builder = CuckooMaplet::builder().capacity(1_000_000).value_bits(6);
        let figures = builder.values_per_key(values_per_key).figures(1_000_000).unwrap();
        let Figures { bits_per_item, load_factor, stashed_share, .. } = figures;
        let found =
            format!("{bits_per_item:.1} bits, load {load_factor:.3}, {stashed_share:.3} stashed");
        assert_eq!(found, expected, "{values_per_key}");
    }
}

/// The table has as many items as its budget allows, with the free slots that crowds need: so its load is lower than
/// without crowds.
#[test]
fn a_budget_leaves_room_for_several_values() {
    for bytes in [20_000, 1_000_000] {
        let within = |per_key| {
            let builder = default_layout().maplets(6).values_per_key(per_key).memory_bytes(bytes);
            let figures = builder.figures(0).unwrap();
            let full = builder.figures(figures.initial_capacity).unwrap();
            assert!(full.memory_bytes <= bytes && full.values_per_key == per_key);
            let larger = default_layout()
                .maplets(6)
                .values_per_key(per_key)
                .capacity(figures.initial_capacity + 1);
            assert!(larger.figures(0).unwrap().memory_bytes > bytes);
            full
        };
        let loads = [1, 2, 3, 4].map(|per_key| within(per_key).load_factor);
        assert!(loads.is_sorted_by(|more, less| more > less), "{loads:?}");
    }
}
