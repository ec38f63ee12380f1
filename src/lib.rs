//! A concurrent cuckoo filter: one set that many threads share without a lock around it.
//!
//! A [`CuckooFilter`] answers "is x in the set?" with few false positives and no false negatives. The default layout
//! takes 17 bits per item, or 22 if it [grows](#growth). Unlike a Bloom filter, it can remove items. Lookups never
//! wait. In front of a slow store, a filter skips lookups of absent keys.
//!
//! ```
//! use coucal::GrowableCuckooFilter;
//!
//! let filter = GrowableCuckooFilter::new(); // no size to choose
//! std::thread::scope(|scope| {
//!     scope.spawn(|| filter.insert("egg").expect("enough memory"));
//!     scope.spawn(|| filter.contains("nest")); // never waits
//! });
//! assert!(filter.contains("egg"));
//! assert!(filter.remove("egg"));
//! assert!(!filter.contains("egg"));
//! ```
//!
//! * [`cookbook`]: recipes, with an index by question
//! * [`growth`]: filters without a size, and their false-positive rate
//! * [`design`]: how a table works; [`proofs`]: why a lookup misses nothing
//!
//! # Filter, maplet or expiring filter?
//!
//! A [`CuckooMaplet`] stores a small value with each key, and answers "which values may x have?": one maplet replaces
//! 64 filters for 64 partitions. In a table of the same size, each value bit doubles the false candidates: use a filter
//! if yes or no is enough.
//!
//! ```
//! use coucal::CuckooMaplet;
//!
//! let partitions = CuckooMaplet::builder().capacity(10_000).value_bits(6).build()?;
//! partitions.insert("egg", 7)?; // partition 7 has the key "egg"
//! assert!(partitions.get("egg").any(|partition| partition == 7));
//! partitions.replace("egg", 7, 9)?; // the key moved to partition 9
//! assert!(partitions.get("egg").any(|partition| partition == 9));
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! An [`ExpiringCuckooFilter`] answers "was x seen lately?". Without a thread, it forgets items older than its
//! [window](ExpiringCuckooFilter#guarantees): some time, or [the last n new
//! items](ExpiringCuckooFilter#a-window-of-items).
//!
//! ```
//! use std::time::Duration;
//! use coucal::GrowableExpiringCuckooFilter;
//!
//! // Ten generations of a minute.
//! let builder = GrowableExpiringCuckooFilter::builder().generations(10);
//! let seen = builder.every(Duration::from_secs(60)).build()?;
//! assert!(seen.insert("egg")?); // new
//! assert!(!seen.insert("egg")?); // seen, and remembered for nine minutes or more from now on
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! # Constructors
//!
//! `n` is the number of items, copies included; `max` the largest `n`; `rate` the highest acceptable false-positive
//! rate; `hasher` a [`StableHashBuilder`]. `bytes` and `file` (any reader) contain a [snapshot](#snapshots).
//!
//! | what you know | constructor |
//! |---|---|
//! | the number of items | `CuckooFilter::with_capacity(n)` |
//! | and a hasher | `CuckooFilter::with_capacity_and_hasher(n, hasher)` |
//! | the number; no panics | `CuckooFilter::builder().capacity(n).build()?` |
//! | the rate: the smallest [layout](AnyLayout) | `CuckooFilter::with_capacity_and_rate(n, rate)?` |
//! | the [layout](Layout) | `CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?` |
//! | nothing: it [grows](#growth) | `GrowableCuckooFilter::new()` |
//! | the number of items at first | `GrowableCuckooFilter::with_capacity(n)` |
//! | the largest number of items | `GrowableCuckooFilter::builder().max_capacity(max).build()?` |
//! | the memory in bytes | `CuckooFilter::builder().memory_bytes(64 << 20).build()?` |
//! | the layout's name, at run time | `CuckooFilter::builder().layout_named("Fp12x5")?.capacity(n).build()?` |
//! | the number of pairs, and the bits per value | `CuckooMaplet::with_capacity(n, 6)` |
//! | the bits per value: it grows | `GrowableCuckooMaplet::new(6)` |
//! | the numbers of items and generations | `ExpiringCuckooFilter::with_capacity(n, 4)` |
//! | the number of generations: it grows | `GrowableExpiringCuckooFilter::new(4)` |
//! | how long to remember | `GrowableExpiringCuckooFilter::builder().generations(10).every(minute).build()?` |
//! | a snapshot in a file | `CuckooFilter::<Fp16x4, _>::restore(file, hasher)?` |
//! | a snapshot in memory | `CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher)?` |
//! | a snapshot of any layout | `AnyCuckooFilter::restore(file, hasher)?` |
//! | several of these | `CuckooFilter::builder().capacity(n).false_positive_rate(rate).any_layout().hasher(hasher).build()?` |
//!
//! Each type has `restore` and `from_bytes`. Name its layout, as the table does. Before building, the builder's
//! [`figures`](Builder::figures) tells [the bytes](cookbook#memory-before-building) of the filter and its snapshot.
//!
//! | what you need | hasher |
//! |---|---|
//! | speed | [`DefaultHashBuilder`], the default: a random seed for each filter |
//! | the same hashes in another process, for [snapshots](#snapshots) and merges | [`StableHashBuilder::new(7)`](StableHashBuilder) |
//! | the same, if [others choose the keys](cookbook#keys-from-an-adversary) | [`KeyedHashBuilder::new(key)`](KeyedHashBuilder): a secret key of 128 bits |
//! | others choose the keys, and you take no snapshots | [`RandomState::new()`](std::hash::RandomState) |
//! | none: keys are [hashed already](Prehashed) | [`NoHasher`] |
//!
//! # The type of a filter
//!
//! The parameters are a layout, [`Fp16x4`] by default, and a hasher; not the items. So a field is a `CuckooFilter`, or
//! a `CuckooFilter<Fp16x4, RandomState>`. Growing maplets and growing expiring filters have [`Fp21x3`] by default:
//! `GrowableCuckooMaplet<Fp21x3, RandomState>`. The last column's types have only the hasher.
//!
//! | | of fixed size | growing | layout chosen at run time |
//! |---|---|---|---|
//! | filter | [`CuckooFilter`] | [`GrowableCuckooFilter`] | [`AnyCuckooFilter`] |
//! | maplet | [`CuckooMaplet`] | [`GrowableCuckooMaplet`] | [`AnyCuckooMaplet`] |
//! | expiring filter | [`ExpiringCuckooFilter`] | [`GrowableExpiringCuckooFilter`] | [`AnyExpiringCuckooFilter`] |
//!
//! For generic code, see [`Storage`].
//!
//! # Names
//!
//! * An item is a reference to a [`Hash`](core::hash::Hash) type, or to a hash: [`&Prehashed(hash)`](Prehashed).
//! * [`_many`](CuckooFilter::contains_many) takes one slice; any answers go into another. Such batches hide memory
//!   latency.
//! * [`_each`](CuckooFilter::contains_each) returns the answers in a `Vec`.
//! * [`_all`](CuckooFilter::insert_all) inserts from an iterator.
//!
//! # Which insert?
//!
//! | to store | call | memory for a second equal item |
//! |---|---|---|
//! | a set with removals, or a multiset | [`insert`](CuckooFilter::insert), [`insert_all`](CuckooFilter::insert_all), [`remove`](CuckooFilter::remove), [`count`](CuckooFilter::count) | another slot; if both buckets are full, a counter in the [stash](#the-stash) |
//! | a set without removals (deduplication) | [`insert_if_absent`](CuckooFilter::insert_if_absent), [`insert_if_absent_many`](CuckooFilter::insert_if_absent_many), [`insert_if_absent_all`](CuckooFilter::insert_if_absent_all) | none: `Ok(false)` |
//! | one value for each key | [`CuckooMaplet::insert_if_absent`]; then [`update`](CuckooMaplet::update) or [`replace`](CuckooMaplet::replace) | none: `Ok(false)` |
//! | a [counter](cookbook#a-counter-for-each-key) for each key | [`CuckooMaplet::update_or_insert`] | none: the value changes |
//! | several values for each key | [`CuckooMaplet::insert`] | one more slot |
//! | several values, each pair once | [`CuckooMaplet::insert_pair_if_absent`] | none: `Ok(false)` |
//! | items seen lately | [`ExpiringCuckooFilter::insert`] | none: `Ok(false)`, remembered from now on |
//! | items first seen lately | [`ExpiringCuckooFilter::insert_if_absent`] | none: `Ok(false)`, remembered from the first insert on |
//!
//! **Call `remove` once for each `insert` that succeeded, and never on a filter that `insert_if_absent` has filled.** A
//! filter cannot tell apart the items of one *class*: those with the same fingerprint and the same two buckets. If
//! `insert_if_absent` returned `Ok(false)` for an item, the filter may hold only a copy of *another* item of its class.
//! If you remove that other item, lookups miss this one: [how often, and the ways
//! out](cookbook#why-insert_if_absent-and-remove-do-not-go-together).
//!
//! # Guarantees
//!
//! * **Wait-free lookups.** [`contains`](CuckooFilter::contains) takes a bounded number of steps, even if a writer is
//!   stopped forever in the middle of a move. If writers disturb each of eight rounds, it returns `true`, and counts an
//!   [inconclusive](Stats::inconclusive_lookups) answer: it writes nothing else.
//! * **No false negatives.** Every lookup finds an item whose insert returned and that nobody removed. [Some
//!   uses](#if-a-lookup-misses-what-you-inserted) break this.
//! * **Nothing is lost.** An operation that fails leaves the contents unchanged, with [two exceptions](Error): a batch
//!   keeps the items before the failure, and an insert into an expiring filter may have ended generations.
//! * **Linearizable.** `insert`, `insert_if_absent`, `remove`, `count` and `contains` each take effect at one instant
//!   between call and return, across all items: if two threads each insert an item and then look up the other's, at
//!   least one finds it. A thread that finds a copy sees all that happened before that copy's insert.
//!   `insert_if_absent`, `remove` and `count` act on a [class](#which-insert), whose items share their copies.
//! * **Predicted false positives.** A filter reports about 2b·load/2<sup>f</sup> of absent items as present, for b
//!   slots per bucket and fingerprints of f bits: 0.0119 % if full, in the default layout.
//!   [`false_positive_rate`](CuckooFilter::false_positive_rate) returns the expected rate at the present load.
//!   [Growing](#growth) filters have a higher rate. A false positive stays until the item with which it collides is
//!   removed, or growth tells them apart.
//! * **Full means full.** A filter made by [`with_capacity(n)`](CuckooFilter::with_capacity) holds any n items, copies
//!   included; if they are distinct, in at most 17.2 bits each (default layout, 100,000 items or more). An insert fails
//!   only
//!   * (a) in a filter of fixed size, when the sum of the slots in use and the [stashed](#the-stash) entries reaches
//!     the load at which its [layout](Layout) is full: 97.5 % by default;
//!   * (b) in a growing filter whose growth [has ended](growth#first-size-and-end-of-growth), when this sum reaches a
//!     limit four or more percentage points above its [target load](growth);
//!   * (c) if the item has 2<sup>25</sup> - 1 copies in the stash;
//!   * (d) if memory ends. The error is then [`NoMemoryToStore`](Error::NoMemoryToStore), otherwise
//!     [`Full`](Error::Full).
//! * **Growth without a pause.** A [growing](#growth) filter keeps these guarantees while it grows.
//! * **Exact snapshots.** A [snapshot](#snapshots) is the filter at one instant between call and return. Writers wait
//!   for a fraction of a millisecond, whatever the size; longer only if the snapshot's thread is preempted while it
//!   holds a lock, or a large stash changes during its copy.
//! * **Hostile bytes are an error.** [`restore`](CuckooFilter::restore) returns an error for bytes that the format
//!   forbids. It allocates in proportion to the bytes read.
//!
//! # The stash
//!
//! In the default layout, the two buckets of an item hold 8 entries. An item may have more copies, a key more values,
//! and by chance too many items may share buckets. If moving others (*kicks*) makes no room, an entry goes to the
//! [*stash*](design#the-stash), a small hash table beside the buckets. Equal copies share one stashed entry.
//!
//! A stashed entry takes several times a slot's memory and time. To stash few entries, tell the builder of a fixed
//! filter or maplet the [`copies_per_item`](Builder::copies_per_item) or the
//! [`values_per_key`](Builder::values_per_key).
//!
//! # Growth
//!
//! [`GrowableCuckooFilter::new`] makes a filter that takes 2 KB and grows a few buckets at a time. Its false-positive
//! rate is 0.019 % at 384 items, 0.23 % (one in 430) at a million, and 0.42 % at a thousand million: each doubling adds
//! 0.019 percentage points. The builder takes a [bound](Builder::false_positive_rate) for the rate.
//!
//! # Snapshots
//!
//! [`CuckooFilter::snapshot`] takes [an image](design#the-image-of-a-snapshot) of a filter: [some 8 bytes](Snapshot)
//! per bucket. [`CuckooFilter::restore`] makes a filter from these [bytes](Snapshot::as_bytes), on any machine and in
//! every later release, with [a hasher](#constructors) other than the default. [`merge`](CuckooFilter::merge) adds the
//! items of another filter; [`unmerge`](CuckooFilter::unmerge) and [`intersect`](CuckooFilter::intersect) remove items.
//!
//! # Limits
//!
//! * **A filter of fixed size fills up**, and so does a [growing](#growth) one when growth ends. Inserts then return
//!   [`Full`](Error::Full), or [`WindowFull`](Error::WindowFull): [what to do](cookbook#when-the-filter-is-full).
//! * **Some answers are not of one instant.** [`len`](CuckooFilter::len) and every figure computed from it are exact
//!   only while no thread writes. A batch is one operation for each item. During a [`clear`](CuckooFilter::clear),
//!   lookups find some items and miss others. [`Full`](Error::Full) may count items that others remove meanwhile.
//! * **Items are equal if their hashes are equal.** `"egg"` and `String::from("egg")` are one key, `"egg"` and `b"egg"`
//!   two. Whether `7_u32` and `7_u64` are one depends on the hasher. So use [one type](cookbook#keys-of-several-types)
//!   for all keys.
//! * **Items are not stored**: a filter cannot list them, nor be converted to another layout.
//! * **Panics and aborts.** A constructor that returns no `Result` panics if an argument is invalid or too large, and
//!   aborts if the allocator fails; `build` of a builder returns an error. If your `Hash`, iterator, closure or
//!   [clock](Builder::clock) panics, the filter stays valid. Other panics: see the methods.
//! * **A filter lives in one process**: not in shared memory. Others map or read [a
//!   snapshot](cookbook#answer-from-the-bytes-of-a-snapshot), or [follow a log](cookbook#one-set-on-many-machines).
//!   After `fork`, a child may only look up: other operations may wait forever for a lock of a thread that it lacks.
//!   (`std::process::Command` is safe.)
//!
//! # If a lookup misses what you inserted
//!
//! This table has all causes, most frequent first. If none applies, report a bug.
//!
//! | cause | what to do |
//! |---|---|
//! | The insert returned an error, such as [`Full`](Error::Full). | [Handle it](cookbook#when-the-filter-is-full). |
//! | The lookup began before the insert returned, or ran during a [`clear`](CuckooFilter::clear). | Insert first, then announce the item. |
//! | The key has [another type or other bytes](#limits). | Use [one type](cookbook#keys-of-several-types) for the keys. |
//! | `remove` or [`unmerge`](CuckooFilter::unmerge) was called for an item never inserted (a false positive), or too often (a message came twice). | Call `remove` once for each `insert`, `unmerge` once for each `merge`: [upserts](cookbook#upserts-overwrites-and-rollbacks), [messages](cookbook#messages-that-come-twice). |
//! | `remove` or `unmerge` was called on a filter or maplet that [`insert_if_absent`](#which-insert) has filled. | Use `insert` and `remove` in pairs. |
//! | `remove` was called with the old value of a [replaced](CuckooMaplet::replace) or [updated](CuckooMaplet::update) pair. | Remove its present value. |
//! | [`update`](CuckooMaplet::update) or [`replace`](CuckooMaplet::replace) changed the pair, because its key collides with another; or [`remove_value`](CuckooMaplet::remove_value) removed it. | Use values that tell pairs apart; for counters, call only `update_or_insert`, `update`, and `remove` with the value 0. |
//! | A [`merge`](CuckooFilter::merge), [`unmerge`](CuckooFilter::unmerge) or [`intersect`](CuckooFilter::intersect) was used in a way that it forbids. | See the call. |
//! | Your `Hash`, hasher or iterator panicked in a batch: up to 255 earlier items were not stored. | Insert one by one. |
//! | The filter was [restored](#snapshots) from an older snapshot. | [Insert again](cookbook#keep-a-filter-across-restarts) what came later. |
//! | A [`Prehashed`] hash, a hasher, or a [`Hash`](core::hash::Hash) implementation (of an `enum` or standard type) differs between calls, clones, machines or releases. | [Hash the bytes](cookbook#a-hash-that-two-processes-agree-on) of the key. |
//! | A view [trusted](CuckooFilterView::from_trusted_bytes) damaged bytes, or its bytes changed later. | Check them: [`from_bytes`](CuckooFilterView::from_bytes). |
//! | An [`ExpiringCuckooFilter`] has forgotten the item: its window has passed, [the filter was full](Builder::forget_oldest_when_full), `insert_if_absent` returned `Ok(false)`, or its [clock](Builder::clock) panicked. | See what it [promises](ExpiringCuckooFilter#guarantees). |
//!
//! # What blocks, on whom, and how long
//!
//! A *stripe* is a group of buckets with a lock. Writers cannot deadlock, unless your allocator, a signal handler or a
//! clock uses a filter.
//!
//! | operation | waits for |
//! |---|---|
//! | lookups, figures such as `len`, `restore`, the methods of a `Snapshot` | nobody; rarely, [`get`](CuckooMaplet#what-blocks) and [`age`](ExpiringCuckooFilter#what-blocks) for writers; `get` of stashed values for the allocator |
//! | `insert`, `insert_if_absent`, `remove`, `count` | writers in up to three stripes; if entries are stashed, or go to the stash, also writers there, and the allocator |
//! | an insert that splits buckets of a growing filter, `reserve` | also other splits, the beginning and the end of a `snapshot`, and the allocator; at most seven times per filter, every stripe and the stash |
//! | `snapshot`, `merge`, `clear`, `remove_value`, `update_values`, `advance` | each other, growth, and every stripe |
//!
//! [All cases](design#what-each-operation-waits-for). A thread that is stopped while it holds a stripe stops the
//! writers that need it, but no `contains`.
//!
//! # Features
//!
//! | feature (off by default) | what it adds |
//! |---|---|
//! | `serde` | `Serialize` and `Deserialize` for [snapshots](Snapshot), views and filters (`StableHashBuilder`: [seed 0](StableHashBuilder#the-seed-and-serde) only) |
//! | `loom` | under `--cfg loom`, each operation is one step of a model that [loom](https://docs.rs/loom) runs: [recipe](cookbook#model-check-code-that-uses-a-filter) |
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(missing_docs)]

