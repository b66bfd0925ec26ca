//! Locks as a service, for handlers in any language.

use std::time::Duration;

use edgelock::{Error, Lock, Runtime, Transport};
use serde::Serialize;

use crate::http::Response;
use crate::input::{self, Acquire, Release, Renew, Ttl};
use crate::problem::{Problem, millis};
use crate::shop::Shop;

/// The prefix of each name, so that no caller reaches any other key.
const PREFIX: &str = "lock:";

impl<T: Transport, R: Runtime> Shop<T, R> {
    pub(crate) async fn acquire_lock(&self, name: &str, body: &[u8]) -> Result<Response, Problem> {
        let Acquire { ttl_ms, wait_ms } = input::parse_optional(body)?;
        let wait = Duration::from_millis(wait_ms.get());
        let lock = self
            .service_lock(name)
            .ttl(duration(ttl_ms))
            .wait_timeout(wait);
        let lease = lock.acquire().await;
        let lease = lease.map_err(|error| match error {
            Error::Held { remaining, .. } => held(remaining),
            error => Problem::of(error),
        })?;
        let (fence, remaining_ms) = (lease.fence(), millis(lease.remaining()));
        let token = lease.into_token();
        Ok(Response::json(
            201,
            &Acquired {
                name,
                token: token.expose(),
                fence,
                remaining_ms,
            },
        ))
    }

    pub(crate) async fn renew_lock(&self, name: &str, body: &[u8]) -> Result<Response, Problem> {
        let Renew { token, ttl_ms } = input::parse(body)?;
        let mut lock = self.service_lock(name);
        if let Some(ttl) = ttl_ms {
            lock = lock.ttl(duration(ttl));
        }
        let lease = lock.resume(token).map_err(Problem::of)?;
        let renewed = lease.renew().await;
        let (fence, remaining_ms) = (lease.fence(), millis(lease.remaining()));
        // The caller keeps the lock, whatever the outcome of this renewal.
        lease.into_token();
        renewed.map_err(lost)?;
        Ok(Response::json(
            200,
            &Renewed {
                fence,
                remaining_ms,
            },
        ))
    }

    pub(crate) async fn release_lock(&self, name: &str, body: &[u8]) -> Result<Response, Problem> {
        let Release { token } = input::parse(body)?;
        let lock = self.service_lock(name);
        let lease = lock.resume(token).map_err(Problem::of)?;
        lease.release().await.map_err(lost)?;
        Ok(Response::json(200, &Released { released: true }))
    }

    pub(crate) async fn inspect_lock(&self, name: &str) -> Result<Response, Problem> {
        let lock = self.service_lock(name);
        let found = lock.inspect().await.map_err(Problem::of)?;
        let holder = found.holder;
        Ok(Response::json(
            200,
            &Inspected {
                name,
                held: holder.is_some(),
                remaining_ms: holder.and_then(|holder| holder.remaining).map(millis),
                fence: found.fence,
            },
        ))
    }

    fn service_lock(&self, name: &str) -> Lock<T, R> {
        self.replicated(self.client.clone().prefix(PREFIX).lock(name))
    }
}

#[derive(Serialize)]
struct Acquired<'a> {
    name: &'a str,
    token: &'a str,
    fence: u64,
    remaining_ms: u64,
}

#[derive(Serialize)]
struct Renewed {
    fence: u64,
    remaining_ms: u64,
}

#[derive(Serialize)]
struct Released {
    released: bool,
}

#[derive(Serialize)]
struct Inspected<'a> {
    name: &'a str,
    held: bool,
    remaining_ms: Option<u64>,
    fence: Option<u64>,
}

fn duration(ttl: Ttl) -> Duration {
    Duration::from_millis(ttl.get())
}

fn held(remaining: Option<Duration>) -> Problem {
    Problem::new(
        409,
        "lock_held",
        "another holder has the lock; send the request again, or wait by wait_ms",
    )
    .held_for(remaining)
}

fn lost(error: Error) -> Problem {
    match error {
        Error::Lost { .. } | Error::Expired { .. } => Problem::new(
            409,
            "lock_lost",
            "this token does not have the lock: its lease was released or ran out, or the token is another lock's",
        ),
        error => Problem::of_write(error),
    }
}
