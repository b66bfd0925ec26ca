//! Who may do what: everybody may buy, and all else needs a credential.

use crate::support::{Stack, until};

/// A route that is closed: method, path, and a body that is right.
pub(crate) type Route = (&'static str, &'static str, &'static str);

const TERMS: &str = r#"{"stock":1,"limit_per_buyer":1,"ends_at_ms":9999999999999}"#;

#[tokio::test]
async fn without_the_right_credential_no_sale_is_opened() {
    let routes = [("PUT", "/sales/42", TERMS)];
    opens_nothing_else(Stack::start(), ["ADMIN_CREDENTIAL", "LOCKS_CREDENTIAL"], &routes).await;
}

/// The first secret opens these routes, and what opens something else does not. With a secret that
/// could be guessed, or that opens two things, its caller would have what is not meant for it. So
/// such a one opens nothing, as one that is missing.
pub(crate) async fn opens_nothing_else(mut stack: Stack, secrets: [&str; 2], routes: &[Route]) {
    let weak = "0123456789abcde ";
    let [right, other] = secrets.map(|name| stack.config.binding(name).to_owned());
    let of_bridge = stack.bridge.token().to_owned();
    for (set, status, code, logged) in [
        (&*right, 401, "unauthorized", ""),
        ("", 403, "closed", ""),
        (weak, 500, "not_configured", "has fewer than 16 characters"),
        (&*of_bridge, 500, "not_configured", "are the same"),
    ] {
        let caller = stack.start_with(stack.config.clone().bind(secrets[0], set));
        for (method, path, body) in routes {
            for bearer in ["", "undefined", weak, &*other, &*of_bridge] {
                caller.send(method, path, Some(bearer), body).await.refuses(status, code);
            }
            caller.send(method, path, None, body).await.refuses(status, code);
        }
        let is_logged = async || stack.workers.iter().any(|one| one.log().contains(logged));
        until(("it is logged", logged), is_logged).await;
    }
    for log in stack.workers.iter().map(|worker| worker.log()) {
        assert!(!log.contains(&of_bridge) && !log.contains(weak.trim()), "{log}");
    }
    assert_eq!(stack.redis().dump(), []);
}

/// The one in its folder is for whoever copies that; the clone's builds with what it installs. A
/// deployed Worker would call an address in it: its own host's, if it is that of a laptop.
#[test]
fn both_wrangler_tomls_of_the_flash_sale_say_the_same_but_for_the_build_and_name_no_bridge() {
    let [ours, theirs] = ["wrangler.toml", "worker/wrangler.toml"].map(|path| {
        let text = std::fs::read_to_string(testkit::paths::root().join(path)).expect(path);
        let mut set = text.lines().filter(|line| !line.starts_with('#'));
        assert!(set.all(|line| !line.contains("http") && !line.contains("BRIDGE")), "{text}");
        let (settings, _) = text.split_once("[build]").expect("a build");
        let (_, settings) = settings.split_once("name = ").expect("a name");
        settings.replace("worker/build/", "build/")
    });
    assert_eq!(ours, theirs);
}
