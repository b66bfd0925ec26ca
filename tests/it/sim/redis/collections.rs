//! Hashes and sorted sets.

use super::{Db, Outcome, Reply, SYNTAX, Value, WRONG_TYPE, int, size, sum};

const INCOMPATIBLE: &str = "ERR GT, LT, and/or NX options at the same time are not compatible";

type Pairs = Vec<(Vec<u8>, Vec<u8>)>;

impl Db {
    pub(super) fn hash(&mut self, key: &[u8]) -> Result<Pairs, String> {
        match self.live(key).map(|entry| &entry.value) {
            None => Ok(Vec::new()),
            Some(Value::Hash(fields)) => Ok(fields.clone()),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn hash_add(&mut self, key: &[u8], field: &[u8], by: i64) -> Outcome {
        let mut fields = self.hash(key)?;
        let before = match value_of(&fields, field) {
            Some(value) => int(value).map_err(|_| "ERR hash value is not an integer")?,
            None => 0,
        };
        let after = sum(before, by)?;
        put_in(&mut fields, field, after.to_string().as_bytes());
        self.put(key, Value::Hash(fields));
        Ok(Reply::Int(after))
    }

    pub(super) fn hash_get(&mut self, key: &[u8], field: &[u8]) -> Outcome {
        let fields = self.hash(key)?;
        let value = value_of(&fields, field);
        Ok(value.map_or(Reply::Nil, |value| Reply::Bulk(value.to_vec())))
    }

    pub(super) fn hash_set(&mut self, key: &[u8], pairs: &[&[u8]]) -> Outcome {
        if pairs.len() % 2 == 1 {
            return Err("ERR wrong number of arguments for 'hset' command".into());
        }
        let mut fields = self.hash(key)?;
        let before = fields.len();
        for pair in pairs.chunks(2) {
            put_in(&mut fields, pair[0], pair[1]);
        }
        let added = size(fields.len() - before);
        self.put(key, Value::Hash(fields));
        Ok(Reply::Int(added))
    }

    pub(super) fn hash_remove(&mut self, key: &[u8], gone: &[&[u8]]) -> Outcome {
        let mut fields = self.hash(key)?;
        let before = fields.len();
        fields.retain(|(field, _)| !gone.contains(&field.as_slice()));
        let removed = before - fields.len();
        if fields.is_empty() {
            self.keys.remove(key);
        } else {
            self.put(key, Value::Hash(fields));
        }
        Ok(Reply::Int(size(removed)))
    }

    pub(super) fn sorted(&mut self, key: &[u8]) -> Result<Vec<(f64, Vec<u8>)>, String> {
        match self.live(key).map(|entry| &entry.value) {
            None => Ok(Vec::new()),
            Some(Value::Sorted(members)) => Ok(members.clone()),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn sorted_add(&mut self, key: &[u8], args: &[&[u8]]) -> Outcome {
        let is = |option: &[u8], arg: &&&[u8]| arg.eq_ignore_ascii_case(option);
        let given = args
            .iter()
            .take_while(|arg| is(b"NX", arg) || is(b"LT", arg));
        let options = given.clone().count();
        let only_new = given.clone().any(|arg| is(b"NX", &arg));
        let only_less = given.clone().any(|arg| is(b"LT", &arg));
        let pairs = args[options..].chunks(2);
        if args.len() == options || pairs.clone().any(|pair| pair.len() == 1) {
            return Err(SYNTAX.into());
        }
        if only_new && only_less {
            return Err(INCOMPATIBLE.into());
        }
        let pairs: Vec<(f64, &[u8])> = pairs
            .map(|pair| Ok((float(pair[0])?, pair[1])))
            .collect::<Result<_, String>>()?;
        let mut members = self.sorted(key)?;
        let before = members.len();
        for (score, member) in pairs {
            match members.iter_mut().find(|(_, other)| other == member) {
                Some(known) if only_new || only_less && known.0 <= score => {}
                Some(known) => known.0 = score,
                None => members.push((score, member.to_owned())),
            }
        }
        let added = size(members.len() - before);
        members.sort_by(|(a, left), (b, right)| a.total_cmp(b).then_with(|| left.cmp(right)));
        self.put(key, Value::Sorted(members));
        Ok(Reply::Int(added))
    }

    pub(super) fn sorted_remove(&mut self, key: &[u8], gone: &[&[u8]]) -> Outcome {
        let mut members = self.sorted(key)?;
        let before = members.len();
        members.retain(|(_, member)| !gone.contains(&member.as_slice()));
        let removed = before - members.len();
        if members.is_empty() {
            self.keys.remove(key);
        } else {
            self.put(key, Value::Sorted(members));
        }
        Ok(Reply::Int(size(removed)))
    }

    pub(super) fn range(
        &mut self,
        key: &[u8],
        start: &[u8],
        stop: &[u8],
        options: &[&[u8]],
    ) -> Outcome {
        // Checked in the order in which Redis checks.
        let with_scores = with_scores(options)?;
        let (start, stop) = (int(start)?, int(stop)?);
        let members = self.sorted(key)?;
        let count = size(members.len());
        let at = |index: i64| if index < 0 { index + count } else { index };
        let (start, stop) = (at(start).max(0), at(stop));
        let found = (0..).zip(members);
        let found = found.filter(|(index, _)| (start..=stop).contains(index));
        Ok(listed(found.map(|(_, found)| found), with_scores))
    }

    pub(super) fn range_between(
        &mut self,
        key: &[u8],
        least: &[u8],
        most: &[u8],
        options: &[&[u8]],
    ) -> Outcome {
        let with_scores = with_scores(options)?;
        let between = between(least, most)?;
        let members = self.sorted(key)?.into_iter();
        let found = members.filter(|(score, _)| between(*score));
        Ok(listed(found, with_scores))
    }

    pub(super) fn count_between(&mut self, key: &[u8], least: &[u8], most: &[u8]) -> Outcome {
        let between = between(least, most)?;
        let members = self.sorted(key)?.into_iter();
        let found = members.filter(|(score, _)| between(*score));
        Ok(Reply::Int(size(found.count())))
    }

    pub(super) fn rank(&mut self, key: &[u8], member: &[u8]) -> Outcome {
        let members = self.sorted(key)?;
        let at = members.iter().position(|(_, other)| other == member);
        Ok(at.map_or(Reply::Nil, |at| Reply::Int(size(at))))
    }

    pub(super) fn score(&mut self, key: &[u8], member: &[u8]) -> Outcome {
        let members = self.sorted(key)?;
        let score = members.iter().find(|(_, other)| other == member);
        Ok(score.map_or(Reply::Nil, |(score, _)| {
            Reply::Bulk(format!("{score}").into_bytes())
        }))
    }

    pub(super) fn scores(&mut self, key: &[u8], members: &[&[u8]]) -> Outcome {
        let scores = members.iter().map(|member| self.score(key, member));
        Ok(Reply::Array(scores.collect::<Result<_, _>>()?))
    }

    pub(super) fn info(&self) -> Reply {
        let seconds = (self.now_us - self.started_us) / 1_000_000;
        let text = format!("# Server\r\nuptime_in_seconds:{seconds}\r\n");
        Reply::Bulk(text.into_bytes())
    }

    pub(super) fn hash_all(&mut self, key: &[u8]) -> Outcome {
        let fields = self.hash(key)?.into_iter();
        let words = fields.flat_map(|(field, value)| [field, value]);
        Ok(Reply::Array(words.map(Reply::Bulk).collect()))
    }
}

fn value_of<'a>(fields: &'a Pairs, field: &[u8]) -> Option<&'a [u8]> {
    let mut found = fields.iter().filter(|(name, _)| name == field);
    found.next().map(|(_, value)| value.as_slice())
}

fn put_in(fields: &mut Pairs, field: &[u8], value: &[u8]) {
    match fields.iter_mut().find(|(name, _)| name == field) {
        Some((_, before)) => *before = value.to_vec(),
        None => fields.push((field.to_vec(), value.to_vec())),
    }
}

fn with_scores(options: &[&[u8]]) -> Result<bool, String> {
    match options {
        [] => Ok(false),
        [option] if option.eq_ignore_ascii_case(b"WITHSCORES") => Ok(true),
        _ => Err(SYNTAX.into()),
    }
}

fn listed(members: impl Iterator<Item = (f64, Vec<u8>)>, with_scores: bool) -> Reply {
    let listed = members.flat_map(|(score, member)| {
        let score = with_scores.then(|| Reply::Bulk(format!("{score}").into_bytes()));
        [Some(Reply::Bulk(member)), score].into_iter().flatten()
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

fn float(text: &[u8]) -> Result<f64, String> {
    (std::str::from_utf8(text).ok())
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| "ERR value is not a valid float".into())
}
