//! The hashers: the default one, behind a name of this crate, and a stable one.

mod stable;

use core::fmt;
use core::hash::{BuildHasher, Hasher};

use foldhash::SharedSeed;
use foldhash::quality::{FoldHasher, SeedableRandomState};

pub use self::stable::{StableHashBuilder, StableHasher};
use crate::sync;

/// A number that two hashers share if they hash alike, and others only by chance: what they make of a
/// fixed input. Not by the `Hash` of some type: which calls that makes is up to the standard library.
pub(crate) fn check_of<S: BuildHasher>(hasher: &S) -> u64 {
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(0x0123_4567_89ab_cdef);
    hasher.write(b"coucal");
    hasher.finish()
}

/// The hasher that a filter has unless it is given another: fast, and with a random seed of its own
/// for each filter.
///
/// The hashes differ from filter to filter and from run to run; a clone of the hasher hashes as its
/// original does. The algorithm (foldhash, in its quality variant, today) may change in any
/// release: do not store these hashes.
///
/// To a filter, two items with one hash are one item. Among all the families of keys that the tests
/// try (short strings, pairs and triples of them, integers, tuples, byte strings that differ in one
/// bit, paths, numbers as text), no two keys have one hash. All integer types of one value may hash
/// alike, whatever their width: whether `7_u32` and `7_u64` are one item is up to the hasher, so do
/// not mix types. A [`Hash`](core::hash::Hash) implementation of your own must mark where its parts
/// end, as those of the standard library do: bytes written without an end make `("a", "bc")` and
/// `("ab", "c")` one item.
///
/// # Keys from an adversary
///
/// The seed keeps accidents away, and keys that were chosen without seeing the filter's answers. It
/// is no protection against someone who studies this hasher and sees answers or times. For keys
/// from an adversary take a keyed hash: `CuckooFilter::with_capacity_and_hasher(n,
/// std::hash::RandomState::new())` is SipHash-1-3, for some 10 ns more per operation. With any
/// hasher, whoever sees the answers finds false positives by trial: of random keys about one in
/// 8,000 is one, in a full filter of the default layout.
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
    /// With a new random seed.
    fn default() -> Self {
        // Quality and not fast: under 1 ns more, and `hash_of` hands these hashes out.
        //
        // A seed of our own: those of `foldhash::RandomState` come from the address of the stack,
        // which threads that live one after the other share.
        Self(SeedableRandomState::with_seed(sync::random_seed(), SharedSeed::global_random()))
    }
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

/// Passes each method on: the ones for integers are faster than the bytes of the integer.
macro_rules! pass_on {
    ($($method:ident($value:ty))*) => {
        impl Hasher for DefaultHasher {
            #[inline]
            fn finish(&self) -> u64 {
                self.0.finish()
            }

            $(#[inline]
            fn $method(&mut self, value: $value) {
                self.0.$method(value);
            })*
        }
    };
}

pass_on! {
    write(&[u8])
    write_u8(u8) write_u16(u16) write_u32(u32) write_u64(u64) write_u128(u128) write_usize(usize)
    write_i8(i8) write_i16(i16) write_i32(i32) write_i64(i64) write_i128(i128) write_isize(isize)
}
