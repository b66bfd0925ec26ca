//! One Redis server.
//!
//! One connection carries the commands of all requests, pipelined. Scripts that are not known to be
//! quick take turns on another, and what is large on a third. Commands that make Redis hold back what
//! follows travel on a connection that is theirs alone while they run; there is one for all who listen
//! to messages, and one for questions about Redis' health.
//!
//! A command is sent once. When its outcome was not learned, that is the answer: to send it again
//! might do it twice.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::budget::Budget;
use crate::bulk::Bulk;
use crate::dial::{Connection, NoConnection, Server, of_one};
use crate::hub::{Hub, Listener, NotListening};
use crate::lost::Lost;
use crate::overdue::Overdue;
use crate::pace::{self, Load, Pace};
use crate::rarely::Rarely;
use crate::reply::Failure;
use crate::reused::{Reusable as _, Reused};
use crate::subscribe::Topic;

/// A connection that takes longer to open is a failure, so that a dead Redis is reported soon.
const DIAL: Duration = Duration::from_secs(1);

/// How many transactions run at once. Others wait for their turn.
const TRANSACTIONS: usize = 16;

/// How many large requests, or requests for large answers, are with Redis at once. Others wait for their turn.
const LARGE_AT_ONCE: usize = 4;

/// How many idle connections are kept for the next commands that need one to themselves.
const SPARES: usize = 16;

#[derive(Clone)]
pub(crate) struct Limits {
    /// Of the wait for an answer.
    pub(crate) timeout: Duration,
    /// How many requests may wait for replicas at once.
    pub(crate) waits: usize,
    /// What messages share with all requests and answers.
    pub(crate) budget: Budget,
}

pub(crate) struct Node {
    server: Server,
    limits: Limits,
    commands: Reused<Connection>,
    scripts: Reused<Connection>,
    large: Reused<Connection>,
    health: Reused<Connection>,
    messages: Reused<Hub>,
    spares: Mutex<Vec<Connection>>,
    /// For the script that runs apart from other commands.
    turn: Semaphore,
    /// For what is large.
    large_turns: Semaphore,
    waits: Semaphore,
    transactions: Semaphore,
    pace: Pace,
    bulk: Bulk,
    overdue: Overdue,
    /// Why Redis cannot be reached, if it cannot.
    away: Mutex<Option<String>>,
    read_only: RwLock<HashSet<Vec<u8>>>,
}

impl Node {
    pub(crate) fn new(server: Server, limits: Limits) -> Self {
        Self {
            server,
            commands: Reused::default(),
            scripts: Reused::default(),
            large: Reused::default(),
            health: Reused::default(),
            messages: Reused::default(),
            spares: Mutex::default(),
            turn: Semaphore::new(1),
            large_turns: Semaphore::new(LARGE_AT_ONCE),
            waits: Semaphore::new(limits.waits),
            limits,
            transactions: Semaphore::new(TRANSACTIONS),
            pace: Pace::default(),
            bulk: Bulk::default(),
            overdue: Overdue::default(),
            away: Mutex::default(),
            read_only: RwLock::default(),
        }
    }

    /// Sends the commands in one piece, and returns a reply for each.
    pub(crate) async fn run(&self, commands: &Arc<Pipeline>) -> Result<Vec<Value>, Lost> {
        let load = self.pace.load(commands);
        match load {
            Load {
                waits_from: Some(first),
                ..
            } => self.wait_for_replicas(commands, first, load.is_quick).await,
            Load { is_quick: true, .. } => self.together(commands, load).await,
            _ => self.apart(commands, load).await,
        }
    }

    /// With everybody else's, or with what is as large.
    async fn together(&self, commands: &Arc<Pipeline>, load: Load) -> Result<Vec<Value>, Lost> {
        let (connections, _turn) = match self.bulk.expects(commands) {
            true => {
                let turn = self.within_time(&self.large_turns, Lost::NoTurn).await?;
                (&self.large, Some(turn))
            }
            false => (&self.commands, None),
        };
        let shared = connections.get(self.dial()).await?;
        let under_way = self.overdue.under_way(&load);
        let answered = ask(&shared.value, commands).await;
        under_way.ended(&answered);
        match &answered {
            Ok(replies) => self.bulk.answered(commands, replies),
            Err(_) => {
                self.pace.doubt(&load.scripts);
                if connections.forget(&shared) {
                    self.spares().clear();
                }
            }
        }
        answered
    }

