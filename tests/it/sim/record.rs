//! The record of a lock, as `src/kind/record.lua` has it.

use super::redis::{Db, Value};

/// One hold: its token, its fence, and until when it lasts.
pub(crate) struct Kept {
    pub(crate) token: String,
    pub(crate) fence: u64,
    pub(crate) until: i64,
}

/// What is known of a lock beside its name.
#[derive(Default)]
pub(crate) struct Record {
    pub(crate) last: u64,
    pub(crate) holds: Vec<Kept>,
    /// The tokens of its waiters.
    pub(crate) waiters: Vec<String>,
}

impl Record {
    pub(crate) fn of(name: &str, db: &Db) -> Self {
        let mut record = Self::first(name, db);
        record.waiters.append(&mut later_waiters(name, db));
        record
    }

    /// What the record itself has.
    fn first(name: &str, db: &Db) -> Self {
        let Some(Value::Text(text)) = db.value(&format!("{{{name}}}:fence")) else {
            return Self::default();
        };
        let text = String::from_utf8_lossy(text);
        let whole = text.strip_prefix("v1 ").and_then(|text| {
            let (head, waiters) = text.split_once(',')?;
            let (last, rest) = head.split_once(' ')?;
            let (_, holds) = rest.split_once(' ')?;
            let hold = |hold: &str| {
                let mut words = hold.split(' ');
                Some(Kept {
                    token: words.next()?.to_owned(),
                    fence: words.next()?.parse().ok()?,
                    until: words.nth(1)?.parse().ok()?,
                })
            };
            let waiters = waiters.trim_end_matches('+');
            let waiter = |line: &str| line.split(' ').nth(4).map(str::to_owned);
            Some(Self {
                last: last.parse().ok()?,
                holds: holds.split_terminator(';').map(hold).collect::<Option<_>>()?,
                waiters: (waiters.split_terminator(',')).map(waiter).collect::<Option<_>>()?,
            })
        });
        whole.unwrap_or_default()
    }
}

/// The tokens of those that wait behind the ones of the record.
fn later_waiters(name: &str, db: &Db) -> Vec<String> {
    let Some(Value::Sorted(members)) = db.value(&format!("{{{name}}}:queue")) else {
        return Vec::new();
    };
    let texts = members.iter().map(|(_, text)| String::from_utf8_lossy(text));
    texts
        .filter(|text| !text.starts_with('+'))
        .filter_map(|text| text.split(' ').nth(1).map(str::to_owned))
        .collect()
}

/// The fence of a hold of which the record has no more.
pub(crate) fn later_hold(name: &str, token: &[u8], db: &Db) -> Option<u64> {
    let Some(Value::Hash(holds)) = db.value(&format!("{{{name}}}:holds")) else {
        return None;
    };
    let (_, hold) = holds.iter().find(|(whose, _)| whose == token)?;
    String::from_utf8_lossy(hold).split(' ').next()?.parse().ok()
}
