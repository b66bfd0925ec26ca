//! Makes every reply legible to the Redis library.
//!
//! Redis cuts long arguments when it quotes them in an error, through the middle of a character if need be, and
//! scripts put any bytes they like into errors and status replies. The library takes those for UTF-8 and gives the
//! connection up when they are not. That connection is shared: one client's typing error would cost all others their
//! answers.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Passes bytes on as they are, but for errors and status replies, where U+FFFD replaces what is not UTF-8.
pub(crate) struct Legible<S> {
    inner: S,
    sieve: Sieve,
    given: usize,
}

#[derive(Default)]
struct Sieve {
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// What is left of a bulk string, which may hold anything.
    bulk: usize,
    ready: Vec<u8>,
}

impl<S> Legible<S> {
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            sieve: Sieve::default(),
            given: 0,
        }
    }
}

impl Sieve {
    fn take(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.bulk > 0 {
                let (content, rest) = bytes.split_at(self.bulk.min(bytes.len()));
                self.ready.extend_from_slice(content);
                self.bulk -= content.len();
                bytes = rest;
                continue;
            }
            let end = bytes
                .iter()
                .position(|byte| *byte == b'\n')
                .map_or(bytes.len(), |at| at + 1);
            let (piece, rest) = bytes.split_at(end);
            self.line.extend_from_slice(piece);
            bytes = rest;
            if piece.ends_with(b"\n") {
                self.pass_line();
            }
        }
    }

    fn pass_line(&mut self) {
        match self.line[0] {
            b'+' | b'-' => self
                .ready
                .extend_from_slice(String::from_utf8_lossy(&self.line).as_bytes()),
            _ => self.ready.extend_from_slice(&self.line),
        }
        if self.line[0] == b'$' {
            let length = str::from_utf8(&self.line[1..])
                .ok()
                .and_then(|text| text.trim_end().parse::<usize>().ok());
            // No length is -1, for nil; the content of any other ends with CR and LF.
            self.bulk = length.map_or(0, |length| length + 2);
        }
        self.line.clear();
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Legible<S> {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        out: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        while this.sieve.ready.is_empty() {
            let mut chunk = [0; 8192];
            let mut chunk = ReadBuf::new(&mut chunk);
            ready!(Pin::new(&mut this.inner).poll_read(cx, &mut chunk))?;
            if chunk.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
            this.sieve.take(chunk.filled());
        }
        let left = &this.sieve.ready[this.given..];
        let now = left.len().min(out.remaining());
        out.put_slice(&left[..now]);
        this.given += now;
        if this.given == this.sieve.ready.len() {
            this.sieve.ready.clear();
            this.given = 0;
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Legible<S> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(arrives: &[u8], expected: &[u8]) {
        for size in 1..=arrives.len() {
            let mut sieve = Sieve::default();
            arrives.chunks(size).for_each(|chunk| sieve.take(chunk));
            assert_eq!(sieve.ready, expected, "in pieces of {size}");
        }
    }

    #[test]
    fn errors_and_statuses_become_utf8() {
        check(
            b"-ERR caf\xc3\r\n+\xff\r\n",
            "-ERR caf\u{fffd}\r\n+\u{fffd}\r\n".as_bytes(),
        );
        check("-ERR café\r\n".as_bytes(), "-ERR café\r\n".as_bytes());
    }

    #[test]
    fn values_stay_as_they_are_whatever_they_look_like() {
        let values = b"*3\r\n$6\r\n-\xff\r\n+\xfe\r\n:-7\r\n$-1\r\n$0\r\n\r\n";
        check(values, values);
    }
}
