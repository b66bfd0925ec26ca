//! Ctrl-C is an ordinary way to end: what runs is dropped, and its processes end with it.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Runs `work` to its end. If someone asks us to stop before that, it is an error.
pub fn or<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    until(work)?.context("interrupted")
}

/// Runs `work` to its end, or until someone asks us to stop; then it returns `None`.
pub fn until<T>(work: impl Future<Output = Result<T>>) -> Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        // Before the work begins, so that none of its processes is left behind.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            ended = work => ended.map(Some),
            _ = interrupt.recv() => Ok(None),
            _ = terminate.recv() => Ok(None),
        }
    })
}
