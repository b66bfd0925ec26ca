//! One Redis server.
//!
//! One connection carries the commands of all requests, pipelined. Commands that would hold up the
//! others travel on a connection that is theirs alone while they run, and every subscription has
//! its own.
//!
//! A command is sent once. When its outcome was not learned, that is the answer: to send it again
//! might do it twice.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::StatusCode;
use redis::aio::PubSub;
use redis::{Pipeline, Value};
use tokio::time::timeout;

use crate::dial::{Connection, NoConnection, Server};
use crate::reply::Failure;
use crate::subscribe::Topic;

/// A connection that takes longer to open is a failure, so that a dead Redis is reported soon.
const DIAL: Duration = Duration::from_secs(1);

/// How many idle connections are kept for the next commands that need one to themselves.
const SPARES: usize = 16;

pub(crate) struct Node {
    server: Server,
    timeout: Duration,
    shared: RwLock<Option<Shared>>,
    dialled: AtomicU64,
    /// Held while dialling; knows when the last attempt failed, and how.
    dialling: tokio::sync::Mutex<Option<(Instant, Lost)>>,
    spares: Mutex<Vec<Connection>>,
    away: AtomicBool,
    read_only: RwLock<HashSet<Vec<u8>>>,
}

#[derive(Clone)]
struct Shared {
    number: u64,
    connection: Connection,
}

/// Redis gave no answer.
#[derive(Clone, Copy)]
pub(crate) enum Lost {
    /// No connection: nothing was sent.
    Unreachable,
    /// Redis does not let the bridge in: nothing was sent.
    NotLetIn,
    /// The connection broke: Redis may have carried out what was sent.
    Broken,
    /// The answer did not come in time: Redis may have carried out what was sent, or may yet.
    Late,
}

impl Lost {
    /// Of a request whose other part was executed.
    pub(crate) fn of_a_part(self) -> Self {
        match self {
            Self::Unreachable | Self::NotLetIn => Self::Broken,
            lost => lost,
        }
    }
}

impl From<Lost> for Failure {
    fn from(lost: Lost) -> Self {
        let (status, text) = match lost {
            Lost::Unreachable => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ERR Redis cannot be reached; nothing was executed",
            ),
            Lost::NotLetIn => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ERR Redis wants a password that the bridge does not have; nothing was executed",
            ),
            Lost::Broken => (
                StatusCode::SERVICE_UNAVAILABLE,
                "ERR the connection to Redis was lost; whether the command was executed is unknown",
            ),
            Lost::Late => (
                StatusCode::GATEWAY_TIMEOUT,
                "ERR Redis did not answer in time; whether the command was executed is unknown",
            ),
        };
        Self::new(status, text)
    }
}

impl Node {
    pub(crate) fn new(server: Server, timeout: Duration) -> Self {
        Self {
            server,
            timeout,
            shared: RwLock::default(),
            dialled: AtomicU64::default(),
            dialling: tokio::sync::Mutex::default(),
            spares: Mutex::default(),
            away: AtomicBool::default(),
            read_only: RwLock::default(),
        }
    }

    /// Sends the commands in one piece and returns a reply for each. `alone` gives them a
    /// connection to themselves.
    pub(crate) async fn run(&self, commands: &Pipeline, alone: bool) -> Result<Vec<Value>, Lost> {
        if alone {
            let mut connection = self.spare().await?;
            let replies = ask(&mut connection, commands).await?;
            self.keep(connection);
            return Ok(replies);
        }
        let mut shared = self.shared().await?;
        let replies = ask(&mut shared.connection, commands).await;
        if replies.is_err() {
            self.forget(shared.number);
        }
        replies
    }

    /// Runs the commands between MULTI and EXEC. The replies are those of the commands when they
    /// were queued, then EXEC's.
    ///
    /// MULTI's own answer is awaited first: where Redis refuses it, to an account that may not, the
    /// commands that follow would be carried out one by one.
    pub(crate) async fn transact(&self, mut commands: Pipeline) -> Result<Vec<Value>, Lost> {
        let mut connection = self.spare().await?;
        let begun = ask(&mut connection, redis::pipe().cmd("MULTI")).await?;
        if !matches!(begun[..], [Value::Okay]) {
            return Ok(begun);
        }
        let replies = ask(&mut connection, commands.cmd("EXEC")).await?;
        self.keep(connection);
        Ok(replies)
    }

    pub(crate) async fn subscribe(&self, topic: &Topic) -> Result<PubSub, Failure> {
        let opening = async {
            let mut messages = self.server.messages().await?;
            let subscribed = match topic {
                Topic::Channel(channel) => messages.subscribe(channel).await,
                Topic::Pattern(pattern) => messages.psubscribe(pattern).await,
            };
            Ok((messages, subscribed.err()))
        };
        let (messages, refused) = self.within_dial(opening).await?;
        let Some(error) = refused else {
            return Ok(messages);
        };
        // An account need not be allowed every channel.
        match (error.code(), error.detail()) {
            (Some(code), Some(detail)) if code != "NOAUTH" => {
                Err(Failure::bad_request(format!("{code} {detail}")))
            }
            _ => Err(self.unreachable(&error.into()).into()),
        }
    }

