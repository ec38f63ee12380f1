//! The bytes of a snapshot: docs/format.md describes each of them. Pure functions.

use core::hash::Hasher;

use twox_hash::{XxHash3_64, xxhash3_64};

use crate::entry::{NoValues, ValueBits, Values};
use crate::error::RestoreError;
use crate::layout::{Format, LayoutId, Layouts, Visitor, Word};
use crate::sizing::{Request, Sizing};
use crate::table::{Grown, Validity};

/// The first bytes of every snapshot. The first is no text in any encoding, and the last is changed
/// by whoever takes the file for text.
const MAGIC: [u8; 8] = *b"\x89coucal\n";

/// The version of the format.
const VERSION: u32 = 1;

/// What is added to the number of a kind, if it is that of a table that grows.
const GROWING_KIND: u8 = 1;

/// What is added to the number of a kind, if it is that of a maplet.
const MAPLET_KIND: u8 = 2;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 96;

/// Bytes of the checksum at the end.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// Where the fields of a header begin. All are numbers with the lowest byte first.
mod at {
    pub const MAGIC: usize = 0;
    pub const VERSION: usize = 8;
    pub const KIND: usize = 12;
    pub const ENCODING: usize = 13;
    pub const FINGERPRINT_BITS: usize = 14;
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
    pub const CHECKSUM: usize = 88;
}

/// The header of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) grows: bool,
    /// Bits of the value in each slot of a maplet; 0 for a filter.
    pub(crate) value_bits: u32,
    pub(crate) layout: LayoutId,
    pub(crate) grown: Grown,
    /// The number of buckets to which the table may grow.
    pub(crate) max_buckets: usize,
    /// Slots in use.
    pub(crate) occupied: usize,
    pub(crate) capacity: usize,
    pub(crate) max_capacity: usize,
    pub(crate) hasher: u64,
}

impl Header {
    /// Whether it is that of a maplet.
    pub(crate) fn has_values(&self) -> bool {
        self.value_bits > 0
    }

    /// The items that it says it has.
    pub(crate) fn items(&self) -> usize {
        self.occupied - self.grown.doubled
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let Self { grows, value_bits, layout, grown, max_buckets, .. } = *self;
        let Self { occupied, capacity, max_capacity, hasher, .. } = *self;
        let of_values = if self.has_values() { MAPLET_KIND } else { 0 };
        let kind = of_values + if grows { GROWING_KIND } else { 0 };
        let properties = layout.properties();
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(at::MAGIC, &MAGIC);
        put(at::VERSION, &VERSION.to_le_bytes());
        put(at::KIND, &[kind]);
        put(at::ENCODING, &[properties.encoding]);
        put(at::FINGERPRINT_BITS, &[properties.bits as u8]);
        put(at::SLOTS, &[properties.slots as u8]);
        put(at::FIRST, &number(grown.first));
        put(at::WORDS, &number(grown.buckets));
        put(at::MAX_BUCKETS, &number(max_buckets));
        put(at::OCCUPIED, &number(occupied));
        put(at::DOUBLED, &number(grown.doubled));
        put(at::CAPACITY, &number(capacity));
        put(at::MAX_CAPACITY, &number(max_capacity));
        put(at::VALUE_BITS, &value_bits.to_le_bytes());
        put(at::TARGET_LOAD, &grown.target_load.to_le_bytes());
        put(at::HASHER, &hasher.to_le_bytes());
        let checksum = checksum(&bytes[..at::CHECKSUM]).to_le_bytes();
        bytes[at::CHECKSUM..].copy_from_slice(&checksum);
        bytes
    }

    /// The header of these bytes, if it is undamaged, of a version that is read, and of a table that this crate
    /// builds.
    pub(crate) fn decode(bytes: &[u8; HEADER_BYTES]) -> Result<Self, RestoreError> {
        if bytes[at::MAGIC..at::VERSION] != MAGIC {
            return Err(RestoreError::NotASnapshot);
        }
        let version = u32::from_le_bytes(array(bytes, at::VERSION));
        if version != VERSION {
            return Err(RestoreError::UnknownVersion { version });
        }
        let field = |at| u64::from_le_bytes(array(bytes, at));
        if field(at::CHECKSUM) != checksum(&bytes[..at::CHECKSUM]) {
            return Err(RestoreError::Damaged);
        }
        let kind = bytes[at::KIND];
        if kind > MAPLET_KIND + GROWING_KIND {
            return Err(RestoreError::UnknownKind { kind });
        }
        let (is_maplet, grows) = (kind & MAPLET_KIND > 0, kind & GROWING_KIND > 0);
        let [encoding, bits, slots] =
            [at::ENCODING, at::FINGERPRINT_BITS, at::SLOTS].map(|at| bytes[at]);
        let layout = LayoutId::find(encoding, bits.into(), slots.into())
            .filter(|layout| !grows || layout.properties().growth.is_some())
            .ok_or(RestoreError::UnknownLayout { encoding, fingerprint_bits: bits, slots })?;
        let size = |at| usize::try_from(field(at)).expect("64-bit pointers");
        let [value_bits, target_load] =
            [at::VALUE_BITS, at::TARGET_LOAD].map(|at| u32::from_le_bytes(array(bytes, at)));
        let header = Self {
            grows,
            value_bits,
            layout,
            grown: Grown {
                first: size(at::FIRST),
                buckets: size(at::WORDS),
                doubled: size(at::DOUBLED),
                target_load,
            },
            max_buckets: size(at::MAX_BUCKETS),
            occupied: size(at::OCCUPIED),
            capacity: size(at::CAPACITY),
            max_capacity: size(at::MAX_CAPACITY),
            hasher: field(at::HASHER),
        };
        let is_possible = is_maplet == header.has_values() && header.is_possible();
        is_possible
            .then_some(header)
            .ok_or(RestoreError::ImpossibleTable { words: field(at::WORDS) })
    }

