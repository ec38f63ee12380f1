//! The bytes of a snapshot: docs/format.md describes each of them. Pure functions.

use core::hash::Hasher;

use twox_hash::{XxHash3_64, xxhash3_64};

use crate::error::Error;
use crate::layout::{Format, LayoutId, Properties, by_layout};
use crate::sync::memory::{self, NoMemory, try_push};
use crate::table::entry::{NoValues, ValueBits, Values};
use crate::table::sizing::{Request, Sizing, in_address_space};
use crate::table::{CellWords, Grown, MAX_COPIES, Place, Stashed, Validity};

/// The first bytes of every snapshot. The first is no text in any encoding, and the last is changed
/// by whoever takes the file for text.
const MAGIC: [u8; 8] = *b"\x89coucal\n";

/// The version of the format.
const VERSION: u32 = 1;

/// What is added to the number of a kind, if it is that of a table that grows.
const GROWING_KIND: u8 = 1;

/// What is added to the number of a kind, if it is that of a maplet.
const MAPLET_KIND: u8 = 2;

/// Numbers of the header, each of 8 bytes, the lowest first.
const NUMBERS: usize = 14;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 8 * NUMBERS;

/// Bytes of an entry in the stash.
pub(crate) const STASHED_BYTES: usize = 16;

/// Bytes of the checksum at the end of a header, and of the snapshot.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// The header of a snapshot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) grows: bool,
    /// Bits of the value in each slot of a maplet; 0 for a filter.
    pub(crate) value_bits: u32,
    pub(crate) layout: LayoutId,
    pub(crate) grown: Grown,
    /// The number of buckets to which the table may grow.
    pub(crate) max_buckets: u64,
    /// Slots in use.
    pub(crate) occupied: usize,
    /// Entries in the stash.
    pub(crate) stashed: usize,
    /// Their copies.
    pub(crate) copies: u64,
    pub(crate) capacity: usize,
    pub(crate) max_capacity: u64,
    pub(crate) hasher: u64,
}

impl Header {
    /// Whether it is that of a maplet.
    pub(crate) fn has_values(&self) -> bool {
        self.value_bits > 0
    }

    /// The items that it says it has.
    pub(crate) fn items(&self) -> u64 {
        self.occupied as u64 + self.copies - self.grown.doubled
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let Self { grows, value_bits, layout, grown, max_buckets, .. } = *self;
        let Self { occupied, stashed, copies, capacity, max_capacity, hasher, .. } = *self;
        let Grown { initial, buckets, doubled, target_load } = grown;
        let of_values = if self.has_values() { MAPLET_KIND } else { 0 };
        let kind = of_values + if grows { GROWING_KIND } else { 0 };
        let &Properties { encoding, bits, slots, .. } = layout.properties();
        let [v0, v1, v2, v3] = VERSION.to_le_bytes();
        let version = [v0, v1, v2, v3, kind, encoding, bits as u8, slots as u8];
        let numbers = [
            u64::from_le_bytes(MAGIC),
            u64::from_le_bytes(version),
            initial as u64,
            buckets as u64,
            max_buckets,
            occupied as u64,
            doubled,
            capacity as u64,
            max_capacity,
            u64::from(target_load) << u32::BITS | u64::from(value_bits),
            hasher,
            stashed as u64,
            copies,
        ];
        let mut bytes = [0; HEADER_BYTES];
        let (before, end) = bytes.split_at_mut(HEADER_BYTES - CHECKSUM_BYTES);
        before.copy_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
        end.copy_from_slice(&checksum(before).to_le_bytes());
        bytes
    }

