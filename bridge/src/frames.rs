//! Makes every reply of Redis one that the Redis library can read, and the bridge can hold.
//!
//! Redis cuts long arguments when it quotes them in an error, through the middle of a character if need be; scripts put any bytes
//! they like into errors and status replies, and nest their replies as deep as they like. The library gives a connection up on
//! which it reads such a thing. And a reply may be larger than all memory. Connections are shared: one client's reply would cost
//! all others theirs. So a reply passes as a whole or not at all, and an error takes the place of one that does not. The replies of
//! one request are held together, and count together.

use std::collections::VecDeque;
use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Deeper than any reply that means something, and less deep than the library reads.
const DEEPEST: usize = 64;

/// What an element costs the bridge besides its bytes.
const ELEMENT: usize = 64;

/// More than this is not kept for the next replies.
const KEPT: usize = 64 * 1024;

/// Passes replies on as they are, but for errors and status replies, where U+FFFD replaces what is not UTF-8, and for those that are
/// nested too deep, or of more than `largest` bytes with those of the same request.
pub(crate) struct Frames<S> {
    inner: S,
    sieve: Sieve,
    given: usize,
}

/// How many replies each request awaits, in the order in which they were sent. What no request awaits counts for itself.
#[derive(Clone, Default)]
pub(crate) struct Awaited(Arc<Mutex<VecDeque<usize>>>);

#[derive(Default)]
struct Sieve {
    largest: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// What is left of a bulk string, which may hold anything.
    bulk: usize,
    /// Whether the connection is one of messages, which nobody awaits.
    is_of_messages: bool,
    /// Nothing is passed of the bulk string.
    is_left_away: bool,
    /// How many elements of the reply under way are known to be still to come.
    pending: u64,
    /// How many of them each array around the next one has, outermost first.
    open: Vec<u64>,
    awaited: Awaited,
    /// What the replies to the request under way cost so far.
    cost: usize,
    /// Why the reply under way is left away.
    refused: Option<Refused>,
    ready: Vec<u8>,
    /// How much of `ready` are whole replies.
    whole: usize,
}

#[derive(Clone, Copy)]
enum Refused {
    TooDeep,
    TooLarge,
}

impl<S> Frames<S> {
    /// For a connection of messages.
    pub(crate) fn of_messages(inner: S, largest: usize) -> Self {
        let mut frames = Self::new(inner, largest, Awaited::default());
        frames.sieve.is_of_messages = true;
        frames
    }

    pub(crate) fn new(inner: S, largest: usize, awaited: Awaited) -> Self {
        Self {
            inner,
            sieve: Sieve {
                largest,
                awaited,
                ..Sieve::default()
            },
            given: 0,
        }
    }
}

impl Awaited {
    /// To be called right before the request is sent.
    pub(crate) fn expect(&self, replies: usize) {
        if replies > 0 {
            self.requests().push_back(replies);
        }
    }

    /// Whether the reply that arrived was the last one to its request.
    fn arrived(&self) -> bool {
        let mut requests = self.requests();
        match requests.front_mut() {
            Some(left) if *left > 1 => {
                *left -= 1;
                false
            }
            _ => {
                requests.pop_front();
                true
            }
        }
    }

