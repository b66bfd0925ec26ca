//! One writer, stored as the holder of a mutex, or readers that share the name: each with a token,
//! a fence and an end of its own.

use super::lua::{Script, script, scripts};
use super::row::{Refusals, Row, Waking};

#[rustfmt::skip]
pub(super) static WRITER: Row = row(
    Some(script!(read_write::DOWNGRADE)),
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
        scripts: scripts!(read_write),
        signalling: None,
        keys: |name, _, keys| {
            keys.add(&[name.stem(), ":holds"]);
            keys.add(&[name.stem(), ":readers"]);
        },
        waking: Waking::HandOver,
        raise: None,
        downgrade,
        turns: None,
        refusals: Refusals {
            signal_list: Some("a read/write lock has no signal list: no other program's readers block on one"),
            turns,
            majority: Some("a read/write lock lives behind one bridge, not several: they would have to agree on who reads"),
            ..Refusals::NONE
        },
    }
}
