//! What a node of a cluster says instead of an answer.

use redis::cluster_routing::Slot;
use redis::{RedisError, ServerErrorKind, Value, parse_redis_value};

use crate::atlas::Place;

/// What became of a command.
pub(crate) enum Told {
    /// It was executed, or refused for good.
    Answer,
    /// The slot is there for good.
    Moved(Slot, Place),
    /// The slot is on its way to there, and the key is not here any more.
    Ask(Place),
    /// Its keys are in two places just now.
    Again,
}

pub(crate) fn told(reply: &Value) -> Told {
    let Value::ServerError(refused) = reply else {
        return Told::Answer;
    };
    let kind = refused.kind();
    if let Some(ServerErrorKind::TryAgain) = kind {
        return Told::Again;
    }
    let error = RedisError::from(refused.clone());
    let Some((address, slot)) = error.redirect_node() else {
        return Told::Answer;
    };
    match (kind, Place::parse(address), Slot::new(slot)) {
        (Some(ServerErrorKind::Moved), Some(place), Some(slot)) => Told::Moved(slot, place),
        (Some(ServerErrorKind::Ask), Some(place), _) => Told::Ask(place),
        _ => Told::Answer,
    }
}

/// As Redis says it of one command.
pub(crate) fn cross_slot() -> Value {
    parse_redis_value(b"-CROSSSLOT Keys in request don't hash to the same slot\r\n")
        .expect("an error in RESP")
}
