//! A turn of one request: without the lock, or under a lock that was handed over.
//!
//! ```text
//!  nothing is known, or several compete ──────────▶ the turn waits for the lock
//!        │ known                                        ▲       │ handed over
//!        ▼                                              │ held  ▼
//!  decide by a guess ──▶ send ──┬── right: all are told │     decide by what its last holder
//!        ▲                      ├───────────────────────┘     left ──▶ send ──┬── right
//!        └──────────────────────┤ wrong                                       │ wrong
//!                               └── wrong thrice: the turn has the lock, ◀────┘
//!                                   and decides once more
//! ```
//!
//! The items are decided by what their reads will find: what the last turn left, and nothing for
//! keys that were not read before. One script compares, and runs the writes only if that is so and
//! nobody has the lock or waits for it. So each item was decided by exactly the state that its
//! writes change, as under the lock. Otherwise the script tells what the reads found, and leaves a
//! mark that no copy of the request passes.
//!
//! A guess that is wrong leaves the lock free. Two processes that write all the time are right by
//! turns then: who was right lets the other go first ([`Seen::pause`]), and the other knows by then
//! what that one wrote. Under a lock each would wait for the other. The third guess that is wrong
//! takes the lock, and so does the first one of the turns behind it, until one is right: what the
//! reads find may never repeat.
//!
//! [`Seen::pause`]: super::seen::Seen::pause
//!
//! Of several processes most guesses are wrong. So a turn that met a queue is followed by turns
//! that stand in it. Who gives the lock on tells the next holder what its shared reads find behind
//! its writes. So such a turn takes the lock for one round trip, too.

use std::time::Duration;

use super::decide::{Decided, Section, Under, decide};
use super::driver::Driver;
use super::reads::{Reads, bytes, retain};
use super::seen::Expected;
use super::work::{Found, Guessed, Work};
use crate::command::Reply;
use crate::operation::{Claim, Granted, RunOrLock};
use crate::resp;
use crate::runtime::Runtime;
use crate::script::{self, IfWrong, Left};
use crate::transport::Transport;

/// What one guess comes to.
enum Tried<S: Section, T: Transport, R: Runtime> {
    /// Nothing is left to do: all callers are told or have left, or another caller drives.
    Done,
    /// The turn has the lock, and is to decide once more.
    Locked(Box<Found<S, T, R>>),
    /// Nothing can be guessed, and no request was sent.
    Unable,
    /// Another has the lock, after so many requests.
    Held(u32),
    /// What the reads found is known now, after so many requests.
    Wrong(u32),
}

/// A request that is later than this runs no writes. Its receipt lives for longer.
const LATEST: Duration = Duration::from_secs(20);

/// How often a turn asks though another has the lock. If the holder has such turns, too, the lock
/// is free when the second request arrives. Who holds it for longer, or waits for it, is waited for
/// in the queue.
const HELD: u32 = 2;

/// So many guesses of a turn leave the lock free if they are wrong.
const LEAVING: u32 = 2;

/// So many items share the requests of a wait.
const MANY: usize = 2;

/// Guesses, if the section and the lock have such turns. Returns a turn that has the lock, if it is
/// not done.
///
/// # Errors
/// It must wait for the lock. So many requests were sent.
pub(super) async fn run<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
) -> Result<Option<Found<S, T, R>>, u32> {
    let Work { turn, lock, known, .. } = *work;
    if !work.may_guess() || known.seen.is_crowded(lock.key()) && turn.here() >= MANY {
        return Err(0);
    }
    // Pauses are counted: clocks of different clients may have nothing in common.
    let pause = known.seen.pause(lock.key(), lock.runtime().now());
    let (most, within) = pause.unwrap_or_default();
    let mut pauses = 0..within.as_millis();
    while turn.here() < most && pauses.next().is_some() {
        lock.runtime().sleep(Duration::from_millis(1)).await;
    }
    let (mut sent, mut held) = (0, 0);
    let mut leaving = match known.seen.is_in_vain(lock.key()) {
        true => 0,
        false => LEAVING,
    };
    while held < HELD {
        let lock = lock.without(sent);
        if !lock.has_turns() || sent > 0 && work.left().is_zero() {
            break;
        }
        let if_wrong = match leaving == 0 || !lock.without(1).has_turns() {
            true => IfWrong::Takes,
            false => IfWrong::Leaves,
        };
        let work = Work { lock: &lock, ..*work };
        match once(&work, if_wrong).await {
            Tried::Done => return Ok(None),
            Tried::Locked(found) => return Ok(Some(*found)),
            Tried::Unable => break,
            Tried::Held(requests) => {
                sent += requests;
                held += 1;
            }
            Tried::Wrong(requests) => {
                sent += requests;
                leaving -= 1;
            }
        }
    }
    Err(sent)
}

/// Decides by what the last holder of the lock left, who handed the lock over. Returns a turn that
/// still has the lock.
pub(super) async fn handed<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
    granted: Granted,
    left: &Left,
) -> Option<Found<S, T, R>> {
    let guessed = match prepare(work, Some(left)) {
        Ok(guessed) => {
            // A driver that was passed over must not write.
            if !granted.claim.use_up() {
                return None;
            }
            guessed
        }
        Err(Tried::Unable) => reading(work)?,
        Err(_) => {
            drop(work.lock.granted(granted));
            return None;
        }
    };
    match send(work, granted.claim, guessed, IfWrong::Keeps).await {
        Tried::Done => None,
        Tried::Locked(found) => Some(*found),
        // It was lost.
        _ => {
            end(work.turn);
            None
        }
    }
}

