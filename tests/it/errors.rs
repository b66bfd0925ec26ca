//! What an error says besides its kind: which lock it is about, why, and what to do. It says no
//! secrets.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;
use std::fs;
use std::net::TcpListener;

use edgelock::{
    BadResponse, Bridge, Client, Command, Error, Request, Response, Token, Transport,
    TransportError,
};
use testkit::paths;

use crate::support::noted::Drawn;
use crate::support::{Stack, alone, client_of, ms, over};

alone! {
    what_the_transport_said_is_in_the_message_or_the_source_without_secrets_and_never_in_both,
    a_connection_that_is_refused_says_so,
    a_name_that_does_not_resolve_says_so,
    a_build_without_tls_says_so,
    a_throttle_and_a_debounce_are_not_called_locks,
    a_call_of_unknown_outcome_may_be_made_again_unless_it_writes,
    advice_follows_what_is_known_and_is_the_same_in_both_languages,
}

over! {
    [spawn] {
        an_invalid_argument_names_the_lock_that_it_was_given_for,
    }
}

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

async fn what_the_transport_said_is_in_the_message_or_the_source_without_secrets_and_never_in_both()
{
    let said = || format!("no way to {CREDENTIAL} for {TOKEN}");
    let shown = "no way to … for …";
    let message = format!(r#"unavailable: {shown} (for "shop:sku:42")"#);
    let interrupted = format!("interrupted: {shown}");
    let broke_off = r#"the answer broke off (for "shop:sku:42")"#;
    let cut = TransportError::Interrupted(said());
    for (of, told, source, is_known) in [
        (TransportError::NotSent(said()), &*message, None, true),
        (TransportError::NoResponse(said()), &message, None, false),
        (cut, broke_off, Some(interrupted), false),
    ] {
        let error = failure(of).await;
        assert_eq!(error.to_string(), told);
        assert_eq!(error.lock(), Some("shop:sku:42"));
        assert_eq!(error.source().map(ToString::to_string), source);
        assert_eq!(error.is_outcome_unknown(), !is_known);
        let all = format!("{error} {error:?}");
        assert!(!all.contains("creden") && !all.contains("AAA"), "{all}");
    }
    for of in [TransportError::TimedOut, TransportError::TooLarge] {
        let error = failure(of).await;
        assert!(error.source().is_none(), "{error}");
        assert!(error.is_outcome_unknown(), "{error}");
        let text = error.to_string();
        assert!(text.ends_with(r#" (for "shop:sku:42")"#), "{text}");
        assert_eq!(error.lock(), Some("shop:sku:42"));
    }
}

/// The error of a native client, which says nothing of the address and of the credential.
async fn native_failure(url: &str) -> Error {
    let bridge = Bridge::upstash_over_plain_http(url, CREDENTIAL).expect("a bridge");
    let client = client_of(bridge).max_attempts(1);
    let error = client.lock("sku:42").try_acquire().await;
    let error = error.expect_err("there is no bridge");
    assert_eq!(error.code(), "unavailable");
    assert!(!error.is_outcome_unknown(), "{error}");
    let all = format!("{error} {error:?}");
    let is_told = |secret| all.contains(secret);
    assert!(![CREDENTIAL, "://"].into_iter().any(is_told), "{all}");
    assert!(error.source().is_none(), "the message says all: {error}");
    error
}

async fn a_connection_that_is_refused_says_so() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = port.local_addr().expect("an address");
    drop(port);
    let error = native_failure(&format!("http://{address}")).await;
    assert!(error.to_string().contains("Connection refused"), "{error}");
}

async fn a_name_that_does_not_resolve_says_so() {
    let error = native_failure("http://bridge.invalid").await;
    let text = error.to_string();
    assert!(text.contains("failed to lookup address"), "{text}");
}

/// These tests are built without TLS.
async fn a_build_without_tls_says_so() {
    let error = native_failure("https://127.0.0.1:1").await;
    assert!(error.to_string().contains("scheme is not http"), "{error}");
}

async fn an_invalid_argument_names_the_lock_that_it_was_given_for(stack: Stack) {
    let lock = stack.lock("sku:42");
    let lease = lock.try_acquire().await.unwrap();
    let long = (0..1_000).fold(Command::new("MGET"), |command, _| command.key("x"));
    let client = stack.client();
    let all = client.lock_all(["sku:42", "sku:43"]);
    let (own, set) = (Some("sku:42"), [Command::new("SET").key("x")]);
    for (error, name) in [
        (lock.clone().ttl(ms(1)).check(), own),
        (lock.check_reads(&set), own),
        (lease.exec(&[long]).await.map(drop), own),
        (lease.downgrade().await, own),
        (all.signal_list("x").check(), Some("sku:42, sku:43")),
        (client.throttle("sku:42", ms(0)).check(), own),
        (client.debounce("sku:42", ms(0)).check(), own),
        (client.once("sku:42").keep(ms(0)).check(), own),
        (client.read(&set).await.map(drop), None),
        (Token::parse("x").map(drop), None),
    ] {
        let error = error.unwrap_err();
        assert_eq!((error.code(), error.lock()), ("invalid_argument", name));
        let names_it = error.to_string().contains("sku:42");
        assert_eq!(names_it, name.is_some(), "{error}");
    }
    lease.release().await.unwrap();
}

async fn a_throttle_and_a_debounce_are_not_called_locks() {
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
            let name = error.lock().expect("a name");
            assert!(text.contains(name), "{text}");
        }
    }
}

