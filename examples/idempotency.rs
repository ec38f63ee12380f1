//! A service that does each thing once: a request whose key it has seen in its window is not dispatched again.
//!
//! `POST /` with a header `Idempotency-Key` dispatches the request, and is answered by 201; a repeat by 200. Here, to
//! dispatch a request is to append its key to a log. An expiring filter, shared by all workers, says which keys were
//! seen. After a crash or a restart, the filter is restored from its last snapshot, and gets the keys that the log has
//! since then.
//!
//! Clients choose the keys. With a hash that they can compute, one client could send a key that suppresses the request
//! of another: so the filter has a hasher with a secret key, which is kept beside the log.
//!
//! ```text
//! cargo run --release --example idempotency -- --folder /tmp/seen --address 127.0.0.1:8080
//! curl -X POST -H 'Idempotency-Key: order-7' http://127.0.0.1:8080
//! ```

use std::error::Error;
use std::fs::{self, File, OpenOptions};
use std::hash::BuildHasher;
use std::io::{self, BufRead, BufReader, ErrorKind, Seek, SeekFrom, Write};
#[cfg(unix)]
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{process, thread};

use clap::Parser;
use coucal::{Fp21x3, GrowableExpiringCuckooFilter, KeyedHashBuilder};
use parking_lot::Mutex;
use tiny_http::{Method, Request, Response, Server};

type Seen = GrowableExpiringCuckooFilter<Fp21x3, KeyedHashBuilder>;
type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// A key is remembered for the window, and up to an eighth longer.
const GENERATIONS: u32 = 9;
const WORKERS: usize = 4;
/// Keys that are dispatched between two snapshots.
const SAVED_AFTER: u64 = 1000;
/// When the present generation began, how much of the log the snapshot has, and the checksum of both: 8 bytes each,
/// before the snapshot.
const STATE_HEADER: usize = 24;

/// Does each thing once.
#[derive(Parser)]
struct Options {
    /// Where the log of what was dispatched is, the snapshot, and the key of the hasher.
    #[arg(long)]
    folder: PathBuf,
    /// Where to listen. Port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    address: String,
    /// For how long a key is remembered after it was first seen.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u32).range(1..))]
    window_seconds: u32,
}

struct Service {
    folder: PathBuf,
    seen: Seen,
    log: Mutex<Log>,
}

struct Log {
    file: File,
    /// Its length, and how many keys it has got since a snapshot was to be saved.
    bytes: u64,
    unsaved: u64,
}

impl Log {
    fn add(&mut self, key: &str) -> io::Result<()> {
        self.file.write_all(format!("{key}\n").as_bytes())?; // and `sync_data`, to survive a loss of power
        self.bytes += key.len() as u64 + 1;
        self.unsaved += 1;
        Ok(())
    }
}

