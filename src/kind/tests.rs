use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::*;
use crate::script::RECEIPT_LIFE;

/// One line for each kind.
static KINDS: [(&str, &Row); 11] = [
    ("limits", &limits::ROW),
    ("multi", &multi::ROW),
    ("mutex", &mutex::ROW),
    ("once", &once::ROW),
    ("quorum", &quorum::ROW),
    ("reader", &read_write::READER),
    ("reentrant", &reentrant::ROW),
    ("reservations", &reservations::ROW),
    ("semaphore", &semaphore::ROW),
    ("take over", &mutex::TAKING_OVER),
    ("writer", &read_write::WRITER),
];

fn scripts() -> impl Iterator<Item = (String, &'static Script)> {
    let of = |(kind, row): (&'static str, &'static Row)| {
        let all = [Some(&row.scripts), row.signalling.as_ref()];
        let of_operations = all.into_iter().flatten().flat_map(|scripts| {
            [
                &scripts.acquire,
                &scripts.renew,
                &scripts.release,
                &scripts.abandon,
                &scripts.inspect,
                &scripts.force_release,
            ]
        });
        let others = [&row.raise, &row.downgrade, &row.turn];
        let others = others.into_iter().flatten();
        (of_operations.chain(others).enumerate())
            .map(move |(at, script)| (format!("{kind} {at}"), script))
    };
    KINDS
        .into_iter()
        .flat_map(of)
        .chain([("read".into(), &READ)])
        .chain([("pass".into(), &PASS), ("give back".into(), &GIVE_BACK)])
        .chain([("arrive".into(), &ARRIVE), ("settle".into(), &SETTLE)])
        .chain([("leave".into(), &LEAVE), ("forget".into(), &FORGET)])
}

/// What the head of a part says, and its code.
struct Part {
    file: String,
    source: String,
    code: String,
}

impl Part {
    fn header(&self, word: &str) -> BTreeSet<String> {
        let start = format!("-- {word} ");
        let said = (self.source.lines()).filter_map(|line| line.strip_prefix(&start));
        said.flat_map(str::split_whitespace)
            .map(str::to_owned)
            .collect()
    }

    /// All words that are neither in strings nor members.
    fn words(&self) -> BTreeSet<&str> {
        let code = (self.code.split('\'').step_by(2)).flat_map(|code| code.split(' '));
        let apart = |char: char| !char.is_alphanumeric() && !['_', '.'].contains(&char);
        code.flat_map(|code| code.split(apart)).collect()
    }

    fn declares(&self, word: &str) -> bool {
        let names = |declared: &'_ str| -> Vec<String> {
            if let Some(function) = declared.strip_prefix("function ") {
                let (head, _) = function.split_once(')').unwrap_or_default();
                return head
                    .split(['(', ','])
                    .map(|name| name.trim().into())
                    .collect();
            }
            let words = declared.split(' ');
            let last = words.clone().position(|word| !word.ends_with(','));
            let names = words.take(last.unwrap_or_default() + 1);
            names
                .map(|name| name.trim_end_matches(',').into())
                .collect()
        };
        let mut declared = self.code.split("local ").skip(1).flat_map(names);
        declared.any(|name| name == word)
    }
}

/// By the text that is sent.
fn parts() -> BTreeMap<String, Part> {
    let sources = short::sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind"));
    let names = short::Names::of(&sources);
    let part = |(path, source): (PathBuf, String)| {
        let code = (source.lines().map(str::trim_start))
            .filter(|line| !line.is_empty() && !line.starts_with("--"))
            .fold(String::new(), |text, line| text + line + " ");
        let (file, sent) = (path.display().to_string(), names.shorten(&source));
        (sent, Part { file, source, code })
    };
    sources.into_iter().map(part).collect()
}

