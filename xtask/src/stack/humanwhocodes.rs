//! npm's `@humanwhocodes/upstash-redis-server`, a bridge of Upstash's dialect that is not ours,
//! before a Redis that another handle owns.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result};

use super::node::NodeScript;
use crate::paths;

/// A running bridge. Dropping it kills it.
pub struct HumanWhoCodes {
    script: NodeScript,
    token: String,
}

impl HumanWhoCodes {
    /// One before the Redis at this unix socket, on a port of 127.0.0.1 that the system picks.
    ///
    /// # Errors
    ///
    /// Node or the package is not installed, or it does not listen within 20 s; what it said is in
    /// the error.
    pub fn start(redis_socket: &Path) -> Result<Self> {
        let script = paths::root().join("xtask/src/stack/humanwhocodes.mjs");
        let socket = redis_socket.to_str().context("a socket in UTF-8")?;
        let token = super::credential();
        let variables = [("URS_TOKEN", token.as_str()), ("REDIS_URL", socket)];
        let script = NodeScript::start(&script, variables)?;
        Ok(Self { script, token })
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        self.script.url()
    }

    /// The credential that it accepts.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.script.id()
    }
}

impl fmt::Debug for HumanWhoCodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HumanWhoCodes")
            .field("url", &self.url())
            .finish_non_exhaustive()
    }
}
