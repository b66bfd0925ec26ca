//! The npm package as its users have it: packed, installed into a project, bundled, and run on each of its hosts.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use xtask::paths;
use xtask::stack::{workerd_config, workerd_modules};

use crate::npm_build;

/// What the tests are told of the bridge.
const VARIABLES: [&str; 2] = ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_TOKEN"];

/// What esbuild is told to make `index.js` in a folder of this name of a file in `test`.
const BUNDLES: [(&str, &str, &[&str]); 4] = [
    (
        "packed",
        "packed.ts",
        &["--platform=node", "--format=esm", "--packages=external"],
    ),
    (
        "esm",
        "node.ts",
        &["--platform=node", "--format=esm", "--packages=external"],
    ),
    (
        "cjs",
        "node.ts",
        &["--platform=node", "--format=cjs", "--packages=external"],
    ),
    (
        "workerd",
        "workerd.ts",
        &[
            "--format=esm",
            "--conditions=workerd",
            "--loader:.wasm=copy",
            "--asset-names=[name]",
        ],
    ),
];

/// A user's project. It lies in the repository, so that it finds the tools of `node_modules`.
fn project() -> PathBuf {
    paths::root().join("npm/build/project")
}

/// Packs the package, installs it into a fresh project, and builds the tests there.
pub(crate) fn prepare() -> Result<()> {
    let project = project();
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    fs::create_dir_all(&project)?;
    fs::write(
        project.join("package.json"),
        r#"{ "private": true, "type": "module" }"#,
    )?;
    let here = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&project);
        command
    };
    run(here("npm")
        .args(["pack", "--silent"])
        .arg(npm_build::package()))?;
    let install = [
        "install",
        "--silent",
        "--offline",
        "--no-audit",
        "--no-fund",
    ];
    run(here("npm").args(install).arg(tarball()?))?;

    let npm = paths::root().join("npm");
    for folder in ["test", "examples"] {
        copy(&npm.join(folder), &project.join(folder))?;
    }
    fs::copy(
        npm.join("tsconfig.json"),
        project.join("test/tsconfig.base.json"),
    )?;
    run(Command::new(paths::npm_bin("tsc"))
        .arg("--project")
        .arg(project.join("test")))?;
    for (name, entry, arguments) in BUNDLES {
        run(Command::new(paths::npm_bin("esbuild"))
            .current_dir(project.join("test"))
            .arg(entry)
            .args(["--bundle", "--target=es2022", "--log-level=warning"])
            .args(arguments)
            .arg(format!("--outfile={}", bundle(name).display())))?;
    }
    // As the project says that scripts are ES modules.
    fs::write(
        project.join("cjs/package.json"),
        r#"{ "type": "commonjs" }"#,
    )?;
    let workerd = project.join("workerd");
    let variables = VARIABLES.map(str::to_owned);
    let config = workerd_config("index.js", &workerd_modules(&workerd)?, &variables)?;
    fs::write(workerd.join("config.capnp"), config).map_err(Into::into)
}

/// What is run, under its name. All but the first need to be told of a bridge.
pub(crate) fn hosts() -> Result<Vec<(&'static str, Command)>> {
    let node = |name: &str| {
        let mut command = Command::new("node");
        command.arg(bundle(name)).current_dir(paths::root());
        command
    };
    let mut packed = node("packed");
    packed
        .arg(tarball()?)
        .arg(project().join("node_modules/edgelock"));
    let mut workerd = Command::new(paths::workerd());
    workerd
        .args(["test", "config.capnp"])
        .current_dir(project().join("workerd"));
    Ok(vec![
        ("npm: what is packed", packed),
        ("npm: in Node", node("esm")),
        ("npm: in Node, by require", node("cjs")),
        ("npm: in workerd", workerd),
    ])
}

fn bundle(name: &str) -> PathBuf {
    project().join(name).join("index.js")
}

fn tarball() -> Result<PathBuf> {
    let names = fs::read_dir(project())?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut tarballs = names.filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    tarballs
        .next()
        .context("npm packed nothing: run `cargo xtask build-npm`")
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::copy(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

fn run(command: &mut Command) -> Result<()> {
    let program = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    ensure!(status.success(), "{program} failed ({status})");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of the tests in a file, by what stands before and behind them.
    fn names(file: &str, before: &str, behind: char) -> Vec<String> {
        let text = fs::read_to_string(paths::root().join(file)).expect("a file");
        let names = text
            .lines()
            .filter_map(|line| line.strip_prefix(before)?.split_once(behind));
        names.map(|(name, _)| name.to_owned()).collect()
    }

    #[test]
    fn the_contract_is_the_same_in_rust_and_in_typescript() {
        let rust = names("tests/it/contract.rs", "fn ", '(');
        let rust: Vec<_> = rust.into_iter().filter(|name| name.contains('_')).collect();
        assert!(rust.len() > 30);
        assert_eq!(rust, names("npm/test/contract.ts", "  async ", '('));
    }

    #[test]
    fn the_readme_shows_the_example_that_is_run() {
        let text = |path: &str| fs::read_to_string(paths::root().join(path)).expect("a file");
        let example = text("npm/examples/first_lock.ts");
        assert!(text("README.md").contains(&format!("```ts\n{example}```")));
    }
}
