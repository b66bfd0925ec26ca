//! The two locks of a name: to read, and to write.

use std::fmt;

use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

/// A name that many can hold to read, or one to write. Made by
/// [`Client::read_write`](crate::Client::read_write).
///
/// ```no_run
/// use edgelock::native::Client;
/// use edgelock::Error;
///
/// async fn reprice(client: &Client) -> Result<(), Error> {
///     let prices = client.read_write("prices");
///     let lease = prices.write().acquire().await?;
///     // Write the new prices. Then let others read, and go on as a reader.
///     lease.downgrade().await?;
///     lease.release().await
/// }
/// ```
pub struct ReadWrite<T, R> {
    read: Lock<T, R>,
    write: Lock<T, R>,
}

impl<T: Transport, R: Runtime> ReadWrite<T, R> {
    pub(crate) const fn new(read: Lock<T, R>, write: Lock<T, R>) -> Self {
        Self { read, write }
    }

    /// The lock to read under. Many readers can hold it at once, while no writer does. Each reader
    /// has a lease with a token, a ttl, a fence and a deadline of its own. Sends nothing.
    ///
    /// A new reader waits behind a waiting writer, so a stream of readers does not keep a writer
    /// out. With [`fair(false)`](Lock::fair) the reader goes ahead of the writer. [`Lock::inspect`]
    /// lists the readers. [`Lock::force_release`] frees the name of all holders. A
    /// [`GroupCommit`](crate::GroupCommit) refuses this lock.
    ///
    /// As with [`Client::lock`](crate::Client::lock), the first call fails with
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if the name is invalid, or this is
    /// a [quorum](crate::Client::quorum).
    pub fn read(&self) -> Lock<T, R> {
        self.read.clone()
    }

    /// The lock to write under. One writer can hold it, and nobody else then. To others it is the
    /// [lock](crate::Client::lock) of that name. [`Lease::downgrade`](crate::Lease::downgrade)
    /// makes a reader of a writer. Sends nothing.
    ///
    /// A release hands it to the next writer, or to all readers up to the next writer at once.
    ///
    /// The first call fails as that of [`ReadWrite::read`].
    pub fn write(&self) -> Lock<T, R> {
        self.write.clone()
    }
}

impl<T, R> Clone for ReadWrite<T, R> {
    fn clone(&self) -> Self {
        Self { read: self.read.clone(), write: self.write.clone() }
    }
}

impl<T, R> fmt::Debug for ReadWrite<T, R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReadWrite")
            .field("name", &self.write.settings.name.shown())
            .finish_non_exhaustive()
    }
}
