//! Executes commands and scripts.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use crate::commands;
use crate::digest;
use crate::lua::{Host, Script, Text};
use crate::map::Map;
use crate::reply::{Outcome, Reply};
use crate::store::{Store, Value};

/// One that listens to a channel.
pub type Listener = u64;

/// A Redis that lives in this struct: it does no I/O, and has no clock. Each call is told the time.
///
/// ```
/// use edgelock_table::{Reply, Table};
///
/// let mut table = Table::default();
/// let seconds = |at: i64| at * 1_000_000;
/// table.execute(seconds(0), &[b"SET", b"greeting", b"hello", b"PX", b"5000"]);
/// let found = table.execute(seconds(5), &[b"GET", b"greeting"]);
/// assert_eq!(found, Reply::Bulk(b"hello".to_vec()));
/// assert_eq!(table.execute(seconds(6), &[b"GET", b"greeting"]), Reply::Nil);
/// ```
#[derive(Clone, Default)]
pub struct Table {
    pub(crate) store: Store,
    started_us: Option<i64>,
    /// By their digests.
    scripts: Map<String, Arc<Script>>,
    listeners: Map<Listener, Vec<u8>>,
    next_listener: Listener,
    messages: Vec<(Listener, Vec<u8>)>,
}

impl Table {
    /// Executes a command at this time, in microseconds of the table's clock. An unknown command is
    /// an error that names those that the table knows.
    pub fn execute(&mut self, now_us: i64, words: &[&[u8]]) -> Reply {
        self.set_time(now_us);
        let Some((name, args)) = words.split_first() else {
            return Reply::Error("ERR empty command".into());
        };
        let name = String::from_utf8_lossy(name).to_ascii_uppercase();
        match commands::find(&name) {
            None => Reply::Error(format!("ERR unknown command '{name}': {}", known())),
            Some(command) if command.takes(args.len()) => command.run(self, args),
            Some(_) => {
                let name = name.to_ascii_lowercase();
                Reply::Error(format!("ERR wrong number of arguments for '{name}' command"))
            }
        }
    }

