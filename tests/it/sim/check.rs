//! What must hold after every step. The judge is simpler than what it judges: it knows the order in
//! which Redis executed things, and compares.

mod found;
mod grants;
mod kept;
mod parts;
mod told;
mod units;
mod writes;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::rc::Rc;

pub(crate) use found::Asking;
use grants::Record;
pub(crate) use grants::{holder, holders};
pub(crate) use kept::{Wanted, result};
use units::Sale;
pub(crate) use units::confirmed;
use writes::Write;
pub(crate) use writes::{log, log_of};

use super::redis::Db;
use super::world::{Machine, Time};

/// The promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invariant {
    /// At most one holder of a name is inside its deadline. A semaphore has at most as many as it
    /// has permits; readers may be beside readers.
    OneHolder,
    /// A holder inside its deadline has the lock in Redis, unless that was freed by force or lost
    /// with the data.
    HolderHolds,
    /// The fences of a name grow with every grant, and a lease has the fence of its grant. They do
    /// not fall from one item of shared turns to the next.
    FencesGrow,
    /// A write is applied once if the client was told so, not at all if it was told that, and never
    /// twice.
    ExactlyOnce,
    /// A lease that its own release or commit ended is not said to be lost. Callers of throttles
    /// and debounces are told what Redis decided, and a repeat what the first request was told.
    ToldRight,
    /// Nothing is left of a lease after its release was sent.
    EndsForGood,
    /// No write is applied once the lock was granted to another.
    NoLateWrite,
    /// Every key of a lock expires.
    KeysExpire,
    /// Every call ends by its deadline.
    WaitsEnd,
    /// Once faults have stopped, the next waiter holds the lock within a ttl and a delay.
    NextWaiterHolds,
    /// Once faults have stopped, the next waiter holds the lock within a delay of a release.
    HandedOver,
    /// A holder that was granted the lock learns it by its next request.
    GrantIsLearned,
    /// A token that was given back or given up neither holds the lock again nor stands in its
    /// queue. A holder does not stand in it either. A call that was given up changes nothing.
    NoGhost,
    /// The reads of an acquisition return what was there when it was granted or refused.
    ReadsAreTrue,
    /// While a result is kept, nobody may do the work again, and no other result takes its place.
    ExecutedOnce,
    /// Every caller is told a result that was kept meanwhile, and "not kept" is told only if it is
    /// true.
    ToldWhatIsKept,
    /// Whoever asks for several names has all of them, or none.
    AllOrNone,
    /// No unit is confirmed twice or lost, and who is refused is told why.
    SoldOnce,
    /// A caller gets the result of its own request only, and is told "used for something else" only
    /// if that is true.
    RightRequest,
    /// Of throttles: nobody passes while another's window lasts.
    OnePasses,
    /// Nobody is kept out after the window is over, or was given back.
    Opens,
    /// Of debounces: a call that was overtaken does not go through.
    LastGoes,
    /// The last call of a burst goes through.
    NobodyLost,
    /// A debounced call waits until it was quiet, and no longer than the longest wait of its burst.
    InTime,
    /// Every call of these, and every caller of shared turns, is answered. Once faults have
    /// stopped, no call ends in an error.
    Answered,
    /// Of shared turns: no item is written twice.
    DecidedOnce,
    /// An item is written, or not, as its caller was told. Only "unknown" leaves that open.
    Truth,
    /// Items of one process are decided in the order in which they came.
    InOrder,
    /// Each decision sees what those before it wrote.
    NotOversold,
    /// A name that nobody asks for is forgotten.
    Forgotten,
    /// What a single lock promises.
    OfLock,
    /// Of a quorum: a token is raised to one fence, so that a late raise never changes it.
    OneFence,
    /// No server takes its vote from one and gives it to another.
    OneVote,
    /// A server that came back empty gives no vote until the quarantine is over.
    NoSay,
    /// A renewal counts only votes that the lease had before it.
    CountsLater,
    /// A server that a renewal asked again knows the fence of the hold.
    KnowsTheFence,
    /// A server that is up for two renewals, and votes for no other, has the lock.
    Heals,
    /// While a lease is renewed, nobody else gets the lock in between.
    Unbroken,
    /// Every call ends within its bounds.
    EndsInTime,
    /// Once all is well, and a ttl later, a client can get the lock, and give it back everywhere.
    IsHadAgain,
}

