//! One HTTP exchange, as plain values.

use std::fmt;
use std::future::Future;
use std::time::Duration;

use crate::threads::{SendOutsideWasm, SyncOutsideWasm};

/// A `POST` that the client wants sent. It has no `Debug`: headers hold the credential, the body a lock's token.
pub struct Request<'a> {
    /// Absolute address.
    pub url: &'a str,
    /// Names in lower case, and values.
    pub headers: &'a [(&'static str, String)],
    /// What to post; nothing where it is empty.
    pub body: String,
    /// A response body over this many bytes is refused with [`TransportError::TooLarge`], not read to its end.
    pub body_limit: usize,
    /// The whole exchange is given up after this long, with [`TransportError::TimedOut`].
    pub timeout: Duration,
}

/// What came back, whatever the status.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status. 0 where the host hides a redirect's status, as browsers do.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The `x-edgelock-bridge` header: what the bridge says that it can do.
    pub bridge: Option<String>,
    /// The body, unread for a redirect.
    pub body: Vec<u8>,
}

/// The body may hold a lock's token.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Why an exchange has no response. Only [`TransportError::NotSent`] says that the request was not executed; the others leave it
/// open.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// No connection, so that not a byte of the request left: the host was not resolved, or it refused. Only where that is
    /// certain; if in doubt, it is [`TransportError::NoResponse`].
    #[error("no connection: {0}")]
    NotSent(String),
    /// No response at all: the connection was reset, or the host does not say why.
    #[error("no response: {0}")]
    NoResponse(String),
    /// The response began, and broke off.
    #[error("the response broke off: {0}")]
    Interrupted(String),
    /// The body is larger than [`Request::body_limit`].
    #[error("the response is too large")]
    TooLarge,
    /// [`Request::timeout`] is over.
    #[error("no whole response in time")]
    TimedOut,
}

impl TransportError {
    /// What it quotes.
    pub(crate) const fn text(&mut self) -> Option<&mut String> {
        match self {
            Self::NotSent(text) | Self::NoResponse(text) | Self::Interrupted(text) => Some(text),
            Self::TooLarge | Self::TimedOut => None,
        }
    }
}

/// Sends requests. On the edge `edgelock::web::Fetch` is the implementation.
pub trait Transport: SendOutsideWasm + SyncOutsideWasm + 'static {
    /// Sends `request` once: no retry, no redirect followed, no cache. Dropping the future aborts the exchange, and so does the
    /// end of its time: a request that is merely no longer waited for could be executed long after.
    ///
    /// # Errors
    /// [`TransportError`] if no whole response came; any status is a response.
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + SendOutsideWasm;

    /// Sends `request` once, as [`Transport::send`] does, and gives each piece of the response's body to `hear` as it arrives,
    /// for as long as the response goes on. Its status, once it has ended; of a status other than 200 nothing is heard.
    ///
    /// [`Request::timeout`] is how long the response may go on, [`Request::body_limit`] does not apply. Dropping the future ends
    /// the exchange, and the server must notice at once: it counts who listens.
    ///
    /// Waiting works without it, by asking from time to time: a transport that cannot stream leaves it as it is, which says what a
    /// bridge without subscriptions would.
    ///
    /// # Errors
    /// [`TransportError`] if the response broke off, none came, or it went on for too long.
    fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<u16, TransportError>> + SendOutsideWasm {
        let _ = (request, hear);
        async { Ok(501) }
    }
}
