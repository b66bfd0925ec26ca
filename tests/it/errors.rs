//! What an error says besides its kind: which lock it is about, and what the transport said. It
//! says no secrets.

use std::error::Error as _;
use std::{fs, slice};

use edgelock::{
    BadResponse, Bridge, Client, Command, Error, Request, Response, Token, Transport,
    TransportError,
};
use xtask::paths;

use crate::support::noted::Drawn;
use crate::support::{Stack, ms, run};

const CREDENTIAL: &str = "credential-of-the-bridge";
/// The token of every acquisition of [`Drawn`].
const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// A transport that always comes to the same.
struct Always(Result<Response, TransportError>);

impl Transport for Always {
    async fn send(&self, _: Request<'_>) -> Result<Response, TransportError> {
        self.0.clone()
    }
}

fn client_that(comes_to: Result<Response, TransportError>) -> Client<Always, Drawn> {
    let bridge = Bridge::upstash("http://127.0.0.1:1", CREDENTIAL).expect("a bridge");
    let client = Client::new(bridge, Always(comes_to), Drawn::default());
    client.max_attempts(1).prefix("shop:")
}

async fn failure(of: TransportError) -> Error {
    let lock = client_that(Err(of)).lock("sku:42");
    lock.try_acquire().await.expect_err("no response")
}

#[test]
fn what_the_transport_said_is_the_source_without_secrets() {
    run(async {
        let said = format!("no way to {CREDENTIAL} for {TOKEN}");
        let shown = "no way to … for …";
        for (of, source, is_known) in [
            (
                TransportError::NotSent(said.clone()),
                Some("no connection: "),
                true,
            ),
            (
                TransportError::NoResponse(said.clone()),
                Some("no response: "),
                false,
            ),
            (
                TransportError::Interrupted(said),
                Some("the response broke off: "),
                false,
            ),
            (TransportError::TimedOut, None, false),
        ] {
            let error = failure(of).await;
            let told = error.source().map(ToString::to_string);
            assert_eq!(told, source.map(|what| format!("{what}{shown}")), "{error}");
            assert_eq!(error.is_outcome_unknown(), !is_known);
            let all = format!("{error} {error:?}");
            assert!(!all.contains("creden") && !all.contains("AAA"), "{all}");
        }
        let large = failure(TransportError::TooLarge).await;
        assert_eq!(
            large.source().map(ToString::to_string).as_deref(),
            Some("the response is too large")
        );
    });
}

#[test]
fn an_error_names_the_lock_also_where_the_way_to_it_failed() {
    run(async {
        for of in [
            TransportError::NotSent("refused".into()),
            TransportError::TimedOut,
            TransportError::TooLarge,
        ] {
            let error = failure(of).await;
            assert_eq!(error.lock(), Some("shop:sku:42"));
            assert!(
                error.to_string().ends_with(r#" (for "shop:sku:42")"#),
                "{error}"
            );
        }
    });
}

#[test]
fn an_invalid_argument_names_the_lock_that_it_was_given_for() {
    run(async {
        let stack = Stack::spawn();
        let lock = stack.lock("sku:42");
        let lease = lock.try_acquire().await.unwrap();
        let long = (0..1_000).fold(Command::new("MGET"), |command, _| command.key("x"));
        let client = stack.client();
        let all = client.lock_all(["sku:42", "sku:43"]);
        for (error, name) in [
            (lock.clone().ttl(ms(1)).check(), Some("sku:42")),
            (
                lock.check_reads(&[Command::new("SET").key("x")]),
                Some("sku:42"),
            ),
            (
                lease.exec(slice::from_ref(&long)).await.map(drop),
                Some("sku:42"),
            ),
            (lease.downgrade().await, Some("sku:42")),
            (all.signal_list("x").check(), Some("sku:42, sku:43")),
            (client.throttle("sku:42", ms(0)).check(), Some("sku:42")),
            (client.debounce("sku:42", ms(0)).check(), Some("sku:42")),
            (client.once("sku:42").keep(ms(0)).check(), Some("sku:42")),
            (
                client.read(&[Command::new("SET").key("x")]).await.map(drop),
                None,
            ),
            (Token::parse("x").map(drop), None),
        ] {
            let error = error.unwrap_err();
            assert_eq!((error.code(), error.lock()), ("invalid_argument", name));
            let names_it = error.to_string().contains("sku:42");
            assert_eq!(names_it, name.is_some(), "{error}");
        }
        lease.release().await.unwrap();
    });
}

#[test]
fn a_throttle_and_a_debounce_are_not_called_locks() {
    run(async {
        let wrong = r#"{"error":"WRONGTYPE Operation against a key"}"#;
        for comes_to in [
            Err(TransportError::NotSent("refused".into())),
            Err(TransportError::TimedOut),
            Ok(Response::new(404, "")),
            Ok(Response::new(200, "<html>")),
            Ok(Response::new(400, wrong)),
        ] {
            let client = client_that(comes_to);
            let (throttle, debounce) = (client.throttle("a", ms(9)), client.debounce("a", ms(9)));
            for error in [
                throttle.try_pass().await.unwrap_err(),
                debounce.run(async || Ok::<_, Error>(())).await.unwrap_err(),
                client.throttle("", ms(9)).check().unwrap_err(),
                client.debounce("a}", ms(9)).check().unwrap_err(),
                client.throttle("a", ms(0)).check().unwrap_err(),
            ] {
                let text = error.to_string();
                let names_none = text.replace("a lock of another kind", "");
                assert!(!names_none.contains("lock"), "{text}");
                assert!(
                    error.lock().is_some_and(|name| text.contains(name)),
                    "{text}"
                );
            }
        }
    });
}

#[test]
fn there_is_an_example_of_every_error_that_a_page_names() {
    let page = fs::read_to_string(paths::root().join("docs/troubleshooting.md")).expect("a page");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let codes = rows.filter_map(|row| row.split('`').next());
    // That one is JavaScript's.
    let codes: Vec<_> = codes.filter(|code| *code != "internal").collect();
    assert_eq!(codes.len(), 24);
    for code in codes {
        let error = Error::example(code, "sku:42").expect(code);
        assert_eq!(error.code(), code);
        let has_lock = code != "entropy_unavailable";
        assert_eq!(error.lock(), has_lock.then_some("sku:42"));
    }
    assert_eq!(Error::example("no such code", "sku:42"), None);
}

#[test]
fn a_bad_response_has_the_code_of_its_kind() {
    for (kind, code, is_known) in [
        (BadResponse::Redirected { status: 301 }, "redirected", true),
        (BadResponse::NotJson { status: 200 }, "not_json", false),
        (BadResponse::Truncated, "truncated", false),
        (BadResponse::TooLarge, "too_large", false),
        (
            BadResponse::UnexpectedReply("odd"),
            "unexpected_reply",
            false,
        ),
    ] {
        let error = Error::from(kind);
        assert_eq!((kind.code(), error.code()), (code, code));
        assert_eq!(error.is_outcome_unknown(), !is_known);
        assert_eq!(error.to_string(), kind.to_string());
    }
}
