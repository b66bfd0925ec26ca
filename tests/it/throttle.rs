//! Throttles: one call passes in each window, and the others are told when to come back.

use edgelock::ThrottleOutcome::{Passed, Throttled};
use edgelock::{Client, Error, Runtime, ThrottleOutcome, Transport};
use testkit::stack::RedisServer;

use crate::refusals::before;
use crate::support::faulty::Fault::{LoseReply, Withhold};
use crate::support::faulty::Proxy;
use crate::support::{Stack, alone, code, eventually, ms, over};

alone! {
    a_redis_that_is_full_lets_nobody_pass_and_says_so,
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        one_call_passes_in_a_window_and_the_others_are_told_how_long_it_lasts,
        when_the_window_is_over_the_next_passes,
        a_call_whose_outcome_is_unknown_gives_its_pass_back,
        a_call_that_was_given_up_gives_its_pass_back,
        it_meets_no_lock_of_its_name,
    }
}

/// A window that no test sits out.
const WINDOW: u64 = 600_000;

async fn pass<T: Transport, R: Runtime>(client: &Client<T, R>) -> Result<ThrottleOutcome, Error> {
    client.throttle("a", ms(WINDOW)).try_pass().await
}

#[track_caller]
fn is_throttled(outcome: Result<ThrottleOutcome, Error>) {
    let Ok(Throttled { retry_after }) = outcome else { panic!("{outcome:?}") };
    assert!(retry_after > ms(0) && retry_after <= ms(WINDOW));
}

impl Stack {
    fn is_closed(&mut self) -> bool {
        self.redis("EXISTS {a}:throttle")
    }
}

async fn one_call_passes_in_a_window_and_the_others_are_told_how_long_it_lasts(mut stack: Stack) {
    let (client, seen) = stack.watched();
    assert_eq!(pass(&client).await, Ok(Passed));
    let left: u64 = stack.redis("PTTL {a}:throttle");
    assert!((1..=WINDOW).contains(&left));
    for _ in 0..3 {
        is_throttled(pass(&client).await);
    }
    is_throttled(pass(&stack.client()).await);
    assert_eq!(seen.sent(), 4);
    // The window of the call that passed counts, not that of the call that asks.
    let brief = client.throttle("a", ms(1)).try_pass().await;
    assert!(!brief.unwrap().is_passed());
    let other = client.throttle("b", ms(WINDOW)).try_pass().await;
    assert_eq!(other, Ok(Passed));
}

async fn when_the_window_is_over_the_next_passes(mut stack: Stack) {
    let client = stack.client();
    let throttle = client.throttle("a", ms(50));
    assert_eq!(throttle.try_pass().await, Ok(Passed));
    eventually(|| !stack.is_closed()).await;
    assert_eq!(pass(&client).await, Ok(Passed));
    is_throttled(pass(&client).await);
}

async fn a_call_whose_outcome_is_unknown_gives_its_pass_back(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let unknown = pass(&proxy.client.clone().max_attempts(1)).await;
    assert!(unknown.unwrap_err().is_outcome_unknown());
    eventually(|| !stack.is_closed()).await;
    assert_eq!(pass(&stack.client()).await, Ok(Passed));
    // A call that certainly was not executed has nothing to give back.
    let (client, seen) = stack.watched();
    let nowhere = crate::support::client("http://127.0.0.1:1", "credential");
    assert_eq!(code(pass(&nowhere).await), "unavailable");
    is_throttled(pass(&client).await);
    assert_eq!((seen.sent(), seen.abandoned()), (1, 0));
}

async fn a_call_that_was_given_up_gives_its_pass_back(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [Withhold]).await;
    let client = proxy.client.clone();
    let call = tokio::task::spawn_local(async move { pass(&client).await });
    eventually(|| stack.is_closed()).await;
    call.abort();
    eventually(|| !stack.is_closed()).await;
    assert_eq!(pass(&stack.client()).await, Ok(Passed));
}

async fn it_meets_no_lock_of_its_name(stack: Stack) {
    let client = stack.client();
    let lease = client.lock("a").try_acquire().await.unwrap();
    assert_eq!(pass(&client).await, Ok(Passed));
    lease.release().await.unwrap();
    let work = async |_: &_| Ok::<_, Error>(7);
    client.once("a").run(work).await.unwrap();
    is_throttled(pass(&client).await);
}

async fn a_redis_that_is_full_lets_nobody_pass_and_says_so() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let (_bridge, client) = before(&redis);
    let _: () = redis.ask("CONFIG SET maxmemory 1");
    let full = pass(&client).await.unwrap_err();
    assert_eq!(full.code(), "refused");
    assert!(!full.is_outcome_unknown(), "{full}");
    assert_eq!(full.lock(), Some("a"));
    let _: () = redis.ask("CONFIG SET maxmemory 0");
    assert_eq!(pass(&client).await, Ok(Passed));
}