    /// The commands that the table knows.
    pub fn commands() -> impl Iterator<Item = &'static str> {
        commands::ALL.iter().map(|command| command.name)
    }

    /// All keys that are not over at this time, each with its value, and with when it ends in
    /// milliseconds.
    pub fn keys(&self, now_us: i64) -> impl Iterator<Item = (&[u8], &Value, Option<i64>)> {
        self.store.all(now_us / 1_000)
    }

    /// What is under this key now.
    pub fn value(&self, key: &[u8]) -> Option<&Value> {
        self.store.value(key)
    }

    /// As if it had been started at this time.
    pub fn start(&mut self, at_us: i64) {
        self.started_us = Some(at_us);
    }

    /// From now on, what is published on the channel is among [`Table::take_messages`].
    pub fn listen(&mut self, channel: &[u8]) -> Listener {
        self.next_listener += 1;
        self.listen_as(self.next_listener, channel);
        self.next_listener
    }

    /// The same, for a listener whose number the caller has chosen.
    pub fn listen_as(&mut self, listener: Listener, channel: &[u8]) {
        self.listeners.insert(listener, channel.to_vec());
    }

    /// Those that listen.
    pub fn listeners(&self) -> impl Iterator<Item = Listener> {
        self.listeners.iter().map(|(listener, _)| *listener)
    }

    /// A listener has gone.
    pub fn hang_up(&mut self, listener: Listener) {
        self.listeners.remove(&listener);
    }

    /// What was published since the last call, and to whom.
    pub fn take_messages(&mut self) -> Vec<(Listener, Vec<u8>)> {
        std::mem::take(&mut self.messages)
    }

    /// Turns its clock, on or back.
    pub fn set_time(&mut self, now_us: i64) {
        self.store.now_us = now_us;
        self.started_us.get_or_insert(now_us);
    }

    /// What its clock shows, in microseconds.
    pub fn now_us(&self) -> i64 {
        self.store.now_us
    }

    /// For how long it has been up, in microseconds.
    pub fn uptime_us(&self) -> i64 {
        self.store.now_us - self.started_us.unwrap_or_default()
    }

    pub(crate) fn count_listeners(&self, channel: &[u8]) -> usize {
        let heard = self.listeners.iter();
        heard.filter(|(_, heard)| heard == channel).count()
    }

    pub(crate) fn publish(&mut self, channel: &[u8], message: &[u8]) -> Reply {
        let heard = self.listeners.iter().filter(|(_, heard)| heard == channel);
        let before = self.messages.len();
        self.messages.extend(heard.map(|(listener, _)| (*listener, message.to_vec())));
        Reply::size(self.messages.len() - before)
    }

    pub(crate) fn knows(&self, digest: &[u8]) -> bool {
        std::str::from_utf8(digest).is_ok_and(|digest| self.scripts.get(digest).is_some())
    }

    pub(crate) fn forget_scripts(&mut self) {
        self.scripts.clear();
    }

    /// A script, and its digest.
    pub(crate) fn load(&mut self, source: &[u8]) -> Result<(String, Arc<Script>), String> {
        let digest = digest(source);
        if let Some(script) = self.scripts.get(&digest) {
            return Ok((digest, script.clone()));
        }
        let parsed = Script::parse(source);
        let failed = |why| format!("ERR Error compiling script (new function): {why}");
        let script = Arc::new(parsed.map_err(failed)?);
        self.scripts.insert(digest.clone(), script.clone());
        Ok((digest, script))
    }

    pub(crate) fn eval(&mut self, args: &[&[u8]]) -> Outcome {
        let (digest, script) = self.load(args[0])?;
        self.run(&digest, &script, &args[1..])
    }

    pub(crate) fn evalsha(&mut self, args: &[&[u8]]) -> Outcome {
        let digest = String::from_utf8_lossy(args[0]).to_ascii_lowercase();
        let known = self.scripts.get(&digest).cloned();
        let script = known.ok_or("NOSCRIPT No matching script. Please use EVAL.")?;
        self.run(&digest, &script, &args[1..])
    }

    /// Runs a script whole. If it fails midway, what it has written stays.
    fn run(&mut self, digest: &str, script: &Script, args: &[&[u8]]) -> Outcome {
        let (count, words) = (commands::int(args[0])?, &args[1..]);
        let count = usize::try_from(count).map_err(|_| "ERR Number of keys can't be negative")?;
        let (keys, args) = words
            .split_at_checked(count)
            .ok_or("ERR Number of keys can't be greater than number of args")?;
        Ok(script.run(digest, self, keys, args))
    }

    /// Executes a command as `redis.pcall` of a script does.
    pub fn call(&mut self, words: &[&[u8]]) -> Reply {
        let name = String::from_utf8_lossy(words[0]).to_ascii_uppercase();
        match commands::find(&name) {
            None => {
                Reply::Error(format!("ERR Unknown Redis command called from script: {}", known()))
            }
            Some(_) if matches!(&*name, "EVAL" | "EVALSHA" | "SCRIPT") => {
                Reply::Error("ERR This Redis command is not allowed from script".into())
            }
            Some(command) if command.takes(words.len() - 1) => command.run(self, &words[1..]),
            Some(_) => {
                Reply::Error("ERR Wrong number of args calling Redis command from script".into())
            }
        }
    }
}

/// The commands of scripts.
impl Host for Table {
    fn command(&mut self, words: &[Text]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        self.call(&words)
    }
}

/// All that an answer can depend on.
impl Hash for Table {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (self.store.now_us, self.uptime_us()).hash(hasher);
        (self.scripts.iter()).for_each(|(digest, _)| digest.hash(hasher));
        self.listeners.iter().for_each(|one| one.hash(hasher));
        self.keys(self.store.now_us).for_each(|key| key.hash(hasher));
    }
}

fn known() -> String {
    format!("edgelock/testing knows {}", commands::names())
}
