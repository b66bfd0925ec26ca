//! A client's host: [`Runtime`] and [`Transport`] on a machine of the simulation.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Poll, Waker};
use std::time::Duration;

use edgelock::{
    Client, EntropyUnavailable, Event, Instant, Lease, Lock, Request, Response, Runtime, Task,
    Transport, TransportError,
};

use send_wrapper::SendWrapper;

use super::case::Case;
use super::rng::Rng;
use super::world::{Machine, World};

pub(crate) type SimClient = Client<Wire, Host<Case>>;
pub(crate) type SimLock = Lock<Wire, Host<Case>>;
pub(crate) type SimLease = Lease<Wire, Host<Case>>;

/// The settings of a client.
#[derive(Clone, Copy)]
pub(crate) struct Settings {
    pub(crate) script_cache: bool,
    pub(crate) push: bool,
    pub(crate) attempts: u32,
    pub(crate) timeout: Duration,
}

pub(crate) fn client(case: &Rc<Case>, machine: &Rc<Machine>, settings: Settings) -> SimClient {
    let on = || (case.clone(), machine.clone());
    let mut bridge =
        (case.dialect.get()).bridge("https://bridge.example").script_cache(settings.script_cache);
    if !settings.push {
        bridge = bridge.push(false);
    }
    let ((case, machine), wire) = (on(), on());
    Client::new(bridge, Wire::of(wire.0, wire.1), Host::of(case, machine))
        .request_timeout(settings.timeout)
        .max_attempts(settings.attempts)
}

/// Where a client lives: before one server, with all that happens to it, or before several.
pub(crate) trait Scene: 'static {
    fn world(&self) -> &Rc<World>;
    fn rng(&self) -> &Rng;
    fn observe(&self, _: &Event<'_>) {}
}

impl Scene for Case {
    fn world(&self) -> &Rc<World> {
        &self.world
    }

    fn rng(&self) -> &Rng {
        &self.rng
    }

    fn observe(&self, event: &Event<'_>) {
        self.events.borrow_mut().push(event.kind.code());
    }
}

/// A machine of a scene. The whole world is on one thread, which the client does not know.
pub(crate) struct Host<S>(SendWrapper<Rc<S>>, SendWrapper<Rc<Machine>>);

impl<S> Host<S> {
    pub(crate) fn of(scene: Rc<S>, machine: Rc<Machine>) -> Self {
        Self(SendWrapper::new(scene), SendWrapper::new(machine))
    }
}

impl<S: Scene> Runtime for Host<S> {
    fn now(&self) -> Instant {
        Instant::from_origin(Duration::from_nanos(self.1.clock(self.0.world().now())))
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        SendWrapper::new(self.0.world().sleep(&self.1, duration))
    }

    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&self.0.rng().next().to_le_bytes()[..chunk.len()]);
        }
        Ok(())
    }

    fn spawn(&self, task: Task) {
        self.0.world().spawn(&self.1, task);
    }

    fn stay(&self) -> Option<Arc<dyn Send + Sync>> {
        self.1.hangs_up_at.get()?;
        let stay = Stay::on((*self.1).clone());
        Some(Arc::new(SendWrapper::new(stay)))
    }

    fn gone(&self) -> Option<Task> {
        let at = self.1.hangs_up_at.get()?;
        let left = Duration::from_nanos(at.saturating_sub(self.0.world().now()));
        Some(Box::pin(SendWrapper::new(self.0.world().sleep(&self.1, left))))
    }

    fn observe(&self, event: &Event<'_>) {
        self.0.observe(event);
    }
}

/// That a machine goes on.
struct Stay(Rc<Machine>);

impl Stay {
    fn on(machine: Rc<Machine>) -> Self {
        machine.stays.set(machine.stays.get() + 1);
        Self(machine)
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.stays.set(self.0.stays.get() - 1);
    }
}

pub(crate) struct Wire(SendWrapper<Rc<Case>>, SendWrapper<Rc<Machine>>);

impl Transport for Wire {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        SendWrapper::new(self.exchange(request))
    }

    fn listen(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> impl Future<Output = Result<u16, TransportError>> + Send {
        SendWrapper::new(self.hear(request, hear))
    }
}

impl Wire {
    fn of(case: Rc<Case>, machine: Rc<Machine>) -> Self {
        Self(SendWrapper::new(case), SendWrapper::new(machine))
    }

    async fn exchange(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let asked = self.0.dialect.get().asked(&request);
        let answer = Rc::new(Inbox::default());
        let sent = self.0.world.now();
        self.0.send(&self.1, asked, &answer);
        let timeout = self.0.bent.timeout(request.timeout);
        let answered = within(self.0.world.sleep(&self.1, timeout), answer.next()).await;
        self.0.bent.answered(&self.1, self.0.world.now() - sent);
        let answer = answered.unwrap_or(Err(TransportError::TimedOut))?;
        match answer.body.len() <= request.body_limit {
            true => Ok(answer),
            false => Err(TransportError::TooLarge),
        }
    }

    async fn hear(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let mut timeout = pin!(self.0.world.sleep(&self.1, request.timeout));
        let line = Line::open(&self.0, self.0.dialect.get().channel(&request));
        loop {
            match within(timeout.as_mut(), line.inbox.next()).await {
                None => return Err(TransportError::TimedOut),
                Some(Heard::Piece(bytes)) => hear(&bytes),
                Some(Heard::End(status)) => return status,
            }
        }
    }
}

/// What a stream brings.
pub(crate) enum Heard {
    Piece(Vec<u8>),
    End(Result<u16, TransportError>),
}

/// A subscription that ends when it is dropped.
struct Line {
    case: Rc<Case>,
    id: u64,
    inbox: Rc<Inbox<Heard>>,
}

impl Line {
    fn open(case: &Rc<Case>, channel: Vec<u8>) -> Self {
        let inbox = Rc::new(Inbox::default());
        let id = case.listen(channel, &inbox);
        Self { case: case.clone(), id, inbox }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.inbox.is_closed.set(true);
        self.case.hang_up(self.id);
    }
}

/// What has arrived, and was not taken yet.
pub(crate) struct Inbox<O> {
    waiting: RefCell<VecDeque<O>>,
    waker: RefCell<Option<Waker>>,
    pub(crate) is_closed: Cell<bool>,
}

impl<O> Inbox<O> {
    pub(crate) fn put(&self, value: O) {
        self.waiting.borrow_mut().push_back(value);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    pub(crate) async fn next(&self) -> O {
        poll_fn(|context| match self.waiting.borrow_mut().pop_front() {
            Some(value) => Poll::Ready(value),
            None => {
                *self.waker.borrow_mut() = Some(context.waker().clone());
                Poll::Pending
            }
        })
        .await
    }
}

impl<O> Default for Inbox<O> {
    fn default() -> Self {
        Self { waiting: RefCell::default(), waker: RefCell::default(), is_closed: Cell::new(false) }
    }
}

/// The outcome of `work`, unless `limit` completes first.
pub(crate) async fn within<O>(
    limit: impl Future<Output = ()>,
    work: impl Future<Output = O>,
) -> Option<O> {
    let (mut limit, mut work) = (pin!(limit), pin!(work));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending => limit.as_mut().poll(context).map(|()| None),
    })
    .await
}
