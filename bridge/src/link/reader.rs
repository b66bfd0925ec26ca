//! From bytes to replies.
//!
//! - Redis cuts long arguments when it quotes them in an error, if need be in the middle of a
//!   character.
//! - Scripts put any bytes into errors and status replies, and nest their replies at any depth.
//! - A reply may be larger than all memory.
//!
//! Connections are shared, so one client's reply must cost the others nothing. So a reply is passed
//! on as a whole or not at all. An error replaces a reply that is nested too deep, or that is too
//! large together with the others to the same request.

#[cfg(test)]
mod fuzz;
#[cfg(test)]
mod tests;

use redis::{Value, parse_redis_value};

/// Deeper than any useful reply.
const DEEPEST: usize = 64;

/// What an element counts for, in bytes, besides its own bytes.
const ELEMENT: usize = 64;

/// The longest line that holds a number and not a text, in bytes.
const LONGEST_NUMBER: usize = 32;

/// These bytes are not of the protocol, so nobody knows what follows.
#[derive(Debug)]
pub(super) struct Malformed;

pub(super) struct Reader {
    largest: usize,
    /// Whether the connection carries messages. Nobody awaits a message. So of one that is too
    /// large only the payload is dropped: the listeners of that channel learn from its absence.
    is_of_messages: bool,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    bulk: Option<Bulk>,
    /// How many elements of the current reply are known to be missing.
    pending: u64,
    /// The arrays around the next element, outermost first.
    open: Vec<Open>,
    /// Why the current reply is dropped.
    refused: Option<&'static str>,
}

/// A string of any bytes.
struct Bulk {
    /// The bytes that are missing, with the CR and LF behind it.
    left: usize,
    /// `None` if the reply is dropped.
    content: Option<Vec<u8>>,
}

struct Open {
    items: Vec<Value>,
    left: u64,
}

impl Reader {
    pub(super) const fn new(largest: usize, is_of_messages: bool) -> Self {
        Self {
            largest,
            is_of_messages,
            line: Vec::new(),
            bulk: None,
            pending: 0,
            open: Vec::new(),
            refused: None,
        }
    }

    /// Takes `bytes` up to the end of a reply, or all of them. `cost` is that of the replies to the
    /// same request so far.
    pub(super) fn next(
        &mut self,
        bytes: &mut &[u8],
        cost: &mut usize,
    ) -> Result<Option<Value>, Malformed> {
        while !bytes.is_empty() {
            let element = match self.bulk {
                Some(_) => self.rest_of_bulk(bytes),
                None => self.rest_of_line(bytes, cost)?,
            };
            if let Some(reply) = element.and_then(|element| self.put(element)) {
                return Ok(Some(reply));
            }
        }
        Ok(None)
    }

    fn rest_of_bulk(&mut self, bytes: &mut &[u8]) -> Option<Value> {
        let bulk = self.bulk.as_mut()?;
        let (now, rest) = bytes.split_at(bulk.left.min(bytes.len()));
        *bytes = rest;
        if let Some(content) = &mut bulk.content {
            content.extend_from_slice(&now[..now.len().min(bulk.left.saturating_sub(2))]);
        }
        bulk.left -= now.len();
        if bulk.left > 0 {
            return None;
        }
        let content = self.bulk.take()?.content;
        Some(content.map_or(Value::Nil, Value::BulkString))
    }

    fn rest_of_line(
        &mut self,
        bytes: &mut &[u8],
        cost: &mut usize,
    ) -> Result<Option<Value>, Malformed> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (piece, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
        *bytes = rest;
        if end.is_some() && self.line.is_empty() {
            return self.element(piece, cost);
        }
        self.line.extend_from_slice(piece);
        let is_text = matches!(self.line[0], b'+' | b'-');
        if !is_text && self.line.len() > LONGEST_NUMBER {
            return Err(Malformed);
        }
        if end.is_some() {
            let line = std::mem::take(&mut self.line);
            return self.element(&line, cost);
        }
        if is_text && self.line.len() > self.largest {
            // Only the kind of line still matters.
            self.refuse(TOO_LARGE);
            self.line.truncate(1);
        }
        Ok(None)
    }

