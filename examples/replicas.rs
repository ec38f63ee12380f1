//! A filter on many machines: a leader numbers the changes, and each replica holds a whole filter in its own memory.
//!
//! A replica connects to the leader and says how many changes it has. The leader sends the others, and each one that
//! follows. It keeps only the last changes: if it does not have the next one any more, it sends a snapshot first. So a
//! replica that starts and one that was cut off do the same.
//!
//! The program is the leader, and starts the replicas, each a process of its own. It inserts and removes keys, asks all
//! replicas all the time, kills one and starts it again, and cuts all of them off. Every answer is checked, and a
//! single wrong one makes it exit with status 1.
//!
//! ```text
//! cargo run --release --example replicas
//! ```
//!
//! A replica finds every key that is present after the changes that it has. Two replicas may differ by what is still on
//! its way: each answer has the number of changes that it is for, and a client that needs more asks again. A removal
//! comes after its insert on each replica. If changes came from several places, one could remove a key before it is
//! there, and keep it for ever. To survive its end, a leader writes a journal, as in the example `restart`.

use std::collections::VecDeque;
use std::error::Error;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::ops::Range;
use std::process::{self, Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{env, thread};

use coucal::{Fp16x4, GrowableCuckooFilter, StableHashBuilder};
use parking_lot::{Condvar, Mutex, RwLock};

/// All replicas must agree on the hashes, and so must a snapshot and the replica that loads it.
type Filter = GrowableCuckooFilter<Fp16x4, StableHashBuilder>;
const HASHER: StableHashBuilder = StableHashBuilder::new(7);

type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// What the leader sends: one of these and a number.
const INSERT: u8 = 0;
const REMOVE: u8 = 1;
/// A snapshot follows. The number is that of the changes that it has.
const SNAPSHOT: u8 = 2;
type Message = (u8, u64);

fn apply((kind, key): Message, filter: &Filter) -> Result<()> {
    match kind {
        INSERT => filter.insert(&key)?,
        REMOVE if filter.remove(&key) => {}
        _ => return Err(format!("a change {kind} of {key}, which is impossible").into()),
    }
    Ok(())
}

struct Leader {
    filter: Filter,
    log: Mutex<Log>,
    has_grown: Condvar,
    connections: Mutex<Vec<TcpStream>>,
}

/// The last changes.
#[derive(Default)]
struct Log {
    changes: VecDeque<Message>,
    /// How many there were before these.
    dropped: u64,
}

impl Log {
    fn len(&self) -> u64 {
        self.dropped + self.changes.len() as u64
    }
}

impl Leader {
    fn change(&self, change: Message) -> Result<()> {
        let mut log = self.log.lock();
        apply(change, &self.filter)?;
        log.changes.push_back(change);
        if log.changes.len() > 10_000 {
            log.changes.pop_front();
            log.dropped += 1;
        }
        self.has_grown.notify_all();
        Ok(())
    }

    /// Sends a replica what it does not have, until the connection ends.
    fn serve(&self, mut stream: TcpStream) -> Result<()> {
        let mut position = [0; 8];
        stream.read_exact(&mut position)?;
        let mut position = u64::from_le_bytes(position);
        let mut stream = BufWriter::new(stream);
        loop {
            let (messages, snapshot) = {
                let mut log = self.log.lock();
                self.has_grown.wait_while(&mut log, |log| log.len() == position);
                let is_kept = (log.dropped..log.len()).contains(&position);
                let first = position.saturating_sub(log.dropped) as usize;
                position = log.len();
                if is_kept {
                    (log.changes.range(first..).copied().collect(), None)
                } else {
                    // It has these changes, and no others.
                    (vec![(SNAPSHOT, position)], Some(self.filter.snapshot()?))
                }
            };
            // From here on, the others go on.
            for (kind, number) in messages {
                stream.write_all(&[kind])?;
                stream.write_all(&number.to_le_bytes())?;
            }
            snapshot.map_or(Ok(()), |snapshot| stream.write_all(snapshot.as_bytes()))?;
            stream.flush()?;
        }
    }
}

/// A filter, and how many changes it has.
struct Replica {
    filter: Filter,
    position: AtomicU64,
    /// How many of them came in a snapshot.
    loaded: u64,
}

impl Replica {
    fn new(filter: Filter, loaded: u64) -> Arc<Self> {
        Arc::new(Self { filter, position: loaded.into(), loaded })
    }

    /// Applies what the leader sends, until the connection ends. Only this thread changes the filter.
    fn follow(replica: &RwLock<Arc<Self>>, leader: SocketAddr) -> Result<()> {
        let mut current = Arc::clone(&replica.read());
        let mut position = current.position.load(Ordering::Relaxed);
        let mut stream = TcpStream::connect(leader)?;
        stream.write_all(&position.to_le_bytes())?;
        let mut stream = BufReader::new(stream);
        loop {
            let (mut kind, mut number) = ([0], [0; 8]);
            stream.read_exact(&mut kind)?;
            stream.read_exact(&mut number)?;
            let number = u64::from_le_bytes(number);
            if kind == [SNAPSHOT] {
                // In place of the old filter, with its position: so the two are never apart.
                let filter = Filter::restore(&mut stream, HASHER).map_err(io::Error::other)?;
                current = Self::new(filter, number);
                *replica.write() = Arc::clone(&current);
                position = number;
            } else {
                apply((kind[0], number), &current.filter)?;
                position += 1;
                // Release: pairs with the Acquire in `answer`; whoever sees the position sees the change.
                current.position.store(position, Ordering::Release);
            }
        }
    }

    /// The position before the first lookup, the changes from a snapshot, the keys in the filter, and those found.
    fn answer(&self, keys: &[u64]) -> Vec<u64> {
        // Acquire: pairs with the Release in `follow`.
        let position = self.position.load(Ordering::Acquire);
        let found = keys.iter().zip(self.filter.contains_each(keys));
        let found = found.filter(|(_, found)| *found).map(|(&key, _)| key);
        [position, self.loaded, self.filter.len() as u64].into_iter().chain(found).collect()
    }
}

fn send(numbers: &[u64], mut to: impl Write) -> io::Result<()> {
    let words: Vec<String> = numbers.iter().map(u64::to_string).collect();
    writeln!(to, "{}", words.join(" "))
}

fn parse(line: &str) -> Result<Vec<u64>> {
    Ok(line.split_whitespace().map(str::parse).collect::<Result<_, _>>()?)
}

/// Runs a replica, which answers lines of keys, until its standard input ends.
fn be_replica(leader: SocketAddr) -> Result<()> {
    let replica = Arc::new(RwLock::new(Replica::new(Filter::with_hasher(HASHER), 0)));
    let following = Arc::clone(&replica);
    thread::spawn(move || {
        loop {
            let Err(error) = Replica::follow(&following, leader) else { continue };
            if !error.is::<io::Error>() {
                eprintln!("a replica: {error}");
                process::exit(1);
            }
            thread::sleep(Duration::from_millis(50)); // and connects again
        }
    });
    for line in io::stdin().lines() {
        let (keys, current) = (parse(&line?)?, Arc::clone(&replica.read()));
        send(&current.answer(&keys), io::stdout())?;
    }
    Ok(())
}

/// The process of a replica, which is killed on drop.
struct Node(Child, ChildStdin, BufReader<ChildStdout>);

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.0.kill(); // it may have ended by itself
        let _ = self.0.wait();
    }
}

