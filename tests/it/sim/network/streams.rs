//! Subscriptions: what they bring, and whom Redis counts as listeners.

use std::rc::Rc;

use super::no_response;
use crate::case::Case;
use crate::host::{Heard, Inbox};
use crate::world::MS;

pub(super) struct Stream {
    channel: Vec<u8>,
    pub(super) inbox: Rc<Inbox<Heard>>,
}

impl Case {
    /// Subscribes, and returns the stream's number.
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
            } else if let Some(status) = case.network.mute.get() {
                inbox.put(Heard::End(Ok(status)));
            } else if !inbox.is_closed.get() {
                let mut db = case.redis.db_mut();
                match case.rng.chance(net.elsewhere) {
                    true => drop(db.elsewhere.insert(id, channel.clone())),
                    false => db.table.listen_as(id, &channel),
                }
                drop(db);
                let begun = case.dialect.get().begun(&channel);
                let stream = Stream { channel, inbox };
                case.network.streams.borrow_mut().insert(id, stream);
                case.deliver(id, move |_| begun);
            }
        });
        id
    }

    /// The client has hung up. The bridge notices that, or not.
    pub(crate) fn hang_up(self: &Rc<Self>, id: u64) {
        let net = self.net.get();
        if self.rng.chance(net.half_open) {
            return;
        }
        let case = self.clone();
        self.carry(net.delay(&self.rng).min(1_000 * MS), move || {
            case.network.streams.borrow_mut().remove(&id);
            case.redis.db_mut().keep_listeners(|other| other != id);
        });
    }

    pub(super) fn push(self: &Rc<Self>, id: u64, message: &[u8]) {
        let streams = self.network.streams.borrow();
        let Some(stream) = streams.get(&id) else {
            return;
        };
        if self.rng.chance(self.net.get().lose_push) {
            self.trace.note(self.world.now(), || "a message is lost".to_owned());
            return;
        }
        let (channel, message) = (stream.channel.clone(), message.to_owned());
        drop(streams);
        self.deliver(id, move |case| {
            let message = case.bent.pushed(message, case.now_us());
            case.dialect.get().message(&channel, &message)
        });
    }

    /// Sends everybody who listens a message that Redis never published.
    pub(crate) fn invent(self: &Rc<Self>, message: &str) {
        let streams: Vec<u64> = self.network.streams.borrow().keys().copied().collect();
        for id in streams {
            self.push(id, message.as_bytes());
        }
    }

    /// Delivers in two pieces, since pieces may end anywhere.
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
