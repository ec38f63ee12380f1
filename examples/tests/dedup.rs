//! `dedup` against an exact set, and where its input or output is not as it should be.

mod common;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::thread;

use common::{example, text};
use coucal::{AnyLayout, CuckooFilter, Fp21x3, Growable, StableHashBuilder};
use tempfile::TempDir;

/// The lines of a text as `dedup` takes them.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<_> = text.split(|&byte| byte == b'\n').collect();
    if lines.last().is_some_and(|line| line.is_empty()) {
        lines.pop();
    }
    lines
}

/// A count that a Poisson variable of this mean reaches with a probability below 1e-9.
fn beyond_chance(mean: f64) -> usize {
    (mean + 7.0 * mean.sqrt() + 14.0) as usize
}

/// A figure of the summary.
fn figure(summary: &str, label: &str) -> f64 {
    let row = summary.lines().find_map(|row| row.strip_prefix(label));
    let row = row.unwrap_or_else(|| panic!("no {label:?} in {summary:?}"));
    row.trim().parse().expect("a number")
}

/// `count` lines, all different.
fn numbers(count: usize) -> String {
    (0..count).map(|n| n.to_string() + "\n").collect()
}

fn file(folder: &TempDir, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.path().join(name);
    fs::write(&path, content).expect("a writable folder");
    path
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

/// Runs it with this on its standard input.
fn piped(mut command: Command, input: &[u8]) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    thread::scope(|scope| {
        // It may end without reading everything.
        scope.spawn(move || drop(stdin.write_all(input)));
        child.wait_with_output().expect("it ends")
    })
}

fn dedup(arguments: &[&str], input: &[u8]) -> Output {
    let mut command = example("dedup");
    command.args(arguments);
    piped(command, input)
}

#[test]
fn it_loses_no_more_lines_than_expected_and_keeps_the_order() {
    // A line in three is new.
    let lines_of = |n: u64| format!("{} GET /item/{}\n", n % 251, n * n % 100_003);
    let all: String = (0..150_000).map(lines_of).collect();
    let all_lines = lines(all.as_bytes());
    let exact: HashSet<&[u8]> = all_lines.iter().copied().collect();
    let folder = folder();
    // Files, cut between two lines; the first lacks its last newline.
    let cut = all.len() / 2 + all[all.len() / 2..].find('\n').expect("a newline");
    let files = [
        file(&folder, "one", &all.as_bytes()[..cut]),
        file(&folder, "two", &all.as_bytes()[cut + 1..]),
    ];

    let (mut missing, mut mean) = (0, 0.0);
    for threads in ["1", "2", "3", "8"] {
        let mut command = example("dedup");
        command.args(["--summary", "--threads", threads]);
        command.arg(format!("--capacity={}", exact.len()));
        // From files, and from a pipe that brings them in other portions.
        let run = if threads == "3" {
            piped(command, all.as_bytes())
        } else {
            command.args(&files).output().expect("it starts")
        };
        let summary = text(&run.stderr);
        assert!(run.status.success(), "{summary}");

        let printed = lines(&run.stdout);
        let distinct: HashSet<&[u8]> = printed.iter().copied().collect();
        assert_eq!(distinct.len(), printed.len(), "{threads} threads: a line printed twice");
        assert!(distinct.is_subset(&exact), "{threads} threads: a line that was not there");
        assert_eq!(figure(&summary, "lines read") as usize, all_lines.len());
        assert_eq!(figure(&summary, "lines printed") as usize, printed.len());
        let load = printed.len() as f64 / figure(&summary, "load factor");
        let expected = 8.0 / 65_536.0 * exact.len() as f64 / load * exact.len() as f64 / 2.0;
        let stated = figure(&summary, "expected new lines withheld");
        assert!((stated / expected - 1.0).abs() < 0.01, "stated {stated}, expected {expected}");
        missing += exact.len() - printed.len();
        mean += expected;

        if threads == "1" {
            let mut seen = HashSet::new();
            let in_order =
                all_lines.iter().filter(|&&line| distinct.contains(line) && seen.insert(line));
            assert!(in_order.copied().eq(printed), "not in the order of the first occurrences");
        }
    }
    let limit = beyond_chance(mean);
    assert!(missing < limit, "{missing} lines withheld; {mean:.1} expected, {limit} beyond chance");
}

