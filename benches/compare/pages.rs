//! The figures of filters with large pages of memory. This program measures them in a second process, since the
//! allocator of glibc reads its settings when a process starts.

use std::error::Error;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs, process};

use crate::Topic;
use crate::machine::value;
use crate::results::Results;
use crate::{Plan, output};

/// The environment variable with these settings, and the setting that asks the kernel for large pages.
const VARIABLE: &str = "GLIBC_TUNABLES";
const SETTING: &str = "glibc.malloc.hugetlb=1";
/// The suffix of the names of these figures.
pub const SUFFIX: &str = ", large pages";
/// The share of the memory of a process that is in large pages.
pub const SHARE: &str = "memory in large pages";
/// From this share on, the setting had its effect.
const MIN_SHARE: f64 = 0.8;

/// Returns whether this process asks for large pages.
pub fn are_large() -> bool {
    env::var(VARIABLE).is_ok_and(|settings| settings.contains(SETTING))
}

/// Returns the share of this process if it asks for large pages; `None` if the system does not tell.
pub fn share() -> Option<f64> {
    let kibibytes = |name| {
        let value = value("/proc/self/smaps_rollup", name)?;
        value.trim_end_matches(" kB").parse::<f64>().ok()
    };
    are_large().then(|| Some(kibibytes("AnonHugePages")? / kibibytes("Rss")?))?
}

/// Measures one round of filters of this size with large pages. Adds nothing if the system gives none.
pub fn measure(topic: &Topic, plan: &Plan, slots: u64, results: &mut Results) {
    plan.say(&format!("{slots} slots, large pages"));
    let folder = env::temp_dir().join(format!("coucal-compare-{}", process::id()));
    let other = in_a_second_process(topic, plan, slots, &folder);
    let _ = fs::remove_dir_all(&folder);
    match other {
        Ok(other) if other.at(slots, 1).median("all", SHARE) >= Some(MIN_SHARE) => {
            results.extend(other, SUFFIX);
        }
        Ok(_) => plan.say("this system gives no large pages"),
        Err(why) => plan.say(&format!("no figures of large pages: {why}")),
    }
}

fn in_a_second_process(
    topic: &Topic,
    plan: &Plan,
    slots: u64,
    out: &Path,
) -> Result<Results, Box<dyn Error>> {
    let mut command = Command::new(env::current_exe()?);
    command.args([topic.name, "--rounds", "1", "--slots", &slots.to_string(), "--out"]).arg(out);
    command.args(plan.only.iter().flat_map(|name| ["--only", name]));
    let status = command.env(VARIABLE, SETTING).stdout(Stdio::null()).status()?;
    if !status.success() {
        return Err(format!("the second process ended with {status}").into());
    }
    Results::read(&output::csv(&out.join("performance"), topic, ""))
}
