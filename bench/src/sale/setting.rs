//! Who comes to a sale, and from how far.

use std::fmt;

use super::crowd::Crowd;

/// Who comes, and from how far.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) crowd: Crowd,
    pub(super) isolates: usize,
    pub(super) round_trip_ms: u64,
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (isolates, ms) = (self.isolates, self.round_trip_ms);
        let plural = if isolates == 1 { "" } else { "s" };
        write!(f, "{}, {isolates} isolate{plural}, {ms} ms", self.crowd)
    }
}
