//! Quotes others' text in errors, without secrets and control characters.
//!
//! The standard library's search for text in text, as `str::replace` has it, is made for long ones.
//! It would be 4.7 kB of the npm package in gzip: a panic of it prints text, by tables of Unicode.

use std::fmt::{self, Write};

/// A name that others chose, in quotes. It is cut short, and characters are removed that would
/// change how the text around it looks.
///
/// The standard library's `{:?}` would bring its tables of Unicode into the wasm.
pub(crate) struct Named<'a>(pub(crate) &'a str);

const LONGEST_NAME: usize = 100;

impl fmt::Display for Named<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for (at, char) in self.0.chars().enumerate() {
            if at == LONGEST_NAME {
                f.write_char('…')?;
                break;
            }
            match char {
                char if is_layout(char) => {
                    write!(f, "\\u{{{:x}}}", u32::from(char))?;
                    continue;
                }
                '"' | '\\' => f.write_char('\\')?,
                _ => {}
            }
            f.write_char(char)?;
        }
        f.write_char('"')
    }
}

/// Invisible, or changes the lines or the direction of writing, or commands a terminal.
fn is_layout(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A sentence of others, with a blank in place of each character that would change how the text
/// around it looks.
pub(crate) fn in_one_line(text: &str) -> String {
    let plain = |char| if is_layout(char) { ' ' } else { char };
    let line: String = text.chars().map(plain).collect();
    line.trim_ascii().to_owned()
}

/// Whether `text` contains `part`.
pub(crate) fn contains(text: &str, part: &str) -> bool {
    let mut rest = text.chars();
    loop {
        if rest.as_str().starts_with(part) {
            return true;
        }
        if rest.next().is_none() {
            return false;
        }
    }
}

/// `text` with a `…` in place of each `secret`.
pub(crate) fn without(secret: &str, text: &str) -> String {
    replaced(text, secret, "…")
}

/// `text` with `by` in place of each `part`.
pub(crate) fn replaced(text: &str, part: &str, by: &str) -> String {
    let mut out = String::new();
    let mut rest = text.chars();
    loop {
        match rest.as_str().strip_prefix(part) {
            Some(behind) if !part.is_empty() => {
                out += by;
                rest = behind.chars();
            }
            _ => match rest.next() {
                Some(char) => out.push(char),
                None => return out,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_found_wherever_it_stands() {
        for text in ["NOSCRIPT", "ERR NOSCRIPT", "é NOSCRIPT no", "NONOSCRIPT"] {
            assert!(contains(text, "NOSCRIPT"), "{text}");
        }
        for text in ["", "NOSCRIP", "NO SCRIPT"] {
            assert!(!contains(text, "NOSCRIPT"), "{text}");
        }
    }

    #[test]
    fn a_name_is_printed_in_one_line_and_cut_short() {
        let named = |name: &str| Named(name).to_string();
        assert_eq!(named("sku:42"), "\"sku:42\"");
        assert_eq!(named("Größe…"), "\"Größe…\"");
        assert_eq!(named("a\"b\\c"), r#""a\"b\\c""#);
        assert_eq!(named("a\n\u{1b}[2J\u{202e}"), r#""a\u{a}\u{1b}[2J\u{202e}""#);
        assert_eq!(named(&"ü".repeat(100)), format!("\"{}\"", "ü".repeat(100)));
        assert_eq!(named(&"ü".repeat(101)), format!("\"{}…\"", "ü".repeat(100)));
    }

    #[test]
    fn a_sentence_stays_within_its_line() {
        assert_eq!(in_one_line("ERR Größe: \"a\""), "ERR Größe: \"a\"");
        assert_eq!(in_one_line("\rERR a\u{1b}[2J\u{202e}b\u{85}c\n\n"), "ERR a [2J b c");
    }

    #[test]
    fn no_secret_is_left() {
        for (text, clean) in [
            ("", ""),
            ("é", "é"),
            ("secret", "…"),
            ("a secret, secretsecret.", "a …, ……."),
            ("secsecret", "sec…"),
            ("secre", "secre"),
        ] {
            assert_eq!(without("secret", text), clean);
        }
        assert_eq!(without("", "text"), "text");
    }
}