/// What did not hold.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) what: String,
}

#[derive(Default)]
pub(crate) struct Check {
    /// The only promise to look at, if one is set.
    only: Option<Invariant>,
    violation: RefCell<Option<Violation>>,
    locks: RefCell<BTreeMap<String, Record>>,
    holds: RefCell<BTreeMap<u64, Hold>>,
    watches: RefCell<BTreeMap<u64, Watch>>,
    writes: RefCell<Vec<Write>>,
    lost_data: Cell<Option<Time>>,
    kept: RefCell<kept::All>,
    /// How many may hold a name at once, if that may be several.
    permits: RefCell<BTreeMap<&'static str, usize>>,
    /// The units that are reserved and confirmed.
    sales: RefCell<BTreeMap<String, Sale>>,
    /// The names of each token that asked for several at once.
    sets: RefCell<BTreeMap<String, Vec<String>>>,
    /// Tokens that hold names again since a clock was set back.
    brought_back: RefCell<BTreeSet<String>>,
    /// Redis's clock after the last command.
    last_us: Cell<i64>,
    count: Cell<u64>,
}

/// Who has a lock, and under which fence.
pub(crate) type Grant = (String, u64);

/// Somebody who believes that they hold a lock.
pub(crate) struct Hold {
    pub(crate) machine: Rc<Machine>,
    pub(crate) lock: String,
    pub(crate) who: String,
    pub(crate) fence: u64,
    /// Whether others may read beside it.
    pub(crate) reads: bool,
    /// As how many it counts.
    pub(crate) weight: usize,
    /// The other names of a set of names, which are held all or none.
    pub(crate) others: Vec<&'static str>,
    /// The deadline, by the holder's own clock.
    pub(crate) until: Time,
}

/// Something that must have happened by then, unless its machine stood still.
pub(crate) struct Watch {
    pub(crate) invariant: Invariant,
    pub(crate) machine: Option<Rc<Machine>>,
    pub(crate) by: Time,
    /// How long its machine had stood still before. Set if later pauses put it off.
    pub(crate) paused_before: Option<Time>,
    pub(crate) what: String,
}

impl Watch {
    fn is_late(&self, now: Time) -> bool {
        let Some(machine) = &self.machine else {
            return now > self.by + ROUNDING;
        };
        let paused = (self.paused_before).map_or(0, |before| machine.paused_for.get() - before);
        let stands = machine.paused_until.get() >= now || machine.is_dead.get();
        now > self.by + ROUNDING + paused && !stands
    }
}

/// Clocks are read in whole nanoseconds.
pub(crate) const ROUNDING: Time = 1_000;

impl Hold {
    /// Whether none of its names was freed by force or lost with the data.
    fn was_not_forced(&self, locks: &BTreeMap<String, Record>) -> bool {
        let mut names = self.others.iter().copied().chain([self.lock.as_str()]);
        names.all(|name| (locks.get(name)).is_none_or(|lock| self.fence > lock.forced))
    }
}

impl Check {
    pub(crate) fn new(only: Option<Invariant>) -> Self {
        Self { only, ..Self::default() }
    }

    pub(crate) fn violation(&self) -> Option<Violation> {
        self.violation.borrow().clone()
    }

    pub(crate) fn fail(&self, invariant: Invariant, what: String) {
        if self.only.is_none_or(|only| only == invariant) {
            let violation = Violation { invariant, what };
            self.violation.borrow_mut().get_or_insert(violation);
        }
    }

    /// Fails if something did not hold in books of their own.
    pub(crate) fn pass_on(&self, broken: Option<Violation>) {
        if let Some(Violation { invariant, what }) = broken {
            self.fail(invariant, what);
        }
    }