#[test]
fn many_threads_keep_the_order() {
    let run = dedup(&["--threads=8"], numbers(200_000).as_bytes());
    let printed: Vec<u64> = text(&run.stdout).lines().map(|line| line.parse().unwrap()).collect();
    assert!(printed.is_sorted() && printed.len() > 199_980, "{} lines", printed.len());
}

#[test]
fn lines_are_bytes_from_files_and_where_a_dash_stands() {
    let input = b"\xff\xfe\n\0\n\n\xff\n\xff\xfe\n\n\0\ncr\r\ncr\n";
    assert_eq!(dedup(&["--threads=1"], input).stdout, b"\xff\xfe\n\0\n\n\xff\ncr\r\ncr\n");
    for (input, output) in [("b\na\nb\n", "b\na\n"), ("a\nb", "a\nb\n"), ("a\na", "a\n"), ("", "")]
    {
        assert_eq!(text(&dedup(&[], input.as_bytes()).stdout), output, "{input:?}");
    }
    let folder = folder();
    let [empty, first, last] = [("empty", ""), ("first", "1\n2"), ("last", "3\n4\n")]
        .map(|(name, lines)| file(&folder, name, lines.as_bytes()));
    let mut command = example("dedup");
    command.arg("--threads=1").args([&empty, &first, Path::new("-"), &last]);
    let run = piped(command, b"2\n3\nx\n");
    assert_eq!((run.status.code(), text(&run.stdout).as_ref()), (Some(0), "1\n2\n3\nx\n4\n"));
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_the_others_are_printed() {
    let folder = folder();
    let good = file(&folder, "good", b"egg\n");
    let run = example("dedup")
        .arg(folder.path().join("missing"))
        .arg(folder.path()) // a folder opens, and cannot be read
        .arg(&good)
        .output()
        .expect("it starts");
    assert_eq!(text(&run.stdout), "egg\n");
    assert_eq!(run.status.code(), Some(1));
    let stderr = text(&run.stderr);
    let messages: Vec<&str> = stderr.lines().collect();
    assert_eq!(messages.len(), 2, "{stderr}");
    assert!(messages[0].starts_with("dedup: ") && messages[0].contains("missing: "), "{stderr}");
    assert!(messages[1].contains(folder.path().to_str().unwrap()), "{stderr}");
}

#[test]
fn lines_longer_than_any_buffer_are_whole() {
    let long = [vec![b'x'; 3_000_000], vec![b'y'; 1 << 18], vec![b'z'; (1 << 18) - 1]];
    let input: Vec<u8> = long.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
    for threads in ["1", "4"] {
        let run = dedup(&["--threads", threads], &input.repeat(3));
        let mut printed = lines(&run.stdout);
        printed.sort_unstable();
        assert!(printed.iter().eq(&long), "{threads} threads: {} bytes", run.stdout.len());
    }
}

#[test]
fn output_to_a_reader_that_has_seen_enough_and_to_a_full_disk() {
    let folder = folder();
    let input = file(&folder, "numbers", numbers(1_000_000).as_bytes());
    let mut command = example("dedup");
    let mut child =
        command.arg(&input).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let run = child.wait_with_output().expect("it ends");
    assert_eq!((run.status.code(), text(&run.stderr).as_ref()), (Some(0), ""));

    if cfg!(target_os = "linux") {
        let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
        let run = example("dedup").arg(&input).stdout(full).output().expect("it starts");
        assert_eq!(run.status.code(), Some(1));
        assert!(text(&run.stderr).contains("cannot write to standard output: "));
        // About 500 lines are withheld by mistake, and have to be listed.
        let arguments = ["--capacity=10k", "--rate=0.1", "--withheld=/dev/full"];
        let run = dedup(&arguments, numbers(10_000).as_bytes());
        assert_eq!(run.status.code(), Some(1));
        assert!(text(&run.stderr).contains("cannot write to the file of --withheld: "));
    }
}

#[test]
fn the_withheld_file_lists_only_lines_that_were_lost_and_nearly_all_of_them() {
    // Four equal chunks of 256 KiB, the size of a read, one after the other: the threads come with
    // the same lines at the same time.
    let mut input = String::new();
    for block in 0..4_u32 {
        let mut chunk = String::new();
        for n in 0..1 << 15 {
            writeln!(chunk, "{:07}", (block << 15) + n).expect("memory takes it");
        }
        input += &chunk.repeat(4);
    }
    let exact: HashSet<&[u8]> = lines(input.as_bytes()).into_iter().collect();
    let folder = folder();
    let path = file(&folder, "input", input.as_bytes());
    let list = folder.path().join("withheld");
    let (mut unlisted, mut mean) = (0, 0.0);
    for threads in ["1", "2", "4", "8"] {
        let run = example("dedup")
            .args(["--capacity=131072", "--rate=0.02", "--summary", "--threads", threads])
            .arg("--withheld")
            .args([&list, &path])
            .output()
            .expect("it starts");
        let summary = text(&run.stderr);
        assert_eq!(run.status.code(), Some(0), "{summary}");

        let printed: HashSet<&[u8]> = lines(&run.stdout).into_iter().collect();
        assert_eq!(printed.len(), lines(&run.stdout).len(), "{threads} threads: printed twice");
        let list = fs::read(&list).expect("a readable file");
        let listed = lines(&list);
        let lost: HashSet<&[u8]> = listed.iter().copied().collect();
        assert_eq!(lost.len(), listed.len(), "{threads} threads: a line listed twice");
        assert!(lost.is_subset(&exact), "{threads} threads: a line that was not there");
        let wrong = lost.intersection(&printed).count();
        assert_eq!(wrong, 0, "{threads} threads: lines both printed and listed");

        assert_eq!(figure(&summary, "new lines withheld, listed") as usize, lost.len());
        let expected = figure(&summary, "expected new lines withheld");
        // Six and a half standard deviations, and what the estimate neglects: odds below 10^-9.
        assert!((lost.len() as f64 - expected).abs() < 6.5 * expected.sqrt() + 0.02 * expected);
        unlisted += exact.len() - printed.len() - lost.len();
        mean += figure(&summary, "expected, not listed");
    }
    let limit = beyond_chance(mean);
    assert!(unlisted < limit, "{unlisted} lost lines not listed; {mean:.1} expected");
}

#[test]
fn the_rate_chooses_the_layout() {
    // What the help says of bits per line of the capacity.
    for (rate, bits) in [
        ("--rate=0.1", 8.0),
        ("--rate=0.001", 13.0),
        ("--rate=0.000125", 17.0),
        ("--rate=1e-5", 23.0),
        ("--rate=1e-6", 37.0),
    ] {
        let run = dedup(&["--capacity=1M", "--summary", rate], b"");
        let measured = figure(&text(&run.stderr), "bytes of the filter") * 8.0 / 1e6;
        assert_eq!(measured.round().to_bits(), f64::to_bits(bits), "{rate}: {measured}");
    }
    // And of those of a filter that grows.
    for (rate, layout, bucket, bits) in [
        ("--rate=0.0025", "Fp16x4", 4.0, 21.0),
        ("--rate=0.000125", "Fp21x3", 3.0, 28.0),
        ("--rate=1e-5", "Fp32x2", 2.0, 46.0),
    ] {
        let folder = folder();
        let file = fs::File::open(state(&folder, &[rate], 1)).expect("it was saved");
        let hasher = StableHashBuilder::new(0x6465_6475_7000_0001);
        let filter: CuckooFilter<Growable<AnyLayout>, _> =
            CuckooFilter::restore(file, hasher).expect("it is a snapshot");
        assert_eq!(filter.layout_name(), layout);
        let measured = 64.0 * filter.slots() as f64 / bucket / filter.capacity() as f64;
        assert_eq!(measured.round().to_bits(), f64::to_bits(bits), "{rate}: {measured}");
    }
}

#[test]
fn a_capacity_may_have_a_decimal_suffix_or_an_exponent() {
    let bytes = |capacity: &str| {
        let run = dedup(&["--summary", "--capacity", capacity], b"");
        figure(&text(&run.stderr), "bytes of the filter") as usize
    };
    assert_eq!(["250k", "250K", "0.25M", "2.5E+5"].map(bytes), [bytes("250000"); 4]);
    assert_eq!(bytes("0.01G"), bytes("10000000"));
    assert_ne!(bytes("1100k"), bytes("1M"));
}

#[test]
fn a_filter_that_is_too_small_loses_nothing_and_says_what_to_do() {
    let input = numbers(1000);
    let run = dedup(&["--capacity", "50"], input.repeat(2).as_bytes());
    assert_eq!(run.status.code(), Some(1));
    let message = text(&run.stderr);
    assert!(message.contains("the filter is full: it holds"), "{message}");
    assert!(message.contains("use a larger --capacity"), "{message}");
    assert_eq!(message.lines().count(), 1, "{message}");
    let printed = lines(&run.stdout);
    let distinct: HashSet<&[u8]> = printed.iter().copied().collect();
    // Only a false positive may be missing: some 2,000 lookups, 1 in 8,192.
    assert!(distinct.len() > 1000 - 12, "{} lines of 1,000", distinct.len());
    // Those it could record are printed once.
    assert!(printed.len() <= 2000 - 50, "{} lines", printed.len());
}

#[test]
fn without_a_capacity_the_filter_grows_and_says_how_many_lines_it_withholds() {
    const LINES: usize = 5_000_000;
    let run = |lines| {
        let run = dedup(&["--summary", "--rate=0.0025"], numbers(lines).as_bytes());
        assert_eq!(run.status.code(), Some(0));
        (text(&run.stderr).into_owned(), lines - text(&run.stdout).lines().count())
    };
    let [(few, none), (many, withheld)] = [10, LINES].map(run);
    assert_eq!(none, 0);
    let [few, slots] = [&few, &many].map(|summary| figure(summary, "slots"));
    assert!(slots > 1.2 * LINES as f64 && slots > 2.0 * few, "{few} to {slots} slots");

    // Beside each line that is recorded: a rate in proportion to the lines would give a tenth less.
    let like = CuckooFilter::builder().capacity(1_000_000).max_capacity(1_000_000_000);
    let like = like.build().expect("memory for a table");
    let rates = (0..LINES).step_by(100).map(|lines| like.false_positive_rate_at(lines));
    let expected = 100.0 * rates.sum::<f64>();
    let stated = figure(&many, "expected new lines withheld");
    assert!((stated / expected - 1.0).abs() < 0.01, "stated {stated}, expected {expected}");
    // Six and a half standard deviations, and what the formula neglects: odds below 10^-9.
    let off = (withheld as f64 - stated).abs();
    assert!(off < 6.5 * stated.sqrt() + 0.05 * stated, "{withheld} lines withheld\n{many}");
    let rate = figure(&many, "false-positive rate");
    assert!((rate / like.false_positive_rate_at(LINES) - 1.0).abs() < 0.05, "{many}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_filter_that_grows_takes_no_memory_for_lines_that_may_come() {
    // Two gigabytes of address space: too little for a thousand million lines.
    let program = example("dedup");
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -v 2000000; exec \"$0\" --summary"]).arg(program.get_program());
    let run = piped(shell, b"egg\nnest\negg\n");
    assert_eq!((run.status.code(), text(&run.stdout).as_ref()), (Some(0), "egg\nnest\n"));
}

