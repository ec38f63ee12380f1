//! What a filter promises to one thread.

mod batches;
mod capacity;
mod full;
mod growth;
mod promises;

use coucal_reference::format::Class;
use rustc_hash::FxHashMap;

/// Which of several filters hold an item of a class.
struct Holders {
    numbers: FxHashMap<Class, Vec<u32>>,
    /// A bit for many classes, which are faster to ask.
    held: Vec<u64>,
}

impl Holders {
    const BITS: u32 = 23;

    pub fn new() -> Self {
        Self { numbers: FxHashMap::default(), held: vec![0; 1 << (Self::BITS - 6)] }
    }

    fn bit((core, even): Class) -> (usize, u64) {
        let class = core << 40 ^ even;
        let at = class.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - Self::BITS);
        (at as usize / 64, 1 << (at % 64))
    }

    pub fn add(&mut self, class: Class, number: u32) {
        let (at, mask) = Self::bit(class);
        self.held[at] |= mask;
        let numbers = self.numbers.entry(class).or_default();
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }

    pub fn of(&self, class: Class) -> &[u32] {
        let (at, mask) = Self::bit(class);
        let numbers = (self.held[at] & mask != 0).then(|| self.numbers.get(&class)).flatten();
        numbers.map_or(&[], Vec::as_slice)
    }
}
