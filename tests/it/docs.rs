//! What the docs say of the tests, and how prose is laid out.

use std::fs;
use std::path::{Path, PathBuf};

use testkit::paths;

fn text(path: &str) -> String {
    let path = paths::root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tests that a page names: their names in backticks, as links to the files that they are in.
fn tests_named_in(page: &str) -> Vec<(String, String)> {
    let links = page.split("[`").skip(1);
    let named = links.filter_map(|link| {
        let (name, behind) = link.split_once("`](../")?;
        let (file, _) = behind.split_once(')')?;
        Some((file.to_owned(), name.to_owned()))
    });
    named.collect()
}

#[test]
fn every_test_that_a_page_names_exists() {
    let pages = ["docs/switching.md", "tests/bugs_of_others.md"].map(text);
    let named = tests_named_in(&pages.concat());
    assert!(named.len() > 170, "{}", named.len());
    for (file, name) in named {
        let text = text(&file);
        // How a test begins in Rust, in TypeScript, and in the simulation's tables of broken
        // scripts.
        let starts = ["fn {}(", "  async {}(", "    {}:"].map(|start| start.replace("{}", &name));
        let is_there = starts.iter().any(|start| text.contains(start.as_str()));
        assert!(is_there, "{file} has no {name}");
    }
}

#[test]
fn every_bug_that_others_had_has_its_source_and_a_test_that_exists() {
    let page = text("tests/bugs_of_others.md");
    let (_, bugs) = page.split_once("\n## Bugs that other locks had\n").expect("the bugs");
    let is_bug = |line: &&str| {
        let is_head = line.starts_with("| what ") || line.starts_with("| ---");
        line.starts_with("| ") && !is_head
    };
    let bugs: Vec<_> = bugs.lines().filter(is_bug).collect();
    assert!(bugs.len() > 95, "{}", bugs.len());
    for bug in bugs {
        let cells: Vec<_> = bug.split(" | ").collect();
        let [what, seen, shown] = cells.as_slice() else { panic!("three cells: {bug}") };
        assert!(seen.contains("](https://github.com/"), "{what}");
        assert!(!tests_named_in(shown).is_empty(), "{what}");
    }
}

#[test]
fn the_versions_that_the_docs_name_are_those_that_the_set_up_installs() {
    let sources = [
        "package.json",
        "xtask/hosts/package.json",
        "xtask/frameworks/next/package.json",
        "xtask/frameworks/sveltekit/package.json",
        "xtask/frameworks/react-router/package.json",
        "xtask/frameworks/astro/package.json",
        "xtask/frameworks/vitest/package.json",
        "examples/fastly/Cargo.toml",
        "examples/lambda/Cargo.toml",
        "examples/spin/Cargo.toml",
        "examples/vercel/Cargo.toml",
        "bridge/tests/clients/requirements.txt",
        "xtask/src/setup.rs",
    ]
    .map(text)
    .concat();
    let page = text("docs/proof.md");
    let (_, page) = page.split_once("\n## What it was run on\n").expect("the versions");
    let rows = page.lines().filter(|line| line.starts_with("| "));
    // The other versions are those of Debian's packages and of this machine.
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let of_debian = ["6.2", "7.0.15", "8.2", "0.1.9", "9.1"];
    let versions = rows
        .flat_map(|row| row.split([' ', ',', '(', ')']))
        .filter(is_version)
        .filter(|version| !of_debian.contains(version));
    let versions: Vec<_> = versions.collect();
    assert!(versions.len() > 9, "{versions:?}");
    for version in versions {
        assert!(sources.contains(version), "{version} is installed nowhere");
    }
}

fn pages() -> Vec<PathBuf> {
    let folders =
        ["", "docs", "docs/hosts", "bridge", "npm", "worker", "lottery", "lock-service", "tests"]
            .map(PathBuf::from);
    let names = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(paths::root().join(folder)).expect("a folder");
        entries.map(|entry| folder.join(entry.expect("an entry").file_name()))
    });
    names.filter(|name| name.extension().is_some_and(|end| end == "md")).collect()
}

#[test]
fn each_host_has_a_page_from_set_up_to_deploy_in_60_lines() {
    let index = text("docs/hosts/README.md");
    let hosts = pages().into_iter().filter(|page| page.starts_with("docs/hosts"));
    let hosts: Vec<_> = hosts.filter(|page| !page.ends_with("README.md")).collect();
    assert!(hosts.len() > 14, "{}", hosts.len());
    for host in hosts {
        let name = host.display().to_string();
        let page = text(&name);
        assert!(page.lines().count() <= 60, "{name}");
        let mut headings = page.lines().filter_map(|line| line.strip_prefix("## "));
        for heading in ["Set up", "First lock", "Run", "Deploy"] {
            assert!(headings.any(|other| other == heading), "{name}: {heading}");
        }
        let link = format!("]({})", name.trim_start_matches("docs/hosts/"));
        assert!(index.contains(&link), "{name}");
    }
}

