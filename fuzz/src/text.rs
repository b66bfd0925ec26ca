//! An input as it is printed, and as it is written in a corpus.

use std::fmt;

/// Bytes, most of which are text.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(pub Vec<u8>);

impl Text {
    /// The bytes that `line` stands for; `None` if `Debug` prints no such line.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut bytes = Vec::new();
        let mut rest = line.bytes();
        while let Some(byte) = rest.next() {
            bytes.push(match byte {
                b'\\' => match rest.next()? {
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'x' => {
                        let digits = [rest.next()?, rest.next()?];
                        u8::from_str_radix(str::from_utf8(&digits).ok()?, 16).ok()?
                    }
                    quoted => quoted,
                },
                plain => plain,
            });
        }
        Some(Self(bytes))
    }

    /// As a string, with U+FFFD for bytes that are not UTF-8.
    pub fn lossy(&self) -> String {
        String::from_utf8_lossy(&self.0).into_owned()
    }

    /// Its pieces of this size. The last one is shorter.
    pub fn pieces(&self, size: usize) -> impl Iterator<Item = &[u8]> {
        self.0.chunks(size.max(1))
    }
}

/// Prints it as a line of a corpus.
impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0.escape_ascii())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_printed_is_read_as_it_was() {
        let all = Text((0..=255).collect());
        assert_eq!(Text::parse(&format!("{all:?}")), Some(all));
        for cut in ["\\", "\\x", "\\x0", "\\xzz"] {
            assert_eq!(Text::parse(cut), None);
        }
    }
}
