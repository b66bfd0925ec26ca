//! Drivers that disappear in the middle of a turn.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use edgelock::{Bridge, Client, GroupCommit, Lock, Runtime, Task};
use tokio::task::AbortHandle;

use super::sale::{Answer, Sale, order};
use crate::support::faulty::Fault::{Delay, Pass, Withhold};
use crate::support::faulty::Proxy;
use crate::support::turns::placed;
use crate::support::{Http, Stack, Tokio, alone, as_tokio, eventually, ms};

alone! {
    a_driver_that_is_gone_before_its_commit_leaves_its_items_to_the_next,
    a_driver_that_is_gone_while_it_acquires_leaves_the_lock_to_the_next,
    a_driver_that_is_gone_behind_its_commit_leaves_its_items_unknown_and_those_alone,
    a_driver_is_not_gone_because_its_host_stood_still,
    a_host_that_runs_nothing_in_the_background_is_told_so,
}

/// A host that runs background work in its own way.
#[derive(Clone)]
struct Host(Tokio, Arc<dyn Fn(Task) + Send + Sync>);

impl Host {
    fn new(spawn: impl Fn(Task) + Send + Sync + 'static) -> Self {
        Self(Tokio::default(), Arc::new(spawn))
    }

    fn lock(&self, bridge: Bridge) -> Lock<Http, Self> {
        let client = Client::new(bridge, Http::default(), self.clone());
        client.request_timeout(ms(800)).lock("a")
    }
}

impl Runtime for Host {
    as_tokio! { now sleep random }

    fn spawn(&self, task: Task) {
        (self.1)(task);
    }
}

/// A host that can stop in the middle: its work is dropped, or merely stands still.
#[derive(Clone, Default)]
struct Mortal(Arc<Fate>);

#[derive(Default)]
struct Fate {
    is_frozen: AtomicBool,
    is_dead: AtomicBool,
    background: Mutex<Vec<AbortHandle>>,
}

impl Mortal {
    fn host(&self) -> Host {
        let mortal = self.clone();
        Host::new(move |task| mortal.spawn(task))
    }

    fn spawn(&self, mut task: Task) {
        if self.0.is_dead.load(Relaxed) {
            return;
        }
        let fate = self.0.clone();
        let task = tokio::task::spawn_local(poll_fn(move |cx| {
            if fate.is_frozen.load(Relaxed) {
                return Poll::Pending;
            }
            Pin::new(&mut task).poll(cx)
        }));
        self.0.background.lock().expect("tasks").push(task.abort_handle());
    }

    /// Stops all background work of this host. `is_dropped` says whether it is dropped, or stands
    /// still.
    fn end(&self, is_dropped: bool) {
        self.0.is_frozen.store(true, Relaxed);
        if is_dropped {
            self.0.is_dead.store(true, Relaxed);
            for task in std::mem::take(&mut *self.0.background.lock().expect("tasks")) {
                task.abort();
            }
        }
    }
}

type Placed = tokio::task::JoinHandle<Result<Answer, edgelock::Error>>;

fn submit(sale: &GroupCommit<Sale>, host: &Host, bridge: Bridge, number: u64) -> Placed {
    placed(sale, &host.lock(bridge), order(number))
}

async fn a_driver_that_is_gone_before_its_commit_leaves_its_items_to_the_next() {
    for is_dropped in [true, false] {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 100");
        let sale = GroupCommit::new(Sale);
        let (mortal, sound) = (Mortal::default(), Mortal::default());
        let proxy = Proxy::before(&stack, [Pass, Delay]).await;
        let first = submit(&sale, &sound.host(), stack.route_by(&proxy.url), 0);
        eventually(|| proxy.seen().len() == 2).await;
        let driver = submit(&sale, &mortal.host(), stack.route(), 1);
        let third = submit(&sale, &sound.host(), stack.route(), 2);
        tokio::task::yield_now().await;
        // The first has a turn. The second drives the next one, and the third is in that too.
        mortal.end(is_dropped);
        proxy.deliver().await;
        assert_eq!(first.await.unwrap().unwrap().left(), Some(99));
        assert_eq!(third.await.unwrap().unwrap().left(), Some(98));
        let error = driver.await.unwrap().unwrap_err();
        assert_eq!((error.code(), error.is_outcome_unknown()), ("unavailable", false));
        assert_eq!(stack.redis::<Vec<u64>>("HKEYS orders"), [0, 2]);
    }
}