/// Runs it with this state and further arguments.
fn with_state(state: &Path, arguments: &[&str], input: &str) -> Output {
    let mut command = example("dedup");
    command.arg("--state").arg(state).args(arguments);
    piped(command, input.as_bytes())
}

/// A state that has seen some numbers.
fn state(folder: &TempDir, arguments: &[&str], lines: usize) -> PathBuf {
    let path = folder.path().join("state");
    let run = with_state(&path, arguments, &numbers(lines));
    assert_eq!((run.status.code(), text(&run.stderr).as_ref()), (Some(0), ""));
    path
}

#[test]
fn runs_with_a_state_print_what_one_run_over_everything_prints() {
    // Every fifth line was there before.
    let input: Vec<String> = (0..50_000).map(|n: u32| format!("{}\n", n - n % 5 / 4 * 4)).collect();
    for arguments in [
        &[][..],
        &["--rate=1e-6"],
        &["--capacity=100k"],
        // Some 2,000 lines are withheld by mistake: the same ones.
        &["--capacity=50k", "--rate=0.1"],
    ] {
        let arguments = [&["--threads=1", "--summary"], arguments].concat();
        let folder = folder();
        let whole = with_state(&folder.path().join("whole"), &arguments, &input.concat());
        assert_eq!(whole.status.code(), Some(0), "{}", text(&whole.stderr));

        let path = folder.path().join("parts");
        let (mut printed, mut saved, mut withheld) = (Vec::new(), 0.0, 0.0);
        for part in input.chunks(17_001) {
            let run = with_state(&path, &arguments, &part.concat());
            let summary = text(&run.stderr);
            assert_eq!(run.status.code(), Some(0), "{summary}");
            assert!((figure(&summary, "lines in the state, loaded") - saved).abs() < 0.5);
            printed.extend(&run.stdout);
            saved = figure(&summary, "lines in the state, saved");
            withheld += figure(&summary, "expected new lines withheld");
        }
        assert_eq!(printed, whole.stdout, "{arguments:?}");
        assert!((saved - lines(&printed).len() as f64).abs() < 0.5);
        let expected = figure(&text(&whole.stderr), "expected new lines withheld");
        assert!((withheld - expected).abs() < 0.02 + 0.01 * expected, "{withheld}, {expected}");
        // Nothing is new any more, and the lock is the only other file.
        assert_eq!(text(&with_state(&path, &arguments, &input.concat()).stdout), "");
        let mut files: Vec<_> = fs::read_dir(folder.path()).expect("a folder").collect();
        files.retain(|file| file.as_ref().expect("a file").metadata().expect("one").len() > 0);
        assert_eq!(files.len(), 2);
    }
}

