//! `partitions` as a user meets it.

mod common;

use common::{example, text};

/// The figures of a row of the table.
fn figures(table: &str, label: &str) -> Vec<u64> {
    let row = table.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
    row.split_whitespace().filter_map(|figure| figure.parse().ok()).collect()
}

#[test]
fn a_short_run_gives_only_right_answers() {
    let run =
        example("partitions").args(["--keys=10000", "--lookups=500"]).output().expect("it starts");
    let table = text(&run.stdout);
    assert!(run.status.success(), "{}{table}", text(&run.stderr));
    let row = |label| figures(&table, label);

    let labels = ["all ", "filters ", "maplet ", "merging ", "restarted "];
    let reads = labels.map(|label| {
        let [lookups, _, reads, useless, again, wrong] = row(label)[..] else { panic!("{table}") };
        assert!(lookups >= 500 && useless < reads, "{table}");
        assert!(label != "all " || reads == 64 * lookups, "{table}");
        // At least the slow lookup of each merge.
        assert!(if label == "merging " { again >= 8 } else { again == 0 }, "{table}");
        assert_eq!(wrong, 0, "{table}");
        reads as f64 / lookups as f64
    });
    assert!(reads[1..].iter().all(|&reads| reads < 3.0), "{table}");

    // The 500 new keys, then these with the keys of one partition, then these with those of another: 310 on average.
    let [replayed, left] = row("restart:")[..2] else { panic!("{table}") };
    assert!((1500..3500).contains(&replayed), "{table}");
    // 64 partitions, less 8 merged with lookups, less 2 of the process that ended.
    assert_eq!(left, 54, "{table}");
}

#[cfg(unix)]
#[test]
fn a_place_where_no_folder_can_be_made_is_named() {
    let run = example("partitions").env("TMPDIR", "/dev/null/no").output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("/dev/null/no"), "{}", text(&run.stderr));
}

#[test]
fn wrong_arguments_are_named() {
    for argument in ["--keys=10", "--lookups=0"] {
        let run = example("partitions").arg(argument).output().expect("it starts");
        assert_eq!(run.status.code(), Some(2), "{argument}");
        let name = argument.split('=').next().expect("a name");
        assert!(text(&run.stderr).contains(name), "{argument}: {}", text(&run.stderr));
    }
}
