//! The log of a set of keys in Redis, in shards. These are the names in Redis for shard 0 of the set `finches`:
//!
//! | name | type | content |
//! |---|---|---|
//! | `{finches:0}:log` | stream | one entry for each batch of changes: pairs of `+` or `-` and a key |
//! | `{finches:0}:writers` | hash | of each writer, the number of its last change in the log |
//! | `{finches:0}:snapshot` | hash | `image`, a snapshot of the filter, and `id`, that of the last entry in it |
//!
//! `finches:shards` is the number of shards. A script changes two names at once. Redis Cluster keeps names with the
//! same text in braces on one node, so a shard is never divided.

use std::error::Error;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;
use std::thread;
use std::time::Duration;

use coucal::StableHashBuilder;
use redis::cluster::ClusterClient;
use redis::{
    ConnectionLike, ErrorKind, FromRedisValue, ParsingError, RedisError, RedisResult, RedisWrite,
    Script, ServerErrorKind, ToRedisArgs, Value, cmd,
};

pub type Result<T, E = Box<dyn Error + Send + Sync>> = std::result::Result<T, E>;

/// Another seed than that of the filters, so that the keys of one shard have nothing in common in its filter.
const SHARDING: StableHashBuilder = StableHashBuilder::new(8);

/// The maximum duration of a call, so that a connection that is lost without a word is noticed.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The milliseconds for which a read waits for the next entry, and the number of entries that it takes.
const BLOCK: u64 = 1000;
const COUNT: usize = 100;

/// The most bytes of a value: the server closes the connection of a client that sends more.
const LONGEST_VALUE: usize = 512 << 20;

/// Appends an entry, unless it is there: a writer that lost the reply sends it again.
///
/// KEYS: the log and the writers. ARGV: the writer, the number of its last change before this entry, the number of the
/// last change in it, and the pairs. Returns the number of the writer's last change that is in the log.
static APPEND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "local last = tonumber(redis.call('HGET', KEYS[2], ARGV[1]) or 0)
         if last ~= tonumber(ARGV[2]) then return last end
         redis.call('XADD', KEYS[1], '*', unpack(ARGV, 4))
         redis.call('HSET', KEYS[2], ARGV[1], ARGV[3])
         return tonumber(ARGV[3])",
    )
});

/// Replaces a snapshot, unless one of these holds:
///
/// * Another replica was faster.
/// * The log lacks the last entry of the new snapshot, since the server has lost it. No replica could continue from
///   there.
///
/// Removes the entries before the *replaced* snapshot from the log: a replica that has just loaded this snapshot finds
/// all entries that follow.
///
/// KEYS: the snapshot and the log. ARGV: the id of the replaced snapshot, that of the new one, and its bytes.
static STORE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if (redis.call('HGET', KEYS[1], 'id') or '0-0') ~= ARGV[1] then return end
         if #redis.call('XRANGE', KEYS[2], ARGV[2], ARGV[2]) == 0 then return end
         redis.call('HSET', KEYS[1], 'id', ARGV[2], 'image', ARGV[3])
         redis.call('XTRIM', KEYS[2], 'MINID', ARGV[1])",
    )
});

/// Returns whether the log has an entry, and the id of the newest snapshot. KEYS: the log and the snapshot. ARGV: the
/// id of the entry.
static STATE: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "return {#redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1]), redis.call('HGET', KEYS[2], 'id')}",
    )
});

/// The id of an entry. The default, `0-0`, is the beginning of the log, where there is no entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    milliseconds: u64,
    number: u64,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.milliseconds, self.number)
    }
}

impl FromStr for Id {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        let parts = id.split_once('-').and_then(|(milliseconds, number)| {
            Some(Self { milliseconds: milliseconds.parse().ok()?, number: number.parse().ok()? })
        });
        parts.ok_or_else(|| format!("{id:?} is not the id of an entry"))
    }
}

impl FromRedisValue for Id {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Ok(String::from_redis_value(value)?.parse::<Self>()?)
    }
}

impl ToRedisArgs for Id {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg_fmt(self);
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    Insert,
    Remove,
}

impl FromStr for Operation {
    type Err = String;

    fn from_str(sign: &str) -> Result<Self, String> {
        match sign {
            "+" => Ok(Self::Insert),
            "-" => Ok(Self::Remove),
            _ => Err(format!("{sign:?} is neither + nor -")),
        }
    }
}

impl FromRedisValue for Operation {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        Ok(String::from_redis_value(value)?.parse::<Self>()?)
    }
}

impl ToRedisArgs for Operation {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg(if *self == Self::Insert { b"+" } else { b"-" });
    }
}

pub type Change = (Operation, String);
pub type Entry = (Id, Vec<Change>);

/// The result of one read of a replica.
pub struct Read {
    pub entries: Vec<Entry>,
    /// The id of the newest snapshot.
    pub snapshot: Id,
}

/// A set of keys, wherever its shards are.
pub struct Set {
    client: Client,
    name: String,
    shards: u64,
}