/// The text without its code, in which brackets are no links.
fn prose(page: &str) -> String {
    let blocks = page.split("\n```").step_by(2);
    blocks.collect::<Vec<_>>().join("\n")
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    };
    headings.map(anchor).collect()
}

#[test]
fn no_page_has_a_dead_link() {
    let mut links = 0;
    for page in pages() {
        let folder = page.parent().expect("a folder");
        let text = prose(&text(&page.display().to_string()));
        for link in text.split("](").skip(1) {
            let (target, _) = link.split_once(')').expect("a link ends");
            if target.contains("://") {
                continue;
            }
            links += 1;
            let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { page.clone() } else { folder.join(file) };
            let there = paths::root().join(&file);
            assert!(there.exists(), "{}: {target}", page.display());
            if !anchor.is_empty() {
                let there = fs::read_to_string(&there).expect("a page");
                let is_there = anchors(&prose(&there)).iter().any(|known| known == anchor);
                assert!(is_there, "{}: {target}", page.display());
            }
        }
    }
    assert!(links > 100, "{links}");
}

#[test]
fn each_code_of_an_error_has_its_line_in_troubleshooting() {
    let page = text("docs/troubleshooting.md");
    let failure = text("npm/ts/failure.ts");
    let (_, codes) = failure.split_once("export type ErrorCode =").expect("codes");
    let (codes, _) = codes.split_once(';').expect("an end");
    let codes: Vec<_> = codes.split('"').skip(1).step_by(2).collect();
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        assert!(page.contains(&format!("\n| `{code}` |")), "{code}");
    }
}

/// A reader sees what is compiled. Only a function around it may be hidden.
#[test]
fn no_example_of_the_crate_hides_more_than_its_wrapper() {
    let mut all = Vec::new();
    files(&paths::root().join("src"), &mut all);
    let mut examples = 0;
    for path in all.iter().filter(|path| path.extension().is_some_and(|end| end == "rs")) {
        let text = text(&path.display().to_string());
        let docs = text.lines().map(str::trim_start).filter(|line| line.starts_with("//"));
        let docs: Vec<_> = docs.map(|line| line.trim_start_matches(['/', '!', ' '])).collect();
        for example in docs.join("\n").split("\n```").skip(1).step_by(2) {
            examples += 1;
            let hidden = example.lines().filter(|line| line.starts_with("# ")).count();
            assert!(hidden < 4, "{}: {example}", path.display());
        }
    }
    assert!(examples > 20, "{examples}");
}

const COLUMNS: usize = 100;

/// Folders and files that are not written by hand.
const MADE: [&str; 6] = ["target", "node_modules", "build", "dist", "corpus", "package"];

/// Adds all files below `folder` that are written by hand.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        match path.is_dir() {
            true if name.starts_with('.') || MADE.contains(&name.as_ref()) => {}
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// How a line of comment begins in such a file; an empty list if all of it is prose.
fn comment_marks(path: &Path) -> Option<&'static [&'static str]> {
    match path.extension()?.to_str()? {
        "rs" => Some(&["//"]),
        "ts" | "js" | "mjs" => Some(&["//", "/*", "*"]),
        "lua" => Some(&["--"]),
        "toml" => Some(&["#"]),
        "md" => Some(&[""]),
        _ => None,
    }
}

/// Looks at every line of prose, but not at tables, badges and fenced code.
#[test]
fn no_line_of_prose_is_longer_than_100_columns() {
    let mut all = Vec::new();
    files(paths::root(), &mut all);
    let (mut lines, mut long) = (0, Vec::new());
    for path in all {
        let Some(marks) = comment_marks(&path) else {
            continue;
        };
        let mut is_code = false;
        for (at, line) in text(&path.display().to_string()).lines().enumerate() {
            let line = line.trim_end();
            let Some(mark) = marks.iter().find(|mark| line.trim_start().starts_with(**mark)) else {
                is_code = false;
                continue;
            };
            let prose =
                line.trim_start().trim_start_matches(mark).trim_start_matches(['/', '!', ' ']);
            is_code ^= prose.starts_with("```");
            lines += 1;
            let is_prose = !is_code && !prose.starts_with(['|', '[']);
            if is_prose && line.chars().count() > COLUMNS {
                long.push(format!("{}:{}", path.display(), at + 1));
            }
        }
    }
    assert!(lines > 10_000, "{lines}");
    assert!(long.is_empty(), "{long:#?}");
}
