//! A reader of snapshots that shares no code with the crate: docs/format.md, written down again.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use coucal::RestoreError;
use xxhash_rust::xxh3::xxh3_64;

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
    pub const CURSOR: usize = 32;
    pub const MAX_BUCKETS: usize = 40;
    pub const WORDS: usize = 48;
    pub const ITEMS: usize = 56;
    pub const CAPACITY: usize = 64;
    pub const MAX_CAPACITY: usize = 72;
    pub const CHECKSUM: usize = 88;
}

/// What the page says of a layout: encoding, bits of a fingerprint and slots of a bucket; the scatter,
/// and the loads of tables of fixed size and of growing ones.
const LAYOUTS: [([u8; 3], f64, [f64; 2]); 9] = [
    ([0, 8, 8], 2.5, [0.985, 0.91]),
    ([0, 9, 7], 2.5, [0.985, 0.905]),
    ([0, 10, 6], 2.5, [0.98, 0.9]),
    ([0, 12, 5], 2.5, [0.975, 0.885]),
    ([1, 14, 5], 2.5, [0.975, 0.885]),
    ([0, 16, 4], 2.5, [0.96, 0.87]),
    ([1, 17, 4], 2.5, [0.96, 0.87]),
    ([0, 21, 3], 2.5, [0.935, 0.83]),
    ([0, 32, 2], 3.0, [0.865, 0.75]),
];

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A fingerprint, and the lower and the higher of its rows.
pub type Class = (u64, u64, u64);

/// Why bytes are no snapshot: the kinds of [`RestoreError`], and what they say.
#[derive(Debug, PartialEq, Eq)]
pub enum Fault {
    Truncated,
    NotASnapshot,
    UnknownVersion(u32),
    UnknownKind(u8),
    UnknownLayout([u8; 3]),
    Damaged,
    ImpossibleTable(u64),
    InvalidWord(usize),
    Misplaced(usize),
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
            RestoreError::UnknownKind { kind } => Self::UnknownKind(kind),
            RestoreError::UnknownLayout { encoding, fingerprint_bits, slots } => {
                Self::UnknownLayout([encoding, fingerprint_bits, slots])
            }
            RestoreError::Damaged => Self::Damaged,
            RestoreError::ImpossibleTable { words } => Self::ImpossibleTable(words),
            RestoreError::InvalidWord { bucket } => Self::InvalidWord(bucket),
            RestoreError::Misplaced { bucket } => Self::Misplaced(bucket),
            RestoreError::WrongLen { stated, found } => Self::WrongLen { stated, found },
            RestoreError::TrailingBytes { bytes } => Self::TrailingBytes(bytes),
            _ => panic!("bytes in memory, and no hasher: {error}"),
        }
    }
}

/// What a snapshot says.
pub struct Contents {
    pub grows: bool,
    pub shape: [u8; 3],
    pub rows: u64,
    pub max_buckets: u64,
    pub words: u64,
    pub items: u64,
    pub capacity: u64,
    pub max_capacity: u64,
    /// How many copies there are of each class that has any.
    pub copies: BTreeMap<Class, usize>,
}

impl Contents {
    pub fn slots(&self) -> usize {
        self.shape[2].into()
    }

    /// The share of slots in use that a growing table of this layout keeps.
    pub fn target_load(&self) -> f64 {
        let layout = LAYOUTS.iter().find(|(shape, ..)| *shape == self.shape);
        layout.expect("a layout that was read").2[1]
    }

    /// The class of the items with this hash.
    pub fn class(&self, hash: u64) -> Class {
        let product = u128::from(hash ^ GOLDEN) * u128::from(hash.rotate_left(23) ^ GOLDEN);
        let mixed = product as u64 ^ (product >> 64) as u64;
        let low = mixed % (1 << self.shape[1]);
        class_in(self.rows, high(mixed, self.rows), low.max(1))
    }
}

fn high(a: u64, b: u64) -> u64 {
    ((u128::from(a) * u128::from(b)) >> 64) as u64
}

