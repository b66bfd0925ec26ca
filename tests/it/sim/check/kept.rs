//! Which results are kept of work that is executed once, and what callers are told of them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use edgelock::{Error, OnceOutcome};

use super::{Check, Invariant};
use crate::redis::{Db, Value};
use crate::world::Time;

/// What was kept under one key so far.
#[derive(Default, Hash)]
pub(super) struct Kept {
    /// The results, one after another. Only the last may still be there.
    results: Vec<Stay>,
    /// Tokens whose work was said to have failed, or to keep nothing.
    refused: BTreeSet<String>,
    /// The fingerprints with which callers asked for this key.
    prints: BTreeSet<Option<&'static str>>,
    /// For how many of its last milliseconds a result may be made anew.
    stale: i64,
}

/// A result, and during which time it was there.
#[derive(Hash)]
struct Stay {
    result: String,
    until: Option<Time>,
}

/// A call that waits for a result.
pub(crate) struct Wanted {
    pub(crate) key: &'static str,
    pub(crate) print: Option<&'static str>,
    pub(crate) begun: Time,
    /// The result of its own work.
    pub(crate) own: String,
    /// Whether its work was done and succeeded.
    pub(crate) is_done: bool,
}

pub(super) type All = BTreeMap<String, Kept>;

impl Check {
    /// Somebody asks for a result.
    pub(crate) fn want(&self, key: &str, print: Option<&'static str>) {
        let mut all = self.kept.borrow_mut();
        all.entry(key.to_owned()).or_default().prints.insert(print);
    }

    /// Somebody asks for a copy, which others may renew when it is stale.
    pub(crate) fn want_copy(&self, key: &str, stale: Duration) {
        self.want(key, None);
        let mut all = self.kept.borrow_mut();
        all.entry(key.to_owned()).or_default().stale = stale.as_millis() as i64;
    }

    /// Looks at each command: a result must not be replaced, and nobody may be granted the lock
    /// while it is kept, unless it is stale.
    pub(super) fn keep(&self, key: &str, granted: &[String], now: Time, db: &Db) {
        let mut all = self.kept.borrow_mut();
        let Some(kept) = all.get_mut(key) else { return };
        let found = result(key, db);
        let was_there = kept.results.last().filter(|stay| stay.until.is_none());
        let before = was_there.map(|stay| stay.result.clone());
        if let (Some(result), [_, ..]) = (&found, granted)
            && left(key, db).is_none_or(|left| left > kept.stale)
        {
            let what = format!("{granted:?} may do {key} again, and {result} is kept");
            self.fail(Invariant::ExecutedOnce, what);
        }
        if before == found {
            return;
        }
        if let (Some(before), Some(found), 0) = (&before, &found, kept.stale) {
            let what = format!("{found} is kept of {key} in place of {before}");
            self.fail(Invariant::ExecutedOnce, what);
        }
        kept.end(now);
        if let Some(result) = found {
            if kept.refused.contains(&result) {
                let what = format!("{result} of {key} is kept after all");
                self.fail(Invariant::ToldWhatIsKept, what);
            }
            let until = None;
            kept.results.push(Stay { result, until });
        }
    }

    /// Redis lost data, or got some of it back.
    pub(super) fn lose_results(&self, now: Time, db: &Db) {
        for (key, kept) in self.kept.borrow_mut().iter_mut() {
            kept.end(now);
            kept.refused.clear();
            let until = None;
            let found = result(key, db);
            (kept.results).extend(found.map(|result| Stay { result, until }));
        }
    }

    /// Looks at the outcome of a call.
    pub(crate) fn told_result(&self, wanted: &Wanted, told: &Result<OnceOutcome<String>, Error>) {
        let mut all = self.kept.borrow_mut();
        let Some(kept) = all.get_mut(wanted.key) else {
            return;
        };
        let own = &wanted.own;
        let is_exempt = self.lost_data.get().is_some_and(|at| wanted.begun <= at);
        let was_kept = kept.results.iter().any(|stay| stay.result == *own);
        let fail = |what: String| self.fail(Invariant::ToldWhatIsKept, what);
        match told {
            Ok(OnceOutcome::Executed(result)) => {
                if result != own || !was_kept {
                    fail(format!("{result} of {} was not kept", wanted.key));
                }
            }
            Ok(OnceOutcome::Replayed(result)) => {
                let is_of_then = |stay: &Stay| {
                    stay.result == *result && stay.until.is_none_or(|until| until >= wanted.begun)
                };
                if !kept.results.iter().any(is_of_then) {
                    fail(format!("{result} of {} is not what was kept", wanted.key));
                }
                let (_, of) = result.split_once(' ').unwrap_or_default();
                if wanted.print.is_some_and(|print| !of.is_empty() && of != print) {
                    let what = format!("{result} of {} is that of something else", wanted.key);
                    self.fail(Invariant::RightRequest, what);
                }
            }
            Ok(OnceOutcome::NotKept(_)) => fail("nobody asked to go on without Redis".to_owned()),
            Err(Error::FingerprintMismatch { .. }) => {
                let is_other = |print: &Option<&str>| print.is_some() && *print != wanted.print;
                if !kept.prints.iter().any(is_other) {
                    let what = format!("{} was used for nothing else", wanted.key);
                    self.fail(Invariant::RightRequest, what);
                }
            }
            Err(error) if error.is_outcome_unknown() || !wanted.is_done => {}
            Err(_) if is_exempt => {}
            Err(error) => {
                kept.refused.insert(own.clone());
                if was_kept {
                    fail(format!("{own} of {} is kept, and it was told {error}", wanted.key));
                }
            }
        }
    }
}

impl Kept {
    fn end(&mut self, now: Time) {
        if let Some(last) = self.results.last_mut() {
            last.until.get_or_insert(now);
        }
    }
}

/// For how many milliseconds the result of `key` is still kept.
fn left(key: &str, db: &Db) -> Option<i64> {
    let key = format!("{{{key}}}:result");
    let of_key = |(of, _, left): (&[u8], _, Option<i64>)| (of == key.as_bytes()).then_some(left);
    db.all().find_map(of_key)?
}

/// The kept result of `key`, without the mark before it.
pub(crate) fn result(key: &str, db: &Db) -> Option<String> {
    let Some(Value::Text(text)) = db.value(&format!("{{{key}}}:result")) else {
        return None;
    };
    let text = String::from_utf8_lossy(text).into_owned();
    Some(text.split_once(' ')?.1.to_owned())
}
