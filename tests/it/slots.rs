//! In which slot of a Redis Cluster the keys of a script are.

use std::collections::BTreeSet;

use testkit::stack::RedisServer;

use crate::support::alone;
use crate::support::kinds::Kind;
use crate::support::noted::{names, noting};

alone! {
    all_keys_of_every_call_are_in_one_slot_whatever_the_name,
}

/// Parts of names: some mean something to Redis Cluster, to bridges or to Lua, and some mean
/// nothing.
const PARTS: [&str; 12] = [
    "{", "}", "{}", "{a}", "a", ":", ",", "%", " ", "\r\n", "\"", "ü",
];

async fn all_keys_of_every_call_are_in_one_slot_whatever_the_name() {
    let redis = RedisServer::start(&["--cluster-enabled", "yes"]);
    let (client, noted) = noting();
    let mut locks = 0;
    let slots = |keys: &BTreeSet<String>| -> BTreeSet<u16> {
        (keys.iter())
            .map(|key| redis.try_ask(&["CLUSTER", "KEYSLOT", key]).unwrap())
            .collect()
    };
    for name in names(&PARTS).take(300) {
        if let Ok(keys) = noted.keys_of_paced(&client, &name).await {
            let keys = keys.into_iter().collect();
            assert_eq!(slots(&keys).len(), 1, "{name:?}: {keys:?}");
        }
        let once = client.once(&name);
        if once.check().is_ok() {
            let keys = noted.keys_of_once(once).await.into_iter().collect();
            assert_eq!(slots(&keys).len(), 1, "{name:?}: {keys:?}");
        }
        for kind in Kind::ALL {
            let lock = kind.lock(&client, &[&name], "me");
            if let Err(error) = lock.check() {
                assert_eq!(error.code(), "invalid_argument");
                continue;
            }
            locks += 1;
            let mut keys: BTreeSet<String> = noted.keys_of(&lock).await.into_iter().collect();
            keys.retain(|key| !key.contains(":wake:"));
            assert!(keys.contains(&name) && keys.len() > 5);
            assert_eq!(slots(&keys).len(), 1, "{name:?}: {keys:?}");
        }
    }
    assert!(locks > 200, "{locks}");
}
