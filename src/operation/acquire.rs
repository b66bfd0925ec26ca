//! Acquiring a lock: asks, waits for its turn, and cleans up after itself.
//!
//! ```text
//!             ┌───────── time to ask, or news ─────────┐
//!             ▼                                        │
//! New ──▶ an attempt ── held, or away, with a wait ──▶ Pausing
//!             │                                        │
//!             └── granted, kept, or in vain ──▶ done ◀─┘ handed over, or in vain
//! ```
//!
//! `attempt.rs` is an attempt, and `waiting.rs` is the wait. It listens meanwhile where the bridge
//! lets it. Whatever it comes to but a grant, `ending.rs` gives back in the background what was
//! asked for.

mod attempt;
mod ending;
mod request;
mod waiting;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use super::ask::Ask;
use super::backoff::Backoff;
use super::schedule::Schedule;
use super::subscription::Subscription;
use super::{Claim, Cx, Hold, Id, Input, Operation, Why};
use crate::command::Reply;
use crate::error::Fault;
use crate::event::EventKind;
use crate::nanos::Nanos;
use crate::runtime::Instant;
use crate::script::{Call, Contended, Left, Waiter, shape};

/// How patient an acquisition is.
pub(crate) struct AcquireOptions {
    /// For how long it waits, if it does.
    pub(crate) wait: Option<Duration>,
    pub(crate) max_requests: u32,
    pub(crate) fair: bool,
    /// Whether it has what its reads found even if it is not granted.
    pub(crate) reads_in_any_case: bool,
    pub(crate) turn: Option<OfTurn>,
}

/// It is for a shared turn: a read that failed is a reply, and does not fail it.
#[derive(Clone, Copy)]
pub(crate) struct OfTurn {
    /// What the last holder left is as good as its reads.
    pub(crate) guesses: bool,
    /// It listens from its first request on, since it expects to wait.
    pub(crate) listens: bool,
}

/// Takes a lock, or waits for it as its options say.
pub(crate) struct Acquire {
    claim: Claim,
    options: AcquireOptions,
    call: Arc<Call>,
    /// What is to be read is asked for anew before each attempt.
    inquires: bool,
    waiter: Option<Waiter>,
    /// Whether a lease that was handed over is complete, or something is still to be asked for.
    accepts_handover: bool,
    has_reads: bool,
    /// It was told that the lock is its own.
    is_handed: bool,
    /// Whether the lock may be, or may yet become, this token's, or it stands in the queue.
    needs_cleanup: bool,
    requests: u32,
    /// How many more a call under way may have sent that was dropped.
    uncounted: u32,
    /// How often it asked several bridges.
    tries: u32,
    /// Its first attempt has had all the requests that one has; those behind it are the wait's.
    has_asked: bool,
    /// It waits, or its wait is over, and nothing has come of that yet.
    waits: bool,
    wait: Wait,
    step: Step,
    /// What a step that asks waits for.
    ask: Option<Ask>,
}

enum Step {
    New,
    /// Asks, and whether there was something to give back before.
    Asking(Whom, bool),
    /// A majority granted it. Now they raise its fence.
    Raising(Grant),
    /// Pauses after a vote that failed.
    Revoting(Id),
    Pausing(Pause),
    Done,
}

/// Whom an attempt asks.
#[derive(Clone, Copy)]
enum Whom {
    One,
    /// The one of several bridges that all contenders for this lock ask first.
    First,
    /// All of several.
    Vote,
}

/// What is known of its wait.
struct Wait {
    end: Instant,
    schedule: Schedule,
    /// For votes that failed.
    backoff: Option<Backoff>,
    subscription: Subscription,
    /// Until when it counts as listening while it connects.
    connected_by: Instant,
    /// When to listen for the first time, or again after the stream has ended.
    listen_at: Option<Instant>,
    /// It has one from its first pause on.
    place: Option<Place>,
    /// It was told that another holds the lock, and has begun to wait for that.
    has_begun: bool,
    /// When its last attempt began.
    asked_at: Instant,
    /// What was heard during an attempt, and may have come after the answer.
    message: Option<String>,
    is_confirmed: bool,
    /// What the last answer said of the lock.
    found: Option<HeldBy>,
    /// How the last request got lost of which nobody knows what became.
    unknown: Option<Fault>,
    /// How the last attempt failed, if it did.
    failed: Option<Fault>,
}

/// A pause of a wait.
#[derive(Default)]
struct Pause {
    /// When to ask, and by which rule.
    planned: Option<(Rule, Instant)>,
    timer: Option<Id>,
    /// Whether it is time to ask when the timer ends, or only to listen.
    is_to_ask: bool,
}

/// What a pause is planned by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// The last request got lost.
    Lost,
    /// The waiter hears of its turn.
    Hears,
    Polls,
}

