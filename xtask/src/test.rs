//! `cargo xtask test`: everything that must hold, from formatting to the Worker in `workerd`.

mod native;
mod report;
mod steps;
mod wasm;

use std::cell::RefCell;
use std::env;
use std::num::NonZero;
use std::path::Path;
use std::process::Command;
use std::thread;

use anyhow::{Context, Result};
use serde_json::json;
use testkit::programs::of_workspace;
use testkit::stack::{Bridge, Webdis, build_bridge};
use testkit::{component, interrupt, paths, worker_build};

use self::native::Tests;
use self::report::{Counts, Report, Step};
use self::steps::{cargo, check, ours, tests};
pub(crate) use self::wasm::run_wasmtime;
use crate::setup;
use crate::{hosts, npm_build, npm_test, quick_starts};

/// The crates that run at the edge, compiled for the edge.
const WASM: &str =
    "--target wasm32-unknown-unknown -p edgelock -p edgelock-js -p edgelock-table-js";

/// The variable that names the bridge that tests start.
const BRIDGE_BIN: &str = "EDGELOCK_BRIDGE_BIN";

/// Whether everything holds.
pub(crate) fn run() -> Result<bool> {
    // This comes first, since building the tests replaces the file that we run from.
    let xtask = env::current_exe().context("xtask does not know where it is")?;
    interrupt::or(async { Ok(steps(&xtask).await.finish()) })
}

/// Whether what can be checked within a minute holds, for one who edits.
pub(crate) fn run_quick() -> Result<bool> {
    interrupt::or(async {
        let mut report = Report::default();
        report.run(formatting()).await;
        report.run(clippy()).await;
        let rules = cargo("test --workspace --test it -- docs:: invariants::");
        report.run(tests("rules of sources and pages", 10, rules)).await;
        let mut types = Command::new(paths::tsc());
        types.args(["--noEmit", "--project", "npm"]);
        report.run(Step::new("types of the npm package", 2, types)).await;
        Ok(report.finish())
    })
}

/// Whether everything about the npm package holds.
pub(crate) fn run_npm() -> Result<bool> {
    let xtask = env::current_exe().context("xtask does not know where it is")?;
    setup::run(setup::Needs::Everything)?;
    let bridge = build_bridge("dev")?;
    interrupt::or(async {
        let mut report = Report::default();
        if npm_prepared(&xtask, &mut report).await {
            npm(&bridge, &mut report).await;
        }
        Ok(report.finish())
    })
}

/// Follows the quick starts, after what they need is built.
pub(crate) fn run_quick_starts() -> Result<()> {
    let xtask = env::current_exe().context("xtask does not know where it is")?;
    setup::run(setup::Needs::Everything)?;
    npm_build::build()?;
    let bridge = build_bridge("dev")?;
    interrupt::or(quick_starts::follow(&xtask, &bridge))
}

/// Whether nothing is left of `calls` of each kind with such a name, made with the npm package.
pub(crate) fn run_heap(kind: &str, calls: u32) -> Result<bool> {
    let xtask = env::current_exe().context("xtask does not know where it is")?;
    setup::run(setup::Needs::Everything)?;
    let binary = build_bridge("dev")?;
    interrupt::or(async {
        let mut report = Report::default();
        if npm_prepared(&xtask, &mut report).await {
            let options = Bridge::options().binary(&binary).dangerous_commands();
            let bridge = options.start()?;
            for (name, mut command) in npm_test::heap_hosts() {
                command
                    .envs(bridge.variables())
                    .env("EDGELOCK_BRIDGE_ID", bridge.id().to_string())
                    .env("EDGELOCK_HEAP_KIND", kind)
                    .env("EDGELOCK_HEAP_CALLS", calls.to_string());
                // A host may have no kind with such a name.
                report.run(Step::new(name, 24 * 60, command)).await;
            }
        }
        Ok(report.finish())
    })
}

async fn steps(xtask: &Path) -> Report {
    let mut report = Report::default();
    let mut meanwhile = Report::default();
    let ready = tokio::try_join!(set_up(xtask, &mut meanwhile), checks_of_rust(&mut report));
    report.append(meanwhile);
    let Ok(((), tests)) = ready else {
        return report;
    };
    let bridge = paths::target().join("debug/edgelock-bridge");
    let (simulated, others): (Vec<_>, Vec<_>) = tests.into_iter().partition(Tests::are_simulated);

    // Only the simulation always needs a core, so it takes what the others leave.
    let mut meanwhile = Report::default();
    let simulation =
        native_tests("the simulation", 30, &simulated, &[], &bridge).giving_way().quiet();
    tokio::join!(meanwhile.run(simulation), on_real_parts(xtask, &others, &bridge, &mut report));
    report.append(meanwhile);
    report
}

