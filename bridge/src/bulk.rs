//! Large requests and answers.
//!
//! On the shared connection, answers come in the order of the commands. A command behind a large
//! answer would wait for all of it. So large requests and answers use a connection of their own, a
//! few at a time.
//!
//! Nobody knows before an answer comes whether it will be large. So the bridge expects, for a
//! while:
//!
//! - the same size again, from a command that read so much of a key;
//! - the same size from every command that reads a key that was written with so much.
//!
//! It expects nothing of other keys or other commands. Otherwise a client that may only read could
//! have others' keys taken for large.

mod keys;

use std::collections::HashMap;
use std::hash::{BuildHasher as _, Hash, RandomState};
use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use redis::{Arg, Cmd, Pipeline, Value};

use self::keys::{Key, keys};
use crate::script_classifier::{name, words};

/// In bytes, of a request or an answer.
const LARGE: usize = 256 * 1024;

/// If a single command took or brought no more than this, its key is not taken for large, though
/// the whole request was. Otherwise a client that reads a small key often in one request would send
/// everybody's reads of that key apart. A piece of a pipeline has too few commands to be large by
/// them.
const LITTLE: usize = LARGE / 64;

/// What an argument counts for, in bytes, besides its own bytes.
const ARGUMENT: usize = 16;

/// How long a key is expected to be large.
const EXPECTED: Duration = Duration::from_secs(60);

/// With more keys than this, all are forgotten, and learned anew.
const REMEMBERED: usize = 4096;

/// At most this many keys are learned from one command.
const LIKELY: usize = 64;

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
        let all = commands.cmd_iter().zip(replies).zip(both());
        for ((command, reply), (size, weight)) in all {
            if size + weight < average.max(LITTLE) {
                continue;
            }
            let keys = match size > weight {
                true => self.written(command),
                false => self.read(command, reply),
            };
            if large.len() + keys.len() > REMEMBERED {
                large.clear();
            }
            let until = Instant::now() + EXPECTED;
            large.extend(keys.into_iter().map(|key| (key, until)));
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
        commands.cmd_iter().any(|command| {
            let name = name(command);
            (keys(&name, command).into_iter())
                .any(|key| is_large(self.hash(key)) || is_large(self.hash((&name, key))))
        })
    }

    /// The keys of which the command wrote much, in the form in which they are remembered.
    fn written(&self, command: &Cmd) -> Vec<u64> {
        let name = name(command);
        let amounts = match name.as_slice() {
            b"MSET" | b"MSETNX" => words(command).skip(2).step_by(2).map(<[u8]>::len).collect(),
            _ => Vec::new(),
        };
        let keys = of_most(keys(&name, command), &amounts);
        keys.into_iter().map(|key| self.hash(key)).collect()
    }

    /// The keys of which the command read much. Only this command is expected to read as much
    /// again.
    fn read(&self, command: &Cmd, reply: &Value) -> Vec<u64> {
        let name = name(command);
        let keys = keys(&name, command);
        let amounts = match reply {
            Value::Array(items) if items.len() == keys.len() => items.iter().map(weight).collect(),
            _ => Vec::new(),
        };
        let keys = of_most(keys, &amounts);
        keys.into_iter()
            .map(|key| self.hash((&name, key)))
            .collect()
    }

    fn hash(&self, what: impl Hash) -> u64 {
        self.hasher.hash_one(what)
    }
}

/// The keys that were large by the `amounts`. Without amounts, all keys that may have been. The
/// first key, if all were small.
fn of_most<'c>(keys: Vec<Key<'c>>, amounts: &[usize]) -> Vec<Key<'c>> {
    if amounts.len() != keys.len() {
        return keys.into_iter().take(LIKELY).collect();
    }
    let average = amounts.iter().sum::<usize>() / amounts.len().max(1);
    let is_much = |(_, amount): &(Key<'_>, &usize)| **amount >= average.max(LITTLE);
    let first = keys.first().copied();
    let most: Vec<_> = keys.into_iter().zip(amounts).filter(is_much).collect();
    match most.is_empty() {
        true => first.into_iter().collect(),
        false => most.into_iter().take(LIKELY).map(|(key, _)| key).collect(),
    }
}

/// The approximate size of a request.
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
    fn of_a_command_with_several_keys_each_is_known() {
        let bulk = Bulk::default();
        let half = Value::Array(vec![text(10), text(2 * LARGE), Value::Nil]);
        bulk.answered(&request(&["MGET", "a", "large", "b"]), &[half]);
        assert!(bulk.expects(&request(&["MGET", "new", "large"])));
        assert!(!bulk.expects(&request(&["MGET", "a", "b"])));

        let members = Value::Array(vec![text(LARGE / 100); 101]);
        let union = |keys: [&str; 2]| request(&["ZUNION", "2", keys[0], keys[1]]);
        bulk.answered(&union(["c", "d"]), &[members]);
        assert!(bulk.expects(&union(["new", "d"])) && bulk.expects(&union(["c", "new"])));
        assert!(!bulk.expects(&union(["2", "new"])));

        let value = "x".repeat(LARGE);
        bulk.answered(&request(&["MSET", "e", "x", "f", &value]), &[Value::Okay]);
        assert!(bulk.expects(&request(&["GET", "f"])) && !bulk.expects(&request(&["GET", "e"])));
    }

    #[test]
    fn many_values_that_are_small_each_are_known_by_the_first() {
        let bulk = Bulk::default();
        let mut many = vec!["MGET"];
        many.resize(1001, "k");
        many[1] = "first";
        let values = Value::Array(vec![text(LITTLE / 2); 1000]);
        bulk.answered(&request(&many), &[values]);
        assert!(bulk.expects(&request(&["MGET", "first"])));
        assert!(!bulk.expects(&request(&["MGET", "k"])));
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
