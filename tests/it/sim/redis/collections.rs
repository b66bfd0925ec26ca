//! Hashes and sorted sets.

use super::{Db, Outcome, Reply, SYNTAX, Value, WRONG_TYPE, size, sum};

impl Db {
    pub(super) fn hash(&mut self, key: &[u8]) -> Result<Vec<(Vec<u8>, i64)>, String> {
        match self.live(key).map(|entry| &entry.value) {
            None => Ok(Vec::new()),
            Some(Value::Hash(fields)) => Ok(fields.clone()),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn hash_add(&mut self, key: &[u8], field: &[u8], by: i64) -> Outcome {
        let mut fields = self.hash(key)?;
        let at = fields.iter().position(|(name, _)| name == field);
        let at = at.unwrap_or_else(|| {
            fields.push((field.to_owned(), 0));
            fields.len() - 1
        });
        let after = sum(fields[at].1, by)?;
        fields[at].1 = after;
        self.put(key, Value::Hash(fields));
        Ok(Reply::Int(after))
    }

    pub(super) fn sorted(&mut self, key: &[u8]) -> Result<Vec<(f64, Vec<u8>)>, String> {
        match self.live(key).map(|entry| &entry.value) {
            None => Ok(Vec::new()),
            Some(Value::Sorted(members)) => Ok(members.clone()),
            Some(_) => Err(WRONG_TYPE.into()),
        }
    }

    pub(super) fn sorted_add(&mut self, key: &[u8], args: &[&[u8]]) -> Outcome {
        let options = (args.iter()).take_while(|arg| arg.eq_ignore_ascii_case(b"NX"));
        let options = options.count();
        let pairs = args[options..].chunks(2);
        if args.len() == options || pairs.clone().any(|pair| pair.len() == 1) {
            return Err(SYNTAX.into());
        }
        let pairs: Vec<(f64, &[u8])> = pairs
            .map(|pair| Ok((float(pair[0])?, pair[1])))
            .collect::<Result<_, String>>()?;
        let mut members = self.sorted(key)?;
        let before = members.len();
        for (score, member) in pairs {
            match members.iter_mut().find(|(_, other)| other == member) {
                Some(_) if options > 0 => {}
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

    pub(super) fn range(&mut self, key: &[u8], start: i64, stop: i64) -> Outcome {
        let members = self.sorted(key)?;
        let count = size(members.len());
        let at = |index: i64| if index < 0 { index + count } else { index };
        let (start, stop) = (at(start).max(0), at(stop));
        Ok(Reply::Array(
            (0..)
                .zip(members)
                .filter(|(index, _)| (start..=stop).contains(index))
                .map(|(_, (_, member))| Reply::Bulk(member))
                .collect(),
        ))
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
}

fn float(text: &[u8]) -> Result<f64, String> {
    (std::str::from_utf8(text).ok())
        .and_then(|text| text.parse().ok())
        .ok_or_else(|| "ERR value is not a valid float".into())
}
