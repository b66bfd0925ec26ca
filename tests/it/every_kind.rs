//! What a lock of every kind promises in the same words.

use edgelock::native::{Http, Tokio};
use edgelock::{Client, Command, Error, Lease, Limit, Lock, Reply, Runtime, Token, Transport};

use crate::support::faulty::Fault::{Delay, Duplicate, LoseReply, LoseRequest};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::watched::WatchedClient;
use crate::support::{Spawn, Stack, TestClient, TestLock, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, table, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        commands_run_under_a_hold_and_not_behind_it,
        a_lost_reply_or_a_repeat_counts_once,
        an_acquisition_that_was_given_up_holds_nothing,
        a_lease_goes_on_in_another_handler_by_its_token,
        it_is_kept_while_work_runs_and_given_back_behind_it,
        a_forced_release_frees_it_of_all,
        every_companion_key_expires,
        one_that_ran_out_is_lost_and_its_place_goes_to_a_waiter,
        each_of_several_holds_has_a_fence_and_an_end_of_its_own,
        so_many_names_are_taken_and_given_back_in_one_request_each,
        kinds_that_cannot_share_a_name_are_told_apart,
        an_inspection_shows_each_holder_and_what_is_free,
    }
}

/// Promises that need a bridge with subscriptions.
mod push {
    use super::*;

    over! {
        [upstash, webdis, on_redis_6_2, on_redis_8, on_valkey_9] {
            a_release_hands_it_to_the_first_waiter_at_no_further_request,
        }
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

    /// The kind that nobody gets while another holds this one.
    pub(crate) fn rival(self) -> Self {
        if self == Self::Reader { Self::Writer } else { self }
    }

    /// The type of what Redis has under the name.
    fn stored(self) -> &'static str {
        match self {
            Self::Mutex | Self::Writer | Self::Reader | Self::Multi => "string",
            Self::Reentrant => "hash",
            Self::Semaphore | Self::Limits => "zset",
        }
    }
}

impl Stack {
    /// A lock that nobody gets while another holds the one under test.
    fn rival(&self, kind: Kind) -> TestLock {
        kind.rival().lock(&self.client(), &["a", "b"], "you")
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
        let _: () = stack.redis("PEXPIRE a 5000");
        assert_eq!(one.exec(&incr()).await.unwrap(), [Reply::Int(1)]);
        // Each write renews the hold.
        assert!(stack.redis::<u64>("PTTL a") > 5_000);
        assert_eq!(one.exec(&incr()).await.unwrap(), [Reply::Int(2)]);
        assert_eq!(one.commit(&incr()).await.unwrap(), [Reply::Int(3)]);
        assert_eq!(code(one.exec(&incr()).await), "released");
        assert_eq!(stack.holds(kind), usize::from(other.is_some()));
        if let Some(other) = other {
            other.release().await.unwrap();
        }
        // Of several names, one is enough.
        let lost = if kind.has_several() { "ab" } else { "aa" };
        for (call, name) in (0..4).flat_map(|call| lost.chars().map(move |name| (call, name))) {
            let lease = lock.try_acquire().await.unwrap();
            let _: () = stack.redis(&format!("DEL {name}"));
            let result = match call {
                0 => lease.exec(&incr()).await.map(drop),
                1 => lease.commit(&incr()).await.map(drop),
                2 => lease.release().await,
                // A key of another type stands in its place.
                _ => {
                    let _: () = stack.redis("DEL a");
                    let _: () = stack.redis("RPUSH a x");
                    let result = lease.release().await;
                    assert_eq!(stack.redis::<String>("TYPE a"), "list");
                    result
                }
            };
            assert_eq!(code(result), "lost");
            let _: () = stack.redis("DEL a");
            assert!(!stack.redis::<bool>("EXISTS b"));
        }
        assert_eq!(stack.redis::<u32>("GET n"), 3);
    })
    .await;
}

