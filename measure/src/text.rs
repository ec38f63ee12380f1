//! Markdown: tables and numbers.

use std::fmt::Write as _;

/// A table with aligned columns: the first to the left, the others to the right. Ends with one line
/// break.
#[must_use]
pub fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([head[column].chars().count(), 3]).max().unwrap_or(3)
    };
    let widths: Vec<_> = (0..head.len()).map(width).collect();
    let line = |cells: &[String]| {
        let mut line = String::from("|");
        for (column, (cell, width)) in cells.iter().zip(&widths).enumerate() {
            let _ = match column {
                0 => write!(line, " {cell:<width$} |"),
                _ => write!(line, " {cell:>width$} |"),
            };
        }
        line + "\n"
    };
    let rule = |(column, width): (usize, &usize)| match column {
        0 => "-".repeat(*width),
        _ => "-".repeat(width - 1) + ":",
    };
    let names: Vec<_> = head.iter().map(|&name| name.to_owned()).collect();
    let rules: Vec<_> = widths.iter().enumerate().map(rule).collect();
    let rows: String = rows.iter().map(|row| line(row)).collect();
    line(&names) + &line(&rules) + &rows
}

/// A share as a percentage, with three significant digits.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", figures(100.0 * share))
}

/// Three significant digits.
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

/// A number of slots as a power of two where it is one: `2^24`.
#[must_use]
pub fn power(slots: u64) -> String {
    if slots.is_power_of_two() { format!("2^{}", slots.ilog2()) } else { slots.to_string() }
}

/// `1 thread`, `2 threads`.
#[must_use]
pub fn threads(count: usize) -> String {
    if count == 1 { "1 thread".into() } else { format!("{count} threads") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_aligned() {
        let rows = [vec!["a".to_owned(), "1.25".to_owned()]];
        assert_eq!(table(&["", "ns"], &rows), "|     |   ns |\n| --- | ---: |\n| a   | 1.25 |\n");
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts = [0.0, 1234.5, 12.34, 0.1234, 0.000_001_234, f64::NAN].map(figures);
        assert_eq!(texts, ["0", "1234", "12.3", "0.123", "1.2e-6", "–"]);
    }
}
