//! Each operation as a Redis command.

use std::time::Duration;

use super::text::{ABANDON, ACQUIRE, FORCE_RELEASE, INSPECT, READ, RELEASE, RENEW, Script};
use crate::command::Command;
use crate::error::Error;
use crate::name::Name;
use crate::token::{Session, Token};

/// One run of a script, without the nonce: each request draws its own.
pub(crate) struct Call {
    script: &'static Script,
    key_count: String,
    keys: Vec<String>,
    args: Vec<String>,
    /// What must not be quoted, should a bridge say it back.
    secret: Option<Token>,
}

/// Which write of a lease this is, so that a repeat runs nothing twice.
pub(crate) struct Write<'a> {
    pub(crate) session: &'a Session,
    pub(crate) number: u64,
    pub(crate) commands: &'a [Command],
}

impl Call {
    pub(crate) fn acquire(name: &Name, token: &Token, ttl: Duration, reads: &[Command]) -> Self {
        Self::new(&ACQUIRE, name)
            .keys([
                name.companion("fence"),
                gone(name, token),
                receipt(name, token),
            ])
            .token(token)
            .args([millis(ttl)])
            .commands(reads)
    }

    pub(crate) fn renew(name: &Name, token: &Token, ttl: Duration, write: &Write<'_>) -> Self {
        Self::new(&RENEW, name)
            .keys([receipt(name, token)])
            .token(token)
            .args([
                write.session.as_str().to_owned(),
                write.number.to_string(),
                millis(ttl),
            ])
            .commands(write.commands)
    }

    pub(crate) fn release(name: &Name, token: &Token, write: &Write<'_>) -> Self {
        Self::new(&RELEASE, name)
            .keys([receipt(name, token)])
            .token(token)
            .args([write.session.as_str().to_owned(), write.number.to_string()])
            .commands(write.commands)
    }

    pub(crate) fn abandon(name: &Name, token: &Token) -> Self {
        Self::new(&ABANDON, name)
            .keys([gone(name, token)])
            .token(token)
            .commands(&[])
    }

    pub(crate) fn inspect(name: &Name) -> Self {
        Self::new(&INSPECT, name)
            .keys([name.companion("fence")])
            .commands(&[])
    }

    pub(crate) fn force_release(name: &Name) -> Self {
        Self::new(&FORCE_RELEASE, name).commands(&[])
    }

    pub(crate) fn read(reads: &[Command]) -> Self {
        Self::without_lock(&READ).commands(reads)
    }

    fn new(script: &'static Script, name: &Name) -> Self {
        Self::without_lock(script).keys([name.key().to_owned()])
    }

    fn without_lock(script: &'static Script) -> Self {
        Self {
            script,
            key_count: String::new(),
            keys: Vec::new(),
            args: Vec::new(),
            secret: None,
        }
    }

    fn keys<const N: usize>(mut self, keys: [String; N]) -> Self {
        self.keys.extend(keys);
        self
    }

    fn token(mut self, token: &Token) -> Self {
        self.secret = Some(token.clone());
        self.args([token.expose().to_owned()])
    }

    fn args<const N: usize>(mut self, args: [String; N]) -> Self {
        self.args.extend(args);
        self
    }

    /// The last step: each command as the number of its words, then the words.
    fn commands(mut self, commands: &[Command]) -> Self {
        for command in commands {
            self.keys.extend(command.keys().map(str::to_owned));
            self.args.push(command.words().len().to_string());
            self.args.extend(command.words().iter().cloned());
        }
        self.key_count = self.keys.len().to_string();
        self
    }

    pub(crate) const fn script(&self) -> &'static Script {
        self.script
    }

    /// `EVAL` or `EVALSHA` with everything that belongs to it.
    pub(crate) fn words<'a>(
        &'a self,
        verb: &'a str,
        script: &'a str,
        nonce: &'a str,
    ) -> Vec<&'a str> {
        let mut words = vec![verb, script, self.key_count.as_str()];
        words.extend(self.keys.iter().map(String::as_str));
        words.push(nonce);
        words.extend(self.args.iter().map(String::as_str));
        words
    }

    /// `text` from outside without this call's token.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.secret.as_ref().map_or_else(
            || text.to_owned(),
            |token| text.replace(token.expose(), "…"),
        )
    }
}

/// Lua can pass no more than some thousand words to one command.
const MAX_WORDS: usize = 1000;

/// Commands that change nothing, so that they may run twice: what a critical section reads with. Any other can be sent with
/// `exec`.
const READS: [&str; 37] = [
    "BITCOUNT",
    "BITPOS",
    "DBSIZE",
    "EXISTS",
    "GET",
    "GETBIT",
    "GETRANGE",
    "HEXISTS",
    "HGET",
    "HGETALL",
    "HKEYS",
    "HLEN",
    "HMGET",
    "HSTRLEN",
    "HVALS",
    "LINDEX",
    "LLEN",
    "LPOS",
    "LRANGE",
    "MGET",
    "PTTL",
    "SCARD",
    "SISMEMBER",
    "SMEMBERS",
    "SMISMEMBER",
    "STRLEN",
    "TIME",
    "TTL",
    "TYPE",
    "XLEN",
    "XRANGE",
    "ZCARD",
    "ZCOUNT",
    "ZRANGE",
    "ZRANK",
    "ZREVRANK",
    "ZSCORE",
];

pub(crate) fn check_reads(commands: &[Command]) -> Result<(), Error> {
    for name in commands
        .iter()
        .filter_map(|command| command.words().first())
    {
        if !READS.contains(&name.to_ascii_uppercase().as_str()) {
            return Err(Error::InvalidArgument(format!(
                "{name} is not known as a command that only reads; send it with exec or commit"
            )));
        }
    }
    check_size(commands)
}

pub(crate) fn check_size(commands: &[Command]) -> Result<(), Error> {
    if commands
        .iter()
        .any(|command| command.words().len() > MAX_WORDS)
    {
        return Err(Error::InvalidArgument(format!(
            "a command has over {MAX_WORDS} words"
        )));
    }
    Ok(())
}

fn gone(name: &Name, token: &Token) -> String {
    name.companion(&format!("gone:{}", token.expose()))
}

fn receipt(name: &Name, token: &Token) -> String {
    name.companion(&format!("receipt:{}", token.expose()))
}

fn millis(ttl: Duration) -> String {
    ttl.as_millis().to_string()
}
