//! Units that are reserved and confirmed: each is confirmed once, and none gets lost.

use std::collections::{BTreeMap, BTreeSet};

use edgelock::Error;

use super::{Check, Grant, Invariant};
use crate::redis::{Db, Reply, Value};
use crate::script::{Run, Script};

/// What happened to the units of one name so far.
#[derive(Default, Hash)]
pub(super) struct Sale {
    units: u64,
    /// How many are confirmed.
    sold: u64,
    /// Tokens that were confirmed.
    confirmed: BTreeSet<String>,
    /// How many units each token has or had, and for whom.
    wanted: BTreeMap<String, (u64, String)>,
}

/// The number that a release has, and no commit.
const LAST: &str = "9007199254740991";

impl Sale {
    /// How many units `holders` have; of one owner, if one is given.
    fn held(&self, holders: &[Grant], owner: Option<&str>) -> u64 {
        let wanted = holders.iter().filter_map(|(who, _)| self.wanted.get(who));
        let theirs = wanted.filter(|(_, whose)| owner.is_none_or(|owner| owner == whose));
        theirs.map(|(units, _)| units).sum()
    }

    /// What is wrong with the answer to somebody who wants to reserve units.
    fn reserve(&mut self, run: &Run<'_>, before: &[Grant], reply: &Reply) -> Option<String> {
        let Reply::Array(told) = reply else {
            return None;
        };
        let mut words = (run.args[7].split('/')).map(|word| word.parse::<u64>().expect("a number"));
        let (_, wanted, most) = (words.next(), words.next().unwrap_or(1), words.next());
        let owner = run.args[6].as_str();
        let left = self.units.saturating_sub(self.sold);
        let is_free = self.held(before, None) + wanted <= left;
        let may = most.is_none_or(|most| self.held(before, Some(owner)) + wanted <= most);
        let is_right = match told.as_slice() {
            [Reply::Int(1), ..] => {
                let units = (wanted, owner.to_owned());
                self.wanted.insert(run.token().to_owned(), units);
                is_free && may
            }
            [Reply::Int(0), ..] => !is_free && may && wanted <= left,
            [Reply::Int(-5), _, Reply::Bulk(why)] if why == b"sold_out" => wanted > left,
            [Reply::Int(-5), ..] => !may && wanted <= left,
            _ => true,
        };
        let asks = || format!("{owner} asks for {wanted} of {left} beside {before:?}");
        (!is_right).then(asks)
    }
}

impl Check {
    /// So many units of `name` are sold.
    pub(crate) fn sell(&self, name: &'static str, units: u32) {
        let mut sales = self.sales.borrow_mut();
        sales.entry(name.to_owned()).or_default().units = units.into();
    }

    /// Looks at each command.
    pub(super) fn count(
        &self,
        run: &Run<'_>,
        name: &str,
        before: &[Grant],
        reply: &Reply,
        db: &Db,
    ) {
        let mut sales = self.sales.borrow_mut();
        let Some(sale) = sales.get_mut(name) else {
            return;
        };
        let token = run.token();
        let had = before.iter().any(|(who, _)| who == token);
        let is_yes = matches!(reply, Reply::Array(told) if told.first() == Some(&Reply::Int(1)));
        let wrong = match run.script {
            Script::Reserve if !had => sale.reserve(run, before, reply),
            Script::Release if had && is_yes && run.args[3] != LAST => {
                sale.sold += sale.wanted.get(token).map_or(0, |(units, _)| *units);
                let is_first = sale.confirmed.insert(token.to_owned());
                (!is_first).then(|| format!("{token} is confirmed again"))
            }
            _ => None,
        };
        let found = confirmed(name, db);
        let differs = (found != sale.sold).then(|| format!("{found} units, not {}", sale.sold));
        if let Some(what) = wrong.or(differs) {
            let what = format!("of {name}, {what}: {run} -> {reply}");
            self.fail(Invariant::SoldOnce, what);
        }
    }

    /// A client was told what became of its reservation.
    pub(crate) fn told_of_units(&self, name: &str, token: &str, error: Option<&Error>) {
        let sales = self.sales.borrow();
        let Some(sale) = sales.get(name).filter(|_| self.lost_data.get().is_none()) else {
            return;
        };
        let is_confirmed = sale.confirmed.contains(token);
        let is_right = match error.map(Error::code) {
            Some("lost") => !is_confirmed,
            Some("confirmed") => is_confirmed,
            _ => true,
        };
        if !is_right {
            let what = format!("{error:?} was said of {token}, which is confirmed: {is_confirmed}");
            self.fail(Invariant::ToldRight, what);
        }
    }

    /// What is confirmed in the data that is there is confirmed from now on.
    pub(super) fn lose_units(&self, db: &Db) {
        for (name, sale) in self.sales.borrow_mut().iter_mut() {
            sale.sold = confirmed(name, db);
            sale.confirmed.clear();
        }
    }
}

/// How many units of `name` are confirmed.
pub(crate) fn confirmed(name: &str, db: &Db) -> u64 {
    match db.value(&format!("{{{name}}}:confirmed")) {
        Some(Value::Text(text)) => {
            let text = std::str::from_utf8(text).expect("a number");
            text.parse().expect("a number")
        }
        _ => 0,
    }
}
