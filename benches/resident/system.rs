//! Resident memory, with the allocator of the system.

#[path = "mod.rs"]
mod resident;
