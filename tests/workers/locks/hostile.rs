//! What the lock service refuses, whoever sends it.

use crate::access::opens_nothing_else;
use crate::hostile::{Route, all, no_number_to, refuses_all};
use crate::support::Stack;

#[tokio::test]
async fn without_the_right_credential_no_lock_is_taken_or_shown() {
    let token = r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#;
    let routes = [
        ("POST", "/locks/a/acquire", ""),
        ("POST", "/locks/a/renew", token),
        ("POST", "/locks/a/release", token),
        ("GET", "/locks/a", ""),
    ];
    let secrets = ["LOCKS_CREDENTIAL", "ADMIN_CREDENTIAL"];
    opens_nothing_else(Stack::of("lock-service"), secrets, &routes).await;
}

#[tokio::test]
async fn a_hostile_body_is_refused_by_the_lock_service() {
    let stack = Stack::of("lock-service");
    let good = r#""AAAAAAAAAAAAAAAAAAAAAA""#;
    let optional = |most| no_number_to(most).split_off(1);
    let (mut wait, mut another_ttl) = (optional(30_000), optional(86_400_000));
    wait.retain(|value| value != "0");
    another_ttl.retain(|value| value != "null");
    let wrong = r#" 1 null "" "short" "AAAAAAAAAAAAAAAAAAAAA*" "AAAAAAAAAAAAAAAAAAAAAAA""#;
    let token = || ("token", good, all(wrong));
    let empty = || vec![(String::new(), None)];
    for (path, fields, others) in [
        (
            "/locks/a/acquire",
            vec![("ttl_ms", "4", optional(86_400_000)), ("wait_ms", "0", wait)],
            vec![(format!(r#"{{"token":{good}}}"#), Some("token"))],
        ),
        ("/locks/a/renew", vec![token(), ("ttl_ms", "4", another_ttl)], empty()),
        ("/locks/a/release", vec![token()], empty()),
    ] {
        Route { path, fields, others }.refuses_what_is_wrong(&stack).await;
    }
}

#[tokio::test]
async fn a_hostile_path_or_method_is_refused_by_the_lock_service() {
    let long_name = format!("/locks/{}", "n".repeat(508));
    let requests = [
        ("GET", "/locks", 404, "no_such_route"),
        ("POST", "/locks/a/steal", 404, "no_such_route"),
        ("POST", "/locks/a%2Fb%2Facquire", 405, "method_not_allowed"),
        ("PUT", "/locks/a", 405, "method_not_allowed"),
        ("GET", "/locks/a/acquire", 405, "method_not_allowed"),
        ("GET", "/locks/%7B42%7D:fence", 422, "invalid_input"),
        ("GET", "/locks/%7B42%7D:receipt:x", 422, "invalid_input"),
        ("GET", "/locks/%FF", 422, "invalid_input"),
        ("GET", "/locks/%7D", 422, "invalid_input"),
        ("GET", &long_name, 422, "invalid_input"),
    ];
    refuses_all(&Stack::of("lock-service"), &requests).await;
}
