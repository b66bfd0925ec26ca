//! Units that are sold in two steps: reserved for a while, and confirmed by a commit.

use std::time::Duration;

use edgelock::{Command, Error, Reply};

use crate::support::{Stack, TestClient, TestLock, alone, code, eventually, ms, over};
use crate::waiting::{LONG, meanwhile};

alone! {
    an_owner_is_not_refused_for_one_that_ended_with_a_thousand_others,
}

over! {
    [upstash, webdis, humanwhocodes, on_redis_6_2, on_redis_8, on_valkey_9] {
        a_unit_is_reserved_and_then_confirmed_or_given_back,
        while_all_is_reserved_it_is_held_and_then_it_is_sold_out,
        an_unconfirmed_reservation_falls_back_and_is_confirmed_too_late,
        a_second_confirmation_is_told_apart_from_one_that_is_too_late,
        several_units_are_reserved_and_confirmed_together_or_not_at_all,
        an_owner_has_no_more_than_its_bound_at_once,
        what_is_known_of_many_reservations_lasts_as_long_as_they_do,
        a_reservation_whose_units_redis_forgot_is_lost_and_not_confirmed_as_one,
        a_forced_release_gives_back_what_is_reserved_and_leaves_what_is_confirmed,
        every_key_expires_but_the_number_of_confirmed_units,
        a_number_of_confirmed_units_that_is_none_is_told_and_stays,
        what_stands_where_owners_are_counted_keeps_no_reservation_from_its_end,
        named_seats_are_confirmed_together_by_the_token_of_several_names,
    }
}

impl Stack {
    fn units(&self, units: u32) -> TestLock {
        of(&self.client(), units)
    }

    fn confirmed(&mut self) -> u64 {
        self.redis::<Option<u64>>("GET {a}:confirmed").unwrap_or(0)
    }

    async fn sale(&self, units: u32) -> (u64, u64, u64) {
        let found = self.units(units).inspect().await.unwrap();
        let held = found.holders.iter().map(|holder| holder.count).sum();
        (found.free.unwrap(), held, found.confirmed.unwrap())
    }
}

fn of(client: &TestClient, units: u32) -> TestLock {
    client.reservations("a", units)
}

fn sell() -> [Command; 1] {
    [Command::new("INCR").key("n")]
}

async fn a_unit_is_reserved_and_then_confirmed_or_given_back(stack: Stack) {
    let one = stack.units(2).try_acquire().await.unwrap();
    assert!(one.remaining() > Duration::from_secs(500));
    let other = stack.units(2).try_acquire().await.unwrap();
    assert!(other.fence() > one.fence());
    assert_eq!(stack.sale(2).await, (0, 2, 0));
    assert_eq!(one.commit(&sell()).await.unwrap(), [Reply::Int(1)]);
    assert_eq!(stack.sale(2).await, (0, 1, 1));
    other.release().await.unwrap();
    assert_eq!(stack.sale(2).await, (1, 0, 1));
    // A commit without commands confirms too.
    let last = stack.units(2).try_acquire().await.unwrap();
    last.commit(&[]).await.unwrap();
    assert_eq!(stack.sale(2).await, (0, 0, 2));
    // There may be more to sell later.
    let more = stack.units(3).try_acquire().await.unwrap();
    more.release().await.unwrap();
}

async fn while_all_is_reserved_it_is_held_and_then_it_is_sold_out(mut stack: Stack) {
    let _: () = stack.redis("SET stock 7");
    let read = [Command::new("GET").key("stock")];
    let brief = stack.units(2).ttl(Duration::from_secs(60));
    let one = brief.label("ann").try_acquire().await.unwrap();
    let other = stack.units(2).try_acquire().await.unwrap();
    // At once, by default.
    let held = stack.units(2).acquire().await.unwrap_err();
    let Error::Held { remaining: Some(remaining), label: None, requests: 1, .. } = held else {
        panic!("{held:?}")
    };
    assert!(remaining <= Duration::from_secs(60), "{remaining:?}");
    let (refused, replies) = stack.units(2).try_acquire_and_read(&read).await.unwrap();
    assert!(refused.is_none());
    assert_eq!(replies, [Reply::Bytes(b"7".to_vec())]);
    one.commit(&sell()).await.unwrap();
    assert_eq!(code(stack.units(2).try_acquire().await), "held");
    let both = stack.units(2).weight(2).try_acquire().await;
    assert_eq!(code(both), "sold_out");
    other.commit(&sell()).await.unwrap();
    let sold_out = stack.units(2).try_acquire().await.unwrap_err();
    assert_eq!(sold_out.code(), "sold_out");
    assert!(!sold_out.is_retryable() && !sold_out.is_outcome_unknown());
    assert_eq!(sold_out.lock(), Some("a"));
}

