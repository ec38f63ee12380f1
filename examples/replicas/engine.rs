//! The engine: one ordered log, a Redis stream, and the newest snapshot beside it.
//!
//! Three keys, whose names begin with the name of the run:
//!
//! | key | type | holds |
//! |---|---|---|
//! | `NAME:log` | stream | one entry per change: the field `add` or `remove`, with the item as its value; before them the entry `0-1`, the beginning |
//! | `NAME:snapshot` | hash | `image`, and where in the log it belongs: `position` and `entries` |
//! | `NAME:pin` | string | while it exists, nobody trims the log |

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use redis::{
    Client, Connection, ConnectionAddr, FromRedisValue, IntoConnectionInfo, ParsingError,
    RedisResult, RedisWrite, ToRedisArgs, Value, cmd, pipe,
};

/// How long a call of the engine may take. A connection that is gone without a word ends here.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How long a read waits for the next entry.
const BLOCK: Duration = Duration::from_millis(500);

/// The most entries of one read.
const ENTRIES_PER_READ: usize = 1000;

/// How long the engine keeps the keys when this program ends without deleting them.
const EXPIRES: Duration = Duration::from_secs(600);

/// A place in the log: the id of the last entry before it, in one word that fits an atomic.
///
/// | bits | hold |
/// |---|---|
/// | 20..64 | the milliseconds of the entry's id, since 1970, by the clock of the engine |
/// | 0..20 | the number of the entry within that millisecond |
///
/// The order of the words is the order of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position(u64);

impl Position {
    /// The id of the first entry of a log, which marks its beginning and changes nothing. As long as
    /// the log has it, nothing was trimmed away.
    pub const BEGINNING: Self = Self(1);

    const NUMBER_BITS: u32 = 20;
    const NUMBER_MASK: u64 = (1 << Self::NUMBER_BITS) - 1;

    pub fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    pub fn to_bits(self) -> u64 {
        self.0
    }

    /// When the engine received the entry.
    pub fn milliseconds(self) -> u64 {
        self.0 >> Self::NUMBER_BITS
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.milliseconds(), self.0 & Self::NUMBER_MASK)
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(id: &str) -> Result<Self, String> {
        let parts = id.split_once('-').and_then(|(milliseconds, number)| {
            Some((milliseconds.parse::<u64>().ok()?, number.parse::<u64>().ok()?))
        });
        match parts {
            Some((milliseconds, number))
                if milliseconds >> (64 - Self::NUMBER_BITS) == 0 && number <= Self::NUMBER_MASK =>
            {
                Ok(Self(milliseconds << Self::NUMBER_BITS | number))
            }
            // The clock of an engine that was set back stands still: then a millisecond is long.
            _ => Err(format!("{id:?} is no id of an entry with 44 and 20 bits")),
        }
    }
}

impl FromRedisValue for Position {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        String::from_redis_value(value)?.parse().map_err(ParsingError::from)
    }
}

impl ToRedisArgs for Position {
    fn write_redis_args<W: ?Sized + RedisWrite>(&self, out: &mut W) {
        out.write_arg_fmt(self);
    }
}

/// What an entry of the log does to the set.
#[derive(Clone, Copy)]
pub enum Change {
    Add(u64),
    Remove(u64),
}

impl Change {
    fn field_and_value(self) -> (&'static str, u64) {
        match self {
            Self::Add(item) => ("add", item),
            Self::Remove(item) => ("remove", item),
        }
    }
}

impl FromRedisValue for Change {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let (field, item) = <(String, u64)>::from_redis_value(value)?;
        match field.as_str() {
            "add" => Ok(Self::Add(item)),
            "remove" => Ok(Self::Remove(item)),
            _ => Err(format!("an entry of the log has the unknown field {field:?}").into()),
        }
    }
}

/// One read of the log.
pub struct Read {
    /// The oldest entry that the log still has.
    pub oldest: Option<Position>,
    pub entries: Vec<(Position, Change)>,
}

/// The image of a filter, with the position that it belongs to.
pub struct StoredSnapshot {
    pub position: Position,
    /// How many entries of the log, from its very beginning, the image has in it.
    pub entries: u64,
    pub image: Vec<u8>,
}

