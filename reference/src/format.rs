//! A reader of snapshots, and where an item belongs in a table: docs/format.md, written down again. It
//! shares no code with the crate.

use std::collections::BTreeMap;
use std::iter;
use std::sync::OnceLock;

use coucal::Error;
use xxhash_rust::xxh3::xxh3_64;

use crate::layouts::Layout;

pub const HEADER: usize = 120;

/// Bytes of an entry in the stash, and of the generations.
pub const PAIR: usize = 16;

/// Bytes of a value with the numbers of copies and of entries that are doubled.
pub const COUNTED: usize = 24;

/// Where the fields of a header begin that mutations change.
pub mod at {
    pub const VERSION: usize = 8;
    pub const KIND: usize = 12;
    pub const ENCODING: usize = 13;
    pub const BITS: usize = 14;
    pub const SLOTS: usize = 15;
    pub const FIRST: usize = 16;
    pub const WORDS: usize = 24;
    pub const MAX_BUCKETS: usize = 32;
    pub const OCCUPIED: usize = 40;
    pub const DOUBLED: usize = 48;
    pub const CAPACITY: usize = 56;
    pub const MAX_CAPACITY: usize = 64;
    pub const VALUE_BITS: usize = 72;
    pub const TARGET_LOAD: usize = 76;
    pub const HASHER: usize = 80;
    pub const STASHED: usize = 88;
    pub const COPIES: usize = 96;
    pub const DOUBLED_VALUES: usize = 104;
    pub const CHECKSUM: usize = 112;
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// An error of reading, as `coucal::Error` names it. No other crate can make an `Error` with fields, since fields may be
/// added to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadError {
    Truncated,
    NotASnapshot,
    UnknownVersion {
        version: u32,
    },
    UnknownKind {
        kind: u8,
    },
    UnknownLayout {
        encoding: u8,
        fingerprint_bits: u8,
        slots: u8,
    },
    Damaged,
    ImpossibleTable {
        words: u64,
    },
    InvalidWord {
        bucket: usize,
    },
    InvalidEntry {
        entry: usize,
    },
    WrongLen {
        stated: usize,
        found: usize,
    },
    TrailingBytes {
        bytes: usize,
    },
    /// An error that this reader does not return.
    Other(Error),
}

impl From<Error> for ReadError {
    fn from(error: Error) -> Self {
        match error {
            Error::Truncated => Self::Truncated,
            Error::NotASnapshot => Self::NotASnapshot,
            Error::UnknownVersion { version, .. } => Self::UnknownVersion { version },
            Error::UnknownKind { kind, .. } => Self::UnknownKind { kind },
            Error::UnknownLayout { encoding, fingerprint_bits, slots, .. } => {
                Self::UnknownLayout { encoding, fingerprint_bits, slots }
            }
            Error::Damaged => Self::Damaged,
            Error::ImpossibleTable { words, .. } => Self::ImpossibleTable { words },
            Error::InvalidWord { bucket, .. } => Self::InvalidWord { bucket },
            Error::InvalidEntry { entry, .. } => Self::InvalidEntry { entry },
            Error::WrongLen { stated, found, .. } => Self::WrongLen { stated, found },
            Error::TrailingBytes { bytes, .. } => Self::TrailingBytes { bytes },
            error => Self::Other(error),
        }
    }
}

/// What all entries of an item have in common: the fingerprint or the core, and of the even one of its positions
/// the bits that every entry knows.
pub type Class = (u64, u64);

/// The uppermost bits of a slot of a maplet; 0 in a filter.
pub type Value = u32;

/// How many of the lowest bits of the even position are known, and these bits. All 64 in a table of fixed size, in
/// which the position is the bucket.
pub type Prefix = (u32, u64);

/// What a slot holds. In this order, so that the entries of a class, or those of a class with one value,
/// are side by side, the longest last.
pub type Entry = (Class, Value, Prefix);

/// Whether an entry that knows this of its position is one of an item of which at least as much is known.
pub fn is_of((known, position): Prefix, (_, item): Prefix) -> bool {
    lowest(position ^ item, known) == 0
}

