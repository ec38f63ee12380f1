//! `partitions` as a user meets it.

mod common;

use std::fs;

use common::{example, text};

/// The figures of a row of the table.
fn figures(table: &str, label: &str) -> Vec<u64> {
    let row = table.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
    row.split_whitespace().filter_map(|figure| figure.parse().ok()).collect()
}

#[test]
fn a_short_run_gives_only_right_answers_and_keeps_its_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = example("partitions")
        .args(["--keys=4000", "--threads=3", "--lookups=1500", "--folder"])
        .arg(folder.path())
        .output()
        .expect("it starts");
    let table = text(&run.stdout);
    assert!(run.status.success(), "{}{table}", text(&run.stderr));
    let row = |label| figures(&table, label);

    assert_eq!(row("wrong answers"), [0; 5], "{table}");
    let [all, filters, maplet, merging, restarted] = row("partitions read ")[..] else {
        panic!("{table}")
    };
    assert_eq!(all, 1500 * 64, "{table}");
    assert!(filters < all / 20 && maplet < all / 20 && restarted < all / 20, "{table}");
    assert!(merging > 0, "{table}");
    // The 200 new keys, and the keys of two merges.
    assert!(row("restart: changes replayed")[0] > 200, "{table}");
    // 64 partitions, less 8 merged with lookups, less 2 of the process that was killed.
    let files = fs::read_dir(folder.path()).expect("it is kept").filter(|file| {
        let path = file.as_ref().expect("a readable folder").path();
        path.extension().is_some_and(|extension| extension == "redb")
    });
    assert_eq!(files.count(), 54);
}

#[test]
fn a_folder_with_files_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("mine"), "").expect("a writable folder");
    let run = example("partitions").arg("--folder").arg(folder.path()).output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("is not empty"), "{}", text(&run.stderr));
}

#[test]
fn wrong_arguments_are_named() {
    for argument in ["--keys=10", "--lookups=0", "--threads=0"] {
        let run = example("partitions").arg(argument).output().expect("it starts");
        assert_eq!(run.status.code(), Some(2), "{argument}");
        let name = argument.split('=').next().expect("a name");
        assert!(text(&run.stderr).contains(name), "{argument}: {}", text(&run.stderr));
    }
}
