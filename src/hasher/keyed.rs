//! The hasher with a secret key. Its hashes of the same bytes are the same on every machine.

use core::fmt;
use core::hash::{BuildHasher, Hasher};

use siphasher::sip::SipHasher13;

/// A hasher with a secret key, for keys from an adversary in filters that are stored or exchanged. Without the key,
/// nobody can compute keys that collide.
///
/// The algorithm is SipHash-1-3, that of `std::hash::RandomState`. But the key of a `RandomState` is lost when the
/// process ends. The hashes are the same on every machine, in every run and in every release of this crate, as those of
/// a [`StableHashBuilder`](crate::StableHashBuilder) are. [Its
/// documentation](crate::StableHashBuilder#what-is-not-stable) says which bytes the types of items write, and which
/// types do not write the same bytes everywhere. The [cookbook](crate::cookbook#keys-from-an-adversary) says what the
/// key costs.
///
/// # The key
///
/// * **Make the key with the random numbers of the operating system**, as `getrandom::fill(&mut key)` of the crate
///   `getrandom` returns them. Do not use a password or a number. (There is no constructor with a random key: such a
///   key could not be stored, and the standard library does not promise that its random numbers are secret.)
/// * **Store the key where the adversary does not see it**, in a file or among your secrets. A snapshot does not
///   contain the key. It contains the hash of a fixed input, by which [`restore`](crate::CuckooFilter::restore) detects
///   another key.
/// * **If the key is lost**, no snapshot of the filter can be restored. **If the key leaks**, this hasher resists an
///   adversary no better than a `StableHashBuilder`. In both cases make a new key, and fill a new filter from the
///   items: a filter does not contain the items, so it cannot change its key.
/// * **Do not show the hashes.** They do not reveal the key, but they reveal which of their items collide.
/// * `Debug` does not print the key, and no method returns it. It is not wiped from memory.
///
/// A filter with this hasher is not `Serialize`, because deserializing could not restore the key. Serialize its
/// [`snapshot`](crate::CuckooFilter::snapshot), and restore the snapshot with the hasher. A
/// [view](crate::CuckooFilterView::from_bytes) also takes the hasher.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Error, Fp16x4, KeyedHashBuilder};
///
/// # let key = *b"not a secret key";
/// // `key` is what the service made when it first started: 16 random bytes.
/// let filter = CuckooFilter::with_capacity_and_hasher(1000, KeyedHashBuilder::new(key));
/// filter.insert("egg")?;
/// let bytes = filter.snapshot()?.into_bytes();
///
/// // In another process:
/// let restored = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, KeyedHashBuilder::new(key))?;
/// assert!(restored.contains("egg"));
/// let other = KeyedHashBuilder::new([0; 16]);
/// assert_eq!(CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, other).err(), Some(Error::OtherHasher));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct KeyedHashBuilder {
    /// The key as two numbers, each with its lowest byte first. Four `^` make the initial state of a hash from them.
    key: [u64; 2],
}

impl KeyedHashBuilder {
    /// Returns a hasher with this key.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::KeyedHashBuilder;
    ///
    /// let mut key = [0; 16];
    /// getrandom::fill(&mut key)?;
    /// let hasher = KeyedHashBuilder::new(key); // and store the key
    /// # Ok::<(), getrandom::Error>(())
    /// ```
    #[must_use]
    pub const fn new(key: [u8; 16]) -> Self {
        let key = u128::from_le_bytes(key);
        Self { key: [key as u64, (key >> 64) as u64] }
    }

    /// Returns the hash of exactly these bytes. Every implementation of SipHash-1-3 computes the same hash with this
    /// key. It differs from [`hash_one`](BuildHasher::hash_one) of the same text, which adds a byte at the end.
    ///
    /// # Examples
    ///
    /// ```
    /// use coucal::{CuckooFilter, KeyedHashBuilder, NoHasher, Prehashed};
    ///
    /// let hasher = KeyedHashBuilder::new([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]);
    /// let hash = hasher.hash_bytes(b"foobar");
    /// assert_eq!(hash, 0x9814_55db_d699_259b);
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

impl BuildHasher for KeyedHashBuilder {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        let [first, second] = self.key;
        KeyedHasher(SipHasher13::new_with_keys(first, second))
    }
}

impl fmt::Debug for KeyedHashBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The key stays secret.
        f.debug_struct("KeyedHashBuilder").finish_non_exhaustive()
    }
}

/// The hasher of [`KeyedHashBuilder`].
///
/// # Examples
///
/// ```
/// use std::hash::{BuildHasher, Hasher};
/// use coucal::KeyedHashBuilder;
///
/// let builder = KeyedHashBuilder::new([7; 16]);
/// let mut hasher = builder.build_hasher();
/// hasher.write(b"foo");
/// hasher.write(b"bar");
/// assert_eq!(hasher.finish(), builder.hash_bytes(b"foobar"));
/// ```
#[derive(Clone)]
pub struct KeyedHasher(SipHasher13);

impl fmt::Debug for KeyedHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The hasher contains the key, too.
        f.debug_struct("KeyedHasher").finish_non_exhaustive()
    }
}

