//! A lease for the npm package.

use std::sync::Arc;
use std::time::Duration;

use super::driven::{Outside, Sent};
use crate::command::Reply;
use crate::drive;
use crate::operation::{Granted, Hold};
use crate::runtime::Runtime;
use crate::token::Token;

pub(super) type JsHost = Arc<drive::Host<Sent, Outside>>;

/// A [`Lease`](crate::Lease) that is left to its ttl when it is dropped. JavaScript may lose one
/// while its holder still counts on the ttl, and the garbage collector must not end it.
pub struct Held {
    pub(super) place: JsHost,
    pub(super) hold: Arc<Hold>,
}

impl Held {
    pub(super) fn by(place: &JsHost, granted: Granted) -> (Self, Vec<Reply>) {
        let (hold, replies) = granted.into_hold();
        let (place, hold) = (place.clone(), hold.into());
        (Self { place, hold }, replies)
    }

    /// As [`Lease::fence`](crate::Lease::fence).
    pub fn fence(&self) -> u64 {
        self.hold.fence()
    }

    /// As [`Lease::token`](crate::Lease::token).
    pub fn token(&self) -> &Token {
        &self.hold.claim.token
    }

    /// As [`Lease::remaining`](crate::Lease::remaining).
    pub fn remaining(&self) -> Duration {
        self.hold.remaining(self.place.runtime.now())
    }
}
