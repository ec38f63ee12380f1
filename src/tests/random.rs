//! The random numbers of tests: the same in every run and on every target, and other numbers with another
//! `COUCAL_SEED`.
//!
//! The package in `reference/` includes this file, too, for the tests outside this crate.

use std::env;
use std::fmt::Debug;
use std::panic;
use std::sync::LazyLock;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngAlgorithm, RngSeed, TestRunner};
use rand::{Rng, SeedableRng};

/// Promises the same numbers for the same seed, unlike `SmallRng` and `StdRng`.
pub use rand::rngs::Xoshiro256PlusPlus as Random;

/// Random bits that follow from the number in `COUCAL_SEED`, or from 1 if it is not set. From the first use on, a panic
/// prints that number.
static BASE: LazyLock<u64> = LazyLock::new(|| {
    let base = env::var("COUCAL_SEED").unwrap_or("1".to_owned());
    let base: u64 = base.parse().expect("COUCAL_SEED must be a number");
    let report = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        report(panic);
        eprintln!("the random numbers were those of COUCAL_SEED={base}");
    }));
    Random::seed_from_u64(base).next_u64()
});

/// Returns the seed of another source of random numbers. Each `stream` of a test has a seed of its own.
pub fn seed(stream: u64) -> u64 {
    *BASE ^ stream
}

/// Returns a generator of random numbers: see [`seed`].
pub fn random(stream: u64) -> Random {
    Random::seed_from_u64(seed(stream))
}

/// Returns random hashes: see [`seed`].
pub fn hashes(stream: u64) -> impl Iterator<Item = u64> {
    let mut random = random(stream);
    std::iter::repeat_with(move || random.next_u64())
}

/// Returns the configuration of tests with proptest.
pub fn cases() -> Config {
    Config {
        rng_seed: RngSeed::Fixed(seed(0)),
        // The other algorithm would take a tenth of the time of a test.
        rng_algorithm: RngAlgorithm::XorShift,
        failure_persistence: None,
        ..Config::default()
    }
}

/// Runs a test with random cases, and panics with the simplest case that fails. Compiled once for all tests with the
/// same strategy.
pub fn run_cases<S: Strategy<Value: Debug>>(config: Config, cases: &S, test: &dyn Fn(S::Value)) {
    let outcome = TestRunner::new(config).run(cases, |case| {
        test(case);
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
}
