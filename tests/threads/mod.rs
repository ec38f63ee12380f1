//! Threads on the real machine, mostly more threads than cores.

mod full;
mod inconclusive;
mod litmus;
mod snapshots;
mod stress;
