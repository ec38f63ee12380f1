//! Each example runs, and its answers are right. What the cookbook shows of them is what runs.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read, Seek, Write};
use std::ops::Range;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use coucal::{Fp21x3, GrowableExpiringCuckooFilter, StableHashBuilder};
use ureq::Agent;

/// The example of this name, as built by the `cargo test` that runs this.
fn example(name: &str) -> Command {
    let test = env::current_exe().expect("a test has a path");
    let profile = test.ancestors().nth(2).expect("tests are built in target/<profile>/deps");
    let path = profile.join("examples").join(name).with_extension(env::consts::EXE_EXTENSION);
    assert!(path.exists(), "{} is not built: `cargo build --examples` does it", path.display());
    Command::new(path)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What it prints, if all its answers are right: it checks them itself.
fn output(name: &str, arguments: &[&str]) -> String {
    let run = example(name).args(arguments).output().expect("it starts");
    assert!(run.status.success(), "{name}: {}{}", text(&run.stdout), text(&run.stderr));
    text(&run.stdout)
}

/// The numbers in the line that begins with this.
fn numbers(text: &str, start: &str) -> Vec<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(start));
    let line = line.unwrap_or_else(|| panic!("no {start:?} in {text}"));
    line.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse().ok()).collect()
}

#[test]
fn shared_cache_saves_reads() {
    let table = output("shared_cache", &["--keys=5000", "--lookups=15000"]);
    let [_, without, 0] = numbers(&table, "without filter")[..] else { panic!("{table}") };
    let [_, with, 0] = numbers(&table, "with filter")[..] else { panic!("{table}") };
    // A quarter of the keys always have a row, and another one some of the time.
    assert!(without == 60_000 && (15_000 - 1000..30_000 + 1000).contains(&with), "{table}");
}

#[test]
fn lsm_gives_the_newest_version_of_each_key_after_each_crash() {
    let printed = output("lsm", &[]);
    let lines: Vec<&str> = printed.lines().collect();
    let (steps, damages) = lines.split_at(4);
    assert!(steps.iter().all(|line| numbers(line, "")[0] >= 13), "{printed}");
    // A file of a run, and the list of runs, that are not as they were written.
    let is_named = |line: &&str| line.starts_with("run") && line.contains("is damaged");
    assert!(damages.len() == 4 && damages.iter().all(is_named), "{printed}");
}

#[test]
fn restart_has_exactly_the_items_of_the_journal() {
    let expected = "ended before a save: exact, from journal alone\n\
                    ended in a save: exact, from snapshot and journal\n\
                    ended after a save: exact, from snapshot and journal\n\
                    ended and the position was damaged: exact, from journal alone\n\
                    ended and the snapshot was damaged: exact, from journal alone\n\
                    ended in an entry: exact, from snapshot and journal\n";
    assert_eq!(output("restart", &[]), expected);
}

/// A service that was started, and is killed when this is dropped.
struct Service {
    child: Child,
    address: String,
    client: Agent,
}

impl Service {
    fn start(folder: &Path, window_seconds: u32) -> Self {
        let mut command = example("idempotency");
        command.arg("--folder").arg(folder).arg(format!("--window-seconds={window_seconds}"));
        let mut child = command.stdout(Stdio::piped()).spawn().expect("it starts");
        let mut address = String::new();
        let output = child.stdout.as_mut().expect("a pipe");
        BufReader::new(output).read_line(&mut address).expect("its address");
        // Each connection clears its buffers: as they are by default, this takes as long as the requests.
        let config = Agent::config_builder().input_buffer_size(4096).output_buffer_size(4096);
        let client = config.http_status_as_error(false).build().into();
        Self { child, address: address.trim().to_owned(), client }
    }

    fn status(&self, key: &str) -> u16 {
        let request = self.client.post(&self.address).header("Idempotency-Key", key);
        request.send_empty().expect("an answer").status().as_u16()
    }

