//! What a holder lets others know of itself.

use crate::error::Fault;
use crate::outside;
use crate::resp;

const MAX_BYTES: usize = 128;

/// A label in its stored form: one word of ASCII, empty if there is none.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is too long.
pub(crate) fn stored(label: &str) -> Result<String, Fault> {
    let bytes = label.len();
    Fault::unless(
        bytes <= MAX_BYTES,
        format_args!("a label has up to {MAX_BYTES} bytes, and this one {bytes}"),
    )?;
    let mut word = String::new();
    outside::percent(label, &mut word);
    Ok(word)
}

/// The label that is stored as `word`, if there is one.
pub(crate) fn read(word: &str) -> Option<String> {
    let bytes = resp::unescape(word).filter(|bytes| !bytes.is_empty())?;
    Some(outside::lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_stored_as_one_word_and_read_as_it_was() {
        for label in ["", "worker-7", "two words, 100 %", "ü\n\0 \u{202e}"] {
            let word = stored(label).unwrap();
            assert!(word.bytes().all(|byte| byte.is_ascii_graphic()), "{word}");
            assert_eq!(read(&word).unwrap_or_default(), label);
        }
        assert!(stored(&"ü".repeat(64)).is_ok());
        assert!(stored(&"x".repeat(129)).is_err());
        assert_eq!(read("odd%"), None);
    }
}
