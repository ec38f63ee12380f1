//! The models: the crate itself, under every order of events that loom knows of.
//!
//! In the names of items and in the comments, an item (0, 3) is one whose lookups read bucket 0
//! first and bucket 3 second. In a table of 4 buckets the pairs are {0, 1}, {2, 3}, {0, 3}, {1, 2}.
#![cfg(loom)]

mod batches;
mod kicks;
mod races;
mod stopped;
mod unique;

use loom_tests::stage::{Cast, Item};

/// Four buckets, of which 0 and 1 are full. Nothing in them but `moved`, in 0, has anywhere else
/// to go: to bucket 3, which is empty, as is 2. An insert of `new` moves it there.
struct OneHop {
    cast: Cast,
    moved: Item,
    new: Item,
    /// Seven copies in 0 and 1.
    filler: Item,
}

impl OneHop {
    fn new(first: usize, second: usize) -> Self {
        let mut cast = Cast::new(4);
        let moved = cast.item(first, second);
        let new = cast.item(0, 1);
        let filler = cast.item(0, 1);
        cast.store(0, &[moved, filler, filler, filler]).store(1, &[filler; 4]);
        Self { cast, moved, new, filler }
    }
}

/// Four buckets with one free slot, in 3. An insert of `new` (0, 1) moves `moved` from 0 to 3; when
/// there is a free slot in 0 and none in 3, one of `back` (2, 3) moves it from 3 to 0.
struct LastSlot {
    cast: Cast,
    moved: Item,
    new: Item,
    back: Item,
    /// Seven copies in 2 and 3.
    high: Item,
}

impl LastSlot {
    fn new(first: usize, second: usize) -> Self {
        let mut cast = Cast::new(4);
        let moved = cast.item(first, second);
        let new = cast.item(0, 1);
        let back = cast.item(2, 3);
        let low = cast.item(0, 1);
        let high = cast.item(2, 3);
        cast.store(0, &[moved, low, low, low]).store(1, &[low; 4]);
        cast.store(2, &[high; 4]).store(3, &[high; 3]);
        Self { cast, moved, new, back, high }
    }
}
