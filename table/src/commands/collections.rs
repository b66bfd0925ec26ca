//! Hashes, lists and sets.

use super::numbers::{int, span};
use crate::reply::{Outcome, Reply};
use crate::store::{Hash, Kind, List, Set};
use crate::table::Table;

/// What is in a key that may not be there.
fn content<K: Kind + Clone>(table: &mut Table, key: &[u8]) -> Result<K, String> {
    Ok(table.store.look::<K>(key)?.cloned().unwrap_or_default())
}

fn value_of(fields: &Hash, field: &[u8]) -> Reply {
    let found = fields.iter().find(|(name, _)| name == field);
    Reply::maybe(found.map(|(_, value)| value.as_slice()))
}

/// Whether the field is new.
fn put(fields: &mut Hash, field: &[u8], value: &[u8]) -> bool {
    match fields.iter_mut().find(|(name, _)| name == field) {
        Some((_, before)) => {
            *before = value.to_vec();
            false
        }
        None => {
            fields.push((field.to_vec(), value.to_vec()));
            true
        }
    }
}

pub(super) fn hget(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(value_of(&content(table, args[0])?, args[1]))
}

pub(super) fn hmget(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let fields = content(table, args[0])?;
    Ok(Reply::Array(args[1..].iter().map(|field| value_of(&fields, field)).collect()))
}

pub(super) fn hexists(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::is(hget(table, args)? != Reply::Nil))
}

pub(super) fn hset(table: &mut Table, args: &[&[u8]]) -> Outcome {
    if args.len().is_multiple_of(2) {
        return Err("ERR wrong number of arguments for 'hset' command".into());
    }
    let fields = table.store.open::<Hash>(args[0])?;
    let new = args[1..].chunks(2).filter(|pair| put(fields, pair[0], pair[1]));
    Ok(Reply::size(new.count()))
}

pub(super) fn hsetnx(table: &mut Table, args: &[&[u8]]) -> Outcome {
    match hget(table, args)? {
        Reply::Nil => hset(table, args),
        _ => Ok(Reply::Int(0)),
    }
}

pub(super) fn hdel(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let fields = table.store.open::<Hash>(args[0])?;
    let before = fields.len();
    fields.retain(|(field, _)| !args[1..].contains(&field.as_slice()));
    Ok(Reply::size(before - fields.len()))
}

pub(super) fn hlen(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::size(content::<Hash>(table, args[0])?.len()))
}

pub(super) fn hgetall(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let fields: Hash = content(table, args[0])?;
    Ok(Reply::list(fields.iter().flat_map(|(field, value)| [field, value])))
}

pub(super) fn hkeys(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let fields: Hash = content(table, args[0])?;
    Ok(Reply::list(fields.iter().map(|(field, _)| field)))
}

pub(super) fn hvals(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let fields: Hash = content(table, args[0])?;
    Ok(Reply::list(fields.iter().map(|(_, value)| value)))
}

pub(super) fn push(table: &mut Table, args: &[&[u8]], in_front: bool) -> Outcome {
    let list = table.store.open::<List>(args[0])?;
    for value in &args[1..] {
        match in_front {
            true => list.push_front(value.to_vec()),
            false => list.push_back(value.to_vec()),
        }
    }
    Ok(Reply::size(list.len()))
}

pub(super) fn pop(table: &mut Table, args: &[&[u8]], in_front: bool) -> Outcome {
    let list = table.store.open::<List>(args[0])?;
    Ok(Reply::maybe(if in_front { list.pop_front() } else { list.pop_back() }))
}

pub(super) fn llen(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::size(content::<List>(table, args[0])?.len()))
}

pub(super) fn lrange(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let (start, stop) = (int(args[1])?, int(args[2])?);
    let list: List = content(table, args[0])?;
    Ok(Reply::list(list.range(span(list.len(), start, stop))))
}

pub(super) fn lindex(table: &mut Table, args: &[&[u8]]) -> Outcome {
    // Checked in the order in which Redis checks.
    let list: List = content(table, args[0])?;
    if list.is_empty() {
        return Ok(Reply::Nil);
    }
    let at = int(args[1])?;
    let mut found = list.range(span(list.len(), at, at));
    Ok(Reply::maybe(found.next().cloned()))
}

pub(super) fn sadd(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let set = table.store.open::<Set>(args[0])?;
    let before = set.len();
    for member in &args[1..] {
        if let Err(at) = place(set, member) {
            set.insert(at, member.to_vec());
        }
    }
    Ok(Reply::size(set.len() - before))
}

fn place(set: &Set, member: &[u8]) -> Result<usize, usize> {
    set.binary_search_by(|own| own.as_slice().cmp(member))
}

pub(super) fn srem(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let set = table.store.open::<Set>(args[0])?;
    let before = set.len();
    set.retain(|own| !args[1..].contains(&own.as_slice()));
    Ok(Reply::size(before - set.len()))
}

pub(super) fn sismember(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let set = content::<Set>(table, args[0])?;
    Ok(Reply::is(place(&set, args[1]).is_ok()))
}

pub(super) fn scard(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::size(content::<Set>(table, args[0])?.len()))
}

pub(super) fn smembers(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::list(&content::<Set>(table, args[0])?))
}
