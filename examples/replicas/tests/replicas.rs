//! `replicas` as a user meets it, and that its checks notice nodes that do something wrong.
//!
//! These tests need `redis-server` or `valkey-server`, and fail where neither is installed.

use std::process::{Command, Output};

fn replicas(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replicas"));
    command.args(arguments).output().expect("it starts")
}

/// A run with few operations: its exit status, table and messages.
fn short_run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let run = replicas(&[&["--operations", "40000", "--rate", "20000"], arguments].concat());
    let [table, messages] = [run.stdout, run.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(!table.is_empty(), "{messages}");
    (run.status.code(), table, messages)
}

/// A figure of the table.
fn figure(table: &str, label: &str) -> f64 {
    let row = table.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in\n{table}"));
    let figure = row.trim().trim_end_matches(" %").parse();
    figure.unwrap_or_else(|_| panic!("{label:?}: no number in {row:?}"))
}

#[test]
fn a_short_run_gives_only_right_answers() {
    let (status, table, messages) = short_run(&["--nodes", "3"]);
    assert_eq!(status, Some(0), "{messages}{table}");
    let figure = |label| figure(&table, label);

    assert_eq!(figure("wrong answers") as u64, 0, "{table}");
    assert_eq!(figure("answers on which nodes differ") as u64, 0, "{table}");
    assert!(figure("lookups meanwhile") > 0.0, "{table}");
    assert!(figure("snapshots stored") > 1.0, "{table}");

    // 53 % of the operations without a snapshot, and with one what was written after it. While it
    // was cut off, the node missed 2 % or more, and then 22 %, of which a snapshot had all but what
    // follows the last ones.
    assert!(figure("without a snapshot: entries read") >= 21_200.0, "{table}");
    assert!(figure("from a snapshot: entries read") < 21_200.0, "{table}");
    assert!(figure("cut off, log kept: entries read") >= 800.0, "{table}");
    assert!(figure("cut off, log trimmed: entries read") < 8000.0, "{table}");
    assert!(figure("entries in the log at the end") < 40_000.0, "{table}");

    // A million probes make some 85 false positives.
    let [measured, expected] =
        ["false-positive rate, measured", "false-positive rate, expected"].map(figure);
    assert!(measured < 4.0 * expected, "{table}");
}

#[test]
fn a_node_that_does_something_wrong_is_noticed() {
    for fault in ["entry", "gap", "position"] {
        let (status, table, messages) = short_run(&["--nodes", "2", "--fault", fault]);
        assert_eq!(status, Some(1), "{fault}: {messages}{table}");
        assert!(figure(&table, "wrong answers") >= 1.0, "{fault}: {messages}{table}");
        assert!(messages.trim_end().ends_with(" wrong answers"), "{fault}: {messages}");
    }
}

#[test]
fn without_a_server_it_says_what_to_install_or_what_it_cannot_reach() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replicas"));
    let run = command.env("PATH", "").output().expect("it starts");
    let message = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(1));
    assert!(message.contains("apt install redis-server"), "{message}");
    // Port 1 is for a service that nobody runs any more.
    let run = replicas(&["--server", "redis://127.0.0.1:1"]);
    assert_eq!(run.status.code(), Some(1));
    assert!(String::from_utf8(run.stderr).unwrap().contains("cannot reach the server: "));
    for url in ["localhost", "http://localhost", "rediss://localhost", "unix:///tmp/socket"] {
        assert_eq!(replicas(&["--server", url]).status.code(), Some(2), "{url}");
    }
}
