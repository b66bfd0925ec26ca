//! A list that a release pushes to, for waiters of another program that block on it.

use edgelock::Command;
use tokio::task::JoinHandle;

use super::NAME;
use super::program::Program;
use crate::support::faulty::Fault::LoseReply;
use crate::support::faulty::Proxy;
use crate::support::{Stack, TestClient, TestLock, alone, code, eventually, ms, over};

alone! {
    a_waiter_that_blocks_on_it_gets_the_lock_however_ours_ends_it,
}

over! {
    [spawn] {
        it_is_fed_by_an_acquisition_that_was_given_up,
        it_has_one_element_once_the_lock_is_free_and_none_when_it_is_handed_over,
        it_replaces_what_was_there_and_ends_by_itself,
        it_is_a_key_of_its_own_of_a_lock_that_one_holder_has_once,
    }
}

const LIST: &str = "lock-signal:sku:42";

fn signalling(client: TestClient) -> TestLock {
    let lock = client.prefix("lock:").lock(NAME);
    lock.signal_list(LIST)
}

async fn a_waiter_that_blocks_on_it_gets_the_lock_however_ours_ends_it() {
    for mut stack in [Stack::spawn(), Stack::on_redis_6_2()] {
        let ours = signalling(stack.client());
        let mut theirs = Program::start("python_redis_lock.py", &[&stack.bridge]);
        for end in ["release", "commit", "drop", "force"] {
            let lease = ours.try_acquire().await.unwrap();
            // Their waiter blocks without an end, since their lock never expires by itself.
            let waiter = tokio::task::spawn_local(async move {
                let acquired = theirs.ask(&format!("wait {NAME}")).await;
                (theirs, acquired)
            });
            is_blocked(&mut stack).await;
            match end {
                "release" => lease.release().await.unwrap(),
                "commit" => drop(lease.commit(&[Command::new("PING")]).await.unwrap()),
                "drop" => drop(lease),
                _ => assert!(ours.force_release().await.unwrap()),
            }
            let (back, acquired) = waiter.await.unwrap();
            theirs = back;
            assert_eq!(acquired, Some(true), "{end}");
            assert_eq!(theirs.ask("release").await, Some(true));
            // Their release pushes to the list, too.
            let _: () = stack.redis(&format!("DEL {LIST}"));
        }
    }
}

/// Blocks on the list; what it is given.
async fn blocked(stack: &mut Stack) -> JoinHandle<(String, String)> {
    let mut connection = stack.bridge.redis().get_connection().unwrap();
    let blocked = tokio::task::spawn_blocking(move || {
        let blpop = redis::cmd("BLPOP").arg(LIST).arg(60).take();
        blpop.query(&mut connection).unwrap()
    });
    is_blocked(stack).await;
    blocked
}

async fn is_blocked(stack: &mut Stack) {
    eventually(|| {
        let clients: String = stack.redis("INFO clients");
        clients.contains("blocked_clients:1\r")
    })
    .await;
}

async fn it_is_fed_by_an_acquisition_that_was_given_up(mut stack: Stack) {
    let blocked = blocked(&mut stack).await;
    let proxy = Proxy::before(&stack, [LoseReply]).await;
    let client = proxy.client.clone().max_attempts(1);
    let given_up = signalling(client).try_acquire().await;
    assert!(given_up.unwrap_err().is_outcome_unknown());
    assert_eq!(blocked.await.unwrap().1, "1");
}

async fn it_has_one_element_once_the_lock_is_free_and_none_when_it_is_handed_over(
    mut stack: Stack,
) {
    let ours = signalling(stack.client());
    let lease = ours.try_acquire().await.unwrap();
    let (client, seen) = stack.watched();
    let lock = client.prefix("lock:").lock(NAME).wait_timeout(ms(60_000));
    let waiting = lock.signal_list(LIST);
    let waiter = tokio::task::spawn_local(async move { waiting.acquire().await });
    eventually(|| seen.waits_quietly(3)).await;
    lease.release().await.unwrap();
    let next = waiter.await.unwrap().unwrap();
    assert!(!stack.redis::<bool>(&format!("EXISTS {LIST}")));

    let blocked = blocked(&mut stack).await;
    next.release().await.unwrap();
    assert_eq!(blocked.await.unwrap().1, "1");
    assert!(!stack.redis::<bool>(&format!("EXISTS {LIST}")));
}

async fn it_replaces_what_was_there_and_ends_by_itself(mut stack: Stack) {
    let _: () = stack.redis(&format!("SET {LIST} x"));
    let ours = signalling(stack.client());
    ours.try_acquire().await.unwrap().release().await.unwrap();
    eventually(|| !stack.redis::<bool>(&format!("EXISTS {LIST}"))).await;
}

async fn it_is_a_key_of_its_own_of_a_lock_that_one_holder_has_once(stack: Stack) {
    let reentrant = stack.client().reentrant("a", "owner");
    for refused in [
        stack.lock("a").signal_list(""),
        stack.lock("a").signal_list("a"),
        stack.lock("a").signal_list("{b}:queue"),
        reentrant.signal_list("b"),
    ] {
        assert_eq!(code(refused.try_acquire().await), "invalid_argument");
    }
}
