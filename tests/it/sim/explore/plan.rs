//! The small worlds that are looked at.

use std::collections::BTreeSet;
use std::time::Duration;

use super::program::Act::{self, *};
use super::step::Fault::{self, *};
use super::step::Faults;
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
    /// How many clients and how many faults it has in the runs of the tests.
    pub(crate) runs: &'static [(usize, u8)],
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
    /// How many there are of what clients order in shared turns, each in a process of its own.
    pub(crate) stock: Option<i64>,
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

const SORTS: &[Fault] = &[LostRequest, LostReply, Refused, Twice, Late, Restart, Expiry];

const TTL: Duration = Duration::from_millis(2_000);
/// Ends before another client has stood still.
const SHORT: Duration = Duration::from_millis(1_000);
/// Lasts longer than another client stands still.
const LONG: Duration = Duration::from_millis(4_000);

const SECTION: &[&[Act]] = &[&[Write, Renew, Release]];

/// A mutex that two clients ask for at once, without waiting.
const MUTEX: Plan = Plan {
    name: "",
    about: "",
    runs: &[],
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
    stock: None,
    copies: None,
    fails: false,
    waits: false,
    servers: 1,
    sorts: SORTS,
    faults: Faults::NONE,
    asked: Asked::Sorts { each: 0, in_all: 0 },
};

/// A mutex over three servers.
const QUORUM: Plan = Plan {
    acts: &[&[Release]],
    servers: 3,
    sorts: &[LostRequest, LostReply, Refused, Late, Expiry, Empty],
    ..MUTEX
};

/// The faults of worlds in which waiters listen.
const HEARING: &[Fault] = &[LostRequest, LostReply, Twice, Late, Restart, Expiry, LostMessage];

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

const TWO_READERS: &[Kind] =
    &[Kind::ReadWrite(Role::Reads), Kind::ReadWrite(Role::Reads), Kind::ReadWrite(Role::Writes)];

