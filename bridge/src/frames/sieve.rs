//! Which replies pass, and what takes the place of the others.

#[cfg(test)]
mod tests;

use redis::Value;

use super::awaited::Awaited;

/// Deeper than any reply that means something, and less deep than the library reads.
const DEEPEST: usize = 64;

/// What an element costs the bridge besides its bytes.
const ELEMENT: usize = 64;

#[derive(Default)]
pub(super) struct Sieve {
    largest: usize,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// What is left of a bulk string, which may hold anything.
    bulk: usize,
    /// Whether the connection is one of messages, which nobody awaits.
    pub(super) is_of_messages: bool,
    /// Nothing is passed of the bulk string.
    is_left_away: bool,
    /// How many elements of the reply under way are known to be still to come.
    pending: u64,
    /// How many of them each array around the next one has, outermost first.
    open: Vec<u64>,
    awaited: Awaited,
    /// Replies to the request under way have come.
    is_begun: bool,
    /// What they cost so far.
    cost: usize,
    /// Why the reply under way is left away.
    refused: Option<Refused>,
    pub(super) ready: Vec<u8>,
    /// How much of `ready` are whole replies.
    pub(super) whole: usize,
}

#[derive(Clone, Copy)]
enum Refused {
    TooDeep,
    TooLarge,
}

impl Sieve {
    pub(super) fn new(largest: usize, awaited: Awaited) -> Self {
        Self {
            largest,
            awaited,
            ..Self::default()
        }
    }

    pub(super) fn take(&mut self, mut bytes: &[u8]) {
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
        if !std::mem::replace(&mut self.is_begun, true) {
            self.cost = self.awaited.spent();
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
        self.is_begun = !self.awaited.arrived();
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

const TOO_LARGE: &str = "TOOLARGE";

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

/// What a reply costs that passed, and whether one did not.
pub(crate) fn cost(reply: &Value) -> usize {
    let content = match reply {
        Value::BulkString(bytes) => bytes.len(),
        Value::Array(items) => items.iter().map(cost).fold(0, usize::saturating_add),
        // Then none of the same request passes any more.
        Value::ServerError(refused) if refused.code() == TOO_LARGE => usize::MAX,
        _ => 0,
    };
    content.saturating_add(ELEMENT)
}

/// What a line says behind its first character, unless that is nil's -1.
fn length(line: &[u8]) -> Option<usize> {
    str::from_utf8(&line[1..]).ok()?.trim_end().parse().ok()
}
