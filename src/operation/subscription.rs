//! Listens to a channel: of a waiter, or of a holder.

use std::sync::Arc;
use std::time::Duration;

use super::{Cx, Id, Input};
use crate::bridge::{Bridge, Listening, Push};
use crate::runtime::Instant;
use crate::topology::{Endpoint, Topology};

/// A subscription, which can be opened again after it has ended.
pub(super) struct Subscription {
    channel: Option<String>,
    open: Option<Open>,
}

struct Open {
    id: Id,
    endpoint: Arc<Endpoint>,
    stream: Listening,
    /// The bridge has said that from now on no message is missed.
    is_confirmed: bool,
}

/// What came on the stream.
pub(super) enum Wakeup {
    /// From now on no message is missed.
    Confirmed,
    Message(String),
    /// The stream ended. Until the next one is open, messages are missed.
    Closed,
}

impl Subscription {
    /// Sends nothing until [`Subscription::open`]. Without a channel there is nothing to listen to.
    pub(super) const fn new(channel: Option<String>) -> Self {
        Self { channel, open: None }
    }

    /// From when on it may listen: `None` without a channel, or a bridge that supports listening.
    pub(super) fn possible_from(&self, topology: &Topology) -> Option<Instant> {
        self.channel.as_ref()?;
        Some(topology.push_endpoint()?.listen_at())
    }

    /// Sends one request. The stream ends with its driver. `limit` is for a driver that is
    /// forgotten.
    pub(super) fn open(&mut self, cx: &mut Cx<'_>, topology: &Topology, limit: Duration) {
        let (Some(channel), Some(endpoint)) = (&self.channel, topology.push_endpoint()) else {
            return;
        };
        let (post, stream) = endpoint.bridge.listen(channel, limit);
        self.open = Some(Open {
            id: cx.listen(endpoint, post),
            endpoint: endpoint.clone(),
            stream,
            is_confirmed: false,
        });
    }

    pub(super) const fn is_connecting(&self) -> bool {
        matches!(&self.open, Some(open) if !open.is_confirmed)
    }

    pub(super) const fn is_listening(&self) -> bool {
        matches!(&self.open, Some(open) if open.is_confirmed)
    }

    /// It was not opened, or has ended and was not opened again.
    pub(super) const fn is_closed(&self) -> bool {
        self.open.is_none()
    }

    /// What `input` says, if it is about this subscription.
    pub(super) fn on(&mut self, now: Instant, input: &Input) -> Option<Wakeup> {
        let open = self.open.as_mut()?;
        match input {
            Input::Received(of, piece) if *of == open.id => {
                let push = last_of(&mut open.stream, piece)?;
                open.is_confirmed = true;
                open.endpoint.pushed();
                Some(match push {
                    Push::Listening => Wakeup::Confirmed,
                    Push::Message(message) => Wakeup::Message(message),
                })
            }
            Input::Ended(of, ended) if *of == open.id => {
                // However the stream ends, whoever listens goes on asking from time to time.
                if matches!(ended, Ok(status) if Bridge::may_never_push(*status)) {
                    open.endpoint.refused_to_push(now);
                }
                self.open = None;
                Some(Wakeup::Closed)
            }
            _ => None,
        }
    }
}

/// What a piece of the stream says. A later message says all that an earlier one did. A waiter that
/// got a message is subscribed: bridges have been seen to send the confirmation after it.
fn last_of(stream: &mut Listening, piece: &[u8]) -> Option<Push> {
    let mut heard = None;
    stream.read(piece, &mut |push| {
        if push != Push::Listening || heard.is_none() {
            heard = Some(push);
        }
    });
    heard
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bridge::Bridge;

    #[test]
    fn a_confirmation_does_not_hide_the_message_before_it() {
        let bridge = Bridge::upstash("https://bridge.example", "credential").unwrap();
        let (_, mut stream) = bridge.listen("c", Duration::from_secs(1));
        let piece = b"data: subscribe,c,1\n\ndata: message,c,7 8\n\ndata: subscribe,c,1\n\n";
        let heard = last_of(&mut stream, piece);
        assert_eq!(heard, Some(Push::Message("7 8".into())));
        let heard = last_of(&mut stream, b"data: subscribe,c,1\n\n");
        assert_eq!(heard, Some(Push::Listening));
    }
}
