//! Units, each of which is free, reserved for a while by a token, or confirmed for ever.
//!
//! A reservation is a permit of a semaphore that a commit takes away for ever. Nobody queues: what
//! falls back goes to whoever asks next.

use super::lua::scripts;
use super::row::{Refusals, Row, Waking};

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(reservations),
    signalling: None,
    keys: |name, _, keys| {
        keys.add(&[name.stem(), ":holds"]);
        keys.add(&[name.stem(), ":confirmed"]);
    },
    waking: Waking::Poll,
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        fair: Some("reservations cannot be fair: those who wait for units do not queue"),
        signal_list: Some("reservations have no signal list: no other program's waiters block on one"),
        turns: Some("reservations have no turns that callers could share, and need none: each is one request beside others"),
        majority: Some("reservations live behind one bridge, not several: they would have to agree on who has each unit"),
        ..Refusals::NONE
    },
};