/// Whether two entries agree in all bits that both know, so that both may stand for one item.
pub fn may_be_one(one @ (known, _): Prefix, (other_known, position): Prefix) -> bool {
    is_of((known.min(other_known), position), one)
}

/// The lowest bits of a number; `bits` is not 0.
pub fn lowest(number: u64, bits: u32) -> u64 {
    number & (u64::MAX >> (64 - bits))
}

/// How a table places its items.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub grows: bool,
    pub layout: Layout,
    /// 0 in a filter.
    pub value_bits: u32,
    /// The buckets that it began with.
    pub first: u64,
}

impl Geometry {
    pub fn is_maplet(&self) -> bool {
        self.value_bits > 0
    }

    /// Slots of a bucket.
    pub fn slots(&self) -> usize {
        self.layout.slots
    }

    /// Bits of a slot below its value.
    fn key_bits(&self) -> u32 {
        self.layout.bits - self.value_bits
    }

    /// Bits that a new entry of a growing table knows beyond those of the level.
    fn extra_bits(&self) -> u32 {
        self.layout.extra_bits(self.value_bits)
    }

    /// Bits of a ring; 0 in a table of fixed size.
    fn ring(&self) -> u32 {
        if self.grows { self.extra_bits() + 1 } else { 0 }
    }

    /// The values that a core can have in a growing table, or a fingerprint in one of fixed size.
    pub fn cores(&self) -> u64 {
        (1 << (self.key_bits() - self.ring())) - 1
    }

    /// How many bits of its position every entry knows, also one that a merge has brought.
    pub fn common_bits(&self) -> u32 {
        if self.grows { self.first.ilog2().min(5) + self.extra_bits() } else { 64 }
    }

    /// How many bits of its position an entry knows that is inserted in a table of this number of slots.
    pub fn known_at(&self, slots: usize) -> u32 {
        if self.grows { (slots / self.slots()).ilog2() + self.extra_bits() } else { 64 }
    }

