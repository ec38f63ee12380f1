//! The time of a snapshot, and of its bytes, beside copies of as many bytes by the machine.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::Read as _;
use std::time::Instant;
use std::{env, process};

use coucal::{CuckooFilter, Storage};
use coucal_measure::hash::KeyHash;

use super::beside::SNAPSHOT;
use super::{Plan, Table};
use crate::results::Results;

/// What the machine does with as many bytes.
pub const COPY: &str = "memory copy";
pub const COPY_TO_NEW_PAGES: &str = "memory copy to new pages";
pub const READ: &str = "read of a file";
pub const READ_TO_NEW: &str = "read of a file to new memory";

/// What is done with the bytes of a table.
pub const WRITE: &str = "write_to";
pub const RESTORE: &str = "restore from bytes";
pub const RESTORE_FILE: &str = "restore from a file";

/// The time of the machine's own copies, for the tables of one name.
pub fn limit_figure(limit: &str) -> String {
    format!("{limit}, ms")
}

/// The system provides memory for so many bytes or more anew each time, and takes it back afterwards:
/// the most that the allocator of glibc ever keeps for a block is 32 MiB.
const ALWAYS_NEW: usize = 33 << 20;

/// Milliseconds, and the result, which is dropped afterwards.
fn timed<R>(what: impl FnOnce() -> R) -> (f64, R) {
    let started = Instant::now();
    let result = black_box(what());
    (started.elapsed().as_secs_f64() * 1e3, result)
}

/// Each in turn, on one thread.
pub fn times<L: Storage>(plan: &Plan, table: &Table<L>, results: &mut Results) {
    let snapshot = table.filter().snapshot().expect("memory for a snapshot");
    let bytes = snapshot.to_bytes();
    // Its pages are there.
    let mut copy = bytes.clone();
    let path = env::temp_dir().join(format!("coucal-compare-{}.bytes", process::id()));
    fs::write(&path, &bytes).expect("room for a temporary file");
    let open = || File::open(&path).expect("the temporary file");
    // Small tables more than once, so that the clock is no part of it.
    let rounds = plan.rounds(table.slots) * if table.slots <= 1 << 20 { 20 } else { 1 };
    plan.say(table, "bytes");
    for _ in 0..rounds {
        let mut push = |figure: &str, millis: f64| {
            results.push((table.slots, 1), table.name, figure, millis);
        };
        let millis = timed(|| table.filter().snapshot().expect("memory for a snapshot")).0;
        push(SNAPSHOT, millis);
        push(&limit_figure(COPY_TO_NEW_PAGES), timed(|| bytes.clone()).0);
        push(&limit_figure(COPY), timed(|| copy.copy_from_slice(black_box(&bytes))).0);
        copy.clear();
        let millis = timed(|| snapshot.write_to(&mut copy).expect("a vector takes any bytes")).0;
        push(WRITE, millis);
        assert!(copy == bytes, "a snapshot has the same bytes each time");
        let (millis, filter) = timed(|| {
            let restored = CuckooFilter::<L, _>::from_bytes(&bytes, KeyHash::default());
            restored.expect("a good snapshot")
        });
        push(RESTORE, millis);
        assert_eq!(filter.len(), snapshot.len());
        drop(filter);
        let millis = timed(|| open().read_exact(&mut copy).expect("as many bytes")).0;
        push(&limit_figure(READ), millis);
        // As `fs::read`, but for the capacity: no byte beyond the file is touched.
        let (millis, new) = timed(|| {
            let mut new = Vec::with_capacity(bytes.len().max(ALWAYS_NEW));
            open().read_to_end(&mut new).expect("room for the file");
            new
        });
        push(&limit_figure(READ_TO_NEW), millis);
        assert!(new == bytes, "a file has the same bytes each time");
        drop(new);
        let (millis, _) = timed(|| {
            let restored = CuckooFilter::<L, _>::restore(open(), KeyHash::default());
            restored.expect("a good snapshot")
        });
        push(RESTORE_FILE, millis);
    }
    fs::remove_file(path).expect("the temporary file");
}
