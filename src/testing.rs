//! Tests without a server, with the feature `testing`: the same client over an in-process table,
//! which runs the same scripts.
//!
//! ```
//! use std::time::Duration;
//!
//! use edgelock::Command;
//! use edgelock::testing::Table;
//!
//! let table = Table::new();
//! let lock = table.client().lock("sku:42");
//! table.block_on(async {
//!     table.run(&["SET", "{sku:42}:stock", "7"]);
//!     let lease = lock.acquire().await?;
//!     table.lose_next_reply();
//!     lease.commit(&[Command::new("DECR").key("{sku:42}:stock")]).await?;
//!
//!     let died = lock.acquire().await?;
//!     table.advance(Duration::from_secs(11));
//!     assert!(died.renew().await.is_err());
//!     Ok::<_, edgelock::Error>(())
//! })?;
//! assert_eq!(table.run(&["GET", "{sku:42}:stock"]).as_i64(), Some(6));
//! # Ok::<_, edgelock::Error>(())
//! ```

use std::future::{Future, poll_fn, ready};
use std::pin::pin;
use std::sync::Arc;
#[cfg(not(target_family = "wasm"))]
use std::task::{Context, Wake, Waker};
use std::time::Duration;

use edgelock_table::{Fault, HEADER, Listener, World, begun, channel, message, spawn};

use crate::bridge::Bridge;
use crate::command::Reply;
use crate::runtime::{EntropyUnavailable, Instant, Runtime, Task};
use crate::transport::{Request, Response, Transport, TransportError};

/// A client of a table.
pub type Client = crate::Client<Wire, Host>;
/// Its locks.
pub type Lock = crate::Lock<Wire, Host>;
/// Its leases.
pub type Lease = crate::Lease<Wire, Host>;

/// An in-process Redis behind a bridge, and the clock of its clients. Clones are the same table.
#[derive(Clone, Default)]
pub struct Table(Arc<World>);

impl Table {
    /// An empty table, whose time stands still.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of this table. All clients of a table use its clock, and hear what others release.
    ///
    /// # Panics
    /// Never: the bridge's address is valid.
    pub fn client(&self) -> Client {
        let bridge = Bridge::upstash("https://table.test", "table").expect("an address");
        crate::Client::new(bridge, Wire(self.0.clone()), Host(self.0.clone()))
    }

    /// Runs a test, and the background work of its calls. When all of that waits, the clock moves
    /// to the next moment for which any of it waits.
    ///
    /// In a test on another executor, as tokio's, time passes by [`Table::advance`] alone.
    ///
    /// # Panics
    /// If `test` waits for something that never comes.
    pub fn block_on<O>(&self, test: impl Future<Output = O>) -> O {
        edgelock_table::block_on(&self.0, test)
    }

    /// Moves the clock of the table and of its clients, and wakes those who wait until then.
    pub fn advance(&self, time: Duration) {
        self.0.advance(time);
    }

    /// The next request does not arrive.
    pub fn lose_next_request(&self) {
        self.0.fault(Fault::LoseRequest);
    }

    /// The next request is executed, and its reply does not arrive.
    pub fn lose_next_reply(&self) {
        self.0.fault(Fault::LoseReply);
    }

    /// The next request is not executed, but gets this error of Redis, such as `LOADING`.
    pub fn fail_next(&self, error: &str) {
        self.0.fault(Fault::Fail(error.to_owned()));
    }

    /// Ends a key now, as if Redis had lost it, such as a lock whose lease does not know it yet.
    pub fn expire(&self, key: &str) {
        self.run(&["DEL", key]);
    }

    /// Executes a command, to set up a test or to see what it did. For a command that the table
    /// does not know, the reply is an error that names the known ones.
    pub fn run(&self, words: &[&str]) -> Reply {
        reply_of(self.0.run(words))
    }
}

fn reply_of(reply: edgelock_table::Reply) -> Reply {
    match reply {
        edgelock_table::Reply::Nil => Reply::Nil,
        edgelock_table::Reply::Int(number) => Reply::Int(number),
        edgelock_table::Reply::Bulk(bytes) => Reply::Bytes(bytes),
        edgelock_table::Reply::Status(text) => Reply::Bytes(text.into_bytes()),
        edgelock_table::Reply::Error(text) => Reply::Error(text),
        edgelock_table::Reply::Array(all) => Reply::Array(all.into_iter().map(reply_of).collect()),
    }
}

/// A table's clock as [`Runtime`].
pub struct Host(Arc<World>);

impl Runtime for Host {
    fn now(&self) -> Instant {
        Instant::from_origin(self.0.now())
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        World::sleep(&self.0, duration)
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        for bytes in bytes.chunks_mut(8) {
            bytes.copy_from_slice(&self.0.draw().to_le_bytes()[..bytes.len()]);
        }
        Ok(())
    }

    fn spawn(&self, task: Task) {
        if let Some(task) = spawn(task) {
            elsewhere(task);
        }
    }
}

/// Background work of a test that another executor runs: a task of the host's thread in wasm, and a
/// thread elsewhere.
fn elsewhere(task: Task) {
    #[cfg(all(target_family = "wasm", target_os = "unknown"))]
    crate::web::spawn(task);
    #[cfg(not(target_family = "wasm"))]
    std::thread::spawn(move || {
        let waker = Waker::from(Arc::new(Thread(std::thread::current())));
        let (mut task, mut cx) = (task, Context::from_waker(&waker));
        while task.as_mut().poll(&mut cx).is_pending() {
            std::thread::park();
        }
    });
    // A component has neither; its tests have `block_on`.
    #[cfg(all(target_family = "wasm", not(target_os = "unknown")))]
    drop(task);
}

#[cfg(not(target_family = "wasm"))]
struct Thread(std::thread::Thread);

#[cfg(not(target_family = "wasm"))]
impl Wake for Thread {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// A table as [`Transport`].
pub struct Wire(Arc<World>);

impl Wire {
    fn answer(&self, request: &Request<'_>) -> Result<Response, TransportError> {
        let answer = self.0.answer(path(request.url), &request.body);
        let lost = |what: &str| TransportError::NoResponse(what.to_owned());
        let (status, body) = answer.map_err(lost)?;
        let mut response = Response::new(status, body);
        response.bridge = Some(HEADER.1.to_owned());
        Ok(response)
    }
}

/// The path of an address.
fn path(url: &str) -> &str {
    let behind = url.split_once("://").map_or(url, |(_, behind)| behind);
    behind.find('/').map_or("/", |at| &behind[at..])
}

impl Transport for Wire {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        ready(self.answer(&request))
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let Some(channel) = channel(path(request.url)) else {
            return Ok(501);
        };
        let line = Line(&self.0, self.0.listen(&channel));
        hear(&begun(&channel));
        let mut limit = pin!(World::sleep(&self.0, request.timeout));
        poll_fn(|cx| {
            while let Some(text) = self.0.next_message(line.1, cx) {
                hear(&message(&channel, &text));
            }
            limit.as_mut().poll(cx).map(|()| Err(TransportError::TimedOut))
        })
        .await
    }
}

/// A subscription that ends when it is dropped.
struct Line<'w>(&'w World, Listener);

impl Drop for Line<'_> {
    fn drop(&mut self) {
        self.0.hang_up(self.1);
    }
}
