//! Bugs that other locks had. `tests/bugs_of_others.md` says where each was seen, and which tests
//! show the rest of them.

use std::future::pending;
use std::time::{Duration, Instant};

use edgelock::{Error, Token};

use crate::holding::until;
use crate::support::watched::watch;
use crate::support::{Stack, code, eventually, ms, over};
use crate::waiting::LONG;

over! {
    [spawn] {
        a_lock_that_was_waited_for_is_renewed_as_any_other,
        a_lock_is_renewed_again_after_its_last_lease_was_lost,
        a_short_ttl_is_renewed_no_more_often_than_a_long_one,
        a_lease_has_the_ttl_of_its_lock_whatever_the_one_before_had,
        a_lock_whose_lease_was_lost_is_acquired_again_and_a_late_release_leaves_that_alone,
        a_token_that_begins_as_the_holders_does_is_not_the_holders,
        a_permit_that_is_given_back_twice_is_free_once,
        a_semaphore_may_have_thousands_of_holders,
    }
}

const TTL: Duration = ms(2_000);

async fn a_lock_that_was_waited_for_is_renewed_as_any_other(mut stack: Stack) {
    // One waiter is handed the lock, and the other finds it free.
    for listens in [true, false] {
        let holder = stack.lock("a").try_acquire().await.unwrap();
        let (client, seen) = watch(stack.route().push(listens));
        let lock = client.lock("a").ttl(TTL).wait_timeout(LONG);
        let work = lock.run(async |lease| {
            until(&seen, "renewed", 4).await;
            Ok::<_, Error>(lease.remaining())
        });
        let release = async {
            stack.has_waiters(1).await;
            holder.release().await
        };
        let (remaining, released) = tokio::join!(work, release);
        assert_eq!(released, Ok(()));
        assert!(!remaining.unwrap().is_zero());
    }
}

async fn a_lock_is_renewed_again_after_its_last_lease_was_lost(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let lock = client.lock("a").ttl(TTL);
    let lost: Result<(), Error> = lock
        .run(async |_| {
            let _: () = stack.redis("DEL a");
            pending().await
        })
        .await;
    assert_eq!(code(lost), "lost");
    let done = lock
        .run(async |_| {
            until(&seen, "renewed", 4).await;
            Ok::<_, Error>(())
        })
        .await;
    assert_eq!(done, Ok(()));
}

async fn a_short_ttl_is_renewed_no_more_often_than_a_long_one(stack: Stack) {
    let (client, seen) = stack.watched();
    let ttl = ms(1_200);
    let lock = client.lock("a").ttl(ttl);
    let took = lock
        .run(async |_| {
            let began = Instant::now();
            until(&seen, "renewed", 4).await;
            Ok::<_, Error>(began.elapsed())
        })
        .await;
    // The holder renews every third of its ttl, so it outlives that.
    assert!(took.unwrap() >= ttl);
}

async fn a_lease_has_the_ttl_of_its_lock_whatever_the_one_before_had(mut stack: Stack) {
    let lock = stack.lock("a").ttl(ms(20_000));
    let long = lock.try_acquire().await.unwrap();
    long.renew_for(ms(600_000)).await.unwrap();
    assert!(stack.redis::<u64>("PTTL a") > 500_000);
    long.release().await.unwrap();
    let lease = lock.try_acquire().await.unwrap();
    for renews in [false, true] {
        if renews {
            lease.renew().await.unwrap();
        }
        assert!((1..=20_000).contains(&stack.redis::<u64>("PTTL a")));
        assert!(lease.remaining() <= ms(20_000));
    }
    lease.release().await.unwrap();
}

async fn a_lock_whose_lease_was_lost_is_acquired_again_and_a_late_release_leaves_that_alone(
    mut stack: Stack,
) {
    let lock = stack.lock("a");
    for ends in ["released", "dropped"] {
        let late = lock.try_acquire().await.unwrap();
        let _: () = stack.redis("DEL a");
        let next = lock.try_acquire().await.unwrap();
        if ends == "released" {
            assert_eq!(code(late.release().await), "lost");
        } else {
            let gone = format!("EXISTS {{a}}:gone:{}", late.token().expose());
            drop(late);
            eventually(|| stack.redis(&gone)).await;
        }
        assert_eq!(stack.redis::<String>("GET a"), next.token().expose());
        next.release().await.unwrap();
    }
}

async fn a_token_that_begins_as_the_holders_does_is_not_the_holders(mut stack: Stack) {
    let token = "AbcdefghijklmnopqrstuV";
    for holder in [format!("{token}W"), token[..21].to_owned()] {
        let _: () = stack.redis(&format!("SET a {holder} PX 60000"));
        let lock = stack.lock("a");
        let resumed = || lock.resume(Token::parse(token).unwrap()).unwrap();
        assert_eq!(code(resumed().renew().await), "lost");
        assert_eq!(code(resumed().release().await), "lost");
        assert_eq!(code(lock.try_acquire().await), "held");
        assert_eq!(stack.redis::<String>("GET a"), holder);
    }
}

async fn a_permit_that_is_given_back_twice_is_free_once(stack: Stack) {
    let semaphore = stack.client().semaphore("a", 2);
    let one = semaphore.try_acquire().await.unwrap();
    let other = semaphore.try_acquire().await.unwrap();
    let again = semaphore.resume(one.token().clone()).unwrap();
    one.release().await.unwrap();
    assert_eq!(code(one.release().await), "released");
    assert_eq!(code(again.release().await), "lost");
    let next = semaphore.try_acquire().await.unwrap();
    assert_eq!(code(semaphore.try_acquire().await), "held");
    next.release().await.unwrap();
    other.release().await.unwrap();
}

/// Half of these permits are over, as those of holders that died.
const THOUSANDS_OF_PERMITS: &str = "
local now = redis.call('TIME')[1] * 1000
for i = 1, 9000 do
  local token = string.format('%022d', i)
  redis.call('ZADD', KEYS[1], now + (i > 4500 and 600000 or -600000), token)
  redis.call('HSET', KEYS[2], token, i .. ' 10000 ')
end
redis.call('PEXPIRE', KEYS[1], 600000)
redis.call('PEXPIRE', KEYS[2], 600000)
redis.call('SET', KEYS[3], 'v1 9000 60000 ,', 'PX', 600000)";

async fn a_semaphore_may_have_thousands_of_holders(mut stack: Stack) {
    let mut fill = redis::cmd("EVAL");
    fill.arg(THOUSANDS_OF_PERMITS).arg(3).arg(&["a", "{a}:holds", "{a}:fence"]);
    fill.exec(&mut *stack.redis.0).unwrap();
    let semaphore = stack.client().semaphore("a", 4_501);
    let lease = semaphore.try_acquire().await.unwrap();
    // Some of those that are over are removed by each script.
    assert!(stack.redis::<usize>("ZCARD a") < 9_000);
    let found = semaphore.inspect().await.unwrap();
    assert_eq!((found.holders.len(), found.free), (4_501, Some(0)));
    assert_eq!(code(semaphore.try_acquire().await), "held");
    lease.release().await.unwrap();
    assert!(semaphore.force_release().await.unwrap());
    assert!(!stack.redis::<bool>("EXISTS a {a}:holds"));
}
