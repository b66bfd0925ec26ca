//! Why a call failed, besides its code: what is wrong with a response, why a unit is not reserved,
//! and what is known of a refusal.

use super::Error;

/// What is wrong with a response. Except for a redirect, the script may have run.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadResponse {
    /// The address answers with a redirect. The client does not follow it, since that would send
    /// the credential elsewhere.
    #[error("the bridge redirects (status {status}); use the address that it redirects to")]
    Redirected {
        /// HTTP status; 0 if the host hides it.
        status: u16,
    },

    /// The response is not JSON: a proxy's error page, or a wrong address.
    #[error("status {status} with a body that is not JSON; is the address that of a bridge?")]
    NotJson {
        /// HTTP status.
        status: u16,
    },

    /// The response broke off.
    #[error("the answer broke off")]
    Truncated,

    /// The response is larger than 1 MiB, or than the bridge lets through.
    #[error("the answer is larger than 1 MiB, or than the bridge lets through")]
    TooLarge,

    /// JSON, but not the reply of the script that was sent: it has another shape, or another
    /// request's nonce.
    #[error("an unexpected reply: {0}")]
    UnexpectedReply(&'static str),
}

impl BadResponse {
    /// As [`Error::code`].
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Redirected { .. } => "redirected",
            Self::NotJson { .. } => "not_json",
            Self::Truncated => "truncated",
            Self::TooLarge => "too_large",
            Self::UnexpectedReply(_) => "unexpected_reply",
        }
    }
}

/// An error about no lock, for tests of code that handles errors.
impl From<BadResponse> for Error {
    fn from(kind: BadResponse) -> Self {
        Self::bad(kind)
    }
}

/// Why a unit is not reserved, or not confirmed. Nothing of the call was executed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReservationError {
    /// So many units are confirmed that too few can become free.
    #[error("too few units are left")]
    SoldOut,

    /// The [owner](crate::Lock::owner) would have more units reserved than it may.
    #[error("this owner would have more units than it may")]
    OwnerLimit,

    /// This reservation was confirmed before, by a commit of the same token.
    #[error("it was confirmed before")]
    Confirmed,
}

impl ReservationError {
    /// As [`Error::code`](super::Error::code).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SoldOut => "sold_out",
            Self::OwnerLimit => "owner_limit",
            Self::Confirmed => "confirmed",
        }
    }

    pub(crate) fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "sold_out" => Self::SoldOut,
            "owner_limit" => Self::OwnerLimit,
            "confirmed" => Self::Confirmed,
            _ => return None,
        })
    }
}

/// Set where the error is made: in `script/reply.rs`, which knows Redis, or in `bridge`, which
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
    /// Redis knows nothing of a call of a debounce any more.
    Forgotten,
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
            Self::Forgotten => "forgotten",
            Self::NoBridge => "no_bridge",
            Self::PathIsCommand => "path_is_command",
        }
    }
}

impl Error {
    pub(super) const fn why(&self) -> Option<Reason> {
        match self {
            Self::Held { remaining: None, .. } => Some(Reason::NeverExpires),
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
