//! What each script replies, as one value: read once, whichever script it was. What an inspection
//! reports about a lock.

use std::time::Duration;

use super::call::{Call, LONGEST_DEBOUNCE, Verb};
use super::reply::{each_of, millis_of, number, results_in, results_of, shape, text, time_left};
use crate::command::Reply;
use crate::error::{Error, Fault, Reason, ReservationError};
use crate::name::read_label;
use crate::outside;
use crate::token::Token;

/// What a script replied.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The lock is granted under this fence, and the reads found that.
    Granted {
        fence: u64,
        replies: Vec<Reply>,
    },
    /// The commands of a guess ran, under this fence. Without commands, this was Redis's time in
    /// microseconds.
    Ran {
        fence: u64,
        replies: Vec<Reply>,
    },
    /// The reads of a guess found something else, at this time of Redis's. Nothing ran.
    Missed {
        redis_us: u64,
        replies: Vec<Reply>,
    },
    /// Another has the lock, or it is kept for a waiter.
    Held(Contended),
    /// This server has no say yet, for so long.
    Quarantined(Duration),
    /// It was executed before, and this is what is kept of it.
    Kept(String),
    /// Something else was executed under the same key, or is being.
    Mismatch,
    /// The token had ended before; only a straggler gets to hear this.
    Gone,
    Renewed(Renewed),
    /// It is done, and the commands replied this.
    Done(Vec<Reply>),
    /// It is not: the lock is not the caller's; nothing was there; another call came in between.
    NotDone,
    /// Not before so long.
    Wait(Duration),
    Inspected(Box<Inspection>),
}

/// Why a lock was not had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Contended {
    /// The time that the holder has left, or the waiter that it is kept for; `None` without end.
    pub(crate) remaining: Option<Duration>,
    /// How many wait before this one.
    pub(crate) ahead: u64,
    /// Redis's clock when it said so, in microseconds; the last fence, if the clock is behind that.
    pub(crate) redis_us: u64,
    /// What the holder lets others know of itself.
    pub(crate) label: Option<String>,
    /// What the reads found, if they were asked for in any case.
    pub(crate) replies: Vec<Reply>,
    /// Of several names that are locked at once: the place of the one that is held, from 1.
    pub(crate) at: Option<usize>,
    /// For how long another of them is kept free for this waiter. It should ask again then.
    pub(crate) kept: Option<Duration>,
}

/// What a lease has after a renewal.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Renewed {
    /// 0 where Redis does not know it any more.
    pub(crate) fence: u64,
    /// From when its request was executed, at least.
    pub(crate) ttl: Duration,
    pub(crate) replies: Vec<Reply>,
}

impl Answer {
    /// What a verdict, and what follows it, say to `call`.
    ///
    /// # Errors
    /// It says nothing of the kind, or one of the call's commands failed.
    pub(crate) fn read(call: &Call, verdict: i64, rest: &[Reply]) -> Result<Self, Fault> {
        use Verb::{Acquire, Act, Inspect, Pace, Renew, Turn};
        let results = |results| match call.tells_each {
            true => each_of(results),
            false => results_of(results),
        };
        Ok(match (call.verb, verdict, rest) {
            (Acquire | Turn, 1, [fence, found]) => {
                Self::Granted { fence: number(fence)?, replies: results(found)? }
            }
            (Acquire, 0, held) => Self::Held(contended(held)?),
            (Acquire, 2, [kept]) => Self::Kept(kept_of(kept)?),
            (Acquire, -1, []) => Self::Gone,
            (Acquire, -2, [left]) => Self::Quarantined(millis_of(left)?),
            (Acquire, -3, []) => Self::Mismatch,
            (Turn, 2, [fence, replies]) => {
                Self::Ran { fence: number(fence)?, replies: results(replies)? }
            }
            (Turn, 3, [now, found]) => {
                Self::Missed { redis_us: number(now)?, replies: results(found)? }
            }
            // A repeat of a request that found it held is a straggler.
            (Turn, -1, []) | (Turn | Renew | Act | Pace, 0, []) => Self::NotDone,
            (Renew, 1, [renewed]) => Self::Renewed(renewed_of(text(renewed)?)?),
            (Renew | Act, -1, []) => return Err(Fault::refused(REPLACED.into(), true)),
            (Act | Pace, 1, []) => Self::Done(Vec::new()),
            (Act, 1, [replies]) => Self::Done(results(replies)?),
            // Somebody holds the lock who must not be disturbed.
            (Act, 2, [left, label]) => return held(left, label),
            (Acquire | Renew | Act, -5, [why]) => return Err(not_reserved(text(why)?)?.into()),
            (Inspect, 1, [found]) => Self::Inspected(Inspection::of(&results(found)?)?.into()),
            (Pace, 0 | 2, [left]) => Self::Wait(millis_of(left)?),
            (Pace, 1, [wait]) => match millis_of(wait)? {
                wait if wait <= LONGEST_DEBOUNCE => Self::Wait(wait),
                _ => return Err(shape()),
            },
            (Pace, -1, []) => {
                let gone = Fault::refused(FORGOTTEN.into(), false);
                return Err(gone.because(Some(Reason::Forgotten)));
            }
            _ => return Err(shape()),
        })
    }