#[test]
fn a_script_is_sent_in_one_line_with_short_names() {
    let source = "-- head\n\nlocal function take(name)\n  -- why\n  \
        return name .. 'name : ' .. 1 .. redis.call('GET', name).name - -1\nend\n";
    let sources = [(PathBuf::new(), source.to_owned())];
    let sent = "local function b(a)return a..'name : '..1 ..redis.call('GET',a).name- -1 end ";
    assert_eq!(short::Names::of(&sources).shorten(source), sent);
}

#[test]
fn names_that_mean_something_to_lua_are_given_to_nothing() {
    let words: Vec<String> = (0..3_000).map(|number| format!("word{number}")).collect();
    let source = format!("local {} = x, y", words.join(", "));
    let names = short::Names::of(&[(PathBuf::new(), source.clone())]);
    let sent = names.shorten(&source);
    let (declared, _) = sent["local ".len()..].split_once('=').unwrap();
    let given: BTreeSet<&str> = declared.split(',').collect();
    assert_eq!(given.len(), words.len());
    for taken in ["do", "if", "in", "or", "x", "y", "end", "for"] {
        assert!(!given.contains(taken), "{taken}");
    }
}

#[test]
fn every_row_is_in_the_list() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind");
    let files = fs::read_dir(folder).expect("a folder");
    let sources = files.filter_map(|file| fs::read_to_string(file.expect("an entry").path()).ok());
    let is_row = |line: &&str| line.starts_with("pub(super) static ");
    let rows = sources.map(|source| source.lines().filter(is_row).count());
    assert_eq!(rows.sum::<usize>(), KINDS.len());
}

#[test]
fn every_part_finds_what_it_needs_before_it() {
    let parts = parts();
    for (name, script) in scripts() {
        let mut provided = BTreeSet::new();
        for text in script.parts() {
            let part = &parts[*text];
            let missing: Vec<_> = part
                .header("needs")
                .difference(&provided)
                .cloned()
                .collect();
            assert!(
                missing.is_empty(),
                "{} of {name} misses {missing:?}",
                part.file
            );
            provided.append(&mut part.header("provides"));
        }
    }
}

#[test]
fn every_part_says_what_it_provides_and_needs() {
    let parts = parts();
    let provided: BTreeSet<String> = (parts.values())
        .flat_map(|part| part.header("provides"))
        .collect();
    for part in parts.values() {
        for word in part.header("provides") {
            assert!(
                part.declares(&word),
                "{} does not provide {word}",
                part.file
            );
        }
        let words = part.words();
        let used: BTreeSet<String> = (provided.iter())
            .filter(|word| words.contains(word.as_str()) && !part.declares(word))
            .cloned()
            .collect();
        assert_eq!(part.header("needs"), used, "what {} needs", part.file);
    }
}

#[test]
fn receipts_are_there_for_as_long_as_the_client_counts_on_them() {
    let life = format!("local RECEIPT_MS = {}\n", RECEIPT_LIFE.as_millis());
    for source in [
        include_str!("shared/receipt.lua"),
        include_str!("shared/force_release.lua"),
        include_str!("once/forget.lua"),
        include_str!("throttle/pass.lua"),
    ] {
        assert!(source.contains(&life), "{source}");
    }
    // What a release over several bridges leaves.
    let gone = "redis.call('SET', GONE, held, 'PX', 60000)";
    let withdraw = include_str!("quorum/withdraw.lua");
    assert!(withdraw.contains(gone) && RECEIPT_LIFE.as_millis() <= 60_000);
}

#[test]
fn every_script_is_plain_ascii_and_small() {
    for (name, script) in scripts() {
        let plain = script.text(false);
        assert!(
            plain.is_ascii() && !plain.contains("--") && plain.len() < 15_000,
            "{name}: {} bytes",
            plain.len()
        );
        // What JSON would escape.
        assert!(!plain.contains(['"', '\\', '\n']), "{name}");
        assert!(
            script
                .text(true)
                .starts_with("#!lua flags=allow-key-locking\n")
        );
        assert!(script.text(true).ends_with(plain));
    }
}
