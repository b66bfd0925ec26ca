//! An error on its way through the client: how it is made, and what the client concludes from it.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::time::Duration;

use super::{BadResponse, Error, Reason};
use crate::redact::in_one_line;
use crate::transport::TransportError;

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
            Error::WrongType { may_have_run, .. } => {
                Self::from(Error::WrongType { lock: String::new(), may_have_run: *may_have_run })
            }
            Error::Refused { message, may_have_run, .. } => {
                Self::refused(message.clone(), *may_have_run)
            }
            Error::Unavailable { message, retry_after, may_have_run, .. } => {
                Self::from(Error::Unavailable {
                    lock: None,
                    message: message.clone(),
                    retry_after: *retry_after,
                    may_have_run: *may_have_run,
                    can_repeat: false,
                    reason: None,
                })
            }
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
            Error::Unavailable { retry_after: Some(_), may_have_run, .. } => {
                *may_have_run = true;
                self
            }
            _ => lost,
        }
    }

    /// The same beside another server that did what this one says was not executed; `None` if this
    /// kind of error cannot say that the outcome is unknown.
    pub(crate) fn beside_done(mut self) -> Option<Self> {
        if let Error::Unavailable { may_have_run, .. } | Error::Refused { may_have_run, .. } =
            &mut *self
        {
            *may_have_run = true;
        }
        self.is_outcome_unknown().then_some(self)
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

/// When to come back to a lock that has no end.
pub(crate) const UNENDING: Duration = Duration::from_secs(60);

/// Where something is checked, one of these is called: its code is there once.
impl Fault {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        invalid(message.into())
    }

    /// What an argument must be, if it is not.
    #[inline(never)]
    pub(crate) fn unless(is_valid: bool, what: fmt::Arguments<'_>) -> Result<(), Self> {
        match is_valid {
            true => Ok(()),
            false => Err(invalid(what.to_string())),
        }
    }

    #[inline(never)]
    pub(crate) fn bad(kind: BadResponse) -> Self {
        Error::bad(kind).into()
    }

    pub(crate) fn unexpected(what: &'static str) -> Self {
        Self::bad(BadResponse::UnexpectedReply(what))
    }

    pub(crate) fn timed_out(after: Duration) -> Self {
        Self::from(Error::TimedOut { lock: None, after, can_repeat: false })
    }

    #[inline(never)]
    pub(crate) fn unauthorized(message: String) -> Self {
        Self::from(Error::Unauthorized { lock: None, message, reason: None })
    }

    #[inline(never)]
    pub(crate) fn refused(message: String, may_have_run: bool) -> Self {
        Self::from(Error::Refused { lock: None, message, may_have_run, reason: None })
    }

    #[inline(never)]
    pub(crate) fn unavailable(message: String, may_have_run: bool) -> Self {
        Self::from(Error::Unavailable {
            lock: None,
            message,
            retry_after: None,
            may_have_run,
            can_repeat: false,
            reason: None,
        })
    }

    /// What one request found. The call knows the lock.
    pub(crate) fn held(remaining: Option<Duration>, label: Option<String>) -> Self {
        Self::from(Error::Held {
            lock: String::new(),
            remaining,
            ahead: 0,
            is_own: false,
            label,
            retry_after: remaining.unwrap_or(UNENDING),
            requests: 1,
        })
    }

    /// The same error, of which more is known.
    pub(crate) fn because(mut self, why: Option<Reason>) -> Self {
        if let Error::Unauthorized { reason, .. }
        | Error::Refused { reason, .. }
        | Error::Unavailable { reason, .. } = &mut *self
        {
            *reason = why;
        }
        self
    }

    /// The call was given up, since nobody waits for it.
    pub(crate) fn gone(may_have_run: bool) -> Self {
        Self::unavailable("the caller is gone".to_owned(), may_have_run)
    }
}

