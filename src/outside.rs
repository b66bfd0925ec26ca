//! Text and numbers from outside, and text as one word for there. The standard library's general
//! forms take several times the code, once for each type of number.

use std::borrow::Cow;
use std::str;

/// As [`String::from_utf8_lossy`].
pub(crate) fn lossy(bytes: &[u8]) -> Cow<'_, str> {
    let mut clean = String::new();
    let mut rest = bytes;
    loop {
        let error = match str::from_utf8(rest) {
            Ok(text) if clean.is_empty() => return text.into(),
            Ok(text) => return (clean + text).into(),
            Err(error) => error,
        };
        let (valid, behind) = rest.split_at(error.valid_up_to());
        clean += str::from_utf8(valid).unwrap_or_default();
        clean.push(char::REPLACEMENT_CHARACTER);
        rest = &behind[error.error_len().unwrap_or(behind.len())..];
    }
}

/// The number that `digits` are, of up to 19 of them.
pub(crate) fn number(digits: &str) -> Option<u64> {
    let is_number = matches!(digits.len(), 1..=19) && digits.bytes().all(|b| b.is_ascii_digit());
    let next = |number, digit| number * 10 + u64::from(digit - b'0');
    is_number.then(|| digits.bytes().fold(0, next))
}

/// The same behind a sign, if there is one.
pub(crate) fn signed(text: &str) -> Option<i64> {
    match text.strip_prefix('-') {
        Some(digits) => 0_i64.checked_sub_unsigned(number(digits)?),
        None => i64::try_from(number(text.strip_prefix('+').unwrap_or(text))?).ok(),
    }
}

/// Adds `text` to `out`. Encodes every character that means something to some bridge. One is `.`,
/// behind which webdis looks for a file type.
pub(crate) fn percent(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            out.push(char::from(byte));
        } else {
            percent_byte(byte, out);
        }
    }
}

/// Adds `byte` to `out`, encoded.
pub(crate) fn percent_byte(byte: u8, out: &mut String) {
    out.push('%');
    for half in [byte >> 4, byte & 0xf] {
        out.push(char::from(b"0123456789ABCDEF"[usize::from(half)]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_replaced_as_the_standard_library_does() {
        for bytes in [
            &b""[..],
            b"plain",
            "ü…\u{10348}".as_bytes(),
            b"\xff",
            b"a\xe2\x80b\xf0\x90\x80",
            b"\xed\xa0\x80\xc0\xafz",
        ] {
            assert_eq!(lossy(bytes), String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn numbers_are_read_as_the_standard_library_does() {
        for text in [
            "0",
            "7",
            "007",
            "-0",
            "-7",
            "+7",
            "",
            "-",
            "+",
            "+-7",
            "7.0",
            " 7",
            "ü",
            "9223372036854775807",
            "9223372036854775808",
            "-9223372036854775808",
            "-9223372036854775809",
            "99999999999999999999",
        ] {
            assert_eq!(signed(text), text.parse().ok(), "{text}");
        }
        assert_eq!(number("9999999999999999999"), Some(9_999_999_999_999_999_999));
    }

    #[test]
    fn only_what_means_nothing_anywhere_is_left_as_it_is() {
        let mut out = String::from("/");
        percent("Az09-_ .~+/?%{ü}\n\0", &mut out);
        assert_eq!(out, "/Az09-_%20%2E%7E%2B%2F%3F%25%7B%C3%BC%7D%0A%00");
    }
}
