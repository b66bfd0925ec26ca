use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::parts::Part;
use super::*;
use crate::script::RECEIPT_LIFE;

/// One line for each kind.
static KINDS: [(&str, &Row); 11] = [
    ("limits", &rows::LIMITS),
    ("multi", &rows::MULTI),
    ("mutex", &rows::MUTEX),
    ("once", &rows::ONCE),
    ("quorum", &rows::QUORUM),
    ("reader", &rows::READER),
    ("reentrant", &rows::REENTRANT),
    ("reservations", &rows::RESERVATIONS),
    ("semaphore", &rows::SEMAPHORE),
    ("take over", &rows::TAKING_OVER),
    ("writer", &rows::WRITER),
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
        let others = [&row.raise, &row.downgrade].into_iter().flatten();
        let others = others.chain(row.turns.iter().flatten());
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

/// A part, and its code.
struct Code {
    part: Part,
    code: String,
}

impl Code {
    fn head(&self, word: &str) -> BTreeSet<String> {
        self.part.head(word).into_iter().map(str::to_owned).collect()
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
                return head.split(['(', ',']).map(|name| name.trim().into()).collect();
            }
            let words = declared.split(' ');
            let last = words.clone().position(|word| !word.ends_with(','));
            let names = words.take(last.unwrap_or_default() + 1);
            names.map(|name| name.trim_end_matches(',').into()).collect()
        };
        let mut declared = self.code.split("local ").skip(1).flat_map(names);
        declared.any(|name| name == word)
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/kind")
}

/// By the text that is sent.
fn codes() -> BTreeMap<String, Code> {
    let names = parts::Names::of(&parts::sources(&folder()));
    let code = |part: Part| {
        let code = (part.source.lines().map(str::trim_start))
            .filter(|line| !line.is_empty() && !line.starts_with("--"))
            .fold(String::new(), |text, line| text + line + " ");
        (names.shorten(&part.source), Code { part, code })
    };
    parts::parts(&folder()).into_iter().map(code).collect()
}

#[test]
fn a_script_is_sent_in_one_line_with_short_names() {
    let source = "-- head\n\nlocal function take(name)\n  -- why\n  \
        return name .. 'name : ' .. 1 .. redis.call('GET', name).name - -1\nend\n";
    let sources = [(PathBuf::new(), source.to_owned())];
    let sent = "local function b(a)return a..'name : '..1 ..redis.call('GET',a).name- -1 end ";
    assert_eq!(parts::Names::of(&sources).shorten(source), sent);
}

#[test]
fn names_that_mean_something_to_lua_are_given_to_nothing() {
    let words: Vec<String> = (0..3_000).map(|number| format!("word{number}")).collect();
    let source = format!("local {} = x, y", words.join(", "));
    let names = parts::Names::of(&[(PathBuf::new(), source.clone())]);
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
    let files = fs::read_dir(folder()).expect("a folder");
    let sources = files.filter_map(|file| fs::read_to_string(file.expect("an entry").path()).ok());
    let is_row = |line: &&str| line.starts_with("pub(super) static ");
    let rows = sources.map(|source| source.lines().filter(is_row).count());
    assert_eq!(rows.sum::<usize>(), KINDS.len());
}

#[test]
fn every_part_says_what_it_provides_and_needs() {
    let codes = codes();
    let provided: BTreeSet<String> =
        codes.values().flat_map(|code| code.head("provides")).collect();
    for code in codes.values() {
        let part = &code.part.name;
        for word in code.head("provides") {
            assert!(code.declares(&word), "{part} does not provide {word}");
        }
        assert!(code.head("wraps").is_subset(&code.head("provides")), "{part}");
        let words = code.words();
        let used: BTreeSet<String> = (provided.iter())
            .filter(|word| words.contains(word.as_str()) && !code.declares(word))
            .cloned()
            .collect();
        assert_eq!(code.head("needs"), used, "what {part} needs");
    }
}

#[test]
fn receipts_are_there_for_as_long_as_the_client_counts_on_them() {
    let life = format!("local RECEIPT_MS = {}\n", RECEIPT_LIFE.as_millis());
    let parts = parts::parts(&folder());
    let source = |file: &str, name: &str| {
        let part = parts.iter().find(|part| part.file == file && part.name == name);
        &part.expect("a part").source
    };
    for (file, name) in [
        ("operations", "receipt"),
        ("operations", "force_release"),
        ("once", "forget"),
        ("throttle", "pass"),
    ] {
        assert!(source(file, name).contains(&life), "{name}");
    }
    // What a release over several bridges leaves.
    let gone = "redis.call('SET', GONE, held, 'PX', 60000)";
    let withdraw = source("quorum", "withdraw");
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
        assert!(script.text(true).starts_with("#!lua flags=allow-key-locking\n"));
        assert!(script.text(true).ends_with(plain));
    }
}
