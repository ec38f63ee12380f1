//! Two processes agree on a hash: one sends hashes only, the other looks them up in its filters.
//!
//! ```text
//! cargo run --example prehashed
//! ```

use std::process::{Command, Stdio};
use std::{env, error::Error};

use coucal::CuckooFilter;

/// FNV-1a: defined byte by byte, so it is the same in every process, version and language. The
/// hasher of a filter is not: it has a random seed. FNV has none: use it for keys you trust.
fn stable_hash(key: &str) -> u64 {
    key.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    if env::args().nth(1).as_deref() == Some("client") {
        for key in ["/index", "/about", "/missing"] {
            println!("{:016x}", stable_hash(key));
        }
        return Ok(());
    }
    let (today, week) = (CuckooFilter::with_capacity(1000), CuckooFilter::with_capacity(7000));
    week.insert_hash(stable_hash("/about"))?;
    let hash = stable_hash("/index"); // hashed once, inserted twice
    today.insert_hash(hash)?;
    week.insert_hash(hash)?;

    let client = Command::new(env::current_exe()?).arg("client").stdout(Stdio::piped()).output()?;
    for line in String::from_utf8(client.stdout)?.lines() {
        let hash = u64::from_str_radix(line, 16)?;
        println!("{line}: {} {}", today.contains_hash(hash), week.contains_hash(hash));
    }
    Ok(())
}
