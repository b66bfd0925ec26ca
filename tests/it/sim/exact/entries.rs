//! An entry of a reentrant lock whose handler died, while other handlers of its owner come and go.

use super::*;

fn reentrant(case: &Rc<Case>, owner: &str) -> SimLock {
    let lock = client(case, &machine()).reentrant("a", owner);
    lock.ttl(s(2)).wait_timeout(s(60))
}

/// One handler of an owner dies at once. For 20 s other handlers of that owner come, each second
/// for half a second. Returns when another owner has the lock.
fn another_has_it_at(redis: Redis) -> Option<u64> {
    play_on(redis, move |case| async move {
        let dead = reentrant(&case, "1").try_acquire().await;
        drop(dead.expect("a free lock").into_token());
        let other = reentrant(&case, "2");
        let had = meanwhile(&case, &machine(), async move {
            drop(other.acquire().await.expect("its turn").into_token());
        });
        for _ in 0..20 {
            if let Ok(lease) = reentrant(&case, "1").try_acquire().await {
                sleep(&case, 500).await;
                lease.release().await.expect("held");
            }
            sleep(&case, 500).await;
        }
        sleep(&case, 10_000).await;
        had.at()
    })
}

/// The release of an entry that no longer counts comes late, and then another owner. Returns
/// whether that one gets in, beside an entry that counts.
async fn lets_another_in(case: &Rc<Case>, over: SimLease, held: SimLease) -> bool {
    let late = over.release().await;
    let other = reentrant(case, "2").try_acquire().await;
    if other.is_err() {
        assert!(matches!(late, Err(Error::Lost { .. })), "{late:?}");
        held.release().await.expect("held");
    }
    other.is_ok()
}

/// Another program ends a hold, and its owner enters again. Returns whether the release of an entry
/// of the hold before lets another owner in.
fn an_entry_ends_a_later_hold(redis: Redis) -> bool {
    play_on(redis, move |case| async move {
        let before = reentrant(&case, "1").try_acquire().await;
        case.redis.execute(&[b"DEL", b"a"]);
        let held = reentrant(&case, "1").try_acquire().await.expect("entered");
        lets_another_in(&case, before.expect("a free lock"), held).await
    })
}

stories! {
    an_entry_whose_handler_died_keeps_others_out_for_its_ttl_and_not_for_as_long_as_its_owner_comes:
        another_has_it_at(Redis::default()) => Some(2_000..4_000),
    /// A sabotage: the dead entry counts as long as others of its owner come.
    an_entry_that_counts_for_as_long_as_its_owner_comes_is_noticed:
        another_has_it_at(Redis::with(
            "if has_mine(owners[1]) then leave(token) else drop(token) end",
            "",
        )) => Some(20_001..),
    an_entry_of_a_hold_that_another_program_ended_does_not_end_the_next:
        an_entry_ends_a_later_hold(Redis::default()) => false,
    /// A sabotage: what is known of a hold that is over stays in the record.
    an_entry_that_counts_in_a_later_hold_is_noticed:
        an_entry_ends_a_later_hold(Redis::with("LAST, HOLDS, till = fence, '', {}", "LAST = fence"))
        => true,
}
