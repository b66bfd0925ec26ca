//! Callers that hang up on a Worker in workerd: each call, at each of its moments, with the
//! request's signal and without. The ttl is 10 minutes, so what is free earlier was given back.

use std::cell::Cell;
use std::rc::Rc;

use testkit::stack::{Worker, WorkerConfig};
use testkit::worker_build::as_users_do;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::support::faulty::{Fault, Proxy, json, serve};
use crate::support::{Stack, TestLock, alone, client_of, eventually, ms};

alone! {
    a_lock_whose_caller_is_gone_is_free_soon,
    without_a_signal_the_work_goes_on_and_gives_its_lock_back,
    a_caller_that_is_gone_while_the_lock_is_granted_keeps_nothing,
    a_wait_ends_with_its_caller_or_comes_to_its_turn,
    a_write_whose_caller_is_gone_comes_through,
    commands_whose_caller_is_gone_are_executed_and_the_lock_is_given_back,
    a_debounced_call_may_have_overtaken_others_and_goes_through_though_its_caller_is_gone,
    a_lock_behind_several_bridges_whose_caller_is_gone_is_free_at_each,
    work_that_is_done_once_is_done_and_kept_though_its_caller_is_gone,
    a_lease_that_was_handed_over_outlives_its_caller,
    a_turn_is_finished_though_the_caller_that_drives_it_is_gone,
}

/// Whether the client knows that the caller is gone.
#[derive(Clone, Copy, PartialEq)]
enum Signal {
    Given,
    /// The client was not given it.
    Withheld,
    /// The host does not tell.
    Off,
}

const NONE_TOLD: [Signal; 2] = [Signal::Withheld, Signal::Off];
const EACH: [Signal; 3] = [Signal::Given, Signal::Withheld, Signal::Off];

/// A Worker before a bridge, and what its calls do for their work.
struct Place {
    stack: Stack,
    proxy: Proxy,
    worker: Worker,
    signal: Signal,
    work: Work,
}

/// An address that answers when it is told to.
struct Work {
    url: String,
    begun: Rc<Cell<usize>>,
    ends: Rc<Notify>,
}

impl Work {
    async fn listen() -> Self {
        let (begun, ends) = (Rc::new(Cell::new(0)), Rc::new(Notify::new()));
        let (counted, awaited) = (begun.clone(), ends.clone());
        let url = serve(move |_| {
            counted.set(counted.get() + 1);
            let awaited = awaited.clone();
            async move {
                awaited.notified().await;
                Some(json(200, "7"))
            }
        });
        let url = url.await;
        Self { url, begun, ends }
    }
}

impl Place {
    /// The faults are those of the requests to the bridge, in order.
    async fn with(signal: Signal, faults: impl IntoIterator<Item = Fault>) -> Self {
        let stack = Stack::spawn();
        let proxy = Proxy::before(&stack, faults).await;
        let build = as_users_do("tests/worker").expect("a Worker");
        let mut config = WorkerConfig::bare(build)
            .bind("EDGELOCK_BRIDGE_URL", &proxy.url)
            .bind("EDGELOCK_BRIDGE_CREDENTIAL", stack.bridge.token());
        if signal == Signal::Off {
            config = config.without_request_signal();
        }
        let worker = Worker::start(&config).expect("workerd");
        let work = Work::listen().await;
        Self { stack, proxy, worker, signal, work }
    }

    /// Sends a request that makes this call, and returns its connection.
    async fn call(&self, verb: &str) -> TcpStream {
        self.call_on(verb, "sku").await
    }

