//! What is known of a refusal besides its code.

use super::{Error, Fault};

/// Set where the error is made: in `script/refusal.rs`, which knows Redis, or in `bridge`, which
/// knows HTTP. Advice follows it, so that nobody takes messages apart. It is not public: it may
/// change with every version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// What has the lock never expires, as no lock of this crate does.
    NeverExpires,
    /// The bridge's user of Redis may not use a key.
    ForbiddenKey,
    /// The bridge's user of Redis may not run a command.
    ForbiddenCommand,
    /// Redis, or what stands for it, runs no scripts.
    NoScripts,
    /// The bridge lacks the password of its Redis.
    NoPassword,
    /// The address leads to no bridge.
    NoBridge,
    /// The bridge takes the path of its address for a command.
    PathIsCommand,
}

impl Reason {
    /// As the npm package knows it: `Reason` in `npm/ts/failure.ts`.
    const fn name(self) -> &'static str {
        match self {
            Self::NeverExpires => "never_expires",
            Self::ForbiddenKey => "forbidden_key",
            Self::ForbiddenCommand => "forbidden_command",
            Self::NoScripts => "no_scripts",
            Self::NoPassword => "no_password",
            Self::NoBridge => "no_bridge",
            Self::PathIsCommand => "path_is_command",
        }
    }
}

impl Error {
    pub(super) const fn why(&self) -> Option<Reason> {
        match self {
            Self::Held {
                remaining: None, ..
            } => Some(Reason::NeverExpires),
            Self::Unauthorized { reason, .. }
            | Self::Refused { reason, .. }
            | Self::Unavailable { reason, .. } => *reason,
            _ => None,
        }
    }

    /// For the npm package, which has its own advice.
    #[doc(hidden)]
    pub fn reason(&self) -> Option<&'static str> {
        self.why().map(Reason::name)
    }
}

impl Fault {
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
}
