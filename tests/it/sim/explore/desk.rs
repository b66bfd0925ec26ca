//! A client's side of a small world. What it sends becomes a message of the stage, and the stage
//! decides what happens to it.

use std::future::Future;
use std::pin::pin;
use std::rc::Rc;
use std::time::Duration;

use edgelock::{
    Client, EntropyUnavailable, Instant, Request, Response, Runtime, Task, Transport,
    TransportError,
};
use send_wrapper::SendWrapper;

use super::message::{Stream, What};
use super::stage::Stage;
use crate::bridge::Dialect;
use crate::host::{Heard, Inbox, within};

pub(super) type SmallClient = Client<Desk, Desk>;
pub(super) type SmallLease = edgelock::Lease<Desk, Desk>;
pub(super) type SmallLock = edgelock::Lock<Desk, Desk>;

/// Shorter than any lease, so that there is time for another attempt.
const TIMEOUT: Duration = Duration::from_millis(500);

/// How often a client of a single server sends a request.
pub(super) const ATTEMPTS: u32 = 2;

/// The runtime and transport of one client.
pub(super) struct Desk(SendWrapper<Rc<Stage>>, usize);

pub(super) fn client(stage: &Rc<Stage>, number: usize) -> SmallClient {
    let desk = || Desk(SendWrapper::new(stage.clone()), number);
    let bridges = (0..stage.plan.servers).map(|at| {
        let bridge = Dialect::Upstash.bridge(&format!("https://{at}.example"));
        bridge.script_cache(true)
    });
    let mut bridges: Vec<_> = bridges.collect();
    let client = match bridges.len() {
        1 => Client::new(bridges.remove(0), desk(), desk()),
        _ => Client::quorum(bridges, desk(), desk()).expect("a quorum"),
    };
    // With several servers, a vote at another one replaces a second attempt.
    let attempts = if stage.plan.servers > 1 { 1 } else { ATTEMPTS };
    client.request_timeout(TIMEOUT).max_attempts(attempts)
}

impl Runtime for Desk {
    fn now(&self) -> Instant {
        Instant::from_origin(Duration::from_nanos(self.0.world.now()))
    }

    fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send {
        let machine = &self.0.seats[self.1].machine;
        SendWrapper::new(self.0.world.sleep(machine, duration))
    }

    /// Each draw makes a token of its own. Pauses are always the middle ones, so that clients that
    /// failed alike stay alike.
    fn random(&self, bytes: &mut [u8]) -> Result<(), EntropyUnavailable> {
        if bytes.len() <= 2 {
            return Err(EntropyUnavailable);
        }
        let seat = &self.0.seats[self.1];
        let drawn = seat.drawn.get() + 1;
        seat.drawn.set(drawn);
        // Sessions are taken from the same bytes.
        bytes.fill((self.1 as u8 + 1) * 16 + drawn as u8 % 16);
        Ok(())
    }

    fn spawn(&self, task: Task) {
        let (stage, number) = (self.0.clone(), self.1);
        let seat = &self.0.seats[number];
        seat.background.set(seat.background.get() + 1);
        let work = async move {
            task.await;
            stage.seats[number].end_background();
        };
        self.0.world.spawn(&seat.machine, Box::pin(work));
    }
}

impl Transport for Desk {
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

impl Desk {
    async fn exchange(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let (stage, number) = (&self.0, self.1);
        let words = Dialect::Upstash.asked(&request).words;
        let answer = Rc::new(Inbox::default());
        stage.ask(number, server(&request), words, &answer);
        let timeout = stage.world.sleep(&stage.seats[number].machine, request.timeout);
        let answered = within(timeout, answer.next()).await;
        answered.unwrap_or(Err(TransportError::TimedOut))
    }

    async fn hear(
        &self,
        request: Request<'_>,
        hear: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Result<u16, TransportError> {
        let (stage, seat) = (&self.0, &self.0.seats[self.1]);
        let mut timeout = pin!(stage.world.sleep(&seat.machine, request.timeout));
        let inbox = Rc::new(Inbox::default());
        let stream =
            Stream { channel: Dialect::Upstash.channel(&request), inbox: Rc::downgrade(&inbox) };
        let line = Line {
            stage: Rc::clone(stage),
            number: self.1,
            server: server(&request),
            id: stage.subscribe(self.1, server(&request), stream),
        };
        loop {
            match within(timeout.as_mut(), inbox.next()).await {
                None => return Err(TransportError::TimedOut),
                Some(Heard::Piece(bytes)) => hear(&bytes),
                Some(Heard::End(status)) => {
                    drop(line);
                    return status;
                }
            }
        }
    }
}

fn server(request: &Request<'_>) -> usize {
    let at = request.url.trim_start_matches("https://").split('.').next();
    at.and_then(|at| at.parse().ok()).expect("a server")
}

/// A subscription that ends when it is dropped.
struct Line {
    stage: Rc<Stage>,
    number: usize,
    server: usize,
    id: u64,
}

impl Drop for Line {
    fn drop(&mut self) {
        let what = What::HangUp { stream: self.id };
        self.stage.hang_up(self.number, self.server, self.id, what);
    }
}
