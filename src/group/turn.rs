//! One turn of the lock, for all items in it.

use std::sync::Arc;

use super::driver::Driver;
use super::gather::Bound;
use super::habits::Habits;
use super::pace::Pace;
use super::reads::{Pending, Reads, bytes};
use super::section::{Decision, Section};
use crate::command::{Command, Reply};
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
    let outcome = lock.acquire_as(&turn.acquisition, asked).await;
    let (lease, replies) = match outcome {
        Ok(granted) => granted,
        Err(error) => return fail(turn, &mut reads, &error),
    };
    // A driver that was passed over while it waited must not even decide. Dropping the lease gives
    // it back.
    let Some(has) = turn.begin() else { return };
    let mut of_turn = has.iter();
    items.retain(|_| of_turn.next() == Some(&true));
    reads.retain(&has);
    if items.is_empty() {
        // All have left.
        release(turn, lease).await;
        return;
    }
    let decided = decide(section, turn, &items, &lease, &reads, &replies, bound.bytes);
    let count = decided.answers.len();
    habits.learn(lock.key(), 2 * decided.writers() >= count);
    turn.put_back(|place| place < count);
    let mut answers = decided.answers;
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
        let outcome = lease.commit(&decided.writes).await;
        turn.end(committed(
            behind,
            &decided.owners,
            decided.first_write,
            outcome,
        ))
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

/// The decisions, up to the item with which the writes became too many for a request.
struct Decided<A> {
    answers: Vec<Result<A, Error>>,
    writes: Vec<Command>,
    /// Which item each write belongs to. The writes behind these belong to the turn.
    owners: Vec<usize>,
    /// The first item whose answer depends on a write.
    first_write: usize,
}

impl<A> Decided<A> {
    /// How many items have writes.
    fn writers(&self) -> usize {
        self.owners.chunk_by(|left, right| left == right).count()
    }
}

fn decide<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    items: &[Arc<Pending<S::Item>>],
    lease: &Lease<T, R>,
    reads: &Reads,
    replies: &[Reply],
    max_bytes: usize,
) -> Decided<S::Answer> {
    let mut shared = S::State::default();
    let mut decided = Decided {
        answers: Vec::new(),
        writes: Vec::new(),
        owners: Vec::new(),
        first_write: usize::MAX,
    };
    let mut written = 0;
    for (place, asked) in items.iter().enumerate() {
        // An item that is too large for any turn has one to itself.
        if place > 0 && written >= max_bytes {
            break;
        }
        turn.decide(place);
        let found = match asked.begin() {
            true => reads.replies(place, replies),
            // Nobody receives this error.
            false => Err(Error::Released {
                lock: String::new(),
            }),
        };
        let answer = found.and_then(|replies| {
            match section.decide(&asked.item, &replies, &mut shared, lease.fence()) {
                Decision::Leave(answer) => Ok(answer),
                Decision::Write(writes, answer) => {
                    // Invalid writes of one item must not fail the others.
                    lease.check_writes(&writes)?;
                    written += bytes(&writes);
                    if !writes.is_empty() {
                        decided.first_write = decided.first_write.min(place);
                    }
                    decided.owners.extend(writes.iter().map(|_| place));
                    decided.writes.extend(writes);
                    Ok(answer)
                }
            }
        });
        decided.answers.push(answer);
    }
    let end = section.end(shared);
    if !end.is_empty() {
        decided.first_write = 0;
        decided.writes.extend(end);
    }
    decided
}

/// Nothing could be read.
///
/// - Each item that the turn began with gets the reason.
/// - If the driver's wait is over, only the driver gets it: the others have waits of their own.
/// - If the replies are too large together, the items have smaller turns.
/// - If one read failed, only the items with that read get it, also those that came later. The
///   others are decided next.
fn fail<I, A>(turn: &Driver<Pending<I>, A>, reads: &mut Reads, error: &Error) {
    if let Error::Held { .. } = error {
        turn.put_back_others();
    }
    if error.code() == "too_large" && turn.shrink(reads.items()) {
        turn.end(Vec::new());
        return;
    }
    let Error::CommandFailed { index, .. } = error else {
        return turn.fail(&undecided(error));
    };
    let Some(has) = turn.begin() else { return };
    reads.retain(&has);
    let of_item = |item| {
        reads
            .has(item, *index)
            .map(|index| of_command(error, index))
    };
    let told = (0..reads.items()).filter_map(of_item).map(Err).collect();
    turn.put_back(|item| of_item(item).is_some());
    turn.end(told);
}

/// Before a turn has the lock, an unknown outcome is about the lock only. Nothing was done for its
/// items.
fn undecided(error: &Error) -> Error {
    if !error.is_outcome_unknown() {
        return error.clone();
    }
    let message = error.clone().of_lock(None).to_string();
    Error::unavailable(message, false).of_lock(error.lock())
}

/// The `error` of a command of a turn, as the item sees it to which the command with this index
/// belongs.
fn of_command(error: &Error, of_item: usize) -> Error {
    let mut error = error.clone();
    if let Error::CommandFailed { index, .. } = &mut error {
        *index = of_item;
    }
    error
}

/// The outcomes of the items whose answers depend on the commit; `first` is the first of them.
fn committed<A>(
    answers: Vec<Result<A, Error>>,
    owners: &[usize],
    first: usize,
    outcome: Result<Vec<Reply>, Error>,
) -> Vec<Result<A, Error>> {
    let Err(error) = outcome else {
        return answers;
    };
    let Error::CommandFailed {
        index,
        command,
        message,
        ..
    } = &error
    else {
        return answers.iter().map(|_| Err(error.clone())).collect();
    };
    let Some(&failed) = owners.get(*index) else {
        let what = format!("{command}, written for all items of the turn, failed: {message}");
        let told = Error::unavailable(what, true).of_lock(error.lock());
        return answers.iter().map(|_| Err(told.clone())).collect();
    };
    // All commands were executed, but the error names only the first that failed.
    let before = owners.iter().take_while(|owner| **owner < failed).count();
    let numbered = answers.into_iter().enumerate();
    numbered
        .map(|(at, answer)| match (first + at).cmp(&failed) {
            std::cmp::Ordering::Less => answer,
            std::cmp::Ordering::Equal => Err(of_command(&error, index - before)),
            std::cmp::Ordering::Greater => {
                let what = "a command for another item of the same turn failed";
                Err(Error::unavailable(what.into(), true).of_lock(error.lock()))
            }
        })
        .collect()
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
