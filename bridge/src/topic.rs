//! What is listened to, and what its listeners read.

use redis::Value;

/// What is subscribed to.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) enum Topic {
    Channel(Vec<u8>),
    /// All channels whose names match.
    Pattern(Vec<u8>),
}

/// What Redis sends without being asked.
pub(crate) struct Message {
    pub(crate) topic: Topic,
    channel: Vec<u8>,
    /// `None` if it was too large.
    payload: Option<Vec<u8>>,
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
}

impl Message {
    /// The message, or the same reply if it is none.
    pub(crate) fn of(reply: Value) -> Result<Self, Value> {
        let Value::Array(mut parts) = reply else {
            return Err(reply);
        };
        use Value::BulkString as Text;
        let (topic, channel, payload) = match &mut parts[..] {
            [Text(kind), Text(channel), payload] if kind == b"message" => {
                (Topic::Channel(channel.clone()), channel, payload)
            }
            [Text(kind), Text(pattern), Text(channel), payload] if kind == b"pmessage" => {
                (Topic::Pattern(std::mem::take(pattern)), channel, payload)
            }
            _ => return Err(Value::Array(parts)),
        };
        let payload = match payload {
            Text(text) => Some(std::mem::take(text)),
            _ => None,
        };
        let channel = std::mem::take(channel);
        Ok(Self { topic, channel, payload })
    }

    /// The message as an event; `None` of a message without a payload.
    pub(crate) fn event(&self) -> Option<Vec<u8>> {
        let payload = String::from_utf8_lossy(self.payload.as_ref()?);
        let channel = String::from_utf8_lossy(&self.channel);
        Some(match &self.topic {
            Topic::Channel(_) => event(&format!("message,{channel},{payload}")),
            Topic::Pattern(name) => {
                let name = String::from_utf8_lossy(name);
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
