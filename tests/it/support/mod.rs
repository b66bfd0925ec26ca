//! The client on native parts: reqwest, tokio, and a real bridge with a real Redis.

pub(crate) mod faulty;
pub(crate) mod kinds;
pub(crate) mod noted;
mod stack;
mod table;
pub(crate) mod turns;
pub(crate) mod watched;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::time::{Duration, Instant};

use edgelock::{Bridge, Client, Error, Lock};
use tokio::task::LocalSet;

pub(crate) use edgelock::native::{Http, Tokio};
pub(crate) use stack::{Spawn, Stack, alone, over};

pub(crate) type TestClient = Client<Http, Tokio>;
pub(crate) type TestLock = Lock<Http, Tokio>;

/// Methods of a runtime that are as those of the [`Tokio`] in its first field.
macro_rules! as_tokio {
    ($($method:ident)+) => { $( $crate::support::as_tokio!(@$method); )+ };
    (@now) => {
        fn now(&self) -> edgelock::Instant {
            self.0.now()
        }
    };
    (@sleep) => {
        async fn sleep(&self, duration: std::time::Duration) {
            self.0.sleep(duration).await;
        }
    };
    (@random) => {
        fn random(&self, bytes: &mut [u8]) -> Result<(), edgelock::EntropyUnavailable> {
            self.0.random(bytes)
        }
    };
    (@spawn) => {
        fn spawn(&self, task: edgelock::Task) {
            self.0.spawn(task);
        }
    };
}
pub(crate) use as_tokio;

/// No promise of a lock takes longer, even if the bridge must be built first.
const LIMIT: Duration = Duration::from_secs(300);

/// How long a test waits for something that happens soon.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs `test` on one thread that has a place for background work. Fails if the test hangs.
pub(crate) fn run(test: impl Future<Output = ()>) {
    // Compiled once, not for each test.
    run_boxed(Box::pin(test));
}

fn run_boxed(test: Pin<Box<dyn Future<Output = ()> + '_>>) {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let test = async { tokio::time::timeout(LIMIT, test).await.expect("the test hangs") };
    LocalSet::new().block_on(&runtime, test);
}

pub(crate) fn client(url: &str, credential: &str) -> TestClient {
    client_of(Bridge::upstash(url, credential).expect("a bridge"))
}

pub(crate) fn client_of(bridge: Bridge) -> TestClient {
    Client::new(bridge, Http::default(), Tokio::default())
}

/// The code of the error that a call came to.
#[track_caller]
pub(crate) fn code<O>(outcome: Result<O, Error>) -> &'static str {
    outcome.err().expect("an error").code()
}

pub(crate) const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Waits until `done`, which something in the background brings about. Fails where it is called if
/// that does not happen.
#[track_caller]
pub(crate) fn eventually(mut done: impl FnMut() -> bool) -> impl Future<Output = ()> {
    let caller = std::panic::Location::caller();
    async move {
        let began = Instant::now();
        while !done() {
            assert!(began.elapsed() < PATIENCE, "it did not happen: {caller}");
            tokio::time::sleep(ms(2)).await;
        }
    }
}

/// A section that only one may be in at a time.
#[derive(Default)]
pub(crate) struct Section {
    is_taken: Cell<bool>,
    last_fence: Cell<u64>,
    entered: Cell<u32>,
}

impl Section {
    /// Is in it for a moment, under a lease with this fence.
    pub(crate) async fn enter(&self, fence: u64) {
        assert!(!self.is_taken.replace(true), "two are inside");
        assert!(self.last_fence.replace(fence) < fence);
        tokio::time::sleep(ms(2)).await;
        self.is_taken.set(false);
        self.entered.set(self.entered.get() + 1);
    }

    /// How often somebody was in it.
    pub(crate) fn entered(&self) -> u32 {
        self.entered.get()
    }
}
