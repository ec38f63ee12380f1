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
    assert_eq!(output("configured"), "SemiSorted14x5: 13.3 bits per item of the capacity\n");
    let run = example("configured").env("COUCAL_FILTER", "rate=1e-5 capacity=100000").output();
    let stdout = run.expect("it starts").stdout;
    assert!(text(&stdout).starts_with("Fp21x3: 23."), "{}", text(&stdout));
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
