//! How long things take, to the millisecond, in worlds where only one thing goes wrong. Every way
//! between a client and Redis takes 10 ms.

mod again;
mod away;
mod behind;
mod deaf;
mod ends;
mod entries;
mod forgotten;
mod hold;
mod keeping;
mod lasting;
mod leaving;
mod overtaken;
mod paced;
mod patience;
mod permits;
mod readers;
mod receipts;
mod sets;
mod story;
mod taken;
mod told;
mod two_handlers;
mod waiting;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Command, Error};

use super::bridge;
use super::case::Case;
use super::check::{Check, log_of};
use super::fate::Fate;
use super::faults::Net;
use super::host::{self, Settings, SimClient, SimLease, SimLock};
use super::lua::Redis;
use super::sabotage::Bent;
use super::trace::Trace;
use super::world::{MS, Machine, Time};
use story::*;

stories! {
    // The time-out, a pause of up to 50 ms, and a request.
    a_lost_reply_costs_one_retry_and_not_a_ttl: play(|case| async move {
        case.network.lose_next_grant.set(true);
        drop(lock(&case).acquire().await.expect("a lease"));
        now(&case)
    }) => 520..=570,
}

#[test]
fn a_release_reaches_a_waiter_as_soon_as_its_own_answer_comes() {
    play(|case| async move {
        let lease = held(&case).await;
        let had = waits(&case);
        sleep(&case, 1_000).await;
        assert_eq!(had.at(), None);
        assert_eq!(follows(&case, lease, &had, 100).await, Some(20));
    });
}

#[test]
fn a_hand_over_whose_message_is_lost_is_found_by_the_next_ask() {
    play(|case| async move {
        let lease = held(&case).await;
        let had = waits(&case);
        sleep(&case, 100).await;
        case.net.set(DEAF);
        lease.release().await.expect("held");
        sleep(&case, 10_000).await;
        // It asked last at 60 ms, when its subscription was confirmed. It asks three times within
        // its liveness of 10 s.
        let next_ask = 80 + 10_000 / 3 + 20;
        assert!(had.at().expect("a lease").abs_diff(next_ask) <= 1);
    });
}

#[test]
fn a_waiter_without_its_subscription_polls_after_a_second() {
    play(|case| async move {
        let lease = held(&case).await;
        let asked = now(&case);
        let had = waits(&case);
        // The answer to its first request arrives, and its next request does not.
        sleep(&case, 15).await;
        case.net.set(CUT);
        sleep(&case, 10).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 2_000).await;
        // A request, the time until the next one is due, and that request.
        let at = had.at().expect("a lease");
        assert!(at.abs_diff(asked + 20 + 1_000 + 20) <= 1, "{at}");
    });
}

#[test]
fn a_dead_holder_is_succeeded_when_its_time_is_up() {
    play(|case| async move {
        let lease = lock(&case).ttl(s(2)).acquire().await;
        lease.expect("a lease").into_token();
        sleep(&case, 10).await;
        let had = waits(&case);
        sleep(&case, 5_000).await;
        // The lock was taken at 10 ms for 2 s. The waiter learned that after one way, and asks
        // again on two more.
        assert!(had.at().expect("a lease").abs_diff(2_010 + 30) <= 2);
    });
}

#[test]
fn a_wait_ends_in_time_when_nobody_answers() {
    play(|case| async move {
        case.net.set(CUT);
        // Without a wait, three attempts; with one, the wait and one request.
        for (wait, least, most) in [(1, 1_500, 1_650), (4, 4_000, 4_500)] {
            let begun = now(&case);
            is_outcome_unknown(lock(&case).wait_timeout(s(wait)).acquire().await);
            let took = now(&case) - begun;
            assert!((least..=most).contains(&took), "{took}");
        }
    });
}

#[test]
fn a_repeated_write_moves_the_deadline_no_further_than_its_key() {
    play(|case| async move {
        let lease = lock(&case).acquire().await.expect("a lease");
        let begun = now(&case);
        case.network.lose_next_grant.set(true);
        lease.exec(&append()).await.expect("held");
        assert!(now(&case) > begun + 500);
        // The deadline that the first request gave, less the drift.
        let until = begun + 10_000 - 102;
        let left = lease.remaining().as_millis() as u64;
        assert!(left.abs_diff(until - now(&case)) <= 1, "{left}");
    });
}
