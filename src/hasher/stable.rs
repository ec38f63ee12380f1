//! The hasher whose hashes of the same bytes are the same on every machine.

use core::hash::{BuildHasher, Hasher};

/// The state, which absorbs 16 bytes at a time: so bytes that wait for others are in two registers. (XXH3 begins with
/// the length, which comes last here: a buffer in memory took twice as long for a short string.)
#[derive(Clone, Copy, Debug)]
struct State(u64, u64);

/// The first bits behind the points of pi and of the golden ratio.
const START: State = State(0x243f_6a88_85a3_08d3, 0x9e37_79b9_7f4a_7c15);

impl State {
    /// The lowest 128 bits of (2^64 + a)(2^64 + b): no factor is zero, which would hide the other. The halves change
    /// places: the lowest bits of a product depend on those of its factors alone, and a run of zeros would clear them
    /// one by one. `^ a`, so that two words do not swap factors.
    ///
    /// `^` for one word and an addition for the other: where both are alike, the compiler makes a vector of them, and
    /// the multiplication waits for its parts.
    #[inline]
    fn absorb(self, [first, second]: [u64; 2]) -> Self {
        let (a, b) = (self.0 ^ first, self.1.wrapping_add(second));
        let product = u128::from(a) * u128::from(b);
        let upper = (product >> 64) as u64;
        Self(upper.wrapping_add(a).wrapping_add(b), product as u64 ^ a)
    }
}

/// Fewer than 8 bytes, the lowest first. Reads overlap, and are alike where they do.
#[inline]
fn short_word(bytes: &[u8]) -> u64 {
    let bits = 8 * bytes.len();
    if let (Some(first), Some(last)) = (bytes.first_chunk(), bytes.last_chunk()) {
        let last = u64::from(u32::from_le_bytes(*last));
        u64::from(u32::from_le_bytes(*first)) | last << (bits - 32)
    } else if let (Some(&first), Some(&last)) = (bytes.first(), bytes.last()) {
        let middle = bytes.len() / 2;
        u64::from(first) | u64::from(bytes[middle]) << (8 * middle) | u64::from(last) << (bits - 8)
    } else {
        0
    }
}

/// A hasher that hashes the same bytes to the same number on every machine, in every run and in every
/// release of this crate: for filters that are stored, or that are exchanged between processes.
///
/// The hash has 64 bits, and depends on the seed and on the bytes that the item's [`Hash`](core::hash::Hash)
/// implementation writes, in whatever pieces it writes them. (Some items do not write the same bytes
/// everywhere: [see below](#what-is-not-stable).) A single number is written with the lowest byte first,
/// and `usize` and `isize` as numbers of 64 bits. The bytes of some types:
///
/// | item | bytes | hash of the example, seed 0 |
/// |---|---|---|
/// | `u8` to `u128`, `i8` to `i128` | its own, lowest first: `7_u64` is `07 00 00 00 00 00 00 00` | `35d26147ba8489e0` |
/// | `usize`, `isize` | as `u64` and `i64` | |
/// | `bool`, `char` | as `u8` and `u32` | |
/// | `str`, `String` | UTF-8, and then `ff`: `"egg"` is `65 67 67 ff` | `8a91cb59c5a11bbc` |
/// | `[T]`, `[T; N]`, `Vec<T>` | the length as `u64`, then each part: `[1_u8, 2, 3]` as a slice is `03 00 00 00 00 00 00 00 01 02 03` | `9107c75f77d5c5a8` |
/// | tuples, references, boxes | the parts one after the other, with nothing between: `(7_u64, "north")` | `263371b499828f96` |
///
/// So two items with the same bytes are one item, whatever their types: the
/// [cookbook](crate::cookbook#keys-of-several-types) says which are, and what this hash costs beside the default one.
/// [`hash_bytes`](Self::hash_bytes) hashes bytes as they are, for a filter that takes them as
/// [`Prehashed`](crate::Prehashed). Other languages can compute the same hash: `docs/format.md` of the repository
/// defines it in ten lines of Python.
///
/// # What is not stable
///
/// The `Hash` implementation of an item decides which bytes it writes. Tests pin the bytes in the
/// table. The standard library does not promise them for all time, and promises nothing for other
/// types. A derived `Hash` of an `enum` writes the number of the variant (as `isize`, so 64 bits
/// here), which changes with the order of the variants. A derived `Hash` of a `struct` follows the
/// order of its fields. Paths differ between systems.
///
/// For slices, arrays and vectors of integers of more than one byte, the standard library writes the
/// integers as they are in memory: with the lowest byte first on x86-64, ARM and most others, but not
/// on a big-endian machine; and `usize` and `isize` in them are as long as pointers are. Tuples of integers are stable,
/// and so are bytes.
///
/// If a hash outlives a program, define the bytes of a key yourself, and use `hash_bytes`.
///
/// This hasher does not resist an adversary: it is no keyed hash, and its seed is no secret key.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, StableHashBuilder};
///
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
/// filter.insert("egg")?;
/// assert_eq!(filter.hash_of("egg"), 0x45d0_f00d_1aa9_4c10);
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StableHashBuilder {
    seed: u64,
}

