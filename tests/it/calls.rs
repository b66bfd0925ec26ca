//! What throttles, debounces and work that is executed once promise in the same words.

use edgelock::{Bridge, Client, DebounceOutcome, Error, OnceOutcome, ThrottleOutcome};
use testkit::stack::{self, RedisCluster};

use crate::support::{Http, TestClient, Tokio, alone, client, ms};

alone! {
    several_bridges_that_vote_refuse_them_and_those_by_name_do_not,
    they_are_done_once_whichever_node_of_a_cluster_has_them,
}

/// One call of each after another: whether each was done first, or why it was refused.
async fn call_each(client: &TestClient, name: &str) -> [Result<bool, Error>; 3] {
    let throttle = client.throttle(name, ms(600_000)).try_pass().await;
    let debounce = client.debounce(name, ms(5));
    let debounced = debounce.run(async || Ok::<_, Error>(7)).await;
    let once = client.once(&format!("{name}:once"));
    let executed = once.run(async |_| Ok::<_, Error>(7)).await;
    [
        throttle.map(|outcome| matches!(outcome, ThrottleOutcome::Passed)),
        debounced.map(|outcome| outcome == DebounceOutcome::Executed(7)),
        executed.map(|outcome| outcome == OnceOutcome::Executed(7)),
    ]
}

/// Nobody else calls. So a second call of a debounce is as good as the first.
async fn are_each_done_once(client: &TestClient) {
    for name in ["a", "b", "c", "d"] {
        assert_eq!(call_each(client, name).await, [Ok(true), Ok(true), Ok(true)]);
        assert_eq!(call_each(client, name).await, [Ok(false), Ok(true), Ok(false)]);
    }
}

async fn several_bridges_that_vote_refuse_them_and_those_by_name_do_not() {
    let bridges = [stack::Bridge::spawn(), stack::Bridge::spawn()];
    let route = |bridge: &stack::Bridge| Bridge::upstash(bridge.url(), bridge.token()).unwrap();
    let (transport, runtime) = (Http::default(), Tokio::default());
    let quorum = Client::quorum(bridges.iter().map(route), transport.clone(), runtime).unwrap();
    for refused in call_each(&quorum, "a").await {
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), "invalid_argument");
        assert!(refused.to_string().contains("one bridge"), "{refused}");
    }
    let named = ["x", "y"].into_iter().zip(bridges.iter().map(route));
    are_each_done_once(&Client::sharded(named, transport, Tokio::default()).unwrap()).await;
}

async fn they_are_done_once_whichever_node_of_a_cluster_has_them() {
    let cluster = RedisCluster::start();
    let bridge = stack::Bridge::options().cluster(cluster.url()).start();
    let bridge = bridge.expect("a bridge");
    are_each_done_once(&client(bridge.url(), bridge.token())).await;
}
