//! What a figure consists of, and where it is written.

use std::error::Error;
use std::fs;
use std::path::Path;

use coucal_measure::plot::Plot;
use coucal_measure::text::table;

/// The folder of the page.
pub const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
const PAGE: &str = "evaluation.md";
const BEGIN: &str = "<!-- table: ";
const END: &str = "<!-- end -->";
const FOLDER: &str = "evaluation";

/// Names of columns, and rows of cells.
pub struct Rows {
    pub head: &'static [&'static str],
    pub rows: Vec<Vec<String>>,
}

impl Rows {
    fn csv(&self) -> String {
        let rows = self.rows.iter().map(|row| row.join(",") + "\n");
        self.head.join(",") + "\n" + &rows.collect::<String>()
    }
}

pub struct Figure {
    /// The name of its CSV file and of its table in the page.
    pub name: &'static str,
    /// Every measured value.
    pub csv: Rows,
    /// What the page shows.
    pub table: Rows,
    pub plots: Vec<Plot>,
}

impl Figure {
    /// Writes the CSV file and the plots, and replaces the table in the page.
    pub fn write(&self, docs: &Path) -> Result<(), Box<dyn Error>> {
        let page = fs::read_to_string(docs.join(PAGE))?;
        let page = replaced(&page, self.name, &table(self.table.head, &self.table.rows))?;
        let folder = docs.join(FOLDER);
        fs::create_dir_all(&folder)?;
        for plot in &self.plots {
            plot.draw(&folder)?;
        }
        fs::write(folder.join(format!("{}.csv", self.name)), self.csv.csv())?;
        Ok(fs::write(docs.join(PAGE), page)?)
    }
}

/// The page with another table in the place of a figure.
fn replaced(page: &str, name: &str, table: &str) -> Result<String, String> {
    let begin = format!("{BEGIN}{name} -->");
    let missing = || format!("{PAGE} has no place for the table {name}");
    let (before, rest) = page.split_once(&begin).ok_or_else(missing)?;
    let (old, after) = rest.split_once(END).ok_or_else(missing)?;
    if old.contains(BEGIN) {
        return Err(format!("{PAGE}: the table {name} has no end"));
    }
    Ok(format!("{before}{begin}\n\n{table}\n{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Name;
    use clap::ValueEnum;

    #[test]
    fn only_the_table_of_the_figure_is_replaced() {
        let page = "A\n\n<!-- table: a -->\nold\n<!-- end -->\n\nB\n\n<!-- table: b -->\n\n\
                    <!-- table: c -->\n\nkeep\n\n<!-- end -->\n";
        let expected = page.replace("\nold\n", "\n\n| new |\n\n");
        assert_eq!(replaced(page, "a", "| new |\n").as_ref(), Ok(&expected));
        assert_eq!(replaced(&expected, "a", "| new |\n").as_ref(), Ok(&expected), "the same again");
        assert!(replaced(page, "b", "").is_err(), "it has no end");
        assert!(replaced(page, "d", "").is_err(), "it has no place");
    }

    /// The page has a place for each figure, and shows every file of the folder.
    #[test]
    fn the_page_shows_every_figure_and_file() {
        let page = fs::read_to_string(Path::new(DOCS).join(PAGE)).unwrap();
        for name in Name::value_variants() {
            let name = name.to_possible_value().unwrap();
            let (name, mark) =
                (name.get_name(), format!("<!-- table: {} -->\n\n|", name.get_name()));
            assert_eq!(page.matches(&mark).count(), 1, "the table of {name}");
            assert!(page.contains(&format!("({FOLDER}/{name}.csv)")), "the CSV file of {name}");
        }
        let mut files = 0;
        for entry in fs::read_dir(Path::new(DOCS).join(FOLDER)).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(page.contains(&format!("({FOLDER}/{name})")), "nothing shows {name}");
            files += 1;
        }
        assert_eq!(page.matches(&format!("({FOLDER}/")).count(), files, "links without a file");
    }
}
