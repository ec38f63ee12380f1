//! The stable hasher. Its hashes of the same bytes are the same on every machine.

use core::hash::{BuildHasher, Hasher};

use crate::backports::as_chunks;

/// The state, which absorbs 16 bytes at a time, so that the bytes of an incomplete block fit into two registers. (XXH3
/// needs the length first, and a `Hasher` knows it last. With a buffer in memory, a short string took twice as long.)
#[derive(Clone, Copy, Debug)]
struct HashState(u64, u64);

/// The first number: the first 64 bits of the fraction of pi, with their halves exchanged. The second number: those of
/// the golden ratio, in their order.
///
/// A seed that is equal to the first number, or nearly equal, leaves few bits set in one word of the state, or none.
/// Then short keys have the same hash. So the first number must not be one that a user may choose as a seed.
const START: HashState = HashState(0x85a3_08d3_243f_6a88, 0x9e37_79b9_7f4a_7c15);

impl HashState {
    /// Returns the state after a block: the lowest 128 bits of (2^64 + a)(2^64 + b), with their halves exchanged.
    ///
    /// * No factor is zero: a factor of zero would hide the other.
    /// * The halves are exchanged, because the lowest bits of a product depend only on the lowest bits of its factors:
    ///   a run of zeros would clear them one by one.
    /// * `^ a` is applied because two words could otherwise swap factors and give the same product.
    /// * One word is combined with `^` and the other by an addition. If both were combined alike, the compiler would
    ///   make a vector of them, and the multiplication would wait for its parts.
    #[inline]
    fn absorb(self, [first, second]: [u64; 2]) -> Self {
        let (a, b) = (self.0 ^ first, self.1.wrapping_add(second));
        let product = u128::from(a) * u128::from(b);
        let upper = (product >> 64) as u64;
        Self(upper.wrapping_add(a).wrapping_add(b), product as u64 ^ a)
    }
}

/// Returns a word of fewer than 8 bytes, the lowest first. The reads overlap, and agree where they do.
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

/// A hasher that hashes the same bytes to the same number on every machine, in every run and in every release of this
/// crate: for filters that are stored, or that are exchanged between processes.
///
/// The hash has 64 bits. It depends on the seed and on the bytes that the [`Hash`](core::hash::Hash) implementation of
/// the item writes, but not on how these bytes are divided into calls. (Some items do not write the same bytes
/// everywhere: [see below](#what-is-not-stable).) A single number is written with the lowest byte first, and `usize`
/// and `isize` as numbers of 64 bits. The bytes of some types:
///
/// | item | bytes | hash of the example, seed 0 |
/// |---|---|---|
/// | `u8` to `u128`, `i8` to `i128` | its own, lowest first: `7_u64` is `07 00 00 00 00 00 00 00` | `274744c0ab77df43` |
/// | `usize`, `isize` | as `u64` and `i64` | |
/// | `bool`, `char` | as `u8` and `u32` | |
/// | `str`, `String` | UTF-8, and then `ff`: `"egg"` is `65 67 67 ff` | `827e849dca12bfb7` |
/// | `[T]`, `[T; N]`, `Vec<T>` | the length as `u64`, then each part: `[1_u8, 2, 3]` as a slice is `03 00 00 00 00 00 00 00 01 02 03` | `38cff3aa3b197d1f` |
/// | tuples, references, boxes | the parts one after the other, with nothing between: `(7_u64, "north")` | `3c5c45dc36724f51` |
///
/// So two items with the same bytes are one item, whatever their types. The
/// [cookbook](crate::cookbook#keys-of-several-types) says which items have the same bytes, and what this hash costs
/// compared with the default one. [`hash_bytes`](Self::hash_bytes) hashes bytes as they are, for a filter that takes
/// them as [`Prehashed`](crate::Prehashed). Other languages can compute the same hash: `docs/format.md` of the
/// repository defines it in ten lines of Python.
///
/// # What is not stable
///
/// The `Hash` implementation of an item decides which bytes it writes. Tests pin the bytes in the table. The standard
/// library does not promise to keep them, and promises nothing for other types:
///
/// * A derived `Hash` of an `enum` writes the number of the variant (as `isize`, so 64 bits here), which changes with
///   the order of the variants.
/// * A derived `Hash` of a `struct` follows the order of its fields.
/// * Paths differ between systems.
/// * For slices, arrays and vectors of integers of more than one byte, the standard library writes the integers as they
///   are in memory: with the lowest byte first on x86-64, ARM and most other machines, but not on a big-endian machine.
///   In such a slice, `usize` and `isize` have the length of a pointer. Tuples of integers are stable, and so are
///   bytes.
/// * `Ipv4Addr` and `Ipv6Addr` write their bytes as one integer of the machine, in the opposite order on a big-endian
///   machine. So do `IpAddr` and `SocketAddr`. Use `octets()` of the address as the key, because bytes are stable.
///
/// If a hash must outlive a program, define the bytes of a key yourself, and use `hash_bytes`.
///
/// # The seed and serde
///
/// With the feature `serde`, filters, maplets and expiring filters with this hasher are `Serialize` and `Deserialize`,
/// but only with the seed 0 of the default: serializing one with another seed fails at run time, because the seed is not
/// among the bytes of a snapshot. For another seed, serialize the [`Snapshot`](crate::Snapshot), and restore it with
/// [`from_snapshot`](crate::CuckooFilter::from_snapshot) and a hasher of this seed.
///
/// # Adversaries
///
/// This hasher does not resist an adversary: it is not a keyed hash, and its seed is not a secret key. A
/// [`KeyedHashBuilder`](crate::KeyedHashBuilder) resists one.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, StableHashBuilder};
///
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
/// filter.insert("egg")?;
/// assert_eq!(filter.hash_of("egg"), 0xe2f4_24d8_f04b_0a07);
/// # Ok::<(), coucal::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StableHashBuilder {
    seed: u64,
}

