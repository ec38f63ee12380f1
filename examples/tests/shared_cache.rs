//! `shared_cache` as a user meets it.

mod common;

use common::{example, text};

/// The table that a short run prints.
fn table_of(arguments: &[&str]) -> String {
    let run = example("shared_cache")
        .args(["--keys=20000", "--threads=3", "--requests=100000"])
        .args(arguments)
        .output()
        .expect("it starts");
    let table = text(&run.stdout);
    assert!(run.status.success(), "{}{table}", text(&run.stderr));
    table.into_owned()
}

/// The figures of a row.
fn figures(table: &str, label: &str) -> Vec<f64> {
    let row = table.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
    let figures = row.split_whitespace().filter(|&word| word != "%");
    figures.map(|figure| figure.parse().expect("a number")).collect()
}

const RATES: [&str; 2] = ["false-positive rate, measured", "false-positive rate, expected"];

#[test]
fn a_short_run_gives_only_right_answers() {
    let table = table_of(&[]);
    let row = |label| figures(&table, label);

    assert!(row("operations per second").into_iter().all(|figure| figure > 0.0), "{table}");
    assert_eq!(
        row("lookups").iter().map(|&lookups| lookups as u64).min(),
        Some(102_000),
        "{table}"
    );
    // Half of the keys never existed, and a twentieth is not there at the moment.
    let [without, with] = row("database reads")[..] else { panic!("{table}") };
    assert!(with < 0.6 * without, "{table}");
    // Ten million probes make some 1,000 false positives or more: a quarter off is eight deviations.
    let rates = RATES.map(row);
    assert!((rates[0][0] / rates[1][0] - 1.0).abs() < 0.25, "{table}");
    assert!((16.0..20.0).contains(&row("bits per item of the capacity")[0]), "{table}");
    assert_eq!(row("wrong answers").iter().sum::<f64>() as u64, 0, "{table}");
}

#[test]
fn a_filter_that_grows_gives_only_right_answers() {
    let table = table_of(&["--grow"]);
    let row = |label| figures(&table, label)[0];
    assert!(row("bytes of the filter ") > 10.0 * row("bytes of the empty filter"), "{table}");
    // Ten million probes make some 15,000 false positives: a tenth off is twelve deviations.
    let [measured, expected] = RATES.map(row);
    assert!((measured / expected - 1.0).abs() < 0.1, "{table}");
    // After six or seven doublings from 0.019 %, and some removals.
    assert!((0.12..0.16).contains(&expected), "{table}");
}

#[cfg(unix)]
#[test]
fn a_place_where_no_file_can_be_made_is_named() {
    let run = example("shared_cache").env("TMPDIR", "/dev/null/no").output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("cannot create a file in /dev/null/no"));
}
