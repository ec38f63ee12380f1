//! What a node and those who ask it send each other.
//!
//! A request is a number `n` of items, 4 bytes, and the items, 8 bytes each; the answer is two
//! positions, 8 bytes each, and `n` bytes, 1 for each item that was found. The number 0 asks for
//! the status instead: its figures, 8 bytes each. All numbers are little-endian.

use std::io::{self, BufReader, BufWriter, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::engine::Position;

/// The most items of one request.
pub const MAX_ITEMS: usize = 1 << 16;

/// A node that does not answer for so long is broken, and not busy.
const TIMEOUT: Duration = Duration::from_secs(60);

/// The answers to a request, which hold for the set as it was at some positions of the log.
#[derive(Default)]
pub struct Answers {
    /// All entries up to here were applied before the first lookup.
    pub before: Position,
    /// No entry beyond this one was begun when the last lookup was done.
    pub after: Position,
    pub found: Vec<bool>,
}

/// What a node says about itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Status {
    pub position: Position,
    /// How many entries of the log its filter has in it.
    pub entries: u64,
    /// How many items its filter holds.
    pub items: u64,
    /// Removals of items that were not there.
    pub unknown_removals: u64,
    /// How many entries the snapshot had in it that the filter was loaded from; 0 without one.
    pub loaded_entries: u64,
    /// From the arrival of the last applied entry in the log until it was applied.
    pub delay_ms: u64,
    /// The longest such delay since the last time somebody asked.
    pub max_delay_ms: u64,
    pub snapshots_stored: u64,
    /// The expected false-positive rate of its filter.
    pub rate: f64,
}

impl Status {
    const FIGURES: usize = 9;

    fn to_figures(self) -> [u64; Self::FIGURES] {
        [
            self.position.to_bits(),
            self.entries,
            self.items,
            self.unknown_removals,
            self.loaded_entries,
            self.delay_ms,
            self.max_delay_ms,
            self.snapshots_stored,
            self.rate.to_bits(),
        ]
    }

    fn from_figures(figures: [u64; Self::FIGURES]) -> Self {
        let [
            position,
            entries,
            items,
            unknown_removals,
            loaded_entries,
            delay_ms,
            max_delay_ms,
            snapshots_stored,
            rate,
        ] = figures;
        Self {
            position: Position::from_bits(position),
            entries,
            items,
            unknown_removals,
            loaded_entries,
            delay_ms,
            max_delay_ms,
            snapshots_stored,
            rate: f64::from_bits(rate),
        }
    }
}

/// One end of a connection between a node and somebody who asks it.
pub struct Wire {
    from: BufReader<TcpStream>,
    to: BufWriter<TcpStream>,
}

impl Wire {
    pub fn new(stream: TcpStream) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let to = BufWriter::new(stream.try_clone()?);
        Ok(Self { from: BufReader::new(stream), to })
    }

    pub fn connect(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        Self::new(stream)
    }

    fn number(&mut self) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.from.read_exact(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Asks for items, [`MAX_ITEMS`] at the most.
    pub fn look_up(&mut self, items: &[u64]) -> io::Result<Answers> {
        if items.is_empty() {
            return Ok(Answers::default());
        }
        self.to.write_all(&(items.len() as u32).to_le_bytes())?;
        for item in items {
            self.to.write_all(&item.to_le_bytes())?;
        }
        self.to.flush()?;
        let [before, after] = [self.number()?, self.number()?].map(Position::from_bits);
        let mut found = vec![0; items.len()];
        self.from.read_exact(&mut found)?;
        Ok(Answers { before, after, found: found.into_iter().map(|byte| byte == 1).collect() })
    }

    pub fn status(&mut self) -> io::Result<Status> {
        self.to.write_all(&0_u32.to_le_bytes())?;
        self.to.flush()?;
        let mut figures = [0; Status::FIGURES];
        for figure in &mut figures {
            *figure = self.number()?;
        }
        Ok(Status::from_figures(figures))
    }

    /// The items of the next request, none if it is for the status; `None` at the end.
    pub fn next_request(&mut self, items: &mut Vec<u64>) -> io::Result<Option<()>> {
        items.clear();
        let mut count = [0; 4];
        match self.from.read_exact(&mut count) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
            result => result?,
        }
        let count = u32::from_le_bytes(count) as usize;
        if count > MAX_ITEMS {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "too many items"));
        }
        for _ in 0..count {
            items.push(self.number()?);
        }
        Ok(Some(()))
    }

    pub fn answer(&mut self, answers: &Answers) -> io::Result<()> {
        for position in [answers.before, answers.after] {
            self.to.write_all(&position.to_bits().to_le_bytes())?;
        }
        for &found in &answers.found {
            self.to.write_all(&[u8::from(found)])?;
        }
        self.to.flush()
    }

    pub fn answer_status(&mut self, status: Status) -> io::Result<()> {
        for figure in status.to_figures() {
            self.to.write_all(&figure.to_le_bytes())?;
        }
        self.to.flush()
    }
}
