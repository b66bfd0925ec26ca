//! What Redis sends without being asked.

use redis::Value;

pub(crate) struct Message {
    pub(crate) pattern: Option<Vec<u8>>,
    pub(crate) channel: Vec<u8>,
    /// `None` if it was too large.
    pub(crate) payload: Option<Vec<u8>>,
}

impl Message {
    /// The message, or the same reply if it is none.
    pub(super) fn of(reply: Value) -> Result<Self, Value> {
        let Value::Array(mut parts) = reply else {
            return Err(reply);
        };
        match &mut parts[..] {
            [Value::BulkString(kind), Value::BulkString(channel), payload]
                if kind == b"message" =>
            {
                Ok(Self {
                    pattern: None,
                    channel: std::mem::take(channel),
                    payload: text(payload),
                })
            }
            [
                Value::BulkString(kind),
                Value::BulkString(pattern),
                Value::BulkString(channel),
                payload,
            ] if kind == b"pmessage" => Ok(Self {
                pattern: Some(std::mem::take(pattern)),
                channel: std::mem::take(channel),
                payload: text(payload),
            }),
            _ => Err(Value::Array(parts)),
        }
    }
}

fn text(payload: &mut Value) -> Option<Vec<u8>> {
    match payload {
        Value::BulkString(text) => Some(std::mem::take(text)),
        _ => None,
    }
}
