//! What the clients do, who are as hostile as callers may be. They work until the last millisecond,
//! oversleep and then renew or commit, drop what they wait for, and hand their leases on.

mod client;
mod ending;
mod once;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use edgelock::{Lease, Limit, Lock, Runtime, Transport};

use super::bridge::Dialect;
use super::case::Case;
use super::host::{self, Settings};
use super::limits::{self, Wanted};
use super::network::REPLICAS;
use super::rng::Rng;
use super::world::Machine;
use client::Client;

/// The clients of a case, and what they want.
pub(crate) struct Crowd {
    pub(crate) machines: Vec<Rc<Machine>>,
    pub(crate) names: Vec<Name>,
    rounds: u64,
    at_work: Rc<Cell<usize>>,
    tasks: RefCell<Vec<usize>>,
}

/// A lock that the clients of a case share.
#[derive(Clone, Copy)]
pub(crate) struct Name {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) is_fair: bool,
}

/// Which kind of lock it is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Mutex,
    /// A mutex, and whether the caller takes it over.
    TakenOver(bool),
    Reentrant,
    /// With so many permits.
    Semaphore(u32),
    /// With so many permits, of which the caller wants so many.
    Weighted(u32, u32),
    /// So many units, of which the caller reserves so many.
    Units(u32, u32),
    /// Work that is executed once, under a mutex.
    Once,
    ReadWrite(Role),
    /// Permits of these semaphores at once. In an empty list, of whichever.
    Limits(Wanted),
    /// These names at once. In an empty list, only the name itself.
    Set(&'static [&'static str]),
}

/// As what somebody asks for a read/write lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Reads,
    /// As a reader who does not wait behind writers in the queue.
    Barges,
    Writes,
    /// As a program that knows a plain lock of that name, and no readers.
    Locks,
}

/// Which kinds of locks a world has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Locks {
    /// Locks that one client holds at a time.
    #[default]
    Single,
    /// Locks that are also taken over.
    TakeOvers,
    Semaphores,
    /// Semaphores of which callers want several permits.
    Weights,
    /// Units that are reserved and confirmed.
    Reservations,
    ReadWrites,
    Onces,
    /// Several names at once, and each alone.
    Sets,
    /// Several limits in one lease, and each semaphore alone.
    Limits,
}

impl Locks {
    pub(crate) const ALL: [Self; 9] = {
        use Locks::*;
        [Single, TakeOvers, Semaphores, Weights, Reservations, ReadWrites, Onces, Sets, Limits]
    };
}

/// The sets of names that are asked for. Each has names in common with others.
const SETS: [&[&str]; 6] =
    [&["a", "b"], &["b", "a"], &["b", "c"], &["c", "a"], &["c", "b", "a"], &[]];

impl Name {
    fn draw(name: &'static str, case: &Case) -> Self {
        let rng = &case.rng;
        let kind = match case.locks.get() {
            Locks::Single if rng.chance(300) => Kind::Reentrant,
            Locks::Single => Kind::Mutex,
            Locks::TakeOvers => Kind::TakenOver(false),
            Locks::Semaphores => Kind::Semaphore(rng.pick(&[1, 2, 2, 3])),
            Locks::Weights => Kind::Weighted(rng.pick(&[2, 3, 4]), 1),
            Locks::Reservations => Kind::Units(rng.pick(&[2, 4, 8]), 1),
            Locks::ReadWrites => Kind::ReadWrite(Role::Reads),
            Locks::Onces => Kind::Once,
            Locks::Sets => Kind::Set(&[]),
            Locks::Limits => Kind::Limits(&[]),
        };
        let is_fair =
            !matches!(kind, Kind::Reentrant | Kind::Once | Kind::Units(..)) && rng.chance(300);
        if let Kind::Semaphore(permits) | Kind::Weighted(permits, _) = kind {
            case.check.permit(name, permits as usize);
        }
        if let Kind::Limits(_) = kind {
            case.check.permit(name, limits::permits(name) as usize);
        }
        if let Kind::Units(units, _) = kind {
            case.check.permit(name, units as usize);
            case.check.sell(name, units);
        }
        if let Kind::ReadWrite(_) = kind {
            case.check.permit(name, 1);
        }
        Self { name, kind, is_fair }
    }

