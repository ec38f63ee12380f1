//! A filter on many machines: each node holds a whole one in its own memory and answers lookups from
//! it, and all of them follow one log of changes on a Redis server.
//!
//! Producers append changes to a log, a Redis stream, and each node reads the log and applies its
//! entries in order. A node that starts loads the newest snapshot from the server, and then reads the
//! log from the position that the snapshot names. The nodes take the snapshots in turn, while they
//! serve.
//!
//! This program starts a server and several nodes, each a process of its own. It adds and removes
//! items, asks all nodes all the time, and checks every answer. Meanwhile it kills a node and starts
//! it again, and cuts another one off twice: first for a short time, then until the entries that the
//! node has not read are gone from the log. A single wrong answer makes it exit with status 1.
//!
//! # What the order of the log gives, and what it does not
//!
//! - A node that has applied the log up to a position finds every item that was present there. Of two
//!   nodes, the one with the later position has applied everything that the other one has; at the
//!   same position they give the same answers, false positives included.
//! - A remove comes after its add, on every node. If nodes got changes from different places, one
//!   could remove an item before it is there, and keep it for ever.
//! - Two nodes may differ by what is still on its way, and a node that is cut off goes on answering
//!   for its last position. A client that needs more compares the position of the answer with the
//!   last one that it has seen.
//! - The log is as durable as the server is configured to be. If a server comes back without the last
//!   entries, all nodes must load a snapshot that is older than the loss.
//! - A producer whose connection breaks must look whether its last entries are in the log before it
//!   sends them again: a second remove may take another item with the same fingerprint. And an item
//!   is written by one producer only: otherwise they would have to agree on who adds it first.
//!
//! # The snapshots
//!
//! Only one thread of a node writes to its filter. It takes the snapshot between two entries, so the
//! image belongs to that position. Another thread writes it to the server: image and position in one
//! command, so that they are never apart, and only if they are newer than what is there.
//!
//! In the same transaction the log is trimmed up to the snapshot that was the newest before. So a
//! node can lose its place in the log only if it is more than a snapshot behind. Redis does not tell
//! it so: each read asks for the oldest entry of the log as well, and if this one is beyond its
//! position, the node loads the newest snapshot.
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

mod engine;
mod node;
mod processes;
mod truth;

use std::error::Error;
use std::io::{self, Write};
use std::process::{self, ExitCode};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use std::{env, mem};

use clap::Parser;
use rand::rngs::SmallRng;
use rand::{RngExt, SeedableRng};
use redis::{ConnectionAddr, ConnectionInfo};

use engine::{Change, Engine, Position, Session};
use node::{Answers, Fault, NodeOptions, Request};
use processes::{NODE, NodeProcess, Server};
use truth::Truth;

/// Keep a filter on several nodes up to date through a log on a Redis server, kill a node, cut
/// another one off, and check every answer.
///
/// It starts `redis-server` or `valkey-server`, or takes the address of a server that runs: Redis 6.2
/// or later, or any Valkey.
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
    server: Option<String>,

    /// Break the nodes in this way, for the tests.
    #[arg(long, hide = true)]
    fault: Option<Fault>,
}

fn parse_server(url: &str) -> Result<String, String> {
    host_and_port(url).map(|_| url.into()).map_err(|error| error.to_string())
}

fn host_and_port(url: &str) -> Result<(String, u16)> {
    match url.parse::<ConnectionInfo>()?.addr() {
        ConnectionAddr::Tcp(host, port) => Ok((host.clone(), *port)),
        _ => Err("only redis:// with a host works here, without TLS".into()),
    }
}

const PRODUCERS: u64 = 2;

/// The most entries that a producer sends at once.
const MAX_BATCH: u64 = 100;

/// How many snapshots are taken in all.
const SNAPSHOTS: u64 = 20;

/// A client asks a node for so many items, and then pauses.
const LOOKUPS: usize = 128;
const PAUSE: Duration = Duration::from_millis(2);

/// Items that never exist, asked for at the end to measure the false-positive rate, and how many
/// items one request has then.
const PROBES: u64 = 1_000_000;
const LARGE_REQUEST: usize = 1 << 16;

/// What makes no progress for so long is broken, and not busy.
const LIMIT: Duration = Duration::from_secs(120);

