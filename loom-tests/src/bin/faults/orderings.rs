//! The faults that no list names: each ordering of the sources made weaker.

use std::fs;
use std::path::{Path, PathBuf};

use loom_tests::source::{Result, Source, Weakening};

use crate::Change;
use crate::list::{EXCEPTIONS, Exception, LIKELY};

/// The turns of a user's model: no model of this crate contains them.
const OF_MODELS: &str = "turns/loom.rs";

/// Returns the files below `src`, with their paths from the root of the workspace.
pub fn sources(workspace: &Path) -> Result<Vec<(String, Source)>> {
    let mut files = Vec::new();
    list_files(&workspace.join("src"), &mut files)?;
    files.sort();
    let read = |path: PathBuf| {
        let file = path.strip_prefix(workspace)?.to_str().ok_or("a name in UTF-8")?;
        Ok((file.to_owned(), Source::read(&path)?))
    };
    files.into_iter().filter(|path| !path.ends_with(OF_MODELS)).map(read).collect()
}

/// Returns each ordering made weaker, by itself: first those that a model must notice, then the exceptions.
pub fn weakenings(sources: &[(String, Source)]) -> Result<[Vec<Change>; 2]> {
    let mut used = vec![0; EXCEPTIONS.len()];
    let [mut expected, mut exceptions] = [Vec::new(), Vec::new()];
    for (file, source) in sources {
        let likely = LIKELY.iter().find(|likely| file.starts_with(likely.0));
        let weakenings = source.weakenings().map_err(|error| format!("{file}: {error}"))?;
        for Weakening { how, edit } in weakenings {
            let (function, line) = source.place(edit.0.start);
            let change = Change {
                what: format!("{file}, {function}: {how}: `{line}`"),
                file: file.clone(),
                edits: vec![edit.clone()],
                caught_by: likely.map_or(String::new(), |likely| likely.1.into()),
            };
            let is_it = |it: &Exception| (it.function, it.line, it.how) == (function, line, how);
            match EXCEPTIONS.iter().position(is_it) {
                Some(at) => {
                    used[at] += 1;
                    exceptions.push(change);
                }
                None => expected.push(change),
            }
        }
    }
    match used.iter().position(|&lines| lines != 1) {
        None => Ok([expected, exceptions]),
        Some(at) => {
            let Exception { function, line, how, reason } = EXCEPTIONS[at];
            Err(format!(
                "{} lines of {function} are this exception: {line}: {how} ({reason})",
                used[at]
            )
            .into())
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
