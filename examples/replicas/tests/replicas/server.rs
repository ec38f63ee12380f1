//! A server of its own for each test, and a proxy that cuts connections.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use std::{fs, process, thread};

use redis::{Client, Connection, cmd};
use tempfile::TempDir;

/// How long a test waits for what must happen, so that it ends.
pub const PATIENCE: Duration = Duration::from_secs(100);

/// Calls until there is an answer.
pub fn wait_for<T>(what: &str, mut call: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(answer) = call() {
            return answer;
        }
        assert!(since.elapsed() < PATIENCE, "{what} does not happen");
        thread::sleep(Duration::from_millis(2));
    }
}

/// Returns a port below those that systems give to connections: no client has it while a server is down, nor the port
/// 10,000 above it, which nodes of a cluster use among themselves.
fn next_port() -> u16 {
    static TAKEN: AtomicU16 = AtomicU16::new(0);
    let (first, ports) = (10_000, 10_000);
    let start = process::id() % u32::from(ports);
    first + (start as u16 + TAKEN.fetch_add(1, Ordering::Relaxed)) % ports
}

/// A process of `redis-server`, with its data in a folder of its own.
pub struct Server {
    process: Child,
    pub port: u16,
    folder: TempDir,
    options: Vec<String>,
}

impl Server {
    pub fn start(options: &str) -> Self {
        loop {
            let (folder, port) = (tempfile::tempdir().expect("a folder"), next_port());
            let options: Vec<String> = options.split_whitespace().map(Into::into).collect();
            let process = Self::spawn(folder.path(), port, &options);
            let mut server = Self { process, port, folder, options };
            if server.is_up() {
                return server;
            }
        }
    }

    fn spawn(folder: &Path, port: u16, options: &[String]) -> Child {
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--logfile",
            "log",
            "--port",
            &port.to_string(),
        ]);
        match command.arg("--dir").arg(folder).args(options).spawn() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                panic!("these tests need redis-server: apt-get install redis-server, as root")
            }
            process => process.expect("redis-server starts"),
        }
    }

    /// Waits until it answers. `false`: the port belongs to another process.
    fn is_up(&mut self) -> bool {
        wait_for("an answer of redis-server", || {
            let log = fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
            if let Some(status) = self.process.try_wait().expect("a child") {
                assert!(
                    log.contains("Address already in use"),
                    "redis-server ends with {status}: {log}"
                );
                return Some(false);
            }
            let connection = Client::open(self.url()).and_then(|client| client.get_connection());
            let info = connection
                .and_then(|mut connection| cmd("INFO").arg("server").query(&mut connection));
            // Not before it has loaded its files.
            let info: String = info.ok()?;
            info.contains(&format!("process_id:{}\r", self.process.id())).then_some(true)
        })
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}", self.port)
    }

    /// Starts three nodes with a third of the slots each.
    pub fn start_cluster(options: &str) -> Vec<Self> {
        let nodes: Vec<Self> =
            (0..3).map(|_| Self::start(&format!("--cluster-enabled yes {options}"))).collect();
        for (node, slots) in
            nodes.iter().zip([["0", "5460"], ["5461", "10922"], ["10923", "16383"]])
        {
            let mut connection = node.connect();
            cmd("CLUSTER").arg("ADDSLOTSRANGE").arg(&slots).exec(&mut connection).expect("slots");
            let meet = cmd("CLUSTER")
                .arg("MEET")
                .arg("127.0.0.1")
                .arg(nodes[0].port)
                .exec(&mut connection);
            meet.expect("the first node");
        }
        for node in &nodes {
            wait_for("a cluster", || {
                let info: String =
                    cmd("CLUSTER").arg("INFO").query(&mut node.connect()).expect("text");
                (info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:3"))
                    .then_some(())
            });
        }
        nodes
    }

    pub fn connect(&self) -> Connection {
        Client::open(self.url()).expect("an address").get_connection().expect("a connection")
    }

    /// Kills it, does something else, and starts it again with what it had written to its files.
    pub fn restart_after(&mut self, meanwhile: impl FnOnce()) {
        self.process.kill().expect("it was running");
        self.process.wait().expect("a child");
        meanwhile();
        self.process = Self::spawn(self.folder.path(), self.port, &self.options);
        assert!(self.is_up(), "the port was taken");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill(); // it may have ended by itself
        let _ = self.process.wait();
    }
}

