//! The faults that nobody lists: each ordering of the sources made weaker.

use std::fs;
use std::path::{Path, PathBuf};

use loom_tests::source::{Result, Source, Weakening};

use crate::Change;
use crate::list::{EXCEPTIONS, Exception, LIKELY};

/// The turns of a user's model, which no model of this crate has.
const OF_MODELS: &str = "turns/loom.rs";

/// Each ordering below `src` made weaker, alone: those that a model must notice, and the exceptions.
pub fn weakenings(workspace: &Path) -> Result<[Vec<Change>; 2]> {
    let mut files = Vec::new();
    list_files(&workspace.join("src"), &mut files)?;
    files.sort();
    let mut used = vec![false; EXCEPTIONS.len()];
    let [mut expected, mut exceptions] = [Vec::new(), Vec::new()];
    for path in files {
        let file = path.strip_prefix(workspace)?.to_str().ok_or("a name in UTF-8")?;
        if file.ends_with(OF_MODELS) {
            continue;
        }
        let likely = LIKELY.iter().find(|likely| likely.0 == file);
        let source = Source::read(&path)?;
        let weakenings = source.weakenings().map_err(|error| format!("{file}: {error}"))?;
        for Weakening { how, edit } in weakenings {
            let (function, line) = source.place(edit.0.start);
            let change = Change {
                what: format!("{file}, {function}: {how}: `{line}`"),
                file: file.into(),
                edits: vec![edit.clone()],
                caught_by: likely.map_or(String::new(), |likely| likely.1.join(" ")),
            };
            let is_it = |exception: &Exception| {
                (exception.file, exception.line, exception.how) == (file, line, how)
            };
            match EXCEPTIONS.iter().position(is_it) {
                Some(at) => {
                    used[at] = true;
                    exceptions.push(change);
                }
                None => expected.push(change),
            }
        }
    }
    match used.iter().position(|used| !used) {
        None => Ok([expected, exceptions]),
        Some(at) => {
            let Exception { file, line, how, reason } = EXCEPTIONS[at];
            Err(format!("no line of {file} is this exception: {line}: {how} ({reason})").into())
        }
    }
}

fn list_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            list_files(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}
