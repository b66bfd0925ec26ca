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

mod host;
mod wire;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use edgelock_table::{Fault, World};

use crate::bridge::Bridge;
use crate::command::Reply;
pub use host::Host;
pub use wire::Wire;

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
    /// An empty one, whose time stands still.
    pub fn new() -> Self {
        Self::default()
    }

    /// A client of this table. All of them go by its clock, and hear what others release.
    ///
    /// # Panics
    /// Never: the bridge's address is valid.
    pub fn client(&self) -> Client {
        let bridge = Bridge::upstash("https://table.test", "table").expect("an address");
        crate::Client::new(bridge, Wire(self.0.clone()), Host(self.0.clone()))
    }

    /// Runs a test, with what its calls leave to the background. When all of that waits, the clock
    /// goes on to the next thing that somebody waits for.
    ///
    /// In a test on another executor, as tokio's, time passes by [`Table::advance`] alone.
    ///
    /// # Panics
    /// If `test` waits for something that never comes.
    pub fn block_on<O>(&self, test: impl Future<Output = O>) -> O {
        edgelock_table::block_on(&self.0, test)
    }

    /// Turns the clock of the table and of its clients on, and wakes who waits until then.
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

    /// A key ends now, as if Redis had lost it: a lock, whose lease does not know it yet.
    pub fn expire(&self, key: &str) {
        self.run(&["DEL", key]);
    }

    /// Executes a command, to set a test up or to look at what it did. One that the table does not
    /// know is an error that names those that it knows.
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
