//! Takes the reply of a script apart. What an error text of Redis means: its code, and whether
//! anything was executed.

use std::time::Duration;

use crate::command::Reply;
use crate::error::{BadResponse, Error, Fault, Reason};
use crate::redact;
use crate::resp;

/// The verdict of each script that finds a record of another version. Nothing was executed.
const UNKNOWN_VERSION: i64 = -4;

pub(crate) fn shape() -> Fault {
    Fault::unexpected("not the reply of this script")
}

/// What says that the lock is the caller's, or was until now.
pub(crate) const YES: i64 = 1;

/// The verdict, and what follows the nonce. A reply without this request's nonce is another's,
/// whatever it says.
pub(crate) fn verdict<'r>(reply: &'r Reply, nonce: &str) -> Result<(i64, &'r [Reply]), Fault> {
    if let Reply::Error(text) = reply {
        return Err(refusal(text.clone()));
    }
    let Some([verdict, echo, rest @ ..]) = reply.as_array() else {
        return Err(shape());
    };
    let verdict = verdict.as_i64().ok_or_else(shape)?;
    if echo.as_str() != Some(nonce) {
        return Err(Fault::unexpected("the reply to another request"));
    }
    if verdict == UNKNOWN_VERSION {
        let what = "the lock is stored in the form of another version of edgelock";
        return Err(Fault::refused(what.into(), false));
    }
    Ok((verdict, rest))
}

/// The commands' replies.
pub(super) fn each_of(results: &Reply) -> Result<Vec<Reply>, Fault> {
    resp::parse(text(results)?).ok_or_else(shape)
}

/// The commands' replies; the first error among them is the error of all.
pub(super) fn results_of(results: &Reply) -> Result<Vec<Reply>, Fault> {
    results_in(text(results)?)
}

pub(super) fn results_in(text: &str) -> Result<Vec<Reply>, Fault> {
    let replies = resp::parse(text).ok_or_else(shape)?;
    for (index, reply) in replies.iter().enumerate() {
        if resp::is_left_out(reply) {
            return Err(Fault::bad(BadResponse::TooLarge));
        }
        if let Reply::Error(message) = reply {
            // The call knows the names.
            let (command, message) = (String::new(), message.clone());
            return Err(Error::CommandFailed { lock: None, index, command, message }.into());
        }
    }
    Ok(replies)
}

pub(super) fn millis_of(reply: &Reply) -> Result<Duration, Fault> {
    number(reply).map(Duration::from_millis)
}

pub(super) fn number(reply: &Reply) -> Result<u64, Fault> {
    let number = reply.as_i64().and_then(|number| u64::try_from(number).ok());
    number.ok_or_else(shape)
}

pub(super) fn text(reply: &Reply) -> Result<&str, Fault> {
    reply.as_str().ok_or_else(shape)
}

/// Redis's `PTTL`: -1 for a key without expiry.
pub(super) fn time_left(reply: &Reply) -> Result<Option<Duration>, Fault> {
    let ms = reply.about().ok_or_else(shape)?;
    Ok(u64::try_from(ms).ok().map(Duration::from_millis))
}

/// With which Redis begins what it says of a script that it did not execute, or that it broke off.
const CODES: &str = "ERR NOSCRIPT WRONGTYPE NOAUTH WRONGPASS NOPERM DENIED OOM MISCONF READONLY NOREPLICAS \
    LOADING BUSY CLUSTERDOWN MASTERDOWN TRYAGAIN CROSSSLOT MOVED ASK";

/// Codes that bridges in Rust write as the names that their library has for them.
const RENAMED: [(&str, &str); 2] = [("ResponseError", "ERR"), ("BusyLoadingError", "LOADING")];

/// Codes of a server in a state in which it writes nothing, and which will pass: a fail-over, a
/// restart, a slot's move.
const PASSING: &str = "LOADING BUSY CLUSTERDOWN MASTERDOWN TRYAGAIN READONLY NOREPLICAS";

/// Redis says these of the first write of a script, and never of a later one. So nothing was
/// executed (<https://github.com/redis/redis/blob/7.0/src/script.c>,
/// `scriptVerifyWriteCommandAllow` and `scriptVerifyOOM`).
const BEFORE_THE_FIRST_WRITE: [&str; 4] = ["READONLY", "NOREPLICAS", "MISCONF", "OOM"];

