//! The parts of a sale.

use std::fmt;

/// A part of a sale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// There are as many units as orders: each is decided, and written.
    StockLasts,
    /// Nothing is left: each order is refused.
    SoldOut,
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StockLasts => "while stock lasts",
            Self::SoldOut => "sold out",
        })
    }
}
