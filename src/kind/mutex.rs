//! One token holds it. It is stored as other libraries lock the same key.

use super::lua::{script, scripts};
use super::row::{Refusals, Row, Waking};

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(mutex),
    signalling: Some(scripts!(signalling)),
    keys: |_, _, _| {},
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turns: Some([script!(mutex::TURN), script!(mutex::HANDED_TURN)]),
    refusals: Refusals::NONE,
};

/// The same lock for one that takes it over. It goes ahead of the queue, and does not stand in it.
#[rustfmt::skip]
pub(super) static TAKING_OVER: Row = Row {
    scripts: scripts!(take_over),
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Poll,
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        fair: Some("who takes a lock over is not fair"),
        turns: Some("who takes a lock over has no turns that callers could share"),
        signal_list: Some("who takes a lock over has no signal list"),
        ..Refusals::NONE
    },
};
