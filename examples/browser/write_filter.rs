//! Writes a filter for the page: a key on each line of the standard input, a number or a text.
//!
//! ```text
//! cargo run -p browser --example write_filter -- words.filter < /usr/share/dict/words
//! ```

use std::error::Error;
use std::hash::BuildHasher;
use std::{env, fs, io};

use coucal::{CuckooFilter, StableHashBuilder};

fn main() -> Result<(), Box<dyn Error>> {
    let path = env::args_os().nth(1).ok_or("to which file?")?;
    let keys = io::stdin().lines().collect::<Result<Vec<_>, _>>()?;
    // Whoever has the file has the seed: it is no secret.
    let seed = 7_u64;
    let hasher = StableHashBuilder::new(seed);
    let filter = CuckooFilter::with_capacity_and_hasher(keys.len(), hasher);
    for key in &keys {
        match key.parse::<u64>() {
            Ok(number) => filter.insert(&number)?,
            Err(_) => filter.insert(key.as_str())?,
        }
    }
    let mut file = seed.to_le_bytes().to_vec();
    file.extend(filter.snapshot()?.as_bytes());
    let checksum = hasher.hash_one(&file[..]);
    file.extend(checksum.to_le_bytes());
    fs::write(path, file)?;
    Ok(())
}
