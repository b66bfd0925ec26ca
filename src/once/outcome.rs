//! What came of work that is executed once.

/// What came of work that is executed once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OnceOutcome<V> {
    /// This call did the work, and its result is kept.
    Executed(V),
    /// Another call did the work.
    Replayed(V),
    /// Of `Once::run_anyway`: this call did the work, and its result is not kept, or not known to
    /// be. A repeat may do it again.
    NotKept(V),
}

impl<V> OnceOutcome<V> {
    /// The result, of this execution or of an earlier one.
    pub fn into_value(self) -> V {
        match self {
            Self::Executed(value) | Self::Replayed(value) | Self::NotKept(value) => value,
        }
    }

    /// Whether another call did the work.
    pub const fn is_replayed(&self) -> bool {
        matches!(self, Self::Replayed(_))
    }

    /// Whether a repeat gets this result.
    pub const fn is_kept(&self) -> bool {
        !matches!(self, Self::NotKept(_))
    }
}
