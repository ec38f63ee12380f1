//! Writes a filter for the page: of the keys on standard input (a number or a text on each line), or of a snapshot.
//!
//! ```text
//! cargo run -p browser --example write_filter -- words.filter < /usr/share/dict/words
//! cargo run -p browser --example write_filter -- golden.filter tests/golden/Fp16x4.coucal
//! ```

use std::error::Error;
use std::hash::BuildHasher;
use std::{env, fs, io};

use coucal::{CuckooFilter, StableHashBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = env::args_os().skip(1);
    let path = arguments.next().ok_or("to which file?")?;
    // The file contains the seed: it is no secret.
    let seed = 7_u64;
    let hasher = StableHashBuilder::new(seed);
    let snapshot = arguments.next().map_or_else(|| of_keys(hasher), |path| Ok(fs::read(path)?))?;
    let mut file = seed.to_le_bytes().to_vec();
    file.extend(snapshot);
    let checksum = hasher.hash_one(&file[..]);
    file.extend(checksum.to_le_bytes());
    fs::write(path, file)?;
    Ok(())
}

/// The snapshot of a filter with the keys of the standard input.
fn of_keys(hasher: StableHashBuilder) -> Result<Vec<u8>, Box<dyn Error>> {
    let keys = io::stdin().lines().collect::<Result<Vec<_>, _>>()?;
    let filter = CuckooFilter::with_capacity_and_hasher(keys.len(), hasher);
    for key in &keys {
        match key.parse::<u64>() {
            Ok(number) => filter.insert(&number)?,
            Err(_) => filter.insert(key.as_str())?,
        }
    }
    Ok(filter.snapshot()?.into_bytes())
}
