//! The memory that a filter has from the operating system while it grows: near what it says is in use,
//! and far from what it has reserved.

use std::process::Command;
use std::{env, fs};

use coucal::Fp16x4;

use crate::common::{growing, hashes};

/// What the pages of this process take, in bytes; `None` where the system does not tell.
fn resident() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: usize = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// The kernel counts pages for each thread and adds them up now and then; and a page may have 2 MiB.
const SLACK: usize = 5 << 20;

/// In a process of its own: what other tests allocate meanwhile would count, too.
#[test]
fn resident_memory_is_what_is_in_use() {
    let test = "resident::in_a_process_of_its_own";
    let mut program = Command::new(env::current_exe().expect("the path of this program"));
    let output = program.args(["--ignored", "--exact", test]).output().expect("it runs again");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && printed.contains("1 passed"), "{printed}");
}

#[test]
#[ignore = "`resident_memory_is_what_is_in_use` runs it"]
fn in_a_process_of_its_own() {
    let Some(before) = resident() else {
        println!("skipped: this system does not tell how much memory a process has");
        return;
    };
    let filter = growing::<Fp16x4>(100_000, 100_000_000);
    let reserved = filter.reserved_bytes();
    assert!(reserved > 200_000_000);
    let mut items = hashes(1);
    let mut batch = Vec::with_capacity(50_000);
    for _ in 0..80 {
        batch.clear();
        batch.extend(items.by_ref().take(50_000));
        filter.insert_many_hashes(&batch).expect("below the greatest capacity");
        let resident = resident().expect("as before").saturating_sub(before);
        let in_use = filter.memory_bytes();
        assert!(resident <= in_use + SLACK, "{resident} bytes resident, {in_use} in use");
        assert!(in_use <= resident + SLACK, "{resident} bytes resident, {in_use} in use");
        assert!(resident * 10 < reserved, "{resident} of {reserved}");
    }
    let resident = resident().expect("as before") - before;
    println!("{resident} bytes resident, {} in use, {reserved} reserved", filter.memory_bytes());
    assert!(filter.memory_bytes() > 9_000_000, "{filter:?}");
}
