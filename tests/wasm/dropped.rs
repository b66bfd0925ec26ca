//! What is dropped is given back by the host.

use edgelock::{Command, Runtime as _};

use crate::host::{self, Host, test};
use crate::{client, is_ready_now, ms, random_name};

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
    let listeners = usize::from(host::listens());
    while listeners_and_waiters().await != (listeners, 1) {
        assert!(!is_ready_now(&mut waiting).await);
    }
    drop(waiting);
    while listeners_and_waiters().await != (0, 0) {}
    lease.release().await.unwrap();
}
