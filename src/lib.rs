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
//! # Contents
//!
//! * [Filter or maplet?](#filter-or-maplet)
//! * [Constructors](#constructors)
//! * [The type of a filter](#the-type-of-a-filter): in a struct, or as an argument
//! * [Names](#names)
//! * [Which insert?](#which-insert)
//! * [Guarantees](#guarantees)
//! * [What finds no room](#what-finds-no-room)
//! * [Growth](#growth)
//! * [Snapshots](#snapshots)
//! * [Limits](#limits)
//! * [What blocks, on whom, and how long](#what-blocks-on-whom-and-how-long)
//! * [Features](#features)
//! * [How it works](#how-it-works)
//! * [Why a lookup misses nothing](#why-a-lookup-misses-nothing)
//! * [Why the order holds across items](#why-the-order-holds-across-items)
//! * [Values](#values): how a [`CuckooMaplet`] uses the same table
//! * [`cookbook`]: a filter in front of a database, upserts and rollbacks, a stream without duplicates, filters that
//!   forget, grow, rebuild and swap, a maplet of the runs of an LSM tree or of shards, a filter in a static, tokio, a
//!   filter across restarts, models with loom, and other recipes
//!
//! # Filter or maplet?
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
//! # Constructors
//!
//! `n` is the number of items, copies included, `max` the greatest number to which a filter may grow, `rate` the
//! highest acceptable share of false positives, and `hasher` a [`StableHashBuilder`]. `bytes` and `file`
//! (any reader) hold a snapshot.
//!
//! | what you know | constructor |
//! |---|---|
//! | the number of items | `CuckooFilter::with_capacity(n)` |
//! | the same, and you want an error in place of a panic or an abort | `CuckooFilter::try_with_capacity(n)?` |
//! | a hasher | `CuckooFilter::with_capacity_and_hasher(n, hasher)` |
//! | a hasher, and you want an error | `CuckooFilter::try_with_capacity_and_hasher(n, hasher)?` |
//! | the rate: the smallest [layout](AnyLayout) that reaches it is chosen at run time | `CuckooFilter::with_capacity_and_rate(n, rate)?` |
//! | the rate and a hasher | `CuckooFilter::with_capacity_rate_and_hasher(n, rate, hasher)?` |
//! | the [layout](Layout) | `CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?` |
//! | nothing: a filter that [grows](#growth) | `GrowableCuckooFilter::new()` |
//! | only a hasher | `GrowableCuckooFilter::with_hasher(hasher)` |
//! | only the layout | `CuckooFilter::builder().growable().layout::<Fp21x3>().build()?` |
//! | the greatest number of items: a filter that grows so far | `CuckooFilter::builder().max_capacity(max).build()?` |
//! | the same, and the rate | `CuckooFilter::builder().max_capacity(max).false_positive_rate(rate).any_layout().build()?` |
//! | the bits of a value: a maplet | `CuckooMaplet::builder().capacity(n).value_bits(6).build()?` |
//! | only the bits of a value: a maplet that grows | `CuckooMaplet::builder().growable().value_bits(1).build()?` |
//! | the bits of a value, and the greatest number of pairs | `CuckooMaplet::builder().max_capacity(max).value_bits(6).build()?` |
//! | a [snapshot](#snapshots) in a file | `CuckooFilter::<Fp16x4, _>::restore(file, hasher)?` |
//! | a snapshot in memory | `CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher)?` |
//! | a snapshot of a filter of fixed size, of any layout | `AnyCuckooFilter::restore(file, hasher)?` |
//! | a snapshot of a filter that grows | `GrowableCuckooFilter::<Fp16x4, _>::restore(file, hasher)?` |
//! | a snapshot of a maplet | `CuckooMaplet::<Fp16x4, _>::restore(file, hasher)?` |
//! | several of these | `CuckooFilter::builder().capacity(n).false_positive_rate(rate).any_layout().hasher(hasher).build()?` |
//!
//! * Name the type of what you restore, as the table does: the compiler cannot infer a layout from bytes.
//! * **Fixed or growing, decided at run time**: use [`GrowableCuckooFilter`] for both. With
//!   `.capacity(n).max_capacity(n)` it keeps its size. It has more slots than a filter of fixed size,
//!   since its load stays at its [target](Builder::target_load).
//! * **Keys from an adversary**: give [`RandomState`](std::hash::RandomState) as the hasher. An operation
//!   takes some 10 ns more.
//! * **Keys that are hashed already**: give `()` as the hasher, or a [`StableHashBuilder`] if you take
//!   [snapshots](#snapshots).
//! * **Maplets** have the same builder, and [`restore`](CuckooMaplet::restore),
//!   [`from_bytes`](CuckooMaplet::from_bytes) and [`from_snapshot`](CuckooMaplet::from_snapshot).
//! * **A copy** of a filter is [made from its snapshot](CuckooFilter::from_snapshot).
//!
//! # The type of a filter
//!
//! The items are no type parameter: methods take a reference to any type that implements [`Hash`](core::hash::Hash).
//! The parameters are a layout, [`Fp16x4`] by default, and a hasher. So a field is a `CuckooFilter`, and with a hasher
//! `CuckooFilter<Fp16x4, RandomState>`. A [`GrowableCuckooFilter`] has the same parameters; an [`AnyCuckooFilter`] has
//! only the hasher, since its layout is chosen at run time. Where any of them will do, take [`Storage`] as a bound.
//! Maplets have the same parameters, and the names [`CuckooMaplet`], [`GrowableCuckooMaplet`] and [`AnyCuckooMaplet`].
//!
//! ```
//! use std::hash::RandomState;
//! use coucal::*;
//!
//! struct Filters<L: Storage, S> {
//!     fixed: CuckooFilter,
//!     with_hasher: CuckooFilter<Fp16x4, RandomState>,
//!     growing: GrowableCuckooFilter,
//!     growing_with_hasher: GrowableCuckooFilter<Fp16x4, RandomState>,
//!     for_a_rate: AnyCuckooFilter,
//!     for_a_rate_with_hasher: AnyCuckooFilter<RandomState>,
//!     for_a_rate_and_growing: GrowableCuckooFilter<AnyLayout>,
//!     any_of_them: CuckooFilter<L, S>,
//! }
//!
//! let by_rate = CuckooFilter::builder().capacity(1000).false_positive_rate(0.001);
//! let filters = Filters {
//!     fixed: CuckooFilter::with_capacity(1000),
//!     with_hasher: CuckooFilter::with_capacity_and_hasher(1000, RandomState::new()),
//!     growing: GrowableCuckooFilter::new(),
//!     growing_with_hasher: GrowableCuckooFilter::with_hasher(RandomState::new()),
//!     for_a_rate: by_rate.clone().any_layout().build()?,
//!     for_a_rate_with_hasher: by_rate.clone().any_layout().hasher(RandomState::new()).build()?,
//!     for_a_rate_and_growing: by_rate.growable().any_layout().build()?,
//!     any_of_them: CuckooFilter::builder().layout::<SemiSorted17x4>().build()?,
//! };
//! # filters.growing.insert("egg")?;
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! # Names
//!
//! * A method with `_hash` in its name takes the hash of an item in place of the item:
//!   [`insert_hash`](CuckooFilter::insert_hash).
//! * `_many` takes a slice, and writes its answers to another slice:
//!   [`contains_many`](CuckooFilter::contains_many), [`contains_hash_many`](CuckooFilter::contains_hash_many),
//!   [`insert_unique_many`](CuckooFilter::insert_unique_many), [`replace_many`](CuckooMaplet::replace_many).
//!   It hides the latency of memory in a filter that is larger than the cache.
//! * `_each` is a lookup that returns the answers in a `Vec`: [`contains_each`](CuckooFilter::contains_each).
//! * `_all` is an insert that takes an iterator: [`insert_all`](CuckooFilter::insert_all),
//!   [`insert_unique_all`](CuckooFilter::insert_unique_all).
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
//! | a set from which nothing is removed (duplicate detection) | [`insert_unique`](CuckooFilter::insert_unique); for many items [`insert_unique_many`](CuckooFilter::insert_unique_many), which says which of them are new, or [`insert_unique_all`](CuckooFilter::insert_unique_all), which says how many | nothing: `Ok(false)` |
//!
//! **Do not combine `insert_unique` with `remove`.** An item for which `insert_unique` returned
//! `Ok(false)` may rely on the copy of *another* item of its class. When that item is removed, this
//! one is missed. If one million items are inserted by `insert_unique` into a filter of that capacity,
//! and the even ones are removed, about 30 of the 500,000 odd ones are then missed; if only items are
//! removed for which `insert_unique` returned `Ok(true)`, about 15. The
//! [cookbook](cookbook#why-insert_unique-and-remove-do-not-go-together) shows the ways out.
//!
//! # Guarantees
//!
//! * **Lookups are wait-free.** [`contains`](CuckooFilter::contains) takes a bounded number of steps,
//!   whatever other threads do, even if a writer is stopped forever in the middle of a move. It takes
//!   no lock, no read-modify-write and no store. One exception: it counts an answer that is
//!   [inconclusive](Stats::inconclusive_lookups).
//! * **No false negatives.** An item whose insert returned, and which nobody removed, is found by
//!   every lookup, also while other inserts move it. (Two kinds of use give this up: see
//!   [Limits](#limits).)
//! * **Nothing is lost.** An operation that fails changes nothing.
//! * **Linearizable.** `insert`, `insert_unique`, `remove`, `count` and `contains` each take effect
//!   at one instant between call and return, across all items. An operation that returned before
//!   another began comes before it. So if two threads each insert an item and then look up the
//!   other's, at least one finds it. `contains` may answer true for an absent item. The items of one
//!   [class](#which-insert) share their copies, so `insert_unique`, `remove` and `count` are about
//!   the class. In a growing filter, a copy that was inserted early may be shared by an item that is
//!   absent: lookups of that item may be true, and then false, while other threads write.
//! * **Predicted false positives**: about 2b·load/2<sup>f</sup> of the absent items are reported as
//!   present, for b slots per bucket and fingerprints of f bits: 0.0122 % in the default layout at
//!   full load. [`false_positive_rate`](CuckooFilter::false_positive_rate) gives the exact prediction
//!   at the present load. [Growing](#growth) filters have another rate.
//! * **Full means full**: a filter made by [`with_capacity(n)`](CuckooFilter::with_capacity) holds n
//!   items of any kind, copies and items that collide included. An insert returns
//!   [`Full`](InsertError::Full) only if the slots in use and the entries of the
//!   [stash](#what-finds-no-room) together have reached the load at which tables of the layout are full:
//!   97.5 % of the slots in the default layout ([`Layout`] has the others). A growing filter is full only
//!   at its maximum size. The other reasons are that memory ends
//!   ([`OutOfMemory`](InsertError::OutOfMemory)), and that one item has 2<sup>25</sup> - 1 copies in the
//!   stash (`Full`).
//! * **Growth without a pause**: a [growable](GrowableCuckooFilter) filter needs no size, and keeps all of
//!   these while it grows. Growth keeps its load close to its target or below, nothing is rebuilt, its [rate](#growth)
//!   rises by the same amount with each doubling, and it is never [full](InsertError::Full) before it has
//!   its maximum size.
//! * **An exact image of a live filter**: a [snapshot](#snapshots) is the filter at one instant
//!   between call and return. Lookups never wait. A writer waits for a fraction of a millisecond,
//!   whatever the size; longer only if the thread that takes the snapshot is preempted while it holds
//!   a lock, or if a large [stash](#what-finds-no-room) changes while it is copied.
//! * **Hostile bytes are an error**: [`restore`](CuckooFilter::restore) returns a filter that this
//!   crate could have made, or an error. No bytes make it panic. Until it has read a whole snapshot
//!   and found it valid, it allocates at most twice the bytes that it has read, and 16 KiB. The filter
//!   that it returns takes at most 17/16 of these bytes and 56 KiB, and the memory of its
//!   [stash](#what-finds-no-room), whatever maximum the snapshot names.
//!
//! # What finds no room
//!
//! Two buckets have room for 2b entries, 8 in the default layout. An item may have more copies, a key of a
//! maplet more values, and by chance many items may share their buckets. An entry goes to the *stash* if both of
//! its buckets are full and the search finds no path of kicks. The stash is a small hash table beside the
//! buckets (Kirsch, Mitzenmacher, Wieder, "More Robust Hashing: Cuckoo Hashing with a Stash", ESA 2008).
//!
//! ```
//! let filter = coucal::CuckooFilter::with_capacity(1000);
//! for _ in 0..5000 {
//!     filter.insert("egg")?;
//! }
//! assert_eq!(filter.count("egg"), 5000);
//! let stats = filter.stats();
//! assert_eq!((stats.stashed_entries, stats.stashed_copies), (1, 4992));
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! * **Figures**: the stash has each entry once, with the number of its copies.
//!   [`stats`](CuckooFilter::stats) has both numbers. [`len`](CuckooFilter::len) and
//!   [`count`](CuckooFilter::count) include the copies. [`load_factor`](CuckooFilter::load_factor) is the
//!   share of slots in use.
//! * **Memory**: none until the first entry. An entry takes 17 bytes in an array that is doubled when seven eighths of
//!   it are in use: so thousands of entries take 20 to 40 bytes each, if none was removed. The stash has 1 to 16
//!   parts (*shards*), which begin with 1 KiB: the first entry takes 1.5 KB in a small table, and 8.7 KB in one
//!   that is large or grows. [`memory_bytes`](CuckooFilter::memory_bytes) includes all of this.
//! * **Lookups**: items belong to version groups, 8 in a small table and 1,024 in a large one. Lookups in a group
//!   of which nothing is stashed do not notice the stash. The others look there as well: wait-free, without a lock.
//!   If 0.1, 1 and 15 % of the entries of a large table are stashed, lookups of absent items were measured to take
//!   1.1 to 1.3, 1.6 to 2.5 and 1.9 to 3.5 times as long.
//! * **Many values of one key** lie side by side, and an operation on this key reads all of them. With 10,000 of
//!   them `insert`, `get` and `replace` were measured to take 0.02 to 0.05 ms, with 60,000 0.1 to 0.3 ms.
//! * **Removals** in a group of which something is stashed lock both stripes of the item. One that frees a slot
//!   looks at one stashed entry, and puts a copy of it into a bucket if there is room. So a table that was full for a
//!   while does not stay slow. Which entry that is depends only on the item that was removed and on what is stashed:
//!   equal operations of one thread give equal filters, byte for byte, also after one of them was restored.
//! * **Growth**: a growing filter splits by its slots in use and stashed entries together, and does not grow
//!   for one item that finds no room.
//!
//! # Growth
//!
//! A growing filter needs no size. [`GrowableCuckooFilter::new`] makes one that begins with 4 KiB of slots
//! and grows with its items.
//!
//! ```
//! use coucal::GrowableCuckooFilter;
//!
//! let filter = GrowableCuckooFilter::new();
//! for item in 0..100_000 {
//!     filter.insert(&item)?; // now and then one of them splits a few buckets
//! }
//! assert!(filter.slots() < 140_000);
//! assert!((0..100_000).all(|item| filter.contains(&item)));
//! assert!(filter.false_positive_rate() < 0.0016);
//! assert!(filter.false_positive_rate_at(1_000_000_000) < 0.0045);
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! [`Builder::growable`] makes one with another layout, hasher or [target load](Builder::target_load). Both
//! sizes are optional: [`capacity`](Builder::capacity) is the number of items that it has room for at first, and
//! [`max_capacity`](Builder::max_capacity) a maximum that it does not grow beyond.
//!
//! This is what each layout that can grow gives, beside a full filter of fixed size; [`Fp16x4`] is the
//! default. A filter that has doubled 3 times holds 8 times the items of its first size; one that has doubled
//! 9 times, 512 times; one that has doubled 20 times, a million times.
//!
//! | layout | false positives at the first size | after 3 doublings | after 9 | after 20 | grows up to | bits per item | fixed size: false positives | bits per item |
//! |---|---|---|---|---|---|---|---|---|
//! | [`Fp12x5`] | 0.40 % | 1.6 % | 4.0 % | – | 9 doublings | 15.7 | 0.24 % | 13.1 |
//! | [`Fp16x4`] | 0.019 % | 0.075 % | 0.19 % | 0.39 % | 2<sup>44</sup> slots | 21.3 | 0.012 % | 16.7 |
//! | [`Fp21x3`] | 0.00044 % | 0.0018 % | 0.0044 % | 0.0093 % | 2<sup>44</sup> slots | 28.1 | 0.00027 % | 22.8 |
//! | [`Fp32x2`] | 0.00000013 % | 0.00000052 % | 0.0000013 % | 0.0000027 % | 2<sup>44</sup> slots | 46.4 | 0.000000081 % | 37.0 |
//!
//! * **False positives**: a filter that has grown from its first size and has doubled D times reports
//!   about 2b·load·2<sup>1-w</sup>·(1 + D) of the absent items as present, for b slots of w bits in a
//!   bucket and every D. So each doubling adds as much as the first size had, and a larger initial capacity
//!   takes fewer doublings. (This is for a first size of a power of two of buckets, as the 512 are. With another
//!   first size, the rate is that of the power of two below, and rises in proportion up to the next one: in
//!   place of 1 + D it is D + x for x times the power of two, 1 < x < 2.) The rate is lower if items were
//!   inserted at a larger size than they needed: after removals, or after
//!   [`reserve`](CuckooFilter::reserve).
//!   [`false_positive_rate`](CuckooFilter::false_positive_rate) estimates the present rate from the words
//!   of the table (of 2<sup>14</sup> of them at most). It is right within some percent up to 13 doublings; after
//!   20, it mostly misses the share of the oldest entries, up to a fifth of the rate.
//!   [`false_positive_rate_at`](CuckooFilter::false_positive_rate_at) predicts the rate for any number of
//!   items. The [rate that the builder is given](Builder::false_positive_rate) holds at the maximum
//!   capacity if there is one, and else at the initial capacity.
//! * **First size**: without a capacity, a filter begins with 512 buckets, or with what its maximum needs if
//!   that is less. A table has 32 buckets or more.
//! * **End of growth**: at the [maximum](Builder::max_capacity) that the builder is given; where the allocator has
//!   no more memory; and at the size of the table above. That is 2<sup>44</sup> slots, except where few bits of a
//!   slot are left for growth: [`Fp12x5`] doubles 9 times, and maplets with [long values](CuckooMaplet#layouts)
//!   fewer times. [`max_capacity`](CuckooFilter::max_capacity) of a filter that was built without a maximum
//!   is the number of items at that size. If it is given a larger maximum, such a filter begins with a larger table.
//! * **Doubled entries**: a table that has doubled often has entries of which nothing is known beyond their
//!   bucket. A split puts such an entry into both buckets, so it takes one slot more. It is not counted as an
//!   item. After 17 doublings these are 1.6 % of the slots in use in the default layout, and each further
//!   doubling adds 0.2 percentage points; less with [`Fp21x3`] and [`Fp32x2`]. With [`Fp12x5`] they are about an
//!   eighth after 9 doublings, which is where it stops.
//! * **Memory**: growth keeps the load close to a [target](Builder::target_load) or below, 75 % in the
//!   default layout, until the table has its maximum size. The bits per item of the table above are those
//!   of the buckets in use, without doubled entries. Buckets are allocated as growth reaches them, in parts of
//!   4 KiB, and never move. So a table has up to one such part more than it uses. The list of the parts takes 8 to
//!   32 bytes for each of them. Locks and versions are there from the start: 0.9 KB for a maximum of 10,000
//!   items, 25 KB for a million, and 42 KB for more, or without a maximum.
//!   [`memory_bytes`](CuckooFilter::memory_bytes) is the sum of all. If the allocator cannot provide a
//!   part, the insert that needs room returns [`OutOfMemory`](InsertError::OutOfMemory), inserts that
//!   find room go on, and nothing is lost. [`reserve`](CuckooFilter::reserve) allocates ahead of time.
//! * **Time**: inserts and lookups take longer than in a filter of fixed size (`docs/performance.md` in the
//!   repository has figures). If you know the number of items, build a filter of fixed
//!   size. Before a burst of inserts, call [`reserve`](CuckooFilter::reserve).
//! * **Removal**: remove only what was inserted, once for each insert, as in a filter of fixed size.
//!   It makes room for other items, but the table never shrinks, and
//!   [`clear`](CuckooFilter::clear) does not shrink it either. Where an entry was doubled, the removal of its item
//!   removes one of the two, and the other stays: it may answer for absent items, and is part of the
//!   [rate](CuckooFilter::false_positive_rate). `clear` removes it.
//! * **Full** comes at the maximum size, and not before, and not below the maximum capacity: when the slots in
//!   use and the stashed entries together are four percentage points of the slots above the target, or more.
//! * **Layouts**: the four of the table, and [`AnyLayout`] among them; the [others](GrowingLayout) are for
//!   filters of fixed size. A slot of a growing table needs some bits for growth, and a *core* of six
//!   bits or more that never changes. Slots of 8 to 10 bits would have one to three bits left, so they
//!   would gain nothing. A semi-sorted bucket compares whole fingerprints, and a growing table
//!   compares parts of them.
//!
//! # Snapshots
//!
//! [`CuckooFilter::snapshot`] takes an image of a filter while other threads use it,
//! [`Snapshot::write_to`] writes it, and [`CuckooFilter::restore`] makes a filter from it, on any
//! machine. [`CuckooFilter::merge`] adds the items of another filter.
//!
//! ```
//! use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
//!
//! let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
//! filter.insert("egg")?;
//! let bytes = filter.snapshot()?.to_bytes();
//! filter.insert("nest")?; // after the snapshot
//!
//! let restored = CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, StableHashBuilder::new(7))?;
//! assert!(restored.contains("egg") && !restored.contains("nest"));
//! # Ok::<(), coucal::Error>(())
//! ```
//!
//! The image is that of one instant, although no writer waits for as long as a copy of the table
//! takes:
//!
//! 1. `snapshot` allocates a *mirror*: an array of zeros, one word for each bucket of the table. If the
//!    table grows meanwhile, so does the mirror.
//! 2. It locks each stripe in turn, and sets its *flag*. From then on, each writer that stores a word
//!    under that stripe stores the same word in the mirror.
//! 3. It copies the words, and compares each word with its copy. Between copying and comparing is a
//!    fence, as there is between a writer's store in the table and its store in the mirror. A word
//!    that has changed meanwhile is copied again, under its stripe. Now the mirror is equal to the
//!    table wherever no stripe is held, and it stays equal.
//! 4. It copies the [stash](#what-finds-no-room), part by part.
//! 5. It locks all stripes, reads the extent of a table that grows and the number of items, copies the parts of the
//!    stash again that have changed, clears the flags, and detaches the mirror, which becomes the snapshot. This is
//!    the instant: no writer is in the middle of an operation, so the mirror is the table at this moment.
//!
//! A writer waits for one store when the flag of its stripe is set, or when a word of its stripe is
//! copied again, and once at the end, while all stripes are locked. A lookup uses neither the stripes
//! nor the mirror.
//!
//! * **Memory**: 8 bytes for each bucket of the table, and 16 for each stashed entry, until the [`Snapshot`] is
//!   dropped; while it is taken, 32 for each stashed entry.
//! * **Hasher**: the snapshot contains a check of the hasher, and not the hasher. The default hasher has a
//!   random seed that is lost when the process ends: build a filter that must outlive its process with a
//!   [`StableHashBuilder`].
//! * **Bytes**: 8 for each bucket, 16 for each stashed entry, and 120 more. `docs/format.md` in the repository describes each of
//!   them. The checksums find damage. They are no signature: whoever can change the bytes can make a
//!   valid filter of other items.
//! * **Serde**: with the feature `serde`, a [`Snapshot`] is `Serialize` and `Deserialize`, as its bytes. So a filter
//!   goes into any format through its snapshot:
//!
#![cfg_attr(feature = "serde", doc = " ```")]
#![cfg_attr(not(feature = "serde"), doc = " ```ignore")]
//! # use coucal::{CuckooFilter, Fp16x4, StableHashBuilder};
//! # let filter = CuckooFilter::with_capacity_and_hasher(1000, StableHashBuilder::new(7));
//! # filter.insert("egg")?;
//! let bytes = postcard::to_allocvec(&filter.snapshot()?)?;
//! let snapshot = postcard::from_bytes(&bytes)?;
//! let restored = CuckooFilter::<Fp16x4, _>::from_snapshot(snapshot, StableHashBuilder::new(7))?;
//! # assert!(restored.contains("egg"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limits
//!
//! * **A filter grows only if its type is [`GrowableCuckooFilter`]**, and then to its [end](#growth).
//!   Otherwise, and there, [`Full`](InsertError::Full) is an error, and the caller decides: remove items, or
//!   [rebuild](cookbook#rebuild-and-swap).
//! * **Remove only what was inserted**, once for each insert that succeeded. Any other removal may
//!   remove the copy of another item of its class, which is then missed. The same happens when
//!   [`insert_unique` and `remove`](#which-insert) are combined. Only these two uses cause false
//!   negatives.
//! * **These do not take effect at one instant:** [`len`](CuckooFilter::len), and every figure that is
//!   computed from it, is exact only while no thread writes. A batch is one operation for each item.
//!   Lookups that run during a [`clear`](CuckooFilter::clear) may find some items and miss others.
//!   [`Full`](InsertError::Full) is about the whole call: it may count items that other threads remove
//!   during the call.
//! * **Items are equal if their hashes are equal, so use one type for the keys of a filter.** `"egg"` and
//!   `String::from("egg")` are one key; `"egg"` and `b"egg"` are two. Whether `7_u32` and `7_u64` are one
//!   key depends on the hasher: with the default hasher they are, with a [`StableHashBuilder`] they are
//!   two.
//! * **Items are not stored**, so a filter cannot list them, and cannot be converted to another
//!   layout or initial capacity.
//! * **To merge, filters must be alike**: of the same layout, with hashers that give the same hashes, and
//!   of the same size, or both growing. (Maplets must also have the same value bits.) Filters of fixed size that
//!   are built for the same capacity have the same size; filters that grow may have any two sizes.
//!
//! # What blocks, on whom, and how long
//!
//! Buckets are grouped into *stripes*, up to 4,096 of them, each with a lock. Writers hold at most the
//! stripes that this table names, except after 64 failed attempts (see below), and lock them in ascending
//! order, so they cannot deadlock.
//!
//! | operation | waits for | holds |
//! |---|---|---|
//! | `contains`, `contains_many` | nobody | nothing. After 8 rounds, in each of which a fingerprint of its version group was moved or went to the stash or out of it, it answers true, and [`stats`](CuckooFilter::stats) counts it |
//! | `len`, `load_factor`, `stats` and so on | nobody | nothing |
//! | `insert`, a slot free in one of its two buckets | one stripe | that stripe, for one store |
//! | `insert`, both buckets full | two stripes at a time | two, for each kick of a short path; nothing during the search for the path |
//! | `insert`, no path | the mutex of a shard of the stash: for another writer there; at times for the allocator, and for the copy of the shard's entries to another array. Then two stripes | first the mutex; then the stripes and the mutex, for some stores |
//! | `insert_unique`, item present | nobody, unless the item is moved meanwhile: then two stripes | these, for two loads |
//! | `insert_unique`, item absent | two stripes, three for the last kick of a path | these |
//! | `remove`, item present | one stripe | that stripe, for loads of both buckets and one store |
//! | `remove`, `count`, `insert_unique`, something of the version group [stashed](#what-finds-no-room) | unless they return without a lock: two stripes, and the mutex of the shard, for another writer there. `remove`, when it has freed a slot: the same for a stashed entry | these, for loads of both buckets, a search in the stash, and some stores |
//! | `remove`, item absent | nobody. While fingerprints of its version group are being moved it starts over; after 64 attempts it takes two stripes | |
//! | `insert_many`, `insert_all`, `insert_unique_many`, `insert_unique_all`, `remove_many` | as `insert`, `insert_unique` and `remove`, for each item by itself | as these; nothing between two items |
//! | `count`, item absent | nobody, unless a fingerprint of its version group is being moved: then two stripes | these, for two loads |
//! | `count`, item present | two stripes | these, for two loads |
//! | `clear` | every stripe | every stripe, until the table is empty |
//! | `snapshot` | another `snapshot` of the same filter, or a `merge` that takes one; in a growable filter the growth mutex, at the beginning and at the end; one stripe after the other, and at the end every stripe | in a growable filter the growth mutex, while it allocates memory for the mirror, and at the end; one stripe at a time, for a load and a store; at the end every stripe, for a few loads and stores to each; the mutex of one shard of the stash at a time, for a copy of its entries, at the end for those of shards that have changed meanwhile |
//! | `Snapshot::write_to` and so on, `restore` | nobody | nothing: they do not access the filter |
//! | `merge` | as `snapshot` of the other filter, then as one `insert` after the other; if one fails, then as one `remove` after the other | the same |
//! | of a maplet: `contains_key`, `insert`, `remove`, `insert_many` and so on | as `contains`, `insert`, `remove` and so on | the same |
//! | of a maplet: `replace`, and `replace_many` for each pair by itself | as `remove` | the same |
//! | of a maplet: `get`, `get_many` | nobody, but for the allocator if values of the key are stashed. After 8 rounds, in each of which a fingerprint of its version group was moved: two stripes, and if something of the group is stashed the mutex of the shard | these, for two loads and a search in the stash |
//! | in a growable filter, also: an insert that leaves the load above the target | for splits: the stripes of up to eight buckets and their eight new ones at a time; at times for the allocator, which provides the next part of the table | these, and the growth mutex. If another thread has the mutex, it returns without splitting |
//! | in a growable filter, also: an insert that finds no room in a table that is full for its size | the growth mutex, for the splits of another thread, or for the beginning or the end of a `snapshot`; then as above | the growth mutex, for the splits of one run; then it searches again |
//! | `reserve` | the growth mutex, and stripes as above | both, for some splits at a time |
//!
//! A writer decides without a lock and checks under the lock. If another thread was faster, it starts
//! over. After 64 attempts it locks all stripes whose holders could overtake it: `remove` both
//! stripes of the item, `insert` every stripe, also during its search.
//!
//! The locks are made for short use: unlocking is one plain store and wakes nobody. A waiter spins,
//! then yields, for about 50 microseconds. Then it sleeps, for 50 microseconds at first and twice as
//! long each time, up to 0.8 milliseconds, so that a lock holder that was preempted can run. The
//! locks are not fair: every writer gets its turn by chance, not in order. A thread that is stopped
//! while it holds a stripe stops the writers that need this stripe, but no lookup.
//!
//! The search for a kick path first visits up to 24 buckets. If it finds no path, it visits up to 768, but not
//! in a table that is full or that has stashed more than one entry per 256 slots. It does not search if both
//! buckets hold nothing but the item's own class. An item without a path goes to the stash, or, if the table is full, its insert returns `Full` after the short search. The table is full when the
//! slots in use and the stashed entries reach the load at which the first insert fails in this
//! [layout](Layout); in a growable table below its maximum size, 4 percentage points above the target, and then
//! it grows. So a full filter answers quickly, and the length of a search depends only on the present state of the
//! table.
//!
//! # Features
//!
//! | feature | what it adds |
//! |---|---|
//! | `serde` | a [`Snapshot`] is `Serialize` and `Deserialize`: see [snapshots](#snapshots) |
//! | `loom` | under `--cfg loom`, each operation is one step of a model that [loom](https://docs.rs/loom) runs: see the [recipe](cookbook#model-check-code-that-uses-a-filter). Otherwise nothing |
//!
//! None is on by default.
//!
//! # How it works
//!
//! The data structure is the cuckoo filter of Fan, Andersen, Kaminsky and Mitzenmacher ("Cuckoo
//! Filter: Practically Better Than Bloom", CoNEXT 2014). Its terms:
//!
//! * A *slot* holds one *fingerprint*: some bits of an item's hash, 16 in the default layout. (In a
//!   table that grows, it holds an *entry* of the same length: [see below](#entries-of-variable-length).)
//! * A *bucket* is a small number of slots, 4 in the default layout, in one atomic 64-bit word.
//! * Every item has two buckets, and its fingerprint may be in either. The second bucket is computed
//!   from the first and the fingerprint alone, and the first from the second in the same way: the
//!   alternate of bucket i is `(r - i) mod m`, where m is the number of buckets (any even number) and
//!   r is odd and computed from the fingerprint.
//! * A *kick* moves a fingerprint to its other bucket, which needs no knowledge of the item. When
//!   both buckets of a new item are full, a *path* of kicks leads from one of them to a free slot.
//! * The *load factor* is the share of slots in use.
//! * A *split* moves some fingerprints of a bucket to a new one, and so lets the table grow.
//!
//! Many threads use the table at once as follows. As in MemC3 (Fan, Andersen, Kaminsky, NSDI 2013),
//! lookups are optimistic and validate a *version*: a counter for each group of fingerprints. As in
//! Li, Andersen, Kaminsky and Freedman ("Algorithmic Improvements for Fast Concurrent Cuckoo
//! Hashing", EuroSys 2014), writers lock stripes, and a path of kicks is searched breadth-first and
//! without a lock, and then applied backwards from the free slot, so that every kick moves a
//! fingerprint into a free slot.
//!
//! * **Lookup**: load the version of the fingerprint's group, then both words. If one of them holds
//!   the fingerprint, the item is present. Otherwise load the version again: if it is unchanged, the
//!   item is absent; if not, start over.
//! * **Kick** of a fingerprint from bucket A to bucket B, under the stripes of both: store it into B,
//!   bump its version (add one), then store A without it. The last kick of a path stores the new
//!   fingerprint into A with the same store.
//! * **Insert**: lock the stripe of the bucket that has more free slots; one store.
//! * **Remove**: lock the stripe of the bucket in which the fingerprint was seen; one store. If the
//!   other bucket also holds a copy, bump the version first.
//! * **Split** of a bucket, under its stripe and that of the new bucket: store the fingerprints that
//!   move into the new bucket, store the new extent of the table, bump the version of each
//!   fingerprint that moved, then store the fingerprints that stay into the old bucket. A growable
//!   table is a linear hash table (Litwin, "Linear Hashing", VLDB 1980): the
//!   *extent* (a level and a number of buckets) says which bucket a position has. A lookup loads the extent after the
//!   version and before the words. Writers compute the buckets again when they hold the stripes.
//!
//! ## Entries of variable length
//!
//! In a growing table an item has two *positions*, numbers of 64 bits. Of 2<sup>L</sup> to 2<sup>L+1</sup>
//! buckets, the bucket of a position is its lowest L + 1 bits, or its lowest L bits if there is no such bucket
//! yet. L is the *level*. So a bucket tells these bits of all its entries, and a slot need not store them. If
//! nothing else were stored in their place, each doubling would double the false positives. So a slot holds, from
//! its upper end to its lower end:
//!
//! * the *core*: k bits of the hash that never change. The difference of the two positions is computed
//!   from it;
//! * a *ring* of T + 1 bits, in which bit j of the position has the place j mod (T + 1). Read from the place of
//!   bit L around, it holds the bits of the position that are known beyond the bucket, then a 1, then zeros. T is 5,
//!   9, 12 and 19 in the four layouts, less the bits of a value.
//!
//! A new entry knows the lowest L + T bits of its position, at each level. So an entry that is inserted late
//! knows more of its item than one that is inserted early. (The idea is that of the Taffy cuckoo
//! filter, 2022, of `InfiniFilter`, SIGMOD 2023, and of the Aleph filter, VLDB 2024, which are for one
//! thread.)
//!
//! An entry *matches* an item if the cores and all bits that the entry knows agree with the item's. A
//! lookup is true if an entry matches. A removal takes the longest match of both buckets, the entry
//! that knows the most bits: it reads the other bucket under the stripe of the first, and starts over
//! if the other has a longer match. If it took a shorter match, that could be the only entry of
//! another item, which would then be missed.
//!
//! A split reads bit L of the position, and clears it in the entries that move. In those that stay it is
//! 0 already. So an entry that stays has the same bits before and after the split, and a lookup finds it
//! with the old extent and with the new one. An entry that knows no bit beyond its bucket is doubled: it is in
//! both buckets afterwards. At the end of a level the extent changes once more, when
//! nothing remains to be cleared: both extents choose the same buckets.
//!
//! ## The stash
//!
//! What the [stash](#what-finds-no-room) holds of an item changes only under the stripes of both of its buckets,
//! and then under the mutex of its shard. The lowest bit of a version says whether something of its group is
//! stashed.
//!
//! * **In**: store the cell of the entry, then add to the version, and set the bit.
//! * **Out**: if the entry goes back to a bucket, store it there. Then add to the version, and clear the bit if
//!   nothing of the group is left. Then clear the cell. This is copy, bump and clear, as in a kick.
//! * **Lookup**: compares the second version with the first one without the bit. So if the bit is set, the first
//!   round fails. The next rounds load the version, the words, then the cells, then the version, and compare it
//!   with the bit. Words come before cells: a lookup that reads a word after a removal also sees all cells that
//!   were there before the removal.
//!
//! The version is changed and loaded sequentially consistent, and so are cells cleared and loaded. An insert into
//! the stash takes effect when the version is changed. A removal takes effect when the cell is cleared; for lookups
//! that find the bit cleared, when the version is changed.
//!
//! ## Where the versions are
//!
//! Versions and stripes are in different cache lines. So an insert without a kick writes to one cache
//! line that lookups read, that of the bucket.
//!
//! # Why a lookup misses nothing
//!
//! Assume that a lookup misses an item that is present. Then the item was moved from a bucket A to a
//! bucket B during the lookup: the lookup read A after the item was cleared there, and B before it
//! was copied there.
//!
//! The value that it read from A was written by the kick or by a later writer of A. Each writer of A
//! stores with Release or stronger, and has locked the stripe after the previous writer. The lookup
//! loads with Acquire or stronger. So the bump of the version, which the kick did before it
//! cleared A, happens before the lookup's second load of the version, and that load returns the
//! bumped value or a later one.
//!
//! Its first load of the version cannot have returned that value. It is an Acquire load, and the
//! bump is a Release operation that comes after the copy into B: the lookup would then have seen
//! the copy in B. So the two loads of the version differ, and the lookup starts over.
//!
//! A split is a kick to a new bucket, and does not change the entries that stay. A lookup that has
//! computed the addresses from an old extent reads the old bucket. If it reads that bucket after the
//! clear, it has synchronized with the bump, as above. Its next round loads the bumped version, and
//! therefore the new extent, which was stored before.
//!
//! No version means "wait": a writer that is stopped in the middle of a kick leaves the fingerprint
//! in both buckets, where lookups find it. After eight rounds with a changed version, the lookup
//! answers true, as a filter may. (How optimistic readers fit the memory model: Boehm, "Can Seqlocks
//! Get Along With Programming Language Memory Models?", MSPC 2012.)
//!
//! # Why the order holds across items
//!
//! A store that changes the membership of an item (the store of an insert, of a removal, or of the
//! last kick of a path; for the stash, the change of the version, and the store of a cell that a removal clears) is
//! sequentially consistent, and so are the loads that decide the result of an
//! operation. All of these have one total order, which agrees with the program order of each thread.
//!
//! Assume that one thread inserts X and then misses Y, that another inserts Y and then misses X, and
//! that nobody removes them. A lookup that misses Y has loaded the bucket into which Y was inserted,
//! and has loaded it before the store of Y in the total order: a lookup that loads it later finds Y,
//! there or in the bucket to which a kick has moved it, as shown above. The same holds for X. So the
//! store of X comes before a load of the lookup of Y, that load before the store of Y, that store
//! before a load of the lookup of X, and that load before the store of X: a contradiction.
//!
//! The stores by which a kick or a split moves a fingerprint change no membership. They are Release
//! stores, and the versions order them for lookups. The loads and stores of the extent are
//! sequentially consistent, since it decides which bucket is loaded: a lookup with an old extent
//! comes before the split in the total order, and so before each insert into the new bucket.
//!
//! An operation "returned before another began" if this follows from the program order of a thread,
//! from synchronization, or from the order of sequentially consistent accesses. On x86-64 it may also
//! follow from a clock, since a sequentially consistent store has left the processor's buffer when
//! the operation returns.
//!
//! # Values
//!
//! A [`CuckooMaplet`] is the same table, with a value in the uppermost bits of each slot. Kicks, splits,
//! snapshots and merges move what a slot holds as a whole. What follows from a fingerprint (the
//! other bucket, the version) does not depend on the value. Lookups compare slots without their values;
//! `remove` and `replace` compare them with their values, and in a growing maplet take the longest entry
//! that has the value.
//!
//! * **`get`** loads the version, both words, and the version again. If it has changed, `get` starts over,
//!   *also if it has found something*: one value of the key may have been found, while another was moved
//!   past the lookup. So the proof [above](#why-a-lookup-misses-nothing) holds for each value by itself. In
//!   a growing maplet, a round also starts over if the table has begun its next level meanwhile, since
//!   entries of that level are read differently. After eight rounds `get` reads both words, and the stash,
//!   under their locks.
//! * **`replace`** finds the entry as `remove` does, locks the stripe of the bucket where the entry is,
//!   and stores the word with the new value: one sequentially consistent store, like every store by which
//!   an operation takes effect. At that time a kick of this entry has either not begun or has already
//!   ended, since it holds the stripes of both buckets from its copy to its clear; and a kick that was
//!   planned with the old value finds that its entry is gone. So there is never a second copy with the
//!   old value, and a lookup that reads this word sees the old value or the new one. A lookup that reads
//!   the word of the other bucket before a kick, and this word after it, sees neither, but then the
//!   version has changed. In the stash, the new pair goes in before the old one goes out, so a lookup may see
//!   both.
//! * **A bump** before the store is needed only for duplicates. If the other bucket has an entry that a
//!   lookup may find in place of this one, a lookup may have read that bucket before the entry was put
//!   there, and may read this bucket after the store: it would miss something that was there all the time.
//!   For `replace` that is an entry of the key with the old value. For `remove` it is an entry of the key
//!   with any value, since `contains_key` finds either.
#![deny(missing_docs)]

