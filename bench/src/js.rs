//! `cargo xtask bench js`: what the npm package costs to download, to start and to run, compared
//! with `@upstash/lock`.
//!
//! The two take turns in one run, as in [`crate::lock`]. Each start is that of a new process.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use testkit::stack::{Bridge, NodeScript, Worker, WorkerConfig};
use testkit::{interrupt, worker_build};

use crate::build::{self, gzip};
use crate::host::{BATCH, Host, ROUNDS, Rounds, median, path};
use crate::target::{Bound, Target};

const STARTS: usize = 25;
const OURS: &str = "edgelock";
const PEER: &str = "@upstash/lock";
const LARGEST: f64 = 43_000.0;

pub(crate) fn run() -> Result<()> {
    let bundles = Bundles::build()?;
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
            let rounds = bundles.measure(kind).await?;
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

/// What an edge downloads of each package, and of the flash-sale Worker, in bytes: raw, and by
/// `gzip -9`.
struct Sizes(Vec<(&'static str, usize, usize)>);

impl Sizes {
    fn of(bundle: &Path) -> Result<Self> {
        let files = [
            ("edgelock, wasm", bundle.join("edgelock.wasm")),
            ("edgelock, JavaScript", bundle.join("edgelock.js")),
            ("@upstash/lock, @upstash/redis", bundle.join("upstash.js")),
            ("flash-sale Worker, wasm", worker_build::deployed()?.join("index_bg.wasm")),
        ];
        let sizes = files.map(|(what, path)| {
            let bytes = fs::read(&path).with_context(|| format!("no {}", path.display()))?;
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
pub(crate) enum Kind {
    Node,
    Workerd,
}

impl Kind {
    pub(crate) const ALL: [Self; 2] = [Self::Node, Self::Workerd];

    pub(crate) const fn name(self) -> &'static str {
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
        let (url, id) = match self {
            Self::Node(node) => (node.url(), node.id()),
            Self::Workerd(worker) => (worker.url(), worker.id()),
        };
        Host { url, id }
    }
}

/// The bundle of each host, and their bridge.
pub(crate) struct Bundles {
    node: PathBuf,
    workerd: PathBuf,
    bridge: Bridge,
}

impl Bundles {
    pub(crate) fn build() -> Result<Self> {
        let bridge = build::bridge()?;
        let [node, workerd] = ["js/node", "js/workerd"].map(build::bundle);
        Ok(Self { node: node?, workerd: workerd?, bridge })
    }

    /// Measures the cases in a process of their own.
    pub(crate) async fn measure(&self, kind: Kind) -> Result<Rounds> {
        self.start(kind)?.host().measure(ROUNDS, BATCH).await
    }

    fn start(&self, kind: Kind) -> Result<Process> {
        let variables = self.bridge.variables();
        match kind {
            Kind::Node => {
                NodeScript::start(&self.node.join("index.js"), variables).map(Process::Node)
            }
            Kind::Workerd => {
                let config = WorkerConfig::bare(&self.workerd).bind_all(variables);
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