#[test]
fn there_is_an_example_of_every_error_that_a_page_names() {
    let page = text("docs/troubleshooting.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let codes = rows.filter_map(|row| row.split('`').next());
    // That one is JavaScript's.
    let codes: Vec<_> = codes.filter(|code| *code != "internal").collect();
    assert_eq!(codes.len(), 27);
    for code in codes {
        let error = Error::example(code, "sku:42").expect(code);
        assert_eq!(error.code(), code);
        let has_lock = code != "entropy_unavailable";
        assert_eq!(error.lock(), has_lock.then_some("sku:42"));
    }
    assert_eq!(Error::example("no such code", "sku:42"), None);
}

#[test]
fn what_may_be_made_again_is_what_the_page_says() {
    let page = text("docs/troubleshooting.md");
    let mut codes = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<_> = row.split(" | ").collect();
        let (code, again) = (cells[0].trim_matches(['|', ' ', '`']), cells[1]);
        let Some(error) = Error::example(code, "a") else {
            continue;
        };
        codes += 1;
        let expected = match again {
            "yes" => true,
            "no" => false,
            "but a write" => !error.is_outcome_unknown() && code != "not_replicated",
            _ => panic!("{row}"),
        };
        assert_eq!(error.is_retryable(), expected, "{row}");
    }
    assert_eq!(codes, 27);
}

async fn a_call_of_unknown_outcome_may_be_made_again_unless_it_writes() {
    let answers = [
        (Err(TransportError::TimedOut), true, true),
        (Err(TransportError::NoResponse("gone".into())), true, true),
        (Ok(Response::new(200, "")), true, true),
        (Ok(Response::new(200, "{}")), true, true),
        (Err(TransportError::NotSent("refused".into())), false, true),
        (Ok(Response::new(503, "{}")), true, true),
        (Ok(Response::new(200, "<html>")), true, false),
        (Ok(Response::new(401, "{}")), false, false),
    ];
    let incr = [Command::new("INCR").key("n")];
    for (comes_to, is_unknown, can_pass) in answers {
        let client = client_that(comes_to);
        let lock = client.lock("a").wait_timeout(ms(0));
        let token = || Token::parse(TOKEN).unwrap();
        let lease = || lock.resume(token()).unwrap();
        for error in [
            lock.try_acquire().await.unwrap_err(),
            lock.acquire().await.map(drop).unwrap_err(),
            lock.inspect().await.map(drop).unwrap_err(),
            client.read(&[Command::new("TIME")]).await.unwrap_err(),
            lease().renew().await.unwrap_err(),
            lease().release().await.unwrap_err(),
        ] {
            assert_eq!(error.is_outcome_unknown(), is_unknown, "{error}");
            assert_eq!(error.is_retryable(), can_pass, "{error}");
        }
        for error in [
            lease().exec(&incr).await.unwrap_err(),
            lease().commit(&incr).await.unwrap_err(),
            lock.force_release().await.map(drop).unwrap_err(),
            client.once("a").forget().await.map(drop).unwrap_err(),
        ] {
            assert_eq!(error.is_outcome_unknown(), is_unknown, "{error}");
            assert_eq!(error.is_retryable(), can_pass && !is_unknown, "{error}");
        }
    }
}

/// The advice of the npm package by code or reason, with the names that Rust has for things.
fn advice_of_the_npm_package() -> BTreeMap<String, String> {
    let text = text("npm/ts/advice.ts");
    let words = ["test(", "match(", "includes("];
    assert!(!words.iter().any(|word| text.contains(word)));
    let constant = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(&format!("const {name} = ")));
        line.expect(name).trim_end_matches(';').to_owned()
    };
    let (_, table) = text.split_once("string>> = {\n").expect("a table");
    let (table, _) = table.split_once("\n};").expect("its end");
    let advice = |line: &str| {
        let (key, said) = line.trim().trim_end_matches(',').split_once(": ").expect(line);
        let said = match said.starts_with('"') {
            true => said.to_owned(),
            false => constant(said),
        };
        (key.to_owned(), in_rust(said.trim_matches('"')))
    };
    table.lines().map(advice).collect()
}

