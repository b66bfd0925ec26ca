//! What others said, before it is judged or quoted.
//!
//! The standard library's search for text in text is made for long ones, and weighs more than both of these (docs/cost.md).

/// Whether `part` stands anywhere in `text`.
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

/// `text` with a `…` wherever `secret` stood.
pub(crate) fn without(secret: &str, text: &str) -> String {
    let mut clean = String::new();
    let mut rest = text.chars();
    loop {
        match rest.as_str().strip_prefix(secret) {
            Some(behind) if !secret.is_empty() => {
                clean.push('…');
                rest = behind.chars();
            }
            _ => match rest.next() {
                Some(char) => clean.push(char),
                None => return clean,
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
