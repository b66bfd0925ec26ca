//! Waiting for another holder, and for a bridge that is away.

use std::pin::pin;
use std::time::Duration;

use super::{Asked, Attempt, Found, Grant};
use crate::client::Client;
use crate::error::Error;
use crate::event::EventKind;
use crate::lease;
use crate::line::{Came, Line, Mailbox};
use crate::runtime::{Moment, Runtime};
use crate::script::{self, Handover};
use crate::transport::Transport;
use crate::wait::{self, Wait};

/// A subscription that takes longer is still taken, but meanwhile the waiter polls.
const CONNECTED_WITHIN: Duration = Duration::from_secs(1);

/// A wait under way.
struct Waiting<'a, F, L> {
    plan: Wait,
    line: Line<'a, F, L>,
    /// Until when it counts as listening while it connects.
    connected_by: Moment,
    /// When to listen again after the stream has ended.
    listen_at: Option<Moment>,
    /// What the last answer said.
    found: Option<Found>,
}

/// What a pause ends with.
enum Next {
    Ask,
    Take(Grant),
    GiveUp,
}

/// What a message is worth beside an answer.
enum Told {
    Granted(Grant),
    /// The answer is the later one.
    Superseded,
    /// The lock is free, or this waiter's, but it takes a request to have it.
    News,
}

impl<T: Transport, R: Runtime> Attempt<T, R> {
    /// Asks whenever there is reason to, until the lock is granted or the wait is over. `last` is what the first request came to.
    pub(super) async fn wait(
        &mut self,
        wait: Duration,
        mut last: Result<Found, Error>,
    ) -> Result<Grant, Error> {
        let client = self.claim.client.clone();
        let runtime = client.runtime();
        let end = self.claim.since + wait;
        let channel = self.channel.take();
        let mailbox = Mailbox::default();
        let connect = || {
            // It ends when it is dropped. What its transport is told is for the case that this is forgotten.
            let left = end.since(runtime.now());
            let limit = left.saturating_add(client.request_limit());
            hear(&client, channel.as_deref(), limit, &mailbox)
        };
        let tries = self.patience.max_requests / self.claim.kind.requests_of_a_try();
        let stream = pin!(None);
        let mut waiting = Waiting {
            plan: Wait::new(end, wait, wait::liveness(self.claim.ttl), tries),
            line: Line::new(stream, connect, &mailbox),
            connected_by: end,
            listen_at: None,
            found: None,
        };
        let mut unknown = None;
        loop {
            let now = runtime.now();
            let due = match &last {
                Ok(found) => {
                    unknown = None;
                    let is_first = waiting.found.replace(found.clone()).is_none();
                    if is_first && now < end && self.tries_left() > 0 {
                        self.begin(&mut waiting, channel.is_some());
                    }
                    None
                }
                Err(error) => {
                    if error.is_unknown() {
                        unknown = Some(error.clone());
                    }
                    let left = self.tries_left();
                    let Some(pause) = waiting.plan.pause_after(runtime, error, left) else {
                        break;
                    };
                    self.waits = true;
                    self.claim.observe(EventKind::Retried { error, pause });
                    Some(now + pause)
                }
            };
            match self.pause(&mut waiting, due).await {
                Next::Take(grant) => return Ok(grant),
                Next::Ask if self.tries_left() > 0 => {}
                Next::Ask | Next::GiveUp => break,
            }
            last = match self.ask_while_listening(&mut waiting).await {
                Ok(Asked::Granted(grant)) => return Ok(grant),
                Ok(Asked::Held(found)) => Ok(found),
                Err(error) if error.ends() => Err(error),
                Err(error) => return Err(error),
            };
        }
        Err(match last {
            Ok(Found { contended, .. }) => {
                let estimate = waiting.plan.estimate(&contended, runtime.now());
                self.held(contended, estimate)
            }
            Err(error) => match unknown {
                Some(unknown) => error.behind(unknown),
                None => error,
            },
        })
    }

    /// Another holds the lock, and there is time and leave to wait for it.
    fn begin<F: Future<Output = ()>, L: Fn() -> F>(
        &mut self,
        waiting: &mut Waiting<'_, F, L>,
        listens: bool,
    ) {
        let Some(Found { contended, .. }) = &waiting.found else {
            return;
        };
        self.waits = true;
        self.claim.observe(EventKind::Contended {
            remaining: contended.remaining,
            ahead: contended.ahead,
        });
        if listens && self.claim.client.pushes() {
            self.requests += 1;
            waiting.line.open();
            waiting.connected_by = self.claim.client.runtime().now() + CONNECTED_WITHIN;
        }
    }

    /// Waits until there is reason to ask: `due` if the last request got lost.
    async fn pause<F: Future<Output = ()>, L: Fn() -> F>(
        &mut self,
        waiting: &mut Waiting<'_, F, L>,
        due: Option<Moment>,
    ) -> Next {
        let client = self.claim.client.clone();
        let runtime = client.runtime();
        let mut planned = None;
        loop {
            let now = runtime.now();
            let listen_at = self.listen_again(waiting, now);
            let connecting = waiting.line.is_connecting() && now < waiting.connected_by;
            let hears = connecting || waiting.line.is_listening();
            let ask_at = match (due, planned) {
                (Some(due), _) => due,
                // What it hears has not changed.
                (None, Some((heard, at))) if heard == hears => at,
                _ => {
                    let Some(pause) = self.until_next_ask(waiting, now, hears) else {
                        return Next::GiveUp;
                    };
                    let at = match connecting {
                        true => (now + pause).min(waiting.connected_by),
                        false => now + pause,
                    };
                    planned = Some((hears, at));
                    at
                }
            };
            let wake_at = listen_at.map_or(ask_at, |at| at.min(ask_at));
            let sleep = runtime.sleep(wake_at.since(now));
            match waiting.line.during(sleep).await {
                Came::Message(message) => {
                    self.look_again().await;
                    let told = waiting
                        .found
                        .as_ref()
                        .map(|found| self.judge(&message, found));
                    return match told {
                        Some(Told::Granted(grant)) => Next::Take(grant),
                        _ => Next::Ask,
                    };
                }
                // The lock may have been freed before anybody could be told. If there are others ahead, the first takes it, and hands it
                // on.
                Came::Listening if due.is_none() && self.is_first(waiting) => return Next::Ask,
                Came::Done(()) if wake_at == ask_at => return Next::Ask,
                Came::Listening | Came::Closed | Came::Done(()) => {}
            }
        }
    }

