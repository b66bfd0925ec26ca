//! A mutex for work that is executed once. Its result is kept beside it, and answers everybody who
//! asks for the lock.
//!
//! The holder stores the result by a command of its commit. Waiters do not queue: they want the
//! result, which all can have at once, so all are told.

use super::lua::{Script, Scripts, part};
use super::mutex::{ACQUIRE, INSPECTING, RENEWING, STORAGE};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, FENCE, FORCE_RELEASE, HOLD, JOIN, KEYS, LOST, PROLONG, QUEUE,
    RECEIPT, RELEASE, REMOVE_WAITER, RESP, VACANT,
};
use crate::name::Name;

const KEPT: &str = part!("once/kept.lua");
const TELL: &str = part!("once/tell.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, RESP, FENCE, HOLD, REMOVE_WAITER, QUEUE, PROLONG, JOIN, KEPT, ACQUIRE]),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, STORAGE, ACQUIRED, ANOTHER, TELL, RELEASE]),
        abandon: Script::of(&[KEYS, REMOVE_WAITER, STORAGE, TELL, VACANT, ABANDON]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(&[KEYS, TELL, FORCE_RELEASE]),
    },
    signalling: None,
    keys: |name, _| vec![kept(name)],
    waking: Waking::Broadcast(kept),
    raise: None,
    downgrade: None,
    refusals: Refusals {
        majority: Some("what is executed once lives behind one bridge, not several: they would have to agree on its result"),
        ..Refusals::NONE
    },
};

/// The key of the result, and the channel on which its waiters are told.
pub(super) fn kept(name: &Name) -> String {
    name.companion("result")
}