    /// How many of these keys are dispatched, by three clients that have all of them.
    fn dispatched(&self, keys: Range<u32>) -> usize {
        let client =
            || keys.clone().filter(|key| self.status(&format!("order-{key}")) == 201).count();
        thread::scope(|scope| {
            let clients = [(); 3].map(|()| scope.spawn(client));
            clients.into_iter().map(|client| client.join().expect("answers")).sum()
        })
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

#[test]
fn idempotency_dispatches_each_key_once_also_after_a_crash() {
    let folder = tempfile::tempdir().expect("a folder");
    // Of 500 keys with a rate of 0.1 % or less.
    let is_nearly = |dispatched: usize, keys: usize| (keys - 8..=keys).contains(&dispatched);
    let service = Service::start(folder.path(), 3600);
    assert!(is_nearly(service.dispatched(0..200), 200));
    assert_eq!(service.dispatched(0..200), 0);
    assert_eq!(service.status(""), 400);
    drop(service); // it is killed

    // As if it had been killed in the middle of a line.
    let log = folder.path().join("log");
    OpenOptions::new().append(true).open(&log).unwrap().write_all(b"order-200").unwrap();
    let service = Service::start(folder.path(), 3600);
    assert_eq!(service.dispatched(0..200), 0);
    assert!(is_nearly(service.dispatched(200..500), 300));
    drop(service);
    // Each line of the log is there once.
    let lines = fs::read_to_string(&log).unwrap();
    let distinct: BTreeSet<&str> = lines.lines().collect();
    assert_eq!((lines.lines().count(), distinct.len()), (distinct.len(), distinct.len()));

    // After the window.
    let service = Service::start(folder.path(), 1);
    thread::sleep(Duration::from_millis(1500));
    assert!(is_nearly(service.dispatched(0..100), 100));
}

/// The keys go on while there is no room for a snapshot, and the next one is saved.
#[test]
fn idempotency_saves_snapshots_and_starts_from_the_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(folder.path(), 3600);
    let [state, in_the_way] = ["seen", "seen.new"].map(|name| folder.path().join(name));
    let first = fs::read(&state).unwrap();
    fs::create_dir(&in_the_way).unwrap();
    // A false positive is taken for a repeat.
    assert!(service.dispatched(0..1200) > 1100);
    assert!(fs::read(&state).unwrap() == first);
    fs::remove_dir(in_the_way).unwrap();
    assert!(service.dispatched(1200..2400) > 1100);
    assert!(fs::metadata(&state).unwrap().len() > 3000);
    drop(service);
    let service = Service::start(folder.path(), 3600);
    assert_eq!(service.dispatched(0..2400), 0);
    drop(service);

    let refused = |because: &str| {
        let mut command = example("idempotency");
        // If it takes the state, it ends for this.
        command.arg("--folder").arg(folder.path()).arg("--address=nowhere");
        let run = command.output().expect("it starts");
        let error = text(&run.stderr);
        assert!(!run.status.success() && error.contains(because), "{error}");
    };
    let whole = fs::read(&state).unwrap();
    for at in [0, 9, 1000] {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        fs::write(&state, bytes).unwrap();
        refused("damaged");
    }
    fs::write(&state, whole).unwrap();
    fs::write(folder.path().join("log"), "0\n").unwrap();
    refused("shorter");
}

/// The key of the hasher is made once, for nobody else to read; without it, or with another, nothing starts.
#[test]
fn idempotency_keeps_the_key_of_its_hasher() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let [key, seen] = ["key", "seen"].map(|name| folders[0].path().join(name));
    let keys = folders.each_ref().map(|folder| {
        assert_eq!(Service::start(folder.path(), 3600).status("order-7"), 201);
        fs::read(folder.path().join("key")).expect("a key")
    });
    assert!(keys[0].len() == 16 && keys[0] != keys[1]);
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        assert_eq!(fs::metadata(&key).expect("a file").mode() & 0o777, 0o600);
    }
    let start = || {
        let mut command = example("idempotency");
        command.arg("--folder").arg(folders[0].path()).arg("--address=nowhere");
        text(&command.output().expect("it starts").stderr)
    };
    assert!(start().contains("nowhere")); // as far as its address
    for (bytes, error) in [(&keys[1][..], "another `key`"), (&keys[0][..15], "16 bytes")] {
        fs::write(&key, bytes).expect("written");
        assert!(start().contains(error), "{}", start());
    }
    fs::remove_file(&key).expect("it was there");
    assert!(start().contains("`key` is missing"), "{}", start());
    assert!(!key.exists());
    // As the error says.
    fs::remove_file(seen).expect("it was there");
    assert_eq!(Service::start(folders[0].path(), 3600).status("order-7"), 200);
    assert!(fs::read(key).expect("a key") != keys[0]);
}

/// Keys of clients, and for each another key that a filter of one hasher takes for it.
fn colliding<S: BuildHasher + Clone>(hasher: &S) -> Vec<(String, String)> {
    let empty = || GrowableExpiringCuckooFilter::<Fp21x3, S>::with_hasher(9, hasher.clone());
    let orders: Vec<_> = (0..300).map(|n| format!("order-{n}")).collect();
    let all = empty();
    for order in &orders {
        drop(all.insert(order.as_bytes()));
    }
    let keys = (0..1 << 20).map(|n| format!("forged-{n}"));
    let forged = keys.filter(|key| all.contains(key.as_bytes())).filter_map(|key| {
        let is_taken_for = |order: &&String| {
            let one = empty();
            one.insert(order.as_bytes()).is_ok() && one.contains(key.as_bytes())
        };
        Some((orders.iter().find(is_taken_for)?.clone(), key))
    });
    forged.take(3).collect()
}