/// The next driver does not wait for the ttl, which is longer than the others wait.
async fn a_driver_that_is_gone_while_it_acquires_leaves_the_lock_to_the_next() {
    for is_dropped in [true, false] {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 100");
        let sale = GroupCommit::new(Sale);
        let (mortal, sound) = (Mortal::default(), Mortal::default());
        let proxy = Proxy::before(&stack, [Withhold]).await;
        let driver = submit(&sale, &mortal.host(), stack.route_by(&proxy.url), 0);
        eventually(|| stack.redis::<bool>("EXISTS a")).await;
        let next = submit(&sale, &sound.host(), stack.route(), 1);
        tokio::task::yield_now().await;
        mortal.end(is_dropped);
        assert_eq!(next.await.unwrap().unwrap().left(), Some(99));
        let error = driver.await.unwrap().unwrap_err();
        assert_eq!((error.code(), error.is_outcome_unknown()), ("unavailable", false));
        assert_eq!(stack.redis::<Vec<u64>>("HKEYS orders"), [1]);
        assert_eq!(proxy.seen().len(), 1);
    }
}

async fn a_driver_that_is_gone_behind_its_commit_leaves_its_items_unknown_and_those_alone() {
    for is_dropped in [true, false] {
        let mut stack = Stack::spawn();
        let _: () = stack.redis("SET stock 100");
        let sale = GroupCommit::new(Sale);
        let (mortal, sound) = (Mortal::default(), Mortal::default());
        // The first turn has a single item.
        let proxy = Proxy::before(&stack, [Pass, Delay]).await;
        let driver = submit(&sale, &mortal.host(), stack.route_by(&proxy.url), 0);
        eventually(|| proxy.seen().len() == 2).await;
        let next = submit(&sale, &sound.host(), stack.route(), 1);
        tokio::task::yield_now().await;
        mortal.end(is_dropped);
        assert!(driver.await.unwrap().unwrap_err().is_outcome_unknown());
        // The next driver does not wait for the ttl of 10 s.
        let began = std::time::Instant::now();
        let answer = next.await.unwrap().unwrap();
        assert!(began.elapsed() < ms(9_000));
        assert_eq!(answer.left(), Some(99));
        // The late commit changes nothing.
        proxy.deliver().await;
        assert_eq!(stack.redis::<Vec<u64>>("HKEYS orders"), [1]);
        assert_eq!(stack.redis::<u64>("GET stock"), 99);
    }
}

/// All timers of such a host end at once, and it may come to the driver last.
async fn a_driver_is_not_gone_because_its_host_stood_still() {
    let host = Host::new(|mut task| {
        let mut others = 0;
        tokio::task::spawn_local(poll_fn(move |cx| {
            others = (others + 1) % 8;
            if others != 0 {
                cx.waker().wake_by_ref();
                return Poll::Pending;
            }
            Pin::new(&mut task).poll(cx)
        }));
    });
    let mut stack = Stack::spawn();
    let _: () = stack.redis("SET stock 100");
    let sale = GroupCommit::new(Sale);
    let proxy = Proxy::before(&stack, [Pass, Delay]).await;
    let driver = submit(&sale, &host, stack.route_by(&proxy.url), 0);
    eventually(|| proxy.seen().len() == 2).await;
    let next = submit(&sale, &host, stack.route_by(&proxy.url), 1);
    tokio::task::yield_now().await;
    std::thread::sleep(ms(700));
    tokio::time::sleep(ms(1)).await;
    proxy.deliver().await;
    assert_eq!(driver.await.unwrap().unwrap().left(), Some(99));
    assert_eq!(next.await.unwrap().unwrap().left(), Some(98));
}

async fn a_host_that_runs_nothing_in_the_background_is_told_so() {
    let stack = Stack::spawn();
    let lock = Host::new(drop).lock(stack.route());
    let sale = GroupCommit::new(Sale);
    let error = sale.submit(&lock, order(0)).await.unwrap_err();
    assert_eq!((error.code(), error.is_outcome_unknown()), ("unavailable", false));
}
