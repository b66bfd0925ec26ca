//! What is large: requests, and answers.
//!
//! On the connection that all share, answers come in the order of the commands: whoever asks behind a large one waits for all of it.
//! So what is large goes over a connection of its own, a few at a time. Whether an answer will be large is not known before it comes;
//! but what a command read of a key is expected to be as large for a while, and so is all that is read of a key that was written with
//! so much. Of another key, or by another command, nothing is expected: else who may only read could have others' keys taken for large.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, Pipeline, Value};

use crate::pace::{name, word};

/// In bytes, of a request or an answer.
const LARGE: usize = 256 * 1024;

/// What a single command took or brought is too little to take its key for large, though there were many of them in a request: whoever
/// reads a small key often enough would have it read apart from then on, by all. A piece of a pipeline has not enough of these to be large.
const LITTLE: usize = LARGE / 64;

/// What an argument costs besides its bytes.
const ARGUMENT: usize = 16;

/// For how long a key is expected to be large.
const EXPECTED: Duration = Duration::from_secs(60);

/// Beyond so many keys all are forgotten, and found out anew.
const REMEMBERED: usize = 4096;

#[derive(Default)]
pub(crate) struct Bulk {
    /// By the hashes of their names.
    large: RwLock<HashMap<u64, Instant>>,
    hasher: RandomState,
}

impl Bulk {
    /// Whether the request is large, or its answer may be.
    pub(crate) fn expects(&self, commands: &Pipeline) -> bool {
        size(commands) > LARGE || self.knows(commands)
    }

    /// Remembers what was large.
    pub(crate) fn answered(&self, commands: &Pipeline, replies: &[Value]) {
        let weights = replies.iter().map(weight);
        let both = || commands.cmd_iter().map(size_of).zip(weights.clone());
        let sum: usize = both().map(|(size, weight)| size + weight).sum();
        if sum <= LARGE {
            return;
        }
        let average = sum / replies.len().max(1);
        let mut large = self.large.write().unwrap_or_else(PoisonError::into_inner);
        for (command, (size, weight)) in commands.cmd_iter().zip(both()) {
            if size + weight < average.max(LITTLE) {
                continue;
            }
            if large.len() >= REMEMBERED {
                large.clear();
            }
            let key = match size > weight {
                true => self.key(command),
                false => self.read(command),
            };
            large.insert(key, Instant::now() + EXPECTED);
        }
    }

    fn knows(&self, commands: &Pipeline) -> bool {
        let large = self.large.read().unwrap_or_else(PoisonError::into_inner);
        if large.is_empty() {
            return false;
        }
        let is_large = |key| {
            let until = large.get(&key);
            until.is_some_and(|until| *until > Instant::now())
        };
        commands
            .cmd_iter()
            .any(|command| is_large(self.key(command)) || is_large(self.read(command)))
    }

    /// A command and its key.
    fn read(&self, command: &Cmd) -> u64 {
        self.hasher.hash_one((name(command), self.key(command)))
    }

    /// Of most commands the first argument; of scripts also their first key, since one script serves many.
    fn key(&self, command: &Cmd) -> u64 {
        let initial = word(command, 0).and_then(|name| name.first());
        let key = match initial.map(u8::to_ascii_uppercase) {
            Some(b'E' | b'F') => word(command, 3),
            _ => None,
        };
        self.hasher.hash_one((word(command, 1), key))
    }
}

/// Of a request, about.
pub(crate) fn size(commands: &Pipeline) -> usize {
    commands.cmd_iter().map(size_of).sum()
}

fn size_of(command: &Cmd) -> usize {
    let sizes = command.args_iter().map(|arg| match arg {
        Arg::Simple(bytes) => bytes.len() + ARGUMENT,
        _ => ARGUMENT,
    });
    sizes.sum()
}

fn weight(reply: &Value) -> usize {
    match reply {
        Value::BulkString(bytes) => bytes.len(),
        Value::SimpleString(text) => text.len(),
        Value::Array(items) => items.len() + items.iter().map(weight).sum::<usize>(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(words: &[&str]) -> Pipeline {
        let mut request = Pipeline::new();
        let mut words = words.iter();
        let command = request.cmd(words.next().expect("a name"));
        words.for_each(|word| {
            command.arg(*word);
        });
        request
    }

    fn text(length: usize) -> Value {
        Value::BulkString(vec![b'x'; length])
    }

    #[test]
    fn a_key_that_was_read_or_written_with_much_is_expected_to_be_large() {
        let bulk = Bulk::default();
        let get = request(&["GET", "k"]);
        assert!(!bulk.expects(&get));
        bulk.answered(&get, &[text(LARGE)]);
        assert!(bulk.expects(&get) && bulk.expects(&request(&["get", "k"])));
        assert!(!bulk.expects(&request(&["GET", "l"])));

        let set = request(&["SET", "l", &"x".repeat(LARGE)]);
        assert!(bulk.expects(&set));
        bulk.answered(&set, &[Value::Okay]);
        assert!(bulk.expects(&request(&["GET", "l"])));

        let list = Value::Array(vec![text(LARGE / 100); 101]);
        bulk.answered(&request(&["LRANGE", "m", "0", "-1"]), &[list]);
        assert!(bulk.expects(&request(&["LRANGE", "m", "0", "-1"])));
    }

    #[test]
    fn a_key_is_not_taken_for_large_since_another_was_read_with_it() {
        let bulk = Bulk::default();
        let both = request(&["MGET", "k", "large"]);
        bulk.answered(&both, &[Value::Array(vec![Value::Nil, text(2 * LARGE)])]);
        assert!(bulk.expects(&both) && !bulk.expects(&request(&["GET", "k"])));
    }

    #[test]
    fn a_script_is_large_for_the_key_for_which_it_was() {
        let bulk = Bulk::default();
        let script = |key| request(&["EVALSHA", "sha", "1", key]);
        bulk.answered(&script("k"), &[text(2 * LARGE)]);
        assert!(bulk.expects(&script("k")) && !bulk.expects(&script("l")));
    }

    #[test]
    fn many_answers_to_one_request_are_large_together() {
        let bulk = Bulk::default();
        let mut request = request(&["GET", "small"]);
        (0..100).for_each(|_| {
            request.cmd("GET").arg("k");
        });
        let mut replies = vec![Value::Nil];
        replies.resize(101, text(LARGE / 20));
        bulk.answered(&request, &replies);
        assert!(bulk.expects(&self::request(&["GET", "k"])));
        assert!(!bulk.expects(&self::request(&["GET", "small"])));
    }

    #[test]
    fn a_key_is_not_taken_for_large_since_it_was_read_often() {
        let bulk = Bulk::default();
        let mut often = Pipeline::new();
        (0..10_000).for_each(|_| {
            often.cmd("GET").arg("k");
        });
        bulk.answered(&often, &vec![text(100); 10_000]);
        assert!(!bulk.expects(&request(&["GET", "k"])));
    }

    #[test]
    fn only_so_many_keys_are_remembered() {
        let bulk = Bulk::default();
        for key in 0..REMEMBERED + 10 {
            bulk.answered(&request(&["GET", &key.to_string()]), &[text(2 * LARGE)]);
        }
        assert_eq!(bulk.large.read().expect("no panic").len(), 10);
    }
}
