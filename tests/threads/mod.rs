//! Threads on the real machine, most of the time more of them than it has cores.

mod full;
mod inconclusive;
mod litmus;
mod snapshots;
mod stress;
