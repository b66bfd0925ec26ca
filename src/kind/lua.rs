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
    pub(super) const fn of(parts: &'static [&'static str]) -> Self {
        Self {
            parts,
            plain: Text::new(),
            key_locking: Text::new(),
        }
    }

    #[cfg(test)]
    pub(super) const fn parts(&self) -> &'static [&'static str] {
        self.parts
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

/// The text of a Lua file, as it is sent.
macro_rules! part {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const STRIPPED: [u8; $crate::kind::lua::stripped_len(SOURCE)] =
            $crate::kind::lua::strip(SOURCE);
        $crate::kind::lua::as_text(&STRIPPED)
    }};
}

pub(super) use part;

/// The scripts of one kind of lock. Each is the shared parts that it needs, and what it does itself.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) renew: Script,
    pub(crate) release: Script,
    pub(crate) abandon: Script,
    pub(crate) inspect: Script,
    pub(crate) force_release: Script,
}

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

pub(super) const fn stripped_len(source: &str) -> usize {
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

pub(super) const fn strip<const LEN: usize>(source: &str) -> [u8; LEN] {
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

pub(super) const fn as_text(bytes: &'static [u8]) -> &'static str {
    match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(_) => panic!("a script is not UTF-8"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_sent_without_comments_in_one_line() {
        const SOURCE: &str = "-- head\n\nlocal a = 1\n  -- why\n  return a";
        const TEXT: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        assert_eq!(as_text(&TEXT), "local a = 1 return a ");
    }
}
