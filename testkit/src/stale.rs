//! Whether what was built is older than what it was built from.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use anyhow::{Context, Result};

use crate::paths;

/// Whether `built` was written after the last change.
pub fn is_newer(built: &Path, changed: SystemTime) -> bool {
    modified(built).is_ok_and(|built| built >= changed)
}

/// When these files of the checkout changed last, and the files in these folders.
pub fn last_change<'a>(sources: impl IntoIterator<Item = &'a str>) -> Result<SystemTime> {
    let mut last = SystemTime::UNIX_EPOCH;
    for source in sources {
        last = last.max(newest(&paths::root().join(source))?);
    }
    Ok(last)
}

fn newest(path: &Path) -> Result<SystemTime> {
    let look = || format!("cannot look at {}", path.display());
    let mut newest = modified(path).with_context(look)?;
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            newest = newest.max(self::newest(&entry?.path())?);
        }
    }
    Ok(newest)
}

/// When a file was written.
pub fn modified(path: &Path) -> io::Result<SystemTime> {
    fs::metadata(path)?.modified()
}
