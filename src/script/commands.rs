//! Which commands may ride on an acquisition, which may be sent at all, and where Redis' commands
//! have their keys: a key that is not marked is refused before it is sent. `npm/test/keys.ts`
//! compares these with what Redis itself says.

use crate::command::{Command, Reply};
use crate::error::Fault;
use crate::name::Name;
use crate::outside::number;
use crate::redact::Named;

/// Lua can pass no more than some thousand words to one command.
const MAX_WORDS: usize = 1000;

/// Of all commands together, where a word counts for [`OF_A_WORD`] bytes more. `npm/ts/command.ts`
/// has the same.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const OF_A_WORD: usize = 16;

const MARKED: &str =
    if cfg!(npm) { r#"write it as { key: "…" }"# } else { "append it by `Command::key`" };

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

/// Where a command has keys. Places are counted from the name, which is 0.
struct Keys {
    /// These are.
    at: &'static [usize],
    more: More,
}

enum More {
    Nothing,
    /// All from this place on, or each `step`th.
    All {
        from: usize,
        step: usize,
    },
    /// The word at this place says how many follow it.
    Counted(usize),
    /// From this place on stand options. The value of `key` is one, and that of `other` is none,
    /// though it may be called as an option is.
    Options {
        from: usize,
        key: &'static [&'static str],
        other: &'static [&'static str],
    },
    /// The first half of all behind `STREAMS`, which stands at this place or later.
    Streams(usize),
}

/// By the letter behind a command's name in [`NAMES`].
const KEYS: [Keys; 14] = {
    use More::{All, Counted, Nothing, Options, Streams};
    const fn keys(at: &'static [usize], more: More) -> Keys {
        Keys { at, more }
    }
    const fn options(
        from: usize,
        key: &'static [&'static str],
        other: &'static [&'static str],
    ) -> More {
        Options { from, key, other }
    }
    [
        keys(&[1], Nothing),
        keys(&[1, 2], Nothing),
        keys(&[2], Nothing),
        keys(&[], All { from: 1, step: 1 }),
        keys(&[], All { from: 1, step: 2 }),
        keys(&[], All { from: 2, step: 1 }),
        keys(&[], Counted(1)),
        keys(&[], Counted(2)),
        keys(&[1], Counted(2)),
        keys(&[1], options(2, &["STORE"], &["BY", "GET"])),
        keys(&[1], options(5, &["STORE", "STOREDIST"], &[])),
        keys(&[1], options(6, &["STORE", "STOREDIST"], &[])),
        keys(&[], Streams(1)),
        keys(&[], Streams(4)),
    ]
};

