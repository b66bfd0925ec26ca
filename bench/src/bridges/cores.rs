//! The two cores of the benchmark: which process runs on which, and how busy they are.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Redis and the customers share one, and each bridge has the other in its turn.
pub(super) const SHARED: usize = 0;
pub(super) const OF_BRIDGES: usize = 1;

/// What the system has counted of the two cores so far.
pub(super) struct Ticks {
    busy: u64,
    all: u64,
}

/// Keeps all threads of a process on one core.
pub(super) fn pin(process: u32, core: usize) -> Result<()> {
    run(
        Command::new("taskset")
            .args(["--all-tasks", "--cpu-list", "--pid"])
            .args([core.to_string(), process.to_string()]),
        "two cores are needed",
    )
}

/// Lets all threads of a process run ahead of every other program.
pub(super) fn put_first(process: u32) -> Result<()> {
    run(
        Command::new("chrt").args(["--all-tasks", "--rr", "--pid", "1"]).arg(process.to_string()),
        "real time is for administrators",
    )
}

/// Both programs are of util-linux.
fn run(command: &mut Command, otherwise: &str) -> Result<()> {
    let name = command.get_program().to_owned();
    let ran = command.output().with_context(|| format!("there is no {}", name.display()))?;
    let said = String::from_utf8_lossy(&ran.stderr).into_owned();
    ensure!(ran.status.success(), "{otherwise}: {said}");
    Ok(())
}

impl Ticks {
    pub(super) fn now() -> Result<Self> {
        let stat = fs::read_to_string("/proc/stat")?;
        let mut ticks = Self { busy: 0, all: 0 };
        for core in [SHARED, OF_BRIDGES] {
            let name = format!("cpu{core} ");
            let line = stat.lines().find_map(|line| line.strip_prefix(&name));
            let line = line.context("/proc/stat tells of each core")?;
            // User, nice, system, idle, waiting, two kinds of interrupts, and time taken by the
            // host.
            let counts: Vec<u64> =
                (line.split_whitespace().take(8)).map(str::parse).collect::<Result<_, _>>()?;
            let all: u64 = counts.iter().sum();
            let idle: u64 = counts.iter().skip(3).take(2).sum();
            ticks.busy += all - idle;
            ticks.all += all;
        }
        Ok(ticks)
    }

    /// How busy the two cores have been since `before`, from 0 to 1.
    pub(super) fn busy_since(&self, before: &Self) -> f64 {
        let all = self.all.saturating_sub(before.all).max(1);
        self.busy.saturating_sub(before.busy) as f64 / all as f64
    }
}
