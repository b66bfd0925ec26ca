//! Permits, of which so many may be held at once, each with a token, a fence and an end of its own.

use super::lua::scripts;
use super::row::{Refusals, Row, Waking};

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(semaphore),
    signalling: None,
    keys: |name, _, keys| keys.add(&[name.stem(), ":holds"]),
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turns: None,
    refusals: REFUSALS,
};

/// Also those of several semaphores at once.
#[rustfmt::skip]
pub(super) const REFUSALS: Refusals = Refusals {
    signal_list: Some("a semaphore has no signal list: no other program's waiters block on one"),
    turns: Some("a semaphore has no turns that callers could share: others decide at the same time"),
    majority: Some("a semaphore lives behind one bridge, not several: they would have to agree on who holds each permit"),
    ..Refusals::NONE
};
