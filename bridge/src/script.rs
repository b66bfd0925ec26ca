//! Scripts written for Upstash, made to run on Redis.
//!
//! Upstash knows a flag on a script's first line, `#!lua flags=allow-key-locking`, that Redis
//! refuses. The bridge removes it. That changes the script's SHA-1, which the client computed from
//! its own text. So the bridge remembers which SHA-1 stands for which.

use std::borrow::Cow;
use std::collections::HashMap;

use parking_lot::RwLock;
use sha1::{Digest as _, Sha1};

use crate::command::Command;

const FLAG: &str = "allow-key-locking";

/// Far more scripts than an application has. With more, all are forgotten, and clients fall back to
/// `EVAL`, from which the bridge learns again.
const REMEMBERED: usize = 4096;

/// The SHA-1 that a client knows to the SHA-1 that Redis knows.
#[derive(Default)]
pub(crate) struct Scripts {
    known: RwLock<HashMap<String, String>>,
}

impl Scripts {
    /// Makes `command` fit for Redis. Returns the answer to give if Redis' own would name a script
    /// that the client does not know.
    pub(crate) fn adapt(&self, command: &mut Command<'_>) -> Option<String> {
        let is = |sub: &[u8]| command.word(1) == sub;
        let (texts, shas) = match command.name() {
            b"EVAL" | b"EVAL_RO" => (1..2, 0..0),
            b"EVALSHA" | b"EVALSHA_RO" => (0..0, 1..2),
            b"SCRIPT" if is(b"LOAD") => (2..3, 0..0),
            b"SCRIPT" if is(b"EXISTS") => (0..0, 2..usize::MAX),
            _ => return None,
        };
        command.args_mut(shas).for_each(|sha| self.translate(sha));
        let text = command.args_mut(texts).next();
        let original = text.and_then(|text| self.strip(text));
        original.filter(|_| command.name() == b"SCRIPT")
    }

    /// Returns the SHA-1 of the client's text if the text was changed.
    fn strip(&self, script: &mut Cow<'_, [u8]>) -> Option<String> {
        let stripped = without_flag(script)?;
        let original = sha1(script);
        let mut known = self.known.write();
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(original.clone(), sha1(&stripped));
        *script = Cow::Owned(stripped);
        Some(original)
    }

    fn translate(&self, sha: &mut Cow<'_, [u8]>) {
        let known = self.known.read();
        if known.is_empty() {
            return;
        }
        let wanted = String::from_utf8_lossy(sha).to_ascii_lowercase();
        if let Some(redis_knows) = known.get(&wanted) {
            *sha = Cow::Owned(redis_knows.clone().into_bytes());
        }
    }
}

/// Other flags stay. A line without any other flag becomes empty and does not vanish. So the line
/// numbers in error messages stay right, and Redis 6, which knows no such line, runs the script
/// too.
fn without_flag(script: &[u8]) -> Option<Vec<u8>> {
    let end = script.iter().position(|byte| *byte == b'\n');
    let end = end.unwrap_or(script.len());
    let mut words = str::from_utf8(&script[..end]).ok()?.split_ascii_whitespace();
    if words.next() != Some("#!lua") {
        return None;
    }
    let mut found = false;
    let mut line = String::new();
    for word in words {
        let Some(flags) = word.strip_prefix("flags=") else {
            line += &format!(" {word}");
            continue;
        };
        let others: Vec<_> = flags.split(',').filter(|flag| *flag != FLAG).collect();
        found |= others.len() < flags.split(',').count();
        if !others.is_empty() {
            line += &format!(" flags={}", others.join(","));
        }
    }
    if !line.is_empty() {
        line.insert_str(0, "#!lua");
    }
    found.then(|| [line.as_bytes(), &script[end..]].concat())
}

/// In hexadecimal digits, as Redis names scripts.
pub(crate) fn sha1(text: &[u8]) -> String {
    let digits = (Sha1::digest(text).into_iter()).flat_map(|byte| [byte >> 4, byte & 15]);
    let digits = digits.filter_map(|digit| char::from_digit(digit.into(), 16));
    digits.collect()
}
