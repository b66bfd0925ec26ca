//! What is wrong with a response.

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
