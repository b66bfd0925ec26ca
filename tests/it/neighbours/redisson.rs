//! Redisson's `RLock` on the same key as our reentrant lock. Its jar is not available here, so
//! scripts of our own do to the hash, and publish on its channel, what Redisson's scripts do. What
//! Redisson's client shares only with Redis, such as its unlock latch, is left out.

use edgelock::{Command, Error, Token};
use redis::{Connection, FromRedisValue};
use tokio::task::{JoinHandle, spawn_blocking};

use crate::support::{Stack, TestLock, alone, code, eventually, ms, over};

alone! {
    each_excludes_the_other_until_its_last_release,
    one_owner_counts_up_and_down_in_both,
    its_waiter_hears_our_release,
    our_waiter_hears_its_unlock,
    neither_renews_nor_ends_what_has_become_the_others,
}

over! {
    [spawn] {
        its_hold_has_a_fence_above_all_before,
    }
}

/// An owner as Redisson names it: client and thread.
const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:31";
const OURS: &str = "request-7";
const PLAIN: (&str, &str) = ("sku:42", "redisson_lock__channel:{sku:42}");
const TAGGED: (&str, &str) = ("a:{42}:b", "redisson_lock__channel:a:{42}:b");

/// Takes the lock or enters it. Answers nil, or the holder's time left.
const LOCK: &str = "
    if redis.call('EXISTS', KEYS[1]) == 0 or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
      redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
      redis.call('PEXPIRE', KEYS[1], ARGV[1])
      return nil
    end
    return redis.call('PTTL', KEYS[1])";

/// Answers 1 if the lock is free now, 0 if its owner must leave again, and nil if another has it:
/// Redisson throws then.
const UNLOCK: &str = "
    if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return nil end
    if redis.call('HINCRBY', KEYS[1], ARGV[2], -1) > 0 then
      redis.call('PEXPIRE', KEYS[1], ARGV[1])
      return 0
    end
    redis.call('DEL', KEYS[1])
    redis.call('PUBLISH', KEYS[2], '0')
    return 1";

/// What Redisson's watchdog does.
const RENEW: &str = "
    if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then return 0 end
    return redis.call('PEXPIRE', KEYS[1], ARGV[1])";

const FORCE_UNLOCK: &str = "
    if redis.call('DEL', KEYS[1]) == 0 then return 0 end
    redis.call('PUBLISH', KEYS[2], '0')
    return 1";

/// The `RLock` of one thread.
struct Redisson {
    client: redis::Client,
    redis: Connection,
    name: &'static str,
    channel: &'static str,
}

impl Redisson {
    fn beside(stack: &Stack, (name, channel): (&'static str, &'static str)) -> (Self, TestLock) {
        let client = stack.bridge.redis();
        let redis = client.get_connection().unwrap();
        let theirs = Self { client, redis, name, channel };
        (theirs, stack.client().reentrant(name, OURS))
    }

    /// Runs one of these scripts with the ttl that the watchdog keeps up.
    fn eval<V: FromRedisValue>(&mut self, script: &str) -> V {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(2).arg(self.name).arg(self.channel);
        eval.arg(30_000).arg(OWNER).query(&mut self.redis).unwrap()
    }

    /// The time that another holder has left, if there is one.
    fn try_lock(&mut self) -> Option<u64> {
        self.eval(LOCK)
    }

    fn unlock(&mut self) -> Option<u64> {
        self.eval(UNLOCK)
    }

    /// Asks, and then asks again only when it hears of a release.
    fn lock(mut self) -> JoinHandle<Self> {
        spawn_blocking(move || {
            let mut connection = self.client.get_connection().unwrap();
            let mut messages = connection.as_pubsub();
            messages.set_read_timeout(Some(ms(60_000))).unwrap();
            messages.subscribe(self.channel).unwrap();
            while self.try_lock().is_some() {
                let message = messages.get_message().expect("it hears of a release");
                assert_eq!(message.get_payload::<String>().unwrap(), "0");
            }
            self
        })
    }
}

impl Stack {
    fn entries(&mut self, name: &str) -> Vec<(String, u64)> {
        self.redis(&format!("HGETALL {name}"))
    }
}

fn both() -> [Stack; 2] {
    [Stack::spawn(), Stack::on_redis_6_2()]
}

async fn each_excludes_the_other_until_its_last_release() {
    for stack in both() {
        let (mut theirs, ours) = Redisson::beside(&stack, PLAIN);
        assert_eq!((theirs.try_lock(), theirs.try_lock()), (None, None));
        for left_after in [0, 1] {
            let Err(Error::Held { remaining, .. }) = ours.try_acquire().await else {
                panic!("theirs does not exclude ours");
            };
            assert!(remaining.unwrap() > ms(20_000));
            assert_eq!(theirs.unlock(), Some(left_after));
        }
        let outer = ours.try_acquire().await.unwrap();
        let inner = ours.try_acquire().await.unwrap();
        for lease in [outer, inner] {
            assert!((1..=10_000).contains(&theirs.try_lock().unwrap()));
            lease.release().await.unwrap();
        }
        assert_eq!(theirs.try_lock(), None);
    }
}

