//! A reader of snapshots, and where an item belongs in a table: docs/format.md, written down again. It
//! shares no code with the crate.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use coucal::RestoreError;
use xxhash_rust::xxh3::xxh3_64;

use crate::layouts::Layout;

pub const HEADER: usize = 96;

/// Where the fields of a header begin that mutations change.
pub mod at {
    pub const VERSION: usize = 8;
    pub const KIND: usize = 12;
    pub const ENCODING: usize = 13;
    pub const BITS: usize = 14;
    pub const SLOTS: usize = 15;
    pub const ROWS: usize = 16;
    pub const LEVEL: usize = 24;
    pub const VALUE_BITS: usize = 26;
    pub const TARGET_LOAD: usize = 28;
    pub const CURSOR: usize = 32;
    pub const MAX_BUCKETS: usize = 40;
    pub const WORDS: usize = 48;
    pub const ITEMS: usize = 56;
    pub const CAPACITY: usize = 64;
    pub const MAX_CAPACITY: usize = 72;
    pub const HASHER: usize = 80;
    pub const CHECKSUM: usize = 88;
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// What a table never forgets of an item: the fingerprint or the core, the lower and the higher of its
/// rows, and in a growing table the chain for the lower row.
pub type Class = (u64, u64, u64, u64);

/// The uppermost bits of a slot of a maplet; 0 in a filter.
pub type Value = u32;

/// The extra bits below a 1; 1 in a table of fixed size.
pub type Extra = u64;

/// What a slot holds. In this order, so that the entries of a class, or those of a class with one value,
/// are side by side, the longest last.
pub type Entry = (Class, Value, Extra);

/// A chain and how many bits it has; `None` in a table of fixed size.
type Chain = Option<(u64, u32)>;

/// Whether an entry with these extra bits is of an item with all of its own.
pub fn is_of(entry: Extra, item: Extra) -> bool {
    let mask = (1 << entry.ilog2()) - 1;
    entry & mask == item & mask
}

/// Why bytes are no snapshot: the kinds of [`RestoreError`], and what they say.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    Truncated,
    NotASnapshot,
    UnknownVersion(u32),
    OldGrowable,
    UnknownKind(u8),
    UnknownLayout([u8; 3]),
    Damaged,
    ImpossibleTable(u64),
    InvalidWord(usize),
    WrongLen { stated: usize, found: usize },
    TrailingBytes(usize),
}

impl Fault {
    /// The fault that an error of the crate names.
    pub fn of(error: &RestoreError) -> Self {
        assert!(error.to_string().len() > 20, "{error:?} says too little");
        match *error {
            RestoreError::Truncated => Self::Truncated,
            RestoreError::NotASnapshot => Self::NotASnapshot,
            RestoreError::UnknownVersion { version } => Self::UnknownVersion(version),
            RestoreError::OldGrowable => Self::OldGrowable,
            RestoreError::UnknownKind { kind } => Self::UnknownKind(kind),
            RestoreError::UnknownLayout { encoding, fingerprint_bits, slots } => {
                Self::UnknownLayout([encoding, fingerprint_bits, slots])
            }
            RestoreError::Damaged => Self::Damaged,
            RestoreError::ImpossibleTable { words } => Self::ImpossibleTable(words),
            RestoreError::InvalidWord { bucket } => Self::InvalidWord(bucket),
            RestoreError::WrongLen { stated, found } => Self::WrongLen { stated, found },
            RestoreError::TrailingBytes { bytes } => Self::TrailingBytes(bytes),
            _ => panic!("bytes in memory, and no hasher: {error}"),
        }
    }
}

/// How a table places its items.
#[derive(Clone, Copy, Debug)]
pub struct Geometry {
    pub grows: bool,
    /// Encoding, bits of a slot, and slots of a bucket.
    pub shape: [u8; 3],
    /// 0 in a filter.
    pub value_bits: u32,
    pub rows: u64,
}

impl Geometry {
    pub fn is_maplet(&self) -> bool {
        self.value_bits > 0
    }

    /// Slots of a bucket.
    pub fn slots(&self) -> usize {
        self.shape[2].into()
    }

    /// Bits of a slot below its value.
    fn key_bits(&self) -> u32 {
        u32::from(self.shape[1]) - self.value_bits
    }

    /// How often the table can double.
    pub fn doublings(&self) -> u32 {
        doublings(self.shape, self.value_bits)
    }

    /// The values that a core can have in a growing table, or a fingerprint in one of fixed size.
    pub fn cores(&self) -> u64 {
        let others = if self.grows { self.doublings() + 1 } else { 0 };
        (1 << (self.key_bits() - others)) - 1
    }

