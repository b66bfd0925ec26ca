//! Ports for programs that cannot have the system pick one.

use std::net::TcpListener;

use anyhow::{Context, Result};

/// How often somebody else may take a free port before the program does.
const TRIES: usize = 5;

/// A port of the loopback interface that nobody has yet.
pub fn free_port() -> Result<u16> {
    let socket = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Ok(socket.local_addr()?.port())
}

/// What `start` makes of a free port. If it fails, it is tried with other ports.
pub(super) fn on_free_port<T>(start: impl Fn(u16) -> Result<T>) -> Result<T> {
    let on_another = || start(free_port()?);
    (1..TRIES).fold(on_another(), |started, _| started.or_else(|_| on_another()))
}
