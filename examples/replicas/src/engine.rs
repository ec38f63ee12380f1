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
    Client, Connection, ConnectionAddr, FromRedisValue, ParsingError, RedisResult, RedisWrite,
    ToRedisArgs, Value, cmd, pipe,
};
use serde::{Deserialize, Serialize};

/// How long a call of the engine may take. A connection that is gone without a word ends here.
const TIMEOUT: Duration = Duration::from_secs(10);

/// How many milliseconds a read waits for the next entry, and how many entries it takes.
const BLOCK_MS: u64 = 500;
const ENTRIES_PER_READ: usize = 1000;

/// A place in the log: the id of the last entry before it, in one word that fits an atomic.
///
/// | bits | hold |
/// |---|---|
/// | 20..64 | the milliseconds of the entry's id, since 1970, by the clock of the engine |
/// | 0..20 | the number of the entry within that millisecond |
///
/// The order of the words is the order of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Position(pub u64);

impl Position {
    /// The id of the first entry of a log, which marks its beginning and changes nothing. As long as
    /// the log has it, nothing was trimmed away.
    pub const BEGINNING: Self = Self(1);

    const NUMBER_BITS: u32 = 20;

    /// When the engine received the entry.
    pub fn milliseconds(self) -> u64 {
        self.0 >> Self::NUMBER_BITS
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.milliseconds(), self.0 % (1 << Self::NUMBER_BITS))
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
                if milliseconds >> (64 - Self::NUMBER_BITS) == 0
                    && number >> Self::NUMBER_BITS == 0 =>
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

/// Which engine, and the name of the run.
#[derive(Clone)]
pub struct Engine {
    client: Client,
    name: String,
}

impl Engine {
    pub fn new(server: &str, name: &str) -> RedisResult<Self> {
        Ok(Self { client: Client::open(server)?, name: name.into() })
    }

    /// The same engine by another way: a port of this machine that leads to it.
    pub fn through(&self, port: u16) -> RedisResult<Self> {
        let address = ConnectionAddr::Tcp("127.0.0.1".into(), port);
        let info = self.client.get_connection_info().clone().set_addr(address);
        Ok(Self { client: Client::open(info)?, name: self.name.clone() })
    }

    pub fn connect(&self) -> RedisResult<Session> {
        let connection = self.client.get_connection_with_timeout(TIMEOUT)?;
        connection.set_read_timeout(Some(TIMEOUT))?;
        connection.set_write_timeout(Some(TIMEOUT))?;
        let [log, snapshot, pin] =
            ["log", "snapshot", "pin"].map(|key| format!("{}:{key}", self.name));
        Ok(Session { connection, log, snapshot, pin })
    }
}

/// A connection to the engine.
pub struct Session {
    connection: Connection,
    log: String,
    snapshot: String,
    pin: String,
}

impl Session {
    /// Makes the log, with the entry that marks its beginning. Nobody trims it until `unpin`.
    pub fn create_log(&mut self) -> RedisResult<()> {
        cmd("SET").arg(&self.pin).arg("").exec(&mut self.connection)?;
        let mut command = cmd("XADD");
        command.arg(&self.log).arg(Position::BEGINNING).arg("begin").arg("");
        command.exec(&mut self.connection)
    }

    pub fn unpin(&mut self) -> RedisResult<()> {
        cmd("DEL").arg(&self.pin).exec(&mut self.connection)
    }

    pub fn delete_all(&mut self) -> RedisResult<()> {
        cmd("DEL").arg(&[&self.log, &self.snapshot, &self.pin]).exec(&mut self.connection)
    }

    /// Appends changes to the log, in this order; those of others may come in between.
    ///
    /// After an error some of them may be in the log nevertheless.
    pub fn append(&mut self, changes: &[Change]) -> RedisResult<Vec<Position>> {
        let mut pipeline = pipe();
        for &change in changes {
            let (field, item) = match change {
                Change::Add(item) => ("add", item),
                Change::Remove(item) => ("remove", item),
            };
            pipeline.cmd("XADD").arg(&self.log).arg("*").arg(field).arg(item);
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
        let mut pipeline = pipe();
        pipeline.cmd("XREAD").arg("COUNT").arg(ENTRIES_PER_READ).arg("BLOCK").arg(BLOCK_MS);
        pipeline.arg("STREAMS").arg(&self.log).arg(after);
        pipeline.cmd("XRANGE").arg(&self.log).arg("-").arg("+").arg("COUNT").arg(1);
        let (new, oldest): (Streams, Entries<Value>) = pipeline.query(&mut self.connection)?;
        Ok(Read {
            oldest: oldest.first().map(|(position, _)| *position),
            entries: new.into_iter().flatten().flat_map(|(_, entries)| entries).collect(),
        })
    }

    pub fn newest_snapshot(&mut self) -> RedisResult<Option<StoredSnapshot>> {
        // One command, so that the image and its position are of one snapshot.
        let fields: (Option<Position>, Option<u64>, Option<Vec<u8>>) = cmd("HMGET")
            .arg(&self.snapshot)
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
        let Self { connection, log, snapshot: key, pin } = self;
        redis::transaction(connection, &[&*key, &*pin], |connection, pipeline| {
            let stored: Option<Position> =
                cmd("HGET").arg(&*key).arg("position").query(connection)?;
            if stored.is_some_and(|stored| stored >= snapshot.position) {
                return Ok(Some(false));
            }
            let pinned: bool = cmd("EXISTS").arg(&*pin).query(connection)?;
            pipeline.cmd("HSET").arg(&*key).arg("position").arg(snapshot.position);
            pipeline.arg("entries").arg(snapshot.entries).arg("image").arg(&snapshot.image);
            if let (Some(stored), false) = (stored, pinned) {
                // "~" lets the engine keep some entries more, which is faster. But then it also stops
                // after some thousand entries, unless the limit is 0.
                pipeline.cmd("XTRIM").arg(&*log).arg("MINID").arg("~").arg(stored);
                pipeline.arg("LIMIT").arg(0);
            }
            // Nothing where another node stored one in the meantime: then it looks again.
            let replies: Option<Vec<u64>> = pipeline.query(connection)?;
            Ok(replies.map(|_| true))
        })
    }

    /// How many entries the log has.
    pub fn log_entries(&mut self) -> RedisResult<u64> {
        cmd("XLEN").arg(&self.log).query(&mut self.connection)
    }
}