impl Node {
    fn start(leader: SocketAddr) -> Result<Self> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(leader.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        Ok(Self(child, stdin.expect("a pipe"), BufReader::new(stdout.expect("a pipe"))))
    }

    /// Asks until it has this number of changes, and returns its answer.
    fn ask(&mut self, position: u64, keys: &[u64]) -> Result<Vec<u64>> {
        let since = Instant::now();
        while since.elapsed() < Duration::from_secs(60) {
            send(keys, &self.1)?;
            let mut line = String::new();
            self.2.read_line(&mut line)?;
            let answer = parse(&line)?;
            if *answer.first().ok_or("a replica has ended")? >= position {
                return Ok(answer);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Err("a replica does not go on".into())
    }
}

/// Of three changes, two insert the next keys, and one removes the oldest key.
fn change(position: u64) -> Message {
    let removed = position / 3;
    if position % 3 == 2 { (REMOVE, removed) } else { (INSERT, position - removed) }
}

/// The keys that are present after so many changes.
fn keys(position: u64) -> Range<u64> {
    position / 3..position - position / 3
}

/// Makes changes, and asks the replicas meanwhile: how many keys had to be found, and were.
fn produce(leader: &Leader, nodes: &mut [Node], changes: Range<u64>) -> Result<usize> {
    let mut checked = 0;
    for before in changes.step_by(500) {
        let last = before + 500;
        (before..last).try_for_each(|position| leader.change(change(position)))?;
        for node in &mut *nodes {
            let asked: Vec<u64> = (last / 3..last).step_by(last as usize / 100).collect();
            let answer = node.ask(before, &asked)?;
            // Those that were present all the time, from the position of the answer to the last one.
            let present = keys(last).start..keys(answer[0]).end;
            let mut present = asked.iter().filter(|key| present.contains(key));
            checked += present.clone().count();
            if let Some(missed) = present.find(|key| !answer[3..].contains(key)) {
                return Err(format!("{missed} was missed after {} changes", answer[0]).into());
            }
        }
    }
    Ok(checked)
}

fn main() -> Result<()> {
    if let Some(leader) = env::args().nth(1) {
        let leader =
            leader.parse().map_err(|_| format!("{leader:?} is not the address of a leader"))?;
        return be_replica(leader);
    }
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let address = listener.local_addr()?;
    let filter = Filter::with_hasher(HASHER);
    let (log, connections) = (Mutex::default(), Mutex::default());
    let leader = Arc::new(Leader { filter, log, has_grown: Condvar::new(), connections });
    let accepting = Arc::clone(&leader);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let Ok(clone) = stream.try_clone() else { continue };
            accepting.connections.lock().push(clone);
            let leader = Arc::clone(&accepting);
            thread::spawn(move || leader.serve(stream)); // it ends with its connection
        }
    });

    let mut nodes = (0..3).map(|_| Node::start(address)).collect::<Result<Vec<_>>>()?;
    let mut checked = produce(&leader, &mut nodes, 0..60_000)?;
    drop(nodes.remove(1)); // killed
    checked += produce(&leader, &mut nodes, 60_000..120_000)?;
    nodes.insert(1, Node::start(address)?);
    checked += produce(&leader, &mut nodes, 120_000..160_000)?;
    for connection in leader.connections.lock().drain(..) {
        let _ = connection.shutdown(Shutdown::Both); // it may have ended already
    }
    checked += produce(&leader, &mut nodes, 160_000..200_000)?;

    let present: Vec<u64> = keys(200_000).collect();
    for (number, node) in nodes.iter_mut().enumerate() {
        let answer = node.ask(200_000, &present)?;
        let (loaded, len) = (answer[1], answer[2]);
        // A key too many gives no wrong answer yet, but will when it is removed.
        if len != present.len() as u64 || answer[3..] != present {
            return Err(format!("replica {number} has {len} keys of {}", present.len()).into());
        }
        writeln!(io::stdout(), "replica {number}: {len} keys, {loaded} changes from a snapshot")?;
    }
    writeln!(io::stdout(), "{checked} answers checked, all right")?;
    Ok(())
}
