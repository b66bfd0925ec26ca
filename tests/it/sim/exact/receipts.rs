//! What repeats of a write do and tell when the receipt may be gone. A receipt lives for 30 s, or
//! as long as the lock.

use super::*;

/// The only time-out here that is longer than a receipt lives.
const PATIENT: Settings = Settings { timeout: s(31), ..SETTINGS };

/// For a host that stands still.
const SLOW: Settings = Settings { timeout: s(5), ..SETTINGS };

fn lock(case: &Rc<Case>, settings: Settings, ttl_s: u64) -> SimLock {
    lock_with(case, settings).ttl(s(ttl_s))
}

/// A lease of two minutes.
async fn held(case: &Rc<Case>, settings: Settings) -> SimLease {
    let lock = lock(case, settings, 120);
    lock.try_acquire().await.expect("a lease")
}

/// How often the command was executed, as seen a minute and a half from now.
async fn appended(case: &Case) -> usize {
    sleep(case, 90_000).await;
    log_of("a", &case.redis.db()).len()
}

/// A request that is executed, but the bridge answers that it wants to be asked again later.
fn spoiled(seconds: &str) -> Fate {
    Fate::Executed(bridge::overloaded(503, seconds))
}

/// A lease writes once, and its last request meets `fate`. Returns whether the outcome is unknown,
/// and how often it was written.
fn writes(settings: Settings, fate: Fate, is_last: bool) -> (bool, usize) {
    play(move |case| async move {
        let lease = held(&case, settings).await;
        case.network.fates.next(fate);
        let outcome = match is_last {
            true => lease.commit(&append()).await,
            false => lease.exec(&append()).await,
        };
        let is_unknown = outcome.is_err_and(|error| error.is_outcome_unknown());
        (is_unknown, appended(&case).await)
    })
}

stories! {
    exec_does_not_run_twice_when_the_bridge_asks_to_come_back_in_31_s:
        writes(SETTINGS, spoiled("31"), false) => (true, 1),
    a_commit_is_not_told_lost_when_the_bridge_asks_to_come_back_in_31_s:
        writes(SETTINGS, spoiled("31"), true) => (true, 1),
    exec_does_not_run_twice_when_its_time_out_is_31_s:
        writes(PATIENT, Fate::Lost, false) => (true, 1),
    a_commit_is_not_told_lost_when_its_time_out_is_31_s:
        writes(PATIENT, Fate::Lost, true) => (true, 1),
}

#[test]
fn run_is_not_told_lost_when_the_bridge_asks_to_come_back_for_the_release_in_31_s() {
    play(|case| async move {
        let lock = lock(&case, SETTINGS, 120);
        let done = lock.run(async |_| {
            case.network.fates.next(spoiled("31"));
            Ok::<_, Error>(7)
        });
        assert_eq!(done.await, Ok(7));
        sleep(&case, 90_000).await;
        assert!(!case.events.borrow().contains(&"lost"));
    });
}

