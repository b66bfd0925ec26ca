//! Targets, and whether they are reached.

use std::fmt;

pub(super) struct Target {
    pub(super) who: &'static str,
    pub(super) what: &'static str,
    pub(super) figure: f64,
    pub(super) bound: Bound,
}

#[derive(Clone, Copy)]
pub(super) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Target {
    fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.figure >= least,
            Bound::AtMost(most) => self.figure <= most,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_met() { "met" } else { "missed" };
        let (sign, bound) = match self.bound {
            Bound::AtLeast(least) => ('≥', least),
            Bound::AtMost(most) => ('≤', most),
        };
        let Self { who, what, figure, .. } = self;
        write!(f, "{verdict:6} {who:20} {what:30} {figure:7.3}  {sign} {bound}")
    }
}
