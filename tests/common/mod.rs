//! Tools of several tests: a test for each layout, hashes, and the length of a run.

pub use coucal_reference::{
    Filter, HASHER, Item, Kind, LAYOUTS, LEAST_BUCKETS, Layout, Maplet, Random, Subject, hashes,
    prehashed, random,
};

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use coucal::{AnyLayout, Error, Growable, Prehashed, Storage};
use coucal_reference::format::{Class, Value};

/// Makes a test for each layout of each of these functions, which have the layout as an argument: `name::Fp16x4` and so
/// on.
macro_rules! of_each_layout {
    ($($test:ident)*) => {
        of_each_layout! {
            @tests [Fp8x8 Fp9x7 Fp10x6 Fp12x5 SemiSorted14x5 Fp16x4 SemiSorted17x4 Fp21x3 Fp32x2]
            $($test)*
        }
    };
    (@tests $layouts:tt $($test:ident)*) => {
        $(of_each_layout!(@test $test $layouts);)*
    };
    (@test $test:ident [$($layout:ident)*]) => {
        #[allow(non_snake_case, reason = "named after the layouts")]
        mod $test {
            $(#[test]
            fn $layout() {
                super::$test(coucal_reference::Layout::named(stringify!($layout)));
            })*
        }
    };
}

/// As `of_each_layout`, for the layouts of growing filters.
macro_rules! of_each_growing_layout {
    ($($test:ident)*) => {
        of_each_layout!(@tests [Fp12x5 Fp16x4 Fp21x3 Fp32x2] $($test)*);
    };
}

/// A growing filter.
pub type Growing = Filter<Growable<AnyLayout>>;

/// Returns the length of a long run, 1 or more, from `COUCAL_LONG`; `None` if it is not set.
fn length_of_run() -> Option<u64> {
    let length = std::env::var("COUCAL_LONG").ok()?;
    Some(length.parse().expect("COUCAL_LONG is a number"))
}

/// Returns the first number or, with `COUCAL_LONG`, the second.
pub fn usually<T>(usual: T, long: T) -> T {
    if length_of_run().is_some() { long } else { usual }
}

/// Returns `usual` or, with `COUCAL_LONG=n`, n times `long`: numbers of repetitions.
pub fn repetitions(usual: u64, long: u64) -> u64 {
    length_of_run().map_or(usual, |length| length * long)
}

/// Returns the lengths of values with which tests run, as far as they are possible, and the longest one.
pub fn widths(longest: u32) -> Vec<u32> {
    let shorter = usually(&[1, 8][..], &[1, 4, 8, 16]).iter().copied();
    shorter.filter(|&bits| bits < longest).chain([longest]).collect()
}

pub fn default_layout() -> Layout {
    Layout::named("Fp16x4")
}

/// Inserts until an insert fails, and returns the number of inserted items.
pub fn fill<L: Storage, S>(
    filter: &coucal::Filter<L, S>,
    hashes: impl Iterator<Item = u64>,
) -> usize {
    hashes.take_while(|&hash| filter.insert(&Prehashed(hash)).is_ok()).count()
}

/// Waits until no other test of threads runs: no two of them run at once.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Counts one writer less when it is dropped, also where an assertion fails, so that the readers end.
pub struct Stopped<'a>(pub &'a AtomicUsize);

impl Drop for Stopped<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Tells threads to stop when it is dropped, also where an assertion fails.
pub struct Stop<'a>(pub &'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Returns the number of entries of each class and value, from a snapshot.
pub fn entries(subject: &dyn Subject) -> BTreeMap<(Class, Value), usize> {
    let mut sums = BTreeMap::new();
    for ((class, value, _), copies) in subject.contents().copies {
        *sums.entry((class, value)).or_default() += copies;
    }
    sums
}

/// Checks that after a merge every class has as many copies of each value as both subjects had together.
pub fn check_merge(one: &dyn Subject, other: &dyn Subject) {
    let mut expected = entries(one);
    for (entry, copies) in entries(other) {
        *expected.entry(entry).or_default() += copies;
    }
    let (before, len) = (other.bytes(), one.len() + other.len());
    assert_eq!(one.merge(other), Ok(()), "{one:?}, {other:?}");
    assert_eq!(one.len(), len);
    assert!(other.bytes() == before, "the other is as it was");
    assert_eq!(entries(one), expected);
}

/// Returns how far a number of rare, independent events may be from the expected number. It is further away by chance
/// once in 10^12 times, so less than once in 10^9 runs of all tests. If the events come in groups, a group has up to
/// `together` events.
///
/// Bernstein's inequality: take a sum of independent terms, each of which is at most m, with the variance v. It exceeds
/// its mean by t with odds of at most exp(-t^2 / (2v + 2mt/3)).
pub fn scatter(expected: f64, together: f64) -> f64 {
    // Above or below.
    let odds = 2e12_f64.ln();
    let third = together * odds / 3.0;
    third + (third * third + 2.0 * odds * together * expected).sqrt()
}

/// Checks that the counted number of rare, independent events is the expected one, except for chance and for the share
/// `share` of it.
pub fn is_expected(counted: usize, expected: f64, share: f64, what: &str) {
    println!("{what}: {counted} counted, {expected:.1} expected");
    let most = scatter(expected, 1.0) + share * expected;
    let off = (counted as f64 - expected).abs();
    assert!(off <= most, "{what}: {counted} counted, {expected} expected, {most} more or less");
}

/// Returns by how much the load may exceed the target in a table of 1,024 buckets or more: by the margin of one point,
/// by as much again where samples differ, and by what comes before growth.
///
/// One of 32 inserts, chosen at random, looks at the load, and lets the table grow by at most what 64 inserts need. At
/// least r inserts are behind with odds of exp(-0.0254 r), where exp(0.0254) is the root of
/// `x (31/32 + 1/(32 x^64)) = 1`.
/// For 1,600 inserts these odds are 2 * 10^-18, and less than 10^-12 for any of 100,000 inserts.
pub fn load_above(slots: usize) -> f64 {
    0.02 + 1600.0 / slots as f64
}

/// Checks that a snapshot is as docs/format.md shows it. Each line after `mark` has an offset, bytes, and two spaces
/// before their meaning. Bytes that are on no line are 0.
pub fn is_on_the_page(mark: &str, written: &[u8]) {
    let page = include_str!("../../docs/format.md");
    let (_, from) = page.split_once(mark).expect("the start of the example");
    let (example, _) = from.split_once("<!-- end of example -->").expect("its end");
    let mut bytes = vec![0; written.len()];
    for line in example.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())) {
        let (offset, line) = line.split_once(' ').unwrap();
        let offset: usize = offset.parse().expect("an offset");
        let (hex, _) = line.trim_start().split_once("  ").expect("what they mean");
        for (byte, hex) in bytes[offset..].iter_mut().zip(hex.split(' ')) {
            *byte = u8::from_str_radix(hex, 16).unwrap();
        }
    }
    let right = || {
        let lines = written.chunks(8).enumerate().filter(|(_, bytes)| **bytes != [0; 8]);
        lines.map(|(line, bytes)| format!("{:<4}{bytes:02x?}", 8 * line)).collect::<Vec<_>>()
    };
    assert!(bytes == written, "docs/format.md shows other bytes; these are right: {:#?}", right());
}

/// Returns where a batch stopped, how many items it had stored, and why it stopped.
#[expect(clippy::needless_pass_by_value, reason = "what `expect_err` returns")]
pub fn stopped(error: Error) -> (usize, usize, Error) {
    let Error::Stopped { index, stored, cause } = error else { panic!("{error}") };
    (index, stored, cause.clone())
}
