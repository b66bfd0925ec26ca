//! An error on its way through the client.

use std::ops::{Deref, DerefMut};

use super::Error;

/// An [`Error`] in one word, so that what seldom happens takes no room on the way. Whoever tells it
/// to the caller takes the error out.
#[derive(Debug, PartialEq, Eq)]
pub struct Fault(Box<Error>);

impl Fault {
    /// As [`Error::of_lock`].
    pub(crate) fn of_lock(mut self, name: Option<&str>) -> Self {
        self.set_lock(name);
        self
    }

    /// The same once more, if it says that an outcome is unknown or what is invalid. Only these are
    /// told more than once, and to copy every other one would be three times the code.
    pub(crate) fn again(&self) -> Option<Self> {
        let mut again = match &*self.0 {
            Error::InvalidArgument { message, .. } => Self::invalid(message.clone()),
            Error::TimedOut { after, .. } => Self::timed_out(*after),
            Error::BadResponse { kind, source, .. } => Self::from(Error::BadResponse {
                lock: None,
                kind: *kind,
                source: source.clone(),
                can_repeat: false,
            }),
            Error::WrongType { may_have_run, .. } => Self::from(Error::WrongType {
                lock: String::new(),
                may_have_run: *may_have_run,
            }),
            Error::Refused {
                message,
                may_have_run,
                ..
            } => Self::refused(message.clone(), *may_have_run),
            Error::Unavailable {
                message,
                retry_after,
                may_have_run,
                ..
            } => Self::from(Error::Unavailable {
                lock: None,
                message: message.clone(),
                retry_after: *retry_after,
                may_have_run: *may_have_run,
                can_repeat: false,
                reason: None,
            }),
            _ => return None,
        }
        .because(self.why());
        // Of these, only one whose call can be made again is retryable.
        again.of_call_that(self.is_retryable());
        again.set_lock(self.lock());
        Some(again)
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
