//! All differences between one kind and another: a row for each.
//!
//! Waiters for several names or limits are never handed one of them. They are told to ask, and the
//! name stays free. So no caller holds some of its names while it waits for the others.

use super::lua::{Script, Scripts, script, scripts};
use crate::command::Words;
use crate::name::Name;

pub(super) struct Row {
    pub(super) which: Which,
    pub(super) scripts: Scripts,
    /// The scripts of a lock that also feeds a list when it is free.
    pub(super) signalling: Option<Scripts>,
    /// Adds its keys besides those that all locks have. The text is the token or the session.
    pub(super) keys: fn(&Name, &str, &mut Words),
    pub(super) waking: Waking,
    /// For a quorum: makes a fence the lowest that each server may issue next.
    pub(super) raise: Option<Script>,
    /// Makes a reader of a writer.
    pub(super) downgrade: Option<Script>,
    /// Runs commands as if under the lock, or takes it; and under the lock, which it gives on.
    pub(super) turns: Option<[Script; 2]>,
    pub(super) refusals: Refusals,
}

/// What a row is asked for that says nothing of it otherwise. It is not compared by its address:
/// that would link the scripts of all kinds into each program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Mutex,
    TakingOver,
    Semaphore,
    Reservations,
    Reader,
    Once,
    Other,
}

/// How waiters are woken.
pub(super) enum Waking {
    /// Waiters queue. A release gives the lock to one of them, and tells it.
    HandOver,
    /// Waiters queue. A release tells the first of them to ask.
    Tell,
    /// All listeners of this channel are told that the lock may be free.
    Broadcast(fn(&Name) -> String),
    /// Nobody is told.
    Poll,
}

/// Why a kind refuses something, if it does.
#[derive(Clone, Copy)]
pub(crate) struct Refusals {
    pub(crate) fair: Option<&'static str>,
    pub(crate) label: Option<&'static str>,
    pub(crate) commands: Option<&'static str>,
    pub(crate) replicas: Option<&'static str>,
    pub(crate) signal_list: Option<&'static str>,
    pub(crate) turns: Option<&'static str>,
    /// Without a reason it is the quorum's mutex at each of several servers.
    pub(crate) majority: Option<&'static str>,
}

impl Refusals {
    pub(super) const NONE: Self = Self {
        fair: None,
        label: None,
        commands: None,
        replicas: None,
        signal_list: None,
        turns: None,
        majority: None,
    };
}

/// The keys of a kind that has no more than all locks have.
const fn none(_: &Name, _: &str, _: &mut Words) {}

/// The row of a kind that has what most have.
const fn row(
    which: Which,
    scripts: Scripts,
    keys: fn(&Name, &str, &mut Words),
    waking: Waking,
    refusals: Refusals,
) -> Row {
    Row {
        which,
        scripts,
        signalling: None,
        keys,
        waking,
        raise: None,
        downgrade: None,
        turns: None,
        refusals,
    }
}

/// One token holds it. It is stored as other libraries lock the same key.
pub(super) static MUTEX: Row = Row {
    which: Which::Mutex,
    scripts: scripts!(mutex),
    signalling: Some(scripts!(signalling)),
    keys: none,
    waking: Waking::HandOver,
    raise: None,
    downgrade: None,
    turns: Some([script!(mutex::TURN), script!(mutex::HANDED_TURN)]),
    refusals: Refusals::NONE,
};

/// The same lock for one that takes it over. It goes ahead of the queue, and does not stand in it.
#[rustfmt::skip]
pub(super) static TAKING_OVER: Row = row(
    Which::TakingOver,
    scripts!(take_over),
    none,
    Waking::Poll,
    Refusals {
        fair: Some("who takes a lock over is not fair"),
        turns: Some("who takes a lock over has no turns that callers could share"),
        signal_list: Some("who takes a lock over has no signal list"),
        ..Refusals::NONE
    },
);

/// An owner holds it, and may enter again. It is stored as Redisson's `RLock`.
#[rustfmt::skip]
pub(super) static REENTRANT: Row = row(
    Which::Other,
    scripts!(reentrant),
    none,
    Waking::Broadcast(Name::redisson_channel),
    Refusals {
        fair: Some("a reentrant lock cannot be fair: those who wait for it do not queue"),
        label: Some("a reentrant lock has no label: its owner says who holds it"),
        turns: Some("a reentrant lock has no turns that callers could share: its owner may enter at the same time"),
        signal_list: Some("a reentrant lock has no signal list: it tells its waiters as Redisson does"),
        majority: Some("a reentrant lock lives behind one bridge, not several"),
        ..Refusals::NONE
    },
);

/// Permits, of which so many may be held at once, each with a token, a fence and an end of its own.
pub(super) static SEMAPHORE: Row = row(
    Which::Semaphore,
    scripts!(semaphore),
    |name, _, words| words.key(&[name.stem(), ":holds"]),
    Waking::HandOver,
    OF_SEMAPHORES,
);

