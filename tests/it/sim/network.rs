//! The network between clients and Redis: what it loses, and what arrives late or twice.

mod requests;
mod streams;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use edgelock::{Response, TransportError};

use super::case::Case;
use super::fate::Fates;
use super::faults::Net;
use super::host::Heard;
use super::world::Time;
pub(crate) use requests::REPLICAS;
use streams::Stream;

#[derive(Default)]
pub(crate) struct Network {
    bridge_away_until: Cell<Time>,
    redis_away_until: Cell<Time>,
    /// How often the bridge was started. Answers of an earlier start do not arrive.
    lives: Cell<u64>,
    streams: RefCell<BTreeMap<u64, Stream>>,
    opened: Cell<u64>,
    /// The last reply to another client.
    last: RefCell<Option<Response>>,
    /// How many fail-overs are about to happen, with replicas that are behind.
    pub(crate) fail_overs: Cell<u32>,
    pub(crate) fates: Fates,
    /// Whether the next positive answer is lost.
    pub(crate) lose_next_grant: Cell<bool>,
    /// The status with which the bridge refuses subscriptions, if it does.
    pub(crate) mute: Cell<Option<u16>>,
}

fn no_response() -> TransportError {
    TransportError::NoResponse("connection reset".into())
}

fn not_sent() -> TransportError {
    TransportError::NotSent("connection refused".into())
}

impl Network {
    /// How many subscriptions were tried.
    pub(crate) fn opened(&self) -> u64 {
        self.opened.get()
    }

    pub(crate) fn restart_bridge(&self, case: &Case, until: Time) {
        self.bridge_away_until.set(until);
        self.lives.set(self.lives.get() + 1);
        case.redis.db_mut().keep_listeners(|_| false);
        for stream in self.streams.borrow().values() {
            let error = TransportError::Interrupted("the bridge stopped".into());
            stream.inbox.put(Heard::End(Err(error)));
        }
    }

    pub(crate) fn restart_redis(&self, case: &Case, until: Time) {
        self.redis_away_until.set(until);
        case.redis.db_mut().keep_listeners(|_| false);
        for stream in self.streams.borrow().values() {
            if case.dialect.get().ends_streams() {
                stream.inbox.put(Heard::End(Ok(200)));
            }
        }
    }

    /// Ends all outages, and forgets listeners that are gone.
    pub(crate) fn heal(&self, case: &Case) {
        self.bridge_away_until.set(0);
        self.redis_away_until.set(0);
        self.streams.borrow_mut().retain(|_, stream| !stream.inbox.is_closed.get());
        let streams = self.streams.borrow();
        let mut db = case.redis.db_mut();
        db.keep_listeners(|id| streams.contains_key(&id));
    }
}

impl Case {
    /// Lets `act` happen later. Once faults have stopped, messages that are late do not arrive.
    fn carry(self: &Rc<Self>, after: Time, act: impl FnOnce() + 'static) {
        let (case, is_healed) = (self.clone(), self.healed.get().is_some());
        self.world.schedule(after, move || {
            let latest = (case.healed.get()).map_or(Time::MAX, |at| at + Net::QUIET.latency);
            if is_healed || case.world.now() <= latest {
                act();
            }
        });
    }
}