impl Service {
    fn open(folder: &Path, window: Duration) -> Result<Self> {
        let mut file =
            OpenOptions::new().read(true).append(true).create(true).open(folder.join("log"))?;
        let period = window / (GENERATIONS - 1);
        let hasher = hasher(folder)?;
        let (mut seen, elapsed, saved) = match fs::read(folder.join("seen")) {
            Ok(state) => Self::restored(&state, hasher)?,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                (Seen::with_hasher(GENERATIONS, hasher), Duration::ZERO, 0)
            }
            Err(error) => return Err(error.into()),
        };
        seen.set_every(period, elapsed)?;
        if file.metadata()?.len() < saved {
            return Err("the log is shorter than `seen` says".into());
        }
        // What was dispatched since the snapshot counts as seen now: it is remembered for longer, and never for less.
        file.seek(SeekFrom::Start(saved))?;
        let (mut bytes, mut lines, mut line) = (saved, BufReader::new(&file), Vec::new());
        while lines.read_until(b'\n', &mut line)? > 0 && line.pop() == Some(b'\n') {
            seen.insert_if_absent(&line)?;
            bytes += line.len() as u64 + 1;
            line.clear();
        }
        file.set_len(bytes)?; // without a line that was cut: nobody was told of it
        let log = Mutex::new(Log { file, bytes, unsaved: 0 });
        let service = Self { folder: folder.to_owned(), seen, log };
        service.save(&service.log.lock())?; // so the next restart does not count them as seen then
        Ok(service)
    }

    /// The filter of a snapshot, how long ago its generation began, and how much of the log it has.
    fn restored(state: &[u8], hasher: KeyedHashBuilder) -> Result<(Seen, Duration, u64)> {
        let (header, snapshot) = state.split_at_checked(STATE_HEADER).ok_or("`seen` was cut")?;
        let [began, saved, checksum] = [&header[..8], &header[8..16], &header[16..]]
            .map(|bytes| u64::from_le_bytes(bytes.try_into().expect("8 bytes")));
        if checksum != hasher.hash_one([began, saved]) {
            return Err("`seen` is damaged, or it was written with another `key`".into());
        }
        let seen =
            Seen::from_bytes(snapshot, hasher).map_err(|error| format!("`seen`: {error}"))?;
        Ok((seen, Duration::from_millis(now().saturating_sub(began)), saved))
    }

    /// Returns whether the caller dispatches the request. Of workers that have a new key at the same time, one does.
    fn dispatch(&self, key: &str) -> bool {
        self.seen.advance_if_due(); // lookups do not look at the clock
        if self.seen.contains(key.as_bytes()) {
            return false; // most repeats take no lock
        }
        let mut log = self.log.lock(); // so a snapshot has exactly the keys that were dispatched
        if self.seen.contains(key.as_bytes()) {
            return false;
        }
        if let Err(error) = self.record(&mut log, key) {
            // It may be in the log alone, or in part. The next process starts from the log.
            eprintln!("{key}: {error}");
            process::exit(1);
        }
        if log.unsaved == SAVED_AFTER {
            log.unsaved = 0;
            if let Err(error) = self.save(&log) {
                eprintln!("no snapshot: {error}"); // the last snapshot and the log have all keys
            }
        }
        true
    }

    /// Writes the log first: so a key in the filter is also in the log.
    fn record(&self, log: &mut Log, key: &str) -> Result<()> {
        log.add(key)?;
        self.seen.insert_if_absent(key.as_bytes())?;
        Ok(())
    }

    /// While the log is held: the snapshot has the keys of the log, and no others.
    fn save(&self, log: &Log) -> Result<()> {
        log.file.sync_data()?; // the log on the disk is never behind the snapshot
        let new = self.folder.join("seen.new");
        let mut file = File::create(&new)?;
        let snapshot = self.seen.snapshot()?;
        let elapsed = self.seen.elapsed().unwrap_or_default(); // after the snapshot
        let state = [now() - elapsed.as_millis() as u64, log.bytes];
        for number in [state[0], state[1], self.seen.hasher().hash_one(state)] {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(snapshot.as_bytes())?;
        file.sync_all()?;
        Ok(fs::rename(new, self.folder.join("seen"))?)
    }

    fn answer(&self, request: &Request) -> (u16, String) {
        let key = request.headers().iter().find(|header| header.field.equiv("Idempotency-Key"));
        let key = key.map_or("", |header| header.value.as_str());
        if *request.method() != Method::Post || key.is_empty() || key.contains('\n') {
            return (400, "a POST with an Idempotency-Key is wanted\n".into());
        }
        if self.dispatch(key) {
            (201, "dispatched\n".into())
        } else {
            (200, "seen before\n".into())
        }
    }
}

/// The hasher of this folder. Its key is made once: a snapshot is of use only with the hasher of its filter.
fn hasher(folder: &Path) -> Result<KeyedHashBuilder> {
    let [path, new, seen] = ["key", "key.new", "seen"].map(|name| folder.join(name));
    let key = match fs::read(&path) {
        Ok(key) => key.try_into().map_err(|_| "`key` is damaged: it does not have 16 bytes")?,
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(format!("`key`: {error}").into());
        }
        Err(_) if seen.exists() => {
            return Err("`key` is missing, and `seen` is useless without it: without both, the \
                        service starts from the log"
                .into());
        }
        Err(_) => {
            let mut key = [0; 16];
            getrandom::fill(&mut key)?;
            let mut options = OpenOptions::new();
            options.write(true).create(true).truncate(true);
            #[cfg(unix)]
            options.mode(0o600); // nobody else may read it
            let mut file = options.open(&new)?;
            file.write_all(&key)?;
            file.sync_all()?; // the bytes before the name
            fs::rename(new, path)?;
            key
        }
    };
    Ok(KeyedHashBuilder::new(key))
}

/// In milliseconds.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

fn main() -> Result<()> {
    let Options { folder, address, window_seconds } = Options::parse();
    let named = |error| format!("{}: {error}", folder.display());
    fs::create_dir_all(&folder).map_err(named)?;
    let service = Service::open(&folder, Duration::from_secs(window_seconds.into()))?;
    let server = Server::http(&address).map_err(|error| format!("{address}: {error}"))?;
    writeln!(io::stdout(), "http://{}", server.server_addr())?;
    thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                for request in server.incoming_requests() {
                    let (status, text) = service.answer(&request);
                    // A client that has gone away asks again.
                    _ = request.respond(Response::from_string(text).with_status_code(status));
                }
            });
        }
    });
    Ok(())
}
