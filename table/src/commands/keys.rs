//! Keys of any type, and the server.

use super::SYNTAX;
use super::numbers::int;
use crate::reply::{Outcome, Reply};
use crate::store::Value;
use crate::table::Table;

pub(super) fn del(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let gone = args.iter().filter(|key| table.store.remove(key).is_some());
    Ok(Reply::size(gone.count()))
}

pub(super) fn exists(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let there = args.iter().filter(|key| table.store.any(key).is_some());
    Ok(Reply::size(there.count()))
}

pub(super) fn kind(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let kind = table.store.any(args[0]).map_or("none", |value| match value {
        Value::Text(_) => "string",
        Value::Hash(_) => "hash",
        Value::List(_) => "list",
        Value::Set(_) => "set",
        Value::Sorted(_) => "zset",
    });
    Ok(Reply::Status(kind.into()))
}

/// In units of so many milliseconds.
pub(super) fn ttl(table: &mut Table, args: &[&[u8]], unit: i64) -> Outcome {
    let now = table.store.now_ms();
    let left = |expires: i64| (expires - now + unit / 2) / unit;
    let expires = table.store.expires(args[0]);
    Ok(Reply::Int(expires.map_or(-2, |expires| expires.map_or(-1, left))))
}

pub(super) fn expire(table: &mut Table, args: &[&[u8]], unit: i64) -> Outcome {
    let ms = int(args[1])?.checked_mul(unit);
    let at = ms.and_then(|ms| table.store.now_ms().checked_add(ms));
    let name = if unit == 1 { "pexpire" } else { "expire" };
    let at = at.ok_or_else(|| format!("ERR invalid expire time in '{name}' command"))?;
    let is_over = at <= table.store.now_ms();
    let Some(expires) = table.store.expires(args[0]) else {
        return Ok(Reply::Int(0));
    };
    *expires = Some(at);
    if is_over {
        table.store.remove(args[0]);
    }
    Ok(Reply::Int(1))
}

pub(super) fn persist(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let ended = table.store.expires(args[0]).and_then(Option::take);
    Ok(Reply::is(ended.is_some()))
}

pub(super) fn dbsize(table: &mut Table, _: &[&[u8]]) -> Outcome {
    Ok(Reply::size(table.store.all(table.store.now_ms()).count()))
}

pub(super) fn flush(table: &mut Table, _: &[&[u8]]) -> Outcome {
    table.store.clear();
    Ok(Reply::ok())
}

pub(super) fn keys(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let all = table.store.all(table.store.now_ms());
    let found = all.filter(|(key, ..)| fits(key, args[0]));
    Ok(Reply::Array(found.map(|(key, ..)| Reply::Bulk(key.to_vec())).collect()))
}

/// Whether a text fits a pattern of `*`, `?` and `\`. Redis's sets in brackets are not known here.
fn fits(text: &[u8], pattern: &[u8]) -> bool {
    match pattern {
        [] => text.is_empty(),
        [b'*', rest @ ..] => (0..=text.len()).any(|at| fits(&text[at..], rest)),
        [b'?', rest @ ..] => !text.is_empty() && fits(&text[1..], rest),
        [b'\\', own, rest @ ..] | [own, rest @ ..] => {
            text.first() == Some(own) && fits(&text[1..], rest)
        }
    }
}

pub(super) fn ping(_: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(match args.first() {
        Some(text) => Reply::Bulk(text.to_vec()),
        None => Reply::Status("PONG".into()),
    })
}

pub(super) fn time(table: &mut Table, _: &[&[u8]]) -> Outcome {
    let now = table.store.now_us;
    let parts = [now / 1_000_000, now % 1_000_000];
    Ok(Reply::Array(parts.map(Reply::number).into()))
}

/// Clients read how long the server has been up.
pub(super) fn info(table: &mut Table, _: &[&[u8]]) -> Outcome {
    let seconds = table.uptime_us() / 1_000_000;
    Ok(Reply::number(format!("# Server\r\nredis_version:7.2.0\r\nuptime_in_seconds:{seconds}\r\n")))
}

impl Table {
    /// Who listens to which channels.
    pub(super) fn pubsub(&self, args: &[&[u8]]) -> Outcome {
        if !args[0].eq_ignore_ascii_case(b"NUMSUB") {
            return Err("ERR the table knows of PUBSUB only NUMSUB".into());
        }
        let counts = args[1..].iter().flat_map(|channel| {
            let count = Reply::size(self.count_listeners(channel));
            [Reply::Bulk(channel.to_vec()), count]
        });
        Ok(Reply::Array(counts.collect()))
    }

    /// What the table knows of scripts.
    pub(super) fn script(&mut self, args: &[&[u8]]) -> Outcome {
        match (args[0].to_ascii_uppercase().as_slice(), &args[1..]) {
            (b"FLUSH", _) => {
                self.forget_scripts();
                Ok(Reply::ok())
            }
            (b"LOAD", [source]) => Ok(Reply::number(self.load(source)?.0)),
            (b"EXISTS", digests) => {
                let known = digests.iter().map(|digest| Reply::is(self.knows(digest)));
                Ok(Reply::Array(known.collect()))
            }
            _ => Err(SYNTAX.into()),
        }
    }
}
