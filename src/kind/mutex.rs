//! The token of one holder, as other libraries lock the same key too.

use super::lua::{Script, Scripts, part};
use super::shared::{
    ABANDON, ALONE, ANOTHER, BURY, FENCE, FORCE_RELEASE, HOLD, INSPECT, KEYS, LOST, PROLONG, QUEUE,
    RECEIPT, RELEASE, RENEW, RESP,
};
use super::{Refusals, Row, Waking, quorum};

pub(super) const STORAGE: &str = part!("mutex/storage.lua");
const ACQUIRED: &str = part!("mutex/acquired.lua");
const EXTEND: &str = part!("mutex/extend.lua");
const HAND_OVER: &str = part!("mutex/hand_over.lua");
const ACQUIRE: &str = part!("mutex/acquire.lua");
const SIGNAL: &str = part!("mutex/signal.lua");

// What is the same with a signal list, and some of it where several servers have the lock.
const ACQUIRING: &[&str] = &[KEYS, RESP, FENCE, HOLD, BURY, QUEUE, PROLONG, ACQUIRE];
const INSPECTING: &[&str] = &[KEYS, RESP, STORAGE, ALONE, INSPECT];
#[rustfmt::skip]
pub(super) const RENEWING: &[&str] = &[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, STORAGE, ACQUIRED, ANOTHER, EXTEND, RENEW];
pub(super) const FORCING: &[&str] = &[KEYS, FENCE, BURY, QUEUE, HAND_OVER, FORCE_RELEASE];

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, STORAGE, ACQUIRED, ANOTHER, FENCE, BURY, QUEUE, HAND_OVER, RELEASE]),
        abandon: Script::of(&[KEYS, STORAGE, FENCE, BURY, QUEUE, HAND_OVER, ABANDON]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(FORCING),
    },
    signalling: Some(Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, STORAGE, ACQUIRED, ANOTHER, FENCE, BURY, QUEUE, HAND_OVER, SIGNAL, RELEASE]),
        abandon: Script::of(&[KEYS, STORAGE, FENCE, BURY, QUEUE, HAND_OVER, SIGNAL, ABANDON]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(&[KEYS, FENCE, BURY, QUEUE, HAND_OVER, SIGNAL, FORCE_RELEASE]),
    }),
    keys: |_, _| Vec::new(),
    waking: Waking::HandOver,
    of_majority: Some(&quorum::ROW),
    raise: None,
    refusals: Refusals::NONE,
};
