//! The client on the real hosts of the edge. The same tests run in Node and in workerd, against a
//! real bridge and a server that misbehaves. The environment has their addresses.
#![cfg(target_family = "wasm")]

use std::arch::wasm32::memory_size;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use edgelock::web::{Fetch, Host};
use edgelock::{
    Bridge, Client, Command, Decision, Error, EventKind, GroupCommit, Reply, Runtime, Section,
    Task, web,
};
use js_sys::Reflect;
use wasm_bindgen::JsValue;
use wasm_bindgen_test::wasm_bindgen_test as test;

/// A ttl that a test waits for. A host that stands still for a second or two does not miss it.
const SHORT: Duration = Duration::from_secs(3);

fn variable(name: &str) -> String {
    let get = |object: &JsValue, name: &str| {
        Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
    };
    let environment = get(&get(&js_sys::global(), "process"), "env");
    get(&environment, name)
        .as_string()
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"))
}

fn bridge() -> Bridge {
    Bridge::upstash(
        &variable("EDGELOCK_BRIDGE_URL"),
        &variable("EDGELOCK_BRIDGE_CREDENTIAL"),
    )
    .unwrap()
}

fn client() -> Client<Fetch, Host> {
    web::client(bridge()).prefix(&format!("{}:", random_name()))
}

