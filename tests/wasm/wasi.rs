//! A component on a host of WASI.

use std::env;

use edgelock::{Bridge, wasi};

pub(crate) use edgelock::wasi::{Client, Host};
pub(crate) use wstd::test;

/// Under jco it polls (listening.rs).
pub(crate) fn client(bridge: Bridge) -> Client {
    let listens = env::var_os("EDGELOCK_POLLS").is_none();
    wasi::client(bridge.push(listens))
}

pub(crate) fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run `cargo xtask test`"))
}
