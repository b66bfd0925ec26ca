//! What a node of a cluster says instead of an answer.

use redis::cluster_routing::Slot;
use redis::{RedisError, ServerErrorKind, Value, parse_redis_value};

use crate::slot_map::NodeAddr;

/// What became of a command.
pub(crate) enum Redirect {
    /// It was executed, or refused for good.
    Answer,
    /// The slot is there for good.
    Moved(Slot, NodeAddr),
    /// The slot is on its way to there, and the key is not here any more.
    Ask(NodeAddr),
    /// Its keys are in two places just now.
    Again,
}

pub(crate) fn told(reply: &Value) -> Redirect {
    let Value::ServerError(refused) = reply else {
        return Redirect::Answer;
    };
    let kind = refused.kind();
    if let Some(ServerErrorKind::TryAgain) = kind {
        return Redirect::Again;
    }
    let error = RedisError::from(refused.clone());
    let Some((address, slot)) = error.redirect_node() else {
        return Redirect::Answer;
    };
    match (kind, NodeAddr::parse(address), Slot::new(slot)) {
        (Some(ServerErrorKind::Moved), Some(place), Some(slot)) => Redirect::Moved(slot, place),
        (Some(ServerErrorKind::Ask), Some(place), _) => Redirect::Ask(place),
        _ => Redirect::Answer,
    }
}

/// As Redis says it of one command.
pub(crate) fn cross_slot() -> Value {
    parse_redis_value(b"-CROSSSLOT Keys in request don't hash to the same slot\r\n")
        .expect("an error in RESP")
}
