//! One token holds it. It is stored as other libraries lock the same key.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ALONE, ANOTHER, FENCE, FORCE_RELEASE, HEARING, HOLD, INSPECT, JOIN, KEYS,
    LOST, PROLONG, QUEUE, RECEIPT, RELEASE, REMOVE_WAITER, RENEW, RESP, VACANT,
};

pub(super) const STORAGE: &str = part!("mutex/storage.lua");
pub(super) const EXTEND: &str = part!("mutex/extend.lua");
pub(super) const HAND_OVER: &str = part!("mutex/hand_over.lua");
pub(super) const ACQUIRE: &str = part!("mutex/acquire.lua");
const SIGNAL: &str = part!("mutex/signal.lua");

// The same with a signal list; some of it also for a quorum, and with a stored result.
const ACQUIRING: &[&str] = &[
    KEYS,
    RESP,
    FENCE,
    HOLD,
    REMOVE_WAITER,
    QUEUE,
    PROLONG,
    JOIN,
    ACQUIRE,
];
pub(super) const INSPECTING: &[&str] = &[KEYS, RESP, STORAGE, ALONE, INSPECT];
#[rustfmt::skip]
pub(super) const RENEWING: &[&str] = &[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, STORAGE, ACQUIRED, ANOTHER, EXTEND, RENEW];
pub(super) const FORCING: &[&str] = &[
    KEYS,
    FENCE,
    REMOVE_WAITER,
    QUEUE,
    HEARING,
    HAND_OVER,
    FORCE_RELEASE,
];

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, STORAGE, ACQUIRED, ANOTHER, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, RELEASE]),
        abandon: Script::of(&[KEYS, STORAGE, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, VACANT, ABANDON]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(FORCING),
    },
    signalling: Some(Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, STORAGE, ACQUIRED, ANOTHER, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, SIGNAL, RELEASE]),
        abandon: Script::of(&[KEYS, STORAGE, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, SIGNAL, VACANT, ABANDON]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(&[KEYS, FENCE, REMOVE_WAITER, QUEUE, HEARING, HAND_OVER, SIGNAL, FORCE_RELEASE]),
    }),
    keys: |_, _| Vec::new(),
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    refusals: Refusals::NONE,
};
