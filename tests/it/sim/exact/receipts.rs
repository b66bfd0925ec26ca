//! What repeats of a write do and tell when the receipt may be gone. A receipt lives for 30 s, or
//! as long as the lock.

use edgelock::Error;

use super::*;
use crate::bridge;
use crate::check::log_of;
use crate::fate::Fate;
use crate::host::{SimLease, SimLock};

/// The only time-out here that is longer than a receipt lives.
const PATIENT: Settings = Settings {
    timeout: Duration::from_secs(31),
    ..SETTINGS
};

fn lock(case: &Rc<Case>, settings: Settings, ttl_s: u64) -> SimLock {
    let lock = host::client(case, &machine(), settings).lock("a");
    lock.ttl(Duration::from_secs(ttl_s))
}

/// A lease of two minutes.
async fn held(case: &Rc<Case>, settings: Settings) -> SimLease {
    let lock = lock(case, settings, 120);
    lock.try_acquire().await.expect("a lease")
}

fn append() -> [Command; 1] {
    [Command::new("APPEND").key("log:a").arg(";")]
}

/// How often the command was executed, as seen a minute and a half from now.
async fn appended(case: &Case) -> usize {
    sleep(case, 90_000).await;
    log_of("a", &case.redis.db()).len()
}

/// The next request is executed, but the bridge answers that it wants to be asked again in 31 s.
fn spoil(case: &Case) {
    let late = bridge::overloaded(503, "31");
    case.network.fates.next(Fate::Executed(late));
}

#[track_caller]
fn is_outcome_unknown<O: std::fmt::Debug>(outcome: Result<O, Error>) {
    let error = outcome.expect_err("nobody can know");
    assert!(error.is_outcome_unknown(), "{error}");
}

#[test]
fn exec_does_not_run_twice_when_the_bridge_asks_to_come_back_in_31_s() {
    play(|case| async move {
        let lease = held(&case, SETTINGS).await;
        spoil(&case);
        is_outcome_unknown(lease.exec(&append()).await);
        assert_eq!(appended(&case).await, 1);
    });
}

#[test]
fn a_commit_is_not_told_lost_when_the_bridge_asks_to_come_back_in_31_s() {
    play(|case| async move {
        let lease = held(&case, SETTINGS).await;
        spoil(&case);
        is_outcome_unknown(lease.commit(&append()).await);
        assert_eq!(appended(&case).await, 1);
    });
}

#[test]
fn run_is_not_told_lost_when_the_bridge_asks_to_come_back_for_the_release_in_31_s() {
    play(|case| async move {
        let done = lock(&case, SETTINGS, 120)
            .run(async |_| {
                spoil(&case);
                Ok::<_, Error>(7)
            })
            .await;
        assert_eq!(done, Ok(7));
        sleep(&case, 90_000).await;
        assert!(!case.events.borrow().contains(&"lost"));
    });
}

#[test]
fn a_release_of_unknown_outcome_is_not_told_lost_when_it_is_tried_again_too_late_for_its_receipt() {
    play(|case| async move {
        let once = Settings {
            attempts: 1,
            ..SETTINGS
        };
        for (after_s, is_known) in [(20, true), (40, false)] {
            let lease = held(&case, once).await;
            case.network.fates.next(Fate::Lost);
            is_outcome_unknown(lease.release().await);
            sleep(&case, after_s * 1_000).await;
            let again = lease.release().await;
            assert_eq!(again.is_ok(), is_known, "after {after_s} s: {again:?}");
            if !is_known {
                is_outcome_unknown(again);
            }
        }
        assert!(!case.events.borrow().contains(&"lost"));
    });
}

/// Somebody holds the lock when it is forced, and somebody else from a second later on. Returns
/// whether the second still holds it in the end.
async fn is_next_holder_left_alone(case: &Rc<Case>, settings: Settings) -> bool {
    let (forced, next) = (lock(case, settings, 600), lock(case, SETTINGS, 600));
    forced.try_acquire().await.expect("a lease").into_token();
    let successor = {
        let (case, next) = (case.clone(), next.clone());
        async move {
            sleep(&case, 1_000).await;
            next.try_acquire().await.expect("a lease").into_token();
        }
    };
    let succeeds = meanwhile(case, &machine(), successor);
    is_outcome_unknown(forced.force_release().await);
    sleep(case, 90_000).await;
    succeeds.get().is_some() && next.inspect().await.expect("an answer").holder.is_some()
}

#[test]
fn a_forced_release_does_not_free_the_next_holder_when_the_bridge_asks_to_come_back_in_31_s() {
    play(|case| async move {
        spoil_second(&case);
        assert!(is_next_holder_left_alone(&case, SETTINGS).await);
    });
}