    /// How long it is until the next request, if it `hears` or does not; `None` if none is to come.
    fn until_next_ask<F, L>(
        &self,
        waiting: &mut Waiting<'_, F, L>,
        now: Moment,
        hears: bool,
    ) -> Option<Duration> {
        let found = waiting.found.as_ref()?;
        let left = self.tries_left();
        if left == 0 {
            let rest = waiting.plan.rest(now, found.asked_at);
            return rest.filter(|_| hears && self.takes_over);
        }
        let runtime = self.claim.client.runtime();
        (waiting.plan).pause(runtime, &found.contended, found.round_trip, hears, left)
    }

    /// Listens again, if it is time; when it will be, if that is yet to come.
    fn listen_again<F: Future<Output = ()>, L: Fn() -> F>(
        &mut self,
        waiting: &mut Waiting<'_, F, L>,
        now: Moment,
    ) -> Option<Moment> {
        let client = &self.claim.client;
        // One request to listen, and one to ask once it does.
        if !waiting.line.is_closed() || self.requests_left() < 2 || !client.pushes() {
            return None;
        }
        let mut pause = || waiting.plan.pause_before_listening(client.runtime());
        let at = *waiting.listen_at.get_or_insert_with(|| now + pause());
        if at > now {
            return Some(at);
        }
        waiting.listen_at = None;
        self.requests += 1;
        waiting.line.open();
        None
    }

    fn is_first<F, L>(&self, waiting: &Waiting<'_, F, L>) -> bool {
        let is_first = |found: &Found| found.contended.ahead == 0;
        waiting.found.as_ref().is_some_and(is_first) && self.tries_left() > 0
    }

    /// Asks, and again where what was heard meanwhile may have come after the answer.
    async fn ask_while_listening<F: Future<Output = ()>, L: Fn() -> F>(
        &mut self,
        waiting: &mut Waiting<'_, F, L>,
    ) -> Result<Asked, Error> {
        loop {
            let mut message = None;
            let mut again = false;
            let asked = {
                let mut asking = pin!(self.ask());
                loop {
                    match waiting.line.during(asking.as_mut()).await {
                        Came::Done(asked) => break asked,
                        Came::Message(text) => message = Some(text),
                        Came::Listening => again = true,
                        Came::Closed => {}
                    }
                }
            };
            match &asked {
                Ok(Asked::Granted(_)) => return asked,
                Ok(Asked::Held(found)) => waiting.found = Some(found.clone()),
                // A message is judged by the answer before.
                Err(error) if error.is_passing() && message.is_some() => {}
                Err(_) => return asked,
            }
            if message.is_some() {
                self.look_again().await;
            }
            let told = (message.as_deref().zip(waiting.found.as_ref()))
                .map(|(message, found)| self.judge(message, found));
            let again = match told {
                Some(Told::Granted(grant)) => return Ok(Asked::Granted(grant)),
                Some(Told::News) => true,
                Some(Told::Superseded) | None => again && self.is_first(waiting),
            };
            // Also one who hears of its turn: the last request leaves at the end of the wait.
            let is_over = waiting.plan.is_over(self.claim.client.runtime().now());
            if !again || is_over || asked.is_err() || self.tries_left() == 0 {
                return asked;
            }
        }
    }

    /// There may be something to read by now, which a hand-over does not bring.
    async fn look_again(&mut self) {
        if self.takes_over && self.update().await.is_err() {
            self.takes_over = false;
        }
    }

    /// What `message` says beside the answer `found`: the lease that a release handed over, if nothing more is to be asked for.
    ///
    /// When that is over is reckoned from this waiter's own request, by Redis's clock: never from the arrival of a message that
    /// may have been on its way for long. Should that clock have jumped, from the arrival.
    fn judge(&self, message: &str, found: &Found) -> Told {
        let Some(Handover { fence, redis_us }) = script::handed_over(message) else {
            return Told::News;
        };
        let since_answer = redis_us.saturating_sub(found.contended.redis_us);
        if since_answer == 0 {
            return Told::Superseded;
        }
        let ttl = self.claim.ttl;
        let now = self.claim.client.runtime().now();
        let reckoned = lease::deadline(
            found.asked_at,
            Duration::from_micros(since_answer).saturating_add(ttl),
        );
        let deadline = reckoned.min(lease::deadline(now, ttl));
        // One that is half over is worth a request that makes it whole.
        if !self.takes_over || deadline.since(now) < ttl / 2 {
            return Told::News;
        }
        Told::Granted(Grant {
            deadline,
            fence,
            replies: Vec::new(),
        })
    }
}

/// Listens to `channel`, and puts into `mailbox` what it says.
async fn hear<T: Transport, R: Runtime>(
    client: &Client<T, R>,
    channel: Option<&str>,
    limit: Duration,
    mailbox: &Mailbox,
) {
    let mut hear = |push| mailbox.put(push);
    if let Some(channel) = channel {
        client.listen(channel, limit, &mut hear).await;
    }
}
