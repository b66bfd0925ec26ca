//! Why a unit is not reserved, or not confirmed.

/// Why a unit is not reserved, or not confirmed. Nothing of the call was executed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReservationError {
    /// So many units are confirmed that too few can become free.
    #[error("too few units are left")]
    SoldOut,

    /// The [owner](crate::Lock::owner) would have more units reserved than it may.
    #[error("this owner would have more units than it may")]
    OwnerLimit,

    /// This reservation was confirmed before, by a commit of the same token.
    #[error("it was confirmed before")]
    Confirmed,
}

impl ReservationError {
    /// As [`Error::code`](super::Error::code).
    pub const fn code(&self) -> &'static str {
        match self {
            Self::SoldOut => "sold_out",
            Self::OwnerLimit => "owner_limit",
            Self::Confirmed => "confirmed",
        }
    }

    pub(crate) fn of_code(code: &str) -> Option<Self> {
        Some(match code {
            "sold_out" => Self::SoldOut,
            "owner_limit" => Self::OwnerLimit,
            "confirmed" => Self::Confirmed,
            _ => return None,
        })
    }
}
