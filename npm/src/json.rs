//! What is said to JavaScript, as JSON. `npm/ts/words.ts` reads replies in it, and
//! `npm/ts/make-error.ts` makes an error of a failure.

use std::fmt::{Display, Write};
use std::time::Duration;

use edgelock::web::driven::{Came, Held, milliseconds, quote_into};
use edgelock::{BadResponse, Error, Event, EventKind, Holder, Inspection, Reply};

/// An object that is written one member at a time.
struct Object(String);

impl Object {
    const fn new() -> Self {
        Self(String::new())
    }

    fn name(&mut self, name: &str) -> &mut String {
        self.0.push(if self.0.is_empty() { '{' } else { ',' });
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        &mut self.0
    }

    fn text(&mut self, name: &str, text: &str) {
        quote_into(self.name(name), text);
    }

    fn maybe_text(&mut self, name: &str, text: Option<&str>) {
        match text {
            Some(text) => self.text(name, text),
            None => self.json(name, "null"),
        }
    }

    fn flag(&mut self, name: &str, flag: bool) {
        self.json(name, if flag { "true" } else { "false" });
    }

    fn number(&mut self, name: &str, number: u64) {
        write_number(self.name(name), number);
    }

    /// Whole milliseconds; `null` stands for a time without end.
    fn time(&mut self, name: &str, time: Option<Duration>) {
        match time {
            Some(time) => self.number(name, milliseconds(time)),
            None => self.json(name, "null"),
        }
    }

    fn json(&mut self, name: &str, json: &str) {
        self.name(name).push_str(json);
    }

    fn end(mut self) -> String {
        self.0.push_str(if self.0.is_empty() { "{}" } else { "}" });
        self.0
    }
}

fn write_number(json: &mut String, number: impl Display) {
    // Writing to a text cannot fail.
    let _ = write!(json, "{number}");
}

/// Members of a list, with commas between them.
fn list<T>(json: &mut String, members: &[T], write: fn(&mut String, &T)) {
    json.push('[');
    for (place, member) in members.iter().enumerate() {
        if place > 0 {
            json.push(',');
        }
        write(json, member);
    }
    json.push(']');
}

/// A text stands with a letter before it that says what it is of.
fn reply(json: &mut String, value: &Reply) {
    match value {
        Reply::Nil => json.push_str("null"),
        Reply::Int(number) => integer(json, *number),
        Reply::Rounded(number) => quote_into(json, &format!(",{number}")),
        Reply::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => quote_into(json, &format!("+{text}")),
            Err(_) => {
                json.push_str("\"x");
                for byte in bytes {
                    // As above.
                    let _ = write!(json, "{byte:02x}");
                }
                json.push('"');
            }
        },
        Reply::Array(elements) => list(json, elements, reply),
        Reply::Error(message) => quote_into(json, &format!("-{message}")),
    }
}

/// A number while JavaScript's hold all digits.
fn integer(json: &mut String, number: i64) {
    const SAFE: u64 = (1 << 53) - 1;
    if number.unsigned_abs() <= SAFE {
        write_number(json, number);
    } else {
        quote_into(json, &format!(":{number}"));
    }
}

/// The same of one that cannot be negative.
fn natural(json: &mut String, number: Option<u64>) {
    match number.map(i64::try_from) {
        Some(Ok(number)) => integer(json, number),
        Some(Err(_)) => quote_into(json, &format!(":{}", number.unwrap_or_default())),
        None => json.push_str("null"),
    }
}

/// What a call came to, if it is no lease.
pub(crate) fn came(came: &Came) -> String {
    let mut object = Object::new();
    match came {
        Came::Done => {}
        Came::Flag(flag) => object.flag("value", *flag),
        Came::Number(number) => object.number("value", *number),
        Came::Time(time) => object.time("value", *time),
        Came::Kept(text) => object.text("value", text),
        Came::Found(found) => inspection(object.name("value"), found),
        Came::Replies(replies) => list(object.name("replies"), replies, reply),
        Came::Turn(at, requests, replies) => {
            if let Some(at) = at {
                object.number("at", *at);
            }
            if let Some(requests) = requests {
                object.number("sent", (*requests).into());
            }
            list(object.name("replies"), replies, reply);
        }
        Came::Taken(held, replies) => {
            if let Some(held) = held {
                lease(&mut object, held);
            }
            list(object.name("replies"), replies, reply);
        }
        Came::ForTurn(held, ahead, left, replies) => {
            lease(&mut object, held);
            object.number("ahead", *ahead);
            if let Some((at, reads)) = left {
                object.number("at", *at);
                list(object.name("left"), reads, |json, words| {
                    list(json, words, |json, word| quote_into(json, word));
                });
            }
            list(object.name("replies"), replies, reply);
        }
    }
    object.end()
}

