//! Makes every reply of Redis one that the Redis library can read, and the bridge can hold.
//!
//! Redis cuts long arguments when it quotes them in an error, through the middle of a character if need be; scripts put any bytes
//! they like into errors and status replies, and nest their replies as deep as they like. The library gives a connection up on
//! which it reads such a thing. And a reply may be larger than all memory. Connections are shared: one client's reply would cost
//! all others theirs. So a reply passes as a whole or not at all, and an error takes the place of one that does not. The replies of
//! one request are held together, and count together.

mod awaited;
mod sieve;

use std::io;
use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

pub(crate) use self::awaited::Awaited;
use self::sieve::Sieve;
pub(crate) use self::sieve::cost;

/// More than this is not kept for the next replies.
const KEPT: usize = 64 * 1024;

/// Passes replies on as they are, but for errors and status replies, where U+FFFD replaces what is not UTF-8, and for those that are
/// nested too deep, or of more than `largest` bytes with those of the same request.
pub(crate) struct Frames<S> {
    inner: S,
    sieve: Sieve,
    given: usize,
}

impl<S> Frames<S> {
    /// For a connection of messages.
    pub(crate) fn of_messages(inner: S, largest: usize) -> Self {
        let mut frames = Self::new(inner, largest, Awaited::default());
        frames.sieve.is_of_messages = true;
        frames
    }

    pub(crate) fn new(inner: S, largest: usize, awaited: Awaited) -> Self {
        Self {
            inner,
            sieve: Sieve::new(largest, awaited),
            given: 0,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Frames<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let sieve = &mut this.sieve;
        while this.given == sieve.whole {
            let mut chunk = [MaybeUninit::uninit(); 16 * 1024];
            let mut chunk = ReadBuf::uninit(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            sieve.take(chunk.filled());
        }
        let left = &sieve.ready[this.given..sieve.whole];
        let now = left.len().min(out.remaining());
        out.put_slice(&left[..now]);
        this.given += now;
        if this.given == sieve.whole {
            sieve.ready.drain(..sieve.whole);
            sieve.ready.shrink_to(KEPT);
            sieve.whole = 0;
            this.given = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Frames<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
