//! An owner holds it, and may enter again. It is stored as Redisson's `RLock`.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ALONE, ANOTHER, CLOCK, FENCE, FORCE_RELEASE, INSPECT, KEYS, LIFE, LOOK, LOST, PROLONG,
    QUEUE, RECEIPT, RECORD, RELEASE, RENEW, REPLY, RESP, TOLD, VERSION,
};
use crate::name::Name;

const STORAGE: &str = part!("reentrant/storage.lua");
const CLEAN: &str = part!("reentrant/clean.lua");
const ACQUIRED: &str = part!("reentrant/acquired.lua");
const EXTEND: &str = part!("reentrant/extend.lua");
const COUNTED: &str = part!("reentrant/counted.lua");
const ACQUIRE: &str = part!("reentrant/acquire.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, STORAGE, CLEAN, EXTEND, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, PROLONG, STORAGE, CLEAN, ACQUIRED, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, STORAGE, CLEAN, ACQUIRED, ANOTHER, RELEASE, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, RECORD, CLOCK, STORAGE, CLEAN, ABANDON, REPLY]),
        inspect: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, QUEUE, TOLD, STORAGE, COUNTED, ALONE, INSPECT]),
        force_release: Script::of(&[KEYS, LOOK, RECORD, CLOCK, STORAGE, FORCE_RELEASE, REPLY]),
    },
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Broadcast(Name::redisson_channel),
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        fair: Some("a reentrant lock cannot be fair: those who wait for it do not queue"),
        label: Some("a reentrant lock has no label: its owner says who holds it"),
        turns: Some("a reentrant lock has no turns that callers could share: its owner may enter at the same time"),
        signal_list: Some("a reentrant lock has no signal list: it tells its waiters as Redisson does"),
        majority: Some("a reentrant lock lives behind one bridge, not several"),
        ..Refusals::NONE
    },
};
