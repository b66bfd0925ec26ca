//! How long a connection of a client may be silent.
//!
//! A timer for each request would be set and cancelled as often as requests come. Instead, what
//! happens is noted, and checked from time to time.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep_until};

/// A head and a body that are together no larger than this leave as one piece, which costs the
/// system less than two. In bytes.
const JOINED: usize = 1024;

#[derive(Clone, Copy)]
pub(crate) struct IdleLimits {
    /// Between an answer and the next request, or before the first.
    pub(crate) idle: Duration,
    /// From the first byte of a request to the end of its head.
    pub(crate) head: Duration,
}

/// What is known of a connection's activity.
#[derive(Clone)]
pub(crate) struct IdleTracker(Arc<Mutex<State>>);

struct State {
    /// Requests whose answers are not complete.
    under_way: usize,
    /// The system takes no more of an answer. It has its own limit on how long.
    is_unread: bool,
    /// When the last answer left.
    idle_since: Instant,
    /// When the first byte of an incomplete head came.
    head_since: Option<Instant>,
}

/// A request under way. Dropping this ends it.
pub(crate) struct UnderWay(IdleTracker);

/// Notes when bytes are read and written.
pub(crate) struct Observed<S> {
    inner: S,
    idle: IdleTracker,
}

impl IdleTracker {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(State {
            under_way: 0,
            is_unread: false,
            idle_since: Instant::now(),
            head_since: None,
        })))
    }

    pub(crate) fn of<S>(self, inner: S) -> Observed<S> {
        let idle = self;
        Observed { inner, idle }
    }

    /// The head of a request is complete.
    pub(crate) fn begun(&self) -> UnderWay {
        let mut state = self.state();
        state.under_way += 1;
        state.head_since = None;
        UnderWay(self.clone())
    }

    /// Returns once the connection was silent for too long.
    pub(crate) async fn outlasts(&self, limits: IdleLimits) {
        let often = limits.idle.min(limits.head);
        loop {
            let now = Instant::now();
            let look = now + often;
            let look = match self.state().ends(limits) {
                Some(end) if end <= now => return,
                Some(end) => look.min(end),
                None => look,
            };
            sleep_until(look).await;
        }
    }

    fn read(&self) {
        let mut state = self.state();
        if state.under_way == 0 && state.head_since.is_none() {
            state.head_since = Some(Instant::now());
        }
    }

    fn written(&self, is_unread: bool) {
        let mut state = self.state();
        if state.is_unread != is_unread {
            state.is_unread = is_unread;
            state.idle_since = Instant::now();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// When it will have been silent for too long, unless something happens.
    fn ends(&self, limits: IdleLimits) -> Option<Instant> {
        if self.under_way > 0 || self.is_unread {
            return None;
        }
        Some(match self.head_since {
            Some(since) => since + limits.head,
            None => self.idle_since + limits.idle,
        })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.under_way -= 1;
        state.idle_since = Instant::now();
    }
}

impl<S> Observed<S> {
    fn note(&self, written: &Poll<io::Result<usize>>) {
        self.idle.written(written.is_pending());
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Observed<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = out.filled().len();
        let read = Pin::new(&mut self.inner).poll_read(cx, out);
        if out.filled().len() > before {
            self.idle.read();
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Observed<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.note(&written);
        written
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let mut joined = [0; JOINED];
        let written = match join(pieces, &mut joined) {
            Some(joined) => Pin::new(&mut self.inner).poll_write(cx, joined),
            None => Pin::new(&mut self.inner).poll_write_vectored(cx, pieces),
        };
        self.note(&written);
        written
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

/// All pieces in one, if there is room.
fn join<'a>(pieces: &[IoSlice<'_>], room: &'a mut [u8]) -> Option<&'a [u8]> {
    let mut length = 0;
    for piece in pieces {
        room.get_mut(length..)?
            .get_mut(..piece.len())?
            .copy_from_slice(piece);
        length += piece.len();
    }
    room.get(..length)
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};
    use tokio::time::sleep;

    use super::*;

    const LIMITS: IdleLimits = IdleLimits {
        idle: Duration::from_secs(60),
        head: Duration::from_secs(10),
    };

    #[test]
    fn pieces_are_joined_where_there_is_room() {
        let pieces = [&b"head"[..], b"", b"body"].map(IoSlice::new);
        assert_eq!(join(&pieces, &mut [0; 9]), Some(&b"headbody"[..]));
        assert_eq!(join(&pieces, &mut [0; 8]), Some(&b"headbody"[..]));
        assert_eq!(join(&pieces, &mut [0; 7]), None);
    }

    /// How long the connection may stay silent from now on.
    async fn lasts(idle: &IdleTracker) -> u64 {
        let begun = Instant::now();
        idle.outlasts(LIMITS).await;
        begun.elapsed().as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_without_a_request_may_be_silent_for_longer_than_in_the_midst_of_a_head() {
        let (mut client, server) = duplex(64);
        let idle = IdleTracker::new();
        let mut server = idle.clone().of(server);
        assert_eq!(lasts(&idle).await, 60);
        for _ in 0..3 {
            client.write_all(b"G").await.expect("sent");
            server.read_u8().await.expect("read");
            sleep(Duration::from_secs(3)).await;
        }
        assert_eq!(lasts(&idle).await, 1);
        drop(idle.begun());
        assert_eq!(lasts(&idle).await, 60);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_under_way_and_an_answer_that_is_not_read_are_no_silence() {
        let (mut client, server) = duplex(4);
        let idle = IdleTracker::new();
        let mut server = idle.clone().of(server);
        let hour = Duration::from_secs(3600);
        let waits = async |idle: &IdleTracker| {
            let lasts = tokio::time::timeout(hour, idle.outlasts(LIMITS));
            lasts.await.is_err()
        };
        let under_way = idle.begun();
        assert!(waits(&idle).await);
        drop(under_way);
        let writes = tokio::spawn(async move {
            server.write_all(b"12345678").await.expect("read");
            server
        });
        tokio::task::yield_now().await;
        assert!(waits(&idle).await);
        client.read_exact(&mut [0; 8]).await.expect("written");
        let _server = writes.await.expect("no panic");
        assert_eq!(lasts(&idle).await, 60);
    }
}
