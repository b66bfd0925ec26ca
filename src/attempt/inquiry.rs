//! What is to be read by now: an attempt asks before each request, and whoever has it acquire answers.
//!
//! Not by a call of the answer: each kind of it would come with a copy of all that an attempt does.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

use crate::command::Command;

#[derive(Clone, Default)]
pub(crate) struct Inquiry(Arc<Mutex<Question>>);

#[derive(Default)]
enum Question {
    #[default]
    None,
    Asked,
    Answered(Vec<Command>),
}

impl Inquiry {
    /// What is to be read.
    pub(super) async fn ask(&self) -> Vec<Command> {
        *self.question() = Question::Asked;
        poll_fn(|_| match &mut *self.question() {
            Question::Answered(reads) => Poll::Ready(std::mem::take(reads)),
            // Who answers looks whenever this waits.
            Question::None | Question::Asked => Poll::Pending,
        })
        .await
    }

    /// What `work` comes to, which asks, and is answered by `reads`.
    pub(crate) async fn answer<O>(
        &self,
        mut reads: impl FnMut() -> Vec<Command>,
        work: impl Future<Output = O>,
    ) -> O {
        let mut work = pin!(work);
        poll_fn(|cx| {
            loop {
                if let Poll::Ready(output) = work.as_mut().poll(cx) {
                    return Poll::Ready(output);
                }
                if !matches!(*self.question(), Question::Asked) {
                    return Poll::Pending;
                }
                let answer = reads();
                *self.question() = Question::Answered(answer);
            }
        })
        .await
    }

    fn question(&self) -> MutexGuard<'_, Question> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
