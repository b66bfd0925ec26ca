//! The client on the real hosts of the edge, against a real bridge and a server that misbehaves.
//! The same tests run in Node and in workerd, and as a component of WASI. The environment has the
//! addresses.
#![cfg(target_family = "wasm")]
// The tests that the macro of wstd makes are public.
#![cfg_attr(target_os = "wasi", allow(missing_docs))]

#[path = "wasm/dropped.rs"]
mod dropped;
#[cfg(target_os = "wasi")]
#[path = "wasm/wasi.rs"]
mod host;
#[cfg(target_os = "unknown")]
#[path = "wasm/web.rs"]
mod host;
#[path = "wasm/listening.rs"]
mod listening;
#[path = "wasm/table.rs"]
mod table;

use std::cell::{Cell, RefCell};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::Poll;
use std::time::Duration;

use edgelock::{Bridge, Command, Decision, Error, GroupCommit, Reply, Runtime, Section};

use host::{Host, test, variable};

/// A ttl that a test waits for. A host that stands still for a second or two does not miss it.
const SHORT: Duration = Duration::from_secs(3);

fn bridge() -> Bridge {
    Bridge::upstash(&variable("EDGELOCK_BRIDGE_URL"), &variable("EDGELOCK_BRIDGE_CREDENTIAL"))
        .unwrap()
}

fn client() -> host::Client {
    host::client(bridge()).prefix(&format!("{}:", random_name()))
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
    let (lease, replies) = lock.acquire_and_read(&[Command::new("GET").key(&key)]).await.unwrap();
    assert_eq!(replies, [Reply::Nil]);
    assert!(lease.fence() > 1 << 50 && lease.fence() < 1 << 53);
    assert!(lease.remaining() > ms(9_000) && lease.remaining() < ms(10_000));
    assert_eq!(lock.try_acquire().await.unwrap_err().code(), "held");
    let replies = lease
        .commit(&[Command::new("SET").key(&key).arg("naïve ☃").arg("PX").arg(1000)])
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
        let lease = client.lock("a").wait_timeout(ms(20_000)).acquire().await.unwrap();
        inside.set(inside.get() + 1);
        assert_eq!(inside.get(), 1);
        Host::default().sleep(ms(2)).await;
        inside.set(inside.get() - 1);
        lease.release().await.unwrap();
    };
    all([turn(), turn(), turn(), turn()].map(Box::pin).into()).await;
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
async fn an_address_where_nothing_listens_is_unavailable() {
    let nowhere =
        host::client(Bridge::upstash("http://127.0.0.1:1", "credential").unwrap()).max_attempts(1);
    assert_eq!(nowhere.lock("a").try_acquire().await.unwrap_err().code(), "unavailable");
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
        ("mute", "timed_out", true),
    ] {
        let url = format!("{}/{path}", variable("EDGELOCK_FAULTY_URL"));
        let bridge = Bridge::upstash(&url, "credential").unwrap();
        let mut client = host::client(bridge).max_attempts(1);
        if path == "mute" {
            client = client.request_timeout(ms(300));
        }
        let error = client.lock("a").try_acquire().await.unwrap_err();
        assert_eq!((error.code(), error.is_outcome_unknown()), (code, unknown), "{path}: {error}");
        if let Error::Unavailable { retry_after, .. } = error {
            assert_eq!(retry_after.is_some(), path == "shed");
        }
    }
}

#[test]
async fn a_wrong_credential_is_unauthorized() {
    let bridge = Bridge::upstash(&variable("EDGELOCK_BRIDGE_URL"), "wrong-credential").unwrap();
    let error = host::client(bridge).lock("a").try_acquire().await.unwrap_err();
    assert_eq!(error.code(), "unauthorized");
    assert!(!format!("{error} {error:?}").contains("wrong-credential"));
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
async fn callers_of_one_isolate_share_turns() {
    struct Counter(Arc<AtomicUsize>);
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
        fn end(&self, _: Option<i64>) -> Vec<Command> {
            self.0.fetch_add(1, Relaxed);
            Vec::new()
        }
    }
    let (key, prefix) = (random_name(), format!("{}:", random_name()));
    let turns = Arc::new(AtomicUsize::new(0));
    let group = GroupCommit::new(Counter(turns.clone()));
    let answers = Rc::new(RefCell::new(Vec::new()));
    // Each caller has a client of its own, as requests to a Worker do.
    let callers = (0..200).map(|_| {
        let client = host::client(bridge()).prefix(&prefix);
        let (group, key, answers) = (&group, key.clone(), answers.clone());
        async move {
            let lock = client.lock("a");
            let answer = group.submit(&lock, key).await.unwrap();
            answers.borrow_mut().push(answer);
        }
    });
    all(callers.map(Box::pin).collect()).await;
    // All came before the first turn asked for the lock.
    assert_eq!(turns.load(Relaxed), 1);
    assert_eq!(*answers.borrow(), (1..=200).collect::<Vec<i64>>());
}

async fn all<F: Future<Output = ()> + Unpin>(futures: Vec<F>) {
    let mut futures: Vec<_> = futures.into_iter().map(Some).collect();
    poll_fn(|cx| {
        for slot in &mut futures {
            if slot.as_mut().is_some_and(|future| Pin::new(future).poll(cx).is_ready()) {
                *slot = None;
            }
        }
        if futures.iter().all(Option::is_none) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
}

async fn is_ready_now(future: &mut Pin<Box<impl Future>>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}