    /// Fingerprint or core of the item with this hash, and its first position.
    pub fn placed(&self, hash: u64) -> (u64, u64) {
        let product = u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN);
        let mixed = product as u64 ^ (product >> 64) as u64;
        let drawn = |source: u64| 1 + high(source, self.cores());
        if self.grows {
            return (drawn(product as u64), mixed);
        }
        let bits = self.key_bits();
        let fingerprint = if self.is_maplet() {
            drawn(mixed << (u64::BITS - bits - 8))
        } else {
            (mixed % (1 << bits)).max(1)
        };
        (fingerprint, high(mixed, self.first))
    }

    /// The other position of an item with this core, as far as `known` bits tell it.
    fn other(&self, core: u64, position: u64, known: u32) -> u64 {
        if self.grows {
            let difference = core.wrapping_mul(GOLDEN).rotate_left(32) | 1;
            return lowest(position ^ difference, known);
        }
        let spread = core.wrapping_mul(GOLDEN).wrapping_mul(core);
        let buckets = u128::from(self.first);
        let sum = u128::from(high(spread, self.first) | 1) + buckets;
        ((sum - u128::from(position)) % buckets) as u64
    }

    /// The entry with this core of which this is known of one of its positions.
    fn entry(&self, core: u64, value: Value, (known, position): Prefix) -> Entry {
        let is_even = position.is_multiple_of(2);
        let even = if is_even { position } else { self.other(core, position, known) };
        ((core, lowest(even, self.common_bits())), value, (known, even))
    }

    /// The item with this hash, and in a maplet with this value, as the table sees it.
    pub fn item(&self, hash: u64, value: Value) -> Entry {
        let (core, position) = self.placed(hash);
        self.entry(core, value, (64, position))
    }

    /// What all entries of an item have in common.
    pub fn class(&self, hash: u64) -> Class {
        self.item(hash, 0).0
    }

    /// The two buckets of an item, the even one first, in a table of this number of slots.
    pub fn buckets(&self, hash: u64, slots: usize) -> [u64; 2] {
        let ((core, _), _, (_, even)) = self.item(hash, 0);
        let buckets = (slots / self.slots()) as u64;
        [even, self.other(core, even, 64)].map(|position| {
            let level = buckets.ilog2();
            let split = lowest(position, level + 1);
            if !self.grows {
                position
            } else if split < buckets {
                split
            } else {
                lowest(position, level)
            }
        })
    }

    /// An entry of the stash of a table with so many buckets; `None` if no table has it.
    fn read_stashed(&self, position: u64, rest: u64, buckets: u64) -> Option<Entry> {
        let (slot, known, copies) = (lowest(rest, 32), (rest >> 32 & 127) as u32, rest >> 39);
        let (value, core) =
            ((slot >> self.key_bits()), lowest(slot, self.key_bits()) >> self.ring());
        let in_range = if self.grows {
            (self.common_bits()..=44).contains(&known) && lowest(position, known) == position
        } else {
            known == 0 && position < buckets
        };
        let is_entry = core != 0
            && slot >> self.layout.bits == 0
            && lowest(slot, self.ring().max(1)) * u64::from(self.grows) == 0
            && position.is_multiple_of(2)
            && copies > 0;
        let known = if self.grows { known } else { 64 };
        (in_range && is_entry).then(|| self.entry(core, value as Value, (known, position)))
    }

    /// The entry that a slot in use holds, in the bucket with this number of so many; `None` if no table has it there.
    fn read_slot(&self, slot: u64, bucket: u64, buckets: u64) -> Option<Entry> {
        let (value, slot) = ((slot >> self.key_bits()) as Value, lowest(slot, self.key_bits()));
        let ring = self.ring();
        let core = slot >> ring;
        if core == 0 {
            return None;
        }
        if !self.grows {
            return Some(self.entry(core, value, (64, bucket)));
        }
        let level = buckets.ilog2();
        let is_split = bucket + (1 << level) < buckets || bucket >= 1 << level;
        let bits = (0..ring).map(|at| slot >> ((level + at) % ring) & 1);
        let turned: u64 = bits.zip(0..).map(|(bit, at)| bit << at).sum();
        let known = level + turned.checked_ilog2()?;
        let least = self.common_bits().max(level + u32::from(is_split));
        if known < least || is_split && turned % 2 == 1 {
            return None;
        }
        let untold = lowest(turned << level, known);
        Some(self.entry(core, value, (known, bucket | untold)))
    }
}

/// What a snapshot says.
pub struct Contents {
    pub geometry: Geometry,
    pub max_buckets: u64,
    pub words: u64,
    /// Slots in use.
    pub occupied: u64,
    /// Copies, in slots or in the stash, that are no items of their own.
    pub doubled: u64,
    /// How many values these have, and of each, how many copies and how many slots and entries of the stash.
    pub doubled_values: u64,
    pub doubled_of: BTreeMap<Value, [u64; 2]>,
    /// Entries in the stash, and their copies.
    pub stashed: u64,
    pub stashed_copies: u64,
    pub capacity: u64,
    pub max_capacity: u64,
    /// In thousandths; 0 in a table of fixed size.
    pub load: u32,
    /// How many copies there are of each entry that has any.
    pub copies: BTreeMap<Entry, usize>,
    /// Of an expiring filter.
    pub generations: Option<Generations>,
}

/// The generations of an expiring filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Generations {
    pub count: u32,
    /// That of the present one.
    pub stamp: Value,
    pub number: u64,
}

impl Generations {
    /// Of numbers that stand in a snapshot; `None` if no filter with so many bits of a value has them.
    fn read([count, clock]: [u64; 2], value_bits: u32) -> Option<Self> {
        let bits = (1..=8).find(|&bits| count <= 1 << bits)?;
        let (stamp, number) = (lowest(clock, 8) as Value, clock >> 8);
        let is_possible = count >= 2 && bits == value_bits && u64::from(stamp) < count;
        is_possible.then_some(Self { count: count as u32, stamp, number })
    }
}

impl Contents {
    /// The number of items.
    pub fn items(&self) -> u64 {
        self.occupied + self.stashed_copies - self.doubled
    }

