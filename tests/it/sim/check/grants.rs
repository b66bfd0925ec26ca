//! Who was granted each lock, in the order in which Redis executed things.

use std::collections::BTreeSet;

use super::kept::result;
use super::writes::{log_of, news};
use super::{Check, Grant, Hold, Invariant};
use crate::record;
use crate::redis::{Db, Reply, Value};
use crate::script::{Run, Script};
use crate::world::Time;

/// What happened to one lock so far.
#[derive(Default, Hash)]
pub(super) struct Record {
    /// Its holders after the last grant, with their fences.
    latest: Vec<Grant>,
    /// The keys of a reentrant lock's entries that counted after the last command.
    entries: Vec<String>,
    pub(super) grants: BTreeSet<Grant>,
    highest: u64,
    /// Holders up to this fence may have lost the lock by force, or with the data.
    pub(super) forced: u64,
    forces: BTreeSet<String>,
    /// Tokens that were given back or given up.
    ended: BTreeSet<String>,
    /// The tokens among them that were given back.
    pub(super) released: BTreeSet<String>,
    /// Tokens whose owners were told that their lock is lost.
    lost: BTreeSet<String>,
    /// Tokens that took the lock, or could have taken it over, and those of turns of one request.
    /// They do so once.
    took: BTreeSet<String>,
    pub(super) log_length: usize,
}

/// The longest that a key may be kept: a week after the lock's end, and longer by what Redis's
/// clock may be set back.
const LONGEST_MS: i64 = WEEK_MS + LONGEST_HOLD_MS + 1_250;

/// The longest ttl that anybody asks for.
const LONGEST_HOLD_MS: i64 = WEEK_MS;

const WEEK_MS: i64 = 7 * 24 * 60 * 60 * 1_000;

impl Check {
    /// Looks at each command that Redis executed, and returns the holders whose grant is new.
    ///
    /// `before` has the holders of the lock `name` before the command, with their fences. The
    /// command was about this lock, and maybe about others.
    pub(crate) fn command(
        &self,
        run: &Run<'_>,
        name: &str,
        before: &[Grant],
        reply: &Reply,
        db: &Db,
        now: Time,
    ) -> Vec<String> {
        let mut locks = self.locks.borrow_mut();
        let record = locks.entry(name.to_owned()).or_default();
        let has_run = matches!(reply, Reply::Array(_));
        match run.script {
            _ if !has_run => {}
            // A token that still stands in the queue may be handed the lock.
            _ if run.script.acquires() && is_yes(reply) && !was_held_by(run, before) => {
                let token = run.token();
                let takes_over = run.script == Script::TakeOver;
                let took = takes_over && !record.took.insert(token.to_owned());
                if record.ended.contains(token) || record.lost.contains(token) || took {
                    self.fail(Invariant::NoGhost, format!("{token} takes {name} again"));
                }
                // Whose lock is taken over cannot know.
                if takes_over && !before.is_empty() {
                    record.forced = record.highest;
                }
            }
            // Whatever its repeats find.
            Script::Turn
                if is_turn(reply)
                    && record.took.insert(run.token().to_owned())
                    && !before.is_empty() =>
            {
                let what = format!("a turn runs beside {before:?} of {name}");
                self.fail(Invariant::OneHolder, what);
            }
            // A repeat of a forced release does nothing.
            Script::ForceRelease | Script::ForceAll | Script::ForceLimits
                if record.forces.insert(run.token().to_owned()) =>
            {
                record.forced = record.highest;
            }
            Script::Abandon => {
                record.ended.insert(run.token().to_owned());
            }
            Script::Release if is_yes(reply) => {
                record.ended.insert(run.token().to_owned());
                record.released.insert(run.token().to_owned());
            }
            Script::Release | Script::Renew | Script::Downgrade
                if is_lost(run, reply, name, db) =>
            {
                record.lost.insert(run.token().to_owned());
            }
            _ => {}
        }
        let landed = news(name, &mut record.log_length, db);
        let latest = record.latest.clone();
        let granted = self.granted(record, name, before, db);
        let is_refused = run.script.acquires()
            && matches!(reply, Reply::Array(said) if matches!(said[..], [Reply::Int(0), ..]));
        if is_refused && self.kept.borrow().contains_key(name) && result(name, db).is_some() {
            let what = format!("{} is refused {name}, and its result is kept", run.token());
            self.fail(Invariant::ToldWhatIsKept, what);
        }
        self.keep(name, &granted, now, db);
        self.count(run, name, before, reply, db);
        self.ghosts(record, name, db);
        // If there may be several holders, each may write as long as it is one of them.
        let may_write = if self.is_shared(name) { before } else { &latest };
        for id in landed {
            self.landed(id, may_write);
        }
        self.expiry(db);
        granted
    }

