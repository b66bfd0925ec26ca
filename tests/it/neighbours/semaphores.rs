//! redis-semaphore's semaphores under the name of ours. Both are sorted sets, but theirs stores
//! since when each permit is held, and ours until when. Ours tells them apart, and refuses. Theirs
//! counts what it finds.

use edgelock::Error;

use super::program::Program;
use crate::support::kinds::Kind;
use crate::support::{Stack, TestLock, alone, code, ms, over};

alone! {
    theirs_is_refused_and_keeps_its_permits,
    ours_counts_for_theirs_and_takes_none_of_what_it_adds,
}

over! {
    [spawn] {
        a_permit_of_ours_that_ran_out_hides_none_of_theirs,
        a_waiter_that_gives_up_hands_nobody_a_permit_beside_theirs,
        a_release_hands_nobody_a_permit_beside_theirs,
        a_permit_of_theirs_is_told_by_more_than_its_length,
    }
}

const KINDS: [&str; 4] =
    ["Semaphore", "MultiSemaphore", "RedlockSemaphore", "RedlockMultiSemaphore"];

impl Program {
    fn permits(stack: &Stack) -> Self {
        Self::start("redis_semaphore_permits.mjs", &[&stack.bridge])
    }

    /// Tries to take one permit of so many.
    async fn permit(&mut self, kind: &str, permits: u32) -> bool {
        let acquired = self.ask(&format!("acquire {kind} a {permits} 20000")).await;
        acquired.expect("it says whether it acquired")
    }
}

impl Stack {
    fn beside_theirs(&self, permits: u32) -> TestLock {
        self.client().prefix("semaphore:").semaphore("a", permits)
    }

    /// The stored members and scores.
    fn stored(&mut self) -> Vec<(String, u64)> {
        self.redis("ZRANGE semaphore:a 0 -1 WITHSCORES")
    }
}

async fn theirs_is_refused_and_keeps_its_permits() {
    for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
        let mut theirs = Program::permits(&stack);
        for kind in KINDS {
            assert!(theirs.permit(kind, 2).await);
            let before = stack.stored();
            let ours = stack.beside_theirs(2);
            assert_eq!(code(ours.try_acquire().await), "wrong_type", "{kind}");
            let waiting = ours.clone().wait_timeout(ms(60_000));
            assert_eq!(code(waiting.acquire().await), "wrong_type");
            assert_eq!(code(ours.inspect().await), "wrong_type");
            let client = stack.client().prefix("semaphore:");
            for kind in Kind::Semaphore.others() {
                let other = kind.lock(&client, &["a", "b"], "owner");
                assert_eq!(code(other.try_acquire().await), "wrong_type");
            }
            assert_eq!(stack.stored(), before);
            assert!((15_000..=20_000).contains(&stack.redis::<u64>("PTTL semaphore:a")));
            assert_eq!(
                stack.redis::<u64>(
                    "EXISTS {semaphore:a}:queue {semaphore:a}:holds {semaphore:a}:fence"
                ),
                0
            );
            theirs.ask("release").await;
            assert_eq!(stack.stored(), []);
        }
        let lease = stack.beside_theirs(2).try_acquire().await;
        lease.unwrap().release().await.unwrap();
    }
}

async fn ours_counts_for_theirs_and_takes_none_of_what_it_adds() {
    for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
        let mut theirs = Program::permits(&stack);
        for kind in KINDS {
            let lease = stack.beside_theirs(1).try_acquire().await.unwrap();
            assert!(!theirs.permit(kind, 1).await, "{kind}");
            assert!(theirs.permit(kind, 2).await, "{kind}");
            let [added, _] = stack.stored().try_into().expect("theirs and ours");
            assert_eq!(code(stack.beside_theirs(9).try_acquire().await), "wrong_type");
            lease.renew().await.unwrap();
            lease.release().await.unwrap();
            assert_eq!(stack.stored(), [added]);
            theirs.ask("release").await;
        }
    }
}

async fn a_permit_of_ours_that_ran_out_hides_none_of_theirs(mut stack: Stack) {
    let mut theirs = Program::permits(&stack);
    let ours = stack.beside_theirs(1).try_acquire().await;
    let ours = ours.unwrap().into_token();
    assert!(theirs.permit("Semaphore", 2).await);
    // As if ours had run out long ago.
    let _: u64 = stack.redis(&format!("ZADD semaphore:a XX 1 {}", ours.expose()));
    let waiting = stack.beside_theirs(1).wait_timeout(ms(60_000));
    let refused: Error = waiting.acquire().await.unwrap_err();
    assert_eq!(refused.code(), "wrong_type");
    assert!(!stack.stored().is_empty());
}

async fn a_waiter_that_gives_up_hands_nobody_a_permit_beside_theirs(mut stack: Stack) {
    let mut theirs = Program::permits(&stack);
    let last = stack.beside_theirs(1).try_acquire().await.unwrap();
    let last = last.into_token();
    let waiting = || {
        let lock = stack.beside_theirs(1).wait_timeout(ms(20_000));
        tokio::task::spawn_local(async move { lock.acquire().await })
    };
    let (first, second) = (waiting(), waiting());
    listening(&mut stack, 2).await;
    assert!(theirs.permit("Semaphore", 2).await);
    // As if the permit had run out.
    let _: u64 = stack.redis(&format!("ZREM semaphore:a {}", last.expose()));
    let before = stack.stored();
    first.abort();
    let second = tokio::time::timeout(ms(15_000), second).await;
    assert_eq!(code(second.unwrap().unwrap()), "wrong_type");
    assert_eq!(stack.stored(), before);
}

async fn a_release_hands_nobody_a_permit_beside_theirs(mut stack: Stack) {
    let mut theirs = Program::permits(&stack);
    let lease = stack.beside_theirs(1).try_acquire().await.unwrap();
    let lock = stack.beside_theirs(1).wait_timeout(ms(20_000));
    let waiting = tokio::task::spawn_local(async move { lock.acquire().await });
    listening(&mut stack, 1).await;
    assert!(theirs.permit("Semaphore", 2).await);
    let [added, _] = stack.stored().try_into().expect("theirs and ours");
    lease.release().await.unwrap();
    assert_eq!(code(waiting.await.unwrap()), "wrong_type");
    assert_eq!(stack.stored(), [added]);
}

async fn a_permit_of_theirs_is_told_by_more_than_its_length(mut stack: Stack) {
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap();
    // What theirs stores for a permit whose `identifier` the caller chose: here a short UUID.
    let added = format!("ZADD semaphore:a {} mhvXdrZT4jP5T8vBxuvm75", now.as_millis() - 5);
    let _: u64 = stack.redis(&added);
    let before = stack.stored();
    assert_eq!(code(stack.beside_theirs(1).try_acquire().await), "wrong_type");
    assert_eq!(stack.stored(), before);
}

async fn listening(stack: &mut Stack, many: usize) {
    crate::support::eventually(|| {
        let channels: Vec<String> = stack.redis("PUBSUB CHANNELS *wake*");
        channels.len() == many
    })
    .await;
}
