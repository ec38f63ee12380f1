//! What several tests need: a test for each layout, hashes, and how long a test runs.

pub use coucal_reference::{Filter, HASHER, LEAST_BUCKETS, Layout, Maplet};

use coucal::{AnyLayout, CuckooFilter, Growable, Storage};
use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};

/// Makes a test for each layout of each of these functions, which have it as an argument:
/// `name::Fp16x4` and so on.
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

/// As `of_each_layout`, for the layouts of filters that grow.
macro_rules! of_each_growing_layout {
    ($($test:ident)*) => {
        of_each_layout!(@tests [Fp12x5 Fp16x4 Fp21x3 Fp32x2] $($test)*);
    };
}

/// A filter that grows.
pub type Growing = Filter<Growable<AnyLayout>>;

/// A maplet that grows.
pub type GrowingMaplet = Maplet<Growable<AnyLayout>>;

/// `COUCAL_LONG`, the length of a long run: 1 or more.
fn length_of_run() -> Option<u64> {
    let length = std::env::var("COUCAL_LONG").ok()?;
    Some(length.parse().expect("COUCAL_LONG is a number"))
}

/// The usual number or, with `COUCAL_LONG`, the one for a long run.
pub fn usually<T>(usual: T, long: T) -> T {
    if length_of_run().is_some() { long } else { usual }
}

/// The usual number of repetitions or, with `COUCAL_LONG=n`, n times that for a long run.
pub fn repetitions(usual: u64, long: u64) -> u64 {
    length_of_run().map_or(usual, |length| length * long)
}

pub fn default_layout() -> Layout {
    Layout::named("Fp16x4")
}

/// Random hashes, the same for the same seed.
pub fn hashes(seed: u64) -> impl Iterator<Item = u64> {
    let mut random = SmallRng::seed_from_u64(seed);
    std::iter::repeat_with(move || random.next_u64())
}

/// Inserts until one fails, and says how many went in.
pub fn fill<L: Storage, S>(
    filter: &CuckooFilter<L, S>,
    hashes: impl Iterator<Item = u64>,
) -> usize {
    hashes.take_while(|&hash| filter.insert_hash(hash).is_ok()).count()
}

/// A snapshot is as docs/format.md shows it: each line after this mark has an offset, bytes, and two spaces
/// before what they mean. Bytes that are on no line are 0.
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
