//! A Redis of a world: the table of `edgelock/testing` by the simulation's clock, and what a world
//! needs of it besides. `differential.rs` compares it with a real `redis-server`.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};

use edgelock_table::Table;
pub(crate) use edgelock_table::{Listener, Reply, Value};

/// The data of a Redis.
#[derive(Clone)]
pub(crate) struct Db {
    pub(crate) table: Table,
    /// The digests of the scripts that it knows.
    pub(crate) scripts: BTreeSet<String>,
    /// Listeners at another node of a cluster. They hear messages, and are not counted.
    pub(crate) elsewhere: BTreeMap<Listener, Vec<u8>>,
    /// How many commands have written something. A connection that wrote nothing waits for no
    /// replica.
    pub(crate) written: u64,
    /// Messages that were published, and not delivered yet.
    pub(crate) outbox: Vec<(Listener, Vec<u8>)>,
}

/// A server that has been up for long.
impl Default for Db {
    fn default() -> Self {
        let mut table = Table::default();
        table.start(0);
        Self {
            table,
            scripts: BTreeSet::new(),
            elsewhere: BTreeMap::new(),
            written: 0,
            outbox: Vec::new(),
        }
    }
}

impl Db {
    /// Executes a command, as a script does.
    pub(crate) fn call(&mut self, words: &[&[u8]]) -> Reply {
        let reply = self.table.call(words);
        let name = words.first().map(|name| name.to_ascii_uppercase());
        match name.as_deref().unwrap_or_default() {
            b"PUBLISH" => {
                self.outbox.append(&mut self.table.take_messages());
                let theirs = self.elsewhere.iter().filter(|(_, own)| *own == words[1]);
                self.outbox.extend(theirs.map(|(to, _)| (*to, words[2].to_owned())));
            }
            name => self.written += u64::from(writes(name, &reply)),
        }
        reply
    }

    /// All keys that have not expired, each with its value and its time to live in milliseconds.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&[u8], &Value, Option<i64>)> {
        let (now, all) = (self.now_ms(), self.table.keys(self.table.now_us()));
        all.map(move |(key, value, ends)| (key, value, ends.map(|ends| ends - now)))
    }

    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.table.value(key.as_bytes())
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.table.now_us() / 1_000
    }

    /// The keys are those of another server: after a crash without persistence, or a fail-over to a
    /// replica that is behind.
    pub(crate) fn restore(&mut self, snapshot: &Table) {
        let now = self.table.now_us();
        self.table.clone_from(snapshot);
        self.table.set_time(now);
    }

    /// Only these listeners are still there.
    pub(crate) fn keep_listeners(&mut self, stays: impl Fn(Listener) -> bool) {
        let gone: Vec<_> = self.table.listeners().filter(|one| !stays(*one)).collect();
        gone.into_iter().for_each(|one| self.table.hang_up(one));
        self.elsewhere.retain(|one, _| stays(*one));
    }

    /// Hashes all that the outcome of a command can depend on.
    pub(crate) fn feed(&self, hasher: &mut impl Hasher) {
        self.table.hash(hasher);
        self.scripts.hash(hasher);
    }
}

/// Whether a command with this reply has written something.
fn writes(name: &[u8], reply: &Reply) -> bool {
    match name {
        b"SET" | b"APPEND" | b"SETRANGE" | b"INCR" | b"INCRBY" | b"DECRBY" | b"HINCRBY"
        | b"HSET" | b"ZADD" | b"FLUSHALL" => !matches!(reply, Reply::Nil | Reply::Error(_)),
        b"DEL" | b"PEXPIRE" | b"ZREM" | b"HDEL" => {
            matches!(reply, Reply::Int(count) if *count != 0)
        }
        _ => false,
    }
}
