//! What the docs say of the tests.

use std::fs;
use std::path::PathBuf;

use xtask::paths;

fn text(path: &str) -> String {
    let path = paths::root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The tests that a page names: `[…](../file)`, and behind it the names in backticks, to the end of the cell.
fn tests_named_in(page: &str) -> Vec<(String, String)> {
    let mut named = Vec::new();
    for link in text(page).split("](../").skip(1) {
        let (file, behind) = link.split_once(')').expect("a link ends");
        let cell = behind.split(['|', '\n']).next().unwrap_or_default();
        let quoted = cell.split('`').skip(1).step_by(2);
        named.extend(quoted.map(|name| (file.to_owned(), name.to_owned())));
    }
    named
}

#[test]
fn every_test_that_the_comparison_names_exists() {
    let named = tests_named_in("docs/compare.md");
    assert!(named.len() > 30, "{}", named.len());
    for (file, name) in named {
        let text = text(&file);
        let is_there = [format!("fn {name}("), format!("  async {name}(")]
            .iter()
            .any(|start| text.contains(start));
        assert!(is_there, "{file} has no {name}");
    }
}

fn pages() -> Vec<PathBuf> {
    let folders = ["", "docs", "bridge", "npm", "worker"].map(PathBuf::from);
    let names = folders.iter().flat_map(|folder| {
        let entries = fs::read_dir(paths::root().join(folder)).expect("a folder");
        entries.map(|entry| folder.join(entry.expect("an entry").file_name()))
    });
    names
        .filter(|name| name.extension().is_some_and(|end| end == "md"))
        .collect()
}

/// The text without code, in which brackets are no links.
fn prose(page: &str) -> String {
    let blocks = page.split("\n```").step_by(2);
    blocks.collect::<Vec<_>>().join("\n")
}

/// What headings are called in addresses, as GitHub makes it.
fn anchors(page: &str) -> Vec<String> {
    let headings = page.lines().filter(|line| line.starts_with('#'));
    let anchor = |heading: &str| {
        let text = heading.trim_start_matches('#').trim().to_lowercase();
        let kept = text
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
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
            let file = if file.is_empty() {
                page.clone()
            } else {
                folder.join(file)
            };
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
    let errors = text("npm/ts/errors.ts");
    let (_, codes) = errors.split_once("export type ErrorCode =").expect("codes");
    let (codes, _) = codes.split_once(';').expect("an end");
    let codes: Vec<_> = codes.split('"').skip(1).step_by(2).collect();
    assert!(codes.len() > 20, "{codes:?}");
    for code in codes {
        assert!(page.contains(&format!("\n| `{code}` |")), "{code}");
    }
}