    /// One script at a time.
    async fn apart(&self, commands: &Pipeline, load: Load) -> Result<Vec<Value>, Lost> {
        let _turn = self.within_time(&self.turn, Lost::NoTurn).await?;
        let apart = self.scripts.get(self.dial()).await?;
        let replies = self.measured(&apart.value, commands, load).await;
        if replies.is_err() {
            self.scripts.forget(&apart);
        }
        replies
    }

    /// Alone, from the command `first` on, which waits.
    async fn wait_for_replicas(
        &self,
        commands: &Arc<Pipeline>,
        first: usize,
        is_quick: bool,
    ) -> Result<Vec<Value>, Lost> {
        let _place = (self.waits.try_acquire()).map_err(|_| Lost::TooManyWaits)?;
        let connection = self.spare().await?;
        let mut replies = Vec::new();
        let (before, after) = split(commands, first);
        let mut waiting = commands;
        if !is_quick {
            let turn = self.within_time(&self.turn, Lost::NoTurn).await?;
            let load = self.pace.load(&before);
            replies = self.measured(&connection, &before, load).await?;
            waiting = &after;
            // The next one may run while this one waits.
            drop(turn);
        }
        let answered = ask(&connection, waiting).await;
        replies.extend(answered.map_err(|lost| match replies.is_empty() {
            true => lost,
            false => lost.of_a_part(),
        })?);
        self.keep(connection);
        Ok(replies)
    }

    async fn measured(
        &self,
        connection: &Connection,
        commands: &Pipeline,
        load: Load,
    ) -> Result<Vec<Value>, Lost> {
        let timed = Arc::new(pace::timed(commands.cmd_iter()));
        let under_way = self.overdue.under_way(&load);
        let answered = ask(connection, &timed).await;
        under_way.ended(&answered);
        let mut replies = answered?;
        if let Some(lasted) = pace::taken(&mut replies) {
            self.pace.ran(load.scripts, lasted);
        }
        Ok(replies)
    }

    /// Runs the commands between MULTI and EXEC. The replies are those of the commands when they
    /// were queued, then EXEC's.
    ///
    /// MULTI's own answer is awaited first: where Redis refuses it, to an account that may not, the
    /// commands that follow would be carried out one by one.
    pub(crate) async fn transact(&self, mut commands: Pipeline) -> Result<Vec<Value>, Lost> {
        let load = self.pace.load(&commands);
        let _place = self.within_time(&self.transactions, Lost::NoTurn).await?;
        let _turn = match load.is_quick {
            true => None,
            false => Some(self.within_time(&self.turn, Lost::NoTurn).await?),
        };
        let connection = self.spare().await?;
        let begun = ask(&connection, &of_one("MULTI")).await?;
        if !matches!(begun[..], [Value::Okay]) {
            return Ok(begun);
        }
        let under_way = self.overdue.under_way(&load);
        commands.cmd("EXEC");
        let answered = ask(&connection, &Arc::new(commands)).await;
        under_way.ended(&answered);
        let replies = answered?;
        self.keep(connection);
        Ok(replies)
    }

    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, Failure> {
        let opening = async {
            let messages = self.within_dial(self.server.messages()).await?;
            Ok(Hub::on(
                messages,
                self.limits.timeout,
                self.limits.budget.clone(),
            ))
        };
        let hub = self.messages.get(opening).await?;
        hub.value.listen(topic).await.map_err(|not| match not {
            NotListening::Lost => {
                self.messages.forget(&hub);
                Lost::Unreachable.into()
            }
            NotListening::Refused(error) => match (error.code(), error.detail()) {
                (Some(code), Some(detail)) if code != "NOAUTH" => {
                    Failure::bad_request(format!("{code} {detail}"))
                }
                _ => self.unreachable(&error.into()).into(),
            },
        })
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
        let reads = flagged_read_only(&self.run(&Arc::new(question)).await?);
        if reads {
            let mut known = self
                .read_only
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            known.insert(name.to_vec());
        }
        Ok(reads)
    }