    /// How often a table of this number of slots has doubled.
    pub fn level(&self, slots: usize) -> u32 {
        ((slots / self.slots()) as u64 / self.rows).ilog2()
    }

    /// The item with this hash, and in a maplet with this value, as the table sees it.
    pub fn item(&self, hash: u64, value: Value) -> Entry {
        let product = u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN);
        let mixed = product as u64 ^ (product >> 64) as u64;
        let (bits, row) = (self.key_bits(), high(mixed, self.rows));
        // A number of this many bits, but not 0.
        let drawn = |from: u64, source_bits: u32, bits: u32| {
            let source = u128::from(from % (1 << source_bits));
            1 + ((source * ((1 << bits) - 1)) >> source_bits) as u64
        };
        if !self.grows {
            let fingerprint = if self.is_maplet() {
                drawn(mixed, bits + 8, bits)
            } else {
                (mixed % (1 << bits)).max(1)
            };
            return (class_in(self.rows, row, fingerprint, None), value, 1);
        }
        let doublings = self.doublings();
        let core = drawn(mixed >> (doublings + 1), 16, bits - doublings - 1);
        let chain = (mixed >> 1) % (1 << doublings);
        let extra = mixed.wrapping_mul(GOLDEN) >> (64 - doublings);
        let class = class_in(self.rows, row, core, Some((chain, doublings)));
        (class, value, extra | 1 << doublings)
    }

    /// The two buckets of a class, in a table of this number of slots.
    pub fn buckets(&self, (core, low, high, chain): Class, slots: usize) -> [u64; 2] {
        if !self.grows {
            return [low, high];
        }
        let level = self.level(slots);
        let cursor = (slots / self.slots()) as u64 - (self.rows << level);
        let spread = core.wrapping_mul(GOLDEN).wrapping_mul(core);
        [(low, chain), (high, chain ^ ((spread >> 20) % (1 << self.doublings())))].map(
            |(row, chain)| {
                let bucket = chain % (1 << level) * self.rows + row;
                let is_split = bucket < cursor;
                if is_split { chain % (2 << level) * self.rows + row } else { bucket }
            },
        )
    }

    /// What the table never forgets of an item.
    pub fn class(&self, hash: u64) -> Class {
        self.item(hash, 0).0
    }
}

/// What a snapshot says.
pub struct Contents {
    pub geometry: Geometry,
    pub max_buckets: u64,
    pub words: u64,
    pub items: u64,
    pub capacity: u64,
    pub max_capacity: u64,
    /// In thousandths; 0 in a table of fixed size.
    pub load: u32,
    /// How many copies there are of each entry that has any.
    pub copies: BTreeMap<Entry, usize>,
}

impl Contents {
    /// The share of slots in use that a growing table keeps.
    pub fn target_load(&self) -> f64 {
        f64::from(self.load) / 1000.0
    }

    /// What the false-positive rate should be: for a maplet the mean number of candidates of an absent key.
    pub fn rate(&self) -> f64 {
        let geometry = self.geometry;
        let values = f64::from(geometry.key_bits()).exp2();
        let equal = if geometry.grows {
            1.0 / (geometry.cores() as f64 * f64::from(geometry.doublings()).exp2())
        } else if geometry.is_maplet() {
            1.0 / (values - 1.0)
        } else {
            // 0 is counted as 1.
            (values + 2.0) / (values * values)
        };
        let compared = 2.0 * self.weight() / geometry.rows as f64;
        if geometry.is_maplet() { compared * equal } else { 1.0 - (1.0 - equal).powf(compared) }
    }

