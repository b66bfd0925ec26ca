//! What was ordered, what was answered, and what Redis has in the end.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use edgelock::Error;

use super::sale::{LOG, MOST, RESTOCKED, STOCK, buyer};
use crate::case::Case;
use crate::check::{Check, Invariant};
use crate::redis::{Db, Value};

/// What the caller was told; `None` if it hung up.
type Told = Option<Result<bool, Error>>;

#[derive(Default)]
pub(crate) struct Books {
    stock: i64,
    /// The items as they came, with their processes.
    arrivals: RefCell<Vec<(usize, usize)>>,
    /// Processes whose items look before they ask. An item whose look is late gets a late turn.
    unordered: RefCell<BTreeSet<usize>>,
    told: RefCell<BTreeMap<usize, Told>>,
    pub(super) answered: RefCell<BTreeSet<usize>>,
    pub(crate) check: Check,
}

impl Books {
    pub(super) fn open(case: &Case) -> Self {
        Self::stock(case.rng.pick(&[0, 1, 3, 5, 100]), &mut case.redis.db_mut())
    }

    /// So many are for sale.
    pub(crate) fn stock(stock: i64, db: &mut Db) -> Self {
        db.call(&[b"SET", STOCK.as_bytes(), stock.to_string().as_bytes()]);
        Self { stock, ..Self::default() }
    }

    pub(super) fn expect_no_order(&self, process: usize) {
        self.unordered.borrow_mut().insert(process);
    }

    pub(super) fn arrive(&self, process: usize, number: usize) {
        self.arrivals.borrow_mut().push((process, number));
    }

    pub(crate) fn answer(&self, number: usize, told: Told) {
        self.told.borrow_mut().insert(number, told);
        self.answered.borrow_mut().insert(number);
    }

    /// Compares what callers were told with what was written.
    pub(crate) fn close(&self, db: &Db) {
        let text = |key: &str| match db.value(key) {
            Some(Value::Text(text)) => String::from_utf8_lossy(text).into_owned(),
            _ => String::new(),
        };
        let written = sold(&text(LOG));
        let numbers: Vec<usize> = written.iter().map(|(number, _)| *number).collect();
        let once: BTreeSet<usize> = numbers.iter().copied().collect();
        if once.len() < numbers.len() {
            self.check.fail(Invariant::DecidedOnce, format!("written: {numbers:?}"));
        }
        // Without fences all are 0.
        if !written.is_sorted_by_key(|(_, fence)| *fence) {
            self.check.fail(Invariant::FencesGrow, format!("written: {written:?}"));
        }
        for (number, told) in self.told.borrow().iter() {
            let is_written = once.contains(number);
            let is_true = match told {
                Some(Ok(sold)) => *sold == is_written,
                Some(Err(error)) => error.is_outcome_unknown() || !is_written,
                None => true,
            };
            if !is_true {
                let what = format!("{number} was told {told:?}, and is written: {is_written}");
                self.check.fail(Invariant::Truth, what);
            }
        }
        self.is_in_order(&numbers);
        let left: i64 = text(STOCK).parse().unwrap_or(-1);
        let changes = text(RESTOCKED);
        let changes = changes.chars().map(|change| if change == '+' { 1 } else { -1 });
        let stock = self.stock + changes.sum::<i64>();
        if left != stock - numbers.len() as i64 {
            let what = format!("{left} of {stock} are left behind {numbers:?}");
            self.check.fail(Invariant::NotOversold, what);
        }
        let mut buyers = BTreeMap::<usize, i64>::new();
        for number in &numbers {
            *buyers.entry(buyer(*number)).or_default() += 1;
        }
        if buyers.values().any(|has| *has > MOST) {
            self.check.fail(Invariant::NotOversold, format!("buyers have {buyers:?}"));
        }
    }

    /// Hashes what [`Books::close`] compares.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        self.arrivals.borrow().hash(hasher);
        for (number, told) in self.told.borrow().iter() {
            (number, format!("{told:?}")).hash(hasher);
        }
    }

    fn is_in_order(&self, written: &[usize]) {
        let arrivals = self.arrivals.borrow();
        let place = |number: &usize| arrivals.iter().position(|(_, came)| came == number);
        let mut last = BTreeMap::new();
        for number in written {
            let Some(at) = place(number) else { continue };
            if self.unordered.borrow().contains(&arrivals[at].0) {
                continue;
            }
            let before = last.insert(arrivals[at].0, at);
            if before.is_some_and(|before| before > at) {
                self.check.fail(Invariant::InOrder, format!("{written:?} of {arrivals:?}"));
            }
        }
    }
}

/// The items as they were written, with their fences.
fn sold(log: &str) -> Vec<(usize, u64)> {
    let entry = |entry: &str| {
        let (number, fence) = entry.split_once(' ')?;
        Some((number.parse().ok()?, fence.parse().ok()?))
    };
    log.split_terminator(';').filter_map(entry).collect()
}
