//! What a lock of every kind promises in the same words.

use edgelock::native::{Http, Tokio};
use edgelock::{Client, Command, Error, Lease, Lock, Reply, Runtime, Transport};

use crate::support::faulty::Fault::{Delay, Duplicate, LoseReply, Pass};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Spawn, Stack, TestLock, alone, client, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

alone! {
    what_cannot_be_one_is_refused,
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        commands_run_under_a_hold_and_not_behind_it,
        a_try_that_reads_reads_whether_it_has_the_lock_or_not,
        a_lost_reply_or_a_repeat_counts_once,
        an_acquisition_that_was_given_up_holds_nothing,
        a_hold_goes_on_in_another_handler_by_its_token,
        it_is_kept_while_work_runs_and_given_back_behind_it,
        a_forced_release_frees_it_of_all,
        every_key_expires,
    }
}

/// Runs `test` with each kind, each time with a stack of its own.
async fn each(spawn: Spawn, test: impl AsyncFn(Stack, Kind)) {
    for kind in Kind::ALL {
        println!("{kind:?}");
        test(spawn(), kind).await;
    }
}

/// The lock under test. Of a semaphore, two may have it.
fn lock<T: Transport, R: Runtime>(kind: Kind, client: &Client<T, R>) -> Lock<T, R> {
    match kind {
        Kind::Semaphore => client.semaphore("a", 2),
        kind => kind.lock(client, &["a", "b"], "me"),
    }
}

impl Kind {
    /// Whether it is a lock of all names at once.
    fn has_several(self) -> bool {
        matches!(self, Self::Multi | Self::Limits)
    }
}

impl Stack {
    /// A lock that nobody gets while another holds the one under test.
    fn rival(&self, kind: Kind) -> TestLock {
        let kind = if kind == Kind::Reader {
            Kind::Writer
        } else {
            kind
        };
        kind.lock(&self.client(), &["a", "b"], "you")
    }

    /// Another hold of it, if it is a kind that may be held more than once.
    async fn beside(&self, kind: Kind) -> Option<Lease<Http, Tokio>> {
        let is_shared = matches!(kind, Kind::Reentrant | Kind::Semaphore | Kind::Reader);
        let lock = is_shared.then(|| lock(kind, &self.client()))?;
        Some(lock.try_acquire().await.unwrap())
    }

    /// How many hold it.
    fn holds(&mut self, kind: Kind) -> usize {
        let holds = match kind {
            Kind::Mutex | Kind::Writer => self.redis("EXISTS a"),
            Kind::Reentrant => self.redis::<Option<usize>>("HGET a me").unwrap_or(0),
            Kind::Semaphore => self.redis("ZCARD a"),
            Kind::Reader => self.redis("ZCARD {a}:readers"),
            Kind::Multi | Kind::Limits => {
                let names: usize = self.redis("EXISTS a b");
                assert_ne!(names, 1, "a part of the names is held");
                names / 2
            }
        };
        let is_there: bool = self.redis("EXISTS a b {a}:readers {a}:holds");
        assert!(holds > 0 || !is_there, "nobody holds what is there");
        holds
    }
}

fn incr() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

async fn commands_run_under_a_hold_and_not_behind_it(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let lock = lock(kind, &stack.client());
        let other = stack.beside(kind).await;
        let (one, _) = lock.acquire_and_read(&[]).await.unwrap();
        assert_eq!(one.exec(&incr()).await.unwrap(), [Reply::Int(1)]);
        assert_eq!(one.exec(&incr()).await.unwrap(), [Reply::Int(2)]);
        assert_eq!(one.commit(&incr()).await.unwrap(), [Reply::Int(3)]);
        assert_eq!(stack.holds(kind), usize::from(other.is_some()));
        if let Some(other) = other {
            other.release().await.unwrap();
        }
        for call in 0..4 {
            let lease = lock.try_acquire().await.unwrap();
            let _: () = stack.redis(if kind.has_several() { "DEL b" } else { "DEL a" });
            let result = match call {
                0 => lease.exec(&incr()).await.map(drop),
                1 => lease.commit(&incr()).await.map(drop),
                2 => lease.release().await,
                // A key of another type stands in its place.
                _ => {
                    let _: () = stack.redis("DEL a");
                    let _: () = stack.redis("RPUSH a x");
                    lease.release().await
                }
            };
            assert_eq!(code(result), "lost");
        }
        assert_eq!(stack.redis::<u32>("GET n"), 3);
    })
    .await;
}

