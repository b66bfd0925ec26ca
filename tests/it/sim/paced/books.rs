//! When each call came by Redis's clock, which were let through, and what each was told.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use edgelock::{DebounceOutcome, Error, ThrottleOutcome};

use crate::check::{Invariant, Violation};
use crate::redis::{Db, Reply};
use crate::script::{Run, Script};

/// Every call has a window or a wait of its own, in milliseconds, which tells it from the others.
pub(crate) type Number = u64;

#[derive(Default)]
pub(crate) struct Books {
    pub(crate) broken: RefCell<Option<Violation>>,
    numbers: RefCell<BTreeSet<Number>>,
    /// The call of each token, once it has arrived.
    tokens: RefCell<BTreeMap<String, Number>>,
    /// The first final answer to each call.
    decided: RefCell<BTreeMap<Number, i64>>,
    given_up: RefCell<BTreeSet<String>>,
    /// For each throttle: who passed last, and when that window ends.
    windows: RefCell<BTreeMap<String, (String, i64)>>,
    /// For each debounce: the call that is to go through, and when.
    waiting: RefCell<BTreeMap<String, Burst>>,
    arrived: RefCell<BTreeSet<Number>>,
    worked: RefCell<BTreeSet<Number>>,
    /// The latest time that Redis's clock has shown. A window that was over stays over when the
    /// clock is set back.
    latest: Cell<i64>,
    /// The true time in milliseconds, and when the time of each call comes by it.
    pub(super) real: Cell<i64>,
    due: RefCell<BTreeMap<Number, i64>>,
    is_closed: Cell<bool>,
}

#[derive(Default, Hash)]
struct Burst {
    ends: i64,
    waiting: BTreeMap<String, i64>,
}

impl Books {
    /// Only the first broken promise is kept.
    pub(super) fn fail(&self, invariant: Invariant, what: String) {
        if !self.is_closed.get() {
            self.broken.borrow_mut().get_or_insert(Violation { invariant, what });
        }
    }

    pub(super) fn is_broken(&self) -> bool {
        self.broken.borrow().is_some()
    }

    /// A window or wait of about `ms` that no other call has.
    pub(super) fn number(&self, ms: u64) -> Number {
        let mut numbers = self.numbers.borrow_mut();
        let number = (ms..).find(|number| !numbers.contains(number));
        let number = number.expect("a number");
        numbers.insert(number);
        number
    }

    /// Looks at each script.
    pub(crate) fn ran(&self, run: &Run<'_>, reply: &Reply, db: &Db) {
        let Reply::Array(parts) = reply else { return };
        let Some(Reply::Int(verdict)) = parts.first() else {
            return;
        };
        let left = match parts.get(2) {
            Some(Reply::Int(left)) => *left,
            _ => 0,
        };
        let (now, token) = (db.now_ms(), run.token());
        self.latest.set(now.max(self.latest.get()));
        match run.script {
            Script::Pass => self.passed(run, *verdict, now),
            Script::GiveBack => {
                self.given_up.borrow_mut().insert(token.to_owned());
                let mut windows = self.windows.borrow_mut();
                if windows.get(&run.keys[0]).is_some_and(|(who, _)| who == token) {
                    windows.remove(&run.keys[0]);
                }
            }
            Script::Arrive => self.arrived(run, *verdict, left, now),
            Script::Settle => self.settled(run, *verdict, now),
            Script::Leave => {
                self.given_up.borrow_mut().insert(token.to_owned());
                if let Some(burst) = self.waiting.borrow_mut().get_mut(&run.keys[0]) {
                    burst.waiting.remove(token);
                }
            }
            _ => {}
        }
        if let Some((key, ..)) = db.all().find(|(_, _, left)| left.is_none()) {
            let key = String::from_utf8_lossy(key).into_owned();
            self.fail(Invariant::KeysExpire, key);
        }
    }

