//! Other libraries' locks over several servers, and ours over the same servers.

use edgelock::{Bridge, Client, Error};
use testkit::stack;

use super::{NAME, pottery, redis_semaphore, redlock_4, redlock_5, redlock_py, rslock};
use crate::support::{Http, Tokio, alone, ms};

alone! {
    each_excludes_the_other_over_the_same_servers,
}

async fn each_excludes_the_other_over_the_same_servers() {
    let bridges = [(); 3].map(|()| stack::Bridge::spawn());
    let bridges: Vec<_> = bridges.iter().collect();
    let ours = bridges.iter().map(|bridge| Bridge::upstash(bridge.url(), bridge.token()).unwrap());
    let ours = Client::quorum(ours, Http::default(), Tokio::default()).unwrap();
    for theirs in [
        redlock_py::CLIENT,
        pottery::CLIENT,
        redlock_4::CLIENT,
        redlock_5::CLIENT,
        redis_semaphore::CLIENT,
        rslock::CLIENT,
    ] {
        let lock = ours.clone().prefix(theirs.prefix).lock(NAME);
        // Our lock does not count servers that have been up for less than the ttl.
        let lock = lock.ttl(ms(1_000)).wait_timeout(ms(60_000));
        let mut theirs = (theirs.start)(&bridges);
        assert!(theirs.acquire(NAME, 20_000).await);
        assert_eq!(lock.try_acquire().await.unwrap_err().code(), "held");
        assert_ne!(theirs.release().await, Some(false));
        let kept = lock.run(async |_| {
            assert!(!theirs.acquire(NAME, 20_000).await);
            Ok::<_, Error>(())
        });
        kept.await.unwrap();
        assert!(theirs.acquire(NAME, 20_000).await);
        // The next library is to find it free.
        assert_ne!(theirs.release().await, Some(false));
    }
}
