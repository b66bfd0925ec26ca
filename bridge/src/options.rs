//! The bridge's options, from flags and the environment.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use clap::builder::RangedU64ValueParser;

use crate::auth::Given;
use crate::connection_limits::ConnectionLimits;
use crate::cors::Cors;
use crate::dial::Server;
use crate::idle::IdleLimits;
use crate::listen::{Door, most_connections};
use crate::server::Settings;
use crate::spawn;

// No `Debug`, and no parsed types for options that may hold a secret: clap shows a value that it
// cannot parse.
/// Serves Upstash's REST dialect in front of any Redis.
///
/// Every option can be set by its environment variable. Prefer that for secrets, since every user
/// of the machine can see arguments.
#[derive(Parser)]
#[command(version)]
pub(crate) struct Options {
    /// Address to listen on. The default serves only this machine; port 0 lets the system choose
    #[arg(
        long,
        value_name = "HOST:PORT",
        env = "EDGELOCK_BRIDGE_LISTEN",
        default_value = "127.0.0.1:8079"
    )]
    pub(crate) listen: String,

    /// redis://user:password@host:port/db, rediss://… (TLS), unix:///path, host:port, or `spawn`
    /// for a private redis-server
    #[arg(
        long,
        value_name = "URL",
        env = "EDGELOCK_BRIDGE_REDIS",
        hide_env_values = true,
        default_value = "redis://127.0.0.1:6379"
    )]
    redis: String,

    /// `--redis` is a node of a Redis Cluster; the bridge finds the other nodes by it
    #[arg(long, env = "EDGELOCK_BRIDGE_CLUSTER", value_name = "YES", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    pub(crate) cluster: bool,

    /// PEM file of the authority that signed Redis' certificate, instead of those that this machine
    /// trusts
    #[arg(long, value_name = "PATH", env = "EDGELOCK_BRIDGE_REDIS_CA")]
    redis_ca: Option<PathBuf>,

    /// The program that `--redis spawn` starts
    #[arg(
        long,
        value_name = "PATH",
        env = "EDGELOCK_BRIDGE_REDIS_SERVER",
        default_value = "redis-server"
    )]
    pub(crate) redis_server: PathBuf,

    /// Credential of the clients, which must be set: at least 16 characters. Make one with: openssl
    /// rand -hex 32
    #[arg(
        long,
        value_name = "SECRET",
        env = "EDGELOCK_BRIDGE_CREDENTIAL",
        hide_env_values = true
    )]
    credential: Option<String>,

    /// Credential for commands that only read
    #[arg(
        long,
        value_name = "SECRET",
        env = "EDGELOCK_BRIDGE_READ_ONLY_CREDENTIAL",
        hide_env_values = true
    )]
    read_only_credential: Option<String>,

    /// Credential for GET /metrics, which Prometheus reads, and for nothing else. There are no
    /// metrics without it
    #[arg(
        long,
        value_name = "SECRET",
        env = "EDGELOCK_BRIDGE_METRICS_CREDENTIAL",
        hide_env_values = true
    )]
    metrics_credential: Option<String>,

    /// Lets the read-only credential also run scripts that only read. Redis does nothing else while
    /// one runs
    #[arg(long, env = "EDGELOCK_BRIDGE_READ_ONLY_SCRIPTS", value_name = "YES", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    read_only_scripts: bool,

    /// Also serves commands that throw away others' data (FLUSHALL, FLUSHDB, FUNCTION FLUSH, SCRIPT
    /// FLUSH, …)
    #[arg(long, env = "EDGELOCK_BRIDGE_DANGEROUS_COMMANDS", value_name = "YES", num_args = 0..=1, require_equals = true,
        default_value_t = false, default_missing_value = "true", value_parser = clap::builder::BoolishValueParser::new())]
    dangerous_commands: bool,

    /// Origin of a page that may use the bridge from a browser, as `https://app.example`, or
    /// several with commas in between; * for all. Default: none
    #[arg(
        long,
        value_name = "ORIGIN",
        env = "EDGELOCK_BRIDGE_ALLOW_ORIGIN",
        value_delimiter = ','
    )]
    allow_origin: Vec<String>,

    /// Largest request body, in bytes
    #[arg(long, value_name = "BYTES", env = "EDGELOCK_BRIDGE_MAX_BODY", value_parser = bytes(), default_value_t = 10 * 1024 * 1024)]
    max_body: usize,

    /// Commands in a pipeline, at most
    #[arg(
        long,
        value_name = "COUNT",
        env = "EDGELOCK_BRIDGE_MAX_COMMANDS",
        value_parser = count(1),
        default_value_t = 10_000
    )]
    max_commands: usize,

    /// Commands in a transaction, at most. Redis serves nobody else between them
    #[arg(
        long,
        value_name = "COUNT",
        env = "EDGELOCK_BRIDGE_MAX_TRANSACTION",
        value_parser = count(0),
        default_value_t = 100
    )]
    max_transaction: usize,

    /// Largest answer of Redis to one request, in bytes. Each element of a list, and each command,
    /// counts for 64 bytes more
    #[arg(long, value_name = "BYTES", env = "EDGELOCK_BRIDGE_MAX_REPLY", value_parser = bytes(), default_value_t = 10 * 1024 * 1024)]
    pub(crate) max_reply: usize,

    /// Bytes of requests and answers held at once, at most. Others get a 503. A request counts four
    /// times, since that many copies exist until Redis has it. Those under 64 KiB do not count
    #[arg(long, value_name = "BYTES", env = "EDGELOCK_BRIDGE_MAX_IN_FLIGHT", value_parser = bytes(), default_value_t = 128 * 1024 * 1024)]
    pub(crate) max_in_flight: usize,

    /// Requests that may wait for replicas (`WAIT`) at once. Others get a 503
    #[arg(
        long,
        value_name = "COUNT",
        env = "EDGELOCK_BRIDGE_MAX_WAITS",
        value_parser = count(0),
        default_value_t = 64
    )]
    pub(crate) max_waits: usize,

    /// Connections of clients at once, at most. Fewer if the system allows too few open files.
    /// Others get a 503, and may ask only for `/health` and `/metrics`
    #[arg(
        long,
        value_name = "COUNT",
        env = "EDGELOCK_BRIDGE_MAX_CONNECTIONS",
        value_parser = count(1),
        default_value_t = 4096
    )]
    max_connections: usize,

    /// Connections from one address, at most; by default half of them all. A proxy in front is one
    /// address
    #[arg(
        long,
        value_name = "COUNT",
        env = "EDGELOCK_BRIDGE_MAX_CONNECTIONS_PER_ADDRESS",
        value_parser = count(1)
    )]
    max_connections_per_address: Option<usize>,

    /// How long a connection may be silent between requests, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        env = "EDGELOCK_BRIDGE_IDLE_TIMEOUT",
        default_value_t = 60_000,
        value_parser = clap::value_parser!(u64).range(1..=3_600_000)
    )]
    idle_timeout: u64,

    /// How long the head of a request may take from its first byte on, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        env = "EDGELOCK_BRIDGE_HEAD_TIMEOUT",
        default_value_t = 10_000,
        value_parser = clap::value_parser!(u64).range(1..=3_600_000)
    )]
    head_timeout: u64,

    /// How long a request may wait for its body, and for Redis, in milliseconds
    #[arg(
        long,
        value_name = "MS",
        env = "EDGELOCK_BRIDGE_TIMEOUT",
        default_value_t = 5000,
        value_parser = clap::value_parser!(u64).range(1..=600_000)
    )]
    timeout: u64,

    /// Least severe log line to write: error, warn, info, debug (one line per request)
    #[arg(
        long,
        value_name = "LEVEL",
        env = "EDGELOCK_BRIDGE_LOG",
        default_value = "info"
    )]
    pub(crate) log: tracing::Level,
}

