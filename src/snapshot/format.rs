//! The bytes of a snapshot, which `docs/format.md` describes one by one. Pure functions.
//!
//! **Invariant:** a snapshot that is written is read as the same snapshot. Reading bytes that are not a valid snapshot
//! gives an error. (`docs/format.md` lists what a reader checks.)

use core::array;

use twox_hash::XxHash3_64;

use crate::backports::as_chunks;
use crate::error::Error;
use crate::hasher::ComparedHasher;
use crate::layout::{Encoding, LayoutId, Properties, by_layout};
use crate::sizing::{Request, Sizing, in_address_space, most_buckets, most_value_bits};
use crate::sync::Ordering;
use crate::sync::memory::{self, NoMemory, try_with_capacity};
use crate::table::placing::entry::{NoValues, ValueBits, Values};
use crate::table::whole::generations::{self, COUNTS, Clock, Generations};
use crate::table::whole::image::Image;
use crate::table::{
    Bucket, CellWords, Counted, Counts, FixedPlacing, GrowingPlacing, MAX_COPIES, Placing, Sizes,
    Stashed,
};

/// The first bytes of every snapshot. No ASCII or UTF-8 text begins with the first byte. A program that takes the file
/// for text, and converts its line endings, changes the last one.
const MAGIC: [u8; 8] = *b"\x89coucal\n";

/// The version of the format.
const VERSION: u32 = 1;

/// The first bytes of every snapshot of this version.
const BEGINNING: [u8; 12] = {
    let [m0, m1, m2, m3, m4, m5, m6, m7] = MAGIC;
    let [v0, v1, v2, v3] = VERSION.to_le_bytes();
    [m0, m1, m2, m3, m4, m5, m6, m7, v0, v1, v2, v3]
};

/// Added to the number of a kind if its table grows.
const GROWING_KIND: u8 = 1;

/// Added to the number of a kind of fixed size if the table has more buckets than follow from its capacity, because it
/// was built for several values per key, or several copies per item.
const ROOMY_KIND: u8 = 8;

/// The maximum number of buckets of a table of [`ROOMY_KIND`], as a multiple of the number that follows from its
/// capacity.
const MAX_ROOM: u64 = 4;

/// The content of a table. The number of its kind is twice this number; [`GROWING_KIND`] or [`ROOMY_KIND`] is added if
/// the table is of that kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// A filter.
    Items = 0,
    /// A maplet.
    Pairs = 1,
    /// An expiring filter: items, with their generations as values.
    Stamped = 2,
}

impl Content {
    pub(crate) fn has_values(self) -> bool {
        self != Self::Items
    }
}

/// The maximum number of bits of the value of an item of an expiring filter.
const MAX_STAMP_BITS: u32 = generations::value_bits(*COUNTS.end());

/// The count of numbers in the header. Each has 8 bytes, the lowest first.
const NUMBERS: usize = 15;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 8 * NUMBERS;

/// Bytes of an entry of the stash, and of the generations.
pub(crate) const PAIR_BYTES: usize = 16;

/// Bytes of a value whose entries are doubled, with the numbers of copies and of entries.
pub(crate) const COUNTED_BYTES: usize = 24;

/// Bytes of each checksum: at the end of the header, and at the end of the snapshot.
pub(crate) const CHECKSUM_BYTES: usize = 8;

/// The header of a snapshot: the properties of its table, without the entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) grows: bool,
    pub(crate) content: Content,
    /// Bits of the value in each slot; 0 for a filter.
    pub(crate) value_bits: u32,
    pub(crate) layout: LayoutId,
    pub(crate) sizes: Sizes,
    /// The number of buckets to which the table may grow.
    pub(crate) max_buckets: u64,
    /// The number of slots in use.
    pub(crate) occupied: usize,
    /// The number of entries in the stash.
    pub(crate) stashed: usize,
    /// The number of copies of these entries.
    pub(crate) copies: u64,
    /// The number of copies that are not items of their own: those of doubled entries.
    pub(crate) doubled: u64,
    /// The number of values that have such copies.
    pub(crate) doubled_values: usize,
    pub(crate) capacity: usize,
    pub(crate) max_capacity: u64,
    pub(crate) hasher: u64,
}