/// Both hosts share one Redis, so each test has names of its own.
fn random_name() -> String {
    let mut bytes = [0; 8];
    Host::default().random(&mut bytes).unwrap();
    format!("{:x}", u64::from_ne_bytes(bytes))
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
async fn a_section_reads_and_writes_in_two_requests() {
    let client = client();
    let key = random_name();
    let lock = client.lock("a");
    let (lease, replies) = lock
        .acquire_and_read(&[Command::new("GET").key(&key)])
        .await
        .unwrap();
    assert_eq!(replies, [Reply::Nil]);
    assert!(lease.fence() > 1 << 50 && lease.fence() < 1 << 53);
    assert!(lease.remaining() > ms(9_000) && lease.remaining() < ms(10_000));
    assert_eq!(lock.try_acquire().await.unwrap_err().code(), "held");
    let replies = lease
        .commit(&[Command::new("SET")
            .key(&key)
            .arg("naïve ☃")
            .arg("PX")
            .arg(1000)])
        .await
        .unwrap();
    assert_eq!(replies, [Reply::Bytes(b"OK".to_vec())]);
    let replies = client.read(&[Command::new("GET").key(&key)]).await.unwrap();
    assert_eq!(replies[0].as_str(), Some("naïve ☃"));
}

#[test]
async fn a_lease_is_renewed_executed_under_and_released() {
    let client = client();
    let lock = client.lock("a").ttl(ms(10_000));
    let lease = lock.try_acquire().await.unwrap();
    let host = Host::default();
    let begin = host.now();
    let deadline = || host.now().since(begin) + lease.remaining();
    let before = deadline();
    host.sleep(ms(50)).await;
    lease.renew().await.unwrap();
    // A host's clocks are in whole milliseconds.
    assert!(deadline() >= before + ms(45));
    lease.exec(&[]).await.unwrap();
    assert_eq!(lock.inspect().await.unwrap().fence, Some(lease.fence()));
    lease.release().await.unwrap();
    assert_eq!(lease.release().await.unwrap_err().code(), "released");
    assert!(!lock.force_release().await.unwrap());
}

#[test]
async fn waiters_are_inside_one_at_a_time() {
    let client = client();
    let inside = Cell::new(0);
    let turn = || async {
        let lease = client
            .lock("a")
            .wait_timeout(ms(20_000))
            .acquire()
            .await
            .unwrap();
        inside.set(inside.get() + 1);
        assert_eq!(inside.get(), 1);
        Host::default().sleep(ms(2)).await;
        inside.set(inside.get() - 1);
        lease.release().await.unwrap();
    };
    all([turn(), turn(), turn(), turn()].map(Box::pin).into()).await;
}

#[test]
async fn a_waiter_listens_and_is_handed_the_lock() {
    let client = client();
    // One to ask, one to subscribe, one to ask again and one to leave: none is left to poll with.
    let lock = client.lock("a").wait_timeout(ms(20_000)).max_requests(4);
    let held = lock.try_acquire().await.unwrap();
    let listening = || async { lock.inspect().await.unwrap().waiters == 1 };
    let holder = async {
        while !listening().await {}
        Host::default().sleep(ms(100)).await;
        held.release().await.unwrap();
    };
    let waiter = async {
        let lease = lock.acquire().await.unwrap();
        assert!(lease.fence() > held.fence());
        lease.release().await.unwrap();
    };
    both(holder, waiter).await;
}

#[test]
async fn a_dropped_wait_ends_its_subscription_and_leaves_the_queue() {
    let client = client();
    let name = random_name();
    let lock = client.lock(&name).wait_timeout(ms(20_000));
    let lease = lock.try_acquire().await.unwrap();
    let listeners_and_waiters = || async {
        let pattern = format!("*{name}}}:wake:*");
        let channels = Command::new("PUBSUB").arg("CHANNELS").arg(pattern);
        let replies = lease.exec(&[channels]).await.unwrap();
        let waiters = lock.inspect().await.unwrap().waiters;
        (replies[0].as_array().unwrap().len(), waiters)
    };
    let mut waiting = Box::pin(lock.acquire());
    while listeners_and_waiters().await != (1, 1) {
        assert!(!is_ready_now(&mut waiting).await);
    }
    drop(waiting);
    while listeners_and_waiters().await != (0, 0) {}
    lease.release().await.unwrap();
}

#[test]
async fn work_is_kept_under_the_lock_until_it_is_done() {
    let client = client();
    let lock = client.lock("a").ttl(SHORT);
    let done = lock
        .run(async |lease| {
            Host::default().sleep(SHORT + ms(500)).await;
            lease.exec(&[]).await?;
            Ok::<_, Error>(7)
        })
        .await;
    assert_eq!(done, Ok(7));
    assert_eq!(lock.inspect().await.unwrap().holder, None);
    // Longer than a timer of any host. It must neither fire at once nor never.
    let month = client.lock("a").ttl(ms(30 * 24 * 60 * 60 * 1_000));
    let done = month
        .run(async |_| {
            Host::default().sleep(ms(50)).await;
            Ok::<_, Error>(7)
        })
        .await;
    assert_eq!(done, Ok(7));
}

#[test]
async fn work_is_stopped_when_its_lock_is_lost() {
    let client = client();
    let lock = client.lock("a").ttl(SHORT);
    let outcome: Result<(), Error> = lock
        .run(async |_| {
            lock.force_release().await.unwrap();
            std::future::pending().await
        })
        .await;
    assert_eq!(outcome.unwrap_err().code(), "lost");
}

#[test]
async fn a_dropped_lease_is_released_by_the_host() {
    let client = client();
    let lock = client.lock("a");
    drop(lock.try_acquire().await.unwrap());
    while lock.inspect().await.unwrap().holder.is_some() {
        Host::default().sleep(ms(5)).await;
    }
}

#[test]
async fn a_request_without_an_answer_is_aborted_at_its_time_out() {
    // A subscription is an answer that never ends. If the bridge drops it, the fetch was aborted.
    let channel = random_name();
    let url = format!("{}/subscribe/{channel}", variable("EDGELOCK_BRIDGE_URL"));
    let bridge = Bridge::upstash(&url, &variable("EDGELOCK_BRIDGE_CREDENTIAL")).unwrap();
    let mute = web::client(bridge)
        .max_attempts(1)
        .request_timeout(ms(500))
        .lock("a");
    let lease = client().lock("a").try_acquire().await.unwrap();
    let subscribers = || async {
        let replies = lease
            .exec(&[Command::new("PUBSUB").arg("NUMSUB").arg(&channel)])
            .await
            .unwrap();
        replies[0].as_array().unwrap()[1].as_i64().unwrap()
    };
    let (most, over) = (Cell::new(0), Cell::new(false));
    let asked = async {
        assert_eq!(mute.try_acquire().await.unwrap_err().code(), "timed_out");
        over.set(true);
    };
    let watched = async {
        loop {
            let ended = over.get();
            let now = subscribers().await;
            most.set(most.get().max(now));
            assert!(
                most.get() > 0 || !ended,
                "the request ended before it was seen"
            );
            if now == 0 && most.get() > 0 {
                return;
            }
        }
    };
    both(asked, watched).await;
    assert_eq!(most.get(), 1);
    lease.release().await.unwrap();
}

#[test]
async fn an_address_where_nothing_listens_is_unavailable() {
    let nowhere =
        web::client(Bridge::upstash("http://127.0.0.1:1", "credential").unwrap()).max_attempts(1);
    assert_eq!(
        nowhere.lock("a").try_acquire().await.unwrap_err().code(),
        "unavailable"
    );
}

#[test]
async fn an_answer_that_is_none_has_its_own_error() {
    for (path, code, unknown) in [
        ("redirect", "redirected", false),
        ("html", "not_json", true),
        ("bad-gateway", "unavailable", true),
        ("shed", "unavailable", false),
        ("cut", "truncated", true),
        ("cut-chunked", "truncated", true),
        ("large", "too_large", true),
        ("large-chunked", "too_large", true),
        ("hang-up", "unavailable", true),
    ] {
        let url = format!("{}/{path}", variable("EDGELOCK_FAULTY_URL"));
        let bridge = Bridge::upstash(&url, "credential").unwrap();
        let lock = web::client(bridge).max_attempts(1).lock("a");
        let error = lock.try_acquire().await.unwrap_err();
        assert_eq!(
            (error.code(), error.is_outcome_unknown()),
            (code, unknown),
            "{path}: {error}"
        );
        if let Error::Unavailable { retry_after, .. } = error {
            assert_eq!(retry_after.is_some(), path == "shed");
        }
    }
}

#[test]
async fn a_wrong_credential_is_unauthorized() {
    let bridge = Bridge::upstash(&variable("EDGELOCK_BRIDGE_URL"), "wrong-credential").unwrap();
    let error = web::client(bridge)
        .lock("a")
        .try_acquire()
        .await
        .unwrap_err();
    assert_eq!(error.code(), "unauthorized");
    assert!(!format!("{error} {error:?}").contains("wrong-credential"));
}

#[test]
async fn a_dropped_acquisition_is_abandoned_by_the_host() {
    let spawned = Rc::new(Cell::new(0));
    let count = spawned.clone();
    let host = Host::default().wait_until(move |task| {
        count.set(count.get() + 1);
        Host::default().spawn(task);
    });
    let client = Client::new(bridge(), Fetch::default(), host);
    let lock = client.lock(&random_name());
    // Polled once, so that its request is on its way, and then dropped.
    let mut acquisition = Box::pin(lock.try_acquire());
    assert!(!is_ready_now(&mut acquisition).await);
    drop(acquisition);
    assert_eq!(spawned.get(), 1);
    // Whichever of the two requests arrives first, nobody holds the lock in the end.
    while lock.inspect().await.unwrap().holder.is_some() {
        Host::default().sleep(ms(5)).await;
    }
}

#[test]
async fn timers_fire_and_are_cancelled() {
    let host = Host::default();
    let before = host.now();
    host.sleep(ms(30)).await;
    assert!(host.now().since(before) >= ms(29));
    // Longer than any timer of a host. If it overflowed, it would fire at once.
    let mut long = Box::pin(host.sleep(Duration::from_secs(u64::MAX / 4)));
    let fired = is_ready_now(&mut long).await;
    host.sleep(ms(30)).await;
    assert!(!fired && !is_ready_now(&mut long).await);
}

#[test]
async fn a_timer_that_is_dropped_leaves_nothing() {
    const TIMERS: usize = 100_000;
    let host = Host::default();
    let drop_timers = async |timers: usize| {
        for _ in 0..timers {
            let mut long = Box::pin(host.sleep(Duration::from_secs(3_600)));
            assert!(!is_ready_now(&mut long).await);
        }
        memory_size::<0>()
    };
    let warm = drop_timers(1_000).await;
    // A page has 64 KiB, so that is less than a byte for each timer.
    let pages = drop_timers(TIMERS).await - warm;
    assert!(pages <= 1, "{pages} pages");
}

#[test]
async fn a_waker_for_others_wakes_the_task_behind_a_promise_of_its_own() {
    let host = Host::default();
    let (mut calls, mut shared) = (0, None);
    let woken = poll_fn(|cx| {
        calls += 1;
        if calls == 3 {
            return Poll::Ready(());
        }
        // A waker that nobody calls leaves nothing behind, and wakes nobody.
        drop(host.shared_waker(cx.waker()));
        let waker = host.shared_waker(cx.waker());
        waker.wake_by_ref();
        waker.wake_by_ref();
        // The waker is kept until it has woken, or waking consumes it.
        match calls {
            1 => shared = Some(waker),
            _ => host.shared_waker(cx.waker()).wake(),
        }
        Poll::Pending
    });
    woken.await;
    assert_eq!(calls, 3);
}

/// As if a request was woken, and ended before it noticed.
#[test]
async fn a_waker_for_others_that_was_called_and_dropped_leaves_nothing() {
    const CALLS: usize = 50_000;
    let host = Host::default();
    let call = |calls: usize| {
        let host = &host;
        poll_fn(move |cx| {
            // What waits for a promise goes on after this.
            for _ in 0..calls {
                host.shared_waker(cx.waker()).wake_by_ref();
            }
            Poll::Ready(memory_size::<0>())
        })
    };
    let warm = call(1_000).await;
    let pages = call(CALLS).await - warm;
    assert!(pages <= 1, "{pages} pages");
}

#[test]
async fn callers_of_one_isolate_share_turns() {
    struct Counter;
    impl Section for Counter {
        type Item = String;
        type Answer = i64;
        type State = Option<i64>;
        fn reads(&self, key: &String) -> Vec<Command> {
            vec![Command::new("GET").key(key)]
        }
        fn decide(
            &self,
            key: &String,
            replies: &[Reply],
            count: &mut Option<i64>,
            _: u64,
        ) -> Decision<i64> {
            let count = count.get_or_insert(replies[0].as_i64().unwrap_or(0));
            *count += 1;
            let write = Command::new("SET").key(key).arg(*count);
            Decision::Write(vec![write.arg("PX").arg(60_000)], *count)
        }
    }
    let (key, prefix) = (random_name(), format!("{}:", random_name()));
    let turns = Rc::new(RefCell::new(Vec::new()));
    let group = GroupCommit::new(Counter);
    let answers = Rc::new(RefCell::new(Vec::new()));
    // Each caller has a client of its own, as requests to a Worker do.
    let callers = (0..20).map(|_| {
        let told = turns.clone();
        let host = Host::default().on_event(move |event| {
            if let EventKind::Grouped { items, .. } = event.kind {
                told.borrow_mut().push(items);
            }
        });
        let client = Client::new(bridge(), Fetch::default(), host).prefix(&prefix);
        let (group, key, answers) = (&group, key.clone(), answers.clone());
        async move {
            let lock = client.lock("a");
            let answer = group.submit(&lock, key).await.unwrap();
            answers.borrow_mut().push(answer);
        }
    });
    all(callers.map(Box::pin).collect()).await;
    // All came before the first turn asked for the lock.
    assert_eq!(*turns.borrow(), [20]);
    assert_eq!(*answers.borrow(), (1..=20).collect::<Vec<i64>>());
}

#[test]
async fn a_task_begins_soon_and_not_under_its_caller() {
    let begun = Rc::new(Cell::new(false));
    web::spawn(tell(&begun));
    assert!(!begun.get());
    // Whatever is soon is before any timer.
    Host::default().sleep(ms(1)).await;
    assert!(begun.get());
}

#[test]
async fn a_task_that_wakes_itself_goes_on() {
    let polls = Rc::new(Cell::new(0));
    let counts = polls.clone();
    web::spawn(Box::pin(poll_fn(move |cx| {
        counts.set(counts.get() + 1);
        cx.waker().wake_by_ref();
        if counts.get() < 3 {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })));
    Host::default().sleep(ms(1)).await;
    assert_eq!(polls.get(), 3);
}

/// Another request's task may have the freed place, and must not be polled for this one.
#[test]
async fn a_task_that_is_over_has_nobody_woken_in_its_place() {
    let kept = Rc::new(RefCell::new(None));
    let keeps = kept.clone();
    web::spawn(Box::pin(poll_fn(move |cx| {
        *keeps.borrow_mut() = Some(cx.waker().clone());
        Poll::Ready(())
    })));
    Host::default().sleep(ms(1)).await;
    let (polls, own) = (Rc::new(Cell::new(0)), Rc::new(RefCell::new(None)));
    let (counts, keeps) = (polls.clone(), own.clone());
    web::spawn(Box::pin(poll_fn(move |cx| {
        counts.set(counts.get() + 1);
        *keeps.borrow_mut() = Some(cx.waker().clone());
        if counts.get() < 2 {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    })));
    Host::default().sleep(ms(1)).await;
    let wake = |waker: &RefCell<Option<Waker>>| waker.take().unwrap().wake();
    wake(&kept);
    assert_eq!(polls.get(), 1);
    wake(&own);
    assert_eq!(polls.get(), 2);
}

#[test]
async fn a_task_may_leave_another_behind() {
    struct Heir(Rc<Cell<bool>>);
    impl Drop for Heir {
        fn drop(&mut self) {
            web::spawn(tell(&self.0));
        }
    }
    let begun = Rc::new(Cell::new(false));
    let heir = Heir(begun.clone());
    // This is dropped with the task, after its last poll.
    web::spawn(Box::pin(poll_fn(move |_| {
        let _ = &heir;
        Poll::Ready(())
    })));
    Host::default().sleep(ms(1)).await;
    assert!(begun.get());
}

fn tell(cell: &Rc<Cell<bool>>) -> Task {
    let cell = cell.clone();
    Box::pin(async move { cell.set(true) })
}

async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let futures: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [Box::pin(first), Box::pin(second)];
    all(futures.into()).await;
}

async fn all<F: Future<Output = ()> + Unpin>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    poll_fn(|cx| {
        for slot in &mut futures {
            if slot
                .as_mut()
                .is_some_and(|future| Pin::new(future).poll(cx).is_ready())
            {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    })
    .await;
}

async fn is_ready_now(future: &mut Pin<Box<impl Future>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}
