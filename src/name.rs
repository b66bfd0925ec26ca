//! A lock's name, the companion keys that lie in the same slot of a cluster, and what a holder lets
//! others know of itself.

use std::sync::Arc;

use crate::error::Fault;
use crate::outside;
use crate::resp;

const MAX_BYTES: usize = 512;

/// What companion keys and channels end with: one of these, or one of the others and whose it is.
const SUFFIXES: [&str; 9] =
    ["confirmed", "debounce", "fence", "holds", "lost", "queue", "readers", "result", "throttle"];
const SUFFIXES_OF: [&str; 3] = ["gone", "receipt", "wake"];

/// The Redis key of a lock, checked. Shared by all that are about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name(Arc<Parts>);

#[derive(Debug, PartialEq, Eq)]
struct Parts {
    key: String,
    /// What companion keys start with; its hash tag is what Redis Cluster hashes `key` by.
    stem: String,
    /// Those that are locked with it, all or none.
    others: Vec<Name>,
    /// What errors and events call it: the key, or all keys.
    shown: String,
}

impl Name {
    /// `prefix` and `name` together are the key.
    ///
    /// No companion of a name is another name, or a companion of another name. A key all in braces
    /// is refused, since it would be the stem of the name between them. So stems differ. A stem
    /// with a suffix behind it is refused as a key too.
    pub(crate) fn new(prefix: &str, name: &str) -> Result<Self, Fault> {
        let what = format_args!("the name is empty; is its variable set?");
        Fault::unless(!name.is_empty(), what)?;
        let key = [prefix, name].concat();
        let bytes = key.len();
        Fault::unless(
            bytes <= MAX_BYTES,
            format_args!(
                "the name has {bytes} bytes with its prefix, and may have {MAX_BYTES}; take a digest of what is longer"
            ),
        )?;
        if is_companion(&key) {
            return Err(Fault::invalid(
                "the name ends as a key that belongs to another lock: with `:fence`, `:queue`, `:holds`, `:lost`, `:readers`, `:result`, `:throttle`, `:debounce`, `:confirmed`, or `:receipt:…`, `:gone:…`, `:wake:…` behind a hash tag; choose another ending",
            ));
        }
        let tag = hash_tag(&key);
        if tag.is_some_and(|tag| key == ["{", tag, "}"].concat()) {
            return Err(Fault::invalid(
                "the name is all in braces, and would share its keys with the name between them; leave out the braces: the cluster slot stays the same",
            ));
        }
        let stem = if tag.is_some() {
            key.clone()
        } else if key.contains('}') {
            return Err(Fault::invalid(
                "the name has a `}` outside of a hash tag, so no other key can share its cluster slot; leave it out",
            ));
        } else {
            ["{", &key, "}"].concat()
        };
        Ok(Self::of(key, stem, Vec::new()))
    }

    /// What was asked for, to be shown: it cannot be a name, so nothing is sent with it.
    pub(crate) fn refused(prefix: &str, name: &str) -> Self {
        Self::of([prefix, name].concat(), String::new(), Vec::new())
    }

    /// This name, and `others` that are locked with it.
    pub(crate) fn with(&self, others: Vec<Self>) -> Self {
        Self::of(self.0.key.clone(), self.0.stem.clone(), others)
    }

    fn of(key: String, stem: String, others: Vec<Self>) -> Self {
        let keys = others.iter().map(Self::key);
        let all: Vec<_> = std::iter::once(key.as_str()).chain(keys).collect();
        let shown = all.join(", ");
        Self(Arc::new(Parts { key, stem, others, shown }))
    }

    pub(crate) fn key(&self) -> &str {
        &self.0.key
    }

    /// What errors and events call it.
    pub(crate) fn shown(&self) -> &str {
        &self.0.shown
    }

    pub(crate) fn others(&self) -> &[Self] {
        &self.0.others
    }

    /// Of the names that are locked at once, the one at this place, from 1.
    pub(crate) fn at(&self, place: usize) -> Option<&Self> {
        match place {
            0 => None,
            1 => Some(self),
            _ => self.0.others.get(place - 2),
        }
    }

    /// What Redis Cluster hashes the key by.
    pub(crate) fn tag(&self) -> &str {
        hash_tag(self.key()).unwrap_or_else(|| self.key())
    }

    /// What companion keys start with, before a colon.
    pub(crate) fn stem(&self) -> &str {
        &self.0.stem
    }

    pub(crate) fn companion(&self, suffix: &str) -> String {
        [&self.0.stem, ":", suffix].concat()
    }

    /// One companion for each `id`.
    pub(crate) fn companion_of(&self, suffix: &str, id: &str) -> String {
        [&self.0.stem, ":", suffix, ":", id].concat()
    }

