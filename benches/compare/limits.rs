//! The limit of the machine: the hash, then one or two random loads that depend on nothing but the
//! hash, from as many bytes as coucal's words have.

use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU64, Ordering};

use coucal_measure::hash::KeyHash;
use coucal_measure::keys;
use coucal_measure::subject::{Peer, Shared, SharedSubject};

pub const HASH_ONLY: &str = "hash only";
pub const ONE_LOAD: &str = "one load";
pub const TWO_LOADS: &str = "two loads";
pub const LIMITS: [&str; 3] = [HASH_ONLY, ONE_LOAD, TWO_LOADS];

/// A table from which each operation loads `N` words: none for `N = 0`, the hash alone.
pub struct Loads<const N: usize> {
    words: Box<[AtomicU64]>,
    hasher: KeyHash,
}

/// Hashes of one batch.
const BATCH: usize = 64;

impl<const N: usize> Loads<N> {
    pub fn with_slots(slots: usize) -> Self {
        let words = (0..slots as u64 / 4).map(|word| AtomicU64::new(keys::mix(word))).collect();
        Self { words, hasher: KeyHash::default() }
    }

    #[inline]
    fn hash(&self, key: u64) -> u64 {
        self.hasher.hash_one(key)
    }

    /// Multiply-shift of the hash, and of the hash rotated by 32 bits for the second word.
    #[inline]
    fn place(&self, hash: u64, load: usize) -> usize {
        let rotated = u128::from(hash.rotate_left(32 * load as u32));
        ((rotated * self.words.len() as u128) >> 64) as usize
    }

    #[inline]
    fn answer(&self, hash: u64) -> bool {
        let word = |load| self.words[self.place(hash, load)].load(Ordering::Relaxed);
        (0..N).map(word).fold(hash, |sum, word| sum ^ word) & 1 == 1
    }
}

impl<const N: usize> Peer for Loads<N> {
    fn slots(&self) -> usize {
        self.words.len() * 4
    }

    fn bytes(&self) -> Option<usize> {
        Some(size_of_val(&*self.words))
    }

    #[inline]
    fn contains(&self, key: u64) -> bool {
        self.answer(self.hash(key))
    }

    #[inline]
    fn insert(&mut self, key: u64) -> bool {
        self.insert_shared(key)
    }

    /// All hashes of a batch first, then all loads.
    #[inline]
    fn contains_many(&self, keys: &[u64], found: &mut [bool]) {
        let mut hashes = [0; BATCH];
        for (keys, found) in keys.chunks(BATCH).zip(found.chunks_mut(BATCH)) {
            for (hash, key) in hashes.iter_mut().zip(keys) {
                *hash = self.hash(*key);
            }
            for (found, hash) in found.iter_mut().zip(hashes) {
                *found = self.answer(hash);
            }
        }
    }

    fn shared(&self) -> Option<&dyn SharedSubject> {
        Some(self)
    }
}

impl<const N: usize> Shared for Loads<N> {
    /// A load and a store to the same word: another thread may overwrite it, as nothing is kept here.
    #[inline]
    fn insert_shared(&self, key: u64) -> bool {
        let word = &self.words[self.place(self.hash(key), 0)];
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        true
    }

    #[inline]
    fn remove_shared(&self, key: u64) -> bool {
        self.insert_shared(key)
    }
}