impl StableHashBuilder {
    /// A hasher with this seed. The default has the seed 0.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::StableHashBuilder;
    ///
    /// assert_eq!(StableHashBuilder::new(0), StableHashBuilder::default());
    /// ```
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// The seed.
    ///
    /// # Examples
    ///
    /// ```
    /// assert_eq!(coucal::StableHashBuilder::new(7).seed(), 7);
    /// ```
    #[must_use]
    pub const fn seed(&self) -> u64 {
        self.seed
    }

    /// The hash of exactly these bytes. The result differs from
    /// [`hash_one`](BuildHasher::hash_one) of the same text, which adds a byte at the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, StableHashBuilder, Prehashed};
    ///
    /// // stable_hash(0, b"foobar") in the Python of docs/format.md.
    /// let hash = StableHashBuilder::default().hash_bytes(b"foobar");
    /// assert_eq!(hash, 0x9fda_4e1d_bbe9_0a4b);
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, ());
    /// filter.insert(&Prehashed(hash))?;
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write(bytes);
        hasher.finish()
    }
}

impl BuildHasher for StableHashBuilder {
    type Hasher = StableHasher;

    #[inline]
    fn build_hasher(&self) -> StableHasher {
        StableHasher { state: START.absorb([self.seed, 0]), block: [0; 2], len: 0 }
    }
}

/// The hasher of [`StableHashBuilder`].
///
/// # Examples
///
/// ```
/// use std::hash::{BuildHasher, Hasher};
/// use coucal::StableHashBuilder;
///
/// let mut hasher = StableHashBuilder::default().build_hasher();
/// hasher.write(b"foo");
/// hasher.write(b"bar");
/// assert_eq!(hasher.finish(), StableHashBuilder::default().hash_bytes(b"foobar"));
/// ```
#[derive(Clone, Debug)]
pub struct StableHasher {
    state: State,
    /// What is not absorbed yet: `len % 16` bytes, and zeros.
    block: [u64; 2],
    len: u64,
}

impl StableHasher {
    /// Appends the lowest bytes of a number whose other bytes are zero, up to 8 of them.
    #[inline]
    fn append(&mut self, value: u64, bytes: u64) {
        let (held, shift) = (self.len % 16, self.len % 8 * 8);
        let (low, above) = (value << shift, value >> 1 >> (63 - shift));
        self.len += bytes;
        if held < 8 {
            self.block = [self.block[0] | low, above];
        } else {
            self.block[1] |= low;
            if held + bytes >= 16 {
                self.state = self.state.absorb(self.block);
                self.block = [above, 0];
            }
        }
    }
}