    fn requests(&self) -> MutexGuard<'_, VecDeque<usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sieve {
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.bulk > 0 {
                let (content, rest) = bytes.split_at(self.bulk.min(bytes.len()));
                if !self.is_left_away {
                    self.pass(content);
                }
                self.bulk -= content.len();
                bytes = rest;
                if self.bulk == 0 {
                    self.is_left_away = false;
                    self.end_of_element();
                }
                continue;
            }
            let end = bytes
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |at| at + 1);
            let (piece, rest) = bytes.split_at(end);
            bytes = rest;
            if piece.len() > self.largest.saturating_sub(self.line.len()) {
                // What kind of line it is is all that still counts.
                self.refuse(Refused::TooLarge);
                self.line.push(piece[0]);
                self.line.truncate(1);
            } else {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                let line = std::mem::take(&mut self.line);
                self.line_of(&line);
                self.line = line;
                self.line.clear();
            }
        }
    }

    fn line_of(&mut self, line: &[u8]) {
        if self.pending == 0 {
            self.pending = 1;
        }
        self.charge(ELEMENT);
        match line[0] {
            b'+' | b'-' => self.pass(String::from_utf8_lossy(line).as_bytes()),
            b'$' => {
                // No length is -1, for nil; the content of any other ends with CR and LF.
                if let Some(length) = length(line) {
                    self.bulk = length.saturating_add(2);
                    // The payload of a message is its last element: whoever listens to that channel is told by its absence.
                    let is_payload = self.is_of_messages && self.pending == 1;
                    if is_payload && length > self.largest.saturating_sub(self.cost) {
                        self.is_left_away = true;
                        self.pass(b"$-1\r\n");
                        return;
                    }
                    // Known in advance: of what is too large nothing is kept.
                    self.charge(length);
                    self.pass(line);
                    return;
                }
                self.pass(line);
            }
            b'*' => {
                self.pass(line);
                if let Some(elements) = length(line).filter(|elements| *elements > 0) {
                    self.pending = self.pending.saturating_add(elements as u64 - 1);
                    self.open.push(elements as u64);
                    if self.open.len() > DEEPEST {
                        self.refuse(Refused::TooDeep);
                    }
                    if self.refused.is_some() {
                        self.open.clear();
                    }
                    return;
                }
            }
            _ => self.pass(line),
        }
        self.end_of_element();
    }

    fn end_of_element(&mut self) {
        self.pending -= 1;
        while let Some(left) = self.open.last_mut() {
            *left -= 1;
            if *left > 0 {
                break;
            }
            self.open.pop();
        }
        if self.pending > 0 {
            return;
        }
        if let Some(refused) = self.refused.take() {
            let instead = match self.is_of_messages {
                true => NO_MESSAGE,
                false => refused.reply(),
            };
            self.ready.extend_from_slice(instead);
        }
        if self.awaited.arrived() {
            self.cost = 0;
        }
        self.whole = self.ready.len();
    }

    fn charge(&mut self, cost: usize) {
        self.cost = self.cost.saturating_add(cost);
        if self.cost > self.largest {
            self.refuse(Refused::TooLarge);
        }
    }

    fn refuse(&mut self, refused: Refused) {
        self.refused.get_or_insert(refused);
        self.ready.truncate(self.whole);
    }

    fn pass(&mut self, bytes: &[u8]) {
        if self.refused.is_none() {
            self.ready.extend_from_slice(bytes);
        }
    }
}

/// On a channel to which nobody listens.
const NO_MESSAGE: &[u8] = b"*3\r\n$7\r\nmessage\r\n$0\r\n\r\n$0\r\n\r\n";

impl Refused {
    const fn reply(self) -> &'static [u8] {
        match self {
            Self::TooDeep => b"-TOODEEP the reply is nested deeper than the bridge passes on; the command was executed\r\n",
            Self::TooLarge => b"-TOOLARGE the answer is larger than --max-reply allows; the command was executed\r\n",
        }
    }
}