    /// The number of entries, each with a extra bits counted as 2^-a.
    fn weight(&self) -> f64 {
        let of_entry =
            |(&(.., extra), &n): (&Entry, &usize)| n as f64 / f64::from(extra.ilog2()).exp2();
        self.copies.iter().map(of_entry).sum()
    }
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

/// How often a table can double.
fn doublings(shape: [u8; 3], value_bits: u32) -> u32 {
    Layout::of_shape(shape).expect("a layout that was read").doublings - value_bits
}

/// The chain is that for this row.
fn class_in(rows: u64, row: u64, core: u64, chain: Chain) -> Class {
    let spread = core.wrapping_mul(GOLDEN).wrapping_mul(core);
    let sum = u128::from(high(spread, rows) | 1) + u128::from(rows);
    let other = ((sum - u128::from(row)) % u128::from(rows)) as u64;
    let chain = chain.map_or(0, |(chain, bits)| {
        chain ^ if row < other { 0 } else { (spread >> 20) % (1 << bits) }
    });
    (core, row.min(other), row.max(other), chain)
}

pub fn number(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"))
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

/// The number of buckets of a table that holds `items`; `None` if they are too many.
fn size(items: u64, slots: u8, scatter: f64, load: f64) -> Option<u64> {
    let pair = 2 * u64::from(slots);
    if items <= pair {
        return Some(2);
    }
    let n = items as f64;
    let pairs = ((n / load + scatter * n.sqrt()) / f64::from(slots) / 2.0).ceil();
    if pairs > (4096 * ((1 << 32) - 9) / pair) as f64 {
        return None;
    }
    let mut choices = 1.0;
    for i in 0..=pair {
        choices *= (n - i as f64) / (i + 1) as f64;
    }
    let mut pairs = pairs as u64;
    while (0..2 * pair).fold(1.0, |power, _| power * pairs as f64) < 5e6 * choices {
        pairs += 1;
    }
    Some(2 * pairs)
}

/// What a header says of the table.
struct Sizes {
    rows: u64,
    level: u32,
    value_bits: u32,
    /// In thousandths.
    load: u32,
    cursor: u64,
}

/// `None` if no table has the sizes of this header.
fn sizes(bytes: &[u8], is_maplet: bool, grows: bool, shape: [u8; 3]) -> Option<Sizes> {
    let field = |at| number(bytes, at);
    let slots = shape[2];
    let layout = Layout::of_shape(shape)?;
    let (capacity, max_capacity) = (field(at::CAPACITY), field(at::MAX_CAPACITY));
    let [level, value_bits] = [at::LEVEL, at::VALUE_BITS].map(|at| field(at) as u32 % (1 << 16));
    let (load, cursor) = (field(at::TARGET_LOAD) as u32, field(at::CURSOR));
    let values = match (is_maplet, grows) {
        (false, _) => 0..=0,
        (true, false) => 1..=layout.longest_values(),
        (true, true) => 1..=layout.longest_values_that_grow(),
    };
    let loads = if grows { 500..=layout.highest_target } else { 0..=0 };
    if !values.contains(&value_bits) || !loads.contains(&load) {
        return None;
    }
    let share = if grows { f64::from(load) / 1000.0 } else { layout.load };
    let size = |items| size(items, slots, layout.scatter, share);
    let (mut rows, mut max_buckets) = (size(capacity)?, size(max_capacity)?);
    if grows {
        let least = max_buckets.div_ceil(1 << (layout.doublings - value_bits));
        rows = rows.max(least + least % 2).max(32);
        max_buckets = max_buckets.max(rows);
    }
    let capacities = if grows { capacity <= max_capacity } else { capacity == max_capacity };
    let words = field(at::WORDS);
    let stride = 1_u128.checked_shl(level)?.checked_mul(rows.into())?;
    (capacities
        && (field(at::ROWS), field(at::MAX_BUCKETS)) == (rows, max_buckets)
        && u128::from(cursor) < stride
        && stride.checked_add(cursor.into())? == words.into()
        && words <= max_buckets
        && u128::from(field(at::ITEMS)) <= u128::from(words) * u128::from(slots))
    .then_some(Sizes { rows, level, value_bits, load, cursor })
}

/// All that the bytes of a snapshot say, or what is wrong first.
pub fn read(bytes: &[u8]) -> Result<Contents, Fault> {
    let header = bytes.get(..HEADER).ok_or(Fault::Truncated)?;
    if header[..8] != [0x89, b'c', b'o', b'u', b'c', b'a', b'l', b'\n'] {
        return Err(Fault::NotASnapshot);
    }
    let version = number(header, at::VERSION) as u32;
    if !(1..=3).contains(&version) {
        return Err(Fault::UnknownVersion(version));
    }
    if number(header, at::CHECKSUM) != xxh3_64(&header[..at::CHECKSUM]) {
        return Err(Fault::Damaged);
    }
    let (is_maplet, grows) = match (header[at::KIND], version) {
        (0, 1) => (false, false),
        (1, 2) => (false, true),
        (1, 1) => return Err(Fault::OldGrowable),
        (2, 3) => (true, false),
        (3, 3) => (true, true),
        (0..=3, _) => return Err(Fault::UnknownVersion(version)),
        (kind, _) => return Err(Fault::UnknownKind(kind)),
    };
    let shape = [header[at::ENCODING], header[at::BITS], header[at::SLOTS]];
    if Layout::of_shape(shape).is_none_or(|layout| grows && !layout.grows()) {
        return Err(Fault::UnknownLayout(shape));
    }
    let words = number(header, at::WORDS);
    let Sizes { rows, level, value_bits, load, cursor } =
        sizes(header, is_maplet, grows, shape).ok_or(Fault::ImpossibleTable(words))?;
    let end = usize::try_from(words).expect("64 bits") * 8 + HEADER;
    if bytes.len() < end + 8 {
        return Err(Fault::Truncated);
    }
    if number(bytes, end) != xxh3_64(&bytes[..end]) {
        return Err(Fault::Damaged);
    }

    let mut copies: BTreeMap<Entry, usize> = BTreeMap::new();
    let key_bits = u32::from(shape[1]) - value_bits;
    let (mut found, stated) = (0, number(header, at::ITEMS));
    for (bucket, word) in bytes[HEADER..end].chunks(8).enumerate() {
        let invalid = Fault::InvalidWord(bucket);
        let Some(slots) = fingerprints(number(word, 0), shape) else { return Err(invalid) };
        let (bucket, row) = (bucket as u64, bucket as u64 % rows);
        for slot in slots {
            let (value, slot) = ((slot >> key_bits) as Value, slot % (1 << key_bits));
            let entry = if grows {
                let is_split = bucket < cursor || bucket >= rows << level;
                let doublings = doublings(shape, value_bits);
                entry(slot, [level, level + u32::from(is_split), doublings], bucket / rows)
            } else {
                (slot != 0).then_some((slot, None, 1))
            };
            let Some((core, chain, extra)) = entry else { return Err(invalid) };
            found += 1;
            let class = class_in(rows, row, core, chain);
            *copies.entry((class, value, extra)).or_default() += 1;
        }
    }
    if found as u64 != stated {
        return Err(Fault::WrongLen { stated: stated as usize, found });
    }
    if bytes.len() > end + 8 {
        return Err(Fault::TrailingBytes(bytes.len() - end - 8));
    }
    Ok(Contents {
        geometry: Geometry { grows, shape, value_bits, rows },
        max_buckets: number(header, at::MAX_BUCKETS),
        words,
        items: stated,
        capacity: number(header, at::CAPACITY),
        max_capacity: number(header, at::MAX_CAPACITY),
        load,
        copies,
    })
}

/// Core, chain and extra bits of a slot without its value, in the bucket with the number `share` in its
/// row, which tells this number of bits of the chain; `None` if no slot of the bucket holds this.
fn entry(slot: u64, [level, told, doublings]: [u32; 3], share: u64) -> Option<(u64, Chain, Extra)> {
    let core = slot >> (doublings + 1);
    let extra = slot % (2 << level);
    let untold = slot % (2 << doublings);
    let in_place_of_told = (level + 1..=told).any(|bit| slot >> bit & 1 == 1);
    if core == 0 || extra == 0 || in_place_of_told {
        return None;
    }
    let chain = untold >> (told + 1) << told | share;
    Some((core, Some((chain, doublings)), extra))
}

/// The slots in use of a word; `None` if the layout does not have this word.
fn fingerprints(word: u64, [encoding, bits, slots]: [u8; 3]) -> Option<Vec<u64>> {
    let (bits, slots) = (u32::from(bits), u32::from(slots));
    if encoding == 0 {
        let mut fingerprints = Vec::new();
        let mut rest = word;
        for _ in 0..slots {
            if rest == 0 {
                break;
            }
            fingerprints.push(rest % (1 << bits));
            rest = rest.checked_shr(bits).unwrap_or(0);
        }
        return (rest == 0 && !fingerprints.contains(&0)).then_some(fingerprints);
    }
    let rest_bits = bits - 4;
    let nibbles = multisets(slots)[(word >> (rest_bits * slots)) as usize].as_ref()?;
    let all: Vec<u64> = (0..slots)
        .zip(nibbles)
        .map(|(slot, nibble)| {
            nibble << rest_bits | word >> (rest_bits * slot) & ((1 << rest_bits) - 1)
        })
        .collect();
    all.is_sorted().then(|| all.into_iter().filter(|&f| f != 0).collect())
}

/// The ascending nibbles that each number of a semi-sorted word stands for.
fn multisets(slots: u32) -> &'static [Option<Vec<u64>>] {
    static OF_FOUR: OnceLock<Vec<Option<Vec<u64>>>> = OnceLock::new();
    static OF_FIVE: OnceLock<Vec<Option<Vec<u64>>>> = OnceLock::new();
    let fours = OF_FOUR.get_or_init(|| {
        let mut all = Vec::new();
        for d in 0..16 {
            for c in 0..=d {
                for b in 0..=c {
                    all.extend((0..=b).map(|a| Some(vec![a, b, c, d])));
                }
            }
        }
        all.resize(1 << 12, None);
        all
    });
    if slots == 4 {
        return fours;
    }
    OF_FIVE.get_or_init(|| {
        let mut all = Vec::new();
        for e in 0..16 {
            all.resize(all.len().next_multiple_of(64), None);
            let below = fours.iter().flatten().take_while(|four| four[3] <= e);
            all.extend(below.map(|four| Some([&four[..], &[e]].concat())));
        }
        all.resize(1 << 14, None);
        all
    })
}