    /// The holders that this command granted the lock.
    fn granted(&self, record: &mut Record, name: &str, before: &[Grant], db: &Db) -> Vec<String> {
        let holders = holders(name, db);
        // After all entries of a reentrant hold have ended, its owner may be granted a new hold.
        let is_reentrant = matches!(db.value(name), Some(Value::Hash(_)));
        let goes_on = |fence| !is_reentrant || has_entry(&record.entries, fence, name, db);
        for (who, fence) in &holders {
            let is_renamed =
                |(holder, held): &Grant| holder == who && held != fence && goes_on(*held);
            if before.iter().any(is_renamed) {
                let what = format!("{who} holds {name} under {fence}, and before under {before:?}");
                self.fail(Invariant::FencesGrow, what);
            }
        }
        record.entries = entries(name, db);
        let news = holders.iter().filter(|grant| !record.latest.contains(grant));
        let mut news: Vec<Grant> = news.cloned().collect();
        if news.is_empty() {
            return Vec::new();
        }
        news.sort_by_key(|(_, fence)| *fence);
        for (who, fence) in &news {
            if *fence <= record.highest {
                let highest = record.highest;
                self.fail(
                    Invariant::FencesGrow,
                    format!("{who} got fence {fence} of {name} after {highest}"),
                );
            }
            record.highest = record.highest.max(*fence);
            record.grants.insert((who.clone(), *fence));
        }
        record.latest = holders;
        news.into_iter().map(|(who, _)| who).collect()
    }

    /// A client with a lock over several servers says that it has it: what each server has does not
    /// decide that.
    pub(crate) fn won(&self, hold: &Hold) {
        let mut locks = self.locks.borrow_mut();
        let record = locks.entry(hold.lock.clone()).or_default();
        let is_news = record.grants.insert((hold.who.clone(), hold.fence));
        if is_news && hold.fence <= record.highest {
            let (who, fence, highest) = (&hold.who, hold.fence, record.highest);
            self.fail(Invariant::FencesGrow, format!("{who} got fence {fence} after {highest}"));
        }
        record.highest = record.highest.max(hold.fence);
    }

    fn ghosts(&self, record: &Record, name: &str, db: &Db) {
        let holders: Vec<String> = holders(name, db).into_iter().map(|(who, _)| who).collect();
        let tokens = record::Record::of(name, db).waiters;
        for token in tokens {
            if record.ended.contains(&token) || holders.contains(&token) {
                self.fail(Invariant::NoGhost, format!("{token} stands in the queue of {name}"));
            }
        }
        if let Some(holder) = (holders.iter()).find(|holder| record.ended.contains(*holder)) {
            self.fail(Invariant::NoGhost, format!("{holder} holds {name} again"));
        }
    }

    fn expiry(&self, db: &Db) {
        for (key, _, left) in db.all() {
            // How many units are confirmed is kept for ever.
            let is_kept = key.starts_with(b"log:") || key.ends_with(b":confirmed");
            if !is_kept && left.is_none_or(|left| left > LONGEST_MS) {
                let key = String::from_utf8_lossy(key);
                self.fail(Invariant::KeysExpire, format!("{key} has {left:?} ms left"));
            }
        }
    }