    /// The call that this is: the argument after the token is its window or wait.
    fn number_of(&self, run: &Run<'_>) -> Number {
        let number = run.args[2].parse().expect("a number");
        (self.tokens.borrow_mut()).insert(run.token().to_owned(), number);
        number
    }

    /// Whether this is the first final answer to the call. A later one must be the same.
    fn decide(&self, number: Number, verdict: i64) -> bool {
        let mut decided = self.decided.borrow_mut();
        if let Some(before) = decided.get(&number) {
            if *before != verdict {
                let what = format!("{number} was told {before}, and then {verdict}");
                self.fail(Invariant::ToldRight, what);
            }
            return false;
        }
        decided.insert(number, verdict);
        true
    }

    fn passed(&self, run: &Run<'_>, verdict: i64, now: i64) {
        let number = self.number_of(run);
        let token = run.token().to_owned();
        let is_given_up = self.given_up.borrow().contains(&token);
        if is_given_up != (verdict == -1) {
            let what = format!("{number} was given up: {is_given_up}, and told {verdict}");
            self.fail(Invariant::NoGhost, what);
        }
        let mut windows = self.windows.borrow_mut();
        let window = windows.get(&run.keys[0]);
        let is_open_at = |time: i64| window.is_none_or(|(_, until)| time > *until);
        match verdict {
            0 if is_open_at(now) => self.fail(Invariant::Opens, format!("{number} is kept out")),
            // A call that was refused leaves nothing behind, so its repeat may pass.
            0 if self.decided.borrow().get(&number) == Some(&1) => {
                let what = format!("{number} passed, and its repeat did not");
                self.fail(Invariant::ToldRight, what);
            }
            1 if self.decided.borrow_mut().insert(number, 1) != Some(1) => {
                if !is_open_at(self.latest.get()) {
                    let what = format!("{number} passes at {now} in {window:?}");
                    self.fail(Invariant::OnePasses, what);
                }
                windows.insert(run.keys[0].clone(), (token, now + number as i64));
            }
            _ => {}
        }
    }

    pub(crate) fn told_pass(&self, number: Number, told: &Result<ThrottleOutcome, Error>) {
        let has_passed = self.decided.borrow().get(&number) == Some(&1);
        let given_up = self.given_up.borrow();
        let tokens = self.tokens.borrow();
        let is_given_up =
            (tokens.iter()).any(|(token, other)| *other == number && given_up.contains(token));
        if told == &Ok(ThrottleOutcome::Passed) && (!has_passed || is_given_up) {
            let what = format!("{number} was told that it passed; given up: {is_given_up}");
            self.fail(Invariant::ToldRight, what);
        }
    }

    fn arrived(&self, run: &Run<'_>, verdict: i64, left: i64, now: i64) {
        let number = self.number_of(run);
        let token = run.token();
        let most: i64 = run.args[3].parse().expect("a number");
        let mut all = self.waiting.borrow_mut();
        let burst = all.entry(run.keys[0].clone()).or_default();
        let is_over =
            self.given_up.borrow().contains(token) || self.decided.borrow().contains_key(&number);
        if is_over != (verdict == -1) {
            let what = format!("{number} is over: {is_over}, and told {verdict}");
            self.fail(Invariant::NoGhost, what);
        }
        if left > number as i64 {
            let what = format!("{number} is to wait for {left} ms");
            self.fail(Invariant::InTime, what);
        }
        if verdict != 1 || !self.arrived.borrow_mut().insert(number) {
            return;
        }
        let before = burst.waiting.len();
        burst.waiting.retain(|_, at| *at <= now);
        if burst.waiting.len() == before {
            burst.ends = i64::MAX;
        }
        burst.ends = burst.ends.min(now + most);
        let at = burst.ends.min(now + number as i64);
        burst.waiting.insert(token.to_owned(), at);
        self.due.borrow_mut().insert(number, self.real.get() + left);
        if left != at - now {
            let what = format!("{number} is to wait for {left} ms, and not for {}", at - now);
            self.fail(Invariant::InTime, what);
        }
    }

