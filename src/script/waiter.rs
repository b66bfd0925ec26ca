//! A waiter's place in the queue, and the message of a hand-over.

use std::time::Duration;

use crate::command::{Reply, Word, Words};
use crate::outside::number;
use crate::redact;
use crate::resp;
use crate::token::Token;

/// A place in the queue, or how one would stand in it.
#[derive(Clone)]
pub(crate) struct Waiter {
    /// Whether it is in the queue from its first request on.
    pub(crate) queues: bool,
    pub(crate) token: Token,
    /// For how long it asks.
    pub(crate) ttl: Duration,
    /// How long it counts as alive after each time it asks.
    pub(crate) liveness: Duration,
    pub(crate) fair: bool,
    /// What it wants of the lock, as its kind stores it.
    pub(crate) wants: String,
    pub(crate) label: String,
    /// On which it may be told of its turn.
    pub(crate) channel: Option<String>,
}

impl Waiter {
    /// Its stored form. Behind the token is how long it has the lock if it is handed over.
    pub(super) fn add_to(&self, words: &mut Words) {
        let (token, fairness) = (self.token.expose(), fairness(self.fair));
        let [granted, ttl] =
            [self.ttl.min(self.liveness), self.ttl].map(|time| time.as_millis() as u64);
        let (wants, label) = (&self.wants, &self.label);
        let channel = self.channel.as_deref().unwrap_or_default();
        words.add_formatted(
            Word::Argument,
            format_args!("v1 {token} {granted} {fairness}{wants} {ttl} {label} {channel}"),
        );
    }
}

pub(super) const fn fairness(fair: bool) -> &'static str {
    if fair { "f" } else { "b" }
}

/// What a release tells the waiter that now has the lock.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Handover {
    pub(crate) fence: u64,
    pub(crate) left: Left,
}

/// What the last holder left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    /// Redis's clock at the hand-over, in microseconds.
    pub(crate) redis_us: u64,
    /// Reads, as their words, and what they found.
    pub(crate) found: Vec<(Vec<String>, Reply)>,
}

/// Whether a message says only that the lock may be free. Any other is about a lock that is the
/// waiter's, or may be.
pub(crate) fn may_be_free(message: &str) -> bool {
    message == "0"
}

/// Reads the message of a hand-over that leaves nothing to ask for.
pub(crate) fn handed_over(message: &str) -> Option<Handover> {
    let mut words = message.splitn(3, ' ');
    let (fence, redis_us) = (number(words.next()?)?, number(words.next()?)?);
    let found = words.next().map_or_else(|| Some(Vec::new()), found)?;
    let left = Left { redis_us, found };
    Some(Handover { fence, left })
}

/// The reads, each as the number of its words and the words, and then what each found.
fn found(text: &str) -> Option<Vec<(Vec<String>, Reply)>> {
    let lines = redact::replaced(text, "%n", "\r\n");
    let mut replies = resp::parse(&lines)?.into_iter();
    let reads = replies.next()?;
    let mut words = reads.as_array()?.iter().map(Reply::as_str);
    let mut found = Vec::new();
    for reply in replies {
        let count = number(words.next()??)?;
        let read = (0..count).map(|_| Some(words.next()??.to_owned()));
        found.push((read.collect::<Option<_>>()?, reply));
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hand_over_tells_what_the_last_holder_left() {
        let left = |found| {
            let left = Left { redis_us: 8, found };
            Some(Handover { fence: 7, left })
        };
        assert_eq!(handed_over("7 8"), left(Vec::new()));
        let read = |words: &[&str], reply| (words.iter().map(ToString::to_string).collect(), reply);
        assert_eq!(
            handed_over("7 8 *5%n$1%n2%n$3%nGET%n$3%na b%n$1%n1%n$6%nDBSIZE%n$2%n%256%n:0%n"),
            left(vec![
                read(&["GET", "a b"], Reply::Bytes(b"%6".to_vec())),
                read(&["DBSIZE"], Reply::Int(0)),
            ])
        );
        for damaged in [
            "",
            "0",
            "1",
            "7",
            "x 8",
            "7 x",
            "7 8 ",
            "7 8 +OK%n",
            "7 8 *1%n$1%n2%n:0%n",
            "7 8 *2%n$20%n18446744073709551615%n$1%na%n:0%n",
            "7 8 *1%n$1%n0%n$9%nx%n",
        ] {
            assert_eq!(handed_over(damaged), None, "{damaged}");
        }
    }
}