#[test]
fn a_state_is_a_snapshot_that_other_programs_can_restore() {
    let folder = folder();
    let path = state(&folder, &[], 100);
    let hasher = StableHashBuilder::new(0x6465_6475_7000_0001);
    let open = || fs::File::open(&path).expect("it was saved");
    let filter: CuckooFilter<Growable<Fp21x3>, _> =
        CuckooFilter::restore(open(), hasher).expect("it is a snapshot");
    assert!(filter.len() == 100 && filter.contains(&b"42"[..]));
}

/// Runs it with a state that it cannot use: the message. The state and the input stay as they are.
fn refused(path: &Path, arguments: &[&str]) -> String {
    let before = fs::read(path).ok();
    let run = with_state(path, arguments, "egg\n");
    let message = text(&run.stderr).into_owned();
    assert_eq!(run.status.code(), Some(1), "{message}");
    assert!(run.stdout.is_empty() && message.contains(path.to_str().unwrap()), "{message}");
    assert!(fs::read(path).ok() == before, "the state has changed: {message}");
    message
}

#[test]
fn a_state_that_cannot_be_loaded_is_an_error_and_is_left_as_it_is() {
    let folder = folder();
    let path = state(&folder, &["--capacity=1000"], 100);
    let good = fs::read(&path).expect("it was saved");
    let other: CuckooFilter<_, _> =
        CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(1));
    let mut flipped = good.clone();
    flipped[1000] ^= 4;
    for (bytes, said) in [
        (flipped, "damaged"),
        (good[..good.len() - 1].to_vec(), "end before"),
        (Vec::new(), "end before"),
        (numbers(100).into_bytes(), "not a snapshot"),
        ([&good[..], b"\n"].concat(), "bytes follow"),
        (other.snapshot().expect("memory").to_bytes(), "another hasher"),
    ] {
        fs::write(&path, bytes).expect("a writable folder");
        let message = refused(&path, &["--capacity=1000"]);
        assert!(message.contains(said) && message.contains("begin anew"), "{said}: {message}");
    }
    let message = refused(folder.path(), &[]);
    assert!(message.contains("no regular file"), "{message}");
    refused(&folder.path().join("missing").join("state"), &[]);
}

