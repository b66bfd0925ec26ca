//! Answers that do not end. Not under jco: it calls the stream of such an answer ready for ever
//! once it was read, and wstd then asks it again without a pause.

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;

use edgelock::{Bridge, Command, Runtime};

use crate::host::{self, Host, test, variable};
use crate::{all, client, ms, random_name};

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
async fn a_request_without_an_answer_is_aborted_at_its_time_out() {
    // A subscription is an answer that never ends. If the bridge drops it, the fetch was aborted.
    let channel = random_name();
    let url = format!("{}/subscribe/{channel}", variable("EDGELOCK_BRIDGE_URL"));
    let bridge = Bridge::upstash(&url, &variable("EDGELOCK_BRIDGE_CREDENTIAL")).unwrap();
    let mute = host::client(bridge).max_attempts(1).request_timeout(ms(500)).lock("a");
    let lease = client().lock("a").try_acquire().await.unwrap();
    let subscribers = || async {
        let replies =
            lease.exec(&[Command::new("PUBSUB").arg("NUMSUB").arg(&channel)]).await.unwrap();
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
            assert!(most.get() > 0 || !ended, "the request ended before it was seen");
            if now == 0 && most.get() > 0 {
                return;
            }
        }
    };
    both(asked, watched).await;
    assert_eq!(most.get(), 1);
    lease.release().await.unwrap();
}

async fn both(first: impl Future<Output = ()>, second: impl Future<Output = ()>) {
    let futures: [Pin<Box<dyn Future<Output = ()> + '_>>; 2] = [Box::pin(first), Box::pin(second)];
    all(futures.into()).await;
}
