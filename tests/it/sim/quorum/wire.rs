//! A client's side: its way to each server.

use std::rc::Rc;

use edgelock::{Client, Request, Response, Transport, TransportError};
use send_wrapper::SendWrapper;

use crate::faults::Net;
use crate::host::{Host, Inbox, Scene, within};
use crate::rng::Rng;
use crate::world::{Machine, Time, World};

use super::place::Place;

pub(super) type QuorumClient = Client<Wire, Host<Place>>;

pub(super) fn client(place: &Rc<Place>, machine: &Rc<Machine>) -> QuorumClient {
    let bridges = (place.nodes.iter().enumerate())
        .map(|(at, node)| node.dialect.bridge(&format!("https://{at}.example")));
    let wire = Wire::of(place.clone(), machine.clone());
    let host = Host::of(place.clone(), machine.clone());
    Client::quorum(bridges, wire, host).expect("a quorum")
}

impl Scene for Place {
    fn world(&self) -> &Rc<World> {
        &self.world
    }

    fn rng(&self) -> &Rng {
        &self.rng
    }
}

pub(super) struct Wire(SendWrapper<Rc<Place>>, SendWrapper<Rc<Machine>>);

impl Transport for Wire {
    fn send(
        &self,
        request: Request<'_>,
    ) -> impl Future<Output = Result<Response, TransportError>> + Send {
        SendWrapper::new(self.exchange(request))
    }
}

impl Wire {
    fn of(place: Rc<Place>, machine: Rc<Machine>) -> Self {
        Self(SendWrapper::new(place), SendWrapper::new(machine))
    }

    async fn exchange(&self, request: Request<'_>) -> Result<Response, TransportError> {
        let at = request.url.trim_start_matches("https://").split('.').next();
        let at: usize = at.and_then(|at| at.parse().ok()).expect("a server");
        let words = self.0.nodes[at].dialect.asked(&request).words;
        let answer = Rc::new(Inbox::default());
        let sent = self.0.world.now();
        self.0.send(at, words, &answer);
        let timeout = self.0.bent.timeout(request.timeout);
        let answered = within(self.0.world.sleep(&self.1, timeout), answer.next()).await;
        self.0.bent.answered(&self.1, self.0.world.now() - sent);
        answered.unwrap_or(Err(TransportError::TimedOut))
    }
}

type Answer = Rc<Inbox<Result<Response, TransportError>>>;

impl Place {
    /// Sends a request to one server, once or twice.
    fn send(self: &Rc<Self>, at: usize, words: Vec<String>, answer: &Answer) {
        let net = self.nodes[at].net.get();
        let words = Rc::new(words);
        let copies = 1 + u64::from(self.rng.chance(net.duplicate));
        for _ in 0..copies {
            if self.rng.chance(net.lose_request) {
                continue;
            }
            let (place, words, answer) = (self.clone(), words.clone(), answer.clone());
            self.carry(net.delay(&self.rng), move || {
                place.arrive(at, &words, copies == 1, &answer)
            });
        }
    }

    /// While another copy of the request is under way, nobody can say that it was not executed.
    fn arrive(self: &Rc<Self>, at: usize, words: &[String], is_alone: bool, answer: &Answer) {
        let node = &self.nodes[at];
        let (now, net) = (self.world.now(), node.net.get());
        let is_mute = now < node.mute_until.get();
        // A mute server may execute the request, or not.
        if is_mute && self.rng.chance(500) {
            return;
        }
        let response = if now < node.away_until.get() {
            let error = match is_alone {
                true => TransportError::NotSent,
                false => TransportError::NoResponse,
            };
            Err(error("connection refused".into()))
        } else {
            Ok(node.dialect.response(&words[0], &self.serve(at, words), None))
        };
        if is_mute || self.rng.chance(net.lose_reply) {
            return;
        }
        let answer = answer.clone();
        self.carry(net.delay(&self.rng), move || answer.put(response));
    }

    /// Lets `act` happen later. Once faults have stopped, messages that are late do not arrive.
    fn carry(self: &Rc<Self>, after: Time, act: impl FnOnce() + 'static) {
        let place = self.clone();
        let is_late = !self.is_healed.get() && after > Net::QUIET.latency;
        self.world.schedule(after, move || {
            if !is_late || !place.is_healed.get() {
                act();
            }
        });
    }
}
