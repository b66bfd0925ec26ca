//! The rules of ARCHITECTURE.md that a reader of the sources can check.

mod circles;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use edgelock::{Error, GroupCommit, Lease, Lock};
use testkit::paths;

use crate::support::turns::Nothing;
use crate::support::{Http, TestClient, Tokio};

/// Those of the client, and of its side for the npm package, whose paths start with `npm`.
fn sources() -> Vec<(String, String)> {
    let npm = sources_of("npm/host").into_iter().map(|(name, text)| (format!("npm/{name}"), text));
    sources_of("src").into_iter().chain(npm).collect()
}

/// The files below a folder of ours, by their paths there, and their texts.
fn sources_of(folder: &str) -> Vec<(String, String)> {
    fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() { walk(&path, files) } else { files.push(path) }
        }
    }
    let root = paths::root().join(folder);
    let mut files = Vec::new();
    walk(&root, &mut files);
    let read = |path: &PathBuf| {
        let name = path.strip_prefix(&root).expect("in src").display();
        (name.to_string(), fs::read_to_string(path).expect("text"))
    };
    files.iter().map(read).collect()
}

/// Checks that only files whose path starts with one of `rooms`, which stand between blanks, have
/// one of `words` in their code.
#[track_caller]
fn only(rooms: &str, words: &[&str]) {
    let mut found = 0;
    for (name, text) in sources() {
        let is_code = |line: &&str| !line.trim_start().starts_with("//");
        for line in text.lines().filter(is_code) {
            let Some(word) = words.iter().find(|word| line.contains(**word)) else {
                continue;
            };
            let may = rooms.split(' ').any(|room| name.starts_with(room));
            assert!(may, "{name} has {word}: {line}");
            found += 1;
        }
    }
    assert!(found > 0, "nobody has any of {words:?}: the rule is out of date");
}

#[test]
fn only_web_knows_javascript() {
    let words = ["js_sys", "web_sys", "wasm_bindgen"];
    only("web npm", &words);
}

#[test]
fn only_runtimes_have_time_timers_and_randomness() {
    let runtimes = "web wasi.rs native.rs";
    only(runtimes, &["getRandomValues", "setTimeout", "performance"]);
    only(runtimes, &["getrandom", "Instant::now", "SystemTime"]);
}

#[test]
fn only_script_knows_redis() {
    let rooms = "script.rs script/ kind.rs kind/";
    only(rooms, &["redis.call", "\"EXISTS\"", "PEXPIRE"]);
    only(rooms, &["WRONGTYPE", "NOSCRIPT)", "NOPERM", "WRONGPASS"]);
    only(rooms, &["unknown command"]);
    // A bridge says so of itself.
    only("script bridge", &["NOAUTH"]);
}

#[test]
fn only_bridge_knows_json_and_http() {
    // `once` reads and writes what its caller keeps.
    only("bridge once npm", &["json::", "serde"]);
    only("bridge", &["Bearer", "401", "404"]);
    only("bridge", &["body must be", "wants a password"]);
    // In the npm package.
    only("npm/json", &["JSON.parse", "stringify"]);
}

/// What is known of a refusal is set where it is made.
#[test]
fn errors_take_no_messages_apart() {
    for (name, text) in sources() {
        for word in ["contains(", "starts_with(", "ends_with(", "strip_", "find("] {
            let is_code = |line: &&str| !line.trim_start().starts_with("//");
            let mut code = text.lines().filter(is_code);
            let is_there = name.starts_with("error") && code.any(|line| line.contains(word));
            assert!(!is_there, "{name} has {word}");
        }
    }
}

#[test]
fn only_the_driver_sends_and_only_slots_send_again() {
    let transports = "drive.rs transport.rs web npm wasi.rs native.rs testing";
    only(transports, &[".transport.send(", "fn send(request"]);
    only(transports, &["fn send(&self, request"]);
    let sends = "drive.rs operation.rs operation/slot.rs npm/steps.rs";
    only(sends, &["cx.send(", "Wish::Send"]);
    // A call that is asked again with another token is not a repeat.
    let again = "operation/slot.rs operation/backoff.rs operation/schedule operation/acquire";
    only(again, &["Backoff"]);
}

#[test]
fn operations_have_no_clock_and_no_futures() {
    for (name, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        if name.starts_with("operation") {
            for word in ["async ", ".await", "Future", "Waker", ".now()", "spawn"] {
                assert!(!code.contains(word), "{name} has {word}");
            }
        }
    }
}