    /// Whether Redis says that the command called `name` only reads. Redis is asked once for each
    /// that does.
    pub(crate) async fn reads_only(&self, name: &[u8]) -> Result<bool, Lost> {
        let known = self
            .read_only
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name);
        if known {
            return Ok(true);
        }
        let mut question = Pipeline::new();
        question.cmd("COMMAND").arg("INFO").arg(name);
        let reads = flagged_read_only(&self.run(&question, false).await?);
        if reads {
            let mut known = self
                .read_only
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            known.insert(name.to_vec());
        }
        Ok(reads)
    }

    /// Whether Redis answers, now.
    pub(crate) async fn answers(&self) -> bool {
        match timeout(DIAL, self.ping()).await {
            Ok(Ok(replies)) => {
                matches!(&replies[..], [Value::SimpleString(pong)] if pong == "PONG")
            }
            _ => false,
        }
    }

    /// A connection that fails at this is let go, and the next one to ask opens a new one.
    pub(crate) async fn ping(&self) -> Result<Vec<Value>, Lost> {
        self.run(redis::pipe().cmd("PING"), false).await
    }

    async fn shared(&self) -> Result<Shared, Lost> {
        if let Some(shared) = self.current() {
            return Ok(shared);
        }
        let asked = Instant::now();
        let mut failed = self.dialling.lock().await;
        if let Some(shared) = self.current() {
            return Ok(shared);
        }
        // Whoever queued behind an attempt shares its outcome: a thousand requests must not dial
        // one after the other.
        if let Some((_, lost)) = failed.filter(|(at, _)| *at > asked) {
            return Err(lost);
        }
        let connection = self
            .dial()
            .await
            .inspect_err(|lost| *failed = Some((Instant::now(), *lost)))?;
        let number = self.dialled.fetch_add(1, Ordering::Relaxed);
        let shared = Shared { number, connection };
        *self.shared.write().unwrap_or_else(PoisonError::into_inner) = Some(shared.clone());
        Ok(shared)
    }

    fn current(&self) -> Option<Shared> {
        let shared = self.shared.read().unwrap_or_else(PoisonError::into_inner);
        shared
            .as_ref()
            .filter(|shared| shared.connection.is_open())
            .cloned()
    }

    /// Lets connection `number` go, unless a newer one took its place. Requests that still wait on
    /// it may yet be answered.
    fn forget(&self, number: u64) {
        let mut shared = self.shared.write().unwrap_or_else(PoisonError::into_inner);
        if shared
            .as_ref()
            .is_some_and(|shared| shared.number == number)
        {
            *shared = None;
            self.spares
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clear();
        }
    }

    async fn spare(&self) -> Result<Connection, Lost> {
        let kept = {
            let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
            spares.retain(Connection::is_open);
            spares.pop()
        };
        match kept {
            Some(connection) => Ok(connection),
            None => self.dial().await,
        }
    }

    fn keep(&self, connection: Connection) {
        let mut spares = self.spares.lock().unwrap_or_else(PoisonError::into_inner);
        if spares.len() < SPARES {
            spares.push(connection);
        }
    }

    async fn dial(&self) -> Result<Connection, Lost> {
        self.within_dial(self.server.connection(self.timeout)).await
    }

    async fn within_dial<T>(
        &self,
        opening: impl Future<Output = Result<T, NoConnection>>,
    ) -> Result<T, Lost> {
        let opened = timeout(DIAL, opening).await;
        let opened = opened.unwrap_or_else(|_| Err(NoConnection::Other("time-out".to_owned())));
        let opened = opened.map_err(|reason| self.unreachable(&reason))?;
        if self.away.swap(false, Ordering::Relaxed) {
            tracing::info!("redis is back");
        }
        Ok(opened)
    }

    /// Says so in the log, once until Redis is back.
    fn unreachable(&self, reason: &NoConnection) -> Lost {
        if !self.away.swap(true, Ordering::Relaxed) {
            tracing::error!(%reason, "redis cannot be reached");
        }
        match reason {
            NoConnection::NoPassword | NoConnection::WrongPassword => Lost::NotLetIn,
            NoConnection::Other(_) => Lost::Unreachable,
        }
    }
}

async fn ask(connection: &mut Connection, commands: &Pipeline) -> Result<Vec<Value>, Lost> {
    connection.ask(commands).await.map_err(|error| {
        tracing::warn!(reason = %error, "no answer from redis");
        match error.is_timeout() {
            true => Lost::Late,
            false => Lost::Broken,
        }
    })
}

/// `COMMAND INFO` answers with a list of descriptions, each a name, an arity, a list of flags and
/// more.
fn flagged_read_only(replies: &[Value]) -> bool {
    let [Value::Array(descriptions)] = replies else {
        return false;
    };
    let [Value::Array(description)] = &descriptions[..] else {
        return false;
    };
    let Some(Value::Array(flags)) = description.get(2) else {
        return false;
    };
    flags
        .iter()
        .any(|flag| matches!(flag, Value::SimpleString(flag) if flag == "readonly"))
}
