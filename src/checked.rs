//! Whether all that a client, a lock or a throttle was given is valid.

use std::sync::Arc;

use crate::error::Fault;

/// The first invalid option, if one is. Every call that would send something fails with it instead.
#[derive(Clone)]
pub(crate) struct Checked(Option<Arc<Fault>>);

impl Checked {
    /// Nothing was given yet.
    pub(crate) const VALID: Self = Self(None);

    /// The first one that is invalid stays.
    pub(crate) fn note(&mut self, option: Result<(), Fault>) {
        if let (None, Err(invalid)) = (&self.0, option) {
            self.0 = Some(Arc::new(invalid));
        }
    }

    /// What is invalid of `lock`, or of what is not about a lock.
    pub(crate) fn of(&self, lock: Option<&str>) -> Result<(), Fault> {
        match self.0.as_ref().and_then(|invalid| invalid.again()) {
            Some(invalid) => Err(invalid.of_lock(lock)),
            None => Ok(()),
        }
    }
}
