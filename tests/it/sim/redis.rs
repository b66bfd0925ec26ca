//! A model of Redis: the commands that the scripts and the clients of a world use, by the
//! simulation's clock.
//!
//! It refuses what it does not know, so a script that uses more makes the model grow.
//! `differential.rs` compares it with a real `redis-server`.

mod collections;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::hash::{Hash, Hasher};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Nil,
    Int(i64),
    Bulk(Vec<u8>),
    Status(String),
    Error(String),
    Array(Vec<Self>),
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nil => f.write_str("nil"),
            Self::Int(number) => write!(f, "{number}"),
            Self::Bulk(bytes) => write!(f, "{:?}", String::from_utf8_lossy(bytes)),
            Self::Status(text) => f.write_str(text),
            Self::Error(text) => write!(f, "error {text:?}"),
            Self::Array(replies) => {
                let replies: Vec<_> = replies.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", replies.join(" "))
            }
        }
    }
}

#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(Vec<u8>),
    /// In the order of insertion, as Redis keeps small hashes.
    Hash(Vec<(Vec<u8>, Vec<u8>)>),
    /// Ordered by score, and then by member.
    Sorted(Vec<(f64, Vec<u8>)>),
}

#[derive(Clone)]
struct Entry {
    value: Value,
    /// In milliseconds of Redis's clock.
    expires: Option<i64>,
}

/// A client that listens, by the number of its stream.
pub(crate) type Listener = u64;

/// The data of a Redis.
#[derive(Clone, Default)]
pub(crate) struct Db {
    keys: BTreeMap<Vec<u8>, Entry>,
    pub(crate) now_us: i64,
    /// When the server was started, by its own clock.
    pub(crate) started_us: i64,
    /// The digests of the scripts that it knows.
    pub(crate) scripts: BTreeSet<String>,
    pub(crate) listeners: BTreeMap<Vec<u8>, Vec<Listener>>,
    /// Listeners at another node of a cluster. They hear messages, and are not counted.
    pub(crate) elsewhere: BTreeMap<Vec<u8>, Vec<Listener>>,
    /// How many commands have written something. A connection that wrote nothing waits for no
    /// replica.
    pub(crate) written: u64,
    /// Messages that were published, and not delivered yet.
    pub(crate) outbox: Vec<(Listener, Vec<u8>)>,
}

/// What is left of the keys after a crash without persistence, or a fail-over to a replica that is
/// behind.
pub(crate) struct Snapshot(BTreeMap<Vec<u8>, Entry>);

/// As Redis has it by default.
const LONGEST_TEXT: usize = 512 * 1024 * 1024;

const SYNTAX: &str = "ERR syntax error";
const NOT_INT: &str = "ERR value is not an integer or out of range";
const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

type Outcome = Result<Reply, String>;