    /// Looks at the holds, after each step of the world.
    pub(crate) fn step(&self, now: Time) {
        let holds = self.holds.borrow();
        let locks = self.locks.borrow();
        let inside: Vec<&Hold> = (holds.values())
            .filter(|hold| hold.until > hold.machine.clock(now) && !hold.machine.is_dead.get())
            .filter(|hold| hold.was_not_forced(&locks))
            .collect();
        for (at, one) in inside.iter().enumerate() {
            let is_other = |other: &&&Hold| {
                let may_both = other.reads && one.reads;
                other.lock == one.lock && other.who != one.who && !may_both
            };
            let others = inside[at..].iter().filter(is_other);
            let others: BTreeMap<&str, usize> =
                others.map(|other| (other.who.as_str(), other.weight)).collect();
            if others.values().sum::<usize>() + one.weight > self.permits_of(&one.lock) {
                let what = format!("{} holds {} beside {others:?}", one.who, one.lock);
                self.fail(Invariant::OneHolder, what);
            }
        }
        for watch in self.watches.borrow().values() {
            if watch.is_late(now) {
                let (what, late) = (&watch.what, now - watch.by);
                self.fail(watch.invariant, format!("{what} is {late} ns late"));
            }
        }
    }

    /// Looks at a lock behind one server. Holders that lost it by force or with the data cannot
    /// know, so they are exempt.
    pub(crate) fn have(&self, name: &str, db: &Db, now: Time) {
        let (holds, held) = (self.holds.borrow(), holders(name, db));
        let locks = self.locks.borrow();
        let believes = |hold: &&Hold| hold.lock == name && hold.until > hold.machine.clock(now);
        for hold in holds.values().filter(believes) {
            if hold.was_not_forced(&locks) && !held.contains(&(hold.who.clone(), hold.fence)) {
                let what = format!("{} believes to hold {name}, which {held:?} have", hold.who);
                self.fail(Invariant::HolderHolds, what);
            }
        }
    }

    /// Says that so many may hold `name` at once.
    pub(crate) fn permit(&self, name: &'static str, permits: usize) {
        self.permits.borrow_mut().insert(name, permits);
    }

    fn permits_of(&self, name: &str) -> usize {
        self.permits.borrow().get(name).copied().unwrap_or(1)
    }

    fn is_shared(&self, name: &str) -> bool {
        self.permits.borrow().contains_key(name)
    }

    /// Begins a hold, and returns its number.
    pub(crate) fn hold(&self, hold: Hold) -> u64 {
        let has = |record: &Record| record.grants.contains(&(hold.who.clone(), hold.fence));
        if !self.locks.borrow().get(&hold.lock).is_some_and(has) {
            let what =
                format!("{} was not granted {} with fence {}", hold.who, hold.lock, hold.fence);
            self.fail(Invariant::FencesGrow, what);
        }
        let id = self.next();
        self.holds.borrow_mut().insert(id, hold);
        id
    }

    pub(crate) fn end_hold(&self, id: u64) {
        self.holds.borrow_mut().remove(&id);
    }

    pub(crate) fn watch(&self, watch: Watch) -> u64 {
        let id = self.next();
        self.watches.borrow_mut().insert(id, watch);
        id
    }

    pub(crate) fn end_watch(&self, id: u64) {
        self.watches.borrow_mut().remove(&id);
    }

    /// Hashes all that later findings can depend on.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        self.locks.borrow().hash(hasher);
        self.writes.borrow().hash(hasher);
        self.kept.borrow().hash(hasher);
        self.sales.borrow().hash(hasher);
        (self.lost_data.get(), &*self.sets.borrow()).hash(hasher);
        let holds = self.holds.borrow();
        let mut holds: Vec<_> = (holds.values())
            .map(|hold| (&hold.lock, &hold.who, hold.fence, hold.reads, hold.until))
            .collect();
        holds.sort_unstable();
        holds.hash(hasher);
    }

    fn next(&self) -> u64 {
        self.count.replace(self.count.get() + 1)
    }
}