    /// The replies of the commands, or `None` if it is not done.
    pub(crate) fn replies(self) -> Result<Option<Vec<Reply>>, Fault> {
        match self {
            Self::Done(replies) => Ok(Some(replies)),
            Self::NotDone => Ok(None),
            _ => Err(shape()),
        }
    }

    /// Whether it is done.
    pub(crate) fn done(self) -> Result<bool, Fault> {
        Ok(self.replies()?.is_some())
    }

    pub(crate) fn inspection(self) -> Result<Inspection, Fault> {
        match self {
            Self::Inspected(found) => Ok(*found),
            _ => Err(shape()),
        }
    }
}

/// For a repeat of a write that was executed, and whose receipt was replaced by another handler's
/// write. Asking again would not find it.
const REPLACED: &str = "another handler wrote with the same token before this write was answered";

/// Asking again would not find it.
const FORGOTTEN: &str = "Redis knows nothing of this call any more: it asked more than a minute too late, or Redis lost its data";

#[inline(never)]
fn contended(held: &[Reply]) -> Result<Contended, Fault> {
    let [left, ahead, time, label, more @ ..] = held else {
        return Err(shape());
    };
    let number_at = |at| more.get(at).map(number).transpose();
    let (at, kept) = (number_at(1)?, number_at(2)?);
    Ok(Contended {
        remaining: time_left(left)?,
        ahead: number(ahead)?,
        redis_us: number(time)?,
        label: read_label(text(label)?),
        replies: more.first().map_or_else(|| Ok(Vec::new()), results_of)?,
        at: at.and_then(|at| at.try_into().ok()),
        kept: kept.map(Duration::from_millis),
    })
}

fn held(left: &Reply, label: &Reply) -> Result<Answer, Fault> {
    let left = time_left(left)?;
    Err(Fault::held(left, read_label(text(label)?)))
}

fn not_reserved(code: &str) -> Result<Error, Fault> {
    let (lock, kind) = (String::new(), ReservationError::of_code(code));
    Ok(Error::Reservation { lock, kind: kind.ok_or_else(shape)? })
}

/// The text that is kept.
fn kept_of(reply: &Reply) -> Result<String, Fault> {
    let kept = results_of(reply)?;
    let [kept] = kept.as_slice() else {
        return Err(shape());
    };
    text(kept).map(str::to_owned)
}

/// `<fence> <ttl> <replies>`.
fn renewed_of(text: &str) -> Result<Renewed, Fault> {
    let mut words = text.splitn(3, ' ');
    let mut number = || outside::number(words.next()?);
    let (Some(fence), Some(ms)) = (number(), number()) else {
        return Err(shape());
    };
    Ok(Renewed {
        fence,
        ttl: Duration::from_millis(ms),
        replies: results_in(words.next().unwrap_or_default())?,
    })
}

