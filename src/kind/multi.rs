//! Several names at once, all or none: each is the mutex of that name, and all have one token and
//! one fence.
//!
//! A waiter is never handed one of them. It is told to ask, and the name stays free. So no caller
//! holds some of its names while it waits for the others.

use super::lua::{Script, Scripts, part};
use super::mutex::{EXTEND, HAND_OVER};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, FENCE, HEARING, HOLD, JOIN, KEYS, LOST, PROLONG, QUEUE, RECEIPT,
    RELEASE, REMOVE_WAITER, RENEW, RESP,
};
use crate::name::Name;

const NAMES: &str = part!("multi/names.lua");
const NOTIFY: &str = part!("multi/notify.lua");
const LEAVE: &str = part!("multi/leave.lua");
const LOST_ALL: &str = part!("multi/lost.lua");
const EXTEND_ALL: &str = part!("multi/extend.lua");
const ACQUIRE: &str = part!("multi/acquire.lua");
const INSPECT: &str = part!("multi/inspect.lua");
const FORCE_RELEASE: &str = part!("multi/force_release.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, RESP, FENCE, HOLD, REMOVE_WAITER, QUEUE, PROLONG, JOIN, HEARING, HAND_OVER, NAMES, ACQUIRE]),
        renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, ACQUIRED, ANOTHER, EXTEND, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, NAMES, NOTIFY, LOST_ALL, EXTEND_ALL, RENEW]),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, ACQUIRED, ANOTHER, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, NAMES, NOTIFY, LOST_ALL, RELEASE]),
        abandon: Script::of(&[KEYS, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, NAMES, NOTIFY, LEAVE, ABANDON]),
        inspect: Script::of(&[KEYS, RESP, HOLD, NAMES, INSPECT]),
        force_release: Script::of(&[KEYS, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, NAMES, FORCE_RELEASE]),
    },
    signalling: None,
    keys,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    refusals: Refusals {
        signal_list: Some("several names at once have no signal list: other programs' waiters block on a list of each name"),
        turns: Some("several names at once have no turns that callers could share: callers with other names would not be in them"),
        majority: Some("several names at once live behind one bridge, not several: each would have to decide on all names"),
        ..Refusals::NONE
    },
};

/// Those of each other name, and what marks their end, as `names.lua` has them.
fn keys(name: &Name, id: &str) -> Vec<String> {
    let of_one = |name: &Name| {
        let companions = ["fence", "queue", "alive"].map(|suffix| name.companion(suffix));
        [vec![name.key().to_owned()], companions.into()].concat()
    };
    let others = name.others().iter().flat_map(of_one);
    others.chain([name.companion_of("gone", id)]).collect()
}