/// That something on which all the rest depends failed, as the report says.
struct Failed;

/// Installs what the tests need, and builds what only that can.
async fn set_up(xtask: &Path, report: &mut Report) -> Result<(), Failed> {
    let installed = ours("set-up", 25, xtask, "setup").quiet();
    if !report.run(installed).await {
        return Err(Failed);
    }
    let workers = "the Workers and Rust on other hosts, built as users do";
    report.check(workers, tests_workers()).await;
    let reference = ours("docs of both languages", 10, xtask, "reference");
    report.run(reference.quiet()).await;
    Ok(())
}

/// A test has less time than the first build of the Workers takes.
async fn tests_workers() -> Result<()> {
    let build = || {
        worker_build::OF_TESTS
            .iter()
            .try_for_each(|folder| worker_build::as_users_do(folder).map(drop))
            .and_then(|()| component::build().map(drop))
            .and_then(|()| hosts::compiled())
    };
    tokio::task::spawn_blocking(build).await?
}

async fn on_real_parts(xtask: &Path, native: &[Tests], bridge: &Path, report: &mut Report) {
    // One attack after another, and beside no other test, so that what a client beside it gets is
    // due to one attack.
    let attacks = native_tests(
        "attacks on the bridge and the Worker, in short",
        10,
        native,
        &["--test-threads=1", "attack::"],
        bridge,
    );
    let mut meanwhile = Report::default();
    let (_, is_prepared) = tokio::join!(report.run(attacks), npm_prepared(xtask, &mut meanwhile));
    report.append(meanwhile);

    // Most of these wait, for servers and for time.
    let others = native_tests(
        "native tests: client, bridge, Worker in workerd",
        15,
        native,
        &["--skip", "attack::"],
        bridge,
    );
    let documented = cargo("test --workspace --doc");
    let documented = tests("documentation tests", 10, documented).quiet();
    let mut meanwhile = Report::default();
    tokio::join!(report.run(others), async {
        meanwhile.run(documented).await;
        wasm::run(xtask, bridge, &mut meanwhile).await;
    });
    report.append(meanwhile);
    // Leases of these are short, and their hosts have one thread each.
    if is_prepared {
        npm(bridge, report).await;
    }

    // After the others, since each command of a reader has a time limit.
    let mut meanwhile = Report::default();
    let followed = quick_starts::follow(xtask, bridge);
    tokio::join!(
        meanwhile.check("the quick starts, to the letter", followed),
        sales(bridge, report)
    );
    report.append(meanwhile);
}

/// The demo, and sales while everything under them fails.
async fn sales(bridge: &Path, report: &mut Report) {
    let mut demo = of_workspace("chaos");
    demo.arg("demo").env(BRIDGE_BIN, bridge);
    report.run(Step::new("the demo", 10, demo)).await;

    let worlds = [
        ("chaos over one Redis", "one"),
        ("chaos over a Redis whose clock steps", "clock"),
        ("chaos over a Redis that fails over", "fail-over"),
        ("chaos over a cluster whose slots move", "cluster"),
    ];
    for (name, over) in worlds {
        let mut chaos = of_workspace("chaos");
        chaos.args(["chaos", "--orders", "1000", "--over", over]);
        chaos.env(BRIDGE_BIN, bridge);
        report.run(Step::new(name, 10, chaos)).await;
    }
}

/// Runs tests that cargo built, one target after another.
fn native_tests(
    name: &'static str,
    minutes: u64,
    tests: &[Tests],
    arguments: &[&str],
    bridge: &Path,
) -> Step {
    // Most of them wait for servers and for time, so more run than there are cores.
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let commands = tests.iter().map(|tests| {
        let mut command = tests.command(arguments);
        command.env(BRIDGE_BIN, bridge).env("RUST_TEST_THREADS", (3 * cores).to_string());
        command
    });
    Step::of(name, minutes, commands.collect()).counts(Counts::Tests)
}

fn formatting() -> Step {
    check("formatting", 2, "fmt --all --check")
}

fn clippy() -> Step {
    let all = "clippy --workspace --all-targets -- -D warnings";
    check("clippy", 20, all)
}

