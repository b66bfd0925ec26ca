//! Who may do what: everybody may buy, and all else needs a credential.

use crate::support::{Stack, until};

const TERMS: &str = r#"{"stock":1,"limit_per_buyer":1,"ends_at_ms":9999999999999}"#;

const CLOSED_ROUTES: [(&str, &str, &str); 1] = [("PUT", "/sales/42", TERMS)];

/// A deployed Worker would call that address: its own host's, if it is that of a laptop.
#[test]
fn the_configuration_that_is_deployed_names_no_bridge() {
    let text = std::fs::read_to_string(xtask::paths::root().join("wrangler.toml"));
    let text = text.expect("wrangler.toml");
    let mut set = text.lines().filter(|line| !line.starts_with('#'));
    assert!(set.all(|line| !line.contains("http") && !line.contains("BRIDGE")));
}

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

/// With one of them, its caller would guess or have what opens something else.
#[tokio::test]
async fn secrets_that_could_be_guessed_or_open_two_things_are_refused_and_not_shown() {
    let of_bridge = Stack::without_workers().bridge.token().to_owned();
    for (admin, what) in [
        ("0123456789abcde ", "has fewer than 16 characters"),
        (of_bridge.as_str(), "are the same"),
    ] {
        let mut stack = Stack::without_workers();
        let config = stack.config.bind("ADMIN_CREDENTIAL", admin);
        stack.config = match what {
            "are the same" => config.bind("EDGELOCK_BRIDGE_CREDENTIAL", admin),
            _ => config,
        };
        let caller = stack.start_worker();
        let answer = caller.admin("PUT", "/sales/42", TERMS).await;
        answer.refuses(500, "not_configured");
        until("it is logged", || {
            let log = stack.workers[0].log();
            assert!(!log.contains(admin.trim()), "{log}");
            async move { log.contains(what) }
        })
        .await;
    }
}

/// The one in its folder is for whoever copies that. The clone's builds with what it installs.
#[test]
fn both_wrangler_tomls_of_the_flash_sale_say_the_same_but_for_paths_and_the_build() {
    let settings = |path: &str| {
        let text = std::fs::read_to_string(xtask::paths::root().join(path)).expect(path);
        let (settings, build) = text.split_once("[build]").expect("a build");
        assert!(build.contains("command = "), "{build}");
        let settings = settings.replace("worker/build/", "build/");
        let lines = settings
            .lines()
            .map(|line| line.split(" #").next().unwrap_or(line).to_owned());
        let lines = lines.skip_while(|line| !line.starts_with("name"));
        lines
            .filter(|line| !line.starts_with("# ") || line.starts_with("#   "))
            .collect::<Vec<_>>()
    };
    let (ours, theirs) = (settings("wrangler.toml"), settings("worker/wrangler.toml"));
    assert!(ours.len() > 6, "{ours:?}");
    let differ = |(ours, theirs): &(&String, &String)| ours != theirs;
    let differ: Vec<_> = ours.iter().zip(&theirs).filter(differ).collect();
    assert!(
        ours.len() == theirs.len() && differ.is_empty(),
        "{differ:?}"
    );
}

#[tokio::test]
async fn looking_at_a_sale_and_buying_need_no_credential() {
    let stack = Stack::start();
    let caller = stack.caller();
    caller.open("42", 1, 1).await.answers(201);
    caller.sale("42").await.answers(200);
    caller.order("42", "o1", "ann", 1).await.answers(201);
}
