//! edgelock on Fastly Compute. Requests go to a backend that the service names. Nothing wakes a
//! program there, so one loop asks everything that waits, each millisecond.

use std::error::Error;
use std::future::poll_fn;
use std::mem::take;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread;
use std::time::{Duration, Instant};

use edgelock::{Bridge, EntropyUnavailable, Response, Runtime, Task, Transport, TransportError};
use fastly::http::request::{PendingRequest, PollResult, SendError, SendErrorCause};
use fastly::{Request, SecretStore};
use send_wrapper::SendWrapper;

/// The bridge that the secret store `edgelock` names.
pub fn bridge() -> Result<Bridge, Box<dyn Error>> {
    let store = SecretStore::open("edgelock")?;
    let secret = |name| store.get(name).map(|secret| secret.plaintext()).unwrap_or_default();
    let (url, credential) = (secret("url"), secret("credential"));
    Ok(Bridge::upstash(str::from_utf8(&url)?, str::from_utf8(&credential)?)?)
}

/// The name of the backend that is the bridge. Fastly does not abort a request that was given up:
/// the time-outs of the backend bound how long it goes on.
pub struct Backend(pub &'static str);

impl Transport for Backend {
    fn send(
        &self,
        request: edgelock::Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        // Fastly's requests are bound to the thread. There is one.
        SendWrapper::new(exchange(self.0, request))
    }
}

async fn exchange(
    backend: &str,
    request: edgelock::Request<'_>,
) -> Result<Response, TransportError> {
    let until = Instant::now() + request.timeout;
    let mut post = Request::post(request.url).with_pass(true).with_body(request.body);
    for (name, value) in request.headers {
        post.set_header(*name, value.as_str());
    }
    let mut sent = Some(post.send_async(backend).map_err(failure)?);
    let answer = poll_fn(|_| match sent.take().map(PendingRequest::poll) {
        Some(PollResult::Done(answer)) => Poll::Ready(answer.map_err(failure)),
        Some(PollResult::Pending(pending)) if Instant::now() < until => {
            sent = Some(pending);
            Poll::Pending
        }
        _ => Poll::Ready(Err(TransportError::TimedOut)),
    });
    let mut answer = answer.await?;
    let header = |name| answer.get_header_str(name).map(str::to_owned);
    let mut response = Response::new(answer.get_status().as_u16(), "");
    response.retry_after = header("retry-after");
    response.bridge = header("x-edgelock-bridge");
    for piece in answer.take_body().read_chunks(4096) {
        let piece = piece.map_err(|error| TransportError::Interrupted(error.to_string()))?;
        if response.body.len() + piece.len() > request.body_limit {
            return Err(TransportError::TooLarge);
        }
        response.body.extend(piece);
    }
    Ok(response)
}

/// The causes of which it is certain that there was no connection.
fn failure(error: SendError) -> TransportError {
    let cause = error.root_cause();
    match cause {
        SendErrorCause::DnsTimeout
        | SendErrorCause::DnsError { .. }
        | SendErrorCause::DestinationNotFound
        | SendErrorCause::DestinationIpUnroutable
        | SendErrorCause::ConnectionRefused => TransportError::NotSent(cause.to_string()),
        _ => TransportError::NoResponse(cause.to_string()),
    }
}

/// The clock, the timers, and the tasks of one request.
#[derive(Clone)]
pub struct Compute {
    began: Instant,
    tasks: Arc<Mutex<Vec<Task>>>,
}

impl Compute {
    pub fn new() -> Self {
        Self { began: Instant::now(), tasks: Arc::default() }
    }

    /// Runs `work` to its end, and the tasks beside it.
    pub fn run<O>(&self, work: impl Future<Output = O>) -> O {
        let mut work = pin!(work);
        loop {
            let polled = work.as_mut().poll(&mut Context::from_waker(Waker::noop()));
            if let Poll::Ready(output) = polled {
                return output;
            }
            self.round();
        }
    }

    /// Runs the tasks that are left to their end.
    pub fn finish(&self) {
        while !self.tasks().is_empty() {
            self.round();
        }
    }

    fn round(&self) {
        // Taken out, since a task may spawn another.
        let mut tasks = take(&mut *self.tasks());
        let mut context = Context::from_waker(Waker::noop());
        tasks.retain_mut(|task| task.as_mut().poll(&mut context).is_pending());
        self.tasks().append(&mut tasks);
        thread::sleep(Duration::from_millis(1));
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<Task>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runtime for Compute {
    fn now(&self) -> edgelock::Instant {
        edgelock::Instant::from_origin(self.began.elapsed())
    }

    async fn sleep(&self, duration: Duration) {
        let from = Instant::now();
        poll_fn(|_| if from.elapsed() < duration { Poll::Pending } else { Poll::Ready(()) }).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        getrandom::fill(bytes).map_err(|_| EntropyUnavailable)
    }

    fn spawn(&self, task: Task) {
        self.tasks().push(task);
    }
}