impl Db {
    pub(crate) fn execute(&mut self, words: &[&[u8]]) -> Reply {
        let Some((name, args)) = words.split_first() else {
            return Reply::Error("ERR empty command".into());
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        let outcome = match arity(&name) {
            None => Err(format!("ERR unknown command '{name}'")),
            Some((least, most)) if args.len() < least || args.len() > most => Err(format!(
                "ERR wrong number of arguments for '{}' command",
                name.to_lowercase()
            )),
            Some(_) => self.run(&name, args),
        };
        self.written += u64::from(outcome.as_ref().is_ok_and(|reply| writes(&name, reply)));
        outcome.unwrap_or_else(Reply::Error)
    }

    fn run(&mut self, name: &str, args: &[&[u8]]) -> Outcome {
        match name {
            "GET" => Ok(self.text(args[0])?.map_or(Reply::Nil, Reply::Bulk)),
            "SET" => self.set(args[0], args[1], &args[2..]),
            "MGET" => Ok(self.texts(args)),
            "APPEND" => self.append(args[0], args[1]),
            "SETRANGE" => self.overwrite(args[0], int(args[1])?, args[2]),
            "INCR" => self.add(args[0], 1),
            "INCRBY" => self.add(args[0], int(args[1])?),
            "DECRBY" => self.add(
                args[0],
                int(args[1])?
                    .checked_neg()
                    .ok_or("ERR decrement would overflow")?,
            ),
            "DEL" => Ok(count(args, |key| self.take(key))),
            "EXISTS" => Ok(count(args, |key| self.live(key).is_some())),
            "PTTL" => Ok(Reply::Int(self.left(args[0]))),
            "PEXPIRE" => self.expire(args[0], int(args[1])?),
            "HGET" => self.hash_get(args[0], args[1]),
            "HSET" => self.hash_set(args[0], &args[1..]),
            "HDEL" => self.hash_remove(args[0], &args[1..]),
            "HINCRBY" => self.hash_add(args[0], args[1], int(args[2])?),
            "HLEN" => Ok(Reply::Int(size(self.hash(args[0])?.len()))),
            "HGETALL" => self.hash_all(args[0]),
            "ZADD" => self.sorted_add(args[0], &args[1..]),
            "ZREM" => self.sorted_remove(args[0], &args[1..]),
            "ZCARD" => Ok(Reply::Int(size(self.sorted(args[0])?.len()))),
            "ZCOUNT" => self.count_between(args[0], args[1], args[2]),
            "ZRANGE" => self.range(args[0], args[1], args[2], &args[3..]),
            "ZRANGEBYSCORE" => self.range_between(args[0], args[1], args[2], &args[3..]),
            "ZRANK" => self.rank(args[0], args[1]),
            "ZSCORE" => self.score(args[0], args[1]),
            "ZMSCORE" => self.scores(args[0], &args[1..]),
            "TIME" => Ok(Reply::Array(vec![
                bulk(self.now_us / 1_000_000),
                bulk(self.now_us % 1_000_000),
            ])),
            "INFO" => Ok(self.info()),
            "PUBLISH" => Ok(self.publish(args[0], args[1])),
            "PUBSUB" => self.listening(args[0], &args[1..]),
            "FLUSHALL" => {
                self.keys.clear();
                Ok(Reply::Status("OK".into()))
            }
            _ => Err(format!("ERR the model does not know '{name}'")),
        }
    }

    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot(self.keys.clone())
    }

    pub(crate) fn restore(&mut self, snapshot: &Snapshot) {
        self.keys.clone_from(&snapshot.0);
    }