    /// What keeps Redis from its work, if it does not answer now, or answers that it is busy.
    pub(crate) async fn trouble(&self) -> Option<&'static str> {
        match timeout(DIAL, self.asked_for_health()).await {
            Ok(Ok((Value::SimpleString(pong), _))) if pong == "PONG" => None,
            Ok(Ok((Value::ServerError(refused), _))) if refused.code() == "BUSY" => {
                Some("ERR a script keeps Redis busy")
            }
            _ => Some("ERR Redis does not answer"),
        }
    }

    /// Ends a script that keeps Redis busy, if it is one of the bridge's.
    ///
    /// Redis says that it is busy once the script has run for its `busy-reply-threshold`, and is the
    /// one who judges: before that, and of a script that has written, it ends none.
    pub(crate) async fn end_overdue_scripts(&self) {
        let Ok((answer, connection)) = self.asked_for_health().await else {
            return;
        };
        if let Some(kill) = self.overdue.to_be_ended(&answer) {
            let told = connection.ask(Arc::new(kill)).await;
            self.overdue.told(told.as_deref());
        }
    }

    async fn asked_for_health(&self) -> Result<(Value, Connection), Lost> {
        let health = self.health.get(self.dial()).await?;
        let answered = health.value.ask(of_one("PING")).await;
        match answered.map(|mut replies| replies.pop()) {
            Ok(Some(answer)) => Ok((answer, health.value)),
            _ => {
                self.health.forget(&health);
                Err(Lost::Broken)
            }
        }
    }

    /// A connection that fails at this is let go, and the next one to ask opens a new one.
    pub(crate) async fn ping(&self) -> Result<Vec<Value>, Lost> {
        self.run(&of_one("PING")).await
    }

    async fn within_time<'a>(
        &self,
        places: &'a Semaphore,
        otherwise: Lost,
    ) -> Result<SemaphorePermit<'a>, Lost> {
        match timeout(self.limits.timeout, places.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(otherwise),
        }
    }

    async fn spare(&self) -> Result<Connection, Lost> {
        let kept = {
            let mut spares = self.spares();
            spares.retain(Connection::is_open);
            spares.pop()
        };
        match kept {
            Some(connection) => Ok(connection),
            None => self.dial().await,
        }
    }

    fn keep(&self, connection: Connection) {
        let mut spares = self.spares();
        if spares.len() < SPARES {
            spares.push(connection);
        }
    }

    async fn dial(&self) -> Result<Connection, Lost> {
        self.within_dial(self.server.connection(self.limits.timeout))
            .await
    }

    async fn within_dial<T>(
        &self,
        opening: impl Future<Output = Result<T, NoConnection>>,
    ) -> Result<T, Lost> {
        let opened = timeout(DIAL, opening).await;
        let opened = opened
            .unwrap_or_else(|_| Err(NoConnection::Other(format!("no answer within {DIAL:?}"))));
        let opened = opened.map_err(|reason| self.unreachable(&reason))?;
        if self.away().take().is_some() {
            tracing::info!("redis is back");
        }
        Ok(opened)
    }

    /// Says so in the log, once for each reason until Redis is back.
    fn unreachable(&self, reason: &NoConnection) -> Lost {
        let text = reason.to_string();
        let known = self.away().replace(text.clone());
        if known.as_ref() != Some(&text) {
            tracing::error!(%reason, "redis cannot be reached");
        }
        match reason {
            NoConnection::NoPassword | NoConnection::WrongPassword => Lost::NotLetIn,
            NoConnection::Other(_) => Lost::Unreachable,
        }
    }

    fn spares(&self) -> MutexGuard<'_, Vec<Connection>> {
        self.spares.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn away(&self) -> MutexGuard<'_, Option<String>> {
        self.away.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// At the command `first`.
fn split(commands: &Pipeline, first: usize) -> (Pipeline, Arc<Pipeline>) {
    let mut pieces = (Pipeline::new(), Pipeline::new());
    for (index, command) in commands.cmd_iter().enumerate() {
        let piece = match index < first {
            true => &mut pieces.0,
            false => &mut pieces.1,
        };
        piece.add_command(command.clone());
    }
    (pieces.0, Arc::new(pieces.1))
}

async fn ask(connection: &Connection, commands: &Arc<Pipeline>) -> Result<Vec<Value>, Lost> {
    connection.ask(Arc::clone(commands)).await.map_err(|error| {
        static SAID: Rarely = Rarely::new();
        if let Some(left_out) = SAID.due() {
            tracing::warn!(reason = %error, left_out, "no answer from redis");
        }
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
