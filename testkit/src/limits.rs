//! What the system allows this process, and those that it starts.

use anyhow::Result;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Allows as many descriptors as the system lets us have. Each customer of a crowd is a connection,
/// and each of their orders may be one more.
pub fn raise_descriptors() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let all = Rlimit { current: maximum, maximum };
    Ok(setrlimit(Resource::Nofile, all)?)
}
