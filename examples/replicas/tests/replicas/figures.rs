//! The figures of `README.md`: `cargo test --release -p replicas -- --ignored --nocapture`.

use std::thread;
use std::time::Instant;

use redis::{Connection, cmd};

use crate::processes::Process;
use crate::server::{Server, wait_for};
use crate::world::ask;

struct Figures {
    server: Server,
    set: String,
}

impl Figures {
    fn process(&self, command: &str) -> Process {
        let all = format!("--server {} --set {} {command}", self.server.url(), self.set);
        Process::start(&all.split(' ').map(Into::into).collect::<Vec<_>>())
    }

    fn connect(&self) -> Connection {
        self.server.connect()
    }

    /// Returns the changes per second of several writers at the same time.
    fn rate(&self, writers: usize, batch: usize, changes: usize) -> f64 {
        let start_writer = |number| {
            let writer = self.process(&format!("write writer{number} --batch {batch}"));
            let lines: Vec<_> = (0..changes).map(|key| format!("+ {number} {key}")).collect();
            (writer, lines)
        };
        let mut writers: Vec<_> = (0..writers).map(start_writer).collect();
        let start = Instant::now();
        thread::scope(|scope| {
            for (writer, lines) in &mut writers {
                // A thread for each: a pipe that is full stops the thread that writes.
                scope.spawn(|| {
                    writer.send(lines);
                    while writer.receive() != changes.to_string() {}
                });
            }
        });
        (writers.len() * changes) as f64 / start.elapsed().as_secs_f64()
    }
}

#[test]
#[ignore = "prints figures"]
fn figures() {
    eprintln!("appendfsync  writers  lines at a time  changes per second");
    for policy in ["always", "everysec"] {
        for (writers, batch, changes) in [
            (1, 1, 5000),
            (4, 1, 5000),
            (1, 10, 50_000),
            (4, 10, 50_000),
            (1, 1000, 1_000_000),
            (4, 1000, 500_000),
        ] {
            let server = Server::start(&format!("--appendonly yes --appendfsync {policy}"));
            let figures = Figures { server, set: "rates".into() };
            let rate = figures.rate(writers, batch, changes);
            eprintln!("{policy:11}  {writers:7}  {batch:15}  {rate:18.0}");
        }
    }

    for batch in [1000, 10, 1] {
        let server = Server::start("--appendonly yes --appendfsync everysec");
        let figures = Figures { server, set: "sizes".into() };
        let changes = if batch == 1 { 100_000 } else { 1_000_000 };
        figures.rate(1, batch, changes);
        let mut connection = figures.connect();
        let usage = cmd("MEMORY").arg("USAGE").arg("{sizes:0}:log").query(&mut connection);
        let usage: u64 = usage.expect("a number of bytes");
        let per_change = usage as f64 / changes as f64;
        eprintln!("the log, {batch} at a time: {per_change:.1} bytes for each change");
        let last = [format!("0 {}", changes - 1)];
        let load = || {
            let start = Instant::now();
            let mut replica = figures.process("follow --every 500000");
            wait_for("all changes", || ask(&mut replica, &last)[0].1.then_some(()));
            (start.elapsed().as_secs_f64(), replica)
        };
        let (seconds, replica) = load();
        eprintln!("a replica reads {changes} changes from the log in {seconds:.2} s");
        if changes < 1_000_000 {
            continue;
        }
        let name = "{sizes:0}:snapshot";
        wait_for("a snapshot", || {
            let exists: bool = cmd("EXISTS").arg(name).query(&mut connection).expect("a number");
            exists.then_some(())
        });
        drop(replica);
        let bytes: u64 = cmd("HSTRLEN").arg(name).arg("image").query(&mut connection).expect("it");
        let (seconds, replica) = load();
        eprint!("{}", replica.errors());
        eprintln!("it has {bytes} bytes: all changes are read in {seconds:.2} s");
    }

    for policy in ["always", "everysec"] {
        let server = Server::start(&format!("--appendonly yes --appendfsync {policy}"));
        let figures = Figures { server, set: "lags".into() };
        let (mut writer, mut replica) = (figures.process("write one"), figures.process("follow"));
        let lag = |number: usize| {
            let key = [number.to_string()];
            writer.send(&[format!("+ {number}")]);
            while writer.receive() != (number + 1).to_string() {}
            let stored = Instant::now();
            while !ask(&mut replica, &key)[0].1 {}
            stored.elapsed().as_micros()
        };
        let mut lags: Vec<_> = (0..2000).map(lag).collect();
        lags.sort_unstable();
        let [median, most] = [lags[1000], lags[1980]];
        eprintln!(
            "appendfsync {policy}: a replica has a change {median} us after its writer knows that it is stored, 99 % within {most} us"
        );
    }
}