/// `retryAfter` as `retry_after`, and without what only JavaScript has to be told.
fn in_rust(said: &str) -> String {
    let mut text = String::new();
    for char in said.chars() {
        let is_hump = char.is_uppercase() && text.ends_with(char::is_lowercase);
        match is_hump {
            true => text.extend(['_', char.to_ascii_lowercase()]),
            false => text.push(char),
        }
    }
    let no_json = ", with neither a Big_int nor a circle";
    let only_there = [" milliseconds", no_json, ": 10_000 is 10 s"].into_iter();
    only_there.fold(text, |text, only_there| text.replace(only_there, ""))
}

fn text(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).expect(path)
}

/// What is known of these answers besides the code. Of those behind the last line nothing is.
const REASONS: &str = "\
400 forbidden_key NOPERM this user has no permissions to access one of the keys used as arguments
400 forbidden_key NOPERM User app has no permissions to access the 'a command' key
400 forbidden_command NOPERM this user has no permissions to run the 'eval' command
400 no_password NOAUTH Authentication required.
400 no_password ERR Protocol error: unauthenticated multibulk length
400 no_password ERR Protocol error: unauthenticated bulk length
503 no_password NOAUTH Authentication required.
503 no_password ERR Redis wants a password, and the bridge has none or a wrong one; nothing was executed
404 no_bridge not here
405 no_bridge not so
400 no_scripts ERR unknown command 'EVAL', with args beginning with: 'return 1' '0'\x20
400 no_scripts ERR unknown command `EVALSHA`, with args beginning with:\x20
400 path_is_command ERR unknown command 'EVALUATE', with args beginning with:\x20
400 path_is_command ERR unknown command 'APP', with args beginning with:\x20
400 path_is_command ERR the body must be a JSON array of arrays: one for each command
400 - WRONGPASS invalid username-password pair
401 - Unauthorized: who says NOPERM and status 404?
402 - pay first: NOAUTH
413 - a body must be smaller
400 - OOM command not allowed when used memory > 'maxmemory'.
503 - status 404";

async fn advice_follows_what_is_known_and_is_the_same_in_both_languages() {
    let mut told = advice_of_the_npm_package();
    let mut reasons = BTreeSet::new();
    for row in REASONS.lines() {
        let [status, reason, said] = row.splitn(3, ' ').collect::<Vec<_>>()[..] else {
            panic!("{row}")
        };
        let body = format!(r#"{{"error":"{said}"}}"#);
        let client = client_that(Ok(Response::new(status.parse().expect(row), body)));
        let error = client.lock("a").try_acquire().await.unwrap_err();
        let reason = (reason != "-").then_some(reason);
        assert_eq!(error.reason(), reason, "{error}");
        assert_eq!(error.advice(), told[reason.unwrap_or_else(|| error.code())], "{error}");
        reasons.extend(reason);
    }
    let mut held = Error::example("held", "a").expect("a code");
    if let Error::Held { remaining, .. } = &mut held {
        *remaining = None;
    }
    reasons.extend(held.reason());
    assert_eq!(held.advice(), told["never_expires"]);
    // debounce.rs sees this one.
    assert!(text("src/error/facts.rs").contains(&told["forgotten"]));
    reasons.insert("forgotten");
    // Every reason that there is was seen, and the package knows no other.
    let of_rust = text("src/error/why.rs");
    let (_, of_rust) = of_rust.split_once("enum Reason").unwrap();
    let names = of_rust.split("=> \"").skip(1);
    let names = names.filter_map(|rest| rest.split('"').next());
    assert_eq!(names.collect::<BTreeSet<_>>(), reasons);
    told.retain(|key, _| !reasons.contains(key.as_str()));
    // These are JavaScript's.
    for own in ["internal", "no_environment", "no_crypto", "no_wasm", "no_text"] {
        assert!(told.remove(own).is_some(), "{own}");
    }
    assert_eq!(told.len(), 27);
    for (code, advice) in told {
        assert_eq!(Error::example(&code, "a").expect(&code).advice(), advice);
    }
}

#[test]
fn a_bad_response_has_the_code_of_its_kind() {
    let unexpected = BadResponse::UnexpectedReply("odd");
    for (kind, code, is_known) in [
        (BadResponse::Redirected { status: 301 }, "redirected", true),
        (BadResponse::NotJson { status: 200 }, "not_json", false),
        (BadResponse::Truncated, "truncated", false),
        (BadResponse::TooLarge, "too_large", false),
        (unexpected, "unexpected_reply", false),
    ] {
        let error = Error::from(kind);
        assert_eq!((kind.code(), error.code()), (code, code));
        assert_eq!(error.is_outcome_unknown(), !is_known);
        assert_eq!(error.to_string(), kind.to_string());
    }
}
