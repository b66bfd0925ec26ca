//! An owner holds it, and may enter again. It is stored as Redisson's `RLock`.

use super::lua::scripts;
use super::row::{Refusals, Row, Waking};
use crate::name::Name;

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(reentrant),
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Broadcast(Name::redisson_channel),
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        fair: Some("a reentrant lock cannot be fair: those who wait for it do not queue"),
        label: Some("a reentrant lock has no label: its owner says who holds it"),
        turns: Some("a reentrant lock has no turns that callers could share: its owner may enter at the same time"),
        signal_list: Some("a reentrant lock has no signal list: it tells its waiters as Redisson does"),
        majority: Some("a reentrant lock lives behind one bridge, not several"),
        ..Refusals::NONE
    },
};
