//! What the system lets this process, and those that it starts, have.

use anyhow::Result;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// As many descriptors as may be had: each customer of a crowd is a connection, and each of their
/// orders may be one more on the way.
pub(crate) fn raise_descriptors() -> Result<()> {
    let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: maximum,
        maximum,
    };
    Ok(setrlimit(Resource::Nofile, all)?)
}