async fn one_owner_counts_up_and_down_in_both() {
    for mut stack in both() {
        let (mut theirs, _) = Redisson::beside(&stack, TAGGED);
        let ours = stack.client().reentrant(theirs.name, OWNER);
        let one = vec![(OWNER.to_owned(), 1)];
        let two = vec![(OWNER.to_owned(), 2)];

        assert_eq!(theirs.try_lock(), None);
        let nested = ours.acquire().await.unwrap();
        assert_eq!(stack.entries(theirs.name), two);
        // Redisson's watchdog keeps the lock for longer than our ttl.
        assert!(stack.redis::<u64>(&format!("PTTL {}", theirs.name)) > 20_000);
        assert_eq!(theirs.unlock(), Some(0));
        assert_eq!(stack.entries(theirs.name), one);
        nested.release().await.unwrap();
        assert_eq!(stack.entries(theirs.name), []);

        let outer = ours.acquire().await.unwrap();
        assert_eq!(theirs.try_lock(), None);
        assert_eq!(stack.entries(theirs.name), two);
        outer.release().await.unwrap();
        assert_eq!(stack.entries(theirs.name), one);
        assert_eq!(theirs.unlock(), Some(1));
    }
}

async fn its_waiter_hears_our_release() {
    for names in [PLAIN, TAGGED] {
        let mut stack = Stack::spawn();
        let (mut theirs, ours) = Redisson::beside(&stack, names);
        for end in ["release", "commit", "drop", "force"] {
            let lease = ours.acquire().await.unwrap();
            let waiter = theirs.lock();
            let count = format!("PUBSUB NUMSUB {}", names.1);
            eventually(|| stack.redis::<(String, u64)>(&count).1 == 1).await;
            match end {
                "release" => lease.release().await.unwrap(),
                "commit" => drop(lease.commit(&[Command::new("PING")]).await.unwrap()),
                "drop" => drop(lease),
                _ => assert!(ours.force_release().await.unwrap()),
            }
            theirs = waiter.await.unwrap();
            assert_eq!(theirs.unlock(), Some(1), "{end}");
            eventually(|| stack.redis::<(String, u64)>(&count).1 == 0).await;
        }
    }
}

async fn our_waiter_hears_its_unlock() {
    for script in [UNLOCK, FORCE_UNLOCK] {
        let stack = Stack::spawn();
        let (mut theirs, _) = Redisson::beside(&stack, TAGGED);
        assert_eq!(theirs.try_lock(), None);
        let (client, seen) = stack.watched();
        let ours = client.reentrant(theirs.name, OURS).wait_timeout(ms(60_000));
        let waiter = tokio::task::spawn_local(async move { ours.acquire().await });
        eventually(|| seen.waits_quietly(3)).await;
        assert_eq!(theirs.eval::<u64>(script), 1);
        waiter.await.unwrap().unwrap().release().await.unwrap();
        // The third waiter listened, and the next in the queue got the lock.
        assert_eq!(seen.requests_of_grants(), [4]);
    }
}

async fn neither_renews_nor_ends_what_has_become_the_others() {
    for mut stack in both() {
        let (mut theirs, ours) = Redisson::beside(&stack, PLAIN);
        assert_eq!(theirs.try_lock(), None);
        assert!(theirs.eval::<bool>(RENEW));
        assert!(ours.force_release().await.unwrap());
        let lease = ours.acquire().await.unwrap();
        assert!(!theirs.eval::<bool>(RENEW));
        assert_eq!(theirs.unlock(), None);
        assert_eq!(stack.entries(theirs.name), [(OURS.to_owned(), 1)]);
        assert!(stack.redis::<u64>(&format!("PTTL {}", theirs.name)) <= 10_000);

        assert!(theirs.eval::<bool>(FORCE_UNLOCK));
        assert_eq!(theirs.try_lock(), None);
        let token = Token::parse(lease.token().expose()).unwrap();
        assert_eq!(code(lease.renew().await), "lost");
        // A resumed lease that does not know yet that it is lost.
        let again = ours.resume(token).unwrap();
        assert_eq!(code(again.release().await), "lost");
        assert_eq!(stack.entries(theirs.name), [(OWNER.to_owned(), 1)]);
        assert!(stack.redis::<u64>(&format!("PTTL {}", theirs.name)) > 20_000);
    }
}

async fn its_hold_has_a_fence_above_all_before(stack: Stack) {
    let (mut theirs, ours) = Redisson::beside(&stack, PLAIN);
    let before = ours.acquire().await.unwrap();
    before.release().await.unwrap();
    assert_eq!(theirs.try_lock(), None);
    let same = stack.client().reentrant(theirs.name, OWNER);
    let nested = same.acquire().await.unwrap();
    assert!(nested.fence() > before.fence());
    nested.release().await.unwrap();
}
