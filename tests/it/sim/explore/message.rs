//! What is on its way in a small world.

use std::hash::{Hash, Hasher};
use std::rc::{Rc, Weak};

use edgelock::{Response, TransportError};

use crate::host::{Heard, Inbox};
use crate::world::Time;

pub(super) type Answer = Inbox<Result<Response, TransportError>>;

/// Something on its way.
pub(super) struct Message {
    pub(super) id: u8,
    /// The client that sent it, or that gets it.
    pub(super) client: usize,
    /// The server that it comes from or goes to.
    pub(super) server: usize,
    pub(super) sent: Time,
    pub(super) delay: Delay,
    pub(super) what: What,
}

/// When it arrives.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Delay {
    InTime,
    /// Not before time has passed.
    Stays,
    /// It was late, and may arrive at any time.
    Late,
}

#[derive(Clone)]
pub(super) enum What {
    Request {
        words: Rc<Vec<String>>,
        digest: u64,
        answer: Weak<Answer>,
        is_copy: bool,
    },
    Reply {
        response: Response,
        digest: u64,
        answer: Weak<Answer>,
        /// How many wait before the client that asked, if another has the lock.
        place: Option<i64>,
    },
    Subscribe {
        stream: u64,
    },
    /// A piece of what a stream brings. The pieces keep their order.
    Push {
        stream: u64,
        piece: Vec<u8>,
    },
    /// The client hangs up a stream.
    HangUp {
        stream: u64,
    },
}

/// A subscription.
pub(super) struct Stream {
    pub(super) channel: Vec<u8>,
    pub(super) inbox: Weak<Inbox<Heard>>,
}

impl Message {
    /// Whether it is a reply that nobody waits for any more.
    pub(super) fn is_moot(&self) -> bool {
        matches!(&self.what, What::Reply { answer, .. } if answer.strong_count() == 0)
    }

    pub(super) const fn is_request(&self) -> bool {
        matches!(self.what, What::Request { .. })
    }

    pub(super) const fn is_reply(&self) -> bool {
        matches!(self.what, What::Reply { .. })
    }

    /// The stream that it is a piece of.
    pub(super) const fn piece_of(&self) -> Option<u64> {
        match &self.what {
            What::Push { stream, .. } => Some(*stream),
            _ => None,
        }
    }

    /// Whether it is a later piece of the same stream.
    pub(super) fn is_behind(&self, other: &Self) -> bool {
        self.piece_of().is_some() && self.piece_of() == other.piece_of() && other.id < self.id
    }

    /// Hashes all that decides what becomes of it.
    pub(super) fn feed(&self, hasher: &mut impl Hasher) {
        (self.client, self.server, self.delay).hash(hasher);
        if self.delay != Delay::InTime {
            self.sent.hash(hasher);
        }
        match &self.what {
            What::Request { digest, answer, is_copy, .. } => {
                (0, digest, answer.strong_count() > 0, is_copy).hash(hasher);
            }
            What::Reply { digest, .. } => (1, digest).hash(hasher),
            What::Subscribe { stream } => (2, stream).hash(hasher),
            What::Push { stream, piece } => (3, stream, piece).hash(hasher),
            What::HangUp { stream } => (4, stream).hash(hasher),
        }
    }
}
