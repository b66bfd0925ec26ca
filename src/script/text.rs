//! The scripts as they are sent: the Lua files without comments, indentation and blank lines, the same bytes in every
//! build, so that a bridge can allow them by their digest.

use std::sync::OnceLock;

/// A script that Redis runs.
#[derive(Clone, Copy)]
pub(crate) struct Script {
    /// For real Redis.
    plain: &'static str,
    /// With the first line that makes Upstash lock the script's keys instead of the database.
    key_locking: &'static str,
    /// SHA-1 of either, once somebody asked.
    digests: &'static [OnceLock<String>; 2],
}

impl Script {
    pub(crate) const fn text(self, key_locking: bool) -> &'static str {
        if key_locking {
            self.key_locking
        } else {
            self.plain
        }
    }

    /// What `EVALSHA` knows it by.
    pub(crate) fn digest(self, key_locking: bool) -> &'static str {
        self.digests[usize::from(key_locking)].get_or_init(|| {
            sha1_smol::Sha1::from(self.text(key_locking))
                .digest()
                .to_string()
        })
    }
}

macro_rules! script {
    ($($file:literal),+) => {{
        const SOURCE: &str = concat!($(include_str!($file)),+);
        const PLAIN: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        const LOCKING: &str = concat!("#!lua flags=allow-key-locking\n", $(include_str!($file)),+);
        const KEY_LOCKING: [u8; stripped_len(LOCKING)] = strip(LOCKING);
        static DIGESTS: [OnceLock<String>; 2] = [const { OnceLock::new() }; 2];
        Script { plain: as_text(&PLAIN), key_locking: as_text(&KEY_LOCKING), digests: &DIGESTS }
    }};
}

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
    acquire: script!("keys.lua", "resp.lua", "fence.lua", "queue.lua", "acquire.lua"),
    renew: script!("keys.lua", "resp.lua", "receipt.lua", "mutex.lua", "renew.lua"),
    release: script!("keys.lua", "resp.lua", "receipt.lua", "mutex.lua", "fence.lua", "queue.lua", "hand_over.lua", "release.lua"),
    abandon: script!("keys.lua", "mutex.lua", "fence.lua", "queue.lua", "hand_over.lua", "abandon.lua"),
    inspect: script!("keys.lua", "resp.lua", "mutex.lua", "inspect.lua"),
    force_release: script!("keys.lua", "fence.lua", "queue.lua", "hand_over.lua", "force_release.lua"),
};

#[rustfmt::skip]
pub(crate) static REENTRANT: Scripts = Scripts {
    acquire: script!("keys.lua", "resp.lua", "fence.lua", "reentrant.lua", "reenter.lua"),
    renew: script!("keys.lua", "resp.lua", "receipt.lua", "reentrant.lua", "renew.lua"),
    release: script!("keys.lua", "resp.lua", "receipt.lua", "reentrant.lua", "release.lua"),
    abandon: script!("keys.lua", "queue.lua", "reentrant.lua", "abandon.lua"),
    inspect: script!("keys.lua", "resp.lua", "reentrant.lua", "inspect.lua"),
    force_release: script!("keys.lua", "reentrant.lua", "force_release.lua"),
};

pub(crate) static READ: Script = script!("resp.lua", "read.lua");

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
    let mut out = [b'\n'; LEN];
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

    #[test]
    fn a_script_is_sent_without_comments_and_indentation() {
        const SOURCE: &str = "-- head\n\nlocal a = 1\n  -- why\n  return a";
        const TEXT: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        assert_eq!(as_text(&TEXT), "local a = 1\nreturn a\n");
    }

    #[test]
    fn every_script_is_plain_ascii_and_small() {
        let of = |kind: &'static Scripts| {
            [
                kind.acquire,
                kind.renew,
                kind.release,
                kind.abandon,
                kind.inspect,
                kind.force_release,
            ]
        };
        for script in of(&MUTEX).into_iter().chain(of(&REENTRANT)).chain([READ]) {
            assert!(
                script.plain.is_ascii()
                    && !script.plain.contains("--")
                    && script.plain.len() < 3500
            );
            assert_eq!(
                script.key_locking,
                format!("#!lua flags=allow-key-locking\n{}", script.plain)
            );
        }
    }
}
