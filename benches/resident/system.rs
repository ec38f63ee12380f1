//! Resident memory, with the allocator of the system.

#[path = "mod.rs"]
mod resident;

/// The memory of a filter of 100 MB goes back to the system when the filter is dropped, except for the first 8 MiB,
/// which were allocated in small parts: these stay with the allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[test]
fn the_memory_of_a_dropped_filter_goes_back() {
    resident::in_its_own_process(|pages| {
        let bytes = resident::large_filter(&pages, 40_000_000);
        let left = pages.resident();
        println!("{left} of {bytes} bytes are left");
        assert!(bytes > 100_000_000 && left < 9 << 20);
    });
}
