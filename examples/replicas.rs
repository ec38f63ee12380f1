//! A filter on many machines: each node holds a whole one in its own memory and answers lookups from
//! it, and all of them follow one log of changes on a Redis server.
//!
//! Nothing is asked over the network when a node looks an item up. Changes take another way:
//! producers append them to a log, a Redis stream, and each node reads the log and applies its
//! entries in order. A node that starts loads the newest snapshot from the server, and then reads the
//! log from the position that the snapshot names. The nodes take the snapshots in turn, while they
//! serve.
//!
//! This program starts a server and several nodes, each a process of its own. It adds and removes
//! items, asks all nodes all the time, and checks every answer. Meanwhile it kills a node and starts
//! it again, and cuts another one off twice: first for a short time, then until the entries that the
//! node has not read are gone from the log. A single wrong answer makes it exit with status 1.
//!
//! ```text
//! cargo run --release --example replicas
//! cargo run --release --example replicas -- --nodes 5 --operations 2000000 --rate 100000
//! cargo run --release --example replicas -- --server redis://127.0.0.1:6379
//! ```
//!
//! It needs `redis-server` or `valkey-server` to be installed, or the address of one that runs: Redis
//! 6.2 or later, or any Valkey.
//!
//! # What the order of the log gives
//!
//! - A node that has applied the log up to a position answers for the set as it was at that position,
//!   exactly: every item that was present there is found. (An absent one is found with the
//!   false-positive rate of the filter.)
//! - Positions are total: of two nodes, the one with the later position has applied everything that
//!   the other one has. Nodes at the same position hold the same classes of items, and give the same
//!   answer to every lookup, false positives included.
//! - Removals need no more than the order: a remove comes after its add, on every node. If nodes got
//!   changes from different places, one could remove an item before it is there, and keep it for
//!   ever.
//!
//! # What it does not give
//!
//! - Two nodes may differ by what is still on its way, and a client that asks one and then the other
//!   may see an item come, go and come again. A client that must not sends along the position that
//!   it has seen last, or that its own change got, and a node waits until it is there, or refuses.
//!   The answers here carry their position, so such a check is one comparison.
//! - A node that is cut off does not know how far it is behind. It goes on answering for its last
//!   position. Whoever sends clients to nodes looks at that position, too.
//! - The log is as durable as the server is configured to be. The one that this program starts keeps
//!   nothing on disk. If a server comes back without the last entries, the nodes that have read them
//!   keep them, and the others never get them: then all must load a snapshot that is older than the
//!   loss.
//! - A producer whose connection breaks does not know whether its last entries are in the log. It
//!   must look before it sends them again: an item that was added twice and removed once is still
//!   found, and one that was added once and removed twice may take an item with it that has the same
//!   fingerprint. Here such an error ends the program.
//! - An item is written by one producer only. Otherwise the producers would have to agree on who
//!   adds it first.
//!
//! # The snapshots
//!
//! Only one thread of a node writes to its filter. It takes the snapshot between two entries, so the
//! image belongs to that position. While it does, lookups go on, and the log waits. Another thread
//! writes the bytes to the server: image and position in one command, so that they are never apart,
//! and only if they are newer than what is there.
//!
//! In the same transaction the log is trimmed up to the snapshot that was the newest before. So a
//! node can lose its place in the log only if it is more than a snapshot behind. Redis does not tell
//! it so: a read from a position that is gone begins with the next entry there is. So each read asks
//! for the oldest entry of the log as well, and if this one is beyond its position, the node loads
//! the newest snapshot.
//!
//! A Redis value has 512 MB at the most. Larger images belong into a store for objects, with their
//! name and position on the server.
//!
//! # What is checked
//!
//! A node says with its answers which entry was the last one applied before the first lookup, and
//! which one was the last one begun after the last lookup. An item that was present at every position
//! from the first to the second must be found. The producers note the position of each of their
//! entries, so this is known for every answer, those of a node that is far behind included.
//!
//! At the end, when all nodes have read everything: every item that is present is found on each node,
//! the number of items is right, and no node was told to remove an item that it did not have.

