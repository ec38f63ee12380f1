//! Checks the table of [docs/verification.md](../../docs/verification.md) that names the model of each pair of
//! operations.
#![cfg(not(loom))]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{env, fs};

/// The operations, and those steps of theirs that move entries. The second text says in which kinds of filters they
/// are, in the order of the columns: filter, maplet, expiring filter.
const OPERATIONS: [(&str, &str); 19] = [
    ("contains", "FME"),
    ("get", "M"),
    ("count", "FM"),
    ("age", "E"),
    ("insert", "FM"),
    ("insert_if_absent", "FME"),
    ("remove", "FM"),
    ("replace", "M"),
    ("update", "M"),
    ("stamp", "E"),
    ("kick", "FME"),
    ("split", "FME"),
    ("stash", "FME"),
    ("widening", "FME"),
    ("snapshot", "FME"),
    ("clear", "FME"),
    ("merge", "FM"),
    ("sweep", "M"),
    ("advance", "E"),
];

const KINDS: [char; 3] = ['F', 'M', 'E'];

/// The text of a cell for a kind of filter that does not have both operations.
const NO_PAIR: &str = "–";

/// Returns the names of all models: of the rows in the lists that begin with `models! {`, `of_layouts! {` or the like.
fn models() -> BTreeSet<String> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/models");
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(directory).expect("the models") {
        let path = entry.expect("a file").path();
        let module = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).expect("UTF-8");
        let mut in_list = false;
        for line in text.lines() {
            if !line.starts_with(' ') {
                in_list = line.ends_with("! {")
                    && (line.contains("models") || line.starts_with("of_layouts"));
            } else if let Some(row) = line.strip_prefix("    ").filter(|_| in_list) {
                let end = row.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(row.len());
                if end > 0
                    && matches!(row[end..].trim_start().chars().next(), None | Some(':' | '='))
                {
                    names.insert(format!("{module}::{}", &row[..end]));
                }
            }
        }
    }
    names
}

/// Returns the parts of a text between backticks.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Each pair has one row. For each kind of filter that has both operations, the row names a model that exists, or a
/// reason that the page explains.
#[test]
fn every_pair_of_operations_has_a_model_or_a_reason() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/verification.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, section) = page.split_once("\n### Pairs of operations\n").expect("the section");
    let section = section.split("\n## ").next().expect("a part");
    let models = models();
    assert!(models.len() > 250, "{models:?}");
    let kinds: BTreeMap<_, _> = OPERATIONS.into_iter().collect();
    let is_reason = |line: &&str| line.starts_with("* **");
    let reasons: BTreeSet<_> = section
        .lines()
        .filter(is_reason)
        .map(|line| line.split("**").nth(1).expect("bold"))
        .collect();
    let (mut pairs, mut used) = (BTreeSet::new(), BTreeSet::new());
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [of, beside, by_kind @ ..] = &cells[..] else { panic!("too few cells: {row}") };
        assert_eq!(by_kind.len(), KINDS.len(), "{row}");
        let of = quoted(of)[0];
        for (kind, cell) in KINDS.into_iter().zip(by_kind) {
            let have_both = quoted(beside)
                .iter()
                .any(|&other| kinds[of].contains(kind) && kinds[other].contains(kind));
            assert_eq!(have_both, *cell != NO_PAIR, "{kind} in {row}");
            let named = quoted(cell);
            assert!(named.iter().all(|&model| models.contains(model)), "no such model: {row}");
            if have_both && named.is_empty() {
                assert!(reasons.contains(cell), "no such reason, {cell}: {row}");
                used.insert(*cell);
            }
        }
        for other in quoted(beside) {
            let at = |name| OPERATIONS.iter().position(|&(operation, _)| operation == name);
            let pair = [at(of), at(other)].map(|at| at.expect("an operation"));
            assert!(pair[0] <= pair[1], "in the order of the operations: {row}");
            assert!(pairs.insert(pair), "twice: {of} and {other}");
        }
    }
    assert_eq!(used, reasons, "reasons that some cell has");
    let missing: Vec<_> = (0..OPERATIONS.len())
        .flat_map(|one| (one..OPERATIONS.len()).map(move |other| [one, other]))
        .filter(|&[one, other]| {
            KINDS.iter().any(|&kind| [one, other].iter().all(|&at| OPERATIONS[at].1.contains(kind)))
        })
        .filter(|pair| !pairs.contains(pair))
        .map(|pair| pair.map(|at| OPERATIONS[at].0))
        .collect();
    assert_eq!(missing, Vec::<[&str; 2]>::new(), "pairs without a row");
}
