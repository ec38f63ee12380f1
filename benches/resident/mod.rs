//! The memory that a process has from the operating system, beside the memory that its filters state: at most
//! `memory_bytes`, 15 % of it, and 8 KiB per filter. Each test runs in a process of its own: one that is fresh, or one
//! that has freed blocks of every size before.

use std::hint::black_box;
use std::process::Command;
use std::{env, fs, iter, thread};

use coucal::{GrowableCuckooFilter, Prehashed};

/// The variable that names the test for which this process runs.
const CHOSEN: &str = "COUCAL_RESIDENT_TEST";

/// The variable with the number of items of the test of one filter; set it to 100000000 for the long mode.
const ITEMS: &str = "COUCAL_RESIDENT_ITEMS";

/// Returns the exact number of bytes of the pages of this process; `None` if the system does not tell.
fn resident() -> Option<usize> {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").ok()?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Rss:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Runs a test in a process of its own: otherwise the allocations of other tests would count, too.
pub fn in_its_own_process(test: impl FnOnce(Pages)) {
    let thread = thread::current();
    let name = thread.name().expect("the name of the test");
    if env::var(CHOSEN).is_ok_and(|chosen| chosen == name) {
        match resident() {
            Some(start) => test(Pages { start, left: 0 }),
            None => println!("skipped: this system does not tell how much memory a process has"),
        }
        return;
    }
    let mut program = Command::new(env::current_exe().expect("the path of this program"));
    program.args(["--exact", name, "--nocapture"]).env(CHOSEN, name);
    let output = program.output().expect("it runs again");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    println!("{printed}");
    assert!(output.status.success() && printed.contains("1 passed"), "{name}");
}

/// The memory of the process before it had any filter.
pub struct Pages {
    start: usize,
    /// The bytes that the allocator keeps of the freed blocks.
    left: usize,
}

impl Pages {
    /// Measures after blocks of each size were allocated, written and freed: 4 MiB of each size, and one block of each
    /// of the largest sizes.
    fn after_blocks_were_freed(self) -> Self {
        let blocks = (6..=25).flat_map(|power| {
            let count = 1.max((4 << 20) >> power);
            iter::repeat_n(1_usize << power, count)
        });
        let blocks: Vec<Vec<u8>> = blocks.map(|len| black_box(vec![1; len])).collect();
        drop(blocks);
        let left = self.resident();
        println!("{left} bytes left of the blocks that were freed");
        Self { left, ..self }
    }

    /// Returns the bytes that the process has besides those at the start.
    pub fn resident(&self) -> usize {
        resident().expect("as before").saturating_sub(self.start)
    }

    pub fn check(&self, filters: usize, said: usize) {
        let resident = self.resident();
        println!("{filters} filters say {said} bytes, {resident} are resident");
        let most = |bytes: usize| bytes + bytes * 15 / 100 + filters * (8 << 10);
        let new = resident.saturating_sub(self.left);
        assert!(new <= most(said), "{new} bytes resident for {said}");
        assert!(said <= most(resident), "{said} bytes said and {resident} resident");
    }
}

/// Returns different hashes for each filter.
fn hashes(filter: u64) -> impl Iterator<Item = u64> {
    (0..).map(move |n: u64| (filter << 40 | n).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Tests 20,000 filters of `10..10_000`, most of which hold 10 to 1000 items.
fn small_filters(pages: &Pages) {
    const FILTERS: usize = 20_000;
    let mut filters: Vec<GrowableCuckooFilter> = Vec::with_capacity(FILTERS);
    let mut said = 0;
    for n in 0..FILTERS {
        let builder = GrowableCuckooFilter::builder().capacity(10).max_capacity(10_000);
        let filter = builder.build().expect("memory for a test");
        let items = match n % 100 {
            0 => 10_000.0,
            percent => 10.0 * f64::powf(100.0, percent as f64 / 100.0),
        };
        for hash in hashes(n as u64).take(items as usize) {
            filter.insert(&Prehashed(hash)).expect("below the maximum capacity");
        }
        said += filter.memory_bytes();
        filters.push(filter);
        if (n + 1) % (FILTERS / 4) == 0 {
            pages.check(n + 1, said);
        }
    }
}

/// Tests one filter that grows to a hundred times its initial size, and is dropped. Returns the memory that it stated
/// at last.
pub fn large_filter(pages: &Pages, most: usize) -> usize {
    let builder = GrowableCuckooFilter::builder().capacity(most / 100).max_capacity(most);
    let filter = builder.build().expect("memory for a test");
    let mut hashes = hashes(0);
    for _ in 0..50 {
        for hash in hashes.by_ref().take(most / 50) {
            filter.insert(&Prehashed(hash)).expect("below the maximum capacity");
        }
        // With less memory, a page of 2 MiB, or what the program itself allocates, would matter too much.
        if filter.memory_bytes() > 10_000_000 {
            pages.check(1, filter.memory_bytes());
        }
    }
    filter.memory_bytes()
}

fn items() -> usize {
    env::var(ITEMS).map_or(10_000_000, |items| items.parse().expect("a number"))
}

#[test]
fn small_filters_in_a_fresh_process() {
    in_its_own_process(|pages| small_filters(&pages));
}

#[test]
fn small_filters_after_blocks_were_freed() {
    in_its_own_process(|pages| small_filters(&pages.after_blocks_were_freed()));
}

#[test]
fn a_large_filter_in_a_fresh_process() {
    in_its_own_process(|pages| _ = large_filter(&pages, items()));
}

#[test]
fn a_large_filter_after_blocks_were_freed() {
    in_its_own_process(|pages| _ = large_filter(&pages.after_blocks_were_freed(), items()));
}