async fn once<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
    if_wrong: IfWrong,
) -> Tried<S, T, R> {
    // If there is an error, who asks for the lock has it, too.
    let Ok(claim) = work.lock.new_claim() else {
        return Tried::Unable;
    };
    match prepare(work, None) {
        Ok(guessed) => send(work, claim, guessed, if_wrong).await,
        Err(unsent) => unsent,
    }
}

/// Nothing is known: it only learns what the reads find.
fn reading<S: Section, T: Transport, R: Runtime>(work: &Work<'_, S, T, R>) -> Option<Guessed<S>> {
    let items = work.turn.ask(work.bound)?;
    let reads = Reads::of(items.iter().map(|item| &**item));
    // One reply more than there are reads, which no reads find.
    let found = vec![Reply::Nil; reads.commands.len() + 1];
    Some(Guessed {
        items,
        reads,
        text: resp::text(&found)?,
        expected: Expected { redis_us: 0, found },
        decided: Decided::NOTHING,
        common: Vec::new(),
        begun_at: work.lock.runtime().now(),
    })
}

/// Decides by what the reads will find, as far as that is known.
///
/// # Errors
/// It is not to be sent: it is `Done` or `Unable`.
fn prepare<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
    left: Option<&Left>,
) -> Result<Guessed<S>, Tried<S, T, R>> {
    let Work { turn, lock, bound, known, .. } = *work;
    let begun_at = lock.runtime().now();
    let Some(mut items) = turn.ask(bound) else {
        return Err(Tried::Done);
    };
    let mut reads = Reads::of(items.iter().map(|item| &**item));
    if let Some(left) = left {
        (known.seen).left(lock.key(), begun_at, &reads, left);
    }
    let expected = known.seen.guess(lock.key(), &reads, begun_at);
    let with_text = expected.and_then(|expected| Some((resp::text(&expected.found)?, expected)));
    let Some((text, expected)) = with_text else {
        return Err(Tried::Unable);
    };
    let Some(has) = turn.begin() else {
        return Err(Tried::Done);
    };
    retain(&mut items, &has);
    reads.retain(&has);
    if items.is_empty() {
        end(turn);
        return Err(Tried::Done);
    }
    let decided = {
        let under = Under {
            reads: &reads,
            replies: &expected.found,
            max_bytes: bound.bytes,
            fence: 0,
            lock: &lock.settings,
            is_late: &|| false,
        };
        decide(work.section, turn, &items, &under)
    };
    let is_decided: Vec<_> =
        (0..items.len()).map(|place| decided.places.contains(&place)).collect();
    turn.put_back(|place| is_decided[place]);
    retain(&mut items, &is_decided);
    reads.retain(&is_decided);
    let common = match decided.writes.is_empty() && left.is_none() {
        true => Vec::new(),
        false => work.in_common(&reads, &decided.writes),
    };
    if bytes(&reads.commands) + bytes(&decided.writes) + bytes(&common) + text.len() > bound.bytes {
        turn.retreat();
        items.iter().for_each(|item| item.reopen());
        return Err(Tried::Unable);
    }
    Ok(Guessed { items, reads, expected, text, decided, common, begun_at })
}

async fn send<S: Section, T: Transport, R: Runtime>(
    work: &Work<'_, S, T, R>,
    claim: Claim,
    guessed: Guessed<S>,
    if_wrong: IfWrong,
) -> Tried<S, T, R> {
    let Work { turn, lock, .. } = *work;
    // If this does not end, the next driver gives the lock back.
    if !guessed.decided.places.is_empty() && !turn.commit(&claim.token) {
        return Tried::Done;
    }
    let lasts = lock.lasts().min(LATEST).as_micros() as u64;
    let guess = script::Guess {
        reads: &guessed.reads.commands,
        found: &guessed.text,
        writes: &[&guessed.decided.writes[..], &guessed.common].concat(),
        told: guessed.common.len(),
        until_us: guessed.expected.redis_us.saturating_add(lasts),
        if_wrong,
    };
    let outcome = lock.guess(claim, &guess).await;
    match outcome {
        Ok(RunOrLock::Ran { fence, replies }) => {
            guessed.ran(work, fence, replies);
            Tried::Done
        }
        Ok(RunOrLock::Lock(granted)) => Tried::Locked(guessed.locked(work, *granted).into()),
        Ok(RunOrLock::Missed { redis_us, replies, requests }) => {
            guessed.missed(work, redis_us, &replies);
            Tried::Wrong(requests)
        }
        Ok(RunOrLock::Held(requests)) => {
            turn.retreat();
            guessed.items.iter().for_each(|item| item.reopen());
            Tried::Held(requests)
        }
        Err(error) => {
            guessed.failed(work, &error);
            Tried::Done
        }
    }
}

/// Its items, if any are left, wait for another turn.
fn end<I, A>(turn: &Driver<I, A>) {
    turn.put_back(|_| false);
    turn.end(Vec::new());
}
