//! Callers of the lock service that hang up: each verb, at each moment, in both ways.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::token;
use crate::support::caller::{Caller, HangUp};
use crate::support::{Stack, until};

const WAYS: [HangUp; 2] = [HangUp::Reset, HangUp::Close];
const DAY_MS: u64 = 86_400_000;

impl Caller {
    /// Sends a request to the lock service, to hang up on it.
    async fn locks_to_hang_up(
        &self,
        how: HangUp,
        name: &str,
        verb: &str,
        body: &Value,
    ) -> TcpStream {
        self.to_hang_up(how, &format!("POST /locks/{name}/{verb} {body}")).await
    }

    /// Waits until the Worker has noticed all that was sent to it before.
    async fn hears_of_locks(&self) {
        for _ in 0..20 {
            self.inspect("other").await.answers(200);
        }
    }

    /// Takes the lock within the time of a request or two, whoever had it before.
    #[track_caller]
    fn soon_gets(&self, name: &str) -> impl Future<Output = ()> {
        let (caller, name) = (self.clone(), name.to_owned());
        async move {
            let next = caller.acquire(&name, 60_000, 10_000).await.answers(201);
            caller.release(&name, &token(&next)).await.answers(200);
        }
    }
}

/// Whether an answer, which its caller has not read, has come but for its last byte: then the lock
/// may be the caller's. The last two bytes are a chunk each.
async fn may_have_it(answer: &TcpStream) -> bool {
    let mut bytes = [0; 4_096];
    let peeked = timeout(Duration::from_millis(10), answer.peek(&mut bytes));
    let length = peeked.await.map_or(0, |peeked| peeked.unwrap_or(0));
    bytes[..length].windows(5).any(|five| five == b"\r\n1\r\n")
}

#[tokio::test]
async fn a_lock_whose_caller_hangs_up_at_once_is_soon_free() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    for how in WAYS {
        for n in 0..20 {
            let (name, body) = (format!("{how:?}{n}"), json!({"ttl_ms": DAY_MS}));
            drop(caller.locks_to_hang_up(how, &name, "acquire", &body).await);
        }
        caller.hears_of_locks().await;
        for n in 0..20 {
            caller.soon_gets(&format!("{how:?}{n}")).await;
        }
    }
}

/// The commonest one: a client has less patience than it asked the service to have.
#[tokio::test]
async fn a_lock_is_not_kept_for_a_caller_that_hangs_up_while_it_waits() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    for how in WAYS {
        let name = format!("{how:?}");
        let held = caller.acquire(&name, 60_000, 0).await.answers(201);
        let body = json!({"wait_ms": 20_000, "ttl_ms": DAY_MS});
        let mut waiting = Vec::new();
        for _ in 0..10 {
            waiting.push(caller.locks_to_hang_up(how, &name, "acquire", &body).await);
        }
        let lock = format!("lock:{name}");
        until("all wait", || {
            let logged = stack.logged();
            let waits = |line: &&Value| line["event"] == "contended" && line["lock"] == *lock;
            let count = logged.iter().filter(waits).count();
            async move { count >= 10 }
        })
        .await;
        drop(waiting);
        caller.hears_of_locks().await;
        caller.release(&name, &token(&held)).await.answers(200);
        caller.soon_gets(&name).await;
    }
}

/// The moment right behind the grant: the Worker has the reply, and the caller does not.
#[tokio::test]
async fn a_lock_is_not_kept_for_a_caller_that_hangs_up_while_it_is_told() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    for how in WAYS {
        for n in 0..10 {
            let (name, body) = (format!("{how:?}{n}"), json!({"ttl_ms": DAY_MS}));
            let taken = caller.locks_to_hang_up(how, &name, "acquire", &body).await;
            let mut redis = stack.redis();
            // As often as it takes, since nothing may lie between the grant and the hang-up.
            while !redis.run::<bool>(&format!("EXISTS lock:{name}")) {}
            drop(taken);
        }
        for n in 0..10 {
            caller.soon_gets(&format!("{how:?}{n}")).await;
        }
    }
}

/// A host that is busy learns late who has hung up, and every time-out is over by then.
#[tokio::test]
async fn a_lock_is_not_kept_for_a_caller_that_hangs_up_while_the_worker_stands_still() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    for how in WAYS {
        for n in 0..10 {
            let (name, body) = (format!("{how:?}{n}"), json!({"ttl_ms": DAY_MS}));
            let taken = caller.locks_to_hang_up(how, &name, "acquire", &body).await;
            let mut redis = stack.redis();
            while !redis.run::<bool>(&format!("EXISTS lock:{name}")) {}
            // The first time at once, so that it has sent nothing; the last time, all but the end.
            sleep(Duration::from_millis(4 * n)).await;
            stack.workers[0].freeze();
            let may_have_it = may_have_it(&taken).await;
            drop(taken);
            sleep(Duration::from_millis(100)).await;
            stack.workers[0].wake();
            // On a busy machine so much of the answer may have come before.
            if !may_have_it {
                caller.soon_gets(&name).await;
            }
        }
    }
}

#[tokio::test]
async fn a_release_is_done_and_a_renewal_ends_no_lease_if_the_caller_hangs_up() {
    let stack = Stack::of("lock-service");
    let caller = stack.caller();
    for how in WAYS {
        for n in 0..10 {
            let name = format!("{how:?}{n}");
            let taken = caller.acquire(&name, 60_000, 0).await.answers(201);
            let mine = json!({ "token": token(&taken) });
            drop(caller.locks_to_hang_up(how, &name, "renew", &mine).await);
            caller.hears_of_locks().await;
            caller.renew(&name, &token(&taken), 60_000).await.answers(200);
            // It hangs up once the release has begun: a reset takes along what was not read.
            let released = caller.locks_to_hang_up(how, &name, "release", &mine).await;
            caller.inspect("other").await.answers(200);
            drop(released);
            caller.soon_gets(&name).await;
        }
    }
}
