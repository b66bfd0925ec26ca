//! The code of others: its licences let everybody use it, and its versions are those of the lock
//! files. What we publish is packed the same each time.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use spdx::{Expression, ParseMode};
use testkit::{component, paths};

/// Licences that ask for no more than their text beside the code: those of `deny.toml`, by which
/// cargo-deny goes too.
fn allowed() -> Vec<String> {
    let text = fs::read_to_string(paths::root().join("deny.toml")).expect("deny.toml");
    let (_, list) = text.split_once("\nallow = [\n").expect("licences");
    let (list, _) = list.split_once(']').expect("an end");
    let names = list.split('"').skip(1).step_by(2);
    names.map(str::to_owned).collect()
}

/// Licences of tools that run here but are in nothing that we publish: Vite's lightningcss,
/// miniflare's sharp, and typedoc's argparse.
const ALLOWED_OF_TOOLS: [&str; 3] = ["LGPL-3.0-or-later", "MPL-2.0", "Python-2.0"];

fn is_allowed(license: &str, allowed: &[String]) -> bool {
    let expression = Expression::parse_mode(license, ParseMode::LAX);
    expression.is_ok_and(|expression| {
        expression.evaluate(|needed| {
            let id = needed.license.id();
            id.is_some_and(|id| allowed.iter().any(|name| name == id.name))
        })
    })
}

/// The packages that `manifest` needs when it is built for `platform`.
fn crates(manifest: &str, platform: &str) -> Vec<Value> {
    let output = paths::cargo()
        .args(["metadata", "--format-version=1", "--locked"])
        .args(["--filter-platform", platform])
        .arg("--manifest-path")
        .arg(paths::root().join(manifest))
        .output()
        .expect("cargo metadata");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    metadata["packages"].as_array().expect("packages").clone()
}

#[test]
fn every_crate_has_a_licence_that_is_allowed_and_comes_from_the_registry() {
    let allowed = allowed();
    for (manifest, platform) in [
        ("Cargo.toml", "x86_64-unknown-linux-gnu"),
        ("Cargo.toml", "wasm32-unknown-unknown"),
        ("Cargo.toml", component::TARGET),
        ("xtask/tools/Cargo.toml", "x86_64-unknown-linux-gnu"),
    ] {
        let crates = crates(manifest, platform);
        assert!(crates.len() > 20, "{}", crates.len());
        for package in crates {
            let Some(source) = package["source"].as_str() else {
                let path = package["manifest_path"].as_str().expect("a path");
                assert!(Path::new(path).starts_with(paths::root()), "{path}");
                continue;
            };
            let (name, license) = (&package["name"], package["license"].as_str());
            assert!(source.starts_with("registry+https://"), "{name}: {source}");
            let license = license.unwrap_or("none");
            assert!(is_allowed(license, &allowed), "{name} has {license}");
        }
    }
}

#[test]
fn every_npm_package_has_a_licence_that_is_allowed_and_the_hash_of_what_it_holds() {
    let mut all = allowed();
    all.extend(ALLOWED_OF_TOOLS.map(str::to_owned));
    let text = fs::read_to_string(paths::root().join("package-lock.json")).expect("a lock file");
    let lock: Value = serde_json::from_str(&text).expect("JSON");
    let packages = lock["packages"].as_object().expect("packages");
    let others = packages.iter().filter(|(place, package)| {
        place.contains("node_modules/") && package["link"].as_bool() != Some(true)
    });
    let mut count = 0;
    for (place, package) in others {
        count += 1;
        let license = package["license"].as_str().unwrap_or("none");
        assert!(is_allowed(license, &all), "{place} has {license}");
        let hash = package["integrity"].as_str().unwrap_or("none");
        assert!(hash.starts_with("sha512-"), "{place} has {hash}");
    }
    assert!(count > 100, "{count}");
}

