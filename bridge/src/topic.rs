//! What is listened to, and what its listeners read.

use crate::link::Message;

/// What is subscribed to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Channel(Vec<u8>),
    /// All channels whose names match.
    Pattern(Vec<u8>),
}

impl Topic {
    pub(crate) fn name(&self) -> &[u8] {
        match self {
            Self::Channel(name) | Self::Pattern(name) => name,
        }
    }

    pub(crate) const fn command(&self) -> &'static str {
        match self {
            Self::Channel(_) => "subscribe",
            Self::Pattern(_) => "psubscribe",
        }
    }

    /// How Redis confirms the subscription.
    pub(crate) fn begun(&self) -> Vec<u8> {
        let name = String::from_utf8_lossy(self.name());
        event(&format!("{},{name},1", self.command()))
    }

    /// A message as an event; `None` of a message without a payload.
    pub(crate) fn heard(&self, message: &Message) -> Option<Vec<u8>> {
        let payload = String::from_utf8_lossy(message.payload.as_ref()?);
        let name = String::from_utf8_lossy(self.name());
        Some(match self {
            Self::Channel(_) => event(&format!("message,{name},{payload}")),
            Self::Pattern(_) => {
                let channel = String::from_utf8_lossy(&message.channel);
                event(&format!("pmessage,{name},{channel},{payload}"))
            }
        })
    }
}

/// A line end within `data` continues it on a new line, as the format requires.
fn event(data: &str) -> Vec<u8> {
    let lines = data.replace("\r\n", "\n").replace(['\r', '\n'], "\ndata: ");
    format!("data: {lines}\n\n").into_bytes()
}
