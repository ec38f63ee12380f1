//! One hash for every peer, so that a comparison of filters is not a comparison of hashers.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`KeyHasher`]s: for peers that take a `BuildHasher`.
pub type KeyHash = BuildHasherDefault<KeyHasher>;

/// The finalizer of `MurmurHash3`, a permutation of the 64-bit integers: two different `u64` keys never
/// have the same hash.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeyHasher {
    state: u64,
}

impl Hasher for KeyHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.state
    }

    /// Not for keys: some peers hash their fingerprints, which are shorter.
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        let x = self.state ^ value;
        let x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        self.state = x ^ (x >> 33);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u16(&mut self, value: u16) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;
    use std::hash::BuildHasher;

    /// Consecutive integers differ in every part of the hash that a table could use.
    #[test]
    fn the_hash_spreads_consecutive_integers() {
        let hash = |key: u64| KeyHash::default().hash_one(key);
        for part in [0, 16, 32, 48] {
            let seen: HashSet<_> = (0..1 << 12).map(|key| (hash(key) >> part) as u16).collect();
            // 4,096 draws from 65,536 values: 3,971 different ones are expected.
            assert!((3900..4050).contains(&seen.len()), "bits {part}: {}", seen.len());
        }
    }
}
