//! `cargo xtask bench`: what a lock costs on top of the request that carries it, in Node and in
//! `workerd`.
//!
//! All cases take turns with one bridge, round by round. Each figure is the median, over all
//! rounds, of the ratio to the bare POST of the same round. So a machine that is busy for a while
//! slows all cases alike.

use anyhow::Result;
use testkit::interrupt;
use testkit::programs::xtask;
use testkit::stack::{self, Bridge, NodeScript, Worker, WorkerConfig};

use crate::host::{BATCH, Host, ROUNDS};
use crate::{build, section};

const BASE: &str = "bare POST";

pub(crate) fn run() -> Result<()> {
    xtask(&["setup"])?;
    eprintln!(
        "building the npm package, its bundles, the Worker and the bridge (profile `server`)"
    );
    let bridge = Bridge::options().binary(stack::bridge_binary("server")?).start()?;
    let built = build::run(&["node", "workerd"])?;
    println!("{}", build::worker_sizes()?);
    let variables =
        [("EDGELOCK_BRIDGE_URL", bridge.url()), ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token())];
    let node = NodeScript::start(&built.node("node"), variables)?;
    let config =
        variables.iter().fold(WorkerConfig::bare(built.workerd()), |config, (name, value)| {
            config.bind(*name, *value)
        });
    let workerd = Worker::start(&config)?;
    interrupt::or(async {
        let ours = section::requests(&bridge).await?;
        let hosts = [("Node", node.url(), node.id()), ("workerd", workerd.url(), workerd.id())];
        let hosts = hosts.map(|(name, url, id)| Host { name, url, id });
        let theirs = hosts[0].get("section").await?;
        println!(
            "requests of a section that reads and writes: edgelock {ours}, @upstash/lock {theirs}\n"
        );
        for host in hosts {
            println!("{}", host.measure(ROUNDS, BATCH).await?.table(host.name, BASE));
        }
        Ok(())
    })
}