    /// Redis lost data, perhaps also what tells a repeat from a first request.
    pub(crate) fn lose_data(&self, db: &Db, now: Time, loses_locks: bool) {
        self.lost_data.set(Some(now));
        self.are_safe(db);
        self.lose_results(now, db);
        self.lose_units(db);
        for (name, record) in self.locks.borrow_mut().iter_mut() {
            if loses_locks {
                record.forced = record.highest;
            }
            record.latest = holders(name, db);
            record.entries = entries(name, db);
            record.ended.clear();
            record.lost.clear();
            record.took.clear();
            record.released.clear();
            record.forces.clear();
            record.log_length = log_of(name, db).len();
        }
    }
}

/// The entries that are known of a reentrant lock's hold.
fn entries(name: &str, db: &Db) -> Vec<String> {
    let holds = record::Record::of(name, db).holds.into_iter();
    (holds.filter(|hold| hold.token != "-")).map(|hold| hold.token).collect()
}

/// Whether one of these entries belongs to the hold with this fence and has not ended.
fn has_entry(entries: &[String], fence: u64, name: &str, db: &Db) -> bool {
    let holds = record::Record::of(name, db).holds.into_iter();
    holds
        .filter(|hold| hold.fence == fence && hold.until >= db.now_ms())
        .any(|hold| entries.contains(&hold.token))
}

/// The holders of a lock with their fences, by what Redis has stored. A semaphore, and a lock that
/// is read, may have several.
pub(crate) fn holders(name: &str, db: &Db) -> Vec<Grant> {
    let record = record::Record::of(name, db);
    let fence_of = |token: &[u8]| {
        let known = |hold: &&record::Kept| hold.token.as_bytes() == token;
        let in_record = record.holds.iter().find(known).map(|hold| hold.fence);
        in_record.or_else(|| record::later_hold(name, token, db))
    };
    let now = db.now_ms();
    let held = |token: &[u8]| Some((String::from_utf8_lossy(token).into_owned(), fence_of(token)?));
    let readers = format!("{{{name}}}:readers");
    let several = match db.value(name) {
        Some(Value::Text(text)) if text == b"readers" => db.value(&readers),
        all => all,
    };
    match several {
        Some(Value::Sorted(members)) => members
            .iter()
            .filter(|(until, _)| *until >= now as f64)
            .filter_map(|(_, token)| held(token))
            .collect(),
        _ => holder(name, db).into_iter().collect(),
    }
}

/// The holder of a lock that only one may hold.
pub(crate) fn holder(name: &str, db: &Db) -> Option<Grant> {
    let record = record::Record::of(name, db);
    match db.value(name)? {
        Value::Text(token) => {
            (record.last > 0).then(|| (String::from_utf8_lossy(token).into_owned(), record.last))
        }
        Value::Hash(owners) => {
            let (owner, _) = owners.first()?;
            let hold = record.holds.iter().find(|hold| hold.token == "-")?;
            Some((String::from_utf8_lossy(owner).into_owned(), hold.fence))
        }
        _ => None,
    }
}

/// Its commands ran.
fn is_turn(reply: &Reply) -> bool {
    matches!(reply, Reply::Array(said) if matches!(said[..], [Reply::Int(2), ..]))
}

fn was_held_by(run: &Run<'_>, before: &[Grant]) -> bool {
    before.iter().any(|(who, _)| who == run.who())
}

fn is_yes(reply: &Reply) -> bool {
    says(reply, 1)
}

/// Whether a write found the lock not held. It was not merely overtaken by another write of the
/// same lease.
fn is_lost(run: &Run<'_>, reply: &Reply, name: &str, db: &Db) -> bool {
    says(reply, 0) && holders(name, db).iter().all(|(who, _)| who != run.who())
}

fn says(reply: &Reply, verdict: i64) -> bool {
    matches!(reply, Reply::Array(elements) if elements.first() == Some(&Reply::Int(verdict)))
}
