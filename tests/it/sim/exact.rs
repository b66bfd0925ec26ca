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
mod taken;
mod told;
mod two_handlers;
mod waiting;

use std::cell::Cell;
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use edgelock::Command;

use super::case::Case;
use super::check::Check;
use super::faults::Net;
use super::host::{self, Settings, SimClient, SimLease};
use super::lua::Redis;
use super::sabotage::Bent;
use super::trace::Trace;
use super::world::{MS, Machine, Time};

const STEADY: Net = Net {
    least: 10 * MS,
    latency: 10 * MS,
    ..Net::QUIET
};

/// Lets `story` happen, to its end. Returns what it comes to.
fn play<O: 'static, F: Future<Output = O> + 'static>(story: impl FnOnce(Rc<Case>) -> F) -> O {
    play_bent(Bent::Straight, story)
}

fn play_bent<O: 'static, F: Future<Output = O> + 'static>(
    bent: Bent,
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    play_with(&Rc::default(), bent, story)
}

fn play_on<O: 'static, F: Future<Output = O> + 'static>(
    redis: &Rc<Redis>,
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    play_with(redis, Bent::Straight, story)
}

fn play_with<O: 'static, F: Future<Output = O> + 'static>(
    redis: &Rc<Redis>,
    bent: Bent,
    story: impl FnOnce(Rc<Case>) -> F,
) -> O {
    let case = Case::new(0, redis, Check::default(), bent, Trace::OFF);
    case.net.set(STEADY);
    let (story, outcome) = (story(case.clone()), Rc::new(Cell::new(None)));
    let told = outcome.clone();
    let is_over = meanwhile(&case, &machine(), async move {
        told.set(Some(story.await));
    });
    assert!(case.pass(1_000_000 * MS, || is_over.get().is_some()));
    let violation = case.check.violation();
    assert!(violation.is_none(), "{violation:?}");
    case.world.end();
    outcome.take().expect("the end of the story")
}

/// From now on no request arrives.
fn cut(case: &Case) {
    case.net.set(Net {
        lose_request: 1_000,
        ..STEADY
    });
}

/// From now on every way takes so long.
fn slow_down(case: &Case, way: Time) {
    case.net.set(Net {
        least: way,
        latency: way,
        ..STEADY
    });
}

/// Runs `work` beside the story, and notes when it was done.
fn meanwhile(
    case: &Rc<Case>,
    machine: &Rc<Machine>,
    work: impl Future<Output = ()> + 'static,
) -> Rc<Cell<Option<Time>>> {
    let done: Rc<Cell<Option<Time>>> = Rc::default();
    let (noted, world) = (done.clone(), case.world.clone());
    let task = async move {
        work.await;
        noted.set(Some(world.now()));
    };
    case.world.spawn(machine, Box::pin(task));
    done
}

fn machine() -> Rc<Machine> {
    Rc::new(Machine::new(0))
}

const SETTINGS: Settings = Settings {
    script_cache: false,
    push: true,
    attempts: 3,
    timeout: Duration::from_millis(500),
};

fn client(case: &Rc<Case>, machine: &Rc<Machine>) -> SimClient {
    host::client(case, machine, SETTINGS)
}

/// Starts a waiter for the lock `a`, and notes when it has it.
fn waits(case: &Rc<Case>) -> Rc<Cell<Option<Time>>> {
    let machine = machine();
    let lock = client(case, &machine).lock("a");
    meanwhile(case, &machine, async move {
        let wait = Duration::from_secs(60);
        drop(
            lock.wait_timeout(wait)
                .max_requests(100)
                .acquire()
                .await
                .expect("a lease"),
        );
    })
}

async fn sleep(case: &Case, ms: u64) {
    let machine = Machine::new(0);
    case.world.sleep(&machine, Duration::from_millis(ms)).await;
}

/// The present time, in milliseconds.
fn now(case: &Case) -> u64 {
    case.world.now() / MS
}

fn in_ms(done: &Cell<Option<Time>>) -> Option<u64> {
    done.get().map(|at| at / MS)
}