    /// Whether a table can have these sizes.
    fn is_possible(&self) -> bool {
        let Self { grows, value_bits, layout, grown, max_buckets, .. } = *self;
        let Self { occupied, capacity, max_capacity, .. } = *self;
        let Grown { first, buckets, doubled, target_load } = grown;
        let slots = layout.properties().slots;
        let request = Request {
            capacity,
            grows,
            max_capacity: grows.then_some(max_capacity),
            rate: None,
            target_load: grows.then_some(target_load),
            value_bits: self.has_values().then_some(value_bits),
            only: None,
        };
        if buckets.checked_mul(slots).is_none_or(|slots| occupied > slots) {
            return false;
        }
        if grows {
            return request.may_grow(layout, first, max_buckets)
                && (first..=max_buckets).contains(&buckets)
                && doubled <= occupied;
        }
        let fits = |sizing: Sizing| sizing.buckets == buckets && max_capacity == capacity;
        [first, max_buckets] == [buckets; 2]
            && [doubled, target_load as usize] == [0; 2]
            && Sizing::of(layout, request).is_ok_and(fits)
    }

    /// The bytes of the whole snapshot.
    pub(crate) fn encoded_len(&self) -> usize {
        HEADER_BYTES + self.grown.buckets * size_of::<u64>() + CHECKSUM_BYTES
    }
}

/// Checks the words from bucket `first` on, and says how many slots they have in use.
struct Validate<'a> {
    header: &'a Header,
    first: usize,
    words: &'a [[u8; 8]],
}

impl Visitor for Validate<'_> {
    type Output = Result<usize, RestoreError>;

    fn visit<F: Format>(self, _: F) -> Self::Output {
        match self.header.value_bits {
            0 => self.words_are_valid::<F>(NoValues),
            value_bits => self.words_are_valid::<F>(ValueBits::new(F::BITS, value_bits)),
        }
    }
}

impl Validate<'_> {
    /// Checks all words, and looks for the position only after an error.
    fn words_are_valid<F: Format>(self, values: impl Values) -> Result<usize, RestoreError> {
        let Self { header, first, words } = self;
        // In a table of fixed size, any entry may be in any bucket; it has a fingerprint.
        let growing = header.grows.then(|| Validity::new(header.grown, F::EXTRA_BITS, values));
        let is_valid = |bucket: usize, word: Word<F>| {
            let entries = match growing {
                Some(validity) => validity.is_valid(bucket, word),
                None => values.below().is_none_or(|below| word.each_has(below)),
            };
            word.is_canonical() && entries
        };
        let (mut valid, mut items) = (true, 0);
        let word = |bytes| Word::<F>::from_bits(u64::from_le_bytes(bytes));
        let mut words = (first..).zip(words.iter().copied().map(word));
        for (bucket, word) in words.clone() {
            valid &= is_valid(bucket, word);
            items += word.in_use();
        }
        if valid {
            return Ok(items);
        }
        let wrong = words.find(|&(bucket, word)| !is_valid(bucket, word));
        let (bucket, _) = wrong.expect("one of them");
        Err(RestoreError::InvalidWord { bucket })
    }
}

/// The bytes of a snapshot so far, which come in this order: the header, the words, the checksum.
pub(crate) struct Check {
    header: Header,
    checksum: Checksum,
    /// The number of words so far.
    words: usize,
    /// The number of their slots in use, or the first error. The error is reported only if the checksum
    /// is right.
    items: Result<usize, RestoreError>,
}

impl Check {
    pub(crate) fn of_header(bytes: &[u8; HEADER_BYTES]) -> Result<Self, RestoreError> {
        let header = Header::decode(bytes)?;
        let mut checksum = new_checksum();
        checksum.write(bytes);
        Ok(Self { header, checksum, words: 0, items: Ok(0) })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The next words.
    pub(crate) fn add(&mut self, words: &[[u8; 8]]) {
        self.checksum.write(words.as_flattened());
        if let Ok(items) = &mut self.items {
            let first = self.words;
            match self.header.layout.visit(Validate { header: &self.header, first, words }) {
                Ok(more) => *items += more,
                Err(error) => self.items = Err(error),
            }
        }
        self.words += words.len();
    }

    /// Whether something is wrong with the words so far.
    pub(crate) fn has_failed(&self) -> bool {
        self.items.is_err()
    }

    /// The header of these bytes, which end with this checksum.
    pub(crate) fn end(self, checksum: [u8; CHECKSUM_BYTES]) -> Result<Header, RestoreError> {
        debug_assert_eq!(self.words, self.header.grown.buckets);
        if u64::from_le_bytes(checksum) != self.checksum.finish() {
            return Err(RestoreError::Damaged);
        }
        match (self.header.occupied, self.items?) {
            (stated, found) if stated == found => Ok(self.header),
            (stated, found) => Err(RestoreError::WrongLen { stated, found }),
        }
    }
}

fn number(n: usize) -> [u8; 8] {
    (n as u64).to_le_bytes()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes[at..at + N].try_into().expect("a slice of N bytes")
}

/// The checksum of what comes piece by piece. It allocates nothing.
pub(crate) type Checksum = xxhash3_64::RawHasher<&'static [u8; xxhash3_64::DEFAULT_SECRET_LENGTH]>;

pub(crate) fn new_checksum() -> Checksum {
    Checksum::new(xxhash3_64::SecretBuffer::default())
}

fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