/// What Redis 6 and Upstash put before an error that a script raised.
const RAISED: &str = "ERR Error running script";

/// What Redis says in place of `NOAUTH` if the command is as large as a script of ours
/// (<https://github.com/redis/redis/blob/7.0/src/networking.c>, `processMultibulkBuffer`).
const LARGE_NOAUTH: &str = "ERR Protocol error: unauthenticated ";

/// What `edgelock-bridge` says in place of an answer that is larger than it may be.
const TOO_LARGE: &str = "TOOLARGE ";

/// An error of Redis, told by its code.
#[inline(never)]
fn refusal(text: String) -> Fault {
    if text.starts_with(TOO_LARGE) {
        return Fault::bad(BadResponse::TooLarge);
    }
    let code = code(&text);
    let is_first = !text.starts_with(RAISED) && BEFORE_THE_FIRST_WRITE.contains(&code);
    // The error was raised inside of the script, so the commands before the failing call were
    // executed. Without a code it may come from anybody.
    let may_have_run = code.is_empty() || is_raised(&text) && !is_first;
    let reason = reason(code, &text);
    let error = match code {
        "WRONGTYPE" => Fault::from(Error::WrongType { lock: String::new(), may_have_run }),
        "NOAUTH" | "WRONGPASS" | "NOPERM" => Fault::unauthorized(text),
        _ if PASSING.split(' ').any(|passing| passing == code) => {
            Fault::unavailable(text, may_have_run)
        }
        _ => Fault::refused(text, may_have_run),
    };
    error.because(reason)
}

/// What Redis, or an older one, says of our own commands if it has them not. It says the same of a
/// path that a bridge takes for a command.
const NO_SCRIPTS: [&str; 4] = [
    "unknown command 'EVAL'",
    "unknown command 'EVALSHA'",
    "unknown command `EVAL`",
    "unknown command `EVALSHA`",
];

/// What is known besides the code. The words are those of Redis 6 and later.
fn reason(code: &str, text: &str) -> Option<Reason> {
    let says = |words| redact::contains(text, words);
    match code {
        "NOAUTH" => Some(Reason::NoPassword),
        "NOPERM" if says(" key") => Some(Reason::ForbiddenKey),
        "NOPERM" if says(" command") => Some(Reason::ForbiddenCommand),
        "ERR" if NO_SCRIPTS.into_iter().any(says) => Some(Reason::NoScripts),
        "ERR" if says("unknown command") => Some(Reason::PathIsCommand),
        _ => None,
    }
}

/// Whether Redis does not know the digest of an `EVALSHA`.
pub(crate) fn is_unknown_script(reply: &Reply) -> bool {
    matches!(reply, Reply::Error(text) if code(text) == "NOSCRIPT")
}

/// Whether `text` is Redis's own error, and not that of a bridge or proxy.
pub(crate) fn is_error_of_redis(text: &str) -> bool {
    !code(text).is_empty()
}

fn is_raised(text: &str) -> bool {
    text.starts_with(RAISED)
        || text.starts_with("ERR user_script:")
        || redact::contains(text, "@user_script")
}

/// The code with which `text` begins; empty if it does not begin with one, even if it contains one.
fn code(text: &str) -> &'static str {
    if text.starts_with(LARGE_NOAUTH) {
        return "NOAUTH";
    }
    let is_place = |word: &&str| {
        let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b':');
        is_number || word.starts_with(['(', '@']) || *word == "to" || word.starts_with("f_")
    };
    if text.starts_with(RAISED) {
        let raised = text.split(' ').skip(4).find(|word| !is_place(word));
        // Redis 6 has the mark of an error there too.
        let word = raised.unwrap_or_default().trim_start_matches('-');
        return known(word).unwrap_or("ERR");
    }
    known(text.split(' ').next().unwrap_or_default()).unwrap_or_default()
}

/// The code for which `word` stands. Bridges in Rust quote it, or write `NoScript`; both put a
/// colon behind it.
fn known(word: &str) -> Option<&'static str> {
    let Some(name) = word.strip_suffix(':') else {
        return CODES.split(' ').find(|code| *code == word);
    };
    let name = name.trim_matches('"');
    let renamed = RENAMED.iter().find(|(renamed, _)| *renamed == name);
    renamed
        .map(|(_, code)| *code)
        .or_else(|| CODES.split(' ').find(|code| code.eq_ignore_ascii_case(name)))
}
