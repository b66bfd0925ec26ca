//! Several names at once, all or none: each is the mutex of that name, and all have one token and
//! one fence.
//!
//! A waiter is never handed one of them. It is told to ask, and the name stays free. So no caller
//! holds some of its names while it waits for the others.

use super::lua::scripts;
use super::row::{Refusals, Row, Waking};
use crate::name::Name;
use crate::words::Words;

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(multi),
    signalling: None,
    keys,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        signal_list: Some("several names at once have no signal list: other programs' waiters block on a list of each name"),
        turns: Some("several names at once have no turns that callers could share: callers with other names would not be in them"),
        majority: Some("several names at once live behind one bridge, not several: each would have to decide on all names"),
        ..Refusals::NONE
    },
};

/// Those of each other name, and what marks their end, as `look` has them.
fn keys(name: &Name, id: &str, keys: &mut Words) {
    for other in name.others() {
        keys.add(&[other.key()]);
        keys.add(&[other.stem(), ":fence"]);
        keys.add(&[other.stem(), ":queue"]);
    }
    keys.add(&[name.stem(), ":gone:", id]);
}