fn lease(object: &mut Object, held: &Held) {
    let mut lease = Object::new();
    lease.text("token", held.token().expose());
    lease.number("fence", held.fence());
    object.json("lease", &lease.end());
}

fn inspection(json: &mut String, found: &Inspection) {
    let mut object = Object::new();
    list(object.name("holders"), &found.holders, holder);
    natural(object.name("free"), found.free);
    natural(object.name("confirmed"), found.confirmed);
    object.flag("isRead", found.is_read);
    natural(object.name("fence"), found.fence);
    object.number("waiters", found.waiters);
    object.time("quarantineRemaining", found.quarantine_remaining);
    json.push_str(&object.end());
}

fn holder(json: &mut String, holder: &Holder) {
    let mut object = Object::new();
    object.text("token", holder.token.expose());
    natural(object.name("count"), Some(holder.count));
    object.time("remaining", holder.remaining);
    object.maybe_text("label", holder.label.as_deref());
    json.push_str(&object.end());
}

/// An error. It is `isThrown` if its cause may be what the host threw, which JavaScript has.
pub(crate) fn failure(error: &Error) -> String {
    let mut object = Object::new();
    object.text("code", error.code());
    object.text("message", &error.to_string());
    object.flag("isOutcomeUnknown", error.is_outcome_unknown());
    object.flag("isRetryable", error.is_retryable());
    let more = [("lock", error.lock()), ("reason", error.reason())];
    for (name, text) in more {
        if let Some(text) = text {
            object.text(name, text);
        }
    }
    match error {
        Error::Held { remaining, ahead, label, retry_after, requests, .. } => {
            object.number("requests", (*requests).into());
            object.maybe_text("label", label.as_deref());
            object.time("remaining", *remaining);
            object.number("ahead", *ahead);
            object.time("retryAfter", Some(*retry_after));
        }
        Error::Quarantined { retry_after, .. } => object.time("retryAfter", Some(*retry_after)),
        Error::Unavailable { retry_after, .. } => {
            object.time("retryAfter", *retry_after);
            object.flag("isThrown", true);
        }
        Error::BadResponse { kind: BadResponse::Truncated, .. } => object.flag("isThrown", true),
        Error::CommandFailed { index, command, .. } => {
            object.number("index", *index as u64);
            object.text("command", command);
        }
        Error::ResultTooLarge { bytes, most, .. } => {
            object.number("bytes", *bytes as u64);
            object.number("most", *most as u64);
        }
        Error::NotReplicated { asked, acknowledged, .. } => {
            object.number("asked", (*asked).into());
            object.number("acknowledged", (*acknowledged).into());
        }
        _ => {}
    }
    object.end()
}

/// Something that happened.
pub(crate) fn event(event: &Event<'_>) -> String {
    let mut object = Object::new();
    object.text("type", event.kind.code());
    object.text("lock", event.lock);
    match event.kind {
        EventKind::Contended { remaining, ahead, .. } => {
            object.time("remaining", remaining);
            object.number("ahead", ahead);
        }
        EventKind::Acquired { waited, requests, .. }
        | EventKind::Replayed { waited, requests, .. }
        | EventKind::GaveUp { waited, requests, .. } => {
            object.time("waited", Some(waited));
            object.number("requests", requests.into());
        }
        EventKind::Renewed { took, .. } => object.time("took", Some(took)),
        EventKind::Lost { held, .. } => object.time("held", Some(held)),
        EventKind::Released { held, took, .. } => {
            object.time("held", Some(held));
            object.time("took", Some(took));
        }
        EventKind::Retried { error, pause, .. } => {
            object.json("error", &failure(error));
            object.time("pause", Some(pause));
        }
        _ => {}
    }
    object.end()
}
