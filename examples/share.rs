//! Threads share a filter through an `Arc`: no lock around it, and every method takes `&self`.
//!
//! ```text
//! cargo run --example share
//! ```

use std::sync::Arc;
use std::thread;

use coucal::{CuckooFilter, InsertError};

const THREADS: u64 = 4;
const ITEMS: u64 = 10_000;

fn main() -> Result<(), InsertError> {
    let filter = Arc::new(CuckooFilter::with_capacity((THREADS * ITEMS) as usize));

    let workers: Vec<_> = (0..THREADS)
        .map(|worker| {
            // Threads of `thread::spawn` may outlive this function, so each needs an `Arc` of its
            // own. Threads of `thread::scope` can borrow the filter instead.
            let filter = Arc::clone(&filter);
            thread::spawn(move || (0..ITEMS).try_for_each(|n| filter.insert(&(worker, n))))
        })
        .collect();
    for worker in workers {
        worker.join().expect("a worker does not panic")?;
    }

    // Joining a thread makes its inserts visible: now every item is found.
    let found = (0..THREADS * ITEMS).filter(|n| filter.contains(&(n / ITEMS, n % ITEMS))).count();
    println!("{} items stored, {found} found", filter.len());
    Ok(())
}
