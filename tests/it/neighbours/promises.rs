//! What holds between our lock and each of the others.

use edgelock::{Error, Token};

use super::{Client, NAME};
use crate::support::{Stack, code, eventually, ms};

pub(super) async fn each_excludes_the_other_until_it_releases(stack: Stack, client: Client) {
    let (mut theirs, ours, _) = client.beside(&stack);
    assert!(theirs.acquire(NAME, 20_000).await);
    let Err(Error::Held { remaining, .. }) = ours.try_acquire().await else {
        panic!("theirs does not exclude ours");
    };
    let remaining = remaining.expect("it ends");
    let ttl = ms(15_000)..=ms(20_000);
    assert!(ttl.contains(&remaining), "{remaining:?}");
    let seen = ours.inspect().await.unwrap().holder.expect("a holder");
    assert_eq!(seen.count, 1);
    assert_ne!(theirs.release().await, Some(false));

    let lease = ours.try_acquire().await.unwrap();
    assert!(!theirs.acquire(NAME, 20_000).await);
    lease.release().await.unwrap();
    assert!(theirs.acquire(NAME, 20_000).await);
}

pub(super) async fn neither_ends_nor_extends_what_has_become_the_others(
    mut stack: Stack,
    client: Client,
) {
    let (mut theirs, ours, key) = client.beside(&stack);
    let [del, get, pttl] = ["DEL", "GET", "PTTL"].map(|verb| format!("{verb} {key}"));

    assert!(theirs.acquire(NAME, 20_000).await);
    let _: () = stack.redis(&del);
    let lease = ours.try_acquire().await.unwrap();
    assert_ne!(theirs.extend(60_000).await, Some(true));
    assert_ne!(theirs.release().await, Some(true));
    assert_eq!(stack.redis::<String>(&get), lease.token().expose());
    assert!(stack.redis::<u64>(&pttl) <= 10_000);

    let _: () = stack.redis(&del);
    assert!(theirs.acquire(NAME, 20_000).await);
    let stored: Vec<u8> = stack.redis(&get);
    assert_eq!(code(lease.renew().await), "lost");
    // A resumed lease that does not know yet that it is lost.
    let token = Token::parse(lease.token().expose()).unwrap();
    let again = ours.resume(token).unwrap();
    assert_eq!(code(again.release().await), "lost");
    assert_eq!(stack.redis::<Vec<u8>>(&get), stored);
    assert!(stack.redis::<u64>(&pttl) > 15_000);
    assert_ne!(theirs.release().await, Some(false));
    assert!(!stack.redis::<bool>(&format!("EXISTS {key}")));
}

/// Nobody wakes our waiter: it asks every third of its liveness.
pub(super) async fn our_waiter_gets_the_lock_that_they_release(mut stack: Stack, client: Client) {
    let (mut theirs, ours, key) = client.beside(&stack);
    assert!(theirs.acquire(NAME, 60_000).await);
    let waiting = ours.ttl(ms(2_000)).wait_timeout(ms(20_000));
    let waiter = tokio::task::spawn_local(async move { waiting.acquire().await });
    eventually(|| stack.waiters_for(&key) == 1).await;
    assert_ne!(theirs.release().await, Some(false));
    waiter.await.unwrap().unwrap().release().await.unwrap();
}
