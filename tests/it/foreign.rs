//! What another program keeps under a key of a lock is told, and nothing is taken behind its back.

use crate::support::kinds::Kind;
use crate::support::{Stack, TestLock, ms, run};

/// How keys of a lock end that have one name for all its holders.
const ENDINGS: [&str; 8] = [
    "fence", "queue", "alive", "holds", "readers", "hold", "entries", "result",
];

fn pairs() -> impl Iterator<Item = (Kind, &'static str)> {
    let of = |kind: Kind| ENDINGS.map(|ending| (kind, ending));
    Kind::ALL.into_iter().flat_map(of)
}

impl Stack {
    /// A lock of this kind is taken and given back, or `key` is told of. Either way it is free then.
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