    /// Slots in use and entries of the stash that are no items of their own.
    pub fn doubled_entries(&self) -> u64 {
        self.doubled_of.values().map(|[_, entries]| entries).sum()
    }

    /// Whether no split doubles an entry, up to the maximum: every entry knows as much as any bucket tells.
    pub fn is_exact(&self) -> bool {
        let first = self.geometry.known_at(self.geometry.first as usize * self.geometry.slots());
        let knows = |&(.., (known, _)): &Entry| known >= first;
        !self.geometry.grows
            || self.doubled == 0 && self.max_buckets <= 1 << first && self.copies.keys().all(knows)
    }

    /// The share of slots in use that a growing table keeps.
    pub fn target_load(&self) -> f64 {
        f64::from(self.load) / 1000.0
    }

    /// What the false-positive rate should be: for a maplet the mean number of candidates of an absent key.
    pub fn rate(&self) -> f64 {
        let geometry = self.geometry;
        if geometry.grows {
            let weight =
                |(&(.., (known, _)), &n): (&Entry, &usize)| n as f64 / f64::from(known).exp2();
            let weight: f64 = self.copies.iter().map(weight).sum();
            let matches = 2.0 * weight / geometry.cores() as f64;
            return if geometry.is_maplet() { matches } else { 1.0 - (-matches).exp() };
        }
        let values = f64::from(geometry.key_bits()).exp2();
        let compared = 2.0 * (self.occupied + self.stashed) as f64 / geometry.first as f64;
        if geometry.is_maplet() {
            return compared / (values - 1.0);
        }
        // 0 is counted as 1.
        1.0 - (1.0 - (values + 2.0) / (values * values)).powf(compared)
    }
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

pub fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
}

/// The hash of these bytes by a `StableHashBuilder` of this seed.
pub fn stable_hash(seed: u64, bytes: &[u8]) -> u64 {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(16), 0);
    let blocks = padded.chunks(16).map(|block| (number(block, 0), number(block, 8)));
    let blocks = iter::once((seed, 0)).chain(blocks).chain([(bytes.len() as u64, 0)]);
    let (x, y) = blocks.fold((0x85a3_08d3_243f_6a88, GOLDEN), |(x, y), (first, second)| {
        let (a, b) = (x ^ first, second.wrapping_add(y));
        (high(a, b).wrapping_add(a).wrapping_add(b), a.wrapping_mul(b) ^ a)
    });
    y.wrapping_add(x)
}

/// The hash of these bytes by a `KeyedHashBuilder` with this key: SipHash-1-3, as its authors describe it.
pub fn keyed_hash(key: [u8; 16], bytes: &[u8]) -> u64 {
    fn round([a, b, c, d]: [u64; 4]) -> [u64; 4] {
        let (a, c) = (a.wrapping_add(b), c.wrapping_add(d));
        let (b, d) = (b.rotate_left(13) ^ a, d.rotate_left(16) ^ c);
        let (a, c) = (a.rotate_left(32).wrapping_add(d), c.wrapping_add(b));
        [a, b.rotate_left(17) ^ c, c.rotate_left(32), d.rotate_left(21) ^ a]
    }
    let (first, second) = (number(&key, 0), number(&key, 8));
    let start = *b"uespemosmodnarodarenegylsetybdet";
    let [a, b, c, d] = [0, 8, 16, 24].map(|at| number(&start, at));
    let start = [a ^ first, b ^ second, c ^ first, d ^ second];
    // The last word has the length in its highest byte.
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len() / 8 * 8 + 7, 0);
    padded.push(bytes.len() as u8);
    let [a, b, c, d] = padded.chunks(8).fold(start, |[a, b, c, d], word| {
        let word = number(word, 0);
        let [a, b, c, d] = round([a, b, c, d ^ word]);
        [a ^ word, b, c, d]
    });
    round(round(round([a, b, c ^ 0xff, d]))).into_iter().fold(0, |hash, word| hash ^ word)
}

