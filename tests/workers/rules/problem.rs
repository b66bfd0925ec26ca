//! What a failure is called, and when to come back: what needs no Worker to be seen.

use std::time::Duration;

use edgelock::{BadResponse, Error};
use serde_json::json;
use shared::problem::Problem;

fn example(code: &str) -> Error {
    Error::example(code, "sale:42").expect("a code")
}

#[test]
fn each_failure_has_its_status_and_code_and_when_to_come_back() {
    let mut unavailable = example("unavailable");
    if let Error::Unavailable { retry_after, .. } = &mut unavailable {
        *retry_after = Some(Duration::from_millis(1_001));
    }
    for (error, status, code, retry_after) in [
        (example("expired"), 503, "lock_lost", Some("1")),
        (unavailable, 503, "bridge_unavailable", Some("2")),
        (BadResponse::Truncated.into(), 503, "bridge_unavailable", Some("1")),
        (example("quarantined"), 503, "bridge_unavailable", Some("1")),
        (BadResponse::Redirected { status: 301 }.into(), 502, "bridge_refused", None),
    ] {
        let problem = Problem::of(error);
        assert_eq!((problem.status, problem.code), (status, code));
        let header = retry_after.map(|after| ("retry-after", after.into()));
        assert_eq!(problem.header, header, "{code}");
    }
}

#[test]
fn whoever_waited_in_vain_is_told_its_place_and_to_stay_away_for_1_to_30_s() {
    for (estimate_ms, stay_ms, header) in
        [(0, 1_000, "1"), (1_001, 1_001, "2"), (29_999, 29_999, "30"), (3_600_000, 30_000, "30")]
    {
        let mut held = example("held");
        if let Error::Held { ahead, retry_after, .. } = &mut held {
            (*ahead, *retry_after) = (7, Duration::from_millis(estimate_ms));
        }
        let problem = Problem::of(held);
        let body = problem.body();
        assert_eq!((&body["ahead"], &body["retry_after_ms"]), (&json!(7), &json!(stay_ms)));
        assert_eq!(problem.header, Some(("retry-after", header.into())));
    }
}
