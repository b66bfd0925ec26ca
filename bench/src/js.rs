//! `cargo xtask bench js`: what the npm package costs to download, to start and to run, compared
//! with `@upstash/lock`.
//!
//! The two take turns in one run, as in [`crate::lock`]. Each start is that of a new process.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::programs::xtask;
use testkit::stack::{self, Bridge, NodeScript, Worker, WorkerConfig};
use testkit::{interrupt, paths};

use crate::build::{bundle, gzip};
use crate::host::{BATCH, Host, ROUNDS, median, path};
use crate::target::{Bound, Target};

const STARTS: usize = 25;
const OURS: &str = "edgelock";
const PEER: &str = "@upstash/lock";
const LARGEST: f64 = 43_000.0;

pub(crate) fn run() -> Result<()> {
    xtask(&["setup"])?;
    eprintln!("building the npm package, its bundles and the bridge (profile `server`)");
    let bridge = Bridge::options().binary(stack::bridge_binary("server")?).start()?;
    xtask(&["build-npm"])?;
    let bundles = Bundles::new(&bridge)?;
    let sizes = Sizes::of(&bundles.workerd)?;
    println!("{}", sizes.table());
    interrupt::or(async {
        println!("{}", bundles.starts().await?);
        let mut targets = vec![Target {
            who: "package",
            what: "wasm and JavaScript, gzip",
            figure: sizes.ours() as f64,
            bound: Bound::AtMost(LARGEST),
        }];
        for kind in Kind::ALL {
            let process = bundles.start(kind)?;
            let rounds = process.host().measure(ROUNDS, BATCH).await?;
            println!("{}", rounds.table(kind.name(), PEER));
            targets.push(Target {
                who: kind.name(),
                what: "CPU, ratio to @upstash/lock",
                figure: rounds.column(OURS, PEER, |sample| sample.cpu_us).1,
                bound: Bound::AtMost(1.0),
            });
        }
        for target in targets {
            println!("{target}");
        }
        Ok(())
    })
}

/// What an edge downloads of each package, in bytes: raw, and by `gzip -9`.
struct Sizes(Vec<(&'static str, usize, usize)>);

impl Sizes {
    fn of(bundle: &Path) -> Result<Self> {
        let files = [
            ("edgelock, wasm", "edgelock.wasm"),
            ("edgelock, JavaScript", "edgelock.js"),
            ("@upstash/lock, @upstash/redis", "upstash.js"),
        ];
        let sizes = files.map(|(what, name)| {
            let bytes = fs::read(bundle.join(name)).with_context(|| format!("no {name}"))?;
            Ok((what, bytes.len(), gzip(&bytes)?))
        });
        Ok(Self(sizes.into_iter().collect::<Result<_>>()?))
    }

    fn ours(&self) -> usize {
        let ours = self.0.iter().filter(|(what, ..)| what.starts_with(OURS));
        ours.map(|(_, _, gzip)| gzip).sum()
    }

    fn table(&self) -> String {
        let mut table = format!("{:30} {:>10} {:>10}\n", "size in bytes", "raw", "gzip -9");
        for (what, raw, gzip) in &self.0 {
            let _ = writeln!(table, "{what:30} {raw:10} {gzip:10}");
        }
        table
    }
}

/// The host of the cases.
#[derive(Clone, Copy)]
enum Kind {
    Node,
    Workerd,
}

impl Kind {
    const ALL: [Self; 2] = [Self::Node, Self::Workerd];

    const fn name(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Workerd => "workerd",
        }
    }
}

/// A process that runs the cases. Dropping it kills it.
enum Process {
    Node(NodeScript),
    Workerd(Worker),
}

impl Process {
    fn host(&self) -> Host {
        let (name, url, id) = match self {
            Self::Node(node) => (Kind::Node.name(), node.url(), node.id()),
            Self::Workerd(worker) => (Kind::Workerd.name(), worker.url(), worker.id()),
        };
        Host { name, url, id }
    }
}

/// The bundles of a process, and its bridge.
struct Bundles {
    node: PathBuf,
    workerd: PathBuf,
    bridge: [(&'static str, String); 2],
}

impl Bundles {
    fn new(bridge: &Bridge) -> Result<Self> {
        let folder = paths::target().join("bench/js");
        let [node, workerd] = ["node", "workerd"].map(|host| folder.join(host));
        bundle("js/node", &node)?;
        bundle("js/workerd", &workerd)?;
        Ok(Self {
            node,
            workerd,
            bridge: [
                ("EDGELOCK_BRIDGE_URL", bridge.url().to_owned()),
                ("EDGELOCK_BRIDGE_CREDENTIAL", bridge.token().to_owned()),
            ],
        })
    }

    fn start(&self, kind: Kind) -> Result<Process> {
        let variables = self.bridge.iter().map(|(name, value)| (*name, &**value));
        match kind {
            Kind::Node => {
                NodeScript::start(&self.node.join("index.js"), variables).map(Process::Node)
            }
            Kind::Workerd => {
                let bare = WorkerConfig::bare(&self.workerd);
                let config = variables.fold(bare, |config, (name, value)| config.bind(name, value));
                Worker::start(&config).map(Process::Workerd)
            }
        }
    }

    /// Milliseconds from the import to the first request, each in a new process.
    async fn starts(&self) -> Result<String> {
        let mut table =
            format!("{:24} {OURS:>10} {PEER:>15} {:>8}\n", "import to request, ms", "ratio");
        for kind in Kind::ALL {
            let mut rounds = Vec::new();
            for round in 0..STARTS {
                let mut took = [0.0; 2];
                // Nobody is always first, as in a round of turns.
                for place in 0..2 {
                    let case = (round + place) % 2;
                    let process = self.start(kind)?;
                    let target = format!("{}?start", path([OURS, PEER][case]));
                    let answer = process.host().get(&target).await?;
                    took[case] = answer["start_ms"].as_f64().context("a start takes time")?;
                }
                rounds.push(took);
            }
            let [ours, peer] = [0, 1].map(|case| median(rounds.iter().map(|took| took[case])));
            let ratio = median(rounds.iter().map(|[ours, peer]| ours / peer));
            let _ = writeln!(table, "{:24} {ours:10.2} {peer:15.2} {ratio:8.3}", kind.name());
        }
        Ok(table)
    }
}