/// So its users get no code of others with it.
#[test]
fn the_npm_package_depends_on_nothing_when_it_runs() {
    let text = fs::read_to_string(paths::root().join("npm/package.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    for kind in ["dependencies", "optionalDependencies", "bundleDependencies", "scripts"] {
        assert!(manifest[kind].is_null(), "{kind}");
    }
}

/// wasm-bindgen copies what the package.json beside a crate's manifest depends on into the wasm of
/// everybody who uses the crate, as far as the crate has JavaScript. worker-build refuses that.
#[test]
fn nobody_who_builds_wasm_with_the_crate_gets_npm_packages() {
    let text = fs::read_to_string(paths::root().join("package.json")).expect("a manifest");
    let manifest: Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(manifest.get("dependencies"), None);
}

/// The compiler enforces the lint in each crate, and `forbid` cannot be lifted in a file.
#[test]
fn no_crate_of_ours_may_be_unsafe() {
    let read = |path: &Path| fs::read_to_string(path).expect("a file");
    let root = read(&paths::root().join("Cargo.toml"));
    let (_, lints) = root.split_once("[workspace.lints.rust]\n").expect("lints");
    assert!(lints.starts_with("unsafe_code = \"forbid\"\n"));
    let ours: Vec<_> = crates("Cargo.toml", "x86_64-unknown-linux-gnu")
        .into_iter()
        .filter(|package| package["source"].is_null())
        .collect();
    assert!(ours.len() > 6, "{}", ours.len());
    for package in ours {
        let manifest = package["manifest_path"].as_str().expect("a path");
        let text = read(Path::new(manifest));
        assert!(text.contains("[lints]\nworkspace = true\n"), "{manifest}");
    }
    // The tools are a workspace of their own, which our lints do not reach.
    for tool in fs::read_dir(paths::root().join("xtask/tools/src/bin")).expect("tools") {
        let path = tool.expect("a tool").path();
        assert!(!read(&path).contains("unsafe"), "{}", path.display());
    }
}

/// Two packages are equal byte by byte: nothing of the machine, the user or the time is in them.
#[test]
fn the_crate_is_packed_the_same_each_time() {
    let folder = paths::target().join("tmp/packed");
    let packed = ["one", "two"].map(|name| {
        let target = folder.join(name);
        let output = Command::new(env!("CARGO"))
            // The one needs the other, which a registry may not have yet.
            .args(["package", "--package", "edgelock"])
            .args(["--package", "edgelock-table", "--no-verify"])
            .args(["--allow-dirty", "--offline", "--locked", "--target-dir"])
            .arg(&target)
            .current_dir(paths::root())
            .output()
            .expect("cargo package");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{told}");
        fs::read(target.join("package/edgelock-0.1.0.crate")).expect("a crate")
    });
    assert!(packed[0].len() > 100_000 && packed[0] == packed[1]);
}

/// No picture, no other package's README, nothing that was built.
#[test]
fn the_crate_holds_its_sources_and_its_pages() {
    let output = paths::cargo()
        .args(["package", "--package", "edgelock", "--list"])
        .args(["--allow-dirty", "--offline", "--locked"])
        .current_dir(paths::root())
        .output()
        .expect("cargo package");
    let listed = String::from_utf8(output.stdout).expect("text");
    let is_expected = |file: &&str| match file.rsplit_once('/') {
        Some(("docs", page)) => page.ends_with(".md"),
        Some((folder, _)) => folder == "src" || folder.starts_with("src/"),
        None => true,
    };
    let strange: Vec<_> = listed.lines().filter(|file| !is_expected(file)).collect();
    assert!(listed.contains("docs/protocol.md") && strange.is_empty(), "{strange:?}");
}

/// Whoever publishes puts it in place of `OWNER`. The npm package takes it from there
/// (`npm/test/packed.ts`), and registries resolve the links of both READMEs by it.
#[test]
fn the_address_of_the_repository_has_one_place() {
    let read = |name| fs::read_to_string(paths::root().join(name)).expect(name);
    let (root, npm) = (read("Cargo.toml"), read("npm/package.json"));
    let places: Vec<_> = root.lines().filter(|line| line.starts_with("repository")).collect();
    let [address, "repository.workspace = true"] = places.as_slice() else {
        panic!("{places:?}");
    };
    assert!(address.starts_with("repository = \"https://"), "{address}");
    assert!(!npm.contains("\"repository\""));
}

#[test]
fn a_licence_that_asks_for_more_is_refused() {
    let allowed = allowed();
    for license in
        ["MIT", "MIT/Apache-2.0", "GPL-3.0 OR MIT", "(MIT OR Apache-2.0) AND Unicode-3.0"]
    {
        assert!(is_allowed(license, &allowed), "{license}");
    }
    for license in ["none", "", "GPL-3.0", "MIT AND AGPL-3.0", "MPL-2.0", "Proprietary"] {
        assert!(!is_allowed(license, &allowed), "{license}");
    }
}
