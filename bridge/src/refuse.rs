//! Commands that the bridge does not pass on.
//!
//! Its connections to Redis are shared. A command that changes the state of one would change the
//! meaning of other clients' commands. One that blocks would hold them up. One that administers the
//! server would harm everybody else who uses it.

use std::time::Duration;

use crate::command::{Command, as_compared};

/// Why `command` is refused, if it is. `timeout` bounds the commands that may wait for replicas.
pub(crate) fn check(command: &Command<'_>, timeout: Duration) -> Result<(), String> {
    let name = command.name();
    let reason = match name {
        // Redis may take it for the command that is called like the part before. No other check
        // knows that.
        _ if name.contains(&0) => NUL,
        b"BLPOP" | b"BRPOP" | b"BRPOPLPUSH" | b"BLMOVE" | b"BLMPOP" | b"BZPOPMIN" | b"BZPOPMAX"
        | b"BZMPOP" => BLOCKS,
        b"XREAD" | b"XREADGROUP" if blocks(command) => BLOCKS,
        b"WAIT" => return bounded(command, 2, timeout),
        b"WAITAOF" => return bounded(command, 3, timeout),
        b"SUBSCRIBE" => "use /subscribe/<channel>",
        b"PSUBSCRIBE" => "use /psubscribe/<pattern>",
        b"SSUBSCRIBE" | b"UNSUBSCRIBE" | b"PUNSUBSCRIBE" | b"SUNSUBSCRIBE" => STATE,
        b"MULTI" | b"EXEC" | b"DISCARD" => "use /multi-exec",
        b"WATCH" | b"UNWATCH" | b"SELECT" | b"AUTH" | b"HELLO" | b"RESET" | b"QUIT" => STATE,
        b"ASKING" | b"READONLY" | b"READWRITE" => STATE,
        b"MOVE" => LEAVES,
        b"COPY" if command.args_from(3).any(|word| as_compared(word) == b"DB") => LEAVES,
        b"CLIENT" if !HARMLESS.contains(&command.word(1).as_slice()) => STATE,
        b"SCRIPT" if command.word(1) == b"DEBUG" => STATE,
        b"MONITOR" | b"SYNC" | b"PSYNC" | b"REPLCONF" => STATE,
        b"ACL" | b"BGREWRITEAOF" | b"BGSAVE" | b"CLUSTER" | b"CONFIG" | b"DEBUG" | b"FAILOVER"
        | b"MIGRATE" => SERVER,
        b"POST" | b"HOST:" => CLOSES,
        b"MODULE" | b"PFDEBUG" | b"PFSELFTEST" | b"REPLICAOF" | b"RESTORE-ASKING" | b"SAVE"
        | b"SHUTDOWN" => SERVER,
        b"SLAVEOF" | b"SWAPDB" => SERVER,
        _ => return Ok(()),
    };
    Err(refusal(name, reason))
}

/// Why `command` is refused unless the operator allows it, if it is. Such a command throws away
/// others' data, scripts, or the server's records, or it stores functions.
pub(crate) fn check_dangerous(command: &Command<'_>) -> Result<(), String> {
    let name = command.name();
    let harmless: &[&[u8]] = match name {
        b"FLUSHALL" | b"FLUSHDB" | b"RESTORE" | b"SLOWLOG" | b"COMMANDLOG" | b"LATENCY"
        | b"LASTSAVE" | b"ROLE" => &[],
        b"SCRIPT" => &[b"LOAD", b"EXISTS", b"HELP"],
        b"FUNCTION" => &[b"LIST", b"DUMP", b"STATS", b"HELP"],
        b"MEMORY" => &[b"USAGE", b"HELP"],
        _ => return Ok(()),
    };
    match harmless.contains(&command.word(1).as_slice()) {
        true => Ok(()),
        false => Err(refusal(name, DANGEROUS)),
    }
}

/// Why `command` is refused in front of a cluster, if it is: clients would take one node's answer
/// for that of all. `is_first` says whether it is the first of its request.
pub(crate) fn check_in_cluster(command: &Command<'_>, is_first: bool) -> Result<(), String> {
    let name = command.name();
    let reason = match name {
        b"KEYS" | b"SCAN" | b"DBSIZE" | b"FLUSHALL" | b"FLUSHDB" | b"RANDOMKEY" | b"FUNCTION"
        | b"SCRIPT" | b"PUBSUB" | b"INFO" => ALL_NODES,
        _ if waits_for_replicas(name) && is_first => ITS_WRITE,
        _ => return Ok(()),
    };
    Err(refusal(name, reason))
}

/// Whether the command called `name` makes Redis hold back all that follows on its connection, and
/// is about the writes before it there.
pub(crate) fn waits_for_replicas(name: &[u8]) -> bool {
    matches!(name, b"WAIT" | b"WAITAOF")
}

/// Whether the command called `name` runs a script.
pub(crate) fn runs_script(name: &[u8]) -> bool {
    matches!(name, b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO")
}

/// As Redis puts it.
pub(crate) fn no_permission(name: &str) -> String {
    format!("NOPERM this user has no permissions to run the '{name}' command or its subcommand")
}

fn refusal(name: &[u8], reason: &str) -> String {
    let name = String::from_utf8_lossy(name);
    format!("ERR '{name}' is not served here: {reason}")
}

const NUL: &str = "its name has a NUL";
const BLOCKS: &str = "it blocks the connection, which others share";
const STATE: &str = "it changes the state of a connection that others share";
const LEAVES: &str = "it leaves the database";
const SERVER: &str = "it administers the server";
const DANGEROUS: &str = "it needs --dangerous-commands";
const CLOSES: &str = "Redis takes it for HTTP, and closes the connection, which others share";
const ALL_NODES: &str = "it is about all nodes of the cluster";
const ITS_WRITE: &str = "in front of a cluster it must follow the write in one /pipeline";

/// What may stand behind `CLIENT`.
const HARMLESS: [&[u8]; 5] = [b"", b"ID", b"INFO", b"GETNAME", b"SETINFO"];

/// Reads options as Redis does: in any order up to `STREAMS`. The word behind some of them is a
/// name or a number, whatever it looks like.
fn blocks(command: &Command<'_>) -> bool {
    let mut args = command.args_from(1);
    while let Some(arg) = args.next() {
        let values = match as_compared(arg).as_slice() {
            b"BLOCK" => return true,
            b"STREAMS" => return false,
            b"COUNT" => 1,
            b"GROUP" => 2,
            _ => 0,
        };
        args.by_ref().take(values).for_each(drop);
    }
    false
}

/// For Redis 0 means "for ever". Anything that is not a number is left to Redis to refuse.
///
/// A tenth of the time-out is left for the answer: a client that waits as long as Redis may take
/// would never get it.
fn bounded(command: &Command<'_>, index: usize, timeout: Duration) -> Result<(), String> {
    let longest = timeout * 9 / 10;
    let given = command.arg(index).and_then(|ms| str::from_utf8(ms).ok());
    match given.and_then(|ms| ms.parse::<u128>().ok()) {
        Some(ms) if ms == 0 || ms > longest.as_millis() => Err(format!(
            "ERR a wait for replicas must last from 1 to {} milliseconds here, nine tenths of --timeout",
            longest.as_millis()
        )),
        _ => Ok(()),
    }
}
