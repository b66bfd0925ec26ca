//! npm's packages: those of package.json, and what a Worker is built with, apart from them.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::paths;

use super::needs::Needs;
use super::shell::{is_stamped, run_or_say, say, succeeds};

/// Installs what is missing, in the versions of package-lock.json: the runtime and the bundler; for
/// publishing also what optimizes and checks the package; for tests also the hosts.
pub(super) fn install(needs: Needs) -> Result<()> {
    let (level, what, omit) = match needs {
        Needs::Worker => return programs(),
        Needs::Stack => (
            "stack",
            "workerd (the Workers runtime), esbuild",
            &["--omit=dev", "--workspaces=false"][..],
        ),
        Needs::Build => (
            "build",
            "wrangler, esbuild, binaryen, TypeScript, and what tests talk to",
            &["--workspaces=false"][..],
        ),
        Needs::Everything => (
            "everything",
            "workerd (the Workers runtime), wrangler, esbuild, binaryen, TypeScript, Upstash's clients, a bridge of others, other lock clients, OpenTelemetry's SDK, Express, Fastify, and Node 22, Bun, Deno, Chromium and an edge runtime to run ours in",
            &[][..],
        ),
    };
    let lock = fs::read_to_string(paths::root().join("package-lock.json"))?;
    let stamp = format!("node_modules/.edgelock-setup-{level}");
    let stamp = paths::root().join(stamp);
    if is_stamped(&stamp, &lock) {
        return Ok(());
    }
    // As after `npm install`. `npm ci` first takes everything away, and something may run from it.
    if !succeeds(npm("ls").args(omit)) {
        say(&format!("npm packages into node_modules: {what}"));
        // Only wrangler itself asks for a newer Node.js than 20, and no test runs it.
        //
        // package.json has nothing under `dependencies`: wasm-bindgen takes those for what the
        // crate's JavaScript imports, and puts them into the package of every user.
        let mut ci = npm("ci");
        run_or_say(ci.args(QUIETLY).args(omit), "npm ci --ignore-scripts")?;
    }
    ensure!(
        paths::workerd().exists(),
        "npm has no workerd for this machine: it needs Linux or macOS on x86_64 or aarch64"
    );
    fs::write(stamp, lock).map_err(Into::into)
}

/// Installs the programs that a Worker is built with, in the versions of package.json.
fn programs() -> Result<()> {
    const PROGRAMS: [&str; 2] = ["esbuild", "wasm-opt"];
    if PROGRAMS.iter().all(|name| paths::npm_bin(name).exists()) {
        return Ok(());
    }
    let folder = paths::npm_programs();
    let manifest = fs::read_to_string(paths::root().join("package.json"))?;
    let manifest: Value = serde_json::from_str(&manifest)?;
    let version = |group: &str, name: &str| {
        let version = manifest[group][name].as_str();
        let version = version.with_context(|| format!("package.json has no {name}"))?;
        anyhow::Ok(format!("{name}@{version}"))
    };
    let packages =
        [version("optionalDependencies", "esbuild")?, version("devDependencies", "binaryen")?];
    say(&format!(
        "{} of npm into {}: they bundle and optimize the Worker",
        packages.join(" and "),
        folder.display()
    ));
    fs::create_dir_all(&folder)?;
    let mut install = npm("install");
    install.args(QUIETLY).args(&packages).arg("--prefix");
    let by_hand = format!("npm install --prefix {} {}", folder.display(), packages.join(" "));
    run_or_say(install.arg(&folder), &by_hand)
}

const QUIETLY: [&str; 4] = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"];

fn npm(command: &str) -> Command {
    let mut npm = Command::new("npm");
    npm.arg(command).current_dir(paths::root());
    npm
}