#[test]
fn nor_does_it_when_its_time_out_is_31_s() {
    play(|case| async move {
        case.network.fates.next(Fate::Passed);
        case.network.fates.next(Fate::Lost);
        assert!(is_next_holder_left_alone(&case, PATIENT).await);
    });
}

/// The host stands still in the pause before a repeat, and sends the repeat when the receipt is
/// gone.
#[test]
fn a_forced_release_does_not_free_the_next_holder_when_its_host_stood_still_before_the_repeat() {
    play(|case| async move {
        let ttl = Duration::from_secs(600);
        let settings = Settings {
            timeout: Duration::from_secs(5),
            ..SETTINGS
        };
        let lock = |on: &Rc<Machine>| host::client(&case, on, settings).lock("a").ttl(ttl);
        lock(&machine())
            .try_acquire()
            .await
            .expect("a lease")
            .into_token();
        let stalls = machine();
        let forced = lock(&stalls);
        case.network
            .fates
            .next(Fate::Executed(bridge::overloaded(503, "1")));
        let done = meanwhile(&case, &stalls, async move {
            is_outcome_unknown(forced.force_release().await);
        });
        sleep(&case, 500).await;
        stalls.pause(case.world.now(), 60_000 * MS);
        case.world.schedule(60_000 * MS, || {});
        let next = lock(&machine());
        next.try_acquire().await.expect("a lease").into_token();
        sleep(&case, 90_000).await;
        assert!(done.get().is_some());
        assert!(
            next.inspect().await.expect("an answer").holder.is_some(),
            "the next holder was freed"
        );
    });
}

/// The repeat leaves in time, with the script's digest. Redis has forgotten the script by then, and
/// the host stands still before it can send the text.
#[test]
fn nor_does_it_when_redis_forgot_its_script_and_its_host_stood_still_before_the_text() {
    play(|case| async move {
        let settings = Settings {
            script_cache: true,
            timeout: Duration::from_secs(5),
            ..SETTINGS
        };
        let first = lock(&case, settings, 600);
        first.try_acquire().await.expect("a lease").into_token();
        let stalls = machine();
        let forced = host::client(&case, &stalls, settings).lock("a");
        // The request with the digest, and the one with the text.
        case.network.fates.next(Fate::Passed);
        case.network
            .fates
            .next(Fate::Executed(bridge::overloaded(503, "1")));
        let done = meanwhile(&case, &stalls, async move {
            is_outcome_unknown(forced.force_release().await);
        });
        sleep(&case, 500).await;
        case.redis.execute(&[b"SCRIPT", b"FLUSH"]);
        // Two requests, a time-out, and the answer to the third is on its way back.
        sleep(&case, 20 + 20 + 500 + 15).await;
        stalls.pause(case.world.now(), 60_000 * MS);
        case.world.schedule(60_000 * MS, || {});
        let next = lock(&case, SETTINGS, 600);
        next.try_acquire().await.expect("a lease").into_token();
        sleep(&case, 90_000).await;
        assert!(done.get().is_some());
        let found = next.inspect().await.expect("an answer");
        assert!(found.holder.is_some(), "the next holder was freed");
    });
}

#[test]
fn what_could_not_be_sent_in_time_is_not_unknown_where_nothing_was_sent_before() {
    play(|case| async move {
        let settings = Settings {
            script_cache: true,
            attempts: 1,
            ..SETTINGS
        };
        let stalls = machine();
        let lock = host::client(&case, &stalls, settings).lock("a");
        let done = meanwhile(&case, &stalls, async move {
            let error = lock.try_acquire().await.expect_err("it is too late");
            assert!(!error.is_outcome_unknown(), "{error}");
        });
        sleep(&case, 15).await;
        stalls.pause(case.world.now(), 60_000 * MS);
        case.world.schedule(60_000 * MS, || {});
        sleep(&case, 90_000).await;
        assert!(done.get().is_some());
    });
}

fn spoil_second(case: &Case) {
    case.network.fates.next(Fate::Passed);
    spoil(case);
}

#[test]
fn exec_does_not_run_twice_when_its_time_out_is_31_s() {
    play(|case| async move {
        let lease = held(&case, PATIENT).await;
        case.network.fates.next(Fate::Lost);
        is_outcome_unknown(lease.exec(&append()).await);
        assert_eq!(appended(&case).await, 1);
    });
}

#[test]
fn a_commit_is_not_told_lost_when_its_time_out_is_31_s() {
    play(|case| async move {
        let lease = held(&case, PATIENT).await;
        case.network.fates.next(Fate::Lost);
        is_outcome_unknown(lease.commit(&append()).await);
        assert_eq!(appended(&case).await, 1);
    });
}

