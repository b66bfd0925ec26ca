//! What `/health` says, which anybody may ask.

use testkit::stack::RedisServer;

use crate::support::{Bridge, until};

async fn says(bridge: &Bridge, why: &str) {
    until(why, async || {
        let (status, body) = bridge.health().await;
        status == 503 && body.contains(why)
    })
    .await;
}

/// Each node answers `PING`, but serves no key.
#[tokio::test]
async fn a_cluster_that_is_down_is_not_well() {
    let redis = RedisServer::start(&["--cluster-enabled", "yes"]);
    let alone = Bridge::start(["--redis", &redis.url()]).await;
    let cluster = Bridge::start(["--cluster", "--redis", &redis.url()]).await;
    for bridge in [&alone, &cluster] {
        says(bridge, "CLUSTERDOWN").await;
    }
    redis.ask::<()>("CLUSTER ADDSLOTSRANGE 0 16383");
    for bridge in [&alone, &cluster] {
        until("it is well", async || bridge.health().await.0 == 200).await;
    }
}

#[tokio::test]
async fn a_replica_without_its_primary_is_told_as_one() {
    let options = ["--replicaof", "127.0.0.1 1"];
    let stale = ["--replica-serve-stale-data", "no"];
    let redis = RedisServer::start(&[options, stale].concat());
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    says(&bridge, "MASTERDOWN").await;
}

/// A user that may do little, as one whose keys begin with a prefix.
#[tokio::test]
async fn a_redis_whose_user_may_not_be_asked_for_all_is_well() {
    let user = "--user default on nopass ~app:* +@all -exists".split(' ');
    let redis = RedisServer::start(&user.collect::<Vec<_>>());
    let bridge = Bridge::start(["--redis", &redis.url()]).await;
    assert_eq!(bridge.health().await.0, 200);
}
