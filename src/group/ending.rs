//! What becomes of a turn in vain, and what observers hear of one that was not.

use super::driver::Driver;
use super::reads::Pending;
use crate::error::{Error, Fault};
use crate::event::EventKind;
use crate::lock::Lock;
use crate::runtime::{Instant, Runtime};
use crate::transport::Transport;

/// Nothing could be read.
///
/// - Each item that the turn began with gets the reason.
/// - If the driver's wait is over, only the driver gets it: the others have waits of their own.
/// - If the replies are too large together, the items have smaller turns.
pub(super) fn fail<I, A>(turn: &Driver<Pending<I>, A>, asked: usize, error: &Error) {
    if let Error::Held { .. } = error {
        turn.put_back_others();
    }
    if error.code() == "too_large" && turn.shrink(asked) {
        turn.end(Vec::new());
        return;
    }
    turn.fail(&undecided(error));
}

/// The same error, of items for which nothing was done or was to be done. An unknown outcome is
/// about the lock, or about the writes of others.
pub(super) fn undecided(error: &Error) -> Error {
    if !error.is_outcome_unknown() {
        return error.clone();
    }
    let message = error.clone().of_lock(None).to_string();
    let told = if error.is_passing() {
        Fault::unavailable(message, false)
    } else {
        Fault::refused(message, false)
    };
    told.of_lock(error.lock()).into()
}

pub(super) fn observe<T: Transport, R: Runtime>(
    lock: &Lock<T, R>,
    items: usize,
    waiting: usize,
    begun_at: Instant,
) {
    let took = lock.runtime().now().since(begun_at);
    lock.observe(EventKind::Grouped { items: items as u64, waiting: waiting as u64, took });
}
