//! The default hasher, wrapped in a type of this crate; the stable hasher; and the hasher with a secret key.

/// Defines the methods of a `Hasher` for numbers, each with the expression that writes one.
macro_rules! write_numbers {
    ($this:ident, $value:ident => $($method:ident($number:ty): $write:expr;)*) => {$(
        #[inline]
        fn $method(&mut $this, $value: $number) {
            $write;
        }
    )*};
}

mod item;
mod keyed;
mod stable;

use core::fmt;
use core::hash::{BuildHasher, Hasher};

use foldhash::SharedSeed;
use foldhash::quality::{FoldHasher, SeedableRandomState};

pub use self::item::{Item, Prehashed};
pub use self::keyed::{KeyedHashBuilder, KeyedHasher};
pub use self::stable::{StableHashBuilder, StableHasher};
use crate::sync::{self, OnceLock};

/// A hasher that [snapshots](crate#snapshots) and [merges](crate::Filter::merge) can compare with another hasher: every
/// [`BuildHasher`], and [`NoHasher`]. The trait is sealed.
pub trait ComparedHasher: sealed::Sealed {
    /// Returns a number by which hashers are compared: hashers that give the same hashes have the same number. Other
    /// hashers have different numbers, except by chance.
    #[doc(hidden)]
    fn check(&self) -> u64;
}

mod sealed {
    /// Seals [`ComparedHasher`](super::ComparedHasher): code outside this crate cannot name this trait.
    pub trait Sealed {}
}

#[diagnostic::do_not_recommend]
impl<S: BuildHasher> sealed::Sealed for S {}

impl sealed::Sealed for NoHasher {}

#[diagnostic::do_not_recommend]
impl<S: BuildHasher> ComparedHasher for S {
    /// Returns the hash of a fixed input. It does not use the `Hash` implementation of a type, because its calls may
    /// change with the standard library.
    #[inline]
    fn check(&self) -> u64 {
        let mut hasher = self.build_hasher();
        hasher.write_u64(0x0123_4567_89ab_cdef);
        hasher.write(b"coucal");
        hasher.finish()
    }
}

/// The hasher of a filter whose items are hashed elsewhere. Such a filter takes [`Prehashed`] items, and items of your
/// own types that [know their hash](Item).
///
/// The snapshot of such a filter states that the items were hashed elsewhere, and only a type with `NoHasher` restores
/// it. The snapshot does not state which hash function was used: you must remember it.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, Fp16x4, NoHasher, Prehashed};
///
/// let filter = CuckooFilter::with_capacity_and_hasher(100, NoHasher);
/// filter.insert(&Prehashed(7))?;
///
/// let bytes = filter.snapshot()?.into_bytes();
/// let restored = CuckooFilter::<Fp16x4, NoHasher>::from_bytes(&bytes, NoHasher)?;
/// assert!(restored.contains(&Prehashed(7)));
/// # Ok::<(), coucal::Error>(())
/// ```
///
/// ```compile_fail,E0277
/// let filter = coucal::CuckooFilter::with_capacity_and_hasher(100, coucal::NoHasher);
/// filter.contains("egg"); // who hashes it?
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NoHasher;

impl ComparedHasher for NoHasher {
    fn check(&self) -> u64 {
        0
    }
}

/// The default hasher of a filter: fast, with its own random seed for each filter.
///
/// The hashes differ from filter to filter and from run to run. A clone of the hasher has the same seed and gives the
/// same hashes, so filters with clones share many of their [false
/// positives](crate::cookbook#one-filter-per-tenant-or-one-for-all). The algorithm (today foldhash, in its quality
/// variant) may change in any release: do not store these hashes.
///
/// To a filter, two items with the same hash are one item. In all families of keys that the tests try (short strings,
/// pairs and triples of them, integers, tuples, byte strings that differ in one bit, paths, numbers as text), no two
/// keys have the same hash. But integers of equal value and different width may have the same hash: with this hasher,
/// `7_u32` and `7_u64` are one item today. So use one type for the items of a filter. If you implement
/// [`Hash`](core::hash::Hash) yourself, mark the end of each part, as the standard library does: otherwise `("a",
/// "bc")` and `("ab", "c")` are one item.
///
/// # Keys from an adversary
///
/// The seed protects against accidents, and against keys that were chosen without seeing the filter's answers. It does
/// not protect against an adversary who studies this hasher and sees answers or times. For keys from an adversary use a
/// keyed hash: a [`KeyedHashBuilder`], or `std::hash::RandomState` for a filter that is never restored. The
/// [cookbook](crate::cookbook#keys-from-an-adversary) says what it costs.
///
/// With any hasher, an adversary who sees the answers finds false positives by trial: in a full filter of the default
/// layout, about one random key in 8,000.
///
/// # Examples
///
/// ```
/// use coucal::{CuckooFilter, DefaultHashBuilder};
///
/// // Two filters that agree on the hash of every item.
/// let hasher = DefaultHashBuilder::default();
/// let today = CuckooFilter::with_capacity_and_hasher(1000, hasher.clone());
/// let yesterday = CuckooFilter::with_capacity_and_hasher(1000, hasher);
/// assert_eq!(today.hash_of("egg"), yesterday.hash_of("egg"));
/// ```
#[derive(Clone)]
pub struct DefaultHashBuilder(SeedableRandomState);

