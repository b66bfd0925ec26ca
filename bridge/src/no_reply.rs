//! Commands to which Redis gave no answer.

#[derive(Clone, Copy)]
pub(crate) enum NoReply {
    /// No connection: nothing was sent.
    Unreachable,
    /// Redis refused the bridge's password or user: nothing was sent.
    NotLetIn,
    /// Redis has too many clients, or is busy: nothing was executed.
    NotNow,
    /// Other requests took the whole time that a request may wait: nothing was sent.
    NoTurn,
    /// As many requests as may wait for replicas already do: nothing was sent.
    TooManyWaits,
    /// The connection broke: Redis may have executed the commands.
    Broken,
    /// The answer did not come in time: Redis may have executed the commands, or may still do so.
    Late,
}

impl NoReply {
    /// For a request whose commands before that had these replies.
    pub(crate) fn behind<T>(self, replies: &[T]) -> Self {
        match self.was_sent() || replies.is_empty() {
            true => self,
            false => Self::Broken,
        }
    }

    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Unreachable => "ERR Redis cannot be reached; nothing was executed",
            Self::NotLetIn => {
                "ERR Redis wants a password, and the bridge has none or a wrong one; nothing was executed"
            }
            Self::NotNow => "ERR Redis is busy, or has too many clients; nothing was executed",
            Self::NoTurn => {
                "ERR too many scripts, transactions or large requests wait; nothing was executed"
            }
            Self::TooManyWaits => "ERR too many requests wait for replicas; nothing was executed",
            Self::Broken => {
                "ERR the connection to Redis was lost; whether the command was executed is unknown"
            }
            Self::Late => {
                "ERR Redis did not answer in time; whether the command was executed is unknown"
            }
        }
    }

    pub(crate) const fn was_sent(self) -> bool {
        matches!(self, Self::Broken | Self::Late)
    }
}
