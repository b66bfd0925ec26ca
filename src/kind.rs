//! The kinds of locks: how each is stored, what it can be asked for, and how who waits for it hears.

use std::time::Duration;

use super::reads::check_size;
use super::text::{MUTEX, REENTRANT, SIGNALLING, Scripts, VOTED};
use super::waiter::escaped;
use crate::command::Command;
use crate::error::Error;
use crate::name::Name;
use crate::token::Session;

/// How a lock is stored, and who may have it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The token of one holder.
    Mutex,
    /// The same, and a list that is fed when it becomes free.
    Signalling {
        /// The list's key.
        list: String,
    },
    /// The same at each of several servers, of which a majority decides.
    Voted {
        /// How long a server must have been up to have a say.
        quarantine: Duration,
    },
    /// An owner, and how often it entered.
    Reentrant {
        /// Whoever says so may enter again.
        owner: String,
    },
}

impl Kind {
    pub(super) const fn scripts(&self) -> &'static Scripts {
        match self {
            Self::Mutex => &MUTEX,
            Self::Signalling { .. } => &SIGNALLING,
            Self::Voted { .. } => &VOTED,
            Self::Reentrant { .. } => &REENTRANT,
        }
    }

    /// Whether several servers have it.
    pub(crate) const fn is_voted(&self) -> bool {
        matches!(self, Self::Voted { .. })
    }

    /// What asking in vain costs: asking, and giving back what was had.
    pub(crate) const fn requests_of_a_try(&self) -> u32 {
        if self.is_voted() { 2 } else { 1 }
    }

    pub(crate) fn check_fair(&self) -> Result<(), Error> {
        let why = match self {
            Self::Mutex | Self::Signalling { .. } => return Ok(()),
            Self::Voted { .. } => {
                "a lock over several bridges cannot be fair: they have no queue in common"
            }
            Self::Reentrant { .. } => {
                "a reentrant lock cannot be fair: those who wait for it do not queue"
            }
        };
        Err(Error::InvalidArgument(why.into()))
    }

    pub(crate) fn check_label(&self) -> Result<(), Error> {
        match self {
            Self::Mutex | Self::Signalling { .. } | Self::Voted { .. } => Ok(()),
            Self::Reentrant { .. } => Err(Error::InvalidArgument(
                "a reentrant lock has no label: its owner says who holds it".into(),
            )),
        }
    }

    /// Whether a lock that is asked for with a ttl of `lasts` may be renewed for `ttl`. A server that came back empty has no say for as
    /// long as the longest hold that it may have forgotten.
    pub(crate) fn check_renewal(&self, ttl: Duration, lasts: Duration) -> Result<(), Error> {
        match self {
            Self::Voted { quarantine } if ttl > lasts.max(*quarantine) => {
                Err(Error::InvalidArgument(
                    "a lock over several bridges is renewed for no longer than its ttl, or the quarantine".into(),
                ))
            }
            _ => Ok(()),
        }
    }

    /// Whether `commands` may run where the lock is.
    pub(crate) fn check_commands(&self, commands: &[Command]) -> Result<(), Error> {
        if self.is_voted() && !commands.is_empty() {
            return Err(Error::InvalidArgument(
                "a lock over several bridges runs no commands: they have no data in common; use the fence where the data is".into(),
            ));
        }
        check_size(commands)
    }

    /// Whether waiters stand in a queue, and are told that the lock is theirs; else that it may be free.
    pub(crate) const fn queues(&self) -> bool {
        matches!(self, Self::Mutex | Self::Signalling { .. })
    }

    /// Where who waits with `session` hears that the lock is its, or free; `None` if no bridge could say so.
    pub(crate) fn channel(&self, name: &Name, session: &Session) -> Option<String> {
        match self {
            Self::Mutex | Self::Signalling { .. } => {
                Some(escaped(&name.companion_of("wake", session.as_str())))
            }
            Self::Voted { .. } => None,
            Self::Reentrant { .. } => {
                let channel = name.redisson_channel();
                (escaped(&channel) == channel).then_some(channel)
            }
        }
    }
}