impl Header {
    /// Returns the number of items, according to the header.
    pub(crate) fn items(&self) -> u64 {
        self.occupied as u64 + self.copies - self.doubled
    }

    pub(crate) fn encode(&self) -> [u8; HEADER_BYTES] {
        let kind = 2 * self.content as u8
            + if self.grows { GROWING_KIND } else { 0 }
            + if self.is_roomy() { ROOMY_KIND } else { 0 };
        let &Properties { encoding, bits, slots, .. } = self.layout.properties();
        let [v0, v1, v2, v3] = VERSION.to_le_bytes();
        let version = [v0, v1, v2, v3, kind, encoding, bits as u8, slots as u8];
        let numbers = [
            u64::from_le_bytes(MAGIC),
            u64::from_le_bytes(version),
            self.sizes.initial as u64,
            self.sizes.buckets as u64,
            self.max_buckets,
            self.occupied as u64,
            self.doubled,
            self.capacity as u64,
            self.max_capacity,
            u64::from(self.sizes.target_load) << u32::BITS | u64::from(self.value_bits),
            self.hasher,
            self.stashed as u64,
            self.copies,
            self.doubled_values as u64,
        ];
        let mut bytes = [0; HEADER_BYTES];
        let (before, end) = bytes.split_at_mut(HEADER_BYTES - CHECKSUM_BYTES);
        before.copy_from_slice(numbers.map(u64::to_le_bytes).as_flattened());
        end.copy_from_slice(&checksum(before).to_le_bytes());
        bytes
    }

    /// Returns whether the table has more buckets than follow from its capacity.
    fn is_roomy(&self) -> bool {
        let request = Request {
            capacity: Some(self.capacity as u64),
            value_bits: self.content.has_values().then_some(self.value_bits),
            ..Request::default()
        };
        let has_more = |sizing: Sizing| sizing.buckets < self.sizes.buckets as u64;
        !self.grows && Sizing::of(self.layout, request).is_ok_and(has_more)
    }

