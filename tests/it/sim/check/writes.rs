//! What became of each write, and what its client was told.

use edgelock::Error;

use super::{Check, Grant, Invariant};
use crate::redis::{Db, Value};
use crate::world::Time;

#[derive(Hash)]
pub(super) struct Write {
    begun: Time,
    lock: String,
    who: String,
    landed: u32,
    told: Option<bool>,
    /// Whether the client was told that all replicas have it.
    is_safe: bool,
}

/// The list that each applied write is added to.
pub(crate) fn log(lock: &str) -> String {
    format!("log:{lock}")
}

impl Check {
    /// Notes that a write is sent, and returns its number.
    pub(crate) fn begin_write(&self, lock: &str, who: &str, now: Time) -> usize {
        let id = self.plan_write(lock);
        self.set_out(id, who, now);
        id
    }

    /// Notes a write that may be sent later, and returns its number.
    pub(crate) fn plan_write(&self, lock: &str) -> usize {
        let mut writes = self.writes.borrow_mut();
        writes.push(Write {
            begun: Time::MAX,
            lock: lock.to_owned(),
            who: String::new(),
            landed: 0,
            told: None,
            is_safe: false,
        });
        writes.len() - 1
    }

    /// Notes that a planned write is sent.
    pub(crate) fn set_out(&self, id: usize, who: &str, now: Time) {
        let mut writes = self.writes.borrow_mut();
        writes[id].begun = now;
        who.clone_into(&mut writes[id].who);
    }

    pub(super) fn landed(&self, id: usize, holders: &[Grant]) {
        let mut writes = self.writes.borrow_mut();
        let write = &mut writes[id];
        write.landed += 1;
        let who = &write.who;
        if holders.iter().all(|(holder, _)| holder != who) {
            let what = format!("write {id} of {who} was applied when {holders:?} had the lock");
            self.fail(Invariant::NoLateWrite, what);
        }
        if self.is_exempt(write) {
            return;
        }
        if write.landed > 1 {
            self.fail(Invariant::ExactlyOnce, format!("write {id} was applied twice"));
        }
        if write.told == Some(false) {
            self.fail(Invariant::ExactlyOnce, format!("write {id} was applied after all"));
        }
    }

    /// What the client was told of a write.
    pub(crate) fn told<O>(&self, id: usize, outcome: &Result<O, Error>) {
        let mut writes = self.writes.borrow_mut();
        let write = &mut writes[id];
        write.told = match outcome {
            Ok(_) | Err(Error::CommandFailed { .. } | Error::NotReplicated { .. }) => Some(true),
            Err(error) if error.is_outcome_unknown() => None,
            Err(_) => Some(false),
        };
        let agrees = write.told.is_none_or(|told| told == (write.landed == 1));
        if !agrees && !self.is_exempt(write) {
            let (landed, error) = (write.landed, outcome.as_ref().err());
            let what = format!("write {id} was applied {landed} times, and {error:?} was said");
            self.fail(Invariant::ExactlyOnce, what);
        }
    }

    /// The client was told that all replicas have a write.
    pub(crate) fn told_safe(&self, id: usize, db: &Db) {
        self.writes.borrow_mut()[id].is_safe = true;
        self.are_safe(db);
    }

    /// Whatever fails, a write that all replicas have must be there.
    pub(super) fn are_safe(&self, db: &Db) {
        let writes = self.writes.borrow();
        for (id, write) in writes.iter().enumerate().filter(|(_, write)| write.is_safe) {
            if !news(&write.lock, &mut 0, db).contains(&id) {
                let what = format!("write {id} is gone, and all replicas had it");
                self.fail(Invariant::ExactlyOnce, what);
            }
        }
    }

    /// A write that was sent before data was lost may be applied twice, since its receipt was lost
    /// too.
    fn is_exempt(&self, write: &Write) -> bool {
        self.lost_data.get().is_some_and(|lost| write.begun <= lost)
    }
}

pub(crate) fn log_of<'a>(name: &str, db: &'a Db) -> &'a [u8] {
    match db.value(&log(name)) {
        Some(Value::Text(text)) => text,
        _ => &[],
    }
}

/// The writes that were applied after the log had the length `seen`.
pub(super) fn news(name: &str, seen: &mut usize, db: &Db) -> Vec<usize> {
    let log = log_of(name, db);
    let news = &log[log.len().min(*seen)..];
    *seen = log.len();
    (news.split(|byte| *byte == b';'))
        .filter_map(|id| std::str::from_utf8(id).ok()?.parse().ok())
        .collect()
}
