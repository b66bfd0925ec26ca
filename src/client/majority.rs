//! Asking several bridges at once.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use super::Client;
use super::sending::{Check, Settled, Until};
use crate::error::Error;
use crate::quorum::{Count, Judged};
use crate::runtime::Runtime;
use crate::script::{Call, Verdict};
use crate::token::Session;
use crate::transport::Transport;

impl<T: Transport, R: Runtime> Client<T, R> {
    /// Has `call` executed everywhere, for what a majority says.
    pub(super) async fn call_majority<O: Judged>(
        &self,
        call: &Call,
        session: &Session,
        until: Until,
    ) -> Settled<O> {
        let mut judged = None;
        let mut judge = |answers: &[Verdict], count| {
            let answers: Vec<O> = answers.iter().flat_map(O::read).collect();
            judged = O::judge(&answers, count);
            judged.is_some()
        };
        let settled = self
            .deliver_everywhere(call, session, until, O::check, &mut judge)
            .await;
        settled.and_then(|()| judged.ok_or(NO_BRIDGES))
    }

    /// Sends `call` everywhere, and comes back as soon as `judge` says that the answers amount to something. Bridges that are slower
    /// are heard out in the background: a request that is broken off may be executed all the same.
    async fn deliver_everywhere(
        &self,
        call: &Call,
        session: &Session,
        until: Until,
        check: Check,
        judge: &mut Judge<'_>,
    ) -> Settled<()> {
        let begun_at = self.runtime().now();
        let bridges = self.host.nodes.len();
        let each = Until::Deadline(begun_at + until.share(begun_at).min(self.request_timeout));
        let mut asked = Answers(
            (0..bridges)
                .map(|node| {
                    let mut client = self.of(node);
                    client.attempts = until.attempts(self.attempts);
                    let (call, session) = (call.clone(), session.clone());
                    Box::pin(
                        async move { client.deliver(node, &call, &session, each, check).await },
                    )
                })
                .collect(),
        );
        let mut answers = Vec::new();
        let mut failure = None;
        let mut requests = 1;
        let outcome = loop {
            let Some(settled) = asked.next().await else {
                break Err(failure.unwrap_or(NO_BRIDGES));
            };
            requests = requests.max(settled.requests);
            match settled.outcome {
                Ok(answer) => answers.push(answer),
                Err(error) => failure = Some(graver(failure, error)),
            }
            let pending = asked.0.len();
            let count = Count {
                bridges,
                pending,
                failed: bridges - answers.len() - pending,
            };
            if judge(&answers, count) {
                break Ok(());
            }
        };
        if !asked.0.is_empty() {
            let heard_out = async move { while asked.next().await.is_some() {} };
            self.runtime().spawn(Box::pin(heard_out));
        }
        Settled {
            outcome,
            begun_at,
            asked_at: begun_at,
            strays: true,
            requests,
        }
    }
}

/// Whether the answers so far amount to something.
type Judge<'a> = dyn FnMut(&[Verdict], Count) -> bool + Send + 'a;

const NO_BRIDGES: Error = Error::UnexpectedReply("no bridge was asked");

/// Of two failures the one that leaves open what happened: unknown is not no.
fn graver(before: Option<Error>, error: Error) -> Error {
    before
        .filter(|before| before.is_unknown() || !error.is_unknown())
        .unwrap_or(error)
}

/// Requests under way at once.
struct Answers<F>(Vec<Pin<Box<F>>>);

impl<F: Future> Answers<F> {
    /// The next to be answered, `None` once all are.
    fn next(&mut self) -> impl Future<Output = Option<F::Output>> {
        poll_fn(|cx| {
            for (at, asked) in self.0.iter_mut().enumerate() {
                if let Poll::Ready(answer) = asked.as_mut().poll(cx) {
                    self.0.swap_remove(at);
                    return Poll::Ready(Some(answer));
                }
            }
            if self.0.is_empty() {
                Poll::Ready(None)
            } else {
                Poll::Pending
            }
        })
    }
}