#[cfg(not(any(target_pointer_width = "64", target_pointer_width = "32")))]
compile_error!("coucal needs pointers of 64 or 32 bits");
#[cfg(not(target_has_atomic = "64"))]
compile_error!(
    "coucal needs atomics of 64 bits, which this target does not have: a bucket is one such word"
);
#[cfg(all(coucal_model, not(all(loom, feature = "loom"))))]
compile_error!("the models of coucal need `--cfg loom` and the feature `loom`, too");

mod arch;
mod backports;
mod error;
#[cfg(test)]
#[path = "tests/for_each_layout.rs"]
mod for_each_layout;
mod hasher;
mod kinds;
mod layout;
#[cfg(test)]
#[path = "tests/random.rs"]
mod random;
mod sizing;
mod snapshot;
mod storage;
mod sync;
mod table;

pub use error::Error;
pub use hasher::{
    ComparedHasher, DefaultHashBuilder, DefaultHasher, Item, KeyedHashBuilder, KeyedHasher,
    NoHasher, Prehashed, StableHashBuilder, StableHasher,
};
pub use kinds::builder::{Builder, Figures, Filters};
pub use kinds::expiring::{
    AnyExpiringCuckooFilter, Expiring, ExpiringBuilder, ExpiringCuckooFilter, ExpiringFilter,
    GrowableExpiringCuckooFilter,
};
pub use kinds::filter::{AnyCuckooFilter, CuckooFilter, Filter, GrowableCuckooFilter};
pub use kinds::maplet::{
    AnyCuckooMaplet, CuckooMaplet, GrowableCuckooMaplet, Maplet, MapletBuilder, Maplets,
};
pub use layout::{
    Candidates, Fp8x8, Fp9x7, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, SemiSorted14x5,
    SemiSorted17x4,
};
pub use snapshot::Snapshot;
pub use snapshot::view::{CuckooFilterView, CuckooMapletView};
pub use storage::operations::{Overlap, Stats};
pub use storage::{AnyLayout, Fixed, Growable, GrowingLayout, Storage};
#[cfg(coucal_model)]
pub use table::probe;

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/growth.md")]
pub mod growth {}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/design.md")]
pub mod design {}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/proofs.md")]
pub mod proofs {}

