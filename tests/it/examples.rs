//! The examples run, and the pages show them.

use std::fs;
use std::process::Command;

use testkit::paths;

use crate::support::Stack;

#[test]
fn a_first_lock_sells_what_there_is_and_no_more() {
    // Builds for the whole workspace: for this package alone, cargo would build its dependencies
    // again with other features.
    let built = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--workspace", "--example", "first_lock"])
        .current_dir(paths::root())
        .status();
    assert!(built.expect("cargo").success());
    let stack = Stack::spawn();
    let mut printed = Vec::new();
    for _ in 0..6 {
        let output = Command::new(paths::target().join("debug/examples/first_lock"))
            .env("EDGELOCK_BRIDGE_URL", stack.bridge.url())
            .env("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token())
            .output()
            .expect("the example");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        printed.push(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    assert!(printed[0].starts_with("sold one, 4 left"), "{printed:?}");
    assert!(printed[4].starts_with("sold one, 0 left"), "{printed:?}");
    assert_eq!(printed[5], "sold out\n");

    let unset = Command::new(paths::target().join("debug/examples/first_lock"))
        .env_remove("EDGELOCK_BRIDGE_URL")
        .output()
        .expect("the example");
    let said = String::from_utf8_lossy(&unset.stderr);
    assert!(said.contains("is its variable set?\nCorrect"), "{said}");
}

/// `components` runs that of WASI. `cargo xtask hosts` compiles the others.
#[test]
fn the_pages_of_hosts_show_the_examples_in_rust() {
    let text = |path: &str| fs::read_to_string(paths::root().join(path)).expect(path);
    for (page, example) in [
        ("lambda-rust", "lambda/src/main.rs"),
        ("vercel-rust", "vercel/api/ship.rs"),
        ("spin", "spin/src/lib.rs"),
        ("wasi", "component/src/main.rs"),
        ("fastly", "fastly/src/main.rs"),
    ] {
        let shown = format!("```rust,ignore\n{}```", text(&format!("examples/{example}")));
        assert!(text(&format!("docs/hosts/{page}.md")).contains(&shown), "{page}");
    }
}

/// That Worker is compiled and run, as the quick starts of the pages are.
#[test]
fn the_module_for_the_edge_shows_lines_of_the_guides_worker() {
    let text = |path: &str| fs::read_to_string(paths::root().join(path)).expect(path);
    let page = text("src/web.rs");
    let shown = page.split("//! ```").nth(1).expect("an example");
    let lines = shown.lines().skip(1);
    let shown: Vec<_> = lines.map(|line| line.trim_start_matches("//!").trim()).collect();
    let example = text("docs/guide.md");
    let lines: Vec<_> = example.lines().map(str::trim).collect();
    assert!(shown.len() > 9 && lines.windows(shown.len()).any(|part| part == shown));
}
