//! What `/health` says, which anybody may ask.

use reqwest::Method;

use crate::support::{Bridge, Redis, answer, until};

async fn health(bridge: &Bridge) -> (u16, String) {
    answer(bridge.request(Method::GET, "/health")).await
}

async fn says(bridge: &Bridge, why: &str) {
    until(why, async || {
        let (status, body) = health(bridge).await;
        status == 503 && body.contains(why)
    })
    .await;
}

fn on_its_port(port: u16, options: &[&str]) -> Vec<String> {
    let port = ["--port".to_owned(), port.to_string()];
    let options = options.iter().map(|option| (*option).to_owned());
    port.into_iter().chain(options).collect()
}

/// Each node answers `PING`, but serves no key.
#[tokio::test]
async fn a_cluster_that_is_down_is_not_well() {
    let redis = Redis::with(|folder, port| {
        let folder = folder.path().display().to_string();
        on_its_port(port, &["--dir", &folder, "--cluster-enabled", "yes"])
    })
    .await;
    let url = format!("redis://127.0.0.1:{}", redis.port());
    let alone = Bridge::start(["--redis", &redis.url()]).await;
    let cluster = Bridge::start(["--cluster", "--redis", &url]).await;
    for bridge in [&alone, &cluster] {
        says(bridge, "CLUSTERDOWN").await;
    }
    let mut direct = redis.connect().await;
    let mut slots = redis::cmd("CLUSTER");
    let given = slots.arg("ADDSLOTSRANGE").arg(0).arg(16383);
    given.exec_async(&mut direct).await.expect("the slots");
    for bridge in [&alone, &cluster] {
        until("it is well", async || health(bridge).await.0 == 200).await;
    }
}

#[tokio::test]
async fn a_replica_without_its_primary_is_told_as_one() {
    let options = [
        "--replicaof",
        "127.0.0.1 1",
        "--replica-serve-stale-data",
        "no",
    ];
    let redis = Redis::with(|_, port| on_its_port(port, &options)).await;
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    says(&bridge, "MASTERDOWN").await;
}

#[tokio::test]
async fn a_redis_that_wants_another_password_is_told_as_one() {
    let redis = Redis::with(|_, _| ["--requirepass", "of-redis"].map(str::to_owned).to_vec()).await;
    for url in [redis.url(), format!("{}?pass=wrong", redis.url())] {
        let bridge = Bridge::start(["--redis", &url]).await;
        says(&bridge, "wants a password").await;
    }
}

/// A user that may do little, as one whose keys begin with a prefix.
#[tokio::test]
async fn a_redis_whose_user_may_not_be_asked_for_all_is_well() {
    let user = "default on nopass ~app:* +@all -exists".split(' ');
    let user: Vec<_> = ["--user"]
        .into_iter()
        .chain(user)
        .map(str::to_owned)
        .collect();
    let redis = Redis::with(|_, _| user.clone()).await;
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    assert_eq!(health(&bridge).await.0, 200);
}