const SEED: u64 = 0x000c_0ca1;

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

fn main() -> ExitCode {
    let is_node = env::args_os().nth(1).is_some_and(|first| first == NODE);
    let result = if is_node { node::run() } else { run(&Options::parse()) };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("replicas: {}{error}", if is_node { "a node: " } else { "" });
            ExitCode::FAILURE
        }
    }
}

/// Starts what is needed, does everything, and fails if an answer was wrong.
fn run(options: &Options) -> Result<()> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("coucal-replicas-{}-{}", process::id(), now.as_nanos());
    // Dropped last, when nobody needs the server any more.
    let mut own_server = None;
    let server = match &options.server {
        Some(url) => url,
        None => &own_server.insert(Server::start(&name)?).url,
    };
    let engine = Engine::new(server, &name)?;
    let session = engine.connect();
    let mut session = session.map_err(|error| format!("cannot reach the server: {error}"))?;
    session.create_log()?;
    let outcome =
        Cluster::new(options, &engine, server, &name).and_then(|cluster| cluster.run(&mut session));
    // If this fails, the keys stay there.
    let deleted = session.delete_all();
    let report = outcome?;
    deleted?;
    match report.print() {
        // The reader of the table is gone; the exit status still tells the result.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result?,
    }
    match report.wrong {
        0 => Ok(()),
        wrong => Err(format!("{wrong} wrong answers").into()),
    }
}

/// The nodes, and all that the threads of this process share.
struct Cluster<'a> {
    options: &'a Options,
    engine: &'a Engine,
    /// The first items are added at the beginning and stay, as many others come and go, and those
    /// beyond them never exist.
    kept: u64,
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
}

struct Member {
    process: NodeProcess,
    /// It was killed or cut off, and has not caught up: its lag does not count.
    is_away: AtomicBool,
}