#[test]
fn a_lost_reply_costs_one_retry_and_not_a_ttl() {
    play(|case| async move {
        case.network.lose_next_grant.set(true);
        let lock = client(&case, &machine()).lock("a");
        drop(lock.acquire().await.expect("a lease"));
        // The time-out, a pause of up to 50 ms, and a request.
        assert!((520..=570).contains(&now(&case)), "{}", now(&case));
    });
}

#[test]
fn a_release_reaches_a_waiter_as_soon_as_its_own_answer_comes() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let held = waits(&case);
        sleep(&case, 1_000).await;
        assert_eq!(in_ms(&held), None);
        let released = now(&case);
        lease.release().await.expect("held");
        sleep(&case, 100).await;
        assert_eq!(in_ms(&held), Some(released + 20));
    });
}

#[test]
fn a_hand_over_whose_message_is_lost_is_found_by_the_next_ask() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let held = waits(&case);
        sleep(&case, 100).await;
        let deaf = Net {
            lose_push: 1_000,
            ..STEADY
        };
        case.net.set(deaf);
        lease.release().await.expect("held");
        sleep(&case, 10_000).await;
        // It asked last at 60 ms, when its subscription was confirmed. It asks three times within
        // its liveness of 10 s.
        let next_ask = 80 + 10_000 / 3 + 20;
        assert!(
            in_ms(&held).is_some_and(|at| at.abs_diff(next_ask) <= 1),
            "{held:?}"
        );
    });
}

#[test]
fn a_waiter_without_its_subscription_polls_after_a_second() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let asked = now(&case);
        let held = waits(&case);
        // The answer to its first request arrives, and its next request does not.
        sleep(&case, 15).await;
        cut(&case);
        sleep(&case, 10).await;
        case.net.set(STEADY);
        lease.release().await.expect("held");
        sleep(&case, 2_000).await;
        // A request, the time until the next one is due, and that request.
        assert!(
            in_ms(&held).is_some_and(|at| at.abs_diff(asked + 20 + 1_000 + 20) <= 1),
            "{held:?}"
        );
    });
}

#[test]
fn a_dead_holder_is_succeeded_when_its_time_is_up() {
    play(|case| async move {
        let dying = machine();
        let lock = client(&case, &dying).lock("a");
        let lock = lock.ttl(Duration::from_secs(2));
        let dies = meanwhile(&case, &dying, async move {
            lock.acquire().await.expect("a lease").into_token();
        });
        sleep(&case, 30).await;
        assert_eq!(in_ms(&dies), Some(20));
        let held = waits(&case);
        sleep(&case, 5_000).await;
        // The lock was taken at 10 ms for 2 s. The waiter learned that after one way, and asks
        // again on two more.
        assert!(
            in_ms(&held).is_some_and(|at| at.abs_diff(2_010 + 30) <= 2),
            "{held:?}"
        );
    });
}

#[test]
fn a_wait_ends_in_time_when_nobody_answers() {
    play(|case| async move {
        cut(&case);
        let lock = client(&case, &machine()).lock("a");
        // Without a wait, three attempts; with one, the wait and one request.
        for (wait, least, most) in [(1, 1_500, 1_650), (4, 4_000, 4_500)] {
            let begun = now(&case);
            let lock = lock.clone().wait_timeout(Duration::from_secs(wait));
            let error = lock.acquire().await.expect_err("nobody answers");
            assert!(error.is_outcome_unknown());
            let took = now(&case) - begun;
            assert!((least..=most).contains(&took), "{took}");
        }
    });
}

#[test]
fn a_repeated_write_moves_the_deadline_no_further_than_its_key() {
    play(|case| async move {
        let lock = client(&case, &machine()).lock("a");
        let lease = lock.acquire().await.expect("a lease");
        let begun = now(&case);
        case.network.lose_next_grant.set(true);
        let write = [Command::new("APPEND").key("log:a").arg(";")];
        lease.exec(&write).await.expect("held");
        assert!(now(&case) > begun + 500);
        // The deadline that the first request gave, less the drift.
        let until = begun + 10_000 - 102;
        let left = lease.remaining().as_millis() as u64;
        assert!(left.abs_diff(until - now(&case)) <= 1, "{left}");
    });
}
