//! What the processes of a benchmark worked, as Linux counts.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use testkit::stack::Bridge;

/// How long all threads of a process have run so far, in nanoseconds, as Linux's scheduler counts.
pub(crate) fn cpu_ns(id: u32) -> Result<u64> {
    let tasks = Path::new("/proc").join(id.to_string()).join("task");
    let mut sum = 0;
    for task in
        fs::read_dir(tasks).context("CPU time is read from /proc, so the benchmark needs Linux")?
    {
        // A thread may have ended since the folder was listed.
        let stat = fs::read_to_string(task?.path().join("schedstat")).unwrap_or_default();
        sum += stat.split(' ').next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
    }
    Ok(sum)
}

/// The process of the Redis that `bridge` spawned.
pub(crate) fn redis_id(bridge: &Bridge) -> Result<u32> {
    let about: String =
        redis::cmd("INFO").arg("server").query(&mut bridge.redis().get_connection()?)?;
    let id = about.lines().find_map(|line| line.strip_prefix("process_id:"));
    Ok(id.context("Redis says its process id")?.trim().parse()?)
}
