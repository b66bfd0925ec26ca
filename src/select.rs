//! Waits for the first of two futures.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::task::Poll;

/// Which of the two was first.
pub(crate) enum Either<A, B> {
    Left(A),
    Right(B),
}

/// Drops the other one. If both are ready, the left one is first.
pub(crate) async fn select<A, B>(
    left: impl Future<Output = A>,
    right: impl Future<Output = B>,
) -> Either<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|cx| match left.as_mut().poll(cx) {
        Poll::Ready(output) => Poll::Ready(Either::Left(output)),
        Poll::Pending => right.as_mut().poll(cx).map(Either::Right),
    })
    .await
}
