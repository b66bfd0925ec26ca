//! What a node of a cluster replies instead of an answer.

use redis::cluster_routing::Slot;
use redis::{RedisError, ServerErrorKind, Value, parse_redis_value};

use crate::dial::NodeAddr;

/// What happened to a command.
pub(crate) enum Redirect {
    /// It was executed, or refused for good.
    Answer,
    /// The slot belongs to that node.
    Moved(Slot, NodeAddr),
    /// The slot is moving to that node, and the key is not here any more.
    Ask(NodeAddr),
    /// Its keys are at two nodes at the moment.
    Again,
    /// The node knows of no other that serves the slot.
    Nowhere,
}

pub(crate) fn told(reply: &Value) -> Redirect {
    let Value::ServerError(refused) = reply else {
        return Redirect::Answer;
    };
    let kind = refused.kind();
    match kind {
        Some(ServerErrorKind::TryAgain) => return Redirect::Again,
        Some(ServerErrorKind::ClusterDown) => return Redirect::Nowhere,
        _ => {}
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

/// As Redis reports it for one command.
pub(crate) fn cross_slot() -> Value {
    parse_redis_value(b"-CROSSSLOT Keys in request don't hash to the same slot\r\n")
        .expect("an error in RESP")
}
