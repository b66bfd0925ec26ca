//! A native server with several threads, as most servers have. Handlers that end early give back
//! what they had.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::routing::get;
use edgelock::native::{self, Client};
use edgelock::{Bridge, Error, Event, EventKind, Runtime, Token};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpListener;
use tokio::runtime::Builder;
use tokio::sync::Notify;

use crate::support::{Stack, as_tokio, eventually, ms};

/// Nobody waits that long for a lock to become free.
const LONG: Duration = Duration::from_secs(600);

/// A shop whose handlers say when they have got somewhere.
#[derive(Clone)]
struct Shop {
    client: Client,
    has_lease: Arc<Notify>,
}

/// Holds the lock for as long as its customer waits.
async fn hold(State(shop): State<Shop>) -> String {
    let held = async {
        let _lease = shop.client.lock("a").acquire().await?;
        shop.has_lease.notify_one();
        std::future::pending::<Result<(), Error>>().await
    };
    format!("{:?}", held.await)
}

async fn open(stack: &Stack) -> (SocketAddr, Shop) {
    let shop = Shop { client: native::client(stack.route()), has_lease: Arc::default() };
    let routes = Router::new().route("/hold", get(hold)).with_state(shop.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move { axum::serve(listener, routes).await });
    (address, shop)
}

fn customer(address: SocketAddr) -> tokio::task::JoinHandle<()> {
    tokio::spawn(async move {
        let _ = reqwest::get(format!("http://{address}/hold")).await;
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_customer_that_hangs_up_costs_no_ttl() {
    let mut stack = Stack::spawn();
    let (address, shop) = open(&stack).await;
    let first = customer(address);
    shop.has_lease.notified().await;
    // The second customer hangs up while its handler waits for the lock. Then the first hangs up,
    // whose handler has the lock.
    let second = customer(address);
    eventually(|| stack.waiters_for("a") == 1).await;
    second.abort();
    eventually(|| stack.waiters_for("a") == 0).await;
    first.abort();
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_holder_at_a_time_on_several_threads() {
    let mut stack = Stack::spawn();
    let client = native::client(stack.route());
    let handlers: Vec<_> = (0..8)
        .map(|_| {
            let lock = client.lock("a").wait_timeout(Duration::from_secs(60));
            tokio::spawn(async move {
                lock.run(async |lease| {
                    let read = edgelock::Command::new("GET").key("{a}:n");
                    let found = lease.exec(&[read]).await?;
                    let next = found[0].as_i64().unwrap_or(0) + 1;
                    tokio::task::yield_now().await;
                    let write = edgelock::Command::new("SET").key("{a}:n").arg(next);
                    lease.exec(&[write]).await.map(drop)
                })
                .await
            })
        })
        .collect();
    for handler in handlers {
        handler.await.expect("no panic").expect("the lock");
    }
    assert_eq!(stack.redis::<u64>("GET {a}:n"), 8);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_may_be_dropped_on_a_thread_that_is_not_of_the_runtime() {
    let mut stack = Stack::spawn();
    let lock = native::client(stack.route()).lock("a");
    let lease = lock.acquire().await.expect("a lease");
    std::thread::spawn(|| drop(lease)).join().expect("no panic");
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

/// As by a thread that blocks on a small runtime of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_may_be_dropped_in_another_runtime_that_ends_at_once() {
    let mut stack = Stack::spawn();
    let lock = native::client(stack.route()).lock("a").ttl(LONG);
    for run in [Builder::new_current_thread, Builder::new_multi_thread] {
        let lease = lock.acquire().await.expect("a lease");
        let elsewhere = std::thread::spawn(move || {
            let runtime = run().enable_all().build().expect("a runtime");
            runtime.block_on(async { drop(lease) });
            runtime.shutdown_background();
        });
        elsewhere.join().expect("no panic");
        eventually(|| !stack.redis::<bool>("EXISTS a")).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_is_released_though_the_first_runtime_of_its_client_is_over() {
    let mut stack = Stack::spawn();
    let bridge: Bridge = stack.route();
    let first = std::thread::spawn(|| {
        let runtime = tokio::runtime::Runtime::new().expect("a runtime");
        runtime.block_on(async {
            let lock = native::client(bridge).lock("a").ttl(LONG);
            lock.acquire().await?.release().await.map(|()| lock)
        })
    });
    let lock = first.join().expect("no panic").expect("a lock");
    let lease = lock.acquire().await.expect("a lease");
    std::thread::spawn(|| drop(lease)).join().expect("no panic");
    eventually(|| !stack.redis::<bool>("EXISTS a")).await;
}

#[test]
fn a_lease_that_is_dropped_when_its_runtime_is_gone_is_left_to_its_ttl() {
    let mut stack = Stack::spawn();
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let bridge: Bridge = stack.route();
    let lease = runtime.block_on(async {
        let lock = native::client(bridge).lock("a").ttl(ms(60_000));
        lock.acquire().await
    });
    drop(runtime);
    drop(lease.expect("a lease"));
    assert!(stack.redis::<bool>("EXISTS a"));
}

/// A runtime whose observer panics when it is told of the first renewal.
struct Startled(native::Tokio, AtomicBool);

impl Runtime for Startled {
    as_tokio! { now sleep random spawn }

    fn observe(&self, event: &Event<'_>) {
        if let EventKind::Renewed { .. } = event.kind {
            assert!(self.1.swap(true, Relaxed), "what an observer should not do");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_observer_that_panics_leaves_no_write_under_way() {
    let stack = Stack::spawn();
    let runtime = Startled(native::Tokio::default(), AtomicBool::new(false));
    let client = edgelock::Client::new(stack.route(), native::Http::default(), runtime);
    let lease = Arc::new(client.lock("a").acquire().await.unwrap());
    let writes = lease.clone();
    let exec = tokio::spawn(async move { writes.exec(&[]).await.map(drop) });
    assert!(exec.await.unwrap_err().is_panic());
    lease.exec(&[]).await.unwrap();
    lease.release().await.unwrap();
}

/// A bridge has fewer connections than a process may have waiters.
#[tokio::test]
async fn waiters_share_connections_and_a_release_does_not_stand_behind_them() {
    const WAITERS: usize = 400;
    let bridge = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}", bridge.local_addr().expect("an address"));
    let route = Bridge::upstash(&url, "credential").expect("an address");
    // Nobody gives up what is never answered.
    let client = native::client(route).request_timeout(LONG);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..WAITERS {
        let lock = client.lock("crowded").ttl(LONG).wait_timeout(LONG);
        callers.spawn(async move { lock.acquire().await.map(drop) });
    }
    let token = Token::parse(&"A".repeat(22)).expect("a token");
    let lease = client.lock("given-back").resume(token).expect("a lease");
    callers.spawn(async move { lease.release().await });
    let mut connections = 0;
    let (came, mut comes) = tokio::sync::mpsc::unbounded_channel();
    loop {
        tokio::select! {
            accepted = bridge.accept() => {
                connections += 1;
                let (mut stream, _) = accepted.expect("a connection");
                let came = came.clone();
                tokio::spawn(async move {
                    let mut request = Vec::new();
                    while stream.read_buf(&mut request).await.is_ok_and(|read| read > 0) {
                        if String::from_utf8_lossy(&request).contains("given-back") {
                            let _ = came.send(());
                        }
                    }
                });
            }
            _ = comes.recv() => break,
        }
    }
    assert!(connections < WAITERS, "{connections}");
}
