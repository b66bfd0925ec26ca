//! Whatever is sent to the lock service, the answer is a 4xx that says what is wrong, and nothing
//! is changed.

use crate::hostile::Wrong::{Field, Json};
use crate::hostile::{NO_OBJECTS, NO_QUANTITIES, refused};
use crate::support::Stack;

#[tokio::test]
async fn hostile_input_of_locks_is_refused() {
    let stack = Stack::locks();
    let mut bodies = vec![
        (r#"{"ttl_ms":86400001}"#.to_owned(), Field("ttl_ms")),
        (r#"{"wait_ms":30001}"#.to_owned(), Field("wait_ms")),
        (r#"{"wait":1}"#.to_owned(), Field("wait")),
        (
            r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#.to_owned(),
            Field("token"),
        ),
    ];
    for none in NO_QUANTITIES.into_iter().filter(|none| *none != "1001") {
        bodies.push((format!(r#"{{"ttl_ms":{none}}}"#), Field("ttl_ms")));
        if none != "0" {
            bodies.push((format!(r#"{{"wait_ms":{none}}}"#), Field("wait_ms")));
        }
    }
    for body in NO_OBJECTS.into_iter().filter(|body| !body.is_empty()) {
        bodies.push((body.to_owned(), Json));
    }
    refused(&stack, "/locks/a/acquire", &bodies).await;

    for path in ["/locks/a/renew", "/locks/a/release"] {
        let mut bodies = vec![("{}".to_owned(), Field("token"))];
        for token in [
            "1",
            "null",
            r#""""#,
            r#""short""#,
            r#""AAAAAAAAAAAAAAAAAAAAA*""#,
            r#""AAAAAAAAAAAAAAAAAAAAAAA""#,
        ] {
            bodies.push((format!(r#"{{"token":{token}}}"#), Field("token")));
        }
        for body in NO_OBJECTS {
            bodies.push((body.to_owned(), Json));
        }
        refused(&stack, path, &bodies).await;
    }
}

#[tokio::test]
async fn a_hostile_path_or_method_of_locks_is_refused() {
    let stack = Stack::locks();
    let caller = stack.caller();
    let long_name = format!("/locks/{}", "n".repeat(508));
    for (method, path, status, code) in [
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
    ] {
        let answer = caller.locks(method, path, "").await;
        let answer = answer.refuses(status, code);
        let allow = answer.header("allow");
        assert_eq!(status == 405, !allow.is_empty(), "{answer:?}");
    }
    assert_eq!(stack.redis().dump(), []);
}
