//! The bridge's options, from flags and the environment.

use std::path::Path;
use std::time::Duration;

use clap::Parser;
use clap::builder::{BoolishValueParser, RangedU64ValueParser};

use crate::auth::Given;
use crate::spawn;

// No `Debug`, and no parsed types for options that may hold a secret: clap shows a value that it
// cannot parse, or takes for an option.
/// Serves Upstash's REST dialect in front of any Redis.
///
/// Every option can be set by its environment variable. Prefer that for secrets, since every user
/// of the machine can see arguments.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// Address to listen on. The default serves only this machine; port 0 lets the system choose
    #[arg(long, value_name = "HOST:PORT", env = "EDGELOCK_BRIDGE_LISTEN")]
    #[arg(default_value = "127.0.0.1:8079")]
    pub(crate) listen: String,

    /// redis://user:password@host:port/db, rediss://… (TLS), unix:///path, host:port, or `spawn`
    /// (`spawn:PATH`) for a private redis-server
    #[arg(long, value_name = "URL", env = "EDGELOCK_BRIDGE_REDIS", hide_env_values = true)]
    #[arg(default_value = "redis://127.0.0.1:6379")]
    pub(crate) redis: String,

    /// `--redis` is a node of a Redis Cluster; the bridge finds the other nodes by it
    #[arg(long, value_name = "YES", env = "EDGELOCK_BRIDGE_CLUSTER")]
    #[arg(num_args = 0..=1, require_equals = true, value_parser = BoolishValueParser::new())]
    #[arg(default_value_t = false, default_missing_value = "true")]
    pub(crate) cluster: bool,

    /// Credential of the clients, which must be set: at least 16 characters. Make one with: openssl
    /// rand -hex 32
    #[arg(long, value_name = "SECRET", env = "EDGELOCK_BRIDGE_CREDENTIAL")]
    #[arg(hide_env_values = true, allow_hyphen_values = true)]
    credential: Option<String>,

    /// Credential for commands that only read
    #[arg(long, env = "EDGELOCK_BRIDGE_READ_ONLY_CREDENTIAL")]
    #[arg(value_name = "SECRET", hide_env_values = true, allow_hyphen_values = true)]
    read_only_credential: Option<String>,

    /// Credential for GET /metrics, which Prometheus reads, and for nothing else. There are no
    /// metrics without it
    #[arg(long, env = "EDGELOCK_BRIDGE_METRICS_CREDENTIAL")]
    #[arg(value_name = "SECRET", hide_env_values = true, allow_hyphen_values = true)]
    metrics_credential: Option<String>,

    /// Also serves commands that throw away others' data (FLUSHALL, FLUSHDB, FUNCTION FLUSH, SCRIPT
    /// FLUSH, …)
    #[arg(long, value_name = "YES", env = "EDGELOCK_BRIDGE_DANGEROUS_COMMANDS")]
    #[arg(num_args = 0..=1, require_equals = true, value_parser = BoolishValueParser::new())]
    #[arg(default_value_t = false, default_missing_value = "true")]
    pub(crate) dangerous_commands: bool,

    /// Origin of a page that may use the bridge from a browser, as `https://app.example`, or
    /// several with commas in between; * for all. Default: none
    #[arg(long, value_name = "ORIGIN", env = "EDGELOCK_BRIDGE_ALLOW_ORIGIN")]
    #[arg(value_delimiter = ',')]
    pub(crate) allow_origin: Vec<String>,

    /// Largest answer of Redis to one request, in bytes. Each element of a list, and each command,
    /// counts for 64 bytes more
    #[arg(long, value_name = "BYTES", env = "EDGELOCK_BRIDGE_MAX_REPLY")]
    #[arg(default_value_t = 10 * 1024 * 1024, value_parser = up_to(1 << 36))]
    pub(crate) max_reply: usize,

    /// Connections of clients at once, at most. Fewer if the system allows too few open files.
    /// Others get a 503, and may ask only for `/health` and `/metrics`
    #[arg(long, value_name = "COUNT", env = "EDGELOCK_BRIDGE_MAX_CONNECTIONS")]
    #[arg(default_value_t = 4096, value_parser = up_to(1 << 20))]
    pub(crate) max_connections: usize,

    /// How long a request may wait for its body, and for Redis, in milliseconds
    #[arg(long, value_name = "MS", env = "EDGELOCK_BRIDGE_TIMEOUT")]
    #[arg(default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    timeout: u64,

    /// Least severe log line to write: error, warn, info, debug (one line per request)
    #[arg(long, value_name = "LEVEL", env = "EDGELOCK_BRIDGE_LOG")]
    #[arg(default_value = "info")]
    pub(crate) log: tracing::Level,
}

/// A bound of 0 would let nothing through. No machine has more than the largest: what is computed
/// from it must not overflow.
fn up_to(most: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=most)
}

impl Options {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout)
    }

    /// The program of a private Redis, if there is to be one.
    pub(crate) fn spawned(&self) -> Result<Option<&Path>, &'static str> {
        let program = match self.redis.split_once(':') {
            Some(("spawn", program)) => program,
            None if self.redis == "spawn" => "redis-server",
            _ => return Ok(None),
        };
        match self.cluster {
            true => Err("--cluster makes no sense with --redis spawn"),
            false => Ok(Some(Path::new(program))),
        }
    }

    pub(crate) fn credentials(&self) -> Result<Given, String> {
        let read_only = &self.read_only_credential;
        let options = [
            ("--credential", &self.credential),
            ("--read-only-credential", read_only),
            ("--metrics-credential", &self.metrics_credential),
        ];
        Given::of(options.map(|(option, secret)| (option, secret.as_deref())))
    }

    /// The user of the private Redis: that for locks, unless options need more than it may do.
    pub(crate) fn user(&self) -> Option<(&'static str, &'static str)> {
        (!self.dangerous_commands).then_some(spawn::USER)
    }
}
