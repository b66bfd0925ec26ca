//! Permits, of which so many may be held at once, each with a token, a fence and an end of its own.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLEAN, EMPTY, FENCE, FORCE_RELEASE, GRANT, HAD, HAND_ON, HEARING,
    HOLDERS, JOIN, KEYS, LEAVE, LISTED, LOST, PROLONG, QUEUE, RECEIPT, RELEASE, REMAIN,
    REMOVE_WAITER, RENEW, RESP, SHARE, STAY,
};

const STORAGE: &str = part!("semaphore/storage.lua");
const FULL: &str = part!("semaphore/full.lua");
const IN_THE_WAY: &str = part!("semaphore/in_the_way.lua");
const OTHERS: &str = part!("semaphore/others.lua");
const INSPECT: &str = part!("semaphore/inspect.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, RESP, FENCE, PROLONG, REMOVE_WAITER, QUEUE, JOIN, STORAGE, HOLDERS, CLEAN, ACQUIRED, STAY, GRANT, REMAIN, FULL, IN_THE_WAY, OTHERS, HAD, SHARE]),
        renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, PROLONG, STORAGE, HOLDERS, CLEAN, ACQUIRED, ANOTHER, STAY, REMAIN, RENEW]),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, PROLONG, REMOVE_WAITER, QUEUE, STORAGE, HOLDERS, CLEAN, ACQUIRED, ANOTHER, STAY, GRANT, FULL, HEARING, HAND_ON, LEAVE, RELEASE]),
        abandon: Script::of(&[KEYS, FENCE, PROLONG, REMOVE_WAITER, QUEUE, STORAGE, HOLDERS, CLEAN, STAY, GRANT, FULL, HEARING, HAND_ON, LEAVE, ABANDON]),
        inspect: Script::of(&[KEYS, RESP, FENCE, STORAGE, HOLDERS, LISTED, OTHERS, INSPECT]),
        force_release: Script::of(&[KEYS, FENCE, PROLONG, REMOVE_WAITER, QUEUE, STORAGE, CLEAN, STAY, GRANT, FULL, HEARING, HAND_ON, EMPTY, FORCE_RELEASE]),
    },
    signalling: None,
    keys: |name, _| vec![name.companion("holds")],
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    refusals: Refusals {
        signal_list: Some("a semaphore has no signal list: no other program's waiters block on one"),
        turns: Some("a semaphore has no turns that callers could share: others decide at the same time"),
        majority: Some("a semaphore lives behind one bridge, not several: they would have to agree on who holds each permit"),
        ..Refusals::NONE
    },
};
