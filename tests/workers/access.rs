//! Who may do what: everybody may buy, and all else needs a credential.

use crate::support::{Stack, until};

const TERMS: &str = r#"{"stock":1,"limit_per_buyer":1,"ends_at_ms":9999999999999}"#;
const TOKEN: &str = r#"{"token":"AAAAAAAAAAAAAAAAAAAAAA"}"#;

/// A route that is closed: method, path, and a body that is right.
type Route = (&'static str, &'static str, &'static str);

/// Each Worker that has closed routes, the secret that opens them, and these.
const CLOSED: [(&str, &str, &[Route]); 2] = [
    ("worker", "ADMIN_CREDENTIAL", &[("PUT", "/sales/42", TERMS)]),
    (
        "lock-service",
        "LOCKS_CREDENTIAL",
        &[
            ("POST", "/locks/a/acquire", ""),
            ("POST", "/locks/a/renew", TOKEN),
            ("POST", "/locks/a/release", TOKEN),
            ("GET", "/locks/a", ""),
        ],
    ),
];

#[tokio::test]
async fn without_the_right_credential_nothing_happens() {
    for (worker, _, routes) in CLOSED {
        let stack = Stack::of(worker);
        let caller = stack.caller();
        // What opens something else is as wrong as any.
        let others = match worker {
            "worker" => stack.config.locks_token(),
            _ => stack.config.admin_token(),
        };
        let bridge = stack.bridge.token();
        for (method, path, body) in routes {
            for bearer in [None, Some(""), Some("wrong"), Some(others), Some(bridge)] {
                let answer = caller.send(method, path, bearer, body).await;
                let answer = answer.refuses(401, "unauthorized");
                assert_eq!(answer.header("www-authenticate"), "Bearer");
            }
        }
        assert_eq!(stack.redis().dump(), []);
    }
}

/// With one that could be guessed, or opens two things, its caller would have what is not meant for
/// it.
#[tokio::test]
async fn a_credential_that_is_missing_could_be_guessed_or_is_the_bridges_opens_nothing() {
    for (worker, secret, routes) in CLOSED {
        let mut stack = Stack::of(worker);
        let of_bridge = stack.bridge.token().to_owned();
        for (credential, status, code, logged) in [
            ("", 403, "closed", ""),
            ("0123456789abcde ", 500, "not_configured", "has fewer than 16 characters"),
            (&of_bridge, 500, "not_configured", "are the same"),
        ] {
            stack.config = stack.config.clone().bind(secret, credential);
            let caller = stack.start_worker();
            for (method, path, body) in routes {
                for bearer in [None, Some("undefined"), Some(credential)] {
                    caller.send(method, path, bearer, body).await.refuses(status, code);
                }
            }
            until("it is logged", || async {
                stack.workers.iter().any(|worker| worker.log().contains(logged))
            })
            .await;
        }
        for worker in &stack.workers {
            for secret in [&of_bridge, "0123456789abcde"] {
                assert!(!worker.log().contains(secret), "{}", worker.log());
            }
        }
        assert_eq!(stack.redis().dump(), []);
    }
}

/// A deployed Worker would call that address: its own host's, if it is that of a laptop.
#[test]
fn the_configuration_that_is_deployed_names_no_bridge() {
    let text = std::fs::read_to_string(xtask::paths::root().join("wrangler.toml"));
    let text = text.expect("wrangler.toml");
    let mut set = text.lines().filter(|line| !line.starts_with('#'));
    assert!(set.all(|line| !line.contains("http") && !line.contains("BRIDGE")));
}

/// The one in its folder is for whoever copies that. The clone's builds with what it installs.
#[test]
fn both_wrangler_tomls_of_the_flash_sale_say_the_same_but_for_paths_and_the_build() {
    let settings = |path: &str| {
        let text = std::fs::read_to_string(xtask::paths::root().join(path)).expect(path);
        let (settings, build) = text.split_once("[build]").expect("a build");
        assert!(build.contains("command = "), "{build}");
        let settings = settings.replace("worker/build/", "build/");
        let lines = settings.lines().map(|line| line.split(" #").next().unwrap_or(line).to_owned());
        let lines = lines.skip_while(|line| !line.starts_with("name"));
        lines.filter(|line| !line.starts_with("# ") || line.starts_with("#   ")).collect::<Vec<_>>()
    };
    let (ours, theirs) = (settings("wrangler.toml"), settings("worker/wrangler.toml"));
    assert!(ours.len() > 6, "{ours:?}");
    assert_eq!(ours, theirs);
}