async fn an_unconfirmed_reservation_falls_back_and_is_confirmed_too_late(mut stack: Stack) {
    let brief = stack.units(1).ttl(ms(1_000));
    let token = brief.try_acquire().await.unwrap().into_token();
    // Polls, as nobody queues.
    let next = stack.units(1).wait_timeout(LONG).acquire().await.unwrap();
    let late = stack.units(1).resume(token.clone()).unwrap();
    assert_eq!(code(late.commit(&sell()).await), "lost");
    assert_eq!(stack.redis::<Option<u32>>("GET n"), None);
    assert_eq!(stack.sale(1).await, (0, 1, 0));
    next.commit(&sell()).await.unwrap();
    let late = stack.units(1).resume(token).unwrap();
    assert_eq!(code(late.commit(&sell()).await), "lost");
    assert_eq!(stack.confirmed(), 1);
}

async fn a_second_confirmation_is_told_apart_from_one_that_is_too_late(mut stack: Stack) {
    let lease = stack.units(2).try_acquire().await.unwrap();
    let token = lease.token().clone();
    lease.commit(&sell()).await.unwrap();
    assert_eq!(code(lease.commit(&sell()).await), "released");
    // Another handler, to which the buyer sent the same order once more.
    for call in 0..4 {
        let again = stack.units(2).resume(token.clone()).unwrap();
        let told = match call {
            0 => again.commit(&sell()).await.map(drop),
            1 => again.exec(&sell()).await.map(drop),
            2 => again.renew().await,
            _ => again.release().await,
        };
        assert_eq!(code(told), "confirmed");
    }
    assert_eq!(stack.confirmed(), 1);
    assert_eq!(stack.redis::<u32>("GET n"), 1);
    let days: u64 = stack.redis(&format!("PTTL {{a}}:gone:{}", token.expose()));
    assert!(days > 86_000_000, "{days}");
    // One that was given back was not.
    let lease = stack.units(2).try_acquire().await.unwrap();
    let token = lease.token().clone();
    lease.release().await.unwrap();
    let late = stack.units(2).resume(token).unwrap();
    assert_eq!(code(late.commit(&sell()).await), "lost");
}

async fn several_units_are_reserved_and_confirmed_together_or_not_at_all(stack: Stack) {
    let three = stack.units(5).weight(3).try_acquire().await.unwrap();
    assert_eq!(code(stack.units(5).weight(3).try_acquire().await), "held");
    assert_eq!(stack.sale(5).await, (2, 3, 0));
    three.commit(&sell()).await.unwrap();
    assert_eq!(stack.sale(5).await, (2, 0, 3));
    let two = stack.units(5).weight(2).try_acquire().await.unwrap();
    assert_eq!(stack.sale(5).await, (0, 2, 3));
    two.release().await.unwrap();
    assert_eq!(stack.sale(5).await, (2, 0, 3));
}