#[rustfmt::skip]
const OF_SEMAPHORES: Refusals = Refusals {
    signal_list: Some("a semaphore has no signal list: no other program's waiters block on one"),
    turns: Some("a semaphore has no turns that callers could share: others decide at the same time"),
    majority: Some("a semaphore lives behind one bridge, not several: they would have to agree on who holds each permit"),
    ..Refusals::NONE
};

/// Permits of several semaphores at once, all or none. Each is stored as that semaphore has it.
#[rustfmt::skip]
pub(super) static LIMITS: Row = row(
    Which::Other,
    scripts!(limits),
    |name, id, words| {
        words.key(&[name.stem(), ":holds"]);
        of_others(&[":fence", ":queue", ":holds"], name, id, words);
    },
    Waking::Tell,
    Refusals {
        fair: Some("several limits cannot be fair: who waits for one would keep others from the rest"),
        ..OF_SEMAPHORES
    },
);

/// Several names at once, all or none: each is the mutex of that name, and all have one token and
/// one fence.
#[rustfmt::skip]
pub(super) static MULTI: Row = row(
    Which::Other,
    scripts!(multi),
    |name, id, words| of_others(&[":fence", ":queue"], name, id, words),
    Waking::Tell,
    Refusals {
        signal_list: Some("several names at once have no signal list: other programs' waiters block on a list of each name"),
        turns: Some("several names at once have no turns that callers could share: callers with other names would not be in them"),
        majority: Some("several names at once live behind one bridge, not several: each would have to decide on all names"),
        ..Refusals::NONE
    },
);

/// Those of each other name, and what marks their end, as `look` has them.
fn of_others(suffixes: &[&str], name: &Name, id: &str, words: &mut Words) {
    for other in name.others() {
        words.key(&[other.key()]);
        for suffix in suffixes {
            words.key(&[other.stem(), suffix]);
        }
    }
    words.key(&[name.stem(), ":gone:", id]);
}

/// Units, each of which is free, reserved for a while by a token, or confirmed for ever. A
/// reservation is a permit of a semaphore that a commit takes away for ever. Nobody queues: what
/// falls back goes to whoever asks next.
#[rustfmt::skip]
pub(super) static RESERVATIONS: Row = row(
    Which::Reservations,
    scripts!(reservations),
    |name, _, words| {
        words.key(&[name.stem(), ":holds"]);
        words.key(&[name.stem(), ":confirmed"]);
    },
    Waking::Poll,
    Refusals {
        fair: Some("reservations cannot be fair: those who wait for units do not queue"),
        signal_list: Some("reservations have no signal list: no other program's waiters block on one"),
        turns: Some("reservations have no turns that callers could share, and need none: each is one request beside others"),
        majority: Some("reservations live behind one bridge, not several: they would have to agree on who has each unit"),
        ..Refusals::NONE
    },
);

/// One writer, stored as the holder of a mutex, or readers that share the name: each with a token,
/// a fence and an end of its own.
pub(super) static WRITER: Row =
    read_write(Which::Other, Some(script!(read_write::DOWNGRADE)), None);

pub(super) static READER: Row = read_write(
    Which::Reader,
    None,
    Some("a reader has no turns that callers could share: others read at the same time"),
);

/// They differ only in the downgrade, and in why callers may not share turns.
#[rustfmt::skip]
const fn read_write(which: Which, downgrade: Option<Script>, turns: Option<&'static str>) -> Row {
    Row {
        which,
        scripts: scripts!(read_write),
        signalling: None,
        keys: |name, _, words| {
            words.key(&[name.stem(), ":holds"]);
            words.key(&[name.stem(), ":readers"]);
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

/// A mutex for work that is executed once. Its result is kept beside it, and answers everybody who
/// asks for the lock. The holder stores the result by a command of its commit. Waiters do not
/// queue: they want the result, which all can have at once, so all are told.
#[rustfmt::skip]
pub(super) static ONCE: Row = row(
    Which::Once,
    scripts!(once),
    |name, _, words| words.key(&[&kept(name)]),
    Waking::Broadcast(kept),
    Refusals {
        majority: Some("what is executed once lives behind one bridge, not several: they would have to agree on its result"),
        ..Refusals::NONE
    },
);

/// The key of a result that is kept, and the channel on which its waiters are told.
pub(super) fn kept(name: &Name) -> String {
    name.companion("result")
}

/// A mutex at each of several servers, of which a majority decides. Waiters do not queue. A token
/// that was given back is barred at once. A renewal asks the servers again that did not vote for
/// it.
#[rustfmt::skip]
pub(super) static QUORUM: Row = Row {
    which: Which::Other,
    scripts: scripts!(quorum),
    signalling: None,
    keys: none,
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
