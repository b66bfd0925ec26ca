//! Large requests and answers.
//!
//! On the shared connection, answers come in the order of the commands. A command behind a large
//! answer would wait for all of it. So large requests and answers use a connection of their own, a
//! few at a time.
//!
//! Nobody knows before an answer comes whether it will be large. So for a while the bridge expects
//! as much again from the same command about the same key, and nothing of others. Otherwise a
//! client that may only read could have others' keys taken for large.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::slice;
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redis::{Cmd, Pipeline, Value};

use crate::command::{name, size, word};
use crate::link::cost;
use crate::refuse;

/// In bytes, of a request, or of all answers to it.
const LARGE: usize = 256 * 1024;

/// A command that brought no more than this is not expected to bring much, though all of its
/// request together did: it may have been repeated often.
const LITTLE: usize = LARGE / 64;

const EXPECTED: Duration = Duration::from_secs(60);

/// With more commands than this, all are forgotten, and learned anew.
const REMEMBERED: usize = 4096;

#[derive(Default)]
pub(crate) struct Bulk {
    /// By hashes of commands, until when as much is expected of them.
    large: RwLock<HashMap<u64, Instant>>,
    hasher: RandomState,
}

impl Bulk {
    /// Whether the request is large, or its answer may be.
    pub(crate) fn expects(&self, commands: &Pipeline) -> bool {
        let large = self.large.read().unwrap_or_else(PoisonError::into_inner);
        let is_expected = |command| {
            let until = large.get(&self.hash(command));
            until.is_some_and(|until| *until > Instant::now())
        };
        size(commands) > LARGE || (!large.is_empty() && commands.cmd_iter().any(is_expected))
    }

    /// Remembers what was large.
    pub(crate) fn answered(&self, commands: &Pipeline, replies: &[Value]) {
        let sum = cost(replies);
        if sum <= LARGE {
            return;
        }
        let least = LITTLE.max(sum / replies.len());
        let mut large = self.large.write().unwrap_or_else(PoisonError::into_inner);
        for (command, reply) in commands.cmd_iter().zip(replies) {
            if cost(slice::from_ref(reply)) >= least {
                if large.len() >= REMEMBERED {
                    large.clear();
                }
                large.insert(self.hash(command), Instant::now() + EXPECTED);
            }
        }
    }

    /// The same for all commands of this name about this key; of scripts, also with this text.
    fn hash(&self, command: &Cmd) -> u64 {
        let name = name(command);
        let key = refuse::runs_script(&name).then(|| word(command, 3));
        self.hasher.hash_one((name, word(command, 1), key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(commands: &[&str]) -> Pipeline {
        let mut request = Pipeline::new();
        for command in commands {
            let mut words = command.split(' ');
            let command = request.cmd(words.next().expect("a name"));
            words.for_each(|word| {
                command.arg(word);
            });
        }
        request
    }

    fn text(length: usize) -> Value {
        Value::BulkString(vec![b'x'; length])
    }

    #[test]
    fn as_much_is_expected_of_the_same_command_about_the_same_key() {
        for (read, replies, same, others) in [
            (
                &["GET k"][..],
                vec![text(LARGE)],
                "get k",
                ["GET l", "STRLEN k"],
            ),
            (
                &["EVALSHA sha 1 k"],
                vec![text(LARGE)],
                "EVALSHA sha 1 k x",
                ["EVALSHA sha 1 l", "GET k"],
            ),
            (
                &["GET small", "GET k"],
                vec![Value::Nil, text(LARGE)],
                "GET k",
                ["GET small", "GET l"],
            ),
        ] {
            let bulk = Bulk::default();
            assert!(!bulk.expects(&request(read)));
            bulk.answered(&request(read), &replies);
            assert!(bulk.expects(&request(&[same])), "{same}");
            assert!(
                !others.iter().any(|other| bulk.expects(&request(&[other]))),
                "{others:?}"
            );
        }
        let often = vec![text(100); 10_000];
        let bulk = Bulk::default();
        bulk.answered(&request(&["GET k"; 10_000]), &often);
        assert!(!bulk.expects(&request(&["GET k"])));
        let large = format!("SET k {}", "x".repeat(LARGE));
        assert!(bulk.expects(&request(&[&large])));
    }
}
