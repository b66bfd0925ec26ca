//! A lock to read under, or to write.

use std::fmt;

use super::Client;
use crate::kind::Kind;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// A name that one may have to write, or many to read. Made by [`Client::read_write`].
///
/// ```
/// # #[cfg(feature = "native-no-tls")]
/// # mod example {
/// use edgelock::native::Client;
/// use edgelock::Error;
///
/// async fn reprice(client: &Client) -> Result<(), Error> {
///     let prices = client.read_write("prices");
///     let lease = prices.write().acquire().await?;
///     // Whatever changes them; then others may read, and this one goes on to.
///     lease.downgrade().await?;
///     lease.release().await
/// }
/// # }
/// ```
pub struct ReadWrite<T, R> {
    client: Client<T, R>,
    name: String,
}

impl<T: Transport, R: Runtime> ReadWrite<T, R> {
    pub(super) fn new(client: Client<T, R>, name: &str) -> Self {
        let name = name.to_owned();
        Self { client, name }
    }

    /// The lock to read under: many may have it at once, and no writer then. Each has a lease, with a token, a ttl, a fence and a deadline of
    /// its own. Sends nothing.
    ///
    /// Who comes when a writer waits, waits behind it, so that no stream of readers keeps it out; [`fair(false)`](Lock::fair) goes ahead of it.
    /// [`Lock::inspect`] lists the readers; [`Lock::force_release`] frees it of whoever has it, all readers too. It is no lock for a
    /// [`GroupCommit`](crate::GroupCommit).
    ///
    /// As with [`Client::lock`], the first call is [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the name cannot be one, or this
    /// is a [quorum](Client::quorum).
    pub fn read(&self) -> Lock<T, R> {
        self.lock(Kind::reader()).fair(true)
    }

    /// The lock to write under: one may have it, and nobody else then. What holds for [`Client::lock`] holds for it: it is that lock, as others
    /// see it. [`Lease::downgrade`](crate::Lease::downgrade) makes a reader of it. Sends nothing.
    ///
    /// A release hands it to the next writer, or to all readers up to the next writer at once.
    ///
    /// The first call may fail as that of [`ReadWrite::read`].
    pub fn write(&self) -> Lock<T, R> {
        self.lock(Kind::writer())
    }

    fn lock(&self, kind: Kind) -> Lock<T, R> {
        self.client.lock_of(&self.name, kind, Ok(()))
    }
}

impl<T, R> Clone for ReadWrite<T, R> {
    fn clone(&self) -> Self {
        Self {
            client: self.client.clone(),
            name: self.name.clone(),
        }
    }
}

impl<T, R> fmt::Debug for ReadWrite<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadWrite")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
