//! Forgets what is kept of work.

use super::Once;
use crate::drive::drive;
use crate::error::{Error, Fault};
use crate::operation::Ask;
use crate::runtime::Runtime;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Once<T, R> {
    /// Forgets what is kept, so that the next call does the work again. Returns whether a result
    /// was kept, of whichever [fingerprint](Once::fingerprint). Sends one request.
    ///
    /// While the work is being done nothing is forgotten, since its result would be kept behind
    /// that: the error is [`Error::Held`], and says when to come back.
    ///
    /// # Errors
    /// [`Error::Held`]; those of the bridge. If the outcome is
    /// [unknown](Error::is_outcome_unknown), the result may be forgotten or not, and a later call
    /// returns `false` if it was.
    ///
    /// # Cancel safety
    /// Dropping the future aborts the request. The result may be forgotten or not.
    pub async fn forget(&self) -> Result<bool, Error> {
        let forgotten = drive(self.lock.host(), self.forgetting()?).await;
        Ok(forgotten.outcome?.done()?)
    }

    pub(crate) fn forgetting(&self) -> Result<Ask, Fault> {
        self.lock.forgetting()
    }
}
