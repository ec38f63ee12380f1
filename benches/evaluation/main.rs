//! Counts what a cuckoo filter stores and how often it errs: figures 2 to 4 of the cuckoo filter paper (Fan,
//! Andersen, Kaminsky, Mitzenmacher, CoNEXT 2014), and the same for a table that grows.
//!
//! ```text
//! cargo run --release -p coucal-benches --bin evaluation
//! ```
//!
//! Nothing here is timed, and all keys are fixed: the figures do not depend on the machine.

mod crowds;
#[path = "../../src/tests/for_each_layout.rs"]
mod for_each_layout;
mod growth;
mod layouts;
mod occupancy;
mod simulation;
mod space;

use std::error::Error;
use std::fs;
use std::path::Path;
use std::time::Instant;

use clap::Parser;
use clap::builder::PossibleValuesParser;
use coucal_benches::plot::Plot;
use coucal_benches::text::{Table, fill_page};

const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");

/// The name of a figure, of its CSV file and of its table in the page; and the function that makes it.
type Named = (&'static str, fn(&str) -> Figure);

const FIGURES: [Named; 5] = [
    ("fig2", |name| occupancy::figure(name, [10, 15, 20])),
    ("fig3", |name| space::figure(name, 1 << 15)),
    ("fig4", |name| layouts::figure(name, 1_000_000)),
    ("growth", |name| growth::figure(name, 1 << 12, 10)),
    ("crowds", |name| crowds::figure(name, 1 << 18)),
];

/// Makes the figures of `docs/evaluation.md`: for each of them a CSV file and plots in `docs/evaluation/`,
/// and its table in the page. The rest of the page is left as it is.
#[derive(Parser)]
struct Arguments {
    /// Only these figures: load factor over fingerprint length (fig2); bits per item over false-positive rate,
    /// by slots per bucket (fig3); load factor, false-positive rate and bits per item of each layout (fig4),
    /// and while a table grows.
    #[arg(value_parser = PossibleValuesParser::new(FIGURES.map(|figure| figure.0)))]
    figures: Vec<String>,
}

/// Fewer false positives than this do not determine a rate to within 10 %.
const ENOUGH: f64 = 400.0;

struct Figure {
    /// The lines of the CSV file: every measured value.
    csv: Vec<String>,
    /// The table of the page.
    table: Table,
    plots: Vec<Plot>,
}

fn main() -> Result<(), Box<dyn Error>> {
    let only = Arguments::parse().figures;
    let (page, folder) =
        (Path::new(DOCS).join("evaluation.md"), Path::new(DOCS).join("evaluation"));
    for (name, make) in FIGURES {
        if only.is_empty() || only.iter().any(|only| only == name) {
            let begun = Instant::now();
            let figure = make(name);
            fs::write(folder.join(format!("{name}.csv")), figure.csv.join("\n") + "\n")?;
            for plot in &figure.plots {
                plot.draw(&folder)?;
            }
            fill_page(&page, &[(name.into(), figure.table.markdown())])?;
            println!("{name}: {:.0} s", begun.elapsed().as_secs_f64());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The page has a place for each figure, and shows every file of the folder.
    #[test]
    fn the_page_shows_every_figure_and_file() {
        let page = fs::read_to_string(Path::new(DOCS).join("evaluation.md")).unwrap();
        for (name, _) in FIGURES {
            let mark = format!("<!-- table: {name} -->\n\n|");
            assert_eq!(page.matches(&mark).count(), 1, "the table of {name}");
            assert!(page.contains(&format!("(evaluation/{name}.csv)")), "the CSV file of {name}");
        }
        let mut files = 0;
        for entry in fs::read_dir(Path::new(DOCS).join("evaluation")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            assert!(page.contains(&format!("(evaluation/{name})")), "nothing shows {name}");
            files += 1;
        }
        assert_eq!(page.matches("(evaluation/").count(), files, "links without a file");
    }
}