#[test]
fn every_struct_variant_of_an_error_or_an_event_may_grow() {
    let mut found = 0;
    for (name, text) in sources() {
        if !["error.rs", "event.rs"].contains(&name.as_str()) {
            continue;
        }
        let lines: Vec<_> = text.lines().collect();
        for pair in lines.windows(2) {
            let is_variant = pair[1].ends_with(" {")
                && pair[1].starts_with("    ")
                && pair[1][4..].starts_with(|first: char| first.is_uppercase());
            if is_variant {
                assert_eq!(pair[0].trim(), "#[non_exhaustive]", "{name}:{}", pair[1]);
                found += 1;
            }
        }
    }
    assert!(found > 25, "{found}");
}

#[test]
fn files_are_short() {
    for (name, text) in sources() {
        let code = text.split("#[cfg(test)]").next().unwrap_or_default();
        let count = code.lines().count();
        assert!(count <= 400, "{name} has {count} lines");
    }
}

#[test]
fn a_native_user_gets_neither_wasm_bindgen_nor_worker() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--package", "edgelock", "--prefix", "none"])
        .args(["--edges", "normal,build", "--offline", "--locked"])
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .current_dir(paths::root())
        .output()
        .expect("cargo tree");
    let tree =
        String::from_utf8_lossy(&tree.stdout).into_owned() + &String::from_utf8_lossy(&tree.stderr);
    assert!(tree.contains("thiserror"), "{tree}");
    for name in ["wasm-bindgen", "js-sys", "web-sys", "worker"] {
        let is_it = |line: &str| line.split(' ').next() == Some(name);
        assert!(!tree.lines().any(is_it), "{name} in\n{tree}");
    }
}

#[test]
fn the_package_has_sources_docs_and_licences_and_nothing_else() {
    let listed = Command::new(env!("CARGO"))
        .args(["package", "--list", "--package", "edgelock"])
        .args(["--allow-dirty", "--offline", "--locked"])
        .current_dir(paths::root())
        .output()
        .expect("cargo package");
    let listed = String::from_utf8(listed.stdout).expect("paths");
    assert!(listed.contains("src/lib.rs"), "{listed}");
    let may_be_there = |path: &str| match path.split_once('/') {
        Some((folder, _)) => ["src", "docs"].contains(&folder),
        None => ["build.rs", "Cargo", ".cargo", "LICENSE", "README"]
            .iter()
            .any(|start| path.starts_with(start)),
    };
    let others: Vec<_> = listed.lines().filter(|path| !may_be_there(path)).collect();
    assert!(others.is_empty(), "{others:?}");
}

#[test]
fn a_native_user_may_use_threads() {
    fn is_send<S: Send>(_: &S) {}
    fn is_sync<S: Send + Sync>() {}
    is_sync::<TestClient>();
    is_sync::<Lock<Http, Tokio>>();
    is_sync::<Lease<Http, Tokio>>();
    is_sync::<Error>();
    fn futures_too(lock: &Lock<Http, Tokio>, lease: &Lease<Http, Tokio>) {
        is_send(&lock.acquire());
        is_send(&lock.run(async |lease| lease.renew().await));
        is_send(&lock.acquire_as(&edgelock::Acquisition::new(), Vec::new));
        is_send(&lock.inspect());
        is_send(&lease.renew());
        is_send(&lease.commit(&[]));
        is_send(&lease.release());
    }
    fn work_too(once: &edgelock::Once<Http, Tokio>) {
        is_send(&once.run(async |lease| lease.renew().await.map(|()| 7)));
    }
    fn paced_too(throttle: &edgelock::native::Throttle, debounce: &edgelock::native::Debounce) {
        is_send(&throttle.try_pass());
        is_send(&debounce.run(async || Ok::<_, Error>(7)));
    }
    let _ = (work_too, paced_too);
    is_sync::<edgelock::native::Throttle>();
    is_sync::<edgelock::native::Debounce>();
    is_sync::<edgelock::Once<Http, Tokio>>();
    let _ = futures_too;
    is_sync::<GroupCommit<Nothing>>();
    fn shared_too(group: &GroupCommit<Nothing>, lock: &Lock<Http, Tokio>) {
        is_send(&group.submit(lock, ()));
    }
    let _ = shared_too;
}
