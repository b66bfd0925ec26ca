//! The Lua of a folder: its parts, what their heads say, and how it is sent.
//!
//! A part's head says what it `provides` and `needs`. What it `wraps` it provides anew, on top of
//! what a lower file provides. It may begin a branch or a loop, which a later part ends.
//!
//! It is sent in one line, without comments and needless blanks, and with short names for what it
//! declares. Redis reads and hashes a script's whole text in every call, so each byte of it costs.
//! A name is the same in all files, since a script is put together from several. `build.rs` uses
//! this; so do the tests that look for a piece of a script.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

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
    for (path, text) in sources(folder) {
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

const KEYWORDS: &str = "and break do else elseif end false for function if in local nil not or \
                        repeat return then true until while";
/// Names of Lua's own, and of fields that scripts write.
const GLOBALS: &str = "ARGV KEYS err ipairs math next ok pairs pcall redis select string table \
                       tonumber tostring type unpack";

/// Each declared name, and the one that stands for it.
pub(crate) struct Names(BTreeMap<String, String>);

/// Every Lua file below `folder`, with its text.
pub(crate) fn sources(folder: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|end| end == "lua") {
            let source = fs::read_to_string(&path).expect("text");
            found.push((path, source));
        }
    }
    found.sort();
    found
}

impl Names {
    /// The names that are used most are the shortest.
    pub(crate) fn of(sources: &[(PathBuf, String)]) -> Self {
        let all: Vec<_> = (sources.iter()).map(|(_, source)| tokens(source)).collect();
        let declared: BTreeSet<&str> = all.iter().flat_map(|tokens| declared(tokens)).collect();
        let mut uses = BTreeMap::<&str, usize>::new();
        for token in all.iter().flatten() {
            *uses.entry(token).or_default() += 1;
        }
        let mut names: Vec<&str> = declared.iter().copied().collect();
        assert!(
            !names.iter().any(|name| is_in(GLOBALS, name)),
            "a script declares a name of Lua's own"
        );
        names.sort_by_key(|name| (std::cmp::Reverse(uses[name]), *name));
        let is_free = |short: &String| {
            !is_in(KEYWORDS, short)
                && (declared.contains(short.as_str()) || !uses.contains_key(short.as_str()))
        };
        let short = shortest().filter(is_free);
        let pairs = names.into_iter().map(str::to_owned).zip(short);
        Self(pairs.collect())
    }

    /// `source` as it is sent. It ends with a blank, so that another one can follow.
    pub(crate) fn shorten(&self, source: &str) -> String {
        let (mut sent, mut before) = (String::new(), "");
        for token in tokens(source) {
            let name = self.0.get(token).filter(|_| before != ".");
            let short = name.map_or(token, String::as_str);
            if must_be_apart(before, token) {
                sent.push(' ');
            }
            sent += short;
            before = token;
        }
        sent + " "
    }
}

fn is_in(list: &str, word: &str) -> bool {
    list.split(' ').any(|one| one == word)
}

/// One letter, then two, and so on.
fn shortest() -> impl Iterator<Item = String> {
    let letters = || ('a'..='z').chain('A'..='Z').map(String::from);
    letters()
        .chain(letters().flat_map(move |first| letters().map(move |next| first.clone() + &next)))
}

/// Words, whole numbers, texts in single quotes, and operators. The scripts have no others.
fn tokens(source: &str) -> Vec<&str> {
    let (mut found, mut rest) = (Vec::new(), source.trim_start());
    while let Some(first) = rest.chars().next() {
        let behind = |is_in: fn(char) -> bool| rest.find(|char| !is_in(char)).unwrap_or(rest.len());
        let operator = ["--", "...", "..", "==", "~=", "<=", ">="]
            .into_iter()
            .find(|operator| rest.starts_with(operator));
        let len = match (first, operator) {
            (_, Some("--")) => rest.find('\n').unwrap_or(rest.len()),
            (_, Some(operator)) => operator.len(),
            ('\'', _) => rest[1..].find('\'').expect("a text ends") + 2,
            ('0'..='9', _) => behind(|char| char.is_ascii_digit()),
            _ if is_word(first) => behind(is_word),
            ('"' | '\\', _) => panic!("a text is in single quotes, and has no escapes"),
            _ => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(len);
        if operator != Some("--") {
            found.push(token);
        }
        rest = behind.trim_start();
    }
    found
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// Whether Lua would read the two as something else if no blank were between them.
fn must_be_apart(one: &str, other: &str) -> bool {
    match (one.chars().last(), other.chars().next()) {
        (Some(last), Some(first)) if is_word(last) => {
            is_word(first) || first == '.' && last.is_ascii_digit()
        }
        (last, first) => last == first && matches!(first, Some('-' | '.' | '[')),
    }
}

/// The names behind `local` and `for`, of functions and of what they take.
fn declared<'s>(tokens: &[&'s str]) -> BTreeSet<&'s str> {
    let mut found = BTreeSet::new();
    for (at, token) in tokens.iter().enumerate() {
        let mut behind = &tokens[at + 1..];
        match *token {
            "function" => {
                let list = behind.iter().position(|token| *token == "(").expect("a list");
                found.extend(behind[..list].iter().copied());
                behind = &behind[list + 1..];
            }
            "local" if behind[0] == "function" => continue,
            "local" | "for" => {}
            _ => continue,
        }
        let names = behind.split(|token| *token == ",");
        for name in names {
            found.extend(name.first().filter(|name| name.starts_with(is_word)));
            if name.len() != 1 {
                break;
            }
        }
    }
    found
}
