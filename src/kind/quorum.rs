//! A mutex at each of several servers, of which a majority decides. Waiters do not queue. A token
//! that was given back is barred at once. A renewal asks the servers again that did not vote for
//! it.

use super::lua::{Script, Scripts, part};
use super::mutex::{EXTEND, FORCING, STORAGE};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ACQUIRED, CLOCK, FENCE, INSPECT, KEYS, LIFE, LOOK, PROLONG, QUEUE, RECORD, RESP, TAKE, TOLD,
    VERSION,
};

const ACQUIRE: &str = part!("quorum/acquire.lua");
const UPTIME: &str = part!("quorum/uptime.lua");
const WITHDRAW: &str = part!("quorum/withdraw.lua");
const RENEW: &str = part!("quorum/renew.lua");
const RAISE_FENCE: &str = part!("quorum/raise_fence.lua");
const RAISE: &str = part!("quorum/raise.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, FENCE, UPTIME, PROLONG, TAKE, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, UPTIME, PROLONG, STORAGE, ACQUIRED, EXTEND, RAISE_FENCE, RENEW]),
        release: Script::of(&[KEYS, LOOK, STORAGE, WITHDRAW]),
        abandon: Script::of(&[KEYS, LOOK, STORAGE, WITHDRAW]),
        inspect: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, QUEUE, TOLD, STORAGE, UPTIME, INSPECT]),
        force_release: Script::of(FORCING),
    },
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Poll,
    raise: Some(Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, STORAGE, RAISE_FENCE, RAISE])),
    downgrade: None,
    turn: None,
    refusals: Refusals {
        fair: Some("a lock over several bridges cannot be fair: they have no queue in common"),
        commands: Some("a lock over several bridges runs no commands: they have no data in common; use the fence where the data is"),
        replicas: Some("a lock over several bridges has no replicas: the bridges stand in for each other"),
        signal_list: Some("a lock over several bridges has no signal list: there is no one list to feed"),
        ..Refusals::NONE
    },
};
