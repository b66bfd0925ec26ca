//! The way between clients and Redis: what is lost on it, and what comes late or twice.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use edgelock::{Response, TransportError};

use super::case::Case;
use super::check::holder;
use super::faults::Net;
use super::host::{Heard, Inbox};
use super::script::Run;
use super::world::{MS, Machine, Time};

#[derive(Default)]
pub(crate) struct Network {
    bridge_away_until: Cell<Time>,
    redis_away_until: Cell<Time>,
    /// How often the bridge was started: answers of an earlier life do not arrive.
    lives: Cell<u64>,
    streams: RefCell<BTreeMap<u64, Stream>>,
    opened: Cell<u64>,
    /// What somebody else was answered last.
    last: RefCell<Option<Response>>,
    /// The next positive answer is lost.
    pub(crate) lose_next_grant: Cell<bool>,
}

struct Stream {
    channel: Vec<u8>,
    inbox: Rc<Inbox<Heard>>,
}

type Answer = Rc<Inbox<Result<Response, TransportError>>>;

fn no_response() -> TransportError {
    TransportError::NoResponse("connection reset".into())
}

impl Network {
    pub(crate) fn restart_bridge(&self, case: &Case, until: Time) {
        self.bridge_away_until.set(until);
        self.lives.set(self.lives.get() + 1);
        case.redis.db_mut().listeners.clear();
        case.redis.db_mut().elsewhere.clear();
        for stream in self.streams.borrow().values() {
            let error = TransportError::BrokeOff("the bridge stopped".into());
            stream.inbox.put(Heard::End(Err(error)));
        }
    }

    pub(crate) fn restart_redis(&self, case: &Case, until: Time) {
        self.redis_away_until.set(until);
        case.redis.db_mut().listeners.clear();
        case.redis.db_mut().elsewhere.clear();
        for stream in self.streams.borrow().values() {
            if case.dialect.get().ends_streams() {
                stream.inbox.put(Heard::End(Ok(200)));
            }
        }
    }

    /// All that was down is up again, and nobody is taken for listening who is not.
    pub(crate) fn heal(&self, case: &Case) {
        self.bridge_away_until.set(0);
        self.redis_away_until.set(0);
        self.streams
            .borrow_mut()
            .retain(|_, stream| !stream.inbox.is_closed.get());
        let streams = self.streams.borrow();
        for listeners in case.redis.db_mut().listeners.values_mut() {
            listeners.retain(|id| streams.contains_key(id));
        }
    }
}

impl Case {
    /// Puts a request on its way, once or twice.
    pub(crate) fn send(self: &Rc<Self>, from: &Rc<Machine>, words: Vec<String>, answer: &Answer) {
        let net = self.net.get();
        let words = Rc::new(words);
        let copies = 1 + usize::from(self.rng.chance(net.duplicate));
        let is_refused = self.rng.chance(net.refuse);
        for _ in 0..copies {
            if self.rng.chance(net.lose_request) {
                self.trace
                    .note(self.world.now(), || "a request is lost".to_owned());
                continue;
            }
            let (case, from) = (self.clone(), from.clone());
            let (words, answer) = (words.clone(), answer.clone());
            self.carry(net.delay(&self.rng), move || {
                let serve = || match is_refused {
                    true => case.dialect.get().unauthorized(),
                    false => case.serve(&from, &words),
                };
                case.arrive(serve, copies == 1, &answer);
            });
        }
    }

    /// Has `act` happen later; once faults have stopped, what is later than it should be does not arrive.
    fn carry(self: &Rc<Self>, after: Time, act: impl FnOnce() + 'static) {
        let (case, is_healed) = (self.clone(), self.healed.get().is_some());
        self.world.schedule(after, move || {
            let latest = (case.healed.get()).map_or(Time::MAX, |at| at + Net::QUIET.latency);
            if is_healed || case.world.now() <= latest {
                act();
            }
        });
    }

    /// Of a request of which another copy is under way nobody can say that it was not executed.
    fn arrive(self: &Rc<Self>, serve: impl Fn() -> Response, is_alone: bool, answer: &Answer) {
        let net = self.net.get();
        let now = self.world.now();
        let response = if now < self.network.bridge_away_until.get() {
            Err(match is_alone {
                true => TransportError::NotSent("connection refused".into()),
                false => no_response(),
            })
        } else if now < self.network.redis_away_until.get() {
            Ok(match is_alone {
                true => self.dialect.get().unreachable(),
                false => self.dialect.get().unavailable(&self.rng),
            })
        } else {
            Ok(serve())
        };
        let response = match response {
            Ok(_) if self.rng.chance(net.fail) => {
                let dialect = self.dialect.get();
                Ok(self.bent.failed(dialect, dialect.unavailable(&self.rng)))
            }
            // Errors have no nonce, so that one that went astray could not be told.
            Ok(own) if own.status == 200 && self.rng.chance(net.cross) => {
                Ok(self.network.last.replace(Some(own.clone())).unwrap_or(own))
            }
            response if self.loses_grant(&response) => {
                self.trace.note(now, || "a grant is lost".to_owned());
                return;
            }
            Ok(_) if self.rng.chance(net.lose_reply) => {
                self.trace.note(now, || "the reply is lost".to_owned());
                if self.rng.chance(500) {
                    return;
                }
                Err(TransportError::BrokeOff("connection reset".into()))
            }
            response => response,
        };
        let life = self.network.lives.get();
        let (case, answer) = (self.clone(), answer.clone());
        self.carry(net.delay(&self.rng), move || {
            let is_alive = life == case.network.lives.get();
            answer.put(if is_alive {
                response
            } else {
                Err(no_response())
            });
        });
    }

