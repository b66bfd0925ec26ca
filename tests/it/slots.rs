//! In which slot of a Redis Cluster the keys of a script are.

use std::collections::BTreeSet;

use testkit::stack::RedisServer;

use crate::support::alone;
use crate::support::noted::{names, noting};

alone! {
    all_keys_of_every_call_are_in_one_slot_whatever_the_name,
}

/// Parts of names: some mean something to Redis Cluster, to bridges or to Lua, and some mean
/// nothing.
const PARTS: [&str; 12] = ["{", "}", "{}", "{a}", "a", ":", ",", "%", " ", "\r\n", "\"", "ü"];

async fn all_keys_of_every_call_are_in_one_slot_whatever_the_name() {
    let redis = RedisServer::start(&["--cluster-enabled", "yes"]);
    let (client, noted) = noting();
    let mut checked = 0;
    for name in names(&PARTS).take(300) {
        for keys in noted.keys_of_each(&client, &name).await {
            checked += 1;
            let keys: BTreeSet<String> = keys.into_iter().collect();
            let keys = keys.iter().filter(|key| !key.contains(":wake:"));
            let slot = |key| redis.try_ask(&["CLUSTER", "KEYSLOT", key]).unwrap();
            let slots: BTreeSet<u16> = keys.map(|key| slot(key)).collect();
            assert_eq!(slots.len(), 1, "{name:?}");
        }
    }
    assert!(checked > 260, "{checked}");
}