/// The state of a lock at one instant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Inspection {
    /// The holder, if the lock is held. If several hold it, the first of [`Inspection::holders`].
    pub holder: Option<Holder>,
    /// All holders. For a semaphore, for reservations, and for a read/write lock that is read, in
    /// the order in which they end; for several names or limits, each one that has any of them; for
    /// any other lock, one at most.
    pub holders: Vec<Holder>,
    /// For a semaphore or reservations: how many permits or units are free, out of as many as this
    /// `Lock` counts; for several limits, for how many more leases there is room. Else `None`.
    pub free: Option<u64>,
    /// For reservations: how many units are confirmed. `None` for any other lock.
    pub confirmed: Option<u64>,
    /// Of a read/write lock: whether those who hold it are readers. `false` of any other lock.
    pub is_read: bool,
    /// The last fence that was issued, as long as Redis remembers it.
    pub fence: Option<u64>,
    /// How many waiters are in the queue. Those that died a short while ago may be among them.
    pub waiters: u64,
    /// For a [quorum](crate::Client::quorum): the least time until a majority of its servers has a
    /// say. Too many were started recently, and may have lost the lock. `None` if a majority has a
    /// say or names a holder, and if there is only one server.
    pub quarantine_remaining: Option<Duration>,
}

/// A holder of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// The holder's token, or whatever another program stored. For a reentrant lock, the owner.
    pub token: Token,
    /// For a reentrant lock: how often the owner has taken it. For a semaphore or reservations: how
    /// many permits or units it has. Otherwise 1.
    pub count: u64,
    /// Its time left, by Redis's clock; `None` if the lock has no expiry.
    pub remaining: Option<Duration>,
    /// Its label, set by [`Lock::label`](crate::Lock::label).
    pub label: Option<String>,
}

impl Inspection {
    /// What the reads of an inspection found.
    #[inline(never)]
    fn of(found: &[Reply]) -> Result<Self, Fault> {
        let [holder, count, left, fence, waiters, missing, several @ ..] = found else {
            return Err(shape());
        };
        let confirmed = several.get(2).map(number).transpose()?;
        let (several, free, is_read) = match several {
            [several, free, _] => (Some(several_in(several)?), Some(number(free)?), false),
            [] => (None, None, false),
            [readers] => (Some(several_in(readers)?), None, true),
            [holders, Reply::Nil] => (Some(several_in(holders)?), None, false),
            [several, free] => {
                let free = number(free)?;
                (Some(several_in(several)?), Some(free), false)
            }
            _ => return Err(shape()),
        };
        // '<last fence> <token> <fence> <ttl> <until> <label>;…': the present hold, or the last
        // one; several of them only where their holders are told apart.
        let hold = fence.as_str().unwrap_or_default().split(';').next();
        let mut hold = hold.unwrap_or_default().split(' ');
        let last = hold.next().and_then(outside::number);
        let (whose, label) = (hold.next(), hold.nth(3).and_then(read_label));
        let holder = match holder {
            Reply::Bytes(token) => Some(Holder {
                label: label.filter(|_| holder.as_str() == whose),
                token: foreign(token),
                count: number(count)?,
                remaining: time_left(left)?,
            }),
            _ => None,
        };
        let holders = several.unwrap_or_else(|| holder.into_iter().collect());
        Ok(Self {
            holder: holders.first().cloned(),
            holders,
            free,
            confirmed,
            is_read,
            fence: last,
            waiters: number(waiters)?,
            quarantine_remaining: number(missing)
                .ok()
                .filter(|ms| *ms > 0)
                .map(Duration::from_millis),
        })
    }
}

fn foreign(token: &[u8]) -> Token {
    Token::foreign(&outside::lossy(token))
}

/// Several holders, each as token, milliseconds left, label, and, of a semaphore, how many permits.
fn several_in(holders: &Reply) -> Result<Vec<Holder>, Fault> {
    let mut all = Vec::new();
    for holder in holders.as_array().ok_or_else(shape)? {
        let Some([Reply::Bytes(token), left, label, weight @ ..]) = holder.as_array() else {
            return Err(shape());
        };
        all.push(Holder {
            token: foreign(token),
            count: weight.first().map_or(Ok(1), number)?,
            remaining: time_left(left)?,
            label: read_label(text(label)?),
        });
    }
    Ok(all)
}
