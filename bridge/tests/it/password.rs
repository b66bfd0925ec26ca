//! A Redis that wants a password, and where the bridge takes the password from.

use crate::support::{Bridge, Redis, answer, until};

const SECRET: &str = "redis-secret";
const NOT_LET_IN: &str = r#"{"error":"ERR Redis wants a password that the bridge does not have; nothing was executed","executed":false}"#;

async fn with_password() -> Redis {
    Redis::with(|_, _| ["--requirepass", SECRET].map(str::to_owned).to_vec()).await
}

#[tokio::test]
async fn a_redis_that_wants_a_password_is_told_with_how_to_give_it() {
    let redis = with_password().await;
    for (url, told) in [
        (
            redis.url(),
            "it wants a password: give one in EDGELOCK_BRIDGE_REDIS, as redis://:PASSWORD@",
        ),
        (
            format!("{}?pass=another-secret", redis.url()),
            "it does not accept the user and password in EDGELOCK_BRIDGE_REDIS",
        ),
    ] {
        let bridge = Bridge::start(["--redis", &url]).await;
        let refused = (503, NOT_LET_IN.to_owned());
        assert_eq!(bridge.run(r#"["GET","k"]"#).await, refused);
        for path in ["/pipeline", "/multi-exec"] {
            assert_eq!(answer(bridge.post(path, r#"[["GET","k"]]"#)).await, refused);
        }
        assert_eq!(answer(bridge.post("/subscribe/c", "")).await, refused);
        until("the operator is told", async || bridge.log().contains(told)).await;
        assert!(!bridge.log().contains("secret"), "{}", bridge.log());
    }
    let bridge = Bridge::start(["--redis", &format!("{}?pass={SECRET}", redis.url())]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}

#[tokio::test]
async fn the_address_of_redis_needs_no_scheme() {
    let redis = Redis::with(|_, port| vec!["--port".to_owned(), port.to_string()]).await;
    let address = format!("localhost:{}", redis.port());
    let bridge = Bridge::start(["--redis", &address]).await;
    assert_eq!(bridge.run(r#"["PING"]"#).await.0, 200);
}
