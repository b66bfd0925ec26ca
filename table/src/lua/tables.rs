//! The library `table`, and `unpack`.

use super::library::{Args, of};
use super::run::Run;
use super::value::{Fields, Outcome, Text, Value};

pub(super) fn library() -> Fields {
    of(&[("concat", concat), ("insert", insert), ("remove", remove), ("sort", sort)])
}

/// As Redis's Lua has it: what a stack has room for.
const MOST_UNPACKED: usize = 8_000;

pub(super) fn unpack(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let fields = run.fields(args, 0)?;
    let fields = fields.borrow();
    let first = run.number_or(args, 1, 1.0)?;
    let last = run.number_or(args, 2, fields.list.len() as f64)?;
    if last - first >= MOST_UNPACKED as f64 {
        return Err(run.error("too many results to unpack"));
    }
    let count = (last - first + 1.0).max(0.0) as usize;
    Ok((0..count).map(|at| fields.get(&Value::Number(first + at as f64))).collect())
}

fn concat(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let fields = run.fields(args, 0)?;
    let fields = fields.borrow();
    let between = match args.get(1) {
        None | Some(Value::Nil) => Text::from(&b""[..]),
        Some(_) => run.text(args, 1)?,
    };
    let first = run.number_or(args, 2, 1.0)?.max(1.0) as usize;
    let last = run.number_or(args, 3, fields.list.len() as f64)?.max(0.0) as usize;
    let mut parts = Vec::new();
    for at in first..=last {
        let value = fields.get(&Value::Number(at as f64)).bytes();
        parts.push(value.ok_or_else(|| {
            run.error(format!("invalid value at index {at} in table for 'concat'"))
        })?);
    }
    Ok(vec![Value::text(parts.join(&between[..]))])
}

fn insert(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let fields = run.fields(args, 0)?;
    let list = &mut fields.borrow_mut().list;
    let (at, value) = match args {
        [_, value] => (list.len(), value),
        [_, at, value] => (at.number().unwrap_or(0.0) as usize, value),
        _ => return Err(run.error("wrong number of arguments to 'insert'")),
    };
    // Behind the last one, or at a place that counts from 1.
    let at = if args.len() == 2 { at } else { at.wrapping_sub(1) };
    if at > list.len() {
        return Err(run.error("bad argument #2 (position out of bounds)"));
    }
    list.insert(at, value.clone());
    Ok(Vec::new())
}

fn remove(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let fields = run.fields(args, 0)?;
    let list = &mut fields.borrow_mut().list;
    let at = run.number_or(args, 1, list.len() as f64)? as usize;
    let is_there = (1..=list.len()).contains(&at);
    Ok(vec![if is_there { list.remove(at - 1) } else { Value::Nil }])
}

/// Inserts one after the other: what a script compares by may be in no order at all.
fn sort(run: &mut Run<'_>, args: &[Value]) -> Outcome {
    let fields = run.fields(args, 0)?;
    let list = fields.borrow().list.clone();
    let mut sorted: Vec<Value> = Vec::with_capacity(list.len());
    for value in list {
        let (mut from, mut to) = (0, sorted.len());
        while from < to {
            run.tick()?;
            let middle = usize::midpoint(from, to);
            let is_less = match args.get(1) {
                None => run.is_less(&value, &sorted[middle])?,
                Some(by) => {
                    let values = run.call(by, vec![value.clone(), sorted[middle].clone()])?;
                    values.first().is_some_and(Value::is_true)
                }
            };
            if is_less { to = middle } else { from = middle + 1 }
        }
        sorted.insert(from, value);
    }
    fields.borrow_mut().list = sorted;
    Ok(Vec::new())
}
