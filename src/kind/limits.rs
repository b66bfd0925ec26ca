//! Permits of several semaphores at once, all or none. Each is stored as that semaphore has it.
//!
//! A waiter is never handed any. It is told to ask, as one for several names is.

use super::lua::{Script, Scripts, part};
use super::multi::{LOST_ALL, NOTIFY, REPLY};
use super::row::{Refusals, Row, Waking};
use super::semaphore::{BESIDES, EXTEND, IN_THE_WAY, REFUSALS, STORAGE};
use super::shared::{
    ABANDON, ANOTHER, CLEAN, CLOCK, FENCE, HAND_ON, HEARING, HOLDERS, JOIN, KEYS, LIFE, LOST,
    PROLONG, QUEUE, RECEIPT, RECORD, RELEASE, RENEW, RESP, TOLD, VERSION,
};
use crate::name::Name;
use crate::words::Words;

const LOOK: &str = part!("limits/look.lua");
const ONE: &str = part!("limits/one.lua");
const WANT: &str = part!("limits/want.lua");
const ALL: &str = part!("limits/all.lua");
const ACQUIRE: &str = part!("limits/acquire.lua");
const LEAVE: &str = part!("limits/leave.lua");
const INSPECT: &str = part!("limits/inspect.lua");
const FORCE_RELEASE: &str = part!("limits/force_release.lua");

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: Scripts {
        acquire: Script::of(&[KEYS, LOOK, CLOCK, RESP, WANT, ONE, RECORD, VERSION, LIFE, FENCE, PROLONG, QUEUE, JOIN, HOLDERS, STORAGE, CLEAN, EXTEND, IN_THE_WAY, BESIDES, HEARING, HAND_ON, NOTIFY, ACQUIRE]),
        renew: Script::of(&[KEYS, LOOK, CLOCK, RESP, RECEIPT, ONE, RECORD, VERSION, FENCE, PROLONG, QUEUE, HOLDERS, STORAGE, CLEAN, EXTEND, HEARING, HAND_ON, NOTIFY, ALL, ANOTHER, LOST, LOST_ALL, RENEW]),
        release: Script::of(&[KEYS, LOOK, CLOCK, RESP, RECEIPT, ONE, RECORD, VERSION, FENCE, PROLONG, QUEUE, HOLDERS, STORAGE, CLEAN, EXTEND, HEARING, HAND_ON, NOTIFY, ALL, ANOTHER, LOST, LOST_ALL, RELEASE, REPLY]),
        abandon: Script::of(&[KEYS, LOOK, CLOCK, WANT, ONE, RECORD, FENCE, PROLONG, QUEUE, HOLDERS, STORAGE, CLEAN, EXTEND, HEARING, HAND_ON, NOTIFY, ALL, ABANDON, LEAVE, REPLY]),
        inspect: Script::of(&[KEYS, LOOK, CLOCK, RESP, WANT, ONE, RECORD, VERSION, FENCE, PROLONG, QUEUE, TOLD, HOLDERS, STORAGE, INSPECT]),
        force_release: Script::of(&[KEYS, LOOK, CLOCK, ONE, RECORD, FENCE, PROLONG, QUEUE, HOLDERS, STORAGE, CLEAN, HEARING, HAND_ON, NOTIFY, FORCE_RELEASE]),
    },
    signalling: None,
    keys,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turn: None,
    refusals: Refusals {
        fair: Some("several limits cannot be fair: who waits for one would keep others from the rest"),
        ..REFUSALS
    },
};

/// Those of each other name, and what marks their end, as `look.lua` has them.
fn keys(name: &Name, id: &str, keys: &mut Words) {
    keys.add(&[name.stem(), ":holds"]);
    for other in name.others() {
        keys.add(&[other.key()]);
        keys.add(&[other.stem(), ":fence"]);
        keys.add(&[other.stem(), ":queue"]);
        keys.add(&[other.stem(), ":holds"]);
    }
    keys.add(&[name.stem(), ":gone:", id]);
}