impl Set {
    /// Agrees with all other processes on the number of shards, which never changes: a removal must find the shard of
    /// its insert.
    pub fn open(server: &str, is_cluster: bool, name: &str, shards: u64) -> Result<Self> {
        let client = Client::new(server, is_cluster)?;
        let key = format!("{name}:shards");
        let mut connection = Reconnecting { client: client.clone(), open: None };
        let agreed: u64 = connection.call(|connection| {
            cmd("SETNX").arg(&key).arg(shards).exec(connection)?;
            cmd("GET").arg(&key).query(connection)
        })?;
        if agreed != shards {
            return Err(format!("the number of shards of {name} is {agreed}, not {shards}").into());
        }
        Ok(Self { client, name: name.into(), shards })
    }

    pub fn shards(&self) -> Vec<Shard> {
        (0..self.shards).map(|number| self.shard(number)).collect()
    }

    fn shard(&self, number: u64) -> Shard {
        let name = |part| format!("{{{}:{number}}}:{part}", self.name);
        let connection = Reconnecting { client: self.client.clone(), open: None };
        Shard { connection, log: name("log"), writers: name("writers"), snapshot: name("snapshot") }
    }

    pub fn shard_of(&self, key: &str) -> usize {
        let hash = SHARDING.hash_bytes(key.as_bytes());
        ((u128::from(hash) * u128::from(self.shards)) >> 64) as usize
    }
}

#[derive(Clone)]
enum Client {
    Server(redis::Client),
    Cluster(ClusterClient),
}

type Connection = Box<dyn ConnectionLike + Send>;

impl Client {
    fn new(server: &str, is_cluster: bool) -> RedisResult<Self> {
        if !is_cluster {
            return Ok(Self::Server(redis::Client::open(server)?));
        }
        let builder =
            ClusterClient::builder([server]).connection_timeout(TIMEOUT).response_timeout(TIMEOUT);
        Ok(Self::Cluster(builder.build()?))
    }

    fn connect(&self) -> RedisResult<Connection> {
        match self {
            Self::Server(client) => {
                let connection = client.get_connection_with_timeout(TIMEOUT)?;
                connection.set_read_timeout(Some(TIMEOUT))?;
                connection.set_write_timeout(Some(TIMEOUT))?;
                Ok(Box::new(connection))
            }
            Self::Cluster(client) => Ok(Box::new(client.get_connection()?)),
        }
    }
}

/// Returns whether the server would refuse another call, too, or gave a reply that the program does not expect. Each
/// other error may pass, also one with an unknown code: lookups go on meanwhile.
fn is_final(error: &RedisError) -> bool {
    match error.kind() {
        ErrorKind::AuthenticationFailed
        | ErrorKind::InvalidClientConfig
        | ErrorKind::Parse
        | ErrorKind::UnexpectedReturnType
        | ErrorKind::RESP3NotSupported
        | ErrorKind::Server(
            ServerErrorKind::ResponseError | ServerErrorKind::NoPerm | ServerErrorKind::CrossSlot,
        ) => true,
        // Codes without a kind of their own.
        ErrorKind::Extension => {
            matches!(
                error.code(),
                Some("DENIED" | "NOAUTH" | "NOPROTO" | "WRONGPASS" | "WRONGTYPE")
            )
        }
        _ => false,
    }
}

/// A connection that is replaced when it fails.
struct Reconnecting {
    client: Client,
    open: Option<Connection>,
}

impl Reconnecting {
    /// Repeats a call until it succeeds, or fails for good. The call may have been executed several times.
    fn call<T>(
        &mut self,
        call: impl Fn(&mut dyn ConnectionLike) -> RedisResult<T>,
    ) -> RedisResult<T> {
        let mut was_said = false;
        loop {
            let result = self.open.take().map_or_else(|| self.client.connect(), Ok).and_then(
                |mut connection| {
                    let answer = call(&mut *connection)?;
                    self.open = Some(connection);
                    Ok(answer)
                },
            );
            match result {
                Err(error) if !is_final(&error) => {
                    if !was_said {
                        eprintln!("{error}: trying again");
                    }
                    was_said = true;
                    thread::sleep(Duration::from_millis(100));
                }
                _ => return result,
            }
        }
    }
}

/// A connection to one shard.
pub struct Shard {
    connection: Reconnecting,
    log: String,
    writers: String,
    snapshot: String,
}

impl Shard {
    /// Returns the number of the writer's last change in this shard.
    pub fn last_of(&mut self, writer: &str) -> Result<u64> {
        let mut get = cmd("HGET");
        get.arg(&self.writers).arg(writer);
        let last: Option<u64> = self.connection.call(|connection| get.query(connection))?;
        Ok(last.unwrap_or(0))
    }

