//! A concurrent cuckoo filter: one set that many threads share without a lock around it.
//!
//! It answers "is x in the set?" in 17 bits an item, with 0.012 % false positives, no false
//! negatives, and, unlike a Bloom filter, removal.
//!
//! ```
//! use coucal::CuckooFilter;
//!
//! let filter = CuckooFilter::with_capacity(1_000_000);
//! std::thread::scope(|scope| {
//!     scope.spawn(|| filter.insert("egg").expect("room for a million"));
//!     scope.spawn(|| filter.contains("nest")); // never waits
//! });
//! assert!(filter.contains("egg"));
//! assert!(filter.remove("egg"));
//! assert!(!filter.contains("egg"));
//! ```
//!
//! # Guarantees
//!
//! * **Lookups are wait-free.** A bounded number of steps, whatever other threads do, a writer
//!   stopped for ever in the middle of a move included; no lock, no read-modify-write, no store.
//! * **No false negatives.** An item whose insert returned, and which nobody removed, is found by
//!   every lookup, also while inserts move it about.
//! * **Nothing is lost.** An insert that fails changes nothing.
//! * **Linearizable.** Insert, `insert_unique`, remove, count and contains behave as atomic
//!   operations on a multiset, with the one freedom that a filter has: contains may answer true
//!   for an absent item. (The elements of the multiset are *classes*: one fingerprint with one
//!   pair of buckets. Items that collide share a class, and with it their copies. Between classes
//!   the order is that of Acquire and Release: two threads that each insert an item and then look
//!   for the other's, with nothing else to order them, may both miss it.)
//! * **False positives as predicted**: 2b·load/2<sup>f</sup> for b slots a bucket and f bits a
//!   fingerprint.
//! * **Full means full**: no insert of a new item fails below 97 % of the slots in tables of 2^14
//!   slots and more, and [`with_capacity(n)`](CuckooFilter::with_capacity) holds n distinct items.
//!
//! # Limits
//!
//! * A filter does not grow. Full is an error, and the caller decides.
//! * Never remove what was not inserted: it may take away the copy of an item that collides.
//! * Equal items share copies: insert one twice, and two removals take it out. A class holds as
//!   many copies as two buckets have slots (8 in the default layout).
//! * Nothing here is a snapshot: [`len`](CuckooFilter::len) is exact when no thread writes, a batch
//!   is one operation for each item, and lookups beside [`clear`](CuckooFilter::clear) may find
//!   some items gone and others not.
//!
//! # Which operation waits, for whom, and how long
//!
//! Buckets are grouped into *stripes*, up to 4,096 of them, each with a lock. A lock is held for the
//! few dozen instructions of one step, never during a search, and never while waiting for anything
//! but a stripe of a higher number, so no two writers wait for each other.
//!
//! | operation | waits for | holds |
//! |---|---|---|
//! | `contains`, `contains_many` | nobody | nothing; after 8 rounds in each of which its fingerprint's group was moved it answers true, and [`stats`](CuckooFilter::stats) counts it |
//! | `len`, `load_factor`, `stats`, ... | nobody | nothing |
//! | `insert`, a slot free in one of two buckets | one stripe | that stripe, for one store |
//! | `insert`, both buckets full | two stripes at a time | two, for each step of a kick path of a few steps |
//! | `insert_unique`, item present | nobody | nothing |
//! | `insert_unique`, item absent | two stripes, three for the last step of a kick path | these |
//! | `remove`, item present | one stripe | that stripe, for one store |
//! | `remove`, `count`, item absent | nobody, unless the item is being moved: then two stripes | |
//! | `count`, item present | two stripes | these, for two loads |
//! | `clear` | every stripe | every stripe, until the table is empty |
//!
//! A writer that finds its plan overtaken by another thread plans again. After 64 plans it takes
//! both stripes of the item (`remove`) or every stripe (`insert`), where nobody can overtake it. Before
//! an insert says "full", it looks at both buckets of the item once more under their stripes. So
//! every operation ends, if each thread that holds a lock goes on running.
//!
//! The locks are of this crate: given back by a plain store, which wakes nobody. A waiter spins for
//! some microseconds, then yields, then sleeps for 50 microseconds at a time, so that a holder who
//! was preempted gets to run whatever its priority.
//!
//! A search for a kick path opens 768 buckets at the most. Each refusal halves the searches that come
//! after it, down to 24 buckets, and each removal takes one halving back: so a filter that is full
//! says so in microseconds, and the first refusal after a removal of some items is again one that
//! has looked far.
//!
//! # How it works
//!
//! The cuckoo filter of Fan, Andersen, Kaminsky and Mitzenmacher ("Cuckoo Filter: Practically Better
//! Than Bloom", CoNEXT 2014): an item's hash names a fingerprint of 16 bits and two buckets of four
//! slots. A bucket is one atomic word. Either bucket may hold the fingerprint; the other is computed
//! from this one and the fingerprint alone, so a full bucket can pass a fingerprint on (a *kick*)
//! without knowing its item. The table has any even number of buckets: the alternate of bucket i is
//! `(r - i) mod m`, with r odd and drawn from the fingerprint.
//!
//! A kick moves a fingerprint while lookups are under way. As in MemC3 (Fan, Andersen, Kaminsky, NSDI
//! 2013), lookups are optimistic and validate a version; as in Li, Andersen, Kaminsky and Freedman
//! ("Algorithmic Improvements for Fast Concurrent Cuckoo Hashing", EuroSys 2014), the path of kicks
//! is searched breadth-first and without a lock, and applied backwards from the free slot.
//!
//! * **Lookup**: load the *version* of the fingerprint's group; load both words; if neither holds
//!   the fingerprint, load the version again. If it is as it was, the item is absent; else again.
//! * **Kick** of a fingerprint from bucket A to bucket B, under the stripes of both: store it into B;
//!   raise its version; store A without it, and with the new fingerprint in its place if this is the
//!   last step.
//! * **Insert**: under the stripe of the bucket with more free slots. One store.
//! * **Remove**: under the stripe of the bucket where it was seen. If the other bucket holds a copy
//!   too, raise the version first.
//!
//! # Why a lookup misses nothing
//!
//! A lookup that misses a present item read A after it was cleared and B before it was copied there.
//! What it read from A it read with Acquire, from the Release store of the clear or of a later write
//! (and each writer of A has acquired the stripe from the one before); so the raise, which came before
//! the clear, happens before the lookup's second look at the version. Its first look cannot have
//! seen that raise: it was an Acquire load of a Release increment, and would have brought the copy in
//! B, stored before, along with it. So the two looks differ, and the lookup goes round again. There
//! is no odd version that means "wait": a writer stopped half way leaves the fingerprint in both
//! buckets, where lookups find it. (How such readers fit the memory model: Boehm, "Can Seqlocks Get
//! Along With Programming Language Memory Models?", MSPC 2012.)
//!
//! The versions are grouped by fingerprint and stand apart from the stripes: an ordinary insert dirties no
//! line that a lookup reads but the bucket itself.
#![deny(missing_docs)]

mod any;
mod batch;
mod builder;
mod error;
mod filter;
mod geometry;
mod hasher;
#[doc(hidden)]
pub mod internals;
mod layout;
mod lock;
mod path;
#[cfg(loom)]
#[doc(hidden)]
pub mod probe;
mod processor;
mod stripes;
mod sync;
mod table;
mod versions;

pub use any::AnyCuckooFilter;
pub use builder::Builder;
pub use error::{BuildError, InsertError, InsertManyError, LengthMismatch};
pub use filter::{CuckooFilter, Stats};
pub use hasher::{DefaultHashBuilder, DefaultHasher};
pub use layout::{
    Fp8x8, Fp9x7, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, Packed, SemiSorted,
    SemiSorted14x5, SemiSorted17x4,
};

/// The examples of the README, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