/// A client knows what keys others will send, and sends others that collide with them first.
///
/// Two of these six keys collide under a random key once in 500,000 runs, and twice once in 10^11.
#[test]
fn idempotency_lets_no_client_suppress_the_request_of_another() {
    let colliding = colliding(&StableHashBuilder::new(7));
    assert_eq!(colliding.len(), 3);
    let folder = tempfile::tempdir().expect("a folder");
    let service = Service::start(folder.path(), 3600);
    let forged = colliding.iter().map(|(_, forged)| forged);
    let orders = colliding.iter().map(|(order, _)| order);
    let dispatched = forged.chain(orders).filter(|key| service.status(key) == 201).count();
    assert!(dispatched >= 5, "{dispatched}: {colliding:?}");
}

/// `dedup` with this on its standard input.
fn dedup(input: &[u8]) -> Command {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(input).expect("written");
    file.rewind().expect("a file has a beginning");
    let mut command = example("dedup");
    command.stdin(file);
    command
}

#[test]
fn dedup_prints_each_line_once() {
    // Eight copies of each line in a batch, which threads look up at about the same time.
    let line = |n: u64| format!("line {}\n", n / 65_536 * 8_192 + n % 8_192);
    let input: String = (0..200_000).map(line).collect();
    let run = dedup(input.as_bytes()).arg("--rate=1e-5").output().expect("it starts");
    let printed = text(&run.stdout);
    let distinct: BTreeSet<&str> = printed.lines().collect();
    assert_eq!(distinct.len(), printed.lines().count(), "a line was printed twice");
    // Of 26,000 lines with a rate of 1e-5 or less, a few are lost at the most.
    let all: BTreeSet<String> = (0..200_000).map(line).collect();
    assert!(distinct.len() <= all.len() && distinct.len() + 20 > all.len(), "{}", distinct.len());
}

#[test]
fn dedup_takes_lines_of_any_bytes() {
    for (input, lines) in [
        (&b"\xff\n\0\n\xff\xfe\n\xff\n\xff\xfe"[..], &[&b"\0\n"[..], b"\xff\n", b"\xff\xfe\n"][..]),
        (b"egg\r\negg\n\n\n", &[b"\n", b"egg\n", b"egg\r\n"]),
        (b"", &[]),
    ] {
        let run = dedup(input).output().expect("it starts");
        let mut printed: Vec<_> = run.stdout.split_inclusive(|&byte| byte == b'\n').collect();
        printed.sort_unstable();
        assert_eq!((run.status.code(), &printed[..]), (Some(0), lines));
    }
}

#[test]
fn dedup_keeps_its_state_and_refuses_another_or_a_damaged_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("seen");
    let run = |arguments: &[&str], input: &str| {
        let mut command = dedup(input.as_bytes());
        let run = command.arg("--state").arg(&path).args(arguments).output().expect("it starts");
        (run.status.code(), text(&run.stdout), text(&run.stderr))
    };
    assert_eq!(run(&[], "egg\nnest\n"), (Some(0), "egg\nnest\n".into(), String::new()));
    assert_eq!(run(&[], "nest\nblue\n"), (Some(0), "blue\n".into(), String::new()));
    let (status, printed, message) = run(&["--rate=1e-5"], "new\n");
    assert!(message.contains("another --rate"), "{message}");
    assert_eq!((status, printed.as_str()), (Some(1), ""));

    // A file that cannot be read leaves the state as it was.
    let before = fs::read(&path).expect("it was saved");
    let (status, _, message) = run(&["missing"], "");
    assert!(status == Some(1) && message.contains("missing: "), "{message}");
    assert!(fs::read(&path).expect("it stays") == before);

    fs::write(&path, &before[..before.len() / 2]).expect("written");
    let (status, printed, message) = run(&[], "new\n");
    assert_eq!((status, printed.as_str()), (Some(1), ""));
    assert!(message.contains("cannot be used"), "{message}");
}

/// Starts `dedup` with a state and these lines: more than a batch, by less than a pipe holds. Returns after it has
/// printed some of them: so it has loaded the state, and saves it after its input ends.
fn start_dedup(state: &Path, lines: Range<u32>) -> Child {
    let mut command = example("dedup");
    command.arg("--state").arg(state).stdin(Stdio::piped());
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let input = child.stdin.as_mut().expect("a pipe");
    input.write_all(numbered(lines).as_bytes()).expect("it reads");
    let output = child.stdout.as_mut().expect("a pipe");
    output.read_exact(&mut [0; 64]).expect("the first lines");
    child
}