async fn a_lost_reply_or_a_repeat_counts_once(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let mut n = 0;
        let mut next = || {
            n += 1;
            Ok(vec![Reply::Int(n)])
        };
        let faults = [LoseReply, LoseRequest, Duplicate];
        for (fault, commits) in faults.into_iter().flat_map(|fault| [(fault, true), (fault, false)])
        {
            let other = stack.beside(kind).await;
            let others = usize::from(other.is_some());
            let proxy = Proxy::before(&stack, [fault]).await;
            let lease = lock(kind, &proxy.client).try_acquire().await.unwrap();
            let retried = usize::from(!matches!(fault, Duplicate));
            assert_eq!(proxy.seen().len(), 1 + retried);
            assert_eq!(stack.holds(kind), others + 1);
            // The fence of the grant whose reply was lost: no other was issued.
            assert_eq!(stack.last_fence("a"), lease.fence());
            if kind.has_several() {
                assert_eq!(stack.last_fence("b"), lease.fence());
            }
            proxy.next(fault);
            assert_eq!(lease.exec(&incr()).await, next());
            proxy.next(fault);
            match commits {
                true => assert_eq!(lease.commit(&incr()).await, next()),
                false => assert_eq!(lease.release().await, Ok(())),
            }
            assert_eq!(stack.holds(kind), others);
            if let Some(other) = other {
                other.release().await.unwrap();
            }
        }
        assert_eq!(stack.redis::<i64>("GET n"), n);
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
        stack.keys_that_all_expire();
        // Dropping a lease gives it back.
        drop(other);
        eventually(|| stack.holds(kind) == 0).await;
    })
    .await;
}

async fn a_lease_goes_on_in_another_handler_by_its_token(spawn: Spawn) {
    each(spawn, async |mut stack, kind| {
        let lock = lock(kind, &stack.client());
        let long = lock.clone().ttl(ms(60_000));
        let lease = long.try_acquire().await.unwrap();
        let other = stack.beside(kind).await;
        lease.exec(&incr()).await.unwrap();
        let (fence, token) = (lease.fence(), lease.token().expose());
        // The order of the names makes no difference.
        let again = match kind.has_several() {
            true => kind.lock(&stack.client(), &["b", "a"], "me"),
            false => lock.clone(),
        };
        let resumed = again.resume(Token::parse(token).unwrap()).unwrap();
        assert!(resumed.remaining().is_zero() && resumed.fence() == 0);
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
        // Its first write is not taken for a repeat of the first lease's first write.
        assert_eq!(resumed.commit(&incr()).await.unwrap(), [Reply::Int(2)]);
        assert_eq!(stack.holds(kind), usize::from(other.is_some()));
        assert_eq!(code(lease.renew().await), "lost");
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
        assert_eq!(seen.events().last().unwrap(), "released");
        let work = lock.run(async |_| {
            let _: () = stack.redis(if kind.has_several() { "DEL b" } else { "DEL a" });
            std::future::pending::<Result<(), Error>>().await
        });
        let lost = work.await;
        assert!(matches!(lost, Err(Error::Lost { .. } | Error::Expired { .. })));
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
        // So are all who have one of its names alone.
        let single = match kind {
            Kind::Multi => stack.lock("b"),
            Kind::Limits => stack.client().semaphore("b", 1),
            _ => return,
        };
        let single = single.try_acquire().await.unwrap();
        assert!(lock.force_release().await.unwrap());
        assert_eq!(code(single.release().await), "lost");
    })
    .await;
}

async fn every_companion_key_expires(spawn: Spawn) {
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
        // It may have been handed to the waiter, which gives it back in the background.
        eventually(|| !stack.redis::<bool>("EXISTS a b")).await;
        let keys = stack.keys_that_all_expire();
        assert!(keys.iter().any(|key| key.contains("receipt")), "{keys:?}");
    })
    .await;
}

async fn one_that_ran_out_is_lost_and_its_place_goes_to_a_waiter(spawn: Spawn) {
    each(spawn, async |stack, kind| {
        let lock = lock(kind, &stack.client());
        let brief = lock.clone().ttl(ms(1_000));
        let over = brief.try_acquire().await.unwrap().into_token();
        let late = lock.resume(over).unwrap();
        // Of two permits, the other one is kept.
        let (kept, next) = match kind {
            Kind::Semaphore => (stack.beside(kind).await, lock),
            _ => (None, stack.rival(kind)),
        };
        let next = next.wait_timeout(LONG).acquire().await.unwrap();
        assert_eq!(code(late.renew().await), "lost");
        for lease in kept.into_iter().chain([next]) {
            lease.renew().await.unwrap();
            lease.release().await.unwrap();
        }
    })
    .await;
}

