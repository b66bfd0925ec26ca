//! The hosts of `edgelock::web`, and what only they have.

use std::arch::wasm32::memory_size;
use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::State;
use axum::routing::get;
use edgelock::web::{self, Fetch};
use edgelock::{Command, Runtime};
use js_sys::Reflect;
use tower_service::Service as _;
use wasm_bindgen::JsValue;

pub(crate) use edgelock::web::{Client, Host, client};
pub(crate) use wasm_bindgen_test::wasm_bindgen_test as test;

use crate::{bridge, is_ready_now, ms, random_name};

/// Whether a waiter listens.
pub(crate) fn listens() -> bool {
    true
}

pub(crate) fn variable(name: &str) -> String {
    let get = |object: &JsValue, name: &str| {
        Reflect::get(object, &name.into()).unwrap_or(JsValue::UNDEFINED)
    };
    let environment = get(&get(&js_sys::global(), "process"), "env");
    get(&environment, name)
        .as_string()
        .unwrap_or_else(|| panic!("{name} is not set: run `cargo xtask test`"))
}

#[test]
async fn a_dropped_acquisition_is_abandoned_by_the_host() {
    let spawned = Rc::new(Cell::new(0));
    let count = spawned.clone();
    let host = Host::default().wait_until(move |task| {
        count.set(count.get() + 1);
        Host::default().spawn(task);
    });
    let client = edgelock::Client::new(bridge(), Fetch::default(), host);
    let lock = client.lock(&random_name());
    // Polled once, so that its request is on its way, and then dropped.
    let mut acquisition = Box::pin(lock.try_acquire());
    assert!(!is_ready_now(&mut acquisition).await);
    // The call under way is one of them already.
    let before = spawned.get();
    drop(acquisition);
    assert_eq!(spawned.get(), before + 1);
    // Whichever of the two requests arrives first, nobody holds the lock in the end.
    while lock.inspect().await.unwrap().holder.is_some() {
        Host::default().sleep(ms(5)).await;
    }
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

/// axum wants both of a state and of a handler's future.
#[test]
async fn a_client_is_the_state_of_an_axum_router() {
    async fn stock(State(client): State<web::Client>) -> Result<String, String> {
        let key = random_name();
        let set = Command::new("SET").key(&key).arg(7).arg("PX").arg(60_000);
        let commands = [set, Command::new("GET").key(&key)];
        let lock = client.lock("a");
        let ran = lock.run(async |lease| lease.exec(&commands).await);
        let replies = ran.await.map_err(|error| error.to_string())?;
        Ok(format!("{} left", replies[1].as_i64().unwrap_or(0)))
    }
    let mut router = Router::new().route("/stock", get(stock)).with_state(crate::client());
    let request = axum::http::Request::get("/stock").body(Body::empty()).unwrap();
    let response = router.call(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let body = to_bytes(response.into_body(), 100).await.unwrap();
    assert_eq!(body, "7 left");
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
        if counts.get() < 3 { Poll::Pending } else { Poll::Ready(()) }
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
        if counts.get() < 2 { Poll::Pending } else { Poll::Ready(()) }
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

fn tell(cell: &Rc<Cell<bool>>) -> Pin<Box<dyn Future<Output = ()>>> {
    let cell = cell.clone();
    Box::pin(async move { cell.set(true) })
}
