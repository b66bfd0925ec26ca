//! Requests and replies that get lost, arrive twice, or arrive late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgelock::{Bridge, Client, Command, EntropyUnavailable, Instant, Reply, Runtime, Task};
use tokio::time::timeout;

use crate::support::faulty::Fault::{Delay, Duplicate, LoseReply, LoseRequest, Pass, Refuse};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Http, Stack, Tokio, alone, client, code, eventually, ms, over};

alone! {
    a_lost_reply_or_request_of_an_acquisition_costs_one_retry_and_not_a_ttl,
    a_release_whose_reply_was_lost_is_released_and_not_lost,
    writes_are_applied_exactly_once,
    a_write_that_was_lost_and_whose_repeat_is_refused_is_unknown,
    an_acquisition_that_was_repeated_cannot_take_the_lock_again_after_its_lease_was_lost,
}

over! {
    [spawn] {
        a_release_that_gave_up_can_be_called_again,
        a_commit_that_arrives_after_the_lease_was_lost_does_not_run,
        an_acquisition_that_timed_out_cannot_take_the_lock_later,
        an_acquisition_that_was_dropped_cannot_keep_the_lock,
        an_abandoned_acquisition_leaves_the_holder_alone,
        an_acquisition_whose_reply_was_lost_for_good_is_given_back,
        a_deadline_counts_from_before_the_request_that_was_answered,
        a_grant_that_arrives_after_its_ttl_is_no_lease,
        a_grant_that_is_over_when_it_is_read_is_expired_and_given_back,
        a_grant_that_is_over_when_it_is_read_is_asked_for_again_while_there_is_time_to_wait,
        a_bridge_that_is_away_is_unavailable_and_not_held,
    }
}

/// Waits until the token of the acquisition that was given up is marked as abandoned.
async fn abandoned(stack: &mut Stack) {
    eventually(|| stack.redis::<Vec<String>>("KEYS {a}:gone:*").len() == 1).await;
}

/// Lets the delayed acquisition arrive. Nobody holds the lock then.
async fn straggler_is_refused(stack: &mut Stack, proxy: &Proxy) {
    proxy.deliver().await;
    assert!(!stack.redis::<bool>("EXISTS a"));
}

fn incr() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

async fn a_lost_reply_or_request_of_an_acquisition_costs_one_retry_and_not_a_ttl() {
    for fault in [LoseReply, LoseRequest, Duplicate] {
        let mut stack = Stack::spawn();
        let retried = usize::from(!matches!(fault, Duplicate));
        let proxy = Proxy::before(&stack, [fault]).await;
        let lease = proxy.client.lock("a").try_acquire().await.unwrap();
        assert_eq!(proxy.seen().len(), 1 + retried);
        assert_eq!(stack.redis::<String>("GET a"), lease.token().expose());
        // The fence is that of the first grant, whose reply was lost: no other was issued.
        assert_eq!(stack.last_fence("a"), lease.fence());
        lease.release().await.unwrap();
    }
}

async fn a_release_whose_reply_was_lost_is_released_and_not_lost() {
    for fault in [LoseReply, LoseRequest, Duplicate] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, fault]).await;
        let lease = proxy.client.lock("a").try_acquire().await.unwrap();
        assert_eq!(lease.release().await, Ok(()));
        assert!(!stack.redis::<bool>("EXISTS a"));
    }
}

async fn a_release_that_gave_up_can_be_called_again(stack: Stack) {
    let proxy = Proxy::before(&stack, [Pass, LoseReply]).await;
    let lease = proxy
        .client
        .clone()
        .max_attempts(1)
        .lock("a")
        .try_acquire()
        .await
        .unwrap();
    assert!(lease.release().await.unwrap_err().is_outcome_unknown());
    assert_eq!(lease.release().await, Ok(()));
    assert_eq!(code(lease.release().await), "released");
}

async fn writes_are_applied_exactly_once() {
    for fault in [LoseReply, LoseRequest, Duplicate] {
        for commit in [false, true] {
            let mut stack = Stack::spawn();
            let proxy = Proxy::before(&stack, [Pass, fault]).await;
            let lease = proxy.client.lock("a").try_acquire().await.unwrap();
            let replies = if commit {
                lease.commit(&incr()).await
            } else {
                lease.exec(&incr()).await
            };
            assert_eq!(replies, Ok(vec![Reply::Int(1)]));
            assert_eq!(stack.redis::<u32>("GET n"), 1);
        }
    }
}