#[path = "replicas/engine.rs"]
mod engine;
#[path = "replicas/node.rs"]
mod node;
#[path = "replicas/processes.rs"]
mod processes;
#[path = "replicas/protocol.rs"]
mod protocol;
mod terminal;
#[path = "replicas/truth.rs"]
mod truth;

use std::env;
use std::error::Error;
use std::io::{self, Write};
use std::mem;
use std::net::SocketAddr;
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Parser;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redis::{ConnectionAddr, ConnectionInfo};

use engine::{Change, Engine, Position, Session};
use node::{Fault, NodeOptions};
use processes::{GUARDED, NODE, NodeProcess, Server};
use protocol::{MAX_ITEMS, Wire};
use terminal::{Progress, grouped};
use truth::{Truth, Verdict};

/// Keep a filter on several nodes up to date through a log on a Redis server, kill a node, cut
/// another one off, and check every answer.
///
/// Exit status: 0 if every answer was right; 1 if one was wrong, or a server or a node failed; 2 for
/// wrong arguments.
#[derive(Parser)]
#[command(name = "replicas")]
struct Options {
    /// How many nodes there are.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(2..=64))]
    nodes: u64,

    /// How many times an item is added or removed, in all. A quarter of these add items that stay,
    /// the others add and remove as many others. The server keeps two thirds of them in memory.
    #[arg(long, default_value_t = 600_000, value_parser = clap::value_parser!(u64).range(20_000..=100_000_000))]
    operations: u64,

    /// The most operations per second.
    #[arg(long, default_value_t = 40_000, value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    rate: u64,

    /// Use this server, `redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]`, instead of starting one.
    /// The keys of this run have a name of their own and are deleted at the end.
    #[arg(long, value_name = "URL", value_parser = parse_server)]
    server: Option<GivenServer>,

    /// Break the nodes in this way, for the tests.
    #[arg(long, hide = true)]
    fault: Option<Fault>,
}

/// The engine that the user names.
#[derive(Clone)]
struct GivenServer {
    url: String,
    host: String,
    port: u16,
}

fn parse_server(url: &str) -> Result<GivenServer, String> {
    let info: ConnectionInfo = url.parse().map_err(|error| format!("{error}"))?;
    match info.addr() {
        ConnectionAddr::Tcp(host, port) => {
            Ok(GivenServer { url: url.into(), host: host.clone(), port: *port })
        }
        _ => Err("only redis:// with a host works here, without TLS".into()),
    }
}

/// A batch of entries that a producer sends at once.
const MAX_BATCH: u64 = 100;
const PRODUCERS: u64 = 2;

/// How many snapshots are taken in all.
const SNAPSHOTS: u64 = 20;

/// A client asks a node for so many items, and then pauses.
const LOOKUPS: usize = 128;
const PAUSE: Duration = Duration::from_millis(2);

/// Items that never exist, asked for at the end to measure the false-positive rate.
const PROBES: u64 = 1_000_000;

/// A node that is so little behind has caught up, as far as its lag is concerned.
const NEAR_MS: u64 = 10;

/// What makes no progress for so long is broken, and not busy.
const LIMIT: Duration = Duration::from_secs(120);

