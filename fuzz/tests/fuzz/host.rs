//! A host whose bridge answers with given texts, and whose time passes at once.

use std::collections::BTreeSet;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use edgelock::{
    EntropyUnavailable, Event, Instant, Request, Response, Runtime, Task, Transport, TransportError,
};
use edgelock_fuzz::Text;

/// The credential of the bridge.
pub(crate) const CREDENTIAL: &str = "Sesame-open-7f3a";

/// The same credential as webdis gets it, behind the name of a user.
pub(crate) const BASIC: &str = "dXNlcjpTZXNhbWUtb3Blbi03ZjNh";

/// The token of each acquisition, since the host draws the same bytes each time.
pub(crate) const TOKEN: &str = "BwcHBwcHBwcHBwcHBwcHBw";

/// More steps than any call takes that ends.
const MOST_STEPS: usize = 20_000;

#[derive(Clone)]
pub(crate) struct Host(Arc<Mutex<World>>);

struct World {
    answers: Vec<Text>,
    /// How many answers were given. After the last one, connections fail.
    given: usize,
    /// The size of the pieces in which a subscription arrives.
    piece: usize,
    now: Duration,
    timers: BTreeSet<(Duration, u64)>,
    last_timer: u64,
    tasks: Vec<Task>,
    told: String,
}

impl Host {
    pub(crate) fn answering(answers: &[Text], piece: usize) -> Self {
        Self(Arc::new(Mutex::new(World {
            answers: answers.to_vec(),
            given: 0,
            piece,
            now: Duration::from_secs(1_000),
            timers: BTreeSet::new(),
            last_timer: 0,
            tasks: Vec::new(),
            told: String::new(),
        })))
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What observers were told since the last time.
    pub(crate) fn told(&self) -> String {
        std::mem::take(&mut self.world().told)
    }

    /// Runs `call` and what it leaves to do in the background, to their ends.
    ///
    /// # Panics
    /// If they do not end.
    pub(crate) fn run<F: Future>(&self, call: F) -> F::Output {
        let mut cx = Context::from_waker(Waker::noop());
        let mut call = pin!(call);
        let mut output = None;
        for _ in 0..MOST_STEPS {
            if output.is_none()
                && let Poll::Ready(done) = call.as_mut().poll(&mut cx)
            {
                output = Some(done);
            }
            let tasks = std::mem::take(&mut self.world().tasks);
            for mut task in tasks {
                if task.as_mut().poll(&mut cx).is_pending() {
                    self.world().tasks.push(task);
                }
            }
            let mut world = self.world();
            match (output.take(), world.tasks.is_empty()) {
                (Some(output), true) => return output,
                (still, _) => output = still,
            }
            match world.timers.pop_first() {
                Some((until, _)) => world.now = world.now.max(until),
                None => assert!(output.is_some() || !world.tasks.is_empty(), "it hangs"),
            }
        }
        panic!("it does not end");
    }

    fn next_answer(&self) -> Option<(Head, String)> {
        let mut world = self.world();
        let text = world.answers.get(world.given)?.lossy();
        world.given += 1;
        let (head, body) = text.split_once(' ').unwrap_or((&text, ""));
        Some((Head::parse(head), body.to_owned()))
    }
}

/// The head of an answer: `STATUS,RETRY-AFTER,BRIDGE`, of which only the first is needed. In place
/// of the status, it may say why there is no response.
struct Head {
    status: Result<u16, String>,
    retry_after: Option<String>,
    bridge: Option<String>,
}

impl Head {
    fn parse(text: &str) -> Self {
        let mut parts = text.split(',').map(str::to_owned);
        let status = parts.next().unwrap_or_default();
        Self {
            status: status.parse().map_err(|_| status),
            retry_after: parts.next().filter(|text| !text.is_empty()),
            bridge: parts.next(),
        }
    }

    fn failure(why: &str, text: String) -> TransportError {
        match why {
            "not_sent" => TransportError::NotSent(text),
            "interrupted" => TransportError::Interrupted(text),
            "too_large" => TransportError::TooLarge,
            "timed_out" => TransportError::TimedOut,
            _ => TransportError::NoResponse(text),
        }
    }
}

/// `body` with the request's nonce, the token and the credential in their places.
fn filled(body: &str, request: &Request<'_>) -> String {
    let body = body.replace("CREDENTIAL", CREDENTIAL).replace("TOKEN", TOKEN);
    match body.contains("NONCE") {
        true => body.replace("NONCE", &nonce(&request.body).unwrap_or_default()),
        false => body,
    }
}

/// The first argument after the keys, in any dialect.
fn nonce(request: &str) -> Option<String> {
    let words: Vec<String> = match request.as_bytes() {
        [b'[', b'[', ..] => serde_json::from_str::<[_; 2]>(request).ok()?.into_iter().next()?,
        [b'[', ..] => serde_json::from_str(request).ok()?,
        // Neither the number of keys nor the nonce is ever escaped.
        _ => request.split('/').map(str::to_owned).collect(),
    };
    let keys: usize = words.get(2)?.parse().ok()?;
    words.get(3 + keys).cloned()
}

impl Transport for Host {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let Some((head, body)) = self.next_answer() else {
            return Err(TransportError::NotSent("there are no more answers".into()));
        };
        let body = filled(&body, &request);
        let status = head.status.map_err(|why| Head::failure(&why, body.clone()))?;
        let mut response = Response::new(status, body);
        (response.retry_after, response.bridge) = (head.retry_after, head.bridge);
        Ok(response)
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let Some((head, body)) = self.next_answer() else {
            return Err(TransportError::NotSent("there are no more answers".into()));
        };
        let body = filled(&body, &request);
        let channel = request.url.rsplit('/').next().unwrap_or_default();
        let body = Text(body.replace("CHANNEL", channel).into_bytes());
        let status = head.status.map_err(|why| Head::failure(&why, body.lossy()))?;
        if status == 200 {
            let piece = self.world().piece;
            body.pieces(piece).for_each(hear);
        }
        Ok(status)
    }
}

impl Runtime for Host {
    fn now(&self) -> Instant {
        Instant::from_origin(self.world().now)
    }

    async fn sleep(&self, duration: Duration) {
        let until = {
            let mut world = self.world();
            world.last_timer += 1;
            let timer = (world.now.saturating_add(duration), world.last_timer);
            world.timers.insert(timer);
            timer
        };
        let _stop = Stop(self, until);
        let is_over = |_: &mut Context<'_>| match self.world().now >= until.0 {
            true => Poll::Ready(()),
            false => Poll::Pending,
        };
        poll_fn(is_over).await;
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        bytes.fill(7);
        Ok(())
    }

    fn spawn(&self, task: Task) {
        self.world().tasks.push(task);
    }

    fn observe(&self, event: &Event<'_>) {
        let told = format!("{event:?}\n");
        self.world().told.push_str(&told);
    }
}

/// Removes the timer when nobody waits for it, so that time does not pass up to it.
struct Stop<'a>(&'a Host, (Duration, u64));

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.world().timers.remove(&self.1);
    }
}