#[test]
fn a_state_of_other_options_is_an_error_that_says_which() {
    let folder = folder();
    let path = state(&folder, &["--capacity=1000"], 100);
    let message = refused(&path, &["--capacity=2000"]);
    assert!(message.contains("with --capacity 1000: give the same"), "{message}");
    let message = refused(&path, &["--capacity=1000", "--rate=0.1"]);
    assert!(message.contains("with another --rate: give the same"), "{message}");
    let message = refused(&path, &[]);
    assert!(message.contains("with --capacity 1000: give the same"), "{message}");

    let path = folder.path().join("growing");
    assert_eq!(text(&with_state(&path, &[], "egg\n").stdout), "egg\n");
    let message = refused(&path, &["--capacity=1000"]);
    assert!(message.contains("without --capacity: leave it out"), "{message}");
    // Rates that choose the same filter are the same.
    assert_eq!(text(&with_state(&path, &["--rate=0.0001"], "egg\nnest\n").stdout), "nest\n");
}

#[cfg(target_os = "linux")]
#[test]
fn a_crash_while_it_saves_leaves_the_old_state() {
    let folder = folder();
    let path = state(&folder, &["--capacity=100k"], 1000);
    let old = fs::read(&path).expect("it was saved");
    let lock = fs::metadata(folder.path().join("state.lock")).expect("a lock");
    assert_eq!(lock.len(), 0);

    // The system kills whoever writes a file longer than this.
    let mut shell = Command::new("sh");
    shell.args(["-c", "ulimit -f 100; exec \"$0\" --capacity=100k --state \"$1\""]);
    shell.arg(example("dedup").get_program()).arg(&path);
    let run = piped(shell, numbers(2000).as_bytes());
    assert_eq!(run.status.code(), None, "it was killed");
    assert_eq!(lines(&run.stdout).len(), 1000);
    assert!(fs::read(&path).expect("a state") == old, "the state has changed");
    let part = fs::metadata(folder.path().join("state.new")).expect("it was being written");
    assert!((1..old.len() as u64).contains(&part.len()), "{} bytes", part.len());

    // The next run prints the same lines again, and saves them.
    let run = with_state(&path, &["--capacity=100k"], &numbers(2000));
    assert_eq!((run.status.code(), lines(&run.stdout).len()), (Some(0), 1000));
    assert!(!folder.path().join("state.new").exists());
    assert_eq!(text(&with_state(&path, &["--capacity=100k"], &numbers(2000)).stdout), "");
}