    async fn call_on(&self, verb: &str, name: &str) -> TcpStream {
        let address = ("127.0.0.1", self.worker.port());
        let mut stream = TcpStream::connect(address).await.expect("workerd");
        let signal = match self.signal {
            Signal::Withheld => "no",
            Signal::Given | Signal::Off => "yes",
        };
        let work = &self.work.url;
        let request = format!(
            "GET /{verb}?name={name}&signal={signal}&work={work} HTTP/1.1\r\nhost: a\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.expect("sent");
        stream
    }

    /// The same lock, from elsewhere.
    fn lock(&self) -> TestLock {
        client_of(self.stack.route_by(self.stack.bridge.url())).lock("sku")
    }

    /// Hangs up, and lets workerd notice it: where it tells its requests, the lock of a caller who
    /// hung up later is free.
    async fn hang_up(&mut self, caller: TcpStream) {
        hang_up(caller);
        if self.signal == Signal::Given {
            let begun = self.work.begun.get();
            let later = self.call_on("acquire", "other").await;
            let counted = self.work.begun.clone();
            eventually(|| counted.get() > begun).await;
            hang_up(later);
            eventually(|| self.stack.redis::<u64>("EXISTS other") == 0).await;
        }
    }

    async fn work_begins(&self) {
        let begun = self.work.begun.clone();
        eventually(|| begun.get() > 0).await;
    }

    async fn is_free(&mut self) {
        eventually(|| self.stack.redis::<u64>("EXISTS sku") == 0).await;
    }

    fn count(&mut self) -> Option<u64> {
        self.stack.redis("GET {sku}:count")
    }
}

/// Hangs up, as workerd notices it.
fn hang_up(stream: TcpStream) {
    stream.set_zero_linger().expect("an option of sockets");
    drop(stream);
}

/// The calls that hold a lock for their caller while something takes its time.
const HOLDERS: [&str; 3] = ["acquire", "read", "run"];

async fn a_lock_whose_caller_is_gone_is_free_soon() {
    for verb in HOLDERS {
        let mut place = Place::with(Signal::Given, []).await;
        let caller = place.call(verb).await;
        place.work_begins().await;
        assert_eq!(place.stack.redis::<u64>("EXISTS sku"), 1);
        hang_up(caller);
        place.is_free().await;
        assert_eq!(place.count(), None, "{verb}");
    }
}

async fn without_a_signal_the_work_goes_on_and_gives_its_lock_back() {
    for (verb, signal) in HOLDERS.into_iter().zip(NONE_TOLD.into_iter().cycle()) {
        let mut place = Place::with(signal, []).await;
        let caller = place.call(verb).await;
        place.work_begins().await;
        place.hang_up(caller).await;
        assert_eq!(place.stack.redis::<u64>("EXISTS sku"), 1);
        place.work.ends.notify_one();
        place.is_free().await;
        assert_eq!(place.count(), (verb == "read").then_some(1), "{verb}");
    }
}

async fn a_caller_that_is_gone_while_the_lock_is_granted_keeps_nothing() {
    for (verb, signal) in HOLDERS.into_iter().flat_map(|verb| EACH.map(|one| (verb, one))) {
        let mut place = Place::with(signal, [Fault::Withhold]).await;
        let caller = place.call(verb).await;
        eventually(|| place.stack.redis::<u64>("EXISTS sku") == 1).await;
        hang_up(caller);
        if signal != Signal::Given {
            place.proxy.deliver().await;
            place.work_begins().await;
            place.work.ends.notify_one();
        }
        place.is_free().await;
    }
}

async fn a_wait_ends_with_its_caller_or_comes_to_its_turn() {
    for signal in EACH {
        let mut place = Place::with(signal, []).await;
        let held = place.lock().ttl(ms(60_000)).acquire().await.expect("held");
        let caller = place.call("acquire").await;
        eventually(|| place.stack.waiters_for("sku") == 1).await;
        hang_up(caller);
        if signal == Signal::Given {
            eventually(|| place.stack.waiters_for("sku") == 0).await;
            assert_eq!(place.work.begun.get(), 0);
        } else {
            held.release().await.expect("released");
            place.work_begins().await;
            place.work.ends.notify_one();
            place.is_free().await;
        }
    }
}

async fn a_write_whose_caller_is_gone_comes_through() {
    for signal in EACH {
        let mut place = Place::with(signal, [Fault::Pass, Fault::Delay]).await;
        let caller = place.call("commit").await;
        let lock = place.lock();
        eventually(|| place.proxy.seen().len() == 2).await;
        place.hang_up(caller).await;
        place.proxy.deliver().await;
        eventually(|| place.count() == Some(1)).await;
        assert!(lock.inspect().await.expect("asked").holder.is_none());
    }
}

async fn commands_whose_caller_is_gone_are_executed_and_the_lock_is_given_back() {
    for signal in EACH {
        let mut place = Place::with(signal, [Fault::Pass, Fault::Delay]).await;
        let caller = place.call("exec").await;
        eventually(|| place.proxy.seen().len() == 2).await;
        place.hang_up(caller).await;
        place.proxy.deliver().await;
        eventually(|| place.count() == Some(1)).await;
        place.is_free().await;
    }
}

async fn a_debounced_call_may_have_overtaken_others_and_goes_through_though_its_caller_is_gone() {
    for signal in EACH {
        let mut place = Place::with(signal, []).await;
        let caller = place.call("debounce").await;
        eventually(|| place.stack.redis::<u64>("EXISTS {sku}:debounce") == 1).await;
        hang_up(caller);
        place.work_begins().await;
        place.work.ends.notify_one();
        eventually(|| place.count() == Some(1)).await;
    }
}

async fn a_lock_behind_several_bridges_whose_caller_is_gone_is_free_at_each() {
    let mut place = Place::with(Signal::Given, []).await;
    let mut others = [Stack::spawn(), Stack::spawn()];
    let named = others.each_ref().map(|other| {
        let bridge = &other.bridge;
        format!("{}|{}", bridge.url(), bridge.token())
    });
    let caller = place.call_on("run", &format!("sku&others={}", named.join(","))).await;
    // The work runs, and is renewed for as long as that takes.
    place.work_begins().await;
    hang_up(caller);
    place.is_free().await;
    for other in &mut others {
        eventually(|| other.redis::<u64>("EXISTS sku") == 0).await;
    }
}

async fn work_that_is_done_once_is_done_and_kept_though_its_caller_is_gone() {
    for signal in EACH {
        let mut place = Place::with(signal, []).await;
        let caller = place.call("once").await;
        place.work_begins().await;
        place.hang_up(caller).await;
        place.work.ends.notify_one();
        eventually(|| place.stack.redis::<u64>("EXISTS {sku}:result") == 1).await;
        let mut again = place.call("once").await;
        assert!(told(&mut again).await.ends_with("worked"));
        assert_eq!(place.count(), Some(1));
        let works = if signal == Signal::Given { 2 } else { 1 };
        assert_eq!(place.work.begun.get(), works);
    }
}

async fn a_lease_that_was_handed_over_outlives_its_caller() {
    let mut place = Place::with(Signal::Given, []).await;
    let caller = place.call("hand-over").await;
    place.work_begins().await;
    place.hang_up(caller).await;
    assert_eq!(place.stack.redis::<u64>("EXISTS sku"), 1);
}

async fn a_turn_is_finished_though_the_caller_that_drives_it_is_gone() {
    for signal in EACH {
        let mut place = Place::with(signal, [Fault::Pass, Fault::Delay]).await;
        let driver = place.call("turn").await;
        eventually(|| place.proxy.seen().len() == 2).await;
        let mut next = place.call("turn").await;
        place.hang_up(driver).await;
        // It goes on in a request of its own, whatever the driver's has left undone.
        let mut later = place.call("turn").await;
        place.proxy.deliver().await;
        assert!(told(&mut next).await.ends_with('2'));
        assert!(told(&mut later).await.ends_with('3'));
        assert_eq!(place.count(), Some(3));
        place.is_free().await;
    }
}

/// The answer's body.
async fn told(stream: &mut TcpStream) -> String {
    use tokio::io::AsyncReadExt;
    let mut answer = Vec::new();
    loop {
        let mut piece = [0; 1000];
        let read = stream.read(&mut piece).await.expect("an answer");
        answer.extend_from_slice(&piece[..read]);
        let text = String::from_utf8_lossy(&answer);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            assert!(read > 0, "{text}");
            continue;
        };
        let length = head.to_lowercase();
        let length = length.split_once("content-length: ").expect("a length").1;
        let length: usize = length.lines().next().expect("a line").parse().expect("a number");
        if body.len() >= length {
            return body.to_owned();
        }
    }
}