    /// The header at the beginning of these bytes, if it is undamaged, of a version that is read, and of a table that
    /// this crate builds on some machine; and if this one has memory for it.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.iter().zip(&MAGIC).any(|(byte, expected)| byte != expected) {
            return Err(Error::NotASnapshot);
        }
        let bytes: &[u8; HEADER_BYTES] = bytes.first_chunk().ok_or(Error::Truncated)?;
        let mut numbers = [[0; 8]; NUMBERS];
        numbers.as_flattened_mut().copy_from_slice(bytes);
        let [_, [v0, v1, v2, v3, kind, encoding, fingerprint_bits, slots], ..] = numbers;
        let version = u32::from_le_bytes([v0, v1, v2, v3]);
        if version != VERSION {
            return Err(Error::UnknownVersion { version });
        }
        let [_, _, sizes @ .., lengths, hasher, stashed, copies, stated] =
            numbers.map(u64::from_le_bytes);
        if stated != checksum(&bytes[..HEADER_BYTES - CHECKSUM_BYTES]) {
            return Err(Error::Damaged);
        }
        if kind > MAPLET_KIND + GROWING_KIND {
            return Err(Error::UnknownKind { kind });
        }
        let (is_maplet, grows) = (kind & MAPLET_KIND > 0, kind & GROWING_KIND > 0);
        let layout = LayoutId::find(encoding, fingerprint_bits.into(), slots.into())
            .filter(|layout| !grows || layout.properties().growth.is_some())
            .ok_or(Error::UnknownLayout { encoding, fingerprint_bits, slots })?;
        let [initial, buckets, max_buckets, occupied, doubled, capacity, max_capacity] = sizes;
        let (value_bits, target_load) = (lengths as u32, (lengths >> u32::BITS) as u32);
        let request = Request {
            capacity,
            grows,
            max_capacity: grows.then_some(max_capacity),
            rate: None,
            target_load: grows.then_some(target_load),
            value_bits: is_maplet.then_some(value_bits),
            only: None,
        };
        let is_possible = is_maplet == (value_bits > 0)
            && can_hold(layout, buckets, [occupied, stashed, copies])
            && if grows {
                request.may_grow(layout, initial, max_buckets)
                    && (initial..=max_buckets).contains(&buckets)
                    && doubled <= occupied.saturating_add(copies)
            } else {
                let fits = |sizing: Sizing| sizing.buckets == buckets && max_capacity == capacity;
                [initial, max_buckets] == [buckets; 2]
                    && [doubled, target_load.into()] == [0; 2]
                    && Sizing::of(layout, request).is_ok_and(fits)
            };
        if !is_possible {
            return Err(Error::ImpossibleTable { words: buckets });
        }
        // A table of another machine may be too large for this one. If not, neither is what is counted in its slots.
        let grown = Grown {
            initial: memory::in_memory(initial)?,
            buckets: memory::in_memory(buckets)?,
            doubled,
            target_load,
        };
        Ok(Self {
            grows,
            value_bits,
            layout,
            grown,
            max_buckets,
            occupied: occupied as usize,
            stashed: memory::in_memory(stashed)?,
            copies,
            capacity: capacity as usize,
            max_capacity,
            hasher,
        })
    }

    /// The bytes of the whole snapshot.
    pub(crate) fn encoded_len(&self) -> usize {
        let words = self.grown.buckets.saturating_mul(size_of::<u64>());
        let stashed = self.stashed.saturating_mul(STASHED_BYTES);
        (HEADER_BYTES + CHECKSUM_BYTES).saturating_add(words).saturating_add(stashed)
    }
}

/// Whether so many slots can be in use in so many buckets, and so many entries in the stash with so many copies; without
/// an overflow, however large the numbers are.
fn can_hold(layout: LayoutId, buckets: u64, [occupied, stashed, copies]: [u64; 3]) -> bool {
    let slots = buckets.checked_mul(layout.properties().slots as u64);
    let most_copies = stashed.checked_mul(MAX_COPIES as u64);
    slots.is_some_and(|slots| occupied <= slots && stashed <= slots)
        && most_copies.is_some_and(|most| (stashed..=most).contains(&copies))
}

/// An entry in the stash.
pub(crate) fn stashed_bytes([first, second]: CellWords) -> [u8; STASHED_BYTES] {
    let mut bytes = [0; STASHED_BYTES];
    bytes[..8].copy_from_slice(&second.to_le_bytes());
    bytes[8..].copy_from_slice(&first.to_le_bytes());
    bytes
}

/// Whether a table with this header can have this entry in its stash.
fn is_valid_entry<F: Format>(header: &Header, words: CellWords, values: impl Values) -> bool {
    let stashed = Stashed::of_words(words);
    let Stashed { place: Place { position, entry }, copies } = stashed;
    let bits = u64::from(entry.bits());
    let fits = if header.grows {
        Validity::new(header.grown, F::EXTRA_BITS, values).is_valid_entry::<F>(entry)
    } else {
        entry.known() == 0 && position < header.grown.buckets as u64
    };
    fits && stashed.words() == words
        && position % 2 == 0
        && copies > 0
        && bits & values.below().unwrap_or(u64::MAX) != 0
        && bits >> F::BITS == 0
}

