//! The small worlds that are looked at.

use super::program::Act;
use super::step::{Fault, Faults};
use crate::workload::{Kind, Locks, Name, Role};

/// What may go wrong.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// Whatever can in that world, so often of each sort, and so often in all.
    Sorts { each: u8, in_all: u8 },
    /// These, each as often as it is named.
    These(&'static [Fault]),
}

/// A world: who is in it, what they want, and what may go wrong.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    /// What is in it, in a few words.
    pub(crate) about: &'static str,
    pub(crate) lock: &'static str,
    pub(crate) locks: Locks,
    /// As what each client asks for the lock.
    pub(crate) kinds: &'static [Kind],
    /// How many may have it, where that may be several.
    pub(crate) permits: Option<usize>,
    /// What each does with it.
    pub(crate) acts: &'static [&'static [Act]],
    pub(crate) clients: usize,
    /// Whether they wait for it, and listen.
    pub(crate) waits: bool,
    pub(crate) servers: usize,
    pub(crate) sorts: &'static [Fault],
    pub(crate) faults: Faults,
    /// How they were asked for.
    pub(crate) asked: Asked,
}

const SORTS: &[Fault] = &[
    Fault::LostRequest,
    Fault::LostReply,
    Fault::Twice,
    Fault::Late,
    Fault::Restart,
    Fault::Expiry,
];

const SECTION: &[&[Act]] = &[&[Act::Write, Act::Renew, Act::Release]];

/// One that two ask for at once, and do not wait for.
const MUTEX: Plan = Plan {
    name: "mutex",
    about: "a mutex: each acquires, writes, renews, releases",
    lock: "a",
    locks: Locks::Single,
    kinds: &[Kind::Mutex],
    permits: None,
    acts: SECTION,
    clients: 2,
    waits: false,
    servers: 1,
    sorts: SORTS,
    faults: Faults::NONE,
    asked: Asked::Sorts { each: 0, in_all: 0 },
};

/// What may go wrong where who waits hears of its turn.
const HEARING: &[Fault] = &[
    Fault::LostRequest,
    Fault::LostReply,
    Fault::Twice,
    Fault::Late,
    Fault::Restart,
    Fault::Expiry,
    Fault::LostMessage,
];

pub(crate) const PLANS: [Plan; 12] = [
    MUTEX,
    Plan {
        name: "commit",
        about: "a mutex: each acquires, writes, and commits what it writes last",
        acts: &[&[Act::Write, Act::Commit]],
        ..MUTEX
    },
    Plan {
        name: "writes",
        about: "a mutex: each acquires, writes twice, and releases",
        acts: &[&[Act::Write, Act::Write, Act::Release]],
        ..MUTEX
    },
    Plan {
        name: "resumed",
        about: "a mutex: each acquires, writes, and hands its lease on, where it is renewed and written under",
        acts: &[&[
            Act::Write,
            Act::Resume,
            Act::Renew,
            Act::Write,
            Act::Release,
        ]],
        ..MUTEX
    },
    Plan {
        name: "queue",
        about: "a mutex that each waits for, and listens: the lock is handed over",
        acts: &[&[Act::Write, Act::Release]],
        waits: true,
        sorts: HEARING,
        ..MUTEX
    },
    Plan {
        name: "reentrant",
        about: "a reentrant lock, which the same owner may enter twice; a third has an owner of its own",
        kinds: &[Kind::Reentrant],
        ..MUTEX
    },
    Plan {
        name: "semaphore",
        about: "a semaphore of two permits, for three clients",
        locks: Locks::Semaphores,
        kinds: &[Kind::Semaphore(2)],
        permits: Some(2),
        acts: &[&[Act::Write, Act::Release]],
        clients: 3,
        ..MUTEX
    },
    Plan {
        name: "permit-queue",
        about: "a semaphore of one permit, that each waits for, and listens",
        locks: Locks::Semaphores,
        kinds: &[Kind::Semaphore(1)],
        permits: Some(1),
        acts: &[&[Act::Write, Act::Release]],
        waits: true,
        sorts: HEARING,
        ..MUTEX
    },
    Plan {
        name: "read-write",
        about: "a read/write lock: one writes, then reads; the others read",
        locks: Locks::ReadWrites,
        kinds: &[Kind::ReadWrite(Role::Writes), Kind::ReadWrite(Role::Reads)],
        permits: Some(1),
        acts: &[
            &[Act::Write, Act::Downgrade, Act::Release],
            &[Act::Renew, Act::Release],
        ],
        ..MUTEX
    },
    Plan {
        name: "read-write-queue",
        about: "a read/write lock: one writes, the others read, and all wait, and listen",
        locks: Locks::ReadWrites,
        kinds: &[Kind::ReadWrite(Role::Writes), Kind::ReadWrite(Role::Reads)],
        permits: Some(1),
        acts: &[&[Act::Write, Act::Release], &[Act::Release]],
        waits: true,
        sorts: HEARING,
        ..MUTEX
    },
    Plan {
        name: "once",
        about: "work that is executed once, for callers that come at once",
        locks: Locks::Onces,
        kinds: &[Kind::Once],
        acts: &[&[]],
        waits: true,
        ..MUTEX
    },
    Plan {
        name: "quorum",
        about: "a lock over three servers, of which one may come back empty",
        acts: &[&[Act::Release]],
        servers: 3,
        sorts: &[
            Fault::LostRequest,
            Fault::LostReply,
            Fault::Late,
            Fault::Expiry,
            Fault::Empty,
        ],
        ..MUTEX
    },
];

impl Plan {
    pub(crate) fn named(name: &str) -> Option<Self> {
        PLANS.into_iter().find(|plan| plan.name == name)
    }

    /// With such faults.
    pub(crate) fn failing(self, asked: Asked) -> Self {
        let faults = match asked {
            Asked::Sorts { each, in_all } => Faults::new(self.sorts, each, in_all),
            Asked::These(faults) => Faults::these(faults),
        };
        Self {
            faults,
            asked,
            ..self
        }
    }

    pub(crate) fn among(self, clients: usize) -> Self {
        Self { clients, ..self }
    }

    /// The lock, as this client asks for it.
    pub(crate) fn name_for(&self, client: usize) -> Name {
        Name {
            name: self.lock,
            kind: self.kinds[client.min(self.kinds.len() - 1)],
            is_fair: false,
        }
    }

    pub(crate) fn acts_of(&self, client: usize) -> &'static [Act] {
        self.acts[client.min(self.acts.len() - 1)]
    }
}
