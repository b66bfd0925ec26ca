//! Large requests and answers.
//!
//! On the shared connection, answers come in the order of the commands. A command behind a large
//! answer would wait for all of it. So large requests and answers use a connection of their own, a
//! few at a time.
//!
//! Nobody knows before an answer comes whether it will be large. So for a while the bridge expects
//! as much again from the same command about the same key, and from all commands about a key that
//! was written with so much. It expects nothing of others. Otherwise a client that may only read
//! could have others' keys taken for large.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::slice;
use std::time::{Duration, Instant};

use parking_lot::RwLock;
use redis::{Cmd, Pipeline, Value};

use crate::command::{name, size, size_of, word};
use crate::link::cost;
use crate::refuse;

/// In bytes, of a request, or of all answers to it.
const LARGE: usize = 256 * 1024;

/// Of a command that took or brought no more than this not much is expected, though all of its
/// request together was large: it may have been repeated often.
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
        let large = self.large.read();
        let is_expected = |command| {
            let known = self.hashes(command).map(|hash| large.get(&hash));
            (known.into_iter().flatten()).any(|until| *until > Instant::now())
        };
        size(commands) > LARGE || (!large.is_empty() && commands.cmd_iter().any(is_expected))
    }

    /// Remembers what was large.
    pub(crate) fn answered(&self, commands: &Pipeline, replies: &[Value]) {
        let sum = cost(replies).saturating_add(size(commands));
        if sum <= LARGE {
            return;
        }
        let least = LITTLE.max(sum / replies.len().max(1));
        let mut large = self.large.write();
        for (command, reply) in commands.cmd_iter().zip(replies) {
            let (wrote, brought) = (size_of(command), cost(slice::from_ref(reply)));
            if wrote.saturating_add(brought) < least {
                continue;
            }
            if large.len() >= REMEMBERED {
                large.clear();
            }
            let [read, written] = self.hashes(command);
            let learned = if wrote > brought { written } else { read };
            large.insert(learned, Instant::now() + EXPECTED);
        }
    }

    /// The same for all commands of this name about this key, of scripts also with this text; and
    /// for all about this key, if there is one.
    fn hashes(&self, command: &Cmd) -> [u64; 2] {
        let name = name(command);
        let (text, key) = match refuse::runs_script(&name) {
            true => (word(command, 1), word(command, 3)),
            false => (None, word(command, 1)),
        };
        let one = self.hasher.hash_one((name, text, key));
        [one, key.map_or(one, |key| self.hasher.hash_one(key))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(commands: &str) -> Pipeline {
        let mut request = Pipeline::new();
        for command in commands.split("; ") {
            let mut words = command.split(' ');
            let first = request.cmd(words.next().expect("a name"));
            words.fold(first, |request, word| request.arg(word));
        }
        request
    }

    fn text(length: usize) -> Value {
        Value::BulkString(vec![b'x'; length])
    }

    #[test]
    fn as_much_is_expected_of_the_same_command_about_the_same_key() {
        for (read, same, others) in [
            ("GET k", "get k", ["GET l", "STRLEN k"]),
            ("EVALSHA s 1 k", "EVALSHA s 1 k x", ["EVALSHA s 1 l", "GET k"]),
            ("GET small; GET k", "GET k", ["GET small", "GET l"]),
        ] {
            let (bulk, read) = (Bulk::default(), request(read));
            assert!(!bulk.expects(&read));
            let mut replies = vec![Value::Nil; read.len() - 1];
            replies.push(text(LARGE));
            bulk.answered(&read, &replies);
            assert!(bulk.expects(&request(same)), "{same}");
            let is_expected = |other| bulk.expects(&request(other));
            assert!(!others.into_iter().any(is_expected), "{others:?}");
        }
        let bulk = Bulk::default();
        let often = ["GET k"; 10_000].join("; ");
        bulk.answered(&request(&often), &vec![text(100); 10_000]);
        assert!(!bulk.expects(&request("GET k")));
        let large = request(&format!("SET k {}", "x".repeat(LARGE)));
        assert!(bulk.expects(&large));
        bulk.answered(&large, &[Value::Okay]);
        assert!(bulk.expects(&request("GET k")) && !bulk.expects(&request("GET l")));
    }
}