    /// Decodes the header at the beginning of these bytes. Checks that
    /// * the header is not damaged, and this version of the format is known;
    /// * a table may have these sizes on some machine;
    /// * this machine has enough address space for the table.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_as::<false>(bytes)
    }

    /// Decodes bytes that the caller trusts: checks only that lookups in the table are possible, whatever it was built
    /// for.
    // Always inlined: a call would copy the header twice, and a view may be opened for each lookup.
    #[inline(always)]
    pub(crate) fn decode_trusted(bytes: &[u8]) -> Result<Self, Error> {
        Self::decode_as::<true>(bytes)
    }

    #[inline(always)]
    fn decode_as<const IS_TRUSTED: bool>(bytes: &[u8]) -> Result<Self, Error> {
        let whole = bytes.first_chunk::<HEADER_BYTES>();
        let Some(bytes) = whole.filter(|header| header.starts_with(&BEGINNING)) else {
            return Err(fault_of_beginning(bytes));
        };
        let (before, stated) = bytes.split_at(HEADER_BYTES - CHECKSUM_BYTES);
        if stated != checksum(before).to_le_bytes() {
            return Err(Error::Damaged);
        }
        let numbers: [u64; NUMBERS] = numbers_of(bytes);
        let [_, version, sizes @ .., lengths, hasher, stashed, copies, doubled_values, _] = numbers;
        let [_, _, _, _, kind, encoding, fingerprint_bits, slots] = version.to_le_bytes();
        let (is_roomy, grows) = (kind & ROOMY_KIND > 0, kind & GROWING_KIND > 0);
        let content = match (kind & !ROOMY_KIND) / 2 {
            0 => Content::Items,
            1 => Content::Pairs,
            2 if !is_roomy => Content::Stamped,
            _ => return Err(Error::UnknownKind { kind }),
        };
        if is_roomy && grows {
            return Err(Error::UnknownKind { kind });
        }
        let has_values = content.has_values();
        let layout = LayoutId::find(encoding, fingerprint_bits.into(), slots.into());
        let Some(layout) = layout.filter(|layout| !grows || layout.properties().growth.is_some())
        else {
            return Err(Error::UnknownLayout { encoding, fingerprint_bits, slots });
        };
        let [initial, buckets, max_buckets, occupied, doubled, capacity, max_capacity] = sizes;
        let (value_bits, target_load) = (lengths as u32, (lengths >> u32::BITS) as u32);
        let most_value_bits = match content {
            Content::Items => 0,
            Content::Pairs => most_value_bits(layout.properties()),
            Content::Stamped => most_value_bits(layout.properties()).min(MAX_STAMP_BITS),
        };
        let may_be_looked_up = has_values == (value_bits > 0)
            && value_bits <= most_value_bits
            && initial >= 2
            && if grows { buckets >= initial } else { buckets > 0 && buckets % 2 == 0 }
            && can_hold(layout, buckets, [occupied, stashed, copies])
            && doubled <= occupied.saturating_add(copies)
            && doubled_values <= doubled.min(1 << value_bits);
        let may_be_built = || {
            let request = Request {
                capacity: Some(capacity),
                grows,
                max_capacity: grows.then_some(max_capacity),
                target_load: grows.then_some(target_load),
                value_bits: has_values.then_some(value_bits),
                ..Request::default()
            };
            if grows {
                return request.may_grow(layout, initial, max_buckets) && buckets <= max_buckets;
            }
            let fits = |sizing: Sizing| {
                let least = sizing.buckets;
                let most = least.saturating_mul(MAX_ROOM).min(most_buckets(layout.properties()));
                let has_size =
                    if is_roomy { least < buckets && buckets <= most } else { least == buckets };
                has_size && max_capacity == capacity
            };
            [initial, max_buckets] == [buckets; 2]
                && [doubled, target_load.into()] == [0; 2]
                && Sizing::of(layout, request).is_ok_and(fits)
        };
        let is_possible = may_be_looked_up && (IS_TRUSTED || may_be_built());
        if !is_possible {
            return Err(Error::ImpossibleTable { words: buckets });
        }
        // A table of another machine may be too large for this one. If it is not, the counts of what is in its slots
        // are not too large either.
        let sizes = Sizes {
            initial: memory::in_memory(initial)?,
            buckets: memory::in_memory(buckets)?,
            target_load,
        };
        Ok(Self {
            grows,
            content,
            value_bits,
            layout,
            sizes,
            max_buckets,
            occupied: occupied as usize,
            stashed: memory::in_memory(stashed)?,
            copies,
            doubled,
            doubled_values: doubled_values as usize,
            capacity: capacity as usize,
            max_capacity,
            hasher,
        })
    }

    /// Returns the error of restoring this snapshot as another type.
    pub(crate) fn other_type(&self) -> Error {
        Error::OtherType { name: self.type_name() }
    }

    /// Returns the error of opening this snapshot as the other type of view.
    pub(crate) fn other_view(&self) -> Error {
        let view = if self.content.has_values() { "CuckooMapletView" } else { "CuckooFilterView" };
        Error::OtherView { name: self.type_name(), view }
    }

    /// Returns the name of the type of the filter, without its layout.
    fn type_name(&self) -> &'static str {
        match (self.content, self.grows) {
            (Content::Items, false) => "CuckooFilter",
            (Content::Items, true) => "GrowableCuckooFilter",
            (Content::Pairs, false) => "CuckooMaplet",
            (Content::Pairs, true) => "GrowableCuckooMaplet",
            (Content::Stamped, false) => "ExpiringCuckooFilter",
            (Content::Stamped, true) => "GrowableExpiringCuckooFilter",
        }
    }

    /// Checks that this hasher gives the same hashes as that of the filter.
    #[inline]
    pub(crate) fn check_hasher(&self, hasher: &impl ComparedHasher) -> Result<(), Error> {
        (self.hasher == hasher.check()).then_some(()).ok_or(Error::OtherHasher)
    }

    /// Checks whether `bytes`, which must be exactly `encoded_len` bytes, are a table with this header.
    pub(crate) fn validate(&self, bytes: &[u8]) -> Result<(), Error> {
        let (before, end) = bytes.split_at(self.encoded_len() - CHECKSUM_BYTES);
        if end != checksum(before).to_le_bytes() {
            return Err(Error::Damaged);
        }
        let values = |bits| ValueBits::new(self.layout.properties(), bits);
        // If the layout does not grow, the compiler drops the last two arms.
        by_layout!(self.layout, F => match (F::GROWS && self.grows, self.value_bits) {
            (false, 0) => validate_buckets::<F, FixedPlacing<_>>(self, bytes, NoValues),
            (false, bits) => validate_buckets::<F, FixedPlacing<_>>(self, bytes, values(bits)),
            (true, 0) => validate_buckets::<F, GrowingPlacing<_>>(self, bytes, NoValues),
            (true, bits) => validate_buckets::<F, GrowingPlacing<_>>(self, bytes, values(bits)),
        })
    }

    /// Checks as `validate` does, for any number of bytes.
    pub(crate) fn validate_all(&self, bytes: &[u8]) -> Result<(), Error> {
        let all = bytes.get(..self.encoded_len()).ok_or(Error::Truncated)?;
        self.validate(all)?;
        self.check_len(bytes)
    }

    /// Checks that the number of bytes is that of the header.
    #[inline]
    pub(crate) fn check_len(&self, bytes: &[u8]) -> Result<(), Error> {
        match bytes.len().checked_sub(self.encoded_len()) {
            Some(0) => Ok(()),
            Some(bytes) => Err(Error::TrailingBytes { bytes }),
            None => Err(Error::Truncated),
        }
    }

    /// Returns the number of bytes of the whole snapshot.
    #[inline]
    pub(crate) fn encoded_len(&self) -> usize {
        let stash = self.stashed.saturating_mul(PAIR_BYTES);
        let doubled = self.doubled_values.saturating_mul(COUNTED_BYTES);
        let has_stamps = self.content == Content::Stamped;
        in_address_space(bytes_without_lists(has_stamps, self.sizes.buckets as u64))
            .saturating_add(stash)
            .saturating_add(doubled)
    }
}

