//! The fuzz targets on the committed corpus, and on random inputs.

use std::path::Path;

use coucal_reference::format::at;
use coucal_reference::random;
use rand::{Rng, RngExt};

/// Random inputs of each target, unless `COUCAL_FUZZ_INPUTS` says how many.
const INPUTS: usize = 4000;

fn for_each_file(folder: &str, then: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = 0;
    for entry in folder.read_dir().expect("a folder") {
        let path = entry.expect("an entry").path();
        then(&std::fs::read(&path).expect("a file"));
        files += 1;
    }
    assert!(files > 10, "{files} files in {}", folder.display());
}

fn run(name: &str, target: fn(&[u8])) {
    for_each_file(&format!("corpus/{name}"), target);

    let inputs = std::env::var("COUCAL_FUZZ_INPUTS");
    let inputs = inputs.map_or(INPUTS, |inputs| inputs.parse().expect("a number"));
    let mut random = random(41);
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

/// Snapshots of each layout and kind, with right checksums: with each bit of the header changed, and with
/// each number of value bits.
#[test]
fn golden_files_with_other_headers() {
    // In the second third of the choices of `Source`: `Sealed`.
    let restore = |bytes: &[u8]| coucal_fuzz::restore(&[&[0, 0, 0, 0x80], bytes].concat());
    for_each_file("../tests/golden", |bytes| {
        let mut changed = bytes.to_vec();
        for bit in 0..8 * at::CHECKSUM {
            changed[bit / 8] ^= 1 << (bit % 8);
            restore(&changed);
            changed[bit / 8] = bytes[bit / 8];
        }
        for value_bits in 0..=33 {
            changed[at::VALUE_BITS] = value_bits;
            restore(&changed);
        }
    });
}

#[test]
fn operations() {
    run("operations", coucal_fuzz::operations);
}
