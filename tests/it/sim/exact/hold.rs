//! What is known of a hold.

use super::*;

/// "7 days after the lock's end", docs/protocol.md says of the key that has the fence, the ttl and the label.
#[test]
fn a_renewal_for_less_does_not_shorten_what_is_known_of_the_hold() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a").expect("a lock");
        let ttl = |s| lock.clone().ttl(Duration::from_secs(s)).expect("a ttl");
        let lease = ttl(60).try_acquire().await.expect("a lease");
        let resumed = ttl(1).resume(lease.into_token()).expect("randomness");
        resumed.renew().await.expect("held");
        let left = |key: &str| {
            let db = case.redis.db();
            let found = db.all().find(|(name, ..)| *name == key.as_bytes());
            found
                .and_then(|(_, _, left)| left)
                .expect("a key that expires")
        };
        let (name, fence) = (left("a"), left("{a}:fence"));
        resumed.release().await.expect("held");
        assert!(fence >= name + 7 * 24 * 3_600_000, "{fence} ms, {name} ms");
    });
}
