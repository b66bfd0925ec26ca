//! An owner holds it, and may enter again. It is stored as Redisson's `RLock`.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ALONE, ANOTHER, FENCE, FORCE_RELEASE, INSPECT, KEYS, LOST, PROLONG, RECEIPT, RELEASE,
    REMOVE_WAITER, RENEW, RESP, VACANT,
};
use crate::name::Name;

const STORAGE: &str = part!("reentrant/storage.lua");
const CLEAN: &str = part!("reentrant/clean.lua");
const EXTEND: &str = part!("reentrant/extend.lua");
const COUNTED: &str = part!("reentrant/counted.lua");
const OTHERS: &str = part!("reentrant/others.lua");
const ACQUIRE: &str = part!("reentrant/acquire.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, RESP, FENCE, PROLONG, STORAGE, OTHERS, CLEAN, EXTEND, ACQUIRE]),
        renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, PROLONG, STORAGE, CLEAN, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, STORAGE, CLEAN, ANOTHER, RELEASE]),
        abandon: Script::of(&[KEYS, FENCE, REMOVE_WAITER, STORAGE, CLEAN, VACANT, ABANDON]),
        inspect: Script::of(&[KEYS, RESP, FENCE, STORAGE, OTHERS, COUNTED, ALONE, INSPECT]),
        force_release: Script::of(&[KEYS, STORAGE, FORCE_RELEASE]),
    },
    signalling: None,
    keys: |name, id| vec![name.companion("hold"), name.companion_of("entry", id), name.companion("entries")],
    waking: Waking::Broadcast(Name::redisson_channel),
    raise: None,
    downgrade: None,
    refusals: Refusals {
        fair: Some("a reentrant lock cannot be fair: those who wait for it do not queue"),
        label: Some("a reentrant lock has no label: its owner says who holds it"),
        turns: Some("a reentrant lock has no turns that callers could share: its owner may enter at the same time"),
        signal_list: Some("a reentrant lock has no signal list: it tells its waiters as Redisson does"),
        majority: Some("a reentrant lock lives behind one bridge, not several"),
        ..Refusals::NONE
    },
};
