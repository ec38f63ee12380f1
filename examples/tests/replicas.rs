//! `replicas` as a user meets it, and that its checks notice nodes that do something wrong.

mod common;

use std::env;
use std::process::Output;

use common::{example, text};

/// A run with few operations; `None`, with a message, where no server is installed.
fn short_run(more: &[&str]) -> Option<Output> {
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let is_there = |name: &str| {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        folders.iter().any(|folder| folder.join(&file).is_file())
    };
    if !is_there("redis-server") && !is_there("valkey-server") {
        eprintln!("not tested: neither redis-server nor valkey-server is installed");
        return None;
    }
    let mut command = example("replicas");
    command.args(["--operations", "40000", "--rate", "20000"]).args(more);
    Some(command.output().expect("it starts"))
}

/// A figure of the table.
fn figure(table: &str, label: &str) -> f64 {
    let row = table.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
    let figure = row.trim().trim_end_matches(" %").replace(',', "");
    figure.parse().unwrap_or_else(|_| panic!("{label:?}: no number in {row:?}"))
}

#[test]
fn a_short_run_gives_only_right_answers_and_ends_with_the_table() {
    let Some(run) = short_run(&["--nodes", "3"]) else { return };
    let (table, progress) = (text(&run.stdout), text(&run.stderr));
    assert!(run.status.success(), "{progress}{table}");
    let figure = |label| figure(&table, label);

    assert_eq!(figure("operations  ") as u64, 40_000, "{table}");
    assert_eq!(figure("wrong answers") as u64, 0, "{table}");
    assert_eq!(figure("answers on which nodes differ") as u64, 0, "{table}");
    assert!(figure("lookups meanwhile") > 0.0, "{table}");
    assert!(figure("snapshots stored") > 1.0, "{table}");

    // 53 % of the operations without a snapshot, and with one what was written after it. While it
    // was cut off, the node missed 2 % or more, and then 22 %, of which a snapshot had all but what
    // follows the last ones.
    let from_beginning = figure("without a snapshot: entries read");
    assert!(from_beginning >= 21_200.0, "{table}");
    assert!(figure("from a snapshot: entries read") < 21_200.0, "{table}");
    assert!(figure("cut off, log kept: entries read") >= 800.0, "{table}");
    assert!(figure("cut off, log trimmed: entries read") < 8000.0, "{table}");
    assert!(figure("entries in the log at the end") < 40_000.0, "{table}");

    // A million probes make some 85 false positives.
    let [measured, expected] =
        ["false-positive rate, measured", "false-positive rate, expected"].map(figure);
    assert!(measured < 4.0 * expected, "{table}");

    let widths: Vec<usize> = table.lines().map(|row| row.chars().count()).collect();
    assert!(widths.iter().all(|&width| width == widths[0]), "not aligned:\n{table}");
    assert!(progress.contains("node 1 starts from a snapshot: "), "{progress}");
    assert!(!progress.contains('\x1b'), "a bar where there is no terminal: {progress:?}");
}

#[test]
fn a_node_that_does_something_wrong_is_noticed() {
    for fault in ["entry", "gap", "position"] {
        let Some(run) = short_run(&["--nodes", "2", "--fault", fault]) else { return };
        let (table, progress) = (text(&run.stdout), text(&run.stderr));
        assert_eq!(run.status.code(), Some(1), "{fault}: {progress}{table}");
        assert!(figure(&table, "wrong answers") >= 1.0, "{fault}: {progress}{table}");
        let last = progress.lines().last().unwrap_or_default();
        assert!(last.ends_with(" wrong answers"), "{fault}: {progress}");
    }
}

#[test]
fn without_a_server_it_says_what_to_install() {
    let run = example("replicas").env("PATH", "").output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    let message = text(&run.stderr);
    assert!(message.contains("apt install redis-server"), "{message}");
    assert!(message.contains("--server redis://"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
}

#[test]
fn a_server_that_cannot_be_reached_is_named() {
    // Port 1 is for a service that nobody runs any more.
    let server = ["--server", "redis://127.0.0.1:1"];
    let run = example("replicas").args(server).output().expect("it starts");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("cannot reach the server at 127.0.0.1:1"));
}

#[test]
fn wrong_arguments_are_refused_with_status_2() {
    for arguments in [
        &["--nodes", "1"][..],
        &["--nodes", "65"],
        &["--operations", "19999"],
        &["--operations", "many"],
        &["--rate", "0"],
        &["--rate", "-1"],
        &["--server", "localhost"],
        &["--server", "http://localhost"],
        &["--server", "rediss://localhost"],
        &["--server", "unix:///tmp/socket"],
        &["--server"],
        &["--seconds", "1"],
        &["file"],
    ] {
        let run = example("replicas").args(arguments).output().expect("it starts");
        assert_eq!(run.status.code(), Some(2), "{arguments:?}");
        assert!(text(&run.stderr).starts_with("error: "), "{arguments:?}: {}", text(&run.stderr));
        assert!(run.stdout.is_empty(), "{arguments:?}");
    }
}