/// Which engine, and the names of its keys.
#[derive(Clone)]
pub struct Engine {
    client: Client,
    keys: Keys,
}

#[derive(Clone)]
struct Keys {
    log: String,
    snapshot: String,
    pin: String,
}

impl Engine {
    pub fn new(server: impl IntoConnectionInfo, name: &str) -> RedisResult<Self> {
        let [log, snapshot, pin] = ["log", "snapshot", "pin"].map(|key| format!("{name}:{key}"));
        Ok(Self { client: Client::open(server)?, keys: Keys { log, snapshot, pin } })
    }

    /// The same engine by another way: a port of this machine that leads to it.
    pub fn through(&self, port: u16) -> RedisResult<Self> {
        let address = ConnectionAddr::Tcp("127.0.0.1".into(), port);
        let info = self.client.get_connection_info().clone().set_addr(address);
        Ok(Self { client: Client::open(info)?, keys: self.keys.clone() })
    }

    pub fn connect(&self) -> RedisResult<Session> {
        let connection = self.client.get_connection_with_timeout(TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        Ok(Session { connection, keys: self.keys.clone() })
    }
}

/// A connection to the engine.
pub struct Session {
    connection: Connection,
    keys: Keys,
}

impl Session {
    /// Makes the log, with the entry that marks its beginning.
    pub fn create_log(&mut self) -> RedisResult<()> {
        let mut command = cmd("XADD");
        command.arg(&self.keys.log).arg(Position::BEGINNING).arg("begin").arg("");
        command.exec(&mut self.connection)
    }

    /// Appends changes to the log, in this order; those of others may come in between.
    ///
    /// After an error some of them may be in the log nevertheless.
    pub fn append(&mut self, changes: &[Change]) -> RedisResult<Vec<Position>> {
        let mut pipeline = pipe();
        for &change in changes {
            let (field, value) = change.field_and_value();
            pipeline.cmd("XADD").arg(&self.keys.log).arg("*").arg(field).arg(value);
        }
        pipeline.query(&mut self.connection)
    }

    /// The entries after this position; waits a while for the first one.
    ///
    /// Redis does not say whether some of them were trimmed away. The caller sees it: as long as the
    /// log has an entry at `after` or an older one, none is missing. The oldest entry is read after
    /// the others, so what is trimmed while this reads shows, too.
    pub fn read(&mut self, after: Position) -> RedisResult<Read> {
        type Entries<T> = Vec<(Position, T)>;
        type Streams = Option<Vec<(String, Entries<Change>)>>;
        let log = &self.keys.log;
        let (new, oldest): (Streams, Entries<Value>) = pipe()
            .cmd("XREAD")
            .arg("COUNT")
            .arg(ENTRIES_PER_READ)
            .arg("BLOCK")
            .arg(BLOCK.as_millis() as u64)
            .arg("STREAMS")
            .arg(log)
            .arg(after)
            .cmd("XRANGE")
            .arg(log)
            .arg("-")
            .arg("+")
            .arg("COUNT")
            .arg(1)
            .query(&mut self.connection)?;
        Ok(Read {
            oldest: oldest.first().map(|(position, _)| *position),
            entries: new.into_iter().flatten().flat_map(|(_, entries)| entries).collect(),
        })
    }

    pub fn newest_snapshot(&mut self) -> RedisResult<Option<StoredSnapshot>> {
        // One command, so that the image and its position are of one snapshot.
        let fields: (Option<Position>, Option<u64>, Option<Vec<u8>>) = cmd("HMGET")
            .arg(&self.keys.snapshot)
            .arg(&["position", "entries", "image"])
            .query(&mut self.connection)?;
        Ok(match fields {
            (Some(position), Some(entries), Some(image)) => {
                Some(StoredSnapshot { position, entries, image })
            }
            _ => None,
        })
    }