/// Returns what is wrong with bytes that do not begin as a snapshot of this version, or end within the header.
#[cold]
#[inline(never)]
fn fault_of_beginning(bytes: &[u8]) -> Error {
    let (magic, behind_magic) = bytes.split_at(MAGIC.len().min(bytes.len()));
    if !MAGIC.starts_with(magic) {
        return Error::NotASnapshot;
    }
    // Checked before the length, since the header of another version may be shorter.
    match behind_magic.first_chunk().map(|&version| u32::from_le_bytes(version)) {
        Some(version) if version != VERSION => Error::UnknownVersion { version },
        _ => Error::Truncated,
    }
}

/// Returns the number of bytes of a snapshot of a table with this number of buckets, without the stash and the list of
/// doubled values.
#[inline]
pub(crate) fn bytes_without_lists(has_stamps: bool, buckets: u64) -> u64 {
    let clock = if has_stamps { PAIR_BYTES } else { 0 };
    let besides = HEADER_BYTES + CHECKSUM_BYTES + clock;
    buckets.saturating_mul(size_of::<u64>() as u64).saturating_add(besides as u64)
}

/// Returns whether `buckets` buckets can have `occupied` slots in use, and the stash `stashed` entries with `copies`
/// copies. No number can overflow, however large the arguments are.
#[inline]
fn can_hold(layout: LayoutId, buckets: u64, [occupied, stashed, copies]: [u64; 3]) -> bool {
    let slots = buckets.checked_mul(layout.properties().slots as u64);
    // Exact: if the product has more than 64 bits, any number of copies is below it.
    let most_copies = || stashed.saturating_mul(MAX_COPIES as u64);
    slots.is_some_and(|slots| occupied <= slots && stashed <= slots)
        && (copies == stashed || stashed < copies && copies <= most_copies())
}

