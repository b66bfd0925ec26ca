//! npm's `@humanwhocodes/upstash-redis-server`, a bridge of Upstash's dialect that is not ours,
//! before a Redis that another handle owns.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{self, Command};
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};

use super::node::NodeScript;
use crate::programs::{REQUIRE, run};
use crate::{paths, stale};

/// A running bridge. Dropping it kills it.
pub struct HumanWhoCodes {
    script: NodeScript,
    token: String,
}

impl HumanWhoCodes {
    /// One before the Redis at this unix socket, on a port of 127.0.0.1 that the system picks.
    pub fn start(redis_socket: &Path) -> Result<Self> {
        let socket = redis_socket.to_str().context("a socket in UTF-8")?;
        let token = super::credential();
        let variables = [("URS_TOKEN", token.as_str()), ("REDIS_URL", socket)];
        let script = NodeScript::start(&bundled()?, variables)?;
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

/// The script and the package as one file, which Node starts with half of the CPU.
fn bundled() -> Result<PathBuf> {
    const SCRIPT: &str = "testkit/src/stack/humanwhocodes.mjs";
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let bundle = paths::target().join("humanwhocodes.mjs");
    if stale::is_newer(&bundle, stale::last_change([SCRIPT, "package-lock.json"])?) {
        return Ok(bundle);
    }
    // Other processes may bundle it at the same time.
    let ours = bundle.with_extension(format!("{}.mjs", process::id()));
    run(Command::new(paths::npm_bin("esbuild"))
        .arg(paths::root().join(SCRIPT))
        .args(["--bundle", "--platform=node", "--format=esm", "--log-level=warning"])
        .arg(format!("--banner:js={REQUIRE}"))
        .arg(format!("--outfile={}", ours.display())))?;
    fs::rename(ours, &bundle)?;
    Ok(bundle)
}
