//! What an inspection reports about a lock.

use std::time::Duration;

use super::reply::{number, shape, text, time_left};
use crate::command::Reply;
use crate::error::Fault;
use crate::label;
use crate::outside;
use crate::token::Token;

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
    pub(super) fn of(found: &[Reply]) -> Result<Self, Fault> {
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
        let (whose, label) = (hold.next(), hold.nth(3).and_then(label::read));
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
            label: label::read(text(label)?),
        });
    }
    Ok(all)
}
