//! One writer, stored as the holder of a mutex, or readers that share the name: each with a token,
//! a fence and an end of its own.

use super::lua::{Script, Scripts, part};
use super::row::{Refusals, Row, Waking};
use super::shared::{
    ABANDON, ACQUIRED, ANOTHER, CLEAN, CLOCK, FENCE, FORCE_RELEASE, HAD, HAND_ON, HEARING, HOLDERS,
    IF_WAITED_FOR, JOIN, KEYS, LEAVE_QUEUE, LIFE, LOOK, LOST, PASS_ON, PROLONG, QUEUE, RECEIPT,
    RECORD, RELEASE, RENEW, REPLY, RESP, TAKE, TOLD, VERSION,
};

const READERS: &str = part!("read_write/keys.lua");
const STORAGE: &str = part!("read_write/storage.lua");
const GRANT: &str = part!("read_write/grant.lua");
const IN_THE_WAY: &str = part!("read_write/in_the_way.lua");
const AHEAD: &str = part!("read_write/ahead.lua");
const LEAVE: &str = part!("read_write/leave.lua");
const ACQUIRE: &str = part!("read_write/acquire.lua");
const DOWNGRADE: &str = part!("read_write/downgrade.lua");
const INSPECT: &str = part!("read_write/inspect.lua");

#[rustfmt::skip]
pub(super) static WRITER: Row = row(
    Some(Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, LOST, FENCE, PROLONG, TAKE, READERS, HOLDERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, GRANT, DOWNGRADE, IF_WAITED_FOR, QUEUE, HEARING, HAND_ON, PASS_ON, REPLY])),
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
            acquire: Script::of(&[KEYS, LOOK, RECORD, VERSION, LIFE, CLOCK, RESP, FENCE, PROLONG, TAKE, QUEUE, JOIN, READERS, HOLDERS, STORAGE, CLEAN, ACQUIRED, GRANT, IN_THE_WAY, AHEAD, HAD, ACQUIRE]),
            renew: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, FENCE, PROLONG, TAKE, READERS, HOLDERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, GRANT, RENEW]),
            release: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, RECEIPT, LOST, FENCE, PROLONG, TAKE, READERS, HOLDERS, STORAGE, CLEAN, ACQUIRED, ANOTHER, GRANT, LEAVE, RELEASE, IF_WAITED_FOR, QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
            abandon: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, TAKE, READERS, HOLDERS, STORAGE, CLEAN, GRANT, LEAVE, ABANDON, IF_WAITED_FOR, QUEUE, LEAVE_QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
            inspect: Script::of(&[KEYS, LOOK, RECORD, VERSION, CLOCK, RESP, FENCE, PROLONG, QUEUE, TOLD, READERS, HOLDERS, INSPECT]),
            force_release: Script::of(&[KEYS, LOOK, RECORD, CLOCK, FENCE, PROLONG, TAKE, READERS, HOLDERS, STORAGE, CLEAN, GRANT, LEAVE, FORCE_RELEASE, IF_WAITED_FOR, QUEUE, HEARING, HAND_ON, PASS_ON, REPLY]),
        },
        signalling: None,
        keys: |name, _, keys| {
            keys.add(&[name.stem(), ":holds"]);
            keys.add(&[name.stem(), ":readers"]);
        },
        waking: Waking::HandOver,
        raise: None,
        downgrade,
        turn: None,
        refusals: Refusals {
            signal_list: Some("a read/write lock has no signal list: no other program's readers block on one"),
            turns,
            majority: Some("a read/write lock lives behind one bridge, not several: they would have to agree on who reads"),
            ..Refusals::NONE
        },
    }
}