    /// Stores a snapshot, unless a newer one is there, and trims the log. Returns whether it did.
    ///
    /// The log keeps what follows the snapshot that was the newest until now: a node that has just
    /// loaded that one finds all the entries it needs.
    pub fn store_snapshot(&mut self, snapshot: &StoredSnapshot) -> RedisResult<bool> {
        let Keys { log, snapshot: key, pin } = &self.keys;
        redis::transaction(&mut self.connection, &[key, pin], |connection, pipeline| {
            let stored: Option<Position> =
                cmd("HGET").arg(key).arg("position").query(connection)?;
            if stored.is_some_and(|stored| stored >= snapshot.position) {
                return Ok(Some(false));
            }
            let pinned: bool = cmd("EXISTS").arg(pin).query(connection)?;
            pipeline.cmd("HSET").arg(key).arg("position").arg(snapshot.position);
            pipeline.arg("entries").arg(snapshot.entries).arg("image").arg(&snapshot.image);
            if let (Some(stored), false) = (stored, pinned) {
                // "~" lets the engine keep some entries more, which is faster. But then it also stops
                // after some thousand entries, unless the limit is 0.
                pipeline.cmd("XTRIM").arg(log).arg("MINID").arg("~").arg(stored);
                pipeline.arg("LIMIT").arg(0);
            }
            // Nothing where another node stored one in the meantime: then it looks again.
            let replies: Option<Vec<u64>> = pipeline.query(connection)?;
            Ok(replies.map(|_| true))
        })
    }

    /// The position and the size in bytes of the newest snapshot.
    pub fn snapshot_position_and_bytes(&mut self) -> RedisResult<Option<(Position, u64)>> {
        let (position, bytes): (Option<Position>, u64) = pipe()
            .cmd("HGET")
            .arg(&self.keys.snapshot)
            .arg("position")
            .cmd("HSTRLEN")
            .arg(&self.keys.snapshot)
            .arg("image")
            .query(&mut self.connection)?;
        Ok(position.map(|position| (position, bytes)))
    }

    /// From now on, nobody trims the log.
    pub fn pin(&mut self) -> RedisResult<()> {
        cmd("SET").arg(&self.keys.pin).arg("").exec(&mut self.connection)
    }

    pub fn unpin(&mut self) -> RedisResult<()> {
        cmd("DEL").arg(&self.keys.pin).exec(&mut self.connection)
    }

    /// The oldest entry that the log has.
    pub fn oldest_entry(&mut self) -> RedisResult<Option<Position>> {
        let entries: Vec<(Position, Value)> = cmd("XRANGE")
            .arg(&self.keys.log)
            .arg("-")
            .arg("+")
            .arg("COUNT")
            .arg(1)
            .query(&mut self.connection)?;
        Ok(entries.first().map(|(position, _)| *position))
    }

    /// How many entries the log has.
    pub fn log_entries(&mut self) -> RedisResult<u64> {
        cmd("XLEN").arg(&self.keys.log).query(&mut self.connection)
    }

    /// Renews the time after which the engine deletes the keys by itself: a run that is killed leaves
    /// nothing behind on an engine that others use, too.
    pub fn keep_alive(&mut self) -> RedisResult<()> {
        let mut pipeline = pipe();
        for key in [&self.keys.log, &self.keys.snapshot, &self.keys.pin] {
            pipeline.cmd("EXPIRE").arg(key).arg(EXPIRES.as_secs());
        }
        pipeline.query::<Vec<u64>>(&mut self.connection).map(drop)
    }

    pub fn delete_all(&mut self) -> RedisResult<()> {
        let Keys { log, snapshot, pin } = &self.keys;
        cmd("DEL").arg(&[log, snapshot, pin]).exec(&mut self.connection)
    }

    /// The process that is at the other end.
    pub fn process_id(&mut self) -> RedisResult<Option<u32>> {
        let info: redis::InfoDict = cmd("INFO").arg("server").query(&mut self.connection)?;
        Ok(info.get("process_id"))
    }
}

/// Whether a new connection may help. It does not against a log that cannot be understood, or an
/// engine that refuses the command.
pub fn is_lost_connection(error: &redis::RedisError) -> bool {
    error.is_io_error()
}
