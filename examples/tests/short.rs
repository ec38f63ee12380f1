//! The short examples: each runs, prints what it says, and stays short.

mod common;

use common::{example, text};

fn output(name: &str) -> String {
    let run = example(name).output().expect("it starts");
    assert!(run.status.success(), "{name}: {}", text(&run.stderr));
    text(&run.stdout).into_owned()
}

#[test]
fn share_finds_every_item() {
    assert_eq!(output("share"), "40000 items stored, 40000 found\n");
}

#[test]
fn prehashed_finds_the_keys_whose_hashes_come_from_another_process() {
    // FNV-1a hashes, computed independently.
    let expected = "9af4c6d6eb38eec2: true true\nd3a650f26a3c0517: false true\n6ac12f02a9605942: false false\n";
    assert_eq!(output("prehashed"), expected);
}

#[test]
fn configured_chooses_the_layout_for_the_rate() {
    for (config, layout, items, bits) in [
        ("capacity=1000000 rate=0.001", "SemiSorted14x5", 1_000_000, 13.0..14.0),
        ("rate=1e-5 capacity=100000", "Fp21x3", 100_000, 23.0..24.0),
        ("capacity=0", "Fp8x8", 0, 64.0..10_000.0),
    ] {
        let run = example("configured").env("COUCAL_FILTER", config).output().expect("it starts");
        let stdout = text(&run.stdout);
        let bytes = stdout
            .strip_prefix(&format!("{layout}: room for {items} items in "))
            .and_then(|rest| rest.strip_suffix(" bytes\n")?.parse::<u32>().ok())
            .unwrap_or_else(|| panic!("{config}: {stdout}"));
        assert!(
            bits.contains(&(f64::from(bytes) * 8.0 / f64::from(items.max(1)))),
            "{config}: {stdout}"
        );
    }
}

#[test]
fn configured_names_what_is_wrong() {
    for (config, message) in [
        ("", "capacity is missing"),
        ("rate=0.1", "capacity is missing"),
        ("capacity", "capacity: expected key=value"),
        ("capacity=many", "capacity=many: invalid digit"),
        ("capacity=1000 rate=low", "rate=low: invalid float"),
        ("capacity=1000 speed=9", "speed=9: the keys are capacity and rate"),
        ("capacity=1000 rate=2", "between 0 and 1"),
        ("capacity=1000 rate=1e-15", "no layout"),
    ] {
        let run = example("configured").env("COUCAL_FILTER", config).output().expect("it starts");
        assert_eq!(run.status.code(), Some(1), "{config}");
        assert!(text(&run.stderr).contains(message), "{config}: {}", text(&run.stderr));
        assert!(run.stdout.is_empty(), "{config}");
    }
}

#[test]
fn each_has_40_lines_or_fewer() {
    for (name, source) in [
        ("share", include_str!("../share.rs")),
        ("prehashed", include_str!("../prehashed.rs")),
        ("configured", include_str!("../configured.rs")),
    ] {
        assert!(source.lines().count() <= 40, "{name}: {} lines", source.lines().count());
    }
}