/// Two clients ask for two names at once, in both orders. Further clients ask for the second name
/// alone.
const SET: Plan = Plan {
    lock: "b",
    locks: Some(Locks::Sets),
    kinds: &[Kind::Set(&["a", "b"]), Kind::Set(&[]), Kind::Set(&["b", "a"])],
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
const ONCE: Plan =
    Plan { locks: Some(Locks::Onces), kinds: &[Kind::Once], acts: &[&[]], waits: true, ..MUTEX };

/// Copies that all want at once, and again when they are stale.
const CACHED: Plan = Plan { copies: Some(Copies { fresh: SHORT, stale: LONG }), ..ONCE };

/// Two clients order what there is one of, each in shared turns of its own process.
const TURNS: Plan = Plan { stock: Some(1), acts: &[&[Order, Order], &[Order]], ..MUTEX };

/// Each client makes its calls of a throttle.
const THROTTLE: Plan = Plan { locks: None, pace: Some(Pace::Throttle), acts: &[&[]], ..MUTEX };

/// Worlds, each as `"name" of BASE [CLIENTS: FAULTS, ...] "what happens"`, and then what is not as
/// in the base.
macro_rules! plans {
    ($(
        $name:literal of $base:ident [$($clients:literal: $faults:literal),+]
            $about:literal $(, $field:ident: $value:expr)*;
    )*) => {
        pub(crate) const PLANS: &[Plan] = &[$(Plan {
            name: $name,
            about: $about,
            runs: &[$(($clients, $faults)),+],
            $($field: $value,)*
            ..$base
        }),*];
    };
}

plans! {
    "mutex" of MUTEX [2: 1, 3: 0]
        "a mutex: each acquires, writes, renews, releases";
    "commit" of MUTEX [2: 1]
        "a mutex: each acquires, writes, and commits what it writes last",
        acts: &[&[Write, Commit]];
    "writes" of MUTEX [2: 1]
        "a mutex: each acquires, writes twice, and releases",
        acts: &[&[Write, Write, Release]];
    "resumed" of MUTEX [2: 1]
        "a mutex: each acquires, writes, and hands its lease on, where it is renewed and written under",
        acts: &[&[Write, Resume, Renew, Write, Release]];
    "taken-over" of MUTEX [2: 1, 3: 0]
        "a mutex: each takes it over, writes, renews, releases",
        locks: Some(Locks::TakeOvers), kinds: &[Kind::TakenOver(true)];
    "queue" of MUTEX [2: 1, 3: 0]
        "a mutex that each waits for, and listens: the lock is handed over",
        acts: &[&[Write, Release]], waits: true, sorts: HEARING;
    "reentrant" of MUTEX [2: 1]
        "a reentrant lock, which the same owner may enter twice; a third has an owner of its own",
        kinds: &[Kind::Reentrant];
    "reentrant-forced" of MUTEX [3: 0]
        "a reentrant lock that the same owner enters twice, and that one frees by force",
        kinds: &[Kind::Reentrant], acts: &[&[Write, Release]], clients: 3, forces: Some(2);
    "semaphore" of PERMIT [2: 1, 3: 0]
        "a semaphore of two permits, for three clients",
        kinds: &[Kind::Semaphore(2)], permits: Some(2), acts: &[&[Write, Release]], clients: 3;
    "permit-queue" of PERMIT [2: 1]
        "a semaphore of one permit, that each waits for, and listens",
        acts: &[&[Write, Release]], waits: true, sorts: HEARING;
    "read-write" of READ_WRITE [2: 1]
        "a read/write lock: one writes, then reads; the others read",
        acts: &[&[Write, Downgrade, Release], &[Renew, Release]];
    "read-write-queue" of READ_WRITE [2: 1]
        "a read/write lock: one writes, the others read, and all wait, and listen",
        acts: &[&[Write, Release], &[Release]], waits: true, sorts: HEARING;
    "once" of ONCE [2: 1]
        "work that is executed once, for callers that come at once";
    "prolonged" of MUTEX [2: 1]
        "a mutex: each acquires, renews, then renews for longer, releases",
        ttls: &[SHORT, TTL], acts: &[&[Renew, Prolong, Release]];
    "emptied" of MUTEX [2: 1]
        "a mutex: each acquires, writes, releases, and the server may come back empty",
        acts: &[&[Write, Release]], sorts: &[LostRequest, LostReply, Twice, Late, Expiry, Empty];
    "looks" of MUTEX [2: 1]
        "a mutex: each reads what was written, whether it gets the lock or not, and writes",
        ttls: &[LONG, TTL], acts: &[&[Write, Release]], looks: true;
    "permit-prolonged" of PERMIT [2: 1]
        "a semaphore of one permit: each acquires, renews, then renews for longer, releases",
        ttls: &[SHORT, TTL], acts: &[&[Renew, Prolong, Release]];
    "permit-resumed" of PERMIT [2: 1]
        "a semaphore of one permit: each acquires, and hands its permit on, where it is renewed",
        acts: &[&[Resume, Renew, Release], &[Resume, Commit]];
    "permit-ttls" of PERMIT [2: 1]
        "a semaphore of two permits: the first client has its permit for longer",
        kinds: &[Kind::Semaphore(2)],
        permits: Some(2),
        ttls: &[LONG, TTL],
        acts: &[&[Write, Release]];
    "reader-ttls" of READ_WRITE [2: 1]
        "a read/write lock: the first client reads for longer than the second, and others write",
        kinds: TWO_READERS,
        ttls: &[LONG, TTL],
        acts: &[&[Renew, Release], &[Release], &[Write, Release]],
        clients: 3;
    "forced" of READ_WRITE [3: 0]
        "a read/write lock: one reads and writes, one writes, then reads, one frees it by force",
        kinds: &[
            Kind::ReadWrite(Role::Reads), Kind::ReadWrite(Role::Writes), Kind::ReadWrite(Role::Locks),
        ],
        acts: &[&[Write, Release], &[Write, Downgrade, Release], &[]],
        clients: 3,
        forces: Some(2);
    "downgrade-queue" of READ_WRITE [2: 1]
        "a read/write lock: all write, wait, and listen, and the first reads then",
        kinds: &[Kind::ReadWrite(Role::Writes)],
        acts: &[&[Write, Downgrade, Release], &[Write, Release]],
        waits: true,
        sorts: HEARING;
    "readers-queue" of READ_WRITE [3: 0]
        "a read/write lock: two read, the third writes, and all wait, and listen",
        kinds: TWO_READERS,
        acts: &[&[Release], &[Release], &[Write, Release]],
        clients: 3,
        waits: true,
        sorts: HEARING;
    "prints" of ONCE [2: 1]
        "work that is executed once, for callers that want different work, and one that wants any",
        prints: &[Some("x"), None, Some("y")];
    "failed" of ONCE [2: 1]
        "work that is executed once, and fails",
        fails: true;
    "cached" of CACHED [2: 1, 3: 0]
        "a copy, for clients that come at once, and again when it is stale";
    "cached-failed" of CACHED [2: 0]
        "a copy that nobody can make anew",
        fails: true;
    "cached-over" of CACHED [2: 1]
        "a copy, for clients that come again when it is hardly stale, or over",
        copies: Some(Copies { fresh: SHORT, stale: Duration::from_millis(1) });
    "set" of SET [2: 1]
        "two names at once, and one of them alone: each acquires, writes, renews, releases",
        acts: &[&[Write, Prolong, Release]];
    "set-queue" of SET [2: 1]
        "two names at once, and one of them alone: all wait, and listen",
        acts: &[&[Write, Release]], waits: true, sorts: HEARING;
    "set-forced" of SET [3: 0]
        "two names at once, one who frees one of them by force, and one who takes that",
        kinds: &[Kind::Set(&["a", "b"]), Kind::Set(&[])],
        acts: &[&[Write, Release]],
        clients: 3,
        forces: Some(1);
    "limits" of LIMITS [2: 1]
        "two limits at once, and one of them alone: each acquires, writes, renews, releases",
        acts: &[&[Write, Prolong, Release]];
    "limits-queue" of LIMITS [2: 1]
        "two limits at once, and one of them alone: all wait, and listen",
        acts: &[&[Write, Release]], waits: true, sorts: HEARING;
    "limits-forced" of LIMITS [3: 0]
        "two limits at once, one who frees one of them by force, and one who takes that",
        acts: &[&[Write, Release]],
        kinds: &[LIMITS.kinds[0], LIMITS.kinds[1]],
        clients: 3,
        forces: Some(1);
    "limits-heavy" of LIMITS [2: 1]
        "two limits at once, with all permits of one of them, and one who asks for that alone",
        lock: "a", kinds: &[LIMITS.kinds[2], Kind::Weighted(2, 1)], acts: &[&[Write, Release]];
    "reserved" of UNITS [2: 1]
        "one unit: each reserves it, and hands it on, where it is confirmed, and then again",
        kinds: &[Kind::Units(1, 1)], permits: Some(1), acts: &[&[Resume, Commit, Resume, Commit]];
    "reserved-again" of UNITS [3: 0]
        "two units, one for each owner: one renews for longer, and gives back; others confirm",
        acts: &[&[Write, Prolong, Release], &[Write, Commit]];
    "reserved-heavy" of UNITS [2: 1]
        "three units: one reserves two, and others one, and each confirms",
        kinds: &[Kind::Units(3, 2), Kind::Units(3, 1)], permits: Some(3), acts: &[&[Commit]];
    "turns" of TURNS [2: 0]
        "shared turns: one orders twice, the others once, and there is enough", stock: Some(9);
    "turns-sold-out" of TURNS [2: 1]
        "shared turns: one orders twice, the others once, and there is one";
    "turns-together" of TURNS [2: 1]
        "shared turns: one orders two at once, the others one, and there is one",
        acts: &[&[Orders], &[Order]];
    "turns-restocked" of TURNS [2: 1]
        "shared turns: one orders twice, and one takes what is left, and brings it back",
        stock: Some(2), ttls: &[LONG], acts: &[&[Order, Order], &[Take, Bring]];
    "turns-entered" of TURNS [2: 1]
        "shared turns of one, who orders twice, beside a reentrant lock of the same name",
        kinds: &[Kind::Mutex, Kind::Reentrant], acts: &[&[Order, Order], &[Write, Release]];
    "throttle" of THROTTLE [2: 1]
        "a throttle: each calls twice";
    "debounce" of THROTTLE [2: 1]
        "a debounce: each calls twice",
        pace: Some(Pace::Debounce);
    "quorum" of QUORUM [2: 0]
        "a lock over three servers, of which one may come back empty";
    "quorum-renewed" of QUORUM [2: 0]
        "a lock over three servers, renewed twice: its votes, and those that come anew",
        acts: &[&[Renew, Renew, Release], &[Release]];
}

impl Plan {
    pub(crate) fn named(name: &str) -> Option<Self> {
        PLANS.iter().copied().find(|plan| plan.name == name)
    }

    /// The same world with such faults.
    pub(crate) fn failing(self, asked: Asked) -> Self {
        let faults = match asked {
            Asked::Sorts { each, in_all } => Faults::new(self.sorts, each, in_all),
            Asked::These(faults) => Faults::these(faults),
        };
        Self { faults, asked, ..self }
    }

    pub(crate) fn among(self, clients: usize) -> Self {
        Self { clients, ..self }
    }

    /// The lock as this client asks for it.
    pub(crate) fn name_for(&self, client: usize) -> Name {
        Name { name: self.lock, kind: of(self.kinds, client), is_fair: false }
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
        clients.flat_map(|client| self.name_for(client).all()).collect()
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
