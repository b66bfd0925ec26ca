//! Upstash's server-sent events, line by line.
//!
//! `data: subscribe,<channel>,1` comes once the subscription is active, then `data:
//! message,<channel>,<payload>` for each message. Comments and all other lines are skipped
//! (<https://upstash.com/docs/redis/features/restapi>).

use super::Push;

/// No line of ours is longer. Of a longer one the rest is skipped.
const LONGEST_LINE: usize = 4096;

/// Parses a stream whose pieces end anywhere.
pub(super) struct Events {
    channel: String,
    line: Vec<u8>,
}

impl Events {
    pub(super) const fn new(channel: String) -> Self {
        Self {
            channel,
            line: Vec::new(),
        }
    }

    pub(super) fn read(&mut self, piece: &[u8], hear: &mut dyn FnMut(Push)) {
        for &byte in piece {
            if byte != b'\n' {
                if self.line.len() < LONGEST_LINE {
                    self.line.push(byte);
                }
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if let Some(push) = std::str::from_utf8(&line)
                .ok()
                .and_then(|line| self.push(line))
            {
                hear(push);
            }
        }
    }

    /// What a line says of this channel. A line about another channel is ignored.
    fn push(&self, line: &str) -> Option<Push> {
        let data = line.trim_end_matches('\r').strip_prefix("data:")?;
        let (kind, rest) = data.trim_start().split_once(',')?;
        let rest = rest.strip_prefix(&self.channel)?.strip_prefix(',')?;
        match kind {
            "subscribe" => Some(Push::Listening),
            "message" => Some(Push::Message(rest.to_owned())),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pieces: &[&str], expected: &[Push]) {
        let mut events = Events::new("{a}:wake:x".into());
        let mut heard = Vec::new();
        for piece in pieces {
            events.read(piece.as_bytes(), &mut |push| heard.push(push));
        }
        assert_eq!(heard, expected);
    }

    fn message(text: &str) -> Push {
        Push::Message(text.into())
    }

    #[test]
    fn a_subscription_and_its_messages_are_heard() {
        let stream =
            "data: subscribe,{a}:wake:x,1\n\n: ping\n\ndata: message,{a}:wake:x,7 8, and 9\r\n\n";
        let expected = [Push::Listening, message("7 8, and 9")];
        check(&[stream], &expected);
        let bytes: Vec<String> = stream.chars().map(String::from).collect();
        let bytes: Vec<&str> = bytes.iter().map(String::as_str).collect();
        check(&bytes, &expected);
    }

    #[test]
    fn what_is_of_another_channel_or_no_event_is_skipped() {
        check(
            &[
                "data: message,{a}:wake:y,7 8\n",
                "data: message,{a}:wake:xx,7 8\n",
                "event: message\n",
                "data: message\n",
                "data: {\"error\":\"no\"}\n",
            ],
            &[],
        );
    }

    #[test]
    fn a_line_without_end_is_not_kept() {
        let mut events = Events::new("x".into());
        for _ in 0..100 {
            events.read(&[b'a'; 1000], &mut |_| panic!("nothing was said"));
        }
        assert!(events.line.len() <= LONGEST_LINE);
        let mut heard = Vec::new();
        events.read(b"\ndata: message,x,7\n", &mut |push| heard.push(push));
        assert_eq!(heard, [message("7")]);
    }
}
