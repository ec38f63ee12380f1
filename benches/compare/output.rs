//! The output of the figures of a topic.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use coucal_benches::text::{Table, figures, fill_page, power};

use crate::Topic;
use crate::results::{Results, View};

/// Makes a table whose first column has no title.
pub fn table<T: Into<String>>(name: &str, columns: impl IntoIterator<Item = T>) -> Table {
    Table::new(name, [String::new()].into_iter().chain(columns.into_iter().map(Into::into)))
}

/// Makes a row for each subject at each size, and a column for each figure. The first figure was measured everywhere.
pub fn all_figures(name: &str, results: &Results, subjects: &[&str], figures: &[&str]) -> Table {
    let mut all = table(name, figures.iter().copied());
    for slots in results.slots_with(figures[0]) {
        let view = results.at(slots, 1);
        for name in subjects {
            let label = format!("{name}, {} slots", power(slots));
            all.row(&label, figures.iter().map(|figure| view.median(name, figure)));
        }
    }
    all
}

/// Returns the throughput of one thread, that of several threads, and their ratio.
pub fn scaling((one, several): (View, View), name: &str, workload: &str) -> String {
    if one.runs(name, workload).is_empty() {
        return "–".into();
    }
    let rate = |view: View| view.median(name, workload).map_or_else(|| "–".into(), figures);
    let times = several.times(name, (one, name), workload).map(figures);
    let times = times.unwrap_or_else(|| "too few pieces".into());
    format!("{} → {} ({times})", rate(one), rate(several))
}

/// Makes a row for each subject at each size, and a column for each workload: the throughput of one thread, that of
/// two, and their ratio.
pub fn all_scaling(name: &str, results: &Results, subjects: &[&str], workloads: &[&str]) -> Table {
    let mut all = table(name, workloads.iter().copied());
    for slots in results.slots_with(workloads[0]) {
        let views = (results.at(slots, 1), results.at(slots, 2));
        for name in subjects.iter().filter(|name| !views.0.runs(name, workloads[0]).is_empty()) {
            let label = format!("{name}, {} slots", power(slots));
            all.cells(&label, workloads.iter().map(|workload| scaling(views, name, workload)));
        }
    }
    all
}

/// Returns the path of the file of a topic.
pub fn csv(folder: &Path, topic: &Topic, suffix: &str) -> PathBuf {
    folder.join(format!("{}{suffix}.csv", topic.name))
}

/// Writes the CSV and the plots, prints the tables, and puts them into the pages. The names of all end with the suffix.
pub fn write(
    topic: &Topic,
    results: &Results,
    out: &Path,
    suffix: &str,
) -> Result<(), Box<dyn Error>> {
    let folder = out.join("performance");
    fs::create_dir_all(&folder)?;
    fs::write(csv(&folder, topic, suffix), results.to_csv())?;
    for mut plot in (topic.plots)(results) {
        plot.file += suffix;
        plot.draw(&folder)?;
    }
    let tables = (topic.tables)(results).into_iter().filter(|table| !table.rows().is_empty());
    let mut texts: Vec<_> = tables.map(|table| (table.name.clone(), table.markdown())).collect();
    for (name, text) in &texts {
        println!("{name}\n\n{text}");
    }
    texts.push(("machine".into(), machine(results)));
    for (name, _) in &mut texts {
        *name += suffix;
    }
    let pages = ["performance.md", "cookbook.md", "../README.md"].map(|page| out.join(page));
    for page in pages.iter().filter(|page| page.exists()) {
        if fill_page(page, &texts)? {
            println!("changed: {}", page.display());
        }
    }
    Ok(())
}

/// Describes the machine. How the file was made is at its head.
fn machine(results: &Results) -> String {
    const OF_THE_RUN: [&str; 3] = ["load average before the run", "command", "run time"];
    let notes = results.notes.iter().filter(|note| !OF_THE_RUN.contains(&note.0.as_str()));
    notes.map(|(name, note)| format!("- {name}: {note}\n")).collect::<Vec<_>>().concat()
}
