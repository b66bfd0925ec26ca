//! Numbers in texts, as Redis reads and writes them, and the commands that count.

use crate::reply::{Outcome, Reply};
use crate::store::{Hash, Text};
use crate::table::Table;

const NOT_INT: &str = "ERR value is not an integer or out of range";
const OVERFLOW: &str = "ERR increment or decrement would overflow";

/// Redis accepts a number only in the form in which it would write it itself.
pub(crate) fn int(text: &[u8]) -> Result<i64, String> {
    (std::str::from_utf8(text).ok())
        .and_then(|text| text.parse::<i64>().ok().filter(|n| n.to_string() == text))
        .ok_or_else(|| NOT_INT.into())
}

pub(super) fn float(text: &[u8]) -> Result<f64, String> {
    crate::float::parse(text).ok_or_else(|| "ERR value is not a valid float".into())
}

pub(super) fn add(table: &mut Table, key: &[u8], by: i64) -> Outcome {
    let before = table.store.look::<Text>(key)?.map_or(Ok(0), |text| int(text))?;
    let after = before.checked_add(by).ok_or(OVERFLOW)?;
    let text = table.store.open::<Text>(key)?;
    *text = after.to_string().into_bytes();
    Ok(Reply::Int(after))
}

pub(super) fn subtract(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let by = int(args[1])?.checked_neg().ok_or("ERR decrement would overflow")?;
    add(table, args[0], by)
}

pub(super) fn hincrby(table: &mut Table, args: &[&[u8]]) -> Outcome {
    let by = int(args[2])?;
    let fields = table.store.open::<Hash>(args[0])?;
    let field = fields.iter_mut().find(|(name, _)| name == args[1]);
    let before = match &field {
        Some((_, value)) => int(value).map_err(|_| "ERR hash value is not an integer")?,
        None => 0,
    };
    let after = before.checked_add(by).ok_or(OVERFLOW)?;
    let text = after.to_string().into_bytes();
    match field {
        Some((_, value)) => *value = text,
        None => fields.push((args[1].to_vec(), text)),
    }
    Ok(Reply::Int(after))
}

/// The places from `start` to `stop` of as many; negative ones count from the end.
pub(super) fn span(count: usize, start: i64, stop: i64) -> std::ops::Range<usize> {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    let at = |index: i64| {
        if index < 0 { index.saturating_add(count) } else { index }
    };
    let start = at(start).clamp(0, count);
    let stop = at(stop).saturating_add(1).clamp(start, count);
    start as usize..stop as usize
}