/// A bound of 0 would let nothing through. No machine has more than the largest: what is computed
/// from it must not overflow.
fn bytes() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1 << 36)
}

fn count(least: u64) -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(least..=1 << 20)
}

pub(crate) enum Target {
    Spawn,
    Url,
}

impl Options {
    pub(crate) fn timeout(&self) -> Duration {
        Duration::from_millis(self.timeout)
    }

    pub(crate) fn settings(&self) -> Result<Settings, String> {
        Ok(Settings {
            cors: Cors::of(&self.allow_origin)?,
            read_only_scripts: self.read_only_scripts,
            dangerous_commands: self.dangerous_commands,
            timeout: self.timeout(),
            max_body: self.max_body,
            max_reply: self.max_reply,
            max_commands: self.max_commands,
            max_transaction: self.max_transaction.min(self.max_commands),
        })
    }

    pub(crate) fn door(&self) -> Result<Door, String> {
        let most = most_connections(self.max_connections, self.max_waits)?;
        let most_of_one = self.max_connections_per_address;
        Ok(Door {
            places: ConnectionLimits::new(most, most_of_one.unwrap_or_else(|| most.div_ceil(2))),
            limits: IdleLimits {
                idle: Duration::from_millis(self.idle_timeout),
                head: Duration::from_millis(self.head_timeout),
            },
        })
    }

    pub(crate) fn target(&self) -> Result<Target, &'static str> {
        match self.redis.as_str() {
            "spawn" if self.redis_ca.is_some() => {
                Err("--redis-ca makes no sense with --redis spawn")
            }
            "spawn" if self.cluster => Err("--cluster makes no sense with --redis spawn"),
            "spawn" => Ok(Target::Spawn),
            _ => Ok(Target::Url),
        }
    }

    pub(crate) fn credentials(&self) -> Result<Given, String> {
        Given::of([
            ("--credential", self.credential.as_deref()),
            (
                "--read-only-credential",
                self.read_only_credential.as_deref(),
            ),
            ("--metrics-credential", self.metrics_credential.as_deref()),
        ])
    }

    /// The user of the private Redis: that for locks, unless options need more than it may do.
    pub(crate) fn user(&self) -> Option<(&'static str, &'static str)> {
        (!self.dangerous_commands).then_some(spawn::USER)
    }

    pub(crate) fn server(&self) -> Result<Server, String> {
        Server::at(&self.redis, self.redis_ca.as_deref())
    }
}
