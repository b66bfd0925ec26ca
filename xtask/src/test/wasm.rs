//! The client's own wasm tests, on each of its hosts, against one bridge and a server that
//! misbehaves.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use testkit::paths::tool;
use testkit::stack::{Bridge, build_bridge, free_port};
use testkit::{component, interrupt, paths};

use super::report::Report;
use super::steps::{cargo, tests};
use crate::setup;
use crate::terminal::Terminal;
use crate::{faulty, workerd_tests};

pub(super) const EDGE: &str = "wasm32-unknown-unknown";

/// In Node, in `workerd`, and as a component of WASI.
pub(super) async fn run(xtask: &Path, binary: &Path, report: &mut Report) {
    const NODE: &str = "wasm tests in Node";

    let prepared =
        Servers::start(binary).and_then(|servers| Ok((servers, workerd_tests::stand_in(xtask)?)));
    let (servers, stand_in) = match prepared {
        Ok(both) => both,
        Err(error) => return report.failed(NODE, &error),
    };

    let mut node = servers.tests(EDGE, "--test wasm");
    node.env("PATH", paths::path_with([tool("")]));
    report.run(tests(NODE, 10, node).quiet()).await;

    let mut workerd = servers.tests(EDGE, "--test wasm");
    workerd
        .env("WASM_BINDGEN_USE_NODE_EXPERIMENTAL", "1")
        .env("PATH", paths::path_with([stand_in.path().to_owned()]));
    let workerd = tests("wasm tests in workerd", 10, workerd);
    report.run(workerd.quiet()).await;

    // jco cannot listen.
    let mut component = servers.tests(component::TARGET, "--test wasm -- --skip listening::");
    let runner = format!("node {}", component::host().display());
    component.env("EDGELOCK_POLLS", "1").env(WASI_RUNNER, runner);
    let component = tests("wasm tests as a component, by jco", 10, component);
    report.run(component.quiet()).await;

    // The wasm tests of the npm package.
    let json = wasm_tests(EDGE, "--lib --features host-json");
    let json = tests("the host's JSON, in Node", 10, json);
    report.run(json.quiet()).await;
}

/// Whether they pass as a component that the machine's wasmtime runs, and a sale in one that it
/// serves is exact.
pub(crate) fn run_wasmtime() -> Result<bool> {
    paths::on_path("wasmtime").context("install wasmtime: cargo install wasmtime-cli --locked")?;
    setup::run(setup::Needs::Everything)?;
    let servers = Servers::start(&build_bridge("dev")?)?;
    let mut component = servers.tests(component::TARGET, "--test wasm -- --nocapture");
    let runner = "wasmtime run -S http,inherit-network,inherit-env";
    component.env(WASI_RUNNER, runner);
    let built = component::build()?;
    interrupt::or(async {
        let mut report = Report::default();
        let component = tests("wasm tests as a component, by wasmtime", 10, component);
        report.run(component).await;
        let sale = "200 customers at once, by wasmtime serve";
        report.check(sale, serve(&servers.bridge, &built)).await;
        Ok(report.finish())
    })
}

/// Serves a component as docs/hosts/wasi.md does, and sells its coupons. Each request has an
/// instance of its own.
async fn serve(bridge: &Bridge, component: &Path) -> Result<()> {
    let mut like = paths::command("sh");
    like.envs(bridge.variables());
    let mut terminal = Terminal::open(paths::root(), &like)?;
    let address = format!("127.0.0.1:{}", free_port()?);
    let component = component.display();
    let serve = format!("wasmtime serve -S cli,inherit-env --addr {address} {component}");
    terminal.start(&serve, "Serving HTTP").await?;
    component::sell_out(&[format!("http://{address}")]).await
}

const WASI_RUNNER: &str = "CARGO_TARGET_WASM32_WASIP2_RUNNER";

fn wasm_tests(target: &str, which: &str) -> Command {
    // It is compiled for longer than it runs.
    let soon = "--config profile.dev.package.edgelock.opt-level=0";
    let mut command = cargo(&format!("test -p edgelock --target {target} {soon} {which}"));
    let runner = tool("wasm-bindgen-test-runner");
    command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER", runner);
    command
}

/// The servers that the tests use.
struct Servers {
    bridge: Bridge,
    faulty: SocketAddr,
}

impl Servers {
    fn start(bridge: &Path) -> Result<Self> {
        Ok(Self {
            bridge: Bridge::options().binary(bridge).dangerous_commands().start()?,
            faulty: faulty::serve()?,
        })
    }

    /// [`wasm_tests`] that have the addresses of the servers.
    fn tests(&self, target: &str, which: &str) -> Command {
        let mut command = wasm_tests(target, which);
        command
            .envs(self.bridge.variables())
            .env("EDGELOCK_FAULTY_URL", format!("http://{}", self.faulty));
        command
    }
}
