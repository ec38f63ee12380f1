//! Threads on the real machine, most of the time more of them than it has cores.

mod full;
mod inconclusive;
mod litmus;
mod maplets;
mod snapshots;
mod stress;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Each test needs the cores for itself.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}
