//! What another program keeps under a key of a lock is told, and nothing is taken behind its back.

use edgelock::{Client, Command, Error};

use crate::support::faulty::Fault::Withhold;
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Http, Stack, TestLock, Tokio, alone, code, eventually, ms, over};

alone! {
    an_acquire_that_fails_for_what_another_program_keeps_has_taken_nothing,
    an_acquisition_is_given_up_though_its_queue_is_another_programs,
    what_another_program_or_version_keeps_in_place_of_the_fence_is_told_and_stays,
    a_lease_is_refused_by_what_another_version_has_stored_meanwhile,
    a_waiter_of_another_version_is_handed_nothing_and_keeps_its_place,
}

over! {
    [spawn] {
        a_quorum_refuses_what_another_version_has_stored,
        what_a_semaphore_left_behind_is_gone_when_the_next_permit_is_taken,
    }
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        what_another_program_or_version_keeps_under_a_key_is_told_and_stays,
    }
}

/// How keys of a lock end that have one name for all its holders.
const ENDINGS: [&str; 5] = ["fence", "queue", "holds", "readers", "result"];

fn pairs() -> impl Iterator<Item = (Kind, &'static str)> {
    let of = |kind: Kind| ENDINGS.map(|ending| (kind, ending));
    Kind::ALL.into_iter().flat_map(of)
}

impl Stack {
    /// A lock of this kind is taken and given back, or `key` is told of. It is free then.
    async fn takes_all_or_nothing(&mut self, kind: Kind, lock: TestLock, key: &str) {
        match lock.acquire().await {
            Ok(lease) => lease.release().await.unwrap(),
            // Not every kind has turns.
            Err(error) if error.code() == "invalid_argument" => {}
            Err(error) => {
                assert_eq!(error.code(), "wrong_type", "{kind:?} {key}");
                assert!(!error.is_outcome_unknown(), "{kind:?} {key}");
            }
        }
        assert!(!self.redis::<bool>("EXISTS a"), "{kind:?} {key}");
        let theirs: Vec<String> = self.redis(&format!("LRANGE {key} 0 -1"));
        assert_eq!(theirs, ["theirs"], "{kind:?}");
    }
}

async fn an_acquire_that_fails_for_what_another_program_keeps_has_taken_nothing() {
    for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
        for (kind, ending) in pairs() {
            let key = format!("{{a}}:{ending}");
            let _: () = stack.redis(&format!("RPUSH {key} theirs"));
            let lock = kind.lock(&stack.client(), &["a", "b"], "me");
            let hasty = lock.clone().wait_timeout(ms(0));
            for lock in [hasty, lock.clone(), lock.fair(true)] {
                stack.takes_all_or_nothing(kind, lock, &key).await;
            }
            let _: () = stack.redis("FLUSHALL");
        }
    }
}

async fn an_acquisition_is_given_up_though_its_queue_is_another_programs() {
    for kind in Kind::ALL {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Withhold]).await;
        let lock = kind.lock(&proxy.client, &["a", "b"], "me").ttl(ms(120_000));
        let call = tokio::task::spawn_local(async move { lock.acquire().await });
        eventually(|| stack.redis("EXISTS a")).await;
        let _: () = stack.redis("RPUSH {a}:queue theirs");
        call.abort();
        eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    }
}

async fn what_another_program_or_version_keeps_in_place_of_the_fence_is_told_and_stays() {
    for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
        for (stored, told, said) in [
            ("theirs", "wrong_type", "something else"),
            ("v2 something else", "refused", "another version"),
        ] {
            stack.store("{a}:fence", stored);
            for kind in Kind::ALL {
                let lock = kind.lock(&stack.client(), &["a", "b"], "me");
                let acquired = lock.acquire().await.unwrap_err();
                let inspected = lock.inspect().await.err();
                // An inspection may pass over what is no record at all.
                assert!(told == "wrong_type" || inspected.is_some(), "{kind:?}");
                for error in inspected.into_iter().chain([acquired]) {
                    assert_eq!(error.code(), told, "{kind:?}: {error}");
                    assert!(!error.is_outcome_unknown(), "{kind:?}: {error}");
                    assert!(error.to_string().contains(said), "{kind:?}: {error}");
                }
                let keys: Vec<String> = stack.redis("KEYS *");
                assert_eq!(keys, ["{a}:fence"], "{kind:?}");
                assert_eq!(stack.redis::<String>("GET {a}:fence"), stored, "{kind:?}");
            }
        }
    }
}

impl Stack {
    /// With nothing but this key stored, `call` fails with such a code, and changes nothing.
    async fn keeps<O>(&mut self, told: &str, call: impl Future<Output = Result<O, Error>>) {
        let [key]: [String; 1] = self.redis("KEYS *");
        let before: Vec<u8> = self.redis(&format!("DUMP {key}"));
        let error = call.await.err().expect("it is not misread");
        assert_eq!((error.code(), error.is_outcome_unknown()), (told, false), "{key}: {error}");
        assert_eq!(self.redis::<Vec<String>>("KEYS *"), [key.as_str()]);
        assert_eq!(self.redis::<Vec<u8>>(&format!("DUMP {key}")), before, "{key}");
        let _: () = self.redis("FLUSHALL");
    }
}

