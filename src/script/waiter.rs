//! A place in the queue, and what whoever stands there hears when it is its turn.

use std::time::Duration;

use super::call::millis;
use crate::token::Token;

/// A place in the queue.
#[derive(Clone)]
pub(crate) struct Waiter {
    /// For how long it counts as alive after each time it asks.
    pub(crate) liveness: Duration,
    /// What it is in the queue: its token, for how long it is to have the lock when it is handed over, its manner and what it wants, the ttl
    /// that it asks for, its label, and where it listens.
    pub(super) text: String,
}

impl Waiter {
    #[expect(
        clippy::too_many_arguments,
        reason = "the words of a line, in their order"
    )]
    pub(crate) fn new(
        token: &Token,
        granted: Duration,
        ttl: Duration,
        liveness: Duration,
        fair: bool,
        wants: &str,
        label: &str,
        channel: Option<&str>,
    ) -> Self {
        let (token, ms, manner) = (token.expose(), millis(granted), manner(fair));
        let ttl = millis(ttl);
        let channel = channel.unwrap_or_default();
        Self {
            liveness,
            text: format!("{token} {ms} {manner}{wants} {ttl} {label} {channel}"),
        }
    }
}

pub(super) const fn manner(fair: bool) -> &'static str {
    if fair { "f" } else { "b" }
}

/// What a release tells the waiter that has the lock now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) fence: u64,
    /// Redis's clock when it happened, in microseconds.
    pub(crate) redis_us: u64,
}

/// Reads the message of a release; any other only says that the lock may be free.
pub(crate) fn handed_over(message: &str) -> Option<Handover> {
    let (fence, redis_us) = message.split_once(' ')?;
    Some(Handover {
        fence: fence.parse().ok()?,
        redis_us: redis_us.parse().ok()?,
    })
}
