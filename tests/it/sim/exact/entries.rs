//! An entry of a reentrant lock whose handler died, while other handlers of its owner come and go.

use edgelock::Error;

use super::*;
use crate::host::SimLock;

fn reentrant(case: &Rc<Case>, owner: &str) -> SimLock {
    let lock = client(case, &machine()).reentrant("a", owner);
    lock.ttl(Duration::from_secs(2))
        .wait_timeout(Duration::from_secs(60))
}

/// One handler of an owner dies at once. For 20 s other handlers of that owner come, each second
/// for half a second. Returns when another owner has the lock.
fn another_has_it_at(redis: &Rc<Redis>) -> u64 {
    play_on(redis, move |case| async move {
        let dead = reentrant(&case, "1").try_acquire().await;
        drop(dead.expect("a free lock").into_token());
        let other = reentrant(&case, "2");
        let had = meanwhile(&case, &machine(), async move {
            let lease = other.acquire().await.expect("its turn");
            drop(lease.into_token());
        });
        for _ in 0..20 {
            if let Ok(lease) = reentrant(&case, "1").try_acquire().await {
                sleep(&case, 500).await;
                lease.release().await.expect("held");
            }
            sleep(&case, 500).await;
        }
        sleep(&case, 10_000).await;
        in_ms(&had).expect("it had it")
    })
}

#[test]
fn an_entry_whose_handler_died_keeps_others_out_for_its_ttl_and_not_for_as_long_as_its_owner_comes()
{
    let at = another_has_it_at(&Rc::default());
    assert!((2_000..4_000).contains(&at), "{at}");
}

/// A sabotage: the dead entry counts as long as others of its owner come.
#[test]
fn an_entry_that_counts_for_as_long_as_its_owner_comes_is_noticed() {
    let uncounted = "if has_mine(owners[1]) then leave(token) else drop(token) end";
    let at = another_has_it_at(&Rc::new(Redis::with(uncounted, "")));
    assert!(at > 20_000, "{at}");
}

/// An entry runs out, and another entry of its owner notes that. Then the clock is set back, so
/// that Redis has the first entry's key again. Returns whether the release of the first entry lets
/// another owner in.
fn an_entry_leaves_twice(redis: &Rc<Redis>) -> bool {
    play_on(redis, move |case| async move {
        let short = reentrant(&case, "1").ttl(Duration::from_secs(1));
        let over = short.try_acquire().await.expect("a free lock");
        let held = reentrant(&case, "1").try_acquire().await.expect("entered");
        sleep(&case, 1_500).await;
        held.renew().await.expect("held");
        case.set_back(1_000_000);
        let late = over.release().await;
        let other = reentrant(&case, "2").try_acquire().await;
        if other.is_err() {
            assert!(matches!(late, Err(Error::Lost { .. })), "{late:?}");
            held.release().await.expect("held");
        }
        other.is_ok()
    })
}

#[test]
fn an_entry_that_comes_back_with_the_clock_is_not_left_twice() {
    assert!(!an_entry_leaves_twice(&Rc::default()));
}

/// A sabotage: an entry counts although it was left.
#[test]
fn an_entry_that_counts_though_it_was_left_is_noticed() {
    let listed = "local function drop(token) till[token] = nil";
    assert!(an_entry_leaves_twice(&Rc::new(Redis::with(
        listed,
        "local function drop(token) if token == '-' then till[token] = nil else return end"
    ))));
}

/// Another program ends a hold, and its owner enters again. Returns whether the release of an entry
/// of the hold before lets another owner in.
fn an_entry_ends_a_later_hold(redis: &Rc<Redis>) -> bool {
    let server = redis.clone();
    play_on(redis, move |case| async move {
        let before = reentrant(&case, "1").try_acquire().await;
        let before = before.expect("a free lock");
        server.execute(&[b"DEL", b"a"]);
        let held = reentrant(&case, "1").try_acquire().await.expect("entered");
        let late = before.release().await;
        let other = reentrant(&case, "2").try_acquire().await;
        if other.is_err() {
            assert!(matches!(late, Err(Error::Lost { .. })), "{late:?}");
            held.release().await.expect("held");
        }
        other.is_ok()
    })
}

#[test]
fn an_entry_of_a_hold_that_another_program_ended_does_not_end_the_next() {
    assert!(!an_entry_ends_a_later_hold(&Rc::default()));
}

/// A sabotage: what is known of a hold that is over stays in the record.
#[test]
fn an_entry_that_counts_in_a_later_hold_is_noticed() {
    let begun = "LAST, HOLDS, till = fence, '', {}";
    let redis = Redis::with(begun, "LAST = fence");
    assert!(an_entry_ends_a_later_hold(&Rc::new(redis)));
}
