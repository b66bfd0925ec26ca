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

use std::time::Duration;

use super::decide::{Turn, Under, decide};
use super::driver::Driver;
use super::gather::Bound;
use super::guessed::{Found, Guessed};
use super::known::{Known, may_guess};
use super::reads::{Reads, bytes, retain};
use super::section::Section;
use crate::lock::Lock;
use crate::operation::RunOrLock;
use crate::resp;
use crate::runtime::Runtime;
use crate::script;
use crate::transport::Transport;

/// What one guess comes to.
enum Tried<S: Section, T: Transport, R: Runtime> {
    /// All callers are told; or the turn has the lock, and is to decide once more.
    Done(Option<Found<S, T, R>>),
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

/// Guesses, if the section and the lock have such turns. Returns a turn that has the lock, if it is
/// not done.
///
/// # Errors
/// It must wait for the lock. So many requests were sent.
pub(super) async fn run<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    known: Known<'_>,
) -> Result<Option<Found<S, T, R>>, u32> {
    if !may_guess::<S, _, _>(lock) {
        return Err(0);
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
            Tried::Done(found) => return Ok(found),
            Tried::Unable => break,
            Tried::Held(requests) => {
                sent += requests;
                held += 1;
            }
            Tried::Wrong(requests) => {
                sent += requests;
                is_wrong = true;
            }
        }
    }
    Err(sent)
}

async fn once<S: Section, T: Transport, R: Runtime>(
    section: &S,
    turn: &Turn<S>,
    lock: &Lock<T, R>,
    bound: Bound,
    known: Known<'_>,
    takes: bool,
) -> Tried<S, T, R> {
    let begun_at = lock.runtime().now();
    let Some(mut items) = turn.ask(bound) else {
        return Tried::Done(None);
    };
    let mut reads = Reads::of(items.iter().map(|item| &**item));
    let expected = known.seen.guess(lock.key(), &reads, begun_at);
    let with_text = expected.and_then(|expected| Some((resp::text(&expected.found)?, expected)));
    // If there is an error, who asks for the lock has it, too.
    let (Some((text, expected)), Ok(claim)) = (with_text, lock.new_claim()) else {
        return Tried::Unable;
    };
    let Some(has) = turn.begin() else {
        return Tried::Done(None);
    };
    retain(&mut items, &has);
    reads.retain(&has);
    if items.is_empty() {
        return end(turn);
    }
    let decided = {
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
        return Tried::Unable;
    }
    // If this does not end, the next driver gives the lock back.
    if !turn.commit(&claim.token) {
        return Tried::Done(None);
    }
    let lasts = lock.lasts().min(LATEST).as_micros() as u64;
    let guess = script::Guess {
        reads: &reads.commands,
        found: &text,
        writes: &writes,
        until_us: expected.redis_us.saturating_add(lasts),
        takes,
    };
    let outcome = lock.guess(claim, &guess).await;
    let guessed = Guessed {
        items,
        reads,
        expected: expected.found,
        decided,
        common,
        begun_at,
    };
    match outcome {
        Ok(RunOrLock::Ran { fence, replies }) => {
            guessed.ran(turn, lock, known, fence, replies);
            Tried::Done(None)
        }
        Ok(RunOrLock::Lock(granted)) => {
            Tried::Done(Some(guessed.locked(turn, lock, known, *granted)))
        }
        Ok(RunOrLock::Missed {
            redis_us,
            replies,
            requests,
        }) => {
            guessed.missed(turn, lock, known, redis_us, &replies);
            Tried::Wrong(requests)
        }
        Ok(RunOrLock::Held(requests)) => {
            turn.retreat();
            guessed.items.iter().for_each(|item| item.reopen());
            Tried::Held(requests)
        }
        Err(error) => {
            guessed.failed(turn, lock, known, &error);
            Tried::Done(None)
        }
    }
}

/// All callers have left.
fn end<I, A, S: Section, T: Transport, R: Runtime>(turn: &Driver<I, A>) -> Tried<S, T, R> {
    turn.put_back(|_| false);
    turn.end(Vec::new());
    Tried::Done(None)
}