const SEED: u64 = 0x000c_0ca1;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let mut arguments = env::args_os();
    let program = arguments.next();
    // For the user's own arguments this is one of them; `parse` reads all of them again.
    let first = arguments.next().unwrap_or_default();
    let (name, result) = if first == NODE {
        let options = NodeOptions::parse_from(program.into_iter().chain(arguments));
        (format!("replicas: node {}", options.number), node::run(options))
    } else if first == GUARDED {
        ("replicas".into(), processes::run_guarded(arguments))
    } else {
        ("replicas".into(), run(&Options::parse()))
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{name}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts what is needed, does everything, and fails if an answer was wrong.
fn run(options: &Options) -> Result<()> {
    // Dropped last, when nobody needs the server any more.
    let mut own_server = None;
    let server = if let Some(server) = &options.server {
        server.clone()
    } else {
        let port = own_server.insert(Server::start()?).port;
        let url = format!("redis://127.0.0.1:{port}");
        GivenServer { url, host: "127.0.0.1".into(), port }
    };
    let target = processes::resolve(&server.host, server.port)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("coucal-replicas-{}-{}", process::id(), now.as_nanos());
    let engine = Engine::new(server.url.as_str(), &name)?;
    let mut session = engine.connect()?;
    session.create_log()?;
    session.pin()?;
    session.keep_alive()?;

    let outcome = Cluster::new(options, &engine, &server.url, target, &name)
        .and_then(|cluster| cluster.run(&mut session));
    // If this fails, the server deletes them itself in a while.
    let _ = session.delete_all();
    let report = outcome?;
    match report.print() {
        // The reader of the table is gone; the exit status still tells the result.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result?,
    }
    match report.wrong() {
        0 => Ok(()),
        wrong => Err(format!("{} wrong answers", grouped(wrong)).into()),
    }
}

/// The nodes, and all that the threads of this process share.
struct Cluster<'a> {
    options: &'a Options,
    engine: &'a Engine,
    items: Items,
    nodes: Vec<Member>,
    /// One more, which is started once to read the whole log, and takes no snapshots.
    newcomer: NodeProcess,
    truth: Truth,
    /// The producers stop before this operation until it is raised.
    ceiling: AtomicU64,
    /// How many entries are in the log for sure, and the last position of these.
    settled: AtomicU64,
    last: AtomicU64,
    stop: AtomicBool,
    /// Why a thread has stopped all others.
    failure: Mutex<Option<Box<dyn Error + Send + Sync>>>,
}

struct Member {
    process: NodeProcess,
    /// It runs, is not cut off, and has caught up: its lag counts.
    is_steady: AtomicBool,
}

/// Which items there are, by number: first those that are added at the beginning and stay, then those
/// that come and go, then those that never exist.
#[derive(Clone, Copy)]
struct Items {
    kept: u64,
    churn: u64,
}

impl Items {
    fn new(operations: u64) -> Self {
        let quarter = operations / 4 / PRODUCERS * PRODUCERS;
        Self { kept: quarter, churn: quarter }
    }

    fn all(self) -> u64 {
        self.kept + self.churn
    }
}

