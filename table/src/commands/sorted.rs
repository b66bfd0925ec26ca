//! Sorted sets.

use super::SYNTAX;
use super::numbers::{float, int, span};
use crate::reply::{Outcome, Reply};
use crate::store::Sorted;
use crate::table::Table;

fn members(table: &mut Table, key: &[u8]) -> Result<Sorted, String> {
    Ok(table.store.look::<Sorted>(key)?.map_or_else(Vec::new, |members| members.clone()))
}

#[derive(Default)]
struct Options {
    only_new: bool,
    only_old: bool,
    only_less: bool,
    only_greater: bool,
    counts_changes: bool,
}

/// The options, and what follows them.
fn options<'w, 'a>(words: &'w [&'a [u8]]) -> Result<(Options, &'w [&'a [u8]]), String> {
    let mut options = Options::default();
    let mut rest = words;
    while let [word, behind @ ..] = rest {
        match word.to_ascii_uppercase().as_slice() {
            b"NX" => options.only_new = true,
            b"XX" => options.only_old = true,
            b"LT" => options.only_less = true,
            b"GT" => options.only_greater = true,
            b"CH" => options.counts_changes = true,
            _ => break,
        }
        rest = behind;
    }
    if rest.is_empty() || rest.len() % 2 == 1 {
        return Err(SYNTAX.into());
    }
    if options.only_new && options.only_old {
        return Err("ERR XX and NX options at the same time are not compatible".into());
    }
    let bounds = [options.only_less, options.only_greater, options.only_new];
    if bounds.iter().filter(|is| **is).count() > 1 {
        return Err("ERR GT, LT, and/or NX options at the same time are not compatible".into());
    }
    Ok((options, rest))
}

pub(super) fn zadd(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let (options, rest) = options(&args[1..])?;
    let pairs: Vec<(f64, &[u8])> = (rest.chunks(2))
        .map(|pair| Ok((float(pair[0])?, pair[1])))
        .collect::<Result<_, String>>()?;
    let members = table.store.open::<Sorted>(args[0])?;
    let (mut added, mut changed) = (0, 0);
    for (score, member) in pairs {
        let is_kept = match members.iter().find(|(_, other)| other == member) {
            None => options.only_old,
            Some((known, _)) => {
                options.only_new
                    || options.only_less && *known <= score
                    || options.only_greater && *known >= score
                    || *known == score
            }
        };
        if is_kept {
            continue;
        }
        match place(members, score, member) {
            true => changed += 1,
            false => added += 1,
        }
    }
    Ok(Reply::size(if options.counts_changes { added + changed } else { added }))
}

/// Puts a member where its score says. Returns whether it was there before.
fn place(members: &mut Sorted, score: f64, member: &[u8]) -> bool {
    let before = members.iter().position(|(_, other)| other == member);
    if let Some(before) = before {
        members.remove(before);
    }
    let at = members.partition_point(|(other, name)| {
        *other < score || *other == score && name.as_slice() < member
    });
    members.insert(at, (score, member.to_owned()));
    before.is_some()
}

pub(super) fn zincrby(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let by = float(args[1])?;
    let members = table.store.open::<Sorted>(args[0])?;
    let known = members.iter().find(|(_, member)| member == args[2]);
    let score = known.map_or(0.0, |(score, _)| *score) + by;
    if score.is_nan() {
        return Err("ERR resulting score is not a number (NaN)".into());
    }
    place(members, score, args[2]);
    Ok(Reply::number(score))
}

/// Removes those for which it says so.
fn remove(table: &mut Table, key: &[u8], is_gone: impl Fn(f64, &[u8]) -> bool) -> Outcome {
    let members = table.store.open::<Sorted>(key)?;
    let before = members.len();
    members.retain(|(score, member)| !is_gone(*score, member));
    Ok(Reply::size(before - members.len()))
}

pub(super) fn zrem(table: &mut Table, args: &[&[u8]]) -> Outcome {
    remove(table, args[0], |_, member| args[1..].contains(&member))
}

pub(super) fn zremrangebyscore(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let between = between(args[1], args[2])?;
    remove(table, args[0], |score, _| between(score))
}

pub(super) fn zcard(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(Reply::size(members(table, args[0])?.len()))
}

pub(super) fn zcount(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let between = between(args[1], args[2])?;
    let members = members(table, args[0])?;
    Ok(Reply::size(members.iter().filter(|(score, _)| between(*score)).count()))
}

pub(super) fn zrange(table: &mut Table, args: &[&[u8]]) -> Outcome {
    // Checked in the order in which Redis checks.
    let with_scores = with_scores(&args[3..])?;
    let (start, stop) = (int(args[1])?, int(args[2])?);
    let members = members(table, args[0])?;
    let found = members[span(members.len(), start, stop)].iter();
    Ok(listed(found, with_scores))
}

pub(super) fn zrangebyscore(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let with_scores = with_scores(&args[3..])?;
    let between = between(args[1], args[2])?;
    let members = members(table, args[0])?;
    let found = members.iter().filter(|(score, _)| between(*score));
    Ok(listed(found, with_scores))
}

pub(super) fn zrank(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let members = members(table, args[0])?;
    let at = members.iter().position(|(_, member)| member == args[1]);
    Ok(at.map_or(Reply::Nil, Reply::size))
}

fn score_of(members: &Sorted, member: &[u8]) -> Reply {
    let found = members.iter().find(|(_, other)| other == member);
    found.map_or(Reply::Nil, |(score, _)| Reply::number(score))
}

pub(super) fn zscore(table: &mut Table, args: &[&[u8]]) -> Outcome {
    Ok(score_of(&members(table, args[0])?, args[1]))
}

pub(super) fn zmscore(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let members = members(table, args[0])?;
    Ok(Reply::Array(args[1..].iter().map(|member| score_of(&members, member)).collect()))
}

fn with_scores(options: &[&[u8]]) -> Result<bool, String> {
    match options {
        [] => Ok(false),
        [option] if option.eq_ignore_ascii_case(b"WITHSCORES") => Ok(true),
        _ => Err(SYNTAX.into()),
    }
}

fn listed<'m>(members: impl Iterator<Item = &'m (f64, Vec<u8>)>, with_scores: bool) -> Reply {
    let listed = members.flat_map(|(score, member)| {
        let score = with_scores.then(|| Reply::number(score));
        [Some(Reply::Bulk(member.clone())), score].into_iter().flatten()
    });
    Reply::Array(listed.collect())
}

/// Whether a score lies between two bounds. A bound that begins with `(` is excluded.
fn between(least: &[u8], most: &[u8]) -> Result<impl Fn(f64) -> bool + use<>, String> {
    let ((least, above), (most, below)) = (end(least)?, end(most)?);
    Ok(move |score| {
        let is_above = score > least || score == least && !above;
        is_above && (score < most || score == most && !below)
    })
}

fn end(text: &[u8]) -> Result<(f64, bool), String> {
    let (score, is_open) = match text.strip_prefix(b"(") {
        Some(score) => (score, true),
        None => (text, false),
    };
    if score.is_empty() {
        // Redis takes an empty bound for zero.
        return Ok((0.0, is_open));
    }
    let score = float(score).map_err(|_| "ERR min or max is not a float")?;
    Ok((score, is_open))
}
