//! Permits, of which so many may be held at once, each with a token, a fence and an end of its own.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLEAN, CLOCK, FENCE, FORCE_RELEASE, HAD, HAND_ON, HEARING, HOLDERS,
    IF_WAITED_FOR, JOIN, KEYS, LEAVE_QUEUE, LIFE, LOOK, LOST, PASS_ON, PROLONG, QUEUE, RECEIPT,
    RECORD, RELEASE, RENEW, REPLY, RESP, TOLD, VERSION,
};

pub(super) const PERMITS: &str = part!("semaphore/keys.lua");
pub(super) const STORAGE: &str = part!("semaphore/storage.lua");
pub(super) const EXTEND: &str = part!("semaphore/extend.lua");
pub(super) const IN_THE_WAY: &str = part!("semaphore/in_the_way.lua");
pub(super) const BESIDES: &str = part!("semaphore/besides.lua");
const ACQUIRE: &str = part!("semaphore/acquire.lua");
const INSPECT: &str = part!("semaphore/inspect.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, QUEUE, JOIN, PERMITS, HOLDERS, STORAGE, CLEAN, ACQUIRED, EXTEND, IN_THE_WAY, BESIDES, HAD, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, FENCE, PROLONG, PERMITS, HOLDERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, FENCE, PROLONG, PERMITS, HOLDERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, RELEASE, IF_WAITED_FOR, QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, PERMITS, HOLDERS, STORAGE, CLEAN, ABANDON, IF_WAITED_FOR, QUEUE, LEAVE_QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
        inspect: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, FENCE, PROLONG, QUEUE, TOLD, PERMITS, HOLDERS, STORAGE, INSPECT]),
        force_release: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, PERMITS, HOLDERS, STORAGE, CLEAN, FORCE_RELEASE, IF_WAITED_FOR, QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
    },
    signalling: None,
    keys: |name, _, keys| keys.add(&[name.stem(), ":holds"]),
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turn: None,
    refusals: REFUSALS,
};

/// Also those of several semaphores at once.
#[rustfmt::skip]
pub(super) const REFUSALS: Refusals = Refusals {
    signal_list: Some("a semaphore has no signal list: no other program's waiters block on one"),
    turns: Some("a semaphore has no turns that callers could share: others decide at the same time"),
    majority: Some("a semaphore lives behind one bridge, not several: they would have to agree on who holds each permit"),
    ..Refusals::NONE
};
