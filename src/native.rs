//! Native hosts, with the feature `native`: reqwest sends; tokio has the clock, the timers and the
//! background work.
//!
//! ```no_run
//! use edgelock::Error;
//! use edgelock::native::{self, Bridge};
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     let client = native::client(Bridge::upstash("https://eu1-a-b-1.upstash.io", "credential")?);
//!     let lease = client.lock("sku:42").acquire().await?;
//!     lease.release().await
//! }
//! ```

use std::error::Error as StdError;
use std::future::pending;
use std::iter;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, Weak};
use std::time::Duration;

use reqwest::redirect;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};
use crate::tasks::locked;
use crate::transport::{Request, Response, Transport, TransportError};

pub use crate::bridge::Bridge;

/// A client for a native host.
pub type Client = crate::Client<Http, Tokio>;
/// Its locks.
pub type Lock = crate::Lock<Http, Tokio>;
/// Its read/write locks.
pub type ReadWrite = crate::ReadWrite<Http, Tokio>;
/// Its leases.
pub type Lease = crate::Lease<Http, Tokio>;
/// What it executes once.
pub type Once = crate::Once<Http, Tokio>;
/// Its copies of what is expensive to make.
pub type Cached = crate::Cached<Http, Tokio>;
/// Its throttles.
pub type Throttle = crate::Throttle<Http, Tokio>;
/// Its debounces.
pub type Debounce = crate::Debounce<Http, Tokio>;

/// A client of `bridge`. Await its calls in a tokio runtime, of one thread or of several.
///
/// A task of that runtime gives a dropped call or lease back. If the process ends at once, the ttl
/// frees the lock.
///
/// # Panics
/// If reqwest cannot start because the system has no certificates.
pub fn client(bridge: Bridge) -> Client {
    crate::Client::new(bridge, Http::default(), Tokio::default())
}

/// reqwest as [`Transport`]. Clones share their connections.
///
/// Each request under way has a connection of its own, and a bridge has only so many. Requests
/// beyond some wait for others to end. Those of callers that wait for a lock wait only for each
/// other, and so do those that listen: whoever gives back the lock for which all others wait goes
/// ahead of them.
#[derive(Clone)]
pub struct Http {
    client: reqwest::Client,
    under_way: Arc<UnderWay>,
}

/// How many more requests may be under way.
struct UnderWay {
    /// More of them find out no more than fewer: Redis executes one script at a time, and one that
    /// releases a lock stands behind them.
    of_waiters: Semaphore,
    /// That begin to listen. Apart from the others, since a proxy may hold their answers back.
    to_listen: Semaphore,
    others: Semaphore,
}

impl UnderWay {
    const OF_WAITERS: usize = 256;
    const OTHERS: usize = 1024;

    /// Waits to be one of them, for half of the `timeout`: what is left of it must do for the
    /// answer.
    async fn enter<'a>(
        among: &'a Semaphore,
        timeout: &mut Duration,
    ) -> Result<SemaphorePermit<'a>, TransportError> {
        let since = std::time::Instant::now();
        let Ok(Ok(place)) = tokio::time::timeout(*timeout / 2, among.acquire()).await else {
            let why = "too many requests of this process are under way";
            return Err(TransportError::NotSent(why.into()));
        };
        *timeout = timeout.saturating_sub(since.elapsed());
        Ok(place)
    }
}

impl Default for Http {
    fn default() -> Self {
        // `retry::never`, since `send` promises to send once.
        let client = reqwest::Client::builder()
            .redirect(redirect::Policy::none())
            // The environment may name a proxy. It would see the credential of a bridge on this
            // machine, which is sent in plain HTTP.
            .no_proxy()
            .retry(reqwest::retry::never());
        let under_way = UnderWay {
            of_waiters: Semaphore::new(UnderWay::OF_WAITERS),
            to_listen: Semaphore::new(UnderWay::OF_WAITERS),
            others: Semaphore::new(UnderWay::OTHERS),
        };
        Self { client: client.build().expect("an HTTP client"), under_way: Arc::new(under_way) }
    }
}

