//! Which commands may ride on an acquisition, and which may be sent at all.

use super::keys::unmarked_key;
use crate::command::{Command, Reply};
use crate::error::Fault;
use crate::name::Name;
use crate::redact::Named;

/// Lua can pass no more than some thousand words to one command.
const MAX_WORDS: usize = 1000;

/// Of all commands together, where a word counts for [`OF_A_WORD`] bytes more. `npm/ts/command.ts`
/// has the same.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const OF_A_WORD: usize = 16;

const MARKED: &str = if cfg!(all(target_family = "wasm", feature = "host-json")) {
    r#"write it as { key: "…" }"#
} else {
    "append it by `Command::key`"
};

/// Commands that change nothing, so that they may run twice. A critical section reads with them.
/// Send all others with `exec`.
const READS: &str = "BITCOUNT BITPOS DBSIZE EXISTS GET GETBIT GETRANGE HEXISTS HGET HGETALL \
    HKEYS HLEN HMGET HSTRLEN HVALS LINDEX LLEN LPOS LRANGE MGET PTTL SCARD SISMEMBER SMEMBERS SMISMEMBER \
    STRLEN TIME TTL TYPE XLEN XRANGE ZCARD ZCOUNT ZRANGE ZRANK ZREVRANK ZSCORE";

/// The reads of an acquisition.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'a> {
    pub(crate) commands: &'a [Command],
    /// Whether they also run if the lock is held.
    pub(crate) in_any_case: bool,
}

impl Reads<'_> {
    pub(crate) const NONE: Self = Self { commands: &[], in_any_case: false };
}

/// # Errors
/// [`Error::InvalidArgument`] if they are not known to only read, or [`check_commands`].
pub(crate) fn check_reads(commands: &[Command]) -> Result<(), Fault> {
    check_commands(commands)?;
    let mut names = commands.iter().filter_map(|command| command.args().first());
    names.find(|name| !is_read(name)).map_or(Ok(()), |name| {
        Err(Fault::invalid(format!(
            "{} is not known as a command that only reads; send it with exec or commit",
            Named(name)
        )))
    })
}

fn is_read(name: &str) -> bool {
    let mut reads = READS.as_bytes().split(|byte| *byte == b' ');
    reads.any(|read| read.eq_ignore_ascii_case(name.as_bytes()))
}

/// # Errors
/// [`Error::InvalidArgument`] if one would write to the key of the lock itself, or
/// [`check_commands`].
pub(crate) fn check_writes(commands: &[Command], lock: &Name) -> Result<(), Fault> {
    check_commands(commands)?;
    let is_own =
        |key: &str| lock.key() == key || lock.others().iter().any(|other| other.key() == key);
    for (index, command) in commands.iter().enumerate() {
        let name = command.args().first().map_or("", |name| name);
        if !is_read(name) && command.keys().any(is_own) {
            return Err(Fault::invalid(format!(
                "command {index} ({}) would write to the key of the lock itself, which says who holds it; keep data under another key",
                Named(name)
            )));
        }
    }
    Ok(())
}

/// Whether commands can be sent.
///
/// # Errors
/// [`Error::InvalidArgument`] if they are too large, or one is not taken apart, or has a key that
/// is not marked.
fn check_commands(commands: &[Command]) -> Result<(), Fault> {
    let of_all = |words: &[String]| words.iter().map(|word| word.len() + OF_A_WORD).sum();
    let bytes = commands.iter().map(|command| -> usize { of_all(command.args()) });
    Fault::unless(
        bytes.sum::<usize>() <= MAX_BYTES,
        format_args!("the commands have more than {MAX_BYTES} bytes together; send less at once"),
    )?;
    commands.iter().enumerate().try_for_each(check_command)
}

fn check_command((index, command): (usize, &Command)) -> Result<(), Fault> {
    let name = command.args().first().map_or("", |name| name);
    let words = command.args().len();
    let why = if words > MAX_WORDS {
        format!("the command {} has {words} words, and may have {MAX_WORDS}; split it", Named(name))
    } else if name.bytes().any(|byte| byte.is_ascii_whitespace()) {
        format!(
            "{} is one word of command {index}: its name and each argument are words of their own",
            Named(name)
        )
    } else if let Some(place) = unmarked_key(command) {
        format!("word {place} of command {index} ({name}) is a key: {MARKED}")
    } else {
        return Ok(());
    };
    Err(Fault::invalid(why))
}

/// What a read replies if nothing is stored. `None` for a command that is not known here.
pub(crate) fn of_nothing(read: &Command) -> Option<Reply> {
    let (name, args) = read.args().split_first()?;
    let nils = |count: usize| Reply::Array(vec![Reply::Nil; count]);
    Some(match name.to_ascii_uppercase().as_str() {
        "GET" | "HGET" | "ZSCORE" | "ZRANK" | "LINDEX" => Reply::Nil,
        "EXISTS" | "HEXISTS" | "SISMEMBER" | "STRLEN" | "HLEN" | "SCARD" | "LLEN" | "ZCARD" => {
            Reply::Int(0)
        }
        "MGET" => nils(args.len()),
        "HMGET" => nils(args.len().checked_sub(1)?),
        "HGETALL" | "HKEYS" | "HVALS" | "SMEMBERS" | "LRANGE" | "ZRANGE" => nils(0),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_was_never_read_is_taken_for_empty() {
        let read = |words: [&str; 3]| {
            let command = Command::new(words[0]).key(words[1]).arg(words[2]);
            of_nothing(&command)
        };
        assert_eq!(read(["hget", "a", "b"]), Some(Reply::Nil));
        assert_eq!(read(["HMGET", "a", "b"]), Some(Reply::Array(vec![Reply::Nil])));
        assert_eq!(read(["SISMEMBER", "a", "b"]), Some(Reply::Int(0)));
        assert_eq!(read(["ZRANDMEMBER", "a", "1"]), None);
    }
}
