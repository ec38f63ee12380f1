//! The hasher whose hashes of the same bytes are the same on every machine.

use core::hash::{BuildHasher, Hasher};

use twox_hash::XxHash3_64;
use twox_hash::xxhash3_64::{DEFAULT_SECRET_LENGTH, RawHasher, SecretBuffer};

/// Up to this many bytes of an item are buffered and hashed at once: the set-up of the streaming
/// algorithm takes longer than the hash of a short key.
const BUFFER_BYTES: usize = 128;

/// The streaming hash, with its secret in place: `XxHash3_64` has it in a box, and aborts if there is no
/// memory for that.
type LongHash = RawHasher<[u8; DEFAULT_SECRET_LENGTH]>;

fn long_hash(seed: u64) -> LongHash {
    let secret = SecretBuffer::with_seed(seed, [0; DEFAULT_SECRET_LENGTH]);
    LongHash::new(secret.expect("a secret of this length"))
}

/// A hasher that hashes the same bytes to the same number on every machine, in every run and in every
/// release of this crate: for filters that are stored, or that are exchanged between processes.
///
/// The hash is XXH3 with 64 bits and this seed, as its specification defines it, of the bytes that
/// the item's [`Hash`](core::hash::Hash) implementation writes. (Some items do not write the same bytes
/// everywhere: [see below](#what-is-not-stable).) A single number is written with the lowest byte first,
/// and `usize` and `isize` as numbers of 64 bits. The bytes of some types:
///
/// | item | bytes | hash of the example, seed 0 |
/// |---|---|---|
/// | `u8` to `u128`, `i8` to `i128` | its own, lowest first: `7_u64` is `07 00 00 00 00 00 00 00` | `81671e58d6b596af` |
/// | `usize`, `isize` | as `u64` and `i64` | |
/// | `bool`, `char` | as `u8` and `u32` | |
/// | `str`, `String` | UTF-8, and then `ff`: `"egg"` is `65 67 67 ff` | `4dd45a50b11cdb6d` |
/// | `[T]`, `[T; N]`, `Vec<T>` | the length as `u64`, then each part: `[1_u8, 2, 3]` as a slice is `03 00 00 00 00 00 00 00 01 02 03` | `c70305c85a044cde` |
/// | tuples, references, boxes | the parts one after the other, with nothing between: `(7_u64, "north")` | `e775d323dbc9ecb7` |
///
/// [`hash_bytes`](Self::hash_bytes) hashes bytes as they are, for a filter that takes them as
/// [`Prehashed`](crate::Prehashed). Other languages can compute the same hash.
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
/// This hasher does not resist an adversary: XXH3 is no keyed hash, and its seed is no secret key.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, StableHashBuilder};
///
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
/// filter.insert("egg")?;
/// assert_eq!(filter.hash_of("egg"), 0xcc47_fab3_78bc_8003);
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

    /// XXH3 with 64 bits of exactly these bytes. The result differs from
    /// [`hash_one`](BuildHasher::hash_one) of the same text, which adds a byte at the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, StableHashBuilder, Prehashed};
    ///
    /// // xxhash.xxh3_64_intdigest(b"foobar", seed=0) in Python.
    /// let hash = StableHashBuilder::default().hash_bytes(b"foobar");
    /// assert_eq!(hash, 0xd78f_da63_144c_5c84);
    ///
    /// let filter = CuckooFilter::with_capacity_and_hasher(1000, ());
    /// filter.insert(&Prehashed(hash))?;
    /// # Ok::<(), coucal::Error>(())
    /// ```
    #[must_use]
    pub fn hash_bytes(&self, bytes: &[u8]) -> u64 {
        XxHash3_64::oneshot_with_seed(self.seed, bytes)
    }
}

impl BuildHasher for StableHashBuilder {
    type Hasher = StableHasher;

