//! What another program keeps under a key of a lock is told, and nothing is taken behind its back.

use edgelock::Command;

use crate::support::faulty::Fault::{LoseReply, Pass, Withhold};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Stack, TestLock, eventually, ms, run};

/// How keys of a lock end that have one name for all its holders.
const ENDINGS: [&str; 8] = [
    "fence", "queue", "alive", "holds", "readers", "hold", "entries", "result",
];

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

#[test]
fn an_acquire_that_fails_for_what_another_program_keeps_has_taken_nothing() {
    run(async {
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
    });
}

#[test]
fn a_commit_that_breaks_its_own_lock_is_unknown_and_runs_once() {
    run(async {
        let mut stack = Stack::spawn();
        let spoil = [
            Command::new("INCR").key("{a}:n"),
            Command::new("SET").key("a").arg("x"),
        ];
        let lease = stack.client().semaphore("a", 1).try_acquire().await;
        let error = lease.unwrap().commit(&spoil).await.unwrap_err();
        assert_eq!(error.code(), "wrong_type");
        assert!(error.is_outcome_unknown());
        assert_eq!(stack.redis::<u64>("GET {a}:n"), 1);
        let _: () = stack.redis("DEL a {a}:holds");
        let proxy = Proxy::before(&stack, [Pass, LoseReply]).await;
        let lease = proxy.client.semaphore("a", 1).try_acquire().await.unwrap();
        lease.commit(&spoil).await.unwrap();
        assert_eq!(proxy.seen().len(), 3);
        assert_eq!(stack.redis::<u64>("GET {a}:n"), 2);
    });
}

#[test]
fn an_acquisition_is_given_up_though_its_queue_is_another_programs() {
    run(async {
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
    });
}

#[test]
fn what_another_program_keeps_in_place_of_the_fence_is_told_and_stays() {
    run(async {
        for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
            for kind in Kind::ALL {
                let _: () = stack.redis("SET {a}:fence theirs");
                let lock = kind.lock(&stack.client(), &["a", "b"], "me");
                let error = lock.acquire().await.unwrap_err();
                assert_eq!(error.code(), "wrong_type", "{kind:?}");
                assert!(!error.is_outcome_unknown(), "{kind:?}");
                let keys: Vec<String> = stack.redis("KEYS *");
                assert_eq!(keys, ["{a}:fence"], "{kind:?}");
                let theirs: String = stack.redis("GET {a}:fence");
                assert_eq!(theirs, "theirs", "{kind:?}");
            }
        }
    });
}

#[test]
fn what_a_semaphore_left_behind_is_gone_when_the_next_permit_is_taken() {
    run(async {
        let mut stack = Stack::spawn();
        let semaphore = stack.client().semaphore("a", 2);
        let one = semaphore.try_acquire().await.unwrap();
        // Another kind frees the name that it knows.
        assert!(stack.lock("a").force_release().await.unwrap());
        let other = semaphore.try_acquire().await.unwrap();
        let held: Vec<String> = stack.redis("HKEYS {a}:holds");
        assert_eq!(held, [other.token().expose()]);
        one.into_token();
        other.release().await.unwrap();
    });
}
