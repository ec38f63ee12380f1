//! A node: a process with a whole filter in its memory, kept up to date from the log.
//!
//! One thread applies the entries of the log, one by one in the log's order, and nothing else writes
//! to the filter. Another one answers lookups, and never waits for the first. Each snapshot has a
//! thread that stores it.

use std::io;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering, fence};
use std::thread;
use std::time::Duration;

use clap::ValueEnum;
use coucal::{CuckooFilter, Fp16x4, Snapshot, StableHashBuilder};
use parking_lot::RwLock;
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::engine::{Change, Engine, Position, Session, StoredSnapshot};
use crate::processes::{receive, send};

/// All nodes must agree on the hashes, and so must a snapshot and the node that loads it.
type Filter = CuckooFilter<Fp16x4, StableHashBuilder>;

const HASHER: StableHashBuilder = StableHashBuilder::new(0x00c0_0ca1);

/// What a node is told first by the process that starts it.
#[derive(Clone, Serialize, Deserialize)]
pub struct NodeOptions {
    /// Which of the nodes it is, and how many take snapshots in turn.
    pub number: u64,
    pub nodes: u64,
    /// The most items that are present at one time.
    pub capacity: usize,
    /// A snapshot is taken after each `interval` entries of the log.
    pub interval: u64,
    /// The engine, the name of the run, and the port of this machine that leads to the engine.
    pub server: String,
    pub name: String,
    pub port: u16,
    /// Load no snapshot, and read the log from its beginning.
    pub from_beginning: bool,
    pub fault: Option<Fault>,
}

/// Ways to break a node, so that a test can see that the checks notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
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

/// What others ask a node, in one line of JSON on its standard input.
#[derive(Serialize, Deserialize)]
pub enum Request {
    /// Which of these items are present: the answer is [`Answers`].
    LookUp(Vec<u64>),
    /// The answer is a [`Status`].
    Status,
}

/// Answers, which hold for the set as it was at some positions of the log.
#[derive(Serialize, Deserialize)]
pub struct Answers {
    /// All entries up to here were applied before the first lookup.
    pub before: Position,
    /// No entry beyond this one was begun when the last lookup was done.
    pub after: Position,
    pub found: Vec<bool>,
}

/// What a node says about itself.
#[derive(Serialize, Deserialize)]
pub struct Status {
    pub position: Position,
    /// How many entries of the log its filter has in it.
    pub entries: u64,
    /// The same for the snapshot from which the filter was loaded; 0 without one.
    pub loaded_entries: u64,
    pub items: u64,
    /// Removals of items that were not there.
    pub unknown_removals: u64,
    pub snapshots_stored: u64,
    /// The expected false-positive rate of its filter.
    pub rate: f64,
}

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
            let filter = Filter::from_bytes(image, HASHER);
            let cannot = |error| format!("cannot load the snapshot at {position}: {error}");
            (filter.map_err(cannot)?, position.0)
        } else {
            let builder = CuckooFilter::builder().capacity(capacity);
            (builder.hasher(HASHER).build()?, Position::BEGINNING.0)
        };
        let loaded = snapshot.map(|snapshot| snapshot.entries);
        Ok(Self {
            filter,
            begun: position.into(),
            applied: position.into(),
            entries: loaded.unwrap_or(0).into(),
            loaded,
        })
    }

    /// Only the thread that applies the log calls this. Returns whether the item of a removal was
    /// there.
    fn apply(&self, position: Position, change: Change) -> Result<bool> {
        // Relaxed: the stores by which the filter changes are Release, so whoever sees the change
        // sees this.
        self.begun.store(position.0, Ordering::Relaxed);
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
        self.applied.store(position.0, Ordering::Release);
    }

    fn position(&self) -> Position {
        // Acquire: pairs with the Release in `advance`.
        Position(self.applied.load(Ordering::Acquire))
    }

    fn look_up(&self, items: &[u64]) -> Answers {
        let before = self.position();
        let found = self.filter.contains_each(items);
        // Acquire: the loads of the lookups come before the load of the position.
        fence(Ordering::Acquire);
        Answers { before, after: Position(self.begun.load(Ordering::Relaxed)), found }
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
    snapshots_stored: AtomicU64,
}

