//! What happens to locks, for operators and callers: a line of JSON for the log, and a
//! `Server-Timing` header for the answer.

use std::cell::Cell;
use std::time::Duration;

use edgelock::EventKind;
use serde_json::{Value, json};

/// What happened to `lock`, as a line of JSON. No event holds a token.
pub fn line(lock: &str, kind: &EventKind<'_>) -> String {
    let mut line = match *kind {
        EventKind::Contended { remaining, ahead, .. } => {
            json!({"remaining_ms": remaining.map(ms), "ahead": ahead})
        }
        EventKind::Acquired { waited, requests, .. }
        | EventKind::GaveUp { waited, requests, .. } => {
            json!({"waited_ms": ms(waited), "requests": requests})
        }
        EventKind::Renewed { took, .. } => json!({"took_ms": ms(took)}),
        EventKind::Lost { held, .. } => json!({"held_ms": ms(held)}),
        EventKind::Released { held, took, .. } => json!({"held_ms": ms(held), "took_ms": ms(took)}),
        EventKind::Retried { error, pause, .. } => {
            json!({"error": error.code(), "pause_ms": ms(pause)})
        }
        EventKind::Grouped { items, waiting, took, .. } => {
            json!({"items": items, "waiting": waiting, "took_ms": ms(took)})
        }
        _ => json!({}),
    };
    line["event"] = Value::from(kind.code());
    line["lock"] = Value::from(lock);
    line.to_string()
}

/// What a request's lock cost.
#[derive(Default)]
pub struct Timing(Cell<Cost>);

#[derive(Clone, Copy, Default)]
struct Cost {
    /// What happened to the lock last.
    last: Option<&'static str>,
    /// How long the acquisition took, and how many requests.
    taken: Option<(Duration, u32)>,
    held: Option<Duration>,
}

impl Timing {
    pub fn hear(&self, kind: &EventKind<'_>) {
        let mut cost = self.0.get();
        match *kind {
            // These say nothing of this lock.
            EventKind::Retried { .. } | EventKind::Grouped { .. } => return,
            EventKind::Acquired { waited, requests, .. } => cost.taken = Some((waited, requests)),
            // If another request took the lock, only that request knows how long it was held.
            EventKind::Lost { held, .. } | EventKind::Released { held, .. } => {
                cost.held = cost.taken.map(|_| held);
            }
            _ => {}
        }
        cost.last = Some(kind.code());
        self.0.set(cost);
    }

    /// The value of a `Server-Timing` header, if there was a lock. It omits the name, which callers
    /// choose.
    pub fn header(&self) -> Option<String> {
        let Cost { last, taken, held } = self.0.get();
        let mut header = format!("lock;desc=\"{}\"", last?);
        if let Some((waited, requests)) = taken {
            header += &format!(", lock-wait;dur={}, lock-requests;desc=\"{requests}\"", ms(waited));
        }
        if let Some(held) = held {
            header += &format!(", lock-hold;dur={}", ms(held));
        }
        Some(header)
    }
}

/// To a tenth of a millisecond: hosts' clocks are no finer. JSON writes the number, since what Rust
/// has for that would be 8 kB more of the Worker.
fn ms(duration: Duration) -> Value {
    Value::from((duration.as_secs_f64() * 10_000.0).round() / 10.0)
}
