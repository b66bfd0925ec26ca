//! Scripts written for Upstash, made to run on Redis.
//!
//! Upstash knows a flag on a script's first line, `#!lua flags=allow-key-locking`, that Redis
//! refuses. The bridge removes it. That changes the script's SHA-1, which the client computed from
//! its own text. So the bridge remembers which SHA-1 stands for which.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};

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
        match command.name() {
            b"EVAL" | b"EVAL_RO" => {
                command
                    .args_mut_from(1)
                    .next()
                    .and_then(|script| self.strip(script));
                None
            }
            b"SCRIPT" if is(b"LOAD") => command
                .args_mut_from(2)
                .next()
                .and_then(|script| self.strip(script)),
            b"EVALSHA" | b"EVALSHA_RO" => {
                command
                    .args_mut_from(1)
                    .take(1)
                    .for_each(|sha| self.translate(sha));
                None
            }
            b"SCRIPT" if is(b"EXISTS") => {
                command.args_mut_from(2).for_each(|sha| self.translate(sha));
                None
            }
            _ => None,
        }
    }

    /// Returns the SHA-1 of the client's text if the text was changed.
    fn strip(&self, script: &mut Cow<'_, [u8]>) -> Option<String> {
        let stripped = without_flag(script)?;
        let original = sha1(script);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= REMEMBERED {
            known.clear();
        }
        known.insert(original.clone(), sha1(&stripped));
        *script = Cow::Owned(stripped);
        Some(original)
    }

    fn translate(&self, sha: &mut Cow<'_, [u8]>) {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
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
    let end = script
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(script.len());
    let mut words = str::from_utf8(&script[..end])
        .ok()?
        .split_ascii_whitespace();
    if words.next() != Some("#!lua") {
        return None;
    }
    let mut found = false;
    let mut line = String::new();
    for word in words {
        let kept = match word.strip_prefix("flags=") {
            Some(flags) => {
                let others: Vec<_> = flags.split(',').filter(|flag| *flag != FLAG).collect();
                found |= others.len() < flags.split(',').count();
                if others.is_empty() {
                    continue;
                } else {
                    format!(" flags={}", others.join(","))
                }
            }
            None => format!(" {word}"),
        };
        line.push_str(&kept);
    }
    if !line.is_empty() {
        line.insert_str(0, "#!lua");
    }
    found.then(|| [line.as_bytes(), &script[end..]].concat())
}

fn sha1(text: &[u8]) -> String {
    Sha1::digest(text)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
