//! One Redis server.
//!
//! One connection carries the commands of all requests, pipelined. Other connections carry:
//!
//! - scripts that are not known to be quick, one at a time;
//! - large requests and answers;
//! - commands that make Redis hold back what follows, each alone while it runs;
//! - all subscriptions;
//! - questions about Redis' health.
//!
//! A command is sent once. If its outcome could not be learned, that is the answer: sending it
//! again might execute it twice.

mod alone;
mod digest;
mod health;
mod reach;
mod rights;
mod turns;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use std::{fmt, io};

use parking_lot::{Mutex, RwLock};
use redis::{Pipeline, Value};
use tokio::sync::{Semaphore, SemaphorePermit, mpsc};
use tokio::time::{Instant, timeout, timeout_at};

use self::turns::{Turn, Turns};
use crate::budget::Limits;
use crate::bulk::Bulk;
use crate::command;
use crate::dial::{NoConnection, Server};
use crate::hub::{Hub, Listener, NotListening};
use crate::link::{self, Link};
use crate::no_reply::NoReply;
use crate::overdue::Overdue;
use crate::rarely::Rarely;
use crate::reused::Reused;
use crate::script_classifier::{self, Load, ScriptClassifier};
use crate::topic::Topic;

/// How many requests may wait for replicas at once.
const WAITS: usize = 64;

/// How many transactions run at once. Others wait for their turn.
const TRANSACTIONS: usize = 16;

/// How many large requests, or requests for large answers, are with Redis at once. Others wait for
/// their turn.
const LARGE_AT_ONCE: usize = 4;

/// How many commands the first piece of a request has, and any has at most. Redis serves nobody
/// else while it executes what arrived in one piece. Ten thousand commands of a tenth of a second
/// each would keep all others waiting for a quarter of an hour, even if their client is long gone.
const PIECES: [usize; 2] = [8, 32];

/// After a piece that took longer, the next one is a single command.
const SLOW: Duration = Duration::from_millis(100);

/// If an answer takes this much longer than Redis is away, the request's scripts run apart until
/// they show that they are quick. Scripts of other requests may have been the cause.
const DOUBTFUL: Duration = Duration::from_millis(250);

