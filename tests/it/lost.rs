//! Requests and replies that get lost, arrive twice, or arrive late.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use edgelock::{Bridge, Client, Command, Instant, Runtime};

use crate::support::faulty::Fault::{Delay, LoseReply, LoseRequest, Pass, Refuse};
use crate::support::faulty::Proxy;
use crate::support::kinds::Kind;
use crate::support::{Http, Stack, Tokio, alone, as_tokio, code, eventually, ms, over};

alone! {
    a_write_that_was_lost_and_whose_repeat_is_refused_is_unknown,
    an_acquisition_that_was_repeated_cannot_take_the_lock_again_after_its_lease_was_lost,
}

over! {
    [spawn] {
        a_commit_that_arrives_after_the_lease_was_lost_does_not_run,
        an_abandoned_acquisition_leaves_the_holder_alone,
        a_deadline_counts_from_before_the_request_that_was_answered,
        a_grant_that_arrives_after_its_ttl_is_no_lease,
        a_grant_that_is_over_when_it_is_read_is_expired_and_given_back,
        a_grant_that_is_over_when_it_is_read_is_asked_for_again_while_there_is_time_to_wait,
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
    let client = proxy.client.clone().max_attempts(1);
    let lease = client.request_timeout(ms(400)).lock("a").try_acquire().await.unwrap();
    let error = lease.commit(&incr()).await.unwrap_err();
    assert!(error.is_outcome_unknown(), "{error}");
    assert_eq!(error.code(), "timed_out");
    let _: () = stack.redis("SET a another");
    proxy.deliver().await;
    assert!(!stack.redis::<bool>("EXISTS n"));
    assert_eq!(stack.redis::<String>("GET a"), "another");
}

async fn an_abandoned_acquisition_leaves_the_holder_alone(mut stack: Stack) {
    let holder = stack.lock("a").try_acquire().await.unwrap();
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let client = proxy.client.clone().max_attempts(1);
    let unknown = client.lock("a").try_acquire().await.unwrap_err();
    assert!(unknown.is_outcome_unknown());
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
    let error = lock.try_acquire().await.unwrap_err();
    assert_eq!(error.to_string(), r#"no answer within 60 ms (for "a")"#);
    abandoned(&mut stack).await;
    straggler_is_refused(&mut stack, &proxy).await;
}

/// A host whose clock leaps ahead when it is told to. A host that was paused sees the same.
struct Leaping(Tokio, Arc<Mutex<Duration>>);

impl Runtime for Leaping {
    fn now(&self) -> Instant {
        self.0.now() + *self.1.lock().expect("how far")
    }

    as_tokio! { sleep random spawn }
}

/// The outcome of a call whose answer is read when less than the drift is left of a ttl of a
/// minute.
async fn read_late<O>(stack: &Stack, call: impl AsyncFnOnce(Client<Http, Leaping>) -> O) -> O {
    let ahead = Arc::new(Mutex::new(Duration::ZERO));
    let paused = ahead.clone();
    let bridge = Bridge::upstash(stack.bridge.url(), stack.bridge.token()).unwrap();
    let host = Leaping(Tokio::default(), ahead);
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
    let outcome =
        read_late(&stack, async |client| lock(client).wait_timeout(ms(59_000)).acquire().await);
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