async fn an_owner_has_no_more_than_its_bound_at_once(mut stack: Stack) {
    let client = stack.client();
    let bounded = |owner: &str| of(&client, 100).owner(owner, 3);
    let reserve = async |units| bounded("ann").weight(units).try_acquire().await.unwrap();
    let is_refused = async || {
        let refused = bounded("ann").try_acquire().await.unwrap_err();
        assert_eq!(refused.code(), "owner_limit");
        assert!(!refused.is_outcome_unknown());
    };
    let two = reserve(2).await;
    let one = bounded("ann").ttl(ms(1_000)).try_acquire().await.unwrap();
    is_refused().await;
    let other = bounded("bob").try_acquire().await.unwrap();
    // It falls back by itself, is given back, or is confirmed.
    let _ = one.into_token();
    let mut again = None;
    while again.is_none() {
        again = bounded("ann").try_acquire().await.ok();
    }
    two.release().await.unwrap();
    reserve(2).await.commit(&sell()).await.unwrap();
    let two = reserve(2).await;
    is_refused().await;
    // A handler that knows nothing of owners renews it, and it still counts.
    let renewed = stack.units(100).resume(two.into_token()).unwrap();
    renewed.renew_for(Duration::from_secs(3_000)).await.unwrap();
    let lasts: u64 = stack.redis("PTTL {a}:holds");
    assert!(lasts > 2_000_000, "{lasts}");
    // So it does beside many others.
    let mut others = Vec::new();
    for owner in 0..20 {
        let lock = bounded(&owner.to_string());
        others.push(lock.try_acquire().await.unwrap());
    }
    is_refused().await;
    renewed.release().await.unwrap();
    others.extend([reserve(2).await, other, again.unwrap()]);
    for lease in others {
        lease.release().await.unwrap();
    }
    assert!(!stack.redis::<bool>("EXISTS a {a}:holds"));
}

async fn what_is_known_of_many_reservations_lasts_as_long_as_they_do(mut stack: Stack) {
    let reserve = async |owner: &str| {
        let lock = stack.units(100).ttl(ms(400)).owner(owner, 1);
        lock.try_acquire().await.map(edgelock::Lease::into_token)
    };
    // More than the record has room for. The last of them goes on for long, and is paid for.
    for owner in 0..17 {
        reserve(&owner.to_string()).await.unwrap();
    }
    let last = reserve("last").await.unwrap();
    let last = stack.units(100).resume(last).unwrap();
    last.renew_for(LONG).await.unwrap();
    last.commit(&sell()).await.unwrap();
    tokio::time::sleep(ms(450)).await;
    assert_eq!(stack.sale(100).await, (99, 0, 1));
    reserve("0").await.unwrap();
    assert_eq!(code(reserve("0").await), "owner_limit");
    assert_eq!(stack.confirmed(), 1);
}

/// A Redis that evicts keys may evict one of them alone.
async fn a_reservation_whose_units_redis_forgot_is_lost_and_not_confirmed_as_one(mut stack: Stack) {
    // Of more than the record has room for, both keys know some.
    for (count, forgotten) in [(1, "{a}:fence"), (17, "{a}:fence"), (17, "{a}:holds")] {
        let _: () = stack.redis("FLUSHALL");
        let mut reserved = Vec::new();
        for _ in 0..count {
            reserved.push(stack.units(3 * count).weight(3).try_acquire().await.unwrap());
        }
        let _: () = stack.redis(&format!("DEL {forgotten}"));
        let more = stack.units(3 * count).try_acquire().await;
        assert!(more.is_err(), "{forgotten}: all is reserved");
        let mut paid = 0;
        for lease in reserved {
            match lease.commit(&sell()).await {
                Ok(_) => paid += 3,
                Err(error) => assert_eq!(error.code(), "lost"),
            }
        }
        assert_eq!(stack.confirmed(), paid, "{forgotten} of {count}");
    }
}

async fn a_forced_release_gives_back_what_is_reserved_and_leaves_what_is_confirmed(stack: Stack) {
    let sold = stack.units(3).try_acquire().await.unwrap();
    sold.commit(&[]).await.unwrap();
    let lock = stack.units(3).owner("ann", 2).weight(2);
    let lease = lock.try_acquire().await.unwrap();
    assert!(lock.force_release().await.unwrap());
    assert_eq!(code(lease.commit(&sell()).await), "lost");
    assert_eq!(stack.sale(3).await, (2, 0, 1));
    let again = lock.try_acquire().await.unwrap();
    again.release().await.unwrap();
}

async fn every_key_expires_but_the_number_of_confirmed_units(mut stack: Stack) {
    let sold = stack.units(5).owner("ann", 5).try_acquire().await.unwrap();
    sold.exec(&[]).await.unwrap();
    sold.commit(&[]).await.unwrap();
    let held = stack.units(5).owner("ann", 5).try_acquire().await.unwrap();
    assert_eq!(stack.redis::<i64>("PTTL {a}:confirmed"), -1);
    let _: () = stack.redis("DEL {a}:confirmed");
    let keys = stack.keys_that_all_expire();
    assert!(keys.len() >= 5, "{keys:?}");
    held.release().await.unwrap();
}