    fn settled(&self, run: &Run<'_>, verdict: i64, now: i64) {
        let token = run.token();
        let Some(number) = self.tokens.borrow().get(token).copied() else {
            let what = format!("{token} settles and never arrived");
            return self.fail(Invariant::NoGhost, what);
        };
        let mut all = self.waiting.borrow_mut();
        let burst = all.entry(run.keys[0].clone()).or_default();
        if verdict == 2 {
            if burst.waiting.get(token).is_none_or(|at| *at <= now) {
                self.fail(Invariant::InTime, format!("{number} is kept waiting"));
            }
            return;
        }
        if !self.decide(number, verdict) {
            return;
        }
        match (burst.waiting.remove(token), verdict) {
            (Some(at), 1)
                if (at > now && !self.is_due(number, run)) || now > at + self.slack(run) =>
            {
                let what = format!("{number} goes through at {now}, and its time is {at}");
                self.fail(Invariant::InTime, what);
            }
            (Some(_), 1) | (None, 0) => {}
            (Some(_), _) => {
                let what = format!("{number} is the last of its burst, and told {verdict}");
                self.fail(Invariant::NobodyLost, what);
            }
            (None, _) => {
                let what = format!("{number} was overtaken, and told {verdict}");
                self.fail(Invariant::LastGoes, what);
            }
        }
    }

    /// Whether the call goes through by its own clock, and rightly so.
    fn is_due(&self, number: Number, run: &Run<'_>) -> bool {
        let due = self.due.borrow().get(&number).copied();
        let drift = 2 + number as i64 / 100;
        run.args[2] == "1" && due.is_some_and(|due| self.real.get() >= due - drift)
    }

    /// How much later than possible a call may go through.
    fn slack(&self, run: &Run<'_>) -> i64 {
        match run.keys[0].as_str() {
            super::CALM_KEY => 40,
            _ => i64::MAX / 2,
        }
    }

    pub(crate) fn begins_work(&self, number: Number) {
        let is_last = self.decided.borrow().get(&number) == Some(&1);
        if !is_last || !self.worked.borrow_mut().insert(number) {
            let what = format!("{number} does the work, and is the last: {is_last}");
            self.fail(Invariant::LastGoes, what);
        }
    }

    pub(crate) fn told_call(&self, number: Number, told: &Result<DebounceOutcome<()>, Error>) {
        let decided = self.decided.borrow().get(&number).copied();
        let is_right = match told {
            Ok(DebounceOutcome::Executed(())) => decided == Some(1),
            Ok(DebounceOutcome::Superseded) => decided == Some(0),
            Err(_) => true,
        };
        if !is_right {
            let what = format!("{number} was told {told:?}, and decided was {decided:?}");
            self.fail(Invariant::ToldRight, what);
        }
    }

    /// Nobody asks any more and nobody was given up, so nothing may be left.
    pub(crate) fn is_over(&self, debounce: &str) {
        if let Some(burst) = self.waiting.borrow().get(debounce)
            && !burst.waiting.is_empty()
        {
            let what = format!("{:?} wait yet, and nobody asks", burst.waiting);
            self.fail(Invariant::NobodyLost, what);
        }
    }

    /// The world ends, with all that is under way in it.
    pub(super) fn close(&self) {
        self.is_over(super::CALM_KEY);
        self.is_closed.set(true);
    }

    /// Hashes all that later findings can depend on.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        (&*self.tokens.borrow(), &*self.decided.borrow()).hash(hasher);
        (&*self.given_up.borrow(), &*self.windows.borrow()).hash(hasher);
        (&*self.waiting.borrow(), &*self.arrived.borrow()).hash(hasher);
        (&*self.worked.borrow(), self.latest.get()).hash(hasher);
    }
}