impl Hasher for StableHasher {
    #[inline]
    fn finish(&self) -> u64 {
        let is_whole = self.len.is_multiple_of(16);
        let state = if is_whole { self.state } else { self.state.absorb(self.block) };
        let State(first, second) = state.absorb([self.len, 0]);
        // With `^` a factor of zero would leave nothing of the other.
        first.wrapping_add(second)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        if self.len.is_multiple_of(16) {
            let (blocks, rest) = bytes.as_chunks::<16>();
            for block in blocks {
                let value = u128::from_le_bytes(*block);
                self.state = self.state.absorb([value as u64, (value >> 64) as u64]);
            }
            // The last eight bytes, also those before the rest: these are shifted out.
            self.block = match (rest.first_chunk(), bytes.last_chunk()) {
                (Some(first), Some(last)) => {
                    [word(first), word(last) >> 1 >> (127 - 8 * rest.len())]
                }
                (None, Some(last)) => [word(last) >> 1 >> (63 - 8 * rest.len()), 0],
                _ => [short_word(rest), 0],
            };
            self.len += bytes.len() as u64;
        } else {
            let (words, rest) = bytes.as_chunks();
            for bytes in words {
                self.append(word(bytes), 8);
            }
            self.append(short_word(rest), rest.len() as u64);
        }
    }

    // The lowest byte first, those as wide as a pointer with 64 bits. The standard library writes signed numbers as
    // unsigned ones, `isize` as `usize`.