pub(crate) struct Node {
    server: Server,
    limits: Limits,
    commands: Reused<Link>,
    scripts: Reused<Link>,
    large: Reused<Link>,
    health: Reused<Link>,
    messages: Reused<Hub>,
    spares: Mutex<Vec<Link>>,
    /// Of scripts that run apart from other commands.
    turns: Turns,
    large_turns: Semaphore,
    waits: Semaphore,
    transactions: Semaphore,
    classifier: ScriptClassifier,
    bulk: Bulk,
    /// Whether the bridge's user may send scripts by their SHA-1, as far as is known.
    takes_digests: AtomicBool,
    overdue: Overdue,
    /// The shortest time, in microseconds, in which Redis answered.
    shortest_us: AtomicU64,
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
            turns: Turns::new(),
            large_turns: Semaphore::new(LARGE_AT_ONCE),
            waits: Semaphore::new(WAITS),
            limits,
            transactions: Semaphore::new(TRANSACTIONS),
            classifier: ScriptClassifier::default(),
            bulk: Bulk::default(),
            takes_digests: AtomicBool::new(true),
            overdue: Overdue::default(),
            shortest_us: AtomicU64::new(u64::MAX),
            away: Mutex::default(),
            read_only: RwLock::default(),
        }
    }

    /// Sends the commands, and returns a reply for each.
    pub(crate) async fn run(&self, commands: &Arc<Pipeline>) -> Result<Vec<Value>, NoReply> {
        let load = self.classifier.load(commands);
        // Most requests take the second arm. What the other arms need is allocated only for them.
        match load {
            Load { waits: true, .. } => {
                Box::pin(self.wait_for_replicas(commands, load.is_quick)).await
            }
            Load { is_quick: true, .. } => self.by_digest(commands, &load).await,
            _ => Box::pin(self.apart(commands, load)).await,
        }
    }

    /// Runs the commands with those of all other clients, or with other large ones.
    async fn together(&self, commands: &Arc<Pipeline>, load: &Load) -> Result<Vec<Value>, NoReply> {
        self.turns.count_other();
        let (connections, _turn) = match self.bulk.expects(commands) {
            true => {
                let turn = self.within_time(&self.large_turns).await?;
                (&self.large, Some(turn))
            }
            false => (&self.commands, None),
        };
        let opened = || {
            // The server, or what it lets the bridge's user do, may be another now.
            self.takes_digests.store(true, Ordering::Relaxed);
            self.dial()
        };
        let shared = connections.get(opened).await?;
        let answered = self.ask(&shared, commands, load, false).await;
        match &answered {
            Ok(replies) => self.bulk.answered(commands, replies),
            Err(lost) if !lost.was_sent() => {}
            Err(_) => {
                self.classifier.doubt(&load.scripts);
                if connections.forget(&shared) {
                    self.spares.lock().clear();
                }
            }
        }
        answered
    }

    /// One script at a time.
    async fn apart(&self, commands: &Arc<Pipeline>, load: Load) -> Result<Vec<Value>, NoReply> {
        let _turn = self.turn(&load).await?;
        let apart = self.scripts.get(|| self.dial()).await?;
        let replies = self.ask(&apart, commands, &load, true).await;
        if replies.as_ref().is_err_and(|lost| lost.was_sent()) {
            self.scripts.forget(&apart);
        }
        replies
    }

    pub(crate) async fn listen(&self, topic: Topic) -> Result<Listener, NotListening> {
        let opening = || async {
            let (messages, heard) = mpsc::unbounded_channel();
            let link = self.opened(Some(messages)).await?;
            Ok(Hub::on(link, heard, self.limits.clone()))
        };
        let hub = self.messages.get(opening).await?;
        let listening = hub.listen(topic).await;
        match &listening {
            Err(NotListening::NoReply(_)) => drop(self.messages.forget(&hub)),
            Err(NotListening::Refused(refused)) if refused.code() == "NOAUTH" => {
                return Err(self.unreachable(NoConnection::said(refused)).into());
            }
            _ => {}
        }
        listening
    }

    /// Sends piece by piece, for as long as a request may take. `load` is that of the request, and
    /// `are_timed` says whether its scripts must show how long they take.
    async fn ask(
        &self,
        connection: &Link,
        commands: &Arc<Pipeline>,
        load: &Load,
        are_timed: bool,
    ) -> Result<Vec<Value>, NoReply> {
        let mut sent = Instant::now();
        let ends = sent + self.limits.timeout;
        let (mut replies, mut spent, [mut size, most]) = (Vec::new(), 0_usize, PIECES);
        let mut not_judged = load.scripts.iter();
        while replies.len() < commands.len() {
            let piece = piece(commands, replies.len(), size);
            let under_way = (!load.scripts.is_empty()).then(|| self.overdue.under_way());
            let timed = match are_timed {
                true => Arc::new(script_classifier::timed(&piece)),
                false => Arc::clone(&piece),
            };
            let asked = send(connection, &timed, spent);
            let answered = match replies.is_empty() {
                true => asked.await,
                false => timeout_at(ends, asked).await.unwrap_or_else(|_| {
                    tell_of_no_answer(&"timed out");
                    Err(NoReply::Late)
                }),
            };
            if let Some(under_way) = under_way {
                under_way.ended(&answered);
            }
            let answered = answered.map_err(|lost| lost.behind(&replies))?;
            let took = sent.elapsed();
            sent += took;
            if took > DOUBTFUL + self.distance(took) {
                self.classifier.doubt(&load.scripts);
            }
            size = match took > SLOW {
                true => 1,
                false => (2 * size).min(most),
            };
            if commands.len() > piece.len() {
                spent = spent.saturating_add(link::cost(&answered));
            }
            replies.extend(match are_timed {
                true => self.classifier.judge(&piece, answered, &mut not_judged),
                false => answered,
            });
        }
        Ok(replies)
    }

    /// How far away Redis is: the shortest time to an answer so far, `took` included.
    fn distance(&self, took: Duration) -> Duration {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let shortest = self.shortest_us.fetch_min(took, Ordering::Relaxed);
        Duration::from_micros(shortest.min(took))
    }

    async fn turn(&self, load: &Load) -> Result<Turn<'_>, NoReply> {
        self.turns.take(load.was_quick, self.limits.timeout).await
    }

    async fn within_time<'a>(&self, places: &'a Semaphore) -> Result<SemaphorePermit<'a>, NoReply> {
        match timeout(self.limits.timeout, places.acquire()).await {
            Ok(Ok(place)) => Ok(place),
            _ => Err(NoReply::NoTurn),
        }
    }
}

/// So many of the commands, without the first few.
fn piece(commands: &Arc<Pipeline>, from: usize, size: usize) -> Arc<Pipeline> {
    if from == 0 && commands.len() <= size {
        return Arc::clone(commands);
    }
    command::of(commands.cmd_iter().skip(from).take(size))
}

/// In one piece.
async fn send(
    connection: &Link,
    commands: &Arc<Pipeline>,
    spent: usize,
) -> Result<Vec<Value>, NoReply> {
    if connection.is_full() {
        return Err(NoReply::NoTurn);
    }
    let answered = connection.go_on(Arc::clone(commands), spent).await;
    answered.map_err(|error| {
        tell_of_no_answer(&error);
        match error {
            io::ErrorKind::TimedOut => NoReply::Late,
            _ => NoReply::Broken,
        }
    })
}

fn tell_of_no_answer(reason: &dyn fmt::Display) {
    static SAID: Rarely = Rarely::new();
    if let Some(left_out) = SAID.due() {
        tracing::warn!(%reason, left_out, "no answer from redis");
    }
}
