//! What the main process starts and stops: the engine's server, the nodes, and the ways from these
//! to the engine.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::Result;
use crate::engine::Engine;
use crate::node::{NodeOptions, SERVER_VARIABLE};
use crate::protocol::{Status, Wire};

/// The first argument of the processes that this program starts of itself. They are no business of
/// the user's.
pub const NODE: &str = "@node";
pub const GUARDED: &str = "@guarded";

const SERVER_PROGRAMS: [&str; 2] = ["redis-server", "valkey-server"];

/// How long a server may take to start.
const SERVER_STARTS: Duration = Duration::from_secs(30);

/// How often another port is tried, when somebody was faster to take it.
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

/// A server of the engine's, with nothing in it, on a free port of this machine alone.
pub struct Server {
    _process: Guarded,
    pub port: u16,
}

impl Server {
    pub fn start() -> Result<Self> {
        let program = find_program().ok_or(
            "found neither redis-server nor valkey-server. Install one (Debian, Ubuntu: apt \
             install redis-server; Fedora: dnf install valkey; macOS: brew install valkey), or \
             name a server that runs already: --server redis://HOST:PORT",
        )?;
        let mut message = String::new();
        for _ in 0..PORTS_TRIED {
            // The port is free again before the server takes it, so another program may be faster.
            let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
            match Self::try_start(&program, port)? {
                Ok(server) => return Ok(server),
                Err(last_words) => message = last_words,
            }
        }
        Err(format!("{} does not start: {message}", program.display()).into())
    }

    /// The outer error is for what another port does not help against.
    fn try_start(program: &Path, port: u16) -> Result<Result<Self, String>> {
        // It is gone when this function returns, and the server stays in it: it writes no file, and
        // nothing is left behind however this program ends.
        let folder = tempfile::tempdir()?;
        let log = folder.path().join("log");
        let output = File::create(&log)?;
        let child = guarded(program)?
            .args(["--bind", "127.0.0.1", "--port", &port.to_string()])
            .args(["--save", "", "--appendonly", "no", "--loglevel", "warning", "--dir"])
            .arg(folder.path())
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .spawn()?;
        let mut process = Guarded(child);

        let engine = Engine::new(format!("redis://127.0.0.1:{port}"), "")?;
        let start = Instant::now();
        loop {
            if process.0.try_wait()?.is_some() {
                let log = std::fs::read_to_string(&log).unwrap_or_default();
                return Ok(Err(log.trim().lines().last().unwrap_or_default().into()));
            }
            // Another server may listen there.
            let found = engine.connect().and_then(|mut session| session.process_id());
            if found.is_ok_and(|id| id == Some(process.0.id())) {
                return Ok(Ok(Self { _process: process, port }));
            }
            if start.elapsed() > SERVER_STARTS {
                return Ok(Err("it does not answer".into()));
            }
            thread::sleep(Duration::from_millis(10));
        }
    }
}

fn find_program() -> Option<PathBuf> {
    let folders: Vec<PathBuf> = env::split_paths(&env::var_os("PATH")?).collect();
    let mut candidates = SERVER_PROGRAMS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .map(|path| path.with_extension(env::consts::EXE_EXTENSION));
    candidates.find(|path| path.is_file())
}

/// A command that runs a program which ends when this process ends, in whatever way.
///
/// Linux tells the child of its parent's death, if the child has asked for it. So this program runs
/// itself, asks, and becomes the other program. Elsewhere only `Drop` ends it, and the interrupt of
/// a terminal, which goes to all processes that were started from there.
#[cfg(target_os = "linux")]
fn guarded(program: &Path) -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg(GUARDED).arg(std::process::id().to_string()).arg(program);
    Ok(command)
}

#[cfg(not(target_os = "linux"))]
fn guarded(program: &Path) -> io::Result<Command> {
    Ok(Command::new(program))
}

/// What a process does that was started by [`guarded`]; returns only if it fails.
#[cfg(target_os = "linux")]
pub fn run_guarded(mut arguments: env::ArgsOs) -> Result<()> {
    use std::os::unix::process::CommandExt;

    use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};

    let (Some(parent), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("the arguments are the parent's id, a program, and its arguments".into());
    };
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let current = getppid().map_or(0, Pid::as_raw_pid);
    if current.to_string() != parent.to_string_lossy() {
        return Err("the parent is gone already".into());
    }
    Err(Command::new(program).args(arguments).exec().into())
}

#[cfg(not(target_os = "linux"))]
pub fn run_guarded(_: env::ArgsOs) -> Result<()> {
    Err("not on this system".into())
}

/// The way from one node to the engine, which can be cut: a port of this machine whose connections
/// are passed on to the engine.
pub struct Proxy {
    pub port: u16,
    state: Arc<Mutex<ProxyState>>,
}

