//! The work itself, and its result as JSON.

use std::pin::pin;

#[cfg(not(npm))]
use serde::{Serialize, de::DeserializeOwned};

use super::{Once, OnceOutcome};
use crate::drive::drive;
use crate::error::Error;
use crate::lease::Lease;
use crate::operation::{Granted, Taken};
use crate::runtime::Runtime;
#[cfg(not(npm))]
use crate::script::without_mark;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Once<T, R> {
    /// Does `work`, unless it was done before, and returns its result. The result is kept as JSON.
    /// While the work runs, the lease is renewed, and the work may be stopped, as by
    /// [`Lock::run`](crate::Lock::run).
    ///
    /// # Errors
    /// Before the work begins:
    ///
    /// - [`Error::FingerprintMismatch`];
    /// - [`Error::Held`] if another call did the work for all of the [`wait`](Once::wait_timeout);
    /// - [`Error::ResultUnreadable`] if the kept result is not a `V`.
    ///
    /// Those of the work: nothing is kept then. Those of [`Lock::run`](crate::Lock::run).
    ///
    /// After the work was done, with nothing kept:
    ///
    /// - [`Error::ResultTooLarge`], and [`Error::ResultUnreadable`] if it cannot be written as
    ///   JSON: the next call does the work again. No error has the result, since errors are logged.
    ///   If you need it all the same, let the work leave it in a variable;
    /// - [`Error::Released`] if the work itself released the lease;
    /// - those of [`Lease::commit`], which stores the result. If the outcome is
    ///   [unknown](Error::is_outcome_unknown), the result may be kept: call again.
    ///
    /// # Cancel safety
    /// Dropping the future drops the work, and releases the lock in the background. If the result
    /// was just being stored, it may be stored or not.
    #[cfg(not(npm))]
    pub async fn run<V, E>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
    ) -> Result<OnceOutcome<V>, E>
    where
        V: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let write = |value: &V| self.written(value);
        let read = |text: String| self.read_back(&text);
        self.perform(work, write, read).await
    }

    #[cfg(not(npm))]
    fn written<V: Serialize>(&self, value: &V) -> Result<String, Error> {
        let what = "the work was done, but it cannot be written as JSON, so it is not kept";
        serde_json::to_string(value)
            .map_err(|error| Error::unreadable(self.lock.key(), what, &error))
    }

    #[cfg(not(npm))]
    fn read_back<V: DeserializeOwned>(&self, text: &str) -> Result<V, Error> {
        let what = "what is kept is not of the type that this call asks for";
        // The npm package's work may return nothing. It then passes an empty text.
        let json = if text.is_empty() { "null" } else { text };
        serde_json::from_str(json).map_err(|error| Error::unreadable(self.lock.key(), what, &error))
    }

    /// As [`Once::run`], for callers who must go on when the bridge, or the Redis behind it, is
    /// away.
    ///
    /// If either is away for all of the [`wait`](Once::wait_timeout), or does not answer in time,
    /// the work is done without a lease, and nothing stops it: another call may do it too. If the
    /// result cannot be stored, it is returned nevertheless. Both are [`OnceOutcome::NotKept`].
    /// Choose a short wait: each call waits that long before its work.
    ///
    /// ```no_run
    /// use std::time::Duration;
    /// use edgelock::Error;
    /// use edgelock::native::Client;
    ///
    /// /// A mail too many is better than none.
    /// async fn greet(client: &Client, user: &str) -> Result<(), Error> {
    ///     let once = client.once(&format!("greet:{user}"));
    ///     let once = once.wait_timeout(Duration::from_millis(300));
    ///     let outcome = once.run_anyway(async |_| Ok::<_, Error>("sent".to_owned())).await?;
    ///     if outcome.is_kept() {
    ///         println!("once for all");
    ///     }
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// As [`Once::run`], but not [`Error::Unavailable`] and [`Error::TimedOut`] unless the work
    /// returns them. If the work has a lease and loses it, the work is stopped, as there.
    ///
    /// # Cancel safety
    /// As [`Once::run`].
    #[cfg(not(npm))]
    pub async fn run_anyway<V, E>(
        &self,
        work: impl AsyncFnOnce(Option<&Lease<T, R>>) -> Result<V, E>,
    ) -> Result<OnceOutcome<V>, E>
    where
        V: Serialize + DeserializeOwned,
        E: From<Error>,
    {
        let granted = match self.begin().await {
            Ok(Taken::Result(text)) => return Ok(OnceOutcome::Replayed(self.read_back(&text)?)),
            Ok(taken) => taken.lock().map_err(Error::from)?,
            Err(error) if is_away(&error) => {
                let _goes_on = self.lock.host.going_on.begin();
                return Ok(OnceOutcome::NotKept(Box::pin(work(None)).await?));
            }
            Err(error) => return Err(error.into()),
        };
        let copy = granted.replies.first().and_then(|kept| without_mark(kept.as_str()?));
        let mut copy = copy.map(str::to_owned);
        let mut not_kept = None;
        let execute = async |lease: &Lease<T, R>| -> Result<V, E> {
            let value = work(Some(lease)).await?;
            let store = self.written(&value).and_then(|text| Ok(self.storing(&text)?));
            // What cannot be kept is told, though there is a copy.
            let store = store.inspect_err(|_| copy = None)?;
            match lease.commit(&[store]).await {
                Err(error) if is_away(&error) => {
                    not_kept = Some(value);
                    Err(error.into())
                }
                stored => stored.map(|_| value).map_err(E::from),
            }
        };
        let executed = self.execute(granted, execute).await;
        match (not_kept, executed, copy) {
            (Some(value), ..) => Ok(OnceOutcome::NotKept(value)),
            // What is stale is better than nothing.
            (None, Err(_), Some(copy)) => Ok(OnceOutcome::Replayed(self.read_back(&copy)?)),
            (None, executed, _) => executed.map(OnceOutcome::Executed),
        }
    }

    /// As `run`, with a text as the result, which is kept as it is.
    ///
    /// # Errors
    /// As `run`.
    ///
    /// # Cancel safety
    /// As `run`.
    pub async fn run_text<E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<String, E>,
    ) -> Result<OnceOutcome<String>, E> {
        self.perform(work, |text| Ok(text.clone()), Ok).await
    }

    async fn perform<V, E: From<Error>>(
        &self,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
        write: impl FnOnce(&V) -> Result<String, Error>,
        read: impl FnOnce(String) -> Result<V, Error>,
    ) -> Result<OnceOutcome<V>, E> {
        let granted = match self.begin().await? {
            Taken::Result(text) => return Ok(OnceOutcome::Replayed(read(text)?)),
            taken => taken.lock().map_err(Error::from)?,
        };
        let execute = async |lease: &Lease<T, R>| -> Result<V, E> {
            let value = work(lease).await?;
            let store = self.storing(&write(&value)?).map_err(Error::from)?;
            lease.commit(&[store]).await?;
            Ok(value)
        };
        Ok(OnceOutcome::Executed(self.execute(granted, execute).await?))
    }

    async fn begin(&self) -> Result<Taken, Error> {
        let begun = pin!(drive(&self.lock.host, self.beginning()?));
        Ok(self.lock.unless_gone(begun).await?)
    }

    /// Executes work that stores its result under the lease.
    async fn execute<V, E: From<Error>>(
        &self,
        granted: Granted,
        work: impl AsyncFnOnce(&Lease<T, R>) -> Result<V, E>,
    ) -> Result<V, E> {
        // Whoever repeats the call gets what comes of it, so it goes on when its caller is gone.
        let _goes_on = self.lock.host.going_on.begin();
        let (lease, _) = self.lock.clone().for_others().granted(granted);
        // Boxed, since the work may itself call another `Once`.
        let executing = Box::pin(work(&lease));
        lease.run(self.lock.max_hold, executing).await
    }
}

#[cfg(not(npm))]
const fn is_away(error: &Error) -> bool {
    matches!(error, Error::Unavailable { .. } | Error::TimedOut { .. })
}