/// Encodes a snapshot with this header. Each piece of the words is freed as soon as it is copied.
pub(crate) fn encode(header: &Header, image: Image) -> Result<Vec<u8>, NoMemory> {
    let Image { words, stashed, doubled_of, generations: Generations { count, clock }, .. } = image;
    let mut bytes = try_with_capacity(header.encoded_len())?;
    bytes.extend(header.encode());
    let mut missing = header.sizes.buckets;
    for piece in words {
        let words = &piece[..missing.min(piece.len())];
        missing -= words.len();
        let start = bytes.len();
        bytes.resize(start + words.len() * size_of::<u64>(), 0);
        for (place, word) in bytes[start..].chunks_exact_mut(size_of::<u64>()).zip(words) {
            // Relaxed: no other thread has these words.
            place.copy_from_slice(&word.load(Ordering::Relaxed).to_le_bytes());
        }
    }
    for [first, second] in stashed {
        bytes.extend([second, first].map(u64::to_le_bytes).as_flattened());
    }
    for (value, Counts { copies, entries }) in doubled_of {
        bytes.extend([value.into(), copies, entries].map(u64::to_le_bytes).as_flattened());
    }
    if count > 0 {
        bytes.extend([count.into(), clock.bits()].map(u64::to_le_bytes).as_flattened());
    }
    let checksum = checksum(&bytes);
    bytes.extend(checksum.to_le_bytes());
    Ok(bytes)
}

/// Returns the words of the buckets, in the bytes of a snapshot of a table of these sizes.
#[inline]
pub(crate) fn words(sizes: Sizes, bytes: &[u8]) -> &[[u8; 8]] {
    let (words, _) = as_chunks(bytes.get(HEADER_BYTES..).unwrap_or_default());
    words.get(..sizes.buckets).unwrap_or_default()
}

/// Returns the `stashed` entries of the stash, in the bytes of a snapshot of a table of these sizes.
pub(crate) fn stash(sizes: Sizes, stashed: usize, bytes: &[u8]) -> &[[u8; PAIR_BYTES]] {
    let (entries, _) = as_chunks(bytes.get(stash_start(sizes)..).unwrap_or_default());
    entries.get(..stashed).unwrap_or_default()
}

/// Returns the counts of doubled entries for each value, in the bytes of a snapshot with this header.
pub(crate) fn doubled<'a>(header: &Header, bytes: &'a [u8]) -> &'a [[u8; COUNTED_BYTES]] {
    let (counted, _) = as_chunks(bytes.get(doubled_start(header)..).unwrap_or_default());
    counted.get(..header.doubled_values).unwrap_or_default()
}

/// Returns the generations, in the bytes of a snapshot with this header; `None` if it has none, or if they are
/// impossible.
pub(crate) fn generations(header: &Header, bytes: &[u8]) -> Option<Generations> {
    let start = doubled_start(header).saturating_add(header.doubled_values * COUNTED_BYTES);
    let pair = bytes.get(start..)?.first_chunk::<PAIR_BYTES>();
    let [count, clock] = numbers_of(pair.filter(|_| header.content == Content::Stamped)?);
    let count = u32::try_from(count).ok().filter(|count| COUNTS.contains(count))?;
    let clock = Clock::from_bits(clock);
    let is_possible = generations::value_bits(count) == header.value_bits && clock.stamp() < count;
    is_possible.then_some(Generations { count, clock })
}

/// Returns the index of the first byte of the stash, which follows the words.
fn stash_start(sizes: Sizes) -> usize {
    HEADER_BYTES + size_of::<u64>() * sizes.buckets
}

/// Returns the index of the first byte of the list of doubled values, which follows the stash.
fn doubled_start(header: &Header) -> usize {
    stash_start(header.sizes) + PAIR_BYTES * header.stashed
}

