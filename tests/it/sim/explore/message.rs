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
    /// Whose it is: the client that sent it, or that gets it.
    pub(super) client: usize,
    /// The server that it comes from or goes to.
    pub(super) server: usize,
    pub(super) sent: Time,
    pub(super) delay: Delay,
    pub(super) what: What,
}

/// Whether it is late.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Delay {
    InTime,
    /// Until time has passed.
    Stays,
    /// It arrives some time.
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
        /// How many wait before whoever asked, if the lock is another's.
        place: Option<i64>,
    },
    Subscribe {
        stream: u64,
    },
    /// What a stream brings, one behind the other.
    Push {
        stream: u64,
        piece: Vec<u8>,
    },
    /// Nobody listens to a stream any more.
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
    /// A reply that nobody waits for any more.
    pub(super) fn is_moot(&self) -> bool {
        matches!(&self.what, What::Reply { answer, .. } if answer.strong_count() == 0)
    }

    pub(super) const fn is_request(&self) -> bool {
        matches!(self.what, What::Request { .. })
    }

    pub(super) const fn is_reply(&self) -> bool {
        matches!(self.what, What::Reply { .. })
    }

    /// Of which stream it is a piece.
    pub(super) const fn piece_of(&self) -> Option<u64> {
        match &self.what {
            What::Push { stream, .. } => Some(*stream),
            _ => None,
        }
    }

    /// Whether it is a piece of the same stream, and comes later.
    pub(super) fn is_behind(&self, other: &Self) -> bool {
        self.piece_of().is_some() && self.piece_of() == other.piece_of() && other.id < self.id
    }

    /// All that what becomes of it depends on.
    pub(super) fn feed(&self, hasher: &mut impl Hasher) {
        (self.client, self.server, self.delay).hash(hasher);
        if self.delay != Delay::InTime {
            self.sent.hash(hasher);
        }
        match &self.what {
            What::Request {
                digest,
                answer,
                is_copy,
                ..
            } => {
                (0, digest, answer.strong_count() > 0, is_copy).hash(hasher);
            }
            What::Reply { digest, .. } => (1, digest).hash(hasher),
            What::Subscribe { stream } => (2, stream).hash(hasher),
            What::Push { stream, piece } => (3, stream, piece).hash(hasher),
            What::HangUp { stream } => (4, stream).hash(hasher),
        }
    }
}
