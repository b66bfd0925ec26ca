//! The parts of the scripts, and what their heads say.
//!
//! A part's head says what it `provides` and `needs`. What it `wraps` it provides anew, on top of
//! what a lower file provides. It may begin a branch or a loop, which a later part ends.

use std::path::Path;

use super::short;

/// A piece of Lua that scripts are put together from.
pub(crate) struct Part {
    /// The file that it is in, without its ending.
    pub(crate) file: String,
    pub(crate) name: String,
    /// With its head.
    pub(crate) source: String,
}

impl Part {
    /// The words behind this one in its head.
    pub(crate) fn head(&self, word: &str) -> Vec<&str> {
        let start = format!("-- {word} ");
        let said = (self.source.lines()).filter_map(|line| line.strip_prefix(&start));
        said.flat_map(str::split_whitespace).collect()
    }
}

/// The parts of all files in `folder`. The first part of a file, which has no name, is its head.
pub(crate) fn parts(folder: &Path) -> Vec<Part> {
    let mut found = Vec::new();
    for (path, source) in short::sources(folder) {
        let below = path
            .strip_prefix(folder)
            .expect("below it")
            .with_extension("");
        let mut names = below.to_str().expect("text").split('/');
        found.push(Part {
            file: names.next().unwrap_or_default().to_owned(),
            name: names.next().unwrap_or_default().to_owned(),
            source,
        });
    }
    found
}