/// Another way to a server.
pub struct Proxy {
    pub port: u16,
    faults: Arc<Faults>,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

#[derive(Default)]
struct Faults {
    /// How many replies are cut in the middle, and the connection with each.
    cuts: AtomicUsize,
    /// Requests that contain a snapshot wait.
    hold: AtomicBool,
    held: AtomicUsize,
    /// How many replies came since the release.
    replies: AtomicUsize,
}

impl Proxy {
    pub fn start(server: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let proxy = Self { port, faults: Arc::default(), connections: Arc::default() };
        let (faults, connections) = (Arc::clone(&proxy.faults), Arc::clone(&proxy.connections));
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // While the server is down, the connection ends at once.
                let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, server)) else {
                    continue;
                };
                let clone = |stream: &TcpStream| stream.try_clone().expect("a descriptor");
                connections.lock().expect("no panic").extend([clone(&client), clone(&server)]);
                let (from, to) = (clone(&client), clone(&server));
                let of_requests = Arc::clone(&faults);
                thread::spawn(move || pass_on(from, to, |bytes| of_requests.request(bytes)));
                let of_replies = Arc::clone(&faults);
                thread::spawn(move || pass_on(server, client, |bytes| of_replies.reply(bytes)));
            }
        });
        proxy
    }

    /// From now on cuts a number of replies. What they answer was executed.
    pub fn cut_replies(&self, number: usize) {
        self.faults.cuts.store(number, Ordering::SeqCst);
    }

    pub fn wait_for_cuts(&self) {
        wait_for("a cut", || (self.faults.cuts.load(Ordering::SeqCst) == 0).then_some(()));
    }

    /// From now on holds the requests that store a snapshot.
    pub fn hold_snapshots(&self) {
        self.faults.hold.store(true, Ordering::SeqCst);
    }

    /// Returns how many requests it has held.
    pub fn held(&self) -> usize {
        self.faults.held.load(Ordering::SeqCst)
    }

    /// Lets them pass, and waits for the reply to one.
    pub fn release(&self) {
        self.faults.replies.store(0, Ordering::SeqCst);
        self.faults.hold.store(false, Ordering::SeqCst);
        let replies = || (self.faults.replies.load(Ordering::SeqCst) > 0).then_some(());
        wait_for("a reply to a request that was held", replies);
    }

    /// Ends all connections, wherever they are.
    pub fn cut_all(&self) {
        for stream in self.connections.lock().expect("no panic").drain(..) {
            let _ = stream.shutdown(Shutdown::Both); // it may have ended already
        }
    }
}

impl Faults {
    /// How much of a request is passed on: all of it, at some time.
    fn request(&self, bytes: &[u8]) -> usize {
        const MAGIC: &[u8] = b"\x89coucal\n";
        if self.hold.load(Ordering::SeqCst) && bytes.windows(MAGIC.len()).any(|part| part == MAGIC)
        {
            self.held.fetch_add(1, Ordering::SeqCst);
            // However long the test takes until then.
            while self.hold.load(Ordering::SeqCst) {
                thread::sleep(Duration::from_millis(2));
            }
        }
        bytes.len()
    }

    /// How much of a reply is passed on.
    fn reply(&self, bytes: &[u8]) -> usize {
        self.replies.fetch_add(1, Ordering::SeqCst);
        let next = |cuts: usize| cuts.checked_sub(1);
        let is_cut = self.cuts.fetch_update(Ordering::SeqCst, Ordering::SeqCst, next).is_ok();
        if is_cut { bytes.len() / 2 } else { bytes.len() }
    }
}

/// Passes bytes on until there are no more, or until not all of them are passed: then both sides end.
fn pass_on(mut from: TcpStream, mut to: TcpStream, passed: impl Fn(&[u8]) -> usize) {
    let (mut bytes, mut end) = ([0; 1 << 14], Shutdown::Write);
    while let Ok(len @ 1..) = from.read(&mut bytes) {
        let passed = passed(&bytes[..len]);
        if to.write_all(&bytes[..passed]).is_err() || passed < len {
            end = Shutdown::Both;
            break;
        }
    }
    let _ = to.shutdown(end); // it may have ended already
    if end == Shutdown::Both {
        let _ = from.shutdown(end);
    }
}
