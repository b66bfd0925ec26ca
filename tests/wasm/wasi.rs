//! A component on a host of WASI.

use std::env;
use std::time::Duration;

use edgelock::Bridge;
use edgelock::wasi::{self, Lock};
use wstd::runtime::block_on;

pub(crate) use edgelock::wasi::{Client, Host};
pub(crate) use wstd::test;

use crate::is_ready_now;

pub(crate) fn client(bridge: Bridge) -> Client {
    wasi::client(bridge.push(listens()))
}

/// Whether a waiter listens. Under jco it polls (listening.rs).
pub(crate) fn listens() -> bool {
    env::var_os("EDGELOCK_POLLS").is_none()
}

pub(crate) fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`"))
}

/// `#[wstd::http_server]` makes a handler's export of `block_on`.
#[core::prelude::v1::test]
fn what_a_handler_dropped_is_given_back_before_its_export_returns() {
    let client = crate::client();
    let [lease, call, wait] = ["lease", "call", "wait"].map(|name| client.lock(name));
    let holder = block_on(async {
        drop(lease.try_acquire().await.unwrap());

        // Mostly, it is granted, and its reply is under way.
        let mut calling = Box::pin(call.try_acquire());
        while !is_ready_now(&mut calling).await && is_free(&call).await {}

        let holder = wait.try_acquire().await.unwrap();
        let wait = wait.clone().wait_timeout(Duration::from_secs(20));
        let mut waiting = Box::pin(wait.acquire());
        while wait.inspect().await.unwrap().waiters == 0 {
            assert!(!is_ready_now(&mut waiting).await);
        }
        holder
    });
    block_on(async {
        assert!(is_free(&lease).await);
        assert!(is_free(&call).await);
        assert_eq!(wait.inspect().await.unwrap().waiters, 0);
        holder.release().await.unwrap();
    });
}

async fn is_free(lock: &Lock) -> bool {
    lock.inspect().await.unwrap().holder.is_none()
}