impl StableHashBuilder {
    /// Returns a hasher with this seed. The default has the seed 0. Any seed is as good as any other; all filters and
    /// snapshots that work together need the same one.
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

    /// Returns the seed.
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

    /// Returns the hash of exactly these bytes. It differs from [`hash_one`](BuildHasher::hash_one) of the same text,
    /// which adds a byte at the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, NoHasher, Prehashed, StableHashBuilder};
    ///
    /// // stable_hash(0, b"foobar") in the Python of docs/format.md.
    /// let hash = StableHashBuilder::default().hash_bytes(b"foobar");
    /// assert_eq!(hash, 0xbe0c_d1e7_de41_2360);
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, NoHasher);
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
    state: HashState,
    /// The `len % 16` bytes that are not absorbed yet, followed by zeros.
    block: [u64; 2],
    len: u64,
}

impl StableHasher {
    /// Appends the lowest `bytes` bytes of a number whose other bytes are zero, at most 8 of them.
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
        let is_whole = self.len % 16 == 0;
        let state = if is_whole { self.state } else { self.state.absorb(self.block) };
        let HashState(first, second) = state.absorb([self.len, 0]);
        // With `^`, a factor of zero would leave nothing of the other.
        first.wrapping_add(second)
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let word = |bytes: &[u8; 8]| u64::from_le_bytes(*bytes);
        if self.len % 16 == 0 {
            let (blocks, rest) = as_chunks::<16>(bytes);
            for block in blocks {
                let value = u128::from_le_bytes(*block);
                self.state = self.state.absorb([value as u64, (value >> 64) as u64]);
            }
            // The last eight bytes may begin before the rest: the bytes before it are shifted out.
            self.block = match (rest.first_chunk(), bytes.last_chunk()) {
                (Some(first), Some(last)) => {
                    [word(first), word(last) >> 1 >> (127 - 8 * rest.len())]
                }
                (None, Some(last)) => [word(last) >> 1 >> (63 - 8 * rest.len()), 0],
                _ => [short_word(rest), 0],
            };
            self.len += bytes.len() as u64;
        } else {
            let (words, rest) = as_chunks(bytes);
            for bytes in words {
                self.append(word(bytes), 8);
            }
            self.append(short_word(rest), rest.len() as u64);
        }
    }

    // The lowest byte first. Numbers as wide as a pointer are written with 64 bits. By default, signed numbers are
    // written as unsigned ones; but an `isize` of 32 bits, written as a `usize`, would lose its sign.

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

    /// From the Python of docs/format.md, for the bytes in the documentation.
    #[test]
    fn test_vectors_of_items() {
        assert_eq!(hash(7_u8), 0xf517_2a80_6e8a_5297);
        assert_eq!(hash(7_i8), hash(7_u8));
        assert_eq!(hash(0x0102_u16), 0x4228_60fd_4144_3e61);
        assert_eq!(hash(0x0102_i16), hash(0x0102_u16));
        assert_eq!(hash(7_u32), 0x458b_90b9_1d28_469c);
        assert_eq!(hash(7_i32), hash(7_u32));
        assert_eq!(hash('\u{7}'), hash(7_u32));
        assert_eq!(hash(7_u64), 0x57c6_bf1a_6560_4e10);
        assert_eq!(hash(7_i64), hash(7_u64));
        assert_eq!(hash(7_usize), hash(7_u64));
        assert_eq!(hash(7_isize), hash(7_u64));
        assert_eq!(hash(-1_i64), 0xed1d_6971_f919_3d4b);
        assert_eq!(hash(-1_isize), hash(-1_i64));
        assert_eq!(hash(7_u128), 0x0bdd_b1c5_f3b0_5693);
        assert_eq!(hash(7_i128), hash(7_u128));
        assert_eq!(hash(true), hash(1_u8));
        assert_eq!(hash(()), 0xfc61_6e37_363f_9ebf);
        assert_eq!(hash("egg"), 0xe2f4_24d8_f04b_0a07);
        assert_eq!(hash(String::from("egg")), hash("egg"));
        assert_eq!(hash(&[1_u8, 2, 3][..]), 0xbe04_02cf_1390_2ba3);
        assert_eq!(hash(vec![1_u8, 2, 3]), hash(&[1_u8, 2, 3][..]));
        assert_eq!(hash((7_u64, "north")), 0xf4fa_56da_b9f0_3e7e);
    }

    /// From the same Python, for items that the list above does not cover.
    #[test]
    fn test_vectors_of_each_kind() {
        assert_eq!(hash(0x0102_0304_u32), 0x3866_7e1a_9f1d_94a6);
        assert_eq!(hash(0x0102_0304_0506_0708_u64), 0xe228_5cd9_9275_0ffb);
        assert_eq!(hash(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128), 0x856a_5da2_5a22_68cb);
        assert_eq!(hash(-2_i8), 0xfb3c_978a_1d95_6c71);
        assert_eq!(hash(-2_i16), 0x6630_1994_a350_70f0);
        assert_eq!(hash(-2_i32), 0x8aae_f23b_5586_fe97);
        assert_eq!(hash(-2_i64), 0x1eed_7eae_8465_9e54);
        assert_eq!(hash(-2_i128), 0x53a7_f143_c84f_7f1b);
        assert_eq!(hash(-2_isize), 0x1eed_7eae_8465_9e54);
        assert_eq!(hash(false), 0x41fe_83e7_a7b1_09bc);
        assert_eq!(hash('\u{1f95a}'), 0xfb31_10ad_01dc_87ae);
        assert_eq!(hash(""), 0x93ae_3e6c_6f8d_5b84);
        assert_eq!(hash("\u{1f95a}"), 0xae00_bf5b_bfe1_0e22);
        assert_eq!(hash("a".repeat(200)), 0xf344_c81c_5966_a7b6);
        assert_eq!(hash([1_u8, 2, 3]), 0xbe04_02cf_1390_2ba3);
        assert_eq!(hash([0_u8; 0]), 0x7e0b_3be1_80cd_58f0);
        assert_eq!(hash(["egg", "nest"]), 0xae5d_1434_d04a_20d2);
        assert_eq!(hash([(1_u8, true), (2, false)]), 0xede5_171a_c6c3_4833);
        assert_eq!(hash(("a", "bc")), 0xfcb0_9ff0_7c68_c217);
        assert_eq!(hash(("ab", "c")), 0x6719_efb7_b7ef_5a9f);
        assert_eq!(hash((1_u8, (2_u16, 3_u32), -1_i8)), 0x41bb_54e2_b677_0382);
        assert_eq!(hash(Box::new(&7_u64)), 0x57c6_bf1a_6560_4e10);
    }

    /// The standard library writes these integers as they are in memory.
    #[cfg(target_endian = "little")]
    #[test]
    fn test_vectors_of_slices_of_integers() {
        assert_eq!(hash([0x0102_u16, 3]), 0xc35d_485c_8d93_3b73);
        assert_eq!(hash(&[1_u32, 2][..]), 0xa9cf_81b6_e6b4_b4c4);
        assert_eq!(hash(vec![1_u64, 2]), 0xacb7_21af_5ed5_0073);
        assert_eq!(hash([-1_i64]), 0x5a25_28eb_46f9_8214);
        if cfg!(target_pointer_width = "64") {
            assert_eq!(hash([7_usize]), 0xb05a_9ba9_61f1_bda1);
        }
    }

    /// From the Python of docs/format.md.
    #[test]
    fn test_vectors_of_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        let vectors = [
            (0, 0x5c65_048c_dd12_c284, 0xfc61_6e37_363f_9ebf),
            (1, 0xa37e_7b2e_49cb_7f77, 0x41fe_83e7_a7b1_09bc),
            (15, 0xb173_d88a_f8a5_bbc8, 0xe2fe_8d23_29c9_6c1a),
            (16, 0x1365_afb6_e0ea_ff84, 0x1b51_5d78_3f07_9d37),
            (100, 0xf715_38d9_39e6_7325, 0x85e0_ab25_7e8f_01a2),
            (1024, 0x64c9_cb7f_b84a_dcf6, 0x803c_5a6d_f4b0_d082),
        ];
        for (len, of_seed_0, of_seed_7) in vectors {
            assert_eq!(StableHashBuilder::default().hash_bytes(&bytes[..len]), of_seed_0, "{len}");
            assert_eq!(StableHashBuilder::new(7).hash_bytes(&bytes[..len]), of_seed_7, "{len}");
        }
    }

    /// Bytes in two or three parts of any length, and with a number after the first part, hash as the whole.
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

    /// Each bit of the hash changes with each bit of the bytes in about half of the rounds. Some 10^5 shares are
    /// counted, and 8 standard deviations occur by chance once in 10^15.
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

    /// Blocks of words that make certain factors: 0, 1 and the greatest one beside others, and factors that change
    /// places.
    #[test]
    fn no_factor_hides_a_word() {
        let HashState(first, second) = START.absorb([7, 0]);
        let hash = |(a, b): (u64, u64)| hash((first ^ a, b.wrapping_sub(second)));
        let pairs = |x: u64| [0, 1, u64::MAX, !x].into_iter().flat_map(move |y| [(x, y), (y, x)]);
        let hashes: HashSet<u64> = hashes(2).take(1000).flat_map(pairs).map(hash).collect();
        assert_eq!(hashes.len(), 8000);
    }

    /// One byte among zeros, and any number of zeros alone.
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

    /// Seeds with one bit set, small seeds, numbers that are often used as seeds, and their neighbours.
    #[test]
    fn seeds_have_hashes_of_their_own() {
        // The first bits of the fraction of pi, and the next ones; of the golden ratio, of e, and of the root of 2; and
        // all bits.
        let known = [
            0x243f_6a88_85a3_08d3,
            0x1319_8a2e_0370_7344,
            0x9e37_79b9_7f4a_7c15,
            0xb7e1_5162_8aed_2a6a,
            0x6a09_e667_f3bc_c908,
            u64::MAX,
        ];
        let beside = |seed: u64| (0..16).flat_map(move |n| [seed ^ n, seed ^ n << 60]);
        let bits = (0..64).map(|bit| 1 << bit);
        let seeds: HashSet<u64> =
            bits.chain(0..200).chain(known.into_iter().flat_map(beside)).collect();
        let hashes = |seed: u64| {
            let hash_of = StableHashBuilder::new(seed);
            (0..100_u64).flat_map(move |key| {
                let of_parts = hash_of.hash_one((key as u16, 7_u32, key as u8));
                let of_text = hash_of.hash_one(key.to_string());
                [hash_of.hash_one(key), of_parts, of_text, hash_of.hash_one((key / 10, key % 10))]
            })
        };
        let distinct = seeds.iter().copied().flat_map(hashes).collect::<HashSet<_>>().len();
        assert_eq!(distinct, 400 * seeds.len());
    }
}
