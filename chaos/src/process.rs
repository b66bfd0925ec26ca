//! What Linux says of a process: what it has open, and in memory.

use std::fs;

use anyhow::{Context as _, Result};

/// How many descriptors it has open.
pub(crate) fn descriptors(id: u32) -> Result<usize> {
    let folder = format!("/proc/{id}/fd");
    Ok(fs::read_dir(&folder).context(folder)?.count())
}

/// Its resident memory, in bytes.
pub(crate) fn memory(id: u32) -> Result<u64> {
    let file = format!("/proc/{id}/status");
    let status = fs::read_to_string(&file).with_context(|| file.clone())?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    Ok(kilobytes.context(file)?.trim().parse::<u64>()? << 10)
}
