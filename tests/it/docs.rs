//! What the docs say of the tests.

use std::fs;

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