    /// All keys that have not expired, each with its value and its time to live in milliseconds.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], &Value, Option<i64>)> {
        let now = self.now_ms();
        (self.keys.iter())
            .filter(move |(_, entry)| !is_over(entry, now))
            .map(move |(key, entry)| {
                let left = entry.expires.map(|expires| expires - now);
                (key.as_slice(), &entry.value, left)
            })
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        let entry = self.keys.get(key.as_bytes())?;
        (!is_over(entry, self.now_ms())).then_some(&entry.value)
    }

    /// Hashes all that the outcome of a command can depend on.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        (self.now_us, self.started_us).hash(hasher);
        self.scripts.hash(hasher);
        self.listeners.hash(hasher);
        for (key, value, left) in self.all() {
            (key, left).hash(hasher);
            match value {
                Value::Text(text) => text.hash(hasher),
                Value::Hash(fields) => fields.hash(hasher),
                Value::Sorted(members) => {
                    for (score, member) in members {
                        (score.to_bits(), member).hash(hasher);
                    }
                }
            }
        }
    }

    pub(crate) const fn now_ms(&self) -> i64 {
        self.now_us / 1_000
    }

    fn live(&mut self, key: &[u8]) -> Option<&mut Entry> {
        let now = self.now_ms();
        if self.keys.get(key).is_some_and(|entry| is_over(entry, now)) {
            self.keys.remove(key);
        }
        self.keys.get_mut(key)
    }

    fn take(&mut self, key: &[u8]) -> bool {
        self.live(key).is_some() && self.keys.remove(key).is_some()
    }

    fn put(&mut self, key: &[u8], value: Value) {
        let expires = self.live(key).and_then(|entry| entry.expires);
        self.keys.insert(key.to_owned(), Entry { value, expires });
    }

    fn text(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
        match self.live(key).map(|entry| &entry.value) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text.clone())),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    /// Of another type it tells nothing.
    fn texts(&mut self, keys: &[&[u8]]) -> Reply {
        let texts = keys.iter().map(|key| self.text(key).ok().flatten());
        Reply::Array(
            texts
                .map(|text| text.map_or(Reply::Nil, Reply::Bulk))
                .collect(),
        )
    }

    fn set(&mut self, key: &[u8], value: &[u8], options: &[&[u8]]) -> Outcome {
        let (mut only_new, mut only_old, mut ms, mut keeps) = (false, false, None, false);
        let mut options = options.iter();
        while let Some(option) = options.next() {
            match option.to_ascii_uppercase().as_slice() {
                b"NX" if !only_old => only_new = true,
                b"XX" if !only_new => only_old = true,
                b"KEEPTTL" if ms.is_none() => keeps = true,
                b"PX" if ms.is_none() && !keeps => ms = Some(*options.next().ok_or(SYNTAX)?),
                _ => return Err(SYNTAX.into()),
            }
        }
        let ms = ms.map(int).transpose()?;
        let now = self.now_ms();
        let expires = ms.map(|ms| now.checked_add(ms).filter(|_| ms > 0));
        if expires == Some(None) {
            return Err("ERR invalid expire time in 'set' command".into());
        }
        let before = self.live(key).map(|entry| entry.expires);
        let is_there = before.is_some();
        if only_new && is_there || only_old && !is_there {
            return Ok(Reply::Nil);
        }
        let entry = Entry {
            value: Value::Text(value.to_owned()),
            expires: expires
                .flatten()
                .or_else(|| before.flatten().filter(|_| keeps)),
        };
        self.keys.insert(key.to_owned(), entry);
        Ok(Reply::Status("OK".into()))
    }

    fn append(&mut self, key: &[u8], value: &[u8]) -> Outcome {
        let mut text = self.text(key)?.unwrap_or_default();
        text.extend_from_slice(value);
        let length = size(text.len());
        self.put(key, Value::Text(text));
        Ok(Reply::Int(length))
    }

    fn overwrite(&mut self, key: &[u8], at: i64, value: &[u8]) -> Outcome {
        let at = usize::try_from(at).map_err(|_| "ERR offset is out of range")?;
        let mut text = self.text(key)?.unwrap_or_default();
        if !value.is_empty() {
            let end = at + value.len();
            if end > LONGEST_TEXT {
                return Err("ERR string exceeds maximum allowed size (proto-max-bulk-len)".into());
            }
            text.resize(text.len().max(end), 0);
            text[at..end].copy_from_slice(value);
            self.put(key, Value::Text(text.clone()));
        }
        Ok(Reply::Int(size(text.len())))
    }

    fn add(&mut self, key: &[u8], by: i64) -> Outcome {
        let before = self.text(key)?.map_or(Ok(0), |text| int(&text))?;
        let after = sum(before, by)?;
        self.put(key, Value::Text(after.to_string().into_bytes()));
        Ok(Reply::Int(after))
    }

    /// What `PTTL` answers.
    fn left(&mut self, key: &[u8]) -> i64 {
        let now = self.now_ms();
        self.live(key).map_or(-2, |entry| {
            entry.expires.map_or(-1, |expires| expires - now)
        })
    }

    fn expire(&mut self, key: &[u8], ms: i64) -> Outcome {
        let now = self.now_ms();
        let expires =
            (now.checked_add(ms)).ok_or("ERR invalid expire time in 'pexpire' command")?;
        let Some(entry) = self.live(key) else {
            return Ok(Reply::Int(0));
        };
        entry.expires = Some(expires);
        if ms <= 0 {
            self.keys.remove(key);
        }
        Ok(Reply::Int(1))
    }

    fn publish(&mut self, channel: &[u8], message: &[u8]) -> Reply {
        let listeners = |of: &BTreeMap<_, Vec<_>>| of.get(channel).cloned().unwrap_or_default();
        let here = listeners(&self.listeners);
        let count = size(here.len());
        let all = here.into_iter().chain(listeners(&self.elsewhere));
        (self.outbox).extend(all.map(|to| (to, message.to_owned())));
        Reply::Int(count)
    }

    fn listening(&self, question: &[u8], channels: &[&[u8]]) -> Outcome {
        if !question.eq_ignore_ascii_case(b"NUMSUB") {
            return Err("ERR the model knows of PUBSUB only NUMSUB".into());
        }
        let count = |channel: &[u8]| self.listeners.get(channel).map_or(0, Vec::len);
        Ok(Reply::Array(
            (channels.iter())
                .flat_map(|channel| {
                    [
                        Reply::Bulk(channel.to_vec()),
                        Reply::Int(size(count(channel))),
                    ]
                })
                .collect(),
        ))
    }
}

