//! An error on its way through the client.

use std::ops::{Deref, DerefMut};

use super::Error;

/// An [`Error`] in one word, so that what seldom happens takes no room on the way. Whoever tells it
/// to the caller takes the error out.
#[derive(Debug)]
pub(crate) struct Fault(Box<Error>);

impl Fault {
    /// As [`Error::of_lock`].
    pub(crate) fn of_lock(mut self, name: Option<&str>) -> Self {
        self.set_lock(name);
        self
    }

    /// What to report if this one is of the last request, and `lost` of one before it. A refusal
    /// says nothing of earlier requests, except when to come back.
    pub(crate) fn behind(mut self, lost: Self) -> Self {
        if !self.is_refusal() {
            return self;
        }
        match &mut *self {
            Error::Unavailable {
                retry_after: Some(_),
                may_have_run,
                ..
            } => {
                *may_have_run = true;
                self
            }
            _ => lost,
        }
    }
}

impl Clone for Fault {
    #[inline(never)]
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl From<Error> for Fault {
    #[inline(never)]
    fn from(error: Error) -> Self {
        Self(Box::new(error))
    }
}

impl From<Fault> for Error {
    fn from(fault: Fault) -> Self {
        *fault.0
    }
}

impl Deref for Fault {
    type Target = Error;

    fn deref(&self) -> &Error {
        &self.0
    }
}

impl DerefMut for Fault {
    fn deref_mut(&mut self) -> &mut Error {
        &mut self.0
    }
}