impl Member {
    fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::Relaxed);
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
    fn new(options: &'a Options, engine: &'a Engine, server: &str, name: &str) -> Result<Self> {
        let kept = options.operations / 4 / PRODUCERS * PRODUCERS;
        let target = host_and_port(server)?;
        let node = |number| {
            let options = NodeOptions {
                number,
                nodes: options.nodes,
                capacity: 2 * kept as usize,
                interval: options.operations / SNAPSHOTS,
                server: server.into(),
                name: name.into(),
                port: 0,
                from_beginning: number == options.nodes,
                fault: options.fault,
            };
            NodeProcess::new(options, target.clone())
        };
        let member = |number| Ok(Member { process: node(number)?, is_away: false.into() });
        Ok(Self {
            options,
            engine,
            kept,
            nodes: (0..options.nodes).map(member).collect::<Result<_>>()?,
            newcomer: node(options.nodes)?,
            truth: Truth::new(2 * kept),
            ceiling: 0.into(),
            settled: 0.into(),
            last: Position::BEGINNING.0.into(),
            stop: false.into(),
        })
    }

    fn run(&self, session: &mut Session) -> Result<Report> {
        for node in &self.nodes {
            node.process.start()?;
        }
        thread::scope(|scope| {
            let producers: Vec<_> = (0..PRODUCERS)
                .map(|producer| scope.spawn(move || self.stop_on_error(|| self.produce(producer))))
                .collect();
            let clients: Vec<_> = (0..self.nodes.len())
                .map(|node| scope.spawn(move || self.stop_on_error(|| self.ask(node))))
                .collect();
            let stop = StopOnDrop(&self.stop);
            let report = self.scenario(session);
            drop(stop);
            // What stopped the others comes first: the scenario says no more than that it was
            // stopped.
            for producer in producers {
                producer.join().expect("a producer returns its errors")?;
            }
            let mut tally = Tally::default();
            for client in clients {
                let of_client = client.join().expect("a client returns its errors")?;
                tally.lookups += of_client.lookups;
                tally.missed += of_client.missed;
                tally.lags_ms.extend(of_client.lags_ms);
            }
            report.map(|report| Report { wrong: report.wrong + tally.missed, tally, ..report })
        })
    }

    /// By an error or a panic a thread stops all others.
    fn stop_on_error<T>(&self, thread: impl FnOnce() -> Result<T>) -> Result<T> {
        let stop = StopOnDrop(&self.stop);
        let result = thread()?;
        mem::forget(stop);
        Ok(result)
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn settled(&self) -> u64 {
        self.settled.load(Ordering::Acquire)
    }

    /// The last position of the log that is known here.
    fn last(&self) -> Position {
        Position(self.last.load(Ordering::Acquire))
    }

    /// Adds and removes the items of one producer.
    fn produce(&self, producer: u64) -> Result<()> {
        // A fixed seed: the same operations in every run.
        let mut random = SmallRng::seed_from_u64(SEED + producer);
        let mut session = self.engine.connect()?;
        let rate = self.options.rate as f64 / PRODUCERS as f64;
        // A hundred batches per second, or more.
        let batch = ((rate / 100.0) as u64).clamp(1, MAX_BATCH);
        let mut kept = (0..self.kept).filter(|item| item % PRODUCERS == producer);

        // This producer's operations are every `PRODUCERS`-th of all.
        let mut operation = producer;
        let mut due = Instant::now();
        while operation < self.options.operations && !self.is_stopped() {
            let (mut items, mut changes) = (Vec::new(), Vec::new());
            let ceiling = self.ceiling.load(Ordering::Relaxed);
            while (items.len() as u64) < batch && operation < ceiling {
                let item = kept.next().unwrap_or_else(|| {
                    let own = random.random_range(0..self.kept / PRODUCERS);
                    self.kept + own * PRODUCERS + producer
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
            self.truth.settle_changes(&items, &positions);
            let last = positions.last().copied().unwrap_or_default();
            self.last.fetch_max(last.0, Ordering::Release);
            self.settled.fetch_add(items.len() as u64, Ordering::Release);

            // Time that was lost waiting for the engine, or below the ceiling, is not made up for.
            due = (due + Duration::from_secs_f64(items.len() as f64 / rate)).max(Instant::now());
            thread::sleep(due.saturating_duration_since(Instant::now()));
        }
        Ok(())
    }

    /// Asks one node again and again, and judges its answers.
    fn ask(&self, node: usize) -> Result<Tally> {
        let Member { process, is_away } = &self.nodes[node];
        let mut random = SmallRng::seed_from_u64(SEED + PRODUCERS + node as u64);
        let mut tally = Tally::default();
        // Answers for items with an entry on its way.
        let mut open: Vec<(u64, Position, Position, bool)> = Vec::new();
        loop {
            open.retain(|&(item, before, after, found)| {
                let present = self.truth.was_present(item, before, after);
                tally.missed += u64::from(present == Some(true) && !found);
                present.is_none()
            });
            if self.is_stopped() {
                return Ok(tally);
            }
            thread::sleep(PAUSE);
            // Half of the items never existed.
            let items: Vec<u64> =
                (0..LOOKUPS).map(|_| random.random_range(0..self.kept * 4)).collect();
            let (was_away, last) = (is_away.load(Ordering::Relaxed), self.last());
            let request = Request::LookUp(items.clone());
            let Some(Answers { before, after, found }) = process.ask(&request)? else { continue };
            if !was_away && !is_away.load(Ordering::Relaxed) {
                tally.lags_ms.push(last.milliseconds().saturating_sub(before.milliseconds()));
            }
            tally.lookups += items.len() as u64;
            let answers = items.into_iter().zip(found).filter(|(item, _)| *item < 2 * self.kept);
            open.extend(answers.map(|(item, found)| (item, before, after, found)));
        }
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

    /// Lets the producers go on to this share of all operations, in percent, and does not wait.
    fn let_produce_until(&self, percent: u64) {
        self.ceiling.store(self.options.operations * percent / 100, Ordering::Relaxed);
    }

    /// The same, and waits until they are there.
    fn produce_until(&self, label: &str, percent: u64) -> Result<()> {
        let (first, start) = (self.settled(), Instant::now());
        self.let_produce_until(percent);
        let operations = self.options.operations * percent / 100;
        self.wait(label, || Ok(operations - self.settled()))?;
        let seconds = start.elapsed().as_secs_f64();
        eprintln!("{label}: {} operations in {seconds:.1} s", operations - first);
        Ok(())
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

    /// Does something that lets a node catch up, and waits until it has.
    fn recover(
        &self,
        label: &str,
        node: &NodeProcess,
        entries_before: u64,
        begin: impl FnOnce() -> Result<()>,
    ) -> Result<Recovery> {
        let (settled, start) = (self.settled(), Instant::now());
        begin()?;
        self.wait_until_caught_up(node)?;
        let time = start.elapsed();
        let before = entries_before.max(node.status()?.loaded_entries);
        let entries = settled.saturating_sub(before);
        eprintln!("{label}: {entries} entries of the log in {:.1} s", time.as_secs_f64());
        // What came in meanwhile.
        self.wait_until_caught_up(node)?;
        Ok(Recovery { entries, time })
    }

    /// All that happens, while the clients ask. A share of the operations in percent says when.
    ///
    /// None of these is a multiple of the share that lies between two snapshots: so a node that has
    /// loaded one has entries to read.
    fn scenario(&self, session: &mut Session) -> Result<Report> {
        let victim = &self.nodes[1];
        let (isolated, others) = self.nodes.split_last().expect("there are two or more");
        let last = others.len();
        let reconnect = || {
            isolated.process.proxy.restore();
            Ok(())
        };
        let start = Instant::now();
        self.produce_until("all nodes serve", 42)?;
        self.wait("a snapshot is stored", || Ok(u64::from(session.newest_snapshot()?.is_none())))?;

        // Killed, and later cut off, while the log goes on.
        self.produce_past(44)?;
        let killed = victim.process.status()?;
        victim.set_away(true);
        victim.process.kill();
        self.produce_until("node 1 is killed", 53)?;
        // The producers go on while it recovers; so they do in what follows.
        self.let_produce_until(58);
        let with_snapshot =
            self.recover("node 1 starts from a snapshot", &victim.process, 0, || {
                victim.process.start()
            })?;
        victim.set_away(false);

        // The log is still whole.
        let without_snapshot =
            self.recover("a new node starts from the beginning", &self.newcomer, 0, || {
                self.newcomer.start()
            })?;
        let newcomer = self.newcomer.status()?;
        self.newcomer.kill();

        self.produce_until("all nodes serve", 58)?;
        self.wait_until_caught_up(&isolated.process)?;
        self.produce_past(59)?;
        isolated.set_away(true);
        isolated.process.proxy.cut();
        self.produce_until(&format!("node {last} is cut off"), 63)?;
        let entries = isolated.process.status()?.entries;
        self.let_produce_until(68);
        let label = format!("node {last} goes on");
        let after_cut = self.recover(&label, &isolated.process, entries, reconnect)?;
        isolated.set_away(false);

        // From here on, every snapshot trims the log.
        session.unpin()?;
        self.produce_until("all nodes serve", 71)?;
        self.wait_until_caught_up(&isolated.process)?;
        self.produce_past(72)?;
        isolated.set_away(true);
        isolated.process.proxy.cut();
        // In steps, so that the others take all their snapshots: one that is behind leaves some out.
        for percent in [76, 81, 86, 91, 96] {
            self.produce_until(&format!("node {last} is cut off, the log is trimmed"), percent)?;
            for node in others {
                self.wait_until_caught_up(&node.process)?;
            }
        }
        let cut_off = isolated.process.status()?;
        self.wait("the log is trimmed", || {
            let oldest = session.read(self.last())?.oldest;
            Ok(u64::from(oldest.is_none_or(|oldest| oldest <= cut_off.position)))
        })?;
        self.let_produce_until(100);
        let label = format!("node {last} starts from a snapshot");
        let after_trim = self.recover(&label, &isolated.process, cut_off.entries, reconnect)?;
        isolated.set_away(false);

        self.produce_until("all nodes serve", 100)?;
        let time = start.elapsed();
        for node in &self.nodes {
            self.wait_until_caught_up(&node.process)?;
        }
        let mut report = Report {
            operations: self.options.operations,
            time,
            recoveries: [
                ("from a snapshot", with_snapshot),
                ("without a snapshot", without_snapshot),
                ("cut off, log kept", after_cut),
                ("cut off, log trimmed", after_trim),
            ],
            snapshots: killed.snapshots_stored,
            snapshot_bytes: session.newest_snapshot()?.map_or(0, |snapshot| snapshot.image.len()),
            log_entries: session.log_entries()?,
            wrong: killed.unknown_removals + newcomer.unknown_removals,
            ..Report::default()
        };
        self.audit(&mut report)?;
        Ok(report)
    }

    /// When everything is read: asks each node for every item that is present, and for many that
    /// never were.
    fn audit(&self, report: &mut Report) -> Result<()> {
        let present = self.truth.present();
        let probes: Vec<u64> = (0..PROBES).map(|probe| self.kept * 4 + probe).collect();
        report.items = present.len() as u64;
        let mut of_first: Vec<bool> = Vec::new();
        for Member { process, .. } in &self.nodes {
            let status = process.status()?;
            // One item too many gives no wrong answer yet, but will when it is removed.
            report.wrong += status.items.abs_diff(report.items) + status.unknown_removals;
            report.snapshots += status.snapshots_stored;
            report.expected_rate = status.rate;
            let look_up = |items: &[u64]| -> Result<Vec<bool>> {
                let mut all = Vec::with_capacity(items.len());
                for items in items.chunks(LARGE_REQUEST) {
                    let answers = process.ask(&Request::LookUp(items.into()))?;
                    let Answers { found, .. } = answers.ok_or("a node does not run")?;
                    all.extend(found);
                }
                Ok(all)
            };
            report.wrong += look_up(&present)?.into_iter().filter(|found| !found).count() as u64;
            let found = look_up(&probes)?;
            report.false_positives = found.iter().filter(|&&found| found).count() as u64;
            report.differ += found.iter().zip(&of_first).filter(|(a, b)| a != b).count() as u64;
            of_first.clone_from(&found);
        }
        Ok(())
    }
}

/// What a client has seen.
#[derive(Default)]
struct Tally {
    lookups: u64,
    missed: u64,
    /// Of each request: how much later the newest entry of the log had come in that was known then
    /// than the last entry that the node had applied.
    lags_ms: Vec<u64>,
}

/// How a node has caught up.
#[derive(Default)]
struct Recovery {
    /// What it read from the log.
    entries: u64,
    time: Duration,
}

#[derive(Default)]
struct Report {
    operations: u64,
    time: Duration,
    tally: Tally,
    recoveries: [(&'static str, Recovery); 4],
    snapshots: u64,
    snapshot_bytes: usize,
    log_entries: u64,
    items: u64,
    expected_rate: f64,
    false_positives: u64,
    /// Answers for items that never were, on which a node differs from the one before it.
    differ: u64,
    wrong: u64,
}

impl Report {
    fn print(&self) -> io::Result<()> {
        let mut lags = self.tally.lags_ms.clone();
        lags.sort_unstable();
        let lag = |index: usize| lags.get(index).copied().unwrap_or(0).to_string();
        let rate = |rate: f64| format!("{:.4} %", rate * 100.0);
        let per_second = self.operations as f64 / self.time.as_secs_f64();
        let mut rows = vec![
            ("operations".to_owned(), self.operations.to_string()),
            ("operations per second".into(), format!("{per_second:.0}")),
            ("lookups meanwhile".into(), self.tally.lookups.to_string()),
            ("lag in ms, median".into(), lag(lags.len() / 2)),
            ("lag in ms, largest".into(), lag(lags.len().saturating_sub(1))),
            ("snapshots stored".into(), self.snapshots.to_string()),
            ("bytes of the last snapshot".into(), self.snapshot_bytes.to_string()),
            ("entries in the log at the end".into(), self.log_entries.to_string()),
        ];
        for (label, Recovery { entries, time }) in &self.recoveries {
            rows.push((format!("{label}: entries read"), entries.to_string()));
            rows.push((format!("{label}: ms to recover"), time.as_millis().to_string()));
        }
        rows.extend([
            ("items present at the end".into(), self.items.to_string()),
            (
                "false-positive rate, measured".into(),
                rate(self.false_positives as f64 / PROBES as f64),
            ),
            ("false-positive rate, expected".into(), rate(self.expected_rate)),
            ("answers on which nodes differ".into(), self.differ.to_string()),
            ("wrong answers".into(), self.wrong.to_string()),
        ]);
        let mut stdout = io::stdout().lock();
        for (label, figure) in rows {
            writeln!(stdout, "{label:<42}{figure:>16}")?;
        }
        Ok(())
    }
}