#[cfg(not(target_pointer_width = "64"))]
compile_error!("coucal needs 64-bit pointers: the number of a bucket is as wide as a hash");
#[cfg(all(coucal_model, not(all(loom, feature = "loom"))))]
compile_error!("the models of coucal need `--cfg loom` and the feature `loom`, too");

mod arch;
mod builder;
mod error;
mod filter;
mod hasher;
mod layout;
mod maplet;
#[cfg(coucal_model)]
#[doc(hidden)]
pub mod probe;
#[cfg(test)]
mod random;
mod snapshot;
mod storage;
mod sync;
mod table;

pub use builder::{Builder, Filters, MapletBuilder, Maplets};
pub use error::{
    BuildError, Error, InsertError, InsertManyError, LengthMismatch, MergeError, ReserveError,
    RestoreError, SnapshotError,
};
pub use filter::{AnyCuckooFilter, CuckooFilter, GrowableCuckooFilter};
pub use hasher::{DefaultHashBuilder, DefaultHasher, StableHashBuilder, StableHasher};
pub use layout::{
    Candidates, Fp8x8, Fp9x7, Fp10x6, Fp12x5, Fp16x4, Fp21x3, Fp32x2, Layout, SemiSorted14x5,
    SemiSorted17x4,
};
pub use maplet::{AnyCuckooMaplet, CuckooMaplet, GrowableCuckooMaplet};
pub use snapshot::Snapshot;
pub use storage::operations::Stats;
pub use storage::{AnyLayout, FixedStorage, Growable, GrowingLayout, Storage};