async fn a_try_that_reads_reads_whether_it_has_the_lock_or_not(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let _: () = stack.redis("SET stock 7");
        let read = [Command::new("GET").key("stock")];
        let found = [Reply::Bytes(b"7".to_vec())];
        let (lock, rival) = (lock(kind, &stack.client()), stack.rival(kind));
        let (lease, replies) = lock.try_acquire_and_read(&read).await.unwrap();
        assert_eq!(replies, found);
        let (refused, replies) = rival.try_acquire_and_read(&read).await.unwrap();
        assert!(refused.is_none());
        assert_eq!(replies, found);
        lease.expect("a lease").release().await.unwrap();
    })
    .await;
}

async fn a_lost_reply_or_a_repeat_counts_once(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        for fault in [LoseReply, Duplicate] {
            let other = stack.beside(kind).await;
            let others = usize::from(other.is_some());
            let proxy = Proxy::before(&stack, [fault, Pass, fault, fault]).await;
            let lease = lock(kind, &proxy.client).try_acquire().await.unwrap();
            assert_eq!(stack.holds(kind), others + 1);
            assert_eq!(stack.last_fence("a"), lease.fence());
            if kind.has_several() {
                assert_eq!(stack.last_fence("b"), lease.fence());
            }
            lease.exec(&incr()).await.unwrap();
            lease.release().await.unwrap();
            assert_eq!(stack.holds(kind), others);
            if let Some(other) = other {
                other.release().await.unwrap();
            }
        }
        assert_eq!(stack.redis::<u32>("GET n"), 2);
    })
    .await;
}

async fn an_acquisition_that_was_given_up_holds_nothing(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let other = stack.beside(kind).await;
        let others = usize::from(other.is_some());
        let proxy = Proxy::before(&stack, [LoseReply]).await;
        let client = proxy.client.clone().max_attempts(1);
        let given_up = lock(kind, &client).try_acquire().await;
        assert!(given_up.unwrap_err().is_outcome_unknown());
        eventually(|| stack.holds(kind) == others).await;
        // Nor does a request that arrives late.
        let proxy = Proxy::before(&stack, [Delay]).await;
        let slow = lock(kind, &proxy.client);
        let dropped = tokio::time::timeout(ms(50), slow.try_acquire()).await;
        assert!(dropped.is_err());
        eventually(|| stack.redis::<Vec<String>>("KEYS {a}:gone:*").len() == 2).await;
        proxy.deliver().await;
        assert_eq!(stack.holds(kind), others);
        // Dropping a lease gives it back.
        drop(other);
        eventually(|| stack.holds(kind) == 0).await;
    })
    .await;
}

async fn a_hold_goes_on_in_another_handler_by_its_token(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let lock = lock(kind, &stack.client());
        let long = lock.clone().ttl(ms(60_000));
        let lease = long.try_acquire().await.unwrap();
        let other = stack.beside(kind).await;
        let (fence, token) = (lease.fence(), lease.token().expose().to_owned());
        let resumed = lock.resume(lease.into_token()).unwrap();
        let _: () = stack.redis("PEXPIRE a 20000");
        match kind {
            Kind::Semaphore => stack.redis(&format!("ZINCRBY a -50000 {token}")),
            Kind::Limits => {
                let _: () = stack.redis(&format!("ZINCRBY a -50000 {token}"));
                stack.redis(&format!("ZINCRBY b -50000 {token}"))
            }
            Kind::Reader => stack.redis(&format!("ZINCRBY {{a}}:readers -50000 {token}")),
            _ => {}
        }
        resumed.renew().await.unwrap();
        // It is renewed for what it was acquired for, and keeps its own fence, not the last one.
        let holders = lock.inspect().await.unwrap().holders;
        let long = Some(ms(50_000));
        assert!(holders.iter().any(|holder| holder.remaining > long));
        assert!(resumed.remaining() > ms(50_000));
        assert_eq!(resumed.fence(), fence);
        assert_eq!(resumed.commit(&incr()).await.unwrap(), [Reply::Int(1)]);
        assert_eq!(stack.holds(kind), usize::from(other.is_some()));
    })
    .await;
}

