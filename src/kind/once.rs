//! A mutex for work that is executed once. Its result is kept beside it, and answers everybody who
//! asks for the lock.
//!
//! The holder stores the result by a command of its commit. Waiters do not queue: they want the
//! result, which all can have at once, so all are told.

use super::lua::{Script, script, scripts};
use super::row::{Refusals, Row, Waking};
use crate::name::Name;

/// Forgets the result.
pub(crate) static FORGET: Script = script!(once::FORGET);

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(once),
    signalling: None,
    keys: |name, _, keys| keys.add(&[&kept(name)]),
    waking: Waking::Broadcast(kept),
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        majority: Some("what is executed once lives behind one bridge, not several: they would have to agree on its result"),
        ..Refusals::NONE
    },
};

/// The key of the result, and the channel on which its waiters are told.
pub(super) fn kept(name: &Name) -> String {
    name.companion("result")
}