    #[inline]
    fn build_hasher(&self) -> StableHasher {
        StableHasher { builder: *self, bytes: Bytes::Few(0, [0; BUFFER_BYTES]) }
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
#[derive(Clone)]
pub struct StableHasher {
    builder: StableHashBuilder,
    bytes: Bytes,
}

/// The bytes so far.
#[derive(Clone)]
#[expect(clippy::large_enum_variant, reason = "a box aborts where there is no memory for it")]
enum Bytes {
    /// As many as this, as they are.
    Few(usize, [u8; BUFFER_BYTES]),
    /// More than the buffer holds: in the streaming hash.
    Many(LongHash),
}

impl StableHasher {
    // Apart, as is `finish_long`: inlined, they would slow the hash of a short key.
    #[cold]
    #[inline(never)]
    fn write_long(&mut self, bytes: &[u8]) {
        if let Bytes::Few(len, buffer) = &self.bytes {
            let mut long = long_hash(self.builder.seed);
            long.write(&buffer[..*len]);
            self.bytes = Bytes::Many(long);
        }
        if let Bytes::Many(long) = &mut self.bytes {
            long.write(bytes);
        }
    }

    #[cold]
    #[inline(never)]
    fn finish_long(long: &LongHash) -> u64 {
        long.finish()
    }
}

/// Numbers with their lowest byte first, those as wide as a pointer with 64 bits.
macro_rules! write_numbers {
    ($($method:ident($value:ty as $wide:ty))*) => {$(
        #[inline]
        fn $method(&mut self, value: $value) {
            self.write(&(value as $wide).to_le_bytes());
        }
    )*};
}

impl Hasher for StableHasher {
    #[inline]
    fn finish(&self) -> u64 {
        match &self.bytes {
            Bytes::Few(len, buffer) => self.builder.hash_bytes(&buffer[..*len]),
            Bytes::Many(long) => Self::finish_long(long),
        }
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        if let Bytes::Few(len, buffer) = &mut self.bytes
            && bytes.len() <= BUFFER_BYTES - *len
        {
            buffer[*len..*len + bytes.len()].copy_from_slice(bytes);
            *len += bytes.len();
        } else {
            self.write_long(bytes);
        }
    }

    write_numbers! {
        write_u16(u16 as u16) write_u32(u32 as u32) write_u64(u64 as u64) write_u128(u128 as u128)
        write_usize(usize as u64)
        write_i16(i16 as i16) write_i32(i32 as i32) write_i64(i64 as i64) write_i128(i128 as i128)
        write_isize(isize as i64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hash;

    fn hash(item: impl Hash) -> u64 {
        StableHashBuilder::new(7).hash_one(item)
    }

    /// By the reference implementation in C, of the bytes in the documentation.
    #[test]
    fn test_vectors_of_items() {
        assert_eq!(hash(7_u8), 0x2b09_e01d_91ab_50fc);
        assert_eq!(hash(7_i8), hash(7_u8));
        assert_eq!(hash(0x0102_u16), 0x5fe0_a251_9d8d_ef5b);
        assert_eq!(hash(0x0102_i16), hash(0x0102_u16));
        assert_eq!(hash(7_u32), 0x72e7_bb9f_b13d_bf7a);
        assert_eq!(hash(7_i32), hash(7_u32));
        assert_eq!(hash('\u{7}'), hash(7_u32));
        assert_eq!(hash(7_u64), 0xd73a_59b5_0701_0c1a);
        assert_eq!(hash(7_i64), hash(7_u64));
        assert_eq!(hash(7_usize), hash(7_u64));
        assert_eq!(hash(7_isize), hash(7_u64));
        assert_eq!(hash(-1_i64), 0x3ea9_37a3_184e_65c1);
        assert_eq!(hash(-1_isize), hash(-1_i64));
        assert_eq!(hash(7_u128), 0xc6af_50c0_2b3a_4c4b);
        assert_eq!(hash(7_i128), hash(7_u128));
        assert_eq!(hash(true), hash(1_u8));
        assert_eq!(hash(()), 0x913a_e087_3e9b_7eb8);
        assert_eq!(hash("egg"), 0xcc47_fab3_78bc_8003);
        assert_eq!(hash(String::from("egg")), hash("egg"));
        assert_eq!(hash(&[1_u8, 2, 3][..]), 0xd316_77d7_3d28_8101);
        assert_eq!(hash(vec![1_u8, 2, 3]), hash(&[1_u8, 2, 3][..]));
        assert_eq!(hash((7_u64, "north")), 0x862e_5931_e11f_cbff);
    }

    /// As above: what the shorter list leaves open.
    #[test]
    fn test_vectors_of_each_kind() {
        assert_eq!(hash(0x0102_0304_u32), 0x8ae3_8fb2_516e_8b1c);
        assert_eq!(hash(0x0102_0304_0506_0708_u64), 0xc2eb_fc6e_b412_a8c8);
        assert_eq!(hash(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128), 0xce84_2065_aafa_8ba9);
        assert_eq!(hash(-2_i8), 0x9425_6fad_ae54_0eef);
        assert_eq!(hash(-2_i16), 0x0350_d0ca_1e7c_a0a0);
        assert_eq!(hash(-2_i32), 0x5f5e_1bad_f99a_d9e1);
        assert_eq!(hash(-2_i64), 0xce58_5273_c24e_8f5d);
        assert_eq!(hash(-2_i128), 0x3822_2727_2db6_8855);
        assert_eq!(hash(-2_isize), 0xce58_5273_c24e_8f5d);
        assert_eq!(hash(false), 0x2c45_aa60_ff5d_c0e5);
        assert_eq!(hash('\u{1f95a}'), 0x44c2_0ef1_ab65_e383);
        assert_eq!(hash(""), 0x2b83_7d46_71eb_d9f8);
        assert_eq!(hash("\u{1f95a}"), 0xa95b_6af4_92dd_a3ca);
        assert_eq!(hash("a".repeat(200)), 0xdbdf_47c4_b650_00da);
        assert_eq!(hash([1_u8, 2, 3]), 0xd316_77d7_3d28_8101);
        assert_eq!(hash([0_u8; 0]), 0x473e_2c8c_d5d4_6be9);
        assert_eq!(hash(["egg", "nest"]), 0x3470_ddc4_c33d_4ece);
        assert_eq!(hash([(1_u8, true), (2, false)]), 0x9e42_b0c6_1097_b23e);
        assert_eq!(hash(("a", "bc")), 0x52d0_8328_aa69_b908);
        assert_eq!(hash(("ab", "c")), 0x2358_9b48_ed38_38f2);
        assert_eq!(hash((1_u8, (2_u16, 3_u32), -1_i8)), 0x9ac5_e963_5227_7545);
        assert_eq!(hash(Box::new(&7_u64)), 0xd73a_59b5_0701_0c1a);
    }

    /// The standard library writes them as they lie in memory.
    #[cfg(target_endian = "little")]
    #[test]
    fn test_vectors_of_slices_of_integers() {
        assert_eq!(hash([0x0102_u16, 3]), 0xaf51_96fc_90fc_81fb);
        assert_eq!(hash(&[1_u32, 2][..]), 0x8482_8a37_c3f5_bbf8);
        assert_eq!(hash(vec![1_u64, 2]), 0xccfb_7a03_f6d5_035e);
        assert_eq!(hash([-1_i64]), 0x7790_ba02_722c_35e4);
        if cfg!(target_pointer_width = "64") {
            assert_eq!(hash([7_usize]), 0xf74a_ecf6_8116_87fe);
        }
    }

    /// By the reference implementation in C: each of the algorithm's ways for some length.
    #[test]
    fn test_vectors_of_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        let vectors = [
            (0, 0x2d06_8005_38d3_94c2, 0x913a_e087_3e9b_7eb8),
            (100, 0x004e_4f92_1a64_bd1c, 0xf99b_7990_5a88_dc51),
            (240, 0x375a_384d_957f_e865, 0x7c24_1a22_d405_c084),
            (241, 0x02e8_cd95_421c_6d02, 0xd8f2_ad25_6b03_a316),
            (1024, 0xa870_f929_8439_8d22, 0xf196_329c_6530_20f8),
        ];
        for (len, of_seed_0, of_seed_7) in vectors {
            assert_eq!(StableHashBuilder::default().hash_bytes(&bytes[..len]), of_seed_0, "{len}");
            assert_eq!(StableHashBuilder::new(7).hash_bytes(&bytes[..len]), of_seed_7, "{len}");
        }
    }

    /// In parts of any length, buffered or not.
    #[test]
    fn parts_hash_as_the_whole() {
        let bytes: Vec<u8> = (0..=255).cycle().take(700).collect();
        for len in (0..40).chain(100..300).chain([700]) {
            let whole = StableHashBuilder::new(1).hash_bytes(&bytes[..len]);
            for part in [1, 3, 64, 127, 128, 129, 1000] {
                let mut hasher = StableHashBuilder::new(1).build_hasher();
                bytes[..len].chunks(part).for_each(|part| hasher.write(part));
                assert_eq!(hasher.finish(), whole, "{len} bytes in parts of {part}");
                assert_eq!(hasher.clone().finish(), whole);
            }
        }
    }
}
