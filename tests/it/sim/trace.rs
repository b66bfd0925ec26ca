//! What happened last, for those who look into a failure. It costs nothing when it is off.

use std::cell::RefCell;
use std::collections::VecDeque;

use super::world::{MS, Time};

pub(crate) struct Trace(Option<RefCell<VecDeque<String>>>);

impl Trace {
    const KEPT: usize = 100;

    pub(crate) const OFF: Self = Self(None);

    pub(crate) fn on() -> Self {
        Self(Some(RefCell::default()))
    }

    pub(crate) fn note(&self, now: Time, what: impl FnOnce() -> String) {
        let Some(lines) = &self.0 else { return };
        let mut lines = lines.borrow_mut();
        if lines.len() == Self::KEPT {
            lines.pop_front();
        }
        let (ms, us) = (now / MS, now % MS / 1_000);
        lines.push_back(format!("{ms:>8}.{us:03} ms  {}", what()));
    }

    pub(crate) fn lines(&self) -> String {
        let lines = self.0.as_ref().map(|lines| lines.borrow().clone());
        Vec::from(lines.unwrap_or_default()).join("\n")
    }
}
