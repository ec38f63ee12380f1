//! `shared_cache` as a user meets it.

mod common;

use common::{example, text};

#[test]
fn a_short_run_gives_only_right_answers_and_ends_with_the_table() {
    let ([first, now], load) = short_run(&[]);
    assert_eq!(first.to_bits(), now.to_bits());
    assert!(load < 0.96, "room for the keys that come and go: load {load}");
}

#[test]
fn a_filter_that_grows_gives_only_right_answers_too() {
    let ([first, now], load) = short_run(&["--grow"]);
    assert!(first * 10.0 < now && load > 0.8, "{first} to {now} slots, load {load}");
}

/// The slots of the filter at first and at the end, and its load.
fn short_run(more: &[&str]) -> ([f64; 2], f64) {
    let run = example("shared_cache")
        .args(["--keys", "20000", "--threads", "3", "--seconds", "1"])
        .args(more)
        .output()
        .expect("it starts");
    let (table, progress) = (text(&run.stdout), text(&run.stderr));
    assert!(run.status.success(), "{progress}{table}");

    let rows: Vec<&str> = table.lines().collect();
    let row = |label: &str| -> Vec<f64> {
        let found = rows.iter().find_map(|row| row.strip_prefix(label));
        let row = found.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
        let figures = row.split_whitespace().filter(|&word| word != "%");
        figures.map(|figure| figure.replace(',', "").parse().expect("a number")).collect()
    };
    let pair = |label| <[f64; 2]>::try_from(row(label)).expect("two figures");
    let single = |label| <[f64; 1]>::try_from(row(label)).expect("one figure")[0];

    assert!(pair("operations per second").into_iter().all(|figure| figure > 0.0), "{table}");
    // The same requests, and at least the half for keys that never existed needs no read.
    let [without, with] = pair("lookups");
    assert_eq!(without.to_bits(), with.to_bits(), "{table}");
    let [without, with] = pair("database reads");
    assert!(with < 0.6 * without, "{table}");
    assert!((single("database reads saved") - (without - with)).abs() < 0.5, "{table}");
    // Ten million probes make some 1,000 false positives or more: a quarter off is eight deviations.
    let (measured, expected) =
        (single("false-positive rate, measured"), single("false-positive rate, expected"));
    assert!((measured / expected - 1.0).abs() < 0.25, "{table}");
    assert!((0.5..1.0).contains(&single("load factor")), "{table}");
    // Two figures for the memory, each with the number of items that it is for.
    for (items, bits) in [
        ("capacity of the filter, items", "bits per item of the capacity"),
        ("items present", "bits per item present"),
    ] {
        let expected = single("bytes") * 8.0 / single(items);
        assert!(expected > 16.0 && (single(bits) - expected).abs() < 0.01, "{bits}:\n{table}");
    }
    // A filter that grows may hold a few more than its target.
    let capacity = single("capacity of the filter, items");
    assert!(capacity > 0.98 * single("items present"), "{table}");
    assert_eq!(pair("wrong answers").map(f64::to_bits), [0.0, 0.0].map(f64::to_bits), "{table}");

    let widths: Vec<usize> = rows.iter().map(|row| row.chars().count()).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "not aligned:\n{table}");
    assert!(progress.contains("serving with the filter: "), "{progress}");
    assert!(!progress.contains('\x1b'), "a bar where there is no terminal: {progress:?}");
    (["slots at first", "slots now"].map(single), single("load factor"))
}

#[test]
fn wrong_arguments_are_refused_with_status_2() {
    for arguments in [
        &["--keys", "0"][..],
        &["--keys", "many"],
        &["--keys", "-1"],
        &["--threads", "0"],
        &["--threads", "1025"],
        &["--seconds", "0"],
        &["--seconds"],
        &["--minutes", "1"],
        &["file"],
    ] {
        let run = example("shared_cache").args(arguments).output().expect("it starts");
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        assert!(text(&run.stderr).starts_with("error: "), "{arguments:?}: {}", text(&run.stderr));
        assert!(run.stdout.is_empty(), "{arguments:?}");
    }
}

#[cfg(unix)]
#[test]
fn a_place_where_no_file_can_be_made_is_named() {
    let run = example("shared_cache").env("TMPDIR", "/dev/null/no").output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("cannot create a file in /dev/null/no"));
}
