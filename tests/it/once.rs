//! Work that is executed once, and whose result is kept for later callers.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;

use edgelock::{Client, Command, Error, OnceOutcome, Runtime, Transport};
use tokio::task::{JoinHandle, JoinSet};

use OnceOutcome::{Executed, NotKept, Replayed};

use crate::support::faulty::Fault::{Delay, LoseReply, LoseRequest};
use crate::support::faulty::Proxy;
use crate::support::{Stack, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        the_first_does_the_work_in_two_requests_and_the_next_has_its_result_in_one,
        a_result_is_text_beside_a_lock_for_as_long_as_it_is_kept,
        once_it_is_kept_no_more_the_work_is_done_again,
        a_result_arrives_as_it_is,
        whoever_comes_meanwhile_waits_and_gets_the_result_and_not_the_lock,
        of_twenty_at_once_one_does_the_work_and_all_have_its_result,
        work_that_fails_keeps_nothing_and_the_next_does_it,
        work_of_a_holder_that_died_is_done_by_the_next,
        a_holder_that_lost_its_lease_keeps_nothing_and_is_told,
        without_redis_the_work_is_done_only_if_it_is_to_run_then,
        a_copy_is_fresh_then_stale_and_one_renews_it,
        a_call_that_was_given_up_gives_the_lock_back,
        a_fingerprint_tells_what_was_executed_or_is_being_from_something_else,
        a_result_over_the_bound_is_refused_and_not_kept,
        what_is_kept_is_forgotten_in_one_request_unless_the_work_is_being_done,
        a_forget_that_was_refused_forgets_nothing_when_a_copy_comes_late,
        a_result_that_is_something_else_is_told_and_the_work_is_not_done,
        a_caller_that_waits_in_vain_is_told_that_another_is_at_it,
        the_lease_is_kept_while_the_work_goes_on,
        work_that_gives_the_lock_back_itself_keeps_no_result,
        it_excludes_a_lock_of_the_same_name_and_no_other_type,
    }
}

/// How often the work was done.
type Done = Rc<Cell<u32>>;

/// Work whose result is how often it was done.
async fn charge<T: Transport, R: Runtime>(
    client: &Client<T, R>,
    done: &Done,
) -> Result<OnceOutcome<u32>, Error> {
    client.once("a").wait_timeout(LONG).run(work(done)).await
}

fn work<L>(done: &Done) -> impl AsyncFnOnce(&L) -> Result<u32, Error> {
    let done = done.clone();
    async move |_| {
        done.set(done.get() + 1);
        Ok(done.get())
    }
}

/// Starts work that goes on until the sender is dropped, and then comes to 7 or to an error.
fn begin<T: Transport, R: Runtime>(
    client: &Client<T, R>,
    fails: bool,
) -> (tokio::sync::oneshot::Sender<()>, JoinHandle<Result<OnceOutcome<u32>, Error>>) {
    let once = client.once("a").wait_timeout(LONG);
    let (end, ended) = tokio::sync::oneshot::channel();
    let task = meanwhile(async move {
        once.run(async |_| {
            let _ = ended.await;
            match fails {
                true => Err(Error::example("invalid_argument", "").expect("a code")),
                false => Ok(7),
            }
        })
        .await
    });
    (end, task)
}

impl Stack {
    fn is_held(&mut self) -> bool {
        self.redis("EXISTS a")
    }

    fn kept(&mut self) -> Option<String> {
        self.redis("GET {a}:result")
    }
}

async fn the_first_does_the_work_in_two_requests_and_the_next_has_its_result_in_one(
    mut stack: Stack,
) {
    let (client, seen) = stack.watched();
    let done = Done::default();
    assert_eq!(charge(&client, &done).await, Ok(Executed(1)));
    assert_eq!(seen.sent(), 2);
    assert!(!stack.is_held());
    for requests in 3..=4 {
        assert_eq!(charge(&client, &done).await, Ok(Replayed(1)));
        assert_eq!(seen.sent(), requests);
    }
    assert_eq!(done.get(), 1);
    assert_eq!(seen.events(), ["acquired", "released", "replayed", "replayed"]);
    let other = client.once("b").run(work(&done)).await;
    assert_eq!(other, Ok(Executed(2)));
}

