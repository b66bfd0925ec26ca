//! Webdis's subscription: JSON objects one after the other, with nothing between them.
//!
//! `{"SUBSCRIBE":["subscribe","<channel>",1]}` comes once the subscription is active, then
//! `{"SUBSCRIBE":["message","<channel>","<payload>"]}` for each message. Of messages that came at
//! once the last one is sent first.

use super::{Push, json};

/// No object of ours is longer. A longer one is not kept.
const LONGEST: usize = 4096;

/// Parses a stream whose pieces end anywhere.
pub(super) struct Objects {
    channel: String,
    object: Vec<u8>,
    is_in_string: bool,
    is_escaped: bool,
}

impl Objects {
    pub(super) const fn new(channel: String) -> Self {
        Self {
            channel,
            object: Vec::new(),
            is_in_string: false,
            is_escaped: false,
        }
    }

    pub(super) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        for &byte in piece {
            if self.object.len() < LONGEST {
                self.object.push(byte);
            }
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'"' => self.is_in_string = !self.is_in_string,
                // They do not nest.
                b'}' if !self.is_in_string => {
                    let object = std::mem::take(&mut self.object);
                    if let Some(push) = std::str::from_utf8(&object)
                        .ok()
                        .and_then(|object| self.push(object))
                    {
                        hear(push);
                    }
                }
                _ => {}
            }
        }
    }

    /// What an object says of this channel. An object about another channel is ignored.
    fn push(&self, object: &str) -> Option<Push> {
        let said = json::members(object, &["SUBSCRIBE"])?.pop()?;
        let [kind, channel, payload] = said.as_array()? else {
            return None;
        };
        if channel.as_str()? != self.channel {
            return None;
        }
        match kind.as_str()? {
            "subscribe" => Some(Push::Listening),
            "message" => payload
                .as_str()
                .map(|payload| Push::Message(payload.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &[Push]) {
        let mut objects = Objects::new("{a}:wake:x".into());
        let mut heard = Vec::new();
        for piece in pieces {
            objects.read(piece.as_bytes(), &mut |push| heard.push(push));
        }
        assert_eq!(heard, expected);
    }

    #[test]
    fn a_subscription_and_its_messages_are_heard_wherever_the_pieces_end() {
        let stream = concat!(
            r#"{"SUBSCRIBE":["subscribe","{a}:wake:x",1]}"#,
            r#"{"SUBSCRIBE":["message","{a}:wake:x","7 \"}\\"]}"#,
            "\r\n",
            r#"{"SUBSCRIBE":["message","{a}:wake:x","0"]}"#
        );
        let message = |text: &str| Push::Message(text.into());
        let expected = [Push::Listening, message("7 \"}\\"), message("0")];
        check(&[stream], &expected);
        let bytes: Vec<String> = stream.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        check(&bytes, &expected);
    }

    #[test]
    fn what_is_of_another_channel_or_another_client_is_skipped() {
        check(
            &[
                r#"{"SUBSCRIBE":["message","{a}:wake:y","7 8"]}"#,
                r#"{"SUBSCRIBE":["message","{a}:wake:x"]}"#,
                r#"{"EVAL":[1,"x.1"]}"#,
                r#"{"SUBSCRIBE":[false,"ERR no"]}"#,
                "}}",
            ],
            &[],
        );
    }

    #[test]
    fn an_object_without_end_is_not_kept() {
        let mut objects = Objects::new("x".into());
        for _ in 0..100 {
            objects.read(&[b'a'; 1000], &mut |_| panic!("nothing was said"));
        }
        assert!(objects.object.len() <= LONGEST);
    }
}
