//! SooditK's `serverless-redis`, another bridge of Upstash's dialect, before a Redis that another
//! handle owns.
//!
//! No registry has it. To measure it beside ours, build it from its source.

use std::fmt;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::Result;

use super::port::on_free_port;
use super::process::Process;

const START_LIMIT: Duration = Duration::from_secs(20);

/// A running bridge. Dropping it kills it.
pub struct ServerlessRedis {
    process: Process,
    port: u16,
    token: String,
}

impl ServerlessRedis {
    /// Starts this program before the Redis at this unix socket. It listens on a free port of all
    /// addresses of this machine, since it knows no other way.
    ///
    /// # Errors
    ///
    /// It does not start, or does not listen within 20 s; what it said is in the error.
    pub fn start(program: &Path, redis_socket: &Path) -> Result<Self> {
        on_free_port(|port| Self::start_on(port, program, redis_socket))
    }

    fn start_on(port: u16, program: &Path, redis_socket: &Path) -> Result<Self> {
        let token = super::credential();
        let mut command = Command::new(program);
        command
            .env("REDIS_URL", format!("unix://{}", redis_socket.display()))
            .env("SR_TOKEN", &token)
            .env("PORT", port.to_string());
        let process = Process::start(&mut command)?;
        process.wait_for("that it listens", START_LIMIT, |line| {
            line.contains("Listening on").then_some(())
        })?;
        Ok(Self { process, port, token })
    }

    /// Its address, `http://127.0.0.1:<port>`.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The credential that it accepts.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

impl fmt::Debug for ServerlessRedis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerlessRedis").field("port", &self.port).finish_non_exhaustive()
    }
}