/// The examples of the README, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

/// The constructors of the table above, line by line, run as a documentation test.
///
/// ```
/// use coucal::*;
///
/// # let (n, max, rate, hasher) = (100, 1000, 0.01, StableHashBuilder::default());
/// # let saved = CuckooFilter::with_capacity_and_hasher(n, hasher).snapshot()?;
/// # let (bytes, any) = (saved.as_bytes(), saved.as_bytes());
/// # let (file, any_file) = (&bytes[..], &any[..]);
/// # let minute = std::time::Duration::from_secs(60);
/// CuckooFilter::with_capacity(n);
/// CuckooFilter::with_capacity_and_hasher(n, hasher);
/// CuckooFilter::builder().capacity(n).build()?;
/// CuckooFilter::with_capacity_and_rate(n, rate)?;
/// CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?;
/// GrowableCuckooFilter::new();
/// GrowableCuckooFilter::with_capacity(n);
/// GrowableCuckooFilter::builder().max_capacity(max).build()?;
/// CuckooFilter::builder().memory_bytes(64 << 20).build()?;
/// CuckooFilter::builder().layout_named("Fp12x5")?.capacity(n).build()?;
/// CuckooMaplet::with_capacity(n, 6);
/// GrowableCuckooMaplet::new(6);
/// ExpiringCuckooFilter::with_capacity(n, 4);
/// GrowableExpiringCuckooFilter::new(4);
/// GrowableExpiringCuckooFilter::builder().generations(10).every(minute).build()?;
/// CuckooFilter::<Fp16x4, _>::restore(file, hasher)?;
/// CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher)?;
/// # let file = any_file;
/// AnyCuckooFilter::restore(file, hasher)?;
/// CuckooFilter::builder().capacity(n).false_positive_rate(rate).any_layout().hasher(hasher).build()?;
/// # Ok::<(), coucal::Error>(())
/// ```
#[cfg(doctest)]
mod constructors {}
