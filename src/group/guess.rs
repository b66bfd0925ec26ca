//! A turn of one request, without the lock.
//!
//! ```text
//!  nothing is known ──────────────────────────────▶ the turn waits for the lock
//!        │ known                                        ▲
//!        ▼                                              │ held twice
//!  decide by a guess ──▶ send ──┬── right: all are told │
//!        ▲                      ├───────────────────────┘
//!        └──────────────────────┤ wrong, or held
//!                               └── wrong twice: the turn has the lock, and decides once more
//! ```
//!
//! The items are decided by what their reads will find: what the last turn left, and nothing for
//! keys that were not read before. One script compares, and runs the writes only if that is so and
//! nobody has the lock or waits for it. So each item was decided by exactly the state that its
//! writes change, as under the lock. Otherwise the script tells what the reads found, and leaves a
//! mark that no copy of the request passes.
//!
//! The first guess that is wrong leaves the lock free. Two processes that write all the time are
//! right by turns then: one knows what the other wrote, and is back before that one's next guess.
//! Under a lock each would wait for the other. The second guess that is wrong takes the lock, and
//! so does the first one of the turns behind it, until one is right: what the reads find may never
//! repeat.

use std::sync::Arc;
use std::time::Duration;

use super::decide::{Turn, Under, decide};
use super::driver::Driver;
use super::ending::{fail, observe, undecided};
use super::gather::Bound;
use super::known::{Known, may_guess};
use super::reads::{Pending, Reads, bytes, retain};
use super::section::Section;
use crate::command::Reply;
use crate::lease::Lease;
use crate::lock::Lock;
use crate::operation::RunOrLock;
use crate::resp;
use crate::runtime::{Instant, Runtime};
use crate::script;
use crate::transport::Transport;

/// A turn that has the lock.
pub(super) struct Found<S: Section, T: Transport, R: Runtime> {
    pub(super) lease: Lease<T, R>,
    pub(super) items: Vec<Arc<Pending<S::Item>>>,
    pub(super) reads: Reads,
    pub(super) replies: Vec<Reply>,
    pub(super) begun_at: Instant,
}

/// What became of it.
pub(super) enum Guess<S: Section, T: Transport, R: Runtime> {
    Ended,
    /// After so many requests: another has the lock; or nothing can be guessed, if there were none.
    NeedsLock(u32),
    /// What the reads found is known now, after so many requests.
    Wrong(u32),
    Locked(Found<S, T, R>),
}

/// A request that is later than this runs no writes. Its receipt lives for longer.
const LATEST: Duration = Duration::from_secs(20);

/// How often a turn asks though another has the lock. If the holder has such turns, too, the lock
/// is free when the second request arrives. Who holds it for longer, or waits for it, is waited for
/// in the queue.
const HELD: u32 = 2;

/// Guesses, if the section and the lock have such turns.
pub(super) async fn run<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    known: Known<'_>,
) -> Guess<S, T, R> {
    if !may_guess::<S, _, _>(lock) {
        return Guess::NeedsLock(0);
    }
    // Pauses are counted: clocks of different clients may have nothing in common.
    let come_back = known.seen.come_back(lock.key(), lock.runtime().now());
    let (most, within) = come_back.unwrap_or_default();
    let mut pauses = 0..within.as_millis();
    while turn.here() < most && pauses.next().is_some() {
        lock.runtime().sleep(Duration::from_millis(1)).await;
    }
    let (mut sent, mut held, mut is_wrong) = (0, 0, known.seen.is_in_vain(lock.key()));
    while held < HELD {
        let lock = lock.without(sent);
        if !lock.has_turns() {
            break;
        }
        let takes = is_wrong || !lock.without(1).has_turns();
        match once(section, turn, &lock, bound, known, takes).await {
            Guess::NeedsLock(0) => break,
            Guess::NeedsLock(requests) => {
                sent += requests;
                held += 1;
            }
            Guess::Wrong(requests) => {
                sent += requests;
                is_wrong = true;
            }
            outcome => return outcome,
        }
    }
    Guess::NeedsLock(sent)
}