    write_numbers! { self, value =>
        write_u8(u8): self.append(value.into(), 1);
        write_u16(u16): self.append(value.into(), 2);
        write_u32(u32): self.append(value.into(), 4);
        write_u64(u64): self.append(value, 8);
        write_usize(usize): self.append(value as u64, 8);
        write_isize(isize): self.append(value as u64, 8);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.append(value as u64, 8);
        self.append((value >> 64) as u64, 8);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::hash::Hash;

    use rand::RngExt;

    use super::*;
    use crate::random::{hashes, random};

    fn hash(item: impl Hash) -> u64 {
        StableHashBuilder::new(7).hash_one(item)
    }

    fn hash_bytes(bytes: &[u8]) -> u64 {
        StableHashBuilder::new(7).hash_bytes(bytes)
    }

    /// By the Python of docs/format.md, of the bytes in the documentation.
    #[test]
    fn test_vectors_of_items() {
        assert_eq!(hash(7_u8), 0x674f_933b_af7e_a5c7);
        assert_eq!(hash(7_i8), hash(7_u8));
        assert_eq!(hash(0x0102_u16), 0x40e2_87b9_23ed_1259);
        assert_eq!(hash(0x0102_i16), hash(0x0102_u16));
        assert_eq!(hash(7_u32), 0x2645_f83b_f077_5b0e);
        assert_eq!(hash(7_i32), hash(7_u32));
        assert_eq!(hash('\u{7}'), hash(7_u32));
        assert_eq!(hash(7_u64), 0x7edc_698a_6956_f0c7);
        assert_eq!(hash(7_i64), hash(7_u64));
        assert_eq!(hash(7_usize), hash(7_u64));
        assert_eq!(hash(7_isize), hash(7_u64));
        assert_eq!(hash(-1_i64), 0x097a_1bdc_45dc_f773);
        assert_eq!(hash(-1_isize), hash(-1_i64));
        assert_eq!(hash(7_u128), 0x91cf_8c0d_1b0f_b5d6);
        assert_eq!(hash(7_i128), hash(7_u128));
        assert_eq!(hash(true), hash(1_u8));
        assert_eq!(hash(()), 0x5459_bca5_6bd3_da40);
        assert_eq!(hash("egg"), 0x45d0_f00d_1aa9_4c10);
        assert_eq!(hash(String::from("egg")), hash("egg"));
        assert_eq!(hash(&[1_u8, 2, 3][..]), 0xd8e6_23a6_c602_b214);
        assert_eq!(hash(vec![1_u8, 2, 3]), hash(&[1_u8, 2, 3][..]));
        assert_eq!(hash((7_u64, "north")), 0xd2f1_453a_b989_8c9c);
    }

    /// As above: what the shorter list leaves open.
    #[test]
    fn test_vectors_of_each_kind() {
        assert_eq!(hash(0x0102_0304_u32), 0x0892_8630_d397_a529);
        assert_eq!(hash(0x0102_0304_0506_0708_u64), 0xd78e_1ee5_39eb_8217);
        assert_eq!(hash(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128), 0xec49_e427_b2a8_b81b);
        assert_eq!(hash(-2_i8), 0x88ac_a01a_3e32_f643);
        assert_eq!(hash(-2_i16), 0xa09b_32fc_94d6_828e);
        assert_eq!(hash(-2_i32), 0x53b4_0b97_8084_14a0);
        assert_eq!(hash(-2_i64), 0xc918_a4e6_4ab1_884f);
        assert_eq!(hash(-2_i128), 0x7274_239a_0561_b76c);
        assert_eq!(hash(-2_isize), 0xc918_a4e6_4ab1_884f);
        assert_eq!(hash(false), 0x24cc_6061_97c4_8392);
        assert_eq!(hash('\u{1f95a}'), 0x733f_d639_9ab3_1b18);
        assert_eq!(hash(""), 0x93df_b334_2f95_3844);
        assert_eq!(hash("\u{1f95a}"), 0xedb7_d836_cfb9_ce28);
        assert_eq!(hash("a".repeat(200)), 0xfc33_cb00_f47c_207c);
        assert_eq!(hash([1_u8, 2, 3]), 0xd8e6_23a6_c602_b214);
        assert_eq!(hash([0_u8; 0]), 0x01b3_c1c2_fe5f_85be);
        assert_eq!(hash(["egg", "nest"]), 0x5637_2810_ec1b_a525);
        assert_eq!(hash([(1_u8, true), (2, false)]), 0xaf27_67fb_7638_9c62);
        assert_eq!(hash(("a", "bc")), 0x134d_2659_1f61_10e4);
        assert_eq!(hash(("ab", "c")), 0x1f2b_76f8_55af_b8a7);
        assert_eq!(hash((1_u8, (2_u16, 3_u32), -1_i8)), 0xc369_566c_7b17_6f2a);
        assert_eq!(hash(Box::new(&7_u64)), 0x7edc_698a_6956_f0c7);
    }

    /// The standard library writes them as they lie in memory.
    #[cfg(target_endian = "little")]
    #[test]
    fn test_vectors_of_slices_of_integers() {
        assert_eq!(hash([0x0102_u16, 3]), 0x453e_1614_6c7a_5188);
        assert_eq!(hash(&[1_u32, 2][..]), 0x3aec_97df_4db1_81b7);
        assert_eq!(hash(vec![1_u64, 2]), 0x8f79_130d_47c1_0832);
        assert_eq!(hash([-1_i64]), 0xd46f_9883_9b5f_a149);
        if cfg!(target_pointer_width = "64") {
            assert_eq!(hash([7_usize]), 0x8482_8697_83a1_ef59);
        }
    }

    /// By the Python of docs/format.md.
    #[test]
    fn test_vectors_of_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        let vectors = [
            (0, 0x6664_e906_b149_cec8, 0x5459_bca5_6bd3_da40),
            (1, 0x1b80_9030_5219_9af5, 0x24cc_6061_97c4_8392),
            (15, 0x03d3_b6d1_e723_f23a, 0x71ca_e449_76b2_63ca),
            (16, 0x4575_e57d_4aca_44ab, 0x6a3c_277e_d08b_6524),
            (100, 0x7fc1_f151_6aa1_3081, 0x1c39_79d7_7aed_b618),
            (1024, 0x50f6_44a7_971c_fe74, 0x2bbd_6646_5461_6f8a),
        ];
        for (len, of_seed_0, of_seed_7) in vectors {
            assert_eq!(StableHashBuilder::default().hash_bytes(&bytes[..len]), of_seed_0, "{len}");
            assert_eq!(StableHashBuilder::new(7).hash_bytes(&bytes[..len]), of_seed_7, "{len}");
        }
    }

