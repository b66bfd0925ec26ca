//! A Redis command and a Redis reply as plain values.

use std::fmt::{Arguments, Write as _};

use crate::outside;

/// A Redis command that runs together with an operation of the lock, in the same script.
///
/// All words are text, since bridges carry JSON. Declare keys with [`Command::key`]: a script must
/// name every key that it touches, because Redis Cluster routes by them and Upstash locks by them.
/// On a cluster they must have the lock's hash tag.
///
/// ```
/// use edgelock::Command;
///
/// let sell = Command::new("HINCRBY").key("sale:{42}").arg("remaining").arg(-1);
/// assert_eq!(sell.args(), ["HINCRBY", "sale:{42}", "remaining", "-1"]);
/// assert_eq!(sell.keys().collect::<Vec<_>>(), ["sale:{42}"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Command {
    pub(crate) words: Vec<String>,
    /// Which of the words are keys.
    pub(crate) keys: Vec<usize>,
}

impl Command {
    /// The command called `name`, without arguments so far.
    pub fn new(name: &str) -> Self {
        Self { words: vec![name.to_owned()], keys: Vec::new() }
    }

    /// Appends an argument that is a key.
    #[must_use]
    pub fn key(mut self, key: impl ToString) -> Self {
        self.keys.push(self.words.len());
        self.arg(key)
    }

    /// Appends any other argument. If it is a key of one of Redis' own commands, the call that the
    /// command is given to is [`Error::InvalidArgument`](crate::Error::InvalidArgument). For other
    /// commands nobody knows here which words are keys.
    #[must_use]
    pub fn arg(mut self, word: impl ToString) -> Self {
        self.words.push(word.to_string());
        self
    }

    /// The name and the arguments, in order.
    pub fn args(&self) -> &[String] {
        &self.words
    }

    /// Whether the word at this place is marked as a key.
    pub(crate) fn is_key(&self, place: usize) -> bool {
        self.keys.contains(&place)
    }

    /// The arguments that are keys, in order.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().filter_map(|&at| self.words.get(at)).map(String::as_str)
    }
}

/// What Redis answered to a [`Command`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reply {
    /// Nothing is there.
    Nil,
    /// A number.
    Int(i64),
    /// About this number, of 2^53 or more: a script gets no more of it than a double has. So
    /// replies `BITFIELD`, and `PTTL` of a key that lives for so long. Every other number is exact,
    /// as those of `INCR`, `DECR`, `INCRBY`, `DECRBY` and `HINCRBY`. So are all that Redis replies
    /// as text.
    Rounded(i64),
    /// A string, or a status such as `OK`: exactly the bytes that Redis has.
    Bytes(Vec<u8>),
    /// Several replies.
    Array(Vec<Self>),
    /// An error, as Redis words it. It occurs only inside of an array: a command that fails as a
    /// whole is [`crate::Error::CommandFailed`].
    Error(String),
}

impl Reply {
    /// The number, if all its digits are known. Also if Redis keeps it as text, as it does in a
    /// string or a hash.
    ///
    /// ```
    /// use edgelock::Reply;
    ///
    /// assert_eq!(Reply::Int(7).as_i64(), Some(7));
    /// assert_eq!(Reply::Bytes(b"7".to_vec()).as_i64(), Some(7));
    /// assert_eq!(Reply::Nil.as_i64(), None);
    /// ```
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(number) => Some(*number),
            _ => outside::signed(self.as_str()?),
        }
    }

    /// The number, or about what it is.
    pub(crate) fn about(&self) -> Option<i64> {
        match self {
            Self::Rounded(number) => Some(*number),
            _ => self.as_i64(),
        }
    }

    /// The text, if the reply is valid UTF-8 text.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The elements, if the reply is an array.
    pub fn as_array(&self) -> Option<&[Self]> {
        match self {
            Self::Array(replies) => Some(replies),
            _ => None,
        }
    }

    /// Whether the reply is nil.
    pub const fn is_nil(&self) -> bool {
        matches!(self, Self::Nil)
    }
}

/// What a script is given: its keys and its arguments. All words are one behind the other in one
/// text: a script takes twenty, and each as a text of its own would be an allocation.
#[derive(Clone)]
pub(crate) struct Words {
    text: String,
    /// Where each word ends, and what it is.
    ends: Vec<(usize, Word)>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    Key,
    Argument,
    /// How many keys there are.
    KeyCount,
}

impl Words {
    /// None yet, with room for the words of most scripts.
    pub(crate) fn new() -> Self {
        Self { text: String::with_capacity(512), ends: Vec::with_capacity(24) }
    }

    /// Adds a key of these parts.
    pub(crate) fn key(&mut self, parts: &[&str]) {
        self.add(Word::Key, parts);
    }

    pub(crate) fn add(&mut self, word: Word, parts: &[&str]) {
        for part in parts {
            self.text += part;
        }
        self.ends.push((self.text.len(), word));
    }

    pub(crate) fn add_number(&mut self, word: Word, number: u64) {
        self.add_formatted(word, format_args!("{number}"));
    }

    pub(crate) fn add_formatted(&mut self, word: Word, text: Arguments<'_>) {
        // Writing to a text cannot fail.
        let _ = self.text.write_fmt(text);
        self.ends.push((self.text.len(), word));
    }

    pub(crate) const fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn count(&self, word: Word) -> usize {
        self.ends.iter().filter(|(_, is)| *is == word).count()
    }

    pub(crate) fn of(&self, word: Word) -> impl Iterator<Item = &str> {
        let mut begin = 0;
        self.ends.iter().filter_map(move |&(end, is)| {
            let text = self.text.get(begin..end).unwrap_or_default();
            begin = end;
            (is == word).then_some(text)
        })
    }
}
