//! Redisson's read/write lock, and its semaphore with permits that expire, under the name of a lock
//! of ours. They share nothing with ours: whoever comes second is refused, takes nothing and
//! destroys nothing. As for `RLock`, scripts of our own do what Redisson's scripts do.

use edgelock::Error;
use redis::{FromRedisValue, RedisResult};

use crate::support::kinds::Kind;
use crate::support::{Stack, TestClient, TestLock, alone, code, ms};

alone! {
    its_read_write_lock_is_told_apart_by_every_kind,
    its_semaphore_is_told_apart_or_held_without_an_end,
    both_refuse_what_ours_has_and_leave_it,
}

const OWNER: &str = "8743c9c0-0795-4907-87fd-6c719a6b4586:31";

/// The field `mode` says how the hash is held. The other fields say how often, and by whom. Each
/// entry of a reader has a key of its own.
const READ_LOCK: &str = "
    local mode = redis.call('HGET', KEYS[1], 'mode')
    if mode == 'write' and redis.call('HEXISTS', KEYS[1], ARGV[1] .. ':write') == 0 then
      return redis.call('PTTL', KEYS[1])
    end
    redis.call('HSETNX', KEYS[1], 'mode', 'read')
    local entry = redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
    redis.call('SET', '{' .. KEYS[1] .. '}:' .. ARGV[1] .. ':rwlock_timeout:' .. entry, 1, 'PX', 30000)
    redis.call('PEXPIRE', KEYS[1], 30000)";

const WRITE_LOCK: &str = "
    local field = ARGV[1] .. ':write'
    local mode = redis.call('HGET', KEYS[1], 'mode')
    if mode and (mode == 'read' or redis.call('HEXISTS', KEYS[1], field) == 0) then
      return redis.call('PTTL', KEYS[1])
    end
    redis.call('HSET', KEYS[1], 'mode', 'write')
    redis.call('HINCRBY', KEYS[1], field, 1)
    redis.call('PEXPIRE', KEYS[1], 30000)";

/// The name's key counts free permits and never expires. Beside it, a sorted set has until when the
/// others are held.
const SET_PERMITS: &str = "
    if redis.call('GET', KEYS[1]) then return 0 end
    redis.call('SET', KEYS[1], ARGV[1])
    return 1";

const ACQUIRE_PERMIT: &str = "
    local free = redis.call('GET', KEYS[1])
    if not free or tonumber(free) < 1 then return 0 end
    redis.call('DECR', KEYS[1])
    redis.call('ZADD', '{' .. KEYS[1] .. '}:timeout', 9e12, ARGV[1])
    return 1";

const RELEASE_PERMIT: &str = "
    redis.call('ZREM', '{' .. KEYS[1] .. '}:timeout', ARGV[1])
    return redis.call('INCR', KEYS[1])";

impl Stack {
    /// Runs one of these scripts on the name that both use.
    fn theirs<V: FromRedisValue>(&mut self, script: &str, argument: &str) -> RedisResult<V> {
        let mut eval = redis::cmd("EVAL");
        eval.arg(script).arg(1).arg("a").arg(argument);
        eval.query(&mut *self.redis.0)
    }

    /// Dumps what is stored under Redisson's keys, and checks that ours left nothing beside them.
    fn untouched(&mut self, dump: &str) -> [Option<Vec<u8>>; 2] {
        let beside = "EXISTS {a}:fence {a}:queue {a}:holds {a}:readers {b}:fence b";
        assert_eq!(self.redis::<u64>(beside), 0);
        ["a", dump].map(|key| self.redis(&format!("DUMP {key}")))
    }
}

/// A lock of every kind under that name.
fn kinds(client: &TestClient) -> [(Kind, TestLock); 7] {
    Kind::ALL.map(|kind| (kind, kind.lock(client, &["a", "b"], OWNER)))
}

fn both() -> [Stack; 2] {
    [Stack::spawn(), Stack::on_redis_6_2()]
}

async fn its_read_write_lock_is_told_apart_by_every_kind() {
    for mut stack in both() {
        for (script, entry) in [(READ_LOCK, ":rwlock_timeout:1"), (WRITE_LOCK, "")] {
            assert_eq!(stack.theirs::<Option<u64>>(script, OWNER), Ok(None));
            let entry = format!("{{a}}:{OWNER}{entry}");
            let before = stack.untouched(&entry);
            for (kind, ours) in kinds(&stack.client()) {
                assert_eq!(code(ours.try_acquire().await), "wrong_type", "{kind:?}");
                let waiting = ours.clone().wait_timeout(ms(60_000));
                assert_eq!(code(waiting.acquire().await), "wrong_type", "{kind:?}");
                assert_eq!(code(ours.inspect().await), "wrong_type", "{kind:?}");
            }
            let once = stack.client().once("a");
            let kept = once.run_text(async |_| Ok::<_, Error>(String::new())).await;
            assert_eq!(code(kept), "wrong_type");
            assert_eq!(stack.untouched(&entry), before);
            assert!(stack.redis::<u64>("PTTL a") > 20_000);
            let _: () = stack.redis("DEL a");
        }
    }
}

async fn its_semaphore_is_told_apart_or_held_without_an_end() {
    for mut stack in both() {
        assert_eq!(stack.theirs(SET_PERMITS, "2"), Ok(1));
        assert_eq!(stack.theirs(ACQUIRE_PERMIT, "one"), Ok(1));
        let before = stack.untouched("{a}:timeout");
        for (kind, ours) in kinds(&stack.client()) {
            // A string is how other libraries lock that name, so ours tells that it is held.
            let others = [Kind::Semaphore, Kind::Limits, Kind::Reentrant];
            let is_other = others.contains(&kind);
            match ours.try_acquire().await.unwrap_err() {
                Error::WrongType { .. } => assert!(is_other, "{kind:?}"),
                Error::Held { remaining, .. } => {
                    assert!(!is_other && remaining.is_none(), "{kind:?}")
                }
                error => panic!("{kind:?}: {error}"),
            }
        }
        assert_eq!(stack.untouched("{a}:timeout"), before);
        assert_eq!(stack.redis::<i64>("PTTL a"), -1);
        assert_eq!(stack.theirs(ACQUIRE_PERMIT, "two"), Ok(1));
        assert_eq!(stack.theirs(ACQUIRE_PERMIT, "three"), Ok(0));
        assert_eq!(stack.theirs(RELEASE_PERMIT, "one"), Ok(1));
    }
}

async fn both_refuse_what_ours_has_and_leave_it() {
    for mut stack in both() {
        // Redisson's read/write lock takes the hash of an `RLock` for free, be it Redisson's or
        // ours.
        for (kind, ours) in kinds(&stack.client()) {
            if kind == Kind::Reentrant {
                continue;
            }
            let lease = ours.try_acquire().await.unwrap();
            let before: Option<Vec<u8>> = stack.redis("DUMP a");
            for script in [READ_LOCK, WRITE_LOCK, ACQUIRE_PERMIT] {
                let theirs = stack.theirs::<Option<u64>>(script, OWNER);
                assert!(theirs.is_err(), "{kind:?}");
            }
            let set = stack.theirs::<u64>(SET_PERMITS, "2");
            assert_ne!(set.ok(), Some(1), "{kind:?}");
            assert_eq!(stack.redis::<Option<Vec<u8>>>("DUMP a"), before);
            lease.renew().await.unwrap();
            lease.release().await.unwrap();
        }
    }
}