/// Runs a node until its standard input ends, which it does when the process that started it ends,
/// in whatever way.
pub fn run() -> Result<()> {
    let mut stdin = io::stdin().lock();
    let options: NodeOptions = receive(&mut stdin)?.ok_or("no options")?;
    drop(stdin);
    let engine = Engine::new(&options.server, &options.name)?.through(options.port)?;
    let mut session = connect(&engine)?;
    let snapshot = if options.from_beginning { None } else { session.newest_snapshot()? };
    let replica = RwLock::new(Arc::new(Replica::load(snapshot.as_ref(), options.capacity)?));
    let node = Arc::new(Node {
        options,
        engine,
        replica,
        unknown_removals: 0.into(),
        snapshots_stored: 0.into(),
    });

    // From here on it answers, for the set as it was at the position of the snapshot. It is up to
    // who asks to look at the position.
    let server = Arc::clone(&node);
    thread::spawn(move || {
        // An error is an end, too.
        let _ = server.serve();
        process::exit(0);
    });

    loop {
        match node.follow(&mut session) {
            Err(error) if is_lost_connection(&*error) => session = connect(&node.engine)?,
            result => result?,
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

/// Whether a new connection may help. It does not against a log that cannot be understood, or an
/// engine that refuses the command.
fn is_lost_connection(error: &(dyn std::error::Error + 'static)) -> bool {
    error.downcast_ref().is_some_and(redis::RedisError::is_io_error)
}

impl Node {
    fn replica(&self) -> Arc<Replica> {
        Arc::clone(&self.replica.read())
    }

    /// Reads what is new in the log and applies it.
    fn follow(self: &Arc<Self>, session: &mut Session) -> Result<()> {
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
            if !replica.apply(position, change)? {
                self.unknown_removals.fetch_add(1, Ordering::Relaxed);
            }
            // After each interval of the log another node takes a snapshot, so they need not agree
            // on who. This thread is the only one that changes the filter, and it is between two
            // entries: so the image belongs to this very position. Lookups go on meanwhile.
            let NodeOptions { number, nodes, interval, .. } = self.options;
            if entry.is_multiple_of(interval) && entry / interval % nodes == number {
                let (node, snapshot) = (Arc::clone(self), replica.filter.snapshot()?);
                thread::spawn(move || node.store(position, entry, &snapshot));
            }
        }
        Ok(())
    }

    /// The log does not have the entries after this position any more: goes on from the newest
    /// snapshot.
    fn load_again(&self, session: &mut Session, position: Position) -> Result<()> {
        let snapshot = session.newest_snapshot()?;
        // The nodes trim only what the newest snapshot has in it.
        if snapshot.as_ref().is_none_or(|snapshot| snapshot.position <= position) {
            let lost = format!("the log has lost entries after {position} that no snapshot has");
            return Err(lost.into());
        }
        *self.replica.write() = Arc::new(Replica::load(snapshot.as_ref(), self.options.capacity)?);
        Ok(())
    }

    fn store(&self, position: Position, entries: u64, snapshot: &Snapshot) {
        let stored = StoredSnapshot { position, entries, image: snapshot.to_bytes() };
        match self.engine.connect().and_then(|mut session| session.store_snapshot(&stored)) {
            Ok(stored) => {
                self.snapshots_stored.fetch_add(u64::from(stored), Ordering::Relaxed);
            }
            // Without the engine there is no log either; the next snapshot tries again.
            Err(error) if is_lost_connection(&error) => {}
            Err(error) => eprintln!("replicas: cannot store a snapshot: {error}"),
        }
    }

    fn serve(&self) -> io::Result<()> {
        let (mut stdin, mut stdout) = (io::stdin().lock(), io::stdout().lock());
        while let Some(request) = receive(&mut stdin)? {
            // Kept for this request only: the next one may have another filter.
            let replica = self.replica();
            match request {
                Request::LookUp(items) => send(&mut stdout, &replica.look_up(&items))?,
                Request::Status => send(&mut stdout, &self.status(&replica))?,
            }
        }
        Ok(())
    }

    fn status(&self, replica: &Replica) -> Status {
        Status {
            position: replica.position(),
            entries: replica.entries.load(Ordering::Relaxed),
            loaded_entries: replica.loaded.unwrap_or(0),
            items: replica.filter.len() as u64,
            unknown_removals: self.unknown_removals.load(Ordering::Relaxed),
            snapshots_stored: self.snapshots_stored.load(Ordering::Relaxed),
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