    /// The channel on which Redisson's `RLock` of this name tells its waiters of a release.
    pub(crate) fn redisson_channel(&self) -> String {
        let key = self.key();
        let (open, close) = if key.contains('{') { ("", "") } else { ("{", "}") };
        ["redisson_lock__channel:", open, key, close].concat()
    }
}

/// Whether `key` is, or could be, a companion of a lock: a stem, which has a hash tag, and a
/// suffix.
pub(crate) fn is_companion(key: &str) -> bool {
    let Some((stem, last)) = split_last(key) else {
        return false;
    };
    let of_one = split_last(stem);
    let ends =
        |stem: &str, suffix: &str, all: &[&str]| all.contains(&suffix) && hash_tag(stem).is_some();
    ends(stem, last, &SUFFIXES)
        || of_one.is_some_and(|(stem, suffix)| ends(stem, suffix, &SUFFIXES_OF))
}

/// What is before the last colon, and what is behind it.
fn split_last(key: &str) -> Option<(&str, &str)> {
    let colon = key.bytes().rposition(|byte| byte == b':')?;
    Some((key.get(..colon)?, key.get(colon + 1..)?))
}

/// Redis Cluster hashes only the text between the first `{` and the next `}`, unless that is empty
/// (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags>).
fn hash_tag(key: &str) -> Option<&str> {
    let (_, rest) = key.split_once('{')?;
    let (tag, _) = rest.split_once('}')?;
    (!tag.is_empty()).then_some(tag)
}

const MAX_LABEL: usize = 128;

/// A label in its stored form: one word of ASCII, empty if there is none.
///
/// # Errors
/// [`Error::InvalidArgument`] if it is too long.
pub(crate) fn stored_label(label: &str) -> Result<String, Fault> {
    let bytes = label.len();
    Fault::unless(
        bytes <= MAX_LABEL,
        format_args!("a label has up to {MAX_LABEL} bytes, and this one {bytes}"),
    )?;
    let mut word = String::new();
    outside::percent(label, &mut word);
    Ok(word)
}

/// The label that is stored as `word`, if there is one.
pub(crate) fn read_label(word: &str) -> Option<String> {
    let bytes = resp::unescape(word).filter(|bytes| !bytes.is_empty())?;
    Some(outside::lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn fence_key(name: &str) -> String {
        Name::new("", name).unwrap().companion("fence")
    }

    #[test]
    fn companions_carry_the_hash_tag_of_the_name() {
        assert_eq!(fence_key("sku:42"), "{sku:42}:fence");
        assert_eq!(fence_key("a:{42}:b"), "a:{42}:b:fence");
        assert_eq!(fence_key("a}b{42}"), "a}b{42}:fence");
        assert_eq!(fence_key("{open"), "{{open}:fence");
    }

    #[test]
    fn users_are_told_which_endings_their_data_must_not_have() {
        let docs = include_str!("../docs/troubleshooting.md");
        for ending in SUFFIXES.iter().chain(&SUFFIXES_OF) {
            assert!(docs.contains(&format!("`{ending}`")), "{ending}");
        }
    }

    #[test]
    fn a_name_that_looks_less_like_a_companion_is_accepted() {
        for name in [
            "fence",
            "job:fence",
            "job:7:receipt:x",
            "job:{7}:fences",
            "job:{7}:my fence",
            "job:{7}:fence:x",
            "job:{7}:receipt",
            "job:{7}:receipt:x:y",
            "{7:fence}:x",
            "{7}x",
            "{{7}}",
            "{7}{8}",
        ] {
            assert!(Name::new("", name).is_ok(), "{name}");
        }
    }

    #[test]
    fn a_name_has_1_to_512_bytes() {
        assert!(Name::new("", &"ü".repeat(256)).is_ok());
        assert!(Name::new("", &"n".repeat(513)).is_err());
        assert!(Name::new("shop:", &"n".repeat(508)).is_err());
        assert!(Name::new("shop:", "").is_err());
    }

    #[test]
    fn a_label_is_stored_as_one_word_and_read_as_it_was() {
        for label in ["", "worker-7", "two words, 100 %", "ü\n\0 \u{202e}"] {
            let word = stored_label(label).unwrap();
            assert!(word.bytes().all(|byte| byte.is_ascii_graphic()), "{word}");
            assert_eq!(read_label(&word).unwrap_or_default(), label);
        }
        assert!(stored_label(&"ü".repeat(64)).is_ok());
        assert!(stored_label(&"x".repeat(129)).is_err());
        assert_eq!(read_label("odd%"), None);
    }
}
