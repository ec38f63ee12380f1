//! A node: a process with a whole filter in its memory, kept up to date from the log.
//!
//! Three kinds of threads:
//!
//! - one applies the entries of the log, one by one in the log's order, and nothing else writes to
//!   the filter;
//! - one for each client answers lookups, and never waits for the first one;
//! - one writes snapshots to the engine.

use std::io::{self, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::{Parser, ValueEnum};
use coucal::{CuckooFilter, Fp16x4, Snapshot, StableHashBuilder};

use crate::Result;
use crate::engine::{Change, Engine, Position, Session, StoredSnapshot, is_lost_connection};
use crate::protocol::{Answers, Status, Wire};

/// All nodes must agree on the hashes, and so must a snapshot and the node that loads it.
type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;

fn hasher() -> StableHashBuilder {
    StableHashBuilder::new(0x00c0_0ca1)
}

/// Where a node finds the engine's address. Not an argument: it may have a password in it, and
/// every user of a machine can read the arguments of all processes.
pub const SERVER_VARIABLE: &str = "REPLICAS_SERVER";

/// What a node is told by the process that starts it.
#[derive(Clone, Parser)]
pub struct NodeOptions {
    /// Which of the nodes it is.
    #[arg(long)]
    pub number: u64,

    /// How many nodes take snapshots in turn.
    #[arg(long)]
    pub nodes: u64,

    /// The most items that are present at one time.
    #[arg(long)]
    pub capacity: usize,

    /// A snapshot is taken after each so many entries of the log.
    #[arg(long)]
    pub interval: u64,

    /// How the names of the engine's keys begin.
    #[arg(long)]
    pub name: String,

    /// The port of this machine that leads to the engine.
    #[arg(long)]
    pub port: u16,

    /// Load no snapshot, and read the log from its beginning.
    #[arg(long)]
    pub from_beginning: bool,

    /// What this node does wrong, for the tests.
    #[arg(long)]
    pub fault: Option<Fault>,
}

impl NodeOptions {
    /// As arguments of the process.
    pub fn to_arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--number={}", self.number),
            format!("--nodes={}", self.nodes),
            format!("--capacity={}", self.capacity),
            format!("--interval={}", self.interval),
            format!("--name={}", self.name),
            format!("--port={}", self.port),
        ];
        if self.from_beginning {
            arguments.push("--from-beginning".into());
        }
        if let Some(fault) = self.fault.and_then(|fault| fault.to_possible_value()) {
            arguments.push(format!("--fault={}", fault.get_name()));
        }
        arguments
    }
}

/// Ways to break a node, so that a test can see that the checks notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Fault {
    /// The first node skips one entry of the log.
    Entry,
    /// A node does not notice that entries it has not read were trimmed away.
    Gap,
    /// A node goes on from beyond the position of the snapshot that it has loaded.
    Position,
}

/// The entry that [`Fault::Entry`] skips: an item that is added once and never removed.
const SKIPPED_ENTRY: u64 = 100;

/// How many entries after a snapshot [`Fault::Position`] skips.
const SKIPPED_ENTRIES: u64 = 500;

/// How long a node waits before it connects again: doubled each time, up to the second one.
const RECONNECT: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(500));

/// A filter and the place in the log where it stands.
struct Replica {
    filter: Filter,
    /// The entry that was begun last.
    begun: AtomicU64,
    /// The entry up to which all are applied.
    applied: AtomicU64,
    /// How many entries of the log that makes, from its very beginning.
    entries: AtomicU64,
    /// The same for the snapshot that it was loaded from.
    loaded: Option<u64>,
}

impl Replica {
    /// What a snapshot holds, or an empty filter at the beginning of the log.
    fn load(snapshot: Option<&StoredSnapshot>, capacity: usize) -> Result<Self> {
        let (filter, position) = if let Some(StoredSnapshot { position, image, .. }) = snapshot {
            let filter = Filter::from_bytes(image, hasher())
                .map_err(|error| format!("cannot load the snapshot at {position}: {error}"))?;
            (filter, *position)
        } else {
            let filter = CuckooFilter::builder().capacity(capacity).hasher(hasher()).build()?;
            (filter, Position::BEGINNING)
        };
        let loaded = snapshot.map(|snapshot| snapshot.entries);
        Ok(Self {
            filter,
            begun: position.to_bits().into(),
            applied: position.to_bits().into(),
            entries: loaded.unwrap_or(0).into(),
            loaded,
        })
    }

    /// Only the thread that applies the log calls this. Returns whether the item of a removal was
    /// there.
    fn apply(&self, position: Position, change: Change) -> Result<bool> {
        // Relaxed: the stores by which the filter changes are Release, so whoever sees the change
        // sees this.
        self.begun.store(position.to_bits(), Ordering::Relaxed);
        let was_known = match change {
            Change::Add(item) => self.filter.insert(&item).map(|()| true)?,
            Change::Remove(item) => self.filter.remove(&item),
        };
        self.advance(position);
        Ok(was_known)
    }

