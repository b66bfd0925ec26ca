//! Several names at once: a token that has one of its names has all of them.

use super::{Check, Invariant, holders};
use crate::redis::{Db, Value};
use crate::script::Run;

impl Check {
    /// Looks at each command that Redis executed.
    pub(crate) fn has_no_part(&self, run: &Run<'_>, db: &Db) {
        let names = run.locks();
        let mut sets = self.sets.borrow_mut();
        if run.script.acquires() && names.len() > 1 {
            let names = names.into_iter().map(str::to_owned).collect();
            sets.insert(run.token().to_owned(), names);
        }
        let has_part = |token: &str, names: &[String]| {
            let is_held = |name: &&String| match db.value(name) {
                Some(Value::Text(holder)) => holder == token.as_bytes(),
                _ => holders(name, db).iter().any(|(who, _)| who == token),
            };
            let held = names.iter().filter(is_held).count();
            held > 0 && held < names.len()
        };
        let mut brought_back = self.brought_back.borrow_mut();
        // A name that had run out is there again if nobody touched it since. Another name of the
        // set may be somebody else's by then.
        let now_us = db.table.now_us();
        if now_us < self.last_us.replace(now_us) {
            let parts = sets.iter().filter(|(token, names)| has_part(token, names));
            brought_back.extend(parts.map(|(token, _)| token.clone()));
        }
        let locks = self.locks.borrow();
        for (token, names) in sets.iter() {
            // One of the names may have been freed by force, or lost with the data.
            let is_forced = names.iter().filter_map(|name| locks.get(name)).any(|record| {
                let mut grants = record.grants.iter();
                grants.any(|(who, fence)| who == token && *fence <= record.forced)
            });
            if has_part(token, names) && !is_forced && !brought_back.contains(token) {
                let what = format!("{token} has a part of {names:?}");
                self.fail(Invariant::AllOrNone, what);
            }
        }
    }
}
