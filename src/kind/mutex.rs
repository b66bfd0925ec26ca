//! One token holds it. It is stored as other libraries lock the same key.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ALONE, ANOTHER, CLOCK, FENCE, FORCE_RELEASE, HEARING, IF_WAITED_FOR,
    INSPECT, JOIN, KEYS, LEAVE_QUEUE, LIFE, LOOK, LOST, PASS_ON, PROLONG, QUEUE, RECEIPT, RECORD,
    RELEASE, RENEW, REPLY, RESP, TAKE, TOLD, VERSION,
};

pub(super) const STORAGE: &str = part!("mutex/storage.lua");
pub(super) const EXTEND: &str = part!("mutex/extend.lua");
pub(super) const HAND_OVER: &str = part!("mutex/hand_over.lua");
pub(super) const IF_CONTENDED: &str = part!("mutex/if_contended.lua");
pub(super) const WAIT: &str = part!("mutex/wait.lua");
pub(super) const ACQUIRE: &str = part!("mutex/acquire.lua");
const SIGNAL: &str = part!("mutex/signal.lua");

// The same with a signal list; some of it also for a quorum, and with a stored result.
#[rustfmt::skip]
const ACQUIRING: &[&str] = &[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, IF_CONTENDED, QUEUE, JOIN, WAIT, FENCE, PROLONG, TAKE, EXTEND, ACQUIRE];
#[rustfmt::skip]
pub(super) const INSPECTING: &[&str] = &[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, QUEUE, TOLD, STORAGE, ALONE, INSPECT];
#[rustfmt::skip]
pub(super) const RENEWING: &[&str] = &[KEYS, LOOK, RECORD, VERSION, RESP, RECEIPT, LOST, PROLONG, STORAGE, ACQUIRED, ANOTHER, EXTEND, RENEW];
#[rustfmt::skip]
pub(super) const FORCING: &[&str] = &[KEYS, LOOK, RECORD, STORAGE, FORCE_RELEASE, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, PASS_ON, REPLY];

#[rustfmt::skip]
const RELEASING: &[&str] = &[KEYS, LOOK, RECORD, VERSION, RESP, RECEIPT, LOST, STORAGE, ACQUIRED, ANOTHER, RELEASE, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, PASS_ON, REPLY];
#[rustfmt::skip]
const ABANDONING: &[&str] = &[KEYS, LOOK, RECORD, STORAGE, ABANDON, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, LEAVE_QUEUE, HEARING, HAND_OVER, PASS_ON, REPLY];

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(RELEASING),
        abandon: Script::of(ABANDONING),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(FORCING),
    },
    signalling: Some(Scripts {
        acquire: Script::of(ACQUIRING),
        renew: Script::of(RENEWING),
        release: Script::of(&[KEYS, LOOK, RECORD, VERSION, RESP, RECEIPT, LOST, STORAGE, ACQUIRED, ANOTHER, RELEASE, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, PASS_ON, SIGNAL, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, RECORD, STORAGE, ABANDON, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, LEAVE_QUEUE, HEARING, HAND_OVER, PASS_ON, SIGNAL, REPLY]),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(&[KEYS, LOOK, RECORD, STORAGE, FORCE_RELEASE, IF_WAITED_FOR, CLOCK, FENCE, QUEUE, HEARING, HAND_OVER, PASS_ON, SIGNAL, REPLY]),
    }),
    keys: |_, _, _| {},
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turn: Some(Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, TAKE, EXTEND, part!("mutex/turn.lua")])),
    refusals: Refusals::NONE,
};

/// The same lock for one that takes it over. It goes ahead of the queue, and does not stand in it.
#[rustfmt::skip]
pub(super) static TAKING_OVER: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, TAKE, EXTEND, part!("mutex/take_over.lua")]),
        renew: Script::of(RENEWING),
        release: Script::of(RELEASING),
        abandon: Script::of(ABANDONING),
        inspect: Script::of(INSPECTING),
        force_release: Script::of(FORCING),
    },
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Poll,
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        fair: Some("who takes a lock over is not fair"),
        turns: Some("who takes a lock over has no turns that callers could share"),
        signal_list: Some("who takes a lock over has no signal list"),
        ..Refusals::NONE
    },
};
