//! What goes on to its end, whoever still waits for it.

use std::pin::Pin;
use std::task::{Context, Poll};

/// In a task of its own, once it was begun and then dropped.
pub(crate) struct Insist<F: Future<Output: Send> + Send + 'static>(Option<Pin<Box<F>>>);

impl<F: Future<Output: Send> + Send> Insist<F> {
    pub(crate) fn on(work: F) -> Self {
        Self(Some(Box::pin(work)))
    }
}

impl<F: Future<Output: Send> + Send> Future for Insist<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let work = self.0.as_mut().expect("not polled after its end");
        let polled = work.as_mut().poll(cx);
        if polled.is_ready() {
            self.0 = None;
        }
        polled
    }
}

impl<F: Future<Output: Send> + Send + 'static> Drop for Insist<F> {
    fn drop(&mut self) {
        if let Some(work) = self.0.take() {
            tokio::spawn(work);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;
    use tokio::time::timeout;

    use super::*;

    #[tokio::test]
    async fn what_is_broken_off_ends_all_the_same() {
        let (go_on, waits) = oneshot::channel::<()>();
        let (told, ended) = oneshot::channel();
        let work = Insist::on(async move {
            waits.await.expect("a word");
            told.send(()).expect("heard");
        });
        let _ = timeout(std::time::Duration::ZERO, work).await;
        go_on.send(()).expect("it waits");
        ended.await.expect("it ended");
    }
}
