//! Ctrl-C as an ordinary way to end: what runs is dropped, and takes its processes with it.

use std::future::Future;

use anyhow::{Context, Result};
use tokio::signal::unix::{SignalKind, signal};

/// Runs `work` to its end; to be asked to stop before that is an error.
pub(crate) fn or<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
    until(work)?.context("interrupted")
}

/// Runs `work` to its end, or until someone asks us to stop: then there is nothing.
pub(crate) fn until<T>(work: impl Future<Output = Result<T>>) -> Result<Option<T>> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    runtime.block_on(async {
        // Before the work begins, so that nothing it starts can be left behind.
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        tokio::select! {
            ended = work => ended.map(Some),
            _ = interrupt.recv() => Ok(None),
            _ = terminate.recv() => Ok(None),
        }
    })
}
