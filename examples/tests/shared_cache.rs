//! `shared_cache` as a user meets it.

mod common;

use common::{example, text};

#[test]
fn a_short_run_gives_only_right_answers() {
    let run = example("shared_cache")
        .args(["--keys=20000", "--threads=3", "--requests=100000"])
        .output()
        .expect("it starts");
    let table = text(&run.stdout);
    assert!(run.status.success(), "{}{table}", text(&run.stderr));
    let row = |label: &str| -> Vec<f64> {
        let row = table.lines().find_map(|row| row.strip_prefix(label));
        let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
        let figures = row.split_whitespace().filter(|&word| word != "%");
        figures.map(|figure| figure.parse().expect("a number")).collect()
    };

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
    let rates = ["false-positive rate, measured", "false-positive rate, expected"].map(row);
    assert!((rates[0][0] / rates[1][0] - 1.0).abs() < 0.25, "{table}");
    assert!((16.0..20.0).contains(&row("bits per item of the capacity")[0]), "{table}");
    assert_eq!(row("wrong answers").iter().sum::<f64>() as u64, 0, "{table}");
}

#[cfg(unix)]
#[test]
fn a_place_where_no_file_can_be_made_is_named() {
    let run = example("shared_cache").env("TMPDIR", "/dev/null/no").output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("cannot create a file in /dev/null/no"));
}
