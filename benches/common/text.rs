//! Tables and numbers in Markdown, the places of tables in the pages, and the version of the compiler.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::Command;

const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end -->";

/// The table of a figure.
pub struct Table {
    /// The name of its place in a page.
    pub name: String,
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub fn new<T: Into<String>>(name: &str, columns: impl IntoIterator<Item = T>) -> Self {
        let head = columns.into_iter().map(Into::into).collect();
        Self { name: name.into(), head, rows: Vec::new() }
    }

    /// Adds a row of figures, unless none of them was measured.
    pub fn row(&mut self, label: &str, values: impl IntoIterator<Item = Option<f64>>) {
        let values: Vec<_> = values.into_iter().collect();
        if values.iter().any(Option::is_some) {
            let cells = values.iter().map(|value| value.map_or_else(|| "–".into(), figures));
            self.cells(label, cells);
        }
    }

    pub fn cells<T: Into<String>>(&mut self, label: &str, cells: impl IntoIterator<Item = T>) {
        // Otherwise `<HashSet>` would be taken for HTML.
        let label = if label.contains('`') { label.into() } else { label.replace('<', "\\<") };
        self.rows.push([label].into_iter().chain(cells.into_iter().map(Into::into)).collect());
    }

    #[must_use]
    pub fn rows(&self) -> &[Vec<String>] {
        &self.rows
    }

    /// Formats the table with aligned columns: the first to the left, the others to the right. Ends with one line
    /// break.
    #[must_use]
    pub fn markdown(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().chain([&self.head]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0).max(3)
        };
        let widths: Vec<_> = (0..self.head.len()).map(width).collect();
        let line = |cells: &Vec<String>| {
            let cells = cells.iter().zip(&widths).enumerate().map(|(column, (cell, width))| {
                if column == 0 {
                    format!(" {cell:<width$} |")
                } else {
                    format!(" {cell:>width$} |")
                }
            });
            format!("|{}\n", cells.collect::<String>())
        };
        let rule = |(column, width): (usize, &usize)| {
            if column == 0 { "-".repeat(*width) } else { "-".repeat(width - 1) + ":" }
        };
        let rules = widths.iter().enumerate().map(rule).collect();
        [&self.head, &rules].into_iter().chain(&self.rows).map(line).collect()
    }
}

/// Returns the page, with the text in each place that has one of these names.
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

/// Puts named texts into their places in a page. Returns whether the page has changed.
///
/// # Errors
///
/// When the page cannot be read or written, or a table in it has no end.
pub fn fill_page(path: &Path, texts: &[(String, String)]) -> Result<bool, Box<dyn Error>> {
    let page = fs::read_to_string(path)?;
    let new = filled(&page, texts).map_err(|why| format!("{}: {why}", path.display()))?;
    if new != page {
        fs::write(path, &new)?;
    }
    Ok(new != page)
}

/// Formats a share as a percentage, with three significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", figures(100.0 * share))
}

/// Formats a number with three significant digits.
#[must_use]
pub fn figures(value: f64) -> String {
    if !value.is_finite() {
        return "–".into();
    }
    if value == 0.0 {
        return "0".into();
    }
    let magnitude = value.abs().log10().floor() as i32;
    if magnitude < -4 {
        return format!("{value:.1e}");
    }
    let decimals = (2 - magnitude).max(0) as usize;
    format!("{value:.decimals$}")
}

/// Formats a number of slots, as `2^24` if it is a power of two.
#[must_use]
pub fn power(slots: u64) -> String {
    if slots.is_power_of_two() { format!("2^{}", slots.ilog2()) } else { slots.to_string() }
}

/// Returns the output of `rustc --version`.
#[must_use]
pub fn compiler() -> String {
    let output = Command::new("rustc").arg("--version").output();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_go_to_their_places_and_the_rest_stays() {
        let mut table = Table::new("one", ["", "ns"]);
        table.row("a", [Some(1.25)]);
        table.row("nothing measured", [None]);
        let markdown = "|     |   ns |\n| --- | ---: |\n| a   | 1.25 |\n";
        assert_eq!(table.markdown(), markdown);
        let texts = [("one".to_owned(), table.markdown())];
        let page = "A\n\n<!-- table: one -->old<!-- end -->\n\nB\n\n<!-- table: two -->\nkept\n<!-- end -->\n";
        let due = page.replace("old", &format!("\n\n{markdown}\n"));
        assert_eq!(filled(page, &texts).as_ref(), Ok(&due));
        assert_eq!(filled(&due, &texts).as_ref(), Ok(&due), "the same again");
        assert!(filled("<!-- table: one -->\n<!-- table: two --><!-- end -->", &texts).is_err());
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts = [0.0, 1234.5, 12.34, 0.1234, 0.000_001_234, f64::NAN].map(figures);
        assert_eq!(texts, ["0", "1234", "12.3", "0.123", "1.2e-6", "–"]);
    }
}
