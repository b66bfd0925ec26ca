//! Executes commands and scripts.

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
#[derive(Default)]
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
                Reply::Error(format!(
                    "ERR wrong number of arguments for '{name}' command"
                ))
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

    /// From now on, what is published on the channel is among [`Table::take_messages`].
    pub fn listen(&mut self, channel: &[u8]) -> Listener {
        self.next_listener += 1;
        self.listeners.insert(self.next_listener, channel.to_vec());
        self.next_listener
    }

    /// A listener has gone.
    pub fn hang_up(&mut self, listener: Listener) {
        self.listeners.remove(&listener);
    }

    /// What was published since the last call, and to whom.
    pub fn take_messages(&mut self) -> Vec<(Listener, Vec<u8>)> {
        std::mem::take(&mut self.messages)
    }

    fn set_time(&mut self, now_us: i64) {
        self.store.now_us = now_us;
        self.started_us.get_or_insert(now_us);
    }

    pub(crate) fn uptime_us(&self) -> i64 {
        self.store.now_us - self.started_us.unwrap_or_default()
    }

    pub(crate) fn count_listeners(&self, channel: &[u8]) -> usize {
        let heard = self.listeners.iter();
        heard.filter(|(_, heard)| heard == channel).count()
    }

    pub(crate) fn publish(&mut self, channel: &[u8], message: &[u8]) -> Reply {
        let heard = self.listeners.iter().filter(|(_, heard)| heard == channel);
        let before = self.messages.len();
        self.messages
            .extend(heard.map(|(listener, _)| (*listener, message.to_vec())));
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
}

/// The commands of scripts.
impl Host for Table {
    fn command(&mut self, words: &[Text]) -> Reply {
        let words: Vec<&[u8]> = words.iter().map(|word| &word[..]).collect();
        let name = String::from_utf8_lossy(words[0]).to_ascii_uppercase();
        match commands::find(&name) {
            None => Reply::Error(format!(
                "ERR Unknown Redis command called from script: {}",
                known()
            )),
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

fn known() -> String {
    format!("edgelock/testing knows {}", commands::names())
}
