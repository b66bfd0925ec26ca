//! What crosses the border: plain objects, arrays, numbers of milliseconds.

use std::time::Duration;

use edgelock::web::driven::take_thrown;
use edgelock::{BadResponse, Command, Error, Event, EventKind, Holder, Inspection, Reply};
use js_sys::{Array, Object, Reflect, Uint8Array};
use wasm_bindgen::prelude::*;

/// Values by their places. What crosses the border so is a tuple in `npm/ts/raw.ts`, which names
/// the places: each property of an object would be an import of its own. What is missing is
/// `undefined`.
pub(crate) fn values<const N: usize>(tuple: &Array) -> [JsValue; N] {
    std::array::from_fn(|place| tuple.get(place as u32))
}

/// A number of milliseconds, if it is one.
pub(crate) fn time(ms: &JsValue) -> Option<Duration> {
    ms.as_f64().map(duration)
}

/// A whole number, if it is one.
pub(crate) fn count(number: &JsValue) -> Option<u32> {
    number.as_f64().map(|number| number as u32)
}

/// The texts of an array.
pub(crate) fn texts(array: &JsValue) -> Vec<String> {
    let texts = Array::from(array);
    texts.iter().filter_map(|text| text.as_string()).collect()
}

/// `npm/ts/check.ts` has checked that it is a whole number, 0 or more, or `Infinity`.
pub(crate) fn duration(ms: f64) -> Duration {
    /// The largest whole number of JavaScript's: as good as for ever, and far below any overflow.
    const LONGEST: f64 = 9_007_199_254_740_991.0;
    Duration::from_millis(ms.min(LONGEST) as u64)
}

/// Whole milliseconds, rounded up: a caller that waits for so long does not come too early.
fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs() as f64 * 1000.0 + f64::from(duration.subsec_nanos().div_ceil(1_000_000))
}

/// `null` stands for one without end.
pub(crate) fn perhaps_milliseconds(duration: Option<Duration>) -> JsValue {
    duration.map_or(JsValue::NULL, |duration| milliseconds(duration).into())
}

fn perhaps_text(text: Option<&str>) -> JsValue {
    text.map_or(JsValue::NULL, JsValue::from)
}

/// An object that is written one property at a time.
#[derive(Default)]
struct Plain(Object);

impl Plain {
    fn with(self, name: &str, value: impl Into<JsValue>) -> Self {
        // Setting a plain object's property cannot fail.
        let _ = Reflect::set(&self.0, &name.into(), &value.into());
        self
    }
}

/// An error as plain data, with what was thrown, if that is the reason. `npm/ts/make-error.ts`
/// makes an `EdgelockError` of it.
pub(crate) fn failure(error: &Error) -> JsValue {
    let plain = Plain::default()
        .with("code", error.code())
        .with("message", error.to_string())
        .with("isOutcomeUnknown", error.is_outcome_unknown())
        .with("isRetryable", error.is_retryable());
    let plain = match error.lock() {
        Some(lock) => plain.with("lock", lock),
        None => plain,
    };
    let plain = match error.reason() {
        Some(reason) => plain.with("reason", reason),
        None => plain,
    };
    let plain = match error {
        Error::Held {
            remaining,
            ahead,
            label,
            retry_after,
            requests,
            ..
        } => plain
            .with("requests", *requests)
            .with("label", perhaps_text(label.as_deref()))
            .with("remaining", perhaps_milliseconds(*remaining))
            .with("ahead", *ahead as f64)
            .with("retryAfter", milliseconds(*retry_after)),
        Error::Quarantined { retry_after, .. } => {
            plain.with("retryAfter", milliseconds(*retry_after))
        }
        Error::Unavailable { retry_after, .. } => plain
            .with("retryAfter", perhaps_milliseconds(*retry_after))
            .with("cause", take_thrown()),
        Error::BadResponse {
            kind: BadResponse::Truncated,
            ..
        } => plain.with("cause", take_thrown()),
        Error::CommandFailed { index, command, .. } => plain
            .with("index", *index as f64)
            .with("command", command.as_str()),
        Error::ResultTooLarge { bytes, most, .. } => plain
            .with("bytes", *bytes as f64)
            .with("most", *most as f64),
        Error::NotReplicated {
            asked,
            acknowledged,
            ..
        } => plain
            .with("asked", *asked)
            .with("acknowledged", *acknowledged),
        _ => plain,
    };
    plain.0.into()
}

