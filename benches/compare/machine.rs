//! A description of the machine that the figures were measured on.

use std::fs;
use std::thread;

use coucal_benches::text::compiler;

/// Returns names and values, as far as the system tells them.
pub fn describe() -> Vec<(String, String)> {
    let memory = value("/proc/meminfo", "MemTotal").and_then(|kibibytes| {
        let kibibytes: u64 = kibibytes.trim_end_matches(" kB").parse().ok()?;
        Some(format!("{} GiB", kibibytes >> 20))
    });
    let load = fs::read_to_string("/proc/loadavg").ok();
    let load = load.and_then(|text| Some(text.split_once(' ')?.0.to_owned()));
    let notes = [
        ("processor", value("/proc/cpuinfo", "model name")),
        ("cores", Some(cores().to_string())),
        ("caches", caches()),
        ("memory", memory),
        ("load average before the run", load),
        ("compiler", Some(compiler())),
    ];
    notes.into_iter().filter_map(|(name, note)| Some((name.to_owned(), note?))).collect()
}

pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Returns the value of the first line of the form `name : value`.
pub fn value(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn caches() -> Option<String> {
    let cache = |index| {
        let [level, kind, size] = ["level", "type", "size"].map(|name| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            fs::read_to_string(path).ok().map(|text| text.trim().to_lowercase())
        });
        Some(format!("L{} {} {}", level?, kind?, size?.to_uppercase()))
    };
    let caches: Vec<_> = (0..8).map_while(cache).collect();
    (!caches.is_empty()).then(|| caches.join("; "))
}
