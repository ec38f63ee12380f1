//! What the figures were measured on.

use std::fs;
use std::process::Command;
use std::thread;

/// Names and texts, as far as the system tells.
pub fn describe() -> Vec<(String, String)> {
    let mut notes = vec![
        ("processor", processor()),
        ("cores", cores().to_string()),
        ("caches", caches()),
        ("memory", memory()),
        ("huge pages", chosen("/sys/kernel/mm/transparent_hugepage/enabled")),
        ("load before", load()),
        ("compiler", compiler()),
    ];
    notes.retain(|note| !note.1.is_empty());
    notes.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
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
    let kilobytes = value(&read("/proc/meminfo"), "MemTotal");
    let kilobytes = kilobytes.trim_end_matches(" kB").parse::<u64>();
    kilobytes.map_or_else(|_| String::new(), |kilobytes| format!("{} GiB", kilobytes >> 20))
}

/// The word in brackets.
fn chosen(path: &str) -> String {
    let text = read(path);
    let word = text.split_once('[').and_then(|rest| rest.1.split_once(']'));
    word.map_or_else(String::new, |word| word.0.to_owned())
}

fn load() -> String {
    let text = read("/proc/loadavg");
    text.split(' ').next().unwrap_or_default().to_owned()
}

fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).trim().to_owned(),
    )
}