#[test]
fn a_release_of_unknown_outcome_is_not_told_lost_when_it_is_tried_again_too_late_for_its_receipt() {
    play(|case| async move {
        let once = Settings { attempts: 1, ..SETTINGS };
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

/// With scripts that Redis forgets half a second after the first request.
const CACHED: Settings = Settings { script_cache: true, ..SLOW };

/// Somebody's lock is freed by force, and the request meets `fate`. Its host stands still for a
/// minute, if there is a `pause` after so many milliseconds. Somebody else has the lock from then
/// on, or from the first second on. Returns whether that one still holds it in the end.
fn is_next_holder_left_alone(settings: Settings, fate: Fate, pause: Option<u64>) -> bool {
    play(move |case| async move {
        let first = lock(&case, settings, 600).try_acquire().await;
        first.expect("a lease").into_token();
        let stalls = machine();
        let forced = host::client(&case, &stalls, settings).lock("a");
        if settings.script_cache {
            // The request with the digest, before the one with the text.
            case.network.fates.next(Fate::Passed);
        }
        case.network.fates.next(fate);
        let done = meanwhile(&case, &stalls, async move {
            is_outcome_unknown(forced.force_release().await);
        });
        sleep(&case, 500).await;
        if settings.script_cache {
            case.redis.execute(&[b"SCRIPT", b"FLUSH"]);
        }
        sleep(&case, pause.unwrap_or(1_000) - 500).await;
        if pause.is_some() {
            stand_still(&case, &stalls, 60_000);
        }
        let next = lock(&case, SETTINGS, 600);
        next.try_acquire().await.expect("a lease").into_token();
        sleep(&case, 90_000).await;
        done.told();
        next.inspect().await.expect("an answer").holder.is_some()
    })
}

stories! {
    a_forced_release_does_not_free_the_next_holder_when_the_bridge_asks_to_come_back_in_31_s:
        is_next_holder_left_alone(SETTINGS, spoiled("31"), None) => true,
    nor_does_it_when_its_time_out_is_31_s:
        is_next_holder_left_alone(PATIENT, Fate::Lost, None) => true,
    /// The host stands still in the pause before a repeat, and sends the repeat when the receipt is
    /// gone.
    a_forced_release_does_not_free_the_next_holder_when_its_host_stood_still_before_the_repeat:
        is_next_holder_left_alone(SLOW, spoiled("1"), Some(500)) => true,
    /// The repeat leaves in time, with the script's digest. Redis has forgotten the script by then,
    /// and the host stands still before it can send the text: after two requests and a time-out,
    /// when the answer to the third is on its way back.
    nor_does_it_when_redis_forgot_its_script_and_its_host_stood_still_before_the_text:
        is_next_holder_left_alone(CACHED, spoiled("1"), Some(500 + 20 + 20 + 500 + 15)) => true,
}

#[test]
fn what_could_not_be_sent_in_time_is_not_unknown_where_nothing_was_sent_before() {
    play(|case| async move {
        let settings = Settings { script_cache: true, attempts: 1, ..SETTINGS };
        let stalls = machine();
        let lock = host::client(&case, &stalls, settings).lock("a");
        let done = meanwhile(&case, &stalls, async move {
            let error = lock.try_acquire().await.expect_err("it is too late");
            assert!(!error.is_outcome_unknown(), "{error}");
        });
        sleep(&case, 15).await;
        stand_still(&case, &stalls, 60_000);
        sleep(&case, 90_000).await;
        done.told();
    });
}

/// Settings that ask ten times in half a minute.
const PERSISTENT: Settings = Settings { timeout: s(3), attempts: 10, ..SETTINGS };

/// A commit is executed at once, and then no request arrives for so many milliseconds. Returns what
/// the client was told.
fn commit_through_an_outage(redis: Rc<Redis>, outage_ms: u64) -> Result<usize, Error> {
    play_on(redis, move |case| async move {
        // On the slowest clock that the lock allows for.
        let slow = Rc::new(Machine::new(-9_900));
        let lock = host::client(&case, &slow, PERSISTENT).lock("a").ttl(s(120));
        let lease = lock.try_acquire().await.expect("a lease");
        case.network.fates.next(Fate::Lost);
        let answered = meanwhile(&case, &slow, async move {
            lease.commit(&append()).await.map(|replies| replies.len())
        });
        sleep(&case, 100).await;
        case.net.set(CUT);
        sleep(&case, outage_ms).await;
        case.net.set(STEADY);
        assert_eq!(appended(&case).await, 1);
        answered.told()
    })
}

/// What clients were told, for outages of about half a minute.
fn outages(redis: Redis) -> Vec<Result<usize, Error>> {
    let redis = Rc::new(redis);
    (24_000..34_000).step_by(250).map(|ms| commit_through_an_outage(redis.clone(), ms)).collect()
}

/// How often a write is applied that the network delays for 40 s, of a lease that goes on. Nobody
/// waits for its answer any more. If `is_repeat`, the write was executed before; if not, another
/// write of the lease was.
fn late(redis: Redis, is_repeat: bool) -> usize {
    play_on(redis, move |case| async move {
        let lease = lock(&case, SETTINGS, 20).try_acquire().await;
        let lease = lease.expect("a lease");
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

const RENEWED: &str = "elseif DONE then redis.call('PEXPIRE', RECEIPT, life) end";

fn is_lost(told: &Result<usize, Error>) -> bool {
    matches!(told, Err(Error::Lost { .. }))
}

fn is_done_or_unknown(told: &Result<usize, Error>) -> bool {
    told.as_ref().err().is_none_or(Error::is_outcome_unknown)
}

stories! {
    whenever_an_outage_ends_a_commit_is_told_done_or_unknown_and_never_lost:
        outages(Redis::default())
        => told if told.iter().any(Result::is_ok) && told.iter().all(is_done_or_unknown),
    /// A sabotage: receipts live for less than the 30 s that the client counts on.
    receipts_that_are_gone_before_the_client_stops_to_count_on_them_are_noticed:
        outages(Redis::with("local RECEIPT_MS = 30000", "local RECEIPT_MS = 25000"))
        => told if told.iter().any(is_lost),
    a_repeat_that_arrives_40_s_late_runs_nothing_twice_while_the_lease_goes_on:
        late(Redis::default(), true) => 1,
    a_write_that_arrives_40_s_late_does_not_run_behind_a_later_one_while_the_lease_goes_on:
        late(Redis::default(), false) => 0,
    /// A sabotage: receipts are not renewed with the lock.
    receipts_that_are_not_renewed_with_the_lock_are_noticed:
        [true, false].map(|is_repeat| late(Redis::with(RENEWED, "end"), is_repeat)) => [2, 1],
    a_receipt_that_knows_of_no_later_write_is_noticed: late(
        Redis::with("if tonumber(number) > NUMBER then return { 0, ARGV[1] } end", ""), false,
    ) => 1,
}