async fn it_is_kept_while_work_runs_and_given_back_behind_it(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let (client, seen) = stack.watched();
        let lock = lock(kind, &client).ttl(ms(2_000));
        let is_renewal = |code: &&String| *code == "renewed";
        let work = lock.run(async |lease| {
            // One renewal every third of the ttl.
            eventually(|| seen.events().iter().filter(is_renewal).count() >= 4).await;
            assert_eq!(stack.holds(kind), 1);
            assert!(!lease.remaining().is_zero());
            Ok::<_, Error>(7)
        });
        assert_eq!(work.await, Ok(7));
        assert_eq!(stack.holds(kind), 0);
        let work = lock.run(async |_| {
            let _: () = stack.redis(if kind.has_several() { "DEL b" } else { "DEL a" });
            std::future::pending::<Result<(), Error>>().await
        });
        let lost = work.await;
        assert!(matches!(
            lost,
            Err(Error::Lost { .. } | Error::Expired { .. })
        ));
        eventually(|| !stack.redis::<bool>("EXISTS a b")).await;
    })
    .await;
}

async fn a_forced_release_frees_it_of_all(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let lock = lock(kind, &stack.client());
        for forces in [lock.clone(), stack.rival(kind)] {
            assert!(!forces.force_release().await.unwrap());
            let one = lock.try_acquire().await.unwrap();
            let other = stack.beside(kind).await;
            assert!(forces.force_release().await.unwrap());
            assert!(!stack.redis::<bool>("EXISTS a b"));
            assert!(!forces.force_release().await.unwrap());
            assert_eq!(code(one.renew().await), "lost");
            if let Some(other) = other {
                assert_eq!(code(other.release().await), "lost");
            }
        }
    })
    .await;
}

async fn every_key_expires(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let lease = lock(kind, &stack.client()).try_acquire().await.unwrap();
        lease.exec(&[]).await.unwrap();
        let waiting = stack.rival(kind).wait_timeout(LONG);
        let waiter = meanwhile(async move { waiting.acquire().await });
        // Redisson knows no queue.
        if kind != Kind::Reentrant {
            stack.has_waiters(1).await;
        }
        let keys = stack.keys_that_all_expire();
        assert!(keys.len() >= 3, "{keys:?}");
        waiter.abort();
        lease.release().await.unwrap();
    })
    .await;
}

async fn what_cannot_be_one_is_refused() {
    let client = client("http://127.0.0.1:1", "credential");
    let many: Vec<String> = (0..33).map(|n| n.to_string()).collect();
    let (none, read_write) = ([""; 0], client.read_write("a"));
    let wrong = [
        client.semaphore("a", 0),
        client.semaphore("", 1),
        client.semaphore("a", 1).signal_list("b"),
        client.read_write("").read(),
        client.read_write("").write(),
        read_write.read().signal_list("b"),
        read_write.write().signal_list("b"),
        read_write.write().ttl(ms(0)),
        client.lock_all(none),
        client.lock_all(&many),
        client.lock_all(["a", "b", "a"]),
        client.lock_all(["a", ""]),
        client.lock_all(["a", "}"]),
        client.lock_all(["a", "{a}"]),
        client.lock_all(["a", "b"]).signal_list("c"),
    ];
    for lock in wrong {
        assert_eq!(code(lock.check()), "invalid_argument");
        assert_eq!(code(lock.try_acquire().await), "invalid_argument");
    }
    assert!(client.lock_all(&many[..32]).check().is_ok());
}