/// Decodes an entry of the stash.
pub(crate) fn cell_words(entry: &[u8; PAIR_BYTES]) -> CellWords {
    let [second, first] = numbers_of(entry);
    [first, second]
}

/// Decodes a value and the counts of its doubled entries. (A value that is too long is truncated: validation rejects
/// it.)
pub(crate) fn counted(counted: &[u8; COUNTED_BYTES]) -> Counted {
    let [value, copies, entries] = numbers_of(counted);
    (value as u32, Counts { copies, entries })
}

/// Decodes the `N` numbers of these bytes.
#[inline]
fn numbers_of<const N: usize>(bytes: &[u8]) -> [u64; N] {
    let (numbers, _) = as_chunks(bytes);
    array::from_fn(|at| u64::from_le_bytes(numbers[at]))
}

fn validate_buckets<F: Encoding, P: Placing>(
    header: &Header,
    bytes: &[u8],
    values: P::Values,
) -> Result<(), Error> {
    let stamps = match generations(header, bytes) {
        Some(generations) => u64::from(generations.count),
        None if header.content == Content::Stamped => {
            return Err(Error::InvalidEntry { entry: header.stashed + header.doubled_values });
        }
        None => 1 << header.value_bits,
    };
    // Whether the value is below `stamps`. If so, no bit above those of a slot is set, either.
    let has_value = |bits: u64| bits >> (F::BITS - header.value_bits) < stamps;
    let (geometry, placement) = P::placed::<F>(header.sizes, values);
    let words =
        words(header.sizes, bytes).iter().map(|&word| F::from_bits(u64::from_le_bytes(word)));
    let is_valid = |number: usize, word: F| {
        word.is_canonical()
            && P::is_valid(geometry, Bucket::at(placement, number), word)
            && (stamps.is_power_of_two() || word.slots_in_use().all(|slot| has_value(slot.bits())))
    };
    let mut occupied = 0;
    for (bucket, word) in words.enumerate() {
        if !is_valid(bucket, word) {
            return Err(Error::InvalidWord { bucket });
        }
        occupied += word.in_use();
    }
    let (mut last, mut copies) = (None, 0_u64);
    for (entry, bytes) in stash(header.sizes, header.stashed, bytes).iter().enumerate() {
        let words = cell_words(bytes);
        let stashed = Stashed::of_words(words);
        let (place, order) = (stashed.place, Some(Stashed::order(words)));
        let bits = u64::from(place.entry.bits());
        let is_valid = P::is_valid_entry(geometry, place)
            && stashed.words() == words
            && place.position % 2 == 0
            && stashed.copies > 0
            && bits & values.below().unwrap_or(u64::MAX) != 0
            && has_value(bits);
        if last >= order || !is_valid {
            return Err(Error::InvalidEntry { entry });
        }
        last = order;
        copies = copies.saturating_add(stashed.copies as u64);
    }
    let (mut next, mut all_copies, mut all_entries) = (0, 0_u64, 0_u64);
    for (at, bytes) in doubled(header, bytes).iter().enumerate() {
        let [value, copies, entries] = numbers_of(bytes);
        all_copies = all_copies.saturating_add(copies);
        all_entries = all_entries.saturating_add(entries);
        let is_valid = (next..stamps).contains(&value)
            && copies > 0
            && entries <= copies
            && all_entries <= (header.occupied + header.stashed) as u64;
        if !is_valid {
            return Err(Error::InvalidEntry { entry: header.stashed + at });
        }
        next = value + 1;
    }
    for (stated, found) in [
        (header.occupied as u64, occupied as u64),
        (header.copies, copies),
        (header.doubled, all_copies),
    ] {
        if stated != found {
            let [stated, found] = [stated, found].map(in_address_space);
            return Err(Error::WrongLen { stated, found });
        }
    }
    Ok(())
}

#[inline]
fn checksum(bytes: &[u8]) -> u64 {
    XxHash3_64::oneshot(bytes)
}