/// What there is, or the error as JavaScript gets it.
pub(crate) fn checked<T>(result: Result<T, Error>) -> Result<T, JsValue> {
    result.map_err(|error| failure(&error))
}

/// Arrays of words. A key is an array of one word.
pub(crate) fn commands(list: &Array) -> Vec<Command> {
    list.iter().map(|words| command(&words.into())).collect()
}

fn command(words: &Array) -> Command {
    let mut words = words.iter();
    let name = words.next().and_then(|name| name.as_string());
    words.fold(
        Command::new(&name.unwrap_or_default()),
        |command, word| match word.as_string() {
            Some(word) => command.arg(word),
            None => command.key(Array::from(&word).get(0).as_string().unwrap_or_default()),
        },
    )
}

pub(crate) fn replies(replies: &[Reply]) -> Array {
    replies.iter().map(reply).collect()
}

/// A number while JavaScript's hold all digits, else a bigint.
fn integer(number: i64) -> JsValue {
    const SAFE: u64 = (1 << 53) - 1;
    if number.unsigned_abs() <= SAFE {
        (number as f64).into()
    } else {
        number.into()
    }
}

/// The same of one that cannot be negative.
fn natural(number: u64) -> JsValue {
    i64::try_from(number).map_or_else(|_| number.into(), integer)
}

fn reply(reply: &Reply) -> JsValue {
    match reply {
        Reply::Nil => JsValue::NULL,
        Reply::Int(number) => integer(*number),
        Reply::Rounded(number) => Plain::default().with("rounded", *number as f64).0.into(),
        Reply::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.into(),
            Err(_) => Uint8Array::from(bytes.as_slice()).into(),
        },
        Reply::Array(elements) => replies(elements).into(),
        Reply::Error(message) => Plain::default().with("error", message.as_str()).0.into(),
    }
}

pub(crate) fn inspection(inspection: &Inspection) -> Object {
    let holders: Array = inspection.holders.iter().map(holder).collect();
    let perhaps_number = |number: Option<u64>| number.map_or(JsValue::NULL, natural);
    Plain::default()
        .with("holders", holders)
        .with("free", perhaps_number(inspection.free))
        .with("isRead", inspection.is_read)
        .with("fence", perhaps_number(inspection.fence))
        .with("waiters", inspection.waiters as f64)
        .with(
            "quarantineRemaining",
            perhaps_milliseconds(inspection.quarantine_remaining),
        )
        .0
}

fn holder(holder: &Holder) -> Object {
    Plain::default()
        .with("token", holder.token.expose())
        .with("count", natural(holder.count))
        .with("remaining", perhaps_milliseconds(holder.remaining))
        .with("label", perhaps_text(holder.label.as_deref()))
        .0
}

pub(crate) fn event(event: &Event<'_>) -> Object {
    let plain = Plain::default()
        .with("type", event.kind.code())
        .with("lock", event.lock);
    match event.kind {
        EventKind::Contended {
            remaining, ahead, ..
        } => plain
            .with("remaining", perhaps_milliseconds(remaining))
            .with("ahead", ahead as f64),
        EventKind::Acquired {
            waited, requests, ..
        }
        | EventKind::Replayed {
            waited, requests, ..
        }
        | EventKind::GaveUp {
            waited, requests, ..
        } => plain
            .with("waited", milliseconds(waited))
            .with("requests", requests),
        EventKind::Renewed { took, .. } => plain.with("took", milliseconds(took)),
        EventKind::Lost { held, .. } => plain.with("held", milliseconds(held)),
        EventKind::Released { held, took, .. } => plain
            .with("held", milliseconds(held))
            .with("took", milliseconds(took)),
        EventKind::Retried { error, pause, .. } => plain
            .with("error", failure(error))
            .with("pause", milliseconds(pause)),
        _ => plain,
    }
    .0
}
