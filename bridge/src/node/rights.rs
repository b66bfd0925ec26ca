//! Which commands only read.

use std::sync::{Arc, PoisonError};

use redis::{Pipeline, Value};

use super::Node;
use crate::no_reply::NoReply;

impl Node {
    /// Whether Redis flags the command called `name` as one that only reads. Redis is asked once
    /// for each command that does.
    pub(crate) async fn reads_only(&self, name: &[u8]) -> Result<bool, NoReply> {
        let known = self
            .read_only
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .contains(name);
        if known {
            return Ok(true);
        }
        let mut question = Pipeline::new();
        question.cmd("COMMAND").arg("INFO").arg(name);
        let reads = flagged_read_only(&self.run(&Arc::new(question)).await?);
        if reads {
            let mut known = self
                .read_only
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            known.insert(name.to_vec());
        }
        Ok(reads)
    }
}

/// `COMMAND INFO` answers with a list of descriptions: each has a name, an arity, a list of flags,
/// and more.
fn flagged_read_only(replies: &[Value]) -> bool {
    let [Value::Array(descriptions)] = replies else {
        return false;
    };
    let [Value::Array(description)] = &descriptions[..] else {
        return false;
    };
    let Some(Value::Array(flags)) = description.get(2) else {
        return false;
    };
    flags
        .iter()
        .any(|flag| matches!(flag, Value::SimpleString(flag) if flag == "readonly"))
}
