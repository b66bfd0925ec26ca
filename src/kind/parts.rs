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

/// The parts of all files in `folder`. A line `--- name` begins one. What is before the first is
/// the file's head, without a name.
pub(crate) fn parts(folder: &Path) -> Vec<Part> {
    let mut found = Vec::new();
    for (path, text) in short::sources(folder) {
        let file = path.file_stem().and_then(|file| file.to_str()).expect("a name");
        for (at, text) in text.split("--- ").enumerate() {
            let (name, source) =
                if at == 0 { ("", text) } else { text.split_once('\n').expect("a name") };
            found.push(Part {
                file: file.to_owned(),
                name: name.to_owned(),
                source: source.to_owned(),
            });
        }
    }
    found
}