async fn once<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    known: Known<'_>,
    takes: bool,
) -> Guess<S, T, R> {
    let begun_at = lock.runtime().now();
    let Some(mut items) = turn.ask(bound) else {
        return Guess::Ended;
    };
    let mut reads = Reads::of(items.iter().map(|item| &**item));
    let expected = known.seen.guess(lock.key(), &reads, begun_at);
    let with_text = expected.and_then(|expected| Some((resp::text(&expected.found)?, expected)));
    // If there is an error, who asks for the lock has it, too.
    let (Some((text, expected)), Ok(claim)) = (with_text, lock.new_claim()) else {
        return Guess::NeedsLock(0);
    };
    let Some(has) = turn.begin() else {
        return Guess::Ended;
    };
    retain(&mut items, &has);
    reads.retain(&has);
    if items.is_empty() {
        return end(turn);
    }
    let mut decided = {
        let under = Under {
            reads: &reads,
            replies: &expected.found,
            max_bytes: bound.bytes,
            fence: 0,
            check_writes: &|writes| claim.check_writes(writes),
            is_late: &|| false,
        };
        decide(section, turn, &items, &under)
    };
    let is_decided: Vec<_> = (0..items.len())
        .map(|place| decided.places.contains(&place))
        .collect();
    turn.put_back(|place| is_decided[place]);
    retain(&mut items, &is_decided);
    reads.retain(&is_decided);
    let common = match decided.writes.is_empty() {
        true => Vec::new(),
        false => known.in_common::<S, _, _>(lock, &reads, &decided.writes, bound),
    };
    let writes = [&decided.writes[..], &common].concat();
    if bytes(&reads.commands) + bytes(&writes) + text.len() > bound.bytes {
        turn.retreat();
        items.iter().for_each(|item| item.reopen());
        return Guess::NeedsLock(0);
    }
    // If this does not end, the next driver gives the lock back.
    if !turn.commit(&claim.token) {
        return Guess::Ended;
    }
    let lasts = lock.lasts().min(LATEST).as_micros() as u64;
    let guess = script::Guess {
        reads: &reads.commands,
        found: &text,
        writes: &writes,
        until_us: expected.redis_us.saturating_add(lasts),
        takes,
    };
    let count = items.len();
    match lock.guess(claim, &guess).await {
        Ok(RunOrLock::Ran { fence, mut replies }) => {
            let found = decided.split_off_found(&mut replies);
            if !decided.writes.is_empty() {
                known.meets(lock, &reads, reads.alone(decided.writers()));
                known.note::<S, _, _>(lock, fence, common.into_iter().zip(found), &reads);
            }
            let writers = decided.writers().count();
            known.habits.learn(lock.key(), 2 * writers >= count);
            let mut answers = std::mem::take(&mut decided.answers);
            let behind = answers.split_off(decided.first_write.min(count));
            answers.extend(decided.committed(behind, replies));
            // Behind a turn that took the lock nobody is waited for: others want it.
            (known.seen).ends(lock.key(), lock.runtime().now(), turn.here());
            let waiting = turn.end(answers);
            observe(lock, count, waiting, begun_at);
            Guess::Ended
        }
        Ok(RunOrLock::Lock(granted)) => {
            turn.retreat();
            let (lease, replies) = lock.granted(*granted);
            known.meets_others(lock, &reads, &expected.found, &replies);
            known.seen.was_in_vain(lock.key());
            Guess::Locked(Found {
                lease,
                items,
                reads,
                replies,
                begun_at,
            })
        }
        Ok(RunOrLock::Missed {
            redis_us,
            replies,
            requests,
        }) => {
            turn.retreat();
            known.meets_others(lock, &reads, &expected.found, &replies);
            let now = lock.runtime().now();
            (known.seen).learn(lock.key(), redis_us, now, &reads, &replies);
            for (at, item) in items.iter().enumerate() {
                if let Ok(found) = reads.replies(at, &replies) {
                    item.look(found);
                }
                item.reopen();
            }
            Guess::Wrong(requests)
        }
        Ok(RunOrLock::Held(requests)) => {
            turn.retreat();
            items.iter().for_each(|item| item.reopen());
            Guess::NeedsLock(requests)
        }
        Err(error) if error.is_outcome_unknown() => {
            known.seen.forget(lock.key());
            // An answer that depends on no write is not given either: its reads were guessed.
            let is_undecided = |place| place < decided.first_write;
            let told = |place| match is_undecided(place) {
                true => undecided(&error),
                false => error.clone(),
            };
            turn.end((0..count).map(|place| Err(told(place))).collect());
            Guess::Ended
        }
        Err(error) => {
            turn.retreat();
            fail(turn, count, &error);
            Guess::Ended
        }
    }
}

/// All callers have left.
fn end<I, A, S: Section, T: Transport, R: Runtime>(turn: &Driver<I, A>) -> Guess<S, T, R> {
    turn.put_back(|_| false);
    turn.end(Vec::new());
    Guess::Ended
}
