//! The small worlds that are looked at.

use std::collections::BTreeSet;
use std::time::Duration;

use super::program::Act;
use super::step::{Fault, Faults};
use crate::workload::{Kind, Locks, Name, Role};

/// Which faults a search may use.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// Any fault that the world can have: so many of each sort, and so many in all.
    Sorts { each: u8, in_all: u8 },
    /// These faults, each as often as it is named.
    These(&'static [Fault]),
}

/// How calls are paced in a world without locks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pace {
    Throttle,
    Debounce,
}

/// For how long a copy is fresh, and then stale.
#[derive(Clone, Copy)]
pub(crate) struct Copies {
    pub(crate) fresh: Duration,
    pub(crate) stale: Duration,
}

/// A world: who is in it, what they want, and what may go wrong.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    pub(crate) name: &'static str,
    /// What happens in it, in a few words.
    pub(crate) about: &'static str,
    pub(crate) lock: &'static str,
    /// The kinds of its locks; none in a world of paced calls.
    pub(crate) locks: Option<Locks>,
    pub(crate) pace: Option<Pace>,
    /// As which kind each client asks for the lock.
    pub(crate) kinds: &'static [Kind],
    /// How many may hold it, if that may be several.
    pub(crate) permits: Option<usize>,
    /// The ttl of each client.
    pub(crate) ttls: &'static [Duration],
    /// The fingerprint with which each client asks for a result.
    pub(crate) prints: &'static [Option<&'static str>],
    /// What each client does with the lock.
    pub(crate) acts: &'static [&'static [Act]],
    pub(crate) clients: usize,
    /// The client that does not ask for the lock, but frees it by force, as an operator does.
    pub(crate) forces: Option<usize>,
    /// Whether clients read what was written when they ask.
    pub(crate) looks: bool,
    /// What is executed once is a copy, for which each client asks twice.
    pub(crate) copies: Option<Copies>,
    /// Whether the work of `once` fails.
    pub(crate) fails: bool,
    /// Whether clients wait for the lock, and listen.
    pub(crate) waits: bool,
    pub(crate) servers: usize,
    pub(crate) sorts: &'static [Fault],
    pub(crate) faults: Faults,
    /// The same faults, in the words of the command.
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

const TTL: Duration = Duration::from_millis(2_000);
/// Ends before another client has stood still.
const SHORT: Duration = Duration::from_millis(1_000);
/// Lasts longer than another client stands still.
const LONG: Duration = Duration::from_millis(4_000);

const SECTION: &[&[Act]] = &[&[Act::Write, Act::Renew, Act::Release]];

/// A mutex that two clients ask for at once, without waiting.
const MUTEX: Plan = Plan {
    name: "mutex",
    about: "a mutex: each acquires, writes, renews, releases",
    lock: "a",
    locks: Some(Locks::Single),
    pace: None,
    kinds: &[Kind::Mutex],
    permits: None,
    ttls: &[TTL],
    prints: &[None],
    acts: SECTION,
    clients: 2,
    forces: None,
    looks: false,
    copies: None,
    fails: false,
    waits: false,
    servers: 1,
    sorts: SORTS,
    faults: Faults::NONE,
    asked: Asked::Sorts { each: 0, in_all: 0 },
};

/// The faults of worlds in which waiters listen.
const HEARING: &[Fault] = &[
    Fault::LostRequest,
    Fault::LostReply,
    Fault::Twice,
    Fault::Late,
    Fault::Restart,
    Fault::Expiry,
    Fault::LostMessage,
];

/// A semaphore with a single permit.
const PERMIT: Plan = Plan {
    locks: Some(Locks::Semaphores),
    kinds: &[Kind::Semaphore(1)],
    permits: Some(1),
    ..MUTEX
};

/// One client writes, and the others read.
const READ_WRITE: Plan = Plan {
    locks: Some(Locks::ReadWrites),
    kinds: &[Kind::ReadWrite(Role::Writes), Kind::ReadWrite(Role::Reads)],
    permits: Some(1),
    ..MUTEX
};

