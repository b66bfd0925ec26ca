//! An owner holds it, and may enter again. It is stored as Redisson's `RLock`.

use super::lua::{Script, Scripts, part};
use super::shared::{
    ABANDON, ALONE, ANOTHER, BURY, FENCE, FORCE_RELEASE, INSPECT, KEYS, LOST, PROLONG, RECEIPT,
    RELEASE, RENEW, RESP, VACANT,
};
use super::{Refusals, Row, Waking};
use crate::name::Name;

const STORAGE: &str = part!("reentrant/storage.lua");
const EXTEND: &str = part!("reentrant/extend.lua");
const ACQUIRE: &str = part!("reentrant/acquire.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, RESP, FENCE, PROLONG, STORAGE, EXTEND, ACQUIRE]),
        renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, PROLONG, STORAGE, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, RESP, RECEIPT, LOST, STORAGE, ANOTHER, RELEASE]),
        abandon: Script::of(&[KEYS, BURY, STORAGE, VACANT, ABANDON]),
        inspect: Script::of(&[KEYS, RESP, STORAGE, ALONE, INSPECT]),
        force_release: Script::of(&[KEYS, STORAGE, FORCE_RELEASE]),
    },
    signalling: None,
    keys: |name, id| vec![name.companion("hold"), name.companion_of("entry", id)],
    waking: Waking::Broadcast(Name::redisson_channel),
    of_majority: None,
    raise: None,
    downgrade: None,
    refusals: Refusals {
        fair: Some("a reentrant lock cannot be fair: those who wait for it do not queue"),
        label: Some("a reentrant lock has no label: its owner says who holds it"),
        signal_list: Some("a reentrant lock has no signal list: it tells its waiters as Redisson does"),
        majority: Some("a reentrant lock lives behind one bridge, not several"),
        ..Refusals::NONE
    },
};
