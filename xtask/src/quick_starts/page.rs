//! What a page tells its reader to do: files to write, and commands to type.

use std::fs;

use anyhow::{Context, Result, ensure};
use testkit::paths;

/// What the reader does next.
#[derive(Debug, PartialEq)]
pub(super) enum Step {
    /// Write a file: a block after a line that begins with the file's name in backticks.
    Write { file: String, text: String },
    /// Put the lines that `cargo xtask dev` printed into a file: text that says `into` and the
    /// file's name in backticks. Those of its Worker too, where the text says all three.
    PutVariables { file: String, all: bool },
    /// Type a command: a block that is indented, or marked as `sh`.
    Type { command: String, at: Place },
}

/// Where the reader types a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Place {
    /// In the clone, as the text before the block says.
    Clone,
    /// In the reader's present folder.
    Here,
}

/// The steps between a heading and the next one.
pub(super) fn steps(page: &str, heading: &str) -> Result<Vec<Step>> {
    let path = paths::root().join(page);
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {page}"))?;
    let steps = read(&text, heading);
    ensure!(!steps.is_empty(), "{page} has no quick start under {heading:?}");
    Ok(steps)
}

fn read(text: &str, heading: &str) -> Vec<Step> {
    let is_it =
        |line: &&str| line.starts_with('#') && line.trim_start_matches('#').trim() == heading;
    let mut lines = text.lines().skip_while(|line| !is_it(line)).skip(1);
    let (mut steps, mut before) = (Vec::new(), String::new());
    let mut lines = lines.by_ref().peekable();
    while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
        if let Some(language) = line.strip_prefix("```") {
            let block = lines.by_ref().take_while(|line| *line != "```");
            steps.extend(fenced(&before, language, joined(block)));
        } else if let Some(first) = line.strip_prefix("    ") {
            let mut command = format!("{first}\n");
            while let Some(line) = lines.peek().and_then(|line| line.strip_prefix("    ")) {
                command.push_str(&format!("{line}\n"));
                lines.next();
            }
            steps.push(typed(&before, command));
        } else if !line.is_empty() {
            before = line.to_owned();
            while let Some(line) = lines.next_if(|line| !line.is_empty()) {
                before.push_str(&format!(" {line}"));
            }
            steps.extend(variables(&before));
        }
    }
    steps
}

fn joined<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.flat_map(|line| [line, "\n"]).collect()
}

fn fenced(before: &str, language: &str, text: String) -> Option<Step> {
    match before.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        Some((file, _)) => Some(Step::Write { file: file.to_owned(), text }),
        None => (language == "sh").then(|| typed(before, text)),
    }
}

fn typed(before: &str, command: String) -> Step {
    let before = before.to_lowercase();
    let in_clone = before.contains("in the clone") || before.contains("in a clone");
    Step::Type { command, at: if in_clone { Place::Clone } else { Place::Here } }
}

fn variables(text: &str) -> Option<Step> {
    let text = text.replace("into a file `", "into `");
    let (file, _) = text.split_once("into `")?.1.split_once('`')?;
    Some(Step::PutVariables { file: file.to_owned(), all: text.contains("all three") })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "\
# Page

    not here

## Start

Some words. Then,
in the clone:

    one \\
    two

    # Put it into a file `.env`.

`a/b.toml`, since it must be:

```toml
# no heading

[a]
```

Put both into a file `.env`, and say

```sh
three
```

## Next

    nor here
";

    #[test]
    fn a_reader_sees_files_variables_and_commands_in_their_order() {
        let typed = |command: &str, at| Step::Type { command: command.to_owned(), at };
        let file = |file: &str| file.to_owned();
        assert_eq!(
            read(PAGE, "Start"),
            [
                typed("one \\\ntwo\n", Place::Clone),
                typed("# Put it into a file `.env`.\n", Place::Clone),
                Step::Write { file: file("a/b.toml"), text: file("# no heading\n\n[a]\n") },
                Step::PutVariables { file: file(".env"), all: false },
                typed("three\n", Place::Here),
            ]
        );
        assert_eq!(read(PAGE, "Elsewhere"), []);
    }
}
