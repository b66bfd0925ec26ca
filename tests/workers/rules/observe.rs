//! What is told of a lock: a line of the log, and a header.

use std::time::Duration;

use edgelock::EventKind;
use serde_json::{Value, json};
use shared::observe::{Timing, line};

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
    let told = |kind: &EventKind<'_>| {
        let line: Value = serde_json::from_str(&line("a", kind)).expect("JSON");
        assert_eq!((&line["event"], &line["lock"]), (&kind.code().into(), &"a".into()));
        line
    };
    for (code, field, said) in [
        ("contended", "remaining_ms", json!(1000.0)),
        ("contended", "ahead", json!(0)),
        ("gave_up", "waited_ms", json!(1000.0)),
        ("gave_up", "requests", json!(1)),
        ("renewed", "took_ms", json!(1000.0)),
        ("lost", "held_ms", json!(1000.0)),
        ("released", "held_ms", json!(1000.0)),
        ("released", "took_ms", json!(1000.0)),
        ("retried", "error", json!("truncated")),
        ("retried", "pause_ms", json!(1000.0)),
        ("grouped", "items", json!(1)),
        ("grouped", "waiting", json!(0)),
        ("grouped", "took_ms", json!(1000.0)),
    ] {
        assert_eq!(told(&example(code))[field], said, "{code}");
    }
    assert_eq!(told(&acquired())["waited_ms"], 12.3);
    let mut data = example("contended");
    if let EventKind::Contended { remaining, .. } = &mut data {
        *remaining = None;
    }
    assert_eq!(told(&data)["remaining_ms"], Value::Null);
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
    check(&[contended, retried, acquired()], Some(&header("acquired", &format!(", {taken}"))));
    check(
        &[acquired(), released],
        Some(&header("released", &format!(", {taken}, lock-hold;dur=1000"))),
    );
    check(&[acquired(), lost], Some(&header("lost", &format!(", {taken}, lock-hold;dur=1000"))));
    check(&[released], Some(&header("released", "")));
}
