//! What Redis knows of a hold: its fence and its ttl.

use super::*;

/// How long Redis will keep `key`, in milliseconds.
fn left(case: &Case, key: &str) -> i64 {
    let db = case.redis.db();
    let found = db.all().find(|(name, ..)| *name == key.as_bytes());
    found.and_then(|(_, _, left)| left).expect("a key that expires")
}

/// Two renewals of a resumed lease are under way. Redis is full, and drops what it knows of the
/// hold between them. So they are given different ttls.
#[test]
fn a_renewal_moves_the_deadline_by_what_it_was_given_and_not_by_what_another_was() {
    play(|case| async move {
        let timeout = s(5);
        let lock = lock_with(&case, Settings { timeout, ..SETTINGS });
        let token = held(&case).await.into_token();
        let lease = Rc::new(lock.resume(token).expect("randomness"));
        slow_down(&case, 2_000);
        let renew = || {
            let lease = lease.clone();
            meanwhile(&case, &machine(), async move {
                lease.renew().await.expect("held");
            })
        };
        let first = renew();
        sleep(&case, 3_995).await;
        case.net.set(STEADY);
        case.redis.execute(&[b"DEL", b"{a}:fence"]);
        let second = renew();
        sleep(&case, 25).await;
        assert!(first.at().is_some() && second.at().is_some());
        let remaining = lease.remaining().as_millis() as i64;
        assert!((50_000..left(&case, "a")).contains(&remaining), "{remaining}");
        lease.release().await.expect("held");
    });
}

/// docs/protocol.md says that the record outlasts the last hold.
#[test]
fn a_renewal_for_less_does_not_shorten_what_is_known_of_the_hold() {
    play(|case| async move {
        let token = held(&case).await.into_token();
        let resumed = lock(&case).ttl(s(1)).resume(token).expect("randomness");
        resumed.renew().await.expect("held");
        let (name, fence) = (left(&case, "a"), left(&case, "{a}:fence"));
        resumed.release().await.expect("held");
        assert!(fence >= name + 7 * 24 * 3_600_000, "{fence} ms, {name} ms");
    });
}