/// What a line says behind its first character, unless that is nil's -1.
fn length(line: &[u8]) -> Option<usize> {
    str::from_utf8(&line[1..]).ok()?.trim_end().parse().ok()
}

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sieve = &mut this.sieve;
        while this.given == sieve.whole {
            let mut chunk = [MaybeUninit::uninit(); 16 * 1024];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            sieve.take(chunk.filled());
        }
        let left = &sieve.ready[this.given..sieve.whole];
        let now = left.len().min(out.remaining());
        out.put_slice(&left[..now]);
        this.given += now;
        if this.given == sieve.whole {
            sieve.ready.drain(..sieve.whole);
            sieve.ready.shrink_to(KEPT);
            sieve.whole = 0;
            this.given = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arrives: &[u8], expected: &[u8]) {
        for size in [1, 2, 3, 7, 64, 1_000, arrives.len()] {
            let mut sieve = Sieve {
                largest: 10_000,
                ..Sieve::default()
            };
            arrives.chunks(size).for_each(|chunk| sieve.take(chunk));
            let passed = &sieve.ready[..sieve.whole];
            assert!(
                passed == expected,
                "in pieces of {size}: {}",
                passed.escape_ascii()
            );
        }
    }

    fn text(text: impl AsRef<[u8]>) -> Vec<u8> {
        let text = text.as_ref();
        [format!("${}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat()
    }

    #[test]
    fn errors_and_statuses_become_utf8() {
        check(
            b"-ERR caf\xc3\r\n+\xff\r\n",
            "-ERR caf\u{fffd}\r\n+\u{fffd}\r\n".as_bytes(),
        );
        check("-ERR café\r\n".as_bytes(), "-ERR café\r\n".as_bytes());
    }

    #[test]
    fn values_stay_as_they_are_whatever_they_look_like() {
        let values = b"*3\r\n$6\r\n-\xff\r\n+\xfe\r\n:-7\r\n$-1\r\n$0\r\n\r\n";
        check(values, values);
        let nested = b"*2\r\n*0\r\n*3\r\n*-1\r\n:1\r\n*1\r\n+x\r\n:2\r\n";
        check(nested, nested);
    }

    #[test]
    fn a_reply_passes_once_it_is_whole() {
        check(b":1\r\n*2\r\n:1\r\n$3\r\nab", b":1\r\n");
    }

    #[test]
    fn what_is_nested_too_deep_is_one_error_and_what_follows_passes() {
        let deep = |depth| [b"*2\r\n:0\r\n".repeat(depth), b"+end\r\n".to_vec()].concat();
        check(&deep(DEEPEST), &deep(DEEPEST));
        for depth in [DEEPEST + 1, 500] {
            let arrives = [&deep(depth)[..], b":7\r\n", &deep(depth)].concat();
            let refused = Refused::TooDeep.reply();
            check(&arrives, &[refused, b":7\r\n", refused].concat());
        }
    }

    #[test]
    fn nothing_is_kept_of_what_does_not_pass() {
        let mut sieve = Sieve {
            largest: 10_000,
            ..Sieve::default()
        };
        for _ in 0..100_000 {
            sieve.take(b"*2\r\n$5\r\nhello\r\n*1\r\n");
        }
        for _ in 0..100_000 {
            sieve.take(b"+a line without an end");
        }
        let kept = sieve.ready.capacity() + sieve.line.capacity() + 8 * sieve.open.capacity();
        assert!(kept < 100_000, "{kept}");
    }

    #[test]
    fn of_a_message_that_is_too_large_only_the_payload_is_left_away() {
        let message = |channel: &str, payload: Vec<u8>| {
            [b"*3\r\n$7\r\nmessage\r\n".to_vec(), text(channel), payload].concat()
        };
        let mut sieve = Sieve {
            largest: 10_000,
            is_of_messages: true,
            ..Sieve::default()
        };
        let arrives = [
            message("a", text("x".repeat(10_000))),
            message("b", text("y")),
            message(&"c".repeat(10_000), text("z")),
        ];
        arrives
            .concat()
            .chunks(7)
            .for_each(|chunk| sieve.take(chunk));
        let passed = [
            message("a", b"$-1\r\n".to_vec()),
            message("b", text("y")),
            NO_MESSAGE.to_vec(),
        ];
        assert!(
            sieve.ready == passed.concat(),
            "{}",
            sieve.ready.escape_ascii()
        );
    }

    #[test]
    fn replies_to_one_request_count_together() {
        let piece = text("x".repeat(4_000));
        let refused = Refused::TooLarge.reply();
        let mut sieve = Sieve {
            largest: 10_000,
            ..Sieve::default()
        };
        for replies in [2, 4, 1] {
            sieve.awaited.expect(replies);
        }
        sieve.take(&piece.repeat(8));
        let passed = [
            piece.repeat(4),
            [refused, refused].concat(),
            piece.repeat(2),
        ];
        assert_eq!(
            sieve.ready.escape_ascii().to_string(),
            passed.concat().escape_ascii().to_string()
        );
    }

    #[test]
    fn what_is_too_large_is_one_error_and_what_follows_passes() {
        let largest = text("x".repeat(10_000 - ELEMENT));
        check(&largest, &largest);
        let refused = Refused::TooLarge.reply();
        let elements = |count: usize| {
            [
                format!("*{count}\r\n").into_bytes(),
                b":1\r\n".repeat(count),
            ]
            .concat()
        };
        for too_large in [
            text("x".repeat(10_001 - ELEMENT)),
            text("x\r\n".repeat(100_000)),
            elements(200),
            [b"+".to_vec(), b"x".repeat(30_000), b"\r\n".to_vec()].concat(),
            [
                b"*3\r\n".to_vec(),
                text("x".repeat(9_000)),
                text("x".repeat(900)),
                elements(3),
            ]
            .concat(),
        ] {
            let arrives = [&too_large[..], b":7\r\n", &too_large, b"$-1\r\n"].concat();
            check(
                &arrives,
                &[refused, b":7\r\n", refused, b"$-1\r\n"].concat(),
            );
        }
    }
}