async fn a_write_that_was_lost_and_whose_repeat_is_refused_is_unknown() {
    for (fault, runs) in [(LoseReply, 1), (LoseRequest, 0)] {
        let mut stack = Stack::spawn();
        let proxy = Proxy::before(&stack, [Pass, fault, Refuse]).await;
        let lease = proxy.client.lock("a").try_acquire().await.unwrap();
        let error = lease.exec(&incr()).await.unwrap_err();
        assert!(error.is_outcome_unknown(), "{error}");
        assert_eq!(stack.redis::<Option<u32>>("GET n").unwrap_or(0), runs);
    }
}

async fn a_commit_that_arrives_after_the_lease_was_lost_does_not_run(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Pass, Delay]).await;
    let client = proxy
        .client
        .clone()
        .max_attempts(1)
        .request_timeout(ms(400));
    let lease = client.lock("a").try_acquire().await.unwrap();
    let error = lease.commit(&incr()).await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_outcome_unknown()),
        ("timed_out", true)
    );
    let _: () = stack.redis("SET a another");
    proxy.deliver().await;
    assert!(!stack.redis::<bool>("EXISTS n"));
    assert_eq!(stack.redis::<String>("GET a"), "another");
}

async fn an_acquisition_that_timed_out_cannot_take_the_lock_later(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Delay]).await;
    let client = proxy
        .client
        .clone()
        .max_attempts(1)
        .request_timeout(ms(1500));
    let error = client.lock("a").try_acquire().await.unwrap_err();
    assert_eq!(
        (error.code(), error.is_outcome_unknown()),
        ("timed_out", true)
    );
    abandoned(&mut stack).await;
    straggler_is_refused(&mut stack, &proxy).await;
}

async fn an_acquisition_that_was_dropped_cannot_keep_the_lock(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Delay]).await;
    let lock = proxy.client.lock("a");
    assert!(timeout(ms(50), lock.acquire()).await.is_err());
    abandoned(&mut stack).await;
    straggler_is_refused(&mut stack, &proxy).await;
}

async fn an_abandoned_acquisition_leaves_the_holder_alone(mut stack: Stack) {
    let holder = stack.lock("a").try_acquire().await.unwrap();
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let client = proxy.client.clone().max_attempts(1);
    assert!(
        client
            .lock("a")
            .try_acquire()
            .await
            .unwrap_err()
            .is_outcome_unknown()
    );
    abandoned(&mut stack).await;
    assert_eq!(holder.renew().await, Ok(()));
}

async fn an_acquisition_that_was_repeated_cannot_take_the_lock_again_after_its_lease_was_lost() {
    for ending in [Ending::Release, Ending::Commit, Ending::Renew, Ending::Drop] {
        for kind in Kind::ALL {
            let mut stack = Stack::spawn();
            let proxy = Proxy::before(&stack, [Delay]).await;
            let client = proxy.client.clone().request_timeout(ms(400));
            let lock = kind.lock(&client, &["a", "b"], "me");
            let lease = lock.try_acquire().await.unwrap();
            let _: () = stack.redis("DEL a");
            match ending {
                Ending::Release => assert_eq!(code(lease.release().await), "lost"),
                Ending::Commit => assert_eq!(code(lease.commit(&incr()).await), "lost"),
                Ending::Renew => assert_eq!(code(lease.renew().await), "lost"),
                Ending::Drop => drop(lease),
            }
            abandoned(&mut stack).await;
            straggler_is_refused(&mut stack, &proxy).await;
        }
    }
}

/// How a holder's lease ends before the holder knows.
#[derive(Clone, Copy)]
enum Ending {
    Release,
    Commit,
    Renew,
    Drop,
}

