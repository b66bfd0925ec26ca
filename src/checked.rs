//! Whether all that a client, a lock or a throttle was given is valid.

use crate::error::{Error, Fault};

/// The first invalid option, if one is. Every call that would send something fails with it instead.
#[derive(Clone)]
pub(crate) struct Checked(Option<Fault>);

impl Checked {
    /// Nothing was given yet.
    pub(crate) const VALID: Self = Self(None);

    pub(crate) fn and(self, option: Result<(), Fault>) -> Self {
        Self(self.0.or_else(|| option.err()))
    }

    /// What is invalid of `lock`, or of what is not about a lock.
    pub(crate) fn of(&self, lock: Option<&str>) -> Result<(), Error> {
        self.0.as_ref().map_or(Ok(()), |fault| {
            let invalid = fault.clone();
            Err(invalid.of_lock(lock).into())
        })
    }
}
