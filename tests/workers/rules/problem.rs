//! What a failure is called, when to come back, and what the log is told.

use std::time::Duration;

use edgelock::{BadResponse, Error};
use serde_json::{Value, json};
use shared::problem::Problem;

fn example(code: &str) -> Error {
    Error::example(code, "sale:42").expect("a code")
}

fn unavailable(is_unknown: bool) -> Error {
    let mut error = example("unavailable");
    if let Error::Unavailable { retry_after, may_have_run, .. } = &mut error {
        *retry_after = Some(Duration::from_millis(1_001));
        *may_have_run = is_unknown;
    }
    error
}

fn held(estimate: Duration) -> Error {
    let mut error = example("held");
    if let Error::Held { ahead, retry_after, .. } = &mut error {
        *ahead = 7;
        *retry_after = estimate;
    }
    error
}

#[track_caller]
fn check(problem: Problem, status: u16, code: &str, retry_after: Option<&str>) {
    assert_eq!((problem.status, problem.code), (status, code));
    let header = problem.header.as_ref();
    let header = header.filter(|(name, _)| *name == "retry-after");
    assert_eq!(header.map(|(_, value)| &**value), retry_after);
    let body = problem.body().to_string();
    assert!(!body.contains("an example"), "{body}");
}

#[test]
fn each_failure_has_its_status_and_code() {
    let [truncated, not_json, redirected] = [
        BadResponse::Truncated,
        BadResponse::NotJson { status: 502 },
        BadResponse::Redirected { status: 301 },
    ]
    .map(Error::from);
    for (error, status, code, retry_after) in [
        (held(Duration::from_secs(1)), 503, "lock_held", Some("1")),
        (example("expired"), 503, "lock_lost", Some("1")),
        (truncated, 503, "bridge_unavailable", Some("1")),
        (not_json, 503, "bridge_unavailable", Some("1")),
        (unavailable(false), 503, "bridge_unavailable", Some("2")),
        (example("quarantined"), 503, "bridge_unavailable", Some("1")),
        (example("wrong_type"), 500, "wrong_type", None),
        (example("unauthorized"), 502, "bridge_refused", None),
        (redirected, 502, "bridge_refused", None),
    ] {
        check(Problem::of(error), status, code, retry_after);
    }
}

#[test]
fn whoever_waited_in_vain_is_told_its_place_and_to_stay_away_for_1_to_30_s() {
    for (estimate_ms, stay_ms, header) in
        [(0, 1_000, "1"), (1_001, 1_001, "2"), (29_999, 29_999, "30"), (3_600_000, 30_000, "30")]
    {
        let held = held(Duration::from_millis(estimate_ms));
        let problem = Problem::of(held);
        let body = problem.body();
        assert_eq!(body["ahead"], 7);
        assert_eq!(body["retry_after_ms"], stay_ms);
        assert_eq!(problem.header, Some(("retry-after", header.into())));
    }
}

#[test]
fn a_write_whose_outcome_is_unknown_is_never_said_to_have_failed() {
    check(Problem::of_write(unavailable(true)), 503, "outcome_unknown", Some("2"));
    check(Problem::of_write(unavailable(false)), 503, "bridge_unavailable", Some("2"));
    check(Problem::of_write(BadResponse::Truncated.into()), 503, "outcome_unknown", Some("1"));
    check(Problem::of_write(example("lost")), 503, "lock_lost", Some("1"));
}

#[test]
fn the_log_says_why_and_only_of_failures_that_are_ours() {
    let line = Problem::of(unavailable(true)).log().unwrap();
    let line: Value = serde_json::from_str(&line).expect("JSON");
    let cause = r#"unavailable: an example (for "sale:42")"#;
    assert_eq!(
        line,
        json!({"event": "failed", "status": 503, "code": "bridge_unavailable", "cause": cause})
    );
    assert_eq!(crate::placement::no_such_sale().log(), None);
}
