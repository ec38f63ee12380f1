//! What the main process starts and stops: the engine's server, the nodes, and the ways from these
//! to the engine.

use std::env;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Result;
use crate::engine::Engine;
use crate::node::{NodeOptions, Request, Status};

/// The first argument of a node.
pub const NODE: &str = "@node";

/// How long a server may take to start, and how often another port is tried, when somebody was faster
/// to take it.
const SERVER_STARTS: Duration = Duration::from_secs(30);
const PORTS_TRIED: u32 = 10;

/// A child process that is killed on drop.
struct Guarded(Child);

impl Drop for Guarded {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A server of the engine's, with nothing in it, on a free port of this machine alone. It writes no
/// file.
pub struct Server {
    _process: Guarded,
    pub url: String,
}

impl Server {
    /// The password keeps other programs of this machine apart from this one.
    pub fn start(password: &str) -> Result<Self> {
        for _ in 0..PORTS_TRIED {
            // The port is free again before the server takes it: then another program may be faster,
            // or a process that was started meanwhile still has it.
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            let mut process = Self::spawn(port, password)?;
            let url = format!("redis://:{password}@127.0.0.1:{port}");
            let (engine, start) = (Engine::new(&url, "")?, Instant::now());
            while process.0.try_wait()?.is_none() && start.elapsed() < SERVER_STARTS {
                if engine.connect().is_ok() {
                    return Ok(Self { _process: process, url });
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        Err("the server does not start".into())
    }

    fn spawn(port: u16, password: &str) -> Result<Guarded> {
        for program in ["redis-server", "valkey-server"] {
            let mut command = Command::new(program);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.args(["--requirepass", password, "--save", "", "--appendonly", "no"]);
            match command.stdin(Stdio::null()).stdout(Stdio::null()).spawn() {
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                result => return Ok(Guarded(result?)),
            }
        }
        Err("found neither redis-server nor valkey-server. Install one (Debian, Ubuntu: apt install \
             redis-server; Fedora: dnf install valkey; macOS: brew install valkey), or name a \
             server that runs already: --server redis://HOST:PORT"
            .into())
    }
}

/// The way from one node to the engine, which can be cut: a port of this machine whose connections
/// are passed on to the engine.
pub struct Proxy {
    pub port: u16,
    /// Both ends of each connection that was made since the last cut; `None` while it is cut.
    connections: Arc<Mutex<Option<Vec<TcpStream>>>>,
}

impl Proxy {
    /// The thread that accepts connections lives as long as the process.
    pub fn start(target: (String, u16)) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let connections = Arc::new(Mutex::new(Some(Vec::new())));
        let shared = Arc::clone(&connections);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Where the engine cannot be reached, the client's connection ends, which it notices.
                let _ = pass_on(client, &target, &shared);
            }
        });
        Ok(Self { port, connections })
    }

    /// Ends all connections, and each new one at once.
    pub fn cut(&self) {
        for connection in self.connections.lock().take().into_iter().flatten() {
            // It may have ended already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub fn restore(&self) {
        *self.connections.lock() = Some(Vec::new());
    }
}

fn pass_on(
    client: TcpStream,
    (host, port): &(String, u16),
    connections: &Mutex<Option<Vec<TcpStream>>>,
) -> io::Result<()> {
    let engine = TcpStream::connect((host.as_str(), *port))?;
    let mut connections = connections.lock();
    let Some(connections) = &mut *connections else { return Ok(()) };
    for stream in [&client, &engine] {
        stream.set_nodelay(true)?;
        connections.push(stream.try_clone()?);
    }
    for (from, to) in [(client.try_clone()?, engine.try_clone()?), (engine, client)] {
        thread::spawn(move || {
            // An error is an end, too, and the other direction ends with this one.
            let _ = io::copy(&mut &from, &mut &to);
            let _ = from.shutdown(Shutdown::Both);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    Ok(())
}

/// Sends a line of JSON.
pub fn send(mut to: impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Receives a line of JSON; `None` at the end.
pub fn receive<T: DeserializeOwned>(mut from: impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    from.read_line(&mut line)?;
    Ok(if line.is_empty() { None } else { serde_json::from_str(&line)? })
}

/// A node: its process, unless it was killed, and its way to the engine.
pub struct NodeProcess {
    options: NodeOptions,
    pub proxy: Proxy,
    running: Mutex<Option<Arc<Running>>>,
}

struct Running {
    process: Mutex<Guarded>,
    /// Locked from a request to its answer.
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl NodeProcess {
    /// Does not start it yet. `options.port` is set to that of its proxy.
    pub fn new(options: NodeOptions, target: (String, u16)) -> Result<Self> {
        let proxy = Proxy::start(target)?;
        let options = NodeOptions { port: proxy.port, ..options };
        Ok(Self { options, proxy, running: Mutex::new(None) })
    }

    /// Starts it, and returns when it answers lookups.
    pub fn start(&self) -> Result<()> {
        let mut command = Command::new(env::current_exe()?);
        command.arg(NODE).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let process = Mutex::new(Guarded(child));
        let mut stdin = stdin.ok_or("a node without input")?;
        send(&mut stdin, &self.options)?;
        let stdout = BufReader::new(stdout.ok_or("a node without output")?);
        *self.running.lock() = Some(Arc::new(Running { process, pipes: (stdin, stdout).into() }));
        self.status().map(drop)
    }

    /// Kills it, in the middle of whatever it does: SIGKILL, where there is such a thing.
    pub fn kill(&self) {
        // First nobody finds it any more. Who waits for an answer of it finds the end of the pipe.
        if let Some(running) = self.running.lock().take() {
            let _ = running.process.lock().0.kill();
        }
    }

    /// The answer to a request; `None` where it does not run, or is killed meanwhile.
    pub fn ask<T: DeserializeOwned>(&self, request: &Request) -> Result<Option<T>> {
        let Some(running) = self.running.lock().clone() else { return Ok(None) };
        let (stdin, stdout) = &mut *running.pipes.lock();
        let error = match send(stdin, request).and_then(|()| receive(stdout)) {
            Ok(Some(answer)) => return Ok(Some(answer)),
            Ok(None) => "it has ended".into(),
            Err(error) => error.to_string(),
        };
        if !self.running.lock().as_ref().is_some_and(|now| Arc::ptr_eq(now, &running)) {
            return Ok(None);
        }
        Err(format!("node {}: {error}", self.options.number).into())
    }

    pub fn status(&self) -> Result<Status> {
        self.ask(&Request::Status)?.ok_or_else(|| "a node that does not run has no status".into())
    }
}