const TWO_READERS: &[Kind] = &[
    Kind::ReadWrite(Role::Reads),
    Kind::ReadWrite(Role::Reads),
    Kind::ReadWrite(Role::Writes),
];

/// Two clients ask for two names at once, in both orders. Further clients ask for the second name
/// alone.
const SET: Plan = Plan {
    lock: "b",
    locks: Some(Locks::Sets),
    kinds: &[
        Kind::Set(&["a", "b"]),
        Kind::Set(&[]),
        Kind::Set(&["b", "a"]),
    ],
    ..MUTEX
};

/// Two clients ask for permits of two semaphores at once. Further clients ask for the permit of the
/// second alone.
const LIMITS: Plan = Plan {
    lock: "b",
    locks: Some(Locks::Limits),
    kinds: &[
        Kind::Limits(&[("a", 2, 1), ("b", 1, 1)]),
        Kind::Weighted(1, 1),
        Kind::Limits(&[("b", 1, 1), ("a", 2, 2)]),
    ],
    ..MUTEX
};

/// Two units, of which each owner may have one.
const UNITS: Plan = Plan {
    locks: Some(Locks::Reservations),
    kinds: &[Kind::Units(2, 1)],
    permits: Some(2),
    ..MUTEX
};

/// Work that callers wait for.
const ONCE: Plan = Plan {
    locks: Some(Locks::Onces),
    kinds: &[Kind::Once],
    acts: &[&[]],
    waits: true,
    ..MUTEX
};

/// Copies that all want at once, and again when they are stale.
const CACHED: Plan = Plan {
    name: "cached",
    about: "a copy, for clients that come at once, and again when it is stale",
    copies: Some(Copies {
        fresh: SHORT,
        stale: LONG,
    }),
    ..ONCE
};

/// Each client makes its calls of a throttle.
const THROTTLE: Plan = Plan {
    name: "throttle",
    about: "a throttle: each calls twice",
    locks: None,
    pace: Some(Pace::Throttle),
    acts: &[&[]],
    ..MUTEX
};