impl Hasher for KeyedHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    // `SipHasher13` writes a number as it is in memory, so on a big-endian machine it gets a number with its bytes
    // reversed. Numbers as wide as a pointer are written with 64 bits. By default, signed numbers are written as
    // unsigned ones; but an `isize` of 32 bits, written as a `usize`, would lose its sign.

    write_numbers! { self, value =>
        write_u8(u8): self.0.write_u8(value);
        write_u16(u16): self.0.write_u16(value.to_le());
        write_u32(u32): self.0.write_u32(value.to_le());
        write_u64(u64): self.0.write_u64(value.to_le());
        write_usize(usize): self.write_u64(value as u64);
        write_isize(isize): self.write_u64(value as u64);
    }

    #[inline]
    fn write_u128(&mut self, value: u128) {
        self.write_u64(value as u64);
        self.write_u64((value >> 64) as u64);
    }
}

#[cfg(test)]
mod tests {
    use std::hash::Hash;

    use super::*;
    use crate::hasher::ComparedHasher;

    const KEY: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

    /// From an implementation of SipHash-1-3 in Python, which agrees with Python's own `hash` of bytes.
    #[test]
    fn test_vectors_of_bytes() {
        let bytes: Vec<u8> = (0..=255).cycle().take(1024).collect();
        let vectors = [
            (0, 0xd1fb_a762_150c_532c, 0xabac_0158_050f_c4dc),
            (1, 0x68a9_1412_8e01_e473, 0xc9f4_9bf3_7d57_ca93),
            (7, 0x2f09_8ab0_c751_325a, 0xd392_7d98_9bb1_1140),
            (8, 0xead4_11e6_7ebe_2eea, 0x3690_9511_8d29_9a8e),
            (15, 0xf30e_b725_bb91_c9ea, 0xd320_d86d_2a51_9956),
            (16, 0x8972_1884_33a5_c5b7, 0xcc4f_dd1a_7d90_8b66),
            (100, 0x1c6a_66e1_506e_7908, 0x3bee_41c2_0cac_3a3b),
            (1024, 0x4103_2c18_454f_7c06, 0x998a_8122_a6cb_5a94),
        ];
        for (len, of_zeros, of_key) in vectors {
            let hash = |key| KeyedHashBuilder::new(key).hash_bytes(&bytes[..len]);
            assert_eq!((hash([0; 16]), hash(KEY)), (of_zeros, of_key), "{len}");
        }
    }

    /// Items write the bytes that docs/format.md names, on every machine.
    #[test]
    fn items_write_the_bytes_of_the_page() {
        fn check(item: impl Hash, bytes: &[u8]) {
            let builder = KeyedHashBuilder::new(KEY);
            assert_eq!(builder.hash_one(item), builder.hash_bytes(bytes), "{bytes:x?}");
        }
        check(7_u8, &[7]);
        check(-2_i8, &[0xfe]);
        check(0x0102_u16, &[2, 1]);
        check(-2_i16, &[0xfe, 0xff]);
        check(0x0102_0304_u32, &[4, 3, 2, 1]);
        check(-2_i32, &[0xfe, 0xff, 0xff, 0xff]);
        check(0x0102_0304_0506_0708_u64, &[8, 7, 6, 5, 4, 3, 2, 1]);
        check(-2_i64, &[0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]);
        let of_128_bits: Vec<u8> = (1..=16).rev().collect();
        check(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10_u128, &of_128_bits);
        check(-1_i128, &[0xff; 16]);
        check(0x0102_usize, &[2, 1, 0, 0, 0, 0, 0, 0]);
        check(-1_isize, &[0xff; 8]);
        check(true, &[1]);
        check('\u{1f95a}', &[0x5a, 0xf9, 1, 0]);
        check((), &[]);
        check("egg", b"egg\xff");
        check(String::from("egg"), b"egg\xff");
        check([1_u8, 2, 3], &[3, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3]);
        check((7_u64, "north"), b"\x07\0\0\0\0\0\0\0north\xff");
        check((1_u8, (2_u16, 3_u32), -1_i8), &[1, 2, 0, 3, 0, 0, 0, 0xff]);
    }

    /// From the same implementation in Python.
    #[test]
    fn test_vectors_of_items() {
        let builder = KeyedHashBuilder::new(KEY);
        assert_eq!(builder.hash_one("egg"), 0xa6b4_503b_7253_048e);
        assert_eq!(builder.hash_one((7_u64, "north")), 0x4aa9_ef14_3190_6947);
        assert_eq!(builder.check(), 0x74cb_4cfb_85fe_9f34);
    }

    #[test]
    fn the_key_is_not_printed() {
        let builder = KeyedHashBuilder::new(*b"0123456789abcdef");
        let printed = format!("{builder:?} {:#?}", builder.build_hasher());
        assert_eq!(printed, "KeyedHashBuilder { .. } KeyedHasher { .. }");
    }

    /// Each bit of the key changes the check of snapshots.
    #[test]
    fn every_bit_of_the_key_counts() {
        let builder = |key: u128| KeyedHashBuilder::new(key.to_le_bytes());
        let mut checks: Vec<u64> = (0..128).map(|bit| builder(1 << bit).check()).collect();
        checks.sort_unstable();
        checks.dedup();
        assert_eq!(checks.len(), 128);
        assert!(builder(1) == builder(1) && builder(1) != builder(1 << 64));
    }
}