/// Stops all threads on drop.
struct StopOnDrop<'a>(&'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Cluster<'a> {
    fn new(
        options: &'a Options,
        engine: &'a Engine,
        server: &str,
        target: SocketAddr,
        name: &str,
    ) -> Result<Self> {
        let items = Items::new(options.operations);
        let node = |number| {
            let options = NodeOptions {
                number,
                nodes: options.nodes,
                capacity: items.all() as usize,
                interval: options.operations / SNAPSHOTS,
                name: name.into(),
                port: 0,
                from_beginning: number == options.nodes,
                fault: options.fault,
            };
            NodeProcess::new(options, server.into(), target)
        };
        let member =
            |number| Ok(Member { process: node(number)?, is_steady: AtomicBool::new(false) });
        Ok(Self {
            options,
            engine,
            items,
            nodes: (0..options.nodes).map(member).collect::<Result<_>>()?,
            newcomer: node(options.nodes)?,
            truth: Truth::new(items.all(), PRODUCERS),
            ceiling: 0.into(),
            settled: 0.into(),
            last: Position::BEGINNING.to_bits().into(),
            stop: false.into(),
            failure: Mutex::new(None),
        })
    }

    fn run(&self, session: &mut Session) -> Result<Report> {
        let progress = Progress::new("starting the nodes", self.options.nodes);
        for node in &self.nodes {
            node.process.start()?;
            node.is_steady.store(true, Ordering::Relaxed);
        }
        progress.finish(&format!("{} processes", self.nodes.len()));

        thread::scope(|scope| {
            let stop = StopOnDrop(&self.stop);
            for producer in 0..PRODUCERS {
                scope.spawn(move || self.stop_all_on_error(|| self.produce(producer)));
            }
            let clients: Vec<_> = (0..self.nodes.len())
                .map(|node| scope.spawn(move || self.stop_all_on_error(|| self.ask(node))))
                .collect();
            let sampler = scope.spawn(|| self.stop_all_on_error(|| self.sample_lag()));

            let scenario = self.scenario(session);
            drop(stop);
            let mut answers = Tally::default();
            for client in clients {
                answers.add(client.join().expect("a client returns its errors").as_ref());
            }
            let lag = sampler.join().expect("the sampler returns its errors");
            // What stopped the others comes first: the scenario says no more than that it was
            // stopped.
            match lock(&self.failure).take() {
                Some(failure) => Err(failure),
                None => Ok(Report {
                    operations: self.options.operations,
                    nodes: self.options.nodes,
                    answers,
                    lag: lag.unwrap_or_default(),
                    story: scenario?,
                }),
            }
        })
    }

    /// What a thread returns. By an error or a panic it stops all others.
    fn stop_all_on_error<T>(&self, thread: impl FnOnce() -> Result<T>) -> Option<T> {
        let stop = StopOnDrop(&self.stop);
        match thread() {
            Ok(result) => {
                mem::forget(stop);
                Some(result)
            }
            Err(error) => {
                lock(&self.failure).get_or_insert(error);
                None
            }
        }
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// The last position of the log that is known here.
    fn last(&self) -> Position {
        Position::from_bits(self.last.load(Ordering::Acquire))
    }

    /// Adds and removes the items of one producer.
    fn produce(&self, producer: u64) -> Result<()> {
        // A fixed seed: the same operations in every run.
        let mut random = SmallRng::seed_from_u64(SEED + producer);
        let mut session = self.engine.connect()?;
        let rate = self.options.rate as f64 / PRODUCERS as f64;
        // A hundred batches per second, or more.
        let batch = ((rate / 100.0) as u64).clamp(1, MAX_BATCH);
        let own_churn = self.items.churn / PRODUCERS;
        let mut kept = (0..self.items.kept).filter(|item| item % PRODUCERS == producer);

        // This producer's operations are every `PRODUCERS`-th of all.
        let mut operation = producer;
        let mut due = Instant::now();
        let (mut items, mut changes) = (Vec::new(), Vec::new());
        while operation < self.options.operations && !self.is_stopped() {
            items.clear();
            changes.clear();
            let ceiling = self.ceiling.load(Ordering::Relaxed);
            while (items.len() as u64) < batch && operation < ceiling {
                let item = kept.next().unwrap_or_else(|| {
                    let churn = random.random_range(0..own_churn) * PRODUCERS + producer;
                    self.items.kept + churn
                });
                // One that is in this batch already is left for another time.
                if let Some(is_present) = self.truth.begin_change(item) {
                    let change = if is_present { Change::Remove } else { Change::Add };
                    items.push(item);
                    changes.push(change(item));
                    operation += PRODUCERS;
                }
            }
            if items.is_empty() {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let positions = session.append(&changes)?;
            for (&item, &position) in items.iter().zip(&positions) {
                self.truth.settle_change(item, position);
            }
            let last = positions.last().copied().unwrap_or_default();
            self.last.fetch_max(last.to_bits(), Ordering::Release);
            self.settled.fetch_add(items.len() as u64, Ordering::Release);

            // Time that was lost waiting for the engine, or below the ceiling, is not made up for.
            due = (due + Duration::from_secs_f64(items.len() as f64 / rate)).max(Instant::now());
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Asks one node again and again, as long as it runs, and judges its answers.
    fn ask(&self, node: usize) -> Result<Tally> {
        let mut random = SmallRng::seed_from_u64(SEED + PRODUCERS + node as u64);
        let mut tally = Tally::default();
        let mut wire: Option<Wire> = None;
        // Answers for items with an entry on its way.
        let mut open: Vec<(u64, Position, Position, bool)> = Vec::new();
        while !self.is_stopped() {
            thread::sleep(PAUSE);
            open.retain(|&(item, before, after, found)| {
                let verdict = self.truth.judge(item, before, after, found);
                verdict.is_none_or(|verdict| !tally.count(verdict))
            });
            let process = &self.nodes[node].process;
            let Some(address) = process.address() else {
                wire = None;
                continue;
            };
            // Half of the items never existed.
            let items: Vec<u64> =
                (0..LOOKUPS).map(|_| random.random_range(0..self.items.all() * 2)).collect();
            let answers = match &mut wire {
                Some(wire) => wire.look_up(&items),
                none => Wire::connect(address).and_then(|new| none.insert(new).look_up(&items)),
            };
            let answers = match answers {
                Ok(answers) => answers,
                Err(_) if process.address() != Some(address) => {
                    wire = None;
                    continue;
                }
                Err(error) => return Err(format!("node {node} does not answer: {error}").into()),
            };
            for (item, found) in items.into_iter().zip(answers.found) {
                if item >= self.items.all() {
                    tally.count(Verdict::Right);
                } else {
                    open.push((item, answers.before, answers.after, found));
                }
            }
        }
        for (item, before, after, found) in open {
            if let Some(verdict) = self.truth.judge(item, before, after, found) {
                tally.count(verdict);
            }
        }
        Ok(tally)
    }

    /// Asks all nodes again and again how far they are.
    fn sample_lag(&self) -> Result<Lag> {
        let mut session = self.engine.connect()?;
        let mut lag = Lag::default();
        let mut were_steady = vec![false; self.nodes.len()];
        let mut kept_alive = Instant::now();
        while !self.is_stopped() {
            thread::sleep(Duration::from_millis(10));
            for (node, was_steady) in self.nodes.iter().zip(&mut were_steady) {
                node.process.check()?;
                let is_steady = node.is_steady.load(Ordering::Acquire);
                let settled = self.settled();
                // The first sample has what was before in its longest delay.
                if is_steady
                    && let Ok(status) = node.process.status()
                    && mem::replace(was_steady, true)
                    && node.is_steady.load(Ordering::Acquire)
                {
                    lag.entries.push(settled.saturating_sub(status.entries));
                    lag.delays_ms.push(status.delay_ms);
                    lag.max_delay_ms = lag.max_delay_ms.max(status.max_delay_ms);
                }
                *was_steady &= is_steady;
            }
            if kept_alive.elapsed() > Duration::from_secs(10) {
                session.keep_alive()?;
                kept_alive = Instant::now();
            }
        }
        Ok(lag)
    }

    /// Waits until `remaining` says that nothing remains; gives up when that does not change for a
    /// long time.
    fn wait(&self, what: &str, mut remaining: impl FnMut() -> Result<u64>) -> Result<()> {
        let (mut last, mut since) = (u64::MAX, Instant::now());
        loop {
            if self.is_stopped() {
                return Err("stopped".into());
            }
            match remaining()? {
                0 => return Ok(()),
                now if now != last => (last, since) = (now, Instant::now()),
                now if since.elapsed() > LIMIT => {
                    let seconds = LIMIT.as_secs();
                    return Err(format!("{what}: {now} remain, for {seconds} s").into());
                }
                _ => thread::sleep(Duration::from_millis(1)),
            }
        }
    }

    /// Lets the producers go on to this share of all operations, in percent, and waits for them.
    fn produce_until(&self, label: &str, percent: u64) -> Result<()> {
        self.produce_in_steps(label, &[percent], &[])
    }

    /// The same, in steps, at each of which these nodes catch up.
    fn produce_in_steps(&self, label: &str, percents: &[u64], nodes: &[Member]) -> Result<()> {
        let operations = |percent: u64| self.options.operations * percent / 100;
        let first = self.settled();
        let total = percents.last().map_or(first, |&last| operations(last)) - first;
        let mut progress = Progress::new(label, total);
        for &percent in percents {
            self.let_produce_until(percent);
            self.wait(label, || {
                let settled = self.settled();
                progress.set(settled - first);
                Ok(operations(percent) - settled)
            })?;
            for node in nodes {
                self.wait_until_caught_up(&node.process)?;
            }
        }
        progress.finish(&format!("{} operations", grouped(total)));
        Ok(())
    }

    /// Lets them go on, and does not wait.
    fn let_produce_until(&self, percent: u64) {
        self.ceiling.store(self.options.operations * percent / 100, Ordering::Relaxed);
    }

    /// Waits until they have gone past this share, and leaves them going on for a while.
    fn produce_past(&self, percent: u64) -> Result<()> {
        self.let_produce_until(percent + 2);
        let operations = self.options.operations * percent / 100;
        self.wait("the producers", || Ok(operations.saturating_sub(self.settled())))
    }

    /// Waits until a node is where the log ended when this was called.
    fn wait_until_caught_up(&self, node: &NodeProcess) -> Result<()> {
        let (last, settled) = (self.last(), self.settled());
        self.wait("a node reads the log", || {
            let status = node.status()?;
            // Positions decide. The number of entries is not there at once: it shows progress.
            let is_there = status.position >= last;
            Ok(if is_there { 0 } else { settled.saturating_sub(status.entries).max(1) })
        })
    }

    /// Waits until a node has also read what came in while it caught up, and counts its lag again.
    fn wait_until_steady(&self, node: &Member) -> Result<()> {
        self.wait("a node reads the log", || {
            let position = node.process.status()?.position;
            let behind = self.last().milliseconds().saturating_sub(position.milliseconds());
            Ok(behind.saturating_sub(NEAR_MS))
        })?;
        node.is_steady.store(true, Ordering::Release);
        Ok(())
    }

    /// Does something that lets a node catch up, and waits until it has.
    fn recover(
        &self,
        label: &str,
        node: &NodeProcess,
        entries_before: u64,
        begin: impl FnOnce() -> Result<()>,
    ) -> Result<Recovery> {
        let progress = Progress::new(label, 1);
        let settled = self.settled();
        let start = Instant::now();
        begin()?;
        self.wait_until_caught_up(node)?;
        let time = start.elapsed();
        let status = node.status()?;
        let entries = settled.saturating_sub(entries_before.max(status.loaded_entries));
        let recovery = Recovery { entries, time };
        progress.finish(&format!("{} entries of the log", grouped(entries)));
        Ok(recovery)
    }

    /// All that happens, while the clients ask. A share of the operations in percent says when.
    ///
    /// None of these is a multiple of the share that lies between two snapshots: so a node that has
    /// loaded one has entries to read.
    fn scenario(&self, session: &mut Session) -> Result<Story> {
        let (victim, isolated) =
            (&self.nodes[1], self.nodes.last().expect("there are two or more"));
        let start = Instant::now();
        self.produce_until("all nodes serve", 42)?;
        self.wait("a snapshot is stored", || {
            Ok(u64::from(session.snapshot_position_and_bytes()?.is_none()))
        })?;

        // Killed, and later cut off, while the log goes on.
        self.produce_past(44)?;
        let killed = victim.process.status()?;
        victim.is_steady.store(false, Ordering::Release);
        victim.process.kill();
        self.produce_until("node 1 is killed", 53)?;
        // The producers go on while it recovers; so they do in what follows.
        self.let_produce_until(58);
        let with_snapshot =
            self.recover("node 1 starts from a snapshot", &victim.process, 0, || {
                victim.process.start()
            })?;
        self.wait_until_steady(victim)?;

        // The log is still whole.
        let without_snapshot =
            self.recover("a new node starts from the beginning", &self.newcomer, 0, || {
                self.newcomer.start()
            })?;
        let newcomer = self.newcomer.status()?;
        self.newcomer.kill();

        self.produce_until("all nodes serve", 58)?;
        self.wait_until_caught_up(&isolated.process)?;
        let last = self.options.nodes - 1;
        self.produce_past(59)?;
        isolated.is_steady.store(false, Ordering::Release);
        isolated.process.proxy.cut();
        self.produce_until(&format!("node {last} is cut off"), 63)?;
        let cut_off = isolated.process.status()?;
        self.let_produce_until(68);
        let after_cut = self.recover(
            &format!("node {last} goes on"),
            &isolated.process,
            cut_off.entries,
            || {
                isolated.process.proxy.restore();
                Ok(())
            },
        )?;
        self.wait_until_steady(isolated)?;

        // From here on, every snapshot trims the log.
        session.unpin()?;
        self.produce_until("all nodes serve", 71)?;
        self.wait_until_caught_up(&isolated.process)?;
        self.produce_past(72)?;
        isolated.is_steady.store(false, Ordering::Release);
        isolated.process.proxy.cut();
        // In steps, so that the others take all their snapshots: one that is behind leaves some out.
        let (others, label) = (
            &self.nodes[..self.nodes.len() - 1],
            format!("node {last} is cut off, and the log trimmed"),
        );
        self.produce_in_steps(&label, &[76, 81, 86, 91, 96], others)?;
        let cut_off = isolated.process.status()?;
        self.wait("the log is trimmed", || {
            Ok(u64::from(session.oldest_entry()?.is_none_or(|oldest| oldest <= cut_off.position)))
        })?;
        self.let_produce_until(100);
        let after_trim = self.recover(
            &format!("node {last} starts from a snapshot"),
            &isolated.process,
            cut_off.entries,
            || {
                isolated.process.proxy.restore();
                Ok(())
            },
        )?;
        self.wait_until_steady(isolated)?;

        self.produce_until("all nodes serve", 100)?;
        let time = start.elapsed();
        for node in &self.nodes {
            self.wait_until_caught_up(&node.process)?;
        }
        let mut audit = self.audit()?;
        audit.wrong += killed.unknown_removals + newcomer.unknown_removals;
        let statuses =
            self.nodes.iter().map(|node| node.process.status()).collect::<Result<Vec<_>>>()?;
        let stored = statuses.iter().map(|status| status.snapshots_stored).sum::<u64>();
        Ok(Story {
            time,
            with_snapshot,
            without_snapshot,
            after_cut,
            after_trim,
            snapshots: stored + killed.snapshots_stored,
            snapshot_bytes: session.snapshot_position_and_bytes()?.map_or(0, |(_, bytes)| bytes),
            log_entries: session.log_entries()?,
            expected_rate: statuses[0].rate,
            audit,
        })
    }

    /// When everything is read: asks each node for every item that is present, and for many that
    /// never were.
    fn audit(&self) -> Result<Audit> {
        let present = self.truth.present();
        let probes: Vec<u64> = (0..PROBES).map(|probe| self.items.all() * 2 + probe).collect();
        let mut audit = Audit { items: present.len() as u64, ..Audit::default() };
        let total = self.nodes.len() * (present.len() + probes.len());
        let mut progress = Progress::new("checking every item on every node", total as u64);
        let mut done = 0;
        let mut of_first: Vec<bool> = Vec::new();
        for node in &self.nodes {
            let status = node.process.status()?;
            // One item too many gives no wrong answer yet, but will when it is removed.
            audit.wrong += status.items.abs_diff(audit.items) + status.unknown_removals;
            let address = node.process.address().ok_or("a node does not run")?;
            let mut wire = Wire::connect(address)?;
            let mut look_up = |items: &[u64]| -> Result<Vec<bool>> {
                let mut found = Vec::with_capacity(items.len());
                for items in items.chunks(MAX_ITEMS) {
                    found.extend(wire.look_up(items)?.found);
                    done += items.len() as u64;
                    progress.set(done);
                }
                Ok(found)
            };
            audit.wrong += look_up(&present)?.into_iter().filter(|found| !found).count() as u64;
            let found = look_up(&probes)?;
            if of_first.is_empty() {
                audit.false_positives = found.iter().filter(|&&found| found).count() as u64;
                of_first = found;
            } else {
                audit.differ += found.iter().zip(&of_first).filter(|(a, b)| a != b).count() as u64;
            }
        }
        progress.finish(&format!("{} lookups", grouped(done)));
        Ok(audit)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many answers were judged how.
#[derive(Default)]
struct Tally {
    lookups: u64,
    missed: u64,
    either: u64,
}

impl Tally {
    /// Returns true, for it is counted.
    fn count(&mut self, verdict: Verdict) -> bool {
        self.lookups += 1;
        self.missed += u64::from(verdict == Verdict::Missed);
        self.either += u64::from(verdict == Verdict::Either);
        true
    }

    fn add(&mut self, other: Option<&Self>) {
        if let Some(other) = other {
            self.lookups += other.lookups;
            self.missed += other.missed;
            self.either += other.either;
        }
    }
}

/// How far the nodes were behind the log, at many moments.
#[derive(Default)]
struct Lag {
    entries: Vec<u64>,
    delays_ms: Vec<u64>,
    max_delay_ms: u64,
}

/// How a node has caught up.
struct Recovery {
    /// What it read from the log.
    entries: u64,
    time: Duration,
}

/// What the scenario has measured.
struct Story {
    time: Duration,
    with_snapshot: Recovery,
    without_snapshot: Recovery,
    after_cut: Recovery,
    after_trim: Recovery,
    snapshots: u64,
    snapshot_bytes: u64,
    log_entries: u64,
    expected_rate: f64,
    audit: Audit,
}

/// What was found on the nodes after the last operation.
#[derive(Default)]
struct Audit {
    items: u64,
    wrong: u64,
    false_positives: u64,
    /// Answers for items that never were, on which a node differs from the first one.
    differ: u64,
}

struct Report {
    operations: u64,
    nodes: u64,
    answers: Tally,
    lag: Lag,
    story: Story,
}

impl Report {
    fn wrong(&self) -> u64 {
        self.answers.missed + self.story.audit.wrong
    }

    fn print(&self) -> io::Result<()> {
        let Story { audit, time, .. } = &self.story;
        let rate = |rate: f64| format!("{:.4} %", rate * 100.0);
        let mut rows: Vec<(&str, String)> = vec![
            ("nodes", grouped(self.nodes)),
            ("operations", grouped(self.operations)),
            (
                "operations per second",
                grouped((self.operations as f64 / time.as_secs_f64()) as u64),
            ),
            ("lookups meanwhile", grouped(self.answers.lookups)),
            ("of these, items that changed meanwhile", grouped(self.answers.either)),
            ("lag in entries, median", grouped(median(&self.lag.entries))),
            (
                "lag in entries, largest",
                grouped(self.lag.entries.iter().copied().max().unwrap_or(0)),
            ),
            ("lag in ms, median", grouped(median(&self.lag.delays_ms))),
            ("lag in ms, largest", grouped(self.lag.max_delay_ms)),
            ("snapshots stored", grouped(self.story.snapshots)),
            ("bytes of the last snapshot", grouped(self.story.snapshot_bytes)),
            ("entries in the log at the end", grouped(self.story.log_entries)),
        ];
        for (labels, recovery) in [
            (
                ["from a snapshot: entries read", "from a snapshot: ms to recover"],
                &self.story.with_snapshot,
            ),
            (
                ["without a snapshot: entries read", "without a snapshot: ms to recover"],
                &self.story.without_snapshot,
            ),
            (
                ["cut off, log kept: entries read", "cut off, log kept: ms to recover"],
                &self.story.after_cut,
            ),
            (
                ["cut off, log trimmed: entries read", "cut off, log trimmed: ms to recover"],
                &self.story.after_trim,
            ),
        ] {
            rows.push((labels[0], grouped(recovery.entries)));
            rows.push((labels[1], grouped(recovery.time.as_millis() as u64)));
        }
        rows.extend([
            ("items present at the end", grouped(audit.items)),
            ("false-positive rate, measured", rate(audit.false_positives as f64 / PROBES as f64)),
            ("false-positive rate, expected", rate(self.story.expected_rate)),
            ("answers on which nodes differ", grouped(audit.differ)),
            ("wrong answers", grouped(self.wrong())),
        ]);
        let mut stdout = io::stdout().lock();
        for (label, figure) in rows {
            writeln!(stdout, "{label:<42}{figure:>16}")?;
        }
        Ok(())
    }
}

fn median(samples: &[u64]) -> u64 {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or(0)
}