/// The hasher of [`DefaultHashBuilder`].
///
/// # Examples
///
/// ```
/// use std::hash::{BuildHasher, Hash, Hasher};
///
/// let builder = coucal::DefaultHashBuilder::default();
/// let mut hasher = builder.build_hasher();
/// "egg".hash(&mut hasher);
/// assert_eq!(hasher.finish(), builder.hash_one("egg"));
/// ```
#[derive(Clone)]
pub struct DefaultHasher(FoldHasher<'static>);

impl Default for DefaultHashBuilder {
    /// Returns a hasher with a new random seed.
    fn default() -> Self {
        // The quality variant and not the fast one: it takes less than 1 ns more, and `hash_of` returns these hashes to
        // users.
        //
        // Our own seed: the seeds of `foldhash::RandomState` come from the address of the stack, and threads that live
        // one after the other have the same address.
        Self(SeedableRandomState::with_seed(sync::random_seed(), shared_seed()))
    }
}

/// Returns the part of the seed that all filters of a process share. It is not foldhash's own, because foldhash
/// allocates a box for it, and aborts if there is no memory.
fn shared_seed() -> &'static SharedSeed {
    static SHARED: OnceLock<SharedSeed> = OnceLock::new();
    SHARED.get_or_init(|| SharedSeed::from_u64(sync::random_seed()))
}

impl BuildHasher for DefaultHashBuilder {
    type Hasher = DefaultHasher;

    #[inline]
    fn build_hasher(&self) -> DefaultHasher {
        DefaultHasher(self.0.build_hasher())
    }
}

impl fmt::Debug for DefaultHashBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The seed stays secret.
        f.debug_struct("DefaultHashBuilder").finish_non_exhaustive()
    }
}

impl fmt::Debug for DefaultHasher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DefaultHasher").finish_non_exhaustive()
    }
}

/// Maps a signed number to an unsigned one: 0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ... A number of 64 bits becomes
/// one of 64 bits.
///
/// foldhash multiplies `x ^ seed` by a constant and folds the product. For `x` and its complement `!x`, the folds are
/// equal under one in some 2^25 seeds: among the 2^18 numbers closest to zero, two had the same hash under one seed in
/// 200. After this mapping, numbers close to zero are not complements of each other. (Shorter numbers alone do not need
/// the mapping, and are not mapped: an untyped literal is an `i32`, and a lookup of the same number as `u64` finds it.)
#[inline]
fn zigzag(value: i128) -> u128 {
    ((value << 1) ^ (value >> 127)) as u128
}

/// Forwards each method: the methods for integers are faster than `write` with the bytes of the integer.
impl Hasher for DefaultHasher {
    #[inline]
    fn finish(&self) -> u64 {
        self.0.finish()
    }

    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0.write(bytes);
    }

    // Numbers of other types are written as one of these.

    write_numbers! { self, value =>
        write_u8(u8): self.0.write_u8(value);
        write_u16(u16): self.0.write_u16(value);
        write_u32(u32): self.0.write_u32(value);
        write_u64(u64): self.0.write_u64(value);
        write_u128(u128): self.0.write_u128(value);
        write_usize(usize): self.0.write_usize(value);
        write_i64(i64): self.0.write_u64(zigzag(value.into()) as u64);
        write_i128(i128): self.0.write_u128(zigzag(value));
        write_isize(isize): self.0.write_u64(zigzag(value as i128) as u64);
    }
}

#[cfg(all(test, target_pointer_width = "64"))]
mod tests {
    use super::*;
    use core::hash::Hash;

    /// Under these seeds, foldhash gives both keys the same hash. With pointers of another length it is another
    /// function.
    #[test]
    fn complements_hash_apart() {
        fn check(shared: u64, seed: u64, [a, b]: [impl Hash; 2]) {
            let shared = Box::leak(Box::new(SharedSeed::from_u64(shared)));
            let foldhash = SeedableRandomState::with_seed(seed, shared);
            assert_eq!(foldhash.hash_one(&a), foldhash.hash_one(&b));
            let ours = DefaultHashBuilder(foldhash);
            assert_ne!(ours.hash_one(&a), ours.hash_one(&b));
        }
        let shared = 3_749_613_318_654_970_907;
        check(shared, 17_604_762_787_323_737_873, [-45_681_i64, 45_686]);
        check(shared, 17_604_762_787_323_737_873, [-45_681_isize, 45_686]);
        check(shared, 17_604_762_787_323_737_873, [-3645_i64, 3644]);
        check(16_641_553_923_563_369_782, 10_991_456_910_238_279_381, [-80_486_i64, 80_487]);
        check(shared, 11_554_635_034_465_538_966, [121_854_i128, -121_855]);
    }

    #[test]
    fn a_number_of_64_bits_becomes_one_of_as_many() {
        for (value, unsigned) in [(0, 0), (-1, 1), (1, 2), (127, 254), (-128, 255)] {
            assert_eq!(zigzag(value), unsigned);
        }
        assert_eq!(zigzag(i64::MIN.into()), u64::MAX.into());
        assert_eq!([i128::MAX, i128::MIN].map(zigzag), [u128::MAX - 1, u128::MAX]);
    }
}
