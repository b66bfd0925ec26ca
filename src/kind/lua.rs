//! The scripts as they are sent: the Lua files without comments, in one line, the same bytes in every build, so that a bridge
//! can allow them by their digest.

use std::sync::OnceLock;

/// Makes Upstash lock the script's keys instead of the whole database.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// A script that Redis runs: parts, of which scripts share many, put together once somebody needs it.
pub(crate) struct Script {
    parts: &'static [&'static str],
    /// For real Redis.
    plain: Text,
    /// For Upstash.
    key_locking: Text,
}

struct Text {
    whole: OnceLock<String>,
    /// Its SHA-1.
    digest: OnceLock<String>,
}

impl Script {
    const fn of(parts: &'static [&'static str]) -> Self {
        Self {
            parts,
            plain: Text::new(),
            key_locking: Text::new(),
        }
    }

    pub(crate) fn text(&self, key_locking: bool) -> &str {
        let first = if key_locking { KEY_LOCKING } else { "" };
        self.variant(key_locking)
            .whole
            .get_or_init(|| [&[first], self.parts].concat().concat())
    }

    /// What `EVALSHA` knows it by.
    pub(crate) fn digest(&self, key_locking: bool) -> &str {
        self.variant(key_locking).digest.get_or_init(|| {
            sha1_smol::Sha1::from(self.text(key_locking))
                .digest()
                .to_string()
        })
    }

    const fn variant(&self, key_locking: bool) -> &Text {
        if key_locking {
            &self.key_locking
        } else {
            &self.plain
        }
    }
}

impl Text {
    const fn new() -> Self {
        Self {
            whole: OnceLock::new(),
            digest: OnceLock::new(),
        }
    }
}

macro_rules! part {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const STRIPPED: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        as_text(&STRIPPED)
    }};
}

const KEYS: &str = part!("keys.lua");
const RESP: &str = part!("resp.lua");
const FENCE: &str = part!("fence.lua");
const HOLD: &str = part!("hold.lua");
const PROLONG: &str = part!("prolong.lua");
const ACQUIRED: &str = part!("acquired.lua");
const ANOTHER: &str = part!("another.lua");
const EXTEND: &str = part!("extend.lua");
const EXTEND_REENTRANT: &str = part!("extend_reentrant.lua");
const QUEUE: &str = part!("queue.lua");
const RECEIPT: &str = part!("receipt.lua");
const LOST: &str = part!("lost.lua");
const AS_MUTEX: &str = part!("mutex.lua");
const HAND_OVER: &str = part!("hand_over.lua");
const SIGNAL: &str = part!("signal.lua");
const AS_REENTRANT: &str = part!("reentrant.lua");
const ACQUIRE: &str = part!("acquire.lua");
const RENEW: &str = part!("renew.lua");
const RELEASE: &str = part!("release.lua");
const ABANDON: &str = part!("abandon.lua");
const INSPECT: &str = part!("inspect.lua");
const UPTIME: &str = part!("uptime.lua");
const ALONE: &str = part!("alone.lua");
const WITHDRAW: &str = part!("withdraw.lua");
const FORCE_RELEASE: &str = part!("force_release.lua");

/// The scripts of one kind of lock. Each is the shared parts that it needs, and what it does itself.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) renew: Script,
    pub(crate) release: Script,
    pub(crate) abandon: Script,
    pub(crate) inspect: Script,
    pub(crate) force_release: Script,
}

#[rustfmt::skip]
pub(crate) static MUTEX: Scripts = Scripts {
    acquire: Script::of(&[KEYS, RESP, FENCE, HOLD, QUEUE, PROLONG, ACQUIRE]),
    renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, AS_MUTEX, ACQUIRED, ANOTHER, EXTEND, RENEW]),
    release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, AS_MUTEX, ACQUIRED, ANOTHER, FENCE, QUEUE, HAND_OVER, RELEASE]),
    abandon: Script::of(&[KEYS, AS_MUTEX, FENCE, QUEUE, HAND_OVER, ABANDON]),
    inspect: Script::of(&[KEYS, RESP, AS_MUTEX, ALONE, INSPECT]),
    force_release: Script::of(&[KEYS, FENCE, QUEUE, HAND_OVER, FORCE_RELEASE]),
};

#[rustfmt::skip]
pub(crate) static SIGNALLING: Scripts = Scripts {
    acquire: Script::of(&[KEYS, RESP, FENCE, HOLD, QUEUE, PROLONG, ACQUIRE]),
    renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, AS_MUTEX, ACQUIRED, ANOTHER, EXTEND, RENEW]),
    release: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, AS_MUTEX, ACQUIRED, ANOTHER, FENCE, QUEUE, HAND_OVER, SIGNAL, RELEASE]),
    abandon: Script::of(&[KEYS, AS_MUTEX, FENCE, QUEUE, HAND_OVER, SIGNAL, ABANDON]),
    inspect: Script::of(&[KEYS, RESP, AS_MUTEX, ALONE, INSPECT]),
    force_release: Script::of(&[KEYS, FENCE, QUEUE, HAND_OVER, SIGNAL, FORCE_RELEASE]),
};

