//! Units that are reserved by one request and confirmed by another.

use std::time::Duration;

use super::Client;
use crate::error::Fault;
#[cfg(doc)]
use crate::error::{Error, ReservationError};
use crate::kind::Kind;
#[cfg(doc)]
use crate::lease::Lease;
use crate::lock::Lock;
use crate::runtime::Runtime;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Client<T, R> {
    /// So many `units` of something that is sold in two steps: reserved, and then confirmed. A unit
    /// is never confirmed twice. Sends nothing.
    ///
    /// ```no_run
    /// use edgelock::native::Client;
    /// use edgelock::{Command, Error, Token};
    ///
    /// async fn put_in_cart(client: &Client, sku: &str, customer: &str) -> Result<Token, Error> {
    ///     // Two, for ten minutes; at most four for each customer at once. Or `sold_out`.
    ///     let two = client.reservations(sku, 100).weight(2).owner(customer, 4);
    ///     Ok(two.acquire().await?.into_token())
    /// }
    ///
    /// async fn pay(client: &Client, sku: &str, token: Token, order: &str) -> Result<(), Error> {
    ///     // Once. The error is `lost` if the ten minutes are over, and `confirmed` the second time.
    ///     let paid = Command::new("RPUSH").key(format!("{{{sku}}}:orders")).arg(order);
    ///     let reserved = client.reservations(sku, 100).resume(token)?;
    ///     reserved.commit(&[paid]).await.map(drop)
    /// }
    /// ```
    ///
    /// - Acquiring the lock reserves one unit, or [as many](Lock::weight) as the caller wants, for
    ///   the [ttl](Lock::ttl): 10 minutes by default. [`Lease::into_token`] and [`Lock::resume`]
    ///   carry the reservation from one request to the next.
    /// - [`Lease::commit`] confirms it: its commands run, and its units are
    ///   taken for ever, in one script, and only if the reservation has not ended by Redis's clock.
    /// - [`Lease::release`] gives the units back. So does the ttl.
    ///
    /// Free are as many units as are neither reserved nor confirmed. `units` counts only for the
    /// acquisitions of this `Lock`, so it can be raised during a sale. [`Lock::inspect`] says how
    /// many are free and confirmed. How many are confirmed is a number at `{name}:confirmed`, which
    /// never expires: lower it with Redis if something comes back, and delete it behind a sale.
    /// [`Lock::force_release`] gives back what is reserved, and leaves what is confirmed.
    ///
    /// While too few units are free, since others have reserved them, an acquisition fails with
    /// [`Error::Held`] at once: by default it [does not wait](Lock::wait_timeout), and nobody
    /// queues. [`ReservationError`] says what else may be: all is sold; the
    /// [owner](Lock::owner) has enough; the reservation was confirmed before, which it says for a
    /// day. A commit that is too late fails with [`Error::Lost`].
    ///
    /// Each reservation is one request, and needs no lock. So no caller waits for another, and a
    /// [`GroupCommit`](crate::GroupCommit) refuses reservations.
    ///
    /// As with [`Client::lock`], the first call fails with [`Error::InvalidArgument`] if the name
    /// is invalid. It also does if `units` is 0, or if this is a [quorum](Client::quorum).
    pub fn reservations(&self, name: &str, units: u32) -> Lock<T, R> {
        let what = || Fault::invalid("there is 1 unit to reserve or more, not 0");
        let checked = (units > 0).then_some(()).ok_or_else(what);
        let lock = self.lock_of(name, Kind::reservations(units), checked);
        lock.wait_timeout(Duration::ZERO)
    }
}
