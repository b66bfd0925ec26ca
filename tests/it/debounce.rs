//! Of calls that come close together the last is executed, and the others are told so.
//!
//! The bursts of this file are quiet for an hour. The clients' long timers end when the test says
//! so, and Redis is told that the hour is over.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use edgelock::DebounceOutcome::{Executed, Superseded};
use edgelock::{Bridge, Client, Debounce, DebounceOutcome, Error, Runtime};
use testkit::stack::{self, RedisServer};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::support::faulty::Fault::Delay;
use crate::support::faulty::Proxy;
use crate::support::watched::watch as watched;
use crate::support::{Http, Spawn, Stack, Tokio, alone, as_tokio, code, eventually, ms, over};

alone! {
    beside_upstash_locks_debounce_the_last_of_each_goes_through,
    a_redis_that_is_full_takes_no_call_and_lets_those_through_that_wait,
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_call_that_is_alone_waits_and_does_the_work_in_two_requests,
        of_calls_that_come_close_together_only_the_last_does_the_work,
        a_call_that_was_dropped_while_it_arrives_overtakes_nobody,
        a_call_of_which_redis_knows_nothing_any_more_is_told_so,
        a_timer_that_ends_too_early_is_waited_for_again,
        it_meets_no_lock_and_no_throttle_of_its_name,
    }
}

const HOUR: Duration = Duration::from_secs(60 * 60);

/// A runtime whose long timers end when the test says that the hour is over.
#[derive(Clone)]
struct Hourglass(Tokio, watch::Receiver<bool>);

impl Runtime for Hourglass {
    as_tokio! { now random spawn }

    async fn sleep(&self, duration: Duration) {
        if duration < HOUR / 2 {
            return self.0.sleep(duration).await;
        }
        let mut over = self.1.clone();
        over.wait_for(|over| *over).await.expect("the test goes on");
    }
}

/// The clock of some clients. Their hour is over when the test says so.
struct Clock(watch::Sender<bool>);

impl Clock {
    fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    fn client(&self, bridge: Bridge) -> Client<Http, Hourglass> {
        let runtime = Hourglass(Tokio::default(), self.0.subscribe());
        Client::new(bridge, Http::default(), runtime)
    }

    fn debounce(&self, stack: &Stack) -> Debounce<Http, Hourglass> {
        self.client(stack.route()).debounce("a", HOUR)
    }

    /// Lets the hour pass for Redis, and then for the clients.
    fn pass_an_hour(&self, stack: &mut Stack) {
        stack.pass_an_hour();
        self.0.send_replace(true);
    }
}

impl Stack {
    /// What is stored of the burst: its version, two times, and its calls.
    fn burst(&mut self) -> Vec<String> {
        let kept: Option<String> = self.redis("GET {a}:debounce");
        let words = kept.as_deref().unwrap_or("v1 0 0 ").splitn(4, ' ');
        words.map(str::to_owned).collect()
    }

    /// The calls that still wait, each as `<time> <token>`.
    fn waiting(&mut self) -> Vec<String> {
        let calls = self.burst().pop().expect("calls");
        let waits = |call: &&str| !call.ends_with('!');
        (calls.split_terminator(';').filter(waits)).map(str::to_owned).collect()
    }

    /// Sets the time of all waiting calls to now.
    fn pass_an_hour(&mut self) {
        let (seconds, _): (u64, u64) = self.redis("TIME");
        let mut burst = self.burst();
        for call in self.waiting() {
            let (_, token) = call.split_once(' ').expect("a token");
            let now = format!("{} {token}", seconds * 1_000);
            burst[3] = burst[3].replace(&call, &now);
        }
        self.store("{a}:debounce", &burst.join(" "));
    }
}

/// How often the work was done.
type Done = Rc<Cell<u32>>;

type Told = JoinHandle<Result<DebounceOutcome<u32>, Error>>;

/// Starts a call.
fn call<R: Runtime>(debounce: Debounce<Http, R>, done: &Done) -> Told {
    let done = done.clone();
    tokio::task::spawn_local(async move { debounce.run(work(&done)).await })
}

fn work(done: &Done) -> impl AsyncFnOnce() -> Result<u32, Error> {
    let done = done.clone();
    async move || {
        done.set(done.get() + 1);
        Ok(done.get())
    }
}

async fn never() -> Result<u32, Error> {
    panic!("the work is done");
}

/// Starts one more call, and waits until Redis has it.
async fn arrive(clock: &Clock, stack: &mut Stack, done: &Done) -> Told {
    let before = stack.waiting();
    let call = call(clock.debounce(stack), done);
    eventually(|| {
        let now = stack.waiting();
        !now.is_empty() && now != before
    })
    .await;
    call
}

async fn a_call_that_is_alone_waits_and_does_the_work_in_two_requests(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let (done, began) = (Done::default(), Instant::now());
    for times in 1..=2 {
        let outcome = client.debounce("a", ms(30)).run(work(&done)).await;
        assert_eq!(outcome, Ok(Executed(times)));
        assert_eq!(seen.sent() as u32, 2 * times);
    }
    assert!(began.elapsed() >= ms(60));
    assert_eq!(stack.waiting(), [""; 0]);
    // The caller gets what the work comes to, an error too.
    let debounce = client.debounce("a", ms(1));
    let no_work = async || Err::<u8, _>(Error::example("invalid_argument", "a").expect("a code"));
    let failed = debounce.run(no_work);
    assert_eq!(code(failed.await), "invalid_argument");
}

