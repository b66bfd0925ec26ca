//! The library `string`.

mod format;

use std::cell::RefCell;
use std::rc::Rc;

use super::library::{Args, Matches, of};
use super::pattern::{self, Match, Part};
use super::run::Run;
use super::value::{Fields, Outcome, Text, Value};

pub(super) fn library() -> Fields {
    of(&[
        ("byte", byte),
        ("char", char),
        ("find", find),
        ("format", format::format),
        ("gmatch", gmatch),
        ("gsub", gsub),
        ("len", |run, args| Ok(vec![Value::Number(run.text(args, 0)?.len() as f64)])),
        ("lower", |run, args| Ok(vec![Value::text(run.text(args, 0)?.to_ascii_lowercase())])),
        ("match", first_match),
        ("rep", rep),
        ("reverse", |run, args| {
            Ok(vec![Value::text(run.text(args, 0)?.iter().rev().copied().collect::<Vec<u8>>())])
        }),
        ("sub", sub),
        ("upper", |run, args| Ok(vec![Value::text(run.text(args, 0)?.to_ascii_uppercase())])),
    ])
}

/// A longer text is not made.
const LONGEST: usize = 64 << 20;

/// From where to where, of a text of this length. Negative places count from its end.
fn span(length: usize, from: f64, to: f64) -> std::ops::Range<usize> {
    let place = |at: f64| {
        if at < 0.0 { at + length as f64 + 1.0 } else { at }
    };
    let from = place(from).max(1.0) as usize - 1;
    let to = place(to).max(0.0) as usize;
    from.min(length)..to.min(length).max(from.min(length))
}

fn sub(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let text = run.text(args, 0)?;
    let span = span(text.len(), run.number(args, 1)?, run.number_or(args, 2, -1.0)?);
    Ok(vec![Value::text(&text[span])])
}

fn byte(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let text = run.text(args, 0)?;
    let from = run.number_or(args, 1, 1.0)?;
    let span = span(text.len(), from, run.number_or(args, 2, from)?);
    Ok(text[span].iter().map(|byte| Value::Number(f64::from(*byte))).collect())
}

fn char(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let bytes: Result<Vec<u8>, Value> =
        (0..args.len()).map(|at| Ok(run.number(args, at)? as u8)).collect();
    Ok(vec![Value::text(bytes?)])
}

fn rep(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let (text, count) = (run.text(args, 0)?, run.number(args, 1)?.max(0.0) as usize);
    if text.len().saturating_mul(count) > LONGEST {
        return Err(run.error("resulting string too large"));
    }
    Ok(vec![Value::text(text.repeat(count))])
}

fn part(text: &[u8], (start, end): Part) -> Value {
    match end {
        Some(end) => Value::text(&text[start..end]),
        None => Value::Number((start + 1) as f64),
    }
}

/// The parts of a match, or all of it if it has none.
pub(super) fn parts(text: &[u8], found: &Match) -> Vec<Value> {
    if found.parts.is_empty() {
        return vec![Value::text(&text[found.start..found.end])];
    }
    found.parts.iter().map(|one| part(text, *one)).collect()
}

/// A match, where the arguments say from where.
fn search(run: &Run<'_>, args: &[Value]) -> Result<(Text, Option<Match>), Value> {
    let (text, pattern) = (run.text(args, 0)?, run.text(args, 1)?);
    let from = span(text.len(), run.number_or(args, 2, 1.0)?, -1.0).start;
    let found = pattern::find(&text, &pattern, from).map_err(|why| run.error(why))?;
    Ok((text, found))
}

fn first_match(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let (text, found) = search(run, args)?;
    Ok(found.map_or_else(|| vec![Value::Nil], |found| parts(&text, &found)))
}

fn find(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let both = |start: usize, end: usize| {
        vec![Value::Number((start + 1) as f64), Value::Number(end as f64)]
    };
    if args.get(3).is_some_and(Value::is_true) {
        let (text, part) = (run.text(args, 0)?, run.text(args, 1)?);
        let from = span(text.len(), run.number_or(args, 2, 1.0)?, -1.0).start;
        let at = match part.len() {
            0 => Some(0),
            length => text[from..].windows(length).position(|window| *window == *part),
        };
        return Ok(
            at.map_or_else(|| vec![Value::Nil], |at| both(from + at, from + at + part.len()))
        );
    }
    let (text, found) = search(run, args)?;
    let Some(found) = found else {
        return Ok(vec![Value::Nil]);
    };
    let mut values = both(found.start, found.end);
    values.extend(found.parts.iter().map(|one| part(&text, *one)));
    Ok(values)
}

fn gmatch(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let matches = Matches { text: run.text(args, 0)?, pattern: run.text(args, 1)?, from: 0 };
    Ok(vec![Value::Matches(Rc::new(RefCell::new(matches)))])
}

fn gsub(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let (text, pattern) = (run.text(args, 0)?, run.text(args, 1)?);
    let by = args.get(2).cloned().unwrap_or(Value::Nil);
    let most = run.number_or(args, 3, f64::INFINITY)?;
    let (mut out, mut at, mut count) = (Vec::new(), 0, 0.0);
    while count < most {
        run.tick()?;
        let found = pattern::find(&text, &pattern, at).map_err(|why| run.error(why))?;
        let Some(found) = found else { break };
        count += 1.0;
        out.extend_from_slice(&text[at..found.start]);
        let whole = &text[found.start..found.end];
        let value = replacement(run, &by, &text, &found)?;
        match value.bytes() {
            Some(bytes) => out.extend_from_slice(&bytes),
            None if !value.is_true() => out.extend_from_slice(whole),
            None => {
                return Err(run.error(format!("invalid replacement value (a {})", value.kind())));
            }
        }
        at = found.end;
        if whole.is_empty() {
            let Some(byte) = text.get(at) else {
                at += 1;
                break;
            };
            out.push(*byte);
            at += 1;
        }
        if pattern.first() == Some(&b'^') {
            break;
        }
    }
    out.extend_from_slice(text.get(at..).unwrap_or_default());
    Ok(vec![Value::text(out), Value::Number(count)])
}

fn replacement(run: &mut Run<'_>, by: &Value, text: &[u8], found: &Match) -> Result<Value, Value> {
    let parts = parts(text, found);
    match by {
        Value::Function(_) | Value::Builtin(_) => {
            let values = run.call(by, parts)?;
            Ok(values.into_iter().next().unwrap_or(Value::Nil))
        }
        Value::Table(fields) => Ok(fields.borrow().get(&parts[0])),
        _ => {
            let Some(template) = by.bytes() else {
                return Err(run.error("string/function/table expected"));
            };
            let mut out = Vec::new();
            let mut rest = template.iter();
            while let Some(byte) = rest.next() {
                match (byte, if *byte == b'%' { rest.next() } else { None }) {
                    (b'%', Some(b'0')) => out.extend_from_slice(&text[found.start..found.end]),
                    (b'%', Some(digit @ b'1'..=b'9')) => {
                        let part = parts.get(usize::from(digit - b'1')).and_then(Value::bytes);
                        out.extend_from_slice(
                            &part.ok_or_else(|| run.error("invalid capture index"))?,
                        );
                    }
                    (b'%', Some(other)) => out.push(*other),
                    _ => out.push(*byte),
                }
            }
            Ok(Value::text(out))
        }
    }
}
