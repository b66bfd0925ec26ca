//! What must hold after every step. Smaller than what it checks: it knows the order in which Redis ran things, and compares.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use edgelock::Error;

use super::redis::{Db, Reply, Value};
use super::script::{Run, Script};
use super::world::{Machine, Time};

/// The promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Invariant {
    /// At most one holder of a name is inside its deadline.
    OneHolder,
    /// The fences of a name grow with every grant, and a lease has that of its grant.
    FencesGrow,
    /// A write is applied once if that was said, not at all if that was said, and never twice.
    ExactlyOnce,
    /// No write is applied once the lock was granted to another.
    NoLateWrite,
    /// Every key of a lock expires.
    KeysExpire,
    /// Every call comes back by its deadline.
    WaitsEnd,
    /// Once faults have stopped, the next waiter holds within a ttl and a delay.
    NextWaiterHolds,
    /// Once faults have stopped, a release is followed by the next holder within a delay.
    HandedOver,
    /// Whoever was granted the lock learns it by its next request.
    GrantIsLearned,
    /// Who gave a lock back or gave it up neither holds it again nor stands in its queue; nor does a holder.
    NoGhost,
}

/// What did not hold.
#[derive(Clone, Debug)]
pub(crate) struct Violation {
    pub(crate) invariant: Invariant,
    pub(crate) what: String,
}

#[derive(Default)]
pub(crate) struct Check {
    /// Looks for this one alone.
    only: Option<Invariant>,
    violation: RefCell<Option<Violation>>,
    locks: RefCell<BTreeMap<String, Record>>,
    holds: RefCell<BTreeMap<u64, Hold>>,
    watches: RefCell<BTreeMap<u64, Watch>>,
    writes: RefCell<Vec<Write>>,
    lost_data: Cell<Option<Time>>,
    count: Cell<u64>,
}

/// Who has a lock, and under which fence.
pub(crate) type Grant = (String, u64);

/// What happened to one lock so far.
#[derive(Default)]
struct Record {
    /// Who has it, and under which fence; who had it last while it is free.
    latest: Option<Grant>,
    grants: BTreeSet<Grant>,
    highest: u64,
    /// Holders up to this fence lost the lock by force, or with the data.
    forced: u64,
    forces: BTreeSet<String>,
    /// Tokens that were given back or given up.
    ended: BTreeSet<String>,
    log_length: usize,
}

/// Somebody who believes to hold a lock.
pub(crate) struct Hold {
    pub(crate) machine: Rc<Machine>,
    pub(crate) lock: String,
    pub(crate) who: String,
    pub(crate) fence: u64,
    /// By its own clock.
    pub(crate) until: Time,
}

