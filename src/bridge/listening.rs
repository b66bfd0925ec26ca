//! Listening to a channel: whether a bridge lets one, the request, and the parser of its response.
//!
//! Upstash sends server-sent events, line by line: `data: subscribe,<channel>,1` once the
//! subscription is active, then `data: message,<channel>,<payload>` for each message. Comments and
//! all other lines are skipped (<https://upstash.com/docs/redis/features/restapi>).
//!
//! Webdis sends JSON objects one after the other, with nothing between them:
//! `{"SUBSCRIBE":["subscribe","<channel>",1]}`, then
//! `{"SUBSCRIBE":["message","<channel>","<payload>"]}`. Of messages that came at once the last one
//! is sent first.

use std::time::Duration;

use super::{Bridge, Dialect, Post, json, upstash, webdis};
use crate::transport::Response;

/// A message of a subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// From now on no message is missed.
    Listening,
    /// Somebody published this.
    Message(String),
}

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
        let (url, body) = match self.dialect {
            Dialect::Upstash => (Some(upstash::subscription(&self.url, channel)), String::new()),
            Dialect::Webdis => (None, webdis::body(&["SUBSCRIBE", channel])),
        };
        let post = Post { url, body, listens: true, timeout, waits: true };
        (post, Listening::new(self.dialect, channel))
    }

    /// Whether a response with this status suggests that the bridge has no subscriptions at all.
    pub(crate) const fn may_never_push(status: u16) -> bool {
        matches!(status, 400 | 403..=405 | 501)
    }
}

/// No part of ours is longer. Of a longer one the rest is skipped.
const LONGEST: usize = 4096;

/// A parser of a subscription's response, whose pieces end anywhere.
pub(crate) struct Listening {
    dialect: Dialect,
    channel: String,
    /// The line or the object that has begun.
    part: Vec<u8>,
    is_in_string: bool,
    is_escaped: bool,
}

impl Listening {
    fn new(dialect: Dialect, channel: &str) -> Self {
        Self {
            dialect,
            channel: channel.to_owned(),
            part: Vec::new(),
            is_in_string: false,
            is_escaped: false,
        }
    }

    #[inline(never)]
    pub(crate) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        for &byte in piece {
            if self.part.len() < LONGEST {
                self.part.push(byte);
            }
            let is_whole = match self.dialect {
                Dialect::Upstash => byte == b'\n',
                Dialect::Webdis => self.ends_object(byte),
            };
            if is_whole {
                let part = std::mem::take(&mut self.part);
                let part = std::str::from_utf8(&part).ok();
                if let Some(push) = part.and_then(|part| self.push(part)) {
                    hear(push);
                }
            }
        }
    }

    /// Objects do not nest.
    const fn ends_object(&mut self, byte: u8) -> bool {
        match byte {
            _ if self.is_escaped => self.is_escaped = false,
            b'\\' => self.is_escaped = true,
            b'"' => self.is_in_string = !self.is_in_string,
            _ => {}
        }
        byte == b'}' && !self.is_in_string
    }

    /// What a line or an object says of this channel. One about another channel is ignored.
    fn push(&self, part: &str) -> Option<Push> {
        match self.dialect {
            Dialect::Upstash => {
                let data = part.trim_end_matches(['\r', '\n']).strip_prefix("data:")?;
                let (kind, rest) = data.trim_start().split_once(',')?;
                let payload = rest.strip_prefix(&self.channel)?.strip_prefix(',')?;
                said(kind, Some(payload))
            }
            Dialect::Webdis => {
                let said_of = json::members(part)?.subscribe;
                let [kind, channel, payload] = said_of.as_array()? else {
                    return None;
                };
                let is_ours = channel.as_str()? == self.channel;
                said(kind.as_str().filter(|_| is_ours)?, payload.as_str())
            }
        }
    }
}

fn said(kind: &str, payload: Option<&str>) -> Option<Push> {
    match kind {
        "subscribe" => Some(Push::Listening),
        "message" => Some(Push::Message(payload?.to_owned())),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(dialect: Dialect, pieces: &[&str], expected: &[Push]) {
        let mut stream = Listening::new(dialect, "{a}:wake:x");
        let mut heard = Vec::new();
        for piece in pieces {
            stream.read(piece.as_bytes(), &mut |push| heard.push(push));
        }
        assert_eq!(heard, expected);
    }

    fn message(text: &str) -> Push {
        Push::Message(text.into())
    }

    #[test]
    fn a_subscription_and_its_messages_are_heard_wherever_the_pieces_end() {
        let upstash =
            "data: subscribe,{a}:wake:x,1\n\n: ping\n\ndata: message,{a}:wake:x,7 8, and 9\r\n\n";
        let webdis = concat!(
            r#"{"SUBSCRIBE":["subscribe","{a}:wake:x",1]}"#,
            r#"{"SUBSCRIBE":["message","{a}:wake:x","7 \"}\\"]}"#,
            "\r\n",
            r#"{"SUBSCRIBE":["message","{a}:wake:x","0"]}"#
        );
        let [first, second] = [message("7 \"}\\"), message("0")];
        for (dialect, stream, expected) in [
            (Dialect::Upstash, upstash, &[Push::Listening, message("7 8, and 9")][..]),
            (Dialect::Webdis, webdis, &[Push::Listening, first, second]),
        ] {
            check(dialect, &[stream], expected);
            let bytes: Vec<String> = stream.chars().map(String::from).collect();
            let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
            check(dialect, &bytes, expected);
        }
    }

    #[test]
    fn what_is_of_another_channel_or_another_client_is_skipped() {
        check(
            Dialect::Upstash,
            &[
                "data: message,{a}:wake:y,7 8\n",
                "data: message,{a}:wake:xx,7 8\n",
                "event: message\n",
                "data: message\n",
                "data: {\"error\":\"no\"}\n",
            ],
            &[],
        );
        check(
            Dialect::Webdis,
            &[
                r#"{"SUBSCRIBE":["message","{a}:wake:y","7 8"]}"#,
                r#"{"SUBSCRIBE":["message","{a}:wake:x"]}"#,
                r#"{"SUBSCRIBE":["message","{a}:wake:x",7]}"#,
                r#"{"EVAL":[1,"x.1"]}"#,
                r#"{"SUBSCRIBE":[false,"ERR no"]}"#,
                "}}",
            ],
            &[],
        );
    }

    #[test]
    fn a_part_without_end_is_not_kept() {
        for dialect in [Dialect::Upstash, Dialect::Webdis] {
            let mut stream = Listening::new(dialect, "x");
            for _ in 0..100 {
                stream.read(&[b'a'; 1000], &mut |_| panic!("nothing was said"));
            }
            assert!(stream.part.len() <= LONGEST);
        }
        let mut stream = Listening::new(Dialect::Upstash, "x");
        stream.read(&[b'a'; 5000], &mut |_| panic!("nothing was said"));
        let mut heard = Vec::new();
        stream.read(b"\ndata: message,x,7\n", &mut |push| heard.push(push));
        assert_eq!(heard, [message("7")]);
    }
}
