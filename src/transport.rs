//! One HTTP exchange, as plain values.

use std::fmt;
use std::future::Future;
use std::time::Duration;

/// A `POST` that the client wants to send. It has no `Debug`: its headers hold the credential, and
/// its body a lock's token. Only the client makes one, so it may grow.
#[non_exhaustive]
pub struct Request<'a> {
    /// Absolute address.
    pub url: &'a str,
    /// Names in lower case, and values.
    pub headers: &'a [(&'static str, String)],
    /// The request's body; empty for none.
    pub body: String,
    /// A larger response body, in bytes, is not read to its end but refused with
    /// [`TransportError::TooLarge`].
    pub body_limit: usize,
    /// The exchange is given up after this long in all, with [`TransportError::TimedOut`].
    pub timeout: Duration,
    /// A caller that waits for a lock asks for it. A transport that bounds how many requests are
    /// under way lets no other request wait behind such ones.
    pub waits: bool,
}

/// The response, whatever its status. It may grow, so a transport makes it by [`Response::new`],
/// and sets the headers that came.
#[non_exhaustive]
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Response {
    /// HTTP status. 0 if the host hides a redirect's status, as browsers do.
    pub status: u16,
    /// The `Retry-After` header.
    pub retry_after: Option<String>,
    /// The `x-edgelock-bridge` header: what the bridge says it supports.
    pub bridge: Option<String>,
    /// The body; a redirect's is not read.
    pub body: Vec<u8>,
}

impl Response {
    /// A response without headers.
    ///
    /// ```
    /// use edgelock::Response;
    ///
    /// let mut response = Response::new(503, "busy");
    /// response.retry_after = Some("7".to_owned());
    /// ```
    pub fn new(status: u16, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        Self { status, body, ..Self::default() }
    }
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

/// Why an exchange has no response. Only [`TransportError::NotSent`] says that the request was not
/// executed; after the others it may have been.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransportError {
    /// There was no connection, so not a byte of the request was sent: the host name was not
    /// resolved, the connection was refused, or too many others were under way. Only if that is
    /// certain; otherwise it is [`TransportError::NoResponse`].
    #[error("no connection: {0}")]
    NotSent(String),
    /// There was no response: the connection was reset, or the host does not say why.
    #[error("no response: {0}")]
    NoResponse(String),
    /// The response began, and broke off.
    #[error("interrupted: {0}")]
    Interrupted(String),
    /// The body is larger than [`Request::body_limit`].
    #[error("the response is too large")]
    TooLarge,
    /// [`Request::timeout`] has passed.
    #[error("no whole response in time")]
    TimedOut,
}

/// Sends requests. On the edge, use `edgelock::web::Fetch`.
pub trait Transport: Send + Sync + 'static {
    /// Sends `request` once: it repeats nothing, follows no redirect, and uses no cache. Dropping
    /// the future aborts the exchange, and so does its time-out. Not waiting for a request any
    /// longer is not enough, since it could be executed long after.
    ///
    /// # Errors
    /// [`TransportError`] if there is no complete response. Any status is a response.
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send;

    /// Sends `request` once, as [`Transport::send`] does. Passes each piece of the response's body
    /// to `hear` when it arrives, until the response ends. Returns its status then. If the status
    /// is not 200, nothing is passed.
    ///
    /// [`Request::timeout`] is how long the response may last; [`Request::body_limit`] does not
    /// apply. Dropping the future ends the exchange, and the server must notice at once, since it
    /// counts its listeners.
    ///
    /// A transport that cannot stream keeps the default, which answers as a bridge without
    /// subscriptions would. Waiters then ask from time to time.
    ///
    /// # Errors
    /// [`TransportError`] if the response broke off, never came, or lasted too long.
    fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<u16, TransportError>> + Send {
        let _ = (request, hear);
        async { Ok(501) }
    }
}
