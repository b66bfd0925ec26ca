//! A mutex for work that is executed once. Its result is kept beside it, and answers everybody who
//! asks for the lock.
//!
//! The holder stores the result by a command of its commit. Waiters do not queue: they want the
//! result, which all can have at once, so all are told.

use super::lua::{Script, Scripts, part};
use super::mutex::{ACQUIRE, EXTEND, IF_CONTENDED, INSPECTING, STORAGE, WAIT};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLOCK, FENCE, FORCE_RELEASE, JOIN, KEYS, LIFE, LOOK, LOST, PROLONG,
    QUEUE, RECEIPT, RECORD, RELEASE, RENEW, REPLY, RESP, TAKE, VERSION,
};
use crate::name::Name;

const KEPT: &str = part!("once/kept.lua");
const TELL: &str = part!("once/tell.lua");

/// Forgets the result.
pub(crate) static FORGET: Script =
    Script::of(&[KEYS, LOOK, RECORD, VERSION, part!("once/forget.lua")]);

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, KEPT, IF_CONTENDED, QUEUE, JOIN, WAIT, FENCE, PROLONG, TAKE, EXTEND, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, RESP, RECEIPT, LOST, PROLONG, STORAGE, ACQUIRED, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, LOOK, RECORD, VERSION, RESP, RECEIPT, LOST, STORAGE, ACQUIRED, ANOTHER, RELEASE, TELL, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, RECORD, STORAGE, ABANDON, TELL, REPLY]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(&[KEYS, LOOK, RECORD, STORAGE, FORCE_RELEASE, TELL, REPLY]),
    },
    signalling: None,
    keys: |name, _, keys| keys.add(&[&kept(name)]),
    waking: Waking::Broadcast(kept),
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        majority: Some("what is executed once lives behind one bridge, not several: they would have to agree on its result"),
        ..Refusals::NONE
    },
};

/// The key of the result, and the channel on which its waiters are told.
pub(super) fn kept(name: &Name) -> String {
    name.companion("result")
}