    /// The value of a line; `None` if its element is not complete, or is an array.
    fn element(&mut self, line: &[u8], cost: &mut usize) -> Result<Option<Value>, Malformed> {
        if self.pending == 0 {
            self.pending = 1;
        }
        self.charge(ELEMENT, cost);
        let (kind, said) = line.split_first().ok_or(Malformed)?;
        let is_text = matches!(kind, b'+' | b'-');
        if is_text && self.refused.is_some() {
            // The reply is dropped, and may not be whole.
            return Ok(Some(Value::Nil));
        }
        let said = said.strip_suffix(b"\r\n").ok_or(Malformed)?;
        if is_text {
            // Longer than what arrived, if that is not UTF-8: U+FFFD replaces such bytes.
            let text = String::from_utf8_lossy(said).into_owned();
            self.charge(text.len(), cost);
            return Ok(Some(match kind {
                b'-' => error(&text),
                _ if text == "OK" => Value::Okay,
                _ => Value::SimpleString(text),
            }));
        }
        match (kind, number(said).ok_or(Malformed)?) {
            (b':', number) => return Ok(Some(Value::Int(number))),
            (b'$' | b'*', -1) => return Ok(Some(Value::Nil)),
            (b'*', 0) => return Ok(Some(Value::Array(Vec::new()))),
            (b'$', length) => {
                self.begin_bulk(usize::try_from(length).map_err(|_| Malformed)?, cost);
            }
            (b'*', left) => self.begin_array(u64::try_from(left).map_err(|_| Malformed)?),
            _ => return Err(Malformed),
        }
        Ok(None)
    }

    fn begin_bulk(&mut self, length: usize, cost: &mut usize) {
        let is_payload = self.is_of_messages && self.pending == 1;
        let fits = length <= self.largest.saturating_sub(*cost);
        if fits || !is_payload {
            // The length is known in advance, so nothing of a string that is too large is kept.
            self.charge(length, cost);
        }
        let is_kept = fits && self.refused.is_none();
        self.bulk = Some(Bulk {
            left: length.saturating_add(2),
            content: is_kept.then(|| Vec::with_capacity(length)),
        });
    }

    fn begin_array(&mut self, left: u64) {
        self.pending = self.pending.saturating_add(left - 1);
        if self.refused.is_some() {
            return;
        }
        if self.open.len() == DEEPEST {
            return self.refuse(TOO_DEEP);
        }
        let items = Vec::new();
        self.open.push(Open { items, left });
    }

    /// Puts an element where it belongs. Returns the reply that it completes.
    fn put(&mut self, mut element: Value) -> Option<Value> {
        self.pending -= 1;
        while let Some(mut around) = self.open.pop() {
            around.items.push(element);
            around.left -= 1;
            if around.left > 0 {
                self.open.push(around);
                return None;
            }
            element = Value::Array(around.items);
        }
        if self.pending > 0 {
            return None;
        }
        Some(match self.refused.take() {
            None => element,
            Some(_) if self.is_of_messages => Value::Nil,
            Some(refused) => error(refused),
        })
    }

    fn charge(&mut self, more: usize, cost: &mut usize) {
        *cost = cost.saturating_add(more);
        if *cost > self.largest {
            self.refuse(TOO_LARGE);
        }
    }

    fn refuse(&mut self, refused: &'static str) {
        self.refused.get_or_insert(refused);
        self.open.clear();
    }
}

pub(crate) const TOO_LARGE: &str =
    "TOOLARGE the answer is larger than --max-reply allows; the command was executed";

const TOO_DEEP: &str =
    "TOODEEP the reply is nested deeper than the bridge passes on; the command was executed";

/// The cost of replies that passed, or that did not.
pub(crate) fn cost(replies: &[Value]) -> usize {
    let costs = replies.iter().map(cost_of_one);
    costs.fold(0, usize::saturating_add)
}

fn cost_of_one(reply: &Value) -> usize {
    let content = match reply {
        Value::BulkString(bytes) => bytes.len(),
        Value::SimpleString(text) => text.len(),
        Value::Array(items) => cost(items),
        // Then no further reply to the same request passes.
        Value::ServerError(refused) if refused.code() == "TOOLARGE" => usize::MAX,
        Value::ServerError(refused) => refused.details().map_or(0, str::len),
        _ => 0,
    };
    content.saturating_add(ELEMENT)
}

/// Stands for a reply that would have been too much besides the others.
pub(crate) fn too_large() -> Value {
    error(TOO_LARGE)
}

fn error(text: &str) -> Value {
    let line = format!("-{text}\r\n");
    parse_redis_value(line.as_bytes()).unwrap_or(Value::Nil)
}

fn number(text: &[u8]) -> Option<i64> {
    str::from_utf8(text).ok()?.parse().ok()
}
