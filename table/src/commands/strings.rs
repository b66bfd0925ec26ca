//! Strings.

use super::SYNTAX;
use super::numbers::{int, span};
use crate::reply::{Outcome, Reply};
use crate::store::Text;
use crate::table::Table;

/// As Redis has it by default.
const LONGEST: usize = 512 * 1024 * 1024;

pub(super) fn get(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let text = table.store.look::<Text>(args[0])?;
    Ok(Reply::maybe(text.map(|text| text.clone())))
}

/// Of another type it tells nothing.
pub(super) fn mget(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let texts = args.iter().map(|key| get(table, &[key]).unwrap_or(Reply::Nil));
    Ok(Reply::Array(texts.collect()))
}

pub(super) fn getdel(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let found = get(table, args)?;
    table.store.remove(args[0]);
    Ok(found)
}

pub(super) fn strlen(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let text = table.store.look::<Text>(args[0])?;
    Ok(Reply::size(text.map_or(0, |text| text.len())))
}

pub(super) fn getrange(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let (start, stop) = (int(args[1])?, int(args[2])?);
    let text = table.store.look::<Text>(args[0])?;
    let text = text.map_or(&[][..], |text| text.as_slice());
    // An end before the first byte is that byte, unless the beginning is behind the end.
    let is_empty = start < 0 && stop < 0 && start > stop;
    let first = i64::try_from(text.len()).map_or(i64::MIN, |length| -length);
    let span = span(text.len(), start, stop.max(first));
    Ok(Reply::Bulk(if is_empty { Vec::new() } else { text[span].to_vec() }))
}

pub(super) fn setnx(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let set = set(table, &[args[0], args[1], b"NX"])?;
    Ok(Reply::is(set != Reply::Nil))
}

pub(super) fn mset(table: &mut Table, args: &[&[u8]]) -> Outcome {
    if args.len() % 2 == 1 {
        return Err("ERR wrong number of arguments for 'mset' command".into());
    }
    for pair in args.chunks(2) {
        table.store.put(pair[0], pair[1].to_vec(), None);
    }
    Ok(Reply::ok())
}

#[derive(Default)]
struct Options<'a> {
    only_new: bool,
    only_old: bool,
    keeps: bool,
    gets: bool,
    /// A time, and of how many milliseconds each.
    lasts: Option<(&'a [u8], i64)>,
}

fn options<'a>(words: &[&'a [u8]]) -> Result<Options<'a>, String> {
    let mut options = Options::default();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let lasts = options.lasts.is_some() || options.keeps;
        match word.to_ascii_uppercase().as_slice() {
            b"NX" if !options.only_old => options.only_new = true,
            b"XX" if !options.only_new => options.only_old = true,
            b"GET" => options.gets = true,
            b"KEEPTTL" if options.lasts.is_none() => options.keeps = true,
            b"PX" if !lasts => options.lasts = Some((words.next().ok_or(SYNTAX)?, 1)),
            b"EX" if !lasts => options.lasts = Some((words.next().ok_or(SYNTAX)?, 1_000)),
            _ => return Err(SYNTAX.into()),
        }
    }
    Ok(options)
}

pub(super) fn set(table: &mut Table, args: &[&[u8]]) -> Outcome {
    set_by(table, args, "set")
}

pub(super) fn setex(table: &mut Table, args: &[&[u8]]) -> Outcome {
    set_by(table, &[args[0], args[2], b"EX", args[1]], "setex")
}

fn set_by(table: &mut Table, args: &[&[u8]], name: &str) -> Outcome {
    let (key, options) = (args[0], options(&args[2..])?);
    let now = table.store.now_ms();
    let mut expires = match options.lasts {
        None => None,
        Some((time, unit)) => {
            let ms = int(time)?.checked_mul(unit).filter(|ms| *ms > 0);
            let at = ms.and_then(|ms| now.checked_add(ms));
            Some(at.ok_or_else(|| format!("ERR invalid expire time in '{name}' command"))?)
        }
    };
    let found = if options.gets { get(table, &[key])? } else { Reply::Nil };
    let before = table.store.expires(key).copied();
    if options.only_new && before.is_some() || options.only_old && before.is_none() {
        return Ok(found);
    }
    if options.keeps {
        expires = before.flatten();
    }
    table.store.put(key, args[1].to_vec(), expires);
    Ok(if options.gets { found } else { Reply::ok() })
}

pub(super) fn append(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let text = table.store.open::<Text>(args[0])?;
    text.extend_from_slice(args[1]);
    Ok(Reply::size(text.len()))
}

pub(super) fn setrange(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let at = usize::try_from(int(args[1])?).map_err(|_| "ERR offset is out of range")?;
    let value = args[2];
    if value.is_empty() {
        return strlen(table, args);
    }
    let end = at.saturating_add(value.len());
    if end > LONGEST {
        strlen(table, args)?;
        return Err("ERR string exceeds maximum allowed size (proto-max-bulk-len)".into());
    }
    let text = table.store.open::<Text>(args[0])?;
    text.resize(text.len().max(end), 0);
    text[at..end].copy_from_slice(value);
    Ok(Reply::size(text.len()))
}
