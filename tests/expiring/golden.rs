//! The bytes of snapshots do not change: golden files of some layouts.
//!
//! `COUCAL_WRITE_GOLDEN=1 cargo test --test expiring golden` writes the files that do not exist yet.

use std::fs;
use std::path::PathBuf;

use coucal::Storage;
use coucal_reference::format::{MOST_SLOTS, at, number};
use coucal_reference::{HASHER, Layout};

use super::{GrowingSeen, Seen, builder, growing_builder};

/// Restores the golden file with this name, and checks that its bytes are those of a new snapshot.
fn golden<L: Storage>(name: &str, new: &Seen<L>) -> Seen<L> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("golden").join(name);
    if std::env::var_os("COUCAL_WRITE_GOLDEN").is_some() && !path.exists() {
        fs::write(&path, new.snapshot().unwrap().as_bytes()).unwrap();
    }
    let bytes = fs::read(path).unwrap();
    let restored = Seen::from_bytes(&bytes, HASHER).unwrap();
    assert_eq!(restored.snapshot().unwrap().as_bytes(), bytes);
    restored
}

/// Inserts item n in each of seven generations whose number is equal to n modulo 5. The last generation is present. In
/// a table of fixed size, some items are stashed.
fn fill<L: Storage>(seen: &Seen<L>, count: u64) {
    for generation in 0..7 {
        for item in (0..count).filter(|item| item % 5 == generation % 5) {
            seen.insert(&item).unwrap();
        }
        if generation < 6 {
            seen.advance();
        }
    }
}

fn holds<L: Storage>(seen: &Seen<L>, count: u64) {
    assert_eq!((seen.generation(), seen.generations()), (6, 5));
    for item in 0..count {
        // Some share the entry of a younger item.
        let age = (6 - item % 5) % 5;
        assert!(seen.age(&item).is_some_and(|found| u64::from(found) <= age), "{item}: {seen:?}");
    }
    // The restored filter can be used.
    for _ in 0..5 {
        seen.advance();
    }
    assert!(seen.is_empty());
}

#[test]
fn golden_files() {
    for name in ["Fp16x4", "SemiSorted17x4", "Fp32x2"] {
        let seen = builder(Layout::named(name), 5).capacity(40).build().unwrap();
        fill(&seen, 42);
        let restored: Seen = golden(&format!("{name}-expiring.coucal"), &seen);
        assert_eq!((restored.layout_name(), restored.capacity()), (name, restored.len().max(40)));
        holds(&restored, 42);
    }
}

#[test]
fn golden_files_of_what_grows() {
    for name in ["Fp12x5", "Fp16x4", "Fp21x3", "Fp32x2"] {
        let seen: GrowingSeen =
            growing_builder(Layout::named(name), 5).capacity(1).max_capacity(2000).build().unwrap();
        fill(&seen, 500);
        holds(&golden(&format!("{name}-expiring-grown.coucal"), &seen), 500);
    }
}

/// Filters without a capacity and without a maximum. In slots of 12 bits, the generations leave so few bits that growth
/// ends.
#[test]
fn golden_files_without_an_end() {
    for layout in ["Fp16x4", "Fp21x3", "Fp32x2"].map(Layout::named) {
        let seen: GrowingSeen = growing_builder(layout, 5).build().unwrap();
        let items = 120 * layout.slots as u64;
        fill(&seen, items);
        let restored = golden(&format!("{}-expiring-endless.coucal", layout.name), &seen);
        let bytes = restored.snapshot().unwrap().into_bytes();
        let [first, words, most] =
            [at::FIRST, at::WORDS, at::MAX_BUCKETS].map(|field| number(&bytes, field));
        assert_eq!(most, MOST_SLOTS / layout.slots as u64 / 2 * 2);
        assert!(words > first);
        holds(&restored, items);
    }
}