    /// The entry at this position is done.
    fn advance(&self, position: Position) {
        self.entries.fetch_add(1, Ordering::Relaxed);
        // Release: pairs with the Acquire in `position`; whoever sees the position sees the change.
        self.applied.store(position.to_bits(), Ordering::Release);
    }

    fn position(&self) -> Position {
        // Acquire: pairs with the Release in `advance`.
        Position::from_bits(self.applied.load(Ordering::Acquire))
    }

    fn look_up(&self, items: &[u64]) -> Answers {
        let before = self.position();
        let found = self.filter.contains_each(items);
        // Acquire: the loads of the lookups come before the load of the position.
        fence(Ordering::Acquire);
        let after = Position::from_bits(self.begun.load(Ordering::Relaxed));
        Answers { before, after, found }
    }
}

/// What the threads of a node share.
struct Node {
    options: NodeOptions,
    engine: Engine,
    /// Replaced as a whole when a snapshot is loaded, so that a filter and its position are never
    /// apart. Held only to clone or to replace the `Arc`.
    replica: RwLock<Arc<Replica>>,
    unknown_removals: AtomicU64,
    delay_ms: AtomicU64,
    max_delay_ms: AtomicU64,
    snapshots_stored: AtomicU64,
}

/// Runs a node until its standard input ends, which it does when the process that started it ends,
/// in whatever way.
pub fn run(options: NodeOptions) -> Result<()> {
    thread::spawn(|| {
        // An error is an end, too.
        let _ = io::stdin().read_to_end(&mut Vec::new());
        process::exit(0);
    });

    let server = std::env::var(SERVER_VARIABLE)?;
    let engine = Engine::new(server, &options.name)?.through(options.port)?;
    let mut session = connect(&engine)?;
    let snapshot = if options.from_beginning { None } else { session.newest_snapshot()? };
    let replica = Replica::load(snapshot.as_ref(), options.capacity)?;
    let node = Arc::new(Node {
        options,
        engine,
        replica: RwLock::new(Arc::new(replica)),
        unknown_removals: 0.into(),
        delay_ms: 0.into(),
        max_delay_ms: 0.into(),
        snapshots_stored: 0.into(),
    });

    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    // From here on it answers, for the set as it was at the position of the snapshot. It is up to
    // who asks to look at the position.
    println!("{}", listener.local_addr()?.port());
    io::stdout().flush()?;
    let for_clients = Arc::clone(&node);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let node = Arc::clone(&for_clients);
            // A client that goes away in the middle is no fault of the node.
            thread::spawn(move || node.serve(client));
        }
    });

    // One that waits, at the most: while it does, the next one is left out.
    let (to_writer, from_applier) = sync_channel(1);
    let for_writer = Arc::clone(&node);
    thread::spawn(move || for_writer.write_snapshots(&from_applier));

    loop {
        match node.follow(&mut session, &to_writer) {
            Err(Failure::LostConnection) => session = connect(&node.engine)?,
            Err(Failure::Other(error)) => return Err(error),
            Ok(()) => {}
        }
    }
}

/// Connects, and tries again as long as the engine cannot be reached.
fn connect(engine: &Engine) -> Result<Session> {
    let (mut pause, longest) = RECONNECT;
    loop {
        match engine.connect() {
            Err(error) if is_lost_connection(&error) => {
                thread::sleep(pause);
                pause = (pause * 2).min(longest);
            }
            result => return Ok(result?),
        }
    }
}

/// Why a node does not go on reading the log.
enum Failure {
    LostConnection,
    Other(Box<dyn std::error::Error + Send + Sync>),
}

impl From<redis::RedisError> for Failure {
    fn from(error: redis::RedisError) -> Self {
        if is_lost_connection(&error) { Self::LostConnection } else { Self::Other(error.into()) }
    }
}

/// A snapshot on its way to the engine.
struct Taken {
    position: Position,
    entries: u64,
    snapshot: Snapshot,
}

