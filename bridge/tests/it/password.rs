//! A Redis that wants a password, and where the bridge takes the password from.

use testkit::stack::RedisServer;

use crate::support::{Bridge, says};

const SECRET: &str = "redis-secret";
const NOT_LET_IN: &str = r#"{"error":"ERR Redis wants a password, and the bridge has none or a wrong one; nothing was executed","executed":false}"#;

fn with_password(redis: &RedisServer, password: &str) -> String {
    redis.url().replace("://", &format!("://:{password}@"))
}

#[tokio::test]
async fn a_redis_that_wants_a_password_is_told_with_how_to_give_it() {
    let redis = RedisServer::start(&["--requirepass", SECRET]);
    for (url, told) in [
        (
            redis.url(),
            "it wants a password: give one in EDGELOCK_BRIDGE_REDIS, as redis://:PASSWORD@",
        ),
        (
            with_password(&redis, "another-secret"),
            "it does not accept the user and password in EDGELOCK_BRIDGE_REDIS",
        ),
    ] {
        let bridge = Bridge::start(["--redis", &url]).await;
        let refused = (503, NOT_LET_IN.to_owned());
        assert_eq!(bridge.run(r#"["GET","k"]"#).await, refused);
        for path in ["/pipeline", "/multi-exec"] {
            assert_eq!(bridge.ask(path, r#"[["GET","k"]]"#).await, refused);
        }
        assert_eq!(bridge.ask("/subscribe/c", "").await, refused);
        says(bridge.health().await, 503, "wants a password");
        bridge.until_logs(told).await;
        bridge.until_logs("it runs; see the user, the password").await;
        assert!(!bridge.log().contains("secret"), "{}", bridge.log());
    }
    let bridge = Bridge::start(["--redis", &with_password(&redis, SECRET)]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}

#[tokio::test]
async fn the_address_of_redis_needs_no_scheme() {
    let redis = RedisServer::start(&[]);
    let address = format!("localhost:{}", redis.port());
    let bridge = Bridge::start(["--redis", &address]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}

/// The default user may have more rights than the one that was named.
#[tokio::test]
async fn a_user_without_a_password_is_not_taken_for_the_default_user() {
    const WRONG: &str = "it does not accept the user and password in EDGELOCK_BRIDGE_REDIS";
    let redis = RedisServer::start(&["--unixsocket", "redis.sock"]);
    let socket = format!("unix://{}", redis.folder().join("redis.sock").display());
    let mut urls = vec![format!("{socket}?user=bridge"), format!("{socket}?user=bridge&pass=")];
    for named in ["://bridge@", "://bridge:@"] {
        urls.push(redis.url().replace("://", named));
    }
    for url in urls {
        let _: () = redis.ask(&format!("ACL SETUSER bridge reset on >{SECRET} +@all ~*"));
        let bridge = Bridge::start(["--redis", &url]).await;
        assert_eq!(bridge.run(r#"["GET","k"]"#).await, (503, NOT_LET_IN.to_owned()));
        bridge.until_logs(WRONG).await;
        // Redis takes any password of such a user.
        let _: () = redis.ask("ACL SETUSER bridge resetpass nopass");
        bridge.until_ping(200).await;
        let clients: String = redis.ask("CLIENT LIST");
        assert!(clients.contains("user=bridge"), "{clients}");
    }
}
