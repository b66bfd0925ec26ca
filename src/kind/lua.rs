//! The scripts in the form that is sent: the Lua files without comments and needless blanks, in one
//! line. They have the same bytes in every build, so that a bridge can allow them by their digest.

use std::sync::OnceLock;

/// Makes Upstash lock the script's keys instead of the whole database.
const KEY_LOCKING: &str = "#!lua flags=allow-key-locking\n";

/// A script that Redis runs. It consists of parts, many of which scripts share. They are put
/// together when the script is first needed.
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

    /// The digest that `EVALSHA` uses.
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

/// The text of a Lua file, in the form that is sent.
macro_rules! part {
    ($file:literal) => {{
        const SOURCE: &str = include_str!($file);
        const STRIPPED: [u8; $crate::kind::lua::stripped_len(SOURCE)] =
            $crate::kind::lua::strip(SOURCE);
        $crate::kind::lua::as_text(&STRIPPED)
    }};
}

pub(super) use part;

/// The scripts of one kind of lock. Each consists of the shared parts that it needs, and its own
/// text.
pub(crate) struct Scripts {
    pub(crate) acquire: Script,
    pub(crate) renew: Script,
    pub(crate) release: Script,
    pub(crate) abandon: Script,
    pub(crate) inspect: Script,
    pub(crate) force_release: Script,
}

/// The next line of a source after some place: its text as `(start, end)`, and where the line after
/// it starts.
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

/// Whether a line is empty or a comment. The scripts have no comment behind code, and no `--` at
/// the start of a line in a string.
const fn is_dropped(source: &[u8], start: usize, end: usize) -> bool {
    start == end || (start + 1 < end && source[start] == b'-' && source[start + 1] == b'-')
}

/// Whether Lua separates this byte from its neighbours without blanks. `-` is not one, since two
/// are a comment, nor is `.`, which may follow a number.
const fn is_apart(byte: u8) -> bool {
    matches!(
        byte,
        b'(' | b')'
            | b'{'
            | b'}'
            | b'['
            | b']'
            | b','
            | b'='
            | b'<'
            | b'>'
            | b'~'
            | b'+'
            | b'*'
            | b'/'
            | b'#'
    )
}

/// Writes `source` to `out` in the form that is sent, as far as there is room, and returns its
/// length: one line, without what Lua does not need.
const fn write(source: &str, out: &mut [u8]) -> usize {
    let source = source.as_bytes();
    let (mut at, mut len, mut last) = (0, 0, b'(');
    let mut is_text = false;
    while at < source.len() {
        let (start, end, next) = line(source, at);
        at = next;
        if is_dropped(source, start, end) {
            continue;
        }
        let mut from = start;
        while from <= end {
            // A line ends like a word.
            let byte = if from < end { source[from] } else { b' ' };
            from += 1;
            let ahead = if from < end { source[from] } else { b' ' };
            if byte == b'\'' {
                is_text = !is_text;
            }
            let is_needless = byte == b' ' && (is_apart(last) || is_apart(ahead));
            if is_needless && !is_text {
                continue;
            }
            if len < out.len() {
                out[len] = byte;
            }
            len += 1;
            last = byte;
        }
    }
    len
}

pub(super) const fn stripped_len(source: &str) -> usize {
    write(source, &mut [])
}

pub(super) const fn strip<const LEN: usize>(source: &str) -> [u8; LEN] {
    let mut out = [b' '; LEN];
    write(source, &mut out);
    out
}

#[cfg(test)]
pub(super) fn sent(source: &str) -> String {
    let mut out = vec![b' '; stripped_len(source)];
    write(source, &mut out);
    String::from_utf8(out).expect("text")
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
        const SOURCE: &str = "-- head\n\nlocal a = f(b)\n  -- why\n  return a";
        const TEXT: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        assert_eq!(as_text(&TEXT), "local a=f(b)return a ");
    }

    #[test]
    fn blanks_are_left_out_where_lua_tells_words_apart_without() {
        const SOURCE: &str =
            "if a ~= '( x , y )' then return { 1, -#b } end\nlocal c = 1 .. d - -1";
        const TEXT: [u8; stripped_len(SOURCE)] = strip(SOURCE);
        let sent = "if a~='( x , y )' then return{1,-#b}end local c=1 .. d - -1 ";
        assert_eq!(as_text(&TEXT), sent);
    }
}
