//! What the reads of an acquisition are said to have found.

use edgelock::Reply;

use super::{Check, Grant, Invariant, holder, log_of};
use crate::redis::Db;
use crate::world::Time;

/// What the log was when somebody began to ask.
pub(crate) struct Asking<'a> {
    lock: &'a str,
    begun: Time,
    log: Vec<u8>,
}

impl<'a> Asking<'a> {
    pub(crate) fn begin(lock: &'a str, begun: Time, db: &Db) -> Self {
        let log = log_of(lock, db).to_vec();
        Self { lock, begun, log }
    }
}

impl Check {
    /// The answer shows the log as it was at one moment since then. If the lock was granted, it
    /// shows at least what nobody else could change any more.
    pub(crate) fn found(
        &self,
        asking: &Asking<'_>,
        replies: &[Reply],
        granted: Option<&Grant>,
        db: &Db,
    ) {
        if self.lost_data.get().is_some_and(|at| asking.begun <= at) {
            return;
        }
        let now = log_of(asking.lock, db);
        let found = match replies {
            [Reply::Bytes(found)] => Some(found.as_slice()),
            [Reply::Nil] => Some(&[][..]),
            _ => None,
        };
        let has_it = granted.is_some() && holder(asking.lock, db).as_ref() == granted;
        let is_true = found.is_some_and(|found| {
            let is_between = found.starts_with(&asking.log) && now.starts_with(found);
            // Once this client has the lock, nobody else can write.
            is_between && (!has_it || found == now)
        });
        if !is_true {
            let lock = asking.lock;
            let what = format!("{replies:?} was found with {lock} granted as {granted:?}");
            self.fail(Invariant::ReadsAreTrue, what);
        }
    }
}