/// Makes the checksum of the header right, and that of the whole, which is in the last 8 bytes.
pub fn seal(bytes: &mut [u8]) {
    if bytes.len() >= HEADER {
        let checksum = xxh3_64(&bytes[..at::CHECKSUM]);
        bytes[at::CHECKSUM..HEADER].copy_from_slice(&checksum.to_le_bytes());
    }
    if bytes.len() >= HEADER + 8 {
        let end = bytes.len() - 8;
        let checksum = xxh3_64(&bytes[..end]);
        bytes[end..].copy_from_slice(&checksum.to_le_bytes());
    }
}

pub fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// These bytes with a change, and with both checksums as they should be then.
pub fn forged(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    change(&mut bytes);
    seal(&mut bytes);
    bytes
}

/// An entry of the stash has no more copies.
const MOST_COPIES: u128 = (1 << 25) - 1;

/// No table has more slots.
pub const MOST_SLOTS: u64 = (1 << 44) - (1 << 21);

/// The number of buckets of a table of fixed size that holds `items`; `None` if they are too many.
pub fn size(items: u64, Layout { slots, scatter, load, .. }: Layout) -> Option<u64> {
    let pair = 2 * slots as u64;
    if items <= pair {
        return Some(2);
    }
    let n = items as f64;
    let pairs = ((n / load + scatter * n.sqrt()) / slots as f64 / 2.0).ceil();
    (pairs <= (MOST_SLOTS / pair) as f64).then_some(2 * pairs as u64)
}

/// A number of a kind with this bit is that of a table of fixed size with more buckets than follow from its capacity.
pub const ROOMY: u8 = 8;

/// What a header says of a table; `None` if no table has these sizes.
fn contents(header: &[u8], kind: u8, grows: bool, layout: Layout) -> Option<Contents> {
    let is_roomy = kind & ROOMY > 0;
    let (is_maplet, expires) = (kind % ROOMY >= 2, kind % ROOMY >= 4);
    let field = |at| number(header, at);
    let [first, words, max_buckets] = [at::FIRST, at::WORDS, at::MAX_BUCKETS].map(field);
    let [occupied, doubled, doubled_values] =
        [at::OCCUPIED, at::DOUBLED, at::DOUBLED_VALUES].map(field);
    let [capacity, max_capacity] = [at::CAPACITY, at::MAX_CAPACITY].map(field);
    let [stashed, stashed_copies] = [at::STASHED, at::COPIES].map(field);
    let [value_bits, load] = [at::VALUE_BITS, at::TARGET_LOAD].map(|at| field(at) as u32);
    let values = if is_maplet { 1..=layout.longest_values() } else { 0..=0 };
    let slots = layout.slots as u64;
    let sizes = if grows {
        let holds = |buckets: u64| (buckets * slots) as f64 * (f64::from(load) / 1000.0);
        (500..=layout.highest_target(is_maplet)).contains(&load)
            && (2..=words).contains(&first)
            && words <= max_buckets
            && max_buckets <= MOST_SLOTS / slots
            && capacity <= max_capacity
            && capacity as f64 <= holds(first)
            && max_capacity as f64 <= holds(max_buckets)
    } else {
        let buckets = size(capacity, layout)?;
        let has_size = if is_roomy {
            words > buckets && words <= (4 * buckets).min(MOST_SLOTS / slots) && words % 2 == 0
        } else {
            words == buckets
        };
        has_size
            && [first, max_buckets] == [words; 2]
            && max_capacity == capacity
            && load == 0
            && doubled == 0
    };
    let is_possible = values.contains(&value_bits)
        && (!expires || value_bits <= 8)
        && sizes
        && occupied <= words * slots
        && stashed <= words * slots
        && (u128::from(stashed)..=u128::from(stashed) * MOST_COPIES)
            .contains(&stashed_copies.into())
        && doubled <= occupied.saturating_add(stashed_copies)
        && doubled_values <= doubled.min(1 << value_bits.min(63));
    is_possible.then(|| Contents {
        geometry: Geometry { grows, layout, value_bits, first },
        max_buckets,
        words,
        occupied,
        doubled,
        doubled_values,
        doubled_of: BTreeMap::new(),
        stashed,
        stashed_copies,
        capacity,
        max_capacity,
        load,
        copies: BTreeMap::new(),
        generations: None,
    })
}

