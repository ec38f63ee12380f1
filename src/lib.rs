//! A concurrent cuckoo filter: one set that many threads share without a lock around it.
//!
//! It answers "is x in the set?" with few false positives and no false negatives. The default layout takes
//! 17 bits per item, or 21 if it [grows](#growth). Unlike a Bloom filter, it can remove items. Lookups never wait. Put
//! it in front of a slow store (a database, a disk, another machine) to skip lookups of keys that do not exist.
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
//! * [`growth`]: filters without a size, and how their rate of false positives rises
//! * [`design`]: how a table works; [`proofs`]: why a lookup misses nothing
//! * [`cookbook`]: recipes, from a filter in front of a database to models with loom
//!
//! # Filter, maplet, or one that forgets?
//!
//! A [`CuckooFilter`] answers "is x in the set?". A [`CuckooMaplet`] stores a small value with each key,
//! and answers "which values may x have?", for example which of 64 partitions may hold it. Use one maplet
//! in place of many filters that you would ask one after the other. Each bit of a value doubles the number
//! of false answers in a table of the same size, so use a filter where yes or no is enough.
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
//! An [`ExpiringCuckooFilter`] answers "was x seen lately?". It forgets what is older than its window, in one table,
//! and without a thread. Its documentation says what it promises, to the letter.
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
//! `n` is the number of items, copies included, `max` the greatest number to which a filter may grow, `rate` the
//! highest acceptable share of false positives, and `hasher` a [`StableHashBuilder`]. `bytes` and `file`
//! (any reader) hold a snapshot.
//!
//! | what you know | constructor |
//! |---|---|
//! | the number of items | `CuckooFilter::with_capacity(n)` |
//! | the same, and you want an error in place of a panic or an abort | `CuckooFilter::builder().capacity(n).build()?` |
//! | a hasher | `CuckooFilter::with_capacity_and_hasher(n, hasher)` |
//! | the rate: the smallest [layout](AnyLayout) that reaches it is chosen at run time | `CuckooFilter::with_capacity_and_rate(n, rate)?` |
//! | the [layout](Layout) | `CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?` |
//! | nothing: a filter that [grows](#growth) | `GrowableCuckooFilter::new()` |
//! | the number of items at first: a filter that grows from there | `GrowableCuckooFilter::with_capacity(n)` |
//! | the greatest number of items: a filter that grows so far | `GrowableCuckooFilter::builder().max_capacity(max).build()?` |
//! | the layout's name, at run time | `CuckooFilter::builder().layout_named("Fp12x5")?.capacity(n).build()?` |
//! | the number of pairs and the bits of a value: a maplet | `CuckooMaplet::with_capacity(n, 6)` |
//! | the bits of a value: a maplet that grows | `GrowableCuckooMaplet::new(6)` |
//! | the number of items and of generations: a filter that forgets | `ExpiringCuckooFilter::with_capacity(n, 4)` |
//! | the number of generations: one that forgets, and grows | `GrowableExpiringCuckooFilter::new(4)` |
//! | for how long to remember | `GrowableExpiringCuckooFilter::builder().generations(10).every(minute).build()?` |
//! | a [snapshot](#snapshots) in a file | `CuckooFilter::<Fp16x4, _>::restore(file, hasher)?` |
//! | a snapshot in memory | `CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher)?` |
//! | the same of another type, or of any layout | `AnyCuckooFilter::restore(file, hasher)?` |
//! | several of these | `CuckooFilter::builder().capacity(n).false_positive_rate(rate).any_layout().hasher(hasher).build()?` |
//!
//! * Name the type of what you restore, as the table does: the compiler cannot infer a layout from bytes.
//!
//! | what you need of the hasher | hasher |
//! |---|---|
//! | speed | [`DefaultHashBuilder`], with a random seed for each filter: the default |
//! | the same hashes in another run or on another machine, for [snapshots](#snapshots) and merges | [`StableHashBuilder::new(7)`](StableHashBuilder) |
//! | the same, and [others choose the keys](cookbook#keys-from-an-adversary) | [`KeyedHashBuilder::new(key)`](KeyedHashBuilder), with a secret key of 128 bits |
//! | others choose the keys, and the filter is never restored | [`RandomState::new()`](std::hash::RandomState) |
//! | none: keys are [hashed already](Prehashed) | [`NoHasher`] |
//!
//! # The type of a filter
//!
//! The items are no type parameter: methods take a reference to any type that implements [`Hash`](core::hash::Hash).
//! The parameters are a layout, [`Fp16x4`] by default, and a hasher. So a field is a `CuckooFilter`, and with a hasher
//! `CuckooFilter<Fp16x4, RandomState>`. A [`GrowableCuckooFilter`] has the same parameters; an [`AnyCuckooFilter`] has
//! only the hasher, since its layout is chosen at run time. Code for filters that grow and for those that do not takes a
//! [`Filter<L, S>`](Filter) with the bound `L: Storage`. ([`Storage`] has an example with all of them.) Maplets and filters that forget have the same parameters; only, those
//! that grow have [`AnyLayout`] by default, so with a hasher they are a `GrowableCuckooMaplet<AnyLayout, RandomState>`:
//!
//! | | of fixed size | that grows | with a layout that is chosen at run time |
//! |---|---|---|---|
//! | a filter | [`CuckooFilter`] | [`GrowableCuckooFilter`] | [`AnyCuckooFilter`] |
//! | a maplet | [`CuckooMaplet`] | [`GrowableCuckooMaplet`] | [`AnyCuckooMaplet`] |
//! | a filter that forgets | [`ExpiringCuckooFilter`] | [`GrowableExpiringCuckooFilter`] | [`AnyExpiringCuckooFilter`] |
//!
//! # Names
//!
//! * An item is a reference to anything with [`Hash`](core::hash::Hash), or its hash: [`&Prehashed(hash)`](Prehashed).
//! * `_many` takes a slice, and writes its answers to another slice:
//!   [`contains_many`](CuckooFilter::contains_many), [`replace_many`](CuckooMaplet::replace_many).
//!   It hides the latency of memory in a filter that is larger than the cache.
//! * `_each` is a lookup that returns the answers in a `Vec`: [`contains_each`](CuckooFilter::contains_each).
//! * `_all` is an insert that takes an iterator: [`insert_all`](CuckooFilter::insert_all).
//!
//! # Which insert?
//!
//! Items whose fingerprint and pair of buckets are equal form one *class*. A filter cannot tell the items
//! of a class apart. In a [growing](#growth) filter, a copy that was inserted early belongs to more
//! items than one that was inserted late. The class of an item then has all copies that match the item,
//! and `remove` removes the copy that stores the most bits of the item's hash.
//!
//! | what you need | what to call | an equal item takes |
//! |---|---|---|
//! | a set from which items are removed, or a multiset | [`insert`](CuckooFilter::insert), and one [`remove`](CuckooFilter::remove) for each insert that succeeded; [`count`](CuckooFilter::count) | one more slot, until no slot is free in its two buckets; then all further copies together one entry of the [stash](#what-finds-no-room) |
//! | a set from which nothing is removed (duplicate detection) | [`insert_if_absent`](CuckooFilter::insert_if_absent); for many items [`insert_if_absent_many`](CuckooFilter::insert_if_absent_many), which says which of them are new, or [`insert_if_absent_all`](CuckooFilter::insert_if_absent_all), which says how many | nothing: `Ok(false)` |
//! | a map from a key to one value, or a counter | [`CuckooMaplet::insert_if_absent`], which stores a value where the key has none; then [`update`](CuckooMaplet::update) or [`replace`](CuckooMaplet::replace) | nothing: `Ok(false)` |
//! | a map from a key to several values | [`CuckooMaplet::insert`]; [`insert_pair_if_absent`](CuckooMaplet::insert_pair_if_absent) where each pair is stored once | `insert`: one more slot; `insert_pair_if_absent`: nothing |
//! | what was seen lately | [`ExpiringCuckooFilter::insert`], which gives an item that is there the present generation | nothing: `Ok(false)` |
//! | what was seen first lately | [`ExpiringCuckooFilter::insert_if_absent`], which leaves an item that is there in its generation | nothing: `Ok(false)` |
//!
//! **Do not combine `insert_if_absent` of a filter with `remove`.** An item for which `insert_if_absent` returned `Ok(false)` may rely on
//! the copy of *another* item of its class. When that item is removed, this one is missed. If one million items are
//! inserted by `insert_if_absent` into a filter of that capacity, and the even ones are removed, about 30 of the 500,000
//! odd ones are then missed; if only items are removed for which `insert_if_absent` returned `Ok(true)`, about 15. The
//! [cookbook](cookbook#why-insert_if_absent-and-remove-do-not-go-together) shows the ways out.
//!
//! # Guarantees
//!
//! * **Lookups are wait-free.** [`contains`](CuckooFilter::contains) takes a bounded number of steps, whatever other
//!   threads do, even if a writer is stopped forever in the middle of a move. It takes no lock, no read-modify-write
//!   and no store. One exception: it counts an answer that is [inconclusive](Stats::inconclusive_lookups).
//! * **No false negatives.** An item whose insert returned, and which nobody removed, is found by every lookup, also
//!   while other inserts move it. (Some kinds of use give this up:
//!   [the checklist](#if-a-lookup-misses-what-you-inserted).)
//! * **Nothing is lost.** An operation that fails changes nothing.
//! * **Linearizable.** `insert`, `insert_if_absent`, `remove`, `count` and `contains` each take effect at one instant
//!   between call and return, across all items. An operation that returned before another began comes before it. So if
//!   two threads each insert an item and then look up the other's, at least one finds it. `contains` may answer true
//!   for an absent item. The items of one [class](#which-insert) share their copies, so `insert_if_absent`, `remove` and
//!   `count` are about the class. In a growing filter, a copy that was inserted early may be shared by an item that is
//!   absent: lookups of that item may be true, and then false, while other threads write.
//! * **Predicted false positives**: about 2b·load/2<sup>f</sup> of the absent items are reported as
//!   present, for b slots per bucket and fingerprints of f bits: 0.0119 % in the default layout when it
//!   is full. [`false_positive_rate`](CuckooFilter::false_positive_rate) gives the exact prediction
//!   at the present load. [Growing](#growth) filters have another rate.
//! * **Full means full**: a filter made by [`with_capacity(n)`](CuckooFilter::with_capacity) holds n
//!   items of any kind, copies and items that collide included. An insert fails only if the slots in use and the
//!   entries of the [stash](#what-finds-no-room) together have reached the load at which tables of the
//!   [layout](Layout) are full, 97.5 % in the default one; in a growing filter only at its maximum size, and there
//!   from four percentage points above its [target load](growth) on; if memory ends; or if one item has 2<sup>25</sup> - 1 copies in the stash.
//! * **Growth without a pause**: a [growable](GrowableCuckooFilter) filter keeps all of these while it
//!   [grows](#growth).
//! * **An exact image of a live filter**: a [snapshot](#snapshots) is the filter at one instant between call and
//!   return. Lookups never wait. A writer waits for a fraction of a millisecond, whatever the size; longer only if the
//!   thread that takes the snapshot is preempted while it holds a lock, or if a large
//!   [stash](#what-finds-no-room) changes while it is copied.
//! * **Hostile bytes are an error**: [`restore`](CuckooFilter::restore) returns a filter that this crate could have
//!   made, or an error, and allocates in proportion to the bytes that it has read.
//!
//! # What finds no room
//!
//! Two buckets have room for 2b entries, 8 in the default layout. An item may have more copies, a key of a maplet more
//! values, and by chance many items may share their buckets. An entry whose buckets are full, and for which no path of
//! kicks is found, goes to the [*stash*](design#the-stash), a small hash table beside the buckets: once, with the
//! number of its copies.
//!
//! There an entry takes several times the memory and the time. If items have several copies, or keys several values, tell
//! the builder of a filter or a maplet of fixed size ([`copies_per_item`](Builder::copies_per_item),
//! [`values_per_key`](Builder::values_per_key)): then it has room for nearly all of them in the buckets.
//!
//! # Growth
//!
//! [`GrowableCuckooFilter::new`] makes a filter that takes 2 KB and grows with its items, a few buckets at a time:
//! nothing is rebuilt. It takes 21.3 bits for an item in the default layout, and from a million items on up to a
//! twentieth more. Its rate of false positives, 0.019 % at first, rises by as much with each doubling. [`growth`] has
//! the figures of each layout, and says where growth ends, what it costs, and what doubled entries are.
//!
//! # Snapshots
//!
//! [`CuckooFilter::snapshot`] takes an image of a filter while other threads use it, [`Snapshot::as_bytes`] are its
//! bytes, and [`CuckooFilter::restore`] makes a filter from it, on any machine. [`CuckooFilter::merge`] adds the items
//! of another filter. [`design`](design#the-image-of-a-snapshot) says how it is that of one instant.
//!
//! The default hasher has a random seed that is lost when the process ends: build a filter that must outlive its
//! process with a [`StableHashBuilder`] or a [`KeyedHashBuilder`]. The memory and the bytes of a snapshot stand with [`Snapshot`].
//!
//! # Limits
//!
//! * **A filter grows only if its type is [`GrowableCuckooFilter`]**, and then to its [end](#growth).
//!   Otherwise, and there, [`Full`](Error::Full) (of an expiring filter [`WindowFull`](Error::WindowFull)) is an error,
//!   and the caller decides: remove items, or
//!   [rebuild](cookbook#rebuild-and-swap).
//! * **Remove only what was inserted**, once for each insert that succeeded. Any other removal may
//!   remove the copy of another item of its class, which is then missed. The same happens when
//!   [`insert_if_absent` and `remove`](#which-insert) are combined:
//!   [the checklist](#if-a-lookup-misses-what-you-inserted) has all causes of a false negative.
//! * **These do not take effect at one instant:** [`len`](CuckooFilter::len), and every figure that is computed from
//!   it, is exact only while no thread writes. A batch is one operation for each item. Lookups that run during a
//!   [`clear`](CuckooFilter::clear) may find some items and miss others. [`Full`](Error::Full) is about the whole call:
//!   it may count items that other threads remove during the call.
//! * **Items are equal if their hashes are equal, so use one type for the keys of a filter.** `"egg"` and
//!   `String::from("egg")` are one key; `"egg"` and `b"egg"` are two. Whether `7_u32` and `7_u64` are one
//!   key depends on the hasher: with a [`StableHashBuilder`] they are two; with the default hasher they are one today,
//!   and `7_i64` is another: [keys of several types](cookbook#keys-of-several-types).
//! * **Items are not stored**, so a filter cannot list them, and cannot be converted to another
//!   layout or initial capacity.
//! * **After `fork`, a child process may only look up** in the filters of its parent. A thread of the parent that held a
//!   lock at the `fork` is not in the child, so any other operation may wait for ever. (`std::process::Command` is safe:
//!   the new program has no filter.)
//!
//! # If a lookup misses what you inserted
//!
//! These are all the causes that there are, the most frequent first. If none of them applies, it is a bug: please report
//! it.
//!
//! | cause | what to do |
//! |---|---|
//! | The insert returned an error, such as [`Full`](Error::Full), and the program went on. | Handle it: [when the filter is full](cookbook#when-the-filter-is-full). |
//! | The lookup began before the insert had returned, or it ran during a [`clear`](CuckooFilter::clear). | Order the two: insert first, then let others know of the item. |
//! | The key has another type, or other bytes: `7_u32` and `7_u64`, `"egg"` and `b"egg"`. | Use one type for the keys of a filter: [keys of several types](cookbook#keys-of-several-types). |
//! | `remove` was called for an item that was not inserted, or more often than the item was inserted: for what a lookup found, or when a message was delivered twice. This removes the copy of another item. | Call it once for each `insert` that succeeded: [upserts and rollbacks](cookbook#upserts-overwrites-and-rollbacks), [messages that come twice](cookbook#messages-that-come-twice). |
//! | `remove` was called on a filter that [`insert_if_absent`](#which-insert) has filled; or on a maplet that [`insert_if_absent`](CuckooMaplet::insert_if_absent) has filled; or a maplet's pair was [replaced](CuckooMaplet::replace) or [updated](CuckooMaplet::update), and then removed with its old value. | Use `insert` and `remove` in pairs, and remove the value that is there. |
//! | [`update`](CuckooMaplet::update), [`replace`](CuckooMaplet::replace) or [`remove_value`](CuckooMaplet::remove_value) changed or removed the pair, since its key collides with that of another, or its value is the one that was removed. | Use values by which pairs can be told apart; store counters only with `update` and `insert_if_absent`. |
//! | While a [`merge`](CuckooFilter::merge) ran that then failed, items of the other filter were removed, or an `insert_if_absent` returned `Ok(false)`. | See what a merge that may fail forbids. |
//! | The filter was [restored](#snapshots) from a snapshot that was taken before the insert. | Insert again what came after it: [restarts](cookbook#keep-a-filter-across-restarts). |
//! | A [`Prehashed`] hash, or a [`Hash`](core::hash::Hash) that is not the same on the other machine or in the other release, as that of an `enum` or of types of the standard library can be. | Hash the bytes of the key: [a hash that two processes agree on](cookbook#a-hash-that-two-processes-agree-on). |
//! | A view of bytes that were damaged and [trusted](CuckooFilterView::from_trusted_bytes), or that changed after it was opened. | Use [`from_bytes`](CuckooFilterView::from_bytes), which checks them. |
//! | An [`ExpiringCuckooFilter`] has forgotten the item: its window has passed, [the filter was full](Builder::forget_oldest_when_full), or the insert was an `insert_if_absent` that returned `Ok(false)`. | See what it [promises](ExpiringCuckooFilter#guarantees). |
//!
//! # What blocks, on whom, and how long
//!
//! Buckets are grouped into *stripes*, up to 4,096 of them, each with a lock. Writers hold at most the
//! stripes that this table names, and lock them in ascending order, so they cannot deadlock.
//!
//! | operation | waits for | holds |
//! |---|---|---|
//! | `contains`, `contains_many` | nobody | nothing. After 8 rounds, in each of which a fingerprint of its version group was moved or went to the stash or out of it, it answers true, and [`stats`](CuckooFilter::stats) counts it |
//! | `len`, `load_factor`, `stats` and so on | nobody | nothing |
//! | `insert`, a slot free in one of its two buckets | one stripe | that stripe, for one store |
//! | `insert`, both buckets full | two stripes at a time | two, for each kick of a short path; nothing during the search for the path |
//! | `insert`, no path | the mutex of a shard of the stash: for another writer there; at times for the allocator, and for the copy of the shard's entries to another array. Then two stripes | first the mutex; then the stripes and the mutex, for some stores; where other threads have taken the room meanwhile, again for the allocator and the copy |
//! | `insert_if_absent`, item present | nobody, unless the item is moved meanwhile: then two stripes | these, for two loads |
//! | `insert_if_absent`, item absent | two stripes, three for the last kick of a path | these |
//! | `remove`, item present | one stripe | that stripe, for loads of both buckets and one store |
//! | `remove`, `count`, `insert_if_absent`, something of the item, or of its key, [stashed](#what-finds-no-room), or of an item that the [stash](design#the-stash) cannot tell from it without a lock | unless they return without a lock: two stripes, and the mutex of the shard, for another writer there | these, for loads of both buckets, a search in the stash, and some stores |
//! | `remove` that has freed a slot, something of the version group stashed: one in 64 | the mutex of the shard; then, for each entry for which there is room, two stripes and the mutex | the mutex, for a search in the shard and loads of some buckets; then these, for some stores |
//! | `remove`, item absent | nobody. While fingerprints of its version group are being moved it starts over; after 64 attempts it takes two stripes | |
//! | `insert_many`, `insert_all`, `insert_if_absent_many`, `insert_if_absent_all`, `remove_many` | as `insert`, `insert_if_absent` and `remove`, for each item by itself | as these; nothing between two items |
//! | `count`, item absent | nobody, unless a fingerprint of its version group is being moved: then two stripes | these, for two loads |
//! | `count`, item present | two stripes | these, for two loads |
//! | `clear` | a `merge` into the same filter, and the end of a `snapshot`; of a maplet a `remove_value`, of an expiring filter an `advance`; in a growable filter the growth mutex; then every stripe | these, until the table is empty |
//! | `snapshot` | another `snapshot` of the same filter, or a `merge` that takes one; at the end a `merge` into it, of a maplet a `remove_value`, and of an expiring filter an `advance`; in a growable filter the growth mutex, at the beginning and at the end; one stripe after the other, and at the end every stripe. In a growable filter of fewer than 1,024 buckets it waits for all of these at the beginning | in a growable filter the growth mutex, while it allocates memory for the mirror, and at the end; one stripe at a time, for a load and a store; at the end every stripe, for a few loads and stores to each; the mutex of one shard of the stash at a time, for a copy of its entries, at the end for those of shards that have changed meanwhile. In a growable filter of fewer than 1,024 buckets, growth, `merge`, `clear`, `remove_value` and `advance` wait for all of it |
//! | what is done with a `Snapshot`, `restore` | nobody | nothing: they do not access the filter |
//! | `merge` | as `snapshot` of the other filter; then another `merge` into this one, a `clear`, the end of a `snapshot`, and of a maplet a `remove_value`; then as one `insert` after the other; if one fails, then as one `remove` after the other | the same |
//! | in a growable filter, also: an insert that leaves the load above the target | for splits: the stripes of up to eight buckets and their eight new ones at a time; at times for the allocator, which provides the next part of the table | these, and the growth mutex. If another thread has the mutex, it returns without splitting, and the next insert that gets it splits for both: for up to 16 such inserts, some 24 buckets for each |
//! | in a growable filter, also: an insert that finds no room in a table that is full for its size | the growth mutex, for the splits of another thread, or for the beginning or the end of a `snapshot`; then as above | the growth mutex, for the splits of one run; then it searches again |
//! | in a growable filter, also: growth at up to five sizes, the last of them 2<sup>16</sup> buckets | every stripe, and the mutex of each shard of the stash | the growth mutex and these, while slots in use are counted: for up to a tenth of a millisecond |
//! | `reserve` | the growth mutex, and stripes as above | both, for some splits at a time |
//!
//! [Maplets](CuckooMaplet#what-blocks) and [filters that forget](ExpiringCuckooFilter#what-blocks) have tables of their
//! own. A waiter spins and yields for about 50 microseconds, then sleeps. A thread that is stopped while it holds a
//! stripe stops the writers that need this stripe, but no lookup.
//! [`design`](design#writers-that-are-overtaken-and-how-far-an-insert-searches) says what happens after 64 attempts,
//! and how far an insert searches.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | a [`Snapshot`], views, and filters and maplets with `StableHashBuilder::default()` are `Serialize` and `Deserialize`: as the bytes of a [snapshot](#snapshots). To serialize one with another seed, or one that forgets by a [clock](Builder::every) or [when full](Builder::forget_oldest_when_full), is an error: serialize its `snapshot()`. A view is deserialized with the hasher `H::default()`: only the bytes of such a filter are accepted |
//! | `loom` | under `--cfg loom`, each operation is one step of a model that [loom](https://docs.rs/loom) runs: see the [recipe](cookbook#model-check-code-that-uses-a-filter). Otherwise nothing |
//!
//! None is on by default.
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
pub use storage::operations::Stats;
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
/// CuckooFilter::builder().capacity(n).build()?;
/// CuckooFilter::with_capacity_and_hasher(n, hasher);
/// CuckooFilter::with_capacity_and_rate(n, rate)?;
/// CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?;
/// GrowableCuckooFilter::new();
/// GrowableCuckooFilter::with_capacity(n);
/// GrowableCuckooFilter::builder().max_capacity(max).build()?;
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