impl Node {
    fn replica(&self) -> Arc<Replica> {
        Arc::clone(&self.replica.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads what is new in the log and applies it.
    fn follow(&self, session: &mut Session, writer: &SyncSender<Taken>) -> Result<(), Failure> {
        let replica = self.replica();
        let position = replica.position();
        let read = session.read(position)?;

        let is_whole = read.oldest.is_some_and(|oldest| oldest <= position);
        if !is_whole && self.options.fault != Some(Fault::Gap) {
            return self.load_again(session, position);
        }

        for (position, change) in read.entries {
            let entry = replica.entries.load(Ordering::Relaxed) + 1;
            if self.skips(&replica, entry) {
                replica.advance(position);
                continue;
            }
            if !replica.apply(position, change).map_err(Failure::Other)? {
                self.unknown_removals.fetch_add(1, Ordering::Relaxed);
            }
            let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            let delay = (now.as_millis() as u64).saturating_sub(position.milliseconds());
            self.delay_ms.store(delay, Ordering::Relaxed);
            self.max_delay_ms.fetch_max(delay, Ordering::Relaxed);
            self.take_snapshot_in_turn(&replica, entry, position, writer)?;
        }
        Ok(())
    }

    /// The log does not have the entries after this position any more: goes on from the newest
    /// snapshot.
    fn load_again(&self, session: &mut Session, position: Position) -> Result<(), Failure> {
        let snapshot = session.newest_snapshot()?;
        // The nodes trim only what the newest snapshot has in it.
        if snapshot.as_ref().is_none_or(|snapshot| snapshot.position <= position) {
            let lost = format!("the log has lost entries after {position} that no snapshot has");
            return Err(Failure::Other(lost.into()));
        }
        let replica = Replica::load(snapshot.as_ref(), self.options.capacity);
        let replica = Arc::new(replica.map_err(Failure::Other)?);
        *self.replica.write().unwrap_or_else(PoisonError::into_inner) = replica;
        Ok(())
    }

    /// After each interval of the log another node takes a snapshot, so they need not agree on who.
    ///
    /// The thread that calls this is the only one that changes the filter, and it is between two
    /// entries: so the image belongs to this very position. Lookups go on meanwhile.
    fn take_snapshot_in_turn(
        &self,
        replica: &Replica,
        entries: u64,
        position: Position,
        writer: &SyncSender<Taken>,
    ) -> Result<(), Failure> {
        let NodeOptions { number, nodes, interval, .. } = self.options;
        if !entries.is_multiple_of(interval) || entries / interval % nodes != number {
            return Ok(());
        }
        let snapshot = replica.filter.snapshot().map_err(|error| Failure::Other(error.into()))?;
        // If the writer is behind, the next node's snapshot will do.
        let _ = writer.try_send(Taken { position, entries, snapshot });
        Ok(())
    }

    /// Turns snapshots into bytes and stores them, at its leisure.
    fn write_snapshots(&self, taken: &Receiver<Taken>) {
        let mut session = None;
        for Taken { position, entries, snapshot } in taken {
            let stored = StoredSnapshot { position, entries, image: snapshot.to_bytes() };
            let result = match &mut session {
                Some(session) => Ok(session),
                none => self.engine.connect().map(|connected| none.insert(connected)),
            }
            .and_then(|session| session.store_snapshot(&stored));
            match result {
                Ok(stored) => {
                    self.snapshots_stored.fetch_add(u64::from(stored), Ordering::Relaxed);
                }
                // Without the engine there is no log either; the next snapshot tries again.
                Err(error) => {
                    session = None;
                    if !is_lost_connection(&error) {
                        eprintln!("replicas: cannot store a snapshot: {error}");
                    }
                }
            }
        }
    }

    fn serve(&self, client: TcpStream) -> io::Result<()> {
        let mut wire = Wire::new(client)?;
        let mut items = Vec::new();
        while wire.next_request(&mut items)?.is_some() {
            // Kept for this request only: the next one may have another filter.
            let replica = self.replica();
            if items.is_empty() {
                wire.answer_status(self.status(&replica))?;
            } else {
                wire.answer(&replica.look_up(&items))?;
            }
        }
        Ok(())
    }

    fn status(&self, replica: &Replica) -> Status {
        let figure = |figure: &AtomicU64| figure.load(Ordering::Relaxed);
        Status {
            position: replica.position(),
            entries: figure(&replica.entries),
            items: replica.filter.len() as u64,
            unknown_removals: figure(&self.unknown_removals),
            loaded_entries: replica.loaded.unwrap_or(0),
            delay_ms: figure(&self.delay_ms),
            max_delay_ms: self.max_delay_ms.swap(0, Ordering::Relaxed),
            snapshots_stored: figure(&self.snapshots_stored),
            rate: replica.filter.false_positive_rate(),
        }
    }

    /// Whether this node leaves out an entry, by its fault.
    fn skips(&self, replica: &Replica, entry: u64) -> bool {
        match self.options.fault {
            Some(Fault::Entry) => self.options.number == 0 && entry == SKIPPED_ENTRY,
            Some(Fault::Position) => {
                replica.loaded.is_some_and(|loaded| entry <= loaded + SKIPPED_ENTRIES)
            }
            Some(Fault::Gap) | None => false,
        }
    }
}