#[rustfmt::skip]
pub(crate) static REENTRANT: Scripts = Scripts {
    acquire: Script::of(&[KEYS, RESP, FENCE, PROLONG, AS_REENTRANT, EXTEND_REENTRANT, part!("reenter.lua")]),
    renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, PROLONG, AS_REENTRANT, ANOTHER, EXTEND_REENTRANT, RENEW]),
    release: Script::of(&[KEYS, RESP, RECEIPT, LOST, AS_REENTRANT, ANOTHER, RELEASE]),
    abandon: Script::of(&[KEYS, QUEUE, AS_REENTRANT, ABANDON]),
    inspect: Script::of(&[KEYS, RESP, AS_REENTRANT, ALONE, INSPECT]),
    force_release: Script::of(&[KEYS, AS_REENTRANT, FORCE_RELEASE]),
};

/// At each of several servers. Nobody queues, and what is given back is barred at once.
#[rustfmt::skip]
pub(crate) static VOTED: Scripts = Scripts {
    acquire: Script::of(&[KEYS, FENCE, HOLD, UPTIME, PROLONG, part!("vote.lua")]),
    renew: Script::of(&[KEYS, RESP, RECEIPT, LOST, HOLD, PROLONG, AS_MUTEX, ACQUIRED, ANOTHER, EXTEND, RENEW]),
    release: Script::of(&[KEYS, AS_MUTEX, WITHDRAW]),
    abandon: Script::of(&[KEYS, AS_MUTEX, WITHDRAW]),
    inspect: Script::of(&[KEYS, RESP, AS_MUTEX, UPTIME, INSPECT]),
    force_release: Script::of(&[KEYS, FENCE, QUEUE, HAND_OVER, FORCE_RELEASE]),
};
pub(crate) static RAISE: Script = Script::of(&[KEYS, FENCE, AS_MUTEX, part!("raise.lua")]);

pub(crate) static READ: Script = Script::of(&[RESP, part!("read.lua")]);

/// What comes next in a source, from some place on: a line's text as `(start, end)`, and where the next line starts.
const fn line(source: &[u8], from: usize) -> (usize, usize, usize) {
    let mut start = from;
    while start < source.len() && source[start] == b' ' {
        start += 1;
    }
    let mut end = start;
    while end < source.len() && source[end] != b'\n' {
        end += 1;
    }
    (start, end, end + 1)
}

/// Whether a line is empty or a comment. The scripts have no comment behind code and no `--` at a line's start in a string.
const fn is_dropped(source: &[u8], start: usize, end: usize) -> bool {
    start == end || (start + 1 < end && source[start] == b'-' && source[start + 1] == b'-')
}

const fn stripped_len(source: &str) -> usize {
    let source = source.as_bytes();
    let (mut at, mut len) = (0, 0);
    while at < source.len() {
        let (start, end, next) = line(source, at);
        if !is_dropped(source, start, end) {
            len += end - start + 1;
        }
        at = next;
    }
    len
}

const fn strip<const LEN: usize>(source: &str) -> [u8; LEN] {
    let source = source.as_bytes();
    let mut out = [b' '; LEN];
    let (mut at, mut to) = (0, 0);
    while at < source.len() {
        let (start, end, next) = line(source, at);
        if !is_dropped(source, start, end) {
            let mut from = start;
            while from < end {
                out[to] = source[from];
                from += 1;
                to += 1;
            }
            to += 1;
        }
        at = next;
    }
    out
}

const fn as_text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a script is not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::script::RECEIPT_LIFE;

    #[test]
    fn a_script_is_sent_without_comments_in_one_line() {
        const SOURCE: &str = "-- head\n\nlocal a = 1\n  -- why\n  return a";
        const TEXT: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        assert_eq!(as_text(&TEXT), "local a = 1 return a ");
    }

    #[test]
    fn receipts_are_there_for_as_long_as_the_client_counts_on_them() {
        let life = format!("local RECEIPT_MS = {}\n", RECEIPT_LIFE.as_millis());
        for source in [
            include_str!("receipt.lua"),
            include_str!("force_release.lua"),
        ] {
            assert!(source.contains(&life), "{source}");
        }
        // What a release over several bridges leaves.
        let gone = "redis.call('SET', GONE, held, 'PX', 60000)";
        assert!(include_str!("withdraw.lua").contains(gone) && RECEIPT_LIFE.as_millis() <= 60_000);
    }

    #[test]
    fn every_script_is_plain_ascii_and_small() {
        let of = |kind: &'static Scripts| {
            [
                &kind.acquire,
                &kind.renew,
                &kind.release,
                &kind.abandon,
                &kind.inspect,
                &kind.force_release,
            ]
        };
        let kinds = [&MUTEX, &SIGNALLING, &VOTED, &REENTRANT]
            .into_iter()
            .flat_map(of);
        for script in kinds.chain([&RAISE, &READ]) {
            let plain = script.text(false);
            assert!(plain.is_ascii() && !plain.contains("--") && plain.len() < 5500);
            // What JSON would escape.
            assert!(!plain.contains(['"', '\\', '\n']));
            assert_eq!(script.text(true), format!("{KEY_LOCKING}{plain}"));
        }
    }
}