    /// The same lock, as the next caller asks for it.
    pub(crate) fn anew(self, rng: &Rng) -> Self {
        use Role::{Barges, Locks, Reads, Writes};
        match self.kind {
            Kind::ReadWrite(_) => {
                let roles = [Reads, Reads, Reads, Reads, Barges, Writes, Writes, Locks];
                let kind = Kind::ReadWrite(rng.pick(&roles));
                Self { kind, ..self }
            }
            Kind::Set(_) => {
                let with = |set: &&[&str]| set.is_empty() || set.contains(&self.name);
                let sets: Vec<_> = SETS.into_iter().filter(with).collect();
                let kind = Kind::Set(rng.pick(&sets));
                Self { kind, ..self }
            }
            Kind::Limits(_) => {
                let kind = limits::anew(self.name, rng);
                Self { kind, ..self }
            }
            Kind::Weighted(permits, _) => {
                let weight = rng.between(1, permits.into()) as u32;
                let kind = Kind::Weighted(permits, weight);
                Self { kind, ..self }
            }
            Kind::TakenOver(_) => {
                let kind = Kind::TakenOver(rng.chance(500));
                Self { kind, ..self }
            }
            Kind::Units(units, _) => {
                let kind = Kind::Units(units, rng.pick(&[1, 1, 2]));
                Self { kind, ..self }
            }
            Kind::Mutex | Kind::Reentrant | Kind::Semaphore(_) | Kind::Once => self,
        }
    }

    /// The other names of its set, which are held all or none.
    pub(crate) fn others(&self) -> Vec<&'static str> {
        let names: Vec<&str> = match self.kind {
            Kind::Set(names) => names.to_vec(),
            Kind::Limits(wanted) => wanted.iter().map(|(name, ..)| *name).collect(),
            _ => Vec::new(),
        };
        let others = names.into_iter().filter(|name| *name != self.name);
        others.collect()
    }

    /// All names of its set.
    pub(crate) fn all(&self) -> Vec<&'static str> {
        self.others().into_iter().chain([self.name]).collect()
    }

    /// Whether the caller wants to read.
    pub(crate) const fn reads(&self) -> bool {
        matches!(self.kind, Kind::ReadWrite(Role::Reads | Role::Barges))
    }

    /// Whether it is a read/write lock.
    pub(crate) const fn is_read_write(&self) -> bool {
        matches!(self.kind, Kind::ReadWrite(_))
    }

    /// The lock for `owner`, of the right kind.
    pub(crate) fn lock<T: Transport, R: Runtime>(
        &self,
        client: &edgelock::Client<T, R>,
        owner: &str,
    ) -> Lock<T, R> {
        match self.kind {
            Kind::TakenOver(true) => client.lock(self.name).take_over().listen(),
            Kind::Mutex | Kind::TakenOver(false) | Kind::Once => {
                client.lock(self.name).fair(self.is_fair)
            }
            Kind::Reentrant => client.reentrant(self.name, owner),
            Kind::Semaphore(permits) => client.semaphore(self.name, permits).fair(self.is_fair),
            Kind::Weighted(permits, weight) => {
                let semaphore = client.semaphore(self.name, permits);
                semaphore.weight(weight).fair(self.is_fair)
            }
            Kind::Units(units, wanted) => {
                let most = (units - 1).max(1);
                let reservations = client.reservations(self.name, units);
                reservations.weight(wanted).owner(owner, most)
            }
            Kind::ReadWrite(role) => {
                let read_write = client.read_write(self.name);
                match role {
                    Role::Reads => read_write.read(),
                    Role::Barges => read_write.read().fair(false),
                    Role::Writes => read_write.write().fair(self.is_fair),
                    Role::Locks => client.lock(self.name).fair(self.is_fair),
                }
            }
            Kind::Limits(wanted) => client.limits(
                wanted
                    .iter()
                    .map(|(name, limit, permits)| Limit::new(*name, *limit).permits(*permits)),
            ),
            Kind::Set([]) => client.lock(self.name).fair(self.is_fair),
            Kind::Set(names) => client.lock_all(names).fair(self.is_fair),
        }
    }

    /// How many may hold it at once.
    pub(crate) fn permits(&self) -> u64 {
        match self.kind {
            Kind::Mutex
            | Kind::TakenOver(_)
            | Kind::Reentrant
            | Kind::ReadWrite(_)
            | Kind::Once
            | Kind::Limits(_)
            | Kind::Set(_) => 1,
            Kind::Semaphore(permits) | Kind::Weighted(permits, _) | Kind::Units(permits, _) => {
                permits.into()
            }
        }
    }

    /// As how many a holder of `name` counts, of its set.
    pub(crate) fn weight_of(&self, name: &str) -> u32 {
        match self.kind {
            Kind::Weighted(_, weight) | Kind::Units(_, weight) => weight,
            Kind::Limits(wanted) => {
                let mut of_name = wanted.iter().filter(|(other, ..)| *other == name);
                of_name.next().map_or(1, |(.., permits)| *permits)
            }
            _ => 1,
        }
    }

    /// The holder of `lease`, as Redis stores it.
    pub(crate) fn who<T: Transport, R: Runtime>(&self, owner: &str, lease: &Lease<T, R>) -> String {
        match self.kind {
            Kind::Reentrant => owner.to_owned(),
            Kind::Mutex
            | Kind::TakenOver(_)
            | Kind::Once
            | Kind::Semaphore(_)
            | Kind::Weighted(..)
            | Kind::Units(..)
            | Kind::ReadWrite(_)
            | Kind::Limits(_)
            | Kind::Set(_) => lease.token().expose().to_owned(),
        }
    }
}

