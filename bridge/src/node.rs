//! One Redis server.
//!
//! One connection carries the commands of all requests, pipelined. Scripts that are not known to be
//! quick take turns on another, and what is large on a third. Commands that make Redis hold back what
//! follows travel on a connection that is theirs alone while they run; there is one for all who listen
//! to messages, and one for questions about Redis' health.
//!
//! A command is sent once. When its outcome was not learned, that is the answer: to send it again
//! might do it twice.

mod health;
mod reach;
mod rights;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

use redis::{Pipeline, Value};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::budget::Budget;
use crate::bulk::Bulk;
use crate::dial::{Connection, Server, of_one};
use crate::hub::{Hub, Listener, NotListening};
use crate::lost::Lost;
use crate::overdue::Overdue;
use crate::pace::{self, Load, Pace};
use crate::rarely::Rarely;
use crate::reply::Failure;
use crate::reused::Reused;
use crate::subscribe::Topic;

/// How many transactions run at once. Others wait for their turn.
const TRANSACTIONS: usize = 16;

/// How many large requests, or requests for large answers, are with Redis at once. Others wait for their turn.
const LARGE_AT_ONCE: usize = 4;

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
            Err(lost) if !lost.was_sent() => {}
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
        if replies.as_ref().is_err_and(|lost| lost.was_sent()) {
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
        let (replies, lasted) = pace::taken(commands, answered?);
        self.pace.ran(&load.scripts, &lasted);
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
    if connection.is_full() {
        return Err(Lost::NoTurn);
    }
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