async fn of_calls_that_come_close_together_only_the_last_does_the_work(spawn: Spawn) {
    let (mut stack, clock, done) = (spawn(), Clock::new(), Done::default());
    let mut calls = Vec::new();
    for _ in 0..5 {
        calls.push(arrive(&clock, &mut stack, &done).await);
        assert_eq!(stack.waiting().len(), 1);
    }
    clock.pass_an_hour(&mut stack);
    let last = calls.pop().unwrap();
    for call in calls {
        assert_eq!(call.await.unwrap(), Ok(Superseded));
    }
    assert_eq!(last.await.unwrap(), Ok(Executed(1)));
    assert_eq!(done.get(), 1);
    // The next call begins a new burst.
    let clock = Clock::new();
    let next = arrive(&clock, &mut stack, &done).await;
    clock.pass_an_hour(&mut stack);
    assert_eq!(next.await.unwrap(), Ok(Executed(2)));
}

async fn a_call_that_was_dropped_while_it_arrives_overtakes_nobody(spawn: Spawn) {
    let (mut stack, clock, done) = (spawn(), Clock::new(), Done::default());
    let proxy = Proxy::before(&stack, [Delay]).await;
    let client = proxy.client.clone();
    let dropped =
        tokio::task::spawn_local(async move { client.debounce("a", HOUR).run(never).await });
    eventually(|| proxy.seen().len() == 1).await;
    dropped.abort();
    eventually(|| !stack.redis::<Vec<String>>("KEYS {a}:receipt:*").is_empty()).await;
    let other = arrive(&clock, &mut stack, &done).await;
    proxy.deliver().await;
    clock.pass_an_hour(&mut stack);
    assert_eq!(other.await.unwrap(), Ok(Executed(1)));
}

async fn a_call_of_which_redis_knows_nothing_any_more_is_told_so(spawn: Spawn) {
    let (mut stack, clock, done) = (spawn(), Clock::new(), Done::default());
    for lost in ["FLUSHALL", "DEL {a}:debounce"] {
        let clock = Clock::new();
        let call = arrive(&clock, &mut stack, &done).await;
        let _: () = stack.redis(lost);
        clock.0.send_replace(true);
        let forgotten = call.await.unwrap().unwrap_err();
        assert_eq!((forgotten.code(), forgotten.is_outcome_unknown()), ("refused", false));
        assert!(forgotten.is_retryable());
        assert!(forgotten.advice().starts_with("Call again"), "{}", forgotten.advice());
        assert_eq!(forgotten.lock(), Some("a"));
    }
    let call = arrive(&clock, &mut stack, &done).await;
    clock.pass_an_hour(&mut stack);
    assert_eq!(call.await.unwrap(), Ok(Executed(1)));
}

async fn a_timer_that_ends_too_early_is_waited_for_again(spawn: Spawn) {
    let (mut stack, clock, done) = (spawn(), Clock::new(), Done::default());
    let call = arrive(&clock, &mut stack, &done).await;
    clock.0.send_replace(true);
    // A host whose timers end at once must not ask without end.
    let error = call.await.unwrap().unwrap_err();
    assert_eq!(error.code(), "unavailable");
    assert!(error.to_string().contains("timers"), "{error}");
    assert_eq!(done.get(), 0);
    // A host that is half a second early asks again when it is time.
    let (route, seen) = (stack.route(), Clock::new());
    let debounce = seen.client(route).debounce("b", ms(500));
    assert_eq!(debounce.run(work(&done)).await, Ok(Executed(1)));
}

async fn it_meets_no_lock_and_no_throttle_of_its_name(stack: Stack) {
    let client = stack.client();
    let done = Done::default();
    let lease = client.lock("a").try_acquire().await.unwrap();
    let passed = client.throttle("a", HOUR).try_pass().await;
    assert!(passed.unwrap().is_passed());
    let outcome = client.debounce("a", ms(5)).run(work(&done)).await;
    assert_eq!(outcome, Ok(Executed(1)));
    lease.release().await.unwrap();
}

/// Upstash's debounce counts calls under the name itself. After its wait it looks whether its own
/// call is still the last.
async fn beside_upstash_locks_debounce_the_last_of_each_goes_through() {
    let (mut stack, clock, done) = (Stack::spawn(), Clock::new(), Done::default());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        theirs.push(stack.redis::<u64>("INCR a"));
        ours.push(arrive(&clock, &mut stack, &done).await);
    }
    clock.pass_an_hour(&mut stack);
    let last: u64 = stack.redis("GET a");
    assert!(theirs.iter().map(|call| *call == last).eq([false, false, true]));
    for (call, outcome) in ours.into_iter().zip([Superseded, Superseded, Executed(1)]) {
        assert_eq!(call.await.unwrap(), Ok(outcome));
    }
    // Their counter never expires. A lock of the same name takes it for a holder.
    assert_eq!(stack.redis::<i64>("PTTL a"), -1);
    assert_eq!(code(stack.lock("a").try_acquire().await), "held");
}

async fn a_redis_that_is_full_takes_no_call_and_lets_those_through_that_wait() {
    let redis = RedisServer::start(&["--maxmemory-policy", "noeviction"]);
    let bridge = stack::Bridge::options().redis(redis.url()).start();
    let bridge = bridge.expect("a bridge");
    let (url, credential) = (bridge.url(), bridge.token());
    let (client, seen) = watched(Bridge::upstash(url, credential).unwrap());
    let waits = client.debounce("a", ms(1_000));
    let first =
        tokio::task::spawn_local(async move { waits.run(async || Ok::<_, Error>(7)).await });
    eventually(|| redis.ask("EXISTS {a}:debounce")).await;
    let _: () = redis.ask("CONFIG SET maxmemory 1");
    let full = client.debounce("a", ms(5)).run(never).await.unwrap_err();
    assert_eq!((full.code(), full.is_outcome_unknown()), ("refused", false));
    assert_eq!(first.await.unwrap(), Ok(Executed(7)));
    assert_eq!(seen.abandoned(), 0);
}
