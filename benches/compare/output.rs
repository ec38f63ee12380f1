//! What every topic has: its progress, its tables, and the places in the pages where these go.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use coucal_measure::machine;
use coucal_measure::text::{figures, table};

use crate::Topic;
use crate::results::Results;

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end -->";

/// The table of a figure.
pub struct Table {
    name: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// The columns are those after the first, which has no title.
    pub fn new<T: Into<String>>(name: &str, columns: impl IntoIterator<Item = T>) -> Self {
        let head = [String::new()].into_iter().chain(columns.into_iter().map(Into::into));
        Self { name: name.into(), head: head.collect(), rows: Vec::new() }
    }

    /// A row of figures, unless nothing in it was measured.
    pub fn row(&mut self, label: &str, values: impl IntoIterator<Item = Option<f64>>) {
        let values: Vec<_> = values.into_iter().collect();
        if values.iter().any(Option::is_some) {
            let cells = values.iter().map(|value| value.map_or_else(|| "–".into(), figures));
            self.cells(label, cells.collect());
        }
    }

    pub fn cells(&mut self, label: &str, mut cells: Vec<String>) {
        // Otherwise `<HashSet>` is taken for HTML.
        cells.insert(0, if label.contains('`') { label.into() } else { label.replace('<', "\\<") });
        self.rows.push(cells);
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub fn markdown(&self) -> String {
        let head: Vec<_> = self.head.iter().map(String::as_str).collect();
        table(&head, &self.rows)
    }
}

/// The page, with the text in each place that has one of these names.
fn filled(page: &str, texts: &[(String, String)]) -> Result<String, String> {
    let mut parts = page.split(BEGIN);
    let mut filled = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_once(" -->").ok_or("a place for a table has no name")?;
        let (old, after) = rest.split_once(END).ok_or(format!("the table {name} has no end"))?;
        let text = texts.iter().find(|text| text.0 == name);
        let text = text.map_or_else(|| old.to_owned(), |(_, text)| format!("\n\n{text}\n"));
        filled.extend([BEGIN, name, " -->", &text, END, after]);
    }
    Ok(filled)
}

/// The file of a topic.
pub fn csv(folder: &Path, topic: &Topic) -> PathBuf {
    folder.join(format!("{}.csv", topic.name))
}

/// Writes the CSV and the plots, prints the tables, and puts them into the pages.
pub fn write(topic: &Topic, results: &Results, out: &Path) -> Result<(), Box<dyn Error>> {
    let folder = out.join("performance");
    fs::create_dir_all(&folder)?;
    fs::write(csv(&folder, topic), results.to_csv())?;
    for plot in (topic.plots)(results) {
        plot.draw(&folder)?;
    }
    let tables = (topic.tables)(results).into_iter().filter(|table| !table.is_empty());
    let mut texts: Vec<_> = tables.map(|table| (table.name.clone(), table.markdown())).collect();
    for (name, text) in &texts {
        println!("{name}\n\n{text}");
    }
    texts.push(("machine".into(), machine(results)));
    for path in ["performance.md", "../README.md"].map(|page| out.join(page)) {
        let Ok(page) = fs::read_to_string(&path) else { continue };
        let new = filled(&page, &texts).map_err(|why| format!("{}: {why}", path.display()))?;
        if new != page {
            fs::write(&path, new)?;
            println!("changed: {}", path.display());
        }
    }
    Ok(())
}

/// The machine; how the file was made is at its head.
fn machine(results: &Results) -> String {
    const OF_THE_RUN: [&str; 3] = ["load average before the run", "command", "run time"];
    let notes = results.notes.iter().filter(|note| !OF_THE_RUN.contains(&note.0.as_str()));
    let lines: Vec<_> = notes.map(|(name, note)| format!("- {name}: {note}\n")).collect();
    lines.concat()
}

/// Says what is being measured, and since when.
pub struct Progress(pub Instant);

impl Progress {
    pub fn say(&self, what: &str) {
        eprintln!("{:>6.1} s  {what}", self.0.elapsed().as_secs_f64());
    }

    /// What `measure` finds, with notes of the machine, the command and the time that it all took.
    pub fn results(&self, measure: impl FnOnce(&mut Results)) -> Results {
        let mut results = Results::default();
        results.notes = machine::describe();
        let arguments: Vec<_> = std::env::args().skip(1).collect();
        let command = "cargo run --release -p coucal-benches --bin compare --";
        results.notes.push(("command".into(), format!("{command} {}", arguments.join(" "))));
        measure(&mut results);
        results.notes.push(("run time".into(), format!("{} s", self.0.elapsed().as_secs())));
        results
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_to_their_places_and_the_rest_stays() {
        let mut table = Table::new("one", ["ns"]);
        table.row("a", [Some(1.25)]);
        table.row("nothing measured", [None]);
        let texts = [("one".to_owned(), table.markdown())];
        let page = "before\n\n<!-- table: one -->old<!-- end -->\n\nbetween\n\n\
                    <!-- table: two -->\nkept\n<!-- end -->\nafter\n";
        let filled_once = filled(page, &texts).expect("both have an end");
        let place = format!("<!-- table: one -->\n\n{}\n<!-- end -->\n\nbetween", texts[0].1);
        assert!(
            filled_once.contains(&place) && filled_once.ends_with("\nkept\n<!-- end -->\nafter\n")
        );
        assert!(!filled_once.contains("old") && !filled_once.contains("nothing measured"));
        assert_eq!(filled(&filled_once, &texts), Ok(filled_once));
        assert!(filled("<!-- table: one -->\n<!-- table: two --><!-- end -->", &texts).is_err());
    }
}
