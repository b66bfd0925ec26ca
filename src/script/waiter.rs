//! A waiter's place in the queue, and the message of a hand-over.

use std::time::Duration;

use super::call::millis;
use crate::outside::number;
use crate::token::Token;

/// A place in the queue.
#[derive(Clone)]
pub(crate) struct Waiter {
    /// How long it counts as alive after each time it asks.
    pub(crate) liveness: Duration,
    /// Its stored form: its token, how long it has the lock if it is handed over, its fairness and
    /// what it wants, the ttl that it asks for, its label, and its channel.
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
        let (token, ms, fairness) = (token.expose(), millis(granted), fairness(fair));
        let ttl = millis(ttl);
        let channel = channel.unwrap_or_default();
        Self {
            liveness,
            text: [
                "v1 ", token, " ", &ms, " ", fairness, wants, " ", &ttl, " ", label, " ", channel,
            ]
            .concat(),
        }
    }
}

pub(super) const fn fairness(fair: bool) -> &'static str {
    if fair { "f" } else { "b" }
}

/// What a release tells the waiter that now has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) fence: u64,
    /// Redis's clock when it happened, in microseconds.
    pub(crate) redis_us: u64,
}

/// Whether a message says only that the lock may be free. Any other is about a lock that is the
/// waiter's, or may be.
pub(crate) fn may_be_free(message: &str) -> bool {
    message == "0"
}

/// Reads the message of a hand-over that leaves nothing to ask for.
pub(crate) fn handed_over(message: &str) -> Option<Handover> {
    let (fence, redis_us) = message.split_once(' ')?;
    Some(Handover {
        fence: number(fence)?,
        redis_us: number(redis_us)?,
    })
}
