//! A description of the machine that the figures were measured on.

use std::fs;
use std::process::Command;
use std::thread;

/// Names and values, as far as the system tells them.
#[must_use]
pub fn describe() -> Vec<(String, String)> {
    let mut notes = vec![
        ("processor", processor()),
        ("cores", cores().to_string()),
        ("caches", caches()),
        ("memory", memory()),
        ("load average before the run", load()),
        ("compiler", compiler()),
    ];
    notes.retain(|note| !note.1.is_empty());
    notes.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

#[must_use]
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// 1, 2, 4, ... up to `most`.
#[must_use]
pub fn thread_counts(most: usize) -> Vec<usize> {
    (0..=most.max(1).ilog2()).map(|power| 1 << power).collect()
}

/// What `rustc --version` prints.
#[must_use]
pub fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}

fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The value of the first line of the form `name : value`.
fn value(text: &str, name: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(name));
    let value = line.and_then(|line| line.split_once(':')).map(|pair| pair.1.trim());
    value.unwrap_or_default().to_owned()
}

fn processor() -> String {
    value(&read("/proc/cpuinfo"), "model name")
}

fn caches() -> String {
    let of = |index: usize| {
        let file = |name: &str| {
            let path = format!("/sys/devices/system/cpu/cpu0/cache/index{index}/{name}");
            read(&path).trim().to_owned()
        };
        (!file("size").is_empty())
            .then(|| format!("L{} {} {}", file("level"), file("type").to_lowercase(), file("size")))
    };
    (0..8).map_while(of).collect::<Vec<_>>().join("; ")
}

fn memory() -> String {
    let kibibytes = value(&read("/proc/meminfo"), "MemTotal");
    let kibibytes = kibibytes.trim_end_matches(" kB").parse::<u64>();
    kibibytes.map_or_else(|_| String::new(), |kibibytes| format!("{} GiB", kibibytes >> 20))
}

fn load() -> String {
    read("/proc/loadavg").split(' ').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thread_counts_are_powers_of_two() {
        assert_eq!(thread_counts(1), [1]);
        assert_eq!(thread_counts(2), [1, 2]);
        assert_eq!(thread_counts(6), [1, 2, 4]);
    }
}
