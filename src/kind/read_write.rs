//! One writer, stored as the holder of a mutex, or readers that share the name: each with a token,
//! a fence and an end of its own.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, FENCE, FORCE_RELEASE, HAD, HAND_ON, HEARING, JOIN, KEYS, LISTED,
    LOST, PROLONG, QUEUE, RECEIPT, RELEASE, REMOVE_WAITER, RENEW, RESP,
};

const STORAGE: &str = part!("read_write/storage.lua");
const CLEAN: &str = part!("read_write/clean.lua");
const READ: &str = part!("read_write/read.lua");
const GRANT: &str = part!("read_write/grant.lua");
const FULL: &str = part!("read_write/full.lua");
const IN_THE_WAY: &str = part!("read_write/in_the_way.lua");
const AHEAD: &str = part!("read_write/ahead.lua");
const EXTEND: &str = part!("read_write/extend.lua");
const LEAVE: &str = part!("read_write/leave.lua");
const EMPTY: &str = part!("read_write/empty.lua");
const ACQUIRE: &str = part!("read_write/acquire.lua");
const DOWNGRADE: &str = part!("read_write/downgrade.lua");
const INSPECT: &str = part!("read_write/inspect.lua");

pub(super) static WRITER: Row = row(
    Some(Script::of(&[
        KEYS,
        LOST,
        FENCE,
        PROLONG,
        REMOVE_WAITER,
        QUEUE,
        STORAGE,
        CLEAN,
        ACQUIRED,
        ANOTHER,
        READ,
        GRANT,
        EXTEND,
        FULL,
        HEARING,
        HAND_ON,
        DOWNGRADE,
    ])),
    None,
);

pub(super) static READER: Row = row(
    None,
    Some("a reader has no turns that callers could share: others read at the same time"),
);

/// The rows of readers and writers differ only in the downgrade, and in why callers may not share
/// turns.
#[rustfmt::skip]
const fn row(downgrade: Option<Script>, turns: Option<&'static str>) -> Row {
    Row {
        scripts: Scripts {
            acquire: Script::of(&[KEYS, RESP, FENCE, PROLONG, REMOVE_WAITER, QUEUE, JOIN, STORAGE, CLEAN, ACQUIRED, READ, GRANT, FULL, IN_THE_WAY, AHEAD, EXTEND, HAD, ACQUIRE]),
            renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, PROLONG, STORAGE, CLEAN, ACQUIRED, ANOTHER, READ, EXTEND, RENEW]),
            release: Script::of(&[KEYS, RESP, RECEIPT, LOST, FENCE, REMOVE_WAITER, QUEUE, STORAGE, CLEAN, ACQUIRED, ANOTHER, READ, GRANT, FULL, HEARING, HAND_ON, LEAVE, RELEASE]),
            abandon: Script::of(&[KEYS, FENCE, REMOVE_WAITER, QUEUE, STORAGE, CLEAN, READ, GRANT, FULL, HEARING, HAND_ON, LEAVE, ABANDON]),
            inspect: Script::of(&[KEYS, RESP, FENCE, STORAGE, LISTED, INSPECT]),
            force_release: Script::of(&[KEYS, FENCE, REMOVE_WAITER, QUEUE, STORAGE, CLEAN, READ, GRANT, FULL, HEARING, HAND_ON, EMPTY, FORCE_RELEASE]),
        },
        signalling: None,
        keys: |name, _| vec![name.companion("readers"), name.companion("holds")],
        waking: Waking::HandOver,
        raise: None,
        downgrade,
        refusals: Refusals {
            signal_list: Some("a read/write lock has no signal list: no other program's readers block on one"),
            turns,
            majority: Some("a read/write lock lives behind one bridge, not several: they would have to agree on who reads"),
            ..Refusals::NONE
        },
    }
}