async fn what_another_program_or_version_keeps_under_a_key_is_told_and_stays(mut stack: Stack) {
    let client = stack.client();
    let (all, units) = (client.lock_all(["a", "b"]), client.reservations("a", 2));
    for (stored, lock) in [
        ("HSET a visits 42 name bob", client.reentrant("a", "visits")),
        ("HSET a name bob", client.reentrant("a", "visits")),
        ("HSET a 42 -1", client.reentrant("a", "visits")),
        ("HSET a visits 1.5", client.reentrant("a", "visits")),
        ("RPUSH b data", all.clone()),
        ("ZADD b 9999999999999 permit", all),
        ("SET b theirs", client.limits([("a", 1), ("b", 3)])),
        ("RPUSH {b}:fence theirs", client.limits([("a", 1), ("b", 3)])),
        ("ZADD b 1 theirs", client.limits([("a", 1), ("b", 3)])),
        ("RPUSH {a}:holds theirs", units.clone()),
        ("RPUSH {a}:holds theirs", units.owner("bob", 1)),
    ] {
        let _: redis::Value = stack.redis(stored);
        stack.keeps("wrong_type", lock.try_acquire()).await;
        // An inspection may pass over what is beside the name.
        if !stored.contains('{') {
            let _: redis::Value = stack.redis(stored);
            stack.keeps("wrong_type", lock.inspect()).await;
        }
    }
    for theirs in ["SET {a}:throttle theirs", "RPUSH {a}:throttle theirs"] {
        let _: redis::Value = stack.redis(theirs);
        stack.keeps("wrong_type", client.throttle("a", ms(60_000)).try_pass()).await;
    }
    stack.store("{a}:debounce", "v2 something else");
    let nothing = async || Ok::<_, Error>(());
    stack.keeps("refused", client.debounce("a", ms(20)).run(nothing)).await;
}

async fn a_lease_is_refused_by_what_another_version_has_stored_meanwhile() {
    let of_one = Kind::ALL.map(|kind| (kind, "{a}:fence"));
    for (kind, record) in of_one.into_iter().chain([(Kind::Multi, "{b}:fence")]) {
        let mut stack = Stack::spawn();
        let lock = kind.lock(&stack.client(), &["a", "b"], "me");
        let lease = lock.acquire().await.unwrap();
        stack.store(record, "v2 something else");
        let run = [Command::new("SET").key("{a}:n").arg(1)];
        for refused in [
            lease.renew().await.err(),
            lease.exec(&run).await.err(),
            lease.commit(&run).await.err(),
            lease.release().await.err(),
        ] {
            let error = refused.expect("it is not misread");
            assert_eq!(error.code(), "refused", "{kind:?}: {error}");
        }
        assert!(!stack.redis::<bool>("EXISTS {a}:n"), "{kind:?}");
        // An operator frees it all the same.
        assert!(lock.force_release().await.unwrap(), "{kind:?}");
        assert!(!stack.redis::<bool>("EXISTS a"), "{kind:?}");
        let theirs: String = stack.redis(&format!("GET {record}"));
        assert_eq!(theirs, "v2 something else", "{kind:?}");
    }
}

async fn a_quorum_refuses_what_another_version_has_stored(mut stack: Stack) {
    let bridges = [stack.route()];
    let client = Client::quorum(bridges, Http::default(), Tokio::default()).unwrap();
    stack.store("{a}:fence", "v2 something else");
    let lock = client.lock("a");
    assert_eq!(code(lock.acquire().await), "refused");
    assert_eq!(code(lock.inspect().await), "refused");
    assert!(!stack.redis::<bool>("EXISTS a"));
    let theirs: String = stack.redis("GET {a}:fence");
    assert_eq!(theirs, "v2 something else");
}

/// A waiter of another version, first in the record or behind it.
async fn a_waiter_of_another_version_is_handed_nothing_and_keeps_its_place() {
    let waiter = "v2 something else";
    let line = format!("9999999999999 0000000000000 1700000000000 {waiter},");
    let places = |kind| [(kind, true), (kind, false)];
    for (kind, is_first) in Kind::ALL.into_iter().flat_map(places) {
        let mut stack = Stack::spawn();
        let waiters = if is_first { &line } else { "+" };
        stack.store("{a}:fence", &format!("v1 7 604800000 ,{waiters}"));
        // Those of the record are not there too.
        let later = if is_first { "{x}:queue" } else { "{a}:queue" };
        for (score, member) in [(1, ""), (4_999_999_999_999_999_i64, "+")] {
            let mut add = redis::cmd("ZADD");
            add.arg(later).arg(score).arg(format!("{member}{waiter}"));
            add.exec(&mut *stack.redis.0).expect("redis answers");
        }
        let lock = kind.lock(&stack.client(), &["a", "b"], "me");
        // Who is fair stays behind it.
        let lock = match kind {
            Kind::Reentrant => lock,
            _ => lock.fair(false),
        };
        lock.acquire().await.unwrap().release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a"), "{kind:?}");
        let record: String = stack.redis("GET {a}:fence");
        let behind: Vec<String> = stack.redis("ZRANGE {a}:queue 0 0");
        let is_there = record.contains(waiter) || behind == [waiter];
        assert!(is_there, "{kind:?}: {record}");
    }
}

async fn what_a_semaphore_left_behind_is_gone_when_the_next_permit_is_taken(stack: Stack) {
    let semaphore = stack.client().semaphore("a", 2);
    let one = semaphore.try_acquire().await.unwrap();
    // Another kind frees the name that it knows.
    assert!(stack.lock("a").force_release().await.unwrap());
    let other = semaphore.try_acquire().await.unwrap();
    let found = semaphore.inspect().await.unwrap();
    let held: Vec<_> = found.holders.iter().map(|holder| &holder.token).collect();
    assert_eq!((held, found.free), (vec![other.token()], Some(1)));
    one.into_token();
    other.release().await.unwrap();
}
