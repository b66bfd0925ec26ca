//! What happens to locks, for operators and callers: a line of JSON for the log, and a
//! `Server-Timing` header for the answer.

use std::cell::Cell;
use std::time::Duration;

use edgelock::EventKind;
use serde::Serialize;

/// What happened to `lock`, as a line of JSON. No event holds a token.
pub(crate) fn line(lock: &str, kind: &EventKind<'_>) -> String {
    let line = match *kind {
        EventKind::Contended {
            remaining, ahead, ..
        } => Line::Contended {
            lock,
            remaining_ms: remaining.map(ms),
            ahead,
        },
        EventKind::Acquired {
            waited, requests, ..
        } => Line::Acquired {
            lock,
            waited_ms: ms(waited),
            requests,
        },
        EventKind::GaveUp {
            waited, requests, ..
        } => Line::GaveUp {
            lock,
            waited_ms: ms(waited),
            requests,
        },
        EventKind::Renewed { took, .. } => Line::Renewed {
            lock,
            took_ms: ms(took),
        },
        EventKind::Lost { held, .. } => Line::Lost {
            lock,
            held_ms: ms(held),
        },
        EventKind::Released { held, took, .. } => Line::Released {
            lock,
            held_ms: ms(held),
            took_ms: ms(took),
        },
        EventKind::Retried { error, pause, .. } => Line::Retried {
            lock,
            error: error.code(),
            pause_ms: ms(pause),
        },
        EventKind::Grouped {
            items,
            waiting,
            took,
            ..
        } => Line::Grouped {
            lock,
            items,
            waiting,
            took_ms: ms(took),
        },
        _ => Line::Other { lock },
    };
    // Numbers and text always serialize.
    serde_json::to_string(&line).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Line<'a> {
    Contended {
        lock: &'a str,
        remaining_ms: Option<f64>,
        ahead: u64,
    },
    Acquired {
        lock: &'a str,
        waited_ms: f64,
        requests: u32,
    },
    GaveUp {
        lock: &'a str,
        waited_ms: f64,
        requests: u32,
    },
    Renewed {
        lock: &'a str,
        took_ms: f64,
    },
    Lost {
        lock: &'a str,
        held_ms: f64,
    },
    Released {
        lock: &'a str,
        held_ms: f64,
        took_ms: f64,
    },
    Retried {
        lock: &'a str,
        error: &'static str,
        pause_ms: f64,
    },
    Grouped {
        lock: &'a str,
        items: u64,
        waiting: u64,
        took_ms: f64,
    },
    Other {
        lock: &'a str,
    },
}

/// What a request's lock cost.
#[derive(Default)]
pub(crate) struct Timing(Cell<Cost>);

#[derive(Clone, Copy, Default)]
struct Cost {
    /// What happened to the lock last.
    last: Option<&'static str>,
    /// How long the acquisition took, and how many requests.
    taken: Option<(Duration, u32)>,
    held: Option<Duration>,
}

impl Timing {
    pub(crate) fn hear(&self, kind: &EventKind<'_>) {
        let mut cost = self.0.get();
        match *kind {
            // These say nothing of this lock.
            EventKind::Retried { .. } | EventKind::Grouped { .. } => return,
            EventKind::Acquired {
                waited, requests, ..
            } => cost.taken = Some((waited, requests)),
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
    pub(crate) fn header(&self) -> Option<String> {
        let Cost { last, taken, held } = self.0.get();
        let mut header = format!("lock;desc=\"{}\"", last?);
        if let Some((waited, requests)) = taken {
            let waited = ms(waited);
            header += &format!(", lock-wait;dur={waited}, lock-requests;desc=\"{requests}\"");
        }
        if let Some(held) = held {
            header += &format!(", lock-hold;dur={}", ms(held));
        }
        Some(header)
    }
}

/// To a tenth of a millisecond: hosts' clocks are no finer.
fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 10_000.0).round() / 10.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(code: &str) -> EventKind<'static> {
        EventKind::example(code).expect("a code")
    }

    fn acquired() -> EventKind<'static> {
        let mut kind = example("acquired");
        if let EventKind::Acquired { waited, .. } = &mut kind {
            *waited = Duration::from_micros(12_345);
        }
        kind
    }

    #[test]
    fn each_event_is_a_line_of_json() {
        for (code, said) in [
            ("contended", r#""remaining_ms":1000.0,"ahead":0"#),
            ("gave_up", r#""waited_ms":1000.0,"requests":1"#),
            ("renewed", r#""took_ms":1000.0"#),
            ("lost", r#""held_ms":1000.0"#),
            ("released", r#""held_ms":1000.0,"took_ms":1000.0"#),
            ("retried", r#""error":"truncated","pause_ms":1000.0"#),
            ("grouped", r#""items":1,"waiting":0,"took_ms":1000.0"#),
        ] {
            let line = format!(r#"{{"event":"{code}","lock":"a",{said}}}"#);
            assert_eq!(super::line("a", &example(code)), line);
        }
        assert_eq!(
            super::line("a", &acquired()),
            r#"{"event":"acquired","lock":"a","waited_ms":12.3,"requests":1}"#
        );
        let mut data = example("contended");
        if let EventKind::Contended { remaining, .. } = &mut data {
            *remaining = None;
        }
        assert!(super::line("a", &data).contains(r#""remaining_ms":null"#));
    }

    #[test]
    fn no_name_makes_a_second_line() {
        let line = line("a\"\n{\"event\":\"x\"}", &acquired());
        assert!(!line.contains('\n'), "{line}");
        let json: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(json["lock"], "a\"\n{\"event\":\"x\"}");
    }

    #[track_caller]
    fn check(kinds: &[EventKind<'_>], header: Option<&str>) {
        let timing = Timing::default();
        kinds.iter().for_each(|kind| timing.hear(kind));
        assert_eq!(timing.header().as_deref(), header);
    }

    #[test]
    fn the_header_says_what_became_of_the_lock_and_what_it_cost() {
        let [contended, retried, lost, released] =
            ["contended", "retried", "lost", "released"].map(example);
        let taken = "lock-wait;dur=12.3, lock-requests;desc=\"1\"";
        let header = |last: &str, more: &str| format!("lock;desc=\"{last}\"{more}");
        check(&[], None);
        check(&[retried], None);
        check(&[contended], Some(&header("contended", "")));
        check(
            &[contended, retried, acquired()],
            Some(&header("acquired", &format!(", {taken}"))),
        );
        check(
            &[acquired(), released],
            Some(&header(
                "released",
                &format!(", {taken}, lock-hold;dur=1000"),
            )),
        );
        check(
            &[acquired(), lost],
            Some(&header("lost", &format!(", {taken}, lock-hold;dur=1000"))),
        );
        check(&[released], Some(&header("released", "")));
    }
}