#[inline(never)]
fn invalid(message: String) -> Fault {
    let lock = None;
    Error::InvalidArgument { lock, message }.into()
}

impl Error {
    pub(crate) const fn bad(kind: BadResponse) -> Self {
        Self::BadResponse { lock: None, kind, source: None, can_repeat: false }
    }

    #[cfg(not(npm))]
    pub(crate) fn unreadable(lock: &str, what: &str, error: &dyn fmt::Display) -> Self {
        Self::ResultUnreadable { lock: lock.to_owned(), message: format!("{what}: {error}") }
    }

    /// The same error with this lock's name. The caller knows the name; the place where it fails
    /// does not.
    pub(crate) fn of_lock(mut self, name: Option<&str>) -> Self {
        self.set_lock(name);
        self
    }

    pub(crate) fn set_lock(&mut self, name: Option<&str>) {
        match self {
            Self::WrongType { lock, .. }
            | Self::NotReplicated { lock, .. }
            | Self::Reservation { lock, .. } => {
                *lock = name.unwrap_or_default().to_owned();
            }
            // Of several names, which one is held is known before.
            Self::Held { lock, .. } if lock.is_empty() => {
                *lock = name.unwrap_or_default().to_owned();
            }
            Self::InvalidArgument { lock, .. }
            | Self::CommandFailed { lock, .. }
            | Self::Unauthorized { lock, .. }
            | Self::Refused { lock, .. }
            | Self::Unavailable { lock, .. }
            | Self::TimedOut { lock, .. }
            | Self::BadResponse { lock, .. } => *lock = name.map(str::to_owned),
            _ => {}
        }
    }

    /// Its call may be made again even if it was executed, or not.
    pub(crate) const fn of_call_that(&mut self, can_be_repeated: bool) {
        if let Self::NotReplicated { can_repeat, .. }
        | Self::Unavailable { can_repeat, .. }
        | Self::TimedOut { can_repeat, .. }
        | Self::BadResponse { can_repeat, .. } = self
        {
            *can_repeat = can_be_repeated;
        }
    }

    /// Whether the same request may succeed soon: it got lost, or the bridge or Redis is away.
    pub(crate) const fn is_passing(&self) -> bool {
        use BadResponse::{Truncated, UnexpectedReply};
        match self {
            Self::TimedOut { .. } | Self::Unavailable { .. } => true,
            Self::BadResponse { kind, .. } => matches!(kind, Truncated | UnexpectedReply(_)),
            _ => false,
        }
    }

    /// Whether a waiter may wait until it passes. A grant may be over when it is read, or lost by a
    /// majority before its fence was raised. The next one need not be.
    pub(crate) const fn ends(&self) -> bool {
        use Error::{Expired, Lost, Quarantined};
        self.is_passing() || matches!(self, Quarantined { .. } | Expired { .. } | Lost { .. })
    }

    /// Whether the request was refused before any script saw it. Then it says nothing of what the
    /// script has done.
    pub(crate) const fn is_refusal(&self) -> bool {
        match self {
            Self::Unauthorized { .. } => true,
            Self::BadResponse { kind, .. } => matches!(kind, BadResponse::Redirected { .. }),
            Self::Refused { may_have_run, .. } | Self::Unavailable { may_have_run, .. } => {
                !*may_have_run
            }
            _ => false,
        }
    }

    /// Has what it quotes from outside in one line, after `clean`.
    pub(crate) fn quote(&mut self, clean: impl Fn(&str) -> String) {
        let clean = |text: &str| in_one_line(&clean(text));
        if let Self::BadResponse { source: Some(TransportError::Interrupted(text)), .. } = self {
            *text = clean(text);
        }
        if let Self::Held { label: Some(message), .. }
        | Self::Unauthorized { message, .. }
        | Self::CommandFailed { message, .. }
        | Self::Refused { message, .. }
        | Self::Unavailable { message, .. } = self
        {
            *message = clean(message);
        }
    }
}
