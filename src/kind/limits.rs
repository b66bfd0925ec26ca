//! Permits of several semaphores at once, all or none. Each is stored as that semaphore has it.
//!
//! A waiter is never handed any. It is told to ask, as one for several names is.

use super::lua::scripts;
use super::row::{Refusals, Row, Waking};
use super::semaphore::REFUSALS;
use crate::name::Name;
use crate::words::Words;

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(limits),
    signalling: None,
    keys,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turns: None,
    refusals: Refusals {
        fair: Some("several limits cannot be fair: who waits for one would keep others from the rest"),
        ..REFUSALS
    },
};

/// Those of each other name, and what marks their end, as `look` has them.
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