/// How many arguments a command takes, at least and at most; `None` if the model does not know it.
pub(crate) fn arity(name: &str) -> Option<(usize, usize)> {
    Some(match name {
        "TIME" | "FLUSHALL" => (0, 0),
        "GET" | "INCR" | "PTTL" | "HGETALL" | "HLEN" | "ZCARD" | "INFO" => (1, 1),
        "APPEND" | "INCRBY" | "DECRBY" | "PEXPIRE" | "HGET" | "ZRANK" | "ZSCORE" | "PUBLISH" => {
            (2, 2)
        }
        "HINCRBY" | "SETRANGE" | "ZCOUNT" => (3, 3),
        "ZRANGE" | "ZRANGEBYSCORE" => (3, 4),
        "DEL" | "EXISTS" | "MGET" | "PUBSUB" => (1, usize::MAX),
        "SET" | "ZREM" | "HDEL" | "ZMSCORE" => (2, usize::MAX),
        "ZADD" | "HSET" => (3, usize::MAX),
        _ => return None,
    })
}

/// Whether a command with this reply has written something.
fn writes(name: &str, reply: &Reply) -> bool {
    match name {
        "SET" | "APPEND" | "SETRANGE" | "INCR" | "INCRBY" | "DECRBY" | "HINCRBY" | "HSET"
        | "ZADD" | "FLUSHALL" => *reply != Reply::Nil,
        "DEL" | "PEXPIRE" | "ZREM" | "HDEL" => *reply != Reply::Int(0),
        _ => false,
    }
}

/// A key lives through the millisecond in which it expires.
fn is_over(entry: &Entry, now_ms: i64) -> bool {
    entry.expires.is_some_and(|expires| now_ms > expires)
}

fn count(keys: &[&[u8]], mut found: impl FnMut(&[u8]) -> bool) -> Reply {
    Reply::Int(size(keys.iter().filter(|key| found(key)).count()))
}

/// Redis accepts a number only in the form in which it would write it itself.
fn int(text: &[u8]) -> Result<i64, String> {
    (std::str::from_utf8(text).ok())
        .and_then(|text| text.parse::<i64>().ok().filter(|n| n.to_string() == text))
        .ok_or_else(|| NOT_INT.into())
}

fn sum(before: i64, by: i64) -> Result<i64, String> {
    before
        .checked_add(by)
        .ok_or_else(|| "ERR increment or decrement would overflow".into())
}

fn size(count: usize) -> i64 {
    i64::try_from(count).expect("a small count")
}

fn bulk(number: i64) -> Reply {
    Reply::Bulk(number.to_string().into_bytes())
}