fn class_in(rows: u64, row: u64, fingerprint: u64) -> Class {
    let spread = fingerprint.wrapping_mul(GOLDEN).wrapping_mul(fingerprint);
    let sum = u128::from(high(spread, rows) | 1) + u128::from(rows);
    let other = ((sum - u128::from(row)) % u128::from(rows)) as u64;
    (fingerprint, row.min(other), row.max(other))
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

/// Rows, level and cursor of a header, or `None` if no filter has its sizes.
fn sizes(bytes: &[u8], grows: bool, shape: [u8; 3]) -> Option<(u64, u32, u64)> {
    let field = |at| number(bytes, at);
    let [_, bits, slots] = shape;
    let &(_, scatter, loads) = LAYOUTS.iter().find(|(of, ..)| *of == shape)?;
    let (capacity, max_capacity) = (field(at::CAPACITY), field(at::MAX_CAPACITY));
    let size = |items| size(items, slots, scatter, loads[usize::from(grows)]);
    let (mut rows, mut max_buckets) = (size(capacity)?, size(max_capacity)?);
    if grows {
        rows = rows.max(32);
        max_buckets = max_buckets.max(rows);
    }
    let capacities = if grows { capacity <= max_capacity } else { capacity == max_capacity };
    let is_within_reach = u128::from(max_buckets) <= u128::from(rows) << (bits - 6);
    let (level, cursor, words) = (field(at::LEVEL), field(at::CURSOR), field(at::WORDS));
    let stride = 1_u128.checked_shl(level.try_into().ok()?)?.checked_mul(rows.into())?;
    (capacities
        && (!grows || is_within_reach)
        && (field(at::ROWS), field(at::MAX_BUCKETS)) == (rows, max_buckets)
        && u128::from(cursor) < stride
        && stride.checked_add(cursor.into())? == words.into()
        && words <= max_buckets
        && u128::from(field(at::ITEMS)) <= u128::from(words) * u128::from(slots))
    .then_some((rows, level as u32, cursor))
}

/// All that the bytes of a snapshot say, or what is wrong first.
pub fn read(bytes: &[u8]) -> Result<Contents, Fault> {
    let header = bytes.get(..HEADER).ok_or(Fault::Truncated)?;
    if header[..8] != [0x89, b'c', b'o', b'u', b'c', b'a', b'l', b'\n'] {
        return Err(Fault::NotASnapshot);
    }
    let version = number(header, at::VERSION) as u32;
    if version != 1 {
        return Err(Fault::UnknownVersion(version));
    }
    if number(header, at::CHECKSUM) != xxh3_64(&header[..at::CHECKSUM]) {
        return Err(Fault::Damaged);
    }
    let grows = match header[at::KIND] {
        kind @ 0..=1 => kind == 1,
        kind => return Err(Fault::UnknownKind(kind)),
    };
    let shape = [header[at::ENCODING], header[at::BITS], header[at::SLOTS]];
    if LAYOUTS.iter().all(|(of, ..)| *of != shape) {
        return Err(Fault::UnknownLayout(shape));
    }
    let words = number(header, at::WORDS);
    let (rows, level, cursor) = sizes(header, grows, shape).ok_or(Fault::ImpossibleTable(words))?;
    let end = usize::try_from(words).expect("64 bits") * 8 + HEADER;
    if bytes.len() < end + 8 {
        return Err(Fault::Truncated);
    }
    if number(bytes, end) != xxh3_64(&bytes[..end]) {
        return Err(Fault::Damaged);
    }

    let mut copies: BTreeMap<Class, usize> = BTreeMap::new();
    let (mut found, stated) = (0, number(header, at::ITEMS));
    // All words before all places: so does the crate, in steps of more words than inputs have.
    let read = bytes[HEADER..end].chunks(8).map(|word| fingerprints(number(word, 0), shape));
    let read = read.enumerate().map(|(bucket, word)| word.ok_or(Fault::InvalidWord(bucket)));
    let buckets: Vec<Vec<u64>> = read.collect::<Result<_, _>>()?;
    for (bucket, fingerprints) in buckets.into_iter().enumerate() {
        let row = bucket as u64 % rows;
        for fingerprint in fingerprints {
            let selector = match row % 2 {
                0 => fingerprint,
                _ => fingerprint.wrapping_mul(GOLDEN) >> 26,
            };
            let mut place = selector % (1 << level) * rows + row;
            if place < cursor {
                place = selector % (2 << level) * rows + row;
            }
            if grows && place != bucket as u64 {
                return Err(Fault::Misplaced(bucket));
            }
            found += 1;
            *copies.entry(class_in(rows, row, fingerprint)).or_default() += 1;
        }
    }
    if found as u64 != stated {
        return Err(Fault::WrongLen { stated: stated as usize, found });
    }
    if bytes.len() > end + 8 {
        return Err(Fault::TrailingBytes(bytes.len() - end - 8));
    }
    Ok(Contents {
        grows,
        shape,
        rows,
        max_buckets: number(header, at::MAX_BUCKETS),
        words,
        items: stated,
        capacity: number(header, at::CAPACITY),
        max_capacity: number(header, at::MAX_CAPACITY),
        copies,
    })
}

/// The fingerprints of a word; `None` if the layout does not have this word.
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