/// How many slots are in use in these words, which begin at this bucket, if a table with this header can have them.
/// Looks for the bucket of a wrong one only after an error.
fn slots_in_use<F: Format>(
    header: &Header,
    (first, words): (usize, &[[u8; 8]]),
    values: impl Values,
) -> Result<usize, Error> {
    // In a table of fixed size, any entry may be in any bucket; it has a fingerprint.
    let growing = header.grows.then(|| Validity::new(header.grown, F::EXTRA_BITS, values));
    let is_valid = |bucket: usize, word: F| {
        let entries = match growing {
            Some(validity) => validity.is_valid(bucket, word),
            None => values.below().is_none_or(|below| word.each_has(below)),
        };
        word.is_canonical() && entries
    };
    let (mut valid, mut items) = (true, 0);
    let word = |bytes| F::from_bits(u64::from_le_bytes(bytes));
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
    Err(Error::InvalidWord { bucket })
}

/// The bytes of a snapshot so far, which come in this order: the header, the words, the checksum.
pub(crate) struct Check {
    header: Header,
    checksum: Checksum,
    /// The number of words so far.
    words: usize,
    /// The number of entries of the stash so far, and of their copies.
    stashed: usize,
    copies: u64,
    /// The order of the last of them.
    last: Option<(u64, u64)>,
    /// The number of their slots in use, or the first error. The error is reported only if the checksum
    /// is right.
    items: Result<usize, Error>,
}

impl Check {
    /// Bytes that begin with a header.
    pub(crate) fn of_header(bytes: &[u8]) -> Result<Self, Error> {
        let header = Header::decode(bytes)?;
        let mut checksum = new_checksum();
        checksum.write(&bytes[..HEADER_BYTES]);
        let (words, stashed, copies, last) = (0, 0, 0, None);
        Ok(Self { header, checksum, words, stashed, copies, last, items: Ok(0) })
    }

    pub(crate) fn header(&self) -> &Header {
        &self.header
    }

    /// The next words.
    pub(crate) fn add(&mut self, words: &[[u8; 8]]) {
        self.checksum.write(words.as_flattened());
        let header = &self.header;
        if let Ok(items) = &mut self.items {
            match by_layout!(header.layout, F => match header.value_bits {
                0 => slots_in_use::<F>(header, (self.words, words), NoValues),
                bits => {
                    slots_in_use::<F>(header, (self.words, words), ValueBits::new(F::BITS, bits))
                }
            }) {
                Ok(more) => *items += more,
                Err(error) => self.items = Err(error),
            }
        }
        self.words += words.len();
    }

    /// The next entries of the stash, which go to `entries`.
    pub(crate) fn add_stashed(
        &mut self,
        bytes: &[[u8; STASHED_BYTES]],
        entries: &mut Vec<CellWords>,
    ) -> Result<(), NoMemory> {
        self.checksum.write(bytes.as_flattened());
        let header = &self.header;
        for entry in bytes {
            let words = [array(entry, 8), array(entry, 0)].map(u64::from_le_bytes);
            let order = Stashed::order(words);
            let is_next = self.last.is_none_or(|last| last < order);
            let is_valid = by_layout!(header.layout, F => match header.value_bits {
                0 => is_valid_entry::<F>(header, words, NoValues),
                bits => is_valid_entry::<F>(header, words, ValueBits::new(F::BITS, bits)),
            });
            if is_next && is_valid {
                self.copies = self.copies.saturating_add(Stashed::of_words(words).copies as u64);
                try_push(entries, words)?;
            } else if self.items.is_ok() {
                self.items = Err(Error::InvalidEntry { entry: self.stashed });
            }
            self.stashed += 1;
            self.last = Some(order);
        }
        Ok(())
    }

    /// Whether something is wrong with the words so far.
    pub(crate) fn has_failed(&self) -> bool {
        self.items.is_err()
    }

    /// The header of these bytes, which end with this checksum.
    pub(crate) fn end(self, checksum: [u8; CHECKSUM_BYTES]) -> Result<Header, Error> {
        debug_assert_eq!(self.words, self.header.grown.buckets);
        debug_assert_eq!(self.stashed, self.header.stashed);
        if u64::from_le_bytes(checksum) != self.checksum.finish() {
            return Err(Error::Damaged);
        }
        for (stated, found) in
            [(self.header.occupied as u64, self.items? as u64), (self.header.copies, self.copies)]
        {
            if stated != found {
                let [stated, found] = [stated, found].map(in_address_space);
                return Err(Error::WrongLen { stated, found });
            }
        }
        Ok(self.header)
    }
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
