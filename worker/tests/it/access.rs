//! Who may do what: everybody may buy, and all else needs a credential.

use crate::support::Stack;

const TERMS: &str = r#"{"stock":1,"limit_per_buyer":1,"ends_at_ms":9999999999999}"#;

const CLOSED_ROUTES: [(&str, &str, &str); 5] = [
    ("PUT", "/sales/42", TERMS),
    ("POST", "/locks/a/acquire", ""),
    (
        "POST",
        "/locks/a/renew",
        r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
    ),
    (
        "POST",
        "/locks/a/release",
        r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#,
    ),
    ("GET", "/locks/a", ""),
];

#[tokio::test]
async fn without_the_right_credential_nothing_happens() {
    let stack = Stack::start();
    let caller = stack.caller();
    for (method, path, body) in CLOSED_ROUTES {
        // The credential for the other routes is as wrong as any.
        let others = match method {
            "PUT" => stack.config.locks_token(),
            _ => stack.config.admin_token(),
        };
        let bridge = stack.bridge.token();
        for bearer in [None, Some(""), Some("wrong"), Some(others), Some(bridge)] {
            let answer = caller.send(method, path, bearer, body).await;
            let answer = answer.refuses(401, "unauthorized");
            assert_eq!(answer.header("www-authenticate"), "Bearer");
        }
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn routes_whose_credential_is_not_set_are_closed_to_all() {
    let mut stack = Stack::without_workers();
    stack.config = stack
        .config
        .unbind("ADMIN_CREDENTIAL")
        .bind("LOCKS_CREDENTIAL", "");
    let caller = stack.start_worker();
    for (method, path, body) in CLOSED_ROUTES {
        for bearer in [None, Some(""), Some("undefined")] {
            let answer = caller.send(method, path, bearer, body).await;
            answer.refuses(403, "closed");
        }
    }
    assert_eq!(stack.redis().dump(), []);
}

#[tokio::test]
async fn looking_at_a_sale_and_buying_need_no_credential() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 1, 1).await.answers(201);
    caller.sale("42").await.answers(200);
    caller.order("42", "o1", "ann", 1).await.answers(201);
}

#[tokio::test]
async fn nobody_but_its_holder_is_shown_a_locks_token() {
    let stack = Stack::start();
    let caller = stack.caller();
    let taken = caller
        .locks("POST", "/locks/a/acquire", "")
        .await
        .answers(201);
    let token = taken.json["token"].as_str().expect("a token");
    let shown = caller.locks("GET", "/locks/a", "").await.answers(200);
    let refused = caller
        .locks("POST", "/locks/a/acquire", "")
        .await
        .answers(409);
    for answer in [shown, refused] {
        assert!(!format!("{answer:?}").contains(token), "{answer:?}");
    }
}
