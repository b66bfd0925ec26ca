//! The host's `fetch`, as a transport.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use js_sys::{Function, Object, Uint8Array};
use send_wrapper::SendWrapper;
use wasm_bindgen::prelude::*;

use super::callback::timer_ms;
use crate::tasks::locked;
use crate::transport::{Request, Response, Transport, TransportError};

#[wasm_bindgen(module = "/src/web/exchange.js")]
extern "C" {
    type Exchange;
    #[wasm_bindgen(constructor)]
    fn new(
        fetch: Option<&Function>,
        url: &str,
        headers: &Object,
        body: &str,
        body_limit: usize,
        timeout_ms: f64,
        done: &Function,
    ) -> Exchange;
    #[wasm_bindgen(method)]
    fn abort(this: &Exchange);

    #[wasm_bindgen(extends = Exchange)]
    type Stream;
    #[wasm_bindgen(constructor)]
    fn new(
        fetch: Option<&Function>,
        url: &str,
        headers: &Object,
        body: &str,
        timeout_ms: f64,
        hear: &Function,
        done: &Function,
    ) -> Stream;
}

/// The host's `fetch` as [`Transport`].
pub struct Fetch(SendWrapper<Exchanges>);

#[derive(Default)]
struct Exchanges {
    /// Replaces the host's own `fetch`.
    function: Option<Function>,
    headers: Headers,
    /// Closures that no exchange uses now. Making a closure visible to JavaScript costs more than
    /// calling it.
    idle: RefCell<Vec<Completion>>,
}

/// The headers of the last request as a JavaScript object. They seldom change, and converting each
/// costs two copies.
#[derive(Default)]
pub(super) struct Headers(Mutex<Option<Converted>>);

struct Converted {
    from: Vec<(&'static str, String)>,
    object: Object,
}

impl Transport for Fetch {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        SendWrapper::new(self.0.send(request))
    }

    fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<u16, TransportError>> + Send {
        SendWrapper::new(self.0.listen(request, hear))
    }
}

/// With nothing of what it remembers.
impl Clone for Fetch {
    fn clone(&self) -> Self {
        Self(SendWrapper::new(Exchanges {
            function: self.0.function.clone(),
            ..Exchanges::default()
        }))
    }
}

impl Default for Fetch {
    fn default() -> Self {
        Self(SendWrapper::new(Exchanges::default()))
    }
}

impl Fetch {
    /// Sends by `function`, which is called as the host's `fetch` is. Use it to reach a bridge
    /// behind a service binding, or for tests.
    pub fn with(function: Function) -> Self {
        Self(SendWrapper::new(Exchanges { function: Some(function), ..Exchanges::default() }))
    }
}

impl Exchanges {
    async fn send(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let completion = self.idle.borrow_mut().pop().unwrap_or_else(Completion::new);
        let exchange = Exchange::new(
            self.function.as_ref(),
            request.url,
            &self.headers.object(request.headers),
            &request.body,
            request.body_limit,
            timer_ms(request.timeout),
            completion.done.as_ref().unchecked_ref(),
        );
        let mut unanswered = AbortOnDrop(Some(exchange));
        let answer = completion.answer().await;
        unanswered.0 = None;
        self.idle.borrow_mut().push(completion);
        answer
    }

    async fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let completion = Completion::new();
        let told = completion.pending.clone();
        let take = Closure::new(move |piece: Uint8Array| {
            told.borrow_mut().pieces.extend(piece.to_vec());
            wake(&told);
        });
        let stream = Stream::new(
            self.function.as_ref(),
            request.url,
            &to_object(request.headers),
            &request.body,
            timer_ms(request.timeout),
            Closure::<dyn FnMut(Uint8Array)>::as_ref(&take).unchecked_ref(),
            completion.done.as_ref().unchecked_ref(),
        );
        let mut unended = AbortOnDrop(Some(stream.into()));
        let ended = poll_fn(|cx| {
            let pieces = std::mem::take(&mut completion.pending.borrow_mut().pieces);
            if !pieces.is_empty() {
                hear(&pieces);
            }
            completion.poll(cx)
        })
        .await;
        unended.0 = None;
        ended.map(|response| response.status)
    }
}

impl Headers {
    pub(super) fn object(&self, headers: &[(&'static str, String)]) -> Object {
        let mut cached = locked(&self.0);
        if let Some(converted) = cached.as_ref().filter(|converted| converted.from == headers) {
            return converted.object.clone();
        }
        let object = to_object(headers);
        *cached = Some(Converted { from: headers.to_vec(), object: object.clone() });
        object
    }
}

fn to_object(headers: &[(&'static str, String)]) -> Object {
    let object = Object::new();
    for (name, value) in headers {
        // Setting a plain object's property cannot fail.
        let _ = js_sys::Reflect::set(&object, &(*name).into(), &value.as_str().into());
    }
    object
}

/// Aborts the `fetch` of a dropped future, which would otherwise go on.
struct AbortOnDrop(Option<Exchange>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        if let Some(exchange) = &self.0 {
            exchange.abort();
        }
    }
}

type Answer = Result<Response, TransportError>;

/// The outcome of an exchange, by the numbers of exchange.js.
pub(super) fn answer(failure: u8, status: u16, header: Option<String>, text: String) -> Answer {
    match failure {
        0 => {
            let (bridge, retry_after) = match status {
                200 => (header, None),
                _ => (None, header),
            };
            Ok(Response { status, retry_after, bridge, body: text.into_bytes() })
        }
        1 => Err(TransportError::NoResponse(text)),
        2 => Err(TransportError::Interrupted(text)),
        3 => Err(TransportError::TooLarge),
        5 => Err(TransportError::NotSent(text)),
        _ => Err(TransportError::TimedOut),
    }
}

/// What an exchange reports its end to.
struct Completion {
    pending: Rc<RefCell<Pending>>,
    done: Closure<Done>,
}

/// Failure, status, the header that matters at that status, and text.
type Done = dyn FnMut(u8, u16, Option<String>, String);

#[derive(Default)]
struct Pending {
    answer: Option<Answer>,
    /// The body of a streamed response so far.
    pieces: Vec<u8>,
    waker: Option<Waker>,
}

fn wake(pending: &RefCell<Pending>) {
    // Not while it is borrowed: some wakers poll at once.
    let waker = pending.borrow_mut().waker.take();
    if let Some(waker) = waker {
        waker.wake();
    }
}

impl Completion {
    fn new() -> Self {
        let pending = Rc::new(RefCell::new(Pending::default()));
        let told = pending.clone();
        let done = Closure::new(move |failure, status, header, text| {
            told.borrow_mut().answer = Some(answer(failure, status, header, text));
            wake(&told);
        });
        Self { pending, done }
    }

    async fn answer(&self) -> Answer {
        poll_fn(|cx| self.poll(cx)).await
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Answer> {
        let mut pending = self.pending.borrow_mut();
        if let Some(answer) = pending.answer.take() {
            return Poll::Ready(answer);
        }
        pending.waker = Some(cx.waker().clone());
        Poll::Pending
    }
}
