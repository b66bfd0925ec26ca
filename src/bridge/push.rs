//! A message of a subscription.

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// From now on no message is missed.
    Listening,
    /// Somebody published this.
    Message(String),
}