    /// Appends changes as one entry. The number of the writer's last change in this shard is `before`, then `last`.
    pub fn append(
        &mut self,
        writer: &str,
        before: u64,
        last: u64,
        changes: &[Change],
    ) -> Result<()> {
        let mut append = APPEND.prepare_invoke();
        append.key(&self.log).key(&self.writers).arg(writer).arg(before).arg(last).arg(changes);
        let stored: u64 = self.connection.call(|connection| append.invoke(connection))?;
        if stored != last {
            let log = &self.log;
            let cause = if stored < before {
                "entries were lost"
            } else {
                "another process stores changes of this writer. If it has ended, start again"
            };
            return Err(format!(
                "{log} ends with change {stored} of {writer}, not {last}: {cause}"
            )
            .into());
        }
        Ok(())
    }

    /// Reads entries after this one. Waits a while for the first.
    ///
    /// Returns `None` if the log does not continue from there: it was trimmed, and there is a snapshot, or the server
    /// has lost entries.
    pub fn read(&mut self, after: Id) -> Result<Option<Read>> {
        type Streams = Option<Vec<(String, Vec<Entry>)>>;
        let mut read = cmd("XREAD");
        read.arg("COUNT")
            .arg(COUNT)
            .arg("BLOCK")
            .arg(BLOCK)
            .arg("STREAMS")
            .arg(&self.log)
            .arg(after);
        let streams: Streams = self.connection.call(|connection| read.query(connection))?;
        // If entry `after` is there now, after the read, then it was there during the read, and nothing behind it was
        // trimmed.
        let mut state = STATE.prepare_invoke();
        state.key(&self.log).key(&self.snapshot).arg(after);
        let (is_there, snapshot): (bool, Option<Id>) =
            self.connection.call(|connection| state.invoke(connection))?;
        let snapshot = snapshot.unwrap_or_default();
        // As long as there is no snapshot, nothing is trimmed.
        if !is_there && (after, snapshot) != (Id::default(), Id::default()) {
            return Ok(None);
        }
        let entries = streams.into_iter().flatten().flat_map(|(_, entries)| entries).collect();
        Ok(Some(Read { entries, snapshot }))
    }

    /// Returns the id of the last entry.
    pub fn end(&mut self) -> Result<Id> {
        let mut read = cmd("XREVRANGE");
        read.arg(&self.log).arg("+").arg("-").arg("COUNT").arg(1);
        let last: Vec<Entry> = self.connection.call(|connection| read.query(connection))?;
        Ok(last.first().map_or_else(Id::default, |entry| entry.0))
    }

    /// Returns the newest snapshot, and the id of the last entry in it.
    pub fn snapshot(&mut self) -> Result<Option<(Id, Vec<u8>)>> {
        // In one command, so that they belong together.
        let mut get = cmd("HMGET");
        get.arg(&self.snapshot).arg("id").arg("image");
        let (id, image): (Option<Id>, Option<Vec<u8>>) =
            self.connection.call(|connection| get.query(connection))?;
        Ok(id.zip(image))
    }

    /// Stores a snapshot, and removes entries before `replaced` from the log.
    ///
    /// Does nothing if `replaced` is no longer the newest snapshot, or if entry `id` is no longer in the log. The next
    /// `read` shows both.
    pub fn store_snapshot(&mut self, replaced: Id, id: Id, image: &[u8]) -> Result<()> {
        if image.len() > LONGEST_VALUE {
            return Err(
                format!("{} bytes are more than a value of Redis can have", image.len()).into()
            );
        }
        let mut store = STORE.prepare_invoke();
        store.key(&self.snapshot).key(&self.log).arg(replaced).arg(id).arg(image);
        Ok(self.connection.call(|connection| store.invoke(connection))?)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.log.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_refusal_is_final() {
        for (reply, expected) in [
            ("ERR unknown command 'XADD'", true),
            ("NOPERM this user has no permissions to run the 'eval' command", true),
            ("NOAUTH Authentication required.", true),
            ("WRONGPASS invalid username-password pair or user is disabled.", true),
            ("WRONGTYPE Operation against a key holding the wrong kind of value", true),
            ("DENIED Redis is running in protected mode", true),
            ("BUSY Redis is busy running a script", false),
            ("LOADING Redis is loading the dataset in memory", false),
            ("MISCONF Errors writing to the AOF file: No space left on device", false),
            ("NOREPLICAS Not enough good replicas to write.", false),
            ("NOSCRIPT No matching script", false),
            ("OOM command not allowed when used memory > 'maxmemory'.", false),
            ("READONLY You can't write against a read only replica.", false),
            ("UNBLOCKED client unblocked via CLIENT UNBLOCK", false),
        ] {
            let reply = redis::parse_redis_value(format!("-{reply}\r\n").as_bytes());
            let error = reply.and_then(Value::extract_error).expect_err("it begins with a minus");
            assert_eq!(is_final(&error), expected, "{error}");
        }
        // Without a reply: a cluster while its nodes are down.
        for kind in [ErrorKind::Io, ErrorKind::Client, ErrorKind::ClusterConnectionNotFound] {
            assert!(!is_final(&(kind, "an error of the client").into()));
        }
    }
}
