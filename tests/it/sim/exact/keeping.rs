//! What `run` does about a write that its work has under way.

use std::future::pending;

use edgelock::Reply;

use super::*;

/// Runs `work` with a lock that `run` renews every 3,333 ms, and holds for `max_hold` at most. If
/// no renewal succeeds, its deadline is at 9,898 ms. Returns what it tells, and when.
fn runs<O: 'static>(
    bent: Bent,
    max_hold: Duration,
    work: impl AsyncFnOnce(&Case, &SimLease) -> Result<O, Error> + 'static,
) -> (Result<O, Error>, u64) {
    play_with(Redis::default(), bent, move |case| async move {
        let lock = lock(&case).max_hold(max_hold);
        let told = lock.run(async |lease| work(&case, lease).await).await;
        (told, now(&case))
    })
}

/// Longer than anything here takes.
const LONG: Duration = s(60);

/// Commits at `at`, and the answer gets lost.
async fn commits(case: &Case, lease: &SimLease, at: u64) -> Result<Vec<Reply>, Error> {
    sleep(case, at - now(case)).await;
    case.network.lose_next_grant.set(true);
    lease.commit(&append()).await
}

fn is_done(told: &Result<Vec<Reply>, Error>) -> bool {
    *told == Ok(vec![Reply::Int(1)])
}

fn is_unknown<O>(told: &Result<O, Error>) -> bool {
    told.as_ref().is_err_and(Error::is_outcome_unknown)
}

/// Work that writes at `at`, when nobody answers.
fn writes_in_vain(max_hold: Duration, at: u64) -> Result<(), Error> {
    let work = async move |case: &Case, lease: &SimLease| {
        case.net.set(CUT);
        sleep(case, at).await;
        lease.exec(&append()).await.map(drop)
    };
    runs(Bent::Straight, max_hold, work).0
}

/// Work that goes on when its write came to nothing. Returns what is told, and when.
fn goes_on_behind_a_write(is_last: bool) -> (Result<(), Error>, u64) {
    runs(Bent::Straight, LONG, async move |case, lease| {
        sleep(case, 100).await;
        case.net.set(CUT);
        is_outcome_unknown(match is_last {
            true => lease.commit(&append()).await,
            false => lease.exec(&append()).await,
        });
        pending().await
    })
}

stories! {
    // The commit is sent again after its time-out, when a renewal would have been due.
    work_whose_commit_is_answered_late_is_told_of_it_and_not_stopped:
        runs(Bent::Straight, LONG, async |case, lease| commits(case, lease, 3_220).await)
        => (told, 3_701..) if is_done(&told),
    work_whose_release_is_answered_late_may_go_on:
        runs(Bent::Straight, LONG, async |case, lease| {
            sleep(case, 3_200).await;
            case.network.lose_next_grant.set(true);
            lease.release().await?;
            sleep(case, 20_000).await;
            Ok(7)
        }) => (Ok(7), _),
    a_renewal_that_was_overtaken_by_a_commit_does_not_stop_the_work:
        runs(Bent::Straight, LONG, async |case, lease| {
            sleep(case, 3_310).await;
            // The renewal is sent now, and takes long.
            slow_down(case, 100);
            sleep(case, 10).await;
            case.net.set(STEADY);
            commits(case, lease, now(case)).await
        }) => (told, _) if is_done(&told),
    a_commit_may_come_to_its_end_when_the_lock_was_held_for_too_long:
        runs(Bent::Straight, s(3), async |case, lease| commits(case, lease, 2_920).await)
        => (told, 3_401..) if is_done(&told),
    when_work_is_stopped_while_its_write_is_under_way_the_outcome_is_unknown:
        [(s(3), 2_900), (LONG, 9_500)].map(|(max_hold, at)| writes_in_vain(max_hold, at))
        => told if told.iter().all(is_unknown),
    when_work_is_stopped_behind_a_write_of_unknown_outcome_its_own_is_unknown:
        [true, false].map(goes_on_behind_a_write)
        => [(one, 9_999..=10_001), (two, 9_999..=10_001)] if is_unknown(&one) && is_unknown(&two),
    // A time-out past the deadline, and no longer than Redis may keep the lock.
    a_run_ends_though_its_commit_hangs:
        runs(Bent::Patient, LONG, async |case, lease| {
            sleep(case, 100).await;
            case.net.set(CUT);
            lease.commit(&append()).await
        }) => (told, ..=10_500) if is_unknown(&told),
}

#[test]
fn a_commit_that_its_caller_dropped_is_unknown_and_names_the_lock() {
    play(|case| async move {
        let lease = lock(&case).try_acquire().await.expect("it is free");
        case.net.set(CUT);
        {
            let writes = append();
            let mut commit = std::pin::pin!(lease.commit(&writes));
            let polled =
                std::future::poll_fn(|cx| std::task::Poll::Ready(commit.as_mut().poll(cx)));
            assert!(polled.await.is_pending());
        }
        // After the deadline nothing more is sent.
        sleep(&case, 10_000).await;
        let error = lease.commit(&append()).await.expect_err("it is over");
        assert!(error.is_outcome_unknown());
        assert_eq!(error.lock(), Some("a"));
    });
}