/// Something that must have happened by then, unless its machine stands still.
pub(crate) struct Watch {
    pub(crate) invariant: Invariant,
    pub(crate) machine: Option<Rc<Machine>>,
    pub(crate) by: Time,
    /// For how long its machine had stood still before, if later pauses put it off.
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

struct Write {
    begun: Time,
    who: String,
    landed: u32,
    told: Option<bool>,
}

/// Where a write says that it was applied.
pub(crate) fn log(lock: &str) -> String {
    format!("log:{lock}")
}

/// Clocks are read in whole nanoseconds.
pub(crate) const ROUNDING: Time = 1_000;

/// The longest that a key is kept, and by how much Redis's clock may be set back meanwhile.
const LONGEST_MS: i64 = 7 * 24 * 60 * 60 * 1_000 + 1_250;

impl Check {
    pub(crate) fn new(only: Option<Invariant>) -> Self {
        Self {
            only,
            ..Self::default()
        }
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

    /// After each step of the world.
    pub(crate) fn step(&self, now: Time) {
        let holds = self.holds.borrow();
        let locks = self.locks.borrow();
        let inside: Vec<&Hold> = (holds.values())
            .filter(|hold| hold.until > hold.machine.clock(now) && !hold.machine.is_dead.get())
            .filter(|hold| (locks.get(&hold.lock)).is_none_or(|lock| hold.fence > lock.forced))
            .collect();
        for (at, one) in inside.iter().enumerate() {
            let other =
                (inside[at..].iter()).find(|other| other.lock == one.lock && other.who != one.who);
            if let Some(other) = other {
                let what = format!("{} and {} both hold {}", one.who, other.who, one.lock);
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

    /// After each command that Redis executed. The holder whose grant is news, if there is one.
    ///
    /// `before` is who held the lock and under which fence.
    pub(crate) fn command(
        &self,
        run: &Run<'_>,
        before: Option<&Grant>,
        reply: &Reply,
        db: &Db,
    ) -> Option<String> {
        let name = run.lock()?;
        let mut locks = self.locks.borrow_mut();
        let record = locks.entry(name.to_owned()).or_default();
        let has_run = matches!(reply, Reply::Array(_));
        match run.script {
            _ if !has_run => {}
            // A repeat does nothing.
            Script::ForceRelease if record.forces.insert(run.token().to_owned()) => {
                record.forced = record.highest;
            }
            Script::Abandon => {
                record.ended.insert(run.token().to_owned());
            }
            Script::Release if is_yes(reply) => {
                record.ended.insert(run.token().to_owned());
            }
            _ => {}
        }
        let landed = landed(record, name, db);
        let latest = record.latest.clone();
        let granted = self.granted(record, name, before, db);
        self.ghosts(record, name, db);
        for id in landed {
            self.landed(id, latest.as_ref());
        }
        self.expiry(db);
        granted
    }

    /// Who was granted the lock by this command.
    fn granted(
        &self,
        record: &mut Record,
        name: &str,
        before: Option<&Grant>,
        db: &Db,
    ) -> Option<String> {
        let (who, fence) = holder(name, db)?;
        if before.is_some_and(|(holder, held)| *holder == who && *held != fence) {
            let what = format!("{who} holds {name} under {fence}, and before under {before:?}");
            self.fail(Invariant::FencesGrow, what);
        }
        if (record.latest.as_ref()).is_some_and(|latest| *latest == (who.clone(), fence)) {
            return None;
        }
        if fence <= record.highest {
            let highest = record.highest;
            self.fail(
                Invariant::FencesGrow,
                format!("{who} got fence {fence} of {name} after {highest}"),
            );
        }
        record.highest = record.highest.max(fence);
        record.grants.insert((who.clone(), fence));
        record.latest = Some((who.clone(), fence));
        Some(who)
    }

    fn ghosts(&self, record: &Record, name: &str, db: &Db) {
        let holder = holder(name, db).map(|(who, _)| who);
        let queued = match db.value(&format!("{{{name}}}:queue")) {
            Some(Value::Sorted(members)) => members.as_slice(),
            _ => &[],
        };
        let tokens = queued.iter().map(|(_, waiter)| {
            let waiter = String::from_utf8_lossy(waiter).into_owned();
            waiter.split(' ').next().unwrap_or_default().to_owned()
        });
        for token in tokens {
            if record.ended.contains(&token) || holder.as_ref() == Some(&token) {
                self.fail(
                    Invariant::NoGhost,
                    format!("{token} stands in the queue of {name}"),
                );
            }
        }
        if let Some(holder) = holder.filter(|holder| record.ended.contains(holder)) {
            self.fail(Invariant::NoGhost, format!("{holder} holds {name} again"));
        }
    }

    fn expiry(&self, db: &Db) {
        for (key, _, left) in db.all() {
            if !key.starts_with(b"log:") && left.is_none_or(|left| left > LONGEST_MS) {
                let key = String::from_utf8_lossy(key);
                self.fail(Invariant::KeysExpire, format!("{key} has {left:?} ms left"));
            }
        }
    }

    /// Redis lost data, or some of it.
    pub(crate) fn lose_data(&self, db: &Db, now: Time) {
        self.lost_data.set(Some(now));
        for (name, record) in self.locks.borrow_mut().iter_mut() {
            record.forced = record.highest;
            record.latest = holder(name, db);
            record.ended.clear();
            record.log_length = log_of(name, db).len();
        }
    }

    /// A write sets out. Its number.
    pub(crate) fn begin_write(&self, who: &str, now: Time) -> usize {
        let mut writes = self.writes.borrow_mut();
        writes.push(Write {
            begun: now,
            who: who.to_owned(),
            landed: 0,
            told: None,
        });
        writes.len() - 1
    }

    fn landed(&self, id: usize, latest: Option<&Grant>) {
        let mut writes = self.writes.borrow_mut();
        let write = &mut writes[id];
        write.landed += 1;
        let who = &write.who;
        if latest.is_none_or(|(holder, _)| holder != who) {
            let what = format!("write {id} of {who} was applied when {latest:?} had the lock");
            self.fail(Invariant::NoLateWrite, what);
        }
        if self.is_exempt(write) {
            return;
        }
        if write.landed > 1 {
            self.fail(
                Invariant::ExactlyOnce,
                format!("write {id} was applied twice"),
            );
        }
        if write.told == Some(false) {
            self.fail(
                Invariant::ExactlyOnce,
                format!("write {id} was applied after all"),
            );
        }
    }

    /// What the client was told of a write.
    pub(crate) fn told<O>(&self, id: usize, outcome: &Result<O, Error>) {
        let mut writes = self.writes.borrow_mut();
        let write = &mut writes[id];
        write.told = match outcome {
            Ok(_) | Err(Error::CommandFailed { .. }) => Some(true),
            Err(error) if error.is_unknown() => None,
            Err(_) => Some(false),
        };
        let agrees = write.told.is_none_or(|told| told == (write.landed == 1));
        if !agrees && !self.is_exempt(write) {
            let (landed, error) = (write.landed, outcome.as_ref().err());
            let what = format!("write {id} was applied {landed} times, and {error:?} was said");
            self.fail(Invariant::ExactlyOnce, what);
        }
    }

    /// Receipts are lost with the data.
    fn is_exempt(&self, write: &Write) -> bool {
        self.lost_data.get().is_some_and(|lost| write.begun <= lost)
    }

    /// Begins a hold. Its number.
    pub(crate) fn hold(&self, hold: Hold) -> u64 {
        let has = |record: &Record| record.grants.contains(&(hold.who.clone(), hold.fence));
        if !self.locks.borrow().get(&hold.lock).is_some_and(has) {
            let what = format!(
                "{} was not granted {} with fence {}",
                hold.who, hold.lock, hold.fence
            );
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

    fn next(&self) -> u64 {
        self.count.replace(self.count.get() + 1)
    }
}

/// Who holds a lock by what Redis has stored, and under which fence.
pub(crate) fn holder(name: &str, db: &Db) -> Option<Grant> {
    let text = |key: &str| match db.value(key) {
        Some(Value::Text(text)) => Some(String::from_utf8_lossy(text).into_owned()),
        _ => None,
    };
    match db.value(name)? {
        Value::Text(token) => {
            let fence = text(&format!("{{{name}}}:fence"))?.parse().ok()?;
            Some((String::from_utf8_lossy(token).into_owned(), fence))
        }
        Value::Hash(owners) => {
            let (owner, _) = owners.first()?;
            let hold = text(&format!("{{{name}}}:hold"))?;
            let fence = hold.split_once(' ')?.0.parse().ok()?;
            Some((String::from_utf8_lossy(owner).into_owned(), fence))
        }
        Value::Sorted(_) => None,
    }
}

fn is_yes(reply: &Reply) -> bool {
    matches!(reply, Reply::Array(elements) if elements.first() == Some(&Reply::Int(1)))
}

fn log_of<'a>(name: &str, db: &'a Db) -> &'a [u8] {
    match db.value(&log(name)) {
        Some(Value::Text(text)) => text,
        _ => &[],
    }
}

/// The writes that were applied since the last look.
fn landed(record: &mut Record, name: &str, db: &Db) -> Vec<usize> {
    let log = log_of(name, db);
    let news = &log[record.log_length.min(log.len())..];
    record.log_length = log.len();
    (news.split(|byte| *byte == b';'))
        .filter_map(|id| std::str::from_utf8(id).ok()?.parse().ok())
        .collect()
}