async fn an_acquisition_whose_reply_was_lost_for_good_is_given_back(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let client = proxy.client.clone().max_attempts(1);
    let error = client
        .lock("a")
        .ttl(ms(60_000))
        .try_acquire()
        .await
        .unwrap_err();
    assert_eq!(
        (error.code(), error.is_outcome_unknown()),
        ("unavailable", true)
    );
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

async fn a_deadline_counts_from_before_the_request_that_was_answered(stack: Stack) {
    let proxy = Proxy::before(&stack, [Delay]).await;
    let lock = proxy.client.lock("a").ttl(ms(10_000));
    let (lease, ()) = tokio::join!(lock.try_acquire(), async {
        tokio::time::sleep(ms(300)).await;
        proxy.deliver().await;
    });
    let remaining = lease.unwrap().remaining();
    assert!(remaining <= ms(10_000 - 300 - 102), "{remaining:?}");
}

async fn a_grant_that_arrives_after_its_ttl_is_no_lease(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Delay]).await;
    let lock = proxy.client.clone().max_attempts(1).lock("a").ttl(ms(60));
    // The request is given up after the ttl: a later answer would be of no use.
    assert_eq!(
        lock.try_acquire().await.unwrap_err().to_string(),
        r#"no answer within 60 ms (for "a")"#
    );
    abandoned(&mut stack).await;
    straggler_is_refused(&mut stack, &proxy).await;
}

/// A host whose clock leaps ahead when it is told to. A host that was paused sees the same.
struct Leaping {
    host: Tokio,
    ahead: Arc<Mutex<Duration>>,
}

impl Runtime for Leaping {
    fn now(&self) -> Instant {
        self.host.now() + *self.ahead.lock().expect("how far")
    }

    async fn sleep(&self, duration: Duration) {
        self.host.sleep(duration).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        self.host.random(bytes)
    }

    fn spawn(&self, task: Task) {
        self.host.spawn(task);
    }
}

/// The outcome of a call whose answer is read when less than the drift is left of a ttl of a
/// minute.
async fn read_late<O>(stack: &Stack, call: impl AsyncFnOnce(Client<Http, Leaping>) -> O) -> O {
    let ahead = Arc::new(Mutex::new(Duration::ZERO));
    let paused = ahead.clone();
    let bridge = Bridge::upstash(stack.bridge.url(), stack.bridge.token()).unwrap();
    let host = Leaping {
        host: Tokio::default(),
        ahead,
    };
    let client = Client::new(bridge, Http::default(), host);
    // It is polled after the call, whose request has left by then.
    let leap = async { *paused.lock().expect("how far") = ms(59_500) };
    tokio::join!(biased; call(client), leap).0
}

async fn a_grant_that_is_over_when_it_is_read_is_expired_and_given_back(mut stack: Stack) {
    let lock = |client: Client<_, _>| client.lock("a").ttl(ms(60_000));
    let outcome = read_late(&stack, async |client| lock(client).try_acquire().await).await;
    assert_eq!(code(outcome), "expired");
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    // There is a wait, but it is over too.
    let outcome = read_late(&stack, async |client| {
        lock(client).wait_timeout(ms(59_000)).acquire().await
    });
    assert_eq!(code(outcome.await), "expired");
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

async fn a_grant_that_is_over_when_it_is_read_is_asked_for_again_while_there_is_time_to_wait(
    mut stack: Stack,
) {
    let lease = read_late(&stack, async |client| {
        let lock = client.lock("a").ttl(ms(60_000));
        lock.wait_timeout(ms(300_000)).acquire().await
    });
    let lease = lease.await.expect("there is time to wait");
    assert!(lease.remaining() > ms(50_000));
    lease.renew().await.expect("held");
    lease.release().await.expect("held");
    let names = ["a", "b"].map(str::to_owned);
    let lease = read_late(&stack, async |client| {
        let lock = client.lock_all(names).ttl(ms(60_000));
        lock.wait_timeout(ms(300_000)).acquire().await
    });
    let lease = lease.await.expect("there is time to wait");
    lease.release().await.expect("held");
    assert!(!stack.redis::<bool>("EXISTS a"));
}

async fn a_bridge_that_is_away_is_unavailable_and_not_held(stack: Stack) {
    let url = stack.bridge.url().to_owned();
    let client = client(&url, stack.bridge.token());
    let lease = client.lock("a").try_acquire().await.unwrap();
    drop(stack);
    for error in [
        client.lock("b").try_acquire().await.unwrap_err(),
        lease.renew().await.unwrap_err(),
        lease.commit(&incr()).await.unwrap_err(),
        lease.release().await.unwrap_err(),
    ] {
        assert_eq!(error.code(), "unavailable");
    }
}
