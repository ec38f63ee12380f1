//! The fuzz targets on the committed corpus, and on random inputs from a fixed seed.

use std::path::Path;

use rand::rngs::SmallRng;
use rand::{Rng, RngExt, SeedableRng};

/// Random inputs of each target, unless `COUCAL_FUZZ_INPUTS` says how many.
const INPUTS: usize = 4000;

fn run(name: &str, target: fn(&[u8])) {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
    let mut files = 0;
    for entry in corpus.read_dir().expect("a corpus") {
        let path = entry.expect("an entry").path();
        target(&std::fs::read(&path).expect("a file"));
        files += 1;
    }
    assert!(files > 10, "{files} files in {}", corpus.display());

    let inputs = std::env::var("COUCAL_FUZZ_INPUTS");
    let inputs = inputs.map_or(INPUTS, |inputs| inputs.parse().expect("a number"));
    let mut random = SmallRng::seed_from_u64(41);
    for _ in 0..inputs {
        let mut bytes = vec![0; random.random_range(0..600)];
        random.fill_bytes(&mut bytes);
        target(&bytes);
    }
}

#[test]
fn restore() {
    run("restore", coucal_fuzz::restore);
}

#[test]
fn operations() {
    run("operations", coucal_fuzz::operations);
}