async fn a_result_is_text_beside_a_lock_for_as_long_as_it_is_kept(mut stack: Stack) {
    let client = stack.client();
    let once = client.once("a").fingerprint("sha 1").ttl(ms(30_000));
    let outcome = once
        .run(async |lease| {
            let token: String = stack.redis("GET a");
            assert_eq!(token, lease.token().expose());
            assert!((20_000..=30_000).contains(&stack.redis::<u64>("PTTL a")));
            assert_eq!(stack.last_fence("a"), lease.fence());
            Ok::<_, Error>(
                vec![Some("x"), None].into_iter().map(|x| x.map(str::to_owned)).collect::<Vec<_>>(),
            )
        })
        .await
        .unwrap();
    assert_eq!(outcome.into_value(), [Some("x".to_owned()), None]);
    assert_eq!(stack.kept().unwrap(), r#"once:sha%201 ["x",null]"#);
    let day = 24 * 60 * 60 * 1_000;
    assert!((day - 60_000..=day).contains(&stack.redis::<u64>("PTTL {a}:result")));
    let brief = client.once("b").keep(ms(90_000));
    let text = async |_: &_| Ok::<_, Error>("as it is".to_owned());
    brief.run_text(text).await.unwrap();
    assert_eq!(stack.redis::<String>("GET {b}:result"), " as it is");
    assert!((60_000..=90_000).contains(&stack.redis::<u64>("PTTL {b}:result")));
}

async fn once_it_is_kept_no_more_the_work_is_done_again(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let once = client.once("a").keep(ms(50));
    assert_eq!(once.run(work(&done)).await, Ok(Executed(1)));
    eventually(|| stack.kept().is_none()).await;
    assert_eq!(charge(&client, &done).await, Ok(Executed(2)));
    assert_eq!(charge(&client, &done).await, Ok(Replayed(2)));
}

async fn a_result_arrives_as_it_is(stack: Stack) {
    let client = stack.client();
    let texts = [
        String::new(),
        " ".into(),
        "  two  words ".into(),
        "line\r\nline\n\t%20%\\\"'/".into(),
        "once:x y".into(),
        "ü€😀\u{7f}\u{2028}".into(),
        "é".repeat(32 * 1024),
    ];
    for (at, text) in texts.into_iter().enumerate() {
        let once = client.once(&format!("t{at}"));
        let first = once.run_text(async |_| Ok::<_, Error>(text.clone())).await;
        assert_eq!(first, Ok(Executed(text.clone())));
        let again = once.run_text(never).await;
        assert_eq!(again, Ok(Replayed(text)));
    }
    let map = HashMap::from([("ü".to_owned(), vec![1.5, -2.0])]);
    let once = client.once("json").fingerprint("x");
    let first = once.run(async |_| Ok::<_, Error>(map.clone())).await;
    assert_eq!(first, Ok(Executed(map.clone())));
    assert_eq!(once.run(never).await, Ok(Replayed(map)));
}

/// Work that must not be done.
async fn never<V, L>(_: &L) -> Result<V, Error> {
    panic!("the work is done again");
}

async fn whoever_comes_meanwhile_waits_and_gets_the_result_and_not_the_lock(mut stack: Stack) {
    let (end, first) = begin(&stack.client(), false);
    eventually(|| stack.is_held()).await;
    let mut waiters = Vec::new();
    for deaf in [false, true, false] {
        let (client, seen) = match deaf {
            true => crate::support::watched::watch(stack.route().push(false)),
            false => stack.watched(),
        };
        let once = client.once("a").wait_timeout(LONG);
        let waiter = meanwhile(async move { once.run(never::<u32, _>).await });
        eventually(|| seen.events() == ["contended"]).await;
        waiters.push((waiter, seen));
    }
    drop(end);
    assert_eq!(first.await.unwrap(), Ok(Executed(7)));
    for (waiter, seen) in waiters {
        assert_eq!(waiter.await.unwrap(), Ok(Replayed(7)));
        assert_eq!(seen.events(), ["contended", "replayed"]);
        assert_eq!(seen.abandoned(), 0);
    }
    assert!(!stack.is_held());
}

async fn of_twenty_at_once_one_does_the_work_and_all_have_its_result(stack: Stack) {
    let done = Done::default();
    let mut callers = JoinSet::new();
    for _ in 0..20 {
        let (client, done) = (stack.client(), done.clone());
        callers.spawn_local(async move { charge(&client, &done).await });
    }
    let mut executed = 0;
    while let Some(outcome) = callers.join_next().await {
        let outcome = outcome.unwrap().unwrap();
        executed += u32::from(!outcome.is_replayed());
        assert_eq!(outcome.into_value(), 1);
    }
    assert_eq!((executed, done.get()), (1, 1));
}

async fn work_that_fails_keeps_nothing_and_the_next_does_it(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let (end, failing) = begin(&client, true);
    eventually(|| stack.is_held()).await;
    let (next, seen) = stack.watched();
    let (once, noted) = (next.once("a").wait_timeout(LONG), done.clone());
    let waiter = meanwhile(async move { once.run(work(&noted)).await });
    eventually(|| seen.events() == ["contended"]).await;
    drop(end);
    assert_eq!(code(failing.await.unwrap()), "invalid_argument");
    assert_eq!(waiter.await.unwrap(), Ok(Executed(1)));
    assert_eq!(charge(&client, &done).await, Ok(Replayed(1)));
}

async fn work_of_a_holder_that_died_is_done_by_the_next(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let _: () = stack.redis("SET a AAAAAAAAAAAAAAAAAAAAAA PX 700");
    assert_eq!(charge(&client, &done).await, Ok(Executed(1)));
    assert_eq!(charge(&client, &done).await, Ok(Replayed(1)));
}

async fn a_holder_that_lost_its_lease_keeps_nothing_and_is_told(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let once = client.once("a");
    let late = once.run(async |_| {
        let _: () = stack.redis("SET a AAAAAAAAAAAAAAAAAAAAAA PX 60000");
        Ok::<_, Error>(9)
    });
    assert_eq!(code(late.await), "lost");
    assert_eq!(stack.kept(), None);
    let _: () = stack.redis("DEL a");
    // The next caller did the work. The late one is told that it was too late, although a
    // result is kept.
    let late = once.run(async |_| {
        let _: () = stack.redis("DEL a");
        assert_eq!(charge(&stack.client(), &done).await, Ok(Executed(1)));
        Ok::<_, Error>(9)
    });
    assert_eq!(code(late.await), "lost");
    assert_eq!(charge(&client, &done).await, Ok(Replayed(1)));
}

async fn without_redis_the_work_is_done_only_if_it_is_to_run_then(mut stack: Stack) {
    let proxy = Proxy::before(&stack, [LoseRequest]).await;
    let client = proxy.client.clone().max_attempts(1);
    let once = client.once("a").wait_timeout(ms(0));
    // Behind each request of unknown outcome another one gives up what it may have got.
    let given_up = async |calls: usize| {
        eventually(|| proxy.seen().len() == 2 * calls).await;
        proxy.next(LoseRequest);
    };
    let never = async |_: &_| -> Result<u32, Error> { panic!("the work is done") };
    assert_eq!(once.run(never).await.unwrap_err().code(), "unavailable");
    given_up(1).await;
    let alone = once.run_anyway(async |lease| Ok::<_, Error>(lease.is_none()));
    assert_eq!(alone.await, Ok(NotKept(true)));
    // Of the work's own errors nothing is made.
    given_up(2).await;
    let failed = once.run_anyway(async |_| Err::<u32, _>(Error::example("lost", "").unwrap()));
    assert_eq!(failed.await.unwrap_err().code(), "lost");
    eventually(|| proxy.seen().len() == 6).await;
    // Redis goes while the work is done: what was done is not lost, and not kept.
    let left = once.run_anyway(async |lease| {
        proxy.next(LoseRequest);
        proxy.next(LoseRequest);
        Ok::<_, Error>(lease.is_some())
    });
    assert_eq!(left.await, Ok(NotKept(true)));
    assert_eq!(stack.kept(), None);
    eventually(|| !stack.is_held()).await;
    for kept in [Executed(7), Replayed(7)] {
        assert_eq!(once.run_anyway(async |_| Ok::<_, Error>(7)).await, Ok(kept));
    }
}

async fn a_copy_is_fresh_then_stale_and_one_renews_it(mut stack: Stack) {
    let proxy = Proxy::before(&stack, []).await;
    let (fresh, stale) = (ms(60_000), ms(600_000));
    let cached = proxy.client.cached("a", fresh, stale).ttl(LONG);
    let never = async || -> Result<u32, Error> { panic!("it is made anew") };
    assert_eq!(cached.get(async || Ok::<_, Error>(1)).await, Ok(1));
    assert_eq!(cached.get(never).await, Ok(1));
    assert_eq!(proxy.seen().len(), 3);
    // Its last ten minutes begin. The reply to the caller that renews it is lost.
    let grow_stale = "PEXPIRE {a}:result 500000";
    assert!(stack.redis::<bool>(grow_stale));
    proxy.next(LoseReply);
    let renewed = cached.get(async || {
        assert_eq!(cached.get(never).await, Ok(1));
        Ok::<_, Error>(2)
    });
    assert_eq!(renewed.await, Ok(2));
    assert_eq!(proxy.seen().len(), 7);
    assert_eq!(cached.get(never).await, Ok(2));
    // A refill that fails leaves the copy, if there is one.
    assert!(stack.redis::<bool>(grow_stale));
    let failing = async || Err::<u32, _>(Error::example("lost", "").expect("a code"));
    assert_eq!(cached.get(failing).await, Ok(2));
    assert_eq!(cached.get(async || Ok::<_, Error>(3)).await, Ok(3));
    assert_eq!(cached.forget().await, Ok(true));
    assert_eq!(cached.get(failing).await.unwrap_err().code(), "lost");
    for (fresh, stale) in [(0, 1), (1, 0), (366 * 24 * 3_600_000, 1)] {
        let out_of_range = proxy.client.cached("a", ms(fresh), ms(stale));
        let error = out_of_range.get(never).await.unwrap_err();
        assert_eq!(error.code(), "invalid_argument");
    }
}

async fn a_call_that_was_given_up_gives_the_lock_back(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let (_end, call) = begin(&client, false);
    eventually(|| stack.is_held()).await;
    call.abort();
    eventually(|| !stack.is_held()).await;
    assert_eq!(stack.kept(), None);
    assert_eq!(charge(&client, &done).await, Ok(Executed(1)));
}

async fn a_fingerprint_tells_what_was_executed_or_is_being_from_something_else(stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let of = |print: &str| client.once("a").fingerprint(print).wait_timeout(LONG);
    let one = of("one");
    let first = one.run(async |_| {
        // While the work is under way.
        let error = of("other").run(work(&done)).await.unwrap_err();
        assert_eq!(error.code(), "fingerprint_mismatch");
        assert_eq!(error.lock(), Some("a"));
        let same = of("one").wait_timeout(ms(0)).run(work(&done)).await;
        assert_eq!(code(same), "held");
        let none = client.once("a").wait_timeout(ms(0)).run(work(&done)).await;
        assert_eq!(code(none), "held");
        Ok::<_, Error>(5)
    });
    assert_eq!(first.await, Ok(Executed(5)));
    assert_eq!(code(of("other").run(work(&done)).await), "fingerprint_mismatch");
    assert_eq!(of("one").run(work(&done)).await, Ok(Replayed(5)));
    // A caller without a fingerprint has nothing to compare.
    assert_eq!(charge(&client, &done).await, Ok(Replayed(5)));
    assert_eq!(done.get(), 0);
    let none = client.once("b").run(work(&done)).await;
    assert_eq!(none, Ok(Executed(1)));
    let later = client.once("b").fingerprint("x").run(work(&done)).await;
    assert_eq!(later, Ok(Replayed(1)));
}

async fn a_result_over_the_bound_is_refused_and_not_kept(mut stack: Stack) {
    let client = stack.client();
    let text = |bytes: usize| async move |_: &_| Ok::<_, Error>("x".repeat(bytes));
    let error = client.once("a").run_text(text(65_537)).await.unwrap_err();
    let Error::ResultTooLarge { bytes, most, .. } = error else { panic!("{error}") };
    assert_eq!((bytes, most), (65_537, 65_536));
    assert!(!error.is_outcome_unknown());
    assert!(!stack.is_held() && stack.kept().is_none());
    // The work was done. A caller that needs its result can still have it.
    let mut own = None;
    let work = async |_: &_| Ok::<_, Error>(own.insert("x".repeat(65_537)).clone());
    assert_eq!(code(client.once("a").run_text(work).await), "result_too_large");
    assert_eq!(own.map(|text| text.len()), Some(65_537));
    let small = client.once("a").max_bytes(3);
    assert_eq!(code(small.run_text(text(4)).await), "result_too_large");
    assert_eq!(small.run_text(text(3)).await, Ok(Executed("xxx".into())));
    // The limit is on what is stored, not on what is read.
    assert_eq!(client.once("a").max_bytes(1).run_text(never).await, Ok(Replayed("xxx".into())));
    let large = client.once("b").max_bytes(256 * 1024);
    let most = large.run_text(text(256 * 1024)).await.unwrap();
    assert_eq!(most.into_value().len(), 256 * 1024);
    let again = large.run_text(never).await.unwrap();
    assert_eq!(again.into_value().len(), 256 * 1024);
}

async fn what_is_kept_is_forgotten_in_one_request_unless_the_work_is_being_done(mut stack: Stack) {
    let (client, seen) = stack.watched();
    let done = Done::default();
    let once = client.once("a").fingerprint("other");
    assert_eq!(once.forget().await, Ok(false));
    assert_eq!(charge(&client, &done).await, Ok(Executed(1)));
    let before = seen.sent();
    assert_eq!(once.forget().await, Ok(true));
    assert_eq!((seen.sent(), stack.kept()), (before + 1, None));
    assert_eq!(once.forget().await, Ok(false));
    assert_eq!(charge(&client, &done).await, Ok(Executed(2)));
    let _: u64 = stack.redis("DEL {a}:result");
    let (end, first) = begin(&client, false);
    eventually(|| stack.is_held()).await;
    let Error::Held { remaining, .. } = once.forget().await.unwrap_err() else {
        panic!("it is being done")
    };
    assert!(remaining.is_some_and(|left| left > ms(5_000)), "{remaining:?}");
    drop(end);
    assert_eq!(first.await.expect("no panic"), Ok(Executed(7)));
    assert_eq!(charge(&client, &done).await, Ok(Replayed(7)));
    // A repeat does not forget the next result.
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    assert_eq!(proxy.client.once("a").forget().await, Ok(true));
    let lost = proxy.client.clone().max_attempts(1);
    proxy.next(LoseReply);
    let unknown = lost.once("a").forget().await.unwrap_err();
    assert!(unknown.is_outcome_unknown() && !unknown.is_retryable());
}

async fn a_forget_that_was_refused_forgets_nothing_when_a_copy_comes_late(mut stack: Stack) {
    let client = stack.client();
    let (end, first) = begin(&client, false);
    eventually(|| stack.is_held()).await;
    // The first copy is under way until the work is over, and the second is refused meanwhile.
    let proxy = Proxy::before(&stack, [Delay]).await;
    let hasty = proxy.client.clone().request_timeout(ms(300));
    assert_eq!(code(hasty.once("a").forget().await), "held");
    drop(end);
    assert_eq!(first.await.expect("no panic"), Ok(Executed(7)));
    proxy.deliver().await;
    assert_eq!(charge(&client, &Done::default()).await, Ok(Replayed(7)));
}

async fn a_result_that_is_something_else_is_told_and_the_work_is_not_done(mut stack: Stack) {
    fn told<V>(outcome: Result<V, Error>) -> String {
        let error = outcome.err().expect("an error");
        assert_eq!(error.code(), "result_unreadable");
        error.to_string()
    }
    let client = stack.client();
    let number = client.once("a").run(async |_| Ok::<_, Error>(7)).await;
    assert_eq!(number, Ok(Executed(7)));
    let text = client.once("a").run(never::<String, _>).await;
    assert_eq!(
        told(text),
        "the result of \"a\": what is kept is not of the type that this call asks for: \
             invalid type: integer `7`, expected a string at line 1 column 1"
    );
    // A value that cannot be serialized is not kept.
    let keys = HashMap::from([(vec![1], 1)]);
    let odd = client.once("b").run(async |_| Ok::<_, Error>(keys)).await;
    assert_eq!(
        told(odd),
        "the result of \"b\": the work was done, but it cannot be written as JSON, so it is not kept: \
             key must be a string"
    );
    assert!(!stack.redis::<bool>("EXISTS b {b}:result"));
}

async fn a_caller_that_waits_in_vain_is_told_that_another_is_at_it(mut stack: Stack) {
    let (end, first) = begin(&stack.client(), false);
    eventually(|| stack.is_held()).await;
    for wait in [0, 300] {
        let (client, seen) = stack.watched();
        let once = client.once("a").wait_timeout(ms(wait));
        let error = once.run(never::<u32, _>).await.unwrap_err();
        assert_eq!(error.code(), "held");
        assert!(error.retry_after().is_some());
        assert_eq!(seen.abandoned(), 0);
    }
    drop(end);
    assert_eq!(first.await.unwrap(), Ok(Executed(7)));
}

async fn the_lease_is_kept_while_the_work_goes_on(stack: Stack) {
    let (client, seen) = stack.watched();
    let once = client.once("a").ttl(ms(2_000));
    let is_renewal = |code: &&String| *code == "renewed";
    let outcome = once.run(async |lease| {
        eventually(|| seen.events().iter().filter(is_renewal).count() >= 4).await;
        assert!(!lease.remaining().is_zero());
        Ok::<_, Error>(7)
    });
    assert_eq!(outcome.await, Ok(Executed(7)));
    let long = client.once("b").ttl(ms(2_000)).max_hold(ms(300));
    let stuck = long.run(async |_| std::future::pending::<Result<u32, Error>>().await);
    assert_eq!(code(stuck.await), "max_hold_exceeded");
}

async fn work_that_gives_the_lock_back_itself_keeps_no_result(mut stack: Stack) {
    let client = stack.client();
    let once = client.once("a");
    let released = once.run(async |lease| {
        lease.release().await?;
        Ok::<_, Error>(7)
    });
    assert_eq!(code(released.await), "released");
    assert_eq!(stack.kept(), None);
    // What the work wrote under the lease stands.
    let wrote = once.run(async |lease| {
        lease.exec(&[Command::new("INCR").key("n")]).await?;
        Ok::<_, Error>(lease.fence())
    });
    assert!(wrote.await.unwrap().into_value() > 0);
    assert_eq!(stack.redis::<u32>("GET n"), 1);
}

async fn it_excludes_a_lock_of_the_same_name_and_no_other_type(mut stack: Stack) {
    let (client, done) = (stack.client(), Done::default());
    let lease = client.lock("a").label("x").try_acquire().await.unwrap();
    let once = client.once("a").fingerprint("y").wait_timeout(ms(0));
    assert_eq!(code(once.run(work(&done)).await), "held");
    lease.release().await.unwrap();
    let outcome = once.run(async |_| {
        assert_eq!(code(client.lock("a").try_acquire().await), "held");
        Ok::<_, Error>(7)
    });
    assert_eq!(outcome.await, Ok(Executed(7)));
    for command in ["RPUSH b x", "RPUSH {c}:result x"] {
        let _: () = stack.redis(command);
    }
    for key in ["b", "c"] {
        let odd = client.once(key).run(work(&done)).await;
        assert_eq!(code(odd), "wrong_type", "{key}");
    }
    assert_eq!(done.get(), 0);
}
