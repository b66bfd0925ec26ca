//! Several names at once, all or none: each is the mutex of that name, and all have one token and
//! one fence.
//!
//! A waiter is never handed one of them. It is told to ask, and the name stays free. So no caller
//! holds some of its names while it waits for the others.

use super::lua::{Script, Scripts, part};
use super::mutex::{EXTEND, HAND_OVER};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLOCK, FENCE, HEARING, JOIN, KEYS, LEAVE_QUEUE, LOST, PROLONG,
    QUEUE, RECEIPT, RECORD, RELEASE, RENEW, RESP, TOLD,
};
use crate::name::Name;
use crate::words::Words;

const LOOK_AT_ALL: &str = part!("multi/look.lua");
const NAMES: &str = part!("multi/names.lua");
const VERSIONS: &str = part!("multi/version.lua");
pub(super) const NOTIFY: &str = part!("multi/notify.lua");
const NOTIFY_ALL: &str = part!("multi/notify_all.lua");
pub(super) const REPLY: &str = part!("multi/reply.lua");
const LEAVE: &str = part!("multi/leave.lua");
pub(super) const LOST_ALL: &str = part!("multi/lost.lua");
const EXTEND_ALL: &str = part!("multi/extend.lua");
const ACQUIRE: &str = part!("multi/acquire.lua");
const INSPECT: &str = part!("multi/inspect.lua");
const FORCE_RELEASE: &str = part!("multi/force_release.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, VERSIONS, CLOCK, RESP, FENCE, PROLONG, QUEUE, JOIN, HEARING, HAND_OVER, NOTIFY, EXTEND, EXTEND_ALL, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, VERSIONS, CLOCK, RESP, RECEIPT, LOST, PROLONG, ACQUIRED, ANOTHER, EXTEND, FENCE, QUEUE, HEARING, HAND_OVER, NOTIFY, NOTIFY_ALL, LOST_ALL, EXTEND_ALL, RENEW]),
        release: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, VERSIONS, CLOCK, RESP, RECEIPT, LOST, ACQUIRED, ANOTHER, FENCE, QUEUE, HEARING, HAND_OVER, NOTIFY, NOTIFY_ALL, LOST_ALL, RELEASE, REPLY]),
        abandon: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, NOTIFY, NOTIFY_ALL, LEAVE, ABANDON, LEAVE_QUEUE, REPLY]),
        inspect: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, VERSIONS, CLOCK, RESP, QUEUE, TOLD, INSPECT]),
        force_release: Script::of(&[KEYS, LOOK_AT_ALL, RECORD, NAMES, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, NOTIFY, FORCE_RELEASE]),
    },
    signalling: None,
    keys,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        signal_list: Some("several names at once have no signal list: other programs' waiters block on a list of each name"),
        turns: Some("several names at once have no turns that callers could share: callers with other names would not be in them"),
        majority: Some("several names at once live behind one bridge, not several: each would have to decide on all names"),
        ..Refusals::NONE
    },
};

/// Those of each other name, and what marks their end, as `look.lua` has them.
fn keys(name: &Name, id: &str, keys: &mut Words) {
    for other in name.others() {
        keys.add(&[other.key()]);
        keys.add(&[other.stem(), ":fence"]);
        keys.add(&[other.stem(), ":queue"]);
    }
    keys.add(&[name.stem(), ":gone:", id]);
}