/// All that the bytes of a snapshot say, or what is wrong first.
pub fn read(bytes: &[u8]) -> Result<Contents, ReadError> {
    if bytes[..bytes.len().min(8)] != b"\x89coucal\n"[..bytes.len().min(8)] {
        return Err(ReadError::NotASnapshot);
    }
    // Of another version, the header may be shorter.
    if let Some(version) = bytes.get(at::VERSION..).and_then(<[u8]>::first_chunk)
        && *version != [1, 0, 0, 0]
    {
        return Err(ReadError::UnknownVersion { version: u32::from_le_bytes(*version) });
    }
    let header = bytes.get(..HEADER).ok_or(ReadError::Truncated)?;
    if number(header, at::CHECKSUM) != xxh3_64(&header[..at::CHECKSUM]) {
        return Err(ReadError::Damaged);
    }
    let kind = header[at::KIND];
    if kind > 5 && ![ROOMY, ROOMY + 2].contains(&kind) {
        return Err(ReadError::UnknownKind { kind });
    }
    let (grows, expires) = (kind % 2 == 1, kind % ROOMY >= 4);
    let shape @ [encoding, fingerprint_bits, slots] =
        [header[at::ENCODING], header[at::BITS], header[at::SLOTS]];
    let layout = Layout::of_shape(shape).filter(|layout| !grows || layout.grows());
    let layout = layout.ok_or(ReadError::UnknownLayout { encoding, fingerprint_bits, slots })?;
    let words = number(header, at::WORDS);
    let mut contents =
        contents(header, kind, grows, layout).ok_or(ReadError::ImpossibleTable { words })?;
    let end_of_words = usize::try_from(words).expect("64 bits") * 8 + HEADER;
    let bytes_of = |number, each| usize::try_from(number).expect("64 bits").saturating_mul(each);
    let end_of_stash = end_of_words + bytes_of(contents.stashed, PAIR);
    let end_of_doubled = end_of_stash.saturating_add(bytes_of(contents.doubled_values, COUNTED));
    let end = end_of_doubled.saturating_add(if expires { PAIR } else { 0 });
    if bytes.len() < end.saturating_add(8) {
        return Err(ReadError::Truncated);
    }
    if number(bytes, end) != xxh3_64(&bytes[..end]) {
        return Err(ReadError::Damaged);
    }
    let mut values_end = 1 << contents.geometry.value_bits;
    if expires {
        let numbers = [0, 8].map(|at| number(bytes, end_of_doubled + at));
        let generations = Generations::read(numbers, contents.geometry.value_bits);
        let at = contents.stashed as usize + contents.doubled_values as usize;
        values_end = generations.ok_or(ReadError::InvalidEntry { entry: at })?.count;
        contents.generations = generations;
    }
    let has_value = |&(_, value, _): &Entry| value < values_end;
    let mut found = 0;
    for (bucket, word) in bytes[HEADER..end_of_words].chunks(8).enumerate() {
        let invalid = || ReadError::InvalidWord { bucket };
        for slot in fingerprints(number(word, 0), layout).ok_or_else(invalid)? {
            let entry = contents.geometry.read_slot(slot, bucket as u64, words);
            let entry = entry.filter(has_value).ok_or_else(invalid)?;
            *contents.copies.entry(entry).or_default() += 1;
            found += 1;
        }
    }
    let mut stashed_copies = 0;
    let mut last = None;
    for (at, entry) in bytes[end_of_words..end_of_stash].chunks(PAIR).enumerate() {
        let [position, rest] = [0, 8].map(|at| number(entry, at));
        let order = (lowest(rest, 39) >> 32, position, lowest(rest, 32));
        let read = contents.geometry.read_stashed(position, rest, words);
        let read = read.filter(has_value).filter(|_| last < Some(order));
        let entry = read.ok_or(ReadError::InvalidEntry { entry: at })?;
        *contents.copies.entry(entry).or_default() += (rest >> 39) as usize;
        stashed_copies += rest >> 39;
        last = Some(order);
    }
    let mut last = None;
    let (mut doubled, mut entries) = (0_u64, 0_u64);
    for (at, counted) in bytes[end_of_stash..end_of_doubled].chunks(COUNTED).enumerate() {
        let [value, copies, its_entries] = [0, 8, 16].map(|at| number(counted, at));
        doubled = doubled.saturating_add(copies);
        entries = entries.saturating_add(its_entries);
        let is_new = last < Some(value) && value < values_end.into();
        let is_possible =
            copies > 0 && its_entries <= copies && entries <= contents.occupied + contents.stashed;
        if !(is_new && is_possible) {
            return Err(ReadError::InvalidEntry { entry: contents.stashed as usize + at });
        }
        contents.doubled_of.insert(value as Value, [copies, its_entries]);
        last = Some(value);
    }
    for (stated, found) in [
        (contents.occupied, found),
        (contents.stashed_copies, stashed_copies),
        (contents.doubled, doubled),
    ] {
        if stated != found {
            return Err(ReadError::WrongLen { stated: stated as usize, found: found as usize });
        }
    }
    if bytes.len() > end + 8 {
        return Err(ReadError::TrailingBytes { bytes: bytes.len() - end - 8 });
    }
    Ok(contents)
}

