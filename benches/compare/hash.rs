//! One hash for every subject that takes a hasher, so that a comparison of filters is not a comparison of hashers.

use std::hash::{BuildHasherDefault, Hasher};

/// Builds [`KeyHasher`]s.
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

    /// Not for keys: some subjects hash their fingerprints, which are shorter.
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
}
