//! A mutex at each of several servers, of which a majority decides. Waiters do not queue. A token
//! that was given back is barred at once. A renewal asks the servers again that did not vote for
//! it.

use super::lua::{script, scripts};
use super::row::{Refusals, Row, Waking};

#[rustfmt::skip]
pub(super) static ROW: Row = Row {
    scripts: scripts!(quorum),
    signalling: None,
    keys: |_, _, _| {},
    waking: Waking::Poll,
    raise: Some(script!(quorum::RAISE)),
    downgrade: None,
    turns: None,
    refusals: Refusals {
        fair: Some("a lock over several bridges cannot be fair: they have no queue in common"),
        commands: Some("a lock over several bridges runs no commands: they have no data in common; use the fence where the data is"),
        replicas: Some("a lock over several bridges has no replicas: the bridges stand in for each other"),
        signal_list: Some("a lock over several bridges has no signal list: there is no one list to feed"),
        ..Refusals::NONE
    },
};
