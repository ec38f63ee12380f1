//! Capacity and false-positive rate from a configuration, at run time: the smallest layout is chosen.
//!
//! ```text
//! COUCAL_FILTER="capacity=50000 rate=0.001" cargo run --example configured
//! ```

use std::{env, error::Error, process::ExitCode};

use coucal::AnyCuckooFilter;

fn build(config: &str) -> Result<AnyCuckooFilter, Box<dyn Error>> {
    let (mut capacity, mut rate) = (None, 0.01);
    for entry in config.split_whitespace() {
        let (key, value) = entry.split_once('=').ok_or(format!("{entry}: expected key=value"))?;
        match key {
            "capacity" => capacity = Some(value.parse().map_err(|e| format!("{entry}: {e}"))?),
            "rate" => rate = value.parse().map_err(|e| format!("{entry}: {e}"))?,
            _ => return Err(format!("{entry}: the keys are capacity and rate").into()),
        }
    }
    // A rate or a capacity that is impossible is an error that says what is possible.
    Ok(AnyCuckooFilter::with_capacity_and_rate(capacity.ok_or("capacity is missing")?, rate)?)
}

fn main() -> ExitCode {
    let config = env::var("COUCAL_FILTER").unwrap_or("capacity=1000000 rate=0.001".into());
    match build(&config) {
        Ok(filter) => {
            let (items, bytes) = (filter.capacity(), filter.memory_bytes());
            println!("{}: room for {items} items in {bytes} bytes", filter.layout_name());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("COUCAL_FILTER=\"{config}\": {error}");
            ExitCode::FAILURE
        }
    }
}