    /// In two parts or three of any length, and with a number behind the first one.
    #[test]
    fn parts_hash_as_the_whole() {
        let bytes: Vec<u8> = (1..=100).collect();
        let builder = StableHashBuilder::new(1);
        for len in (0..50).chain([100]) {
            let whole = builder.hash_bytes(&bytes[..len]);
            for (from, to) in (0..=len).flat_map(|from| (from..=len).map(move |to| (from, to))) {
                let mut hasher = builder.build_hasher();
                let part = &bytes[from..to];
                hasher.write(&bytes[..from]);
                match part.len() {
                    1 => hasher.write_u8(part[0]),
                    2 => hasher.write_u16(u16::from_le_bytes(part.try_into().unwrap())),
                    4 => hasher.write_u32(u32::from_le_bytes(part.try_into().unwrap())),
                    8 => hasher.write_u64(u64::from_le_bytes(part.try_into().unwrap())),
                    16 => hasher.write_u128(u128::from_le_bytes(part.try_into().unwrap())),
                    _ => hasher.write(part),
                }
                assert_eq!(hasher.clone().finish(), builder.hash_bytes(&bytes[..to]));
                hasher.write(&bytes[to..len]);
                assert_eq!(hasher.finish(), whole, "{from}..{to} of {len} bytes");
            }
        }
    }

    /// The share of changed bits, for each bit of the bytes and each of the hash. There are some 10^5 of them, and
    /// 8 standard deviations come by chance once in 10^15.
    #[test]
    fn each_bit_of_the_bytes_changes_each_of_the_hash() {
        const ROUNDS: u32 = 1 << 12;
        let mut random = random(1);
        for len in [1, 4, 8, 15, 16, 17, 24, 33, 48] {
            let mut changed = vec![[0_u32; 64]; 8 * len];
            for _ in 0..ROUNDS {
                let mut bytes: Vec<u8> = (0..len).map(|_| random.random()).collect();
                let builder = StableHashBuilder::new(random.random());
                let hash = builder.hash_bytes(&bytes);
                for (bit, changed) in changed.iter_mut().enumerate() {
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    let change = hash ^ builder.hash_bytes(&bytes);
                    bytes[bit / 8] ^= 1 << (bit % 8);
                    for (at, changed) in changed.iter_mut().enumerate() {
                        *changed += (change >> at) as u32 & 1;
                    }
                }
            }
            let far = |changed: &u32| changed.abs_diff(ROUNDS / 2) > 8 * ROUNDS.isqrt() / 2;
            assert!(!changed.iter().flatten().any(far), "{len} bytes");
        }
    }

    /// One block of words that make these factors: 0, 1 and the greatest beside others, and factors that change places.
    #[test]
    fn no_factor_hides_a_word() {
        let State(first, second) = START.absorb([7, 0]);
        let hash = |(a, b): (u64, u64)| hash((first ^ a, b.wrapping_sub(second)));
        let pairs = |x: u64| [0, 1, u64::MAX, !x].into_iter().flat_map(move |y| [(x, y), (y, x)]);
        let hashes: HashSet<u64> = hashes(2).take(1000).flat_map(pairs).map(hash).collect();
        assert_eq!(hashes.len(), 8000);
    }

    /// One byte among zeros, and zeros alone, of any number.
    #[test]
    fn a_run_of_zeros_hides_nothing() {
        let mut bytes = vec![0; 4096];
        let mut hashes: HashSet<u64> =
            (0..bytes.len()).map(|len| hash_bytes(&bytes[..len])).collect();
        for at in 0..bytes.len() {
            bytes[at] = 1;
            hashes.insert(hash_bytes(&bytes));
            bytes[at] = 0;
        }
        assert_eq!(hashes.len(), 8192);
    }

    /// Seeds of one bit, and small ones.
    #[test]
    fn seeds_have_hashes_of_their_own() {
        let seeds: HashSet<u64> = (0..64).map(|bit| 1 << bit).chain(0..200).collect();
        let hash = |seed| (0..100_u64).map(move |key| StableHashBuilder::new(seed).hash_one(key));
        assert_eq!(
            seeds.iter().copied().flat_map(hash).collect::<HashSet<_>>().len(),
            100 * seeds.len()
        );
    }
}
