//! Which commands only read.

use redis::Value;

use super::Node;
use crate::command::{self, Command};
use crate::no_reply::NoReply;
use crate::server_error;

impl Node {
    /// Whether Redis flags the command as one that only reads. Some commands only have others
    /// under them, which have flags of their own, as `OBJECT|ENCODING` has. Redis is asked once for
    /// each command that only reads.
    pub(crate) async fn reads_only(&self, command: &Command<'_>) -> Result<bool, NoReply> {
        let name = command.name();
        let with_sub = [name, b"|", &command.word(1)].concat();
        let is_known = |name| self.read_only.read().contains(name);
        if is_known(name) || is_known(&with_sub) {
            return Ok(true);
        }
        let question = command::one(&[&b"COMMAND"[..], b"INFO", name, &with_sub]);
        let replies = self.run(&question).await?;
        let descriptions = match &replies[..] {
            [Value::Array(descriptions)] => descriptions,
            [Value::ServerError(refused)] if server_error::is_passing(refused, false) => {
                return Err(NoReply::NotNow);
            }
            _ => return Ok(false),
        };
        let names = [name, &with_sub].into_iter().zip(descriptions);
        let Some((reads, _)) = names.into_iter().find(|(_, told)| is_flagged(told)) else {
            return Ok(false);
        };
        self.read_only.write().insert(reads.to_vec());
        Ok(true)
    }
}

/// `COMMAND INFO` describes a command by a list: its name, arity, list of flags, and more.
fn is_flagged(description: &Value) -> bool {
    let is_read_only = |flag: &_| matches!(flag, Value::SimpleString(flag) if flag == "readonly");
    let flags = match description {
        Value::Array(parts) => parts.get(2),
        _ => None,
    };
    matches!(flags, Some(Value::Array(flags)) if flags.iter().any(is_read_only))
}