fn numbered(lines: Range<u32>) -> String {
    lines.map(|n| n.to_string() + "\n").collect()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder");
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn dedup_keeps_the_state_of_the_last_of_two_runs_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("seen");
    let halves = [0..70_000, 70_000..140_000];
    for _ in 0..3 {
        let runs = halves.clone().map(|lines| start_dedup(&state, lines));
        // Both inputs end at about the same time.
        thread::scope(|scope| {
            for run in runs {
                scope.spawn(|| {
                    let run = run.wait_with_output().expect("it ends");
                    assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
                });
            }
        });
        assert_eq!(names(folder.path()), ["seen"]);
        let printed = halves.clone().map(|lines| {
            let run = dedup(numbered(lines).as_bytes()).arg("--state").arg(&state).output();
            let run = run.expect("it starts");
            assert!(run.status.success(), "{}", text(&run.stderr));
            run.stdout.len()
        });
        assert!(printed.contains(&0), "neither state remains: {printed:?}");
        fs::remove_file(&state).expect("it was saved");
    }
}

#[test]
fn dedup_leaves_no_file_if_its_state_cannot_be_saved() {
    let folder = tempfile::tempdir().expect("a folder");
    let state = folder.path().join("seen");
    let run = start_dedup(&state, 0..70_000);
    fs::create_dir(&state).expect("a folder in the way");
    let run = run.wait_with_output().expect("it ends");
    assert_eq!(run.status.code(), Some(1));
    assert!(text(&run.stderr).contains("cannot be saved"), "{}", text(&run.stderr));
    assert_eq!(names(folder.path()), ["seen"]);
}

#[test]
fn dedup_ends_in_silence_if_its_reader_goes_away() {
    let input = (0..500_000).map(|n| n.to_string() + "\n").collect::<String>();
    let mut command = dedup(input.as_bytes());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut output = child.stdout.take().expect("a pipe");
    output.read_exact(&mut [0; 64]).expect("the first lines"); // more than a pipe holds is left
    drop(output);
    let run = child.wait_with_output().expect("it ends");
    assert_eq!((run.status.code(), text(&run.stderr)), (Some(0), String::new()));
}

#[test]
fn wrong_arguments_and_a_folder_that_is_not_there_are_named() {
    for (name, argument) in [("dedup", "--rate=2"), ("shared_cache", "--keys=0")] {
        let run = example(name).arg(argument).output().expect("it starts");
        assert_eq!(run.status.code(), Some(2), "{argument}");
        assert!(text(&run.stderr).contains(&argument[..6]), "{}", text(&run.stderr));
    }
    for name in ["idempotency", "lsm", "restart"] {
        let run = example(name).arg("--nope").output().expect("it starts");
        assert!(!run.status.success() && run.stdout.is_empty(), "{name}: {}", text(&run.stdout));
    }
    // With two arguments, these start themselves.
    for name in ["lsm", "restart"] {
        let folder = tempfile::tempdir().expect("a folder");
        let run = example(name).arg(folder.path()).arg("b").output().expect("it starts");
        assert!(text(&run.stderr).contains("takes no arguments"), "{}", text(&run.stderr));
        assert_eq!((run.status.code(), names(folder.path())), (Some(1), Vec::new()));
    }
    if cfg!(unix) {
        let run = example("shared_cache").env("TMPDIR", "/dev/null/no").output().expect("it runs");
        assert_eq!(run.status.code(), Some(1));
        assert!(text(&run.stderr).contains("/dev/null/no"), "{}", text(&run.stderr));
    }
}

/// A block of the cookbook that begins with the name of a program is a part of this program.
#[test]
fn the_cookbook_shows_what_runs() {
    let folder = env!("CARGO_MANIFEST_DIR");
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let mut shown = BTreeSet::new();
    for block in
        include_str!("../../docs/cookbook.md").split("```rust,ignore\n// examples/").skip(1)
    {
        let (block, _) = block.split_once("\n```").expect("the end of the block");
        let (name, part) = block.split_once('\n').expect("a name and a part");
        let program = fs::read_to_string(format!("{folder}/{name}")).expect("a program");
        let (program, part) = (lines(&program), lines(part));
        assert!(program.windows(part.len()).any(|lines| lines == part), "{name}: {block}");
        shown.insert(name);
    }
    assert_eq!(shown.len(), 9, "{shown:?}");
}