/// The slots in use of a word; `None` if the layout does not have this word.
fn fingerprints(word: u64, layout: Layout) -> Option<Vec<u64>> {
    let (bits, slots) = (layout.bits, layout.slots as u32);
    let is_packed = layout.encoding == 0;
    let side_by_side = if is_packed { bits } else { bits - 4 };
    let above = word.checked_shr(side_by_side * slots).unwrap_or(0);
    let nibbles = if is_packed { None } else { Some(multisets(slots)[above as usize].as_ref()?) };
    let slot = |at| {
        let nibble = nibbles.map_or(0, |nibbles| nibbles[at as usize]);
        nibble << (bits - 4) | lowest(word >> (side_by_side * at), side_by_side)
    };
    let all: Vec<u64> = (0..slots).map(slot).collect();
    let used: Vec<u64> = all.iter().copied().filter(|&slot| slot != 0).collect();
    // Those in use come first; or all are in ascending order.
    let is_valid = if is_packed { above == 0 && all.starts_with(&used) } else { all.is_sorted() };
    is_valid.then_some(used)
}

/// The word of a bucket with one slot in use.
pub fn one_slot(slot: u64, layout: Layout) -> u64 {
    if layout.encoding == 0 {
        return slot;
    }
    let (rest_bits, others) = (layout.bits - 4, layout.slots as u32 - 1);
    // The others are 0, and come first.
    let mut nibbles = vec![0; layout.slots];
    nibbles[layout.slots - 1] = slot >> rest_bits;
    let of_these = |of: &Option<Vec<u64>>| of.as_ref() == Some(&nibbles);
    let number = multisets(others + 1).iter().position(of_these).expect("ascending nibbles");
    (number as u64) << (rest_bits * (others + 1)) | lowest(slot, rest_bits) << (rest_bits * others)
}

/// The ascending nibbles that each number of a semi-sorted word stands for.
fn multisets(slots: u32) -> &'static [Option<Vec<u64>>] {
    static ALL: [OnceLock<Vec<Option<Vec<u64>>>>; 2] = [const { OnceLock::new() }; 2];
    ALL[slots as usize - 4].get_or_init(|| {
        let mut all = vec![Some(Vec::new())];
        for slot in 0..slots {
            let mut longer = Vec::new();
            for last in 0..16 {
                if slot == 4 {
                    longer.resize(longer.len().next_multiple_of(64), None);
                }
                let below = all.iter().flatten().filter(|below| below.last() <= Some(&last));
                longer.extend(below.map(|below| Some([&below[..], &[last]].concat())));
            }
            all = longer;
        }
        all.resize(1 << (4 + 2 * slots), None);
        all
    })
}