#[cfg(target_os = "linux")]
#[test]
fn lines_that_nobody_has_seen_are_not_in_the_state() {
    let folder = folder();
    let path = state(&folder, &[], 10);
    let old = fs::read(&path).expect("it was saved");
    let input = file(&folder, "input", numbers(1_000_000).as_bytes());
    let full = fs::OpenOptions::new().write(true).open("/dev/full").expect("Linux has it");
    for stdout in [full.into(), Stdio::piped()] {
        let mut command = example("dedup");
        command.arg("--state").args([&path, &input]).stdout(stdout).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        // The reader goes away, if there is one.
        drop(child.stdout.take());
        let run = child.wait_with_output().expect("it ends");
        assert_eq!(run.status.code(), Some(1));
        assert!(text(&run.stderr).contains("the state is left as it was"));
        assert!(fs::read(&path).expect("a state") == old, "the state has changed");
    }
}

#[test]
fn a_state_is_used_by_one_run_at_a_time() {
    let folder = folder();
    let path = state(&folder, &[], 10);
    // A process has the lock, not this one: whatever another test starts at this moment inherits this
    // one's files, and keeps their locks until it has become another program.
    let mut first = example("dedup");
    first.arg("--state").arg(&path).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut first = first.spawn().expect("it starts");
    let (mut stdin, mut stdout) = (first.stdin.take().unwrap(), first.stdout.take().unwrap());
    stdin.write_all(b"nest\n").expect("it reads");
    // A line that is printed was read with the state locked.
    stdout.read_exact(&mut [0; 5]).expect("it prints");

    let message = refused(&path, &[]);
    assert!(message.contains("another run uses it"), "{message}");
    drop(stdin);
    assert!(first.wait().expect("it ends").success());
    assert_eq!(text(&with_state(&path, &[], "egg\nnest\n").stdout), "egg\n");
}

#[cfg(unix)]
#[test]
fn a_link_to_a_state_and_its_permissions_stay() {
    use std::os::unix::fs::{PermissionsExt, symlink};

    let folder = folder();
    let path = state(&folder, &[], 10);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("its owner");
    let link = folder.path().join("link");
    symlink(&path, &link).expect("links");
    assert_eq!(text(&with_state(&link, &[], "3\negg\n").stdout), "egg\n");
    assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    assert_eq!(fs::metadata(&path).expect("a state").permissions().mode() & 0o777, 0o600);
    assert_eq!(text(&with_state(&path, &[], "3\negg\n").stdout), "");
}

#[test]
fn wrong_arguments_are_refused_with_status_2() {
    let too_large = u64::MAX.to_string();
    for capacity in ["-1", "many", &too_large, "1.5", "10KB", "1e6k", "inf", "1e400", ""] {
        let run = dedup(&["--capacity", capacity], b"a\n");
        assert_eq!((run.status.code(), run.stdout.len()), (Some(2), 0), "{capacity}");
    }
    for rate in ["1e-9", "0", "1", "-0.1", "1%", "nan", "1e-12"] {
        let run = dedup(&["--rate", rate], b"a\n");
        assert_eq!((run.status.code(), run.stdout.len()), (Some(2), 0), "{rate}");
        assert!(text(&run.stderr).starts_with("error: "), "{rate}: {}", text(&run.stderr));
    }
    let both = dedup(&["--state", "state", "--withheld", "list"], b"a\n");
    assert_eq!(both.status.code(), Some(2));
}
