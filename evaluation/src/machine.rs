//! What the figures were measured on.

use std::fs;
use std::process::Command;
use std::thread;

pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Names and texts, as far as the system tells.
pub fn describe() -> Vec<(&'static str, String)> {
    let mut notes = vec![
        ("processor", processor()),
        ("cores", cores().to_string()),
        ("largest cache", largest_cache()),
        ("memory", memory()),
        ("load before", read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()),
        ("compiler", compiler()),
    ];
    notes.retain(|note| !note.1.is_empty());
    notes
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// What stands after the colon on the first line that begins with this name.
fn entry(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with(name))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

fn processor() -> String {
    entry(&read("/proc/cpuinfo"), "model name").unwrap_or_default()
}

fn memory() -> String {
    let total = entry(&read("/proc/meminfo"), "MemTotal").unwrap_or_default();
    let kibibytes = total.trim_end_matches(" kB").parse::<u64>();
    kibibytes.map_or_else(|_| String::new(), |kibibytes| format!("{} GiB", kibibytes >> 20))
}

fn largest_cache() -> String {
    let size = |index| read(&format!("/sys/devices/system/cpu/cpu0/cache/index{index}/size"));
    let last = (0..8).map(size).take_while(|size| !size.is_empty()).last();
    last.unwrap_or_default().trim().to_owned()
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}
