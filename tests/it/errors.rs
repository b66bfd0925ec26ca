//! What an error says besides its kind: which lock it is about, and what the transport said. It
//! says no secrets.

use std::error::Error as _;

use edgelock::{BadResponse, Bridge, Client, Error, Request, Response, Transport, TransportError};

use crate::support::noted::Drawn;
use crate::support::run;

const CREDENTIAL: &str = "credential-of-the-bridge";
/// The token of every acquisition of [`Drawn`].
const TOKEN: &str = "AAAAAAAAAAAAAAAAAAAAAA";

/// A transport that never gets a response.
struct Failing(TransportError);

impl Transport for Failing {
    async fn send(&self, _: Request<'_>) -> Result<Response, TransportError> {
        Err(self.0.clone())
    }
}

async fn failure(of: TransportError) -> Error {
    let bridge = Bridge::upstash("http://127.0.0.1:1", CREDENTIAL).expect("a bridge");
    let client = Client::new(bridge, Failing(of), Drawn::default());
    let lock = client.max_attempts(1).prefix("shop:").lock("sku:42");
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
                error.to_string().ends_with(r#" (lock "shop:sku:42")"#),
                "{error}"
            );
        }
    });
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