impl Acquire {
    /// Goes on until it waits for something else, or is done.
    fn next(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Attempted> {
        let heard = self.wait.subscription.on(cx.now, &input);
        match std::mem::replace(&mut self.step, Step::Done) {
            Step::Pausing(pause) => self.paused(cx, pause, &input, heard),
            step => {
                self.note(heard);
                let attempted = self.attempt(cx, step, input)?;
                self.go_on(cx, attempted)
            }
        }
    }

    fn step(&mut self, step: Step) -> Option<Attempted> {
        self.step = step;
        None
    }
}

impl Operation for Acquire {
    type Outcome = Result<Taken, Fault>;

    /// Gives back what was asked for, unless the outcome is a lock.
    fn on(&mut self, cx: &mut Cx<'_>, input: Input) -> Option<Self::Outcome> {
        Some(match self.next(cx, input)? {
            Attempted::Granted(grant) => Ok(Taken::Lock(self.granted(cx, grant))),
            Attempted::Kept(result) => {
                self.served(cx);
                Ok(Taken::Result(result))
            }
            Attempted::Held(found) if self.options.reads_in_any_case => {
                self.give_up(cx);
                Ok(Taken::Held(found.contended.replies))
            }
            Attempted::Held(found) => {
                let held = self.held(cx.now, found.contended, None);
                self.give_up(cx);
                Err(held)
            }
            Attempted::Gone => {
                self.give_up(cx);
                Err(Why::Lost.about(self.claim.shown()))
            }
            Attempted::Failed(fault) => {
                self.give_up(cx);
                Err(fault)
            }
        })
    }

    /// A call may be under way, whose outcome nobody gets.
    fn cancel(&mut self, cx: &mut Cx<'_>) {
        self.uncounted = self.claim.lock.topology.requests_of_a_call();
        self.give_up(cx);
    }
}

/// The claim has the lock.
pub(crate) struct Granted {
    pub(crate) claim: Claim,
    pub(crate) deadline: Instant,
    pub(crate) fence: u64,
    pub(crate) replies: Vec<Reply>,
    pub(crate) left: Option<Left>,
    /// How many waited ahead of it when it was told last that another had the lock.
    pub(crate) ahead: u64,
}

impl Granted {
    /// Tells it to observers, too. It took so many `requests`.
    pub(crate) fn of(claim: &Claim, cx: &Cx<'_>, requests: u32, grant: Grant) -> Self {
        let waited = cx.now.since(claim.since);
        let kind = EventKind::Acquired { waited, requests };
        claim.observe(cx.host(), kind);
        Self::again(claim, cx, grant)
    }

    /// Observers know it.
    pub(crate) fn again(claim: &Claim, cx: &Cx<'_>, grant: Grant) -> Self {
        Self {
            claim: Claim { since: cx.now, ..claim.clone() },
            deadline: grant.deadline,
            fence: grant.fence,
            replies: claim.quoted(grant.replies),
            left: grant.left,
            ahead: 0,
        }
    }

    /// The hold that begins, and the replies to the reads.
    pub(crate) fn into_hold(self) -> (Hold, Vec<Reply>) {
        let ttl = self.claim.ttl();
        let hold = Hold::new(self.claim, self.fence, Some(ttl), Some(self.deadline));
        (hold, self.replies)
    }
}

/// The lock was granted until `deadline`.
pub(crate) struct Grant {
    pub(crate) deadline: Instant,
    pub(crate) fence: u64,
    pub(crate) replies: Vec<Reply>,
    /// It was handed over with this, and the reads were not made.
    pub(crate) left: Option<Left>,
}

/// What an attempt, and then the acquisition, comes to.
enum Attempted {
    Granted(Grant),
    /// The work was executed before, and this is its kept result.
    Kept(String),
    Held(HeldBy),
    /// Its token has ended, so it never has the lock.
    Gone,
    Failed(Fault),
}

/// What an answer said of a lock that another holder has.
struct HeldBy {
    contended: Contended,
    /// Read before the request left, and how long its answer took.
    asked_at: Instant,
    round_trip: Nanos,
}

/// What there is to have: the lock, or what was done under it.
pub(crate) enum Taken {
    Lock(Granted),
    /// The work was executed before, and this is its kept result.
    Result(String),
    /// Another has the lock. That is no error if it reads in any case: these are the replies.
    Held(Vec<Reply>),
}

impl Taken {
    /// Of an acquisition that comes to nothing else.
    pub(crate) fn lock(self) -> Result<Granted, Fault> {
        match self {
            Self::Lock(granted) => Ok(granted),
            Self::Result(_) | Self::Held(_) => Err(shape()),
        }
    }
}

/// As many as may wait for one lock. Each takes memory for as long as it waits.
const MOST: usize = 10_000;

/// In an isolate all requests share it, though each has a client of its own.
static TAKEN: AtomicUsize = AtomicUsize::new(0);

/// The place of one that waits. Whoever drops it makes room for another.
struct Place;

impl Place {
    /// A place, if one is free.
    fn take() -> Option<Self> {
        let more = |taken| (taken < MOST).then_some(taken + 1);
        TAKEN.fetch_update(Relaxed, Relaxed, more).ok()?;
        Some(Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Relaxed);
    }
}
