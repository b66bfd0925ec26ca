//! Which commands only read.

use std::sync::{Arc, PoisonError};

use redis::{Pipeline, Value};

use super::Node;
use crate::command::Command;
use crate::no_reply::NoReply;
use crate::server_error;

impl Node {
    /// Whether Redis flags the command as one that only reads. Some commands only have others
    /// under them, which have flags of their own, as `OBJECT|ENCODING` has. Redis is asked once for
    /// each command that only reads.
    pub(crate) async fn reads_only(&self, command: &Command<'_>) -> Result<bool, NoReply> {
        let name = command.name();
        if self.is_known_to_read(name) {
            return Ok(true);
        }
        let with_sub = [name, b"|", &command.word(1)].concat();
        if self.is_known_to_read(&with_sub) {
            return Ok(true);
        }
        let mut question = Pipeline::new();
        (question.cmd("COMMAND").arg("INFO"))
            .arg(name)
            .arg(&with_sub);
        let replies = self.run(&Arc::new(question)).await?;
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
        let known = self.read_only.write();
        (known.unwrap_or_else(PoisonError::into_inner)).insert(reads.to_vec());
        Ok(true)
    }

    fn is_known_to_read(&self, name: &[u8]) -> bool {
        let known = self.read_only.read();
        (known.unwrap_or_else(PoisonError::into_inner)).contains(name)
    }
}

/// `COMMAND INFO` describes a command by a list: its name, arity, list of flags, and more.
fn is_flagged(description: &Value) -> bool {
    let Value::Array(description) = description else {
        return false;
    };
    let Some(Value::Array(flags)) = description.get(2) else {
        return false;
    };
    flags
        .iter()
        .any(|flag| matches!(flag, Value::SimpleString(flag) if flag == "readonly"))
}