impl Transport for Http {
    async fn send(&self, mut request: Request<'_>) -> Result<Response, TransportError> {
        let among = match request.waits {
            true => &self.under_way.of_waiters,
            false => &self.under_way.others,
        };
        let _place = UnderWay::enter(among, &mut request.timeout).await?;
        let body_limit = request.body_limit;
        let mut response = self.post(request).await?;
        let status = response.status().as_u16();
        let header = |name| {
            let value = response.headers().get(name)?.to_str().ok()?;
            Some(value.to_owned())
        };
        let (retry_after, bridge) = (header("retry-after"), header("x-edgelock-bridge"));
        let mut body = Vec::new();
        while let Some(chunk) =
            response.chunk().await.map_err(failure(TransportError::Interrupted))?
        {
            if body.len() + chunk.len() > body_limit {
                return Err(TransportError::TooLarge);
            }
            body.extend_from_slice(&chunk);
        }
        Ok(Response { status, retry_after, bridge, body })
    }

    async fn listen(
        &self,
        mut request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let place = UnderWay::enter(&self.under_way.to_listen, &mut request.timeout).await?;
        let mut response = self.post(request).await?;
        drop(place);
        let status = response.status().as_u16();
        while status == 200
            && let Some(piece) =
                response.chunk().await.map_err(failure(TransportError::Interrupted))?
        {
            hear(&piece);
        }
        Ok(status)
    }
}

impl Http {
    /// Sends `post` as [`Transport::send`] requires, up to the headers of the response.
    async fn post(&self, request: Request<'_>) -> Result<reqwest::Response, TransportError> {
        let mut post = self.client.post(request.url).timeout(request.timeout).body(request.body);
        for (name, value) in request.headers {
            post = post.header(*name, value);
        }
        post.send().await.map_err(failure(TransportError::NoResponse))
    }
}

fn failure(otherwise: fn(String) -> TransportError) -> impl Fn(reqwest::Error) -> TransportError {
    move |error| {
        if error.is_connect() {
            TransportError::NotSent(why(error))
        } else if error.is_timeout() {
            TransportError::TimedOut
        } else {
            otherwise(why(error))
        }
    }
}

/// What went wrong, and the cause, such as a refused connection. Without the address, which says
/// nothing new.
fn why(error: reqwest::Error) -> String {
    let error = error.without_url();
    let chain = iter::successors(Some(&error as &dyn StdError), |&error| error.source());
    chain.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// tokio as [`Runtime`]. Background work goes to the tokio runtime in which this first waits or
/// gets background work. Once that runtime is over, it goes to the next one. So a lease may be
/// dropped on any thread, and in any runtime, however short.
#[derive(Clone)]
pub struct Tokio {
    home: Arc<Mutex<Option<Home>>>,
}

/// All clients of a process have one clock, since they may share turns.
static BEGAN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

/// A runtime, with a task of ours that ends with it.
struct Home {
    handle: Handle,
    task: Weak<()>,
}

impl Home {
    fn here() -> Option<Self> {
        let handle = Handle::try_current().ok()?;
        let lives = Arc::new(());
        let task = Arc::downgrade(&lives);
        handle.spawn(async move {
            let _lives = lives;
            pending::<()>().await;
        });
        Some(Self { handle, task })
    }

    fn is_over(&self) -> bool {
        self.task.strong_count() == 0
    }
}

impl Default for Tokio {
    fn default() -> Self {
        let tokio = Self { home: Arc::default() };
        drop(tokio.home());
        tokio
    }
}

impl Tokio {
    /// Where it is at home: here, if it was nowhere, or in a runtime that is over.
    fn home(&self) -> MutexGuard<'_, Option<Home>> {
        let mut home = locked(&self.home);
        if home.as_ref().is_none_or(Home::is_over) {
            *home = Home::here().or_else(|| home.take());
        }
        home
    }
}

impl Runtime for Tokio {
    fn now(&self) -> Instant {
        // A caller that asks for the time is about to wait, in a runtime.
        drop(self.home());
        Instant::from_origin(BEGAN.elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(bytes).map_err(|_| EntropyUnavailable)
    }

    fn spawn(&self, task: Task) {
        // Without a runtime nobody can run it. That is as if the process had ended.
        let home = self.home().as_ref().map(|home| home.handle.clone());
        if let Some(handle) = home {
            handle.spawn(task);
        }
    }
}
