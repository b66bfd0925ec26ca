//! `edgelock-bridge`: Upstash's REST dialect in front of any Redis, for clients that can use HTTP
//! but not TCP.
//!
//! A request goes through [`server`] → [`auth`] → [`request`] (HTTP to commands) → [`execute`]
//! ([`refuse`], [`script`]) → [`upstream`] (a [`node`] that is Redis, or a [`cluster`] of them) →
//! [`reply`] (Redis' answer to JSON) → [`answer`]. Only [`subscribe`] keeps its connection open.

mod answer;
mod auth;
mod budget;
mod bulk;
mod cluster;
mod command;
mod connection_limits;
mod cors;
mod dial;
mod execute;
mod hub;
mod link;
mod listen;
mod metrics;
mod no_reply;
mod node;
mod options;
mod overdue;
mod parts;
mod rarely;
mod redirect;
mod refuse;
mod reply;
mod request;
mod reused;
mod script;
mod script_classifier;
mod server;
mod server_error;
mod slot_map;
mod spawn;
mod subscribe;
mod topic;
mod upstream;

use std::io::{self, Write as _};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use mimalloc::MiMalloc;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::budget::{Budget, Limits};
use crate::cluster::Cluster;
use crate::connection_limits::Places;
use crate::cors::Cors;
use crate::dial::Server;
use crate::node::Node;
use crate::options::Options;
use crate::server::{Bridge, Settings};
use crate::spawn::PrivateRedis;
use crate::upstream::Upstream;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

type Error = Box<dyn std::error::Error>;

/// How many connections are read before their requests go to Redis. Redis then works on these while
/// the next connections are read. If all were read at once, Redis and the bridge would wait for
/// each other by turns.
const EVENTS: usize = 8;

// One thread. Redis has one too, and a request that moves between threads waits for each of them to
// wake. Measured: the same throughput for half the processor time.
fn main() -> ExitCode {
    let options = Options::parse();
    log_as_json(options.log);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_io_events_per_tick(EVENTS)
        .build();
    let runtime = runtime.map_err(Error::from);
    match runtime.and_then(|runtime| runtime.block_on(run(options))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("edgelock-bridge: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(options: Options) -> Result<(), Error> {
    let credentials = options.credentials()?;
    let listener = TcpListener::bind(&options.listen).await.map_err(|error| {
        let advice = match error.kind() == io::ErrorKind::AddrInUse {
            true => "end the program that listens there, or choose another address",
            false => "write HOST:PORT",
        };
        format!("cannot listen on {}: {error}; {advice}", options.listen)
    })?;
    listen::let_many_come_at_once(&listener)?;
    let mut private = match options.spawned()? {
        Some(program) => Some(PrivateRedis::start(program).await?),
        None => None,
    };
    let server = match &private {
        Some(redis) => Server::on_socket(redis.socket(), options.user()),
        None => Server::at(&options.redis)?,
    };
    let limits = Limits {
        timeout: options.timeout(),
        max_reply: options.max_reply,
        budget: Budget::default(),
    };
    let upstream = match options.cluster {
        true => Upstream::Cluster(Box::new(Cluster::behind(server, limits.clone())?)),
        false => Upstream::One(Box::new(Node::new(server, limits.clone()))),
    };
    let settings = Settings {
        cors: Cors::of(&options.allow_origin)?,
        dangerous_commands: options.dangerous_commands,
        limits,
    };
    let places = Places::of(listen::most_connections(options.max_connections)?);
    let (stop, stopping) = watch::channel(());
    let bridge = Bridge::new(credentials, upstream, settings, places, stopping);
    let bridge = Arc::new(bridge);
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    // What the bridge asks Redis for its own sake it asks before it has clients.
    let _ = timeout(Duration::from_secs(1), bridge.upstream.keep_watch()).await;
    announce(listener.local_addr()?, private.as_ref())?;
    tokio::spawn(keep_watch(Arc::clone(&bridge)));
    tokio::spawn(mind_scripts(Arc::clone(&bridge)));
    let serving = tokio::spawn(listen::serve(listener, bridge, stop.subscribe()));

    let outcome = tokio::select! {
        _ = terminate.recv() => Ok(()),
        _ = interrupt.recv() => Ok(()),
        status = ended(&mut private) => Err(format!("the private redis-server ended: {status}").into()),
    };
    tracing::info!("stopping");
    drop(stop);
    // The time-out bounds requests under way. A connection that never finishes its request is not
    // waited for.
    let _ = timeout(options.timeout() + Duration::from_secs(1), serving).await;
    if let Some(redis) = private {
        redis.stop().await;
    }
    outcome
}

/// Notices the loss and the return of Redis, also when there are no requests.
async fn keep_watch(bridge: Arc<Bridge>) {
    loop {
        bridge.upstream.keep_watch().await;
        sleep(Duration::from_secs(1)).await;
    }
}

/// Detects a script that keeps Redis busy, soon after Redis says so.
async fn mind_scripts(bridge: Arc<Bridge>) {
    loop {
        bridge.upstream.end_overdue_scripts().await;
        sleep(overdue::LOOK_EVERY).await;
    }
}

/// Waits for an unexpected end of the private Redis.
async fn ended(private: &mut Option<PrivateRedis>) -> String {
    match private {
        Some(redis) => redis.ended().await,
        None => std::future::pending().await,
    }
}

/// Programs read these lines, so they are an interface.
fn announce(address: SocketAddr, private: Option<&PrivateRedis>) -> io::Result<()> {
    let mut lines = format!("edgelock-bridge listening on http://{address}\n");
    if let Some(redis) = private {
        lines += &format!("redis unix socket {}\n", redis.socket().display());
    }
    // In one piece: a program that reads only the first line may close the pipe after it.
    let mut stdout = io::stdout().lock();
    stdout.write_all(lines.as_bytes())?;
    stdout.flush()?;
    if !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "other machines can reach the bridge, and it speaks plain HTTP: put a proxy with TLS in front"
        );
    }
    Ok(())
}

/// Only this program's own events. Those of its libraries may hold headers, commands or values.
fn log_as_json(level: tracing::Level) {
    let lines = fmt::layer().json().with_writer(io::stderr);
    let own = Targets::new().with_target("edgelock_bridge", level);
    tracing_subscriber::registry().with(lines).with(own).init();
}