#[test]
fn a_lease_that_is_dropped_is_not_observed_as_lost_when_its_time_out_is_31_s() {
    play(|case| async move {
        let lease = held(&case, PATIENT).await;
        case.network.fates.next(Fate::Lost);
        drop(lease);
        sleep(&case, 200_000).await;
        assert!(!case.events.borrow().contains(&"lost"));
    });
}

/// Settings that ask ten times in half a minute.
const PERSISTENT: Settings = Settings {
    timeout: Duration::from_secs(3),
    attempts: 10,
    ..SETTINGS
};

/// A commit is executed at once, and then no request arrives for so many milliseconds. Returns what
/// the client was told.
fn commit_through_an_outage(redis: &Rc<Redis>, outage_ms: u64) -> Result<usize, Error> {
    let told = Rc::new(Cell::new(None));
    let tells = told.clone();
    play_on(redis, move |case| async move {
        // On the slowest clock that the lock allows for.
        let slow = Rc::new(Machine::new(-9_900));
        let lock = host::client(&case, &slow, PERSISTENT).lock("a");
        let lock = lock.ttl(Duration::from_secs(120));
        let lease = lock.try_acquire().await.expect("a lease");
        case.network.fates.next(Fate::Lost);
        let outage = case.clone();
        let commit = async move {
            let outcome = lease.commit(&append()).await;
            tells.set(Some(outcome.map(|replies| replies.len())));
        };
        let answered = meanwhile(&case, &slow, commit);
        sleep(&case, 100).await;
        cut(&outage);
        sleep(&case, outage_ms).await;
        outage.net.set(STEADY);
        assert_eq!(appended(&case).await, 1);
        assert!(answered.get().is_some());
    });
    told.take().expect("it is told something")
}

/// What clients were told, for outages of about half a minute.
fn outages(redis: &Rc<Redis>) -> Vec<Result<usize, Error>> {
    (24_000..34_000)
        .step_by(250)
        .map(|ms| commit_through_an_outage(redis, ms))
        .collect()
}

#[test]
fn whenever_an_outage_ends_a_commit_is_told_done_or_unknown_and_never_lost() {
    let told = outages(&Rc::default());
    assert!(told.iter().any(Result::is_ok));
    for error in told.into_iter().filter_map(Result::err) {
        assert!(error.is_outcome_unknown(), "{error}");
    }
}

/// A sabotage: receipts live for less than the 30 s that the client counts on.
#[test]
fn receipts_that_are_gone_before_the_client_stops_to_count_on_them_are_noticed() {
    let early = "local RECEIPT_MS = 25000";
    let told = outages(&Rc::new(Redis::with("local RECEIPT_MS = 30000", early)));
    let is_lost = |told: &Result<usize, Error>| matches!(told, Err(Error::Lost { .. }));
    assert!(told.iter().any(is_lost));
}

/// How often a write is applied that the network delays for 40 s, of a lease that goes on. Nobody
/// waits for its answer any more. If `is_repeat`, the write was executed before; if not, another
/// write of the lease was.
fn late(redis: &Rc<Redis>, is_repeat: bool) -> usize {
    play_on(redis, move |case| async move {
        let lease = lock(&case, SETTINGS, 20)
            .try_acquire()
            .await
            .expect("a lease");
        if is_repeat {
            case.network.fates.next(Fate::Lost);
        }
        case.network.fates.next(Fate::Late(40_000 * MS));
        // The third attempt is not sent.
        case.network.fates.next(Fate::NotSent);
        if !is_repeat {
            case.network.fates.next(Fate::NotSent);
        }
        is_outcome_unknown(lease.exec(&append()).await);
        if !is_repeat {
            lease.exec(&[]).await.expect("held");
        }
        for _ in 0..12 {
            sleep(&case, 5_000).await;
            lease.renew().await.expect("held");
        }
        log_of("a", &case.redis.db()).len()
    })
}

#[test]
fn a_repeat_that_arrives_40_s_late_runs_nothing_twice_while_the_lease_goes_on() {
    assert_eq!(late(&Rc::default(), true), 1);
}

#[test]
fn a_write_that_arrives_40_s_late_does_not_run_behind_a_later_one_while_the_lease_goes_on() {
    assert_eq!(late(&Rc::default(), false), 0);
}

/// A sabotage: receipts are not renewed with the lock.
#[test]
fn receipts_that_are_not_renewed_with_the_lock_are_noticed() {
    let redis = Rc::new(Redis::with(
        "elseif DONE then redis.call('PEXPIRE', RECEIPT, life) end",
        "end",
    ));
    assert_eq!((late(&redis, true), late(&redis, false)), (2, 1));
}

#[test]
fn a_receipt_that_knows_of_no_later_write_is_noticed() {
    let later = "if tonumber(number) > NUMBER then return { 0, ARGV[1] } end";
    assert_eq!(late(&Rc::new(Redis::with(later, "")), false), 1);
}
