//! Percent-encoding: text as one word of an address, or of a body that is read like one.

/// Adds `text` to `out`. Encodes every character that means something to some bridge. One is `.`,
/// behind which webdis looks for a file type.
pub(crate) fn encode(text: &str, out: &mut String) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_".contains(&byte) {
            out.push(char::from(byte));
        } else {
            push(byte, out);
        }
    }
}

/// Adds `byte` to `out`, encoded.
pub(crate) fn push(byte: u8, out: &mut String) {
    out.push('%');
    for half in [byte >> 4, byte & 0xf] {
        out.push(char::from(b"0123456789ABCDEF"[usize::from(half)]));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn only_what_means_nothing_anywhere_is_left_as_it_is() {
        let mut out = String::from("/");
        super::encode("Az09-_ .~+/?%{ü}\n\0", &mut out);
        assert_eq!(out, "/Az09-_%20%2E%7E%2B%2F%3F%25%7B%C3%BC%7D%0A%00");
    }
}