/// What needs Rust alone, so that it keeps a core busy while the set-up waits for the network.
/// Returns the tests that are built.
async fn checks_of_rust(report: &mut Report) -> Result<Vec<Tests>, Failed> {
    const BUILT: &str = "native tests, built";
    report.run(formatting()).await;
    if !report.run(check(BUILT, 20, native::BUILD)).await {
        return Err(Failed);
    }
    let tests = Tests::built().map_err(|error| {
        report.failed(BUILT, &error);
        Failed
    })?;
    report.run(clippy()).await;
    for (name, what) in [
        ("clippy for wasm", format!("{WASM} --lib")),
        ("clippy for components", format!("--target {} -p edgelock --lib", component::TARGET)),
    ] {
        let clippy = format!("clippy {what} --test wasm -- -D warnings");
        report.run(check(name, 12, &clippy)).await;
    }
    report.run(docs_for_wasm()).await;
    Ok(tests)
}

const PREPARED: &str = "npm: package, installed and its tests built";

/// Whether the npm package and its tests could be built.
async fn npm_prepared(xtask: &Path, report: &mut Report) -> bool {
    // The attacks beside it count what is done in a second.
    let built = ours("npm: package, built", 10, xtask, "build-npm").giving_way();
    let prepared = ours(PREPARED, 5, xtask, "prepare-npm").giving_way();
    report.run(built.quiet()).await && report.run(prepared.quiet()).await
}

/// The npm package on its hosts, three at a time: most of them wait.
async fn npm(binary: &Path, report: &mut Report) {
    let started = (|| {
        let servers = || NpmServers::start(binary);
        let lanes = [servers()?, servers()?, servers()?];
        anyhow::Ok((lanes, npm_test::hosts()?.into_iter()))
    })();
    let (lanes, hosts) = match started {
        Ok((lanes, hosts)) => (lanes, RefCell::new(hosts)),
        Err(error) => return report.failed(PREPARED, &error),
    };
    let next = || hosts.borrow_mut().next();
    let lane = async |servers: &NpmServers| {
        let mut report = Report::default();
        while let Some((name, commands)) = next() {
            report.run(servers.step(name, commands).quiet()).await;
        }
        report
    };
    let [a, b, c] = lanes.each_ref().map(lane);
    let (a, b, c) = tokio::join!(a, b, c);
    for lane in [a, b, c] {
        report.append(lane);
    }
}

/// The servers that the tests of the npm package use.
struct NpmServers {
    bridge: Bridge,
    webdis: Webdis,
    several: [Bridge; 3],
}

impl NpmServers {
    fn start(binary: &Path) -> Result<Self> {
        let start = || {
            let options = Bridge::options().binary(binary);
            // The tests in Chromium are a page of this origin.
            let options = options.option("--allow-origin=http://page.localhost");
            options.dangerous_commands().start()
        };
        let bridge = start()?;
        Ok(Self {
            webdis: Webdis::start(bridge.redis_socket(), &["EVAL", "EVALSHA", "SUBSCRIBE"])?,
            bridge,
            several: [start()?, start()?, start()?],
        })
    }

    /// Runs the tests on one host. It shares no Redis with others beside it, since a test lets
    /// Redis forget its scripts.
    fn step(&self, name: &'static str, mut commands: Vec<Command>) -> Step {
        let several = (self.several.each_ref())
            .map(|one| json!({ "url": one.url(), "credential": one.token() }));
        let several = json!(several).to_string();
        for command in &mut commands {
            command
                .envs(self.bridge.variables())
                .env("EDGELOCK_BRIDGE_ID", self.bridge.id().to_string())
                .env("EDGELOCK_REDIS_SOCKET", self.bridge.redis_socket())
                .env("EDGELOCK_BRIDGES", &several)
                .env("EDGELOCK_WEBDIS_URL", self.webdis.url())
                .env("EDGELOCK_WEBDIS_USER", self.webdis.user())
                .env("EDGELOCK_WEBDIS_PASSWORD", self.webdis.password());
        }
        // Many times as long as alone, since others may have the cores for most of it.
        Step::of(name, 12, commands).counts(Counts::Tests)
    }
}

fn docs_for_wasm() -> Step {
    let mut command = cargo(&format!("doc --no-deps {WASM}"));
    command.env("RUSTDOCFLAGS", "-D warnings");
    Step::new("docs for wasm", 10, command)
}