/// The commands that Redis runs in a script, by their first letters. Others pass.
const NAMES: [&str; 26] = [
    "APPENDa",
    "BITCOUNTa BITFIELD_ROa BITFIELDa BITOPf BITPOSa BLMPOPh BZMPOPh",
    "COPYb",
    "DECRBYa DECRa DELd DUMPa",
    "EXISTSd EXPIREATa EXPIRETIMEa EXPIREa",
    "",
    "GEOADDa GEODISTa GEOHASHa GEOPOSa GEORADIUSBYMEMBER_ROa GEORADIUSBYMEMBERk \
     GEORADIUS_ROa GEORADIUSl GEOSEARCHSTOREb GEOSEARCHa GETBITa GETDELa GETEXa GETRANGEa \
     GETSETa GETa",
    "HDELa HEXISTSa HEXPIREATa HEXPIRETIMEa HEXPIREa HGETALLa HGETDELa HGETEXa HGETa \
     HINCRBYFLOATa HINCRBYa HKEYSa HLENa HMGETa HMSETa HPERSISTa HPEXPIREATa HPEXPIRETIMEa \
     HPEXPIREa HPTTLa HRANDFIELDa HSCANa HSETEXa HSETNXa HSETa HSTRLENa HTTLa HVALSa",
    "INCRBYFLOATa INCRBYa INCRa",
    "",
    "",
    "LCSb LINDEXa LINSERTa LLENa LMOVEb LMPOPg LPOPa LPOSa LPUSHXa LPUSHa LRANGEa LREMa \
     LSETa LTRIMa",
    "MEMORYc MGETd MOVEa MSETNXe MSETe",
    "",
    "OBJECTc",
    "PERSISTa PEXPIREATa PEXPIRETIMEa PEXPIREa PFADDa PFCOUNTd PFMERGEd PSETEXa PTTLa",
    "",
    "RENAMENXb RENAMEb RESTOREa RPOPLPUSHb RPOPa RPUSHXa RPUSHa",
    "SADDa SCARDa SDIFFSTOREd SDIFFd SETBITa SETEXa SETNXa SETRANGEa SETa SINTERCARDg \
     SINTERSTOREd SINTERd SISMEMBERa SMEMBERSa SMISMEMBERa SMOVEb SORT_ROa SORTj SPOPa \
     SRANDMEMBERa SREMa SSCANa STRLENa SUBSTRa SUNIONSTOREd SUNIONd",
    "TOUCHd TTLa TYPEa",
    "UNLINKd",
    "",
    "",
    "XACKa XADDa XAUTOCLAIMa XCLAIMa XDELa XGROUPc XINFOc XLENa XPENDINGa XRANGEa \
     XREADGROUPn XREADm XREVRANGEa XSETIDa XTRIMa",
    "",
    "ZADDa ZCARDa ZCOUNTa ZDIFFSTOREi ZDIFFg ZINCRBYa ZINTERCARDg ZINTERSTOREi ZINTERg \
     ZLEXCOUNTa ZMPOPg ZMSCOREa ZPOPMAXa ZPOPMINa ZRANDMEMBERa ZRANGEBYLEXa ZRANGEBYSCOREa \
     ZRANGESTOREb ZRANGEa ZRANKa ZREMRANGEBYLEXa ZREMRANGEBYRANKa ZREMRANGEBYSCOREa ZREMa \
     ZREVRANGEBYLEXa ZREVRANGEBYSCOREa ZREVRANGEa ZREVRANKa ZSCANa ZSCOREa ZUNIONSTOREi \
     ZUNIONg",
];

/// The place of a key that is not marked, if one is not.
#[inline(never)]
fn unmarked_key(command: &Command) -> Option<usize> {
    let words = command.args();
    let (end, Keys { at, more }) = (words.len(), keys_of(words.first()?)?);
    let is_unmarked = |place: &usize| *place < end && !command.is_key(*place);
    if let Some(place) = at.iter().find(|place| is_unmarked(place)) {
        return Some(*place);
    }
    let (from, to, step) = match *more {
        More::Nothing => return None,
        More::All { from, step } => (from, end, step),
        More::Counted(place) => {
            let count = words.get(place).and_then(|count| number(count));
            let count = count.map_or(0, |count| count as usize);
            (place + 1, end.min(count.saturating_add(place + 1)), 1)
        }
        More::Options { from, key, other } => return unmarked_value(command, from, key, other),
        More::Streams(from) => {
            let is_mark = |(place, word): &(usize, &String)| {
                *place >= from && !command.is_key(*place) && word.eq_ignore_ascii_case("STREAMS")
            };
            let mark = words.iter().enumerate().find(is_mark);
            let behind = mark.map_or(end, |(mark, _)| mark + 1);
            (behind, behind + (end - behind).div_ceil(2), 1)
        }
    };
    let mut places = (from..to).filter(|place| (place - from).is_multiple_of(step));
    places.find(is_unmarked)
}

/// The same of the values of options.
fn unmarked_value(command: &Command, from: usize, key: &[&str], other: &[&str]) -> Option<usize> {
    let (words, mut place) = (command.args(), from);
    while let Some(word) = words.get(place) {
        let is = |options: &[&str]| {
            let mut options = options.iter();
            !command.is_key(place) && options.any(|option| word.eq_ignore_ascii_case(option))
        };
        let value = place + 1;
        if is(key) && value < words.len() && !command.is_key(value) {
            return Some(value);
        }
        place += if is(key) || is(other) { 2 } else { 1 };
    }
    None
}

fn keys_of(name: &str) -> Option<&'static Keys> {
    let letter = name.bytes().next()?.to_ascii_uppercase().checked_sub(b'A')?;
    let names = NAMES.get(usize::from(letter))?.as_bytes();
    let kind = names.split(|byte| *byte == b' ').find_map(|known| {
        let (kind, known) = known.split_last()?;
        known.eq_ignore_ascii_case(name.as_bytes()).then_some(kind)
    });
    KEYS.get(usize::from(kind? - b'a'))
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
