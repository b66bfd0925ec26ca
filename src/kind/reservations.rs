//! Units, each of which is free, reserved for a while by a token, or confirmed for ever.
//!
//! A reservation is a permit of a semaphore that a commit takes away for ever. Nobody queues: what
//! falls back goes to whoever asks next.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::semaphore::{EXTEND, IN_THE_WAY, PERMITS, STORAGE};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLEAN, CLOCK, FENCE, FORCE_RELEASE, HOLDERS, KEYS, LIFE, LOOK,
    LOST, PROLONG, RECEIPT, RECORD, RELEASE, RENEW, REPLY, RESP, TOLD, VERSION,
};

const UNITS: &str = part!("reservations/keys.lua");
const OWNERS: &str = part!("reservations/owners.lua");
const CONFIRM: &str = part!("reservations/confirm.lua");
const CONFIRMED: &str = part!("reservations/lost.lua");
const ACQUIRE: &str = part!("reservations/acquire.lua");
const INSPECT: &str = part!("reservations/inspect.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, PERMITS, UNITS, HOLDERS, OWNERS, STORAGE, CLEAN, ACQUIRED, EXTEND, IN_THE_WAY, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, CONFIRMED, FENCE, PROLONG, PERMITS, HOLDERS, OWNERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, EXTEND, RENEW]),
        release: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, CONFIRMED, FENCE, PROLONG, PERMITS, UNITS, HOLDERS, OWNERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, CONFIRM, RELEASE, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, PERMITS, HOLDERS, OWNERS, STORAGE, CLEAN, ABANDON, REPLY]),
        inspect: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, FENCE, PROLONG, TOLD, PERMITS, UNITS, HOLDERS, STORAGE, INSPECT]),
        force_release: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, PERMITS, HOLDERS, OWNERS, STORAGE, CLEAN, FORCE_RELEASE, REPLY]),
    },
    signalling: None,
    keys: |name, _, keys| {
        keys.add(&[name.stem(), ":holds"]);
        keys.add(&[name.stem(), ":confirmed"]);
    },
    waking: Waking::Poll,
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        fair: Some("reservations cannot be fair: those who wait for units do not queue"),
        signal_list: Some("reservations have no signal list: no other program's waiters block on one"),
        turns: Some("reservations have no turns that callers could share, and need none: each is one request beside others"),
        majority: Some("reservations live behind one bridge, not several: they would have to agree on who has each unit"),
        ..Refusals::NONE
    },
};