    fn loses_grant(&self, response: &Result<Response, TransportError>) -> bool {
        let lose = &self.network.lose_next_grant;
        lose.get()
            && (response.as_ref()).is_ok_and(|response| self.dialect.get().is_yes(response))
            && lose.replace(false)
    }

    /// Has a request executed, and passes on what it published.
    fn serve(self: &Rc<Self>, from: &Rc<Machine>, words: &[String]) -> Response {
        self.redis.db_mut().now_us = self.now_us();
        let text = match words[0].as_str() {
            "EVALSHA" => self.redis.text(&words[1]).unwrap_or_default(),
            _ => words[1].clone(),
        };
        // What is only known by its digest was never executed.
        let run = Run::of(&text, words);
        let lock = run.and_then(|run| run.lock());
        let before = lock.and_then(|lock| holder(lock, &self.redis.db()));
        let raw: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
        let reply = self.redis.execute(&raw);
        if let Some(run) = run {
            (self.trace).note(self.world.now(), || format!("{run} -> {reply}"));
            let db = self.redis.db();
            let granted = self.check.command(&run, before.as_ref(), &reply, &db);
            self.quiet.executed(self, from, &run, granted);
        }
        for (listener, message) in std::mem::take(&mut self.redis.db_mut().outbox) {
            self.push(listener, &message);
        }
        self.dialect.get().response(&words[0], &reply)
    }

    /// Starts to listen. The stream's number.
    pub(crate) fn listen(self: &Rc<Self>, channel: Vec<u8>, inbox: &Rc<Inbox<Heard>>) -> u64 {
        let id = self.network.opened.replace(self.network.opened.get() + 1);
        let net = self.net.get();
        if self.rng.chance(net.lose_request) {
            return id;
        }
        let (case, inbox) = (self.clone(), inbox.clone());
        self.carry(net.delay(&self.rng), move || {
            let now = case.world.now();
            if now < case.network.bridge_away_until.get() {
                inbox.put(Heard::End(Err(no_response())));
            } else if now < case.network.redis_away_until.get() {
                inbox.put(Heard::End(Ok(503)));
            } else if !inbox.is_closed.get() {
                let mut db = case.redis.db_mut();
                let listeners = match case.rng.chance(net.elsewhere) {
                    true => &mut db.elsewhere,
                    false => &mut db.listeners,
                };
                listeners.entry(channel.clone()).or_default().push(id);
                drop(db);
                let begun = case.dialect.get().begun(&channel);
                let stream = Stream { channel, inbox };
                case.network.streams.borrow_mut().insert(id, stream);
                case.deliver(id, move |_| begun);
            }
        });
        id
    }

    /// Whoever listened there is gone; the bridge learns it, or not.
    pub(crate) fn hang_up(self: &Rc<Self>, id: u64) {
        let net = self.net.get();
        if self.rng.chance(net.half_open) {
            return;
        }
        let case = self.clone();
        self.carry(net.delay(&self.rng).min(1_000 * MS), move || {
            case.network.streams.borrow_mut().remove(&id);
            for listeners in case.redis.db_mut().listeners.values_mut() {
                listeners.retain(|listener| *listener != id);
            }
        });
    }

    fn push(self: &Rc<Self>, id: u64, message: &[u8]) {
        let streams = self.network.streams.borrow();
        let Some(stream) = streams.get(&id) else {
            return;
        };
        if self.rng.chance(self.net.get().lose_push) {
            self.trace
                .note(self.world.now(), || "a message is lost".to_owned());
            return;
        }
        let (channel, message) = (stream.channel.clone(), message.to_owned());
        drop(streams);
        self.deliver(id, move |case| {
            let message = case.bent.pushed(message, case.now_us());
            case.dialect.get().message(&channel, &message)
        });
    }

    /// In two pieces, since pieces end anywhere.
    fn deliver(self: &Rc<Self>, id: u64, said: impl FnOnce(&Self) -> Vec<u8> + 'static) {
        let case = self.clone();
        self.carry(self.net.get().push_delay(&self.rng), move || {
            let bytes = said(&case);
            let cut = case.rng.between(0, bytes.len() as u64) as usize;
            if let Some(stream) = case.network.streams.borrow().get(&id) {
                stream.inbox.put(Heard::Piece(bytes[..cut].to_vec()));
                stream.inbox.put(Heard::Piece(bytes[cut..].to_vec()));
            }
        });
    }
}