#[derive(Default)]
struct ProxyState {
    is_cut: bool,
    /// Both ends of each connection that was made since the last cut.
    connections: Vec<TcpStream>,
}

impl Proxy {
    /// The thread that accepts connections lives as long as the process.
    pub fn start(target: SocketAddr) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let state = Arc::new(Mutex::new(ProxyState::default()));
        let shared = Arc::clone(&state);
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // Where the engine cannot be reached, the client's connection ends, which it notices.
                let _ = pass_on(client, target, &shared);
            }
        });
        Ok(Self { port, state })
    }

    /// Ends all connections, and each new one at once.
    pub fn cut(&self) {
        let mut state = lock(&self.state);
        state.is_cut = true;
        for connection in state.connections.drain(..) {
            // It may have ended already.
            let _ = connection.shutdown(Shutdown::Both);
        }
    }

    pub fn restore(&self) {
        lock(&self.state).is_cut = false;
    }
}

fn pass_on(client: TcpStream, target: SocketAddr, state: &Mutex<ProxyState>) -> io::Result<()> {
    let engine = TcpStream::connect_timeout(&target, Duration::from_secs(10))?;
    let mut state = lock(state);
    if state.is_cut {
        return Ok(());
    }
    for stream in [&client, &engine] {
        stream.set_nodelay(true)?;
        state.connections.push(stream.try_clone()?);
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

/// The address to which a proxy passes on.
pub fn resolve(host: &str, port: u16) -> Result<SocketAddr> {
    let addresses = (host, port).to_socket_addrs();
    let addresses = addresses.map_err(|error| format!("cannot find the host {host}: {error}"))?;
    // A server at "localhost" may listen to one of its two addresses only.
    let mut error = format!("the host {host} has no address");
    for address in addresses {
        match TcpStream::connect_timeout(&address, Duration::from_secs(10)) {
            Ok(_) => return Ok(address),
            Err(failure) => error = format!("cannot reach the server at {address}: {failure}"),
        }
    }
    Err(error.into())
}

/// A node: its process, unless it was killed, and its way to the engine.
pub struct NodeProcess {
    options: NodeOptions,
    server: String,
    pub proxy: Proxy,
    running: Mutex<Option<Running>>,
}

struct Running {
    process: Guarded,
    /// Kept open: the node ends when it is closed.
    _stdin: Option<std::process::ChildStdin>,
    address: SocketAddr,
    /// Made when somebody asks for the status.
    wire: Option<Wire>,
}

impl NodeProcess {
    /// Does not start it yet. `options.port` is set to that of its proxy.
    pub fn new(options: NodeOptions, server: String, target: SocketAddr) -> Result<Self> {
        let proxy = Proxy::start(target)?;
        let options = NodeOptions { port: proxy.port, ..options };
        Ok(Self { options, server, proxy, running: Mutex::new(None) })
    }

    /// Starts it, and returns when it answers lookups.
    pub fn start(&self) -> Result<()> {
        let mut child = Command::new(env::current_exe()?)
            .arg(NODE)
            .args(self.options.to_arguments())
            .env(SERVER_VARIABLE, &self.server)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let process = Guarded(child);
        let mut line = String::new();
        BufReader::new(stdout.ok_or("a node without output")?).read_line(&mut line)?;
        let port: u16 = line.trim().parse().map_err(|_| {
            // It has said why on the standard error that it shares with this process.
            format!("node {} did not start", self.options.number)
        })?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        *lock(&self.running) = Some(Running { process, _stdin: stdin, address, wire: None });
        Ok(())
    }

    /// Kills it, in the middle of whatever it does: SIGKILL, where there is such a thing.
    pub fn kill(&self) {
        // First nobody finds it any more; then it is dropped.
        let running = lock(&self.running).take();
        drop(running);
    }

    /// Where it answers, if it runs.
    pub fn address(&self) -> Option<SocketAddr> {
        lock(&self.running).as_ref().map(|running| running.address)
    }

    pub fn status(&self) -> Result<Status> {
        let mut running = lock(&self.running);
        let running = running.as_mut().ok_or("a node that does not run has no status")?;
        let wire = match &mut running.wire {
            Some(wire) => wire,
            none => none.insert(Wire::connect(running.address)?),
        };
        let status = wire.status();
        status.map_err(|error| format!("node {}: {error}", self.options.number).into())
    }

    /// An error if it has ended by itself.
    pub fn check(&self) -> Result<()> {
        if let Some(running) = lock(&self.running).as_mut()
            && let Some(status) = running.process.0.try_wait()?
        {
            return Err(format!("node {} ended: {status}", self.options.number).into());
        }
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
