//! A mutex at each of several servers, of which a majority decides. Waiters do not queue. A token
//! that was given back is barred at once.

use super::lua::{Script, Scripts, part};
use super::mutex::{FORCING, RENEWING, STORAGE};
use super::row::{Refusals, Row, Waking};
use super::shared::{FENCE, HOLD, INSPECT, KEYS, PROLONG, RESP};

const ACQUIRE: &str = part!("quorum/acquire.lua");
const UPTIME: &str = part!("quorum/uptime.lua");
const WITHDRAW: &str = part!("quorum/withdraw.lua");
const RAISE: &str = part!("quorum/raise.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, FENCE, HOLD, UPTIME, PROLONG, ACQUIRE]),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, STORAGE, WITHDRAW]),
        abandon: Script::of(&[KEYS, STORAGE, WITHDRAW]),
        inspect: Script::of(&[KEYS, RESP, STORAGE, UPTIME, INSPECT]),
        force_release: Script::of(FORCING),
    },
    signalling: None,
    keys: |_, _| Vec::new(),
    waking: Waking::Poll,
    raise: Some(Script::of(&[KEYS, FENCE, STORAGE, RAISE])),
    downgrade: None,
    refusals: Refusals {
        fair: Some("a lock over several bridges cannot be fair: they have no queue in common"),
        commands: Some("a lock over several bridges runs no commands: they have no data in common; use the fence where the data is"),
        replicas: Some("a lock over several bridges has no replicas: the bridges stand in for each other"),
        signal_list: Some("a lock over several bridges has no signal list: there is no one list to feed"),
        ..Refusals::NONE
    },
};
