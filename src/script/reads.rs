//! Which commands may ride on an acquisition, and how large they may be.

use crate::command::Command;
use crate::error::Error;
use crate::redact::Named;

/// Lua can pass no more than some thousand words to one command.
const MAX_WORDS: usize = 1000;

/// Commands that change nothing, so that they may run twice. A critical section reads with them.
/// Send all others with `exec`.
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

/// The reads of an acquisition.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'a> {
    pub(crate) commands: &'a [Command],
    /// Whether they also run if the lock is held.
    pub(crate) in_any_case: bool,
}

impl Reads<'_> {
    pub(crate) const NONE: Self = Self {
        commands: &[],
        in_any_case: false,
    };
}

pub(crate) fn check_reads(commands: &[Command]) -> Result<(), Error> {
    for name in commands.iter().filter_map(|command| command.args().first()) {
        if !READS.contains(&name.to_ascii_uppercase().as_str()) {
            return Err(Error::invalid(format!(
                "{} is not known as a command that only reads; send it with exec or commit",
                Named(name)
            )));
        }
    }
    check_size(commands)
}

pub(crate) fn check_size(commands: &[Command]) -> Result<(), Error> {
    let is_long = |command: &&Command| command.args().len() > MAX_WORDS;
    let Some(long) = commands.iter().find(is_long) else {
        return Ok(());
    };
    let words = long.args();
    Err(Error::invalid(format!(
        "the command {} has {} words, and may have {MAX_WORDS}; split it",
        Named(words.first().map_or("", |name| name)),
        words.len()
    )))
}
