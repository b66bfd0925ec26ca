//! What is told of a lock: a line of the log, and a header.

use std::time::Duration;

use edgelock::EventKind;
use serde_json::{Value, json};
use shared::observe::{Timing, line};

fn example(code: &str) -> EventKind<'static> {
    let mut kind = EventKind::example(code).expect("a code");
    if let EventKind::Acquired { waited, .. } = &mut kind {
        *waited = Duration::from_micros(12_345);
    }
    kind
}

#[test]
fn each_event_is_a_line_of_json() {
    let mut of_data = example("contended");
    if let EventKind::Contended { remaining, .. } = &mut of_data {
        *remaining = None;
    }
    for (kind, mut told) in [
        (example("contended"), json!({"remaining_ms": 1000.0, "ahead": 0})),
        (of_data, json!({"remaining_ms": null, "ahead": 0})),
        (example("acquired"), json!({"waited_ms": 12.3, "requests": 1})),
        (example("gave_up"), json!({"waited_ms": 1000.0, "requests": 1})),
        (example("renewed"), json!({"took_ms": 1000.0})),
        (example("lost"), json!({"held_ms": 1000.0})),
        (example("released"), json!({"held_ms": 1000.0, "took_ms": 1000.0})),
        (example("retried"), json!({"error": "truncated", "pause_ms": 1000.0})),
        (example("grouped"), json!({"items": 1, "waiting": 0, "took_ms": 1000.0})),
        (example("replayed"), json!({})),
    ] {
        (told["event"], told["lock"]) = (kind.code().into(), "a".into());
        let line: Value = serde_json::from_str(&line("a", &kind)).expect("JSON");
        assert_eq!(line, told);
    }
}

#[test]
fn the_header_says_what_became_of_the_lock_and_what_it_cost() {
    let taken = r#", lock-wait;dur=12.3, lock-requests;desc="1""#;
    let held = &*format!("{taken}, lock-hold;dur=1000.0");
    for (codes, last, more) in [
        ("retried", None, ""),
        ("contended", Some("contended"), ""),
        ("contended retried acquired", Some("acquired"), taken),
        ("acquired released", Some("released"), held),
        ("acquired lost", Some("lost"), held),
        // Another request took the lock.
        ("released", Some("released"), ""),
    ] {
        let timing = Timing::default();
        codes.split(' ').for_each(|code| timing.hear(&example(code)));
        let header = last.map(|last| format!(r#"lock;desc="{last}"{more}"#));
        assert_eq!(timing.header(), header, "{codes}");
    }
}
