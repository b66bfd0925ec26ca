//! Locks spread over several bridges by their names.

use std::collections::BTreeSet;

use edgelock::{Bridge, Client, Command, Error, Reply};
use redis::ConnectionLike;
use testkit::stack;

use crate::support::kinds::Kind;
use crate::support::{Http, TestClient, Tokio, alone, code, ms};

alone! {
    each_lock_lives_behind_one_bridge_with_all_that_is_its_own,
    names_of_one_hash_tag_live_together,
    several_names_that_live_apart_are_not_locked_at_once,
    a_release_hands_a_lock_over_behind_its_bridge,
    what_is_spread_ambiguously_is_refused,
}

const IDS: [&str; 3] = ["north", "south", "east"];

struct Shards([stack::Bridge; 3]);

impl Shards {
    fn spawn() -> Self {
        Self(IDS.map(|_| stack::Bridge::spawn()))
    }

    fn client(&self) -> TestClient {
        let bridges = self
            .0
            .each_ref()
            .map(|bridge| Bridge::upstash(bridge.url(), bridge.token()).expect("a bridge"));
        let named = IDS.into_iter().zip(bridges);
        Client::sharded(named, Http::default(), Tokio::default()).expect("a client")
    }

    /// Which bridges have a key.
    fn places(&self, key: &str) -> Vec<usize> {
        let has = |bridge: &stack::Bridge| {
            let mut redis = bridge.redis().get_connection().expect("redis");
            let exists = redis.req_command(redis::cmd("EXISTS").arg(key));
            exists.expect("redis answers") == redis::Value::Int(1)
        };
        (0..3).filter(|at| has(&self.0[*at])).collect()
    }

    fn somebody_waits(&self, name: &str) -> bool {
        let waits = |bridge: &stack::Bridge| {
            let mut redis = bridge.redis().get_connection().expect("redis");
            let record: Option<String> = redis::cmd("GET")
                .arg(format!("{{{name}}}:fence"))
                .query(&mut redis)
                .expect("redis answers");
            record.is_some_and(|record| record.matches(',').count() > 1)
        };
        self.0.iter().any(waits)
    }
}

async fn each_lock_lives_behind_one_bridge_with_all_that_is_its_own() {
    let shards = Shards::spawn();
    let client = shards.client();
    let mut seen = BTreeSet::new();
    for number in 0..12 {
        let name = format!("sku:{number}");
        let lease = client.lock(&name).try_acquire().await.unwrap();
        let places = shards.places(&name);
        assert_eq!(places.len(), 1);
        assert_eq!(shards.places(&format!("{{{name}}}:fence")), places);
        // Another client of the same bridges asks at the same one.
        let other = shards.client().lock(&name).try_acquire().await;
        assert_eq!(other.unwrap_err().code(), "held");
        let stock = format!("{{{name}}}:stock");
        let write = Command::new("SET").key(&stock).arg(7);
        lease.commit(&[write]).await.unwrap();
        let read = Command::new("GET").key(&stock);
        let replies = client.shard_of(&name).read(&[read]).await;
        assert_eq!(replies, Ok(vec![Reply::Bytes("7".into())]));
        seen.extend(places);
    }
    assert_eq!(seen.len(), 3);
}

async fn names_of_one_hash_tag_live_together() {
    let shards = Shards::spawn();
    let client = shards.client().prefix("shop:");
    let names = ["{cart:7}", "{cart:7}:a", "b:{cart:7}"];
    let mut places = BTreeSet::new();
    for name in names {
        client.lock(name).try_acquire().await.unwrap().into_token();
        places.extend(shards.places(&format!("shop:{name}")));
    }
    for kind in Kind::ALL {
        let names = ["c", "d"].map(|of| format!("{{cart:7}}:{kind:?}:{of}"));
        let names = names.each_ref().map(String::as_str);
        let lease = kind.lock(&client, &names, "me").try_acquire().await;
        let lease = lease.unwrap();
        let rival = kind.rival().lock(&client, &names, "you");
        assert_eq!(code(rival.try_acquire().await), "held");
        places.extend(names.map(|name| shards.places(&format!("shop:{name}"))).concat());
        lease.release().await.unwrap();
    }
    assert_eq!(places.len(), 1);
}

async fn several_names_that_live_apart_are_not_locked_at_once() {
    let shards = Shards::spawn();
    let names: Vec<String> = (0..8).map(|n| format!("sku:{n}")).collect();
    let error = shards.client().lock_all(&names).try_acquire().await;
    let error = error.unwrap_err();
    assert_eq!(error.code(), "invalid_argument");
    assert!(error.to_string().contains("one hash tag"), "{error}");
    assert!(names.iter().all(|name| shards.places(name).is_empty()));
}

async fn a_release_hands_a_lock_over_behind_its_bridge() {
    let shards = Shards::spawn();
    let lock = shards.client().lock("sku:42").wait_timeout(ms(30_000));
    let holder = lock.try_acquire().await.unwrap();
    let waiting = tokio::task::spawn_local(async move { lock.acquire().await });
    while !shards.somebody_waits("sku:42") {
        tokio::time::sleep(ms(2)).await;
    }
    holder.release().await.unwrap();
    let next = waiting.await.unwrap().unwrap();
    assert!(next.fence() > holder.fence());
    next.release().await.unwrap();
}

async fn what_is_spread_ambiguously_is_refused() {
    let shards = Shards::spawn();
    let read = Command::new("GET").key("x");
    let error = shards.client().read(&[read]).await.unwrap_err();
    assert!(error.to_string().contains("`shard_of`"), "{error}");
    let bridge = || Bridge::upstash("https://a.example", "credential").unwrap();
    for bridges in [vec![], vec![("a", bridge()), ("a", bridge())]] {
        let error = Client::sharded(bridges, Http::default(), Tokio::default()).unwrap_err();
        assert!(matches!(error, Error::InvalidArgument { .. }), "{error}");
    }
}