pub(crate) const PLANS: [Plan; 42] = [
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
        name: "taken-over",
        about: "a mutex: each takes it over, writes, renews, releases",
        locks: Some(Locks::TakeOvers),
        kinds: &[Kind::TakenOver(true)],
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
        name: "reentrant-forced",
        about: "a reentrant lock that the same owner enters twice, and that one frees by force",
        kinds: &[Kind::Reentrant],
        acts: &[&[Act::Write, Act::Release]],
        clients: 3,
        forces: Some(2),
        ..MUTEX
    },
    Plan {
        name: "semaphore",
        about: "a semaphore of two permits, for three clients",
        kinds: &[Kind::Semaphore(2)],
        permits: Some(2),
        acts: &[&[Act::Write, Act::Release]],
        clients: 3,
        ..PERMIT
    },
    Plan {
        name: "permit-queue",
        about: "a semaphore of one permit, that each waits for, and listens",
        acts: &[&[Act::Write, Act::Release]],
        waits: true,
        sorts: HEARING,
        ..PERMIT
    },
    Plan {
        name: "read-write",
        about: "a read/write lock: one writes, then reads; the others read",
        acts: &[
            &[Act::Write, Act::Downgrade, Act::Release],
            &[Act::Renew, Act::Release],
        ],
        ..READ_WRITE
    },
    Plan {
        name: "read-write-queue",
        about: "a read/write lock: one writes, the others read, and all wait, and listen",
        acts: &[&[Act::Write, Act::Release], &[Act::Release]],
        waits: true,
        sorts: HEARING,
        ..READ_WRITE
    },
    Plan {
        name: "once",
        about: "work that is executed once, for callers that come at once",
        ..ONCE
    },
    Plan {
        name: "prolonged",
        about: "a mutex: each acquires, renews, then renews for longer, releases",
        ttls: &[SHORT, TTL],
        acts: &[&[Act::Renew, Act::Prolong, Act::Release]],
        ..MUTEX
    },
    Plan {
        name: "emptied",
        about: "a mutex: each acquires, writes, releases, and the server may come back empty",
        acts: &[&[Act::Write, Act::Release]],
        sorts: &[
            Fault::LostRequest,
            Fault::LostReply,
            Fault::Twice,
            Fault::Late,
            Fault::Expiry,
            Fault::Empty,
        ],
        ..MUTEX
    },
    Plan {
        name: "looks",
        about: "a mutex: each reads what was written, whether it gets the lock or not, and writes",
        ttls: &[LONG, TTL],
        acts: &[&[Act::Write, Act::Release]],
        looks: true,
        ..MUTEX
    },
    Plan {
        name: "permit-prolonged",
        about: "a semaphore of one permit: each acquires, renews, then renews for longer, releases",
        ttls: &[SHORT, TTL],
        acts: &[&[Act::Renew, Act::Prolong, Act::Release]],
        ..PERMIT
    },
    Plan {
        name: "permit-resumed",
        about: "a semaphore of one permit: each acquires, and hands its permit on, where it is renewed",
        acts: &[
            &[Act::Resume, Act::Renew, Act::Release],
            &[Act::Resume, Act::Commit],
        ],
        ..PERMIT
    },
    Plan {
        name: "permit-ttls",
        about: "a semaphore of two permits: the first client has its permit for longer",
        kinds: &[Kind::Semaphore(2)],
        permits: Some(2),
        ttls: &[LONG, TTL],
        acts: &[&[Act::Write, Act::Release]],
        ..PERMIT
    },
    Plan {
        name: "reader-ttls",
        about: "a read/write lock: the first client reads for longer than the second, and others write",
        kinds: TWO_READERS,
        ttls: &[LONG, TTL],
        acts: &[
            &[Act::Renew, Act::Release],
            &[Act::Release],
            &[Act::Write, Act::Release],
        ],
        clients: 3,
        ..READ_WRITE
    },
    Plan {
        name: "forced",
        about: "a read/write lock: one reads and writes, one writes, then reads, one frees it by force",
        kinds: &[
            Kind::ReadWrite(Role::Reads),
            Kind::ReadWrite(Role::Writes),
            Kind::ReadWrite(Role::Locks),
        ],
        acts: &[
            &[Act::Write, Act::Release],
            &[Act::Write, Act::Downgrade, Act::Release],
            &[],
        ],
        clients: 3,
        forces: Some(2),
        ..READ_WRITE
    },
    Plan {
        name: "downgrade-queue",
        about: "a read/write lock: all write, wait, and listen, and the first reads then",
        kinds: &[Kind::ReadWrite(Role::Writes)],
        acts: &[
            &[Act::Write, Act::Downgrade, Act::Release],
            &[Act::Write, Act::Release],
        ],
        waits: true,
        sorts: HEARING,
        ..READ_WRITE
    },
    Plan {
        name: "readers-queue",
        about: "a read/write lock: two read, the third writes, and all wait, and listen",
        kinds: TWO_READERS,
        acts: &[
            &[Act::Release],
            &[Act::Release],
            &[Act::Write, Act::Release],
        ],
        clients: 3,
        waits: true,
        sorts: HEARING,
        ..READ_WRITE
    },
    Plan {
        name: "prints",
        about: "work that is executed once, for callers that want different work, and one that wants any",
        prints: &[Some("x"), None, Some("y")],
        ..ONCE
    },
    Plan {
        name: "failed",
        about: "work that is executed once, and fails",
        fails: true,
        ..ONCE
    },
    CACHED,
    Plan {
        name: "cached-failed",
        about: "a copy that nobody can make anew",
        fails: true,
        ..CACHED
    },
    Plan {
        name: "cached-over",
        about: "a copy, for clients that come again when it is hardly stale, or over",
        copies: Some(Copies {
            fresh: SHORT,
            stale: Duration::from_millis(1),
        }),
        ..CACHED
    },
    Plan {
        name: "set",
        about: "two names at once, and one of them alone: each acquires, writes, renews, releases",
        acts: &[&[Act::Write, Act::Prolong, Act::Release]],
        ..SET
    },
    Plan {
        name: "set-queue",
        about: "two names at once, and one of them alone: all wait, and listen",
        acts: &[&[Act::Write, Act::Release]],
        waits: true,
        sorts: HEARING,
        ..SET
    },
    Plan {
        name: "set-forced",
        about: "two names at once, one who frees one of them by force, and one who takes that",
        kinds: &[Kind::Set(&["a", "b"]), Kind::Set(&[])],
        acts: &[&[Act::Write, Act::Release]],
        clients: 3,
        forces: Some(1),
        ..SET
    },
    Plan {
        name: "limits",
        about: "two limits at once, and one of them alone: each acquires, writes, renews, releases",
        acts: &[&[Act::Write, Act::Prolong, Act::Release]],
        ..LIMITS
    },
    Plan {
        name: "limits-queue",
        about: "two limits at once, and one of them alone: all wait, and listen",
        acts: &[&[Act::Write, Act::Release]],
        waits: true,
        sorts: HEARING,
        ..LIMITS
    },
    Plan {
        name: "limits-forced",
        about: "two limits at once, one who frees one of them by force, and one who takes that",
        acts: &[&[Act::Write, Act::Release]],
        kinds: &[LIMITS.kinds[0], LIMITS.kinds[1]],
        clients: 3,
        forces: Some(1),
        ..LIMITS
    },
    Plan {
        name: "limits-heavy",
        about: "two limits at once, with all permits of one of them, and one who asks for that alone",
        lock: "a",
        kinds: &[LIMITS.kinds[2], Kind::Weighted(2, 1)],
        acts: &[&[Act::Write, Act::Release]],
        ..LIMITS
    },
    Plan {
        name: "reserved",
        about: "one unit: each reserves it, and hands it on, where it is confirmed, and then again",
        kinds: &[Kind::Units(1, 1)],
        permits: Some(1),
        acts: &[&[Act::Resume, Act::Commit, Act::Resume, Act::Commit]],
        ..UNITS
    },
    Plan {
        name: "reserved-again",
        about: "two units, one for each owner: one renews for longer, and gives back; others confirm",
        acts: &[
            &[Act::Write, Act::Prolong, Act::Release],
            &[Act::Write, Act::Commit],
        ],
        ..UNITS
    },
    Plan {
        name: "reserved-heavy",
        about: "three units: one reserves two, and others one, and each confirms",
        kinds: &[Kind::Units(3, 2), Kind::Units(3, 1)],
        permits: Some(3),
        acts: &[&[Act::Commit]],
        ..UNITS
    },
    THROTTLE,
    Plan {
        name: "debounce",
        about: "a debounce: each calls twice",
        pace: Some(Pace::Debounce),
        ..THROTTLE
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
    Plan {
        name: "quorum-renewed",
        about: "a lock over three servers, renewed twice: its votes, and those that come anew",
        acts: &[&[Act::Renew, Act::Renew, Act::Release], &[Act::Release]],
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

    /// The same world with such faults.
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

    /// The lock as this client asks for it.
    pub(crate) fn name_for(&self, client: usize) -> Name {
        Name {
            name: self.lock,
            kind: of(self.kinds, client),
            is_fair: false,
        }
    }

    pub(crate) fn acts_of(&self, client: usize) -> &'static [Act] {
        of(self.acts, client)
    }

    pub(crate) fn ttl_of(&self, client: usize) -> Duration {
        of(self.ttls, client)
    }

    /// All names that any client asks for.
    pub(crate) fn names(&self) -> BTreeSet<&'static str> {
        let clients = 0..self.clients;
        clients
            .flat_map(|client| self.name_for(client).all())
            .collect()
    }

    /// The longest time for which anybody can have the lock.
    pub(crate) fn longest(&self) -> Duration {
        2 * *self.ttls.iter().max().expect("a ttl")
    }

    pub(crate) fn print_of(&self, client: usize) -> Option<&'static str> {
        of(self.prints, client)
    }
}

/// The value of this client. The last one is that of all further clients.
fn of<T: Copy>(all: &[T], client: usize) -> T {
    all[client.min(all.len() - 1)]
}
