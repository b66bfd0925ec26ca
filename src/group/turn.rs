//! One turn of the lock, for all items in it.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::decided::Decided;
use super::driver::Driver;
use super::gather::Bound;
use super::habits::Habits;
use super::pace::Pace;
use super::reads::{Pending, Reads, bytes};
use super::section::{Decision, Section};
use crate::command::Reply;
use crate::error::Error;
use crate::event::EventKind;
use crate::lease::Lease;
use crate::lock::Lock;
use crate::runtime::{Instant, Runtime};
use crate::select::select;
use crate::transport::Transport;

/// A turn of items that `S` decides.
pub(super) type Turn<S> = Driver<Pending<<S as Section>::Item>, <S as Section>::Answer>;

/// Drives `turn` to its end.
pub(super) async fn drive<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    habits: &Habits,
) {
    // Shows that it drives, until a caller reports it as gone.
    let beat = Pace::of(lock).beat;
    let beats = async {
        while turn.beat() {
            lock.runtime().sleep(beat).await;
        }
    };
    select(work(section, &turn, lock, bound, habits), beats).await;
    turn.hand_on(lock.runtime()).await;
}

async fn work<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    habits: &Habits,
) {
    let begun_at = lock.runtime().now();
    let (mut items, mut reads) = (Vec::new(), Reads::default());
    let asked = || {
        if let Some(asked_for) = turn.ask(bound) {
            reads = Reads::of(asked_for.iter().map(|item| &**item));
            items = asked_for;
        }
        reads.commands.clone()
    };
    let outcome = lock.acquire_for_each(&turn.acquisition, asked).await;
    let (lease, replies) = match outcome {
        Ok(granted) => granted,
        Err(error) => return fail(turn, reads.items(), &error),
    };
    // A driver that was passed over while it waited must not even decide. Dropping the lease gives
    // it back.
    let Some(has) = turn.begin() else { return };
    let mut of_turn = has.iter();
    items.retain(|_| of_turn.next() == Some(&true));
    reads.retain(&has);
    // All have left, or the one for which there was room.
    if items.is_empty() || !has[0] && reads.lacks_room(0, &replies) {
        turn.put_back(|_| false);
        release(turn, lease).await;
        return;
    }
    let under = Under {
        lease: &lease,
        reads: &reads,
        replies: &replies,
        max_bytes: bound.bytes,
        ttl: lock.lasts(),
    };
    let mut decided = decide(section, turn, &items, &under);
    let count = decided.answers.len();
    habits.learn(lock.key(), 2 * decided.writers() >= count);
    turn.put_back(|place| decided.places.contains(&place));
    let mut answers = std::mem::take(&mut decided.answers);
    let behind = answers.split_off(decided.first_write.min(count));
    // An answer that depends on no write is true whatever the outcome of the commit.
    turn.answer(answers);
    let waiting = if decided.writes.is_empty() {
        release(turn, lease).await
    } else {
        // If the commit does not end, the next driver gives the lease back.
        if !turn.commit(lease.token()) {
            return;
        }
        let outcome = lease.commit_each(&decided.writes).await;
        turn.end(match outcome {
            Ok(replies) => decided.committed(behind, replies),
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

/// Decides the items in order, until their writes are too many for a request, or a quarter of the
/// ttl is left. Items for whose replies others left no room wait for the next turn.
///
/// An item is never a reason not to decide the others: if its decision panics, or its writes are
/// too large for a turn with others, the others are decided again as if it was not there, since it
/// may have changed what they share. If that leaves none, the first one has the turn.
fn decide<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    under: &Under<'_, T, R>,
) -> Decided<S::Answer> {
    let (mut refused, mut large) = (BTreeSet::new(), BTreeSet::new());
    let mut items = items;
    loop {
        let decided = catch_unwind(AssertUnwindSafe(|| {
            decide_all(section, turn, items, under, &refused, &large)
        }));
        match decided {
            Ok(Ok(decided)) if decided.answers.is_empty() => {
                (items, large) = (&items[..1], BTreeSet::new());
            }
            Ok(Ok(decided)) => return decided,
            Ok(Err(place)) => {
                large.insert(place);
            }
            // A panic of the section's `end` is nobody's.
            Err(panic) => match turn.deciding() {
                Some(place) if refused.insert(place) => {}
                _ => resume_unwind(panic),
            },
        }
    }
}

/// What the items of a turn are decided with.
struct Under<'a, T: Transport, R: Runtime> {
    lease: &'a Lease<T, R>,
    reads: &'a Reads,
    replies: &'a [Reply],
    max_bytes: usize,
    ttl: Duration,
}

/// Decides the items except those at the `large` places. Those at the `refused` ones are told so.
///
/// # Errors
/// The place of one more item whose writes are too large for a turn with others.
fn decide_all<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    under: &Under<'_, T, R>,
    refused: &BTreeSet<usize>,
    large: &BTreeSet<usize>,
) -> Result<Decided<S::Answer>, usize> {
    let lease = under.lease;
    let mut shared = S::State::default();
    let mut decided = Decided {
        places: Vec::new(),
        answers: Vec::new(),
        writes: Vec::new(),
        owners: Vec::new(),
        first_write: usize::MAX,
    };
    let mut written = 0;
    for (place, asked) in items.iter().enumerate() {
        let is_late = lease.remaining() < under.ttl / 4;
        let count = decided.answers.len();
        if count > 0 && (written >= under.max_bytes || is_late) {
            break;
        }
        let lacks_room = place > 0 && under.reads.lacks_room(place, under.replies);
        if lacks_room || large.contains(&place) {
            continue;
        }
        turn.decide(place);
        let found = match asked.begin() {
            _ if refused.contains(&place) => Err(panicked()),
            true => under.reads.replies(place, under.replies),
            // Nobody receives this error.
            false => Err(panicked()),
        };
        let decision =
            found.map(|replies| section.decide(&asked.item, &replies, &mut shared, lease.fence()));
        let answer = match decision {
            Err(error) => Err(error),
            Ok(Decision::Leave(answer)) => Ok(answer),
            Ok(Decision::Write(writes, answer)) => match lease.check_writes(&writes) {
                // Invalid writes of one item must not fail the others.
                Err(error) => Err(error),
                Ok(()) => {
                    let own = bytes(&writes);
                    if items.len() > 1 && own > under.max_bytes {
                        turn.is_large(place, own);
                        return Err(place);
                    }
                    written += own;
                    if !writes.is_empty() {
                        decided.first_write = decided.first_write.min(count);
                    }
                    decided.owners.extend(writes.iter().map(|_| count));
                    decided.writes.extend(writes);
                    Ok(answer)
                }
            },
        };
        decided.places.push(place);
        decided.answers.push(answer);
    }
    turn.decided();
    let end = section.end(shared);
    if !end.is_empty() {
        decided.first_write = 0;
        decided.writes.extend(end);
    }
    Ok(decided)
}

fn panicked() -> Error {
    Error::unavailable("the decision of this item panicked".into(), false)
}

/// Nothing could be read.
///
/// - Each item that the turn began with gets the reason.
/// - If the driver's wait is over, only the driver gets it: the others have waits of their own.
/// - If the replies are too large together, the items have smaller turns.
fn fail<I, A>(turn: &Driver<Pending<I>, A>, asked: usize, error: &Error) {
    if let Error::Held { .. } = error {
        turn.put_back_others();
    }
    if error.code() == "too_large" && turn.shrink(asked) {
        turn.end(Vec::new());
        return;
    }
    turn.fail(&undecided(error));
}

/// Before a turn has the lock, an unknown outcome is about the lock only. Nothing was done for its
/// items.
fn undecided(error: &Error) -> Error {
    if !error.is_outcome_unknown() {
        return error.clone();
    }
    let message = error.clone().of_lock(None).to_string();
    let told = if error.is_passing() {
        Error::unavailable(message, false)
    } else {
        Error::refused(message, false)
    };
    told.of_lock(error.lock())
}

fn observe<T: Transport, R: Runtime>(
    lock: &Lock<T, R>,
    items: usize,
    waiting: usize,
    begun_at: Instant,
) {
    let took = lock.runtime().now().since(begun_at);
    lock.observe(EventKind::Grouped {
        items: items as u64,
        waiting: waiting as u64,
        took,
    });
}
