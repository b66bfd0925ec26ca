//! One turn of the lock, for all items in it.

use std::pin::pin;

use super::decide::{Section, Turn, Under, decide};
use super::driver::Driver;
use super::gather::Bound;
use super::guess;
use super::known::Known;
use super::lines::{Callers, pace};
use super::reads::{Reads, retain};
use super::work::{Found, Work, fail, observe};
use crate::lease::Lease;
use crate::lock::Lock;
use crate::operation::OfTurn;
use crate::runtime::Runtime;
use crate::tasks::select;
use crate::transport::Transport;

/// Drives `turn` to its end.
pub(super) async fn drive<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    known: &Known,
) {
    // Shows that it drives, until a caller reports it as gone.
    let beat = pace(lock) / 2;
    let beats = async {
        while turn.with(Callers::beat) == Some(true) {
            lock.runtime().sleep(beat).await;
        }
    };
    let work = Work { section, turn: &turn, lock, bound, known, begun_at: lock.runtime().now() };
    let done = async {
        let found = match guess::run(&work).await {
            Ok(found) => found,
            Err(sent) => {
                let lock = &lock.without(sent).wait_timeout(work.left());
                acquire(&Work { lock, ..work }).await
            }
        };
        if let Some(found) = found {
            under_lock(&work, found).await;
        }
    };
    select(pin!(done), beats).await;
    turn.hand_on(lock.runtime()).await;
}

/// Waits for the lock. `None` if that was in vain: the callers know why.
async fn acquire<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
) -> Option<Found<S, T, R>> {
    let Work { turn, lock, known, .. } = *work;
    let begun_at = lock.runtime().now();
    let (mut items, mut reads) = (Vec::new(), Reads::default());
    let asked = || {
        if let Some(asked_for) = turn.ask(work.bound) {
            reads = Reads::of(asked_for.iter().map(|item| &**item));
            items = asked_for;
        }
        reads.commands.clone()
    };
    let of_turn = OfTurn { guesses: work.may_guess(), listens: known.seen.is_crowded(lock.key()) };
    let granted = lock.acquire_for_turn(&turn.acquisition, of_turn, asked);
    match granted.await {
        Ok(mut granted) => {
            known.seen.waited_behind(lock.key(), granted.ahead);
            if let Some(left) = granted.left.take() {
                return guess::handed(work, granted, &left).await;
            }
            let (lease, replies) = lock.granted(granted);
            Some(Found { lease, items, reads, replies, begun_at })
        }
        Err(error) => {
            fail(turn, reads.items(), &error);
            None
        }
    }
}

/// Decides, writes and gives the lock back.
async fn under_lock<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
    found: Found<S, T, R>,
) {
    let Work { turn, lock, known, .. } = *work;
    let Found { lease, mut items, mut reads, replies, begun_at } = found;
    // A driver that was passed over while it waited must not even decide. Dropping the lease gives
    // it back.
    let Some(has) = turn.begin() else { return };
    retain(&mut items, &has);
    reads.retain(&has);
    known.meets_failing(&reads, &replies);
    // All have left, or the one for which there was room.
    if items.is_empty() || !has[0] && reads.lacks_room(0, &replies) {
        turn.put_back(|_| false);
        release(turn, lease).await;
        return;
    }
    let mut decided = {
        let under = Under {
            reads: &reads,
            replies: &replies,
            max_bytes: work.bound.bytes,
            fence: if S::USES_FENCE { lease.fence() } else { 0 },
            lock: &lock.settings,
            is_late: &|| lease.remaining() < lock.lasts() / 4,
        };
        decide(work.section, turn, &items, &under)
    };
    let count = decided.answers.len();
    known.habits.learn(lock.key(), 2 * decided.writers().count() >= count);
    turn.put_back(|place| decided.places.contains(&place));
    let mut answers = std::mem::take(&mut decided.answers);
    let behind = answers.split_off(decided.first_write.min(count));
    // An answer that depends on no write is true whatever the outcome of the commit.
    turn.answer(answers);
    let common = work.in_common(&reads, &decided.writes);
    let fence = lease.fence();
    let tells = known.seen.is_crowded(lock.key()) && !common.is_empty();
    let waiting = if decided.writes.is_empty() && !tells {
        work.note(fence, reads.found(&common, &replies), &reads);
        release(turn, lease).await
    } else {
        // If the commit does not end, the next driver gives the lease back.
        if !turn.commit(lease.token()) {
            return;
        }
        let outcome =
            lease.commit_each(&[&decided.writes[..], &common].concat(), common.len()).await;
        turn.end(match outcome {
            Ok(mut replies) => {
                let found = decided.split_off_found(&mut replies);
                work.meets(&reads, reads.alone(decided.writers()));
                work.note(fence, common.into_iter().zip(found), &reads);
                decided.committed(behind, replies)
            }
            Err(error) => behind.iter().map(|_| Err(error.clone())).collect(),
        })
    };
    observe(lock, count, waiting, begun_at);
}

/// Ends a turn that has nothing to write. Returns how many items wait for the next one.
async fn release<I, A, T: Transport, R: Runtime>(turn: &Driver<I, A>, lease: Lease<T, R>) -> usize {
    if turn.commit(lease.token()) {
        // Only the next turn waits for this. If it failed, that turn will notice.
        let _ = lease.release().await;
    }
    turn.end(Vec::new())
}
