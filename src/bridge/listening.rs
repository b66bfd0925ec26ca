//! Listening to a channel: whether a bridge lets one, the request, and the parser of its response.

use std::time::Duration;

use super::events::Events;
use super::objects::Objects;
use super::{Bridge, Dialect, Post, Push, upstash, webdis};
use crate::transport::Response;

impl Bridge {
    /// Whether to listen to it, whatever it says of itself.
    pub(crate) const fn pushes(&self) -> Option<bool> {
        self.push
    }

    /// Whether a bridge says that it supports listening.
    pub(crate) fn says_it_pushes(response: &Response) -> bool {
        let said = response.bridge.as_deref().unwrap_or_default();
        said.split(',').any(|word| word.trim() == "push")
    }

    /// A request that listens to `channel` for as long as `timeout`, and the parser of its
    /// response.
    pub(crate) fn listen(&self, channel: &str, timeout: Duration) -> (Post, Listening) {
        let heard = channel.to_owned();
        let (url, body, stream) = match self.dialect {
            Dialect::Upstash => {
                let url = upstash::subscription(&self.url, channel);
                (
                    Some(url),
                    String::new(),
                    Stream::Upstash(Events::new(heard)),
                )
            }
            Dialect::Webdis => {
                let body = webdis::body(&["SUBSCRIBE", channel]);
                (None, body, Stream::Webdis(Objects::new(heard)))
            }
        };
        let post = Post {
            url,
            body,
            listens: true,
            timeout,
        };
        (post, Listening(stream))
    }

    /// Whether a response with this status suggests that the bridge has no subscriptions at all.
    pub(crate) const fn may_never_push(status: u16) -> bool {
        matches!(status, 400 | 403..=405 | 501)
    }
}

/// A parser of a subscription's response, fed piece by piece.
pub(crate) struct Listening(Stream);

enum Stream {
    Upstash(Events),
    Webdis(Objects),
}

impl Listening {
    #[inline(never)]
    pub(crate) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        match &mut self.0 {
            Stream::Upstash(events) => events.read(piece, hear),
            Stream::Webdis(objects) => objects.read(piece, hear),
        }
    }
}