/// For the tests, benchmarks and evaluation of this repository. Not part of the public API: no stability, no support,
/// and it may go away in any release.
#[cfg(feature = "__internals")]
#[doc(hidden)]
pub mod internals {
    pub use crate::builder::of_named_layout;
    pub use crate::table::{alternate, key};
}

#[cfg(any(doc, doctest))]
#[doc = include_str!("../docs/cookbook.md")]
pub mod cookbook {}

/// The examples of the README, run as documentation tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// The constructors of the table above, line by line, run as a documentation test.
///
/// ```
/// use coucal::*;
///
/// # let (n, max, rate, hasher) = (100, 1000, 0.01, StableHashBuilder::default());
/// # let saved = CuckooFilter::with_capacity_and_hasher(n, hasher).snapshot()?;
/// # let (bytes, any) = (saved.to_bytes(), saved.to_bytes());
/// # let (file, any_file) = (&bytes[..], &any[..]);
/// # let growing = CuckooFilter::builder().max_capacity(max).hasher(hasher).build()?.snapshot()?;
/// # let growing_file = &growing.to_bytes()[..];
/// # let maplet = CuckooMaplet::builder().value_bits(6).hasher(hasher).build()?.snapshot()?;
/// # let maplet_file = &maplet.to_bytes()[..];
/// CuckooFilter::with_capacity(n);
/// CuckooFilter::try_with_capacity(n)?;
/// CuckooFilter::with_capacity_and_hasher(n, hasher);
/// CuckooFilter::try_with_capacity_and_hasher(n, hasher)?;
/// CuckooFilter::with_capacity_and_rate(n, rate)?;
/// CuckooFilter::with_capacity_rate_and_hasher(n, rate, hasher)?;
/// CuckooFilter::builder().layout::<Fp12x5>().capacity(n).build()?;
/// GrowableCuckooFilter::new();
/// GrowableCuckooFilter::with_hasher(hasher);
/// CuckooFilter::builder().growable().layout::<Fp21x3>().build()?;
/// CuckooFilter::builder().max_capacity(max).build()?;
/// CuckooFilter::builder().max_capacity(max).false_positive_rate(rate).any_layout().build()?;
/// CuckooMaplet::builder().capacity(n).value_bits(6).build()?;
/// CuckooMaplet::builder().growable().value_bits(1).build()?;
/// CuckooMaplet::builder().max_capacity(max).value_bits(6).build()?;
/// CuckooFilter::<Fp16x4, _>::restore(file, hasher)?;
/// CuckooFilter::<Fp16x4, _>::from_bytes(&bytes, hasher)?;
/// # let file = any_file;
/// AnyCuckooFilter::restore(file, hasher)?;
/// # let file = growing_file;
/// GrowableCuckooFilter::<Fp16x4, _>::restore(file, hasher)?;
/// # let file = maplet_file;
/// CuckooMaplet::<Fp16x4, _>::restore(file, hasher)?;
/// CuckooFilter::builder().capacity(n).false_positive_rate(rate).any_layout().hasher(hasher).build()?;
/// # Ok::<(), coucal::Error>(())
/// ```
#[cfg(doctest)]
struct Constructors;