async fn a_number_of_confirmed_units_that_is_none_is_told_and_stays(mut stack: Stack) {
    let lease = stack.units(2).try_acquire().await.unwrap();
    let _: () = stack.redis("SET {a}:confirmed many");
    assert_eq!(code(stack.units(2).try_acquire().await), "wrong_type");
    assert_eq!(code(lease.commit(&sell()).await), "wrong_type");
    for odd in ["1.5", "1e3", "-1", "007", "0x10", "nan", "9999999999999999"] {
        let _: () = stack.redis(&format!("SET {{a}}:confirmed {odd}"));
        assert_eq!(code(lease.commit(&sell()).await), "wrong_type", "{odd}");
    }
    assert_eq!(stack.redis::<Option<u32>>("GET n"), None);
    let _: () = stack.redis("DEL {a}:confirmed");
    assert_eq!(stack.sale(2).await, (1, 1, 0));
}

/// A script removes a thousand that have ended. The others count for their owners until the next.
async fn an_owner_is_not_refused_for_one_that_ended_with_a_thousand_others() {
    let mut stack = Stack::spawn();
    for _ in 0..20 {
        let calls = (0..50).map(|_| {
            let lock = stack.units(1_100);
            meanwhile(async move { lock.try_acquire().await.unwrap().into_token() })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap();
        }
    }
    let owned = stack.units(1_100).owner("bob", 1);
    owned.try_acquire().await.unwrap().into_token();
    assert_eq!(code(owned.try_acquire().await), "owner_limit");
    // All of them ended long ago.
    let _: u64 = stack.redis("ZUNIONSTORE a 1 a WEIGHTS 0.5");
    assert_eq!(stack.sale(1_100).await, (1_100, 0, 0));
    assert_eq!(code(owned.try_acquire().await), "held");
    owned.try_acquire().await.unwrap().into_token();
}

/// Else the lease would say that it goes on, and others would have the unit.
async fn what_stands_where_owners_are_counted_keeps_no_reservation_from_its_end(mut stack: Stack) {
    let owned = |stack: &Stack| stack.units(1).owner("bob", 1);
    let lease = owned(&stack).try_acquire().await.unwrap();
    let _: () = stack.redis("SET {a}:holds theirs");
    lease.release().await.unwrap();
    assert_eq!(stack.sale(1).await, (1, 0, 0));
    let _: () = stack.redis("DEL {a}:holds");
    let lease = owned(&stack).try_acquire().await.unwrap();
    let _: () = stack.redis("SET {a}:holds theirs");
    lease.commit(&sell()).await.unwrap();
    assert_eq!(stack.sale(1).await, (0, 0, 1));
    assert_eq!(stack.redis::<u64>("GET n"), 1);
}

async fn named_seats_are_confirmed_together_by_the_token_of_several_names(mut stack: Stack) {
    let seats = |stack: &Stack| stack.client().lock_all(["{hall}:4", "{hall}:5"]);
    let lock = seats(&stack).ttl(Duration::from_secs(600));
    let token = lock.try_acquire().await.unwrap().into_token();
    let taken = stack.client().lock("{hall}:5").try_acquire().await;
    assert_eq!(code(taken), "held");
    let book = |seat: u32| Command::new("SET").key(format!("{{hall}}:{seat}:of")).arg("ann");
    let resumed = seats(&stack).resume(token.clone()).unwrap();
    resumed.commit(&[book(4), book(5)]).await.unwrap();
    let of: Vec<String> = stack.redis("MGET {hall}:4:of {hall}:5:of");
    assert_eq!(of, ["ann", "ann"]);
    let late = seats(&stack).resume(token).unwrap();
    assert_eq!(code(late.commit(&[book(4)]).await), "lost");
    // Of seats of which one was lost, none is booked.
    let token = lock.try_acquire().await.unwrap().into_token();
    let _: () = stack.redis("DEL {hall}:5 {hall}:4:of {hall}:5:of");
    let late = seats(&stack).resume(token).unwrap();
    assert_eq!(code(late.commit(&[book(4), book(5)]).await), "lost");
    assert!(!stack.redis::<bool>("EXISTS {hall}:4:of {hall}:5:of"));
    eventually(|| !stack.redis::<bool>("EXISTS {hall}:4")).await;
}
