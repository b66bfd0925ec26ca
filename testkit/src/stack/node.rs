//! A server in Node.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};

use super::process::{Process, START_LIMIT};

/// A running script that serves HTTP, and says where as `workerd` does:
/// `{"event":"listen","port":…}`. Dropping it kills it.
pub struct NodeScript {
    process: Process,
    port: u16,
}

impl NodeScript {
    /// Starts a script with these environment variables besides our own, and waits until it
    /// listens.
    pub fn start<'a>(
        script: &Path,
        variables: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self> {
        let mut command = Command::new("node");
        command.arg(script).envs(variables);
        let process = Process::start(&mut command).context("install Node, 20 or newer")?;
        let port = process.wait_for_port(None, START_LIMIT)?;
        Ok(Self { process, port })
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}