/// The longest ttl in a world that is not slow.
const LONGEST_TTL: Duration = Duration::from_millis(2_500);

impl Crowd {
    pub(crate) fn draw(case: &Case) -> Self {
        let rng = &case.rng;
        let machines = (0..rng.between(2, 4))
            .map(|_| Rc::new(Machine::new(case.bent.drift(drift(rng)))))
            .collect();
        let count = match case.locks.get() {
            Locks::Sets | Locks::Limits => 3,
            _ => rng.pick(&[1, 1, 1, 2]),
        };
        let names = ["a", "b", "c"][..count].iter();
        let names = names.map(|name| Name::draw(name, case));
        Self {
            machines,
            names: names.collect(),
            rounds: rng.between(1, 5),
            at_work: Rc::default(),
            tasks: RefCell::default(),
        }
    }

    pub(crate) fn begin(&self, case: &Rc<Case>) {
        for (number, machine) in self.machines.iter().enumerate() {
            let settings = Settings {
                script_cache: case.rng.chance(300),
                push: case.rng.chance(700),
                attempts: case.rng.pick(&[1, 2, 3]),
                timeout: case.slowly(Duration::from_millis(case.rng.pick(&[150, 600, 2_000]))),
            };
            let client = Client {
                case: case.clone(),
                machine: machine.clone(),
                client: host::client(case, machine, settings),
                settings,
                replicas: replicas(case),
                owner: ["ann", "bob", "cid"][number % case.rng.pick(&[2, 3])],
                names: self.names.clone(),
            };
            let (rounds, at_work) = (self.rounds, self.at_work.clone());
            at_work.set(at_work.get() + 1);
            let live = async move {
                client.live(rounds).await;
                at_work.set(at_work.get() - 1);
            };
            let task = case.world.spawn(machine, Box::pin(live));
            self.tasks.borrow_mut().push(task);
        }
    }

    /// The longest ttl in this world.
    pub(crate) fn longest_ttl(case: &Case) -> Duration {
        case.slowly(LONGEST_TTL)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.at_work.get() == 0
    }

    /// All clients drop what they are doing; some of them die.
    pub(crate) fn leave(&self, case: &Rc<Case>) {
        for (machine, task) in self.machines.iter().zip(self.tasks.take()) {
            if case.rng.chance(500) {
                case.world.kill(machine);
            }
            case.world.cancel(task);
        }
    }
}

/// For how many replicas a client waits, and how long.
fn replicas(case: &Case) -> Option<(u32, Duration)> {
    let rng = &case.rng;
    let within = Duration::from_millis(rng.pick(&[20, 200]));
    if case.is_replicated.get() {
        return Some((REPLICAS, within));
    }
    let waits = case.dialect.get() == Dialect::Upstash && rng.chance(100);
    waits.then(|| (rng.between(1, REPLICAS.into()) as u32, within))
}

/// How fast a client's clock runs: within what the lock allows.
pub(crate) fn drift(rng: &Rng) -> i64 {
    let within = rng.between(0, 20_000) as i64 - 10_000;
    rng.pick(&[-10_000, 10_000, within])
}
