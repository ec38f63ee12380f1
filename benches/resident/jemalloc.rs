//! Resident memory, with jemalloc.

#[path = "mod.rs"]
mod resident;

#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;