async fn each_of_several_holds_has_a_fence_and_an_end_of_its_own(spawn: Spawn) {
    for kind in [Kind::Semaphore, Kind::Reader] {
        let mut stack = spawn();
        let lock = lock(kind, &stack.client());
        let one = lock.clone().ttl(ms(60_000)).try_acquire().await.unwrap();
        let other = lock.try_acquire().await.unwrap();
        assert!(other.fence() > one.fence() && other.token() != one.token());
        assert!(one.remaining() > ms(50_000) && other.remaining() < ms(10_000));
        // A renewal for less than what is left changes nothing.
        one.renew_for(ms(1_000)).await.unwrap();
        assert!(stack.redis::<u64>("PTTL a") > 50_000);
        other.renew_for(ms(90_000)).await.unwrap();
        assert!(other.remaining() > ms(80_000) && stack.redis::<u64>("PTTL a") > 80_000);
        other.release().await.unwrap();
        // A name that is read is held for as long as the last of those who are left.
        let left: u64 = stack.redis("PTTL a");
        assert!(left > 50_000 && (left <= 60_000 || kind != Kind::Reader));
        one.release().await.unwrap();
        assert!(!stack.redis::<bool>("EXISTS a {a}:readers {a}:holds"));
    }
}

async fn so_many_names_are_taken_and_given_back_in_one_request_each(spawn: Spawn) {
    for kind in [Kind::Multi, Kind::Limits] {
        let mut stack = spawn();
        let names: Vec<String> = (0..32).map(|n| format!("name-{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let proxy = Proxy::before(&stack, []).await;
        let lock = kind.lock(&proxy.client, &names, "me");
        let lease = lock.try_acquire().await.unwrap();
        lease.renew().await.unwrap();
        lease.exec(&incr()).await.unwrap();
        let held = format!("EXISTS {}", names.join(" "));
        assert_eq!(stack.redis::<usize>(&held), 32);
        lease.release().await.unwrap();
        assert_eq!(stack.redis::<usize>(&held), 0);
        assert_eq!(proxy.seen().len(), 4);
    }
}

async fn kinds_that_cannot_share_a_name_are_told_apart(spawn: Spawn) {
    each(spawn, async |stack, kind| {
        let lease = lock(kind, &stack.client()).try_acquire().await.unwrap();
        for other in kind.others() {
            let lock = other.lock(&stack.client(), &["a", "b"], "you");
            let is_alike = other.stored() == kind.stored();
            let told = if is_alike { "held" } else { "wrong_type" };
            assert_eq!(code(lock.try_acquire().await), told, "{kind:?}, then {other:?}");
            let inspected = lock.inspect().await.map_or_else(|error| error.code(), |_| "held");
            assert_eq!(inspected, told, "{kind:?}, then {other:?}");
        }
        lease.release().await.unwrap();
    })
    .await;
}

/// A kind; leases of it that are taken one after the other, the first for long and with a label;
/// what inspects them, each with how many are free before and then; and which of the leases it
/// shows, with how much they have: in the order in which they end, or in that of their names.
type Shown = (&'static str, Vec<TestLock>, Vec<(TestLock, [Option<u64>; 2])>, Vec<(usize, u64)>);

const LABEL: &str = "worker 7, 100 %";

fn shown(client: &TestClient) -> [Shown; 7] {
    let (lock, none) = (client.lock("a"), [None; 2]);
    let (read, write) = (client.read_write("a").read(), client.read_write("a").write());
    let semaphore = |permits| client.semaphore("a", permits);
    let units = |units| client.reservations("a", units);
    let all = |names: &[&str]| client.lock_all(names);
    let limits = |of_b| {
        let of_b = Limit::new("b", 3).permits(of_b);
        client.limits([Limit::new("a", 5), of_b, Limit::new("z", 9)])
    };
    let long = |lock: TestLock| lock.ttl(ms(60_000)).label(LABEL);
    [
        ("lock", vec![long(lock.clone())], vec![(lock.clone(), none)], vec![(0, 1)]),
        ("writer", vec![long(write.clone())], vec![(read.clone(), none)], vec![(0, 1)]),
        (
            "readers",
            vec![long(read.clone()), read.clone()],
            vec![(read, none), (write, none)],
            vec![(1, 1), (0, 1)],
        ),
        // How many are free depends on how many the caller allows.
        (
            "permits",
            vec![long(semaphore(6).weight(3)), semaphore(6)],
            vec![(semaphore(6), [Some(6), Some(2)]), (semaphore(1), [Some(1), Some(0)])],
            vec![(1, 1), (0, 3)],
        ),
        (
            "units",
            vec![units(9).ttl(ms(60_000)).owner(LABEL, 5).weight(4), units(9).ttl(ms(30_000))],
            vec![(units(9), [Some(9), Some(4)]), (units(2), [Some(2), Some(0)])],
            vec![(1, 1), (0, 4)],
        ),
        (
            "names",
            vec![long(all(&["d", "b"])), client.lock("c")],
            vec![(all(&["b", "c", "d", "z"]), none)],
            vec![(0, 1), (1, 1)],
        ),
        // There is room for so many leases.
        (
            "limits",
            vec![long(limits(2)), client.semaphore("a", 5).weight(2)],
            vec![(limits(1), [Some(3), Some(1)]), (limits(2), [Some(1), Some(0)])],
            vec![(1, 2), (0, 1)],
        ),
    ]
}

async fn an_inspection_shows_each_holder_and_what_is_free(spawn: Spawn) {
    for row in 0..7 {
        let mut stack = spawn();
        let (kind, locks, inspected, holders) = shown(&stack.client())[row].clone();
        let confirmed = (kind == "units").then_some(0);
        for (lock, [free, _]) in &inspected {
            let found = lock.inspect().await.unwrap();
            assert_eq!((found.holder, found.holders), (None, vec![]), "{kind}");
            assert_eq!((found.free, found.confirmed, found.fence), (*free, confirmed, None));
        }
        // A last fence of fewer digits, which another program may keep, is no higher one.
        stack.store("{z}:fence", "99");
        let mut leases = Vec::new();
        for lock in locks {
            leases.push(lock.try_acquire().await.unwrap());
        }
        for (lock, [_, free]) in inspected {
            let found = lock.inspect().await.unwrap();
            let has = found.holders.iter().map(|holder| (&holder.token, holder.count));
            let expected = holders.iter().map(|(lease, count)| (leases[*lease].token(), *count));
            assert_eq!(has.collect::<Vec<_>>(), expected.collect::<Vec<_>>(), "{kind}");
            for holder in &found.holders {
                let is_first = holder.token == *leases[0].token();
                assert_eq!(holder.label.as_deref(), is_first.then_some(LABEL), "{kind}");
                assert_eq!(holder.remaining.unwrap() > ms(50_000), is_first, "{kind}");
            }
            assert_eq!(found.holder.as_ref(), found.holders.first());
            assert_eq!((found.free, found.confirmed, found.waiters), (free, confirmed, 0));
            assert_eq!(found.is_read, kind == "readers");
            assert_eq!(found.fence, leases.last().map(Lease::fence));
        }
        for lease in leases {
            lease.release().await.unwrap();
        }
    }
}

async fn a_release_hands_it_to_the_first_waiter_at_no_further_request(spawn: Spawn) {
    for kind in [Kind::Mutex, Kind::Semaphore, Kind::Writer, Kind::Reader] {
        let mut stack = spawn();
        let lock = kind.lock(&stack.client(), &["a"], "me");
        let holder = lock.try_acquire().await.unwrap();
        let rival = kind.rival();
        let waits = |client: &WatchedClient| rival.lock(client, &["a"], "you");
        let (first, seen) = stack.listens(1, 3, waits).await;
        let (second, seen_of_second) = stack.listens(2, 2, waits).await;
        holder.release().await.unwrap();
        let lease = first.await.unwrap();
        assert_eq!(seen.requests_of_grants(), [3]);
        assert_eq!(seen.events(), ["contended", "acquired"]);
        assert_eq!(stack.last_fence("a"), lease.fence());
        assert!(lease.fence() > holder.fence());
        assert!(lease.remaining() > ms(9_000) && lease.remaining() <= ms(9_898));
        assert_eq!((stack.holds(rival), stack.waiters()), (1, 1));
        lease.renew().await.unwrap();
        lease.release().await.unwrap();
        // The second need not ask: the first would have taken the lock, and handed it on.
        second.await.unwrap().release().await.unwrap();
        assert_eq!(seen_of_second.requests_of_grants(), [2]);
        assert_eq!(stack.holds(rival), 0);
    }
}
